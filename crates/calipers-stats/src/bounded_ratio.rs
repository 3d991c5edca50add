//! Bounds and tests for means and ratios of bounded terms, valid at every number of units.
//!
//! A unit is what is independent: a sample, or a cluster of samples. It adds one [`Term`] to a sum of numerators and to a
//! sum of denominators, and the figure is the ratio of the sums; a mean has denominators of 1. To ask whether the ratio is
//! above a threshold T is to ask whether the mean of z = numerator − T · denominator is positive.
//!
//! **One look.** Gaffke (2005): let E₀, E₁, … be independent exponential variables, z₀ the least z that a unit can have,
//! and p = P(E₀z₀ + ΣEᵢzᵢ ≤ 0). The data rule out a ratio of at most T, with an error of α, when p ≤ α. In other words, the
//! units get random weights and one unseen unit is as bad as can be. The test
//! - is Clopper and Pearson's for 0/1 terms, and McNemar's exact test for differences of 0/1 terms against 0;
//! - falls with every numerator, so a better value never makes a verdict worse, and neither does one more unit at the top;
//! - needs no normal approximation, so it holds for perfect runs, rare failures and any mixture of weights.
//!
//! That its error is at most α is proved for 0/1 terms and for several other families, and no case against it is known;
//! `cargo xtask calibrate` simulates it. Phan, Thomas and Learned-Miller (2021) compare it with its alternatives.
//!
//! **Any number of looks.** The wealth of a bet on z, averaged over stakes: ∫₀¹ Π(1 + s zᵢ/|z₀|) ds. It is a likelihood ratio
//! averaged over alternatives for 0/1 terms ([`crate::eprocess`]), and exceeds 1/α at any time with probability at most α
//! if the ratio is at most T (Ville 1939; Waudby-Smith and Ramdas 2023). It does not depend on the order of the units.

use crate::betting::log_wealth;
use crate::bracket::last_positive;
use crate::exponential_sum::probability_not_positive;
use crate::special::normal_quantile;
use crate::{AllowedRange, Confidence, Interval, Method, Quantity, Undefined};

/// What a unit adds to the sums, or could add.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    /// Added to the numerator.
    pub numerator: f64,
    /// Added to the denominator; not negative.
    pub denominator: f64,
}

impl Term {
    /// A term of a ratio.
    #[must_use]
    pub fn new(numerator: f64, denominator: f64) -> Self {
        Self { numerator, denominator }
    }

    fn excess(self, threshold: f64) -> f64 {
        self.numerator - threshold * self.denominator
    }
}

/// A ratio of sums over independent units, with the worst and the best that a unit can add.
///
/// ```
/// use calipers_stats::bounded_ratio::BoundedRatio;
/// use calipers_stats::Confidence;
///
/// // 29 of 29 rule out a share of at most 0.9; 59 grades of which one is 0.5 rule out a mean of at most 0.9395.
/// let all = BoundedRatio::mean(&[1.0; 29], 0.0, 1.0)?;
/// assert!((all.p_above(0.9) - 0.9f64.powi(29)).abs() < 1e-12);
/// let mut grades = vec![1.0; 58];
/// grades.push(0.5);
/// let bound = BoundedRatio::mean(&grades, 0.0, 1.0)?.interval(Confidence::lower(0.95)?);
/// assert!((bound.lower.unwrap() - 0.939549).abs() < 1e-6);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BoundedRatio {
    /// Distinct terms and how many units have each.
    terms: Vec<(Term, f64)>,
    units: u64,
    /// The worst and the best that a unit can add; none where nothing limits it.
    least: Option<Term>,
    most: Option<Term>,
}

impl BoundedRatio {
    /// Units with the worst and the best that one can add. Where nothing limits what a unit could add on one side, there is no
    /// evidence against that side, however many units there are (Bahadur and Savage 1956).
    ///
    /// Undefined without units, with a number that is not finite, with a negative denominator, and if the denominators are
    /// all zero.
    pub fn new(
        units: impl IntoIterator<Item = Term>,
        least: impl Into<Option<Term>>,
        most: impl Into<Option<Term>>,
    ) -> Result<Self, Undefined> {
        Self::counted(units.into_iter().map(|term| (term, 1)), least, most)
    }

