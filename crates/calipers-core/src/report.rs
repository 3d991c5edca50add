//! What is shown: results with where they come from. Whoever renders a report computes nothing.

use crate::Results;

/// The results of several runs, side by side.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The runs, in the order in which they were named.
    pub runs: Vec<RunReport>,
}

/// The results of one run.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// The file, or `-` for standard input.
    pub source: String,
    /// The format it was read as.
    pub format: String,
    /// The task, if it is known.
    pub task: Option<String>,
    /// The model, if it is known.
    pub model: Option<String>,
    /// How many samples there are.
    pub samples: u64,
    /// What was computed.
    pub results: Results,
    /// Figures that the file records and that cannot be computed here: somebody's own code made them.
    pub recorded: Vec<RecordedResult>,
    /// What was not read, and why.
    pub notes: Vec<String>,
}

/// A figure as a file records it.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedResult {
    /// The scorer, or the key of its scores.
    pub score: String,
    /// The reducer, if it is named.
    pub reducer: Option<String>,
    /// The metric.
    pub metric: String,
    /// The number, if there is one.
    pub value: Option<f64>,
}
