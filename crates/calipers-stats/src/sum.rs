//! Sums that do not depend on the order of their terms.
//!
//! Floating-point addition is not associative, so a sum made by eight threads differs from the same
//! sum made by one, and a report changes when a file is split. [`ExactSum`] keeps the sum *exactly*,
//! as a pair of doubles, and moves whatever a pair cannot hold to an expansion beside it. Its value is
//! the true sum rounded once: any order, any sharding, the same bits.
//!
//! Cost: two error-free additions (twelve flops) a term; the expansion is touched only when terms
//! differ in size by more than about sixteen orders of magnitude.

use crate::power_sums::{POWER_BLOCK, plain_sum};
use std::ops::Range;

/// The rounded sum of two numbers and its rounding error: `a + b == sum + error` exactly (Knuth 1969).
#[inline(always)]
pub(crate) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let shadow = sum - a;
    (sum, (a - (sum - shadow)) + (b - shadow))
}

/// The rounded product of two numbers and its rounding error (Dekker 1971).
///
/// Written without a fused multiply-add: the baseline x86-64 instruction set has none, and the
/// software fallback is an order of magnitude slower.
#[inline(always)]
pub(crate) fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    let (a_high, a_low) = split(a);
    let (b_high, b_low) = split(b);
    let error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
    (product, error)
}

/// A number as the sum of two with at most 26 significant bits each (Veltkamp 1968).
#[inline(always)]
fn split(x: f64) -> (f64, f64) {
    const SPLITTER: f64 = 134_217_729.0; // 2^27 + 1
    let scaled = SPLITTER * x;
    let high = scaled - (scaled - x);
    (high, x - high)
}

/// A number to twice the precision of a double: the unevaluated sum of two.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Wide {
    pub(crate) high: f64,
    pub(crate) low: f64,
}

impl Wide {
    pub(crate) fn new(high: f64, low: f64) -> Self {
        let (high, low) = two_sum(high, low);
        Self { high, low }
    }

    pub(crate) fn value(self) -> f64 {
        self.high + self.low
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        let (high, error) = two_sum(self.high, -other.high);
        let (low, tiny) = two_sum(self.low, -other.low);
        let (high, error) = two_sum(high, error + low);
        Self::new(high, error + tiny)
    }

    pub(crate) fn times(self, other: Self) -> Self {
        let (product, error) = two_product(self.high, other.high);
        Self::new(product, error + (self.high * other.low + self.low * other.high))
    }

    pub(crate) fn scale(self, factor: f64) -> Self {
        self.times(Self { high: factor, low: 0.0 })
    }

    /// Division by long division with one corrected remainder.
    pub(crate) fn over(self, divisor: f64) -> Self {
        let quotient = self.high / divisor;
        let (product, error) = two_product(quotient, divisor);
        let remainder = self.minus(Self::new(product, error));
        Self::new(quotient, remainder.value() / divisor)
    }
}

/// The exact sum of any number of doubles.
///
/// ```
/// use calipers_stats::ExactSum;
///
/// let mut sum = ExactSum::default();
/// for x in [1e16, 1.0, 1.0, -1e16] {
///     sum.add(x); // added as doubles, in this order, these make 0
/// }
/// assert_eq!(sum.value(), 2.0);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ExactSum {
    high: f64,
    low: f64,
    spill: Option<Box<Spill>>,
}

/// What a pair of doubles cannot hold.
#[derive(Clone, Debug, Default)]
struct Spill {
    /// Non-overlapping terms, smallest first (Shewchuk 1997).
    partials: Vec<f64>,
    /// The IEEE sum of infinities and NaNs; 0 when all terms were finite.
    special: f64,
}

impl Spill {
    fn add(&mut self, mut x: f64) {
        if !x.is_finite() {
            self.special += x;
            return;
        }
        let mut kept = 0;
        for index in 0..self.partials.len() {
            let (sum, error) = two_sum(x, self.partials[index]);
            if error != 0.0 {
                self.partials[kept] = error;
                kept += 1;
            }
            x = sum;
        }
        self.partials.truncate(kept);
        if x.is_finite() {
            self.partials.push(x);
        } else {
            self.special += x;
        }
    }

