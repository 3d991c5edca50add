//! How many samples: power, sample sizes and detectable differences.
//!
//! To be asked before the money is spent. A "power" computed from the effect that was observed says nothing
//! that its p-value does not; compute the smallest detectable difference at the present size instead
//! ([`PairedDesign::detectable`]).

use crate::special::{binomial_at_least, binomial_pmf, noncentral_t_cdf, normal_quantile, smallest, t_quantile};
use crate::threshold_test::{Direction, PowerWalk, ThresholdTest, critical_successes};
use crate::{AllowedRange, Goal, Quantity, Undefined};

/// A test to be planned for: its error rate and its sides.
///
/// ```
/// use calipers_stats::power::Test;
///
/// assert_eq!(Test::two_sided(0.05)?.tail(), 0.025);
/// assert_eq!(Test::one_sided(0.05)?.tail(), 0.05);
/// assert!(Test::two_sided(5.0).is_err());
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    tail: f64,
    is_two_sided: bool,
}

impl Test {
    /// Looks for a difference either way, with an error of `alpha` in all.
    pub fn two_sided(alpha: f64) -> Result<Self, Undefined> {
        Ok(Self { tail: Undefined::check_open_unit(Quantity::Alpha, alpha)? / 2.0, is_two_sided: true })
    }

    /// Looks for a difference in the direction of the effect only, with an error of `alpha`.
    pub fn one_sided(alpha: f64) -> Result<Self, Undefined> {
        Ok(Self { tail: Undefined::check_open_unit(Quantity::Alpha, alpha)?, is_two_sided: false })
    }

    /// The error on each side that is looked at.
    #[must_use]
    pub fn tail(self) -> f64 {
        self.tail
    }

    /// z of the test plus z of the power: how many standard errors the effect must measure.
    fn standard_errors(self, power: f64) -> Result<f64, Undefined> {
        let power = Undefined::check_open_unit(Quantity::Power, power)?;
        if power <= self.tail {
            return Err(Undefined::OutOfRange {
                what: Quantity::Power,
                value: power,
                allowed: AllowedRange::AboveTestError,
            });
        }
        Ok(normal_quantile(power) - normal_quantile(self.tail))
    }
}

/// A difference worth finding, and the standard deviation of what it is the mean of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// The true mean difference; its sign does not matter.
    pub delta: f64,
    /// The standard deviation of the (paired) differences.
    pub sd: f64,
}

impl Effect {
    /// The size of the effect in standard deviations.
    fn effect_size(self) -> Result<f64, Undefined> {
        let sd = check_positive(Quantity::StandardDeviation, self.sd)?;
        Ok(check_difference(self.delta)? / sd)
    }
}

/// A number of samples: as the formula gives it, and rounded up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleSize {
    /// What solves the equation.
    pub real: f64,
    /// The smallest whole number that is enough.
    pub whole: u64,
}

impl SampleSize {
    fn from_real(real: f64) -> Result<Self, Undefined> {
        let real = Undefined::check_finite(real)?;
        // A whole number that rounding has lifted by a hair stays whole.
        Ok(Self { real, whole: ((real - 1e-9).ceil() as u64).max(1) })
    }
}

fn check_positive(what: Quantity, value: f64) -> Result<f64, Undefined> {
    if value > 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(Undefined::OutOfRange { what, value, allowed: AllowedRange::PositiveFinite })
    }
}

fn check_difference(delta: f64) -> Result<f64, Undefined> {
    if delta == 0.0 {
        return Err(Undefined::Unattainable { goal: Goal::PowerAtZero });
    }
    Ok(Undefined::check_finite(delta)?.abs())
}

/// The number of pairs that finds an effect with the given power, by the normal approximation.
///
/// n = ((z_{1 − α/2} + z_power) sd / δ)². From about fifty on; below, see [`paired_t_sample_size`]. Undefined for a
/// difference of zero, a standard deviation that is not positive and a power outside (α, 1).
///
/// ```
/// use calipers_stats::power::{sample_size_z, Effect, Test};
///
/// let size = sample_size_z(Effect { delta: 0.03, sd: 0.45 }, Test::two_sided(0.05)?, 0.8)?;
/// assert_eq!(size.whole, 1766);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn sample_size_z(effect: Effect, test: Test, power: f64) -> Result<SampleSize, Undefined> {
    SampleSize::from_real((test.standard_errors(power)? / effect.effect_size()?).powi(2))
}

