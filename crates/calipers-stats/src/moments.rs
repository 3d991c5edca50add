//! Count, mean, variance and standard error, from sums that do not depend on order.

use crate::mean::{around, t_interval};
use crate::power_sums::{PowerSums, power_sums, range};
use crate::special::normal_quantile;
use crate::sum::{ExactSum, Wide, block_sum, two_product};
use crate::{AllowedRange, Confidence, Interval, Method, Quantity, Undefined};

/// How many, their mean, their spread, and their range.
///
/// Values are folded in one at a time or by the slice, and two `Moments` merge into that of all values.
/// The sums are exact, so the answers have the same bits for any order and any sharding, and they are
/// stable for values far from zero.
///
/// ```
/// use calipers_stats::Moments;
///
/// let scores = Moments::from_slice(&[1.0, 1.0, 0.0, 1.0, 0.0]);
/// assert_eq!(scores.mean()?, 0.6);
/// assert!((scores.stderr()? - 0.06f64.sqrt()).abs() < 1e-12);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Debug)]
pub struct Moments {
    count: u64,
    sum: ExactSum,
    squares: ExactSum,
    min: f64,
    max: f64,
}

/// What moments are made of, for those who write them down.
#[derive(Clone, Debug)]
pub struct MomentParts {
    /// The number of values.
    pub count: u64,
    /// Σx.
    pub sum: ExactSum,
    /// Σx².
    pub squares: ExactSum,
    /// The smallest value; infinity if there is none.
    pub min: f64,
    /// The largest value; negative infinity if there is none.
    pub max: f64,
}

impl Default for Moments {
    fn default() -> Self {
        Self {
            count: 0,
            sum: ExactSum::default(),
            squares: ExactSum::default(),
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
        }
    }
}

impl Moments {
    /// The moments of a slice.
    #[must_use]
    pub fn from_slice(values: &[f64]) -> Self {
        let mut moments = Self::default();
        moments.extend(values);
        moments
    }

    /// What they are made of.
    #[must_use]
    pub fn parts(&self) -> MomentParts {
        let Self { count, sum, squares, min, max } = self.clone();
        MomentParts { count, sum, squares, min, max }
    }

    /// The moments that are made of this.
    ///
    /// ```
    /// use calipers_stats::Moments;
    ///
    /// let moments = Moments::from_slice(&[1.0, 2.0, 4.0]);
    /// assert_eq!(Moments::from_parts(moments.parts()).std(), moments.std());
    /// ```
    #[must_use]
    pub fn from_parts(parts: MomentParts) -> Self {
        let MomentParts { count, sum, squares, min, max } = parts;
        Self { count, sum, squares, min, max }
    }

    /// Folds in one value.
    pub fn add(&mut self, x: f64) {
        self.count += 1;
        self.add_uncounted(x);
    }

    fn add_uncounted(&mut self, x: f64) {
        self.sum.add(x);
        self.squares.add_product(x, x);
        self.widen(x, x);
    }

    /// Folds in the same value `times` over, at the cost of one.
    pub fn add_repeated(&mut self, x: f64, times: u64) {
        if times == 0 {
            return;
        }
        let weight = times as f64;
        self.count += times;
        self.sum.add_product(x, weight);
        let (square, error) = two_product(x, x);
        self.squares.add_product(square, weight);
        if square.is_finite() {
            self.squares.add_product(error, weight);
        }
        self.widen(x, x);
    }

    /// Folds in many values.
    pub fn extend(&mut self, values: &[f64]) {
        power_sums(values, |sums| match sums {
            Ok(PowerSums { sum, squares, min, max }) => {
                sum.iter().for_each(|&x| self.sum.add(x));
                squares.iter().for_each(|&x| self.squares.add(x));
                self.widen(min, max);
            }
            Err(block) => self.extend_wide(block),
        });
        self.count += values.len() as u64;
    }

