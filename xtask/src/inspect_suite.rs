//! `cargo xtask inspect-suite`: Inspect's own tests, with our metrics, reducers and scorers in place of its own.

use crate::{Failure, inspect_sources, process, python, wheel};
use std::path::Path;
use std::process::Command;

pub(crate) const HELP: &str = "\
Runs tests of Inspect with the metrics, reducers and scorers of `calipers.inspect` in place of Inspect's own in every module. Tests that fail
run again without us, and must fail there too. At least 141 tests of Inspect's tests/scorer must call our metrics and reducers, and 75 our scorers.
Those that call them run once more with an error of 0.01 in each of our numbers, which at least 60 must notice, and with the opposite of each of our
grades, which at least 60 must notice.

The tests come with the source distribution of Inspect 0.3.251, the last that has them, from PyPI. It is kept in target/inspect-suite, with
an environment of its own: the first run needs `python3` and the network, and ends with a reason where there is neither. Tests that need an account, a
container or a package that is not installed skip themselves.

usage: cargo xtask inspect-suite [TESTS]

Without TESTS, tests/scorer runs: a few minutes. `tests/scorer tests/log` names folders of Inspect's, and `tests` all of them, which take an hour or more.
";

const FOLDER: &str = inspect_sources::FOLDER;
const SCRIPT: &str = "xtask/inspect-suite/suite.py";
/// Inspect, and what its tests import. Providers of models are there for their classes; nothing is sent to them.
const PACKAGES: [&str; 18] = [
    "inspect_ai==0.3.251",
    "maturin==1.16.0",
    "anthropic",
    "griffe",
    "ipython",
    "jsonpath-ng",
    "markdown",
    "mcp",
    "moto[server]",
    "nbformat",
    "openai",
    "pandas",
    "pyarrow",
    "pytest",
    "pytest-mock",
    "pytest-timeout",
    "pytest-xdist",
    "trio",
];

pub(crate) fn run(root: &Path, args: &[String]) -> Result<(), Failure> {
    if let Some(other) = args.iter().find(|arg| !arg.starts_with("tests")) {
        return Err(Failure::Usage(format!(
            "`inspect-suite` takes folders and files of Inspect's tests, but got `{other}`"
        )));
    }
    let environment = python::environment(root, &format!("{FOLDER}/venv"), &PACKAGES)
        .map_err(|missing| Failure::Failed(format!("{}: {}", missing.step, missing.cause)))?;
    eprint!("{}", environment.versions);
    let sources = inspect_sources::fetch(root, &environment).map_err(Failure::Failed)?;
    let wheel = wheel::build_all(root, &environment).map_err(Failure::Failed)?;
    wheel::install(root, &environment, &wheel).map_err(Failure::Failed)?;
    let mut suite = Command::new(root.join(&environment.python));
    suite.current_dir(root).arg(SCRIPT).arg(sources).arg(format!("{FOLDER}/reports")).args(args);
    process::succeed(&mut suite).map_err(Failure::Failed)
}
