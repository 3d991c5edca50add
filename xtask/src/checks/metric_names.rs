//! The judge asks metrics what they declare. A metric that it knows by name is one that others cannot be like.

use super::Repository;
use super::rust_tokens::{TokenKind, tokenize, without_tests};
use std::collections::BTreeSet;

/// The page that is made from what every metric says about itself.
const REFERENCE: &str = "docs/metrics.md";
/// What must not know metrics by name.
const FOLDER: &str = "crates/calipers-gate/src/";

pub(super) fn problems(repository: &Repository) -> Vec<String> {
    let Some(reference) = repository.file(REFERENCE) else {
        return vec![format!("{REFERENCE}: the names of the metrics are looked up here")];
    };
    let known = metric_names(&reference.text);
    let mut problems = Vec::new();
    for file in repository.files.iter().filter(|file| file.path.starts_with(FOLDER) && file.path.ends_with(".rs")) {
        for token in without_tests(&tokenize(&file.text)) {
            if token.kind == TokenKind::Text && known.contains(stem(token.text)) {
                let (path, line, name) = (&file.path, token.line, token.text);
                problems.push(format!("{path}:{line}: `{name}` is a metric: ask it what it declares"));
            }
        }
    }
    problems
}

/// The names in the table of metrics: ``| [`pass_rate`](#pass_rate) | …``.
fn metric_names(reference: &str) -> BTreeSet<&str> {
    reference.lines().filter_map(|line| line.strip_prefix("| [`")?.split_once('`')).map(|(name, _)| name).collect()
}

/// What a literal names, without what is put after it: `pass_rate` of `pass_rate[{category}]`.
fn stem(text: &str) -> &str {
    text.split(['[', '(', '{']).next().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_the_table() {
        let page = "| metric |\n|---|\n| [`pass_rate`](#pass_rate) | x |\n| [`f1`](#f1) | y |\n\ntext";
        assert_eq!(metric_names(page), BTreeSet::from(["pass_rate", "f1"]));
        assert_eq!(stem("pass_rate[{category}]"), "pass_rate");
        assert_eq!(stem("f1"), "f1");
    }
}
