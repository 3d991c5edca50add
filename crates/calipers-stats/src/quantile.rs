//! Quantiles, their intervals, and the share of values within a limit.
//!
//! Timeouts are values too: a run that hit its limit took *longer* than the limit, so it enters as +∞
//! and never drops out. An infinite value may be anywhere where the answer does not rest on it: the
//! median of `[1, 2, ∞]` is 2, its 95th percentile does not exist.

use crate::sum::ExactSum;
use crate::{AllowedRange, Confidence, Interval, Method, Quantity, Side, StatisticCaveat, Undefined, special};

/// The values of a quantile, collected in any order, by any number of shards.
///
/// Everything is kept, so quantiles are exact; eight bytes per value.
///
/// ```
/// use calipers_stats::quantile::ValueBuffer;
///
/// let (mut fast, mut slow) = (ValueBuffer::default(), ValueBuffer::default());
/// fast.extend(&[0.5, 1.0]);
/// slow.add(2.5);
/// slow.add(f64::INFINITY); // a timeout
/// slow.merge(&fast);
/// let latency = slow.finish()?;
/// assert_eq!(latency.linear(0.5)?, 1.75);
/// assert!(latency.linear(0.95).is_err());
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ValueBuffer {
    values: Vec<f64>,
}

impl ValueBuffer {
    /// Takes in one value.
    pub fn add(&mut self, value: f64) {
        self.values.push(value);
    }

    /// Takes in many values.
    pub fn extend(&mut self, values: &[f64]) {
        self.values.extend_from_slice(values);
    }

    /// Takes in all that another has seen.
    pub fn merge(&mut self, other: &Self) {
        self.extend(&other.values);
    }

    /// Sorts what was collected. Undefined when empty or when a value is not a number.
    pub fn finish(self) -> Result<SortedValues, Undefined> {
        SortedValues::new(self.values)
    }
}

/// At least one value, none of them NaN, in ascending order.
#[derive(Clone, Debug, PartialEq)]
pub struct SortedValues {
    values: Vec<f64>,
}

/// An interval of a quantile, and what to beware of.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantileInterval {
    /// The interval; a bound that does not exist is `None`.
    pub interval: Interval,
    /// [`StatisticCaveat::NoBound`] when there are too few values for a bound that was asked for.
    pub caveat: Option<StatisticCaveat>,
}

impl SortedValues {
    /// Sorts values. Undefined when there are none or when one is not a number.
    pub fn new(mut values: Vec<f64>) -> Result<Self, Undefined> {
        if values.is_empty() {
            return Err(Undefined::Empty);
        }
        if values.iter().any(|x| x.is_nan()) {
            return Err(Undefined::NotFinite { value: f64::NAN });
        }
        // Negative zero sorts before zero and equals it: one of them is enough.
        values.iter_mut().for_each(|x| *x += 0.0);
        sort_floats(&mut values);
        Ok(Self { values })
    }

    /// The values, ascending.
    #[must_use]
    pub fn as_slice(&self) -> &[f64] {
        &self.values
    }

