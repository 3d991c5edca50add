//! Messages and answers as JSON, for external programs and for caches.

use crate::AttemptState;
use calipers_core::{Message, ModelOutput, Role, StopReason, ToolCall, Usage};
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;

/// A message as chat formats write it.
#[must_use]
pub fn message_to_json(message: &Message) -> Json {
    let mut json = json!({"role": message.role.name(), "content": &*message.content});
    if !message.tool_calls.is_empty() {
        json["tool_calls"] = message.tool_calls.iter().map(tool_call_to_json).collect();
    }
    if let Some(id) = &message.tool_call_id {
        json["tool_call_id"] = Json::from(&**id);
    }
    json
}

fn tool_call_to_json(call: &ToolCall) -> Json {
    json!({"id": &*call.id, "function": &*call.function, "arguments": Json::from(&call.arguments)})
}

/// Reads a message in a chat format. The error says what is wrong with it.
pub fn message_from_json(json: &Json) -> Result<Message, String> {
    let role = text_at(json, "role")?.ok_or("a message has no `role`")?;
    let role = Role::parse(role)
        .ok_or_else(|| format!("a message has the role `{role}`, which is not system, user, assistant or tool"))?;
    Ok(Message {
        role,
        content: content(json)?,
        tool_calls: tool_calls_from_json(json.get("tool_calls"))?,
        tool_call_id: text_at(json, "tool_call_id")?.map(Arc::from),
    })
}

/// Text, or the texts of a list of parts, as chat formats have both.
fn content(json: &Json) -> Result<Arc<str>, String> {
    match json.get("content") {
        None | Some(Json::Null) => Ok("".into()),
        Some(Json::String(text)) => Ok(text.as_str().into()),
        Some(Json::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.as_str().or_else(|| part.get("text")?.as_str()));
            Ok(texts.collect::<Vec<_>>().join("\n").into())
        }
        Some(other) => Err(format!("the `content` of a message is {}, not text", kind(other))),
    }
}

/// Calls of tools: `{"function": name, "arguments": …}`, or the nested form of OpenAI whose arguments are JSON in a text.
pub(crate) fn tool_calls_from_json(json: Option<&Json>) -> Result<Vec<ToolCall>, String> {
    match json {
        None | Some(Json::Null) => Ok(Vec::new()),
        Some(Json::Array(calls)) => {
            calls.iter().enumerate().map(|(place, call)| tool_call_from_json(call, place)).collect()
        }
        Some(other) => Err(format!("`tool_calls` is {}, not a list", kind(other))),
    }
}

fn tool_call_from_json(call: &Json, place: usize) -> Result<ToolCall, String> {
    let nested = call.get("function").filter(|function| function.is_object());
    let function = match nested {
        Some(function) => text_at(function, "name")?,
        None => text_at(call, "function")?.or(text_at(call, "name")?).or(call.as_str()),
    };
    let arguments = nested.unwrap_or(call).get("arguments").cloned().unwrap_or_else(|| Json::Object(Map::new()));
    let parsed = arguments.as_str().and_then(|text| serde_json::from_str(text).ok()).filter(Json::is_object);
    Ok(ToolCall {
        id: text_at(call, "id")?.map_or_else(|| format!("call_{place}").into(), Arc::from),
        function: function.ok_or("a tool call names no `function`")?.into(),
        arguments: parsed.unwrap_or(arguments).into(),
    })
}

/// An answer as JSON, from which [`output_from_json`] makes the same answer.
#[must_use]
pub fn output_to_json(output: &ModelOutput) -> Json {
    let mut json = json!({
        "model": &*output.model,
        "message": message_to_json(&output.message),
        "stop_reason": output.stop_reason.name(),
    });
    if let Some(usage) = &output.usage {
        json["usage"] = usage_to_json(usage);
    }
    if let Some(time) = output.time_s {
        json["time_s"] = Json::from(time);
    }
    json
}

