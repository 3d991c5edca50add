//! Metrics and reducers that Python names or writes.

use crate::choices::ScriptChoices;
use crate::failure::Failure;
use crate::score_objects::{RowTable, Score};
use crate::values::from_python;
use calipers::data::{self, Labels, ScoreRows, Value};
use calipers::metric::{Answer, IntoAnswer, Tally, View, metric_of_rows};
use calipers::plan::MetricSpec;
use calipers::reduce::score_reducer;
use calipers::script::{Library, ScriptError, ScriptLimits};
use calipers::{Error, LoadedNames, Metric, Reducer, Registry};
use indexmap::IndexMap;
use pyo3::exceptions::{PyException, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// How long scripts may run if nothing else is said.
const SCRIPT_SECONDS: u64 = 60;

/// A metric as the package hands it over.
#[derive(FromPyObject)]
pub(crate) enum MetricChoice {
    /// An expression, such as `stderr(cluster="category")`.
    Expression(String),
    /// A Python function with its name, and the rows that it takes.
    Function(String, Py<PyAny>, RowChoice),
    /// Metrics by the keys of scores that are dicts.
    Keyed(Vec<(String, Vec<MetricChoice>)>),
}

/// The rows that a metric takes, as code that is written for Inspect names them.
pub(crate) struct RowChoice(View);

impl<'py> FromPyObject<'_, 'py> for RowChoice {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match given.extract::<&str>()? {
            "auto" => Ok(Self(View::Auto)),
            "reduced" => Ok(Self(View::Reduced)),
            "unreduced" => Ok(Self(View::Unreduced)),
            other => Err(PyValueError::new_err(format!("a metric takes no `{other}` scores"))),
        }
    }
}

/// A reducer as the package hands it over.
#[derive(FromPyObject)]
pub(crate) enum ReducerChoice {
    /// A name, such as `pass_at_3`.
    Name(String),
    /// A Python function with its name.
    Function(String, Py<PyAny>),
}

/// The first exception that Python code has raised. One that is no error, such as Ctrl-C, comes before all others and ends the call.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<RaisedState>>);

#[derive(Default)]
struct RaisedState {
    first: Option<(String, PyErr)>,
    has_interrupt: bool,
}

impl Raised {
    fn state(&self) -> MutexGuard<'_, RaisedState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps an exception, and says in the meantime that there is one.
    pub(crate) fn keep(&self, py: Python<'_>, what: String, error: PyErr) -> Error {
        let in_words = Error::custom(format!("{what} failed: {error}"));
        let is_interrupt = !error.is_instance_of::<PyException>(py);
        let mut state = self.state();
        if state.first.is_none() || (is_interrupt && !state.has_interrupt) {
            state.first = Some((what, error));
            state.has_interrupt = is_interrupt;
        }
        in_words
    }

    /// Calls Python code, unless an interrupt has come before.
    pub(crate) fn call<T>(&self, what: &str, code: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T, Error> {
        if self.state().has_interrupt {
            return Err(Error::custom(format!("{what} is not called after an interrupt")));
        }
        Python::attach(|py| code(py).map_err(|error| self.keep(py, what.to_owned(), error)))
    }

    /// The first exception, if there was one.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.state().first.take().map(|(_, error)| error)
    }

    /// An answer, unless there was an interrupt: whatever the library made of it, the call has ended.
    pub(crate) fn settle<T>(&self, py: Python<'_>, answer: PyResult<T>) -> PyResult<T> {
        match answer {
            Ok(_) if self.state().has_interrupt => self.take().map_or(answer, Err),
            Ok(answer) => Ok(answer),
            Err(error) => Err(self.explain(py, error)),
        }
    }

    /// The exception in place of what was said in the meantime.
    pub(crate) fn explain(&self, py: Python<'_>, otherwise: PyErr) -> PyErr {
        let kept = self.state().first.take();
        let Some((what, cause)) = kept else { return otherwise };
        // Ctrl-C within a metric is no fault of the metric.
        if !cause.is_instance_of::<PyException>(py) {
            return cause;
        }
        let made = py
            .import("calipers._errors")
            .and_then(|errors| errors.getattr("MetricError")?.call1((format!("{what} failed: {cause}"),)));
        match made {
            Ok(made) => {
                let error = PyErr::from_value(made);
                error.set_cause(py, Some(cause));
                error
            }
            Err(error) => error,
        }
    }
}

/// What a Python metric gives.
enum Given {
    One(Option<f64>),
    Named(Vec<(String, Option<f64>)>),
    Listed(Vec<f64>),
}

impl IntoAnswer for Given {
    fn into_answer(self, tally: Tally) -> Answer {
        match self {
            Self::One(number) => number.into_answer(tally),
            Self::Listed(numbers) => numbers.into_answer(tally),
            Self::Named(numbers) => {
                let named = numbers.into_iter().map(|(name, number)| (name, number.into_answer(tally)));
                Answer::Named(named.collect::<IndexMap<String, Answer>>())
            }
        }
    }
}

