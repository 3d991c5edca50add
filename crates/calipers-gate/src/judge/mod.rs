//! From a policy and a run to a verdict.
//!
//! Every question of the policy becomes a gate: a metric against its threshold, a formula, a list of scenarios, a baseline.
//! A gate passes, fails or is undecided, with a reason; the verdict is that of the worst blocking gate.

mod baseline_gates;
mod bound_test;
mod composite;
mod coverage;
mod formula_bounds;
mod measurement;
mod rubric;
mod scenario_rules;
mod similar_names;
mod threshold_question;

use crate::policy::{GateSpec, Level, Mistake, OnUndecided, Origin, PASS_RATE, Policy, Rule, Span, Spanned};
use crate::{
    Baseline, CategoryResult, CoverageReason, DecidedBy, GateKind, GateReason, GateReport, GateResult, GateRule, Mode,
    Provenance, Unbounded,
};
use calipers_core::metric::RunRows;
use calipers_core::{
    Caveat, Context, Error, Evidence, Figure, GateCaveat, Metric, Reason, Reducer, Registry, Samples, Scenarios, Unit,
    Value, Verdict, mean_score,
};
use calipers_stats::multiplicity::{Correction, adjust};
use composite::Formulas;
use measurement::{Measurement, Metrics};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use threshold_question::{Judgement, ThresholdQuestion};

/// A run, a policy, and what else a verdict may depend on.
pub struct Case<'a> {
    /// What must hold.
    pub policy: &'a Policy,
    /// The run.
    pub samples: &'a Samples,
    /// What metrics are computed with.
    pub context: Context,
    /// The metrics that names stand for.
    pub registry: &'a Registry,
    /// The metric of a name or an expression.
    pub resolve: &'a dyn Fn(&str) -> Result<Metric, Error>,
    /// How attempts are reduced, in place of what the policy says.
    pub reducer: Option<Reducer>,
    /// The reducer of a name.
    pub reducers: &'a dyn Fn(&str) -> Result<Reducer, Error>,
    /// The scenarios that there should be.
    pub suite: Option<&'a [String]>,
    /// A run to compare with, and its age in days.
    pub baseline: Option<(&'a Baseline, Option<f64>)>,
    /// The version that thresholds are chosen for.
    pub version: Option<&'a str>,
    /// Where all this comes from; what is known here is filled in.
    pub provenance: Provenance,
}

/// Why there is no verdict.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The policy cannot be applied.
    Policy(Mistake),
    /// The run cannot be measured.
    Run(Error),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(mistake) => mistake.fmt(f),
            Self::Run(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Fault {}

impl From<Mistake> for Fault {
    fn from(mistake: Mistake) -> Self {
        Self::Policy(mistake)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Run(error)
    }
}

/// A case in the course of being judged.
struct Judge<'a> {
    case: &'a Case<'a>,
    policy: &'a Policy,
    samples: &'a Samples,
    context: Context,
    reducer: Reducer,
    scenarios: Scenarios<'a>,
    summaries: Vec<scenario_rules::ScenarioSummary>,
    weights: Option<Vec<f64>>,
    errored: Vec<bool>,
    category_of: Vec<Option<Arc<str>>>,
    rows: RunRows<'a>,
    mode: Mode,
}

/// Judges a run by a policy.
pub fn judge(case: &Case<'_>) -> Result<GateReport, Fault> {
    let judge = Judge::new(case)?;
    let mut metrics = Metrics::default();
    let mut gates = judge.threshold_gates(&mut metrics)?;
    let formulas = Formulas::new(&judge, &mut metrics)?;
    gates.extend(judge.condition_gate(&formulas));
    let baseline = judge.baseline(&mut metrics, &mut gates)?;
    judge.forgive_chance(&mut gates);
    gates.extend(judge.scenario_gates()?);
    let coverage = judge.coverage();
    gates.extend(judge.coverage_gate(&coverage, &gates));
    if gates.is_empty() {
        gates.push(judge.nothing_asked()?);
    }
    let mut gates: Vec<GateResult> = gates.into_iter().map(|gate| gate.result).collect();
    gates.sort_by_key(|gate| gate.level);
    let (verdict, decided_by) = verdict(&gates, case.policy.on_undecided);
    let mut composites = formulas.results;
    for composite in &mut composites {
        composite.gate = gates.iter().position(|gate| gate.kind == GateKind::Composite);
    }
    let mut report = GateReport {
        verdict,
        decided_by,
        mode: judge.mode,
        required: judge.checks(&case.policy.required),
        optional: judge.checks(&case.policy.optional),
        categories: judge.categories(&gates, &mut metrics)?,
        composites,
        baseline,
        coverage,
        scenarios: judge.scenario_results()?,
        provenance: judge.provenance(),
        caveats: judge.caveats(&gates).into_iter().map(Caveat::from).collect(),
        gates,
    };
    if let Some(baseline) = &mut report.baseline {
        for difference in &mut baseline.differences {
            let is_its =
                |gate: &GateResult| matches!(gate.kind, GateKind::Baseline(_)) && gate.metric == difference.metric;
            difference.gate = report.gates.iter().position(is_its);
        }
    }
    Ok(report)
}

