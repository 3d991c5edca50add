//! Evaluations in motion: a [`Task`] puts the samples of a dataset to a model through [`Solver`]s, [`Scorer`]s look at
//! what came of it, and every finished attempt leaves as a [`Transcript`](calipers_core::Transcript).
//!
//! Nothing here reads or writes files: whoever runs a task gives it samples and takes its transcripts. This is the only
//! crate that waits for something, so the only one that is async.

mod cache;
mod channel;
mod channels;
mod command;
mod fold;
mod interrupt;
mod json;
mod letters;
mod model;
pub mod models;
mod pattern;
mod platform;
mod registry;
mod runner;
mod scope;
mod scorer;
mod scorers;
mod solver;
mod solvers;
mod state;
mod stopping;
mod stopwatch;
mod task;
mod template;
mod turns;

pub use cache::Cache;
pub use channel::{Channel, ChannelOptions};
pub use channels::{Models, Resolver};
pub use interrupt::{on_interrupt, on_terminate};
pub use json::{
    id_to_json, message_from_json, message_to_json, output_from_json, output_to_json, usage_from_json, value_to_json,
};
pub use model::{Model, ModelError, ModelFault, Request};
pub use registry::{Catalog, Scorers, Solvers};
pub use runner::{Ended, Job, Options, Status, Stop, Watch, run};
pub use scope::Scope;
pub use scorer::{Judged, Scorer};
pub use scorers::{ScorerFn, scorer_fn};
pub use solver::Solver;
pub use solvers::{Generate, generate};
pub use state::{Choice, State};
pub use stopping::{EarlyStop, Stopping};
pub use task::{FailOnError, Limits, Task, TaskBuilder};

use calipers_core::LimitReached;
use std::fmt;

/// Why an attempt cannot go on.
#[derive(Clone, Debug)]
pub enum Fault {
    /// A model did not answer.
    Model(ModelError),
    /// The attempt used up what it may use. It is scored as it stands.
    Limit(LimitReached),
    /// Anything else, in words: a program that ended badly, a script with a mistake, a sample that does not fit.
    Other(String),
}

impl Fault {
    /// A fault in words.
    #[must_use]
    pub fn new(why: impl fmt::Display) -> Self {
        Self::Other(why.to_string())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(error) => error.fmt(f),
            Self::Limit(limit) => write!(f, "the {} limit of {} is reached", limit.kind, limit.limit),
            Self::Other(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Fault {}

impl From<ModelError> for Fault {
    fn from(error: ModelError) -> Self {
        Self::Model(error)
    }
}
