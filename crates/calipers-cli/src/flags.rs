//! Options that several commands share.

use crate::memory_limit::MemorySize;
use crate::policy_file::PolicyFile;
use calipers::data::MissingRule;
use clap::{Args, ValueEnum};

/// What of the results is looked at, and what moves the numbers.
#[derive(Args, Debug)]
pub(crate) struct SelectionFlags {
    /// Use only this scorer (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) scorer: Vec<String>,

    /// Use only samples whose metadata has this value (repeatable)
    #[arg(long = "where", value_name = "KEY=VALUE")]
    pub(crate) filter: Vec<String>,

    /// The number that a label counts as, such as `maybe=0.5` (repeatable)
    #[arg(long, value_name = "LABEL=NUMBER")]
    pub(crate) label: Vec<String>,

    /// The share of expected behaviours, or the score, at which an attempt passes [default: 1]
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true)]
    pub(crate) pass_threshold: Option<f64>,

    /// How attempts that ended in an error, never ran or have no score count, instead of what the policy and the metrics say
    #[arg(long, value_enum, value_name = "RULE")]
    pub(crate) missing: Option<MissingName>,

    /// The random seed
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
}

/// How attempts without a score count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MissingName {
    /// As failed: their score is 0
    Failed,
    /// Not at all: they are left out
    Excluded,
}

impl MissingName {
    pub(crate) fn rule(self) -> MissingRule {
        match self {
            Self::Failed => MissingRule::Failed,
            Self::Excluded => MissingRule::Excluded,
        }
    }
}

/// What people said about some of the samples.
#[derive(Args, Debug)]
pub(crate) struct LabelFlags {
    /// Human labels for some of the samples, for `corrected`: records with `id` and `label`, in any format that is read. To
    /// compare runs, give one file per run, in the same order
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Vec<String>,

    /// What the columns of the labels mean, such as `id=question,score=verdict` (repeatable)
    #[arg(long, value_name = "NAME=COLUMN", requires = "labels")]
    pub(crate) label_columns: Vec<String>,
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

/// How a file is read, whatever it is read for.
#[derive(Args, Debug)]
pub(crate) struct FileFlags {
    /// The format of the files (see `calipers formats`)
    #[arg(long, value_name = "NAME")]
    pub(crate) format: Option<String>,

    /// What the columns mean, such as `id=question_id,score=is_correct,run=model` (repeatable;
    /// https://calipers-eval.github.io/calipers/formats/any-table.html lists all names)
    #[arg(long, value_name = "NAME=COLUMN")]
    pub(crate) columns: Vec<String>,

    /// Use only this run, if the files hold several (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) run: Vec<String>,
}

/// How files are read.
#[derive(Args, Debug)]
pub(crate) struct FormatFlag {
    #[command(flatten)]
    pub(crate) files: FileFlags,

    /// Each file, or each folder, is one attempt of the same run
    #[arg(long, value_enum, value_name = "UNIT")]
    pub(crate) attempts_from: Option<AttemptUnit>,

    /// How much memory the command may use, such as `4GB`, or `none` for no limit; without this, 80 % of the machine's
    #[arg(long, value_name = "SIZE", value_parser = MemorySize::parse)]
    pub(crate) memory: Option<MemorySize>,
}

/// What the attempts of a run are spread over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AttemptUnit {
    /// Each file is one attempt at every sample in it
    Files,
    /// Each folder is one attempt; the files in a folder are parts of it
    Folders,
}

/// How wide intervals are.
#[derive(Args, Debug)]
pub(crate) struct LevelFlag {
    /// The confidence level of the intervals, between 0 and 1
    #[arg(long, default_value_t = 0.95, value_parser = parse_level)]
    pub(crate) level: f64,
}

/// A level, which no interval has at 0 or at 1.
pub(crate) fn parse_level(text: &str) -> Result<f64, String> {
    let level: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if level > 0.0 && level < 1.0 {
        Ok(level)
    } else {
        Err("a level lies between 0 and 1; 95 % is written 0.95".to_owned())
    }
}

/// What a run should hold.
#[derive(Args, Debug)]
pub(crate) struct SuiteFlag {
    /// A file with the ids of the scenarios that the run should contain
    #[arg(long, value_name = "FILE")]
    pub(crate) suite: Option<String>,
}

/// What a run is compared with.
#[derive(Args, Debug)]
pub(crate) struct BaselineFlag {
    /// A baseline to compare with, from `calipers baseline record`
    #[arg(short, long, value_name = "FILE")]
    pub(crate) baseline: Option<String>,
}

/// Which of a policy's thresholds apply.
#[derive(Args, Debug)]
pub(crate) struct VersionFlag {
    /// The version whose `progressive` thresholds apply, such as v2.0
    #[arg(long, value_name = "VERSION", requires = "policy")]
    pub(crate) for_version: Option<String>,
}

/// What a verdict, a baseline and higher thresholds depend on.
#[derive(Args, Debug)]
pub(crate) struct JudgingFlags {
    /// Files, folders or patterns with the results of one version; `-` is standard input
    #[arg(required = true)]
    pub(crate) files: Vec<String>,

    /// The policy: JSON, YAML or TOML (https://calipers-eval.github.io/calipers/policy.html lists all keys)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) policy: PolicyFile,

    #[command(flatten)]
    pub(crate) suite: SuiteFlag,

    /// The reducer of attempts, instead of the policy's, such as `mean`, `mode`, `pass_k_3`
    #[arg(long, value_name = "NAME")]
    pub(crate) reducer: Option<String>,

    #[command(flatten)]
    pub(crate) selection: SelectionFlags,

    #[command(flatten)]
    pub(crate) labels: LabelFlags,

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
