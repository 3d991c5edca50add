//! What the numbers mean: values, scores, samples, reducers, metrics and results.
//!
//! The line through this crate: [`Samples`] hold attempts column by column; a [`Reducer`] makes one score of a
//! sample's attempts; a [`Metric`] folds the scores of a shard into a state, states merge, and a [`Plan`] finishes
//! them into [`Results`] whose figures carry n, what is missing, the method, an interval and caveats.
//!
//! Nothing here reads files, knows the time or starts threads. Missing has a reason, undefined has a reason, and
//! neither is ever 0.

mod caveat;
pub mod data;
mod error;
mod excerpt;
mod gate_caveat;
mod incomparable;
pub mod metric;
pub mod plan;
pub mod reduce;
mod span;
pub mod task;
mod words;

pub use calipers_stats::{self as stats, Confidence, Interval, Method, Seed, Verdict};
pub use caveat::Caveat;
pub use data::*;
pub use error::{Error, ErrorKind, ErrorPlace};
pub use excerpt::{Excerpt, printable};
pub use gate_caveat::{GateCaveat, NameKind};
pub use incomparable::{Incomparable, RunSide};
pub use metric::*;
pub use plan::{
    Epochs, IntoReducers, MetricResult, MetricSpec, Partial, Plan, RecordedResult, Reduction, Report, Results,
    RunReport, SampleCounts, ScoreResult, by_key,
};
pub use reduce::{
    Reducer, at_least, collect, majority, max_score, mean_score, median_score, mode_score, pass_at, pass_k,
    score_reducer,
};
pub use span::{Mistake, SourceText, Span, Spanned, quoted};
pub use task::*;
pub use words::{brief, pluralize};

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
