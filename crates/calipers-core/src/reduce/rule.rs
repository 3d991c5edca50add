//! The built-in rules, on the plain values of one sample's attempts.

use super::Attempts;
use crate::column::{Coded, Column};
use crate::{Error, ErrorKind, Labels, Value};
use calipers_stats::{ExactSum, pass_at_k};
use std::sync::Arc;

/// A built-in way to reduce plain values.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    Mean,
    Median,
    Mode,
    Max,
    Majority,
    PassAt { k: u64, value: f64 },
    PassK { k: u64, value: f64 },
    AtLeast { k: u64, value: f64 },
}

/// One attempt's plain value as the rules see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Class {
    /// Its number; meaningless for the rules that only count.
    pub(crate) number: f64,
    /// The same for values that are equal.
    pub(crate) class: u32,
}

/// What a rule decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pick {
    /// No value: too few, or no majority.
    Nothing,
    /// A number of its own.
    Number(f64),
    /// 0 or 1.
    Flag(bool),
    /// The value of the attempt at this place.
    Attempt(usize),
}

impl Rule {
    pub(crate) fn k(&self) -> Option<u64> {
        match self {
            Self::PassAt { k, .. } | Self::PassK { k, .. } | Self::AtLeast { k, .. } => Some(*k),
            _ => None,
        }
    }

    pub(crate) fn set_threshold(&mut self, threshold: f64) {
        if let Self::PassAt { value, .. } | Self::PassK { value, .. } | Self::AtLeast { value, .. } = self {
            *value = threshold;
        }
    }

    /// True when the values are only compared with one another, so that any label will do.
    fn only_counts(&self) -> bool {
        matches!(self, Self::Mode | Self::Majority)
    }

    /// True when the rule refuses lists and maps even where others read them as 0.
    fn needs_scalars(&self) -> bool {
        matches!(self, Self::Mode | Self::Majority | Self::AtLeast { .. })
    }

    /// Decides between the scored attempts of one sample; `total` counts the unscored ones too.
    fn decide(&self, attempts: &[Class], total: usize, sorted: &mut Vec<f64>) -> Pick {
        if attempts.is_empty() {
            return Pick::Nothing;
        }
        match *self {
            Self::Mean => Pick::Number(mean(attempts)),
            Self::Median => Pick::Number(median(attempts, sorted)),
            Self::Mode => Pick::Attempt(most_common(attempts).0),
            Self::Majority => match most_common(attempts) {
                (place, count) if 2 * count > total => Pick::Attempt(place),
                _ => Pick::Nothing,
            },
            Self::Max => Pick::Attempt(largest(attempts)),
            Self::AtLeast { k, value } => Pick::Flag(successes(attempts, value) >= k),
            Self::PassAt { k, value } => share(pass_at_k::pass_at_k, attempts, k, value),
            Self::PassK { k, value } => share(pass_at_k::pass_hat_k, attempts, k, value),
        }
    }

    /// Reduces the values of one sample, whatever their shape.
    pub(crate) fn reduce_values(&self, values: &[&Value], labels: &Labels, by: &str) -> Result<Value, Error> {
        let scored: Vec<&Value> = values.iter().copied().filter(|value| !value.is_missing()).collect();
        match scored.first() {
            None => Ok(Value::Missing),
            Some(Value::Map(first)) => self.reduce_maps(first, &scored, values.len(), labels, by),
            Some(Value::List(first)) => self.reduce_lists(first.len(), &scored, values.len(), labels, by),
            Some(first) => {
                if let Some(other) = scored.iter().find(|value| !value.is_scalar())
                    && (self.needs_scalars() || !labels.is_lenient())
                {
                    return Err(mixed(first, other));
                }
                self.reduce_scalars(&scored, values.len(), labels)
            }
        }
    }

