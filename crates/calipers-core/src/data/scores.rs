//! One scorer's scores, column by column.

use crate::data::column::Column;
use crate::data::cow_indices::CowIndices;
use crate::{Labels, Metadata, Outcome, Score, Value};
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a scorer said of each attempt, or, once reduced, of each sample.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scores {
    pub(crate) sample: CowIndices,
    pub(crate) epoch: CowIndices,
    /// The attempt's place in the run; once reduced, that of the first attempt.
    pub(crate) attempt: CowIndices,
    pub(crate) values: Values,
    /// Why rows without a value have none.
    pub(crate) reasons: BTreeMap<u32, Arc<str>>,
    /// Empty when no score has any.
    pub(crate) extras: Vec<Option<Box<ScoreExtras>>>,
}

/// Where a row belongs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScoreRow {
    pub(crate) sample: u32,
    pub(crate) epoch: u32,
    pub(crate) attempt: u32,
}

/// The rarer parts of a score.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ScoreExtras {
    answer: Option<Arc<str>>,
    explanation: Option<Arc<str>>,
    metadata: Option<Arc<Metadata>>,
}

impl Scores {
    pub(crate) fn len(&self) -> usize {
        self.sample.len()
    }

    pub(crate) fn push(&mut self, row: ScoreRow, outcome: Outcome) {
        match outcome {
            Outcome::Scored(score) => self.push_score(row, score),
            Outcome::Unscored { reason, score } => {
                self.reasons.insert(self.len() as u32, reason);
                let mut score = score.map_or_else(Score::unscored, |score| *score);
                score.value = Value::Missing;
                self.push_score(row, score);
            }
        }
    }

    /// Adds rows without a value, all for one reason. There may be as many as samples, for each of thousands of scorers.
    pub(crate) fn add_absent(&mut self, rows: impl Iterator<Item = ScoreRow>, reason: &str) {
        let first = self.len() as u32;
        for row in rows {
            self.sample.own().push(row.sample);
            self.epoch.own().push(row.epoch);
            self.attempt.own().push(row.attempt);
        }
        let last = self.len() as u32;
        if !self.extras.is_empty() {
            self.extras.resize(last as usize, None);
        }
        let reason: Arc<str> = reason.into();
        self.reasons.append(&mut (first..last).map(|row| (row, reason.clone())).collect());
        self.values.pad(last as usize);
    }

    fn push_score(&mut self, row: ScoreRow, score: Score) {
        if score.has_extras() && self.extras.is_empty() {
            self.extras.resize(self.len(), None);
        }
        self.sample.push(row.sample);
        self.epoch.push(row.epoch);
        self.attempt.push(row.attempt);
        if score.has_extras() || !self.extras.is_empty() {
            let Score { answer, explanation, metadata, .. } = &score;
            self.extras.push(score.has_extras().then(|| {
                Box::new(ScoreExtras {
                    answer: answer.clone(),
                    explanation: explanation.clone(),
                    metadata: metadata.clone(),
                })
            }));
        }
        self.values.push(score.value);
    }

    /// Adds the rows of another part, each at its new place.
    pub(crate) fn append(&mut self, other: Self, place: impl Fn(u32) -> ScoreRow) {
        for &attempt in &*other.attempt {
            let row = place(attempt);
            self.sample.push(row.sample);
            self.epoch.push(row.epoch);
            self.attempt.push(row.attempt);
        }
        self.append_values(other);
    }

    /// Adds what the rows of another part hold, whose places are known already.
    pub(crate) fn append_values(&mut self, other: Self) {
        let first = self.values.len();
        if !self.extras.is_empty() || !other.extras.is_empty() {
            self.extras.resize(first, None);
            self.extras.extend(other.extras);
            self.extras.resize(first + other.values.len(), None);
        }
        self.reasons.extend(other.reasons.into_iter().map(|(row, why)| (first as u32 + row, why)));
        self.values.append(other.values);
    }

    /// The score of a row, whole.
    pub(crate) fn score(&self, row: usize) -> Score {
        let extras = self.extras.get(row).and_then(Option::as_deref).cloned().unwrap_or_default();
        Score {
            value: self.values.get(row),
            answer: extras.answer,
            explanation: extras.explanation,
            metadata: extras.metadata,
        }
    }

