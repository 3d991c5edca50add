//! Models, and how they are called.

mod answer_cache;
pub(crate) mod channel;
mod minute_limit;
mod model_channels;
pub mod providers;
mod rate_limit;

pub use answer_cache::AnswerCache;
pub use channel::{Channel, ChannelOptions};
pub use model_channels::{ModelChannels, Resolver};

use async_trait::async_trait;
use calipers_core::{GenerateConfig, Message, ModelOutput, SampleId};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// One question to a model.
#[derive(Clone, Debug)]
pub struct Request {
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// How to answer.
    pub config: GenerateConfig,
    /// The sample it belongs to, so that scripted and replayed answers can be matched.
    pub sample: SampleId,
    /// The attempt of the sample.
    pub epoch: u32,
    /// The number of this call to the model within the attempt, from 0.
    pub call: u32,
}

/// A model, however it is reached. One call is one try: retries, rate limits and caches are handled by the [`Channel`].
///
/// ```
/// use calipers_core::ModelOutput;
/// use calipers_run::{Model, ModelError, Request};
///
/// struct Echo;
///
/// #[async_trait::async_trait]
/// impl Model for Echo {
///     fn name(&self) -> &str {
///         "local/echo"
///     }
///
///     async fn generate(&self, request: &Request) -> Result<ModelOutput, ModelError> {
///         let last = request.messages.last().map_or("", |message| &message.content);
///         Ok(ModelOutput::new("echo", last))
///     }
/// }
/// ```
#[async_trait]
pub trait Model: Send + Sync {
    /// The name: a provider, a slash and a model.
    fn name(&self) -> &str;

    /// An answer.
    async fn generate(&self, request: &Request) -> Result<ModelOutput, ModelError>;

    /// The default number of calls in flight.
    fn connections(&self) -> usize {
        10
    }

    /// True if answers are free and always the same, so that a cache would not help.
    fn is_free(&self) -> bool {
        false
    }

    /// Where the questions go, if two models of one name may be at different places. It decides an answer as the name does.
    fn address(&self) -> Option<&str> {
        None
    }

    /// False if it is known beforehand that answers come without a cost, so that no limit on costs can be kept.
    fn reports_cost(&self) -> bool {
        true
    }
}

/// The kind of a model's failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelFault {
    /// Too many requests (429), or the provider says that it is overloaded.
    Busy,
    /// The server failed (5xx).
    Server,
    /// The connection was refused, reset or cut off.
    Connection,
    /// No answer in time.
    Timeout,
    /// The request was understood and refused: a wrong key, an unknown model, a bad parameter.
    Refused,
    /// The answer cannot be parsed.
    Unreadable,
}

/// Why a model did not answer. Never contains a key.
#[derive(Clone, Debug)]
pub struct ModelError {
    /// What kind of failure.
    pub fault: ModelFault,
    /// The model.
    pub model: Arc<str>,
    /// What happened, as a message.
    pub message: String,
    /// When the server wants to be asked again.
    pub retry_after: Option<Duration>,
}

impl ModelError {
    /// A failure of a model.
    #[must_use]
    pub fn new(model: impl Into<Arc<str>>, fault: ModelFault, message: impl Into<String>) -> Self {
        Self { fault, model: model.into(), message: message.into(), retry_after: None }
    }

    /// True if a retry may help.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.fault != ModelFault::Refused
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "model `{}`: {}", self.model, self.message)
    }
}

impl std::error::Error for ModelError {}
