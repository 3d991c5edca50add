//! Why runs, or a metric of them, cannot be compared.

use crate::{ErrorKind, SampleId};
use std::sync::Arc;

/// A reason why there is no change to report, no ranking, or no list of samples that changed.
///
/// It stands here, beside [`Reason`](crate::Reason), because a figure of a change carries it. Renderers match it
/// exhaustively, so that a new reason without words does not compile.
#[derive(Clone, Debug, PartialEq)]
pub enum Incomparable {
    /// A run has no samples.
    EmptyRun {
        /// The run.
        run: String,
    },
    /// No sample is in both runs.
    NoSharedSample {
        /// A sample of the candidate.
        candidate: SampleId,
        /// A sample of the baseline.
        baseline: SampleId,
    },
    /// No scorer scored all runs.
    NoSharedScorer {
        /// Each run with its scorers.
        scorers: Vec<(String, Vec<Arc<str>>)>,
    },
    /// No sample has a value in all runs.
    NoSharedValue {
        /// The number of runs.
        runs: usize,
    },
    /// No shared sample is known to have passed or failed in both runs.
    NoSharedOutcome,
    /// The metric cannot be computed in one run.
    Run {
        /// The run.
        run: String,
        /// What is wrong there.
        error: Box<ErrorKind>,
    },
    /// Attempts that timed out have no mean latency.
    Timeouts {
        /// The run.
        run: String,
        /// How many of its attempts timed out.
        attempts: u64,
    },
    /// A statistic does not exist in one of the runs.
    Side {
        /// Which run.
        side: RunSide,
        /// Why not.
        reason: calipers_stats::Undefined,
    },
    /// The metric is not made of samples in a way that can be paired.
    NotPairable {
        /// The metric.
        metric: String,
    },
    /// Only means over samples are ranked.
    NotMean,
    /// Neither side of the metric is better, so that runs have no order.
    NoBetterSide,
    /// A ratio needs a value above 0 in both runs.
    NotPositive,
    /// The ratio of both runs is larger or smaller than numbers can be.
    BeyondNumbers,
    /// A quantile is 0, or lies among attempts that timed out, in one run.
    QuantileNotFinite,
    /// A single pair has no spread.
    OnePair,
    /// All samples changed by the same amount, which leaves no spread.
    NoSpread,
    /// The standard error of the change does not exist.
    Statistic(calipers_stats::Undefined),
    /// Resampling failed.
    Resampling(calipers_stats::Undefined),
    /// No sample that both runs have is labelled in one of them.
    NoLabels {
        /// The run without labels.
        side: RunSide,
    },
    /// The difference of corrected means over clusters needs values between 0 and 1.
    CorrectedClusters,
    /// For a rerun of this suite only changes of means over samples are known.
    RerunOfMeansOnly,
    /// For a rerun of this suite attempts have to be averaged.
    RerunNeedsMean {
        /// How they are reduced instead.
        reducer: String,
    },
    /// For a rerun of this suite every sample needs at least two attempts in both runs.
    RerunNeedsAttempts,
}

/// One of the two runs of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunSide {
    /// The run that is judged.
    Candidate,
    /// The run that it is compared with.
    Baseline,
}
