//! The exact sums of numbers and of their squares, with the widest vector instructions that the processor has.
//!
//! A number is cut into three pieces of about 22 binary digits. Pieces, and products of two of them, are whole numbers of some
//! unit, so small that a thousand of them add up in a double without rounding. Nothing is rounded anywhere, so the number of
//! lanes, the order of additions and whether a product is fused with its addition change no bit: every processor finds the
//! same sums.

use crate::sum::{cuts, power_above};
use fearless_simd::{Level, dispatch, prelude::*};

/// The exact sums of the numbers of a block and of their squares, each as a few doubles to be added up, and their range.
pub(crate) struct PowerSums {
    pub(crate) sum: [f64; 3],
    pub(crate) squares: [f64; 6],
    pub(crate) min: f64,
    pub(crate) max: f64,
}

/// The most numbers that are added up at once.
pub(crate) const POWER_BLOCK: usize = 1024;

/// Where numbers up to 1 are cut. A number has at most 21 digits before the first cut, 22 to the second and 22 to the last; as
/// pieces are rounded to nearest, the second and the third are at most 2²¹ units. A product of two pieces is then at most 2⁴²
/// units, and 2¹⁰ of them stay below 2⁵³.
const DIGITS: [u32; 3] = [21, 43, 65];

/// A number at least this large, where the largest is 1, has no digits below the last cut.
const NO_SMALLER: f64 = 1.0 / (1u64 << (DIGITS[2] - f64::MANTISSA_DIGITS)) as f64;

/// Passes on the sums of the numbers block by block, or the block itself when a number has digits below 2⁻⁶⁵ of the largest, when
/// one is near the ends of the range of a double, and when one is no number.
pub(crate) fn power_sums(values: &[f64], mut each: impl FnMut(Result<PowerSums, &[f64]>)) {
    dispatch!(Level::new(), simd => {
        let mut scale = None;
        for block in values.chunks(POWER_BLOCK) {
            each(sums_of_block(simd, block, &mut scale).ok_or(block));
        }
    });
}

/// The exact sum of a block as three doubles to be added up, or `None` as for [`power_sums`], at digits below 2⁻¹²⁰ of the largest: sums
/// of pieces may be of pieces with twice as many digits as sums of products.
pub(crate) fn plain_sum(block: &[f64]) -> Option<[f64; 3]> {
    debug_assert!(block.len() <= POWER_BLOCK, "sums of longer blocks may round");
    dispatch!(Level::new(), simd => sum_of_block(simd, block))
}

/// The smallest and the largest of a slice, if all are numbers. What is no number may be passed over, or be the answer.
pub(crate) fn range(values: &[f64]) -> (f64, f64) {
    dispatch!(Level::new(), simd => range_of(simd, values))
}

#[inline(always)]
fn range_of<S: Simd>(simd: S, values: &[f64]) -> (f64, f64) {
    // Two of each, so that a comparison need not wait for the one before it.
    let mut least = [S::f64s::splat(simd, f64::INFINITY); 2];
    let mut most = [S::f64s::splat(simd, f64::NEG_INFINITY); 2];
    let mut chunks = values.chunks_exact(2 * S::f64s::LEN);
    for chunk in &mut chunks {
        let (first, second) = chunk.split_at(S::f64s::LEN);
        for (place, half) in [first, second].into_iter().enumerate() {
            let x = S::f64s::from_slice(simd, half);
            least[place] = x.min(least[place]);
            most[place] = x.max(most[place]);
        }
    }
    let least = least.iter().flat_map(SimdBase::as_slice).chain(chunks.remainder());
    let most = most.iter().flat_map(SimdBase::as_slice).chain(chunks.remainder());
    (least.fold(f64::INFINITY, |least, &x| least.min(x)), most.fold(f64::NEG_INFINITY, |most, &x| most.max(x)))
}

/// How numbers are cut into pieces.
#[derive(Clone, Copy)]
struct Scale {
    /// A power of two that none of them exceeds.
    largest: f64,
    cuts: [f64; 3],
    /// True when some are so small that their last digits may be cut off, or not positive.
    needs_check: bool,
}

impl Scale {
    #[inline(always)]
    fn of((min, max): (f64, f64)) -> Option<Self> {
        let largest = power_above(max.max(-min))?;
        Some(Self { largest, cuts: cuts(largest, DIGITS), needs_check: min < NO_SMALLER * largest })
    }
}

/// The sums of a block. The scale of the block before is tried first, which saves a look at the range.
#[inline(always)]
fn sums_of_block<S: Simd>(simd: S, block: &[f64], scale: &mut Option<Scale>) -> Option<PowerSums> {
    if let Some(known) = scale {
        if !known.needs_check {
            let found = sums_at_scale::<S, false>(simd, block, *known);
            if found.is_some() {
                return found;
            }
            known.needs_check = true;
        }
        let found = sums_at_scale::<S, true>(simd, block, *known);
        if found.is_some() {
            return found;
        }
    }
    let own = Scale::of(range_of(simd, block))?;
    *scale = Some(own);
    match own.needs_check {
        true => sums_at_scale::<S, true>(simd, block, own),
        false => sums_at_scale::<S, false>(simd, block, own),
    }
}

