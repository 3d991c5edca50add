//! What a metric is: the only place where it is described.

use super::PolicyRole;
use calipers_stats::threshold_test::Direction;

/// What a metric is, for those who choose one or set a threshold for it.
///
/// `calipers metrics`, `docs/metrics.md`, `docs/expressions.md` and expressions are made from it; the documentation of the
/// functions points here and does not repeat it.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Its name.
    pub name: &'static str,
    /// One line: what it is.
    pub summary: &'static str,
    /// How it is written, with its parameters: `quantile(field, p=0.5)`.
    pub usage: &'static str,
    /// What it tells you.
    pub tells: &'static str,
    /// When it misleads.
    pub misleads: &'static str,
    /// The formula.
    pub formula: &'static str,
    /// How its interval is made.
    pub interval: &'static str,
    /// A command that computes it.
    pub example: &'static str,
    /// The unit of its values.
    pub unit: Unit,
    /// The range of its values, as text: `0–100 %`, `≥ 0`.
    pub range: &'static str,
    /// Which side is the better one; none where neither is.
    pub direction: Option<Direction>,
    /// A threshold that is often asked for, as a policy would write it.
    pub typical_threshold: Option<&'static str>,
    /// What it is used for.
    pub use_case: &'static str,
    /// What it is listed with.
    pub family: Family,
    /// Its parameters in the order of `usage`, each with what it takes.
    pub parameters: &'static [(&'static str, &'static str)],
    /// The parameters that may be given without their names, in their order.
    pub positional: &'static [&'static str],
    /// Its name in Inspect, if Inspect computes it too.
    pub inspect: Option<&'static str>,
    /// What policies use it for without naming it.
    pub role: Option<PolicyRole<'static>>,
}

/// Metrics that are listed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Of a suite of scenarios, from what their records say.
    Suite,
    /// Of predictions and truths.
    Classification,
    /// Of the scores of a scorer.
    Scores,
    /// How far a mean may be from the truth.
    Error,
    /// Of any field.
    Fields,
    /// Made of other metrics.
    Compound,
}

impl Unit {
    /// The least and the greatest value that something of this unit can have.
    #[must_use]
    pub fn range(self) -> (f64, f64) {
        match self {
            Self::Rate => (0.0, 1.0),
            Self::Milliseconds | Self::Usd | Self::Tokens => (0.0, f64::INFINITY),
            Self::Ratio | Self::Plain => (f64::NEG_INFINITY, f64::INFINITY),
        }
    }

    /// The name used in lists and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Milliseconds => "ms",
            Self::Usd => "USD",
            Self::Tokens => "tokens",
            Self::Ratio => "ratio",
            Self::Plain => "number",
        }
    }
}

/// The unit of a metric's values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// A share between 0 and 1, shown in per cent.
    Rate,
    /// Milliseconds.
    Milliseconds,
    /// US dollars.
    Usd,
    /// Tokens.
    Tokens,
    /// Quality per token, and other numbers of one thing per another.
    Ratio,
    /// A plain number: the unit of the scores.
    #[default]
    Plain,
}
