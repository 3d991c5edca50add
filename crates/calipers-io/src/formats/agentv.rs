//! agentv: `index.jsonl`, one result per line. Each combination of target and suite is a run.

use super::Format;
use super::placed_value::{PlacedValue, UniqueNames, each_line, fact, outcome};
use crate::{ReadError, RecordedRun, Shape, Source};
use calipers_core::{Metadata, Value};
use std::collections::HashMap;

/// What `agentv eval` writes.
pub(crate) struct Agentv;

impl Format for Agentv {
    fn name(&self) -> &'static str {
        "agentv"
    }

    fn about(&self) -> &'static str {
        "agentv: JSON Lines of results, one run for each target and suite"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        let has = |keys: &[&str]| shape.has_keys(keys);
        (has(&["test_id"]) || has(&["testId"])) && (has(&["score"]) || has(&["execution_status"])) && has(&["target"])
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        let mut runs: Vec<RecordedRun> = Vec::new();
        let mut places: HashMap<(Option<String>, Option<String>), usize> = HashMap::new();
        each_line(source, |row| {
            let model = row.get("target").text()?.map(str::to_owned);
            let task = row.first(["suite", "dataset"]).text()?.map(str::to_owned);
            let place = *places.entry((task.clone(), model.clone())).or_insert_with(|| {
                runs.push(RecordedRun { task, model, ..RecordedRun::default() });
                runs.len() - 1
            });
            push(row, &mut runs[place])
        })?;
        Ok(runs)
    }
}

/// Keys that are read, or that only say where more is stored.
const TAKEN: [&str; 22] = [
    "test_id",
    "testId",
    "score",
    "scores",
    "target",
    "suite",
    "dataset",
    "execution_status",
    "executionStatus",
    "error",
    "duration_ms",
    "durationMs",
    "token_usage",
    "tokenUsage",
    "cost_usd",
    "costUsd",
    "timestamp",
    "grading_path",
    "timing_path",
    "output_path",
    "input_path",
    "response_path",
];

fn push(row: PlacedValue<'_>, run: &mut RecordedRun) -> Result<(), ReadError> {
    let id = row.first(["test_id", "testId"]).name()?;
    let status = row.first(["execution_status", "executionStatus"]);
    let message = row.get("error").text()?.filter(|text| !text.is_empty());
    let (passed, is_error) = match status.text()? {
        Some("ok") => (Some(true), false),
        Some("quality_failure") => (Some(false), false),
        Some("execution_error") => (None, true),
        Some(other) => {
            let expected = "`ok`, `quality_failure` or `execution_error`";
            return Err(status.error(format!("`execution_status` is `{other}`; expected {expected}")));
        }
        None => (None, message.is_some()),
    };
    let error = is_error.then(|| message.unwrap_or("agentv names no error").to_owned());
    let overall = row.get("score").score()?;
    let mut unique = UniqueNames::default();
    unique.name("score");
    let mut graders = Vec::new();
    let scores = row.get("scores");
    for grader in scores.items()? {
        let mut score = grader.get("score").score()?;
        let facts = ["type", "weight", "verdict"].map(|key| (key, grader.get(key).value.clone()));
        let facts: Vec<_> = facts.into_iter().filter(|(_, value)| !matches!(value, Value::Null)).collect();
        if !facts.is_empty() {
            score = score.metadata(Metadata::new(facts));
        }
        graders.push((unique.name(grader.get("name").name()?), score));
    }
    let usage = row.first(["token_usage", "tokenUsage"]);
    let parts = [usage.get("input").number()?, usage.get("output").number()?];
    let fields = [
        ("latency_ms", row.first(["duration_ms", "durationMs"]).number()?),
        ("tokens_used", parts.into_iter().flatten().reduce(|a, b| a + b)),
        ("cost_usd", row.first(["cost_usd", "costUsd"]).number()?),
    ];

    let mut attempt = run.samples.push(id);
    for (key, value) in row.entries()?.filter(|(key, _)| !TAKEN.contains(&&***key)) {
        if let Some(value) = fact(value.value) {
            attempt = attempt.metadata(key.clone(), value);
        }
    }
    for (name, value) in fields {
        if let Some(value) = value {
            attempt = attempt.field(name, value);
        }
    }
    // agentv writes score 0 beside an error; it does not count as a score.
    if let Some(error) = error {
        attempt.error(error);
        return Ok(());
    }
    attempt = attempt.score("score", outcome(overall, "agentv gave no score"));
    for (name, score) in graders {
        attempt = attempt.score(name, outcome(score, "the grader gave no score"));
    }
    if let Some(passed) = passed {
        attempt.field("passed", passed);
    }
    Ok(())
}
