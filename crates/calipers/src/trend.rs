//! What changed from one run of a suite to the next, and how sure that is when many pairs of runs are looked at.

use crate::compare::{ChangeScale, ChangeVerdict, CompareOptions, compare};
use crate::{LoadedRun, Selection};
use calipers_core::stats::multiplicity::{Correction, adjust};
use calipers_core::stats::threshold_test::Direction;
use calipers_core::{Error, Metric};
use calipers_render::{incomparable_sentence, undefined_sentence};

/// The change of a metric between two runs, before it is known how many tests are made.
#[derive(Clone, Debug, PartialEq)]
pub struct PairedChange {
    /// Difference or ratio.
    pub scale: ChangeScale,
    /// Which side is the better one; none where neither is.
    pub direction: Option<Direction>,
    /// The change; none where it is not known.
    pub value: Option<f64>,
    /// The lower end of its interval.
    pub lower: Option<f64>,
    /// The upper end.
    pub upper: Option<f64>,
    /// The two-sided p-value of no change, not adjusted.
    pub p: Option<f64>,
    /// The number of pairs.
    pub pairs: u64,
    /// Why it is not known, in words.
    pub problem: Option<String>,
}

/// The change of a metric from an earlier run to a later one, over the samples that both have.
pub fn change(
    later: &LoadedRun,
    earlier: &LoadedRun,
    metric: &Metric,
    selection: &Selection,
) -> Result<PairedChange, Error> {
    let options = CompareOptions { metrics: Some(vec![metric.clone()]), ..CompareOptions::default() };
    let report = compare(&[later.clone(), earlier.clone()], selection, &options)?;
    let unknown = |problem: Option<String>| PairedChange {
        scale: ChangeScale::Difference,
        direction: None,
        value: None,
        lower: None,
        upper: None,
        p: None,
        pairs: 0,
        problem,
    };
    let Some(comparison) = report.comparisons.first() else { return Ok(unknown(None)) };
    if let Some(problem) = &comparison.problem {
        return Ok(unknown(Some(incomparable_sentence(problem))));
    }
    let Some(found) = comparison.metrics.first() else { return Ok(unknown(None)) };
    let interval = found.change.interval;
    let why = || found.why.as_ref().map(incomparable_sentence);
    Ok(PairedChange {
        scale: found.scale,
        direction: found.direction,
        value: found.change.value.as_ref().ok().copied(),
        lower: interval.and_then(|interval| interval.lower),
        upper: interval.and_then(|interval| interval.upper),
        p: found.test.map(|test| test.p),
        pairs: found.change.n,
        problem: found.change.value.as_ref().err().map(undefined_sentence).or_else(why),
    })
}

/// The adjusted p-value and the answer for each of these changes, and how many tests were made. A change that is not known is no
/// test.
///
/// Holm's adjustment bounds the chance of a single false answer among all, whatever the dependence between neighbouring pairs,
/// which share a run.
#[must_use]
pub fn judge_changes(changes: &[&PairedChange], level: f64) -> (Vec<(Option<f64>, ChangeVerdict)>, u64) {
    let p: Vec<Option<f64>> = changes.iter().map(|change| change.p).collect();
    let tests = p.iter().flatten().count() as u64;
    let adjusted = adjust(&p, Correction::Holm).unwrap_or_else(|_| vec![None; p.len()]);
    let judged = changes.iter().zip(adjusted).map(|(change, adjusted)| {
        let verdict = match (change.value, adjusted) {
            (Some(value), Some(p)) if p <= 1.0 - level => match (change.direction, value > change.scale.no_change()) {
                (None, _) => ChangeVerdict::Changed,
                (Some(Direction::AtLeast), true) | (Some(Direction::AtMost), false) => ChangeVerdict::Improved,
                (Some(Direction::AtLeast), false) | (Some(Direction::AtMost), true) => ChangeVerdict::Regressed,
            },
            (Some(_), Some(_)) => ChangeVerdict::NoChangeDetected,
            _ => ChangeVerdict::Unknown,
        };
        (adjusted, verdict)
    });
    (judged.collect(), tests)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(p: Option<f64>, value: f64, direction: Option<Direction>) -> PairedChange {
        let (scale, value) = (ChangeScale::Difference, Some(value));
        PairedChange { scale, direction, value, lower: None, upper: None, p, pairs: 10, problem: None }
    }

    #[test]
    fn an_answer_depends_on_how_many_pairs_are_looked_at() {
        let (up, down) = (Some(Direction::AtLeast), Some(Direction::AtMost));
        let one = of(Some(0.03), -0.1, up);
        assert_eq!(judge_changes(&[&one], 0.95).0[0].1, ChangeVerdict::Regressed);
        let others = [of(Some(0.5), 0.1, up), of(None, 0.0, up)];
        let (judged, tests) = judge_changes(&[&one, &others[0], &others[1]], 0.95);
        assert_eq!(tests, 2);
        assert_eq!(judged[0], (Some(0.06), ChangeVerdict::NoChangeDetected));
        assert_eq!(judged[2], (None, ChangeVerdict::Unknown));
        for (direction, value, want) in [
            (up, 0.2, ChangeVerdict::Improved),
            (down, 0.2, ChangeVerdict::Regressed),
            (down, -0.2, ChangeVerdict::Improved),
            (None, -0.2, ChangeVerdict::Changed),
        ] {
            assert_eq!(judge_changes(&[&of(Some(0.001), value, direction)], 0.95).0[0].1, want);
        }
    }
}
