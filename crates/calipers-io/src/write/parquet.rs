//! Native records as Parquet: the columns of CSV, with types.
//!
//! A scorer whose scores are plain values of one kind has a plain column `scores.NAME`. With answers, reasons or gaps it
//! is a struct, in which a row that the scorer did not look at is null. Everything else is JSON in `scores`.

use super::native::{facts, is_at_home, put_entries, put_error, put_nulls, put_scores};
use super::table_survey::{ColumnSurvey, Survey, ValueKind, can_be_column, json_text, text};
use super::{Contents, LossCounts, OutputFile, WriteError, Writer, check_id};
use crate::formats::{ColumnRole, says_no_error};
use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use ::parquet::errors::Result as ParquetResult;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::{Type, TypePtr};
use calipers_core::{Outcome, Record, SampleId, Samples, Score, Value};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A table with typed columns.
pub(super) struct ParquetWriter;

/// How many rows are written together. They are held in memory.
const GROUP: usize = 100_000;
/// Facts that are longer than this on average go into `metadata`: the reader leaves out columns of long text.
const FACT_BYTES_MAX: u64 = 512;

impl Writer for ParquetWriter {
    fn name(&self) -> &'static str {
        "parquet"
    }

    fn about(&self) -> &'static str {
        "Calipers records as Parquet, with typed columns"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".parquet"]
    }

    fn write(&self, contents: &Contents<'_>, out: &mut OutputFile) -> Result<Vec<String>, WriteError> {
        let samples = &contents.run.samples;
        let mut lost = LossCounts::default();
        for record in samples.records() {
            check_id(&record, out)?;
        }
        let written = write_table(samples, out.archive()?, &mut lost);
        written.map_err(|error| out.write_error(&error))?;
        Ok(lost.notes())
    }
}

fn write_table(samples: &Samples, file: impl std::io::Write + Send, lost: &mut LossCounts) -> ParquetResult<()> {
    let layout = TableLayout::of(samples);
    let fields = layout.columns.iter().map(TypedColumn::schema).collect::<ParquetResult<Vec<_>>>()?;
    let schema = Type::group_type_builder("records").with_fields(fields).build()?;
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(Default::default())).build();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
    let mut records = samples.records().peekable();
    while records.peek().is_some() {
        let group: Vec<Record> = records.by_ref().take(GROUP).collect();
        let mut row_group = writer.next_row_group()?;
        let cells = GroupCells::of(&group);
        for column in &layout.columns {
            column.write(&cells, &layout, &mut row_group, lost)?;
        }
        row_group.close()?;
    }
    writer.close()?;
    Ok(())
}

/// A column, or the columns of a struct.
struct TypedColumn {
    name: String,
    kind: ValueKind,
    holds: Holds,
}

/// What a column holds.
#[derive(Clone, PartialEq)]
enum Holds {
    Id,
    Epoch,
    Score(Arc<str>),
    ScoreParts(Arc<str>),
    Scores,
    Field(Arc<str>),
    Fields,
    Error,
    Fact(Arc<str>),
    Metadata,
    NullMetadata,
}

impl TypedColumn {
    fn new(name: impl Into<String>, kind: ValueKind, holds: Holds) -> Self {
        Self { name: name.into(), kind, holds }
    }
}

/// The columns, and what has a column.
#[derive(Default)]
struct TableLayout {
    columns: Vec<TypedColumn>,
    scorers: HashSet<Arc<str>>,
    fields: HashMap<Arc<str>, ValueKind>,
    facts: HashMap<Arc<str>, ValueKind>,
}

impl TableLayout {
    fn push(&mut self, column: TypedColumn) {
        match &column.holds {
            Holds::Score(scorer) | Holds::ScoreParts(scorer) => {
                self.scorers.insert(scorer.clone());
            }
            Holds::Field(name) => {
                self.fields.insert(name.clone(), column.kind);
            }
            Holds::Fact(key) => {
                self.facts.insert(key.clone(), column.kind);
            }
            _ => {}
        }
        self.columns.push(column);
    }

