//! Values: scores, fields and metadata.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A value: a scalar, or a list or string-keyed map of values.
///
/// A score's value is at most one level deep. Sample metadata uses the same type and may nest.
///
/// Values are equal if kind and content are: `1`, `1.0` and `true` are three values. Where Inspect, which is written in
/// Python, treats them as one (the mode of labels, the identity of clusters), so do we; see [`Value::equals`].
#[derive(Clone, Debug)]
pub enum Value {
    /// Explicitly nothing (`null`, `None`).
    Null,
    /// No value: this place was not scored. A NaN in a foreign log reads as this.
    Missing,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number. Never a NaN.
    Float(f64),
    /// Text, including the labels `C`, `I`, `P` and `N`.
    Text(Arc<str>),
    /// Several values in order.
    List(Vec<Value>),
    /// Several values by name, in the order given.
    Map(Vec<(Arc<str>, Value)>),
}

impl Value {
    /// True for everything but lists and maps.
    #[must_use]
    pub fn is_scalar(&self) -> bool {
        !matches!(self, Self::List(_) | Self::Map(_))
    }

    /// True where there is no value.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing)
    }

    /// The value under a key, for a map that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(entries) => entries.iter().find(|(name, _)| **name == *key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Equality as Python sees it: `1 == 1.0 == True`, and text equals only text.
    ///
    /// ```
    /// use calipers_core::Value;
    ///
    /// assert!(Value::from(1).equals(&Value::from(true)));
    /// assert!(!Value::from(1).equals(&Value::from("1")));
    /// assert_ne!(Value::from(1), Value::from(true));
    /// ```
    #[must_use]
    pub fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::List(a), Self::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.equals(b)),
            (Self::Map(a), Self::Map(_)) => {
                a.len() == other.len() && a.iter().all(|(key, a)| other.get(key).is_some_and(|b| a.equals(b)))
            }
            _ => match (self.canonical_number(), other.canonical_number()) {
                (Some(a), Some(b)) => a == b,
                _ => self == other,
            },
        }
    }

    /// A number in the one form that equal numbers share: an integer if it is one, else a float. Exact where a
    /// float is not: 2⁵³ and 2⁵³ + 1 stay apart.
    pub(crate) fn canonical_number(&self) -> Option<Self> {
        const BEYOND: f64 = 9_223_372_036_854_775_808.0; // 2⁶³
        match self {
            Self::Bool(b) => Some(Self::Int(i64::from(*b))),
            Self::Float(x) if x.fract() == 0.0 && (-BEYOND..BEYOND).contains(x) => Some(Self::Int(*x as i64)),
            Self::Int(_) | Self::Float(_) => Some(self.clone()),
            _ => None,
        }
    }

    /// The number of a bool, an integer or a float.
    #[must_use]
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Bool(b) => Some(f64::from(u8::from(*b))),
            Self::Int(i) => Some(*i as f64),
            Self::Float(x) => Some(*x),
            _ => None,
        }
    }

    /// What kind of value this is, in words.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Missing => "unscored",
            Self::Bool(_) => "bool",
            Self::Int(_) => "integer",
            Self::Float(_) => "number",
            Self::Text(_) => "string",
            Self::List(_) => "list",
            Self::Map(_) => "map",
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::List(items) => items.len(),
            Self::Map(entries) => entries.len(),
            _ => 1,
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) | (Self::Missing, Self::Missing) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a.to_bits() == b.to_bits(),
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::List(a), Self::List(b)) => a == b,
            (Self::Map(a), Self::Map(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Self::Null | Self::Missing => {}
            Self::Bool(b) => b.hash(state),
            Self::Int(i) => i.hash(state),
            Self::Float(x) => x.to_bits().hash(state),
            Self::Text(text) => text.hash(state),
            Self::List(items) => items.hash(state),
            Self::Map(entries) => entries.hash(state),
        }
    }
}

impl From<f64> for Value {
    /// A NaN means "not scored".
    fn from(x: f64) -> Self {
        if x.is_nan() { Self::Missing } else { Self::Float(x) }
    }
}

impl From<i64> for Value {
    fn from(i: i64) -> Self {
        Self::Int(i)
    }
}