/// What is kept of a run under a policy, to compare later ones with.
pub fn record(case: &Case<'_>) -> Result<Baseline, Fault> {
    let judge = Judge::new(case)?;
    let mut metrics = Metrics::default();
    metrics.get(&judge, &Spanned { value: PASS_RATE.into(), span: Span::nowhere() })?;
    judge.threshold_gates(&mut metrics)?;
    Formulas::new(&judge, &mut metrics)?;
    Ok(baseline_gates::record(&judge, &metrics))
}

/// What a run shows of the metric of a gate.
pub(crate) struct ThresholdEvidence {
    pub(crate) spec: GateSpec,
    /// The metric as reports name it.
    pub(crate) name: String,
    pub(crate) rule: Rule,
    pub(crate) unit: Unit,
    pub(crate) figure: Figure,
    /// The one-sided bound on the side that the threshold guards, or why there is none.
    pub(crate) bound: Result<f64, Unbounded>,
    /// True for rules that are decided on counts: all pass, none fail.
    pub(crate) is_counted: bool,
}

/// What a run shows of each threshold of a policy that holds for all versions, at this level.
pub(crate) fn threshold_evidence(case: &Case<'_>, level: f64) -> Result<Vec<ThresholdEvidence>, Fault> {
    let judge = Judge::new(case)?;
    let mut metrics = Metrics::default();
    let one = |spec: &GateSpec| {
        let (name, measured) = judge.metric_of(spec, &mut metrics)?;
        let rule = spec.threshold.rule_in(measured.unit, measured.direction, &name)?;
        let asked = judge.question(&measured, rule, measured.unit);
        Ok(ThresholdEvidence {
            spec: spec.clone(),
            name,
            rule,
            unit: measured.unit,
            figure: measured.figure.clone(),
            bound: asked.bound(level),
            is_counted: asked.counts(),
        })
    };
    case.policy.gates.iter().map(one).collect()
}

/// A gate before chance among many gates is taken into account.
struct PendingGate {
    result: GateResult,
    /// How probable data this bad are on the threshold, where a fail was tested for.
    p_fail: Option<f64>,
}

impl PendingGate {
    /// A blocking gate with this judgement, and no figure yet.
    fn new(kind: GateKind, metric: impl Into<String>, rule: GateRule, judgement: Judgement) -> Self {
        let mut result = GateResult::new(kind, metric, rule, judgement.verdict, judgement.reason);
        result.more_samples = judgement.more;
        Self { result, p_fail: judgement.p_fail }
    }
}

impl<'a> Judge<'a> {
    fn new(case: &'a Case<'a>) -> Result<Self, Fault> {
        let policy = case.policy;
        let reducer = match (&case.reducer, &policy.epochs.reducer) {
            (Some(reducer), _) => reducer.clone(),
            (None, Some(name)) => (case.reducers)(&name.value).map_err(|error| mistake(error, &name.span))?,
            (None, None) => mean_score(),
        };
        let context = Context { attempts: reducer.clone(), ..case.context.clone() };
        case.samples.check_repeats()?;
        let scenarios = Scenarios::new(case.samples, policy.pass_threshold.unwrap_or(1.0), &context)?;
        let summaries = scenario_rules::summaries(policy, &scenarios, &reducer)?;
        let mut errored = vec![false; case.samples.len()];
        let mut category_of = vec![None; case.samples.len()];
        for scenario in &summaries {
            errored[scenario.sample as usize] = scenario.is_errored;
            category_of[scenario.sample as usize] = scenario.category.clone();
        }
        let mode = policy.confidence.map_or(Mode::Point, Mode::Confidence);
        let mut judge = Self {
            case,
            policy,
            samples: case.samples,
            context,
            reducer,
            scenarios,
            summaries,
            weights: None,
            errored,
            category_of,
            rows: RunRows::new(case.samples),
            mode,
        };
        judge.weights = judge.scenario_weights()?;
        Ok(judge)
    }

