//! The fast reader of CSV: cells straight into columns, only those that are needed, parts of the table in parallel.
//!
//! Like [`native_fast`](super::native_fast), whose columns it fills, it has no messages: it gives up on anything unusual or wrong,
//! and [`csv`](super::csv), which knows all the rules and explains mistakes, reads the table again row by row.

use super::csv::{self, CsvTable};
use super::csv_cells::CellEnds;
use super::csv_columns::{CutRows, PlainColumns};
use super::line_blocks::LineBlocks;
use super::native::{ColumnRole, RowsOfRun};
use super::native_fast::{FlatRecords, TENS, Token};
use crate::columns::ColumnRoles;
use crate::source::SourcePart;
use crate::{Projection, Source};
use calipers_core::{PackedText, Value};
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::HashSet;
use std::io::Read;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// A smaller part is not worth a thread.
const PART_MIN: usize = 1 << 20;
/// The places of columns are compared with each other, so there must not be many.
const COLUMNS_MAX: usize = 256;
/// As many ends of cells are found at once: enough for many rows, few enough to stay in the cache.
const ENDS: usize = 4096;
/// Rows that are passed on together where none is kept: few enough that their columns stay in the cache.
const BATCH: usize = if cfg!(test) { 1000 } else { 1 << 15 };
/// The same where columns are made again for each batch, with dictionaries that begin empty.
const FLAT_BATCH: usize = if cfg!(test) { 700 } else { 1 << 17 };

/// The rows of a table, part by part; nothing if it is not plain.
pub(super) fn read(table: &CsvTable<'_>, roles: &ColumnRoles, wanted: &Projection) -> Option<Vec<RowsOfRun>> {
    let text = table.bytes.as_text().filter(|_| is_usual(table))?;
    let rows = rows_below_header(table)?;
    let parts = parts(&table.bytes, rows)?;
    let columns = TableColumns { names: &table.names, delimiter: table.delimiter, roles, wanted };
    let read = |part: &Range<usize>| {
        let mut rows = PlainRows::new(columns)?;
        rows.add(&text[part.clone()])?;
        Some(rows)
    };
    let read: Vec<PlainRows<'_>> = match &parts[..] {
        // A small table is not worth the threads.
        [one] => vec![read(one)?],
        parts => parts.par_iter().map(read).collect::<Option<_>>()?,
    };
    finish(read, wanted)
}

/// The rows of a table that stands in a file, of which these are the first. The file is read in blocks of whole lines, its parts in
/// parallel; where a part begins within quotes, the one before it ends within quotes and gives up.
pub(super) fn read_blocks(
    source: &Source,
    head: &CsvTable<'_>,
    roles: &ColumnRoles,
    wanted: &Projection,
) -> Option<Vec<RowsOfRun>> {
    let parts = read_parts(source, head, roles, wanted, |_, _| Some(()))?;
    finish(parts, wanted)
}

/// Passes on the rows of such a table, some at a time, and keeps none. Nothing if the table is not plain, or its rows are not wanted any
/// more.
pub(super) fn stream(
    source: &Source,
    head: &CsvTable<'_>,
    roles: &ColumnRoles,
    wanted: &Projection,
    sink: &(dyn Fn(usize, RowsOfRun) -> bool + Sync + '_),
) -> Option<()> {
    let known: Mutex<HashSet<Arc<str>>> = Mutex::default();
    let pass_on = |place: usize, rows: RowsOfRun| {
        // A row may name an attempt that another has named.
        if rows.samples.attempts() < rows.records {
            return None;
        }
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let new: Vec<Arc<str>> = rows.samples.columns().filter(|name| !known.contains(*name)).cloned().collect();
        known.extend(new);
        drop(known);
        sink(place, rows).then_some(())
    };
    let parts = read_parts(source, head, roles, wanted, |place, rows| {
        let rows = if rows.is_full() { rows.take_rows()? } else { Vec::new() };
        rows.into_iter().try_for_each(|rows| pass_on(place, rows))
    })?;
    let is_torn = is_torn(&parts);
    let rest = parts
        .into_iter()
        .enumerate()
        .flat_map(|(place, part)| part.finish().into_iter().map(move |rows| (place, rows)));
    rest.filter(|(_, rows)| rows.records > 0).try_for_each(|(place, rows)| pass_on(place, rows))?;
    let known = known.into_inner().unwrap_or_else(PoisonError::into_inner);
    let is_complete = wanted.missing(|column| known.contains(column)).next().is_none();
    (is_complete && !is_torn).then_some(())
}

/// Reads the parts of a table in parallel, and looks at the rows of a part after each block.
fn read_parts<'t>(
    source: &Source,
    head: &'t CsvTable<'_>,
    roles: &'t ColumnRoles,
    wanted: &'t Projection,
    after_block: impl Fn(usize, &mut PlainRows<'t>) -> Option<()> + Sync,
) -> Option<Vec<PlainRows<'t>>> {
    let start = rows_below_header(head).filter(|_| is_usual(head))?.start as u64;
    let columns = TableColumns { names: &head.names, delimiter: head.delimiter, roles, wanted };
    let read = |(place, part): (usize, &SourcePart)| {
        let mut reader = source.open_part(*part).ok()?;
        if place == 0 {
            std::io::copy(&mut (&mut reader).take(start), &mut std::io::sink()).ok()?;
        }
        let mut blocks = LineBlocks::new(reader);
        let mut rows = PlainRows::new(columns)?;
        let mut block = Vec::new();
        while blocks.next_into(&mut block).ok()? {
            rows.add(std::str::from_utf8(&block).ok()?)?;
            after_block(place, &mut rows)?;
        }
        Some(rows)
    };
    let parts = source.parts(rayon::current_num_threads()).ok()?;
    parts.par_iter().enumerate().map(read).collect()
}

