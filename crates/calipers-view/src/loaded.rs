//! Runs of the history read again from their files, by the facade: what pages show is computed there and nowhere else.

use crate::HistoryError;
use crate::reading_choices::{selection_of, shared_counting};
use calipers::compare::{CompareOptions, CompareReport, compare};
use calipers::page::{PageReport, page, page_without_texts};
use calipers::plan::Report;
use calipers::render::HistoryRun;
use calipers::score::{ScoreOptions, score};
use calipers::{LoadedFile, LoadedRun, Needs, RunError, Selection, load};
use std::collections::HashSet;

fn files_of(run: &HistoryRun) -> Result<Vec<LoadedFile>, RunError> {
    let selection = selection_of(run)?;
    load(&selection, &Needs::everything()).collect()
}

/// The metrics of a run, computed again from its file.
pub fn score_again(run: &HistoryRun) -> Result<Report, HistoryError> {
    let selection = selection_of(run)?;
    let mut report = Report::default();
    for runs in score(&selection, &ScoreOptions::default()) {
        report.runs.extend(runs?);
    }
    Ok(report)
}

/// The page of a run as `calipers report` makes it, without what was asked and answered.
pub(crate) fn run_report(run: &HistoryRun) -> Result<PageReport, HistoryError> {
    Ok(page_without_texts(files_of(run)?, &selection_of(run)?, None, None)?)
}

/// The same with everything.
pub(crate) fn whole_report(run: &HistoryRun) -> Result<PageReport, HistoryError> {
    Ok(page(files_of(run)?, &selection_of(run)?, None, None)?)
}

/// A run with the columns that a comparison reads.
pub(crate) fn load_run(run: &HistoryRun, name: &str, needs: &Needs) -> Result<LoadedRun, RunError> {
    LoadedRun::load(name, &selection_of(run)?, needs)
}

/// A run with only these cases.
pub(crate) fn keep_cases(run: &mut LoadedRun, names: &HashSet<String>) {
    run.samples = run.samples.of_samples(|id| names.contains(&id.to_string()));
}

/// The comparison of the first run with the others, on these cases if they are given.
pub(crate) fn compare_runs(
    runs: &[HistoryRun],
    names: Option<&HashSet<String>>,
) -> Result<(CompareReport, Selection), HistoryError> {
    let (selection, options) = (shared_counting(runs)?, CompareOptions::default());
    let needs = options.needs(&selection);
    let mut loaded = Vec::new();
    for (run, name) in runs.iter().zip(run_names(runs)) {
        let mut one = load_run(run, &name, &needs)?;
        if let Some(names) = names {
            keep_cases(&mut one, names);
        }
        loaded.push(one);
    }
    let report = compare(&loaded, &selection, &options).map_err(RunError::from)?;
    Ok((report, selection))
}

/// What runs are called beside each other: their files without the folder that all share, as on the command line.
pub(crate) fn run_names(runs: &[HistoryRun]) -> Vec<String> {
    let shared = shared_folder(&runs.iter().map(|run| run.source.as_str()).collect::<Vec<_>>());
    let name = |run: &HistoryRun| match &run.name {
        Some(name) => format!("{} · {name}", &run.source[shared..]),
        None => run.source[shared..].to_owned(),
    };
    runs.iter().map(name).collect()
}

/// The length of the folder that all paths begin with.
fn shared_folder(paths: &[&str]) -> usize {
    let Some((first, others)) = paths.split_first() else { return 0 };
    let ends = first.char_indices().filter(|(_, c)| *c == '/' || *c == std::path::MAIN_SEPARATOR);
    let ends = ends.map(|(at, c)| at + c.len_utf8());
    let is_shared = |end: &usize| others.iter().all(|path| path.len() > *end && path.starts_with(&first[..*end]));
    ends.filter(is_shared).filter(|end| *end < first.len()).max().unwrap_or(0)
}
