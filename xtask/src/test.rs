//! `cargo xtask test`: everything that must hold before a change is merged.

use crate::checks::{self, Repository};
use crate::postgres::PostgresServer;
use crate::{Failure, clusters, dependencies, lean, page, process, python, suites, wheel};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

pub(crate) const HELP: &str = "\
Runs everything that a change must pass. Every step runs, even after one has failed, and the last line counts them.

The step `inspect` needs Inspect AI, which it installs into a private environment, target/inspect-venv. This needs
`python3` and the network the first time; without them, the step is skipped and says why.

The step `buckets` starts a server of the S3 protocol on this machine (moto, in target/bucket-venv), and one of the Azure
protocol (azurite, in target/azurite) if `npm` is there. They end with the tests.

The step `postgres` starts a Postgres server in a scratch folder, on a socket, as an unprivileged user. It installs one if it can
(on Debian, as root), and ends it with the tests.

The step `clusters` starts Spark (a master and two workers) and Ray (a head and two nodes) on this machine, from target/cluster-venv.
They end with the tests. Spark needs Java 17; without it, its tests are skipped.

The step `page` needs `python3` and Chromium, which it installs if it can (on Debian, as root). Its pages and screenshots
are kept in target/page.

usage: cargo xtask test

Steps with servers, clusters or a browser depend on how these come up. If such a step fails it runs once more, and the end of the
run names the steps that passed only then.

steps:
  format        cargo fmt --all --check, and the files of the metrics
  lints         cargo clippy, warnings are errors
  docs          cargo doc, warnings are errors
  lean          the program of the README's first command and the library, which are built without default features
  tests         all tests except those in the documentation, with cargo-nextest if it is installed
  doc-tests     the examples in the documentation
  inspect       numbers and logs compared with Inspect itself, in both directions; skipped without Python or network
  buckets       results in buckets, on local servers; skipped without Python or network
  postgres      histories in Postgres: the tests of `history` and `view` again; skipped without Postgres
  python        the Python package: built, installed and tested; skipped without Python or network
  clusters      the Python package on Spark and Ray, on this machine; skipped without Python, network or the wheel
  page          the page of `calipers report` in a headless Chromium; skipped without Chromium or Python
  view          the pages of `calipers view` there; skipped likewise
  dependencies  licences and sources of all dependencies, by deny.toml, with cargo-deny if it is installed
  advisories    no dependency has a known vulnerability; skipped without cargo-deny or its database
  paths         no file names a folder of one machine
  unfinished    no placeholder macros in Rust code
  code-map      ARCHITECTURE.md names every crate
  layers        the inner crates depend on no outer crate
  links         relative links in Markdown lead to a file
  summary       docs/SUMMARY.md lists every page of docs/ once, and the start page links to it
  words         sentences and rounding only in calipers-render, flags only in calipers-cli
  metric-names  the judge knows no metric by its name
  names         types are nouns, functions are verbs, few test binaries
";

pub(crate) const CHECKS_HELP: &str = "\
The checks of the repository itself, which are the last steps of `cargo xtask test`. They compile nothing and take a few seconds.

usage: cargo xtask checks
";

/// The version whose numbers ours are held against.
pub(crate) const INSPECT_PACKAGE: &str = "inspect_ai==0.3.285";
const INSPECT: [&str; 3] = [INSPECT_PACKAGE, "pandas", "pyarrow"];
pub(crate) const INSPECT_VENV: &str = "target/inspect-venv";
/// Names the interpreter to the tests; without it they do nothing.
const INSPECT_VARIABLE: &str = "CALIPERS_INSPECT_PYTHON";

/// The server of the S3 protocol that tests start.
pub(crate) const BUCKET_PACKAGES: [&str; 1] = ["moto[server]==5.2.5"];
pub(crate) const BUCKET_VENV: &str = "target/bucket-venv";
/// Names its interpreter to the tests; without it they do nothing.
const BUCKET_VARIABLE: &str = "CALIPERS_MOTO_PYTHON";

