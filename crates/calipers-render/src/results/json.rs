//! The report for programs: `calipers.results/1`, whose nouns and metric keys are those of an Inspect log.

use crate::words::{caveat_next_step, caveat_sentence, undefined_sentence};
use calipers_core::{Caveat, Figure, MetricResult, Report, Results, RunReport, SampleId, Score, ScoreResult, Value};
use serde_json::{Map, Value as Json, json};

/// The name and version of the schema.
pub const SCHEMA: &str = "calipers.results/1";

/// The schema itself: JSON Schema 2020-12, with every property described.
pub const RESULTS_SCHEMA: &str = include_str!("../../schema/calipers.results.1.json");

/// The report as JSON.
#[must_use]
pub fn results_json(report: &Report) -> Json {
    json!({
        "schema": SCHEMA,
        "runs": report.runs.iter().map(run_json).collect::<Vec<_>>(),
        "caveats": report.caveats.iter().map(caveat_json).collect::<Vec<_>>(),
    })
}

fn run_json(run: &RunReport) -> Json {
    let results = &run.results;
    let errored = results.total_samples - results.completed_samples;
    let mut json = json!({
        "source": run.source,
        "format": run.format,
        "task": run.task,
        "model": run.model,
        "samples": {
            "total": run.samples.total,
            "scored": run.samples.scored,
            "unscored": run.samples.unscored,
            "errored": run.samples.errored,
        },
        "attempts": {"total": results.total_samples, "errored": errored},
        "level": results.level,
        "seed": results.seed.0,
        "scores": results.scores.iter().map(|score| score_json(results, score)).collect::<Vec<_>>(),
        "caveats": results.caveats.iter().map(caveat_json).collect::<Vec<_>>(),
        "notes": run.notes,
    });
    if !results.reductions.is_empty() {
        json["reductions"] = results
            .reductions
            .iter()
            .map(|reduction| {
                let samples = reduction.samples.iter().map(|(id, score)| reduced_json(id, score));
                json!({
                    "scorer": &*reduction.scorer,
                    "reducer": reduction.reducer,
                    "samples": samples.collect::<Vec<_>>(),
                })
            })
            .collect();
    }
    if !run.recorded.is_empty() {
        let recorded = run.recorded.iter().map(|r| {
            json!({"score": r.score, "reducer": r.reducer, "metric": r.metric, "value": r.value.filter(|x| x.is_finite())})
        });
        json["recorded"] = recorded.collect();
    }
    json
}

/// The name of a sample, as its file has it.
pub(crate) fn id_json(id: &SampleId) -> Json {
    match id {
        SampleId::Int(i) => Json::from(*i),
        SampleId::Text(text) => Json::from(&**text),
    }
}

fn reduced_json(id: &SampleId, score: &Score) -> Json {
    let mut json = json!({"sample_id": id_json(id), "value": value_json(&score.value)});
    if let Some(answer) = &score.answer {
        json["answer"] = Json::from(&**answer);
    }
    if let Some(explanation) = &score.explanation {
        json["explanation"] = Json::from(&**explanation);
    }
    json
}

fn score_json(results: &Results, score: &ScoreResult) -> Json {
    let metrics = score.metrics.iter().map(|(key, metric)| (key.clone(), metric_json(results, metric)));
    let metrics: Map<String, Json> = metrics.collect();
    json!({
        "name": score.name,
        "scorer": score.scorer.as_deref(),
        "reducer": score.reducer,
        "scored_samples": score.scored_samples,
        "unscored_samples": score.unscored_samples,
        "metrics": metrics,
    })
}

fn metric_json(results: &Results, metric: &MetricResult) -> Json {
    let figure = &metric.figure;
    let params: Map<String, Json> =
        metric.params.iter().map(|(name, value)| (name.to_string(), value_json(value))).collect();
    let mut json = json!({
        "name": metric.name,
        "group": metric.group,
        "value": results.shown(figure).ok(),
        "params": params,
        "n": figure.n,
        "missing": figure.missing,
        "method": figure.method,
        "interval": interval_json(figure),
        "caveats": figure.caveats.iter().map(caveat_json).collect::<Vec<_>>(),
    });
    if let Err(why) = &figure.value {
        json["undefined"] = Json::from(undefined_sentence(why));
    }
    if !figure.details.is_empty() {
        json["details"] = details_json(figure);
    }
    json
}

/// Numbers made on the way.
pub(crate) fn details_json(figure: &Figure) -> Json {
    figure.details.iter().map(|(name, x)| ((*name).to_owned(), Json::from(*x))).collect()
}

pub(crate) fn interval_json(figure: &Figure) -> Json {
    figure.interval.map_or(Json::Null, |interval| {
        json!({
            "level": interval.confidence.level(),
            "lower": interval.lower,
            "upper": interval.upper,
            "method": interval.method.name(),
        })
    })
}

pub(crate) fn caveat_json(caveat: &Caveat) -> Json {
    json!({"id": caveat.id(), "text": caveat_sentence(caveat), "next_step": caveat_next_step(caveat)})
}

/// A value; what JSON cannot write is null.
fn value_json(value: &Value) -> Json {
    match value {
        Value::Null | Value::Missing => Json::Null,
        Value::Bool(b) => Json::from(*b),
        Value::Int(i) => Json::from(*i),
        Value::Float(x) => Json::from(*x),
        Value::Text(text) => Json::from(&**text),
        Value::List(items) => items.iter().map(value_json).collect(),
        Value::Map(entries) => entries.iter().map(|(key, value)| (key.to_string(), value_json(value))).collect(),
    }
}
