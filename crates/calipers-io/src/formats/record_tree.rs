//! Records whose values stand below paths: in maps and lists of a record, under keys that stand for runs, in maps of records.
//!
//! Each document (a line, an item of a list, a whole file) is parsed, its records are found, and each record becomes one
//! attempt or several: one for each item of a list, and one for each run that a star stands for. A document is in memory
//! while it is read; a file of lines never is as a whole. The time is proportional to the size of the file.

use super::any_table::{columns_of, is_id_of, is_list_of_lists, no_column, no_part, part_of_path};
use super::csv::CsvTable;
use super::fact_path::{FactPath, each_fact_around};
use super::json_layouts;
use super::line_blocks::LineBlocks;
use super::native::{self, ColumnRole, NativeRecord, RecordConsumer, parse_embedded};
#[cfg(feature = "parquet")]
use super::parquet::{BoundedFile, parquet_error, value as parquet_value};
use crate::columns::{
    ColumnPair, ColumnRoles, ColumnStep, ColumnTarget, Columns, FoundPart, KeyPattern, PathStart, PathSurprise,
    PseudoColumn,
};
use crate::error::printable;
use crate::json::{self, Json, python_literal};
use crate::{ColumnPath, FilePlace, Projection, ReadError, RecordedRun, Source};
#[cfg(feature = "parquet")]
use ::parquet::file::reader::SerializedFileReader;
#[cfg(feature = "parquet")]
use ::parquet::record::reader::RowIter;
use calipers_core::{Samples, Shards, Value};
use indexmap::IndexMap;
use serde::de::{DeserializeSeed, Deserializer, Error as _, SeqAccess, Visitor};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

/// How the records of a file are found and taken apart.
pub(super) struct RecordTree {
    pairs: Vec<ColumnPair>,
    /// How many of them were said; what follows is only looked at.
    said: usize,
    records: Option<ColumnPath>,
    /// The other columns of a record, by their names.
    roles: ColumnRoles,
    /// The columns that a pair takes its values from.
    used: HashSet<Arc<str>>,
    /// The columns that a path goes into.
    entered: HashSet<Arc<str>>,
    has_id: bool,
    has_score: bool,
    has_list: bool,
    star: Option<StarMeaning>,
    /// What is said, for a table whose rows are not maps.
    relaid: Option<Columns>,
}

/// What a star stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StarMeaning {
    /// A run: every sample should be in all of them.
    Run,
    /// A scorer of the same attempt.
    Scorer,
    /// A sample, an attempt or metadata.
    Other,
}

/// A value of a record, or a pseudo-column.
enum CellValue<'v> {
    Found(&'v Value),
    Made(Value),
}

/// A value, and the column that it belongs to.
struct TreeCell<'v> {
    pair: usize,
    item: Option<usize>,
    value: CellValue<'v>,
}

/// The values of a record that belong to one star, or to none.
#[derive(Default)]
struct StarCells<'v> {
    cells: Vec<TreeCell<'v>>,
    /// The lists, by the pair that goes through them.
    lists: Vec<(usize, usize)>,
}

/// A record and the maps around it.
#[derive(Clone, Copy)]
struct RecordFrame<'v> {
    value: &'v Value,
    /// The key that it stands under, or the list that it is an item of.
    key: Option<&'v str>,
    index: usize,
    /// The number of the list that it is an item of, among the lists of a list; 1 is the first.
    list: Option<usize>,
}

/// Where a document is.
#[derive(Clone, Copy)]
enum DocumentPlace {
    Line(u64),
    Item(usize),
    Row(u64),
}

/// What is known after some records.
#[derive(Default)]
struct TreeProgress {
    /// The pairs that found something.
    hits: Vec<bool>,
    records: u64,
    /// The columns of the first records, for messages.
    columns: Vec<Arc<str>>,
    /// The runs that a star stood for, with the number of samples before the first.
    runs: IndexMap<Arc<str>, usize>,
    /// The samples so far, where every run should have each.
    ids: Vec<Value>,
    /// The names in braces that were found, by their pairs.
    named: HashMap<usize, HashSet<String>>,
}

