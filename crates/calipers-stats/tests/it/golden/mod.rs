//! Reads the reference answers of `testdata/vectors/golden` and compares with them.
//!
//! `CALIPERS_VECTORS` names another folder with the same layout, for larger sets.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)] // each test file uses its own part

use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::PathBuf;

#[derive(Deserialize)]
struct Family {
    count: usize,
    vectors: Vec<Vector>,
}

#[derive(Deserialize)]
pub struct Vector {
    pub name: String,
    pub statistic: String,
    pub params: Value,
    pub input: Value,
    expected: Map<String, Value>,
    tolerance: Tolerance,
}

#[derive(Deserialize)]
struct Tolerance {
    abs: f64,
    rel: f64,
}

fn folder() -> PathBuf {
    std::env::var_os("CALIPERS_VECTORS")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/vectors")), PathBuf::from)
        .join("golden")
}

/// Runs `answer` on every vector of a family whose statistic is named, and reports all that differ.
///
/// `answer` gives the whole answer as a JSON object; keys that are not expected are ignored.
pub fn check(family: &str, statistics: &[&str], answer: impl Fn(&Vector) -> Value) {
    let path = folder().join(family).with_extension("json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let family: Family = serde_json::from_str(&text).unwrap();
    assert_eq!(family.count, family.vectors.len());
    let mut wrong = Vec::new();
    let mut checked = 0;
    for vector in family.vectors.iter().filter(|v| statistics.contains(&v.statistic.as_str())) {
        checked += 1;
        let got = answer(vector);
        for (key, want) in &vector.expected {
            let got = got.get(key).unwrap_or(&Value::String("(no such key)".into())).clone();
            if !same(&got, want, &vector.tolerance) {
                wrong.push(format!("{} {key}: got {got}, want {want}", vector.name));
            }
        }
    }
    assert!(checked > 0, "no vector of {statistics:?} in {}", path.display());
    assert!(wrong.is_empty(), "{} of {checked} vectors:\n{}", wrong.len(), wrong.join("\n"));
}

fn same(got: &Value, want: &Value, tolerance: &Tolerance) -> bool {
    match (got, want) {
        (Value::Number(got), Value::Number(want)) => {
            let (got, want) = (got.as_f64().unwrap(), want.as_f64().unwrap());
            (got - want).abs() <= tolerance.abs + tolerance.rel * want.abs()
        }
        (Value::Array(got), Value::Array(want)) => {
            got.len() == want.len() && got.iter().zip(want).all(|(got, want)| same(got, want, tolerance))
        }
        (Value::Object(got), Value::Object(want)) => {
            want.iter().all(|(key, want)| got.get(key).is_some_and(|got| same(got, want, tolerance)))
        }
        (got, want) => got == want,
    }
}

impl Vector {
    pub fn number(&self, key: &str) -> f64 {
        self.field(key).as_f64().unwrap_or_else(|| panic!("{}: {key} is no number", self.name))
    }

    pub fn count(&self, key: &str) -> u64 {
        self.field(key).as_u64().unwrap_or_else(|| panic!("{}: {key} is no count", self.name))
    }

    pub fn numbers(&self, key: &str) -> Vec<f64> {
        self.field(key).as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
    }

    pub fn counts(&self, key: &str) -> Vec<u64> {
        self.field(key).as_array().unwrap().iter().map(|x| x.as_u64().unwrap()).collect()
    }

    /// Labels of any kind as numbers in the order of their first appearance.
    pub fn codes(&self, key: &str) -> Vec<u32> {
        let mut seen: Vec<&Value> = Vec::new();
        let place = |seen: &mut Vec<&Value>, label| seen.iter().position(|&other| other == label);
        let labels = self.input[key].as_array().unwrap();
        labels
            .iter()
            .map(|label| {
                place(&mut seen, label).unwrap_or_else(|| {
                    seen.push(label);
                    seen.len() - 1
                }) as u32
            })
            .collect()
    }

    /// A field of the input, or else of the parameters.
    pub fn field(&self, key: &str) -> &Value {
        self.input.get(key).or_else(|| self.params.get(key)).unwrap_or_else(|| panic!("{}: no {key}", self.name))
    }
}

/// A number, or null where there is none.
pub fn json(number: Result<f64, calipers_stats::Undefined>) -> Value {
    number.map_or(Value::Null, Value::from)
}
