//! Native records as CSV: one row per attempt, with the same names as in JSON.

use super::any_table::{self, TableReading};
use super::native::{self, ColumnRole, NativeRecord, RecordConsumer, RowsOfRun};
use super::row_places::{command_on, shell_word};
use super::{Format, ShardSink, StreamedTable, csv_fast};
use crate::columns::ColumnRoles;
use crate::columns::known_names::{IDS, RUNS, SCORERS, SCORES, find, is_measure, is_spelt_like};
use crate::error::printable;
use crate::source::decode_windows_1252;
use crate::{FilePlace, Projection, ReadError, RecordedRun, Shape, Source};
use calipers_core::{Labels, Shards, Value, parse_number, pluralize};
use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::ops::Deref;
use std::sync::Arc;

/// Tables with a header that has an `id`.
pub(crate) struct Csv;

impl Format for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn about(&self) -> &'static str {
        "Calipers records as CSV, with commas, semicolons, tabs or bars"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        delimiter_of_id(&shape.head).is_some()
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        native::whole(self.read_shards(source, &Projection::everything()))
    }

    fn can_stream(&self) -> bool {
        true
    }

    fn stream(&self, source: &Source, wanted: &Projection, sink: &ShardSink<'_>) -> Option<StreamedTable> {
        // Columns with roles of their own may number records, which is for the other reader.
        let head = CsvTable::of_head(source).filter(|_| source.columns().is_empty())?;
        let table = any_table::csv_to_stream(source, &head, wanted).ok()??;
        let keep = |part: usize, rows: RowsOfRun| {
            let Some(samples) = table.check_part(rows.samples) else { return false };
            // Several attempts of a sample may be of different runs, and a word that columns are called may stand in a second header.
            let is_single = samples.attempts() == samples.len();
            let has_names = samples.scorers().flat_map(|scorer| samples.score_labels(scorer)).any(is_column_name);
            is_single && !has_names && sink(part, samples)
        };
        csv_fast::stream(source, &head, &table.roles, &table.wanted, &keep)?;
        let StreamedTable { columns, notes } = table.finish();
        let thousands = any_table::thousands_note(&head, &columns);
        Some(StreamedTable { columns, notes: head.notes.iter().cloned().chain(notes).chain(thousands).collect() })
    }

    fn read_shards(&self, source: &Source, wanted: &Projection) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
        if let Some(runs) = read_blocks(source, wanted) {
            return Ok(runs);
        }
        let table = CsvTable::of(source)?;
        any_table::read_csv(source, &table, wanted, &|reading, wanted| match reading {
            TableReading::Flat(roles) => {
                let records = |_: &Source, each: &mut RecordConsumer<'_>| table.records(roles, each);
                match csv_fast::read(&table, roles, wanted) {
                    Some(rows) => native::check_runs(source, rows, table.notes.clone(), roles, &records),
                    None => native::collect_shards(source, roles, wanted, &records),
                }
            }
            TableReading::Tree(tree) => tree.read_csv(source, &table, wanted),
        })
    }
}

/// Reads a large and plain table block by block, so that it never stands in memory as a whole. Nothing if there is anything unusual about
/// it: then the whole table is read and explained.
fn read_blocks(source: &Source, wanted: &Projection) -> Option<Vec<RecordedRun<Shards>>> {
    let table = CsvTable::of_head(source)?;
    let give_up = || {
        table.gave_up.set(true);
        source.error("the table has to be read as a whole")
    };
    let read = |reading: &TableReading, wanted: &Projection| match reading {
        TableReading::Flat(roles) if !table.gave_up.get() => {
            let rows = csv_fast::read_blocks(source, &table, roles, wanted).ok_or_else(give_up)?;
            native::check_runs(source, rows, table.notes.clone(), roles, &|_, _| Err(give_up()))
        }
        _ => Err(give_up()),
    };
    let runs = any_table::read_csv(source, &table, wanted, &read).ok()?;
    (!table.gave_up.get()).then_some(runs)
}

pub(crate) const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];

const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// The delimiter under which the first line is a header with an `id`.
fn delimiter_of_id(head: &[u8]) -> Option<u8> {
    let is_id = |name: &String| matches!(name.as_str(), "id" | "sample_id");
    DELIMITERS.into_iter().find(|&delimiter| first_row(head, delimiter).iter().any(is_id))
}

/// The table without its mark, and without a first line that says what separates its cells, or is the upper edge of a frame.
fn without_preamble(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_prefix(&BOM).unwrap_or(bytes);
    let is_separator = |line: &[u8]| {
        // Some programs put the line in quotes, as they do any cell.
        let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
        matches!(line, [b's', b'e', b'p', b'=', delimiter] if DELIMITERS.contains(delimiter))
    };
    // Databases draw a frame around their tables: `+----+-------+`.
    let is_frame = |line: &[u8]| line.starts_with(b"+-") && line.iter().all(|byte| matches!(byte, b'+' | b'-'));
    match bytes.iter().position(|byte| *byte == b'\n').map(|end| (end, bytes[..end].trim_ascii())) {
        Some((end, line)) if is_separator(line) || is_frame(line) => &bytes[end + 1..],
        _ => bytes,
    }
}

fn first_row(head: &[u8], delimiter: u8) -> Vec<String> {
    let head = without_preamble(head);
    let mut header = ::csv::ByteRecord::new();
    match builder(delimiter).from_reader(head).read_byte_record(&mut header) {
        Ok(true) => header.iter().map(|name| String::from_utf8_lossy(name.trim_ascii()).into_owned()).collect(),
        _ => Vec::new(),
    }
}

