//! Flags belong to the command line. A library that names one advises what its caller may not have.

use super::Repository;
use super::rust_tokens::{TokenKind, tokenize, without_tests};

/// The crates that may name flags: the command line, and what only tests use.
const EXEMPT: [&str; 2] = ["crates/calipers-cli/", "crates/calipers-testing/"];
/// The example of a metric is a whole command, which begins with the name of the program.
const COMMAND: &str = "calipers ";

pub(super) fn problems(repository: &Repository) -> Vec<String> {
    let is_library = |path: &str| {
        path.starts_with("crates/")
            && path.contains("/src/")
            && path.ends_with(".rs")
            && !path.ends_with("/tests.rs")
            && !EXEMPT.iter().any(|exempt| path.starts_with(exempt))
    };
    let mut problems = Vec::new();
    for file in repository.files.iter().filter(|file| is_library(&file.path)) {
        for token in without_tests(&tokenize(&file.text)) {
            if token.kind != TokenKind::Text || token.text.starts_with(COMMAND) {
                continue;
            }
            if let Some(flag) = flag(token.text) {
                problems.push(format!("{}:{}: `{flag}` is a flag: calipers-cli names it", file.path, token.line));
            }
        }
    }
    problems
}

/// The first flag in a text: `--json` after a blank, a quote or a bracket, or at the start.
fn flag(text: &str) -> Option<&str> {
    let begins = |at: usize| text[..at].chars().next_back().is_none_or(|before| " `'\"(=".contains(before));
    let names = text.match_indices("--").filter(|(at, _)| begins(*at)).map(|(at, _)| &text[at..]);
    let name =
        |rest: &'_ str| -> usize { rest.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(rest.len()) };
    names.map(|rest| &rest[..name(rest)]).find(|flag| flag.len() > 2 && !flag[2..].starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_told_from_a_line_and_from_a_comment() {
        for (text, want) in [
            ("choose one with `--for-version`", Some("--for-version")),
            ("--json has all", Some("--json")),
            ("and 3 more (--json)", Some("--json")),
            ("  [--o--]  ", None),
            ("<!-- calipers -->", None),
            ("a -- b", None),
            ("var(---x)", None),
            ("------", None),
        ] {
            assert_eq!(flag(text), want, "{text}");
        }
    }
}
