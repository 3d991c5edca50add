//! The header of a log: what is written when an evaluation begins, and what is added at the end.

use super::attempt_json::put_usage;
use crate::formats::inspect::{Skim, metrics};
use crate::json::json_writer::{Map, Nan, bound_depth, put_float, put_list, put_map, put_text};
use crate::json::{self, JsonParts};
use crate::write::inspect::{Fingerprint, put_error, put_id, put_metrics, put_results, put_values};
use crate::{ReadError, RecordedMetric, RecordedScorer, Source};
use calipers_core::{GenerateConfig, Metadata, Results, SampleId, Usage, Value};
use std::sync::Arc;

/// What is known about an evaluation before it starts.
///
/// ```
/// use calipers_io::{LogHeader, log_name, timestamp};
///
/// let header = LogHeader::new("colors", "mockllm/model", timestamp(1_767_225_600_000));
/// assert!(log_name(&header).starts_with("2026-01-01T00-00-00-00-00_colors_"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LogHeader {
    /// The task.
    pub task: String,
    /// Which version of it: a whole number or text.
    pub task_version: Value,
    /// The file that defines it.
    pub task_file: Option<String>,
    /// Its arguments.
    pub task_args: Vec<(Arc<str>, Value)>,
    /// The model.
    pub model: String,
    /// Models by role.
    pub model_roles: Vec<(String, String)>,
    /// The generation options.
    pub config: GenerateConfig,
    /// The dataset.
    pub dataset: LogDataset,
    /// How often each sample is tried.
    pub epochs: u32,
    /// How attempts are reduced to one score; `None` means the mean.
    pub reducers: Option<Vec<String>>,
    /// The scorers.
    pub scorers: Vec<LogScorer>,
    /// The solvers, in order.
    pub plan: Vec<LogStep>,
    /// What one attempt may use.
    pub limits: LogLimits,
    /// How many attempts may fail: true for none, false for any number, or a count or a share.
    pub fail_on_error: Option<Value>,
    /// How often a failed attempt is retried.
    pub retry_on_error: u32,
    /// Tags.
    pub tags: Vec<String>,
    /// Other metadata.
    pub metadata: Metadata,
    /// What Calipers needs to resume it: seeds and arguments.
    pub calipers: Metadata,
    /// When it was made, as [`timestamp`] writes it.
    pub created: String,
    /// The name of this evaluation, of the run that it is part of, and of its task; see [`log_id`].
    pub eval_id: String,
    /// See `eval_id`.
    pub run_id: String,
    /// See `eval_id`.
    pub task_id: String,
}

/// The samples of an evaluation, as a log names them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogDataset {
    /// What it is called.
    pub name: Option<String>,
    /// The file.
    pub location: Option<String>,
    /// The samples, in the order in which they are asked.
    pub sample_ids: Vec<SampleId>,
    /// True when that is not the order of the file.
    pub shuffled: bool,
}

/// A scorer with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct LogScorer {
    /// The scorer.
    pub name: String,
    /// Its parameters: a map.
    pub params: Value,
    /// Its metrics. Those that Inspect does not know are not written: their names would stop it from computing the others.
    pub metrics: Vec<RecordedMetric>,
}

impl From<RecordedScorer> for LogScorer {
    fn from(scorer: RecordedScorer) -> Self {
        Self { name: scorer.name, params: Value::Map(Vec::new()), metrics: scorer.metrics }
    }
}

/// A solver with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct LogStep {
    /// The solver.
    pub name: String,
    /// Its parameters: a map.
    pub params: Value,
}

/// The limits of one attempt, as a log records them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LogLimits {
    /// Seconds, rounded up, because logs have whole ones.
    pub time_s: Option<u64>,
    /// Tokens.
    pub tokens: Option<u64>,
    /// Money.
    pub cost_usd: Option<f64>,
    /// Messages.
    pub messages: Option<u64>,
}

/// How an evaluation ended.
#[derive(Clone, Debug)]
pub struct Ending<'a> {
    /// The status.
    pub status: LogStatus,
    /// The computed results, with Inspect's placeholders.
    pub results: Option<&'a Results>,
    /// The skipped attempts.
    pub early_stopping: Option<&'a EarlyStopping>,
    /// The usage of each model.
    pub usage: &'a [(Arc<str>, Usage)],
    /// When it began, in milliseconds after 1970.
    pub started_ms: i64,
    /// When it ended, in milliseconds after 1970.
    pub completed_ms: i64,
    /// The error that stopped it, if any.
    pub error: Option<&'a str>,
}

impl Ending<'_> {
    /// An ending without figures.
    #[must_use]
    pub fn new(status: LogStatus, started_ms: i64, completed_ms: i64) -> Self {
        Self { status, results: None, early_stopping: None, usage: &[], started_ms, completed_ms, error: None }
    }
}

