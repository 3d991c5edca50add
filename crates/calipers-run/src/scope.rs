//! What an attempt may use: models, and how much of them is left.

use crate::{Fault, Limits, Model, Request};
use calipers_core::{GenerateConfig, Message, ModelOutput, SampleId};
use std::sync::Arc;

/// What an attempt may use.
pub struct Scope {
    model: Arc<dyn Model>,
    config: GenerateConfig,
    sample: SampleId,
    epoch: u32,
    limits: Limits,
    seed: u64,
}

impl Scope {
    /// What an attempt of this sample may use.
    #[must_use]
    pub fn new(
        model: Arc<dyn Model>,
        config: GenerateConfig,
        sample: SampleId,
        epoch: u32,
        limits: Limits,
        seed: u64,
    ) -> Self {
        Self { model, config, sample, epoch, limits, seed }
    }

    /// Asks the model of the task.
    pub async fn generate(&self, messages: &[Message], config: &GenerateConfig) -> Result<ModelOutput, Fault> {
        let request = Request {
            messages: messages.to_vec(),
            config: config.or(&self.config),
            sample: self.sample.clone(),
            epoch: self.epoch,
            call: 0,
        };
        Ok(self.model.generate(&request).await?)
    }

    /// Asks another model, by its name or by the part it plays (`grader`). Where nobody has that part, the model of the
    /// task has it.
    pub async fn generate_as(
        &self,
        _model: &str,
        messages: &[Message],
        config: &GenerateConfig,
    ) -> Result<ModelOutput, Fault> {
        self.generate(messages, config).await
    }

    /// A seed of this attempt's own, the same in every run with the same seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// What the attempt may use.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
}