/// The delimiter that cuts the first rows into the most columns, all rows into the same number.
fn delimiter_of_rows(head: &[u8]) -> Option<u8> {
    const ROWS: usize = 20;
    let head = without_preamble(head);
    if !matches!(head.trim_ascii_start().first(), Some(first) if !matches!(first, b'{' | b'[' | b'<'))
        || head.contains(&0)
    {
        return None;
    }
    let width = |delimiter: u8| {
        let mut widths = Vec::new();
        let mut row = ::csv::ByteRecord::new();
        let mut reader = builder(delimiter).from_reader(head);
        while widths.len() < ROWS && reader.read_byte_record(&mut row).is_ok_and(|is_row| is_row) {
            widths.push(row.len());
        }
        // The last row may be cut off where the head ends.
        if widths.len() > 2 && widths.len() < ROWS {
            widths.pop();
        }
        let first = *widths.first()?;
        (first > 1 && widths.iter().all(|width| *width == first)).then_some(first)
    };
    let found = DELIMITERS.into_iter().filter_map(|delimiter| Some((width(delimiter)?, delimiter)));
    found.max_by_key(|(width, _)| *width).map(|(_, delimiter)| delimiter)
}

/// As much of a table as shows how its cells are separated.
const HEAD: usize = 1 << 20;

/// A way to write a score that does not mean one thing beside another.
#[derive(Clone, Copy, PartialEq)]
enum ScoreForm {
    /// `85%` or `4/5`, which is below 1 beside numbers that are not.
    Share,
    /// A plain number above 1.
    AboveOne,
    /// A decimal comma, beside which a dot may separate thousands.
    Comma,
    /// Three digits behind a dot.
    Dots,
}

/// A table with the names in its first line, and how its cells are separated.
pub(super) struct CsvTable<'s> {
    source: &'s Source,
    pub(super) bytes: TableBytes,
    pub(super) delimiter: u8,
    /// The names; an empty one has no name.
    pub(super) names: Vec<Arc<str>>,
    /// The names that several columns have.
    pub(super) doubled: Vec<Arc<str>>,
    notes: Vec<String>,
    /// The lines of the file above the first one here.
    lines_above: u64,
    /// True for a table of Markdown, whose line of dashes is blank here.
    is_markdown: bool,
    /// False when the first line is a row, and the columns are known by their places.
    pub(super) has_header: bool,
    /// A number that was written as spreadsheets do.
    converted: OnceCell<(String, f64)>,
    /// The ways in which the scores of a scorer are written, each with the first one.
    forms: RefCell<Vec<(ScoreForm, Arc<str>, String)>>,
    /// How many scores are marked as not available.
    unavailable: Cell<u64>,
    /// True when these are only the first rows.
    is_head: bool,
    /// Set when the first rows are not enough.
    gave_up: Cell<bool>,
}

/// The content of a table. Whether it is text is looked at once.
pub(super) enum TableBytes {
    Text(String),
    Other(Vec<u8>),
}

impl Deref for TableBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Other(bytes) => bytes,
        }
    }
}

impl TableBytes {
    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Other(_) => None,
        }
    }
}

impl<'s> CsvTable<'s> {
    /// Reads a table, whatever its columns are.
    pub(super) fn of(source: &'s Source) -> Result<Self, ReadError> {
        Ok(Self::of_bytes(source, source.read_all()?))
    }

    /// The names and the first rows of a large table that is a plain file; nothing if there is something unusual about them.
    pub(super) fn of_head(source: &'s Source) -> Option<Self> {
        // Compressed files have one part.
        if source.remote().is_some() || source.parts(2).ok()?.len() < 2 {
            return None;
        }
        let mut head = Vec::with_capacity(HEAD);
        source.open().ok()?.take(HEAD as u64).read_to_end(&mut head).ok()?;
        head.truncate(memchr::memrchr(b'\n', &head)? + 1);
        let has_preamble = without_preamble(&head).len() < head.len();
        if has_preamble || head.trim_ascii_start().starts_with(b"|") || std::str::from_utf8(&head).is_err() {
            return None;
        }
        let table = Self { is_head: true, ..Self::of_bytes(source, head) };
        // The last of these rows may be cut off.
        let rows = any_table::SURVEYED + 1;
        (table.has_header && table.first_rows(rows).len() == rows).then_some(table)
    }

