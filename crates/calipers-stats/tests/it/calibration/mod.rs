//! The promise of the intervals, tests and gates: simulate or enumerate a known truth and count.
//!
//! Every test is ignored by default and run by `cargo xtask calibrate`. Draws are seeded, so a run gives the same
//! figures every time; each row prints what was counted beside the band in which it must lie.

mod bootstrap;
mod clusters;
mod comparisons;
mod gates;
mod means;
mod proportions;
mod quantiles;
mod sim;
mod suites;

use calipers_stats::Confidence;

/// The level of all intervals here.
fn level() -> Confidence {
    Confidence::two_sided(0.95).expect("a level between 0 and 1")
}
