//! OpenAI's chat completions, which many servers speak.

use super::{answered_by, count, find, is_not, list, need, optional_text, put, stops, text, tool_call, usage};
use crate::Request;
use calipers_core::{Message, ModelOutput, StopReason, ToolCall, Usage, Value};
use serde_json::{Map, Value as Json, json};

pub(super) fn ask(model: &str, is_home: bool, request: &Request) -> Json {
    let config = &request.config;
    let mut body = Map::new();
    put(&mut body, "model", Some(model));
    put(&mut body, "messages", Some(request.messages.iter().map(message).collect::<Vec<_>>()));
    put(&mut body, "temperature", config.temperature);
    put(&mut body, "top_p", config.top_p);
    put(&mut body, max_tokens_key(model, is_home), config.max_tokens);
    put(&mut body, "stop", stops(request));
    put(&mut body, "seed", config.seed);
    put(&mut body, "reasoning_effort", config.reasoning_effort.as_deref());
    body.into()
}

/// OpenAI's newer models refuse `max_tokens`, and other servers may know nothing else.
fn max_tokens_key(model: &str, is_home: bool) -> &'static str {
    let is_reasoning = ["gpt-5", "gpt-6", "o1", "o3", "o4"].iter().any(|start| model.starts_with(start));
    if is_home || is_reasoning { "max_completion_tokens" } else { "max_tokens" }
}

fn message(message: &Message) -> Json {
    let mut json = Map::new();
    put(&mut json, "role", Some(message.role.name()));
    put(&mut json, "content", Some(&*message.content));
    put(&mut json, "tool_call_id", message.tool_call_id.as_deref());
    if !message.tool_calls.is_empty() {
        put(&mut json, "tool_calls", Some(message.tool_calls.iter().map(call).collect::<Vec<_>>()));
    }
    json.into()
}

/// Arguments are sent as a text, which also covers a model that did not write JSON.
fn call(call: &ToolCall) -> Json {
    let arguments = match &call.arguments {
        Value::Text(text) => text.to_string(),
        other => Json::from(other).to_string(),
    };
    json!({"id": &*call.id, "type": "function", "function": {"name": &*call.function, "arguments": arguments}})
}

pub(super) fn read(model: &str, body: &Json) -> Result<ModelOutput, String> {
    let message = need(body, "choices.0.message")?;
    let tool_calls = match find(message, "tool_calls") {
        Some(_) => list(message, "tool_calls")?.iter().map(read_call).collect::<Result<Vec<_>, _>>()?,
        None => Vec::new(),
    };
    // Null content is an empty answer; missing content is no answer.
    if message.get("content").is_none() && tool_calls.is_empty() {
        return Err("`choices.0.message.content` is missing".into());
    }
    let content = match content(message)? {
        Some(content) => content,
        None => optional_text(message, "refusal")?.unwrap_or_default().to_owned(),
    };
    let mut output = ModelOutput::new(answered_by(model, body, "model"), content);
    output.message.tool_calls = tool_calls;
    output.stop_reason = stop_reason(optional_text(body, "choices.0.finish_reason")?);
    output.usage = find(body, "usage").and_then(read_usage);
    Ok(output)
}

/// A text, or a list of parts of which those of text count.
fn content(message: &Json) -> Result<Option<String>, String> {
    match find(message, "content") {
        None => Ok(None),
        Some(Json::String(text)) => Ok(Some(text.clone())),
        Some(Json::Array(parts)) => {
            let texts = parts.iter().filter(|part| find(part, "type").is_some_and(|kind| kind == "text"));
            texts.map(|part| text(part, "text")).collect::<Result<String, _>>().map(Some)
        }
        Some(other) => Err(is_not("choices.0.message.content", other, "a string")),
    }
}

fn read_call(call: &Json) -> Result<ToolCall, String> {
    let arguments = match find(call, "function.arguments") {
        Some(Json::String(written)) => serde_json::from_str(written).unwrap_or_else(|_| written.as_str().into()),
        Some(other) => other.clone(),
        None => Json::Null,
    };
    let id = optional_text(call, "id")?.unwrap_or_default();
    Ok(tool_call(id, text(call, "function.name")?, arguments))
}

fn stop_reason(reason: Option<&str>) -> StopReason {
    match reason {
        Some("stop") => StopReason::Stop,
        Some("length") => StopReason::MaxTokens,
        Some("tool_calls" | "function_call") => StopReason::ToolCalls,
        Some("content_filter") => StopReason::ContentFilter,
        _ => StopReason::Unknown,
    }
}

fn read_usage(json: &Json) -> Option<Usage> {
    let (input, output) = (count(json, "prompt_tokens")?, count(json, "completion_tokens").unwrap_or(0));
    Some(Usage {
        cache_read_tokens: count(json, "prompt_tokens_details.cached_tokens"),
        reasoning_tokens: count(json, "completion_tokens_details.reasoning_tokens"),
        ..usage(input, output, count(json, "total_tokens"))
    })
}
