//! The prompts and answers of each attempt, for people who want to read them. No metric needs them.

use crate::formats::native_facts;
use crate::log::{LoggedAttempt, read_attempts, read_member, read_message};
use crate::{ReadError, RecordedRun, Source};
use calipers_core::{Input, Message, Record, SampleId, Value};
use std::sync::Arc;

/// What was asked and answered in one attempt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttemptTexts {
    /// What was asked.
    pub input: Option<Arc<str>>,
    /// What should be answered.
    pub target: Option<Arc<str>>,
    /// The conversation.
    pub messages: Vec<Message>,
    /// What was answered.
    pub output: Option<Arc<str>>,
}

/// The metadata names that hold texts, by the kind of text.
const INPUT: [&str; 4] = ["input", "prompt", "question", "query"];
const TARGET: [&str; 5] = ["target", "expected", "expected_output", "reference", "ideal"];
const MESSAGES: [&str; 3] = ["messages", "conversation", "transcript"];
const OUTPUT: [&str; 3] = ["output", "response", "completion"];

impl AttemptTexts {
    /// True for the name of a metadata entry that is a text. Texts are listed separately from other metadata.
    #[must_use]
    pub fn has_name(name: &str) -> bool {
        INPUT.contains(&name) || TARGET.contains(&name) || Self::is_told_by_attempt(name)
    }

    /// The names under which what is asked and what is expected may stand.
    pub fn question_names() -> impl Iterator<Item = &'static str> {
        INPUT.into_iter().chain(TARGET)
    }

    /// True for the name of a text that belongs to an attempt and not to its sample.
    #[must_use]
    pub fn is_told_by_attempt(name: &str) -> bool {
        MESSAGES.contains(&name) || OUTPUT.contains(&name)
    }

    /// The texts among metadata. If two names mean the same text, the first counts.
    ///
    /// ```
    /// use calipers_core::Value;
    /// use calipers_io::AttemptTexts;
    ///
    /// let facts = [("prompt".into(), Value::from("2 + 2?")), ("response".into(), "4".into()), ("topic".into(), "sums".into())];
    /// let texts = AttemptTexts::among(facts.iter().map(|(name, value)| (name, value)));
    /// assert_eq!((texts.input.as_deref(), texts.output.as_deref()), (Some("2 + 2?"), Some("4")));
    /// ```
    pub fn among<'a>(facts: impl Iterator<Item = (&'a Arc<str>, &'a Value)>) -> Self {
        let mut texts = Self::default();
        for (name, value) in facts {
            let place = match &**name {
                name if INPUT.contains(&name) => &mut texts.input,
                name if TARGET.contains(&name) => &mut texts.target,
                name if OUTPUT.contains(&name) => &mut texts.output,
                name if MESSAGES.contains(&name) => {
                    texts.messages.extend(messages(value));
                    continue;
                }
                _ => continue,
            };
            if place.is_none() {
                *place = Some(text(value));
            }
        }
        texts
    }
}

fn messages(value: &Value) -> Vec<Message> {
    match value {
        Value::List(items) => items.iter().filter_map(read_message).collect(),
        _ => Vec::new(),
    }
}

/// A value as text. A conversation is its messages, one after another.
fn text(value: &Value) -> Arc<str> {
    match value {
        Value::Text(text) => text.clone(),
        other => match &messages(other)[..] {
            [] => other.to_string().into(),
            messages => join_messages(messages),
        },
    }
}

fn join_messages(messages: &[Message]) -> Arc<str> {
    match messages {
        [one] => one.content.clone(),
        many => {
            many.iter().map(|m| format!("{}: {}", m.role.name(), m.content)).collect::<Vec<_>>().join("\n\n").into()
        }
    }
}

/// Passes on the texts of each attempt for formats that store them apart from samples: Inspect logs and native records.
/// Other formats keep their texts in the metadata of the samples, so they yield nothing here.
pub fn read_texts(
    source: &Source,
    format: &str,
    each: &mut dyn FnMut(SampleId, u32, AttemptTexts),
) -> Result<(), ReadError> {
    match format {
        "inspect" => {
            for attempt in read_attempts(source)? {
                let attempt = attempt?;
                let (id, epoch) = (attempt.id().clone(), attempt.epoch);
                each(id, epoch, attempt.into());
            }
            Ok(())
        }
        "native" => native_facts(source, &mut |id, epoch, facts| {
            each(id, epoch, AttemptTexts::among(facts.iter().map(|(name, value)| (name, value))));
        }),
        _ => Ok(()),
    }
}

