//! Calipers measures AI evaluations: it reduces repeated attempts, computes metrics with honest error bars, and
//! says what is undefined and why.
//!
//! ```
//! use calipers::prelude::*;
//!
//! let mut samples = Samples::new();
//! for (id, category, score) in [(1, "physics", "C"), (2, "physics", "I"), (3, "chemistry", "C"), (4, "chemistry", "C")] {
//!     samples.push(id).metadata("category", category).score("choice", score);
//! }
//! let results = Plan::new().metrics([grouped(accuracy(), "category"), stderr()]).measure(&samples)?;
//! let all = results.figure("choice", "all").expect("asked for");
//! assert_eq!(all.value, Ok(0.75));
//! assert_eq!(all.n, 4);
//! # Ok::<(), Error>(())
//! ```
//!
//! - [`guide`]: Inspect's scoring page, section by section, in Rust.
//! - [`Plan`]: what to compute; [`Samples`]: what to compute it from; [`Results`]: figures with n, missing, method,
//!   interval and caveats. [`prelude`] has these and what else nearly every program needs.
//! - [`data`], [`metric`], [`reduce`], [`plan`], [`task`]: the parts of which that is made.
//! - [`pipeline`]: the same over many shards and threads.
//! - With the feature `files`, everything that begins with results in files: a `Selection` says what of them is looked at,
//!   `load()` reads it, and `score`, `gate`, `compare`, `judge`, `sizing` and `page` answer; `io` reads and writes, `render` turns
//!   reports into text, JSON and pages.
//! - `eval` (feature `run`): a task run against a model, its log and its metrics; models behind HTTP with `remote`.
//! - `script` (feature `script`): metrics as expressions, and custom ones from files, in Starlark.
//! - [`stats`]: the statistics themselves, for numbers that are there already.

#[cfg(feature = "files")]
pub mod check;
#[cfg(feature = "files")]
pub mod compare;
#[cfg(feature = "files")]
pub mod convert;
#[cfg(feature = "run")]
pub mod eval;
#[cfg(feature = "files")]
pub mod gate;
pub mod guide;
#[cfg(feature = "files")]
mod joined_runs;
#[cfg(feature = "files")]
pub mod judge;
#[cfg(feature = "files")]
mod load;
#[cfg(feature = "files")]
mod loaded_names;
#[cfg(feature = "files")]
mod needs;
#[cfg(feature = "files")]
pub mod page;
#[cfg(feature = "files")]
pub mod parts;
pub mod pipeline;
#[cfg(feature = "files")]
mod recorded_check;
#[cfg(feature = "files")]
mod run_error;
#[cfg(feature = "files")]
mod run_reducer;
#[cfg(feature = "files")]
mod sample_outcomes;
#[cfg(feature = "files")]
pub mod score;
#[cfg(feature = "files")]
mod selection;
#[cfg(feature = "files")]
pub mod sizing;
#[cfg(feature = "files")]
mod sources;
#[cfg(feature = "files")]
pub mod summary;
#[cfg(feature = "files")]
pub mod trend;

/// Runs judged by policies.
#[cfg(not(feature = "files"))]
pub use calipers_gate as gate;
#[cfg(feature = "files")]
pub use calipers_io as io;
#[cfg(feature = "files")]
pub use calipers_render as render;
#[cfg(feature = "run")]
pub use calipers_run as run;
#[cfg(feature = "script")]
pub use calipers_script as script;
pub use calipers_stats as stats;

pub use calipers_core::{Error, Metric, Plan, Reducer, Registry, Results, Samples, Score, Verdict};
pub use calipers_core::{data, reduce, task};
pub use calipers_gate::policy;
#[cfg(feature = "files")]
pub use load::{LoadedFile, LoadedRun, load};
#[cfg(feature = "files")]
pub use loaded_names::LoadedNames;
#[cfg(feature = "files")]
pub use needs::Needs;
#[cfg(feature = "files")]
pub use run_error::{RunError, SetupError};
#[cfg(feature = "files")]
pub use selection::{AttemptsFrom, Selection};
#[cfg(feature = "files")]
pub use sources::{FoundSources, find_sources};

/// Metrics, the figures they give and the caveats of these, and the registry that finds metrics by name.
pub mod metric {
    pub use calipers_core::metric::*;
    pub use calipers_core::{Caveat, GateCaveat, NameKind, RecordedCause};
}

/// Which metrics see which rows, and the results.
pub mod plan {
    pub use calipers_core::plan::*;
    pub use calipers_core::{Confidence, Interval, Method, Seed, ValueLimit, ValueLimits};
}

/// What went wrong, where, and how to fix it.
pub mod error {
    pub use calipers_core::{Error, ErrorKind, ErrorPlace, Excerpt};
}

/// Pieces of messages: plurals, short quotes, the name that was probably meant, and text that steers nothing.
pub mod text {
    pub use calipers_core::{brief, defuse, defuse_json, defuse_markup, nearest, one_line, pluralize, printable};
}

/// What reports say that they were made by.
#[cfg(feature = "files")]
pub(crate) const TOOL: &str = concat!("calipers ", env!("CARGO_PKG_VERSION"));

/// What nearly every program needs.
pub mod prelude {
    pub use calipers_core::metric::builtin::*;
    pub use calipers_core::{
        Caveat, Context, Epochs, Error, Figure, Labels, Metadata, Metric, Outcome, Plan, Reducer, Results, SampleScore,
        Samples, Score, Seed, Value, at_least, by_key, collect, majority, max_score, mean_score, median_score, metric,
        mode_score, pass_at, pass_k, score_reducer,
    };
    pub use calipers_gate::weighted_score;
}

/// The README's example runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
