//! From results and a policy to a verdict, a baseline, or higher thresholds.

use calipers_core::{Context, Error, Labels, Metric, Reducer, Registry, Samples, Seed, Value};
use calipers_gate::policy::Policy;
use calipers_gate::{Baseline, Case, Fault, GateReport, Provenance, Raise, RaiseOptions, judge};
use calipers_io::{ReadError, RecordedResults, Source};
use std::fmt;

/// What a verdict depends on besides results and policy.
pub struct Options<'a> {
    /// How attempts are reduced, in place of what the policy says.
    pub reducer: Option<Reducer>,
    /// Only these scorers; all if empty.
    pub scorers: Vec<String>,
    /// Only samples whose metadata has these values.
    pub filter: Vec<(String, String)>,
    /// How labels become numbers.
    pub labels: Labels,
    /// The level of the intervals shown.
    pub level: f64,
    /// The seed of all that is random.
    pub seed: Seed,
    /// The scenarios that there should be.
    pub suite: Option<Vec<String>>,
    /// A run to compare with, and its age in days.
    pub baseline: Option<(Baseline, Option<f64>)>,
    /// The version that thresholds are chosen for.
    pub version: Option<String>,
    /// The metrics that names stand for.
    pub registry: Registry,
    /// The metric of an expression that is not a plain name.
    pub expression: &'a dyn Fn(&str) -> Result<Metric, Error>,
    /// The reducer of a name.
    pub reducers: &'a dyn Fn(&str) -> Result<Reducer, Error>,
}

/// Expressions need the feature `script` and a library; without one, a policy can only name metrics.
fn no_expressions(expression: &str) -> Result<Metric, Error> {
    Err(Error::custom(format!("`{expression}` is no metric by name, and expressions are not available here")))
}

fn parse_reducer(name: &str) -> Result<Reducer, Error> {
    Reducer::parse(name)
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            reducer: None,
            scorers: Vec::new(),
            filter: Vec::new(),
            labels: Labels::default(),
            level: 0.95,
            seed: Seed(0),
            suite: None,
            baseline: None,
            version: None,
            registry: Registry::builtin(),
            expression: &no_expressions,
            reducers: &parse_reducer,
        }
    }
}

/// Why there is no verdict.
#[derive(Debug)]
pub enum Failure {
    /// A file cannot be read.
    Read(ReadError),
    /// The run cannot be judged.
    Judge(Fault),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Judge(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Judge(fault)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Judge(error.into())
    }
}

/// What there is to judge: all runs of all sources as one.
#[derive(Debug, Default)]
pub struct Evaluated {
    /// The samples of all runs.
    pub samples: Samples,
    /// The sources by name.
    pub files: Vec<String>,
    /// The task, if all runs have the same.
    pub task: Option<String>,
    /// The model, if all runs have the same.
    pub model: Option<String>,
    /// The scorers with their metrics and the reducers that the files record; those of the first run that has any.
    pub recorded: RecordedResults,
    /// What was not read, and why.
    pub notes: Vec<String>,
}

/// Reads all runs of all sources as one: a suite may be in several files.
pub fn read(
    sources: impl IntoIterator<Item = Source>,
    format: Option<&str>,
    options: &Options<'_>,
) -> Result<Evaluated, Failure> {
    let mut all = Evaluated::default();
    let (mut tasks, mut models) = (Vec::new(), Vec::new());
    for source in sources {
        all.files.push(source.name.clone());
        // An evaluation that wrote nothing has an answer: there is nothing to judge.
        if source.is_blank()? {
            continue;
        }
        for run in calipers_io::read(&source, format)? {
            let mut shards = calipers_core::Shards::new([run.samples]);
            if !options.scorers.is_empty() {
                shards.keep_scorers(&options.scorers)?;
            }
            for (key, value) in &options.filter {
                shards = shards.keep_where(key, value)?;
            }
            all.samples.append(shards.into_whole());
            if all.recorded.scorers.is_empty() && all.recorded.reducers.is_none() {
                all.recorded = run.recorded;
            }
            tasks.push(run.task);
            models.push(run.model);
            all.notes.extend(run.notes);
        }
    }
    all.task = only(tasks);
    all.model = only(models);
    Ok(all)
}

/// The one value that all have.
fn only(mut values: Vec<Option<String>>) -> Option<String> {
    values.dedup();
    match &mut values[..] {
        [one] => one.take(),
        _ => None,
    }
}

/// Judges what was read.
///
/// ```
/// use calipers::gate::{Options, gate, read};
/// use calipers::io::{Source, read_document};
/// use calipers::policy::Policy;
/// use calipers::Verdict;
///
/// let lines = r#"{"id": "SEC-001", "category": "adversarial", "passed": true}
/// {"id": "CORE-001", "category": "happy_path", "passed": false}"#;
/// let policy = read_document("policy.json", br#"{"thresholds": {"blocking": {"pass_rate": 80}}}"#)?;
/// let policy = Policy::parse(&policy).expect("no mistakes");
/// let options = Options::default();
/// let run = read([Source::bytes("results.jsonl", lines.as_bytes())], None, &options)?;
/// let report = gate(&run, &policy, Default::default(), &options)?;
/// assert_eq!(report.verdict, Verdict::Fail);
/// assert_eq!(report.decided_by, "pass_rate: 50 % is not ≥ 80 %");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn gate(
    run: &Evaluated,
    policy: &Policy,
    provenance: Provenance,
    options: &Options<'_>,
) -> Result<GateReport, Failure> {
    with_case(run, policy, provenance, options, judge)
}

