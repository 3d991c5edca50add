//! Reads the answers of Inspect AI in `testdata/vectors/inspect` and compares with them.
//!
//! `CALIPERS_VECTORS` names another folder with the same layout, for larger sets. Where Inspect's versions differ,
//! the newer one counts.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)] // each test file uses its own part

use calipers_core::{Answer, Value};
use serde_json::Value as Json;
use std::path::PathBuf;

/// A vector of one kind.
pub struct Vector {
    pub id: String,
    pub name: String,
    pub params: Json,
    pub input: Json,
    pub expected: Expected,
    relative: f64,
    absolute: f64,
}

/// What Inspect does.
#[derive(Debug)]
pub enum Expected {
    Value(Json),
    Error(String),
}

pub fn folder() -> PathBuf {
    std::env::var_os("CALIPERS_VECTORS")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/vectors")), PathBuf::from)
}

pub fn read(path: PathBuf) -> Json {
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn vectors(kind: &str) -> Vec<Vector> {
    let file = read(folder().join("inspect").join(kind).with_extension("json"));
    let vectors = file["vectors"].as_array().unwrap();
    assert_eq!(file["count"].as_u64(), Some(vectors.len() as u64));
    vectors.iter().map(Vector::new).collect()
}

impl Vector {
    fn new(json: &Json) -> Self {
        let newest = json.get("expected_newer").and_then(|newer| newer.as_object()?.values().next_back());
        let expected = newest.unwrap_or(&json["expected"]);
        let number = |key: &str| json.get(key).and_then(Json::as_f64);
        let text = |key: &str| json[key].as_str().unwrap().to_owned();
        let loose = number("relative_tolerance").is_some() || number("absolute_tolerance").is_some();
        Self {
            id: text("id"),
            name: text("name"),
            params: json["params"].clone(),
            input: json["input"].clone(),
            expected: match expected.get("error") {
                Some(error) => Expected::Error(error["message"].as_str().unwrap().to_owned()),
                None => Expected::Value(expected["value"].clone()),
            },
            relative: number("relative_tolerance").unwrap_or(if loose { 0.0 } else { 1e-12 }),
            absolute: number("absolute_tolerance").or(number("tolerance")).unwrap_or(if loose { 0.0 } else { 1e-12 }),
        }
    }

    /// True when an answer is the one expected: the same value, or an error where there is one.
    pub fn agrees(&self, got: &Result<Json, String>) -> bool {
        match (&self.expected, got) {
            (Expected::Error(_), Err(_)) => true,
            (Expected::Value(want), Ok(got)) => self.same(got, want),
            _ => false,
        }
    }

    fn same(&self, got: &Json, want: &Json) -> bool {
        if let (Some(got), Some(want)) = (float(got), float(want)) {
            return got == want
                || (got.is_nan() && want.is_nan())
                || (got - want).abs() <= self.absolute + self.relative * want.abs();
        }
        match (got, want) {
            (Json::Array(got), Json::Array(want)) => {
                got.len() == want.len() && got.iter().zip(want).all(|(got, want)| self.same(got, want))
            }
            (Json::Object(got), Json::Object(want)) => {
                got.len() == want.len()
                    && got.keys().eq(want.keys())
                    && want.iter().all(|(key, want)| got.get(key).is_some_and(|got| self.same(got, want)))
            }
            _ => got == want,
        }
    }
}

/// Runs `answer` on every vector of a kind and reports all that differ.
pub fn check(kind: &str, answer: impl Fn(&Vector) -> Result<Json, String>) {
    let vectors = vectors(kind);
    assert!(!vectors.is_empty());
    let mut wrong = Vec::new();
    for vector in &vectors {
        let got = answer(vector);
        if !vector.agrees(&got) {
            wrong.push(format!(
                "{} {} {}: got {got:?}, want {:?}",
                vector.id, vector.name, vector.params, vector.expected
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {} vectors:\n{}", wrong.len(), vectors.len(), wrong.join("\n"));
}

/// The number of a JSON value; numbers that JSON cannot write are `{"$float": "NaN"}`.
pub fn float(json: &Json) -> Option<f64> {
    match json {
        Json::Number(number) => number.as_f64(),
        Json::Object(object) => match object.get("$float")?.as_str()? {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

/// A value with its non-finite numbers.
pub fn value(json: &Json) -> Value {
    match json {
        Json::Object(object) if object.contains_key("$float") => Value::from(float(json).unwrap()),
        Json::Array(items) => Value::List(items.iter().map(value).collect()),
        Json::Object(entries) => Value::Map(entries.iter().map(|(k, v)| (k.as_str().into(), value(v))).collect()),
        plain => Value::from(plain.clone()),
    }
}

/// A number as the vectors write it.
pub fn number(x: f64) -> Json {
    if x.is_nan() {
        serde_json::json!({"$float": "NaN"})
    } else if x.is_infinite() {
        serde_json::json!({"$float": if x > 0.0 { "Infinity" } else { "-Infinity" }})
    } else {
        Json::from(x)
    }
}

/// A value as the vectors write it.
pub fn json(value: &Value) -> Json {
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
pub fn answer_json(answer: &Answer) -> Json {
    match answer {
        Answer::One(figure) => number(figure.inspect_value()),
        Answer::Named(entries) => Json::Object(entries.iter().map(|(k, v)| (k.clone(), answer_json(v))).collect()),
        Answer::Listed(figures) => Json::Array(figures.iter().map(|figure| number(figure.inspect_value())).collect()),
    }
}
