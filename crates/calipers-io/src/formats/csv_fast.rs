//! The fast reader of CSV: cells straight into columns, only those that are needed, parts of the table in parallel.
//!
//! Like [`native_fast`](super::native_fast), whose columns it fills, it has no messages: it gives up on anything unusual or wrong,
//! and [`csv`](super::csv), which knows all the rules and explains mistakes, reads the table again row by row.

use super::csv::{self, CsvTable};
use super::native::{ColumnRole, RowsOfRun};
use super::native_fast::{FlatRecords, TENS, Token};
use crate::Projection;
use crate::columns::ColumnRoles;
use calipers_core::Value;
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// A smaller part is not worth a thread.
const PART_MIN: usize = 1 << 20;
/// The places of columns are compared with each other, so there must not be many.
const COLUMNS_MAX: usize = 256;

/// The rows of a table, part by part; nothing if it is not plain.
pub(super) fn read(table: &CsvTable<'_>, roles: &ColumnRoles, wanted: &Projection) -> Option<Vec<RowsOfRun>> {
    let is_usual = table.has_header && (2..=COLUMNS_MAX).contains(&table.names.len());
    let text = std::str::from_utf8(&table.bytes).ok().filter(|_| is_usual)?;
    let rows = rows_below_header(table)?;
    let parts = parts(&table.bytes, rows)?;
    let (names, delimiter) = (&table.names[..], table.delimiter);
    let read = |part: &Range<usize>| {
        PlainRows::new(names, delimiter, roles, wanted)?.read(&text[part.clone()], part.end == text.len())
    };
    let read: Vec<Vec<RowsOfRun>> = match &parts[..] {
        // A small table is not worth the threads.
        [one] => vec![read(one)?],
        parts => parts.par_iter().map(read).collect::<Option<_>>()?,
    };
    let runs: Vec<RowsOfRun> = read.into_iter().flatten().collect();
    let known: HashSet<&str> = runs.iter().flat_map(|run| run.samples.columns()).map(|name| &**name).collect();
    // The message about a missing column lists those that exist.
    let is_complete = wanted.missing(|column| known.contains(column)).next().is_none();
    is_complete.then_some(runs)
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

/// Columns being filled from rows.
struct PlainRows<'t> {
    flat: FlatRecords<'t>,
    delimiter: u8,
    /// For each cell of a row what it is and where it goes, if it is needed.
    columns: Vec<Option<PlainColumn<'t>>>,
}

struct PlainColumn<'t> {
    place: usize,
    role: ColumnRole,
    name: &'t str,
}

impl<'t> PlainRows<'t> {
    fn new(names: &'t [Arc<str>], delimiter: u8, roles: &'t ColumnRoles, wanted: &'t Projection) -> Option<Self> {
        let mut flat = FlatRecords::new(wanted, roles);
        let mut columns = Vec::new();
        for name in names {
            let place = if name.is_empty() { None } else { flat.add_column(name).ok()? };
            let column = place.and_then(|place| Some(PlainColumn { place, role: roles.of(name)?, name }));
            columns.push(column);
        }
        Some(Self { flat, delimiter, columns })
    }

    fn read(mut self, text: &str, is_last: bool) -> Option<Vec<RowsOfRun>> {
        let bytes = text.as_bytes();
        let mut at = 0;
        loop {
            let row = at;
            while matches!(bytes.get(at), Some(b'\n' | b'\r')) {
                at += 1;
            }
            // Another table may begin below a blank line; at the end of the file there is none.
            let is_blank = at > row;
            if at >= bytes.len() {
                return (!is_blank || is_last).then(|| self.flat.finish());
            }
            if is_blank {
                return None;
            }
            at = self.row(text, at)?;
        }
    }

    /// Reads the row that begins here, and says where it ends.
    fn row(&mut self, text: &str, mut at: usize) -> Option<usize> {
        let last = self.columns.len() - 1;
        for (cell, column) in self.columns.iter().enumerate() {
            let found = Cell::read(text, at, self.delimiter)?;
            // The last cell ends with the line, and no other does.
            if found.ends_row != (cell == last) {
                return None;
            }
            at = found.next;
            let Some(column) = column else { continue };
            let token = match &found.text {
                Cow::Borrowed(text) => token(&column.role, text)?,
                Cow::Owned(text) => token(&column.role, text)?,
            };
            // Tables that were put together repeat their names.
            let is_id = matches!(column.role, ColumnRole::Id | ColumnRole::SampleId);
            if is_id && matches!(&token, Token::Text(id) if **id == *column.name) {
                return None;
            }
            self.flat.take(column.place, token)?;
        }
        self.flat.end_row()?;
        Some(at)
    }
}

/// A cell of a row.
struct Cell<'t> {
    text: Cow<'t, str>,
    /// Where the next one begins.
    next: usize,
    ends_row: bool,
}

impl<'t> Cell<'t> {
    fn read(text: &'t str, start: usize, delimiter: u8) -> Option<Self> {
        let bytes = text.as_bytes();
        if bytes.get(start) == Some(&b'"') {
            return Self::read_quoted(text, start, delimiter);
        }
        let mut end = start;
        loop {
            match bytes.get(end) {
                Some(&byte) if byte == delimiter => {
                    return Some(Self { text: Cow::Borrowed(&text[start..end]), next: end + 1, ends_row: false });
                }
                // A quote within a cell is a letter like others, but shifts where rows seem to end.
                Some(b'"') => return None,
                Some(b'\n' | b'\r') | None => {
                    let next = end_of_line(bytes, end)?;
                    return Some(Self { text: Cow::Borrowed(&text[start..end]), next, ends_row: true });
                }
                Some(_) => end += 1,
            }
        }
    }

    fn read_quoted(text: &'t str, start: usize, delimiter: u8) -> Option<Self> {
        let bytes = text.as_bytes();
        let mut end = start + 1;
        let mut has_pairs = false;
        loop {
            end += memchr::memchr(b'"', bytes.get(end..)?)?;
            if bytes.get(end + 1) != Some(&b'"') {
                break;
            }
            has_pairs = true;
            end += 2;
        }
        let inner = &text[start + 1..end];
        let text = if has_pairs { Cow::Owned(inner.replace("\"\"", "\"")) } else { Cow::Borrowed(inner) };
        match bytes.get(end + 1) {
            Some(&byte) if byte == delimiter => Some(Self { text, next: end + 2, ends_row: false }),
            Some(b'\n' | b'\r') | None => {
                let next = end_of_line(bytes, end + 1)?;
                Some(Self { text, next, ends_row: true })
            }
            Some(_) => None,
        }
    }
}

/// Where the next line begins. A lone carriage return is left to the other reader.
fn end_of_line(bytes: &[u8], end: usize) -> Option<usize> {
    match (bytes.get(end), bytes.get(end + 1)) {
        (Some(b'\r'), Some(b'\n')) => Some(end + 2),
        (Some(b'\r'), _) => None,
        _ => Some(end + 1),
    }
}

/// The value of a cell, as [`csv::cell`] finds it; nothing if there is something unusual about it.
fn token<'c>(role: &ColumnRole, cell: &'c str) -> Option<Token<'c>> {
    let text = cell.trim();
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

/// A number without an exponent and with few digits.
fn plain_number(text: &str) -> Option<Token<'static>> {
    let (is_negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let (mut mantissa, mut point) = (0_i64, None);
    // As many digits make a whole number that a float holds exactly, and a division of it by a power of ten rounds once.
    if digits.len() > 16 {
        return None;
    }
    for (place, byte) in digits.bytes().enumerate() {
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
}
