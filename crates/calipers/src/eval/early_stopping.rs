//! Stops a run once a policy's gates are decided, by a test that stays valid however often it is looked at.

use crate::LoadedRun;
use calipers_core::stats::eprocess::BinaryEprocess;
use calipers_core::{Samples, Verdict};
use calipers_gate::policy::{Comparison, Level};
use calipers_gate::{GateReport, GateResult, Mode};
use calipers_render::gate_rule;

/// Between two looks the run grows by this share, so that all looks together cost no more than a few at the end.
const GROWTH: f64 = 0.05;
const FIRST: usize = 10;

/// Looks at a policy's gates while results come in, more rarely as the run grows.
#[derive(Clone, Copy, Debug)]
pub struct EarlyStopper {
    next: usize,
}

impl Default for EarlyStopper {
    fn default() -> Self {
        Self { next: FIRST }
    }
}

impl EarlyStopper {
    /// Why no more results are needed, if they are not. `judge` is called only when a look is due.
    pub fn reason_to_stop(
        &mut self,
        samples: &Samples,
        judge: impl FnOnce(&LoadedRun) -> Option<GateReport>,
    ) -> Option<String> {
        if !self.is_due(samples) {
            return None;
        }
        let report = judge(&LoadedRun { samples: samples.clone(), ..LoadedRun::default() })?;
        decided_early(&report, 1.0 - level(report.mode))
    }

    /// True when enough has come in since the last look.
    fn is_due(&mut self, samples: &Samples) -> bool {
        let attempts = samples.attempts();
        let is_due = attempts >= self.next;
        if is_due {
            self.next = attempts + ((attempts as f64 * GROWTH) as usize).max(1);
        }
        is_due
    }
}

/// The confidence of a decision: that of the policy, or the usual one where it compares estimates.
fn level(mode: Mode) -> f64 {
    match mode {
        Mode::Confidence(level) => level,
        Mode::Point => 0.95,
    }
}

/// Why no more results are needed, if they are not: a blocking gate is surely missed, or all are surely met.
///
/// A gate on a share of samples is decided by the e-process of a binomial proportion, which errs with probability `alpha`
/// at most however often it is looked at (Ville 1939), provided that samples come in random order. A fail of any gate is a
/// fail of all, so fails share `alpha`; a pass needs all of them, which needs no correction. A gate for 100 % is missed
/// with the first failure and met by nothing but the end. Other gates are left for the end.
fn decided_early(report: &GateReport, alpha: f64) -> Option<String> {
    let blocking: Vec<&GateResult> = report.gates.iter().filter(|gate| gate.level == Level::Blocking).collect();
    let shared = alpha / blocking.len().max(1) as f64;
    if let Some(gate) = blocking.iter().find(|gate| is_surely(gate, Verdict::Fail, shared)) {
        return Some(format!("decided early: {} is surely missed ({})", gate.metric, gate_rule(gate)));
    }
    let are_met = !blocking.is_empty() && blocking.iter().all(|gate| is_surely(gate, Verdict::Pass, alpha));
    are_met.then(|| "decided early: all blocking gates are surely met".to_owned())
}

fn is_surely(gate: &GateResult, verdict: Verdict, alpha: f64) -> bool {
    let (Some((successes, trials)), Some(rule)) = (gate.counts, gate.threshold) else { return false };
    let failures = trials - successes.min(trials);
    match rule.comparison {
        Comparison::AtLeast if rule.value >= 1.0 => verdict == Verdict::Fail && failures > 0,
        Comparison::AtLeast | Comparison::Above => {
            let Ok(mut evidence) = BinaryEprocess::new(rule.value) else { return false };
            evidence.observe_many(successes, failures);
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
        let mut samples = Samples::new();
        let mut stopper = EarlyStopper::default();
        let due = (1..=1000).filter(|&id| {
            samples.push(id).score("judge", 1.0);
            stopper.is_due(&samples)
        });
        let due: Vec<i64> = due.collect();
        assert_eq!(due[..3], [10, 11, 12]);
        assert!(due.len() < 120, "{}", due.len());
    }
}
