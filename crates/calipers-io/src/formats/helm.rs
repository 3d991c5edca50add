//! HELM: `per_instance_stats.json` of a run, or `stats.json` with figures only.
//!
//! A perturbed instance is a different input, so it is a separate sample; `instance_id` is the cluster that ties it to
//! its original. A train trial is an attempt. HELM writes dozens of statistics about the run beside the metrics; those
//! are measurements, not scores.

use super::Format;
use crate::error::printable;
use crate::json::{self, JsonParts};
use crate::{FilePlace, ReadError, RecordedFigure, RecordedRun, Shape, Source};
use calipers_core::{Outcome, Value, pluralize};
use std::collections::{BTreeMap, BTreeSet};

/// Results by HELM.
pub(crate) struct Helm;

/// Statistics about the request and the run, by their names or how those begin.
const MEASUREMENTS: [&str; 18] = [
    "num_prompt_tokens",
    "num_completion_tokens",
    "num_output_tokens",
    "num_perplexity_tokens",
    "num_bytes",
    "num_references",
    "num_train_trials",
    "num_train_instances",
    "num_instances",
    "num_requests",
    "prompt_truncated",
    "finish_reason_",
    "inference_",
    "batch_size",
    "training_",
    "max_prob",
    "logprob",
    "estimated_num_tokens_cost",
];

impl Format for Helm {
    fn name(&self) -> &'static str {
        "helm"
    }

    fn about(&self) -> &'static str {
        "HELM: per_instance_stats.json, or stats.json with recorded figures only"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        shape.lists_keys(&["instance_id", "stats"]) || is_summary(shape)
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        let Value::List(items) = json::parse(&source.name, &source.read_all()?)? else {
            return Err(source.error("not a list of instances").hint("read per_instance_stats.json"));
        };
        if is_summary(&Shape::new(source.head()?, source.file_name())) {
            return read_summary(source, &items).map(|run| vec![run]);
        }
        let mut run = RecordedRun::default();
        let mut doubled = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            read_instance(&mut run, item, &mut doubled)
                .map_err(|(key, what)| source.error(what).at(FilePlace::Path(format!("[{index}]{key}"))))?;
        }
        run.notes.extend(note_parts(&items));
        run.notes.extend(
            doubled
                .into_iter()
                .map(|name| format!("statistic `{name}` appears more than once in an instance; the first one counts")),
        );
        Ok(vec![run])
    }
}

/// Says that instances of several splits, or with changed inputs, are in one run: HELM reports each apart.
fn note_parts(items: &[Value]) -> Vec<String> {
    let mut splits: BTreeMap<String, u64> = BTreeMap::new();
    let mut perturbed = 0;
    for item in items {
        perturbed += u64::from(item.part("perturbation").is_some());
        let stats = item.get("stats").map(|stats| if let Value::List(stats) = stats { &stats[..] } else { &[] });
        let split = stats.unwrap_or_default().iter().find_map(|stat| stat.part("name")?.text("split"));
        *splits.entry(split.unwrap_or_default().to_owned()).or_default() += u64::from(split.is_some());
    }
    splits.retain(|_, count| *count > 0);
    let mut notes = Vec::new();
    if let (true, Some(first)) = (splits.len() > 1, splits.keys().next()) {
        let counts: Vec<String> = splits.iter().map(|(split, count)| format!("{} {count}", printable(split))).collect();
        notes.push(format!(
            "the instances of several splits are together ({}): the condition `split={}` keeps one",
            counts.join(", "),
            printable(first)
        ));
    }
    if perturbed > 0 {
        notes.push(format!("instances with a perturbation count as separate samples: {perturbed}"));
    }
    notes
}

/// `stats.json`: a list of statistics, each with its name in a map of its own.
fn is_summary(shape: &Shape) -> bool {
    shape.lists_keys(&["name", "count", "sum"]) && shape.has_inner("name", "name")
}

/// The figures of a run. A statistic is a mean over train trials, not over instances, so its deviation says nothing about the
/// error of the mean, and there is no interval. The number of instances stands in the statistic `num_instances`.
fn read_summary(source: &Source, stats: &[Value]) -> Result<RecordedRun, ReadError> {
    let mut run = RecordedRun::default();
    let mut instances: BTreeMap<String, u64> = BTreeMap::new();
    let mut measurements = 0;
    let mut figures: Vec<(String, RecordedFigure)> = Vec::new();
    for (place, stat) in stats.iter().enumerate() {
        let at = |what: String| {
            let hint = "the file was edited, or HELM writes it differently now; copy it again";
            source.error(what).at(FilePlace::Path(format!("[{place}]"))).hint(hint)
        };
        let Some((label, name)) = stat.part("name").and_then(|label| Some((label, label.text("name")?))) else {
            return Err(at("the statistic has no name".to_owned()));
        };
        let value = mean(stat).map_err(at)?;
        let group = summary_group(label);
        if name == "num_instances" && label.part("perturbation").is_none() {
            if let Some(count) = value.filter(|count| *count >= 0.0) {
                instances.insert(group, count as u64);
            }
            continue;
        }
        if MEASUREMENTS.iter().any(|known| name.starts_with(known)) {
            measurements += 1;
            continue;
        }
        let (score, metric) = (format!("{name} ({group})"), name.to_owned());
        let figure = RecordedFigure { scorer: score.clone(), score, metric, value, ..RecordedFigure::default() };
        figures.push((group, figure));
    }
    for (group, figure) in &mut figures {
        figure.n = instances.get(group.as_str()).copied();
    }
    run.recorded.figures = figures.into_iter().map(|(_, figure)| figure).collect();
    run.notes.push("the file records figures only; read per_instance_stats.json for scores".to_owned());
    if measurements > 0 {
        let statistics = pluralize(measurements, "statistic");
        run.notes.push(format!("{statistics} about requests not read: they do not measure quality"));
    }
    add_spec_beside(source, &mut run);
    Ok(run)
}

