//! The links of the finished site: each leads to a file, and its fragment to an element of that file.

use crate::markdown::{is_relative, percent_decoded, resolve};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::{fs, io};

/// What a page names and where it leads.
#[derive(Debug, Default, PartialEq, Eq)]
struct HtmlPage {
    ids: HashSet<String>,
    links: Vec<String>,
}

/// Counts the pages of a site, and says which links lead nowhere.
pub(super) fn check(site: &Path) -> io::Result<(usize, Vec<String>)> {
    let (mut pages, mut files) = (BTreeMap::new(), HashSet::new());
    read(site, "", &mut pages, &mut files)?;
    Ok((pages.len(), problems(&pages, &files)))
}

fn read(
    site: &Path,
    folder: &str,
    pages: &mut BTreeMap<String, HtmlPage>,
    files: &mut HashSet<String>,
) -> io::Result<()> {
    for entry in fs::read_dir(site.join(folder))? {
        let entry = entry?;
        let path = format!("{folder}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            read(site, &format!("{path}/"), pages, files)?;
            continue;
        }
        if is_page(&path) {
            pages.insert(path.clone(), parse(&fs::read_to_string(entry.path())?));
        }
        files.insert(path);
    }
    Ok(())
}

/// The report is a separate program that finds its samples by fragment, and the page for unknown addresses counts its links
/// from wherever the site is put.
fn is_page(path: &str) -> bool {
    path.ends_with(".html") && path != super::pages::REPORT && path != "404.html"
}

fn problems(pages: &BTreeMap<String, HtmlPage>, files: &HashSet<String>) -> Vec<String> {
    let mut problems = Vec::new();
    for (path, page) in pages {
        for link in page.links.iter().filter(|link| link.starts_with('#') || is_relative(link)) {
            let (_, fragment) = link.split_once('#').unwrap_or((link, ""));
            // A link to a fragment only stays on the page.
            let to = if link.starts_with('#') { Some(path.clone()) } else { resolve(path, link) };
            let to = to.filter(|to| files.contains(to));
            let has_fragment = |to: &String| {
                let fragment = percent_decoded(fragment);
                fragment.is_empty() || pages.get(to).is_none_or(|page| page.ids.contains(&fragment))
            };
            match to {
                None => problems.push(format!("{path}: the link `{link}` leads nowhere")),
                Some(to) if !has_fragment(&to) => problems.push(format!("{path}: `{link}` has no such heading")),
                Some(_) => {}
            }
        }
    }
    problems.dedup();
    problems
}

/// The ids and links in the tags of a page. Scripts, styles and comments have none.
fn parse(text: &str) -> HtmlPage {
    let mut page = HtmlPage::default();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        let (tag, after) = tag(rest);
        rest = after;
        for (name, value) in attributes(tag) {
            match name {
                "id" => drop(page.ids.insert(decoded(value))),
                "href" | "src" if !value.is_empty() => page.links.push(decoded(value)),
                _ => {}
            }
        }
        for raw in ["script", "style"] {
            if tag.strip_prefix(raw).is_some_and(|next| !next.starts_with(|c: char| c.is_alphanumeric())) {
                rest = rest.split_once(&format!("</{raw}>")).map_or("", |(_, after)| after);
            }
        }
    }
    page
}

/// A tag up to its `>`, which does not count in quotes, and what follows.
fn tag(text: &str) -> (&str, &str) {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c == '>' => return (&text[..at], &text[at + 1..]),
            None => {}
        }
    }
    (text, "")
}

/// The attributes of a tag that have a value in double quotes, which is how mdBook writes them.
fn attributes(tag: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut rest = tag;
    while let Some((before, after)) = rest.split_once("=\"") {
        let Some((value, next)) = after.split_once('"') else { break };
        found.push((before.rsplit(char::is_whitespace).next().unwrap_or(before), value));
        rest = next;
    }
    found
}

fn decoded(value: &str) -> String {
    value.replace("&quot;", "\"").replace("&#39;", "'").replace("&#x27;", "'").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems_of(pages: &[(&str, &str)]) -> Vec<String> {
        let files = pages.iter().map(|(path, _)| (*path).to_owned()).chain(["style.css".to_owned()]).collect();
        let pages = pages.iter().map(|(path, text)| ((*path).to_owned(), parse(text))).collect();
        problems(&pages, &files)
    }

    #[test]
    fn links_that_lead_somewhere_are_fine() {
        let pages = [
            ("index.html", "<p id=\"top\"><link href=\"style.css\"><a class=\"x\" href=\"guides/a.html#one\">a</a>"),
            ("guides/a.html", "<h2 id=\"one\">1</h2><a href=\"../index.html#top\">i</a><a href=\"#one\">here</a>"),
            ("b.html", "<a title='>' href=\"./guides/../index.html\">x</a><a href=\"https://example.org/x#y\">web</a>"),
        ];
        assert_eq!(problems_of(&pages), [""; 0]);
    }

    #[test]
    fn links_that_lead_nowhere_are_named() {
        for (text, want) in [
            ("<a href=\"gone.html\">", "a.html: the link `gone.html` leads nowhere"),
            ("<a href=\"a.html#gone\">", "a.html: `a.html#gone` has no such heading"),
            ("<a href=\"../a.html\">", "a.html: the link `../a.html` leads nowhere"),
            ("<img alt=\"p\" src=\"gone.png\"/>", "a.html: the link `gone.png` leads nowhere"),
            ("<script src=\"gone.js\"></script>", "a.html: the link `gone.js` leads nowhere"),
        ] {
            assert_eq!(problems_of(&[("a.html", text)]), [want], "{text}");
        }
    }

    #[test]
    fn text_scripts_and_comments_are_not_read() {
        for text in [
            "<code>&lt;a href=\"gone.html\"&gt;</code>",
            "<script>x = '<a href=\"gone.html\">';</script>",
            "<!-- <a href=\"gone.html\"> -->",
            "<a data-href=\"gone.html\">",
        ] {
            assert_eq!(problems_of(&[("a.html", text)]), [""; 0], "{text}");
        }
        assert_eq!(problems_of(&[("a.html", "<p id=\"q&amp;a\"><a href=\"#q&amp;a\">")]), [""; 0]);
    }
}
