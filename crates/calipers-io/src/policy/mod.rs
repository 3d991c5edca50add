//! Policies from files.

mod baseline_file;
mod baseline_layout;
mod edit_thresholds;
mod looks_file;
pub(crate) mod parse_document;
mod suite_file;

pub use baseline_file::{BaselineDocument, baseline_json, baseline_text, read_baseline};
pub use edit_thresholds::edit_policy;
pub use looks_file::{LookRecord, LooksLock, fingerprint, read_looks};
pub use parse_document::read_document;
pub use suite_file::read_suite;

use crate::error::{explain_io_error, printable};
use crate::source::to_location;
use calipers_core::pluralize;
use calipers_gate::policy::document::{Data, Item};
use calipers_gate::policy::{Mistake, Policy, Spanned, is_policy_key};
use calipers_store::{Object, ObjectReader, StoreError, redact};
use parse_document::LENGTH_MAX;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// A policy with the files that it was read from.
#[derive(Clone, Debug)]
pub struct LoadedPolicy {
    /// What it says.
    pub policy: Policy,
    /// The SHA-256 of the files, one after the other, in hexadecimal digits. For one file it is what `sha256sum` prints.
    pub hash: String,
    /// The files: the policy, and those that it extends in the order in which they were read.
    pub files: Vec<PathBuf>,
}

/// All mistakes in a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    mistakes: Vec<Mistake>,
}

/// How many mistakes are printed.
const PRINTED: usize = 20;

/// Reads a policy from a file, with the files that it extends.
pub fn load_policy(path: &Path) -> Result<LoadedPolicy, PolicyError> {
    let mut files = Files::default();
    let first = files.read_first(path);
    finish(first, files)
}

/// A policy that a program has in memory, as JSON, YAML or TOML under this name. What it extends is in the working folder or below.
///
/// ```
/// let loaded = calipers_io::parse_policy("policy", br#"{"pass_criteria": {"overall": "80%"}}"#)?;
/// assert_eq!(loaded.policy.gates.len(), 1);
/// # Ok::<(), calipers_io::PolicyError>(())
/// ```
pub fn parse_policy(name: &str, bytes: &[u8]) -> Result<LoadedPolicy, PolicyError> {
    let mut files = Files::default();
    files.hash.update(bytes);
    finish(read_document(name, bytes), files)
}

fn finish(first: Result<Item, Mistake>, mut files: Files) -> Result<LoadedPolicy, PolicyError> {
    let document = first.map_err(|mistake| vec![mistake]);
    let document = document.and_then(|item| item.extended(&mut |name| files.load_extended(name)));
    let policy = document.and_then(|document| Policy::parse(&document)).map_err(|mistakes| PolicyError { mistakes })?;
    let hash = files.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(LoadedPolicy { policy, hash, files: files.read })
}

#[derive(Default)]
struct Files {
    read: Vec<PathBuf>,
    hash: Sha256,
    /// The path of a file by the name that messages give it.
    paths: HashMap<String, PathBuf>,
    /// The folder of the first file. Files outside it are not read.
    root: PathBuf,
}

impl Files {
    /// The file that was asked for.
    fn read_first(&mut self, path: &Path) -> Result<Item, Mistake> {
        self.root = path.parent().unwrap_or(Path::new("")).to_path_buf();
        self.read(path.to_path_buf())
    }

    fn read(&mut self, path: PathBuf) -> Result<Item, Mistake> {
        let name = printable(&redact(&path.to_string_lossy()));
        if path.is_dir() {
            return Err(Mistake::new(format!("`{name}` is a folder, not a policy")).hint("name a file in it"));
        }
        let bytes = bytes(&path).map_err(|error| {
            let hint = StoreError::of(&error).and_then(StoreError::advice).unwrap_or("check the path of the policy");
            Mistake::new(format!("cannot read `{name}`: {}", explain_io_error(&error))).hint(hint)
        })?;
        self.hash.update(&bytes);
        self.paths.insert(name.clone(), path.clone());
        self.read.push(path);
        read_document(&name, &bytes)
    }

