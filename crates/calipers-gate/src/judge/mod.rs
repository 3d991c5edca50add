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
mod quantile_units;
mod rubric;
mod scenario_rules;
mod similar_names;
mod threshold_question;
mod units;

use crate::clusters::find_likely;
use crate::policy::{
    Estimand, GateSpec, Level, Looks, Mistake, OnUndecided, Origin, Policy, PolicyRemedy, Rule, Span, Spanned,
    pass_rate_name,
};
use crate::{
    Baseline, CategoryResult, ClusterCount, ConfidenceTerms, CoverageReason, DecidedBy, GateKind, GateReason,
    GateReport, GateResult, GateRule, Look, Mode, Provenance, Unbounded,
};
use calipers_core::metric::{AttemptPlace, RunRows};
use calipers_core::{
    Caveat, Clusters, Context, Error, ErrorKind, Evidence, Figure, GateCaveat, Metric, PassRule, RatioLimits, Reason,
    Reducer, Registry, Samples, Scenarios, Tally, Undefined, Unit, Value, Verdict, mean_score,
};
use calipers_stats::Confidence;
use calipers_stats::multiplicity::{Correction, adjust};
use composite::Formulas;
use hashbrown::HashMap;
use measurement::{Measurement, Metrics};
use quantile_units::KnownUnits;
use scenario_rules::ScenarioNames;
use std::cell::OnceCell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use threshold_question::{AllowedErrors, Judgement, ThresholdQuestion};
use units::Units;

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
    /// Which look at the results of this suite it is, from 1 on, if looks are counted.
    pub look: Option<u64>,
    /// The version that thresholds are chosen for.
    pub version: Option<&'a str>,
    /// Whether the report lists every scenario. Of millions, a list takes longer than the verdict.
    pub lists_scenarios: bool,
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

/// The confidence that a look is left with: look k may err with the k-th part of α, α / (k (k + 1)), so that all looks
/// together err with at most α, however many there are.
fn level_of_look(level: f64, number: u64) -> f64 {
    let k = number.max(1) as f64;
    let alpha = (1.0 - level) / (k * (k + 1.0));
    // Two digits, rounded to the safe side: 0.0083 of 0.05 / 6. Rounding must not make 0.025 of what is nearly that.
    let unit = 10f64.powf(alpha.log10().floor() - 1.0);
    1.0 - (alpha / unit + 1e-6).floor() * unit
}

/// A case in the course of being judged.
struct Judge<'a> {
    case: &'a Case<'a>,
    policy: &'a Policy,
    samples: &'a Samples,
    context: Context,
    /// The score from which a scenario has passed, by the caller or the policy; a metric that the policy defines has its own.
    pass_threshold: Option<f64>,
    reducer: Reducer,
    scenarios: Scenarios<'a>,
    summaries: scenario_rules::ScenarioSummaries,
    weights: Option<Vec<f64>>,
    /// For each sample its cluster, if the policy says how samples go together.
    clusters: Option<Clusters>,
    errored: Vec<bool>,
    /// Every attempt of the run, where it matters which of them it is: where attempts are the units, or some ended in an error.
    places: Vec<AttemptPlace>,
    categories: ScenarioNames<'a>,
    capabilities: ScenarioNames<'a>,
    rows: RunRows<'a>,
    /// The attempts of quantiles by unit, as far as gates asked for them.
    known_units: KnownUnits,
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
        terms: judge.terms(),
        required: judge.checks(&case.policy.required),
        optional: judge.checks(&case.policy.optional),
        categories: judge.categories(&gates, &mut metrics)?,
        capability_weights: case
            .policy
            .weights
            .by_capability
            .iter()
            .map(|(capability, weight)| (capability.value.clone(), *weight))
            .collect(),
        composites,
        baseline,
        coverage,
        scenarios: if case.lists_scenarios { judge.scenario_results()? } else { Vec::new() },
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
    metrics.get(&judge, &Spanned { value: pass_rate_name().into(), span: Span::nowhere() })?;
    judge.threshold_gates(&mut metrics)?;
    Formulas::new(&judge, &mut metrics)?;
    // A metric may be compared with the baseline and have no threshold.
    for name in judge.policy.baseline.iter().flat_map(|rule| &rule.metrics) {
        metrics.get(&judge, name)?;
    }
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

