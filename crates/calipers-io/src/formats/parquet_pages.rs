//! The pages of a Parquet column, decoded without arrays in between.
//!
//! Most tables store names and numbers one after the other, and categories as places in a dictionary, with a value in every row. These
//! are decoded here. At anything else, and at anything wrong, there is no answer: [`parquet_columns`](super::parquet_columns) then goes on
//! from the same row with arrays of Arrow.

use super::parquet::BoundedFile;
use ::parquet::basic::Encoding;
use ::parquet::column::page::{Page, PageReader};
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::serialized_reader::SerializedPageReader;
use bytes::Bytes;
use calipers_core::CountingTexts;
use std::sync::Arc;

/// The values of one column in one row group.
pub(super) struct ColumnPages {
    pages: SerializedPageReader<BoundedFile>,
    /// True when the column may have gaps, so that levels stand before the values of a page.
    has_levels: bool,
    dictionary: Option<(Bytes, usize)>,
    /// The dictionary of a column of doubles, once it was needed.
    known_floats: Option<Vec<f64>>,
    page: PageValues,
}

/// The values of a page that have not been taken yet.
struct PageValues {
    bytes: Bytes,
    at: usize,
    left: usize,
    /// The runs of places in the dictionary; nothing where values stand as they are.
    places: Option<PlaceRuns>,
}

impl ColumnPages {
    pub(super) fn open(file: &Arc<BoundedFile>, chunk: &ColumnChunkMetaData, rows: usize) -> Option<Self> {
        let column = chunk.column_descr();
        let pages = SerializedPageReader::new(file.clone(), chunk, rows, None).ok()?;
        let page = PageValues { bytes: Bytes::new(), at: 0, left: 0, places: None };
        let is_flat = column.max_rep_level() == 0 && column.max_def_level() <= 1;
        let has_levels = column.max_def_level() == 1;
        is_flat.then_some(Self { pages, has_levels, dictionary: None, known_floats: None, page })
    }

    /// The texts of the dictionary, if the first page is one.
    pub(super) fn dictionary_texts(&mut self) -> Option<Vec<&str>> {
        if self.dictionary.is_none() {
            self.next_page()?;
        }
        let (bytes, count) = self.dictionary.as_ref()?;
        // Short lengths are text, too, and so most dictionaries are checked at once.
        let whole = std::str::from_utf8(bytes).ok();
        let mut texts = Vec::with_capacity((*count).min(bytes.len() / LENGTH));
        let mut at = 0;
        for _ in 0..*count {
            // Each text has its length before it.
            let start = at + LENGTH;
            let length = u32::from_le_bytes(*bytes.get(at..start)?.first_chunk()?) as usize;
            at = start.checked_add(length)?;
            texts.push(match whole {
                Some(whole) => whole.get(start..at)?,
                None => std::str::from_utf8(bytes.get(start..at)?).ok()?,
            });
        }
        Some(texts)
    }

    /// Adds the places in the dictionary of the next rows to an empty list.
    pub(super) fn take_places(&mut self, rows: usize, places: &mut Vec<u32>) -> Option<()> {
        self.take(rows, |page, count| {
            let runs = page.places.as_mut()?;
            runs.take(&page.bytes, count, places)
        })
    }

    /// The next rows of a column of texts of at most twelve bytes.
    pub(super) fn take_names(&mut self, rows: usize) -> Option<ShortNames> {
        let mut names = None;
        self.take(rows, |page, count| {
            if page.places.is_some() {
                return None;
            }
            let bytes = &page.bytes[..];
            let names = match &mut names {
                Some(names) => names,
                None => {
                    let first = view_at(bytes, page.at)?;
                    names.insert(match CountingTexts::beginning_with(first) {
                        Some(texts) => ShortNames::Counting(texts),
                        None => ShortNames::Listed(Vec::new()),
                    })
                }
            };
            let mut left = count;
            if let ShortNames::Counting(texts) = names {
                let (taken, length) = texts.take(bytes.get(page.at..)?, count);
                page.at += length;
                left -= taken;
                if left > 0 {
                    *names = ShortNames::Listed(texts.views());
                }
            }
            if let ShortNames::Listed(views) = names {
                views.reserve(left);
                for _ in 0..left {
                    let view = view_at(bytes, page.at)?;
                    views.push(view);
                    page.at += LENGTH + view as u32 as usize;
                }
            }
            (page.at <= bytes.len()).then_some(())
        })?;
        names
    }

