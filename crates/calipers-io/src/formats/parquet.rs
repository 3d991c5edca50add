//! Native records as Parquet: the same columns as in CSV, nested where the writer nests them.
//!
//! Tables of plain columns are read by [`parquet_columns`]; this is the slower reader that knows all the rules. Lists,
//! maps and nested structs go through the record reader. Columns of long text that no record needs are not read at all.

use super::any_table::{self, TableReading};
use super::native::{self, ColumnRole, NativeRecord, RecordConsumer, RowsOfRun};
use super::{Format, ShardSink, StreamedTable, lighteval_details, parquet_columns};
use crate::catch_panic::read_catching_panic;
use crate::columns::ColumnRoles;
use crate::error::printable;
use crate::{FilePlace, Projection, ReadError, RecordedRun, Shape, Source};
use ::parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type as typed;
use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::metadata::ParquetMetaData;
use ::parquet::file::reader::{ChunkReader, FileReader, Length, RowGroupReader, SerializedFileReader};
use ::parquet::record::reader::RowIter;
use ::parquet::record::{Field, Row};
use ::parquet::schema::types::{ColumnDescriptor, Type, TypePtr};
use bytes::{Buf, Bytes};
use calipers_core::{Shards, Value};
use calipers_store::{Object, ObjectReader};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Tables in Parquet.
pub(crate) struct Parquet;

const MAGIC: &[u8] = b"PAR1";
/// What may be damaged.
pub(crate) const WHAT: &str = "the Parquet data";

impl Format for Parquet {
    fn name(&self) -> &'static str {
        "parquet"
    }

    fn about(&self) -> &'static str {
        "Calipers records as Parquet"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        shape.starts_with(MAGIC)
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        native::whole(self.read_shards(source, &Projection::everything()))
    }

    fn can_stream(&self) -> bool {
        true
    }

    fn stream(&self, source: &Source, wanted: &Projection, sink: &ShardSink<'_>) -> Option<StreamedTable> {
        let read = || {
            let file = open(source)?;
            let Some(table) = any_table::to_stream(source, &file, wanted)? else { return Ok(None) };
            check_scores(source, &file, &table.roles)?;
            drop(file);
            let keep = |part: usize, rows: RowsOfRun| {
                table.check_part(rows.samples).is_some_and(|samples| sink(part, samples))
            };
            let rows = parquet_columns::read(source, &table.roles, &table.wanted, &keep);
            Ok(rows.map(|_| table.finish()))
        };
        read_catching_panic(source, WHAT, read).ok().flatten()
    }

    fn read_shards(&self, source: &Source, wanted: &Projection) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
        // The Parquet library may panic on damaged data.
        read_catching_panic(source, WHAT, || {
            let file = open(source)?;
            if !source.columns().is_about_content()
                && lighteval_details::is_details(file.metadata().file_metadata().schema())
            {
                let runs = lighteval_details::read_details(source, &file)?;
                return Ok(runs.into_iter().map(|run| run.map_samples(Shards::from)).collect());
            }
            let read = |reading: &TableReading, wanted: &Projection| read_as(source, &file, reading, wanted);
            any_table::read_parquet(source, &file, wanted, &read)
        })
    }
}

/// Reads a table of which is known what its columns are.
pub(super) fn read_as(
    source: &Source,
    file: &SerializedFileReader<BoundedFile>,
    reading: &TableReading,
    wanted: &Projection,
) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
    let roles = match reading {
        TableReading::Flat(roles) => roles,
        TableReading::Tree(tree) => return tree.read_parquet(source, file, wanted),
    };
    check_scores(source, file, roles)?;
    let read_rows = |source: &Source, each: &mut RecordConsumer<'_>| read_rows(source, roles, each);
    let read = |sink: &RowSink<'_>| parquet_columns::read(source, roles, wanted, sink);
    let rows = usize::try_from(file.metadata().file_metadata().num_rows()).unwrap_or(0);
    match collect_parts(rows, read) {
        Some(rows) => native::check_runs(source, rows, Vec::new(), roles, &read_rows),
        None => native::collect_shards(source, roles, wanted, &read_rows),
    }
}

