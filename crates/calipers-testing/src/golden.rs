//! The reference answers in `testdata/vectors/golden`, and answers compared with them.

use crate::vectors;
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Deserialize)]
struct Family {
    count: usize,
    vectors: Vec<Vector>,
}

/// A question and its known answer.
#[derive(Deserialize)]
pub struct Vector {
    /// The name that failures show.
    pub name: String,
    /// What is asked for.
    pub statistic: String,
    /// How it is asked for.
    pub params: Value,
    /// The data.
    pub input: Value,
    expected: Map<String, Value>,
    tolerance: Tolerance,
}

#[derive(Deserialize)]
struct Tolerance {
    abs: f64,
    rel: f64,
}

/// The vectors of a family whose statistic is named.
pub fn read(family: &str, statistics: &[&str]) -> Vec<Vector> {
    let path = vectors::folder().join("golden").join(family).with_extension("json");
    let family: Family = serde_json::from_value(vectors::read(&path)).unwrap();
    assert_eq!(family.count, family.vectors.len());
    let named: Vec<Vector> =
        family.vectors.into_iter().filter(|v| statistics.contains(&v.statistic.as_str())).collect();
    assert!(!named.is_empty(), "no vector of {statistics:?} in {}", path.display());
    named
}

/// Runs `answer` on every vector of a family whose statistic is named, and reports all that differ.
///
/// `answer` gives the whole answer as a JSON object; keys that are not expected are ignored.
pub fn check(family: &str, statistics: &[&str], answer: impl Fn(&Vector) -> Value) {
    let mut wrong = Vec::new();
    let vectors = read(family, statistics);
    let checked = vectors.len();
    for vector in &vectors {
        let got = answer(vector);
        for (key, want) in &vector.expected {
            let got = got.get(key).unwrap_or(&Value::String("(no such key)".into())).clone();
            if !same(&got, want, &vector.tolerance) {
                wrong.push(format!("{} {key}: got {got}, want {want}", vector.name));
            }
        }
    }
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
    /// A list of the known answer.
    pub fn expected(&self, key: &str) -> &[Value] {
        self.expected[key].as_array().unwrap_or_else(|| panic!("{}: {key} is no list", self.name))
    }

    /// A number of the input or the parameters.
    pub fn number(&self, key: &str) -> f64 {
        self.field(key).as_f64().unwrap_or_else(|| panic!("{}: {key} is no number", self.name))
    }

    /// A count of the input or the parameters.
    pub fn count(&self, key: &str) -> u64 {
        self.field(key).as_u64().unwrap_or_else(|| panic!("{}: {key} is no count", self.name))
    }

    /// A list of numbers.
    pub fn numbers(&self, key: &str) -> Vec<f64> {
        self.field(key).as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
    }

    /// A list of counts.
    pub fn counts(&self, key: &str) -> Vec<u64> {
        self.field(key).as_array().unwrap().iter().map(|x| x.as_u64().unwrap()).collect()
    }

    /// Labels of any kind as numbers in the order of their first appearance.
    pub fn codes(&self, key: &str) -> Vec<u32> {
        let mut distinct: Vec<&Value> = Vec::new();
        let place = |distinct: &mut Vec<&Value>, label| distinct.iter().position(|&other| other == label);
        let labels = self.input[key].as_array().unwrap();
        labels
            .iter()
            .map(|label| {
                place(&mut distinct, label).unwrap_or_else(|| {
                    distinct.push(label);
                    distinct.len() - 1
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
pub fn json<E>(number: Result<f64, E>) -> Value {
    number.map_or(Value::Null, Value::from)
}
