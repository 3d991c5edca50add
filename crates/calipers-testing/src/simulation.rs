//! Seeded draws, and a table that compares what was counted with what is claimed.

use std::fmt::Write;

/// A deterministic stream of random numbers: splitmix64 (Steele, Lea and Flood 2014).
///
/// The generator of the library under test is not used, because it is tested too. Normal draws need a quantile function, which
/// the caller passes.
pub struct Draws {
    state: u64,
    normal_quantile: fn(f64) -> f64,
}

impl Draws {
    /// The stream of this seed, with the quantile function of the standard normal distribution.
    pub fn new(seed: u64, normal_quantile: fn(f64) -> f64) -> Self {
        Self { state: seed, normal_quantile }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.state;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// Strictly between 0 and 1.
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// A whole number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }

    /// A draw from the standard normal distribution.
    pub fn normal(&mut self) -> f64 {
        let p = self.unit();
        (self.normal_quantile)(p)
    }

    /// A draw from the exponential distribution with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }

    /// 0 or 1.
    pub fn coin(&mut self, p: f64) -> f64 {
        f64::from(u8::from(self.unit() < p))
    }

    /// Which of `all` things are chosen, `chosen` of them at random.
    pub fn choose(&mut self, all: usize, chosen: usize) -> Vec<bool> {
        let mut is_chosen = vec![false; all];
        // Floyd 1987: each place is new, or the last one is taken in its stead.
        for last in all.saturating_sub(chosen)..all {
            let place = self.below(last + 1);
            let place = if is_chosen[place] { last } else { place };
            is_chosen[place] = true;
        }
        is_chosen
    }

    /// The number of successes among `n`.
    pub fn binomial(&mut self, n: u64, p: f64) -> u64 {
        (0..n).map(|_| u64::from(self.unit() < p)).sum()
    }

    /// Marsaglia and Tsang 2000, with their boost for shapes below 1.
    fn ln_gamma_draw(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            return self.ln_gamma_draw(shape + 1.0) + self.unit().ln() / shape;
        }
        let d = shape - 1.0 / 3.0;
        loop {
            let x = self.normal();
            let v = (1.0 + x / (9.0 * d).sqrt()).powi(3);
            if v > 0.0 && self.unit().ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return (d * v).ln();
            }
        }
    }

    /// In logarithms, since shapes near 0 give gammas too small for a double.
    pub fn beta(&mut self, a: f64, b: f64) -> f64 {
        let (x, y) = (self.ln_gamma_draw(a), self.ln_gamma_draw(b));
        1.0 / (1.0 + (y - x).exp())
    }
}

/// What an observed rate must be.
#[derive(Clone, Copy)]
pub enum Claim {
    /// This, but for noise.
    Is(f64),
    /// This, give or take the second number and noise: for figures that were themselves rounded or simulated.
    About(f64, f64),
    /// At least this, but for noise.
    AtLeast(f64),
    /// At most this, but for noise.
    AtMost(f64),
}

impl Claim {
    /// The band of allowed rates: four standard errors of a count among `replications` around the claim.
    fn band(self, replications: u64) -> (f64, f64) {
        let noise = |p: f64| 4.0 * (p * (1.0 - p) / replications as f64).sqrt();
        match self {
            Self::Is(p) => (p - noise(p), p + noise(p)),
            Self::About(p, slack) => (p - slack - noise(p), p + slack + noise(p)),
            Self::AtLeast(p) => (p - noise(p), 1.0),
            Self::AtMost(p) => (0.0, p + noise(p)),
        }
    }

    /// The same where nothing is left to chance but rounding.
    fn exact_band(self) -> (f64, f64) {
        const ROUNDING: f64 = 1e-9;
        let (low, high) = match self {
            Self::Is(p) => (p, p),
            Self::About(p, slack) => (p - slack, p + slack),
            Self::AtLeast(p) => (p, 1.0),
            Self::AtMost(p) => (0.0, p),
        };
        (low - ROUNDING, high + ROUNDING)
    }
}

/// A table, one row per claim, printed whole; it panics at the end when a claim does not hold.
pub struct Table {
    text: String,
    broken: Vec<String>,
}

impl Table {
    /// A table without rows.
    pub fn new(title: &str) -> Self {
        Self { text: format!("\n{title}\n"), broken: Vec::new() }
    }

    /// A rate counted among replications.
    pub fn counted(&mut self, what: impl AsRef<str>, nominal: f64, hits: u64, replications: u64, claim: Claim) {
        let band = claim.band(replications);
        self.row(what.as_ref(), nominal, hits as f64 / replications as f64, &format!("{replications}"), band);
    }

    /// A rate computed by enumeration.
    pub fn exact(&mut self, what: impl AsRef<str>, nominal: f64, observed: f64, claim: Claim) {
        self.row(what.as_ref(), nominal, observed, "exact", claim.exact_band());
    }

    /// Any number with its own band.
    pub fn number(&mut self, what: impl AsRef<str>, nominal: f64, observed: f64, of: &str, band: (f64, f64)) {
        self.row(what.as_ref(), nominal, observed, of, band);
    }

    fn row(&mut self, what: &str, nominal: f64, observed: f64, of: &str, (low, high): (f64, f64)) {
        let mut row = String::new();
        let band = format!("[{low:.4}, {high:.4}]");
        write!(row, "  {what:<62} nominal {nominal:>8.4}  observed {observed:>8.4}  of {of:>7}  allowed {band}")
            .expect("strings do not fail");
        let holds = (low..=high).contains(&observed);
        self.text += &row;
        self.text += if holds { "\n" } else { "  BROKEN\n" };
        if !holds {
            self.broken.push(row);
        }
    }

    /// Prints the table, and panics if a claim does not hold.
    pub fn finish(self) {
        println!("{}", self.text);
        assert!(self.broken.is_empty(), "claims that do not hold:\n{}", self.broken.join("\n"));
    }
}

/// How often `holds` does, among `replications` of them.
pub fn count(mut draws: Draws, replications: u64, mut holds: impl FnMut(&mut Draws) -> bool) -> u64 {
    (0..replications).map(|_| u64::from(holds(&mut draws))).sum()
}

/// The same for several answers to the same draws.
pub fn count_each<const N: usize>(
    mut draws: Draws,
    replications: u64,
    mut holds: impl FnMut(&mut Draws) -> [bool; N],
) -> [u64; N] {
    let mut counts = [0; N];
    for _ in 0..replications {
        for (count, holds) in counts.iter_mut().zip(holds(&mut draws)) {
            *count += u64::from(holds);
        }
    }
    counts
}
