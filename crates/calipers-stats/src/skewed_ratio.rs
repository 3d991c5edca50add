//! The ratio of two sums of paired values that nothing limits: costs, tokens and times of two runs over the same samples.
//!
//! To ask whether Σy / Σx is at most R is to ask whether the mean of z = y − R x is positive (Fieller 1954). If a run takes R times
//! as much as the other in distribution, z is as likely to be positive as negative, however skewed y and x are, and Student's t errs
//! less often than it claims for symmetric values with long tails (Benjamini 1983). The delta method on logarithms knows nothing of
//! that: for ten lognormal costs (σ = 1) that hardly differ between the runs, its 95 % intervals cover 87 % of the time.
//!
//! If one run is more skewed than the other, so is z. Then t is corrected for the skewness, as for means
//! ([`crate::skewed_mean`]). No p-value or bound depends on the scale of y or x.
//!
//! **What did not occur.** If one sample in twenty takes five times as much as before, and the others hardly vary, most runs of twelve
//! samples contain no such sample, and t finds a change that is none. So a bound is also that of what was seen beside a share q of samples
//! that take nothing in one of the runs, or four times the mean, or change by 6.5/∛n times as much as the one that changed most: three times
//! with ten pairs, twice with thirty and 1.4 times with a hundred, since many pairs show more of a tail. (1 − q)ⁿ is the error that is
//! allowed: any greater share would have shown. The farther bound counts. What is larger still and did not occur remains unknown (Bahadur
//! and Savage 1956), unless it is stated how much one sample can take.
//!
//! Clusters are units too, each with its sums. Uneven sums have uneven variances, for which t is conservative at 95 % (Bakirov and
//! Székely 2005).

use crate::skewed_mean::{OpenChange, doubtful_t, p_unseen, share_unseen};
use crate::special::{t_cdf, t_quantile};
use crate::sum::{ExactSum, sums_of_blocks};
use crate::{Confidence, Interval, Method, Quantity, Undefined};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};

/// A ratio of sums over independent units.
///
/// ```
/// use calipers_stats::{Confidence, skewed_ratio::SkewedRatio};
///
/// let (new, old) = ([2.0, 3.1, 8.2, 1.0, 4.3, 2.2, 9.9, 3.0, 2.9, 5.1], [1.1, 1.4, 4.0, 0.6, 2.0, 1.2, 5.1, 1.4, 1.5, 2.4]);
/// let ratio = SkewedRatio::new(&new, &old)?;
/// let interval = ratio.interval(Confidence::two_sided(0.95)?);
/// // All ten are about twice as high. That costs rose is sure, and by how much is not: one in ten of the others may be far higher.
/// assert!(interval.contains(2.0) && !interval.contains(1.0) && ratio.p_above(1.0) < 0.025);
/// assert!(interval.contains(1.8) && interval.contains(3.0));
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Debug)]
pub struct SkewedRatio {
    estimate: f64,
    n: f64,
    /// The change of the pair that changed most, as a share of the mean.
    largest_change: f64,
    /// The most that a sample can add to each sum beyond its mean, as a multiple of that, if it is stated.
    stated: Option<[f64; 2]>,
    /// Sums of squares and products about the means, of values whose means are 1.
    squares: [f64; 3],
    cubes: [f64; 4],
    /// The most evidence against ratios between the angle of each place and the estimate, seen from either side of it.
    above: Vec<f64>,
    below: Vec<f64>,
}

/// How much of the skewness that was seen is assumed: ten costs of a skewed law show a third of it.
const SKEWNESS_SEEN: f64 = 3.0;
/// A sample that did not occur may take so many times the mean, also if all that were seen took about as much. With five times, forty
/// samples that all cost 30 % more than before would show no change.
const UNSEEN: f64 = 4.0;
/// Or change by this over ∛n times as much as the one that changed most: fewer pairs show less of a long tail. Lognormal costs (σ = 1.5)
/// beside less skewed ones (σ = 0.7) are then covered in 93 to 95 % of the runs of 10 to 100 pairs. Twice the largest change, whatever n is,
/// covers 90 % with ten to twenty pairs, and finds a fall by 30 % with a hundred in 76 % of the runs instead of 87 %.
const CHANGES_BEYOND: f64 = 6.5;

/// Angles at which the evidence is evaluated beforehand, from a ratio of 0 to an infinite one.
const ANGLES: usize = 256;