/// An error if scores are dates or times: as numbers they would be long ones.
fn check_scores(
    source: &Source,
    file: &SerializedFileReader<BoundedFile>,
    roles: &ColumnRoles,
) -> Result<(), ReadError> {
    let fields = file.metadata().file_metadata().schema().get_fields();
    let is_moment = |logical: &LogicalType| {
        matches!(logical, LogicalType::Timestamp { .. } | LogicalType::Date | LogicalType::Time { .. })
    };
    let is_wrong = |field: &&TypePtr| {
        field.get_basic_info().logical_type_ref().is_some_and(is_moment)
            && matches!(roles.of(field.name()), Some(ColumnRole::Score(_) | ColumnRole::Scores))
    };
    let Some(field) = fields.iter().find(is_wrong) else { return Ok(()) };
    let what = format!("the column `{}` holds dates or times, and a moment is no score", printable(field.name()));
    Err(source.error(what).hint("name the column with the scores, or make numbers of it"))
}

/// Rows are added to those of one of so many runs that were met last.
const RUNS_AT_ONCE_MAX: usize = 64;

/// Room is made at once for at most this many rows, whatever a file says that it has.
const ROWS_RESERVED_MAX: usize = 1 << 24;

/// Receives the rows of a part of a table, those of one part one after the other. Returning false stops the reading.
pub(super) type RowSink<'s> = dyn Fn(usize, RowsOfRun) -> bool + Sync + 's;

