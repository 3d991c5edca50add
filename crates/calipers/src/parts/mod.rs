//! Runs that are measured in parts: each machine folds its share of the samples, and the parts are merged.
//!
//! A part holds the states of metrics, which give a report of scores, or the attempts with the columns that another question
//! needs. Either way the answer has the bits of one machine, for any way of cutting the run by sample, if all attempts of a
//! sample are in one part ([why, and what a part proves](../../../docs/design/parts.md)).

mod part_fit;
mod part_scores;

pub use calipers_io::{Part, PartInput, PartKind, PartPlace};
pub use part_fit::Parts;
pub use part_scores::fold_scores;

use crate::joined_runs::{JoinedSamples, TABLES, name_by_task_in};
use crate::load::load;
use crate::{Needs, RunError, Selection};
use calipers_core::{Error, SampleId, Samples, Shards, StateWriter};
use calipers_io::{PartHeader, RecordedRun, SampleEvidence};
use calipers_render::first_and_more;
use std::collections::BTreeSet;

/// What a part is, besides what the selection says.
#[derive(Clone, Debug)]
pub struct FoldOptions {
    /// Which share of the run it is.
    pub place: PartPlace,
    /// True when ids ascend from part to part: the first and the last id then show which samples it holds.
    pub ascending: bool,
    /// The options of the question, as words of a command line, for those who merge.
    pub words: Vec<String>,
    /// What the question depends on that is not in the selection, such as the digests of scripts, by name.
    pub depends_on: Vec<(String, String)>,
}

impl Default for FoldOptions {
    fn default() -> Self {
        Self { place: PartPlace::WHOLE, ascending: false, words: Vec::new(), depends_on: Vec::new() }
    }
}

/// A part with the attempts in the files of a selection, with the columns that are needed. It holds whole attempts, so that what is
/// asked of all parts together can be any question that reads no other column.
///
/// ```
/// use calipers::io::Source;
/// use calipers::parts::{FoldOptions, PartPlace, Parts, fold_rows};
/// use calipers::{Needs, Selection};
///
/// let part = |number: u32| {
///     let line = format!(r#"{{"id": {number}, "score": "C"}}"#);
///     let selection = Selection::of([Source::bytes("part.jsonl", line.as_bytes())]);
///     let place = PartPlace { number, of: 2, is_bucket: false };
///     fold_rows(&selection, &Needs::everything(), &FoldOptions { place, ..FoldOptions::default() })
/// };
/// let parts = vec![("b".to_owned(), part(2)?), ("a".to_owned(), part(1)?)];
/// assert_eq!(Parts::new(parts)?.into_runs()?[0].samples.len(), 2);
/// # Ok::<(), calipers::RunError>(())
/// ```
pub fn fold_rows(selection: &Selection, needs: &Needs, options: &FoldOptions) -> Result<Part, RunError> {
    let needs = needs.clone().for_all_rows();
    let share = Share::load(selection, &needs, options)?;
    let runs: Vec<RecordedRun> = share.runs.into_iter().map(|run| run.map_samples(Shards::into_whole)).collect();
    let mut out = StateWriter::new();
    out.put(&runs);
    let kind = PartKind::Rows { columns: needs.columns };
    Ok(Part {
        header: PartHeader {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            kind,
            plan: options.depends_on.clone(),
            words: options.words.clone(),
            place: options.place,
            inputs: share.inputs,
            left_out: share.left_out,
            samples: share.samples,
        },
        payload: out.finish(),
    })
}

/// What a machine reads as its share.
struct Share {
    /// The runs by name; what has no name is one run.
    runs: Vec<RecordedRun<Shards>>,
    inputs: Vec<PartInput>,
    /// Attempts that belong to other parts.
    left_out: u64,
    samples: SampleEvidence,
}

impl Share {
    fn load(selection: &Selection, needs: &Needs, options: &FoldOptions) -> Result<Self, RunError> {
        let selection = Selection { is_part: true, ..selection.clone() };
        let inputs = selection.sources.iter().map(PartInput::of).collect::<Result<Vec<_>, _>>()?;
        let mut needs = Needs { allows_empty_files: true, ..needs.clone() };
        let runs = loop {
            let (runs, repeats) = join_runs(&selection, &needs)?;
            // What the files say about one attempt is compared in all they hold.
            if repeats == 0 || needs.is_everything() {
                break runs;
            }
            needs = Needs::everything();
        };
        let mut share = Self { runs, inputs, left_out: 0, samples: SampleEvidence::Empty };
        if options.place.is_bucket {
            share.keep_bucket(options.place);
        }
        share.samples = share.evidence(options);
        Ok(share)
    }

