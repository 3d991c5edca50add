//! The commonest columns of a CSV, filled many rows at a time: short names and texts, numbers and labels, one in every row.
//!
//! One column is read after the other, so that what has to be done for a cell is decided once for all of its rows. If a cell of some
//! rows is anything else, none of these rows is taken, and [`csv_fast`](super::csv_fast) goes on row by row.

use super::csv;
use super::csv_fast::plain_number;
use super::native::{ColumnRole, RowsOfRun};
use super::native_fast::{Token, rows_by_run};
use calipers_core::{Cells, CountingTexts, PackedText, Table, Value};
use std::ops::Range;
use std::sync::Arc;

/// Whole rows that have been cut into cells.
#[derive(Clone, Copy)]
pub(super) struct CutRows<'r> {
    pub(super) text: &'r str,
    /// Where the cells end, and before these the place before the first cell, which is the largest number if that is the first byte.
    ends: &'r [usize],
    /// How many cells a row has.
    width: usize,
}

impl<'r> CutRows<'r> {
    /// The rows that are whole, of those whose cells have these ends.
    pub(super) fn of(text: &'r str, ends: &'r [usize], width: usize) -> Self {
        Self { text, ends: &ends[..=(ends.len() - 1) / width * width], width }
    }

    pub(super) fn count(&self) -> usize {
        self.ends.len() / self.width
    }

    /// True when all rows end where a line does.
    pub(super) fn are_lines(&self) -> bool {
        let bytes = self.text.as_bytes();
        let is_line_end = |end: &usize| bytes.get(*end).is_none_or(|byte| *byte == b'\n');
        self.ends[1..].chunks(self.width).filter_map(<[usize]>::last).all(is_line_end)
    }

    /// Where each row begins, and its cells end.
    pub(super) fn each(self) -> impl Iterator<Item = (usize, &'r [usize])> {
        let rows = self.ends[1..].chunks(self.width);
        self.ends.iter().step_by(self.width).zip(rows).map(|(before, ends)| (before.wrapping_add(1), ends))
    }

    /// Where the cells at one place of all rows begin and end.
    fn cells(self, place: usize) -> impl Iterator<Item = Range<usize>> + 'r {
        let (bytes, is_last) = (self.text.as_bytes(), place + 1 == self.width);
        let ends = self.ends.get(place..).unwrap_or_default();
        ends.chunks(self.width).take(self.count()).filter_map(|ends| ends.first_chunk::<2>()).map(
            move |[before, end]| {
                let start = before.wrapping_add(1);
                // The line may end in two bytes.
                let has_return = is_last && start < *end && bytes.get(*end - 1) == Some(&b'\r');
                start..*end - usize::from(has_return)
            },
        )
    }
}

/// Columns with a value in every row, and nothing unusual about any.
pub(super) struct PlainColumns<'t> {
    names: NameColumn<'t>,
    /// With their places in a row.
    values: Vec<(usize, ValueColumn)>,
    rows: usize,
}

