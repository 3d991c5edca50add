//! A gate that may be looked at after every sample.
//!
//! A fixed test at 5 % that is looked at twenty times errs three times as often. An e-process is a bet against
//! each side of the threshold whose wealth, were that side true, exceeds 1/α at *any* time with probability at
//! most α (Ville 1939). So samples may be added until the answer is clear, and stopped whenever one likes.
//!
//! Samples must come in an order that does not depend on them: shuffle tasks by a recorded seed. Of attempts at
//! one task only the first is a fresh sample.

use crate::special::BetaTails;
use crate::threshold_test::Verdict;
use crate::{Quantity, Undefined};

/// Evidence for and against a share of at least a threshold, valid at all times at once.
///
/// For s successes and f failures, E⁺ = ∫ (p/T)ˢ ((1 − p)/(1 − T))ᶠ dp / (1 − T) over p from T to 1 bets against
/// a share of at most T, and E⁻, over 0 to T and divided by T, against a share of at least T: the likelihood ratio
/// averaged over the uniform prior on each side (Robbins 1970). Kept as logarithms, which neither overflow nor
/// vanish.
///
/// ```
/// use calipers_stats::{eprocess::BinaryEprocess, threshold_test::Verdict};
///
/// let mut evidence = BinaryEprocess::new(0.8)?;
/// let mut samples = 0;
/// while evidence.verdict(0.05)? == Verdict::Undecided {
///     evidence.observe(true);
///     samples += 1;
/// }
/// assert_eq!((evidence.verdict(0.05)?, samples), (Verdict::Pass, 20));
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BinaryEprocess {
    threshold: f64,
    successes: u64,
    failures: u64,
    log_e_pass: f64,
    log_e_fail: f64,
    log_e_pass_max: f64,
    log_e_fail_max: f64,
}

impl BinaryEprocess {
    /// No samples yet: both e-values are 1. Undefined for a threshold outside (0, 1).
    pub fn new(threshold: f64) -> Result<Self, Undefined> {
        Ok(Self {
            threshold: Undefined::check_open_unit(Quantity::Threshold, threshold)?,
            successes: 0,
            failures: 0,
            log_e_pass: 0.0,
            log_e_fail: 0.0,
            log_e_pass_max: 0.0,
            log_e_fail_max: 0.0,
        })
    }

    /// Adds one sample and looks.
    pub fn observe(&mut self, success: bool) {
        self.observe_many(u64::from(success), u64::from(!success));
    }

    /// Adds a block of samples and looks once, at its end.
    ///
    /// The e-values are those of the counts, whatever the order. The maxima see only the ends of blocks, so
    /// smaller blocks may decide earlier and never less often.
    pub fn observe_many(&mut self, successes: u64, failures: u64) {
        self.successes = self.successes.saturating_add(successes);
        self.failures = self.failures.saturating_add(failures);
        let (a, b) = (self.successes as f64 + 1.0, self.failures as f64 + 1.0);
        let (p, q) = (self.threshold, 1.0 - self.threshold);
        // With the density D = pᵃqᵇ / B(a, b): E⁺ = p (upper tail) / D and E⁻ = q (lower tail) / D.
        let tails = BetaTails::new(p, q, a, b);
        self.log_e_pass = p.ln() + tails.ln_upper - tails.ln_density;
        self.log_e_fail = q.ln() + tails.ln_lower - tails.ln_density;
        self.log_e_pass_max = self.log_e_pass_max.max(self.log_e_pass);
        self.log_e_fail_max = self.log_e_fail_max.max(self.log_e_fail);
    }

    /// The successes so far.
    #[must_use]
    pub fn successes(&self) -> u64 {
        self.successes
    }

