//! Which columns of a table may tell its runs apart, and whether they do.
//!
//! Attempts of one sample by two models are never attempts of one run. Whatever was said about the run, each column that is
//! known to name what was tried must have one value per sample and run.

use super::fact_path::{FactPath, each_fact, fact_at};
use super::native::ColumnRole;
use crate::columns::{known_names, quote};
use crate::error::printable;
use crate::{Columns, Projection};
use calipers_core::{FactColumn, SampleId, Samples, Shards, Value};
use indexmap::IndexMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A column that may tell runs apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RunColumn {
    pub(super) path: FactPath,
    /// True when the first records do not have it: others may.
    pub(super) is_late: bool,
}

impl RunColumn {
    /// Those of a table with these columns and records, and with these facts around its records, of which nothing is said.
    pub(super) fn find(columns: &[Arc<str>], records: &[Value], around: &[FactPath], said: &Columns) -> Vec<Self> {
        let mut ranked: IndexMap<Arc<str>, (usize, FactPath)> = IndexMap::new();
        let mut add = |path: FactPath| {
            let rank = path.rank(&known_names::RUNS).filter(|_| !path.is_said(said));
            if let Some(rank) = rank {
                ranked.entry(path.fact.clone()).or_insert((rank, path));
            }
        };
        for name in columns {
            if let ColumnRole::Fact(fact) = ColumnRole::of(name) {
                add(FactPath::of_column(name, fact));
            }
        }
        for record in records {
            each_fact(record, &mut |keys, text, _| {
                if keys.last().is_some_and(|key| known_names::may_name_run(key)) {
                    fact_at(keys, text).into_iter().for_each(&mut add);
                }
            });
        }
        around.iter().cloned().for_each(add);
        let mut ranked: Vec<(usize, FactPath)> = ranked.into_values().collect();
        // In the order of the names, of which the first are the most telling.
        ranked.sort_by_key(|(rank, _)| *rank);
        ranked.into_iter().map(|(_, path)| Self { path, is_late: false }).collect()
    }

    /// Those with a well-known name that the first records do not have, and of which nothing is said.
    pub(super) fn find_late(columns: &[Arc<str>], said: &Columns) -> Vec<Self> {
        let is_new = |name: &&&str| !columns.iter().any(|column| known_names::is_spelt_like(column, name));
        let names = known_names::RUNS.iter().filter(is_new).map(|name| Arc::from(*name));
        let paths = names.map(|name: Arc<str>| FactPath::of_column(&name, name.clone()));
        paths.filter(|path| !path.is_said(said)).map(|path| Self { path, is_late: true }).collect()
    }

    /// Its name among the metadata of samples.
    pub(super) fn fact(&self) -> &str {
        &self.path.fact
    }

    /// As it is written in what is said about columns.
    pub(super) fn to_text(&self) -> String {
        self.path.path.to_string()
    }

    /// The same columns, with this one as the run.
    pub(super) fn as_run(&self, columns: &Columns) -> Columns {
        if let Some(column) = self.path.path.as_column() {
            return columns.with_column("run", column);
        }
        let mut more = columns.clone();
        match more.set("run", &self.to_text()) {
            Ok(()) => more,
            Err(_) => columns.with_column("run", &self.path.fact),
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
            let others = part.other_values(self.fact());
            let (&sample, others) = others.iter().next()?;
            let first = part.metadata_column(self.fact())?.value(sample)?;
            Some((part.id(sample), [first, others[0]]))
        })
    }

    /// True when samples have different values of this column.
    pub(super) fn has_several(&self, samples: &Shards) -> bool {
        let mut values = self.values(samples);
        values.next().is_some_and(|first| values.any(|other| other != first))
    }

    /// The one value that all samples have, if they do not say otherwise.
    pub(super) fn single_value(&self, samples: &Shards) -> Option<String> {
        let first = self.values(samples).next()?;
        (!self.has_several(samples)).then_some(first)
    }

    /// How many samples have attempts with a value and attempts without one.
    pub(super) fn partly_given(&self, samples: &Shards) -> usize {
        samples.iter().map(|part| part.partly_given(self.fact())).sum()
    }

    fn values<'s>(&'s self, samples: &'s Shards) -> impl Iterator<Item = String> + 's {
        let columns = samples.iter().filter_map(|part| part.metadata_column(self.fact()));
        let values = columns.flat_map(FactColumn::dictionary);
        values.filter(|value| value.is_scalar() && !is_blank(value)).map(ToString::to_string)
    }
}

