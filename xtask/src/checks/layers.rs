//! The inner crates know nothing of the outer ones, in their tests and build scripts too.

use super::Repository;

/// The inner crates, and the crates of this workspace that each may depend on.
const INNER: [(&str, &[&str]); 8] = [
    ("calipers-stats", &[]),
    ("calipers-core", &["calipers-stats"]),
    ("calipers-gate", &["calipers-stats", "calipers-core"]),
    ("calipers-compare", &["calipers-stats", "calipers-core"]),
    ("calipers-io", &["calipers-stats", "calipers-core", "calipers-gate"]),
    ("calipers-run", &["calipers-stats", "calipers-core"]),
    ("calipers-render", &["calipers-stats", "calipers-core", "calipers-gate", "calipers-compare"]),
    ("calipers-script", &["calipers-stats", "calipers-core", "calipers-run"]),
];

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
        let outer = dependencies(&manifest.text).into_iter();
        let outer = outer.filter(|other| members.contains(other) && !allowed.contains(other));
        problems.extend(outer.map(|other| format!("{path}: `{name}` must not depend on `{other}`")));
    }
    problems
}

/// The name in the `[package]` table.
fn package_name(manifest: &str) -> Option<&str> {
    let mut lines = manifest.lines().map(str::trim).skip_while(|line| *line != "[package]").skip(1);
    lines.find_map(|line| value_of(line, "name"))
}

/// The packages that a manifest depends on, of every kind. Reads TOML as people write it by hand, line by line.
fn dependencies(manifest: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut table = Table::Other;
    for line in manifest.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        if let Some(header) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            table = Table::of(header.0);
            found.extend(if let Table::One(name) = table { Some(name) } else { None });
            continue;
        }
        let renamed = line.find("package").and_then(|at| value_of(&line[at..], "package"));
        match (&table, line.split_once('=')) {
            (Table::Many, Some((key, _))) => {
                let name = key.split('.').next().unwrap_or(key).trim().trim_matches('"');
                found.push(renamed.unwrap_or(name));
            }
            (Table::One(_), Some(_)) => found.extend(renamed),
            _ => {}
        }
    }
    found
}

enum Table<'a> {
    /// `[dependencies]` and its like: each line is a dependency.
    Many,
    /// `[dependencies.NAME]`: each line says something about one.
    One(&'a str),
    Other,
}

impl<'a> Table<'a> {
    fn of(header: &'a str) -> Self {
        let is_kind = |part: &str| matches!(part, "dependencies" | "dev-dependencies" | "build-dependencies");
        match header.rsplit_once('.') {
            _ if is_kind(header) => Self::Many,
            Some((_, last)) if is_kind(last) => Self::Many,
            Some((rest, last)) if is_kind(rest.rsplit_once('.').map_or(rest, |(_, kind)| kind)) => {
                Self::One(last.trim_matches('"'))
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
        assert_eq!(dependencies(manifest), ["a", "b", "d", "e", "f", "g"]);
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
            manifest("calipers-io", "calipers-gate"),
            manifest("calipers-run", "calipers-core"),
            manifest("calipers-render", "calipers-core"),
            manifest("calipers-script", "calipers-core"),
            manifest("calipers", "calipers-core"),
        ];
        let want = "crates/calipers-stats/Cargo.toml: `calipers-stats` must not depend on `calipers-core`";
        assert_eq!(problems(&Repository { root: ".".into(), files }), [want]);
    }
}
