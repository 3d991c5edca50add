//! Where records say what was tried: in their columns, in maps within them, and in the maps around them.
//!
//! `model` and `temperature` matter wherever they stand. A fact inside a map is read as metadata with its path as its name,
//! `config.model`, by every reader of tables.

use super::native::{ColumnRole, parse_embedded};
use crate::ColumnPath;
use crate::columns::{Columns, known_names, quote};
use crate::json::python_literal;
use calipers_core::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// Maps are looked into this deep.
const DEPTH_MAX: usize = 4;
/// Maps with more entries are not looked into.
const ENTRIES_MAX: usize = 256;
/// A longer text is a transcript, whatever it begins with.
const TEXT_MAX: usize = 1 << 16;

/// A fact, and where in a record it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FactPath {
    /// Its name among the metadata of samples.
    pub(super) fact: Arc<str>,
    /// Where it is, as it is said about columns.
    pub(super) path: ColumnPath,
    /// The metadata that it is in, and the keys that lead to it there. Empty if it is not within the record.
    keys: Vec<Arc<str>>,
}

impl FactPath {
    /// A column that is metadata of this name.
    pub(super) fn of_column(column: &Arc<str>, fact: Arc<str>) -> Self {
        Self { keys: vec![fact.clone()], fact, path: ColumnPath::column(column) }
    }

    /// A fact under these keys of the metadata, which is written like this.
    fn of_keys(keys: Vec<Arc<str>>, text: &str) -> Option<Self> {
        let fact = keys.iter().map(|key| &**key).collect::<Vec<_>>().join(".").into();
        Some(Self { fact, path: text.parse().ok()?, keys })
    }

    /// A fact elsewhere than within the record: in a map around it, or in an item of a list whose items are attempts.
    pub(super) fn of_text(text: &str) -> Option<Self> {
        Some(Self { fact: text.into(), path: text.parse().ok()?, keys: Vec::new() })
    }

    /// A fact within a map that was asked for by its path: `config.model`.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        let keys: Vec<Arc<str>> = name.split('.').map(Into::into).collect();
        let is_path = keys.len() > 1 && keys.iter().all(|key| !key.is_empty());
        let text = keys.iter().map(|key| quote(key)).collect::<Vec<_>>().join(".");
        is_path.then(|| Self::of_keys(keys, &text)).flatten()
    }

    /// The fact inside a map of the metadata, if it is that.
    pub(super) fn as_nested(&self) -> Option<NestedFact> {
        (self.keys.len() > 1).then(|| NestedFact { name: self.fact.clone(), keys: self.keys.clone() })
    }

    /// True when readers give it no name of its own: it was only looked at.
    pub(super) fn is_extra(&self) -> bool {
        self.keys.len() != 1
    }

    /// The name that it would be given, without where it is.
    pub(super) fn short_name(&self) -> &str {
        if self.keys.is_empty() { self.fact.rsplit(['.', '^']).next().unwrap_or(&self.fact) } else { &self.fact }
    }

    /// True when a value is said to be taken from there.
    pub(super) fn is_said(&self, said: &Columns) -> bool {
        let is_same =
            |path: &ColumnPath| (path.up, path.start, &path.steps) == (self.path.up, self.path.start, &self.path.steps);
        let column = self.path.as_column();
        let mut pairs = said.pairs().iter();
        pairs.any(|pair| pair.paths().any(is_same) || column.is_some_and(|column| pair.uses(column)))
    }

    /// How telling its name is, if it is one of these: the smaller, the more.
    pub(super) fn rank(&self, names: &[&str]) -> Option<usize> {
        let place = |name: &str| names.iter().position(|known| known_names::is_spelt_like(name, known));
        match &self.name_parts()[..] {
            // What is expected or given has no say in what was tried.
            [first, _, ..] if known_names::is_given(first) => None,
            [.., outer, last] => place(last).or_else(|| place(outer).filter(|_| known_names::is_name(last))),
            [last] => place(last),
            [] => None,
        }
    }

    /// True when it is a setting of a model by its name.
    pub(super) fn is_setting(&self) -> bool {
        match &self.name_parts()[..] {
            [first, _, ..] if known_names::is_given(first) => false,
            parts => parts.last().is_some_and(|last| known_names::is_setting(last)),
        }
    }

    /// The parts of its name; headers such as `config.model` and `params/model` have several too.
    pub(super) fn name_parts(&self) -> Vec<&str> {
        self.fact
            .split(['.', '/', '^', ']'])
            .map(|part| part.trim_matches(['"', '[']))
            .filter(|part| !part.is_empty())
            .collect()
    }
}

