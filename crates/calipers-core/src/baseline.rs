//! A run to compare with, in few words.

use indexmap::IndexMap;

/// What is remembered of a run: small, and meant to be committed beside the policy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Baseline {
    /// The file it was read from.
    pub source: String,
    /// When it was recorded: `2026-11-16`.
    pub date: Option<String>,
    /// The program and its version.
    pub tool: String,
    /// The hash of the policy it was recorded under.
    pub policy_hash: Option<String>,
    /// The results it was recorded from.
    pub files: Vec<String>,
    /// The model, if it is known.
    pub model: Option<String>,
    /// How attempts were reduced.
    pub reducer: Option<String>,
    /// The metrics.
    pub metrics: IndexMap<String, BaselineMetric>,
    /// What became of each scenario, by id.
    pub scenarios: IndexMap<String, BaselineScenario>,
}

/// A metric of a baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct BaselineMetric {
    /// Its value.
    pub value: f64,
    /// How many samples or attempts it rests on.
    pub n: u64,
    /// The bounds of its 95 % interval.
    pub interval: Option<(f64, f64)>,
}

/// A scenario of a baseline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BaselineScenario {
    /// True when the scenario as a whole passed.
    pub has_passed: bool,
    /// Attempts that passed.
    pub passed: u32,
    /// All attempts.
    pub attempts: u32,
    /// The values of metrics that are means over scenarios, where they are not the share of attempts that passed.
    pub values: IndexMap<String, f64>,
}
