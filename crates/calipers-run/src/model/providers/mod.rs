//! Models by name.
//!
//! | name | what answers | key | another address |
//! |---|---|---|---|
//! | `mockllm/…` | what a script says | | |
//! | `openai/…` | OpenAI, or any server that speaks its chat completions | `OPENAI_API_KEY` | `OPENAI_BASE_URL` |
//! | `anthropic/…` | Anthropic | `ANTHROPIC_API_KEY` | `ANTHROPIC_BASE_URL` |
//! | `google/…` | Gemini | `GOOGLE_API_KEY` or `GEMINI_API_KEY` | `GOOGLE_BASE_URL` |
//! | `ollama/…` | a local Ollama | | `OLLAMA_BASE_URL` or `OLLAMA_HOST` |
//!
//! [`Replay`] answers from an earlier log. To add a model, implement [`Model`].

mod mock_model;
mod provider_options;
mod provider_table;
mod replay_model;

#[cfg(feature = "remote")]
mod provider_address;
#[cfg(feature = "remote")]
mod provider_fault;
#[cfg(feature = "remote")]
mod remote_model;
#[cfg(feature = "remote")]
mod wire;

pub use mock_model::{MockModel, MockOutput, MockOutputs};
pub use provider_options::{Price, ProviderOptions};
pub use replay_model::Replay;

use crate::Model;
use calipers_core::nearest;
use provider_table::{PROVIDERS, Provider};
use std::sync::Arc;

/// The provider of scripted answers, which needs no row in the table.
const MOCK: &str = "mockllm";

/// Resolves the name of a model: a provider, a slash and the provider's name for the model.
///
/// No request is sent yet. What can be checked before the first question is an error here: an unknown provider, a
/// missing key, an invalid address.
///
/// ```
/// use calipers_run::providers::{ProviderOptions, resolve};
///
/// let model = resolve("mockllm/model", &ProviderOptions::default())?;
/// assert_eq!(model.name(), "mockllm/model");
/// # Ok::<(), String>(())
/// ```
pub fn resolve(name: &str, options: &ProviderOptions) -> Result<Arc<dyn Model>, String> {
    let parts = name.split_once('/').filter(|(provider, model)| !provider.is_empty() && !model.is_empty());
    let (provider, model) = parts.ok_or_else(|| {
        format!("`{name}` is not the name of a model: write a provider, a slash and a model, such as `openai/gpt-4o`")
    })?;
    if provider == MOCK {
        let outputs = options.mock_outputs.clone().unwrap_or_default();
        return Ok(Arc::new(MockModel::new(outputs).named(name).with_price(options.price(name))));
    }
    let provider = Provider::find(provider).ok_or_else(|| unknown(provider, name))?;
    remote(provider, model, options)
}

fn unknown(provider: &str, name: &str) -> String {
    let mut known: Vec<&str> = PROVIDERS.iter().map(|provider| provider.name).chain([MOCK]).collect();
    known.sort_unstable();
    let hint = match nearest(provider, &known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "a server compatible with OpenAI's chat completions is `openai/…` with a base URL.".into(),
    };
    let all = known.iter().map(|known| format!("`{known}`")).collect::<Vec<_>>().join(", ");
    format!("there is no provider `{provider}` (for model `{name}`)\n  hint: {hint} There are {all}")
}

#[cfg(feature = "remote")]
fn remote(provider: &'static Provider, model: &str, options: &ProviderOptions) -> Result<Arc<dyn Model>, String> {
    Ok(Arc::new(remote_model::Remote::new(provider, model, options)?))
}

#[cfg(not(feature = "remote"))]
fn remote(provider: &'static Provider, model: &str, _options: &ProviderOptions) -> Result<Arc<dyn Model>, String> {
    Err(format!("`{}/{model}` is behind HTTP, and this program is built without the feature `remote`", provider.name))
}
