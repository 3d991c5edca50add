//! `command`: a program in any language scores.

use crate::catalog::CatalogEntry;
use crate::child_program::{PARAMS, Program};
use crate::message_json::{kind, scored_attempt_to_json, text_at};
use crate::{AttemptFault, AttemptScope, AttemptState, Scorer, ScorerResult};
use async_trait::async_trait;
use calipers_core::{Metadata, MetricSpec, Outcome, Score, Value, mean, stderr};
use serde_json::Value as Json;
use std::sync::Arc;

pub(super) const ENTRY: CatalogEntry<dyn Scorer> = CatalogEntry {
    name: "command",
    about: "runs a program that receives the attempt as JSON and prints a score: a number, a word, or JSON with `value`",
    params: PARAMS,
    places: 1,
    open: false,
    make: |params| Ok(Arc::new(ByProgram(Program::new(params)?))),
};

struct ByProgram(Program);

#[async_trait]
impl Scorer for ByProgram {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn metrics(&self) -> Vec<MetricSpec> {
        vec![mean().into(), stderr().into()]
    }

    fn program(&self) -> Option<&str> {
        Some(self.0.display_name())
    }

    async fn score(&self, state: &AttemptState, scope: &AttemptScope) -> Result<ScorerResult, AttemptFault> {
        let program = self.0.display_name();
        let input = scored_attempt_to_json(state).to_string();
        let ran = self.0.run(input.as_bytes(), scope.environment()).await.map_err(|fault| match fault {
            // A slow scorer says nothing about the attempt.
            AttemptFault::Limit(limit) => {
                AttemptFault::new(format!("`{program}` had no score within {} s", limit.limit))
            }
            other => other,
        })?;
        let said = String::from_utf8_lossy(&ran.stdout);
        let outcome = outcome(said.trim());
        Ok(outcome.map_err(|why| AttemptFault::new(format!("`{program}` returned no valid score: {why}")))?.into())
    }
}

fn outcome(said: &str) -> Result<Outcome, String> {
    match serde_json::from_str::<Json>(said) {
        Ok(json) if json.is_object() => from_object(&json),
        Ok(json) => Ok(Score::new(value(&json)?).into()),
        Err(_) if !said.is_empty() && !said.contains(char::is_whitespace) => Ok(Score::new(said).into()),
        Err(error) => Err(format!("it is neither JSON nor one word ({error})")),
    }
}

fn from_object(json: &Json) -> Result<Outcome, String> {
    let answer = text_at(json, "answer")?;
    let explanation = text_at(json, "explanation")?;
    let metadata = match json.get("metadata") {
        None | Some(Json::Null) => None,
        Some(Json::Object(entries)) => {
            Some(Metadata::new(entries.iter().map(|(key, value)| (key.as_str(), Value::from(value.clone())))))
        }
        Some(other) => return Err(format!("`metadata` is {}, not a map", kind(other))),
    };
    let mut score = match json.get("value") {
        None if json.get("reason").is_none() => return Err("it has no `value`".into()),
        None | Some(Json::Null) => Score::unscored(),
        Some(given) => Score::new(value(given)?),
    };
    score.answer = answer.map(Arc::from);
    score.explanation = explanation.map(Arc::from);
    score.metadata = metadata.map(Arc::new);
    if score.value.is_missing() {
        let reason = text_at(json, "reason")?.unwrap_or("the program gave no value");
        return Ok(Outcome::Unscored { reason: reason.into(), score: Some(Box::new(score)) });
    }
    Ok(score.into())
}

/// A value that a score may have: plain, or a list or map of plain values.
fn value(json: &Json) -> Result<Value, String> {
    let value = Value::from(json.clone());
    let is_infinite = |value: &Value| matches!(value, Value::Float(number) if !number.is_finite());
    let is_flat = match &value {
        Value::Null => return Err("its value is null".into()),
        number if is_infinite(number) => return Err("its value is infinite".into()),
        Value::List(items) => items.iter().all(|item| item.is_scalar() && !matches!(item, Value::Null)),
        Value::Map(entries) => entries.iter().all(|(_, value)| value.is_scalar()),
        _ => true,
    };
    if is_flat { Ok(value) } else { Err("its value is nested deeper than one list or map of plain values".into()) }
}
