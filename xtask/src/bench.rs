//! `cargo xtask bench`: our speed beside that of the tools people use today.

use crate::{Failure, process, python};
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) const HELP: &str = "\
Compares speed with peers on the same data, after checking that the answers agree.

usage: cargo xtask bench [ARGS]

The Python peers live in a private environment, target/bench-venv, which is made on first use and needs `python3` and
the network. Its versions are printed and kept in target/bench-venv/versions.txt; delete the folder to renew it.
ARGS go to the bench program; `cargo xtask bench -- --help` lists them.
";

/// The peers by the names that both `pip` and the metadata of Python use.
const PEERS: [&str; 2] = ["inspect_ai", "numpy"];

const VENV: &str = "target/bench-venv";

pub(crate) fn run(root: &Path, args: &[String]) -> Result<(), Failure> {
    let environment =
        python::environment(root, VENV, &PEERS).map_err(|missing| failed(missing.step, &missing.cause))?;
    eprint!("{}", environment.versions);
    let kept: PathBuf = root.join(VENV).join("versions.txt");
    fs::write(&kept, &environment.versions)
        .map_err(|cause| failed("versions", &format!("{VENV}/versions.txt: {cause}")))?;

    let args = if args.first().is_some_and(|arg| arg == "--") { &args[1..] } else { args };
    let mut command = process::cargo(root);
    command.args(["run", "--release", "--package", "bench", "--", "--python"]).arg(&environment.python).args(args);
    eprintln!("step bench: {}", process::line(&command));
    process::succeed(&mut command).map_err(|cause| failed("bench", &cause))
}

fn failed(step: &str, cause: &str) -> Failure {
    Failure::Failed(format!("step `{step}`: {cause}"))
}
