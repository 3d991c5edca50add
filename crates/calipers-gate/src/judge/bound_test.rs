//! One-sided bounds of a figure beside its threshold, made from what the figure rests on.

use super::measurement::worth;
use crate::policy::{Comparison, Rule};
use crate::{QuantileShare, Unbounded};
use calipers_core::Verdict;
use calipers_stats::cluster::{ClusterEstimate, estimate_clustered};
use calipers_stats::proportion::Proportion;
use calipers_stats::ratio::ratio_of_sums;
use calipers_stats::threshold_test::{Direction, SamplesMore, ThresholdTest};
use calipers_stats::weighted::{Linearisation, WeightedMean, weighted_mean};
use calipers_stats::{Confidence, Moments};

/// Beyond this many further samples, a number of them is no help.
const MORE_MAX: u64 = 10_000;

/// What a bound is made from.
pub(super) enum Basis {
    Exact(Proportion),
    Graded(Moments),
    Weighted(WeightedMean),
    Linear(Linearisation),
    Clustered(ClusterEstimate),
}

/// A basis with the threshold that its bounds are compared with.
pub(super) struct BoundTest {
    pub(super) basis: Basis,
    pub(super) threshold: f64,
    /// True when large is good.
    pub(super) up: bool,
    /// True when the basis is the share of values within a limit.
    pub(super) is_quantile: bool,
}

impl BoundTest {
    fn exact_test(&self, alpha: f64) -> Option<ThresholdTest> {
        if self.up {
            ThresholdTest::at_least(self.threshold, alpha).ok()
        } else {
            ThresholdTest::at_most(self.threshold, alpha).ok()
        }
    }

    /// True when the data rule out the wrong side of the threshold, with errors of at most α.
    pub(super) fn passes(&self, alpha: f64) -> bool {
        if let (Basis::Exact(share), Some(test)) = (&self.basis, self.exact_test(alpha)) {
            return test.judge(*share).verdict == Verdict::Pass;
        }
        let (lower, upper) = self.bounds(alpha);
        if self.up { lower.is_some_and(|x| x >= self.threshold) } else { upper.is_some_and(|x| x <= self.threshold) }
    }

    /// For a quantile, the share of attempts that it asks for.
    pub(super) fn quantile_share(&self) -> Option<QuantileShare> {
        let direction = if self.up { Direction::AtLeast } else { Direction::AtMost };
        self.is_quantile.then_some(QuantileShare { share: self.threshold, direction })
    }

    /// The one-sided bounds at 1 − α each.
    pub(super) fn bounds(&self, alpha: f64) -> (Option<f64>, Option<f64>) {
        let Ok(confidence) = Confidence::two_sided(1.0 - 2.0 * alpha) else { return (None, None) };
        let interval = match &self.basis {
            Basis::Exact(share) => Some(share.clopper_pearson(confidence)),
            Basis::Graded(moments) if moments.is_unit() => moments.unit_interval(confidence).ok(),
            // Scores that are all alike say nothing of how far others may lie.
            Basis::Graded(moments) if moments.is_constant() => None,
            Basis::Graded(moments) => moments.t_interval(confidence).ok(),
            Basis::Weighted(weighted) => weighted.unit_interval(confidence).ok(),
            Basis::Linear(linear) if linear.stderr == Ok(0.0) => None,
            Basis::Linear(linear) => linear.interval(confidence).ok(),
            Basis::Clustered(estimate) => estimate.interval(confidence).ok(),
        };
        interval.map_or((None, None), |interval| (interval.lower, interval.upper))
    }

    /// How probable data this bad are on the threshold.
    pub(super) fn p_fail(&self) -> f64 {
        const ALPHA: f64 = 0.05;
        if let (Basis::Exact(share), Some(test)) = (&self.basis, self.exact_test(ALPHA)) {
            return test.judge(*share).p_fail;
        }
        let fails = |alpha: f64| {
            let (lower, upper) = self.bounds(alpha);
            if self.up {
                upper.is_some_and(|x| x <= self.threshold)
            } else {
                lower.is_some_and(|x| x >= self.threshold)
            }
        };
        smallest_alpha(fails)
    }

    /// The number of samples, and how many are needed, if even a perfect score could not pass.
    pub(super) fn cannot_pass(&self, alpha: f64) -> Option<(u64, u64)> {
        let Basis::Exact(share) = &self.basis else { return None };
        let needs = self.exact_test(alpha)?.samples_to_pass().ok()?;
        let perfect = if self.up { share.failures() == 0 } else { share.successes() == 0 };
        (perfect && share.trials() < needs).then_some((share.trials(), needs))
    }

    /// About how many more samples would decide if things stayed as they are.
    pub(super) fn more(&self, alpha: f64) -> Option<u64> {
        if let (Basis::Exact(share), Some(test)) = (&self.basis, self.exact_test(alpha)) {
            return match test.samples_more(*share, MORE_MAX) {
                SamplesMore::Enough(more) => Some(more),
                SamplesMore::NearThreshold { .. } => None,
            };
        }
        let (estimate, n) = match &self.basis {
            Basis::Exact(_) => return None,
            Basis::Graded(moments) => (moments.mean().ok()?, moments.count()),
            Basis::Weighted(weighted) => (weighted.mean.estimate, weighted.mean.units),
            Basis::Linear(linear) => (linear.estimate, linear.units),
            Basis::Clustered(clusters) => (clusters.mean, clusters.clusters),
        };
        let (lower, upper) = self.bounds(alpha);
        // The bound that has to move: towards the estimate, with the square root of the number of samples.
        let bound = if (estimate >= self.threshold) == self.up {
            if self.up { lower } else { upper }
        } else if self.up {
            upper
        } else {
            lower
        };
        let factor = (bound? - estimate) / (self.threshold - estimate);
        let needed = (n as f64 * factor * factor).ceil();
        (needed.is_finite() && needed - n as f64 <= MORE_MAX as f64).then(|| (needed as u64).saturating_sub(n).max(1))
    }

