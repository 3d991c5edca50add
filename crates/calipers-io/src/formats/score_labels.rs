//! Letters that are scores in most tables, and may mean something else in this one: `P` counts as half right, and people write it
//! for `pass` or `positive`.

use crate::RecordedRun;
use calipers_core::{Labels, Samples, Shards, Value};
use std::collections::BTreeSet;

/// Says what letters count, where it is not clear from the others what they mean.
pub(super) fn note(run: &mut RecordedRun<Shards>) {
    let letters: BTreeSet<String> = run.samples.iter().flat_map(ambiguous_letters).collect();
    let count = |letter: &String| Labels::default().to_float(&Value::from(letter.as_str())).unwrap_or(0.0);
    let notes = letters
        .iter()
        .map(|letter| format!("the score `{letter}` counts as {} unless it is given another number", count(letter)));
    let notes: Vec<String> = notes.collect();
    run.notes.extend(notes);
}

/// True when it is to be said what letters count.
pub(super) fn is_ambiguous(samples: &Samples) -> bool {
    !ambiguous_letters(samples).is_empty()
}

/// Letters among the scores that may not mean what they count: `P` where nothing is `C` or `I`, and any of ours beside letters that
/// are not.
fn ambiguous_letters(samples: &Samples) -> Vec<String> {
    let labels = Labels::default();
    let mut found = Vec::new();
    for scorer in samples.scorers() {
        let texts: Vec<&str> = samples.score_labels(scorer);
        let is_letter = |text: &&str| text.chars().count() == 1;
        let is_ours = |text: &&str| matches!(*text, "C" | "I" | "P" | "N");
        let has_outcome = texts.iter().any(|text| matches!(*text, "C" | "I"));
        let is_known = |text: &str| labels.to_float(&Value::from(text)).is_some();
        let has_other = texts.iter().any(|text| is_letter(text) && !is_known(text));
        let ours = texts.iter().copied().filter(is_ours);
        found.extend(ours.filter(|text| has_other || *text == "P" && !has_outcome).map(str::to_owned));
    }
    found
}