    /// The failures so far.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failures
    }

    /// ln E⁺ now: the evidence for pass.
    #[must_use]
    pub fn log_e_pass(&self) -> f64 {
        self.log_e_pass
    }

    /// ln E⁻ now: the evidence for fail.
    #[must_use]
    pub fn log_e_fail(&self) -> f64 {
        self.log_e_fail
    }

    /// E⁺ now; beyond about 1e308 the largest number there is.
    ///
    /// ```
    /// use calipers_stats::eprocess::BinaryEprocess;
    ///
    /// let mut evidence = BinaryEprocess::new(0.8)?;
    /// evidence.observe(true);
    /// assert!((evidence.e_pass() - 1.125).abs() < 1e-14);
    /// assert!((evidence.e_fail() - 0.5).abs() < 1e-14);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    #[must_use]
    pub fn e_pass(&self) -> f64 {
        self.log_e_pass.exp().min(f64::MAX)
    }

    /// E⁻ now; beyond about 1e308 the largest number there is.
    #[must_use]
    pub fn e_fail(&self) -> f64 {
        self.log_e_fail.exp().min(f64::MAX)
    }

    /// The largest ln E⁺ of any look, the start included.
    #[must_use]
    pub fn log_e_pass_max(&self) -> f64 {
        self.log_e_pass_max
    }

    /// The largest ln E⁻ of any look, the start included.
    #[must_use]
    pub fn log_e_fail_max(&self) -> f64 {
        self.log_e_fail_max
    }

    /// Pass if E⁺ has ever reached 1/α, else fail if E⁻ has, else undecided. Undefined for α outside (0, 1).
    ///
    /// Once decided it stays decided, so a report may be written at any time. P(ever pass | share ≤ T) ≤ α and
    /// P(ever fail | share ≥ T) ≤ α.
    pub fn verdict(&self, alpha: f64) -> Result<Verdict, Undefined> {
        let needed = -Undefined::check_open_unit(Quantity::Alpha, alpha)?.ln();
        Ok(if self.log_e_pass_max >= needed {
            Verdict::Pass
        } else if self.log_e_fail_max >= needed {
            Verdict::Fail
        } else {
            Verdict::Undecided
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::binomial_pmf;
    use proptest::prelude::*;

    fn after(threshold: f64, successes: u64, failures: u64) -> BinaryEprocess {
        let mut process = BinaryEprocess::new(threshold).unwrap();
        process.observe_many(successes, failures);
        process
    }

    proptest! {
        #[test]
        fn no_number_of_samples_overflows(threshold in 1e-6..0.999_999f64, s in 0..u64::MAX / 4, f in 0..u64::MAX / 4) {
            let process = after(threshold, s, f);
            prop_assert!(process.log_e_pass().is_finite() && process.log_e_fail().is_finite());
            prop_assert!(process.e_pass().is_finite() && process.e_fail().is_finite());
        }

        #[test]
        fn failures_against_the_other_share_mirror_it(threshold in 0.01..0.99f64, s in 0..2000u64, f in 0..2000u64) {
            let (one, other) = (after(threshold, s, f), after(1.0 - threshold, f, s));
            prop_assert!((one.log_e_pass() - other.log_e_fail()).abs() < 1e-9);
        }
    }

    #[test]
    fn a_fair_bet_on_the_threshold() {
        // E over the outcomes of n trials at the threshold is exactly 1 on both sides.
        for (threshold, n) in [(0.5, 1), (0.8, 20), (0.95, 60), (0.1, 33)] {
            let mean = |e: fn(&BinaryEprocess) -> f64| -> f64 {
                (0..=n).map(|s| binomial_pmf(s, n, threshold) * e(&after(threshold, s, n - s))).sum()
            };
            assert!((mean(BinaryEprocess::e_pass) - 1.0).abs() < 1e-11, "{threshold} {n}");
            assert!((mean(BinaryEprocess::e_fail) - 1.0).abs() < 1e-11, "{threshold} {n}");
        }
    }

    #[test]
    fn peeking_after_every_sample_keeps_the_error() {
        // The exact probability of ever deciding wrongly within 400 looks, by walking over all paths.
        for (threshold, share) in [(0.8, 0.8), (0.9, 0.9), (0.5, 0.5), (0.9, 0.85)] {
            let mut alive = vec![1.0];
            let mut passed = 0.0;
            for n in 1..=400usize {
                let mut next = vec![0.0; n + 1];
                for (s, mass) in alive.iter().enumerate() {
                    next[s + 1] += mass * share;
                    next[s] += mass * (1.0 - share);
                }
                for (s, mass) in next.iter_mut().enumerate() {
                    let e = after(threshold, s as u64, (n - s) as u64);
                    if e.log_e_pass() >= 20f64.ln() {
                        passed += *mass;
                        *mass = 0.0;
                    }
                }
                alive = next;
            }
            assert!(passed <= 0.05, "{threshold} {share}: {passed}");
        }
    }

    #[test]
    fn a_thousand_failures_leave_the_other_bet_small_but_positive() {
        // ∫ over p from ½ to 1 of (2(1 − p))ᶠ dp / ½ = 1 / (f + 1), where the tail itself is 2⁻¹⁰⁰⁰⁰.
        let process = after(0.5, 0, 10_000);
        assert!((process.e_pass() * 10_001.0 - 1.0).abs() < 1e-10);
    }
}
