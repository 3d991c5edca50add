//! `docs/SUMMARY.md`, the contents of the site, lists every page of `docs/` once and nothing else.
//!
//! mdBook leaves a page that is not listed out of the site, and makes an empty one of a page that does not exist.

use super::Repository;
use crate::markdown::{links, prose, resolve};

const SUMMARY: &str = "docs/SUMMARY.md";

pub(super) fn problems(repository: &Repository) -> Vec<String> {
    let Some(summary) = repository.file(SUMMARY) else { return vec![format!("{SUMMARY}: not found")] };
    let pages = repository.files_named(".md").map(|file| file.path.as_str());
    let pages: Vec<&str> = pages.filter(|path| path.starts_with("docs/") && *path != SUMMARY).collect();
    let listed: Vec<(usize, String)> = prose(&summary.text)
        .into_iter()
        .flat_map(|(number, line)| links(&line).into_iter().map(move |link| (number, link)))
        .map(|(number, link)| (number, resolve(SUMMARY, &link).unwrap_or(link)))
        .collect();
    let unknown = listed.iter().filter(|(_, path)| !pages.contains(&path.as_str()));
    let unknown = unknown.map(|(line, path)| format!("{SUMMARY}:{line}: `{path}` is not a page of docs/"));
    let twice =
        listed.iter().enumerate().filter(|(at, (_, path))| listed[..*at].iter().any(|(_, other)| other == path));
    let twice = twice.map(|(_, (line, path))| format!("{SUMMARY}:{line}: `{path}` is listed twice"));
    let absent = pages.iter().filter(|page| !listed.iter().any(|(_, path)| path == *page));
    let absent = absent.map(|page| format!("{page}: not listed in {SUMMARY}"));
    unknown.chain(twice).chain(absent).collect()
}

#[cfg(test)]
mod tests {
    use super::super::File;
    use super::*;

    fn problems_of(summary: &str, pages: &[&str]) -> Vec<String> {
        let page = |path: &&str| File { path: (*path).into(), text: String::new() };
        let mut files: Vec<File> = pages.iter().map(page).collect();
        files.push(File { path: SUMMARY.into(), text: summary.into() });
        problems(&Repository { root: ".".into(), files })
    }

    #[test]
    fn a_summary_of_all_pages_is_fine() {
        let summary = "# Summary\n\n[Start](README.md)\n\n# Guides\n\n- [Gate](guides/gate.md)\n";
        assert_eq!(problems_of(summary, &["docs/README.md", "docs/guides/gate.md", "README.md"]), [""; 0]);
    }

    #[test]
    fn a_page_that_is_absent_unknown_or_listed_twice_is_named() {
        let summary = "- [A](a.md)\n- [B](b.md)\n- [A again](./a.md)\n- [Out](../README.md)\n";
        assert_eq!(
            problems_of(summary, &["docs/a.md", "docs/c.md", "README.md"]),
            [
                "docs/SUMMARY.md:2: `docs/b.md` is not a page of docs/",
                "docs/SUMMARY.md:4: `README.md` is not a page of docs/",
                "docs/SUMMARY.md:3: `docs/a.md` is listed twice",
                "docs/c.md: not listed in docs/SUMMARY.md",
            ]
        );
        assert_eq!(problems(&Repository { root: ".".into(), files: Vec::new() }), ["docs/SUMMARY.md: not found"]);
    }
}
