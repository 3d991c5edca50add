//! What may be wrong with a policy, before any result is judged by it.
//!
//! A lint is a function from a policy to findings. To add one, write the function, give it a line in [`CHECKS`], add a
//! variant with its id to `finding.rs`, and give the variant its words in `calipers-render/src/policy/findings_words.rs`.

mod blocking;
mod chance;
mod demand;
mod finding;
mod formulas;
mod limits;
mod names;
mod scenarios;
mod thresholds;

use crate::Baseline;
use crate::policy::{Comparison, Formula, GateSpec, Origin, Policy, Rule, Span, Spanned, Threshold};
use calipers_core::{
    Clusters, Context, Error, Evidence, Labels, Metric, MetricBasis, PolicyRole, Reducer, Registry, Samples, Scope,
    Seed, Unit, mean_score,
};
use calipers_stats::proportion::perfect_needs;
use demand::Demand;
use indexmap::IndexMap;
use std::collections::HashMap;

pub use finding::{
    AgentChance, BlockingLint, ChanceLint, EvidenceCount, EvidenceUnit, Finding, FormulaLint, Lint, NameLint,
    ScenarioLint, Severity, ThresholdLint, UnmatchedName, WrittenAmount, lint_ids,
};

/// A policy, with what is known about the runs that it will judge.
pub struct Draft<'a> {
    /// What must hold.
    pub policy: &'a Policy,
    /// The metrics by name.
    pub registry: &'a Registry,
    /// Finds the metric of a name or an expression.
    pub resolve: &'a dyn Fn(&str) -> Result<Metric, Error>,
    /// Finds the reducer of a name.
    pub reducers: &'a dyn Fn(&str) -> Result<Reducer, Error>,
    /// Results of the kind that will be judged.
    pub samples: Option<&'a Samples>,
    /// The ids of all scenarios that a run should have.
    pub suite: Option<&'a [String]>,
    /// A run to compare with.
    pub baseline: Option<&'a Baseline>,
}

type Check = fn(&PolicyChecker<'_>) -> Vec<Finding>;

/// Every lint, in the order in which findings about the same place are reported.
const CHECKS: [Check; 42] = [
    names::unknown_metric,
    names::unknown_reducer,
    names::unknown_scorer,
    names::unmeasurable_metric,
    names::unused_metric,
    names::redefined_metric,
    limits::unused_limit,
    thresholds::wrong_unit,
    thresholds::unknown_direction,
    thresholds::against_direction,
    thresholds::unreachable,
    thresholds::contradictory,
    thresholds::vacuous,
    thresholds::ambiguous_unit,
    thresholds::float_equality,
    blocking::duplicate,
    blocking::find_shadowed,
    blocking::softer_than_warning,
    blocking::progressive_falls,
    blocking::risk_does_not_block,
    blocking::nothing_blocks,
    formulas::no_budget,
    formulas::composite_weights,
    formulas::find_undefined,
    formulas::constant_condition,
    chance::undecidable,
    limits::no_limit,
    chance::likely_clusters,
    chance::coin_flip,
    chance::all_of_few,
    chance::few_attempts,
    chance::many_gates,
    chance::low_confidence,
    chance::undecided_safety,
    chance::above_baseline,
    names::baseline_without_metric,
    scenarios::unknown_scenario,
    scenarios::unknown_category,
    scenarios::unknown_capability,
    scenarios::optional_blocks,
    scenarios::zero_weights,
    scenarios::zero_weight_gate,
];

/// Checks a policy. Findings are in the order of the file; those about the policy as a whole come last.
///
/// ```
/// use calipers_gate::policy::Policy;
/// use calipers_gate::{Draft, Lint, NameLint, lint};
/// use calipers_core::{Reducer, Registry, Value};
/// # use calipers_gate::policy::document::{Data, Item};
/// # use calipers_gate::policy::{Span, Spanned};
/// # let item = |value| Item { value, span: Span::nowhere() };
/// # let map = |key: &str, value| item(Data::Map(vec![(Spanned { value: key.to_owned(), span: Span::nowhere() }, value)]));
/// # let document = map("thresholds", map("blocking", map("acuracy", item(Data::Number(90.0)))));
/// let policy = Policy::parse(&document).expect("no mistakes"); // {"thresholds": {"blocking": {"acuracy": 90}}}
/// let registry = Registry::builtin();
/// let findings = lint(&Draft {
///     policy: &policy,
///     registry: &registry,
///     resolve: &|name| registry.metric(name, &Value::Null),
///     reducers: &Reducer::parse,
///     samples: None,
///     suite: None,
///     baseline: None,
/// });
/// assert_eq!(findings[0].id(), "unknown-metric");
/// let Lint::Name(NameLint::UnknownMetric(error)) = &findings[0].lint else { panic!("another lint") };
/// assert_eq!(error.kind().hint().as_deref(), Some("did you mean `accuracy`?"));
/// ```
#[must_use]
pub fn lint(draft: &Draft<'_>) -> Vec<Finding> {
    let checker = PolicyChecker::new(draft);
    let mut findings: Vec<Finding> = CHECKS.iter().flat_map(|check| check(&checker)).collect();
    let place = |finding: &Finding| match &finding.span {
        Some(span) => (false, span.text.name.clone(), span.range.start),
        None => (true, String::new(), 0),
    };
    findings.sort_by_cached_key(place);
    findings
}

/// What lints look at: the policy, and what is computed once for all of them.
struct PolicyChecker<'a> {
    draft: &'a Draft<'a>,
    policy: &'a Policy,
    context: Option<Context>,
    reducer: Reducer,
    /// The metrics that the policy names.
    metrics: IndexMap<String, Result<Metric, Error>>,
    /// The gates whose metric and threshold are understood.
    gates: Vec<ResolvedGate<'a>>,
    /// Everything that is required of a number: gates, and the comparisons of `pass`.
    demands: Vec<Demand>,
    /// The scenarios of the samples.
    scenarios: Vec<KnownScenario>,
    /// The clusters of the samples, if the policy says how samples go together.
    clusters: Option<Clusters>,
}

