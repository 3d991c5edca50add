//! The fast reader of Parquet: plain columns as stored, only those that are needed, row groups in parallel.
//!
//! Like [`native_fast`](super::native_fast) it has no messages: it gives up on anything unusual or wrong, and
//! [`parquet`](super::parquet), which knows all the rules and explains mistakes, reads the table again row by row.

use super::native::{ColumnRole, RowsOfRun, WRAPPED_ERROR, says_no_error};
use super::native_fast::rows_by_run;
use super::parquet::{BoundedFile, WHAT, is_long_text};
use super::parquet_pages::{ColumnPages, ShortNames};
use crate::catch_panic::read_catching_panic;
use crate::columns::ColumnRoles;
use crate::{Projection, Source};
use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader as RecordBatchReader,
    ParquetRecordBatchReaderBuilder as ReaderBuilder,
};
use ::parquet::basic::Encoding;
use ::parquet::file::metadata::ParquetMetaData;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type,
};
use arrow_array::{Array, ArrayRef, DictionaryArray, StringArray};
use arrow_schema::{DataType, Field, Fields, Schema};
use calipers_core::{Cells, Table, Value};
use rayon::prelude::*;
use std::sync::Arc;

/// Fewer rows are not worth a thread.
pub(super) const ROWS_A_THREAD_MIN: usize = 100_000;
/// Rows decoded and folded at once where texts have dictionaries: metrics look at these once per batch.
pub(super) const BATCH_MAX: usize = 1 << 18;
/// Rows decoded and folded at once where they do not: few enough that their columns stay in the cache, and in memory that is used
/// again. That of larger ones goes back to the system after each batch, and comes again page by page.
const PLAIN_BATCH_MAX: usize = 1 << 13;

