//! Text that leaves for a terminal or a log.
//!
//! Names, errors and answers come from files, and a model may have written them. A terminal obeys escape sequences; the log
//! of a workflow obeys lines such as `::error::…` (GitHub) and `##[error]…`, `##vso[…]` or `##teamcity[…]` (Azure Pipelines,
//! TeamCity). So everything that is printed passes through [`defuse`], and what should be a name in a line of ours
//! passes through [`one_line`] first.

use std::borrow::Cow;

/// What stands for a character that would do something else than be read.
const STAND_IN: char = '\u{fffd}';

/// True for a character that steers instead of being read: control characters, line separators, the marks that change
/// the direction of writing, and invisible characters. The joiners of emoji and scripts are left.
#[must_use]
pub fn steers(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{2069}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Text in one line, with what steers made visible.
///
/// ```
/// assert_eq!(calipers_core::one_line("a\n\u{1b}[31mb"), "a\u{fffd}\u{fffd}[31mb");
/// ```
#[must_use]
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| if steers(c) { STAND_IN } else { c }).collect()
}

/// Lines that neither steer a terminal nor are commands to what keeps a log.
///
/// Line ends and tabs stay, and so do the escape sequences of colours if `has_colour` says that we wrote some.
///
/// ```
/// use calipers_core::defuse;
///
/// assert_eq!(defuse("all is well: a::b\n", false), "all is well: a::b\n");
/// assert_eq!(defuse("  ::stop-commands::x", false), "  :\u{fffd}:stop-commands::x");
/// assert_eq!(defuse("see ##vso[task.complete]", false), "see #\u{fffd}#vso[task.complete]");
/// assert_eq!(defuse("\u{1b}[1mbold\u{1b}[0m \u{1b}[2J", true), "\u{1b}[1mbold\u{1b}[0m \u{fffd}[2J");
/// ```
#[must_use]
pub fn defuse(text: &str, has_colour: bool) -> Cow<'_, str> {
    let is_harmless =
        !text.contains("::") && !text.contains("##") && !text.chars().any(|c| c != '\n' && c != '\t' && steers(c));
    if is_harmless {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        // Colour and blanks are no part of what a line begins with.
        let mut is_start = true;
        while let Some(c) = rest.chars().next() {
            let mut length = c.len_utf8();
            if let Some(colour) = colour_length(rest).filter(|_| has_colour) {
                safe.push_str(&rest[..colour]);
                rest = &rest[colour..];
                continue;
            }
            match c {
                '\n' | '\t' => safe.push(c),
                c if steers(c) => safe.push(STAND_IN),
                ':' if is_start && rest.starts_with("::") => {
                    safe.extend([':', STAND_IN, ':']);
                    length = 2;
                }
                '#' if is_hash_command(rest) => safe.extend(['#', STAND_IN]),
                c => safe.push(c),
            }
            is_start &= c.is_whitespace() || steers(c);
            rest = &rest[length..];
        }
    }
    Cow::Owned(safe)
}

/// JSON that says the same, with escapes in place of what steers a terminal or is a command to what keeps a log.
///
/// ```
/// use calipers_core::defuse_json;
///
/// assert_eq!(defuse_json(r###"{"name": "##[error]\u0007"}"###), r###"{"name": "\u0023#[error]\u0007"}"###);
/// assert_eq!(defuse_json("[\"\u{9b}\"]\n"), "[\"\\u009b\"]\n");
/// ```
#[must_use]
pub fn defuse_json(json: &str) -> Cow<'_, str> {
    let is_harmless = !json.contains("##") && !json.chars().any(|c| c != '\n' && steers(c));
    if is_harmless {
        return Cow::Borrowed(json);
    }
    // Outside strings, JSON has neither of them but for white space.
    let mut safe = String::with_capacity(json.len() + 16);
    for (place, c) in json.char_indices() {
        match c {
            '\n' | '\r' | '\t' => safe.push(c),
            '#' if is_hash_command(&json[place..]) => safe.push_str("\\u0023"),
            c if steers(c) => {
                let mut units = [0; 2];
                c.encode_utf16(&mut units).iter().for_each(|unit| safe.push_str(&format!("\\u{unit:04x}")));
            }
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// HTML or XML that says the same, with entities in place of commands to what keeps a log.
///
/// ```
/// use calipers_core::defuse_markup;
///
/// assert_eq!(defuse_markup("<p>\n::error::##[group]"), "<p>\n&#58;:error::&#35;#[group]");
/// ```
#[must_use]
pub fn defuse_markup(markup: &str) -> Cow<'_, str> {
    if !markup.contains("::") && !markup.contains("##") {
        return Cow::Borrowed(markup);
    }
    let mut safe = String::with_capacity(markup.len() + 16);
    for line in markup.split_inclusive('\n') {
        let start = line.len() - line.trim_start().len();
        for (place, c) in line.char_indices() {
            match c {
                ':' if place == start && line[place..].starts_with("::") => safe.push_str("&#58;"),
                '#' if is_hash_command(&line[place..]) => safe.push_str("&#35;"),
                c => safe.push(c),
            }
        }
    }
    Cow::Owned(safe)
}

/// True for `##[`, `##vso[` and the like: two hashes, a word or none, and a bracket.
fn is_hash_command(text: &str) -> bool {
    text.strip_prefix("##").is_some_and(|rest| {
        rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')).starts_with('[')
    })
}

/// The length of the escape sequence of a colour that the text begins with.
fn colour_length(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("\u{1b}[")?;
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').len();
    rest[digits..].starts_with('m').then_some(2 + digits + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_wherever_a_runner_finds_them() {
        for (text, want) in [
            ("::error::x", ":\u{fffd}:error::x"),
            ("a\n \t::error::x\nb::c", "a\n \t:\u{fffd}:error::x\nb::c"),
            ("\u{a0}::error::x", "\u{a0}:\u{fffd}:error::x"),
            ("\r::error::x", "\u{fffd}:\u{fffd}:error::x"),
            ("\u{200b}::error::x", "\u{fffd}:\u{fffd}:error::x"),
            ("x ##[error]y ##vso[z] ##teamcity[a]", "x #\u{fffd}#[error]y #\u{fffd}#vso[z] #\u{fffd}#teamcity[a]"),
            ("###[error]", "##\u{fffd}#[error]"),
            ("## [a] ##a b[", "## [a] ##a b["),
            ("::", ":\u{fffd}:"),
        ] {
            assert_eq!(defuse(text, false), want, "{text:?}");
            assert_eq!(defuse(want, false), want, "a second time changes nothing");
        }
        assert_eq!(defuse("\u{1b}[1m::error::x\u{1b}[0m", true), "\u{1b}[1m:\u{fffd}:error::x\u{1b}[0m");
        assert_eq!(defuse("\u{1b}[1mx", false), "\u{fffd}[1mx");
    }

    #[test]
    fn the_joiners_of_emoji_are_kept() {
        assert_eq!(one_line("評価 é 👨\u{200d}👩"), "評価 é 👨\u{200d}👩");
        assert_eq!(one_line("a\u{202e}b\u{e0041}"), "a\u{fffd}b\u{fffd}");
    }

    #[test]
    fn json_means_the_same_afterwards() {
        let value = serde_json::json!({"a": "##vso[x]\u{9b}\u{202e}\u{e0041}\u{7f}", "##[b]": ["::error::", "\\##["]});
        let text = format!("{value:#}");
        let safe = defuse_json(&text);
        assert!(!safe.contains("##") && !safe.chars().any(|c| c != '\n' && steers(c)), "{safe}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).expect("JSON"), value);
    }
}