/// Reads an answer from JSON. The error says what is wrong with it.
pub fn output_from_json(json: &Json) -> Result<ModelOutput, String> {
    Ok(ModelOutput {
        model: text_at(json, "model")?.unwrap_or_default().into(),
        message: message_from_json(json.get("message").ok_or("an answer has no `message`")?)?,
        stop_reason: text_at(json, "stop_reason")?.map_or(StopReason::Unknown, StopReason::parse),
        usage: json.get("usage").filter(|usage| !usage.is_null()).map(usage_from_json).transpose()?,
        time_s: number_at(json, "time_s")?,
    })
}

fn usage_to_json(usage: &Usage) -> Json {
    let counts = [
        ("input_tokens", Some(usage.input_tokens)),
        ("output_tokens", Some(usage.output_tokens)),
        ("total_tokens", Some(usage.total_tokens)),
        ("cache_read_tokens", usage.cache_read_tokens),
        ("cache_write_tokens", usage.cache_write_tokens),
        ("reasoning_tokens", usage.reasoning_tokens),
    ];
    let known = counts.into_iter().filter_map(|(name, count)| Some((name.to_owned(), Json::from(count?))));
    let cost = usage.cost_usd.map(|cost| ("cost_usd".to_owned(), Json::from(cost)));
    known.chain(cost).collect()
}

/// Usage by our names or by those of OpenAI. A total that is not given is the sum.
pub fn usage_from_json(json: &Json) -> Result<Usage, String> {
    if !json.is_object() {
        return Err(format!("`usage` is {}, not a map", kind(json)));
    }
    let input = count_at(json, "input_tokens")?.or(count_at(json, "prompt_tokens")?);
    let output = count_at(json, "output_tokens")?.or(count_at(json, "completion_tokens")?);
    let sum = Usage::new(input.unwrap_or(0), output.unwrap_or(0));
    Ok(Usage {
        total_tokens: count_at(json, "total_tokens")?.unwrap_or(sum.total_tokens),
        cache_read_tokens: count_at(json, "cache_read_tokens")?,
        cache_write_tokens: count_at(json, "cache_write_tokens")?,
        reasoning_tokens: count_at(json, "reasoning_tokens")?,
        cost_usd: number_at(json, "cost_usd")?,
        ..sum
    })
}

/// The attempt as JSON for a program that answers: without the right answers and the expectations of a scenario.
pub(crate) fn attempt_to_json(state: &AttemptState) -> Json {
    const ANSWERS: [&str; 3] = ["expected_behaviors", "must_not", "evaluation_criteria"];
    let mut json = attempt(state);
    if let Some(Json::Object(metadata)) = json.get_mut("metadata") {
        metadata.retain(|key, _| !ANSWERS.contains(&key.as_str()));
    }
    json
}

/// The attempt as JSON for a program that scores: all of it.
pub(crate) fn scored_attempt_to_json(state: &AttemptState) -> Json {
    let mut json = attempt(state);
    json["output"] = Json::from(state.completion());
    json["target"] = state.target.0.iter().map(|target| Json::from(&**target)).collect();
    json
}

fn attempt(state: &AttemptState) -> Json {
    let metadata = state.metadata.iter().map(|(key, value)| (key.to_string(), Json::from(value)));
    json!({
        "id": Json::from(&state.id),
        "epoch": state.epoch,
        "input": state.sample.input.text(),
        "messages": state.messages.iter().map(message_to_json).collect::<Vec<_>>(),
        "choices": state.choices.iter().map(|choice| &*choice.text).collect::<Vec<_>>(),
        "metadata": metadata.collect::<Map<_, _>>(),
    })
}

/// The text under a key; none where it is absent or null.
pub(crate) fn text_at<'a>(json: &'a Json, key: &str) -> Result<Option<&'a str>, String> {
    match json.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text)),
        Some(other) if key == "function" && other.is_object() => Ok(None),
        Some(other) => Err(format!("`{key}` is {}, not text", kind(other))),
    }
}

