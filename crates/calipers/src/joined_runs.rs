//! Runs that are spread over files: by their names, and by what their attempts are spread over.

use crate::{AttemptsFrom, LoadedFile, RunError};
use calipers_core::{Error, SampleId, Samples, Shards};
use calipers_io::RecordedRun;
use calipers_render::{RunNote, first_and_more, note_sentence};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

/// The formats whose columns can be named.
pub(crate) const TABLES: [&str; 4] = ["csv", "native", "parquet", "arrow"];

/// The samples of several files as those of one run, with the file that each attempt is from.
#[derive(Default)]
pub(crate) struct JoinedSamples {
    samples: Samples,
    /// The files, and where the rows of each end.
    files: Vec<(String, usize)>,
    /// How many samples of files were in another one already, although no file says which attempt it has.
    shared: usize,
}

impl JoinedSamples {
    /// Adds the samples of a file as a part of the run: an attempt that is known already is delivered again.
    pub(crate) fn append(&mut self, file: &str, samples: Samples) {
        let (known, added, gives_epochs) = (self.samples.len(), samples.len(), samples.gives_epochs());
        self.samples.append(samples);
        // Several runs of one file were told apart on purpose.
        if !gives_epochs && self.files.last().is_some_and(|(last, _)| last != file) {
            self.shared += known + added - self.samples.len();
        }
        self.files.push((file.to_owned(), self.samples.deliveries()));
    }

    /// Adds the samples of a file as further attempts.
    fn append_attempts(&mut self, file: &str, samples: Samples) {
        self.samples.append_attempts(samples);
        self.files.push((file.to_owned(), self.samples.deliveries()));
    }

    /// How many deliveries of attempts another file had made already.
    pub(crate) fn repeats(&self) -> usize {
        self.samples.deliveries() - self.samples.attempts()
    }

    /// What to know about them, as they were read with these columns; none where they are no table.
    pub(crate) fn notes(&self, columns: Option<&[(String, String)]>) -> Vec<String> {
        let mut notes = Vec::new();
        let repeats = self.repeats();
        if repeats > 0 {
            notes.push(note_sentence(RunNote::RepeatedAttempts(repeats)));
        }
        if self.shared > 0 {
            let mut files: Vec<&str> = self.files.iter().map(|(file, _)| file.as_str()).collect();
            files.dedup();
            let id = |columns: &[(String, String)]| {
                let column = columns.iter().find(|(name, _)| name == "id").map_or("id", |(_, column)| column);
                telling_part(&files).map(|part| format!("{part}+{column}"))
            };
            let (samples, id) = (self.shared, columns.and_then(id));
            notes.push(note_sentence(RunNote::SharedSamples { samples, files: files.len(), id: id.as_deref() }));
        }
        notes
    }

    /// The samples with each attempt in one row. Fails if two files say different things about one attempt.
    pub(crate) fn finish(self) -> Result<Samples, RunError> {
        let file = |row: usize| {
            let place = self.files.partition_point(|(_, end)| *end <= row);
            self.files.get(place).map_or("", |(file, _)| file)
        };
        match self.samples.contradiction() {
            None => Ok(self.samples.put_together()),
            Some((id, epoch, difference)) => Err(difference.map_places(file).to_error(&id, epoch).into()),
        }
    }
}

/// The part of their paths that tells all of these files apart, as columns name it.
fn telling_part(files: &[&str]) -> Option<String> {
    let are_told_apart = |part: &dyn Fn(&str) -> Option<String>| {
        let parts: Option<HashSet<String>> = files.iter().map(|file| part(file)).collect();
        parts.is_some_and(|parts| parts.len() == files.len())
    };
    let stem = |file: &str| Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    if are_told_apart(&stem) {
        return Some("@stem".to_owned());
    }
    let part = |place: usize| move |file: &str| file.split(['/', '\\']).nth(place).map(str::to_owned);
    let depth = files.first()?.split(['/', '\\']).count();
    (0..depth).find(|&place| are_told_apart(&part(place))).map(|place| format!("@path.{}", place + 1))
}

/// A name that samples of two tasks have, and one of the tasks.
fn shared_by_tasks(runs: &[&mut RecordedRun<Shards>]) -> Option<(SampleId, String)> {
    let mut task_of: HashMap<SampleId, &String> = HashMap::new();
    let named = runs.iter().filter_map(|run| Some((run.task.as_ref()?, run)));
    let mut ids = named.flat_map(|(task, run)| run.samples.iter().flat_map(Samples::ids).map(move |id| (id, task)));
    let shared = ids.find(|(id, task)| task_of.insert(id.clone(), task).is_some_and(|other| other != *task));
    shared.map(|(id, task)| (id, task.clone()))
}

