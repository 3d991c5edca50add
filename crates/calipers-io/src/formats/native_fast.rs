//! The fast reader of native JSON Lines: flat records, straight into columns.
//!
//! Most files hold nothing but names, numbers, labels and lists of behaviours, the same keys on every line. This reader parses
//! such blocks without building a record per line. It gives up on anything unusual (other lists, scores with explanations, two
//! names for one column) or wrong, and [`native`](super::native), which knows all the rules and explains mistakes, reads the
//! block again line by line. So this file has no messages, and must never accept what the other refuses or read it
//! differently; tests compare the two.

use super::fact_path::NestedFact;
use super::native::{BehaviorLists, ColumnRole, RowsOfRun, says_no_error};
use crate::Projection;
use crate::columns::ColumnRoles;
use crate::json::{find, find_text_end};
use calipers_core::{Cells, PackedText, Samples, Table, Value};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// Columns being filled from blocks of lines.
pub(super) struct FlatRecords<'w> {
    wanted: &'w Projection,
    roles: &'w ColumnRoles,
    /// The row being read.
    row: u32,
    /// The names of the rows so far.
    table: Table,
    epochs: Vec<u32>,
    errors: Vec<(u32, String)>,
    columns: Vec<RecordColumn>,
}

struct RecordColumn {
    within: Within,
    key: RecordKey,
    slot: ColumnSlot,
    /// The first row that has the key.
    first: u32,
    /// One more than the last row that has it.
    rows: u32,
}

impl RecordColumn {
    fn new(within: Within, key: &str, slot: ColumnSlot, first: u32) -> Self {
        Self { within, key: RecordKey::new(key), slot, first, rows: 0 }
    }
}

/// A key, with its first eight bytes as a number, which distinguishes most keys.
struct RecordKey {
    first: u64,
    text: Box<str>,
    written: WrittenKey,
}

/// A key as most files write it, before a value.
struct WrittenKey {
    bytes: Box<[u8]>,
    /// Its first eight bytes and, if it has more, its last, as numbers: comparing these is faster for most keys.
    first: u64,
    last: u64,
    /// The bits of the first number that count.
    mask: u64,
}

impl WrittenKey {
    const EIGHT: usize = 8;

    fn new(text: &str) -> Self {
        let bytes = format!("\"{text}\":").into_bytes();
        let mut first = [0; Self::EIGHT];
        let known = bytes.len().min(Self::EIGHT);
        first[..known].copy_from_slice(&bytes[..known]);
        let last = bytes.last_chunk().copied().map_or(0, u64::from_le_bytes);
        let mask = u64::MAX >> (8 * (Self::EIGHT - known));
        Self { bytes: bytes.into(), first: u64::from_le_bytes(first), last, mask }
    }

    fn len(&self) -> usize {
        self.bytes.len()
    }

    /// True when these bytes begin with it.
    fn begins(&self, bytes: &[u8]) -> bool {
        let length = self.bytes.len();
        match bytes.first_chunk::<{ Self::EIGHT }>() {
            Some(first) if length <= 2 * Self::EIGHT => {
                let is_first = (u64::from_le_bytes(*first) ^ self.first) & self.mask == 0;
                let last = || bytes.get(length - Self::EIGHT..length)?.first_chunk().copied().map(u64::from_le_bytes);
                is_first && (length <= Self::EIGHT || last() == Some(self.last))
            }
            _ => bytes.starts_with(&self.bytes),
        }
    }
}

impl RecordKey {
    fn new(text: &str) -> Self {
        Self { first: first_bytes(text), text: text.into(), written: WrittenKey::new(text) }
    }

    fn is(&self, first: u64, text: &str) -> bool {
        self.first == first && self.text.len() == text.len() && (text.len() <= 8 || *self.text == *text)
    }
}

fn first_bytes(text: &str) -> u64 {
    text.bytes().take(8).fold(0, |packed, byte| (packed << 8) | u64::from(byte))
}

/// The map that a key stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Within {
    Record,
    Scores,
    Metadata,
    /// A map of metadata in which facts are looked for, with the keys that lead to it.
    Fact(Arc<[Arc<str>]>),
}

