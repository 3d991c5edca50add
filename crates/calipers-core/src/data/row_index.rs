//! From columns to rows: what is known about one attempt, without a look at every column.
//!
//! A run may have as many columns as rows, each with a value or two. Going through such a run row by row, as writers
//! do, must not look at each column for each row: the index has, for each row, the columns that have something for it.

use crate::data::column::ABSENT;
use crate::data::field_column::FieldColumn;
use crate::data::row_codes::{FactColumn, RowCodes};
use crate::data::samples::Metadata;
use crate::{Samples, Value};
use std::sync::Arc;

/// The columns that may have a value in a row.
#[derive(Debug, Default)]
struct RowIndex {
    /// The columns that have a value in one row of eight or more: they are looked at for every row.
    common: Vec<u32>,
    /// Rows and columns of all other values.
    rare: Vec<(u32, u32)>,
}

impl RowIndex {
    /// Adds a column with so many values, in these rows.
    fn add(&mut self, column: u32, of_rows: usize, given: usize, rows: impl Iterator<Item = u32>) {
        if given * 8 >= of_rows {
            self.common.push(column);
        } else {
            self.rare.extend(rows.map(|row| (row, column)));
        }
    }

    fn sort(mut self) -> Self {
        self.rare.sort_unstable();
        self
    }

    /// The columns that may have a value in this row, in their order.
    fn columns_of(&self, row: u32) -> Vec<u32> {
        let first = self.rare.partition_point(|(other, _)| *other < row);
        let rare = self.rare[first..].iter().take_while(|(other, _)| *other == row).map(|(_, column)| *column);
        let mut columns = self.common.clone();
        let common = columns.len();
        columns.extend(rare);
        if columns.len() > common {
            columns.sort_unstable();
        }
        columns
    }
}

/// The metadata and the fields of a run, row by row.
#[derive(Debug)]
pub(crate) struct RunRowIndex<'a> {
    facts: Vec<(&'a Arc<str>, &'a FactColumn)>,
    of_samples: RowIndex,
    /// Where attempts keep their own metadata.
    of_attempts: Option<(Vec<Option<&'a RowCodes>>, RowIndex)>,
    fields: Vec<(&'a Arc<str>, &'a FieldColumn)>,
    of_fields: RowIndex,
}

impl<'a> RunRowIndex<'a> {
    /// The index of a run. It takes as long as there are values.
    pub(crate) fn of(samples: &'a Samples) -> Self {
        let facts: Vec<(&Arc<str>, &FactColumn)> = samples.metadata.iter().collect();
        let mut of_samples = RowIndex::default();
        for ((_, column), place) in facts.iter().zip(0..) {
            of_samples.add(place, samples.len(), column.count_given(), column.codes.iter().map(|(row, _)| row));
        }
        let attempts = samples.deliveries();
        let of_attempts = samples.attempt_facts.as_ref().map(|own| {
            let own: Vec<Option<&RowCodes>> = facts.iter().map(|(key, _)| own.get(&***key)).collect();
            let mut index = RowIndex::default();
            for (codes, place) in own.iter().zip(0..) {
                if let Some(codes) = codes {
                    index.add(place, attempts, codes.count_given(), codes.iter().map(|(row, _)| row));
                }
            }
            (own, index.sort())
        });
        let fields: Vec<(&Arc<str>, &FieldColumn)> = samples.fields.iter().collect();
        let mut of_fields = RowIndex::default();
        for ((_, column), place) in fields.iter().zip(0..) {
            of_fields.add(place, attempts, column.len(), column.rows());
        }
        Self { facts, of_samples: of_samples.sort(), of_attempts, fields, of_fields: of_fields.sort() }
    }

    /// The metadata of a sample.
    pub(crate) fn metadata_of(&self, sample: u32) -> Metadata {
        let columns = self.of_samples.columns_of(sample).into_iter();
        Metadata::of(columns.filter_map(|place| {
            let (key, column) = self.facts[place as usize];
            Some((key.clone(), column.value(sample)?.clone()))
        }))
    }

    /// The metadata of an attempt that was delivered in these rows: its own values where its sample has several.
    pub(crate) fn metadata_at(&self, sample: u32, rows: &[u32]) -> Metadata {
        let Some((own, index)) = &self.of_attempts else { return self.metadata_of(sample) };
        let mut codes: Vec<(u32, u32)> = Vec::new();
        for &row in rows {
            codes.extend(index.columns_of(row).into_iter().filter_map(|place| {
                let code = own[place as usize].map_or(ABSENT, |codes| codes.get(row));
                (code != ABSENT).then_some((place, code))
            }));
        }
        // What the sample has counts where no row says anything; of two rows, the first counts.
        codes.extend(self.of_samples.columns_of(sample).into_iter().filter_map(|place| {
            let code = self.facts[place as usize].1.code(sample)?;
            Some((place, code))
        }));
        codes.sort_by_key(|(place, _)| *place);
        codes.dedup_by_key(|(place, _)| *place);
        Metadata::of(codes.into_iter().filter_map(|(place, code)| {
            let (key, column) = self.facts[place as usize];
            Some((key.clone(), column.dictionary().get(code as usize)?.clone()))
        }))
    }

    /// The metadata that was delivered in this row.
    pub(crate) fn delivered_metadata(&self, sample: u32, row: u32) -> Metadata {
        let Some((own, index)) = &self.of_attempts else { return self.metadata_of(sample) };
        let columns = index.columns_of(row).into_iter();
        Metadata::of(columns.filter_map(|place| {
            let code = own[place as usize].map_or(ABSENT, |codes| codes.get(row));
            let (key, column) = self.facts[place as usize];
            Some((key.clone(), column.dictionary().get(code as usize)?.clone()))
        }))
    }

    /// The fields of an attempt that was delivered in these rows. The first row that has a field counts.
    pub(crate) fn fields_at(&self, rows: &[u32]) -> Vec<(Arc<str>, Value)> {
        let mut found: Vec<(u32, Value)> = Vec::new();
        for &row in rows {
            let columns = self.of_fields.columns_of(row).into_iter();
            found.extend(columns.filter_map(|place| Some((place, self.fields[place as usize].1.get(row)?))));
        }
        if rows.len() > 1 {
            found.sort_by_key(|(place, _)| *place);
            found.dedup_by_key(|(place, _)| *place);
        }
        found.into_iter().map(|(place, value)| (self.fields[place as usize].0.clone(), value)).collect()
    }
}