impl From<LoggedAttempt> for AttemptTexts {
    fn from(attempt: LoggedAttempt) -> Self {
        let input = match attempt.sample.input {
            Input::Text(text) => text,
            Input::Messages(messages) => join_messages(&messages),
        };
        let target = attempt.sample.target.0;
        Self {
            input: Some(input).filter(|input| !input.is_empty()),
            target: (!target.is_empty()).then(|| target.join("\n").into()),
            messages: attempt.messages,
            output: attempt.output.map(|output| output.message.content),
        }
    }
}

/// One attempt with all that its file says about it.
#[derive(Clone, Debug, Default)]
pub struct AttemptDetail {
    /// What was asked and answered.
    pub texts: AttemptTexts,
    /// What scorers said, measurements and facts.
    pub record: Option<Record>,
}

/// One attempt of a run; none if there is no such attempt. Of an Inspect archive, nothing else is read.
pub fn read_attempt_detail(
    source: &Source,
    format: &str,
    run: Option<&str>,
    id: &str,
    epoch: u32,
) -> Result<Option<AttemptDetail>, ReadError> {
    if format == "inspect"
        && let Some((attempt, record)) = read_member(source, id, epoch)?
    {
        return Ok(Some(AttemptDetail { texts: attempt.into(), record }));
    }
    let is_wanted = |known: &SampleId, attempt: u32| attempt == epoch && known.to_string() == id;
    let runs = super::read(source, Some(format))?;
    let is_run = |one: &RecordedRun| run.is_none() || one.name.as_deref() == run;
    let mut records = runs.iter().filter(|one| is_run(one)).flat_map(|one| one.samples.records().collect::<Vec<_>>());
    let Some(record) = records.find(|record| is_wanted(&record.id, record.epoch)) else { return Ok(None) };
    let mut texts = None;
    // Records of several runs in one file are told apart by more than their sample, and other columns are known to the readers only.
    if run.is_none() && source.columns().is_empty() {
        read_texts(source, format, &mut |known, attempt, found| {
            if texts.is_none() && is_wanted(&known, attempt) {
                texts = Some(found);
            }
        })?;
    }
    let texts = texts.unwrap_or_else(|| AttemptTexts::among(record.metadata.iter()));
    Ok(Some(AttemptDetail { texts, record: Some(record) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs(lines: &str) -> Vec<(String, u32, Option<String>)> {
        let mut found = Vec::new();
        let source = Source::bytes("results.jsonl", lines.as_bytes());
        read_texts(&source, "native", &mut |id, epoch, texts| {
            found.push((id.to_string(), epoch, texts.output.map(|output| output.to_string())));
        })
        .expect("it can be read");
        found
    }

    #[test]
    fn records_of_every_layout_tell_their_texts() {
        let want = [("a".to_owned(), 1, Some("x".to_owned())), ("a".to_owned(), 2, Some("y".to_owned()))];
        assert_eq!(outputs("{\"id\": \"a\", \"output\": \"x\"}\n{\"id\": \"a\", \"response\": \"y\"}\n"), want);
        assert_eq!(outputs(r#"[{"id": "a", "output": "x"}, {"id": "a", "epoch": 2, "output": "y"}]"#), want);
        assert_eq!(
            outputs("{\n \"id\": \"a\",\n \"output\": \"x\"\n}\n{\n \"id\": \"a\",\n \"output\": \"y\"\n}"),
            want
        );
    }

    #[test]
    fn a_conversation_is_read_as_messages_and_printed_where_a_text_is_wanted() {
        let message = |role: &str, content: &str| {
            Value::Map(vec![("role".into(), role.into()), ("content".into(), content.into())])
        };
        let talk = Value::List(vec![message("system", "Be brief."), message("user", "2 + 2?")]);
        let facts: [(Arc<str>, Value); 2] = [("prompt".into(), talk.clone()), ("messages".into(), talk)];
        let texts = AttemptTexts::among(facts.iter().map(|(name, value)| (name, value)));
        assert_eq!(texts.input.as_deref(), Some("system: Be brief.\n\nuser: 2 + 2?"));
        assert_eq!(texts.messages.len(), 2);
    }
}
