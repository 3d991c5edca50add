//! The front door: every question about files begins with [`load()`].
//!
//! The format of a file is detected once; only the columns that the question needs are read, in parts, on all threads; and
//! scorers and conditions are applied here and nowhere else ([why](../../../docs/design/front-door.md)).

use crate::joined_runs::{self, JoinedSamples, TABLES};
use crate::{Needs, RunError, Selection};
use calipers_core::{Caveat, Completeness, Error, ErrorKind, MissingRule, RunIdentity, Samples, Shards, telling_names};
use calipers_io::{Format, RecordedResults, RecordedRun, Source};
use calipers_render::{RunNote, note_sentence};
use std::collections::{BTreeSet, HashMap};

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
/// memory. An error in a file says nothing about the files after it. Where the runs of several files may be one, all files
/// are read first, and each run comes as if it were in one file.
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
    let is_joined = selection.joins_files();
    let one_by_one = if is_joined { &[][..] } else { &selection.sources[..] };
    let joined = is_joined.then(|| load_joined(selection, needs)).into_iter().flatten();
    one_by_one.iter().map(|source| load_file(source, selection, needs)).chain(joined)
}

/// The runs of all files, each once; errors first.
fn load_joined(selection: &Selection, needs: &Needs) -> Vec<Result<LoadedFile, RunError>> {
    let (mut loaded, mut errors) = (Vec::new(), Vec::new());
    // A run that is asked for need not be in every file.
    let of_all = Selection { runs: Vec::new(), ..selection.clone() };
    let mut known: Vec<String> = Vec::new();
    for source in &selection.sources {
        match load_file(source, &of_all, needs) {
            Ok(mut file) => {
                known.extend(file.runs.iter().flat_map(run_names));
                file.runs.retain(|run| selection.runs.is_empty() || place_of_run(run, &selection.runs).is_some());
                if selection.runs.is_empty() || !file.runs.is_empty() {
                    loaded.push(file);
                }
            }
            Err(error) => errors.push(Err(error)),
        }
    }
    if loaded.is_empty() && errors.is_empty() && !selection.runs.is_empty() {
        return vec![Err(no_such_run(&selection.runs, &known).into())];
    }
    let mut joined = joined_runs::join(loaded, selection.attempts_from);
    joined.sort_by_key(|joined| {
        let run = joined.file.as_ref().ok().and_then(|file| file.runs.first());
        run.and_then(|run| place_of_run(run, &selection.runs))
    });
    // What the files say about one attempt is compared in all they hold.
    if joined.iter().any(|run| run.repeats > 0) && !needs.is_everything() {
        return load_joined(selection, &needs.of_all_columns());
    }
    errors.extend(joined.into_iter().map(|run| run.file));
    errors
}

fn load_file(source: &Source, selection: &Selection, needs: &Needs) -> Result<LoadedFile, RunError> {
    let source = with_columns(source, selection);
    // Of several files, one without anything in it is a part that was lost.
    if needs.allows_empty_files && selection.sources.len() == 1 && source.is_blank()? {
        return Ok(LoadedFile { source, runs: Vec::new() });
    }
    let format = calipers_io::choose(&source, selection.format.as_deref())?;
    load_as(&source, format, selection, needs)
}