    /// The sum rounded once, to even on ties.
    fn value(&self) -> f64 {
        if self.special != 0.0 || self.special.is_nan() {
            return self.special;
        }
        let mut rest = self.partials.iter().rev();
        let Some(&first) = rest.next() else { return 0.0 };
        let mut high = first;
        while let Some(&next) = rest.next() {
            let (sum, low) = two_sum(high, next);
            high = sum;
            if low != 0.0 {
                return round_tie(high, low, rest.next().copied().unwrap_or(0.0));
            }
        }
        high
    }
}

/// When `low` is exactly half a unit of `high`, the sign of what follows decides the rounding.
fn round_tie(high: f64, low: f64, next: f64) -> f64 {
    if (low < 0.0) == (next < 0.0) && next != 0.0 {
        let doubled = 2.0 * low;
        let moved = high + doubled;
        if moved - high == doubled {
            return moved;
        }
    }
    high
}

const LANES: usize = 4;

impl ExactSum {
    /// The sum of nothing.
    pub(crate) const fn new() -> Self {
        Self { high: 0.0, low: 0.0, spill: None }
    }

    /// The sum of a few terms, rounded once. Passes, failures and most grades add up without an error, and then plain sums are
    /// exact and take half the time.
    #[inline]
    pub fn of_few(terms: impl Iterator<Item = f64> + Clone) -> f64 {
        let (mut plain, mut lost) = (0.0, 0.0);
        for x in terms.clone() {
            let (sum, error) = two_sum(plain, x);
            plain = sum;
            lost += error.abs();
        }
        // An infinity or a NaN makes `lost` a NaN.
        if lost == 0.0 {
            return plain;
        }
        let mut sum = Self::new();
        terms.for_each(|x| sum.add(x));
        sum.value()
    }

    /// Adds one term.
    #[inline]
    pub fn add(&mut self, x: f64) {
        let (high, error) = two_sum(self.high, x);
        let (low, lost) = two_sum(self.low, error);
        // An infinity or a NaN makes `lost` a NaN, so this one comparison also keeps those out.
        if lost == 0.0 {
            self.high = high;
            self.low = low;
        } else {
            self.spill.get_or_insert_default().add(x);
        }
    }

    /// Adds the exact product of two numbers.
    #[inline]
    pub fn add_product(&mut self, a: f64, b: f64) {
        let (product, error) = two_product(a, b);
        self.add(product);
        if product.is_finite() {
            self.add(error);
        }
    }

    /// Adds many terms.
    pub fn extend(&mut self, values: &[f64]) {
        for block in values.chunks(POWER_BLOCK) {
            match plain_sum(block) {
                Some(terms) => terms.iter().for_each(|&x| self.add(x)),
                None => block.iter().for_each(|&x| self.add(x)),
            }
        }
    }

    /// Adds the sum of another.
    pub fn merge(&mut self, other: &Self) {
        self.add(other.high);
        self.add(other.low);
        if let Some(theirs) = &other.spill {
            let mine = self.spill.get_or_insert_default();
            theirs.partials.iter().for_each(|&x| mine.add(x));
            mine.special += theirs.special;
        }
    }