/// What makes the mean difference of two runs on the same samples vary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variances {
    /// Of the true difference from sample to sample, ω² = Var(μ_A − μ_B).
    pub between: f64,
    /// Of the attempts at one sample in the first run, the mean of σ²_A.
    pub within_a: f64,
    /// Of the attempts at one sample in the second run, the mean of σ²_B.
    pub within_b: f64,
}

/// The attempts at each sample in two runs, at least one each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EpochDesign {
    /// In the first run.
    pub a: u64,
    /// In the second run.
    pub b: u64,
}

/// A comparison of two runs on the same samples, with one or more attempts at each.
///
/// Miller 2024 (arXiv 2411.00640), section 5: the variance of one sample's difference is
/// ω² + σ²_A/K_A + σ²_B/K_B.
///
/// ```
/// use calipers_stats::power::{EpochDesign, PairedDesign, Test, Variances};
///
/// let variances = Variances { between: 1.0 / 9.0, within_a: 0.1667, within_b: 0.1667 };
/// let test = Test::two_sided(0.05)?;
/// let once = PairedDesign::new(variances, EpochDesign { a: 1, b: 1 })?;
/// let ten_times = PairedDesign::new(variances, EpochDesign { a: 10, b: 10 })?;
/// assert_eq!(once.sample_size(0.03, test, 0.8)?.whole, 3877);
/// assert_eq!(ten_times.sample_size(0.03, test, 0.8)?.whole, 1260);
/// assert!((once.detectable(198, test, 0.8)? - 0.1327).abs() < 1e-4);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedDesign {
    variance: f64,
}

impl PairedDesign {
    /// Undefined for negative variances, for a sum of zero and without attempts.
    pub fn new(variances: Variances, epochs: EpochDesign) -> Result<Self, Undefined> {
        let Variances { between, within_a, within_b } = variances;
        for value in [between, within_a, within_b] {
            if value.is_nan() || value < 0.0 {
                return Err(Undefined::OutOfRange {
                    what: Quantity::Variance,
                    value,
                    allowed: AllowedRange::NotNegative,
                });
            }
        }
        if epochs.a.min(epochs.b) == 0 {
            return Err(Undefined::TooFew { what: Quantity::Attempts, need: 1, have: 0 });
        }
        let variance = between + within_a / epochs.a as f64 + within_b / epochs.b as f64;
        Ok(Self { variance: check_positive(Quantity::DifferenceVariance, variance)? })
    }

    /// The variance of one sample's difference.
    #[must_use]
    pub fn variance(self) -> f64 {
        self.variance
    }

    /// The number of samples that finds a mean difference of `delta` with the given power.
    pub fn sample_size(self, delta: f64, test: Test, power: f64) -> Result<SampleSize, Undefined> {
        sample_size_z(Effect { delta, sd: self.variance.sqrt() }, test, power)
    }

    /// The smallest mean difference that `samples` samples find with the given power (MDE).
    pub fn detectable(self, samples: u64, test: Test, power: f64) -> Result<f64, Undefined> {
        if samples == 0 {
            return Err(Undefined::Empty);
        }
        Ok(test.standard_errors(power)? * (self.variance / samples as f64).sqrt())
    }
}

/// The power of the paired t test with `samples` pairs, by the noncentral t distribution.
///
/// Exact for normal differences. Undefined below two pairs, for a difference of zero and for a standard
/// deviation that is not positive.
///
/// ```
/// use calipers_stats::power::{paired_t_power, Effect, Test};
///
/// let power = paired_t_power(40, Effect { delta: 0.1, sd: 0.35 }, Test::two_sided(0.05)?)?;
/// assert!((power - 0.4218304138).abs() < 1e-9);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn paired_t_power(samples: u64, effect: Effect, test: Test) -> Result<f64, Undefined> {
    if samples < 2 {
        return Err(Undefined::TooFew { what: Quantity::Pairs, need: 2, have: samples });
    }
    Ok(t_power(samples as f64 - 1.0, effect.effect_size()? * (samples as f64).sqrt(), test))
}