impl<'t> PlainColumns<'t> {
    /// The columns at these places of a row; nothing if one of them has to be read row by row.
    pub(super) fn new(columns: impl Iterator<Item = (usize, &'t str, ColumnRole)>) -> Option<Self> {
        let (mut names, mut values) = (None, Vec::new());
        for (place, name, role) in columns {
            match role {
                ColumnRole::Id | ColumnRole::SampleId => {
                    names = Some(NameColumn { place, header: name, names: RowNames::None, waiting: Vec::new() });
                }
                ColumnRole::Score(scorer) => values.push((place, ValueColumn::score(scorer))),
                ColumnRole::Fact(key) => values.push((place, ValueColumn::fact(key))),
                _ => return None,
            }
        }
        Some(Self { names: names?, values, rows: 0 })
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Takes in whole rows. False, and without effect, if they have to be read row by row.
    pub(super) fn take(&mut self, rows: CutRows<'_>) -> bool {
        let are_plain = self.names.look_at(rows).is_some()
            && self.values.iter_mut().all(|(place, column)| column.look_at(rows, *place).is_some());
        if are_plain {
            self.rows += rows.count();
            self.names.keep();
            self.values.iter_mut().for_each(|(_, column)| column.keep());
        } else {
            self.names.waiting.clear();
            self.values.iter_mut().for_each(|(_, column)| column.forget());
        }
        are_plain
    }

    /// The rows so far, if there are any. Columns that go on know the texts that they have seen.
    pub(super) fn take_rows(&mut self) -> Vec<RowsOfRun> {
        if std::mem::take(&mut self.rows) == 0 {
            return Vec::new();
        }
        let mut table = std::mem::take(&mut self.names.names).into_table();
        for (_, column) in &mut self.values {
            let cells = column.cells.take_rows();
            match &column.target {
                ValueTarget::Score(scorer) => table.score(scorer.clone(), None, cells),
                ValueTarget::Fact(key) => table.metadata(key.clone(), cells),
            }
        }
        rows_by_run(table, None)
    }
}

/// The names of samples.
struct NameColumn<'t> {
    place: usize,
    /// What the column is called.
    header: &'t str,
    names: RowNames,
    /// Those of the rows that are being looked at, as views.
    waiting: Vec<u128>,
}

#[derive(Default)]
enum RowNames {
    #[default]
    None,
    Counting(CountingTexts),
    /// As Arrow's views hold them: the length in the lowest four bytes, then the text, then zeros.
    Listed(Vec<u128>),
}

/// The most bytes of a name that is held in a view.
const NAME_MAX: usize = 12;

impl NameColumn<'_> {
    /// Looks at the names of whole rows; nothing if one is long, may be a number or is what the column is called.
    fn look_at(&mut self, rows: CutRows<'_>) -> Option<()> {
        let bytes = rows.text.as_bytes();
        for cell in rows.cells(self.place) {
            let text = bytes.get(cell.clone())?;
            // What begins with a letter is no number.
            let is_name = text.first()?.is_ascii_alphabetic() && text.last()?.is_ascii_graphic();
            // Tables that were put together repeat their names.
            if !is_name || text.len() > NAME_MAX || text == self.header.as_bytes() {
                return None;
            }
            let kept = padded(bytes, cell.start) & ((1 << (8 * text.len())) - 1);
            self.waiting.push(kept << u32::BITS | text.len() as u128);
        }
        Some(())
    }

    /// Takes in the names that were looked at.
    fn keep(&mut self) {
        let mut views = self.waiting.drain(..).peekable();
        if let (RowNames::None, Some(first)) = (&self.names, views.peek()) {
            let counting = CountingTexts::beginning_with(*first);
            self.names = counting.map_or(RowNames::Listed(Vec::new()), RowNames::Counting);
        }
        if let RowNames::Counting(texts) = &mut self.names {
            while views.next_if(|view| texts.take_view(*view)).is_some() {}
            if views.peek().is_some() {
                self.names = RowNames::Listed(texts.views());
            }
        }
        if let RowNames::Listed(listed) = &mut self.names {
            listed.extend(views);
        }
    }
}

impl RowNames {
    /// A table with these rows.
    fn into_table(self) -> Table {
        let views = match self {
            Self::None => return Table::default(),
            Self::Counting(texts) => return Table::with_counting_texts(texts),
            Self::Listed(views) => views,
        };
        if let Some(table) = Table::with_short_texts(&views) {
            return table;
        }
        let mut table = Table::default();
        for view in views {
            let [length, _, _, _, text @ ..] = view.to_le_bytes();
            table.push_text(std::str::from_utf8(&text[..usize::from(length)]).unwrap_or_default());
        }
        table
    }
}

/// The sixteen bytes that begin here, with zeros behind the last one of all.
fn padded(bytes: &[u8], at: usize) -> u128 {
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.first_chunk() {
        Some(chunk) => u128::from_le_bytes(*chunk),
        None => {
            let mut chunk = [0; 16];
            chunk[..rest.len()].copy_from_slice(rest);
            u128::from_le_bytes(chunk)
        }
    }
}

