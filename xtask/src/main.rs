//! Chores of the workspace, run as `cargo xtask COMMAND`.
//!
//! Each command is one module. Answers go to stdout, everything else to stderr.
//! Exit codes: 0 done, 1 something failed, 2 the command line was wrong.

mod bench;
mod calibrate;
mod checks;
mod clusters;
mod dependencies;
mod fuzz;
mod inspect_sources;
mod inspect_suite;
mod lean;
mod markdown;
mod page;
mod platforms;
mod postgres;
mod process;
mod python;
mod shared_build;
mod site;
mod suites;
mod test;
mod vectors;
mod wheel;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HELP: &str = "\
Chores of the Calipers workspace.

usage: cargo xtask COMMAND [ARGS]

commands:
  test              everything a change must pass: format, lints, docs, tests, repository checks
  checks            only the repository checks of `test`, in seconds
  vectors [DIR]     compare with reference answers, ours or those in DIR
  calibrate [NAME]  simulate known truths and count how often the intervals and gates keep their promise
  bench [ARGS]      compare speed with other tools on the same data
  fuzz [TARGET]     feed the readers damaged files
  inspect-suite     run Inspect's own tests with our metrics, reducers and scorers in place of its own
  python [ARGS]     build, install and test the Python package
  clusters [ARGS]   test it on Spark and Ray, on this machine
  platforms         type-check for macOS and Windows, if the targets are installed
  site              build the site from docs/, and check its links

`cargo xtask COMMAND --help` says more.
";

struct Command {
    name: &'static str,
    help: &'static str,
    run: fn(&Path, &[String]) -> Result<(), Failure>,
}

const COMMANDS: [Command; 11] = [
    Command { name: "test", help: test::HELP, run: test::run },
    Command { name: "checks", help: test::CHECKS_HELP, run: test::run_checks },
    Command { name: "vectors", help: vectors::HELP, run: vectors::run },
    Command { name: "calibrate", help: calibrate::HELP, run: calibrate::run },
    Command { name: "bench", help: bench::HELP, run: bench::run },
    Command { name: "fuzz", help: fuzz::HELP, run: fuzz::run },
    Command { name: "inspect-suite", help: inspect_suite::HELP, run: inspect_suite::run },
    Command { name: "python", help: wheel::HELP, run: wheel::run },
    Command { name: "clusters", help: clusters::HELP, run: clusters::run },
    Command { name: "platforms", help: platforms::HELP, run: platforms::run },
    Command { name: "site", help: site::HELP, run: site::run },
];

/// Why a command stopped.
#[derive(Debug)]
enum Failure {
    /// The command line makes no sense.
    Usage(String),
    /// The command ran and did not succeed.
    Failed(String),
    /// The same, and the command has already said why.
    Reported,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    match dispatch(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Failed(message)) => {
            eprintln!("error: {message}");
            ExitCode::from(1)
        }
        Err(Failure::Reported) => ExitCode::from(1),
        Err(Failure::Usage(message)) => {
            eprintln!("error: {message}\n  hint: `cargo xtask --help` lists the commands");
            ExitCode::from(2)
        }
    }
}

fn dispatch(args: &[String]) -> Result<(), Failure> {
    let Some((name, args)) = args.split_first() else {
        return Err(Failure::Usage("no command given".into()));
    };
    if is_help(name) {
        print!("{HELP}");
        return Ok(());
    }
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        return Err(Failure::Usage(format!("there is no command `{name}`")));
    };
    if args.first().is_some_and(|arg| is_help(arg)) {
        print!("{}", command.help);
        return Ok(());
    }
    (command.run)(&root(), args)
}

fn is_help(arg: &str) -> bool {
    matches!(arg, "--help" | "-h" | "help")
}

/// The root of the workspace: the parent of this package.
fn root() -> PathBuf {
    // Cargo sets the variable at run time too. It wins, because a shared target folder may hold the binary of
    // another checkout.
    let package = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&package).parent().expect("the package is a folder of the workspace").to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_command_line_is_a_usage_error() {
        for line in [
            "",
            "tests",
            "test --quick",
            "vectors a b",
            "vectors --all",
            "fuzz nothing",
            "site docs",
            "inspect-suite whole",
            "platforms linux",
        ] {
            let args: Vec<String> = line.split_whitespace().map(String::from).collect();
            assert!(matches!(dispatch(&args), Err(Failure::Usage(_))), "{line}");
        }
    }

    #[test]
    fn every_command_is_in_the_help_and_has_its_own() {
        for command in &COMMANDS {
            assert!(HELP.contains(&format!("\n  {} ", command.name)), "{}", command.name);
            assert!(command.help.contains(&format!("usage: cargo xtask {}", command.name)), "{}", command.name);
        }
    }
}
