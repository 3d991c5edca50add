//! Policies from files.

mod baseline_file;
mod edit_thresholds;
pub(crate) mod parse_document;
mod suite_file;

pub use baseline_file::{BASELINE_SCHEMA, baseline_json, baseline_text, read_baseline};
pub use edit_thresholds::edit_policy;
pub use parse_document::read_document;
pub use suite_file::read_suite;

use crate::error::{explain_io_error, printable};
use calipers_core::pluralize;
use calipers_gate::policy::document::Item;
use calipers_gate::policy::{Mistake, Policy, Spanned};
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
    let first = files.read(path.to_path_buf());
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
}

impl Files {
    fn read(&mut self, path: PathBuf) -> Result<Item, Mistake> {
        let name = printable(&path.to_string_lossy());
        if path.is_dir() {
            return Err(Mistake::new(format!("`{name}` is a folder, not a policy")).hint("name a file in it"));
        }
        let bytes = bytes(&path).map_err(|error| {
            let message = format!("cannot read `{name}`: {}", explain_io_error(&error));
            Mistake::new(message).hint("check the path of the policy")
        })?;
        self.hash.update(&bytes);
        self.paths.insert(name.clone(), path.clone());
        self.read.push(path);
        read_document(&name, &bytes)
    }

    /// A file that another one extends: its path is relative to that file.
    fn load_extended(&mut self, name: &Spanned<String>) -> Result<Item, Vec<Mistake>> {
        let from = self.paths.get(&name.span.text.name).and_then(|path| path.parent()).unwrap_or(Path::new(""));
        let path = from.join(&name.value);
        if path.is_dir() || path.as_os_str().is_empty() {
            let mistake = Mistake::new(format!("`extends` must name a file, and `{}` is a folder", name.value));
            let hint = "name a file in it, from the folder of the file that says so";
            return Err(vec![mistake.at(&name.span).hint(hint)]);
        }
        let path = clean_path(&path);
        self.read(path).map_err(|mut mistake| {
            if mistake.span.is_none() {
                mistake = mistake.at(&name.span);
                mistake.hint = Some("`extends` names a file, from the folder of the file that says so".to_owned());
            }
            vec![mistake]
        })
    }
}

/// The whole file, or one byte more than a policy may have.
fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LENGTH_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The path without `.` and `x/..`, so that one file has one name.
fn clean_path(path: &Path) -> PathBuf {
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
