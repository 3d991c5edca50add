//! `cargo xtask calibrate`: the simulations behind the promises, too slow for every change.

use crate::{Failure, process, suites};
use std::path::Path;

pub(crate) const HELP: &str = "\
Simulates known truths and counts: a 95% interval must cover about 95% of the time.

usage: cargo xtask calibrate [NAME]...

NAME keeps only the tests whose names contain it. The tests are the ignored ones in the modules `calibration` of
crates/*/tests/it; they run optimised and print what they counted.
";

pub(crate) fn run(root: &Path, args: &[String]) -> Result<(), Failure> {
    if let Some(option) = args.iter().find(|arg| arg.starts_with('-')) {
        return Err(Failure::Usage(format!("`calibrate` has no option `{option}`")));
    }
    let suites = suites::find(root, &["calibration"]);
    if suites.is_empty() {
        // A run that simulated nothing must not look like a promise kept.
        return Err(Failure::Failed(
            "there are no calibration tests yet\n  hint: write `#[ignore]` tests in crates/*/tests/it/calibration.rs"
                .into(),
        ));
    }
    let mut command = suites::cargo_test(root, &suites);
    command.args(["--release", "--", "--ignored", "--nocapture"]);
    // Filters add up, so a name takes the place of the suites: these crates ignore no other tests.
    if args.is_empty() {
        command.args(suites::filters(&suites));
    } else {
        command.args(args);
    }
    eprintln!("step calibrate: {}", process::line(&command));
    process::succeed(&mut command).map_err(|cause| Failure::Failed(format!("step `calibrate`: {cause}")))
}
