//! Values as JSON text.

use calipers_core::Value;
use std::borrow::Cow;

/// What is written where a value is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nan {
    /// `null`, which every reader of JSON takes.
    Null,
    /// A bare `NaN`, which Inspect writes and reads.
    Bare,
}

/// Appends a value.
pub(crate) fn put(out: &mut Vec<u8>, value: &Value, nan: Nan) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Missing => out.extend_from_slice(if nan == Nan::Bare { b"NaN" } else { b"null" }),
        Value::Bool(b) => out.extend_from_slice(if *b { b"true" } else { b"false" }),
        Value::Int(i) => out.extend_from_slice(i.to_string().as_bytes()),
        Value::Float(x) => put_float(out, *x),
        Value::Text(text) => put_text(out, text),
        Value::List(items) => put_list(out, items, |out, item| put(out, item, nan)),
        Value::Map(entries) => put_map(out, entries.iter().map(|(key, value)| (&**key, value)), |out, value| {
            put(out, value, nan);
        }),
    }
}

/// The shortest digits that read as the same number. JSON has no infinity: it is written as Python writes it.
pub(crate) fn put_float(out: &mut Vec<u8>, x: f64) {
    match x {
        f64::INFINITY => out.extend_from_slice(b"Infinity"),
        f64::NEG_INFINITY => out.extend_from_slice(b"-Infinity"),
        x if x.is_nan() => out.extend_from_slice(b"NaN"),
        x => serde_json::to_writer(out, &x).expect("a number can be written to memory"),
    }
}

/// Appends a text in quotes.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("a text can be written to memory");
}

/// Appends a list.
pub(crate) fn put_list<T>(out: &mut Vec<u8>, items: impl IntoIterator<Item = T>, each: impl Fn(&mut Vec<u8>, T)) {
    out.push(b'[');
    for (place, item) in items.into_iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        each(out, item);
    }
    out.push(b']');
}

/// Appends a map.
pub(crate) fn put_map<'a, T>(
    out: &mut Vec<u8>,
    entries: impl IntoIterator<Item = (&'a str, T)>,
    each: impl Fn(&mut Vec<u8>, T),
) {
    let mut map = Map::open(out);
    for (key, value) in entries {
        each(map.key(key), value);
    }
    map.close();
}

/// A map being written, entry by entry.
pub(crate) struct Map<'a> {
    out: &'a mut Vec<u8>,
    is_empty: bool,
}

impl<'a> Map<'a> {
    pub(crate) fn open(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, is_empty: true }
    }

    /// Appends a key. The value goes to what is returned.
    pub(crate) fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if !std::mem::replace(&mut self.is_empty, false) {
            self.out.push(b',');
        }
        put_text(self.out, key);
        self.out.push(b':');
        self.out
    }

    pub(crate) fn text(&mut self, key: &str, text: &str) {
        put_text(self.key(key), text);
    }

    pub(crate) fn value(&mut self, key: &str, value: &Value, nan: Nan) {
        put(self.key(key), value, nan);
    }

    pub(crate) fn raw(&mut self, key: &str, json: &str) {
        self.key(key).extend_from_slice(json.as_bytes());
    }

    pub(crate) fn close(self) {
        self.out.push(b'}');
    }
}

/// Values are written at most this deep. Readers of JSON stop at 128 levels, and a value stands within others.
const DEPTH_MAX: usize = 96;

/// The value, with a placeholder for parts nested too deep to be read again. Arguments from a model may be that deep.
pub(crate) fn bound_depth(value: &Value) -> Cow<'_, Value> {
    if is_within(value, DEPTH_MAX) { Cow::Borrowed(value) } else { Cow::Owned(cut(value, DEPTH_MAX)) }
}

fn is_within(value: &Value, depth: usize) -> bool {
    match value {
        Value::List(_) | Value::Map(_) if depth == 0 => false,
        Value::List(items) => items.iter().all(|item| is_within(item, depth - 1)),
        Value::Map(entries) => entries.iter().all(|(_, value)| is_within(value, depth - 1)),
        _ => true,
    }
}

fn cut(value: &Value, depth: usize) -> Value {
    match value {
        Value::List(_) | Value::Map(_) if depth == 0 => "(nested too deep)".into(),
        Value::List(items) => Value::List(items.iter().map(|item| cut(item, depth - 1)).collect()),
        Value::Map(entries) => {
            Value::Map(entries.iter().map(|(key, value)| (key.clone(), cut(value, depth - 1))).collect())
        }
        plain => plain.clone(),
    }
}

/// True when a missing value stands somewhere within.
pub(crate) fn has_missing(value: &Value) -> bool {
    any(value, &Value::is_missing)
}

/// True when an infinity stands somewhere within.
pub(crate) fn has_infinite(value: &Value) -> bool {
    any(value, &|value| matches!(value, Value::Float(x) if x.is_infinite()))
}

fn any(value: &Value, is: &dyn Fn(&Value) -> bool) -> bool {
    match value {
        Value::List(items) => items.iter().any(|item| any(item, is)),
        Value::Map(entries) => entries.iter().any(|(_, value)| any(value, is)),
        plain => is(plain),
    }
}
