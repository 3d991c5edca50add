//! How numbers are spread: counted in bins with round ends, or by value where there are few values.

use crate::Unit;

/// How often each range of values occurs.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// What is counted: a scorer, `latency`, `tokens`, `cost`.
    pub name: String,
    /// The unit of the values.
    pub unit: Unit,
    /// Whose values they are.
    pub of: DistributionOf,
    /// The counts, in ascending order of values.
    pub bars: Vec<Bar>,
    /// How many values there are.
    pub n: u64,
    /// How many are infinite: attempts that ran out of time.
    pub beyond: u64,
}

/// Whose values are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DistributionOf {
    /// Samples, their attempts reduced.
    Samples,
    /// Attempts.
    Attempts,
}

/// A range of values with its count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// Where it begins.
    pub lower: f64,
    /// Where it ends, itself not included but for the last; equal to `lower` for a single value.
    pub upper: f64,
    /// How many values lie within.
    pub count: u64,
}

/// Up to this many different grades have a bar each.
const VALUES_MAX: usize = 12;
/// About this many bins are made otherwise.
const BINS: f64 = 24.0;

impl Distribution {
    /// Counts values; none if there are no values. Infinite values are counted separately.
    ///
    /// ```
    /// use calipers_core::{Distribution, DistributionOf};
    /// use calipers_core::Unit;
    ///
    /// let scores = Distribution::new("judge", Unit::Plain, DistributionOf::Samples, vec![0.0, 1.0, 1.0]).expect("some");
    /// assert_eq!(scores.bars.iter().map(|bar| (bar.lower, bar.count)).collect::<Vec<_>>(), [(0.0, 1), (1.0, 2)]);
    ///
    /// let latencies = (0..100).map(|i| f64::from(i) * 7.3).collect();
    /// let latencies = Distribution::new("latency", Unit::Milliseconds, DistributionOf::Attempts, latencies).expect("some");
    /// assert_eq!((latencies.bars[0].lower, latencies.bars[0].upper), (0.0, 50.0));
    /// assert_eq!(latencies.bars.iter().map(|bar| bar.count).sum::<u64>(), 100);
    /// ```
    #[must_use]
    pub fn new(name: impl Into<String>, unit: Unit, of: DistributionOf, values: Vec<f64>) -> Option<Self> {
        let (mut values, beyond): (Vec<f64>, Vec<f64>) = values.into_iter().partition(|value| value.is_finite());
        let beyond = beyond.iter().filter(|value| **value == f64::INFINITY).count() as u64;
        values.sort_by(f64::total_cmp);
        let n = values.len() as u64 + beyond;
        // Measurements, unlike grades, have bins of one width even if there are few values.
        let values_max = if unit == Unit::Plain { VALUES_MAX } else { 1 };
        let bars = by_value(&values, values_max).unwrap_or_else(|| by_range(&values));
        (!bars.is_empty()).then(|| Self { name: name.into(), unit, of, bars, n, beyond })
    }
}

/// A bar for each value, if they are few.
fn by_value(sorted: &[f64], values_max: usize) -> Option<Vec<Bar>> {
    let mut bars: Vec<Bar> = Vec::new();
    for same in sorted.chunk_by(|a, b| a == b) {
        if bars.len() == values_max {
            return None;
        }
        bars.push(Bar { lower: same[0], upper: same[0], count: same.len() as u64 });
    }
    Some(bars)
}

/// Bins of one width, which is 1, 2 or 5 times a power of ten.
fn by_range(sorted: &[f64]) -> Vec<Bar> {
    let (Some(&first), Some(&last)) = (sorted.first(), sorted.last()) else { return Vec::new() };
    let width = round_width((last - first) / BINS);
    let start = (first / width).floor();
    let bins = ((last / width).floor() - start) as usize + 1;
    let mut bars: Vec<Bar> = (0..bins)
        .map(|bin| Bar { lower: (start + bin as f64) * width, upper: (start + bin as f64 + 1.0) * width, count: 0 })
        .collect();
    for value in sorted {
        let bin = ((value / width).floor() - start) as usize;
        bars[bin.min(bins - 1)].count += 1;
    }
    bars
}

/// The next of 1, 2 and 5 times a power of ten that is at least this.
fn round_width(width: f64) -> f64 {
    let power = 10f64.powf(width.log10().floor());
    [1.0, 2.0, 5.0].map(|step| step * power).into_iter().find(|round| *round >= width).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: Vec<f64>) -> Option<Distribution> {
        Distribution::new("x", Unit::Plain, DistributionOf::Samples, values)
    }

    #[test]
    fn what_ran_out_of_time_is_counted_apart() {
        let latencies = of(vec![1.0, f64::INFINITY, f64::NAN]).expect("one is finite");
        assert_eq!((latencies.n, latencies.beyond, latencies.bars.len()), (2, 1, 1));
        assert_eq!(of(Vec::new()), None);
        assert_eq!(of(vec![f64::INFINITY]), None);
    }

    #[test]
    fn every_value_is_in_one_bin_whatever_the_size() {
        for scale in [1e-9, 0.37, 1e12] {
            for shift in [0.0, -3.0, 1e3] {
                let values: Vec<f64> = (0..500).map(|i| (f64::from(i).sqrt() + shift) * scale).collect();
                let spread = of(values.clone()).expect("there are values");
                assert_eq!(spread.bars.iter().map(|bar| bar.count).sum::<u64>(), 500);
                assert!((8..=30).contains(&spread.bars.len()), "{}", spread.bars.len());
                assert!(spread.bars[0].count > 0 && spread.bars.last().expect("some").count > 0);
            }
        }
    }
}
