//! `cargo xtask python`: the Python package, from its sources to its tests.

use crate::python::Environment;
use crate::{Failure, inspect_sources, page, process, python, shared_build};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) const HELP: &str = "\
Lints the Python package, builds it as a wheel, installs it, and runs its tests (python/tests). It is a step of `cargo xtask test` too.

The wheel is built without optimisation, to save time; `pip install ./python` builds one as for a release. Everything that is needed is
installed into a private environment, target/inspect-venv, which is made on first use with `python3` and the network.

usage: cargo xtask python [ARGS]

Arguments go to pytest: `cargo xtask python -k scorer`. Every block of code on Inspect's page on scoring metrics runs with Calipers instead of
Inspect. The page is the one in Inspect's source distribution, which is fetched once into target/inspect-suite (50 MB), or a copy that
CALIPERS_INSPECT_PAGE names: its text, from a browser. Without both these tests are skipped, and the reason is printed.
";

/// What building and testing needs. Inspect is there to be compared with.
pub(crate) const PACKAGES: [&str; 13] = [
    crate::test::INSPECT_PACKAGE,
    "maturin==1.16.0",
    "mypy",
    "nbclient",
    "nbformat",
    "ipykernel",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "pytest",
    "pytest-rerunfailures",
    "pytest-xdist",
];
const SOURCES: &str = "python";
const MANIFEST: &str = "python/Cargo.toml";
const WHEELS: &str = "target/wheels";
/// An environment with nothing in it but the wheel.
const BARE: &str = "target/python-bare-venv";

pub(crate) fn run(root: &Path, args: &[String]) -> Result<(), Failure> {
    let environment = python::environment(root, crate::test::INSPECT_VENV, &PACKAGES)
        .map_err(|missing| Failure::Failed(format!("{}: {}", missing.step, missing.cause)))?;
    build_program(root).and_then(|()| check(root, &environment, args)).map_err(Failure::Failed)
}

/// Builds the wheel, with the program for it.
pub(crate) fn build_all(root: &Path, environment: &Environment) -> Result<PathBuf, String> {
    build_program(root)?;
    build(root, environment, Some(page::program("debug")))
}

fn build_program(root: &Path) -> Result<(), String> {
    // With an example, the dependencies have the features that tests have: otherwise much would be compiled again for them.
    process::succeed(process::cargo(root).args(["build", "--workspace", "--bin", "calipers", "--example", "tour"]))
}

/// Installs a wheel into an environment that has its dependencies, in place of an earlier one.
pub(crate) fn install(root: &Path, environment: &Environment, wheel: &Path) -> Result<(), String> {
    let mut install = pip(root, environment);
    process::succeed(install.args(["install", "-q", "--force-reinstall", "--no-deps", "--no-index"]).arg(wheel))
}

/// Formats, lints, builds, installs and tests the package. The program for it has been built.
pub(crate) fn check(root: &Path, environment: &Environment, args: &[String]) -> Result<(), String> {
    process::succeed(process::cargo(root).args(["fmt", "--check", "--manifest-path", MANIFEST]))?;
    shared_build::check(root, MANIFEST)?;
    let mut lints = process::cargo(root);
    lints.args(["clippy", "--quiet", "--locked", "--manifest-path", MANIFEST, "--features", "shared"]);
    lints.env("CARGO_TARGET_DIR", target_folder(root)).env("PYO3_PYTHON", root.join(&environment.python));
    process::succeed(lints.args(["--", "-D", "warnings"]))?;
    let wheel = build(root, environment, Some(page::program("debug")))?;
    install_bare(root, environment, &wheel)?;
    install(root, environment, &wheel)?;
    let mut tests = Command::new(root.join(&environment.python));
    match inspect_sources::pages(root, environment) {
        Ok(pages) => tests.env(inspect_sources::PAGE_VARIABLE, pages),
        Err(why) => {
            eprintln!("skipped: the tests of Inspect's page on scoring metrics: {why}");
            &mut tests
        }
    };
    // Not in the folder of the sources: what is tested is what was installed.
    tests.current_dir(root.join("target")).args(["-m", "pytest", "-c", "../python/pyproject.toml"]);
    process::succeed(tests.arg("--rootdir").arg(root.join(SOURCES)).arg(root.join(SOURCES).join("tests")).args(args))
}

pub(crate) fn pip(root: &Path, environment: &Environment) -> Command {
    let mut pip = Command::new(root.join(&environment.python));
    // It starts cargo to build a wheel.
    process::forget_package(pip.current_dir(root).args(["-m", "pip", "--disable-pip-version-check"]));
    pip
}

/// Builds the wheel as for a release, and installs it.
pub(crate) fn install_release(root: &Path, environment: &Environment) -> Result<(), String> {
    install(root, environment, &build(root, environment, None)?)
}

/// Builds the wheel: around a program that is there already, quickly, or as for a release.
fn build(root: &Path, environment: &Environment, program: Option<PathBuf>) -> Result<PathBuf, String> {
    let folder = root.join(WHEELS);
    // Another wheel in the folder would be taken for the new one.
    let _ = std::fs::remove_dir_all(&folder);
    let mut wheel = pip(root, environment);
    wheel.args(["wheel", "-q", "--no-deps", "--no-build-isolation", "-w", WHEELS, "./python"]);
    if let Some(program) = program {
        wheel.env("CALIPERS_PROFILE", "dev").env("CALIPERS_PROGRAM", root.join(program));
    }
    // The environment of the build is that of the interpreter, wherever `maturin` would look for one.
    let python = root.join(&environment.python);
    wheel.env("CARGO_TARGET_DIR", target_folder(root)).env("PYO3_PYTHON", &python).env("PATH", with_folder_of(&python));
    process::succeed(&mut wheel)?;
    built(root).ok_or_else(|| "no wheel was built".into())
}

/// The wheel that has been built.
pub(crate) fn built(root: &Path) -> Option<PathBuf> {
    let mut files = std::fs::read_dir(root.join(WHEELS)).ok()?.flatten().map(|entry| entry.path());
    files.find(|path| path.extension().is_some_and(|end| end == "whl"))
}

/// Where cargo puts what it compiles, for both workspaces.
fn target_folder(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// The search path with the folder of a program before the others.
fn with_folder_of(program: &Path) -> std::ffi::OsString {
    let others = std::env::var_os("PATH").unwrap_or_default();
    let folders = program.parent().map(Path::to_path_buf).into_iter().chain(std::env::split_paths(&others));
    std::env::join_paths(folders).unwrap_or(others)
}

/// Installs the wheel where nothing else is, and uses it: it needs nothing but Python.
fn install_bare(root: &Path, environment: &Environment, wheel: &Path) -> Result<(), String> {
    let mut venv = Command::new(root.join(&environment.python));
    venv.current_dir(root).args(["-m", "venv", "--clear", "--without-pip", BARE]).stdout(Stdio::null());
    process::succeed(&mut venv)?;
    let folder = root.join(BARE).join(if cfg!(windows) { "Scripts" } else { "bin" });
    let python = folder.join(if cfg!(windows) { "python.exe" } else { "python" });
    let mut install = pip(root, environment);
    process::succeed(install.arg("--python").arg(&python).args(["install", "-q", "--no-index"]).arg(wheel))?;
    const USE: &str = "\
import calipers
results = calipers.score([{'id': 1, 'score': 'C'}, {'id': 2, 'score': 'I'}])
assert results['accuracy'].value == 0.5
";
    process::succeed(Command::new(&python).current_dir(&folder).args(["-c", USE]))?;
    process::succeed(Command::new(folder.join("calipers")).arg("--version").stdout(Stdio::null()))
}
