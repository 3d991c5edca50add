//! Why a gate has its verdict: data with its numbers. `calipers-render` makes the sentences.

use crate::MissingLimit;
use crate::policy::{Looks, Rule};
use calipers_core::{Reason, Undefined, Unit};
use calipers_stats::threshold_test::Direction;
use std::borrow::Cow;

/// Why a gate passed, failed or is undecided.
#[derive(Clone, Debug, PartialEq)]
pub enum GateReason {
    /// A metric beside its threshold.
    Threshold(ThresholdReason),
    /// A condition over formulas.
    Condition(ConditionReason),
    /// A rule about single scenarios.
    Scenarios(ScenarioReason),
    /// A comparison with a baseline.
    Baseline(BaselineReason),
    /// There is too little to judge.
    Coverage(CoverageReason),
    /// A fail that may be chance, because so many gates were tested.
    PossiblyChance {
        /// Why the gate would have failed alone.
        reason: Box<GateReason>,
        /// The number of gates that were tested.
        gates: usize,
    },
}

/// What was found out about a metric, with the rule that it was held against.
#[derive(Clone, Debug, PartialEq)]
pub struct ThresholdReason {
    /// The comparison and the number, in the metric's own unit.
    pub rule: Rule,
    /// The unit of the metric.
    pub unit: Unit,
    /// What was found.
    pub finding: ThresholdFinding,
}

/// What was found out about a metric and its threshold.
#[derive(Clone, Debug, PartialEq)]
pub enum ThresholdFinding {
    /// Scores outside 0 to 1 are no share of anything.
    ScoresOutsideUnit,
    /// The metric has no value.
    Undefined(Undefined),
    /// The estimate meets the rule.
    Met {
        /// The estimate.
        value: f64,
    },
    /// The estimate meets the rule, but samples without a score could change that.
    MetUnlessUnscored {
        /// The estimate.
        value: f64,
        /// Samples without a score.
        unscored: u64,
    },
    /// The estimate does not meet the rule. It is infinite when too many attempts ran out of time.
    Missed {
        /// The estimate.
        value: f64,
    },
    /// The estimate does not meet the rule, but it might without the samples that ended in an error.
    MissedUnlessErrored {
        /// The estimate.
        value: f64,
        /// The estimate if those samples had gone well.
        best: f64,
        /// Samples that ended in an error.
        errored: usize,
    },
    /// No number of samples shows that a metric has exactly one value.
    NeverExact,
    /// There is no bound to compare with the threshold.
    Unbounded(Unbounded),
    /// The bound is on the right side of the threshold.
    BoundMet(ConfidenceBound),
    /// The bound is on the wrong side of the threshold.
    BoundMissed(ConfidenceBound),
    /// Even if all goes well, so few samples or attempts cannot show it.
    PerfectNotEnough {
        /// What is counted.
        counted: SampleUnit,
        /// How many there are.
        have: u64,
        /// How many are needed.
        need: u64,
        /// The share of attempts that a quantile asks for.
        quantile: Option<QuantileShare>,
    },
    /// The samples without a score could turn the answer.
    UnscoredCouldChange {
        /// How many.
        unscored: u64,
    },
    /// The bounds lie on both sides of the threshold.
    Between {
        /// The lower bound: of the metric, or of the share of attempts within the limit of a quantile.
        low: f64,
        /// The upper bound.
        high: f64,
        /// The share of attempts that a quantile asks for.
        quantile: Option<QuantileShare>,
    },
    /// Only one bound is known, and it is on the wrong side of the threshold.
    AsBadAs {
        /// The bound.
        bound: f64,
    },
}

/// A one-sided bound that decided a gate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfidenceBound {
    /// On which side the truth lies, and of which number; none where the test decided without a bound.
    pub bound: Option<(Direction, f64)>,
    /// The confidence.
    pub confidence: f64,
    /// For a quantile, the share that the bound is about.
    pub quantile: Option<QuantileShare>,
}

/// A quantile is within a limit when a share of the attempts is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantileShare {
    /// The share of attempts, from 0 to 1.
    pub share: f64,
    /// Whether at least or at most this share has to be within the limit.
    pub direction: Direction,
}