    fn of_bytes(source: &'s Source, bytes: Vec<u8>) -> Self {
        let mut notes = Vec::new();
        let mut bytes = match String::from_utf8(bytes) {
            Ok(text) => TableBytes::Text(text),
            Err(error) => match decode_windows_1252(error.as_bytes()) {
                Some(text) => {
                    notes.push("the text is not UTF-8 and was read as Windows-1252".to_owned());
                    TableBytes::Text(text)
                }
                None => TableBytes::Other(error.into_bytes()),
            },
        };
        let preamble = bytes.len() - without_preamble(&bytes).len();
        let lines_above = memchr::memchr_iter(b'\n', &bytes[..preamble]).count() as u64;
        match &mut bytes {
            TableBytes::Text(text) => drop(text.drain(..preamble)),
            TableBytes::Other(bytes) => drop(bytes.drain(..preamble)),
        }
        let markdown = bytes.as_text().and_then(from_markdown);
        let is_markdown = markdown.is_some();
        bytes = markdown.map_or(bytes, TableBytes::Text);
        let is_native = source.columns().is_empty();
        let by_id = delimiter_of_id(&bytes);
        let by_rows = || delimiter_of_rows(&bytes[..bytes.len().min(HEAD)]);
        let delimiter = by_id.filter(|_| is_native).or_else(by_rows).or(by_id).unwrap_or(b',');
        let mut table = Self {
            source,
            names: first_row(&bytes, delimiter).into_iter().map(Into::into).collect(),
            bytes,
            delimiter,
            doubled: Vec::new(),
            notes,
            lines_above,
            is_markdown,
            has_header: true,
            converted: OnceCell::new(),
            forms: RefCell::new(Vec::new()),
            unavailable: Cell::new(0),
            is_head: false,
            gave_up: Cell::new(false),
        };
        table.name_places();
        table.name_columns();
        table
    }

    /// Takes the first line for a row if it seems to hold values, and columns are said by their places.
    fn name_places(&mut self) {
        let places: Vec<String> = (0..self.names.len()).map(name_of_place).collect();
        let said = self.source.columns();
        let is_said = |name: &String| said.pairs().iter().any(|pair| pair.uses(name));
        let is_named = self.names.iter().any(|name| said.pairs().iter().any(|pair| pair.uses(name)));
        if self.lacks_header() && !is_named && places.iter().any(is_said) {
            self.has_header = false;
            self.names = places.into_iter().map(Into::into).collect();
        }
    }

    /// The line of a later row that seems to hold the names: below a title, or below a line that names groups of columns.
    pub(super) fn later_header(&self) -> Option<u64> {
        let known = [&["id", "sample_id"][..], &IDS].concat();
        let mut row = ::csv::ByteRecord::new();
        let mut reader = builder(self.delimiter).from_reader(&self.bytes[..]);
        for _ in 0..10 {
            if !reader.read_byte_record(&mut row).ok()? {
                return None;
            }
            let names: Vec<Arc<str>> =
                row.iter().map(|cell| String::from_utf8_lossy(cell.trim_ascii()).into_owned().into()).collect();
            let line =
                row.position().map_or(0, |start| start.line() + leading_lines(&self.bytes, start.byte() as usize));
            let line = line + self.lines_above;
            if line > 1 + self.lines_above && !find(&names, &known).is_empty() {
                return Some(line);
            }
        }
        None
    }

    /// Gives names to columns without one if something is said about them, and tells columns of the same name apart.
    fn name_columns(&mut self) {
        let is_said = |name: &str| self.source.columns().pairs().iter().any(|pair| pair.uses(name));
        let mut known: HashMap<Arc<str>, usize> = HashMap::new();
        let mut doubled = Vec::new();
        const NOTES_MAX: usize = 8;
        let (mut renamed, mut nameless) = (0, 0);
        let taken: HashSet<Arc<str>> = self.names.iter().cloned().collect();
        for (place, name) in self.names.iter_mut().enumerate() {
            if name.is_empty() {
                let by_place = name_of_place(place);
                if is_said(&by_place) && !taken.contains(by_place.as_str()) {
                    *name = by_place.into();
                } else {
                    if nameless < NOTES_MAX {
                        self.notes.push(format!("column {} has no name and was not read", place + 1));
                    }
                    nameless += 1;
                }
                continue;
            }
            let times = known.entry(name.clone()).or_default();
            *times += 1;
            if *times > 1 {
                let other =
                    (*times..).map(|time| format!("{name} ({time})")).find(|other| !taken.contains(other.as_str()));
                if *times == 2 {
                    doubled.push(name.clone());
                }
                if let Some(other) = other {
                    if renamed < NOTES_MAX {
                        self.notes.push(format!("two columns are named `{name}`; the later one was read as `{other}`"));
                    }
                    renamed += 1;
                    *name = other.into();
                }
            }
        }
        for (count, what) in [(renamed, "have the name of another"), (nameless, "have no name and were not read")] {
            if count > NOTES_MAX {
                self.notes.push(format!("{} more columns {what}", count - NOTES_MAX));
            }
        }
        self.doubled = doubled;
    }

    /// True when the first line seems to hold values and no names: a number is no name. A line without a name for its first column
    /// is the header of an index.
    pub(super) fn lacks_header(&self) -> bool {
        let has_index = self.names.first().is_some_and(|name| name.is_empty());
        !has_index
            && self
                .names
                .iter()
                .any(|name| parse_number(name).is_some() || matches!(&**name, "True" | "False" | "true" | "false"))
    }

    /// The names of the columns that have one.
    pub(super) fn columns(&self) -> Vec<Arc<str>> {
        self.names.iter().filter(|name| !name.is_empty()).cloned().collect()
    }

    /// True when cells may hold maps. If only the head of a table with maps is known, it has to be read as a whole.
    pub(super) fn may_hold_maps(&self) -> bool {
        if !self.is_head {
            return memchr::memchr(b'{', &self.bytes).is_some();
        }
        self.gave_up.set(self.gave_up.get() || self.source.holds_byte(b'{'));
        false
    }

