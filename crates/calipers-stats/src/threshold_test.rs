//! Pass, fail or undecided: a share against a threshold, with errors bounded at every number of samples.
//!
//! A point estimate compared with a threshold is a coin flip near it. Here a gate passes only when the data
//! rule out a share below the threshold, fails only when they rule out a share above it, and otherwise says
//! that it does not know and [how many more samples](ThresholdTest::samples_more) would help. For a gate at α,
//! P(pass | share < threshold) ≤ α and P(fail | share ≥ threshold) ≤ α, exactly and for every n.
//!
//! A gate speaks of data that were collected once. Looking again after every few samples needs
//! [`crate::eprocess`].

use crate::proportion::{Proportion, perfect_bound, perfect_needs};
use crate::special::{binomial_at_least, binomial_cdf, binomial_pmf, ln_beta, smallest};
use crate::{Quantity, Undefined};
use std::fmt;

/// What the data say about a threshold, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It holds: the data rule out the wrong side.
    Pass,
    /// The data rule out neither side.
    Undecided,
    /// It does not hold: the data rule out the right side.
    Fail,
}

impl Verdict {
    /// The name used in JSON and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Undecided => "undecided",
        }
    }

    /// True for pass and fail.
    #[must_use]
    pub fn is_decided(self) -> bool {
        self != Self::Undecided
    }

    fn from_evidence(passes: bool, fails: bool) -> Self {
        match (passes, fails) {
            (true, _) => Self::Pass,
            (false, true) => Self::Fail,
            (false, false) => Self::Undecided,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which side of a threshold is the right one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Large values are good: an accuracy.
    AtLeast,
    /// Small values are good: a rate of violations.
    AtMost,
}

/// A verdict from the one-sided bounds of any estimate.
///
/// `lower` and `upper` are each a one-sided bound at 1 − α, that is, together a two-sided interval at 1 − 2α.
/// At least: pass if `lower` ≥ threshold, fail if `upper` ≤ threshold; at most: the other way round. A bound
/// that does not exist decides nothing. Should both hold (an interval of no width on the threshold), it passes.
///
/// ```
/// use calipers_stats::threshold_test::{decide, Verdict, Direction};
///
/// assert_eq!(decide(Some(0.83), Some(0.97), 0.8, Direction::AtLeast), Verdict::Pass);
/// assert_eq!(decide(Some(0.83), Some(0.97), 0.8, Direction::AtMost), Verdict::Fail);
/// assert_eq!(decide(Some(0.83), None, 0.9, Direction::AtLeast), Verdict::Undecided);
/// ```
#[must_use]
pub fn decide(lower: Option<f64>, upper: Option<f64>, threshold: f64, direction: Direction) -> Verdict {
    let above = lower.is_some_and(|bound| bound >= threshold);
    let below = upper.is_some_and(|bound| bound <= threshold);
    match direction {
        Direction::AtLeast => Verdict::from_evidence(above, below),
        Direction::AtMost => Verdict::from_evidence(below, above),
    }
}

/// A question to a share: is it at least (or at most) a threshold, with errors of at most α each way?
///
/// ```
/// use calipers_stats::threshold_test::{Verdict, ThresholdTest};
/// use calipers_stats::proportion::Proportion;
///
/// let gate = ThresholdTest::at_least(0.9, 0.05)?;
/// assert_eq!(gate.judge(Proportion::new(29, 29)?).verdict, Verdict::Pass);
/// assert_eq!(gate.judge(Proportion::new(28, 28)?).verdict, Verdict::Undecided);
/// assert_eq!(gate.judge(Proportion::new(30, 50)?).verdict, Verdict::Fail);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThresholdTest {
    direction: Direction,
    /// The share to be ruled out before the gate may pass.
    bad: f64,
    /// The share to be ruled out before the gate may fail; the same as `bad` without a zone of indifference.
    good: f64,
    alpha: f64,
}

/// What a gate found: the verdict and what it rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TestEvidence {
    /// How probable data this good are at the threshold; small speaks for pass.
    pub p_pass: f64,
    /// How probable data this bad are at the threshold; small speaks for fail.
    pub p_fail: f64,
    /// Clopper and Pearson's lower bound, one-sided at 1 − α.
    pub lower: f64,
    /// Clopper and Pearson's upper bound, one-sided at 1 − α.
    pub upper: f64,
    /// Pass if `p_pass` ≤ α, else fail if `p_fail` ≤ α, else undecided.
    pub verdict: Verdict,
}

