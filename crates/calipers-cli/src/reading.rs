//! Results, read as commands need them, with notes about what was not read.

use crate::failure::Failure;
use crate::reading_progress::ReadingProgress;
use crate::selection::distinct_sources;
use crate::terminal::note;
use calipers::io::redact;
use calipers::{LoadedFile, LoadedRun, Needs, RunError, Selection, load};

/// The selection with files that count what is read of them, and the bar that shows it.
pub(crate) fn with_progress(selection: &Selection) -> (Selection, ReadingProgress) {
    // A file that cannot be opened is reported when its turn comes.
    let total = selection.sources.iter().filter_map(|source| source.stored_len().ok()).sum();
    let progress = ReadingProgress::start(total);
    let counted = selection.sources.iter().map(|source| source.clone().with_counter(progress.read.clone()));
    (selection.with_sources(counted), progress)
}

/// All files that these names lead to, as one run.
pub(crate) fn load_run(names: &[String], selection: &Selection, needs: &Needs) -> Result<LoadedRun, Failure> {
    let sources = distinct_sources(names, selection)?;
    load_selected(&redact(&names.join(", ")), &selection.with_sources(sources), needs)
}

/// The files of a selection, as one run.
pub(crate) fn load_selected(name: &str, selection: &Selection, needs: &Needs) -> Result<LoadedRun, Failure> {
    let (selection, _progress) = with_progress(selection);
    Ok(LoadedRun::load(name, &selection, needs)?)
}

/// The files of a selection with what is needed of them.
pub(crate) fn load_files(selection: &Selection, needs: &Needs) -> Result<Vec<LoadedFile>, Failure> {
    let (selection, _progress) = with_progress(selection);
    Ok(load(&selection, needs).collect::<Result<_, RunError>>()?)
}

/// Says what was not read of a run, after its name if it has one.
pub(crate) fn print_notes(run: &LoadedRun) {
    let name = if run.name.is_empty() { String::new() } else { format!("{}: ", run.name) };
    for text in &run.notes {
        note(&format!("{name}{text}"));
    }
}