impl RecordTree {
    /// For records whose columns are these. Facts that are looked at are read too, where they are.
    pub(super) fn new(columns: &Columns, known: &[Arc<str>], looked_at: &[FactPath]) -> Self {
        let mut pairs = columns.pairs().to_vec();
        pairs.retain(|pair| !pair.is_run_of_path());
        let is_column = |name: &str| known.iter().any(|known| **known == *name);
        let mut roles = ColumnRoles::default();
        let mut star = None;
        for pair in &pairs {
            let meaning = match &pair.target {
                ColumnTarget::ScoreOfStar => Some(StarMeaning::Scorer),
                ColumnTarget::Role(role) => {
                    roles.take(role.clone());
                    let is_star = pair.path.start == PathStart::Star;
                    is_star.then_some(if matches!(role, ColumnRole::Run(_)) {
                        StarMeaning::Run
                    } else {
                        StarMeaning::Other
                    })
                }
            };
            star = star.or(meaning);
        }
        for (name, path) in columns.iter() {
            if name != path {
                roles.shown.push((name.to_owned(), path));
            }
        }
        let is = |wanted: fn(&ColumnRole) -> bool| {
            pairs.iter().any(|pair| match &pair.target {
                ColumnTarget::Role(role) => wanted(role),
                ColumnTarget::ScoreOfStar => wanted(&ColumnRole::Score("*".into())),
            })
        };
        let mut used = HashSet::new();
        for path in pairs.iter().flat_map(ColumnPair::paths) {
            match path.literal(is_column).as_ref().and_then(ColumnPath::as_column) {
                Some(column) => {
                    used.insert(column.clone());
                }
                None => {
                    // A path into the map of metadata leaves the rest of it what it is.
                    let is_within =
                        |key: &Arc<str>| path.steps.len() > 1 && ColumnRole::of(key) == ColumnRole::Metadata;
                    used.extend(path.first_keys().filter(|key| !is_within(key)).cloned());
                }
            }
        }
        let said = pairs.len();
        let has_id = is(|role| *role == ColumnRole::Id);
        let has_score = is(|role| matches!(role, ColumnRole::Score(_) | ColumnRole::Scores | ColumnRole::Flag(_)));
        for fact in looked_at.iter().filter(|fact| fact.is_extra()) {
            let target = ColumnTarget::Role(ColumnRole::Fact(fact.fact.clone()));
            let (name, path) = (fact.fact.to_string(), fact.path.clone());
            pairs.push(ColumnPair { name, target, path, further: Vec::new() });
        }
        let enters = |path: &&ColumnPath| path.up == 0 && path.start == PathStart::Record && path.steps.len() > 1;
        let paths = pairs.iter().flat_map(ColumnPair::paths).filter(enters);
        let entered = paths.flat_map(ColumnPath::first_keys).cloned().collect();
        Self {
            has_id,
            has_score,
            said,
            entered,
            has_list: pairs.iter().any(|pair| pair.path.has_list()),
            records: columns.records().cloned(),
            relaid: None,
            pairs,
            roles,
            used,
            star,
        }
    }

    /// The same for a table whose rows are not maps.
    pub(super) fn of_relaid(columns: &Columns, known: &[Arc<str>], looked_at: &[FactPath]) -> Self {
        Self { relaid: Some(columns.clone()), ..Self::new(columns, known, looked_at) }
    }