    /// How much each scenario counts, if the policy says so: by category times by capability.
    fn scenario_weights(&self) -> Result<Option<Vec<f64>>, Fault> {
        let weights = &self.policy.weights;
        let Some((first, _)) = weights.by_category.first().or(weights.by_capability.first()) else { return Ok(None) };
        let weight = |list: &[(Spanned<String>, f64)], name: Option<&str>| {
            name.and_then(|name| list.iter().find(|(known, _)| known.value == name)).map_or(1.0, |(_, weight)| *weight)
        };
        let mut each = vec![1.0; self.samples.len()];
        for scenario in &self.summaries {
            each[scenario.sample as usize] = weight(&weights.by_category, scenario.category.as_deref())
                * weight(&weights.by_capability, scenario.capability.as_deref());
        }
        if !each.is_empty() && each.iter().all(|&weight| weight == 0.0) {
            return Err(Mistake {
                message: "every scenario of the run has the weight 0".into(),
                span: Some(first.span.clone()),
                hint: Some("give at least one category or capability of the run a weight above 0".into()),
            }
            .into());
        }
        Ok(Some(each))
    }

    fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// The metric that a policy means by a name or an expression.
    fn metric(&self, name: &Spanned<String>) -> Result<Metric, Fault> {
        let own = self.policy.metrics.iter().find(|(known, _)| known.value == name.value);
        let resolved = match (own, self.policy.pass_threshold) {
            (Some((_, expression)), _) => {
                let metric = (self.case.resolve)(&expression.value).map_err(|error| mistake(error, &expression.span));
                return Ok(metric?);
            }
            // A metric that has a pass threshold gets the policy's.
            (None, Some(threshold)) => match self.with_pass_threshold(&name.value, threshold) {
                Some(metric) => Ok(metric),
                None => (self.case.resolve)(&name.value),
            },
            (None, _) => (self.case.resolve)(&name.value),
        };
        Ok(resolved.map_err(|error| mistake(error, &name.span))?)
    }

    /// The metric of a name with this pass threshold; none unless it takes one. Those that do are means over scenarios of the
    /// share of attempts that passed.
    fn with_pass_threshold(&self, name: &str, threshold: f64) -> Option<Metric> {
        self.case.registry.metric(name, &Value::from([("pass_threshold", Value::from(threshold))])).ok()
    }

    /// An error of a metric, which the policy asked for at this place.
    fn at(&self, error: Error, span: &Span) -> Fault {
        match error.place().sample {
            // A sample's fault is not the policy's.
            Some(_) => error.into(),
            None => mistake(error, span).into(),
        }
    }

    fn question<'q>(&'q self, measured: &'q Measurement, rule: Rule, unit: Unit) -> ThresholdQuestion<'q> {
        ThresholdQuestion {
            rule,
            unit,
            figure: &measured.figure,
            evidence: measured.evidence.as_ref(),
            weights: self.weights(),
            errored: &self.errored,
            missing: self.policy.missing,
        }
    }

    /// What a metric is divided by to be normalised.
    fn budget(&self, metric: &str, unit: Unit) -> Result<Option<f64>, Fault> {
        let normalise = self.policy.normalize.iter().find(|(name, _)| name.value == metric).map(|(_, t)| t);
        let gates = self.policy.gates.iter().find(|gate| gate.metric.value == metric).map(|gate| &gate.threshold);
        let Some(threshold) = normalise.or(gates) else { return Ok(None) };
        Ok(Some(threshold.amount_in(unit, metric)?))
    }

