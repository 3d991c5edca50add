//! Intervals for a share of successes.
//!
//! Which one? [`Proportion::blaker`] to report, [`Proportion::clopper_pearson`] to decide (neither ever covers less
//! than its level, and one side of the second is exact), [`Proportion::jeffreys`] or [`Proportion::uniform_beta`] to speak of probabilities. Each
//! method notes its exact coverage, by enumeration, of a share of 0.9 with ten trials at a level of 95 %.

use crate::special::{beta_quantile, beta_sf, normal_quantile};
use crate::{AllowedRange, Confidence, Interval, Method, Quantity, Undefined};

/// Successes among trials: at least one trial, and no more successes than trials.
///
/// Trials are taken to be independent. Attempts at the same task are not; see [`crate::cluster`].
///
/// ```
/// use calipers_stats::{proportion::Proportion, Confidence, Undefined};
///
/// let accuracy = Proportion::new(48, 50)?;
/// assert_eq!(accuracy.estimate(), 0.96);
/// let interval = accuracy.wilson(Confidence::two_sided(0.95)?);
/// assert!((interval.lower.unwrap() - 0.8654).abs() < 1e-4);
/// assert!((interval.upper.unwrap() - 0.9890).abs() < 1e-4);
/// assert_eq!(Proportion::new(0, 0), Err(Undefined::Empty));
/// # Ok::<(), Undefined>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Proportion {
    successes: u64,
    trials: u64,
}

impl Proportion {
    /// Undefined without trials, and with more successes than trials.
    pub fn new(successes: u64, trials: u64) -> Result<Self, Undefined> {
        if trials == 0 {
            return Err(Undefined::Empty);
        }
        if successes > trials {
            let value = successes as f64;
            return Err(Undefined::OutOfRange {
                what: Quantity::Successes,
                value,
                allowed: AllowedRange::AtMostTrials,
            });
        }
        Ok(Self { successes, trials })
    }

    /// The number of successes.
    #[must_use]
    pub fn successes(self) -> u64 {
        self.successes
    }

    /// The number of trials, at least 1.
    #[must_use]
    pub fn trials(self) -> u64 {
        self.trials
    }

    /// The number of trials that were no success.
    #[must_use]
    pub fn failures(self) -> u64 {
        self.trials - self.successes
    }

    /// The share of successes.
    #[must_use]
    pub fn estimate(self) -> f64 {
        self.successes as f64 / self.trials as f64
    }

    /// Wilson's score interval: the shares that a normal test would not reject.
    ///
    /// Covers 0.930. Close to its level on average, but 0.84 at worst, near 0 and 1. So not for gates: 25 of 25 against a
    /// threshold of 0.9 would pass with a true error of 7.2 % instead of 5 %. Wilson 1927; Brown, Cai and
    /// DasGupta 2001, eq. 4, without continuity correction.
    ///
    /// ```
    /// use calipers_stats::{proportion::Proportion, Confidence};
    ///
    /// let none = Proportion::new(0, 5)?.wilson(Confidence::two_sided(0.95)?);
    /// assert_eq!(none.lower, Some(0.0));
    /// assert!((none.upper.unwrap() - 0.434482).abs() < 1e-6);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    #[must_use]
    pub fn wilson(self, confidence: Confidence) -> Interval {
        let critical = critical(confidence);
        let (lower, upper) = wilson_bounds(self.estimate(), self.trials as f64, critical);
        confidence.interval(Method::Wilson, || lower, || upper)
    }

    /// Clopper and Pearson's interval: the shares that the exact binomial test would not reject. For gates.
    ///
    /// Covers 0.987: at least its level, whatever the share and the number of trials. Clopper & Pearson 1934:
    /// Beta⁻¹(α; k, n − k + 1) and Beta⁻¹(1 − α; k + 1, n − k), with α halved when both sides are asked for.
    ///
    /// ```
    /// use calipers_stats::{proportion::Proportion, Confidence};
    ///
    /// // 59 of 59 is the first perfect score that shows a share of at least 0.95.
    /// let bound = Proportion::new(59, 59)?.clopper_pearson(Confidence::lower(0.95)?);
    /// assert!(bound.lower.unwrap() > 0.95);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    #[must_use]
    pub fn clopper_pearson(self, confidence: Confidence) -> Interval {
        let tail = confidence.tail();
        confidence.interval(Method::ClopperPearson, || self.exact_lower(tail), || self.exact_upper(tail))
    }

