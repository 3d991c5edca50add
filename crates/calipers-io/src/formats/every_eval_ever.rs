//! Every Eval Ever: aggregate records (figures of a model) and instance records (JSON Lines), of schema 0.3 and before.
//!
//! An instance record belongs to one metric, so a sample that was measured in two ways has two records; they are two scores
//! of one attempt. The second record of the same sample and metric is a second attempt.

use super::Format;
use super::placed_value::{PlacedValue, document, each_line, fact};
use crate::{ReadError, RecordedFigure, RecordedRun, Shape, Source};
use calipers_core::{Score, Value, pluralize};
use std::collections::HashMap;

/// The records of the shared schema of evaluation results.
pub(crate) struct EveryEvalEver;

impl Format for EveryEvalEver {
    fn name(&self) -> &'static str {
        "every-eval-ever"
    }

    fn about(&self) -> &'static str {
        "Every Eval Ever: aggregate records with figures, or instance records with scores"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        is_aggregate(shape) || shape.has_keys(&["evaluation_id", "sample_id", "evaluation"])
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        let shape = Shape::new(source.head()?, source.file_name());
        if is_aggregate(&shape) {
            return read_aggregate(source);
        }
        let mut runs = InstanceRuns::default();
        each_line(source, |line| runs.take(line))?;
        Ok(runs.finish())
    }
}

fn is_aggregate(shape: &Shape) -> bool {
    shape.has_keys(&["evaluation_id", "evaluation_results"]) || shape.has_keys(&["evaluation_id", "source_metadata"])
}

/// One run per evaluation, with figures and no samples.
fn read_aggregate(source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
    let content = document(source)?;
    let root = PlacedValue::root(source, &content).map()?;
    let about = root.get("model_info");
    let about = if about.is_null() { about } else { about.map()? };
    let model = about.first(["id", "name"]).text()?.map(str::to_owned);
    let results = root.get("evaluation_results");
    let mut runs: Vec<RecordedRun> = Vec::new();
    for result in results.items()? {
        let result = result.map()?;
        let task = result.get("evaluation_name").name()?;
        let place = runs.iter().position(|run| run.task.as_deref() == Some(task)).unwrap_or_else(|| {
            let task = Some(task.to_owned());
            runs.push(RecordedRun { task, model: model.clone(), ..RecordedRun::default() });
            runs.len() - 1
        });
        let figure = read_figure(result, task)?;
        runs[place].recorded.figures.push(figure);
    }
    if runs.is_empty() {
        runs.push(RecordedRun { model, ..RecordedRun::default() });
    }
    let details = root.get("detailed_evaluation_results");
    if !details.is_null() {
        details.map()?;
    }
    let path = details.get("file_path").text()?.map(str::to_owned);
    for run in &mut runs {
        run.notes.push(match &path {
            Some(path) => format!("the file records figures only; read `{path}` for scores"),
            None => "the file records figures only, and names no file with scores".to_owned(),
        });
    }
    Ok(runs)
}

fn read_figure(result: PlacedValue<'_>, task: &str) -> Result<RecordedFigure, ReadError> {
    let config = result.get("metric_config").map()?;
    let id = result.get("evaluation_result_id").text()?;
    let named = config.first(["metric_name", "metric_id"]).text()?;
    let metric = named.or(id).unwrap_or(task).to_owned();
    let details = result.get("score_details").map()?;
    let uncertainty = details.get("uncertainty");
    let (mut stderr, mut n) = (None, None);
    if !uncertainty.is_null() {
        let uncertainty = uncertainty.map()?;
        let error = uncertainty.get("standard_error");
        // A map since 0.2; a bare number before.
        stderr = if let Value::Map(_) = error.value { error.get("value").number()? } else { error.number()? };
        n = uncertainty.get("num_samples").count()?.map(u64::from);
    }
    let score = id.map_or_else(|| metric.clone(), |id| scorer_name(id, task).to_owned());
    let value = details.get("score").number()?;
    Ok(RecordedFigure { scorer: score.clone(), score, metric, value, stderr, n, ..RecordedFigure::default() })
}

/// The part of a result's id that tells it from other results of the same evaluation.
fn scorer_name<'a>(id: &'a str, task: &str) -> &'a str {
    match id.strip_prefix(task).map(|rest| rest.trim_start_matches(['/', '.', ':', '#'])) {
        Some("") => "score",
        Some(rest) => rest,
        None => id,
    }
}

/// Instance records by model and evaluation.
#[derive(Default)]
struct InstanceRuns {
    runs: Vec<InstanceRun>,
}

#[derive(Default)]
struct InstanceRun {
    model: String,
    task: String,
    samples: Vec<String>,
    attempts: HashMap<String, Vec<InstanceAttempt>>,
    scorers: Vec<String>,
    ran_with_error: usize,
}

/// An attempt, from as many records as there are metrics.
#[derive(Default)]
struct InstanceAttempt {
    scores: Vec<(String, Option<Score>, Option<bool>)>,
    facts: Vec<(String, Value)>,
    fields: Vec<(&'static str, Value)>,
    error: Option<String>,
}

impl InstanceRuns {
    fn take(&mut self, line: PlacedValue<'_>) -> Result<(), ReadError> {
        let (model, task) = (line.get("model_id").name()?, line.get("evaluation_name").name()?);
        let place = self.runs.iter().position(|run| run.model == model && run.task == task).unwrap_or_else(|| {
            self.runs.push(InstanceRun { model: model.to_owned(), task: task.to_owned(), ..InstanceRun::default() });
            self.runs.len() - 1
        });
        self.runs[place].take(line)
    }

