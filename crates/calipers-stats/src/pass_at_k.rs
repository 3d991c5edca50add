//! pass@k and pass^k: how often one of k attempts succeeds, and how often all of them do.
//!
//! Both are estimated without bias from n ≥ k attempts a problem, as the share of all choices of k
//! attempts. The plug-in forms 1 − (1 − c/n)^k and (c/n)^k are not offered: at n = k = 5 and a true
//! rate of 0.1 the first gives 0.30 on average where the truth is 0.41. Nor is a power of the pooled
//! rate: half of the problems always solved and half never makes pass^2 = 0.5, not 0.5² = 0.25.

use crate::proportion::Proportion;
use crate::{AllowedRange, Confidence, Interval, Moments, Quantity, StatisticCaveat, Undefined};

/// What counts as success of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttemptRule {
    /// At least one of k attempts succeeds: [`pass_at_k`].
    AnyOfK,
    /// All k attempts succeed: [`pass_hat_k`].
    AllOfK,
    /// At least k of the attempts made succeeded: [`at_least_k`].
    AtLeastK,
}

impl AttemptRule {
    /// The estimate for one problem with `correct` of `attempts`.
    pub fn of(self, attempts: u64, correct: u64, k: u64) -> Result<f64, Undefined> {
        match self {
            Self::AnyOfK => pass_at_k(attempts, correct, k),
            Self::AllOfK => pass_hat_k(attempts, correct, k),
            Self::AtLeastK => at_least_k(attempts, correct, k),
        }
    }
}

/// pass@k: the probability that at least one of k attempts succeeds, 1 − C(n−c, k)/C(n, k)
/// (Chen et al. 2021, eq. 1).
///
/// Undefined with fewer than k attempts.
///
/// ```
/// use calipers_stats::Quantity;
/// use calipers_stats::{Undefined, pass_at_k::pass_at_k};
///
/// assert_eq!(pass_at_k(10, 3, 1)?, 0.3);
/// assert!((pass_at_k(10, 3, 5)? - 11.0 / 12.0).abs() < 1e-15);
/// assert_eq!(pass_at_k(4, 3, 5), Err(Undefined::TooFew { what: Quantity::Attempts, need: 5, have: 4 }));
/// # Ok::<(), Undefined>(())
/// ```
pub fn pass_at_k(attempts: u64, correct: u64, k: u64) -> Result<f64, Undefined> {
    check_k(k, attempts)?;
    let wrong = check_correct(attempts, correct)?;
    if wrong < k {
        return Ok(1.0);
    }
    // 1 − Π(1 − x) without the cancellation: what is left times x, added up. The product has a factor for
    // each of k, or as well one for each of c.
    let (factors, numerator) = if k < correct { (k, correct) } else { (correct, k) };
    let mut passed = 0.0;
    for used in 0..factors {
        passed += (1.0 - passed) * (numerator as f64 / (attempts - used) as f64);
        if passed >= 1.0 {
            return Ok(1.0);
        }
    }
    Ok(passed)
}

/// pass^k: the probability that all of k attempts succeed, C(c, k)/C(n, k) (Yao et al. 2024, τ-bench).
///
/// Undefined with fewer than k attempts.
///
/// ```
/// use calipers_stats::pass_at_k::pass_hat_k;
///
/// assert!((pass_hat_k(10, 5, 2)? - 2.0 / 9.0).abs() < 1e-15);
/// assert_eq!(pass_hat_k(10, 1, 2)?, 0.0);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn pass_hat_k(attempts: u64, correct: u64, k: u64) -> Result<f64, Undefined> {
    check_k(k, attempts)?;
    let wrong = check_correct(attempts, correct)?;
    if correct < k {
        return Ok(0.0);
    }
    // Π (c − i)/(n − i) over k factors, or the same over n − c factors with k and n − c exchanged.
    let (factors, from) = if k < wrong { (k, correct) } else { (wrong, attempts - k) };
    let mut passed = 1.0;
    for used in 0..factors {
        passed *= (from - used) as f64 / (attempts - used) as f64;
        if passed == 0.0 {
            break;
        }
    }
    Ok(passed)
}

/// 1 when at least `k` of the attempts succeeded, else 0.
///
/// It depends on how many attempts were made: do not compare it between runs with different numbers.
///
/// ```
/// use calipers_stats::pass_at_k::at_least_k;
///
/// assert_eq!(at_least_k(5, 3, 3)?, 1.0);
/// assert_eq!(at_least_k(5, 2, 3)?, 0.0);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn at_least_k(attempts: u64, correct: u64, k: u64) -> Result<f64, Undefined> {
    check_k(k, k)?;
    check_correct(attempts, correct)?;
    Ok(if correct >= k { 1.0 } else { 0.0 })
}

