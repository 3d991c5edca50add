//! What a reader should know about a number before relying on it.

/// A typed warning that comes with an estimate: the condition that was met, with its numbers. `calipers-render` has the
/// sentence and the next step.
///
/// ```
/// use calipers_stats::StatisticCaveat;
///
/// let caveat = StatisticCaveat::FewClusters { clusters: 4 };
/// assert_eq!(caveat.id(), "few-clusters");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StatisticCaveat {
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

impl StatisticCaveat {
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
}