    /// The number of values, at least 1.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.values.len() as u64
    }

    /// The quantile at `p` in [0, 1] by linear interpolation: type 7 of Hyndman and Fan 1996, the
    /// default of numpy and R.
    ///
    /// It always has an answer, which for the 95th percentile of ten values means little: ask
    /// [`order_interval`](Self::order_interval). Undefined where the answer rests on an infinite value.
    ///
    /// ```
    /// use calipers_stats::quantile::SortedValues;
    ///
    /// let values = SortedValues::new(vec![30.0, 10.0, 20.0, 40.0])?;
    /// assert_eq!(values.linear(0.5)?, 25.0);
    /// assert_eq!(values.linear(1.0)?, 40.0);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    pub fn linear(&self, p: f64) -> Result<f64, Undefined> {
        if !(0.0..=1.0).contains(&p) {
            return Err(Undefined::OutOfRange {
                what: Quantity::Quantile,
                value: p,
                allowed: AllowedRange::UnitInterval,
            });
        }
        Undefined::check_finite(linear(&self.values, p))
    }

    /// The quantile at `p` by Harrell and Davis 1982: all order statistics, weighted by
    /// Beta((n+1)p, (n+1)(1−p)).
    ///
    /// It varies less than [`linear`](Self::linear) and is smooth. Every value has a weight, so one
    /// infinite value makes it undefined. `p` strictly between 0 and 1.
    ///
    /// ```
    /// use calipers_stats::quantile::SortedValues;
    ///
    /// let values = SortedValues::new((1..=9).map(f64::from).collect())?;
    /// assert!((values.harrell_davis(0.5)? - 5.0).abs() < 1e-12);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    pub fn harrell_davis(&self, p: f64) -> Result<f64, Undefined> {
        Undefined::check_open_unit(Quantity::Quantile, p)?;
        let ends = [self.values[0], self.values[self.values.len() - 1]];
        ends.into_iter().try_for_each(|x| Undefined::check_finite(x).map(|_| ()))?;
        let n = self.values.len() as f64;
        let (first, last) = harrell_davis_window(self.values.len(), p);
        let below = |rank: usize| special::beta_cdf(rank as f64 / n, (n + 1.0) * p, (n + 1.0) * (1.0 - p));
        let mut total = ExactSum::default();
        let mut upto = 0.0;
        for rank in first..last {
            let next = if rank + 1 == last { 1.0 } else { below(rank + 1) };
            total.add_product(next - upto, self.values[rank]);
            upto = next;
        }
        Undefined::check_finite(total.value())
    }

    /// The interval of the quantile at `p` whose bounds are values of the sample: ranks of
    /// Binomial(n, p), as in `scipy.stats.quantile_test`.
    ///
    /// It holds for every distribution. A bound is `None` when no rank is far enough out, which
    /// [`smallest_count`] tells beforehand, or when it falls on a value that is infinite.
    ///
    /// ```
    /// use calipers_stats::{StatisticCaveat, Confidence, quantile::SortedValues};
    ///
    /// let latency = SortedValues::new((1..=20).map(f64::from).collect())?;
    /// let p95 = latency.order_interval(0.95, Confidence::two_sided(0.95)?)?;
    /// assert_eq!((p95.interval.lower, p95.interval.upper), (Some(17.0), None));
    /// assert_eq!(p95.caveat, Some(StatisticCaveat::NoBound { n: 20, need: 72 }));
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    pub fn order_interval(&self, p: f64, confidence: Confidence) -> Result<QuantileInterval, Undefined> {
        Undefined::check_open_unit(Quantity::Quantile, p)?;
        let n = self.count();
        let at = |rank: u64| self.values.get(usize::try_from(rank).ok()?).copied().filter(|x| x.is_finite());
        let interval = confidence.partial_interval(
            Method::OrderStatistic,
            || at(special::binomial_quantile(confidence.tail(), n, p).checked_sub(1)?),
            || at(special::binomial_quantile(1.0 - confidence.tail(), n, p)),
        );
        let need = smallest_count(p, confidence)?;
        Ok(QuantileInterval { interval, caveat: (n < need).then_some(StatisticCaveat::NoBound { n, need }) })
    }

    /// How many values are at most `limit`. What timed out is above every limit.
    ///
    /// "The 95th percentile is at most 2 s" is the same claim as "at least 95 % of values are at most
    /// 2 s": gate on this count with an exact bound for a proportion, not on an estimated quantile.
    ///
    /// ```
    /// use calipers_stats::quantile::SortedValues;
    ///
    /// let latency = SortedValues::new(vec![0.7, 2.0, 2.1, f64::INFINITY])?;
    /// assert_eq!(latency.count_within(2.0), 2);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    #[must_use]
    pub fn count_within(&self, limit: f64) -> u64 {
        self.values.partition_point(|&x| x <= limit && x < f64::INFINITY) as u64
    }
}

/// Fewer values are sorted by comparing them.
const RADIX_MIN: usize = 2048;