    fn finish(self) -> Vec<RecordedRun> {
        self.runs.into_iter().map(InstanceRun::run).collect()
    }
}

impl InstanceRun {
    fn take(&mut self, line: PlacedValue<'_>) -> Result<(), ReadError> {
        let id = line.get("sample_id").name()?;
        let scorer = scorer_name(line.get("evaluation_result_id").text()?.unwrap_or(&self.task), &self.task).to_owned();
        let evaluation = line.get("evaluation").map()?;
        let value = evaluation.get("score").number()?;
        let is_correct = evaluation.get("is_correct").flag()?;
        let error = line.get("error").text()?.filter(|error| !error.trim().is_empty());
        let answer = answer(line)?;
        if !self.scorers.contains(&scorer) {
            self.scorers.push(scorer.clone());
        }
        if !self.attempts.contains_key(id) {
            self.samples.push(id.to_owned());
        }
        let attempts = self.attempts.entry(id.to_owned()).or_default();
        let has = |attempt: &InstanceAttempt| attempt.scores.iter().any(|(known, ..)| *known == scorer);
        let place = attempts.iter().position(|attempt| !has(attempt)).unwrap_or(attempts.len());
        if place == attempts.len() {
            let (facts, fields) = (facts(line)?, measurements(line)?);
            attempts.push(InstanceAttempt { facts, fields, ..InstanceAttempt::default() });
        }
        let attempt = &mut attempts[place];
        let has_output =
            answer.is_some() || matches!(line.get("messages").value, Value::List(items) if !items.is_empty());
        match error {
            // The schema wants a score of every record, so one without an output has a placeholder.
            Some(error) if !has_output => {
                attempt.error = Some(error.to_owned());
                attempt.scores.push((scorer, None, None));
            }
            error => {
                self.ran_with_error += usize::from(error.is_some());
                let value = value.map_or(Value::Missing, Value::Float);
                let mut score = Score::new(value);
                score.answer = answer.map(Into::into);
                score.explanation = error.map(Into::into);
                attempt.scores.push((scorer, Some(score), is_correct));
            }
        }
        Ok(())
    }

    fn run(mut self) -> RecordedRun {
        let mut run: RecordedRun =
            RecordedRun { task: Some(self.task), model: Some(self.model), ..RecordedRun::default() };
        let is_only = self.scorers.len() == 1;
        for id in &self.samples {
            for own in self.attempts.remove(id).unwrap_or_default() {
                let mut attempt = run.samples.push(id.as_str());
                for (key, value) in own.facts {
                    attempt = attempt.metadata(key, value);
                }
                for (name, value) in own.fields {
                    attempt = attempt.field(name, value);
                }
                for (scorer, score, is_correct) in own.scores {
                    let Some(score) = score else { continue };
                    if let Some(is_correct) = is_correct {
                        let name = if is_only { "passed".to_owned() } else { format!("passed.{scorer}") };
                        attempt = attempt.field(name, is_correct);
                    }
                    attempt = attempt.score(scorer, super::placed_value::outcome(score, "the record has no score"));
                }
                if let Some(error) = own.error {
                    attempt.error(error);
                }
            }
        }
        if self.ran_with_error > 0 {
            let records = pluralize(self.ran_with_error, "record");
            run.notes
                .push(format!("{records} with an error and an output: the score counts, the error is its explanation"));
        }
        run
    }
}

/// The final answer that was extracted, or else the output.
fn answer(line: PlacedValue<'_>) -> Result<Option<String>, ReadError> {
    let mut last = None;
    for part in line.get("answer_attribution").items()? {
        if part.get("is_terminal").flag()? != Some(false) {
            last = part.get("extracted_value").text()?.map(str::to_owned).or(last);
        }
    }
    let output = line.get("output");
    if last.is_some() || output.is_null() {
        return Ok(last);
    }
    let output = output.map()?;
    let raw = output.get("raw");
    // A list since 0.2; a text before.
    if let Value::Text(text) = raw.value {
        return Ok(Some(text.to_string()));
    }
    let first = raw.items()?.next();
    Ok(match first {
        Some(first) => first.text()?.map(str::to_owned),
        None => None,
    })
}

fn measurements(line: PlacedValue<'_>) -> Result<Vec<(&'static str, Value)>, ReadError> {
    let mut fields = Vec::new();
    for (name, part, key) in
        [("tokens_used", "token_usage", "total_tokens"), ("latency_ms", "performance", "latency_ms")]
    {
        let part = line.get(part);
        if !part.is_null() {
            fields.extend(part.map()?.get(key).number()?.map(|value| (name, Value::Float(value))));
        }
    }
    let turns = line.get("evaluation").get("num_turns").number()?;
    fields.extend(turns.map(|turns| ("num_turns", Value::Float(turns))));
    Ok(fields)
}

fn facts(line: PlacedValue<'_>) -> Result<Vec<(String, Value)>, ReadError> {
    let mut facts = Vec::new();
    for key in ["interaction_type", "sample_hash"] {
        facts.extend(fact(line.get(key).value).map(|value| (key.to_owned(), value)));
    }
    let input = line.get("input");
    if !input.is_null() {
        let input = input.map()?;
        let reference = input.get("reference");
        facts.extend(fact(reference.value).map(|value| ("reference".to_owned(), value)));
    }
    for (key, value) in line.get("metadata").entries()? {
        facts.extend(fact(value.value).map(|value| (key.to_string(), value)));
    }
    Ok(facts)
}
