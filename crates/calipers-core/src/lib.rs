//! What the numbers mean: values, scores, samples, reducers, metrics and results.
//!
//! The line through this crate: [`Samples`] hold attempts column by column; a [`Reducer`] makes one score of a
//! sample's attempts; a [`Metric`] folds the scores of a shard into a state, states merge, and a [`Plan`] finishes
//! them into [`Results`] whose figures carry n, what is missing, the method, an interval and caveats.
//!
//! Nothing here reads files, knows the time or starts threads. Missing has a reason, undefined has a reason, and
//! neither is ever 0.

mod about;
mod baseline;
mod caveat;
mod column;
pub mod compare;
mod conversation;
mod dataset;
mod error;
mod estimand;
mod evidence;
mod excerpt;
mod figure;
mod gate;
mod glob;
mod ids;
mod judge;
mod labels;
mod lint;
mod metric;
pub mod page;
mod places;
mod plan;
mod points;
pub mod policy;
mod raise;
mod records;
mod reduce;
mod report;
mod results;
mod samples;
mod scenario;
mod score;
mod scores;
mod shards;
pub mod sizing;
mod table;
mod transcript;
mod value;
mod weighted_score;
mod words;

pub use about::{About, Family, Unit};
pub use baseline::{Baseline, BaselineCounts, BaselineMetric, BaselineScenario};
pub use calipers_stats::{self as stats, Confidence, Interval, Method, Seed};
pub use caveat::Caveat;
pub use conversation::{GenerateConfig, Message, ModelOutput, Role, StopReason, ToolCall, Usage};
pub use dataset::{Dataset, Fields, FileDataset, FileKind, Input, Mapping, Origin, Sample, Target};
pub use error::{Error, ErrorKind, Place};
pub use evidence::Evidence;
pub use excerpt::Excerpt;
pub use figure::{Answer, Figure, Reason, Undefined};
pub use gate::{
    AttemptResult, BaselineResult, CategoryResult, CompositeResult, Coverage, GateKind, GateReport, GateResult,
    MetricDifference, Mode, Note, Provenance, ScenarioCheck, ScenarioOutcome, ScenarioResult, Term, Verdict,
};
pub use ids::SampleId;
pub use judge::{Case, Fault, judge, record};
pub use labels::{Labels, digit as decimal_digit, number as parse_number};
pub use lint::{Draft, Finding, Severity, lint, lint_ids};
pub use metric::*;
pub use plan::{Epochs, IntoReducers, Partial, Plan};
pub use points::Points;
pub use raise::{Change, Raise, Raising, raise};
pub use records::Record;
pub use reduce::{
    Reducer, at_least, collect, majority, max_score, mean_score, median_score, mode_score, pass_at, pass_k,
    score_reducer,
};
pub use report::{RecordedResult, Report, RunReport, SampleCounts};
pub use results::{MetricResult, MetricSpec, Reduction, Results, ScoreResult, by_key};
pub use samples::{Attempt, Metadata, Samples};
pub use scenario::{PassRule, Scenario, Scenarios};
pub use score::{Outcome, SampleScore, Score};
pub use shards::Shards;
pub use table::{Cells, Table};
pub use transcript::{LimitReached, Transcript};
pub use value::Value;
pub use weighted_score::weighted_score;
pub use words::{brief, counted};

/// The known name nearest to what was written, if one is near enough to be meant.
#[must_use]
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let ranked = known.iter().map(|known| (edits(name, known), *known));
    ranked.min().filter(|(edits, known)| *edits <= known.len().div_ceil(3)).map(|(_, known)| known)
}

/// The number of single-character edits between two texts (Levenshtein 1966).
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
