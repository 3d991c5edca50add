//! Blaker's interval of a share: exact, and never wider than Clopper and Pearson's.
//!
//! A share p is ruled out by k successes when a result that is at least as far in a tail of its own has a probability of
//! at most α. With a = P(X ≥ k) the smaller tail, that probability is a plus the largest tail P(X ≤ j) on the other
//! side that does not exceed a. Clopper and Pearson count 2a there, so their interval contains Blaker's. Blaker (2000),
//! corrigenda (2001); the interval is the hull of the shares that are not ruled out (Klaschka 2010).

use crate::proportion::Proportion;
use crate::special::{binomial_at_least, binomial_cdf, binomial_quantile};
use crate::{Confidence, Interval, Method, Side};
use std::cell::RefCell;
use std::collections::HashMap;

/// Halving a bracket this often leaves neighbouring numbers.
const HALVINGS: u32 = 60;

/// So many intervals are remembered.
const FOUND_MAX: usize = 1 << 12;

thread_local! {
    /// Intervals by successes, trials and level. A run in a million small groups has few different shares, and an interval takes
    /// longer to find than everything else about a group.
    static FOUND: RefCell<HashMap<(u64, u64, u64), Interval>> = RefCell::default();
}

impl Proportion {
    /// Blaker's interval, the default to report: the narrowest of those that we know and that never cover less than
    /// their level.
    ///
    /// Covers 0.987. Of 5 to 300 trials with all shares, 95 % intervals cover at least 0.950; Wilson's cover 0.83 to 0.84
    /// at worst, mid-p ones 0.91, and Clopper and Pearson's are 2 to 8 % wider. It has two sides: one alone is
    /// Clopper and Pearson's bound, which is the best there is.
    ///
    /// ```
    /// use calipers_stats::{proportion::Proportion, Confidence};
    ///
    /// let interval = Proportion::new(48, 50)?.blaker(Confidence::two_sided(0.95)?);
    /// assert!((interval.lower.unwrap() - 0.8665).abs() < 1e-4);
    /// assert!((interval.upper.unwrap() - 0.9928).abs() < 1e-4);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    #[must_use]
    pub fn blaker(self, confidence: Confidence) -> Interval {
        if confidence.side() != Side::Both {
            return self.clopper_pearson(confidence);
        }
        let tail = confidence.tail();
        let find = || {
            confidence.interval(Method::Blaker, || self.blaker_lower(tail), || 1.0 - self.mirrored().blaker_lower(tail))
        };
        let key = (self.successes(), self.trials(), confidence.level().to_bits());
        FOUND.with_borrow_mut(|found| {
            if found.len() >= FOUND_MAX {
                found.clear();
            }
            *found.entry(key).or_insert_with(find)
        })
    }

    /// The least share that is not ruled out at α, twice the `tail`.
    ///
    /// It lies between the exact bounds of one side at α/2 and at α. From the first of them on, a grows and the other tail
    /// P(X ≤ j) falls, until the next P(X ≤ j + 1) has fallen to a and joins: at that share the sum jumps to 2a, which exceeds
    /// α. Before that, a + P(X ≤ j) = 1 − P(j < X < k) falls and then grows, so it passes α at most once.
    fn blaker_lower(self, tail: f64) -> f64 {
        let (k, n) = (self.successes(), self.trials());
        if k == 0 {
            return 0.0;
        }
        let alpha = 2.0 * tail;
        let (first, last) = (self.exact_lower(tail), self.exact_lower(alpha.min(0.5)));
        let own = |p: f64| binomial_at_least(k, n, p);
        // The first count whose lower tail is too likely to join, at the share where the search begins.
        let next = binomial_quantile(tail, n, first);
        let other = |p: f64| if next == 0 { 0.0 } else { binomial_cdf(next - 1, n, p) };
        let joins = |p: f64| binomial_cdf(next, n, p) <= own(p);
        bisect(first, last, |p| joins(p) || own(p) + other(p) > alpha)
    }
}

