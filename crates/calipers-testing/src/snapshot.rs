//! Files of expected output. `BLESS=1 cargo test` rewrites them; read a changed one as prose.

use std::path::Path;

/// Asserts that a file has exactly this content, and names the first line that differs.
#[track_caller]
pub fn assert_file(path: impl AsRef<Path>, found: &str) {
    let path = path.as_ref();
    if std::env::var_os("BLESS").is_some() {
        return std::fs::write(path, found).unwrap();
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        expected == found,
        "{} differs from line {} on (`BLESS=1` rewrites it); now it is:\n{found}",
        path.display(),
        first_difference(&expected, found)
    );
}

/// The number of the first line that differs, from 1.
fn first_difference(one: &str, other: &str) -> usize {
    let differs = one.lines().zip(other.lines()).position(|(one, other)| one != other);
    differs.unwrap_or_else(|| one.lines().count().min(other.lines().count())) + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scratch;

    #[test]
    fn the_first_line_that_differs_is_found() {
        for (one, other, line) in [("a\nb\n", "a\nc\n", 2), ("a\n", "a\nb\n", 2), ("", "a", 1), ("a", "a\n", 2)] {
            assert_eq!(first_difference(one, other), line, "{one:?} {other:?}");
        }
    }

    #[test]
    #[should_panic(expected = "differs from line 1")]
    fn a_file_that_does_not_exist_differs() {
        assert_file(Scratch::new().join("absent"), "text");
    }
}