    pub(crate) fn metadata(&self, row: usize) -> Option<&Metadata> {
        self.extras.get(row)?.as_ref()?.metadata.as_deref()
    }

    pub(crate) fn has_extras(&self) -> bool {
        !self.extras.is_empty()
    }

    pub(crate) fn gather(&self, rows: &[u32]) -> Self {
        let pick = |column: &[u32]| rows.iter().map(|&row| column[row as usize]).collect();
        let reasons = if self.reasons.is_empty() {
            BTreeMap::new()
        } else {
            let kept = rows.iter().zip(0u32..);
            kept.filter_map(|(row, new)| Some((new, self.reasons.get(row)?.clone()))).collect()
        };
        let extras = if self.extras.is_empty() {
            Vec::new()
        } else {
            rows.iter().map(|&row| self.extras[row as usize].clone()).collect()
        };
        Self {
            sample: pick(&self.sample),
            epoch: pick(&self.epoch),
            attempt: pick(&self.attempt),
            values: self.values.gather(rows),
            reasons,
            extras,
        }
    }
}

/// The values of a column of scores.
#[derive(Clone, Debug)]
pub(crate) enum Values {
    /// Plain values.
    Scalars(Column),
    /// Maps that all have the same keys, one column per key.
    Maps(Maps),
    /// Lists, maps with differing keys, or a mixture.
    Mixed(Vec<Value>),
}

/// Maps with the same keys.
#[derive(Clone, Debug)]
pub(crate) struct Maps {
    pub(crate) keys: Vec<Arc<str>>,
    pub(crate) columns: Vec<Column>,
    /// Rows that have no map at all.
    pub(crate) missing: Vec<bool>,
}

impl Default for Values {
    fn default() -> Self {
        Self::Scalars(Column::default())
    }
}