/// Where a condition begins to hold that does not hold at `low`, and holds from there on to `high`.
fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..HALVINGS {
        let middle = low.midpoint(high);
        if middle <= low || middle >= high {
            break;
        }
        if holds(middle) { high = middle } else { low = middle }
    }
    // The side that is not ruled out any more.
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::binomial_pmf;
    use proptest::prelude::*;

    /// By the definition, on a grid of 20,000 shares and bisections between its points, in scipy 1.16.
    const KNOWN: [(u64, u64, f64, f64, f64); 16] = [
        (1, 1, 0.95, 0.050_000_000, 1.0),
        (1, 2, 0.95, 0.025_320_566, 0.974_679_434),
        (5, 5, 0.95, 0.5, 1.0),
        (3, 10, 0.95, 0.087_264_434, 0.619_410_659),
        (9, 10, 0.95, 0.555_552_914, 0.994_883_803),
        (10, 10, 0.95, 0.717_065_292, 1.0),
        (13, 16, 0.95, 0.565_591_871, 0.946_854_016),
        (33, 45, 0.95, 0.588_953_356, 0.851_505_000),
        (48, 50, 0.95, 0.866_465_028, 0.992_846_280),
        (59, 60, 0.95, 0.914_261_322, 0.999_145_477),
        (60, 60, 0.95, 0.940_524_269, 1.0),
        (103, 167, 0.95, 0.539_139_871, 0.689_654_001),
        (250, 533, 0.95, 0.426_704_654, 0.512_216_577),
        (3, 10, 0.9, 0.115_825_278, 0.606_245_419),
        (7, 20, 0.99, 0.129_178_784, 0.637_247_609),
        (2, 5, 0.5, 0.216_105_706, 0.594_344_834),
    ];

    #[test]
    fn known_answers() {
        for (k, n, level, lower, upper) in KNOWN {
            let interval = Proportion::new(k, n).unwrap().blaker(Confidence::two_sided(level).unwrap());
            let got = (interval.lower.unwrap(), interval.upper.unwrap());
            assert!((got.0 - lower).abs() < 2e-9 && (got.1 - upper).abs() < 2e-9, "{k} of {n} at {level}: {got:?}");
        }
    }

    #[test]
    fn one_side_is_clopper_and_pearsons() {
        let share = Proportion::new(9, 10).unwrap();
        let lower = Confidence::lower(0.95).unwrap();
        assert_eq!(share.blaker(lower), share.clopper_pearson(lower));
    }

    #[test]
    fn a_million_trials_are_no_trouble() {
        let confidence = Confidence::two_sided(0.95).unwrap();
        for k in [0, 1, 500_000, 950_000, 999_999, 1_000_000] {
            let share = Proportion::new(k, 1_000_000).unwrap();
            let (ours, exact) = (share.blaker(confidence), share.clopper_pearson(confidence));
            assert!(ours.lower >= exact.lower && ours.upper <= exact.upper && ours.contains(share.estimate()), "{k}");
            assert!(ours.width().unwrap() > 0.8 * exact.width().unwrap(), "{k}: {ours:?} {exact:?}");
        }
    }

    /// The chance that the interval of a count holds the share, at its worst: just beside a bound.
    fn least_coverage(n: u64, level: f64) -> f64 {
        let confidence = Confidence::two_sided(level).unwrap();
        let intervals: Vec<Interval> = (0..=n).map(|k| Proportion::new(k, n).unwrap().blaker(confidence)).collect();
        let bounds = intervals.iter().flat_map(|interval| [interval.lower, interval.upper]).flatten();
        let beside = bounds.flat_map(|bound| [bound - 1e-9, bound + 1e-9]).filter(|p| (0.0..=1.0).contains(p));
        let covered = |p: f64| {
            let covering = (0..=n).zip(&intervals).filter(|(_, interval)| interval.contains(p));
            covering.map(|(k, _)| binomial_pmf(k, n, p)).sum::<f64>()
        };
        beside.map(covered).fold(1.0, f64::min)
    }

    #[test]
    fn the_level_is_kept_by_every_share() {
        for n in (1..=40).chain([60, 100]) {
            let least = least_coverage(n, 0.95);
            assert!(least >= 0.95 - 1e-6, "n = {n}: {least}");
        }
        for level in [0.5, 0.8, 0.99] {
            assert!(least_coverage(20, level) >= level - 1e-6, "{level}");
        }
    }

    proptest! {
        #[test]
        fn bounds_rise_with_successes_and_lie_within_clopper_and_pearsons(n in 2u64..400, part in 0.0..1.0f64, level in 0.5..0.999f64) {
            let confidence = Confidence::two_sided(level).unwrap();
            let k = (part * (n - 1) as f64) as u64;
            let (share, more) = (Proportion::new(k, n).unwrap(), Proportion::new(k + 1, n).unwrap());
            let (interval, exact) = (share.blaker(confidence), share.clopper_pearson(confidence));
            prop_assert!(interval.lower.unwrap() >= exact.lower.unwrap() && interval.upper.unwrap() <= exact.upper.unwrap() + 1e-15);
            prop_assert!(interval.contains(share.estimate()));
            let next = more.blaker(confidence);
            prop_assert!(next.lower >= interval.lower && next.upper >= interval.upper, "{:?} {:?}", interval, next);
        }
    }
}