    /// Adds the next rows of a column of doubles.
    pub(super) fn take_floats(&mut self, rows: usize, floats: &mut Vec<f64>) -> Option<()> {
        const DOUBLE: usize = size_of::<f64>();
        let number = |bytes: &[u8; DOUBLE]| f64::from_le_bytes(*bytes);
        // The dictionary comes before the first page that needs it.
        if self.page.left == 0 {
            self.next_page()?;
        }
        if let (None, Some((bytes, count))) = (&self.known_floats, &self.dictionary) {
            let floats: Vec<f64> = bytes.as_chunks().0.iter().map(number).collect();
            self.known_floats = Some(floats).filter(|floats| floats.len() == *count);
        }
        let known = self.known_floats.take().unwrap_or_default();
        let mut places = Vec::new();
        let taken = self.take(rows, |page, count| match &mut page.places {
            Some(runs) => {
                places.clear();
                runs.take(&page.bytes, count, &mut places)?;
                let end = floats.len() + count;
                floats.extend(places.iter().map_while(|&place| known.get(place as usize)));
                (floats.len() == end).then_some(())
            }
            None => {
                let end = page.at.checked_add(count.checked_mul(DOUBLE)?)?;
                floats.extend(page.bytes.get(page.at..end)?.as_chunks().0.iter().map(number));
                page.at = end;
                Some(())
            }
        });
        self.known_floats = Some(known);
        taken
    }

    /// True if there are no more values.
    pub(super) fn is_at_end(&mut self) -> bool {
        while self.page.left == 0 {
            match self.pages.get_next_page() {
                Ok(None) => return true,
                Ok(Some(page)) if page.is_data_page() && page.num_values() == 0 => {}
                _ => return false,
            }
        }
        false
    }

    /// Takes so many rows, page by page.
    fn take(&mut self, rows: usize, mut of_page: impl FnMut(&mut PageValues, usize) -> Option<()>) -> Option<()> {
        let mut left = rows;
        while left > 0 {
            if self.page.left == 0 {
                self.next_page()?;
                continue;
            }
            let count = left.min(self.page.left);
            of_page(&mut self.page, count)?;
            self.page.left -= count;
            left -= count;
        }
        Some(())
    }

    /// Goes on to the next page, of the dictionary or of values.
    fn next_page(&mut self) -> Option<()> {
        let (bytes, values, encoding, start) = match self.pages.get_next_page().ok()?? {
            Page::DictionaryPage { buf, num_values, encoding, .. } => {
                let is_plain = matches!(encoding, Encoding::PLAIN | Encoding::PLAIN_DICTIONARY);
                if !is_plain || self.dictionary.is_some() {
                    return None;
                }
                self.dictionary = Some((buf, num_values as usize));
                return Some(());
            }
            Page::DataPage { buf, num_values, encoding, def_level_encoding, .. } => {
                let mut start = 0;
                if self.has_levels {
                    let length = u32::from_le_bytes(*buf.first_chunk()?) as usize;
                    start = LENGTH.checked_add(length)?;
                    let levels = buf.get(LENGTH..start)?;
                    if def_level_encoding != Encoding::RLE || !are_all_given(levels, num_values as usize) {
                        return None;
                    }
                }
                (buf, num_values, encoding, start)
            }
            Page::DataPageV2 {
                buf, num_values, encoding, num_nulls, def_levels_byte_len, rep_levels_byte_len, ..
            } => {
                let start = def_levels_byte_len as usize;
                let levels = buf.get(..start)?;
                let is_full = !self.has_levels || are_all_given(levels, num_values as usize);
                if num_nulls != 0 || rep_levels_byte_len != 0 || !is_full {
                    return None;
                }
                (buf, num_values, encoding, start)
            }
        };
        let (places, at) = match encoding {
            Encoding::PLAIN => (None, start),
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => {
                let width = u32::from(*bytes.get(start)?);
                (Some(PlaceRuns::new(width, start + 1)?), start + 1)
            }
            _ => return None,
        };
        self.page = PageValues { bytes, at, left: values as usize, places };
        Some(())
    }
}

