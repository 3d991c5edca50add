//! Regular expressions: Python's, as users write them for Inspect, and our own, which always take linear time.

use fancy_regex::{Captures, Regex, RegexBuilder};

/// Longer texts are not searched: a pattern with lookaround may read the whole text at every position.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// A regular expression of ours.
pub(crate) fn ours(pattern: &str) -> regex::Regex {
    regex::Regex::new(pattern).expect("the pattern is one of ours")
}

/// The first group of the last match.
pub(crate) fn last_group<'t>(pattern: &regex::Regex, text: &'t str) -> Option<&'t str> {
    let last = pattern.find_iter(text).last()?;
    Some(pattern.captures_at(text, last.start())?.get(1)?.as_str())
}

/// A regular expression from a user. It cannot hang: after a number of steps a search gives up.
#[derive(Debug)]
pub(crate) struct Pattern(Regex);

impl Pattern {
    pub(crate) fn new(pattern: &str, ignore_case: bool) -> Result<Self, String> {
        let mut builder = RegexBuilder::new(&translate(pattern));
        let regex = builder.case_insensitive(ignore_case).backtrack_limit(1_000_000).build();
        regex.map(Self).map_err(|error| error.to_string())
    }

    /// The number of groups.
    pub(crate) fn groups(&self) -> usize {
        self.0.captures_len() - 1
    }

    /// The first match, or a message that says why the search was given up.
    pub(crate) fn search<'t>(&self, text: &'t str) -> Result<Option<Captures<'t>>, String> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(format!("the text is longer than {} MiB, too long for a pattern", TEXT_BYTES_MAX >> 20));
        }
        self.0.captures(text).map_err(|error| format!("the search for the pattern was given up: {error}"))
    }
}

/// The pattern in the syntax of our engine: `\Z` is the very end, `$` also matches before a last line break, and a `[`
/// within brackets stands for itself.
fn translate(pattern: &str) -> String {
    let multi_line = has_flag(pattern, 'm');
    let mut ours = String::with_capacity(pattern.len() + 16);
    let mut characters = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(c) = characters.next() {
        match c {
            '\\' => match characters.next() {
                Some('Z') if !in_class => ours.push_str("\\z"),
                Some(escaped) => ours.extend(['\\', escaped]),
                None => ours.push('\\'),
            },
            '[' if !in_class => {
                in_class = true;
                ours.push('[');
                ours.extend(characters.next_if_eq(&'^'));
                if characters.next_if_eq(&']').is_some() {
                    ours.push_str("\\]");
                }
            }
            '[' | '&' | '~' if in_class => ours.extend(['\\', c]),
            ']' => {
                in_class = false;
                ours.push(']');
            }
            '$' if !in_class && !multi_line => ours.push_str("(?=\\n?\\z)"),
            other => ours.push(other),
        }
    }
    ours
}

/// True where an inline group such as `(?im)` or `(?m:` turns a flag on.
fn has_flag(pattern: &str, flag: char) -> bool {
    pattern.split("(?").skip(1).any(|after| {
        let flags: String = after.chars().take_while(char::is_ascii_lowercase).collect();
        let ends = after[flags.len()..].chars().next();
        matches!(ends, Some(')' | ':' | '-')) && flags.contains(flag)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(pattern: &str, text: &str) -> Option<String> {
        let pattern = Pattern::new(pattern, false).expect("the pattern is one");
        let found = pattern.search(text).expect("the search ends");
        found.map(|captures| captures.get(0).map_or("", |m| m.as_str()).to_owned())
    }

    #[test]
    fn patterns_mean_what_they_mean_in_python() {
        for (pattern, text, want) in [
            ("x$", "x\n", Some("x")),
            ("x$", "x\n\n", None),
            ("x\\Z", "x\n", None),
            ("x\\Z", "ax", Some("x")),
            ("(?m)^x$", "a\nx\nb", Some("x")),
            ("[[a]+", "[a[", Some("[a[")),
            ("[]a]+", "]a", Some("]a")),
            ("[$&~]+", "$&~", Some("$&~")),
            ("(?<=a)b(?!c)", "abc ab", Some("b")),
            ("\\$\\d+", "costs $5", Some("$5")),
        ] {
            assert_eq!(first(pattern, text).as_deref(), want, "{pattern} in {text:?}");
        }
    }

    #[test]
    fn a_search_that_would_not_end_is_given_up() {
        let slow = Pattern::new("^(a+)+\\1$", false).expect("the pattern is one");
        let error = slow.search(&format!("{}b", "a".repeat(64))).expect_err("too many steps");
        assert!(error.starts_with("the search for the pattern was given up"), "{error}");
        assert!(slow.search(&"a".repeat(TEXT_BYTES_MAX + 1)).is_err());
    }
}