    /// Reads JSON.
    pub(super) fn read(&self, source: &Source, wanted: &Projection) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
        self.collect(source, wanted, &|take| each_document(source, take), None)
    }

    /// Reads the rows of a table. Cells are texts; those that a path goes into hold JSON.
    pub(super) fn read_csv(
        &self,
        source: &Source,
        table: &CsvTable<'_>,
        wanted: &Projection,
    ) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
        let is_deep = |name: &Arc<str>| {
            self.records.is_some()
                || self
                    .pairs
                    .iter()
                    .any(|pair| pair.path.steps.len() > 1 && pair.path.first_keys().any(|key| key == name))
        };
        let named = table.names.iter().enumerate().filter(|(_, name)| !name.is_empty());
        let columns: Vec<(usize, &Arc<str>, bool)> = named.map(|(place, name)| (place, name, is_deep(name))).collect();
        let rows = |take: &mut DocumentConsumer<'_>| {
            table.each_row(&mut |line, row| {
                let mut entries = Vec::with_capacity(columns.len());
                for (place, name, is_deep) in &columns {
                    let text = table.text(row, *place, line)?;
                    let embedded = || parse_embedded(text).or_else(|| python_literal::parse(text));
                    let embedded = if *is_deep { embedded() } else { None };
                    entries.push(((*name).clone(), embedded.unwrap_or_else(|| text.into())));
                }
                take(DocumentPlace::Line(line), &Value::Map(entries))
            })
        };
        self.collect(source, wanted, &rows, Some(table))
    }

    /// Reads the rows of a Parquet table.
    #[cfg(feature = "parquet")]
    pub(super) fn read_parquet(
        &self,
        source: &Source,
        file: &SerializedFileReader<BoundedFile>,
        wanted: &Projection,
    ) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
        let rows = |take: &mut DocumentConsumer<'_>| {
            let mut number = 0;
            let rows = RowIter::from_file(None, file).map_err(|error| parquet_error(source, &error))?;
            for row in rows {
                number += 1;
                let row = row.map_err(|error| parquet_error(source, &error).at(FilePlace::Row(number)))?;
                let entries = row.get_column_iter().map(|(name, field)| (name.as_str().into(), parquet_value(field)));
                take(DocumentPlace::Row(number), &Value::Map(entries.collect()))?;
            }
            Ok(Vec::new())
        };
        self.collect(source, wanted, &rows, None)
    }

    fn collect(
        &self,
        source: &Source,
        wanted: &Projection,
        documents: &DocumentReader<'_>,
        table: Option<&CsvTable<'_>>,
    ) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
        let read = |source: &Source, each: &mut RecordConsumer<'_>| {
            let mut progress = TreeProgress { hits: vec![false; self.pairs.len()], ..TreeProgress::default() };
            let notes = documents(&mut |place, document| {
                self.each_record(document, &mut |frames| {
                    let opened = self.open_texts(frames);
                    let mut changed = Vec::new();
                    if let Some(record) = &opened {
                        changed.extend_from_slice(frames);
                        changed.last_mut().into_iter().for_each(|last: &mut RecordFrame<'_>| last.value = record);
                    }
                    let frames = if opened.is_some() { &changed } else { frames };
                    progress.records += 1;
                    let reading = RecordReading {
                        tree: self,
                        source,
                        place,
                        frames,
                        wanted,
                        table,
                        index: progress.records - 1,
                        rest: OnceCell::new(),
                    };
                    reading.read(&mut progress, each)
                })
            })?;
            self.finish(source, progress, each)?;
            Ok(notes)
        };
        let runs = native::collect_shards(source, &self.roles, wanted, &read)?;
        let columns = runs.iter().flat_map(|run| run.samples.iter()).flat_map(Samples::columns);
        let known: HashSet<&str> = columns.map(|name| &**name).collect();
        if wanted.missing(|column| known.contains(column)).next().is_some() {
            // The message about a missing column lists those that exist.
            return self.collect(source, &Projection::everything(), documents, table);
        }
        Ok(runs)
    }

    /// Finds the records of a document.
    fn each_record(&self, document: &Value, each: &mut AnyFrameConsumer<'_>) -> Result<(), ReadError> {
        let relay = |columns: &Columns| json_layouts::relay(document, columns, &is_id_of(columns));
        let relaid = self.relaid.as_ref().and_then(relay);
        let root = RecordFrame { value: relaid.as_ref().unwrap_or(document), key: None, index: 0, list: None };
        match (&self.records, &relaid) {
            (None, Some(Value::List(rows))) => rows
                .iter()
                .enumerate()
                .try_for_each(|(index, row)| each(&[RecordFrame { value: row, key: None, index, list: None }])),
            (None, _) => each(&[root]),
            (Some(path), _) => {
                descend(&path.steps, RecordsEnd::of(&path.steps), &mut vec![root], &mut |frames| each(frames))
            }
        }
    }

    /// The record with what its texts hold, where a path goes into one: a map may be written as a text in any table.
    fn open_texts(&self, frames: &[RecordFrame<'_>]) -> Option<Value> {
        let Value::Map(entries) = frames.last()?.value else { return None };
        let is_closed = |(key, value): &(Arc<str>, Value)| {
            self.entered.contains(key)
                && matches!(value, Value::Text(text) if text.trim_start().starts_with(['{', '[']))
        };
        if self.entered.is_empty() || !entries.iter().any(is_closed) {
            return None;
        }
        let open = |entry: &(Arc<str>, Value)| {
            let (key, value) = entry.clone();
            (key, if is_closed(entry) { native::unfold(value) } else { value })
        };
        Some(Value::Map(entries.iter().map(open).collect()))
    }

    /// What can be said when all records are there.
    fn finish(&self, source: &Source, progress: TreeProgress, each: &mut RecordConsumer<'_>) -> Result<(), ReadError> {
        if progress.records == 0 {
            let what = match &self.records {
                Some(path) => format!("there are no records in `{path}`"),
                None => "the file has no records".to_owned(),
            };
            return Err(source.error(what).hint("say with `records=` where the list or map of records is"));
        }
        if let Some((pair, _)) = self.pairs[..self.said].iter().zip(&progress.hits).find(|(_, is_hit)| !**is_hit) {
            return Err(no_column(source, &pair.name, &pair.to_text(), &progress.columns));
        }
        // None of the names in braces is left out.
        for (pair, column) in self.pairs[..self.said].iter().enumerate() {
            let names = column.path.pattern().map_or(&[][..], KeyPattern::names);
            let is_found = |name: &&String| progress.named.get(&pair).is_some_and(|found| found.contains(*name));
            if let Some(name) = names.iter().find(|name| !is_found(name)) {
                return Err(no_column(source, &column.name, name, &progress.columns));
            }
        }
        // A run that appears late has no score for the samples before it.
        for (run, before) in &progress.runs {
            for id in &progress.ids[..*before] {
                let mut record = NativeRecord::default();
                let fill = [(ColumnRole::Id, id.clone()), (ColumnRole::Run("run".into()), Value::Text(run.clone()))];
                for (role, value) in fill {
                    record.take(&role, value).map_err(|what| source.error(what))?;
                }
                record.fill_scores(self.roles.scorers());
                each(FilePlace::Path(format!("{run}")), &mut record)?;
            }
        }
        Ok(())
    }
}

/// What may tell apart records with the same id, as far as the maps around the first records below a path say it: what was
/// tried, a name, or the key that a map stands under.
pub(super) fn facts_around(documents: &[Value], path: &ColumnPath, max: usize) -> Vec<FactPath> {
    let mut found: IndexMap<String, FactPath> = IndexMap::new();
    let mut add = |text: String| {
        let fact = if found.contains_key(&text) { None } else { FactPath::of_text(&text) };
        fact.into_iter().for_each(|fact| drop(found.insert(text.clone(), fact)));
    };
    // Records next to one another are in the same maps.
    let mut last: Vec<*const Value> = Vec::new();
    let mut records = 0;
    each_frame(documents, path, &mut |frames| {
        for (place, pair) in frames.windows(2).enumerate() {
            let [frame, inner] = pair else { continue };
            let address = std::ptr::from_ref(frame.value);
            if last.get(place) == Some(&address) {
                continue;
            }
            last.resize(last.len().max(place + 1), std::ptr::null());
            last[place] = address;
            let up = "^".repeat(frames.len() - 1 - place);
            if frame.key.is_some() {
                add(format!("{up}@key"));
            }
            each_fact_around(frame.value, inner.key, &mut |_, text, value| {
                if is_fact(value) {
                    add(format!("{up}{text}"));
                }
            });
        }
        records += 1;
        records < max
    });
    found.into_values().collect()
}