impl SkewedRatio {
    /// The ratio of the sum of `y` to that of `x`, which belong together.
    ///
    /// Undefined below two pairs, if the lists differ in length, and for sums that are not positive and finite.
    pub fn new(y: &[f64], x: &[f64]) -> Result<Self, Undefined> {
        Undefined::check_lengths(Quantity::Pairs, y.len(), x.len())?;
        let have = y.len() as u64;
        if have < 2 {
            return Err(Undefined::TooFew { what: Quantity::Pairs, need: 2, have });
        }
        let n = y.len() as f64;
        let mean = |side: &[f64]| {
            let mut total = ExactSum::default();
            total.extend(side);
            total.value() / n
        };
        let (y_mean, x_mean) = (mean(y), mean(x));
        for mean in [y_mean, x_mean] {
            Undefined::check_finite(mean)?;
            if mean <= 0.0 {
                return Err(Undefined::ZeroDenominator { what: Quantity::DenominatorTotal });
            }
        }
        // Differences from the means, as shares of them.
        let each = || y.iter().zip(x).map(|(y, x)| (y / y_mean - 1.0, x / x_mean - 1.0));
        let [yy, yx, xx, yyy, yyx, yxx, xxx] = sums_of_blocks(y.len(), |places, [yy, yx, xx, yyy, yyx, yxx, xxx]| {
            for (at, (y, x)) in y[places.clone()].iter().zip(&x[places]).enumerate() {
                let (y, x) = (y / y_mean - 1.0, x / x_mean - 1.0);
                (yy[at], yx[at], xx[at]) = (y * y, y * x, x * x);
                (yyy[at], yyx[at], yxx[at], xxx[at]) = (y * y * y, y * y * x, y * x * x, x * x * x);
            }
        });
        let (squares, cubes) = ([yy, yx, xx], [yyy, yyx, yxx, xxx]);
        squares.iter().chain(&cubes).try_for_each(|sum| Undefined::check_finite(*sum).map(|_| ()))?;
        let largest_change = each().fold(0.0, |most: f64, (y, x)| most.max((y - x).abs()));
        let (above, below) = (Vec::new(), Vec::new());
        let estimate = y_mean / x_mean;
        if !(estimate > 0.0 && estimate.is_finite()) {
            return Err(Undefined::NotFinite { value: estimate });
        }
        let mut ratio = Self { estimate, n, largest_change, stated: None, squares, cubes, above, below };
        let half = ANGLES / 2;
        ratio.above = most_so_far((0..=half).rev().map(|place| ratio.evidence(angle_at(place), 1.0)));
        ratio.above.reverse();
        ratio.below = most_so_far((half..=ANGLES).map(|place| ratio.evidence(angle_at(place), -1.0)));
        Ok(ratio)
    }

    /// The ratio.
    #[must_use]
    pub fn estimate(&self) -> f64 {
        self.estimate
    }

    /// The same where it is known how much one sample can add to each sum, as a multiple of its mean: no other guess is needed.
    ///
    /// ```
    /// use calipers_stats::{Confidence, skewed_ratio::SkewedRatio};
    ///
    /// // Sixty-four samples all cost 6 % more.
    /// let old: Vec<f64> = (0..64).map(|i| 1.0 + f64::from(i % 8) / 100.0).collect();
    /// let new: Vec<f64> = old.iter().map(|x| 1.06 * x).collect();
    /// let (ratio, level) = (SkewedRatio::new(&new, &old)?, Confidence::two_sided(0.95)?);
    /// assert!(ratio.interval(level).contains(1.0));
    /// assert!(!ratio.within([1.9, 2.0]).interval(level).contains(1.0));
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    #[must_use]
    pub fn within(self, most: [f64; 2]) -> Self {
        Self { stated: Some(most.map(|most| (most - 1.0).max(0.0))), ..self }
    }

    /// The most that a sample that did not occur among `n` is taken to add to a sum beyond its mean: to the one below the line, which
    /// moves the ratio down, for evidence above it, and to the one above it otherwise.
    fn beyond(&self, n: f64, side: f64) -> f64 {
        match self.stated {
            Some([_, below]) if side > 0.0 => below,
            Some([above, _]) => above,
            None => (UNSEEN - 1.0).max(CHANGES_BEYOND / n.cbrt() * self.largest_change),
        }
    }

