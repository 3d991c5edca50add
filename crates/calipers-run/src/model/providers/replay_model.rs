//! A model that replays an earlier log.

use crate::{Model, ModelError, ModelFault, Request};
use async_trait::async_trait;
use calipers_core::{ModelOutput, SampleId};
use std::collections::HashMap;
use std::sync::Arc;

/// A model that answers each attempt as an earlier run did, so that rescoring is a normal run.
///
/// Several outputs of one attempt answer its calls in order. Questions that the earlier run did not ask are refused,
/// because the recorded answer would belong to another question.
#[derive(Clone, Debug)]
pub struct Replay {
    name: Arc<str>,
    outputs: HashMap<(SampleId, u32), Vec<ModelOutput>>,
}

impl Replay {
    /// The model of this name with these answers, by sample and attempt.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, outputs: impl IntoIterator<Item = (SampleId, u32, ModelOutput)>) -> Self {
        let mut replay = Self { name: name.into(), outputs: HashMap::new() };
        for (sample, epoch, output) in outputs {
            replay.outputs.entry((sample, epoch)).or_default().push(output);
        }
        replay
    }
}

#[async_trait]
impl Model for Replay {
    fn name(&self) -> &str {
        &self.name
    }

    async fn generate(&self, request: &Request) -> Result<ModelOutput, ModelError> {
        let Request { sample, epoch, call, .. } = request;
        let refused = |message| ModelError::new(self.name.clone(), ModelFault::Refused, message);
        let attempt = self.outputs.get(&(sample.clone(), *epoch)).ok_or_else(|| {
            refused(format!("the replayed log has no output for attempt {epoch} of sample `{sample}`"))
        })?;
        let output = usize::try_from(*call).ok().and_then(|call| attempt.get(call));
        output.cloned().ok_or_else(|| {
            let (had, wanted) = (attempt.len(), u64::from(*call) + 1);
            refused(format!(
                "attempt {epoch} of sample `{sample}` has {had} outputs in the replayed log, and call {wanted} is asked for"
            ))
        })
    }

    fn is_free(&self) -> bool {
        true
    }
}
