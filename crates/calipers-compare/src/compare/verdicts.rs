//! From p-values to verdicts: improved, regressed, within noise, no change detected.

use super::compare_report::{ChangeScale, ChangeTest, ChangeVerdict, MarginAnswer, MarginStanding, MetricComparison};
use super::sampling::ChangeEstimate;
use calipers_core::{Caveat, Incomparable};
use calipers_stats::multiplicity::{Correction, adjust};
use calipers_stats::threshold_test::Direction;

/// The power with which a detectable change would be found.
const POWER: f64 = 0.8;

/// A comparison whose p-values are not adjusted yet.
pub(super) struct MetricDraft {
    pub(super) comparison: MetricComparison,
    pub(super) found: ChangeEstimate,
}

/// One-sided p-values of a change beyond its margin.
struct MarginPValues {
    noninferiority: Option<f64>,
    equivalence: f64,
    inferiority: Option<f64>,
    superiority: Option<f64>,
}

impl MetricDraft {
    /// Why the verdict is unknown.
    fn why(&self) -> Incomparable {
        self.found.why.clone().unwrap_or(Incomparable::NoSpread)
    }

    /// Why a change that the samples show is not claimed, and what would settle it.
    fn caveat_of_open(&self, alpha: f64) -> Option<Caveat> {
        if self.comparison.verdict != ChangeVerdict::NoChangeDetected {
            return None;
        }
        let open = self.found.distribution.as_ref()?.open(alpha)?;
        Some(Caveat::OpenChange {
            units: open.units,
            are_clusters: open.units != self.found.n,
            one_in: open.one_in,
            need: open.need,
            is_unlimited: self.comparison.scale == ChangeScale::Ratio && !self.found.is_limited,
        })
    }

    fn margin_p_values(&self, margin: Option<f64>) -> Option<MarginPValues> {
        let distribution = self.found.distribution.as_ref()?;
        let reach = match self.found.scale {
            ChangeScale::Difference => margin?,
            ChangeScale::Ratio => margin?.ln_1p(),
        };
        let is_not_below = distribution.above(-reach)?;
        let is_not_above = distribution.below(reach)?;
        let (is_below, is_above) = (distribution.below(-reach), distribution.above(reach));
        let (noninferiority, inferiority, superiority) = match self.comparison.direction {
            Some(Direction::AtLeast) => (Some(is_not_below), is_below, is_above),
            Some(Direction::AtMost) => (Some(is_not_above), is_above, is_below),
            // Neither side is worse, so that either is beyond the margin.
            None => (None, is_below, is_above),
        };
        Some(MarginPValues { noninferiority, equivalence: is_not_below.max(is_not_above), inferiority, superiority })
    }
}

/// Adjusts p-values for the number of tests and sets the verdict of each metric. Returns the number of tests.
pub(super) fn set_verdicts(
    drafts: &mut [&mut MetricDraft],
    margin: Option<f64>,
    level: f64,
    correction: Correction,
) -> u64 {
    let adjusted = |p: Vec<Option<f64>>| adjust(&p, correction).expect("a p-value lies between 0 and 1");
    let p_values: Vec<Option<f64>> = drafts.iter().map(|draft| draft.found.p.map(|(p, _)| p.clamp(0.0, 1.0))).collect();
    let tested = p_values.iter().flatten().count() as u64;
    let beyond: Vec<Option<MarginPValues>> = drafts.iter().map(|draft| draft.margin_p_values(margin)).collect();
    let each = |side: fn(&MarginPValues) -> Option<f64>| {
        adjusted(beyond.iter().map(|beyond| side(beyond.as_ref()?)).collect())
    };
    let (inferior, superior) = (each(|beyond| beyond.inferiority), each(|beyond| beyond.superiority));
    let alpha = 1.0 - level;
    // A single change among unchanged metrics is found by its adjusted p-value.
    let alpha_of_one = alpha / tested.max(1) as f64;
    let all = adjusted(p_values).into_iter().zip(beyond).zip(inferior.into_iter().zip(superior));
    for (draft, ((p, beyond), (inferior, superior))) in drafts.iter_mut().zip(all) {
        let comparison = &mut draft.comparison;
        let detectable = draft.found.detectable(alpha_of_one, POWER);
        let is_ratio = draft.found.scale == ChangeScale::Ratio;
        comparison.detectable = detectable.map(|change| if is_ratio { change.exp() } else { change });
        comparison.test = draft.found.p.zip(p).map(|((p, method), adjusted)| ChangeTest { p, adjusted, method });
        comparison.margin = margin.zip(beyond).map(|(margin, beyond)| MarginAnswer {
            margin,
            standing: classify_margin(&beyond, inferior, superior, comparison.direction, alpha),
            noninferiority_p: beyond.noninferiority,
            equivalence_p: beyond.equivalence,
            inferiority_p: inferior.filter(|_| comparison.direction.is_some()),
            superiority_p: superior.filter(|_| comparison.direction.is_some()),
        });
        let is_sure = |p: Option<f64>| p.is_some_and(|p| p <= alpha);
        let sides = (margin.is_none() || is_sure(inferior), margin.is_none() || is_sure(superior));
        let verdict = classify_change(draft, is_sure(p), sides);
        draft.comparison.verdict = verdict;
        draft.comparison.change.caveats.extend(draft.caveat_of_open(alpha_of_one));
        draft.comparison.why = (verdict == ChangeVerdict::Unknown).then(|| draft.why());
    }
    tested
}

