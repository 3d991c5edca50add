//! `var` and `std`.

use super::{Context, Measure, Metric, Tally};
use crate::{Answer, Error, Figure, Points};
use calipers_stats::{Moments, Undefined};

/// The sample variance of all scores, with n − 1. Undefined below two scores.
///
/// *What it tells you.* How much scores differ between samples. *When it misleads.* It says nothing of how sure the
/// mean is; that is [`stderr`](super::stderr()). *Formula.* Σ(x − x̄)² / (n − 1).
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
    Metric::new("var", Spread { statistic: Moments::variance, method: "sample variance" })
}

/// The sample standard deviation of all scores, with n − 1. Undefined below two scores.
///
/// *What it tells you.* How much scores differ between samples, in their own unit. *When it misleads.* As [`var`].
/// *Formula.* √(Σ(x − x̄)² / (n − 1)).
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
    Metric::new("std", Spread { statistic: Moments::std, method: "sample standard deviation" })
}

struct Spread {
    statistic: fn(&Moments) -> Result<f64, Undefined>,
    method: &'static str,
}

impl Measure for Spread {
    type State = Moments;

    fn start(&self) -> Moments {
        Moments::default()
    }

    fn fold(&self, state: &mut Moments, points: &Points<'_>, context: &Context) -> Result<(), Error> {
        state.merge(&points.moments(context)?);
        Ok(())
    }

    fn merge(&self, state: &mut Moments, other: Moments) {
        state.merge(&other);
    }

    fn finish(&self, state: Moments, tally: Tally, _: &Context) -> Result<Answer, Error> {
        Ok(Figure::statistic((self.statistic)(&state), 0.0, tally, self.method).into())
    }
}
