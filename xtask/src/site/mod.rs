//! `cargo xtask site`: the pages of `docs/` as a site with search, and a report to try.
//!
//! mdBook shows only what is in its folder, and the pages link to sources and examples outside of it. So the pages are
//! copied to a separate folder first; there, links that leave `docs/` lead to the repository on the web, links to
//! schemas to copies of them, and the report of an example is embedded in its guide.

mod html;
mod mdbook;
mod pages;

use crate::{Failure, page, process};
use std::path::Path;
use std::process::Command;
use std::{fs, io};

pub(crate) const HELP: &str = "\
Builds the site from docs/ to target/site, and checks that every link in it leads to a page and a heading that exist.

usage: cargo xtask site

It needs mdBook 0.5, from the PATH or from target/tools, where it is installed on first use; that takes the network and
some minutes. The pages are prepared in target/site-source. docs/SUMMARY.md is the table of contents, docs/book.toml has
the settings. Look at the result with `python3 -m http.server --directory target/site`: search needs a server.
";

/// Where mdBook finds the pages.
const SOURCE: &str = "target/site-source";
const SITE: &str = "target/site";
/// The report that the guide shows: the run that fails has more to look at.
const REPORT: [&str; 4] =
    ["report", "examples/support-agent/results-next.jsonl", "--policy", "examples/support-agent/policy.json"];

pub(crate) fn run(root: &Path, args: &[String]) -> Result<(), Failure> {
    if let Some(arg) = args.first() {
        return Err(Failure::Usage(format!("`site` takes no arguments, but got `{arg}`")));
    }
    let failed = |step: &str, cause: String| Failure::Failed(format!("step `{step}`: {cause}"));
    let book = mdbook::find_or_install(root).map_err(|cause| failed("mdbook", cause))?;

    empty(&root.join(SOURCE))
        .and_then(|()| empty(&root.join(SITE)))
        .map_err(|cause| failed("pages", cause.to_string()))?;
    pages::prepare(root, &root.join(SOURCE)).map_err(|cause| failed("pages", cause))?;

    let mut build = process::cargo(root);
    // The whole workspace: the program alone would have other features. What only tests ask for is left out, so that a few
    // dependencies are compiled again after a test run.
    step("build", build.args(["build", "--workspace", "--bin", "calipers", "--locked"]))?;
    let mut report = Command::new(root.join(page::program("debug")));
    report.current_dir(root).args(REPORT).arg("--output").arg(format!("{SOURCE}/{}", pages::REPORT));
    step("report", &mut report)?;

    let mut build = Command::new(book);
    step("book", build.current_dir(root).args(["build", SOURCE, "--dest-dir"]).arg(root.join(SITE)))?;
    // mdBook copies everything that is not a page.
    let _ = fs::remove_file(root.join(SITE).join("book.toml"));

    let (count, problems) = html::check(&root.join(SITE)).map_err(|cause| failed("links", cause.to_string()))?;
    if !problems.is_empty() {
        return Err(failed("links", problems.join("\n  ")));
    }
    println!("{SITE}/index.html: {count} pages, all links between them lead somewhere");
    Ok(())
}

fn step(name: &str, command: &mut Command) -> Result<(), Failure> {
    eprintln!("step {name}: {}", process::line(command));
    process::succeed(command).map_err(|cause| Failure::Failed(format!("step `{name}`: {cause}")))
}

/// Leaves an empty folder.
fn empty(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::create_dir_all(folder)
}
