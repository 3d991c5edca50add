//! From results and a policy to a verdict, a baseline, or higher thresholds.

use crate::judge::unless_said;
use crate::needs::measured_name;
use crate::run_reducer::{has_several_attempts, recorded_reducer};
use crate::{LoadedRun, Needs, RunError, Selection, recorded_check};
use calipers_core::{Caveat, Error, Metric, MissingRule, Reducer, Registry, Value, judge_caveats};
use calipers_gate::policy::{Mistake, OnMissingValues, Policy, Span, Spanned};
pub use calipers_gate::*;

/// What a verdict depends on besides the run, the policy and the selection.
pub struct GateOptions<'a> {
    /// The scenarios that there should be.
    pub suite: Option<Vec<String>>,
    /// A run to compare with, and its age in days.
    pub baseline: Option<(Baseline, Option<f64>)>,
    /// Fields by whose values samples go together, in place of those of the policy.
    pub cluster: Vec<String>,
    /// The version that thresholds are chosen for.
    pub version: Option<String>,
    /// Whether the report lists every scenario, with what its attempts took. Of millions, a list takes longer than the verdict.
    pub lists_scenarios: bool,
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
    Err(Error::custom(format!("`{expression}` is not the name of a metric, and expressions are not available here")))
}

fn parse_reducer(name: &str) -> Result<Reducer, Error> {
    Reducer::parse(name)
}

