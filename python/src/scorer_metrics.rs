//! Metrics and reducers with the numbers of Inspect, for code that is written for it: `calipers.scorer`.
//!
//! Where a figure is undefined, they give what Inspect gives, such as an error of 0 for one sample. `calipers.score` gives the reason
//! in its place.

use crate::failure::Failure;
use crate::score_objects::{SampleScore, Score};
use crate::values::{from_python, to_python};
use calipers::data::{self, Cells, Labels, Samples, Table, Value};
use calipers::{Plan, Reducer, Registry};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use pyo3::{IntoPyObjectExt, intern};
use std::sync::LazyLock;

/// How values become floats: labels, or a function of the caller.
#[derive(FromPyObject)]
pub(crate) enum Conversion<'py> {
    /// What counts as correct, incorrect, partial and no answer.
    Labels(Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>),
    /// A function from a value to a float.
    #[pyo3(transparent)]
    Function(Bound<'py, PyAny>),
}

/// A conversion that is ready for a great many values.
enum Converter<'py> {
    Labels(Labels),
    Function(Bound<'py, PyAny>),
}

impl<'py> Converter<'py> {
    fn new(conversion: Conversion<'py>) -> PyResult<Self> {
        Ok(match conversion {
            Conversion::Function(function) => Self::Function(function),
            Conversion::Labels(correct, incorrect, partial, noanswer) => Self::Labels(
                Labels::default()
                    .correct(from_python(&correct)?)
                    .incorrect(from_python(&incorrect)?)
                    .partial(from_python(&partial)?)
                    .noanswer(from_python(&noanswer)?)
                    .unknown_as_zero(),
            ),
        })
    }

    /// The float of a value. One that no label names is 0, with a warning in the log, as in Inspect.
    fn float(&self, py: Python<'_>, value: &Value) -> PyResult<f64> {
        match self {
            Self::Function(function) => function.call1((to_python(py, value)?,))?.extract(),
            Self::Labels(_) if value.is_missing() => Ok(f64::NAN),
            Self::Labels(labels) => {
                let number = labels.to_float(value).unwrap_or(0.0);
                if number == 0.0
                    && value.as_number().is_none()
                    && labels.clone().unknown_as_error().to_float(value) != Some(0.0)
                {
                    let logger =
                        py.import(intern!(py, "logging"))?.call_method1(intern!(py, "getLogger"), ("calipers",))?;
                    let message = format!("Unable to convert value to float: {}", to_python(py, value)?.str()?);
                    logger.call_method1(intern!(py, "warning"), (message,))?;
                }
                Ok(number)
            }
        }
    }
}

/// The float of a value.
#[pyfunction]
pub(crate) fn to_float(py: Python<'_>, value: &Bound<'_, PyAny>, conversion: Conversion<'_>) -> PyResult<f64> {
    let read = match from_python(value) {
        Ok(read) => read,
        // Something that is no value at all has no label either.
        Err(_) => Value::Text(value.str()?.to_cow()?.as_ref().into()),
    };
    Converter::new(conversion)?.float(py, &read)
}

/// The value and the metadata of a score, no matter which package made the object.
struct Walk<'py> {
    value: Value,
    metadata: Option<Bound<'py, PyAny>>,
}

fn walk<'py>(object: &Bound<'py, PyAny>, needs_metadata: bool) -> PyResult<Walk<'py>> {
    let py = object.py();
    // Our own objects are looked into; those of others are asked.
    if let Ok(own) = object.cast_exact::<SampleScore>() {
        let own = own.borrow();
        if let Ok(score) = own.score_object(py)?.bind(py).cast::<Score>() {
            let metadata = if needs_metadata { own.metadata(py)? } else { None };
            return Ok(Walk { value: score.borrow().value.clone(), metadata });
        }
    }
    let score = object.getattr(intern!(py, "score"))?;
    let value = match score.cast::<Score>() {
        Ok(score) => score.borrow().value.clone(),
        Err(_) => from_python(&score.getattr(intern!(py, "value"))?)?,
    };
    let metadata = if needs_metadata { Some(object.getattr(intern!(py, "sample_metadata"))?) } else { None };
    Ok(Walk { value, metadata: metadata.filter(|metadata| !metadata.is_none()) })
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::builtin);

