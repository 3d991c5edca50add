//! Shares of a run: what an executor makes of its rows, and what the driver makes of the shares.

use crate::calls::{compute, guard};
use crate::choices::Choices;
use crate::data::{Given, Source};
use crate::failure::Failure;
use crate::metrics::{MetricChoice, Raised, ReducerChoice, Vocabulary};
use crate::questions::{JudgingChoices, selection_of};
use crate::reports::{Content, Report};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use calipers::compare::CompareOptions;
use calipers::data::SampleId;
use calipers::parts::{FoldOptions, Part, PartPlace, Parts};
use calipers::plan::Report as ResultsReport;
use calipers::score::ScoreOptions;
use calipers::{Needs, Selection};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use pyo3_arrow::PyChunkedArray;

/// The bytes of parts, each with what messages call it.
type GivenParts = Vec<(String, Vec<u8>)>;

/// Which share of how many.
#[derive(FromPyObject)]
pub(crate) struct PlaceChoice(u32, u32, bool);

impl PlaceChoice {
    fn place(&self) -> Result<PartPlace, Failure> {
        let text = format!("{}/{}", self.0, self.1);
        let refuse = || Failure::usage(format!("{text} is no share of a run"), "count from 1 to the number of shares");
        PartPlace::parse(&text, self.2).ok_or_else(refuse)
    }
}

fn parts_of(parts: &GivenParts) -> Result<Parts, Failure> {
    let mut read: Vec<(String, Part)> = Vec::new();
    for (name, bytes) in parts {
        read.push((name.clone(), Part::from_bytes(name, bytes)?));
    }
    Ok(Parts::new(read)?)
}

/// What scores are measured with, from expressions and names: functions stay where they are.
fn measures(
    selection: Selection,
    metric: Vec<MetricChoice>,
    reducer: Vec<ReducerChoice>,
) -> Result<(Selection, ScoreOptions), Failure> {
    let vocabulary = Vocabulary::new(selection.labels.clone(), &Raised::default());
    let options = ScoreOptions { metrics: vocabulary.metric_specs(metric)?, ..ScoreOptions::default() };
    let reducers = vocabulary.reducers(reducer)?;
    Ok((Selection { reducers, ..selection }, options))
}

/// A part with the states of metrics.
#[pyfunction]
pub(crate) fn fold_states<'py>(
    py: Python<'py>,
    sources: Vec<PyRef<'py, Source>>,
    choices: Choices,
    metric: Vec<MetricChoice>,
    reducer: Vec<ReducerChoice>,
    place: PlaceChoice,
) -> PyResult<Bound<'py, PyBytes>> {
    let given = Given::new(&sources);
    let (selection, _) = selection_of(py, choices)?;
    let bytes = compute(py, move || {
        let (selection, options) = measures(selection, metric, reducer)?;
        let (sources, _) = given.find(&selection)?;
        let fold = FoldOptions { place: place.place()?, ..FoldOptions::default() };
        let part = calipers::parts::fold_scores(&selection.with_sources(sources), &options, &fold)?;
        Ok(part.to_bytes())
    })?;
    Ok(PyBytes::new(py, &bytes))
}

/// The report that parts with states make.
#[pyfunction]
pub(crate) fn merge_states(
    py: Python<'_>,
    parts: GivenParts,
    choices: Choices,
    metric: Vec<MetricChoice>,
    reducer: Vec<ReducerChoice>,
) -> PyResult<Report> {
    let (selection, _) = selection_of(py, choices)?;
    compute(py, move || {
        let (selection, options) = measures(selection, metric, reducer)?;
        let run = parts_of(&parts)?.score(&selection, &options)?;
        let report = ResultsReport { runs: vec![run], ..ResultsReport::default() };
        Ok(Report { content: Content::Results(Box::new(report)), notes: Vec::new() })
    })
}

/// The columns that a question reads, as bytes that [`fold_rows`] takes: the driver knows the policy, an executor need not.
#[pyfunction]
pub(crate) fn needs_of_score<'py>(
    py: Python<'py>,
    choices: Choices,
    metric: Vec<MetricChoice>,
    reducer: Vec<ReducerChoice>,
    reductions: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let (selection, scripts) = selection_of(py, choices)?;
    let bytes = compute(py, move || {
        let vocabulary = Vocabulary::load(selection.labels.clone(), scripts, &Raised::default())?;
        vocabulary.reducers(reducer)?;
        let loaded = vocabulary.loaded_names()?;
        let metrics = vocabulary.metric_specs(metric)?;
        let options = ScoreOptions { metrics, keep_reductions: reductions, loaded, ..ScoreOptions::default() };
        Ok(options.needs(&selection).to_bytes())
    })?;
    Ok(PyBytes::new(py, &bytes))
}

/// The same for a verdict.
#[pyfunction]
pub(crate) fn needs_of_gate<'py>(
    py: Python<'py>,
    choices: Choices,
    judging: JudgingChoices,
) -> PyResult<Bound<'py, PyBytes>> {
    let (selection, scripts) = selection_of(py, choices)?;
    let bytes = compute(py, move || Ok(judging.needs(&selection, scripts, &Raised::default())?.to_bytes()))?;
    Ok(PyBytes::new(py, &bytes))
}

