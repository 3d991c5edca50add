//! A quantile of values of which those of one unit go together: attempts at a sample, or the samples of a cluster.
//!
//! A value x is below the quantile at p if more than 1 − p of all values are surely above it. So each end of the interval is the
//! outermost value of which that is not sure, where the share of values up to x has a cluster-robust interval with weight at both
//! ends ([`crate::adjusted_ratio`]): the test is inverted at every value (Francisco and Fuller 1991), and not only at the estimate
//! (Woodruff 1952). At the estimate nothing is known about what lies beyond it: if 6 % of the samples are slow, most of thirty samples
//! of five attempts show one or two slow ones, and Woodruff's 95 % interval of the 95th percentile covers 77 % of the time. This one
//! covers 99 %.
//!
//! That a value is surely above the quantile need not mean the same of all larger ones: if these belong to one large unit, the share up to
//! them rises, but so does its error. The interval is then what lies between the outermost values of which it is not sure. Up to 2048 values,
//! all of them are tried, from the outermost inwards. Among more values, one of them moves the share by so little that a search by halves
//! finds the same end within a few places, unless one unit has a tenth of all values; then the search begins farther out.
//!
//! Where every unit has one value, the interval is that of order statistics, which is exact.

use crate::adjusted_ratio::counted_ratio;
use crate::quantile::{QuantileInterval, SortedValues, smallest_count};
use crate::{Confidence, Method, Quantity, StatisticCaveat, Undefined};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A quantile of values by unit.
///
/// ```
/// use calipers_stats::{Confidence, unit_quantile::UnitQuantile};
///
/// // Twenty tasks of three attempts: the tasks differ, their attempts hardly do.
/// let values: Vec<f64> = (0..60).map(|i| f64::from(i / 3) + 0.01 * f64::from(i % 3)).collect();
/// let tasks: Vec<u32> = (0..60).map(|i| i / 3).collect();
/// let median = UnitQuantile::new(&values, &tasks, 0.5)?.interval(Confidence::two_sided(0.95)?)?.interval;
/// assert!(median.contains(9.5) && median.width().unwrap() > 8.0);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Debug)]
pub struct UnitQuantile {
    p: f64,
    sorted: SortedValues,
    /// None where every unit has one value.
    units: Option<UnitValues>,
    count: u64,
}

impl UnitQuantile {
    /// The quantile at `p` of these values, each with the unit that it belongs to.
    ///
    /// Undefined without values, for one that is not a number, if the lists differ in length and unless 0 < p < 1.
    pub fn new(values: &[f64], units: &[u32], p: f64) -> Result<Self, Undefined> {
        Undefined::check_lengths(Quantity::ValuesAndClusters, values.len(), units.len())?;
        Undefined::check_open_unit(Quantity::Quantile, p)?;
        let sorted = SortedValues::new(values.to_vec())?;
        let grouped = UnitValues::new(values, units);
        let count = grouped.count();
        let units = (count < values.len() as u64).then_some(grouped);
        Ok(Self { p, sorted, units, count })
    }

