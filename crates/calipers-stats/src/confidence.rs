//! How sure, on which side, by which method: the words that every interval carries.

use crate::{Quantity, Undefined};
use std::fmt;

/// Which sides of an interval are bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// A lower and an upper bound, each with half of the error: for reporting.
    Both,
    /// A lower bound only, with all of the error: "at least". For gates.
    Lower,
    /// An upper bound only, with all of the error: "at most". For gates.
    Upper,
}

/// A confidence level strictly between 0 and 1, and the sides that it speaks of.
///
/// Checked once, here; functions that take a `Confidence` need not check again.
///
/// ```
/// use calipers_stats::Confidence;
///
/// assert!(Confidence::two_sided(95.0).is_err());
/// let reported = Confidence::two_sided(0.95)?;
/// let gated = Confidence::lower(0.95)?;
/// assert!((reported.tail() - 0.025).abs() < 1e-12);
/// assert!((gated.tail() - 0.05).abs() < 1e-12);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confidence {
    level: f64,
    side: Side,
}

impl Confidence {
    /// Both bounds at `level`: each is missed with probability `(1 - level) / 2`.
    pub fn two_sided(level: f64) -> Result<Self, Undefined> {
        Self::new(level, Side::Both)
    }

    /// A lower bound at `level`: it is missed with probability `1 - level`.
    pub fn lower(level: f64) -> Result<Self, Undefined> {
        Self::new(level, Side::Lower)
    }

    /// An upper bound at `level`: it is missed with probability `1 - level`.
    pub fn upper(level: f64) -> Result<Self, Undefined> {
        Self::new(level, Side::Upper)
    }

    /// A confidence of `level` on the given side.
    pub fn new(level: f64, side: Side) -> Result<Self, Undefined> {
        Ok(Self { level: Undefined::check_open_unit(Quantity::Level, level)?, side })
    }

    /// The level, strictly between 0 and 1.
    #[must_use]
    pub fn level(self) -> f64 {
        self.level
    }

    /// The sides bounded.
    #[must_use]
    pub fn side(self) -> Side {
        self.side
    }

    /// The error left for each bounded side.
    #[must_use]
    pub fn tail(self) -> f64 {
        let alpha = 1.0 - self.level;
        if self.side == Side::Both { alpha / 2.0 } else { alpha }
    }

    /// An interval whose bounds are computed only on the sides asked for.
    pub(crate) fn interval(self, method: Method, lower: impl FnOnce() -> f64, upper: impl FnOnce() -> f64) -> Interval {
        self.partial_interval(method, || Some(lower()), || Some(upper()))
    }

    /// The same for methods in which a bound may not exist at this size.
    pub(crate) fn partial_interval(
        self,
        method: Method,
        lower: impl FnOnce() -> Option<f64>,
        upper: impl FnOnce() -> Option<f64>,
    ) -> Interval {
        Interval {
            lower: if self.side == Side::Upper { None } else { lower() },
            upper: if self.side == Side::Lower { None } else { upper() },
            confidence: self,
            method,
        }
    }
}

