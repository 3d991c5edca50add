//! Writes both forms of a log: an archive with one member per attempt, and a single document.

use super::message_pool::rewrite;
use super::zip_directory::Packer;
use crate::json::json_writer::{Map, Nan, put_list, put_text};
use crate::json::{self, JsonParts};
use crate::write::{OutputFile, WriteError};
use calipers_core::Value;
use std::borrow::Cow;
use std::io::Write;

/// One attempt as JSON.
pub(crate) struct SampleText {
    /// The sample, as it is in the name of the member.
    pub(crate) id: String,
    pub(crate) epoch: u32,
    pub(crate) json: Vec<u8>,
}

/// Writes an archive with Inspect's members, in Inspect's order and compression.
pub(crate) fn write_archive(
    out: &mut OutputFile,
    start: &[u8],
    header: &[u8],
    samples: impl Iterator<Item = Result<SampleText, WriteError>>,
    reductions: Option<&[u8]>,
) -> Result<(), WriteError> {
    let name = out.name().to_owned();
    let fail = |error: std::io::Error| {
        WriteError::new(&*name, format!("the archive cannot be written: {error}")).hint("is the disk full?")
    };
    let file = out.archive()?;
    let mut packer = Packer::new().map_err(fail)?;
    let mut end = 0;
    let mut bytes = Vec::new();
    let mut member = |name: &str, content: &[u8]| -> Result<(), WriteError> {
        bytes.clear();
        packer.pack(&mut bytes, end, name, content).and_then(|_| file.write_all(&bytes)).map_err(fail)?;
        end += bytes.len() as u64;
        Ok(())
    };
    member("_journal/start.json", start)?;
    let mut summaries = vec![b'['];
    for sample in samples {
        let sample = sample?;
        if summaries.len() > 1 {
            summaries.push(b',');
        }
        summary(&mut summaries, &sample.json);
        member(&member_name(&sample.id, sample.epoch), &sample.json)?;
    }
    summaries.push(b']');
    member("_journal/summaries/1.json", &summaries)?;
    member("summaries.json", &summaries)?;
    if let Some(reductions) = reductions {
        member("reductions.json", reductions)?;
    }
    member("header.json", header)?;
    file.write_all(&packer.directory(end)).and_then(|()| file.flush()).map_err(fail)
}

/// What an attempt is called in an archive.
pub(crate) fn member_name(id: impl std::fmt::Display, epoch: u32) -> String {
    format!("samples/{id}_epoch_{epoch}.json")
}

/// Writes a document: the header, and then samples and reductions. Inspect stops reading a header at `samples`.
pub(crate) fn write_document(
    out: &mut OutputFile,
    header: &[u8],
    samples: impl Iterator<Item = Result<SampleText, WriteError>>,
    reductions: Option<&[u8]>,
) -> Result<(), WriteError> {
    let header = header.trim_ascii_end().strip_suffix(b"}").unwrap_or(header);
    let put = |out: &mut OutputFile, bytes: &[u8]| out.text().write_all(bytes).map_err(|error| out.write_error(&error));
    put(out, header)?;
    put(out, b",\"samples\":[")?;
    for (place, sample) in samples.enumerate() {
        if place > 0 {
            put(out, b",\n")?;
        }
        put(out, &sample?.json)?;
    }
    put(out, b"]")?;
    if let Some(reductions) = reductions {
        put(out, b",\"reductions\":")?;
        put(out, reductions)?;
    }
    put(out, b"}\n")
}

/// The longest input and target in a summary, in characters.
const INPUT_MAX: usize = 5120;
/// The longest text elsewhere in a summary, and the longest other value as JSON.
const TEXT_MAX: usize = 1024;

/// What a summary copies from its sample.
const COPIED: [&str; 16] = [
    "id",
    "epoch",
    "choices",
    "description",
    "model_usage",
    "role_usage",
    "model_fallbacks",
    "started_at",
    "completed_at",
    "total_time",
    "working_time",
    "uuid",
    "turn_count",
    "token_limit",
    "message_limit",
    "time_limit",
];

/// Appends the summary of a sample, shortened as Inspect shortens it. Tables of samples are made from summaries alone.
pub(crate) fn summary(out: &mut Vec<u8>, sample: &[u8]) {
    // Events and messages are most of a sample and not in its summary.
    let Ok(sample) = json::parse_without("", sample, &["events", "events_data", "attachments", "store", "output"])
    else {
        out.extend_from_slice(b"null");
        return;
    };
    let mut map = Map::open(out);
    for key in COPIED {
        if let Some(value) = sample.part(key) {
            map.value(key, value, Nan::Bare);
        }
    }
    let empty: Value = "".into();
    for key in ["input", "target"] {
        map.value(key, &summarize_text(sample.part(key).unwrap_or(&empty)), Nan::Bare);
    }
    map.value("metadata", &thin_map(sample.entries("metadata")), Nan::Bare);
    let mut scores = Map::open(map.key("scores"));
    for (scorer, score) in sample.entries("scores") {
        let mut map = Map::open(scores.key(scorer));
        map.value("value", score.get("value").unwrap_or(&Value::Missing), Nan::Bare);
        for key in ["answer", "explanation", "reason"] {
            if let Some(Value::Text(text)) = score.get(key) {
                put_text(map.key(key), &thin_text(text));
            }
        }
        if score.part("metadata").is_some() {
            map.value("metadata", &thin_map(score.entries("metadata")), Nan::Bare);
        }
        put_list(map.key("history"), [(); 0], |_, ()| {});
        map.close();
    }
    scores.close();
    for (key, path) in
        [("error", ["error", "message"]), ("limit", ["limit", "type"]), ("limit_reason", ["limit", "reason"])]
    {
        if let Some(Value::Text(text)) = sample.path(&path) {
            map.text(key, text);
        }
    }
    if sample.part("error_retries").is_some() {
        map.raw("retries", &sample.items("error_retries").len().to_string());
    }
    map.raw("completed", "true");
    map.raw("message_count", &sample.items("messages").len().to_string());
    map.close();
}

