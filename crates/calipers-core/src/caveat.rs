//! What to know about a figure before relying on it.

use crate::counted;
use std::fmt;

/// A typed warning with one next step. Each names a trap that evaluations fall into.
///
/// ```
/// use calipers_core::{accuracy, Plan, Samples};
///
/// let mut samples = Samples::new();
/// for id in 1..=5 {
///     samples.push(id).score("safety", "C");
/// }
/// let results = Plan::new().metrics([accuracy()]).measure(&samples)?;
/// let caveat = &results.figure("safety", "accuracy").expect("asked for").caveats[0];
/// assert_eq!(caveat.id(), "perfect-score");
/// assert_eq!(caveat.to_string(), "5 of 5: the true rate may be as low as 54.9 %");
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Caveat {
    /// One that belongs to the statistic.
    Statistic(calipers_stats::Caveat),
    /// Every sample passed, or every sample failed.
    PerfectScore {
        /// The number of samples.
        n: u64,
        /// How many that count alike say as much: fewer, if they have weights.
        worth: u64,
        /// True when all passed, false when all failed.
        passed: bool,
        /// The exact one-sided 95 % bound of the true rate.
        bound: f64,
    },
    /// Some samples have no score.
    Missing {
        /// How many.
        missing: u64,
        /// The mean if all of them had scored 0 and if all had scored 1, for scores between 0 and 1.
        range: Option<(f64, f64)>,
    },
    /// Attempts of one sample were counted as if they were independent samples.
    PooledAttempts {
        /// The number of attempts.
        attempts: u64,
        /// The number of samples.
        samples: u64,
    },
    /// Another metric of the same list names clusters that this one ignores.
    IgnoresClusters {
        /// The metadata key of the clusters.
        key: String,
    },
    /// The mean of the groups' standard errors is not the standard error of their mean.
    MeanOfErrors {
        /// The standard error of the mean of the groups.
        stratified: Option<f64>,
    },
    /// A share computed from scores outside [0, 1].
    OutsideUnit {
        /// The smallest score.
        min: f64,
        /// The largest score.
        max: f64,
    },
    /// A bootstrap error divides by n, not n − 1, and is smaller than the standard error by this factor.
    BootstrapDivisor {
        /// The standard error with n − 1.
        stderr: f64,
    },
    /// A t interval of 0/1 scores, which covers too rarely for few samples and may leave [0, 1].
    ShareByT {
        /// The number of samples.
        n: u64,
    },
    /// With an even number of attempts the mode may be decided by their order.
    ModeTies {
        /// The number of samples with a tie.
        samples: u64,
    },
    /// A reducer asks for more attempts than some samples have.
    TooFewAttempts {
        /// The reducer.
        reducer: String,
        /// The number of samples left unscored for it.
        samples: u64,
    },
    /// A key of a map of metrics matches no key of the scores.
    UnmatchedKey {
        /// The key or pattern.
        key: String,
        /// The keys that there are.
        known: Vec<String>,
    },
    /// Labels that are not understood were counted as 0.
    UnknownLabels {
        /// One of them.
        example: String,
    },
    /// A scorer did not look at some samples at all: they are in no figure.
    NotLookedAt {
        /// The scorer.
        scorer: String,
        /// The number of samples, without those that ended in errors.
        samples: u64,
    },
    /// There was nothing to measure.
    NoScores,
    /// The attempts ended in errors.
    Errored {
        /// How many.
        attempts: u64,
    },
    // Of verdicts.
    /// No gate of a policy blocks.
    NothingBlocks,
    /// A policy has thresholds by version, and no version is named.
    NoVersion,
    /// Scenarios with fewer attempts than a policy asks for.
    FewAttempts {
        /// How many scenarios.
        scenarios: u64,
        /// How many attempts each should have.
        wanted: u64,
    },
    /// Names that are probably meant to be one.
    SimilarNames {
        /// What they name.
        kind: NameKind,
        /// The spellings, each with the number of scenarios that have it; those of the policy may have none.
        spellings: Vec<(String, u64)>,
    },
    /// Attempts of one scenario that disagree about a name; the first one counts.
    SeveralNames {
        /// What they name.
        kind: NameKind,
        /// The scenarios, each with its names in the order of attempts.
        scenarios: Vec<(String, Vec<String>)>,
    },
    // Of comparisons with a baseline.
    /// The baseline is old.
    StaleBaseline {
        /// Its age in days.
        days: f64,
    },
    /// The baseline is dated in the future.
    FutureBaseline {
        /// Its date.
        date: String,
        /// How many days ahead that is.
        days: f64,
    },
    /// The baseline was recorded under another version of the policy.
    BaselinePolicy,
    /// A policy asks for more than the baseline, which an unchanged agent misses half the time.
    AboveBaseline,
}

