//! Evaluations on the runner of the library, with solvers, scorers, models and metrics in Python.

use crate::attempt_state::read_config;
use crate::calls::compute_until_stopped;
use crate::event_loop::Calls;
use crate::failure::Failure;
use crate::metrics::{MetricChoice, Raised, ReducerChoice, Vocabulary};
use crate::python_code::{PythonCode, PythonModel, PythonScorer, PythonSolver};
use crate::reports::{Content, Report};
use crate::values::{from_python, to_python};
use calipers::data::{Labels, Metadata, SampleId, Value};
use calipers::eval::{DiskCache, Evaluation, Setup, eval, resume};
use calipers::io::EvalLog;
use calipers::plan::{self, Epochs};
use calipers::run::providers::{Price, ProviderOptions, resolve};
use calipers::run::{
    AnswerCache, AttemptLimits, ChannelOptions, FailOnError, RunStatus, Scorers, Solvers, StopRequest, Task,
};
use calipers::task::{Input, Message, Role, Target, TaskSample};
use calipers_cli::{ProgressLine, PythonFile};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A sample as the package hands it over.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct SampleChoice<'py> {
    input: InputChoice,
    target: Vec<String>,
    choices: Vec<String>,
    id: Option<Bound<'py, PyAny>>,
    metadata: Option<Bound<'py, PyDict>>,
}

#[derive(FromPyObject)]
enum InputChoice {
    Text(String),
    Messages(Vec<(String, String)>),
}

impl SampleChoice<'_> {
    fn to_sample(&self) -> Result<TaskSample, Failure> {
        let mut sample = TaskSample::new("");
        sample.input = match &self.input {
            InputChoice::Text(text) => Input::Text(text.as_str().into()),
            InputChoice::Messages(messages) => {
                let message = |(role, content): &(String, String)| match Role::parse(role) {
                    Some(role) => Ok(Message::new(role, content.as_str())),
                    None => {
                        Err(Failure::usage(format!("`{role}` is no role"), "write `system`, `user` or `assistant`"))
                    }
                };
                Input::Messages(messages.iter().map(message).collect::<Result<_, _>>()?)
            }
        };
        sample.target = Target(self.target.iter().map(|text| text.as_str().into()).collect());
        sample.choices = self.choices.iter().map(|text| text.as_str().into()).collect();
        sample.id = match &self.id {
            None => None,
            Some(id) => Some(match from_python(id)? {
                Value::Int(number) => SampleId::from(number),
                value => SampleId::from(value.to_string().as_str()),
            }),
        };
        if let Some(metadata) = &self.metadata
            && let Value::Map(entries) = from_python(metadata)?
        {
            sample.metadata = Metadata::new(entries);
        }
        Ok(sample)
    }
}

/// A solver: one of ours by its name and parameters, or a function with its name.
#[derive(FromPyObject)]
pub(crate) enum SolverChoice<'py> {
    Named(String, Bound<'py, PyDict>),
    Function(String, Py<PyAny>),
}

/// A scorer: one of ours by its name and parameters, or a function with its name and metrics.
#[derive(FromPyObject)]
pub(crate) enum ScorerChoice<'py> {
    Function(String, Py<PyAny>, Vec<MetricChoice>),
    Named(String, Bound<'py, PyDict>),
}

/// A model: by its name, or a function with its name.
#[derive(FromPyObject)]
pub(crate) enum ModelChoice {
    Function(String, Py<PyAny>),
    Name(String),
}

/// How many attempts may fail.
#[derive(FromPyObject)]
pub(crate) enum FailChoice {
    Flag(bool),
    Number(f64),
}

