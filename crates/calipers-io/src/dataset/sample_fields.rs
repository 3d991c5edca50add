//! A record of a table as a sample: which columns are its parts, and how they are read, as Inspect does.

use super::RecordProblem;
use crate::json::{self, JsonParts};
use crate::log::read_message;
use calipers_core::{Input, Message, Metadata, SampleFields, SampleId, Target, TaskSample, Value};
use std::sync::Arc;

/// The sample in a record.
pub(super) fn sample(record: &Value, fields: &SampleFields) -> Result<TaskSample, RecordProblem> {
    Ok(TaskSample {
        id: id(record.get(&fields.id))?,
        input: input(record, &fields.input)?,
        choices: choices(record.get(&fields.choices)),
        target: target(record.get(&fields.target)),
        metadata: metadata(record, fields.metadata.as_deref())?,
    })
}

fn is_nothing(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Missing)
}

/// The name of the sample. A blank one counts as missing.
pub(super) fn id(value: Option<&Value>) -> Result<Option<SampleId>, RecordProblem> {
    match value {
        None | Some(Value::Null | Value::Missing) => Ok(None),
        Some(Value::Int(id)) => Ok(Some(SampleId::Int(*id))),
        // Tables with gaps have whole numbers as floats.
        Some(Value::Float(id)) if id.fract() == 0.0 && id.abs() < 9e15 => Ok(Some(SampleId::Int(*id as i64))),
        Some(Value::Text(id)) => Ok((!id.trim().is_empty()).then(|| SampleId::Text(id.clone()))),
        Some(other) => Err(RecordProblem::new(
            format!("the id is a {}", other.kind()),
            "write ids as text or whole numbers, or number the samples with `auto_id`",
        )),
    }
}

fn input(record: &Value, column: &str) -> Result<Input, RecordProblem> {
    let Some(value) = record.get(column) else {
        let Value::Map(entries) = record else {
            return Err(RecordProblem::new("this is not a record", "a record is a map"));
        };
        let columns: Vec<&str> = entries.iter().take(20).map(|(name, _)| &**name).collect();
        let hint = format!("its columns are {}; say which one is the input", columns.join(", "));
        return Err(RecordProblem::new(format!("there is no column `{column}` for the input"), hint));
    };
    match value {
        Value::Text(text) if !text.is_empty() => Ok(Input::Text(text.clone())),
        Value::List(messages) if !messages.is_empty() => messages_of(messages).map(Input::Messages),
        empty if is_nothing(empty) || matches!(empty, Value::Text(_) | Value::List(_)) => {
            Err(RecordProblem::new(format!("the input in `{column}` is empty"), "fill it in, or take the record out"))
        }
        other => Err(RecordProblem::new(
            format!("the input in `{column}` is a {}", other.kind()),
            "write it as text, or as a list of messages with `role` and `content`",
        )),
    }
}

fn messages_of(messages: &[Value]) -> Result<Vec<Message>, RecordProblem> {
    let hint = "a message is {\"role\": \"user\", \"content\": \"…\"}; roles are system, user, assistant and tool";
    let message = |(place, message): (usize, &Value)| {
        if message.part("content").is_none() {
            return Err(RecordProblem::new(format!("message {} of the input has no `content`", place + 1), hint));
        }
        let other = message.items("content").iter().find_map(|part| part.text("type").filter(|kind| *kind != "text"));
        if let Some(kind) = other {
            let what = format!("message {} of the input holds content of the type `{kind}`", place + 1);
            return Err(RecordProblem::new(what, "only text can be asked"));
        }
        let no_role =
            || RecordProblem::new(format!("message {} of the input has no `role` that is known", place + 1), hint);
        read_message(message).ok_or_else(no_role)
    };
    messages.iter().enumerate().map(message).collect()
}

/// The right answers. Without any, there is no target.
fn target(value: Option<&Value>) -> Target {
    match value {
        None => Target::default(),
        Some(nothing) if is_nothing(nothing) => Target::default(),
        Some(Value::List(items)) => Target(items.iter().map(text).collect()),
        Some(other) => Target(vec![text(other)]),
    }
}

