//! A mean that is measured cheaply on all things and truly on some of them, whatever the values are.
//!
//! Where all values are 0 or 1 it is that of a double sample ([`crate::double_sampling`]), else PPI++
//! ([`crate::prediction_powered`]). The rule looks at what values can be, never at which answer is narrower.

use crate::confusion::Confusion;
use crate::double_sampling::{DoubleSample, RealCounts};
use crate::joined_difference::{BoundedEstimate, find_p_above, find_p_below};
use crate::prediction_powered::PredictionPowered;
use crate::proportion::wilson_bounds;
use crate::special::{normal_quantile, smallest};
use crate::{Confidence, Interval, Undefined};

/// A corrected mean with its bounds, and the tests that they are the inversions of.
///
/// ```
/// use calipers_stats::Confidence;
/// use calipers_stats::corrected_mean::CorrectedMean;
///
/// // Truths beside what was measured, and what was measured of other things.
/// let pairs: Vec<(f64, f64)> = (0..100).map(|i| (f64::from(u8::from(i < 70)), f64::from(u8::from(i < 75)))).collect();
/// let others: Vec<f64> = (0..900).map(|i| f64::from(u8::from(i < 700))).collect();
/// let mean = CorrectedMean::new(&pairs, &others)?;
/// assert!((mean.estimate() - 0.775 * 70.0 / 75.0).abs() < 1e-12);
/// let bound = mean.interval(Confidence::lower(0.95)?)?.lower.expect("a lower bound");
/// assert!((mean.p_above(bound) - 0.05).abs() < 1e-6);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CorrectedMean {
    seen: Estimator,
    /// How many things were measured, and of how many the truth is known.
    things: u64,
    truths: u64,
    unmeasured: Option<Unmeasured>,
}

/// Things that were not measured at all, and what each is taken for.
#[derive(Clone, Copy, Debug)]
struct Unmeasured {
    count: u64,
    value: f64,
}

#[derive(Clone, Copy, Debug)]
enum Estimator {
    Shares(RealCounts),
    Values(PredictionPowered),
}

impl CorrectedMean {
    /// From truths beside what was measured of the same things, and what was measured of others.
    ///
    /// Undefined without a truth, below two of them where some value is not 0 or 1, and when a value is not finite.
    pub fn new(pairs: &[(f64, f64)], others: &[f64]) -> Result<Self, Undefined> {
        let is_binary = |x: f64| x == 0.0 || x == 1.0;
        let seen = if pairs.iter().all(|(y, h)| is_binary(*y) && is_binary(*h)) && others.iter().all(|h| is_binary(*h))
        {
            let mut known = Confusion::default();
            pairs.iter().for_each(|(truth, measured)| known.add(*truth == 1.0, *measured == 1.0));
            let positives = others.iter().filter(|h| **h == 1.0).count() as u64;
            let negatives = others.len() as u64 - positives;
            Estimator::Shares(DoubleSample { known, positives, negatives }.counts()?)
        } else {
            let (truths, measured): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
            Estimator::Values(PredictionPowered::new(&truths, &measured, others)?)
        };
        let truths = pairs.len() as u64;
        Ok(Self { seen, things: truths + others.len() as u64, truths, unmeasured: None })
    }

    /// With further things that were not measured, each taken for this value.
    #[must_use]
    pub fn with_unmeasured(self, count: u64, value: f64) -> Self {
        Self { unmeasured: (count > 0).then_some(Unmeasured { count, value }), ..self }
    }

    /// True when all values are 0 or 1.
    #[must_use]
    pub fn is_of_shares(&self) -> bool {
        matches!(self.seen, Estimator::Shares(_))
    }

    /// The number of things whose truth is known.
    #[must_use]
    pub fn truths(&self) -> u64 {
        self.truths
    }

    /// The weight of what was measured, for values that are not all 0 or 1.
    #[must_use]
    pub fn weight(&self) -> Option<f64> {
        match self.seen {
            Estimator::Shares(_) => None,
            Estimator::Values(powered) => Some(powered.weight()),
        }
    }

    /// The estimate.
    #[must_use]
    pub fn estimate(&self) -> f64 {
        let seen = match self.seen {
            Estimator::Shares(counts) => counts.estimate(),
            Estimator::Values(powered) => powered.estimate(),
        };
        let Some(Unmeasured { value, .. }) = self.unmeasured else { return seen };
        let share = self.measured_share();
        share * seen + (1.0 - share) * value
    }

