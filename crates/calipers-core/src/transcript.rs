//! An attempt with all that happened in it: what a runner gives and a log keeps.

use crate::{Input, Message, Metadata, ModelOutput, Outcome, SampleId, Samples, Target, Usage, Value};
use std::sync::Arc;

/// The bound that ended an attempt early.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitReached {
    /// What was bounded: `time`, `token`, `cost` or `message`.
    pub kind: &'static str,
    /// The bound.
    pub limit: f64,
}

/// An attempt with all that happened in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Transcript {
    /// The sample.
    pub id: SampleId,
    /// Which attempt of it, from 1.
    pub epoch: u32,
    /// What was asked.
    pub input: Input,
    /// The answers to choose from, in the order in which they were shown.
    pub choices: Vec<Arc<str>>,
    /// The right answers.
    pub target: Target,
    /// Facts about the sample.
    pub metadata: Metadata,
    /// The conversation.
    pub messages: Vec<Message>,
    /// What was answered in the end; an attempt that broke before has no answer.
    pub output: Option<ModelOutput>,
    /// What each scorer said.
    pub scores: Vec<(Arc<str>, Outcome)>,
    /// Measurements by the names of native records: `latency_ms`, `tokens_used`, `cost_usd`, behaviours.
    pub fields: Vec<(Arc<str>, Value)>,
    /// What each model took.
    pub usage: Vec<(Arc<str>, Usage)>,
    /// When it began and ended, in milliseconds after 1970.
    pub started_ms: i64,
    /// See `started_ms`.
    pub completed_ms: i64,
    /// Seconds from beginning to end without those spent waiting for a turn or for a retry.
    pub working_s: f64,
    /// Why it did not run to its end, if it did not.
    pub error: Option<Arc<str>>,
    /// What went wrong in earlier tries of the whole attempt.
    pub error_retries: Vec<Arc<str>>,
    /// The bound that ended it, if one did.
    pub limit: Option<LimitReached>,
}

impl Transcript {
    /// Adds the attempt to a run: its scores, fields and metadata, not what was said.
    pub fn add_to(&self, samples: &mut Samples) {
        let mut attempt = samples.push_epoch(self.id.clone(), self.epoch);
        for (key, value) in self.metadata.iter() {
            attempt = attempt.metadata(key.clone(), value.clone());
        }
        for (name, value) in &self.fields {
            attempt = attempt.field(name.clone(), value.clone());
        }
        for (scorer, outcome) in &self.scores {
            attempt = attempt.score(scorer.clone(), outcome.clone());
        }
        if let Some(error) = &self.error {
            attempt.error(error.clone());
        }
    }
}
