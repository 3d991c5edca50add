//! What is kept of a run, to compare later runs with.

use calipers_core::{OutcomeCounts, ScenarioOutcome};
use indexmap::IndexMap;

/// What is kept of a run: small, and meant to be committed beside the policy.
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
    /// The outcome of each scenario, by id.
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
#[derive(Clone, Debug, PartialEq)]
pub struct BaselineScenario {
    /// The outcome of the scenario as a whole.
    pub outcome: ScenarioOutcome,
    /// Attempts that passed.
    pub passed: u32,
    /// All attempts.
    pub attempts: u32,
    /// The values of metrics that are means over scenarios, where they are not the share of attempts that passed.
    pub values: IndexMap<String, f64>,
}

impl Baseline {
    /// Days after which a baseline is stale, unless a policy says otherwise.
    pub const STALE_DAYS: f64 = 90.0;

    /// The scenarios by outcome. Those count as flaky of which some attempts passed and others did not.
    #[must_use]
    pub fn counts(&self) -> OutcomeCounts {
        let scenarios = self.scenarios.values();
        let mut counts: OutcomeCounts = scenarios.clone().map(|scenario| scenario.outcome).collect();
        counts.attempts = scenarios.clone().map(|scenario| u64::from(scenario.attempts)).sum();
        let is_flaky = |scenario: &&BaselineScenario| scenario.passed > 0 && scenario.passed < scenario.attempts;
        counts.flaky = scenarios.filter(is_flaky).count() as u64;
        counts
    }

    /// A number with the thirteen digits that a baseline keeps. Both sides of a comparison are rounded so: what the last
    /// digits of a sum are depends on the machine, and the same run differs from itself by nothing.
    ///
    /// ```
    /// use calipers_gate::Baseline;
    ///
    /// assert_eq!(Baseline::settle(1.0 / 3.0), 0.3333333333333);
    /// assert_eq!(Baseline::settle(0.1 + 0.2), 0.3);
    /// ```
    #[must_use]
    pub fn settle(x: f64) -> f64 {
        const WHOLE_MAX: f64 = 1e12;
        if x.fract() == 0.0 && x.abs() < WHOLE_MAX {
            return x;
        }
        format!("{x:.12e}").parse().unwrap_or(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settled_numbers_stay_as_they_are() {
        for x in [0.0, 1.0, -2.0, 0.95, 1.0 / 3.0, 2.0 / 3.0, 1_234.567_890_123_456, 1e-9 / 7.0, 1e300 / 3.0] {
            let once = Baseline::settle(x);
            assert_eq!(Baseline::settle(once), once);
            assert!((once - x).abs() <= 1e-12 * x.abs(), "{x} became {once}");
        }
    }
}