/// Passes on the samples of a table and returns its number of rows; `None` if it is not plain or reading was stopped.
pub(super) fn read(
    source: &Source,
    roles: &ColumnRoles,
    wanted: &Projection,
    sink: &(dyn Fn(usize, RowsOfRun) -> bool + Sync + '_),
) -> Option<usize> {
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let metadata = ArrowReaderMetadata::load(&BoundedFile::open(source).ok()?, options.clone()).ok()?;
    let columns = ParquetColumns::choose(&metadata, roles, wanted)?;
    source.expect(|| columns.ranges(metadata.metadata()));
    let metadata = ArrowReaderMetadata::try_new(
        metadata.metadata().clone(),
        options.with_schema(Arc::new(columns.schema(&metadata))),
    )
    .ok()?;
    let parts = parts(metadata.metadata());
    let read = |(place, groups): (usize, &Vec<usize>)| {
        // Each thread catches its own panics.
        let read = || Ok(columns.read(source, &metadata, groups.clone(), &|rows| sink(place, rows)));
        read_catching_panic(source, WHAT, read).ok()?
    };
    match &parts[..] {
        [one] => read((0, one)),
        several => several.par_iter().enumerate().map(read).collect::<Option<Vec<_>>>().map(|rows| rows.iter().sum()),
    }
}

/// Row groups, cut into about equal parts.
fn parts(metadata: &ParquetMetaData) -> Vec<Vec<usize>> {
    let rows = |group: usize| usize::try_from(metadata.row_group(group).num_rows()).unwrap_or(0);
    let total: usize = (0..metadata.num_row_groups()).map(rows).sum();
    let wanted = (total / ROWS_A_THREAD_MIN).clamp(1, rayon::current_num_threads());
    let mut parts = vec![Vec::new(); wanted];
    let mut before = 0;
    for group in 0..metadata.num_row_groups() {
        parts[(before * wanted / total.max(1)).min(wanted - 1)].push(group);
        before += rows(group);
    }
    parts
}

/// The columns that are read.
struct ParquetColumns(Vec<ParquetColumn>);

struct ParquetColumn {
    /// Its place in the table.
    place: usize,
    role: ColumnRole,
    /// True when its texts are stored in a dictionary.
    is_coded: bool,
    in_pages: Option<PagedKind>,
}

/// What a column holds whose pages are decoded without arrays in between.
#[derive(Clone, Copy)]
enum PagedKind {
    ShortTexts,
    Places,
    Floats,
}

impl PagedKind {
    fn of(role: &ColumnRole, kind: &DataType, is_coded: bool) -> Option<Self> {
        match (role, kind) {
            (ColumnRole::Id | ColumnRole::SampleId, DataType::Utf8) => Some(Self::ShortTexts),
            (ColumnRole::Fact(_) | ColumnRole::Label(_), DataType::Utf8) if is_coded => Some(Self::Places),
            (ColumnRole::Score(_), DataType::Float64) => Some(Self::Floats),
            _ => None,
        }
    }
}

impl ParquetColumns {
    fn choose(metadata: &ArrowReaderMetadata, roles: &ColumnRoles, wanted: &Projection) -> Option<Self> {
        let stored = metadata.metadata();
        let table = stored.file_metadata().schema_descr();
        // Leaves and columns have the same places only if nothing is nested.
        let is_flat = table.num_columns() == table.root_schema().get_fields().len();
        let chosen = choose_columns(metadata.schema().fields(), roles, wanted, |place, field, role| {
            is_flat && is_plain(field) && !is_long_text(stored, role, &[place])
        })?;
        let columns = chosen.into_iter().map(|(place, role)| {
            let kind = metadata.schema().field(place).data_type();
            let is_text = *kind == DataType::Utf8;
            let is_coded =
                is_text && !matches!(role, ColumnRole::Id | ColumnRole::SampleId) && has_dictionary(stored, place);
            let in_pages = PagedKind::of(&role, kind, is_coded);
            ParquetColumn { place, role, is_coded, in_pages }
        });
        Some(Self(columns.collect()))
    }

    /// Where the columns stand in the file.
    fn ranges(&self, metadata: &ParquetMetaData) -> Vec<std::ops::Range<u64>> {
        let of_group = |group: usize| {
            self.0.iter().map(move |column| {
                let (start, length) = metadata.row_group(group).column(column.place).byte_range();
                start..start.saturating_add(length)
            })
        };
        (0..metadata.num_row_groups()).flat_map(of_group).collect()
    }

    /// The types to read the columns as: texts in dictionaries stay there.
    fn schema(&self, metadata: &ArrowReaderMetadata) -> Schema {
        let fields: Fields = metadata
            .schema()
            .fields()
            .iter()
            .enumerate()
            .map(|(place, field)| {
                let column = self.0.iter().find(|column| column.place == place);
                let is_id = column.is_some_and(|column| matches!(column.role, ColumnRole::Id | ColumnRole::SampleId));
                if is_id && *field.data_type() == DataType::Utf8 {
                    // Names are read in place, not copied.
                    return Arc::new(Field::new(field.name(), DataType::Utf8View, field.is_nullable()));
                }
                if column.is_some_and(|column| column.is_coded) {
                    let coded = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
                    return Arc::new(Field::new(field.name(), coded, field.is_nullable()));
                }
                field.clone()
            })
            .collect();
        Schema::new(fields)
    }

    /// Reads these row groups batch by batch, and says how many rows they have.
    fn read(
        &self,
        source: &Source,
        metadata: &ArrowReaderMetadata,
        groups: Vec<usize>,
        sink: &dyn Fn(RowsOfRun) -> bool,
    ) -> Option<usize> {
        let file = Arc::new(BoundedFile::open(source).ok()?);
        let mut slots: Vec<ArrowSlot> = self.0.iter().map(|column| ArrowSlot::new(&column.role)).collect();
        let batch_max = self.batch_max();
        let mut rows = 0;
        for group in groups {
            let group = TableGroup::new(source, &file, metadata, group, batch_max);
            let columns = self.0.iter().zip(&mut slots);
            let mut columns: Vec<GroupColumn<'_>> =
                columns.map(|(column, slot)| GroupColumn::open(column, &group, slot)).collect::<Option<_>>()?;
            let mut done = 0;
            while done < group.rows {
                let batch = batch_max.min(group.rows - done);
                for (column, slot) in columns.iter_mut().zip(&mut slots) {
                    column.add(slot, &group, done, batch)?;
                }
                for rows in rows_of(&mut slots)? {
                    // A row may name an attempt that another has named.
                    if rows.samples.attempts() < rows.records || !sink(rows) {
                        return None;
                    }
                }
                done += batch;
            }
            // A damaged file may say that there are fewer rows than there are values.
            if !columns.iter_mut().all(GroupColumn::is_at_end) {
                return None;
            }
            rows += group.rows;
        }
        Some(rows)
    }

    /// How many rows are decoded and folded at once.
    fn batch_max(&self) -> usize {
        // There are few runs, but there may be many clusters.
        let has_dictionary = self.0.iter().any(|column| column.is_coded && !matches!(column.role, ColumnRole::Run(_)));
        if has_dictionary { BATCH_MAX } else { PLAIN_BATCH_MAX }
    }
}

/// A row group that is being read. A batch over two would have to join their dictionaries.
struct TableGroup<'t> {
    source: &'t Source,
    file: &'t Arc<BoundedFile>,
    metadata: &'t ArrowReaderMetadata,
    place: usize,
    rows: usize,
    batch_max: usize,
}

