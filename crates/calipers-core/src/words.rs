//! Words in messages: a count with its noun, and literals that are cut where they are too long.

use std::borrow::Cow;
use std::fmt::Display;

/// A count with its noun: `1 scenario`, `2 scenarios`.
///
/// ```
/// use calipers_core::pluralize;
///
/// assert_eq!(pluralize(1, "required scenario"), "1 required scenario");
/// assert_eq!(pluralize(0, "day"), "0 days");
/// assert_eq!(pluralize(200_000, "sample"), "200,000 samples");
/// ```
#[must_use]
pub fn pluralize(count: impl Display, noun: &str) -> String {
    let count = group_digits(&count.to_string());
    if count == "1" { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Digits with commas between thousands: `1,537`, `-12,000.5`. What is no plain number stays as it is.
///
/// ```
/// use calipers_core::group_digits;
///
/// assert_eq!(group_digits("999"), "999");
/// assert_eq!(group_digits("1000000"), "1,000,000");
/// assert_eq!(group_digits("-1234.5678"), "-1,234.5678");
/// assert_eq!(group_digits("1.5e12"), "1.5e12");
/// ```
#[must_use]
pub fn group_digits(text: &str) -> String {
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (whole, decimals) = rest.split_once('.').map_or((rest, None), |(whole, decimals)| (whole, Some(decimals)));
    let is_plain = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_plain(whole) || !decimals.is_none_or(is_plain) {
        return text.to_owned();
    }
    let first = whole.len() % 3;
    let head = (first > 0).then(|| whole[..first].to_owned());
    let groups = whole.as_bytes()[first..].chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
    let grouped = head.into_iter().chain(groups).collect::<Vec<_>>().join(",");
    let decimals = decimals.map_or_else(String::new, |decimals| format!(".{decimals}"));
    format!("{sign}{grouped}{decimals}")
}

/// As much of a literal as is shown: more than any sensible name or path has.
const LITERAL_MAX: usize = 200;
/// As much of a line, for what names many things or has no backticks.
const LINE_MAX: usize = 2000;

/// A message in which no literal and no line is endless: a name may come from a file, where it can be as long as the file.
///
/// Literals stand in backticks. What is left out is counted.
///
/// ```
/// use calipers_core::brief;
///
/// assert_eq!(brief("there is no metric `acuracy`"), "there is no metric `acuracy`");
/// let message = format!("there is no metric `{}`", "a".repeat(900_000));
/// assert_eq!(brief(&message), format!("there is no metric `{}… (899800 more characters)`", "a".repeat(200)));
/// ```
#[must_use]
pub fn brief(message: &str) -> Cow<'_, str> {
    // Most messages are short as a whole.
    if message.len() <= LITERAL_MAX {
        return Cow::Borrowed(message);
    }
    let lines: Vec<String> = message.split('\n').map(brief_line).collect();
    Cow::Owned(lines.join("\n"))
}

fn brief_line(line: &str) -> String {
    // Every second part stands between backticks; one that is never closed is no literal.
    let parts: Vec<&str> = line.split('`').collect();
    let is_literal = |place: usize| place % 2 == 1 && place + 1 < parts.len();
    let part =
        |(place, part): (usize, &&str)| if is_literal(place) { cut(part, LITERAL_MAX) } else { (*part).to_owned() };
    let line: Vec<String> = parts.iter().enumerate().map(part).collect();
    cut(&line.join("`"), LINE_MAX)
}

fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}… ({} more characters)", &text[..end], text[end..].chars().count()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_backticks_is_cut_as_a_line() {
        let message = format!("the run has {}\n  hint: look `here", "a, ".repeat(5000));
        let said = brief(&message);
        assert!(said.len() < 2100, "{}", said.len());
        assert!(said.ends_with("\n  hint: look `here"), "{said}");
    }

    #[test]
    fn several_literals_are_each_cut() {
        let long = "é".repeat(300);
        let said = brief(&format!("`{long}` is not `{long}`, but `short`")).into_owned();
        assert_eq!(said.matches("… (100 more characters)`").count(), 2, "{said}");
        assert!(said.ends_with(", but `short`"), "{said}");
    }
}