    /// Folds in values that differ much in size, but does not count them.
    fn extend_wide(&mut self, block: &[f64]) {
        let sums = block_sum(block, |x| {
            let (square, error) = two_product(x, x);
            [x, square, error]
        });
        let Some([total, square, error]) = sums else {
            block.iter().for_each(|&x| self.add_uncounted(x));
            return;
        };
        self.sum.add_wide(total);
        self.squares.add_wide(square);
        self.squares.add_wide(error);
        let (min, max) = range(block);
        self.widen(min, max);
    }

    /// Folds in all that another has seen.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum.merge(&other.sum);
        self.squares.merge(&other.squares);
        self.widen(other.min, other.max);
    }

    fn widen(&mut self, min: f64, max: f64) {
        self.min = self.min.min(min);
        self.max = self.max.max(max);
    }

    /// The number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum of the values, rounded once.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.sum.value()
    }

    /// The smallest value.
    pub fn min(&self) -> Result<f64, Undefined> {
        if self.count == 0 { Err(Undefined::Empty) } else { Ok(self.min) }
    }

    /// The largest value.
    pub fn max(&self) -> Result<f64, Undefined> {
        if self.count == 0 { Err(Undefined::Empty) } else { Ok(self.max) }
    }

    /// True when every value is 0 or 1.
    #[must_use]
    pub fn is_binary(&self) -> bool {
        // Within [0, 1] a square equals its root only at the ends, so equal sums leave no room for another value.
        self.is_unit() && self.squares.wide() == self.sum.wide()
    }

    /// True when every value lies in [0, 1].
    #[must_use]
    pub fn is_unit(&self) -> bool {
        self.count > 0 && self.min >= 0.0 && self.max <= 1.0
    }

    /// True when all values are the same.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.count > 0 && self.min == self.max
    }

    /// The arithmetic mean. Undefined for no values.
    pub fn mean(&self) -> Result<f64, Undefined> {
        if self.count == 0 {
            return Err(Undefined::Empty);
        }
        Undefined::check_finite(self.sum.value() / self.count as f64)
    }

    pub(crate) fn wide_mean(&self) -> Wide {
        self.sum.wide().over(self.count as f64)
    }

    /// The sample variance, with n − 1. Undefined below two values.
    pub fn variance(&self) -> Result<f64, Undefined> {
        if self.count < 2 {
            return Err(Undefined::TooFew { what: Quantity::Values, need: 2, have: self.count });
        }
        Ok(self.squared_deviations()? / (self.count - 1) as f64)
    }

    /// The sample standard deviation, with n − 1. Undefined below two values.
    pub fn std(&self) -> Result<f64, Undefined> {
        self.variance().map(f64::sqrt)
    }

    /// The standard error of the mean, s/√n. Undefined below two values.
    ///
    /// Zero means that the values seen are all alike, not that the next one will be.
    pub fn stderr(&self) -> Result<f64, Undefined> {
        Ok((self.variance()? / self.count as f64).sqrt())
    }

    /// The standard error that a bootstrap of the mean tends to as its resamples grow: √((n−1)/n) · s/√n.
    ///
    /// It is smaller than [`stderr`](Self::stderr) because resampling divides by n, not n − 1.
    pub fn bootstrap_stderr_limit(&self) -> Result<f64, Undefined> {
        if self.count == 0 {
            return Err(Undefined::Empty);
        }
        Ok(self.squared_deviations()?.sqrt() / self.count as f64)
    }

    /// The t interval of the mean (see [`t_interval`]). Undefined below two values.
    pub fn t_interval(&self, confidence: Confidence) -> Result<Interval, Undefined> {
        t_interval(self.mean()?, self.stderr()?, (self.count - 1) as f64, confidence)
    }

    /// The interval of the mean of scores in [0, 1]: Student's t after adding weight 0.3 z² at 0 and as much at 1.
    ///
    /// A t interval knows nothing of the scores it has not seen. Where one score in a hundred is 0 and the others
    /// are near 0.9, most samples of thirty hold no 0, look almost constant, and give a t interval that misses the
    /// mean three times out of four. The added weight, about one score at each end at 95 %, is what such samples
    /// leave open: it dominates where scores hardly vary and vanishes against n·s² elsewhere. It is Agresti and
    /// Coull's (1998) idea, who add z²/2 to 0/1 scores, where less keeps the level for graded ones.
    ///
    /// A 95 % interval covers at least 93.9 % of the time for scores that are near an end, U-shaped, nearly constant or
    /// rarely 0, from two scores on. For 0/1 scores prefer [`crate::proportion`].
    ///
    /// Undefined without values and when one lies outside [0, 1].
    ///
    /// ```
    /// use calipers_stats::{Confidence, Moments};
    ///
    /// let grades = Moments::from_slice(&[0.9, 0.91, 0.89, 0.9, 0.9, 0.92, 0.9, 0.88, 0.9, 0.9]);
    /// let interval = grades.unit_interval(Confidence::two_sided(0.95)?)?;
    /// assert!((0.65..0.66).contains(&interval.lower.unwrap()) && interval.upper.unwrap() < 1.0);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    pub fn unit_interval(&self, confidence: Confidence) -> Result<Interval, Undefined> {
        let mean = self.mean()?;
        self.check_within([0.0, 1.0], AllowedRange::UnitInterval)?;
        adjusted_t(self.count as f64, mean, self.squared_deviations()?, confidence)
    }

    /// The interval of the mean of values of which the least, the most or both are known: in the same way, and only the ends of the
    /// interval that something limits. What was seen stands for the other side, so that a limit far above all values takes nothing
    /// from the lower end.
    ///
    /// Undefined without values and when one lies beyond what is known.
    ///
    /// ```
    /// use calipers_stats::{Confidence, Moments};
    ///
    /// // Thirty attempts cost 1, and none can cost more than 10.
    /// let costs = Moments::from_slice(&[1.0; 30]);
    /// let interval = costs.limited_interval(Some(0.0), Some(10.0), Confidence::two_sided(0.95)?)?;
    /// assert!(interval.lower.unwrap() > 0.85 && (1.5..2.5).contains(&interval.upper.unwrap()));
    /// assert_eq!(costs.limited_interval(Some(0.0), None, Confidence::two_sided(0.95)?)?.upper, None);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    pub fn limited_interval(
        &self,
        least: Option<f64>,
        most: Option<f64>,
        confidence: Confidence,
    ) -> Result<Interval, Undefined> {
        let known = [least.unwrap_or(f64::NEG_INFINITY), most.unwrap_or(f64::INFINITY)];
        self.mean()?;
        self.check_within(known, AllowedRange::StatedRange)?;
        let below = least.map(|least| self.range_interval(least, self.max, confidence)).transpose()?;
        let above = most.map(|most| self.range_interval(self.min, most, confidence)).transpose()?;
        let lower = || below.and_then(|interval| interval.lower);
        Ok(confidence.partial_interval(Method::AdjustedT, lower, || above.and_then(|interval| interval.upper)))
    }

    /// The interval of values between these ends.
    fn range_interval(&self, low: f64, high: f64, confidence: Confidence) -> Result<Interval, Undefined> {
        let size = high - low;
        // All values are the same, and no other one is possible.
        let (mean, squares) = if size == 0.0 {
            (0.0, 0.0)
        } else {
            ((self.mean()? - low) / size, self.squared_deviations()? / size / size)
        };
        let interval = adjusted_t(self.count as f64, mean.clamp(0.0, 1.0), squares, confidence)?;
        let scale = |bound: f64| (low + bound * size).clamp(low, high);
        Ok(Interval { lower: interval.lower.map(scale), upper: interval.upper.map(scale), ..interval })
    }

    /// That no value lies beyond these ends.
    fn check_within(&self, [low, high]: [f64; 2], allowed: AllowedRange) -> Result<(), Undefined> {
        match [self.min, self.max].into_iter().find(|x| !(low..=high).contains(x)) {
            Some(value) => Err(Undefined::OutOfRange { what: Quantity::Value, value, allowed }),
            None => Ok(()),
        }
    }

    /// The interval of the mean of values whose range is not known: Student's t after adding as much weight beyond both ends
    /// of what was seen, half as far again from the mean, and at the ends of the scale that they fit (0 to 5, 10 or 100, or ±1, 10 or 100), if
    /// they are farther out. A grade of 0 among many between 80 and 100 may be rare, but is no surprise.
    ///
    /// Nothing limits such values, so a long tail may hide beyond the largest of them, and plain t covers 90 % of ten exponential
    /// values. This covers 94 to 97 % of ten to a thousand of them, normal, uniform or exponential, and 95 % of ratings from 1 to 5; of
    /// lognormal values with σ = 1 it covers 95 % or more from ten on. Of 30 or 100 scores between 80 and 100 of which one in fifty is 0 it covers
    /// 99 %, and 87 % without the scale. Undefined below ten values, where that cannot be had, for values that are all alike, and for values
    /// beyond 100, of which nothing says what else they could be: ten lognormal ones (σ = 1.5) were covered in 81 % of the runs.
    ///
    /// ```
    /// use calipers_stats::{Confidence, Moments};
    ///
    /// let ratings = Moments::from_slice(&[4.0, 5.0, 3.0, 4.0, 2.0, 5.0, 4.0, 4.0, 1.0, 5.0]);
    /// let interval = ratings.open_interval(Confidence::two_sided(0.95)?)?;
    /// assert!(interval.contains(3.0) && !interval.contains(2.0));
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    pub fn open_interval(&self, confidence: Confidence) -> Result<Interval, Undefined> {
        let (mean, n) = (self.mean()?, self.count as f64);
        if self.count < OPEN_NEEDS {
            return Err(Undefined::TooFew { what: Quantity::Values, need: OPEN_NEEDS, have: self.count });
        }
        if self.is_constant() {
            return Err(Undefined::NoSpread { what: Quantity::Values });
        }
        let seen = [self.min, self.max];
        let scale = find_scale_ends(seen).ok_or(Undefined::OutOfRange {
            what: Quantity::Value,
            value: if self.max > -self.min { self.max } else { self.min },
            allowed: AllowedRange::KnownScale,
        })?;
        open_t(n, mean, self.squared_deviations()?, seen, Some(scale), confidence)
    }

    /// The interval of the mean of differences between scores in [0, 1], in the same way: weight at −1 and at 1.
    ///
    /// For differences of 0/1 scores it covers where [`newcombe_paired`](crate::two_sample::newcombe_paired) falls to 91 %:
    /// where two runs nearly agree. Undefined without values and when one lies outside [−1, 1].
    ///
    /// ```
    /// use calipers_stats::{Confidence, Moments};
    ///
    /// let alike = Moments::from_slice(&[0.0; 50]).difference_interval(Confidence::two_sided(0.95)?)?;
    /// assert!((0.05..0.06).contains(&alike.upper.unwrap()) && alike.contains(0.0));
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    pub fn difference_interval(&self, confidence: Confidence) -> Result<Interval, Undefined> {
        let mean = self.mean()?;
        self.check_within([-1.0, 1.0], AllowedRange::MinusOneToOne)?;
        let squares = self.squared_deviations()? / 4.0;
        let interval = adjusted_t(self.count as f64, mean.midpoint(1.0), squares, confidence)?;
        let spread = |bound: f64| 2.0 * bound - 1.0;
        Ok(Interval { lower: interval.lower.map(spread), upper: interval.upper.map(spread), ..interval })
    }

    /// Σ(x − x̄)², from the exact sums: Σx² − (Σx)²/n in twice the precision of a double.
    fn squared_deviations(&self) -> Result<f64, Undefined> {
        // The IEEE answer for infinite data is inf − inf.
        if !self.sum.value().is_finite() {
            return Err(Undefined::NotFinite { value: f64::NAN });
        }
        if self.is_constant() {
            return Ok(0.0);
        }
        let sum = self.sum.wide();
        let about_zero = self.squares.wide();
        let about_mean = |squares: Wide, sum: Wide| squares.minus(sum.times(sum).over(self.count as f64)).value();
        let mut centred = about_mean(about_zero, sum);
        if !centred.is_finite() {
            // On the way, numbers are larger than at the end. Powers of two change no digit.
            const SHRINK: f64 = 1.0 / ((1_u128 << 100) as f64);
            let shrink = |wide: Wide, by: f64| Wide { high: wide.high * by, low: wide.low * by };
            centred = about_mean(shrink(about_zero, SHRINK * SHRINK), shrink(sum, SHRINK)) / SHRINK / SHRINK;
        }
        // Finite values whose squares are not: IEEE arithmetic ends at infinity.
        if centred.is_finite() { Ok(centred.max(0.0)) } else { Err(Undefined::NotFinite { value: f64::INFINITY }) }
    }
}