/// The state in which an evaluation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogStatus {
    /// It finished.
    Success,
    /// A user stopped it.
    Cancelled,
    /// It failed.
    Error,
}

impl LogStatus {
    /// The name in logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Cancelled => "cancelled",
            Self::Error => "error",
        }
    }
}

/// The attempts that were skipped because the question was settled without them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EarlyStopping {
    /// What decided it.
    pub manager: String,
    /// The attempts.
    pub stops: Vec<EarlyStop>,
    /// By which rule.
    pub metadata: Metadata,
}

/// A skipped attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct EarlyStop {
    /// The sample.
    pub id: SampleId,
    /// Which attempt of it.
    pub epoch: u32,
    /// Why.
    pub reason: String,
}

/// A time in the notation of logs, from milliseconds after 1970.
///
/// ```
/// assert_eq!(calipers_io::timestamp(0), "1970-01-01T00:00:00+00:00");
/// assert_eq!(calipers_io::timestamp(1_582_934_400_250), "2020-02-29T00:00:00.250+00:00");
/// ```
#[must_use]
pub fn timestamp(ms: i64) -> String {
    let (days, rest) = (ms.div_euclid(86_400_000), ms.rem_euclid(86_400_000));
    // Years that begin in March put the leap day at their end (Hinnant, chrono-compatible low-level date algorithms).
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60);
    let fraction = if rest % 1000 == 0 { String::new() } else { format!(".{:03}", rest % 1000) };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}+00:00")
}

/// An id of 22 letters and digits made from these texts: other texts have another id.
#[must_use]
pub fn log_id(parts: &[&str]) -> String {
    Fingerprint::of(parts)
}

/// Inspect's name for the file of a log: `{time}_{task}_{id}.eval`.
#[must_use]
pub fn log_name(header: &LogHeader) -> String {
    let clean = |text: &str| -> String {
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | ' ');
        text.chars().map(|c| if is_plain(c) { c } else { '-' }).collect()
    };
    let task = header.task.rsplit('/').next().unwrap_or_default();
    // Most systems allow names of 255 bytes.
    let task: String = clean(task).chars().take(50).collect();
    format!("{}_{task}_{}.eval", clean(&header.created), clean(&header.task_id))
}

impl LogHeader {
    /// A header with only these three values.
    #[must_use]
    pub fn new(task: impl Into<String>, model: impl Into<String>, created: impl Into<String>) -> Self {
        let (task, model, created) = (task.into(), model.into(), created.into());
        let id = |part: &str| log_id(&[part, &task, &model, &created]);
        Self {
            eval_id: id("eval"),
            run_id: id("run"),
            task_id: id("task"),
            task,
            task_version: Value::Int(0),
            task_file: None,
            task_args: Vec::new(),
            model,
            model_roles: Vec::new(),
            config: GenerateConfig::default(),
            dataset: LogDataset::default(),
            epochs: 1,
            reducers: None,
            scorers: Vec::new(),
            plan: Vec::new(),
            limits: LogLimits::default(),
            fail_on_error: None,
            retry_on_error: 0,
            tags: Vec::new(),
            metadata: Metadata::default(),
            calipers: Metadata::default(),
            created,
        }
    }

    /// The beginning of the journal.
    pub(crate) fn start(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut map = Map::open(&mut out);
        map.raw("version", "2");
        self.put_spec(map.key("eval"));
        let mut plan = Map::open(map.key("plan"));
        plan.text("name", "plan");
        put_list(plan.key("steps"), &self.plan, |out, step| {
            let mut map = Map::open(out);
            map.text("solver", &step.name);
            put_params(map.key("params"), &step.params);
            map.close();
        });
        put_config(plan.key("config"), &self.config);
        plan.close();
        map.close();
        out
    }