fn check_k(k: u64, attempts: u64) -> Result<(), Undefined> {
    if k == 0 {
        return Err(Undefined::OutOfRange { what: Quantity::K, value: 0.0, allowed: AllowedRange::AtLeastOne });
    }
    if attempts < k {
        return Err(Undefined::TooFew { what: Quantity::Attempts, need: k, have: attempts });
    }
    Ok(())
}

/// The attempts that failed.
fn check_correct(attempts: u64, correct: u64) -> Result<u64, Undefined> {
    let value = correct as f64;
    attempts.checked_sub(correct).ok_or(Undefined::OutOfRange {
        what: Quantity::CorrectAttempts,
        value,
        allowed: AllowedRange::AtMostAttempts,
    })
}

/// The estimate over a suite of problems: the mean over problems, whose error is that between problems.
///
/// The spread between problems already contains the chance within each, so nothing is added for it.
/// Problems are folded in one at a time, in any order, and two suites of the same question merge.
///
/// ```
/// use calipers_stats::{StatisticCaveat, Confidence, pass_at_k::{AttemptRule, AttemptSuite}};
///
/// let mut suite = AttemptSuite::new(AttemptRule::AllOfK, 2);
/// for correct in [0, 1, 2, 4] {
///     suite.add(4, correct)?;
/// }
/// assert!((suite.estimate()? - 7.0 / 24.0).abs() < 1e-15);
/// let interval = suite.interval(Confidence::two_sided(0.95)?)?;
/// assert!(interval.contains(0.3));
/// assert_eq!(suite.caveats(), [StatisticCaveat::SmallSample { n: 4, need: 30 }]);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Debug)]
pub struct AttemptSuite {
    rule: AttemptRule,
    k: u64,
    problems: Moments,
    attempts_min: u64,
}

/// From this many problems on, t over problems is trusted.
const ENOUGH_PROBLEMS: u64 = 30;

impl AttemptSuite {
    /// A suite without problems.
    #[must_use]
    pub fn new(rule: AttemptRule, k: u64) -> Self {
        Self { rule, k, problems: Moments::default(), attempts_min: u64::MAX }
    }

    /// Folds in a problem with `correct` of `attempts`, and returns its own estimate.
    ///
    /// A problem with fewer than k attempts has none, is not folded in, and leaves the choice to the
    /// caller: a suite without it answers another question.
    pub fn add(&mut self, attempts: u64, correct: u64) -> Result<f64, Undefined> {
        let estimate = self.rule.of(attempts, correct, self.k)?;
        self.problems.add(estimate);
        self.attempts_min = self.attempts_min.min(attempts);
        Ok(estimate)
    }

    /// Folds in the problems of another suite; undefined unless it asks the same question.
    pub fn merge(&mut self, other: &Self) -> Result<(), Undefined> {
        if (self.rule, self.k) != (other.rule, other.k) {
            let value = other.k as f64;
            return Err(Undefined::OutOfRange { what: Quantity::MergedK, value, allowed: AllowedRange::SameRuleAndK });
        }
        self.problems.merge(&other.problems);
        self.attempts_min = self.attempts_min.min(other.attempts_min);
        Ok(())
    }

    /// The number of problems.
    #[must_use]
    pub fn problems(&self) -> u64 {
        self.problems.count()
    }

    /// The mean over problems. Undefined without problems.
    pub fn estimate(&self) -> Result<f64, Undefined> {
        self.problems.mean()
    }

    /// The standard error over problems. Undefined below two.
    pub fn stderr(&self) -> Result<f64, Undefined> {
        match self.problems.count() {
            have @ 0..2 => Err(Undefined::TooFew { what: Quantity::Problems, need: 2, have }),
            _ => self.problems.stderr(),
        }
    }

    /// The interval over problems: Blaker's where every problem has 0 or 1, as when k is all attempts; else
    /// [t with a little weight at both ends](Moments::unit_interval). Undefined below two problems.
    ///
    /// Plain t undercovers where most problems are always or never solved: 65 % instead of 95 % for pass@2 of ten
    /// problems whose rates follow Beta(0.9, 0.1).
    pub fn interval(&self, confidence: Confidence) -> Result<Interval, Undefined> {
        self.stderr()?;
        if self.problems.is_binary() {
            let share = Proportion::new(self.problems.sum() as u64, self.problems.count())?;
            return Ok(share.blaker(confidence));
        }
        self.problems.unit_interval(confidence)
    }