    fn reduce_scalars(&self, values: &[&Value], total: usize, labels: &Labels) -> Result<Value, Error> {
        let scored: Vec<&Value> = values.iter().copied().filter(|value| !value.is_missing()).collect();
        let mut attempts: Vec<Class> = Vec::with_capacity(scored.len());
        for (place, value) in scored.iter().enumerate() {
            let number = if self.only_counts() { 0.0 } else { number(value, labels)? };
            let earlier = scored[..place].iter().position(|earlier| earlier.equals(value));
            attempts.push(Class { number, class: earlier.unwrap_or(place) as u32 });
        }
        Ok(match self.decide(&attempts, total, &mut Vec::new()) {
            Pick::Nothing => Value::Missing,
            Pick::Number(x) => Value::from(x),
            Pick::Flag(yes) => Value::Int(i64::from(yes)),
            Pick::Attempt(place) => scored[place].clone(),
        })
    }

    fn reduce_maps(
        &self,
        first: &[(Arc<str>, Value)],
        scored: &[&Value],
        total: usize,
        labels: &Labels,
        by: &str,
    ) -> Result<Value, Error> {
        for value in scored {
            let Value::Map(entries) = value else { return Err(mixed(scored[0], value)) };
            if entries.len() != first.len() || first.iter().any(|(key, _)| value.get(key).is_none()) {
                return Err(ErrorKind::MismatchedKeys { first: keys(first), other: keys(entries) }.into());
            }
        }
        let mut reduced = Vec::with_capacity(first.len());
        for (key, _) in first {
            let under_key: Vec<&Value> = scored.iter().filter_map(|value| value.get(key)).collect();
            reduced.push((key.clone(), self.reduce_leaves(&under_key, total, labels, by)?));
        }
        Ok(Value::Map(reduced))
    }

    fn reduce_lists(
        &self,
        length: usize,
        scored: &[&Value],
        total: usize,
        labels: &Labels,
        by: &str,
    ) -> Result<Value, Error> {
        for value in scored {
            let Value::List(items) = value else { return Err(mixed(scored[0], value)) };
            if items.len() != length {
                return Err(ErrorKind::MismatchedLengths { first: length, other: items.len() }.into());
            }
        }
        let item = |value: &&'_ Value, place: usize| match value {
            Value::List(items) => items[place].clone(),
            _ => Value::Missing,
        };
        let mut reduced = Vec::with_capacity(length);
        for place in 0..length {
            let items: Vec<Value> = scored.iter().map(|value| item(value, place)).collect();
            reduced.push(self.reduce_leaves(&items.iter().collect::<Vec<_>>(), total, labels, by)?);
        }
        Ok(Value::List(reduced))
    }

    fn reduce_leaves(&self, values: &[&Value], total: usize, labels: &Labels, by: &str) -> Result<Value, Error> {
        match values.iter().find(|value| !value.is_scalar()) {
            Some(nested) => Err(ErrorKind::NotScalar { by: by.to_owned(), found: nested.kind() }.into()),
            None => self.reduce_scalars(values, total, labels),
        }
    }

    /// Reduces a whole column of plain values.
    pub(crate) fn reduce_column(
        &self,
        column: &Column,
        attempts: &Attempts,
        labels: &Labels,
        _by: &str,
        name: &impl Fn(u32, Error) -> Error,
    ) -> Result<Column, Error> {
        match column {
            Column::Floats(floats) => {
                let same = |row: u32| Class { number: floats[row as usize], class: row };
                let classes = |row: u32| {
                    let class = same(row);
                    (!class.number.is_nan()).then_some(class)
                };
                Ok(self.reduce_rows(attempts, classes, &FloatRows { floats, exact: self.only_counts() }))
            }
            Column::Coded(coded) => {
                let table = Table::new(coded, self.only_counts().then_some(()).map_or(Some(labels), |()| None));
                if let Some((sample, error)) = table.first_bad(coded, attempts) {
                    return Err(name(sample, error));
                }
                if attempts.is_single() && matches!(self, Self::Mean | Self::Median) {
                    return Ok(Column::Coded(table.as_numbers(coded)));
                }
                let classes = |row: u32| table.classes[coded.codes[row as usize] as usize];
                Ok(self.reduce_rows(
                    attempts,
                    |row| {
                        if coded.codes[row as usize] == crate::column::ABSENT { None } else { classes(row) }
                    },
                    coded,
                ))
            }
        }
    }

    fn reduce_rows(&self, attempts: &Attempts, class: impl Fn(u32) -> Option<Class>, source: &impl Source) -> Column {
        let mut output = Output::default();
        let mut scored: Vec<Class> = Vec::new();
        let mut places: Vec<u32> = Vec::new();
        let mut sorted = Vec::new();
        for (_, rows) in attempts.iter() {
            scored.clear();
            places.clear();
            for &row in rows {
                if let Some(mut class) = class(row) {
                    source.unify(&mut class, row, &places);
                    scored.push(class);
                    places.push(row);
                }
            }
            output.push(self.decide(&scored, rows.len(), &mut sorted), &places);
        }
        output.finish(source)
    }
}