    fn put_spec(&self, out: &mut Vec<u8>) {
        let mut map = Map::open(out);
        map.text("eval_id", &self.eval_id);
        map.text("run_id", &self.run_id);
        map.text("created", &self.created);
        map.text("task", &self.task);
        map.text("task_id", &self.task_id);
        map.value("task_version", &self.task_version, Nan::Null);
        if let Some(file) = &self.task_file {
            map.text("task_file", file);
        }
        map.raw("task_attribs", "{}");
        put_values(map.key("task_args"), self.task_args.iter().map(|(name, value)| (name, value)));
        if !self.tags.is_empty() {
            put_list(map.key("tags"), &self.tags, |out, tag| put_text(out, tag));
        }
        self.put_dataset(map.key("dataset"));
        map.text("model", &self.model);
        put_config(map.key("model_generate_config"), &self.config);
        map.raw("model_args", "{}");
        if !self.model_roles.is_empty() {
            let roles = self.model_roles.iter().map(|(role, model)| (role.as_str(), model));
            put_map(map.key("model_roles"), roles, |out, model| {
                put_map(out, [("model", model)], |out, name| put_text(out, name));
            });
        }
        self.put_settings(map.key("config"));
        put_map(map.key("packages"), [("calipers", env!("CARGO_PKG_VERSION"))], put_text);
        let ours = (self.calipers != Metadata::default()).then(|| {
            Value::Map(
                self.calipers.iter().map(|(key, value)| (key.clone(), bound_depth(value).into_owned())).collect(),
            )
        });
        if ours.is_some() || self.metadata != Metadata::default() {
            let ours_key: Arc<str> = "calipers".into();
            put_values(map.key("metadata"), self.metadata.iter().chain(ours.iter().map(|ours| (&ours_key, ours))));
        }
        put_list(map.key("scorers"), &self.scorers, |out, scorer| {
            let mut map = Map::open(out);
            map.text("name", &scorer.name);
            put_params(map.key("options"), &scorer.params);
            put_metrics(map.key("metrics"), &scorer.metrics);
            map.raw("metadata", "{}");
            map.close();
        });
        map.close();
    }

    fn put_dataset(&self, out: &mut Vec<u8>) {
        let mut map = Map::open(out);
        if let Some(name) = &self.dataset.name {
            map.text("name", name);
        }
        if let Some(location) = &self.dataset.location {
            map.text("location", location);
        }
        map.raw("samples", &self.dataset.sample_ids.len().to_string());
        put_list(map.key("sample_ids"), &self.dataset.sample_ids, put_id);
        map.raw("shuffled", if self.dataset.shuffled { "true" } else { "false" });
        map.close();
    }

    fn put_settings(&self, out: &mut Vec<u8>) {
        let mut map = Map::open(out);
        map.raw("epochs", &self.epochs.to_string());
        if let Some(reducers) = &self.reducers {
            put_list(map.key("epochs_reducer"), reducers, |out, name| put_text(out, name));
        }
        if let Some(fail_on_error) = &self.fail_on_error {
            map.value("fail_on_error", fail_on_error, Nan::Null);
        }
        if self.retry_on_error > 0 {
            map.raw("retry_on_error", &self.retry_on_error.to_string());
        }
        let LogLimits { time_s, tokens, cost_usd, messages } = self.limits;
        for (key, limit) in [("message_limit", messages), ("token_limit", tokens), ("time_limit", time_s)] {
            if let Some(limit) = limit {
                map.raw(key, &limit.to_string());
            }
        }
        if let Some(cost) = cost_usd.filter(|cost| cost.is_finite()) {
            put_float(map.key("cost_limit"), cost);
        }
        map.close();
    }

    /// Reads what [`start`](Self::start) wrote.
    pub(super) fn parse(source: &Source, bytes: &[u8]) -> Result<Self, ReadError> {
        let start = json::parse(&source.name, bytes)?;
        let empty = Value::Map(Vec::new());
        let eval = start.part("eval").unwrap_or(&empty);
        if eval.path(&["packages", "calipers"]).is_none() {
            let hint = "Calipers resumes only its own logs; for those of Inspect use `inspect eval-retry`";
            return Err(source.error("the log was not written by Calipers").hint(hint));
        }
        let text = |value: &Value, key: &str| value.text(key).map(str::to_owned);
        let texts =
            |value: &Value, key: &str| -> Vec<String> { value.items(key).iter().map(Value::to_string).collect() };
        let dataset = eval.part("dataset").unwrap_or(&empty);
        let config = eval.part("config").unwrap_or(&empty);
        let mut header = Self::new(
            text(eval, "task").unwrap_or_default(),
            text(eval, "model").unwrap_or_default(),
            text(eval, "created").unwrap_or_default(),
        );
        for (place, key) in
            [(&mut header.eval_id, "eval_id"), (&mut header.run_id, "run_id"), (&mut header.task_id, "task_id")]
        {
            *place = text(eval, key).unwrap_or_default();
        }
        header.task_version = eval.part("task_version").cloned().unwrap_or(Value::Int(0));
        header.task_file = text(eval, "task_file");
        header.task_args = eval.entries("task_args").to_vec();
        let role = |(role, model): &(Arc<str>, Value)| Some((role.to_string(), model.text("model")?.to_owned()));
        header.model_roles = eval.entries("model_roles").iter().filter_map(role).collect();
        header.config = read_config(eval.part("model_generate_config").unwrap_or(&empty));
        header.dataset = LogDataset {
            name: text(dataset, "name"),
            location: text(dataset, "location"),
            sample_ids: dataset.items("sample_ids").iter().map(read_id).collect(),
            shuffled: dataset.flag("shuffled").unwrap_or(false),
        };
        header.epochs = whole(config, "epochs").and_then(|epochs| u32::try_from(epochs).ok()).unwrap_or(1);
        header.reducers = config.part("epochs_reducer").map(|_| texts(config, "epochs_reducer"));
        header.scorers = eval.items("scorers").iter().map(read_scorer).collect();
        let step = |step: &Value| LogStep {
            name: text(step, "solver").unwrap_or_default(),
            params: step.part("params").unwrap_or(&empty).clone(),
        };
        header.plan = start.part("plan").unwrap_or(&empty).items("steps").iter().map(step).collect();
        header.limits = LogLimits {
            time_s: whole(config, "time_limit"),
            tokens: whole(config, "token_limit"),
            cost_usd: config.number("cost_limit"),
            messages: whole(config, "message_limit"),
        };
        header.fail_on_error = config.part("fail_on_error").cloned();
        header.retry_on_error = whole(config, "retry_on_error").and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
        header.tags = texts(eval, "tags");
        let metadata = eval.entries("metadata");
        let is_ours = |(key, _): &&(Arc<str>, Value)| **key == *"calipers";
        header.metadata = Metadata::new(metadata.iter().filter(|entry| !is_ours(entry)).cloned());
        header.calipers = match metadata.iter().find(is_ours) {
            Some((_, Value::Map(entries))) => Metadata::new(entries.iter().cloned()),
            _ => Metadata::default(),
        };
        Ok(header)
    }
}