/// The server of the Azure protocol that tests start.
const AZURITE_PACKAGE: &str = "azurite@3.35.0";
const AZURITE_FOLDER: &str = "target/azurite";
/// Names its program to the tests; without it they do nothing.
const AZURITE_VARIABLE: &str = "CALIPERS_AZURITE";

/// Names a Postgres server to the tests of histories; without it they use files.
const POSTGRES_VARIABLE: &str = "CALIPERS_TEST_POSTGRES";
/// Names the same server where it speaks TLS, and the certificate that it shows there.
const POSTGRES_TLS_VARIABLE: &str = "CALIPERS_TEST_POSTGRES_TLS";
const CERTIFICATE_VARIABLE: &str = "CALIPERS_TEST_POSTGRES_CERTIFICATE";

/// The seed of the laws: this gate gives one answer per commit. Everywhere else they draw new cases every time.
const LAWS_VARIABLE: &str = "PROPTEST_RNG_SEED";
const LAWS_SEED: &str = "1";

/// The files of the metrics.
fn metric_files(root: &Path) -> Vec<PathBuf> {
    let folder = std::fs::read_dir(root.join("crates/calipers-core/src/metric"));
    folder.into_iter().flatten().flatten().map(|file| file.path()).collect()
}

pub(crate) fn run(root: &Path, args: &[String]) -> Result<(), Failure> {
    if let Some(arg) = args.first() {
        return Err(Failure::Usage(format!("`test` takes no arguments, but got `{arg}`")));
    }
    let mut gate = Gate::default();
    let cargo = |args: &[&str]| {
        let mut command = process::cargo(root);
        command.args(args);
        command
    };
    // A macro declares the files of the metrics, and rustfmt does not look into macros.
    gate.step("format", "cargo fmt --all --check, and the files of the metrics", || {
        process::succeed(cargo(&["fmt", "--all", "--check", "--"]).args(metric_files(root)))
    });
    gate.command("lints", &mut cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]));
    gate.command("docs", cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"));
    gate.step("lean", "the program without default features", || lean::check(root));
    let mut tests = cargo(test_args(has_nextest(root)));
    if std::env::var_os(LAWS_VARIABLE).is_none() {
        tests.env(LAWS_VARIABLE, LAWS_SEED);
    }
    gate.command("tests", &mut tests);
    gate.command("doc-tests", &mut cargo(&["test", "--workspace", "--doc", "--quiet"]));
    match python::environment(root, INSPECT_VENV, &INSPECT) {
        Ok(environment) => {
            eprint!("{}", environment.versions);
            // The whole workspace: one package alone would have other features, and much would be compiled again.
            let mut command =
                cargo(&["test", "--workspace", "--test", suites::BINARY, "--", "--nocapture", "inspect::"]);
            gate.command("inspect", command.env(INSPECT_VARIABLE, root.join(environment.python)));
        }
        Err(missing) => gate.skip("inspect", &missing.cause),
    }
    match python::environment(root, BUCKET_VENV, &BUCKET_PACKAGES) {
        Ok(environment) => {
            eprint!("{}", environment.versions);
            let mut command =
                cargo(&["test", "--workspace", "--test", suites::BINARY, "--", "--nocapture", "buckets::"]);
            command.env(BUCKET_VARIABLE, root.join(environment.python));
            match azurite(root) {
                Ok(program) => {
                    command.env(AZURITE_VARIABLE, program);
                }
                Err(why) => eprintln!("az:// is not tested: {why}"),
            }
            gate.command_with_servers("buckets", &mut command);
        }
        Err(missing) => gate.skip("buckets", &missing.cause),
    }
    match PostgresServer::start() {
        Ok(server) => {
            let mut command = cargo(&["test", "--workspace", "--test", suites::BINARY, "--", "history::", "view::"]);
            command.env(POSTGRES_VARIABLE, server.address());
            match server.tls_address() {
                Some(address) => {
                    command.env(POSTGRES_TLS_VARIABLE, address).env(CERTIFICATE_VARIABLE, server.certificate());
                }
                None => eprintln!("TLS to Postgres is not tested: `openssl` made no certificate"),
            }
            gate.command_with_servers("postgres", &mut command);
        }
        Err(missing) => gate.skip("postgres", &missing),
    }
    match python::environment(root, INSPECT_VENV, &wheel::PACKAGES) {
        // The tests have built the program that goes into the wheel.
        Ok(environment) => {
            gate.step("python", "the wheel, and its tests", || wheel::check(root, &environment, &[]));
            match (wheel::built(root), clusters::environment(root)) {
                (Some(wheel), Ok(environment)) => {
                    eprint!("{}", environment.versions);
                    let check = || clusters::check(root, &environment, &wheel, &[]);
                    gate.step_with_servers("clusters", "Spark and Ray", check);
                }
                (None, _) => gate.skip("clusters", "no wheel was built"),
                (_, Err(missing)) => gate.skip("clusters", &missing.cause),
            }
        }
        Err(missing) => ["python", "clusters"].iter().for_each(|step| gate.skip(step, &missing.cause)),
    }
    for (step, script) in [("page", page::REPORTS), ("view", page::VIEW)] {
        match page::command(root, script, &page::program("debug"), &[]) {
            // The tests have built the program.
            Ok(mut command) => gate.command_with_servers(step, &mut command),
            Err(missing) => gate.skip(step, &missing),
        }
    }
    gate.step("dependencies", "licences and sources by deny.toml", || dependencies::check(root));
    match dependencies::fetch_advisories(root) {
        Ok(()) => gate.step("advisories", "no known vulnerability", || dependencies::check_advisories(root)),
        Err(missing) => gate.skip("advisories", &missing),
    }

    check_repository(root, &mut gate)?;
    gate.finish()
}