    /// Which samples it holds.
    fn evidence(&self, options: &FoldOptions) -> SampleEvidence {
        let is_named = self.runs.iter().any(|run| run.name.is_some());
        let mut ids = self.runs.iter().flat_map(|run| {
            let never_ran = run.completeness.iter().flat_map(|one| one.never_ran.iter().map(|(id, _)| id.clone()));
            let name = run.name.as_deref().unwrap_or_default();
            // Two runs may have samples of the same names.
            let ids = run.samples.iter().flat_map(Samples::ids).chain(never_ran);
            ids.map(move |id| if is_named { format!("{name}\0{id}").into() } else { id })
        });
        match options.place.is_bucket {
            true if ids.next().is_none() => SampleEvidence::Empty,
            true => SampleEvidence::Bucket,
            false => SampleEvidence::of(ids, options.ascending && !is_named),
        }
    }

    /// Leaves out the samples of other buckets.
    fn keep_bucket(&mut self, place: PartPlace) {
        for run in &mut self.runs {
            let (before, holds) = (run.samples.attempts(), |id: &SampleId| place.holds(id.digest()));
            run.samples = Shards::new(std::mem::take(&mut run.samples).into_iter().map(|part| part.of_samples(holds)));
            self.left_out += (before - run.samples.attempts()) as u64;
            let samples = &run.samples;
            run.completeness = run.completeness.take().map(|one| one.share(&samples.clone().into_whole(), holds));
        }
    }
}

/// The runs of a selection, those of one name as one run, and how many deliveries of attempts another file had made already.
fn join_runs(selection: &Selection, needs: &Needs) -> Result<(Vec<RecordedRun<Shards>>, usize), RunError> {
    let mut joined: Vec<(RunInParts, Vec<(String, Shards)>)> = Vec::new();
    let mut files = load(selection, needs).collect::<Result<Vec<_>, _>>()?;
    name_by_task_in(&mut files, |_| true);
    for file in files {
        for run in file.runs {
            let (mut run, samples) = run.split();
            // What a log says of all its samples is not said of some.
            if !selection.filter.is_empty() {
                run.recorded.figures.clear();
            }
            let samples = (file.source.name.clone(), samples);
            match joined.iter_mut().find(|(known, _)| known.run.name == run.name) {
                Some((known, all)) => {
                    known.add(run)?;
                    all.push(samples);
                }
                None => joined.push((RunInParts::new(run), vec![samples])),
            }
        }
    }
    let (mut runs, mut repeats) = (Vec::new(), 0);
    for (run, mut files) in joined {
        let mut run = run.finish();
        // One file stays in the shards that it was read in.
        let samples = match (files.pop(), files.is_empty()) {
            (Some((_, only)), true) => only,
            (last, _) => {
                let mut all = JoinedSamples::default();
                files.into_iter().chain(last).for_each(|(file, samples)| all.append(&file, samples.into_whole()));
                repeats += all.repeats();
                let is_table = TABLES.contains(&run.format);
                run.notes.extend(all.notes(is_table.then_some(&run.columns[..])));
                let samples = all.finish()?;
                // What one file lacks another may hold.
                run.completeness = run.completeness.take().map(|one| one.without(&samples));
                samples.into()
            }
        };
        runs.push(run.map_samples(|()| samples));
    }
    Ok((runs, repeats))
}

/// The files of a selection by what was tried in them, such as a task or a model, with a name for each; nothing if a file holds several,
/// or if all say the same.
pub fn files_by_run(selection: &Selection, needs: &Needs) -> Result<Vec<(String, Vec<String>)>, RunError> {
    let selection = Selection { is_part: true, ..selection.clone() };
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for file in load(&selection, needs) {
        let file = file?;
        let tried = |run: RecordedRun<Shards>| {
            let (run, _) = run.split();
            let values: Vec<&str> = what_was_tried(&run).into_iter().map(|(_, value)| value).collect();
            values.join("-")
        };
        let source = file.source.name.clone();
        let names: BTreeSet<String> = file.runs.into_iter().map(tried).collect();
        let [name] = &names.into_iter().collect::<Vec<_>>()[..] else { return Ok(Vec::new()) };
        match groups.iter_mut().find(|(known, _)| known == name) {
            Some((_, files)) => files.push(source),
            None => groups.push((name.clone(), vec![source])),
        }
    }
    Ok(if groups.len() > 1 { groups } else { Vec::new() })
}

