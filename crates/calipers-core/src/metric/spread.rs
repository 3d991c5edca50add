//! `var` and `std`.

use super::Metric;
use super::moments::of_moments;
use crate::Figure;

/// The sample variance of all scores, with n − 1. Undefined below two scores.
///
/// *What it tells you.* How much scores differ between samples.
///
/// *When it misleads.* It says nothing of how sure the mean is; that is [`stderr`](super::stderr()).
///
/// *Formula.* Σ(x − x̄)² / (n − 1).
///
/// *Interval.* None.
///
/// *Example.*
///
/// ```
/// use calipers_core::{var, Plan, Samples};
///
/// let mut samples = Samples::new();
/// for (id, score) in [(1, 1.0), (2, 2.0), (3, 3.0)] {
///     samples.push(id).score("rating", score);
/// }
/// let results = Plan::new().metrics([var()]).measure(&samples)?;
/// assert_eq!(results.figure("rating", "var").expect("asked for").value, Ok(1.0));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn var() -> Metric {
    of_moments("var", |moments, tally, _| Figure::statistic(moments.variance(), 0.0, tally, "sample variance"))
}

/// The sample standard deviation of all scores, with n − 1. Undefined below two scores.
///
/// *What it tells you.* How much scores differ between samples, in their own unit.
///
/// *When it misleads.* As [`var`].
///
/// *Formula.* √(Σ(x − x̄)² / (n − 1)).
///
/// *Interval.* None.
///
/// *Example.*
///
/// ```
/// use calipers_core::{std, Plan, Samples};
///
/// let mut samples = Samples::new();
/// for (id, score) in [(1, 1.0), (2, 3.0), (3, 5.0)] {
///     samples.push(id).score("rating", score);
/// }
/// let results = Plan::new().metrics([std()]).measure(&samples)?;
/// assert_eq!(results.figure("rating", "std").expect("asked for").value, Ok(2.0));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn std() -> Metric {
    of_moments("std", |moments, tally, _| Figure::statistic(moments.std(), 0.0, tally, "sample standard deviation"))
}