/// The probability that t with `df` degrees of freedom and this noncentrality, above 0, is significant.
fn t_power(df: f64, noncentrality: f64, test: Test) -> f64 {
    let critical = -t_quantile(test.tail, df);
    let found = noncentral_t_cdf(-critical, df, -noncentrality);
    if test.is_two_sided { found + noncentral_t_cdf(-critical, df, noncentrality) } else { found }
}

/// The most samples that a search considers.
const SAMPLES_MAX: u64 = 1 << 48;

/// The smallest number from `from` on that reaches a power which grows with it.
fn smallest_with_power(from: u64, power: f64, at: impl Fn(u64) -> f64) -> Result<u64, Undefined> {
    let power = Undefined::check_open_unit(Quantity::Power, power)?;
    let found = smallest(SAMPLES_MAX, |samples| samples >= from && at(samples) >= power);
    if found < SAMPLES_MAX { Ok(found) } else { Err(Undefined::Unattainable { goal: Goal::Power }) }
}

/// The smallest number of pairs with which the paired t test has the given power.
///
/// ```
/// use calipers_stats::power::{paired_t_sample_size, Effect, Test};
///
/// let pairs = paired_t_sample_size(Effect { delta: 0.1, sd: 0.35 }, Test::two_sided(0.05)?, 0.8)?;
/// assert_eq!(pairs, 99);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn paired_t_sample_size(effect: Effect, test: Test, power: f64) -> Result<u64, Undefined> {
    let size = effect.effect_size()?;
    smallest_with_power(2, power, |pairs| t_power(pairs as f64 - 1.0, size * (pairs as f64).sqrt(), test))
}

/// Two runs that pass or fail the same samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disagreement {
    /// The share of samples on which they disagree.
    pub share: f64,
    /// The difference of their pass rates; its sign does not matter.
    pub delta: f64,
}

impl Disagreement {
    /// The probability that a disagreement speaks for the better run.
    fn for_better(self) -> Result<f64, Undefined> {
        let delta = check_difference(self.delta)?;
        if !(delta..=1.0).contains(&self.share) {
            let (value, allowed) = (self.share, AllowedRange::UnitInterval);
            return Err(Undefined::OutOfRange { what: Quantity::Share, value, allowed });
        }
        Ok(0.5 + 0.5 * delta / self.share)
    }
}

/// The power of McNemar's exact test with `pairs` pairs, to find the difference on the side where it is.
///
/// The number of disagreements varies from run to run, and the power is averaged over it. Undefined without pairs, for a
/// difference of zero, and for runs that disagree on fewer samples than the difference takes.
///
/// ```
/// use calipers_stats::power::{mcnemar_power, Disagreement, Test};
///
/// let power = mcnemar_power(500, Disagreement { share: 0.15, delta: 0.05 }, Test::two_sided(0.05)?)?;
/// assert!((0.80..0.81).contains(&power));
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn mcnemar_power(pairs: u64, runs: Disagreement, test: Test) -> Result<f64, Undefined> {
    if pairs == 0 {
        return Err(Undefined::Empty);
    }
    let for_better = runs.for_better()?;
    // Beyond eight standard deviations no number of disagreements matters.
    let (mean, sd) = (pairs as f64 * runs.share, (pairs as f64 * runs.share * (1.0 - runs.share)).sqrt());
    let (from, to) = ((mean - 8.0 * sd - 1.0).max(0.0) as u64, ((mean + 8.0 * sd + 1.0) as u64).min(pairs));
    let mut critical = critical_successes(from, 0.5, test.tail);
    let mut power = 0.0;
    for disagreements in from..=to {
        // One more disagreement raises the number that is significant by one at the most.
        while critical > 0 && is_significant(critical - 1, disagreements, test) {
            critical -= 1;
        }
        while critical <= disagreements && !is_significant(critical, disagreements, test) {
            critical += 1;
        }
        if critical <= disagreements {
            let found = binomial_at_least(critical, disagreements, for_better);
            power += binomial_pmf(disagreements, pairs, runs.share) * found;
        } else {
            critical = disagreements + 1;
        }
    }
    Ok(power.min(1.0))
}

