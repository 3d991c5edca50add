//! Which objects an address leads to: one, those of a folder, or those that match a pattern.

use super::file_search::{is_packed_result, is_result};
use super::{Source, store_error};
use crate::ReadError;
use calipers_store::{Location, Object, ObjectInfo, StoreFault, list};
use glob::{MatchOptions, Pattern};
use std::path::Path;

/// A star stays in its folder, as with files.
const MATCHING: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: false };

/// The sources that a location names.
pub(super) fn resolve(location: &Location) -> Result<Vec<Source>, ReadError> {
    let fail = |error| store_error(&location.to_string(), &error);
    if !location.scheme().is_bucket() {
        if location.key().contains('*') {
            let hint = "name each file; folders and patterns work with s3://, gs:// and az://";
            return Err(ReadError::new(location.to_string(), "a web server does not list its files").hint(hint));
        }
        return Ok(vec![Source::object(location.to_string(), Object::open(location))]);
    }
    if has_pattern(location) {
        return match_pattern(location);
    }
    if !location.is_folder() {
        let object = Object::open(location).map_err(fail)?;
        // The beginning is needed anyway, and says whether there is an object.
        match object.size() {
            Err(error) if error.fault() == StoreFault::NotFound => {}
            Err(error) => return Err(fail(error)),
            Ok(_) => return Ok(vec![Source::object(location.to_string(), Ok(object))]),
        }
    }
    let listed = list(location).map_err(fail)?;
    if listed.is_empty() {
        let what =
            if location.is_folder() { "the folder is empty" } else { "there is no such object, and no such folder" };
        return Err(ReadError::new(location.to_string(), what).hint("check the bucket and the name"));
    }
    let chosen = results_among(listed, location)?;
    if chosen.is_empty() {
        let hint = "name a folder with .eval, .json, .jsonl, .csv, .parquet or .xml files";
        return Err(ReadError::new(location.to_string(), "the folder has no result files").hint(hint));
    }
    open(&chosen, location)
}

/// True for an address that is not a single object by its name.
pub(super) fn is_search(location: &Location) -> bool {
    has_pattern(location) || location.is_folder()
}

fn has_pattern(location: &Location) -> bool {
    location.key().contains(['*', '?', '['])
}

fn open(listed: &[ObjectInfo], location: &Location) -> Result<Vec<Source>, ReadError> {
    let objects = Object::open_listed(listed).map_err(|error| store_error(&location.to_string(), &error))?;
    Ok(objects.into_iter().map(|object| Source::object(object.location().to_string(), Ok(object))).collect())
}

/// Those with the extension of a result file, which no part of their path hides.
fn results_among(listed: Vec<ObjectInfo>, folder: &Location) -> Result<Vec<ObjectInfo>, ReadError> {
    let inside = folder.key().trim_end_matches('/').len();
    let mut chosen = Vec::new();
    for info in listed {
        let below = info.location.key().get(inside..).unwrap_or_default().trim_start_matches('/');
        if below.split('/').any(|part| part.starts_with('.')) {
            continue;
        }
        if is_packed_result(Path::new(below)) {
            let hint = "unpack it, or remove it; gzip and zstd are read as they are";
            let what = "results in this compression format are not read";
            return Err(ReadError::new(info.location.to_string(), what).hint(hint));
        }
        if is_result(Path::new(below)) {
            chosen.push(info);
        }
    }
    Ok(chosen)
}

fn match_pattern(location: &Location) -> Result<Vec<Source>, ReadError> {
    let name = location.to_string();
    let pattern = Pattern::new(location.key()).map_err(|error| ReadError::new(&*name, error.to_string()))?;
    // Only what is below the folder before the first sign of a pattern is listed.
    let plain: Vec<&str> = location.key().split('/').take_while(|part| !part.contains(['*', '?', '['])).collect();
    let folder = location.with_key(plain.join("/"));
    let listed = list(&folder).map_err(|error| store_error(&name, &error))?;
    let keys: Vec<String> = listed.iter().map(|info| info.location.key().to_owned()).collect();
    let mut matched = Vec::new();
    let mut below = Vec::new();
    for (place, info) in listed.into_iter().enumerate() {
        let key = info.location.key();
        let mut folders = key.match_indices('/').map(|(at, _)| &key[..at]);
        if pattern.matches_with(key, MATCHING) || key == location.key() {
            // Some tools keep an empty object for a folder.
            let marks = |next: &String| next.strip_prefix(key).is_some_and(|rest| rest.starts_with('/'));
            if info.size > 0 || !keys.get(place + 1).is_some_and(marks) {
                matched.push(info);
            }
        } else if folders.any(|folder| pattern.matches_with(folder, MATCHING)) {
            below.push(info);
        }
    }
    // A shell would hand over a folder that matches, whose files would be read.
    matched.extend(results_among(below, &folder)?);
    matched.sort_by(|a, b| a.location.parts().cmp(b.location.parts()));
    if matched.is_empty() {
        return Err(ReadError::new(name, "no object matches the pattern").hint("check the folder and the pattern"));
    }
    open(&matched, location)
}
