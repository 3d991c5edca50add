//! One attempt as Inspect writes it.

use super::log_header::timestamp;
use crate::json::json_writer::{self, Map, Nan, bound_depth};
use crate::write::inspect::{Fingerprint, put_error, put_id, put_outcome, put_values};
use calipers_core::{
    CACHED_ANSWERS, Input, Message, Metadata, ModelOutput, Outcome, Role, Score, Target, ToolCall, Transcript, Usage,
    Value,
};
use std::borrow::Cow;
use std::sync::Arc;

/// The JSON of an attempt in the log of this name. The model is the one that the task names.
pub(super) fn sample_json(attempt: &Transcript, eval_id: &str, model: &str) -> Vec<u8> {
    let uuid = Fingerprint::of(&[eval_id, &attempt.id.to_string(), &attempt.epoch.to_string()]);
    let mut out = Vec::with_capacity(2048);
    let mut map = Map::open(&mut out);
    put_id(map.key("id"), &attempt.id);
    map.raw("epoch", &attempt.epoch.to_string());
    match &attempt.input {
        Input::Text(text) => map.text("input", text),
        Input::Messages(messages) => put_messages(map.key("input"), messages, &format!("{uuid}/input")),
    }
    if !attempt.choices.is_empty() {
        json_writer::put_list(map.key("choices"), &attempt.choices, |out, choice| json_writer::put_text(out, choice));
    }
    put_target(map.key("target"), &attempt.target);
    put_messages(map.key("messages"), &attempt.messages, &uuid);
    put_output(map.key("output"), attempt, model, &uuid);
    let scores: Vec<(&str, Cow<'_, Outcome>)> =
        attempt.scores.iter().map(|(scorer, outcome)| (&**scorer, readable(outcome))).collect();
    json_writer::put_map(map.key("scores"), scores, |out, outcome| put_outcome(out, &outcome));
    put_bounded(map.key("metadata"), attempt.metadata.iter());
    put_store(map.key("store"), &kept_apart(attempt));
    map.raw("events", "[]");
    let usage = attempt.usage.iter().map(|(model, usage)| (&**model, usage));
    json_writer::put_map(map.key("model_usage"), usage, put_usage);
    map.raw("role_usage", "{}");
    map.text("started_at", &timestamp(attempt.started_ms));
    map.text("completed_at", &timestamp(attempt.completed_ms));
    for (key, seconds) in [("total_time", total_s(attempt)), ("working_time", working_s(attempt))] {
        if let Some(seconds) = seconds.filter(|seconds| seconds.is_finite()) {
            json_writer::put_float(map.key(key), seconds);
        }
    }
    map.text("uuid", &uuid);
    if let Some(error) = &attempt.error {
        put_error(map.key("error"), error);
    }
    json_writer::put_list(map.key("error_retries"), &attempt.error_retries, |out, error| put_error(out, error));
    map.raw("attachments", "{}");
    if let Some(limit) = &attempt.limit {
        let mut parts = Map::open(map.key("limit"));
        parts.text("type", limit.kind);
        json_writer::put_float(parts.key("limit"), if limit.limit.is_finite() { limit.limit } else { 0.0 });
        parts.close();
    }
    map.close();
    out
}

/// How long it took. Answers from a cache take no time, and no reader should take that for a latency.
fn total_s(attempt: &Transcript) -> Option<f64> {
    Some(attempt.completed_ms.checked_sub(attempt.started_ms)? as f64 / 1000.0).filter(|_| !is_cached(attempt))
}

fn working_s(attempt: &Transcript) -> Option<f64> {
    Some(attempt.working_s).filter(|_| !is_cached(attempt))
}

fn is_cached(attempt: &Transcript) -> bool {
    attempt.fields.iter().any(|(name, _)| **name == *CACHED_ANSWERS)
}

/// One right answer is text, several are a list.
fn put_target(out: &mut Vec<u8>, target: &Target) {
    match &target.0[..] {
        [] => json_writer::put_text(out, ""),
        [only] => json_writer::put_text(out, only),
        several => json_writer::put_list(out, several, |out, target| json_writer::put_text(out, target)),
    }
}

/// Messages, each with a unique name.
fn put_messages(out: &mut Vec<u8>, messages: &[Message], key: &str) {
    json_writer::put_list(out, messages.iter().enumerate(), |out, (place, message)| {
        put_message(out, message, &message_id(key, place));
    });
}

fn message_id(key: &str, place: usize) -> String {
    Fingerprint::of(&[key, &place.to_string()])
}

fn put_message(out: &mut Vec<u8>, message: &Message, id: &str) {
    let mut map = Map::open(out);
    map.text("id", id);
    map.text("role", message.role.name());
    map.text("content", &message.content);
    if message.role == Role::Assistant && !message.tool_calls.is_empty() {
        json_writer::put_list(map.key("tool_calls"), &message.tool_calls, put_tool_call);
    }
    if let Some(call) = message.tool_call_id.as_ref().filter(|_| message.role == Role::Tool) {
        map.text("tool_call_id", call);
    }
    map.close();
}

/// Inspect requires a map of arguments; anything else that a model wrote is recorded as an unreadable call.
fn put_tool_call(out: &mut Vec<u8>, call: &ToolCall) {
    let mut map = Map::open(out);
    map.text("id", &call.id);
    map.text("function", &call.function);
    match &*bound_depth(&call.arguments) {
        arguments @ Value::Map(_) => map.value("arguments", arguments, Nan::Null),
        other => {
            map.raw("arguments", "{}");
            map.text("parse_error", &other.to_string());
        }
    }
    map.text("type", "function");
    map.close();
}

/// What was answered in the end. Its message has the name that it has in the conversation.
fn put_output(out: &mut Vec<u8>, attempt: &Transcript, model: &str, uuid: &str) {
    let mut map = Map::open(out);
    let Some(output) = &attempt.output else {
        map.text("model", model);
        map.raw("choices", "[]");
        map.text("completion", "");
        map.close();
        return;
    };
    let place = attempt.messages.iter().rposition(|message| *message == output.message);
    let ModelOutput { model, message, stop_reason, usage, time_s } = output;
    map.text("model", model);
    json_writer::put_list(map.key("choices"), [()], |out, ()| {
        let mut map = Map::open(out);
        let id = message_id(uuid, place.unwrap_or(attempt.messages.len()));
        let message = Message { role: Role::Assistant, ..message.clone() };
        put_message(map.key("message"), &message, &id);
        map.text("stop_reason", stop_reason.name());
        map.close();
    });
    map.text("completion", output.completion());
    if let Some(usage) = usage {
        put_usage(map.key("usage"), usage);
    }
    if let Some(time) = time_s.filter(|time| time.is_finite()) {
        json_writer::put_float(map.key("time"), time);
    }
    map.close();
}

/// The usage of a model, under Inspect's names.
pub(super) fn put_usage(out: &mut Vec<u8>, usage: &Usage) {
    let mut map = Map::open(out);
    let tokens = [
        ("input_tokens", Some(usage.input_tokens)),
        ("output_tokens", Some(usage.output_tokens)),
        ("total_tokens", Some(usage.total_tokens)),
        ("input_tokens_cache_write", usage.cache_write_tokens),
        ("input_tokens_cache_read", usage.cache_read_tokens),
        ("reasoning_tokens", usage.reasoning_tokens),
    ];
    for (key, tokens) in tokens {
        if let Some(tokens) = tokens {
            map.raw(key, &tokens.to_string());
        }
    }
    if let Some(cost) = usage.cost_usd.filter(|cost| cost.is_finite()) {
        json_writer::put_float(map.key("total_cost"), cost);
    }
    map.close();
}

fn put_bounded<'a>(out: &mut Vec<u8>, entries: impl Iterator<Item = (&'a Arc<str>, &'a Value)>) {
    json_writer::put_map(out, entries.map(|(key, value)| (&**key, value)), |out, value| {
        json_writer::put(out, &bound_depth(value), Nan::Bare);
    });
}

