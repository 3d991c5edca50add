//! Randomness that is data: one recorded seed, one stream for each replicate.

/// A seed, recorded with every answer that used it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seed(pub u64);

impl Seed {
    /// The stream of replicate `index`.
    ///
    /// Replicates have streams of their own, so that they may be computed by any thread in any order.
    pub(crate) fn stream(self, index: u64) -> Stream {
        Stream { state: mix(mix(self.0) ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15)) }
    }
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014).
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A stream of random bits: Wang Yi's wyrand, the fastest of those measured for resampling.
///
/// Written here and not taken from a crate so that an update never changes a reported number.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    state: u64,
}

impl Stream {
    #[inline(always)]
    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0xa076_1d64_78bd_642f);
        let wide = u128::from(self.state) * u128::from(self.state ^ 0xe703_7ed1_a0b4_28db);
        (wide >> 64) as u64 ^ wide as u64
    }

    /// A whole number below `n`, by multiplication (Lemire 2019); its bias is below n/2⁶⁴.
    #[inline(always)]
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// A number in [0, 1), on a grid of 2⁻⁵³.
    #[inline(always)]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True or false, evenly.
    #[inline(always)]
    pub(crate) fn coin(&mut self) -> bool {
        self.next() >> 63 == 1
    }
}
