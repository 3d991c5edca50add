//! The promise of the intervals, tests and gates: simulate or enumerate a known truth and count.
//!
//! Every test is ignored by default and run by `cargo xtask calibrate`. Draws are seeded, so a run gives the same
//! figures every time; each row prints what was counted beside the band in which it must lie.

mod bootstrap;
mod clusters;
mod comparisons;
mod gates;
mod judges;
mod means;
mod proportions;
mod quantiles;
mod suites;

use calipers_stats::Confidence;
use calipers_stats::special::normal_quantile;
use calipers_testing::simulation::{self, Draws};

/// The level of all intervals here.
fn level() -> Confidence {
    Confidence::two_sided(0.95).expect("a level between 0 and 1")
}

/// Draws from a seed.
fn draws(seed: u64) -> Draws {
    Draws::new(seed, normal_quantile)
}

/// How often `holds` does, among `replications` draws from one seed.
fn count(seed: u64, replications: u64, holds: impl FnMut(&mut Draws) -> bool) -> u64 {
    simulation::count(draws(seed), replications, holds)
}

/// The same for several answers to the same draws.
fn count_each<const N: usize>(seed: u64, replications: u64, holds: impl FnMut(&mut Draws) -> [bool; N]) -> [u64; N] {
    simulation::count_each(draws(seed), replications, holds)
}
