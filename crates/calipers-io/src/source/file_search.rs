//! The result files in folders and behind patterns. What should be results and cannot be read is named, and hides nothing else.

use super::{MAY_BE_READ, Source};
use crate::ReadError;
use crate::error::explain_io_error;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What an argument leads to.
#[derive(Clone, Debug, Default)]
pub struct SourceSearch {
    /// What can be read, sorted by name.
    pub sources: Vec<Source>,
    /// What should be results and cannot be read: a link that leads nowhere, a folder that may not be listed, a pipe.
    pub problems: Vec<ReadError>,
}

impl SourceSearch {
    pub(super) fn of(sources: Vec<Source>) -> Self {
        Self { sources, problems: Vec::new() }
    }
}

/// Every file below a folder with the extension of a result file.
pub(super) fn search_folder(folder: &Path) -> Result<SourceSearch, ReadError> {
    let mut search = FileSearch::default();
    search.look_below(folder);
    if search.is_empty() {
        let name = folder.display().to_string();
        let hint = "name a folder with .eval, .json, .jsonl, .csv, .parquet or .xml files";
        let other = search.other.as_deref().and_then(|other| pattern_of(folder, other));
        let hint = match other {
            Some(pattern) => format!("{hint}, or others by a pattern: `'{pattern}'`"),
            None => hint.to_owned(),
        };
        return Err(ReadError::new(name, "the folder has no result files").hint(hint));
    }
    Ok(search.finish())
}

/// The pattern that matches this file below a folder, and those beside it with the same ending.
fn pattern_of(folder: &Path, file: &Path) -> Option<String> {
    let below = file.strip_prefix(folder).ok()?;
    let ending = file.extension()?.to_str().filter(|ending| ending.bytes().all(|byte| byte.is_ascii_alphanumeric()))?;
    let folder = glob::Pattern::escape(folder.to_str()?);
    Some(format!("{folder}/{}*.{ending}", "*/".repeat(below.components().count() - 1)))
}

/// Every file that a pattern matches, and the result files below every folder that it matches.
pub(super) fn search_pattern(pattern: &str) -> Result<SourceSearch, ReadError> {
    let paths = glob::glob(pattern).map_err(|error| ReadError::new(pattern, error.to_string()))?;
    let mut search = FileSearch::default();
    for path in paths {
        match path {
            Ok(path) => search.take(path),
            Err(error) => search.refuse(error.path(), error.error()),
        }
    }
    if search.is_empty() {
        return Err(ReadError::new(pattern, "no file matches the pattern").hint("check the folder and the pattern"));
    }
    Ok(search.finish())
}

#[derive(Default)]
struct FileSearch {
    found: Vec<PathBuf>,
    problems: Vec<ReadError>,
    /// A file that is none by its extension.
    other: Option<PathBuf>,
}

impl FileSearch {
    fn is_empty(&self) -> bool {
        self.found.is_empty() && self.problems.is_empty()
    }

    fn finish(mut self) -> SourceSearch {
        self.found.sort();
        // A pattern may match a folder and the files in it.
        self.found.dedup();
        SourceSearch { sources: self.found.into_iter().map(Source::path).collect(), problems: self.problems }
    }

    fn refuse(&mut self, path: &Path, error: &io::Error) {
        let name = path.display().to_string();
        self.problems.push(ReadError::new(name, explain_io_error(error)).hint(MAY_BE_READ));
    }

    /// Adds what a pattern matches.
    fn take(&mut self, path: PathBuf) {
        match path.metadata() {
            // A shell would hand over the folder, whose files would be read.
            Ok(metadata) if metadata.is_dir() => self.look_below(&path),
            Ok(metadata) if !metadata.is_file() => self.problems.push(no_file(&path)),
            _ => self.found.push(path),
        }
    }

    /// Adds every file below a folder with the extension of a result file.
    fn look_below(&mut self, folder: &Path) {
        let mut folders = vec![folder.to_path_buf()];
        // A link may lead back to a folder above it.
        let mut known = HashSet::new();
        while let Some(folder) = folders.pop() {
            let is_new = match fs::canonicalize(&folder) {
                Ok(real) => known.insert(real),
                Err(error) => {
                    self.refuse(&folder, &error);
                    false
                }
            };
            if !is_new {
                continue;
            }
            match fs::read_dir(&folder) {
                Ok(entries) => entries.for_each(|entry| match entry {
                    Ok(entry) => folders.extend(self.look_at(entry.path())),
                    Err(error) => self.refuse(&folder, &error),
                }),
                Err(error) => self.refuse(&folder, &error),
            }
        }
    }

    /// Adds an entry of a folder, or returns it if it is a folder itself. What a link leads to is read as if it stood here.
    fn look_at(&mut self, path: PathBuf) -> Option<PathBuf> {
        if is_hidden(&path) {
            return None;
        }
        let name = path.display().to_string();
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => return Some(path),
            Ok(_) if is_packed_result(&path) => {
                let hint = "unpack it, or remove it; gzip and zstd are read as they are";
                let what = "results in this compression format are not read";
                self.problems.push(ReadError::new(name, what).hint(hint));
            }
            Ok(metadata) if is_result(&path) && metadata.is_file() => self.found.push(path),
            Ok(_) if is_result(&path) => self.problems.push(no_file(&path)),
            Ok(_) => self.other = self.other.take().or(Some(path)),
            Err(_) if !is_result(&path) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let hint = "fetch the file that it points to, or remove the link";
                self.problems.push(ReadError::new(name, "the link leads nowhere").hint(hint));
            }
            Err(error) => self.refuse(&path, &error),
        }
        None
    }
}

/// The error for a pipe or a device among files. If nothing writes to it, reading it never ends.
fn no_file(path: &Path) -> ReadError {
    let name = path.display().to_string();
    ReadError::new(name, "this is not a file").hint("remove it, or name it by itself to read what is written to it")
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

/// Packings that are not read.
const PACKINGS: [&str; 9] = [".xz", ".bz2", ".lz4", ".br", ".lzma", ".7z", ".zip", ".tar", ".tgz"];

/// True for results in a packing that is not read: they must not go unread without a word.
pub(super) fn is_packed_result(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    PACKINGS.iter().any(|packing| name.strip_suffix(packing).is_some_and(|name| is_result(Path::new(name))))
}

/// The extensions that a folder is searched for. A file given by name may have any extension.
pub(super) fn is_result(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let name = name.trim_end_matches(".gz").trim_end_matches(".zst");
    !is_hidden(path)
        && [".eval", ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".arrow", ".feather", ".xml"]
            .iter()
            .any(|end| name.ends_with(end))
}
