//! The inner crates know nothing of the outer ones, in their tests and build scripts too, and nothing that ships depends on
//! what only tests use.

use super::Repository;

/// The inner crates, and the crates of this workspace that each may depend on.
const INNER: [(&str, &[&str]); 10] = [
    ("calipers-stats", &[]),
    ("calipers-core", &["calipers-stats"]),
    ("calipers-gate", &["calipers-stats", "calipers-core"]),
    ("calipers-compare", &["calipers-stats", "calipers-core"]),
    ("calipers-store", &[]),
    ("calipers-io", &["calipers-stats", "calipers-core", "calipers-gate", "calipers-store"]),
    ("calipers-run", &["calipers-stats", "calipers-core"]),
    ("calipers-render", &["calipers-stats", "calipers-core", "calipers-gate", "calipers-compare"]),
    ("calipers-script", &["calipers-stats", "calipers-core", "calipers-run"]),
    // It asks the facade, and knows nothing of flags.
    ("calipers-view", &["calipers"]),
];

/// What the tests of several crates share.
const TESTING: &str = "calipers-testing";

pub(super) fn problems(repository: &Repository) -> Vec<String> {
    let members: Vec<&str> =
        repository.files_named("Cargo.toml").filter_map(|manifest| package_name(&manifest.text)).collect();
    let mut problems = Vec::new();
    for (name, allowed) in INNER {
        let path = format!("crates/{name}/Cargo.toml");
        let Some(manifest) = repository.file(&path) else {
            problems.push(format!("{path}: not found"));
            continue;
        };
        let outer = dependencies(&manifest.text).into_iter().map(|(_, other)| other);
        let outer = outer.filter(|other| members.contains(other) && !allowed.contains(other) && *other != TESTING);
        problems.extend(outer.map(|other| format!("{path}: `{name}` must not depend on `{other}`")));
    }
    for manifest in repository.files_named("Cargo.toml") {
        problems.extend(testing_problems(&manifest.path, &manifest.text, &members));
    }
    problems
}

/// The support of tests stands in `[dev-dependencies]` alone, and depends on no member of the workspace.
fn testing_problems(path: &str, manifest: &str, members: &[&str]) -> Vec<String> {
    // The root of the workspace names versions and depends on nothing.
    let Some(name) = package_name(manifest) else { return Vec::new() };
    let dependencies = dependencies(manifest);
    if name == TESTING {
        let inner = dependencies.into_iter().filter(|(_, other)| members.contains(other));
        return inner.map(|(_, other)| format!("{path}: `{TESTING}` must not depend on `{other}`")).collect();
    }
    let shipped = dependencies.into_iter().filter(|(kind, other)| *other == TESTING && *kind != "dev-dependencies");
    shipped.map(|(kind, _)| format!("{path}: `{TESTING}` is in `[{kind}]`, and is only for tests")).collect()
}

/// The name in the `[package]` table.
fn package_name(manifest: &str) -> Option<&str> {
    let mut lines = manifest.lines().map(str::trim).skip_while(|line| *line != "[package]").skip(1);
    lines.find_map(|line| value_of(line, "name"))
}

/// The kind and package of everything that a manifest depends on. Reads TOML as people write it by hand, line by line.
fn dependencies(manifest: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut table = Table::Other;
    for line in manifest.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        if let Some(header) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            table = Table::of(header.0);
            found.extend(if let Table::One(kind, name) = table { Some((kind, name)) } else { None });
            continue;
        }
        let renamed = line.find("package").and_then(|at| value_of(&line[at..], "package"));
        match (&table, line.split_once('=')) {
            (Table::Many(kind), Some((key, _))) => {
                let name = key.split('.').next().unwrap_or(key).trim().trim_matches('"');
                found.push((*kind, renamed.unwrap_or(name)));
            }
            (Table::One(kind, _), Some(_)) => found.extend(renamed.map(|name| (*kind, name))),
            _ => {}
        }
    }
    found
}

enum Table<'a> {
    /// `[dependencies]` and its like: each line is a dependency.
    Many(&'a str),
    /// `[dependencies.NAME]`: each line says something about one.
    One(&'a str, &'a str),
    Other,
}

impl<'a> Table<'a> {
    fn of(header: &'a str) -> Self {
        let is_kind = |part: &str| matches!(part, "dependencies" | "dev-dependencies" | "build-dependencies");
        match header.rsplit_once('.') {
            _ if is_kind(header) => Self::Many(header),
            Some((_, last)) if is_kind(last) => Self::Many(last),
            Some((rest, last)) => {
                let kind = rest.rsplit_once('.').map_or(rest, |(_, kind)| kind);
                if is_kind(kind) { Self::One(kind, last.trim_matches('"')) } else { Self::Other }
            }
            _ => Self::Other,
        }
    }
}

/// The string in `key = "string"`.
fn value_of<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let value = line.strip_prefix(key)?.trim_start().strip_prefix('=')?.trim_start().strip_prefix('"')?;
    value.split_once('"').map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_read_in_every_form() {
        let manifest = r#"
[package]
name = "inner"
version.workspace = true

[dependencies]
a.workspace = true # the usual form
b = "1"
# c = "1"
d = { version = "1", features = [
    "x",
] }
alias = { package = "e", version = "1" }

[dev-dependencies.f]
workspace = true

[target.'cfg(unix)'.build-dependencies]
g = { path = "../g" }

[features]
not-one = []
"#;
        let (normal, dev, build) = ("dependencies", "dev-dependencies", "build-dependencies");
        let want = [(normal, "a"), (normal, "b"), (normal, "d"), (normal, "e"), (dev, "f"), (build, "g")];
        assert_eq!(dependencies(manifest), want);
        assert_eq!(package_name(manifest), Some("inner"));
    }

    #[test]
    fn an_inner_crate_that_reaches_outwards_is_named() {
        let manifest = |name: &str, dependency: &str| super::super::File {
            path: format!("crates/{name}/Cargo.toml"),
            text: format!("[package]\nname = \"{name}\"\n[dev-dependencies]\n{dependency}.workspace = true\n"),
        };
        let files = vec![
            manifest("calipers-stats", "calipers-core"),
            manifest("calipers-core", "calipers-stats"),
            manifest("calipers-gate", "calipers-core"),
            manifest("calipers-compare", "calipers-core"),
            manifest("calipers-store", "serde"),
            manifest("calipers-io", "calipers-gate"),
            manifest("calipers-run", "calipers-core"),
            manifest("calipers-render", "calipers-core"),
            manifest("calipers-script", "calipers-core"),
            manifest("calipers-view", "calipers"),
            manifest("calipers", "calipers-core"),
        ];
        let want = "crates/calipers-stats/Cargo.toml: `calipers-stats` must not depend on `calipers-core`";
        assert_eq!(problems(&Repository { root: ".".into(), files }), [want]);
    }

    #[test]
    fn what_only_tests_use_is_not_shipped() {
        let manifest = |table: &str| format!("[package]\nname = \"a\"\n[{table}]\n{TESTING}.workspace = true\n");
        let members = ["a", TESTING];
        assert!(testing_problems("a/Cargo.toml", &manifest("dev-dependencies"), &members).is_empty());
        for table in ["dependencies", "build-dependencies", "target.'cfg(unix)'.dependencies"] {
            assert_eq!(testing_problems("a/Cargo.toml", &manifest(table), &members).len(), 1, "{table}");
        }
        let testing = format!("[package]\nname = \"{TESTING}\"\n[dependencies]\na.workspace = true\n");
        assert_eq!(testing_problems("t", &testing, &members), [format!("t: `{TESTING}` must not depend on `a`")]);
    }
}
