//! `Score` and `SampleScore`: what scorers give, and what custom metrics and reducers are given. They are light, because a run has
//! a great many of them.

use crate::values::{from_python, id_to_python, to_python};
use calipers::data::{self, Metadata, ScoreRows, Value};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple, PyType};
use pyo3::{IntoPyObjectExt, intern};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Facts as Rust or Python has them. What comes from Rust becomes a dict when it is first asked for.
pub(crate) enum Facts {
    Python(Py<PyAny>),
    Rust(Arc<Metadata>, OnceLock<Py<PyAny>>),
}

impl Facts {
    fn of(metadata: Arc<Metadata>) -> Self {
        Self::Rust(metadata, OnceLock::new())
    }

    fn to_python(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self {
            Self::Python(object) => Ok(object.clone_ref(py)),
            Self::Rust(metadata, made) => {
                if let Some(made) = made.get() {
                    return Ok(made.clone_ref(py));
                }
                let map = PyDict::new(py);
                for (key, value) in metadata.iter() {
                    map.set_item(&**key, to_python(py, value)?)?;
                }
                Ok(made.get_or_init(|| map.into_any().unbind()).clone_ref(py))
            }
        }
    }

    /// Facts for Rust. What Rust has no values for, such as dates, is kept as text.
    fn to_metadata(&self, py: Python<'_>) -> PyResult<Arc<Metadata>> {
        let object = match self {
            Self::Rust(metadata, made) if made.get().is_none() => return Ok(metadata.clone()),
            Self::Rust(_, made) => made.get().expect("looked at before").bind(py),
            Self::Python(object) => object.bind(py),
        };
        let map = object.cast::<PyDict>().map_err(|_| PyTypeError::new_err("metadata must be a dict"))?;
        let mut entries: Vec<(Arc<str>, Value)> = Vec::with_capacity(map.len());
        for (key, value) in map {
            let value = match from_python(&value) {
                Ok(value) => value,
                Err(_) => Value::from(&*value.str()?.to_cow()?),
            };
            entries.push((key.str()?.to_cow()?.as_ref().into(), value));
        }
        Ok(Arc::new(Metadata::new(entries)))
    }
}

/// What a scorer says about an attempt.
///
/// The value is a number, a label such as `"C"`, or a list or dict of them. A value of NaN says that there is no score.
#[pyclass(module = "calipers.scorer")]
pub(crate) struct Score {
    pub(crate) value: Value,
    answer: Option<Arc<str>>,
    explanation: Option<Arc<str>>,
    metadata: Option<Facts>,
    history: Option<Py<PyAny>>,
}

impl Score {
    pub(crate) fn of(score: &data::Score) -> Self {
        Self {
            value: score.value.clone(),
            answer: score.answer.clone(),
            explanation: score.explanation.clone(),
            metadata: score.metadata.clone().map(Facts::of),
            history: None,
        }
    }

    pub(crate) fn to_score(&self, py: Python<'_>) -> PyResult<data::Score> {
        Ok(data::Score {
            value: self.value.clone(),
            answer: self.answer.clone(),
            explanation: self.explanation.clone(),
            metadata: self.metadata.as_ref().map(|metadata| metadata.to_metadata(py)).transpose()?,
        })
    }

    /// A score that has only metadata.
    pub(crate) fn with_metadata(metadata: Py<PyAny>) -> Self {
        let metadata = Some(Facts::Python(metadata));
        Self { value: Value::Missing, answer: None, explanation: None, metadata, history: None }
    }

    fn scalar(&self) -> PyResult<&Value> {
        if self.value.is_scalar() { Ok(&self.value) } else { Err(PyValueError::new_err("This score is not a scalar")) }
    }

    fn number(&self) -> PyResult<f64> {
        match self.scalar()? {
            Value::Missing => Ok(f64::NAN),
            Value::Float(number) => Ok(*number),
            value => {
                let score = data::Score::new(value.clone());
                score.as_float().map_err(|error| PyValueError::new_err(error.kind().to_string()))
            }
        }
    }
}

