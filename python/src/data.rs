//! Results that Python hands over: names of files, bytes, and columns in memory.

use crate::calls::guard;
use crate::failure::Failure;
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, FieldRef, Schema};
use calipers::io::{self, duration_column};
use calipers::{Selection, find_sources};
use numpy::{PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyCapsule, PyDict, PyFloat, PyInt, PyList, PyString};
use pyo3_arrow::{PyArray, PyChunkedArray};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

/// Results that something can be asked about.
#[pyclass(frozen, module = "calipers._core")]
pub(crate) struct Source {
    origin: Origin,
    /// Keys of records that were durations before they became text.
    durations: Vec<String>,
}

enum Origin {
    /// A file, a folder or a pattern.
    Name(String),
    /// What is here already.
    Here(io::Source),
}

#[pymethods]
impl Source {
    /// A file, a folder or a pattern.
    #[staticmethod]
    fn path(name: String) -> Self {
        Self { origin: Origin::Name(name), durations: Vec::new() }
    }

    /// The content of a file, of which these keys were durations.
    #[staticmethod]
    #[pyo3(signature = (name, content, durations = Vec::new()))]
    fn bytes(name: String, content: &Bound<'_, PyBytes>, durations: Vec<String>) -> Self {
        Self { origin: Origin::Here(io::Source::bytes(name, content.as_bytes())), durations }
    }

    /// A table or a column of scores that exports an Arrow stream.
    #[staticmethod]
    fn arrow(name: String, data: &Bound<'_, PyAny>) -> PyResult<Self> {
        guard(data.py(), || Self::from_stream(name, data))
    }

    /// Columns by name, each a list or an array of numpy; these are durations in milliseconds. Nothing if a column holds values of several
    /// kinds, or nested ones.
    #[staticmethod]
    #[pyo3(signature = (name, columns, durations = Vec::new()))]
    fn columns(name: String, columns: &Bound<'_, PyDict>, durations: Vec<String>) -> PyResult<Option<Self>> {
        guard(columns.py(), || Self::from_columns(name, columns, &durations))
    }

    /// What messages call it.
    #[getter]
    fn name(&self) -> &str {
        match &self.origin {
            Origin::Name(name) => name,
            Origin::Here(source) => &source.name,
        }
    }

    fn __repr__(&self) -> String {
        format!("<Source {:?}>", self.name())
    }
}

impl Source {
    fn from_stream(name: String, data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (chunks, field) = arrays(data)?;
        let batches = match field.data_type() {
            DataType::Struct(fields) => {
                if let Some(place) = chunks.iter().position(|chunk| chunk.null_count() > 0) {
                    return Err(PyValueError::new_err(format!("a row of part {} of the table is null", place + 1)));
                }
                let mut batches: Vec<RecordBatch> =
                    chunks.iter().map(|chunk| RecordBatch::from(chunk.as_struct())).collect();
                if batches.is_empty() {
                    batches.push(RecordBatch::new_empty(Arc::new(Schema::new(fields.clone()))));
                }
                batches.iter().map(without_row_labels).collect::<PyResult<Vec<_>>>()?
            }
            _ => scores(chunks)?,
        };
        Ok(Self::of_table(name, batches))
    }

    fn of_table(name: String, batches: impl IntoIterator<Item = RecordBatch>) -> Self {
        // Columns of a table know themselves that they are durations.
        Self { origin: Origin::Here(io::Source::table(name, batches)), durations: Vec::new() }
    }

    fn from_columns(name: String, columns: &Bound<'_, PyDict>, durations: &[String]) -> PyResult<Option<Self>> {
        let mut fields: Vec<(String, ArrayRef)> = Vec::new();
        for (name, column) in columns {
            let Some(array) = array(&column)? else { return Ok(None) };
            fields.push((name.str()?.to_cow()?.into_owned(), array));
        }
        if let [(first, one), rest @ ..] = &fields[..]
            && let Some((other, two)) = rest.iter().find(|(_, array)| array.len() != one.len())
        {
            let what = format!(
                "columns have different lengths: `{first}` has {} rows, and `{other}` has {}",
                one.len(),
                two.len()
            );
            return Err(PyValueError::new_err(what));
        }
        let field = |(name, array): &(String, ArrayRef)| match durations.contains(name) {
            true => duration_column(name),
            false => Field::new(name, array.data_type().clone(), true),
        };
        let schema = Schema::new(fields.iter().map(field).collect::<Vec<_>>());
        let arrays: Vec<ArrayRef> = fields.into_iter().map(|(_, array)| array).collect();
        let batch =
            RecordBatch::try_new(Arc::new(schema), arrays).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Some(Self::of_table(name, [batch])))
    }
}