/// The answers to choose from: a list, or text with commas or else spaces between them. Blank ones are dropped.
fn choices(value: Option<&Value>) -> Vec<Arc<str>> {
    let is_blank = |text: &str| text.trim_matches(is_space).is_empty();
    match value {
        None => Vec::new(),
        Some(nothing) if is_nothing(nothing) => Vec::new(),
        Some(Value::List(items)) => items.iter().map(text).filter(|choice| !is_blank(choice)).collect(),
        Some(Value::Text(listed)) => {
            let parts: Vec<&str> =
                if listed.contains(',') { listed.split(',').collect() } else { listed.split(is_space).collect() };
            parts
                .into_iter()
                .map(|part| part.trim_matches(is_space))
                .filter(|part| !part.is_empty())
                .map(Into::into)
                .collect()
        }
        Some(other) => vec![text(other)],
    }
}

/// What Python counts as white space.
fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

fn text(value: &Value) -> Arc<str> {
    match value {
        Value::Text(text) => text.clone(),
        other => other.to_string().into(),
    }
}

/// The columns that are asked for, or what stands in the column `metadata`.
fn metadata(record: &Value, columns: Option<&[String]>) -> Result<Metadata, RecordProblem> {
    if let Some(columns) = columns.filter(|columns| !columns.is_empty()) {
        let fact = |column: &str| record.get(column).cloned().unwrap_or(Value::Null);
        return Ok(Metadata::new(columns.iter().map(|column| (column.as_str(), fact(column)))));
    }
    let hint = "write it as a map, or as JSON text of one";
    match record.get("metadata") {
        None => Ok(Metadata::default()),
        Some(nothing) if is_nothing(nothing) => Ok(Metadata::default()),
        Some(Value::Map(entries)) => Ok(Metadata::new(entries.iter().cloned())),
        Some(Value::Text(blank)) if blank.trim().is_empty() => Ok(Metadata::default()),
        Some(Value::Text(written)) => match json::parse("", written.as_bytes()) {
            Ok(Value::Map(entries)) => Ok(Metadata::new(entries)),
            Ok(Value::Null) => Ok(Metadata::default()),
            Ok(other) => Err(RecordProblem::new(format!("the JSON in `metadata` is a {}", other.kind()), hint)),
            Err(error) => Err(RecordProblem::new(format!("the text in `metadata` is {}", error.what()), hint)),
        },
        Some(other) => Err(RecordProblem::new(format!("`metadata` is a {}", other.kind()), hint)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_inspect_reads_them() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/vectors/inspect/dataset_field.json");
        let vectors = json::parse(path, &std::fs::read(path).expect("it is there")).expect("it is JSON");
        let list = |texts: Vec<Arc<str>>| Value::List(texts.into_iter().map(Value::Text).collect());
        let mut seen = 0;
        for vector in vectors.items("vectors") {
            let input = vector.get("input");
            let want = vector.path(&["expected"]).and_then(|expected| expected.get("value")).expect("it has an answer");
            let found = match (vector.text("name"), want) {
                // An empty list and a list of blanks both mean no choices.
                (Some("read_choices"), Value::Null) => {
                    assert!(choices(input).is_empty());
                    Value::Null
                }
                (Some("read_choices"), _) => list(choices(input)),
                (Some("read_target"), Value::List(_)) => list(target(input).0),
                (Some("read_target"), _) => target(input).text().into(),
                (Some("normalise_sample_id"), _) => {
                    let id = id(input).ok().flatten().expect("it is an id");
                    crate::formats::sample_place(&id, 1).1.into()
                }
                (name, _) => panic!("{name:?} is not known"),
            };
            assert_eq!(found, *want, "{:?}", vector.text("id"));
            seen += 1;
        }
        assert_eq!(Some(f64::from(seen)), vectors.number("count"));
    }
}