    /// The share of things that were measured.
    fn measured_share(&self) -> f64 {
        let unmeasured = self.unmeasured.map_or(0, |unmeasured| unmeasured.count);
        self.things as f64 / (self.things + unmeasured) as f64
    }

    /// The interval. Where some things were not measured, their share has an error too, Wilson's, joined to the rest by the
    /// squares of their reaches (MOVER, Donner and Zou 2012).
    pub fn interval(&self, confidence: Confidence) -> Result<Interval, Undefined> {
        let interval = match self.seen {
            Estimator::Shares(counts) => counts.interval(confidence),
            Estimator::Values(powered) => powered.interval(confidence)?,
        };
        let Some(Unmeasured { count, value }) = self.unmeasured else { return Ok(interval) };
        let seen = match self.seen {
            Estimator::Shares(counts) => counts.estimate(),
            Estimator::Values(powered) => powered.estimate(),
        };
        let (share, total) = (self.measured_share(), (self.things + count) as f64);
        let (low, high) = wilson_bounds(share, total, -normal_quantile(confidence.tail()));
        let distance = seen - value;
        // More of what was measured moves the mean towards what was seen.
        let (less, more) = if distance >= 0.0 { (share - low, high - share) } else { (high - share, share - low) };
        let estimate = self.estimate();
        Ok(Interval {
            lower: interval.lower.map(|x| estimate - (share * (seen - x)).hypot(distance * less)),
            upper: interval.upper.map(|x| estimate + (share * (x - seen)).hypot(distance * more)),
            ..interval
        })
    }

    /// The error at which the lower bound reaches a value: how probable data this high are at it. 1 for a value above
    /// the estimate.
    #[must_use]
    pub fn p_above(&self, value: f64) -> f64 {
        find_p_above(value, |confidence| self.interval(confidence))
    }

    /// The same of the upper bound.
    #[must_use]
    pub fn p_below(&self, value: f64) -> f64 {
        find_p_below(value, |confidence| self.interval(confidence))
    }

    /// The part of a thing in the estimate, which is the mean of all parts.
    #[must_use]
    pub fn influence(&self, measured: f64, truth: Option<f64>) -> f64 {
        match self.seen {
            Estimator::Shares(counts) => counts.influence(measured == 1.0, truth, self.things as f64),
            Estimator::Values(powered) => powered.influence(measured, truth),
        }
    }

    /// How many truths in all, drawn like those known, would make something hold; none where not even knowing all would.
    #[must_use]
    pub fn truths_until(&self, holds: impl Fn(&Self) -> bool) -> Option<u64> {
        let with = |truths: u64| {
            let seen = match self.seen {
                Estimator::Shares(counts) => Estimator::Shares(counts.with_known(truths as f64)),
                Estimator::Values(powered) => Estimator::Values(powered.with_truths(truths as f64)),
            };
            Self { seen, truths, ..*self }
        };
        if !holds(&with(self.things)) {
            return None;
        }
        Some(self.truths + smallest(self.things - self.truths, |more| holds(&with(self.truths + more))))
    }
}

impl BoundedEstimate for CorrectedMean {
    fn estimate(&self) -> f64 {
        Self::estimate(self)
    }