    /// The same for terms that many units have.
    pub fn counted(
        units: impl IntoIterator<Item = (Term, u64)>,
        least: impl Into<Option<Term>>,
        most: impl Into<Option<Term>>,
    ) -> Result<Self, Undefined> {
        let (least, most) = (least.into(), most.into());
        let mut all: Vec<(Term, u64)> = units.into_iter().filter(|(_, count)| *count > 0).collect();
        for term in all.iter().map(|(term, _)| term).chain(&least).chain(&most) {
            if let Some(value) = [term.numerator, term.denominator].into_iter().find(|value| !value.is_finite()) {
                return Err(Undefined::NotFinite { value });
            }
            if term.denominator < 0.0 {
                return Err(Undefined::OutOfRange {
                    what: Quantity::SampleDenominator,
                    value: term.denominator,
                    allowed: AllowedRange::NotNegativeFinite,
                });
            }
        }
        if all.is_empty() {
            return Err(Undefined::Empty);
        }
        if all.iter().all(|(term, _)| term.denominator == 0.0) {
            return Err(Undefined::ZeroDenominator { what: Quantity::DenominatorTotal });
        }
        let units = all.iter().map(|(_, count)| count).sum();
        // In one order, so that the order of arrival changes no bit.
        let key = |(term, _): &(Term, u64)| (ordered_bits(term.denominator), ordered_bits(term.numerator));
        all.sort_unstable_by_key(key);
        let total = |same: &[(Term, u64)]| (same[0].0, same.iter().map(|(_, count)| *count as f64).sum());
        let terms = all.chunk_by(|(a, _), (b, _)| a == b).map(total).collect();
        Ok(Self { terms, units, least, most })
    }

    /// The mean of values that lie between `low` and `high`.
    pub fn mean(values: &[f64], low: f64, high: f64) -> Result<Self, Undefined> {
        let term = |x: f64| Term::new(x, 1.0);
        Self::new(values.iter().map(|&x| term(x)), term(low), term(high))
    }

    /// The number of units.
    #[must_use]
    pub fn units(&self) -> u64 {
        self.units
    }

    /// The same ratio of so many times as many units.
    ///
    /// ```
    /// use calipers_stats::bounded_ratio::BoundedRatio;
    ///
    /// let grades = BoundedRatio::mean(&[1.0, 1.0, 0.5], 0.0, 1.0)?;
    /// assert_eq!(grades.repeated(2.0).p_above(0.6), BoundedRatio::mean(&[1.0, 1.0, 1.0, 1.0, 0.5, 0.5], 0.0, 1.0)?.p_above(0.6));
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    #[must_use]
    pub fn repeated(&self, times: f64) -> Self {
        let terms = self.terms.iter().map(|(term, count)| (*term, count * times)).collect();
        Self { terms, units: (self.units as f64 * times).round() as u64, ..*self }
    }

    /// True when every unit adds the worst or the best that one can, as in shares of 0 and 1.
    #[must_use]
    pub fn is_all_or_nothing(&self) -> bool {
        self.terms.iter().all(|(term, _)| Some(*term) == self.least || Some(*term) == self.most)
    }

    /// The ratio of the sums.
    #[must_use]
    pub fn estimate(&self) -> f64 {
        let sum = |part: fn(&Term) -> f64| -> f64 { self.terms.iter().map(|(term, count)| part(term) * count).sum() };
        sum(|term| term.numerator) / sum(|term| term.denominator)
    }

    /// How probable data this high are if the ratio is at most `threshold`; small speaks for more.
    #[must_use]
    pub fn p_above(&self, threshold: f64) -> f64 {
        self.weights(threshold, self.least, 1.0).map_or(1.0, |weights| probability_not_positive(&weights))
    }

