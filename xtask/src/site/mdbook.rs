//! Where mdBook comes from.

use crate::process;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The versions that read `docs/book.toml`.
const VERSION: &str = "0.5";
/// Programs that the workspace installs for itself.
const TOOLS: &str = "target/tools";

/// The program: from the PATH, else the one in `target/tools`, which is installed there on first use.
pub(super) fn find_or_install(root: &Path) -> Result<PathBuf, String> {
    let own = root.join(TOOLS).join("bin").join(if cfg!(windows) { "mdbook.exe" } else { "mdbook" });
    if let Some(found) = [PathBuf::from("mdbook"), own.clone()].into_iter().find(|program| is_usable(program)) {
        return Ok(found);
    }
    let mut install = process::cargo(root);
    // Only what the site needs: without its server, mdBook compiles in half the time.
    install.args(["install", "mdbook", "--locked", "--version", &format!("^{VERSION}"), "--root", TOOLS]);
    install.args(["--no-default-features", "--features", "search"]).stdout(Stdio::null());
    eprintln!("step mdbook: {}", process::line(&install));
    process::succeed(&mut install).map_err(|cause| {
        format!("{cause}\n  hint: mdBook {VERSION} comes from the crate registry; install it where there is a network")
    })?;
    Ok(own)
}

fn is_usable(program: &Path) -> bool {
    process::output(Command::new(program).arg("--version")).is_some_and(|version| has_version(&version))
}

fn has_version(printed: &str) -> bool {
    let version = printed.trim().rsplit(' ').next().unwrap_or_default().trim_start_matches('v');
    version.strip_prefix(VERSION).is_some_and(|rest| rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_not_used() {
        for (printed, want) in [
            ("mdbook v0.5.4\n", true),
            ("mdbook 0.5.0", true),
            ("mdbook v0.4.52\n", false),
            ("mdbook v0.50.1", false),
            ("", false),
        ] {
            assert_eq!(has_version(printed), want, "{printed}");
        }
    }
}
