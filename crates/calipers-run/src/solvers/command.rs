//! `command`: an agent in any language answers.

use crate::catalog::CatalogEntry;
use crate::child_program::{PARAMS, Program};
use crate::message_json::{
    attempt_to_json, count_at, kind, message_from_json, number_at, text_at, tool_calls_from_json, usage_from_json,
};
use crate::{AttemptFault, AttemptScope, AttemptState, Solver};
use async_trait::async_trait;
use calipers_core::{Message, ModelOutput, Role, StopReason, Usage, Value};
use serde_json::Value as Json;
use std::sync::Arc;
use std::time::Duration;

pub(super) const ENTRY: CatalogEntry<dyn Solver> = CatalogEntry {
    name: "command",
    about: "runs a program that receives the sample as JSON and answers with text, or with JSON that has `output`",
    params: PARAMS,
    places: 1,
    open: false,
    make: |params| Ok(Arc::new(Agent(Program::new(params)?))),
};

struct Agent(Program);

#[async_trait]
impl Solver for Agent {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn asks_model(&self) -> bool {
        false
    }

    fn program(&self) -> Option<&str> {
        Some(self.0.display_name())
    }

    async fn solve(&self, state: &mut AttemptState, scope: &AttemptScope) -> Result<(), AttemptFault> {
        let input = attempt_to_json(state).to_string();
        let commitment = scope.commit_program().await?;
        let ran = self.0.run(input.as_bytes(), scope.environment()).await?;
        let said = String::from_utf8_lossy(&ran.stdout);
        let fault =
            |why: String| AttemptFault::new(format!("the answer of `{}` cannot be used: {why}", self.0.display_name()));
        match parse_structured(&said) {
            Some(json) => {
                if let Some(error) = text_at(&json, "error").map_err(fault)?.filter(|error| !error.is_empty()) {
                    return Err(AttemptFault::new(format!("`{}` reports: {error}", self.0.display_name())));
                }
                take(state, &json, ran.time).map_err(fault)?;
            }
            None => answer(state, ModelOutput::new("command", said.trim()), ran.time, None),
        }
        let recorded = match state.output.as_ref().and_then(|output| Some((&output.model, output.usage?))) {
            Some((model, usage)) => scope.record(model, &usage),
            None => scope.record_nothing(self.0.display_name()),
        };
        // Only now is it known what it cost.
        drop(commitment);
        recorded
    }
}

/// The answer in our JSON form. Any other JSON is plain text, because agents may be asked for JSON.
fn parse_structured(said: &str) -> Option<Json> {
    let json: Json = serde_json::from_str(said).ok()?;
    ["output", "messages", "error"].iter().any(|key| json.get(key).is_some()).then_some(json)
}

fn take(state: &mut AttemptState, json: &Json, ran: Duration) -> Result<(), String> {
    let messages = messages(json)?;
    let last_said = || messages.iter().rev().flatten().find(|message| message.role == Role::Assistant);
    let text: Arc<str> = match json.get("output") {
        Some(Json::String(text)) => text.as_str().into(),
        Some(Json::Null) | None => last_said().map_or_else(|| "".into(), |message| message.content.clone()),
        Some(other) => other.to_string().into(),
    };
    let mut output = ModelOutput::new(text_at(json, "model")?.unwrap_or("command"), text);
    output.message.tool_calls = tool_calls_from_json(json.get("tool_calls"))?;
    output.stop_reason = text_at(json, "stop_reason")?.map_or(StopReason::Stop, StopReason::parse);
    output.usage = usage(json)?;
    measure(state, json, output.usage.as_ref())?;
    for key in ["observed_behaviors", "violations"] {
        if let Some(reported) = json.get(key).filter(|reported| !reported.is_null()) {
            set(&mut state.store, key, reported.clone().into());
        }
    }
    answer(state, output, ran, messages);
    Ok(())
}

fn messages(json: &Json) -> Result<Option<Vec<Message>>, String> {
    match json.get("messages") {
        None | Some(Json::Null) => Ok(None),
        Some(Json::Array(messages)) => messages.iter().map(message_from_json).collect::<Result<_, _>>().map(Some),
        Some(other) => Err(format!("`messages` is {}, not a list", kind(other))),
    }
}

/// The usage: `usage`, or `tokens` in total, and `cost_usd`.
fn usage(json: &Json) -> Result<Option<Usage>, String> {
    let detailed = json.get("usage").filter(|usage| !usage.is_null()).map(usage_from_json).transpose()?;
    let total = count_at(json, "tokens")?;
    let cost_usd = number_at(json, "cost_usd")?;
    if detailed.is_none() && total.is_none() && cost_usd.is_none() {
        return Ok(None);
    }
    let detailed = detailed.unwrap_or_default();
    let total_tokens = total.unwrap_or(detailed.total_tokens);
    Ok(Some(Usage { total_tokens, cost_usd: cost_usd.or(detailed.cost_usd), ..detailed }))
}

/// The agent's own measurements of tokens, cost and time.
fn measure(state: &mut AttemptState, json: &Json, usage: Option<&Usage>) -> Result<(), String> {
    if let Some(latency) = number_at(json, "latency_ms")? {
        set(&mut state.fields, "latency_ms", latency.into());
    }
    if let Some(usage) = usage {
        if usage.total_tokens > 0 {
            set(&mut state.fields, "tokens_used", i64::try_from(usage.total_tokens).unwrap_or(i64::MAX).into());
        }
        if let Some(cost) = usage.cost_usd {
            set(&mut state.fields, "cost_usd", cost.into());
        }
    }
    Ok(())
}

fn set(entries: &mut Vec<(Arc<str>, Value)>, name: &str, value: Value) {
    entries.retain(|(known, _)| **known != *name);
    entries.push((name.into(), value));
}

/// Adds messages to the conversation. An agent may repeat the conversation that it was given, or return only what is
/// new.
fn answer(state: &mut AttemptState, mut output: ModelOutput, ran: Duration, messages: Option<Vec<Message>>) {
    output.time_s = Some(ran.as_secs_f64());
    let messages = messages.unwrap_or_default();
    let same = |(one, other): (&Message, &Message)| one.role == other.role && one.content == other.content;
    let repeated = messages.len() >= state.messages.len() && messages.iter().zip(&state.messages).all(same);
    let new = messages.into_iter().skip(if repeated { state.messages.len() } else { 0 });
    state.messages.extend(new);
    let is_told = state.messages.last().is_some_and(|last| same((last, &output.message)));
    if !is_told {
        state.messages.push(output.message.clone());
    }
    state.output = Some(output);
}