    /// What to know about a measure whose numbers all have three digits behind a dot: where semicolons separate the cells, a dot may
    /// separate thousands.
    pub(super) fn thousands_note(&self, is_measure: &dyn Fn(&str) -> bool) -> Option<String> {
        const ROWS: usize = 100;
        let is_grouped = |cell: &String| is_grouped_by_dots(cell);
        if self.delimiter != b';' {
            return None;
        }
        let rows = self.first_rows(ROWS);
        let measures = self.names.iter().enumerate().filter(|(_, name)| is_measure(name));
        measures.into_iter().find_map(|(place, name)| {
            let mut cells = rows.iter().filter_map(|row| row.get(place)).filter(|cell| !cell.is_empty());
            let first = cells.next().filter(|cell| is_grouped(cell))?;
            let number = parse_number(first)?;
            cells.all(is_grouped).then(|| {
                format!("`{first}` of `{name}` is {number} here: if its dots separate thousands, write it without them")
            })
        })
    }

    /// The first rows as texts.
    pub(super) fn first_rows(&self, rows: usize) -> Vec<Vec<String>> {
        let text = |cell: &[u8]| String::from_utf8_lossy(cell).trim().to_owned();
        let mut reader = builder(self.delimiter).from_reader(&self.bytes[..]);
        let read = reader.byte_records().skip(usize::from(self.has_header)).take(rows).map_while(Result::ok);
        read.map(|row| row.iter().map(text).collect()).collect()
    }

    /// Passes on each row below the header, with its line.
    pub(super) fn each_row(
        &self,
        take: &mut dyn FnMut(u64, &::csv::ByteRecord) -> Result<(), ReadError>,
    ) -> Result<Vec<String>, ReadError> {
        let (source, bytes) = (self.source, &self.bytes[..]);
        let mut reader = builder(self.delimiter).from_reader(bytes);
        let mut row = ::csv::ByteRecord::new();
        let broken = |error: ::csv::Error| source.error(format!("not valid CSV: {error}"));
        let width = self.names.len();
        let mut header = ::csv::ByteRecord::new();
        if self.has_header {
            reader.read_byte_record(&mut header).map_err(broken)?;
        }
        let (mut repeated_headers, mut blank, mut above) = (0, None, None);
        while reader.read_byte_record(&mut row).map_err(broken)? {
            let (line, start) = row.position().map_or((0, 0), |position| (position.line(), position.byte() as usize));
            let line = line + self.lines_above;
            // The position of a row is that of the blank lines above it, or of the second byte of the line end before them.
            let first_line = line + u64::from(is_half_line_end(bytes, start));
            let line = line + leading_lines(bytes, start);
            above = above.or((!self.is_markdown && follows_blank_line(bytes, start)).then_some(first_line));
            // Spreadsheets keep rows that were cleared.
            if row.iter().all(<[u8]>::is_empty) && row.len() > 1 {
                above = above.or(Some(line));
                continue;
            }
            // Tables that were put together keep the header of each.
            if row.len() > 1 && row.as_slice() == header.as_slice() && row == header {
                repeated_headers += 1;
                above = None;
                continue;
            }
            let is_below_blank = above.is_some();
            blank = blank.or(above.take());
            if (is_below_blank || row.len() != width) && (holds_names(&row) || is_below_blank && row.len() < width) {
                return Err(self.second_table(line, &row));
            }
            if row.len() != width {
                let what = format!(
                    "the row has {}, and the header names {}",
                    pluralize(row.len(), "cell"),
                    pluralize(width, "column")
                );
                let hint = if ends_in_quotes(&bytes[start.min(bytes.len())..], self.delimiter) {
                    "a quote is opened and not closed; the file may be cut off"
                } else {
                    "put text that holds the delimiter in quotes; a short last row means that the file is cut off"
                };
                return Err(source.error(what).at_line(line).hint(hint));
            }
            if ends_in_quotes_at(bytes, start, &reader, self.delimiter) {
                return Err(unclosed_quote_error(source, line));
            }
            take(line, &row)?;
        }
        if !self.is_head {
            self.check_forms()?;
        }
        let mut notes = self.notes.clone();
        if repeated_headers > 0 {
            let lines = pluralize(repeated_headers, "line");
            let is = if repeated_headers == 1 { "repeats" } else { "repeat" };
            notes.push(format!("{lines} below the first {is} the names of the columns: all rows are one table here"));
        }
        if let Some(line) = blank.filter(|_| self.has_header) {
            notes.push(format!("line {line} is blank: what is below it counts as samples too"));
        }
        if self.unavailable.get() > 0 {
            let scores = pluralize(self.unavailable.get(), "score");
            notes.push(format!("{scores} marked as not available"));
        }
        if let Some((text, number)) = self.converted.get() {
            let what = match () {
                () if share_of_most(text).is_some() => "parts of a whole",
                () if join_thousands(text).is_some() => "blanks between thousands",
                () => "decimal commas and per cent signs",
            };
            notes.push(format!("{what} were read: `{text}` is {number}"));
        }
        Ok(notes)
    }

    /// The error for rows that belong to another table.
    fn second_table(&self, line: u64, row: &::csv::ByteRecord) -> ReadError {
        let cell = |cell: &[u8]| format!("`{}`", printable(&String::from_utf8_lossy(cell)));
        const CELLS_MAX: usize = 4;
        let cells: Vec<String> = row.iter().filter(|cell| !cell.is_empty()).take(CELLS_MAX).map(cell).collect();
        let what = format!("another table seems to begin here: {}", cells.join(", "));
        let (first, second) = (line.saturating_sub(1), line);
        let command = |tool: String, out: &str| command_on(self.source, &tool, out).unwrap_or(tool);
        let keep_first = command(format!("head -n {first}"), "first");
        let keep_second = command(format!("tail -n +{second}"), "second");
        let hint = format!("pass on one table at a time: `{keep_first}` keeps the first, `{keep_second}` the second");
        self.source.error(what).at_line(line).hint(hint)
    }

