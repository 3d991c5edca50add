//! Words that leave this crate as soon as gates and comparisons hold typed reasons.

use crate::{AllowedRange, Goal, Quantity, Undefined as NoStatistic};
use std::fmt;

impl fmt::Display for NoStatistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&statistic_reason_sentence(self))
    }
}

impl std::error::Error for NoStatistic {}

fn statistic_reason_sentence(reason: &NoStatistic) -> String {
    match reason {
        NoStatistic::Empty => "there are no values".into(),
        NoStatistic::TooFew { what, need, have } => format!("needs at least {need} {}, has {have}", quantity(*what)),
        NoStatistic::NoSpread { what } => format!("{} do not vary", quantity(*what)),
        NoStatistic::ZeroDenominator { what } => format!("the denominator is zero: no {}", quantity(*what)),
        NoStatistic::NotFinite { value } => format!("a value is infinite or not a number ({value})"),
        NoStatistic::OutOfRange { what, value, allowed } => {
            format!("{} is {value}, must be {}", quantity(*what), range(*allowed))
        }
        NoStatistic::Mismatched { what, left, right } => {
            format!("{} have different lengths, {left} and {right}", quantity(*what))
        }
        NoStatistic::Unattainable { goal } => format!("no number of samples gives {}", goal_words(*goal)),
    }
}

fn quantity(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::ActualNegatives => "actual negatives",
        Quantity::ActualOrPredictedPositives => "actual or predicted positives",
        Quantity::ActualPositives => "actual positives",
        Quantity::Agreements => "agreements",
        Quantity::Alpha => "alpha",
        Quantity::AttemptCost => "cost of an attempt",
        Quantity::Attempts => "attempts",
        Quantity::AttemptsPerUnit => "attempts at every unit",
        Quantity::BothSamples => "both samples",
        Quantity::Chance => "chance",
        Quantity::ClusterMeans => "cluster means",
        Quantity::ClusterSize => "cluster size",
        Quantity::ClusteredValuesAndMoments => "clustered values and moments",
        Quantity::Clusters => "clusters",
        Quantity::ClustersAndMap => "clusters and their map",
        Quantity::Components => "components",
        Quantity::CorrectAttempts => "correct attempts",
        Quantity::Correlation => "correlation",
        Quantity::Count => "count",
        Quantity::DefinedClasses => "classes that have the metric",
        Quantity::DegreesOfFreedom => "degrees of freedom",
        Quantity::DenominatorTotal => "total of the denominators",
        Quantity::DesignEffect => "design effect",
        Quantity::DifferenceVariance => "variance of a difference",
        Quantity::Differences => "differences",
        Quantity::DiscordantPairs => "discordant pairs",
        Quantity::K => "k",
        Quantity::Level => "level",
        Quantity::Margin => "margin",
        Quantity::Mean => "mean",
        Quantity::MergedK => "k of a merged suite",
        Quantity::N => "n",
        Quantity::NumeratorsAndDenominators => "numerators and denominators",
        Quantity::OneSideValues => "the values of one side",
        Quantity::PValue => "a p-value",
        Quantity::PairedValues => "paired values",
        Quantity::Pairs => "pairs",
        Quantity::PositiveOutcomes => "outcomes among the positives",
        Quantity::Power => "power",
        Quantity::PredictedNegatives => "predicted negatives",
        Quantity::PredictedPositives => "predicted positives",
        Quantity::Predictions => "predictions",
        Quantity::Problems => "problems",
        Quantity::Quantile => "quantile",
        Quantity::Ratings => "ratings",
        Quantity::Resamples => "resamples",
        Quantity::SampleCost => "cost of a sample",
        Quantity::SampleCount => "number of samples",
        Quantity::SampleDenominator => "denominator of a sample",
        Quantity::SampleMeans => "the samples' means",
        Quantity::Share => "share",
        Quantity::StandardDeviation => "standard deviation",
        Quantity::Stratum => "stratum",
        Quantity::Successes => "successes",
        Quantity::Threshold => "threshold",
        Quantity::TrueShare => "true share",
        Quantity::TruthsAndPredictions => "truths and predictions",
        Quantity::TruthsOrPredictions => "truths or predictions",
        Quantity::UnitCount => "number of units",
        Quantity::Units => "units",
        Quantity::UnitsAndMap => "units and their map",
        Quantity::UnitsWithTwoRatings => "units with two ratings",
        Quantity::Value => "a value",
        Quantity::ValueCount => "number of values",
        Quantity::Values => "values",
        Quantity::ValuesAndClusters => "clusters and values",
        Quantity::ValuesAndStrata => "values and strata",
        Quantity::ValuesAndUnits => "units and values",
        Quantity::ValuesAndWeights => "values and weights",
        Quantity::ValuesClusteredTwice => "values clustered in two ways",
        Quantity::ValuesPerStratum => "values in every stratum",
        Quantity::ValuesWithinStrata => "values within strata",
        Quantity::Variance => "variance",
        Quantity::Weight => "weight",
    }
}

fn range(allowed: AllowedRange) -> String {
    match allowed {
        AllowedRange::UnitInterval => "between 0 and 1".into(),
        AllowedRange::OpenUnitInterval => "strictly between 0 and 1".into(),
        AllowedRange::MinusOneToOne => "between -1 and 1".into(),
        AllowedRange::Positive => "positive".into(),
        AllowedRange::PositiveFinite => "positive and finite".into(),
        AllowedRange::NotNegative => "zero or positive".into(),
        AllowedRange::NotNegativeFinite => "zero or positive, and finite".into(),
        AllowedRange::AtLeastOne => "at least 1".into(),
        AllowedRange::AtMost(most) => format!("at most {}", most),
        AllowedRange::BelowPowerOfTwo(power) => format!("below 2^{power}"),
        AllowedRange::AtMostTrials => "at most the number of trials".into(),
        AllowedRange::AtMostAttempts => "at most the number of attempts".into(),
        AllowedRange::AboveTestError => "above the error of the test".into(),
        AllowedRange::KnownStratum => "one of the weights".into(),
        AllowedRange::SameRuleAndK => "the same rule and k".into(),
    }
}

fn goal_words(goal: Goal) -> &'static str {
    match goal {
        Goal::PowerAtZero => "power to find a difference of zero",
        Goal::PowerWithinLimit => "this power within the samples allowed",
        Goal::Power => "this power",
    }
}
