//! The one error of whatever begins with files.

use calipers_core::Error;
use calipers_gate::Fault;
use calipers_gate::policy::Mistake;
use calipers_io::{HeaderDifference, PolicyError, ReadError, WriteError};
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
    Setup(SetupError),
}

/// Why an evaluation cannot begin.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetupError {
    /// The task asks a model, and none is named.
    NoModel,
    /// The task has no samples.
    NoSamples,
    /// The dataset has no sample of this name.
    UnknownSample {
        /// The name.
        id: String,
        /// The nearest known name, if one is near.
        nearest: Option<String>,
    },
    /// A log is resumed, and the run is not the one that it has begun with.
    OtherRun {
        /// What is not as it was.
        differences: Vec<HeaderDifference>,
    },
    /// Costs are limited, and nothing says what a model costs.
    NoPrice {
        /// The model.
        model: String,
        /// True for the budget of the run, false for the limit of an attempt.
        is_budget: bool,
    },
    /// Something else.
    Other(String),
}

impl SetupError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoModel => Some("name one in the task; `mockllm/model` answers without a server".to_owned()),
            Self::NoSamples => Some("check its dataset, and how many samples are asked for".to_owned()),
            Self::UnknownSample { nearest, .. } => nearest.as_ref().map(|near| format!("did you mean `{near}`?")),
            Self::OtherRun { .. } => Some("put back what has changed, or start a new run".to_owned()),
            Self::NoPrice { .. } => Some("give its price, or run without the limit".to_owned()),
            Self::Other(_) => None,
        }
    }
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoModel => f.write_str("no model is named"),
            Self::NoSamples => f.write_str("the task has no samples"),
            Self::UnknownSample { id, .. } => write!(f, "the dataset has no sample `{id}`"),
            Self::OtherRun { differences } => {
                f.write_str("this is not the run that the log has begun with: ")?;
                for (place, HeaderDifference { part, log, now }) in differences.iter().enumerate() {
                    if place > 0 {
                        f.write_str("; ")?;
                    }
                    match (log, now) {
                        (Some(log), Some(now)) => write!(f, "the {part} is `{now}` and was `{log}`")?,
                        _ => write!(f, "not the same {part}")?,
                    }
                }
                Ok(())
            }
            Self::NoPrice { model, is_budget } => {
                let limit = if *is_budget { "the budget" } else { "the cost limit" };
                write!(f, "{limit} cannot be kept: the price of model `{model}` is not known")
            }
            Self::Other(what) => f.write_str(what),
        }
    }
}

impl RunError {
    /// An error of measuring a run that comes from this file.
    pub(crate) fn in_source(source: &str) -> impl FnOnce(Error) -> Self {
        move |error| Self::Measure { error, source: Some(source.to_owned()) }
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
            Self::Setup(error) => match error.hint() {
                None => error.fmt(f),
                Some(hint) => write!(f, "{error}\n  hint: {hint}"),
            },
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

impl From<SetupError> for RunError {
    fn from(error: SetupError) -> Self {
        Self::Setup(error)
    }
}

#[cfg(feature = "run")]
impl From<calipers_run::AttemptFault> for RunError {
    fn from(fault: calipers_run::AttemptFault) -> Self {
        Self::Setup(SetupError::Other(fault.to_string()))
    }
}