/// Names the samples of runs that are to be one by their tasks too, if two tasks have a sample of the same name: question 1 of one
/// task is no attempt at question 1 of another.
pub(crate) fn name_by_task(mut runs: Vec<&mut RecordedRun<Shards>>) {
    let tasks: BTreeSet<String> = runs.iter().filter_map(|run| run.task.clone()).collect();
    if tasks.len() < 2 {
        return;
    }
    let Some((id, task)) = shared_by_tasks(&runs) else { return };
    for run in &mut runs {
        let Some(task) = &run.task else { continue };
        run.samples.iter_mut().for_each(|samples| samples.name_within(task));
        if let Some(completeness) = &mut run.completeness {
            completeness.never_ran.iter_mut().for_each(|(id, _)| *id = id.within(task));
        }
    }
    let tasks: Vec<&str> = tasks.iter().map(String::as_str).collect();
    let note = note_sentence(RunNote::NamedByTask { tasks: &tasks, id: &id, example: &id.within(&task) });
    if let Some(first) = runs.first_mut() {
        first.notes.push(note);
    }
}

/// The same for the runs of files, of which those with the same name will be one.
pub(crate) fn name_by_task_in(files: &mut [LoadedFile], is_joined: impl Fn(&RecordedRun<Shards>) -> bool) {
    let mut by_name: HashMap<Option<String>, Vec<&mut RecordedRun<Shards>>> = HashMap::new();
    for run in files.iter_mut().flat_map(|file| &mut file.runs).filter(|run| is_joined(run)) {
        by_name.entry(run.name.clone()).or_default().push(run);
    }
    by_name.into_values().for_each(name_by_task);
}

/// What was tried in a run, the file that it is from, and the samples.
struct TriedRun<'r> {
    file: &'r str,
    tried: Vec<(&'r str, &'r str)>,
    ids: HashSet<SampleId>,
}

/// An error if files that would be one run have attempts at the same samples by different models: they are no attempts of one.
pub(crate) fn check_tried<'r>(files: impl Iterator<Item = (&'r str, &'r RecordedRun<Shards>)>) -> Result<(), Error> {
    let files: Vec<(&str, &RecordedRun<Shards>)> = files.collect();
    if files.len() < 2 {
        return Ok(());
    }
    let mut known: Vec<TriedRun<'r>> = Vec::new();
    for (file, run) in files {
        let model = run.model.iter().map(|model| ("model", model.as_str()));
        let tried: Vec<(&str, &str)> =
            run.tried.iter().map(|(name, value)| (name.as_str(), value.as_str())).chain(model).collect();
        let ids = || run.samples.iter().flat_map(Samples::ids);
        for other in &known {
            let value_of = |name: &str| other.tried.iter().find(|(same, _)| *same == name).map(|(_, value)| *value);
            let differs = |(name, value): &&(&str, &str)| value_of(name).is_some_and(|other| other != *value);
            let Some((name, value)) = tried.iter().find(differs) else { continue };
            let Some(id) = ids().find(|id| other.ids.contains(id)) else { continue };
            let (first, other_value) = (other.file, value_of(name).unwrap_or_default());
            let what = format!(
                "{first} and {file} have attempts at the same samples with two values of `{name}`: `{other_value}` and `{value}`"
            );
            return Err(Error::argument(what, "look at one of them at a time, or compare them").at_sample(&id));
        }
        if tried.is_empty() {
            continue;
        }
        match known.iter_mut().find(|known| known.tried == tried) {
            Some(known) => known.ids.extend(ids()),
            None => known.push(TriedRun { file, tried, ids: ids().collect() }),
        }
    }
    Ok(())
}

/// A run of several files.
pub(crate) struct FileOfRun {
    pub(crate) file: Result<LoadedFile, RunError>,
    /// How many deliveries of attempts another file had made already.
    pub(crate) repeats: usize,
}

/// A run that is being put together.
struct JoinedRun {
    file: LoadedFile,
    run: RecordedRun<Shards>,
    samples: JoinedSamples,
    files: Vec<String>,
    /// The file or folder whose attempts were added last.
    unit: String,
    /// The samples of all files, of which several may have the same.
    delivered: usize,
    /// True when attempts of several files or folders were added.
    has_units: bool,
}

/// An error if runs that would be joined are of different models.
fn check_joined(files: &[LoadedFile], attempts_from: Option<AttemptsFrom>) -> Result<(), Error> {
    let mut by_name: HashMap<Option<&String>, Vec<(&str, &RecordedRun<Shards>)>> = HashMap::new();
    for file in files {
        for run in file.runs.iter().filter(|run| run.name.is_some() || attempts_from.is_some()) {
            by_name.entry(run.name.as_ref()).or_default().push((&file.source.name, run));
        }
    }
    by_name.into_values().try_for_each(|runs| check_tried(runs.into_iter()))
}