/// What a fast reader passes on, in the order of the table; nothing if it gives up. Rows that merely go on with those before them are
/// added to these at once, so that their memory is used again for the next ones.
pub(super) fn collect_parts(
    rows_of_table: usize,
    read: impl FnOnce(&RowSink<'_>) -> Option<usize>,
) -> Option<Vec<RowsOfRun>> {
    let parts: Mutex<BTreeMap<usize, Vec<RowsOfRun>>> = Mutex::default();
    let keep = |part: usize, rows: RowsOfRun| {
        // Only this thread has rows of this part; the others need not wait while some are added.
        let take = || parts.lock().unwrap_or_else(PoisonError::into_inner).remove(&part).unwrap_or_default();
        let mut before: Vec<RowsOfRun> = take();
        let is_only = before.len() == 1;
        let rest = match before.iter_mut().rev().take(RUNS_AT_ONCE_MAX).find(|last| last.run == rows.run) {
            Some(last) => {
                let records = rows.records;
                // The second rows of a part show that more will come. All other parts may be added to the first. Of several runs,
                // nothing says how large each is.
                if is_only && last.records == records {
                    let rows = if part == 0 { rows_of_table } else { rows_of_table / rayon::current_num_threads() };
                    last.samples.reserve(rows.min(ROWS_RESERVED_MAX));
                }
                match last.samples.append_after(rows.samples) {
                    Ok(()) => {
                        last.records += records;
                        None
                    }
                    Err(samples) => Some(RowsOfRun { samples: *samples, run: rows.run, records }),
                }
            }
            None => Some(rows),
        };
        before.extend(rest);
        parts.lock().unwrap_or_else(PoisonError::into_inner).insert(part, before);
        true
    };
    read(&keep)?;
    Some(parts.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().flatten().collect())
}

pub(crate) fn parquet_error(source: &Source, error: &ParquetError) -> ReadError {
    source.error(format!("the Parquet data cannot be read: {error}")).hint("the file may be cut off; copy it again")
}

/// A file that cannot be read beyond its end, so that a damaged length does not allocate memory.
pub(crate) enum BoundedFile {
    File(File, u64, Option<Arc<AtomicU64>>),
    Object(Arc<Object>, u64, Option<Arc<AtomicU64>>),
    Bytes(Bytes),
}

impl BoundedFile {
    fn check(&self, start: u64, length: u64) -> ParquetResult<()> {
        match start.checked_add(length) {
            Some(end) if end <= self.len() => Ok(()),
            _ => Err(ParquetError::EOF(format!(
                "{length} bytes at {start} lie beyond the end of the file at {}",
                self.len()
            ))),
        }
    }
}

impl Length for BoundedFile {
    fn len(&self) -> u64 {
        match self {
            Self::File(_, length, _) | Self::Object(_, length, _) => *length,
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }
}

impl ChunkReader for BoundedFile {
    type T = Box<dyn Read + Send>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        self.check(start, 0)?;
        match self {
            Self::File(file, ..) => {
                let mut file = file.try_clone()?;
                file.seek(SeekFrom::Start(start))?;
                Ok(Box::new(BufReader::new(file)))
            }
            Self::Object(object, ..) => {
                let mut reader = ObjectReader::new(object.clone());
                reader.seek(SeekFrom::Start(start))?;
                Ok(Box::new(BufReader::new(reader)))
            }
            Self::Bytes(bytes) => Ok(Box::new(bytes.slice(start as usize..).reader())),
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.check(start, length as u64)?;
        match self {
            Self::File(file, _, counter) => {
                if let Some(counter) = counter {
                    counter.fetch_add(length as u64, Ordering::Relaxed);
                }
                file.get_bytes(start, length)
            }
            Self::Object(object, _, counter) => {
                if let Some(counter) = counter {
                    counter.fetch_add(length as u64, Ordering::Relaxed);
                }
                object.bytes(start..start + length as u64).map_err(|error| ParquetError::External(Box::new(error)))
            }
            Self::Bytes(bytes) => Ok(bytes.slice(start as usize..start as usize + length)),
        }
    }
}

impl BoundedFile {
    pub(super) fn open(source: &Source) -> Result<Self, ReadError> {
        if let Some(object) = source.remote() {
            let length = source.stored_len()?;
            let is_plain = object.bytes(0..length.min(4)).is_ok_and(|magic| magic == MAGIC);
            return Ok(match is_plain {
                true => Self::Object(object.clone(), length, source.counter()),
                false => Self::Bytes(source.read_all()?.into()),
            });
        }
        let Some(path) = source.as_path() else { return Ok(Self::Bytes(source.read_all()?.into())) };
        let mut file = File::open(path).map_err(|error| source.unreadable(&error))?;
        let length = file.metadata().map_err(|error| source.unreadable(&error))?.len();
        let mut magic = [0; 4];
        let is_plain = file.read_exact(&mut magic).is_ok() && magic == MAGIC;
        // Otherwise the whole file was compressed again.
        Ok(if is_plain { Self::File(file, length, source.counter()) } else { Self::Bytes(source.read_all()?.into()) })
    }
}

pub(crate) fn open(source: &Source) -> Result<SerializedFileReader<BoundedFile>, ReadError> {
    SerializedFileReader::new(BoundedFile::open(source)?).map_err(|error| parquet_error(source, &error))
}

/// Rows read at once from each column: large enough to keep decoders busy, small enough to stay in cache.
const BATCH: usize = 2048;

/// Metadata with more than this many bytes per row is long text: a transcript, not a category.
const FACT_BYTES_MAX: i64 = 1024;

pub(super) fn read_rows(
    source: &Source,
    roles: &ColumnRoles,
    each: &mut RecordConsumer<'_>,
) -> Result<Vec<String>, ReadError> {
    let file = open(source)?;
    let chosen = ColumnChoice::new(source, roles, file.metadata())?;
    let mut record = NativeRecord::default();
    let mut row = 0;
    for group in 0..file.num_row_groups() {
        let fail =
            |error: ParquetError| parquet_error(source, &error).at(FilePlace::Path(format!("row group {group}")));
        let group = file.get_row_group(group).map_err(fail)?;
        let mut columns =
            chosen.flat.iter().map(|flat| flat.open(&*group)).collect::<ParquetResult<Vec<_>>>().map_err(fail)?;
        let mut nested = match &chosen.nested {
            Some((projection, _)) => Some(RowIter::from_row_group(Some(projection.clone()), &*group).map_err(fail)?),
            None => None,
        };
        let mut left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        while left > 0 {
            let batch = left.min(BATCH);
            for column in &mut columns {
                column.fill(batch).map_err(|what| parquet_error(source, &what).at(FilePlace::Row(row + 1)))?;
            }
            for _ in 0..batch {
                row += 1;
                let refused = |what| native::record_error(source, roles.explain(what), FilePlace::Row(row));
                for column in &mut columns {
                    if let Some(value) = column.next().map_err(refused)? {
                        record.take(column.role, value).map_err(refused)?;
                    }
                }
                if let (Some(rows), Some((_, roles))) = (&mut nested, &chosen.nested) {
                    let next = rows.next().unwrap_or_else(|| Err(ParquetError::EOF("a column ends early".into())));
                    let next = next.map_err(|error| parquet_error(source, &error).at(FilePlace::Row(row)))?;
                    take_nested(&mut record, roles, &next).map_err(refused)?;
                }
                record.fill_scores(roles.scorers());
                each(FilePlace::Row(row), &mut record)?;
            }
            left -= batch;
        }
        if !columns.iter_mut().all(ColumnCursor::is_at_end) {
            let what = format!("a column has more values than its row group has rows, {}", group.metadata().num_rows());
            let error = source.error(what).at(FilePlace::Row(row + 1));
            return Err(error.hint("the file is damaged; copy it again from where it was written"));
        }
    }
    Ok(chosen.notes)
}

fn take_nested(record: &mut NativeRecord, roles: &[ColumnRole], row: &Row) -> Result<(), String> {
    for (role, (_, field)) in roles.iter().zip(row.get_column_iter()) {
        match value(field) {
            // A missing struct holds no scores, rather than empty ones.
            Value::Null if *role != ColumnRole::Id => {}
            value => record.take(role, value)?,
        }
    }
    Ok(())
}

/// The columns that are read, and how.
struct ColumnChoice {
    flat: Vec<FlatColumn>,
    /// The columns that need the record reader, with their roles.
    nested: Option<(Type, Vec<ColumnRole>)>,
    notes: Vec<String>,
}

/// A column of plain values.
struct FlatColumn {
    place: usize,
    role: ColumnRole,
    is_unsigned: bool,
    max_def: i16,
    /// The level up to which a missing value means that the struct around it is missing.
    parent_def: i16,
}

impl ColumnChoice {
    fn new(source: &Source, roles: &ColumnRoles, metadata: &ParquetMetaData) -> Result<Self, ReadError> {
        let schema = metadata.file_metadata().schema_descr();
        let mut chosen = Self { flat: Vec::new(), nested: None, notes: Vec::new() };
        let mut nested: Vec<(TypePtr, ColumnRole)> = Vec::new();
        let mut has_id = false;
        for (top, field) in schema.root_schema().get_fields().iter().enumerate() {
            let name = field.name();
            let Some(role) = roles.of(name) else { continue };
            has_id |= matches!(role, ColumnRole::Id | ColumnRole::SampleId);
            let leaves: Vec<usize> =
                (0..schema.num_columns()).filter(|&leaf| schema.get_column_root_idx(leaf) == top).collect();
            if is_long_text(metadata, &role, &leaves) {
                chosen.notes.push(format!("column `{}` holds long text and was not read", printable(name)));
                continue;
            }
            let flat: Option<Vec<FlatColumn>> =
                leaves.iter().map(|&leaf| FlatColumn::new(leaf, roles, &schema.column(leaf))).collect();
            match flat {
                Some(flat) => chosen.flat.extend(flat),
                None => nested.push((field.clone(), role)),
            }
        }
        if !has_id {
            let names: Vec<String> =
                schema.root_schema().get_fields().iter().take(20).map(|f| printable(f.name())).collect();
            let what = "the table has no column `id` or `sample_id`";
            return Err(source.error(what).hint(format!("its columns are {}; rename one to `id`", names.join(", "))));
        }
        if !nested.is_empty() {
            let (fields, roles): (Vec<_>, Vec<_>) = nested.into_iter().unzip();
            chosen.nested =
                Some((projection(schema.root_schema(), fields).map_err(|error| parquet_error(source, &error))?, roles));
        }
        Ok(chosen)
    }
}

/// The schema with only these fields.
pub(super) fn projection(root: &Type, fields: Vec<TypePtr>) -> ParquetResult<Type> {
    Type::group_type_builder(root.name()).with_fields(fields).build()
}

/// True for a fact whose columns hold long text.
pub(super) fn is_long_text(metadata: &ParquetMetaData, role: &ColumnRole, leaves: &[usize]) -> bool {
    matches!(role, ColumnRole::Fact(_)) && is_long(metadata, leaves)
}

/// True for columns with more text per row than a fact has.
pub(super) fn is_long(metadata: &ParquetMetaData, leaves: &[usize]) -> bool {
    bytes_a_row(metadata, leaves) > FACT_BYTES_MAX
}

fn bytes_a_row(metadata: &ParquetMetaData, leaves: &[usize]) -> i64 {
    let groups = metadata.row_groups().iter();
    let (bytes, rows) = groups.fold((0i64, 0i64), |(bytes, rows), group| {
        let columns = leaves.iter().filter_map(|&leaf| group.columns().get(leaf));
        let size = columns.fold(0i64, |sum, column| sum.saturating_add(column.uncompressed_size().max(0)));
        (bytes.saturating_add(size), rows.saturating_add(group.num_rows().max(0)))
    });
    // With few rows, the dictionary and the headers weigh as much as the text.
    bytes.saturating_sub(FACT_BYTES_MAX * 64) / rows.max(1)
}

impl FlatColumn {
    /// The column, if it can be read as plain values.
    fn new(place: usize, roles: &ColumnRoles, column: &ColumnDescriptor) -> Option<Self> {
        let parts = column.path().parts();
        let is_near = parts.len() == 1 || (parts.len() == 2 && matches!(&*parts[0], "scores" | "metadata"));
        let physical = column.physical_type();
        let is_unsigned = match column.logical_type_ref() {
            Some(LogicalType::Integer(integer)) => !integer.is_signed,
            _ => matches!(
                column.converted_type(),
                ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
            ),
        };
        let is_plain = match physical {
            Physical::BOOLEAN | Physical::FLOAT | Physical::DOUBLE => true,
            Physical::INT32 | Physical::INT64 => {
                let logical = column.logical_type_ref();
                let is_integer = matches!(logical, None | Some(LogicalType::Integer { .. }));
                let converted = format!("{:?}", column.converted_type());
                is_integer && (converted == "NONE" || converted.starts_with("INT_") || converted.starts_with("UINT_"))
            }
            Physical::BYTE_ARRAY => !matches!(column.converted_type(), ConvertedType::DECIMAL),
            Physical::INT96 | Physical::FIXED_LEN_BYTE_ARRAY => false,
        };
        let max_def = column.max_def_level();
        let role = roles.of(&parts.join("."))?;
        (is_near && is_plain && column.max_rep_level() == 0).then(|| Self {
            place,
            role,
            is_unsigned,
            max_def,
            parent_def: if parts.len() == 2 { max_def - i16::from(column.self_type().is_optional()) } else { 0 },
        })
    }

    fn open(&self, group: &dyn RowGroupReader) -> ParquetResult<ColumnCursor<'_>> {
        let reader = group.get_column_reader(self.place)?;
        Ok(ColumnCursor {
            role: &self.role,
            flat: self,
            values: ColumnBatch::new(reader)?,
            levels: Vec::new(),
            row: 0,
            value: 0,
            recent: Vec::new(),
        })
    }
}

/// A column being read.
struct ColumnCursor<'a> {
    role: &'a ColumnRole,
    flat: &'a FlatColumn,
    values: ColumnBatch,
    levels: Vec<i16>,
    row: usize,
    value: usize,
    /// Recent texts, because categories repeat.
    recent: Vec<Arc<str>>,
}

