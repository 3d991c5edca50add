//! A mock model with scripted answers.

use super::Price;
use crate::{Model, ModelError, Request};
use async_trait::async_trait;
use calipers_core::{ModelOutput, SampleId, Usage, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// The default answer of Inspect's mock.
const DEFAULT: &str = "Default output from mockllm/model";

/// One scripted answer: a text, or an output with tool calls, a stop reason or a usage.
#[derive(Clone, Debug)]
pub struct MockOutput(ModelOutput);

impl From<&str> for MockOutput {
    fn from(text: &str) -> Self {
        Self(ModelOutput::new("", text))
    }
}

impl From<String> for MockOutput {
    fn from(text: String) -> Self {
        Self(ModelOutput::new("", text))
    }
}

impl From<Arc<str>> for MockOutput {
    fn from(text: Arc<str>) -> Self {
        Self(ModelOutput::new("", text))
    }
}

impl From<ModelOutput> for MockOutput {
    fn from(output: ModelOutput) -> Self {
        Self(output)
    }
}

/// The answers of a mock: one list for all samples, and lists for single samples.
///
/// A list applies to each sample separately, whatever the order of events: the first call of the first attempt takes
/// the first answer, each further call or attempt takes the next one, and the list repeats. So a list of two makes
/// every other attempt of a one-call task succeed, whatever runs at the same time.
///
/// ```
/// use calipers_run::providers::MockOutputs;
///
/// let always = MockOutputs::from("B");
/// let in_turn = MockOutputs::list(["A", "B"]);
/// let by_sample = MockOutputs::from("B").sample("q1", ["A"]).sample(2, ["C", "D"]);
/// # let _ = (always, in_turn, by_sample);
/// ```
#[derive(Clone, Debug, Default)]
pub struct MockOutputs {
    every: Vec<ModelOutput>,
    samples: HashMap<SampleId, Vec<ModelOutput>>,
}

impl MockOutputs {
    /// These answers, for every sample.
    #[must_use]
    pub fn list(outputs: impl IntoIterator<Item = impl Into<MockOutput>>) -> Self {
        Self { every: collect(outputs), samples: HashMap::new() }
    }

    /// With answers for one sample.
    #[must_use]
    pub fn sample(mut self, id: impl Into<SampleId>, outputs: impl IntoIterator<Item = impl Into<MockOutput>>) -> Self {
        self.samples.insert(id.into(), collect(outputs));
        self
    }

    /// The answers that a setting describes: a text, a list of strings, or a map from the ids of samples to either.
    pub fn from_value(value: &Value) -> Result<Self, String> {
        let Value::Map(entries) = value else { return Ok(Self::list(texts(value)?)) };
        entries.iter().try_fold(Self::default(), |outputs, (id, value)| Ok(outputs.sample(&**id, texts(value)?)))
    }

    fn of(&self, request: &Request) -> Option<&ModelOutput> {
        let list = self.samples.get(&request.sample).unwrap_or(&self.every);
        let turn = u64::from(request.epoch.saturating_sub(1)) + u64::from(request.call);
        let index = turn.checked_rem(list.len() as u64)?;
        list.get(usize::try_from(index).ok()?)
    }
}

fn collect(outputs: impl IntoIterator<Item = impl Into<MockOutput>>) -> Vec<ModelOutput> {
    outputs.into_iter().map(|output| output.into().0).collect()
}

fn texts(value: &Value) -> Result<Vec<Arc<str>>, String> {
    let text = |value: &Value| match value {
        Value::Text(text) => Ok(text.clone()),
        other => Err(format!("an output of `mockllm` is a string, not {} `{other}`", other.kind())),
    };
    match value {
        Value::List(items) => items.iter().map(text).collect(),
        one => Ok(vec![text(one)?]),
    }
}

impl From<&str> for MockOutputs {
    fn from(text: &str) -> Self {
        Self::list([text])
    }
}

impl From<ModelOutput> for MockOutputs {
    fn from(output: ModelOutput) -> Self {
        Self::list([output])
    }
}

/// A model with scripted answers, instant and free: `mockllm/…`.
///
/// Its tokens are words, so that usage can be tested.
#[derive(Clone, Debug)]
pub struct MockModel {
    name: Arc<str>,
    outputs: MockOutputs,
    default: ModelOutput,
    price: Option<Price>,
}

impl MockModel {
    /// A mock with these answers, named `mockllm/model`.
    #[must_use]
    pub fn new(outputs: impl Into<MockOutputs>) -> Self {
        let default = ModelOutput::new("", DEFAULT);
        Self { name: "mockllm/model".into(), outputs: outputs.into(), default, price: None }
    }

    /// Changes the name.
    #[must_use]
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets a price, to estimate what a run with this many words would cost.
    #[must_use]
    pub fn with_price(mut self, price: Option<Price>) -> Self {
        self.price = price;
        self
    }

    fn usage(&self, request: &Request, output: &ModelOutput) -> Usage {
        let words = |text: &str| text.split_ascii_whitespace().count() as u64;
        let input = request.messages.iter().map(|message| words(&message.content)).sum();
        let mut usage = output.usage.unwrap_or_else(|| Usage::new(input, words(output.completion())));
        usage.cost_usd = usage.cost_usd.or_else(|| self.price.map(|price| price.of(&usage)));
        usage
    }
}

#[async_trait]
impl Model for MockModel {
    fn name(&self) -> &str {
        &self.name
    }

    async fn generate(&self, request: &Request) -> Result<ModelOutput, ModelError> {
        let mut output = self.outputs.of(request).unwrap_or(&self.default).clone();
        output.usage = Some(self.usage(request, &output));
        output.model = self.name.clone();
        Ok(output)
    }

    fn is_free(&self) -> bool {
        true
    }
}
