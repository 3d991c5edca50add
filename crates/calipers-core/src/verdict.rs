//! The answer to a question about a run, and what to know about it.

use std::fmt;
use std::sync::Arc;

/// The answer: may this version ship?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Yes.
    Pass,
    /// The data do not say.
    Undecided,
    /// No.
    Fail,
}

impl Verdict {
    /// The name used in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Undecided => "undecided",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Something to know, with what to do about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// A short name, for programs: `stale-baseline`.
    pub id: Arc<str>,
    /// What it is.
    pub message: String,
    /// What to do.
    pub next: Option<String>,
}