    /// The error for a row below the first line that holds names of columns, this one among them.
    pub(super) fn find_names(&self, word: &str) -> Option<ReadError> {
        if self.is_head {
            self.gave_up.set(true);
            return None;
        }
        let mut reader = builder(self.delimiter).from_reader(&self.bytes[..]);
        let mut row = ::csv::ByteRecord::new();
        while reader.read_byte_record(&mut row).ok()? {
            let start = row.position().map_or(0, |position| position.byte() as usize);
            let line = row.position().map_or(0, ::csv::Position::line) + self.lines_above;
            if start > 0 && row.iter().any(|cell| cell.trim_ascii() == word.as_bytes()) && holds_names(&row) {
                return Some(self.second_table(line + leading_lines(&self.bytes, start), &row));
            }
        }
        None
    }

    /// The value of a cell, given the role of its column.
    pub(super) fn cell(&self, role: &ColumnRole, text: &str) -> Value {
        match cell(role, text) {
            Value::Text(text) if matches!(role, ColumnRole::Score(_)) && is_not_available(&text) => {
                self.unavailable.set(self.unavailable.get() + 1);
                Value::Null
            }
            Value::Text(text) if matches!(role, ColumnRole::Score(_) | ColumnRole::Number(_)) => {
                match spreadsheet_number(&text, self.delimiter) {
                    Some(number) => {
                        let _ = self.converted.get_or_init(|| (text.to_string(), number));
                        self.note_form(role, &text, number, true);
                        Value::from(number)
                    }
                    None => Value::Text(text),
                }
            }
            value => {
                if let Some(number) = value.as_number() {
                    self.note_form(role, text.trim(), number, false);
                }
                value
            }
        }
    }

    /// Keeps how the scores of a column are written, where two ways do not mean one thing.
    fn note_form(&self, role: &ColumnRole, text: &str, number: f64, is_converted: bool) {
        let ColumnRole::Score(scorer) = role else { return };
        let is_share = is_converted && (text.ends_with('%') || share_of_most(text).is_some());
        let form = match () {
            () if is_share => ScoreForm::Share,
            () if is_converted && text.contains(',') => ScoreForm::Comma,
            () if !is_converted && self.delimiter == b';' && is_grouped_by_dots(text) => ScoreForm::Dots,
            () if !is_converted && number > 1.0 => ScoreForm::AboveOne,
            () => return,
        };
        let mut forms = self.forms.borrow_mut();
        if !forms.iter().any(|(known, of, _)| *known == form && of == scorer) {
            forms.push((form, scorer.clone(), text.to_owned()));
        }
    }

    /// An error if a column has scores in two ways that do not mean one thing.
    fn check_forms(&self) -> Result<(), ReadError> {
        let forms = self.forms.borrow();
        for (form, scorer, text) in forms.iter() {
            let other = |wanted: ScoreForm| {
                let found = forms.iter().find(|(other, of, _)| *other == wanted && of == scorer);
                found.map(|(_, _, text)| printable(text))
            };
            let text = printable(text);
            let (what, hint) = match form {
                ScoreForm::Share => match other(ScoreForm::AboveOne) {
                    Some(other) => (
                        format!("`{text}` is a share of 1, and `{other}` in the same column is none"),
                        "write all scores of the column in one way",
                    ),
                    None => continue,
                },
                ScoreForm::Comma => match other(ScoreForm::Dots) {
                    Some(other) => (
                        format!(
                            "`{text}` has a decimal comma, and the dot of `{other}` in the same column may separate thousands"
                        ),
                        "write all numbers of the column in one way",
                    ),
                    None => continue,
                },
                ScoreForm::AboveOne | ScoreForm::Dots => continue,
            };
            return Err(self.source.error(what).hint(hint));
        }
        Ok(())
    }

    /// The text of a cell.
    pub(super) fn text<'r>(&self, row: &'r ::csv::ByteRecord, place: usize, line: u64) -> Result<&'r str, ReadError> {
        std::str::from_utf8(row.get(place).unwrap_or_default())
            .map_err(|_| self.source.error("the text is not UTF-8").at_line(line).hint("save the file as UTF-8"))
    }

    /// Passes on the records of all rows.
    pub(super) fn records(&self, roles: &ColumnRoles, each: &mut RecordConsumer<'_>) -> Result<Vec<String>, ReadError> {
        let named = self.names.iter().enumerate().filter(|(_, name)| !name.is_empty());
        let columns: Vec<(usize, ColumnRole)> =
            named.filter_map(|(place, name)| Some((place, roles.of(name)?))).collect();
        let mut record = NativeRecord::default();
        self.each_row(&mut |line, row| {
            for (place, role) in &columns {
                let value = self.cell(role, self.text(row, *place, line)?);
                let refused = |what| native::record_error(self.source, roles.explain(what), FilePlace::Line(line));
                record.take(role, value).map_err(refused)?;
            }
            record.fill_scores(roles.scorers());
            each(FilePlace::Line(line), &mut record)
        })
    }
}