    /// How probable data this low are if the ratio is at least `threshold`; small speaks for less.
    #[must_use]
    pub fn p_below(&self, threshold: f64) -> f64 {
        self.weights(threshold, self.most, -1.0).map_or(1.0, |weights| probability_not_positive(&weights))
    }

    /// The logarithm of the evidence against a ratio of at most `threshold`, valid at any number of looks: ln(1/α) decides.
    #[must_use]
    pub fn log_e_above(&self, threshold: f64) -> f64 {
        self.weights(threshold, self.least, 1.0).map_or(0.0, |weights| log_wealth(&weights))
    }

    /// The same against a ratio of at least `threshold`.
    #[must_use]
    pub fn log_e_below(&self, threshold: f64) -> f64 {
        self.weights(threshold, self.most, -1.0).map_or(0.0, |weights| log_wealth(&weights))
    }

    /// The ratios that one look at the data does not rule out.
    #[must_use]
    pub fn interval(&self, confidence: Confidence) -> Interval {
        let ln_tail = confidence.tail().ln();
        let lower = || self.edge(|t| ln_tail - self.p_above(t).ln(), confidence.tail(), End::Low);
        let upper = || self.edge(|t| ln_tail - self.p_below(t).ln(), confidence.tail(), End::High);
        confidence.partial_interval(Method::Gaffke, lower, upper)
    }

    /// The ratios that no number of looks at the data rules out.
    #[must_use]
    pub fn interval_at_any_time(&self, confidence: Confidence) -> Interval {
        let ln_tail = confidence.tail().ln();
        let lower = || self.edge(|t| self.log_e_above(t) + ln_tail, confidence.tail(), End::Low);
        let upper = || self.edge(|t| self.log_e_below(t) + ln_tail, confidence.tail(), End::High);
        confidence.partial_interval(Method::Betting, lower, upper)
    }

    /// The least and the greatest ratio that is possible at all.
    #[must_use]
    pub fn reach(&self) -> (f64, f64) {
        let ratio = |term: Option<Term>, otherwise: f64| {
            term.filter(|term| term.denominator > 0.0).map_or(otherwise, |term| term.numerator / term.denominator)
        };
        (ratio(self.least, f64::NEG_INFINITY), ratio(self.most, f64::INFINITY))
    }

    /// The last threshold on the way from an end of the reach to the estimate at which `surplus` is positive, that is, which
    /// is ruled out. The end itself if it is not; none where nothing is ruled out, however far.
    fn edge(&self, surplus: impl Fn(f64) -> f64, tail: f64, end: End) -> Option<f64> {
        // Logarithms of 0 and quotients of infinities would stop the search.
        let surplus = |t: f64| surplus(t).clamp(-1e3, 1e3);
        (if end == End::Low { self.least } else { self.most })?;
        let kept = self.estimate();
        let mut out = if end == End::Low { self.reach().0 } else { self.reach().1 };
        if out.is_infinite() {
            let mut step = kept.abs().max(f64::MIN_POSITIVE) * if end == End::Low { -1.0 } else { 1.0 };
            out = kept + step;
            while surplus(out) <= 0.0 {
                step *= 4.0;
                out = kept + step;
                if out.is_infinite() {
                    return None;
                }
            }
        }
        let (mut out, mut kept) = ((out, surplus(out)), (kept, surplus(kept)));
        if out.1 <= 0.0 {
            return Some(out.0);
        }
        if kept.1 > 0.0 {
            return Some(kept.0);
        }
        // Where it would be for normal means, and a third to either side of that.
        let reach = -normal_quantile(tail) * self.stderr() * if end == End::Low { -1.0 } else { 1.0 };
        let expected = kept.0 + reach;
        for guess in [expected, expected + reach / 3.0, expected - reach / 3.0] {
            if (guess - out.0) * (kept.0 - guess) > 0.0 {
                let at = (guess, surplus(guess));
                if at.1 > 0.0 { out = at } else { kept = at }
            }
        }
        Some(last_positive(out, kept, |size| 1e-13 * size, surplus))
    }

