//! The state of an attempt between Rust and Python.

use crate::values::{from_python, id_to_python, to_python};
use calipers::data::{Metadata, Value};
use calipers::run::{AttemptState, Choice};
use calipers::task::{GenerateConfig, Message, ModelOutput, Role, StopReason, Target};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::sync::Arc;

/// A message as the package has it: role, content, and its place in the conversation before, if it was there.
pub(crate) type MessageParts = (String, String, Option<usize>);
/// An answer as the package has it: model, completion and why it stopped.
pub(crate) type OutputParts = (String, String, String);

/// The state of an attempt for Python.
pub(crate) fn describe<'py>(py: Python<'py>, state: &AttemptState) -> PyResult<Bound<'py, PyDict>> {
    let about = PyDict::new(py);
    about.set_item(intern!(py, "sample_id"), id_to_python(py, &state.id)?)?;
    about.set_item(intern!(py, "epoch"), state.epoch)?;
    about.set_item(intern!(py, "input"), state.sample.input.text())?;
    about.set_item(intern!(py, "target"), PyList::new(py, state.target.0.iter().map(|text| &**text))?)?;
    let output = state.output.as_ref().map(|output| describe_output(py, output)).transpose()?;
    about.set_item(intern!(py, "output"), output)?;
    about.set_item(intern!(py, "completed"), state.completed)?;
    let messages = PyList::empty(py);
    for (place, message) in state.messages.iter().enumerate() {
        messages.append((message.role.name(), &*message.content, place))?;
    }
    about.set_item(intern!(py, "messages"), messages)?;
    let choices = PyList::empty(py);
    for choice in &state.choices {
        choices.append((&*choice.text, choice.correct, choice.original))?;
    }
    about.set_item(intern!(py, "choices"), choices)?;
    let metadata = PyDict::new(py);
    for (key, value) in state.metadata.iter() {
        metadata.set_item(&**key, to_python(py, value)?)?;
    }
    about.set_item(intern!(py, "metadata"), metadata)?;
    let store = PyDict::new(py);
    for (key, value) in &state.store {
        store.set_item(&**key, to_python(py, value)?)?;
    }
    about.set_item(intern!(py, "store"), store)?;
    Ok(about)
}

/// An answer of a model for Python.
pub(crate) fn describe_output<'py>(py: Python<'py>, output: &ModelOutput) -> PyResult<Bound<'py, PyDict>> {
    let about = PyDict::new(py);
    about.set_item(intern!(py, "model"), &*output.model)?;
    about.set_item(intern!(py, "completion"), output.completion())?;
    about.set_item(intern!(py, "stop_reason"), output.stop_reason.name())?;
    about.set_item(intern!(py, "time"), output.time_s)?;
    let usage = output.usage.map(|usage| (usage.input_tokens, usage.output_tokens, usage.total_tokens));
    about.set_item(intern!(py, "usage"), usage)?;
    Ok(about)
}

/// What Python has made of a state.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct StateParts {
    pub(crate) messages: Vec<MessageParts>,
    output: Option<OutputParts>,
    completed: bool,
    target: Vec<String>,
    choices: Vec<(String, Option<bool>, usize)>,
    metadata: Entries,
    store: Entries,
}

impl StateParts {
    /// Takes it over.
    pub(crate) fn apply(self, state: &mut AttemptState) -> Result<(), String> {
        state.messages = read_messages(self.messages, &state.messages)?;
        state.output = self.output.map(|output| read_output(output, state.output.as_ref()));
        state.completed = self.completed;
        state.target = Target(self.target.into_iter().map(Into::into).collect());
        let choice = |(text, correct, original): (String, _, _)| Choice { text: text.into(), correct, original };
        state.choices = self.choices.into_iter().map(choice).collect();
        state.metadata = Metadata::new(self.metadata.0);
        state.store = self.store.0;
        Ok(())
    }
}

/// The entries of a dict. What Rust has no values for, such as objects, is kept as text.
struct Entries(Vec<(Arc<str>, Value)>);

impl<'py> FromPyObject<'_, 'py> for Entries {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let entry = |(key, value): (Bound<'py, PyAny>, Bound<'py, PyAny>)| {
            let value = match from_python(&value) {
                Ok(value) => value,
                Err(_) => Value::from(&*value.str()?.to_cow()?),
            };
            Ok((key.str()?.to_cow()?.as_ref().into(), value))
        };
        Ok(Self(given.cast::<PyDict>()?.iter().map(entry).collect::<PyResult<_>>()?))
    }
}

/// An answer that Python has made or changed. One that it left alone keeps what Python does not see of it.
pub(crate) fn read_output((model, completion, stop_reason): OutputParts, before: Option<&ModelOutput>) -> ModelOutput {
    let is_same = |before: &&ModelOutput| {
        *before.model == *model && before.completion() == completion && before.stop_reason.name() == stop_reason
    };
    match before.filter(is_same) {
        Some(before) => before.clone(),
        None => ModelOutput { stop_reason: StopReason::parse(&stop_reason), ..ModelOutput::new(model, completion) },
    }
}

/// A conversation from Python. A message that was there before keeps what Python does not see of it.
pub(crate) fn read_messages(given: Vec<MessageParts>, before: &[Message]) -> Result<Vec<Message>, String> {
    let message = |(role, content, place): MessageParts| {
        let Some(role) = Role::parse(&role) else {
            return Err(format!("`{role}` is no role: write `system`, `user`, `assistant` or `tool`"));
        };
        Ok(match place.and_then(|place| before.get(place)).filter(|known| known.role == role) {
            Some(known) if *known.content == *content => known.clone(),
            Some(known) => Message { content: content.into(), ..known.clone() },
            None => Message::new(role, content),
        })
    };
    given.into_iter().map(message).collect()
}

/// How a model is to answer.
pub(crate) fn read_config(given: &Bound<'_, PyAny>) -> PyResult<GenerateConfig> {
    let mut config = GenerateConfig::default();
    for (name, value) in given.cast::<PyDict>()? {
        if value.is_none() {
            continue;
        }
        let name: String = name.extract()?;
        match &*name {
            "temperature" => config.temperature = Some(value.extract()?),
            "top_p" => config.top_p = Some(value.extract()?),
            "max_tokens" => config.max_tokens = Some(value.extract()?),
            "stop_seqs" => config.stop = value.extract()?,
            "seed" => config.seed = Some(value.extract()?),
            "reasoning_effort" => config.reasoning_effort = Some(value.extract()?),
            _ => {
                let known = "temperature, top_p, max_tokens, stop_seqs, seed and reasoning_effort";
                return Err(PyValueError::new_err(format!("models are not told `{name}` here, but {known}")));
            }
        }
    }
    Ok(config)
}