/// A source that knows what the selection says about its columns.
pub(crate) fn with_columns(source: &Source, selection: &Selection) -> Source {
    let source = source.clone().with_conditions(selection.filter.iter().map(|(key, _)| key.clone()));
    if selection.columns.is_empty() { source } else { source.with_columns(selection.columns.clone()) }
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
        && *columns != needs.columns
        && !runs.iter().all(|run| has_scores(&run.samples))
    {
        runs = calipers_io::read_as(source, format, columns)?;
    }
    for run in runs.iter_mut().filter(|_| needs.compares_predictions) {
        let is_compared = run.samples.iter_mut().map(Samples::compare_predictions).fold(false, |any, one| any | one);
        if is_compared {
            run.notes.push(note_sentence(RunNote::PredictionsCompared));
            let near: usize = run.samples.iter().map(Samples::count_near_predictions).sum();
            if near > 0 {
                run.notes.push(note_sentence(RunNote::NearPredictions(near)));
            }
        }
    }
    choose_runs(&mut runs, &selection.runs).map_err(RunError::in_source(&source.name))?;
    let (mut chosen, mut refused) = (Vec::new(), None);
    let is_only = runs.len() == 1;
    for mut run in runs {
        match select(std::mem::take(&mut run.samples), selection) {
            Ok(samples) => {
                run.samples = samples;
                chosen.push(run);
            }
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    match refused {
        // A condition that only some of the runs meet chooses among them.
        Some(error) if is_only || chosen.is_empty() => Err(RunError::in_source(&source.name)(error)),
        _ => Ok(LoadedFile { source: source.clone(), runs: chosen }),
    }
}

/// Leaves out the runs that are not asked for, and puts the others in the order in which they are.
fn choose_runs(runs: &mut Vec<RecordedRun<Shards>>, asked: &[String]) -> Result<(), Error> {
    if asked.is_empty() {
        return Ok(());
    }
    if !runs.iter().any(|run| place_of_run(run, asked).is_some()) {
        return Err(no_such_run(asked, &runs.iter().flat_map(run_names).collect::<Vec<_>>()));
    }
    runs.retain(|run| place_of_run(run, asked).is_some());
    runs.sort_by_key(|run| place_of_run(run, asked));
    Ok(())
}

/// The place of a run among those that are asked for.
fn place_of_run(run: &RecordedRun<Shards>, asked: &[String]) -> Option<usize> {
    asked.iter().position(|name| run_names(run).any(|known| known == *name))
}

/// The error for a run that is asked for and that nothing has, beside those that there are.
fn no_such_run(asked: &[String], known: &[String]) -> Error {
    const LISTED_MAX: usize = 8;
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let meant = calipers_core::nearest(&asked[0], &known).map(|near| format!("did you mean `{near}`? "));
    let mut listed: Vec<&str> = Vec::new();
    known.iter().for_each(|name| {
        if listed.len() < LISTED_MAX && !listed.contains(name) {
            listed.push(name);
        }
    });
    let hint = format!("{}the runs are {}", meant.unwrap_or_default(), listed.join(", "));
    Error::argument(format!("there is no run `{}`", asked[0]), hint)
}

/// What a run may be called within its file: its name, its model, its task; the file only if it has none of them.
fn run_names(run: &RecordedRun<Shards>) -> impl Iterator<Item = String> {
    let named: Vec<String> = [&run.name, &run.model, &run.task].into_iter().flatten().cloned().collect();
    let source = named.is_empty().then(|| run.source.clone());
    named.into_iter().chain(source)
}

/// What may tell a run from others.
pub(crate) fn identity(run: &RecordedRun<Shards>) -> RunIdentity<'_> {
    RunIdentity {
        name: run.name.as_deref(),
        model: run.model.as_deref(),
        task: run.task.as_deref(),
        source: &run.source,
    }
}

/// The scorers and samples that are asked for.
fn select(mut samples: Shards, selection: &Selection) -> Result<Shards, Error> {
    // A file of figures has no scorers, but its figures have their names.
    if !selection.scorers.is_empty() && samples.attempts() > 0 {
        let known: BTreeSet<String> = samples.iter().flat_map(Samples::scorers).map(ToString::to_string).collect();
        let wanted = selection.scorers.iter().filter(|scorer| !selection.is_part || known.contains(*scorer));
        samples.keep_scorers(&wanted.cloned().collect::<Vec<_>>())?;
    }
    for (key, value) in &selection.filter {
        samples = match samples.keep_where(key, value) {
            Err(_) if selection.is_part => Shards::default(),
            kept => kept?,
        };
    }
    if let Some(labels) = &selection.human_labels {
        samples.iter_mut().try_for_each(|part| labels.join(part))?;
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
    /// The reducers that each file records; none where it does not say.
    pub reducers: Vec<(String, Option<Vec<String>>)>,
    /// What the logs announce beside what was read, for those that are not whole.
    pub incomplete: Vec<Completeness>,
    /// What was not read, and why.
    pub notes: Vec<String>,
    /// What was read as what: a name of ours and the column, where they differ.
    pub columns: Vec<(String, String)>,
    /// How many deliveries of attempts another file had made already.
    pub repeats: usize,
}

impl LoadedRun {
    /// Reads all files of a selection as one run with this name.
    ///
    /// Where an attempt was delivered twice, everything is read after all: two deliveries that differ in a column that no
    /// metric reads are still an error.
    pub fn load(name: &str, selection: &Selection, needs: &Needs) -> Result<Self, RunError> {
        let read = |needs: &Needs| -> Result<Self, RunError> {
            Self::merge(name, load(selection, needs).collect::<Result<Vec<_>, _>>()?)
        };
        let run = read(needs)?;
        if needs.is_everything() || run.repeats == 0 { Ok(run) } else { read(&needs.of_all_columns()) }
    }

    /// True when samples are named by their lines or places, which are those of the same samples only in files of one order.
    pub(crate) fn is_by_line(&self) -> bool {
        self.columns.iter().any(|(name, path)| name == "id" && matches!(path.as_str(), "@line" | "@index"))
    }

    /// Reads the runs in the files of a selection, each apart, by their names; and the files.
    pub fn load_split(selection: &Selection, needs: &Needs) -> Result<(Vec<Self>, Vec<LoadedFile>), RunError> {
        let files = load(selection, needs).collect::<Result<Vec<_>, _>>()?;
        let runs = Self::split(files.iter().cloned())?;
        let is_enough = needs.is_everything() || runs.iter().all(|run| run.repeats == 0);
        if is_enough { Ok((runs, files)) } else { Self::load_split(selection, &needs.of_all_columns()) }
    }

    /// Files that were loaded, as one run with this name.
    ///
    /// Fails if they hold several runs that something tells apart, such as two models: they are no attempts of one.
    pub fn merge(name: &str, files: impl IntoIterator<Item = LoadedFile>) -> Result<Self, RunError> {
        let files: Vec<LoadedFile> = files.into_iter().collect();
        let names: BTreeSet<&String> =
            files.iter().flat_map(|file| &file.runs).filter_map(|run| run.name.as_ref()).collect();
        if names.len() > 1 {
            let runs = names.into_iter().cloned().collect();
            return Err(Error::from(ErrorKind::SeveralRuns { runs }).into());
        }
        Self::merge_all(name, files)
    }

    /// The runs in files that were loaded, each apart. Parts of a run that files name are one; the others are called by what
    /// tells them apart: model, task or the differing part of their paths.
    pub fn split(files: impl IntoIterator<Item = LoadedFile>) -> Result<Vec<Self>, RunError> {
        let mut runs: Vec<Vec<LoadedFile>> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for file in files {
            for run in file.runs {
                let name = run.name.clone();
                let part = LoadedFile { source: file.source.clone(), runs: vec![run] };
                let fresh = runs.len();
                let place = name.map_or(fresh, |name| *places.entry(name).or_insert(fresh));
                if place == runs.len() {
                    runs.push(Vec::new());
                }
                runs[place].push(part);
            }
        }
        let names = telling_names(&runs.iter().map(|parts| identity(&parts[0].runs[0])).collect::<Vec<_>>());
        names.iter().zip(runs).map(|(name, parts)| Self::merge_all(name, parts)).collect()
    }

    /// Fails if two files say different things about one attempt.
    fn merge_all(name: &str, files: impl IntoIterator<Item = LoadedFile>) -> Result<Self, RunError> {
        let mut files: Vec<LoadedFile> = files.into_iter().collect();
        let runs = files.iter().flat_map(|file| file.runs.iter().map(|run| (file.source.name.as_str(), run)));
        joined_runs::check_tried(runs)?;
        joined_runs::name_by_task(files.iter_mut().flat_map(|file| &mut file.runs).collect());
        let are_tables = files.iter().flat_map(|file| &file.runs).all(|run| TABLES.contains(&run.format));
        let mut all = Self { name: name.to_owned(), ..Self::default() };
        let mut joined = JoinedSamples::default();
        let (mut tasks, mut models) = (Vec::new(), Vec::new());
        for file in files {
            for run in &file.runs {
                all.reducers.push((file.source.name.clone(), run.recorded.reducers.clone()));
            }
            for run in file.runs {
                all.incomplete.extend(run.completeness.filter(|completeness| !completeness.is_whole()));
                joined.append(&file.source.name, run.samples.into_whole());
                if all.recorded.scorers.is_empty() && all.recorded.reducers.is_none() {
                    all.recorded = run.recorded;
                }
                tasks.push(run.task);
                models.push(run.model);
                all.notes.extend(run.notes);
                for pair in run.columns {
                    if !all.columns.contains(&pair) {
                        all.columns.push(pair);
                    }
                }
            }
            all.files.push(file.source.name);
        }
        all.repeats = joined.repeats();
        all.notes.extend(joined.notes(are_tables.then_some(&all.columns[..])));
        all.samples = joined.finish()?;
        // What one file lacks another may hold, such as a run that was made again.
        let known = &all.samples;
        let incomplete = std::mem::take(&mut all.incomplete).into_iter().map(|one| one.without(known));
        all.incomplete = incomplete.filter(|one| !one.is_whole()).collect();
        let never_ran: BTreeSet<_> = all.incomplete.iter().flat_map(|one| one.never_ran.iter().cloned()).collect();
        // Nothing at all has its own answer.
        if !all.samples.is_empty() {
            all.samples.add_never_ran(&never_ran.into_iter().collect::<Vec<_>>());
        }
        all.task = only(tasks);
        all.model = only(models);
        Ok(all)
    }
}

impl LoadedRun {
    /// What to know about the run before any figure; its name is said where there are several runs.
    #[must_use]
    pub fn caveats(&self, is_one_of_several: bool) -> Vec<Caveat> {
        let name = is_one_of_several.then_some(self.name.as_str());
        let incomplete = self.incomplete.iter().filter_map(|one| one.caveat(name));
        incomplete.chain(self.samples.limits_caveat(name)).chain(self.samples.cached_caveat(name)).collect()
    }

    /// The run with what is missing counted by this rule, and what to know about that.
    pub(crate) fn with_missing(&self, rule: MissingRule, overrides_policy: bool) -> (Self, Option<Caveat>) {
        let ruled = self.samples.with_missing(rule);
        let caveat = ruled.caveat(overrides_policy);
        (Self { samples: ruled.samples, ..self.clone() }, caveat)
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