/// Scores or facts.
struct ValueColumn {
    target: ValueTarget,
    cells: Cells,
    /// Those of the rows that are being looked at.
    waiting: WaitingValues,
}

enum ValueTarget {
    Score(Arc<str>),
    Fact(Arc<str>),
}

/// Values of one kind.
#[derive(Default)]
struct WaitingValues {
    floats: Vec<f64>,
    wholes: Vec<i64>,
    texts: Vec<PackedText>,
}

impl ValueColumn {
    fn score(scorer: Arc<str>) -> Self {
        Self { target: ValueTarget::Score(scorer), cells: Cells::default(), waiting: WaitingValues::default() }
    }

    fn fact(key: Arc<str>) -> Self {
        Self { target: ValueTarget::Fact(key), cells: Cells::labels(), waiting: WaitingValues::default() }
    }

    /// Looks at the values of whole rows; nothing if they are not all short texts or, where they are scores, all numbers of one kind.
    fn look_at(&mut self, rows: CutRows<'_>, place: usize) -> Option<()> {
        let (text, cells, waiting) = (rows.text, rows.cells(place), &mut self.waiting);
        let is_label = |bytes: &[u8]| bytes.first().is_some_and(u8::is_ascii_alphabetic);
        if let ValueTarget::Fact(_) = self.target {
            return look_at_texts(text, cells, waiting);
        }
        let first = text.as_bytes().get(rows.cells(place).next()?)?;
        if is_label(first) {
            let mut each = rows.cells(place);
            // Some words stand for no score.
            let are_scores = each.all(|cell| text.get(cell).is_some_and(|text| !csv::is_not_available(text)));
            return if are_scores { look_at_texts(text, cells, waiting) } else { None };
        }
        for cell in cells {
            match score_number(text.get(cell)?)? {
                Token::Float(number) if waiting.wholes.is_empty() => waiting.floats.push(number),
                Token::Int(whole) if waiting.floats.is_empty() => waiting.wholes.push(whole),
                _ => return None,
            }
        }
        Some(())
    }

    /// Takes in the values that were looked at.
    fn keep(&mut self) {
        let WaitingValues { floats, wholes, texts } = &mut self.waiting;
        if !floats.is_empty() {
            self.cells.extend_floats(floats);
        }
        wholes.iter().for_each(|whole| self.cells.push(Value::Int(*whole)));
        if !texts.is_empty() {
            self.cells.extend_packed(texts);
        }
        self.forget();
    }

    fn forget(&mut self) {
        let WaitingValues { floats, wholes, texts } = &mut self.waiting;
        floats.clear();
        wholes.clear();
        texts.clear();
    }
}

/// A number that has nothing around it.
fn score_number(text: &str) -> Option<Token<'static>> {
    plain_number(text).or_else(|| match csv::scalar(text)? {
        Value::Int(whole) => Some(Token::Int(whole)),
        Value::Float(number) if number.is_finite() => Some(Token::Float(number)),
        _ => None,
    })
}

/// Looks at short texts that are what they seem to be; nothing if one is not.
fn look_at_texts(text: &str, cells: impl Iterator<Item = Range<usize>>, waiting: &mut WaitingValues) -> Option<()> {
    let bytes = text.as_bytes();
    for cell in cells {
        let inner = bytes.get(cell.clone())?;
        let first = inner.first()?;
        // None of the words that stand for other values has another length or begins with another letter.
        let may_be_scalar = matches!(inner.len(), 3 | 4 | 5 | 8) && matches!(first | 0x20, b't' | b'f' | b'n' | b'i');
        let is_plain = first.is_ascii_alphabetic() && inner.last()?.is_ascii_graphic();
        if !is_plain || may_be_scalar && csv::scalar(text.get(cell.clone())?).is_some() {
            return None;
        }
        waiting.texts.push(PackedText::within(text, cell)?);
    }
    Some(())
}
