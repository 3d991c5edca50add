//! Intervals for a share of successes.

/// Wilson's score bounds around a share `p` of `n` (effective) trials, for any critical value.
///
/// Wilson (1927): the two roots x of (p − x)² = z² x(1 − x)/n. Each root is written as a quotient without
/// cancellation, by Vieta's rule from the other one, so that p = 0 gives a lower bound of exactly 0 and p = 1
/// an upper bound of exactly 1. A negative critical value (a one-sided level below one half) swaps the roots.
pub(crate) fn wilson_bounds(p: f64, n: f64, critical: f64) -> (f64, f64) {
    let bound = wilson_lower_root(p, n, critical.abs()).clamp(0.0, 1.0);
    let other = (1.0 - wilson_lower_root(1.0 - p, n, critical.abs())).clamp(0.0, 1.0);
    if critical < 0.0 { (other, bound) } else { (bound, other) }
}

/// The smaller root: p² / (p + z²/2n + z √(p(1 − p)/n + z²/4n²)).
fn wilson_lower_root(p: f64, n: f64, z: f64) -> f64 {
    let half = z / (2.0 * n) * z;
    let reach = (z * (p * (1.0 - p) / n).sqrt()).hypot(half);
    // p = 0 has the root 0 even where z = 0 makes the quotient 0/0; an infinite z leaves no information.
    if p <= 0.0 || half.is_infinite() { 0.0 } else { p * p / (p + half + reach) }
}
