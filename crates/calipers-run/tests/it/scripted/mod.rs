//! A model that says what it is told to, and remembers what it was asked.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)] // each test file uses its own part

use async_trait::async_trait;
use calipers_core::{GenerateConfig, Message, ModelOutput, SampleId, TaskSample, Value};
use calipers_run::{
    AttemptFault, AttemptLimits, AttemptScope, AttemptState, Model, ModelError, Request, ScorerResult, Scorers, Solvers,
};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// A model with its answers, in order.
#[derive(Default)]
pub struct Scripted {
    answers: Mutex<VecDeque<String>>,
    asked: Mutex<Vec<Vec<Message>>>,
    configs: Mutex<Vec<GenerateConfig>>,
}

impl Scripted {
    pub fn new(answers: &[&str]) -> Arc<Self> {
        let answers = Mutex::new(answers.iter().map(|answer| (*answer).to_owned()).collect());
        Arc::new(Self { answers, ..Self::default() })
    }

    /// The conversations that it was asked to go on with.
    pub fn asked(&self) -> Vec<Vec<Message>> {
        self.asked.lock().unwrap().clone()
    }

    /// The last message of the only conversation.
    pub fn prompt(&self) -> String {
        let asked = self.asked();
        assert_eq!(asked.len(), 1);
        asked[0].last().unwrap().content.to_string()
    }

    pub fn configs(&self) -> Vec<GenerateConfig> {
        self.configs.lock().unwrap().clone()
    }
}

#[async_trait]
impl Model for Scripted {
    fn name(&self) -> &str {
        "scripted/model"
    }

    async fn generate(&self, request: &Request) -> Result<ModelOutput, ModelError> {
        self.asked.lock().unwrap().push(request.messages.clone());
        self.configs.lock().unwrap().push(request.config.clone());
        let answer = self.answers.lock().unwrap().pop_front().expect("the script has another answer");
        Ok(ModelOutput::new("scripted/model", answer))
    }
}

/// What an attempt with this model, whatever it is asked as, may use.
pub fn scope(model: &Arc<Scripted>) -> AttemptScope {
    AttemptScope::new(model.clone(), GenerateConfig::default(), SampleId::from(1), 1, AttemptLimits::default(), 7)
}

pub fn state(sample: TaskSample) -> AttemptState {
    AttemptState::new(Arc::new(sample), SampleId::from(1), 1)
}

/// An attempt whose model has answered.
pub fn answered(sample: TaskSample, completion: &str) -> AttemptState {
    let mut state = state(sample);
    state.messages.push(Message::assistant(completion));
    state.output = Some(ModelOutput::new("scripted/model", completion));
    state
}

/// Solves with a solver by name.
pub async fn solve(
    name: &str,
    params: Value,
    state: &mut AttemptState,
    model: &Arc<Scripted>,
) -> Result<(), AttemptFault> {
    Solvers::builtin().make(name, &params).unwrap().solve(state, &scope(model)).await
}

/// Scores with a scorer by name.
pub async fn score(
    name: &str,
    params: Value,
    state: &AttemptState,
    model: &Arc<Scripted>,
) -> Result<ScorerResult, AttemptFault> {
    Scorers::builtin().make(name, &params).unwrap().score(state, &scope(model)).await
}

pub fn none() -> Value {
    Value::Map(Vec::new())
}
