//! The first rows of a table of columns, to see what it holds: plain values, and structs of them.

use super::fact_path::FactPath;
use super::late_facts::LateFacts;
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

/// What the texts of a Parquet file name in maps, in any row.
pub(super) fn late_facts(source: &Source) -> Vec<FactPath> {
    let mut facts = LateFacts::default();
    let read = || {
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let file = BoundedFile::open(source)?;
        let Ok(metadata) = ArrowReaderMetadata::load(&file, options) else { return Ok(()) };
        let stored = metadata.metadata().clone();
        let schema = stored.file_metadata().schema_descr();
        let is_text = |&leaf: &usize| {
            let column = schema.column(leaf);
            column.max_rep_level() == 0
                && column.path().parts().len() == 1
                && column.physical_type() == ::parquet::basic::Type::BYTE_ARRAY
                && !is_long(&stored, &[leaf])
        };
        let leaves: Vec<usize> = (0..schema.num_columns()).filter(is_text).collect();
        let builder = ReaderBuilder::new_with_metadata(file, metadata);
        let builder = builder.with_projection(ProjectionMask::leaves(schema, leaves));
        let Ok(batches) = builder.build() else { return Ok(()) };
        batches.map_while(Result::ok).for_each(|batch| add_texts(&batch, &mut facts));
        Ok(())
    };
    // What is wrong with the file is said when it is read.
    drop(read_catching_panic(source, WHAT, read));
    facts.into_paths()
}

/// The same for a table in memory.
pub(super) fn late_facts_of(batches: &[RecordBatch]) -> Vec<FactPath> {
    let mut facts = LateFacts::default();
    batches.iter().for_each(|batch| add_texts(batch, &mut facts));
    facts.into_paths()
}

fn add_texts(batch: &RecordBatch, facts: &mut LateFacts) {
    for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
        let mut add = |text: &str| facts.add_cell(field.name(), text);
        match array.data_type() {
            DataType::Utf8 => array.as_string::<i32>().iter().flatten().for_each(add),
            DataType::LargeUtf8 => array.as_string::<i64>().iter().flatten().for_each(add),
            DataType::Utf8View => array.as_string_view().iter().flatten().for_each(add),
            DataType::Dictionary(_, _) => {
                let values = array.as_any_dictionary_opt().map(|coded| coded.values().clone());
                let rows = values.iter().flat_map(|values| (0..values.len()).filter_map(|row| value(values, row)));
                rows.for_each(|value| {
                    if let Value::Text(text) = value {
                        add(&text);
                    }
                });
            }
            _ => {}
        }
    }
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

fn nothing_in(fields: &Fields) -> Value {
    let nothing = |field: &std::sync::Arc<arrow_schema::Field>| {
        let value = match field.data_type() {
            DataType::Struct(fields) => nothing_in(fields),
            _ => Value::Null,
        };
        (field.name().as_str().into(), value)
    };
    Value::Map(fields.iter().map(nothing).collect())
}

/// The value in a row; none if it is of a kind that tells nothing apart.
fn value(array: &ArrayRef, row: usize) -> Option<Value> {
    /// Texts are not copied as a whole: what is long is no name.
    const TEXT_MAX: usize = 1 << 16;
    if array.is_null(row) {
        // What a struct may hold in other rows is known by the names of its fields.
        return Some(match array.data_type() {
            DataType::Struct(fields) => nothing_in(fields),
            _ => Value::Null,
        });
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
