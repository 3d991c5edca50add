//! The bootstrap: an error and an interval for any statistic, from resamples of the data at hand.
//!
//! A resampler computes [replicate](Bootstrap::replicate) number `i` from the seed and `i` alone, and
//! brings its data into a canonical order first. So replicates may be computed by any number of threads,
//! from rows in any order, and the answer has the same bits.
//!
//! | what | resampler | cost per replicate |
//! |---|---|---|
//! | a mean of few distinct values | [`MeanResampler`] | one binomial draw per value, for any n |
//! | any other mean | [`MeanResampler`] | n draws, from blocks that fit the first cache |
//! | a mean over clusters | [`ClusterMeanResampler`] | one draw per cluster |
//! | any function of values, plain or clustered | [`Resampler`] | n draws and one call |
//! | anything else over units | [`UnitResampler`] | n draws and one call |
//!
//! Clusters are resampled whole. Resampling within them as well counts the spread within a cluster
//! twice; there is deliberately no option for it.

mod exact;
mod mean;
mod resampler;

pub use exact::{binary_mean_interval, mean_interval};
pub use mean::{ClusterMeanResampler, MeanResampler};
pub use resampler::{Resampler, UnitResampler};

use crate::sum::sum_of;
use crate::{
    AllowedRange, Confidence, Interval, Method, Moments, Quantity, Seed, StatisticCaveat, Undefined, quantile, special,
};

/// How often to resample, and from which seed. There is no default: both belong into the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Resampling {
    /// The number of resamples. End points of an interval want 10,000 or more.
    pub resamples: u64,
    /// The seed.
    pub seed: Seed,
}

/// How the end points of an interval come from the replicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BootstrapKind {
    /// Quantiles of the replicates.
    Percentile,
    /// Quantiles of the replicates, mirrored at the estimate.
    Basic,
    /// Quantiles corrected for bias and for an error that changes with the estimate (Efron 1987): the
    /// best of the three for whatever is not a mean.
    Bca,
}

/// The standard error by bootstrap.
#[derive(Clone, Debug, PartialEq)]
pub struct BootstrapStderr {
    /// The standard deviation of the replicates, dividing by their number.
    pub stderr: f64,
    /// The standard error of `stderr` itself that is due to the number of resamples.
    pub monte_carlo_error: f64,
    /// What `stderr` tends to as resamples grow, where that has a closed form. It is the better answer.
    pub limit: Option<f64>,
    /// The number of values, or of clusters, that were resampled.
    pub units: u64,
    /// The number of resamples.
    pub resamples: u64,
    /// What to beware of.
    pub caveats: Vec<StatisticCaveat>,
}

/// An interval by bootstrap.
#[derive(Clone, Debug, PartialEq)]
pub struct BootstrapInterval {
    /// The statistic of the data themselves.
    pub estimate: f64,
    /// The interval. Its method is `BootstrapPercentile` where BCa was asked for but does not exist.
    pub interval: Interval,
    /// The standard error of an end point that is due to the number of resamples, the larger of two;
    /// 0 when exact.
    pub monte_carlo_error: f64,
    /// The number of values, or of clusters, that were resampled.
    pub units: u64,
    /// The number of resamples; `None` when the bootstrap law was computed exactly.
    pub resamples: Option<u64>,
    /// What to beware of.
    pub caveats: Vec<StatisticCaveat>,
}

/// Resamples from which the end points of a 95 % interval are steady.
const ENOUGH_RESAMPLES: u64 = 10_000;
/// Units below which a bootstrap interval undercovers: 0.92 instead of 0.95 at twenty clusters.
const ENOUGH_UNITS: u64 = 20;
/// Replicates are kept in memory: this many take 800 MB.
const RESAMPLES_MAX: u64 = 100_000_000;

