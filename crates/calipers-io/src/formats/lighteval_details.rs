//! The details of a task by lighteval, in Parquet.
//!
//! The documentation names the columns `__doc__`, `__model_response__` and `__metric__`; the code writes `doc`,
//! `model_response` and `metric`. Both are read. A sample answered several times is still one attempt: the metrics are
//! over all its answers.

use super::parquet;
use crate::json::{self, JsonParts};
use crate::{FilePlace, ReadError, RecordedRun, Source};
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::reader::RowIter;
use ::parquet::schema::types::{Type, TypePtr};
use calipers_core::{Outcome, SampleId, Samples, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

const METRIC: [&str; 3] = ["metric", "__metric__", "metrics"];
const DOC: [&str; 2] = ["doc", "__doc__"];
const RESPONSE: [&str; 2] = ["model_response", "__model_response__"];
/// Columns of the details that older versions write beside the metrics.
const FLAT: [&str; 2] = ["full_prompt", "example"];

fn field<'a>(schema: &'a Type, names: &[&str]) -> Option<&'a TypePtr> {
    schema.get_fields().iter().find(|field| names.contains(&field.name()))
}

/// True for the columns of a task's details.
pub(super) fn is_details(schema: &Type) -> bool {
    field(schema, &METRIC).is_some()
        && (field(schema, &DOC).is_some() || field(schema, &RESPONSE).is_some() || field(schema, &FLAT).is_some())
}

/// The column with only these of its parts; nothing if it has none of them.
fn part(column: &TypePtr, names: &[&str]) -> Option<TypePtr> {
    if !column.is_group() {
        return None;
    }
    let fields: Vec<TypePtr> =
        column.get_fields().iter().filter(|field| names.contains(&field.name())).cloned().collect();
    if fields.is_empty() {
        return None;
    }
    let group = Type::group_type_builder(column.name()).with_fields(fields);
    let group = if column.get_basic_info().has_repetition() {
        group.with_repetition(column.get_basic_info().repetition())
    } else {
        group
    };
    group.build().ok().map(Arc::new)
}

pub(super) fn read_details(
    source: &Source,
    file: &SerializedFileReader<parquet::BoundedFile>,
) -> Result<Vec<RecordedRun>, ReadError> {
    let broken = |error| parquet::parquet_error(source, &error);
    let schema = file.metadata().file_metadata().schema();
    let metric = field(schema, &METRIC);
    let doc = field(schema, &DOC).and_then(|doc| part(doc, &["id", "task_name"]));
    let response = field(schema, &RESPONSE).and_then(|response| part(response, &["input_tokens", "output_tokens"]));
    // In the order of the file, as the record reader hands them out.
    let wanted = [metric.cloned(), doc, response].into_iter().flatten();
    let projection = parquet::projection(schema, wanted.collect()).map_err(broken)?;
    let mut run = RecordedRun { format: "lighteval", ..RecordedRun::default() };
    let mut skipped: BTreeSet<String> = BTreeSet::new();
    let rows = RowIter::from_file(Some(projection), file).map_err(broken)?;
    for (index, row) in rows.enumerate() {
        let place = || FilePlace::Row(index as u64 + 1);
        let row = row.map_err(|error| parquet::parquet_error(source, &error).at(place()))?;
        let columns: Vec<(&String, Value)> =
            row.get_column_iter().map(|(name, field)| (name, parquet::value(field))).collect();
        let column = |names: &[&str]| columns.iter().find(|(name, _)| names.contains(&name.as_str())).map(|(_, v)| v);
        let Some(metrics) = column(&METRIC).and_then(metrics) else {
            let what = "the metrics of the row are not a map of names to values";
            return Err(source.error(what).at(place()).hint("write the details with a newer lighteval"));
        };
        let doc = column(&DOC);
        let id = match doc.and_then(|doc| doc.text("id")).filter(|id| !id.is_empty()) {
            Some(id) => SampleId::from(id),
            None => SampleId::Int(index as i64),
        };
        if let Some(task) = doc.and_then(|doc| doc.text("task_name")) {
            run.task.get_or_insert_with(|| task.to_owned());
        }
        push(&mut run.samples, id, doc, column(&RESPONSE), metrics, &mut skipped);
    }
    run.notes.extend(skipped.into_iter().map(|name| format!("metric `{name}` is not a plain value and was not read")));
    Ok(vec![run])
}

fn push(
    samples: &mut Samples,
    id: SampleId,
    doc: Option<&Value>,
    response: Option<&Value>,
    metrics: Vec<(Arc<str>, Value)>,
    skipped: &mut BTreeSet<String>,
) {
    let mut attempt = samples.push(id);
    if let Some(task) = doc.and_then(|doc| doc.part("task_name")) {
        attempt = attempt.metadata("task_name", task.clone());
    }
    if let Some(tokens) = response.and_then(tokens) {
        attempt = attempt.field("tokens_used", tokens);
    }
    for (name, value) in metrics {
        match value {
            Value::Null => attempt = attempt.score(name, Outcome::unscored("null")),
            value if value.is_scalar() => attempt = attempt.score(name, value),
            _ => {
                skipped.insert(name.to_string());
            }
        }
    }
}

/// The number of tokens read and written, over all answers.
fn tokens(response: &Value) -> Option<i64> {
    let input = response.part("input_tokens").map(count);
    let output = response.part("output_tokens").map(count);
    (input.is_some() || output.is_some()).then(|| input.unwrap_or(0) + output.unwrap_or(0))
}

fn count(tokens: &Value) -> i64 {
    match tokens {
        Value::List(items) => items.iter().map(count).sum(),
        Value::Null | Value::Missing => 0,
        _ => 1,
    }
}

/// The metrics of a row: a struct, or a text that holds a map, which some versions write.
fn metrics(value: &Value) -> Option<Vec<(Arc<str>, Value)>> {
    match value {
        Value::Map(entries) => Some(entries.clone()),
        Value::Text(text) => match json::parse("", text.as_bytes()).ok().or_else(|| python(text)) {
            Some(Value::Map(entries)) => Some(entries),
            _ => None,
        },
        _ => None,
    }
}

/// A flat map as Python prints it: `{'em': 1.0, 'f1': nan}`.
fn python(text: &str) -> Option<Value> {
    let inner = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    let entry = |entry: &str| {
        let (name, value) = entry.rsplit_once(':')?;
        let name = name.trim().trim_matches(['\'', '"']);
        let value = match value.trim() {
            "True" => Value::Bool(true),
            "False" => Value::Bool(false),
            "None" => Value::Null,
            number => Value::from(number.parse::<f64>().ok()?),
        };
        Some((Arc::from(name), value))
    };
    let entries = inner.split(',').map(str::trim).filter(|text| !text.is_empty()).map(entry);
    Some(Value::Map(entries.collect::<Option<Vec<_>>>()?))
}