/// True when so many of the disagreements speak for one run that chance is ruled out.
fn is_significant(for_one: u64, disagreements: u64, test: Test) -> bool {
    for_one <= disagreements && binomial_at_least(for_one, disagreements, 0.5) <= test.tail * (1.0 + 1e-12)
}

/// The smallest number of pairs with which McNemar's exact test has the given power.
///
/// ```
/// use calipers_stats::power::{mcnemar_sample_size, Disagreement, Test};
///
/// let pairs = mcnemar_sample_size(Disagreement { share: 0.15, delta: 0.05 }, Test::two_sided(0.05)?, 0.8)?;
/// assert_eq!(pairs, 498);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn mcnemar_sample_size(runs: Disagreement, test: Test, power: f64) -> Result<u64, Undefined> {
    runs.for_better()?;
    let power = Undefined::check_open_unit(Quantity::Power, power)?;
    let at = |pairs: u64| mcnemar_power(pairs.max(1), runs, test).unwrap_or(0.0);
    // The cost grows with the number of pairs, so the search goes up from below.
    let mut high = 16;
    while at(high) < power {
        high *= 2;
        if high > MCNEMAR_PAIRS_MAX {
            return Err(Undefined::Unattainable { goal: Goal::Power });
        }
    }
    Ok(smallest(high, |pairs| at(pairs) >= power))
}

/// The smallest difference that McNemar's exact test finds in `pairs` pairs with the given power, if runs disagree on this share of
/// the samples, or on just the difference if that is more.
pub fn mcnemar_detectable(pairs: u64, share: f64, test: Test, power: f64) -> Result<f64, Undefined> {
    let power = Undefined::check_open_unit(Quantity::Power, power)?;
    let at = |delta: f64| mcnemar_power(pairs, Disagreement { share: share.max(delta), delta }, test);
    if at(1.0)? < power {
        return Err(Undefined::Unattainable { goal: Goal::Power });
    }
    let (mut low, mut high) = (0.0, 1.0);
    while high - low > 1e-6 {
        let middle = f64::midpoint(low, high);
        (low, high) = if at(middle)? < power { (middle, high) } else { (low, middle) };
    }
    Ok(high)
}

/// The most pairs that an exact search considers.
const MCNEMAR_PAIRS_MAX: u64 = 1 << 24;

/// The number of samples in each of two independent groups that tells their shares apart.
///
/// The normal approximation with the pooled variance under no difference (Fleiss, Levin & Paik 2003, eq. 4.14
/// before the continuity correction; R's `power.prop.test`). Undefined for shares that are equal or outside
/// [0, 1].
///
/// ```
/// use calipers_stats::power::{two_proportions_sample_size, Test};
///
/// assert_eq!(two_proportions_sample_size(0.7, 0.75, Test::two_sided(0.05)?, 0.8)?.whole, 1251);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn two_proportions_sample_size(p1: f64, p2: f64, test: Test, power: f64) -> Result<SampleSize, Undefined> {
    for value in [p1, p2] {
        if !(0.0..=1.0).contains(&value) {
            return Err(Undefined::OutOfRange { what: Quantity::Share, value, allowed: AllowedRange::UnitInterval });
        }
    }
    let difference = check_difference(p1 - p2)?;
    test.standard_errors(power)?;
    let pooled = (p1 + p2) / 2.0;
    let null = (2.0 * pooled * (1.0 - pooled)).sqrt();
    let apart = (p1 * (1.0 - p1) + p2 * (1.0 - p2)).sqrt();
    let reach = normal_quantile(power) * apart - normal_quantile(test.tail) * null;
    SampleSize::from_real((reach / difference).powi(2))
}

/// How often a gate passes a share that deserves it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GatePower {
    /// The fewest successes that pass (for "at most": the most). None when not even a perfect score does.
    pub critical_successes: Option<u64>,
    /// The probability of passing; 0 when nothing passes.
    pub power: f64,
}

