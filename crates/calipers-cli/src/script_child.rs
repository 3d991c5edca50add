//! Scripts, and the reading of large files, run in a child process.
//!
//! A script can ask for more memory than there is with a single operation, and then the process ends at once: no error can
//! be returned. So a command that runs scripts gets a parent that waits and a child that does the work, and when the child
//! ends early, the parent says what happened. The child has the same arguments, input and output. A command that reads
//! large files gets one too ([`memory_limit`](crate::memory_limit)).

use crate::exit::{self, INPUT};
use crate::failure::Failure;
use crate::interrupts::{InterruptForwarder, is_forwarded_interrupt};
use crate::memory_limit::MemorySize;
use calipers::Registry;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Marks the child, and says what it is for.
const MARK: &str = "CALIPERS_SCRIPT_CHILD";
const FOR_SCRIPTS: &str = "scripts";
const FOR_MEMORY: &str = "memory";

/// A line that tells the parent that scripts run from here on, or that they have ended.
const SCRIPTS_BEGIN: &str = "\u{1}scripts begin";
const SCRIPTS_END: &str = "\u{1}scripts end";

/// What a child is for.
pub(crate) struct ChildPurpose {
    /// Where interrupts are passed on to it: it runs an evaluation, and draws how far it has come.
    pub(crate) forwarder: Option<InterruptForwarder>,
    /// It runs scripts.
    pub(crate) scripts: bool,
    /// What it may use, if it reads files.
    pub(crate) memory: Option<MemorySize>,
    /// The interpreter that runs it in place of this program, and what that gets before our arguments.
    pub(crate) python: Option<(PathBuf, [&'static str; 2])>,
}

/// What scripts may add to the memory that is used already.
#[cfg(unix)]
const BUDGET: u64 = 1 << 30;

pub(crate) fn is_child() -> bool {
    std::env::var_os(MARK).is_some()
}

/// True in a child that runs scripts.
pub(crate) fn is_script_child() -> bool {
    std::env::var_os(MARK).is_some_and(|purpose| purpose != FOR_MEMORY)
}

/// True unless it is certain that nothing can go wrong.
pub(crate) fn is_needed(expressions: &[String], loaded: &[String]) -> bool {
    let harmless = || {
        let registry = Registry::builtin();
        let names: Vec<&str> = registry.names().collect();
        expressions.iter().all(|expression| is_harmless(expression, &names))
    };
    !loaded.is_empty() || !(expressions.is_empty() || harmless())
}

/// True for an expression that is made of calls of metrics with literal arguments and nothing else: no operators, no
/// loops, no other functions, no attributes. Such an expression is as small as it is written.
fn is_harmless(expression: &str, metrics: &[&str]) -> bool {
    const LONG: usize = 1000;
    let mut rest = expression.trim();
    if rest.len() > LONG {
        return false;
    }
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = match first {
            '(' | ')' | '[' | ']' | '{' | '}' | ',' | ':' | ' ' => 1,
            '=' if !rest.starts_with("==") => 1,
            '-' if rest[1..].starts_with(|c: char| c.is_ascii_digit()) => 1,
            '0'..='9' => rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len()),
            '"' | '\'' => match rest[1..].find(first) {
                Some(end) if end > 0 && !rest[1..=end].contains(['\\', '\n']) => end + 2,
                _ => return false,
            },
            'a'..='z' | 'A'..='Z' | '_' => {
                let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                let (word, next) = (&rest[..length], rest[length..].trim_start());
                let is_keyword = next.starts_with('=') && !next.starts_with("==");
                let is_literal = matches!(word, "True" | "False" | "None") && !next.starts_with('(');
                if !(is_keyword || is_literal || metrics.contains(&word)) || next.starts_with(['"', '\'']) {
                    return false;
                }
                length
            }
            _ => return false,
        };
        rest = &rest[length..];
    }
    true
}

