//! Calipers' own records: JSON Lines, or a JSON list or map of records.

use super::Format;
use crate::json::{self, Json};
use crate::{ReadError, Run, Shape, Source};
use calipers_core::{Metadata, Outcome, SampleId, Samples, Score, Value};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::io::BufRead;
use std::sync::Arc;

/// One record an attempt.
pub(crate) struct Native;

impl Format for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn about(&self) -> &'static str {
        "Calipers records: JSON Lines, a JSON list, or CSV and Parquet with the same columns"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        let named = |key: &str| shape.has_keys(&[key]) || shape.lists_keys(&[key]);
        named("id") || named("sample_id")
    }

    fn read(&self, source: &Source) -> Result<Vec<Run>, ReadError> {
        let mut samples = Samples::new();
        let mut reader = source.open()?;
        let first = first_byte(source, &mut reader)?;
        if first == Some(b'[') {
            let bytes = source.read_all()?;
            let standard = json::standard(&bytes);
            let mut deserializer = serde_json::Deserializer::from_slice(&standard);
            RecordList(&mut samples)
                .deserialize(&mut deserializer)
                .and_then(|()| deserializer.end())
                .map_err(|error| json::json_error(&source.name, &error))?;
        } else {
            read_lines(source, reader, &mut samples)?;
        }
        Ok(vec![Run { samples, ..Run::default() }])
    }
}

fn first_byte(source: &Source, reader: &mut dyn BufRead) -> Result<Option<u8>, ReadError> {
    let buffer = reader.fill_buf().map_err(|error| source.unreadable(&error))?;
    Ok(buffer.iter().find(|byte| !byte.is_ascii_whitespace()).copied())
}

/// A line may be this long: longer ones are most likely a file that is not JSON Lines at all.
const LINE_MAX: usize = 256 << 20;

fn read_lines(source: &Source, mut reader: Box<dyn BufRead>, samples: &mut Samples) -> Result<(), ReadError> {
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line).map_err(|error| source.unreadable(&error))?;
        if read == 0 {
            return Ok(());
        }
        number += 1;
        if line.len() > LINE_MAX {
            return Err(source.error("a line is longer than 256 MB").at_line(number).hint("write one record a line"));
        }
        let text = line.trim_ascii();
        let text = if number == 1 { text.strip_prefix(&[0xef, 0xbb, 0xbf]).unwrap_or(text) } else { text };
        if text.is_empty() {
            continue;
        }
        let standard = json::standard(text);
        let record: Record<'_> = serde_json::from_slice(&standard).map_err(|error| {
            // Every line is a document of its own, so the parser's line number is always 1.
            let what = error.to_string();
            let what = what.split(" at line ").next().unwrap_or_default();
            source.error(format!("not a record: {what}")).at_line(number).hint("write one JSON record a line")
        })?;
        record.push(samples).map_err(|what| source.error(what).at_line(number))?;
    }
}

/// A JSON list of records, pushed as they are read.
struct RecordList<'a>(&'a mut Samples);

impl<'de> DeserializeSeed<'de> for RecordList<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for RecordList<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of records")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(record) = items.next_element::<Record<'de>>()? {
            record.push(self.0).map_err(serde::de::Error::custom)?;
        }
        Ok(())
    }
}

