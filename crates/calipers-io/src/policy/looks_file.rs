//! A file of the looks that were taken at the results of a suite: one line per verdict.

use crate::{ReadError, Source};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
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

/// Adds a look to a file, as one write.
pub fn append_look(path: &str, look: &LookRecord) -> Result<(), ReadError> {
    let fail = |error: std::io::Error| ReadError::new(path, format!("the look cannot be remembered: {error}"));
    let line = serde_json::to_string(look).map_err(|error| fail(error.into()))? + "\n";
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).map_err(fail)?;
    file.write_all(line.as_bytes()).map_err(fail)
}
