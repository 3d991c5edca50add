//! `cargo xtask clusters`: the Python package on Spark and Ray, on clusters that the tests start on this machine and end.

use crate::python::{self, Environment};
use crate::{Failure, process, test, wheel};
use std::path::Path;
use std::process::Command;

pub(crate) const HELP: &str = "\
Runs python/cluster-tests: a standalone cluster of Spark and a cluster of Ray, on this machine, give the numbers of one
process. It is a step of `cargo xtask test` too, which has built the wheel before.

Spark and Ray are installed into a private environment, target/cluster-venv (1.5 GB), which is made on first use with `python3` and the network.
Spark needs Java 17 or newer; without it, its tests are skipped, and the reason is printed.

usage: cargo xtask clusters [ARGS]

Arguments go to pytest: `cargo xtask clusters -k ray`.
";

const PACKAGES: [&str; 6] =
    ["pyspark==4.3.0", "ray[data]==2.60.0", "maturin==1.16.0", "pandas==2.3.3", "pyarrow", "pytest"];
const VENV: &str = "target/cluster-venv";
const TESTS: &str = "python/cluster-tests";

pub(crate) fn run(root: &Path, args: &[String]) -> Result<(), Failure> {
    let missing = |missing: python::Missing| Failure::Failed(format!("{}: {}", missing.step, missing.cause));
    let builder = python::environment(root, test::INSPECT_VENV, &wheel::PACKAGES).map_err(missing)?;
    let wheel = wheel::build_all(root, &builder).map_err(Failure::Failed)?;
    let environment = environment(root).map_err(missing)?;
    eprint!("{}", environment.versions);
    check(root, &environment, &wheel, args).map_err(Failure::Failed)
}

pub(crate) fn environment(root: &Path) -> Result<Environment, python::Missing> {
    python::environment(root, VENV, &PACKAGES)
}

/// Installs the wheel, which is all that executors need, and runs the tests.
pub(crate) fn check(root: &Path, environment: &Environment, wheel: &Path, args: &[String]) -> Result<(), String> {
    if process::output(Command::new("java").arg("-version")).is_none() {
        eprintln!("skipped: the tests on Spark: `java` was not found\n  hint: install Java 17 or newer");
    }
    wheel::install(root, environment, wheel)?;
    let mut tests = Command::new(root.join(&environment.python));
    // Not in the folder of the sources: what is tested is what was installed.
    tests.current_dir(root.join("target")).args(["-m", "pytest", "-c", "../python/pyproject.toml"]);
    // What Spark and Ray warn about is not ours to fix.
    tests.args(["-W", "ignore", "--durations=5"]);
    process::succeed(tests.arg("--rootdir").arg(root.join("python")).arg(root.join(TESTS)).args(args))
}
