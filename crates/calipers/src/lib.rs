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
//!   interval and caveats.
//! - [`pipeline`]: the same over many shards and threads.
//! - `eval` (feature `run`): a task run against a model, its log and its metrics; models behind HTTP with `remote`.
//! - `script` (feature `script`): metrics as expressions, and custom ones from files, in Starlark.
//! - [`stats`]: the statistics themselves, for those who have numbers already.

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
pub mod page;
pub mod pipeline;
#[cfg(feature = "files")]
pub mod score;
#[cfg(feature = "files")]
pub mod sizing;

pub use calipers_core::*;
pub use calipers_gate::{
    AttemptResult, Baseline, BaselineMetric, BaselineResult, BaselineScenario, Case, CategoryResult, CompositeResult,
    Coverage, DecidedBy, Draft, Fault, Finding, GateKind, GateReason, GateReport, GateResult, GateRule, KeptReason,
    Lint, MetricDifference, Mode, NewThreshold, Provenance, Raise, RaiseOptions, ScenarioCheck, ScenarioResult,
    Severity, Term, judge, lint, lint_ids, policy, raise, record, weighted_score,
};
#[cfg(feature = "files")]
pub use calipers_io as io;
#[cfg(feature = "files")]
pub use calipers_render as render;
#[cfg(feature = "run")]
pub use calipers_run as run;
#[cfg(feature = "script")]
pub use calipers_script as script;
pub use calipers_stats as stats;

/// What nearly every program needs.
pub mod prelude {
    pub use calipers_core::{
        All, Average, Caveat, Ci, Context, Epochs, Error, Figure, Grouped, Labels, Metadata, Metric, OnMissing,
        Outcome, Plan, Reducer, Results, SampleScore, Samples, Score, Seed, Value, accuracy, aggregate, at_least,
        behavior_coverage, bootstrap_stderr, by_key, categorical, ci, ci_wilson, collect, cost, f1, frequency, grouped,
        krippendorff_alpha, latency_p50, latency_p90, latency_p95, latency_p99, majority, max_score, mcc, mean,
        mean_of, mean_score, median_score, metric, mode_score, pass_at, pass_k, pass_rate, perplexity_per_seq,
        perplexity_per_token, precision, quantile, ratio, recall, safety_rate, score_reducer, std, stderr,
        stderr_clustered, token_efficiency, total_cost, var,
    };
    pub use calipers_gate::weighted_score;
}

/// The README's example runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
