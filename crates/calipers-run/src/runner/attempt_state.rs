//! The state of an attempt.

use calipers_core::{Message, Metadata, ModelOutput, Role, SampleId, Target, TaskSample, Value};
use std::sync::Arc;

/// One of the answers to choose from.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// What it says.
    pub text: Arc<str>,
    /// Whether the model chose it; `None` if not yet known.
    pub correct: Option<bool>,
    /// Its index in the sample, if choices are shuffled.
    pub original: usize,
}

/// The state of an attempt, which solvers change and scorers read.
#[derive(Clone, Debug)]
pub struct AttemptState {
    /// The sample, as the dataset has it.
    pub sample: Arc<TaskSample>,
    /// Its name.
    pub id: SampleId,
    /// Which attempt of it, from 1.
    pub epoch: u32,
    /// The right answers. Shuffled choices change the letters.
    pub target: Target,
    /// The answers to choose from, in the order in which they are shown.
    pub choices: Vec<Choice>,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The latest answer.
    pub output: Option<ModelOutput>,
    /// True to skip the remaining solvers.
    pub completed: bool,
    /// The metadata of the sample.
    pub metadata: Metadata,
    /// Values that solvers store for each other and for the log.
    pub store: Vec<(Arc<str>, Value)>,
    /// Measurements under the names of native records, in addition to the runner's.
    pub fields: Vec<(Arc<str>, Value)>,
}

impl AttemptState {
    /// The state at the start of an attempt.
    #[must_use]
    pub fn new(sample: Arc<TaskSample>, id: SampleId, epoch: u32) -> Self {
        let choice = |(original, text): (usize, &Arc<str>)| Choice { text: text.clone(), correct: None, original };
        Self {
            id,
            epoch,
            target: sample.target.clone(),
            choices: sample.choices.iter().enumerate().map(choice).collect(),
            messages: sample.input.messages(),
            output: None,
            completed: false,
            metadata: sample.metadata.clone(),
            store: Vec::new(),
            fields: Vec::new(),
            sample,
        }
    }

    /// The model's last answer; empty before the first.
    #[must_use]
    pub fn completion(&self) -> &str {
        self.output.as_ref().map_or("", ModelOutput::completion)
    }

    /// The user's last message: the question that solvers reword.
    pub fn user_prompt(&mut self) -> Option<&mut Message> {
        self.messages.iter_mut().rev().find(|message| message.role == Role::User)
    }
}
