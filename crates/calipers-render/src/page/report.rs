//! A page about runs: the verdict, what changed, the metrics, and every sample with its texts.
//! Drawing it computes nothing.

use calipers_compare::CompareReport;
use calipers_core::{Distribution, OutcomeCounts, RunReport, SampleId, ScenarioOutcome, Shortcoming, Unit, Value};
use calipers_gate::GateReport;
use std::sync::Arc;

/// What a page shows.
#[derive(Clone, Debug, Default)]
pub struct PageReport {
    /// What the page is about: a task, a file, or what its author calls it.
    pub title: String,
    /// The commit that was evaluated, if the author of the page names it. Otherwise each run has that of its log.
    pub commit: Option<String>,
    /// The verdict by a policy, if there is one.
    pub gate: Option<GateReport>,
    /// The comparison with other runs, if there is one.
    pub compare: Option<CompareReport>,
    /// The runs, in the order in which they were named.
    pub runs: Vec<PageRun>,
    /// Every sample of every run, in their order.
    pub samples: Vec<PageSample>,
    /// What of the texts is not on the page.
    pub left_out: LeftOut,
    /// What to know about the page itself: texts that could not be read.
    pub notes: Vec<String>,
}

/// A run on a page.
#[derive(Clone, Debug)]
pub struct PageRun {
    /// Its metrics.
    pub report: RunReport,
    /// Its samples by outcome.
    pub counts: OutcomeCounts,
    /// What decides whether a sample passed.
    pub pass_basis: PassBasis,
    /// The scorers whose scores are numbers, in the order of [`PageSample::scores`].
    pub scorers: Vec<Arc<str>>,
    /// How scores, latency, tokens and cost are spread. Runs that have the same one have it with the same bars.
    pub distributions: Vec<Distribution>,
    /// How often samples passed among their attempts; none where no sample was repeated.
    pub repeats: Option<Repeats>,
    /// What the attempts took: latency, tokens and cost, where they are recorded.
    pub spending: Vec<Spending>,
}

impl PageRun {
    /// True if something says which samples passed. Scores alone do not: whether 0.6 is enough is for a policy or a threshold to
    /// say.
    #[must_use]
    pub fn is_judged(&self) -> bool {
        !matches!(self.pass_basis, PassBasis::Nothing)
    }

    /// The samples with a score that nothing judges.
    #[must_use]
    pub fn scored(&self) -> u64 {
        let OutcomeCounts { total, errored, unscored, .. } = self.counts;
        if self.is_judged() { 0 } else { total - errored - unscored }
    }
}

/// What decides whether the samples of a run passed.
#[derive(Clone, Debug, PartialEq)]
pub enum PassBasis {
    /// A policy.
    Policy,
    /// The record's own `passed`.
    Recorded,
    /// The behaviours that were expected and those that were forbidden.
    Behaviors {
        /// The share of the expected ones that has to be observed.
        share: f64,
    },
    /// A score.
    Score {
        /// The scorer.
        scorer: Arc<str>,
        /// The least score that passes.
        threshold: f64,
        /// True if there are other scorers, and this one is only the first.
        is_first: bool,
    },
    /// Nothing: there are no scores, or nothing says which of them pass.
    Nothing,
}

/// The outcome of a sample or an attempt on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageOutcome {
    /// It passed.
    Passed,
    /// It did not.
    Failed,
    /// It has a score, and nothing says whether that passes.
    Scored,
    /// It did not run.
    Errored,
    /// It ran and has no score.
    Unscored,
}

impl PageOutcome {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Scored => "scored",
            Self::Errored => "errored",
            Self::Unscored => "unscored",
        }
    }

    /// True for what a reader should look at first.
    #[must_use]
    pub fn is_shortcoming(self) -> bool {
        !matches!(self, Self::Passed | Self::Scored)
    }
}

impl From<ScenarioOutcome> for PageOutcome {
    fn from(outcome: ScenarioOutcome) -> Self {
        match outcome {
            ScenarioOutcome::Passed => Self::Passed,
            ScenarioOutcome::Failed => Self::Failed,
            ScenarioOutcome::Errored => Self::Errored,
            ScenarioOutcome::Unscored => Self::Unscored,
        }
    }
}

/// How often samples passed among their attempts.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeats {
    /// The number of samples by how many of their attempts passed: a count, or a share where numbers of attempts differ.
    pub bars: Vec<(PassedShare, u64)>,
    /// Samples that passed in some attempts and failed in others.
    pub flaky: u64,
    /// Samples with at least two attempts that passed or failed: only those can show it.
    pub repeated: u64,
}

