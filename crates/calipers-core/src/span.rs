//! Places in a policy file, and mistakes with their place.

use crate::excerpt::printable;
use crate::{Excerpt, brief};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A file as it was read.
#[derive(Debug, PartialEq, Eq)]
pub struct SourceText {
    /// The name of the file.
    pub name: String,
    /// The content.
    pub text: String,
}

/// A part of a file, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The file.
    pub text: Arc<SourceText>,
    /// The part.
    pub range: Range<usize>,
}

/// A value with the place it was read from.
#[derive(Clone, Debug, PartialEq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// The place.
    pub span: Span,
}

/// What is wrong with a policy, with the place underlined and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// What is wrong.
    pub message: String,
    /// Where.
    pub span: Option<Span>,
    /// What to do.
    pub hint: Option<String>,
    /// What the caller can choose instead, if it is not the policy that has to change.
    pub remedy: Option<PolicyRemedy>,
}

/// What the caller of a policy can choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyRemedy {
    /// A version whose thresholds apply.
    ChooseVersion,
    /// No version.
    LeaveVersionOut,
}

impl Mistake {
    /// Something wrong.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), span: None, hint: None, remedy: None }
    }

    /// At this place.
    #[must_use]
    pub fn at(mut self, span: &Span) -> Self {
        self.span = Some(span.clone());
        self
    }

    /// With what the caller can choose.
    #[must_use]
    pub fn remedy(mut self, remedy: PolicyRemedy) -> Self {
        self.remedy = Some(remedy);
        self
    }

    /// With what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl Span {
    /// No place, for values that are not from a file.
    #[must_use]
    pub fn nowhere() -> Self {
        Self { text: Arc::new(SourceText { name: String::new(), text: String::new() }), range: 0..0 }
    }

    /// The line it begins in, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        let before = self.text.text.bytes().take(self.range.start);
        before.filter(|&byte| byte == b'\n').count() + 1
    }

    /// The column it begins in, in characters from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        let before = self.text.text.get(..self.range.start).unwrap_or_default();
        before.rsplit('\n').next().unwrap_or_default().chars().count() + 1
    }

    /// The text at this place.
    #[must_use]
    pub fn raw(&self) -> &str {
        self.text.text.get(self.range.clone()).unwrap_or_default()
    }

    /// The place of a part of the text `value` that was read from here, given by its bytes in `value`.
    ///
    /// The source and the value differ where there are quotes, escapes or indentation. Where the part cannot be found, the
    /// place is the whole.
    #[must_use]
    pub fn within(&self, value: &str, part: Range<usize>) -> Self {
        let raw = self.raw();
        let found = verbatim(raw, value, &part)
            .or_else(|| find_unescaped(raw, value, &part))
            .or_else(|| by_line(raw, value, &part))
            .filter(|found| raw.is_char_boundary(found.start) && raw.is_char_boundary(found.end));
        match found {
            Some(found) => {
                let range = self.range.start + found.start..self.range.start + found.end;
                Self { text: Arc::clone(&self.text), range }
            }
            None => self.clone(),
        }
    }
}

/// The value is written as it is, perhaps in quotes.
fn verbatim(raw: &str, value: &str, part: &Range<usize>) -> Option<Range<usize>> {
    let at = raw.find(value)?;
    Some(at + part.start..at + part.end)
}

/// The value is written with the escapes of JSON, which TOML and YAML share.
fn find_unescaped(raw: &str, value: &str, part: &Range<usize>) -> Option<Range<usize>> {
    let mut at = usize::from(raw.starts_with('"'));
    let (mut start, mut end) = (None, None);
    for (place, wanted) in value.char_indices() {
        if place == part.start {
            start = Some(at);
        }
        if place == part.end {
            end = Some(at);
        }
        let (read, length) = one_character(raw.get(at..)?)?;
        if read != wanted {
            return None;
        }
        at += length;
    }
    let end = end.or((part.end == value.len()).then_some(at))?;
    Some(start.or((part.start == value.len()).then_some(at))?..end)
}

/// The first character of an escaped text, and the bytes it takes there.
fn one_character(raw: &str) -> Option<(char, usize)> {
    let first = raw.chars().next()?;
    if first != '\\' {
        return Some((first, first.len_utf8()));
    }
    let read = match raw.chars().nth(1)? {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'u' => return four_digits(raw),
        same @ ('"' | '\\' | '/') => same,
        _ => return None,
    };
    Some((read, 2))
}

fn four_digits(raw: &str) -> Option<(char, usize)> {
    let unit = |from: usize| u16::from_str_radix(raw.get(from..from + 4)?, 16).ok();
    let first = unit(2)?;
    if let Some(read) = char::from_u32(u32::from(first)) {
        return Some((read, 6));
    }
    let pair = [first, raw.get(6..8).filter(|sign| *sign == "\\u").and_then(|_| unit(8))?];
    let read = char::decode_utf16(pair).next()?.ok()?;
    Some((read, 12))
}

/// The value is written line by line, each after its indentation.
fn by_line(raw: &str, value: &str, part: &Range<usize>) -> Option<Range<usize>> {
    let (mut at, mut place, mut start) = (0, 0, None);
    for line in value.split('\n') {
        let text = line.trim();
        let begin = at + raw.get(at..)?.find(text)?;
        let indentation = line.len() - line.trim_start().len();
        let here = |offset: usize| begin + offset.saturating_sub(place + indentation).min(text.len());
        if start.is_none() && part.start <= place + line.len() {
            start = Some(here(part.start));
        }
        if let Some(start) = start
            && part.end <= place + line.len()
        {
            return Some(start..here(part.end).max(start));
        }
        at = begin + text.len();
        place += line.len() + 1;
    }
    None
}

/// A text from a file in backticks, shortened if it is long.
pub fn quoted(text: &str) -> String {
    const SHOWN: usize = 60;
    let text = text.trim();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}

impl<T> std::ops::Deref for Spanned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&brief(&printable(&self.message)))?;
        if let Some(span) = &self.span {
            write!(f, "{}", Excerpt::of(&span.text.name, &span.text.text, span.range.clone()))?;
        }
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {}", brief(&printable(hint))),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Mistake {}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(raw: &str, value: &str, part: &str, want: &str) {
        let text = format!("key: {raw}\nmore");
        let span = Span { text: Arc::new(SourceText { name: "f".into(), text }), range: 5..5 + raw.len() };
        let start = value.find(part).expect("a part of the value");
        assert_eq!(span.within(value, start..start + part.len()).raw(), want);
    }

    #[test]
    fn a_part_of_a_text_is_found_where_it_is_written() {
        check("\"a + bb\"", "a + bb", "bb", "bb");
        check("'a ≥ bb'", "a ≥ bb", "bb", "bb");
        check(r#""a \u2265 b\u00df\nc\td""#, "a ≥ bß\nc\td", "bß", r"b\u00df");
        check(r#""a \u2265 b\nc\td""#, "a ≥ b\nc\td", "d", "d");
        check(r#""\ud83d\ude00 x""#, "😀 x", "x", "x");
        check("|\n      one = (\n        a\n      )\n", "one = (\n  a\n)\n", "a", "a");
        check("|\n      one = (\n        a\n      )\n", "one = (\n  a\n)\n", "(\n  a\n)", "(\n        a\n      )");
        check("\"x\\\n  y\"", "xy", "y", "\"x\\\n  y\"");
    }
}