    /// Numbers whose exact sum is this one. Added to another sum, in any order, they make it what merging would.
    ///
    /// ```
    /// use calipers_stats::ExactSum;
    ///
    /// let (mut sum, mut copy) = (ExactSum::default(), ExactSum::default());
    /// [1e16, 1.0, 1e-200, -1e16].into_iter().for_each(|x| sum.add(x));
    /// sum.terms().for_each(|x| copy.add(x));
    /// assert_eq!(copy.value(), sum.value());
    /// ```
    pub fn terms(&self) -> impl Iterator<Item = f64> + '_ {
        let spilled = self.spill.iter().flat_map(|spill| spill.partials.iter().copied().chain([spill.special]));
        [self.high, self.low].into_iter().chain(spilled)
    }

    /// The sum, rounded once.
    ///
    /// An infinity or a NaN among the terms gives what IEEE addition would give.
    #[must_use]
    pub fn value(&self) -> f64 {
        match &self.spill {
            None => self.high + self.low,
            Some(spill) => self.with_pair(spill).value(),
        }
    }

    /// The sum to twice the precision of a double.
    pub(crate) fn wide(&self) -> Wide {
        match &self.spill {
            None => Wide::new(self.high, self.low),
            Some(spill) => {
                let mut all = self.with_pair(spill);
                let high = all.value();
                all.add(-high);
                Wide { high, low: all.value() }
            }
        }
    }

    pub(crate) fn add_wide(&mut self, pair: Wide) {
        self.add(pair.high);
        self.add(pair.low);
    }

    fn with_pair(&self, spill: &Spill) -> Spill {
        let mut all = spill.clone();
        all.add(self.high);
        all.add(self.low);
        all
    }
}

/// The exact sums of `terms(x)` over a block, or `None` when a pair of doubles cannot hold one of them.
///
/// Several independent lanes let the compiler use vector instructions; the lanes are added at the end
/// by error-free additions, so the result is as exact as that of one lane.
#[inline(always)]
pub(crate) fn block_sum<T: Copy, const N: usize>(block: &[T], terms: impl Fn(T) -> [f64; N]) -> Option<[Wide; N]> {
    let mut high = [[0.0; LANES]; N];
    let mut low = [[0.0; LANES]; N];
    let mut lost = [[0.0; LANES]; N];
    let (chunks, tail) = block.as_chunks::<LANES>();
    let mut step = |lane: usize, x: T| {
        for (n, term) in terms(x).into_iter().enumerate() {
            let (sum, error) = two_sum(high[n][lane], term);
            let (rest, gone) = two_sum(low[n][lane], error);
            high[n][lane] = sum;
            low[n][lane] = rest;
            // Adding magnitudes keeps any loss visible; a NaN stays a NaN.
            lost[n][lane] += gone.abs();
        }
    };
    for chunk in chunks {
        for (lane, &x) in chunk.iter().enumerate() {
            step(lane, x);
        }
    }
    for (lane, &x) in tail.iter().enumerate() {
        step(lane, x);
    }
    let mut sums = [Wide::default(); N];
    for n in 0..N {
        let mut all = ExactSum::default();
        for lane in 0..LANES {
            if lost[n][lane] != 0.0 {
                return None;
            }
            all.add(high[n][lane]);
            all.add(low[n][lane]);
        }
        if all.spill.is_some() {
            return None;
        }
        sums[n] = all.wide();
    }
    Some(sums)
}

/// The power of two that is not smaller than this number. None near the ends of the range of a double.
pub(crate) fn power_above(largest: f64) -> Option<f64> {
    const MANTISSA: u64 = (1 << 52) - 1;
    match largest {
        0.0 => Some(1.0),
        x if (1e-100..1e100).contains(&x) => Some(f64::from_bits((x.to_bits() + MANTISSA) & !MANTISSA)),
        _ => None,
    }
}

/// Numbers with which [`cut`] keeps these many binary digits of numbers up to a power of two.
pub(crate) fn cuts<const N: usize>(power: f64, digits: [u32; N]) -> [f64; N] {
    let step = |digits: u32| f64::from_bits(u64::from(1023 - digits) << 52); // 2^-digits
    // The last digit of 1.5 · 2⁵² is that of 1, and so it stays when numbers up to half as large are added.
    digits.map(|digits| 1.5 * (1u64 << 52) as f64 * power * step(digits))
}

/// A number rounded to the last digit of `at`, which is much larger (Rump, Ogita and Oishi 2008).
#[inline(always)]
pub(crate) fn cut(x: f64, at: f64) -> f64 {
    (x + at) - at
}

/// The exact sum of a slice, rounded once.
#[must_use]
pub(crate) fn sum(values: &[f64]) -> f64 {
    let mut total = ExactSum::default();
    total.extend(values);
    total.value()
}

