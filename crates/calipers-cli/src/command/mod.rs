//! The commands, one file each: its options, whether it runs scripts, and what it does.

pub(crate) mod baseline;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod eval;
pub(crate) mod formats;
pub(crate) mod gate;
pub(crate) mod man;
pub(crate) mod metrics;
pub(crate) mod plan;
pub(crate) mod policy;
pub(crate) mod report;
pub(crate) mod schema;
pub(crate) mod score;

use clap::{Parser, Subcommand};

/// Numbers you can defend for AI evaluations.
#[derive(Debug, Parser)]
#[command(name = "calipers", version, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the metrics of existing results, with error bars
    Score(Box<score::Score>),
    /// Run a task against a model or an agent, write a log, and print the metrics
    Eval(Box<eval::Eval>),
    /// Judge results by a policy: pass, fail or undecided
    Gate(Box<gate::Gate>),
    /// Say what changed between runs, and whether it is real
    Compare(Box<compare::Compare>),
    /// Say how many samples a run needs, or what one could have shown
    Plan(Box<plan::Plan>),
    /// Record a run to compare later ones with, and raise thresholds on evidence
    #[command(subcommand)]
    Baseline(baseline::Baseline),
    /// Check a policy before it is used
    #[command(subcommand)]
    Policy(policy::Policy),
    /// Write a page about results, in one file that any browser opens
    Report(Box<report::Report>),
    /// Write results in another form
    Convert(convert::Convert),
    /// List the metrics, or explain one
    Metrics(metrics::Metrics),
    /// List the formats that can be read, and the forms that can be written
    Formats(formats::Formats),
    /// Print the JSON schema of what `--json` prints, of a policy or of a baseline
    Schema(schema::Schema),
    /// Print a completion script for a shell
    Completions(completions::Completions),
    /// Print the manual page
    #[command(hide = true)]
    Man(man::Man),
}
