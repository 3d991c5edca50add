//! Surveys a run before the first row is written, because columns come before rows.

use crate::formats::parse_embedded;
use crate::json::json_writer;
use calipers_core::{Outcome, Record, SampleId, Samples, Score, Value};
use indexmap::IndexMap;
use std::sync::Arc;

/// As many names of one kind have a column each. Of more, those that fewer than one row in sixteen has go together.
const COLUMNS_MAX: usize = 256;

/// The columns that a run needs.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) rows: u64,
    /// Rows without an error.
    ran: u64,
    pub(super) all_ids_are_numbers: bool,
    pub(super) scorers: IndexMap<Arc<str>, ScorerSurvey>,
    pub(super) fields: IndexMap<Arc<str>, ColumnSurvey>,
    pub(super) facts: IndexMap<Arc<str>, ColumnSurvey>,
    pub(super) has_errors: bool,
}

/// A kind of plain value, for columns that hold one kind only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    Bool,
    Int,
    Float,
    Text,
}

impl ValueKind {
    pub(super) fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(_) => Some(Self::Bool),
            Value::Int(_) => Some(Self::Int),
            Value::Float(_) => Some(Self::Float),
            Value::Text(_) => Some(Self::Text),
            _ => None,
        }
    }
}

/// What the survey found in a column.
#[derive(Debug, Default)]
pub(super) struct ColumnSurvey {
    /// The kind of the first plain value.
    pub(super) kind: Option<ValueKind>,
    /// How many bytes of text there are.
    pub(super) bytes: u64,
    /// How many rows have a value.
    given: u64,
}

impl ColumnSurvey {
    fn look(&mut self, value: &Value) {
        self.given += 1;
        self.kind = self.kind.or_else(|| ValueKind::of(value));
        if let Value::Text(text) = value {
            self.bytes += text.len() as u64;
        }
    }
}

/// What the survey found for a scorer.
#[derive(Debug, Default)]
pub(super) struct ScorerSurvey {
    pub(super) kind: Option<ValueKind>,
    /// True when some values are of another kind, or no plain values at all.
    pub(super) is_mixed: bool,
    /// True when some scores are more than a plain value: unscored, with an answer, text that reads as JSON.
    pub(super) has_parts: bool,
    /// How many of the attempts without an error it looked at.
    looked: u64,
}

impl ScorerSurvey {
    fn look(&mut self, outcome: &Outcome) {
        let Outcome::Scored(score) = outcome else {
            self.has_parts = true;
            return;
        };
        let kind = ValueKind::of(&score.value);
        self.is_mixed |= kind.is_none() || self.kind.is_some_and(|first| Some(first) != kind);
        self.kind = self.kind.or(kind);
        let reads_as_json = matches!(&score.value, Value::Text(text) if parse_embedded(text).is_some());
        self.has_parts |= has_extras(score) || reads_as_json;
    }
}

pub(super) fn has_extras(score: &Score) -> bool {
    score.answer.is_some() || score.explanation.is_some() || score.metadata.is_some()
}

impl Survey {
    pub(super) fn of(samples: &Samples) -> Self {
        let mut survey = Self { all_ids_are_numbers: true, ..Self::default() };
        // In the order of the run, which the first records need not follow.
        for scorer in samples.scorers() {
            survey.scorers.insert(scorer.clone(), ScorerSurvey::default());
        }
        samples.records().for_each(|record| survey.look(&record));
        survey
    }

    fn look(&mut self, record: &Record) {
        self.rows += 1;
        self.all_ids_are_numbers &= matches!(record.id, SampleId::Int(_));
        let ran = record.error.is_none();
        self.ran += u64::from(ran);
        self.has_errors |= !ran;
        for (scorer, outcome) in &record.scores {
            let seen = self.scorers.entry(scorer.clone()).or_default();
            seen.looked += u64::from(ran);
            seen.look(outcome);
        }
        for (name, value) in &record.fields {
            self.fields.entry(name.clone()).or_default().look(value);
        }
        for (key, value) in record.metadata.iter() {
            self.facts.entry(key.clone()).or_default().look(value);
        }
    }

    /// The names that have a column: all, unless there are very many. A table with a column for each of thousands of names
    /// that occur once would have as many empty cells as the square of its rows.
    pub(super) fn common<'s>(
        &self,
        names: &'s IndexMap<Arc<str>, ColumnSurvey>,
    ) -> impl Iterator<Item = (&'s Arc<str>, &'s ColumnSurvey)> {
        let given_min = self.given_min(names.len());
        names.iter().filter(move |(_, seen)| seen.given >= given_min)
    }

    /// The same for scorers.
    pub(super) fn common_scorers(&self) -> impl Iterator<Item = (&Arc<str>, &ScorerSurvey)> {
        let given_min = self.given_min(self.scorers.len());
        self.scorers.iter().filter(move |(_, seen)| seen.looked >= given_min)
    }

    fn given_min(&self, names: usize) -> u64 {
        if names > COLUMNS_MAX { self.rows.div_ceil(16) } else { 0 }
    }

    /// True when a scorer looked at every attempt that ran. Only then can it have a column: an empty cell means that it
    /// looked and could not tell, and on an errored attempt it means nothing.
    pub(super) fn is_full(&self, scorer: &str) -> bool {
        self.scorers.get(scorer).is_some_and(|seen| seen.looked == self.ran)
    }
}

/// True when a column of this name is read under the same name: the header of a table is trimmed.
pub(super) fn can_be_column(name: &str) -> bool {
    !name.is_empty() && name.trim_ascii_end() == name
}

/// JSON as text.
pub(super) fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes);
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

/// A value as JSON text.
pub(super) fn json_text(value: &Value) -> String {
    text(|out| json_writer::put(out, value, json_writer::Nan::Null))
}
