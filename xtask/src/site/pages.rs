//! The pages as mdBook gets them: copies whose links work on the site.

use crate::markdown::{is_relative, map_links, resolve};
use std::fs;
use std::io;
use std::path::Path;

/// The file of the embedded report, from the root of the site.
pub(super) const REPORT: &str = "example-report.html";
/// The guide that shows the report, and the line there before the picture of it: on the site, the report is in its place.
const REPORT_PAGE: &str = "docs/guides/report.md";
const REPORT_MARK: &str = "<!-- site: the report of examples/support-agent -->";
/// The folder of the site with the JSON schemas.
const SCHEMAS: &str = "schemas";

/// Copies `docs/` and the schemas to a folder, with links that work there.
pub(super) fn prepare(root: &Path, to: &Path) -> Result<(), String> {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).map_err(|cause| format!("Cargo.toml: {cause}"))?;
    let repository = repository(&manifest).ok_or("Cargo.toml: there is no `repository`")?;
    let mut schemas = Vec::new();
    for package in names(&root.join("crates")).map_err(|cause| format!("crates: {cause}"))? {
        let folder = format!("crates/{package}/schema");
        // Most crates have none.
        let files = names(&root.join(&folder)).unwrap_or_default().into_iter();
        schemas.extend(files.filter(|name| name.ends_with(".json")).map(|name| format!("{folder}/{name}")));
    }
    let copied = |path: &str, cause: io::Error| format!("{path}: {cause}");
    fs::create_dir_all(to.join(SCHEMAS)).map_err(|cause| copied(SCHEMAS, cause))?;
    for schema in &schemas {
        fs::copy(root.join(schema), to.join(SCHEMAS).join(name_of(schema))).map_err(|cause| copied(schema, cause))?;
    }
    let kind = |path: &str| match path {
        path if schemas.iter().any(|schema| schema == path) => Place::Schema,
        path if root.join(path).is_dir() => Place::Folder,
        _ => Place::File,
    };
    let mut files = Vec::new();
    list(root, "docs", &mut files).map_err(|cause| copied("docs", cause))?;
    for path in files {
        let new = to.join(path.trim_start_matches("docs/"));
        let folder = new.parent().expect("a file is in a folder");
        fs::create_dir_all(folder).map_err(|cause| copied(&path, cause))?;
        if path.ends_with(".md") {
            let text = fs::read_to_string(root.join(&path)).map_err(|cause| copied(&path, cause))?;
            let is_summary = path == "docs/SUMMARY.md";
            let mut text = map_links(&text, |link| on_site(&path, link, repository, kind).filter(|_| !is_summary));
            if path == REPORT_PAGE {
                text = with_report(&text)
                    .ok_or_else(|| format!("{path}: the line `{REPORT_MARK}` and a picture after it are gone"))?;
            }
            fs::write(new, text).map_err(|cause| copied(&path, cause))?;
        } else {
            fs::copy(root.join(&path), new).map_err(|cause| copied(&path, cause))?;
        }
    }
    Ok(())
}

/// What a path of the repository is.
enum Place {
    Schema,
    Folder,
    File,
}

/// Where a link of a page leads on the site, if not where it leads in the repository.
fn on_site(page: &str, link: &str, repository: &str, kind: impl Fn(&str) -> Place) -> Option<String> {
    let path = resolve(page, link).filter(|_| is_relative(link))?;
    let (file, fragment) = link.split_at(link.find('#').unwrap_or(link.len()));
    if path.starts_with("docs/") {
        // mdBook makes `index.html` of a `README.md`, and does not follow in the links to it.
        return Some(format!("{}index.html{fragment}", file.strip_suffix("README.md")?));
    }
    Some(match kind(&path) {
        Place::Schema => format!("{}{SCHEMAS}/{}", "../".repeat(page.matches('/').count() - 1), name_of(&path)),
        Place::Folder => format!("{repository}/tree/main/{path}{fragment}"),
        Place::File => format!("{repository}/blob/main/{path}{fragment}"),
    })
}

/// The guide with the report in place of the mark and of the paragraph that follows it, a picture.
fn with_report(text: &str) -> Option<String> {
    let (before, after) = text.split_once(REPORT_MARK)?;
    let (_, after) = after.trim_start().split_once("\n\n")?;
    let frame = format!(
        "<iframe class=\"report\" src=\"../{REPORT}\" title=\"The report of the example\"></iframe>\n\n\
         [Open it on a separate page](../{REPORT})."
    );
    Some(format!("{before}{frame}\n\n{after}"))
}

/// The address in `repository = "…"`.
fn repository(manifest: &str) -> Option<&str> {
    manifest.lines().find_map(|line| line.strip_prefix("repository = \"")?.strip_suffix('"'))
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// All files below a folder, as paths from the root.
fn list(root: &Path, folder: &str, files: &mut Vec<String>) -> io::Result<()> {
    for name in names(&root.join(folder))? {
        let path = format!("{folder}/{name}");
        if root.join(&path).is_dir() {
            list(root, &path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

fn names(folder: &Path) -> io::Result<Vec<String>> {
    let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_leave_the_pages_lead_to_the_repository_or_to_a_copy() {
        let kind = |path: &str| match path {
            "crates/a/schema/s.json" => Place::Schema,
            "examples" => Place::Folder,
            _ => Place::File,
        };
        for (page, link, want) in [
            ("docs/a.md", "b.md", None),
            ("docs/guides/a.md", "../b.md#part", None),
            ("docs/a.md", "https://example.org/x", None),
            ("docs/a.md", "#part", None),
            ("docs/guides/a.md", "../formats/README.md#part", Some("../formats/index.html#part")),
            ("docs/a.md", "../README.md#part", Some("https://r/blob/main/README.md#part")),
            ("docs/guides/a.md", "../../examples/", Some("https://r/tree/main/examples")),
            ("docs/a.md", "../crates/a/schema/s.json", Some("schemas/s.json")),
            ("docs/guides/a.md", "../../crates/a/schema/s.json", Some("../schemas/s.json")),
        ] {
            assert_eq!(on_site(page, link, "https://r", kind).as_deref(), want, "{link}");
        }
    }

    #[test]
    fn the_report_takes_the_place_of_its_mark() {
        let shown = with_report(&format!("# Title\n\n{REPORT_MARK}\n\n![a picture](a.png)\n\nText\n")).unwrap();
        assert!(shown.starts_with("# Title\n\n<iframe ") && shown.ends_with("\n\nText\n"), "{shown}");
        assert!(shown.contains("src=\"../example-report.html\"") && !shown.contains("picture"), "{shown}");
        assert_eq!(with_report("# Title\n"), None);
    }

    #[test]
    fn the_workspace_says_where_its_repository_is() {
        let manifest = fs::read_to_string(crate::root().join("Cargo.toml")).unwrap();
        assert!(repository(&manifest).is_some_and(|address| address.starts_with("https://")));
        assert_eq!(repository("name = \"a\"\n"), None);
    }
}
