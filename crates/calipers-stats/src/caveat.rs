//! What a reader should know about a number before relying on it.

use std::fmt;

/// A typed warning that comes with an estimate: the condition that was met, and one next step.
///
/// ```
/// use calipers_stats::Caveat;
///
/// let caveat = Caveat::FewClusters { clusters: 4 };
/// assert_eq!(caveat.id(), "few-clusters");
/// assert!(caveat.next_step().starts_with("use"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Caveat {
    /// So few clusters that t with C − 1 degrees of freedom undercovers.
    FewClusters {
        /// The number of clusters.
        clusters: u64,
    },
    /// One cluster holds more than half of all values.
    DominantCluster {
        /// Its share, between 0 and 1.
        share: f64,
    },
    /// The clustered error is smaller than the plain one: values within a cluster repel each other.
    ClusteredBelowNaive {
        /// The cluster-robust standard error.
        clustered: f64,
        /// The standard error that ignores clusters.
        naive: f64,
    },
    /// All values are alike: the error of zero speaks of this sample, not of the next one.
    NoSpread {
        /// The number of values.
        n: u64,
    },
    /// Too few values for an interval that leans on the central limit theorem.
    SmallSample {
        /// The number of values.
        n: u64,
        /// The number from which the method is trusted.
        need: u64,
    },
    /// A bound of a two-sided interval of a quantile does not exist at this number of values.
    NoBound {
        /// The number of values.
        n: u64,
        /// The number from which both bounds exist.
        need: u64,
    },
    /// Fewer than twice k attempts: the unbiased estimate of pass@k or pass^k is very noisy.
    FewAttempts {
        /// The smallest number of attempts of any problem.
        attempts: u64,
        /// The k asked for.
        k: u64,
    },
    /// Fewer resamples than an interval's end points need.
    FewResamples {
        /// The number of resamples drawn.
        resamples: u64,
        /// The number from which end points are steady.
        need: u64,
    },
    /// The acceleration of a BCa interval is undefined; percentiles were used.
    NoAcceleration,
    /// Nearly all ratings fall into one category, where kappa is small however good the agreement.
    ExtremePrevalence {
        /// The share of the commonest category.
        prevalence: f64,
    },
    /// The denominator of a ratio varies so much that the linearised error is rough.
    NoisyDenominator {
        /// The coefficient of variation of the denominator's mean.
        variation: f64,
    },
    /// Attempts of the same unit agree completely: more attempts add nothing.
    IdenticalAttempts,
}

impl Caveat {
    /// A short stable name, for machines and for documentation.
    #[must_use]
    pub fn id(&self) -> &'static str {
        match self {
            Self::FewClusters { .. } => "few-clusters",
            Self::DominantCluster { .. } => "dominant-cluster",
            Self::ClusteredBelowNaive { .. } => "clustered-below-naive",
            Self::NoSpread { .. } => "no-spread",
            Self::SmallSample { .. } => "small-sample",
            Self::NoBound { .. } => "no-bound",
            Self::FewAttempts { .. } => "few-attempts",
            Self::FewResamples { .. } => "few-resamples",
            Self::NoAcceleration => "no-acceleration",
            Self::ExtremePrevalence { .. } => "extreme-prevalence",
            Self::NoisyDenominator { .. } => "noisy-denominator",
            Self::IdenticalAttempts => "identical-attempts",
        }
    }

    /// One thing to do about it.
    #[must_use]
    pub fn next_step(&self) -> &'static str {
        match self {
            Self::FewClusters { .. } | Self::DominantCluster { .. } => {
                "use the CR2 error with Satterthwaite's degrees of freedom, or add clusters"
            }
            Self::ClusteredBelowNaive { .. } => "judge by the larger of the two errors",
            Self::NoSpread { .. } => "read the exact bound instead of ± 0, or add samples",
            Self::SmallSample { .. } => "add samples, or use an exact or bootstrap interval",
            Self::NoBound { .. } => "add samples, or gate on the share of values within the limit",
            Self::FewAttempts { .. } => "run at least twice as many attempts as k",
            Self::FewResamples { .. } => "draw more resamples",
            Self::NoAcceleration => "use an exact interval if there is one",
            Self::ExtremePrevalence { .. } => "report the raw agreement and the prevalence beside it",
            Self::NoisyDenominator { .. } => "add samples, or bootstrap the ratio",
            Self::IdenticalAttempts => "spend the budget on more samples, not on more attempts",
        }
    }
}

impl fmt::Display for Caveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FewClusters { clusters } => write!(f, "only {clusters} clusters"),
            Self::DominantCluster { share } => write!(f, "one cluster holds {:.0} % of the values", share * 100.0),
            Self::ClusteredBelowNaive { clustered, naive } => {
                write!(f, "the clustered error {clustered:.4} is below the plain one {naive:.4}")
            }
            Self::NoSpread { n } => write!(f, "all {n} values are alike, which is not certainty"),
            Self::SmallSample { n, need } => write!(f, "{n} values are few for this interval (from {need} on)"),
            Self::NoBound { n, need } => {
                write!(
                    f,
                    "a two-sided interval has both ends from {need} values on, there are {n}; one side alone needs fewer"
                )
            }
            Self::FewAttempts { attempts, k } => write!(f, "{attempts} attempts are few for k = {k}"),
            Self::FewResamples { resamples, need } => {
                write!(f, "{resamples} resamples are few for an end point (from {need} on)")
            }
            Self::NoAcceleration => write!(f, "BCa is undefined here, percentiles were used"),
            Self::ExtremePrevalence { prevalence } => {
                write!(f, "{:.0} % of the ratings are one category", prevalence * 100.0)
            }
            Self::NoisyDenominator { variation } => {
                write!(f, "the denominator varies by {:.0} %", variation * 100.0)
            }
            Self::IdenticalAttempts => write!(f, "attempts of the same sample never differ"),
        }
    }
}
