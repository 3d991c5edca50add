//! From one form of results to another.

use crate::score::{ScoreOptions, score_run};
use crate::{RunError, Selection};
use calipers_core::{Outcome, Reducer, Results, Samples, Value};
use calipers_io::{
    Contents, InspectLog, OutputFile, RecordedMetric, RecordedResults, RecordedRun, RecordedScorer, Source, Writer,
};
use calipers_render::{RunNote, note_sentence};

/// Writes a run that was read from a source, and returns notes on what was not read and what the form cannot hold.
///
/// An Inspect log that stays one is copied, transcripts and all. Everything else goes through samples. An Inspect log
/// that is made here gets results: the metrics that the file records, or else accuracy and its standard error,
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
) -> Result<Vec<String>, RunError> {
    let mut notes = std::mem::take(&mut run.notes);
    if writer.name() != "inspect" {
        let results = if writer.needs_results() { figures(&run, reducers, &mut notes) } else { None };
        notes.extend(writer.write(&Contents { run: &run, results: results.as_ref() }, out)?);
        if results.is_none() {
            notes.extend(lost_with_log(&run));
        }
        return Ok(notes);
    }
    if run.format == "inspect" && reducers.is_none() {
        notes.extend(InspectLog::open(source)?.write(out)?);
        return Ok(notes);
    }
    if run.format == "inspect" {
        notes.push(note_sentence(RunNote::TranscriptsLeftOut));
    }
    run.recorded = results_to_record(&run, reducers.as_deref());
    let results = match results(&run, reducers) {
        Ok(results) => Some(results),
        Err(error) => {
            let first = error.to_string();
            let why = first.lines().next().unwrap_or_default();
            notes.push(note_sentence(RunNote::LogWithoutResults(why)));
            None
        }
    };
    notes.extend(writer.write(&Contents { run: &run, results: results.as_ref() }, out)?);
    Ok(notes)
}

/// What a table of attempts does not hold, and what other figures come out without it.
fn lost_with_log(run: &RecordedRun) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(reducers) = run.recorded.reducers.as_ref().filter(|names| names.iter().any(|name| name != "mean"))
        && run.samples.attempts() > run.samples.len()
    {
        notes.push(note_sentence(RunNote::LostReducers(reducers)));
    }
    let mut metrics: Vec<String> = Vec::new();
    for metric in run.recorded.scorers.iter().flat_map(|scorer| &scorer.metrics) {
        let name = match metric {
            RecordedMetric::Named { name, .. } | RecordedMetric::Custom { name, .. } => name.clone(),
            RecordedMetric::Keyed(_) => continue,
        };
        if !matches!(name.as_str(), "accuracy" | "stderr") && !metrics.contains(&name) {
            metrics.push(name);
        }
    }
    if !metrics.is_empty() {
        notes.push(note_sentence(RunNote::LostMetrics(&metrics)));
    }
    notes
}

/// The results as `score` computes them; a note says why there are none.
fn figures(run: &RecordedRun, reducers: Option<Vec<Reducer>>, notes: &mut Vec<String>) -> Option<Results> {
    let selection = Selection { reducers, ..Selection::default() };
    match score_run(run.clone(), &selection, &ScoreOptions::default()) {
        Ok(report) => Some(report.results),
        Err(error) => {
            let first = error.to_string();
            let why = first.lines().next().unwrap_or_default();
            notes.push(note_sentence(RunNote::NoFigures(why)));
            None
        }
    }
}

/// The results as Inspect would compute them.
fn results(run: &RecordedRun, reducers: Option<Vec<Reducer>>) -> Result<Results, calipers_core::Error> {
    let selection = Selection { reducers, ..Selection::default() };
    let options = ScoreOptions { inspect: true, keep_reductions: true, ..ScoreOptions::default() };
    Ok(score_run(run.clone(), &selection, &options)?.results)
}

/// The scorers and reducers that a log names. A scorer without metrics gets those that fit its scores.
fn results_to_record(run: &RecordedRun, reducers: Option<&[Reducer]>) -> RecordedResults {
    let known = |scorer: &str| run.recorded.scorers.iter().find(|known| known.name == scorer);
    let scorers = run.samples.scorers().map(|name| {
        let metrics = known(name).map(|known| known.metrics.clone()).filter(|metrics| !metrics.is_empty());
        RecordedScorer {
            name: name.to_string(),
            metrics: metrics.unwrap_or_else(|| default_metrics(&run.samples, name)),
            options: known(name).and_then(|known| known.options.clone()),
        }
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
fn default_metrics(samples: &Samples, scorer: &str) -> Vec<RecordedMetric> {
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