/// The line ends between two rows that are blank lines.
fn leading_lines(bytes: &[u8], start: usize) -> u64 {
    let blank = bytes[start.min(bytes.len())..].iter().take_while(|byte| matches!(byte, b'\n' | b'\r'));
    blank.filter(|byte| **byte == b'\n').count() as u64
}

/// True for the second byte of a line end that has two.
fn is_half_line_end(bytes: &[u8], start: usize) -> bool {
    start > 0 && bytes.get(start - 1) == Some(&b'\r') && bytes.get(start) == Some(&b'\n')
}

/// True when the row that begins here follows a blank line.
fn follows_blank_line(bytes: &[u8], start: usize) -> bool {
    start > 0 && leading_lines(bytes, start + usize::from(is_half_line_end(bytes, start))) > 0
}

/// True for a row of names: no number and no outcome, and one of them is what columns are called.
fn holds_names(row: &::csv::ByteRecord) -> bool {
    let labels = Labels::default();
    let cells = || row.iter().map(<[u8]>::trim_ascii).filter(|cell| !cell.is_empty());
    let is_name = |cell: &[u8]| {
        let Ok(text) = std::str::from_utf8(cell) else { return false };
        parse_number(text).is_none() && !text.ends_with('%') && labels.to_float(&Value::from(text)).is_none()
    };
    let is_known = |cell: &[u8]| std::str::from_utf8(cell).is_ok_and(is_column_name);
    cells().count() > 1 && cells().all(is_name) && cells().any(is_known)
}

/// True for a word that columns are called, and that is no outcome.
pub(super) fn is_column_name(word: &str) -> bool {
    const FURTHER: [&str; 8] = ["id", "sample_id", "score", "value", "category", "name", "question", "task"];
    let is_spelt = |names: &[&str]| names.iter().any(|name| is_spelt_like(word, name));
    Labels::default().to_float(&Value::from(word)).is_none()
        && (is_measure(word) || [&FURTHER[..], &IDS, &SCORES, &RUNS, &SCORERS].into_iter().any(is_spelt))
}

/// True when this content is a table, whatever its columns are.
pub(super) fn is_table(head: &[u8]) -> bool {
    delimiter_of_id(head).or_else(|| delimiter_of_rows(head)).is_some()
}

/// The name of the only column of a table, whose values are numbers or outcomes.
pub(super) fn only_column(head: &[u8]) -> Option<String> {
    const ROWS_MIN: usize = 2;
    let text = std::str::from_utf8(without_preamble(head)).ok()?;
    let mut lines = text.lines().map(str::trim);
    let name = lines.next()?;
    let is_score =
        |cell: &str| parse_number(cell).is_some() || Labels::default().to_float(&Value::from(cell)).is_some();
    let is_name = name.starts_with(|first: char| first.is_alphabetic() || first == '_')
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' '))
        && !is_score(name);
    let rows: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    // The last line of the head may be cut off.
    let whole = rows.len().saturating_sub(usize::from(!text.ends_with('\n') && rows.len() > ROWS_MIN));
    (is_name && rows.len() >= ROWS_MIN && rows[..whole].iter().all(|cell| is_score(cell))).then(|| name.to_owned())
}

/// What makes a table or JSON Lines of a text: cells that something else stands between, or records below comments.
pub(super) fn hint_on_text(head: &[u8], name: &str) -> Option<String> {
    const LINES: usize = 20;
    // What stands between cells, and what makes a tab of it.
    const OTHERS: [(&str, &str); 5] = [
        ("^", "tr '^' '\\t' <"),
        ("~", "tr '~' '\\t' <"),
        ("\u{1}", "tr '\\001' '\\t' <"),
        ("&", "tr '&' '\\t' <"),
        (" ", "awk -v OFS='\\t' '{$1=$1}1'"),
    ];
    let name = shell_word(name)?;
    let text = without_preamble(head);
    let text = &text[..memchr::memrchr(b'\n', text)?];
    let text = std::str::from_utf8(text).ok().filter(|text| !text.contains('\0'))?;
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(LINES).collect();
    let is_comment = |line: &&&str| line.starts_with("//") || line.starts_with('#');
    let is_record = |line: &&str| line.starts_with('{') && line.ends_with('}');
    if let Some(first) = lines.first().filter(is_comment)
        && lines.iter().filter(|line| !is_comment(line)).count() > 0
        && lines.iter().filter(|line| !is_comment(line)).all(is_record)
    {
        let mark = if first.starts_with('#') { "#" } else { "//" };
        return Some(format!("`grep -v '^ *{mark}' {name} > results.jsonl` leaves the comments out"));
    }
    let cells = |line: &str, mark: &str| line.split(mark).filter(|cell| !cell.trim().is_empty()).count();
    let is_even = |mark: &str| {
        let first = cells(lines[0], mark);
        first > 1
            && lines.len() > 2
            && lines.iter().all(|line| cells(line, mark) == first && !line.contains(['\t', '"']))
    };
    let (_, command) = OTHERS.iter().find(|(mark, _)| is_even(mark))?;
    Some(format!(
        "in a table, commas, semicolons, tabs or bars are between the cells: `{command} {name} > results.tsv` puts tabs there"
    ))
}