/// Below so many values of an unknown range, no interval of their mean holds its level for skewed ones.
pub(crate) const OPEN_NEEDS: u64 = 10;

/// Scales that people grade on, from 0 to these.
const SCALES: [f64; 3] = [5.0, 10.0, 100.0];

/// The end of the smallest scale that values between these ends fit: what was not seen is most likely on it too.
#[must_use]
pub fn find_scale([least, most]: [f64; 2]) -> Option<f64> {
    SCALES.into_iter().find(|scale| least >= 0.0 && most <= *scale)
}

/// Scales with values below 0 reach as far above it.
const SCALES_AROUND_ZERO: [f64; 3] = [1.0, 10.0, 100.0];

/// Both ends of that scale, which begins at 0 unless a value lies below. None for values beyond 100: nothing says what else they could be.
#[must_use]
pub fn find_scale_ends([least, most]: [f64; 2]) -> Option<[f64; 2]> {
    if least >= 0.0 {
        return find_scale([least, most]).map(|scale| [0.0, scale]);
    }
    SCALES_AROUND_ZERO.into_iter().find(|scale| -least <= *scale && most <= *scale).map(|scale| [-scale, scale])
}

/// How far beyond the mean the added weight lies, in distances of the values that were seen.
const BEYOND: f64 = 1.5;