    /// The columns that a run needs.
    fn of(samples: &Samples) -> Self {
        let survey = Survey::of(samples);
        let id = if survey.all_ids_are_numbers { ValueKind::Int } else { ValueKind::Text };
        let mut layout = Self::default();
        layout.push(TypedColumn::new("id", id, Holds::Id));
        layout.push(TypedColumn::new("epoch", ValueKind::Int, Holds::Epoch));
        for (scorer, seen) in survey.common_scorers() {
            let name = format!("scores.{scorer}");
            match seen.kind {
                Some(kind) if !seen.is_mixed && can_be_column(scorer) => {
                    let is_plain = !seen.has_parts && survey.is_full(scorer);
                    let holds = if is_plain { Holds::Score } else { Holds::ScoreParts }(scorer.clone());
                    layout.push(TypedColumn::new(name, kind, holds));
                }
                _ => {}
            }
        }
        for (name, seen) in survey.common(&survey.fields) {
            field_column(name, seen).into_iter().for_each(|column| layout.push(column));
        }
        for (key, seen) in survey.common(&survey.facts) {
            let is_long = seen.bytes > FACT_BYTES_MAX.saturating_mul(survey.rows.max(1));
            if let Some(kind) = seen.kind.filter(|_| can_be_column(key) && !is_long) {
                layout.push(TypedColumn::new(format!("metadata.{key}"), kind, Holds::Fact(key.clone())));
            }
        }
        if survey.has_errors {
            layout.push(TypedColumn::new("error", ValueKind::Text, Holds::Error));
        }
        let rest = [
            ("scores", Holds::Scores),
            ("fields", Holds::Fields),
            ("metadata", Holds::Metadata),
            ("null_metadata", Holds::NullMetadata),
        ];
        let rest = rest.map(|(name, holds)| {
            let column = TypedColumn::new(name, ValueKind::Text, holds);
            let has_some = |record: Record| column.rest_of(&record, &layout, &mut LossCounts::default()).is_some();
            let is_needed = samples.records().any(has_some);
            (column, is_needed)
        });
        for (column, _) in rest.into_iter().filter(|(_, is_needed)| *is_needed) {
            layout.push(column);
        }
        layout
    }
}

/// The cells of some rows by column, where there is something.
struct GroupCells<'r> {
    records: &'r [Record],
    scores: HashMap<&'r str, Vec<(usize, &'r Outcome)>>,
    fields: HashMap<&'r str, Vec<(usize, &'r Value)>>,
    facts: HashMap<&'r str, Vec<(usize, &'r Value)>>,
}

impl<'r> GroupCells<'r> {
    fn of(records: &'r [Record]) -> Self {
        let (scores, fields, facts) = (HashMap::new(), HashMap::new(), HashMap::new());
        let mut cells = Self { records, scores, fields, facts };
        for (row, record) in records.iter().enumerate() {
            for (scorer, outcome) in &record.scores {
                cells.scores.entry(&**scorer).or_default().push((row, outcome));
            }
            for (name, value) in &record.fields {
                cells.fields.entry(&**name).or_default().push((row, value));
            }
            for (key, value) in record.metadata.iter() {
                cells.facts.entry(&**key).or_default().push((row, value));
            }
        }
        cells
    }

    /// A value for each of these rows, and none for the others.
    fn fill<T>(&self, found: Option<&Vec<(usize, T)>>, cell: impl Fn(&T) -> Option<Value>) -> Vec<Option<Value>> {
        let mut cells = vec![None; self.records.len()];
        found.into_iter().flatten().for_each(|(row, value)| cells[*row] = cell(value));
        cells
    }
}

fn field_column(name: &Arc<str>, seen: &ColumnSurvey) -> Option<TypedColumn> {
    let holds = Holds::Field(name.clone());
    match ColumnRole::of(name) {
        ColumnRole::Number(_) => Some(TypedColumn::new(&**name, ValueKind::Float, holds)),
        ColumnRole::Flag(_) => Some(TypedColumn::new(&**name, ValueKind::Bool, holds)),
        ColumnRole::Behaviors(_) => Some(TypedColumn::new(&**name, ValueKind::Text, holds)),
        ColumnRole::Label(_) => Some(TypedColumn::new(&**name, seen.kind?, holds)),
        _ if !can_be_column(name) => None,
        _ => Some(TypedColumn::new(format!("fields.{name}"), seen.kind?, holds)),
    }
}