/// Scored samples and those without a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScoreCounts {
    /// Samples that succeeded.
    pub successes: u64,
    /// Samples that did not.
    pub failures: u64,
    /// Samples of which it is not known: errors, refused scores, time-outs.
    pub missing: u64,
}

/// What a gate found at the two extremes that missing values allow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorstCase {
    /// As if every missing sample had failed.
    pub all_failed: TestEvidence,
    /// As if every missing sample had succeeded.
    pub all_succeeded: TestEvidence,
    /// The verdict on which both extremes agree, or undecided.
    pub verdict: Verdict,
}

/// How many more samples would settle a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SamplesMore {
    /// This many more; 0 when it is settled already.
    Enough(u64),
    /// More than were searched: the share is near the threshold and no realistic number decides.
    NearThreshold {
        /// The number of further samples up to which none was enough.
        searched: u64,
    },
}

/// One part in 1e12: p-values this close to α equal it but for rounding.
const TIE: f64 = 1e-12;

impl ThresholdTest {
    /// Passes when a share below `threshold` is ruled out. Both numbers lie strictly between 0 and 1.
    ///
    /// A threshold of 1 is refused: no number of samples shows that nothing ever fails.
    pub fn at_least(threshold: f64, alpha: f64) -> Result<Self, Undefined> {
        Self::new(Direction::AtLeast, threshold, threshold, alpha)
    }

    /// Passes when a share above `threshold` is ruled out. Both numbers lie strictly between 0 and 1.
    pub fn at_most(threshold: f64, alpha: f64) -> Result<Self, Undefined> {
        Self::new(Direction::AtMost, threshold, threshold, alpha)
    }