/// A column that is looked at while a table is read as a stream: as long as no sample has two of its values, the table holds one
/// run.
pub(super) struct RunCheck {
    pub(super) fact: Arc<str>,
    /// Its name in the note, and how it is written there.
    name: String,
    written: String,
    /// True when it is asked for, and not only looked at.
    pub(super) is_wanted: bool,
    /// False when all is known of it, as long as no sample has several attempts.
    pub(super) is_read: bool,
    kind: RunCheckKind,
    values: Mutex<DistinctValues>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RunCheckKind {
    Run,
    /// It says which metric a score is by: then no sample may have several rows.
    Metric,
}

/// What is known of the values of a column.
#[derive(Default)]
struct DistinctValues {
    first: Option<String>,
    are_several: bool,
}

impl RunCheck {
    pub(super) fn of_run(column: &RunColumn, wanted: &Projection, first: &[Value]) -> Self {
        let (fact, name) = (column.path.fact.clone(), column.path.short_name().to_owned());
        let are_several = column.path.path.as_column().is_some_and(|column| are_several_texts(column, first));
        Self::new(fact, (name, column.to_text()), RunCheckKind::Run, wanted, are_several)
    }

    pub(super) fn of_metric(column: &Arc<str>, wanted: &Projection, first: &[Value]) -> Self {
        let are_several = are_several_texts(column, first);
        Self::new(column.clone(), (column.to_string(), quote(column)), RunCheckKind::Metric, wanted, are_several)
    }

    fn new(
        fact: Arc<str>,
        (name, written): (String, String),
        kind: RunCheckKind,
        wanted: &Projection,
        are_several: bool,
    ) -> Self {
        let is_wanted = wanted.has(&fact);
        let values = Mutex::new(DistinctValues { first: None, are_several });
        Self { fact, name, written, is_wanted, is_read: is_wanted || !are_several, kind, values }
    }

    /// Looks at a part of the table. False if the part may hold several runs, or there is something else to say about it.
    pub(super) fn pass(&self, samples: &Samples) -> bool {
        let has_single = samples.attempts() == samples.len();
        if !self.is_read {
            return has_single;
        }
        match self.kind {
            RunCheckKind::Metric if !has_single => return false,
            RunCheckKind::Run if !has_single => {
                let is_mixed = !samples.other_values(&self.fact).is_empty() || samples.partly_given(&self.fact) > 0;
                if is_mixed {
                    return false;
                }
            }
            _ => {}
        }
        let mut known = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        let column = samples.metadata_column(&self.fact).filter(|_| !known.are_several);
        let is_said = |value: &&Value| match self.kind {
            RunCheckKind::Run => value.is_scalar() && !is_blank(value),
            RunCheckKind::Metric => true,
        };
        for value in column.into_iter().flat_map(FactColumn::dictionary).filter(is_said).map(ToString::to_string) {
            known.are_several |= *known.first.get_or_insert_with(|| value.clone()) != value;
        }
        true
    }

    /// What to say of the table, if all of it has passed.
    pub(super) fn note(self) -> Option<String> {
        let values = self.values.into_inner().unwrap_or_else(PoisonError::into_inner);
        values.are_several.then(|| several_values_note(&self.name, &self.written))
    }
}

/// True when the first records have different texts in a column.
fn are_several_texts(column: &str, first: &[Value]) -> bool {
    let text = |record: &Value| match record.get(column) {
        Some(value @ Value::Text(text)) if !is_blank(value) => Some(text.clone()),
        _ => None,
    };
    let mut texts = first.iter().filter_map(text);
    texts.next().is_some_and(|first| texts.any(|other| other != first))
}

/// Says of a run that a column, which is written like this, has several values, which no sample tells apart.
pub(super) fn several_values_note(name: &str, written: &str) -> String {
    let (name, written) = (printable(name), printable(written));
    format!(
        "`{name}` has several values, whose samples differ: all are one run here, and `run={written}` tells them apart"
    )
}

fn is_blank(value: &Value) -> bool {
    value.is_missing() || matches!(value, Value::Null) || matches!(value, Value::Text(text) if text.trim().is_empty())
}
