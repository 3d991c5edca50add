//! Options for resolving models: keys, addresses and prices.

use super::MockOutputs;
use super::provider_table::PROVIDERS;
use calipers_core::Usage;
use std::fmt;
use std::time::Duration;

/// The environment variables of all providers, keys and addresses.
fn variables() -> impl Iterator<Item = &'static str> {
    PROVIDERS.iter().flat_map(|provider| provider.keys.iter().chain(provider.bases)).copied()
}

/// Options for resolving models. It holds keys, so `Debug` prints no variables.
#[derive(Clone)]
pub struct ProviderOptions {
    /// An address that overrides the provider's own and that of the environment.
    pub base_url: Option<String>,
    /// The longest that one call may take, from the request to the last byte of the answer.
    pub timeout: Duration,
    /// What models cost, by their names with or without the provider.
    pub prices: Vec<(String, Price)>,
    /// What `mockllm/…` answers.
    pub mock_outputs: Option<MockOutputs>,
    variables: Vec<(&'static str, String)>,
}

impl Default for ProviderOptions {
    /// No keys, no addresses, no prices, and ten minutes per call, as in the providers' own clients.
    fn default() -> Self {
        Self {
            base_url: None,
            timeout: Duration::from_secs(600),
            prices: Vec::new(),
            mock_outputs: None,
            variables: Vec::new(),
        }
    }
}

impl ProviderOptions {
    /// Takes keys and addresses from the environment, which is read once, now.
    #[must_use]
    pub fn from_env() -> Self {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// Takes keys and addresses from a lookup, which is called for each known variable. An empty value counts as unset.
    #[must_use]
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name| variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let variables = variables().filter_map(|name| Some((name, value(name)?))).collect();
        Self { variables, ..Self::default() }
    }

    /// Sets an address that overrides the provider's own and that of the environment.
    #[must_use]
    pub fn at(mut self, base_url: impl Into<String>) -> Self {
        self.base_url = Some(base_url.into());
        self
    }

    /// The first of these variables that is set.
    #[cfg(feature = "remote")]
    pub(super) fn variable(&self, names: &[&str]) -> Option<&str> {
        let value = |name: &&str| self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| &**value);
        names.iter().find_map(value)
    }

    /// The price of a model, by its whole name or by the part after the provider.
    pub(super) fn price(&self, name: &str) -> Option<Price> {
        let short = name.split_once('/').map_or(name, |(_, model)| model);
        let find = |wanted: &str| self.prices.iter().find(|(name, _)| name == wanted).map(|(_, price)| *price);
        find(name).or_else(|| find(short))
    }
}

impl fmt::Debug for ProviderOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set: Vec<_> = self.variables.iter().map(|(name, _)| name).collect();
        f.debug_struct("ProviderOptions")
            .field("timeout", &self.timeout)
            .field("prices", &self.prices)
            .field("variables", &set)
            .finish_non_exhaustive()
    }
}

/// What a model costs, in US dollars per million tokens. None is built in: prices change, and a wrong one looks right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// Input tokens.
    pub input_usd: f64,
    /// Output tokens.
    pub output_usd: f64,
    /// Input tokens read from the provider's cache, if priced separately.
    pub cache_read_usd: Option<f64>,
    /// Input tokens written to the provider's cache, if priced separately.
    pub cache_write_usd: Option<f64>,
}

impl Price {
    /// A price for input and one for output, cached or not.
    #[must_use]
    pub fn new(input_usd: f64, output_usd: f64) -> Self {
        Self { input_usd, output_usd, cache_read_usd: None, cache_write_usd: None }
    }

    /// What calls cost.
    #[must_use]
    pub fn of(&self, usage: &Usage) -> f64 {
        let read = usage.cache_read_tokens.unwrap_or(0);
        let written = usage.cache_write_tokens.unwrap_or(0);
        let fresh = usage.input_tokens.saturating_sub(read).saturating_sub(written);
        let sum = fresh as f64 * self.input_usd
            + read as f64 * self.cache_read_usd.unwrap_or(self.input_usd)
            + written as f64 * self.cache_write_usd.unwrap_or(self.input_usd)
            + usage.output_tokens as f64 * self.output_usd;
        sum / 1e6
    }
}