    /// Whether the pairs show that the ratio is not 1, and only what did not occur leaves it open; `alpha` is the error that is allowed.
    #[must_use]
    pub fn open(&self, alpha: f64) -> Option<OpenChange> {
        let side = if self.estimate > 1.0 { 1.0 } else { -1.0 };
        let (tail, factor) = (alpha / 2.0, if side > 0.0 { self.estimate } else { 1.0 / self.estimate });
        if factor <= 1.0 || self.p_seen(1.0 / self.estimate, side) > tail || self.p(1.0, side) <= tail {
            return None;
        }
        Some(OpenChange::new(self.n, tail, self.units_needed(factor, side, tail)))
    }

    /// How many pairs like these would rule out that enough of what would undo this factor did not occur.
    fn units_needed(&self, factor: f64, side: f64, tail: f64) -> f64 {
        // What one of more pairs is taken to add is less, so that the number is found step by step.
        (0..30).fold(self.n, |n, _| {
            let share = ((factor - 1.0) / self.beyond(n, side)).min(1.0 - 1.0 / factor);
            (tail.ln() / (-share).ln_1p()).ceil()
        })
    }

    /// Student's t that the ratio is on one side of what an angle stands for, corrected for skewness on the side of doubt.
    ///
    /// The tangent of the angle is the ratio, in units of the estimate.
    fn evidence(&self, angle: f64, side: f64) -> f64 {
        let (s, c) = angle.sin_cos();
        let [yy, yx, xx] = self.squares;
        let [yyy, yyx, yxx, xxx] = self.cubes;
        let mean = side * (c - s);
        let variance = (c * c * yy - 2.0 * c * s * yx + s * s * xx) / (self.n - 1.0);
        if variance <= 1e-14 * (c * c * yy + s * s * xx) {
            // No pair disagrees about this ratio.
            return if mean == 0.0 { 0.0 } else { mean.signum() * f64::INFINITY };
        }
        let deviation = variance.sqrt();
        let third = c * c * c * yyy - 3.0 * c * c * s * yyx + 3.0 * c * s * s * yxx - s * s * s * xxx;
        let skewness = side * third / self.n / deviation.powi(3) / self.n.sqrt();
        doubtful_t(mean * self.n.sqrt() / deviation, SKEWNESS_SEEN * skewness, self.n - 1.0)
    }

    /// The factor by which a share of samples that did not occur moves the ratio, down (for evidence above it) or up. It rises with the
    /// share.
    fn factor_unseen(&self, share: f64, side: f64) -> f64 {
        // They take much in one of the runs, or nothing in the other.
        (1.0 + share * self.beyond(self.n, side)).max(1.0 / (1.0 - share))
    }

    /// How probable it is that none of the samples that would move the ratio by so much has occurred.
    fn p_unseen(&self, factor: f64, side: f64) -> f64 {
        if factor <= 1.0 {
            return 1.0;
        }
        p_unseen(self.n, ((factor - 1.0) / self.beyond(self.n, side)).min(1.0 - 1.0 / factor))
    }

    /// The evidence against the ratio of this angle: the most against any between it and the estimate. The skewness of z changes with
    /// the ratio, so that a ratio farther out may look less unlikely by itself; the interval is what is connected with the estimate.
    fn evidence_up_to(&self, angle: f64, side: f64) -> f64 {
        let place = angle / FRAC_PI_2 * ANGLES as f64;
        let half = ANGLES / 2;
        let nearer = if side > 0.0 {
            self.above.get(place.ceil() as usize)
        } else {
            (place.floor() as usize).checked_sub(half).and_then(|place| self.below.get(place))
        };
        nearer.copied().unwrap_or(f64::NEG_INFINITY).max(self.evidence(angle, side))
    }

    fn p(&self, ratio: f64, side: f64) -> f64 {
        let factor = ratio.max(0.0) / self.estimate;
        let unseen = self.p_unseen(if side > 0.0 { 1.0 / factor } else { factor }, side);
        unseen.max(self.p_seen(factor, side))
    }

    /// The p-value of what was seen alone, of a ratio in units of the estimate.
    fn p_seen(&self, factor: f64, side: f64) -> f64 {
        t_cdf(-self.evidence_up_to(factor.atan(), side), self.n - 1.0)
    }

    /// The p-value of "the ratio is `ratio` or less".
    #[must_use]
    pub fn p_above(&self, ratio: f64) -> f64 {
        self.p(ratio, 1.0)
    }

    /// The p-value of "the ratio is `ratio` or more".
    #[must_use]
    pub fn p_below(&self, ratio: f64) -> f64 {
        self.p(ratio, -1.0)
    }

