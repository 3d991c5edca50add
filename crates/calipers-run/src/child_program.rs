//! Runs external programs: JSON on standard input, their answer on standard output.

use crate::catalog::{CatalogParams, argument, texts};
use crate::platform::{end_marked, is_interrupted, keep_together, shell};
use crate::{AttemptFault, ProgramEnvironment};
use calipers_core::{Error, LimitReached, Value};
use futures_util::future::try_join3;
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use std::io;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;

/// The most that a program may write.
const STDOUT_BYTES_MAX: usize = 64 << 20;
/// How much of the end of standard error is kept for error messages.
const STDERR_BYTES_KEPT: usize = 16 << 10;
/// The last lines of it that an error shows.
const STDERR_LINES_SHOWN: usize = 10;
/// How long to keep reading after a program has exited, in case a child process still holds its output open.
const AFTER_THE_END: Duration = Duration::from_secs(1);
/// A program leaves our process group within this time, on a busy machine too.
const BEFORE_ITS_GROUP: Duration = Duration::from_secs(1);

/// Marks what a program starts, so that it is found when the program ends.
const MARK: &str = "CALIPERS_ATTEMPT";

/// The parameters of everything that runs a program.
pub(crate) const PARAMS: &[&str] = &["cmd", "timeout", "env", "cwd"];

/// A program and how it is run.
#[derive(Debug)]
pub(crate) struct Program {
    invocation: Invocation,
    shown: String,
    env: Vec<(String, String)>,
    cwd: Option<String>,
    timeout: Option<Duration>,
}

/// How a program is named.
#[derive(Debug)]
enum Invocation {
    /// A line for the shell.
    Line(String),
    /// A program and its arguments.
    Words(Vec<String>),
}

/// What a program that ended well wrote, and how long it ran.
pub(crate) struct ProgramOutput {
    pub(crate) stdout: Vec<u8>,
    pub(crate) time: Duration,
}

impl Program {
    /// A program from the parameters of a solver or scorer: a line for the shell, or a list of a program and its arguments.
    pub(crate) fn new(params: &CatalogParams<'_>) -> Result<Self, Error> {
        let cmd = params.get("cmd").ok_or_else(|| params.absent("cmd"))?;
        let words = texts(cmd).filter(|words| words.first().is_some_and(|program| !program.trim().is_empty()));
        let words = words
            .ok_or_else(|| params.wrong("cmd", "a command line, or a list of a program and its arguments", cmd))?;
        let invocation = match cmd {
            Value::Text(line) => Invocation::Line(line.to_string()),
            _ => Invocation::Words(words.iter().map(ToString::to_string).collect()),
        };
        let seconds = params.number("timeout")?;
        let limit = seconds.map(|seconds| Duration::try_from_secs_f64(seconds).ok().filter(|limit| !limit.is_zero()));
        if limit == Some(None) {
            return Err(argument("the `timeout` of a command is not a time", "give seconds above 0"));
        }
        let variable = |(name, value): &(_, Value)| (ToString::to_string(name), value.to_string());
        Ok(Self {
            shown: words.join(" "),
            invocation,
            env: params.map("env")?.iter().map(variable).collect(),
            cwd: params.text("cwd")?.map(|cwd| cwd.to_string()),
            timeout: limit.flatten(),
        })
    }

    /// What it is called in messages and logs.
    pub(crate) fn display_name(&self) -> &str {
        &self.shown
    }

    /// Runs it to its end. Nothing that it started stays behind: its process group, and on Linux what has left the group,
    /// is killed when it exits, when its time is up, and when this future is dropped.
    pub(crate) async fn run(
        &self,
        stdin: &[u8],
        environment: &ProgramEnvironment,
    ) -> Result<ProgramOutput, AttemptFault> {
        let started = Instant::now();
        let ran = self.run_unlimited(stdin, environment);
        let stdout = match self.timeout {
            None => ran.await?,
            Some(limit) => timeout(limit, ran)
                .await
                .map_err(|_| AttemptFault::Limit(LimitReached { kind: "time", limit: limit.as_secs_f64() }))??,
        };
        Ok(ProgramOutput { stdout, time: started.elapsed() })
    }

    async fn run_unlimited(&self, stdin: &[u8], environment: &ProgramEnvironment) -> Result<Vec<u8>, AttemptFault> {
        let started = Instant::now();
        let (mut status, mut stdout, mut stderr) = self.run_once(stdin, environment).await?;
        let is_silent = stdout.is_empty() && stderr.is_empty();
        if is_interrupted(status) && is_silent && started.elapsed() < BEFORE_ITS_GROUP {
            // A Ctrl-C for us has met the program before it left our process group. It has done nothing yet.
            (status, stdout, stderr) = self.run_once(stdin, environment).await?;
        }
        if !status.success() {
            return Err(AttemptFault::new(format!("`{}` ended with {status}{}", self.shown, last_lines(&stderr))));
        }
        Ok(stdout)
    }

