//! Logs of Inspect AI: an archive, or a document in a file that ends in `.json`.
//!
//! The log is complete for Inspect: header, plan, results with its own metric names and placeholders, samples,
//! summaries and reductions. What Inspect has no field for stands in the `store` of a sample under `calipers`, where
//! our reader finds it again. The same run always gives the same bytes: unknown times are fixed, and unknown ids are
//! made from the content.

mod fingerprint;
mod results_json;
mod sample_json;

pub(crate) use fingerprint::Fingerprint;
pub(crate) use results_json::{put_metrics, put_results, reductions};
pub(crate) use sample_json::{put_error, put_id, put_outcome, put_values};

use super::{Contents, LossCounts, OutputFile, WriteError, Writer};
use crate::RecordedRun;
use crate::formats::{SampleText, sample_place, write_archive, write_document};
use crate::json::json_writer::{self, Map, Nan};
use crate::log::{Ending, LogDataset, LogHeader, LogScorer, LogStatus, finished_header, timestamp};
use calipers_core::{Outcome, Record, SampleId, Value};
use std::path::Path;
use std::sync::Arc;

/// A log that Inspect reads as its own.
pub(super) struct InspectWriter;

/// Inspect's name for no model.
const NO_MODEL: &str = "none/none";

impl Writer for InspectWriter {
    fn name(&self) -> &'static str {
        "inspect"
    }

    fn about(&self) -> &'static str {
        "logs of Inspect AI: a `.eval` archive, or a document in a `.json` file"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".eval"]
    }

    fn write(&self, contents: &Contents<'_>, out: &mut OutputFile) -> Result<Vec<String>, WriteError> {
        let run = contents.run;
        let mut lost = LossCounts::default();
        let mut key = Fingerprint::default();
        let mut records: Vec<Record> = run.samples.records().collect();
        records.sort_by_cached_key(|record| sample_place(&record.id, record.epoch));
        for record in &records {
            check(record, out)?;
            key.add(&sample(record, run, "").json);
            note_lost(record, &mut lost);
        }
        let key = key.text();
        let start = header(run, &key).start();
        let ending = Ending { results: contents.results, ..Ending::new(LogStatus::Success, 0, 0) };
        let header = finished_header(&start, &ending).map_err(|why| WriteError::new(out.name(), why))?;
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

fn check(record: &Record, out: &OutputFile) -> Result<(), WriteError> {
    match record.scores.iter().any(|(scorer, _)| scorer.is_empty()) {
        true => Err(WriteError::new(out.name(), format!("a scorer of sample `{}` has no name", record.id))
            .hint("Inspect has scores only under a name; give the scorer one")),
        false => Ok(()),
    }
}

fn note_lost(record: &Record, lost: &mut LossCounts) {
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

fn model(run: &RecordedRun) -> &str {
    run.model.as_deref().unwrap_or(NO_MODEL)
}

/// What is known of the run. Runs from other tools have no time, and Inspect requires one.
fn header(run: &RecordedRun, key: &str) -> LogHeader {
    let stem =
        Path::new(&run.source).file_name().and_then(|name| name.to_str()).and_then(|name| name.split('.').next());
    let task = run.task.as_deref().or(stem.filter(|stem| !stem.is_empty() && *stem != "-")).unwrap_or("results");
    let mut sample_ids: Vec<SampleId> = Vec::new();
    let mut epochs = 1;
    for record in run.samples.records() {
        epochs = epochs.max(record.epoch);
        if sample_ids.last() != Some(&record.id) {
            sample_ids.push(record.id);
        }
    }
    let scorer = |scorer: &crate::RecordedScorer| LogScorer {
        name: scorer.name.clone(),
        params: Value::Map(Vec::new()),
        metrics: scorer.metrics.clone(),
    };
    LogHeader {
        eval_id: key.to_owned(),
        run_id: key.to_owned(),
        task_id: key.to_owned(),
        dataset: LogDataset { name: Some(task.to_owned()), sample_ids, ..LogDataset::default() },
        epochs,
        reducers: run.recorded.reducers.clone(),
        scorers: run.recorded.scorers.iter().map(scorer).collect(),
        ..LogHeader::new(task, model(run), timestamp(0))
    }
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
fn sample(record: &Record, run: &RecordedRun, key: &str) -> SampleText {
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
    map.value("target", &target_texts(target.unwrap_or(&empty)), Nan::Bare);
    let said = [("user", own.input), ("assistant", own.completion)];
    let said = said.into_iter().filter_map(|(role, content)| Some((role, content?)));
    json_writer::put_list(map.key("messages"), said, |out, (role, content)| put_message(out, role, content));
    put_output(map.key("output"), own.completion, model(run));
    json_writer::put_map(
        map.key("scores"),
        record.scores.iter().map(|(name, outcome)| (&**name, outcome)),
        put_outcome,
    );
    put_values(map.key("metadata"), record.metadata.iter().filter(|(key, _)| !own.names.contains(&&***key)));
    let rest = put_fields(&mut map, record, model(run));
    put_store(map.key("store"), &own, &rest);
    map.raw("events", "[]");
    map.text("uuid", &Fingerprint::of(&[key, &record.id.to_string(), &record.epoch.to_string()]));
    if let Some(error) = &record.error {
        put_error(map.key("error"), error);
    }
    map.raw("attachments", "{}");
    map.close();
    SampleText { id: record.id.to_string(), epoch: record.epoch, json: out }
}

/// A target in Inspect is a string or a list of strings.
fn target_texts(target: &Value) -> Value {
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
    json_writer::put_list(map.key("choices"), completion, |out, completion| {
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
            json_writer::put_float(used.key("total_cost"), cost);
        }
        used.close();
    }
    usage.close();
    for (name, key) in [("latency_ms", "total_time"), ("working_time_ms", "working_time")] {
        if let Some(ms) = number(name) {
            json_writer::put_float(map.key(key), ms / 1000.0);
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

/// What Inspect has no field for. Our reader looks for `calipers` as the first key.
fn put_store(out: &mut Vec<u8>, own: &Own<'_>, fields: &[(&Arc<str>, &Value)]) {
    let mut store = Map::open(out);
    if !own.names.is_empty() || !fields.is_empty() {
        let mut ours = Map::open(store.key("calipers"));
        if !own.names.is_empty() {
            json_writer::put_list(ours.key("own"), &own.names, |out, name| json_writer::put_text(out, name));
        }
        if !fields.is_empty() {
            put_values(ours.key("fields"), fields.iter().copied());
        }
        ours.close();
    }
    store.close();
}