/// Passes on the frames of each record below a path, as long as more are wanted.
fn each_frame(documents: &[Value], path: &ColumnPath, each: &mut dyn FnMut(&[RecordFrame<'_>]) -> bool) {
    let end = RecordsEnd::of(&path.steps);
    for document in documents {
        let mut frames = vec![RecordFrame { value: document, key: None, index: 0, list: None }];
        let taken = descend(&path.steps, end, &mut frames, &mut |frames| {
            if each(frames) { Ok(()) } else { Err(ReadError::new("", "enough")) }
        });
        if taken.is_err() {
            break;
        }
    }
}

/// The first records below a path.
pub(super) fn first_records(documents: &[Value], path: &ColumnPath, max: usize) -> Vec<Value> {
    let mut records = Vec::new();
    each_frame(documents, path, &mut |frames| {
        records.extend(frames.last().map(|frame| frame.value.clone()));
        records.len() < max
    });
    records
}

/// Receives the frames of a record: the maps around it, and itself.
type FrameConsumer<'a, 'v> = dyn FnMut(&[RecordFrame<'v>]) -> Result<(), ReadError> + 'a;
/// The same, of whatever document they belong to.
type AnyFrameConsumer<'a> = dyn FnMut(&[RecordFrame<'_>]) -> Result<(), ReadError> + 'a;
/// Receives a document and its place.
type DocumentConsumer<'a> = dyn FnMut(DocumentPlace, &Value) -> Result<(), ReadError> + 'a;
/// Passes on the documents of a file, and returns notes.
type DocumentReader<'a> = dyn Fn(&mut DocumentConsumer<'_>) -> Result<Vec<String>, ReadError> + 'a;

/// What stands at the end of the path to the records.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RecordsEnd {
    /// A record.
    Record,
    /// A list of records, or else a record: one place in each of many lists.
    ListOrRecord,
    /// A list or a map of records.
    Records,
}

impl RecordsEnd {
    fn of(steps: &[ColumnStep]) -> Self {
        let is_many = |step: &ColumnStep| matches!(step, ColumnStep::Each | ColumnStep::By(_) | ColumnStep::Pattern(_));
        match steps {
            [.., last] if is_many(last) => Self::Record,
            [before @ .., ColumnStep::Index(_)] if before.iter().any(is_many) => Self::ListOrRecord,
            _ => Self::Records,
        }
    }

    fn is_record(self, value: &Value) -> bool {
        match self {
            Self::Record => true,
            Self::ListOrRecord => !matches!(value, Value::List(_)),
            Self::Records => false,
        }
    }
}

/// Goes down the path to the records. The last frame is where we are; maps on the way stay below it.
fn descend<'v>(
    steps: &[ColumnStep],
    end: RecordsEnd,
    frames: &mut Vec<RecordFrame<'v>>,
    each: &mut FrameConsumer<'_, 'v>,
) -> Result<(), ReadError> {
    let Some(&here) = frames.last() else { return Ok(()) };
    let (step, rest) = match steps.split_first() {
        Some((step, rest)) => (Some(step), rest),
        None if end.is_record(here.value) => return each(frames),
        None => (None, steps),
    };
    // Lists have no keys, so they are no frames: `^` leads from an item to the map around its list.
    let mut enter = |value: &'v Value, key: Option<&'v str>, index: usize, frames: &mut Vec<RecordFrame<'v>>| {
        let is_list = matches!(here.value, Value::List(_));
        let last = if is_list { frames.pop() } else { None };
        // A list in a list has no key, but a number, which its items keep.
        let is_nested = is_list && matches!(value, Value::List(_));
        let list = if is_nested { Some(index + 1) } else { here.list.filter(|_| is_list) };
        frames.push(RecordFrame { value, key, index, list });
        let done = if step.is_some() { descend(rest, end, frames, each) } else { each(frames) };
        frames.pop();
        frames.extend(last);
        done
    };
    match (step, here.value) {
        (Some(ColumnStep::Key(key)), Value::Map(entries)) => match entries.iter().find(|(name, _)| name == key) {
            Some((name, value)) => enter(value, Some(name), 0, frames),
            None => Ok(()),
        },
        (Some(ColumnStep::Index(place)), Value::List(items)) => match items.get(*place) {
            Some(item) => enter(item, here.key, *place, frames),
            None => Ok(()),
        },
        (Some(ColumnStep::By(key)), Value::List(items)) => {
            let named = items.iter().enumerate().filter_map(|(place, item)| match item.get(key) {
                Some(Value::Text(name)) => Some((place, &**name, item)),
                _ => None,
            });
            named.into_iter().try_for_each(|(place, name, item)| enter(item, Some(name), place, frames))
        }
        (Some(ColumnStep::Each) | None, Value::List(items)) => {
            items.iter().enumerate().try_for_each(|(place, item)| enter(item, here.key, place, frames))
        }
        (Some(ColumnStep::Pattern(pattern)), Value::Map(entries)) => {
            let fitting = entries.iter().filter(|(key, _)| pattern.capture(key).is_some());
            fitting.enumerate().try_for_each(|(place, (key, value))| enter(value, Some(key), place, frames))
        }
        (None, Value::Map(entries)) => {
            entries.iter().enumerate().try_for_each(|(place, (key, value))| enter(value, Some(key), place, frames))
        }
        _ => Ok(()),
    }
}

