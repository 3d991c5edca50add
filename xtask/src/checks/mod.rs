//! What must hold in the repository itself, beyond what cargo checks.
//!
//! A check is a pure function of the files; each problem it finds is one line that begins with its place.

mod code_map;
mod flags;
mod layers;
mod links;
mod metric_names;
mod names;
mod paths;
mod rust_tokens;
mod summary;
mod unfinished;
mod words;

use crate::process;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) claim: &'static str,
    pub(crate) problems: fn(&Repository) -> Vec<String>,
    /// What the check has counted, if that is worth a line.
    pub(crate) figures: fn(&Repository) -> String,
}

pub(crate) const ALL: [Check; 9] = [
    Check::new("paths", "no file names a folder of one machine", paths::problems),
    Check::new("unfinished", "no placeholder macros in Rust code", unfinished::problems),
    Check::new("code-map", "ARCHITECTURE.md names every crate", code_map::problems),
    Check::new("layers", "the inner crates depend on no outer crate", layers::problems),
    Check::new("links", "relative links in Markdown lead to a file", links::problems),
    Check::new(
        "summary",
        "docs/SUMMARY.md lists every page of docs/ once, and the start page links to it",
        summary::problems,
    ),
    Check::new("words", "sentences and rounding only in calipers-render, flags only in calipers-cli", words::problems),
    Check::new("metric-names", "the judge knows no metric by its name", metric_names::problems),
    Check { figures: names::figures, ..Check::new("names", "types are nouns, functions are verbs", names::problems) },
];

impl Check {
    const fn new(name: &'static str, claim: &'static str, problems: fn(&Repository) -> Vec<String>) -> Self {
        Self { name, claim, problems, figures: |_| String::new() }
    }
}

/// The text files of the repository, in the order of their paths.
pub(crate) struct Repository {
    root: PathBuf,
    files: Vec<File>,
}

struct File {
    /// From the root, with `/` between the parts.
    path: String,
    text: String,
}

impl Repository {
    /// Reads the files that git tracks or would track; without git, all but build output.
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let mut paths = tracked(root);
        if paths.is_empty() {
            // An unpacked archive has no git folder, and is checked all the same.
            walk(root, "", &mut paths)?;
        }
        paths.sort();
        let mut files = Vec::new();
        for path in paths {
            let on_disk = root.join(&path);
            if !on_disk.is_file() {
                continue; // deleted, but still in the index; or a link to a folder
            }
            let bytes = fs::read(on_disk)?;
            // Archives, columns and pictures have zero bytes; text has none.
            if !bytes.contains(&0) {
                files.push(File { path, text: String::from_utf8_lossy(&bytes).into_owned() });
            }
        }
        Ok(Self { root: root.to_path_buf(), files })
    }

    fn files_named<'a>(&'a self, suffix: &'a str) -> impl Iterator<Item = &'a File> {
        self.files.iter().filter(move |file| file.path.ends_with(suffix))
    }

    fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
}

fn tracked(root: &Path) -> Vec<String> {
    // New files count before they are added, so that committing them changes no verdict.
    let args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = process::output(Command::new("git").current_dir(root).args(args)).unwrap_or_default();
    listed.split('\0').filter(|path| !path.is_empty()).map(String::from).collect()
}

fn walk(root: &Path, folder: &str, paths: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        if entry.file_type()?.is_file() {
            paths.push(path);
        } else if entry.file_type()?.is_dir() && !matches!(name.as_str(), ".git" | ".venv" | "target") {
            walk(root, &path, paths)?;
        }
    }
    Ok(())
}

/// The lines of a text with their numbers, from 1.
fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_and_a_walk_both_find_the_manifest() {
        let root = crate::root();
        let mut walked = Vec::new();
        walk(&root, "", &mut walked).unwrap();
        assert!(walked.contains(&"xtask/src/checks/mod.rs".into()));
        assert!(!walked.iter().any(|path| path.starts_with("target/")));
        assert!(Repository::read(&root).unwrap().file("xtask/Cargo.toml").is_some());
    }
}
