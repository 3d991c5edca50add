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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
/// Bins of grades between 0 and 1.
const SHARE_BINS: u32 = 20;

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
        Self::of_runs(name, unit, of, vec![values]).pop().flatten()
    }

    /// Counts the values of several runs in the same bars, so that they can be drawn over one another. A run without values
    /// has none.
    ///
    /// ```
    /// use calipers_core::{Distribution, DistributionOf, Unit};
    ///
    /// let runs = vec![vec![0.0, 1.0], vec![1.0, 0.5]];
    /// let both = Distribution::of_runs("judge", Unit::Plain, DistributionOf::Samples, runs);
    /// let counts = |run: &Option<Distribution>| -> Vec<u64> {
    ///     run.as_ref().expect("some values").bars.iter().map(|bar| bar.count).collect()
    /// };
    /// assert_eq!((counts(&both[0]), counts(&both[1])), (vec![1, 0, 1], vec![0, 1, 1]));
    /// ```
    #[must_use]
    pub fn of_runs(name: impl Into<String>, unit: Unit, of: DistributionOf, runs: Vec<Vec<f64>>) -> Vec<Option<Self>> {
        let name = name.into();
        let mut pool: Vec<f64> = runs.iter().flatten().copied().filter(|value| value.is_finite()).collect();
        pool.sort_by(f64::total_cmp);
        // Measurements, unlike grades, have bins of one width even if there are few values.
        let values_max = if unit == Unit::Plain { VALUES_MAX } else { 1 };
        let bars = by_value(&pool, values_max).unwrap_or_else(|| by_range(&pool, unit));
        let count = |values: Vec<f64>| {
            let mut bars = bars.clone();
            let (mut finite, mut beyond) = (0, 0);
            for value in values {
                if value.is_finite() {
                    let bar = bars.partition_point(|bar| bar.lower <= value).max(1) - 1;
                    bars[bar].count += 1;
                    finite += 1;
                } else if value == f64::INFINITY {
                    beyond += 1;
                }
            }
            (finite > 0).then(|| Self { name: name.clone(), unit, of, bars, n: finite + beyond, beyond })
        };
        runs.into_iter().map(count).collect()
    }
}

/// A bar for each value, if they are few.
fn by_value(sorted: &[f64], values_max: usize) -> Option<Vec<Bar>> {
    let mut bars: Vec<Bar> = Vec::new();
    for same in sorted.chunk_by(|a, b| a == b) {
        if bars.len() == values_max {
            return None;
        }
        bars.push(Bar { lower: same[0], upper: same[0], count: 0 });
    }
    Some(bars)
}

/// Empty bins of one width, which is 1, 2 or 5 times a power of ten. Grades between 0 and 1 have all of that range, unless they
/// would share a bin or two.
fn by_range(sorted: &[f64], unit: Unit) -> Vec<Bar> {
    let (Some(&first), Some(&last)) = (sorted.first(), sorted.last()) else { return Vec::new() };
    if unit == Unit::Plain && first >= 0.0 && last <= 1.0 && last - first >= 2.0 / f64::from(SHARE_BINS) {
        return (0..SHARE_BINS).map(|bin| bin_of(f64::from(bin), 1.0 / f64::from(SHARE_BINS))).collect();
    }
    let width = round_width((last - first) / BINS);
    let start = (first / width).floor();
    let bins = ((last / width).floor() - start) as usize + 1;
    (0..bins).map(|bin| bin_of(start + bin as f64, width)).collect()
}

fn bin_of(place: f64, width: f64) -> Bar {
    Bar { lower: place * width, upper: (place + 1.0) * width, count: 0 }
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
    fn grades_between_0_and_1_have_that_range_and_measurements_their_own() {
        let grades: Vec<f64> = (0..40).map(|i| 0.4 + f64::from(i) / 200.0).collect();
        let spread = of(grades.clone()).expect("there are values");
        assert_eq!((spread.bars[0].lower, spread.bars.len()), (0.0, 20));
        assert!((spread.bars[19].upper - 1.0).abs() < 1e-12);
        let cost = Distribution::new("cost", Unit::Usd, DistributionOf::Attempts, grades).expect("there are values");
        assert!((cost.bars[0].lower - 0.4).abs() < 1e-12);
    }

    #[test]
    fn runs_share_their_bars() {
        let runs = vec![(0..30).map(f64::from).collect(), vec![], (60..90).map(f64::from).collect()];
        let runs = Distribution::of_runs("x", Unit::Milliseconds, DistributionOf::Attempts, runs);
        let (first, last) = (runs[0].as_ref().expect("values"), runs[2].as_ref().expect("values"));
        assert_eq!(runs[1], None);
        let edges = |run: &Distribution| run.bars.iter().map(|bar| (bar.lower, bar.upper)).collect::<Vec<_>>();
        assert_eq!(edges(first), edges(last));
        for run in [first, last] {
            assert_eq!(run.bars.iter().map(|bar| bar.count).sum::<u64>(), 30);
        }
    }

    #[test]
    fn every_value_is_in_one_bin_whatever_the_size() {
        for scale in [1e-9, 0.37, 1e12] {
            for shift in [0.0, -3.0, 1e3] {
                let values: Vec<f64> = (0..500).map(|i| (f64::from(i).sqrt() + shift) * scale).collect();
                let spread = Distribution::new("x", Unit::Usd, DistributionOf::Attempts, values);
                let spread = spread.expect("there are values");
                assert_eq!(spread.bars.iter().map(|bar| bar.count).sum::<u64>(), 500);
                assert!((8..=30).contains(&spread.bars.len()), "{}", spread.bars.len());
                assert!(spread.bars[0].count > 0 && spread.bars.last().expect("some").count > 0);
            }
        }
    }
}