/// The values of a batch, and the reader that they come from.
enum ColumnBatch {
    Bool(ColumnReaderImpl<typed::BoolType>, Vec<bool>),
    Int32(ColumnReaderImpl<typed::Int32Type>, Vec<i32>),
    Int64(ColumnReaderImpl<typed::Int64Type>, Vec<i64>),
    Float(ColumnReaderImpl<typed::FloatType>, Vec<f32>),
    Double(ColumnReaderImpl<typed::DoubleType>, Vec<f64>),
    Text(ColumnReaderImpl<typed::ByteArrayType>, Vec<typed::ByteArray>),
}

impl ColumnBatch {
    fn new(reader: ColumnReader) -> ParquetResult<Self> {
        Ok(match reader {
            ColumnReader::BoolColumnReader(reader) => Self::Bool(reader, Vec::new()),
            ColumnReader::Int32ColumnReader(reader) => Self::Int32(reader, Vec::new()),
            ColumnReader::Int64ColumnReader(reader) => Self::Int64(reader, Vec::new()),
            ColumnReader::FloatColumnReader(reader) => Self::Float(reader, Vec::new()),
            ColumnReader::DoubleColumnReader(reader) => Self::Double(reader, Vec::new()),
            ColumnReader::ByteArrayColumnReader(reader) => Self::Text(reader, Vec::new()),
            _ => return Err(ParquetError::NYI("a column of plain values of this type".into())),
        })
    }

