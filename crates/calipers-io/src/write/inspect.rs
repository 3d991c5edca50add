//! Logs of Inspect AI: an archive, or a document in a file that ends in `.json`.
//!
//! The log is complete for Inspect: header, plan, results with its own metric names and placeholders, samples,
//! summaries and reductions. What Inspect has no place for stands in the `store` of a sample under `calipers`, where
//! our reader finds it again. The same run always gives the same bytes: times and ids that are not known are fixed or
//! made from the content.

use super::json::{self, Map, Nan};
use super::{Contents, Lost, Output, WriteError, Writer};
use crate::formats::{SampleText, sample_place, write_archive, write_document};
use crate::{RecordedMetric, Run};
use calipers_core::{MetricResult, Outcome, Record, Results, SampleId, Score, ScoreResult, Value};
use std::path::Path;
use std::sync::Arc;

/// A log that Inspect reads as its own.
pub(super) struct Inspect;

/// Runs from elsewhere do not say when they were made, and Inspect needs a time.
const TIME: &str = "1970-01-01T00:00:00+00:00";
/// What Inspect itself calls a model that there is none of.
const NO_MODEL: &str = "none/none";
/// The metrics that Inspect can compute again. A name that it does not know stops its recomputation.
pub(crate) const METRICS: [&str; 14] = [
    "accuracy",
    "mean",
    "var",
    "std",
    "stderr",
    "bootstrap_stderr",
    "ci",
    "ci_wilson",
    "grouped",
    "aggregate",
    "frequency",
    "krippendorff_alpha",
    "perplexity_per_token",
    "perplexity_per_seq",
];

impl Writer for Inspect {
    fn name(&self) -> &'static str {
        "inspect"
    }

    fn about(&self) -> &'static str {
        "logs of Inspect AI: a `.eval` archive, or a document in a `.json` file"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".eval"]
    }

    fn write(&self, contents: &Contents<'_>, out: &mut Output) -> Result<Vec<String>, WriteError> {
        let run = contents.run;
        let mut lost = Lost::default();
        let mut key = Fingerprint::default();
        let mut records: Vec<Record> = run.samples.records().collect();
        records.sort_by_cached_key(|record| sample_place(&record.id, record.epoch));
        for record in &records {
            check(record, out)?;
            key.add(&sample(record, run, "").json);
            note_lost(record, &mut lost);
        }
        let key = key.text();
        let (start, header) = header(contents, &key);
        let reductions = contents.results.map(reductions);
        let samples = records.iter().map(|record| Ok(sample(record, run, &key)));
        if out.is_json() {
            write_document(out, &header, samples, reductions.as_deref())?;
        } else {
            write_archive(out, &start, &header, samples, reductions.as_deref())?;
        }
        Ok(lost.notes())
    }
}

fn check(record: &Record, out: &Output) -> Result<(), WriteError> {
    match record.scores.iter().any(|(scorer, _)| scorer.is_empty()) {
        true => Err(WriteError::new(out.name(), format!("a scorer of sample `{}` has no name", record.id))
            .hint("Inspect has scores only under a name; give the scorer one")),
        false => Ok(()),
    }
}

fn note_lost(record: &Record, lost: &mut Lost) {
    for (_, outcome) in &record.scores {
        let score = match outcome {
            Outcome::Scored(score) => Some(score),
            Outcome::Unscored { score, .. } => score.as_deref(),
        };
        if score.is_some_and(|score| matches!(score.value, Value::Null)) {
            lost.add("a score of null is written as unscored: Inspect refuses null", &record.id);
        }
        if score.and_then(|score| score.metadata.as_ref()).is_some_and(|metadata| metadata.get("grading").is_some()) {
            lost.add("`grading` in the metadata of a score is written, but Calipers does not read it back", &record.id);
        }
    }
}

