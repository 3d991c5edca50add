//! Runs compared sample by sample, and how many samples the next run needs.
//!
//! - [`compare()`]: what changed between runs, and whether it is real, as a [`CompareReport`].
//! - [`sizing`]: how many samples and attempts answer a question.
//!
//! Nothing here reads files.

mod compare;
pub mod sizing;

pub use compare::{
    Attempts, CategoryChange, Change, CompareReport, Comparison, Discordance, EstimandAnswer, Flakiness, MarginAnswer,
    Matching, MetricComparison, Pair, Provenance, Question, Ranked, Ranking, Run, RunOrigin, SampleChange,
    SampleChanges, Scale, Settings, Standing, Tested, compare,
};