/// An error if a scenario is in several categories, or has several capabilities, where the policy counts by them.
fn check_categories(policy: &Policy, samples: &Samples) -> Result<(), Error> {
    let has_criteria = policy.gates.iter().any(|gate| matches!(gate.origin, Origin::Category(_)));
    if has_criteria || !policy.weights.by_category.is_empty() {
        samples.check_single("category")?;
    }
    if policy.weights.by_capability.is_empty() { Ok(()) } else { samples.check_single("capability") }
}

/// A gate before chance among many gates is taken into account.
struct PendingGate {
    result: GateResult,
    /// How probable data this bad are on the threshold, where a gate can fail by chance.
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
        let pass_threshold =
            case.context.pass_threshold.or_else(|| policy.pass_threshold_of(case.samples, &case.context));
        // The samples of a suite that is given are not drawn, together or not.
        let drawn = policy.cluster.iter().filter(|_| policy.estimand == Estimand::QuestionsLikeThese);
        let cluster = drawn.map(|field| Arc::from(field.value.as_str())).collect();
        let context = Context { attempts: reducer.clone(), cluster, ..case.context.clone() };
        let pass_rule = pass_threshold.map_or_else(|| Ok(PassRule::default()), PassRule::new)?;
        case.samples.check_repeats()?;
        check_categories(policy, case.samples)?;
        let rows = RunRows::new(case.samples);
        let scenarios = Scenarios::of_run(&rows, &pass_rule, &context)?;
        let summaries = scenario_rules::summarize(policy, &scenarios, &reducer)?;
        let mut errored = vec![false; case.samples.len()];
        for scenario in summaries.iter().filter(|scenario| scenario.is_errored) {
            errored[scenario.sample as usize] = true;
        }
        let by_attempt = policy.estimand == Estimand::ThisSuiteRerun || errored.contains(&true);
        let places = if by_attempt { rows.attempt_places() } else { Vec::new() };
        let mode = match (policy.confidence, case.look) {
            (None, _) => Mode::Point,
            // A gate that may be looked at any number of times needs no count of looks.
            (Some(level), Some(number)) if policy.looks == Looks::Once => {
                Mode::Confidence(level_of_look(level, number))
            }
            (Some(level), _) => Mode::Confidence(level),
        };
        let mut judge = Self {
            case,
            policy,
            samples: case.samples,
            context,
            pass_threshold,
            reducer,
            scenarios,
            summaries,
            weights: None,
            clusters: None,
            errored,
            places,
            categories: ScenarioNames::new(case.samples, "category"),
            capabilities: ScenarioNames::new(case.samples, "capability"),
            rows,
            known_units: KnownUnits::default(),
            mode,
        };
        judge.weights = judge.scenario_weights()?;
        judge.clusters = judge.find_clusters()?;
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
        for scenario in self.summaries.iter() {
            each[scenario.sample as usize] =
                weight(&weights.by_category, self.categories.of(scenario.sample).map(|name| &**name))
                    * weight(&weights.by_capability, self.capabilities.of(scenario.sample).map(|name| &**name));
        }
        if !each.is_empty() && each.iter().all(|&weight| weight == 0.0) {
            return Err(Mistake::new("every scenario of the run has the weight 0")
                .at(&first.span)
                .hint("give at least one category or capability of the run a weight above 0")
                .into());
        }
        Ok(Some(each))
    }

    /// The clusters of the samples, if the policy says how samples go together.
    fn find_clusters(&self) -> Result<Option<Clusters>, Fault> {
        let fields = &self.policy.cluster;
        if fields.is_empty() {
            return Ok(None);
        }
        for field in fields.iter().filter(|_| !self.samples.is_empty()) {
            if self.samples.metadata_column(&field.value).is_none() {
                let known: Vec<String> = self.samples.metadata_keys().map(ToString::to_string).collect();
                let error = Error::from(ErrorKind::NoField { field: field.value.clone(), known });
                return Err(mistake(error, &field.span).into());
            }
            self.samples.check_single(&field.value)?;
        }
        Ok(Some(Clusters::by(self.samples, fields.iter().map(|field| field.value.as_str()))))
    }

    fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// The metric that a policy means by a name or an expression.
    fn metric(&self, name: &Spanned<String>) -> Result<Metric, Fault> {
        let own = self.policy.metrics.iter().find(|(known, _)| known.value == name.value);
        let resolved = match (own, self.pass_threshold) {
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

    /// The metric of a name with this pass threshold; none unless it takes one.
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
            broken: &measured.broken,
            places: &self.places,
            missing: self.policy.missing,
            units: self.units(),
            by_attempt: measured.by_attempt.as_ref(),
            ranges: &measured.ranges,
            is_in_formula: false,
            looks: self.policy.looks,
            known_units: &self.known_units,
            partly: &measured.partly,
            worst: OnceCell::new(),
        }
    }

    /// True when some samples may have attempts that ended in an error and others that did not.
    fn has_partly_broken_samples(&self) -> bool {
        self.errored.contains(&true) && self.places.len() > self.samples.len()
    }

    /// What is independent of what.
    fn units(&self) -> Units<'_> {
        match (self.policy.estimand, &self.clusters) {
            // The samples of a suite that is given are the same ones when it runs again, and so are its clusters.
            (Estimand::ThisSuiteRerun, _) => Units::Attempts,
            (_, Some(clusters)) => Units::Clusters(&clusters.of_samples),
            (_, None) => Units::Samples,
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
            let mistake = Mistake::new(format!("the policy has no thresholds by version, so none for `{version}`"));
            let mistake = mistake.hint("add `progressive`, or choose no version");
            return Err(mistake.remedy(PolicyRemedy::LeaveVersionOut).into());
        }
        for progressive in &self.policy.progressive {
            let row = progressive.versions.iter().find(|(known, _)| known.value.eq_ignore_ascii_case(version));
            let Some((_, threshold)) = row else {
                let known: Vec<&str> = progressive.versions.iter().map(|(known, _)| known.value.as_str()).collect();
                return Err(Mistake::new(format!(
                    "`{}` has no threshold for version `{version}`",
                    progressive.metric.value
                ))
                .at(&progressive.metric.span)
                .hint(format!("it has one for {}", known.join(", ")))
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
            let hint = format!("choose one of {}", versions.join(", "));
            let mistake = Mistake::new("the policy asks for something only by version");
            let mistake = mistake.at(&progressive.metric.span).hint(hint);
            return Err(mistake.remedy(PolicyRemedy::ChooseVersion));
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
                (format!("{}[{category}]", spec.metric.value), metrics.in_category(self, &spec.metric, category)?)
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
        let asked = self.question(&measured, rule, measured.unit);
        let decided = asked.decide(AllowedErrors::of(self.mode));
        let mut gate = self.gate(kind, name, spec.level, rule, &measured, decided);
        if let Some(figure) = &mut gate.result.figure {
            // Limits that the policy states close an interval that is open without them.
            let is_open = figure.caveats.iter().any(|caveat| matches!(caveat, Caveat::OpenInterval { .. }));
            if self.mode != Mode::Point || is_open {
                show_as_judged(figure, &asked, self.context.confidence);
            }
        }
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

    fn condition_gate(&self, formulas: &Formulas<'_, '_>) -> Option<PendingGate> {
        let pass = self.policy.pass.as_ref()?;
        let judgement = formulas.judge_condition(&pass.value, AllowedErrors::of(self.mode));
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
        let names = self.categories.count(self.summaries.iter().map(|scenario| scenario.sample));
        let pass_rate = Spanned { value: pass_rate_name().to_owned(), span: Span::nowhere() };
        let weights = &self.policy.weights.by_category;
        // In reverse, so that the first of several stays.
        let weight_of: HashMap<&str, f64> =
            weights.iter().rev().map(|(known, weight)| (known.value.as_str(), *weight)).collect();
        let gates_of = gates.iter().enumerate().rev().filter_map(|(place, gate)| match &gate.kind {
            GateKind::Category(category) => Some((&**category, place)),
            _ => None,
        });
        let gate_of: HashMap<&str, usize> = gates_of.collect();
        // With several scorers nothing says which of them passes a scenario, and the gates name their own. The table of
        // categories beside them is then without rates, which is no reason to refuse the policy.
        let is_unclear = gate_of.is_empty() && self.samples.scorers().count() > 1;
        let is_unclear = is_unclear && metrics.get(self, &pass_rate).is_err();
        let unclear = || {
            let reason = Undefined::new(Reason::NoOutcome, f64::NAN);
            Figure::from_result(Err(reason), Tally { n: 0, missing: 0 }, "none")
        };
        let result = |category: &Arc<str>| {
            let figure = match is_unclear {
                true => unclear(),
                false => metrics.in_category(self, &pass_rate, category)?.figure.clone(),
            };
            let weight = weight_of.get(&**category).copied().or((!weights.is_empty()).then_some(1.0));
            Ok(CategoryResult { weight, category: category.clone(), figure, gate: gate_of.get(&**category).copied() })
        };
        names.into_keys().map(result).collect()
    }

    /// What the confidence of the verdict holds for.
    fn terms(&self) -> ConfidenceTerms {
        let policy = self.policy;
        let look = policy.confidence.zip(self.case.look).filter(|_| policy.looks == Looks::Once);
        ConfidenceTerms {
            looks: policy.looks,
            look: look.map(|(level, number)| Look { number, level }),
            estimand: policy.estimand,
            clusters: self.clusters.as_ref().map(|clusters| ClusterCount {
                fields: policy.cluster.iter().map(|field| field.value.clone()).collect(),
                clusters: clusters.count,
                alone: clusters.alone,
            }),
        }
    }

    /// A field by which samples go together, though the policy does not say so.
    fn caveat_on_clusters(&self) -> Option<GateCaveat> {
        let is_asked = self.policy.cluster.is_empty() && self.policy.estimand == Estimand::QuestionsLikeThese;
        if !is_asked || self.mode == Mode::Point {
            return None;
        }
        let found = find_likely(self.samples, &self.summaries.pass_shares())?;
        Some(GateCaveat::LikelyClusters {
            field: found.field,
            clusters: found.clusters,
            samples: found.samples,
            correlation: found.correlation,
        })
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
        let few = self.summaries.iter().filter(|scenario| (scenario.attempts().len() as u64) < wanted).count() as u64;
        if few > 0 {
            caveats.push(GateCaveat::FewAttempts { scenarios: few, wanted });
        }
        if let Some(Clusters { alone: samples @ 1.., .. }) = self.clusters {
            let fields = self.policy.cluster.iter().map(|field| field.value.clone()).collect();
            caveats.push(GateCaveat::OutsideClusters { fields, samples });
        }
        caveats.extend(self.caveat_on_clusters());
        caveats.extend(self.caveats_on_names());
        if let Some((baseline, age)) = self.case.baseline {
            caveats.extend(baseline_gates::caveats(self, baseline, age));
        }
        caveats
    }
}

/// Gives a figure the interval of the test that decides, so that it never contradicts the verdict.
fn show_as_judged(figure: &mut Figure, asked: &ThresholdQuestion<'_>, confidence: Confidence) {
    if figure.value.is_err() || asked.evidence.is_none() {
        return;
    }
    figure.interval = asked.interval(confidence);
    if let Some(Evidence::Ratio { denominators, limits: RatioLimits::Counts { .. }, .. }) = asked.evidence {
        // What it is a share of: predictions, or positives; for F1 both, where a true positive is one of each.
        figure.n = denominators.iter().sum::<f64>() as u64;
    }
    if let Some(name) = asked.ranges.find_exceeded() {
        for caveat in &mut figure.caveats {
            if let Caveat::OpenInterval { lower, upper, .. } = *caveat {
                *caveat = Caveat::ExceededLimit { name: name.to_owned(), lower, upper };
            }
        }
    }
    // What was said about the interval that is replaced, and what equal and independent samples would show.
    let count_alike = matches!(asked.units, Units::Samples) && asked.weights.is_none();
    figure.caveats.retain(|caveat| match caveat {
        Caveat::Statistic(_) | Caveat::PooledAttempts { .. } => false,
        Caveat::OpenInterval { .. } | Caveat::ExceededLimit { .. } => {
            figure.interval.is_none_or(|interval| interval.width().is_none())
        }
        Caveat::PerfectScore { .. } => count_alike,
        _ => true,
    });
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
        Evidence::Ratio {
            numerators,
            denominators,
            limits: RatioLimits::Counts { success: 1.0 } | RatioLimits::Parts,
            ..
        } => Some((numerators.iter().sum::<f64>() as u64, denominators.iter().sum::<f64>() as u64)),
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
    let mistake = Mistake::new(error.kind().to_string()).at(&error.place_within(span));
    Mistake { hint: error.kind().hint(), ..mistake }
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