/// The line on which a table begins below a title, a comment or blank lines, if this is one.
pub(super) fn line_of_table_below(head: &[u8]) -> Option<u64> {
    const LINES_MAX: usize = 20;
    let head = without_preamble(head);
    let starts = memchr::memchr_iter(b'\n', head).map(|end| end + 1).take(LINES_MAX);
    let is_line = |start: &usize| head[*start..].first().is_some_and(|first| !matches!(first, b'\n' | b'\r'));
    // A header and two rows.
    let is_long = |start: &usize| memchr::memchr_iter(b'\n', &head[*start..]).count() > 2;
    let begins = |(_, start): &(u64, usize)| is_line(start) && is_long(start) && is_table(&head[*start..]);
    (2..).zip(starts).find(begins).map(|(line, _)| line)
}

/// What a column without a name is called.
pub(super) fn name_of_place(place: usize) -> String {
    format!("column {}", place + 1)
}

/// A table of Markdown, `| id | score |` above a line of dashes, as CSV with bars: the outer bars are left out, and the line of
/// dashes is empty. Line numbers stay.
fn from_markdown(text: &str) -> Option<String> {
    if !text.trim_ascii_start().starts_with('|') {
        return None;
    }
    let is_rule = |line: &str| {
        let line = line.trim();
        line.starts_with(['|', '+'])
            && line.contains('-')
            && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ' | '+'))
    };
    let mut rows = text.lines().filter(|line| !line.trim().is_empty());
    let (_, rule) = (rows.next()?, rows.next()?);
    if !is_rule(rule) {
        return None;
    }
    let mut table = String::with_capacity(text.len());
    for line in text.lines() {
        let row = line.trim();
        if row.starts_with('|') && !is_rule(row) {
            let row = row.strip_prefix('|').unwrap_or(row);
            let cells = row.strip_suffix('|').unwrap_or(row).split('|').map(str::trim);
            table.push_str(&cells.collect::<Vec<_>>().join("|"));
        }
        table.push('\n');
    }
    Some(table)
}

pub(crate) fn builder(delimiter: u8) -> ::csv::ReaderBuilder {
    let mut builder = ::csv::ReaderBuilder::new();
    builder.has_headers(false).flexible(true).delimiter(delimiter);
    builder
}

fn unclosed_quote_error(source: &Source, line: u64) -> ReadError {
    source.error("a quote is opened and not closed").at_line(line).hint("the file may be cut off; copy it again")
}

/// True when the row that was just read is the last one, and its text ends within quotes.
fn ends_in_quotes_at(bytes: &[u8], start: usize, reader: &::csv::Reader<&[u8]>, delimiter: u8) -> bool {
    reader.position().byte() as usize >= bytes.len() && ends_in_quotes(&bytes[start.min(bytes.len())..], delimiter)
}

/// The CSV parser accepts the end of the file as a closing quote, but then the file was cut off.
pub(crate) fn ends_in_quotes(row: &[u8], delimiter: u8) -> bool {
    let mut quoted = false;
    let mut at_start = true;
    let mut bytes = row.iter().peekable();
    while let Some(&byte) = bytes.next() {
        if quoted {
            if byte == b'"' && bytes.next_if(|&&next| next == b'"').is_none() {
                quoted = false;
            }
            at_start = false;
        } else {
            quoted = at_start && byte == b'"';
            at_start = byte == delimiter || byte == b'\n' || byte == b'\r';
        }
    }
    quoted
}

/// The value of a cell, given the role of its column. An empty cell is null.
pub(crate) fn cell(role: &ColumnRole, text: &str) -> Value {
    let text = text.trim();
    if text.is_empty() {
        return Value::Null;
    }
    // JSON quotes keep what a cell would lose: surrounding spaces, and text that looks like another type.
    if let Some(quoted) = parse_quoted(text) {
        return quoted;
    }
    match role {
        ColumnRole::Id
        | ColumnRole::SampleId
        | ColumnRole::Scores
        | ColumnRole::Metadata
        | ColumnRole::Fields
        | ColumnRole::Run(_)
        | ColumnRole::NullMetadata => text.into(),
        ColumnRole::Error => {
            native::parse_embedded(text).filter(|map| map.get("message").is_some()).unwrap_or_else(|| text.into())
        }
        ColumnRole::Epoch | ColumnRole::Number(_) | ColumnRole::Flag(_) | ColumnRole::Label(_) => {
            scalar(text).unwrap_or_else(|| text.into())
        }
        ColumnRole::Score(_) => scalar(text).or_else(|| native::parse_embedded(text)).unwrap_or_else(|| text.into()),
        ColumnRole::Behaviors(_) => native::parse_embedded(text).unwrap_or_else(|| {
            let names = text.split(';').map(str::trim).filter(|name| !name.is_empty());
            Value::List(names.map(Value::from).collect())
        }),
        // Metadata is converted only if nothing is lost: `1.10` may be a version and `007` a name.
        ColumnRole::Fact(_) | ColumnRole::Field(_) => match scalar(text) {
            Some(value @ (Value::Int(_) | Value::Float(_))) if value.to_string() == text => value,
            Some(value @ Value::Bool(_)) => value,
            _ => native::parse_embedded(text).unwrap_or_else(|| text.into()),
        },
    }
}

/// True for what R, pandas and spreadsheets write where there is no value, or where a formula has none.
pub(super) fn is_not_available(text: &str) -> bool {
    const ERRORS: [&str; 10] =
        ["#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!", "#ERROR!", "#NV", "#WERT!", "#BEZUG!"];
    let text = text.trim();
    // `\N` is what databases write.
    matches!(text, "NA" | "N/A" | "n/a" | "#N/A" | "<NA>" | "\\N" | "-" | "--" | "–" | "—") || ERRORS.contains(&text)
}

