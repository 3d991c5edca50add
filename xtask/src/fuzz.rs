//! `cargo xtask fuzz`: damaged bytes, until a reader panics, hangs or asks for too much memory.

use crate::{Failure, process};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const HELP: &str = "\
Feeds damaged files to the readers. Any bytes must lead to an answer or an error.

usage: cargo xtask fuzz [TARGET] [SECONDS]

TARGET is one of fuzz/targets; without it, all of them run one after another. SECONDS is the time for each, 60 by
default. The seeds are the files in testdata/formats and fuzz/seeds; new inputs are kept in fuzz/corpus, and inputs that
break a reader in fuzz/artifacts. It needs a nightly toolchain and cargo-fuzz.
";

/// Seconds for each target.
const SECONDS: u64 = 60;
/// More memory than this for one input, or more seconds, is a failure too.
const MEGABYTES_MAX: u64 = 2048;
const INPUT_SECONDS_MAX: u64 = 20;
/// Large inputs are slow and find little that small ones do not. Archives and tables have their directory at the end,
/// so their seeds must not be cut off; text may be.
const TEXT_BYTES_MAX: u64 = 1 << 12;
const BINARY_BYTES_MAX: u64 = 1 << 16;

/// The folders of testdata/formats that a target starts from; no folders stand for all.
const SEEDS: [(&str, &[&str]); 12] = [
    ("any", &[]),
    ("arrow", &["arrow"]),
    ("columns", &["native"]),
    ("csv", &["csv"]),
    ("documents", &["native"]),
    ("inspect_eval", &["inspect"]),
    ("inspect_json", &["inspect"]),
    ("json_formats", &[]),
    ("junit", &["junit"]),
    ("native_lines", &["native"]),
    ("parquet", &["parquet", "lighteval"]),
    ("parts", &["part"]),
];

pub(crate) fn run(root: &Path, args: &[String]) -> Result<(), Failure> {
    let (targets, seconds) = parse(args)?;
    check_tools()?;
    for target in targets {
        let seeds = seeds(root, target)?;
        let mut command = fuzz(root, target, seconds, &seeds);
        eprintln!("step {target}: {}", process::line(&command));
        process::succeed(&mut command).map_err(|cause| {
            let hint = "the input is in fuzz/artifacts; make it a test of its format";
            Failure::Failed(format!("target `{target}`: {cause}\n  hint: {hint}"))
        })?;
    }
    Ok(())
}

fn parse(args: &[String]) -> Result<(Vec<&'static str>, u64), Failure> {
    let mut targets: Vec<&str> = SEEDS.iter().map(|(target, _)| *target).collect();
    let mut seconds = SECONDS;
    let rest = match args {
        [name, rest @ ..] if name.parse::<u64>().is_err() => {
            let all = targets.join(", ");
            targets.retain(|target| target == name);
            if targets.is_empty() {
                return Err(Failure::Usage(format!("there is no target `{name}`; the targets are {all}")));
            }
            rest
        }
        rest => rest,
    };
    match rest {
        [] => {}
        [number] => {
            let wrong = |_| Failure::Usage(format!("`{number}` is not a number of seconds"));
            seconds = number.parse().map_err(wrong)?;
        }
        _ => return Err(Failure::Usage("`fuzz` takes a target and a number of seconds".into())),
    }
    Ok((targets, seconds))
}

/// Says what is missing, one thing at a time.
fn check_tools() -> Result<(), Failure> {
    let missing = |what: &str, hint: &str| Err(Failure::Failed(format!("{what}\n  hint: {hint}")));
    if process::output(nightly().arg("--version")).is_none() {
        return missing("there is no nightly toolchain", "install one with `rustup toolchain install nightly`");
    }
    if process::output(nightly().args(["fuzz", "--version"])).is_none() {
        return missing("there is no cargo-fuzz", "install it with `cargo install cargo-fuzz`");
    }
    Ok(())
}

