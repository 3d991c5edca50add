//! `answer`: what follows the last `ANSWER:` is the target.

use super::no_target;
use super::pattern::{judge, not_found};
use crate::catalog::CatalogEntry;
use crate::text::python_regex::ours;
use crate::text::python_text::is_space;
use crate::{AttemptFault, AttemptScope, AttemptState, Scorer, ScorerResult};
use async_trait::async_trait;
use regex::Regex;
use std::sync::{Arc, LazyLock};

pub(super) const ENTRY: CatalogEntry<dyn Scorer> = CatalogEntry {
    name: "answer",
    about: "is the letter, word or line after the last `ANSWER:` the target?",
    params: &["pattern"],
    places: 1,
    open: false,
    make: |params| {
        let form = match params.word("pattern", &["letter", "word", "line"])? {
            Some("letter") => letter,
            Some("word") => word,
            Some(_) => line,
            None => return Err(params.absent("pattern")),
        };
        Ok(Arc::new(AnswerLine(form)))
    },
};

/// The form of the answer after `ANSWER:`.
struct AnswerLine(fn(&str) -> Option<&str>);

#[async_trait]
impl Scorer for AnswerLine {
    fn name(&self) -> &str {
        ENTRY.name
    }

    async fn score(&self, state: &AttemptState, _: &AttemptScope) -> Result<ScorerResult, AttemptFault> {
        if state.target.0.is_empty() {
            return Ok(no_target());
        }
        Ok(match (self.0)(state.completion()) {
            Some(answer) => judge(state, &[Some(answer)], true, false),
            None => not_found(state),
        })
    }
}

/// What follows the last `ANSWER:`. Inspect's pattern looks ahead at every position, which takes quadratic time.
fn after_last(text: &str) -> Option<&str> {
    static PREFIX: LazyLock<Regex> = LazyLock::new(|| ours(r"(?i)ANSWER\s*:"));
    let last = PREFIX.find_iter(text).last()?;
    Some(text[last.end()..].trim_start_matches(is_space))
}

/// A letter that is not the first of a word.
fn letter(text: &str) -> Option<&str> {
    let after = after_last(text)?;
    let mut characters = after.chars();
    characters.next().filter(char::is_ascii_alphabetic)?;
    let in_word = characters.next().is_some_and(|next| next.is_alphanumeric() || next == '_');
    (!in_word).then(|| &after[..1])
}

/// A word that is the last of its line, without a sign after it.
fn word(text: &str) -> Option<&str> {
    let after = after_last(text)?;
    let word = &after[..after.find(is_space).unwrap_or(after.len())];
    let space = &after[word.len()..];
    let space = &space[..space.find(|c| !is_space(c)).unwrap_or(space.len())];
    let ends_line = space.contains('\n') || word.len() + space.len() == after.len();
    let plain = word.strip_suffix(['.', ',', ';', ':', '!', '?']).filter(|plain| !plain.is_empty()).unwrap_or(word);
    (ends_line && !word.is_empty()).then_some(plain)
}

/// The rest of the line, if it is the last.
fn line(text: &str) -> Option<&str> {
    static LINE: LazyLock<Regex> = LazyLock::new(|| ours(r"(?i)ANSWER\s*:\s*([^\n]+)\s*\z"));
    LINE.captures(text)?.get(1).map(|line| line.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_answer_counts_in_each_form() {
        for (text, want) in [
            ("ANSWER: A. No.\nanswer :\n B)", [Some("B"), Some("B)"), Some("B)")]),
            ("ANSWER: yes.", [None, Some("yes"), Some("yes.")]),
            ("ANSWER: yes \n", [None, Some("yes"), Some("yes ")]),
            ("ANSWER: A\nbecause", [Some("A"), Some("A"), None]),
            ("ANSWER: A ANSWER: B", [Some("B"), Some("B"), Some("A ANSWER: B")]),
            ("ANSWER: é", [None, Some("é"), Some("é")]),
            ("ANSWER: .", [None, Some("."), Some(".")]),
            ("ANSWER:", [None, None, None]),
            ("", [None, None, None]),
        ] {
            assert_eq!([letter(text), word(text), line(text)], want, "{text:?}");
        }
    }
}