impl FailChoice {
    fn to_rule(&self) -> Result<FailOnError, Failure> {
        match *self {
            Self::Flag(true) => Ok(FailOnError::First),
            Self::Flag(false) => Ok(FailOnError::Never),
            Self::Number(share) if share > 0.0 && share < 1.0 => Ok(FailOnError::Share(share)),
            Self::Number(count) if count >= 0.0 && count.fract() == 0.0 && count < 1e15 => {
                Ok(FailOnError::Count(count as u64))
            }
            Self::Number(number) => Err(Failure::usage(
                format!("`fail_on_error={number}` is neither a number of attempts nor a share of them"),
                "write True, False, a whole number, or a share such as 0.1",
            )),
        }
    }
}

/// What one attempt may use.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct LimitChoices {
    time_limit: Option<f64>,
    token_limit: Option<u64>,
    cost_limit: Option<f64>,
    message_limit: Option<usize>,
}

impl LimitChoices {
    fn to_limits(&self) -> Result<AttemptLimits, Failure> {
        let seconds = |seconds: f64| {
            Duration::try_from_secs_f64(seconds).map_err(|_| {
                Failure::usage(format!("`time_limit={seconds}` is no number of seconds"), "write a number above 0")
            })
        };
        Ok(AttemptLimits {
            time: self.time_limit.map(seconds).transpose()?,
            tokens: self.token_limit,
            cost_usd: self.cost_limit.map(|usd| dollars("cost_limit", usd)).transpose()?,
            messages: self.message_limit,
        })
    }
}

/// Money that can be spent.
fn dollars(argument: &str, usd: f64) -> Result<f64, Failure> {
    match usd.is_finite() && usd > 0.0 {
        true => Ok(usd),
        false => Err(Failure::usage(format!("`{argument}={usd}` is no amount of money"), "write US dollars above 0")),
    }
}

/// A task as the package hands it over.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct TaskChoices<'py> {
    name: String,
    dataset: Option<String>,
    samples: Vec<SampleChoice<'py>>,
    solvers: Vec<SolverChoice<'py>>,
    scorers: Vec<ScorerChoice<'py>>,
    metrics: Option<Vec<MetricChoice>>,
    epochs: Option<u64>,
    reducer: Vec<ReducerChoice>,
    model: Option<ModelChoice>,
    model_roles: Vec<(String, ModelChoice)>,
    config: Bound<'py, PyAny>,
    limits: LimitChoices,
    fail_on_error: Option<FailChoice>,
    retry_on_error: u32,
    version: Bound<'py, PyAny>,
    tags: Vec<String>,
    metadata: Option<Bound<'py, PyDict>>,
}