/// The server of the Azure protocol, installed on first use.
fn azurite(root: &Path) -> Result<PathBuf, String> {
    let folder = root.join(AZURITE_FOLDER);
    let program = folder.join("node_modules/.bin/azurite-blob");
    if !program.exists() {
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let mut npm = Command::new("npm");
        npm.current_dir(&folder).args(["install", "--no-audit", "--no-fund", "--prefix", ".", AZURITE_PACKAGE]);
        eprintln!("step packages: {}", process::line(&npm));
        process::succeed(npm.stdout(std::process::Stdio::null()))?;
    }
    Ok(program)
}

/// `cargo xtask checks`: the last steps of the gate alone.
pub(crate) fn run_checks(root: &Path, args: &[String]) -> Result<(), Failure> {
    if let Some(arg) = args.first() {
        return Err(Failure::Usage(format!("`checks` takes no arguments, but got `{arg}`")));
    }
    let mut gate = Gate::default();
    check_repository(root, &mut gate)?;
    gate.finish()
}

fn check_repository(root: &Path, gate: &mut Gate) -> Result<(), Failure> {
    let repository = Repository::read(root).map_err(|cause| Failure::Failed(format!("reading the files: {cause}")))?;
    for check in checks::ALL {
        gate.step(check.name, check.claim, || {
            (check.figures)(&repository).lines().for_each(|line| eprintln!("  {line}"));
            match (check.problems)(&repository) {
                problems if problems.is_empty() => Ok(()),
                problems => Err(problems.join("\n  ")),
            }
        });
    }
    Ok(())
}

fn has_nextest(root: &Path) -> bool {
    process::output(process::cargo(root).args(["nextest", "--version"])).is_some()
}

/// The libraries, binaries, integration tests and examples. Benches are for measuring and are not run here.
fn test_args(nextest: bool) -> &'static [&'static str] {
    if nextest {
        &["nextest", "run", "--workspace", "--no-fail-fast", "--status-level", "fail", "--final-status-level", "fail"]
    } else {
        &["test", "--workspace", "--no-fail-fast", "--lib", "--bins", "--tests", "--examples"]
    }
}

#[derive(Default)]
struct Gate {
    passed: usize,
    failed: Vec<&'static str>,
    skipped: Vec<&'static str>,
    passed_again: Vec<&'static str>,
}