/// How many of a sample's attempts passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassedShare {
    /// So many of so many.
    Count {
        /// The attempts that passed.
        passed: usize,
        /// All attempts that passed or failed.
        of: usize,
    },
    /// None.
    Never,
    /// Some, but less than half.
    UnderHalf,
    /// At least half, but not all.
    HalfOrMore,
    /// All.
    Always,
}

/// What attempts took of something.
#[derive(Clone, Debug, PartialEq)]
pub struct Spending {
    /// `latency`, `tokens` or `cost`.
    pub what: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// The sum over all attempts.
    pub total: f64,
    /// The mean over attempts.
    pub mean: f64,
    /// The median.
    pub median: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The most that one attempt took.
    pub most: f64,
    /// The attempts that it is recorded for.
    pub n: u64,
    /// The attempts that it is not recorded for.
    pub missing: u64,
}

/// A sample with its attempts.
#[derive(Clone, Debug)]
pub struct PageSample {
    /// The place of its run in [`PageReport::runs`].
    pub run: usize,
    /// Its name.
    pub id: SampleId,
    /// Its category, if it has one.
    pub category: Option<Arc<str>>,
    /// Its outcome.
    pub outcome: PageOutcome,
    /// True when some attempts passed and some failed.
    pub is_flaky: bool,
    /// True when the policy requires it.
    pub is_required: bool,
    /// The mean of its scores over attempts, by the scorers of its run.
    pub scores: Vec<Option<f64>>,
    /// The mean time of an attempt.
    pub latency_ms: Option<f64>,
    /// The mean number of tokens.
    pub tokens: Option<f64>,
    /// The mean cost.
    pub cost_usd: Option<f64>,
    /// Why the first attempt that did not pass did not.
    pub reason: Option<Shortcoming>,
    /// Where it stands against the run that is compared with.
    pub standing: Option<SampleStanding>,
    /// What was asked.
    pub input: Option<PageText>,
    /// What should be answered.
    pub target: Option<PageText>,
    /// The behaviours that were expected of it and those that were forbidden.
    pub behaviors: Vec<PageBehavior>,
    /// What else is known of it.
    pub facts: Vec<(Arc<str>, PageText)>,
    /// Its attempts, in order.
    pub attempts: Vec<PageAttempt>,
}

/// Where a sample stands against another run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleStanding {
    /// It passed before and does not now.
    NewlyFailing,
    /// It did not pass before and does now.
    NewlyPassing,
    /// Its value differs, though it passes, or fails, as before.
    Changed,
    /// As before.
    Same,
    /// The other run does not have it.
    Added,
}

impl SampleStanding {
    /// The words for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NewlyFailing => "newly failing",
            Self::NewlyPassing => "newly passing",
            Self::Changed => "changed",
            Self::Same => "as before",
            Self::Added => "added",
        }
    }
}

/// A behaviour that a sample is judged by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageBehavior {
    /// Its name.
    pub name: Arc<str>,
    /// True for one that must not happen.
    pub is_forbidden: bool,
}

/// An attempt of a sample.
#[derive(Clone, Debug)]
pub struct PageAttempt {
    /// The epoch.
    pub epoch: u32,
    /// Its outcome.
    pub outcome: PageOutcome,
    /// Why it did not pass.
    pub reason: Option<Shortcoming>,
    /// What each scorer said.
    pub scores: Vec<PageScore>,
    /// For each behaviour of the sample, whether it happened.
    pub happened: Vec<bool>,
    /// How long it took.
    pub latency_ms: Option<f64>,
    /// How many tokens it took.
    pub tokens: Option<f64>,
    /// What it cost.
    pub cost_usd: Option<f64>,
    /// The error that it ended in.
    pub error: Option<PageText>,
    /// The conversation: who spoke, and what.
    pub messages: Vec<(&'static str, PageText)>,
    /// What was answered, unless the conversation ends with it.
    pub output: Option<PageText>,
}

/// What a scorer said of an attempt.
#[derive(Clone, Debug)]
pub struct PageScore {
    /// The scorer.
    pub scorer: Arc<str>,
    /// The score.
    pub value: Value,
    /// The answer that was scored.
    pub answer: Option<PageText>,
    /// Why it was scored so, or why it was not.
    pub explanation: Option<PageText>,
}

/// A text, or its beginning. It may be anything that a model wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageText {
    /// The text.
    pub text: Arc<str>,
    /// How many characters of it are left out.
    pub left_out: u64,
}

/// What of the texts is not on a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// The texts that are not whole.
    pub texts: u64,
    /// The characters that are left out.
    pub characters: u64,
}
