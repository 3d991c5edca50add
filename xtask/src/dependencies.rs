//! What the workspace depends on: licences and sources, and known vulnerabilities where they can be looked up.
//!
//! `deny.toml` says what is allowed. Licences and sources are checked here, with nothing but cargo, so that the check runs
//! everywhere; cargo-deny adds the bans, reads licence files, and knows the advisories.

use crate::process;
use std::fs;
use std::path::Path;

/// What is allowed.
const RULES: &str = "deny.toml";

/// Checks licences and sources of every dependency on every platform, with cargo-deny as well where it is installed.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let rules = fs::read_to_string(root.join(RULES)).map_err(|cause| format!("{RULES}: {cause}"))?;
    let allowed = allowed_licences(&rules);
    if allowed.is_empty() {
        return Err(format!("{RULES}: there is no list `allow` below `[licenses]`"));
    }
    let problems = problems(&list_packages(root)?, &allowed);
    if !problems.is_empty() {
        return Err(problems.join("\n  "));
    }
    if has_cargo_deny(root) {
        process::succeed(process::cargo(root).args(["deny", "check", "licenses", "bans", "sources"]))?;
    } else {
        eprintln!("cargo-deny is not installed (`cargo install cargo-deny --locked`): bans are not checked");
    }
    Ok(())
}

/// Fetches the database of advisories, which is needed before [`check_advisories`]. An error says why there is none.
pub(crate) fn fetch_advisories(root: &Path) -> Result<(), String> {
    if !has_cargo_deny(root) {
        return Err("`cargo deny` was not found\n  hint: install it with `cargo install cargo-deny --locked`".into());
    }
    let fetched = process::output(process::cargo(root).args(["deny", "fetch", "db"]));
    let hint = "it comes from github.com/rustsec/advisory-db, which takes the network and git";
    fetched.map(drop).ok_or_else(|| format!("the database of advisories cannot be fetched\n  hint: {hint}"))
}

/// Fails for dependencies with a known vulnerability.
pub(crate) fn check_advisories(root: &Path) -> Result<(), String> {
    process::succeed(process::cargo(root).args(["deny", "check", "--disable-fetch", "advisories"]))
}

fn has_cargo_deny(root: &Path) -> bool {
    process::output(process::cargo(root).args(["deny", "--version"])).is_some()
}

/// One line per package: its name, version and source, a tab, its licence.
fn list_packages(root: &Path) -> Result<String, String> {
    let tree = |platform: &[&str]| {
        let mut tree = process::cargo(root);
        tree.args(["tree", "--workspace", "--all-features", "--locked", "--prefix", "none", "--no-dedupe"]);
        process::output(tree.args(["--format", "{p}\t{l}"]).args(platform))
    };
    if let Some(packages) = tree(&["--target", "all"]) {
        return Ok(packages);
    }
    // Packages for other platforms have to be downloaded first; those for this one are there after a build.
    eprintln!("dependencies on other platforms cannot be fetched: only those on this one are checked");
    tree(&["--offline"]).ok_or_else(|| "`cargo tree --workspace --locked --offline` failed".into())
}

/// What is wrong with these packages, each problem once.
fn problems(packages: &str, allowed: &[&str]) -> Vec<String> {
    let mut lines: Vec<&str> = packages.lines().filter(|line| !line.is_empty()).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
        .into_iter()
        .filter_map(|line| {
            // A package that its own tests depend on is marked where it comes up again.
            let (package, licence) = line.trim_end_matches(" (*)").split_once('\t').unwrap_or((line, ""));
            if package.contains("://") {
                return Some(format!("`{package}` does not come from crates.io"));
            }
            match licence {
                "" => Some(format!("`{package}` names no licence")),
                licence if is_allowed(licence, allowed) => None,
                licence => Some(format!("`{package}`: the licence `{licence}` is not allowed by {RULES}")),
            }
        })
        .collect()
}

