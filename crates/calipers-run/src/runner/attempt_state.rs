//! An attempt under way.

use calipers_core::{Message, Metadata, ModelOutput, Role, Sample, SampleId, Target, Value};
use std::sync::Arc;

/// One of the answers to choose from.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// What it says.
    pub text: Arc<str>,
    /// Whether the model chose it; `None` before anybody looked.
    pub correct: Option<bool>,
    /// Its place in the sample, where choices are shown in another order.
    pub original: usize,
}

/// An attempt under way: what solvers work on and scorers look at.
#[derive(Clone, Debug)]
pub struct AttemptState {
    /// The sample, as the dataset has it.
    pub sample: Arc<Sample>,
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
    /// True when no further solver is wanted.
    pub completed: bool,
    /// Facts about the sample.
    pub metadata: Metadata,
    /// What solvers leave for each other and for the log.
    pub store: Vec<(Arc<str>, Value)>,
    /// Measurements by the names of native records, beside those that the runner takes.
    pub fields: Vec<(Arc<str>, Value)>,
}

impl AttemptState {
    /// The beginning of an attempt.
    #[must_use]
    pub fn new(sample: Arc<Sample>, id: SampleId, epoch: u32) -> Self {
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

    /// What the model answered last; empty before it did.
    #[must_use]
    pub fn completion(&self) -> &str {
        self.output.as_ref().map_or("", ModelOutput::completion)
    }

    /// What the user said last: the question that solvers reword.
    pub fn user_prompt(&mut self) -> Option<&mut Message> {
        self.messages.iter_mut().rev().find(|message| message.role == Role::User)
    }
}
