//! Exit codes, and what is said on the way out: 0 done or passed, 1 failed by a policy, 2 a mistake in the usage, the
//! configuration or the input, 3 undecided. Nothing that goes wrong on our side ends in 1.

use crate::failure::{Failure, Problem};
use crate::terminal::say;
use calipers::Verdict;
use calipers::text::defuse;

/// What a command that finished has to say with its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It did what was asked.
    Done,
    /// It judged.
    Judged(Verdict),
    /// It found mistakes in the input, and has printed them.
    FoundMistakes,
}

/// The exit code of a mistake in the usage, the configuration or the input.
pub(crate) const INPUT: u8 = 2;
const DONE: u8 = 0;
const FAILED: u8 = 1;
const UNDECIDED: u8 = 3;

/// The exit code of a command, and its error on standard error.
pub(crate) fn code(ended: Result<Outcome, Failure>) -> u8 {
    match ended {
        Ok(Outcome::Done | Outcome::Judged(Verdict::Pass)) | Err(Failure::ClosedPipe) => DONE,
        Ok(Outcome::Judged(Verdict::Fail)) => FAILED,
        Ok(Outcome::Judged(Verdict::Undecided)) => UNDECIDED,
        Ok(Outcome::FoundMistakes) => INPUT,
        Err(Failure::Input(problems)) => {
            // A message may quote what a model wrote.
            say(&format!("error: {}", Problem::print(&problems)));
            INPUT
        }
    }
}

/// Help and version are answers; everything else that clap says is a mistake in the usage.
pub(crate) fn usage(error: &clap::Error) -> u8 {
    // What was typed may be a name from a stranger's folder, which a shell put there.
    let text = error.render().to_string();
    if defuse(&text, false) == text {
        let _ = error.print();
    } else {
        say(&text);
    }
    if error.use_stderr() { INPUT } else { DONE }
}
