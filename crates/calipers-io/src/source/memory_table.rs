//! A table that a program has in memory.

use super::Source;
use crate::ReadError;
use ::parquet::arrow::ArrowWriter;
use ::parquet::errors::Result as ParquetResult;
use ::parquet::file::properties::WriterProperties;
use arrow_array::RecordBatch;
use std::sync::{Arc, OnceLock};

/// Columns of Arrow arrays, in parts with the same columns.
///
/// Plain columns are read as they are. For everything else the table is written as Parquet, once, and read by the reader
/// that knows all the rules: a frame and a file with the same columns then give the same answer.
#[derive(Debug)]
pub(crate) struct MemoryTable {
    batches: Vec<RecordBatch>,
    parquet: OnceLock<Result<Arc<[u8]>, String>>,
}

impl MemoryTable {
    pub(super) fn new(batches: Vec<RecordBatch>) -> Self {
        Self { batches, parquet: OnceLock::new() }
    }

    pub(crate) fn batches(&self) -> &[RecordBatch] {
        &self.batches
    }

    pub(crate) fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The table as Parquet.
    pub(super) fn to_parquet(&self, source: &Source) -> Result<Arc<[u8]>, ReadError> {
        let written = self.parquet.get_or_init(|| write(&self.batches).map_err(|error| error.to_string()));
        written.clone().map_err(|cause| {
            let what = format!("the table has a column of a kind that is not read: {cause}");
            source.error(what).hint("convert that column to numbers or text, or leave it out")
        })
    }
}

fn write(batches: &[RecordBatch]) -> ParquetResult<Arc<[u8]>> {
    let mut bytes = Vec::new();
    if let [first, ..] = batches {
        // The table is read once, and soon: compressing it would only take time.
        let properties = WriterProperties::builder().build();
        let mut writer = ArrowWriter::try_new(&mut bytes, first.schema(), Some(properties))?;
        for batch in batches {
            writer.write(batch)?;
        }
        writer.close()?;
    }
    Ok(bytes.into())
}