/// Where the values of a column go.
enum ColumnSlot {
    /// Not requested; with its name, if it is a fact.
    Nowhere(Option<Arc<str>>),
    Id,
    Epoch,
    Error,
    Map(Within),
    /// They are not flat.
    Unusual,
    Score(ScoreColumn),
    Fact(Arc<str>, FactCells),
    Number(Arc<str>, Cells),
    Flag(Arc<str>, Cells),
    Label(Arc<str>, Cells),
    Behaviors(BehaviorLists, ListCells),
    Run(Arc<str>, Cells),
}

/// Lists of names. All attempts of a scenario have the same expected ones, and most show them all, so that a list is parsed once and then
/// recognised as it is written.
#[derive(Default)]
struct ListCells {
    /// For each row, the place of its list.
    rows: Vec<u32>,
    lists: Vec<Value>,
    /// The places of lists by how they are written.
    written: HashMap<Box<str>, u32>,
}

impl ListCells {
    /// As many lists are remembered as they are written. Attempts of one scenario mostly stand close together.
    const WRITTEN_MAX: usize = 4096;
    /// The place of the list of a row that has none.
    const NONE: u32 = u32::MAX;

    /// Takes in the list of a row; nothing if it is no list of names, or the row has one.
    fn push(&mut self, row: u32, list: &str) -> Option<()> {
        if self.rows.len() > row as usize {
            return None;
        }
        let place = match self.written.get(list) {
            Some(place) => *place,
            None => self.add(list)?,
        };
        self.rows.resize(row as usize, Self::NONE);
        self.rows.push(place);
        Some(())
    }

    fn add(&mut self, list: &str) -> Option<u32> {
        let names: Vec<String> = serde_json::from_str(list).ok()?;
        if self.written.len() == Self::WRITTEN_MAX {
            self.written.clear();
        }
        let place = self.lists.len() as u32;
        self.lists.push(Value::List(names.into_iter().map(Value::from).collect()));
        self.written.insert(list.into(), place);
        Some(place)
    }

    /// The first row that has a list, if any has, and the cells of all.
    fn into_cells(mut self, rows: usize) -> Option<(u32, Cells)> {
        let first = self.rows.iter().position(|place| *place != Self::NONE)?;
        self.rows.resize(rows, Self::NONE);
        Some((first as u32, Cells::coded(self.rows, self.lists)))
    }
}

/// Facts of rows. Short texts wait for others, which are looked up together with them.
struct FactCells {
    cells: Cells,
    waiting: Vec<PackedText>,
}

impl Default for FactCells {
    fn default() -> Self {
        Self { cells: Cells::labels(), waiting: Vec::new() }
    }
}

/// As many values of a column wait at most.
const WAITING_MAX: usize = 256;

impl FactCells {
    fn push(&mut self, row: u32, token: Token<'_>) -> Option<()> {
        if let Token::Text(text) = &token
            && let Some(packed) = PackedText::new(text)
            && self.push_packed(row, packed)
        {
            return Some(());
        }
        push(self.settle(), row, token)
    }

    /// False if rows before this one have no value yet, or this one has.
    fn push_packed(&mut self, row: u32, packed: PackedText) -> bool {
        let is_next = self.cells.len() + self.waiting.len() == row as usize;
        if is_next {
            self.waiting.push(packed);
            if self.waiting.len() == WAITING_MAX {
                self.settle();
            }
        }
        is_next
    }

    /// The cells with all that waits.
    fn settle(&mut self) -> &mut Cells {
        if !self.waiting.is_empty() {
            self.cells.extend_packed(&self.waiting);
            self.waiting.clear();
        }
        &mut self.cells
    }
}

struct ScoreColumn {
    scorer: Arc<str>,
    /// The rows that have a score.
    rows: Vec<u32>,
    cells: Cells,
    /// Floats that come after these cells. They are added together.
    waiting: Vec<f64>,
    /// The cells that are null.
    nulls: Vec<u32>,
}

/// A value that is not skipped.
pub(super) enum Token<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Cow<'a, str>),
    Map,
}

impl Token<'_> {
    fn push_to(self, cells: &mut Cells) -> Option<()> {
        match self {
            Self::Bool(b) => cells.push(Value::Bool(b)),
            Self::Int(i) => cells.push(Value::Int(i)),
            Self::Float(x) => cells.push(Value::Float(x)),
            Self::Text(text) => cells.push_text(&text),
            Self::Null | Self::Map => return None,
        }
        Some(())
    }
}

