//! `cargo xtask vectors`: reference answers, the ones in the repository or a larger set elsewhere.

use crate::{Failure, process, suites};
use std::path::Path;

pub(crate) const HELP: &str = "\
Compares every statistic, reducer and metric with reference answers from other tools.

usage: cargo xtask vectors [DIR]

DIR has the layout of testdata/vectors, with the folders `golden` and `inspect`; the default is testdata/vectors itself.
The suites are golden_*.rs, vectors_*.rs and inspect_*.rs in crates/*/tests/it.
";

pub(crate) fn run(root: &Path, args: &[String]) -> Result<(), Failure> {
    let folder = match args {
        [] => None,
        [folder] if !folder.starts_with('-') => Some(folder),
        _ => return Err(Failure::Usage(format!("`vectors` takes at most one folder, but got `{}`", args.join(" ")))),
    };
    let suites = suites::find(root, &["golden_", "vectors_", "inspect_"]);
    if suites.is_empty() {
        return Err(Failure::Failed(
            "there are no suites of reference answers\n  at crates/*/tests/it/golden_*.rs".into(),
        ));
    }
    let mut command = suites::cargo_test(root, &suites);
    command.arg("--").args(suites::filters(&suites));
    if let Some(folder) = folder {
        // Tests run in the folder of their package, so a relative path would lead elsewhere.
        let absolute = Path::new(folder)
            .canonicalize()
            .map_err(|cause| Failure::Failed(format!("`{folder}` is no folder of vectors: {cause}")))?;
        if !["golden", "inspect"].iter().any(|part| absolute.join(part).is_dir()) {
            return Err(Failure::Failed(format!(
                "`{folder}` is no folder of vectors: it has neither `golden` nor `inspect`\n  \
                 hint: give the folder above them, laid out as testdata/vectors"
            )));
        }
        command.env("CALIPERS_VECTORS", absolute);
    }
    eprintln!("step vectors: {}", process::line(&command));
    process::succeed(&mut command).map_err(|cause| Failure::Failed(format!("step `vectors`: {cause}")))
}