/// Where a picked row's value is found again.
trait Source {
    /// Gives equal values the same class, where the column does not do so already.
    fn unify(&self, class: &mut Class, row: u32, earlier: &[u32]);
    /// The given rows of the column; `None` is missing.
    fn picked(&self, rows: &[Option<u32>]) -> Column;
}

struct FloatRows<'a> {
    floats: &'a [f64],
    exact: bool,
}

impl Source for FloatRows<'_> {
    fn unify(&self, class: &mut Class, row: u32, earlier: &[u32]) {
        if self.exact {
            let value = self.floats[row as usize];
            let first = earlier.iter().find(|&&earlier| self.floats[earlier as usize] == value);
            class.class = first.copied().unwrap_or(row);
        }
    }

    fn picked(&self, rows: &[Option<u32>]) -> Column {
        Column::Floats(rows.iter().map(|row| row.map_or(f64::NAN, |row| self.floats[row as usize])).collect())
    }
}

impl Source for Coded {
    fn unify(&self, _: &mut Class, _: u32, _: &[u32]) {}

    fn picked(&self, rows: &[Option<u32>]) -> Column {
        let code = |row: &Option<u32>| row.map_or(crate::column::ABSENT, |row| self.codes[row as usize]);
        Column::Coded(self.with_codes(rows.iter().map(code).collect()))
    }
}

/// The picks of one column; a rule makes all of one sort.
#[derive(Default)]
struct Output {
    numbers: Vec<f64>,
    flags: Option<Coded>,
    rows: Vec<Option<u32>>,
    nothing: usize,
}

impl Output {
    fn push(&mut self, pick: Pick, places: &[u32]) {
        match pick {
            Pick::Nothing => {
                self.nothing += 1;
                self.numbers.push(f64::NAN);
                self.rows.push(None);
                if let Some(flags) = &mut self.flags {
                    flags.push(Value::Missing);
                }
            }
            Pick::Number(x) => self.numbers.push(x),
            Pick::Attempt(place) => self.rows.push(Some(places[place])),
            Pick::Flag(yes) => {
                let nothing = self.nothing;
                let flags = self.flags.get_or_insert_with(|| {
                    let mut flags = Coded::default();
                    (0..nothing).for_each(|_| flags.push(Value::Missing));
                    flags
                });
                flags.push(Value::Int(i64::from(yes)));
            }
        }
    }

    fn finish(self, source: &impl Source) -> Column {
        match self.flags {
            Some(flags) => Column::Coded(flags),
            None if self.rows.len() > self.nothing => source.picked(&self.rows),
            None => Column::Floats(self.numbers),
        }
    }
}

/// What each distinct value of a column means.
struct Table {
    classes: Vec<Option<Class>>,
    bad: Vec<u32>,
}