/// A record being read.
struct RecordReading<'a, 'v> {
    tree: &'a RecordTree,
    source: &'a Source,
    place: DocumentPlace,
    frames: &'a [RecordFrame<'v>],
    wanted: &'a Projection,
    /// The table, if cells are texts, whose meaning depends on the column.
    table: Option<&'a CsvTable<'a>>,
    /// The place among all records.
    index: u64,
    /// What no pair names, by its role: the same for every star.
    rest: OnceCell<Vec<(ColumnRole, &'v Value)>>,
}

impl<'v> RecordReading<'_, 'v> {
    fn record(&self) -> RecordFrame<'v> {
        self.frames[self.frames.len() - 1]
    }

    fn file_place(&self) -> FilePlace {
        match (self.place, &self.tree.records) {
            (DocumentPlace::Line(line), _) => FilePlace::Line(line),
            (DocumentPlace::Row(row), _) => FilePlace::Row(row),
            (DocumentPlace::Item(item), None) => FilePlace::Path(format!("[{item}]")),
            (DocumentPlace::Item(_), Some(path)) => match self.record() {
                RecordFrame { key: Some(key), .. } => FilePlace::Path(format!("{path}, {key}")),
                RecordFrame { index, .. } => FilePlace::Path(format!("{path}[{index}]")),
            },
        }
    }

    fn error(&self, what: String) -> ReadError {
        self.source.error(what).at(self.file_place())
    }

    fn read(&self, progress: &mut TreeProgress, each: &mut RecordConsumer<'_>) -> Result<(), ReadError> {
        let tree = self.tree;
        // Enough for a message.
        const COLUMNS_MAX: usize = 1000;
        if progress.columns.len() < COLUMNS_MAX && progress.records <= 100 {
            let mut fresh = columns_of(std::iter::once(self.record().value));
            fresh.truncate(COLUMNS_MAX);
            fresh.retain(|name| !progress.columns.contains(name));
            progress.columns.append(&mut fresh);
        }
        let mut common = StarCells::default();
        let mut by_star: IndexMap<&'v str, StarCells<'v>> = IndexMap::new();
        for (pair, column) in tree.pairs.iter().enumerate() {
            let mut is_hit = false;
            match column.path.start {
                _ if column.is_joined() => {
                    if let Some(value) = self.join(column)? {
                        is_hit = true;
                        common.cells.push(TreeCell { pair, item: None, value: CellValue::Made(value) });
                    }
                }
                PathStart::Star => is_hit = true,
                PathStart::Pseudo(pseudo) => {
                    if let Some(value) = self.pseudo(&column.path, &column.target, pseudo)? {
                        is_hit = true;
                        common.cells.push(TreeCell { pair, item: None, value: CellValue::Made(value) });
                    }
                }
                PathStart::Record => {
                    let Some(at) = self.frames.len().checked_sub(1 + column.path.up) else { continue };
                    let everything = column.path.pattern().is_some_and(KeyPattern::is_everything);
                    let is_top = everything && column.path.steps.len() == 1;
                    let has_names = column.path.pattern().is_some_and(|pattern| !pattern.names().is_empty());
                    let mut take = |star: Option<&'v str>, item: Option<usize>, found: FoundPart<'v>| {
                        // A lone star stands for the columns that are nothing else.
                        if is_top && star.is_some_and(|star| tree.used.contains(star)) {
                            return;
                        }
                        if let Some(star) = star.filter(|_| has_names) {
                            let found = progress.named.entry(pair).or_default();
                            if !found.contains(star) {
                                found.insert(star.to_owned());
                            }
                        }
                        let cells = match star {
                            Some(star) => by_star.entry(star).or_default(),
                            None => &mut common,
                        };
                        match found {
                            FoundPart::Value(value) if pair >= tree.said && !is_fact(value) => {}
                            FoundPart::List(items) => cells.lists.push((pair, items)),
                            FoundPart::Value(value) => {
                                is_hit = true;
                                cells.cells.push(TreeCell { pair, item, value: CellValue::Found(value) });
                            }
                        }
                    };
                    let found = column.path.find(self.frames[at].value, &mut take);
                    // What is only looked at may be something else.
                    let found = if pair < tree.said { found } else { Ok(()) };
                    found.map_err(|surprise: PathSurprise<'_>| {
                        let shown: String = printable(&surprise.value.to_string()).chars().take(40).collect();
                        let what = format!("`{}` goes through `{shown}`, {}", column.path, surprise.lacks);
                        self.error(what).hint(surprise.hint)
                    })?;
                }
            }
            let is_id = column.target == ColumnTarget::Role(ColumnRole::Id);
            if is_id && !is_hit {
                let is_nowhere = !progress.hits[pair];
                return Err(match is_nowhere {
                    true => no_column(self.source, &column.name, &column.to_text(), &progress.columns),
                    false => self.refuse(native::NO_ID.to_owned()),
                });
            }
            progress.hits[pair] |= is_hit;
        }
        match tree.star {
            None => self.emit(None, &common, &StarCells::default(), each),
            Some(StarMeaning::Scorer) => self.emit_scorers(&common, &by_star, each),
            Some(meaning) => {
                for (star, cells) in &by_star {
                    self.emit(Some(star), &common, cells, each)?;
                }
                if meaning == StarMeaning::Run {
                    self.fill_runs(&common, &by_star, progress, each)?;
                }
                Ok(())
            }
        }
    }

    /// Leaves the sample unscored in the runs that are known and not in this record.
    fn fill_runs(
        &self,
        common: &StarCells<'v>,
        by_star: &IndexMap<&'v str, StarCells<'v>>,
        progress: &mut TreeProgress,
        each: &mut RecordConsumer<'_>,
    ) -> Result<(), ReadError> {
        let before = progress.ids.len();
        for star in by_star.keys() {
            if !progress.runs.contains_key(*star) {
                progress.runs.insert((*star).into(), before);
            }
        }
        let missing: Vec<Arc<str>> =
            progress.runs.keys().filter(|run| !by_star.contains_key(&***run)).cloned().collect();
        for run in missing {
            self.emit(Some(&run), common, &StarCells::default(), each)?;
        }
        if let Some(id) = self.id(common) {
            progress.ids.push(id);
        }
        Ok(())
    }

    fn id(&self, common: &StarCells<'v>) -> Option<Value> {
        let is_id = |cell: &&TreeCell<'v>| self.tree.pairs[cell.pair].target == ColumnTarget::Role(ColumnRole::Id);
        let named = common.cells.iter().find(is_id).map(|cell| self.value(&ColumnRole::Id, &cell.value));
        let record = self.record();
        let native = || record.value.get("id").or_else(|| record.value.get("sample_id")).cloned();
        let key = || record.key.map(Value::from);
        named.or_else(|| if self.tree.has_id { None } else { native().or_else(key) })
    }

    /// The values of several columns as one text. Nothing if none of them is there, or if an id lacks one.
    fn join(&self, column: &ColumnPair) -> Result<Option<Value>, ReadError> {
        let mut parts: Vec<Option<String>> = Vec::new();
        for path in column.paths() {
            let mut part = None;
            if let PathStart::Pseudo(pseudo) = path.start {
                part = self.pseudo(path, &column.target, pseudo)?.map(|value| value.to_string());
            } else if let Some(at) = self.frames.len().checked_sub(1 + path.up) {
                let mut take = |_: Option<&'v str>, _: Option<usize>, found: FoundPart<'v>| {
                    if let FoundPart::Value(value) = found
                        && value.is_scalar()
                        && !matches!(value, Value::Null | Value::Missing)
                    {
                        part = Some(value.to_string());
                    }
                };
                let _ = path.find(self.frames[at].value, &mut take);
            }
            parts.push(part.filter(|part| !part.is_empty()));
        }
        let is_id = !column.target.is_run();
        if parts.iter().all(Option::is_none) || is_id && parts.iter().any(Option::is_none) {
            return Ok(None);
        }
        let parts: Vec<String> = parts.into_iter().map(Option::unwrap_or_default).collect();
        Ok(Some(parts.join("/").into()))
    }

    fn pseudo(
        &self,
        path: &ColumnPath,
        target: &ColumnTarget,
        pseudo: PseudoColumn,
    ) -> Result<Option<Value>, ReadError> {
        let frame = self.frames.len().checked_sub(1 + path.up).map(|at| self.frames[at]);
        Ok(match pseudo {
            PseudoColumn::Key => frame.and_then(|frame| {
                let number = frame.list.and_then(|list| i64::try_from(list).ok());
                frame.key.map(Value::from).or_else(|| number.map(Value::Int))
            }),
            PseudoColumn::Index if self.tree.records.is_some() => frame.map(|frame| Value::Int(frame.index as i64)),
            PseudoColumn::Index => i64::try_from(self.index).ok().map(Value::Int),
            PseudoColumn::Line => match self.place {
                DocumentPlace::Line(line) | DocumentPlace::Row(line) if self.tree.records.is_none() => {
                    i64::try_from(line).ok().map(Value::Int)
                }
                _ => i64::try_from(self.index + 1).ok().map(Value::Int),
            },
            of_path => match part_of_path(self.source, of_path) {
                // The attempt in a name such as `run-3` is its number.
                Some(part) if *target == ColumnTarget::Role(ColumnRole::Epoch) => {
                    let digits = part.rsplit(|c: char| !c.is_ascii_digit()).find(|digits| !digits.is_empty());
                    Some(digits.unwrap_or(part).into())
                }
                Some(part) => Some(part.into()),
                None => return Err(no_part(self.source, &path.to_string())),
            },
        })
    }

    fn value(&self, role: &ColumnRole, value: &CellValue<'v>) -> Value {
        match value {
            CellValue::Made(value) => value.clone(),
            CellValue::Found(value) => match (value, self.table) {
                (Value::Text(text), Some(table)) => table.cell(role, text),
                _ => (*value).clone(),
            },
        }
    }

    /// The attempts of a record under one star, or under none.
    fn emit(
        &self,
        star: Option<&str>,
        common: &StarCells<'v>,
        cells: &StarCells<'v>,
        each: &mut RecordConsumer<'_>,
    ) -> Result<(), ReadError> {
        let attempts = self.attempts(common, cells)?;
        let mut by_item: Vec<Vec<&TreeCell<'v>>> = vec![Vec::new(); attempts.unwrap_or(1)];
        let mut whole = Vec::new();
        for cell in common.cells.iter().chain(&cells.cells) {
            match cell.item {
                None => whole.push(cell),
                Some(item) => by_item.get_mut(item).into_iter().for_each(|cells| cells.push(cell)),
            }
        }
        // A record whose list is empty has a sample all the same, without a score.
        by_item.resize_with(by_item.len().max(1), Vec::new);
        let mut record = NativeRecord::default();
        for items in by_item {
            let all = whole.iter().chain(&items).copied();
            self.fill(&mut record, star, all).map_err(|what| self.refuse(what))?;
            each(self.file_place(), &mut record)?;
        }
        Ok(())
    }

    /// One attempt of a record, whose star stands for scorers.
    fn emit_scorers(
        &self,
        common: &StarCells<'v>,
        by_star: &IndexMap<&'v str, StarCells<'v>>,
        each: &mut RecordConsumer<'_>,
    ) -> Result<(), ReadError> {
        let mut record = NativeRecord::default();
        let is_list = !common.lists.is_empty() || by_star.values().any(|cells| !cells.lists.is_empty());
        if is_list || common.cells.iter().any(|cell| cell.item.is_some()) {
            let what = "a list of attempts and a star that stands for scorers cannot be combined".to_owned();
            return Err(self.error(what).hint("name the scorers, as in `score.judge=trials[].judge`"));
        }
        self.fill(&mut record, None, common.cells.iter()).map_err(|what| self.refuse(what))?;
        for (star, cells) in by_star {
            for cell in &cells.cells {
                let role = ColumnRole::Score((*star).into());
                let value = self.value(&role, &cell.value);
                record.take(&role, value).map_err(|what| self.refuse(what))?;
            }
        }
        each(self.file_place(), &mut record)
    }

    /// The number of attempts in the lists of a record; none if there are no lists.
    fn attempts(&self, common: &StarCells<'v>, cells: &StarCells<'v>) -> Result<Option<usize>, ReadError> {
        if !self.tree.has_list {
            return Ok(None);
        }
        let mut lists = common.lists.iter().chain(&cells.lists);
        let Some((first, attempts)) = lists.next() else { return Ok(Some(0)) };
        if let Some((other, items)) = lists.find(|(_, items)| items != attempts) {
            let path = |pair: &usize| &self.tree.pairs[*pair].path;
            let what = format!("`{}` has {attempts} items and `{}` has {items}", path(first), path(other));
            return Err(self
                .error(what)
                .hint("lists of attempts are matched item by item, so they need the same length"));
        }
        Ok(Some(*attempts))
    }

    fn refuse(&self, what: String) -> ReadError {
        self.error(self.tree.roles.explain(what)).hint("see docs/formats/any-table.md for how columns are named")
    }

    /// Puts values into a record: those of columns that were named, and the rest by their names.
    fn fill<'c>(
        &self,
        record: &mut NativeRecord,
        star: Option<&str>,
        cells: impl Iterator<Item = &'c TreeCell<'v>>,
    ) -> Result<(), String>
    where
        'v: 'c,
    {
        let tree = self.tree;
        let mut has_id = false;
        for cell in cells {
            let ColumnTarget::Role(role) = &tree.pairs[cell.pair].target else { continue };
            has_id |= *role == ColumnRole::Id;
            record.take(role, self.value(role, &cell.value))?;
        }
        for pair in tree.pairs.iter().filter(|pair| pair.path.start == PathStart::Star) {
            if let (ColumnTarget::Role(role), Some(star)) = (&pair.target, star) {
                has_id |= *role == ColumnRole::Id;
                // Columns that are attempts may have names; they are counted in their order.
                if *role != ColumnRole::Epoch || star.parse::<u32>().is_ok() {
                    record.take(role, star.into())?;
                }
            }
        }
        let frame = self.record();
        if let Value::Map(entries) = frame.value {
            for (role, value) in self.rest.get_or_init(|| self.find_rest(entries)) {
                has_id |= matches!(role, ColumnRole::Id | ColumnRole::SampleId);
                record.take(role, self.value(role, &CellValue::Found(value)))?;
            }
        } else if !tree.has_score {
            let role = ColumnRole::Score("score".into());
            record.take(&role, self.value(&role, &CellValue::Found(frame.value)))?;
        }
        if let Some(key) = frame.key.filter(|_| !has_id && !tree.has_id) {
            record.take(&ColumnRole::Id, key.into())?;
            has_id = true;
        }
        if !has_id {
            return Err(native::NO_ID.to_owned());
        }
        record.fill_scores(tree.roles.scorers());
        Ok(())
    }

    /// The entries of a record that no pair names.
    fn find_rest(&self, entries: &'v [(Arc<str>, Value)]) -> Vec<(ColumnRole, &'v Value)> {
        let rest = entries.iter().filter(|(key, _)| !self.tree.used.contains(key) && !self.is_starred(key));
        let roles = rest.filter_map(|(key, value)| Some((self.tree.roles.of(key)?, value)));
        roles.filter(|(role, _)| !matches!(role, ColumnRole::Fact(name) if !self.wanted.has(name))).collect()
    }

    /// True for a key that a star stands for.
    fn is_starred(&self, key: &str) -> bool {
        self.tree.pairs.iter().any(|pair| match pair.path.steps.first() {
            Some(ColumnStep::Pattern(pattern)) if pair.path.up == 0 => pattern.capture(key).is_some(),
            _ => false,
        })
    }
}