/// The runs of several files, those with the same name as one. Without attempts that are spread over files, they are joined
/// as the parts of a run: an attempt that is in two files is read twice.
pub(crate) fn join(mut files: Vec<LoadedFile>, attempts_from: Option<AttemptsFrom>) -> Vec<FileOfRun> {
    if let Err(error) = check_joined(&files, attempts_from) {
        return vec![FileOfRun { file: Err(error.into()), repeats: 0 }];
    }
    name_by_task_in(&mut files, |run| run.name.is_some() || attempts_from.is_some());
    let mut joined: Vec<JoinedRun> = Vec::new();
    let mut places = HashMap::new();
    for file in files {
        let unit = match attempts_from {
            Some(AttemptsFrom::Folders) => {
                let folder = Path::new(&file.source.name).parent();
                folder.map(|folder| folder.display().to_string()).unwrap_or_default()
            }
            _ => file.source.name.clone(),
        };
        let (source, runs) = (file.source, file.runs);
        for mut run in runs {
            let samples = std::mem::take(&mut run.samples).into_whole();
            // Attempts of one run need no names; runs without a name stay apart otherwise.
            let is_joined = run.name.is_some() || attempts_from.is_some();
            match places.get(&run.name).filter(|_| is_joined).map(|&place: &usize| &mut joined[place]) {
                Some(known) => {
                    known.delivered += samples.len();
                    if attempts_from.is_some() && known.unit != unit {
                        known.has_units = true;
                        known.samples.append_attempts(&source.name, samples);
                    } else {
                        known.samples.append(&source.name, samples);
                        if attempts_from.is_some() {
                            // What the files of a folder share with those of others are attempts, as it was said.
                            known.samples.shared = 0;
                        }
                    }
                    known.unit.clone_from(&unit);
                    if known.run.task != run.task {
                        known.run.task = None;
                    }
                    // Several runs of one file may be parts of a run.
                    if known.files.last() != Some(&source.name) {
                        known.files.push(source.name.clone());
                    }
                    known.run.notes.append(&mut run.notes);
                }
                None => {
                    places.insert(run.name.clone(), joined.len());
                    let mut first = JoinedSamples::default();
                    let delivered = samples.len();
                    first.append(&source.name, samples);
                    joined.push(JoinedRun {
                        file: LoadedFile { source: source.clone(), runs: Vec::new() },
                        samples: first,
                        files: vec![source.name.clone()],
                        unit: unit.clone(),
                        delivered,
                        has_units: false,
                        run,
                    });
                }
            }
        }
    }
    joined.into_iter().map(JoinedRun::finish).collect()
}

impl JoinedRun {
    fn finish(mut self) -> FileOfRun {
        let repeats = self.samples.repeats();
        let mut known = HashSet::new();
        self.run.notes.retain(|note| known.insert(note.clone()));
        let is_table = TABLES.contains(&self.run.format);
        self.run.notes.extend(self.samples.notes(is_table.then_some(&self.run.columns[..])));
        match self.samples.finish() {
            Ok(samples) => {
                // Attempts at one sample need one name for it: `1` is not `1.0`, and `q1` not `Q1`.
                if self.has_units && samples.len() == self.delivered {
                    self.run.notes.push(note_sentence(RunNote::NothingShared(self.files.len())));
                }
                self.run.samples = samples.into();
            }
            Err(error) => return FileOfRun { file: Err(error), repeats },
        }
        if self.files.len() > 1 {
            let names: Vec<&str> = self.files.iter().map(String::as_str).collect();
            self.run.source = first_and_more(&names);
        }
        self.file.runs.push(self.run);
        FileOfRun { file: Ok(self.file), repeats }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use calipers_io::Source;

    fn file(path: &str, epoch: u32, score: f64) -> LoadedFile {
        let mut samples = Samples::new();
        samples.push_epoch("a", epoch).score("judge", score);
        let source = Source::bytes(path, *b"");
        LoadedFile { source, runs: vec![RecordedRun { samples: samples.into(), ..RecordedRun::default() }] }
    }

    fn attempts(files: Vec<LoadedFile>, from: Option<AttemptsFrom>) -> Vec<usize> {
        let run = |run: FileOfRun| run.file.expect("no two say different things").runs[0].samples.attempts();
        join(files, from).into_iter().map(run).collect()
    }

    #[test]
    fn each_file_or_folder_is_an_attempt() {
        let files = || vec![file("x/1.json", 1, 1.0), file("x/2.json", 2, 0.0), file("y/1.json", 1, 0.0)];
        assert_eq!(attempts(files(), Some(AttemptsFrom::Files)), [3]);
        let folders = vec![file("x/1.json", 1, 1.0), file("x/2.json", 1, 1.0), file("y/1.json", 1, 0.0)];
        assert_eq!(attempts(folders, Some(AttemptsFrom::Folders)), [2]);
        assert_eq!(attempts(files(), None), [1, 1, 1]);
    }
}