fn is_usual(table: &CsvTable<'_>) -> bool {
    table.has_header && (2..=COLUMNS_MAX).contains(&table.names.len())
}

/// The rows of all parts; nothing if one is not the last and ends with a blank line, or a column is missing.
fn finish(parts: Vec<PlainRows<'_>>, wanted: &Projection) -> Option<Vec<RowsOfRun>> {
    let is_torn = is_torn(&parts);
    let runs: Vec<RowsOfRun> = parts.into_iter().flat_map(PlainRows::finish).collect();
    let known: HashSet<&str> = runs.iter().flat_map(|run| run.samples.columns()).map(|name| &**name).collect();
    // The message about a missing column lists those that exist.
    let is_complete = wanted.missing(|column| known.contains(column)).next().is_none();
    (is_complete && !is_torn).then_some(runs)
}

/// True when a part that is not the last ends with a blank line.
fn is_torn(parts: &[PlainRows<'_>]) -> bool {
    parts.split_last().is_some_and(|(_, before)| before.iter().any(|part| part.is_blank))
}

/// Where the rows are.
fn rows_below_header(table: &CsvTable<'_>) -> Option<Range<usize>> {
    let mut reader = csv::builder(table.delimiter).from_reader(&table.bytes[..]);
    let is_read = reader.read_byte_record(&mut ::csv::ByteRecord::new()).ok()?;
    let mut start = usize::try_from(reader.position().byte()).ok()?;
    // The parser leaves the second half of a line's end.
    if let Some([b'\r', b'\n']) = table.bytes.get(start.checked_sub(1)?..=start) {
        start += 1;
    }
    is_read.then(|| start.min(table.bytes.len())..table.bytes.len())
}

/// Cuts rows into about equal parts.
///
/// A line may end within quotes, and then no row ends with it. Before the end of a row there is an even number of quotes, as long
/// as quotes stand only around cells and in pairs within them. A reader of a part gives up on other quotes, so that no part after
/// it counts.
fn parts(bytes: &[u8], rows: Range<usize>) -> Option<Vec<Range<usize>>> {
    let wanted = (rows.len() / PART_MIN).clamp(1, rayon::current_num_threads());
    let size = rows.len() / wanted;
    let quotes = |range: Range<usize>| memchr::memchr_iter(b'"', &bytes[range]).count();
    let mut parts = Vec::new();
    let mut start = rows.start;
    for _ in 1..wanted {
        let mut end = start;
        let mut is_quoted = false;
        let mut next = start + size;
        loop {
            next += memchr::memchr(b'\n', bytes.get(next..rows.end)?)? + 1;
            is_quoted ^= quotes(end..next) % 2 == 1;
            end = next;
            if !is_quoted {
                break;
            }
        }
        parts.push(start..end);
        start = end;
    }
    parts.push(start..rows.end);
    Some(parts)
}

/// What is known of a table before its rows are read.
#[derive(Clone, Copy)]
struct TableColumns<'t> {
    names: &'t [Arc<str>],
    delimiter: u8,
    roles: &'t ColumnRoles,
    wanted: &'t Projection,
}

