//! From a run to its report: the metrics that its file records, or those that are asked for.

use calipers_core::{
    Error, Labels, Metric, MetricSpec, Plan, RecordedResult, Reducer, Registry, RunReport, Seed, by_key,
};
use calipers_io::{Recorded, RecordedMetric, Run};

/// What to compute, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Metrics in place of those that the file records.
    pub metrics: Option<Vec<MetricSpec>>,
    /// Reducers in place of those that the file records; none of them turns reduction off.
    pub reducers: Option<Vec<Reducer>>,
    /// Only these scorers; all if empty.
    pub scorers: Vec<String>,
    /// Only samples whose metadata has these values.
    pub filter: Vec<(String, String)>,
    /// How labels become numbers.
    pub labels: Labels,
    /// The level of the intervals.
    pub level: f64,
    /// The seed of all that is random.
    pub seed: Seed,
    /// True to compute as Inspect does.
    pub inspect: bool,
    /// True to keep the reduced score of every sample.
    pub keep_reductions: bool,
    /// The metrics that names stand for.
    pub registry: Registry,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            metrics: None,
            reducers: None,
            scorers: Vec::new(),
            filter: Vec::new(),
            labels: Labels::default(),
            level: 0.95,
            seed: Seed(0),
            inspect: false,
            keep_reductions: false,
            registry: Registry::builtin(),
        }
    }
}

/// Scores a run.
///
/// ```
/// use calipers::io::{Source, read};
/// use calipers::score::{Options, score};
///
/// let lines = r#"{"id": 1, "score": "C"}
/// {"id": 2, "score": "I"}"#;
/// let runs = read(&Source::bytes("results.jsonl", lines.as_bytes()), None)?;
/// let report = score(runs.into_iter().next().expect("one run"), &Options::default())?;
/// assert_eq!(report.results.figure("score", "accuracy").expect("default").value, Ok(0.5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn score(run: Run, options: &Options) -> Result<RunReport, Error> {
    let mut samples = run.samples;
    if !options.scorers.is_empty() {
        samples.keep_scorers(&options.scorers)?;
    }
    for (key, value) in &options.filter {
        samples = samples.keep_where(key, value)?;
    }
    let mut notes = run.notes;
    let (plan, recorded) = plan(&run.recorded, options, &mut notes)?;
    let results = plan.measure(&samples)?;
    Ok(RunReport {
        source: run.source,
        format: run.format.to_owned(),
        task: run.task,
        model: run.model,
        samples: samples.len() as u64,
        results,
        recorded,
        notes,
    })
}

/// The plan, and the recorded figures of metrics that cannot be computed here.
fn plan(recorded: &Recorded, options: &Options, notes: &mut Vec<String>) -> Result<(Plan, Vec<RecordedResult>), Error> {
    let mut plan = Plan::new().level(options.level)?.seed(options.seed).labels(options.labels.clone());
    if options.inspect {
        plan = plan.inspect_compatible();
    }
    if options.keep_reductions {
        plan = plan.keep_reductions();
    }
    if let Some(reducers) = &options.reducers {
        plan = plan.reducers(reducers.clone());
    } else if let Some(reducers) = recorded_reducers(recorded, notes) {
        plan = plan.reducers(reducers);
    }
    if let Some(metrics) = &options.metrics {
        return Ok((plan.metrics(metrics.clone()), Vec::new()));
    }
    let mut unknown = Vec::new();
    for scorer in &recorded.scorers {
        let specs: Vec<MetricSpec> =
            scorer.metrics.iter().filter_map(|metric| spec(metric, &options.registry, &mut unknown)).collect();
        if !specs.is_empty() {
            plan = plan.scorer(scorer.name.as_str(), specs);
        }
    }
    let figures = recorded.figures.iter().filter(|figure| unknown.iter().any(|name| figure.metric.starts_with(name)));
    let figures = figures.map(|figure| RecordedResult {
        score: figure.score.clone(),
        reducer: figure.reducer.clone(),
        metric: figure.metric.clone(),
        value: figure.value,
    });
    Ok((plan, figures.collect()))
}

/// The reducers that a log names, but for those that only its own code knows.
fn recorded_reducers(recorded: &Recorded, notes: &mut Vec<String>) -> Option<Vec<Reducer>> {
    let names = recorded.reducers.as_ref()?;
    let known: Vec<Reducer> = names.iter().filter_map(|name| Reducer::parse(name).ok()).collect();
    for name in names.iter().filter(|name| Reducer::parse(name).is_err()) {
        notes.push(format!("the log's reducer `{name}` is not known here; its results are left out"));
    }
    (names.is_empty() || !known.is_empty()).then_some(known)
}

/// The metric that a log names; what is not known here is remembered.
fn spec(recorded: &RecordedMetric, registry: &Registry, unknown: &mut Vec<String>) -> Option<MetricSpec> {
    let mut one = |recorded: &RecordedMetric| -> Option<Metric> {
        let RecordedMetric::Named { name, params } = recorded else { return None };
        registry.metric(name, params).map_err(|_| unknown.push(name.clone())).ok()
    };
    match recorded {
        RecordedMetric::Named { .. } => one(recorded).map(MetricSpec::from),
        RecordedMetric::Keyed(keys) => {
            let known: Vec<(String, Vec<Metric>)> = keys
                .iter()
                .map(|(key, metrics)| (key.clone(), metrics.iter().filter_map(&mut one).collect()))
                .collect();
            Some(by_key(known))
        }
    }
}
