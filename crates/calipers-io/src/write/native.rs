//! Calipers' own records: JSON Lines, or a JSON list in a file that ends in `.json`.

use super::{Contents, LossCounts, OutputFile, WriteError, Writer, check_id};
use crate::formats::{ColumnRole, says_no_error};
use crate::json::json_writer::{self, Map, Nan};
use calipers_core::{Outcome, Record, SampleId, Score, Value};
use std::sync::Arc;

/// One record per attempt.
pub(super) struct NativeWriter;

impl Writer for NativeWriter {
    fn name(&self) -> &'static str {
        "native"
    }

    fn about(&self) -> &'static str {
        "Calipers records: JSON Lines, or a JSON list in a `.json` file"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz", ".jsonl.zst", ".ndjson.zst", ".json.zst"]
    }

    fn write(&self, contents: &Contents<'_>, out: &mut OutputFile) -> Result<Vec<String>, WriteError> {
        let is_list = out.is_json();
        let [open, between, close] = if is_list { ["[\n", ",\n", "\n]\n"] } else { ["", "\n", "\n"] };
        let mut lost = LossCounts::default();
        let mut line = Vec::new();
        let mut is_first = true;
        for record in contents.run.samples.records() {
            check_id(&record, out)?;
            line.clear();
            line.extend_from_slice(if is_first { open } else { between }.as_bytes());
            is_first = false;
            put_record(&mut line, &record, &mut lost);
            out.text().write_all(&line).map_err(|error| out.write_error(&error))?;
        }
        let end = match (is_first, is_list) {
            (true, true) => "[]\n",
            (true, false) => "",
            _ => close,
        };
        out.text().write_all(end.as_bytes()).map_err(|error| out.write_error(&error))?;
        Ok(lost.notes())
    }
}

fn put_record(out: &mut Vec<u8>, record: &Record, lost: &mut LossCounts) {
    let mut map = Map::open(out);
    match &record.id {
        SampleId::Int(i) => map.raw("id", &i.to_string()),
        SampleId::Text(text) => map.text("id", text),
    }
    map.raw("epoch", &record.epoch.to_string());
    if !record.scores.is_empty() {
        put_scores(map.key("scores"), record.scores.iter(), record, lost);
    }
    let fields = record.fields.iter().map(|(name, value)| (name, value));
    let (known, other): (Vec<_>, Vec<_>) = fields.partition(|(name, value)| is_at_home(&ColumnRole::of(name), value));
    for (name, value) in known {
        note_infinite(value, record, lost);
        map.value(name, value, Nan::Null);
    }
    if !other.is_empty() {
        put_entries(map.key("fields"), other.into_iter(), record, lost);
    }
    if let Some(error) = &record.error {
        put_error(map.key("error"), error);
    }
    let (facts, nulls) = facts(record);
    if !facts.is_empty() {
        put_entries(map.key("metadata"), facts.into_iter(), record, lost);
    }
    if !nulls.is_empty() {
        put_nulls(map.key("null_metadata"), &nulls, record, lost);
    }
    map.close();
}

/// An entry of metadata or of fields.
pub(super) type RecordEntry<'a> = (&'a Arc<str>, &'a Value);

/// The metadata of a record that have a value, and those that are null or NaN.
pub(super) fn facts(record: &Record) -> (Vec<RecordEntry<'_>>, Vec<RecordEntry<'_>>) {
    record.metadata.iter().partition(|(_, value)| !matches!(value, Value::Null | Value::Missing))
}

/// The names of facts that are null.
pub(super) fn put_nulls(out: &mut Vec<u8>, nulls: &[RecordEntry<'_>], record: &Record, lost: &mut LossCounts) {
    for (_, value) in nulls {
        note_missing(value, record, lost);
    }
    json_writer::put_list(out, nulls, |out, (key, _)| json_writer::put_text(out, key));
}

/// True when the native reader gives a field of this role back as it is: the rules of `formats/native.rs`.
pub(super) fn is_at_home(role: &ColumnRole, value: &Value) -> bool {
    match role {
        ColumnRole::Number(_) => matches!(value, Value::Float(_)),
        ColumnRole::Flag(_) => matches!(value, Value::Bool(_)),
        ColumnRole::Label(_) => value.is_scalar() && !matches!(value, Value::Null | Value::Missing),
        ColumnRole::Behaviors(_) => {
            matches!(value, Value::List(items) if items.iter().all(|item| matches!(item, Value::Text(_))))
        }
        _ => false,
    }
}

pub(super) fn put_entries<'a>(
    out: &mut Vec<u8>,
    entries: impl Iterator<Item = RecordEntry<'a>>,
    record: &Record,
    lost: &mut LossCounts,
) {
    let mut map = Map::open(out);
    for (key, value) in entries {
        note_missing(value, record, lost);
        note_infinite(value, record, lost);
        map.value(key, value, Nan::Null);
    }
    map.close();
}

