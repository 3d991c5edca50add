//! From a run to its report: the metrics that its file records, or those that are asked for.

use crate::pipeline;
use calipers_core::{
    Average, Error, Labels, Metric, MetricSpec, Partial, Plan, RecordedResult, Reducer, Registry, RunReport,
    SampleCounts, SampleId, Samples, Seed, Shards, Value, accuracy, behavior_coverage, by_key, pass_rate,
};
use calipers_io::{
    Format, Projection, ReadError, RecordedMetric, RecordedResults, RecordedRun, RecordedScorer, Source,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

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

impl Options {
    /// The columns of a table that these options look at.
    #[must_use]
    pub fn wanted(&self) -> Projection {
        let mut wanted: Vec<&str> = self.filter.iter().map(|(key, _)| key.as_str()).collect();
        if self.metrics.is_none() {
            return Projection::usual(wanted, self.keep_reductions);
        }
        for metric in self.metrics.iter().flatten().flat_map(MetricSpec::metrics) {
            let Some(columns) = metric.columns() else { return Projection::everything() };
            wanted.extend(columns);
        }
        let metrics = self.metrics.iter().flatten().flat_map(MetricSpec::metrics);
        let wanted = Projection::only(wanted).and_if_there(metrics.flat_map(Metric::optional_columns));
        if self.keep_reductions { wanted.with_answers() } else { wanted }
    }
}

/// Why a source has no report.
#[derive(Debug)]
pub enum Failure {
    /// It cannot be read.
    Read(ReadError),
    /// It cannot be scored.
    Score {
        /// Why.
        error: Error,
        /// What the source is called.
        source: String,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Score { error, source } => write!(f, "{error}\n  in {source}"),
        }
    }
}

impl std::error::Error for Failure {}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

/// Scores all runs in a source, read in the format of this name or in the one that recognises its content.
///
/// ```
/// use calipers::io::Source;
/// use calipers::score::{Options, score_source};
///
/// let lines = r#"{"id": 1, "score": "C"}
/// {"id": 2, "score": "I"}"#;
/// let reports = score_source(&Source::bytes("results.jsonl", lines.as_bytes()), None, &Options::default())?;
/// assert_eq!(reports[0].results.figure("score", "accuracy").expect("default").value, Ok(0.5));
/// # Ok::<(), calipers::score::Failure>(())
/// ```
pub fn score_source(source: &Source, format: Option<&str>, options: &Options) -> Result<Vec<RunReport>, Failure> {
    let format = calipers_io::choose(source, format)?;
    if let Some(report) = score_stream(source, format, options) {
        return Ok(vec![report]);
    }
    let runs = read_source(source, Some(format.name()), options)?;
    let fail = |error| Failure::Score { error, source: source.name.clone() };
    runs.into_iter().map(|run| score(run, options).map_err(fail)).collect()
}

/// Reads the runs of a source with the columns that these options look at.
///
/// Behaviours are slow to read and few records are measured by them, so by default they are only looked for where there
/// are no scores.
pub fn read_source(
    source: &Source,
    format: Option<&str>,
    options: &Options,
) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
    let wanted = options.wanted();
    let runs = calipers_io::read_shards(source, format, &wanted)?;
    if options.metrics.is_some() || runs.iter().all(|run| has_scores(&run.samples)) {
        return Ok(runs);
    }
    let without_scores =
        default_metrics().flat_map(|metric| metric.optional_columns().map(str::to_owned).collect::<Vec<_>>());
    calipers_io::read_shards(source, format, &wanted.and_if_there(without_scores))
}

/// What was folded of a part of a table.
struct Folded<'p> {
    partial: Partial<'p>,
    samples: SampleCounts,
    first: SampleId,
    last: SampleId,
}

