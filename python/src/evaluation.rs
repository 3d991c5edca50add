//! Evaluations on the runner of the library, with scorers in Python.

use crate::calls::compute_until_stopped;
use crate::failure::Failure;
use crate::metrics::{MetricChoice, Raised, ReducerChoice, Vocabulary};
use crate::reports::{Content, Report};
use crate::score_objects::Score;
use crate::values::{from_python, id_to_python, to_python};
use calipers::data::{Labels, Metadata, Outcome, SampleId, Value};
use calipers::eval::{Setup, eval};
use calipers::plan::{self, Epochs, MetricSpec};
use calipers::run::providers::{ProviderOptions, resolve};
use calipers::run::{
    AttemptFault, AttemptScope, AttemptState, Scorer, ScorerResult, Scorers, Solvers, StopRequest, Task,
};
use calipers::task::{Input, Message, Role, Target, TaskSample};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::path::PathBuf;
use std::sync::Arc;

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

/// A solver by its name and parameters.
#[derive(FromPyObject)]
pub(crate) struct SolverChoice<'py>(String, Bound<'py, PyDict>);

/// A scorer: one of ours by its name and parameters, or a function with its name and metrics.
#[derive(FromPyObject)]
pub(crate) enum ScorerChoice<'py> {
    Function(String, Py<PyAny>, Vec<MetricChoice>),
    Named(String, Bound<'py, PyDict>),
}

/// What is evaluated, and how.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct TaskChoices<'py> {
    name: String,
    samples: Vec<SampleChoice<'py>>,
    solvers: Vec<SolverChoice<'py>>,
    scorers: Vec<ScorerChoice<'py>>,
    metrics: Option<Vec<MetricChoice>>,
    epochs: Option<u64>,
    reducer: Vec<ReducerChoice>,
    model: Option<String>,
    limit: Option<usize>,
    seed: u64,
    log_dir: PathBuf,
    attempts_at_once: Option<usize>,
}

impl TaskChoices<'_> {
    fn to_setup(self, raised: &Raised, event_loop: &Py<PyAny>, py: Python<'_>) -> Result<Setup, Failure> {
        let vocabulary = Vocabulary::new(Labels::default(), raised);
        let samples = self.samples.iter().map(SampleChoice::to_sample).collect::<Result<Vec<_>, _>>()?;
        let mut task = Task::builder(self.name).samples(samples).build();
        let solvers = Solvers::builtin();
        for SolverChoice(name, params) in &self.solvers {
            task.solver.push(solvers.make(name, &from_python(params)?)?);
        }
        let scorers = Scorers::builtin();
        for scorer in self.scorers {
            task.scorers.push(match scorer {
                ScorerChoice::Named(name, params) => scorers.make(&name, &from_python(&params)?)?,
                ScorerChoice::Function(name, function, metrics) => Arc::new(PythonScorer {
                    name,
                    function: Arc::new(function),
                    event_loop: Arc::new(event_loop.clone_ref(py)),
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
        Ok(Setup {
            model: self.model,
            resolver: Arc::new(|name| resolve(name, &ProviderOptions::from_env())),
            limit: self.limit,
            seed: self.seed,
            log_dir: self.log_dir,
            attempts_at_once: self.attempts_at_once,
            ..Setup::new(task)
        })
    }
}

/// A scorer in Python. Its coroutines run on one event loop, in a thread of its own.
struct PythonScorer {
    name: String,
    function: Arc<Py<PyAny>>,
    event_loop: Arc<Py<PyAny>>,
    metrics: Vec<MetricSpec>,
}

#[async_trait::async_trait]
impl Scorer for PythonScorer {
    fn name(&self) -> &str {
        &self.name
    }

    fn metrics(&self) -> Vec<MetricSpec> {
        self.metrics.clone()
    }

    async fn score(&self, state: &AttemptState, _: &AttemptScope) -> Result<ScorerResult, AttemptFault> {
        let (function, event_loop, state) = (self.function.clone(), self.event_loop.clone(), state.clone());
        // Python may wait for other threads, which must not hold up the runner.
        let scored = tokio::task::spawn_blocking(move || {
            Python::attach(|py| {
                let given = event_loop.call_method1(py, "score", (&*function, describe(py, &state)?))?;
                let given = given.bind(py);
                match given.cast::<Score>() {
                    Ok(score) => score.borrow().to_score(py),
                    Err(_) => Ok(calipers::Score::new(from_python(given)?)),
                }
            })
        });
        match scored.await {
            Ok(Ok(score)) => Ok(Outcome::from(score).into()),
            Ok(Err(error)) => Err(AttemptFault::new(format!("the scorer `{}` failed: {error}", self.name))),
            Err(error) => Err(AttemptFault::new(format!("the scorer `{}` failed: {error}", self.name))),
        }
    }
}

/// The state of an attempt for Python.
fn describe<'py>(py: Python<'py>, state: &AttemptState) -> PyResult<Bound<'py, PyDict>> {
    let about = PyDict::new(py);
    about.set_item("sample_id", id_to_python(py, &state.id)?)?;
    about.set_item("epoch", state.epoch)?;
    about.set_item("input", state.sample.input.text())?;
    about.set_item("target", state.target.0.iter().map(|text| &**text).collect::<Vec<&str>>())?;
    about.set_item("completion", state.completion())?;
    let model = state.output.as_ref().map(|output| output.model.to_string());
    about.set_item("model", model.unwrap_or_default())?;
    about.set_item("completed", state.completed)?;
    let messages = PyList::empty(py);
    for message in &state.messages {
        messages.append((message.role.name(), &*message.content))?;
    }
    about.set_item("messages", messages)?;
    let choices = PyList::empty(py);
    for choice in &state.choices {
        choices.append((&*choice.text, choice.correct))?;
    }
    about.set_item("choices", choices)?;
    let metadata = PyDict::new(py);
    for (key, value) in state.metadata.iter() {
        metadata.set_item(&**key, to_python(py, value)?)?;
    }
    about.set_item("metadata", metadata)?;
    Ok(about)
}

/// Runs a task, and returns its metrics and where its log is. `event_loop` is what the coroutines of scorers run on.
#[pyfunction]
pub(crate) fn run_task(py: Python<'_>, task: TaskChoices<'_>, event_loop: Py<PyAny>) -> PyResult<(Report, PathBuf)> {
    let raised = Raised::default();
    let setup = task.to_setup(&raised, &event_loop, py).map_err(|failure| failure.into_exception(py))?;
    let stop: StopRequest = setup.stop.clone();
    let interrupt = move || stop.request();
    let done = compute_until_stopped(py, interrupt, move || {
        let done = eval(setup, &mut |_| None)?;
        let log = done.log.clone();
        let mut run = done.report;
        run.source = log.display().to_string();
        let report = plan::Report { runs: vec![run], ..plan::Report::default() };
        Ok((Report { content: Content::Results(Box::new(report)), notes: Vec::new() }, log))
    });
    done.map_err(|error| raised.explain(py, error))
}