    /// A gate with two thresholds and a zone of indifference between them, in which either answer is right.
    ///
    /// `good` is the share that must not fail, `bad` the share that must not pass; the gate asks for "at least"
    /// when `good` is the larger. Passes when `bad` or worse is ruled out, fails when `good` or better is ruled
    /// out, and passes when both are, so that P(pass | bad or worse) ≤ α and P(fail | good or better) ≤ α.
    /// Unlike with a single threshold a finite number of samples always decides, about
    /// (z_α + z_β)² p(1 − p)/(good − bad)².
    ///
    /// ```
    /// use calipers_stats::threshold_test::{Verdict, ThresholdTest};
    /// use calipers_stats::proportion::Proportion;
    ///
    /// let observed = Proportion::new(88, 100)?;
    /// assert_eq!(ThresholdTest::at_least(0.85, 0.05)?.judge(observed).verdict, Verdict::Undecided);
    /// assert_eq!(ThresholdTest::between(0.9, 0.8, 0.05)?.judge(observed).verdict, Verdict::Pass);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    pub fn between(good: f64, bad: f64, alpha: f64) -> Result<Self, Undefined> {
        let direction = if good >= bad { Direction::AtLeast } else { Direction::AtMost };
        Self::new(direction, good, bad, alpha)
    }

    fn new(direction: Direction, good: f64, bad: f64, alpha: f64) -> Result<Self, Undefined> {
        Ok(Self {
            direction,
            bad: Undefined::check_open_unit(Quantity::Threshold, bad)?,
            good: Undefined::check_open_unit(Quantity::Threshold, good)?,
            alpha: Undefined::check_open_unit(Quantity::Alpha, alpha)?,
        })
    }

    /// The probability with which each kind of error is tolerated.
    #[must_use]
    pub fn alpha(self) -> f64 {
        self.alpha
    }

    /// Which side is the right one.
    #[must_use]
    pub fn direction(self) -> Direction {
        self.direction
    }

    /// Judges independent samples by the exact binomial test.
    ///
    /// ```
    /// use calipers_stats::threshold_test::{Verdict, ThresholdTest};
    /// use calipers_stats::proportion::Proportion;
    ///
    /// let evidence = ThresholdTest::at_most(0.1, 0.05)?.judge(Proportion::new(2, 50)?);
    /// assert_eq!(evidence.verdict, Verdict::Undecided);
    /// assert!((evidence.p_pass - 0.111728756346).abs() < 1e-12);
    /// assert!((evidence.upper - 0.120614155422).abs() < 1e-12);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    #[must_use]
    pub fn judge(self, observed: Proportion) -> TestEvidence {
        let (k, n) = (observed.successes(), observed.trials());
        let (p_pass, p_fail) = match self.direction {
            Direction::AtLeast => (binomial_at_least(k, n, self.bad), binomial_cdf(k, n, self.good)),
            Direction::AtMost => (binomial_cdf(k, n, self.bad), binomial_at_least(k, n, self.good)),
        };
        let verdict = Verdict::from_evidence(is_within(p_pass, self.alpha), is_within(p_fail, self.alpha));
        let (lower, upper) = (observed.exact_lower(self.alpha), observed.exact_upper(self.alpha));
        TestEvidence { p_pass, p_fail, lower, upper, verdict }
    }

    /// Judges samples of which some have no score, by what the missing ones could have changed (Manski 1990).
    ///
    /// Passes only if it would with every missing sample on the wrong side, fails only if it would with every
    /// one on the right side. Leaving them out instead assumes that failing to score has nothing to do with
    /// failing. Undefined without any sample.
    ///
    /// ```
    /// use calipers_stats::threshold_test::{Verdict, ThresholdTest, ScoreCounts};
    ///
    /// let gate = ThresholdTest::at_least(0.65, 0.05)?;
    /// let complete = ScoreCounts { successes: 60, failures: 20, missing: 0 };
    /// assert_eq!(gate.judge_worst_case(complete)?.verdict, Verdict::Pass);
    /// let partial = ScoreCounts { missing: 20, ..complete };
    /// assert_eq!(gate.judge_worst_case(partial)?.verdict, Verdict::Undecided);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    pub fn judge_worst_case(self, observed: ScoreCounts) -> Result<WorstCase, Undefined> {
        let ScoreCounts { successes, failures, missing } = observed;
        let trials = successes.saturating_add(failures).saturating_add(missing);
        let all_failed = self.judge(Proportion::new(successes, trials)?);
        let all_succeeded = self.judge(Proportion::new(successes.saturating_add(missing), trials)?);
        let verdict = if all_failed.verdict == all_succeeded.verdict { all_failed.verdict } else { Verdict::Undecided };
        Ok(WorstCase { all_failed, all_succeeded, verdict })
    }

    /// The best bound that `samples` samples can give: α^(1/n), or one minus it for an upper limit.
    ///
    /// A gate whose threshold is stricter cannot pass, whatever happens.
    ///
    /// ```
    /// use calipers_stats::threshold_test::ThresholdTest;
    ///
    /// assert!((ThresholdTest::at_least(0.95, 0.05)?.best_possible_bound(20)? - 0.8609).abs() < 1e-4);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    pub fn best_possible_bound(self, samples: u64) -> Result<f64, Undefined> {
        let bound = perfect_bound(samples, self.alpha)?;
        Ok(if self.direction == Direction::AtLeast { bound } else { 1.0 - bound })
    }

    /// The number of samples below which the gate cannot pass even with a perfect score: ⌈ln α / ln T⌉.
    ///
    /// ```
    /// use calipers_stats::threshold_test::ThresholdTest;
    ///
    /// assert_eq!(ThresholdTest::at_least(0.95, 0.05)?.samples_to_pass(), Ok(59));
    /// assert_eq!(ThresholdTest::at_most(0.01, 0.05)?.samples_to_pass(), Ok(299));
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    pub fn samples_to_pass(self) -> Result<u64, Undefined> {
        perfect_needs(self.pass_threshold(), self.alpha)
    }

    /// The share of successes (at least) or of failures (at most) that is to be ruled out before a pass.
    pub(crate) fn pass_threshold(self) -> f64 {
        if self.direction == Direction::AtLeast { self.bad } else { 1.0 - self.bad }
    }

    /// The same question about failures instead of successes.
    pub(crate) fn mirrored(self) -> Self {
        let direction = match self.direction {
            Direction::AtLeast => Direction::AtMost,
            Direction::AtMost => Direction::AtLeast,
        };
        Self { direction, good: 1.0 - self.good, bad: 1.0 - self.bad, ..self }
    }

    /// The fewest further samples that would settle the gate if the share stayed as it is.
    ///
    /// The successes after m more are taken to be the share times n + m, rounded, and judged by the exact test.
    /// This is the plain answer; [`ThresholdTest::samples_more_for_chance`] allows for the share being uncertain. Searches
    /// up to `more_max`, at a cost proportional to it.
    ///
    /// ```
    /// use calipers_stats::threshold_test::{ThresholdTest, SamplesMore};
    /// use calipers_stats::proportion::Proportion;
    ///
    /// let gate = ThresholdTest::at_least(0.85, 0.05)?;
    /// assert_eq!(gate.samples_more(Proportion::new(46, 50)?, 100_000), SamplesMore::Enough(18));
    /// let near = gate.samples_more(Proportion::new(85, 100)?, 100_000);
    /// assert_eq!(near, SamplesMore::NearThreshold { searched: 100_000 });
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    #[must_use]
    pub fn samples_more(self, observed: Proportion, more_max: u64) -> SamplesMore {
        let (gate, observed) = self.as_at_least(observed);
        let mut limits = Limits::new(gate, observed.trials());
        for more in 0..=more_max {
            if limits.verdict(expected_successes(observed, limits.trials)).is_decided() {
                return SamplesMore::Enough(more);
            }
            limits.step();
        }
        SamplesMore::NearThreshold { searched: more_max }
    }

    /// The fewest further samples after which the gate is settled with probability at least `chance`.
    ///
    /// The share is drawn from its posterior under the uniform prior, Beta(k + 1, n − k + 1), so the further
    /// successes follow the beta-binomial distribution. The probability is a saw-tooth in the number of
    /// samples; this is the first tooth that reaches `chance`. Searches up to `more_max`, at a cost proportional
    /// to it (100 000 in some hundredths of a second). Undefined for a chance outside (0, 1).
    ///
    /// To add samples after having looked is a second look: plan it, or use [`crate::eprocess`].
    ///
    /// ```
    /// use calipers_stats::threshold_test::{ThresholdTest, SamplesMore};
    /// use calipers_stats::proportion::Proportion;
    ///
    /// let gate = ThresholdTest::at_least(0.85, 0.05)?;
    /// let likely = gate.samples_more_for_chance(Proportion::new(46, 50)?, 0.5, 100_000)?;
    /// let nearly_sure = gate.samples_more_for_chance(Proportion::new(46, 50)?, 0.8, 100_000)?;
    /// assert!(matches!((likely, nearly_sure), (SamplesMore::Enough(a), SamplesMore::Enough(b)) if a < b));
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    pub fn samples_more_for_chance(
        self,
        observed: Proportion,
        chance: f64,
        more_max: u64,
    ) -> Result<SamplesMore, Undefined> {
        let chance = Undefined::check_open_unit(Quantity::Chance, chance)?;
        let (gate, observed) = self.as_at_least(observed);
        let mut forecast = Forecast::new(gate, observed);
        for more in 0..=more_max {
            if forecast.conclusive() >= chance * (1.0 - TIE) {
                return Ok(SamplesMore::Enough(more));
            }
            forecast.step();
        }
        Ok(SamplesMore::NearThreshold { searched: more_max })
    }

    /// The same gate as one that asks for "at least", of successes or else of failures.
    fn as_at_least(self, observed: Proportion) -> (Self, Proportion) {
        match self.direction {
            Direction::AtLeast => (self, observed),
            Direction::AtMost => (self.mirrored(), observed.mirrored()),
        }
    }
}