/// A scenario of the samples.
struct KnownScenario {
    id: String,
    category: Option<String>,
    capability: Option<String>,
}

/// A gate whose metric and threshold are understood.
struct ResolvedGate<'a> {
    spec: &'a GateSpec,
    demand: Demand,
    basis: GateBasis,
}

/// What a gate will rest on, with how many there are if that is known.
#[derive(Clone, Copy, Debug, PartialEq)]
enum GateBasis {
    /// A share: each sample is a success or not.
    Share(Option<EvidenceCount>),
    /// A mean of values between 0 and 1.
    Graded(Option<EvidenceCount>),
    /// A quantile of attempts.
    Quantile(f64, Option<EvidenceCount>),
    /// Something else.
    Other,
}

/// So many, of equal weight and attempted once.
fn equal_count(total: u64, unit: EvidenceUnit) -> EvidenceCount {
    EvidenceCount { total, effective: total, is_repeated: false, unit }
}

impl<'a> PolicyChecker<'a> {
    fn new(draft: &'a Draft<'a>) -> Self {
        let policy = draft.policy;
        let reducer = policy.epochs.reducer.as_ref().and_then(|name| (draft.reducers)(&name.value).ok());
        let reducer = reducer.unwrap_or_else(mean_score);
        let mut checker = Self {
            draft,
            policy,
            // The level and the seed change only intervals, which no lint uses.
            context: Context::new(0.95, Seed(0), Labels::default()).ok(),
            reducer,
            metrics: IndexMap::new(),
            gates: Vec::new(),
            demands: Vec::new(),
            scenarios: draft.samples.map(known_scenarios).unwrap_or_default(),
            clusters: draft
                .samples
                .filter(|_| !policy.cluster.is_empty())
                .map(|samples| Clusters::by(samples, policy.cluster.iter().map(|field| field.value.as_str()))),
        };
        checker.metrics = checker.resolve_metrics();
        checker.gates = policy.gates.iter().filter_map(|spec| checker.gate(spec)).collect();
        checker.demands = checker.gates.iter().map(|gate| gate.demand.clone()).collect();
        let conditions = formulas::demands(&checker);
        checker.demands.extend(conditions);
        checker
    }

    /// The metric of each name that the policy uses.
    fn resolve_metrics(&self) -> IndexMap<String, Result<Metric, Error>> {
        let mut metrics = IndexMap::new();
        for named in names::metric_names(self.policy) {
            if !metrics.contains_key(&named.value) {
                let own = self.policy.metrics.iter().find(|(known, _)| known.value == named.value);
                let text = own.map_or(&named.value, |(_, expression)| &expression.value);
                let metric = (self.draft.resolve)(text);
                metrics.insert(named.value, metric);
            }
        }
        metrics
    }