/// The strings of `allow` below `[licenses]`. Reads TOML as it is written there: a list with one string per line.
fn allowed_licences(rules: &str) -> Vec<&str> {
    let table = rules.lines().map(str::trim).skip_while(|line| *line != "[licenses]").skip(1);
    let list = table.take_while(|line| !line.starts_with('[')).skip_while(|line| *line != "allow = [").skip(1);
    list.take_while(|line| *line != "]").filter_map(|line| line.split('"').nth(1)).collect()
}

/// True if the allowed licences satisfy an SPDX expression. `/` is how older packages write OR.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut licence = Licence { words: &words, allowed };
    licence.any().is_some_and(|satisfied| satisfied && licence.words.is_empty())
}

/// The rest of an expression. Each method reads one part from its start, and gives nothing if it is not well formed.
struct Licence<'a> {
    words: &'a [&'a str],
    allowed: &'a [&'a str],
}

impl Licence<'_> {
    /// Parts joined by OR, which binds least.
    fn any(&mut self) -> Option<bool> {
        let mut satisfied = self.all()?;
        while self.take("OR") {
            satisfied |= self.all()?;
        }
        Some(satisfied)
    }

    /// Parts joined by AND.
    fn all(&mut self) -> Option<bool> {
        let mut satisfied = self.one()?;
        while self.take("AND") {
            satisfied &= self.one()?;
        }
        Some(satisfied)
    }

    /// An expression in parentheses, or one licence with its exception.
    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let satisfied = self.any()?;
            return self.take(")").then_some(satisfied);
        }
        let mut name = self.word()?.to_owned();
        if self.take("WITH") {
            name = format!("{name} WITH {}", self.word()?);
        }
        Some(self.allowed.contains(&name.as_str()))
    }

    fn word(&mut self) -> Option<&str> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(first)
    }

    fn take(&mut self, word: &str) -> bool {
        let is_next = self.words.first() == Some(&word);
        if is_next {
            self.words = &self.words[1..];
        }
        is_next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licences_are_read_as_spdx_expressions() {
        for (expression, want) in [
            ("MIT", true),
            ("GPL-3.0", false),
            ("GPL-3.0 OR MIT", true),
            ("GPL-3.0/MIT", true),
            ("MIT AND GPL-3.0", false),
            ("(GPL-3.0 OR MIT) AND ISC", true),
            ("GPL-3.0 OR MIT AND ISC", true),
            ("(GPL-3.0 OR MIT) AND GPL-2.0", false),
            ("MIT WITH LLVM-exception", false),
            ("", false),
            ("MIT OR", false),
            ("(MIT", false),
            ("MIT ISC", false),
        ] {
            assert_eq!(is_allowed(expression, &["MIT", "ISC"]), want, "{expression}");
        }
        assert!(is_allowed("Apache-2.0 WITH LLVM-exception", &["Apache-2.0 WITH LLVM-exception"]));
    }

    #[test]
    fn each_package_that_is_not_allowed_is_named_once() {
        let packages = "a v1.0.0\tMIT\nb v1.0.0\tGPL-3.0\n\nb v1.0.0\tGPL-3.0\nc v1.0.0\t\n\
                        d v1.0.0 (https://example.org/d?rev=1#2)\tMIT\ne v1.0.0 (proc-macro)\tMIT\n";
        assert_eq!(
            problems(packages, &["MIT"]),
            [
                "`b v1.0.0`: the licence `GPL-3.0` is not allowed by deny.toml",
                "`c v1.0.0` names no licence",
                "`d v1.0.0 (https://example.org/d?rev=1#2)` does not come from crates.io",
            ]
        );
    }

    #[test]
    fn the_rules_of_the_workspace_allow_some_licences_and_not_all() {
        let rules = fs::read_to_string(crate::root().join(RULES)).unwrap();
        let allowed = allowed_licences(&rules);
        assert!(allowed.contains(&"MIT") && allowed.contains(&"Zlib"), "{allowed:?}");
        assert!(!is_allowed("GPL-3.0-only", &allowed));
    }
}
