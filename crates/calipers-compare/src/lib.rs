//! Runs compared sample by sample, judges compared with people, and how many samples the next run needs.
//!
//! - [`compare()`]: what changed between runs, and whether it is real, as a [`CompareReport`].
//! - [`labelled`]: how far a judge can be trusted, by the labels of people for some of the samples.
//! - [`sizing`]: how many samples and attempts answer a question.
//!
//! Nothing here reads files.

mod compare;
pub mod labelled;
pub mod sizing;

pub use compare::{
    AttemptCounts, CategoryChange, ChangeScale, ChangeTest, ChangeVerdict, CompareDecision, CompareProvenance,
    CompareQuestion, CompareReport, CompareSettings, ComparedRun, DENOMINATOR, Discordance, EstimandAnswer, Flakiness,
    MarginAnswer, MarginStanding, Matching, MetricComparison, MetricPlace, RankedRun, Ranking, RunComparison,
    RunOrigin, SampleChange, SampleChanges, SamplePair, TestMethod, TypicalSample, compare,
};