/// True when a p-value is at most α, ties included that rounding has split.
#[must_use]
pub fn is_within(p_value: f64, alpha: f64) -> bool {
    p_value <= alpha * (1.0 + TIE)
}

/// The share times `trials`, rounded half up, in whole numbers.
fn expected_successes(observed: Proportion, trials: u64) -> u64 {
    let (k, n) = (u128::from(observed.successes()), u128::from(observed.trials()));
    // At most `trials`, so it fits; the product of two 64-bit numbers and one bit more fits below.
    (k * u128::from(trials) / n + u128::from(k * u128::from(trials) % n >= n - n / 2)) as u64
}

/// The fewest successes in `trials` that rule out a share of `threshold` or less; one too many when none do.
pub(crate) fn critical_successes(trials: u64, threshold: f64, alpha: f64) -> u64 {
    smallest(trials.saturating_add(1), |k| k > trials || is_within(binomial_at_least(k, trials, threshold), alpha))
}

/// Successes among draws: independent with a known share, or with one drawn from a beta distribution.
///
/// Both are urns: the next draw succeeds with a probability that depends on the counts so far, from which
/// tails follow one draw at a time (Pólya's urn for the beta distribution).
#[derive(Clone, Copy, Debug)]
enum Urn {
    Binomial { p: f64 },
    BetaBinomial { a: f64, b: f64 },
}