/// The sums of a block at a scale, if it is one of the block. Without a check, only of numbers that are positive and not small.
#[inline(always)]
fn sums_at_scale<S: Simd, const CHECKED: bool>(simd: S, block: &[f64], scale: Scale) -> Option<PowerSums> {
    let mut pieces = Pieces::new(simd, scale.cuts);
    let mut products = [S::f64s::splat(simd, 0.0); 6];
    let mut least = S::f64s::splat(simd, f64::INFINITY);
    let mut most = S::f64s::splat(simd, f64::NEG_INFINITY);
    let (vectors, tail) = block.split_at(block.len() - block.len() % S::f64s::LEN);
    for vector in vectors.chunks_exact(S::f64s::LEN) {
        let x = S::f64s::from_slice(simd, vector);
        least = x.min(least);
        most = x.max(most);
        add_products::<S>(&mut products, pieces.add::<CHECKED>(x));
    }
    if !tail.is_empty() {
        add_products::<S>(&mut products, pieces.add::<CHECKED>(with_zeros(simd, tail)));
    }
    let min = least.as_slice().iter().chain(tail).fold(f64::INFINITY, |least, &x| least.min(x));
    let max = most.as_slice().iter().chain(tail).fold(f64::NEG_INFINITY, |most, &x| most.max(x));
    let is_in_range = max <= scale.largest && min >= if CHECKED { -scale.largest } else { NO_SMALLER * scale.largest };
    let sum = pieces.finish(scale.cuts).filter(|_| is_in_range)?;
    let [aa, ab, ac, bb, bc, cc] = products.each_ref().map(|lanes| lanes.as_slice().iter().sum::<f64>());
    Some(PowerSums { sum, squares: [aa, 2.0 * ab, 2.0 * ac, bb, 2.0 * bc, cc], min, max })
}

#[inline(always)]
fn add_products<S: Simd>([aa, ab, ac, bb, bc, cc]: &mut [S::f64s; 6], [a, b, c]: [S::f64s; 3]) {
    *aa = a.mul_add(a, *aa);
    *ab = a.mul_add(b, *ab);
    *ac = a.mul_add(c, *ac);
    *bb = b.mul_add(b, *bb);
    *bc = b.mul_add(c, *bc);
    *cc = c.mul_add(c, *cc);
}

#[inline(always)]
fn sum_of_block<S: Simd>(simd: S, block: &[f64]) -> Option<[f64; 3]> {
    let (min, max) = range_of(simd, block);
    let cuts = cuts(power_above(max.max(-min))?, [40, 80, 120]);
    let mut pieces = Pieces::new(simd, cuts);
    let (vectors, tail) = block.split_at(block.len() - block.len() % S::f64s::LEN);
    for vector in vectors.chunks_exact(S::f64s::LEN) {
        pieces.add::<true>(S::f64s::from_slice(simd, vector));
    }
    pieces.add::<true>(with_zeros(simd, tail));
    pieces.finish(cuts)
}

/// The most lanes that a vector of any processor has.
const LANES_MAX: usize = 8;

/// A vector that begins with these numbers.
#[inline(always)]
fn with_zeros<S: Simd>(simd: S, numbers: &[f64]) -> S::f64s {
    let mut all = [0.0; LANES_MAX];
    all[..numbers.len()].copy_from_slice(numbers);
    S::f64s::from_slice(simd, &all[..S::f64s::LEN])
}

/// Sums of three pieces of numbers.
struct Pieces<S: Simd> {
    /// Each begins with the number at which it cuts, so that its last digit is the last digit of the piece.
    sums: [S::f64s; 3],
    /// Not 0 when a number has more digits than the pieces hold.
    left_over: <S::f64s as SimdFloat<S>>::Bits,
}

impl<S: Simd> Pieces<S> {
    #[inline(always)]
    fn new(simd: S, cuts: [f64; 3]) -> Self {
        let sums = [S::f64s::splat(simd, cuts[0]), S::f64s::splat(simd, cuts[1]), S::f64s::splat(simd, cuts[2])];
        Self { sums, left_over: S::f64s::splat(simd, 0.0).to_bits() }
    }

    /// Adds numbers, and returns their pieces. Without a check, the last piece is all that the others leave.
    #[inline(always)]
    fn add<const CHECKED: bool>(&mut self, x: S::f64s) -> [S::f64s; 3] {
        let [of_a, of_b, of_c] = &mut self.sums;
        let (a, rest) = take_piece::<S>(of_a, x);
        let (b, rest) = take_piece::<S>(of_b, rest);
        if !CHECKED {
            *of_c += rest;
            return [a, b, rest];
        }
        let (c, rest) = take_piece::<S>(of_c, rest);
        self.left_over |= rest.to_bits();
        [a, b, c]
    }

