//! Tags that say what was tried: `"tags": ["model:a", "lang:en"]`.
//!
//! No column can be named for what is inside of them, so records of two models look like attempts of one run. The first and
//! the last records show it; it is an error where a sample has attempts of both, and worth knowing where it has not.

use super::native::parse_embedded;
use crate::columns::known_names;
use crate::error::printable;
use crate::{ReadError, Source};
use calipers_core::Value;
use indexmap::{IndexMap, IndexSet};
use std::sync::Arc;

/// What the tags of some records say of what was tried.
pub(super) struct RunTags {
    /// The values of a tag such as `model`, by column and tag.
    values: IndexMap<(Arc<str>, String), IndexSet<String>>,
    /// A sample with two of them.
    mixed: Option<MixedTags>,
}

struct MixedTags {
    id: String,
    column: Arc<str>,
    tag: String,
    values: [String; 2],
}

impl RunTags {
    /// Those of these records, whose samples have these names.
    pub(super) fn find<'r>(records: impl Iterator<Item = (&'r Value, Option<String>)>) -> Self {
        let mut found = Self { values: IndexMap::new(), mixed: None };
        let mut by_sample: IndexMap<(String, Arc<str>, String), String> = IndexMap::new();
        for (record, id) in records {
            let Value::Map(entries) = record else { continue };
            // Elsewhere a text with a colon is something that was said, as in a conversation.
            for (column, value) in entries.iter().filter(|(column, _)| known_names::is_tags(column)) {
                each_tag(value, &mut |tag, value| {
                    let key = (column.clone(), tag.to_lowercase());
                    if let Some(id) = &id {
                        let sample = (id.clone(), key.0.clone(), key.1.clone());
                        let first = by_sample.entry(sample).or_insert_with(|| value.to_owned());
                        if found.mixed.is_none() && first != value {
                            let values = [first.clone(), value.to_owned()];
                            let (column, tag) = key.clone();
                            found.mixed = Some(MixedTags { id: id.clone(), column, tag, values });
                        }
                    }
                    found.values.entry(key).or_default().insert(value.to_owned());
                });
            }
        }
        found
    }

    /// An error if a sample has attempts with two values of a tag.
    pub(super) fn check(&self, source: &Source) -> Result<(), ReadError> {
        let Some(MixedTags { id, column, tag, values: [first, other] }) = &self.mixed else { return Ok(()) };
        let [id, column, tag, first, other] = [id, &**column, tag, first, other].map(printable);
        let what = format!(
            "`{column}` says of sample `{id}` both `{tag}:{first}` and `{tag}:{other}`: these are several runs"
        );
        let hint = format!("give each record a column `{tag}` with the value of its tag, or a file to each `{tag}`");
        Err(source.error(what).hint(hint))
    }

    /// What to know about records that are tagged as tried with different things, if no sample was tried with two of them.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> + '_ {
        let several = self.values.iter().filter(|(_, values)| values.len() > 1);
        several.map(|((column, tag), values)| {
            let [column, tag, first, other] = [&**column, tag, &values[0], &values[1]].map(printable);
            format!("`{column}` holds `{tag}:{first}` and `{tag}:{other}`: all are one run here")
        })
    }
}

/// The tags of a cell that say what was tried, each with its value.
fn each_tag(value: &Value, each: &mut dyn FnMut(&str, &str)) {
    let mut look = |item: &str| {
        if let Some((tag, value)) = item.split_once([':', '=']) {
            let (tag, value) = (tag.trim(), value.trim());
            let is_run = known_names::RUNS.iter().any(|run| known_names::is_spelt_like(tag, run));
            if is_run && !value.is_empty() {
                each(tag, value);
            }
        }
    };
    match value {
        Value::List(items) => items.iter().for_each(|item| {
            if let Value::Text(text) = item {
                look(text);
            }
        }),
        Value::Text(text) if text.trim_start().starts_with('[') => {
            if let Some(list @ Value::List(_)) = parse_embedded(text) {
                each_tag(&list, each);
            }
        }
        Value::Text(text) => text.split([',', ';', '|']).for_each(look),
        _ => {}
    }
}
