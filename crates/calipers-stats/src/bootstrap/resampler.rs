//! Resamples of any statistic.

use super::{Bootstrap, acceleration_of};
use crate::seed::Stream;
use crate::{AllowedRange, Quantity, Seed, Undefined};

/// Resamples any function of the values, alone or in whole clusters.
///
/// The function is given the values of a resample **in ascending order**, which makes quantiles cheap:
/// sorted once here, a resample is the sorted values with repetitions. So neither the order of rows nor
/// the names of clusters can change a bit.
///
/// Cost: a replicate takes n draws and one call; the acceleration of BCa takes one call per unit.
///
/// ```
/// use calipers_stats::bootstrap::{Bootstrap, BootstrapKind, Resampler};
/// use calipers_stats::{Confidence, Seed};
///
/// let seconds = [1.0, 9.0, 2.0, 3.0, 8.0, 2.5, 7.0, 2.2];
/// let tasks = [0, 1, 0, 0, 1, 2, 3, 2];
/// let median = |sorted: &[f64]| (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0;
/// let over_tasks = Resampler::clustered(&seconds, &tasks, median, Seed(3))?;
/// let answer = over_tasks.interval(BootstrapKind::Percentile, &over_tasks.replicates(10_000)?, Confidence::two_sided(0.9)?)?;
/// assert_eq!((answer.estimate, answer.units), (2.75, 4));
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Debug)]
pub struct Resampler<F> {
    /// The values, ascending.
    values: Vec<f64>,
    /// The unit to which each value belongs.
    unit_of: Vec<u32>,
    units: u32,
    clustered: bool,
    statistic: F,
    seed: Seed,
}

impl<F: Fn(&[f64]) -> f64 + Sync> Resampler<F> {
    /// A resampler in which every value is a unit. Undefined without values, and when one is not finite.
    pub fn new(values: &[f64], statistic: F, seed: Seed) -> Result<Self, Undefined> {
        let units: Vec<u32> = (0..check_count(values.len())?).collect();
        let (values, unit_of) = canonical(values, &units)?;
        let units = values.len() as u32;
        Ok(Self { values, unit_of, units, clustered: false, statistic, seed })
    }

    /// A resampler in which all values with the same code are a unit. Undefined without values, and when
    /// one is not finite.
    pub fn clustered(values: &[f64], clusters: &[u32], statistic: F, seed: Seed) -> Result<Self, Undefined> {
        Undefined::check_lengths(Quantity::ValuesAndClusters, values.len(), clusters.len())?;
        check_count(values.len())?;
        let (values, unit_of) = canonical(values, clusters)?;
        let units = unit_of.iter().max().map_or(0, |last| last + 1);
        Ok(Self { values, unit_of, units, clustered: true, statistic, seed })
    }

    /// The statistic when unit `u` occurs `times[u]` times.
    fn with(&self, times: &[u32]) -> f64 {
        let mut resample = Vec::with_capacity(self.values.len());
        for (&value, &unit) in self.values.iter().zip(&self.unit_of) {
            (0..times[unit as usize]).for_each(|_| resample.push(value));
        }
        (self.statistic)(&resample)
    }
}

fn check_count(count: usize) -> Result<u32, Undefined> {
    let value = count as f64;
    u32::try_from(count).map_err(|_| Undefined::OutOfRange {
        what: Quantity::ValueCount,
        value,
        allowed: AllowedRange::BelowPowerOfTwo(32),
    })
}

