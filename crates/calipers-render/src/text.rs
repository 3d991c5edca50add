//! Text on a grid of columns: widths, wrapping, and nothing that steers a terminal.
//!
//! What steers a terminal misleads readers elsewhere too, so every renderer cleans text here first.

use std::borrow::Cow;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Text from a file with what could steer a terminal made visible: control characters, line separators, and the marks
/// that change the direction of writing and can make a name look like another.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|c| if steers(c) { '\u{fffd}' } else { c }).collect()
}

pub(crate) fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

pub(crate) fn left(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

pub(crate) fn right(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(text.width())))
}

/// The text in at most this many columns, with its middle left out: names differ at their ends as often as at their
/// beginnings.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let head = take(text.chars(), room - room / 2);
    let tail: String = take(text.chars().rev(), room / 2).chars().rev().collect();
    format!("{head}…{tail}")
}

fn take(chars: impl Iterator<Item = char>, width: usize) -> String {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= width
        })
        .collect()
}

/// The first so many characters of a text, and how many there are beyond them: models write long texts, and an id may be
/// one.
pub(crate) fn abridge(text: &str, max: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}… ({} more characters)", &text[..end], text[end..].chars().count())),
    }
}

/// A name of so many columns is shown as it is, whatever the width.
const WORD_MAX: usize = 60;

/// The text in lines of at most this many columns, cut between words. A word that is too long has a line of its own, and
/// one that is longer than any name has its middle left out.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    // A number keeps its per cent sign.
    let text = text.replace(" %", "\u{a0}%");
    for word in text.split(' ') {
        let word = shorten(word, width.max(WORD_MAX));
        let line = lines.last_mut().expect("there is always a line");
        if !line.is_empty() && line.width() + 1 + word.width() > width {
            lines.push(word);
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&word);
        }
    }
    lines.iter().map(|line| line.replace("\u{a0}%", " %")).collect()
}

/// Names one after another, or the first three and how many more there are.
pub(crate) fn join_names(names: &[String]) -> String {
    match names {
        [a, b, c, _, rest @ ..] => format!("{a}, {b}, {c} and {} more", rest.len() + 1),
        names => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_keeps_both_ends() {
        for (text, width, want) in [
            ("gpt.eval", 8, "gpt.eval"),
            ("claude-sonnet.eval", 9, "clau…eval"),
            ("評価の結果.eval", 9, "評価…eval"),
            ("long", 1, "…"),
        ] {
            assert_eq!(shorten(text, width), want);
            assert!(shorten(text, width).width() <= width);
        }
    }

    #[test]
    fn a_long_text_says_how_much_is_left_out() {
        assert_eq!(abridge("four", 4), "four");
        assert_eq!(abridge("評価の結果", 2), "評価… (3 more characters)");
    }

    #[test]
    fn lines_are_cut_between_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("a pneumonoultramicroscopic b", 7), ["a", "pneumonoultramicroscopic", "b"]);
        assert_eq!(wrap(&format!("a {}", "b".repeat(99)), 7)[1].width(), WORD_MAX);
        assert_eq!(wrap("", 7), [""]);
        assert_eq!(wrap("below 85 %", 8), ["below", "85 %"]);
    }

    #[test]
    fn what_steers_a_terminal_is_made_visible() {
        assert_eq!(clean("a\u{1b}[31m\u{202e}b\r\n"), "a\u{fffd}[31m\u{fffd}b\u{fffd}\u{fffd}");
        assert_eq!(clean("評価 é 👍"), "評価 é 👍");
    }
}