/// What is to be remembered of a run under a policy, to compare later ones with.
///
/// It has no date: whoever writes it knows the day.
///
/// ```
/// use calipers::gate::{Options, gate, read, record};
/// use calipers::io::{Source, baseline_text, read_document};
/// use calipers::policy::Policy;
///
/// let policy = read_document("policy.json", br#"{"pass_criteria": {"overall": "80%"}}"#)?;
/// let policy = Policy::parse(&policy).expect("no mistakes");
/// let lines = r#"{"id": "CORE-001", "passed": true}"#;
/// let run = read([Source::bytes("results.jsonl", lines.as_bytes())], None, &Options::default())?;
/// let baseline = record(&run, &policy, Default::default(), &Options::default())?;
/// assert!(baseline_text(&baseline).contains(r#""CORE-001": {"outcome": "passed", "passed": 1, "attempts": 1}"#));
///
/// let options = Options { baseline: Some((baseline, None)), ..Options::default() };
/// let report = gate(&run, &policy, Default::default(), &options)?;
/// assert_eq!(report.baseline.expect("given").differences[0].difference.value, Ok(0.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn record(
    run: &Evaluated,
    policy: &Policy,
    provenance: Provenance,
    options: &Options<'_>,
) -> Result<Baseline, Failure> {
    with_case(run, policy, provenance, options, calipers_gate::record)
}

/// What a run says about raising each threshold of a policy.
///
/// ```
/// use calipers::gate::{Options, raise, read};
/// use calipers::io::{Source, read_document};
/// use calipers::{RaiseOptions, policy::Policy};
///
/// let policy = read_document("policy.json", br#"{"pass_criteria": {"overall": "at least 80%"}}"#)?;
/// let policy = Policy::parse(&policy).expect("no mistakes");
/// let lines: String = (0..60).map(|id| format!("{{\"id\": {id}, \"passed\": true}}\n")).collect();
/// let run = read([Source::bytes("results.jsonl", lines.as_bytes())], None, &Options::default())?;
/// let raises = raise(&run, &policy, &RaiseOptions { headroom: 0.01, allow_lower: false }, &Options::default())?;
/// // Sixty of sixty show 95.1 %.
/// let change = raises[0].change.as_ref().expect("more is shown");
/// assert_eq!(change.written, r#""at least 94%""#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn raise(
    run: &Evaluated,
    policy: &Policy,
    how: &RaiseOptions,
    options: &Options<'_>,
) -> Result<Vec<Raise>, Failure> {
    with_case(run, policy, Provenance::default(), options, |case| calipers_gate::raise(case, how))
}

fn with_case<T>(
    run: &Evaluated,
    policy: &Policy,
    provenance: Provenance,
    options: &Options<'_>,
    then: impl FnOnce(&Case<'_>) -> Result<T, Fault>,
) -> Result<T, Failure> {
    let context = Context::new(options.level, options.seed, options.labels.clone())?;
    let resolve = |expression: &str| resolve(options, expression);
    let case = Case {
        policy,
        samples: &run.samples,
        context,
        registry: &options.registry,
        resolve: &resolve,
        reducer: options.reducer.clone(),
        reducers: options.reducers,
        suite: options.suite.as_deref(),
        baseline: options.baseline.as_ref().map(|(baseline, age)| (baseline, *age)),
        version: options.version.as_deref(),
        provenance: Provenance {
            files: run.files.clone(),
            task: run.task.clone(),
            model: run.model.clone(),
            filter: options.filter.clone(),
            scorers: options.scorers.clone(),
            labels: options.labels.mapped().map(|(label, number)| (label.to_string(), number)).collect(),
            tool: concat!("calipers ", env!("CARGO_PKG_VERSION")).to_owned(),
            ..provenance
        },
    };
    Ok(then(&case)?)
}

/// The metric of a name or an expression.
pub(crate) fn resolve(options: &Options<'_>, expression: &str) -> Result<Metric, Error> {
    match options.registry.metric(expression, &Value::Null) {
        Err(error) if expression.contains('(') || is_unknown(&error) => {
            let by_expression = (options.expression)(expression);
            // A plain name that nothing knows is best explained by the list of all names.
            if expression.contains('(') { by_expression } else { by_expression.map_err(|_| error) }
        }
        resolved => resolved,
    }
}

fn is_unknown(error: &Error) -> bool {
    matches!(error.kind(), calipers_core::ErrorKind::UnknownName { .. })
}
