//! Finding suites of integration tests by the beginning of their names.

use crate::process;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The integration binary of every crate: `crates/PACKAGE/tests/it/main.rs`. A suite is one of its modules.
pub(crate) const BINARY: &str = "it";

/// One suite: `crates/PACKAGE/tests/it/NAME.rs` or `crates/PACKAGE/tests/it/NAME/mod.rs`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Suite {
    pub(crate) package: String,
    pub(crate) name: String,
}

impl Suite {
    /// What the names of its tests begin with.
    pub(crate) fn filter(&self) -> String {
        format!("{}::", self.name)
    }
}

/// All suites whose names begin with one of `prefixes`, in order.
pub(crate) fn find(root: &Path, prefixes: &[&str]) -> Vec<Suite> {
    let mut suites = Vec::new();
    for package in entries(&root.join("crates")) {
        let tests = root.join("crates").join(&package).join("tests").join(BINARY);
        for entry in entries(&tests) {
            let is_folder = tests.join(&entry).join("mod.rs").is_file();
            let Some(name) = entry.strip_suffix(".rs").or(is_folder.then_some(entry.as_str())) else { continue };
            if prefixes.iter().any(|prefix| name.starts_with(prefix)) {
                suites.push(Suite { package: package.clone(), name: name.into() });
            }
        }
    }
    suites.sort();
    suites
}

/// `cargo test` for the integration binaries that hold these suites. Options for cargo may follow, then `--` and the
/// filters of the suites.
pub(crate) fn cargo_test(root: &Path, suites: &[Suite]) -> Command {
    let mut command = process::cargo(root);
    command.args(["test", "--no-fail-fast", "--test", BINARY]);
    for package in distinct(suites.iter().map(|suite| suite.package.clone())) {
        command.args(["--package", &package]);
    }
    command
}

/// The filters of these suites, each once.
pub(crate) fn filters(suites: &[Suite]) -> Vec<String> {
    distinct(suites.iter().map(Suite::filter))
}

fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names.dedup();
    names
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
    fn a_package_and_a_name_are_passed_once() {
        let suites = [suite("a", "golden_x"), suite("b", "golden_x"), suite("b", "vectors_y")];
        let command = cargo_test(Path::new("."), &suites);
        let args = command.get_args().map(|arg| arg.to_string_lossy()).collect::<Vec<_>>().join(" ");
        assert_eq!(args, "test --no-fail-fast --test it --package a --package b");
        assert_eq!(filters(&suites), ["golden_x::", "vectors_y::"]);
    }

    #[test]
    fn the_reference_answers_of_the_statistics_are_found() {
        let suites = find(&crate::root(), &["golden_"]);
        assert!(suites.contains(&suite("calipers-stats", "golden_moments")), "{suites:?}");
    }
}