/// The values in ascending order, each with its unit; units are numbered by what they hold, not by code.
fn canonical(values: &[f64], codes: &[u32]) -> Result<(Vec<f64>, Vec<u32>), Undefined> {
    if values.is_empty() {
        return Err(Undefined::Empty);
    }
    let mut rows = Vec::with_capacity(values.len());
    for (&value, &code) in values.iter().zip(codes) {
        rows.push((code, Undefined::check_finite(value)? + 0.0));
    }
    rows.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut units: Vec<&[(u32, f64)]> = rows.chunk_by(|a, b| a.0 == b.0).collect();
    units.sort_by(|a, b| {
        let by_value = a.iter().zip(b.iter()).map(|(x, y)| x.1.total_cmp(&y.1)).find(|order| order.is_ne());
        by_value.unwrap_or(a.len().cmp(&b.len()))
    });
    let mut placed: Vec<(f64, u32)> =
        units.iter().zip(0..).flat_map(|(unit, place)| unit.iter().map(move |row| (row.1, place))).collect();
    placed.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    Ok(placed.into_iter().unzip())
}

impl<F: Fn(&[f64]) -> f64 + Sync> Bootstrap for Resampler<F> {
    fn units(&self) -> u64 {
        u64::from(self.units)
    }

    fn estimate(&self) -> Result<f64, Undefined> {
        Undefined::check_finite((self.statistic)(&self.values))
    }

    fn replicate(&self, index: u64) -> f64 {
        self.with(&draw(self.units, &mut self.seed.stream(index)))
    }

    fn acceleration(&self) -> Option<f64> {
        leave_one_out(self.units, |times| self.with(times))
    }

    fn is_clustered(&self) -> bool {
        self.clustered
    }
}

/// Resamples anything that rests on units: rows of several columns, pairs, units of ratings.
///
/// The function is told how often each unit occurs in the resample. The order of units is the caller's:
/// take one that does not depend on the order of arrival.
///
/// ```
/// use calipers_stats::bootstrap::{Bootstrap, UnitResampler};
/// use calipers_stats::Seed;
///
/// let (quality, tokens) = ([3.0, 4.0, 2.0], [100.0, 250.0, 90.0]);
/// let ratio = |times: &[u32]| {
///     let sum = |column: &[f64]| column.iter().zip(times).map(|(x, &t)| x * f64::from(t)).sum::<f64>();
///     sum(&quality) / sum(&tokens)
/// };
/// let bootstrap = UnitResampler::new(3, ratio, Seed(1))?;
/// assert_eq!(bootstrap.estimate()?, 9.0 / 440.0);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Debug)]
pub struct UnitResampler<F> {
    units: u32,
    statistic: F,
    seed: Seed,
}

impl<F: Fn(&[u32]) -> f64 + Sync> UnitResampler<F> {
    /// A resampler of `units` units. Undefined without any.
    pub fn new(units: u32, statistic: F, seed: Seed) -> Result<Self, Undefined> {
        if units == 0 {
            return Err(Undefined::Empty);
        }
        Ok(Self { units, statistic, seed })
    }
}

impl<F: Fn(&[u32]) -> f64 + Sync> Bootstrap for UnitResampler<F> {
    fn units(&self) -> u64 {
        u64::from(self.units)
    }

    fn estimate(&self) -> Result<f64, Undefined> {
        Undefined::check_finite((self.statistic)(&vec![1; self.units as usize]))
    }

    fn replicate(&self, index: u64) -> f64 {
        (self.statistic)(&draw(self.units, &mut self.seed.stream(index)))
    }

    fn acceleration(&self) -> Option<f64> {
        leave_one_out(self.units, &self.statistic)
    }
}

/// How often each unit occurs among as many uniform draws as there are units.
fn draw(units: u32, stream: &mut Stream) -> Vec<u32> {
    let mut times = vec![0; units as usize];
    for _ in 0..units {
        times[stream.below(units as usize)] += 1;
    }
    times
}

/// The acceleration from leaving out one unit at a time.
fn leave_one_out(units: u32, statistic: impl Fn(&[u32]) -> f64) -> Option<f64> {
    if units < 2 {
        return None;
    }
    let mut times = vec![1; units as usize];
    let mut without = |unit: usize| {
        times[unit] = 0;
        let value = statistic(&times);
        times[unit] = 1;
        value
    };
    let values: Vec<f64> = (0..units as usize).map(&mut without).collect();
    acceleration_of(&values)
}