impl<'t> TableGroup<'t> {
    fn new(
        source: &'t Source,
        file: &'t Arc<BoundedFile>,
        metadata: &'t ArrowReaderMetadata,
        place: usize,
        batch_max: usize,
    ) -> Self {
        let rows = usize::try_from(metadata.metadata().row_group(place).num_rows()).unwrap_or(0);
        Self { source, file, metadata, place, rows, batch_max }
    }

    fn pages(&self, column: usize) -> Option<ColumnPages> {
        ColumnPages::open(self.file, self.metadata.metadata().row_group(self.place).column(column), self.rows)
    }

    /// A column as arrays, from this row on.
    fn arrays(&self, column: usize, first: usize) -> Option<RecordBatchReader> {
        let table = self.metadata.metadata();
        ReaderBuilder::new_with_metadata(BoundedFile::open(self.source).ok()?, self.metadata.clone())
            .with_projection(ProjectionMask::roots(table.file_metadata().schema_descr(), [column]))
            .with_batch_size(self.rows.clamp(1, self.batch_max))
            .with_row_groups(vec![self.place])
            .with_offset(first)
            .build()
            .ok()
    }
}

/// A column of a row group, and what is known of its values so far.
struct GroupColumn<'c> {
    column: &'c ParquetColumn,
    values: GroupValues,
}

enum GroupValues {
    ShortTexts(ColumnPages),
    /// With the code of each text of the dictionary.
    Places(ColumnPages, Vec<u32>),
    Floats(ColumnPages),
    Arrays(RecordBatchReader, KnownTexts),
}

impl<'c> GroupColumn<'c> {
    fn open(column: &'c ParquetColumn, group: &TableGroup<'_>, slot: &mut ArrowSlot) -> Option<Self> {
        let mut in_pages = || {
            let mut pages = group.pages(column.place)?;
            Some(match column.in_pages? {
                PagedKind::ShortTexts => GroupValues::ShortTexts(pages),
                PagedKind::Floats => GroupValues::Floats(pages),
                PagedKind::Places => {
                    let codes = slot.codes_of_texts(pages.dictionary_texts()?)?;
                    GroupValues::Places(pages, codes)
                }
            })
        };
        let values = match in_pages() {
            Some(values) => values,
            None => GroupValues::Arrays(group.arrays(column.place, 0)?, KnownTexts::default()),
        };
        Some(Self { column, values })
    }

    /// True if there are no more rows.
    fn is_at_end(&mut self) -> bool {
        match &mut self.values {
            GroupValues::Arrays(arrays, _) => arrays.next().is_none(),
            GroupValues::ShortTexts(pages) | GroupValues::Places(pages, _) | GroupValues::Floats(pages) => {
                pages.is_at_end()
            }
        }
    }