/// Input or target. Content that is not text is left to the sample.
fn summarize_text(value: &Value) -> Value {
    match value {
        Value::Text(text) if text.chars().nth(INPUT_MAX).is_some() => {
            let start: String = text.chars().take(INPUT_MAX).collect();
            format!("{start}...\n(content truncated)").into()
        }
        Value::List(items) => Value::List(items.iter().map(summarize_text).collect()),
        Value::Map(entries) => {
            let entry = |(key, value): &(std::sync::Arc<str>, Value)| match &**key {
                "content" => (key.clone(), content(value)),
                _ => (key.clone(), value.clone()),
            };
            Value::Map(entries.iter().map(entry).collect())
        }
        other => other.clone(),
    }
}

/// The content of a message, with a placeholder for images and the like.
fn content(value: &Value) -> Value {
    let Value::List(parts) = value else { return summarize_text(value) };
    let part = |part: &Value| {
        let kind = part.text("type").unwrap_or("data");
        let text = match part.get("text") {
            Some(text) if kind == "text" => summarize_text(text),
            _ => {
                let mut letters = kind.chars();
                let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
                format!("({first}{})", letters.as_str()).into()
            }
        };
        Value::from([("type", Value::from("text")), ("text", text)])
    };
    Value::List(parts.iter().map(part).collect())
}

fn thin_map(entries: &[(std::sync::Arc<str>, Value)]) -> Value {
    let thin = |value: &Value| match value {
        Value::Text(text) => thin_text(text).into(),
        Value::List(_) | Value::Map(_) => {
            let mut json = Vec::new();
            crate::json::json_writer::put(&mut json, value, Nan::Bare);
            if json.len() > TEXT_MAX { "Key removed from summary (> 1k)".into() } else { value.clone() }
        }
        plain => plain.clone(),
    };
    Value::Map(entries.iter().map(|(key, value)| (key.clone(), thin(value))).collect())
}

/// The first words of a text, joined by single spaces, like Python's `textwrap.shorten`.
fn thin_text(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let whole = words.join(" ");
    if whole.chars().nth(TEXT_MAX).is_none() {
        return whole;
    }
    let mut short = String::new();
    let mut length = 0;
    for word in words {
        let more = word.chars().count() + usize::from(length > 0);
        if length + more + 3 > TEXT_MAX {
            break;
        }
        if length > 0 {
            short.push(' ');
        }
        short.push_str(word);
        length += more;
    }
    short + "..."
}

/// The entries of a map as written, without some of them.
pub(super) fn entries_without(bytes: &[u8], left_out: &[&str]) -> Result<Vec<u8>, &'static str> {
    entries(bytes, |key| !left_out.contains(&key))
}

/// Some entries of a map as they are written.
pub(super) fn entries_of(bytes: &[u8], wanted: &[&str]) -> Result<Vec<u8>, &'static str> {
    entries(bytes, |key| wanted.contains(&key))
}

fn entries(bytes: &[u8], is_wanted: impl Fn(&str) -> bool) -> Result<Vec<u8>, &'static str> {
    rewrite(bytes, |key, value| Ok(std::str::from_utf8(key).is_ok_and(&is_wanted).then_some(Cow::Borrowed(value))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_shortened_as_inspect_shortens_them() {
        let long = "word ".repeat(300);
        let sample = format!(
            r#"{{"id": 1, "epoch": 2, "input": "{}", "target": ["a"], "messages": [1, 2], "events": [3],
                "metadata": {{"a": 1, "b": "{long}", "c": ["{long}"], "d": [1]}},
                "scores": {{"m": {{"value": NaN, "reason": "refusal", "explanation": "two\n  lines"}}}},
                "error": {{"message": "boom", "traceback": ""}}, "limit": {{"type": "token", "limit": 1}}}}"#,
            "i".repeat(5200)
        );
        let mut out = Vec::new();
        summary(&mut out, sample.as_bytes());
        let summary = json::parse("", &out).unwrap();
        assert_eq!(summary.text("input").unwrap().len(), 5120 + "...\n(content truncated)".len());
        let metadata = summary.get("metadata").unwrap();
        // textwrap.shorten("word " * 300, width=1024, placeholder="...") has 1022 characters
        assert_eq!(metadata.text("b").map(str::len), Some(1022));
        assert_eq!(metadata.text("c"), Some("Key removed from summary (> 1k)"));
        assert_eq!(metadata.get("d"), Some(&Value::List(vec![1.into()])));
        let score = summary.path(&["scores", "m"]).unwrap();
        assert_eq!(score.get("value"), Some(&Value::Missing));
        assert_eq!(score.text("explanation"), Some("two lines"));
        assert_eq!((summary.text("error"), summary.text("limit")), (Some("boom"), Some("token")));
        assert_eq!((summary.number("message_count"), summary.flag("completed")), (Some(2.0), Some(true)));
        assert!(summary.get("events").is_none());
    }
}
