//! Exact sums of numbers with few digits, sixteen bytes each with their counts.
//!
//! Where all numbers are whole multiples of some unit and none has more than 62 binary digits of it, they are added up as whole numbers:
//! exactly, with one addition each. Most scores are such numbers. A sum and the count of its numbers stand in one integer, so that of
//! many sums, which are added to in any order, as many as possible are in the caches of the processor.

use crate::ExactSum;
use crate::power_sums::range;
use crate::sum::{cut, cuts, power_above};

/// The binary digits of a number, in units.
const DIGITS: u32 = 62;
/// The lowest bits of a cell are the sum, as a signed number; above it is the count.
const SUM_BITS: u32 = 96;
const ONE: i128 = 1 << SUM_BITS;
/// As many numbers can be added: their count has 31 bits, and their sum fewer than a cell has for it.
const ROOM: usize = (1 << 31) - 1;

/// Sums by place.
#[derive(Clone, Debug)]
pub(crate) struct FixedSums {
    /// No number is larger.
    power: f64,
    cuts: [f64; 2],
    /// How many units 1 is, and what one is.
    units: f64,
    unit: f64,
    room: usize,
    cells: Vec<i128>,
}

impl FixedSums {
    /// Sums of nothing, for numbers as large as these; none near the ends of the range of a double.
    pub(crate) fn for_values(values: &[f64]) -> Option<Self> {
        let (min, max) = range(values);
        let power = power_above(max.max(-min))?;
        let units = (1_u64 << DIGITS) as f64 / power;
        Some(Self { power, cuts: cuts(power, [31, DIGITS]), units, unit: 1.0 / units, room: ROOM, cells: Vec::new() })
    }

    /// True when these numbers can be added: none is too large or has too many digits, and there are not too many.
    pub(crate) fn fit(&self, values: &[f64]) -> bool {
        // No early exit, so that vector instructions can do it. A NaN is not within.
        let are_whole = values.iter().fold(true, |are_whole, &x| {
            let low = x - cut(x, self.cuts[0]);
            are_whole & (x.abs() <= self.power) & (cut(low, self.cuts[1]) == low)
        });
        are_whole && values.len() <= self.room
    }

    /// Adds numbers that [`fit`](Self::fit), each to the sum of its place.
    pub(crate) fn extend(&mut self, places: &[u32], values: &[f64]) {
        self.room = self.room.saturating_sub(values.len());
        let needed = places.iter().fold(0, |largest, &place| largest.max(place)) as usize + 1;
        if needed > self.cells.len() {
            self.cells.resize(needed, 0);
        }
        let cells = &mut self.cells[..];
        for (&place, &x) in places.iter().zip(values) {
            // Units are powers of two, so the product is exact, and it is whole.
            cells[place as usize] += ONE + i128::from((x * self.units) as i64);
        }
    }

    /// The number of places.
    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    /// The sum and the count of each place.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ExactSum, u64)> + '_ {
        self.cells.iter().map(|&cell| {
            let whole = cell << (i128::BITS - SUM_BITS) >> (i128::BITS - SUM_BITS);
            let count = (cell - whole) >> SUM_BITS;
            // The rest of a whole number beside the nearest double has few digits.
            let high = whole as f64;
            let low = (whole - high as i128) as f64;
            let mut sum = ExactSum::default();
            sum.add(high * self.unit);
            sum.add(low * self.unit);
            (sum, count as u64)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Of either sign, of up to 53 digits, and with a number that takes all of the range.
        #[test]
        fn sums_are_those_of_the_numbers_one_by_one(
            numbers in prop::collection::vec((0..5_u32, -(1_i64 << 53)..1 << 53, 0..9_i32), 1..200),
            power in -200..200_i32,
        ) {
            let scale = 2f64.powi(power);
            let values: Vec<f64> = numbers.iter().map(|(_, whole, shift)| *whole as f64 * scale * 2f64.powi(-shift)).chain([scale * 2f64.powi(53)]).collect();
            let places: Vec<u32> = numbers.iter().map(|(place, ..)| *place).chain([4]).collect();
            let mut sums = FixedSums::for_values(&values).expect("not near the ends of the range");
            prop_assume!(sums.fit(&values));
            let (half, rest) = (values.len() / 2, values.len());
            sums.extend(&places[..half], &values[..half]);
            sums.extend(&places[half..rest], &values[half..rest]);
            prop_assert_eq!(sums.len(), 5);
            for (place, (sum, count)) in (0..).zip(sums.iter()) {
                let mut want = ExactSum::default();
                let own = || places.iter().zip(&values).filter(|(at, _)| **at == place);
                own().for_each(|(_, &x)| want.add(x));
                prop_assert_eq!((sum.wide(), count), (want.wide(), own().count() as u64));
            }
        }
    }

    #[test]
    fn numbers_with_other_digits_do_not_fit() {
        let sums = FixedSums::for_values(&[0.25, 1.0, -0.5]).expect("within the range");
        let tiny = 2f64.powi(-62);
        assert!(sums.fit(&[0.1, -1.0, tiny, 0.0, -0.0]));
        for wrong in [1.5, -2.0, tiny / 2.0, 1e-30, f64::NAN, f64::INFINITY] {
            assert!(!sums.fit(&[0.5, wrong]), "{wrong}");
        }
        assert!(FixedSums::for_values(&[f64::INFINITY]).is_none() && FixedSums::for_values(&[1e-200]).is_none());
    }
}