/// True when a field has its own column, given the type of that column.
fn fits_field(name: &str, value: &Value, kind: ValueKind) -> bool {
    match ColumnRole::of(name) {
        role @ ColumnRole::Behaviors(_) => is_at_home(&role, value),
        role @ (ColumnRole::Number(_) | ColumnRole::Flag(_) | ColumnRole::Label(_)) => {
            is_at_home(&role, value) && ValueKind::of(value) == Some(kind)
        }
        _ => ValueKind::of(value) == Some(kind),
    }
}

/// The parts of a score in a struct, in the order in which they are written. The value comes first.
const TEXT_PARTS: [&str; 4] = ["reason", "answer", "explanation", "metadata"];

impl TypedColumn {
    fn schema(&self) -> ParquetResult<TypePtr> {
        if !matches!(self.holds, Holds::ScoreParts(_)) {
            return leaf(&self.name, self.kind);
        }
        let mut parts = vec![leaf("value", self.kind)?];
        for name in TEXT_PARTS {
            parts.push(leaf(name, ValueKind::Text)?);
        }
        let group = Type::group_type_builder(&self.name).with_repetition(Repetition::OPTIONAL).with_fields(parts);
        Ok(Arc::new(group.build()?))
    }

    fn write<W: std::io::Write + Send>(
        &self,
        group_cells: &GroupCells<'_>,
        layout: &TableLayout,
        group: &mut SerializedRowGroupWriter<'_, W>,
        lost: &mut LossCounts,
    ) -> ParquetResult<()> {
        let Holds::ScoreParts(scorer) = &self.holds else {
            let cells = self.cells(group_cells, layout, lost);
            let levels: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
            return write_leaf(group, self.kind, &levels, cells.into_iter().flatten());
        };
        let mut parts: Vec<Option<Vec<Option<Value>>>> = vec![None; group_cells.records.len()];
        for (row, outcome) in group_cells.scores.get(&**scorer).into_iter().flatten() {
            parts[*row] = Some(score_parts(outcome, &group_cells.records[*row], lost));
        }
        for place in 0..=TEXT_PARTS.len() {
            let cell = |row: &Option<Vec<Option<Value>>>| row.as_ref().and_then(|parts| parts[place].clone());
            let level = |row: &Option<Vec<Option<Value>>>| match row {
                None => 0,
                Some(parts) => 1 + i16::from(parts[place].is_some()),
            };
            let levels: Vec<i16> = parts.iter().map(level).collect();
            let kind = if place == 0 { self.kind } else { ValueKind::Text };
            write_leaf(group, kind, &levels, parts.iter().filter_map(cell))?;
        }
        Ok(())
    }

    /// What these rows have in this column.
    fn cells(&self, group: &GroupCells<'_>, layout: &TableLayout, lost: &mut LossCounts) -> Vec<Option<Value>> {
        match &self.holds {
            Holds::Score(scorer) => group.fill(group.scores.get(&**scorer), |outcome| match outcome {
                Outcome::Scored(score) => Some(score.value.clone()),
                Outcome::Unscored { .. } => None,
            }),
            Holds::Field(name) => group.fill(group.fields.get(&**name), |value| {
                let shown = |value: &Value| if value.is_scalar() { value.clone() } else { json_text(value).into() };
                fits_field(name, value, self.kind).then(|| shown(value))
            }),
            Holds::Fact(key) => group.fill(group.facts.get(&**key), |value| {
                (ValueKind::of(value) == Some(self.kind)).then(|| (*value).clone())
            }),
            _ => group.records.iter().map(|record| self.rest_of(record, layout, lost)).collect(),
        }
    }

