//! What may be wrong with a policy before any result is judged by it.
//!
//! A lint is a function that looks at a policy and says what it found. To add one, write the function and give it a line
//! in [`LINTS`].

mod chance;
mod demand;
mod formulas;
mod names;
mod scenarios;
mod thresholds;

use crate::Baseline;
use crate::policy::{Formula, GateSpec, Mistake, Origin, Policy, Span, Spanned, Threshold};
use calipers_core::{Context, Error, Evidence, Labels, Metric, Reducer, Registry, Samples, Seed, Unit, mean_score};
use demand::Demand;
use indexmap::IndexMap;

/// A policy with what is known of the runs that it will judge.
pub struct Draft<'a> {
    /// What must hold.
    pub policy: &'a Policy,
    /// The metrics that names stand for.
    pub registry: &'a Registry,
    /// The metric of a name or an expression.
    pub resolve: &'a dyn Fn(&str) -> Result<Metric, Error>,
    /// The reducer of a name.
    pub reducers: &'a dyn Fn(&str) -> Result<Reducer, Error>,
    /// Results of the kind that will be judged.
    pub samples: Option<&'a Samples>,
    /// The scenarios that there should be.
    pub suite: Option<&'a [String]>,
    /// A run to compare with.
    pub baseline: Option<&'a Baseline>,
}

/// Something that is wrong with a policy, or worth knowing about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// A short name that stays: `unknown-metric`.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What was found.
    pub message: String,
    /// Where.
    pub span: Option<Span>,
    /// What to do.
    pub fix: Option<String>,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The policy cannot be applied, or can never pass.
    Error,
    /// It can be applied, and does probably not what is meant.
    Warning,
    /// Worth knowing.
    Note,
}

/// The id of what is wrong with the file itself.
const MISTAKE: &str = "mistake";

type Check = fn(&Checker<'_>) -> Vec<Found>;

/// Every lint with its id, in the order in which their findings about one place are told.
const LINTS: [(&str, Check); 39] = [
    ("unknown-metric", names::unknown_metric),
    ("unknown-reducer", names::unknown_reducer),
    ("unknown-scorer", names::unknown_scorer),
    ("unmeasurable-metric", names::unmeasurable_metric),
    ("unused-metric", names::unused_metric),
    ("redefined-metric", names::redefined_metric),
    ("wrong-unit", thresholds::wrong_unit),
    ("unknown-direction", thresholds::unknown_direction),
    ("against-direction", thresholds::against_direction),
    ("unreachable-threshold", thresholds::unreachable),
    ("contradictory-thresholds", thresholds::contradictory),
    ("vacuous-threshold", thresholds::vacuous),
    ("ambiguous-unit", thresholds::ambiguous_unit),
    ("float-equality", thresholds::float_equality),
    ("duplicate-gate", thresholds::duplicate),
    ("shadowed-gate", thresholds::shadowed),
    ("blocking-softer-than-warning", thresholds::softer_than_warning),
    ("progressive-falls", thresholds::progressive_falls),
    ("risk-does-not-block", thresholds::risk_does_not_block),
    ("nothing-blocks", thresholds::nothing_blocks),
    ("no-budget", formulas::no_budget),
    ("composite-weights", formulas::composite_weights),
    ("undefined-formula", formulas::undefined),
    ("constant-condition", formulas::constant_condition),
    ("undecidable-gate", chance::undecidable),
    ("coin-flip-gate", chance::coin_flip),
    ("all-of-few", chance::all_of_few),
    ("few-attempts", chance::few_attempts),
    ("many-gates", chance::many_gates),
    ("low-confidence", chance::low_confidence),
    ("undecided-safety", chance::undecided_safety),
    ("above-baseline", chance::above_baseline),
    ("baseline-without-metric", names::baseline_without_metric),
    ("unknown-scenario", scenarios::unknown_scenario),
    ("unknown-category", scenarios::unknown_category),
    ("unknown-capability", scenarios::unknown_capability),
    ("optional-blocks", scenarios::optional_blocks),
    ("zero-weights", scenarios::zero_weights),
    ("zero-weight-gate", scenarios::zero_weight_gate),
];

/// The ids that findings may have.
pub fn lint_ids() -> impl Iterator<Item = &'static str> {
    std::iter::once(MISTAKE).chain(LINTS.iter().map(|(id, _)| *id))
}

/// All that is to be said about a policy, in the order of the file; what belongs to no place comes last.
///
/// ```
/// use calipers_gate::policy::Policy;
/// use calipers_gate::{Draft, lint};
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
/// assert_eq!(findings[0].id, "unknown-metric");
/// assert_eq!(findings[0].fix.as_deref(), Some("did you mean `accuracy`?"));
/// ```
#[must_use]
pub fn lint(draft: &Draft<'_>) -> Vec<Finding> {
    let checker = Checker::new(draft);
    let mut findings: Vec<Finding> = Vec::new();
    for (id, check) in LINTS {
        findings.extend(check(&checker).into_iter().map(|found| found.with_id(id)));
    }
    let place = |finding: &Finding| match &finding.span {
        Some(span) => (false, span.text.name.clone(), span.range.start),
        None => (true, String::new(), 0),
    };
    findings.sort_by_cached_key(place);
    findings
}