    /// The smallest share at which this many successes or more have a probability above `tail`.
    pub(crate) fn exact_lower(self, tail: f64) -> f64 {
        let (k, failures) = (self.successes as f64, self.failures() as f64);
        if self.successes == 0 { 0.0 } else { beta_quantile(tail, k, failures + 1.0) }
    }

    /// The largest share at which this many successes or fewer have a probability above `tail`.
    pub(crate) fn exact_upper(self, tail: f64) -> f64 {
        let (k, failures) = (self.successes as f64, self.failures() as f64);
        // The quantile of the failures at `tail`: 1 − tail has fewer digits.
        if self.failures() == 0 { 1.0 } else { 1.0 - beta_quantile(tail, failures, k + 1.0) }
    }

    /// Equal-tailed quantiles of the posterior under Jeffreys' prior, Beta(k + ½, n − k + ½).
    ///
    /// Covers 0.987. This is the plain posterior, whose lower bound stays above 0 even without a single
    /// success; see [`Proportion::jeffreys_closed`] for the variant that closes the ends.
    ///
    /// ```
    /// use calipers_stats::{proportion::Proportion, Confidence};
    ///
    /// let interval = Proportion::new(1, 10)?.jeffreys(Confidence::two_sided(0.95)?);
    /// assert!((interval.lower.unwrap() - 0.0110117).abs() < 1e-7);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    #[must_use]
    pub fn jeffreys(self, confidence: Confidence) -> Interval {
        self.posterior(Method::Jeffreys, 0.5, confidence)
    }

    /// Jeffreys' interval with the ends of Brown, Cai and DasGupta (2001, section 4.1.2).
    ///
    /// The lower bound is 0 without successes and the upper one 1 without failures, which keeps the coverage
    /// from collapsing near 0 and 1.
    ///
    /// ```
    /// use calipers_stats::{proportion::Proportion, Confidence};
    ///
    /// let interval = Proportion::new(0, 10)?.jeffreys_closed(Confidence::two_sided(0.95)?);
    /// assert_eq!(interval.lower, Some(0.0));
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    #[must_use]
    pub fn jeffreys_closed(self, confidence: Confidence) -> Interval {
        let open = self.jeffreys(confidence);
        Interval {
            lower: open.lower.map(|bound| if self.successes == 0 { 0.0 } else { bound }),
            upper: open.upper.map(|bound| if self.failures() == 0 { 1.0 } else { bound }),
            ..open
        }
    }

    /// Equal-tailed quantiles of the posterior under the uniform prior, Beta(k + 1, n − k + 1).
    ///
    /// Covers 0.930. The credible interval that Bowyer, Aitchison and Ivanova (2025) recommend for small
    /// evaluations. Goes with [`Proportion::posterior_above`].
    ///
    /// ```
    /// use calipers_stats::{proportion::Proportion, Confidence};
    ///
    /// let interval = Proportion::new(5, 5)?.uniform_beta(Confidence::two_sided(0.95)?);
    /// assert!((interval.lower.unwrap() - 0.5407419).abs() < 1e-7);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    #[must_use]
    pub fn uniform_beta(self, confidence: Confidence) -> Interval {
        self.posterior(Method::UniformBeta, 1.0, confidence)
    }

    fn posterior(self, method: Method, prior: f64, confidence: Confidence) -> Interval {
        let (a, b) = (self.successes as f64 + prior, self.failures() as f64 + prior);
        let tail = confidence.tail();
        confidence.interval(method, || beta_quantile(tail, a, b), || 1.0 - beta_quantile(tail, b, a))
    }

    /// P(share > `threshold`) under the uniform prior: 1 − I_threshold(k + 1, n − k + 1).
    ///
    /// A number to read, not to gate on: its error rate is not bounded at every share.
    ///
    /// ```
    /// use calipers_stats::proportion::Proportion;
    ///
    /// assert!((Proportion::new(3, 3)?.posterior_above(0.5)? - 15.0 / 16.0).abs() < 1e-15);
    /// assert!(Proportion::new(3, 3)?.posterior_above(f64::NAN).is_err());
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    pub fn posterior_above(self, threshold: f64) -> Result<f64, Undefined> {
        let threshold = check_unit(Quantity::Threshold, threshold)?;
        Ok(beta_sf(threshold, self.successes as f64 + 1.0, self.failures() as f64 + 1.0))
    }