    /// The sum as three doubles, if the pieces hold all digits of numbers.
    #[inline(always)]
    fn finish(self, cuts: [f64; 3]) -> Option<[f64; 3]> {
        if self.left_over.as_slice().iter().any(|&bits| bits != 0) {
            return None;
        }
        let mut sum = [0.0; 3];
        for ((sum, lanes), at) in sum.iter_mut().zip(&self.sums).zip(cuts) {
            *sum = lanes.as_slice().iter().map(|x| x - at).sum();
        }
        // Without a check, it is here that what is no number shows.
        Some(sum).filter(|sum| !sum[0].is_nan())
    }
}

/// Adds a number to a sum as far as its last digit, and returns what was added and what was not (Rump, Ogita and Oishi 2008).
#[inline(always)]
fn take_piece<S: Simd>(sum: &mut S::f64s, x: S::f64s) -> (S::f64s, S::f64s) {
    let grown = *sum + x;
    let piece = grown - *sum;
    *sum = grown;
    (piece, x - piece)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sum::{Wide, sum_of, two_product};
    use proptest::prelude::*;

    /// Numbers with digits near and far below those of the largest.
    fn numbers() -> impl Strategy<Value = Vec<f64>> {
        let number = (any::<i32>(), 0i32..50).prop_map(|(digits, power)| f64::from(digits) * 0.5f64.powi(power));
        prop::collection::vec(number, 1..200)
    }

    fn of_block(numbers: &[f64]) -> Option<PowerSums> {
        let mut found = None;
        power_sums(numbers, |sums| found = sums.ok());
        found
    }

    proptest! {
        #[test]
        fn the_sums_of_a_block_are_those_of_its_numbers(numbers in numbers()) {
            let squares = |x: &f64| { let (square, error) = two_product(*x, *x); [square, error] };
            if let Some(found) = of_block(&numbers) {
                prop_assert_eq!(sum_of(found.sum), sum_of(numbers.iter().copied()));
                prop_assert_eq!(sum_of(found.squares), sum_of(numbers.iter().flat_map(squares)));
                let fold = |pick: fn(f64, f64) -> f64| numbers.iter().copied().reduce(pick);
                prop_assert_eq!((Some(found.min), Some(found.max)), (fold(f64::min), fold(f64::max)));
            }
            if let Some(found) = plain_sum(&numbers) {
                prop_assert_eq!(sum_of(found), sum_of(numbers.iter().copied()));
            }
        }
    }

    #[test]
    fn a_thousand_numbers_of_all_digits_do_not_round() {
        // The largest pieces that there are, all of one sign.
        let numbers = vec![1.0 - f64::EPSILON; POWER_BLOCK];
        let found = of_block(&numbers).expect("they are alike");
        assert_eq!(sum_of(found.sum), sum_of(numbers.iter().copied()));
        let (square, error) = two_product(numbers[0], numbers[0]);
        let exact = Wide::new(square, error).scale(POWER_BLOCK as f64);
        assert_eq!(sum_of(found.squares), exact.value());
    }

    #[test]
    fn a_block_does_not_depend_on_the_scale_of_those_before_it() {
        let blocks: [[f64; 5]; 6] = [
            [0.5, 0.25, 0.7, 0.1, 0.9],
            [0.5, 0.0, 0.7, 1e-3, 0.9],
            [300.0, 0.1, 0.2, 7.0, 1.0 / 3.0],
            [1e-3, 2e-3, 1e-3 / 3.0, 5e-4, 1e-3],
            [-0.5, 0.5, -1.0 / 3.0, 0.1, -0.0],
            [0.1, f64::NAN, 0.2, 0.3, 0.4],
        ];
        let all: Vec<f64> = blocks.iter().flat_map(|block| block.iter().copied().cycle().take(POWER_BLOCK)).collect();
        let mut found = Vec::new();
        power_sums(&all, |sums| found.push(sums.ok().map(|sums| (sum_of(sums.sum), sum_of(sums.squares)))));
        let alone =
            all.chunks(POWER_BLOCK).map(|block| of_block(block).map(|one| (sum_of(one.sum), sum_of(one.squares))));
        assert_eq!(found, alone.collect::<Vec<_>>());
        assert_eq!(found.iter().filter(|found| found.is_none()).count(), 2, "a NaN, and a zero with a sign");
    }

    #[test]
    fn what_does_not_fit_is_left_to_others() {
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-300, 1e200, 1.0 / 3.0 * 1e-9] {
            assert!(of_block(&[1.0, odd, 0.5]).is_none(), "{odd}");
        }
        assert!(of_block(&[]).is_none() && plain_sum(&[1.0, 1e-40]).is_none());
        assert!(plain_sum(&[1.0, 1.0 / 3.0 * 1e-9]).is_some() && of_block(&[0.0; 3]).is_some());
    }
}