    /// The standard error of the ratio, linearised.
    fn stderr(&self) -> f64 {
        let ratio = self.estimate();
        let total: f64 = self.terms.iter().map(|(term, count)| term.denominator * count).sum();
        let squares: f64 = self.terms.iter().map(|(term, count)| term.excess(ratio).powi(2) * count).sum();
        squares.sqrt() / total
    }

    /// Distinct values of z, or of −z, with their counts; the unseen unit last, if there is a limit to it.
    fn weights(&self, threshold: f64, unseen: Option<Term>, sign: f64) -> Option<Vec<(f64, f64)>> {
        let seen = self.terms.iter().map(|(term, count)| (sign * term.excess(threshold), *count));
        Some(seen.chain([(sign * unseen?.excess(threshold), 1.0)]).collect())
    }
}

/// Bits whose order is that of [`f64::total_cmp`], and quicker to compare.
fn ordered_bits(x: f64) -> i64 {
    let bits = x.to_bits().cast_signed();
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

/// An end of an interval.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Low,
    High,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::mcnemar;
    use crate::proportion::Proportion;
    use proptest::prelude::*;

    fn shares(successes: u64, trials: u64) -> BoundedRatio {
        let values: Vec<f64> = (0..trials).map(|i| f64::from(u8::from(i < successes))).collect();
        BoundedRatio::mean(&values, 0.0, 1.0).unwrap()
    }

    #[test]
    fn zero_and_one_give_the_bounds_of_clopper_and_pearson() {
        let confidence = Confidence::two_sided(0.9).unwrap();
        for (k, n) in [(0, 1), (1, 1), (0, 5), (3, 10), (60, 60), (55, 60), (990, 1000), (1, 1000)] {
            let exact = Proportion::new(k, n).unwrap().clopper_pearson(confidence);
            let ours = shares(k, n).interval(confidence);
            assert!((ours.lower.unwrap() - exact.lower.unwrap()).abs() < 1e-11, "{k} of {n}: {ours:?} {exact:?}");
            assert!((ours.upper.unwrap() - exact.upper.unwrap()).abs() < 1e-11, "{k} of {n}: {ours:?} {exact:?}");
        }
    }

    #[test]
    fn precision_is_bounded_on_its_own_denominator() {
        // Units without a prediction add nothing to either sum, and change nothing.
        let with_idle = |idle: usize| {
            let terms = [Term::new(1.0, 1.0); 41].into_iter().chain([Term::new(0.0, 1.0); 4]);
            let terms = terms.chain(std::iter::repeat_n(Term::new(0.0, 0.0), idle));
            BoundedRatio::new(terms, Term::new(0.0, 1.0), Term::new(1.0, 1.0)).unwrap().p_above(0.8)
        };
        let exact = crate::special::binomial_at_least(41, 45, 0.8);
        assert!((with_idle(0) - exact).abs() < 1e-12);
        assert!((with_idle(500) - exact).abs() < 1e-12);
    }

    #[test]
    fn differences_of_pairs_give_the_exact_test_of_mcnemar() {
        for (gained, lost, same) in [(12, 3, 40), (1, 0, 5), (0, 0, 9), (7, 7, 0)] {
            let values: Vec<f64> = [(1.0, gained), (-1.0, lost), (0.0, same)]
                .into_iter()
                .flat_map(|(x, count)| std::iter::repeat_n(x, count))
                .collect();
            let ratio = BoundedRatio::mean(&values, -1.0, 1.0).unwrap();
            let ours = (2.0 * ratio.p_above(0.0).min(ratio.p_below(0.0))).min(1.0);
            let exact = mcnemar(gained as u64, lost as u64).p_exact;
            assert!((ours - exact).abs() < 1e-11, "{gained} {lost} {same}: {ours} {exact}");
        }
    }

    #[test]
    fn nothing_to_average_has_no_bounds() {
        assert_eq!(BoundedRatio::mean(&[], 0.0, 1.0), Err(Undefined::Empty));
        assert!(BoundedRatio::mean(&[f64::INFINITY], 0.0, 1.0).is_err());
        let nothing = [Term::new(0.0, 0.0); 3];
        assert!(BoundedRatio::new(nothing, Term::new(0.0, 1.0), Term::new(1.0, 1.0)).is_err());
    }

    #[test]
    fn nothing_is_shown_on_a_side_without_a_limit() {
        let costs: Vec<Term> = (0..1000u32).map(|i| Term::new(f64::from(i % 7), 1.0)).collect();
        let ratio = BoundedRatio::new(costs, Term::new(0.0, 1.0), None).unwrap();
        assert_eq!((ratio.p_below(1e9), ratio.log_e_below(1e9)), (1.0, 0.0));
        assert!(ratio.p_above(1.0) < 1e-9);
        let interval = ratio.interval(Confidence::two_sided(0.9).unwrap());
        assert!(interval.lower.is_some_and(|lower| lower > 2.0) && interval.upper.is_none(), "{interval:?}");
    }

    #[test]
    fn a_ratio_without_an_end_is_bounded_where_the_data_bound_it() {
        // Quality per token: the best unit succeeds without a token.
        let terms = (0..40u32).map(|i| Term::new(f64::from(i % 4).min(1.0), 100.0 + f64::from(i)));
        let ratio = BoundedRatio::new(terms, Term::new(0.0, 700.0), Term::new(1.0, 0.0)).unwrap();
        let interval = ratio.interval(Confidence::two_sided(0.9).unwrap());
        let (lower, upper) = (interval.lower.unwrap(), interval.upper.unwrap());
        assert!(lower > 0.0 && lower < ratio.estimate() && upper > ratio.estimate() && upper < 0.1);
    }

    proptest! {
        #[test]
        fn a_better_value_never_hurts(
            values in proptest::collection::vec(0.0..=1.0f64, 1..40),
            place in 0usize..40, gain in 0.0..=1.0f64, threshold in 0.01..0.99f64,
        ) {
            let before = BoundedRatio::mean(&values, 0.0, 1.0).unwrap();
            let mut better = values.clone();
            let place = place % values.len();
            better[place] = (values[place] + gain).min(1.0);
            let after = BoundedRatio::mean(&better, 0.0, 1.0).unwrap();
            prop_assert!(after.p_above(threshold) <= before.p_above(threshold) + 1e-11);
            prop_assert!(after.p_below(threshold) >= before.p_below(threshold) - 1e-11);
            prop_assert!(after.log_e_above(threshold) >= before.log_e_above(threshold) - 1e-9);
            better = values;
            better.push(1.0);
            let longer = BoundedRatio::mean(&better, 0.0, 1.0).unwrap();
            prop_assert!(longer.p_above(threshold) <= before.p_above(threshold) + 1e-11);
            prop_assert!(longer.log_e_above(threshold) >= before.log_e_above(threshold) - 1e-9);
        }

        #[test]
        fn bounds_and_tests_agree(
            values in proptest::collection::vec(0.0..=1.0f64, 1..60), alpha in 0.001..0.4f64,
        ) {
            let ratio = BoundedRatio::mean(&values, 0.0, 1.0).unwrap();
            let interval = ratio.interval(Confidence::two_sided(1.0 - 2.0 * alpha).unwrap());
            let (lower, upper) = (interval.lower.unwrap(), interval.upper.unwrap());
            prop_assert!(lower <= ratio.estimate() && ratio.estimate() <= upper);
            if lower > 0.0 {
                prop_assert!((ratio.p_above(lower) - alpha).abs() < 1e-8, "{} {alpha}", ratio.p_above(lower));
            }
            if upper < 1.0 {
                prop_assert!((ratio.p_below(upper) - alpha).abs() < 1e-8, "{} {alpha}", ratio.p_below(upper));
            }
            let patient = ratio.interval_at_any_time(Confidence::two_sided(1.0 - 2.0 * alpha).unwrap());
            prop_assert!(patient.lower.unwrap() <= lower + 1e-9 && patient.upper.unwrap() >= upper - 1e-9);
        }
    }
}
