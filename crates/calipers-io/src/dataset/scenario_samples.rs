//! A scenario as a sample: what is asked, and, as metadata, which behaviours are expected and which must not be seen.

use super::{RecordProblem, sample_fields};
use crate::json::JsonParts;
use crate::json::json_writer as text;
use calipers_core::{Input, Metadata, Target, TaskSample, Value};
use std::sync::Arc;

/// The sample in a scenario. What is not its name, question or right answer is metadata, under the names of the file.
pub(super) fn sample(scenario: &Value) -> Result<TaskSample, RecordProblem> {
    let Value::Map(entries) = scenario else {
        return Err(RecordProblem::new("this is not a scenario", "a scenario is a map"));
    };
    let (input, parts) = input(scenario)?;
    let target = ["target", "expected_output"].into_iter().find_map(|key| Some((key, scenario.part(key)?)));
    let target = target.filter(|(_, value)| matches!(value, Value::Text(_) | Value::List(_)));
    let used = |key: &str| matches!(key, "id" | "input") || target.is_some_and(|(used, _)| used == key);
    let facts = entries.iter().filter(|(key, _)| !used(key)).cloned();
    Ok(TaskSample {
        id: sample_fields::id(scenario.get("id"))?,
        input: Input::Text(input.into()),
        choices: Vec::new(),
        target: match target {
            Some((_, Value::List(items))) => Target(items.iter().map(|item| item.to_string().into()).collect()),
            Some((_, one)) => Target(vec![one.to_string().into()]),
            None => Target::default(),
        },
        metadata: Metadata::new(facts.chain(parts)),
    })
}

/// The prompt, and the parts of it that an agent may want separately.
type ScenarioPrompt = (String, Vec<(Arc<str>, Value)>);

fn input(scenario: &Value) -> Result<ScenarioPrompt, RecordProblem> {
    let hint = "write `input` as text, or as a map with `query`, `context` and `files`";
    let no_input = || RecordProblem::new("the scenario has no `input`", hint);
    match scenario.part("input").ok_or_else(no_input)? {
        Value::Text(query) if !query.trim().is_empty() => Ok((query.to_string(), Vec::new())),
        input @ Value::Map(entries) => {
            let query = input.text("query").filter(|query| !query.trim().is_empty());
            let mut asked = query.ok_or_else(|| RecordProblem::new("the `input` has no `query`", hint))?.to_owned();
            if let Some(context) = input.part("context") {
                asked += &format!("\n\nContext:\n{}", to_text(context));
            }
            let files: Vec<String> = input.items("files").iter().map(to_text).collect();
            if !files.is_empty() {
                asked += &format!("\n\nFiles: {}", files.join(", "));
            }
            let parts = entries.iter().filter(|(key, value)| **key != *"query" && !matches!(value, Value::Null));
            Ok((asked, parts.cloned().collect()))
        }
        Value::Text(_) => Err(RecordProblem::new("the `input` is empty", hint)),
        other => Err(RecordProblem::new(format!("the `input` is a {}", other.kind()), hint)),
    }
}

/// Text as it is, and everything else as JSON.
fn to_text(value: &Value) -> String {
    match value {
        Value::Text(text) => text.to_string(),
        other => {
            let mut json = Vec::new();
            text::put(&mut json, other, text::Nan::Null);
            String::from_utf8(json).expect("JSON is UTF-8")
        }
    }
}