#[pymethods]
impl Score {
    #[new]
    #[pyo3(signature = (value, answer=None, explanation=None, metadata=None, *, history=None))]
    fn new(
        value: &Bound<'_, PyAny>,
        answer: Option<&str>,
        explanation: Option<&str>,
        metadata: Option<Py<PyAny>>,
        history: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        Ok(Self {
            value: from_python(value)?,
            answer: answer.map(Into::into),
            explanation: explanation.map(Into::into),
            metadata: metadata.map(Facts::Python),
            history,
        })
    }

    /// A score that says that there is none, and why.
    #[classmethod]
    #[pyo3(signature = (answer=None, explanation=None, metadata=None))]
    fn unscored(
        _class: &Bound<'_, PyType>,
        answer: Option<&str>,
        explanation: Option<&str>,
        metadata: Option<Py<PyAny>>,
    ) -> Self {
        Self {
            value: Value::Missing,
            answer: answer.map(Into::into),
            explanation: explanation.map(Into::into),
            metadata: metadata.map(Facts::Python),
            history: None,
        }
    }

    /// The value.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.value)
    }

    #[setter]
    fn set_value(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.value = from_python(value)?;
        Ok(())
    }

    /// The answer that was scored.
    #[getter]
    fn answer(&self) -> Option<&str> {
        self.answer.as_deref()
    }

    #[setter]
    fn set_answer(&mut self, answer: Option<&str>) {
        self.answer = answer.map(Into::into);
    }

    /// Why it was scored so.
    #[getter]
    fn explanation(&self) -> Option<&str> {
        self.explanation.as_deref()
    }

    #[setter]
    fn set_explanation(&mut self, explanation: Option<&str>) {
        self.explanation = explanation.map(Into::into);
    }

    /// Anything else that the scorer recorded.
    #[getter]
    fn metadata(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.metadata.as_ref().map(|metadata| metadata.to_python(py)).transpose()
    }

    #[setter]
    fn set_metadata(&mut self, metadata: Option<Py<PyAny>>) {
        self.metadata = metadata.map(Facts::Python);
    }

    /// Edits of the score.
    #[getter]
    fn history(&mut self, py: Python<'_>) -> Py<PyAny> {
        self.history.get_or_insert_with(|| pyo3::types::PyList::empty(py).into_any().unbind()).clone_ref(py)
    }

    /// The value as text.
    #[getter]
    fn text(&self) -> PyResult<String> {
        self.as_str()
    }

    /// The value as text.
    fn as_str(&self) -> PyResult<String> {
        Ok(match self.scalar()? {
            Value::Missing => "nan".to_owned(),
            value => value.to_string(),
        })
    }

    /// The value as a whole number.
    fn as_int<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.get_type::<pyo3::types::PyInt>().call1((self.number()?,))
    }

    /// The value as a float: a number as it is, `C`, `I`, `P` and `N` as 1, 0, ½ and 0.
    fn as_float(&self) -> PyResult<f64> {
        self.number()
    }

    /// The value as true or false: its float is not zero.
    fn as_bool(&self) -> PyResult<bool> {
        Ok(self.number()? != 0.0)
    }

    /// The values of a list.
    fn as_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.value {
            Value::List(_) => to_python(py, &self.value),
            _ => Err(PyValueError::new_err("This score is not a list")),
        }
    }

    /// The entries of a dict.
    fn as_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.value {
            Value::Map(_) => to_python(py, &self.value),
            _ => Err(PyValueError::new_err("This score is not a dictionary")),
        }
    }

    /// What copies and pickles are made from.
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let metadata = self.metadata.as_ref().map(|metadata| metadata.to_python(py)).transpose()?;
        let arguments = (to_python(py, &self.value)?, self.answer.as_deref(), self.explanation.as_deref(), metadata);
        let keywords = PyDict::new(py);
        keywords.set_item(intern!(py, "history"), self.history.as_ref())?;
        Ok((arguments.into_pyobject(py)?, keywords))
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let Ok(other) = other.cast::<Self>() else { return Ok(py.NotImplemented()) };
        let other = other.borrow();
        let is_same = self.value == other.value && self.answer == other.answer && self.explanation == other.explanation;
        let facts = |score: &Self| score.metadata.as_ref().map(|facts| facts.to_python(py)).transpose();
        let has_same = match (facts(self)?, facts(&other)?) {
            (None, None) => true,
            (Some(a), Some(b)) => a.bind(py).eq(b)?,
            _ => false,
        };
        (is_same && has_same).into_py_any(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut parts = vec![format!("value={}", to_python(py, &self.value)?.repr()?)];
        for (name, text) in [("answer", &self.answer), ("explanation", &self.explanation)] {
            if let Some(text) = text {
                parts.push(format!("{name}={}", text.as_ref().into_bound_py_any(py)?.repr()?));
            }
        }
        if let Some(metadata) = &self.metadata {
            parts.push(format!("metadata={}", metadata.to_python(py)?.bind(py).repr()?));
        }
        Ok(format!("Score({})", parts.join(", ")))
    }
}

