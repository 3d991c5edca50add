//! Platform differences in running a program: the shell, and how to end everything that the program started.
//!
//! Both halves have the same functions. `cargo xtask platforms` compiles the half that this machine does not run.

pub(crate) use system::{keep_together, shell};

#[cfg(not(windows))]
mod system {
    use process_wrap::tokio::{CommandWrap, ProcessGroup};
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
}

#[cfg(windows)]
mod system {
    use process_wrap::tokio::{CommandWrap, JobObject};
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
}