impl From<Mistake> for Finding {
    fn from(mistake: Mistake) -> Self {
        let Mistake { message, span, hint } = mistake;
        Self { id: MISTAKE, severity: Severity::Error, message, span, fix: hint }
    }
}

impl Severity {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// A finding whose lint has still to put its id to it.
struct Found {
    severity: Severity,
    message: String,
    span: Option<Span>,
    fix: Option<String>,
}

impl Found {
    fn new(severity: Severity, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { severity, message: message.into(), span: None, fix: Some(fix.into()) }
    }

    fn error(message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(Severity::Error, message, fix)
    }

    fn warning(message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(Severity::Warning, message, fix)
    }

    fn note(message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(Severity::Note, message, fix)
    }

    fn at(mut self, span: &Span) -> Self {
        self.span = Some(span.clone()).filter(|span| !span.text.name.is_empty());
        self
    }

    /// At the place of something, if it has one.
    fn at_some(self, span: Option<&Span>) -> Self {
        match span {
            Some(span) => self.at(span),
            None => self,
        }
    }

    fn with_id(self, id: &'static str) -> Finding {
        let Self { severity, message, span, fix } = self;
        Finding { id, severity, message, span, fix }
    }
}

/// What lints look at: the policy, and what was worked out once for all of them.
struct Checker<'a> {
    draft: &'a Draft<'a>,
    policy: &'a Policy,
    context: Option<Context>,
    reducer: Reducer,
    /// The metrics that the policy names, as far as they can be found.
    metrics: IndexMap<String, Result<Metric, Error>>,
    /// The gates that can be understood.
    gates: Vec<Gate<'a>>,
    /// Everything that is asked of a number: gates, and the comparisons that `pass` consists of.
    demands: Vec<Demand>,
    /// The scenarios of the samples.
    scenarios: Vec<Known>,
}

/// A scenario of the samples.
struct Known {
    id: String,
    category: Option<String>,
    capability: Option<String>,
}

/// A gate as it is understood.
struct Gate<'a> {
    spec: &'a GateSpec,
    demand: Demand,
    basis: Basis,
}

/// What a gate will rest on, with how many there are if that is known.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Basis {
    /// A share: each sample is a success or not.
    Share(Option<Count>),
    /// A mean of values between 0 and 1.
    Graded(Option<Count>),
    /// A quantile of attempts.
    Quantile(f64, Option<Count>),
    /// Something else.
    Other,
}

/// How many there are.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Count {
    total: u64,
    /// How many that count alike say as much: fewer, if they have weights.
    worth: u64,
    /// True when some are attempted several times.
    is_repeated: bool,
}

impl Count {
    fn of(total: u64) -> Self {
        Self { total, worth: total, is_repeated: false }
    }

    /// `20 samples`, `20 samples, worth 15 by their weights,`
    fn text(self, what: &str) -> String {
        let Self { total, worth, .. } = self;
        if worth == total {
            format!("{total} {what}")
        } else {
            format!("{total} {what}, worth {worth} by their weights,")
        }
    }
}

impl<'a> Checker<'a> {
    fn new(draft: &'a Draft<'a>) -> Self {
        let policy = draft.policy;
        let reducer = policy.epochs.reducer.as_ref().and_then(|name| (draft.reducers)(&name.value).ok());
        let reducer = reducer.unwrap_or_else(mean_score);
        let mut checker = Self {
            draft,
            policy,
            // The level and the seed change intervals, which nobody looks at here.
            context: Context::new(0.95, Seed(0), Labels::default()).ok(),
            reducer,
            metrics: IndexMap::new(),
            gates: Vec::new(),
            demands: Vec::new(),
            scenarios: draft.samples.map(known).unwrap_or_default(),
        };
        checker.metrics = checker.resolved();
        checker.gates = policy.gates.iter().filter_map(|spec| checker.gate(spec)).collect();
        checker.demands = checker.gates.iter().map(|gate| gate.demand.clone()).collect();
        let conditions = formulas::demands(&checker);
        checker.demands.extend(conditions);
        checker
    }

