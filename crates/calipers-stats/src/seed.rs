//! Randomness that is data: one recorded seed, one stream for each replicate.

/// A seed, recorded with every answer that used it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seed(pub u64);

impl Seed {
    /// The stream of replicate `index`.
    ///
    /// Each replicate has its own stream, so any thread may compute it, in any order.
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

    /// Two whole numbers below `n`, for the price of one; their bias is below n/2³².
    #[inline(always)]
    pub(crate) fn pair_below(&mut self, n: u32) -> (usize, usize) {
        let bits = self.next();
        let scaled = |half: u64| (half * u64::from(n)) >> 32;
        (scaled(bits & 0xffff_ffff) as usize, scaled(bits >> 32) as usize)
    }

    /// The number of successes in `n` trials of probability `p`.
    ///
    /// Exact in distribution, and written here for the reason above: by inversion where few successes
    /// are expected, else by rejection from a transformed uniform. A `p` outside [0, 1] counts as the
    /// nearer end.
    pub(crate) fn binomial(&mut self, n: u64, p: f64) -> u64 {
        if p > 0.5 {
            return n - self.rarer_successes(n, 1.0 - p);
        }
        self.rarer_successes(n, p)
    }

    /// The same for `p` up to a half.
    fn rarer_successes(&mut self, n: u64, p: f64) -> u64 {
        /// Hörmann proves his bounds from here on.
        const REJECTION_FROM: f64 = 10.0;
        if n == 0 || p.is_nan() || p <= 0.0 {
            0
        } else if n as f64 * p < REJECTION_FROM {
            self.binomial_by_inversion(n, p)
        } else {
            self.binomial_by_rejection(n, p)
        }
    }

    /// Walks up the probabilities from zero successes until they exceed a uniform number.
    fn binomial_by_inversion(&mut self, n: u64, p: f64) -> u64 {
        let odds = p / (1.0 - p);
        let none = (n as f64 * (-p).ln_1p()).exp();
        loop {
            let (mut left, mut mass) = (self.unit(), none);
            // Rounding may leave a uniform number of nearly 1 above all masses: then draw again.
            for k in 0..=n {
                if left < mass {
                    return k;
                }
                left -= mass;
                mass *= odds * (n - k) as f64 / (k + 1) as f64;
                if mass < 1e-30 {
                    break;
                }
            }
        }
    }

    /// Algorithm BTRS of Hörmann 1993, "The generation of binomial random variates".
    ///
    /// His constants; the logarithms are of ratios near 1, so that large n costs no precision.
    fn binomial_by_rejection(&mut self, n: u64, p: f64) -> u64 {
        let size = n as f64;
        let deviation = (size * p * (1.0 - p)).sqrt();
        let b = 1.15 + 2.53 * deviation;
        let a = -0.0873 + 0.0248 * b + 0.01 * p;
        let centre = size * p + 0.5;
        let sure = 0.92 - 4.2 / b;
        loop {
            let u = self.unit() - 0.5;
            let v = self.unit();
            let edge = 0.5 - u.abs();
            let k = ((2.0 * a / edge + b) * u + centre).floor();
            if edge >= 0.07 && v <= sure {
                return k as u64;
            }
            if !(0.0..=size).contains(&k) {
                continue;
            }
            let alpha = (2.83 + 5.1 / b) * deviation;
            let height = (v * alpha / (a / (edge * edge) + b)).ln();
            if height <= ln_mass_over_mode(k, size, p) {
                return k as u64;
            }
        }
    }
}

/// ln(P(X = k) / P(X = mode)) for X ~ Binomial(n, p).
fn ln_mass_over_mode(k: f64, n: f64, p: f64) -> f64 {
    let odds = p / (1.0 - p);
    let mode = ((n + 1.0) * p).floor();
    let step = |at: f64| (odds * (n - at + 1.0) / (at + 1.0)).ln();
    (n + 1.0) * ((k - mode) / (n - k + 1.0)).ln_1p() + (k + 0.5) * step(k) - (mode + 0.5) * step(mode)
        + stirling_tail(mode)
        + stirling_tail(n - mode)
        - stirling_tail(k)
        - stirling_tail(n - k)
}

/// ln k! less Stirling's formula about k + 1.
fn stirling_tail(k: f64) -> f64 {
    const SMALL: [f64; 10] = [
        0.081_061_466_795_327_26,
        0.041_340_695_955_409_29,
        0.027_677_925_684_998_34,
        0.020_790_672_103_765_09,
        0.016_644_691_189_821_19,
        0.013_876_128_823_070_75,
        0.011_896_709_945_891_77,
        0.010_411_265_261_972_10,
        0.009_255_462_182_712_73,
        0.008_330_563_433_362_87,
    ];
    if let Some(&tail) = SMALL.get(k as usize) {
        return tail;
    }
    let next = k + 1.0;
    let square = next * next;
    (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / next
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::binomial_cdf;

    /// Pearson's χ² of draws against the binomial law, over cells that expect at least ten.
    fn chi_square(n: u64, p: f64, draws: u64) -> (f64, u32) {
        let mut stream = Seed(7).stream(n);
        let mut seen = vec![0u64; n as usize + 1];
        for _ in 0..draws {
            seen[stream.binomial(n, p) as usize] += 1;
        }
        let (mut total, mut cells, mut below, mut inside, mut got) = (0.0, 0, 0.0, 0.0, 0u64);
        for k in 0..=n {
            let upto = if k == n { 1.0 } else { binomial_cdf(k, n, p) };
            inside += (upto - below) * draws as f64;
            below = upto;
            got += seen[k as usize];
            let beyond = (1.0 - upto) * draws as f64;
            if (inside >= 10.0 && beyond >= 10.0) || k == n {
                total += (got as f64 - inside).powi(2) / inside;
                cells += 1;
                (inside, got) = (0.0, 0);
            }
        }
        (total, cells)
    }

    #[test]
    fn binomial_draws_follow_the_binomial_law() {
        for (n, p) in [
            (1, 0.5),
            (7, 0.3),
            (12, 0.97),
            (40, 0.2),
            (25, 0.4),
            (25, 0.5),
            (1000, 0.009),
            (1000, 0.011),
            (1000, 0.5),
            (5000, 0.93),
            (100_000, 0.04096),
        ] {
            let (chi_square, cells) = chi_square(n, p, 200_000);
            let df = f64::from(cells - 1).max(1.0);
            // Five standard deviations of χ², for draws that are the same in every run.
            assert!(chi_square < df + 5.0 * (2.0 * df).sqrt(), "n = {n}, p = {p}: {chi_square} on {df}");
        }
    }

    #[test]
    fn certain_trials_leave_nothing_to_chance() {
        let mut stream = Seed(1).stream(0);
        for n in [0, 1, 50, 1 << 40] {
            assert_eq!(stream.binomial(n, 0.0), 0);
            assert_eq!(stream.binomial(n, 1.0), n);
            assert!(stream.binomial(n, 0.5) <= n);
        }
    }

    #[test]
    fn a_seed_means_the_same_numbers_for_ever() {
        let mut stream = Seed(20_260_101).stream(3);
        let first = [stream.next(), stream.below(1000) as u64, stream.binomial(1000, 0.3), stream.binomial(9, 0.3)];
        assert_eq!(first, FIRST_NUMBERS);
    }

    /// Changing these changes every reported bootstrap.
    const FIRST_NUMBERS: [u64; 4] = [13_019_117_492_814_399_042, 416, 289, 3];
}