impl TaskChoices<'_> {
    fn into_task(self, calls: &Py<Calls>, raised: &Raised, py: Python<'_>) -> Result<Task, Failure> {
        let calls = Arc::new(calls.clone_ref(py));
        let code = |kind: &'static str, name: String, function: Py<PyAny>| PythonCode {
            name,
            kind,
            function: Arc::new(function),
            calls: calls.clone(),
            raised: raised.clone(),
        };
        let vocabulary = Vocabulary::new(Labels::default(), raised);
        let samples = self.samples.iter().map(SampleChoice::to_sample).collect::<Result<Vec<_>, _>>()?;
        let mut task = Task::builder(self.name).samples(samples).build();
        task.dataset.name = self.dataset;
        let solvers = Solvers::builtin();
        for solver in self.solvers {
            task.solver.push(match solver {
                SolverChoice::Named(name, params) => solvers.make(&name, &from_python(&params)?)?,
                SolverChoice::Function(name, function) => {
                    Arc::new(PythonSolver { code: code("solver", name, function) })
                }
            });
        }
        let scorers = Scorers::builtin();
        for scorer in self.scorers {
            task.scorers.push(match scorer {
                ScorerChoice::Named(name, params) => scorers.make(&name, &from_python(&params)?)?,
                ScorerChoice::Function(name, function, metrics) => Arc::new(PythonScorer {
                    code: code("scorer", name, function),
                    metrics: vocabulary.metric_specs(metrics)?.unwrap_or_default(),
                }),
            });
        }
        if let Some(metrics) = self.metrics {
            task.metrics = vocabulary.metric_specs(metrics)?;
        }
        let reducers = vocabulary.reducers(self.reducer)?;
        task.epochs = match (self.epochs, reducers) {
            (None, _) => None,
            (Some(epochs), None) => Some(Epochs::of(epochs)),
            (Some(epochs), Some(reducers)) => Some(Epochs::new(epochs, reducers)?),
        };
        let mut named = |choice: ModelChoice| match choice {
            ModelChoice::Name(name) => name,
            ModelChoice::Function(name, function) => {
                // Two functions are two models, whatever they are called.
                let is_taken = |name: &String| task.models.iter().any(|model| model.name() == name);
                let numbered = (2..).map(|number| format!("{name}-{number}"));
                let name = std::iter::once(name.clone()).chain(numbered).find(|name| !is_taken(name)).unwrap_or(name);
                task.models.push(Arc::new(PythonModel { code: code("model", name.clone(), function) }));
                name
            }
        };
        let model = self.model.map(&mut named);
        let roles = self.model_roles.into_iter().map(|(role, model)| (role, named(model))).collect();
        (task.model, task.model_roles) = (model, roles);
        task.config = read_config(&self.config)?;
        task.limits = self.limits.to_limits()?;
        task.fail_on_error = self.fail_on_error.map_or(Ok(FailOnError::default()), |given| given.to_rule())?;
        task.retry_on_error = self.retry_on_error;
        task.version = from_python(&self.version)?;
        task.tags = self.tags;
        if let Some(metadata) = &self.metadata
            && let Value::Map(entries) = from_python(metadata)?
        {
            task.metadata = Metadata::new(entries);
        }
        Ok(task)
    }
}

/// How a task is run.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct RunChoices<'py> {
    limit: Option<usize>,
    sample_id: Vec<String>,
    seed: u64,
    log_dir: PathBuf,
    task_file: Option<String>,
    task_args: Bound<'py, PyDict>,
    max_samples: Option<usize>,
    max_connections: Option<usize>,
    max_retries: Option<u32>,
    requests_per_minute: Option<u64>,
    tokens_per_minute: Option<u64>,
    timeout: Option<f64>,
    budget: Option<f64>,
    price: Vec<(String, f64, f64)>,
    model_base_url: Option<String>,
    cache: Option<PathBuf>,
    resume: Option<PathBuf>,
    display: bool,
}

impl RunChoices<'_> {
    fn to_setup(&self, task: Task) -> Result<Setup, Failure> {
        let mut channel = ChannelOptions {
            connections: self.max_connections,
            requests_per_minute: self.requests_per_minute,
            tokens_per_minute: self.tokens_per_minute,
            ..ChannelOptions::default()
        };
        channel.retries_max = self.max_retries.unwrap_or(channel.retries_max);
        let mut options = ProviderOptions::from_env();
        if let Some(seconds) = self.timeout {
            let timeout = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
            let refuse = || Failure::usage(format!("`timeout={seconds}` is no number of seconds"), "write one above 0");
            channel.timeout = timeout.ok_or_else(refuse)?;
            options.timeout = channel.timeout;
        }
        if let Some(folder) = &self.cache {
            channel.cache = Some(Arc::new(DiskCache::open(folder).map_err(Failure::from)?) as Arc<dyn AnswerCache>);
        }
        for (model, input, output) in &self.price {
            if !(input.is_finite() && output.is_finite() && *input >= 0.0 && *output >= 0.0) {
                let what = format!("`price` gives `{model}` no price");
                return Err(Failure::usage(
                    what,
                    "write `price={\"openai/gpt-4o\": (2.5, 10)}`: USD per million tokens",
                ));
            }
            options.prices.push((model.clone(), Price::new(*input, *output)));
        }
        let (main, base_url) = (task.model.clone(), self.model_base_url.clone());
        let task_args = match from_python(&self.task_args)? {
            Value::Map(entries) => entries,
            _ => Vec::new(),
        };
        Ok(Setup {
            resolver: Arc::new(move |name| {
                // The address is that of the model which is asked; a grader may be elsewhere.
                let own = base_url.clone().filter(|_| main.as_deref().is_none_or(|main| main == name));
                let mut options = options.clone();
                options.base_url = own.or(options.base_url);
                resolve(name, &options)
            }),
            channel,
            task_file: self.task_file.clone(),
            task_args,
            limit: self.limit,
            sample_ids: self.sample_id.clone(),
            seed: self.seed,
            log_dir: self.log_dir.clone(),
            attempts_at_once: self.max_samples,
            budget_usd: self.budget.map(|usd| dollars("budget", usd)).transpose()?,
            ..Setup::new(task)
        })
    }
}