impl Values {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Scalars(column) => column.len(),
            Self::Maps(maps) => maps.missing.len(),
            Self::Mixed(values) => values.len(),
        }
    }

    pub(crate) fn push(&mut self, value: Value) {
        match (&mut *self, value) {
            (Self::Scalars(column), value) if value.is_scalar() => column.push(value),
            (Self::Maps(maps), Value::Missing) => maps.push_missing(),
            (Self::Maps(maps), Value::Map(entries)) if maps.fits(&entries) => maps.push(entries),
            (Self::Scalars(column), Value::Map(entries))
                if Maps::can_hold(&entries) && (0..column.len()).all(|row| column.is_missing(row)) =>
            {
                let mut maps = Maps::new(&entries);
                (0..column.len()).for_each(|_| maps.push_missing());
                maps.push(entries);
                *self = Self::Maps(maps);
            }
            (Self::Mixed(values), value) => values.push(value),
            (_, value) => {
                let mut values: Vec<Value> = (0..self.len()).map(|row| self.get(row)).collect();
                values.push(value);
                *self = Self::Mixed(values);
            }
        }
    }

    /// Adds missing values up to this many rows.
    fn pad(&mut self, rows: usize) {
        match self {
            Self::Scalars(column) => column.pad(rows),
            Self::Maps(maps) => {
                maps.columns.iter_mut().for_each(|column| column.pad(rows));
                maps.missing.resize(rows, true);
            }
            Self::Mixed(values) => values.resize(rows, Value::Missing),
        }
    }

    pub(crate) fn append(&mut self, other: Self) {
        match (&mut *self, other) {
            (mine, other) if mine.len() == 0 => *mine = other,
            (Self::Scalars(mine), Self::Scalars(theirs)) => mine.append(&theirs),
            (Self::Maps(mine), Self::Maps(theirs)) if mine.keys == theirs.keys => {
                mine.columns.iter_mut().zip(&theirs.columns).for_each(|(mine, theirs)| mine.append(theirs));
                mine.missing.extend(theirs.missing);
            }
            (_, other) => (0..other.len()).for_each(|row| self.push(other.get(row))),
        }
    }

    pub(crate) fn get(&self, row: usize) -> Value {
        match self {
            Self::Scalars(column) => column.get(row),
            Self::Maps(maps) if maps.missing[row] => Value::Missing,
            Self::Maps(maps) => {
                let entries = maps.keys.iter().zip(&maps.columns);
                Value::Map(entries.map(|(key, column)| (key.clone(), column.get(row))).collect())
            }
            Self::Mixed(values) => values[row].clone(),
        }
    }

    /// The rows that have a value, or `None` when all have one.
    /// True when a plain value is a number outside [0, 1].
    pub(crate) fn is_outside_unit(&self, labels: &Labels) -> bool {
        // A share that was computed in floats may miss its end by a rounding error.
        let is_outside = |x: f64| !x.is_nan() && !(-1e-9..=1.0 + 1e-9).contains(&x);
        match self {
            // No early exit within a block, so that vector instructions can do it.
            Self::Scalars(Column::Floats(floats)) => {
                floats.chunks(1024).any(|block| block.iter().fold(false, |found, &x| found | is_outside(x)))
            }
            Self::Scalars(Column::Coded(coded)) => {
                coded.dictionary().iter().any(|value| labels.to_float(value).is_some_and(is_outside))
            }
            Self::Maps(_) | Self::Mixed(_) => false,
        }
    }

    pub(crate) fn scored_rows(&self) -> Option<Vec<u32>> {
        let rows = || (0..self.len() as u32).filter(|&row| !self.is_root_missing(row as usize)).collect();
        self.has_root_missing().then(rows)
    }

    pub(crate) fn is_root_missing(&self, row: usize) -> bool {
        match self {
            Self::Scalars(column) => column.is_missing(row),
            Self::Maps(maps) => maps.missing[row],
            Self::Mixed(values) => values[row].is_missing(),
        }
    }

    /// Makes room for this many more rows, where values are plain.
    pub(crate) fn reserve(&mut self, more: usize) {
        if let Self::Scalars(column) = self {
            column.reserve(more);
        }
    }

    pub(crate) fn has_root_missing(&self) -> bool {
        match self {
            Self::Scalars(column) => column.has_missing(),
            Self::Maps(maps) => maps.missing.contains(&true),
            Self::Mixed(values) => values.iter().any(Value::is_missing),
        }
    }

    /// True when these rows do not all have the same value.
    pub(crate) fn differ(&self, rows: &[u32]) -> bool {
        let same = |column: &Column| match column {
            Column::Floats(floats) => rows.iter().all(|&row| floats[row as usize] == floats[rows[0] as usize]),
            Column::Coded(coded) => rows.iter().all(|&row| coded.codes[row as usize] == coded.codes[rows[0] as usize]),
        };
        match self {
            Self::Scalars(column) => !same(column),
            Self::Maps(maps) => !maps.columns.iter().all(same),
            Self::Mixed(values) => rows.iter().any(|&row| values[row as usize] != values[rows[0] as usize]),
        }
    }

    pub(crate) fn gather(&self, rows: &[u32]) -> Self {
        match self {
            Self::Scalars(column) => Self::Scalars(column.gather(rows)),
            Self::Maps(maps) => Self::Maps(Maps {
                keys: maps.keys.clone(),
                columns: maps.columns.iter().map(|column| column.gather(rows)).collect(),
                missing: rows.iter().map(|&row| maps.missing[row as usize]).collect(),
            }),
            Self::Mixed(values) => Self::Mixed(rows.iter().map(|&row| values[row as usize].clone()).collect()),
        }
    }
}

impl FromIterator<Value> for Values {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Self {
        let mut column = Self::default();
        values.into_iter().for_each(|value| column.push(value));
        column
    }
}

impl Maps {
    fn new(entries: &[(Arc<str>, Value)]) -> Self {
        let keys: Vec<Arc<str>> = entries.iter().map(|(key, _)| key.clone()).collect();
        Self { columns: vec![Column::default(); keys.len()], keys, missing: Vec::new() }
    }

    /// True when columns can hold the entries: their values are plain, and no key is named twice.
    fn can_hold(entries: &[(Arc<str>, Value)]) -> bool {
        let mut known = HashSet::with_capacity(entries.len());
        entries.iter().all(|(key, value)| value.is_scalar() && known.insert(key))
    }

    /// True when the entries have just these keys, with plain values.
    fn fits(&self, entries: &[(Arc<str>, Value)]) -> bool {
        if entries.len() != self.keys.len() || !entries.iter().all(|(_, value)| value.is_scalar()) {
            return false;
        }
        // Maps of one scorer nearly always list their keys in the same order.
        if self.keys.iter().zip(entries).all(|(key, (name, _))| key == name) {
            return true;
        }
        // Not the other way round: a map may name a key twice.
        let names: HashSet<&str> = entries.iter().map(|(name, _)| &**name).collect();
        self.keys.iter().all(|key| names.contains(&**key))
    }

