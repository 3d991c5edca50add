//! Runs evaluations: a [`Task`] puts the samples of a dataset to a model through [`Solver`]s, [`Scorer`]s score the
//! results, and every finished attempt is sent as a [`Transcript`](calipers_core::Transcript).
//!
//! Nothing here reads or writes files: the caller provides the samples and receives the transcripts. This is the only
//! crate that waits for anything, and so the only async one.

mod catalog;
mod child_program;
mod message_json;
mod model;
mod platform;
mod program_environment;
mod runner;
mod scorer;
mod scorers;
mod solver;
mod solvers;
mod task;
mod text;

pub use catalog::{Catalog, Scorers, Solvers};
pub use message_json::{message_from_json, message_to_json, output_from_json, output_to_json, usage_from_json};
pub use model::{
    AnswerCache, Channel, ChannelOptions, Model, ModelChannels, ModelError, ModelFault, Request, Resolver, providers,
};
pub use platform::{adopt_orphans, end_orphans};
pub use program_environment::{ProgramEnvironment, UnsetVariable};
pub use runner::{
    AttemptScope, AttemptState, BudgetSpent, Choice, InterruptForwarder, Job, RunObserver, RunOptions, RunStatus,
    RunSummary, SkippedAttempt, StopRequest, StoppingRule, is_forwarded_interrupt, launch_order,
    on_forwarded_interrupt, on_interrupt, on_terminate, run,
};
pub use scorer::{Scorer, ScorerResult};
pub use scorers::{ScorerFn, scorer_fn};
pub use solver::Solver;
pub use solvers::{Generate, generate};
pub use task::{AttemptLimits, FailOnError, Task, TaskBuilder};

use calipers_core::LimitReached;
use std::fmt;

/// Why an attempt cannot continue.
#[derive(Clone, Debug)]
pub enum AttemptFault {
    /// A model did not answer.
    Model(ModelError),
    /// The attempt reached a limit. It is scored as it is.
    Limit(LimitReached),
    /// The budget of the run is spent. The attempt is neither right nor wrong.
    Budget(BudgetSpent),
    /// Anything else, as a message: a program that failed, a mistake in a script, an unsuitable sample.
    Other(String),
}

impl AttemptFault {
    /// A fault with this message.
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
            Self::Budget(spent) => spent.fmt(f),
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