/// The same for a comparison.
#[pyfunction]
pub(crate) fn needs_of_compare<'py>(
    py: Python<'py>,
    choices: Choices,
    metric: Vec<MetricChoice>,
    cluster: Vec<String>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (selection, scripts) = selection_of(py, choices)?;
    let bytes = compute(py, move || {
        let vocabulary = Vocabulary::load(selection.labels.clone(), scripts, &Raised::default())?;
        let (metrics, loaded) = (vocabulary.metrics(metric)?, vocabulary.loaded_names()?);
        let options = CompareOptions { metrics, cluster, loaded, ..CompareOptions::default() };
        Ok(options.needs(&selection).to_bytes())
    })?;
    Ok(PyBytes::new(py, &bytes))
}

/// A part with the attempts, and the columns that are needed of them.
#[pyfunction]
pub(crate) fn fold_rows<'py>(
    py: Python<'py>,
    sources: Vec<PyRef<'py, Source>>,
    choices: Choices,
    needs: Vec<u8>,
    place: PlaceChoice,
) -> PyResult<Bound<'py, PyBytes>> {
    let given = Given::new(&sources);
    let (selection, _) = selection_of(py, choices)?;
    let bytes = compute(py, move || {
        let (sources, _) = given.find(&selection)?;
        let fold = FoldOptions { place: place.place()?, ..FoldOptions::default() };
        let needs = Needs::from_bytes(&needs)?;
        Ok(calipers::parts::fold_rows(&selection.with_sources(sources), &needs, &fold)?.to_bytes())
    })?;
    Ok(PyBytes::new(py, &bytes))
}

/// The whole run that parts with attempts make: the content of a file that every question reads.
#[pyfunction]
pub(crate) fn merge_rows<'py>(py: Python<'py>, parts: GivenParts) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = compute(py, move || Ok(parts_of(&parts)?.into_whole()?.to_bytes()))?;
    Ok(PyBytes::new(py, &bytes))
}

/// The buckets, from 1, that samples with these ids fall into: whole numbers of four bytes.
#[pyfunction]
pub(crate) fn buckets<'py>(py: Python<'py>, ids: &Bound<'py, PyAny>, of: u32) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = guard(py, || {
        let capsule = ids.call_method0(intern!(py, "__arrow_c_stream__"))?;
        let (chunks, _) = PyChunkedArray::from_arrow_pycapsule(capsule.cast::<PyCapsule>()?)?.into_inner();
        let mut bytes = Vec::new();
        for chunk in chunks {
            for digest in digests(&chunk)? {
                let bucket = digest % u64::from(of.max(1)) + 1;
                bytes.extend_from_slice(&(bucket as u32).to_le_bytes());
            }
        }
        Ok(bytes)
    })?;
    Ok(PyBytes::new(py, &bytes))
}

/// The digest of each id; 0 for one that is missing, which the reader of the bucket explains.
fn digests(ids: &ArrayRef) -> PyResult<Vec<u64>> {
    macro_rules! numbers {
        ($kind:ty) => {{
            let mut digests = Vec::with_capacity(ids.len());
            for number in ids.as_primitive::<$kind>() {
                digests.push(number.map_or(0, |number| match i64::try_from(number) {
                    Ok(number) => SampleId::from(number).digest(),
                    // What does not fit into eight bytes with a sign is text.
                    Err(_) => SampleId::from(number.to_string()).digest(),
                }));
            }
            Ok(digests)
        }};
    }
    fn texts<'a>(ids: impl Iterator<Item = Option<&'a str>>) -> Vec<u64> {
        ids.map(|id| id.map_or(0, |id| SampleId::from(id).digest())).collect()
    }
    match ids.data_type() {
        DataType::Int8 => numbers!(Int8Type),
        DataType::Int16 => numbers!(Int16Type),
        DataType::Int32 => numbers!(Int32Type),
        DataType::Int64 => numbers!(Int64Type),
        DataType::UInt8 => numbers!(UInt8Type),
        DataType::UInt16 => numbers!(UInt16Type),
        DataType::UInt32 => numbers!(UInt32Type),
        DataType::UInt64 => numbers!(UInt64Type),
        DataType::Utf8 => Ok(texts(ids.as_string::<i32>().iter())),
        DataType::LargeUtf8 => Ok(texts(ids.as_string::<i64>().iter())),
        DataType::Utf8View => Ok(texts(ids.as_string_view().iter())),
        DataType::Null => Ok(vec![0; ids.len()]),
        DataType::Dictionary(_, _) => {
            let coded = ids.as_any_dictionary();
            let known = digests(coded.values())?;
            if known.is_empty() {
                return Ok(vec![0; ids.len()]);
            }
            let places = coded.normalized_keys();
            let digest = |(row, place): (usize, usize)| if ids.is_null(row) { 0 } else { known[place] };
            Ok(places.into_iter().enumerate().map(digest).collect())
        }
        other => Err(PyValueError::new_err(format!("ids are of the type {other}, and not whole numbers or text"))),
    }
}