    /// Reads the next rows, and says how many values there are among them.
    fn fill(&mut self, rows: usize, levels: &mut Vec<i16>) -> ParquetResult<(usize, usize)> {
        fn read<T: typed::DataType>(
            reader: &mut ColumnReaderImpl<T>,
            values: &mut Vec<T::T>,
            rows: usize,
            levels: &mut Vec<i16>,
        ) -> ParquetResult<(usize, usize)> {
            values.clear();
            levels.clear();
            let (rows, _, _) = reader.read_records(rows, Some(levels), None, values)?;
            Ok((rows, values.len()))
        }
        match self {
            Self::Bool(reader, values) => read(reader, values, rows, levels),
            Self::Int32(reader, values) => read(reader, values, rows, levels),
            Self::Int64(reader, values) => read(reader, values, rows, levels),
            Self::Float(reader, values) => read(reader, values, rows, levels),
            Self::Double(reader, values) => read(reader, values, rows, levels),
            Self::Text(reader, values) => read(reader, values, rows, levels),
        }
    }
}

impl ColumnCursor<'_> {
    /// True if there are no more values.
    fn is_at_end(&mut self) -> bool {
        self.values.fill(1, &mut self.levels).is_ok_and(|(rows, _)| rows == 0)
    }

    fn fill(&mut self, rows: usize) -> ParquetResult<()> {
        let (found, values) = self.values.fill(rows, &mut self.levels)?;
        let given = self.levels.iter().filter(|&&level| level == self.flat.max_def).count();
        let want = if self.flat.max_def == 0 { rows } else { given };
        if found != rows || values != want || (self.flat.max_def > 0 && self.levels.len() != rows) {
            return Err(ParquetError::EOF(format!("a column ends after {found} of {rows} rows")));
        }
        (self.row, self.value) = (0, 0);
        Ok(())
    }

    /// The value of the next row: null if missing, `None` if the enclosing struct is missing.
    fn next(&mut self) -> Result<Option<Value>, String> {
        let row = self.row;
        self.row += 1;
        if self.flat.max_def > 0 && self.levels[row] < self.flat.max_def {
            return Ok((self.levels[row] >= self.flat.parent_def).then_some(Value::Null));
        }
        let at = self.value;
        self.value += 1;
        Ok(Some(match &self.values {
            ColumnBatch::Bool(_, values) => Value::Bool(values[at]),
            ColumnBatch::Int32(_, values) if self.flat.is_unsigned => Value::Int(i64::from(values[at] as u32)),
            ColumnBatch::Int32(_, values) => Value::Int(i64::from(values[at])),
            ColumnBatch::Int64(_, values) if self.flat.is_unsigned => from_unsigned(values[at] as u64),
            ColumnBatch::Int64(_, values) => Value::Int(values[at]),
            ColumnBatch::Float(_, values) => Value::from(f64::from(values[at])),
            ColumnBatch::Double(_, values) => Value::from(values[at]),
            ColumnBatch::Text(_, values) => {
                let text = std::str::from_utf8(values[at].data()).map_err(|_| "the text is not UTF-8".to_owned())?;
                match self.role {
                    ColumnRole::Id | ColumnRole::SampleId => text.into(),
                    ColumnRole::Score(_) => native::unfold(text.into()),
                    _ => Value::Text(recent(&mut self.recent, text)),
                }
            }
        }))
    }
}

