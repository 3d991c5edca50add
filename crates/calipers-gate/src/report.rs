//! The verdict of a policy on a run, with everything that it rests on: data only, which renderers lay out.

use crate::policy::{BaselineMode, Comparison, Estimand, Level, Looks, RiskLevel, Rule};
use crate::{GateReason, GateRule, MoreSamples};
use calipers_core::{Caveat, Figure, OutcomeCounts, SampleId, ScenarioOutcome, Shortcoming, Unit, Verdict};
use std::sync::Arc;

/// The verdict on a run, with everything that it rests on.
#[derive(Clone, Debug)]
pub struct GateReport {
    /// The verdict.
    pub verdict: Verdict,
    /// What decided.
    pub decided_by: DecidedBy,
    /// How gates are decided.
    pub mode: Mode,
    /// What the confidence holds for.
    pub terms: ConfidenceTerms,
    /// The gates, blocking ones first, in the order of the policy.
    pub gates: Vec<GateResult>,
    /// Scenarios that must pass.
    pub required: Vec<ScenarioCheck>,
    /// Scenarios that no rule about single scenarios applies to.
    pub optional: Vec<ScenarioCheck>,
    /// Pass rates by category, in the order of the run.
    pub categories: Vec<CategoryResult>,
    /// How much scenarios count by their capability, as the policy says.
    pub capability_weights: Vec<(String, f64)>,
    /// Formulas, with each term.
    pub composites: Vec<CompositeResult>,
    /// The comparison with a baseline, if there is one.
    pub baseline: Option<BaselineResult>,
    /// The scenarios by outcome.
    pub coverage: Coverage,
    /// Every scenario, in the order of the run.
    pub scenarios: Vec<ScenarioResult>,
    /// Where all this comes from.
    pub provenance: Provenance,
    /// What to know about the run as a whole; what belongs to a gate stands with its figure.
    pub caveats: Vec<Caveat>,
}

/// What decided a verdict. Places are those in [`GateReport::gates`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecidedBy {
    /// All blocking gates passed.
    AllPassed {
        /// How many there are.
        blocking: usize,
    },
    /// This gate failed or is undecided.
    Gate(usize),
    /// This gate is undecided, and the policy counts that as a fail.
    UndecidedAsFail(usize),
    /// This gate is undecided, and the policy only warns about that.
    UndecidedAsWarning(usize),
}

/// How gates are decided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// The estimate is compared with the threshold.
    Point,
    /// A one-sided bound at this confidence has to clear the threshold.
    Confidence(f64),
}

/// What the confidence of a verdict holds for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfidenceTerms {
    /// How often the data may be looked at.
    pub looks: Looks,
    /// Which look it is, if they are counted.
    pub look: Option<Look>,
    /// What the verdict is about.
    pub estimand: Estimand,
    /// The clusters that samples go together in, if the policy says so.
    pub clusters: Option<ClusterCount>,
}

/// A look at the results of a suite. The mode of the report has the confidence that is left for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Which one it is, from 1 on.
    pub number: u64,
    /// The confidence of all looks together.
    pub level: f64,
}

/// Samples that go together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterCount {
    /// The fields whose values they share.
    pub fields: Vec<String>,
    /// How many clusters there are.
    pub clusters: u64,
    /// Samples without a value of any of the fields, which are clusters by themselves.
    pub alone: u64,
}

/// What a gate is about.
#[derive(Clone, Debug, PartialEq)]
pub enum GateKind {
    /// A metric and its threshold.
    Metric,
    /// The pass rate of everything (`pass_criteria.overall`).
    Overall,
    /// The pass rate of a category.
    Category(Arc<str>),
    /// A metric and its threshold, by risk.
    Risk(RiskLevel),
    /// A metric and its threshold for a version.
    Progressive(String),
    /// The condition over formulas (`composite.pass`).
    Composite,
    /// The difference to a baseline.
    Baseline(BaselineMode),
    /// All required scenarios passed.
    Required,
    /// No failure of a blocking kind occurred.
    BlockingFailures,
    /// Every scenario passed often enough.
    MinPassRate,
    /// Grades by criterion.
    Rubric,
    /// There is something to judge.
    Coverage,
}

