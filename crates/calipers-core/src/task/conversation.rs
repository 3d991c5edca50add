//! What is said between a task and a model.

use crate::Value;
use std::sync::Arc;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// System instructions.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A tool that the model called.
    Tool,
}

impl Role {
    /// The name in chat formats and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }

    /// The role of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::System, Self::User, Self::Assistant, Self::Tool].into_iter().find(|role| role.name() == name)
    }
}

/// A call of a tool that a model asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// What the answer of the tool refers to.
    pub id: Arc<str>,
    /// The tool.
    pub function: Arc<str>,
    /// A map of arguments, or the model's text if it is not a map.
    pub arguments: Value,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Arc<str>,
    /// The tools that an assistant calls.
    pub tool_calls: Vec<ToolCall>,
    /// The call that a tool answers.
    pub tool_call_id: Option<Arc<str>>,
}

impl Message {
    /// A message without calls of tools.
    #[must_use]
    pub fn new(role: Role, content: impl Into<Arc<str>>) -> Self {
        Self { role, content: content.into(), tool_calls: Vec::new(), tool_call_id: None }
    }

    /// System instructions.
    #[must_use]
    pub fn system(content: impl Into<Arc<str>>) -> Self {
        Self::new(Role::System, content)
    }

    /// A question.
    #[must_use]
    pub fn user(content: impl Into<Arc<str>>) -> Self {
        Self::new(Role::User, content)
    }

    /// An answer.
    #[must_use]
    pub fn assistant(content: impl Into<Arc<str>>) -> Self {
        Self::new(Role::Assistant, content)
    }
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StopReason {
    /// It was done.
    #[default]
    Stop,
    /// It reached the token limit.
    MaxTokens,
    /// It waits for tools.
    ToolCalls,
    /// Its provider held the answer back.
    ContentFilter,
    /// It did not say.
    Unknown,
}

impl StopReason {
    const ALL: [Self; 5] = [Self::Stop, Self::MaxTokens, Self::ToolCalls, Self::ContentFilter, Self::Unknown];

    /// The name in logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::MaxTokens => "max_tokens",
            Self::ToolCalls => "tool_calls",
            Self::ContentFilter => "content_filter",
            Self::Unknown => "unknown",
        }
    }

    /// The reason of this name; any other name is `Unknown`.
    #[must_use]
    pub fn parse(name: &str) -> Self {
        Self::ALL.into_iter().find(|reason| reason.name() == name).unwrap_or(Self::Unknown)
    }
}

/// What was used, by the name of the model.
pub type ModelUsage = Vec<(Arc<str>, Usage)>;

/// The tokens and the cost of model calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Tokens that were sent.
    pub input_tokens: u64,
    /// Tokens that came back, including reasoning.
    pub output_tokens: u64,
    /// All tokens that were paid for.
    pub total_tokens: u64,
    /// Tokens of the input that the provider had in its cache.
    pub cache_read_tokens: Option<u64>,
    /// Tokens of the input that the provider put into its cache.
    pub cache_write_tokens: Option<u64>,
    /// Tokens of the output that were reasoning.
    pub reasoning_tokens: Option<u64>,
    /// The cost, if it is known.
    pub cost_usd: Option<f64>,
}

impl Usage {
    /// Usage of this many tokens in and out.
    #[must_use]
    pub fn new(input_tokens: u64, output_tokens: u64) -> Self {
        let total_tokens = input_tokens.saturating_add(output_tokens);
        Self { input_tokens, output_tokens, total_tokens, ..Self::default() }
    }

    /// Adds the usage of other calls.
    pub fn add(&mut self, other: &Self) {
        fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
            one.or(other).map(|_| one.unwrap_or(0).saturating_add(other.unwrap_or(0)))
        }
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.total_tokens = self.total_tokens.saturating_add(other.total_tokens);
        self.cache_read_tokens = sum(self.cache_read_tokens, other.cache_read_tokens);
        self.cache_write_tokens = sum(self.cache_write_tokens, other.cache_write_tokens);
        self.reasoning_tokens = sum(self.reasoning_tokens, other.reasoning_tokens);
        self.cost_usd =
            self.cost_usd.or(other.cost_usd).map(|_| self.cost_usd.unwrap_or(0.0) + other.cost_usd.unwrap_or(0.0));
    }
}

/// What a model, or an agent, answered.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelOutput {
    /// The model that answered, by the name that it gives itself.
    pub model: Arc<str>,
    /// Its answer.
    pub message: Message,
    /// Why it stopped there.
    pub stop_reason: StopReason,
    /// What it took, where that is known.
    pub usage: Option<Usage>,
    /// How long it took, in seconds.
    pub time_s: Option<f64>,
}

impl ModelOutput {
    /// An answer of a model.
    #[must_use]
    pub fn new(model: impl Into<Arc<str>>, completion: impl Into<Arc<str>>) -> Self {
        Self {
            model: model.into(),
            message: Message::assistant(completion),
            stop_reason: StopReason::Stop,
            usage: None,
            time_s: None,
        }
    }

    /// The text of the answer.
    #[must_use]
    pub fn completion(&self) -> &str {
        &self.message.content
    }
}

/// How a model is to answer. What is not given is left to the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GenerateConfig {
    /// The sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling: the probability mass of the tokens to choose from.
    pub top_p: Option<f64>,
    /// The most tokens of an answer.
    pub max_tokens: Option<u64>,
    /// Texts at which it stops.
    pub stop: Vec<String>,
    /// The sampling seed, for models that can reproduce an answer.
    pub seed: Option<u64>,
    /// How much it reasons: `low`, `medium` or `high`.
    pub reasoning_effort: Option<String>,
}

impl GenerateConfig {
    /// These settings, and those of another where these are not given.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self {
            temperature: self.temperature.or(other.temperature),
            top_p: self.top_p.or(other.top_p),
            max_tokens: self.max_tokens.or(other.max_tokens),
            stop: if self.stop.is_empty() { other.stop.clone() } else { self.stop.clone() },
            seed: self.seed.or(other.seed),
            reasoning_effort: self.reasoning_effort.clone().or_else(|| other.reasoning_effort.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_roles_and_reasons_are_read_back() {
        for role in [Role::System, Role::User, Role::Assistant, Role::Tool] {
            assert_eq!(Role::parse(role.name()), Some(role));
        }
        assert_eq!(Role::parse("narrator"), None);
        for reason in StopReason::ALL {
            assert_eq!(StopReason::parse(reason.name()), reason);
        }
        assert_eq!(StopReason::parse("bored"), StopReason::Unknown);
    }

    #[test]
    fn settings_that_are_given_win() {
        let own = GenerateConfig { temperature: Some(0.0), ..GenerateConfig::default() };
        let other = GenerateConfig { temperature: Some(1.0), max_tokens: Some(100), ..GenerateConfig::default() };
        let joined = own.or(&other);
        assert_eq!((joined.temperature, joined.max_tokens, joined.seed), (Some(0.0), Some(100), None));
    }
}