/// The power of a gate at a given true share, by the exact binomial distribution.
///
/// Undefined without samples and for a share outside [0, 1].
///
/// ```
/// use calipers_stats::{threshold_test::ThresholdTest, power::gate_power};
///
/// let power = gate_power(ThresholdTest::at_least(0.8, 0.05)?, 0.9, 100)?;
/// assert_eq!(power.critical_successes, Some(87));
/// assert!((power.power - 0.8761232074).abs() < 1e-10);
/// assert_eq!(gate_power(ThresholdTest::at_least(0.95, 0.05)?, 0.99, 20)?.critical_successes, None);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn gate_power(gate: ThresholdTest, true_share: f64, samples: u64) -> Result<GatePower, Undefined> {
    let share = gate_share(gate, true_share)?;
    if samples == 0 {
        return Err(Undefined::Empty);
    }
    let critical = critical_successes(samples, gate.pass_threshold(), gate.alpha());
    if critical > samples {
        return Ok(GatePower { critical_successes: None, power: 0.0 });
    }
    let successes = if gate.direction() == Direction::AtLeast { critical } else { samples - critical };
    Ok(GatePower { critical_successes: Some(successes), power: binomial_at_least(critical, samples, share) })
}

/// The true share as the gate counts: of successes, or of failures when it asks for "at most".
fn gate_share(gate: ThresholdTest, true_share: f64) -> Result<f64, Undefined> {
    if !(0.0..=1.0).contains(&true_share) {
        return Err(Undefined::OutOfRange {
            what: Quantity::TrueShare,
            value: true_share,
            allowed: AllowedRange::UnitInterval,
        });
    }
    Ok(if gate.direction() == Direction::AtLeast { true_share } else { 1.0 - true_share })
}

/// The numbers of samples between which a gate's power rises past a target: it is a saw-tooth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GateSampleSize {
    /// The first number of samples with enough power; one more may have less.
    pub first: u64,
    /// The number from which the power stays, up to the largest number searched. None if it last fell short there.
    pub stable: Option<u64>,
}

/// The number of samples with which a gate passes a given true share with the given power.
///
/// By the exact binomial distribution, for every number of samples up to `samples_max`, at a cost proportional
/// to it. Undefined for a share or power out of range, and unattainable when no number up to `samples_max` does,
/// as when the true share is no better than the threshold.
///
/// ```
/// use calipers_stats::{threshold_test::ThresholdTest, power::gate_sample_size};
///
/// let size = gate_sample_size(ThresholdTest::at_least(0.8, 0.05)?, 0.9, 0.8, 10_000)?;
/// assert_eq!((size.first, size.stable), (82, Some(94)));
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn gate_sample_size(
    gate: ThresholdTest,
    true_share: f64,
    power: f64,
    samples_max: u64,
) -> Result<GateSampleSize, Undefined> {
    let power = Undefined::check_open_unit(Quantity::Power, power)?;
    let mut walk = PowerWalk::new(1, gate.pass_threshold(), gate.alpha(), gate_share(gate, true_share)?);
    let (mut first, mut short) = (None, 0);
    for samples in 1..=samples_max {
        if walk.power() < power * (1.0 - 1e-12) {
            short = samples;
        } else if first.is_none() {
            first = Some(samples);
        }
        walk.step();
    }
    let first = first.ok_or(Undefined::Unattainable { goal: Goal::PowerWithinLimit })?;
    Ok(GateSampleSize { first, stable: (short < samples_max).then_some(short + 1) })
}

/// By how much clusters inflate the variance of a mean: 1 + (m − 1) ρ (Kish 1965).
///
/// `size` is the mean number of samples in a cluster, at least 1, and `icc` the correlation within one. A negative
/// correlation below −1/(m − 1) cannot be, and is undefined.
///
/// ```
/// use calipers_stats::power::design_effect;
///
/// assert_eq!(design_effect(0.25, 5.0), Ok(2.0));
/// ```
pub fn design_effect(icc: f64, size: f64) -> Result<f64, Undefined> {
    if !(-1.0..=1.0).contains(&icc) {
        return Err(Undefined::OutOfRange {
            what: Quantity::Correlation,
            value: icc,
            allowed: AllowedRange::MinusOneToOne,
        });
    }
    if size.is_nan() || size < 1.0 {
        return Err(Undefined::OutOfRange {
            what: Quantity::ClusterSize,
            value: size,
            allowed: AllowedRange::AtLeastOne,
        });
    }
    check_positive(Quantity::DesignEffect, 1.0 + (size - 1.0) * icc)
}

