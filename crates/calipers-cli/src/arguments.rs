//! What can be asked for.

use clap::{Args, Parser, Subcommand, ValueEnum};

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
    Score(Box<Score>),
    /// Run a task against a model or an agent, write a log, and print the metrics
    Eval(Box<crate::eval::Eval>),
    /// Judge results by a policy: pass, fail or undecided
    Gate(Box<Gate>),
    /// Say what changed between runs, and whether it is real
    Compare(Box<crate::compare::Compare>),
    /// Say how many samples a run needs, or what one could have shown
    Plan(Box<crate::plan::Plan>),
    /// Remember a run to compare later ones with, and raise thresholds on evidence
    #[command(subcommand)]
    Baseline(Baseline),
    /// Look at a policy before it is used
    #[command(subcommand)]
    Policy(Policy),
    /// Write a page about results, in one file that any browser opens
    Report(Box<crate::report::Report>),
    /// Write results in another form
    Convert(Convert),
    /// List the metrics, or explain one
    Metrics(Metrics),
    /// List the formats that can be read, and the forms that can be written
    Formats {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON schema of what `--json` prints, of a policy or of a baseline
    Schema {
        /// The output
        #[arg(value_enum)]
        name: Schema,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(hide = true)]
    Man,
}

/// What of the results is looked at, and what moves the numbers.
#[derive(Args, Debug)]
pub(crate) struct Chosen {
    /// Only this scorer (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) scorer: Vec<String>,

    /// Only samples whose metadata has this value (repeatable)
    #[arg(long = "where", value_name = "KEY=VALUE")]
    pub(crate) filter: Vec<String>,

    /// What a label counts, such as `maybe=0.5` (repeatable)
    #[arg(long, value_name = "LABEL=NUMBER")]
    pub(crate) label: Vec<String>,

    /// The seed of all that is random
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
}

/// What may run.
#[derive(Args, Debug)]
pub(crate) struct Scripts {
    /// A Starlark file that defines metrics and reducers (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(crate) load: Vec<String>,

    /// How long expressions and loaded files may run, all together
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) script_time: u64,
}

/// How files are read.
#[derive(Args, Debug)]
pub(crate) struct Reading {
    /// Read the files in this format (see `calipers formats`)
    #[arg(long, value_name = "NAME")]
    pub(crate) format: Option<String>,
}

/// How wide intervals are.
#[derive(Args, Debug)]
pub(crate) struct Level {
    /// The level of the intervals shown, between 0 and 1
    #[arg(long, default_value_t = 0.95)]
    pub(crate) level: f64,
}

/// What a run should hold.
#[derive(Args, Debug)]
pub(crate) struct Suite {
    /// The scenarios that there should be: a file with their ids
    #[arg(long, value_name = "FILE")]
    pub(crate) suite: Option<String>,
}

/// What a run is compared with.
#[derive(Args, Debug)]
pub(crate) struct Compared {
    /// A run to compare with, from `calipers baseline record`
    #[arg(short, long, value_name = "FILE")]
    pub(crate) baseline: Option<String>,
}

/// `calipers score`
#[derive(Args, Debug)]
pub(crate) struct Score {
    /// Files, folders or patterns; `-` is standard input
    #[arg(required = true)]
    pub(crate) files: Vec<String>,

    /// A metric in place of the recorded ones, such as `accuracy`, `stderr(cluster="category")` or one of a loaded file
    /// (repeatable; see docs/expressions.md)
    #[arg(short, long, value_name = "EXPR")]
    pub(crate) metric: Vec<String>,

    /// A reducer of attempts, such as `mean`, `mode`, `pass_at_3`; `none` turns reduction off (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) reducer: Vec<String>,

    #[command(flatten)]
    pub(crate) chosen: Chosen,

    #[command(flatten)]
    pub(crate) level: Level,

    /// Compute and print as another tool does
    #[arg(long, value_enum, value_name = "TOOL")]
    pub(crate) compat: Option<Compat>,

    #[command(flatten)]
    pub(crate) scripts: Scripts,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Show the reduced score of every sample too
    #[arg(long)]
    pub(crate) reductions: bool,

    /// Draw the figures too
    #[arg(long)]
    pub(crate) plot: bool,

    /// Print JSON (`calipers.results/1`)
    #[arg(long)]
    pub(crate) json: bool,
}

/// What a verdict, a baseline and higher thresholds depend on.
#[derive(Args, Debug)]
pub(crate) struct Judging {
    /// Files, folders or patterns with the results of one version; `-` is standard input
    #[arg(required = true)]
    pub(crate) files: Vec<String>,

    /// What must hold: JSON, YAML or TOML (see docs/policy.md)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) policy: String,

    #[command(flatten)]
    pub(crate) suite: Suite,

    /// The reducer of attempts, in place of the policy's, such as `mean`, `mode`, `pass_k_3`
    #[arg(long, value_name = "NAME")]
    pub(crate) reducer: Option<String>,

    #[command(flatten)]
    pub(crate) chosen: Chosen,

    #[command(flatten)]
    pub(crate) scripts: Scripts,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// `calipers gate`
///
/// Exit codes: 0 pass, 1 fail, 2 a mistake in the usage, the policy or the input, 3 undecided.
#[derive(Args, Debug)]
pub(crate) struct Gate {
    #[command(flatten)]
    pub(crate) judging: Judging,

    #[command(flatten)]
    pub(crate) compared: Compared,

