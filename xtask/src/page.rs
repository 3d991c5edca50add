//! Pages in a real browser: what `cargo xtask test` looks at, and what `cargo xtask bench page` measures.

use crate::process;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What drives the browser. It needs nothing but Python.
pub(crate) const REPORTS: &str = "xtask/page/check.py";
/// The same for the pages of `calipers view`.
pub(crate) const VIEW: &str = "xtask/page/check_view.py";
/// Pages, screenshots and a print are kept here.
const FOLDER: &str = "target/page";
/// The names of the browser, the most likely first.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The command that looks at pages, or why there is none. The arguments come after those that every use needs.
pub(crate) fn command(root: &Path, script: &str, calipers: &Path, args: &[&str]) -> Result<Command, String> {
    if process::output(Command::new("python3").arg("--version")).is_none() {
        return Err("`python3` was not found\n  hint: install Python 3.10 or newer".into());
    }
    let browser = find_browser()?;
    let mut command = Command::new("python3");
    command.current_dir(root).args([script, browser]).arg(calipers).arg(FOLDER).args(args);
    Ok(command)
}

/// The browser, installed if need be, or why there is none.
pub(crate) fn find_browser() -> Result<&'static str, String> {
    let hint = "install Chromium (`apt-get install chromium` on Debian)";
    let found = browser().or_else(|| install().then(browser).flatten());
    found.ok_or_else(|| format!("no Chromium was found\n  hint: {hint}"))
}

/// The program that tests use: the one that they build.
pub(crate) fn program(profile: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    target.join(profile).join(if cfg!(windows) { "calipers.exe" } else { "calipers" })
}

fn browser() -> Option<&'static str> {
    BROWSERS.into_iter().find(|name| process::output(Command::new(name).arg("--version")).is_some())
}

/// Installs the browser where that is possible without asking anybody: Debian, as root.
fn install() -> bool {
    let is_root = process::output(Command::new("id").arg("-u")).is_some_and(|id| id.trim() == "0");
    is_root && process::install("chromium")
}