impl Gate {
    fn command(&mut self, name: &'static str, command: &mut Command) {
        let line = process::line(command);
        self.step(name, &line, || process::succeed(command));
    }

    fn step(&mut self, name: &'static str, what: &str, run: impl FnOnce() -> Result<(), String>) {
        eprintln!("step {name}: {what}");
        let start = Instant::now();
        let outcome = run();
        let seconds = start.elapsed().as_secs_f64();
        match outcome {
            Ok(()) => {
                self.passed += 1;
                eprintln!("step {name}: ok in {seconds:.1} s\n");
            }
            Err(problems) => {
                self.failed.push(name);
                eprintln!("step {name}: FAILED after {seconds:.1} s\n  {problems}\n");
            }
        }
    }

    fn command_with_servers(&mut self, name: &'static str, command: &mut Command) {
        let line = process::line(command);
        self.step_with_servers(name, &line, || process::succeed(command));
    }

    /// A step that depends on other programs: a second run tells what is broken from what came up too late.
    fn step_with_servers(&mut self, name: &'static str, what: &str, mut run: impl FnMut() -> Result<(), String>) {
        let mut failed_once = false;
        let failures = self.failed.len();
        self.step(name, what, || {
            run().or_else(|problems| {
                failed_once = true;
                eprintln!("step {name}: failed, and runs once more:\n  {problems}\n");
                run()
            })
        });
        if failed_once && self.failed.len() == failures {
            self.passed_again.push(name);
        }
    }

    /// A step that cannot run here. It has neither passed nor failed.
    fn skip(&mut self, name: &'static str, why: &str) {
        self.skipped.push(name);
        eprintln!("step {name}: skipped: {why}\n");
    }

    /// Names the failed steps, then counts all of them on the last line.
    fn finish(self) -> Result<(), Failure> {
        for name in &self.failed {
            eprintln!("error: step `{name}` failed");
        }
        for name in &self.passed_again {
            eprintln!("warning: step `{name}` failed and passed when it ran again");
        }
        println!("{}", self.summary());
        if self.failed.is_empty() { Ok(()) } else { Err(Failure::Reported) }
    }

    fn summary(&self) -> String {
        format!("steps: {} passed, {} failed, {} skipped", self.passed, self.failed.len(), self.skipped.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_step_is_counted_and_named_and_the_next_one_still_runs() {
        let mut gate = Gate::default();
        gate.step("one", "", || Ok(()));
        gate.step("two", "", || Err("broken".into()));
        gate.step("three", "", || Ok(()));
        gate.skip("four", "nothing to run it with");
        assert_eq!(gate.summary(), "steps: 2 passed, 1 failed, 1 skipped");
        assert_eq!(gate.failed, ["two"]);
        assert!(matches!(gate.finish(), Err(Failure::Reported)));
    }

    #[test]
    fn a_step_with_servers_runs_twice_at_most_and_is_named() {
        let mut gate = Gate::default();
        let mut runs = 0;
        gate.step_with_servers("late", "", || {
            runs += 1;
            if runs == 1 { Err("not up".into()) } else { Ok(()) }
        });
        let mut runs = 0;
        gate.step_with_servers("broken", "", || {
            runs += 1;
            Err("broken".into())
        });
        assert_eq!(runs, 2);
        gate.step_with_servers("sound", "", || Ok(()));
        assert_eq!(gate.summary(), "steps: 2 passed, 1 failed, 0 skipped");
        assert_eq!((gate.passed_again, gate.failed), (vec!["late"], vec!["broken"]));
    }

    #[test]
    fn a_program_that_is_not_there_fails_its_step() {
        let mut gate = Gate::default();
        gate.command("absent", &mut Command::new("no-such-program-anywhere"));
        assert_eq!(gate.summary(), "steps: 0 passed, 1 failed, 0 skipped");
    }

    #[test]
    fn the_help_names_every_check() {
        for check in checks::ALL {
            assert!(HELP.contains(&format!("\n  {} ", check.name)), "{}", check.name);
        }
    }
}
