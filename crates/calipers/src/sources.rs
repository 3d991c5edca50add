//! Which files names lead to.

use crate::Selection;
use calipers_io::{ReadError, Source, SourceSearch, choose};

/// The files that names lead to, and what is to be said about others.
#[derive(Clone, Debug, Default)]
pub struct FoundSources {
    /// The files that are named, and those of folders and patterns that hold results of some kind.
    pub sources: Vec<Source>,
    /// What else the folders hold.
    pub left_out: Vec<String>,
    /// Files of folders and patterns that are empty, damaged or may not be read: they should be results, and must not go unread.
    pub errors: Vec<ReadError>,
}

/// The files that names of files, folders and patterns lead to. `-` is standard input.
///
/// Fails if a name leads to nothing.
///
/// ```no_run
/// use calipers::{Selection, find_sources};
///
/// let found = find_sources(&["logs/".to_owned()], &Selection::default())?;
/// found.left_out.iter().for_each(|name| eprintln!("{name} was left out"));
/// # Ok::<(), calipers::io::ReadError>(())
/// ```
pub fn find_sources(names: &[String], selection: &Selection) -> Result<FoundSources, ReadError> {
    let format = selection.format.as_deref();
    let mut all = FoundSources::default();
    for name in names {
        let SourceSearch { sources, problems } = Source::search(name)?;
        all.errors.extend(problems);
        let found: Vec<Source> =
            sources.into_iter().map(|source| source.with_columns(selection.columns.clone())).collect();
        let is_search = found.len() > 1 || Source::is_search(name);
        let is_result = |source: &Source| choose(source, format).is_ok();
        if !is_search || (format.is_none() && !found.iter().any(is_result)) {
            all.sources.extend(found);
            continue;
        }
        for source in found {
            match choose(&source, format) {
                Ok(_) => all.sources.push(source),
                // A folder may hold other documents. What should be results and is not must not go unread.
                Err(_) if format.is_none() && source.is_other_document() => all.left_out.push(source.name),
                Err(error) => all.errors.push(error),
            }
        }
    }
    Ok(all)
}