/// The beginning of the journal, and the header.
fn header(contents: &Contents<'_>, key: &str) -> (Vec<u8>, Vec<u8>) {
    let run = contents.run;
    let (mut start, mut header) = (Vec::new(), Vec::new());
    let spec = spec(run, key);
    let plan = r#"{"name":"plan","steps":[],"config":{}}"#;
    let mut map = Map::open(&mut start);
    map.raw("version", "2");
    map.key("eval").extend_from_slice(&spec);
    map.raw("plan", plan);
    map.close();
    let mut map = Map::open(&mut header);
    map.raw("version", "2");
    map.text("status", "success");
    map.key("eval").extend_from_slice(&spec);
    map.raw("plan", plan);
    if let Some(results) = contents.results {
        put_results(map.key("results"), results);
    }
    let stats = format!(r#"{{"started_at":"{TIME}","completed_at":"{TIME}","model_usage":{{}},"role_usage":{{}}}}"#);
    map.raw("stats", &stats);
    map.close();
    (start, header)
}

fn model(run: &Run) -> &str {
    run.model.as_deref().unwrap_or(NO_MODEL)
}

fn spec(run: &Run, key: &str) -> Vec<u8> {
    let stem =
        Path::new(&run.source).file_name().and_then(|name| name.to_str()).and_then(|name| name.split('.').next());
    let task = run.task.as_deref().or(stem.filter(|stem| !stem.is_empty() && *stem != "-")).unwrap_or("results");
    let mut ids: Vec<SampleId> = Vec::new();
    let mut epochs = 1;
    for record in run.samples.records() {
        epochs = epochs.max(record.epoch);
        if ids.last() != Some(&record.id) {
            ids.push(record.id);
        }
    }
    let mut out = Vec::new();
    let mut map = Map::open(&mut out);
    map.text("eval_id", key);
    map.text("run_id", key);
    map.text("created", TIME);
    map.text("task", task);
    map.text("task_id", key);
    map.raw("task_version", "0");
    map.raw("task_attribs", "{}");
    map.raw("task_args", "{}");
    let mut dataset = Map::open(map.key("dataset"));
    dataset.text("name", task);
    dataset.raw("samples", &ids.len().to_string());
    json::put_list(dataset.key("sample_ids"), &ids, put_id);
    dataset.raw("shuffled", "false");
    dataset.close();
    map.text("model", model(run));
    map.raw("model_generate_config", "{}");
    map.raw("model_args", "{}");
    let mut config = Map::open(map.key("config"));
    config.raw("epochs", &epochs.to_string());
    if let Some(reducers) = &run.recorded.reducers {
        json::put_list(config.key("epochs_reducer"), reducers, |out, name| json::put_text(out, name));
    }
    config.close();
    map.raw("packages", "{}");
    json::put_list(map.key("scorers"), &run.recorded.scorers, |out, scorer| {
        let mut map = Map::open(out);
        map.text("name", &scorer.name);
        map.raw("options", "{}");
        put_metrics(map.key("metrics"), &scorer.metrics);
        map.raw("metadata", "{}");
        map.close();
    });
    map.close();
    out
}

fn put_id(out: &mut Vec<u8>, id: &SampleId) {
    match id {
        SampleId::Int(i) => out.extend_from_slice(i.to_string().as_bytes()),
        SampleId::Text(text) => json::put_text(out, text),
    }
}

/// A map alone is written as one: Inspect makes a difference between that and a list with a map in it.
fn put_metrics(out: &mut Vec<u8>, metrics: &[RecordedMetric]) {
    match metrics {
        [RecordedMetric::Keyed(keys)] if !keys.is_empty() => put_keyed(out, keys),
        _ => json::put_list(out, metrics.iter().filter(|metric| is_known(metric)), |out, metric| match metric {
            RecordedMetric::Keyed(keys) => put_keyed(out, keys),
            named => put_metric(out, named),
        }),
    }
}

fn put_keyed(out: &mut Vec<u8>, keys: &[(String, Vec<RecordedMetric>)]) {
    json::put_map(out, keys.iter().map(|(key, metrics)| (key.as_str(), metrics)), |out, metrics| {
        json::put_list(out, metrics.iter().filter(|metric| is_known(metric)), put_metric);
    });
}

fn is_known(metric: &RecordedMetric) -> bool {
    match metric {
        RecordedMetric::Named { name, .. } => METRICS.contains(&name.as_str()),
        RecordedMetric::Custom(_) => false,
        RecordedMetric::Keyed(keys) => !keys.is_empty(),
    }
}

fn put_metric(out: &mut Vec<u8>, metric: &RecordedMetric) {
    let RecordedMetric::Named { name, params } = metric else { return };
    let mut map = Map::open(out);
    map.text("name", &format!("inspect_ai/{name}"));
    let none = Value::Map(Vec::new());
    let params = if matches!(params, Value::Map(_)) { params } else { &none };
    map.value("options", &qualified(params), Nan::Bare);
    map.close();
}

/// Parameters, with the package before the names of metrics among them.
fn qualified(params: &Value) -> Value {
    let Value::Map(entries) = params else { return params.clone() };
    let is_metric = matches!(params.get("type"), Some(Value::Text(kind)) if **kind == *"metric");
    let entry = |(key, value): &(Arc<str>, Value)| match value {
        Value::Text(name) if is_metric && **key == *"name" => (key.clone(), format!("inspect_ai/{name}").into()),
        other => (key.clone(), qualified(other)),
    };
    Value::Map(entries.iter().map(entry).collect())
}

fn put_results(out: &mut Vec<u8>, results: &Results) {
    let mut map = Map::open(out);
    map.raw("total_samples", &results.total_samples.to_string());
    map.raw("completed_samples", &results.completed_samples.to_string());
    // Metrics over fields belong to no scorer, and Inspect knows only scorers.
    let scores = results.scores.iter().filter(|score| score.scorer.is_some());
    json::put_list(map.key("scores"), scores, put_score_result);
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
    json::put_map(map.key("metrics"), score.metrics.iter().map(|(key, metric)| (key.as_str(), metric)), put_figure);
    map.close();
}

fn put_figure(out: &mut Vec<u8>, metric: &MetricResult) {
    let mut map = Map::open(out);
    map.text("name", &metric.name);
    if let Some(group) = &metric.group {
        map.text("group", group);
    }
    json::put_float(map.key("value"), metric.figure.inspect_value());
    json::put_map(map.key("params"), metric.params.iter().map(|(name, value)| (&**name, value)), |out, value| {
        json::put(out, value, Nan::Bare);
    });
    map.close();
}

fn reductions(results: &Results) -> Vec<u8> {
    let mut out = Vec::new();
    json::put_list(&mut out, &results.reductions, |out, reduction| {
        let mut map = Map::open(out);
        map.text("scorer", &reduction.scorer);
        if let Some(reducer) = &reduction.reducer {
            map.text("reducer", reducer);
        }
        json::put_list(map.key("samples"), &reduction.samples, |out, (id, score)| {
            let mut map = Map::open(out);
            put_score(&mut map, &score.value, None, Some(score));
            put_id(map.key("sample_id"), id);
            map.close();
        });
        map.close();
    });
    out
}

/// The parts of a score within its map.
fn put_score(map: &mut Map<'_>, value: &Value, reason: Option<&str>, score: Option<&Score>) {
    map.value("value", value, Nan::Bare);
    if let Some(reason) = reason {
        map.text("reason", reason);
    }
    if let Some(score) = score {
        for (key, text) in [("answer", &score.answer), ("explanation", &score.explanation)] {
            if let Some(text) = text {
                map.text(key, text);
            }
        }
        if let Some(metadata) = &score.metadata {
            put_values(map.key("metadata"), metadata.iter());
        }
    }
    map.raw("history", "[]");
}

fn put_values<'a>(out: &mut Vec<u8>, entries: impl Iterator<Item = (&'a Arc<str>, &'a Value)>) {
    json::put_map(out, entries.map(|(key, value)| (&**key, value)), |out, value| json::put(out, value, Nan::Bare));
}

