//! Scenarios counted by outcome.

use crate::ScenarioOutcome;

/// How many scenarios passed, failed, ended in an error or have no score: `total` is the sum of these four.
///
/// ```
/// use calipers_core::{OutcomeCounts, ScenarioOutcome};
///
/// let mut counts = OutcomeCounts::default();
/// counts.add(ScenarioOutcome::Passed);
/// counts.add(ScenarioOutcome::Errored);
/// assert_eq!((counts.total, counts.passed, counts.errored), (2, 1, 1));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutcomeCounts {
    /// All scenarios.
    pub total: u64,
    /// Those that passed.
    pub passed: u64,
    /// Those that did not pass.
    pub failed: u64,
    /// Those that did not run.
    pub errored: u64,
    /// Those that nothing says the outcome of.
    pub unscored: u64,
    /// Those that passed in some attempts and not in others.
    pub flaky: u64,
    /// All attempts.
    pub attempts: u64,
    /// Attempts that ended in an error.
    pub errored_attempts: u64,
}

impl OutcomeCounts {
    /// Counts one more scenario. Flaky scenarios and attempts are the caller's to count.
    pub fn add(&mut self, outcome: ScenarioOutcome) {
        self.total += 1;
        match outcome {
            ScenarioOutcome::Passed => self.passed += 1,
            ScenarioOutcome::Failed => self.failed += 1,
            ScenarioOutcome::Errored => self.errored += 1,
            ScenarioOutcome::Unscored => self.unscored += 1,
        }
    }
}

impl FromIterator<ScenarioOutcome> for OutcomeCounts {
    fn from_iter<T: IntoIterator<Item = ScenarioOutcome>>(outcomes: T) -> Self {
        let mut counts = Self::default();
        outcomes.into_iter().for_each(|outcome| counts.add(outcome));
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_is_counted_once() {
        use ScenarioOutcome::{Errored, Failed, Passed, Unscored};
        let counts: OutcomeCounts = [Passed, Passed, Failed, Errored, Unscored, Passed].into_iter().collect();
        assert_eq!(counts.total, counts.passed + counts.failed + counts.errored + counts.unscored);
        assert_eq!((counts.passed, counts.failed, counts.errored, counts.unscored), (3, 1, 1, 1));
    }
}