impl Table {
    /// Numbers are looked up only when there are labels to look them up with.
    fn new(coded: &Coded, labels: Option<&Labels>) -> Self {
        let dictionary = coded.dictionary();
        let mut bad = Vec::new();
        let classes = dictionary.iter().enumerate().map(|(code, value)| {
            if value.is_missing() {
                return None;
            }
            let number = labels.map_or(Ok(0.0), |labels| number(value, labels)).unwrap_or_else(|_| {
                bad.push(code as u32);
                0.0
            });
            // Only numbers of different kinds can be equal without being the same.
            let twin = |other: &Value| value.as_number().is_some() && value.equals(other);
            let class = dictionary[..code].iter().position(twin).unwrap_or(code) as u32;
            Some(Class { number, class })
        });
        let classes = classes.collect();
        Self { classes, bad }
    }

    fn first_bad(&self, coded: &Coded, attempts: &Attempts) -> Option<(u32, Error)> {
        if self.bad.is_empty() {
            return None;
        }
        let is_bad = |&&row: &&u32| self.bad.contains(&coded.codes[row as usize]);
        attempts.iter().find_map(|(sample, rows)| {
            let row = *rows.iter().find(is_bad)?;
            let value = coded.value(row as usize)?.clone();
            Some((sample, ErrorKind::UnknownLabel(value).into()))
        })
    }

    /// The column with each value as its number: the mean of one attempt is its number.
    fn as_numbers(&self, coded: &Coded) -> Coded {
        let mut numbers = Coded::default();
        for class in &self.classes {
            numbers.push(class.map_or(Value::Missing, |class| Value::from(class.number)));
        }
        let new_code = |&code: &u32| numbers.codes.get(code as usize).copied().unwrap_or(crate::column::ABSENT);
        numbers.with_codes(coded.codes.iter().map(new_code).collect())
    }
}

fn number(value: &Value, labels: &Labels) -> Result<f64, Error> {
    labels.to_float(value).ok_or_else(|| ErrorKind::UnknownLabel(value.clone()).into())
}

fn keys(entries: &[(Arc<str>, Value)]) -> Vec<Arc<str>> {
    entries.iter().map(|(key, _)| key.clone()).collect()
}

fn mixed(first: &Value, other: &Value) -> Error {
    ErrorKind::MixedShapes { first: first.kind(), other: other.kind() }.into()
}

fn mean(attempts: &[Class]) -> f64 {
    let mut sum = ExactSum::default();
    attempts.iter().for_each(|attempt| sum.add(attempt.number));
    sum.value() / attempts.len() as f64
}

fn median(attempts: &[Class], sorted: &mut Vec<f64>) -> f64 {
    sorted.clear();
    sorted.extend(attempts.iter().map(|attempt| attempt.number));
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

/// The place of the first attempt with the commonest value, and how common it is.
fn most_common(attempts: &[Class]) -> (usize, usize) {
    let mut best = (0, 0);
    for (place, attempt) in attempts.iter().enumerate() {
        let same = |other: &&Class| other.class == attempt.class;
        if attempts[..place].iter().any(|earlier| same(&earlier)) {
            continue;
        }
        let count = attempts[place..].iter().filter(same).count();
        if count > best.1 {
            best = (place, count);
        }
    }
    best
}

/// The place of the first of the largest.
fn largest(attempts: &[Class]) -> usize {
    let mut best = 0;
    for (place, attempt) in attempts.iter().enumerate() {
        if attempt.number > attempts[best].number {
            best = place;
        }
    }
    best
}

fn successes(attempts: &[Class], value: f64) -> u64 {
    attempts.iter().filter(|attempt| attempt.number >= value).count() as u64
}

fn share(
    estimate: fn(u64, u64, u64) -> Result<f64, calipers_stats::Undefined>,
    attempts: &[Class],
    k: u64,
    value: f64,
) -> Pick {
    estimate(attempts.len() as u64, successes(attempts, value), k).map_or(Pick::Nothing, Pick::Number)
}