/// The bytes of a length, and those of a view.
const LENGTH: usize = 4;
const VIEW: usize = 16;

/// The names of samples.
pub(super) enum ShortNames {
    Counting(CountingTexts),
    /// As Arrow's views hold them: the length in the lowest four bytes, then the text, then zeros.
    Listed(Vec<u128>),
}

/// The text that begins here with its length, as a view; none if it has more than twelve bytes. In a page it stands as in a view, but
/// without zeros.
fn view_at(bytes: &[u8], at: usize) -> Option<u128> {
    let rest = bytes.get(at..)?;
    let view = match rest.first_chunk::<VIEW>() {
        Some(view) => u128::from_le_bytes(*view),
        None => {
            let mut view = [0; VIEW];
            view[..rest.len()].copy_from_slice(rest);
            u128::from_le_bytes(view)
        }
    };
    let length = view as u32 as usize;
    (length <= VIEW - LENGTH).then(|| view & u128::MAX >> (8 * (VIEW - LENGTH - length)))
}

/// True when these levels, of which there are so many, all say that there is a value.
fn are_all_given(levels: &[u8], count: usize) -> bool {
    let given = || {
        let mut runs = PlaceRuns::new(1, 0)?;
        let mut left = count;
        let mut some = Vec::new();
        while left > 0 {
            // Most columns have one run of them.
            runs.begin(levels)?;
            match runs.run {
                PlaceRun::Repeated { place: 1, left: alike } => {
                    left -= left.min(alike);
                    runs.run = PlaceRun::Repeated { place: 1, left: 0 };
                }
                PlaceRun::Repeated { .. } => return None,
                PlaceRun::Packed { left: packed, .. } => {
                    some.clear();
                    let next = left.min(packed);
                    runs.take(levels, next, &mut some)?;
                    if some.contains(&0) {
                        return None;
                    }
                    left -= next;
                }
            }
        }
        Some(())
    };
    given().is_some()
}

/// Whole numbers of so many bits, in runs of one number that is repeated and runs of numbers side by side.
struct PlaceRuns {
    width: u32,
    /// Where the next run begins.
    at: usize,
    run: PlaceRun,
}

enum PlaceRun {
    Repeated {
        place: u32,
        left: usize,
    },
    Packed {
        /// Where the next number begins.
        bit: usize,
        left: usize,
    },
}

impl PlaceRun {
    fn left(&self) -> usize {
        let (Self::Repeated { left, .. } | Self::Packed { left, .. }) = self;
        *left
    }
}

impl PlaceRuns {
    fn new(width: u32, at: usize) -> Option<Self> {
        (width <= u32::BITS).then_some(Self { width, at, run: PlaceRun::Repeated { place: 0, left: 0 } })
    }

    /// Begins the next run, if there is nothing left of this one.
    fn begin(&mut self, bytes: &[u8]) -> Option<()> {
        if self.run.left() > 0 {
            return Some(());
        }
        let (mut header, mut shift) = (0_u32, 0);
        loop {
            let byte = *bytes.get(self.at)?;
            self.at += 1;
            header |= u32::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                break;
            }
            shift += 7;
        }
        let count = (header >> 1) as usize;
        if count == 0 {
            return None;
        }
        let width = self.width as usize;
        let (length, run) = if header & 1 == 1 {
            (count.checked_mul(width)?, PlaceRun::Packed { bit: self.at.checked_mul(8)?, left: count.checked_mul(8)? })
        } else {
            let length = width.div_ceil(8);
            let number = bytes.get(self.at..self.at + length)?;
            let place = number.iter().rev().fold(0, |place, byte| place << 8 | u32::from(*byte));
            (length, PlaceRun::Repeated { place, left: count })
        };
        self.at = self.at.checked_add(length).filter(|end| *end <= bytes.len())?;
        self.run = run;
        Some(())
    }

    /// Adds the next numbers to a list.
    fn take(&mut self, bytes: &[u8], count: usize, places: &mut Vec<u32>) -> Option<()> {
        let mut wanted = count;
        while wanted > 0 {
            self.begin(bytes)?;
            match &mut self.run {
                PlaceRun::Repeated { place, left } => {
                    let next = wanted.min(*left);
                    places.extend(std::iter::repeat_n(*place, next));
                    *left -= next;
                    wanted -= next;
                }
                PlaceRun::Packed { bit, left } => {
                    let next = wanted.min(*left);
                    unpack(bytes, *bit, self.width as usize, next, places);
                    *bit += next * self.width as usize;
                    *left -= next;
                    wanted -= next;
                }
            }
        }
        Some(())
    }
}

