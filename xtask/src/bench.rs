//! `cargo xtask bench`: our speed beside that of the tools people use today.

use crate::python::Environment;
use crate::{Failure, clusters, page, process, python, test, wheel};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const HELP: &str = "\
Compares speed with other tools on the same data, after checking that the answers agree.

usage: cargo xtask bench [ARGS]
       cargo xtask bench files [ARGS]
       cargo xtask bench columns [ARGS]
       cargo xtask bench gate
       cargo xtask bench names [ARGS]
       cargo xtask bench page
       cargo xtask bench eval [ARGS]
       cargo xtask bench python [ARGS]
       cargo xtask bench parts [spark] [ray]
       cargo xtask bench store [ARGS]
       cargo xtask bench view [ARGS]

Without a name, it compares metrics and reducers on objects in memory with Inspect AI and numpy.
  files    whole commands on files, compared with Inspect AI, polars and DuckDB; it makes the files on first use, below
           target/bench-data, which takes some minutes and 400 MB; needs Linux or macOS
  columns  tables of a million rows whose columns have other names than ours, compared with the same tables with our names
  gate     how long a verdict takes in addition to reading; compares with no other tool
  names    how time grows with the number of scorers, categories, keys, samples, attempts, runs, metrics and files
  page     compares two runs of 20,000 samples with five attempts each, writes an HTML report of one of them, and opens it in
           a headless Chromium
  eval     whole evaluations, here and in Inspect AI, with a mock model and with a slow local server
  python   the Python package, built as for a release and installed beside Inspect AI and polars, all in one process
  parts    what shares of a run weigh and cost, in one process and, if named, on Spark and Ray on this machine
  store    the same files on the disk and in a bucket of a local S3 server, with the requests counted
  view     `calipers view` over 10,000 runs: pages, memory, and speed of reading, beside `inspect view`; it makes 1.5 GB of files on
           first use, and needs Linux and Chromium

The Python tools are installed into a private environment, target/bench-venv, which is made on first use and needs
`python3` and the network. Their versions are printed and kept in target/bench-venv/versions.txt; delete the folder to
renew it. ARGS go to the bench program; `cargo xtask bench -- --help` and `cargo xtask bench files --help` list them.
The reports in bench/reports are written with `--write FILE --date DATE`; the first lines of each say how.
";

/// The peers by the names that both `pip` and the metadata of Python use.
const PEERS: [&str; 7] = ["inspect_ai", "numpy", "openai", "polars", "pyarrow", "duckdb", "maturin"];

const VENV: &str = "target/bench-venv";
const DATA: &str = "target/bench-data";

pub(crate) fn run(root: &Path, args: &[String]) -> Result<(), Failure> {
    if args.first().is_some_and(|first| first == "gate") {
        let mut command = process::cargo(root);
        return step("bench", command.args(["run", "--release", "--package", "bench", "--", "gate"]));
    }
    if args.first().is_some_and(|first| first == "page") {
        let mut build = process::cargo(root);
        step("build", build.args(["build", "--release", "--package", "calipers-cli"]))?;
        let found = page::command(root, page::REPORTS, &page::program("release"), &["--bench"]);
        return step("bench", &mut found.map_err(|cause| failed("browser", &cause))?);
    }
    if let [first, args @ ..] = args
        && first == "names"
    {
        let mut build = process::cargo(root);
        step("build", build.args(["build", "--release", "--package", "calipers-cli"]))?;
        let mut command = Command::new("python3");
        command.current_dir(root).arg("bench/peers/names.py").arg("--calipers").arg(page::program("release"));
        return step("bench", command.args(without_dashes(args)));
    }
    if let [first, args @ ..] = args
        && first == "store"
    {
        let environment = python::environment(root, test::BUCKET_VENV, &test::BUCKET_PACKAGES)
            .map_err(|missing| failed(missing.step, &missing.cause))?;
        return script(root, &environment, "store.py", without_dashes(args));
    }
    if let [first, args @ ..] = args
        && first == "parts"
    {
        let environment = clusters::environment(root).map_err(|missing| failed(missing.step, &missing.cause))?;
        return package(root, &environment, "parts.py", without_dashes(args));
    }
    let environment =
        python::environment(root, VENV, &PEERS).map_err(|missing| failed(missing.step, &missing.cause))?;
    eprint!("{}", environment.versions);
    let kept: PathBuf = root.join(VENV).join("versions.txt");
    fs::write(&kept, &environment.versions)
        .map_err(|cause| failed("versions", &format!("{VENV}/versions.txt: {cause}")))?;

    match args {
        [first, args @ ..] if first == "files" => script(root, &environment, "files.py", without_dashes(args)),
        [first, args @ ..] if first == "columns" => script(root, &environment, "columns.py", without_dashes(args)),
        [first, args @ ..] if first == "python" => package(root, &environment, "python.py", without_dashes(args)),
        [first, args @ ..] if first == "view" => view(root, &environment, without_dashes(args)),
        [first, args @ ..] if first == "eval" => script(root, &environment, "evals.py", without_dashes(args)),
        args => memory(root, &environment, without_dashes(args)),
    }
}

fn without_dashes(args: &[String]) -> &[String] {
    if args.first().is_some_and(|arg| arg == "--") { &args[1..] } else { args }
}

/// Objects in memory: the bench program runs, and starts Python itself.
fn memory(root: &Path, environment: &Environment, args: &[String]) -> Result<(), Failure> {
    let mut command = process::cargo(root);
    command.args(["run", "--release", "--package", "bench", "--", "--python"]).arg(&environment.python).args(args);
    step("bench", &mut command)
}

/// Whole commands: a script in Python runs, and starts the command line and the bench program.
fn script(root: &Path, environment: &Environment, name: &str, args: &[String]) -> Result<(), Failure> {
    let mut build = process::cargo(root);
    step("build", build.args(["build", "--release", "--package", "calipers-cli", "--package", "bench"]))?;

    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let mut command = Command::new(root.join(&environment.python));
    command.current_dir(root).arg(format!("bench/peers/{name}"));
    command.arg("--calipers").arg(target.join("release/calipers"));
    command.arg("--bench").arg(target.join("release/bench"));
    step("bench", command.args(["--data", DATA]).args(args))
}

/// The pages of a history, in a server of ours and in one of Inspect.
fn view(root: &Path, environment: &Environment, args: &[String]) -> Result<(), Failure> {
    let mut build = process::cargo(root);
    step("build", build.args(["build", "--release", "--package", "calipers-cli", "--features", "view"]))?;
    let browser = page::find_browser().map_err(|cause| failed("browser", &cause))?;
    let mut command = Command::new(root.join(&environment.python));
    command.current_dir(root).arg("bench/peers/view.py").arg("--calipers").arg(page::program("release"));
    step("bench", command.args(["--chromium", browser, "--data", DATA]).args(args))
}

/// The Python package: it is built as for a release and installed, and a script runs.
fn package(root: &Path, environment: &Environment, script: &str, args: &[String]) -> Result<(), Failure> {
    wheel::install_release(root, environment).map_err(|cause| failed("wheel", &cause))?;
    let mut command = Command::new(root.join(&environment.python));
    command.current_dir(root).arg(format!("bench/peers/{script}"));
    step("bench", command.args(args))
}

fn step(name: &str, command: &mut Command) -> Result<(), Failure> {
    eprintln!("step {name}: {}", process::line(command));
    process::succeed(command).map_err(|cause| failed(name, &cause))
}

fn failed(step: &str, cause: &str) -> Failure {
    Failure::Failed(format!("step `{step}`: {cause}"))
}
