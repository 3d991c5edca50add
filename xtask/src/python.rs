//! Private Python environments below `target/`, made on first use.

use crate::process;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// An environment that has its packages.
pub(crate) struct Environment {
    /// The interpreter, relative to the root: what is printed then names no machine.
    pub(crate) python: PathBuf,
    /// One line for Python and one for each package.
    pub(crate) versions: String,
}

/// Why there is no environment.
#[derive(Debug)]
pub(crate) struct Missing {
    /// Which part of making it did not work.
    pub(crate) step: &'static str,
    pub(crate) cause: String,
}

/// The environment in this folder, made or completed if need be. Packages are named as for `pip`, with `==` for a fixed
/// version. Making it needs `python3` and the network.
pub(crate) fn environment(root: &Path, folder: &str, packages: &[&str]) -> Result<Environment, Missing> {
    let python = Path::new(folder).join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if let Some(versions) = versions(root, &python, packages) {
        return Ok(Environment { python, versions });
    }
    let missing = |step, cause: String| Missing { step, cause };
    if process::output(Command::new("python3").arg("--version")).is_none() {
        return Err(missing("python", "`python3` was not found\n  hint: install Python 3.10 or newer".into()));
    }
    eprintln!("step environment: python3 -m venv {folder}");
    let mut venv = Command::new("python3");
    // Standard output is for answers.
    venv.current_dir(root).args(["-m", "venv", folder]).stdout(Stdio::null());
    process::succeed(&mut venv).map_err(|cause| {
        let hint = "install the `venv` module of Python (`python3-venv` on Debian)";
        missing("environment", format!("{cause}\n  hint: {hint}"))
    })?;

    let mut pip = Command::new(root.join(&python));
    pip.current_dir(root).args(["-m", "pip", "install", "-q", "--disable-pip-version-check"]).args(packages);
    eprintln!("step packages: {}", process::line(&pip));
    let hint = format!("\n  hint: `{}` must be installable with pip, which needs the network", packages.join(" "));
    process::succeed(&mut pip).map_err(|cause| missing("packages", format!("{cause}{hint}")))?;
    let versions = versions(root, &python, packages)
        .ok_or_else(|| missing("packages", format!("installed, but not found again{hint}")))?;
    Ok(Environment { python, versions })
}

/// One line for Python and one for each package, or nothing if one is missing or of another version.
fn versions(root: &Path, python: &Path, packages: &[&str]) -> Option<String> {
    const ASK: &str = "\
import platform, sys
from importlib.metadata import version
print('python', platform.python_version())
for package in sys.argv[1:]:
    name, _, wanted = package.partition('==')
    found = version(name.partition('[')[0])
    if wanted and found != wanted:
        sys.exit(f'{name} is {found}')
    print(name, found)
";
    process::output(Command::new(root.join(python)).args(["-c", ASK]).args(packages))
}