/// What a name in records and policies is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// The category of a scenario.
    Category,
    /// The capability that a scenario is about.
    Capability,
    /// A kind of failure.
    Failure,
}

impl Caveat {
    /// A short stable name, for machines and for documentation.
    #[must_use]
    pub fn id(&self) -> &'static str {
        match self {
            Self::Statistic(caveat) => caveat.id(),
            Self::PerfectScore { .. } => "perfect-score",
            Self::Missing { .. } => "missing",
            Self::PooledAttempts { .. } => "pooled-attempts",
            Self::IgnoresClusters { .. } => "ignores-clusters",
            Self::MeanOfErrors { .. } => "mean-of-errors",
            Self::OutsideUnit { .. } => "outside-unit",
            Self::BootstrapDivisor { .. } => "bootstrap-divisor",
            Self::ShareByT { .. } => "share-by-t",
            Self::ModeTies { .. } => "mode-ties",
            Self::TooFewAttempts { .. } => "too-few-attempts",
            Self::UnmatchedKey { .. } => "unmatched-key",
            Self::UnknownLabels { .. } => "unknown-labels",
            Self::NotLookedAt { .. } => "not-looked-at",
            Self::NoScores => "no-scores",
            Self::Errored { .. } => "errored",
            Self::NothingBlocks => "nothing-blocks",
            Self::NoVersion => "no-version",
            Self::FewAttempts { .. } => "few-attempts",
            Self::SimilarNames { kind: NameKind::Category, .. } => "similar-categories",
            Self::SimilarNames { kind: NameKind::Capability, .. } => "similar-capabilities",
            Self::SimilarNames { kind: NameKind::Failure, .. } => "similar-failures",
            Self::SeveralNames { kind: NameKind::Category, .. } => "several-categories",
            Self::SeveralNames { kind: NameKind::Capability, .. } => "several-capabilities",
            Self::SeveralNames { kind: NameKind::Failure, .. } => "several-failures",
            Self::StaleBaseline { .. } => "stale-baseline",
            Self::FutureBaseline { .. } => "future-baseline",
            Self::BaselinePolicy => "baseline-policy",
            Self::AboveBaseline => "above-baseline",
        }
    }

    /// One thing to do about it.
    #[must_use]
    pub fn next_step(&self) -> String {
        match self {
            Self::Statistic(caveat) => caveat.next_step().to_owned(),
            Self::PerfectScore { .. } => "report the bound, or add samples".into(),
            Self::Missing { missing: 1, .. } => "find out why it has no score; judge by the worse end".into(),
            Self::Missing { .. } => "find out why they have no score; judge by the worse end".into(),
            Self::PooledAttempts { .. } => "reduce the attempts first, for example with `mean`".into(),
            Self::IgnoresClusters { key } => format!("use `ci(cluster=\"{key}\")` or `stderr(cluster=\"{key}\")`"),
            Self::MeanOfErrors { stratified: Some(_) } => "report that error instead".into(),
            Self::MeanOfErrors { stratified: None } => "give every group at least two samples".into(),
            Self::OutsideUnit { .. } => "use `mean`, or map the scores to [0, 1]".into(),
            Self::BootstrapDivisor { .. } => "report `stderr` for a mean".into(),
            Self::ShareByT { .. } => "use `ci_wilson`".into(),
            Self::ModeTies { .. } => "use an odd number of attempts, or the reducer `majority`".into(),
            Self::TooFewAttempts { .. } => "run more attempts, or ask for a smaller k".into(),
            Self::UnmatchedKey { known, .. } => format!("the keys are {}", known.join(", ")),
            Self::UnknownLabels { .. } => "map the label to a number".into(),
            Self::NotLookedAt { .. } => "check that the scorer ran on all samples".into(),
            Self::NoScores => "check that the run is the right one, and that it was scored".into(),
            Self::Errored { attempts: 1 } => "rerun it; an attempt that did not run is neither right nor wrong".into(),
            Self::Errored { .. } => "rerun them; an attempt that did not run is neither right nor wrong".into(),
            _ => String::new(),
        }
    }
}

