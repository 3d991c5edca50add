//! From a policy and a run to a verdict: pass, fail or undecided, with typed reasons.
//!
//! - [`policy`]: what a policy says, with its place in the file.
//! - [`judge()`]: a run judged by a policy, as a [`GateReport`].
//! - [`lint()`]: what may be wrong with a policy before it is used.
//! - [`Baseline`]: what is remembered of a run; [`raise()`]: higher thresholds that a run supports.
//!
//! Nothing here reads files.

mod baseline;
mod clusters;
mod gate_rule;
mod judge;
mod limits;
mod lint;
pub mod policy;
mod raise;
mod reason;
mod report;
mod weighted_score;

pub use baseline::{Baseline, BaselineMetric, BaselineScenario};
pub use clusters::SOURCE_FIELDS;
pub use gate_rule::GateRule;
pub use judge::{Case, Fault, judge, record};
pub use limits::{BeyondLimit, LimitEnd, MissingLimit};
pub use lint::{
    AgentChance, BlockingLint, ChanceLint, Draft, EvidenceCount, EvidenceUnit, Finding, FormulaLint, Lint, NameLint,
    ScenarioLint, Severity, ThresholdLint, UnmatchedName, WrittenAmount, lint, lint_ids,
};
pub use raise::{KeptReason, NewThreshold, Raise, RaiseOptions, WritingObstacle, raise};
pub use reason::{
    BaselineDifference, BaselineReason, BlockingFailure, ConditionReason, ConfidenceBound, CorrectedLimit,
    CoverageReason, FormulaDoubt, GateReason, MoreSamples, PoorGrade, QuantileShare, SampleUnit, ScenarioReason,
    ScenarioShare, ThresholdFinding, ThresholdReason, Unbounded,
};
pub use report::{
    AttemptResult, BaselineResult, CategoryResult, ClusterCount, CompositeResult, ConfidenceTerms, Coverage, DecidedBy,
    ExpectedBy, GateKind, GateReport, GateResult, Look, MetricDifference, Mode, Provenance, ScenarioCheck,
    ScenarioResult, Term,
};
pub use weighted_score::weighted_score;
