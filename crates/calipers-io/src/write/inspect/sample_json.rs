//! The parts of a sample that every log has.

use crate::json::json_writer::{self, Map, Nan};
use crate::write::native::put_texts;
use calipers_core::{Outcome, SampleId, Score, Value};
use std::sync::Arc;

/// The name of a sample.
pub(crate) fn put_id(out: &mut Vec<u8>, id: &SampleId) {
    match id {
        SampleId::Int(i) => out.extend_from_slice(i.to_string().as_bytes()),
        SampleId::Text(text) => json_writer::put_text(out, text),
    }
}

/// What a scorer said. Inspect refuses null.
pub(crate) fn put_outcome(out: &mut Vec<u8>, outcome: &Outcome) {
    let mut map = Map::open(out);
    match outcome {
        Outcome::Scored(found) if matches!(found.value, Value::Null) => {
            put_score(&mut map, &Value::Missing, Some("null"), Some(found));
        }
        Outcome::Scored(found) => put_score(&mut map, &found.value, None, Some(found)),
        Outcome::Unscored { reason, score } => put_score(&mut map, &Value::Missing, Some(reason), score.as_deref()),
    }
    map.close();
}

/// What went wrong.
pub(crate) fn put_error(out: &mut Vec<u8>, error: &str) {
    let parts = [("message", error), ("traceback", ""), ("traceback_ansi", "")];
    json_writer::put_map(out, parts, json_writer::put_text);
}

/// The parts of a score within its map.
pub(super) fn put_score(map: &mut Map<'_>, value: &Value, reason: Option<&str>, score: Option<&Score>) {
    map.value("value", value, Nan::Bare);
    if let Some(reason) = reason {
        map.text("reason", reason);
    }
    if let Some(score) = score {
        put_texts(map, score);
        if let Some(metadata) = &score.metadata {
            put_values(map.key("metadata"), metadata.iter());
        }
    }
    map.raw("history", "[]");
}

/// Values by name.
pub(crate) fn put_values<'a>(out: &mut Vec<u8>, entries: impl Iterator<Item = (&'a Arc<str>, &'a Value)>) {
    json_writer::put_map(out, entries.map(|(key, value)| (&**key, value)), |out, value| {
        json_writer::put(out, value, Nan::Bare);
    });
}
