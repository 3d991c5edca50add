//! The one error of whatever begins with files.

use calipers_core::Error;
use calipers_gate::Fault;
use calipers_gate::policy::Mistake;
use calipers_io::{PolicyError, ReadError, WriteError};
use std::fmt;

/// Why a run could not be read, measured, judged, compared or written.
///
/// Each variant keeps the error of the step that failed, with its place and its hint as fields.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RunError {
    /// A file cannot be read.
    Read(ReadError),
    /// A file cannot be written.
    Write(WriteError),
    /// The policy has mistakes, or cannot be applied.
    Policy(PolicyError),
    /// The run cannot be measured.
    Measure {
        /// Why.
        error: Error,
        /// The file that the run comes from, where it is known.
        source: Option<String>,
    },
    /// An evaluation cannot begin.
    Setup {
        /// What is wrong.
        what: String,
        /// What to do about it.
        hint: Option<String>,
    },
}

impl RunError {
    /// An error of measuring a run that comes from this file.
    pub(crate) fn in_source(source: &str) -> impl FnOnce(Error) -> Self {
        move |error| Self::Measure { error, source: Some(source.to_owned()) }
    }

    /// An evaluation cannot begin.
    #[cfg(feature = "run")]
    pub(crate) fn setup(what: impl Into<String>) -> Self {
        Self::Setup { what: what.into(), hint: None }
    }

    /// An evaluation cannot begin, and this is what to do about it.
    #[cfg(feature = "run")]
    pub(crate) fn setup_with_hint(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Setup { what: what.into(), hint: Some(hint.into()) }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Write(error) => error.fmt(f),
            Self::Policy(error) => error.fmt(f),
            Self::Measure { error, source: None } => error.fmt(f),
            Self::Measure { error, source: Some(source) } => write!(f, "{error}\n  in {source}"),
            Self::Setup { what, hint: None } => f.write_str(what),
            Self::Setup { what, hint: Some(hint) } => write!(f, "{what}\n  hint: {hint}"),
        }
    }
}

impl std::error::Error for RunError {}

impl From<ReadError> for RunError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<WriteError> for RunError {
    fn from(error: WriteError) -> Self {
        Self::Write(error)
    }
}

impl From<PolicyError> for RunError {
    fn from(error: PolicyError) -> Self {
        Self::Policy(error)
    }
}

impl From<Mistake> for RunError {
    fn from(mistake: Mistake) -> Self {
        Self::Policy(vec![mistake].into())
    }
}

impl From<Error> for RunError {
    fn from(error: Error) -> Self {
        Self::Measure { error, source: None }
    }
}

impl From<Fault> for RunError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Policy(mistake) => mistake.into(),
            Fault::Run(error) => error.into(),
        }
    }
}

#[cfg(feature = "run")]
impl From<calipers_run::Fault> for RunError {
    fn from(fault: calipers_run::Fault) -> Self {
        Self::setup(fault.to_string())
    }
}
