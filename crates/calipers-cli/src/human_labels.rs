//! Labels of people, read for a command and joined to the results that it reads.

use crate::failure::Failure;
use crate::flags::LabelFlags;
use crate::selection;
use crate::terminal::note;
use calipers::Selection;
use calipers::judge::{LabelBook, LabelPlace, read_label_book};
use calipers::text::pluralize;
use std::sync::Arc;

impl LabelFlags {
    /// The labels of each of so many runs, in their order; none without the flag.
    ///
    /// Labels are about the answers of one run: those of another are no better than a guess.
    pub(crate) fn load(&self, selection: &Selection, runs: usize) -> Result<Vec<Option<Arc<LabelBook>>>, Failure> {
        if self.labels.is_empty() {
            return Ok(vec![None; runs]);
        }
        if self.labels.len() != runs {
            let (given, wanted) = (pluralize(self.labels.len(), "file"), pluralize(runs, "run"));
            let hint = if runs == 1 { "name one file" } else { "name one for each run, in their order" };
            return Err(Failure::new(format!("`--labels` names {given} for {wanted}")).hint(hint));
        }
        self.labels.iter().map(|file| Ok(Some(Arc::new(self.read(file, selection)?)))).collect()
    }

    /// The labels of the one run that a command reads.
    pub(crate) fn load_one(&self, selection: &Selection) -> Result<Option<Arc<LabelBook>>, Failure> {
        Ok(self.load(selection, 1)?.pop().flatten())
    }

    fn read(&self, file: &String, selection: &Selection) -> Result<LabelBook, Failure> {
        let columns = selection::columns_by("--label-columns", &self.label_columns)?;
        let selection = Selection { columns: columns.into(), labels: selection.labels.clone(), ..Selection::default() };
        let sources = selection::sources(std::slice::from_ref(file), &selection)?;
        read_label_book(file, &selection.with_sources(sources))
            .map_err(|error| Failure::from(error).hint_with_flag("--columns", "--label-columns"))
    }
}

/// Says which labels belong to no sample that was read. An error if none does.
pub(crate) fn note_unused(labels: Option<&LabelBook>) -> Result<(), Failure> {
    let Some(labels) = labels else { return Ok(()) };
    let unused = labels.list_unused();
    let Some(first) = unused.first() else { return Ok(()) };
    if unused.len() == labels.len() {
        let what = format!("no label belongs to a sample of the results; {} is not among them", place(first));
        let hint = "labels are joined by the `id` of the sample; check that both files have the same ids";
        return Err(Failure::new(what).hint(hint));
    }
    let (count, first) = (pluralize(unused.len(), "label"), place(first));
    let verb = if unused.len() == 1 { "belongs" } else { "belong" };
    note(&format!("{count} of {} {verb} to no sample that was read, such as that of {first}", labels.len()));
    Ok(())
}

fn place(place: &LabelPlace) -> String {
    match place.epoch {
        Some(epoch) => format!("`{}`, attempt {epoch}", place.id),
        None => format!("`{}`", place.id),
    }
}
