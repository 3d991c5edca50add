//! What a lint found: data only. `calipers-render` turns it into a message and a fix.

use crate::MissingLimit;
use crate::policy::{MetricRule, Mistake, RiskLevel, Span, UndefinedOperation, WrittenUnit};
use calipers_core::Error;

/// Something that is wrong with a policy, or worth knowing about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// Where; none for the policy as a whole.
    pub span: Option<Span>,
    /// What was found.
    pub lint: Lint,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The policy cannot be applied, or can never pass.
    Error,
    /// The policy can be applied, but probably does not do what is meant.
    Warning,
    /// Worth knowing.
    Note,
}

/// What was found, with the numbers and names that explain it, by the part of the policy that it is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Lint {
    /// The file itself is wrong.
    Mistake(Mistake),
    /// Names that match nothing, are never used, or change their meaning.
    Name(NameLint),
    /// Thresholds that never hold, always hold, or mean something other than intended.
    Threshold(ThresholdLint),
    /// Which gates block, and which have no effect beside others.
    Blocking(BlockingLint),
    /// Formulas that lack something, or come out the same for all results.
    Formula(FormulaLint),
    /// Gates that chance decides, or that nothing can decide.
    Chance(ChanceLint),
    /// Scenarios, categories and capabilities that do not exist, or that count for nothing.
    Scenario(ScenarioLint),
}

/// Names that match nothing, are never used, or change their meaning.
///
/// Variants that describe the same problem share an id.
#[derive(Clone, Debug, PartialEq)]
pub enum NameLint {
    /// A metric that is not registered, or an expression that cannot be evaluated.
    UnknownMetric(Error),
    /// A reducer that does not exist.
    UnknownReducer(Error),
    /// A metric asks for a scorer that the samples do not have.
    UnknownScorer(Error),
    /// The rubric names a scorer that the samples do not have.
    UnknownRubricScorer(UnmatchedName),
    /// A metric that cannot be computed from the samples.
    UnmeasurableMetric(Error),
    /// A metric that is defined and never used.
    UnusedMetric {
        /// The metric.
        metric: String,
    },
    /// A limit of something that no metric of the policy sums up or averages.
    UnusedLimit {
        /// The field or the scorer that it is stated for.
        name: String,
    },
    /// A definition that gives a built-in name another meaning.
    RedefinedMetric {
        /// The name.
        metric: String,
        /// Its meaning in this policy.
        expression: String,
    },
    /// The baseline lacks a metric that the policy compares.
    BaselineWithoutMetric {
        /// The metric, beside those that the baseline has.
        metric: UnmatchedName,
        /// The baseline's source.
        baseline: String,
    },
}

/// Thresholds that never hold, always hold, or mean something other than intended.
///
/// Variants that describe the same problem share an id.
#[derive(Clone, Debug, PartialEq)]
pub enum ThresholdLint {
    /// A threshold in a unit that its metric does not have.
    WrongUnit(Mistake),
    /// A threshold without a comparison, for a metric without a better side.
    UnknownDirection(Mistake),
    /// A threshold that requires the worse side of its metric.
    AgainstDirection {
        /// The threshold.
        rule: MetricRule,
        /// The metric whose better side is the other one.
        metric: String,
    },
    /// A threshold that is not a value of its metric, such as a rate of 120 %.
    OutsideRange(Mistake),
    /// A threshold that no value reaches.
    UnreachableThreshold {
        /// The threshold.
        rule: MetricRule,
        /// The least and the greatest value.
        range: (f64, f64),
    },
    /// Two thresholds that cannot both hold.
    ContradictoryThresholds {
        /// The later one.
        rule: MetricRule,
        /// The earlier one.
        earlier: MetricRule,
        /// Where the earlier one is.
        earlier_span: Span,
    },
    /// A threshold that every value reaches.
    VacuousThreshold {
        /// The threshold.
        rule: MetricRule,
        /// The least and the greatest value.
        range: (f64, f64),
    },
    /// A number that can be read in two units.
    AmbiguousUnit {
        /// The text in the policy.
        written: String,
        /// How it is read.
        reading: WrittenAmount,
        /// How it may be meant.
        alternative: WrittenAmount,
    },
    /// A margin without a unit that is large enough to be meant as a percentage.
    WideMargin {
        /// The margin, a fraction.
        margin: f64,
    },
    /// Equality with a number that a measured value hardly ever has.
    FloatEquality {
        /// The threshold.
        rule: MetricRule,
    },
}

