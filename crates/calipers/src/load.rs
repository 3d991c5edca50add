//! The front door: every question about files begins with [`load()`].
//!
//! The format of a file is detected once; only the columns that the question needs are read, in parts, on all threads; and
//! scorers and conditions are applied here and nowhere else ([why](../../../docs/design/front-door.md)).

use crate::{Needs, RunError, Selection};
use calipers_core::{Error, Samples, Shards};
use calipers_io::{Format, RecordedResults, RecordedRun, Source};

/// A file of a selection, with the runs that it holds.
#[derive(Clone, Debug)]
pub struct LoadedFile {
    /// The file.
    pub source: Source,
    /// Its runs; none if the file is empty and the question allows that.
    pub runs: Vec<RecordedRun<Shards>>,
}

/// Reads the files of a selection one after the other, with the columns that are needed.
///
/// A file is read when the iterator comes to it, so that a caller who measures one file before the next holds only one in
/// memory. An error in a file says nothing about the files after it.
///
/// ```
/// use calipers::io::Source;
/// use calipers::{Needs, Selection, load};
///
/// let lines = r#"{"id": 1, "score": "C", "prompt": "2 + 2?"}"#;
/// let selection = Selection::of([Source::bytes("results.jsonl", lines.as_bytes())]);
/// for file in load(&selection, &Needs::everything()) {
///     assert_eq!(file?.runs[0].samples.len(), 1);
/// }
/// # Ok::<(), calipers::RunError>(())
/// ```
pub fn load<'a>(
    selection: &'a Selection,
    needs: &'a Needs,
) -> impl Iterator<Item = Result<LoadedFile, RunError>> + use<'a> {
    selection.sources.iter().map(|source| load_file(source, selection, needs))
}

fn load_file(source: &Source, selection: &Selection, needs: &Needs) -> Result<LoadedFile, RunError> {
    if needs.allows_empty_files && source.is_blank()? {
        return Ok(LoadedFile { source: source.clone(), runs: Vec::new() });
    }
    load_as(source, calipers_io::choose(source, selection.format.as_deref())?, selection, needs)
}

/// Reads a file in a format that is known already.
pub(crate) fn load_as(
    source: &Source,
    format: &'static dyn Format,
    selection: &Selection,
    needs: &Needs,
) -> Result<LoadedFile, RunError> {
    let mut runs = calipers_io::read_as(source, format, &needs.columns)?;
    if let Some(columns) = &needs.columns_without_scores
        && !runs.iter().all(|run| has_scores(&run.samples))
    {
        runs = calipers_io::read_as(source, format, columns)?;
    }
    for run in &mut runs {
        let samples = std::mem::take(&mut run.samples);
        run.samples = select(samples, selection).map_err(RunError::in_source(&source.name))?;
    }
    Ok(LoadedFile { source: source.clone(), runs })
}

/// The scorers and samples that are asked for.
fn select(mut samples: Shards, selection: &Selection) -> Result<Shards, Error> {
    if !selection.scorers.is_empty() {
        samples.keep_scorers(&selection.scorers)?;
    }
    for (key, value) in &selection.filter {
        samples = samples.keep_where(key, value)?;
    }
    Ok(samples)
}

pub(crate) fn has_scores(samples: &Shards) -> bool {
    samples.iter().flat_map(Samples::scorers).next().is_some()
}

/// All runs of a selection as one: a suite may be in several files.
#[derive(Clone, Debug, Default)]
pub struct LoadedRun {
    /// What reports call it.
    pub name: String,
    /// The samples of all runs.
    pub samples: Samples,
    /// The files by name.
    pub files: Vec<String>,
    /// The task, if all runs have the same.
    pub task: Option<String>,
    /// The model, if all runs have the same.
    pub model: Option<String>,
    /// The scorers with their metrics and the reducers that the files record; those of the first run that has any.
    pub recorded: RecordedResults,
    /// What was not read, and why.
    pub notes: Vec<String>,
}

impl LoadedRun {
    /// Reads all files of a selection as one run with this name.
    ///
    /// Where an attempt was delivered twice, everything is read after all: two deliveries that differ in a column that no
    /// metric reads are still an error.
    pub fn load(name: &str, selection: &Selection, needs: &Needs) -> Result<Self, RunError> {
        let read = |needs: &Needs| -> Result<Self, RunError> {
            Ok(Self::merge(name, load(selection, needs).collect::<Result<Vec<_>, _>>()?))
        };
        let run = read(needs)?;
        if needs.is_everything() || !run.samples.has_repeats() { Ok(run) } else { read(&Needs::everything()) }
    }

    /// Files that were loaded, as one run with this name.
    #[must_use]
    pub fn merge(name: &str, files: impl IntoIterator<Item = LoadedFile>) -> Self {
        let mut all = Self { name: name.to_owned(), ..Self::default() };
        let (mut tasks, mut models) = (Vec::new(), Vec::new());
        for file in files {
            all.files.push(file.source.name);
            for run in file.runs {
                all.samples.append(run.samples.into_whole());
                if all.recorded.scorers.is_empty() && all.recorded.reducers.is_none() {
                    all.recorded = run.recorded;
                }
                tasks.push(run.task);
                models.push(run.model);
                all.notes.extend(run.notes);
            }
        }
        all.task = only(tasks);
        all.model = only(models);
        all
    }
}

/// The one value that all have.
fn only(mut values: Vec<Option<String>>) -> Option<String> {
    values.dedup();
    match &mut values[..] {
        [one] => one.take(),
        _ => None,
    }
}
