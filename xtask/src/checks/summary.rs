//! `docs/SUMMARY.md`, the contents of the site, lists every page of `docs/` once and nothing else, and the start page links to all
//! of them.
//!
//! mdBook leaves a page that is not listed out of the site, and makes an empty one of a page that does not exist.

use super::{File, Repository};
use crate::markdown::{links, prose, resolve};

const SUMMARY: &str = "docs/SUMMARY.md";
const START: &str = "docs/README.md";
/// The start page names the list of formats, and that list names each.
const FORMATS: &str = "docs/formats/";

pub(super) fn problems(repository: &Repository) -> Vec<String> {
    let Some(summary) = repository.file(SUMMARY) else { return vec![format!("{SUMMARY}: not found")] };
    let pages = repository.files_named(".md").map(|file| file.path.as_str());
    let pages: Vec<&str> = pages.filter(|path| path.starts_with("docs/") && *path != SUMMARY).collect();
    let listed = linked_pages(summary);
    let unknown = listed.iter().filter(|(_, path)| !pages.contains(&path.as_str()));
    let unknown = unknown.map(|(line, path)| format!("{SUMMARY}:{line}: `{path}` is not a page of docs/"));
    let twice =
        listed.iter().enumerate().filter(|(at, (_, path))| listed[..*at].iter().any(|(_, other)| other == path));
    let twice = twice.map(|(_, (line, path))| format!("{SUMMARY}:{line}: `{path}` is listed twice"));
    let absent = pages.iter().filter(|page| !listed.iter().any(|(_, path)| path == *page));
    let absent = absent.map(|page| format!("{page}: not listed in {SUMMARY}"));
    unknown.chain(twice).chain(absent).chain(not_linked(repository, &pages)).collect()
}

/// The pages to which the start page has no link.
fn not_linked(repository: &Repository, pages: &[&str]) -> Vec<String> {
    let Some(start) = repository.file(START) else { return Vec::new() };
    let linked = linked_pages(start);
    let absent = pages.iter().filter(|page| {
        let is_one_format = page.strip_prefix(FORMATS).is_some_and(|name| name != "README.md");
        **page != START && !is_one_format && !linked.iter().any(|(_, path)| path == *page)
    });
    absent.map(|page| format!("{page}: {START} does not link to it")).collect()
}

/// What a page links to, with the lines of the links.
fn linked_pages(page: &File) -> Vec<(usize, String)> {
    let links = prose(&page.text)
        .into_iter()
        .flat_map(|(number, line)| links(&line).into_iter().map(move |link| (number, link)));
    links.map(|(number, link)| (number, resolve(&page.path, &link).unwrap_or(link))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems_of(summary: &str, pages: &[&str]) -> Vec<String> {
        let page = |path: &&str| File { path: (*path).into(), text: String::new() };
        let mut files: Vec<File> = pages.iter().map(page).collect();
        files.push(File { path: SUMMARY.into(), text: summary.into() });
        problems(&Repository { root: ".".into(), files })
    }

    #[test]
    fn a_summary_of_all_pages_is_fine_and_an_empty_start_page_is_not() {
        let summary = "# Summary\n\n[Start](README.md)\n\n# Guides\n\n- [Gate](guides/gate.md)\n";
        assert_eq!(
            problems_of(summary, &["docs/README.md", "docs/guides/gate.md", "README.md"]),
            ["docs/guides/gate.md: docs/README.md does not link to it"]
        );
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
        let start = File { path: START.into(), text: "- [A](a.md)\n- [Formats](formats/README.md)\n".into() };
        let pages = ["docs/a.md", "docs/b.md", "docs/formats/README.md", "docs/formats/x.md"];
        assert_eq!(
            not_linked(&Repository { root: ".".into(), files: vec![start] }, &pages),
            ["docs/b.md: docs/README.md does not link to it"]
        );
        assert_eq!(problems(&Repository { root: ".".into(), files: Vec::new() }), ["docs/SUMMARY.md: not found"]);
    }
}