/// The text, shared with a recent one if possible.
fn recent(recent: &mut Vec<Arc<str>>, text: &str) -> Arc<str> {
    const KEPT: usize = 16;
    if let Some(known) = recent.iter().find(|known| ***known == *text) {
        return known.clone();
    }
    let text: Arc<str> = text.into();
    if recent.len() < KEPT {
        recent.push(text.clone());
    }
    text
}

fn from_unsigned(u: u64) -> Value {
    i64::try_from(u).map_or(Value::Float(u as f64), Value::Int)
}

/// A value as the record reader gives it.
pub(crate) fn value(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Bool(b) => Value::Bool(*b),
        Field::Byte(i) => Value::Int(i64::from(*i)),
        Field::Short(i) => Value::Int(i64::from(*i)),
        Field::Int(i) | Field::Date(i) | Field::TimeMillis(i) => Value::Int(i64::from(*i)),
        Field::Long(i) | Field::TimeMicros(i) | Field::TimestampMillis(i) | Field::TimestampMicros(i) => Value::Int(*i),
        Field::UByte(u) => Value::Int(i64::from(*u)),
        Field::UShort(u) => Value::Int(i64::from(*u)),
        Field::UInt(u) => Value::Int(i64::from(*u)),
        Field::ULong(u) => from_unsigned(*u),
        Field::Float16(x) => Value::from(f64::from(*x)),
        Field::Float(x) => Value::from(f64::from(*x)),
        Field::Double(x) => Value::from(*x),
        // Its decimal digits parse as the nearest number.
        Field::Decimal(_) => {
            let text = field.to_string();
            text.parse::<f64>().map_or_else(|_| text.as_str().into(), Value::from)
        }
        Field::Str(text) => text.as_str().into(),
        Field::Bytes(bytes) => text_of_bytes(bytes.data()).into(),
        Field::Group(row) => {
            Value::Map(row.get_column_iter().map(|(name, field)| (name.as_str().into(), value(field))).collect())
        }
        Field::ListInternal(list) => Value::List(list.elements().iter().map(value).collect()),
        Field::MapInternal(map) => {
            let text = |key: &Field| value(key).to_string().into();
            Value::Map(map.entries().iter().map(|(key, field)| (text(key), value(field))).collect())
        }
    }
}

