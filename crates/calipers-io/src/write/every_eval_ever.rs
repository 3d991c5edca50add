//! Every Eval Ever: an aggregate record in a file that ends in `.json`, else instance records, one per line.
//!
//! The schemas (version 0.3.0) demand a number of every record and much that results do not hold. What is not known is
//! written as `unknown`; what cannot be written is counted in a note.

use super::{Contents, LossCounts, OutputFile, WriteError, Writer, check_id};
use calipers_core::{Figure, MetricResult, Outcome, Record, Results, SampleId, Score, ScoreResult, Value};
use serde_json::{Map, Value as Json, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// The records of the shared schema of evaluation results.
pub(super) struct EveryEvalEverWriter;

const SCHEMA_VERSION: &str = "0.3.0";
const UNKNOWN: &str = "unknown";

impl Writer for EveryEvalEverWriter {
    fn name(&self) -> &'static str {
        "every-eval-ever"
    }

    fn about(&self) -> &'static str {
        "Every Eval Ever: an aggregate record (`.json`), or instance records (`.jsonl`)"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[]
    }

    fn needs_results(&self) -> bool {
        true
    }

    fn write(&self, contents: &Contents<'_>, out: &mut OutputFile) -> Result<Vec<String>, WriteError> {
        let about = EvaluationAbout::of(contents);
        if out.is_json() {
            let (document, notes) = aggregate(&about, contents);
            let text = format!("{document:#}\n");
            out.text().write_all(text.as_bytes()).map_err(|error| out.write_error(&error))?;
            return Ok(notes);
        }
        let mut lost = LossCounts::default();
        for record in contents.run.samples.records() {
            check_id(&record, out)?;
            for line in instances(&about, &record, &mut lost) {
                let text = format!("{line}\n");
                out.text().write_all(text.as_bytes()).map_err(|error| out.write_error(&error))?;
            }
        }
        Ok(lost.notes())
    }
}

/// What the records of an evaluation have in common.
struct EvaluationAbout {
    task: String,
    model: String,
    timestamp: String,
}

impl EvaluationAbout {
    fn of(contents: &Contents<'_>) -> Self {
        let run = contents.run;
        let modified = std::fs::metadata(&run.source).and_then(|file| file.modified());
        // The time of the file that was read, so that both kinds of records name the same evaluation.
        let time = modified.unwrap_or_else(|_| SystemTime::now());
        let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        Self {
            task: run.task.clone().unwrap_or_else(|| UNKNOWN.to_owned()),
            model: run.model.clone().unwrap_or_else(|| UNKNOWN.to_owned()),
            timestamp: seconds.to_string(),
        }
    }

    fn id(&self) -> String {
        format!("{}/{}/{}", self.task, self.model, self.timestamp)
    }

    /// The id of a scorer's results. Its instance records name the same.
    fn result_id(&self, scorer: &str) -> String {
        format!("{}/{scorer}", self.task)
    }
}

