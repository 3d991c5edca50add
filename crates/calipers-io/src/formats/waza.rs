//! waza: `results.json` of `waza run`. A task's runs are attempts of one sample, by their `run_number`.

use super::Format;
use super::placed_value::{PlacedValue, document, fact, figure, outcome};
use crate::{ReadError, RecordedResults, RecordedRun, Shape, Source};
use calipers_core::{Metadata, Outcome, Value, pluralize};
use std::collections::HashSet;

/// What `waza run` writes.
pub(crate) struct Waza;

impl Format for Waza {
    fn name(&self) -> &'static str {
        "waza"
    }

    fn about(&self) -> &'static str {
        "waza: results of a skill's evaluation, with its baseline if there is one"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        shape.has_keys(&["eval_id", "config"])
            && (shape.has_inner("config", "runs_per_test") || shape.has_inner("config", "model_id"))
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        let content = document(source)?;
        let root = PlacedValue::root(source, &content).map()?;
        let mut runs = vec![read_outcome(root, "")?];
        let baseline = root.get("baseline_outcome");
        if !baseline.is_null() {
            runs.push(read_outcome(baseline.map()?, " (baseline)")?);
        }
        Ok(runs)
    }
}

fn read_outcome(root: PlacedValue<'_>, suffix: &str) -> Result<RecordedRun, ReadError> {
    let name = root.first(["eval_name", "skill"]).text()?.filter(|name| !name.is_empty());
    let mut run = RecordedRun {
        task: name.map(|name| format!("{name}{suffix}")),
        model: root.get("config").get("model_id").text()?.filter(|name| !name.is_empty()).map(str::to_owned),
        recorded: read_recorded_results(root)?,
        ..RecordedRun::default()
    };
    let tasks = root.get("tasks");
    if tasks.is_null() {
        return Err(tasks.wrong("a list of tasks"));
    }
    let mut seen = HashSet::new();
    let mut lost = RunLosses::default();
    for task in tasks.items()? {
        read_task(task, &mut run, &mut seen, &mut lost)?;
    }
    lost.note(&mut run.notes);
    let triggers = root.get("trigger_results").items()?.count();
    if triggers > 0 {
        run.notes.push(format!("{} not read: they have no scores", pluralize(triggers, "trigger result")));
    }
    Ok(run)
}

/// Parts of the runs that are not scores.
#[derive(Default)]
struct RunLosses {
    skipped: usize,
    scores_of_errors: usize,
    without_runs: Vec<String>,
}

impl RunLosses {
    fn note(self, notes: &mut Vec<String>) {
        if self.skipped > 0 {
            notes.push(format!("{} skipped: unscored", pluralize(self.skipped, "run")));
        }
        if self.scores_of_errors > 0 {
            notes.push(format!(
                "{} of runs that ended in an error not counted",
                pluralize(self.scores_of_errors, "score")
            ));
        }
        for task in self.without_runs {
            notes.push(format!("task {task} has no runs and is left out"));
        }
    }
}

fn read_task(
    task: PlacedValue<'_>,
    run: &mut RecordedRun,
    seen: &mut HashSet<(String, u32)>,
    lost: &mut RunLosses,
) -> Result<(), ReadError> {
    let id = task.get("test_id").name()?;
    let runs = task.get("runs");
    let mut facts = Vec::new();
    for (key, name) in [("display_name", "display_name"), ("group", "group"), ("group", "category")] {
        let found = task.get(key).text()?.filter(|text| !text.is_empty());
        facts.extend(found.map(|text| (name, Value::from(text))));
    }
    if runs.items()?.next().is_none() {
        if task.get("status").text()? == Some("error") {
            if !seen.insert((id.to_owned(), 1)) {
                return Err(task.error(format!("task `{id}` appears twice")));
            }
            let mut attempt = run.samples.push_epoch(id, 1);
            for (name, value) in facts {
                attempt = attempt.metadata(name, value);
            }
            attempt.error("the task ended in an error before its first run");
        } else {
            lost.without_runs.push(format!("`{id}` ({})", task.get("status").text()?.unwrap_or("no status")));
        }
        return Ok(());
    }
    for one in runs.items()? {
        let number = one.get("run_number").count()?.ok_or_else(|| one.get("run_number").wrong("a whole number"))?;
        if !seen.insert((id.to_owned(), number)) {
            return Err(one.error(format!("run {number} of task `{id}` appears twice")));
        }
        read_run(one, id, number, &facts, run, lost)?;
    }
    Ok(())
}