/// The parts of a table or a column, and what they hold.
fn arrays(data: &Bound<'_, PyAny>) -> PyResult<(Vec<ArrayRef>, FieldRef)> {
    if let Some(export) = data.getattr_opt(intern!(data.py(), "__arrow_c_stream__"))? {
        return Ok(PyChunkedArray::from_arrow_pycapsule(export.call0()?.cast::<PyCapsule>()?)?.into_inner());
    }
    let capsules = data.call_method0(intern!(data.py(), "__arrow_c_array__"))?;
    let (schema, array) = capsules.extract::<(Bound<'_, PyCapsule>, Bound<'_, PyCapsule>)>()?;
    let (array, field) = PyArray::from_arrow_pycapsule(&schema, &array)?.into_inner();
    Ok((vec![array], field))
}

/// The sources that were given, and what to know about them.
#[derive(Default)]
pub(crate) struct Given {
    pub(crate) names: Vec<String>,
    sources: Vec<Origin>,
    /// Keys of records that were durations.
    durations: Vec<String>,
}

impl Clone for Origin {
    fn clone(&self) -> Self {
        match self {
            Self::Name(name) => Self::Name(name.clone()),
            Self::Here(source) => Self::Here(source.clone()),
        }
    }
}

impl Given {
    pub(crate) fn new(sources: &[PyRef<'_, Source>]) -> Self {
        Self {
            names: sources.iter().map(|source| source.name().to_owned()).collect(),
            sources: sources.iter().map(|source| source.origin.clone()).collect(),
            durations: sources.iter().flat_map(|source| source.durations.iter().cloned()).collect(),
        }
    }

    /// What they are called together.
    pub(crate) fn name(&self) -> String {
        self.names.join(", ")
    }

    /// An error if scores were durations: as numbers they would depend on a unit that nobody has named.
    fn check_scores(&self, selection: &Selection) -> Result<(), Failure> {
        let is_score = |role: &str| role == "score" || role.starts_with("scores");
        let named: Vec<(&str, String)> = selection.columns.iter().collect();
        let is_scored = |key: &&String| match named.iter().find(|(_, column)| column == *key) {
            Some((role, _)) => is_score(role),
            None => is_score(key) && !named.iter().any(|(role, _)| role == key),
        };
        let Some(key) = self.durations.iter().find(is_scored) else { return Ok(()) };
        let hint =
            "call it `latency_ms` if it says how long an attempt took, or make numbers of it in a unit of your choice";
        Err(Failure::data(
            format!("`{key}` is a duration, and a duration is no score"),
            format!("in {}", self.name()),
            hint,
        ))
    }

    /// The files that they lead to, each once, and notes about others.
    pub(crate) fn find(&self, selection: &Selection) -> Result<(Vec<io::Source>, Vec<String>), Failure> {
        self.check_scores(selection)?;
        let (mut sources, mut notes) = (Vec::new(), Vec::new());
        let mut known: HashSet<PathBuf> = HashSet::new();
        let mut failures: Vec<Failure> = Vec::new();
        for origin in &self.sources {
            match origin {
                Origin::Here(source) => sources.push(source.clone().with_columns(selection.columns.clone())),
                Origin::Name(name) if name == "-" => {
                    let hint = "pass the records themselves, or the name of a file";
                    return Err(Failure::usage("standard input is not read here", hint));
                }
                Origin::Name(name) => {
                    let found = find_sources(std::slice::from_ref(name), selection)?;
                    let left_out = |name| format!("{name} was left out: it holds no results in a known format");
                    notes.extend(found.left_out.into_iter().map(left_out));
                    failures.extend(found.errors.into_iter().map(Failure::from));
                    for source in found.sources {
                        let path = std::fs::canonicalize(&source.name).unwrap_or_else(|_| PathBuf::from(&source.name));
                        if known.insert(path) {
                            sources.push(source);
                        } else {
                            notes.push(format!("{} is named twice and read once", source.name));
                        }
                    }
                }
            }
        }
        failures.into_iter().reduce(Failure::and).map_or(Ok((sources, notes)), Err)
    }
}

/// The rows of a frame without the labels that pandas gives to rows that have none of their own.
fn without_row_labels(batch: &RecordBatch) -> PyResult<RecordBatch> {
    let schema = batch.schema();
    let is_kept = |field: &Arc<Field>| !(field.name().starts_with("__index_level_") && field.name().ends_with("__"));
    let kept: Vec<usize> =
        schema.fields().iter().enumerate().filter(|(_, field)| is_kept(field)).map(|(place, _)| place).collect();
    batch.project(&kept).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A table of scores alone: its samples are called by their places, from 1.
fn scores(chunks: Vec<ArrayRef>) -> PyResult<Vec<RecordBatch>> {
    let mut before = 0_i64;
    let mut batches = Vec::new();
    for chunk in chunks {
        let rows = chunk.len() as i64;
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(before + 1..=before + rows));
        before += rows;
        let batch = RecordBatch::try_from_iter_with_nullable([("id", ids, false), ("score", chunk, true)]);
        batches.push(batch.map_err(|error| PyValueError::new_err(error.to_string()))?);
    }
    Ok(batches)
}

/// A column; nothing if its values are of several kinds, or nested.
fn array(column: &Bound<'_, PyAny>) -> PyResult<Option<ArrayRef>> {
    let py = column.py();
    let module = column.get_type().getattr(intern!(py, "__module__"))?;
    let is_numpy = module.cast::<PyString>().is_ok_and(|module| module.to_cow().is_ok_and(|name| &*name == "numpy"));
    // Fields of packed records lie where numbers cannot be read as they are.
    let is_aligned = || column.getattr(intern!(py, "flags"))?.getattr(intern!(py, "aligned"))?.is_truthy();
    if is_numpy && is_aligned()? {
        if let Ok(floats) = column.extract::<PyReadonlyArray1<'_, f64>>() {
            return Ok(Some(Arc::new(Float64Array::from_iter_values(floats.as_array().iter().copied()))));
        }
        if let Ok(numbers) = column.extract::<PyReadonlyArray1<'_, i64>>() {
            return Ok(Some(Arc::new(Int64Array::from_iter_values(numbers.as_array().iter().copied()))));
        }
        if let Ok(flags) = column.extract::<PyReadonlyArray1<'_, bool>>() {
            let flags: Vec<bool> = flags.to_vec().map_err(|error| PyValueError::new_err(error.to_string()))?;
            return Ok(Some(Arc::new(BooleanArray::from(flags))));
        }
    }
    let column = match column.getattr_opt(intern!(py, "tolist"))? {
        Some(list) => list.call0()?,
        None => column.clone(),
    };
    let items = match column.cast_into::<PyList>() {
        Ok(list) => list,
        Err(error) => PyList::new(py, error.into_inner().try_iter()?.collect::<PyResult<Vec<_>>>()?)?,
    };
    of_list(&items)
}

