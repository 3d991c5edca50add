//! Evaluations in motion: a [`Task`] puts the samples of a dataset to a model through [`Solver`]s, [`Scorer`]s look at
//! what came of it, and every finished attempt leaves as a [`Transcript`](calipers_core::Transcript).
//!
//! Nothing here reads or writes files: whoever runs a task gives it samples and takes its transcripts. This is the only
//! crate that waits for something, so the only one that is async.

mod catalog;
mod child_program;
mod message_json;
mod model;
mod platform;
mod runner;
mod scorer;
mod scorers;
mod solver;
mod solvers;
mod task;
mod text;

pub use catalog::{Catalog, Scorers, Solvers};
pub use message_json::{
    id_to_json, message_from_json, message_to_json, output_from_json, output_to_json, usage_from_json, value_to_json,
};
pub use model::{
    AnswerCache, Channel, ChannelOptions, Model, ModelChannels, ModelError, ModelFault, Request, Resolver, providers,
};
pub use runner::{
    AttemptScope, AttemptState, Choice, Job, RunObserver, RunOptions, RunStatus, RunSummary, SkippedAttempt,
    StopRequest, StoppingRule, on_interrupt, on_terminate, run,
};
pub use scorer::{Scorer, ScorerResult};
pub use scorers::{ScorerFn, scorer_fn};
pub use solver::Solver;
pub use solvers::{Generate, generate};
pub use task::{AttemptLimits, FailOnError, Task, TaskBuilder};

use calipers_core::LimitReached;
use std::fmt;

/// Why an attempt cannot go on.
#[derive(Clone, Debug)]
pub enum AttemptFault {
    /// A model did not answer.
    Model(ModelError),
    /// The attempt used up what it may use. It is scored as it stands.
    Limit(LimitReached),
    /// Anything else, in words: a program that ended badly, a script with a mistake, a sample that does not fit.
    Other(String),
}

impl AttemptFault {
    /// A fault in words.
    #[must_use]
    pub fn new(why: impl fmt::Display) -> Self {
        Self::Other(why.to_string())
    }
}

impl fmt::Display for AttemptFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(error) => error.fmt(f),
            Self::Limit(limit) => write!(f, "the {} limit of {} is reached", limit.kind, limit.limit),
            Self::Other(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for AttemptFault {}

impl From<ModelError> for AttemptFault {
    fn from(error: ModelError) -> Self {
        Self::Model(error)
    }
}