impl<'t> TableColumns<'t> {
    /// Empty columns for rows that are read one by one, and the cells that are needed, by their places in a row.
    fn flat(self) -> Option<(FlatRecords<'t>, Vec<(usize, PlainColumn<'t>)>)> {
        let mut flat = FlatRecords::new(self.wanted, self.roles);
        let mut columns = Vec::new();
        for (cell, name) in self.names.iter().enumerate() {
            let place = if name.is_empty() { None } else { flat.add_column(name).ok()? };
            if let (Some(place), Some(role)) = (place, self.roles.of(name)) {
                let is_id = matches!(role, ColumnRole::Id | ColumnRole::SampleId);
                let is_fact = matches!(role, ColumnRole::Fact(_));
                columns.push((cell, PlainColumn { place, role, is_id, is_fact, name }));
            }
        }
        Some((flat, columns))
    }

    /// Columns for rows that are read many at a time, if these are all that is needed.
    fn plain(self, columns: &[(usize, PlainColumn<'t>)]) -> Option<PlainColumns<'t>> {
        let is_there = |scorer: &Arc<str>| {
            columns.iter().any(|(_, column)| matches!(&column.role, ColumnRole::Score(known) if known == scorer))
        };
        // A record without the column that was named for a scorer is unscored.
        let has_scorers = self.roles.scorers().iter().all(is_there);
        let each = columns.iter().map(|(place, column)| (*place, column.name, column.role.clone()));
        has_scorers.then(|| PlainColumns::new(each))?
    }
}

/// Columns being filled from rows.
struct PlainRows<'t> {
    table: TableColumns<'t>,
    /// The first rows, if they have nothing but the commonest values.
    plain: Option<PlainColumns<'t>>,
    /// False from the first row on that has others.
    is_plain: bool,
    /// The rows after these.
    flat: FlatRecords<'t>,
    /// The cells that are needed, by their places in a row.
    columns: Vec<(usize, PlainColumn<'t>)>,
    /// True when a blank line came last.
    is_blank: bool,
    /// Room for the ends of cells.
    ends: Vec<usize>,
}

/// What a cell is and where it goes.
struct PlainColumn<'t> {
    /// Its place among the columns being filled.
    place: usize,
    role: ColumnRole,
    is_id: bool,
    is_fact: bool,
    name: &'t str,
}

impl<'t> PlainRows<'t> {
    fn new(table: TableColumns<'t>) -> Option<Self> {
        let (flat, columns) = table.flat()?;
        let plain = table.plain(&columns);
        let (is_plain, ends) = (plain.is_some(), Vec::with_capacity(ENDS));
        Some(Self { table, plain, is_plain, flat, columns, is_blank: false, ends })
    }

    /// True when there are as many rows as are passed on together.
    fn is_full(&self) -> bool {
        let plain = self.plain.as_ref().map_or(0, PlainColumns::rows);
        if self.is_plain { plain >= BATCH } else { plain + self.flat.rows() >= FLAT_BATCH }
    }

    /// The rows so far, if there are any. Others may follow.
    fn take_rows(&mut self) -> Option<Vec<RowsOfRun>> {
        let mut rows = self.plain.as_mut().map(PlainColumns::take_rows).unwrap_or_default();
        if self.flat.rows() > 0 {
            let (empty, _) = self.table.flat()?;
            rows.extend(std::mem::replace(&mut self.flat, empty).finish());
        }
        self.is_plain = self.plain.is_some();
        Some(rows)
    }

    fn finish(mut self) -> Vec<RowsOfRun> {
        let mut rows = self.plain.as_mut().map(PlainColumns::take_rows).unwrap_or_default();
        rows.extend(self.flat.finish());
        rows
    }

    /// Adds whole rows; nothing if there is something unusual about them.
    fn add(&mut self, rows: &str) -> Option<()> {
        let ends = ['\n', '\r'];
        let text = rows.trim_end_matches(ends);
        // Another table may begin below a blank line; at the end of the file there is none.
        if text.is_empty() {
            self.is_blank |= !rows.is_empty();
            return Some(());
        }
        if self.is_blank || text.starts_with(ends) {
            return None;
        }
        let line = rows.strip_suffix('\n').unwrap_or(rows);
        self.is_blank = line.strip_suffix('\r').unwrap_or(line).len() > text.len();
        let mut cells = CellEnds::new(text.as_bytes(), self.table.delimiter);
        let (mut ends, width) = (std::mem::take(&mut self.ends), self.table.names.len());
        ends.clear();
        // What is before the first cell.
        ends.push(usize::MAX);
        let mut done = 0;
        loop {
            let is_end = cells.find(&mut ends).ok()?;
            let rows = CutRows::of(text, &ends, width);
            done += rows.count();
            // The last cell of a row ends with its line, and no other does.
            if !rows.are_lines() || cells.lines() != done {
                return None;
            }
            self.add_rows(rows)?;
            let whole = rows.count() * width;
            if is_end {
                let is_whole = whole + 1 == ends.len();
                self.ends = ends;
                return is_whole.then_some(());
            }
            ends.drain(..whole);
        }
    }

    fn add_rows(&mut self, rows: CutRows<'_>) -> Option<()> {
        self.is_plain = self.is_plain && self.plain.as_mut().is_some_and(|plain| plain.take(rows));
        if self.is_plain {
            return Some(());
        }
        rows.each().try_for_each(|(start, ends)| self.row(rows.text, start, ends))
    }

    /// Reads the row that begins here and whose cells have these ends.
    fn row(&mut self, text: &str, start: usize, ends: &[usize]) -> Option<()> {
        for (place, column) in &self.columns {
            let start = place.checked_sub(1).map_or(start, |before| ends[before] + 1);
            let cell = cell_text(text, start, ends[*place])?;
            if column.is_fact
                && let Some(fact) = plain_fact(&cell)
                && self.flat.take_fact(column.place, fact)
            {
                continue;
            }
            let token = match &cell {
                Cow::Borrowed(text) => token(&column.role, text)?,
                Cow::Owned(text) => token(&column.role, text)?,
            };
            // Tables that were put together repeat their names.
            if column.is_id && matches!(&token, Token::Text(id) if **id == *column.name) {
                return None;
            }
            self.flat.take(column.place, token)?;
        }
        self.flat.end_row()
    }
}

/// The text of a cell without the quotes around it.
fn cell_text(text: &str, start: usize, end: usize) -> Option<Cow<'_, str>> {
    // Bytes are compared one by one here: comparing texts calls a function.
    let bytes = text.as_bytes().get(start..end)?;
    let length = bytes.len() - usize::from(bytes.last() == Some(&b'\r'));
    if bytes.first() != Some(&b'"') {
        return text.get(start..start + length).map(Cow::Borrowed);
    }
    let closing = length.checked_sub(1).filter(|closing| *closing > 0 && bytes[*closing] == b'"')?;
    let inner = text.get(start + 1..start + closing)?;
    let has_pairs = memchr::memchr(b'"', inner.as_bytes()).is_some();
    Some(if has_pairs { Cow::Owned(inner.replace("\"\"", "\"")) } else { Cow::Borrowed(inner) })
}