impl Default for GateOptions<'_> {
    fn default() -> Self {
        Self {
            suite: None,
            baseline: None,
            cluster: Vec::new(),
            version: None,
            lists_scenarios: true,
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
        Needs::of_policy(selection, policy, &self.cluster, self.lists_scenarios, |name| resolve(self, name).ok())
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
    judge_run(run, policy, selection, options, None)
}

/// Judges a run where looks at a suite are counted: this is look `look`, from 1 on. Each one may err with a part of what the
/// policy allows, so that all of them together err no more often.
pub fn gate_at_look(
    run: &LoadedRun,
    policy: &Policy,
    selection: &Selection,
    options: &GateOptions<'_>,
    look: u64,
) -> Result<GateReport, RunError> {
    judge_run(run, policy, selection, options, Some(look))
}

fn judge_run(
    run: &LoadedRun,
    policy: &Policy,
    selection: &Selection,
    options: &GateOptions<'_>,
    look: Option<u64>,
) -> Result<GateReport, RunError> {
    check_names(policy, options)?;
    let (mut report, mut caveats) = with_case(run, policy, selection, options, look, judge)?;
    reducer(run, policy, selection, options, &mut caveats)?;
    let figures = report.gates.iter().filter_map(|gate| Some((gate.metric.as_str(), gate.figure.as_ref()?)));
    // Weights make another figure than the log has.
    if policy.weights.by_category.is_empty() && policy.weights.by_capability.is_empty() {
        caveats.extend(recorded_check::caveats(run, figures, &report.provenance.reducer, selection));
    }
    caveats.extend(matched_by_line(run, options));
    let (attempts, scored) = (run.samples.errored_attempts() as u64, run.samples.scored_errors() as u64);
    caveats.extend((scored > 0).then_some(Caveat::Errored { attempts, scored }));
    let judges = judge_caveats(&[&run.samples], &selection.context()?).unwrap_or_default();
    caveats.extend(unless_said(judges, report.gates.iter().filter_map(|gate| gate.figure.as_ref())));
    report.caveats.splice(0..0, caveats);
    Ok(report)
}

/// What to know about a baseline whose scenarios have no names but their lines or places: another file may have others there.
fn matched_by_line(run: &LoadedRun, options: &GateOptions<'_>) -> Option<Caveat> {
    let (baseline, _) = options.baseline.as_ref().filter(|_| run.is_by_line())?;
    let matched = run.samples.ids().filter(|id| baseline.scenarios.contains_key(&id.to_string())).count() as u64;
    (matched > 0).then_some(Caveat::MatchedByLine { matched, differing: None })
}

/// The reducer in place of the policy's: the one that is asked for, or that of the log where the policy names none. A policy
/// that contradicts the log is a choice that the report states.
fn reducer(
    run: &LoadedRun,
    policy: &Policy,
    selection: &Selection,
    options: &GateOptions<'_>,
    caveats: &mut Vec<Caveat>,
) -> Result<Option<Reducer>, Error> {
    if let Some(reducer) = selection.reducer() {
        return Ok(Some(reducer.clone()));
    }
    let Some(named) = &policy.epochs.reducer else {
        return recorded_reducer(&[run], options.reducers, caveats).map(Some);
    };
    // A mistake in the name is reported when the policy is applied.
    let used = (options.reducers)(&named.value).map_or_else(|_| named.value.clone(), |used| used.name().to_owned());
    let mut recorded = run.reducers.iter().filter_map(|(_, names)| names.as_ref());
    let contradicting = recorded.find(|names| !names.is_empty() && !names.contains(&used));
    if let Some(recorded) = contradicting.filter(|_| has_several_attempts(&[run])) {
        caveats.push(Caveat::OtherReducer { used, recorded: recorded.clone() });
    }
    Ok(None)
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
    Ok(with_case(run, policy, selection, options, None, calipers_gate::record)?.0)
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
    Ok(with_case(run, policy, selection, options, None, |case| calipers_gate::raise(case, raising))?.0)
}

fn with_case<T>(
    run: &LoadedRun,
    policy: &Policy,
    selection: &Selection,
    options: &GateOptions<'_>,
    look: Option<u64>,
    then: impl FnOnce(&Case<'_>) -> Result<T, Fault>,
) -> Result<(T, Vec<Caveat>), RunError> {
    let mut caveats = run.caveats(false);
    let of_policy = match policy.missing {
        OnMissingValues::Failed => Some(MissingRule::Failed),
        OnMissingValues::Excluded => Some(MissingRule::Excluded),
        OnMissingValues::Worst | OnMissingValues::AtRandom => None,
    };
    let says_other =
        policy.missing != OnMissingValues::Worst && selection.missing.is_some_and(|rule| Some(rule) != of_policy);
    let ruled = selection.missing.or(of_policy).map(|rule| run.with_missing(rule, says_other));
    let run = match &ruled {
        Some((ruled, caveat)) => {
            caveats.extend(caveat.clone());
            ruled
        }
        None => run,
    };
    // What a scorer left out in a sample that others scored is excluded too.
    let excluding = (selection.missing.or(of_policy) == Some(MissingRule::Excluded))
        .then(|| Policy { missing: OnMissingValues::AtRandom, ..policy.clone() });
    let policy = excluding.as_ref().unwrap_or(policy);
    let clustering = (!options.cluster.is_empty()).then(|| {
        let field = |name: &String| Spanned { value: name.clone(), span: Span::nowhere() };
        Policy { cluster: options.cluster.iter().map(field).collect(), ..policy.clone() }
    });
    let policy = clustering.as_ref().unwrap_or(policy);
    let context = selection.context()?;
    let resolve = |expression: &str| resolve(options, expression);
    let case = Case {
        policy,
        samples: &run.samples,
        context,
        registry: &options.registry,
        resolve: &resolve,
        reducer: reducer(run, policy, selection, options, &mut Vec::new())?,
        reducers: options.reducers,
        suite: options.suite.as_deref(),
        baseline: options.baseline.as_ref().map(|(baseline, age)| (baseline, *age)),
        look,
        version: options.version.as_deref(),
        lists_scenarios: options.lists_scenarios,
        provenance: Provenance {
            files: run.files.clone(),
            columns: run.columns.clone(),
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
    Ok((then(&case)?, caveats))
}

/// An error with all names of gates that nothing knows, if there are several. The judge stops at the first.
fn check_names(policy: &Policy, options: &GateOptions<'_>) -> Result<(), RunError> {
    let is_own = |name: &str| {
        let is_metric = policy.metrics.iter().any(|(known, _)| known.value == name);
        is_metric || policy.composite.iter().any(|composite| composite.name.value == name)
    };
    let unknown = policy.gates.iter().map(|gate| &gate.metric).filter(|name| !is_own(&name.value)).filter_map(|name| {
        let error = resolve(options, &measured_name(&name.value)?).err().filter(is_unknown)?;
        let mistake = Mistake::new(error.kind().to_string()).at(&name.span);
        Some(Mistake { hint: error.kind().hint(), ..mistake })
    });
    let unknown: Vec<Mistake> = unknown.collect();
    if unknown.len() > 1 { Err(RunError::Policy(unknown.into())) } else { Ok(()) }
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