/// The scores that a metric in Python is given, as Rust has them. They become objects one by one.
pub(crate) struct RowTable {
    rows: ScoreRows,
    /// What became of the keys and values that rows share, by where these are.
    known: Mutex<HashMap<usize, Py<PyAny>, BuildHasherDefault<AddressHasher>>>,
}

/// Hashes addresses, which no input can choose: a multiplication spreads them.
#[derive(Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_usize(byte.into()));
    }

    fn write_usize(&mut self, address: usize) {
        self.0 = (self.0 ^ address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

impl RowTable {
    pub(crate) fn new(rows: ScoreRows) -> Arc<Self> {
        Arc::new(Self { rows, known: Mutex::default() })
    }

    /// All rows as objects.
    pub(crate) fn objects<'py>(self: &Arc<Self>, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let row = |row: usize| {
            let rows = self.clone();
            Py::new(py, SampleScore(Row::Rust { rows, row, score: OnceLock::new(), facts: OnceLock::new() }))
        };
        PyList::new(py, (0..self.rows.len()).map(row).collect::<PyResult<Vec<_>>>()?)
    }

    /// What is known about the sample of a row.
    fn facts<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyDict>> {
        let map = PyDict::new(py);
        if !self.rows.shares_facts(row) {
            for (key, value) in self.rows.facts(row) {
                map.set_item(&**key, to_python(py, value)?)?;
            }
            return Ok(map);
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, value) in self.rows.facts(row) {
            // Keys and values of a table stay where they are as long as the table is there. Lists and dicts could be changed.
            let key = match known.entry(std::ptr::from_ref(key).addr()) {
                Entry::Occupied(made) => made.into_mut(),
                Entry::Vacant(free) => free.insert(PyString::new(py, key).into_any().unbind()),
            }
            .clone_ref(py);
            if !value.is_scalar() {
                map.set_item(key, to_python(py, value)?)?;
                continue;
            }
            let value = match known.entry(std::ptr::from_ref(value).addr()) {
                Entry::Occupied(made) => made.into_mut(),
                Entry::Vacant(free) => free.insert(to_python(py, value)?.unbind()),
            };
            map.set_item(key, &*value)?;
        }
        Ok(map)
    }
}

/// A score with the sample that it belongs to.
#[pyclass(frozen, module = "calipers.scorer")]
pub(crate) struct SampleScore(Row);