    /// Agresti and Coull's interval: the plain one after adding z²/2 successes and z²/2 failures; clipped.
    ///
    /// Covers 0.930 and is wider than Wilson's near 0 and 1. Brown, Cai and DasGupta 2001, eq. 5.
    ///
    /// ```
    /// use calipers_stats::{proportion::Proportion, Confidence};
    ///
    /// let interval = Proportion::new(0, 5)?.agresti_coull(Confidence::two_sided(0.95)?);
    /// assert!((interval.upper.unwrap() - 0.4890549).abs() < 1e-7);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    #[must_use]
    pub fn agresti_coull(self, confidence: Confidence) -> Interval {
        let square = critical(confidence).powi(2);
        let trials = self.trials as f64 + square;
        let centre = (self.successes as f64 + square / 2.0) / trials;
        normal_interval(Method::AgrestiCoull, centre, trials, confidence)
    }

    /// The plain normal interval p̂ ± z √(p̂(1 − p̂)/n), clipped: wrong, and here to be shown as wrong.
    ///
    /// Covers 0.650, and has no width at all at 0 and 1: five of five would be certainty.
    ///
    /// ```
    /// use calipers_stats::{proportion::Proportion, Confidence};
    ///
    /// let interval = Proportion::new(5, 5)?.wald(Confidence::two_sided(0.95)?);
    /// assert_eq!(interval.width(), Some(0.0));
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    #[must_use]
    pub fn wald(self, confidence: Confidence) -> Interval {
        normal_interval(Method::Wald, self.estimate(), self.trials as f64, confidence)
    }
}

/// The normal critical value: z with Φ(−z) = tail.
fn critical(confidence: Confidence) -> f64 {
    -normal_quantile(confidence.tail())
}

fn normal_interval(method: Method, centre: f64, trials: f64, confidence: Confidence) -> Interval {
    let reach = critical(confidence) * (centre * (1.0 - centre) / trials).sqrt();
    confidence.interval(method, || (centre - reach).clamp(0.0, 1.0), || (centre + reach).clamp(0.0, 1.0))
}

fn check_unit(what: Quantity, value: f64) -> Result<f64, Undefined> {
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        Err(Undefined::OutOfRange { what, value, allowed: AllowedRange::UnitInterval })
    }
}

/// Wilson's interval around the mean of `n` graded scores, each between 0 and 1.
///
/// Conservative: no scores in [0, 1] with this mean vary more than zeros and ones do, whose variance it
/// assumes. `n` may be a fraction, for an effective number of samples. Undefined for a mean outside [0, 1] and
/// for `n` that is not positive.
///
/// ```
/// use calipers_stats::{proportion::{wilson_mean, Proportion}, Confidence};
///
/// let confidence = Confidence::two_sided(0.95)?;
/// let graded = wilson_mean(0.75, 20.0, confidence)?;
/// assert_eq!(graded, Proportion::new(15, 20)?.wilson(confidence));
/// assert!(wilson_mean(1.2, 20.0, confidence).is_err());
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn wilson_mean(mean: f64, n: f64, confidence: Confidence) -> Result<Interval, Undefined> {
    let mean = check_unit(Quantity::Mean, mean)?;
    if n.is_nan() || n <= 0.0 {
        return Err(Undefined::OutOfRange { what: Quantity::N, value: n, allowed: AllowedRange::Positive });
    }
    let (lower, upper) = wilson_bounds(mean, n, critical(confidence));
    Ok(confidence.interval(Method::Wilson, || lower, || upper))
}

/// Wilson's score bounds around a share `p` of `n` (effective) trials, for any critical value.
///
/// Wilson (1927): the two roots x of (p − x)² = z² x(1 − x)/n. Each root is written as a quotient without
/// cancellation, by Vieta's rule from the other one, so that p = 0 gives a lower bound of exactly 0 and p = 1
/// an upper bound of exactly 1. A negative critical value (a one-sided level below one half) swaps the roots.
pub(crate) fn wilson_bounds(p: f64, n: f64, critical: f64) -> (f64, f64) {
    let bound = wilson_lower_root(p, n, critical.abs()).clamp(0.0, 1.0);
    let other = (1.0 - wilson_lower_root(1.0 - p, n, critical.abs())).clamp(0.0, 1.0);
    if critical < 0.0 { (other, bound) } else { (bound, other) }
}