/// The number under a key; none where it is absent or null.
pub(crate) fn number_at(json: &Json, key: &str) -> Result<Option<f64>, String> {
    match json.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(other) => {
            let number = other.as_f64().filter(|number| number.is_finite() && *number >= 0.0);
            number.map(Some).ok_or_else(|| format!("`{key}` is {}, not a number from 0", kind(other)))
        }
    }
}

/// The whole number under a key; none where it is absent or null.
pub(crate) fn count_at(json: &Json, key: &str) -> Result<Option<u64>, String> {
    // Programs in languages without whole numbers write `12.0`.
    let exact = |number: f64| (number.fract() == 0.0 && number < 9e15).then_some(number as u64);
    match number_at(json, key)? {
        None => Ok(None),
        Some(number) => {
            let count = json[key].as_u64().or(exact(number));
            count.map(Some).ok_or_else(|| format!("`{key}` is {number}, not a whole number"))
        }
    }
}

pub(crate) fn kind(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "true or false",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "a map",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use calipers_core::Value;

    #[test]
    fn an_answer_comes_back_as_it_went() {
        let mut output = ModelOutput::new("openai/gpt", "héllo\n");
        output.stop_reason = StopReason::ToolCalls;
        output.usage = Some(Usage { reasoning_tokens: Some(3), cost_usd: Some(0.25), ..Usage::new(5, 7) });
        output.time_s = Some(1.5);
        output.message.tool_calls.push(ToolCall {
            id: "1".into(),
            function: "search".into(),
            arguments: Value::from([("query", Value::from("x")), ("deep", Value::from(vec![1, 2]))]),
        });
        let text = output_to_json(&output).to_string();
        let read: Json = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(output_from_json(&read), Ok(output));
        let plain = ModelOutput::new("m", "");
        assert_eq!(output_from_json(&output_to_json(&plain)), Ok(plain));
    }

    #[test]
    fn messages_of_many_tools_are_read() {
        let json = json!({"role": "assistant", "content": [{"type": "text", "text": "a"}, "b", {"type": "image"}],
            "tool_calls": [{"id": "x", "type": "function", "function": {"name": "f", "arguments": "{\"n\": 1}"}},
                           {"name": "g", "arguments": "not JSON"}, {"function": "h"}]});
        let message = message_from_json(&json).expect("it is a message");
        assert_eq!(&*message.content, "a\nb");
        let calls: Vec<String> =
            message.tool_calls.iter().map(|call| format!("{} {} {}", call.id, call.function, call.arguments)).collect();
        assert_eq!(calls, ["x f {'n': 1}", "call_1 g not JSON", "call_2 h {}"]);
    }

    #[test]
    fn what_is_no_message_is_an_error_in_words() {
        for (json, want) in [
            (json!({"content": "x"}), "a message has no `role`"),
            (json!({"role": 1}), "`role` is a number, not text"),
            (json!({"role": "robot"}), "a message has the role `robot`, which is not system, user, assistant or tool"),
            (json!({"role": "user", "content": 1}), "the `content` of a message is a number, not text"),
            (json!({"role": "user", "tool_calls": {}}), "`tool_calls` is a map, not a list"),
            (json!({"role": "user", "tool_calls": [1]}), "a tool call names no `function`"),
            (json!([]), "a message has no `role`"),
        ] {
            assert_eq!(message_from_json(&json), Err(want.to_owned()), "{json}");
        }
    }

    #[test]
    fn usage_takes_whole_numbers_only() {
        assert_eq!(usage_from_json(&json!({"prompt_tokens": 3.0, "completion_tokens": 4})), Ok(Usage::new(3, 4)));
        for wrong in
            [json!({"input_tokens": -1}), json!({"input_tokens": 1.5}), json!({"output_tokens": "7"}), json!(7)]
        {
            assert!(usage_from_json(&wrong).is_err(), "{wrong}");
        }
    }
}
