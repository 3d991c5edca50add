//! Platform differences in running a program: the shell, and how to end everything that the program started.
//!
//! Each half has the same functions. `cargo xtask platforms` compiles the halves that this machine does not run.

pub(crate) use orphans::end_marked;
pub use orphans::{adopt_orphans, end_orphans};
pub(crate) use system::{is_interrupted, keep_together, shell};

#[cfg(not(windows))]
mod system {
    use process_wrap::tokio::{CommandWrap, ProcessGroup};
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;
    use tokio::process::Command;

    /// A command that runs a line in the shell.
    pub(crate) fn shell(line: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(line);
        command
    }

    /// Gives the command a process group, so that killing it kills what it started.
    pub(crate) fn keep_together(command: &mut CommandWrap) {
        command.wrap(ProcessGroup::leader());
    }

    /// True for a program that SIGINT has ended.
    pub(crate) fn is_interrupted(status: ExitStatus) -> bool {
        const SIGINT: i32 = 2;
        status.signal() == Some(SIGINT)
    }
}

#[cfg(windows)]
mod system {
    use process_wrap::tokio::{CommandWrap, JobObject};
    use std::process::ExitStatus;
    use tokio::process::Command;

    /// A command that runs a line in the shell.
    pub(crate) fn shell(line: &str) -> Command {
        let mut command = Command::new("cmd");
        // The shell reads its line as it is: quotes that are escaped for other programs would reach it as text. Of the quotes
        // around the whole, `/S` takes away exactly those.
        command.args(["/D", "/S", "/C"]).raw_arg(format!("\"{line}\""));
        command
    }

    /// Gives the command a job object, so that killing it kills what it started.
    pub(crate) fn keep_together(command: &mut CommandWrap) {
        command.wrap(JobObject);
    }

    /// A program that a Ctrl-C for us has met as well ends with a code like any other.
    pub(crate) fn is_interrupted(_: ExitStatus) -> bool {
        false
    }
}

/// A process that calls `setsid` leaves its group, and survives the end of the group. When its parent ends, the system gives
/// it to the nearest process that adopts orphans. If that is us, we find it among our children; the mark in its environment
/// says which program it belongs to.
#[cfg(target_os = "linux")]
mod orphans {
    use nix::sys::prctl::set_child_subreaper;
    use nix::sys::signal::{Signal, kill};
    use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
    use nix::unistd::Pid;
    use std::path::Path;
    use std::time::Duration;

    /// A process that forks faster than we look cannot be caught, and must not keep us.
    const ROUNDS_MAX: u32 = 200;
    const BETWEEN_ROUNDS: Duration = Duration::from_millis(5);

    /// Makes this process the parent of what programs leave behind, so that it can be ended with them.
    pub fn adopt_orphans() {
        // Without it, only what stays in its group is ended.
        let _ = set_child_subreaper(true);
    }

    /// Ends all children of this process, for when no program should be running any more.
    pub fn end_orphans() {
        end(|_| true, None, ROUNDS_MAX / 10);
    }

    /// Ends what carries this mark, besides the program itself, whose status is taken elsewhere. Returns false if something
    /// may still be there.
    pub(crate) fn end_marked(mark: &str, leader: Option<u32>, is_patient: bool) -> bool {
        let mark = mark.as_bytes();
        end(|pid| has_mark(pid, mark), leader, if is_patient { ROUNDS_MAX } else { 1 })
    }

    fn end(is_meant: impl Fn(i32) -> bool, leader: Option<u32>, rounds: u32) -> bool {
        let leader = leader.and_then(|pid| i32::try_from(pid).ok());
        let mut killed: Vec<i32> = Vec::new();
        for round in 0..rounds {
            if round > 0 {
                std::thread::sleep(BETWEEN_ROUNDS);
            }
            // While the program itself is ending, its children are not yet ours.
            let is_ending = leader.is_some_and(|pid| !is_over(pid));
            let mut found: Vec<i32> = leader.filter(|_| is_ending).map(children_of).unwrap_or_default();
            found.extend(children_of(own_id()).into_iter().filter(|&pid| Some(pid) != leader && is_meant(pid)));
            let mut at = 0;
            while let Some(&pid) = found.get(at) {
                found.extend(children_of(pid));
                at += 1;
            }
            for &pid in &found {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
            killed.extend(found);
            // A process that has ended has no environment left to show its mark, and stays until it is waited for.
            killed.retain(|&pid| is_unfinished(pid));
            let is_group_left = leader.is_some_and(|pid| !is_ending && is_unfinished(-pid));
            if killed.is_empty() && !is_ending && !is_group_left {
                return true;
            }
        }
        false
    }

    /// Takes the status of a child, or of all children in a group (a negative number), and returns true if some still run.
    fn is_unfinished(pid: i32) -> bool {
        loop {
            match waitpid(Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => return true,
                Ok(_) if pid < 0 => {}
                Ok(_) | Err(_) => return false,
            }
        }
    }

    fn own_id() -> i32 {
        Pid::this().as_raw()
    }

    /// The children of a process; they are listed by the thread that started them.
    fn children_of(pid: i32) -> Vec<i32> {
        let Ok(threads) = Path::new("/proc").join(pid.to_string()).join("task").read_dir() else { return Vec::new() };
        let mut children = Vec::new();
        for thread in threads.flatten() {
            let listed = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            children.extend(listed.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
        }
        children
    }

    /// True for a process that has ended, whether or not it has been waited for.
    fn is_over(pid: i32) -> bool {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name of the program, in parentheses, may contain anything.
        state.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
    }

    fn has_mark(pid: i32, mark: &[u8]) -> bool {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|variable| variable == mark)
    }
}

#[cfg(not(target_os = "linux"))]
mod orphans {
    /// Does nothing: this system has no such thing, or needs none.
    pub fn adopt_orphans() {}

    /// Does nothing, see [`adopt_orphans`].
    pub fn end_orphans() {}

    pub(crate) fn end_marked(_: &str, _: Option<u32>, _: bool) -> bool {
        true
    }
}
