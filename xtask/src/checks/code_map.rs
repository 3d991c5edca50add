//! `ARCHITECTURE.md`, where there is one, names every crate.

use super::Repository;

const MAP: &str = "ARCHITECTURE.md";

pub(super) fn problems(repository: &Repository) -> Vec<String> {
    let Some(map) = repository.file(MAP) else { return Vec::new() };
    let crates = repository.files.iter().filter_map(|file| crate_folder(&file.path));
    crates
        .filter(|name| !names(&map.text, name))
        .map(|name| format!("{MAP}: the crate `{name}` is not in the code map"))
        .collect()
}

/// The name of a crate, from the path of its manifest.
fn crate_folder(path: &str) -> Option<&str> {
    path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml").filter(|name| !name.contains('/'))
}

/// True when the text has the name as a whole word: `calipers-core` does not name `calipers`.
fn names(text: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        !before.ends_with(is_word) && !after.starts_with(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_inside_a_longer_one_does_not_count() {
        for (text, want) in [
            ("| `calipers` | the line |", true),
            ("crates/calipers", true),
            ("calipers.", true),
            ("calipers-core", false),
            ("my-calipers", false),
            ("", false),
        ] {
            assert_eq!(names(text, "calipers"), want, "{text}");
        }
    }

    #[test]
    fn a_crate_is_a_folder_with_a_manifest() {
        assert_eq!(crate_folder("crates/calipers-io/Cargo.toml"), Some("calipers-io"));
        assert_eq!(crate_folder("crates/calipers-io/fuzz/Cargo.toml"), None);
        assert_eq!(crate_folder("bench/Cargo.toml"), None);
    }
}
