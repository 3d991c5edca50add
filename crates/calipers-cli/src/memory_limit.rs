//! How much memory a command that reads files may use.
//!
//! An allocation that fails ends the process at once, and no error can be returned. So a command whose input is not small
//! works in a child process ([`script_child`](crate::script_child)) whose memory is limited, and when the child ends for
//! want of memory, the parent says so. A small plain file is read without a child: what is made of it is small too.

use crate::script_child;
use calipers::io::is_address;
use clap::{ArgMatches, Command};
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The flag.
const FLAG: &str = "memory";

/// Input up to this size is small. All that is kept of a record is a few dozen times as large at most.
const SMALL: u64 = 1 << 20;

/// The part of the machine's memory that is used without being asked.
const SHARE: f64 = 0.8;

/// Bytes of memory that may be used; none for as many as there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemorySize(Option<u64>);

impl MemorySize {
    /// Reads a size such as `4GB`, `1.5GiB` or `500MB`, or `none`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let refuse = || format!("`{text}` is not a size; write `4GB`, `500MB` or `none`");
        if text == "none" {
            return Ok(Self(None));
        }
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit: f64 = match &*text[digits.len()..].to_ascii_uppercase() {
            "" | "B" => 1.0,
            "K" | "KB" => 1e3,
            "M" | "MB" => 1e6,
            "G" | "GB" => 1e9,
            "T" | "TB" => 1e12,
            "KIB" => 1024.0,
            "MIB" => 1_048_576.0,
            "GIB" => 1_073_741_824.0,
            "TIB" => 1_099_511_627_776.0,
            _ => return Err(refuse()),
        };
        let bytes = digits.trim().parse::<f64>().map_err(|_| refuse())? * unit;
        // Less than this, the program does not even start.
        if !(32e6..1e18).contains(&bytes) {
            return Err(format!("`{text}` is too little or too much: allow at least `32MB`"));
        }
        Ok(Self(Some(bytes as u64)))
    }

    /// The limit that holds without the flag: most of what the machine, or the container, has.
    fn usual() -> Self {
        Self(machine_memory().map(|bytes| (bytes as f64 * SHARE) as u64))
    }
}

impl fmt::Display for MemorySize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(bytes) if bytes >= 1_000_000_000 => write!(f, "{:.1} GB", bytes as f64 / 1e9),
            Some(bytes) => write!(f, "{:.0} MB", bytes as f64 / 1e6),
            None => f.write_str("no limit"),
        }
    }
}

/// The limit of a command, if it has the flag: it reads files, and ends when it has read them.
pub(crate) fn of_command(program: &Command, arguments: &ArgMatches) -> Option<MemorySize> {
    if !has_flag(program, arguments) {
        return None;
    }
    let given = leaf(arguments).try_get_one::<MemorySize>(FLAG).ok()?;
    let limit = given.copied().unwrap_or_else(MemorySize::usual);
    // A limit that the process was started with holds too.
    Some(MemorySize(limit.0.into_iter().chain(read_inherited()).min()))
}

/// True unless it is certain that a command does with little memory.
pub(crate) fn is_needed(arguments: &ArgMatches, words: &[OsString]) -> bool {
    let is_given = leaf(arguments).try_get_one::<MemorySize>(FLAG).is_ok_and(|given| given.is_some());
    is_given || read_inherited().is_some() || !are_small(words)
}

/// True for a command with the flag. Matches alone do not tell: only debug builds of clap know which flags there are.
fn has_flag(program: &Command, arguments: &ArgMatches) -> bool {
    match arguments.subcommand() {
        Some((name, inner)) => program.find_subcommand(name).is_some_and(|command| has_flag(command, inner)),
        None => program.get_arguments().any(|argument| argument.get_id() == FLAG),
    }
}

/// The matches of the last subcommand.
fn leaf(arguments: &ArgMatches) -> &ArgMatches {
    arguments.subcommand().map_or(arguments, |(_, inner)| leaf(inner))
}

/// True when all files that are named are small and plain.
fn are_small(words: &[OsString]) -> bool {
    let mut total = 0;
    for word in words.iter().skip(1) {
        let word = word.to_string_lossy();
        let name = word.strip_prefix("--").and_then(|flag| flag.split_once('=')).map_or(&*word, |(_, value)| value);
        match Path::new(name).metadata() {
            Ok(found) if found.is_file() => {
                total += found.len();
                if total > SMALL || is_packed(Path::new(name)) {
                    return false;
                }
            }
            Ok(_) => return false,
            Err(_) if name == "-" || name.contains(['*', '?', '[']) || is_address(name) => return false,
            Err(_) => {}
        }
    }
    true
}