/// Which gates block, and which have no effect beside others.
///
/// Variants that describe the same problem share an id.
#[derive(Clone, Debug, PartialEq)]
pub enum BlockingLint {
    /// A gate that the policy states twice.
    DuplicateGate {
        /// The threshold.
        rule: MetricRule,
        /// Where it is stated first.
        earlier_span: Span,
    },
    /// A gate that cannot change the verdict, because another one is at least as strict.
    ShadowedGate {
        /// The threshold without effect.
        rule: MetricRule,
        /// The stricter one.
        stricter: MetricRule,
        /// Where the stricter one is.
        stricter_span: Span,
    },
    /// Thresholds of versions without effect, because a gate that always applies is at least as strict.
    ShadowedVersions {
        /// The versions.
        versions: Vec<String>,
        /// The stricter threshold.
        stricter: MetricRule,
        /// Where the stricter one is.
        stricter_span: Span,
    },
    /// A blocking threshold that is softer than the one that only warns.
    BlockingSofterThanWarning {
        /// The blocking threshold.
        blocking: MetricRule,
        /// The stricter threshold that warns.
        warning: MetricRule,
        /// Where the warning threshold is.
        warning_span: Span,
    },
    /// A version whose threshold is softer than that of the version before.
    ProgressiveFalls {
        /// The version.
        version: String,
        /// Its threshold.
        rule: MetricRule,
        /// The version before.
        earlier_version: String,
        /// The threshold of the version before.
        earlier: MetricRule,
    },
    /// A critical or high risk whose gate only warns.
    RiskDoesNotBlock {
        /// The level.
        level: RiskLevel,
        /// The metric.
        metric: String,
    },
    /// A level in `risk_blocking` that no row of `risk` has.
    RiskLevelWithoutRows {
        /// The level.
        level: RiskLevel,
    },
    /// A policy without any gate.
    EmptyPolicy,
    /// A policy whose gates all only warn.
    NothingBlocks {
        /// How many gates there are.
        gates: usize,
    },
    /// A policy in which only thresholds of versions block.
    NothingBlocksWithoutVersion,
}

/// Formulas that lack something, or come out the same for all results.
///
/// Variants that describe the same problem share an id.
#[derive(Clone, Debug, PartialEq)]
pub enum FormulaLint {
    /// A formula that divides by a budget that the policy does not state.
    NoBudget {
        /// The name in the formula, such as `normalized_latency`.
        name: String,
        /// The metric without a budget.
        metric: String,
    },
    /// A weighted sum whose weights do not add up to 1.
    CompositeWeights {
        /// The formula.
        formula: String,
        /// How many weights there are.
        weights: usize,
        /// What they add up to.
        sum: f64,
    },
    /// A formula that has no value for any values of its metrics.
    UndefinedFormula {
        /// The part without a value, as written.
        written: String,
        /// Why it has none.
        operation: UndefinedOperation,
    },
    /// A comparison that comes out the same for all results.
    ConstantCondition {
        /// The comparison, as written.
        written: String,
        /// True when it always holds, false when it never does.
        holds: bool,
    },
}

