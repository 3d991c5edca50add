//! The request and answer formats of providers, one file per format.
//!
//! An answer may contain anything. Errors name the path that is missing or has the wrong type, and nothing is guessed.

mod anthropic;
mod google;
mod openai;

use super::provider_table::Wire;
use crate::Request;
use calipers_core::{ModelOutput, ToolCall, Usage, Value};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value as Json};
use std::sync::Arc;

impl Wire {
    /// The path of a model below an address, segment by segment.
    pub(super) fn path(self, model: &str) -> Vec<String> {
        match self {
            Self::OpenAi => vec!["chat".into(), "completions".into()],
            Self::Anthropic => vec!["messages".into()],
            Self::Google => vec!["models".into(), format!("{model}:generateContent")],
        }
    }

    /// The headers of every request. The key is marked, so that no log of the client shows it.
    pub(super) fn headers(self, key: Option<&str>) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        if matches!(self, Self::Anthropic) {
            headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        }
        if let Some(key) = key {
            let (name, text) = match self {
                Self::OpenAi => ("authorization", format!("Bearer {key}")),
                Self::Anthropic => ("x-api-key", key.to_owned()),
                Self::Google => ("x-goog-api-key", key.to_owned()),
            };
            // The library's error would not show the key, but would not say what to do either.
            let mut value = HeaderValue::from_str(&text).map_err(|_| "the key contains invalid characters")?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        Ok(headers)
    }

    /// The body of a question. `is_home` is true for the provider itself, not for compatible servers.
    pub(super) fn ask(self, model: &str, is_home: bool, request: &Request) -> Json {
        match self {
            Self::OpenAi => openai::ask(model, is_home, request),
            Self::Anthropic => anthropic::ask(model, request),
            Self::Google => google::ask(model, request),
        }
    }

    /// The answer to it, or what is wrong with it.
    pub(super) fn read(self, model: &str, body: &Json) -> Result<ModelOutput, String> {
        match self {
            Self::OpenAi => openai::read(model, body),
            Self::Anthropic => anthropic::read(model, body),
            Self::Google => google::read(model, body),
        }
    }
}

/// Adds a setting to a request if it is given.
fn put(body: &mut Map<String, Json>, key: &str, value: Option<impl Into<Json>>) {
    if let Some(value) = value {
        body.insert(key.to_owned(), value.into());
    }
}

/// The stop texts of a request, where there are any.
fn stops(request: &Request) -> Option<Vec<Json>> {
    let stop = &request.config.stop;
    (!stop.is_empty()).then(|| stop.iter().map(|text| text.as_str().into()).collect())
}

/// The value at a path such as `choices.0.message`; `None` if it is missing or null.
fn find<'a>(body: &'a Json, place: &str) -> Option<&'a Json> {
    place.split('.').try_fold(body, step).filter(|found| !found.is_null())
}

fn step<'a>(body: &'a Json, name: &str) -> Option<&'a Json> {
    match body {
        Json::Array(items) => items.get(name.parse::<usize>().ok()?),
        other => other.get(name),
    }
}

fn need<'a>(body: &'a Json, place: &str) -> Result<&'a Json, String> {
    find(body, place).ok_or_else(|| format!("`{place}` is missing"))
}

fn text<'a>(body: &'a Json, place: &str) -> Result<&'a str, String> {
    let found = need(body, place)?;
    found.as_str().ok_or_else(|| is_not(place, found, "a string"))
}

fn optional_text<'a>(body: &'a Json, place: &str) -> Result<Option<&'a str>, String> {
    find(body, place).map(|_| text(body, place)).transpose()
}

fn list<'a>(body: &'a Json, place: &str) -> Result<&'a [Json], String> {
    let found = need(body, place)?;
    found.as_array().map(Vec::as_slice).ok_or_else(|| is_not(place, found, "a list"))
}

fn is_not(place: &str, found: &Json, wanted: &str) -> String {
    let kind = match found {
        Json::Null => "null",
        Json::Bool(_) => "a bool",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    };
    format!("`{place}` is {kind}, not {wanted}")
}

/// A count of tokens; `None` if it is missing or invalid. An answer is not discarded because of a wrong usage.
fn count(body: &Json, place: &str) -> Option<u64> {
    find(body, place)?.as_u64()
}

/// The usage that these counts make. A total that is not given is the sum.
fn usage(input: u64, output: u64, total: Option<u64>) -> Usage {
    let usage = Usage::new(input, output);
    Usage { total_tokens: total.unwrap_or(usage.total_tokens), ..usage }
}

/// A call of a tool, with the arguments as a map or as whatever the model wrote.
fn tool_call(id: &str, function: &str, arguments: Json) -> ToolCall {
    ToolCall { id: id.into(), function: function.into(), arguments: arguments.into() }
}

/// The model that answered, under the name in the answer if there is one.
fn answered_by(model: &str, body: &Json, place: &str) -> Arc<str> {
    find(body, place).and_then(Json::as_str).unwrap_or(model).into()
}

/// The arguments of a call as the object that providers ask for. Any other value is wrapped in an object.
fn to_object(arguments: &Value) -> Json {
    match arguments {
        Value::Map(_) => Json::from(arguments),
        Value::Null | Value::Missing => Map::new().into(),
        other => Map::from_iter([("arguments".to_owned(), Json::from(other))]).into(),
    }
}
