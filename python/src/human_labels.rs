//! What people said about some of the samples, for metrics that correct a judge.

use crate::choices::{ColumnChoice, columns};
use crate::data::{Given, Source};
use crate::failure::Failure;
use calipers::Selection;
use calipers::judge::{LabelBook, LabelPlace, read_label_book};
use calipers::text::pluralize;
use pyo3::prelude::*;
use std::sync::Arc;

/// Labels as the package hands them over: where they are, and which of their columns are what.
pub(crate) type LabelChoice<'py> = (Vec<PyRef<'py, Source>>, Vec<ColumnChoice>);

/// Labels that are yet to be read.
pub(crate) struct LabelSource {
    given: Given,
    columns: Vec<ColumnChoice>,
}

impl LabelSource {
    pub(crate) fn new((sources, columns): LabelChoice<'_>) -> Self {
        Self { given: Given::new(&sources), columns }
    }

    /// The labels.
    pub(crate) fn read(&self, selection: &Selection) -> Result<Arc<LabelBook>, Failure> {
        let columns = columns("label_columns", &self.columns)?;
        let selection = Selection { columns: columns.into(), labels: selection.labels.clone(), ..Selection::default() };
        let (sources, _) = self.given.find(&selection)?;
        Ok(Arc::new(read_label_book(&self.given.name(), &selection.with_sources(sources))?))
    }
}

/// The labels of a run, if there are any.
pub(crate) fn read_labels(
    labels: Option<&LabelSource>,
    selection: &Selection,
) -> Result<Option<Arc<LabelBook>>, Failure> {
    labels.map(|labels| labels.read(selection)).transpose()
}

/// Notes which labels belong to no sample that was read. An error if none does.
pub(crate) fn note_unused(labels: Option<&LabelBook>, notes: &mut Vec<String>) -> Result<(), Failure> {
    let Some(labels) = labels else { return Ok(()) };
    let unused = labels.list_unused();
    let Some(first) = unused.first() else { return Ok(()) };
    if unused.len() == labels.len() {
        let what = format!("no label belongs to a sample of the results; {} is not among them", place(first));
        return Err(Failure::usage(
            what,
            "labels are joined by the `id` of the sample; check that both have the same ids",
        ));
    }
    let (count, first) = (pluralize(unused.len(), "label"), place(first));
    let verb = if unused.len() == 1 { "belongs" } else { "belong" };
    notes.push(format!("{count} of {} {verb} to no sample that was read, such as that of {first}", labels.len()));
    Ok(())
}

fn place(place: &LabelPlace) -> String {
    match place.epoch {
        Some(epoch) => format!("`{}`, attempt {epoch}", place.id),
        None => format!("`{}`", place.id),
    }
}