fn read_run(
    one: PlacedValue<'_>,
    id: &str,
    number: u32,
    facts: &[(&'static str, Value)],
    run: &mut RecordedRun,
    lost: &mut RunLosses,
) -> Result<(), ReadError> {
    let status = one.get("status");
    let passed = match status.name()? {
        "passed" => Some(true),
        "failed" => Some(false),
        "error" | "skipped" | "n/a" => None,
        other => {
            let expected = "`passed`, `failed`, `error`, `skipped` or `n/a`";
            return Err(status.error(format!("`status` is `{other}`; expected {expected}")));
        }
    };
    let is_error = status.text()? == Some("error");
    let scores = validations(one)?;
    let fields = measurements(one)?;

    let mut attempt = run.samples.push_epoch(id, number);
    for (name, value) in facts {
        attempt = attempt.metadata(*name, value.clone());
    }
    for (name, value) in fields {
        attempt = attempt.field(name, value);
    }
    if is_error {
        lost.scores_of_errors += scores.len();
        attempt.error(one.get("error_msg").text()?.filter(|text| !text.is_empty()).unwrap_or("waza names no error"));
        return Ok(());
    }
    lost.skipped += usize::from(passed.is_none());
    for (name, score) in scores {
        let skipped = || Outcome::unscored("the run was skipped");
        attempt = attempt.score(name, if passed.is_none() { skipped() } else { score });
    }
    if let Some(passed) = passed {
        attempt.field("passed", passed);
    }
    Ok(())
}

fn validations(one: PlacedValue<'_>) -> Result<Vec<(String, Outcome)>, ReadError> {
    let mut scores = Vec::new();
    for (name, grader) in one.get("validations").entries()? {
        let mut score = grader.map()?.get("score").score()?;
        if let Some(feedback) = grader.get("feedback").text()?.filter(|text| !text.is_empty()) {
            score = score.explanation(feedback);
        }
        let facts = ["type", "weight", "passed"].map(|key| (key, grader.get(key).value.clone()));
        let facts: Vec<_> = facts.into_iter().filter(|(_, value)| !matches!(value, Value::Null)).collect();
        if !facts.is_empty() {
            score = score.metadata(Metadata::new(facts));
        }
        scores.push((name.to_string(), outcome(score, "the grader gave no score")));
    }
    Ok(scores)
}

fn measurements(one: PlacedValue<'_>) -> Result<Vec<(&'static str, Value)>, ReadError> {
    let digest = one.get("session_digest");
    let usage = if one.get("usage").is_null() { digest.get("usage") } else { one.get("usage") };
    let sum = |parts: [Option<f64>; 2]| parts.into_iter().flatten().reduce(|a, b| a + b);
    let used = sum([usage.get("input_tokens").number()?, usage.get("output_tokens").number()?]);
    let older = sum([digest.get("tokens_in").number()?, digest.get("tokens_out").number()?]);
    let fields = [
        ("latency_ms", one.get("duration_ms").number()?),
        ("tokens_used", used.or(digest.get("tokens_total").number()?).or(older)),
        ("tool_calls", digest.get("tool_call_count").number()?),
        ("turns", usage.get("turns").number()?.or(digest.get("total_turns").number()?)),
        ("tries", one.get("attempts").number()?),
    ];
    Ok(fields.into_iter().filter_map(|(name, value)| Some((name, value?.into()))).collect())
}

fn read_recorded_results(root: PlacedValue<'_>) -> Result<RecordedResults, ReadError> {
    let mut figures = Vec::new();
    let mut add = |scorer: &str, metric: &str, value| figures.push(figure(scorer, metric, value));
    for (name, value) in root.get("summary").entries()? {
        if matches!(fact(value.value), Some(Value::Int(_) | Value::Float(_))) {
            add("summary", name, value.number()?);
        }
    }
    for (name, measure) in root.get("metrics").entries()? {
        add(name, "value", measure.map()?.get("value").number()?);
    }
    Ok(RecordedResults { figures, ..RecordedResults::default() })
}