/// What a native record says of the conversation, under names that Inspect has a place for.
#[derive(Default)]
struct Own<'a> {
    input: Option<&'a Value>,
    target: Option<&'a Value>,
    choices: Option<&'a Value>,
    completion: Option<&'a Value>,
    /// The names that were used.
    names: Vec<&'a str>,
}

impl<'a> Own<'a> {
    fn of(record: &'a Record) -> Self {
        let mut own = Self::default();
        for (key, value) in record.metadata.iter() {
            let is_text = matches!(value, Value::Text(_));
            let is_texts =
                matches!(value, Value::List(items) if items.iter().all(|item| matches!(item, Value::Text(_))));
            let place = match &**key {
                "input" if is_text => &mut own.input,
                "target" if is_text || is_texts => &mut own.target,
                "choices" if is_texts => &mut own.choices,
                "output" | "completion" if is_text => &mut own.completion,
                _ => continue,
            };
            if place.is_none() {
                *place = Some(value);
                own.names.push(key);
            }
        }
        own
    }
}

/// One attempt as Inspect writes it.
fn sample(record: &Record, run: &Run, key: &str) -> SampleText {
    let own = Own::of(record);
    let empty: Value = "".into();
    let mut out = Vec::new();
    let mut map = Map::open(&mut out);
    put_id(map.key("id"), &record.id);
    map.raw("epoch", &record.epoch.to_string());
    map.value("input", own.input.unwrap_or(&empty), Nan::Bare);
    if let Some(choices) = own.choices {
        map.value("choices", choices, Nan::Bare);
    }
    let target = own.target.or_else(|| record.metadata.get("target"));
    map.value("target", &shown(target.unwrap_or(&empty)), Nan::Bare);
    let said = [("user", own.input), ("assistant", own.completion)];
    let said = said.into_iter().filter_map(|(role, content)| Some((role, content?)));
    json::put_list(map.key("messages"), said, |out, (role, content)| put_message(out, role, content));
    put_output(map.key("output"), own.completion, model(run));
    let mut scores = Map::open(map.key("scores"));
    for (scorer, outcome) in &record.scores {
        let mut score = Map::open(scores.key(scorer));
        match outcome {
            Outcome::Scored(found) if matches!(found.value, Value::Null) => {
                put_score(&mut score, &Value::Missing, Some("null"), Some(found));
            }
            Outcome::Scored(found) => put_score(&mut score, &found.value, None, Some(found)),
            Outcome::Unscored { reason, score: found } => {
                put_score(&mut score, &Value::Missing, Some(reason), found.as_deref());
            }
        }
        score.close();
    }
    scores.close();
    put_values(map.key("metadata"), record.metadata.iter().filter(|(key, _)| !own.names.contains(&&***key)));
    let rest = put_fields(&mut map, record, model(run));
    put_store(map.key("store"), &own, &rest);
    map.raw("events", "[]");
    map.text("uuid", &Fingerprint::of(&[key, &record.id.to_string(), &record.epoch.to_string()]));
    if let Some(error) = &record.error {
        let parts = [("message", &**error), ("traceback", ""), ("traceback_ansi", "")];
        json::put_map(map.key("error"), parts, json::put_text);
    }
    map.raw("attachments", "{}");
    map.close();
    SampleText { id: record.id.to_string(), epoch: record.epoch, json: out }
}

