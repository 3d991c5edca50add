//! A line of a text with a part underlined.

use crate::log_text::steers;
use std::fmt;
use std::ops::Range;

/// A line of a text with a part underlined, for messages about it.
///
/// It prints on separate lines between the message and the hint. It has no control characters, and a long line is cut
/// around the place.
///
/// ```
/// use calipers_core::Excerpt;
///
/// let excerpt = Excerpt::new("policy.json", Some(3), "  \"accuracy\": \"≥ 8O%\"", 14..21);
/// assert_eq!(excerpt.to_string(), "
///   in policy.json, line 3
///     \"accuracy\": \"≥ 8O%\"
///                 ^^^^^^^");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    name: String,
    line: Option<usize>,
    text: String,
    from: usize,
    to: usize,
}

/// A line is shown this far around the place.
const SHOWN: usize = 100;

impl Excerpt {
    /// A line of the text called `name`, with a part underlined that is given in characters. Lines count from 1; the number
    /// is left out for a text of one line.
    #[must_use]
    pub fn new(name: &str, line: Option<usize>, text: &str, part: Range<usize>) -> Self {
        let text = text.trim_end();
        let from = part.start.min(text.chars().count());
        let whole = Self { name: printable(name), line, text: printable(text), from, to: part.end.max(from + 1) };
        whole.cut()
    }

    /// A part of a whole text, given in bytes. A part of several lines is underlined in its first line.
    #[must_use]
    pub fn of(name: &str, text: &str, part: Range<usize>) -> Self {
        let start = boundary(text, part.start);
        let end = boundary(text, part.end.max(start));
        let begin = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let stop = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
        let line = text[..begin].matches('\n').count() + 1;
        let from = text[begin..start].chars().count();
        let shown = text[begin..stop].trim_end();
        let to = (from + text[start..end.min(stop)].chars().count()).min(shown.chars().count());
        Self::new(name, Some(line), shown, from..to)
    }

    /// Long lines are cut around the place, and the indentation of short ones is taken off.
    fn cut(mut self) -> Self {
        let characters: Vec<char> = self.text.chars().collect();
        let indentation = characters.iter().take_while(|c| c.is_whitespace()).count().min(self.from);
        let first = if self.to > indentation + SHOWN { self.from.saturating_sub(SHOWN / 2) } else { indentation };
        self.text = characters.iter().skip(first).take(SHOWN).collect();
        self.from -= first;
        self.to = (self.to - first).min(SHOWN.max(self.from + 1));
        self
    }
}

/// The beginning of the character that a byte belongs to, or the end of the text.
fn boundary(text: &str, byte: usize) -> usize {
    (0..=byte.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// The text without control characters and direction marks: each becomes one space, so that places do not move.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if steers(c) { ' ' } else { c }).collect()
}

impl Excerpt {
    /// The name of the text and the number of the line: `policy.json, line 3`.
    pub(crate) fn place(&self) -> String {
        self.line.map_or_else(|| self.name.clone(), |line| format!("{}, line {line}", self.name))
    }

    /// The line and, below it, what underlines the part.
    #[must_use]
    pub fn lines(&self) -> String {
        format!("\n    {}\n    {}{}", self.text, " ".repeat(self.from), "^".repeat(self.to - self.from))
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n  in {}{}", self.place(), self.lines())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_several_lines_is_underlined_in_its_first() {
        let text = "one\n  two = (\n    three\n  )\n";
        let shown = Excerpt::of("f", text, 12..26).to_string();
        assert_eq!(shown, "\n  in f, line 2\n    two = (\n          ^");
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let text = format!("{}here{}", "a".repeat(500), "b".repeat(500));
        let shown = Excerpt::of("f", &text, 500..504).to_string();
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[2].len(), 4 + SHOWN);
        let place = lines[3].find('^').expect("something is underlined");
        assert_eq!(&lines[2][place..place + 4], "here");
    }

    #[test]
    fn nothing_steers_a_terminal() {
        let shown = Excerpt::of("a\u{1b}[2Jb", "x \u{1b}[31m \u{202e} y", 0..1).to_string();
        assert_eq!(shown, "\n  in a [2Jb, line 1\n    x  [31m   y\n    ^");
    }

    #[test]
    fn any_place_can_be_asked_for() {
        let text = "≥\n\n80%";
        for start in 0..12 {
            for end in 0..12 {
                assert!(Excerpt::of("f", text, start..end).to_string().contains('^'));
            }
        }
    }
}
