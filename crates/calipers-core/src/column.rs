//! Values side by side: the form in which they are folded.
//!
//! Scores are mostly one of a few labels, or floats. A column holds either codes into a dictionary of
//! distinct values or plain floats, four or eight bytes a row, so that a metric over a million scores reads
//! a few megabytes and looks each label up once.

use crate::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// A code that stands for "nothing was said here".
pub(crate) const ABSENT: u32 = u32::MAX;

/// Values, one a row.
#[derive(Clone, Debug)]
pub(crate) enum Column {
    /// Floats; inside a column, and nowhere else, a NaN stands for [`Value::Missing`].
    Floats(Vec<f64>),
    /// Codes into a dictionary of distinct values.
    Coded(Coded),
}

/// Codes with the dictionary that they point into. Columns gathered from one another share the dictionary.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coded {
    pub(crate) codes: Vec<u32>,
    dictionary: Arc<Dictionary>,
    /// True when a code may be [`ABSENT`].
    has_gaps: bool,
}

/// Distinct values in the order of their first appearance.
#[derive(Clone, Debug, Default)]
struct Dictionary {
    values: Vec<Value>,
    index: HashMap<Value, u32>,
}

impl Coded {
    pub(crate) fn push(&mut self, value: Value) {
        let code = match self.dictionary.index.get(&value) {
            Some(&code) => code,
            None => Arc::make_mut(&mut self.dictionary).add(value),
        };
        self.codes.push(code);
    }

    /// Rows up to `rows` that nothing was said about.
    pub(crate) fn pad(&mut self, rows: usize) {
        self.has_gaps |= rows > self.codes.len();
        self.codes.resize(rows, ABSENT);
    }

    /// The first row that nothing was said about.
    pub(crate) fn first_gap(&self) -> Option<usize> {
        // `contains` uses vector instructions, which `position` does not.
        let has_gap = self.has_gaps && self.codes.contains(&ABSENT);
        if has_gap { self.codes.iter().position(|&code| code == ABSENT) } else { None }
    }

    /// The distinct values; a code is a place in this list.
    pub(crate) fn dictionary(&self) -> &[Value] {
        &self.dictionary.values
    }

    /// The same dictionary under other codes.
    pub(crate) fn with_codes(&self, codes: Vec<u32>) -> Self {
        Self { codes, dictionary: self.dictionary.clone(), has_gaps: true }
    }

    fn gather(&self, rows: &[u32]) -> Self {
        let codes = rows.iter().map(|&row| self.codes[row as usize]).collect();
        Self { has_gaps: self.has_gaps, ..self.with_codes(codes) }
    }

    pub(crate) fn value(&self, row: usize) -> Option<&Value> {
        self.dictionary.values.get(self.codes[row] as usize)
    }
}

impl Dictionary {
    fn add(&mut self, value: Value) -> u32 {
        let code = self.values.len() as u32;
        self.values.push(value.clone());
        self.index.insert(value, code);
        code
    }
}

impl Default for Column {
    fn default() -> Self {
        Self::Floats(Vec::new())
    }
}

impl Column {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Floats(floats) => floats.len(),
            Self::Coded(coded) => coded.codes.len(),
        }
    }

    pub(crate) fn push(&mut self, value: Value) {
        match (&mut *self, value) {
            (Self::Floats(floats), Value::Float(x)) => floats.push(x),
            (Self::Floats(floats), Value::Missing) => floats.push(f64::NAN),
            (Self::Floats(floats), value) => {
                let mut coded = Coded::default();
                floats.iter().for_each(|&x| coded.push(Value::from(x)));
                coded.push(value);
                *self = Self::Coded(coded);
            }
            (Self::Coded(coded), value) => coded.push(value),
        }
    }

    /// Rows up to `rows` that nothing was said about.
    pub(crate) fn pad(&mut self, rows: usize) {
        match self {
            Self::Floats(floats) => floats.resize(rows, f64::NAN),
            Self::Coded(coded) => coded.pad(rows),
        }
    }

    pub(crate) fn get(&self, row: usize) -> Value {
        match self {
            Self::Floats(floats) => Value::from(floats[row]),
            Self::Coded(coded) => coded.value(row).cloned().unwrap_or(Value::Missing),
        }
    }

    pub(crate) fn is_missing(&self, row: usize) -> bool {
        match self {
            Self::Floats(floats) => floats[row].is_nan(),
            Self::Coded(coded) => coded.value(row).is_none_or(Value::is_missing),
        }
    }

    /// True when some row may be missing. Cheap for coded columns.
    pub(crate) fn has_missing(&self) -> bool {
        match self {
            Self::Floats(floats) => has_nan(floats),
            Self::Coded(coded) => coded.dictionary().iter().any(Value::is_missing) || coded.first_gap().is_some(),
        }
    }

    /// The given rows, in the order given.
    pub(crate) fn gather(&self, rows: &[u32]) -> Self {
        match self {
            Self::Floats(floats) => Self::Floats(rows.iter().map(|&row| floats[row as usize]).collect()),
            Self::Coded(coded) => Self::Coded(coded.gather(rows)),
        }
    }
}

/// True when there is a NaN. Whole blocks are looked at without an early exit, so that vector instructions can do it.
fn has_nan(floats: &[f64]) -> bool {
    floats.chunks(1024).any(|block| block.iter().fold(false, |found, x| found | x.is_nan()))
}

impl FromIterator<Value> for Column {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Self {
        let mut column = Self::default();
        values.into_iter().for_each(|value| column.push(value));
        column
    }
}