/// Gates that chance decides, or that nothing can decide.
///
/// Variants that describe the same problem share an id.
#[derive(Clone, Debug, PartialEq)]
pub enum ChanceLint {
    /// Equality that no number of samples can show with confidence.
    UndecidableEquality {
        /// The threshold.
        rule: MetricRule,
        /// The confidence.
        confidence: f64,
    },
    /// A metric that nothing can bound, since nothing says how small or how large its values can be.
    NoLimit {
        /// The metric.
        metric: String,
        /// The limit that it needs.
        missing: MissingLimit,
    },
    /// A gate that not even a perfect run of this size passes.
    UndecidableGate {
        /// The threshold.
        rule: MetricRule,
        /// The confidence.
        confidence: f64,
        /// What there is.
        have: EvidenceCount,
        /// The highest share that a perfect run of this size shows.
        best: Option<f64>,
        /// How many a perfect run needs.
        needed: u64,
    },
    /// The number that a perfect run needs, where the size of the run is unknown.
    PerfectRunNeeds {
        /// The threshold.
        rule: MetricRule,
        /// The confidence.
        confidence: f64,
        /// How many a perfect run needs.
        needed: u64,
        /// What is counted.
        unit: EvidenceUnit,
    },
    /// Samples go together by a field, and the policy counts them as independent.
    LikelyClusters {
        /// The field.
        field: String,
        /// How many values it has.
        clusters: u64,
        /// How many samples share them.
        samples: u64,
        /// How much samples that share a value are alike; none where all samples are.
        correlation: Option<f64>,
    },
    /// A gate in point mode that an unlucky good agent often fails, or a lucky bad one passes.
    CoinFlip {
        /// The threshold.
        rule: MetricRule,
        /// What there is.
        have: EvidenceCount,
        /// An agent better than the threshold, and how often it fails.
        better: AgentChance,
        /// An agent worse than the threshold, and how often it passes.
        worse: AgentChance,
    },
    /// A gate that requires all of a few samples.
    AllOfFew {
        /// What has to be 100 %.
        metric: String,
        /// What there is.
        have: EvidenceCount,
        /// The share that a run without a failure shows.
        bound: f64,
        /// With which confidence.
        confidence: f64,
        /// How many samples without a failure show `target`.
        needed: u64,
        /// A share that needs no remark.
        target: f64,
    },
    /// A percentile of too few attempts to be bounded.
    FewAttempts {
        /// The metric.
        metric: String,
        /// How many attempts there are.
        attempts: u64,
        /// How many it takes.
        needed: u64,
    },
    /// Several gates, of which one often fails by chance.
    ManyGates {
        /// How many gates block.
        gates: usize,
        /// How often at least one of them fails, at most.
        any_fails: f64,
        /// By how much the agent is better than each threshold, at most.
        better_by: f64,
    },
    /// Many gates of unknown size.
    ManyUnknownGates {
        /// How many gates block.
        gates: usize,
        /// How often each is taken to fail by chance.
        each_fails: f64,
        /// How often at least one of them fails, at most.
        any_fails: f64,
    },
    /// A confidence so low that it hardly deserves the name.
    LowConfidence {
        /// The confidence.
        confidence: f64,
    },
    /// Gates of safety whose undecided outcome counts as a pass.
    UndecidedSafety {
        /// How many.
        gates: usize,
    },
    /// A baseline that an unchanged agent often misses.
    AboveBaseline {
        /// The metric that is missed most often.
        metric: String,
        /// How often.
        chance: f64,
    },
    /// The same, where the baseline is not known.
    AboveUnknownBaseline,
}

/// Scenarios, categories and capabilities that do not exist, or that count for nothing.
///
/// Variants that describe the same problem share an id.
#[derive(Clone, Debug, PartialEq)]
pub enum ScenarioLint {
    /// A scenario that neither the samples nor the suite have.
    UnknownScenario {
        /// The scenario.
        scenario: UnmatchedName,
        /// True when the policy requires it.
        is_required: bool,
    },
    /// A category with a gate and without samples.
    UnknownCategory {
        /// The category.
        category: UnmatchedName,
        /// How many samples there are.
        samples: usize,
    },
    /// A category with a weight and without samples.
    UnknownCategoryWeight {
        /// The category.
        category: UnmatchedName,
        /// How many samples there are.
        samples: usize,
    },
    /// A capability with a weight and without samples.
    UnknownCapabilityWeight {
        /// The capability.
        capability: UnmatchedName,
        /// How many samples there are.
        samples: usize,
    },
    /// An optional scenario whose failure fails a gate that requires 100 %.
    OptionalBlocks {
        /// The scenario.
        scenario: String,
        /// The gate.
        rule: MetricRule,
        /// Where the gate is.
        rule_span: Span,
    },
    /// All samples have the weight 0.
    ZeroWeights {
        /// How many samples there are.
        samples: usize,
    },
    /// A list of weights that are all 0.
    ZeroWeightList {
        /// The key of the list.
        key: &'static str,
        /// How many weights it has.
        weights: usize,
    },
    /// A gate over a category whose weight is 0.
    ZeroWeightGate {
        /// The category.
        category: String,
        /// The number that the gate is about.
        metric: String,
    },
}

/// A name that matches nothing, beside the names that exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmatchedName {
    /// The name.
    pub name: String,
    /// The name that was probably meant.
    pub nearest: Option<String>,
    /// How many names exist.
    pub known: usize,
    /// The first few of them.
    pub examples: Vec<String>,
}

impl UnmatchedName {
    /// A longer list would hide the message.
    const EXAMPLES_MAX: usize = 8;

    pub(super) fn new(name: &str, known: &[&str]) -> Self {
        let owned = |name: &&str| (*name).to_owned();
        Self {
            name: name.to_owned(),
            nearest: calipers_core::nearest(name, known).map(str::to_owned),
            known: known.len(),
            examples: known.iter().take(Self::EXAMPLES_MAX).map(owned).collect(),
        }
    }
}