    /// Adds so many rows; nothing if there is something unusual in them.
    fn add(&mut self, slot: &mut ArrowSlot, group: &TableGroup<'_>, done: usize, rows: usize) -> Option<()> {
        let added = match &mut self.values {
            GroupValues::Arrays(arrays, known) => {
                let batch = arrays.next()?.ok()?;
                return if batch.num_rows() == rows { slot.add_coded(batch.columns().first()?, known) } else { None };
            }
            GroupValues::ShortTexts(pages) => pages.take_names(rows).map(|names| slot.add_short_names(names)),
            GroupValues::Places(pages, codes) => {
                let mut places = Vec::with_capacity(rows);
                let taken = pages.take_places(rows, &mut places);
                // A place beyond the dictionary is a mistake, and arrays have an error for it.
                let largest = || places.iter().fold(0, |largest, &place| largest.max(place)) as usize;
                let is_known = |_: &()| largest() < codes.len();
                taken.filter(is_known).map(|()| slot.add_places(&places, codes))
            }
            GroupValues::Floats(pages) => {
                let mut floats = Vec::with_capacity(rows);
                pages.take_floats(rows, &mut floats).map(|()| slot.add_floats(floats))
            }
        };
        if let Some(added) = added {
            return added;
        }
        // What is in the pages has another form from here on. Nothing of it has been added.
        self.values = GroupValues::Arrays(group.arrays(self.column.place, done)?, KnownTexts::default());
        self.add(slot, group, done, rows)
    }
}

/// The columns that are read, by their places; nothing if one of them is not readable as it is, or there is something unusual
/// about them.
pub(super) fn choose_columns(
    fields: &Fields,
    roles: &ColumnRoles,
    wanted: &Projection,
    is_readable: impl Fn(usize, &Field, &ColumnRole) -> bool,
) -> Option<Vec<(usize, ColumnRole)>> {
    let mut columns: Vec<(usize, ColumnRole)> = Vec::new();
    let mut found = Vec::new();
    for (place, field) in fields.iter().enumerate() {
        let Some(role) = roles.of(field.name()) else { continue };
        let is_wanted = match &role {
            // What is inside of it is for the other reader.
            ColumnRole::Fact(name) if wanted.looks_into(name) => return None,
            ColumnRole::Fact(name) | ColumnRole::Number(name) | ColumnRole::Flag(name) | ColumnRole::Label(name) => {
                wanted.has(name)
            }
            ColumnRole::Behaviors(list) if wanted.has(list.name()) => return None,
            ColumnRole::Behaviors(_) => false,
            ColumnRole::Scores
            | ColumnRole::Metadata
            | ColumnRole::Fields
            | ColumnRole::Field(_)
            | ColumnRole::NullMetadata => return None,
            ColumnRole::Id
            | ColumnRole::SampleId
            | ColumnRole::Epoch
            | ColumnRole::Score(_)
            | ColumnRole::Run(_)
            | ColumnRole::Error => true,
        };
        if !is_wanted {
            continue;
        }
        if !is_readable(place, field, &role) {
            return None;
        }
        found.push(match &role {
            ColumnRole::Fact(name)
            | ColumnRole::Number(name)
            | ColumnRole::Flag(name)
            | ColumnRole::Label(name)
            | ColumnRole::Run(name) => name.to_string(),
            _ => field.name().clone(),
        });
        columns.push((place, role));
    }
    let is_named = |name: &str| found.iter().any(|found| found == name || *found == format!("metadata.{name}"));
    // If a requested column is missing, the message lists those that exist.
    let is_complete = wanted.missing(is_named).next().is_none();
    let repeats = |role: &ColumnRole| columns.iter().filter(|(_, other)| other == role).count() > 1;
    let ids = columns.iter().filter(|(_, role)| matches!(role, ColumnRole::Id | ColumnRole::SampleId)).count();
    (ids == 1 && is_complete && !columns.iter().any(|(_, role)| repeats(role))).then_some(columns)
}

fn is_plain(field: &Field) -> bool {
    use DataType::{Boolean, Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, Utf8};
    let plain = [Boolean, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, Float32, Float64, Utf8];
    plain.contains(field.data_type())
}

pub(super) fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn has_dictionary(metadata: &ParquetMetaData, place: usize) -> bool {
    metadata.row_groups().iter().all(|group| {
        let mut encodings = group.column(place).encodings();
        encodings.any(|encoding| matches!(encoding, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY))
    })
}

