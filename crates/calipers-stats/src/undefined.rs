//! Why a number does not exist.

/// The reason why a statistic has no value for the data it was given.
///
/// A zero reads as certainty and a NaN spreads silently, so every function here that may have no
/// answer returns `Result<_, Undefined>`. It holds data only; `calipers-render` has the sentence.
///
/// ```
/// use calipers_stats::{Moments, Quantity, Undefined};
///
/// let one = Moments::from_slice(&[0.7]);
/// assert_eq!(one.mean(), Ok(0.7));
/// assert_eq!(one.stderr(), Err(Undefined::TooFew { what: Quantity::Values, need: 2, have: 1 }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Undefined {
    /// There are no values at all.
    Empty,
    /// There are values, but fewer than the statistic needs.
    TooFew {
        /// What is counted.
        what: Quantity,
        /// The smallest number for which the statistic exists.
        need: u64,
        /// The number there is.
        have: u64,
    },
    /// Nothing varies, so the statistic divides zero by zero.
    NoSpread {
        /// What does not vary.
        what: Quantity,
    },
    /// The denominator is zero.
    ZeroDenominator {
        /// What the denominator counts.
        what: Quantity,
    },
    /// A value, or the result computed from the values, is infinite or not a number.
    NotFinite {
        /// What IEEE arithmetic made of it.
        value: f64,
    },
    /// An argument lies outside the range in which the statistic is defined.
    OutOfRange {
        /// The argument.
        what: Quantity,
        /// Its value.
        value: f64,
        /// Where it must lie.
        allowed: AllowedRange,
    },
    /// Two inputs that belong together have different lengths.
    Mismatched {
        /// What the inputs are.
        what: Quantity,
        /// The length of the first.
        left: usize,
        /// The length of the second.
        right: usize,
    },
    /// No number of samples would do.
    Unattainable {
        /// What was asked for.
        goal: Goal,
    },
}

impl Undefined {
    /// `Ok(())` when two inputs have the same length.
    pub(crate) fn check_lengths(what: Quantity, left: usize, right: usize) -> Result<(), Self> {
        if left == right { Ok(()) } else { Err(Self::Mismatched { what, left, right }) }
    }

    /// `Ok(value)` when it is finite.
    pub(crate) fn check_finite(value: f64) -> Result<f64, Self> {
        if value.is_finite() { Ok(value) } else { Err(Self::NotFinite { value }) }
    }

    /// `Ok(value)` when it lies strictly between 0 and 1.
    pub(crate) fn check_open_unit(what: Quantity, value: f64) -> Result<f64, Self> {
        if value > 0.0 && value < 1.0 {
            Ok(value)
        } else {
            Err(Self::OutOfRange { what, value, allowed: AllowedRange::OpenUnitInterval })
        }
    }
}

