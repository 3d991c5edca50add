//! Stops a run once a policy's gates are decided, by a test that stays valid however often it is looked at.

use super::RunSoFar;
use crate::LoadedRun;
use calipers_core::Verdict;
use calipers_core::stats::eprocess::BinaryEprocess;
use calipers_gate::policy::{Comparison, Level};
use calipers_gate::{GateReport, GateResult};
use calipers_render::{RunNote, note_sentence};

/// Between two looks the run grows by this share, so that all looks together cost no more than a few at the end.
const GROWTH: f64 = 0.05;
const FIRST: usize = 10;

/// The share of the error that looks may spend. What is left is for the verdict of a run that comes to its end.
const LOOKS_SHARE: f64 = 0.2;

/// The level where a policy compares estimates: an early decision is as sure as this.
const USUAL_LEVEL: f64 = 0.95;

/// Looks at a policy's gates while results come in, more rarely as the run grows.
#[derive(Clone, Debug)]
pub struct EarlyStopper {
    next: usize,
    level: f64,
    decided: Option<GateReport>,
}

impl EarlyStopper {
    /// For a policy whose gates are decided with this confidence; none compares estimates.
    #[must_use]
    pub fn new(confidence: Option<f64>) -> Self {
        Self { next: FIRST, level: confidence.unwrap_or(USUAL_LEVEL), decided: None }
    }

    /// The confidence that is left for the judge when looks spend their part of the error.
    ///
    /// ```
    /// use calipers::eval::EarlyStopper;
    ///
    /// assert!((EarlyStopper::level_of_judge(0.95) - 0.96).abs() < 1e-12);
    /// ```
    #[must_use]
    pub fn level_of_judge(confidence: f64) -> f64 {
        1.0 - (1.0 - confidence) * (1.0 - LOOKS_SHARE)
    }

    /// Why no more results are needed, if they are not. `judge` is called only when a look is due, with the samples that a look
    /// may see, and decides as it will decide in the end.
    pub fn reason_to_stop(
        &mut self,
        run: &RunSoFar<'_>,
        judge: impl FnOnce(&LoadedRun) -> Option<GateReport>,
    ) -> Option<String> {
        if !self.is_due(run.samples()) {
            return None;
        }
        let report = judge(&LoadedRun { samples: run.to_samples(), ..LoadedRun::default() })?;
        let reason = decided_early(&report, (1.0 - self.level) * LOOKS_SHARE)?;
        self.decided = Some(report);
        Some(reason)
    }

    /// The verdict to report: that of the whole run, unless a look has decided otherwise. Attempts that were under way then
    /// may have moved an estimate, and a decision that was certain stays one.
    #[must_use]
    pub fn settle(self, report: GateReport) -> GateReport {
        match self.decided {
            Some(decided) if decided.verdict != report.verdict => decided,
            _ => report,
        }
    }

    /// True when enough has come in since the last look.
    fn is_due(&mut self, samples: usize) -> bool {
        let is_due = samples >= self.next;
        if is_due {
            self.next = samples + ((samples as f64 * GROWTH) as usize).max(1);
        }
        is_due
    }
}

/// Why no more results are needed, if they are not: a blocking gate is surely missed, or all are surely met, and the judge
/// says the same of what is there.
///
/// A gate on a share of samples is decided by the e-process of a binomial proportion, which errs with probability `alpha`
/// at most however often it is looked at (Ville 1939), provided that samples come in random order. Samples without a value
/// count against what is claimed, as they do for the judge. A fail of any gate is a fail of all, so fails share `alpha`; a
/// pass needs all of them, which needs no correction. A gate for 100 % is missed with the first failure and met by nothing
/// but the end. Other gates are left for the end.
fn decided_early(report: &GateReport, alpha: f64) -> Option<String> {
    let blocking: Vec<&GateResult> = report.gates.iter().filter(|gate| gate.level == Level::Blocking).collect();
    let shared = alpha / blocking.len().max(1) as f64;
    let is_missed = |gate: &&&GateResult| gate.verdict == Verdict::Fail && is_surely(gate, Verdict::Fail, shared);
    if report.verdict == Verdict::Fail
        && let Some(gate) = blocking.iter().find(is_missed)
    {
        return Some(note_sentence(RunNote::SurelyMissed(gate)));
    }
    let are_met = !blocking.is_empty() && blocking.iter().all(|gate| is_surely(gate, Verdict::Pass, alpha));
    (are_met && report.verdict == Verdict::Pass).then(|| note_sentence(RunNote::SurelyMet))
}

fn is_surely(gate: &GateResult, verdict: Verdict, alpha: f64) -> bool {
    let (Some((successes, trials)), Some(rule)) = (gate.counts, gate.threshold) else { return false };
    let failures = trials - successes.min(trials);
    let missing = gate.figure.as_ref().map_or(0, |figure| figure.missing);
    match rule.comparison {
        Comparison::AtLeast if rule.value >= 1.0 => verdict == Verdict::Fail && failures > 0,
        Comparison::AtLeast | Comparison::Above => {
            let Ok(mut evidence) = BinaryEprocess::new(rule.value) else { return false };
            match verdict {
                Verdict::Fail => evidence.observe_many(successes + missing, failures),
                _ => evidence.observe_many(successes, failures + missing),
            }
            evidence.verdict(alpha) == Ok(verdict)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_become_rarer() {
        let mut stopper = EarlyStopper::new(None);
        let due: Vec<usize> = (1..=1000).filter(|&samples| stopper.is_due(samples)).collect();
        assert_eq!(due[..3], [10, 11, 12]);
        assert!(due.len() < 120, "{}", due.len());
    }
}