/// True when there is nothing but white space. The first byte shows of most texts that there is something else.
fn is_blank(text: &str) -> bool {
    !text.as_bytes().first().is_some_and(u8::is_ascii_graphic) && text.trim().is_empty()
}

/// A column whose values are not flat.
pub(super) struct NotFlat;

/// Keys are searched linearly, so there must not be many.
const COLUMNS_MAX: usize = 256;
const DEPTH_MAX: u32 = 100;
const EPOCH_MAX: i64 = 1_000_000_000;

impl<'w> FlatRecords<'w> {
    pub(super) fn new(wanted: &'w Projection, roles: &'w ColumnRoles) -> Self {
        let table = Table::default();
        Self { wanted, roles, row: 0, table, epochs: Vec::new(), errors: Vec::new(), columns: Vec::new() }
    }

    /// Adds the records of whole lines, or, if one of them is not flat, none of them.
    pub(super) fn add(&mut self, block: &[u8]) -> bool {
        let (before, epochs_before) = (self.row, self.epochs.len());
        let Ok(text) = std::str::from_utf8(block) else { return false };
        let mut lines = Lines { text, at: 0, next: 0, flat: self };
        let mut read = || {
            while lines.skip_blank_lines() {
                lines.record()?;
            }
            Some(())
        };
        let is_flat = read().is_some();
        if !is_flat {
            self.go_back(before);
            self.epochs.truncate(epochs_before);
        }
        is_flat
    }

    pub(super) fn rows(&self) -> usize {
        self.row as usize
    }

    /// Adds a column of this name for a table whose rows all have the same columns, and says where it is; nothing if it is not needed.
    /// Fails if its values are not flat, or another column leads to the same place.
    pub(super) fn add_column(&mut self, name: &str) -> Result<Option<usize>, NotFlat> {
        let slot = self.slot(&Within::Record, name).ok_or(NotFlat)?;
        let is_needed = match slot {
            ColumnSlot::Nowhere(_) => false,
            ColumnSlot::Map(_) | ColumnSlot::Behaviors(..) | ColumnSlot::Unusual => return Err(NotFlat),
            _ => true,
        };
        self.columns.push(RecordColumn::new(Within::Record, name, slot, self.row));
        Ok(is_needed.then_some(self.columns.len() - 1))
    }

    /// Takes in the value that the row being read has in a column.
    pub(super) fn take(&mut self, place: usize, token: Token<'_>) -> Option<()> {
        let row = self.row;
        match (&mut self.columns[place].slot, token) {
            // Where facts are looked for, something else than a map may stand.
            (ColumnSlot::Map(Within::Fact(_)), Token::Bool(_) | Token::Int(_) | Token::Float(_) | Token::Null) => {}
            (ColumnSlot::Score(score), token) => return score.push(row, token),
            (ColumnSlot::Id, Token::Int(id)) => self.table.push_number(id),
            (ColumnSlot::Id, Token::Text(id)) if !is_blank(&id) => self.table.push_text(&id),
            (ColumnSlot::Id, _) => return None,
            (_, Token::Null) => {}
            (ColumnSlot::Epoch, Token::Int(epoch @ 0..=EPOCH_MAX)) => self.epochs.push(epoch as u32),
            (ColumnSlot::Error, Token::Text(text)) if self.errors.last().is_none_or(|(last, _)| *last < row) => {
                if !says_no_error(&text) {
                    self.errors.push((row, text.into_owned()));
                }
            }
            (ColumnSlot::Error, Token::Bool(false)) => {}
            (ColumnSlot::Fact(_, facts), token) => facts.push(row, token)?,
            (ColumnSlot::Label(_, cells), token) => push(cells, row, token)?,
            (ColumnSlot::Number(_, cells), Token::Int(i)) => push(cells, row, Token::Float(i as f64))?,
            (ColumnSlot::Number(_, cells), token @ Token::Float(_)) => push(cells, row, token)?,
            (ColumnSlot::Flag(_, cells), token @ Token::Bool(_)) => push(cells, row, token)?,
            // An empty name is none, and a long text is an error; numbers have their own way to print.
            (ColumnSlot::Run(_, cells), Token::Text(text)) if !is_blank(&text) && text.len() <= 200 => {
                push(cells, row, Token::Text(text))?;
            }
            _ => return None,
        }
        Some(())
    }