    /// A file that another one extends: its path is relative to that file.
    ///
    /// A policy may come from a stranger, so it reads nothing but policies beside it and below: what stands elsewhere is
    /// refused before the file system is asked, and a message never quotes a file that is no policy.
    fn load_extended(&mut self, name: &Spanned<String>) -> Result<Item, Vec<Mistake>> {
        let refuse = |message: String, hint: &str| Err(vec![Mistake::new(message).at(&name.span).hint(hint)]);
        let from = self.paths.get(&name.span.text.name).and_then(|path| path.parent()).unwrap_or(Path::new(""));
        let path = clean_path(&from.join(&name.value));
        if path.as_os_str().is_empty() || path.is_dir() {
            let hint = "name a file in it, from the folder of the file that says so";
            return refuse(format!("`extends` must name a file, and `{}` is a folder", name.value), hint);
        }
        if is_outside(&path, &self.root) {
            let hint = "`extends` reads files in the folder of the policy and below; copy the file there";
            return refuse(format!("`{}` is not read: it is outside the folder of the policy", name.value), hint);
        }
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            return refuse(format!("`extends` must name a file, and `{}` is none", name.value), "name a file");
        }
        let item = self.read(as_address(path, &self.root)).map_err(|mistake| vec![about_base(mistake, name)])?;
        match &item.value {
            // Nothing is a policy that asks for nothing.
            Data::Map(entries) if entries.is_empty() || entries.iter().any(|(key, _)| is_policy_key(&key.value)) => {
                Ok(item)
            }
            Data::Map(_) => {
                let hint = "a policy has at least one key of a policy, such as `thresholds`";
                refuse(format!("`{}` is not a policy: none of its keys is one of a policy", name.value), hint)
            }
            _ => {
                let hint = "a policy is a map, such as `{\"thresholds\": {…}}`";
                refuse(format!("`{}` is {}, not a policy", name.value, item.kind()), hint)
            }
        }
    }
}

/// The path as an address again, if the folder is one: cleaning a path leaves one slash of two.
fn as_address(path: PathBuf, folder: &Path) -> PathBuf {
    match (to_location(folder), path.to_str()) {
        (Some(_), Some(text)) => PathBuf::from(text.replacen(":/", "://", 1)),
        _ => path,
    }
}

/// A mistake in a file that another one extends, at the place that names it. It says the line, and does not show it.
fn about_base(mistake: Mistake, name: &Spanned<String>) -> Mistake {
    let message = match &mistake.span {
        Some(span) => format!("`{}` is not a policy: it cannot be read from line {} on", name.value, span.line()),
        None => mistake.message,
    };
    let hint = "`extends` names a policy, from the folder of the file that says so";
    Mistake::new(message).at(&name.span).hint(hint)
}

/// True for a path that leads out of a folder, by its name or through a link.
#[must_use]
pub fn is_outside(path: &Path, folder: &Path) -> bool {
    let folder = clean_path(folder);
    let is_below = match path.strip_prefix(&folder) {
        Ok(below) => below.components().all(|part| matches!(part, Component::Normal(_))),
        Err(_) => false,
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
    let leads_out = match (std::fs::canonicalize(path), std::fs::canonicalize(folder)) {
        (Ok(path), Ok(folder)) => !path.starts_with(folder),
        // What does not exist leads nowhere.
        _ => false,
    };
    !is_below || leads_out
}

/// The whole file, or one byte more than a policy may have.
fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(location) = to_location(path) {
        let object = Object::open(&location?)?;
        ObjectReader::new(object).take(LENGTH_MAX as u64 + 1).read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    File::open(path)?.take(LENGTH_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The path without `.` and `x/..`, so that one file has one name.
pub(crate) fn clean_path(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(clean.components().next_back(), Some(Component::Normal(_))) => {
                clean.pop();
            }
            _ => clean.push(part),
        }
    }
    clean
}

impl PolicyError {
    /// The mistakes, in file order.
    #[must_use]
    pub fn mistakes(&self) -> &[Mistake] {
        &self.mistakes
    }
}

impl From<Vec<Mistake>> for PolicyError {
    fn from(mistakes: Vec<Mistake>) -> Self {
        Self { mistakes }
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, mistake) in self.mistakes.iter().take(PRINTED).enumerate() {
            if at > 0 {
                f.write_str("\n\n")?;
            }
            write!(f, "{mistake}")?;
        }
        match self.mistakes.len().saturating_sub(PRINTED) {
            0 => Ok(()),
            more => write!(f, "\n\nand {}", pluralize(more, "more mistake")),
        }
    }
}

impl std::error::Error for PolicyError {}
