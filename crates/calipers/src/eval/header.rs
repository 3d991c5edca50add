//! What the log says of an evaluation before it begins.

use super::Setup;
use calipers_core::{DatasetOrigin, Metric, MetricSpec, Registry, TaskSample, Value};
use calipers_io::{LogDataset, LogHeader, LogLimits, LogScorer, LogStep, RecordedMetric, log_id, timestamp};
use calipers_run::{FailOnError, Scorer, Task};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// How many runs of this process have begun.
static STARTED: AtomicU64 = AtomicU64::new(0);

pub(super) fn header(setup: &Setup, samples: &[Arc<TaskSample>], model: &str) -> LogHeader {
    let task = &setup.task;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis());
    let created = timestamp(i64::try_from(now).unwrap_or(0));
    // Two runs that begin in the same moment are two, in other processes and in other threads.
    let process = std::process::id().to_string();
    let place = STARTED.fetch_add(1, Ordering::Relaxed).to_string();
    let id = |part: &str| log_id(&[part, &task.name, model, &created, &process, &place]);
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
            ("samples".into(), fingerprint(samples).into()),
        ])),
        ..LogHeader::new(&*task.name, model, created)
    }
}

/// Tells whether a later run has the same samples.
fn fingerprint(samples: &[Arc<TaskSample>]) -> String {
    samples.iter().fold(String::new(), |known, sample| log_id(&[&known, &format!("{sample:?}")]))
}

fn dataset(task: &Task, samples: &[Arc<TaskSample>]) -> LogDataset {
    let location = match &task.dataset.origin {
        DatasetOrigin::File(file) => Some(file.path.display().to_string()),
        DatasetOrigin::Samples(_) => None,
    };
    let stem = location.as_deref().and_then(|path| std::path::Path::new(path).file_stem()?.to_str());
    LogDataset {
        name: task.dataset.name.clone().or_else(|| stem.map(str::to_owned)),
        location: location.clone(),
        sample_ids: samples.iter().filter_map(|sample| sample.id.clone()).collect(),
        shuffled: task.dataset.shuffle.is_some(),
    }
}

/// The name of a scorer's scores, and their metrics.
type ScorerMetrics = (Arc<str>, Vec<MetricSpec>);

/// The scorers by the names that their scores have, with their metrics.
pub(super) fn metrics(task: &Task) -> Vec<ScorerMetrics> {
    let of =
        |(scorer, name): (&Arc<dyn Scorer>, Arc<str>)| (name, task.metrics.clone().unwrap_or_else(|| scorer.metrics()));
    task.scorers.iter().zip(task.scorer_names()).map(of).collect()
}

/// The parameters of a metric as Inspect records them, so that it can make the metric again: one within another is a map
/// with a type, and what a grouping takes from the metric within it is said there.
fn params(metric: &Metric) -> Value {
    let is_grouped = metric.name() == "grouped";
    let params = metric.params().iter().filter(|(key, _)| !(is_grouped && key == "cluster"));
    let param = |(key, value): &(Cow<'static, str>, Value)| match key.as_ref() {
        "metric" if is_grouped => ("metric".into(), within(value)),
        other => (other.into(), value.clone()),
    };
    Value::Map(params.map(param).collect())
}

fn within(metric: &Value) -> Value {
    let name = metric.get("name").unwrap_or(metric).clone();
    let params = metric.get("params").cloned().unwrap_or_else(|| Value::Map(Vec::new()));
    Value::from([("type", Value::from("metric")), ("name", name), ("params", params)])
}

fn scorers(task: &Task) -> Vec<LogScorer> {
    let registry = Registry::builtin();
    let known: Vec<&str> = registry.names().collect();
    let recorded = |metric: &Metric| match !metric.is_own() && known.contains(&metric.name()) {
        true => RecordedMetric::Named { name: metric.name().to_owned(), params: params(metric) },
        false => RecordedMetric::Custom { name: metric.name().to_owned(), params: params(metric) },
    };
    let spec = |spec: &MetricSpec| match spec {
        MetricSpec::One(metric) => recorded(metric),
        MetricSpec::Keyed(keys) => RecordedMetric::Keyed(
            keys.iter().map(|(key, metrics)| (key.clone(), metrics.iter().map(recorded).collect())).collect(),
        ),
    };
    let of = |(scorer, (name, metrics)): (&Arc<dyn Scorer>, ScorerMetrics)| LogScorer {
        name: name.to_string(),
        params: scorer.params(),
        metrics: metrics.iter().map(spec).collect(),
    };
    task.scorers.iter().zip(self::metrics(task)).map(of).collect()
}