enum Row {
    Python {
        score: Py<PyAny>,
        sample_id: Option<Py<PyAny>>,
        sample_metadata: Option<Py<PyAny>>,
        scorer: Option<Arc<str>>,
    },
    /// A row of a table. What has been looked at stays, because it may have been changed.
    Rust { rows: Arc<RowTable>, row: usize, score: OnceLock<Py<PyAny>>, facts: OnceLock<Py<PyAny>> },
}

impl SampleScore {
    /// What is known about the sample, if anything is.
    pub(crate) fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let facts = self.sample_metadata(py)?;
        Ok(facts.map(|facts| facts.into_bound(py)).filter(|facts| !facts.is_none()))
    }

    /// The score, as an object.
    pub(crate) fn score_object(&self, py: Python<'_>) -> PyResult<&Py<PyAny>> {
        match &self.0 {
            Row::Python { score, .. } => Ok(score),
            Row::Rust { rows, row, score, .. } => match score.get() {
                Some(made) => Ok(made),
                None => {
                    let made = Py::new(py, Score::of(&rows.rows.score(*row)))?.into_any();
                    Ok(score.get_or_init(|| made))
                }
            },
        }
    }
}

#[pymethods]
impl SampleScore {
    #[new]
    #[pyo3(signature = (score, sample_id=None, sample_metadata=None, scorer=None))]
    fn new(
        score: Py<PyAny>,
        sample_id: Option<Py<PyAny>>,
        sample_metadata: Option<Py<PyAny>>,
        scorer: Option<&str>,
    ) -> Self {
        Self(Row::Python { score, sample_id, sample_metadata, scorer: scorer.map(Into::into) })
    }

    /// The score.
    #[getter]
    fn score(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(self.score_object(py)?.clone_ref(py))
    }

    /// The sample.
    #[getter]
    fn sample_id(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(match &self.0 {
            Row::Rust { rows, row, .. } => id_to_python(py, rows.rows.sample_id(*row))?.unbind(),
            Row::Python { sample_id: Some(id), .. } => id.clone_ref(py),
            Row::Python { sample_id: None, .. } => py.None(),
        })
    }

    /// What is known about the sample.
    #[getter]
    fn sample_metadata(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        match &self.0 {
            Row::Python { sample_metadata, .. } => Ok(sample_metadata.as_ref().map(|facts| facts.clone_ref(py))),
            Row::Rust { rows, row, facts, .. } => {
                if let Some(made) = facts.get() {
                    return Ok(Some(made.clone_ref(py)));
                }
                let made = rows.facts(py, *row)?.into_any().unbind();
                Ok(Some(facts.get_or_init(|| made).clone_ref(py)))
            }
        }
    }

    /// The scorer.
    #[getter]
    fn scorer(&self) -> Option<&str> {
        match &self.0 {
            Row::Python { scorer, .. } => scorer.as_deref(),
            Row::Rust { .. } => None,
        }
    }

    /// The value as text.
    fn as_str(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.score_object(py)?.call_method0(py, intern!(py, "as_str"))
    }

    /// The value as a whole number.
    fn as_int(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.score_object(py)?.call_method0(py, intern!(py, "as_int"))
    }

    /// The value as a float.
    fn as_float(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.score_object(py)?.call_method0(py, intern!(py, "as_float"))
    }

    /// The value as true or false.
    fn as_bool(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.score_object(py)?.call_method0(py, intern!(py, "as_bool"))
    }

    /// The values of a list.
    fn as_list(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.score_object(py)?.call_method0(py, intern!(py, "as_list"))
    }

    /// The entries of a dict.
    fn as_dict(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.score_object(py)?.call_method0(py, intern!(py, "as_dict"))
    }

    /// What copies and pickles are made from.
    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let (score, id, metadata) = (self.score(py)?, self.sample_id(py)?, self.sample_metadata(py)?);
        (score, id, metadata, self.scorer()).into_pyobject(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let id = self.sample_id(py)?;
        Ok(format!("SampleScore(sample_id={}, score={})", id.bind(py).repr()?, self.score_object(py)?.bind(py).repr()?))
    }
}
