//! The answers of Inspect AI in `testdata/vectors/inspect`, and answers compared with them.
//!
//! Where Inspect's versions differ, the newer one counts.

use crate::vectors::{folder, read};
use serde_json::Value as Json;

/// A vector of one kind.
pub struct Vector {
    /// Where it stands in its file.
    pub id: String,
    /// The name of the function in Inspect.
    pub name: String,
    /// The arguments of that function.
    pub params: Json,
    /// The data.
    pub input: Json,
    /// The result of Inspect.
    pub expected: ExpectedAnswer,
    relative: f64,
    absolute: f64,
}

/// What Inspect does.
#[derive(Debug)]
pub enum ExpectedAnswer {
    /// It returns this.
    Value(Json),
    /// It raises an error with this message.
    Error(String),
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
                Some(error) => ExpectedAnswer::Error(error["message"].as_str().unwrap().to_owned()),
                None => ExpectedAnswer::Value(expected["value"].clone()),
            },
            relative: number("relative_tolerance").unwrap_or(if loose { 0.0 } else { 1e-12 }),
            absolute: number("absolute_tolerance").or(number("tolerance")).unwrap_or(if loose { 0.0 } else { 1e-12 }),
        }
    }

    /// True when an answer is the one expected: the same value, or an error where there is one.
    pub fn agrees(&self, got: &Result<Json, String>) -> bool {
        match (&self.expected, got) {
            (ExpectedAnswer::Error(_), Err(_)) => true,
            (ExpectedAnswer::Value(want), Ok(got)) => self.same(got, want),
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
