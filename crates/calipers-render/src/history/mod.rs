//! The runs of a history: one by one for a terminal or a program. Its pages are in [`view`](crate::view).

mod json;
mod text;

pub(crate) use json::HistoryVerdictDocument;
pub use json::{history_json, history_schema};
pub use text::history_text;

use calipers_core::{OutcomeCounts, Unit, Verdict};

/// Some runs of a history, the latest first.
#[derive(Clone, Debug, Default)]
pub struct HistoryList {
    /// The runs of this part of the list.
    pub runs: Vec<HistoryRun>,
    /// The place of the first of them among all that were asked for.
    pub first: u64,
    /// How many were asked for.
    pub total: u64,
}

/// A run as a history has it.
#[derive(Clone, Debug, Default)]
pub struct HistoryRun {
    /// Its name in the history, from which no path can be made.
    pub key: String,
    /// The file that it is in.
    pub source: String,
    /// The format of the file.
    pub format: String,
    /// The run within the file, if the file holds several.
    pub name: Option<String>,
    /// What it belongs to: what the user calls it, or else the task, or else the folder of the file.
    pub suite: String,
    /// The task.
    pub task: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The version that was evaluated.
    pub version: Option<String>,
    /// Its branch.
    pub branch: Option<String>,
    /// Its commit.
    pub commit: Option<String>,
    /// What else the user says about it.
    pub tags: Vec<(String, String)>,
    /// When it began, as its file writes it.
    pub started: Option<String>,
    /// When it began, or when its file was written, in milliseconds since 1970.
    pub at_ms: i64,
    /// Its samples by outcome.
    pub counts: OutcomeCounts,
    /// The samples with a score that nothing judges.
    pub scored: u64,
    /// The samples that its log announces, if it does.
    pub expected: Option<u64>,
    /// How it ended: `finished`, `open`, `cancelled` or `broken`.
    pub ending: String,
    /// The fingerprint of the names and contents of its cases.
    pub case_set: String,
    /// The fingerprint of its scorers.
    pub scorers: String,
    /// Its figures.
    pub figures: Vec<HistoryFigure>,
    /// The last verdict on it, if it was judged.
    pub verdict: Option<HistoryVerdict>,
    /// Why it is not to be counted, if someone said so.
    pub invalid: Option<String>,
    /// True when its file is no longer there.
    pub is_gone: bool,
    /// How its file is read, as the history keeps it; empty where the file says everything itself.
    pub choices: String,
}

impl HistoryRun {
    /// What stands for the run as a whole: its first figure with an interval, or else its first.
    #[must_use]
    pub fn headline(&self) -> Option<&HistoryFigure> {
        self.figures.iter().find(|figure| figure.has_interval()).or(self.figures.first())
    }

    /// True while it is running, or if it was killed.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.ending == "open"
    }

    /// The samples that its log announces and that are not in it.
    #[must_use]
    pub fn never_ran(&self) -> u64 {
        self.expected.map_or(0, |expected| expected.saturating_sub(self.counts.total))
    }

    /// What its row begins with: the version, or else the commit.
    #[must_use]
    pub fn version_or_commit(&self) -> Option<&str> {
        self.version.as_deref().or(self.commit.as_deref())
    }
}

/// A figure of a run, as it was computed when the run was added.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryFigure {
    /// The scorer, or the key of its scores.
    pub score: String,
    /// The reducer, if it is named.
    pub reducer: Option<String>,
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: Unit,
    /// The value; none where it is undefined.
    pub value: Option<f64>,
    /// The lower end of its interval.
    pub lower: Option<f64>,
    /// The upper end.
    pub upper: Option<f64>,
    /// The level of the interval.
    pub level: f64,
    /// How many samples it rests on.
    pub n: u64,
    /// How many have no score.
    pub missing: u64,
}

impl HistoryFigure {
    /// True when an end of its interval is known.
    #[must_use]
    pub fn has_interval(&self) -> bool {
        self.value.is_some() && (self.lower.is_some() || self.upper.is_some())
    }

    /// The names under which figures of different runs are the same.
    #[must_use]
    pub fn is_of(&self, score: &str, metric: &str, reducer: Option<&str>) -> bool {
        self.score == score && self.metric == metric && self.reducer.as_deref() == reducer
    }
}

/// Which runs of a history are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// A part of the suite, task, model, version, branch, commit, file or key.
    pub text: Option<String>,
    /// Only this suite.
    pub suite: Option<String>,
    /// Only this model.
    pub model: Option<String>,
    /// Only this branch.
    pub branch: Option<String>,
    /// Only this version.
    pub version: Option<String>,
    /// Only runs with this tag, by name and value.
    pub tag: Option<(String, String)>,
    /// Only runs with this last verdict: `pass`, `fail`, `undecided`, or `none` for those that were never judged.
    pub verdict: Option<String>,
    /// Only runs in this state.
    pub state: Option<RunState>,
}

impl RunFilter {
    /// True when it leaves nothing out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What may be wrong with a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// Nothing is missing.
    Whole,
    /// Samples errored, have no score, or never ran, or the run did not come to its end.
    Lacking,
    /// Someone said that it is not to be counted.
    Invalid,
}

impl RunState {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Whole, Self::Lacking, Self::Invalid];

    /// Its name in addresses and flags.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Lacking => "lacking",
            Self::Invalid => "invalid",
        }
    }

    /// The state of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// A verdict that was given at some time.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryVerdict {
    /// The verdict.
    pub verdict: Verdict,
    /// The file of the policy.
    pub policy: String,
    /// The hash of the policy.
    pub policy_hash: String,
    /// When it was given.
    pub at: String,
}
