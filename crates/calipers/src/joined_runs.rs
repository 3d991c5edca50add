//! Runs that are spread over files: by their names, and by what their attempts are spread over.

use crate::{AttemptsFrom, LoadedFile, RunError};
use calipers_core::{Error, SampleId, Samples, Shards};
use calipers_io::RecordedRun;
use calipers_render::{RunNote, first_and_more, note_sentence};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// The samples of several files as those of one run, with the file that each attempt is from.
#[derive(Default)]
pub(crate) struct JoinedSamples {
    samples: Samples,
    /// The files, and where the rows of each end.
    files: Vec<(String, usize)>,
}

impl JoinedSamples {
    /// Adds the samples of a file as a part of the run: an attempt that is known already is delivered again.
    pub(crate) fn append(&mut self, file: &str, samples: Samples) {
        self.samples.append(samples);
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

    /// What to know about them.
    pub(crate) fn note(&self) -> Option<String> {
        let repeats = self.repeats();
        (repeats > 0).then(|| note_sentence(RunNote::RepeatedAttempts(repeats)))
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
pub(crate) fn join(files: Vec<LoadedFile>, attempts_from: Option<AttemptsFrom>) -> Vec<FileOfRun> {
    if let Err(error) = check_joined(&files, attempts_from) {
        return vec![FileOfRun { file: Err(error.into()), repeats: 0 }];
    }
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
                    }
                    known.unit.clone_from(&unit);
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
        self.run.notes.extend(self.samples.note());
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