    fn interval(&self, confidence: Confidence) -> Result<Interval, Undefined> {
        Self::interval(self, confidence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn level() -> Confidence {
        Confidence::two_sided(0.95).unwrap()
    }

    /// So many of each of: both say yes, only the measurement does, only the truth is, neither.
    fn pairs([tp, fp, fnn, tn]: [usize; 4]) -> Vec<(f64, f64)> {
        let cells = [(tp, (1.0, 1.0)), (fp, (0.0, 1.0)), (fnn, (1.0, 0.0)), (tn, (0.0, 0.0))];
        cells.iter().flat_map(|&(times, cell)| std::iter::repeat_n(cell, times)).collect()
    }

    #[test]
    fn shares_are_a_double_sample_and_others_prediction_powered() {
        let shares = CorrectedMean::new(&pairs([30, 5, 3, 12]), &[1.0, 0.0, 1.0]).unwrap();
        let sample = DoubleSample { known: Confusion::new(30, 5, 3, 12), positives: 2, negatives: 1 };
        assert!(shares.is_of_shares() && shares.weight().is_none());
        assert_eq!(shares.estimate(), sample.estimate().unwrap());
        assert_eq!(shares.interval(level()).unwrap(), sample.interval(level()).unwrap());
        let graded = CorrectedMean::new(&[(0.5, 0.4), (1.0, 0.9), (0.2, 0.4)], &[0.5, 0.75]).unwrap();
        assert!(!graded.is_of_shares() && graded.weight().is_some());
        assert!(CorrectedMean::new(&[], &[1.0]).is_err() && CorrectedMean::new(&[(0.5, 0.5)], &[1.0]).is_err());
    }

    #[test]
    fn p_values_are_the_inversions_of_bounds() {
        let shares = CorrectedMean::new(&pairs([30, 5, 3, 12]), &[1.0; 300]).unwrap();
        let graded: Vec<(f64, f64)> = (0..40).map(|i| (f64::from(i % 8) / 7.0, f64::from(i % 7) / 6.0)).collect();
        let graded = CorrectedMean::new(&graded, &[0.5, 0.6, 0.9]).unwrap();
        for mean in [shares, graded, shares.with_unmeasured(20, 0.0), shares.with_unmeasured(20, 1.0)] {
            for alpha in [0.001, 0.05, 0.2] {
                let lower = mean.interval(Confidence::lower(1.0 - alpha).unwrap()).unwrap().lower.unwrap();
                let upper = mean.interval(Confidence::upper(1.0 - alpha).unwrap()).unwrap().upper.unwrap();
                assert!((mean.p_above(lower) / alpha - 1.0).abs() < 1e-6, "{mean:?}");
                assert!((mean.p_below(upper) / alpha - 1.0).abs() < 1e-6, "{mean:?}");
            }
            assert_eq!((mean.p_above(mean.estimate() + 0.1), mean.p_below(mean.estimate() - 0.1)), (1.0, 1.0));
        }
    }

    #[test]
    fn what_was_not_measured_moves_the_mean_towards_what_it_is_taken_for() {
        let mean = CorrectedMean::new(&pairs([30, 5, 3, 12]), &[1.0; 50]).unwrap();
        let filled = mean.with_unmeasured(25, 0.0);
        assert!((filled.estimate() - 0.8 * mean.estimate()).abs() < 1e-12);
        let (plain, wide) = (mean.interval(level()).unwrap(), filled.interval(level()).unwrap());
        assert!(wide.lower.unwrap() < 0.8 * plain.lower.unwrap());
        assert!(wide.upper.unwrap() > 0.8 * plain.upper.unwrap() - 1e-12);
    }

    #[test]
    fn the_mean_of_influences_is_the_estimate() {
        let others = [1.0, 1.0, 0.0, 1.0, 0.0];
        let graded: Vec<(f64, f64)> = (0..40).map(|i| (f64::from(i % 8) / 7.0, f64::from(i % 7) / 6.0)).collect();
        for pairs in [pairs([30, 5, 3, 12]), pairs([30, 5, 0, 0]), graded] {
            let mean = CorrectedMean::new(&pairs, &others).unwrap();
            let known = pairs.iter().map(|(truth, measured)| mean.influence(*measured, Some(*truth)));
            let all: Vec<f64> = known.chain(others.iter().map(|measured| mean.influence(*measured, None))).collect();
            assert!((all.iter().sum::<f64>() / all.len() as f64 - mean.estimate()).abs() < 1e-12);
        }
    }

    #[test]
    fn truths_are_found_that_decide() {
        let mean = CorrectedMean::new(&pairs([36, 4, 2, 8]), &[1.0; 950]).unwrap();
        let needed = mean.truths_until(|mean| mean.p_above(0.8) <= 0.05).expect("1000 truths are enough");
        assert!((60..1000).contains(&needed), "{needed}");
        assert_eq!(mean.truths_until(|mean| mean.p_above(0.99) <= 0.05), None);
    }

    proptest! {
        /// A truth that turns out better never lowers the bound by more than rounding.
        #[test]
        fn a_better_truth_never_lowers_the_bound(cells in prop::array::uniform4(1usize..25), positives in 0usize..300, negatives in 0usize..300) {
            let mut others = vec![1.0; positives];
            others.resize(positives + negatives, 0.0);
            let lower = |cells| {
                let mean = CorrectedMean::new(&pairs(cells), &others).unwrap();
                mean.interval(Confidence::lower(0.95).unwrap()).unwrap().lower.unwrap()
            };
            let [tp, fp, fnn, tn] = cells;
            prop_assert!(lower([tp + 1, fp - 1, fnn, tn]) >= lower(cells) - 1e-9);
            prop_assert!(lower([tp, fp, fnn + 1, tn - 1]) >= lower(cells) - 1e-9);
        }
    }
}
