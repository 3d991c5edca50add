//! Anthropic's messages.

use super::{answered_by, count, find, list, optional_text, put, stops, text, to_object, tool_call, usage};
use crate::Request;
use calipers_core::{Message, ModelOutput, Role, StopReason, Usage};
use serde_json::{Map, Value as Json, json};

/// The format refuses empty texts. Inspect uses the same placeholder.
const NOTHING: &str = "(no content)";

pub(super) fn ask(model: &str, request: &Request) -> Json {
    let config = &request.config;
    let mut body = Map::new();
    put(&mut body, "model", Some(model));
    put(&mut body, "max_tokens", Some(config.max_tokens.unwrap_or_else(|| max_tokens(model))));
    put(&mut body, "system", system(&request.messages));
    put(&mut body, "messages", Some(messages(&request.messages)));
    put(&mut body, "temperature", config.temperature);
    put(&mut body, "top_p", config.top_p);
    put(&mut body, "stop_sequences", stops(request));
    if let Some(effort) = config.reasoning_effort.as_deref() {
        think(&mut body, model, effort);
    }
    body.into()
}

/// The format requires a maximum. This one lets most answers finish, is allowed by every model, and arrives within ten
/// minutes.
fn max_tokens(model: &str) -> u64 {
    if model.contains("claude-3-") && !model.contains("claude-3-7") { 4096 } else { 16_384 }
}

/// Newer models choose how much to think and take the effort as a word; earlier ones take a number of tokens.
fn think(body: &mut Map<String, Json>, model: &str, effort: &str) {
    const BY_TOKENS: [&str; 9] = [
        "claude-3-",
        "claude-haiku-4",
        "claude-opus-4-0",
        "claude-opus-4-1",
        "claude-opus-4-2",
        "claude-opus-4-5",
        "claude-sonnet-4-0",
        "claude-sonnet-4-2",
        "claude-sonnet-4-5",
    ];
    if !BY_TOKENS.iter().any(|name| model.contains(name)) {
        put(body, "thinking", Some(json!({"type": "adaptive"})));
        put(body, "output_config", Some(json!({"effort": effort})));
        return;
    }
    let tokens = match effort {
        "low" => Some(1024),
        "medium" => Some(4096),
        "high" => Some(12_288),
        _ => None,
    };
    put(body, "thinking", tokens.map(|tokens| json!({"type": "enabled", "budget_tokens": tokens})));
}

/// System messages are separate from the conversation here.
fn system(messages: &[Message]) -> Option<String> {
    let rules = messages.iter().filter(|message| message.role == Role::System && !message.content.is_empty());
    rules.map(|message| message.content.to_string()).reduce(|all, next| all + "\n\n" + &next)
}

/// The conversation. Tool results belong to the user, all those of one turn in one message.
fn messages(messages: &[Message]) -> Vec<Json> {
    let mut turns: Vec<(&str, Vec<Json>)> = Vec::new();
    for message in messages.iter().filter(|message| message.role != Role::System) {
        let role = if message.role == Role::Assistant { "assistant" } else { "user" };
        match turns.last_mut() {
            Some((last, all)) if *last == role => all.extend(blocks(message)),
            _ => turns.push((role, blocks(message))),
        }
    }
    turns.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

fn blocks(message: &Message) -> Vec<Json> {
    let words = if message.content.is_empty() { NOTHING } else { &message.content };
    if message.role == Role::Tool {
        let id = message.tool_call_id.as_deref().unwrap_or_default();
        return vec![json!({"type": "tool_result", "tool_use_id": id, "content": words})];
    }
    let calls = message.tool_calls.iter().map(|call| {
        let input = to_object(&call.arguments);
        json!({"type": "tool_use", "id": &*call.id, "name": &*call.function, "input": input})
    });
    let is_silent = message.content.is_empty() && !message.tool_calls.is_empty();
    let words = (!is_silent).then(|| json!({"type": "text", "text": words}));
    words.into_iter().chain(calls).collect()
}

pub(super) fn read(model: &str, body: &Json) -> Result<ModelOutput, String> {
    let (mut content, mut tool_calls) = (String::new(), Vec::new());
    for block in list(body, "content")? {
        match text(block, "type")? {
            "text" => content.push_str(text(block, "text")?),
            "tool_use" => {
                let input = find(block, "input").cloned().unwrap_or_default();
                tool_calls.push(tool_call(text(block, "id")?, text(block, "name")?, input));
            }
            // Thinking blocks and unknown blocks are not part of the answer.
            _ => {}
        }
    }
    let mut output = ModelOutput::new(answered_by(model, body, "model"), content);
    output.message.tool_calls = tool_calls;
    output.stop_reason = stop_reason(optional_text(body, "stop_reason")?);
    output.usage = find(body, "usage").and_then(read_usage);
    Ok(output)
}

fn stop_reason(reason: Option<&str>) -> StopReason {
    match reason {
        Some("end_turn" | "stop_sequence") => StopReason::Stop,
        Some("max_tokens" | "model_context_window_exceeded") => StopReason::MaxTokens,
        Some("tool_use") => StopReason::ToolCalls,
        Some("refusal") => StopReason::ContentFilter,
        _ => StopReason::Unknown,
    }
}

/// Here `input_tokens` excludes cached tokens; ours counts all that were sent.
fn read_usage(json: &Json) -> Option<Usage> {
    let (fresh, output) = (count(json, "input_tokens")?, count(json, "output_tokens").unwrap_or(0));
    let read = count(json, "cache_read_input_tokens");
    let written = count(json, "cache_creation_input_tokens");
    let input = fresh.saturating_add(read.unwrap_or(0)).saturating_add(written.unwrap_or(0));
    Some(Usage {
        cache_read_tokens: read,
        cache_write_tokens: written,
        reasoning_tokens: count(json, "output_tokens_details.thinking_tokens"),
        ..usage(input, output, None)
    })
}