/// The nightly cargo. `$CARGO` is that of the toolchain that runs us, so it is asked for by name.
fn nightly() -> Command {
    let mut command = Command::new("cargo");
    // Cargo passes its toolchain on, which would win over `+nightly`.
    command.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").arg("+nightly");
    command
}

fn fuzz(root: &Path, target: &str, seconds: u64, seeds: &[PathBuf]) -> Command {
    let is_binary = matches!(target, "inspect_eval" | "parquet" | "any" | "arrow" | "parts");
    let bytes_max = if is_binary { BINARY_BYTES_MAX } else { TEXT_BYTES_MAX };
    let mut command = nightly();
    command.current_dir(root.join("fuzz")).args(["fuzz", "run", target]);
    // New inputs are written to the first folder; the others are only read.
    command.arg(Path::new("corpus").join(target)).args(seeds);
    command.arg("--").args([
        format!("-max_total_time={seconds}"),
        format!("-max_len={bytes_max}"),
        format!("-rss_limit_mb={MEGABYTES_MAX}"),
        format!("-timeout={INPUT_SECONDS_MAX}"),
    ]);
    command
}

/// The folders of seeds, as seen from `fuzz`.
fn seeds(root: &Path, target: &str) -> Result<Vec<PathBuf>, Failure> {
    let formats = root.join("testdata/formats");
    let named = SEEDS.iter().find(|(name, _)| *name == target).map_or(&[][..], |(_, folders)| folders);
    let mut folders: Vec<String> = named.iter().map(ToString::to_string).collect();
    if folders.is_empty() {
        let failed = |cause: std::io::Error| Failure::Failed(format!("testdata/formats: {cause}"));
        let entries = fs::read_dir(&formats).map_err(failed)?.flatten();
        folders.extend(entries.map(|entry| entry.file_name().to_string_lossy().into_owned()));
        folders.sort();
    }
    // cargo-fuzz creates only its default folder.
    let corpus = root.join("fuzz/corpus").join(target);
    fs::create_dir_all(corpus).map_err(|cause| Failure::Failed(format!("fuzz/corpus/{target}: {cause}")))?;
    let own = Path::new("seeds").join(target);
    let own = root.join("fuzz").join(&own).is_dir().then_some(own);
    Ok(folders.iter().map(|folder| Path::new("../testdata/formats").join(folder)).chain(own).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Vec<String> {
        line.split_whitespace().map(String::from).collect()
    }

    #[test]
    fn a_target_and_a_time_may_be_named() {
        let parsed = |line: &str| parse(&args(line)).ok().map(|(targets, seconds)| (targets.len(), seconds));
        assert_eq!(parsed(""), Some((SEEDS.len(), SECONDS)));
        assert_eq!(parsed("csv"), Some((1, SECONDS)));
        assert_eq!(parsed("10"), Some((SEEDS.len(), 10)));
        assert_eq!(parsed("csv 10"), Some((1, 10)));
        for wrong in ["xls", "csv ten", "csv 10 20", "10 csv"] {
            assert!(matches!(parse(&args(wrong)), Err(Failure::Usage(_))), "{wrong}");
        }
    }

    #[test]
    fn every_target_is_known_and_its_seeds_are_there() {
        let root = crate::root();
        let mut files: Vec<String> = fs::read_dir(root.join("fuzz/targets"))
            .expect("the folder of targets")
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().trim_end_matches(".rs").to_owned())
            .collect();
        files.sort();
        assert_eq!(files, SEEDS.map(|(target, _)| target));
        let manifest = fs::read_to_string(root.join("fuzz/Cargo.toml")).expect("the manifest");
        for (target, folders) in SEEDS {
            assert!(manifest.contains(&format!("name = \"{target}\"")), "{target}");
            for folder in folders {
                assert!(root.join("testdata/formats").join(folder).is_dir(), "{folder}");
            }
        }
    }
}
