//! The questions and answers of an earlier log, attempt by attempt. Rescoring replays them.

use super::resume::{entry, read_usage};
use crate::formats::inspect::{
    Archive, Cutter, LoggedSample, Member, MemberReader, SampleMember, SampleNames, Skim, is_archive, member_name,
    seekable,
};
use crate::json::{self, JsonParts};
use crate::{FilePlace, Projection, ReadError, Source};
use calipers_core::{
    Input, Message, Metadata, ModelOutput, Record, Role, SampleId, Samples, StopReason, Target, TaskSample, ToolCall,
    Value,
};
use std::sync::Arc;

/// The question and the answers of one attempt in a log.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedAttempt {
    /// The sample, under its id.
    pub sample: TaskSample,
    /// Which attempt of it.
    pub epoch: u32,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The answer; `None` if the attempt failed before.
    pub output: Option<ModelOutput>,
    /// The error that ended it, if any.
    pub error: Option<Arc<str>>,
}

impl LoggedAttempt {
    /// The name of the sample.
    #[must_use]
    pub fn id(&self) -> &SampleId {
        self.sample.id.as_ref().expect("a sample without an id is not read")
    }
}

/// The attempts of an Inspect log, archive or document, in file order. Only one at a time is in memory.
pub fn read_attempts(source: &Source) -> Result<LoggedAttempts, ReadError> {
    if !is_archive(&source.head()?) {
        let cutter = Cutter::new(source)?;
        let kind = LogForm::Document { cutter: Box::new(cutter), ready: Vec::new().into_iter(), place: 0 };
        return Ok(LoggedAttempts { source: source.clone(), kind, task: None, is_over: false });
    }
    let source = seekable(source)?;
    let archive = Archive::open(&source)?;
    let mut members: Vec<Member> = Vec::new();
    for member in SampleMember::all(&archive.members) {
        if member.is_in_parts() {
            let what = "the log keeps samples in parts, which cannot be replayed";
            return Err(source.error(what).in_member(member.name()).hint("write it again with Inspect"));
        }
        members.push(member.shell().clone());
    }
    members.sort_by_key(|member| member.header);
    let mut reader = Box::new(archive.reader()?);
    let task = task(&archive, &mut reader);
    drop(archive);
    Ok(LoggedAttempts { source, kind: LogForm::Archive { reader, members: members.into_iter() }, task, is_over: false })
}

/// One attempt of an Inspect archive with what its scorers said; none if no member has its name.
///
/// Only the directory and the attempt are read, however large the rest is.
pub(crate) fn read_member(
    source: &Source,
    id: &str,
    epoch: u32,
) -> Result<Option<(LoggedAttempt, Option<Record>)>, ReadError> {
    if !is_archive(&source.head()?) {
        return Ok(None);
    }
    let source = seekable(source)?;
    let archive = Archive::open(&source)?;
    let Some(member) = archive.find(&member_name(id, epoch)) else { return Ok(None) };
    let mut reader = archive.reader()?;
    let bytes = reader.read(member).map_err(|why| source.error(why).in_member(&member.name))?;
    let found = attempt(bytes).map_err(|why| source.error(why).in_member(&member.name))?;
    if found.epoch != epoch || found.id().to_string() != id {
        return Ok(None);
    }
    let mut samples = Samples::new();
    let mut names = SampleNames::new(&Projection::everything());
    if let Ok(sample) = LoggedSample::parse(bytes, &mut names) {
        sample.push(&mut samples, "score");
    }
    let record = samples.records().next();
    Ok(Some((found, record)))
}

/// The name of the task, where the log says it.
fn task(archive: &Archive<'_>, reader: &mut MemberReader) -> Option<String> {
    let header = archive.find("header.json").or_else(|| archive.find("_journal/start.json"))?;
    let task = entry(entry(reader.read(header).ok()?, b"eval")?, b"task")?;
    match json::parse("", task) {
        Ok(Value::Text(task)) => Some(task.to_string()),
        _ => None,
    }
}

/// The attempts of a log, one after another; see [`read_attempts`].
pub struct LoggedAttempts {
    source: Source,
    kind: LogForm,
    task: Option<String>,
    /// True after an unreadable part of a document.
    is_over: bool,
}

impl LoggedAttempts {
    /// The name of the task, where the log is an archive.
    #[must_use]
    pub fn task(&self) -> Option<&str> {
        self.task.as_deref()
    }
}

enum LogForm {
    Archive { reader: Box<MemberReader>, members: std::vec::IntoIter<Member> },
    Document { cutter: Box<Cutter>, ready: std::vec::IntoIter<Result<LoggedAttempt, ReadError>>, place: usize },
}

impl std::fmt::Debug for LoggedAttempts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoggedAttempts").field("source", &self.source.name).finish_non_exhaustive()
    }
}