/// Samples that come in clusters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClusterDesign {
    /// The mean number of samples in a cluster.
    pub size: f64,
    /// By how much the variance is inflated; see [`design_effect`].
    pub design_effect: f64,
}

/// The number of clusters with which a clustered comparison has the given power.
///
/// The variance is multiplied by the design effect and t has one degree of freedom less than clusters, which
/// matters: ten clusters of fifty are not five hundred samples. At least two clusters.
///
/// ```
/// use calipers_stats::power::{clusters_needed, paired_t_sample_size, ClusterDesign, Effect, Test};
///
/// let (effect, test) = (Effect { delta: 0.1, sd: 0.35 }, Test::two_sided(0.05)?);
/// let alone = ClusterDesign { size: 1.0, design_effect: 1.0 };
/// assert_eq!(clusters_needed(effect, alone, test, 0.8), paired_t_sample_size(effect, test, 0.8));
/// let repositories = ClusterDesign { size: 10.0, design_effect: 2.0 };
/// assert_eq!(clusters_needed(effect, repositories, test, 0.8)?, 22);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn clusters_needed(effect: Effect, clusters: ClusterDesign, test: Test, power: f64) -> Result<u64, Undefined> {
    let size = check_positive(Quantity::ClusterSize, clusters.size)?;
    let inflation = check_positive(Quantity::DesignEffect, clusters.design_effect)?;
    let each = effect.effect_size()? * (size / inflation).sqrt();
    smallest_with_power(2, power, |count| t_power(count as f64 - 1.0, each * (count as f64).sqrt(), test))
}

/// Variance between samples, and between attempts at the same sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedVariances {
    /// Of the samples' true means.
    pub between: f64,
    /// Of the attempts at one sample, on average.
    pub within: f64,
}

/// What a sample costs before its first attempt, and what each attempt costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// To write, label or set up a sample.
    pub sample: f64,
    /// To run and score one attempt.
    pub attempt: f64,
}

/// The number of attempts at each sample that buys the smallest error for the money.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OptimalAttempts {
    /// K* = √((within / between) · (cost of a sample / cost of an attempt)); may be below 1.
    pub real: f64,
    /// The better of the two whole numbers around it, at least 1.
    pub whole: u64,
}