/// What a run says that it tried, by name.
fn what_was_tried(run: &RecordedRun<()>) -> Vec<(&str, &str)> {
    let named = [("task", &run.task), ("model", &run.model)];
    let named = named.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
    named.chain(run.tried.iter().map(|(name, value)| (name.as_str(), value.as_str()))).collect()
}

/// What files or parts say of one run, put together.
struct RunInParts {
    run: RecordedRun<()>,
    sources: Vec<String>,
    tasks: BTreeSet<Option<String>>,
    models: BTreeSet<Option<String>>,
    created: BTreeSet<Option<String>>,
    commits: BTreeSet<Option<String>>,
}

impl RunInParts {
    fn new(run: RecordedRun<()>) -> Self {
        let set = |value: &Option<String>| BTreeSet::from([value.clone()]);
        Self {
            sources: vec![run.source.clone()],
            tasks: set(&run.task),
            models: set(&run.model),
            created: set(&run.created),
            commits: set(&run.commit),
            run,
        }
    }

    /// Fails if the other part records other metrics or reducers: what the figures mean must not depend on the order of files.
    fn add(&mut self, other: RecordedRun<()>) -> Result<(), Error> {
        // A part without files has neither a name nor a format.
        if self.run.format.is_empty() {
            self.run.format = other.format;
            (self.tasks, self.models, self.created, self.commits) = Default::default();
            self.sources.clear();
        } else if other.format.is_empty() {
            return Ok(());
        }
        let is_silent = |run: &RecordedRun<()>| run.recorded.scorers.is_empty() && run.recorded.reducers.is_none();
        let recorded = |run: &RecordedRun<()>| (run.recorded.scorers.clone(), run.recorded.reducers.clone());
        if is_silent(&self.run) {
            self.run.recorded = other.recorded.clone();
        } else if !is_silent(&other) && recorded(&self.run) != recorded(&other) {
            let what = format!("{} and {} record different metrics or reducers", self.run.source, other.source);
            return Err(Error::argument(what, "name the metrics and the reducer, or fold these files apart"));
        }
        let known = what_was_tried(&self.run);
        for (name, value) in what_was_tried(&other) {
            if let Some((_, mine)) = known.iter().find(|(same, mine)| *same == name && *mine != value) {
                let (first, second) = (&self.run.source, &other.source);
                let what = format!("{first} has {name} `{mine}`, and {second} has `{value}`: these are different runs");
                return Err(Error::argument(what, "fold the files of each run apart"));
            }
        }
        if self.run.recorded.figures != other.recorded.figures {
            // Each log speaks of its own samples.
            self.run.recorded.figures.clear();
        }
        self.run.completeness = match (self.run.completeness.take(), other.completeness) {
            (Some(mine), Some(theirs)) => Some(mine.and(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        for note in other.notes {
            if !self.run.notes.contains(&note) {
                self.run.notes.push(note);
            }
        }
        for pair in other.columns {
            if !self.run.columns.contains(&pair) {
                self.run.columns.push(pair);
            }
        }
        self.tasks.insert(other.task);
        self.models.insert(other.model);
        self.created.insert(other.created);
        self.commits.insert(other.commit);
        if !self.sources.contains(&other.source) {
            self.sources.push(other.source);
        }
        Ok(())
    }

    fn finish(self) -> RecordedRun<()> {
        let only = |values: BTreeSet<Option<String>>| match values.len() {
            1 => values.into_iter().next().flatten(),
            _ => None,
        };
        let names: Vec<&str> = self.sources.iter().map(String::as_str).collect();
        RecordedRun {
            source: first_and_more(&names),
            task: only(self.tasks),
            model: only(self.models),
            created: only(self.created),
            commit: only(self.commits),
            ..self.run
        }
    }
}
