//! A table that a program has in memory.

use super::Source;
use super::plain_columns::with_plain_columns;
use crate::ReadError;
use ::parquet::arrow::ArrowWriter;
use ::parquet::errors::Result as ParquetResult;
use ::parquet::file::properties::WriterProperties;
use arrow_array::RecordBatch;
use arrow_schema::DataType;
use std::sync::{Arc, OnceLock};

/// Columns of Arrow arrays, in parts with the same columns.
///
/// Plain columns are read as they are. For everything else the table is written as Parquet, once, and read by the reader
/// that knows all the rules: a frame and a file with the same columns then give the same answer. Values that Parquet cannot hold become
/// plain ones first.
#[derive(Debug)]
pub(crate) struct MemoryTable {
    batches: Vec<RecordBatch>,
    parquet: OnceLock<Result<Arc<[u8]>, String>>,
}

impl MemoryTable {
    pub(super) fn new(batches: Vec<RecordBatch>) -> Self {
        let batches = batches.into_iter().map(with_plain_columns).collect();
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
        let schema = self.batches.first().map(RecordBatch::schema);
        if let Some(union) = schema.iter().flat_map(|schema| schema.fields()).find(|field| is_union(field.data_type()))
        {
            let what = format!("the column `{}` has values of several kinds, which is not read", union.name());
            return Err(source.error(what).hint("convert that column to numbers or text, or leave it out"));
        }
        let written = self.parquet.get_or_init(|| write(&self.batches).map_err(|error| error.to_string()));
        written.clone().map_err(|cause| {
            let what = format!("the table has a column of a kind that is not read: {cause}");
            source.error(what).hint("convert that column to numbers or text, or leave it out")
        })
    }
}

/// True for a column that Parquet has no form for.
fn is_union(kind: &DataType) -> bool {
    match kind {
        DataType::Union(..) => true,
        DataType::Struct(fields) => fields.iter().any(|field| is_union(field.data_type())),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => is_union(item.data_type()),
        DataType::Dictionary(_, values) => is_union(values),
        DataType::RunEndEncoded(_, values) => is_union(values.data_type()),
        _ => false,
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
