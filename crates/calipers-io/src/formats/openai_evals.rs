//! OpenAI evals: the event log of `oaieval`, JSON Lines. A `spec` line begins a run and a `final_report` line ends it.

use super::Format;
use super::placed_value::{PlacedValue, each_line, fact, figure, outcome};
use crate::{ReadError, RecordedRun, Shape, Source};
use calipers_core::{Metadata, Outcome, Score, Value, pluralize};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What `oaieval` records.
pub(crate) struct OpenAiEvals;

impl Format for OpenAiEvals {
    fn name(&self) -> &'static str {
        "openai-evals"
    }

    fn about(&self) -> &'static str {
        "OpenAI evals: the event log of oaieval"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        let spec = ["run_id", "eval_name", "completion_fns"].iter().any(|key| shape.has_inner("spec", key));
        shape.has_keys(&["spec"]) && spec || shape.has_keys(&["run_id", "event_id", "sample_id", "type"])
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        let mut logs: Vec<EventLog> = Vec::new();
        each_line(source, |line| {
            let spec = line.get("spec");
            if !spec.is_null() {
                logs.push(EventLog::start(spec.map()?)?);
                return Ok(());
            }
            if logs.is_empty() {
                // Events without a `spec`: a part of a log.
                let mut log = EventLog::default();
                log.run.notes.push("the log does not begin with its `spec`: task and model are unknown".to_owned());
                logs.push(log);
            }
            let run_id = line.get("run_id").text()?;
            let named = logs.iter().position(|log| run_id.is_some() && log.id.as_deref() == run_id);
            let place = named.unwrap_or(logs.len() - 1);
            logs[place].take(line)
        })?;
        Ok(logs.into_iter().map(EventLog::finish).collect())
    }
}

#[derive(Default)]
struct EventLog {
    id: Option<String>,
    run: RecordedRun,
    order: Vec<Arc<str>>,
    samples: HashMap<Arc<str>, EventSample>,
    skipped: BTreeMap<String, usize>,
    report: Option<Vec<(String, Option<f64>)>>,
}

#[derive(Default)]
struct EventSample {
    attempts: Vec<EventAttempt>,
    /// Events that arrived before their sample.
    tokens: Option<f64>,
}

#[derive(Default)]
struct EventAttempt {
    scores: Vec<(String, Outcome)>,
    correct: Option<bool>,
    tokens: Option<f64>,
    error: Option<String>,
}

impl EventLog {
    fn start(spec: PlacedValue<'_>) -> Result<Self, ReadError> {
        let mut models = Vec::new();
        for model in spec.get("completion_fns").items()? {
            models.push(model.name()?.to_owned());
        }
        if let Some(model) = spec.get("model_name").text()? {
            models.push(model.to_owned());
        }
        let task = spec.first(["eval_name", "base_eval"]).text()?.map(str::to_owned);
        let model = (!models.is_empty()).then(|| models.join(", "));
        let id = spec.get("run_id").text()?.map(str::to_owned);
        Ok(Self { id, run: RecordedRun { task, model, ..RecordedRun::default() }, ..Self::default() })
    }

    fn take(&mut self, line: PlacedValue<'_>) -> Result<(), ReadError> {
        let report = line.get("final_report");
        if !report.is_null() {
            self.report = Some(flat_report(report)?);
            return Ok(());
        }
        let kind = line.get("type").name()?;
        let data = line.get("data");
        if !matches!(kind, "match" | "metrics" | "error" | "sampling") {
            *self.skipped.entry(kind.to_owned()).or_default() += 1;
        }
        let id = match line.get("sample_id").value {
            Value::Text(id) => id.clone(),
            Value::Int(id) => id.to_string().into(),
            // Metrics of the whole run have no sample.
            Value::Null if kind == "metrics" => {
                *self.skipped.entry("metrics without a sample".to_owned()).or_default() += 1;
                return Ok(());
            }
            _ => return Err(line.get("sample_id").wrong("text")),
        };
        let sample = self.samples.entry(id.clone()).or_insert_with(|| {
            self.order.push(id);
            EventSample::default()
        });
        match kind {
            "match" => sample.take_match(data),
            "metrics" => sample.take_metrics(data),
            "error" => sample.take_error(data),
            "sampling" => sample.take_sampling(data),
            _ => Ok(()),
        }
    }

    fn finish(self) -> RecordedRun {
        let Self { mut run, order, mut samples, skipped, report, .. } = self;
        let (mut unscored, mut judged_errors) = (0, 0);
        for id in order {
            let EventSample { mut attempts, tokens } = samples.remove(&id).unwrap_or_default();
            if attempts.is_empty() {
                unscored += 1;
                attempts.push(EventAttempt::default());
            }
            if let Some(last) = attempts.last_mut() {
                last.tokens = sum(last.tokens, tokens);
            }
            for attempt in attempts {
                judged_errors += usize::from(attempt.error.is_some() && !attempt.scores.is_empty());
                attempt.push(&id, &mut run);
            }
        }
        if unscored > 0 {
            run.notes.push(format!("{} without a match, metrics or an error: unscored", pluralize(unscored, "sample")));
        }
        if judged_errors > 0 {
            let attempts = pluralize(judged_errors, "attempt");
            run.notes.push(format!("{attempts} with both an error and a score: the error counts"));
        }
        for (kind, events) in skipped {
            run.notes.push(format!("{} of type `{kind}` not read", pluralize(events, "event")));
        }
        match report {
            Some(figures) => record(&mut run, figures),
            None => run.notes.push("there is no final report: the run may not have finished".to_owned()),
        }
        run
    }
}