    /// The same for a short text in a column of facts. False, and without effect, if it has to be taken in as any other value.
    pub(super) fn take_fact(&mut self, place: usize, text: PackedText) -> bool {
        match &mut self.columns[place].slot {
            ColumnSlot::Fact(_, facts) => facts.push_packed(self.row, text),
            _ => false,
        }
    }

    /// Ends the row being read; nothing if something is missing in it.
    pub(super) fn end_row(&mut self) -> Option<()> {
        self.fill_scores()?;
        if self.errors.last().is_some_and(|(row, _)| *row == self.row) {
            self.drop_empty_scores();
        }
        self.row += 1;
        let is_numbered = self.epochs.len() == self.rows() || self.epochs.is_empty();
        (self.table.rows() == self.rows() && is_numbered).then_some(())
    }

    /// Forgets all rows from this one on.
    fn go_back(&mut self, row: u32) {
        let rows = row as usize;
        self.row = row;
        self.table.truncate(rows);
        self.errors.retain(|(at, _)| *at < row);
        for column in &mut self.columns {
            column.rows = column.rows.min(row);
            match &mut column.slot {
                ColumnSlot::Score(score) => score.go_back(row),
                ColumnSlot::Fact(_, facts) => facts.settle().truncate(rows),
                ColumnSlot::Behaviors(_, lists) => lists.rows.truncate(rows),
                ColumnSlot::Number(_, cells)
                | ColumnSlot::Flag(_, cells)
                | ColumnSlot::Label(_, cells)
                | ColumnSlot::Run(_, cells) => {
                    cells.truncate(rows);
                }
                _ => {}
            }
        }
    }

    /// Where the values under a new key go; `None` if two keys lead to the same place.
    fn slot(&self, within: &Within, key: &str) -> Option<ColumnSlot> {
        let role = match within {
            Within::Record => match self.roles.of(key) {
                Some(role) => role,
                None => return Some(ColumnSlot::Nowhere(None)),
            },
            Within::Scores => ColumnRole::Score(key.into()),
            Within::Metadata => ColumnRole::Fact(key.into()),
            Within::Fact(outer) => return self.slot_inside(outer, key),
        };
        let cells = Cells::default;
        let slot = match role {
            ColumnRole::Id | ColumnRole::SampleId => ColumnSlot::Id,
            ColumnRole::Epoch => ColumnSlot::Epoch,
            ColumnRole::Error => ColumnSlot::Error,
            ColumnRole::Scores => ColumnSlot::Map(Within::Scores),
            ColumnRole::Metadata => ColumnSlot::Map(Within::Metadata),
            ColumnRole::Score(scorer) => ColumnSlot::Score(ScoreColumn::new(scorer)),
            ColumnRole::Fact(name) if self.wanted.has(&name) => ColumnSlot::Fact(name, FactCells::default()),
            ColumnRole::Fact(name) if self.wanted.looks_into(&name) => ColumnSlot::Map(Within::Fact([name].into())),
            ColumnRole::Number(name) if self.wanted.has(&name) => ColumnSlot::Number(name, cells()),
            ColumnRole::Flag(name) if self.wanted.has(&name) => ColumnSlot::Flag(name, cells()),
            ColumnRole::Label(name) if self.wanted.has(&name) => ColumnSlot::Label(name, cells()),
            ColumnRole::Behaviors(list) if self.wanted.has(list.name()) => {
                ColumnSlot::Behaviors(list, ListCells::default())
            }
            ColumnRole::Fields | ColumnRole::Field(_) | ColumnRole::NullMetadata => ColumnSlot::Unusual,
            ColumnRole::Run(name) => ColumnSlot::Run(name, Cells::labels()),
            ColumnRole::Fact(name) => ColumnSlot::Nowhere(Some(name)),
            ColumnRole::Number(_) | ColumnRole::Flag(_) | ColumnRole::Label(_) | ColumnRole::Behaviors(_) => {
                ColumnSlot::Nowhere(None)
            }
        };
        let is_taken = self.columns.iter().any(|column| column.slot.is_same_place(&slot));
        (!is_taken).then_some(slot)
    }

