//! Exit codes, and what is said on the way out: 0 done or passed, 1 failed by a policy, 2 a mistake in the usage, the
//! configuration or the input, 3 undecided. Nothing that goes wrong on our side ends in 1.

use calipers::{Error, ErrorKind, Fault, Value, Verdict};
use std::io::{self, Write};
use std::process::ExitCode;

/// Why a command did not finish.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// Something is wrong with the input or the options. The text says what, where and how to fix it.
    Input(String),
    /// The reader of our output went away, as `head` does. That is no mistake of anyone's.
    ClosedPipe,
}

impl Failure {
    /// Both of two failures.
    pub(crate) fn and(self, other: &Self) -> Self {
        match (self, other) {
            (Self::Input(first), Self::Input(second)) => Self::Input(format!("{first}\nerror: {second}")),
            (first, _) => first,
        }
    }
}

/// The exit code of a mistake in the usage, the configuration or the input.
pub(crate) const INPUT: u8 = 2;
const FAILED: u8 = 1;
const UNDECIDED: u8 = 3;

/// The exit code of a verdict. A reader that went away takes nothing from it.
pub(crate) fn verdict(judged: Result<Verdict, Failure>) -> ExitCode {
    match judged {
        Ok(Verdict::Pass) => ExitCode::SUCCESS,
        Ok(Verdict::Fail) => ExitCode::from(FAILED),
        Ok(Verdict::Undecided) => ExitCode::from(UNDECIDED),
        Err(failure) => code(Err(failure)),
    }
}

/// The exit code of a command.
pub(crate) fn code(done: Result<(), Failure>) -> ExitCode {
    match done {
        Ok(()) | Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Err(Failure::Input(message)) => {
            // A message may quote what a model wrote.
            eprintln!("error: {}", calipers::io::printable(&message));
            ExitCode::from(INPUT)
        }
    }
}

/// Help and version are answers; everything else that clap says is a mistake in the usage.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(INPUT) } else { ExitCode::SUCCESS }
}

/// Writes to standard output.
pub(crate) fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    write(&mut out).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
        _ => Failure::Input(format!("the output cannot be written: {error}")),
    })
}

/// An error with a hint that can be followed on a command line.
pub(crate) fn explained(error: &Error) -> String {
    let ErrorKind::UnknownLabel(Value::Text(label)) = error.kind() else { return error.to_string() };
    let text = error.to_string();
    let what = text.rsplit_once("\n  hint: ").map_or(&*text, |(what, _)| what);
    let is_plain = label.chars().count() <= 40 && label.chars().all(|c| !c.is_control() && c != '\'');
    let label = if is_plain { format!("'{label}=0.5'") } else { "LABEL=NUMBER".to_owned() };
    format!("{what}\n  hint: say what it counts with `--label {label}`, or score it C, I, P or N")
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Input(explained(&error))
    }
}

impl From<calipers::gate::Failure> for Failure {
    fn from(failure: calipers::gate::Failure) -> Self {
        match failure {
            calipers::gate::Failure::Judge(Fault::Run(error)) => error.into(),
            failure => Self::Input(failure.to_string()),
        }
    }
}

impl From<calipers::io::WriteError> for Failure {
    fn from(error: calipers::io::WriteError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<calipers::convert::ConvertError> for Failure {
    fn from(error: calipers::convert::ConvertError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<calipers::script::ScriptError> for Failure {
    fn from(error: calipers::script::ScriptError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<calipers::io::ReadError> for Failure {
    fn from(error: calipers::io::ReadError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<calipers::io::PolicyError> for Failure {
    fn from(error: calipers::io::PolicyError) -> Self {
        Self::Input(error.to_string())
    }
}
