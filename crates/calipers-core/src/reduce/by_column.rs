//! Reducing a whole column of plain values at once.

use super::AttemptGroups;
use super::by_value::number;
use super::rule::{Pick, ReduceRule, ScoreClass};
use crate::data::column::{ABSENT, Coded, Column};
use crate::{Error, ErrorKind, Labels, Value};

impl ReduceRule {
    /// One value per sample. `name` adds the sample to an error.
    pub(super) fn reduce_column(
        &self,
        column: &Column,
        attempts: &AttemptGroups,
        labels: &Labels,
        name: &impl Fn(u32, Error) -> Error,
    ) -> Result<Column, Error> {
        let coded = match column {
            Column::Floats(floats) => {
                if !labels.is_lenient()
                    && !self.only_counts()
                    && let Some((sample, infinite)) = first_infinite(floats, attempts)
                {
                    return Err(name(sample, ErrorKind::NotFinite(infinite).into()));
                }
                let labels = (labels.map_numbers() && !self.only_counts()).then_some(labels);
                return Ok(self.reduce_rows(attempts, &FloatRows { floats, compared: self.only_counts(), labels }));
            }
            Column::Coded(coded) => coded,
        };
        let table = ValueClasses::new(coded, if self.only_counts() { None } else { Some(labels) });
        if let Some((sample, error)) = table.first_bad(coded, attempts) {
            return Err(name(sample, error));
        }
        if attempts.is_single() && matches!(self, Self::Mean | Self::Median) {
            return Ok(Column::Coded(table.as_numbers(coded)));
        }
        Ok(self.reduce_rows(attempts, &CodedRows { coded, table: &table }))
    }

    fn reduce_rows(&self, attempts: &AttemptGroups, column: &impl ColumnRows) -> Column {
        let mut output = ReducedColumn::default();
        let mut scored: Vec<ScoreClass> = Vec::new();
        let mut places: Vec<u32> = Vec::new();
        let mut sorted = Vec::new();
        for (_, rows) in attempts.iter() {
            scored.clear();
            places.clear();
            for &row in rows {
                if let Some(class) = column.class(row, &places) {
                    scored.push(class);
                    places.push(row);
                }
            }
            output.push(self.decide(&scored, rows.len(), &mut sorted), &places);
        }
        output.finish(column)
    }
}

/// The first sample with an infinite attempt.
fn first_infinite(floats: &[f64], attempts: &AttemptGroups) -> Option<(u32, f64)> {
    if !floats.iter().any(|x| x.is_infinite()) {
        return None;
    }
    let infinite = |&row: &u32| Some(floats[row as usize]).filter(|x| x.is_infinite());
    attempts.iter().find_map(|(sample, rows)| Some((sample, rows.iter().find_map(infinite)?)))
}

/// A column as the rules see it.
trait ColumnRows {
    /// The class of a row, the same as that of an equal one among the `earlier` rows; `None` if it has no value.
    fn class(&self, row: u32, earlier: &[u32]) -> Option<ScoreClass>;
    /// The given rows of the column; `None` is missing.
    fn pick(&self, rows: &[Option<u32>]) -> Column;
}

struct FloatRows<'a> {
    floats: &'a [f64],
    /// True when values are compared with one another.
    compared: bool,
    /// Labels that give some number another meaning.
    labels: Option<&'a Labels>,
}

impl ColumnRows for FloatRows<'_> {
    fn class(&self, row: u32, earlier: &[u32]) -> Option<ScoreClass> {
        let value = self.floats[row as usize];
        if value.is_nan() {
            return None;
        }
        let same = |earlier: &&u32| self.compared && self.floats[**earlier as usize] == value;
        let class = earlier.iter().find(same).copied().unwrap_or(row);
        let number = self.labels.map_or(value, |labels| labels.number(value));
        Some(ScoreClass { number, class })
    }

    fn pick(&self, rows: &[Option<u32>]) -> Column {
        Column::Floats(rows.iter().map(|row| row.map_or(f64::NAN, |row| self.floats[row as usize])).collect())
    }
}

struct CodedRows<'a> {
    coded: &'a Coded,
    table: &'a ValueClasses,
}

impl ColumnRows for CodedRows<'_> {
    fn class(&self, row: u32, _: &[u32]) -> Option<ScoreClass> {
        *self.table.classes.get(self.coded.codes[row as usize] as usize)?
    }

    fn pick(&self, rows: &[Option<u32>]) -> Column {
        let code = |row: &Option<u32>| row.map_or(ABSENT, |row| self.coded.codes[row as usize]);
        Column::Coded(self.coded.with_codes(rows.iter().map(code).collect()))
    }
}

/// The picks of one column; a rule makes all of one sort.
#[derive(Default)]
struct ReducedColumn {
    numbers: Vec<f64>,
    flags: Option<Coded>,
    rows: Vec<Option<u32>>,
    nothing: usize,
}

impl ReducedColumn {
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

    fn finish(self, column: &impl ColumnRows) -> Column {
        match self.flags {
            Some(flags) => Column::Coded(flags),
            None if self.rows.len() > self.nothing => column.pick(&self.rows),
            None => Column::Floats(self.numbers),
        }
    }
}

/// What each distinct value of a column means.
struct ValueClasses {
    classes: Vec<Option<ScoreClass>>,
    /// Values without a number, and why.
    bad: Vec<(u32, Error)>,
}

impl ValueClasses {
    /// Numbers are looked up only when there are labels to look them up with.
    fn new(coded: &Coded, labels: Option<&Labels>) -> Self {
        let dictionary = coded.dictionary();
        let mut bad = Vec::new();
        let classes = dictionary.iter().enumerate().map(|(code, value)| {
            if value.is_missing() {
                return None;
            }
            let number = labels.map_or(Ok(0.0), |labels| number(value, labels)).unwrap_or_else(|error| {
                bad.push((code as u32, error));
                0.0
            });
            // Only numbers of different kinds can be equal without being the same.
            let twin = |other: &Value| value.as_number().is_some() && value.equals(other);
            let class = dictionary[..code].iter().position(twin).unwrap_or(code) as u32;
            Some(ScoreClass { number, class })
        });
        let classes = classes.collect();
        Self { classes, bad }
    }

    fn first_bad(&self, coded: &Coded, attempts: &AttemptGroups) -> Option<(u32, Error)> {
        if self.bad.is_empty() {
            return None;
        }
        let error = |&row: &u32| self.bad.iter().find(|(code, _)| *code == coded.codes[row as usize]);
        attempts.iter().find_map(|(sample, rows)| {
            let (_, error) = rows.iter().find_map(error)?;
            Some((sample, error.clone()))
        })
    }

    /// The column with each value as its number: the mean of one attempt is its number.
    fn as_numbers(&self, coded: &Coded) -> Coded {
        let mut numbers = Coded::default();
        for class in &self.classes {
            numbers.push(class.map_or(Value::Missing, |class| Value::from(class.number)));
        }
        let new_code = |&code: &u32| numbers.codes.get(code as usize).copied().unwrap_or(ABSENT);
        numbers.with_codes(coded.codes.iter().map(new_code).collect())
    }
}
