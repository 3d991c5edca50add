//! Which scenarios a run has, and whether that is enough to judge.

use super::scenario_rules::ScenarioSummary;
use super::threshold_question::Judgement;
use super::{Judge, PendingGate};
use crate::{Coverage, CoverageReason, ExpectedBy, GateKind, GateRule};
use calipers_core::{OutcomeCounts, ScenarioOutcome, Verdict};
use std::collections::BTreeSet;

impl Judge<'_> {
    pub(super) fn coverage(&self) -> Coverage {
        let mut counts: OutcomeCounts = self.summaries.iter().map(|scenario| scenario.outcome).collect();
        counts.attempts = self.samples.attempts() as u64;
        counts.errored_attempts = self.samples.errored_attempts() as u64;
        let is_flaky = |scenario: &ScenarioSummary| {
            let has = |wanted| self.outcomes(scenario).contains(&wanted);
            has(ScenarioOutcome::Passed) && has(ScenarioOutcome::Failed)
        };
        counts.flaky = self.summaries.iter().filter(is_flaky).count() as u64;
        let mut coverage = Coverage { counts, ..Coverage::default() };
        let is_asked = self.case.suite.is_some()
            || self.case.baseline.is_some_and(|(baseline, _)| !baseline.scenarios.is_empty())
            || !(self.policy.required.is_empty() && self.policy.optional.is_empty());
        // The names of all scenarios are only needed where something says which there should be.
        let named = self.summaries.iter().filter(|_| is_asked);
        let present: BTreeSet<String> = named.map(|scenario| self.id(&scenario)).collect();
        let absent = |ids: &mut dyn Iterator<Item = &str>| -> Vec<String> {
            ids.filter(|id| !present.contains(*id)).map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect()
        };
        if let Some(suite) = self.case.suite {
            coverage.expected_by = Some(ExpectedBy::Suite);
            coverage.missing = absent(&mut suite.iter().map(String::as_str));
            let known: BTreeSet<&str> = suite.iter().map(String::as_str).collect();
            coverage.unexpected = present.iter().filter(|id| !known.contains(id.as_str())).cloned().collect();
        } else if let Some((baseline, _)) = self.case.baseline.filter(|(baseline, _)| !baseline.scenarios.is_empty()) {
            coverage.expected_by = Some(ExpectedBy::Baseline);
            let named = self.policy.required.iter().chain(&self.policy.optional).map(|id| id.value.as_str());
            coverage.missing = absent(&mut baseline.scenarios.keys().map(String::as_str).chain(named));
        } else if !(self.policy.required.is_empty() && self.policy.optional.is_empty()) {
            coverage.expected_by = Some(ExpectedBy::Policy);
            let named = self.policy.required.iter().chain(&self.policy.optional);
            coverage.missing = absent(&mut named.map(|id| id.value.as_str()));
        }
        coverage
    }

    /// Nothing to judge is never a pass, and neither is a part of a suite.
    pub(super) fn coverage_gate(&self, coverage: &Coverage, gates: &[PendingGate]) -> Option<PendingGate> {
        let has_verdicts = coverage.counts.passed + coverage.counts.failed > 0;
        let has_figure =
            |gate: &PendingGate| gate.result.figure.as_ref().is_some_and(|figure| figure.value.is_ok() && figure.n > 0);
        let has_scores = || self.samples.scorers().next().is_some() && self.samples.counts().scored > 0;
        let is_measured = has_verdicts || has_scores() || gates.iter().any(has_figure);
        let reason = if coverage.counts.total == 0 {
            CoverageReason::EmptyRun
        } else if !is_measured {
            self.nothing_measured(coverage.counts.total)
        } else if coverage.expected_by == Some(ExpectedBy::Suite) && !coverage.missing.is_empty() {
            CoverageReason::SuiteIncomplete { missing: coverage.missing.clone() }
        } else {
            return None;
        };
        let judgement = Judgement::new(Verdict::Undecided, reason);
        Some(PendingGate::new(GateKind::Coverage, "coverage", GateRule::EveryScenarioRan, judgement))
    }

    /// Why no scenario of a run says anything.
    fn nothing_measured(&self, scenarios: u64) -> CoverageReason {
        let has_verdict =
            |outcome: &&ScenarioOutcome| matches!(outcome, ScenarioOutcome::Passed | ScenarioOutcome::Failed);
        let attempts = |scenario: ScenarioSummary| self.outcomes(&scenario).iter().filter(has_verdict).count() as u64;
        match self.summaries.iter().map(attempts).max().unwrap_or(0) {
            0 => CoverageReason::NothingScored { scenarios },
            attempts => CoverageReason::NothingReduced(self.reducer.no_value_reason(attempts)),
        }
    }
}
