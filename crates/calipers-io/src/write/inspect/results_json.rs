//! Metrics and their figures as Inspect writes them.

use super::sample_json::{put_id, put_score, put_values};
use crate::RecordedMetric;
use crate::json::json_writer::{self, Map, Nan};
use crate::log::EarlyStopping;
use calipers_core::{MetricResult, Results, ScoreResult, Value, is_inspect_metric};
use std::sync::Arc;

/// The parameters that hold a metric: of `grouped` and of `aggregate`.
const WITHIN: [&str; 2] = ["metric", "agg"];

/// The parameters that Inspect does not have. A metric with one of them is another one there.
const OURS: [&str; 3] = ["field", "scorer", "where"];

static NOTHING: Value = Value::Null;

/// A map alone is written as a map: Inspect distinguishes it from a list with one map.
pub(crate) fn put_metrics(out: &mut Vec<u8>, metrics: &[RecordedMetric]) {
    match metrics {
        [RecordedMetric::Keyed(keys)] if !keys.is_empty() => put_keyed(out, keys),
        _ => json_writer::put_list(out, metrics.iter().filter(|metric| is_known(metric)), |out, metric| match metric {
            RecordedMetric::Keyed(keys) => put_keyed(out, keys),
            named => put_metric(out, named),
        }),
    }
}

fn put_keyed(out: &mut Vec<u8>, keys: &[(String, Vec<RecordedMetric>)]) {
    json_writer::put_map(out, keys.iter().map(|(key, metrics)| (key.as_str(), metrics)), |out, metrics| {
        json_writer::put_list(out, metrics.iter().filter(|metric| is_known(metric)), put_metric);
    });
}

fn is_known(metric: &RecordedMetric) -> bool {
    match metric {
        RecordedMetric::Named { name, params } => is_inspects(name, params),
        RecordedMetric::Custom { .. } => false,
        RecordedMetric::Keyed(keys) => !keys.is_empty(),
    }
}

/// True for a metric that Inspect computes as we do, within others as well. A name that Inspect does not know stops its
/// recomputation.
fn is_inspects(name: &str, params: &Value) -> bool {
    let within = WITHIN.iter().find_map(|key| params.get(key)).map(parts);
    is_inspect_metric(name)
        && OURS.iter().all(|key| params.get(key).is_none())
        && within.is_none_or(|(name, params)| is_inspects(name, params))
}

/// The name and the parameters of a metric that is a parameter itself.
fn parts(metric: &Value) -> (&str, &Value) {
    match (metric, metric.get("name")) {
        (Value::Text(name), _) | (_, Some(Value::Text(name))) => (name, metric.get("params").unwrap_or(&NOTHING)),
        _ => ("", &NOTHING),
    }
}

fn put_metric(out: &mut Vec<u8>, metric: &RecordedMetric) {
    let RecordedMetric::Named { name, params } = metric else { return };
    let mut map = Map::open(out);
    map.text("name", &format!("inspect_ai/{name}"));
    map.value("options", &options(name, params), Nan::Bare);
    map.close();
}

/// Parameters as Inspect writes them: a metric among them says that it is one.
fn options(name: &str, params: &Value) -> Value {
    let Value::Map(entries) = params else { return Value::Map(Vec::new()) };
    let entry = |(key, value): &(Arc<str>, Value)| match WITHIN.contains(&&**key) {
        true => (key.clone(), within(value)),
        false => (key.clone(), value.clone()),
    };
    // The inner metric says what groups are clustered by.
    let is_needless = |key: &str| name == "grouped" && key == "cluster";
    Value::Map(entries.iter().filter(|(key, _)| !is_needless(key)).map(entry).collect())
}

fn within(metric: &Value) -> Value {
    let (name, params) = parts(metric);
    let full = Value::from(format!("inspect_ai/{name}"));
    Value::from([("type", Value::from("metric")), ("name", full), ("params", options(name, params))])
}

/// The figures, and the attempts that were skipped because the question was settled without them.
pub(crate) fn put_results(out: &mut Vec<u8>, results: &Results, early: Option<&EarlyStopping>) {
    let mut map = Map::open(out);
    map.raw("total_samples", &results.attempts.to_string());
    map.raw("completed_samples", &results.completed_attempts.to_string());
    if let Some(early) = early {
        put_early_stopping(map.key("early_stopping"), early);
    }
    // Metrics over fields belong to no scorer, and Inspect knows only scorers.
    let scores = results.scores.iter().filter(|score| score.scorer.is_some());
    json_writer::put_list(map.key("scores"), scores, put_score_result);
    map.close();
}

fn put_early_stopping(out: &mut Vec<u8>, early: &EarlyStopping) {
    let mut map = Map::open(out);
    map.text("manager", &early.manager);
    json_writer::put_list(map.key("early_stops"), &early.stops, |out, stop| {
        let mut map = Map::open(out);
        put_id(map.key("id"), &stop.id);
        map.raw("epoch", &stop.epoch.to_string());
        map.text("reason", &stop.reason);
        map.close();
    });
    put_values(map.key("metadata"), early.metadata.iter());
    map.close();
}

fn put_score_result(out: &mut Vec<u8>, score: &ScoreResult) {
    let mut map = Map::open(out);
    map.text("name", &score.name);
    map.text("scorer", score.scorer.as_deref().unwrap_or(&score.name));
    if let Some(reducer) = &score.reducer {
        map.text("reducer", reducer);
    }
    map.raw("scored_samples", &score.scored_samples.to_string());
    map.raw("unscored_samples", &score.unscored_samples.to_string());
    map.raw("params", "{}");
    json_writer::put_map(
        map.key("metrics"),
        score.metrics.iter().map(|(key, metric)| (key.as_str(), metric)),
        put_figure,
    );
    map.close();
}

fn put_figure(out: &mut Vec<u8>, metric: &MetricResult) {
    let mut map = Map::open(out);
    map.text("name", &metric.name);
    if let Some(group) = &metric.group {
        map.text("group", group);
    }
    json_writer::put_float(map.key("value"), metric.figure.inspect_value());
    json_writer::put_map(
        map.key("params"),
        metric.params.iter().map(|(name, value)| (&**name, value)),
        |out, value| {
            json_writer::put(out, value, Nan::Bare);
        },
    );
    map.close();
}

/// The reduced scores.
pub(crate) fn reductions(results: &Results) -> Vec<u8> {
    let mut out = Vec::new();
    json_writer::put_list(&mut out, &results.reductions, |out, reduction| {
        let mut map = Map::open(out);
        map.text("scorer", &reduction.scorer);
        if let Some(reducer) = &reduction.reducer {
            map.text("reducer", reducer);
        }
        json_writer::put_list(map.key("samples"), &reduction.samples, |out, (id, score)| {
            let mut map = Map::open(out);
            put_score(&mut map, &score.value, None, Some(score));
            put_id(map.key("sample_id"), id);
            map.close();
        });
        map.close();
    });
    out
}
