//! An empty folder for one test.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// An empty folder that is removed with its contents when the value is dropped.
///
/// ```
/// use calipers_testing::Scratch;
///
/// let folder = Scratch::new();
/// folder.write("logs/one.txt", "hello");
/// assert_eq!(folder.read("logs/one.txt"), "hello");
/// assert_eq!(folder.names(), ["logs"]);
/// ```
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// A new folder under the system's folder for temporary files.
    #[expect(clippy::new_without_default, reason = "it creates a folder, which a default should not")]
    pub fn new() -> Self {
        // Tests share a process under `cargo test` and have one each under nextest.
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("calipers-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        // A killed process with the same id may have left its folder behind.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A new folder with one file in it.
    pub fn with(name: &str, content: impl AsRef<[u8]>) -> Self {
        let folder = Self::new();
        folder.write(name, content);
        folder
    }

    /// A new folder with copies of the files directly in `folder`.
    pub fn copy_of(folder: &Path) -> Self {
        let scratch = Self::new();
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.path().is_file() {
                fs::copy(entry.path(), scratch.0.join(entry.file_name())).unwrap();
            }
        }
        scratch
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The path of a file in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The same as text, for the arguments of a program.
    pub fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// Writes a file, and creates the folders above it.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// The text of a file that must exist.
    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// True when a file or folder of this name exists.
    pub fn has(&self, name: &str) -> bool {
        self.0.join(name).exists()
    }

    /// The names of all entries, in order.
    pub fn names(&self) -> Vec<String> {
        self.names_in("")
    }

    /// The names of all entries of a folder in it, in order.
    #[track_caller]
    pub fn names_in(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.0.join(folder)).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl AsRef<Path> for Scratch {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that stays behind does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_empty_distinct_and_removed() {
        let (one, other) = (Scratch::new(), Scratch::with("a", "b"));
        assert_ne!(one.path(), other.path());
        assert!(one.names().is_empty());
        assert_eq!(Scratch::copy_of(other.path()).read("a"), "b");
        let path = other.path().to_path_buf();
        drop(other);
        assert!(!path.exists());
    }
}