/// Student's t for n scores in [0, 1] of this mean and sum of squared deviations, after adding weight 0.3 z² at both ends.
pub(crate) fn adjusted_t(n: f64, mean: f64, squares: f64, confidence: Confidence) -> Result<Interval, Undefined> {
    let AdjustedMoments { centre, stderr, total } = AdjustedMoments::new(n, mean, squares, confidence);
    let interval = around(Method::AdjustedT, centre, stderr, total - 1.0, confidence)?;
    let clip = |bound: f64| bound.clamp(0.0, 1.0);
    Ok(Interval { lower: interval.lower.map(clip), upper: interval.upper.map(clip), ..interval })
}

/// Student's t for n values of this mean and sum of squared deviations, after adding weight beyond the least and the greatest.
pub(crate) fn open_t(
    n: f64,
    mean: f64,
    squares: f64,
    seen: [f64; 2],
    scale: Option<[f64; 2]>,
    confidence: Confidence,
) -> Result<Interval, Undefined> {
    let weight = end_weight(confidence);
    let mut ends = seen.map(|end| mean + BEYOND * (end - mean));
    if let Some([least, most]) = scale {
        ends = [ends[0].min(least), ends[1].max(most)];
    }
    let total = n + 2.0 * weight;
    let centre = (n * mean + weight * (ends[0] + ends[1])) / total;
    let far: f64 = ends.iter().map(|end| weight * (end - centre).powi(2)).sum();
    let squares = squares + n * (mean - centre).powi(2) + far;
    let stderr = Undefined::check_finite((squares / (total - 1.0) / total).sqrt())?;
    around(Method::AdjustedT, centre, stderr, total - 1.0, confidence)
}

