//! `var` and `std`.

use super::Metric;
use super::moments::of_moments;
use super::registry::Definition;
use crate::{About, Family, Figure, Unit};

const VAR: About = About {
    name: "var",
    summary: "the sample variance of the scores",
    usage: "var()",
    tells: "How much scores differ between samples.",
    misleads: "It does not say how precise the mean is; `stderr` does.",
    formula: "Σ(x − x̄)² / (n − 1), undefined below two scores.",
    interval: "None.",
    example: "calipers score results.jsonl -m var",
    unit: Unit::Plain,
    range: "≥ 0",
    direction: None,
    typical_threshold: None,
    use_case: "Spread of graded answers",
    family: Family::Scores,
    parameters: &[],
    positional: &[],
    inspect: Some("var"),
    role: None,
};

const STD: About = About {
    name: "std",
    summary: "the sample standard deviation of the scores",
    usage: "std()",
    tells: "How much scores differ between samples, in their own unit.",
    misleads: "It does not say how precise the mean is; `stderr` does.",
    formula: "√(Σ(x − x̄)² / (n − 1)), undefined below two scores.",
    interval: "None.",
    example: "calipers score results.jsonl -m std",
    unit: Unit::Plain,
    range: "≥ 0",
    direction: None,
    typical_threshold: None,
    use_case: "Spread of graded answers",
    family: Family::Scores,
    parameters: &[],
    positional: &[],
    inspect: Some("std"),
    role: None,
};

/// The name of the method in results.
const STD_METHOD: &str = "sample standard deviation";

/// The metrics of this file.
pub(super) static METRICS: &[Definition] =
    &[Definition { about: VAR, make: |_| Ok(var()) }, Definition { about: STD, make: |_| Ok(std()) }];

/// The sample variance of all scores, with n − 1. Undefined below two scores.
///
/// `calipers metrics var` says what it tells you, when it misleads, its formula and its interval.
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
/// `calipers metrics std` says what it tells you, when it misleads, its formula and its interval.
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
    of_moments("std", |moments, tally, _| Figure::statistic(moments.std(), 0.0, tally, STD_METHOD))
}
