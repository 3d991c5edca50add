//! An attempt as script scorers see it, with Inspect's attributes.

use crate::score_objects::{id_value, metadata_value, optional, to_starlark};
use allocative::Allocative;
use calipers_core::{Input, Message, ModelOutput, Target};
use calipers_run::{AttemptState, Choice};
use starlark::any::ProvidesStaticType;
use starlark::environment::{Methods, MethodsBuilder};
use starlark::values::dict::AllocDict;
use starlark::values::list::AllocList;
use starlark::values::none::NoneOr;
use starlark::values::{
    Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, UnpackValue, Value, ValueError, starlark_value,
};
use starlark::{starlark_module, starlark_simple_value};
use std::fmt;

/// An attempt with its result.
#[derive(Clone, Debug, Allocative, NoSerialize, ProvidesStaticType, StarlarkPagablePanic)]
pub(crate) struct StateObject(#[allocative(skip)] pub(crate) AttemptState);

starlark_simple_value!(StateObject);

impl fmt::Display for StateObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskState({}, epoch {})", self.0.id, self.0.epoch)
    }
}

#[starlark_module]
fn state_methods(builder: &mut MethodsBuilder) {
    #[starlark(attribute)]
    fn output<'v>(this: &StateObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(heap.alloc(OutputObject(this.0.output.clone())))
    }

    #[starlark(attribute)]
    fn input<'v>(this: &StateObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(input_value(&this.0.sample.input, heap))
    }

    #[starlark(attribute)]
    fn input_text<'v>(this: &StateObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(heap.alloc(this.0.sample.input.text()))
    }

    #[starlark(attribute)]
    fn messages<'v>(this: &StateObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(messages_value(&this.0.messages, heap))
    }

    #[starlark(attribute)]
    fn target<'v>(this: &StateObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(heap.alloc(TargetObject(this.0.target.clone())))
    }

    #[starlark(attribute)]
    fn choices<'v>(this: &StateObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        let choices = this.0.choices.iter().map(|choice| ChoiceObject(choice.clone()));
        Ok(heap.alloc(AllocList(choices.collect::<Vec<_>>())))
    }

    #[starlark(attribute)]
    fn metadata<'v>(this: &StateObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(metadata_value(&this.0.metadata, heap))
    }

    #[starlark(attribute)]
    fn store<'v>(this: &StateObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        let entries = this.0.store.iter().map(|(key, value)| (&**key, to_starlark(value, heap)));
        Ok(heap.alloc(AllocDict(entries.collect::<Vec<_>>())))
    }

    #[starlark(attribute)]
    fn sample_id<'v>(this: &StateObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(id_value(&this.0.id, heap))
    }

    #[starlark(attribute)]
    fn epoch(this: &StateObject) -> anyhow::Result<i64> {
        Ok(i64::from(this.0.epoch))
    }

    #[starlark(attribute)]
    fn completed(this: &StateObject) -> anyhow::Result<bool> {
        Ok(this.0.completed)
    }
}

starlark::methods_static!(STATE_METHODS = state_methods);

#[starlark_value(type = "TaskState")]
impl<'v> StarlarkValue<'v> for StateObject {
    fn get_methods() -> Option<&'static Methods> {
        Some(STATE_METHODS.methods())
    }
}

/// What a sample says to the model: a text or a list of messages.
pub(crate) fn input_value<'v>(input: &Input, heap: Heap<'v>) -> Value<'v> {
    match input {
        Input::Text(text) => heap.alloc(&**text),
        Input::Messages(messages) => messages_value(messages, heap),
    }
}

fn messages_value<'v>(messages: &[Message], heap: Heap<'v>) -> Value<'v> {
    heap.alloc(AllocList(messages.iter().map(|message| MessageObject(message.clone())).collect::<Vec<_>>()))
}

/// The model's output; empty if the attempt failed before.
#[derive(Clone, Debug, Allocative, NoSerialize, ProvidesStaticType, StarlarkPagablePanic)]
pub(crate) struct OutputObject(#[allocative(skip)] Option<ModelOutput>);

starlark_simple_value!(OutputObject);

impl OutputObject {
    fn completion(&self) -> &str {
        self.0.as_ref().map_or("", ModelOutput::completion)
    }
}

impl fmt::Display for OutputObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.completion())
    }
}

#[starlark_module]
fn output_methods(builder: &mut MethodsBuilder) {
    #[starlark(attribute)]
    fn completion<'v>(this: &OutputObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(heap.alloc(this.completion()))
    }

    #[starlark(attribute)]
    fn model<'v>(this: &OutputObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(optional(this.0.as_ref().map(|output| &*output.model), heap))
    }

    #[starlark(attribute)]
    fn stop_reason<'v>(this: &OutputObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(optional(this.0.as_ref().map(|output| output.stop_reason.name()), heap))
    }

    #[starlark(attribute)]
    fn message<'v>(this: &OutputObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(this.0.as_ref().map_or_else(Value::new_none, |output| heap.alloc(MessageObject(output.message.clone()))))
    }

    #[starlark(attribute)]
    fn total_tokens(this: &OutputObject) -> anyhow::Result<i64> {
        let tokens = this.0.as_ref().and_then(|output| output.usage).map_or(0, |usage| usage.total_tokens);
        Ok(i64::try_from(tokens).unwrap_or(i64::MAX))
    }
}

