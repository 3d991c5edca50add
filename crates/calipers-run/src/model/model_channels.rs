//! Models by name, each with one shared channel.

use crate::{Channel, ChannelOptions, Model};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Finds the model of a name, or says why there is none.
pub type Resolver = Arc<dyn Fn(&str) -> Result<Arc<dyn Model>, String> + Send + Sync>;

/// Models by name. Each is resolved once, and all callers share its rate limit.
///
/// ```
/// use calipers_run::{ChannelOptions, ModelChannels};
/// use std::sync::Arc;
///
/// let models = ModelChannels::new(Arc::new(|_| Err("there are no models here".into())), ChannelOptions::default());
/// assert!(models.get("openai/gpt-4o").is_err());
/// ```
pub struct ModelChannels {
    resolver: Resolver,
    options: ChannelOptions,
    channels: Mutex<HashMap<String, Arc<Channel>>>,
}

impl ModelChannels {
    /// Models from this resolver.
    #[must_use]
    pub fn new(resolver: Resolver, options: ChannelOptions) -> Self {
        Self { resolver, options, channels: Mutex::default() }
    }

    /// Adds a model under its own name.
    #[must_use]
    pub fn with(self, model: Arc<dyn Model>) -> Self {
        let name = model.name().to_string();
        let channel = Channel::new(model, self.options.clone());
        self.channels().insert(name, Arc::new(channel));
        self
    }

    /// The channel to the model of this name.
    pub fn get(&self, name: &str) -> Result<Arc<Channel>, String> {
        // The lock is held while a model is resolved, so that it is resolved only once.
        let mut channels = self.channels();
        if let Some(channel) = channels.get(name) {
            return Ok(channel.clone());
        }
        let channel = Arc::new(Channel::new((self.resolver)(name)?, self.options.clone()));
        channels.insert(name.to_string(), channel.clone());
        Ok(channel)
    }

    /// True for a model that was found or given before.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.channels().contains_key(name)
    }

    /// How many retries all models needed so far.
    #[must_use]
    pub fn retries(&self) -> u64 {
        self.channels().values().map(|channel| channel.retries()).sum()
    }

    fn channels(&self) -> MutexGuard<'_, HashMap<String, Arc<Channel>>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ModelChannels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Models").field("options", &self.options).finish_non_exhaustive()
    }
}
