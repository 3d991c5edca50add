//! Runs that were put together from parts: what `calipers merge` writes.

use super::{Format, RecordedRun};
use crate::parts::MAGIC;
use crate::{Part, PartKind, Projection, ReadError, Shape, Source};
use calipers_core::{Shards, StateReader};

/// Attempts with the columns that a question needs, in one file.
pub(super) struct RunPart;

impl Format for RunPart {
    fn name(&self) -> &'static str {
        "part"
    }

    fn about(&self) -> &'static str {
        "A run that was folded in parts and merged, from `calipers merge`"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        shape.starts_with(&MAGIC)
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        Ok(open(source)?.0)
    }

    fn read_shards(&self, source: &Source, wanted: &Projection) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
        let (runs, columns) = open(source)?;
        // A column that was left out would look like one that no attempt has.
        if let Some(column) = columns.lacks(wanted) {
            let what = format!("the parts were folded without `{column}`, which this question reads");
            return Err(source.error(what).hint("fold the files again for this question, or for any question"));
        }
        Ok(runs.into_iter().map(|run| run.map_samples(Shards::from)).collect())
    }
}

/// The runs, and the columns that they were read with.
fn open(source: &Source) -> Result<(Vec<RecordedRun>, Projection), ReadError> {
    let part = Part::read(source)?;
    let place = part.header.place;
    let PartKind::Rows { columns } = part.header.kind else {
        let hint = "`calipers merge` prints the figures of parts like this one";
        return Err(source.error("the file holds states of metrics, and no attempts").hint(hint));
    };
    if place.of > 1 {
        let what = format!("the file is part {} of {}, and no whole run", place.number, place.of);
        return Err(source.error(what).hint("put all parts together with `calipers merge`, and read what it writes"));
    }
    if part.header.version != env!("CARGO_PKG_VERSION") {
        let what = format!("the file was written by version {}", calipers_core::brief(&part.header.version));
        return Err(source.error(what).hint("fold the files again with this version"));
    }
    let mut from = StateReader::new(&part.payload);
    let runs = from.take::<Vec<RecordedRun>>().and_then(|runs| from.end().map(|()| runs));
    let runs = runs.map_err(|error| source.error(error.kind().to_string()).hint("fold its files again"))?;
    Ok((runs, columns))
}