starlark::methods_static!(OUTPUT_METHODS = output_methods);

#[starlark_value(type = "ModelOutput")]
impl<'v> StarlarkValue<'v> for OutputObject {
    fn get_methods() -> Option<&'static Methods> {
        Some(OUTPUT_METHODS.methods())
    }
}

/// One message of a conversation.
#[derive(Clone, Debug, Allocative, NoSerialize, ProvidesStaticType, StarlarkPagablePanic)]
pub(crate) struct MessageObject(#[allocative(skip)] pub(crate) Message);

starlark_simple_value!(MessageObject);

impl fmt::Display for MessageObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.role.name(), self.0.content)
    }
}

#[starlark_module]
fn message_methods(builder: &mut MethodsBuilder) {
    #[starlark(attribute)]
    fn role(this: &MessageObject) -> anyhow::Result<&'static str> {
        Ok(this.0.role.name())
    }

    #[starlark(attribute)]
    fn content<'v>(this: &MessageObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(heap.alloc(&*this.0.content))
    }

    #[starlark(attribute)]
    fn text<'v>(this: &MessageObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(heap.alloc(&*this.0.content))
    }

    #[starlark(attribute)]
    fn tool_calls<'v>(this: &MessageObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        let calls = this.0.tool_calls.iter().map(|call| {
            let parts = [("id", heap.alloc(&*call.id)), ("function", heap.alloc(&*call.function))];
            let arguments = ("arguments", to_starlark(&call.arguments, heap));
            heap.alloc(AllocDict(parts.into_iter().chain([arguments]).collect::<Vec<_>>()))
        });
        Ok(heap.alloc(AllocList(calls.collect::<Vec<_>>())))
    }
}

starlark::methods_static!(MESSAGE_METHODS = message_methods);

#[starlark_value(type = "ChatMessage")]
impl<'v> StarlarkValue<'v> for MessageObject {
    fn get_methods() -> Option<&'static Methods> {
        Some(MESSAGE_METHODS.methods())
    }
}

/// One of the answers to choose from.
#[derive(Clone, Debug, Allocative, NoSerialize, ProvidesStaticType, StarlarkPagablePanic)]
pub(crate) struct ChoiceObject(#[allocative(skip)] Choice);

starlark_simple_value!(ChoiceObject);

impl fmt::Display for ChoiceObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}

#[starlark_module]
fn choice_methods(builder: &mut MethodsBuilder) {
    #[starlark(attribute)]
    fn value<'v>(this: &ChoiceObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(heap.alloc(&*this.0.text))
    }

    #[starlark(attribute)]
    fn correct(this: &ChoiceObject) -> anyhow::Result<NoneOr<bool>> {
        Ok(NoneOr::from_option(this.0.correct))
    }

    #[starlark(attribute)]
    fn original_position(this: &ChoiceObject) -> anyhow::Result<i64> {
        Ok(i64::try_from(this.0.original).unwrap_or(i64::MAX))
    }
}

starlark::methods_static!(CHOICE_METHODS = choice_methods);

#[starlark_value(type = "Choice")]
impl<'v> StarlarkValue<'v> for ChoiceObject {
    fn get_methods() -> Option<&'static Methods> {
        Some(CHOICE_METHODS.methods())
    }
}

/// The right answers: `target.text` is all of them as one text, `target[0]` the first.
#[derive(Clone, Debug, Allocative, NoSerialize, ProvidesStaticType, StarlarkPagablePanic)]
pub(crate) struct TargetObject(#[allocative(skip)] pub(crate) Target);

starlark_simple_value!(TargetObject);

impl fmt::Display for TargetObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text())
    }
}

#[starlark_module]
fn target_methods(builder: &mut MethodsBuilder) {
    #[starlark(attribute)]
    fn text(this: &TargetObject) -> anyhow::Result<String> {
        Ok(this.0.text())
    }

    #[starlark(attribute)]
    fn target<'v>(this: &TargetObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(heap.alloc(AllocList(this.0.0.iter().map(|text| &**text).collect::<Vec<_>>())))
    }
}

starlark::methods_static!(TARGET_METHODS = target_methods);

#[starlark_value(type = "Target")]
impl<'v> StarlarkValue<'v> for TargetObject {
    fn get_methods() -> Option<&'static Methods> {
        Some(TARGET_METHODS.methods())
    }

    fn to_bool(&self) -> bool {
        !self.0.0.is_empty()
    }

    fn length(&self) -> starlark::Result<i32> {
        Ok(i32::try_from(self.0.0.len()).unwrap_or(i32::MAX))
    }

    fn at(&self, index: Value<'v>, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        let place = i64::unpack_value(index)?.ok_or(ValueError::IncorrectParameterType)?;
        let length = self.0.0.len() as i64;
        let from_start = if place < 0 { place + length } else { place };
        let text = usize::try_from(from_start).ok().and_then(|place| self.0.0.get(place));
        let text = text.ok_or_else(|| crate::error::ArgumentError::new(format!("the target has no item {place}")))?;
        Ok(heap.alloc(&**text))
    }

    fn is_in(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(other.unpack_str().is_some_and(|text| self.0.0.iter().any(|target| **target == *text)))
    }

    fn iterate_collect(&self, heap: Heap<'v>) -> starlark::Result<Vec<Value<'v>>> {
        Ok(self.0.0.iter().map(|text| heap.alloc(&**text)).collect())
    }
}