/// The exact sums of several numbers that are made of each of so many places, each rounded once. `fill` makes those of a block of
/// places, so that they are added up with vector instructions and nothing has to be kept.
pub(crate) fn sums_of_blocks<const N: usize>(
    count: usize,
    mut fill: impl FnMut(Range<usize>, &mut [[f64; POWER_BLOCK]; N]),
) -> [f64; N] {
    let mut totals = [const { ExactSum::new() }; N];
    let mut terms = [[0.0; POWER_BLOCK]; N];
    for start in (0..count).step_by(POWER_BLOCK) {
        let places = start..count.min(start + POWER_BLOCK);
        let length = places.len();
        fill(places, &mut terms);
        totals.iter_mut().zip(&terms).for_each(|(total, terms)| total.extend(&terms[..length]));
    }
    totals.map(|total| total.value())
}

/// The exact sum of what an iterator yields, rounded once.
pub(crate) fn sum_of(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut total = ExactSum::default();
    values.into_iter().for_each(|x| total.add(x));
    total.value()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn terms_of_very_different_size_are_all_counted() {
        for (terms, want) in [
            (vec![1e300, 1.0, -1e300], 1.0),
            (vec![1e-300, 1e300, 1.0, -1e300, -1.0], 1e-300),
            (vec![0.1; 10], 1.0),
            (vec![], 0.0),
            (vec![1e308, 1e308, -1e308], 1e308),
        ] {
            assert_eq!(sum(&terms), want, "{terms:?}");
            assert_eq!(ExactSum::of_few(terms.iter().copied()), want, "{terms:?}");
        }
    }

    #[test]
    fn few_terms_have_the_bits_of_many() {
        let lists: [&[f64]; 8] = [
            &[1.0, 0.0, 0.5, 1.0],
            &[-0.0, -0.0],
            &[0.1, 0.2, 0.3],
            &[f64::MAX, f64::MAX, -f64::MAX],
            &[f64::MIN_POSITIVE, -f64::MIN_POSITIVE / 2.0],
            &[1.0, f64::INFINITY],
            &[f64::NAN, 1.0],
            &[1e16, 1.0, -1e16, 1.0],
        ];
        for terms in lists {
            let mut exact = ExactSum::default();
            terms.iter().for_each(|x| exact.add(*x));
            assert_eq!(ExactSum::of_few(terms.iter().copied()).to_bits(), exact.value().to_bits(), "{terms:?}");
        }
    }

    #[test]
    fn an_infinity_is_not_swallowed() {
        assert_eq!(sum(&[1.0, f64::INFINITY]), f64::INFINITY);
        assert!(sum(&[f64::NEG_INFINITY, 1.0, f64::INFINITY]).is_nan());
        assert!(sum(&[f64::NAN, 1.0]).is_nan());
    }

    #[test]
    fn the_product_is_exact() {
        let (product, error) = two_product(0.1, 0.1);
        assert_eq!(product, 0.1 * 0.1);
        assert_eq!(error, f64::mul_add(0.1, 0.1, -product));
    }

    fn term() -> impl Strategy<Value = f64> {
        (any::<i64>(), -300i32..280).prop_map(|(digits, power)| digits as f64 * 10f64.powi(power))
    }

    proptest! {
        #[test]
        fn the_sum_ignores_order_and_sharding(mut terms in prop::collection::vec(term(), 0..200), cut in 0usize..200) {
            let whole = sum(&terms);
            let cut = cut.min(terms.len());
            let mut left = ExactSum::default();
            left.extend(&terms[..cut]);
            let mut right = ExactSum::default();
            terms[cut..].iter().for_each(|&x| right.add(x));
            right.merge(&left);
            prop_assert_eq!(right.value().to_bits(), whole.to_bits());
            terms.reverse();
            prop_assert_eq!(sum(&terms).to_bits(), whole.to_bits());
            terms.sort_by(f64::total_cmp);
            prop_assert_eq!(sum(&terms).to_bits(), whole.to_bits());
        }
    }
}
