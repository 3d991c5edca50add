//! Options that several commands share.

use crate::policy_file::PolicyFile;
use clap::Args;

/// What of the results is looked at, and what moves the numbers.
#[derive(Args, Debug)]
pub(crate) struct SelectionFlags {
    /// Use only this scorer (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) scorer: Vec<String>,

    /// Use only samples whose metadata has this value (repeatable)
    #[arg(long = "where", value_name = "KEY=VALUE")]
    pub(crate) filter: Vec<String>,

    /// What a label counts as, such as `maybe=0.5` (repeatable)
    #[arg(long, value_name = "LABEL=NUMBER")]
    pub(crate) label: Vec<String>,

    /// The seed of everything random
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
}

/// Which scripts run, and for how long.
#[derive(Args, Debug)]
pub(crate) struct ScriptFlags {
    /// A Starlark file that defines metrics and reducers (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(crate) load: Vec<String>,

    /// How long expressions and loaded files may run in total
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) script_time: u64,
}

/// How files are read.
#[derive(Args, Debug)]
pub(crate) struct FormatFlag {
    /// Read the files in this format (see `calipers formats`)
    #[arg(long, value_name = "NAME")]
    pub(crate) format: Option<String>,
}

/// How wide intervals are.
#[derive(Args, Debug)]
pub(crate) struct LevelFlag {
    /// The level of the intervals shown, between 0 and 1
    #[arg(long, default_value_t = 0.95)]
    pub(crate) level: f64,
}

/// What a run should hold.
#[derive(Args, Debug)]
pub(crate) struct SuiteFlag {
    /// A file with the ids of the scenarios that the run should have
    #[arg(long, value_name = "FILE")]
    pub(crate) suite: Option<String>,
}

/// What a run is compared with.
#[derive(Args, Debug)]
pub(crate) struct BaselineFlag {
    /// A run to compare with, from `calipers baseline record`
    #[arg(short, long, value_name = "FILE")]
    pub(crate) baseline: Option<String>,
}

/// What a verdict, a baseline and higher thresholds depend on.
#[derive(Args, Debug)]
pub(crate) struct JudgingFlags {
    /// Files, folders or patterns with the results of one version; `-` is standard input
    #[arg(required = true)]
    pub(crate) files: Vec<String>,

    /// What must hold: JSON, YAML or TOML (see docs/policy.md)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) policy: PolicyFile,

    #[command(flatten)]
    pub(crate) suite: SuiteFlag,

    /// The reducer of attempts, in place of the policy's, such as `mean`, `mode`, `pass_k_3`
    #[arg(long, value_name = "NAME")]
    pub(crate) reducer: Option<String>,

    #[command(flatten)]
    pub(crate) selection: SelectionFlags,

    #[command(flatten)]
    pub(crate) scripts: ScriptFlags,

    #[command(flatten)]
    pub(crate) format: FormatFlag,
}

impl JudgingFlags {
    /// True unless it is certain that no script runs.
    pub(crate) fn scripts(&self) -> bool {
        self.policy.scripts(&self.scripts)
    }
}