/// A metric of scores, by its name and parameters: a float, or floats by name. `cluster` is the key of metadata by which samples go
/// together.
#[pyfunction]
#[pyo3(signature = (name, parameters, scores, conversion, cluster=None))]
pub(crate) fn measure<'py>(
    py: Python<'py>,
    name: &str,
    parameters: &Bound<'py, PyDict>,
    scores: &Bound<'py, PyList>,
    conversion: Conversion<'py>,
    cluster: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let converter = Converter::new(conversion)?;
    let mut floats = Vec::with_capacity(scores.len());
    let mut clusters = Cells::labels();
    let cluster_key = cluster.map(|key| PyString::new(py, key));
    for object in scores {
        let Walk { value, metadata } = walk(&object, cluster.is_some())?;
        floats.push(converter.float(py, &value)?);
        if let Some(key) = &cluster_key {
            clusters.push(cluster_of(metadata.as_ref(), key)?);
        }
    }
    // A metric that is called directly has no pipeline before it that leaves out what is not scored.
    let has_gap = floats.iter().any(|float| float.is_nan());
    if floats.iter().any(|float| float.is_infinite()) && name != "ci_wilson" {
        return measure_infinite(py, name, &floats);
    }
    let figures = if floats.is_empty() {
        Vec::new()
    } else {
        let mut parameters = match from_python(parameters)? {
            Value::Map(entries) => entries,
            _ => Vec::new(),
        };
        if let Some(key) = cluster {
            parameters.push(("cluster".into(), Value::from(key)));
        }
        let metric = REGISTRY.metric(name, &Value::Map(parameters));
        let cluster = cluster.map(str::to_owned);
        let work = move || {
            let mut table = Table::with_numbers((1..=floats.len() as i64).collect());
            table.score("score", None, Cells::floats(floats));
            if let Some(key) = cluster {
                table.metadata(key, clusters);
            }
            let plan = Plan::new().inspect_compatible().metrics([metric?]);
            plan.measure(&Samples::from(table)).map_err(Failure::from)
        };
        let results = crate::calls::compute_here(py, work)?;
        let metrics = results.scores.iter().flat_map(|score| &score.metrics);
        metrics.map(|(key, metric)| (key.clone(), metric.figure.inspect_value())).collect::<Vec<_>>()
    };
    let nan = |number: f64| if has_gap { f64::NAN } else { number };
    match &figures[..] {
        [] if name == "ci" || name == "ci_wilson" => {
            let bounds = PyDict::new(py);
            bounds.set_item("lower", 0.0)?;
            bounds.set_item("upper", 0.0)?;
            Ok(bounds.into_any())
        }
        [] => 0.0.into_bound_py_any(py),
        [(key, number)] if key == name => nan(*number).into_bound_py_any(py),
        several => {
            let named = PyDict::new(py);
            for (key, number) in several {
                named.set_item(key, nan(*number))?;
            }
            Ok(named.into_any())
        }
    }
}

/// What the rules of floating point say about scores that are not all finite, as in Inspect: they have a mean, if only an infinite one,
/// and no spread.
fn measure_infinite<'py>(py: Python<'py>, name: &str, floats: &[f64]) -> PyResult<Bound<'py, PyAny>> {
    match name {
        "accuracy" | "mean" => (floats.iter().sum::<f64>() / floats.len() as f64).into_bound_py_any(py),
        "ci" => {
            let bounds = PyDict::new(py);
            bounds.set_item("lower", f64::NAN)?;
            bounds.set_item("upper", f64::NAN)?;
            Ok(bounds.into_any())
        }
        _ => f64::NAN.into_bound_py_any(py),
    }
}