/// The cost-optimal number of attempts: beyond it, buy samples.
///
/// Minimises (between + within/K)(c_sample + K c_attempt), the variance at a fixed budget. Undefined for costs
/// that are not positive and negative variances; without variance between samples, attempts are always the
/// better buy and no number is optimal.
///
/// ```
/// use calipers_stats::power::{optimal_attempts, PlannedVariances, Costs};
///
/// let components = PlannedVariances { between: 0.157, within: 0.083 };
/// let optimal = optimal_attempts(components, Costs { sample: 10.0, attempt: 1.0 })?;
/// assert_eq!(optimal.whole, 2);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn optimal_attempts(components: PlannedVariances, costs: Costs) -> Result<OptimalAttempts, Undefined> {
    let PlannedVariances { between, within } = components;
    for value in [between, within] {
        if value.is_nan() || value < 0.0 || value.is_infinite() {
            return Err(Undefined::OutOfRange {
                what: Quantity::Variance,
                value,
                allowed: AllowedRange::NotNegativeFinite,
            });
        }
    }
    let (sample, attempt) =
        (check_positive(Quantity::SampleCost, costs.sample)?, check_positive(Quantity::AttemptCost, costs.attempt)?);
    if between == 0.0 {
        return Err(Undefined::NoSpread { what: Quantity::SampleMeans });
    }
    let real = Undefined::check_finite(((within / between) * (sample / attempt)).sqrt())?;
    let price = |attempts: f64| (between + within / attempts) * (sample + attempts * attempt);
    let (below, above) = (real.floor().max(1.0), real.ceil().max(1.0));
    let whole = if price(above) < price(below) { above } else { below };
    Ok(OptimalAttempts { real, whole: whole as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_smallest_size_is_enough_and_one_less_is_not(
            delta in 0.02..2.0f64, alpha in 0.001..0.2f64, power in 0.3..0.99f64, two_sided in any::<bool>(),
        ) {
            let test = if two_sided { Test::two_sided(alpha) } else { Test::one_sided(alpha) }.unwrap();
            let effect = Effect { delta, sd: 0.5 };
            let pairs = paired_t_sample_size(effect, test, power).unwrap();
            prop_assert!(paired_t_power(pairs, effect, test).unwrap() >= power);
            prop_assert!(pairs == 2 || paired_t_power(pairs - 1, effect, test).unwrap() < power);
            // t needs more pairs than z. Not so two-sided, where z leaves out the finds in the wrong direction.
            let z = sample_size_z(effect, test, power).unwrap().whole;
            prop_assert!(two_sided || pairs >= z, "{pairs} {z}");
        }

        #[test]
        fn the_detectable_difference_needs_just_these_samples(
            between in 0.01..0.3f64, within in 0.0..0.3f64, samples in 10..100_000u64, power in 0.3..0.99f64,
        ) {
            let variances = Variances { between, within_a: within, within_b: within };
            let design = PairedDesign::new(variances, EpochDesign { a: 3, b: 2 }).unwrap();
            let test = Test::two_sided(0.05).unwrap();
            let delta = design.detectable(samples, test, power).unwrap();
            prop_assert!((design.sample_size(delta, test, power).unwrap().real / samples as f64 - 1.0).abs() < 1e-9);
        }

        #[test]
        fn gate_sizes_agree_with_the_power_at_each_size(threshold in 0.3..0.95f64, gain in 0.2..0.8f64, power in 0.5..0.95f64) {
            let share = threshold + gain * (1.0 - threshold);
            let gate = ThresholdTest::at_least(threshold, 0.05).unwrap();
            let Ok(size) = gate_sample_size(gate, share, power, 1500) else { return Ok(()) };
            let at = |samples| gate_power(gate, share, samples).unwrap().power;
            prop_assert!((1..size.first).all(|samples| at(samples) < power));
            prop_assert!(at(size.first) >= power - 1e-11);
            if let Some(stable) = size.stable {
                prop_assert!((stable..=1500).step_by(7).all(|samples| at(samples) >= power - 1e-11));
                prop_assert!(stable == size.first || at(stable - 1) < power);
            }
            // Counting failures instead asks the same question.
            let mirrored = ThresholdTest::at_most(1.0 - threshold, 0.05).unwrap();
            prop_assert!((gate_power(mirrored, 1.0 - share, 200).unwrap().power - at(200)).abs() < 1e-9);
        }
    }

    #[test]
    fn sizes_that_cannot_be_are_undefined() {
        let test = Test::two_sided(0.05).unwrap();
        let nothing = Effect { delta: 0.0, sd: 1.0 };
        assert!(matches!(sample_size_z(nothing, test, 0.8), Err(Undefined::Unattainable { .. })));
        assert!(sample_size_z(Effect { delta: f64::NAN, sd: 1.0 }, test, 0.8).is_err());
        assert!(sample_size_z(Effect { delta: 0.1, sd: 0.0 }, test, 0.8).is_err());
        assert!(sample_size_z(Effect { delta: 0.1, sd: 1.0 }, test, 0.01).is_err());
        assert!(paired_t_sample_size(Effect { delta: 1e-300, sd: 1.0 }, test, 0.8).is_err());
        assert!(two_proportions_sample_size(0.5, 0.5, test, 0.8).is_err());
        let gate = ThresholdTest::at_least(0.8, 0.05).unwrap();
        assert!(matches!(gate_sample_size(gate, 0.8, 0.8, 5000), Err(Undefined::Unattainable { .. })));
        let no_between = PlannedVariances { between: 0.0, within: 0.1 };
        assert!(optimal_attempts(no_between, Costs { sample: 1.0, attempt: 1.0 }).is_err());
    }

    #[test]
    fn rounded_attempts_are_the_cheapest() {
        for (within, sample) in [(0.01, 1.0), (0.083, 10.0), (0.2, 30.0), (0.25, 100.0)] {
            let best = optimal_attempts(PlannedVariances { between: 0.1, within }, Costs { sample, attempt: 1.0 })
                .unwrap()
                .whole;
            let price = |k: u64| (0.1 + within / k as f64) * (sample + k as f64);
            assert!((1..200).all(|k| price(best) <= price(k) + 1e-12));
        }
    }
}