    /// The bound on the worse or on the better side.
    pub(super) fn bound(&self, alpha: f64, is_worst: bool) -> Option<f64> {
        let (lower, upper) = self.bounds(alpha);
        if self.up == is_worst { lower } else { upper }
    }
}

/// The smallest α at which something holds that holds for all larger ones; 1 if it does not hold at a half.
fn smallest_alpha(holds: impl Fn(f64) -> bool) -> f64 {
    const STEPS: usize = 30;
    let (mut low, mut high) = (0.0f64, 0.499);
    if !holds(high) {
        return 1.0;
    }
    for _ in 0..STEPS {
        let middle = if low == 0.0 { high / 4.0 } else { (low * high).sqrt() };
        if middle < 1e-9 {
            break;
        }
        if holds(middle) { high = middle } else { low = middle }
    }
    high
}

/// Values and their samples, with a value for each that is missing.
pub(super) fn fill_in(
    values: &[f64],
    samples: &[u32],
    missing: &[u32],
    fill: Option<f64>,
) -> Result<(Vec<f64>, Vec<u32>), Unbounded> {
    let (mut values, mut samples) = (values.to_vec(), samples.to_vec());
    if let Some(fill) = fill.filter(|_| !missing.is_empty()) {
        if !values.iter().all(|x| (0.0..=1.0).contains(x)) {
            return Err(Unbounded::UnscoredWithoutLimit { samples: missing.len() as u64 });
        }
        values.extend(missing.iter().map(|_| fill));
        samples.extend(missing);
    }
    if values.is_empty() { Err(Unbounded::NoValues) } else { Ok((values, samples)) }
}

/// `down` says to which side successes are rounded where weighted samples are worth no whole number of them.
pub(super) fn mean_basis(
    values: &[f64],
    samples: &[u32],
    weights: Option<&[f64]>,
    down: bool,
) -> Result<Basis, Unbounded> {
    let moments = Moments::from_slice(values);
    let weights: Vec<f64> = weights.map_or_else(Vec::new, |all| samples.iter().map(|&s| all[s as usize]).collect());
    if weights.windows(2).all(|pair| pair[0] == pair[1]) {
        let is_binary = moments.is_binary();
        return if is_binary { exact(moments.sum() as u64, moments.count()) } else { Ok(Basis::Graded(moments)) };
    }
    let weighted = weighted_mean(values, &weights, None).map_err(Unbounded::Statistic)?;
    if moments.is_binary() {
        // An exact test of as many equal samples as these are worth.
        let worth = worth(&weighted) as f64;
        let successes = weighted.mean.estimate * worth;
        let successes = if down { (successes + 1e-9).floor() } else { (successes - 1e-9).ceil() };
        return exact(successes.clamp(0.0, worth) as u64, worth as u64);
    }
    Ok(if moments.is_unit() { Basis::Weighted(weighted) } else { Basis::Linear(weighted.mean) })
}

fn exact(successes: u64, trials: u64) -> Result<Basis, Unbounded> {
    Proportion::new(successes, trials).map(Basis::Exact).map_err(Unbounded::Statistic)
}

pub(super) fn ratio_basis(
    numerators: &[f64],
    denominators: &[f64],
    missing: usize,
    is_share: bool,
    fill: Option<f64>,
) -> Result<Basis, Unbounded> {
    let counts = is_share && denominators.iter().all(|&x| x == 1.0);
    let missing = fill.map_or(0, |_| missing as u64);
    if counts {
        let successes = numerators.iter().sum::<f64>() as u64 + fill.map_or(0, |x| x as u64 * missing);
        return exact(successes, denominators.len() as u64 + missing);
    }
    if missing > 0 {
        return Err(Unbounded::UnscoredWithoutLimit { samples: missing });
    }
    ratio_of_sums(numerators, denominators, None).map(|ratio| Basis::Linear(ratio.ratio)).map_err(Unbounded::Statistic)
}

/// The share of values within a limit; attempts of one sample go together.
pub(super) fn within_basis(mut rows: Vec<(u32, f64)>, rule: Rule) -> Result<Basis, Unbounded> {
    rows.sort_by_key(|row| row.0);
    let within = |x: f64| {
        f64::from(u8::from(if matches!(rule.comparison, Comparison::Below | Comparison::AtLeast) {
            x < rule.value
        } else {
            x <= rule.value
        }))
    };
    let values: Vec<f64> = rows.iter().map(|row| within(row.1)).collect();
    let samples: Vec<u32> = rows.iter().map(|row| row.0).collect();
    let each = Moments::from_slice(&values);
    if !samples.windows(2).any(|pair| pair[0] == pair[1]) {
        return exact(each.sum() as u64, each.count());
    }
    if each.is_constant() {
        // Attempts that are all alike may be copies of one another: count samples.
        let distinct = samples.chunk_by(|a, b| a == b).count() as u64;
        return exact(if each.sum() > 0.0 { distinct } else { 0 }, distinct);
    }
    estimate_clustered(&values, &samples).map(Basis::Clustered).map_err(Unbounded::Statistic)
}
