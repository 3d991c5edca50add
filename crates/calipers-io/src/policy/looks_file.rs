//! A file of the looks that were taken at the results of a suite: one line per verdict.

use crate::{ReadError, Source, is_address, redact};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// A look at the results of a suite, and its verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookRecord {
    /// The suite, by its fingerprint.
    pub suite: String,
    /// The policy, by its hash.
    pub policy: String,
    /// The results, by their fingerprint: the same results again are the same look.
    pub results: String,
    /// When it was.
    pub time: String,
    /// The number of samples.
    pub n: u64,
    /// Which look it was, from 1 on.
    pub look: u64,
    /// Its verdict.
    pub verdict: String,
}

/// A fingerprint of these texts, in this order.
///
/// ```
/// use calipers_io::fingerprint;
///
/// assert_eq!(fingerprint(["a", "b"]), fingerprint(["a", "b"]));
/// assert_ne!(fingerprint(["a", "b"]), fingerprint(["ab"]));
/// ```
#[must_use]
pub fn fingerprint<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.as_ref().len() as u64).to_le_bytes());
        hash.update(text.as_ref());
    }
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// The looks that a file remembers; none if there is no file yet.
pub fn read_looks(path: &str) -> Result<Vec<LookRecord>, ReadError> {
    if !Path::new(path).exists() {
        return Ok(Vec::new());
    }
    let bytes = Source::path(path).read_all()?;
    let lines = bytes.split(|&byte| byte == b'\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty());
    let one = |(place, line): (usize, &[u8])| {
        serde_json::from_slice(line).map_err(|_| {
            ReadError::new(path, "this is not a look at a suite")
                .at_line(place as u64 + 1)
                .hint("restore the line: without it, earlier looks would not be counted")
        })
    };
    lines.map(one).collect()
}

/// A file of looks that no other process counts in meanwhile: two gates at once would both be the same look, and each would
/// spend what is there for one.
#[derive(Debug)]
pub struct LooksLock<'a> {
    path: &'a str,
    file: File,
}

impl<'a> LooksLock<'a> {
    /// Waits until no other process holds the file. One that does not exist is created.
    pub fn take(path: &'a str) -> Result<Self, ReadError> {
        if is_address(path) {
            let hint = "name a file on this machine: it is locked while a look is counted";
            return Err(ReadError::new(redact(path), "looks are not kept in a bucket").hint(hint));
        }
        let fail = |error: std::io::Error| no_memory(path, &error);
        let file = File::options().append(true).create(true).open(path).map_err(fail)?;
        file.lock().map_err(fail)?;
        Ok(Self { path, file })
    }

    /// Adds a look, as one write.
    pub fn append(&mut self, look: &LookRecord) -> Result<(), ReadError> {
        let line = serde_json::to_string(look).map_err(|error| no_memory(self.path, &error.into()))? + "\n";
        self.file.write_all(line.as_bytes()).map_err(|error| no_memory(self.path, &error))
    }
}

fn no_memory(path: &str, error: &std::io::Error) -> ReadError {
    ReadError::new(path, format!("the look cannot be remembered: {error}"))
}