    fn metric(&self, name: &str) -> Option<&Metric> {
        self.metrics.get(name)?.as_ref().ok()
    }

    /// The unit of a metric and its better side.
    fn about(&self, name: &str) -> Option<(Unit, Option<calipers_stats::threshold_test::Direction>)> {
        self.metric(name).map(|metric| self.draft.registry.sense(metric))
    }

    /// True when a metric declares this role in policies.
    fn has_role(&self, name: &str, role: PolicyRole<'_>) -> bool {
        let about = self.metric(name).and_then(|metric| self.draft.registry.about(metric.name()));
        about.is_some_and(|about| about.role == Some(role))
    }

    fn gate(&self, spec: &'a GateSpec) -> Option<ResolvedGate<'a>> {
        let (unit, direction) = self.about(&spec.metric.value)?;
        let name = gate_name(spec);
        let rule = spec.threshold.rule_in(unit, direction, &name).ok()?;
        let demand = Demand {
            name,
            metric: spec.metric.value.clone(),
            rule,
            unit,
            level: spec.level,
            span: spec.threshold.span.clone(),
            range: unit.range(),
        };
        let basis = self.basis(spec, unit, rule);
        Some(ResolvedGate { spec, demand, basis })
    }

    /// What a gate rests on, from the samples or else from the suite.
    fn basis(&self, spec: &GateSpec, unit: Unit, rule: Rule) -> GateBasis {
        let Some(metric) = self.metric(&spec.metric.value) else { return GateBasis::Other };
        match self.evidence(metric, &spec.origin) {
            Some(Evidence::Mean { samples, values, missing }) if unit == Unit::Rate => {
                let codes: Vec<u32> = samples.iter().chain(&missing).copied().collect();
                let wants_more = matches!(rule.comparison, Comparison::AtLeast | Comparison::Above);
                let count = self.evidence_count(&codes, if wants_more { rule.value } else { 1.0 - rule.value });
                let is_graded = values.iter().any(|&x| x != 0.0 && x != 1.0) && !count.is_repeated;
                if is_graded || metric.basis() == MetricBasis::Grades {
                    GateBasis::Graded(Some(count))
                } else {
                    GateBasis::Share(Some(count))
                }
            }
            Some(Evidence::Ratio { denominators, limits, .. }) if limits.is_share() => {
                GateBasis::Share(Some(equal_count(denominators.iter().sum::<f64>() as u64, EvidenceUnit::Samples)))
            }
            Some(Evidence::Quantile { p, samples, missing, .. }) => {
                let mut codes: Vec<u32> = samples.iter().chain(&missing).copied().collect();
                let attempts = codes.len();
                codes.sort_unstable();
                codes.dedup();
                // Attempts of one sample go together, and so do samples of one cluster.
                let is_apart = codes.len() == attempts && self.policy.cluster.is_empty();
                let count = if is_apart {
                    equal_count(attempts as u64, EvidenceUnit::Attempts)
                } else {
                    let wants_more = matches!(rule.comparison, Comparison::AtLeast | Comparison::Above);
                    self.unit_count(&codes, |_| 1.0, if wants_more { 1.0 - p } else { p })
                };
                GateBasis::Quantile(p, Some(count))
            }
            _ => self.basis_from_suite(metric, spec, unit),
        }
    }

    /// How many samples these are, and how many independent ones that count alike show as much.
    fn evidence_count(&self, codes: &[u32], share: f64) -> EvidenceCount {
        let weight = |code: u32| self.scenarios.get(code as usize).map_or(0.0, |known| self.weight(known));
        self.unit_count(codes, weight, share)
    }

    /// The same with these weights. With confidence, it is how many equal ones show as much of this share if all succeed, where
    /// an unseen one is as heavy as the heaviest.
    fn unit_count(&self, codes: &[u32], weight: impl Fn(u32) -> f64, share: f64) -> EvidenceCount {
        let total = codes.len() as u64;
        let is_repeated = self.draft.samples.is_some_and(|samples| samples.attempts() > samples.len());
        let mut by_unit: HashMap<u32, f64> = HashMap::new();
        for &code in codes {
            let unit = self.clusters.as_ref().map_or(code, |clusters| clusters.of_samples[code as usize]);
            *by_unit.entry(unit).or_insert(0.0) += weight(code);
        }
        let mut weights: Vec<f64> = by_unit.into_values().collect();
        weights.sort_by(f64::total_cmp);
        let (sum, most) = (weights.iter().sum::<f64>(), weights.last().copied().unwrap_or(0.0));
        let squares: f64 = weights.iter().map(|weight| weight * weight).sum();
        let effective = match self.policy.confidence.filter(|_| share > 0.0 && share < 1.0) {
            _ if most <= 0.0 => 0,
            // By estimate, what counts is how widely the estimate scatters (Kish 1965).
            None => (sum * sum / squares * (1.0 + 1e-12)) as u64,
            Some(confidence) => {
                let alpha = 1.0 - confidence;
                let loss = |weight: &f64| ((1.0 - share) * weight / (share * most)).ln_1p();
                let ln_p = -weights.iter().map(loss).sum::<f64>();
                let worth = (ln_p / share.ln() * (1.0 + 1e-12)) as u64;
                // Whole numbers of equal samples must not say otherwise than the test.
                match perfect_needs(share, alpha) {
                    Ok(needed) if ln_p <= alpha.ln() => worth.max(needed),
                    Ok(needed) => worth.min(needed - 1),
                    Err(_) => worth,
                }
            }
        };
        EvidenceCount { total, effective: effective.min(total), is_repeated, unit: EvidenceUnit::Samples }
    }

    /// The weight of a scenario.
    fn weight(&self, known: &KnownScenario) -> f64 {
        let of = |list: &[(Spanned<String>, f64)], name: Option<&String>| {
            name.and_then(|name| list.iter().find(|(known, _)| known.value == *name)).map_or(1.0, |(_, weight)| *weight)
        };
        let weights = &self.policy.weights;
        of(&weights.by_category, known.category.as_ref()) * of(&weights.by_capability, known.capability.as_ref())
    }

    fn evidence(&self, metric: &Metric, origin: &Origin) -> Option<Evidence> {
        let samples = self.draft.samples?;
        let chosen = match origin {
            Origin::Category(category) => metric.clone().only_where([("category", &**category)]).ok()?,
            _ => metric.clone(),
        };
        chosen.evidence(samples, &self.reducer, None, self.context.as_ref()?).ok()?
    }

    /// The same from the suite: it has the number of scenarios, but not their categories.
    fn basis_from_suite(&self, metric: &Metric, spec: &GateSpec, unit: Unit) -> GateBasis {
        let is_of_all = *metric.scope() == Scope::EverySample && !matches!(spec.origin, Origin::Category(_));
        let total = self.draft.suite.filter(|_| is_of_all).map(|suite| suite.len() as u64);
        let attempts = u64::from(self.policy.epochs.count.unwrap_or(1));
        let samples = total.map(|total| equal_count(total, EvidenceUnit::Samples));
        match metric.basis() {
            MetricBasis::Quantile(p) => {
                GateBasis::Quantile(p, total.map(|total| equal_count(total * attempts, EvidenceUnit::Attempts)))
            }
            _ if unit != Unit::Rate => GateBasis::Other,
            MetricBasis::Grades => GateBasis::Graded(samples),
            MetricBasis::PassShares | MetricBasis::Unknown => GateBasis::Share(samples),
        }
    }

    /// The formulas of the policy, including the condition.
    fn formulas(&self) -> impl Iterator<Item = &'a Spanned<Formula>> {
        let policy = self.policy;
        policy.composite.iter().map(|composite| &composite.formula).chain(policy.pass.as_ref())
    }

