//! Loads the samples of a task, from a file or from the task itself, then names, shuffles and limits them.

mod choice_order;
mod python_random;
mod record_files;
mod sample_fields;
mod scenario_samples;

use crate::{FilePlace, ReadError, Source};
use calipers_core::{Dataset, DatasetOrigin, FileDataset, FileKind, SampleId, TaskSample, Value};
use python_random::PythonRandom;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;
use std::sync::Arc;

/// The samples of a dataset, in the order in which they are asked. Relative paths start at `base`.
///
/// Every sample has a name: its own, or its number in the file. Shuffling matches Python's `random` with the same seed,
/// as in Inspect; the limit applies after it.
pub fn load_dataset(dataset: &Dataset, base: &Path) -> Result<Vec<Arc<TaskSample>>, ReadError> {
    let (source, mut samples) = match &dataset.origin {
        DatasetOrigin::Samples(samples) => {
            let name = dataset.name.clone().unwrap_or_else(|| "the samples of the task".to_owned());
            let place = |place: usize| FilePlace::Path(format!("samples[{place}]"));
            let samples = samples.iter().enumerate().map(|(at, sample)| (place(at), sample.clone())).collect();
            (Source::bytes(name, *b""), samples)
        }
        DatasetOrigin::File(file) => {
            let source = Source::path(base.join(&file.path));
            let samples = read_file(&source, file)?;
            (source, samples)
        }
    };
    if samples.is_empty() {
        return Err(source.error("there are no samples in it").hint("an evaluation needs at least one"));
    }
    name(&source, &mut samples)?;
    if let Some(seed) = dataset.shuffle {
        PythonRandom::new(seed).shuffle(&mut samples);
    }
    if let Some(seed) = dataset.shuffle_choices {
        choice_order::shuffle(&source, &mut samples, seed)?;
    }
    samples.truncate(dataset.limit.unwrap_or(usize::MAX));
    Ok(samples.into_iter().map(|(_, sample)| Arc::new(sample)).collect())
}

/// A sample with its place in the file.
type PlacedSample = (FilePlace, TaskSample);

fn read_file(source: &Source, file: &FileDataset) -> Result<Vec<PlacedSample>, ReadError> {
    let records = match file.kind {
        FileKind::Csv => record_files::csv(source, file.delimiter)?,
        FileKind::Json => record_files::json(source)?,
        FileKind::Parquet => record_files::parquet(source)?,
        FileKind::Scenarios => record_files::scenarios(source)?,
    };
    let mut samples = Vec::with_capacity(records.len());
    for (place, record) in records {
        let made = match &file.mapping {
            // Its message already has a hint.
            Some(mapping) => mapping.samples(&record).map_err(|error| source.error(error.to_string())),
            None => samples_of(&record, file).map_err(|wrong| source.error(wrong.what).hint(wrong.hint)),
        };
        let made = made.map_err(|error| error.at(place.clone()))?;
        samples.extend(made.into_iter().map(|sample| (place.clone(), sample)));
    }
    if file.auto_id {
        samples.iter_mut().zip(1..).for_each(|((_, sample), number)| sample.id = Some(SampleId::Int(number)));
    }
    Ok(samples)
}

/// What is wrong with a record, and what to do about it.
struct RecordProblem {
    what: String,
    hint: String,
}

impl RecordProblem {
    fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }
}

/// The samples that a record stands for.
fn samples_of(record: &Value, file: &FileDataset) -> Result<Vec<TaskSample>, RecordProblem> {
    let sample = match file.kind {
        FileKind::Scenarios => scenario_samples::sample(record),
        _ => sample_fields::sample(record, &file.fields),
    };
    Ok(vec![sample?])
}

/// Numbers samples that have no name, and refuses duplicate names. `1` and `"1"` are the same name, because logs store
/// names as text.
fn name(source: &Source, samples: &mut [PlacedSample]) -> Result<(), ReadError> {
    let mut first: HashMap<SampleId, FilePlace> = HashMap::with_capacity(samples.len());
    for ((place, sample), number) in samples.iter_mut().zip(1..) {
        let id = sample.id.get_or_insert(SampleId::Int(number)).clone();
        match first.entry(id) {
            Entry::Vacant(free) => {
                free.insert(place.clone());
            }
            Entry::Occupied(taken) => {
                let what = format!("two samples have the id `{}`: the other one is at {}", taken.key(), taken.get());
                return Err(source.error(what).at(place.clone()).hint("rename one, or number them all with `auto_id`"));
            }
        }
    }
    Ok(())
}
