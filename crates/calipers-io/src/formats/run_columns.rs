//! Which columns of a table may tell its runs apart, and whether they do.
//!
//! Attempts of one sample by two models are never attempts of one run. Whatever was said about the run, each column that is
//! known to name what was tried must have one value per sample and run.

use super::native::ColumnRole;
use crate::Columns;
use crate::columns::{known_names, quote};
use calipers_core::{SampleId, Samples, Shards, Value};
use indexmap::IndexSet;
use std::collections::HashMap;
use std::sync::Arc;

/// A column that may tell runs apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RunColumn {
    /// The column, or the key in the map `metadata`.
    name: Arc<str>,
    /// The name of its values among the metadata of samples.
    pub(super) fact: Arc<str>,
    is_in_metadata: bool,
}

impl RunColumn {
    /// Those of a table with these columns and records, of which nothing is said.
    pub(super) fn find(columns: &[Arc<str>], records: &[Value], said: &Columns) -> Vec<Self> {
        let is_free = |name: &Arc<str>| !said.pairs().iter().any(|pair| pair.uses(name));
        let mut found = Vec::new();
        for name in columns.iter().filter(|name| is_free(name)) {
            if let ColumnRole::Fact(fact) = ColumnRole::of(name) {
                found.push(Self { name: name.clone(), fact, is_in_metadata: false });
            }
        }
        let maps = records.iter().filter_map(|record| match record.get("metadata") {
            Some(Value::Map(entries)) => Some(entries),
            _ => None,
        });
        let keys: IndexSet<&Arc<str>> = maps.flatten().map(|(key, _)| key).collect();
        let is_said =
            |key: &str| said.pairs().iter().any(|pair| pair.path.to_string() == format!("metadata.{}", quote(key)));
        for key in keys.into_iter().filter(|key| !is_said(key)) {
            found.push(Self { name: key.clone(), fact: key.clone(), is_in_metadata: true });
        }
        // In the order of the names, of which the first are the most telling.
        let ranks: HashMap<String, usize> =
            known_names::RUNS.iter().map(|name| known_names::plain(name)).zip(0..).collect();
        let rank = |column: &Self| ranks.get(&known_names::plain(&column.fact)).copied();
        let mut ranked: Vec<(usize, Self)> =
            found.into_iter().filter_map(|column| Some((rank(&column)?, column))).collect();
        ranked.sort_by_key(|(rank, _)| *rank);
        ranked.into_iter().map(|(_, column)| column).collect()
    }

    /// As it is written in what is said about columns.
    pub(super) fn to_text(&self) -> String {
        if self.is_in_metadata { format!("metadata.{}", quote(&self.name)) } else { quote(&self.name) }
    }

    /// The same columns, with this one as the run.
    pub(super) fn as_run(&self, columns: &Columns) -> Columns {
        if !self.is_in_metadata {
            return columns.with_column("run", &self.name);
        }
        let mut more = columns.clone();
        match more.set("run", &self.to_text()) {
            Ok(()) => more,
            Err(_) => columns.with_column("run", &self.name),
        }
    }

    /// The same columns, with all of these together as the run.
    pub(super) fn join(names: &[&Self], columns: &Columns) -> Columns {
        let written: Vec<String> = names.iter().map(|column| column.to_text()).collect();
        let mut more = columns.clone();
        match more.set("run", &written.join("+")) {
            Ok(()) => more,
            Err(_) => names[0].as_run(columns),
        }
    }

    /// The first sample of a run whose attempts have two values of this column, and the values.
    pub(super) fn find_mixed<'s>(&self, samples: &'s Shards) -> Option<(SampleId, [&'s Value; 2])> {
        samples.iter().find_map(|part| {
            let others = part.other_values(&self.fact);
            let (&sample, others) = others.iter().next()?;
            let first = part.metadata_column(&self.fact)?.value(sample)?;
            Some((part.id(sample), [first, others[0]]))
        })
    }

    /// True when samples have different values of this column.
    pub(super) fn has_several(&self, samples: &Shards) -> bool {
        let columns = samples.iter().filter_map(|part| part.metadata_column(&self.fact));
        let values = columns
            .flat_map(calipers_core::FactColumn::dictionary)
            .filter(|value| value.is_scalar() && !is_blank(value));
        let mut values = values.map(ToString::to_string);
        values.next().is_some_and(|first| values.any(|other| other != first))
    }

    /// Leaves the column out of the metadata of samples, if it was read only to look at it.
    pub(super) fn forget(&self, samples: &mut Shards) {
        samples.iter_mut().for_each(|part| Samples::forget_metadata(part, &self.fact));
    }
}

fn is_blank(value: &Value) -> bool {
    value.is_missing() || matches!(value, Value::Null) || matches!(value, Value::Text(text) if text.trim().is_empty())
}