/// A number with a unit, as a policy can write it: `5s`, `85%`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WrittenAmount {
    /// The number.
    pub number: f64,
    /// The unit.
    pub unit: WrittenUnit,
}

/// What evidence is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvidenceUnit {
    /// Samples.
    Samples,
    /// Attempts.
    Attempts,
}

/// How much evidence a gate will rest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvidenceCount {
    /// How many there are.
    pub total: u64,
    /// How many of equal weight say as much: fewer, if weights differ.
    pub effective: u64,
    /// True when some samples are attempted several times.
    pub is_repeated: bool,
    /// What is counted.
    pub unit: EvidenceUnit,
}

/// An agent with a known rate, and how often a gate is wrong about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AgentChance {
    /// The agent's true rate, as the gate's metric counts it.
    pub rate: f64,
    /// How often the gate is wrong, at most if samples are repeated.
    pub chance: f64,
}

impl Finding {
    pub(super) fn error(lint: impl Into<Lint>) -> Self {
        Self { severity: Severity::Error, span: None, lint: lint.into() }
    }

    pub(super) fn warning(lint: impl Into<Lint>) -> Self {
        Self { severity: Severity::Warning, span: None, lint: lint.into() }
    }

    pub(super) fn note(lint: impl Into<Lint>) -> Self {
        Self { severity: Severity::Note, span: None, lint: lint.into() }
    }

    pub(super) fn at(mut self, span: &Span) -> Self {
        self.span = Some(span.clone()).filter(|span| !span.text.name.is_empty());
        self
    }

    /// At the place of something, if it has one.
    pub(super) fn at_some(self, span: Option<&Span>) -> Self {
        match span {
            Some(span) => self.at(span),
            None => self,
        }
    }

    /// The stable name of what was found: `unknown-metric`.
    #[must_use]
    pub fn id(&self) -> &'static str {
        self.lint.id()
    }
}

impl From<Mistake> for Finding {
    fn from(mistake: Mistake) -> Self {
        Self { severity: Severity::Error, span: mistake.span.clone(), lint: Lint::Mistake(mistake) }
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

impl Lint {
    /// The stable name of the problem. docs/policy-check.md explains each.
    #[must_use]
    pub fn id(&self) -> &'static str {
        match self {
            Self::Mistake(_) => "mistake",
            Self::Name(lint) => lint.id(),
            Self::Threshold(lint) => lint.id(),
            Self::Blocking(lint) => lint.id(),
            Self::Formula(lint) => lint.id(),
            Self::Chance(lint) => lint.id(),
            Self::Scenario(lint) => lint.id(),
        }
    }
}

impl NameLint {
    /// The stable name of the problem.
    #[must_use]
    pub fn id(&self) -> &'static str {
        match self {
            Self::UnknownMetric(_) => "unknown-metric",
            Self::UnknownReducer(_) => "unknown-reducer",
            Self::UnknownScorer(_) | Self::UnknownRubricScorer(_) => "unknown-scorer",
            Self::UnmeasurableMetric(_) => "unmeasurable-metric",
            Self::UnusedMetric { .. } => "unused-metric",
            Self::UnusedLimit { .. } => "unused-limit",
            Self::RedefinedMetric { .. } => "redefined-metric",
            Self::BaselineWithoutMetric { .. } => "baseline-without-metric",
        }
    }
}

impl From<NameLint> for Lint {
    fn from(lint: NameLint) -> Self {
        Self::Name(lint)
    }
}

impl ThresholdLint {
    /// The stable name of the problem.
    #[must_use]
    pub fn id(&self) -> &'static str {
        match self {
            Self::WrongUnit(_) => "wrong-unit",
            Self::UnknownDirection(_) => "unknown-direction",
            Self::AgainstDirection { .. } => "against-direction",
            Self::OutsideRange(_) | Self::UnreachableThreshold { .. } => "unreachable-threshold",
            Self::ContradictoryThresholds { .. } => "contradictory-thresholds",
            Self::VacuousThreshold { .. } => "vacuous-threshold",
            Self::AmbiguousUnit { .. } | Self::WideMargin { .. } => "ambiguous-unit",
            Self::FloatEquality { .. } => "float-equality",
        }
    }
}

impl From<ThresholdLint> for Lint {
    fn from(lint: ThresholdLint) -> Self {
        Self::Threshold(lint)
    }
}