    /// The interval: all ratios that the same test does not rule out. An end is `None` if no ratio on its side is ruled out.
    #[must_use]
    pub fn interval(&self, confidence: Confidence) -> Interval {
        let critical = t_quantile(1.0 - confidence.tail(), self.n - 1.0);
        let end = |side: f64| {
            // From the outermost angle, where the ratio is ruled out or no ratio is, to the estimate, which never is.
            let (mut out, mut kept) = (if side > 0.0 { 0.0 } else { FRAC_PI_2 }, FRAC_PI_4);
            if self.evidence_up_to(out, side) < critical {
                return None;
            }
            for _ in 0..60 {
                let middle = f64::midpoint(out, kept);
                if self.evidence_up_to(middle, side) >= critical { out = middle } else { kept = middle }
            }
            let unseen = self.factor_unseen(share_unseen(self.n, confidence.tail()), side);
            let bound = if side > 0.0 { kept.tan().min(1.0 / unseen) } else { kept.tan().max(unseen) };
            Some(self.estimate * bound).filter(|bound| *bound > 0.0 && bound.is_finite())
        };
        confidence.partial_interval(Method::Fieller, || end(1.0), || end(-1.0))
    }
}

impl SkewedRatio {
    /// The same of its logarithm.
    #[must_use]
    pub fn log_interval(&self, confidence: Confidence) -> Interval {
        let interval = self.interval(confidence);
        Interval { lower: interval.lower.map(f64::ln), upper: interval.upper.map(f64::ln), ..interval }
    }
}

fn angle_at(place: usize) -> f64 {
    FRAC_PI_2 * place as f64 / ANGLES as f64
}

