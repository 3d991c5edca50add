//! Answers as bags of words, as in SQuAD: without case, punctuation and articles.

use crate::text::python_regex::ours;
use crate::text::python_text::{casefold, is_space, strip_punctuation};
use calipers_core::{Value, parse_number};
use regex::Regex;
use std::sync::LazyLock;

/// The words of a text that count, in order.
pub(super) fn words(text: &str, stop_words: &[String]) -> Vec<String> {
    let tokens = text.split([' ', '-']).map(normal_token);
    let kept = tokens.filter(|token| !token.is_empty() && !stop_words.contains(token));
    kept.flat_map(|token| token.split(is_space).map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// One token in its plain form: `The` is nothing, `3` is `3.0`, `don't` is `dont`.
pub(super) fn normal_token(token: &str) -> String {
    static ARTICLES: LazyLock<Regex> = LazyLock::new(|| ours(r"\b(a|an|the)\b"));
    let plain = without_punctuation(&casefold(token));
    let plain = parse_number(&plain).map_or(plain, |number| Value::from(number).to_string());
    let plain = ARTICLES.replace_all(&plain, " ");
    plain.split(is_space).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn without_punctuation(token: &str) -> String {
    if parse_number(token).is_some() {
        return token.to_owned();
    }
    let stripped = strip_punctuation(token);
    if parse_number(stripped).is_some() {
        return stripped.to_owned();
    }
    token.chars().filter(|c| !c.is_ascii_punctuation()).collect()
}
