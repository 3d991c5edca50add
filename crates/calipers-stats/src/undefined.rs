//! Why a number does not exist.

use std::fmt;

/// The reason why a statistic has no value for the data it was given.
///
/// A zero reads as certainty and a NaN spreads silently, so every function here that may have no
/// answer returns `Result<_, Undefined>`.
///
/// ```
/// use calipers_stats::{Moments, Undefined};
///
/// let one = Moments::from_slice(&[0.7]);
/// assert_eq!(one.mean(), Ok(0.7));
/// assert_eq!(one.stderr(), Err(Undefined::TooFew { what: "values", need: 2, have: 1 }));
/// assert_eq!(one.stderr().unwrap_err().to_string(), "needs at least 2 values, has 1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Undefined {
    /// There are no values at all.
    Empty,
    /// There are values, but fewer than the statistic needs.
    TooFew {
        /// What is counted: `"values"`, `"clusters"`, `"attempts"`, …
        what: &'static str,
        /// The smallest number for which the statistic exists.
        need: u64,
        /// The number there is.
        have: u64,
    },
    /// Nothing varies, so the statistic divides zero by zero.
    NoSpread {
        /// What does not vary.
        what: &'static str,
    },
    /// The denominator is zero.
    ZeroDenominator {
        /// What the denominator counts.
        what: &'static str,
    },
    /// A value, or the result computed from the values, is infinite or not a number.
    NotFinite {
        /// What IEEE arithmetic made of it.
        value: f64,
    },
    /// An argument lies outside the range in which the statistic is defined.
    OutOfRange {
        /// The argument.
        what: &'static str,
        /// Its value.
        value: f64,
        /// The allowed range, in words.
        allowed: &'static str,
    },
    /// Two inputs that belong together have different lengths.
    Mismatched {
        /// What the inputs are.
        what: &'static str,
        /// The length of the first.
        left: usize,
        /// The length of the second.
        right: usize,
    },
    /// No number of samples would do.
    Unattainable {
        /// What was asked for.
        what: &'static str,
    },
}

impl Undefined {
    /// `Ok(())` when two inputs have the same length.
    pub(crate) fn check_lengths(what: &'static str, left: usize, right: usize) -> Result<(), Self> {
        if left == right { Ok(()) } else { Err(Self::Mismatched { what, left, right }) }
    }

    /// `Ok(value)` when it is finite.
    pub(crate) fn check_finite(value: f64) -> Result<f64, Self> {
        if value.is_finite() { Ok(value) } else { Err(Self::NotFinite { value }) }
    }

    /// `Ok(value)` when it lies strictly between 0 and 1.
    pub(crate) fn check_open_unit(what: &'static str, value: f64) -> Result<f64, Self> {
        if value > 0.0 && value < 1.0 {
            Ok(value)
        } else {
            Err(Self::OutOfRange { what, value, allowed: "strictly between 0 and 1" })
        }
    }
}

impl fmt::Display for Undefined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "there are no values"),
            Self::TooFew { what, need, have } => write!(f, "needs at least {need} {what}, has {have}"),
            Self::NoSpread { what } => write!(f, "{what} do not vary"),
            Self::ZeroDenominator { what } => write!(f, "the denominator is zero: no {what}"),
            Self::NotFinite { value } => write!(f, "a value is infinite or not a number ({value})"),
            Self::OutOfRange { what, value, allowed } => write!(f, "{what} is {value}, must be {allowed}"),
            Self::Mismatched { what, left, right } => write!(f, "{what} have different lengths, {left} and {right}"),
            Self::Unattainable { what } => write!(f, "no number of samples gives {what}"),
        }
    }
}

impl std::error::Error for Undefined {}