    /// Every threshold of a metric, including those of versions.
    fn thresholds(&self) -> impl Iterator<Item = (&'a Spanned<String>, &'a Threshold)> {
        let policy = self.policy;
        let gates = policy.gates.iter().map(|spec| (&spec.metric, &spec.threshold));
        let steps = policy.progressive.iter();
        gates.chain(steps.flat_map(|step| step.versions.iter().map(move |(_, threshold)| (&step.metric, threshold))))
    }

    /// The gates that can change the verdict: of several about one number the strictest, and of equal ones the first.
    fn decisive(&self) -> impl Iterator<Item = &ResolvedGate<'a>> {
        self.gates.iter().enumerate().filter(|(at, gate)| !self.is_decided_elsewhere(*at, gate)).map(|(_, gate)| gate)
    }

    fn is_decided_elsewhere(&self, at: usize, gate: &ResolvedGate<'a>) -> bool {
        let mut others = self.gates.iter().enumerate().filter(|(place, _)| *place != at);
        others.any(|(place, other)| {
            let is_same = gate.demand.is_same(&other.demand) && gate.spec.level == other.spec.level;
            gate.demand.name == other.demand.name
                && other.spec.level <= gate.spec.level
                && gate.demand.follows_from(&other.demand)
                && (!is_same || place < at)
        })
    }

    /// The place of a key of the policy.
    fn key(&self, name: &str) -> Option<&'a Span> {
        self.policy.keys.iter().find(|key| key.value == name).map(|key| &key.span)
    }
}