impl fmt::Display for Caveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Statistic(caveat) => caveat.fmt(f),
            Self::PerfectScore { n, worth, passed, bound } => {
                let (count, side) = if *passed { (n, "low") } else { (&0, "high") };
                let weighed = if worth == n { String::new() } else { format!(", worth {worth} by their weights") };
                write!(f, "{count} of {n}{weighed}: the true rate may be as {side} as {:.1} %", bound * 100.0)
            }
            Self::Missing { missing, range: Some((low, high)) } => {
                let them = if *missing == 1 { "it" } else { "them" };
                write!(f, "{missing} without a score: with {them} the mean lies between {low:.3} and {high:.3}")
            }
            Self::Missing { missing, range: None } => write!(f, "{missing} without a score"),
            Self::PooledAttempts { attempts, samples } => {
                write!(f, "{attempts} attempts of {} are counted as independent", counted(samples, "sample"))
            }
            Self::IgnoresClusters { key } => write!(f, "ignores that samples with the same `{key}` go together"),
            Self::MeanOfErrors { stratified: Some(error) } => {
                write!(f, "a mean of standard errors; that of the mean of the groups is {error:.4}")
            }
            Self::MeanOfErrors { stratified: None } => f.write_str("a mean of standard errors is no standard error"),
            Self::OutsideUnit { min, max } => write!(f, "scores from {min} to {max} make no share"),
            Self::BootstrapDivisor { stderr } => {
                write!(f, "a bootstrap divides by n; the standard error is {stderr:.6}")
            }
            Self::ShareByT { n } => write!(f, "a t interval of {n} scores that are 0 or 1 covers too rarely"),
            Self::ModeTies { samples } => write!(f, "{} no single commonest score", have(*samples)),
            Self::TooFewAttempts { reducer, samples } => {
                write!(f, "{} too few scored attempts for `{reducer}`", have(*samples))
            }
            Self::UnmatchedKey { key, .. } => write!(f, "the metric key `{key}` matches no score"),
            Self::UnknownLabels { example } => write!(f, "labels such as `{example}` were counted as 0"),
            Self::NotLookedAt { scorer, samples } => {
                write!(f, "{} no score by `{scorer}` and {} in none of its figures", have(*samples), are(*samples))
            }
            Self::NoScores => f.write_str("no attempt has a score"),
            Self::Errored { attempts: 1 } => f.write_str("one attempt ended in an error"),
            Self::Errored { attempts } => write!(f, "{attempts} attempts ended in an error"),
            _ => f.write_str(self.id()),
        }
    }
}

fn have(samples: u64) -> String {
    if samples == 1 { "one sample has".into() } else { format!("{samples} samples have") }
}

fn are(samples: u64) -> &'static str {
    if samples == 1 { "is" } else { "are" }
}

impl From<calipers_stats::Caveat> for Caveat {
    fn from(caveat: calipers_stats::Caveat) -> Self {
        Self::Statistic(caveat)
    }
}