    /// The same for a key inside a map of metadata.
    fn slot_inside(&self, outer: &[Arc<str>], key: &str) -> Option<ColumnSlot> {
        let here = |keys: &[Arc<str>]| match keys.split_at_checked(outer.len()) {
            Some((before, [next, rest @ ..])) if before == outer && **next == *key => Some(rest.is_empty()),
            _ => None,
        };
        let fits = |fact: &&NestedFact| here(&fact.keys).is_some();
        let mut fitting = self.wanted.nested().iter().filter(fits).peekable();
        let Some(first) = fitting.peek().copied() else { return Some(ColumnSlot::Nowhere(None)) };
        let slot = match here(&first.keys) {
            Some(true) => ColumnSlot::Fact(first.name.clone(), FactCells::default()),
            _ => ColumnSlot::Map(Within::Fact(first.keys[..=outer.len()].into())),
        };
        // A map where another record has a value is for the other reader.
        let is_one_kind = fitting.all(|fact| here(&fact.keys) == here(&first.keys));
        let is_taken = self.columns.iter().any(|column| column.slot.is_same_place(&slot));
        (is_one_kind && !is_taken).then_some(slot)
    }

    /// A record without the column that was named for a scorer is unscored.
    fn fill_scores(&mut self) -> Option<()> {
        for scorer in self.roles.scorers() {
            let row = self.row;
            let mut columns = self.columns.iter_mut();
            let column = columns.find_map(|column| match &mut column.slot {
                ColumnSlot::Score(score) if score.scorer == *scorer => Some(score),
                _ => None,
            });
            match column {
                Some(score) if score.rows.last() == Some(&row) => {}
                Some(score) => score.push(row, Token::Null)?,
                // The column appears further down; the other reader counts what was before it.
                None => return None,
            }
        }
        Some(())
    }

    /// On an errored attempt an empty score means nothing.
    fn drop_empty_scores(&mut self) {
        for column in &mut self.columns {
            if let ColumnSlot::Score(score) = &mut column.slot
                && score.rows.last() == Some(&self.row)
                && score.nulls.last() == Some(&(score.rows.len() as u32 - 1))
            {
                score.go_back(self.row);
            }
        }
    }

    /// The columns as samples, run by run.
    pub(super) fn finish(self) -> Vec<RowsOfRun> {
        let rows = self.rows();
        let mut runs = None;
        let mut table = self.table;
        if !self.epochs.is_empty() {
            table.epochs(self.epochs);
        }
        for (row, message) in self.errors {
            table.error(row, message);
        }
        let mut fields = Vec::new();
        for (place, column) in self.columns.into_iter().enumerate() {
            match column.slot {
                ColumnSlot::Score(score) => score.add_to(&mut table, rows),
                ColumnSlot::Behaviors(list, cells) => {
                    if let Some((first, cells)) = cells.into_cells(rows) {
                        fields.push(((first, 1, list as usize), list.name().into(), cells));
                    }
                }
                ColumnSlot::Fact(name, mut facts) => {
                    facts.settle();
                    if let Some(cells) = pad_cells(facts.cells, rows) {
                        table.metadata(name, cells);
                    }
                }
                ColumnSlot::Number(name, cells) | ColumnSlot::Flag(name, cells) | ColumnSlot::Label(name, cells) => {
                    if let Some(cells) = pad_cells(cells, rows) {
                        fields.push(((column.first, 0, place), name, cells));
                    }
                }
                ColumnSlot::Run(name, cells) => {
                    runs = pad_cells(cells, rows);
                    if let Some(runs) = runs.clone().filter(|_| self.wanted.has(&name)) {
                        table.metadata(name, runs);
                    }
                }
                _ => {}
            }
        }
        // In a record, lists come after all other fields, in their own order.
        fields.sort_by_key(|(order, ..)| *order);
        for (_, name, cells) in fields {
            table.field(name, cells);
        }
        rows_by_run(table, runs)
    }
}