    /// What a record has in a column that is not one score, field or fact.
    fn rest_of(&self, record: &Record, layout: &TableLayout, lost: &mut LossCounts) -> Option<Value> {
        match &self.holds {
            Holds::Id => Some(match (&record.id, self.kind) {
                (SampleId::Int(i), ValueKind::Int) => Value::Int(*i),
                (id, _) => Value::from(id.to_string()),
            }),
            Holds::Epoch => Some(Value::Int(i64::from(record.epoch))),
            // Written column by column.
            Holds::Score(_) | Holds::ScoreParts(_) | Holds::Field(_) | Holds::Fact(_) => None,
            Holds::Scores => {
                let mut rest = record.scores.iter().filter(|(name, _)| !layout.scorers.contains(name)).peekable();
                rest.peek()?;
                Some(text(|out| put_scores(out, rest, record, lost)).into())
            }
            Holds::Fields => {
                let has_cell = |name: &Arc<str>, value: &Value| {
                    layout.fields.get(name).is_some_and(|&kind| fits_field(name, value, kind))
                };
                let fields = record.fields.iter().map(|(name, value)| (name, value));
                let mut rest = fields.filter(|(name, value)| !has_cell(name, value)).peekable();
                rest.peek()?;
                Some(text(|out| put_entries(out, rest, record, lost)).into())
            }
            Holds::Error => record.error.as_ref().map(|error| {
                if error.trim().is_empty() {
                    lost.add("an error without words is written as `error`", &record.id);
                    return "error".into();
                }
                if says_no_error(error) {
                    return text(|out| put_error(out, error)).into();
                }
                Value::Text(error.clone())
            }),
            Holds::Metadata => {
                let has_cell = |key: &Arc<str>, value: &Value| {
                    layout.facts.get(key).is_some_and(|&kind| ValueKind::of(value) == Some(kind))
                };
                let (facts, _) = facts(record);
                let mut rest = facts.into_iter().filter(|(key, value)| !has_cell(key, value)).peekable();
                rest.peek()?;
                Some(text(|out| put_entries(out, rest, record, lost)).into())
            }
            Holds::NullMetadata => match facts(record) {
                (_, nulls) if nulls.is_empty() => None,
                (_, nulls) => Some(text(|out| put_nulls(out, &nulls, record, lost)).into()),
            },
        }
    }
}

/// The value, and then the texts of [`TEXT_PARTS`].
fn score_parts(outcome: &Outcome, record: &Record, lost: &mut LossCounts) -> Vec<Option<Value>> {
    let (value, reason, score): (_, _, Option<&Score>) = match outcome {
        Outcome::Scored(score) => (Some(score.value.clone()), None, Some(score)),
        Outcome::Unscored { reason, score } => (None, Some(reason.clone()), score.as_deref()),
    };
    let metadata = score.and_then(|score| score.metadata.as_ref());
    let metadata = metadata.map(|metadata| text(|out| put_entries(out, metadata.iter(), record, lost)));
    let shared = |text: Option<Arc<str>>| text.map(Value::Text);
    vec![
        value,
        shared(reason),
        shared(score.and_then(|score| score.answer.clone())),
        shared(score.and_then(|score| score.explanation.clone())),
        metadata.map(Value::from),
    ]
}

fn leaf(name: &str, kind: ValueKind) -> ParquetResult<TypePtr> {
    let (physical, logical) = match kind {
        ValueKind::Bool => (Physical::BOOLEAN, None),
        ValueKind::Int => (Physical::INT64, None),
        ValueKind::Float => (Physical::DOUBLE, None),
        ValueKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let leaf = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
    Ok(Arc::new(leaf.with_logical_type(logical).build()?))
}

/// Writes the values that there are; the levels say which rows have none.
fn write_leaf<W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    kind: ValueKind,
    levels: &[i16],
    values: impl Iterator<Item = Value>,
) -> ParquetResult<()> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    match kind {
        ValueKind::Bool => {
            let values: Vec<bool> = values.map(|value| value == Value::Bool(true)).collect();
            column.typed::<BoolType>().write_batch(&values, Some(levels), None)?;
        }
        ValueKind::Int => {
            let values: Vec<i64> =
                values.filter_map(|value| if let Value::Int(i) = value { Some(i) } else { None }).collect();
            column.typed::<Int64Type>().write_batch(&values, Some(levels), None)?;
        }
        ValueKind::Float => {
            let values: Vec<f64> = values.filter_map(|value| value.as_number()).collect();
            column.typed::<DoubleType>().write_batch(&values, Some(levels), None)?;
        }
        ValueKind::Text => {
            let bytes = |value: Value| match value {
                Value::Text(text) => ByteArray::from(text.as_bytes().to_vec()),
                other => ByteArray::from(other.to_string().into_bytes()),
            };
            let values: Vec<ByteArray> = values.map(bytes).collect();
            column.typed::<ByteArrayType>().write_batch(&values, Some(levels), None)?;
        }
    }
    column.close()
}
