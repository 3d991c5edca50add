//! What was tried, where only records further down name it in a map: `"config": {"model": …}`.
//!
//! The first records of a table show where it names what was tried. Files that were put together may do so only in between. All
//! records are searched, but only if samples have several attempts: otherwise nothing can be mixed. A record without a map within
//! it costs the search for a bracket.

use super::fact_path::{FactPath, each_fact, each_inside_text, fact_at};
use super::line_blocks::LineBlocks;
use super::native::{self, ColumnRole};
use crate::Source;
use crate::columns::{known_names, quote};
use crate::json::skim::{Skim, Unclear, items};
use crate::json::{self, Json};
use calipers_core::Value;
use indexmap::IndexMap;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Maps are looked into this deep, as in the first records.
const DEPTH_MAX: usize = 4;

/// As many facts and places are kept: in maps whose keys are all different, none tells runs apart.
const FACTS_MAX: usize = 64;
const PLACES_MAX: usize = 1 << 16;

/// The facts in maps that may tell runs apart.
#[derive(Default)]
pub(super) struct LateFacts {
    found: IndexMap<String, FactPath>,
    /// Whether keys may name a run: there are few of them, and many records.
    keys: HashMap<Box<[u8]>, bool>,
    /// Where such keys were found, as they are written: most records have them in the same places.
    known: HashSet<Box<[u8]>>,
    /// The keys that lead to the map that is looked into.
    path: Vec<u8>,
}

impl LateFacts {
    /// Those of JSON records that stand in a list, or one after the other.
    pub(super) fn of_json(source: &Source) -> Vec<FactPath> {
        let mut facts = Self::default();
        let is_searched = facts.search_json(source);
        // What is wrong with the file is said when it is read.
        if is_searched.is_none() {
            facts = Self::default();
            let bytes = source.read_all().unwrap_or_default();
            each_document(&bytes, &mut |document| facts.add_record(document));
        }
        facts.into_paths()
    }