/// The rows of a table, run by run if a column tells runs apart.
pub(super) fn rows_by_run(table: Table, runs: Option<Cells>) -> Vec<RowsOfRun> {
    let of_run = |run: Option<Value>, table: Table| RowsOfRun {
        run: run.map(|run| run.to_string().into()),
        records: table.rows(),
        samples: Samples::from(table),
    };
    match runs {
        None => vec![of_run(None, table)],
        Some(runs) => table.split(runs).into_iter().map(|(run, table)| of_run(run, table)).collect(),
    }
}

/// The cells of all rows, if any row has one.
fn pad_cells(mut cells: Cells, rows: usize) -> Option<Cells> {
    let is_empty = cells.is_empty();
    cells.pad(rows);
    (!is_empty).then_some(cells)
}

impl ColumnSlot {
    /// True when both would store their values in the same place.
    fn is_same_place(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Score(a), Self::Score(b)) => a.scorer == b.scorer,
            (Self::Behaviors(a, _), Self::Behaviors(b, _)) => a == b,
            (Self::Fact(a, _), Self::Fact(b, _)) | (Self::Nowhere(Some(a)), Self::Nowhere(Some(b))) => a == b,
            (Self::Id, Self::Id) | (Self::Run(..), Self::Run(..)) => true,
            _ => false,
        }
    }
}

/// A block of lines being read.
struct Lines<'a, 'f, 'w> {
    text: &'a str,
    at: usize,
    /// The column that most likely comes next: lines list their keys in the same order.
    next: usize,
    flat: &'f mut FlatRecords<'w>,
}