    #[command(flatten)]
    pub(crate) level: Level,

    /// The version whose `progressive` thresholds hold, such as v2.0
    #[arg(long, value_name = "VERSION")]
    pub(crate) for_version: Option<String>,

    /// Write the report to files too: json=FILE, markdown=FILE, junit=FILE, html=FILE, text=FILE (repeatable, or after
    /// commas). A file of before is removed at the start; `-` takes the place of what is printed
    #[arg(short, long, value_name = "FORM=FILE", value_delimiter = ',')]
    pub(crate) output: Vec<String>,

    /// Draw the gates too
    #[arg(long)]
    pub(crate) plot: bool,

    /// Print JSON (`calipers.gate/1`)
    #[arg(long)]
    pub(crate) json: bool,
}

/// `calipers baseline`
#[derive(Debug, Subcommand)]
pub(crate) enum Baseline {
    /// Write what later runs are compared with: metrics, and what became of each scenario
    Record(Box<Record>),
    /// Print a baseline: its age, its metrics and its scenarios
    Show(Show),
    /// Propose higher thresholds for a policy, where results show that they hold
    Raise(Box<Raise>),
}

/// `calipers baseline record`
#[derive(Args, Debug)]
pub(crate) struct Record {
    #[command(flatten)]
    pub(crate) judging: Judging,

    /// The file to write, which is replaced if it exists; `-` for standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: String,

    /// The day to write into it, in place of today (UTC)
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub(crate) date: Option<String>,
}

/// `calipers baseline show`
#[derive(Args, Debug)]
pub(crate) struct Show {
    /// The baseline
    pub(crate) file: String,

    /// Print JSON (`calipers.baseline/1`, with a summary)
    #[arg(long)]
    pub(crate) json: bool,
}

/// `calipers baseline raise`
#[derive(Args, Debug)]
pub(crate) struct Raise {
    #[command(flatten)]
    pub(crate) judging: Judging,

    /// Raise nothing whose metric is worse than in this baseline
    #[arg(short, long, value_name = "FILE")]
    pub(crate) baseline: Option<String>,

    /// Write the new thresholds into the policy; without it they are only shown
    #[arg(long)]
    pub(crate) write: bool,

    /// Lower thresholds that the results do not show to what they do show
    #[arg(long)]
    pub(crate) allow_lower: bool,

    /// How far below what is shown a threshold stays: 0.01 is one point of a rate, and 1 % of everything else
    #[arg(long, value_name = "SHARE", default_value_t = 0.01)]
    pub(crate) headroom: f64,

    /// Print JSON (`calipers.raise/1`)
    #[arg(long)]
    pub(crate) json: bool,
}

/// `calipers policy`
#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// Say what may be wrong with a policy, with or without results
    Check(Box<Check>),
}

/// `calipers policy check`
///
/// Exit codes: 0 no errors, 2 errors; with `--strict` warnings count as errors.
#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The policy: JSON, YAML or TOML (see docs/policy-check.md)
    #[arg(value_name = "FILE")]
    pub(crate) policy: String,

    /// Results of the kind that will be judged: files, folders or patterns; `-` is standard input (repeatable)
    #[arg(short, long, value_name = "FILES", num_args = 1..)]
    pub(crate) samples: Vec<String>,

    #[command(flatten)]
    pub(crate) suite: Suite,

    #[command(flatten)]
    pub(crate) compared: Compared,

    /// Count warnings as errors
    #[arg(long)]
    pub(crate) strict: bool,

    #[command(flatten)]
    pub(crate) scripts: Scripts,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Print JSON (`calipers.findings/1`)
    #[arg(long)]
    pub(crate) json: bool,
}

/// `calipers convert`
#[derive(Args, Debug)]
pub(crate) struct Convert {
    /// Files, folders or patterns; `-` is standard input
    #[arg(required = true)]
    pub(crate) files: Vec<String>,

    /// The file to write: .jsonl, .json, .csv (also with .gz or .zst), .parquet or .eval; a folder, with `/` at its end,
    /// for one file a run; `-` for standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: String,

    /// Write in this form, whatever the name of the file: native, csv, parquet or inspect
    #[arg(long, value_name = "FORM")]
    pub(crate) to: Option<String>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// How the results in a log of Inspect's reduce attempts, such as `mean` or `pass_at_3`; `none` turns reduction off
    /// (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) reducer: Vec<String>,

    /// Replace files that exist
    #[arg(long)]
    pub(crate) force: bool,
}

/// `calipers metrics`
#[derive(Args, Debug)]
pub(crate) struct Metrics {
    /// The metric to explain, such as `latency_p95`
    pub(crate) name: Option<String>,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Outputs and files that have a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Schema {
    /// `calipers score --json`: `calipers.results/1`
    Results,
    /// `calipers gate --json`: `calipers.gate/1`
    Gate,
    /// Policy files: `calipers.policy/1`
    Policy,
    /// Baselines: `calipers.baseline/1`
    Baseline,
    /// `calipers policy check --json`: `calipers.findings/1`
    Findings,
    /// `calipers baseline raise --json`: `calipers.raise/1`
    Raise,
    /// `calipers compare --json`: `calipers.compare/1`
    Compare,
    /// `calipers plan --json`: `calipers.plan/1`
    Plan,
}

/// Tools whose numbers can be printed in place of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Compat {
    /// Inspect AI: unknown labels count 0, and undefined figures are its 0 or NaN
    Inspect,
}