/// The smaller root: p² / (p + z²/2n + z √(p(1 − p)/n + z²/4n²)).
fn wilson_lower_root(p: f64, n: f64, z: f64) -> f64 {
    let half = z / (2.0 * n) * z;
    let reach = (z * (p * (1.0 - p) / n).sqrt()).hypot(half);
    // p = 0 has the root 0 even where z = 0 makes the quotient 0/0; an infinite z leaves no information.
    if p <= 0.0 || half.is_infinite() { 0.0 } else { p * p / (p + half + reach) }
}

/// The one-sided lower bound after `trials` successes in as many trials: α^(1/n).
///
/// The best that a gate can see at this size. One minus it bounds the rate of failures after none was seen,
/// about 3/n at α = 0.05 (the rule of three). Undefined without trials and for α outside (0, 1).
///
/// ```
/// use calipers_stats::proportion::perfect_bound;
///
/// assert!((perfect_bound(5, 0.05)? - 0.549).abs() < 1e-3);
/// assert!((perfect_bound(300, 0.05)? - 0.990).abs() < 1e-3);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn perfect_bound(trials: u64, alpha: f64) -> Result<f64, Undefined> {
    let alpha = Undefined::check_open_unit(Quantity::Alpha, alpha)?;
    if trials == 0 { Err(Undefined::Empty) } else { Ok((alpha.ln() / trials as f64).exp()) }
}