/// Does the work in a child, and says what happened to it. A child that draws needs the terminal to itself: then its last
/// words are seen, too. None if no child can be started, and nothing but a limit is lost without one.
pub(crate) fn run_in_child(purpose: &ChildPurpose) -> Option<u8> {
    let draws = purpose.forwarder.is_some() || !purpose.scripts;
    let program = match &purpose.python {
        Some((python, first)) => Ok((python.clone(), &first[..])),
        None => std::env::current_exe().map(|program| (program, &[][..])),
    };
    let started = program.and_then(|(program, first)| {
        let arguments = std::env::args_os().skip(1);
        let mut child = Command::new(program);
        child.args(first).args(arguments).env(MARK, if purpose.scripts { FOR_SCRIPTS } else { FOR_MEMORY });
        if !(draws && io::stderr().is_terminal()) {
            child.stderr(Stdio::piped());
        }
        // A trace of our own code says nothing about a script.
        child.env("RUST_BACKTRACE", "0").env("RUST_LIB_BACKTRACE", "0").spawn()
    });
    let mut child = match started {
        Ok(child) => child,
        Err(_) if !purpose.scripts => return None,
        Err(error) => {
            let what = format!("the script's process cannot be started: {error}");
            return Some(exit::code(Err(Failure::new(what))));
        }
    };
    if let Some(forwarder) = &purpose.forwarder {
        forwarder.pass_to(child.id());
    }
    let ended = forward_messages(&mut child).and_then(|in_scripts| Ok((child.wait()?, in_scripts)));
    if let Some(forwarder) = &purpose.forwarder {
        forwarder.stop();
    }
    Some(match ended {
        // Without the messages of the child, its scripts are the likely cause.
        Ok((status, in_scripts)) => exit_code(status, purpose, in_scripts.unwrap_or(purpose.scripts)),
        Err(error) => exit::code(Err(Failure::new(format!("the process that does the work is lost: {error}")))),
    })
}

/// Passes on what the child says, but for its last words when it has no memory left: the parent says that better. Returns
/// whether scripts were running at the end.
fn forward_messages(child: &mut Child) -> io::Result<Option<bool>> {
    let Some(messages) = child.stderr.take() else { return Ok(None) };
    let mut messages = BufReader::new(messages);
    let mut in_scripts = false;
    let mut line = Vec::new();
    while messages.read_until(b'\n', &mut line)? > 0 {
        // The last words begin with an empty line, so one is kept back until it is known what follows.
        if line.iter().all(|&byte| byte == b'\n') {
            continue;
        }
        let text = String::from_utf8_lossy(line.trim_ascii_start());
        if let Some(known) = [SCRIPTS_END, SCRIPTS_BEGIN].iter().position(|mark| text.trim_end() == *mark) {
            in_scripts = known == 1;
            line.clear();
            continue;
        }
        let is_last_word = text.starts_with("memory allocation of ")
            || text.contains(" has overflowed its stack")
            || text.starts_with("fatal runtime error: stack overflow")
            || text.starts_with("note: run with `RUST_BACKTRACE");
        if !is_last_word {
            // The reader may be gone, which is no reason to stop.
            let _ = io::stderr().write_all(&line);
        }
        line.clear();
    }
    Ok(Some(in_scripts))
}

fn exit_code(status: ExitStatus, purpose: &ChildPurpose, in_scripts: bool) -> u8 {
    match status.code().map(u8::try_from) {
        Some(Ok(code)) => code,
        _ if was_killed(status) => {
            let hint = if purpose.forwarder.is_some() {
                "it was killed from outside, or the system had no memory left; to continue a run, repeat \
                 the command with `--resume LOG`"
            } else {
                "it was killed from outside, or the system had no memory left; allow less with `--memory`, and read fewer \
                 files at once"
            };
            exit::code(Err(Failure::new("the process that does the work was killed").hint(hint)))
        }
        _ if purpose.python.is_some() => {
            let hint = "the log keeps what was done: a run goes on with the same command and `--resume LOG`";
            exit::code(Err(Failure::new(format!("Python ended early: {status}")).hint(hint)))
        }
        _ if !in_scripts && purpose.memory.is_some() => {
            let limit = purpose.memory.map(|memory| memory.to_string()).unwrap_or_default();
            let hint = "allow more with `--memory`, read fewer files at once, or name only what is needed with `--columns` \
                        and `--metric`";
            let what = format!("the input needs more memory than may be used: {limit}");
            exit::code(Err(Failure::new(what).hint(hint)))
        }
        _ => {
            let hint =
                "look for a list, a string or a number that grows or nests without end; scripts may use about 1 GiB";
            exit::code(Err(Failure::new("the script ran out of memory").hint(hint)))
        }
    }
}