impl Urn {
    fn pmf(self, k: u64, n: u64) -> f64 {
        match self {
            _ if k > n => 0.0,
            Self::Binomial { p } => binomial_pmf(k, n, p),
            Self::BetaBinomial { a, b } => {
                let (k, n) = (k as f64, n as f64);
                // C(n, k) = 1 / ((n + 1) B(k + 1, n − k + 1)).
                (ln_beta(a + k, b + n - k) - ln_beta(a, b) - ln_beta(k + 1.0, n - k + 1.0)).exp() / (n + 1.0)
            }
        }
    }

    /// The probability that the next draw succeeds after k successes in n draws.
    fn next(self, k: u64, n: u64) -> f64 {
        match self {
            Self::Binomial { p } => p,
            Self::BetaBinomial { a, b } => (a + k as f64) / (a + b + n as f64),
        }
    }
}

/// P(X ≥ `at_least`) in `draws` draws, kept up to date as either grows by one.
#[derive(Clone, Copy, Debug)]
struct UpperTail {
    urn: Urn,
    draws: u64,
    at_least: u64,
    probability: f64,
}

impl UpperTail {
    /// X_{n+1} ≥ c when X_n ≥ c, or when X_n = c − 1 and the next draw succeeds.
    fn draw(&mut self) {
        if let Some(short_by_one) = self.at_least.checked_sub(1) {
            let reached = self.urn.pmf(short_by_one, self.draws) * self.urn.next(short_by_one, self.draws);
            self.probability = (self.probability + reached).min(1.0);
        }
        self.draws = self.draws.saturating_add(1);
    }

    fn raise(&mut self) {
        self.probability = (self.probability - self.urn.pmf(self.at_least, self.draws)).max(0.0);
        self.at_least += 1;
    }
}

/// The critical number of successes against a threshold, as trials are added one by one.
///
/// It grows by at most one a trial, so a walk over n trials costs n evaluations of a probability, not n².
#[derive(Clone, Copy, Debug)]
pub(crate) struct CriticalWalk {
    tail: UpperTail,
    alpha: f64,
}

/// Rounding errors of the walk are forgotten every so many trials.
const WALK_RESET: u64 = 1024;

impl CriticalWalk {
    pub(crate) fn new(trials: u64, threshold: f64, alpha: f64) -> Self {
        let at_least = critical_successes(trials, threshold, alpha);
        let urn = Urn::Binomial { p: threshold };
        let tail =
            UpperTail { urn, draws: trials, at_least, probability: binomial_at_least(at_least, trials, threshold) };
        Self { tail, alpha }
    }

    /// The fewest successes that rule out the threshold; more than there are trials when none do.
    pub(crate) fn successes(&self) -> u64 {
        self.tail.at_least
    }

    /// Adds a trial; true when one more success is needed than before.
    pub(crate) fn step(&mut self) -> bool {
        let before = self.tail.at_least;
        if let (Urn::Binomial { p }, true) = (self.tail.urn, self.tail.draws.is_multiple_of(WALK_RESET)) {
            *self = Self::new(self.tail.draws.saturating_add(1), p, self.alpha);
        } else {
            self.tail.draw();
            if !is_within(self.tail.probability, self.alpha) {
                self.tail.raise();
            }
        }
        self.tail.at_least > before
    }
}

/// The power of a gate, as trials are added one by one: the chance that the critical number is reached.
pub(crate) struct PowerWalk {
    critical: CriticalWalk,
    power: UpperTail,
}