fn aggregate(about: &EvaluationAbout, contents: &Contents<'_>) -> (Json, Vec<String>) {
    let mut results = Vec::new();
    let mut undefined = Vec::new();
    for score in contents.results.iter().flat_map(|results| &results.scores) {
        for (place, (key, metric)) in score.metrics.iter().enumerate() {
            // The error of another figure, not a result.
            if metric.name == "stderr" {
                continue;
            }
            match contents.results.and_then(|results| evaluation_result(about, results, score, place, key, metric)) {
                Some(result) => results.push(result),
                None => undefined.push(format!("{}/{key}", score.name)),
            }
        }
    }
    for figure in contents.run.recorded.figures.iter().filter(|_| contents.run.samples.is_empty()) {
        if figure.metric == "stderr" {
            continue;
        }
        let Some(value) = figure.value.filter(|value| value.is_finite()) else {
            undefined.push(format!("{}/{}", figure.score, figure.metric));
            continue;
        };
        let id = format!("{}/{}", about.result_id(&figure.score), figure.metric);
        let mut uncertainty = Map::new();
        if let Some(stderr) = figure.stderr.filter(|stderr| stderr.is_finite()) {
            uncertainty.insert("standard_error".into(), json!({"value": stderr, "method": UNKNOWN}));
        }
        if let Some(n) = figure.n {
            uncertainty.insert("num_samples".into(), n.into());
        }
        results.push(result_document(about, &id, &figure.metric, value, uncertainty));
    }
    let document = json!({
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": about.id(),
        "retrieved_timestamp": about.timestamp,
        "source_metadata": {
            "source_type": "evaluation_run",
            "source_organization_name": UNKNOWN,
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": contents.run.format, "version": UNKNOWN},
        "model_info": {
            "name": about.model,
            "id": about.model,
            "additional_details": {"deployment_type": UNKNOWN, "model_availability": UNKNOWN},
        },
        "evaluation_results": results,
    });
    let mut notes = Vec::new();
    if !undefined.is_empty() {
        notes.push(format!("figures without a value cannot be written: {}", undefined.join(", ")));
    }
    notes.push("whether a lower score is better is not known; `lower_is_better` is false everywhere".to_owned());
    (document, notes)
}

fn evaluation_result(
    about: &EvaluationAbout,
    results: &Results,
    score: &ScoreResult,
    place: usize,
    key: &str,
    metric: &MetricResult,
) -> Option<Json> {
    let figure = &metric.figure;
    let value = figure.value.as_ref().ok().copied().filter(|value| value.is_finite())?;
    // Instance records name the first result of their scorer.
    let id = about.result_id(&score.name);
    let id = if place == 0 { id } else { format!("{id}/{key}") };
    let id = score.reducer.as_ref().map_or_else(|| id.clone(), |reducer| format!("{id}/{reducer}"));
    Some(result_document(about, &id, key, value, uncertainty(results, score, place, figure)))
}

fn uncertainty(results: &Results, score: &ScoreResult, place: usize, figure: &Figure) -> Map<String, Json> {
    let mut uncertainty = Map::new();
    let stderr = score.metrics.values().find(|metric| metric.name == "stderr");
    // Beside several figures, it is not said whose error it is.
    let is_only = score.metrics.values().filter(|metric| metric.name != "stderr").count() == 1;
    if let Some(error) = stderr.filter(|_| place == 0 && is_only)
        && let Ok(value) = error.figure.value
    {
        uncertainty.insert("standard_error".into(), json!({"value": value, "method": error.figure.method}));
    }
    if let Some(interval) = figure.interval
        && let (Some(lower), Some(upper)) = (interval.lower, interval.upper)
    {
        let method = interval.method.name();
        let level = results.level;
        uncertainty.insert(
            "confidence_interval".into(),
            json!({"lower": lower, "upper": upper, "confidence_level": level, "method": method}),
        );
    }
    uncertainty.insert("num_samples".into(), figure.n.into());
    uncertainty
}

fn result_document(
    about: &EvaluationAbout,
    id: &str,
    metric: &str,
    value: f64,
    uncertainty: Map<String, Json>,
) -> Json {
    let mut details = json!({"score": value});
    if !uncertainty.is_empty() {
        details["uncertainty"] = Json::Object(uncertainty);
    }
    json!({
        "evaluation_result_id": id,
        "evaluation_name": about.task,
        "source_data": {"dataset_name": about.task, "source_type": "other"},
        "metric_config": {"metric_id": metric, "metric_name": metric, "lower_is_better": false},
        "score_details": details,
    })
}

/// A record per scorer that gave a number.
fn instances(about: &EvaluationAbout, record: &Record, lost: &mut LossCounts) -> Vec<Json> {
    if let Some(error) = &record.error {
        lost.add("an attempt that errored is written with score 0 and its error", &record.id);
        let error = if error.trim().is_empty() { "error" } else { error };
        let mut line = instance(about, record, "score", 0.0, false, None);
        line["error"] = error.into();
        return vec![line];
    }
    if record.scores.is_empty() {
        lost.add("an attempt without scores cannot be written", &record.id);
    }
    if record.fields.iter().any(|(name, _)| !matches!(&**name, "passed" | "latency_ms")) {
        lost.add("measurements other than `passed` and `latency_ms` cannot be written", &record.id);
    }
    let passed = record.fields.iter().find(|(name, _)| **name == *"passed").map(|(_, value)| value);
    let mut lines = Vec::new();
    for (scorer, outcome) in &record.scores {
        let Outcome::Scored(score) = outcome else {
            lost.add("an attempt that was not scored cannot be written", &record.id);
            continue;
        };
        let Some(value) = number(&score.value) else {
            lost.add("a score that is not a number cannot be written", &record.id);
            continue;
        };
        if score.explanation.is_some() || score.metadata.is_some() {
            lost.add("the explanation and metadata of a score cannot be written", &record.id);
        }
        let is_correct = match passed {
            Some(Value::Bool(passed)) => *passed,
            _ => value >= 1.0,
        };
        lines.push(instance(about, record, scorer, value, is_correct, Some(score)));
    }
    lines
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        Value::Int(_) | Value::Float(_) => value.as_number().filter(|value| value.is_finite()),
        Value::Text(text) if **text == *"C" => Some(1.0),
        Value::Text(text) if **text == *"P" => Some(0.5),
        Value::Text(text) if matches!(&**text, "I" | "N") => Some(0.0),
        _ => None,
    }
}