/// What a number of samples counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleUnit {
    /// Samples.
    Samples,
    /// Attempts.
    Attempts,
    /// Clusters of samples that go together.
    Clusters,
    /// Labels of people, for samples that have none yet.
    Labels,
}

/// About how many more of something would decide a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoreSamples {
    /// How many.
    pub count: u64,
    /// Of what.
    pub unit: SampleUnit,
    /// How often the data may be looked at. With one look, the number has to be chosen before the next.
    pub looks: Looks,
}

/// Why a metric has no bound.
#[derive(Clone, Debug, PartialEq)]
pub enum Unbounded {
    /// Figures made by this method have no bound.
    Method(Cow<'static, str>),
    /// Samples without a score, of a metric whose scores have no limits.
    UnscoredWithoutLimit {
        /// How many samples.
        samples: u64,
    },
    /// There is nothing to judge.
    NoValues,
    /// The statistic is undefined for the data.
    Statistic(calipers_stats::Undefined),
    /// Too few values for a bound of a quantile.
    TooFewValues {
        /// How many there are.
        values: usize,
    },
    /// The policy asks about a rerun of this suite, and the figure is not the mean of what its attempts gave.
    NotByAttempt,
    /// Nothing says how small or how large the values can be.
    NoLimit(MissingLimit),
    /// A ratio whose numerators may be negative.
    NegativeNumerators,
    /// What is corrected by labels has no bound for such data.
    Corrected(CorrectedLimit),
    /// The data do not bound it.
    Open,
}

/// What a bound of a corrected rate does not allow for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CorrectedLimit {
    /// Any number of looks, where scores or labels are not all 0 or 1.
    Looks,
    /// Scores or labels outside [0, 1]: nothing says how far off an unseen one may be.
    Scale,
}

/// What was found out about a condition over formulas.
#[derive(Clone, Debug, PartialEq)]
pub enum ConditionReason {
    /// A comparison, and what was found out about it.
    Comparison {
        /// The comparison as the policy writes it, on one line.
        text: String,
        /// Why it has its verdict.
        reason: Box<GateReason>,
    },
    /// The opposite of a condition.
    Not(Box<GateReason>),
    /// Two conditions that have the same weight.
    Both(Box<GateReason>, Box<GateReason>),
    /// A part of the condition has no value.
    Undefined(Undefined),
    /// The formula is a number, not a condition.
    NotACondition {
        /// The formula as the policy writes it, on one line.
        text: String,
    },
    /// The value of a formula decides.
    Value {
        /// The value.
        value: f64,
        /// What it is compared with.
        threshold: f64,
        /// What may be different from what was measured.
        doubt: Option<FormulaDoubt>,
    },
    /// The bounds of a formula decide, or leave it open.
    Bounds {
        /// What the formula is compared with.
        threshold: f64,
        /// The lower bound.
        lower: Option<f64>,
        /// The upper bound.
        upper: Option<f64>,
        /// The confidence.
        confidence: f64,
    },
    /// The data do not bound the formula.
    Open {
        /// The metric in it that they do not bound, if it is one.
        metric: Option<String>,
        /// Why they do not, where more data would not help.
        why: Option<Unbounded>,
    },
}

/// Why the value of a formula does not decide alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormulaDoubt {
    /// Samples without a score could change it.
    Unscored,
    /// It might hold without the samples that ended in an error.
    Errored,
}

/// What was found out about single scenarios.
#[derive(Clone, Debug, PartialEq)]
pub enum ScenarioReason {
    /// All required scenarios passed.
    RequiredPassed {
        /// How many there are.
        total: usize,
    },
    /// Required scenarios failed.
    RequiredFailed(Vec<String>),
    /// No required scenario failed, but not all passed.
    RequiredOpen {
        /// Those that the run does not have.
        missing: Vec<String>,
        /// Those that ended in an error.
        errored: Vec<String>,
        /// Those without a score.
        unscored: Vec<String>,
    },
    /// Every scenario passes often enough.
    OftenEnough,
    /// Scenarios that pass too rarely.
    TooRarely(Vec<ScenarioShare>),
    /// Scenarios that might pass often enough without the attempts that ended in errors.
    TooManyErrors(Vec<ScenarioShare>),
    /// No failure of a blocking kind occurred.
    NoBlockingFailure,
    /// Failures of blocking kinds.
    BlockingFailures(Vec<BlockingFailure>),
    /// All grades are good enough.
    AllGraded {
        /// How many records were graded.
        graded: usize,
    },
    /// Records without grades.
    Ungraded {
        /// The scorer that should have graded them.
        scorer: String,
        /// The scenarios.
        scenarios: Vec<String>,
    },
    /// Grades that are not good enough.
    PoorGrades(Vec<PoorGrade>),
}