impl From<i32> for Value {
    fn from(i: i32) -> Self {
        Self::Int(i64::from(i))
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Self::Bool(b)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

impl<K: Into<Arc<str>>, V: Into<Value>, const N: usize> From<[(K, V); N]> for Value {
    fn from(entries: [(K, V); N]) -> Self {
        Self::Map(entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

/// What is missing or not finite is null.
impl From<&Value> for serde_json::Value {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null | Value::Missing => Self::Null,
            Value::Bool(flag) => Self::from(*flag),
            Value::Int(whole) => Self::from(*whole),
            Value::Float(number) => Self::from(*number),
            Value::Text(text) => Self::from(&**text),
            Value::List(items) => items.iter().map(Self::from).collect(),
            Value::Map(entries) => entries.iter().map(|(key, value)| (key.to_string(), Self::from(value))).collect(),
        }
    }
}

impl From<serde_json::Value> for Value {
    fn from(json: serde_json::Value) -> Self {
        use serde_json::Value as Json;
        match json {
            Json::Null => Self::Null,
            Json::Bool(b) => Self::Bool(b),
            // A whole number beyond 64 bits is still a number.
            Json::Number(n) => match n.as_i64() {
                // Where numbers are kept as they are written, `-0` is an integer to serde_json and a float elsewhere.
                Some(0) if n.to_string().starts_with('-') => Self::Float(-0.0),
                Some(i) => Self::Int(i),
                None => n.as_f64().map_or(Self::Null, Self::from),
            },
            Json::String(text) => Self::Text(text.into()),
            Json::Array(items) => Self::List(items.into_iter().map(Self::from).collect()),
            Json::Object(entries) => Self::Map(entries.into_iter().map(|(k, v)| (k.into(), v.into())).collect()),
        }
    }
}

/// The value as Python's `str` prints it: group and category names are those of Inspect.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            other => Repr(other).fmt(f),
        }
    }
}

/// The value as Python's `repr` prints it: as `str`, but text is quoted.
struct Repr<'a>(&'a Value);

impl fmt::Display for Repr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => f.write_str("None"),
            Value::Missing => f.write_str("nan"),
            Value::Bool(true) => f.write_str("True"),
            Value::Bool(false) => f.write_str("False"),
            Value::Int(i) => write!(f, "{i}"),
            Value::Float(x) => write_float(f, *x),
            Value::Text(text) => write_quoted(f, text),
            Value::List(items) => write_joined(f, ["[", "]"], items.iter(), |f, item| Repr(item).fmt(f)),
            Value::Map(entries) => write_joined(f, ["{", "}"], entries.iter(), |f, (key, value)| {
                write_quoted(f, key)?;
                f.write_str(": ")?;
                Repr(value).fmt(f)
            }),
        }
    }
}

fn write_joined<T>(
    f: &mut fmt::Formatter<'_>,
    [open, close]: [&str; 2],
    items: impl Iterator<Item = T>,
    write: impl Fn(&mut fmt::Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    f.write_str(open)?;
    for (index, item) in items.enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        write(f, item)?;
    }
    f.write_str(close)
}

/// Python quotes with `'` unless the text has one and no `"`.
fn write_quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    write!(f, "{quote}")?;
    for c in text.chars() {
        match c {
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            '\\' => f.write_str("\\\\")?,
            c if c == quote => write!(f, "\\{c}")?,
            c if (c as u32) < 0x20 || c as u32 == 0x7f => write!(f, "\\x{:02x}", c as u32)?,
            c => write!(f, "{c}")?,
        }
    }
    write!(f, "{quote}")
}

/// The shortest digits that read back as the same number, laid out as Python does.
fn write_float(f: &mut fmt::Formatter<'_>, x: f64) -> fmt::Result {
    if x.is_infinite() {
        return f.write_str(if x > 0.0 { "inf" } else { "-inf" });
    }
    let scientific = format!("{x:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return f.write_str(&scientific) };
    let exponent: i32 = exponent.parse().map_err(|_| fmt::Error)?;
    if (-4..16).contains(&exponent) {
        return write!(f, "{x:?}");
    }
    write!(f, "{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_equal_only_if_they_are_the_same_number() {
        let large = 1i64 << 53;
        for (a, b, want) in [
            (Value::from(1), Value::from(1.0), true),
            (Value::from(true), Value::from(1.0), true),
            (Value::from(0.0), Value::from(-0.0), true),
            (Value::from(0), Value::from(-0.0), true),
            (Value::from(large), Value::from(large as f64), true),
            (Value::from(large), Value::from(large + 1), false),
            (Value::from(i64::MAX), Value::from(9_223_372_036_854_775_808.0), false),
            (Value::from(f64::INFINITY), Value::from(f64::INFINITY), true),
            (Value::from(0.5), Value::from(0), false),
        ] {
            assert_eq!(a.equals(&b), want, "{a} {b}");
        }
    }

    #[test]
    fn values_print_as_python_prints_them() {
        for (value, want) in [
            (Value::from(0.1), "0.1"),
            (Value::from(100.0), "100.0"),
            (Value::from(-0.0), "-0.0"),
            (Value::from(1e21), "1e+21"),
            (Value::from(1e16), "1e+16"),
            (Value::from(123456789012345680.0), "1.2345678901234568e+17"),
            (Value::from(1e15), "1000000000000000.0"),
            (Value::from(1e-4), "0.0001"),
            (Value::from(1e-7), "1e-07"),
            (Value::from(1.5e-5), "1.5e-05"),
            (Value::from(true), "True"),
            (Value::Null, "None"),
            (Value::Missing, "nan"),
            (Value::from(f64::INFINITY), "inf"),
            (Value::from("a'b"), "a'b"),
            (Value::List(vec!["x".into(), 1.into()]), "['x', 1]"),
            (Value::List(vec!["a'b".into()]), "[\"a'b\"]"),
            (Value::from([("k", Value::Null)]), "{'k': None}"),
        ] {
            assert_eq!(value.to_string(), want);
        }
    }
}