fn cluster_of(metadata: Option<&Bound<'_, PyAny>>, key: &Bound<'_, PyString>) -> PyResult<Value> {
    let none = || {
        PyValueError::new_err(format!("Sample {key} has no metadata; a value is needed to compute clustered errors"))
    };
    let metadata = metadata.ok_or_else(none)?;
    let value = match metadata.cast_exact::<PyDict>() {
        Ok(metadata) => metadata.get_item(key)?.unwrap_or_else(|| metadata.py().None().into_bound(metadata.py())),
        Err(_) => metadata.call_method1(intern!(key.py(), "get"), (key,))?,
    };
    match from_python(&value) {
        Ok(Value::Null | Value::Missing) => {
            Err(PyValueError::new_err(format!("a sample has no value for the cluster `{key}` in its metadata")))
        }
        Ok(Value::List(_) | Value::Map(_)) => {
            Err(PyTypeError::new_err(format!("the cluster `{key}` is no plain value")))
        }
        // In Python, 1, 1.0 and True are one key.
        Ok(value) => Ok(match value.as_number() {
            Some(number) if number.fract() == 0.0 && number.abs() < 9e15 => Value::Int(number as i64),
            _ => value,
        }),
        Err(error) => Err(error),
    }
}

/// One score from the scores of a sample, by the name of a reducer.
#[pyfunction]
pub(crate) fn reduce<'py>(
    py: Python<'py>,
    name: &str,
    threshold: Option<f64>,
    scores: &Bound<'py, PyList>,
    conversion: Conversion<'py>,
) -> PyResult<Py<Score>> {
    let refuse = |error: calipers::Error| Failure::from(error).into_exception(py);
    let mut reducer = Reducer::parse(name).map_err(refuse)?;
    if let Some(threshold) = threshold {
        reducer = reducer.value(threshold);
    }
    let labels = match Converter::new(conversion)? {
        Converter::Labels(labels) => labels,
        Converter::Function(_) => return Err(PyTypeError::new_err("values are converted before they are reduced")),
    };
    let mut read: Vec<data::Score> = Vec::with_capacity(scores.len());
    for score in scores {
        read.push(match score.cast::<Score>() {
            Ok(score) => score.borrow().to_score(py)?,
            Err(_) => foreign(&score)?,
        });
    }
    let mut reduced = reducer.reduce_with(&read, &labels).map_err(refuse)?;
    // Too few attempts are none that succeeded, as in Inspect.
    if reduced.value.is_missing() && name.starts_with("at_least") && read.iter().any(|score| !score.value.is_missing())
    {
        reduced.value = Value::Int(0);
    }
    Py::new(py, Score::of(&reduced))
}

/// A score of another package.
fn foreign(score: &Bound<'_, PyAny>) -> PyResult<data::Score> {
    let py = score.py();
    let text = |name: &Bound<'_, PyString>| -> PyResult<Option<String>> {
        score.getattr_opt(name)?.map(|text| text.extract::<Option<String>>()).transpose().map(Option::flatten)
    };
    let mut read = data::Score::new(from_python(&score.getattr(intern!(py, "value"))?)?);
    read.answer = text(intern!(py, "answer"))?.map(Into::into);
    read.explanation = text(intern!(py, "explanation"))?.map(Into::into);
    if let Some(metadata) = score.getattr_opt(intern!(py, "metadata"))?.filter(|metadata| !metadata.is_none()) {
        let made = Py::new(py, Score::with_metadata(metadata.unbind()))?;
        read.metadata = made.borrow(py).to_score(py)?.metadata;
    }
    Ok(read)
}

/// What a metric is, when it misleads, and how it is computed.
#[pyfunction]
pub(crate) fn metric_documentation(name: &str) -> Option<String> {
    REGISTRY.about(name).map(|about| {
        format!(
            "{}\n\n{}\n\nWhen it misleads: {}\n\nFormula: {}",
            about.summary, about.tells, about.misleads, about.formula
        )
    })
}