    fn push(&mut self, entries: Vec<(Arc<str>, Value)>) {
        let mut places: Option<HashMap<Arc<str>, usize>> = None;
        for (place, (key, value)) in entries.into_iter().enumerate() {
            let is_same = self.keys.get(place).is_some_and(|expected| *expected == key);
            let by_name = || self.keys.iter().cloned().zip(0..).collect();
            let place = if is_same { Some(place) } else { places.get_or_insert_with(by_name).get(&key).copied() };
            if let Some(place) = place {
                self.columns[place].push(value);
            }
        }
        self.missing.push(false);
    }

    fn push_missing(&mut self) {
        self.columns.iter_mut().for_each(|column| column.push(Value::Missing));
        self.missing.push(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(entries: &[(&str, f64)]) -> Value {
        Value::Map(entries.iter().map(|(key, x)| (Arc::from(*key), Value::Float(*x))).collect())
    }

    fn values() -> Vec<Vec<Value>> {
        let list = Value::List(vec![Value::from("C")]);
        vec![
            vec![Value::Float(1.0), Value::Missing],
            vec![Value::from("C"), Value::from("I")],
            vec![Value::Missing, map(&[("a", 1.0), ("b", 0.0)]), map(&[("b", 0.5), ("a", 0.0)])],
            vec![map(&[("a", 1.0)]), map(&[("c", 1.0)])],
            vec![map(&[("a", 1.0)]), Value::Float(1.0)],
            vec![list.clone(), Value::Missing],
            vec![Value::Float(0.5), list],
        ]
    }

    /// Maps keep the order of keys of the first one.
    fn is_same(a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::Map(x), Value::Map(y)) => x.len() == y.len() && x.iter().all(|(key, x)| b.get(key) == Some(x)),
            _ => a == b,
        }
    }

    #[track_caller]
    fn check(column: &Values, want: &[Value]) {
        assert_eq!(column.len(), want.len());
        for (row, value) in want.iter().enumerate() {
            assert!(is_same(&column.get(row), value), "row {row}: {:?} and not {value:?}", column.get(row));
            assert_eq!(column.is_root_missing(row), value.is_missing());
        }
        assert_eq!(column.has_root_missing(), want.iter().any(Value::is_missing));
    }

    #[test]
    fn values_of_any_shape_are_returned_as_they_were_pushed() {
        for values in values() {
            check(&values.iter().cloned().collect(), &values);
        }
    }

    #[test]
    fn appended_values_equal_those_of_one_column() {
        for first in values() {
            for second in values() {
                let mut joined: Values = first.iter().cloned().collect();
                joined.append(second.iter().cloned().collect());
                let all: Vec<Value> = first.iter().chain(&second).cloned().collect();
                check(&joined, &all);
            }
        }
    }

    #[test]
    fn maps_with_the_same_keys_become_columns_and_others_do_not() {
        let is_columns = |values: &[Value]| matches!(values.iter().cloned().collect(), Values::Maps(_));
        assert!(is_columns(&[map(&[("a", 1.0), ("b", 0.0)]), map(&[("b", 1.0), ("a", 0.0)])]));
        assert!(!is_columns(&[map(&[("a", 1.0)]), map(&[("a", 1.0), ("b", 0.0)])]));
        assert!(!is_columns(&[map(&[("a", 1.0), ("a", 0.0)])]), "one of the two values would be lost");
    }

    #[test]
    fn rows_keep_their_reasons_and_explanations_when_they_are_gathered() {
        let mut scores = Scores::default();
        let row = |attempt: u32| ScoreRow { sample: attempt, epoch: 1, attempt };
        scores.push(row(0), Outcome::from(1.0));
        scores.push(row(1), Outcome::unscored("refused"));
        scores.push(row(2), Outcome::from(Score::new(0.5).explanation("half right")));
        let gathered = scores.gather(&[2, 1]);
        assert_eq!(gathered.score(0), Score::new(0.5).explanation("half right"));
        assert_eq!(gathered.reasons.get(&1).map(|why| &**why), Some("refused"));
        assert_eq!(&*gathered.attempt, [2, 1]);
        assert_eq!(scores.score(0), Score::new(1.0), "a score without extras has none beside one that has some");
    }
}