fn note_missing(value: &Value, record: &Record, lost: &mut LossCounts) {
    if json_writer::has_missing(value) {
        lost.add("a NaN in metadata or fields is written as null", &record.id);
    }
}

fn note_infinite(value: &Value, record: &Record, lost: &mut LossCounts) {
    if json_writer::has_infinite(value) {
        lost.add("an infinite number is written as `Infinity`, which strict JSON readers refuse", &record.id);
    }
}

/// An error without a message is still an error. It is written as a map, because a blank text means no error, and so does one
/// such as `none`.
pub(super) fn put_error(out: &mut Vec<u8>, error: &str) {
    if says_no_error(error) {
        json_writer::put_map(out, [("message", error)], json_writer::put_text);
    } else {
        json_writer::put_text(out, error);
    }
}

/// Scores by scorer.
pub(super) fn put_scores<'a>(
    out: &mut Vec<u8>,
    scores: impl Iterator<Item = &'a (Arc<str>, Outcome)>,
    record: &Record,
    lost: &mut LossCounts,
) {
    let mut map = Map::open(out);
    for (scorer, outcome) in scores {
        put_outcome(map.key(scorer), outcome, record, lost);
    }
    map.close();
}

/// A score: its value alone where that says everything.
pub(super) fn put_outcome(out: &mut Vec<u8>, outcome: &Outcome, record: &Record, lost: &mut LossCounts) {
    match outcome {
        // On an errored attempt a bare null would say nothing.
        Outcome::Unscored { reason, score: None } if **reason == *"null" && record.error.is_none() => {
            out.extend_from_slice(b"null");
        }
        Outcome::Unscored { reason, score } => put_parts(out, None, Some(reason), score.as_deref(), record, lost),
        Outcome::Scored(score) if matches!(score.value, Value::Null) => {
            lost.add("a score of null is written as unscored", &record.id);
            put_parts(out, None, Some("null"), Some(score), record, lost);
        }
        Outcome::Scored(score) => {
            note_infinite(&score.value, record, lost);
            if is_plain(score) {
                json_writer::put(out, &score.value, Nan::Null);
            } else {
                put_parts(out, Some(&score.value), None, Some(score), record, lost);
            }
        }
    }
}

/// True when the value alone is the score, and cannot be taken for a score in parts.
fn is_plain(score: &Score) -> bool {
    let has_extras = score.answer.is_some() || score.explanation.is_some() || score.metadata.is_some();
    !has_extras && score.value.get("value").is_none() && !json_writer::has_missing(&score.value)
}

fn put_parts(
    out: &mut Vec<u8>,
    value: Option<&Value>,
    reason: Option<&str>,
    score: Option<&Score>,
    record: &Record,
    lost: &mut LossCounts,
) {
    let mut map = Map::open(out);
    map.value("value", value.unwrap_or(&Value::Null), Nan::Null);
    let unscored = value.map(unscored_places).unwrap_or_default();
    if !unscored.is_empty() {
        map.value("unscored", &Value::List(unscored), Nan::Null);
    }
    if let Some(reason) = reason {
        map.text("reason", reason);
    }
    if let Some(score) = score {
        put_texts(&mut map, score);
        if let Some(metadata) = &score.metadata {
            put_entries(map.key("metadata"), metadata.iter(), record, lost);
        }
    }
    map.close();
}

/// The answer and the explanation, where a score has them.
pub(super) fn put_texts(map: &mut Map<'_>, score: &Score) {
    for (key, text) in [("answer", &score.answer), ("explanation", &score.explanation)] {
        if let Some(text) = text {
            map.text(key, text);
        }
    }
}

/// The places of a list, or the keys of a map, that were not scored.
fn unscored_places(value: &Value) -> Vec<Value> {
    match value {
        Value::List(items) => {
            let missing = items.iter().zip(0i64..).filter(|(item, _)| item.is_missing());
            missing.map(|(_, place)| Value::Int(place)).collect()
        }
        Value::Map(entries) => {
            let missing = entries.iter().filter(|(_, value)| value.is_missing());
            missing.map(|(key, _)| Value::Text(key.clone())).collect()
        }
        _ => Vec::new(),
    }
}