/// What a reason for [`Undefined`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Actual negatives.
    ActualNegatives,
    /// Actual or predicted positives.
    ActualOrPredictedPositives,
    /// Actual positives.
    ActualPositives,
    /// Agreements.
    Agreements,
    /// Alpha.
    Alpha,
    /// Cost of an attempt.
    AttemptCost,
    /// Attempts.
    Attempts,
    /// Attempts at every unit.
    AttemptsPerUnit,
    /// Both samples.
    BothSamples,
    /// Chance.
    Chance,
    /// Cluster means.
    ClusterMeans,
    /// Cluster size.
    ClusterSize,
    /// Clustered values and moments.
    ClusteredValuesAndMoments,
    /// Clusters.
    Clusters,
    /// Clusters and the map that renames them.
    ClustersAndMap,
    /// Components.
    Components,
    /// Correct attempts.
    CorrectAttempts,
    /// Correlation.
    Correlation,
    /// Count.
    Count,
    /// Classes that have the metric.
    DefinedClasses,
    /// Degrees of freedom.
    DegreesOfFreedom,
    /// Total of the denominators.
    DenominatorTotal,
    /// Design effect.
    DesignEffect,
    /// Variance of a difference.
    DifferenceVariance,
    /// Differences.
    Differences,
    /// Discordant pairs.
    DiscordantPairs,
    /// Sensitivity + specificity − 1.
    Informedness,
    /// The lower bound of sensitivity + specificity − 1.
    InformednessBound,
    /// The k of pass@k and pass^k.
    K,
    /// Level.
    Level,
    /// Margin.
    Margin,
    /// Mean.
    Mean,
    /// The k of a suite that is merged into another.
    MergedK,
    /// The n of a proportion.
    N,
    /// Numerators and denominators.
    NumeratorsAndDenominators,
    /// The values of one side.
    OneSideValues,
    /// A p-value.
    PValue,
    /// Paired values.
    PairedValues,
    /// Pairs.
    Pairs,
    /// Outcomes among the positives.
    PositiveOutcomes,
    /// Power.
    Power,
    /// Predicted negatives.
    PredictedNegatives,
    /// Predicted positives.
    PredictedPositives,
    /// Predictions.
    Predictions,
    /// Problems.
    Problems,
    /// Quantile.
    Quantile,
    /// Ratings.
    Ratings,
    /// Resamples.
    Resamples,
    /// Cost of a sample.
    SampleCost,
    /// Number of samples.
    SampleCount,
    /// Denominator of a sample.
    SampleDenominator,
    /// The means of the samples.
    SampleMeans,
    /// Share.
    Share,
    /// Standard deviation.
    StandardDeviation,
    /// Stratum.
    Stratum,
    /// Successes.
    Successes,
    /// Threshold.
    Threshold,
    /// True share.
    TrueShare,
    /// Truths and predictions.
    TruthsAndPredictions,
    /// Truths or predictions.
    TruthsOrPredictions,
    /// Number of units.
    UnitCount,
    /// Units.
    Units,
    /// Units and the map that renames them.
    UnitsAndMap,
    /// Units with two ratings.
    UnitsWithTwoRatings,
    /// A single value.
    Value,
    /// Number of values.
    ValueCount,
    /// Values.
    Values,
    /// Clusters and values.
    ValuesAndClusters,
    /// Values and strata.
    ValuesAndStrata,
    /// Units and values.
    ValuesAndUnits,
    /// Values and weights.
    ValuesAndWeights,
    /// Values clustered in two ways.
    ValuesClusteredTwice,
    /// Values in every stratum.
    ValuesPerStratum,
    /// Values within strata.
    ValuesWithinStrata,
    /// Variance.
    Variance,
    /// Weight.
    Weight,
}

/// Where an argument must lie for a statistic to be defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllowedRange {
    /// Between 0 and 1, both included.
    UnitInterval,
    /// Between 0 and 1, both excluded.
    OpenUnitInterval,
    /// Between −1 and 1, both included.
    MinusOneToOne,
    /// Between the least and the most that a value can be.
    StatedRange,
    /// On a scale that people grade on, or within limits that are stated.
    KnownScale,
    /// Above 0.
    Positive,
    /// Above 0 and finite.
    PositiveFinite,
    /// 0 or above.
    NotNegative,
    /// 0 or above, and finite.
    NotNegativeFinite,
    /// 1 or above.
    AtLeastOne,
    /// At most this number.
    AtMost(u64),
    /// Below 2 to this power.
    BelowPowerOfTwo(u32),
    /// At most the number of trials.
    AtMostTrials,
    /// At most the number of attempts.
    AtMostAttempts,
    /// Above the chance that the test finds a difference where there is none.
    AboveTestError,
    /// A stratum that has a weight.
    KnownStratum,
    /// The rule and the k of the suite that it is merged into.
    SameRuleAndK,
}

/// What no number of samples reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Power to find a difference of zero.
    PowerAtZero,
    /// The power asked for.
    Power,
    /// The power asked for, within the number of samples allowed.
    PowerWithinLimit,
}