/// How a run ended.
fn ending(done: &Evaluation) -> (&'static str, Option<String>) {
    match done.ended.status {
        RunStatus::Success => ("success", None),
        RunStatus::Cancelled => ("cancelled", Some("it was stopped".to_owned())),
        RunStatus::Error => ("error", Some(done.ended.error.clone().unwrap_or_else(|| "an attempt broke".to_owned()))),
    }
}

/// A run that is over: its metrics, where its log is, how it ended and why, and the exception that Python code raised first.
type RunParts = (Report, PathBuf, &'static str, Option<String>, Option<Py<PyAny>>);

/// Runs a task. `calls` is the queue of the event loop that Python code runs on.
#[pyfunction]
pub(crate) fn run_task(
    py: Python<'_>,
    task: TaskChoices<'_>,
    run: RunChoices<'_>,
    calls: Py<Calls>,
) -> PyResult<RunParts> {
    let raised = Raised::default();
    let refuse = |failure: Failure| failure.into_exception(py);
    let setup = task.into_task(&calls, &raised, py).and_then(|task| run.to_setup(task)).map_err(refuse)?;
    let resumed = run.resume.as_deref().map(EvalLog::resume).transpose();
    let resumed = resumed.map_err(|error| refuse(error.into()))?;
    let stop: StopRequest = setup.stop.clone();
    let display = run.display;
    let done = compute_until_stopped(
        py,
        move || stop.request(),
        move || {
            let line = display.then(|| ProgressLine::start(&setup.task.name, setup.progress.clone()));
            let done = match resumed {
                Some(log) => resume(setup, log, &mut |_| None),
                None => eval(setup, &mut |_| None),
            };
            drop(line);
            let done = done?;
            let (status, why) = ending(&done);
            let log = done.log.clone();
            let mut run = done.report;
            run.source = log.display().to_string();
            let report = plan::Report { runs: vec![run], ..plan::Report::default() };
            Ok((Report { content: Content::Results(Box::new(report)), notes: Vec::new() }, log, status, why))
        },
    );
    match done {
        Ok((report, log, status, why)) => {
            let cause = raised.take().map(|error| error.into_value(py).into_any());
            Ok((report, log, status, why, cause))
        }
        Err(error) => Err(raised.explain(py, error)),
    }
}

/// Runs `calipers eval` with these words. `load` makes the task of a file, from its path, the name of the task and its
/// parameters.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, words: Vec<OsString>, load: Py<PyAny>, calls: Py<Calls>) -> u8 {
    let raised = Raised::default();
    let load = |file: &PythonFile| {
        Python::attach(|py| {
            let made = || -> Result<Task, Failure> {
                let parameters = PyDict::new(py);
                for (name, value) in &file.parameters {
                    parameters.set_item(name, to_python(py, value)?)?;
                }
                let choices = load.bind(py).call1((&file.path, file.task.as_deref(), parameters))?;
                choices.extract::<TaskChoices<'_>>()?.into_task(&calls, &raised, py)
            };
            made().map_err(|failure| failure.into_fault(py))
        })
    };
    py.detach(|| calipers_cli::eval_python(words, &load))
}
