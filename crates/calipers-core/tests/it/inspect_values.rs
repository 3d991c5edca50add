//! Values and answers as the vectors of Inspect AI write them.

use calipers_core::{Answer, Value};
use calipers_testing::inspect::{float, number};
use serde_json::Value as Json;

/// A value with its non-finite numbers.
pub(crate) fn value(json: &Json) -> Value {
    match json {
        Json::Object(object) if object.contains_key("$float") => Value::from(float(json).unwrap()),
        Json::Array(items) => Value::List(items.iter().map(value).collect()),
        Json::Object(entries) => Value::Map(entries.iter().map(|(k, v)| (k.as_str().into(), value(v))).collect()),
        plain => Value::from(plain.clone()),
    }
}

/// A value as the vectors write it.
pub(crate) fn json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Missing => number(f64::NAN),
        Value::Bool(b) => Json::from(*b),
        Value::Int(i) => Json::from(*i),
        Value::Float(x) => number(*x),
        Value::Text(text) => Json::from(&**text),
        Value::List(items) => Json::Array(items.iter().map(json).collect()),
        Value::Map(entries) => Json::Object(entries.iter().map(|(k, v)| (k.to_string(), json(v))).collect()),
    }
}

/// An answer with Inspect's placeholders.
pub(crate) fn answer_json(answer: &Answer) -> Json {
    match answer {
        Answer::One(figure) => number(figure.inspect_value()),
        Answer::Named(entries) => Json::Object(entries.iter().map(|(k, v)| (k.clone(), answer_json(v))).collect()),
        Answer::Listed(figures) => Json::Array(figures.iter().map(|figure| number(figure.inspect_value())).collect()),
    }
}
