//! The percentile interval of a mean, without chance where that is possible.

use super::mean::{MeanResampler, ValueCount, tally};
use super::{Bootstrap, BootstrapInterval, BootstrapKind, Resampling, few_units};
use crate::{AllowedRange, Confidence, Method, Quantity, Undefined, special};

/// Resamples as multisets of at most this many are enumerated: a tenth of a second.
const MOST_CELLS: u64 = 1_000_000;

/// The percentile bootstrap interval of a mean.
///
/// Resamples of few distinct values are so few that their law is computed exactly: two values follow the
/// binomial law for any n, and up to a million multisets (three values up to n = 1412, four up to 180) are
/// enumerated. Then `resampling` is not used and [`BootstrapInterval::resamples`] is `None`. Everything
/// else is [resampled](MeanResampler).
///
/// Undefined below two values, and when values do not vary: an interval of no width is no interval.
/// For 0 and 1 prefer [`crate::proportion`]: ten values of which nine are 1 are covered 65 % of the time.
///
/// ```
/// use calipers_stats::bootstrap::{Resampling, mean_interval};
/// use calipers_stats::{Confidence, Seed};
///
/// let resampling = Resampling { resamples: 10_000, seed: Seed(1) };
/// let graded = [1.0, 0.5, 0.5, 0.0, 1.0, 1.0, 0.5, 1.0, 1.0, 0.0];
/// let answer = mean_interval(&graded, resampling, Confidence::two_sided(0.95)?)?;
/// assert_eq!((answer.interval.lower, answer.interval.upper), (Some(0.4), Some(0.9)));
/// assert_eq!(answer.resamples, None); // 66 multisets, enumerated
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn mean_interval(
    values: &[f64],
    resampling: Resampling,
    confidence: Confidence,
) -> Result<BootstrapInterval, Undefined> {
    let tallies = tally(values)?;
    let resampler = MeanResampler::from_tallies(&tallies, resampling.seed)?;
    if resampler.units() > 1 && tallies.len() == 1 {
        return Err(Undefined::NoSpread { what: Quantity::Values });
    }
    match exact_ends(&tallies, confidence.tail()) {
        Some(ends) if resampler.units() > 1 => Ok(exact_interval(&resampler, ends, confidence)?),
        _ => resampler.interval(BootstrapKind::Percentile, &resampler.replicates(resampling.resamples)?, confidence),
    }
}

/// The exact percentile bootstrap interval of a mean of zeros and ones: quantiles of Binomial(n, k/n).
///
/// It is what the bootstrap of such a mean tends to. At 0 and n successes it has no width and comes with
/// [`StatisticCaveat::NoSpread`]: shown for comparison, not to be believed. Undefined without trials.
///
/// ```
/// use calipers_stats::bootstrap::binary_mean_interval;
/// use calipers_stats::Confidence;
///
/// let answer = binary_mean_interval(18, 25, Confidence::two_sided(0.95)?)?;
/// assert_eq!((answer.interval.lower, answer.interval.upper), (Some(0.52), Some(0.88)));
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
///
/// [`StatisticCaveat::NoSpread`]: crate::StatisticCaveat::NoSpread
pub fn binary_mean_interval(successes: u64, n: u64, confidence: Confidence) -> Result<BootstrapInterval, Undefined> {
    let value = successes as f64;
    let failures = n.checked_sub(successes).ok_or(Undefined::OutOfRange {
        what: Quantity::Successes,
        value,
        allowed: AllowedRange::AtMostTrials,
    })?;
    let resampler = MeanResampler::from_counts(&[(0.0, failures), (1.0, successes)], crate::Seed(0))?;
    let estimate = resampler.estimate()?;
    let ends = exact_ends(&[(0.0, failures), (1.0, successes)], confidence.tail());
    let mut answer = exact_interval(&resampler, ends.unwrap_or((estimate, estimate)), confidence)?;
    if failures == 0 || successes == 0 {
        answer.caveats.push(crate::StatisticCaveat::NoSpread { n });
    }
    Ok(answer)
}