impl Given {
    fn of(object: &Bound<'_, PyAny>, labels: &Labels) -> Result<Self, String> {
        let kind = || object.get_type().name().map_or_else(|_| "object".into(), |name| name.to_string());
        let value = from_python(object).map_err(|_| format!("it gave a `{}`", kind()))?;
        let number = |value: &Value| match value {
            Value::Missing | Value::Null => Ok(None),
            value => match labels.to_float(value) {
                Some(number) if number.is_finite() => Ok(Some(number)),
                Some(number) => Err(format!("it gave {number}, which is not finite")),
                None => Err(format!("it gave `{value}`, which is no number")),
            },
        };
        match &value {
            // Nothing is no figure, and no reason to leave the metric out.
            Value::Map(entries) if entries.is_empty() => Ok(Self::One(None)),
            Value::List(items) if items.is_empty() => Ok(Self::One(None)),
            Value::Map(entries) => {
                // In Python, 1 and "1" are two keys.
                let mut known = HashSet::new();
                if let Some((name, _)) = entries.iter().find(|(name, _)| !known.insert(name)) {
                    return Err(format!("it gave two numbers that are called `{name}`"));
                }
                let named = entries.iter().map(|(name, value)| Ok((name.to_string(), number(value)?)));
                Ok(Self::Named(named.collect::<Result<_, String>>()?))
            }
            Value::List(items) => {
                let numbers = items.iter().map(|item| {
                    number(item)?
                        .ok_or_else(|| "it gave a list with a gap; give a dict to name what is missing".to_owned())
                });
                Ok(Self::Listed(numbers.collect::<Result<_, String>>()?))
            }
            value => number(value).map(Self::One),
        }
    }
}

/// The metrics and reducers that names and functions stand for.
pub(crate) struct Vocabulary {
    labels: Labels,
    scripts: ScriptChoices,
    library: OnceLock<Result<Arc<Library>, ScriptError>>,
    raised: Raised,
}

impl Vocabulary {
    /// Without scripts.
    pub(crate) fn new(labels: Labels, raised: &Raised) -> Self {
        let scripts = ScriptChoices { seconds: SCRIPT_SECONDS, ..ScriptChoices::default() };
        Self { labels, scripts, library: OnceLock::new(), raised: raised.clone() }
    }

    /// With the names of the files that are loaded. One that is wrong is wrong whether it is used or not.
    pub(crate) fn load(labels: Labels, scripts: ScriptChoices, raised: &Raised) -> Result<Self, Failure> {
        let vocabulary = Self { scripts, ..Self::new(labels, raised) };
        if !vocabulary.scripts.load.is_empty() {
            vocabulary.library()?;
        }
        Ok(vocabulary)
    }

    fn library(&self) -> Result<&Arc<Library>, Error> {
        let make = || {
            let limits = ScriptLimits { time: Duration::from_secs(self.scripts.seconds), ..ScriptLimits::default() };
            let mut library = Library::new(Registry::builtin(), self.labels.clone(), limits);
            self.scripts.load.iter().try_for_each(|file| library.load_file(file))?;
            Ok(Arc::new(library))
        };
        self.library.get_or_init(make).as_ref().map_err(|error| error.clone().into())
    }

    /// What logs that record metrics and reducers by name may find in the loaded files.
    pub(crate) fn loaded_names(&self) -> Result<LoadedNames, Error> {
        if self.scripts.load.is_empty() {
            return Ok(LoadedNames::default());
        }
        let (metrics, reducers) = (self.library()?.clone(), self.library()?.clone());
        Ok(LoadedNames::new(
            move |name, params| Some(metrics.own_metric(name, params)?.map_err(Into::into)),
            move |name| Ok(reducers.reducer(name)?),
        ))
    }

    /// The reducer of a name.
    pub(crate) fn named_reducer(&self, name: &str) -> Result<Reducer, Error> {
        if self.scripts.load.is_empty() { Reducer::parse(name) } else { Ok(self.library()?.reducer(name)?) }
    }

    /// The metrics that were asked for, if any were.
    pub(crate) fn metric_specs(&self, choices: Vec<MetricChoice>) -> Result<Option<Vec<MetricSpec>>, Failure> {
        let mut specs = Vec::new();
        for choice in choices {
            match choice {
                MetricChoice::Expression(text) => specs.extend(self.library()?.metrics(&text).map_err(Error::from)?),
                MetricChoice::Function(name, function, RowChoice(view)) => {
                    specs.push(self.function_metric(name, function).view(view).into());
                }
                MetricChoice::Keyed(keys) => {
                    let mut keyed = Vec::new();
                    for (key, choices) in keys {
                        keyed.push((key, self.metrics(choices)?.unwrap_or_default()));
                    }
                    specs.push(MetricSpec::Keyed(keyed));
                }
            }
        }
        Ok(if specs.is_empty() { None } else { Some(specs) })
    }