/// Sorts as [`f64::total_cmp`] does. Many values are sorted by their bytes, from the last to the first: each pass puts them in
/// order by one byte and keeps the order of the passes before it. Measured times are whole numbers, or have few digits, and have
/// equal bytes in most passes, which are then left out.
fn sort_floats(values: &mut [f64]) {
    if values.len() < RADIX_MIN {
        values.sort_unstable_by(f64::total_cmp);
        return;
    }
    // Bits whose order as whole numbers is that of the values: negative ones are turned around.
    let key = |x: &f64| {
        let bits = x.to_bits();
        bits ^ if bits >> 63 == 1 { u64::MAX } else { 1 << 63 }
    };
    let mut keys: Vec<u64> = values.iter().map(key).collect();
    let mut counts = [[0usize; 256]; 8];
    for key in &keys {
        key.to_le_bytes().iter().zip(&mut counts).for_each(|(byte, counts)| counts[usize::from(*byte)] += 1);
    }
    let mut sorted = vec![0u64; keys.len()];
    for (byte, counts) in counts.iter_mut().enumerate() {
        if counts.contains(&keys.len()) {
            continue;
        }
        let mut place = 0;
        for count in counts.iter_mut() {
            (*count, place) = (place, place + *count);
        }
        for key in &keys {
            let place = &mut counts[usize::from(key.to_le_bytes()[byte])];
            sorted[*place] = *key;
            *place += 1;
        }
        std::mem::swap(&mut keys, &mut sorted);
    }
    let value = |key: u64| f64::from_bits(key ^ if key >> 63 == 1 { 1 << 63 } else { u64::MAX });
    values.iter_mut().zip(keys).for_each(|(x, key)| *x = value(key));
}

/// Type 7 of sorted values, of which there is at least one; `p` in [0, 1].
pub(crate) fn linear(sorted: &[f64], p: f64) -> f64 {
    let place = (sorted.len() - 1) as f64 * p;
    let rank = place as usize;
    let share = place - rank as f64;
    let low = sorted[rank.min(sorted.len() - 1)];
    let high = sorted[(rank + 1).min(sorted.len() - 1)];
    // Not `low + share * (high - low)` throughout: with an infinity or an overflow that is no number.
    if share == 0.0 || low == high {
        low
    } else if (high - low).is_finite() {
        (low + share * (high - low)).min(high)
    } else {
        low * (1.0 - share) + high * share
    }
}

/// The ranks that may weigh anything at all: forty standard deviations about `p`, and forty ranks.
///
/// A million values would otherwise cost a million incomplete beta functions.
fn harrell_davis_window(n: usize, p: f64) -> (usize, usize) {
    let size = n as f64;
    let reach = 40.0 * (p * (1.0 - p) * size).sqrt() + 40.0;
    let first = (size * p - reach).max(0.0) as usize;
    let last = ((size * p + reach).ceil() as usize).min(n);
    (first.min(n - 1), last)
}

