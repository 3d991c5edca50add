//! Text on a grid of columns: widths, wrapping, and nothing that steers a terminal.
//!
//! What steers a terminal misleads readers elsewhere too, so every renderer cleans text here first.

pub(crate) use calipers_core::{one_line as clean, steers};
use std::borrow::Cow;
use std::collections::BTreeMap;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

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

/// Names in at most this many columns each. Different names stay different: those that would look alike keep the part in which
/// they differ, and what still looks alike is numbered.
pub(crate) fn shorten_apart(names: &[String], width: usize) -> Vec<String> {
    let mut short: Vec<String> = names.iter().map(|name| shorten(name, width)).collect();
    for group in alike(names, &short) {
        let first: Vec<char> = names[group[0]].chars().collect();
        let shared = group
            .iter()
            .map(|&place| names[place].chars().zip(&first).take_while(|(mine, theirs)| mine == *theirs).count());
        let shared = shared.min().unwrap_or(0);
        for place in group {
            let rest: String = names[place].chars().skip(shared).collect();
            let head = take(names[place].chars(), width.saturating_sub(2) / 3);
            let room = width.saturating_sub(head.width() + 1);
            short[place] = shorten(&format!("{head}…{}", shorten(&rest, room)), width);
        }
    }
    for group in alike(names, &short) {
        for (number, place) in group.into_iter().enumerate() {
            let mark = format!("~{}", number + 1);
            short[place] = shorten(&names[place], width.saturating_sub(mark.width())) + &mark;
        }
    }
    short
}

/// The places of different names that look the same.
fn alike(names: &[String], short: &[String]) -> Vec<Vec<usize>> {
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    short.iter().enumerate().for_each(|(place, text)| places.entry(text).or_default().push(place));
    let differ = |group: &Vec<usize>| group.iter().any(|&place| names[place] != names[group[0]]);
    places.into_values().filter(|group| group.len() > 1).filter(differ).collect()
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

/// The text in lines of at most this many columns, cut between words. A word that is too long gets a separate line, and
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

/// The text in lines of at most this many columns, whatever it takes: a word that is longer is cut.
pub(crate) fn wrap_within(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let mut rest = word;
        match lines.last_mut() {
            Some(line) if line.width() + 1 + rest.width() <= width => {
                line.push(' ');
                line.push_str(rest);
                continue;
            }
            _ => {}
        }
        while rest.width() > width {
            let part = take(rest.chars(), width);
            // A character that is wider than the line stands alone.
            let part = if part.is_empty() { rest.chars().take(1).collect() } else { part };
            rest = &rest[part.len()..];
            lines.push(part);
        }
        lines.push(rest.to_owned());
    }
    lines
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
    fn different_names_stay_different() {
        let names = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<String>>();
        let shared = "graduate_level_mathematics";
        let long =
            [format!("{shared}_algebra_of_{shared}"), format!("{shared}_analysis_of_{shared}"), "short".to_owned()];
        let short = shorten_apart(&long, 24);
        assert_ne!(short[0], short[1]);
        assert!(short[0].contains("lgebra") && short[1].contains("nalysis"), "{short:?}");
        assert_eq!(short[2], "short");
        // The same name twice is the same name.
        assert_eq!(shorten_apart(&names(&["aaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaa"]), 7), ["aaa…aaa", "aaa…aaa"]);
        // Names that differ in more places than there is room for.
        let far: Vec<String> = (0..30).map(|i| format!("{}{i:02}{}", "a".repeat(90), "b".repeat(90))).collect();
        let short = shorten_apart(&far, 12);
        assert!(short.iter().all(|text| text.width() <= 12), "{short:?}");
        assert_eq!(short.iter().collect::<std::collections::BTreeSet<_>>().len(), 30, "{short:?}");
    }

    #[test]
    fn no_line_is_wider_than_it_may_be() {
        assert_eq!(wrap_within("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap_within("a pneumono", 4), ["a", "pneu", "mono"]);
        assert_eq!(wrap_within("評価の結果", 4), ["評価", "の結", "果"]);
        assert_eq!(wrap_within("", 7), [""]);
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