/// The value of a cell, as [`csv::cell`] finds it; nothing if there is something unusual about it.
fn token<'c>(role: &ColumnRole, cell: &'c str) -> Option<Token<'c>> {
    // Most cells have nothing around them.
    let is_graphic = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_graphic);
    let is_bare = is_graphic(cell.as_bytes().first()) && is_graphic(cell.as_bytes().last());
    let text = if is_bare { cell } else { cell.trim() };
    let Some(&first) = text.as_bytes().first() else { return Some(Token::Null) };
    // Text in quotes of JSON, lists and maps.
    if matches!(first, b'"' | b'{' | b'[') {
        return None;
    }
    let as_text = || Some(Token::Text(Cow::Borrowed(text)));
    match role {
        ColumnRole::Id | ColumnRole::SampleId | ColumnRole::Run(_) | ColumnRole::Error => as_text(),
        ColumnRole::Fact(_) => match first {
            b'a'..=b'z' | b'A'..=b'Z' if csv::scalar(text).is_none() => as_text(),
            _ => match csv::cell(role, text) {
                Value::Int(whole) => Some(Token::Int(whole)),
                Value::Float(number) if number.is_finite() => Some(Token::Float(number)),
                Value::Bool(flag) => Some(Token::Bool(flag)),
                Value::Text(_) => as_text(),
                Value::Null | Value::Missing => Some(Token::Null),
                _ => None,
            },
        },
        ColumnRole::Score(_)
        | ColumnRole::Epoch
        | ColumnRole::Number(_)
        | ColumnRole::Flag(_)
        | ColumnRole::Label(_) => plain_number(text).or_else(|| match csv::scalar(text) {
            Some(Value::Int(whole)) => Some(Token::Int(whole)),
            Some(Value::Float(number)) if number.is_finite() => Some(Token::Float(number)),
            Some(Value::Bool(flag)) => Some(Token::Bool(flag)),
            // Spreadsheets write numbers in other ways, and none of them begins with a letter.
            None if first.is_ascii_alphabetic() && !csv::is_not_available(text) => as_text(),
            _ => None,
        }),
        _ => None,
    }
}

