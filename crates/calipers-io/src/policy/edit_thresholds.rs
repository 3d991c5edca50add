//! Replaces thresholds in policies and leaves everything else byte for byte as it was.

use crate::error::printable;
use crate::policy::parse_document::read_document;
use crate::{LoadedPolicy, ReadError};
use calipers_gate::policy::document::{Data, Item};
use calipers_gate::policy::{Span, Spanned};
use std::path::{Path, PathBuf};

const BY_HAND: &str = "change the thresholds by hand";

/// The files of a policy, each with its new text after the parts at these places are replaced.
///
/// Nothing is written. A file that has changed since it was read is an error, and so is a replacement that would change
/// anything else that the file means.
pub fn edit_policy(policy: &LoadedPolicy, edits: &[(Span, String)]) -> Result<Vec<(PathBuf, String)>, ReadError> {
    let mut files = Vec::new();
    for path in &policy.files {
        let name = printable(&path.to_string_lossy());
        let mut here: Vec<&(Span, String)> = edits.iter().filter(|(span, _)| span.text.name == name).collect();
        if here.is_empty() || files.iter().any(|(known, _)| known == path) {
            continue;
        }
        here.sort_by_key(|(span, _)| span.range.start);
        files.push((path.clone(), edit_file(path, &name, &here)?));
    }
    Ok(files)
}

fn edit_file(path: &Path, name: &str, edits: &[&(Span, String)]) -> Result<String, ReadError> {
    let before = std::fs::read_to_string(path)
        .map_err(|error| ReadError::new(name, format!("the policy cannot be read: {error}")).hint(BY_HAND))?;
    // A byte-order mark is not part of the content.
    let (mark, text) = match before.strip_prefix('\u{feff}') {
        Some(text) => ("\u{feff}", text),
        None => ("", &*before),
    };
    if edits.iter().any(|(span, _)| span.text.text != text) {
        return Err(ReadError::new(name, "the policy has changed since it was read").hint("run the command again"));
    }
    let mut new = String::with_capacity(text.len());
    let mut done = 0;
    for (span, replacement) in edits {
        new += &text[done..span.range.start];
        new += replacement;
        done = span.range.end;
    }
    new += &text[done..];
    let read = |text: &str| read_document(name, text.as_bytes()).ok();
    let changed = read(text).zip(read(&new)).and_then(|(old, new)| changes(&old, &new));
    if changed != Some(edits.len()) {
        let what = "the thresholds cannot be replaced without changing something else";
        return Err(ReadError::new(name, what).hint(BY_HAND));
    }
    Ok(format!("{mark}{new}"))
}

type ThresholdEntry = (Spanned<String>, Item);

/// How many numbers and texts differ between two documents; `None` if anything else differs.
fn changes(old: &Item, new: &Item) -> Option<usize> {
    match (&old.value, &new.value) {
        (Data::List(old), Data::List(new)) if old.len() == new.len() => {
            old.iter().zip(new).map(|(old, new)| changes(old, new)).sum()
        }
        (Data::Map(old), Data::Map(new)) if old.len() == new.len() => {
            let same = |old: &ThresholdEntry, new: &ThresholdEntry| {
                (old.0.value == new.0.value).then(|| changes(&old.1, &new.1))
            };
            old.iter().zip(new).map(|(old, new)| same(old, new).flatten()).sum()
        }
        (Data::Number(old), Data::Number(new)) => Some(usize::from(old != new)),
        (Data::Text(old), Data::Text(new)) => Some(usize::from(old != new)),
        (old, new) => (old == new).then_some(0),
    }
}
