//! Values between Python and Rust.

use calipers::data::{SampleId, Value};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use pyo3::{IntoPyObjectExt, intern};

/// How deep a value from Python may nest: one that holds itself has no end.
const DEPTH_MAX: usize = 64;

/// A value for Python. What is not scored is a NaN, as in Inspect.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Missing => f64::NAN.into_bound_py_any(py),
        Value::Bool(flag) => flag.into_bound_py_any(py),
        Value::Int(number) => number.into_bound_py_any(py),
        Value::Float(number) => number.into_bound_py_any(py),
        Value::Text(text) => Ok(PyString::new(py, text).into_any()),
        Value::List(items) => {
            let items = items.iter().map(|item| to_python(py, item)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, items)?.into_any())
        }
        Value::Map(entries) => {
            let map = PyDict::new(py);
            for (key, value) in entries {
                map.set_item(&**key, to_python(py, value)?)?;
            }
            Ok(map.into_any())
        }
    }
}

/// A value from Python. A NaN is a place that was not scored.
pub(crate) fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    read(object, 0)
}

fn read(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth > DEPTH_MAX {
        return Err(PyTypeError::new_err("a value nests too deep"));
    }
    if let Ok(number) = object.cast_exact::<PyFloat>() {
        return Ok(float(number.value()));
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Value::from(&*text.to_cow()?));
    }
    if let Ok(flag) = object.cast::<PyBool>() {
        return Ok(Value::Bool(flag.is_true()));
    }
    if let Ok(number) = object.cast::<PyInt>() {
        return Ok(match number.extract::<i64>() {
            Ok(number) => Value::Int(number),
            Err(_) => float(number.extract()?),
        });
    }
    if object.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(number) = object.cast::<PyFloat>() {
        return Ok(float(number.value()));
    }
    if object.cast::<PyList>().is_ok() || object.cast::<PyTuple>().is_ok() {
        let items = object.try_iter()?.map(|item| read(&item?, depth + 1));
        return Ok(Value::List(items.collect::<PyResult<_>>()?));
    }
    if let Ok(map) = object.cast::<PyDict>() {
        let entry = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            Ok((key.str()?.to_cow()?.as_ref().into(), read(&value, depth + 1)?))
        };
        return Ok(Value::Map(map.iter().map(entry).collect::<PyResult<_>>()?));
    }
    // Arrays, series and scalars of numpy, pandas, polars and torch know the plain values that they stand for.
    for plain in [intern!(object.py(), "tolist"), intern!(object.py(), "to_list"), intern!(object.py(), "item")] {
        if let Ok(plain) = object.getattr(plain) {
            let value = plain.call0()?;
            if !value.is(object) {
                return read(&value, depth + 1);
            }
        }
    }
    let kind = object.get_type().name()?;
    Err(PyTypeError::new_err(format!("a `{kind}` is no value of a score: use numbers, text, lists or dicts of them")))
}

fn float(number: f64) -> Value {
    if number.is_nan() { Value::Missing } else { Value::Float(number) }
}

/// The name of a sample for Python: a number or a text.
pub(crate) fn id_to_python<'py>(py: Python<'py>, id: &SampleId) -> PyResult<Bound<'py, PyAny>> {
    match id {
        SampleId::Int(number) => number.into_bound_py_any(py),
        SampleId::Text(text) => Ok(PyString::new(py, text).into_any()),
    }
}
