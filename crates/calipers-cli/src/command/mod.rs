//! The commands, one file each: its options, whether it runs scripts, and what it does.

pub(crate) mod baseline;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod convert;
#[cfg(feature = "eval")]
pub(crate) mod eval;
pub(crate) mod fold;
pub(crate) mod formats;
pub(crate) mod gate;
#[cfg(feature = "view")]
pub(crate) mod history;
pub(crate) mod judge;
pub(crate) mod man;
pub(crate) mod merge;
pub(crate) mod metrics;
#[cfg(not(all(feature = "eval", feature = "view")))]
pub(crate) mod not_built;
pub(crate) mod plan;
pub(crate) mod policy;
pub(crate) mod report;
pub(crate) mod schema;
pub(crate) mod score;
#[cfg(feature = "view")]
pub(crate) mod view;

use clap::{Parser, Subcommand};

/// Numbers you can defend for AI evaluations.
#[derive(Debug, Parser)]
#[command(
    name = "calipers",
    version,
    max_term_width = 100,
    after_help = "Documentation: https://calipers-eval.github.io/calipers/"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the metrics of existing results, with intervals
    Score(Box<score::Score>),
    /// Run a task against a model or an agent, write a log, and print the metrics
    #[cfg(feature = "eval")]
    Eval(Box<eval::Eval>),
    #[cfg(not(feature = "eval"))]
    #[command(hide = true)]
    Eval(not_built::NotBuilt),
    /// Judge results by a policy: pass, fail or undecided
    Gate(Box<gate::Gate>),
    /// Show what changed between runs, and whether the change is real
    Compare(Box<compare::Compare>),
    /// Show how well a judge agrees with human labels, and correct its rate by them
    Judge(Box<judge::Judge>),
    /// Compute how many samples a run needs, or what a run of a given size can show
    Plan(Box<plan::Plan>),
    /// Record a run as a baseline for later ones, and raise thresholds that the results support
    #[command(subcommand)]
    Baseline(baseline::Baseline),
    /// Find problems in a policy before you rely on it
    #[command(subcommand)]
    Policy(policy::Policy),
    /// Write an HTML report as a single file
    Report(Box<report::Report>),
    /// Show the history of runs in a browser: lists, trends with their errors, any two runs side by side
    #[cfg(feature = "view")]
    View(Box<view::View>),
    /// Keep a history of runs, and list what is in it
    #[cfg(feature = "view")]
    #[command(subcommand)]
    History(history::History),
    #[cfg(not(feature = "view"))]
    #[command(hide = true)]
    View(not_built::NotBuilt),
    #[cfg(not(feature = "view"))]
    #[command(hide = true)]
    History(not_built::NotBuilt),
    /// Convert results to another format
    Convert(convert::Convert),
    /// Measure one share of a large run, and write what `merge` needs of it
    Fold(Box<fold::Fold>),
    /// Put the shares of a run together, with the figures of one machine
    Merge(Box<merge::Merge>),
    /// List the metrics, or explain one
    Metrics(metrics::Metrics),
    /// List the formats that can be read and written
    Formats(formats::Formats),
    /// Print the JSON schema of a `--json` output, of policies or of baselines
    Schema(schema::Schema),
    /// Show what `calipers.toml` says, and where it was found
    Config(config::Config),
    /// Print a completion script for a shell
    Completions(completions::Completions),
    /// Print the manual page, for `calipers man | man -l -`
    Man(man::Man),
}
