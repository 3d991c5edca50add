//! Native records as CSV: the columns of `docs/formats/native.md`.
//!
//! Every cell is compared with what the reader would make of it. A value that a cell cannot hold goes, as JSON, into
//! the column `scores`, `fields` or `metadata` of its row.

use super::native::{facts, is_at_home, put_entries, put_error, put_nulls, put_outcome, put_scores};
use super::table_survey::{Survey, can_be_column, has_extras, json_text, text};
use super::{Contents, LossCounts, OutputFile, WriteError, Writer, check_id};
use crate::formats::{ColumnRole, cell, says_no_error};
use calipers_core::{Outcome, Record, SampleId, Samples, Value};
use std::collections::HashMap;
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
        let layout = CsvLayout::of(samples);
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
        line(layout.columns.iter().map(CsvColumn::header).collect(), out)?;
        for record in samples.records() {
            check_id(&record, out)?;
            line(layout.cells(&record, &mut lost), out)?;
        }
        Ok(lost.notes())
    }
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum CsvColumn {
    Id,
    Epoch,
    /// The score by one scorer.
    Score(Arc<str>),
    /// The scores that have no column.
    Scores,
    /// A field.
    Field(Arc<str>),
    /// The fields that have no cell.
    Fields,
    Error,
    /// A fact.
    Fact(Arc<str>),
    /// The facts that have no cell.
    Metadata,
    NullMetadata,
}

/// The columns, and where each is.
struct CsvLayout {
    columns: Vec<CsvColumn>,
    places: HashMap<CsvColumn, usize>,
}

impl CsvLayout {
    fn new(columns: Vec<CsvColumn>) -> Self {
        let places = columns.iter().cloned().zip(0..).collect();
        Self { columns, places }
    }

    /// The columns that a run needs.
    fn of(samples: &Samples) -> Self {
        let survey = Survey::of(samples);
        let mut columns = vec![CsvColumn::Id, CsvColumn::Epoch];
        let is_column = |scorer: &&Arc<str>| survey.is_full(scorer) && can_be_column(scorer);
        columns.extend(survey.scorers.keys().filter(is_column).cloned().map(CsvColumn::Score));
        let fields = survey.common(&survey.fields).filter(|(name, _)| can_be_column(name));
        columns.extend(fields.map(|(name, _)| CsvColumn::Field(name.clone())));
        let facts = survey.common(&survey.facts).filter(|(key, _)| can_be_column(key));
        columns.extend(facts.map(|(key, _)| CsvColumn::Fact(key.clone())));
        columns.extend(survey.has_errors.then_some(CsvColumn::Error));
        // The catch-all columns come last. Of these and of sparse columns, only those with content are kept.
        columns.extend([CsvColumn::Scores, CsvColumn::Fields, CsvColumn::Metadata, CsvColumn::NullMetadata]);
        let layout = Self::new(columns);
        let is_kept = |column: &CsvColumn| {
            matches!(column, CsvColumn::Id | CsvColumn::Epoch | CsvColumn::Error | CsvColumn::Score(_))
        };
        let mut kept: Vec<bool> = layout.columns.iter().map(is_kept).collect();
        for record in samples.records() {
            let cells = layout.cells(&record, &mut LossCounts::default());
            kept.iter_mut().zip(cells).for_each(|(kept, cell)| *kept |= !cell.is_empty());
        }
        Self::new(layout.columns.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(column, _)| column).collect())
    }

    /// The cells of a record.
    fn cells(&self, record: &Record, lost: &mut LossCounts) -> Vec<String> {
        let mut cells = vec![String::new(); self.columns.len()];
        let mut put = |column: CsvColumn, cell: String| {
            if let Some(&place) = self.places.get(&column) {
                cells[place] = cell;
            }
        };
        put(CsvColumn::Id, id_cell(&record.id));
        put(CsvColumn::Epoch, record.epoch.to_string());
        put(CsvColumn::Error, record.error.as_deref().map(error_cell).unwrap_or_default());
        let mut rest = Vec::new();
        for score in &record.scores {
            let column = CsvColumn::Score(score.0.clone());
            if self.places.contains_key(&column) {
                put(column, score_cell(&score.1, record, lost));
            } else {
                rest.push(score);
            }
        }
        if !rest.is_empty() {
            put(CsvColumn::Scores, text(|out| put_scores(out, rest.into_iter(), record, lost)));
        }
        let mut rest = Vec::new();
        for (name, value) in &record.fields {
            let column = CsvColumn::Field(name.clone());
            match field_cell(name, value).filter(|_| self.places.contains_key(&column)) {
                Some(cell) => put(column, cell),
                None => rest.push((name, value)),
            }
        }
        if !rest.is_empty() {
            put(CsvColumn::Fields, text(|out| put_entries(out, rest.into_iter(), record, lost)));
        }
        let (facts, nulls) = facts(record);
        let mut rest = Vec::new();
        for (key, value) in facts {
            let column = CsvColumn::Fact(key.clone());
            match fact_cell(key, value).filter(|_| self.places.contains_key(&column)) {
                Some(cell) => put(column, cell),
                None => rest.push((key, value)),
            }
        }
        if !rest.is_empty() {
            put(CsvColumn::Metadata, text(|out| put_entries(out, rest.into_iter(), record, lost)));
        }
        if !nulls.is_empty() {
            put(CsvColumn::NullMetadata, text(|out| put_nulls(out, &nulls, record, lost)));
        }
        cells
    }
}

impl CsvColumn {
    fn header(&self) -> String {
        match self {
            Self::Id => "id".into(),
            Self::Epoch => "epoch".into(),
            Self::Score(scorer) => format!("scores.{scorer}"),
            Self::Scores => "scores".into(),
            Self::Field(name) => match ColumnRole::of(name) {
                ColumnRole::Number(_) | ColumnRole::Flag(_) | ColumnRole::Label(_) | ColumnRole::Behaviors(_) => {
                    name.to_string()
                }
                _ => format!("fields.{name}"),
            },
            Self::Fields => "fields".into(),
            Self::Error => "error".into(),
            Self::Fact(key) => format!("metadata.{key}"),
            Self::Metadata => "metadata".into(),
            Self::NullMetadata => "null_metadata".into(),
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
    if says_no_error(error) {
        return text(|out| put_error(out, error));
    }
    value_cell(&ColumnRole::Error, &error.into()).unwrap_or_else(|| error.to_owned())
}