/// Scores a table while it is read, and keeps nothing of it. That goes as long as samples come in the order of their
/// names, so that no sample can be in two shards; otherwise, and if anything is wrong, there is no report, and the table
/// is read whole.
fn score_stream(source: &Source, format: &dyn Format, options: &Options) -> Option<RunReport> {
    if !options.scorers.is_empty() || !options.filter.is_empty() {
        return None;
    }
    let (plan, _) = plan(&RecordedResults::default(), options, &mut Vec::new()).ok()?;
    let parts: Mutex<BTreeMap<usize, Folded<'_>>> = Mutex::default();
    let lock = || parts.lock().unwrap_or_else(PoisonError::into_inner);
    let fold = |part: usize, samples: Samples| {
        let Some((first, last)) = samples.id_range() else { return false };
        let taken = lock().remove(&part);
        let mut folded = match taken {
            Some(folded) if folded.last < first => folded,
            Some(_) => return false,
            None => Folded { partial: plan.start(), samples: SampleCounts::default(), first, last: last.clone() },
        };
        // What records without scores are asked is decided when all are there.
        let is_undecided = options.metrics.is_none() && samples.scorers().next().is_none();
        if is_undecided || folded.partial.fold(&samples).is_err() {
            return false;
        }
        folded.samples += samples.counts();
        folded.last = last;
        lock().insert(part, folded);
        true
    };
    if !format.stream(source, &options.wanted(), &fold) {
        return None;
    }
    let mut parts = parts.into_inner().unwrap_or_else(PoisonError::into_inner).into_values();
    let mut whole = parts.next()?;
    for part in parts {
        if part.first <= whole.last {
            return None;
        }
        whole.partial.merge(part.partial);
        whole.samples += part.samples;
        whole.last = part.last;
    }
    Some(RunReport {
        source: source.name.clone(),
        format: format.name().to_owned(),
        task: None,
        model: None,
        samples: whole.samples,
        results: whole.partial.finish().ok()?,
        recorded: Vec::new(),
        notes: Vec::new(),
    })
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
pub fn score(run: RecordedRun<impl Into<Shards>>, options: &Options) -> Result<RunReport, Error> {
    let mut samples: Shards = run.samples.into();
    if !options.scorers.is_empty() {
        samples.keep_scorers(&options.scorers)?;
    }
    for (key, value) in &options.filter {
        samples = samples.keep_where(key, value)?;
    }
    let parts = NonZeroUsize::new(samples.iter().count()).unwrap_or(NonZeroUsize::MIN);
    let mut notes = run.notes;
    let (plan, recorded) = plan(&with_usual(run.recorded, &samples), options, &mut notes)?;
    let plan = match metrics_without_scores(&samples) {
        metrics if options.metrics.is_none() && !metrics.is_empty() => plan.metrics(metrics),
        _ => plan,
    };
    let counts = samples.counts();
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let results = pipeline::measure(&plan, samples, threads.min(parts))?;
    Ok(RunReport {
        source: run.source,
        format: run.format.to_owned(),
        task: run.task,
        model: run.model,
        samples: counts,
        results,
        recorded,
        notes,
    })
}

/// The metrics of scores that are maps and that the file names none for: the usual ones, by key.
fn with_usual(mut recorded: RecordedResults, samples: &Shards) -> RecordedResults {
    let usual = |name: &str| RecordedMetric::Named { name: name.to_owned(), params: Value::Null };
    let names: BTreeSet<&Arc<str>> = samples.iter().flat_map(Samples::scorers).collect();
    for name in names {
        let is_named = recorded.scorers.iter().any(|scorer| *scorer.name == **name);
        if !is_named && samples.iter().any(|part| part.has_maps(name)) {
            let by_key = RecordedMetric::Keyed(vec![("*".to_owned(), vec![usual("accuracy"), usual("stderr")])]);
            recorded.scorers.push(RecordedScorer { name: name.to_string(), metrics: vec![by_key] });
        }
    }
    recorded
}

fn has_scores(samples: &Shards) -> bool {
    samples.iter().flat_map(Samples::scorers).next().is_some()
}

/// The metrics that records without scores may be measured by.
fn default_metrics() -> impl Iterator<Item = Metric> {
    [accuracy(), pass_rate(), behavior_coverage(Average::Macro)].into_iter()
}

/// What records without scores are measured by, from what they say: whether they are correct, whether they passed, which
/// behaviours were observed.
fn metrics_without_scores(samples: &Shards) -> Vec<Metric> {
    if has_scores(samples) {
        return Vec::new();
    }
    let fields = samples.iter().flat_map(Samples::fields).map(|field| &**field).collect();
    metrics_by_fields(&fields)
}

/// What records with these fields, and without scores, are measured by.
pub(crate) fn metrics_by_fields(fields: &BTreeSet<&str>) -> Vec<Metric> {
    let has = |names: &[&str]| names.iter().any(|name| fields.contains(name));
    let behaviors = ["expected_behaviors", "must_not", "violations"];
    let is_said = [has(&["correct"]), has(&["passed"]) || has(&behaviors), has(&behaviors)];
    default_metrics().zip(is_said).filter_map(|(metric, is_said)| is_said.then_some(metric)).collect()
}

/// The plan, and the recorded figures of metrics that cannot be computed here.
fn plan(
    recorded: &RecordedResults,
    options: &Options,
    notes: &mut Vec<String>,
) -> Result<(Plan, Vec<RecordedResult>), Error> {
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
        if matches!(&scorer.metrics[..], [RecordedMetric::Keyed(keys)] if keys.is_empty()) {
            notes.push(format!("scorer `{}` lists no metrics in the log, so it has no figures", scorer.name));
        }
        let specs: Vec<MetricSpec> =
            scorer.metrics.iter().filter_map(|metric| spec(metric, &options.registry, &mut unknown)).collect();
        // A scorer all of whose metrics are somebody's own has no others.
        if !specs.is_empty() || !scorer.metrics.is_empty() {
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
pub(crate) fn recorded_reducers(recorded: &RecordedResults, notes: &mut Vec<String>) -> Option<Vec<Reducer>> {
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
        match recorded {
            RecordedMetric::Named { name, params } => {
                registry.metric(name, params).map_err(|_| unknown.push(name.clone())).ok()
            }
            RecordedMetric::Custom(name) => {
                unknown.push(name.clone());
                None
            }
            RecordedMetric::Keyed(_) => None,
        }
    };
    match recorded {
        RecordedMetric::Named { .. } | RecordedMetric::Custom(_) => one(recorded).map(MetricSpec::from),
        RecordedMetric::Keyed(keys) => {
            let known: Vec<(String, Vec<Metric>)> = keys
                .iter()
                .map(|(key, metrics)| (key.clone(), metrics.iter().filter_map(&mut one).collect()))
                .collect();
            Some(by_key(known))
        }
    }
}
