//! Tables in memory: columns of Arrow arrays, as data frames hand them over.
//!
//! Plain columns are read as they are, in parallel. Anything else about a table is left to [`parquet`](super::parquet), which
//! knows all the rules: the table is then written and read as Parquet, in memory.

use super::arrow_quick::{ColumnForm, add_as_it_is, rows_at_once};
use super::native::{self, ColumnRole, RecordConsumer, RowsOfRun};
use super::parquet::{self, RowSink, WHAT};
use super::parquet_columns::{BATCH_MAX, ROWS_A_THREAD_MIN, choose_columns, is_text, rows_of};
use super::{Format, ShardSink, StreamedTable, any_table, arrow_rows};
use crate::catch_panic::read_catching_panic;
use crate::columns::ColumnRoles;
use crate::error::printable;
use crate::formats::any_table::TableReading;
use crate::source::holds_durations;
use crate::{Projection, ReadError, RecordedRun, Shape, Source};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray, StringViewArray};
use arrow_schema::{DataType, Field};
use calipers_core::{Shards, Value};
use rayon::prelude::*;
use std::sync::Arc;

/// Tables in memory.
pub(super) struct ArrowTable;

/// Facts with more than this many bytes per row are long text, as in Parquet.
const FACT_BYTES_MAX: usize = 1024;

impl Format for ArrowTable {
    fn name(&self) -> &'static str {
        "arrow"
    }

    fn about(&self) -> &'static str {
        "A table in memory"
    }

    /// No file is one.
    fn recognises(&self, _: &Shape) -> bool {
        false
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        native::whole(self.read_shards(source, &Projection::everything()))
    }

    fn can_stream(&self) -> bool {
        true
    }

    fn stream(&self, source: &Source, wanted: &Projection, sink: &ShardSink<'_>) -> Option<StreamedTable> {
        let table = any_table::rows_to_stream(source, head(source), wanted).ok().flatten()?;
        check_scores(source, &table.roles).ok()?;
        let keep =
            |part: usize, rows: RowsOfRun| table.check_part(rows.samples).is_some_and(|samples| sink(part, samples));
        read_plain(source, &table.roles, &table.wanted, rows_at_once, &keep)?;
        Some(table.finish())
    }

    fn read_shards(&self, source: &Source, wanted: &Projection) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
        // The Parquet library may panic on columns that no writer has produced before.
        read_catching_panic(source, WHAT, || {
            let read = |reading: &TableReading, wanted: &Projection| {
                if let TableReading::Flat(roles) = reading {
                    check_scores(source, roles)?;
                }
                if let TableReading::Flat(roles) = reading
                    && let Some(rows) =
                        parquet::collect_parts(0, |sink| read_plain(source, roles, wanted, |_| BATCH_MAX, sink))
                {
                    let slowly =
                        |source: &Source, each: &mut RecordConsumer<'_>| parquet::read_rows(source, roles, each);
                    return native::check_runs(source, rows, Vec::new(), roles, &slowly);
                }
                parquet::read_as(source, &parquet::open(source)?, reading, wanted)
            };
            match any_table::read_named(source, head(source), wanted, &read, &|| {
                arrow_rows::late_facts_of(batches(source))
            })? {
                Some(runs) => Ok(runs),
                // A table without ids may be that of a tool, and otherwise the message proposes some.
                None => parquet::Parquet.read_shards(source, wanted),
            }
        })
    }
}

/// An error if scores are durations: as numbers they would depend on a unit that is not named.
fn check_scores(source: &Source, roles: &ColumnRoles) -> Result<(), ReadError> {
    let Some(schema) = batches(source).first().map(RecordBatch::schema) else { return Ok(()) };
    let is_score = |field: &Field| matches!(roles.of(field.name()), Some(ColumnRole::Score(_) | ColumnRole::Scores));
    let Some(field) = schema.fields().iter().find(|field| holds_durations(field) && is_score(field)) else {
        return Ok(());
    };
    let name = printable(field.name());
    let error = source.error(format!("the column `{name}` holds durations, and a duration is no score"));
    Err(error.hint(
        "call it `latency_ms` if it says how long an attempt took, or make numbers of it in a unit of your choice",
    ))
}