    /// The thresholds of the policy, those of the version among them.
    fn specs(&self) -> Result<Vec<GateSpec>, Fault> {
        let mut specs = self.policy.gates.clone();
        let Some(version) = self.case.version else { return Ok(specs) };
        if self.policy.progressive.is_empty() {
            return Err(Mistake {
                message: format!("the policy has no thresholds by version, so none for `{version}`"),
                span: None,
                hint: Some("add `progressive`, or leave `--for-version` out".into()),
            }
            .into());
        }
        for progressive in &self.policy.progressive {
            let row = progressive.versions.iter().find(|(known, _)| known.value.eq_ignore_ascii_case(version));
            let Some((_, threshold)) = row else {
                let known: Vec<&str> = progressive.versions.iter().map(|(known, _)| known.value.as_str()).collect();
                return Err(Mistake {
                    message: format!("`{}` has no threshold for version `{version}`", progressive.metric.value),
                    span: Some(progressive.metric.span.clone()),
                    hint: Some(format!("it has one for {}", known.join(", "))),
                }
                .into());
            };
            specs.push(GateSpec {
                metric: progressive.metric.clone(),
                threshold: threshold.clone(),
                level: Level::Blocking,
                origin: Origin::Progressive(version.to_owned()),
            });
        }
        Ok(specs)
    }

    /// A policy without a question has no answer, and least of all a pass.
    fn nothing_asked(&self) -> Result<PendingGate, Mistake> {
        if let Some(progressive) = self.policy.progressive.first() {
            let versions: Vec<&str> = progressive.versions.iter().map(|(version, _)| version.value.as_str()).collect();
            let hint = format!("choose a version with `--for-version`: {}", versions.join(", "));
            let mistake = Mistake::new("the policy asks for something only by version");
            return Err(mistake.at(&progressive.metric.span).hint(hint));
        }
        let judgement = Judgement::new(Verdict::Undecided, CoverageReason::NothingAsked);
        Ok(PendingGate::new(GateKind::Coverage, "policy", GateRule::SomethingAsked, judgement))
    }

    fn threshold_gates(&self, metrics: &mut Metrics) -> Result<Vec<PendingGate>, Fault> {
        let mut gates: Vec<PendingGate> = Vec::new();
        for spec in self.specs()? {
            let gate = self.threshold_gate(&spec, metrics)?;
            let is_same = |known: &&mut PendingGate| known.result.asks_the_same(&gate.result);
            match gates.iter_mut().find(is_same) {
                None => gates.push(gate),
                // One question asked twice is one gate; the risk table also says why.
                Some(known) if matches!(gate.result.kind, GateKind::Risk(_)) => {
                    known.result.kind = gate.result.kind;
                    known.result.rationale = gate.result.rationale;
                }
                Some(_) => {}
            }
        }
        Ok(gates)
    }

    /// The metric that a threshold is asked of, by the name that reports give it.
    fn metric_of(&self, spec: &GateSpec, metrics: &mut Metrics) -> Result<(String, Rc<Measurement>), Fault> {
        Ok(match &spec.origin {
            Origin::Category(category) => {
                (format!("{}[{category}]", spec.metric.value), Rc::new(self.category(category, &spec.metric, metrics)?))
            }
            _ => (spec.metric.value.clone(), metrics.get(self, &spec.metric)?),
        })
    }

    fn threshold_gate(&self, spec: &GateSpec, metrics: &mut Metrics) -> Result<PendingGate, Fault> {
        let (name, measured) = self.metric_of(spec, metrics)?;
        let (kind, rationale) = match &spec.origin {
            Origin::Thresholds => (GateKind::Metric, None),
            Origin::Overall => (GateKind::Overall, None),
            Origin::Category(category) => (GateKind::Category(category.clone()), None),
            Origin::Risk { level, rationale } => (GateKind::Risk(*level), rationale.clone()),
            Origin::Progressive(version) => (GateKind::Progressive(version.clone()), None),
        };
        let rule = spec.threshold.rule_in(measured.unit, measured.direction, &name)?;
        let decided = self.question(&measured, rule, measured.unit).decide(self.mode);
        let mut gate = self.gate(kind, name, spec.level, rule, &measured, decided);
        gate.result.rationale = rationale;
        Ok(gate)
    }

    fn gate(
        &self,
        kind: GateKind,
        name: String,
        level: Level,
        rule: Rule,
        measured: &Measurement,
        judgement: Judgement,
    ) -> PendingGate {
        let counts = counts(measured);
        let mut gate = PendingGate::new(kind, name, GateRule::Threshold { rule, counts }, judgement);
        gate.result = GateResult {
            level,
            threshold: Some(rule),
            figure: Some(measured.figure.clone()),
            unit: measured.unit,
            unweighted: measured.unweighted,
            counts: counts.filter(|_| measured.unweighted.is_none()),
            margin: measured.value().map(|value| rule.margin(value)),
            ..gate.result
        };
        gate
    }

