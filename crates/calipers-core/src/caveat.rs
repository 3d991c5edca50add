//! What to know about a figure before relying on it.

use crate::{GateCaveat, MissingRule, RunEnding};
use calipers_stats::StatisticCaveat;

/// Something worth knowing, with its numbers. Each variant names a trap that evaluations fall into; `calipers-render` turns
/// it into a sentence with a next step.
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
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Caveat {
    /// One that belongs to the statistic.
    Statistic(StatisticCaveat),
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
    /// The plan names clusters, and there is no interval of this figure that knows of them.
    NoClusteredInterval {
        /// The metadata keys of the clusters.
        key: String,
    },
    /// Nothing limits the values of some fields, so an end of the interval is open.
    OpenInterval {
        /// The fields.
        fields: Vec<String>,
        /// True when there is a lower end.
        lower: bool,
        /// True when there is an upper end.
        upper: bool,
    },
    /// A value lies beyond the limit that is stated for it, so an end of the interval is open.
    ExceededLimit {
        /// The field or the scorer.
        name: String,
        /// True when there is a lower end.
        lower: bool,
        /// True when there is an upper end.
        upper: bool,
    },
    /// What was seen shows a change, and what did not occur leaves it open.
    OpenChange {
        /// The samples, or the clusters of them.
        units: u64,
        /// True when they are clusters.
        are_clusters: bool,
        /// One in so many may change in another way, and need not be among them.
        one_in: u64,
        /// How many like these would settle it.
        need: u64,
        /// True when a limit of the values would help, and none is stated.
        is_unlimited: bool,
    },
    /// Samples have no value of the keys by which others go together, and count as clusters by themselves.
    SamplesAlone {
        /// The metadata keys of the clusters.
        key: String,
        /// The number of such samples.
        samples: u64,
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
    /// Times in a field of milliseconds are as small as seconds, and have fractions.
    LooksLikeSeconds {
        /// The field.
        field: String,
        /// The longest of them.
        max: f64,
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
    /// Some attempts of samples that are scored have no score: the figures rest on their other attempts.
    PartlyScored {
        /// The scorer; none where a field stands in for scores.
        scorer: Option<String>,
        /// The number of samples.
        samples: u64,
        /// The number of their attempts that have no score, without those that ended in errors.
        attempts: u64,
    },
    /// There was nothing to measure.
    NoScores,
    /// Attempts ended in errors.
    Errored {
        /// How many.
        attempts: u64,
        /// How many of them have a score all the same, which counts as any other.
        scored: u64,
    },
    /// A log announces more than it holds, or its run did not come to its end.
    Incomplete {
        /// The run, where there are several.
        run: Option<String>,
        /// The samples that are there.
        samples: u64,
        /// The samples that the log announces.
        samples_expected: u64,
        /// The attempts that are there.
        attempts: u64,
        /// The attempts that the log announces.
        attempts_expected: u64,
        /// The samples with an attempt that never ran, where the log names them.
        never_ran: Vec<String>,
        /// How the run ended.
        ending: RunEnding,
    },
    /// Limits stopped attempts.
    LimitsHit {
        /// The run, where there are several.
        run: Option<String>,
        /// The kinds of limits with the number of attempts that each stopped.
        kinds: Vec<(String, u64)>,
    },
    /// Attempts have answers that were not asked for, but taken from a cache.
    CachedAnswers {
        /// The run, where there are several.
        run: Option<String>,
        /// The attempts with such answers.
        attempts: u64,
        /// The attempts in all.
        attempts_total: u64,
        /// The answers.
        answers: u64,
    },
    /// What is missing counts by a rule that was chosen.
    MissingCounted {
        /// The rule.
        rule: MissingRule,
        /// The attempts that it was applied to.
        attempts: u64,
        /// The attempts in all.
        attempts_total: u64,
        /// True where it was chosen in place of what the policy says.
        overrides_policy: bool,
    },
    /// One that belongs to a verdict.
    Gate(GateCaveat),
    // Of comparisons and plans.
    /// Samples that only one of two runs has are in no change.
    Unmatched {
        /// The run that is judged.
        candidate: String,
        /// The number of samples that only it has.
        candidate_samples: u64,
        /// The run that it is compared with.
        baseline: String,
        /// The number of samples that only it has.
        baseline_samples: u64,
    },
    /// Two runs share fewer than half of their samples.
    FewMatched {
        /// The number of samples that they share.
        matched: u64,
    },
    /// A log names a reducer that is not known here.
    UnknownReducer {
        /// The reducer.
        reducer: String,
    },
    /// A log names several reducers, of which one is used.
    SeveralReducers {
        /// All of them.
        reducers: Vec<String>,
        /// The one that is used.
        used: String,
    },
    /// A policy reduces attempts in another way than the log was recorded with.
    OtherReducer {
        /// The reducer of the policy.
        used: String,
        /// Those of the log.
        recorded: Vec<String>,
    },
    /// A figure is not the one that the log records.
    DiffersFromRecorded {
        /// The figure that was computed here.
        computed: f64,
        /// The figure in the log.
        recorded: f64,
        /// The likely reason.
        cause: RecordedCause,
    },
    /// Samples of two runs are matched by their lines or places, which are those of the same samples only in files of one order.
    MatchedByLine {
        /// How many samples are matched.
        matched: u64,
        /// A fact that is another one for so many of them.
        differing: Option<(String, u64)>,
    },
    /// Scorers that not all runs have are not compared.
    UnsharedScorers {
        /// Those that are left out.
        scorers: Vec<String>,
    },
    /// Metrics that only the code of a log knows are not compared.
    UnknownMetrics {
        /// Their names.
        metrics: Vec<String>,
    },
    /// Scores that are maps of several numbers are not compared.
    MapScores {
        /// Their scorers.
        scorers: Vec<String>,
    },
    /// A plan rests on the first of several metrics.
    FirstMetric {
        /// That metric.
        metric: String,
        /// The others.
        others: Vec<String>,
    },
    /// How much attempts at one sample vary is not known, so that a plan gains nothing from more of them.
    UnknownAttempts,
    /// What two runs share is not known, so that only runs on different samples are planned.
    UnknownPairing,
    /// A share of samples that disagree is about single attempts, and the plan has several.
    DisagreementOfAttempts,
    /// A gate is planned for samples that pass or fail, and these have scores.
    GateOfScores,
    /// The exact size of a gate was multiplied by the design effect of clusters, an approximation.
    GateOfClusters,
    /// The design effect of scores was taken for that of the differences of two runs.
    EffectOfScores,
    /// A judge agrees with people too little for its scores to stand for theirs.
    JudgeDisagrees {
        /// The run, where several are reported.
        run: Option<String>,
        /// The judge, where a run may have several.
        scorer: Option<String>,
        /// Kappa, or alpha where scores are not all 0 or 1.
        agreement: f64,
        /// The upper bound of its interval.
        upper: f64,
        /// What it should be able to reach.
        needed: f64,
    },
    /// People agree with one another too little for their labels to be a truth.
    PeopleDisagree {
        /// Krippendorff's alpha.
        alpha: f64,
        /// The upper bound of its interval.
        upper: f64,
        /// What it should be able to reach.
        needed: f64,
    },
    /// The judge scored labelled samples differently from the others: they are no random choice.
    LabelsUnlikeOthers {
        /// The judge's mean score of labelled samples.
        labelled: f64,
        /// The same of the others.
        others: f64,
        /// True when the corrected rate weighs labels by the judge's score, and so allows for that.
        weighed: bool,
    },
    /// Labelled samples are of other kinds than the rest.
    LabelsOfOtherMix {
        /// The metadata key.
        key: String,
        /// The value that stands out.
        value: String,
        /// Its share among labelled samples.
        labelled: f64,
        /// Its share among the others.
        others: f64,
    },
}

/// Why a figure may differ from the one that a log records.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordedCause {
    /// Labels were given other numbers here.
    Labels,
    /// The reducer counts successes, and a log does not keep the threshold from which a score is one.
    Threshold {
        /// The reducer.
        reducer: String,
    },
    /// Samples without a score are left out here.
    Missing {
        /// How many.
        samples: u64,
    },
    /// The samples in the file are not those that the figure was made of, or it was made by other code.
    Unknown,
}

impl Caveat {
    /// The same of one of several runs, where a run is what it is about.
    #[must_use]
    pub fn in_run(self, name: &str) -> Self {
        match self {
            Self::JudgeDisagrees { scorer, agreement, upper, needed, .. } => {
                Self::JudgeDisagrees { run: Some(name.to_owned()), scorer, agreement, upper, needed }
            }
            other => other,
        }
    }

    /// A short stable name, for machines and for documentation.
    #[must_use]
    pub fn id(&self) -> &'static str {
        match self {
            Self::Statistic(caveat) => caveat.id(),
            Self::PerfectScore { .. } => "perfect-score",
            Self::Missing { .. } => "missing",
            Self::PooledAttempts { .. } => "pooled-attempts",
            Self::IgnoresClusters { .. } => "ignores-clusters",
            Self::NoClusteredInterval { .. } => "no-clustered-interval",
            Self::OpenInterval { .. } => "open-interval",
            Self::OpenChange { .. } => "open-change",
            Self::ExceededLimit { .. } => "exceeded-limit",
            Self::SamplesAlone { .. } => "samples-alone",
            Self::MeanOfErrors { .. } => "mean-of-errors",
            Self::OutsideUnit { .. } => "outside-unit",
            Self::BootstrapDivisor { .. } => "bootstrap-divisor",
            Self::ShareByT { .. } => "share-by-t",
            Self::LooksLikeSeconds { .. } => "looks-like-seconds",
            Self::ModeTies { .. } => "mode-ties",
            Self::TooFewAttempts { .. } => "too-few-attempts",
            Self::UnmatchedKey { .. } => "unmatched-key",
            Self::UnknownLabels { .. } => "unknown-labels",
            Self::NotLookedAt { .. } => "not-looked-at",
            Self::PartlyScored { .. } => "partly-scored",
            Self::NoScores => "no-scores",
            Self::Errored { .. } => "errored",
            Self::Incomplete { .. } => "incomplete",
            Self::LimitsHit { .. } => "limits-hit",
            Self::CachedAnswers { .. } => "cached-answers",
            Self::MissingCounted { .. } => "missing-counted",
            Self::Gate(caveat) => caveat.id(),
            Self::Unmatched { .. } => "unmatched",
            Self::FewMatched { .. } => "few-matched",
            Self::UnknownReducer { .. } => "unknown-reducer",
            Self::SeveralReducers { .. } => "several-reducers",
            Self::OtherReducer { .. } => "other-reducer",
            Self::DiffersFromRecorded { .. } => "differs-from-recorded",
            Self::MatchedByLine { .. } => "matched-by-line",
            Self::UnsharedScorers { .. } => "unshared-scorer",
            Self::UnknownMetrics { .. } => "unknown-metric",
            Self::MapScores { .. } => "map-scores",
            Self::FirstMetric { .. } => "first-metric",
            Self::UnknownAttempts => "unknown-attempts",
            Self::UnknownPairing => "unknown-pairing",
            Self::DisagreementOfAttempts => "disagreement-of-attempts",
            Self::GateOfScores => "gate-of-scores",
            Self::GateOfClusters => "gate-of-clusters",
            Self::EffectOfScores => "effect-of-scores",
            Self::JudgeDisagrees { .. } => "judge-disagrees",
            Self::PeopleDisagree { .. } => "people-disagree",
            Self::LabelsUnlikeOthers { .. } => "labels-unlike-others",
            Self::LabelsOfOtherMix { .. } => "labels-of-other-mix",
        }
    }
}

impl From<StatisticCaveat> for Caveat {
    fn from(caveat: StatisticCaveat) -> Self {
        Self::Statistic(caveat)
    }
}

impl From<GateCaveat> for Caveat {
    fn from(caveat: GateCaveat) -> Self {
        Self::Gate(caveat)
    }
}