/// Where the values of a column go.
pub(super) enum ArrowSlot {
    Numbers(Vec<i64>),
    Names(Table),
    Id,
    Epoch(Vec<u32>),
    Errors(Vec<(u32, String)>),
    Score { scorer: Arc<str>, cells: Cells, unscored: Vec<(u32, &'static str)> },
    Fact(Arc<str>, Cells),
    Number(Arc<str>, Vec<f64>),
    Flag(Arc<str>, Cells),
    Label(Arc<str>, Cells),
    Run(Arc<str>, Cells),
}

/// The texts of a dictionary, and their codes here. All batches of a row group have one dictionary.
#[derive(Default)]
struct KnownTexts {
    texts: Option<StringArray>,
    codes: Vec<u32>,
}

impl KnownTexts {
    /// Adds texts by their places in a dictionary, which is scanned if it is another one than before. Nothing if there is something
    /// unusual in it.
    fn add(&mut self, cells: &mut Cells, coded: &DictionaryArray<Int32Type>) -> Option<()> {
        let texts = coded.values().as_string_opt::<i32>().filter(|texts| texts.null_count() == 0)?;
        // The texts that are known are kept, so that nothing else can be in their place.
        let is_same = |known: &StringArray| {
            known.value_data().as_ptr() == texts.value_data().as_ptr()
                && known.value_offsets().as_ptr() == texts.value_offsets().as_ptr()
                && known.len() == texts.len()
        };
        if !self.texts.as_ref().is_some_and(is_same) {
            self.codes = cells.codes_of_texts(texts.iter().flatten())?;
            self.texts = Some(texts.clone());
        }
        let is_added = if coded.null_count() == 0 {
            cells.extend_known(coded.keys().values().iter().map(|&key| key as u32), &self.codes)
        } else {
            cells.extend_known(coded.keys().iter().map(|key| key.map_or(u32::MAX, |key| key as u32)), &self.codes)
        };
        is_added.then_some(())
    }
}

impl ArrowSlot {
    /// Adds a batch whose dictionary may be that of the batch before; nothing if there is something unusual in it.
    fn add_coded(&mut self, array: &ArrayRef, known: &mut KnownTexts) -> Option<()> {
        match (&mut *self, array.as_dictionary_opt::<Int32Type>()) {
            (Self::Fact(_, cells) | Self::Label(_, cells), Some(coded)) => known.add(cells, coded),
            _ => self.add(array),
        }
    }

    pub(super) fn new(role: &ColumnRole) -> Self {
        let cells = Cells::default();
        match role {
            ColumnRole::Epoch => Self::Epoch(Vec::new()),
            ColumnRole::Error => Self::Errors(Vec::new()),
            ColumnRole::Score(scorer) => Self::Score { scorer: scorer.clone(), cells, unscored: Vec::new() },
            ColumnRole::Fact(name) => Self::Fact(name.clone(), Cells::labels()),
            ColumnRole::Number(name) => Self::Number(name.clone(), Vec::new()),
            ColumnRole::Flag(name) => Self::Flag(name.clone(), cells),
            ColumnRole::Label(name) => Self::Label(name.clone(), cells),
            ColumnRole::Run(name) => Self::Run(name.clone(), Cells::labels()),
            _ => Self::Id,
        }
    }

    /// Adds a batch; nothing if there is something unusual in it.
    pub(super) fn add(&mut self, array: &ArrayRef) -> Option<()> {
        if let Self::Id = self {
            let is_text = array.as_string_view_opt().is_some();
            *self = if is_text { Self::Names(Table::default()) } else { Self::Numbers(Vec::new()) };
        }
        match self {
            Self::Id => None,
            Self::Numbers(ids) => whole_numbers(array, |numbers| ids.extend(numbers)),
            Self::Names(ids) => {
                let names = array.as_string_view_opt().filter(|names| names.null_count() == 0)?;
                if let Some(table) = ids.rows().eq(&0).then(|| Table::with_short_texts(names.views())).flatten() {
                    *ids = table;
                    return Some(());
                }
                add_names(ids, names.iter().flatten())
            }
            Self::Epoch(epochs) => {
                let mut is_good = true;
                whole_numbers(array, |numbers| {
                    epochs.extend(numbers.map(|epoch| {
                        is_good &= (0..=1_000_000_000).contains(&epoch);
                        epoch as u32
                    }));
                })?;
                is_good.then_some(())
            }
            Self::Errors(errors) => {
                for row in 0..array.len() {
                    match text(array, row) {
                        Some(message) if message.starts_with(WRAPPED_ERROR) => return None,
                        Some(message) if !says_no_error(message) => errors.push((row as u32, message.into())),
                        Some(_) => {}
                        None if array.is_null(row) => {}
                        None => return None,
                    }
                }
                Some(())
            }
            Self::Score { cells, unscored, .. } => {
                if array.null_count() > 0 {
                    let nulls = (0..array.len()).filter(|&row| array.is_null(row));
                    unscored.extend(nulls.map(|row| (row as u32, "null")));
                }
                if let Some(floats) = array.as_primitive_opt::<Float64Type>() {
                    // There may be anything under a null.
                    unscored.extend(nan_rows(floats.values(), |row| floats.is_valid(row)));
                }
                // Text may hold a list or a map.
                let is_nested = |text: &str| text.trim_start().starts_with(['{', '[']);
                add_cells(cells, array, is_nested)
            }
            Self::Fact(_, cells) | Self::Label(_, cells) => add_cells(cells, array, |_| false),
            // An empty name is none, and a long text is an error; numbers have their own way to print.
            Self::Run(_, cells) => {
                let is_text = array.as_dictionary_opt::<Int32Type>().is_some() || is_text(array.data_type());
                let is_odd = |text: &str| text.trim().is_empty() || text.len() > 200;
                is_text.then(|| add_cells(cells, array, is_odd)).flatten()
            }
            Self::Flag(_, cells) => array.as_boolean_opt().and_then(|_| add_cells(cells, array, |_| false)),
            Self::Number(_, numbers) => {
                let floats = floats(array)?;
                if numbers.is_empty() {
                    *numbers = floats;
                } else {
                    numbers.extend(floats);
                }
                Some(())
            }
        }
    }
}

impl ArrowSlot {
    /// The codes of texts in a column of texts.
    fn codes_of_texts(&mut self, texts: Vec<&str>) -> Option<Vec<u32>> {
        match self {
            Self::Fact(_, cells) | Self::Label(_, cells) => cells.codes_of_texts(texts),
            _ => None,
        }
    }

    /// Adds rows by their places among texts with these codes.
    fn add_places(&mut self, places: &[u32], codes: &[u32]) -> Option<()> {
        match self {
            Self::Fact(_, cells) | Self::Label(_, cells) => {
                cells.extend_known(places.iter().copied(), codes).then_some(())
            }
            _ => None,
        }
    }

    /// Adds names of at most twelve bytes.
    fn add_short_names(&mut self, names: ShortNames) -> Option<()> {
        if let Self::Id = self {
            *self = Self::Names(Table::default());
        }
        let Self::Names(ids) = self else { return None };
        let views = match names {
            ShortNames::Counting(texts) if ids.rows() == 0 => {
                *ids = Table::with_counting_texts(texts);
                return Some(());
            }
            ShortNames::Counting(texts) => texts.views(),
            ShortNames::Listed(views) => views,
        };
        let views = &views[..];
        if let Some(table) = ids.rows().eq(&0).then(|| Table::with_short_texts(views)).flatten() {
            *ids = table;
            return Some(());
        }
        let views: Vec<[u8; 16]> = views.iter().map(|view| view.to_le_bytes()).collect();
        let name = |view| {
            let [length, _, _, _, text @ ..]: &[u8; 16] = view;
            std::str::from_utf8(&text[..usize::from(*length)]).ok()
        };
        let names: Vec<&str> = views.iter().map(name).collect::<Option<_>>()?;
        add_names(ids, names.into_iter())
    }

    /// Adds scores, none of which is null.
    fn add_floats(&mut self, floats: Vec<f64>) -> Option<()> {
        let Self::Score { cells, unscored, .. } = self else { return None };
        unscored.extend(nan_rows(&floats, |_| true));
        cells.append_floats(floats);
        Some(())
    }
}

/// Adds the names of samples; nothing if one is blank.
fn add_names<'n>(ids: &mut Table, names: impl Iterator<Item = &'n str> + Clone) -> Option<()> {
    if names.clone().any(|name| name.trim().is_empty()) {
        return None;
    }
    names.for_each(|name| ids.push_text(name));
    Some(())
}

/// The rows with a score that is no number, and why they have none.
fn nan_rows(floats: &[f64], is_given: impl Fn(usize) -> bool) -> impl Iterator<Item = (u32, &'static str)> {
    // No early exit, so that vector instructions can do it.
    let may_have_nan = floats.iter().fold(false, |found, x| found | x.is_nan());
    let rows = if may_have_nan { floats.len() } else { 0 };
    (0..rows).filter(move |&row| floats[row].is_nan() && is_given(row)).map(|row| (row as u32, "no value"))
}

/// The whole numbers of an array that has no gaps.
fn whole_numbers(array: &ArrayRef, take: impl FnOnce(&mut dyn Iterator<Item = i64>)) -> Option<()> {
    fn of<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &ArrayRef) -> Option<impl Iterator<Item = i64> + '_> {
        let array = array.as_primitive_opt::<T>()?;
        (array.null_count() == 0).then(|| array.values().iter().map(|&number| number.into()))
    }
    match array.data_type() {
        DataType::Int64 => take(&mut of::<Int64Type>(array)?),
        DataType::Int32 => take(&mut of::<Int32Type>(array)?),
        DataType::Int16 => take(&mut of::<Int16Type>(array)?),
        DataType::Int8 => take(&mut of::<Int8Type>(array)?),
        DataType::UInt32 => take(&mut of::<UInt32Type>(array)?),
        DataType::UInt16 => take(&mut of::<UInt16Type>(array)?),
        DataType::UInt8 => take(&mut of::<UInt8Type>(array)?),
        _ => return None,
    }
    Some(())
}