impl Iterator for LoggedAttempts {
    type Item = Result<LoggedAttempt, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let source = &self.source;
        match &mut self.kind {
            LogForm::Archive { reader, members } => {
                let member = members.next()?;
                let read = reader.read(&member).map_err(|why| source.error(why));
                let attempt = read.and_then(|bytes| attempt(bytes).map_err(|why| source.error(why)));
                Some(attempt.map_err(|error| error.in_member(&member.name)))
            }
            LogForm::Document { cutter, ready, place } => {
                if let Some(attempt) = ready.next() {
                    return Some(attempt);
                }
                let batch = match cutter.batch() {
                    Ok(batch) if batch.is_empty() => return None,
                    Ok(batch) => batch,
                    Err(error) => {
                        self.is_over = true;
                        return Some(Err(error));
                    }
                };
                let attempts: Vec<_> = batch
                    .items()
                    .map(|json| {
                        *place += 1;
                        let path = FilePlace::Path(format!("samples[{}]", *place - 1));
                        attempt(json).map_err(|why| source.error(why).at(path))
                    })
                    .collect();
                *ready = attempts.into_iter();
                ready.next()
            }
        }
    }
}

/// One attempt from its JSON.
fn attempt(bytes: &[u8]) -> Result<LoggedAttempt, String> {
    let mut parts: Vec<(Arc<str>, Value)> = Vec::new();
    let mut skim = Skim::new(bytes)?;
    while let Some((key, value)) = skim.entry()? {
        let wanted =
            ["id", "epoch", "input", "choices", "target", "metadata", "messages", "output", "error"].map(str::as_bytes);
        if wanted.contains(&key) {
            let value = json::parse("", value).map_err(|error| error.what().to_owned())?;
            parts.push((String::from_utf8_lossy(key).into(), value));
        }
    }
    let parts = Value::Map(parts);
    let id = match parts.part("id") {
        Some(Value::Int(id)) => SampleId::Int(*id),
        Some(Value::Text(id)) => SampleId::Text(id.clone()),
        _ => return Err("the sample has no `id`".to_owned()),
    };
    let epoch = match parts.part("epoch") {
        Some(Value::Int(epoch)) => u32::try_from(*epoch).map_err(|_| format!("`{epoch}` is not an epoch"))?,
        _ => return Err(format!("sample `{id}` has no `epoch`")),
    };
    let input = match parts.part("input") {
        Some(Value::Text(text)) => Input::Text(text.clone()),
        Some(Value::List(messages)) => Input::Messages(read_messages(messages)),
        _ => Input::Text("".into()),
    };
    let target = match parts.part("target") {
        Some(Value::List(items)) => Target(items.iter().map(share_text).collect()),
        Some(Value::Text(text)) if text.is_empty() => Target::default(),
        Some(other) => Target(vec![share_text(other)]),
        None => Target::default(),
    };
    let error = parts.part("error").map(|error| error.part("message").unwrap_or(error).to_string().into());
    Ok(LoggedAttempt {
        sample: TaskSample {
            id: Some(id),
            input,
            choices: parts.items("choices").iter().map(share_text).collect(),
            target,
            metadata: Metadata::new(parts.entries("metadata").iter().cloned()),
        },
        epoch,
        messages: read_messages(parts.items("messages")),
        output: parts.part("output").and_then(read_output),
        error,
    })
}

fn share_text(value: &Value) -> Arc<str> {
    match value {
        Value::Text(text) => text.clone(),
        other => other.to_string().into(),
    }
}

fn read_messages(messages: &[Value]) -> Vec<Message> {
    messages.iter().filter_map(read_message).collect()
}

/// A message; `None` for an unknown role.
pub(crate) fn read_message(message: &Value) -> Option<Message> {
    let call = |call: &Value| ToolCall {
        id: call.text("id").unwrap_or_default().into(),
        function: call.text("function").unwrap_or_default().into(),
        arguments: match call.text("parse_error") {
            Some(written) if call.entries("arguments").is_empty() => written.into(),
            _ => call.part("arguments").cloned().unwrap_or(Value::Map(Vec::new())),
        },
    };
    Some(Message {
        role: Role::parse(message.text("role")?)?,
        content: content(message.part("content")),
        tool_calls: message.items("tool_calls").iter().map(call).collect(),
        tool_call_id: message.text("tool_call_id").map(Into::into),
    })
}

/// The text of a message: its text parts, one per line.
fn content(content: Option<&Value>) -> Arc<str> {
    match content {
        Some(Value::List(parts)) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part.text("text")).collect();
            texts.join("\n").into()
        }
        Some(other) => share_text(other),
        None => "".into(),
    }
}

/// The first of the answers. An output without one belongs to a failed attempt.
fn read_output(output: &Value) -> Option<ModelOutput> {
    let choice = output.items("choices").first()?;
    Some(ModelOutput {
        model: output.text("model").unwrap_or_default().into(),
        message: read_message(choice.part("message")?)?,
        stop_reason: StopReason::parse(choice.text("stop_reason").unwrap_or("unknown")),
        usage: output.part("usage").map(read_usage),
        time_s: output.number("time"),
    })
}
