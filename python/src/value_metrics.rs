//! Metrics with the numbers of Inspect that look at scores as they are: labels, lists, and what scores note beside their values.

use crate::calls::compute_here;
use crate::failure::Failure;
use crate::values::from_python;
use calipers::data::{self, Metadata, Value};
use calipers::{Plan, Registry, Samples};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pyo3::{IntoPyObjectExt, intern};
use std::sync::LazyLock;

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::builtin);

/// A metric of scores that are not made floats first, by its name and parameters: floats by name, or one float if that is called as
/// the metric. `notes` are the keys of the scores' metadata that it looks at.
#[pyfunction]
pub(crate) fn measure_values<'py>(
    py: Python<'py>,
    name: &str,
    parameters: &Bound<'py, PyDict>,
    scores: &Bound<'py, PyList>,
    notes: Vec<String>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut samples = Samples::new();
    for (place, object) in scores.iter().enumerate() {
        let score = object.getattr(intern!(py, "score"))?;
        let value = match from_python(&score.getattr(intern!(py, "value"))?)? {
            // Here it is a label, as any other.
            Value::Missing if name == "frequency" => Value::from("nan"),
            value => value,
        };
        let mut read = data::Score::new(value);
        if !notes.is_empty() {
            read = read.metadata(read_notes(&score.getattr(intern!(py, "metadata"))?, &notes)?);
        }
        samples.push(place as i64 + 1).score("score", read);
    }
    let metric = REGISTRY.metric(name, &from_python(parameters)?);
    let results = compute_here(py, move || {
        Plan::new().inspect_compatible().reducers([]).metrics([metric?]).measure(&samples).map_err(Failure::from)
    })?;
    let metrics = results.scores.iter().flat_map(|score| &score.metrics);
    let figures: Vec<(String, f64)> =
        metrics.map(|(key, metric)| (key.clone(), metric.figure.inspect_value())).collect();
    match &figures[..] {
        [(key, number)] if key == name && name != "frequency" => number.into_bound_py_any(py),
        several => {
            let named = PyDict::new(py);
            for (key, number) in several {
                named.set_item(key, number)?;
            }
            Ok(named.into_any())
        }
    }
}

fn read_notes(metadata: &Bound<'_, PyAny>, keys: &[String]) -> PyResult<Metadata> {
    let mut found: Vec<(String, Value)> = Vec::new();
    if !metadata.is_none() {
        for key in keys {
            let value = metadata.call_method1(intern!(metadata.py(), "get"), (key,))?;
            if !value.is_none() {
                found.push((key.clone(), from_python(&value)?));
            }
        }
    }
    Ok(Metadata::new(found))
}
