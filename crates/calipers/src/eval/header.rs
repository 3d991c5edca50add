//! What the log says of an evaluation before it begins.

use super::Setup;
use calipers_core::{MetricSpec, Origin, Registry, Sample, Value};
use calipers_io::{LogDataset, LogHeader, LogLimits, LogScorer, LogStep, RecordedMetric, log_id, timestamp};
use calipers_run::{FailOnError, Task};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

pub(super) fn header(setup: &Setup, samples: &[Arc<Sample>], model: &str) -> LogHeader {
    let task = &setup.task;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis());
    let created = timestamp(i64::try_from(now).unwrap_or(0));
    // Two runs that begin in the same moment are two.
    let process = std::process::id().to_string();
    let id = |part: &str| log_id(&[part, &task.name, model, &created, &process]);
    let step = |name: &str, params: Value| LogStep { name: name.to_owned(), params };
    let mut plan: Vec<LogStep> = task.solver.iter().map(|solver| step(solver.name(), solver.params())).collect();
    if plan.is_empty() {
        plan.push(step("generate", Value::Map(Vec::new())));
    }
    LogHeader {
        eval_id: id("eval"),
        run_id: id("run"),
        task_id: id("task"),
        task_version: task.version.clone(),
        task_file: setup.task_file.clone(),
        task_args: setup.task_args.clone(),
        model_roles: task.model_roles.clone(),
        config: task.config.clone(),
        dataset: dataset(task, samples),
        epochs: setup.epochs(),
        reducers: setup.reducers().map(|reducers| reducers.iter().map(|reducer| reducer.name().to_owned()).collect()),
        scorers: scorers(task),
        plan,
        limits: LogLimits {
            time_s: task.limits.time.map(|time| time.as_secs().max(1)),
            tokens: task.limits.tokens,
            cost_usd: task.limits.cost_usd,
            messages: task.limits.messages.map(|messages| messages as u64),
        },
        fail_on_error: Some(match task.fail_on_error {
            FailOnError::First => Value::Bool(true),
            FailOnError::Never => Value::Bool(false),
            FailOnError::Count(count) => Value::Int(i64::try_from(count).unwrap_or(i64::MAX)),
            FailOnError::Share(share) => Value::Float(share),
        }),
        retry_on_error: task.retry_on_error,
        tags: task.tags.clone(),
        metadata: task.metadata.clone(),
        calipers: calipers_core::Metadata::new(setup.arguments.iter().cloned().chain([
            ("seed".into(), Value::from(setup.seed.to_string())),
            ("texts".into(), Value::Bool(setup.keeps_texts())),
        ])),
        ..LogHeader::new(&*task.name, model, created)
    }
}

fn dataset(task: &Task, samples: &[Arc<Sample>]) -> LogDataset {
    let location = match &task.dataset.origin {
        Origin::File(file) => Some(file.path.display().to_string()),
        Origin::Samples(_) => None,
    };
    let stem = location.as_deref().and_then(|path| std::path::Path::new(path).file_stem()?.to_str());
    LogDataset {
        name: task.dataset.name.clone().or_else(|| stem.map(str::to_owned)),
        location: location.clone(),
        sample_ids: samples.iter().filter_map(|sample| sample.id.clone()).collect(),
        shuffled: task.dataset.shuffle.is_some(),
    }
}

/// The scorers by the names that their scores have, with their metrics.
pub(super) fn metrics(task: &Task) -> Vec<(Arc<str>, Vec<MetricSpec>)> {
    let of = |(scorer, name): (&Arc<dyn calipers_run::Scorer>, Arc<str>)| {
        (name, task.metrics.clone().unwrap_or_else(|| scorer.metrics()))
    };
    task.scorers.iter().zip(task.scorer_names()).map(of).collect()
}

fn scorers(task: &Task) -> Vec<LogScorer> {
    let registry = Registry::builtin();
    let known: Vec<&str> = registry.names().collect();
    let recorded = |metric: &calipers_core::Metric| match !metric.is_own() && known.contains(&metric.name()) {
        true => RecordedMetric::Named {
            name: metric.name().to_owned(),
            params: Value::Map(
                metric.params().iter().map(|(key, value)| (key.as_ref().into(), value.clone())).collect(),
            ),
        },
        false => RecordedMetric::Custom(metric.name().to_owned()),
    };
    let spec = |spec: &MetricSpec| match spec {
        MetricSpec::One(metric) => recorded(metric),
        MetricSpec::Keyed(keys) => RecordedMetric::Keyed(
            keys.iter().map(|(key, metrics)| (key.clone(), metrics.iter().map(recorded).collect())).collect(),
        ),
    };
    let of = |(scorer, (name, metrics)): (&Arc<dyn calipers_run::Scorer>, (Arc<str>, Vec<MetricSpec>))| LogScorer {
        name: name.to_string(),
        params: scorer.params(),
        metrics: metrics.iter().map(spec).collect(),
    };
    task.scorers.iter().zip(self::metrics(task)).map(of).collect()
}