impl BlockingLint {
    /// The stable name of the problem.
    #[must_use]
    pub fn id(&self) -> &'static str {
        match self {
            Self::DuplicateGate { .. } => "duplicate-gate",
            Self::ShadowedGate { .. } | Self::ShadowedVersions { .. } => "shadowed-gate",
            Self::BlockingSofterThanWarning { .. } => "blocking-softer-than-warning",
            Self::ProgressiveFalls { .. } => "progressive-falls",
            Self::RiskDoesNotBlock { .. } | Self::RiskLevelWithoutRows { .. } => "risk-does-not-block",
            Self::EmptyPolicy | Self::NothingBlocks { .. } | Self::NothingBlocksWithoutVersion => "nothing-blocks",
        }
    }
}

impl From<BlockingLint> for Lint {
    fn from(lint: BlockingLint) -> Self {
        Self::Blocking(lint)
    }
}

impl FormulaLint {
    /// The stable name of the problem.
    #[must_use]
    pub fn id(&self) -> &'static str {
        match self {
            Self::NoBudget { .. } => "no-budget",
            Self::CompositeWeights { .. } => "composite-weights",
            Self::UndefinedFormula { .. } => "undefined-formula",
            Self::ConstantCondition { .. } => "constant-condition",
        }
    }
}

impl From<FormulaLint> for Lint {
    fn from(lint: FormulaLint) -> Self {
        Self::Formula(lint)
    }
}

impl ChanceLint {
    /// The stable name of the problem.
    #[must_use]
    pub fn id(&self) -> &'static str {
        match self {
            Self::UndecidableEquality { .. } | Self::UndecidableGate { .. } | Self::PerfectRunNeeds { .. } => {
                "undecidable-gate"
            }
            Self::NoLimit { .. } => "no-limit",
            Self::CoinFlip { .. } => "coin-flip-gate",
            Self::AllOfFew { .. } => "all-of-few",
            Self::FewAttempts { .. } => "few-attempts",
            Self::LikelyClusters { .. } => "likely-clusters",
            Self::ManyGates { .. } | Self::ManyUnknownGates { .. } => "many-gates",
            Self::LowConfidence { .. } => "low-confidence",
            Self::UndecidedSafety { .. } => "undecided-safety",
            Self::AboveBaseline { .. } | Self::AboveUnknownBaseline => "above-baseline",
        }
    }
}

impl From<ChanceLint> for Lint {
    fn from(lint: ChanceLint) -> Self {
        Self::Chance(lint)
    }
}

impl ScenarioLint {
    /// The stable name of the problem.
    #[must_use]
    pub fn id(&self) -> &'static str {
        match self {
            Self::UnknownScenario { .. } => "unknown-scenario",
            Self::UnknownCategory { .. } | Self::UnknownCategoryWeight { .. } => "unknown-category",
            Self::UnknownCapabilityWeight { .. } => "unknown-capability",
            Self::OptionalBlocks { .. } => "optional-blocks",
            Self::ZeroWeights { .. } | Self::ZeroWeightList { .. } => "zero-weights",
            Self::ZeroWeightGate { .. } => "zero-weight-gate",
        }
    }
}

impl From<ScenarioLint> for Lint {
    fn from(lint: ScenarioLint) -> Self {
        Self::Scenario(lint)
    }
}

/// The ids that findings may have, in the order in which findings about the same place are reported.
pub fn lint_ids() -> impl Iterator<Item = &'static str> {
    IDS.into_iter()
}

const IDS: [&str; 43] = [
    "mistake",
    "unknown-metric",
    "unknown-reducer",
    "unknown-scorer",
    "unmeasurable-metric",
    "unused-metric",
    "redefined-metric",
    "unused-limit",
    "wrong-unit",
    "unknown-direction",
    "against-direction",
    "unreachable-threshold",
    "contradictory-thresholds",
    "vacuous-threshold",
    "ambiguous-unit",
    "float-equality",
    "duplicate-gate",
    "shadowed-gate",
    "blocking-softer-than-warning",
    "progressive-falls",
    "risk-does-not-block",
    "nothing-blocks",
    "no-budget",
    "composite-weights",
    "undefined-formula",
    "constant-condition",
    "undecidable-gate",
    "no-limit",
    "likely-clusters",
    "coin-flip-gate",
    "all-of-few",
    "few-attempts",
    "many-gates",
    "low-confidence",
    "undecided-safety",
    "above-baseline",
    "baseline-without-metric",
    "unknown-scenario",
    "unknown-category",
    "unknown-capability",
    "optional-blocks",
    "zero-weights",
    "zero-weight-gate",
];