/// The numbers of an array; a gap is a NaN.
fn floats(array: &ArrayRef) -> Option<Vec<f64>> {
    fn of<T: ArrowPrimitiveType>(array: &ArrayRef, number: impl Fn(T::Native) -> f64) -> Option<Vec<f64>> {
        let array = array.as_primitive_opt::<T>()?;
        if array.null_count() == 0 {
            return Some(array.values().iter().map(|&native| number(native)).collect());
        }
        Some(array.iter().map(|native| native.map_or(f64::NAN, &number)).collect())
    }
    match array.data_type() {
        DataType::Float64 => of::<Float64Type>(array, |x| x),
        DataType::Float32 => of::<Float32Type>(array, f64::from),
        DataType::Int64 => of::<Int64Type>(array, |i| i as f64),
        DataType::Int32 => of::<Int32Type>(array, f64::from),
        DataType::Int16 => of::<Int16Type>(array, f64::from),
        DataType::Int8 => of::<Int8Type>(array, f64::from),
        DataType::UInt32 => of::<UInt32Type>(array, f64::from),
        DataType::UInt16 => of::<UInt16Type>(array, f64::from),
        DataType::UInt8 => of::<UInt8Type>(array, f64::from),
        _ => None,
    }
}

fn text(array: &ArrayRef, row: usize) -> Option<&str> {
    if array.is_null(row) {
        return None;
    }
    match array.data_type() {
        DataType::Utf8 => return Some(array.as_string_opt::<i32>()?.value(row)),
        DataType::LargeUtf8 => return Some(array.as_string_opt::<i64>()?.value(row)),
        DataType::Utf8View => return Some(array.as_string_view_opt()?.value(row)),
        _ => {}
    }
    let coded = array.as_dictionary_opt::<Int32Type>()?;
    Some(coded.values().as_string_opt::<i32>()?.value(coded.keys().value(row) as usize))
}