/// What all values of a list are, as far as they are of one kind.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Unknown,
    Bool,
    Int,
    Float,
    Text,
}

fn of_list(items: &Bound<'_, PyList>) -> PyResult<Option<ArrayRef>> {
    let mut kind = Kind::Unknown;
    for item in items {
        let other = if item.is_none() {
            continue;
        } else if item.is_instance_of::<PyBool>() {
            Kind::Bool
        } else if item.is_instance_of::<PyInt>() {
            Kind::Int
        } else if item.is_instance_of::<PyFloat>() {
            Kind::Float
        } else if item.is_instance_of::<PyString>() {
            Kind::Text
        } else {
            return Ok(None);
        };
        kind = match (kind, other) {
            (Kind::Unknown, other) => other,
            (kind, other) if kind == other => kind,
            (Kind::Int, Kind::Float) | (Kind::Float, Kind::Int) => Kind::Float,
            _ => return Ok(None),
        };
    }
    Ok(Some(match kind {
        // A column of nothing: text, as a file would have it.
        Kind::Unknown => Arc::new(StringArray::from(vec![None::<&str>; items.len()])),
        Kind::Bool => Arc::new(BooleanArray::from(items.extract::<Vec<Option<bool>>>()?)),
        Kind::Int => match items.extract::<Vec<Option<i64>>>() {
            Ok(numbers) => Arc::new(Int64Array::from(numbers)),
            Err(_) => return Ok(None),
        },
        Kind::Float => Arc::new(Float64Array::from(items.extract::<Vec<Option<f64>>>()?)),
        Kind::Text => Arc::new(StringArray::from(items.extract::<Vec<Option<String>>>()?)),
    }))
}