/// A number as spreadsheets write it: with a decimal comma, or as a percentage. A comma that may separate thousands is one
/// only where it cannot separate cells, as in the tables of countries with decimal commas.
fn spreadsheet_number(text: &str, delimiter: u8) -> Option<f64> {
    let text = text.trim();
    if let Some(share) = share_of_most(text) {
        return Some(share);
    }
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), 100.0),
        None => (text, 1.0),
    };
    let joined = join_thousands(number);
    let number = joined.as_deref().unwrap_or(number);
    let digits = number.strip_prefix(['-', '+']).unwrap_or(number);
    let point: Cow<'_, str> = match digits.split_once(',') {
        None => number.into(),
        Some((whole, part)) => {
            let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            let may_be_thousands = part.len() == 3 && (1..=3).contains(&whole.len()) && !whole.starts_with('0');
            if part.is_empty() || !is_digits(whole) || !is_digits(part) || may_be_thousands && delimiter != b';' {
                return None;
            }
            number.replacen(',', ".", 1).into()
        }
    };
    let is_plain = point.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+'));
    // What is no number yet has a comma or a percent sign.
    let is_written_so = scale > 1.0 || point != text;
    point.parse::<f64>().ok().filter(|_| is_plain && is_written_so).map(|number| number / scale)
}

/// A number without the blanks or apostrophes between its thousands, which nothing else stands for; none if it has none.
fn join_thousands(number: &str) -> Option<String> {
    let digits = number.strip_prefix(['-', '+']).unwrap_or(number);
    let (whole, rest) = digits.find([',', '.']).map_or((digits, ""), |at| digits.split_at(at));
    let groups: Vec<&str> = whole.split([' ', '\u{a0}', '\u{202f}', '\u{2009}', '\'', '’']).collect();
    let is_digits = |group: &&str| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit());
    let is_whole = groups.len() > 1
        && groups.iter().all(is_digits)
        && groups[0].len() <= 3
        && groups[1..].iter().all(|group| group.len() == 3);
    let sign = &number[..number.len() - digits.len()];
    is_whole.then(|| format!("{sign}{}{rest}", groups.concat()))
}

/// True for digits in groups of three behind dots: `1.200`.
fn is_grouped_by_dots(cell: &str) -> bool {
    let mut groups = cell.split('.');
    let first = groups.next().unwrap_or_default();
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let has_groups = cell.contains('.') && groups.all(|group| group.len() == 3 && is_digits(group));
    has_groups && (1..=3).contains(&first.len()) && is_digits(first) && !first.starts_with('0')
}

/// How much of the most is reached: `4/5`, `4 of 5`, `4 out of 5`.
fn share_of_most(text: &str) -> Option<f64> {
    let parts = [" out of ", " of ", "/"].into_iter().find_map(|mark| text.split_once(mark));
    let (part, most) = parts?;
    let is_plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number = |text: &str| Some(text.trim()).filter(|text| is_plain(text))?.parse::<f64>().ok();
    let (part, most) = (number(part)?, number(most)?);
    (most > 0.0 && part <= most).then_some(part / most)
}

/// A text in JSON's quotes.
fn parse_quoted(text: &str) -> Option<Value> {
    if !text.starts_with('"') {
        return None;
    }
    serde_json::from_str::<String>(text).ok().map(Value::from)
}

/// A number, true, false or null.
pub(super) fn scalar(text: &str) -> Option<Value> {
    let first = *text.as_bytes().first()?;
    if first.is_ascii_digit() || matches!(first, b'-' | b'+' | b'.') {
        return match text.parse::<i64>() {
            Ok(i) => Some(Value::Int(i)),
            Err(_) => text.parse::<f64>().ok().map(Value::from),
        };
    }
    match text {
        "true" | "True" | "TRUE" => Some(Value::Bool(true)),
        "false" | "False" | "FALSE" => Some(Value::Bool(false)),
        "null" | "None" | "NULL" => Some(Value::Null),
        "nan" | "NaN" | "NAN" => Some(Value::Missing),
        "inf" | "Infinity" => Some(Value::Float(f64::INFINITY)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_spreadsheets_are_read_where_they_mean_one_thing() {
        for (text, delimiter, want) in [
            ("0,75", b',', Some(0.75)),
            ("-0,5", b'\t', Some(-0.5)),
            (",5", b';', Some(0.5)),
            ("75%", b',', Some(0.75)),
            ("75 %", b',', Some(0.75)),
            ("12,5 %", b';', Some(0.125)),
            ("3,125", b';', Some(3.125)),
            ("0,125", b',', Some(0.125)),
            ("3,125", b',', None),
            ("1,234,567", b';', None),
            ("1,", b';', None),
            ("%", b',', None),
            ("5", b',', None),
            ("fifty %", b',', None),
            ("1e2%", b',', None),
            ("1 200", b',', Some(1200.0)),
            ("12\u{a0}345\u{202f}678,5", b';', Some(12_345_678.5)),
            ("-1'200.5", b',', Some(-1200.5)),
            ("1 20", b',', None),
            ("1200 300", b',', None),
            ("1 200 points", b',', None),
        ] {
            assert_eq!(spreadsheet_number(text, delimiter), want, "{text}");
        }
    }
}
