//! Gemini's `generateContent`.

use super::{answered_by, count, find, list, optional_text, put, stops, text, to_object, tool_call, usage};
use crate::Request;
use calipers_core::{Message, ModelOutput, Role, StopReason, ToolCall, Usage};
use serde_json::{Map, Value as Json, json};

pub(super) fn ask(model: &str, request: &Request) -> Json {
    let mut body = Map::new();
    let system: Vec<Json> = request.messages.iter().filter(|message| message.role == Role::System).map(words).collect();
    if !system.is_empty() {
        put(&mut body, "systemInstruction", Some(json!({"parts": system})));
    }
    put(&mut body, "contents", Some(contents(&request.messages)));
    let settings = settings(model, request);
    if !settings.is_empty() {
        put(&mut body, "generationConfig", Some(settings));
    }
    body.into()
}

fn settings(model: &str, request: &Request) -> Map<String, Json> {
    let config = &request.config;
    let mut settings = Map::new();
    put(&mut settings, "temperature", config.temperature);
    put(&mut settings, "topP", config.top_p);
    put(&mut settings, "maxOutputTokens", config.max_tokens);
    put(&mut settings, "stopSequences", stops(request));
    put(&mut settings, "seed", config.seed);
    let thinking = config.reasoning_effort.as_deref().and_then(|effort| thinking(model, effort));
    put(&mut settings, "thinkingConfig", thinking);
    settings
}

/// Models before the third generation take a number of tokens; these are Google's numbers for the three words.
fn thinking(model: &str, effort: &str) -> Option<Json> {
    if !model.contains("gemini-2") {
        return Some(json!({"thinkingLevel": effort}));
    }
    let tokens = match effort {
        "low" => 1024,
        "medium" => 8192,
        "high" => 24_576,
        _ => return None,
    };
    Some(json!({"thinkingBudget": tokens}))
}

fn words(message: &Message) -> Json {
    json!({"text": &*message.content})
}

/// The conversation. Consecutive turns of one side are merged, and tool results belong to the user.
fn contents(messages: &[Message]) -> Vec<Json> {
    let mut turns: Vec<(&str, Vec<Json>)> = Vec::new();
    for (index, message) in messages.iter().enumerate().filter(|(_, message)| message.role != Role::System) {
        let role = if message.role == Role::Assistant { "model" } else { "user" };
        let parts = parts(message, &messages[..index]);
        match turns.last_mut() {
            Some((last, all)) if *last == role => all.extend(parts),
            _ => turns.push((role, parts)),
        }
    }
    turns.into_iter().map(|(role, parts)| json!({"role": role, "parts": parts})).collect()
}

fn parts(message: &Message, before: &[Message]) -> Vec<Json> {
    if message.role == Role::Tool {
        let name = answered_call(message, before).map_or("tool", |call| &*call.function);
        return vec![json!({"functionResponse": {"name": name, "response": {"result": &*message.content}}})];
    }
    let calls = message.tool_calls.iter();
    let calls =
        calls.map(|call| json!({"functionCall": {"name": &*call.function, "args": to_object(&call.arguments)}}));
    let is_silent = message.content.is_empty() && !message.tool_calls.is_empty();
    (!is_silent).then(|| words(message)).into_iter().chain(calls).collect()
}

/// The call that a tool answers: here an answer names its tool, not the call.
fn answered_call<'a>(message: &Message, before: &'a [Message]) -> Option<&'a ToolCall> {
    let id = message.tool_call_id.as_ref()?;
    before.iter().rev().flat_map(|message| &message.tool_calls).find(|call| call.id == *id)
}

pub(super) fn read(model: &str, body: &Json) -> Result<ModelOutput, String> {
    let name = answered_by(model, body, "modelVersion");
    let usage = find(body, "usageMetadata").and_then(read_usage);
    if find(body, "candidates.0").is_none() && find(body, "promptFeedback.blockReason").is_some() {
        let output = ModelOutput::new(name, "");
        return Ok(ModelOutput { stop_reason: StopReason::ContentFilter, usage, ..output });
    }
    let reason = optional_text(body, "candidates.0.finishReason")?;
    let (mut content, mut tool_calls) = (String::new(), Vec::new());
    for part in parts_of(body, reason)? {
        read_part(part, &mut content, &mut tool_calls)?;
    }
    let mut output = ModelOutput::new(name, content);
    output.stop_reason = stop_reason(reason, !tool_calls.is_empty());
    output.message.tool_calls = tool_calls;
    output.usage = usage;
    Ok(output)
}

/// The parts of the answer. A model that was stopped before its first word has none, but a reason.
fn parts_of<'a>(body: &'a Json, reason: Option<&str>) -> Result<&'a [Json], String> {
    match find(body, "candidates.0.content.parts") {
        None if reason.is_some() => Ok(&[]),
        _ => list(body, "candidates.0.content.parts"),
    }
}

fn read_part(part: &Json, content: &mut String, tool_calls: &mut Vec<ToolCall>) -> Result<(), String> {
    let is_thought = find(part, "thought").and_then(Json::as_bool).unwrap_or(false);
    if is_thought {
        return Ok(());
    }
    if let Some(words) = optional_text(part, "text")? {
        content.push_str(words);
    }
    if let Some(call) = find(part, "functionCall") {
        let numbered = format!("call_{}", tool_calls.len());
        let id = optional_text(call, "id")?.unwrap_or(&numbered);
        tool_calls.push(tool_call(id, text(call, "name")?, find(call, "args").cloned().unwrap_or_default()));
    }
    Ok(())
}

fn stop_reason(reason: Option<&str>, has_calls: bool) -> StopReason {
    match reason {
        Some("STOP") if has_calls => StopReason::ToolCalls,
        Some("STOP") => StopReason::Stop,
        Some("MAX_TOKENS") => StopReason::MaxTokens,
        Some("SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII") => StopReason::ContentFilter,
        _ => StopReason::Unknown,
    }
}

/// Here thinking tokens are counted separately; ours are part of the output.
fn read_usage(json: &Json) -> Option<Usage> {
    let input = count(json, "promptTokenCount")?;
    let thoughts = count(json, "thoughtsTokenCount");
    let output = count(json, "candidatesTokenCount").unwrap_or(0).saturating_add(thoughts.unwrap_or(0));
    Some(Usage {
        cache_read_tokens: count(json, "cachedContentTokenCount"),
        reasoning_tokens: thoughts,
        ..usage(input, output, count(json, "totalTokenCount"))
    })
}