impl<'a> Lines<'a, '_, '_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips blanks within a line.
    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    /// False at the end.
    fn skip_blank_lines(&mut self) -> bool {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
        self.at < self.text.len()
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.skip_blanks();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found.then_some(())
    }

    /// One line.
    fn record(&mut self) -> Option<()> {
        self.next = 0;
        self.entries(&Within::Record)?;
        self.skip_blanks();
        let is_end = matches!(self.peek(), Some(b'\n') | None);
        self.flat.end_row().filter(|()| is_end)
    }

    /// The entries of a map.
    fn entries(&mut self, within: &Within) -> Option<()> {
        self.expect(b'{')?;
        if self.expect(b'}').is_some() {
            return Some(());
        }
        loop {
            self.skip_blanks();
            let place = match self.next_column(within) {
                Some(place) => place,
                None => {
                    let Cow::Borrowed(key) = self.string()? else { return None };
                    self.expect(b':')?;
                    self.column(within, key)?
                }
            };
            self.skip_blanks();
            self.next = place + 1;
            self.value(place)?;
            if self.expect(b',').is_none() {
                return self.expect(b'}');
            }
        }
    }

    /// Skips the key of the column that most likely comes next, if it is there. Keys of columns have no escapes.
    fn next_column(&mut self, within: &Within) -> Option<usize> {
        let next = self.flat.columns.get(self.next).filter(|next| next.within == *within)?;
        let found = next.key.written.begins(self.text.as_bytes().get(self.at..)?);
        self.at += if found { next.key.written.len() } else { 0 };
        found.then_some(self.next)
    }

    fn column(&mut self, within: &Within, key: &str) -> Option<usize> {
        let first = first_bytes(key);
        let is_it = |column: &RecordColumn| column.key.is(first, key) && column.within == *within;
        let columns = &mut self.flat.columns;
        if columns.get(self.next).is_some_and(is_it) {
            return Some(self.next);
        }
        if let Some(place) = columns.iter().position(is_it) {
            return Some(place);
        }
        if columns.len() == COLUMNS_MAX {
            return None;
        }
        let slot = self.flat.slot(within, key)?;
        self.flat.columns.push(RecordColumn::new(within.clone(), key, slot, self.flat.row));
        Some(self.flat.columns.len() - 1)
    }

    fn value(&mut self, place: usize) -> Option<()> {
        let row = self.flat.row;
        let column = &mut self.flat.columns[place];
        // A key that stands twice in one record is the business of the other reader.
        if std::mem::replace(&mut column.rows, row + 1) == row + 1 {
            return None;
        }
        if matches!(column.slot, ColumnSlot::Nowhere(_)) {
            return self.skip(0);
        }
        if matches!(column.slot, ColumnSlot::Behaviors(..)) && self.peek() == Some(b'[') {
            return self.list(place);
        }
        let token = self.token()?;
        if let (ColumnSlot::Map(within), Token::Map) = (&self.flat.columns[place].slot, &token) {
            let within = within.clone();
            return self.entries(&within);
        }
        self.flat.take(place, token)
    }

    /// A list of names.
    fn list(&mut self, place: usize) -> Option<()> {
        let (start, row) = (self.at, self.flat.row);
        self.skip(0)?;
        match &mut self.flat.columns[place].slot {
            ColumnSlot::Behaviors(_, lists) => lists.push(row, &self.text[start..self.at]),
            _ => None,
        }
    }

    fn token(&mut self) -> Option<Token<'a>> {
        match self.peek()? {
            b'"' => self.string().map(Token::Text),
            b'{' => Some(Token::Map),
            b't' => self.literal("true").map(|()| Token::Bool(true)),
            b'f' => self.literal("false").map(|()| Token::Bool(false)),
            b'n' => self.literal("null").map(|()| Token::Null),
            b'-' | b'0'..=b'9' => self.number(),
            _ => None,
        }
    }

    fn literal(&mut self, literal: &str) -> Option<()> {
        let found = self.text[self.at..].starts_with(literal);
        self.at += literal.len();
        found.then_some(())
    }

    /// A string, its quotes left out. It is borrowed unless it has escapes.
    fn string(&mut self) -> Option<Cow<'a, str>> {
        let start = self.at + 1;
        if self.peek() != Some(b'"') {
            return None;
        }
        let rest = self.text.as_bytes().get(start..)?;
        let end = start + find_text_end(rest)?;
        match rest[end - start] {
            b'"' => {
                self.at = end + 1;
                Some(Cow::Borrowed(&self.text[start..end]))
            }
            b'\\' => {
                self.skip_string()?;
                serde_json::from_str::<String>(&self.text[start - 1..self.at]).ok().map(Cow::Owned)
            }
            // JSON has no control characters in strings.
            _ => None,
        }
    }

    /// Skips a string.
    fn skip_string(&mut self) -> Option<()> {
        if self.peek() != Some(b'"') {
            return None;
        }
        let bytes = self.text.as_bytes();
        let mut at = self.at + 1;
        loop {
            at += find([b'"', b'\\', b'\n'], bytes.get(at..)?)?;
            match bytes[at] {
                b'"' => break,
                b'\\' => at += 2,
                _ => return None,
            }
        }
        self.at = at + 1;
        Some(())
    }

    fn number(&mut self) -> Option<Token<'a>> {
        let start = self.at;
        let shape = self.skip_number()?;
        let text = &self.text[start..self.at];
        let is_negative = text.as_bytes().first() == Some(&b'-');
        if !shape.is_whole {
            // Up to here the division is exact, and so is the result (Clinger 1990).
            if shape.digits <= 15 && shape.decimals <= 22 && !shape.has_exponent {
                let number = shape.mantissa as f64 / TENS[shape.decimals];
                return Some(Token::Float(if is_negative { -number } else { number }));
            }
        } else if shape.digits <= 18 && shape.mantissa > 0 {
            let number = shape.mantissa as i64;
            return Some(Token::Int(if is_negative { -number } else { number }));
        } else if let Some(number) = text.parse::<i64>().ok().filter(|_| text != "-0") {
            return Some(Token::Int(number));
        }
        text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Token::Float)
    }

    /// Skips a number in JSON's notation.
    fn skip_number(&mut self) -> Option<NumberShape> {
        let bytes = self.text.as_bytes();
        let mut shape = NumberShape { is_whole: true, has_exponent: false, digits: 0, decimals: 0, mantissa: 0 };
        let mut at = self.at + usize::from(bytes[self.at] == b'-');
        let digits = |at: &mut usize, shape: &mut NumberShape| {
            let start = *at;
            while let Some(digit @ b'0'..=b'9') = bytes.get(*at) {
                shape.mantissa = shape.mantissa.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
                *at += 1;
            }
            shape.digits += *at - start;
            *at - start
        };
        let leads_with_zero = bytes.get(at) == Some(&b'0');
        let whole = digits(&mut at, &mut shape);
        if whole == 0 || (leads_with_zero && whole > 1) {
            return None;
        }
        if bytes.get(at) == Some(&b'.') {
            at += 1;
            shape.is_whole = false;
            shape.decimals = digits(&mut at, &mut shape);
            if shape.decimals == 0 {
                return None;
            }
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            at += 1;
            at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
            (shape.is_whole, shape.has_exponent) = (false, true);
            if digits(&mut at, &mut shape) == 0 {
                return None;
            }
        }
        self.at = at;
        Some(shape)
    }

    /// Skips a value that was not requested.
    fn skip(&mut self, depth: u32) -> Option<()> {
        match self.peek()? {
            b'"' => self.skip_string(),
            b'-' | b'0'..=b'9' => self.skip_number().map(|_| ()),
            open @ (b'{' | b'[') if depth < DEPTH_MAX => self.skip_items(open == b'{', depth),
            _ => self.token().map(|_| ()),
        }
    }

    fn skip_items(&mut self, is_map: bool, depth: u32) -> Option<()> {
        let end = if is_map { b'}' } else { b']' };
        self.at += 1;
        if self.expect(end).is_some() {
            return Some(());
        }
        loop {
            self.skip_blanks();
            if is_map {
                self.skip_string()?;
                self.expect(b':')?;
                self.skip_blanks();
            }
            self.skip(depth + 1)?;
            if self.expect(b',').is_none() {
                return self.expect(end);
            }
        }
    }
}