/// The number of trials from which a perfect score shows a share of at least `threshold`: ⌈ln α / ln T⌉.
///
/// With fewer, no result whatever can pass. Undefined for arguments outside (0, 1).
///
/// ```
/// use calipers_stats::proportion::perfect_needs;
///
/// assert_eq!(perfect_needs(0.95, 0.05), Ok(59));
/// assert_eq!(perfect_needs(0.99, 0.05), Ok(299));
/// assert!(perfect_needs(1.0, 0.05).is_err());
/// ```
pub fn perfect_needs(threshold: f64, alpha: f64) -> Result<u64, Undefined> {
    let threshold = Undefined::check_open_unit(Quantity::Threshold, threshold)?;
    let alpha = Undefined::check_open_unit(Quantity::Alpha, alpha)?;
    // Whole quotients, as of 0.001 and 0.1, may come out a rounding error too large.
    Ok((alpha.ln() / threshold.ln() * (1.0 - 1e-13)).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Side;
    use crate::special::binomial_pmf;
    use proptest::prelude::*;

    type Of = fn(Proportion, Confidence) -> Interval;

    const ALL: [Of; 7] = [
        Proportion::wilson,
        Proportion::clopper_pearson,
        Proportion::jeffreys,
        Proportion::jeffreys_closed,
        Proportion::uniform_beta,
        Proportion::agresti_coull,
        Proportion::wald,
    ];

    fn counts() -> impl Strategy<Value = Proportion> {
        (1..2000u64).prop_flat_map(|n| (0..=n, Just(n))).prop_map(|(k, n)| Proportion { successes: k, trials: n })
    }

    fn ends(interval: Interval) -> (f64, f64) {
        (interval.lower.unwrap(), interval.upper.unwrap())
    }

    proptest! {
        #[test]
        fn bounds_lie_in_the_unit_interval_around_the_estimate(p in counts(), level in 0.5..0.9999f64) {
            let confidence = Confidence::two_sided(level).unwrap();
            // The posteriors are centred on their own means, so only the others promise to hold the estimate.
            for of in [Proportion::wilson, Proportion::clopper_pearson, Proportion::agresti_coull, Proportion::wald] {
                let (lower, upper) = ends(of(p, confidence));
                let slack = 1e-15;
                prop_assert!(0.0 <= lower && lower <= p.estimate() + slack, "{lower} {p:?}");
                prop_assert!(p.estimate() - slack <= upper && upper <= 1.0, "{upper} {p:?}");
            }
        }

        #[test]
        fn a_higher_level_gives_a_wider_interval(p in counts(), level in 0.5..0.99f64) {
            for of in ALL {
                let (lower, upper) = ends(of(p, Confidence::two_sided(level).unwrap()));
                let (outer_lower, outer_upper) = ends(of(p, Confidence::two_sided(level + 0.009).unwrap()));
                prop_assert!(outer_lower <= lower && upper <= outer_upper);
            }
        }

        #[test]
        fn counting_failures_mirrors_the_interval(p in counts(), level in 0.5..0.9999f64) {
            let mirrored = Proportion { successes: p.failures(), ..p };
            for of in ALL {
                let confidence = Confidence::two_sided(level).unwrap();
                let ((lower, upper), (from, to)) = (ends(of(p, confidence)), ends(of(mirrored, confidence)));
                prop_assert!((lower + to - 1.0).abs() < 1e-14 && (upper + from - 1.0).abs() < 1e-14);
            }
        }

        #[test]
        fn a_one_sided_bound_is_the_two_sided_one_at_twice_the_error(p in counts(), level in 0.6..0.9999f64) {
            for of in ALL {
                let (lower, upper) = ends(of(p, Confidence::two_sided(2.0 * level - 1.0).unwrap()));
                let one = |side| of(p, Confidence::new(level, side).unwrap());
                prop_assert!((one(Side::Lower).lower.unwrap() - lower).abs() < 1e-12);
                prop_assert!((one(Side::Upper).upper.unwrap() - upper).abs() < 1e-12);
                prop_assert_eq!((one(Side::Lower).upper, one(Side::Upper).lower), (None, None));
            }
        }

        #[test]
        fn wilson_solves_its_equation(p in 0.0..=1.0f64, n in 0.1..1e6f64, z in 0.01..6.0f64) {
            for x in <[f64; 2]>::from(wilson_bounds(p, n, z)) {
                prop_assert!(((p - x).powi(2) - z * z * x * (1.0 - x) / n).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn clopper_pearson_covers_at_every_share() {
        for level in [0.8, 0.95, 0.99] {
            for n in 1..=25 {
                let intervals: Vec<Interval> = (0..=n)
                    .map(|k| Proportion::new(k, n).unwrap().clopper_pearson(Confidence::two_sided(level).unwrap()))
                    .collect();
                for step in 0..=400 {
                    let share = f64::from(step) / 400.0;
                    let covered: f64 = (0..=n)
                        .zip(&intervals)
                        .filter(|(_, i)| i.contains(share))
                        .map(|(k, _)| binomial_pmf(k, n, share))
                        .sum();
                    assert!(covered >= level - 1e-9, "n {n} share {share}: {covered}");
                }
            }
        }
    }

    #[test]
    fn documented_coverage_of_ten_trials_at_a_share_of_nine_tenths() {
        let confidence = Confidence::two_sided(0.95).unwrap();
        let coverage = |of: Of| -> f64 {
            let covers = |k: &u64| of(Proportion::new(*k, 10).unwrap(), confidence).contains(0.9);
            (0..=10).filter(covers).map(|k| binomial_pmf(k, 10, 0.9)).sum()
        };
        let want = [0.930, 0.987, 0.987, 0.987, 0.930, 0.930, 0.650];
        for (of, want) in ALL.into_iter().zip(want) {
            assert!((coverage(of) - want).abs() < 5e-4, "{} instead of {want}", coverage(of));
        }
    }

    #[test]
    fn ends_are_exact_and_odd_critical_values_are_harmless() {
        assert_eq!(wilson_bounds(0.0, 10.0, 2.0).0, 0.0);
        assert_eq!(wilson_bounds(1.0, 10.0, 2.0).1, 1.0);
        assert_eq!(wilson_bounds(0.3, 10.0, f64::INFINITY), (0.0, 1.0));
        assert_eq!(wilson_bounds(0.0, 10.0, 0.0), (0.0, 0.0));
        let (swapped_lower, swapped_upper) = wilson_bounds(0.3, 10.0, -1.0);
        assert_eq!((swapped_upper, swapped_lower), wilson_bounds(0.3, 10.0, 1.0));
    }

    #[test]
    fn perfect_scores() {
        // threshold, samples needed at 5 %
        for (threshold, need) in [(0.8, 14), (0.9, 29), (0.95, 59), (0.99, 299), (0.999, 2995)] {
            assert_eq!(perfect_needs(threshold, 0.05), Ok(need));
            assert!(
                perfect_bound(need, 0.05).unwrap() >= threshold && perfect_bound(need - 1, 0.05).unwrap() < threshold
            );
        }
        assert_eq!(perfect_needs(0.1, 0.001), Ok(3));
    }
}
