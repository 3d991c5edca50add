//! The options of `calipers eval`.

use crate::policy_file::PolicyFile;
use clap::Args;

/// What a log says of its run, so that it cannot be said again when the run goes on.
const OF_THE_LOG: [&str; 36] = [
    "parameter",
    "model",
    "model_base_url",
    "model_role",
    "solver",
    "scorer",
    "metric",
    "epochs",
    "reducer",
    "limit",
    "sample_id",
    "seed",
    "tags",
    "temperature",
    "top_p",
    "max_tokens",
    "reasoning_effort",
    "max_connections",
    "max_retries",
    "timeout",
    "price",
    "time_limit",
    "token_limit",
    "cost_limit",
    "message_limit",
    "max_samples",
    "fail_on_error",
    "retry_on_error",
    "log_dir",
    "cache",
    "gate",
    "load",
    "suite",
    "baseline",
    "for_version",
    "stop_when_decided",
];

/// `calipers eval`
///
/// Runs a task, writes a log as attempts finish, and prints the metrics. Exit codes: 0 done (and passed, with `--gate`), 1
/// failed by the policy, 2 a mistake or a run that broke off, 3 undecided by the policy.
#[derive(Args, Debug)]
pub(crate) struct Eval {
    /// A task file (`gpqa.star`, or `gpqa.star@name` if it has several tasks), or a file of scenarios
    #[arg(value_name = "TASK", required_unless_present_any = ["resume", "replay"], conflicts_with = "resume")]
    pub(crate) task: Option<String>,

    /// A parameter of the task (repeatable)
    #[arg(short = 'T', value_name = "NAME=VALUE")]
    pub(crate) parameter: Vec<String>,

    /// The model: mockllm/…, openai/…, anthropic/…, google/… or ollama/… (keys come from the environment)
    #[arg(long, value_name = "PROVIDER/MODEL")]
    pub(crate) model: Option<String>,

    /// The address of a server that speaks the provider's protocol, in place of the provider's own
    #[arg(long, value_name = "URL")]
    pub(crate) model_base_url: Option<String>,

    /// The model for a role, such as `grader=openai/gpt-4o` (repeatable)
    #[arg(long, value_name = "ROLE=MODEL")]
    pub(crate) model_role: Vec<String>,

    /// A solver in place of the task's own, such as `command("./agent")` (repeatable: one step each)
    #[arg(long, value_name = "EXPR")]
    pub(crate) solver: Vec<String>,

    /// A scorer in place of the task's own, such as `match()` (repeatable)
    #[arg(long, value_name = "EXPR")]
    pub(crate) scorer: Vec<String>,

    /// A metric in place of the task's own (repeatable; see docs/expressions.md)
    #[arg(short, long, value_name = "EXPR")]
    pub(crate) metric: Vec<String>,

    /// How many attempts to make at each sample
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) epochs: Option<u32>,

    /// A reducer of attempts, such as `mean`, `mode`, `pass_at_3` (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) reducer: Vec<String>,

    /// Run only this many samples
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,

    /// Run only this sample (repeatable)
    #[arg(long, value_name = "ID")]
    pub(crate) sample_id: Vec<String>,

    /// The seed of everything random: the order of attempts, shuffled choices, resampling
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,

    /// Words to find the log by (repeatable, or separated by commas)
    #[arg(long, value_name = "WORD", value_delimiter = ',')]
    pub(crate) tags: Vec<String>,

    /// The folder for logs
    #[arg(long, value_name = "DIR", default_value = "logs")]
    pub(crate) log_dir: String,

    /// Finish the run of a log that broke off or was stopped
    #[arg(long, value_name = "LOG", conflicts_with_all = OF_THE_LOG)]
    pub(crate) resume: Option<String>,

    /// Take answers from an earlier log in place of a model: score them again
    #[arg(long, value_name = "LOG", conflicts_with_all = ["model", "resume"])]
    pub(crate) replay: Option<String>,

    /// Keep answers of models in this folder, and reuse them
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<String>,

    /// Judge the results by a policy
    #[arg(long, value_name = "POLICY")]
    pub(crate) gate: Option<PolicyFile>,

    /// A Starlark file that defines metrics and reducers for the policy (repeatable)
    #[arg(long, value_name = "FILE", requires = "gate")]
    pub(crate) load: Vec<String>,

    /// A file with the ids of the scenarios that the run should have, for the policy
    #[arg(long, value_name = "FILE", requires = "gate")]
    pub(crate) suite: Option<String>,

    /// A run to compare with by the policy, from `calipers baseline record`
    #[arg(short, long, value_name = "FILE", requires = "gate")]
    pub(crate) baseline: Option<String>,

    /// The version whose `progressive` thresholds apply, such as v2.0
    #[arg(long, value_name = "VERSION", requires = "gate")]
    pub(crate) for_version: Option<String>,

    /// Start no further attempts once the policy's blocking gates are decided, by a test that stays valid at every look
    #[arg(long, requires = "gate")]
    pub(crate) stop_when_decided: bool,

    /// How long one call of a function of a task file may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) script_time: u64,

    /// Print JSON (`calipers.results/1`; with `--gate`, `calipers.gate/1`)
    #[arg(long)]
    pub(crate) json: bool,

    // Last, because whatever follows them would stand under their headings.
    #[command(flatten)]
    pub(crate) generate: Generate,

    #[command(flatten)]
    pub(crate) bounds: Bounds,
}

/// How models answer.
#[derive(Args, Debug)]
#[command(next_help_heading = "Answers of models")]
pub(crate) struct Generate {
    /// How freely the model chooses words
    #[arg(long, value_name = "NUMBER")]
    pub(crate) temperature: Option<f64>,

    /// The share of likely words to choose from
    #[arg(long, value_name = "NUMBER")]
    pub(crate) top_p: Option<f64>,

    /// The most tokens of an answer
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,

    /// How much the model reasons: low, medium or high
    #[arg(long, value_name = "WORD")]
    pub(crate) reasoning_effort: Option<String>,

    /// How many calls of a model may run at once
    #[arg(long, value_name = "N")]
    pub(crate) max_connections: Option<usize>,

    /// How often to retry a call that may succeed later
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) max_retries: u32,

    /// How long one call of a model may take
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub(crate) timeout: u64,

    /// The price of a million input and output tokens of a model in USD, such as `openai/gpt-4o=2.5,10` (repeatable)
    #[arg(long, value_name = "MODEL=IN,OUT")]
    pub(crate) price: Vec<String>,
}

/// How much may be used, and how much may break.
#[derive(Args, Debug)]
#[command(next_help_heading = "Bounds")]
pub(crate) struct Bounds {
    /// The longest that one attempt may take
    #[arg(long, value_name = "SECONDS")]
    pub(crate) time_limit: Option<f64>,

    /// The most tokens of one attempt
    #[arg(long, value_name = "N")]
    pub(crate) token_limit: Option<u64>,

    /// The most that one attempt may cost, where models say what they cost
    #[arg(long, value_name = "USD")]
    pub(crate) cost_limit: Option<f64>,

    /// The most messages of one attempt
    #[arg(long, value_name = "N")]
    pub(crate) message_limit: Option<usize>,

    /// How many attempts may run at once
    #[arg(long, value_name = "N")]
    pub(crate) max_samples: Option<usize>,

    /// How many broken attempts end the run: `first`, `never`, a number, or a share below 1 (default: the task's own,
    /// else the first)
    #[arg(long, value_name = "N")]
    pub(crate) fail_on_error: Option<String>,

    /// How often to retry an attempt that broke
    #[arg(long, value_name = "N")]
    pub(crate) retry_on_error: Option<u32>,
}
