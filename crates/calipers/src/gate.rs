//! From results and a policy to a verdict, a baseline, or higher thresholds.

use crate::{LoadedRun, Needs, RunError, Selection};
use calipers_core::{Error, Metric, Reducer, Registry, Value};
use calipers_gate::policy::Policy;
pub use calipers_gate::*;

/// What a verdict depends on besides the run, the policy and the selection.
pub struct GateOptions<'a> {
    /// The scenarios that there should be.
    pub suite: Option<Vec<String>>,
    /// A run to compare with, and its age in days.
    pub baseline: Option<(Baseline, Option<f64>)>,
    /// The version that thresholds are chosen for.
    pub version: Option<String>,
    /// Where the policy comes from; the rest is filled in here.
    pub provenance: Provenance,
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

impl Default for GateOptions<'_> {
    fn default() -> Self {
        Self {
            suite: None,
            baseline: None,
            version: None,
            provenance: Provenance::default(),
            registry: Registry::builtin(),
            expression: &no_expressions,
            reducers: &parse_reducer,
        }
    }
}

impl GateOptions<'_> {
    /// The columns that are read to judge by this policy.
    #[must_use]
    pub fn needs(&self, selection: &Selection, policy: &Policy) -> Needs {
        Needs::of_policy(selection, policy, |name| resolve(self, name).ok())
    }
}

/// Judges a run.
///
/// ```
/// use calipers::gate::{GateOptions, gate};
/// use calipers::io::{Source, read_document};
/// use calipers::policy::Policy;
/// use calipers::{LoadedRun, Selection, Verdict};
///
/// let lines = r#"{"id": "SEC-001", "category": "adversarial", "passed": true}
/// {"id": "CORE-001", "category": "happy_path", "passed": false}"#;
/// let policy = read_document("policy.json", br#"{"thresholds": {"blocking": {"pass_rate": 80}}}"#)?;
/// let policy = Policy::parse(&policy).expect("no mistakes");
/// let selection = Selection::of([Source::bytes("results.jsonl", lines.as_bytes())]);
/// let options = GateOptions::default();
/// let run = LoadedRun::load("results.jsonl", &selection, &options.needs(&selection, &policy))?;
/// let report = gate(&run, &policy, &selection, &options)?;
/// assert_eq!(report.verdict, Verdict::Fail);
/// assert_eq!(calipers::render::gate_decision(&report), "pass_rate: 50 % is not ≥ 80 %");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn gate(
    run: &LoadedRun,
    policy: &Policy,
    selection: &Selection,
    options: &GateOptions<'_>,
) -> Result<GateReport, RunError> {
    with_case(run, policy, selection, options, judge)
}

/// What to keep of a run under a policy, so that later runs can be compared with it.
///
/// It has no date: the caller who writes it knows the day.
///
/// ```
/// use calipers::gate::{GateOptions, gate, record};
/// use calipers::io::{Source, baseline_text, read_document};
/// use calipers::policy::Policy;
/// use calipers::{LoadedRun, Needs, Selection};
///
/// let policy = read_document("policy.json", br#"{"pass_criteria": {"overall": "80%"}}"#)?;
/// let policy = Policy::parse(&policy).expect("no mistakes");
/// let lines = r#"{"id": "CORE-001", "passed": true}"#;
/// let selection = Selection::of([Source::bytes("results.jsonl", lines.as_bytes())]);
/// let run = LoadedRun::load("results.jsonl", &selection, &Needs::everything())?;
/// let baseline = record(&run, &policy, &selection, &GateOptions::default())?;
/// assert!(baseline_text(&baseline).contains(r#""CORE-001": {"outcome": "passed", "passed": 1, "attempts": 1}"#));
///
/// let options = GateOptions { baseline: Some((baseline, None)), ..GateOptions::default() };
/// let report = gate(&run, &policy, &selection, &options)?;
/// assert_eq!(report.baseline.expect("given").differences[0].difference.value, Ok(0.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn record(
    run: &LoadedRun,
    policy: &Policy,
    selection: &Selection,
    options: &GateOptions<'_>,
) -> Result<Baseline, RunError> {
    with_case(run, policy, selection, options, calipers_gate::record)
}

/// What a run says about raising each threshold of a policy.
///
/// ```
/// use calipers::gate::{GateOptions, RaiseOptions, raise};
/// use calipers::io::{Source, read_document};
/// use calipers::policy::Policy;
/// use calipers::{LoadedRun, Needs, Selection};
///
/// let policy = read_document("policy.json", br#"{"pass_criteria": {"overall": "at least 80%"}}"#)?;
/// let policy = Policy::parse(&policy).expect("no mistakes");
/// let lines: String = (0..60).map(|id| format!("{{\"id\": {id}, \"passed\": true}}\n")).collect();
/// let selection = Selection::of([Source::bytes("results.jsonl", lines.as_bytes())]);
/// let run = LoadedRun::load("results.jsonl", &selection, &Needs::everything())?;
/// let raising = RaiseOptions { headroom: 0.01, allow_lower: false };
/// let raises = raise(&run, &policy, &raising, &selection, &GateOptions::default())?;
/// // Sixty of sixty show 95.1 %.
/// let change = raises[0].change.as_ref().expect("more is shown");
/// assert_eq!(change.written, r#""at least 94%""#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn raise(
    run: &LoadedRun,
    policy: &Policy,
    raising: &RaiseOptions,
    selection: &Selection,
    options: &GateOptions<'_>,
) -> Result<Vec<Raise>, RunError> {
    with_case(run, policy, selection, options, |case| calipers_gate::raise(case, raising))
}

fn with_case<T>(
    run: &LoadedRun,
    policy: &Policy,
    selection: &Selection,
    options: &GateOptions<'_>,
    then: impl FnOnce(&Case<'_>) -> Result<T, Fault>,
) -> Result<T, RunError> {
    let context = selection.context()?;
    let resolve = |expression: &str| resolve(options, expression);
    let case = Case {
        policy,
        samples: &run.samples,
        context,
        registry: &options.registry,
        resolve: &resolve,
        reducer: selection.reducer().cloned(),
        reducers: options.reducers,
        suite: options.suite.as_deref(),
        baseline: options.baseline.as_ref().map(|(baseline, age)| (baseline, *age)),
        version: options.version.as_deref(),
        provenance: Provenance {
            files: run.files.clone(),
            task: run.task.clone(),
            model: run.model.clone(),
            filter: selection.filter.clone(),
            scorers: selection.scorers.clone(),
            labels: selection.mapped_labels(),
            scripts: selection.scripts.clone(),
            tool: crate::TOOL.to_owned(),
            ..options.provenance.clone()
        },
    };
    Ok(then(&case)?)
}

/// The metric of a name or an expression.
pub(crate) fn resolve(options: &GateOptions<'_>, expression: &str) -> Result<Metric, Error> {
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
