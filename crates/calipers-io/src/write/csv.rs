//! Native records as CSV: the columns of `docs/formats/native.md`.
//!
//! Every cell is compared with what the reader would make of it. A value that a cell cannot hold goes, as JSON, into
//! the column `scores`, `fields` or `metadata` of its row.

use super::native::{facts, is_at_home, put_entries, put_error, put_nulls, put_outcome, put_scores};
use super::table_survey::{Survey, can_be_column, has_extras, json_text, text};
use super::{Contents, LossCounts, OutputFile, WriteError, Writer, check_id};
use crate::formats::{ColumnRole, cell};
use calipers_core::{Outcome, Record, SampleId, Samples, Value};
use std::sync::Arc;

/// A table with a header.
pub(super) struct CsvWriter;

impl Writer for CsvWriter {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn about(&self) -> &'static str {
        "Calipers records as CSV; what a cell cannot hold stands there as JSON"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".csv", ".csv.gz", ".csv.zst"]
    }

    fn write(&self, contents: &Contents<'_>, out: &mut OutputFile) -> Result<Vec<String>, WriteError> {
        let samples = &contents.run.samples;
        let columns = columns(samples);
        let mut lost = LossCounts::default();
        let mut row: Vec<u8> = Vec::new();
        let mut line = |cells: Vec<String>, out: &mut OutputFile| {
            let mut writer = ::csv::WriterBuilder::new().from_writer(std::mem::take(&mut row));
            writer.write_record(&cells).map_err(|error| out.write_error(&error))?;
            row = writer.into_inner().map_err(|error| out.write_error(&error))?;
            out.text().write_all(&row).map_err(|error| out.write_error(&error))?;
            row.clear();
            Ok::<(), WriteError>(())
        };
        line(columns.iter().map(CsvColumn::header).collect(), out)?;
        for record in samples.records() {
            check_id(&record, out)?;
            line(columns.iter().map(|column| column.cell(&record, &columns, &mut lost)).collect(), out)?;
        }
        Ok(lost.notes())
    }
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
enum CsvColumn {
    Id,
    Epoch,
    /// The score by one scorer.
    Score(Arc<str>),
    /// The scores that have no column.
    Scores,
    /// A field, with the name of its column.
    Field(Arc<str>, String),
    /// The fields that have no cell.
    Fields,
    Error,
    /// A fact.
    Fact(Arc<str>),
    /// The facts that have no cell.
    Metadata,
    NullMetadata,
}

fn columns(samples: &Samples) -> Vec<CsvColumn> {
    let survey = Survey::of(samples);
    let mut columns = vec![CsvColumn::Id, CsvColumn::Epoch];
    let is_column = |scorer: &&Arc<str>| survey.is_full(scorer) && can_be_column(scorer);
    columns.extend(survey.scorers.keys().filter(is_column).cloned().map(CsvColumn::Score));
    for name in survey.fields.keys().filter(|name| can_be_column(name)) {
        let header = match ColumnRole::of(name) {
            ColumnRole::Number(_) | ColumnRole::Flag(_) | ColumnRole::Label(_) | ColumnRole::Behaviors(_) => {
                name.to_string()
            }
            _ => format!("fields.{name}"),
        };
        columns.push(CsvColumn::Field(name.clone(), header));
    }
    let is_fact = |key: &&Arc<str>| can_be_column(key);
    columns.extend(survey.facts.keys().filter(is_fact).cloned().map(CsvColumn::Fact));
    columns.extend(survey.has_errors.then_some(CsvColumn::Error));
    // The catch-all columns come last, and only if they have content.
    let rest = [CsvColumn::Scores, CsvColumn::Fields, CsvColumn::Metadata, CsvColumn::NullMetadata];
    let mut needed = rest.clone().map(|_| false);
    let mut filled = vec![false; columns.len()];
    for record in samples.records() {
        for (rest, needed) in rest.iter().zip(&mut needed) {
            *needed = *needed || !rest.cell(&record, &columns, &mut LossCounts::default()).is_empty();
        }
        for (column, filled) in columns.iter().zip(&mut filled) {
            let is_sparse = matches!(column, CsvColumn::Field(..) | CsvColumn::Fact(_));
            *filled = *filled || !is_sparse || !column.cell(&record, &columns, &mut LossCounts::default()).is_empty();
        }
    }
    let mut filled = filled.into_iter();
    columns.retain(|_| filled.next().unwrap_or(true));
    columns.extend(rest.into_iter().zip(needed).filter(|(_, needed)| *needed).map(|(column, _)| column));
    columns
}

impl CsvColumn {
    fn header(&self) -> String {
        match self {
            Self::Id => "id".into(),
            Self::Epoch => "epoch".into(),
            Self::Score(scorer) => format!("scores.{scorer}"),
            Self::Scores => "scores".into(),
            Self::Field(_, header) => header.clone(),
            Self::Fields => "fields".into(),
            Self::Error => "error".into(),
            Self::Fact(key) => format!("metadata.{key}"),
            Self::Metadata => "metadata".into(),
            Self::NullMetadata => "null_metadata".into(),
        }
    }