/// The part of the instances that a statistic is over: `test`, `valid, typos`.
fn summary_group(label: &Value) -> String {
    let mut parts: Vec<String> =
        ["split", "sub_split"].iter().filter_map(|key| label.text(key)).map(str::to_owned).collect();
    parts.extend(label.part("perturbation").map(perturbation));
    if parts.is_empty() { "all".to_owned() } else { parts.join(", ") }
}

/// The task and the model stand in `run_spec.json` of the same folder.
fn add_spec_beside(source: &Source, run: &mut RecordedRun) {
    let Some(spec) = source.beside("run_spec.json") else { return };
    match spec.read_all().and_then(|bytes| json::parse(&spec.name, &bytes)) {
        Ok(spec) => {
            run.task = spec.text("name").map(str::to_owned);
            run.model = spec.path(&["adapter_spec", "model"]).and_then(|model| match model {
                Value::Text(model) => Some(model.to_string()),
                _ => None,
            });
        }
        Err(error) => run.notes.push(format!("run_spec.json beside the file was not read: {error}")),
    }
}

type StatsFault = (String, String);

fn read_instance(run: &mut RecordedRun, item: &Value, doubled: &mut BTreeSet<String>) -> Result<(), StatsFault> {
    let fault = |key: &str, what: &str| (key.to_owned(), what.to_owned());
    let Some(instance) = item.text("instance_id") else {
        return Err(fault(".instance_id", "the instance has no `instance_id`"));
    };
    let trial = match item.part("train_trial_index") {
        None => 0,
        Some(Value::Int(trial)) if (0..1_000_000_000).contains(trial) => *trial as u32,
        Some(_) => return Err(fault(".train_trial_index", "the train trial is not a whole number from 0")),
    };
    let Some(Value::List(stats)) = item.get("stats") else {
        return Err(fault(".stats", "the instance has no list of `stats`"));
    };
    let perturbation = item.part("perturbation").map(perturbation);
    let id = perturbation.as_ref().map_or_else(|| instance.to_owned(), |name| format!("{instance}/{name}"));
    let mut attempt = run.samples.push_epoch(id, trial + 1).metadata("instance_id", instance);
    if let Some(name) = perturbation {
        attempt = attempt.metadata("perturbation", name);
    }
    let mut names = BTreeSet::new();
    let mut tokens: Option<f64> = None;
    for (place, stat) in stats.iter().enumerate() {
        let label = stat.part("name");
        let Some(name) = label.and_then(|label| label.text("name")) else {
            return Err((format!(".stats[{place}].name"), "the statistic has no name".to_owned()));
        };
        if let Some(split) = label.and_then(|label| label.part("split")) {
            attempt = attempt.metadata("split", split.clone());
        }
        let name = match label.and_then(|label| label.text("sub_split")) {
            Some(part) => format!("{name}:{part}"),
            None => name.to_owned(),
        };
        if !names.insert(name.clone()) {
            doubled.insert(name);
            continue;
        }
        let mean = mean(stat).map_err(|what| (format!(".stats[{place}]"), what))?;
        let is_measurement = MEASUREMENTS.iter().any(|known| name.starts_with(known));
        match mean {
            Some(mean) if is_measurement => {
                if matches!(&*name, "num_prompt_tokens" | "num_output_tokens" | "num_completion_tokens") {
                    tokens = Some(tokens.unwrap_or(0.0) + mean);
                }
                if name == "inference_runtime" {
                    attempt = attempt.field("latency_ms", mean * 1000.0);
                }
                attempt = attempt.field(name, mean);
            }
            Some(mean) => attempt = attempt.score(name, mean),
            None if is_measurement => {}
            None => attempt = attempt.score(name, Outcome::unscored("no values")),
        }
    }
    if let Some(tokens) = tokens {
        attempt.field("tokens_used", tokens);
    }
    Ok(())
}

/// The mean of a statistic; none if it has no values.
fn mean(stat: &Value) -> Result<Option<f64>, String> {
    let count = stat.number("count");
    if count == Some(0.0) || matches!(stat.get("mean"), Some(Value::Missing)) {
        return Ok(None);
    }
    if let Some(mean) = stat.number("mean") {
        return Ok(Some(mean));
    }
    match (stat.number("sum"), count) {
        (Some(sum), Some(count)) => Ok(Some(sum / count)),
        _ => Err("the statistic has neither `mean` nor `sum` and `count`".into()),
    }
}

/// The name of a perturbation with its settings, so that two strengths of one kind stay two samples.
fn perturbation(value: &Value) -> String {
    const KINDS: [&str; 4] = ["name", "robustness", "fairness", "computed_on"];
    let name = value.text("name").unwrap_or("perturbed");
    let Value::Map(entries) = value else { return value.to_string() };
    let settings: Vec<String> = entries
        .iter()
        .filter(|(key, value)| !KINDS.contains(&&**key) && value.is_scalar() && !matches!(value, Value::Null))
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    if settings.is_empty() { name.to_owned() } else { format!("{name}({})", settings.join(", ")) }
}