/// The weight that is added at each end, in units: 0.3 z², which is 1.15 at 95 %.
///
/// Of all laws with two values, such as 0.7 and rarely 0, and 5 to 3000 scores, 95 % intervals cover at least 93.9 % with it, and
/// 92.7 % with z²/4.
pub(crate) fn end_weight(confidence: Confidence) -> f64 {
    0.3 * normal_quantile(confidence.tail()).powi(2)
}

/// A mean of scores in [0, 1] after adding weight at both ends.
pub(crate) struct AdjustedMoments {
    pub(crate) centre: f64,
    pub(crate) stderr: f64,
    /// The scores and the weight added.
    pub(crate) total: f64,
}

impl AdjustedMoments {
    pub(crate) fn new(n: f64, mean: f64, squares: f64, confidence: Confidence) -> Self {
        let weight = end_weight(confidence);
        let total = n + 2.0 * weight;
        let centre = (n * mean + weight) / total;
        let ends = weight * (centre.powi(2) + (1.0 - centre).powi(2));
        let squares = squares + n * (mean - centre).powi(2) + ends;
        Self { centre, stderr: (squares / (total - 1.0) / total).sqrt(), total }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_large_offset_does_not_cost_precision() {
        let plain: Vec<f64> = (0..1000).map(|i| f64::from(i * 7919 % 1000) / 1024.0).collect();
        let offset: Vec<f64> = plain.iter().map(|x| x + 1e9).collect();
        let (a, b) = (Moments::from_slice(&plain), Moments::from_slice(&offset));
        assert!((a.variance().unwrap() / b.variance().unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn large_values_keep_their_spread_as_long_as_it_is_a_number() {
        let plain = Moments::from_slice(&[1.0, 3.0, 2.0, 5.0]);
        for scale in [1e140, 1e148, 1e150, 1e153] {
            let large = Moments::from_slice(&[1.0, 3.0, 2.0, 5.0].map(|x| x * scale));
            let ratio = large.std().unwrap() / scale / plain.std().unwrap();
            assert!((ratio - 1.0).abs() < 1e-12, "{scale}: {ratio}");
        }
        assert!(Moments::from_slice(&[1e160, 3e160]).std().is_err(), "its square is no number");
    }

    #[test]
    fn equal_values_have_no_spread_at_all() {
        assert_eq!(Moments::from_slice(&[0.7; 9]).std(), Ok(0.0));
    }

    #[test]
    fn zero_and_one_are_recognised() {
        assert!(Moments::from_slice(&[0.0, 1.0, 1.0]).is_binary());
        assert!(!Moments::from_slice(&[0.0, 1.0, 0.5]).is_binary());
        assert!(!Moments::from_slice(&[0.0, 2.0]).is_binary());
        assert!(!Moments::default().is_binary());
    }

    #[test]
    fn infinite_values_are_undefined_not_numbers() {
        let moments = Moments::from_slice(&[1.0, f64::INFINITY]);
        assert_eq!(moments.mean(), Err(Undefined::NotFinite { value: f64::INFINITY }));
        assert!(matches!(moments.variance(), Err(Undefined::NotFinite { value }) if value.is_nan()));
        assert!(Moments::from_slice(&[1.0, f64::NAN]).variance().is_err());
        let far = Moments::from_slice(&[0.0, 1e308]);
        assert_eq!(far.variance(), Err(Undefined::NotFinite { value: f64::INFINITY }));
    }

    /// The plain two-pass formula.
    fn slow_variance(values: &[f64]) -> f64 {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
    }

    #[test]
    fn the_interval_of_few_grades_is_that_of_t_with_weight_at_both_ends() {
        // Two scores of 0.5 and weight w = 0.3 z² at 0 and at 1: the centre is 0.5 and Σ(x − 0.5)² = w/2.
        let confidence = Confidence::two_sided(0.95).unwrap();
        let interval = Moments::from_slice(&[0.5, 0.5]).unit_interval(Confidence::two_sided(0.5).unwrap()).unwrap();
        let weight = 0.3 * normal_quantile(0.25).powi(2);
        let total = 2.0 + 2.0 * weight;
        let reach = crate::special::t_quantile(0.75, total - 1.0) * (weight / 2.0 / (total - 1.0) / total).sqrt();
        assert!((interval.upper.unwrap() - 0.5 - reach).abs() < 1e-12);
        assert_eq!(interval.method, Method::AdjustedT);
        assert_eq!(Moments::default().unit_interval(confidence), Err(Undefined::Empty));
        assert!(Moments::from_slice(&[0.5, 1.5]).unit_interval(confidence).is_err());
    }

    proptest! {
        #[test]
        fn the_interval_of_grades_holds_their_mean_and_mirrors(
            grades in prop::collection::vec(0.0f64..=1.0, 1..40),
            level in 0.5f64..0.999,
        ) {
            let confidence = Confidence::two_sided(level).unwrap();
            let moments = Moments::from_slice(&grades);
            let mirrored: Vec<f64> = grades.iter().map(|x| 1.0 - x).collect();
            let (one, other) =
                (moments.unit_interval(confidence), Moments::from_slice(&mirrored).unit_interval(confidence));
            let (one, other) = (one.unwrap(), other.unwrap());
            let (lower, upper) = (one.lower.unwrap(), one.upper.unwrap());
            prop_assert!(lower <= moments.mean().unwrap() && moments.mean().unwrap() <= upper);
            prop_assert!((0.0..=1.0).contains(&lower) && (0.0..=1.0).contains(&upper));
            prop_assert!((lower + other.upper.unwrap() - 1.0).abs() < 1e-9);
        }
    }

    proptest! {
        #[test]
        fn repeats_and_shards_give_the_same_bits(values in prop::collection::vec(-1e6f64..1e6, 2..50), times in 1u64..5) {
            let mut once = Moments::default();
            let mut each = Moments::default();
            for &x in values.iter().rev() {
                once.add_repeated(x, times);
            }
            let repeated: Vec<f64> = values.iter().flat_map(|&x| std::iter::repeat_n(x, times as usize)).collect();
            let (left, right) = repeated.split_at(repeated.len() / 3);
            each.merge(&Moments::from_slice(right));
            each.merge(&Moments::from_slice(left));
            prop_assert_eq!(once.mean(), each.mean());
            prop_assert_eq!(once.variance(), each.variance());
        }

        /// Digits near and far below those of the largest value, so that both ways to add up a block are taken.
        #[test]
        fn slices_give_the_same_bits_as_single_values(
            values in prop::collection::vec((any::<i32>(), 0i32..70), 1..40),
            copies in 1usize..60,
        ) {
            let values: Vec<f64> = values.iter().map(|&(digits, power)| f64::from(digits) * 0.5f64.powi(power)).collect();
            let values = values.repeat(copies);
            let (slice, mut single) = (Moments::from_slice(&values), Moments::default());
            values.iter().for_each(|&x| single.add(x));
            prop_assert_eq!(slice.sum.wide(), single.sum.wide());
            prop_assert_eq!(slice.squares.wide(), single.squares.wide());
            prop_assert_eq!((slice.min, slice.max, slice.count), (single.min, single.max, single.count));
        }

        #[test]
        fn variance_agrees_with_the_plain_formula(values in prop::collection::vec(-1e3f64..1e3, 2..200)) {
            let fast = Moments::from_slice(&values).variance().unwrap();
            let slow = slow_variance(&values);
            prop_assert!((fast - slow).abs() <= 1e-10 * slow.max(1e-12), "{} {}", fast, slow);
        }
    }
}