    async fn run_once(
        &self,
        stdin: &[u8],
        environment: &ProgramEnvironment,
    ) -> Result<(ExitStatus, Vec<u8>, Vec<u8>), AttemptFault> {
        let mut running = ProcessGroup::start(self, environment)?;
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let status = running.wait(stdin, &mut stdout, &mut stderr).await;
        let status = status.map_err(|error| AttemptFault::new(format!("`{}`: {error}", self.shown)))?;
        Ok((status, stdout, stderr))
    }

    fn command(&self, environment: &ProgramEnvironment, mark: &str) -> Command {
        let mut command = match &self.invocation {
            Invocation::Line(line) => shell(line),
            Invocation::Words(words) => {
                let mut command = Command::new(&words[0]);
                command.args(&words[1..]);
                command
            }
        };
        command.env_clear().envs(environment.variables());
        command.envs(self.env.iter().map(|(name, value)| (name, value))).env(MARK, mark);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        command
    }
}

/// A process group under way.
struct ProcessGroup {
    child: Box<dyn ChildWrapper>,
    /// The variable that marks what it starts.
    mark: String,
    leader: Option<u32>,
    ended: bool,
}

impl ProcessGroup {
    fn start(program: &Program, environment: &ProgramEnvironment) -> Result<Self, AttemptFault> {
        static STARTED: AtomicU64 = AtomicU64::new(0);
        let mark = format!("{}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
        let command = program.command(environment, &mark);
        let name = command.as_std().get_program().to_string_lossy().into_owned();
        let mut command = CommandWrap::from(command);
        command.wrap(KillOnDrop);
        keep_together(&mut command);
        let child = command.spawn().map_err(|error| {
            let place = program.cwd.as_ref().map_or_else(String::new, |cwd| format!(" in `{cwd}`"));
            AttemptFault::new(format!("cannot start `{name}`{place}: {error}"))
        })?;
        let leader = child.id();
        Ok(Self { child, mark: format!("{MARK}={mark}"), leader, ended: false })
    }

    /// Writes and reads until the program has ended.
    async fn wait(&mut self, stdin: &[u8], stdout: &mut Vec<u8>, stderr: &mut Vec<u8>) -> io::Result<ExitStatus> {
        let (to, from, errors) = (self.child.stdin().take(), self.child.stdout().take(), self.child.stderr().take());
        let mut talk = pin!(try_join3(write(to, stdin), read(from, stdout), read_end(errors, stderr)));
        let status = tokio::select! {
            said = &mut talk => {
                said?;
                self.child.inner_mut().wait().await?
            }
            // The program alone, not its group: a process that it left there would keep us until the time is up.
            status = self.child.inner_mut().wait() => {
                let status = status?;
                self.kill();
                // A child that has left the group may still hold the pipe; what was read until now must do.
                if let Ok(said) = timeout(AFTER_THE_END, talk).await {
                    said?;
                }
                status
            }
        };
        self.kill();
        self.ended = true;
        Ok(status)
    }

    fn kill(&mut self) {
        // Usually there is nothing left to kill.
        let _ = self.child.start_kill();
        if !end_marked(&self.mark, self.leader, false) {
            // What is ending takes a moment, and others should not wait for it.
            let (mark, leader) = (self.mark.clone(), self.leader);
            std::thread::spawn(move || end_marked(&mark, leader, true));
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if !self.ended {
            self.kill();
        }
    }
}

/// Writes while the output is read, so that neither side blocks. A program need not read its input.
async fn write(to: Option<impl AsyncWrite + Unpin>, bytes: &[u8]) -> io::Result<()> {
    let Some(mut to) = to else { return Ok(()) };
    match to.write_all(bytes).await {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

async fn read(from: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) -> io::Result<()> {
    let Some(mut from) = from else { return Ok(()) };
    while from.read_buf(into).await? > 0 {
        if into.len() > STDOUT_BYTES_MAX {
            return Err(io::Error::other(format!("it wrote more than {} MiB", STDOUT_BYTES_MAX >> 20)));
        }
    }
    Ok(())
}

/// Reads to the end, and keeps only the last bytes.
async fn read_end(from: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) -> io::Result<()> {
    let Some(mut from) = from else { return Ok(()) };
    while from.read_buf(into).await? > 0 {
        if into.len() > 2 * STDERR_BYTES_KEPT {
            into.drain(..into.len() - STDERR_BYTES_KEPT);
        }
    }
    Ok(())
}

/// The last lines of a program's output, without control characters.
fn last_lines(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(STDERR_LINES_SHOWN)..].join("\n  ");
    let clean: String = last.chars().filter(|c| *c == '\n' || *c == '\t' || !c.is_control()).collect();
    if clean.is_empty() { clean } else { format!(":\n  {clean}") }
}
