//! Inspect's sources, with its tests and its pages.

use crate::python::Environment;
use crate::{process, wheel};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The last version whose source distribution has its tests.
const VERSION: &str = "0.3.251";
pub(crate) const FOLDER: &str = "target/inspect-suite";
/// Inspect's page on scoring metrics.
const PAGE: &str = "docs/metrics.qmd";
/// Names copies of that page to our tests.
pub(crate) const PAGE_VARIABLE: &str = "CALIPERS_INSPECT_PAGE";

/// The unpacked source distribution, fetched once.
pub(crate) fn fetch(root: &Path, environment: &Environment) -> Result<PathBuf, String> {
    let sources = Path::new(FOLDER).join(format!("inspect_ai-{VERSION}"));
    let is_there = || root.join(&sources).join("tests/scorer").is_dir();
    if is_there() {
        return Ok(sources);
    }
    eprintln!("step sources: the source distribution of Inspect {VERSION}, 50 MB");
    let mut download = wheel::pip(root, environment);
    download.args(["download", "-q", "--no-deps", "--no-binary", ":all:", "--dest", FOLDER]);
    process::succeed(download.arg(format!("inspect_ai=={VERSION}"))).map_err(|cause| {
        format!("{cause}\n  hint: the source distribution is fetched from PyPI, which needs the network")
    })?;
    const UNPACK: &str = "import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2], filter='data')";
    let mut unpack = Command::new(root.join(&environment.python));
    unpack.current_dir(root).args(["-c", UNPACK]).arg(format!("{FOLDER}/inspect_ai-{VERSION}.tar.gz")).arg(FOLDER);
    process::succeed(&mut unpack)?;
    if is_there() {
        Ok(sources)
    } else {
        Err(format!("the source distribution of Inspect {VERSION} has no tests/scorer"))
    }
}

/// The copies of Inspect's page on scoring metrics that tests read: those that the caller names, and the one in Inspect's sources. Those are
/// fetched only if none is named.
pub(crate) fn pages(root: &Path, environment: &Environment) -> Result<OsString, String> {
    let named = std::env::var_os(PAGE_VARIABLE).filter(|named| !named.is_empty());
    // Tests run in another folder.
    let absolute = |page: PathBuf| std::path::absolute(&page).unwrap_or(page);
    let mut pages: Vec<PathBuf> = named.iter().flat_map(std::env::split_paths).map(absolute).collect();
    let fetched = root.join(FOLDER).join(format!("inspect_ai-{VERSION}")).join(PAGE);
    if pages.is_empty() {
        fetch(root, environment)?;
    }
    if fetched.is_file() {
        pages.push(fetched);
    }
    std::env::join_paths(pages).map_err(|error| error.to_string())
}
