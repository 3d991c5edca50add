//! How the attempts of runs are reduced when one question is asked about all of them.

use crate::LoadedRun;
use crate::score::recorded_reducers;
use calipers_core::{Caveat, Error, ErrorKind, Reducer, mean_score};
use std::collections::BTreeSet;

/// The reducer that all files of these runs record: the first of them where they record several, the mean where they record
/// none.
///
/// Fails if samples have several attempts and the files share no reducer: the mode of five attempts and their mean are
/// different quantities, and which of them the answer is about must not depend on the order of files.
pub(crate) fn recorded_reducer(
    runs: &[&LoadedRun],
    find: &dyn Fn(&str) -> Result<Reducer, Error>,
    caveats: &mut Vec<Caveat>,
) -> Result<Reducer, Error> {
    let mut unknown = Vec::new();
    let files = runs.iter().flat_map(|run| &run.reducers);
    let files: Vec<(&str, Vec<Reducer>)> = files
        .map(|(file, recorded)| {
            let known = recorded_reducers(recorded.as_deref(), find, &mut unknown).unwrap_or_default();
            (file.as_str(), if known.is_empty() { vec![mean_score()] } else { known })
        })
        .collect();
    let unknown: BTreeSet<String> = unknown.into_iter().collect();
    caveats.extend(unknown.into_iter().map(|reducer| Caveat::UnknownReducer { reducer }));
    let Some((_, first)) = files.first() else { return Ok(mean_score()) };
    let names = |reducers: &[Reducer]| reducers.iter().map(|one| one.name().to_owned()).collect::<Vec<String>>();
    let is_shared = |reducer: &&Reducer| {
        files.iter().all(|(_, reducers)| reducers.iter().any(|other| other.name() == reducer.name()))
    };
    let reducer = match first.iter().find(is_shared) {
        Some(shared) => shared,
        None if !has_several_attempts(runs) => &first[0],
        None => {
            let mut different: Vec<(String, Vec<String>)> = Vec::new();
            for (file, reducers) in &files {
                if !different.iter().any(|(_, known)| *known == names(reducers)) {
                    different.push(((*file).to_owned(), names(reducers)));
                }
            }
            return Err(ErrorKind::DifferentReducers { files: different }.into());
        }
    };
    if first.len() > 1 {
        caveats.push(Caveat::SeveralReducers { reducers: names(first), used: reducer.name().to_owned() });
    }
    Ok(reducer.clone())
}

/// With one attempt per sample, every reducer gives that attempt.
pub(crate) fn has_several_attempts(runs: &[&LoadedRun]) -> bool {
    runs.iter().any(|run| run.samples.attempts() > run.samples.len())
}
