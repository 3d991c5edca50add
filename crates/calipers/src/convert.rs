//! From one form of results to another.

use crate::score::{Options, score};
use calipers_core::{Outcome, Reducer, Results, Samples, Value};
use calipers_io::{
    Contents, InspectLog, OutputFile, ReadError, RecordedMetric, RecordedResults, RecordedRun, RecordedScorer, Source,
    WriteError, Writer,
};

/// What cannot be converted.
#[derive(Debug)]
pub enum ConvertError {
    /// The source cannot be read.
    Read(ReadError),
    /// The target cannot be written.
    Write(WriteError),
}

impl std::fmt::Display for ConvertError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Write(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ConvertError {}

impl From<ReadError> for ConvertError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<WriteError> for ConvertError {
    fn from(error: WriteError) -> Self {
        Self::Write(error)
    }
}

/// Writes a run that was read from a source, and returns notes on what was not read and what the form cannot hold.
///
/// A log of Inspect's that stays one is copied, transcripts and all. Everything else goes through samples. A log of
/// Inspect's that is made here gets results: the metrics that the file records, or else accuracy and its standard error,
/// by key where scores are maps.
///
/// ```no_run
/// use calipers::convert::convert;
/// use calipers::io::{OutputFile, Source, read, writer};
///
/// let source = Source::path("results.jsonl");
/// for run in read(&source, None)? {
///     let mut out = OutputFile::create("results.eval", false)?;
///     let notes = convert(&source, run, writer(None, "results.eval")?, None, &mut out)?;
///     out.finish()?;
///     notes.iter().for_each(|note| eprintln!("{note}"));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn convert(
    source: &Source,
    mut run: RecordedRun,
    writer: &dyn Writer,
    reducers: Option<Vec<Reducer>>,
    out: &mut OutputFile,
) -> Result<Vec<String>, ConvertError> {
    let mut notes = std::mem::take(&mut run.notes);
    if writer.name() != "inspect" {
        notes.extend(writer.write(&Contents { run: &run, results: None }, out)?);
        return Ok(notes);
    }
    if run.format == "inspect" && reducers.is_none() {
        notes.extend(InspectLog::open(source)?.write(out)?);
        return Ok(notes);
    }
    if run.format == "inspect" {
        notes.push("the log is made anew for other reducers: its messages and events are left out".to_owned());
    }
    run.recorded = recorded(&run, reducers.as_deref());
    let results = match results(&run, reducers) {
        Ok(results) => Some(results),
        Err(error) => {
            let first = error.to_string();
            let why = first.lines().next().unwrap_or_default();
            notes.push(format!("the log is written without results, because they cannot be computed: {why}"));
            None
        }
    };
    notes.extend(writer.write(&Contents { run: &run, results: results.as_ref() }, out)?);
    Ok(notes)
}

/// The results as Inspect would compute them.
fn results(run: &RecordedRun, reducers: Option<Vec<Reducer>>) -> Result<Results, calipers_core::Error> {
    let options = Options { inspect: true, keep_reductions: true, reducers, ..Options::default() };
    Ok(score(run.clone(), &options)?.results)
}

/// The scorers and reducers that a log names. A scorer without metrics gets those that fit its scores.
fn recorded(run: &RecordedRun, reducers: Option<&[Reducer]>) -> RecordedResults {
    let known = |scorer: &str| run.recorded.scorers.iter().find(|known| known.name == scorer);
    let scorers = run.samples.scorers().map(|name| {
        let metrics = known(name).map(|known| known.metrics.clone()).filter(|metrics| !metrics.is_empty());
        RecordedScorer { name: name.to_string(), metrics: metrics.unwrap_or_else(|| usual(&run.samples, name)) }
    });
    let named = |reducers: &[Reducer]| reducers.iter().map(|reducer| reducer.name().to_owned()).collect();
    RecordedResults {
        scorers: scorers.collect(),
        reducers: reducers.map(named).or_else(|| run.recorded.reducers.clone()),
        figures: Vec::new(),
    }
}

/// Accuracy and its standard error: of the whole score, of each key of a map, and of nothing for lists, which have
/// no number.
fn usual(samples: &Samples, scorer: &str) -> Vec<RecordedMetric> {
    let metric = |name: &str| RecordedMetric::Named { name: name.to_owned(), params: Value::Null };
    let pair = vec![metric("accuracy"), metric("stderr")];
    let outcomes = samples.records().flat_map(|record| record.scores);
    let mut scored = outcomes.filter(|(name, _)| **name == *scorer).filter_map(|(_, outcome)| match outcome {
        Outcome::Scored(score) => Some(score.value),
        Outcome::Unscored { .. } => None,
    });
    match scored.next() {
        Some(Value::Map(_)) => vec![RecordedMetric::Keyed(vec![("*".to_owned(), pair)])],
        Some(Value::List(_)) => vec![RecordedMetric::Keyed(Vec::new())],
        _ => pair,
    }
}
