//! Finding integration tests by the beginning of their names.

use crate::process;
use std::fs;
use std::path::Path;
use std::process::Command;

/// One integration test: `crates/PACKAGE/tests/NAME.rs` or `crates/PACKAGE/tests/NAME/main.rs`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Suite {
    pub(crate) package: String,
    pub(crate) name: String,
}

/// All integration tests of the crates whose names begin with one of `prefixes`, in order.
// Cargo understands patterns such as `--test 'golden_*'`, but fails when one of them matches nothing.
pub(crate) fn find(root: &Path, prefixes: &[&str]) -> Vec<Suite> {
    let mut suites = Vec::new();
    for package in entries(&root.join("crates")) {
        let tests = root.join("crates").join(&package).join("tests");
        for entry in entries(&tests) {
            let is_folder = tests.join(&entry).join("main.rs").is_file();
            let Some(name) = entry.strip_suffix(".rs").or(is_folder.then_some(entry.as_str())) else { continue };
            if prefixes.iter().any(|prefix| name.starts_with(prefix)) {
                suites.push(Suite { package: package.clone(), name: name.into() });
            }
        }
    }
    suites.sort();
    suites
}

/// `cargo test` for these suites and no others. Options for cargo and for the tests may follow.
pub(crate) fn cargo_test(root: &Path, suites: &[Suite]) -> Command {
    let mut command = process::cargo(root);
    command.args(["test", "--no-fail-fast"]);
    for (flag, mut names) in [
        ("--package", suites.iter().map(|suite| suite.package.as_str()).collect::<Vec<_>>()),
        ("--test", suites.iter().map(|suite| suite.name.as_str()).collect()),
    ] {
        names.sort_unstable();
        names.dedup();
        for name in names {
            command.args([flag, name]);
        }
    }
    command
}

fn entries(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suite(package: &str, name: &str) -> Suite {
        Suite { package: package.into(), name: name.into() }
    }

    #[test]
    fn a_name_shared_by_two_packages_is_passed_once() {
        let suites = [suite("a", "golden_x"), suite("b", "golden_x"), suite("b", "vectors_y")];
        let command = cargo_test(Path::new("."), &suites);
        let args = command.get_args().map(|arg| arg.to_string_lossy()).collect::<Vec<_>>().join(" ");
        assert_eq!(args, "test --no-fail-fast --package a --package b --test golden_x --test vectors_y");
    }

    #[test]
    fn the_reference_answers_of_the_statistics_are_found() {
        let suites = find(&crate::root(), &["golden_"]);
        assert!(suites.contains(&suite("calipers-stats", "golden_moments")), "{suites:?}");
        // `tests/golden/` is a module that the suites share.
        assert!(find(&crate::root(), &["golden"]).iter().all(|suite| suite.name != "golden"));
    }
}