/// A target of Inspect's is text or texts.
fn shown(target: &Value) -> Value {
    match target {
        Value::Text(_) => target.clone(),
        Value::List(items) => Value::List(items.iter().map(|item| Value::from(item.to_string())).collect()),
        other => other.to_string().into(),
    }
}

fn put_message(out: &mut Vec<u8>, role: &str, content: &Value) {
    let mut map = Map::open(out);
    map.text("role", role);
    map.value("content", content, Nan::Bare);
    map.close();
}

fn put_output(out: &mut Vec<u8>, completion: Option<&Value>, model: &str) {
    let mut map = Map::open(out);
    map.text("model", model);
    json::put_list(map.key("choices"), completion, |out, completion| {
        let mut map = Map::open(out);
        put_message(map.key("message"), "assistant", completion);
        map.text("stop_reason", "stop");
        map.close();
    });
    map.value("completion", completion.unwrap_or(&"".into()), Nan::Bare);
    map.close();
}

/// Writes the fields that Inspect has places for, and returns those that would not be read back the same.
fn put_fields<'a>(map: &mut Map<'_>, record: &'a Record, model: &str) -> Vec<(&'a Arc<str>, &'a Value)> {
    let number = |name: &str| {
        let (_, value) = record.fields.iter().find(|(known, _)| **known == *name)?;
        value.as_number().filter(|x| x.is_finite() && x.is_sign_positive())
    };
    let tokens = number("tokens_used").filter(|x| x.fract() == 0.0 && *x < 9e15);
    let cost = number("cost_usd");
    let mut usage = Map::open(map.key("model_usage"));
    if tokens.is_some() || cost.is_some() {
        let mut used = Map::open(usage.key(model));
        if let Some(tokens) = tokens {
            used.raw("total_tokens", &(tokens as i64).to_string());
        }
        if let Some(cost) = cost {
            json::put_float(used.key("total_cost"), cost);
        }
        used.close();
    }
    usage.close();
    for (name, key) in [("latency_ms", "total_time"), ("working_time_ms", "working_time")] {
        if let Some(ms) = number(name) {
            json::put_float(map.key(key), ms / 1000.0);
        }
    }
    let read_back = |name: &str| match name {
        "tokens_used" => tokens,
        "cost_usd" => cost,
        "latency_ms" | "working_time_ms" => number(name).map(|ms| ms / 1000.0 * 1000.0),
        _ => None,
    };
    let fields = record.fields.iter().map(|(name, value)| (name, value));
    fields.filter(|(name, value)| read_back(name).map(Value::Float).as_ref() != Some(*value)).collect()
}