    /// The cell in this column, if it has content.
    fn cell(&self, record: &Record, columns: &[Self], lost: &mut LossCounts) -> String {
        match self {
            Self::Id => id_cell(&record.id),
            Self::Epoch => record.epoch.to_string(),
            Self::Score(scorer) => {
                let found = record.scores.iter().find(|(name, _)| name == scorer);
                found.map(|(_, outcome)| score_cell(outcome, record, lost)).unwrap_or_default()
            }
            Self::Scores => {
                let has_column = |name: &Arc<str>| columns.iter().any(|c| matches!(c, Self::Score(n) if n == name));
                let mut rest = record.scores.iter().filter(|(name, _)| !has_column(name)).peekable();
                if rest.peek().is_none() { String::new() } else { text(|out| put_scores(out, rest, record, lost)) }
            }
            Self::Field(name, _) => {
                let found = record.fields.iter().find(|(known, _)| known == name);
                found.and_then(|(name, value)| field_cell(name, value)).unwrap_or_default()
            }
            Self::Fields => {
                let rest = record.fields.iter().map(|(name, value)| (name, value));
                let mut rest = rest.filter(|(name, value)| field_cell(name, value).is_none()).peekable();
                if rest.peek().is_none() { String::new() } else { text(|out| put_entries(out, rest, record, lost)) }
            }
            Self::Error => record.error.as_deref().map(error_cell).unwrap_or_default(),
            Self::Fact(key) => {
                let value = record.metadata.get(key);
                value.and_then(|value| fact_cell(key, value)).unwrap_or_default()
            }
            Self::Metadata => {
                let (facts, _) = facts(record);
                let mut rest = facts.into_iter().filter(|(key, value)| fact_cell(key, value).is_none()).peekable();
                if rest.peek().is_none() { String::new() } else { text(|out| put_entries(out, rest, record, lost)) }
            }
            Self::NullMetadata => match facts(record) {
                (_, nulls) if nulls.is_empty() => String::new(),
                (_, nulls) => text(|out| put_nulls(out, &nulls, record, lost)),
            },
        }
    }
}

/// The text that reads back as this value, if there is one.
fn value_cell(role: &ColumnRole, value: &Value) -> Option<String> {
    let plain = match value {
        Value::Null | Value::Missing => return None,
        Value::Bool(b) => b.to_string(),
        Value::List(_) | Value::Map(_) => json_text(value),
        other => other.to_string(),
    };
    if cell(role, &plain) == *value && !is_formula(&plain) {
        return Some(plain);
    }
    let Value::Text(text) = value else { return None };
    let quoted = json_text(&Value::Text(text.clone()));
    (cell(role, &quoted) == *value).then_some(quoted)
}

/// True for text that a spreadsheet takes for a formula. In JSON's quotes it is text to a spreadsheet, and the same to us.
fn is_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠']) && text.parse::<f64>().is_err()
}

fn id_cell(id: &SampleId) -> String {
    match id {
        SampleId::Int(i) => i.to_string(),
        SampleId::Text(text) => {
            let value = Value::Text(text.clone());
            value_cell(&ColumnRole::Id, &value).unwrap_or_else(|| text.to_string())
        }
    }
}

fn score_cell(outcome: &Outcome, record: &Record, lost: &mut LossCounts) -> String {
    let role = ColumnRole::Score("".into());
    match outcome {
        // An empty cell means just this.
        Outcome::Unscored { reason, score: None } if **reason == *"null" && record.error.is_none() => String::new(),
        Outcome::Scored(score) if score.value.is_scalar() && !has_extras(score) => {
            value_cell(&role, &score.value).unwrap_or_else(|| text(|out| put_outcome(out, outcome, record, lost)))
        }
        _ => text(|out| put_outcome(out, outcome, record, lost)),
    }
}

fn field_cell(name: &str, value: &Value) -> Option<String> {
    if !can_be_column(name) {
        return None;
    }
    match ColumnRole::of(name) {
        role @ (ColumnRole::Number(_) | ColumnRole::Flag(_) | ColumnRole::Label(_) | ColumnRole::Behaviors(_)) => {
            is_at_home(&role, value).then(|| value_cell(&role, value)).flatten()
        }
        _ => value_cell(&ColumnRole::Field(name.into()), value),
    }
}

fn fact_cell(key: &Arc<str>, value: &Value) -> Option<String> {
    if can_be_column(key) { value_cell(&ColumnRole::Fact(key.clone()), value) } else { None }
}

fn error_cell(error: &str) -> String {
    if error.trim().is_empty() {
        return text(|out| put_error(out, error));
    }
    value_cell(&ColumnRole::Error, &error.into()).unwrap_or_else(|| error.to_owned())
}