/// A fact inside a map of a record's metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NestedFact {
    pub(crate) name: Arc<str>,
    /// The metadata, and the keys that lead from there to the fact: at least two.
    pub(crate) keys: Vec<Arc<str>>,
}

impl NestedFact {
    /// The fact among this metadata.
    pub(crate) fn find(&self, metadata: &[(Arc<str>, Value)]) -> Option<Value> {
        let (first, rest) = self.keys.split_first()?;
        let (_, value) = metadata.iter().find(|(key, _)| key == first)?;
        let opened = open_map(value)?;
        let mut value = &*opened;
        for key in rest {
            value = value.get(key)?;
        }
        let is_fact = value.is_scalar() && !matches!(value, Value::Null | Value::Missing);
        is_fact.then(|| value.clone())
    }
}

/// The map that this is, also if it is written in a cell of a table.
fn open_map(value: &Value) -> Option<Cow<'_, Value>> {
    match value {
        Value::Map(_) => Some(Cow::Borrowed(value)),
        Value::Text(text) if text.len() <= TEXT_MAX && text.trim_start().starts_with('{') => {
            let opened = parse_embedded(text).or_else(|| python_literal::parse(text));
            opened.filter(|opened| matches!(opened, Value::Map(_))).map(Cow::Owned)
        }
        _ => None,
    }
}

/// Receives a plain fact: the keys that lead to it, how it is written, and its value.
type EachFact<'a> = dyn FnMut(&[Arc<str>], &str, &Value) + 'a;

/// Passes on the plain facts of a record.
pub(super) fn each_fact(record: &Value, each: &mut EachFact<'_>) {
    let Value::Map(entries) = record else { return };
    for (name, value) in entries {
        match ColumnRole::of(name) {
            ColumnRole::Metadata => {
                if let Some(map) = open_map(value) {
                    each_inside(&map, &mut Vec::new(), "metadata", each);
                }
            }
            ColumnRole::Fact(fact) => match open_map(value) {
                Some(map) => each_inside(&map, &mut vec![fact], &quote(name), each),
                None if value.is_scalar() => each(&[fact], &quote(name), value),
                None => {}
            },
            _ => {}
        }
    }
}

/// Passes on the plain facts of a map that is written in a cell, below these keys.
pub(super) fn each_inside_text(cell: &str, mut keys: Vec<Arc<str>>, text: &str, each: &mut EachFact<'_>) {
    if let Some(map) = open_map(&Value::from(cell)) {
        each_inside(&map, &mut keys, text, each);
    }
}

/// Passes on what a map around records, which are under this key of it, may say about what was tried: names, and what is inside
/// its maps.
pub(super) fn each_fact_around(map: &Value, records: Option<&str>, each: &mut EachFact<'_>) {
    const NAMES_MAX: usize = 16;
    let Value::Map(entries) = map else { return };
    let mut names = 0;
    for (key, value) in entries.iter().filter(|(key, _)| Some(&**key) != records) {
        let is_tried = says_what_was_tried(key);
        match value {
            Value::Map(_) => each_inside(value, &mut vec![key.clone()], &quote(key), &mut |keys, text, value| {
                if keys.last().is_some_and(|key| says_what_was_tried(key)) {
                    each(keys, text, value);
                }
            }),
            Value::Text(_) if is_tried || names < NAMES_MAX => {
                names += 1;
                each(std::slice::from_ref(key), &quote(key), value);
            }
            value if is_tried && value.is_scalar() => each(std::slice::from_ref(key), &quote(key), value),
            _ => {}
        }
    }
}

fn each_inside(map: &Value, keys: &mut Vec<Arc<str>>, text: &str, each: &mut EachFact<'_>) {
    let Value::Map(entries) = map else { return };
    // A configuration has few entries; more are measurements, or records.
    if entries.len() > ENTRIES_MAX && !keys.is_empty() {
        return;
    }
    for (key, value) in entries {
        let text = format!("{text}.{}", quote(key));
        keys.push(key.clone());
        match value {
            Value::Map(_) if keys.len() < DEPTH_MAX => each_inside(value, keys, &text, each),
            value if value.is_scalar() => each(keys, &text, value),
            _ => {}
        }
        keys.pop();
    }
}

/// True for the name of something that may tell runs apart.
pub(super) fn says_what_was_tried(key: &str) -> bool {
    known_names::may_name_run(key) || known_names::is_setting(key)
}

/// The fact under these keys, if it can be said where it is.
pub(super) fn fact_at(keys: &[Arc<str>], text: &str) -> Option<FactPath> {
    FactPath::of_keys(keys.to_vec(), text)
}