    /// The pass rate of a category.
    fn category(&self, category: &str, metric: &Spanned<String>, metrics: &mut Metrics) -> Result<Measurement, Fault> {
        let all = metrics.get(self, metric)?;
        let is_of_it = |sample: u32| self.category_of[sample as usize].as_deref() == Some(category);
        let nothing = Reason::NoScenario { category: category.to_owned() };
        Ok(all.only(self, is_of_it, &nothing).unwrap_or_else(|| Measurement::undefined(&all, nothing)))
    }

    fn condition_gate(&self, formulas: &Formulas<'_, '_>) -> Option<PendingGate> {
        let pass = self.policy.pass.as_ref()?;
        let judgement = formulas.condition(&pass.value, &pass.value.expression, self.mode);
        let (figure, threshold) = formulas.main(&pass.value.expression).unzip();
        let margin = threshold
            .zip(figure.as_ref())
            .and_then(|(rule, figure): (Rule, &Figure)| Some(rule.margin(*figure.value.as_ref().ok()?)));
        let rule = GateRule::Condition(composite::one_line(&pass.value.text));
        let mut gate = PendingGate::new(GateKind::Composite, "composite", rule, judgement);
        gate.result = GateResult { threshold, figure, margin, ..gate.result };
        Some(gate)
    }

    /// Of many gates one fails by chance: a fail has to hold for all of them together (Holm 1979).
    fn forgive_chance(&self, gates: &mut [PendingGate]) {
        let Mode::Confidence(level) = self.mode else { return };
        let p_values: Vec<Option<f64>> = gates.iter().map(|gate| gate.p_fail).collect();
        let tested = p_values.iter().flatten().count();
        let Ok(adjusted) = adjust(&p_values, Correction::Holm) else { return };
        for (gate, p) in gates.iter_mut().zip(adjusted) {
            if gate.result.verdict == Verdict::Fail && p.is_some_and(|p| p > 1.0 - level) {
                gate.result.verdict = Verdict::Undecided;
                let reason = Box::new(gate.result.reason.clone());
                gate.result.reason = GateReason::PossiblyChance { reason, gates: tested };
            }
        }
    }

    fn categories(&self, gates: &[GateResult], metrics: &mut Metrics) -> Result<Vec<CategoryResult>, Fault> {
        let mut names: Vec<Arc<str>> = Vec::new();
        for category in self.summaries.iter().filter_map(|scenario| scenario.category.as_ref()) {
            if !names.contains(category) {
                names.push(category.clone());
            }
        }
        let pass_rate = Spanned { value: PASS_RATE.to_owned(), span: Span::nowhere() };
        let result = |category: Arc<str>| {
            let figure = self.category(&category, &pass_rate, metrics)?.figure;
            let weights = &self.policy.weights.by_category;
            let weight = weights.iter().find(|(known, _)| *known.value == *category).map(|(_, weight)| *weight);
            let gate = gates.iter().position(|gate| gate.kind == GateKind::Category(category.clone()));
            Ok(CategoryResult { weight: weight.or((!weights.is_empty()).then_some(1.0)), category, figure, gate })
        };
        names.into_iter().map(result).collect()
    }

    fn provenance(&self) -> Provenance {
        Provenance {
            level: self.context.confidence.level(),
            seed: self.context.seed.0,
            reducer: self.reducer.name().to_owned(),
            version: self.case.version.map(str::to_owned),
            ..self.case.provenance.clone()
        }
    }

    /// What to know about the run as a whole.
    fn caveats(&self, gates: &[GateResult]) -> Vec<GateCaveat> {
        let mut caveats = Vec::new();
        if !gates.iter().any(|gate| gate.level == Level::Blocking) {
            caveats.push(GateCaveat::NothingBlocks);
        }
        if self.case.version.is_none() && !self.policy.progressive.is_empty() {
            caveats.push(GateCaveat::NoVersion);
        }
        let wanted = u64::from(self.policy.epochs.count.unwrap_or(0));
        let few = self.summaries.iter().filter(|scenario| (scenario.attempts.len() as u64) < wanted).count() as u64;
        if few > 0 {
            caveats.push(GateCaveat::FewAttempts { scenarios: few, wanted });
        }
        caveats.extend(self.caveats_on_names());
        if let Some((baseline, age)) = self.case.baseline {
            caveats.extend(baseline_gates::caveats(self, baseline, age));
        }
        caveats
    }
}