    /// What to beware of: few attempts, few problems, or problems that are all alike.
    #[must_use]
    pub fn caveats(&self) -> Vec<StatisticCaveat> {
        let n = self.problems.count();
        let attempts = self.attempts_min;
        let few_attempts = self.rule != AttemptRule::AtLeastK && n > 0 && attempts < self.k.saturating_mul(2);
        [
            few_attempts.then_some(StatisticCaveat::FewAttempts { attempts, k: self.k }),
            (n < ENOUGH_PROBLEMS).then_some(StatisticCaveat::SmallSample { n, need: ENOUGH_PROBLEMS }),
            (self.stderr() == Ok(0.0)).then_some(StatisticCaveat::NoSpread { n }),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// C(n, k) exactly, as long as it fits.
    fn choose(n: u64, k: u64) -> u128 {
        if k > n {
            return 0;
        }
        (0..k).fold(1, |product, i| product * u128::from(n - i) / u128::from(i + 1))
    }

    fn close(got: f64, want: f64) -> bool {
        (got - want).abs() <= 1e-12 * want.abs()
    }

    #[test]
    fn pass_at_k_matches_the_unbiased_formula() {
        // attempts, correct, k, expected — exact fractions
        for (n, c, k, want) in [(10, 3, 1, 3.0 / 10.0), (10, 3, 5, 11.0 / 12.0), (10, 0, 5, 0.0), (5, 5, 5, 1.0)] {
            assert!(close(pass_at_k(n, c, k).unwrap(), want), "{n} {c} {k}");
        }
    }

    #[test]
    fn large_binomials_neither_overflow_nor_lose_digits() {
        // Python: float(Fraction(comb(150, 100), comb(200, 100))) and so on
        for (got, want) in [
            (pass_hat_k(200, 150, 100), 2.2229697512078617e-19),
            (pass_hat_k(200, 100, 100), 1.1043803465997514e-59),
            (pass_at_k(200, 1, 100), 0.5),
            (pass_at_k(1_000_000, 1, 7), 7e-6),
            (pass_at_k(200, 3, 2), 0.029849246231155778),
        ] {
            assert!(close(got.unwrap(), want), "{got:?} {want}");
        }
    }

    #[test]
    fn impossible_counts_are_undefined() {
        assert!(pass_at_k(3, 4, 1).is_err());
        assert!(pass_hat_k(3, 2, 0).is_err());
        assert!(at_least_k(3, 2, 0).is_err());
        assert_eq!(at_least_k(2, 2, 3), Ok(0.0));
        assert!(pass_hat_k(u64::MAX, u64::MAX, u64::MAX).is_ok());
    }

    #[test]
    fn few_attempts_are_told() {
        let mut suite = AttemptSuite::new(AttemptRule::AnyOfK, 5);
        suite.add(20, 3).unwrap();
        assert_eq!(suite.stderr(), Err(Undefined::TooFew { what: Quantity::Problems, need: 2, have: 1 }));
        suite.add(9, 3).unwrap();
        assert!(suite.caveats().contains(&StatisticCaveat::FewAttempts { attempts: 9, k: 5 }));
        assert!(suite.add(4, 3).is_err());
        assert_eq!(suite.problems(), 2);
        assert!(suite.merge(&AttemptSuite::new(AttemptRule::AllOfK, 5)).is_err());
        assert!(AttemptSuite::new(AttemptRule::AnyOfK, 5).caveats().iter().all(|c| c.id() == "small-sample"));
    }

    proptest! {
        #[test]
        fn products_equal_binomials(n in 1u64..60, c in 0u64..60, k in 1u64..60) {
            prop_assume!(c <= n && k <= n);
            let all = choose(n, k) as f64;
            let misses = choose(n, k) - choose(n - c, k);
            prop_assert!(close(pass_at_k(n, c, k).unwrap(), misses as f64 / all));
            prop_assert!(close(pass_hat_k(n, c, k).unwrap(), choose(c, k) as f64 / all));
        }

        #[test]
        fn order_and_shards_change_no_bit(problems in prop::collection::vec((4u64..12, 0u64..5), 2..40), cut in 0usize..40) {
            let suite = |problems: &[(u64, u64)]| {
                let mut suite = AttemptSuite::new(AttemptRule::AnyOfK, 3);
                problems.iter().for_each(|&(n, c)| { suite.add(n, c.min(n)).unwrap(); });
                suite
            };
            let whole = suite(&problems);
            let (left, right) = problems.split_at(cut.min(problems.len()));
            let mut merged = suite(right);
            merged.merge(&suite(left)).unwrap();
            prop_assert_eq!(merged.estimate(), whole.estimate());
            prop_assert_eq!(merged.stderr(), whole.stderr());
            prop_assert_eq!(merged.caveats(), whole.caveats());
        }
    }
}