/// A short text that is what it seems to be.
fn plain_fact(cell: &str) -> Option<PackedText> {
    let [first, .., last] = cell.as_bytes() else { return None };
    // None of the words that stand for other values has another length.
    let may_be_scalar = matches!(cell.len(), 3 | 4 | 5 | 8) && csv::scalar(cell).is_some();
    let is_plain = first.is_ascii_alphabetic() && last.is_ascii_graphic() && !may_be_scalar;
    if is_plain { PackedText::new(cell) } else { None }
}

/// A number without an exponent and with few digits.
pub(super) fn plain_number(text: &str) -> Option<Token<'static>> {
    let (is_negative, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let (mut mantissa, mut point) = (0_i64, None);
    // As many digits make a whole number that a float holds exactly, and a division of it by a power of ten rounds once.
    if digits.len() > 16 {
        return None;
    }
    for (place, &byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => mantissa = 10 * mantissa + i64::from(byte - b'0'),
            b'.' if point.is_none() => point = Some(place),
            _ => return None,
        }
    }
    match point {
        None if (1..=15).contains(&digits.len()) => Some(Token::Int(if is_negative { -mantissa } else { mantissa })),
        Some(point) if point > 0 && point + 1 < digits.len() => {
            let number = mantissa as f64 / TENS[digits.len() - point - 1];
            Some(Token::Float(if is_negative { -number } else { number }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadError, Source};
    use calipers_core::{Record, Samples, Shards};

    fn slowly(source: &Source) -> Result<Vec<Record>, ReadError> {
        let table = CsvTable::of(source)?;
        let roles = ColumnRoles::native();
        let everything = Projection::everything();
        let runs =
            super::super::native::collect_shards(source, roles, &everything, &|_, each| table.records(roles, each))?;
        Ok(runs.into_iter().flat_map(|run| run.samples.into_whole().records().collect::<Vec<_>>()).collect())
    }

    fn quickly(source: &Source) -> Option<Vec<Record>> {
        let table = CsvTable::of(source).ok()?;
        let rows = read(&table, ColumnRoles::native(), &Projection::everything())?;
        let samples: Vec<Samples> = rows.into_iter().map(|rows| rows.samples).collect();
        Some(Shards::new(samples).into_whole().records().collect())
    }

    /// Cells that tables may have, with those that look like others or are wrong.
    const CELLS: [&str; 49] = [
        "",
        " ",
        "0",
        "1",
        "-1",
        "1.5",
        "0.1",
        "-0.0",
        "-0",
        "007",
        "1.10",
        "1.",
        ".5",
        "+1",
        "1e3",
        "1E-2",
        "5e-324",
        "0.30000000000000004",
        "123456789012345",
        "1234567890123456",
        "12345678901234.5",
        "9223372036854775808",
        "1e999",
        "true",
        "True",
        "FALSE",
        "null",
        "None",
        "nan",
        "NaN",
        "inf",
        "Infinity",
        "NA",
        "n/a",
        "-",
        "4/5",
        "75%",
        "\"0,75\"",
        "C",
        "I",
        "correct",
        " padded ",
        "\"a, b\"",
        "\"say \"\"yes\"\"\"",
        "\"two\nlines\"",
        "5\" pipe",
        "\"{\"\"a\"\": 1}\"",
        "[1]",
        "é",
    ];

    #[test]
    fn the_quick_way_reads_what_the_slow_way_reads_or_gives_up() {
        let mut state = 1_u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let names =
            ["score", "category", "latency_ms", "passed", "error", "epoch", "metadata.kind", "scores.judge", "note"];
        let (mut same, mut refused) = (0, 0);
        for _ in 0..4000 {
            let count = 1 + next(3);
            let chosen: Vec<&str> = (0..count).map(|_| names[next(names.len())]).collect();
            let plain = next(2) == 0;
            let end = ["\n", "\r\n"][next(2)];
            let mut text = format!("id,{}{end}", chosen.join(","));
            for row in 0..1 + next(4) {
                let cells: Vec<&str> = (0..count)
                    .map(|_| if plain { ["0", "1", "0.25", "x", "C"][next(5)] } else { CELLS[next(CELLS.len())] })
                    .collect();
                let id = ["q", "7", "id", " r "][[0, 0, 0, 0, 0, 1, 2, 3][next(8)]];
                text += &format!("{id}{row},{}{end}", cells.join(","));
                if next(20) == 0 {
                    text += ["\n", "id,score\n", ",,\n", "\r"][next(4)];
                }
            }
            let source = Source::bytes("x.csv", text.as_bytes());
            match (quickly(&source), slowly(&source)) {
                (Some(quick), Ok(slow)) => {
                    assert_eq!(quick, slow, "{text}");
                    same += 1;
                }
                (Some(_), Err(error)) => panic!("read what is refused: {error}\n{text}"),
                (None, _) => refused += 1,
            }
        }
        assert!(same > 500 && refused > 500, "{same} read, {refused} left to the slow way");
    }

    #[test]
    fn rows_of_all_kinds_may_follow_each_other() {
        let mut state = 7_u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let mut same = 0;
        for case in 0..40 {
            let end = ["\n", "\r\n"][case % 2];
            // Cells of one kind, and of all kinds once in a while.
            let scores = [["0.25", "1.0", "0.30000000000000004"], ["1", "0", "17"], ["C", "I", "correct"]][case % 3];
            let facts = ["math", "x", "eleven-byte"];
            let mut text = format!("score,id,kind{end}");
            let mut number = 0;
            for _ in 0..3000 {
                let is_odd = next(2000) == 0;
                number += if next(1500) == 0 { 2 } else { 1 };
                let score = if is_odd { CELLS[next(CELLS.len())] } else { scores[next(3)] };
                let kind = if is_odd { CELLS[next(CELLS.len())] } else { facts[next(3)] };
                let id = if next(3000) == 0 { "a-name-that-is-long" } else { "q" };
                text += &format!("{score},{id}{number},{kind}{end}");
            }
            let source = Source::bytes("x.csv", text.as_bytes());
            if let Some(quick) = quickly(&source) {
                assert!(quick == slowly(&source).expect("what is read quickly is right"), "case {case}");
                same += 1;
            }
        }
        assert!(same > 5, "{same} of 40 read quickly");
    }

    #[test]
    fn a_large_table_is_passed_on_as_it_is_read() {
        let words = "some words, ".repeat(80);
        let rows = |range: Range<usize>, score: &str| -> String {
            range.map(|place| format!("q{place},{score},k{},\"{words}\"\n", place % 7)).collect()
        };
        let table = |rows: &[String]| format!("id,score,kind,note\n{}", rows.concat());
        let (first, second) = (rows(0..6000, "0.5"), rows(6000..9500, "0.25"));
        let odd = "q6000.5,0.5,a kind with a long name,\n".to_owned();
        let cases = [
            (table(&[first.clone(), second.clone()]), true),
            (table(&[first.clone(), odd, second.clone()]), true),
            (table(&[first.clone(), second.clone(), "q9500,,k,last".to_owned()]), true),
            (table(&[first.clone(), second.clone(), "q9500,0.5,,last\n\n".to_owned()]), true),
            (table(&[rows(0..9500, "1")]), true),
            (table(&[rows(0..9500, "C")]), true),
            // A second header, two attempts of a sample, a column that no row has and a blank line are for the other reader.
            (table(&[first.clone(), "id,score,kind,note\n".to_owned(), second.clone()]), false),
            (table(&[first.clone(), "q5999,0.5,k,again\n".to_owned(), second.clone()]), false),
            (table(&[first.clone(), second.clone()]).replace(",kind,", ",other,"), false),
            (table(&[first, "\n".to_owned(), second]), false),
        ];
        let wanted = Projection::only(["kind"]);
        for (place, (text, is_passed_on)) in cases.into_iter().enumerate() {
            let source = Source::bytes("x.csv", text.as_bytes());
            let parts: Mutex<std::collections::BTreeMap<usize, Vec<Samples>>> = Mutex::default();
            let keep = |part: usize, samples: Samples| {
                parts.lock().unwrap().entry(part).or_default().push(samples);
                true
            };
            let table = super::super::Format::stream(&csv::Csv, &source, &wanted, &keep);
            assert_eq!(table.is_some(), is_passed_on, "case {place}");
            let Some(table) = table else { continue };
            let parts: Vec<Samples> = parts.into_inner().unwrap().into_values().flatten().collect();
            assert!(parts.len() > 4, "case {place}: {} parts", parts.len());
            let read = super::super::Format::read_shards(&csv::Csv, &source, &wanted).expect("a table");
            assert_eq!((&table.notes, &table.columns), (&read[0].notes, &read[0].columns), "case {place}");
            let (passed, read) = (Shards::new(parts).into_whole(), read[0].samples.clone().into_whole());
            assert!(passed.records().eq(read.records()), "case {place}");
        }
    }

    #[test]
    fn a_table_is_cut_where_rows_end() {
        let mut text = "id,score,note\n".to_owned();
        for row in 0..100_000 {
            text += &format!("q{row},{},\"line one of {row}\nline two, with \"\"quotes\"\"\"\n", row % 2);
        }
        let source = Source::bytes("x.csv", text.as_bytes());
        let table = CsvTable::of(&source).unwrap();
        let cut = parts(&table.bytes, rows_below_header(&table).unwrap()).unwrap();
        assert!(cut.len() > 1 || rayon::current_num_threads() == 1);
        assert!(cut.iter().all(|part| table.bytes[part.clone()].starts_with(b"q")), "{cut:?}");
        assert_eq!(quickly(&source), Some(slowly(&source).unwrap()));
    }

    #[test]
    fn a_large_table_is_read_in_blocks_as_it_is_read_as_a_whole() {
        let words = "some words, ".repeat(80);
        let row = |place: usize| format!("q{place},{},k{},\"{words}\"\n", place % 2, place % 7);
        let table = |inside: &str, end: &str| {
            let rows = |range: Range<usize>| range.map(row).collect::<String>();
            format!("id,score,kind,note\n{}{inside}{}{end}", rows(0..6000), rows(6000..9500))
        };
        let lines = "a line\n".repeat(50_000);
        let cases = [
            (table("", ""), true),
            (table("", "\n\r\n"), true),
            (table("", "").replace('\n', "\r\n"), true),
            (table("", "q9500,1,k,last"), true),
            (table("q6000.5,1,k,\"a cell of\ntwo lines\"\n", ""), true),
            (table(&format!("q6000.5,1,k,\"{lines}\"\n"), ""), false),
            (table("\n", ""), false),
            (table("q,1\n", ""), false),
            (table("q6000.5,1,5\" pipe,x\n", ""), false),
            (table("q7,1,k,again\n", ""), true),
            (table("id,score,kind,note\n", ""), false),
        ];
        let everything = Projection::everything();
        for (text, is_plain) in cases {
            let source = Source::bytes("x.csv", text.as_bytes());
            let head = CsvTable::of_head(&source).expect("it has many rows");
            let rows = read_blocks(&source, &head, ColumnRoles::native(), &everything);
            let tail = || text[text.len() - 40..].to_owned();
            assert_eq!(rows.is_some(), is_plain, "{}", tail());
            let slow = slowly(&source);
            if let Some(rows) = rows {
                let samples: Vec<Samples> = rows.into_iter().map(|rows| rows.samples).collect();
                let quick: Vec<Record> = Shards::new(samples).into_whole().records().collect();
                assert!(quick == *slow.as_ref().expect("it is plain"), "{}", tail());
            }
            let read = super::super::Format::read(&csv::Csv, &source);
            match (read, slow) {
                (Ok(runs), Ok(slow)) => assert!(runs[0].samples.records().eq(slow), "{}", tail()),
                (Err(error), Err(slow)) => assert_eq!(error.to_string(), slow.to_string()),
                (read, slow) => panic!("{:?} and {:?}: {}", read.is_ok(), slow.is_ok(), tail()),
            }
        }
        assert!(CsvTable::of_head(&Source::bytes("x.csv", &b"id,score\nq1,1\n"[..])).is_none(), "it is small");
        let mut bytes = table("", "").into_bytes();
        let last = bytes.len() - 10;
        bytes[last] = 0xe9;
        let source = Source::bytes("x.csv", bytes);
        let head = CsvTable::of_head(&source).expect("it has many rows");
        assert!(read_blocks(&source, &head, ColumnRoles::native(), &everything).is_none(), "it is not UTF-8");
    }
}
