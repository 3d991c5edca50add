//! `cargo xtask platforms`: does the program compile where it cannot be run?

use crate::{Failure, process};
use std::path::Path;
use std::process::Command;

pub(crate) const HELP: &str = "\
Type-checks the whole workspace, tests included, for the platforms of a release that this machine is not.

usage: cargo xtask platforms

Nothing is linked or run, so no compiler or library of the other platform is needed; only its standard library is, which
`rustup target add` installs. A target that is not installed is skipped, and says so. The first run takes minutes.
";

/// One target per family: what differs between processors is not in our code.
const TARGETS: [&str; 3] = ["x86_64-unknown-linux-gnu", "x86_64-pc-windows-gnu", "aarch64-apple-darwin"];

pub(crate) fn run(root: &Path, args: &[String]) -> Result<(), Failure> {
    if let Some(arg) = args.first() {
        return Err(Failure::Usage(format!("`platforms` takes no arguments, but got `{arg}`")));
    }
    let installed = process::output(Command::new("rustup").current_dir(root).args(["target", "list", "--installed"]));
    let installed = installed.unwrap_or_default();
    let (mut passed, mut failed, mut skipped) = (0, Vec::new(), 0);
    for target in TARGETS.into_iter().filter(|target| !is_host(target)) {
        if !installed.lines().any(|line| line == target) {
            eprintln!("step {target}: skipped: it is not installed\n  hint: `rustup target add {target}`\n");
            skipped += 1;
            continue;
        }
        let mut check = check(root, target);
        eprintln!("step {target}: {}", process::line(&check));
        match process::succeed(&mut check) {
            Ok(()) => passed += 1,
            Err(cause) => failed.push(format!("step `{target}`: {cause}")),
        }
    }
    println!("platforms: {passed} passed, {} failed, {skipped} skipped", failed.len());
    if failed.is_empty() { Ok(()) } else { Err(Failure::Failed(failed.join("\n  "))) }
}

fn check(root: &Path, target: &str) -> Command {
    let mut check = process::cargo(root);
    check.args(["check", "--workspace", "--all-targets", "--locked", "--target", target]);
    // Some dependencies compile C in their build scripts. Their objects are for the linker, which is not called here, so a
    // compiler that does nothing, and says that it succeeded, will do.
    let suffix = target.replace('-', "_");
    for tool in ["CC", "CXX", "AR", "RANLIB"] {
        check.env(format!("{tool}_{suffix}"), "true");
    }
    check
}

/// True for the system that we run on, which the gate checks.
fn is_host(target: &str) -> bool {
    let name = if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS };
    target.contains(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_target_is_this_system_and_the_others_are_not() {
        let hosts = TARGETS.iter().filter(|target| is_host(target)).count();
        assert_eq!(hosts, usize::from(cfg!(any(target_os = "linux", windows, target_os = "macos"))));
    }

    #[test]
    fn no_compiler_of_the_other_platform_is_needed() {
        let command = process::line(&check(Path::new("."), "aarch64-apple-darwin"));
        assert!(command.starts_with("AR_aarch64_apple_darwin=true CC_aarch64_apple_darwin=true "), "{command}");
    }
}