    /// The interval. An end is `None` if there are too few units for it, which the caveat tells, or where it is infinite.
    ///
    /// Undefined for one unit of several values.
    pub fn interval(&self, confidence: Confidence) -> Result<QuantileInterval, Undefined> {
        let Some(units) = &self.units else { return self.sorted.order_interval(self.p, confidence) };
        if self.count < 2 {
            return Err(Undefined::TooFew { what: Quantity::Clusters, need: 2, have: self.count });
        }
        // Each end rests on one side of a share.
        let sides = Confidence::two_sided(1.0 - 2.0 * confidence.tail())?;
        let share = |place: usize, is_open: bool| {
            let counts = units.count_within(self.sorted.as_slice()[place], is_open, place);
            counted_ratio(&counts, Method::AdjustedClusterT, sides)
        };
        let values = self.sorted.as_slice();
        let middle = ((values.len() - 1) as f64 * self.p) as usize;
        let at_estimate = share(middle, false)?;
        let width = at_estimate.lower.zip(at_estimate.upper).map_or(1.0, |(lower, upper)| upper - lower);
        let step = (width * values.len() as f64 / 2.0) as usize;
        let is_above =
            |place: usize| share(place, false).is_ok_and(|share| share.lower.is_some_and(|low| low > self.p));
        let is_not_below =
            |place: usize| !share(place, true).is_ok_and(|share| share.upper.is_some_and(|high| high < self.p));
        let finite = |x: f64| Some(x).filter(|x| x.is_finite());
        // Places of which it is known that all beyond them are ruled out: from the outermost inwards, by ones or in large steps.
        let len = values.len();
        let stride = match len {
            0..=TRIED_EACH => 1,
            _ if units.largest_share() < LARGE_UNIT => len,
            _ => len.div_ceil(STEPS_WITH_LARGE_UNIT),
        };
        let outer_low = (0..len).step_by(stride).take_while(|&place| !is_not_below(place)).last();
        let outer_high = (0..len).rev().step_by(stride).take_while(|&place| is_above(place)).last();
        let interval = confidence.partial_interval(
            Method::Woodruff,
            || {
                let from = outer_low?;
                let guess = middle.saturating_sub(step).max(from) - from;
                let window = stride.min(len - from);
                let first =
                    from + find_first(window, guess.min(window - 1), step / 4, |place| is_not_below(from + place));
                finite(values[first.checked_sub(1)?])
            },
            || {
                let to = outer_high?;
                let from = (to + 1).saturating_sub(stride);
                let guess = (middle + step).clamp(from, to) - from;
                let first = from + find_first(to + 1 - from, guess, step / 4, |place| is_above(from + place));
                finite(*values.get(first)?)
            },
        );
        let need = smallest_count(self.p, confidence)?;
        let caveat = (self.count < need).then_some(StatisticCaveat::NoBound { n: self.count, need });
        Ok(QuantileInterval { interval, caveat })
    }
}

/// Up to so many values, each is tried.
const TRIED_EACH: usize = 2048;
/// A unit that has so large a share of all values moves the error as much as the share.
const LARGE_UNIT: f64 = 0.1;
/// How many values are tried from the outermost inwards if there is such a unit.
const STEPS_WITH_LARGE_UNIT: usize = 64;