/// The method by which an interval was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Student's t around the mean of independent values.
    T,
    /// Student's t, corrected for skewness on the side of doubt.
    SkewedT,
    /// Student's t after adding a little weight at both ends of [0, 1].
    AdjustedT,
    /// Cluster-robust CR2 error and t with Satterthwaite's degrees of freedom after adding a little weight at both ends.
    AdjustedClusterT,
    /// Cluster-robust CR1 error and t with one degree of freedom less than clusters.
    ClusterT,
    /// Cluster-robust CR2 error and t with Satterthwaite's degrees of freedom.
    ClusterSatterthwaite,
    /// Wilson's score interval.
    Wilson,
    /// Wilson's score interval at an effective number of independent samples.
    ClusteredWilson,
    /// Clopper and Pearson's exact interval.
    ClopperPearson,
    /// Blaker's exact interval.
    Blaker,
    /// The posterior under Jeffreys' prior, Beta(½, ½).
    Jeffreys,
    /// The posterior under the uniform prior, Beta(1, 1).
    UniformBeta,
    /// Agresti and Coull's adjusted normal interval.
    AgrestiCoull,
    /// The plain normal interval, to show as wrong.
    Wald,
    /// The normal interval around an estimate with a large-sample error.
    Normal,
    /// The normal interval around an estimate with the error that its file records.
    RecordedError,
    /// Student's t around an estimate with a linearised (delta) error.
    DeltaT,
    /// Ranks of the sorted values.
    OrderStatistic,
    /// Quantiles at the ends of a cluster-robust interval for the share below (Woodruff 1952).
    Woodruff,
    /// Quantiles of the bootstrap distribution.
    BootstrapPercentile,
    /// The bootstrap distribution mirrored at the estimate.
    BootstrapBasic,
    /// Bias-corrected and accelerated bootstrap.
    BootstrapBca,
    /// Newcombe's hybrid score interval for a difference.
    Newcombe,
    /// Welch's t for two independent samples.
    Welch,
    /// Gaffke's bound for means and ratios of bounded terms.
    Gaffke,
    /// The same with clusters as the units.
    GaffkeClustered,
    /// The bound of bets on bounded terms, which holds at any number of looks.
    Betting,
    /// Bounds of several numbers that hold together, the level being shared among them.
    Bonferroni,
    /// Bounds of Matthews' correlation from those of both F1 and of four shares.
    Matthews,
    /// Exact intervals of the strata of a double sample, joined.
    DoubleSampling,
    /// Fieller's interval of a ratio.
    Fieller,
    /// The normal interval after adding one thing to every cell of a table.
    AdjustedNormal,
}

impl Method {
    /// The name used in results and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::T => "t",
            Self::SkewedT => "skewed-t",
            Self::AdjustedT => "adjusted-t",
            Self::AdjustedClusterT => "adjusted-cluster-t",
            Self::ClusterT => "cluster-t",
            Self::ClusterSatterthwaite => "cluster-satterthwaite",
            Self::Wilson => "wilson",
            Self::ClusteredWilson => "clustered-wilson",
            Self::ClopperPearson => "clopper-pearson",
            Self::Blaker => "blaker",
            Self::Jeffreys => "jeffreys",
            Self::UniformBeta => "uniform-beta",
            Self::AgrestiCoull => "agresti-coull",
            Self::Wald => "wald",
            Self::Normal => "normal",
            Self::RecordedError => "normal-from-recorded-error",
            Self::DeltaT => "delta-t",
            Self::OrderStatistic => "order-statistic",
            Self::Woodruff => "woodruff",
            Self::BootstrapPercentile => "bootstrap-percentile",
            Self::BootstrapBasic => "bootstrap-basic",
            Self::BootstrapBca => "bootstrap-bca",
            Self::Newcombe => "newcombe",
            Self::Welch => "welch",
            Self::Gaffke => "gaffke",
            Self::GaffkeClustered => "gaffke-clustered",
            Self::Betting => "betting",
            Self::Bonferroni => "bonferroni",
            Self::Matthews => "matthews",
            Self::DoubleSampling => "double-sampling",
            Self::Fieller => "fieller",
            Self::AdjustedNormal => "adjusted-normal",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An interval with the level and the method that made it.
///
/// A bound is `None` when it was not asked for (one-sided) or when it does not exist at this
/// number of values (the upper bound of a 95th percentile from ten values).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower bound.
    pub lower: Option<f64>,
    /// The upper bound.
    pub upper: Option<f64>,
    /// Level and side.
    pub confidence: Confidence,
    /// How it was made.
    pub method: Method,
}

impl Interval {
    /// True when `value` lies within the bounds, ends included; a missing bound excludes nothing.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.lower.is_none_or(|lower| lower <= value) && self.upper.is_none_or(|upper| value <= upper)
    }

    /// The distance between the bounds, where both exist.
    #[must_use]
    pub fn width(&self) -> Option<f64> {
        Some(self.upper? - self.lower?)
    }
}
