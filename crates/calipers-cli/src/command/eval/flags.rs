//! The options of `calipers eval`.

use crate::policy_file::PolicyFile;
use clap::Args;
use std::ffi::OsString;

/// What a log says of its run, so that it cannot be said again where the log is trusted.
const OF_THE_LOG: [&str; 41] = [
    "task",
    "replay",
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
    "requests_per_minute",
    "tokens_per_minute",
    "timeout",
    "price",
    "time_limit",
    "token_limit",
    "cost_limit",
    "message_limit",
    "budget",
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
/// failed by the policy, 2 invalid usage or an interrupted run, 3 undecided by the policy.
#[derive(Args, Debug)]
pub(crate) struct Eval {
    /// A task file (`gpqa.star`, or `gpqa.star@name` if it has several tasks), the same in Python (`gpqa.py`), or a file of scenarios
    #[arg(value_name = "TASK", required_unless_present_any = ["resume", "replay"])]
    pub(crate) task: Option<String>,

    /// A parameter of the task (repeatable)
    #[arg(short = 'T', value_name = "NAME=VALUE")]
    pub(crate) parameter: Vec<String>,

    /// The model: mockllm/…, openai/…, anthropic/…, google/… or ollama/… (keys come from the environment)
    #[arg(long, value_name = "PROVIDER/MODEL")]
    pub(crate) model: Option<String>,

    /// The address of a server that speaks the provider's protocol, instead of the provider's address
    #[arg(long, value_name = "URL")]
    pub(crate) model_base_url: Option<String>,

    /// The model for a role, such as `grader=openai/gpt-4o` (repeatable)
    #[arg(long, value_name = "ROLE=MODEL")]
    pub(crate) model_role: Vec<String>,

    /// A solver to use instead of the task's, such as `command("./agent")` (repeatable, one per step)
    #[arg(long, value_name = "EXPR")]
    pub(crate) solver: Vec<String>,

    /// A scorer to use instead of the task's, such as `match()` (repeatable)
    #[arg(long, value_name = "EXPR")]
    pub(crate) scorer: Vec<String>,

    /// A metric to use instead of the task's (repeatable; `calipers metrics` lists them, https://calipers-eval.github.io/calipers/expressions.html explains them)
    #[arg(short, long, value_name = "EXPR")]
    pub(crate) metric: Vec<String>,

    /// The number of attempts per sample
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

    /// The random seed for the order of attempts, shuffled choices and resampling
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,

    /// Tags for the log (repeatable, or separated by commas)
    #[arg(long, value_name = "WORD", value_delimiter = ',')]
    pub(crate) tags: Vec<String>,

    /// The folder for logs
    #[arg(long, value_name = "DIR", default_value = "logs")]
    pub(crate) log_dir: String,

    /// Resume the interrupted run of this log: repeat the command that started it, and add this
    #[arg(long, value_name = "LOG")]
    pub(crate) resume: Option<String>,

    /// Resume with the command that the log records, including its programs and addresses, instead of repeating it
    #[arg(long, requires = "resume", conflicts_with_all = OF_THE_LOG)]
    pub(crate) trust: bool,

    /// Score the answers of an earlier log again instead of asking a model
    #[arg(long, value_name = "LOG", conflicts_with = "model")]
    pub(crate) replay: Option<String>,

    /// Allow the task file to run programs; those of `--solver` and `--scorer` need no permission
    #[arg(long)]
    pub(crate) allow_commands: bool,

    /// Pass an environment variable to programs, such as a key that an agent needs (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) env: Vec<String>,

    /// Cache the answers of models in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<String>,

    /// Judge the results by a policy
    #[arg(long, value_name = "POLICY")]
    pub(crate) gate: Option<PolicyFile>,

    /// A Starlark file that defines metrics and reducers for the policy (repeatable)
    #[arg(long, value_name = "FILE", requires = "gate")]
    pub(crate) load: Vec<String>,

    /// A file with the ids of the scenarios that the run should contain, for the policy
    #[arg(long, value_name = "FILE", requires = "gate")]
    pub(crate) suite: Option<String>,

    /// A baseline for the policy to compare with, from `calipers baseline record`
    #[arg(short, long, value_name = "FILE", requires = "gate")]
    pub(crate) baseline: Option<String>,

    /// The version whose `progressive` thresholds apply, such as v2.0
    #[arg(long, value_name = "VERSION", requires = "gate")]
    pub(crate) for_version: Option<String>,

    /// Stop once the policy's blocking gates are decided, by a test that stays valid however often it is applied
    #[arg(long, requires = "gate")]
    pub(crate) stop_when_decided: bool,

    #[cfg(feature = "view")]
    #[command(flatten)]
    pub(crate) history: crate::history_file::HistoryFlag,

    /// The time limit for a call of a function in the task file
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

    /// The words that were typed, where they are not those of this process.
    #[arg(skip)]
    pub(crate) typed: Option<Vec<OsString>>,
}

/// How models answer.
#[derive(Args, Debug)]
#[command(next_help_heading = "Answers of models")]
pub(crate) struct Generate {
    /// The sampling temperature of the model
    #[arg(long, value_name = "NUMBER")]
    pub(crate) temperature: Option<f64>,

    /// The nucleus sampling threshold of the model (top-p)
    #[arg(long, value_name = "NUMBER")]
    pub(crate) top_p: Option<f64>,

    /// The token limit for an answer
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,

    /// The reasoning effort of the model: low, medium or high
    #[arg(long, value_name = "WORD")]
    pub(crate) reasoning_effort: Option<String>,

    /// The most concurrent calls per model
    #[arg(long, value_name = "N")]
    pub(crate) max_connections: Option<usize>,

    /// The most calls per model that begin in any minute
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) requests_per_minute: Option<u64>,

    /// The most tokens per model in any minute; until it is answered, a call counts as the mean of earlier calls
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) tokens_per_minute: Option<u64>,

    /// The most retries for a call that may succeed later
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) max_retries: u32,

    /// The time limit for a call of a model
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub(crate) timeout: u64,

    /// The price of a model in USD per million input and output tokens, such as `openai/gpt-4o=2.5,10` (repeatable)
    #[arg(long, value_name = "MODEL=IN,OUT")]
    pub(crate) price: Vec<String>,
}

/// How much may be used, and how much may break.
#[derive(Args, Debug)]
#[command(next_help_heading = "Limits")]
pub(crate) struct Bounds {
    /// The time limit per attempt
    #[arg(long, value_name = "SECONDS")]
    pub(crate) time_limit: Option<f64>,

    /// The token limit per attempt
    #[arg(long, value_name = "N")]
    pub(crate) token_limit: Option<u64>,

    /// The cost limit per attempt; the model needs a `--price`
    #[arg(long, value_name = "USD")]
    pub(crate) cost_limit: Option<f64>,

    /// The budget of the whole run; the models need a `--price`, and agents report `cost_usd`
    #[arg(long, value_name = "USD")]
    pub(crate) budget: Option<f64>,

    /// The message limit per attempt
    #[arg(long, value_name = "N")]
    pub(crate) message_limit: Option<usize>,

    /// The most concurrent attempts
    #[arg(long, value_name = "N")]
    pub(crate) max_samples: Option<usize>,

    /// How many attempts that end in an error end the run: `first`, `never`, a number, or a share below 1 [default: the task's
    /// value, or `first`]
    #[arg(long, value_name = "N")]
    pub(crate) fail_on_error: Option<String>,

    /// The most retries for an attempt that ended in an error
    #[arg(long, value_name = "N")]
    pub(crate) retry_on_error: Option<u32>,
}