/// A gate with its verdict.
#[derive(Clone, Debug)]
pub struct GateResult {
    /// What it is about.
    pub kind: GateKind,
    /// The metric, or what is counted: `accuracy`, `pass_rate[adversarial]`, `required_scenarios`.
    pub metric: String,
    /// What happens if it is missed.
    pub level: Level,
    /// What it asks for, as it was understood.
    pub rule: GateRule,
    /// The comparison and the number, in the metric's own unit.
    pub threshold: Option<Rule>,
    /// The estimate with its interval; none for gates that count scenarios.
    pub figure: Option<Figure>,
    /// The unit of the estimate, the threshold and the margin.
    pub unit: Unit,
    /// The estimate without weights, where scenarios have weights.
    pub unweighted: Option<f64>,
    /// Successes and trials, where the estimate is a share of things that count alike.
    pub counts: Option<(u64, u64)>,
    /// How far the estimate is on the right side of the threshold; negative on the wrong side.
    pub margin: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why.
    pub reason: GateReason,
    /// About how many more samples would decide, where that can be said.
    pub more_samples: Option<MoreSamples>,
    /// Why the policy asks for it.
    pub rationale: Option<String>,
}

/// A scenario that a policy names.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioCheck {
    /// The scenario.
    pub id: String,
    /// Its outcome; none if the run does not have it.
    pub outcome: Option<ScenarioOutcome>,
    /// Attempts that passed, and all attempts.
    pub passed: (u32, u32),
    /// What went wrong in the first attempt that did not pass.
    pub reason: Option<Shortcoming>,
}

/// The pass rate of a category.
#[derive(Clone, Debug)]
pub struct CategoryResult {
    /// The category.
    pub category: Arc<str>,
    /// Its pass rate.
    pub figure: Figure,
    /// How much its scenarios count, if weights are given by category.
    pub weight: Option<f64>,
    /// The place of its gate in [`GateReport::gates`].
    pub gate: Option<usize>,
}

/// A formula with its terms.
#[derive(Clone, Debug)]
pub struct CompositeResult {
    /// Its name.
    pub name: String,
    /// The formula as written, in one line.
    pub formula: String,
    /// Its value with an interval.
    pub figure: Figure,
    /// The terms of the sum, or the formula as a whole if it is not a sum.
    pub terms: Vec<Term>,
    /// The place of its gate in [`GateReport::gates`].
    pub gate: Option<usize>,
}

/// A term of a formula.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The term as written: `accuracy × 0.3`.
    pub text: String,
    /// What it adds.
    pub value: Option<f64>,
    /// The metrics in it, with their values.
    pub metrics: Vec<(String, Option<f64>)>,
}

/// The comparison with a baseline.
#[derive(Clone, Debug)]
pub struct BaselineResult {
    /// The file.
    pub source: String,
    /// When it was recorded, as it says itself.
    pub recorded: Option<String>,
    /// Its age in days, if it can be told.
    pub age_days: Option<f64>,
    /// Differences by metric: candidate minus baseline.
    pub differences: Vec<MetricDifference>,
    /// Scenarios that passed in the baseline and fail now.
    pub newly_failing: Vec<String>,
    /// Scenarios that failed in the baseline and pass now.
    pub newly_passing: Vec<String>,
    /// Scenarios that the baseline does not have.
    pub added: Vec<String>,
    /// Scenarios that only the baseline has.
    pub removed: Vec<String>,
}

/// The difference of a metric to a baseline.
#[derive(Clone, Debug)]
pub struct MetricDifference {
    /// The metric.
    pub metric: String,
    /// Its value in the baseline.
    pub baseline: f64,
    /// Its value now.
    pub candidate: Option<f64>,
    /// The difference with its interval, paired by scenario where that is possible.
    pub difference: Figure,
    /// The unit.
    pub unit: Unit,
    /// The place of its gate in [`GateReport::gates`].
    pub gate: Option<usize>,
}

/// The scenarios by outcome, and which ones are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The scenarios of the run by outcome.
    pub counts: OutcomeCounts,
    /// Scenarios that should be there and are not, by name.
    pub missing: Vec<String>,
    /// What says that they should be there.
    pub expected_by: Option<ExpectedBy>,
    /// Scenarios that the suite does not know, by name.
    pub unexpected: Vec<String>,
}

/// What says which scenarios a run should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedBy {
    /// The suite.
    Suite,
    /// The policy, which names scenarios.
    Policy,
    /// The baseline.
    Baseline,
}

impl ExpectedBy {
    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Suite => "suite",
            Self::Policy => "policy",
            Self::Baseline => "baseline",
        }
    }
}