/// Bytes as text. Those that are none are written in hexadecimal digits, so that different ones stay different.
fn text_of_bytes(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Contents, OutputFile, writer};
    use ::parquet::arrow::ArrowWriter;
    use ::parquet::file::properties::{WriterProperties, WriterVersion};
    use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
    use calipers_core::{Record as CoreRecord, Samples};

    fn quickly(source: &Source, wanted: &Projection) -> Option<Vec<CoreRecord>> {
        let shards: Mutex<Vec<Samples>> = Mutex::default();
        let keep = |_: usize, rows: RowsOfRun| {
            shards.lock().unwrap().push(rows.samples);
            true
        };
        parquet_columns::read(source, ColumnRoles::native(), wanted, &keep)?;
        Some(Shards::new(shards.into_inner().unwrap()).into_whole().records().collect())
    }

    fn slowly(source: &Source) -> Vec<CoreRecord> {
        let roles = ColumnRoles::native();
        let read = |source: &Source, each: &mut RecordConsumer<'_>| read_rows(source, roles, each);
        let mut runs = native::whole(native::collect_shards(source, roles, &Projection::everything(), &read)).unwrap();
        runs.remove(0).samples.records().collect()
    }

    /// A table with these samples, as it is written here.
    fn table(name: &str, samples: Samples) -> Source {
        let path = std::env::temp_dir().join(format!("calipers-{}-{name}.parquet", std::process::id()));
        let mut out = OutputFile::create(&path, true).unwrap();
        let run = RecordedRun { samples, ..RecordedRun::default() };
        let to = writer(Some("parquet"), "-").unwrap();
        to.write(&Contents { run: &run, results: None }, &mut out).unwrap();
        out.finish().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        Source::bytes("table", bytes)
    }

    #[test]
    fn the_quick_way_reads_plain_tables_as_the_slow_way_does() {
        type Push = fn(i64, &mut Samples);
        let kinds: [(&str, Push); 4] = [
            ("floats", |i, samples| {
                samples.push(i).score("judge", i as f64 / 8.0).metadata("kind", format!("k{}", i % 3));
            }),
            ("labels", |i, samples| {
                let label = ["C", "I", "P"][i as usize % 3];
                samples.push(format!("q{}", i % 40)).score("exact", label).field("latency_ms", i as f64);
            }),
            ("whole numbers and flags", |i, samples| {
                samples.push_epoch(i / 2, 1 + (i % 2) as u32).score("n", i % 5).field("passed", i % 2 == 0);
            }),
            ("errors", |i, samples| match i % 7 {
                0 => {
                    samples.push(i).score("judge", 0.0).error("timeout");
                }
                _ => {
                    samples.push(i).score("judge", 1.0);
                }
            }),
        ];
        for (name, push) in kinds {
            let mut samples = Samples::new();
            (0..100).for_each(|i| push(i, &mut samples));
            let source = table(&name.replace(' ', "-"), samples);
            let quick = quickly(&source, &Projection::everything());
            assert_eq!(quick.unwrap_or_else(|| panic!("`{name}` is plain")), slowly(&source), "{name}");
        }
    }

    #[test]
    fn gaps_and_several_row_groups_are_read_alike() {
        let some = |i: i64, every: i64| i % every != 0;
        let columns: [(&str, ArrayRef); 8] = [
            ("id", Arc::new(Int64Array::from_iter_values(0..50))),
            (
                "score",
                Arc::new(
                    (0..50)
                        .map(|i| some(i, 4).then_some(if i % 7 == 0 { f64::NAN } else { i as f64 }))
                        .collect::<Float64Array>(),
                ),
            ),
            (
                "scores.label",
                Arc::new((0..50).map(|i| some(i, 5).then(|| ["C", "I"][i as usize % 2])).collect::<StringArray>()),
            ),
            ("kind", Arc::new((0..50).map(|i| some(i, 3).then(|| format!("k{}", i % 4))).collect::<StringArray>())),
            ("weight", Arc::new((0..50).map(|i| some(i, 6).then_some(i as f64 / 2.0)).collect::<Float64Array>())),
            ("latency_ms", Arc::new((0..50).map(|i| some(i, 2).then_some(i as i32)).collect::<Int32Array>())),
            ("passed", Arc::new((0..50).map(|i| some(i, 8).then_some(i % 3 == 0)).collect::<BooleanArray>())),
            ("predicted", Arc::new((0..50).map(|i| some(i, 9).then_some("yes")).collect::<StringArray>())),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut bytes = Vec::new();
        let properties = WriterProperties::builder().set_max_row_group_row_count(Some(16)).build();
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let source = Source::bytes("table", bytes);
        assert_eq!(quickly(&source, &Projection::everything()).expect("it is plain"), slowly(&source));
    }

    /// Pages that are decoded as they are, pages of other forms, and columns in which one follows the other.
    #[test]
    fn pages_of_any_form_are_read_as_rows_are() {
        // More than are read at once where there are no dictionaries.
        const ROWS: usize = 8500;
        type NameOfRow = fn(usize) -> String;
        let ids: [(&str, NameOfRow); 4] = [
            ("counting", |row| format!("q{row}")),
            ("counting with a gap", |row| format!("q{}", if row < 8300 { row } else { row + 7 })),
            ("long from some row on", |row| if row < 8300 { format!("q{row}") } else { format!("question {row:06}") }),
            ("in no order", |row| format!("é{}", row * 7919 % 10_007)),
        ];
        let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
        let forms = versions.into_iter().flat_map(|version| [(version, true), (version, false)]);
        for (form, (version, has_dictionaries)) in forms.enumerate() {
            for (place, (name, id)) in ids.iter().enumerate() {
                let is_given = |row: usize| (form + place) % 2 == 0 || row != 8400;
                let score = |row: usize| is_given(row).then_some((row % 101) as f64 / 100.0);
                let kind = |row: usize| is_given(row).then(|| format!("kind {}", row % (100 + row / 20)));
                let columns: [(&str, ArrayRef); 3] = [
                    ("id", Arc::new((0..ROWS).map(|row| Some(id(row))).collect::<StringArray>())),
                    ("score", Arc::new((0..ROWS).map(score).collect::<Float64Array>())),
                    ("kind", Arc::new((0..ROWS).map(kind).collect::<StringArray>())),
                ];
                let batch = RecordBatch::try_from_iter(columns).unwrap();
                let properties = WriterProperties::builder()
                    .set_writer_version(version)
                    .set_dictionary_enabled(has_dictionaries)
                    // Texts that come later stand as they are.
                    .set_dictionary_page_size_limit(if place % 2 == 0 { 1 << 20 } else { 2000 })
                    .set_data_page_row_count_limit(1000);
                let mut bytes = Vec::new();
                let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties.build())).unwrap();
                writer.write(&batch).unwrap();
                writer.close().unwrap();
                let source = Source::bytes("table", bytes);
                let quick = quickly(&source, &Projection::everything()).expect("it is plain");
                assert!(quick == slowly(&source), "{name}, {version:?}, dictionaries: {has_dictionaries}");
            }
        }
    }

    #[test]
    fn a_row_group_with_more_values_than_rows_is_refused() {
        let mut samples = Samples::new();
        for i in 0..60 {
            samples.push(format!("q{i}")).score("judge", f64::from(i) / 64.0);
        }
        let whole = table("rows", samples).read_all().unwrap();
        // As the metadata store a whole number: twice as large.
        let [all, fewer] = [2 * 60, 2 * 20];
        let damaged = (whole.len() / 2..whole.len()).filter(|&at| whole[at] == all).map(|at| {
            let mut bytes = whole.to_vec();
            bytes[at] = fewer;
            Source::bytes("table", bytes)
        });
        let says_fewer = |source: &Source| open(source).is_ok_and(|file| file.metadata().row_group(0).num_rows() == 20);
        let damaged: Vec<Source> = damaged.filter(says_fewer).collect();
        assert!(!damaged.is_empty());
        for source in damaged {
            assert!(quickly(&source, &Projection::everything()).is_none());
            let error = Parquet.read(&source).expect_err("there are more values").to_string();
            assert!(error.contains("a column has more values than its row group has rows, 20"), "{error}");
        }
    }

    #[test]
    fn only_wanted_columns_are_read_and_a_missing_one_is_for_the_slow_way() {
        let mut samples = Samples::new();
        samples.push(1).score("judge", 1.0).metadata("kind", "a").metadata("other", "b").field("latency_ms", 5.0);
        let source = table("wanted", samples);
        let found = quickly(&source, &Projection::only(["kind"])).expect("it is plain");
        assert_eq!(found[0].metadata.iter().count(), 1);
        assert_eq!(found[0].fields, []);
        assert!(quickly(&source, &Projection::only(["knid"])).is_none());
    }
}