/// Adds plain values of any kind, as they are. Nothing if some text is nested.
fn add_cells(cells: &mut Cells, array: &ArrayRef, is_nested: impl Fn(&str) -> bool) -> Option<()> {
    if let Some(coded) = array.as_dictionary_opt::<Int32Type>() {
        let texts = coded.values().as_string_opt::<i32>()?;
        if texts.null_count() > 0 || texts.iter().flatten().any(is_nested) {
            return None;
        }
        if coded.null_count() == 0 {
            cells.extend_coded(coded.keys().values().iter().map(|&key| key as u32), texts.iter().flatten());
        } else {
            let codes = coded.keys().iter().map(|key| key.map_or(u32::MAX, |key| key as u32));
            cells.extend_coded(codes, texts.iter().flatten());
        }
        return Some(());
    }
    match array.data_type() {
        DataType::Utf8 => add_texts(cells, array.as_string_opt::<i32>()?.iter(), is_nested)?,
        DataType::LargeUtf8 => add_texts(cells, array.as_string_opt::<i64>()?.iter(), is_nested)?,
        DataType::Utf8View => add_texts(cells, array.as_string_view_opt()?.iter(), is_nested)?,
        DataType::Boolean => {
            for flag in array.as_boolean_opt()? {
                match flag {
                    Some(flag) => cells.push(Value::Bool(flag)),
                    None => cells.pad(cells.len() + 1),
                }
            }
        }
        DataType::Float64 | DataType::Float32 => cells.append_floats(floats(array)?),
        _ if array.null_count() == 0 => {
            whole_numbers(array, |numbers| numbers.for_each(|number| cells.push(Value::Int(number))))?;
        }
        _ => return None,
    }
    Some(())
}

