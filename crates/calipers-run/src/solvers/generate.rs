//! `generate`: the model answers.

use super::ask;
use crate::catalog::{CatalogEntry, CatalogParams};
use crate::{AttemptFault, AttemptScope, AttemptState, Solver};
use async_trait::async_trait;
use calipers_core::{Error, GenerateConfig};
use std::sync::Arc;

pub(super) const ENTRY: CatalogEntry<dyn Solver> = CatalogEntry {
    name: "generate",
    about: "asks the model and adds its answer to the conversation",
    params: &["temperature", "top_p", "max_tokens", "stop_seqs", "seed", "reasoning_effort"],
    places: 0,
    open: false,
    make,
};

fn make(params: &CatalogParams<'_>) -> Result<Arc<dyn Solver>, Error> {
    let stop = params.texts("stop_seqs")?.unwrap_or_default();
    Ok(Arc::new(Generate {
        config: GenerateConfig {
            temperature: params.number("temperature")?,
            top_p: params.number("top_p")?,
            max_tokens: params.whole("max_tokens")?,
            stop: stop.iter().map(ToString::to_string).collect(),
            seed: params.whole("seed")?,
            reasoning_effort: params.text("reasoning_effort")?.map(|effort| effort.to_string()),
        },
    }))
}

/// The model answers.
#[derive(Clone, Debug, Default)]
pub struct Generate {
    /// Options that override those of the task.
    pub config: GenerateConfig,
}

/// The model answers, as the task says.
#[must_use]
pub fn generate() -> Generate {
    Generate::default()
}

#[async_trait]
impl Solver for Generate {
    fn name(&self) -> &str {
        ENTRY.name
    }

    async fn solve(&self, state: &mut AttemptState, scope: &AttemptScope) -> Result<(), AttemptFault> {
        ask(state, scope, &self.config).await
    }
}
