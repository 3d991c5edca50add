//! Two groups compared: different samples, or shares of the same ones.
//!
//! When both runs saw the same samples, pair them ([`crate::paired`]): it is far sharper.

use crate::paired::Difference;
use crate::proportion::{Proportion, wilson_bounds};
use crate::{AllowedRange, Confidence, Interval, Method, Moments, Quantity, Undefined, special};

/// The difference of two independent means by Welch (1947): no equal variances assumed.
///
/// SE² = s²_a/n_a + s²_b/n_b, with Satterthwaite's degrees of freedom. Undefined below two values a side, and
/// when neither side varies.
///
/// ```
/// use calipers_stats::{two_sample::welch, Moments};
///
/// let (a, b) = (Moments::from_slice(&[0.9, 0.7, 0.8]), Moments::from_slice(&[0.5, 0.6, 0.4, 0.5]));
/// let difference = welch(&a, &b)?;
/// assert!((difference.mean - 0.3).abs() < 1e-12);
/// assert!(difference.p_two_sided()? < 0.05);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn welch(a: &Moments, b: &Moments) -> Result<Difference, Undefined> {
    let mean = a.mean()? - b.mean()?;
    let (va, vb) = (a.stderr()?.powi(2), b.stderr()?.powi(2));
    let variance = va + vb;
    if variance == 0.0 {
        return Err(Undefined::NoSpread { what: Quantity::BothSamples });
    }
    // Shares of the variance, since its square may be too small or too large for a double.
    let (share_a, share_b) = (va / variance, vb / variance);
    let df = 1.0 / (share_a * share_a / (a.count() - 1) as f64 + share_b * share_b / (b.count() - 1) as f64);
    Ok(Difference::welch(Undefined::check_finite(mean)?, Undefined::check_finite(variance)?.sqrt(), df))
}

/// Newcombe's (1998, method 10) interval of a difference of two independent shares, first minus second.
///
/// Each share's Wilson bounds are combined: the lower bound is d − √((p₁−l₁)² + (u₂−p₂)²).
///
/// ```
/// use calipers_stats::{proportion::Proportion, two_sample::newcombe, Confidence};
///
/// let (first, second) = (Proportion::new(45, 50)?, Proportion::new(38, 50)?);
/// let interval = newcombe(first, second, Confidence::two_sided(0.95)?);
/// assert!((interval.lower.unwrap() - -0.0093973).abs() < 1e-7);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[must_use]
pub fn newcombe(first: Proportion, second: Proportion, confidence: Confidence) -> Interval {
    hybrid(first, second, 0.0, confidence)
}

/// Newcombe's (1998, method 10) interval of a difference of two shares of the same samples.
///
/// `both` samples succeeded in both runs, `first` only in the first, `second` only in the second, `neither` in
/// none. As [`newcombe`], with the correlation of the two runs, cut towards 0 by half a sample when positive.
/// Undefined for no samples.
///
/// ```
/// use calipers_stats::{two_sample::newcombe_paired, Confidence};
///
/// let interval = newcombe_paired(36, 12, 2, 0, Confidence::two_sided(0.95)?)?;
/// assert!((interval.lower.unwrap() - 0.0569).abs() < 1e-4 && (interval.upper.unwrap() - 0.3404).abs() < 1e-4);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn newcombe_paired(
    both: u64,
    first: u64,
    second: u64,
    neither: u64,
    confidence: Confidence,
) -> Result<Interval, Undefined> {
    let trials = [both, first, second, neither].into_iter().try_fold(0u64, u64::checked_add);
    let trials = trials.ok_or(Undefined::OutOfRange {
        what: Quantity::SampleCount,
        value: f64::INFINITY,
        allowed: AllowedRange::BelowPowerOfTwo(64),
    })?;
    let correlation = paired_correlation([both, first, second, neither].map(|count| count as f64));
    let (first, second) = (Proportion::new(both + first, trials)?, Proportion::new(both + second, trials)?);
    Ok(hybrid(first, second, correlation, confidence))
}

/// φ of a fourfold table, with Newcombe's continuity correction; 0 where it has no value.
fn paired_correlation([both, first, second, neither]: [f64; 4]) -> f64 {
    let n = both + first + second + neither;
    let margins = (both + first) * (second + neither) * (both + second) * (first + neither);
    let excess = both * neither - first * second;
    let excess = if excess > 0.0 { (excess - n / 2.0).max(0.0) } else { excess };
    if margins > 0.0 { excess / margins.sqrt() } else { 0.0 }
}

fn hybrid(first: Proportion, second: Proportion, correlation: f64, confidence: Confidence) -> Interval {
    let critical = special::normal_quantile(1.0 - confidence.tail());
    let (below1, above1) = reaches(first, critical);
    let (below2, above2) = reaches(second, critical);
    // Rounding may carry the sum of squares below 0 when the correlation is ±1.
    let reach = |x: f64, y: f64| (x * x - 2.0 * correlation * x * y + y * y).max(0.0).sqrt();
    let difference = first.estimate() - second.estimate();
    confidence.interval(Method::Newcombe, || difference - reach(below1, above2), || difference + reach(above1, below2))
}

/// How far a share's Wilson bounds lie below and above it.
fn reaches(share: Proportion, critical: f64) -> (f64, f64) {
    let p = share.estimate();
    let (lower, upper) = wilson_bounds(p, share.trials() as f64, critical);
    (p - lower, upper - p)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn welch_needs_two_values_a_side_and_some_spread() {
        let (one, flat) = (Moments::from_slice(&[1.0]), Moments::from_slice(&[1.0, 1.0]));
        let some = Moments::from_slice(&[0.0, 1.0]);
        assert!(matches!(welch(&one, &some), Err(Undefined::TooFew { .. })));
        assert_eq!(welch(&flat, &flat), Err(Undefined::NoSpread { what: Quantity::BothSamples }));
        assert_eq!(welch(&flat, &some).unwrap().df, 1.0);
        assert!(welch(&Moments::default(), &some).is_err());
    }

    #[test]
    fn impossible_counts_are_refused() {
        let confidence = Confidence::two_sided(0.95).unwrap();
        assert!(newcombe_paired(u64::MAX, 1, 0, 0, confidence).is_err());
        assert!(newcombe_paired(0, 0, 0, 0, confidence).is_err());
    }

    fn share(successes: u64, trials: u64) -> Proportion {
        Proportion::new(successes, trials).unwrap()
    }

    #[test]
    fn shares_of_one_on_both_sides_leave_an_even_interval() {
        let confidence = Confidence::two_sided(0.95).unwrap();
        let interval = newcombe(share(10, 10), share(10, 10), confidence);
        assert_eq!(interval.lower.unwrap(), -interval.upper.unwrap());
        let paired = newcombe_paired(10, 0, 0, 0, confidence).unwrap();
        assert_eq!(paired.lower, interval.lower);
    }

    proptest! {
        #[test]
        fn a_swap_mirrors_the_interval(k1 in 0u64..20, k2 in 0u64..30) {
            let confidence = Confidence::two_sided(0.9).unwrap();
            let (first, second) = (share(k1, 20), share(k2, 30));
            let (one, two) = (newcombe(first, second, confidence), newcombe(second, first, confidence));
            prop_assert!((one.lower.unwrap() + two.upper.unwrap()).abs() < 1e-12);
            prop_assert!(one.lower.unwrap() >= -1.0 - 1e-12 && one.upper.unwrap() <= 1.0 + 1e-12);
        }
    }
}