fn add_texts<'t>(
    cells: &mut Cells,
    texts: impl Iterator<Item = Option<&'t str>>,
    is_nested: impl Fn(&str) -> bool,
) -> Option<()> {
    for text in texts {
        match text {
            Some(text) if is_nested(text) => return None,
            Some(text) => cells.push_text(text),
            None => cells.pad(cells.len() + 1),
        }
    }
    Some(())
}

/// The rows of a batch, run by run. The slots are empty afterwards, but know the texts that they have seen.
pub(super) fn rows_of(slots: &mut [ArrowSlot]) -> Option<Vec<RowsOfRun>> {
    let mut runs = None;
    let mut table = slots.iter_mut().find_map(|slot| match slot {
        ArrowSlot::Numbers(ids) => Some(Table::with_numbers(std::mem::take(ids))),
        ArrowSlot::Names(table) => Some(std::mem::take(table)),
        _ => None,
    })?;
    let has_errors = slots.iter().any(|slot| matches!(slot, ArrowSlot::Errors(errors) if !errors.is_empty()));
    for slot in slots {
        match slot {
            ArrowSlot::Epoch(epochs) => table.epochs(std::mem::take(epochs)),
            ArrowSlot::Errors(errors) => errors.drain(..).for_each(|(row, message)| table.error(row, message)),
            // On an errored attempt an empty score means nothing, and the row is dropped.
            ArrowSlot::Score { unscored, .. } if has_errors && !unscored.is_empty() => return None,
            ArrowSlot::Score { scorer, cells, unscored } => {
                table.score(scorer.clone(), None, cells.take_rows());
                unscored.drain(..).for_each(|(cell, reason)| table.unscored(scorer.clone(), cell, reason));
            }
            ArrowSlot::Fact(key, cells) => table.metadata(key.clone(), cells.take_rows()),
            ArrowSlot::Number(name, numbers) => table.field(name.clone(), Cells::floats(std::mem::take(numbers))),
            ArrowSlot::Flag(name, cells) | ArrowSlot::Label(name, cells) => {
                table.field(name.clone(), cells.take_rows());
            }
            ArrowSlot::Run(name, cells) => {
                let cells = cells.take_rows();
                table.metadata(name.clone(), cells.clone());
                runs = Some(cells);
            }
            ArrowSlot::Numbers(_) | ArrowSlot::Names(_) => {}
            ArrowSlot::Id => return None,
        }
    }
    Some(rows_by_run(table, runs))
}