/// The least place below `len` where a predicate that turns true once is true, looked for from a guess; `len` for none.
fn find_first(len: usize, guess: usize, step: usize, is_true: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high, mut step) = (0, len, step.max(1));
    let mut at = guess.min(len - 1);
    if is_true(at) {
        high = at;
        while high >= step {
            at = high - step;
            if !is_true(at) {
                low = at + 1;
                break;
            }
            (high, step) = (at, 2 * step);
        }
    } else {
        low = at + 1;
        while low + step <= len {
            at = low + step - 1;
            if is_true(at) {
                high = at;
                break;
            }
            (low, step) = (at + 1, 2 * step);
        }
    }
    while low < high {
        let middle = usize::midpoint(low, high);
        if is_true(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

/// Shares that units have: values within a limit, all values, and how many units have both.
type ShareCounts = Rc<Vec<(f64, f64, f64)>>;

/// The values of units, side by side: how many of them are within a limit is asked for many limits.
#[derive(Clone, Debug)]
struct UnitValues {
    sizes: Vec<UnitsOfOneSize>,
    /// What was counted, by the place of the limit among all values. Intervals at other levels ask for the same again.
    known: RefCell<BTreeMap<(usize, bool), ShareCounts>>,
}

/// Units that have equally many values.
#[derive(Clone, Debug)]
struct UnitsOfOneSize {
    count: usize,
    size: usize,
    /// First the first values of all units, then the second ones, and so on: many units are counted by the same few instructions.
    values: Vec<f64>,
}

impl UnitValues {
    fn new(values: &[f64], units: &[u32]) -> Self {
        let mut rows: Vec<(u32, f64)> = units.iter().copied().zip(values.iter().copied()).collect();
        if !rows.is_sorted_by_key(|row| row.0) {
            rows.sort_by_key(|row| row.0);
        }
        let mut by_size: BTreeMap<usize, Vec<&[(u32, f64)]>> = BTreeMap::new();
        rows.chunk_by(|a, b| a.0 == b.0).for_each(|unit| by_size.entry(unit.len()).or_default().push(unit));
        let of_size = |(size, units): (usize, Vec<&[(u32, f64)]>)| {
            let values = (0..size).flat_map(|place| units.iter().map(move |unit| unit[place].1)).collect();
            UnitsOfOneSize { count: units.len(), size, values }
        };
        Self { sizes: by_size.into_iter().map(of_size).collect(), known: RefCell::default() }
    }

    fn count(&self) -> u64 {
        self.sizes.iter().map(|size| size.count as u64).sum()
    }

    /// The share of all values that the largest unit has.
    fn largest_share(&self) -> f64 {
        let all: usize = self.sizes.iter().map(|size| size.size * size.count).sum();
        self.sizes.last().map_or(0.0, |largest| largest.size as f64 / all as f64)
    }

    /// How many units have how many values up to a limit, or only below it.
    fn count_within(&self, limit: f64, is_open: bool, place: usize) -> ShareCounts {
        if let Some(known) = self.known.borrow().get(&(place, is_open)) {
            return known.clone();
        }
        let mut counts = Vec::new();
        for size in &self.sizes {
            let mut times = vec![0u64; size.size + 1];
            size.count_within(limit, is_open).into_iter().for_each(|within| times[within as usize] += 1);
            let of = |(within, times): (usize, u64)| (within as f64, size.size as f64, times as f64);
            counts.extend(times.into_iter().enumerate().filter(|(_, times)| *times > 0).map(of));
        }
        let counts = Rc::new(counts);
        self.known.borrow_mut().insert((place, is_open), counts.clone());
        counts
    }
}

impl UnitsOfOneSize {
    fn count_within(&self, limit: f64, is_open: bool) -> Vec<u32> {
        let mut within = vec![0u32; self.count];
        for values in self.values.chunks_exact(self.count) {
            let each = within.iter_mut().zip(values);
            // Two loops: what is asked for each value is known before.
            if is_open {
                each.for_each(|(within, x)| *within += u32::from(*x < limit));
            } else {
                each.for_each(|(within, x)| *within += u32::from(*x <= limit));
            }
        }
        within
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Interval;
    use crate::adjusted_ratio::adjusted_ratio;
    use crate::special::normal_quantile;
    use calipers_testing::simulation::Draws;
    use proptest::prelude::*;

    fn level() -> Confidence {
        Confidence::two_sided(0.95).unwrap()
    }

    /// Every value tried, one after the other.
    fn slow_interval(values: &[f64], units: &[u32], p: f64) -> (Option<f64>, Option<f64>) {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let share = |limit: f64, is_open: bool| {
            let mut sums: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
            for (x, unit) in values.iter().zip(units) {
                let (within, all) = sums.entry(*unit).or_default();
                *within += f64::from(u8::from(if is_open { *x < limit } else { *x <= limit }));
                *all += 1.0;
            }
            let sums: Vec<(f64, f64)> = sums.into_values().collect();
            adjusted_ratio(&sums, (0.0, 1.0), Method::AdjustedClusterT, level()).unwrap()
        };
        let lower = sorted.iter().take_while(|x| share(**x, true).upper.unwrap() < p).last();
        let upper = sorted.iter().rev().take_while(|x| share(**x, false).lower.unwrap() > p).last();
        (lower.copied(), upper.copied())
    }

    #[test]
    fn single_values_have_order_statistics() {
        let values: Vec<f64> = (0..80).map(|i| f64::from(i * 37 % 80)).collect();
        let units: Vec<u32> = (0..80).collect();
        let ours = UnitQuantile::new(&values, &units, 0.95).unwrap().interval(level()).unwrap();
        assert_eq!(ours, SortedValues::new(values).unwrap().order_interval(0.95, level()).unwrap());
    }

    /// The ninth value is surely above the first tenth of all, the tenth is not, and all others are: it belongs to the unit that has most of
    /// the values so far, so that the share rises less than its error.
    #[test]
    fn the_interval_reaches_the_outermost_value_that_is_not_ruled_out() {
        let units = [7, 2, 0, 9, 0, 7, 7, 7, 4, 7, 1, 2, 7, 5, 4, 6, 0, 7, 2, 5, 4, 3, 7, 8];
        let values: Vec<f64> = (0..24).map(f64::from).collect();
        let interval = UnitQuantile::new(&values, &units, 0.1).unwrap().interval(level()).unwrap().interval;
        assert_eq!(interval.upper, Some(10.0));
        let share = |limit: f64| {
            let mut sums = vec![(0.0, 0.0); 10];
            for (x, &unit) in values.iter().zip(&units) {
                sums[unit as usize].0 += f64::from(u8::from(*x <= limit));
                sums[unit as usize].1 += 1.0;
            }
            adjusted_ratio(&sums, (0.0, 1.0), Method::AdjustedClusterT, level()).unwrap().lower.unwrap() > 0.1
        };
        assert_eq!([8.0, 9.0, 10.0, 23.0].map(share), [true, false, true, true]);
    }

    #[test]
    fn few_units_have_no_bound_and_say_how_many_would() {
        let values: Vec<f64> = (0..200).map(f64::from).collect();
        let units: Vec<u32> = (0..200).map(|i| i / 10).collect();
        let p95 = UnitQuantile::new(&values, &units, 0.95).unwrap().interval(level()).unwrap();
        assert_eq!((p95.interval.upper, p95.caveat), (None, Some(StatisticCaveat::NoBound { n: 20, need: 72 })));
        assert!(p95.interval.lower.is_some());
        assert!(UnitQuantile::new(&[1.0, 2.0], &[0, 0], 0.5).unwrap().interval(level()).is_err());
    }

    #[test]
    fn a_bound_on_a_timeout_is_no_bound() {
        let values: Vec<f64> = (0..200).map(|i| if i < 180 { f64::from(i) } else { f64::INFINITY }).collect();
        let units: Vec<u32> = (0..200).map(|i| i / 2).collect();
        let p90 = UnitQuantile::new(&values, &units, 0.9).unwrap().interval(level()).unwrap().interval;
        assert!(p90.upper.is_none() && p90.lower.is_some_and(|lower| lower < 179.0));
    }

    /// One sample in 17 is slow, in four of five attempts: a 95th percentile that most runs have not seen.
    #[test]
    fn slow_samples_are_covered() {
        let mut draws = Draws::new(3, normal_quantile);
        let (mut covered, truth) = (0, 0.95 / 0.952);
        for _ in 0..300 {
            let (mut values, mut units) = (Vec::new(), Vec::new());
            for unit in 0..100 {
                let is_slow = draws.unit() < 0.06;
                for _ in 0..3 {
                    let slow = if is_slow && draws.unit() < 0.8 { 10.0 } else { 0.0 };
                    values.push(slow + draws.unit());
                    units.push(unit);
                }
            }
            let interval = UnitQuantile::new(&values, &units, 0.95).unwrap().interval(level()).unwrap().interval;
            covered += u32::from(interval.contains(truth));
        }
        assert!(covered >= 279, "{covered} of 300");
    }

    proptest! {
        #[test]
        fn the_ends_are_those_of_every_value_tried(
            rows in prop::collection::vec((0u32..30, 0u32..40), 2..150),
            p in prop::sample::select(vec![0.1, 0.5, 0.9]),
        ) {
            let (units, values): (Vec<u32>, Vec<f64>) = rows.iter().map(|(unit, x)| (*unit, f64::from(*x))).unzip();
            let ours = UnitQuantile::new(&values, &units, p).unwrap();
            prop_assume!(ours.units.is_some() && ours.count > 1);
            let interval = ours.interval(level()).unwrap().interval;
            prop_assert_eq!((interval.lower, interval.upper), slow_interval(&values, &units, p));
        }

        #[test]
        fn the_order_of_values_changes_no_bit(
            rows in prop::collection::vec((0u32..30, 0.0..10.0f64), 2..100),
            turn in 0usize..100,
        ) {
            let mut moved = rows.clone();
            moved.rotate_left(turn % rows.len());
            let of = |rows: &[(u32, f64)]| {
                let (units, values): (Vec<u32>, Vec<f64>) = rows.iter().copied().unzip();
                UnitQuantile::new(&values, &units, 0.5).unwrap().interval(level())
            };
            prop_assert_eq!(of(&rows), of(&moved));
        }

        #[test]
        fn a_higher_level_has_a_wider_interval(rows in prop::collection::vec((0u32..40, 0.0..10.0f64), 20..150)) {
            let (units, values): (Vec<u32>, Vec<f64>) = rows.iter().copied().unzip();
            let ours = UnitQuantile::new(&values, &units, 0.5).unwrap();
            prop_assume!(ours.count > 1);
            let of = |level: f64| ours.interval(Confidence::two_sided(level).unwrap()).unwrap().interval;
            let (narrow, wide) = (of(0.8), of(0.99));
            let low = |interval: Interval| interval.lower.unwrap_or(f64::NEG_INFINITY);
            let high = |interval: Interval| interval.upper.unwrap_or(f64::INFINITY);
            prop_assert!(low(wide) <= low(narrow) && high(narrow) <= high(wide), "{:?} {:?}", narrow, wide);
        }
    }
}