/// The outcome as a log can hold it: a score is a plain value, or a list or map of such. Inspect refuses a whole log
/// for any other score, and so do we.
fn readable(outcome: &Outcome) -> Cow<'_, Outcome> {
    let score = match outcome {
        Outcome::Scored(score) => Some(score),
        Outcome::Unscored { score, .. } => score.as_deref(),
    };
    let Some(score) = score else { return Cow::Borrowed(outcome) };
    let is_flat = match &score.value {
        Value::List(items) => items.iter().all(|item| item.is_scalar() && !matches!(item, Value::Null)),
        Value::Map(entries) => entries.iter().all(|(_, item)| item.is_scalar()),
        _ => true,
    };
    let is_bounded = score
        .metadata
        .as_ref()
        .is_none_or(|metadata| metadata.iter().all(|(_, value)| matches!(bound_depth(value), Cow::Borrowed(_))));
    if is_flat && is_bounded {
        return Cow::Borrowed(outcome);
    }
    let mut score: Score = score.clone();
    if let Some(metadata) = &score.metadata {
        let entries = metadata.iter().map(|(key, value)| (key.clone(), bound_depth(value).into_owned()));
        score.metadata = Some(Arc::new(Metadata::new(entries)));
    }
    Cow::Owned(match outcome {
        Outcome::Scored(_) if is_flat => Outcome::Scored(score),
        Outcome::Unscored { reason, .. } => Outcome::Unscored { reason: reason.clone(), score: Some(Box::new(score)) },
        Outcome::Scored(_) => {
            let reason = format!("the score is a {} with more than plain values in it", score.value.kind());
            Outcome::Unscored { reason: reason.into(), score: Some(Box::new(score)) }
        }
    })
}

/// The measurements that a reader cannot derive from the rest of the sample.
fn kept_apart(attempt: &Transcript) -> Vec<(Arc<str>, Value)> {
    let tokens = attempt.usage.iter().map(|(_, usage)| usage.total_tokens as f64);
    let costs = attempt.usage.iter().filter_map(|(_, usage)| usage.cost_usd).filter(|cost| cost.is_finite());
    let milliseconds = |seconds: Option<f64>| seconds.filter(|s| s.is_finite()).map(|s| Value::from(s * 1000.0));
    let is_read_as = |name: &str| match name {
        "latency_ms" => milliseconds(total_s(attempt)),
        "working_time_ms" => milliseconds(working_s(attempt)),
        "tokens_used" => tokens.clone().reduce(|sum, tokens| sum + tokens).map(Value::from),
        "cost_usd" => costs.clone().reduce(|sum, cost| sum + cost).map(Value::from),
        "limit" => attempt.limit.as_ref().map(|limit| limit.kind.into()),
        _ => None,
    };
    attempt.measurements().into_iter().filter(|(name, value)| is_read_as(name).as_ref() != Some(value)).collect()
}

/// What Inspect has no field for. Our reader looks for `calipers` as the first key.
fn put_store(out: &mut Vec<u8>, fields: &[(Arc<str>, Value)]) {
    if fields.is_empty() {
        out.extend_from_slice(b"{}");
        return;
    }
    let mut store = Map::open(out);
    let mut ours = Map::open(store.key("calipers"));
    let fields: Vec<(Arc<str>, Value)> =
        fields.iter().map(|(name, value)| (name.clone(), bound_depth(value).into_owned())).collect();
    put_values(ours.key("fields"), fields.iter().map(|(name, value)| (name, value)));
    ours.close();
    store.close();
}
