//! What was read: attempts as columns.

use crate::calls::compute;
use crate::choices::Choices;
use crate::data::{Given, Source};
use crate::values::{id_to_python, to_python};
use calipers::data::{Outcome, Record, Samples, Value};
use calipers::{Needs, RunError, load};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::collections::HashMap;
use std::sync::Arc;

/// The attempts of runs.
#[pyclass(frozen, module = "calipers._core")]
pub(crate) struct Records {
    runs: Vec<ReadRun>,
    notes: Vec<String>,
}

/// A run that was read.
struct ReadRun {
    source: String,
    format: String,
    name: Option<String>,
    task: Option<String>,
    model: Option<String>,
    samples: Samples,
}

/// Reads results.
#[pyfunction]
pub(crate) fn read(py: Python<'_>, sources: Vec<PyRef<'_, Source>>, choices: Choices) -> PyResult<Records> {
    let given = Given::new(&sources);
    let selection = choices.selection().map_err(|failure| failure.into_exception(py))?;
    compute(py, move || {
        let (sources, mut notes) = given.find(&selection)?;
        let selection = selection.with_sources(sources);
        let files = load(&selection, &Needs::everything()).collect::<Result<Vec<_>, RunError>>()?;
        let mut runs = Vec::new();
        for file in files {
            for run in file.runs {
                notes.extend(run.notes);
                runs.push(ReadRun {
                    source: run.source,
                    format: run.format.to_owned(),
                    name: run.name,
                    task: run.task,
                    model: run.model,
                    samples: run.samples.into_whole(),
                });
            }
        }
        Ok(Records { runs, notes })
    })
}

#[pymethods]
impl Records {
    fn __len__(&self) -> usize {
        self.runs.iter().map(|run| run.samples.attempts()).sum()
    }

    /// What was not read, and why.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// The runs: source, format, name, task, model, and the numbers of samples and attempts.
    fn runs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for run in &self.runs {
            let facts = PyDict::new(py);
            facts.set_item("source", &run.source)?;
            facts.set_item("format", &run.format)?;
            facts.set_item("run", &run.name)?;
            facts.set_item("task", &run.task)?;
            facts.set_item("model", &run.model)?;
            facts.set_item("samples", run.samples.len())?;
            facts.set_item("attempts", run.samples.attempts())?;
            list.append(facts)?;
        }
        Ok(list)
    }

    /// The attempts as columns, with `None` where a record has nothing. What is read back from them is the same.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut table = Table::default();
        let is_several = self.runs.len() > 1;
        for run in &self.runs {
            let name = run.name.as_ref().or(run.model.as_ref()).unwrap_or(&run.source);
            for record in run.samples.records() {
                table.add(py, is_several.then_some(name.as_str()), record)?;
            }
        }
        let columns = PyDict::new(py);
        for (name, mut cells) in table.columns {
            cells.resize_with(table.rows, || py.None());
            columns.set_item(name, PyList::new(py, cells)?)?;
        }
        Ok(columns)
    }
}

/// Columns in the order in which they first appear.
#[derive(Default)]
struct Table {
    rows: usize,
    columns: Vec<(String, Vec<Py<PyAny>>)>,
    places: HashMap<String, usize>,
}

/// Names that are not those of facts.
const OWN: [&str; 5] = ["id", "epoch", "run", "error", "score"];

impl Table {
    fn add(&mut self, py: Python<'_>, run: Option<&str>, record: Record) -> PyResult<()> {
        if let Some(run) = run {
            self.put(py, "run", to_python(py, &Value::from(run))?.unbind());
        }
        self.put(py, "id", id_to_python(py, &record.id)?.unbind());
        self.put(py, "epoch", record.epoch.into_pyobject(py)?.into_any().unbind());
        for (scorer, outcome) in &record.scores {
            let value = match outcome {
                Outcome::Scored(score) => to_python(py, &score.value)?.unbind(),
                Outcome::Unscored { .. } => py.None(),
            };
            self.put(py, &column_of_scorer(scorer), value);
        }
        for (field, value) in &record.fields {
            self.put(py, field, to_python(py, value)?.unbind());
        }
        if let Some(error) = &record.error {
            self.put(py, "error", to_python(py, &Value::Text(error.clone()))?.unbind());
        }
        for (key, value) in record.metadata.iter() {
            let is_taken = OWN.contains(&&**key) || record.fields.iter().any(|(field, _)| field == key);
            let name = if is_taken { format!("metadata.{key}") } else { key.to_string() };
            self.put(py, &name, to_python(py, value)?.unbind());
        }
        self.rows += 1;
        Ok(())
    }

    fn put(&mut self, py: Python<'_>, name: &str, value: Py<PyAny>) {
        let place = match self.places.get(name) {
            Some(place) => *place,
            None => {
                self.places.insert(name.to_owned(), self.columns.len());
                self.columns.push((name.to_owned(), Vec::new()));
                self.columns.len() - 1
            }
        };
        let cells = &mut self.columns[place].1;
        cells.resize_with(self.rows, || py.None());
        cells.push(value);
    }
}

fn column_of_scorer(scorer: &Arc<str>) -> String {
    if **scorer == *"score" { "score".to_owned() } else { format!("scores.{scorer}") }
}