fn classify_margin(
    beyond: &MarginPValues,
    inferior: Option<f64>,
    superior: Option<f64>,
    direction: Option<Direction>,
    alpha: f64,
) -> MarginStanding {
    let is_sure = |p: Option<f64>| p.is_some_and(|p| p < alpha);
    if direction.is_some() && is_sure(inferior) {
        MarginStanding::Inferior
    } else if direction.is_some() && is_sure(superior) {
        MarginStanding::Superior
    } else if beyond.equivalence < alpha {
        MarginStanding::Equivalent
    } else if is_sure(beyond.noninferiority) {
        MarginStanding::NonInferior
    } else {
        MarginStanding::Unclear
    }
}

/// The verdict of a metric; `beyond` says whether the change is large enough to matter, downwards (or to the worse side)
/// and upwards (or to the better one).
fn classify_change(draft: &MetricDraft, is_significant: bool, beyond: (bool, bool)) -> ChangeVerdict {
    let (Ok(estimate), Some(_)) = (&draft.found.estimate, draft.found.p) else { return ChangeVerdict::Unknown };
    if !is_significant {
        return ChangeVerdict::NoChangeDetected;
    }
    match (draft.comparison.direction, *estimate > 0.0, beyond) {
        (None, false, (true, _)) | (None, true, (_, true)) => ChangeVerdict::Changed,
        (Some(Direction::AtLeast), true, (_, true)) | (Some(Direction::AtMost), false, (_, true)) => {
            ChangeVerdict::Improved
        }
        (Some(Direction::AtLeast), false, (true, _)) | (Some(Direction::AtMost), true, (true, _)) => {
            ChangeVerdict::Regressed
        }
        _ => ChangeVerdict::WithinNoise,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strongest_claim_that_is_sure_is_the_standing() {
        use MarginStanding::{Equivalent, Inferior, NonInferior, Superior, Unclear};
        // Noninferiority, equivalence, inferiority and superiority, at an error of 0.05.
        let higher = Some(Direction::AtLeast);
        for (p, direction, want) in [
            ([0.9, 0.9, 0.01, 1.0], higher, Inferior),
            ([0.001, 0.9, 1.0, 0.01], higher, Superior),
            ([0.01, 0.01, 1.0, 1.0], higher, Equivalent),
            ([0.01, 0.3, 1.0, 1.0], higher, NonInferior),
            ([0.3, 0.3, 0.3, 0.3], higher, Unclear),
            ([0.05, 0.05, 0.05, 0.05], higher, Unclear),
            // Where neither side is better, a change beyond the margin is neither superior nor inferior.
            ([0.9, 0.9, 0.01, 0.01], None, Unclear),
        ] {
            let [noninferiority, equivalence, inferiority, superiority] = p;
            let beyond = MarginPValues {
                noninferiority: Some(noninferiority),
                equivalence,
                inferiority: Some(inferiority),
                superiority: Some(superiority),
            };
            let got = classify_margin(&beyond, Some(inferiority), Some(superiority), direction, 0.05);
            assert_eq!(got, want, "{p:?}");
        }
    }
}