/// True for a value that can be a fact: what is not given, or is a map, says nothing.
fn is_fact(value: &Value) -> bool {
    value.is_scalar() && !matches!(value, Value::Null | Value::Missing)
}

/// Passes on the JSON documents of a file: its lines, the items of its list, or the documents that it holds.
fn each_document(source: &Source, take: &mut DocumentConsumer<'_>) -> Result<Vec<String>, ReadError> {
    let mut reader = source.open()?;
    if native::first_byte(source, &mut reader)? == Some(b'[') {
        return each_item(source, take);
    }
    let mut blocks = LineBlocks::new(reader);
    let mut number = 0;
    while let Some(block) = blocks.next().map_err(|broken| broken.in_source(source, number + 1))? {
        let text = if number == 0 { block.strip_prefix(&native::BOM).unwrap_or(&block) } else { &block };
        let lines = text.split(|byte| *byte == b'\n').collect::<Vec<_>>();
        let count = lines.len();
        for (place, line) in lines.into_iter().enumerate() {
            let text = json::line(line);
            // What follows the last line end belongs to the next block.
            number += u64::from(place + 1 < count || !text.is_empty());
            if text.is_empty() {
                continue;
            }
            match serde_json::from_slice::<Json>(&json::standard(text)) {
                Ok(Json(value)) => take(DocumentPlace::Line(number), &value)?,
                Err(error) if number == 1 && error.is_eof() => return each_whole(source, take),
                Err(error) => {
                    let what = error.to_string();
                    let what = what.split(" at line ").next().unwrap_or_default().to_owned();
                    let hint = if error.is_eof() { "the line is cut off" } else { "write one JSON record per line" };
                    let read = source.error(format!("not a record: {what}")).at_line(number).hint(hint);
                    return Err(read);
                }
            }
        }
    }
    Ok(Vec::new())
}

