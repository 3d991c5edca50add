//! `cargo xtask bench`: our speed beside that of the tools people use today.

use crate::{Failure, process};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) const HELP: &str = "\
Compares speed with peers on the same data, after checking that the answers agree.

usage: cargo xtask bench [ARGS]

The Python peers live in a private environment, target/bench-venv, which is made on first use and needs `python3` and
the network. Its versions are printed and kept in target/bench-venv/versions.txt; delete the folder to renew it.
ARGS go to the bench program; `cargo xtask bench -- --help` lists them.
";

/// The peers by the names that both `pip` and the metadata of Python use.
const PEERS: [&str; 2] = ["inspect_ai", "numpy"];

// Relative to the root: what the bench program prints then names no machine.
const VENV: &str = "target/bench-venv";

pub(crate) fn run(root: &Path, args: &[String]) -> Result<(), Failure> {
    let python = Path::new(VENV).join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let versions = match versions(root, &python) {
        Some(versions) => versions,
        None => install(root, &python)?,
    };
    eprint!("{versions}");
    let kept: PathBuf = root.join(VENV).join("versions.txt");
    fs::write(&kept, &versions).map_err(|cause| failed("versions", &format!("{VENV}/versions.txt: {cause}")))?;

    let args = if args.first().is_some_and(|arg| arg == "--") { &args[1..] } else { args };
    let mut command = process::cargo(root);
    command.args(["run", "--release", "--package", "bench", "--", "--python"]).arg(&python).args(args);
    eprintln!("step bench: {}", process::line(&command));
    process::succeed(&mut command).map_err(|cause| failed("bench", &cause))
}

/// Makes the environment and returns the versions it holds.
fn install(root: &Path, python: &Path) -> Result<String, Failure> {
    if process::output(Command::new("python3").arg("--version")).is_none() {
        return Err(failed("python", "`python3` was not found\n  hint: install Python 3.10 or newer"));
    }
    eprintln!("step environment: python3 -m venv {VENV}");
    let mut venv = Command::new("python3");
    // Standard output is for answers.
    venv.current_dir(root).args(["-m", "venv", VENV]).stdout(Stdio::null());
    process::succeed(&mut venv).map_err(|cause| {
        failed(
            "environment",
            &format!("{cause}\n  hint: install the `venv` module of Python (`python3-venv` on Debian)"),
        )
    })?;

    let mut pip = Command::new(root.join(python));
    pip.current_dir(root).args(["-m", "pip", "install", "-q", "--disable-pip-version-check"]).args(PEERS);
    eprintln!("step peers: {}", process::line(&pip));
    let hint = format!("\n  hint: `{}` must be installable with pip, which needs the network", PEERS.join(" "));
    process::succeed(&mut pip).map_err(|cause| failed("peers", &format!("{cause}{hint}")))?;
    versions(root, python).ok_or_else(|| failed("peers", &format!("installed, but not found again{hint}")))
}

/// One line for Python and one for each peer, or nothing if one of them is missing.
fn versions(root: &Path, python: &Path) -> Option<String> {
    const ASK: &str = "\
import platform, sys
from importlib.metadata import version
print('python', platform.python_version())
for name in sys.argv[1:]:
    print(name, version(name))
";
    process::output(Command::new(root.join(python)).args(["-c", ASK]).args(PEERS))
}

fn failed(step: &str, cause: &str) -> Failure {
    Failure::Failed(format!("step `{step}`: {cause}"))
}
