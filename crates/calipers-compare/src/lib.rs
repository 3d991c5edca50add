//! Runs compared sample by sample, and how many samples the next run needs.
//!
//! - [`compare()`]: what changed between runs, and whether it is real, as a [`CompareReport`].
//! - [`sizing`]: how many samples and attempts answer a question.
//!
//! Nothing here reads files.

mod compare;
pub mod sizing;

pub use compare::{
    AttemptCounts, CategoryChange, ChangeScale, ChangeTest, ChangeVerdict, CompareDecision, CompareProvenance,
    CompareQuestion, CompareReport, CompareSettings, ComparedRun, Discordance, EstimandAnswer, Flakiness, MarginAnswer,
    MarginStanding, Matching, MetricComparison, MetricPlace, RankedRun, Ranking, RunComparison, RunOrigin,
    SampleChange, SampleChanges, SamplePair, TestMethod, compare,
};