fn most_so_far(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let most = values.scan(f64::NEG_INFINITY, |most, x| {
        *most = most.max(x);
        Some(*most)
    });
    most.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::normal_quantile;
    use calipers_testing::simulation::Draws;
    use proptest::prelude::*;

    fn level() -> Confidence {
        Confidence::two_sided(0.95).unwrap()
    }

    /// Fieller's interval is the roots of a quadratic. Differences that are symmetric have no skewness.
    #[test]
    fn symmetric_pairs_have_fiellers_interval_a_little_wider() {
        let (y, x) = ([1.0, 7.0, 4.0, 4.0, 7.5, 0.5, 4.0, 4.0].repeat(40), [2.0; 320]);
        let interval = SkewedRatio::new(&y, &x).unwrap().interval(level());
        // The mean 4 with a standard error of √(1700/319/320) and t = 1.967428 with 319 degrees of freedom, over 2.
        let reach = 1.967_428_386_901 * (1700.0f64 / 319.0 / 320.0).sqrt() / 2.0 * (320.0f64 / 318.0).sqrt();
        assert!((interval.lower.unwrap() - (2.0 - reach)).abs() < 1e-6, "{interval:?}");
        assert!((interval.upper.unwrap() - (2.0 + reach)).abs() < 1e-6, "{interval:?}");
    }

    #[test]
    fn a_denominator_that_may_be_nothing_has_no_upper_end() {
        let ratio = SkewedRatio::new(&[1.0, 2.0, 1.5], &[0.1, 9.0, 0.2]).unwrap();
        assert_eq!(ratio.interval(level()).upper, None);
        assert!(ratio.p_below(1e9) > 0.025);
    }

    /// Costs that fell by a fifth, of which one in twenty is five times as high: half of the runs of twelve contain no such cost.
    #[test]
    fn costs_that_did_not_occur_are_covered() {
        let mut draws = Draws::new(4, normal_quantile);
        for n in [12, 20, 30] {
            let covered = (0..1000).filter(|_| {
                let y: Vec<f64> = (0..n).map(|_| if draws.unit() < 0.05 { 5.0 } else { 0.8 }).collect();
                SkewedRatio::new(&y, &vec![1.0; n]).unwrap().interval(level()).contains(1.01)
            });
            let covered = covered.count();
            assert!(covered >= 940, "{n}: {covered} of 1000");
        }
    }

    #[test]
    fn costs_that_all_changed_alike_differ_if_there_are_enough() {
        for (n, is_found) in [(12, false), (40, true)] {
            let x: Vec<f64> = (1..=n).map(f64::from).collect();
            let ratio = SkewedRatio::new(&x.iter().map(|x| 1.3 * x).collect::<Vec<f64>>(), &x).unwrap();
            let interval = ratio.interval(level());
            assert!(interval.contains(1.3) && interval.contains(1.0) != is_found, "{n}: {interval:?}");
            assert_eq!(ratio.p_above(1.0) <= 0.025, is_found, "{n}: {}", ratio.p_above(1.0));
            assert!(ratio.p_below(1.0) > 0.9 && ratio.p_above(1.3 + 1e-9) > 0.9);
        }
    }

    #[test]
    fn what_is_no_ratio_says_why() {
        assert!(matches!(SkewedRatio::new(&[1.0], &[1.0]), Err(Undefined::TooFew { .. })));
        assert!(matches!(SkewedRatio::new(&[1.0, 2.0], &[1.0]), Err(Undefined::Mismatched { .. })));
        assert!(SkewedRatio::new(&[1.0, 2.0], &[0.0, 0.0]).is_err());
        assert!(SkewedRatio::new(&[1.0, f64::INFINITY], &[1.0, 1.0]).is_err());
    }

    /// Ten lognormal costs that hardly differ between the runs, and ten against costs that are all alike.
    #[test]
    fn intervals_of_skewed_costs_cover() {
        type Law = fn(&mut Draws) -> (f64, f64);
        let laws: [(Law, f64); 2] = [
            (
                |draws| {
                    let own = draws.normal();
                    ((own + 0.4 * draws.normal()).exp(), (own + 0.4 * draws.normal()).exp())
                },
                1.0,
            ),
            (|draws| (draws.exponential(), 1.0), 1.0),
        ];
        for (law, truth) in laws {
            let mut draws = Draws::new(9, normal_quantile);
            let covered = (0..1000).filter(|_| {
                let (y, x): (Vec<f64>, Vec<f64>) = (0..10).map(|_| law(&mut draws)).unzip();
                SkewedRatio::new(&y, &x).unwrap().interval(level()).contains(truth)
            });
            let covered = covered.count();
            assert!(covered >= 940, "{covered} of 1000");
        }
    }

    fn two_runs() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
        prop::collection::vec((0.01f64..1e3, 0.01f64..1e3), 3..40).prop_map(|pairs| pairs.into_iter().unzip())
    }

    proptest! {
        #[test]
        fn p_and_interval_agree((y, x) in two_runs(), null in 0.05f64..20.0) {
            let ratio = SkewedRatio::new(&y, &x).unwrap();
            let interval = ratio.interval(level());
            let null = null * ratio.estimate();
            prop_assume!([interval.lower, interval.upper].iter().flatten().all(|end| (end / null - 1.0).abs() > 1e-4));
            let p = ratio.p_above(null).min(ratio.p_below(null));
            prop_assert_eq!(p > 0.025, interval.contains(null), "{} {:?} {}", p, interval, null);
        }

        #[test]
        fn either_run_may_come_first((y, x) in two_runs(), null in 0.05f64..20.0) {
            let (one, other) = (SkewedRatio::new(&y, &x).unwrap(), SkewedRatio::new(&x, &y).unwrap());
            prop_assert!((one.p_above(null) - other.p_below(1.0 / null)).abs() < 1e-9);
        }

        #[test]
        fn order_and_units_of_measurement_change_nothing((y, x) in two_runs(), turn in 0usize..40, unit in 1e-3f64..1e3) {
            let ratio = SkewedRatio::new(&y, &x).unwrap();
            let (mut moved, mut beside) = (y.clone(), x.clone());
            moved.rotate_left(turn % y.len());
            beside.rotate_left(turn % x.len());
            prop_assert_eq!(SkewedRatio::new(&moved, &beside).unwrap().p_above(1.0), ratio.p_above(1.0));
            let scaled: Vec<f64> = y.iter().map(|y| y * unit).collect();
            let scaled = SkewedRatio::new(&scaled, &x).unwrap().p_above(unit);
            prop_assert!((scaled - ratio.p_above(1.0)).abs() < 1e-9);
        }

        #[test]
        fn farther_ratios_are_ruled_out_more_surely((y, x) in two_runs(), near in 0.01f64..1.0, far in 0.01f64..1.0) {
            let ratio = SkewedRatio::new(&y, &x).unwrap();
            let (near, far) = (near.max(far), near.min(far));
            prop_assert!(ratio.p_above(far) <= ratio.p_above(near) + 1e-3);
            prop_assert!(ratio.p_below(1.0 / far) <= ratio.p_below(1.0 / near) + 1e-3);
        }
    }
}