fn exact_interval(
    resampler: &MeanResampler,
    (lower, upper): (f64, f64),
    confidence: Confidence,
) -> Result<BootstrapInterval, Undefined> {
    Ok(BootstrapInterval {
        estimate: resampler.estimate()?,
        interval: confidence.interval(Method::BootstrapPercentile, || lower, || upper),
        monte_carlo_error: 0.0,
        units: resampler.units(),
        resamples: None,
        caveats: few_units(resampler),
    })
}

/// The quantiles at `tail` and 1 − `tail` of the mean of a resample; `None` when there are too many.
fn exact_ends(tallies: &[ValueCount], tail: f64) -> Option<(f64, f64)> {
    if let &[(low, below), (high, above)] = tallies {
        return Some(two_valued_ends((low, below), (high, above), tail));
    }
    (cells(tallies) <= MOST_CELLS).then(|| enumerated_ends(tallies, tail))
}

fn two_valued_ends((low, below): ValueCount, (high, above): ValueCount, tail: f64) -> (f64, f64) {
    let n = below + above;
    let at = |p: f64| {
        let times = special::binomial_quantile(p, n, above as f64 / n as f64);
        ((n - times) as f64 * low + times as f64 * high) / n as f64
    };
    (at(tail), at(1.0 - tail))
}

/// The number of multisets of n out of d values, C(n+d−1, d−1), as far as it matters.
fn cells(tallies: &[ValueCount]) -> u64 {
    let n: u64 = tallies.iter().map(|&(_, times)| times).sum();
    let mut cells = 1u64;
    for i in 1..tallies.len() as u64 {
        match cells.checked_mul(n + i) {
            Some(product) if product / i <= MOST_CELLS => cells = product / i,
            _ => return u64::MAX,
        }
    }
    cells
}

/// The law of the mean, multiset by multiset.
fn enumerated_ends(tallies: &[ValueCount], tail: f64) -> (f64, f64) {
    let n: u64 = tallies.iter().map(|&(_, times)| times).sum();
    let mut law = ExactLaw { n: n as f64, ln_factorial: ln_factorials(n), cells: Vec::new() };
    law.visit(tallies, n, 0.0, law.ln_factorial[n as usize]);
    law.cells.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let whole: f64 = law.cells.iter().map(|cell| cell.1).sum();
    (law.quantile(tail * whole), law.quantile((1.0 - tail) * whole))
}

fn ln_factorials(n: u64) -> Vec<f64> {
    let mut table = vec![0.0];
    let mut last = 0.0;
    for i in 1..=n {
        last += (i as f64).ln();
        table.push(last);
    }
    table
}

struct ExactLaw {
    n: f64,
    ln_factorial: Vec<f64>,
    /// Means and their probabilities.
    cells: Vec<(f64, f64)>,
}

impl ExactLaw {
    /// Adds every way to spread `left` draws over the remaining values.
    fn visit(&mut self, tallies: &[ValueCount], left: u64, sum: f64, ln_mass: f64) {
        let Some((&(value, times), rest)) = tallies.split_first() else { return };
        let ln_share = (times as f64 / self.n).ln();
        let with = |law: &Self, drawn: u64| {
            let ln_mass = ln_mass + drawn as f64 * ln_share - law.ln_factorial[drawn as usize];
            (sum + drawn as f64 * value, ln_mass)
        };
        if rest.is_empty() {
            let (sum, ln_mass) = with(self, left);
            self.cells.push((sum / self.n, ln_mass.exp()));
            return;
        }
        for drawn in 0..=left {
            let (sum, ln_mass) = with(self, drawn);
            self.visit(rest, left - drawn, sum, ln_mass);
        }
    }

    /// The smallest mean up to which there is `mass`, but for rounding.
    fn quantile(&self, mass: f64) -> f64 {
        let mut upto = 0.0;
        for &(mean, probability) in &self.cells {
            upto += probability;
            if upto >= mass * (1.0 - 1e-12) {
                return mean;
            }
        }
        self.cells.last().map_or(0.0, |cell| cell.0)
    }
}