/// True for a file whose content is larger than it looks: compressed, an archive or Parquet. One that cannot be read may
/// be any of these.
fn is_packed(path: &Path) -> bool {
    let mut magic = [0; 4];
    let Ok(read) = File::open(path).and_then(|mut file| file.read(&mut magic)) else { return true };
    let known: [&[u8]; 4] = [&[0x1f, 0x8b], &[0x28, 0xb5, 0x2f, 0xfd], b"PK", b"PAR1"];
    known.iter().any(|start| magic[..read].starts_with(start))
}

/// Limits the memory of this process, which must be a child that its parent waits for.
#[cfg(target_os = "linux")]
pub(crate) fn apply(limit: MemorySize) {
    use rlimit::Resource;
    if let (MemorySize(Some(bytes)), true, Ok((soft, hard))) = (limit, script_child::is_child(), Resource::DATA.get()) {
        let _ = Resource::DATA.set(bytes.min(soft), hard);
    }
}

/// Elsewhere there is no such limit.
#[cfg(not(target_os = "linux"))]
pub(crate) fn apply(_: MemorySize) {
    let _ = script_child::is_child();
}

/// The limit that the process was started with.
#[cfg(unix)]
fn read_inherited() -> Option<u64> {
    use rlimit::{INFINITY, Resource};
    let limits = [Resource::AS, Resource::DATA].into_iter().filter_map(|limit| limit.get_soft().ok());
    limits.filter(|&bytes| bytes != INFINITY).min()
}

#[cfg(not(unix))]
fn read_inherited() -> Option<u64> {
    None
}

/// The bytes of memory of the machine, or of the container if that has fewer.
fn machine_memory() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let number = |text: String| text.trim().parse::<u64>().ok();
    let machine = read("/proc/meminfo").and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?.trim().strip_suffix("kB")?.trim();
        Some(line.parse::<u64>().ok()?.saturating_mul(1024))
    });
    // A container sees its own limit at the root; elsewhere it is below, under the name of the group.
    let group = read("/proc/self/cgroup")
        .and_then(|text| text.lines().find_map(|line| line.strip_prefix("0::/").map(str::to_owned)));
    let folders = [String::new()].into_iter().chain(group).map(|group| format!("/sys/fs/cgroup/{group}"));
    let limits = folders.filter_map(|folder| number(read(&format!("{folder}/memory.max"))?));
    let old = read("/sys/fs/cgroup/memory/memory.limit_in_bytes").and_then(number);
    machine.into_iter().chain(limits).chain(old).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use calipers_testing::Scratch;
    use clap::CommandFactory;

    #[test]
    fn sizes_are_read_in_every_unit() {
        for (text, want) in [
            ("4GB", Some(4_000_000_000)),
            ("1.5GiB", Some(1_610_612_736)),
            ("500m", Some(500_000_000)),
            ("64 MB", Some(64_000_000)),
            ("40000000", Some(40_000_000)),
            ("none", None),
        ] {
            assert_eq!(MemorySize::parse(text), Ok(MemorySize(want)), "{text}");
        }
        for wrong in ["", "GB", "-4GB", "4XB", "1MB", "NaN", "inf", "1e30GB", "4GB5"] {
            assert!(MemorySize::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_commands_with_the_flag_have_a_limit() {
        let program = crate::Arguments::command();
        for (words, want) in [
            (&["calipers", "score", "a.jsonl"][..], true),
            (&["calipers", "report", "a.jsonl", "-o", "a.html"], true),
            (&["calipers", "metrics"], false),
            // A server must hear by itself that it is to end.
            #[cfg(feature = "view")]
            (&["calipers", "view", "logs"], false),
        ] {
            let arguments = program.clone().try_get_matches_from(words).expect("a command");
            assert_eq!(has_flag(&program, &arguments), want, "{words:?}");
            assert_eq!(of_command(&program, &arguments).is_some(), want, "{words:?}");
        }
    }

    #[test]
    fn only_small_plain_files_need_no_child() {
        let folder = Scratch::new();
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).expect("written");
            OsString::from(path)
        };
        let small = write("small.jsonl", b"{}");
        let large = write("large.jsonl", &vec![b' '; SMALL as usize + 1]);
        let packed = write("packed.gz", &[0x1f, 0x8b, 8]);
        let are_small = |words: &[&OsString]| {
            let words: Vec<OsString> =
                [OsString::from("calipers")].iter().chain(words.iter().copied()).cloned().collect();
            super::are_small(&words)
        };
        assert!(are_small(&[&small, &"--json".into(), &"nowhere.json".into()]));
        for other in [&large, &packed, &OsString::from(folder.path()), &"-".into(), &"logs/*.json".into()] {
            assert!(!are_small(&[&small, other]), "{other:?}");
        }
        let mut flag = OsString::from("--suite=");
        flag.push(&large);
        assert!(!are_small(&[&flag]));
    }
}
