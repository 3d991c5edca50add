//! The first rows of a table of columns, to see what it holds: plain values, and structs of them.

use super::parquet::{BoundedFile, WHAT, is_long};
use crate::Source;
use crate::catch_panic::read_catching_panic;
use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder as ReaderBuilder,
};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Fields};
use calipers_core::Value;

/// The first rows of a Parquet file, without lists and long texts. None if it cannot be read, which is said when it is.
pub(super) fn of_parquet(source: &Source, rows: usize) -> Vec<Value> {
    let read = || {
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let file = BoundedFile::open(source)?;
        Ok(ArrowReaderMetadata::load(&file, options).ok().and_then(|metadata| {
            let stored = metadata.metadata().clone();
            let schema = stored.file_metadata().schema_descr();
            let is_read = |&leaf: &usize| schema.column(leaf).max_rep_level() == 0 && !is_long(&stored, &[leaf]);
            let leaves: Vec<usize> = (0..schema.num_columns()).filter(is_read).collect();
            let builder = ReaderBuilder::new_with_metadata(file, metadata);
            let builder = builder.with_projection(ProjectionMask::leaves(schema, leaves));
            let batches = builder.with_batch_size(rows).with_limit(rows).build().ok()?;
            Some(of_batches(&batches.map_while(Result::ok).collect::<Vec<_>>(), rows))
        }))
    };
    read_catching_panic(source, WHAT, read).ok().flatten().unwrap_or_default()
}

/// The first rows of a table in memory.
pub(super) fn of_batches(batches: &[RecordBatch], rows: usize) -> Vec<Value> {
    let mut found = Vec::new();
    for batch in batches {
        let schema = batch.schema();
        let left = batch.num_rows().min(rows - found.len());
        let batch = batch.slice(0, left);
        found.extend((0..left).map(|row| entries(schema.fields(), batch.columns(), row)));
        if found.len() == rows {
            break;
        }
    }
    found
}

fn entries(fields: &Fields, columns: &[ArrayRef], row: usize) -> Value {
    let entry = |(field, array): (&std::sync::Arc<arrow_schema::Field>, &ArrayRef)| {
        Some((field.name().as_str().into(), value(array, row)?))
    };
    Value::Map(fields.iter().zip(columns).filter_map(entry).collect())
}

/// The value in a row; none if it is of a kind that tells nothing apart.
fn value(array: &ArrayRef, row: usize) -> Option<Value> {
    /// Texts are not copied as a whole: what is long is no name.
    const TEXT_MAX: usize = 1 << 16;
    if array.is_null(row) {
        return Some(Value::Null);
    }
    let text = |text: &str| (text.len() <= TEXT_MAX).then(|| Value::from(text));
    let whole = |number: i64| Some(Value::Int(number));
    match array.data_type() {
        DataType::Boolean => Some(Value::Bool(array.as_boolean_opt()?.value(row))),
        DataType::Int8 => whole(array.as_primitive_opt::<Int8Type>()?.value(row).into()),
        DataType::Int16 => whole(array.as_primitive_opt::<Int16Type>()?.value(row).into()),
        DataType::Int32 => whole(array.as_primitive_opt::<Int32Type>()?.value(row).into()),
        DataType::Int64 => whole(array.as_primitive_opt::<Int64Type>()?.value(row)),
        DataType::UInt8 => whole(array.as_primitive_opt::<UInt8Type>()?.value(row).into()),
        DataType::UInt16 => whole(array.as_primitive_opt::<UInt16Type>()?.value(row).into()),
        DataType::UInt32 => whole(array.as_primitive_opt::<UInt32Type>()?.value(row).into()),
        DataType::UInt64 => i64::try_from(array.as_primitive_opt::<UInt64Type>()?.value(row)).ok().and_then(whole),
        DataType::Float32 => Some(Value::from(f64::from(array.as_primitive_opt::<Float32Type>()?.value(row)))),
        DataType::Float64 => Some(Value::from(array.as_primitive_opt::<Float64Type>()?.value(row))),
        DataType::Utf8 => text(array.as_string_opt::<i32>()?.value(row)),
        DataType::LargeUtf8 => text(array.as_string_opt::<i64>()?.value(row)),
        DataType::Utf8View => text(array.as_string_view_opt()?.value(row)),
        DataType::Dictionary(_, _) => {
            let coded = array.as_any_dictionary_opt()?;
            let place = *coded.normalized_keys().get(row)?;
            value(coded.values(), place)
        }
        DataType::Struct(fields) => Some(entries(fields, array.as_struct_opt()?.columns(), row)),
        _ => None,
    }
}