impl PowerWalk {
    pub(crate) fn new(trials: u64, threshold: f64, alpha: f64, share: f64) -> Self {
        let critical = CriticalWalk::new(trials, threshold, alpha);
        let at_least = critical.successes();
        let probability = binomial_at_least(at_least, trials, share);
        Self { critical, power: UpperTail { urn: Urn::Binomial { p: share }, draws: trials, at_least, probability } }
    }

    pub(crate) fn power(&self) -> f64 {
        self.power.probability
    }

    pub(crate) fn step(&mut self) {
        self.power.draw();
        if self.critical.step() {
            self.power.raise();
        }
        if let (Urn::Binomial { p }, true) = (self.power.urn, self.power.draws.is_multiple_of(WALK_RESET)) {
            self.power.probability = binomial_at_least(self.power.at_least, self.power.draws, p);
        }
    }
}

/// Both critical numbers of an "at least" gate: of successes to pass, of failures to fail.
struct Limits {
    trials: u64,
    pass: CriticalWalk,
    fail: CriticalWalk,
}

impl Limits {
    fn new(gate: ThresholdTest, trials: u64) -> Self {
        let pass = CriticalWalk::new(trials, gate.bad, gate.alpha);
        Self { trials, pass, fail: CriticalWalk::new(trials, 1.0 - gate.good, gate.alpha) }
    }

    fn verdict(&self, successes: u64) -> Verdict {
        let failures = self.trials - successes;
        Verdict::from_evidence(successes >= self.pass.successes(), failures >= self.fail.successes())
    }

    /// Adds a trial; which of the two critical numbers have grown.
    fn step(&mut self) -> (bool, bool) {
        self.trials = self.trials.saturating_add(1);
        (self.pass.step(), self.fail.step())
    }
}

/// The probabilities that further samples reach either critical number.
struct Forecast {
    limits: Limits,
    pass: UpperTail,
    fail: UpperTail,
    pass_in_hand: u64,
    fail_in_hand: u64,
}

impl Forecast {
    fn new(gate: ThresholdTest, observed: Proportion) -> Self {
        let limits = Limits::new(gate, observed.trials());
        let (a, b) = (observed.successes() as f64 + 1.0, observed.failures() as f64 + 1.0);
        let tail = |a, b, needed: u64, in_hand: u64| {
            let at_least = needed.saturating_sub(in_hand);
            let probability = if at_least == 0 { 1.0 } else { 0.0 };
            UpperTail { urn: Urn::BetaBinomial { a, b }, draws: 0, at_least, probability }
        };
        Self {
            pass: tail(a, b, limits.pass.successes(), observed.successes()),
            fail: tail(b, a, limits.fail.successes(), observed.failures()),
            pass_in_hand: observed.successes(),
            fail_in_hand: observed.failures(),
            limits,
        }
    }

    fn conclusive(&self) -> f64 {
        // With a zone of indifference both may be reached at once; one of them is then certain.
        (self.pass.probability + self.fail.probability).min(1.0)
    }

    fn step(&mut self) {
        let (pass_grew, fail_grew) = self.limits.step();
        self.pass.draw();
        self.fail.draw();
        if pass_grew && self.limits.pass.successes() > self.pass_in_hand {
            self.pass.raise();
        }
        if fail_grew && self.limits.fail.successes() > self.fail_in_hand {
            self.fail.raise();
        }
    }
}

impl Proportion {
    /// Failures in the place of successes.
    pub(crate) fn mirrored(self) -> Self {
        Self::new(self.failures(), self.trials()).unwrap_or(self)
    }
}

/// The values that are at most `limit`, as a share: what a gate on a quantile judges.
///
/// A value equal to the limit is within. An infinite value, as a time-out should be recorded, is beyond any
/// limit; NaN is neither, and undefined.
///
/// ```
/// use calipers_stats::threshold_test::within_limit;
///
/// let within = within_limit(&[1.0, 2.0, 3.0, f64::INFINITY], 2.0)?;
/// assert_eq!((within.successes(), within.trials()), (2, 4));
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn within_limit(values: &[f64], limit: f64) -> Result<Proportion, Undefined> {
    if let Some(&value) = values.iter().chain([&limit]).find(|value| value.is_nan()) {
        return Err(Undefined::NotFinite { value });
    }
    let within = values.iter().filter(|&&value| value <= limit).count();
    Proportion::new(within as u64, values.len() as u64)
}

