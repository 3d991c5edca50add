//! Thresholds as they are written, and what they mean for a metric.

use super::{Mistake, Span};
use crate::About;

/// A threshold as it is written: `90`, `"≥ 80%"`, `"< 5000ms"`, `"100%"`.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// The comparison, if one is written; the metric's direction decides otherwise.
    pub comparison: Option<Comparison>,
    /// The number.
    pub number: f64,
    /// The unit, if one is written.
    pub unit: Option<WrittenUnit>,
    /// The place.
    pub span: Span,
}

/// A unit that a threshold may be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenUnit {
    /// `%`
    Percent,
    /// `ms`
    Milliseconds,
    /// `s`
    Seconds,
    /// `min`
    Minutes,
    /// `$` or `usd`
    Usd,
    /// `tokens`
    Tokens,
}

/// How a value is compared with a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// ≥
    AtLeast,
    /// >
    Above,
    /// ≤
    AtMost,
    /// <
    Below,
    /// =
    Equal,
}

/// A threshold as it is understood: a comparison with a number in the metric's own unit (a rate is a fraction, a latency
/// has milliseconds).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The comparison.
    pub comparison: Comparison,
    /// The number.
    pub value: f64,
}

impl Comparison {
    /// The sign.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::AtLeast => "≥",
            Self::Above => ">",
            Self::AtMost => "≤",
            Self::Below => "<",
            Self::Equal => "=",
        }
    }

    /// True when `value` is on the right side of `threshold`.
    #[must_use]
    pub fn holds(self, value: f64, threshold: f64) -> bool {
        match self {
            Self::AtLeast => value >= threshold,
            Self::Above => value > threshold,
            Self::AtMost => value <= threshold,
            Self::Below => value < threshold,
            Self::Equal => (value - threshold).abs() <= 1e-9,
        }
    }
}

impl Threshold {
    /// What it means for a metric.
    pub fn rule(&self, _about: &About) -> Result<Rule, Mistake> {
        todo!("the policy's own")
    }
}
