//! The commonest columns of tables in memory, taken as they are: whole numbers, floats, and codes of texts.
//!
//! What this file does not take, [`ArrowSlot::add`] does, with the same result.

use super::native::ColumnRole;
use super::parquet_columns::{ArrowSlot, BATCH_MAX};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef, GenericStringArray, OffsetSizeTrait, RecordBatch, StringViewArray};
use arrow_schema::DataType;
use calipers_core::{Cells, DistinctTexts, TextList};

/// Rows folded at once where each column is taken as it is: all that is made of them stays in the cache.
const ROWS_AT_ONCE: usize = 1 << 14;
/// A dictionary with more texts is not looked through for every few rows.
const TEXTS_MAX: usize = 64;

/// How a column of a table is taken.
pub(super) enum ColumnForm {
    /// As codes of texts that all of its batches share.
    Given(Cells),
    /// Array by array, of which many may be short.
    Short,
    /// Array by array. Those with many texts are looked through whenever one is added.
    Long,
}

impl ColumnForm {
    /// The form of a column of these batches.
    pub(super) fn of(batches: &[RecordBatch], place: usize, role: &ColumnRole) -> Self {
        let mut arrays = batches.iter().map(|batch| batch.column(place));
        let Some(first) = arrays.next() else { return Self::Short };
        let Some(coded) = first.as_any_dictionary_opt() else {
            return match first.data_type() {
                DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Self::Long,
                _ => Self::Short,
            };
        };
        let texts = coded.values();
        let is_short =
            |array: &ArrayRef| array.as_any_dictionary_opt().is_some_and(|one| one.values().len() <= TEXTS_MAX);
        if is_short(first) {
            return if arrays.all(is_short) { Self::Short } else { Self::Long };
        }
        let data = texts.to_data();
        let is_shared =
            |array: &ArrayRef| array.as_any_dictionary_opt().is_some_and(|one| one.values().to_data().ptr_eq(&data));
        let is_fact = matches!(role, ColumnRole::Fact(_));
        match distinct(texts).filter(|_| is_fact) {
            Some(texts) if arrays.all(is_shared) => Self::Given(Cells::of_texts(texts)),
            _ => Self::Long,
        }
    }

    /// Where the values of the column go.
    pub(super) fn slot(&self, role: &ColumnRole) -> ArrowSlot {
        match (self, role) {
            (Self::Given(cells), ColumnRole::Fact(name)) => ArrowSlot::Fact(name.clone(), cells.clone()),
            _ => ArrowSlot::new(role),
        }
    }
}

/// How many rows of columns in these forms are folded at once.
pub(super) fn rows_at_once(forms: &[ColumnForm]) -> usize {
    if forms.iter().any(|form| matches!(form, ColumnForm::Long)) { BATCH_MAX } else { ROWS_AT_ONCE }
}

/// An array of texts as a list: both kinds of offsets, and views.
#[derive(Debug)]
struct Listed<A>(A);

impl<O: OffsetSizeTrait> TextList for Listed<GenericStringArray<O>> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn text(&self, place: usize) -> &str {
        self.0.value(place)
    }
}

impl TextList for Listed<StringViewArray> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn text(&self, place: usize) -> &str {
        self.0.value(place)
    }
}

/// The texts of a dictionary, if none is missing or there twice. They stay where they are.
fn distinct(texts: &ArrayRef) -> Option<DistinctTexts> {
    if texts.null_count() > 0 {
        return None;
    }
    match texts.data_type() {
        DataType::Utf8 => DistinctTexts::new(Listed(texts.as_string_opt::<i32>()?.clone())),
        DataType::LargeUtf8 => DistinctTexts::new(Listed(texts.as_string_opt::<i64>()?.clone())),
        DataType::Utf8View => DistinctTexts::new(Listed(texts.as_string_view_opt()?.clone())),
        _ => None,
    }
}

/// Adds an array as it is. False, and without effect, if it is not of the commonest kinds or has gaps.
pub(super) fn add_as_it_is(slot: &mut ArrowSlot, array: &ArrayRef) -> bool {
    if let ArrowSlot::Fact(_, cells) = slot {
        return add_codes(cells, array);
    }
    if array.null_count() > 0 {
        return false;
    }
    match slot {
        ArrowSlot::Id => match array.as_primitive_opt::<Int64Type>() {
            Some(ids) => *slot = ArrowSlot::Numbers(ids.values().to_vec()),
            None => return false,
        },
        ArrowSlot::Numbers(all) => match array.as_primitive_opt::<Int64Type>() {
            Some(ids) => all.extend_from_slice(ids.values()),
            None => return false,
        },
        ArrowSlot::Score { cells, .. } => match array.as_primitive_opt::<Float64Type>() {
            // No early exit, so that vector instructions can do it. A score that is no number has a reason.
            Some(floats) if !floats.values().iter().fold(false, |found, x| found | x.is_nan()) => {
                cells.extend_floats(floats.values());
            }
            _ => return false,
        },
        ArrowSlot::Number(_, all) => match array.as_primitive_opt::<Float64Type>() {
            Some(floats) => all.extend_from_slice(floats.values()),
            None => return false,
        },
        _ => return false,
    }
    true
}

/// Adds the codes of an array to a column whose texts are given.
fn add_codes(cells: &mut Cells, array: &ArrayRef) -> bool {
    fn of<K: ArrowDictionaryKeyType<Native: TryInto<u32>>>(cells: &mut Cells, array: &ArrayRef) -> bool {
        let Some(coded) = array.as_dictionary_opt::<K>() else { return false };
        // What is no code is a gap.
        let code = |key: K::Native| key.try_into().unwrap_or(u32::MAX);
        match coded.null_count() {
            0 => cells.extend_codes(coded.keys().values().iter().map(|&key| code(key))),
            _ => cells.extend_codes(coded.keys().iter().map(|key| key.map_or(u32::MAX, code))),
        }
    }
    let DataType::Dictionary(keys, _) = array.data_type() else { return false };
    match **keys {
        DataType::Int8 => of::<Int8Type>(cells, array),
        DataType::Int16 => of::<Int16Type>(cells, array),
        DataType::Int32 => of::<Int32Type>(cells, array),
        DataType::Int64 => of::<Int64Type>(cells, array),
        DataType::UInt8 => of::<UInt8Type>(cells, array),
        DataType::UInt16 => of::<UInt16Type>(cells, array),
        DataType::UInt32 => of::<UInt32Type>(cells, array),
        DataType::UInt64 => of::<UInt64Type>(cells, array),
        _ => false,
    }
}