    /// Those of these records.
    pub(super) fn of_records<'r>(records: impl Iterator<Item = &'r Value>) -> Vec<FactPath> {
        let mut facts = Self::default();
        records.for_each(|record| facts.add_record(record));
        facts.into_paths()
    }

    /// Those of the records of each document.
    pub(super) fn of_documents(source: &Source, records: &mut dyn FnMut(&Value) -> Vec<Value>) -> Vec<FactPath> {
        let mut facts = Self::default();
        let bytes = source.read_all().unwrap_or_default();
        each_document(&bytes, &mut |document| {
            records(document).iter().for_each(|record| facts.add_record(record));
        });
        facts.into_paths()
    }

    pub(super) fn into_paths(self) -> Vec<FactPath> {
        self.found.into_values().collect()
    }

    /// Adds those of a text that may hold a map, in a cell of this column.
    pub(super) fn add_cell(&mut self, column: &str, cell: &str) {
        if !cell.trim_start().starts_with('{') {
            return;
        }
        let (keys, text) = match ColumnRole::of(column) {
            ColumnRole::Metadata => (Vec::new(), "metadata".to_owned()),
            ColumnRole::Fact(fact) => (vec![fact], quote(column)),
            _ => return,
        };
        each_inside_text(cell, keys, &text, &mut |keys, text, _| self.add(keys, text));
    }

    fn add_record(&mut self, record: &Value) {
        each_fact(record, &mut |keys, text, _| self.add(keys, text));
    }

    fn add(&mut self, keys: &[Arc<str>], text: &str) {
        // What stands in no map is looked for in any case. `metadata` is no key.
        let is_inside = keys.len() > 1 || text.starts_with("metadata.");
        let may_name_run = is_inside && keys.last().is_some_and(|key| known_names::may_name_run(key));
        if may_name_run && !self.found.contains_key(text) && self.found.len() < FACTS_MAX {
            let fact = fact_at(keys, text).filter(|fact| fact.rank(&known_names::RUNS).is_some());
            self.found.extend(fact.map(|fact| (text.to_owned(), fact)));
        }
    }

    /// None if the records cannot be told apart without parsing them.
    fn search_json(&mut self, source: &Source) -> Option<()> {
        let mut reader = source.open().ok()?;
        if native::first_byte(source, &mut reader).ok()? == Some(b'[') {
            let bytes = source.read_all().ok()?;
            let bytes = bytes.strip_prefix(&native::BOM).unwrap_or(&bytes);
            return items(bytes).ok()?.into_iter().try_for_each(|item| self.search_record(item).ok());
        }
        let mut blocks = LineBlocks::new(reader);
        let mut is_first = true;
        while let Some(block) = blocks.next().ok()? {
            let text = if is_first { block.strip_prefix(&native::BOM).unwrap_or(&block) } else { &block };
            is_first = false;
            for line in text.split(|byte| *byte == b'\n') {
                let line = json::line(line);
                // Most records are flat.
                if line.len() > 1 && memchr::memchr(b'{', &line[1..]).is_some() {
                    self.search_record(line).ok()?;
                } else if !(line.is_empty() || line.starts_with(b"{") && line.ends_with(b"}")) {
                    return None;
                }
            }
        }
        Some(())
    }

    fn search_record(&mut self, record: &[u8]) -> Result<(), Unclear> {
        let mut entries = Skim::new(record)?;
        while let Some((key, value)) = entries.entry()? {
            let is_text_of_map = || {
                let start = value.iter().skip(1).position(|byte| !byte.is_ascii_whitespace());
                value.first() == Some(&b'"') && start.is_some_and(|start| value[1 + start] == b'{')
            };
            let is_map = value.first() == Some(&b'{');
            self.path.clear();
            self.path.extend_from_slice(key);
            if is_map && self.has_new(value, 2)? || !is_map && is_text_of_map() {
                // As it would be read among the first records.
                let Ok(Json(value)) = serde_json::from_slice(&json::standard(value)) else { continue };
                let key = std::str::from_utf8(key).map_err(|_| "no text")?;
                self.add_record(&Value::Map(vec![(key.into(), value)]));
            }
        }
        Ok(())
    }

    /// True when a key in this map may name a run, and stands where none was found so far. The keys that lead to those of the map
    /// are one fewer than this.
    fn has_new(&mut self, map: &[u8], depth: usize) -> Result<bool, Unclear> {
        let mut entries = Skim::new(map)?;
        let mut has_new = false;
        while let Some((key, value)) = entries.entry()? {
            let length = self.path.len();
            self.path.push(0);
            self.path.extend_from_slice(key);
            has_new |= match value.first() {
                Some(b'{') => depth <= DEPTH_MAX && self.has_new(value, depth + 1)?,
                Some(b'[') => false,
                _ if self.known.len() < PLACES_MAX && self.is_telling(key) && !self.known.contains(&self.path[..]) => {
                    self.known.insert(self.path[..].into())
                }
                _ => false,
            };
            self.path.truncate(length);
        }
        Ok(has_new)
    }

    fn is_telling(&mut self, key: &[u8]) -> bool {
        /// Keys of maps that are no configuration may all be different.
        const KEYS_MAX: usize = 1 << 12;
        if let Some(is_telling) = self.keys.get(key) {
            return *is_telling;
        }
        // Escaped letters are not worth a rule: such a key is looked at.
        let is_telling = key.contains(&b'\\') || known_names::may_name_run(&String::from_utf8_lossy(key));
        if self.keys.len() < KEYS_MAX {
            self.keys.insert(key.into(), is_telling);
        }
        is_telling
    }
}

/// Passes on documents that stand one after the other.
fn each_document(bytes: &[u8], each: &mut dyn FnMut(&Value)) {
    let standard = json::standard(bytes.strip_prefix(&native::BOM).unwrap_or(bytes));
    let documents = serde_json::Deserializer::from_slice(&standard).into_iter::<Json>();
    documents.map_while(Result::ok).for_each(|Json(document)| each(&document));
}