/// Something that can be resampled, replicate by replicate.
///
/// Replicates depend on nothing but the seed and their index: compute those of `0..resamples` in any way
/// and hand them to [`interval`](Self::interval) or [`stderr`](Self::stderr).
///
/// ```
/// use calipers_stats::bootstrap::{Bootstrap, BootstrapKind, Resampler};
/// use calipers_stats::{Confidence, Seed};
///
/// let seconds = [3.2, 4.1, 2.8, 9.7, 3.3, 5.0, 4.4, 3.9, 12.1, 4.0, 3.7, 2.9];
/// let median = Resampler::new(&seconds, |sorted| (sorted[5] + sorted[6]) / 2.0, Seed(7))?;
/// let replicates = median.replicates(10_000)?; // or by threads, with `median.replicate(index)`
/// let answer = median.interval(BootstrapKind::Bca, &replicates, Confidence::two_sided(0.95)?)?;
/// assert_eq!(answer.estimate, 3.95);
/// assert!(answer.interval.contains(3.95));
/// assert_eq!(answer.caveats[0].id(), "small-sample");
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub trait Bootstrap: Sync {
    /// The number of units that are drawn with replacement.
    fn units(&self) -> u64;

    /// The statistic of the data themselves.
    fn estimate(&self) -> Result<f64, Undefined>;

    /// The statistic of resample number `index`. It may be no number where the statistic has none.
    fn replicate(&self, index: u64) -> f64;

    /// The acceleration of BCa, from leaving out one unit at a time; `None` where nothing changes.
    fn acceleration(&self) -> Option<f64>;

    /// Whether units are clusters.
    fn is_clustered(&self) -> bool {
        false
    }

    /// The standard error that the bootstrap tends to, where that has a closed form.
    fn stderr_limit(&self) -> Option<f64> {
        None
    }

    /// Replicates `0..resamples`, one after the other.
    fn replicates(&self, resamples: u64) -> Result<Vec<f64>, Undefined> {
        check_resamples(resamples)?;
        Ok((0..resamples).map(|index| self.replicate(index)).collect())
    }

    /// The standard error. Undefined below two units, below two replicates, and when a replicate is not a
    /// number.
    fn stderr(&self, replicates: &[f64]) -> Result<BootstrapStderr, Undefined> {
        check_units(self)?;
        check_resamples(replicates.len() as u64)?;
        let moments = Moments::from_slice(replicates);
        let resamples = moments.count();
        let stderr = (moments.variance()? * ((resamples - 1) as f64 / resamples as f64)).sqrt();
        let mut caveats = few_units(self);
        if stderr == 0.0 {
            caveats.push(StatisticCaveat::NoSpread { n: self.units() });
        }
        // The error of a standard deviation of nearly normal numbers.
        let monte_carlo_error = stderr / (2.0 * (resamples - 1) as f64).sqrt();
        Ok(BootstrapStderr {
            stderr,
            monte_carlo_error,
            limit: self.stderr_limit(),
            units: self.units(),
            resamples,
            caveats,
        })
    }

    /// The interval. Undefined below two units, when a replicate is no number, and when replicates do not
    /// differ: an interval of no width would read as certainty.
    fn interval(
        &self,
        kind: BootstrapKind,
        replicates: &[f64],
        confidence: Confidence,
    ) -> Result<BootstrapInterval, Undefined> {
        check_units(self)?;
        check_resamples(replicates.len() as u64)?;
        let estimate = self.estimate()?;
        let law = ReplicateLaw::new(replicates)?;
        let mut caveats = few_units(self);
        let resamples = law.sorted.len() as u64;
        if resamples < ENOUGH_RESAMPLES {
            caveats.push(StatisticCaveat::FewResamples { resamples, need: ENOUGH_RESAMPLES });
        }
        let interval = match kind {
            BootstrapKind::Percentile => law.percentile(confidence),
            BootstrapKind::Basic => law.basic(estimate, confidence),
            BootstrapKind::Bca => law.bca(estimate, self.acceleration(), confidence).unwrap_or_else(|| {
                caveats.push(StatisticCaveat::NoAcceleration);
                law.percentile(confidence)
            }),
        };
        let monte_carlo_error = law.end_error(confidence);
        let units = self.units();
        Ok(BootstrapInterval { estimate, interval, monte_carlo_error, units, resamples: Some(resamples), caveats })
    }
}

fn check_resamples(resamples: u64) -> Result<(), Undefined> {
    if resamples < 2 {
        return Err(Undefined::TooFew { what: Quantity::Resamples, need: 2, have: resamples });
    }
    if resamples > RESAMPLES_MAX {
        let value = resamples as f64;
        return Err(Undefined::OutOfRange {
            what: Quantity::Resamples,
            value,
            allowed: AllowedRange::AtMost(RESAMPLES_MAX),
        });
    }
    Ok(())
}

fn check_units(bootstrap: &(impl Bootstrap + ?Sized)) -> Result<(), Undefined> {
    let what = if bootstrap.is_clustered() { Quantity::Clusters } else { Quantity::Values };
    match bootstrap.units() {
        have @ 0..2 => Err(Undefined::TooFew { what, need: 2, have }),
        _ => Ok(()),
    }
}

fn few_units(bootstrap: &(impl Bootstrap + ?Sized)) -> Vec<StatisticCaveat> {
    match (bootstrap.units(), bootstrap.is_clustered()) {
        (ENOUGH_UNITS.., _) => Vec::new(),
        (clusters, true) => vec![StatisticCaveat::FewClusters { clusters }],
        (n, false) => vec![StatisticCaveat::SmallSample { n, need: ENOUGH_UNITS }],
    }
}

/// The replicates in ascending order: at least two, finite, and not all alike.
struct ReplicateLaw {
    sorted: Vec<f64>,
}

impl ReplicateLaw {
    fn new(replicates: &[f64]) -> Result<Self, Undefined> {
        if let Some(&value) = replicates.iter().find(|x| !x.is_finite()) {
            return Err(Undefined::NotFinite { value });
        }
        let mut sorted = replicates.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        if sorted[0] == sorted[sorted.len() - 1] {
            return Err(Undefined::NoSpread { what: Quantity::Resamples });
        }
        Ok(Self { sorted })
    }