    /// The metric of each name that the policy uses.
    fn resolved(&self) -> IndexMap<String, Result<Metric, Error>> {
        let mut metrics = IndexMap::new();
        for named in names::named(self.policy) {
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

    fn gate(&self, spec: &'a GateSpec) -> Option<Gate<'a>> {
        let (unit, direction) = self.about(&spec.metric.value)?;
        let name = gate_name(spec);
        let rule = spec.threshold.rule_in(unit, direction, &name).ok()?;
        let demand =
            Demand { name, rule, unit, level: spec.level, span: spec.threshold.span.clone(), range: unit.range() };
        Some(Gate { spec, demand, basis: self.basis(spec, unit) })
    }

    /// What a gate rests on: as many as the samples have, or as the suite names.
    fn basis(&self, spec: &GateSpec, unit: Unit) -> Basis {
        let Some(metric) = self.metric(&spec.metric.value) else { return Basis::Other };
        match self.evidence(metric, &spec.origin) {
            Some(Evidence::Mean { samples, values, missing }) if unit == Unit::Rate => {
                let codes: Vec<u32> = samples.iter().chain(&missing).copied().collect();
                let count = self.count(&codes);
                let is_graded = values.iter().any(|&x| x != 0.0 && x != 1.0) && !count.is_repeated;
                if is_graded || is_graded_by_nature(metric) {
                    Basis::Graded(Some(count))
                } else {
                    Basis::Share(Some(count))
                }
            }
            Some(Evidence::Ratio { denominators, is_share: true, .. }) => {
                Basis::Share(Some(Count::of(denominators.iter().sum::<f64>() as u64)))
            }
            Some(Evidence::Quantile { p, values, missing, .. }) => {
                Basis::Quantile(p, Some(Count::of((values.len() + missing.len()) as u64)))
            }
            _ => self.planned(metric, spec, unit),
        }
    }

    /// How many samples these are, and what they are worth (Kish 1965: the square of the sum of the weights over the sum
    /// of their squares).
    fn count(&self, codes: &[u32]) -> Count {
        let total = codes.len() as u64;
        let is_repeated = self.draft.samples.is_some_and(|samples| samples.attempts() > samples.len());
        let weights: Vec<f64> = codes
            .iter()
            .filter_map(|&code| self.scenarios.get(code as usize))
            .map(|known| self.weight(known))
            .collect();
        let (sum, squares) = (weights.iter().sum::<f64>(), weights.iter().map(|weight| weight * weight).sum::<f64>());
        let worth = if squares > 0.0 { (sum * sum / squares * (1.0 + 1e-12)) as u64 } else { 0 };
        Count { total, worth: worth.min(total), is_repeated }
    }

    /// How much a scenario counts.
    fn weight(&self, known: &Known) -> f64 {
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

    /// The same from the list of scenarios: it says how many there are, but not of which kind.
    fn planned(&self, metric: &Metric, spec: &GateSpec, unit: Unit) -> Basis {
        let suite = self.draft.suite.map(|suite| Count::of(suite.len() as u64));
        let attempts = u64::from(self.policy.epochs.count.unwrap_or(1));
        let quantile = metric.name().strip_prefix("latency_p").and_then(|digits| digits.parse::<f64>().ok());
        if let Some(percent) = quantile {
            return Basis::Quantile(percent / 100.0, suite.map(|suite| Count::of(suite.total * attempts)));
        }
        if unit != Unit::Rate {
            return Basis::Other;
        }
        let of_all = matches!(spec.metric.as_str(), "pass_rate" | "accuracy" | "behavior_coverage");
        let is_category = matches!(spec.origin, Origin::Category(_));
        let count = suite.filter(|_| of_all && !is_category);
        if is_graded_by_nature(metric) { Basis::Graded(count) } else { Basis::Share(count) }
    }

    /// The formulas of the policy, the condition among them.
    fn formulas(&self) -> impl Iterator<Item = &'a Spanned<Formula>> {
        let policy = self.policy;
        policy.composite.iter().map(|composite| &composite.formula).chain(policy.pass.as_ref())
    }

    /// Every threshold of a metric, those of versions among them.
    fn thresholds(&self) -> impl Iterator<Item = (&'a Spanned<String>, &'a Threshold)> {
        let policy = self.policy;
        let gates = policy.gates.iter().map(|spec| (&spec.metric, &spec.threshold));
        let steps = policy.progressive.iter();
        gates.chain(steps.flat_map(|step| step.versions.iter().map(move |(_, threshold)| (&step.metric, threshold))))
    }

    /// The gates that decide something: of several about one number the strictest, and the first of equal ones.
    fn decisive(&self) -> impl Iterator<Item = &Gate<'a>> {
        self.gates.iter().enumerate().filter(|(at, gate)| !self.is_decided_elsewhere(*at, gate)).map(|(_, gate)| gate)
    }

    fn is_decided_elsewhere(&self, at: usize, gate: &Gate<'a>) -> bool {
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

/// What a gate is called in messages and in the report.
fn gate_name(spec: &GateSpec) -> String {
    match &spec.origin {
        Origin::Category(category) => format!("pass_rate[{category}]"),
        _ => spec.metric.value.clone(),
    }
}

/// True for a mean of shares, whatever the values happen to be.
fn is_graded_by_nature(metric: &Metric) -> bool {
    metric.name() == "behavior_coverage"
}

fn known(samples: &Samples) -> Vec<Known> {
    let one = |sample: u32| {
        let metadata = samples.metadata_of(sample);
        let text = |key: &str| metadata.get(key).map(ToString::to_string);
        Known { id: samples.id(sample).to_string(), category: text("category"), capability: text("capability") }
    };
    (0..samples.len() as u32).map(one).collect()
}

/// What was probably meant by a name, or what there is.
fn meant(name: &str, known: &[&str], what: &str) -> String {
    const LISTED: usize = 8;
    match calipers_core::nearest(name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.len() > LISTED => {
            format!("there are {} {what}, such as {}", known.len(), known[..LISTED].join(", "))
        }
        None => format!("the {what} are {}", known.join(", ")),
    }
}
