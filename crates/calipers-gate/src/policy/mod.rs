//! What must hold before a version may ship.
//!
//! A [`Policy`] is what a policy file says, typed but not yet applied: thresholds keep the text they were written with,
//! and their meaning is settled when the metric is known ([`Threshold::rule`]). Every part remembers its place in the
//! file, so that a mistake found late is still underlined where it was made.

pub mod document;
mod formula;
mod read;
mod syntax;
mod threshold;

pub use calipers_core::{Mistake, PolicyRemedy, SourceText, Span, Spanned, UndefinedOperation};
pub use formula::{Arithmetic, Expression, Formula, Function, Node, normalized};
pub use read::{KEYS, is_policy_key, list_choices};
pub use threshold::{Comparison, MetricRule, Rule, Threshold, WrittenUnit, rule_text};

use calipers_core::{Context, PolicyRole, Samples, metric_with_role};
use std::sync::Arc;

/// The name of the formula that `weights` of metrics define.
pub const WEIGHTED_SCORE: &str = "weighted_score";

/// The name of the metric that `pass_criteria` are about: the one that declares that it is the pass rate.
#[must_use]
pub fn pass_rate_name() -> &'static str {
    metric_with_role(PolicyRole::PassRate).expect("one of our metrics declares that it is the pass rate")
}

/// The schema of policy files: JSON Schema 2020-12, with every property described.
pub const SCHEMA: &str = include_str!("../../schema/calipers.policy.1.json");

/// What a policy file says. Everything is optional.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// What the policy is called, if it says so.
    pub name: Option<String>,
    /// Thresholds of metrics, in the order of the file: those of `thresholds`, `pass_criteria` and `risk`, and those in
    /// definitions of metrics.
    pub gates: Vec<GateSpec>,
    /// Thresholds that depend on the version (`progressive`), by metric.
    pub progressive: Vec<Progressive>,
    /// Scenarios that must pass.
    pub required: Vec<Spanned<String>>,
    /// Scenarios that count towards metrics but that no rule about single scenarios applies to.
    pub optional: Vec<Spanned<String>>,
    /// How much scenarios and metrics count.
    pub weights: Weights,
    /// Formulas over metrics, in the order of the file.
    pub composite: Vec<Composite>,
    /// The condition over metrics and formulas (`composite.pass`).
    pub pass: Option<Spanned<Formula>>,
    /// Budgets that metrics are divided by: `normalized_latency` is `latency_p95` over its budget.
    pub normalize: Vec<(Spanned<String>, Threshold)>,
    /// The least and the most that one attempt can have of something.
    pub limits: Vec<Limit>,
    /// What is asked of the difference to a baseline.
    pub baseline: Option<BaselineRule>,
    /// Kinds of failure that fail the evaluation wherever they occur.
    pub blocking_failures: Vec<Spanned<String>>,
    /// What is asked of grades by criterion.
    pub rubric: Option<RubricRule>,
    /// Metrics that the policy defines, by expression.
    pub metrics: Vec<(Spanned<String>, Spanned<String>)>,
    /// Metrics that are named without a threshold: they are shown, and nothing is asked of them.
    pub shown: Vec<Spanned<String>>,
    /// How attempts are treated.
    pub epochs: EpochsRule,
    /// The share of expected behaviours, or the score, from which a scenario has passed; 1 unless said.
    pub pass_threshold: Option<f64>,
    /// The same number as it is written, where it is written without a unit: a score where scores lie outside [0, 1].
    pub pass_score: Option<f64>,
    /// The confidence with which gates are decided; none to compare estimates with thresholds.
    pub confidence: Option<f64>,
    /// How often the data may be looked at.
    pub looks: Looks,
    /// The fields by whose values samples go together: metadata, `category` among it.
    pub cluster: Vec<Spanned<String>>,
    /// What a verdict is about.
    pub estimand: Estimand,
    /// What undecided means.
    pub on_undecided: OnUndecided,
    /// What missing values are taken for when gates are decided with confidence.
    pub missing: OnMissingValues,
    /// The levels of risk that block, if the policy says so; what a gate does is in its own level.
    pub risk_blocking: Vec<Spanned<RiskLevel>>,
    /// The keys of the policy itself, with their places.
    pub keys: Vec<Spanned<String>>,
}

/// The top of the scales that scores are usually on. A larger pass threshold without a unit, such as 80, may be a percentage.
const SCALE_MAX: f64 = 10.0;

impl Policy {
    /// The pass threshold on the scale of these samples: a share, or the number as it is written where scores lie outside
    /// [0, 1]. A bare 4 is a score wherever scores lie: a run whose scores are all 1 of 5 looks like one of shares, and nothing
    /// passes with a share of 4 %.
    #[must_use]
    pub fn pass_threshold_of(&self, samples: &Samples, context: &Context) -> Option<f64> {
        let is_score = self.pass_score.is_some_and(|score| score > 1.0 && score <= SCALE_MAX);
        if is_score || samples.is_outside_unit(&context.labels) { self.pass_score } else { self.pass_threshold }
    }

    /// The metrics that are asked for by an expression, not by a plain name.
    #[must_use]
    pub fn expressions(&self) -> Vec<String> {
        let gates = self.gates.iter().map(|gate| &gate.metric);
        let own = self.metrics.iter().map(|(_, expression)| expression);
        let others = self.progressive.iter().map(|progressive| &progressive.metric);
        let all = gates.chain(own).chain(others).map(|name| name.value.clone());
        all.filter(|text| !text.chars().all(|c| c.is_alphanumeric() || c == '_')).collect()
    }
}