/// One attempt as it is written.
#[derive(Default)]
pub(crate) struct Record<'a> {
    id: Option<SampleId>,
    epoch: Option<u32>,
    scores: Vec<(Cow<'a, str>, Outcome)>,
    fields: Vec<(Cow<'a, str>, Value)>,
    metadata: Vec<(Cow<'a, str>, Value)>,
    error: Option<String>,
}

/// Measurements of an attempt; other keys are facts about the sample.
const FIELDS: [&str; 12] = [
    "passed",
    "correct",
    "predicted",
    "actual",
    "latency_ms",
    "tokens_used",
    "cost_usd",
    "quality_score",
    "expected_behaviors",
    "observed_behaviors",
    "must_not",
    "violations",
];

impl<'a> Record<'a> {
    /// Takes one key of a record in. An error says what is wrong with the value.
    pub(crate) fn set(&mut self, key: Cow<'a, str>, value: Value) -> Result<(), String> {
        match &*key {
            "id" | "sample_id" => self.id = Some(sample_id(value)?),
            "epoch" => self.epoch = epoch(&value)?,
            "scores" => match value {
                Value::Map(entries) => {
                    for (scorer, score) in entries {
                        self.scores.push((Cow::Owned(scorer.to_string()), outcome(score)?));
                    }
                }
                Value::Null => {}
                other => return Err(format!("`scores` is a {}, not a map of scorers to scores", other.kind())),
            },
            "score" | "value" => self.scores.push((Cow::Borrowed("score"), outcome(value)?)),
            "metadata" => match value {
                Value::Map(entries) => {
                    self.metadata.extend(entries.into_iter().map(|(key, value)| (Cow::Owned(key.to_string()), value)));
                }
                Value::Null => {}
                other => return Err(format!("`metadata` is a {}, not a map", other.kind())),
            },
            "error" => self.error = error_text(&value),
            name if FIELDS.contains(&name) => self.fields.push((key, value)),
            _ => self.metadata.push((key, value)),
        }
        Ok(())
    }

    /// Adds the attempt to the samples.
    pub(crate) fn push(self, samples: &mut Samples) -> Result<(), String> {
        let id = self.id.ok_or("the record has no `id`")?;
        let mut attempt = match self.epoch {
            Some(epoch) => samples.push_epoch(id, epoch),
            None => samples.push(id),
        };
        for (key, value) in self.metadata {
            attempt = attempt.metadata(&*key, value);
        }
        for (scorer, outcome) in self.scores {
            attempt = attempt.score(&*scorer, outcome);
        }
        for (name, value) in self.fields {
            if !matches!(value, Value::Null) {
                attempt = attempt.field(&*name, value);
            }
        }
        if let Some(error) = self.error {
            attempt.error(error);
        }
        Ok(())
    }
}

fn sample_id(value: Value) -> Result<SampleId, String> {
    match value {
        Value::Int(i) => Ok(SampleId::Int(i)),
        Value::Text(text) => Ok(SampleId::Text(text)),
        other => Err(format!("`id` is a {}, not text or a whole number", other.kind())),
    }
}

fn epoch(value: &Value) -> Result<Option<u32>, String> {
    match value {
        Value::Null => Ok(None),
        Value::Int(epoch) => u32::try_from(*epoch).map(Some).map_err(|_| format!("`epoch` is {epoch}")),
        other => Err(format!("`epoch` is a {}, not a whole number", other.kind())),
    }
}

fn error_text(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Missing | Value::Bool(false) => None,
        Value::Text(text) => Some(text.to_string()),
        other => Some(other.get("message").unwrap_or(other).to_string()),
    }
}

/// The parts of a score that is more than its value.
const SCORE_PARTS: [&str; 6] = ["value", "answer", "explanation", "metadata", "reason", "history"];

/// A score as it is written: a value, or a map with `value` and what belongs to it.
pub(crate) fn outcome(value: Value) -> Result<Outcome, String> {
    let entries = match value {
        Value::Null => return Ok(Outcome::unscored("null")),
        Value::Map(entries) if entries.iter().any(|(key, _)| **key == *"value") => entries,
        plain => {
            check_flat(&plain)?;
            return Ok(Outcome::from(Score::new(plain)));
        }
    };
    if let Some((key, _)) = entries.iter().find(|(key, _)| !SCORE_PARTS.contains(&&**key)) {
        // A map of several scores, one of which happens to be named `value`.
        let _ = key;
        let map = Value::Map(entries);
        check_flat(&map)?;
        return Ok(Outcome::from(Score::new(map)));
    }
    let mut score = Score::unscored();
    let mut reason: Option<Arc<str>> = None;
    for (key, part) in entries {
        match (&*key, part) {
            ("value", Value::Null) => reason = reason.or(Some("null".into())),
            ("value", value) => {
                check_flat(&value)?;
                score.value = value;
            }
            ("answer", Value::Text(text)) => score.answer = Some(text),
            ("explanation", Value::Text(text)) => score.explanation = Some(text),
            ("reason", Value::Text(text)) => reason = Some(text),
            ("metadata", Value::Map(entries)) => score.metadata = Some(Arc::new(Metadata::new(entries))),
            _ => {}
        }
    }
    match (score.value.is_missing(), reason) {
        (true, Some(reason)) => Ok(Outcome::Unscored { reason, score: Some(Box::new(score)) }),
        _ => Ok(Outcome::from(score)),
    }
}

/// A score's value is at most one level deep.
fn check_flat(value: &Value) -> Result<(), String> {
    let nested = match value {
        Value::List(items) => items.iter().find(|item| !item.is_scalar() || matches!(item, Value::Null)),
        Value::Map(entries) => entries.iter().map(|(_, value)| value).find(|value| !value.is_scalar()),
        _ => None,
    };
    match nested {
        None => Ok(()),
        Some(nested) => Err(format!("a score holds a {} inside a {}", nested.kind(), value.kind())),
    }
}

impl<'de> Deserialize<'de> for Record<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RecordVisitor)
    }
}

struct RecordVisitor;

impl<'de> Visitor<'de> for RecordVisitor {
    type Value = Record<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record, which is a map with an `id`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Record<'de>, A::Error> {
        let mut record = Record::default();
        while let Some((key, Json(value))) = entries.next_entry::<Cow<'de, str>, Json>()? {
            record.set(key, value).map_err(serde::de::Error::custom)?;
        }
        Ok(record)
    }
}