fn sum(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    [a, b].into_iter().flatten().reduce(|a, b| a + b)
}

fn record(run: &mut RecordedRun, figures: Vec<(String, Option<f64>)>) {
    let scorers: Vec<_> = run.samples.scorers().cloned().collect();
    let scorer = if let [only] = &scorers[..] { only.to_string() } else { "final_report".to_owned() };
    run.recorded.figures = figures.into_iter().map(|(metric, value)| figure(&scorer, &metric, value)).collect();
}

/// The numbers of a report, those within maps as `map.name`.
fn flat_report(report: PlacedValue<'_>) -> Result<Vec<(String, Option<f64>)>, ReadError> {
    let mut figures = Vec::new();
    for (key, value) in report.entries()? {
        match value.value {
            Value::Int(_) | Value::Float(_) | Value::Missing => figures.push((key.to_string(), value.number()?)),
            Value::Map(_) => {
                let inner = flat_report(value)?;
                figures.extend(inner.into_iter().map(|(name, number)| (format!("{key}.{name}"), number)));
            }
            _ => {}
        }
    }
    Ok(figures)
}

impl EventSample {
    /// The last attempt, or a new one if the last one has this already.
    fn attempt(&mut self, has_it: impl Fn(&EventAttempt) -> bool) -> &mut EventAttempt {
        if self.attempts.last().is_none_or(has_it) {
            self.attempts.push(EventAttempt { tokens: self.tokens.take(), ..EventAttempt::default() });
        }
        let last = self.attempts.len() - 1;
        &mut self.attempts[last]
    }

    fn take_match(&mut self, data: PlacedValue<'_>) -> Result<(), ReadError> {
        let correct = data.map()?.get("correct").flag()?.ok_or_else(|| data.get("correct").wrong("true or false"))?;
        let mut score = Score::new(correct);
        if let Value::Text(picked) = data.get("picked").value {
            score = score.answer(picked.clone());
        }
        let others = data.entries()?.filter(|(key, _)| !matches!(&***key, "correct" | "picked"));
        let facts: Vec<_> = others.filter_map(|(key, value)| Some((key.clone(), fact(value.value)?))).collect();
        if !facts.is_empty() {
            score = score.metadata(Metadata::new(facts));
        }
        let attempt = self.attempt(|attempt| attempt.correct.is_some());
        attempt.correct = Some(correct);
        attempt.scores.push(("match".to_owned(), score.into()));
        Ok(())
    }

    fn take_metrics(&mut self, data: PlacedValue<'_>) -> Result<(), ReadError> {
        let mut scores = Vec::new();
        for (name, value) in data.map()?.entries()? {
            // An evaluation may record anything as metrics: texts and lists among them are notes, not scores.
            if matches!(value.value, Value::Text(_) | Value::List(_) | Value::Map(_)) {
                continue;
            }
            // A metric may share its name with the match event.
            let name = if &**name == "match" { "match (metric)" } else { name };
            scores.push((name.to_owned(), outcome(value.score()?, "the metric has no value")));
        }
        let has_it =
            |attempt: &EventAttempt| attempt.scores.iter().any(|(name, _)| scores.iter().any(|(new, _)| new == name));
        self.attempt(has_it).scores.extend(scores);
        Ok(())
    }

    fn take_error(&mut self, data: PlacedValue<'_>) -> Result<(), ReadError> {
        let kind = data.get("type").text()?;
        let text = data.first(["message", "msg"]).text()?;
        let message = match (kind, text) {
            (Some(kind), Some(text)) => format!("{kind}: {text}"),
            (Some(text), None) | (None, Some(text)) => text.to_owned(),
            (None, None) => "the log names no error".to_owned(),
        };
        let attempt = self.attempt(|attempt| attempt.correct.is_some());
        attempt.error = Some(match attempt.error.take() {
            Some(earlier) => format!("{earlier}; {message}"),
            None => message,
        });
        Ok(())
    }

    fn take_sampling(&mut self, data: PlacedValue<'_>) -> Result<(), ReadError> {
        let usage = data.get("usage");
        if let Value::Map(_) = usage.value {
            let parts = sum(usage.get("prompt_tokens").number()?, usage.get("completion_tokens").number()?);
            self.tokens = sum(self.tokens, usage.get("total_tokens").number()?.or(parts));
        }
        Ok(())
    }
}

impl EventAttempt {
    fn push(self, id: &Arc<str>, run: &mut RecordedRun) {
        let mut attempt = run.samples.push(&**id);
        if let Some(tokens) = self.tokens {
            attempt = attempt.field("tokens_used", tokens);
        }
        if let Some(error) = self.error {
            attempt.error(error);
            return;
        }
        for (scorer, outcome) in self.scores {
            attempt = attempt.score(scorer, outcome);
        }
        if let Some(correct) = self.correct {
            attempt.field("correct", correct).field("passed", correct);
        }
    }
}