/// How often a scenario passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioShare {
    /// The scenario.
    pub scenario: String,
    /// Attempts that passed.
    pub passed: usize,
    /// Attempts that passed, failed or ended in an error.
    pub attempts: usize,
}

/// A failure of a kind that blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockingFailure {
    /// The kind.
    pub kind: String,
    /// The scenario.
    pub scenario: String,
}

/// Grades of a scenario that a rubric does not accept.
#[derive(Clone, Debug, PartialEq)]
pub enum PoorGrade {
    /// One criterion has the grade 0.
    Zero {
        /// The scenario.
        scenario: String,
        /// The criterion.
        criterion: String,
    },
    /// All grades together are too low.
    Share {
        /// The scenario.
        scenario: String,
        /// The grades as a share of the best ones.
        share: f64,
    },
}

/// What was found out about the difference to a baseline.
#[derive(Clone, Debug, PartialEq)]
pub enum BaselineReason {
    /// Nothing says how small or how large the values can be, so nothing bounds their differences.
    NoLimit(MissingLimit),
    /// Scores outside 0 to 1 are no share of anything.
    ScoresOutsideUnit,
    /// No baseline is given.
    NotGiven,
    /// The baseline has none of the metrics of the policy.
    NoCommonMetric,
    /// No scenario that ran is in the baseline too.
    NoCommonScenario,
    /// The difference has no value.
    Undefined,
    /// Too few of the scenarios of the baseline ran.
    FewRan {
        /// How many ran.
        ran: usize,
        /// How many the baseline has.
        recorded: usize,
    },
    /// Too few scenarios to bound the difference.
    TooFewToBound,
    /// The metric has no value per scenario, and the baseline has no interval that says how far its own value may be off.
    NoRecordedInterval,
    /// The interval of the baseline may miss the truth more often than the gate may err.
    RecordedIntervalTooNarrow {
        /// The confidence of the gate.
        confidence: f64,
    },
    /// The difference and what is allowed.
    Difference(BaselineDifference),
}

/// The difference of a metric to a baseline, paired by scenario.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BaselineDifference {
    /// Now minus then, in the unit of the metric.
    pub difference: f64,
    /// The unit of the metric.
    pub unit: Unit,
    /// Which side is better.
    pub direction: Direction,
    /// The number of scenarios compared.
    pub scenarios: u64,
    /// How much worse it may be.
    pub margin: f64,
    /// Both bounds of the difference, if gates are decided with confidence.
    pub bounds: Option<(f64, f64)>,
    /// How many further scenarios both have, of which one of them lacks a value. The bounds take them for the worst and the best.
    pub unknown: u64,
}

/// Why there is too little to judge.
#[derive(Clone, Debug, PartialEq)]
pub enum CoverageReason {
    /// The policy asks for nothing.
    NothingAsked,
    /// The run is empty.
    EmptyRun,
    /// No scenario has a score.
    NothingScored {
        /// How many scenarios there are.
        scenarios: u64,
    },
    /// The reducer makes nothing of the attempts.
    NothingReduced(Reason),
    /// Scenarios of the suite are missing.
    SuiteIncomplete {
        /// Those that are missing.
        missing: Vec<String>,
    },
}

impl From<ConditionReason> for GateReason {
    fn from(reason: ConditionReason) -> Self {
        Self::Condition(reason)
    }
}

impl From<ScenarioReason> for GateReason {
    fn from(reason: ScenarioReason) -> Self {
        Self::Scenarios(reason)
    }
}

impl From<BaselineReason> for GateReason {
    fn from(reason: BaselineReason) -> Self {
        Self::Baseline(reason)
    }
}

impl From<CoverageReason> for GateReason {
    fn from(reason: CoverageReason) -> Self {
        Self::Coverage(reason)
    }
}