/// The smallest number of values at which every bound asked for exists, whatever the values.
///
/// ```
/// use calipers_stats::{Confidence, quantile::smallest_count};
///
/// assert_eq!(smallest_count(0.95, Confidence::two_sided(0.95)?)?, 72);
/// assert_eq!(smallest_count(0.95, Confidence::upper(0.95)?)?, 59);
/// assert_eq!(smallest_count(0.99, Confidence::upper(0.95)?)?, 299);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn smallest_count(p: f64, confidence: Confidence) -> Result<u64, Undefined> {
    Undefined::check_open_unit(Quantity::Quantile, p)?;
    // All values lie below the quantile with probability pⁿ, which must be at most the error, and above
    // it with (1−p)ⁿ, which must be less. The slack keeps an exact tie (0.5⁵ and 1/32) a tie.
    let upper = (confidence.tail().ln() / p.ln() * (1.0 - 1e-14)).ceil().max(1.0) as u64;
    let lower = (confidence.tail().ln() / (-p).ln_1p() * (1.0 + 1e-14)).floor() as u64 + 1;
    Ok(match confidence.side() {
        Side::Both => lower.max(upper),
        Side::Lower => lower,
        Side::Upper => upper,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sorted(values: &[f64]) -> SortedValues {
        SortedValues::new(values.to_vec()).unwrap()
    }

    #[test]
    fn values_sorted_by_their_bytes_are_in_order() {
        let mut state = 1u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 11
        };
        let numbers: [fn(u64) -> f64; 4] = [
            |x| (x % 5000) as f64,
            |x| (x as f64 - 4.5e15) / 1e6,
            f64::from_bits,
            |x| [0.0, f64::INFINITY, f64::NEG_INFINITY, -1.0, f64::MIN_POSITIVE, 1e-310, -1e-310][x as usize % 7],
        ];
        for number in numbers {
            for n in [RADIX_MIN - 1, RADIX_MIN, 10_000] {
                let values: Vec<f64> = (0..n).map(|_| number(draw())).collect();
                let (mut ours, mut slow) = (values.clone(), values);
                sort_floats(&mut ours);
                slow.sort_by(f64::total_cmp);
                assert!(ours.iter().zip(&slow).all(|(a, b)| a.to_bits() == b.to_bits()), "{n}");
            }
        }
    }

    #[test]
    fn a_timeout_counts_as_slower_than_any_limit() {
        let latency = sorted(&[1.0, f64::INFINITY, 2.0, 3.0]);
        assert_eq!(latency.linear(0.5), Ok(2.5));
        assert_eq!(latency.linear(2.0 / 3.0), Ok(3.0));
        assert_eq!(latency.linear(0.9), Err(Undefined::NotFinite { value: f64::INFINITY }));
        assert!(latency.harrell_davis(0.5).is_err());
        assert_eq!(latency.count_within(f64::INFINITY), 3);
        assert_eq!(latency.count_within(f64::NAN), 0);
    }

    #[test]
    fn a_bound_on_a_timeout_is_no_bound() {
        let mut values = vec![1.0; 95];
        values.extend([f64::INFINITY; 5]);
        let p95 = sorted(&values).order_interval(0.95, Confidence::two_sided(0.95).unwrap()).unwrap();
        assert_eq!((p95.interval.lower, p95.interval.upper, p95.caveat), (Some(1.0), None, None));
    }

    #[test]
    fn nothing_and_nonsense_have_no_quantile() {
        assert_eq!(SortedValues::new(vec![]), Err(Undefined::Empty));
        assert!(SortedValues::new(vec![1.0, f64::NAN]).is_err());
        assert!(sorted(&[1.0]).linear(1.5).is_err());
        assert!(sorted(&[1.0]).linear(f64::NAN).is_err());
        assert!(sorted(&[1.0]).harrell_davis(0.0).is_err());
    }

    #[test]
    fn extreme_values_interpolate_without_overflow() {
        assert_eq!(sorted(&[-f64::MAX, f64::MAX]).linear(0.5), Ok(0.0));
    }

    #[test]
    fn bounds_exist_exactly_from_the_smallest_count_on() {
        for (p, level) in [(0.5, 0.9375), (0.95, 0.95), (0.9, 0.8), (0.05, 0.95), (0.5, 0.5)] {
            let confidence = Confidence::two_sided(level).unwrap();
            let need = smallest_count(p, confidence).unwrap();
            for n in 1..need + 5 {
                let values: Vec<f64> = (0..n).map(|x| x as f64).collect();
                let width = sorted(&values).order_interval(p, confidence).unwrap().interval.width();
                assert_eq!(width.is_some(), n >= need, "p = {p}, level = {level}, n = {n}");
            }
        }
    }

    #[test]
    fn a_million_values_cost_a_window_of_weights() {
        let values: Vec<f64> = (0..1_000_000).map(f64::from).collect();
        let p99 = sorted(&values).harrell_davis(0.99).unwrap();
        assert!((p99 - 990_000.0).abs() < 1.0, "{p99}");
    }

    /// Every weight, as the formula says.
    fn slow_harrell_davis(sorted: &[f64], p: f64) -> f64 {
        let n = sorted.len() as f64;
        let below = |rank: usize| special::beta_cdf(rank as f64 / n, (n + 1.0) * p, (n + 1.0) * (1.0 - p));
        (0..sorted.len()).map(|i| (below(i + 1) - below(i)) * sorted[i]).sum()
    }

    proptest! {
        #[test]
        fn order_and_shards_change_no_bit(values in prop::collection::vec(-1e3f64..1e3, 1..60), cut in 0usize..60, p in 0.01f64..0.99) {
            let whole = sorted(&values);
            let (left, right) = values.split_at(cut.min(values.len()));
            let mut merged = ValueBuffer::default();
            right.iter().rev().for_each(|&x| merged.add(x));
            let mut other = ValueBuffer::default();
            other.extend(left);
            merged.merge(&other);
            let merged = merged.finish().unwrap();
            prop_assert_eq!(merged.linear(p).unwrap().to_bits(), whole.linear(p).unwrap().to_bits());
            prop_assert_eq!(merged.harrell_davis(p).unwrap().to_bits(), whole.harrell_davis(p).unwrap().to_bits());
            prop_assert!(whole.linear(p).unwrap() >= whole.as_slice()[0]);
            let slow = slow_harrell_davis(whole.as_slice(), p);
            prop_assert!((whole.harrell_davis(p).unwrap() - slow).abs() < 1e-9);
        }
    }
}