/// What Inspect has no place for. Our reader looks for `calipers` as the first key.
fn put_store(out: &mut Vec<u8>, own: &Own<'_>, fields: &[(&Arc<str>, &Value)]) {
    let mut store = Map::open(out);
    if !own.names.is_empty() || !fields.is_empty() {
        let mut ours = Map::open(store.key("calipers"));
        if !own.names.is_empty() {
            json::put_list(ours.key("own"), &own.names, |out, name| json::put_text(out, name));
        }
        if !fields.is_empty() {
            put_values(ours.key("fields"), fields.iter().copied());
        }
        ours.close();
    }
    store.close();
}

/// A name for content: the same content always has the same one (Fowler, Noll and Vo's hash 1a, twice).
struct Fingerprint([u64; 2]);

impl Default for Fingerprint {
    fn default() -> Self {
        // The second offset is the first hash of a single byte: any other number would do.
        Self([0xcbf2_9ce4_8422_2325, 0xaf63_bd4c_8601_b7df])
    }
}

impl Fingerprint {
    fn of(parts: &[&str]) -> String {
        let mut fingerprint = Self::default();
        for part in parts {
            fingerprint.add(part.as_bytes());
            fingerprint.add(&[0]);
        }
        fingerprint.text()
    }

    fn add(&mut self, bytes: &[u8]) {
        for hash in &mut self.0 {
            for byte in bytes {
                *hash = (*hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }

    /// 22 letters and digits, as Inspect's ids have.
    fn text(&self) -> String {
        const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let mut rest = (u128::from(self.0[0]) << 64) | u128::from(self.0[1]);
        let mut digit = || {
            let digit = LETTERS[(rest % 62) as usize];
            rest /= 62;
            char::from(digit)
        };
        (0..22).map(|_| digit()).collect()
    }
}