/// Is the `quantile` of the values (0.95 for the 95th percentile) at most `limit`?
///
/// The same as: is the share of values within the limit at least `quantile`? Exact for every distribution, and
/// no quantile is estimated. [`ThresholdTest::samples_to_pass`] tells how many values it needs: 59 for a 95th
/// percentile at α = 0.05. Undefined without values, with a NaN among them, and outside (0, 1).
///
/// ```
/// use calipers_stats::threshold_test::{judge_quantile, Verdict};
///
/// let latency_ms = [120.0; 59];
/// assert_eq!(judge_quantile(&latency_ms, 0.95, 500.0, 0.05)?.verdict, Verdict::Pass);
/// assert_eq!(judge_quantile(&latency_ms[1..], 0.95, 500.0, 0.05)?.verdict, Verdict::Undecided);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn judge_quantile(values: &[f64], quantile: f64, limit: f64, alpha: f64) -> Result<TestEvidence, Undefined> {
    Ok(ThresholdTest::at_least(quantile, alpha)?.judge(within_limit(values, limit)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn share(successes: u64, trials: u64) -> Proportion {
        Proportion::new(successes, trials).unwrap()
    }

    fn gates() -> impl Strategy<Value = ThresholdTest> {
        (0.02..0.98f64, 0.0..0.1f64, 0.001..0.2f64, any::<bool>()).prop_map(|(threshold, zone, alpha, at_least)| {
            let other = (threshold - zone).max(0.01);
            let (good, bad) = if at_least { (threshold, other) } else { (other, threshold) };
            ThresholdTest::between(good, bad, alpha).unwrap()
        })
    }

    fn counts(trials_max: u64) -> impl Strategy<Value = Proportion> {
        (1..=trials_max).prop_flat_map(|n| (0..=n, Just(n))).prop_map(|(k, n)| share(k, n))
    }

    #[test]
    fn errors_stay_below_alpha_at_every_number_of_samples() {
        for threshold in [0.1, 0.5, 0.8, 0.9, 0.95] {
            for alpha in [0.01, 0.05, 0.2] {
                for gate in [
                    ThresholdTest::at_least(threshold, alpha).unwrap(),
                    ThresholdTest::at_most(threshold, alpha).unwrap(),
                ] {
                    for n in 1..=60 {
                        let chance = |verdict| -> f64 {
                            (0..=n)
                                .filter(|&k| gate.judge(share(k, n)).verdict == verdict)
                                .map(|k| binomial_pmf(k, n, threshold))
                                .sum()
                        };
                        // On the threshold itself, where both errors are at their largest.
                        assert!(chance(Verdict::Pass) <= alpha + 1e-12, "{gate:?} {n}");
                        assert!(chance(Verdict::Fail) <= alpha + 1e-12, "{gate:?} {n}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_zone_of_indifference_is_settled_by_a_finite_number_of_samples() {
        let gate = ThresholdTest::between(0.9, 0.8, 0.05).unwrap();
        assert!((0..=200).all(|k| gate.judge(share(k, 200)).verdict.is_decided()));
        let chance = |verdict, p| -> f64 {
            (0..=200).filter(|&k| gate.judge(share(k, 200)).verdict == verdict).map(|k| binomial_pmf(k, 200, p)).sum()
        };
        assert!(chance(Verdict::Pass, 0.8) <= 0.05 && chance(Verdict::Fail, 0.9) <= 0.05);
    }

    #[test]
    fn an_exact_tie_with_alpha_passes() {
        // P(X ≥ 5 | ½) = 1/32.
        assert_eq!(ThresholdTest::at_least(0.5, 0.03125).unwrap().judge(share(5, 5)).verdict, Verdict::Pass);
        assert_eq!(ThresholdTest::at_most(0.5, 0.03125).unwrap().judge(share(0, 5)).verdict, Verdict::Pass);
    }

    #[test]
    fn predictions_agree_with_the_plain_sum() {
        let gate = ThresholdTest::at_least(0.85, 0.05).unwrap();
        for observed in [share(46, 50), share(8, 10), share(30, 50), share(0, 3)] {
            let chance = |more: u64| -> f64 {
                let urn =
                    Urn::BetaBinomial { a: observed.successes() as f64 + 1.0, b: observed.failures() as f64 + 1.0 };
                (0..=more)
                    .filter(|x| {
                        gate.judge(share(observed.successes() + x, observed.trials() + more)).verdict.is_decided()
                    })
                    .map(|x| urn.pmf(x, more))
                    .sum()
            };
            for wanted in [0.5, 0.8] {
                let first = (0..).find(|&more| chance(more) >= wanted - 1e-12).unwrap();
                assert_eq!(gate.samples_more_for_chance(observed, wanted, 100_000), Ok(SamplesMore::Enough(first)));
            }
        }
    }

    #[test]
    fn a_hopeless_search_ends() {
        let gate = ThresholdTest::at_least(0.5, 0.05).unwrap();
        let searched = SamplesMore::NearThreshold { searched: 100_000 };
        assert_eq!(gate.samples_more(share(1, 2), 100_000), searched);
        let huge = share(u64::MAX / 2, u64::MAX);
        assert_eq!(gate.samples_more(huge, 10), SamplesMore::NearThreshold { searched: 10 });
        assert!(gate.samples_more_for_chance(huge, 0.5, 10).is_ok());
    }

    proptest! {
        #[test]
        fn a_verdict_is_the_same_by_p_value_and_by_bound(gate in gates(), observed in counts(300)) {
            let evidence = gate.judge(observed);
            let (lower, upper) = (Some(evidence.lower), Some(evidence.upper));
            // Ties apart, which rounding may split.
            let close = [evidence.lower - gate.bad, evidence.upper - gate.bad, evidence.lower - gate.good, evidence.upper - gate.good];
            prop_assume!(close.iter().all(|d| d.abs() > 1e-9));
            let passes = decide(lower, upper, gate.bad, gate.direction) == Verdict::Pass;
            let fails = decide(lower, upper, gate.good, gate.direction) == Verdict::Fail;
            prop_assert_eq!(Verdict::from_evidence(passes, fails), evidence.verdict);
        }

        #[test]
        fn asking_about_failures_gives_the_same_answer(gate in gates(), observed in counts(300)) {
            let (one, other) = (gate.judge(observed), gate.mirrored().judge(observed.mirrored()));
            prop_assert!((one.p_pass - other.p_pass).abs() < 1e-12 && (one.p_fail - other.p_fail).abs() < 1e-12);
        }

        #[test]
        fn the_samples_asked_for_settle_the_gate_and_fewer_do_not(gate in gates(), observed in counts(200)) {
            let judged = |more| {
                let trials = observed.trials() + more;
                let (gate, observed) = gate.as_at_least(observed);
                gate.judge(share(expected_successes(observed, trials), trials)).verdict.is_decided()
            };
            if let SamplesMore::Enough(more) = gate.samples_more(observed, 2000) {
                prop_assert!(judged(more));
                prop_assert!((0..more).all(|fewer| !judged(fewer)));
            }
        }

        #[test]
        fn walking_finds_the_critical_number_of_a_fresh_start(threshold in 0.01..0.99f64, alpha in 0.001..0.3f64, start in 1..2000u64) {
            let mut walk = CriticalWalk::new(start, threshold, alpha);
            for trials in start..start + 300 {
                prop_assert_eq!(walk.successes(), critical_successes(trials, threshold, alpha));
                walk.step();
            }
        }

        #[test]
        fn missing_samples_never_settle_what_the_scored_ones_leave_open(
            gate in gates(), successes in 0..60u64, failures in 1..60u64, missing in 1..30u64,
        ) {
            let worst = gate.judge_worst_case(ScoreCounts { successes, failures, missing }).unwrap();
            let scored = gate.judge(share(successes, successes + failures)).verdict;
            // A zone of indifference may turn "both" into either; what must not happen is the opposite verdict.
            prop_assert!(!(worst.verdict == Verdict::Fail && scored == Verdict::Pass) || gate.good != gate.bad);
        }
    }
}