    fn at(&self, p: f64) -> f64 {
        quantile::linear(&self.sorted, p.clamp(0.0, 1.0))
    }

    fn percentile(&self, confidence: Confidence) -> Interval {
        let tail = confidence.tail();
        confidence.interval(Method::BootstrapPercentile, || self.at(tail), || self.at(1.0 - tail))
    }

    fn basic(&self, estimate: f64, confidence: Confidence) -> Interval {
        let tail = confidence.tail();
        confidence.interval(
            Method::BootstrapBasic,
            || 2.0 * estimate - self.at(1.0 - tail),
            || 2.0 * estimate - self.at(tail),
        )
    }

    /// Efron 1987, eq. 2.3; ties count half, as in scipy.
    ///
    /// `None` when the estimate lies outside of all replicates, or when the correction leaves the range in
    /// which it is monotone.
    fn bca(&self, estimate: f64, acceleration: Option<f64>, confidence: Confidence) -> Option<Interval> {
        let acceleration = acceleration?;
        let below = self.share_below(estimate);
        if below <= 0.0 || below >= 1.0 {
            return None;
        }
        let bias = special::normal_quantile(below);
        let level = |p: f64| {
            let z = bias + special::normal_quantile(p);
            let room = 1.0 - acceleration * z;
            (room > 0.0).then(|| special::normal_cdf(bias + z / room))
        };
        let tail = confidence.tail();
        let (low, high) = (level(tail)?, level(1.0 - tail)?);
        Some(confidence.interval(Method::BootstrapBca, || self.at(low), || self.at(high)))
    }

    /// The share of replicates below the estimate, with half of those that equal it.
    fn share_below(&self, estimate: f64) -> f64 {
        // Replicates that equal the estimate may miss it by the rounding of a sum.
        let slack = 1e-12 * (self.sorted[self.sorted.len() - 1] - self.sorted[0]);
        let below = self.sorted.partition_point(|&x| x < estimate - slack);
        let upto = self.sorted.partition_point(|&x| x <= estimate + slack);
        (below + upto) as f64 / (2 * self.sorted.len()) as f64
    }

    /// The error of a quantile: half the distance that ranks one standard deviation apart span.
    fn end_error(&self, confidence: Confidence) -> f64 {
        let tail = confidence.tail();
        let reach = (tail * (1.0 - tail) / self.sorted.len() as f64).sqrt();
        let error = |p: f64| (self.at(p + reach) - self.at(p - reach)) / 2.0;
        error(tail).max(error(1.0 - tail))
    }
}

/// The bootstrap standard error of a mean, as Inspect's `bootstrap_stderr` computes it.
///
/// For a mean the [limit](BootstrapStderr::limit) beside it is the answer without the noise, and s/√n the
/// better answer: the bootstrap divides by n, not n − 1. Undefined below two values.
///
/// ```
/// use calipers_stats::bootstrap::{Resampling, mean_stderr};
/// use calipers_stats::Seed;
///
/// let resampling = Resampling { resamples: 1000, seed: Seed(1) };
/// let answer = mean_stderr(&[1.0, 1.0, 0.0, 1.0, 0.0], resampling)?;
/// assert!((answer.stderr - 0.048f64.sqrt()).abs() < 5.0 * answer.monte_carlo_error);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn mean_stderr(values: &[f64], resampling: Resampling) -> Result<BootstrapStderr, Undefined> {
    let resampler = MeanResampler::new(values, resampling.seed)?;
    resampler.stderr(&resampler.replicates(resampling.resamples)?)
}

/// The acceleration from the statistic without each unit in turn.
fn acceleration_of(leave_one_out: &[f64]) -> Option<f64> {
    let mean = Moments::from_slice(leave_one_out).mean().ok()?;
    skewness_of(leave_one_out.iter().map(|x| (mean - x, 1.0)), mean)
}

/// Σd³ / (6 (Σd²)^{3/2}) over differences from a mean and how often each occurs (Efron 1987, eq. 6.6).
///
/// `None` where they do not differ by more than the rounding of the mean.
fn skewness_of(differences: impl Iterator<Item = (f64, f64)> + Clone, mean: f64) -> Option<f64> {
    let largest = differences.clone().map(|(d, _)| d.abs()).fold(0.0, f64::max);
    if largest <= 1e-14 * mean.abs() {
        return None;
    }
    // Scaled, so that neither squares nor cubes of small numbers vanish.
    let sum_of_powers = |power| sum_of(differences.clone().map(|(d, times)| times * (d / largest).powi(power)));
    Some(sum_of_powers(3) / (6.0 * sum_of_powers(2).powf(1.5))).filter(|a| a.is_finite())
}

#[cfg(test)]
mod tests;