fn batches(source: &Source) -> &[RecordBatch] {
    source.as_table().map_or(&[], |table| table.batches())
}

/// The names of the columns, and the first rows.
fn head(source: &Source) -> (Vec<Arc<str>>, Vec<Value>) {
    let fields = batches(source).first().map(RecordBatch::schema);
    let fields = fields.iter().flat_map(|schema| schema.fields());
    let names = fields.map(|field| field.name().as_str().into()).collect();
    (names, arrow_rows::of_batches(batches(source), any_table::SURVEYED))
}

/// Passes on the samples of a table and returns its number of rows; `None` if it is not plain or reading was stopped. `batch_max` says how
/// many rows are passed on at once.
fn read_plain(
    source: &Source,
    roles: &ColumnRoles,
    wanted: &Projection,
    batch_max: impl Fn(&[ColumnForm]) -> usize,
    sink: &RowSink<'_>,
) -> Option<usize> {
    let batches = batches(source);
    let schema = batches.first()?.schema();
    let is_readable = |place: usize, field: &Field, role: &ColumnRole| {
        is_plain(field) && !(matches!(role, ColumnRole::Fact(_)) && is_long_text(batches, place))
    };
    let columns = choose_columns(schema.fields(), roles, wanted, is_readable)?;
    let forms: Vec<ColumnForm> = columns.iter().map(|(place, role)| ColumnForm::of(batches, *place, role)).collect();
    let columns: Vec<PlainColumn<'_>> =
        columns.iter().zip(&forms).map(|((at, role), form)| (*at, role, form)).collect();
    let parts = parts(batches, batch_max(&forms));
    let read = |(part, batches): (usize, &Vec<RecordBatch>)| read_part(batches, &columns, &|rows| sink(part, rows));
    match &parts[..] {
        [one] => read((0, one)),
        several => several.par_iter().enumerate().map(read).collect::<Option<Vec<_>>>().map(|rows| rows.iter().sum()),
    }
}

/// A column that is read: its place in the table, what it is, and how it is taken.
type PlainColumn<'a> = (usize, &'a ColumnRole, &'a ColumnForm);