/// Documents over several lines, one after the other.
fn each_whole(source: &Source, take: &mut DocumentConsumer<'_>) -> Result<Vec<String>, ReadError> {
    each_in(source, &source.read_all()?, take)
}

fn each_in(source: &Source, bytes: &[u8], take: &mut DocumentConsumer<'_>) -> Result<Vec<String>, ReadError> {
    let standard = json::standard(bytes.strip_prefix(&native::BOM).unwrap_or(bytes));
    for (place, document) in serde_json::Deserializer::from_slice(&standard).into_iter::<Json>().enumerate() {
        let Json(value) = document.map_err(|error| json::json_error(&source.name, &error))?;
        take(DocumentPlace::Item(place), &value)?;
    }
    Ok(Vec::new())
}

fn each_item(source: &Source, take: &mut DocumentConsumer<'_>) -> Result<Vec<String>, ReadError> {
    let bytes = source.read_all()?;
    if let Some(joined) = json::join_lists(&bytes) {
        return each_in(source, &joined, take);
    }
    if is_list_of_lists(&bytes) {
        return each_whole(source, take);
    }
    let standard = json::standard(bytes.strip_prefix(&native::BOM).unwrap_or(&bytes));
    let mut parser = serde_json::Deserializer::from_slice(&standard);
    let mut refused = None;
    let items = DocumentList { take, refused: &mut refused };
    let parsed = items.deserialize(&mut parser).and_then(|()| parser.end());
    let parsed = parsed.map_err(|error| json::json_error(&source.name, &error));
    refused.map_or(parsed, Err).map(|()| Vec::new())
}

/// The items of a JSON list, passed on as they are read.
struct DocumentList<'a, 'b> {
    take: &'a mut DocumentConsumer<'b>,
    refused: &'a mut Option<ReadError>,
}

impl<'de> DeserializeSeed<'de> for DocumentList<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for DocumentList<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of records")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut place = 0;
        while let Some(Json(item)) = items.next_element()? {
            if let Err(error) = (self.take)(DocumentPlace::Item(place), &item) {
                *self.refused = Some(error);
                return Err(A::Error::custom("refused"));
            }
            place += 1;
        }
        Ok(())
    }
}