fn push(cells: &mut Cells, row: u32, token: Token<'_>) -> Option<()> {
    if cells.len() > row as usize {
        return None; // the key stands twice in one record
    }
    if cells.len() < row as usize {
        cells.pad(row as usize);
    }
    token.push_to(cells)
}

impl ScoreColumn {
    fn new(scorer: Arc<str>) -> Self {
        Self { scorer, rows: Vec::new(), cells: Cells::default(), waiting: Vec::new(), nulls: Vec::new() }
    }

    /// Forgets all rows from this one on.
    fn go_back(&mut self, row: u32) {
        let kept = self.rows.partition_point(|at| *at < row);
        self.rows.truncate(kept);
        self.settle().truncate(kept);
        self.nulls.retain(|cell| (*cell as usize) < kept);
    }

    fn push(&mut self, row: u32, token: Token<'_>) -> Option<()> {
        if self.rows.last() == Some(&row) {
            return None;
        }
        self.rows.push(row);
        match token {
            Token::Float(x) => {
                self.waiting.push(x);
                if self.waiting.len() == WAITING_MAX {
                    self.settle();
                }
                Some(())
            }
            Token::Null => {
                let cells = self.settle();
                let cell = cells.len() as u32;
                cells.push(Value::Missing);
                self.nulls.push(cell);
                Some(())
            }
            token => token.push_to(self.settle()),
        }
    }

    /// The cells with all that waits.
    fn settle(&mut self) -> &mut Cells {
        if !self.waiting.is_empty() {
            self.cells.extend_floats(&self.waiting);
            self.waiting.clear();
        }
        &mut self.cells
    }

    fn add_to(mut self, table: &mut Table, rows: usize) {
        self.settle();
        if self.rows.is_empty() {
            return;
        }
        let some = (self.rows.len() < rows).then_some(self.rows);
        table.score(self.scorer.clone(), some, self.cells);
        for cell in self.nulls {
            table.unscored(self.scorer.clone(), cell, "null");
        }
    }
}

/// How a number is written.
struct NumberShape {
    is_whole: bool,
    has_exponent: bool,
    digits: usize,
    decimals: usize,
    /// All digits as one number, if they are few.
    mantissa: u64,
}

/// Powers of ten that floats hold exactly.
pub(super) const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_key_is_recognised_by_all_of_its_bytes() {
        for length in 0..24 {
            let key = "k".repeat(length);
            let written = format!("\"{key}\":");
            let known = WrittenKey::new(&key);
            for after in ["", " ", "1, and more than eight bytes"] {
                let line = format!("{written}{after}").into_bytes();
                assert!(known.begins(&line), "{written}{after}");
                for place in 0..written.len() {
                    let mut other = line.clone();
                    other[place] ^= 1;
                    assert!(!known.begins(&other), "{written}{after} at {place}");
                    assert!(!known.begins(&line[..place]), "{written} cut at {place}");
                }
            }
        }
    }
}