/// A scenario with its attempts.
#[derive(Clone, Debug)]
pub struct ScenarioResult {
    /// The scenario.
    pub id: SampleId,
    /// Its category, if it has one.
    pub category: Option<Arc<str>>,
    /// Its outcome.
    pub outcome: ScenarioOutcome,
    /// Its attempts, in order.
    pub attempts: Vec<AttemptResult>,
    /// Its scores by name, reduced over attempts.
    pub scores: Vec<(String, f64)>,
    /// How much it counts.
    pub weight: f64,
    /// True when the policy requires it.
    pub is_required: bool,
}

/// An attempt of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptResult {
    /// The epoch.
    pub epoch: u32,
    /// Its outcome.
    pub outcome: ScenarioOutcome,
    /// What went wrong.
    pub reason: Option<Shortcoming>,
    /// How long it took.
    pub latency_ms: Option<f64>,
}

/// Where a verdict comes from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Provenance {
    /// The results, as they were named.
    pub files: Vec<String>,
    /// What was read as what: a name of ours and the column, where they differ.
    pub columns: Vec<(String, String)>,
    /// The task and the model, if they are known.
    pub task: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The policy file.
    pub policy: String,
    /// A hash of the policy with all that it extends.
    pub policy_hash: String,
    /// The version that thresholds were chosen for.
    pub version: Option<String>,
    /// Conditions on metadata: only samples that meet all of them were judged.
    pub filter: Vec<(String, String)>,
    /// The scorers that were asked for; all of them if empty.
    pub scorers: Vec<String>,
    /// What labels were said to count.
    pub labels: Vec<(String, f64)>,
    /// The files that metrics and reducers were loaded from.
    pub scripts: Vec<String>,
    /// The level of the intervals shown.
    pub level: f64,
    /// The seed of all that is random.
    pub seed: u64,
    /// How attempts were reduced.
    pub reducer: String,
    /// The program and its version.
    pub tool: String,
}

impl GateResult {
    /// A blocking gate without a figure, such as one that counts scenarios. Everything else is added to it.
    #[must_use]
    pub fn new(
        kind: GateKind,
        metric: impl Into<String>,
        rule: GateRule,
        verdict: Verdict,
        reason: GateReason,
    ) -> Self {
        Self {
            kind,
            metric: metric.into(),
            level: Level::Blocking,
            rule,
            threshold: None,
            figure: None,
            unit: Unit::Plain,
            unweighted: None,
            counts: None,
            margin: None,
            verdict,
            reason,
            more_samples: None,
            rationale: None,
        }
    }

    /// True when the other asks the same of the same metric at the same level.
    pub(crate) fn asks_the_same(&self, other: &Self) -> bool {
        self.metric == other.metric && self.level == other.level && self.threshold == other.threshold
    }
}

impl DecidedBy {
    /// The place of the gate that decided, unless all passed.
    #[must_use]
    pub fn gate(self) -> Option<usize> {
        match self {
            Self::AllPassed { .. } => None,
            Self::Gate(place) | Self::UndecidedAsFail(place) | Self::UndecidedAsWarning(place) => Some(place),
        }
    }
}

impl GateReport {
    /// The gate that decided, unless all passed.
    #[must_use]
    pub fn deciding_gate(&self) -> Option<&GateResult> {
        self.gates.get(self.decided_by.gate()?)
    }

    /// The caveats of all gates, each once, with the gates that they belong to.
    #[must_use]
    pub fn gate_caveats(&self) -> Vec<(&Caveat, Vec<&str>)> {
        let mut found: Vec<(&Caveat, Vec<&str>)> = Vec::new();
        for gate in &self.gates {
            for caveat in gate.figure.iter().flat_map(|figure| &figure.caveats) {
                match found.iter_mut().find(|(known, _)| *known == caveat) {
                    Some((_, gates)) if !gates.contains(&&*gate.metric) => gates.push(&gate.metric),
                    Some(_) => {}
                    None => found.push((caveat, vec![&gate.metric])),
                }
            }
        }
        found
    }
}

impl Rule {
    /// How far a value is on the right side; negative on the wrong side.
    #[must_use]
    pub fn margin(&self, value: f64) -> f64 {
        match self.comparison {
            Comparison::AtLeast | Comparison::Above | Comparison::Equal => value - self.value,
            Comparison::AtMost | Comparison::Below => self.value - value,
        }
    }

    /// True for rules that only a value at the end of the unit range meets: decided on counts.
    #[must_use]
    pub fn asks_for_all(&self) -> bool {
        self.value == 1.0 && matches!(self.comparison, Comparison::AtLeast | Comparison::Equal)
    }
}
