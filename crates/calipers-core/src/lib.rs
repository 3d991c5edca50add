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
mod log_text;
pub mod metric;
pub mod plan;
pub mod reduce;
mod run_names;
mod span;
mod state_bytes;
pub mod task;
mod value_limits;
mod words;

pub use calipers_stats::{self as stats, Confidence, Interval, Method, Seed, Verdict};
pub use caveat::{Caveat, RecordedCause};
pub use data::*;
pub use error::{Error, ErrorKind, ErrorPlace};
pub use excerpt::{Excerpt, printable};
pub use gate_caveat::{GateCaveat, NameKind};
pub use incomparable::{Incomparable, RunSide};
pub use log_text::{defuse, defuse_json, defuse_markup, one_line, steers};
pub use metric::*;
pub use plan::{
    Epochs, IntoReducers, MetricResult, MetricSpec, Partial, Plan, RecordedResult, Reduction, Report, Results,
    RunReport, SampleCounts, ScoreResult, by_key,
};
pub use reduce::{
    ReducedScale, Reducer, at_least, collect, majority, max_score, mean_score, median_score, mode_score, pass_at,
    pass_k, score_reducer,
};
pub use run_names::{RunIdentity, telling_names};
pub use span::{Mistake, PolicyRemedy, SourceText, Span, Spanned, quoted};
pub use state_bytes::{StateReader, StateWriter, Stored, damaged};
pub use task::*;
pub use value_limits::{ALL_SCORES, MetricEnds, ValueEnds, ValueLimit, ValueLimits};
pub use words::{brief, group_digits, pluralize};

/// The known name nearest to what was written, if one is near enough to be meant.
#[must_use]
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let length = name.chars().count();
    if length > MISSPELT_MAX {
        return None;
    }
    // A text that is much longer or shorter is far away.
    let near = known.iter().filter(|known| known.chars().count().abs_diff(length) <= edits_max(known));
    let ranked = near.map(|known| (strsim::levenshtein(name, known), *known));
    ranked.min().filter(|(edits, known)| *edits <= edits_max(known)).map(|(_, known)| known)
}

/// A longer text is no misspelt name, and comparing it would take as long as its length times that of each name.
const MISSPELT_MAX: usize = 100;

/// How many edits away from a known name a text may be, to be taken for it.
fn edits_max(known: &str) -> usize {
    known.len().div_ceil(3)
}