/// True for a process that was ended from outside. One that has no memory left ends itself.
#[cfg(unix)]
fn was_killed(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    const FROM_OUTSIDE: [i32; 4] = [1, 2, 9, 15]; // hang-up, interrupt, kill, terminate
    status.signal().is_some_and(|signal| FROM_OUTSIDE.contains(&signal) || is_forwarded_interrupt(signal))
}

#[cfg(not(unix))]
fn was_killed(_: ExitStatus) -> bool {
    false
}

/// The process that waits for this one.
#[cfg(unix)]
pub(crate) fn parent() -> u32 {
    std::os::unix::process::parent_id()
}

/// The same where it cannot be known.
#[cfg(not(unix))]
pub(crate) fn parent() -> u32 {
    0
}

/// A limit on the memory of this process, which ends when it is dropped.
pub(crate) struct MemoryLimit {
    #[cfg(unix)]
    before: (u64, u64),
}

/// Limits what the child may use from here on. None where the system cannot say what is used already.
#[cfg(unix)]
pub(crate) fn limit_memory() -> Option<MemoryLimit> {
    limit_memory_by(BUDGET)
}

/// The same with another budget.
#[cfg(unix)]
pub(crate) fn limit_memory_by(budget: u64) -> Option<MemoryLimit> {
    use rlimit::Resource;
    if !is_script_child() {
        return None;
    }
    let before = Resource::AS.get().ok()?;
    let used = address_space()?;
    let limit = used.saturating_add(budget.max(used)).min(before.1);
    Resource::AS.set(limit, before.1).ok()?;
    tell_parent(SCRIPTS_BEGIN);
    Some(MemoryLimit { before })
}

/// The same where there is no such limit.
#[cfg(not(unix))]
pub(crate) fn limit_memory() -> Option<MemoryLimit> {
    None
}

/// The same where there is no such limit.
#[cfg(not(unix))]
pub(crate) fn limit_memory_by(_: u64) -> Option<MemoryLimit> {
    None
}

#[cfg(unix)]
impl Drop for MemoryLimit {
    fn drop(&mut self) {
        let _ = rlimit::Resource::AS.set(self.before.0, self.before.1);
        tell_parent(SCRIPTS_END);
    }
}

/// Tells the parent what is going on, if it reads what is said here.
#[cfg(unix)]
fn tell_parent(mark: &str) {
    if !io::stderr().is_terminal() {
        let _ = writeln!(io::stderr(), "{mark}");
    }
}

/// Ends the process when the parent that waits for it is gone.
pub(crate) fn end_with_parent() {
    let parent = parent();
    let watch = move || {
        while self::parent() == parent {
            std::thread::sleep(Duration::from_millis(200));
        }
        std::process::exit(INPUT.into());
    };
    // A child that cannot watch still does its work.
    let _ = std::thread::Builder::new().name("parent".to_owned()).spawn(watch);
}

/// The bytes of address space that this process uses.
#[cfg(unix)]
fn address_space() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_calls_of_metrics_with_literals_are_harmless() {
        let registry = Registry::builtin();
        let names: Vec<&str> = registry.names().collect();
        for harmless in [
            "accuracy",
            "accuracy()",
            "stderr(cluster=\"category\")",
            "grouped(accuracy(), \"category\", all=\"groups\", name_template=\"category_{group_name}\")",
            "pass_rate(where={\"category\": \"adversarial\", 'n': -1.5})",
            "[accuracy(), precision(positive=True)]",
            "quantile(\"latency_ms\", 0.95)",
        ] {
            assert!(is_harmless(harmless, &names), "{harmless}");
        }
        for not_certain in [
            "[0] * 2000000000",
            "list(range(10))",
            "\"a\".replace(\"a\", \"b\")",
            "[x for x in [1]]",
            "1 << 30",
            "pow(2, 3)",
            "f\"{1}\"",
            "accuracy() if True else mean()",
            "lambda scores: 1",
            "my_metric()",
            "\"\"\"a\"\"\"",
            "\"a\\\"b\"",
            "True()",
        ] {
            assert!(!is_harmless(not_certain, &names), "{not_certain}");
        }
    }
}