/// A threshold of a metric.
#[derive(Clone, Debug)]
pub struct GateSpec {
    /// The metric: a name, or an expression such as `pass_rate(where={"capability": "search"})`.
    pub metric: Spanned<String>,
    /// What is asked of it.
    pub threshold: Threshold,
    /// What happens if it is missed.
    pub level: Level,
    /// Where the policy says so.
    pub origin: Origin,
}

/// What happens if a gate is missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The evaluation fails.
    Blocking,
    /// The report says so.
    Warning,
}

/// The part of a policy that a gate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `thresholds.blocking` or `thresholds.warning`, or the definition of a metric.
    Thresholds,
    /// `pass_criteria.overall`.
    Overall,
    /// `pass_criteria.by_category`.
    Category(Arc<str>),
    /// `risk`.
    Risk {
        /// How much is at stake.
        level: RiskLevel,
        /// Why.
        rationale: Option<String>,
    },
    /// `progressive`, for a version.
    Progressive(String),
}

/// How much is at stake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RiskLevel {
    /// Must never be missed.
    Critical,
    /// Blocks unless the policy says otherwise.
    High,
    /// Warns unless the policy says otherwise.
    Medium,
    /// Warns unless the policy says otherwise.
    Low,
}

impl RiskLevel {
    /// The name used in policies and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

/// The thresholds of a metric by version.
#[derive(Clone, Debug)]
pub struct Progressive {
    /// The metric.
    pub metric: Spanned<String>,
    /// The versions in the order of the file, with the threshold of each.
    pub versions: Vec<(Spanned<String>, Threshold)>,
}

/// How much scenarios and metrics count; 1 where nothing is said.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    /// Of scenarios, by their `category`.
    pub by_category: Vec<(Spanned<String>, f64)>,
    /// Of scenarios, by their `capability`.
    pub by_capability: Vec<(Spanned<String>, f64)>,
    /// Of metrics, for `weighted_score`.
    pub by_metric: Vec<(Spanned<String>, f64)>,
}

/// A formula with a name.
#[derive(Clone, Debug)]
pub struct Composite {
    /// What it is called.
    pub name: Spanned<String>,
    /// What it is.
    pub formula: Spanned<Formula>,
}

/// The least and the most that one attempt can have of something, as the policy states it.
#[derive(Clone, Debug)]
pub struct Limit {
    /// A field of attempts, or a scorer; [`ALL_SCORES`] for every scorer that has no limit of its own.
    pub name: Spanned<String>,
    /// The least; 0 unless said.
    pub least: f64,
    /// The most.
    pub most: f64,
}

/// The name in `limits` for the scores of every scorer.
pub const ALL_SCORES: &str = "score";

impl Policy {
    /// The limit that is stated for a field.
    #[must_use]
    pub fn limit_of_field(&self, field: &str) -> Option<&Limit> {
        self.limits.iter().find(|limit| limit.name.value == field)
    }

    /// The limit that is stated for a scorer, or for all of them.
    #[must_use]
    pub fn limit_of_scorer(&self, scorer: Option<&str>) -> Option<&Limit> {
        let of_name = scorer.and_then(|scorer| self.limit_of_field(scorer));
        of_name.or_else(|| self.limit_of_field(ALL_SCORES))
    }
}

/// What is asked of the difference to a baseline.
#[derive(Clone, Debug)]
pub struct BaselineRule {
    /// The kind of question.
    pub mode: BaselineMode,
    /// The margin, in the unit of each metric.
    pub margin: Threshold,
    /// The metrics it is asked of; those that the policy has gates for if none are named.
    pub metrics: Vec<Spanned<String>>,
    /// What happens if it is missed.
    pub level: Level,
    /// Days after which a baseline is stale.
    pub max_age_days: Option<f64>,
}

/// The kinds of question to a baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaselineMode {
    /// Not worse than the baseline by more than the margin, paired by scenario.
    NonInferiority,
    /// At least the baseline plus the margin: the "slightly above baseline" of many guides.
    Above,
}

/// What is asked of grades by criterion.
#[derive(Clone, Debug)]
pub struct RubricRule {
    /// The scorer whose scores are maps of criteria to grades; the only such one if not named.
    pub scorer: Option<Spanned<String>>,
    /// The best grade; 2 unless said.
    pub best: f64,
    /// The least share of the best sum that a scenario needs.
    pub min_score: Option<Threshold>,
    /// True when no criterion may be graded 0.
    pub no_zero: bool,
}

/// How attempts are treated.
#[derive(Clone, Debug, Default)]
pub struct EpochsRule {
    /// How many attempts each scenario should have.
    pub count: Option<u32>,
    /// How the scores of a sample's attempts are reduced; the mean unless said.
    pub reducer: Option<Spanned<String>>,
    /// The least share of its attempts that every scenario must pass.
    pub min_pass_rate: Option<Threshold>,
}

/// How often the data may be looked at before the confidence is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Looks {
    /// Once, at a number of samples that was chosen before.
    #[default]
    Once,
    /// As often as anyone likes, after every sample if need be.
    Any,
}

/// What a verdict is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Estimand {
    /// Questions like these: the samples stand for others.
    #[default]
    QuestionsLikeThese,
    /// This suite, run again: the samples are given, and only attempts vary.
    ThisSuiteRerun,
}

/// What undecided means for the exit code and the verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnUndecided {
    /// Undecided.
    #[default]
    Undecided,
    /// The evaluation fails.
    Fail,
    /// The evaluation passes with a warning.
    Warn,
}

/// What missing values are taken for when gates are decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnMissingValues {
    /// For the worst they could be.
    #[default]
    Worst,
    /// For values like the others. Choose it only if failing to score has nothing to do with failing.
    AtRandom,
    /// For failures.
    Failed,
    /// For attempts that were not asked for.
    Excluded,
}
