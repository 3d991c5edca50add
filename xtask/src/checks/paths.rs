//! No file names a folder of one machine: such a path works in one place only.

use super::{Repository, numbered};

/// Folders at the top of a file system in which people keep their work.
const FOLDERS: [&str; 4] = ["home", "root", "work", "Users"];

pub(super) fn problems(repository: &Repository) -> Vec<String> {
    repository
        .files
        .iter()
        .flat_map(|file| {
            let found = machine_paths(&file.text).into_iter();
            found.map(|(line, path)| format!("{}:{line}: `{path}` is a path of one machine", file.path))
        })
        .collect()
}

/// The line and text of each absolute path into one of the folders.
fn machine_paths(text: &str) -> Vec<(usize, String)> {
    // Put together here, so that this file passes its own check.
    let needles = FOLDERS.map(|folder| format!("/{folder}/"));
    let mut found = Vec::new();
    for (number, line) in numbered(text) {
        for needle in &needles {
            let paths = line.match_indices(needle).filter(|(at, _)| is_start(&line[..*at]));
            let paths = paths.filter_map(|(at, _)| path_at(&line[at..], needle.len()));
            found.extend(paths.map(|path| (number, path.into())));
        }
    }
    found
}

/// A path begins here unless what stands before makes it the middle of a longer one.
fn is_start(before: &str) -> bool {
    !before.ends_with(|c: char| c.is_alphanumeric() || "_-.~})".contains(c))
}

/// The path up to the end of its last part, if a name follows the folder.
fn path_at(text: &str, folder: usize) -> Option<&str> {
    let rest = &text[folder..];
    rest.starts_with(|c: char| c.is_alphabetic()).then(|| {
        let end = rest.find(|c: char| !c.is_alphanumeric() && !"_-./".contains(c)).unwrap_or(rest.len());
        &text[..folder + end]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // `%` stands for the folder under test, so that this file passes its own check.
    fn found(text: &str) -> usize {
        let found = FOLDERS.map(|folder| machine_paths(&text.replace('%', folder)).len());
        assert!(found.iter().all(|n| *n == found[0]), "{text}: {found:?}");
        found[0]
    }

    #[test]
    fn absolute_paths_into_a_machine_are_found() {
        for (text, want) in [
            ("/%/me/logs", 1),
            ("open(\"/%/me\")", 1),
            ("file:///%/me", 1),
            ("see `/%/a` and `/%/b`", 2),
            ("<code>/%/me</code>", 1),
            ("/%/", 0),
            ("/%/.cargo", 0),
            ("/%", 0),
            ("docs/%/me", 0),
            ("../%/me", 0),
            ("~/%/me", 0),
            ("https://example.org/%/me", 0),
            ("${HOME}/%/me", 0),
            ("/usr/%/me", 0),
        ] {
            assert_eq!(found(text), want, "{text}");
        }
    }

    #[test]
    fn the_line_and_the_whole_path_are_named() {
        let path = format!("/{}/me/logs-1.jsonl", FOLDERS[0]);
        assert_eq!(machine_paths(&format!("first\nread {path}, then")), [(2, path)]);
    }
}