fn put_params(out: &mut Vec<u8>, params: &Value) {
    match &*bound_depth(params) {
        Value::Map(entries) => put_values(out, entries.iter().map(|(key, value)| (key, value))),
        _ => out.extend_from_slice(b"{}"),
    }
}

fn put_config(out: &mut Vec<u8>, config: &GenerateConfig) {
    let mut map = Map::open(out);
    for (key, number) in [("temperature", config.temperature), ("top_p", config.top_p)] {
        if let Some(number) = number.filter(|number| number.is_finite()) {
            put_float(map.key(key), number);
        }
    }
    for (key, number) in [("max_tokens", config.max_tokens), ("seed", config.seed)] {
        if let Some(number) = number {
            map.raw(key, &number.to_string());
        }
    }
    if !config.stop.is_empty() {
        put_list(map.key("stop_seqs"), &config.stop, |out, text| put_text(out, text));
    }
    if let Some(effort) = &config.reasoning_effort {
        map.text("reasoning_effort", effort);
    }
    map.close();
}

fn read_config(config: &Value) -> GenerateConfig {
    GenerateConfig {
        temperature: config.number("temperature"),
        top_p: config.number("top_p"),
        max_tokens: whole(config, "max_tokens"),
        stop: config.items("stop_seqs").iter().map(Value::to_string).collect(),
        seed: whole(config, "seed"),
        reasoning_effort: config.text("reasoning_effort").map(str::to_owned),
    }
}

fn read_scorer(scorer: &Value) -> LogScorer {
    LogScorer {
        name: scorer.text("name").unwrap_or_default().to_owned(),
        params: scorer.part("options").cloned().unwrap_or(Value::Map(Vec::new())),
        metrics: metrics(scorer.part("metrics")),
    }
}

fn read_id(id: &Value) -> SampleId {
    match id {
        Value::Int(id) => SampleId::Int(*id),
        other => SampleId::Text(other.to_string().into()),
    }
}

/// A whole number that is not negative.
pub(super) fn whole(value: &Value, key: &str) -> Option<u64> {
    match value.get(key)? {
        Value::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

/// The header of a finished log, from its beginning and its end.
pub(crate) fn finished_header(start: &[u8], ending: &Ending<'_>) -> Result<Vec<u8>, &'static str> {
    let mut out = Vec::with_capacity(start.len() + 1024);
    let mut map = Map::open(&mut out);
    map.raw("version", "2");
    map.text("status", ending.status.name());
    let mut skim = Skim::new(start)?;
    while let Some((key, value)) = skim.entry()? {
        if let Some(key) = ["eval", "plan"].into_iter().find(|known| known.as_bytes() == key) {
            map.key(key).extend_from_slice(value);
        }
    }
    if let Some(results) = ending.results {
        put_results(map.key("results"), results, ending.early_stopping);
    }
    let mut stats = Map::open(map.key("stats"));
    stats.text("started_at", &timestamp(ending.started_ms));
    stats.text("completed_at", &timestamp(ending.completed_ms));
    put_map(stats.key("model_usage"), ending.usage.iter().map(|(model, usage)| (&**model, usage)), put_usage);
    stats.raw("role_usage", "{}");
    stats.close();
    if let Some(error) = ending.error {
        put_error(map.key("error"), error);
    }
    map.close();
    Ok(out)
}