/// The name of a gate in findings and in the report.
fn gate_name(spec: &GateSpec) -> String {
    match &spec.origin {
        Origin::Category(category) => format!("{}[{category}]", spec.metric.value),
        _ => spec.metric.value.clone(),
    }
}

fn known_scenarios(samples: &Samples) -> Vec<KnownScenario> {
    let one = |sample: u32| {
        let text = |key: &str| samples.metadata_column(key)?.value(sample).map(ToString::to_string);
        KnownScenario { id: samples.id(sample).to_string(), category: text("category"), capability: text("capability") }
    };
    (0..samples.len() as u32).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::document::{Data, Item};
    use crate::policy::{Comparison, RiskLevel, SourceText, WrittenUnit};
    use calipers_core::Value;
    use std::sync::Arc;

    fn item(value: Data) -> Item {
        // A place in a file that has a name: findings without one belong to no place.
        let text = Arc::new(SourceText { name: "policy.json".into(), text: "1\n".into() });
        Item { value, span: Span { text, range: 0..1 } }
    }

    fn map(entries: Vec<(&str, Item)>) -> Item {
        let key = |key: &str| Spanned { value: key.to_owned(), span: item(Data::Null).span };
        item(Data::Map(entries.into_iter().map(|(name, value)| (key(name), value)).collect()))
    }

    fn text(text: &str) -> Item {
        item(Data::Text(text.to_owned()))
    }

    fn number(number: f64) -> Item {
        item(Data::Number(number))
    }

    fn blocking(entries: Vec<(&str, Item)>) -> (&'static str, Item) {
        ("thresholds", map(vec![("blocking", map(entries))]))
    }

    /// Twenty samples with one attempt each, all of which passed.
    fn samples() -> Samples {
        let mut samples = Samples::new();
        for id in 1..=20 {
            samples.push(id).metadata("category", "happy_path").field("passed", true).score("judge", 1.0);
        }
        samples
    }

    fn findings(policy: Vec<(&str, Item)>, samples: Option<&Samples>) -> Vec<Finding> {
        let policy = Policy::parse(&map(policy)).expect("no mistakes");
        let registry = Registry::builtin();
        lint(&Draft {
            policy: &policy,
            registry: &registry,
            resolve: &|name| registry.metric(name, &Value::Null),
            reducers: &Reducer::parse,
            samples,
            suite: None,
            baseline: None,
        })
    }

    #[track_caller]
    fn only(policy: Vec<(&str, Item)>, samples: Option<&Samples>, wanted: &str) -> (Severity, Lint) {
        let mut found = findings(policy, samples);
        found.retain(|finding| finding.id() == wanted);
        assert_eq!(found.len(), 1, "{wanted}: {found:#?}");
        let finding = found.remove(0);
        (finding.severity, finding.lint)
    }

    fn rate(name: &str, comparison: Comparison, value: f64) -> crate::policy::MetricRule {
        crate::policy::MetricRule {
            name: name.into(),
            rule: crate::policy::Rule { comparison, value },
            unit: Unit::Rate,
        }
    }

    #[test]
    fn thresholds_out_of_range_carry_the_range() {
        let (severity, lint) = only(vec![blocking(vec![("accuracy", text("> 100%"))])], None, "unreachable-threshold");
        let rule = rate("accuracy", Comparison::Above, 1.0);
        let want = ThresholdLint::UnreachableThreshold { rule, range: (0.0, 1.0) };
        assert_eq!((severity, lint), (Severity::Error, want.into()));
        let warning = ("thresholds", map(vec![("warning", map(vec![("accuracy", text("> 100%"))]))]));
        assert_eq!(only(vec![warning], None, "unreachable-threshold").0, Severity::Warning);
        let (severity, lint) = only(vec![blocking(vec![("accuracy", number(0.0))])], None, "vacuous-threshold");
        let rule = rate("accuracy", Comparison::AtLeast, 0.0);
        assert_eq!(
            (severity, lint),
            (Severity::Warning, ThresholdLint::VacuousThreshold { rule, range: (0.0, 1.0) }.into())
        );
    }

    #[test]
    fn ambiguous_numbers_carry_both_readings() {
        use WrittenUnit::{Milliseconds, Percent, Seconds};
        for (metric, written, reading, alternative) in [
            ("accuracy", number(1.0), (100.0, Percent), (1.0, Percent)),
            ("accuracy", number(9.0), (9.0, Percent), (90.0, Percent)),
            ("accuracy", text("≥ 0.95%"), (0.95, Percent), (95.0, Percent)),
            ("latency_p95", number(5.0), (5.0, Milliseconds), (5.0, Seconds)),
        ] {
            let (_, lint) = only(vec![blocking(vec![(metric, written)])], None, "ambiguous-unit");
            let Lint::Threshold(ThresholdLint::AmbiguousUnit { reading: found, alternative: other, .. }) = lint else {
                panic!("{lint:?}")
            };
            assert_eq!((found.number, found.unit), reading, "{metric}");
            assert!((other.number - alternative.0).abs() < 1e-9 && other.unit == alternative.1, "{other:?}");
        }
    }

    #[test]
    fn an_undecidable_gate_carries_what_there_is_and_what_is_needed() {
        let policy = || vec![blocking(vec![("accuracy", number(95.0))]), ("confidence", number(0.95))];
        // 0.05^(1/20) = 0.8609 and ln 0.05 / ln 0.95 = 58.4, so 59.
        let samples = samples();
        let (severity, lint) = only(policy(), Some(&samples), "undecidable-gate");
        let Lint::Chance(ChanceLint::UndecidableGate { have, best, needed, confidence, .. }) = lint else {
            panic!("{lint:?}")
        };
        assert_eq!((severity, have.total, have.effective, needed, confidence), (Severity::Error, 20, 20, 59, 0.95));
        assert!(best.is_some_and(|best| (best - 0.860_89).abs() < 1e-5), "{best:?}");
        let (severity, lint) = only(policy(), None, "undecidable-gate");
        let rule = rate("accuracy", Comparison::AtLeast, 0.95);
        let unit = EvidenceUnit::Samples;
        let want = ChanceLint::PerfectRunNeeds { rule, confidence: 0.95, needed: 59, unit };
        assert_eq!((severity, lint), (Severity::Note, want.into()));
    }

    #[test]
    fn a_coin_flip_carries_the_chances_of_both_errors() {
        let samples = samples();
        let (_, lint) = only(vec![blocking(vec![("accuracy", number(90.0))])], Some(&samples), "coin-flip-gate");
        let Lint::Chance(ChanceLint::CoinFlip { better, worse, have, .. }) = lint else { panic!("{lint:?}") };
        // P(X ≤ 17) for X ~ Bin(20, 0.95) and P(X ≥ 18) for X ~ Bin(20, 0.85), summed in Python 3.
        assert!((better.rate - 0.95).abs() < 1e-12 && (better.chance - 0.075_483).abs() < 1e-6, "{better:?}");
        assert!((worse.rate - 0.85).abs() < 1e-12 && (worse.chance - 0.404_896).abs() < 1e-6, "{worse:?}");
        assert!(!have.is_repeated);
    }

    #[test]
    fn names_carry_the_nearest_one_and_examples() {
        let known = ["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9"];
        let near = UnmatchedName::new("adversarail", &["adversarial", "happy_path"]);
        assert_eq!((near.nearest.as_deref(), near.known), (Some("adversarial"), 2));
        let far = UnmatchedName::new("something else", &known);
        assert_eq!((far.nearest, far.known, far.examples.len()), (None, 9, 8));
        let samples = samples();
        let criteria = ("pass_criteria", map(vec![("by_category", map(vec![("happy-path", text("90%"))]))]));
        let (severity, lint) = only(vec![criteria], Some(&samples), "unknown-category");
        let Lint::Scenario(ScenarioLint::UnknownCategory { category, samples }) = lint else { panic!("{lint:?}") };
        assert_eq!((severity, category.nearest.as_deref(), samples), (Severity::Error, Some("happy_path"), 20));
    }

    #[test]
    fn what_blocks_nothing_is_counted() {
        let warning = |entries| ("thresholds", map(vec![("warning", map(entries))]));
        for (policy, severity, want) in [
            (vec![("name", text("empty"))], Severity::Error, BlockingLint::EmptyPolicy),
            (
                vec![warning(vec![("accuracy", number(90.0))])],
                Severity::Warning,
                BlockingLint::NothingBlocks { gates: 1 },
            ),
            (
                vec![("progressive", map(vec![("accuracy", map(vec![("v1", number(90.0))]))]))],
                Severity::Warning,
                BlockingLint::NothingBlocksWithoutVersion,
            ),
        ] {
            assert_eq!(only(policy, None, "nothing-blocks"), (severity, want.into()));
        }
        let row = map(vec![("level", text("high")), ("metric", text("accuracy")), ("threshold", number(90.0))]);
        let policy = vec![("risk", item(Data::List(vec![row]))), ("risk_blocking", item(Data::List(vec![])))];
        let want = BlockingLint::RiskDoesNotBlock { level: RiskLevel::High, metric: "accuracy".into() };
        assert_eq!(only(policy, None, "risk-does-not-block"), (Severity::Warning, want.into()));
    }

    #[test]
    fn weights_and_formulas_carry_their_sums_and_parts() {
        let formula = |text_: &str| {
            let composite = vec![("s", text(text_)), ("pass", text("s ≥ 0.5"))];
            vec![("composite", map(composite))]
        };
        let (_, lint) = only(formula("accuracy × 0.3 + safety_rate × 0.4"), None, "composite-weights");
        let Lint::Formula(FormulaLint::CompositeWeights { weights, sum, .. }) = lint else { panic!("{lint:?}") };
        assert!(weights == 2 && (sum - 0.7).abs() < 1e-12);
        let (_, lint) = only(formula("accuracy / (accuracy - accuracy)"), None, "undefined-formula");
        let operation = crate::policy::UndefinedOperation::DivisionByZero;
        let written = "accuracy / (accuracy - accuracy)".to_owned();
        assert_eq!(lint, FormulaLint::UndefinedFormula { written, operation }.into());
        let (severity, lint) =
            only(vec![("composite", map(vec![("pass", text("1 = 2"))]))], None, "constant-condition");
        let want = FormulaLint::ConstantCondition { written: "1 = 2".into(), holds: false };
        assert_eq!((severity, lint), (Severity::Error, want.into()));
    }

    #[test]
    fn a_metric_under_another_name_is_known_by_what_it_declares() {
        let own = |metric: &str| ("metrics", map(vec![("own", text(metric))]));
        let gate = || blocking(vec![("own", number(100.0))]);
        let undecided = vec![own("safety_rate"), blocking(vec![("own", number(90.0))]), ("on_undecided", text("warn"))];
        let want = ChanceLint::UndecidedSafety { gates: 1 };
        assert_eq!(only(undecided, None, "undecided-safety"), (Severity::Warning, want.into()));
        let weights = ("weights", map(vec![("by_category", map(vec![("adversarial", number(0.0))]))]));
        let (_, lint) = only(vec![own("safety_rate"), gate(), weights], None, "zero-weight-gate");
        let want = ScenarioLint::ZeroWeightGate { category: "adversarial".into(), metric: "own".into() };
        assert_eq!(lint, want.into());
        let optional = || ("optional_scenarios", item(Data::List(vec![text("1")])));
        let policy = vec![own("pass_rate"), gate(), optional()];
        let (severity, lint) = only(policy, Some(&samples()), "optional-blocks");
        assert!(severity == Severity::Warning && matches!(lint, Lint::Scenario(ScenarioLint::OptionalBlocks { .. })));
        let accuracy = findings(vec![own("accuracy"), gate(), optional()], Some(&samples()));
        assert!(!accuracy.iter().any(|finding| finding.id() == "optional-blocks"), "{accuracy:#?}");
    }

    #[test]
    fn every_id_is_listed_once() {
        let mut ids: Vec<&str> = lint_ids().collect();
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!((ids.len(), CHECKS.len() + 1), (all, all), "one id per check, and `mistake`");
    }
}