    /// The same where each is one metric.
    pub(crate) fn metrics(&self, choices: Vec<MetricChoice>) -> Result<Option<Vec<Metric>>, Failure> {
        let one = |spec: MetricSpec| match spec {
            MetricSpec::One(metric) => Ok(metric),
            MetricSpec::Keyed(_) => {
                Err(Failure::usage("metrics by key are no one metric", "name a metric, such as `accuracy`"))
            }
        };
        let specs = self.metric_specs(choices)?;
        specs.map(|specs| specs.into_iter().map(one).collect::<Result<Vec<_>, _>>()).transpose()
    }

    /// The one metric of an expression.
    pub(crate) fn metric(&self, text: &str) -> Result<Metric, Error> {
        match &self.library()?.metrics(text)?[..] {
            [MetricSpec::One(metric)] => Ok(metric.clone()),
            _ => Err(Error::custom(format!("`{text}` is not one metric"))),
        }
    }

    /// The reducers that were asked for, if any were; `none` is a name for none of them.
    pub(crate) fn reducers(&self, choices: Vec<ReducerChoice>) -> Result<Option<Vec<Reducer>>, Failure> {
        if choices.is_empty() {
            return Ok(None);
        }
        let is_none = |choice: &ReducerChoice| matches!(choice, ReducerChoice::Name(name) if name == "none");
        if choices.len() > 1 && choices.iter().any(is_none) {
            return Err(Failure::usage(
                "`none` goes with no other reducer",
                "ask twice, with `reducer=\"none\"` and with the others",
            ));
        }
        let named = choices.into_iter().filter(|choice| !is_none(choice));
        let reducers = named.map(|choice| self.reducer(choice)).collect::<Result<Vec<_>, Failure>>()?;
        match reducers.iter().find(|reducer| reducer.attempts_needed() == Some(0)) {
            Some(empty) => {
                let what = format!("`{}` asks for no attempt at all", empty.name());
                Err(Failure::usage(what, "ask for at least one, as in `pass_at_1`"))
            }
            None => Ok(Some(reducers)),
        }
    }

    /// The one reducer where samples are paired or judged, if it is named.
    pub(crate) fn one_reducer(&self, choices: Vec<ReducerChoice>) -> Result<Option<Vec<Reducer>>, Failure> {
        match self.reducers(choices)? {
            Some(reducers) if reducers.is_empty() => {
                Err(Failure::usage("attempts have to be reduced", "name a reducer, such as `mean`"))
            }
            Some(reducers) if reducers.len() > 1 => {
                Err(Failure::usage("only one reducer can be used here", "name one of them"))
            }
            reducers => Ok(reducers),
        }
    }

    fn reducer(&self, choice: ReducerChoice) -> Result<Reducer, Failure> {
        let (name, function) = match choice {
            ReducerChoice::Name(name) => return Ok(self.named_reducer(&name)?),
            ReducerChoice::Function(name, function) => (name, function),
        };
        let (raised, what) = (self.raised.clone(), format!("the reducer `{name}`"));
        Ok(score_reducer(name, move |scores| raised.call(&what, |py| reduce(py, &function, scores))))
    }

    fn function_metric(&self, name: String, function: Py<PyAny>) -> Metric {
        let (raised, labels) = (self.raised.clone(), self.labels.clone());
        let what = format!("the metric `{name}`");
        metric_of_rows(name, move |rows: ScoreRows| {
            raised.call(&what, |py| {
                let given = function.call1(py, (RowTable::new(rows).objects(py)?,))?;
                let wanted = "a metric gives a number, None, or a list or dict of numbers";
                Given::of(given.bind(py), &labels).map_err(|why| PyTypeError::new_err(format!("{why}; {wanted}")))
            })
        })
    }
}

/// Calls a reducer with the scores of a sample.
pub(crate) fn reduce(py: Python<'_>, function: &Py<PyAny>, scores: &[data::Score]) -> PyResult<data::Score> {
    let rows = scores.iter().map(|score| Py::new(py, Score::of(score))).collect::<PyResult<Vec<_>>>()?;
    let given = function.call1(py, (PyList::new(py, rows)?,))?;
    let given = given.bind(py);
    match given.cast::<Score>() {
        Ok(score) => score.borrow().to_score(py),
        Err(_) => Ok(data::Score::new(from_python(given)?)),
    }
}

/// True if Python code would be called.
pub(crate) fn calls_python(metrics: &[MetricChoice], reducers: &[ReducerChoice]) -> bool {
    let is_function = |metric: &MetricChoice| match metric {
        MetricChoice::Expression(_) => false,
        MetricChoice::Function(..) => true,
        MetricChoice::Keyed(keys) => keys.iter().any(|(_, metrics)| calls_python(metrics, &[])),
    };
    metrics.iter().any(is_function) || reducers.iter().any(|one| matches!(one, ReducerChoice::Function(..)))
}