fn read_part(batches: &[RecordBatch], columns: &[PlainColumn<'_>], sink: &dyn Fn(RowsOfRun) -> bool) -> Option<usize> {
    let mut slots: Vec<_> = columns.iter().map(|(_, role, form)| form.slot(role)).collect();
    let mut total = 0;
    for batch in batches {
        for (slot, (place, role, _)) in slots.iter_mut().zip(columns) {
            if !add_as_it_is(slot, batch.column(*place)) {
                slot.add(&usual_form(batch.column(*place), role)?)?;
            }
        }
        for rows in rows_of(&mut slots)? {
            // A row may name an attempt that another has named.
            if rows.samples.attempts() < rows.records || !sink(rows) {
                return None;
            }
        }
        total += batch.num_rows();
    }
    Some(total)
}

/// The rows in about equal parts, each of batches with at most so many rows. Nothing is copied.
fn parts(batches: &[RecordBatch], batch_max: usize) -> Vec<Vec<RecordBatch>> {
    let total: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let wanted = (total / ROWS_A_THREAD_MIN).clamp(1, rayon::current_num_threads());
    let size = total.div_ceil(wanted).max(1);
    let mut parts = vec![Vec::new()];
    let mut room = size;
    for batch in batches {
        let mut at = 0;
        while at < batch.num_rows() {
            if room == 0 {
                parts.push(Vec::new());
                room = size;
            }
            let rows = (batch.num_rows() - at).min(room).min(batch_max);
            parts.last_mut().expect("there is always one").push(batch.slice(at, rows));
            at += rows;
            room -= rows;
        }
    }
    parts
}

fn is_plain(field: &Field) -> bool {
    use DataType::{Boolean, Dictionary, Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32};
    match field.data_type() {
        Dictionary(_, values) => is_text(values),
        Boolean | Float32 | Float64 | Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 => true,
        other => is_text(other),
    }
}

/// True for a column of long text, which the reader of Parquet leaves out with a note.
fn is_long_text(batches: &[RecordBatch], place: usize) -> bool {
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let bytes: usize = batches.iter().map(|batch| text_bytes(batch.column(place))).sum();
    bytes / rows.max(1) > FACT_BYTES_MAX
}

fn text_bytes(array: &ArrayRef) -> usize {
    match array.data_type() {
        DataType::Utf8 => array.as_string_opt::<i32>().map_or(0, |texts| {
            let ends = texts.value_offsets();
            (ends[ends.len() - 1] - ends[0]) as usize
        }),
        DataType::LargeUtf8 => array.as_string_opt::<i64>().map_or(0, |texts| {
            let ends = texts.value_offsets();
            (ends[ends.len() - 1] - ends[0]) as usize
        }),
        DataType::Utf8View => {
            array.as_string_view_opt().map_or(0, |texts| texts.lengths().map(|bytes| bytes as usize).sum())
        }
        _ => 0,
    }
}

/// A column in the form that the slots take: names of samples as views, and codes of texts as 32-bit numbers.
fn usual_form(array: &ArrayRef, role: &ColumnRole) -> Option<ArrayRef> {
    let is_id = matches!(role, ColumnRole::Id | ColumnRole::SampleId);
    match array.data_type() {
        DataType::Dictionary(keys, _) => {
            let coded = coded(array, keys)?;
            if !is_id {
                return Some(Arc::new(coded));
            }
            let names = coded.downcast_dict::<StringArray>()?;
            Some(Arc::new(names.into_iter().collect::<StringViewArray>()))
        }
        DataType::Utf8 if is_id => Some(Arc::new(array.as_string_opt::<i32>()?.iter().collect::<StringViewArray>())),
        DataType::LargeUtf8 if is_id => {
            Some(Arc::new(array.as_string_opt::<i64>()?.iter().collect::<StringViewArray>()))
        }
        _ => Some(array.clone()),
    }
}

/// Codes of any width as the usual ones; nothing if the texts are none, or one is missing.
fn coded(array: &ArrayRef, keys: &DataType) -> Option<DictionaryArray<Int32Type>> {
    fn of<K: ArrowDictionaryKeyType<Native: TryInto<i32>>>(array: &ArrayRef) -> Option<DictionaryArray<Int32Type>> {
        let coded = array.as_dictionary_opt::<K>()?;
        let codes = coded.keys().iter().map(|code| code.map(TryInto::try_into).transpose());
        let codes: Int32Array = codes.collect::<Result<Vec<Option<i32>>, _>>().ok()?.into();
        DictionaryArray::try_new(codes, texts(coded.values())?).ok()
    }
    match keys {
        DataType::Int8 => of::<Int8Type>(array),
        DataType::Int16 => of::<Int16Type>(array),
        DataType::Int32 => of::<Int32Type>(array),
        DataType::Int64 => of::<Int64Type>(array),
        DataType::UInt8 => of::<UInt8Type>(array),
        DataType::UInt16 => of::<UInt16Type>(array),
        DataType::UInt32 => of::<UInt32Type>(array),
        DataType::UInt64 => of::<UInt64Type>(array),
        _ => None,
    }
}

fn texts(array: &ArrayRef) -> Option<ArrayRef> {
    if array.null_count() > 0 {
        return None;
    }
    match array.data_type() {
        DataType::Utf8 => Some(array.clone()),
        DataType::LargeUtf8 => Some(Arc::new(array.as_string_opt::<i64>()?.iter().collect::<StringArray>())),
        DataType::Utf8View => Some(Arc::new(array.as_string_view_opt()?.iter().collect::<StringArray>())),
        _ => None,
    }
}