fn instance(
    about: &EvaluationAbout,
    record: &Record,
    scorer: &str,
    value: f64,
    is_correct: bool,
    score: Option<&Score>,
) -> Json {
    let answer = score.and_then(|score| score.answer.as_deref());
    let fact = |key: &str| record.metadata.get(key);
    let input = match fact("input") {
        Some(Value::Text(text)) => text.to_string(),
        _ => String::new(),
    };
    let reference: Vec<String> = match fact("target").or_else(|| fact("reference")) {
        Some(Value::List(items)) => items.iter().map(ToString::to_string).collect(),
        Some(Value::Null | Value::Missing) | None => Vec::new(),
        Some(value) => vec![value.to_string()],
    };
    let attribution = answer.map(|answer| {
        json!({
            "turn_idx": 0, "source": "output.raw", "extracted_value": answer, "extraction_method": UNKNOWN,
            "is_terminal": true,
        })
    });
    // An attempt that errored has no output; one that was scored has one, even if it was not kept.
    let raw: Vec<&str> = score.map(|_| answer.unwrap_or_default()).into_iter().collect();
    let mut line = json!({
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": about.id(),
        "model_id": about.model,
        "evaluation_name": about.task,
        "evaluation_result_id": about.result_id(scorer),
        "sample_id": sample_id(&record.id),
        "interaction_type": "single_turn",
        "input": {"raw": input, "reference": reference},
        "output": {"raw": raw},
        "answer_attribution": attribution.into_iter().collect::<Vec<_>>(),
        "evaluation": {"score": value, "is_correct": is_correct},
    });
    let latency = measurement(record, "latency_ms");
    if let Some(latency) = latency.filter(|latency| *latency >= 0.0) {
        line["performance"] = json!({"latency_ms": latency});
    }
    let facts: Map<String, Json> = record
        .metadata
        .iter()
        .filter(|(key, value)| {
            !matches!(&***key, "input" | "target" | "reference") && !matches!(value, Value::Null | Value::Missing)
        })
        .map(|(key, value)| (key.to_string(), value.to_string().into()))
        .collect();
    if !facts.is_empty() {
        line["metadata"] = Json::Object(facts);
    }
    line
}

fn sample_id(id: &SampleId) -> String {
    id.to_string()
}

fn measurement(record: &Record, name: &str) -> Option<f64> {
    let (_, value) = record.fields.iter().find(|(found, _)| **found == *name)?;
    value.as_number().filter(|value| value.is_finite())
}