/// Successes and all, where a figure counts.
fn counts(measured: &Measurement) -> Option<(u64, u64)> {
    if measured.unit != Unit::Rate {
        return None;
    }
    let is_count = |values: &[f64]| values.iter().all(|&x| x == 0.0 || x == 1.0);
    match measured.evidence.as_ref()? {
        Evidence::Mean { values, .. } if !values.is_empty() && is_count(values) => {
            Some((values.iter().sum::<f64>() as u64, values.len() as u64))
        }
        Evidence::Ratio { numerators, denominators, is_share: true, .. } => {
            Some((numerators.iter().sum::<f64>() as u64, denominators.iter().sum::<f64>() as u64))
        }
        _ => None,
    }
}

/// The verdict, and what decided it.
fn verdict(gates: &[GateResult], on_undecided: OnUndecided) -> (Verdict, DecidedBy) {
    let first =
        |verdict: Verdict| gates.iter().position(|gate| gate.level == Level::Blocking && gate.verdict == verdict);
    if let Some(place) = first(Verdict::Fail) {
        return (Verdict::Fail, DecidedBy::Gate(place));
    }
    // A run with nothing to judge does not pass, even if the policy only warns about what is undecided.
    let nothing = gates.iter().position(|gate| gate.kind == GateKind::Coverage);
    if let Some(place) = nothing.filter(|_| on_undecided != OnUndecided::Fail) {
        return (Verdict::Undecided, DecidedBy::Gate(place));
    }
    match (first(Verdict::Undecided), on_undecided) {
        (None, _) => {
            let blocking = gates.iter().filter(|gate| gate.level == Level::Blocking).count();
            (Verdict::Pass, DecidedBy::AllPassed { blocking })
        }
        (Some(place), OnUndecided::Undecided) => (Verdict::Undecided, DecidedBy::Gate(place)),
        (Some(place), OnUndecided::Fail) => (Verdict::Fail, DecidedBy::UndecidedAsFail(place)),
        (Some(place), OnUndecided::Warn) => (Verdict::Pass, DecidedBy::UndecidedAsWarning(place)),
    }
}

/// A mistake in a policy that came to light when it was applied.
fn mistake(error: Error, span: &Span) -> Mistake {
    Mistake { message: error.kind().to_string(), span: Some(error.place_within(span)), hint: error.kind().hint() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ScenarioReason;

    fn gate(kind: GateKind, level: Level, verdict: Verdict) -> GateResult {
        let reason = ScenarioReason::OftenEnough.into();
        GateResult { level, ..GateResult::new(kind, "gate", GateRule::EveryScenarioRan, verdict, reason) }
    }

    #[test]
    fn the_worst_blocking_gate_decides() {
        use Level::{Blocking, Warning};
        let of = |gates: &[(Level, Verdict)], on_undecided| {
            let gates: Vec<GateResult> =
                gates.iter().map(|(level, verdict)| gate(GateKind::Metric, *level, *verdict)).collect();
            verdict(&gates, on_undecided)
        };
        let (pass, open, fail) = (Verdict::Pass, Verdict::Undecided, Verdict::Fail);
        let all_passed = |blocking| DecidedBy::AllPassed { blocking };
        for (gates, on_undecided, want) in [
            (&[(Blocking, pass), (Warning, fail)][..], OnUndecided::Undecided, (pass, all_passed(1))),
            (&[(Warning, fail)], OnUndecided::Undecided, (pass, all_passed(0))),
            (&[(Blocking, open), (Blocking, fail)], OnUndecided::Warn, (fail, DecidedBy::Gate(1))),
            (&[(Blocking, pass), (Blocking, open)], OnUndecided::Undecided, (open, DecidedBy::Gate(1))),
            (&[(Blocking, open)], OnUndecided::Fail, (fail, DecidedBy::UndecidedAsFail(0))),
            (&[(Blocking, open)], OnUndecided::Warn, (pass, DecidedBy::UndecidedAsWarning(0))),
        ] {
            assert_eq!(of(gates, on_undecided), want);
        }
    }

    #[test]
    fn a_run_with_nothing_to_judge_never_passes() {
        let gates = [gate(GateKind::Coverage, Level::Blocking, Verdict::Undecided)];
        assert_eq!(verdict(&gates, OnUndecided::Warn), (Verdict::Undecided, DecidedBy::Gate(0)));
        assert_eq!(verdict(&gates, OnUndecided::Fail), (Verdict::Fail, DecidedBy::UndecidedAsFail(0)));
    }
}