/// Adds numbers of so many bits that stand side by side from this bit on.
fn unpack(bytes: &[u8], bit: usize, width: usize, count: usize, places: &mut Vec<u32>) {
    let mask = (1_u64 << width) - 1;
    let number = |word: u64, bit: usize| (word >> (bit % 8) & mask) as u32;
    // Eight bytes are read at once, which the last numbers do not have behind them.
    let room = (bytes.len() * 8).saturating_sub(bit + 64) / width.max(1);
    let fast = count.min(room);
    places.extend((0..fast).map(|place| {
        let at = bit + place * width;
        let word = bytes[at / 8..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        number(word, at)
    }));
    places.extend((fast..count).map(|place| {
        let at = bit + place * width;
        let mut word = [0; 8];
        let rest = &bytes[(at / 8).min(bytes.len())..];
        let length = rest.len().min(word.len());
        word[..length].copy_from_slice(&rest[..length]);
        number(u64::from_le_bytes(word), at)
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers as the format stores them: runs of eight side by side, and runs of one number.
    fn stored(numbers: &[u32], width: usize, is_packed: impl Fn(usize) -> bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (place, eight) in numbers.chunks(8).enumerate() {
            if eight.len() == 8 && eight.iter().all(|number| *number == eight[0]) && !is_packed(place) {
                bytes.push(8 << 1);
                bytes.extend_from_slice(&eight[0].to_le_bytes()[..width.div_ceil(8)]);
                continue;
            }
            bytes.push(1 << 1 | 1);
            let first = bytes.len() * 8;
            bytes.resize(bytes.len() + width, 0);
            for (at, number) in eight.iter().enumerate() {
                (0..width).filter(|bit| number >> bit & 1 == 1).for_each(|bit| {
                    let bit = first + at * width + bit;
                    bytes[bit / 8] |= 1 << (bit % 8);
                });
            }
        }
        bytes
    }

    #[test]
    fn numbers_of_any_width_are_those_that_were_stored() {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 32) as u32
        };
        for width in 0..=32_usize {
            let limit = if width == 32 { u32::MAX } else { (1 << width) - 1 };
            let numbers: Vec<u32> = (0..40)
                .flat_map(|_| {
                    let (alike, repeats) = (next() & limit, next() % 2 == 0);
                    (0..8).map(|_| if repeats { alike } else { next() & limit }).collect::<Vec<_>>()
                })
                .collect();
            let bytes = stored(&numbers, width, |place| place % 3 == 0);
            let mut runs = PlaceRuns::new(width as u32, 0).expect("not too wide");
            let mut found = Vec::new();
            for count in [1, 7, 8, 100, 3, 201] {
                runs.take(&bytes, count, &mut found).expect("there are enough");
            }
            assert_eq!(found, numbers, "{width} bits");
            assert!(runs.take(&bytes, 1, &mut found).is_none(), "there are no more");
            let mut cut = PlaceRuns::new(width as u32, 0).expect("not too wide");
            let is_whole = cut.take(&bytes[..bytes.len() - 1], numbers.len(), &mut Vec::new()).is_some();
            assert!(!is_whole, "{width} bits, cut off");
        }
        assert!(PlaceRuns::new(33, 0).is_none());
    }

    #[test]
    fn a_missing_value_shows_in_the_levels() {
        for (levels, count, is_full) in [
            (&[200, 1, 1][..], 100, true),
            (&[200, 1, 0], 100, false),
            (&[200, 1, 1], 101, false),
            (&[3, 0xff, 16, 1], 16, true),
            (&[3, 0x7f, 16, 1], 16, false),
            // What is behind the last one does not count.
            (&[3, 0x7f], 7, true),
            (&[], 1, false),
            (&[], 0, true),
            (&[0, 1], 1, false),
            (&[0xff; 9], 1, false),
        ] {
            assert_eq!(are_all_given(levels, count), is_full, "{levels:?}");
        }
    }
}
