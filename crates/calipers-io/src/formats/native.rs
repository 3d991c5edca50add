//! Calipers' native records: JSON Lines, a JSON list, or one JSON map. CSV and Parquet share the record and its
//! columns.

use super::any_table::{self, TableReading};
use super::fact_path::NestedFact;
use super::line_blocks::LineBlocks;
use super::native_fast::FlatRecords;
use super::row_places::shell_word;
use super::{Format, note_repeats};
use crate::columns::ColumnRoles;
use crate::error::printable;
use crate::json::{self, Json};
use crate::source::SourcePart;
use crate::{FilePlace, Projection, ReadError, RecordedRun, Root, Shape, Source};
use calipers_core::{DeliveredAttempt, Delivery, Labels, Metadata, Outcome, SampleId, Samples, Score, Shards, Value};
use indexmap::IndexMap;
use rayon::prelude::*;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::BufRead;
use std::ops::Range;
use std::sync::Arc;

/// One record per attempt.
pub(crate) struct Native;

impl Format for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn about(&self) -> &'static str {
        "Calipers records: JSON Lines, a JSON list, or CSV and Parquet with the same columns"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        let named = |key: &str| shape.has_keys(&[key]) || shape.lists_keys(&[key]);
        (named("id") || named("sample_id")) && !is_other_map(shape)
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        whole(self.read_shards(source, &Projection::everything()))
    }

    fn read_shards(&self, source: &Source, wanted: &Projection) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
        any_table::read_json(source, wanted, &|reading, wanted| match reading {
            TableReading::Flat(roles) => read_flat(source, roles, wanted),
            TableReading::Tree(tree) => tree.read(source, wanted),
        })
    }
}

/// Reads records whose columns are keys of theirs.
fn read_flat(source: &Source, roles: &ColumnRoles, wanted: &Projection) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
    let mut reader = source.open()?;
    if first_byte(source, &mut reader)? == Some(b'[') {
        return collect_shards(source, roles, wanted, &|source, each| read_list(source, roles, each));
    }
    match read_lines(source, roles, wanted)? {
        Some(runs) => Ok(runs),
        None => collect_shards(source, roles, wanted, &|source, each| read_documents(source, roles, each)),
    }
}

/// True for a single whole map that has an `id` and nothing else of a record: the summary of a job, a configuration.
fn is_other_map(shape: &Shape) -> bool {
    let Some(json) = shape.json.as_ref().filter(|json| json.root == Root::Map && !json.lines) else { return false };
    let is_role =
        |key: &str| !matches!(ColumnRole::of(key), ColumnRole::Id | ColumnRole::SampleId | ColumnRole::Fact(_));
    // A summary counts failures too.
    let is_known = |key: &String| key == "category" || is_role(key) && !FAILURES.contains(&key.as_str());
    // A longer file may have its scores further down, and a file that was cut off deserves that message.
    let is_whole = shape.head.len() < 64 * 1024 && shape.head.trim_ascii_end().ends_with(b"}");
    is_whole && !json.keys.iter().any(is_known)
}

/// Receives each record with its place. The record is empty afterwards and may be reused.
pub(crate) type RecordConsumer<'a> = dyn FnMut(FilePlace, &mut NativeRecord) -> Result<(), ReadError> + 'a;

/// Passes on the records of a source one by one, and returns notes.
pub(crate) type RecordReader<'r> = dyn Fn(&Source, &mut RecordConsumer<'_>) -> Result<Vec<String>, ReadError> + 'r;

/// Runs with their samples in one part.
pub(crate) fn whole(runs: Result<Vec<RecordedRun<Shards>>, ReadError>) -> Result<Vec<RecordedRun>, ReadError> {
    Ok(runs?.into_iter().map(|run| run.map_samples(Shards::into_whole)).collect())
}

/// The rows of one run in a part of a file.
#[derive(Debug)]
pub(crate) struct RowsOfRun {
    /// The run, if the file tells several apart.
    pub(crate) run: Option<Arc<str>>,
    pub(crate) samples: Samples,
    pub(crate) records: usize,
}

/// Rows by run, in the order in which the runs first appear.
pub(crate) struct RunRows<'w> {
    wanted: &'w Projection,
    runs: Vec<RowsOfRun>,
    places: HashMap<Option<Arc<str>>, usize>,
    /// The place of the run met last: most files hold one, or one after another.
    last: usize,
}

impl<'w> RunRows<'w> {
    /// No rows yet, of records of which these columns are needed.
    fn new(wanted: &'w Projection) -> Self {
        Self { wanted, runs: Vec::new(), places: HashMap::new(), last: 0 }
    }

    /// Adds a record to the run that it belongs to, and leaves it empty.
    pub(crate) fn push(&mut self, record: &mut NativeRecord) -> Result<(), String> {
        let run = record.take_run();
        if self.runs.get(self.last).is_none_or(|last| last.run != run) {
            self.last = *self.places.entry(run.clone()).or_insert(self.runs.len());
            if self.last == self.runs.len() {
                self.runs.push(RowsOfRun { run, samples: Samples::new(), records: 0 });
            }
        }
        let rows = &mut self.runs[self.last];
        rows.records += 1;
        record.take_out(self.wanted.nested());
        record.leave_out_unwanted(&rows.samples, self.wanted);
        record.push(&mut rows.samples)
    }

    pub(crate) fn into_runs(self) -> Vec<RowsOfRun> {
        self.runs
    }
}

/// Reads records into runs.
pub(crate) fn collect_shards(
    source: &Source,
    roles: &ColumnRoles,
    wanted: &Projection,
    read: &RecordReader<'_>,
) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
    let mut rows = RunRows::new(wanted);
    let notes = read(source, &mut |place, record| {
        rows.push(record).map_err(|what| record_error(source, roles.explain(what), place))
    })?;
    check_runs(source, rows.into_runs(), notes, roles, read)
}

/// The runs, after checking that no two records contradict each other.
pub(crate) fn check_runs(
    source: &Source,
    parts: Vec<RowsOfRun>,
    notes: Vec<String>,
    roles: &ColumnRoles,
    read: &RecordReader<'_>,
) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
    let mut by_run: IndexMap<Option<Arc<str>>, (Vec<Samples>, usize)> = IndexMap::new();
    // A reader that gave up at the first record has no rows, and says nothing about runs.
    for part in parts.into_iter().filter(|part| part.records > 0) {
        let (samples, records) = by_run.entry(part.run).or_default();
        samples.push(part.samples);
        *records += part.records;
    }
    if by_run.is_empty() {
        by_run.insert(None, (Vec::new(), 0));
    }
    let mut runs = Vec::new();
    for (run, (samples, records)) in by_run {
        let samples = Shards::new(samples);
        let mut notes = if runs.is_empty() { notes.clone() } else { Vec::new() };
        let repeats = records - samples.attempts();
        note_repeats(&mut notes, repeats);
        let name = run.map(|run| run.to_string());
        runs.push((
            repeats,
            RecordedRun { name, samples, notes, columns: roles.shown.clone(), ..RecordedRun::default() },
        ));
    }
    // Only records that number their own attempts can name one twice. That is rare, so a second pass finds the places,
    // and a file without repeats pays nothing.
    if runs.iter().any(|(repeats, _)| *repeats > 0) {
        let mut seen = AttemptIndex::of(runs.iter().map(|(_, run)| run));
        read(source, &mut |place, record| seen.check(source, place, record))?;
    }
    Ok(runs.into_iter().map(|(_, run)| run).collect())
}

/// What is wrong with a record that names no sample.
pub(super) const NO_ID: &str = "the record has no `id`";

/// True for the message about a column that should hold true or false, and holds a word.
fn is_word_for_flag(what: &str) -> bool {
    what.ends_with("(a string), not true or false")
}

/// True for the message about an id that is a number with a fraction, or too large to be exact.
fn is_number_for_id(what: &str) -> bool {
    what.ends_with("(a number), not text or a whole number")
}

/// The error for a record that cannot be taken in.
pub(crate) fn record_error(source: &Source, what: String, place: FilePlace) -> ReadError {
    let hint = match () {
        () if what == NO_ID => "give it one; if it sums up others and is no sample, remove it".to_owned(),
        () if is_number_for_id(&what) => "write it as text, in quotes".to_owned(),
        () if is_word_for_flag(&what) => {
            let name = what.split('`').nth(1).unwrap_or("correct");
            format!("if it is a label, read the column as a score, `score={name}`, and say what the label counts")
        }
        () => "see docs/formats/native.md for the columns of a record".to_owned(),
    };
    source.error(what).at(place).hint(hint)
}

/// Receives the metadata of a record, with the name of its sample and its attempt.
pub(crate) type FactConsumer<'a> = dyn FnMut(SampleId, u32, &[(Arc<str>, Value)]) + 'a;

/// Passes on the metadata of each JSON record. Samples keep only those of their first record.
pub(crate) fn facts(source: &Source, each: &mut FactConsumer<'_>) -> Result<(), ReadError> {
    let mut last: HashMap<SampleId, u32> = HashMap::new();
    let mut take = |_: FilePlace, record: &mut NativeRecord| {
        let taken = std::mem::take(record);
        let Some(id) = taken.id.or(taken.alias) else { return Ok(()) };
        let last = last.entry(id.clone()).or_default();
        let epoch = taken.epoch.unwrap_or(*last + 1);
        *last = epoch.max(*last);
        each(id, epoch, &taken.metadata);
        Ok(())
    };
    let mut reader = source.open()?;
    let is_list = first_byte(source, &mut reader)? == Some(b'[');
    // If records span several lines, the first line is not a record.
    let roles = ColumnRoles::native();
    match if is_list { read_list(source, roles, &mut take) } else { read_every_line(source, roles, &mut take) } {
        Err(_) if !is_list => read_documents(source, roles, &mut take).map(drop),
        read => read.map(drop),
    }
}

/// What was said about attempts that are delivered more than once, to find the two places of a conflict.
struct AttemptIndex {
    last: HashMap<SampleOfRun, u32>,
    repeated: HashMap<(SampleOfRun, u32), DeliveredAttempt<FilePlace>>,
}

/// A run, if the file tells several apart, and a sample of it.
type SampleOfRun = (Option<Arc<str>>, SampleId);

impl AttemptIndex {
    /// For the attempts of these runs that are delivered more than once.
    fn of<'r>(runs: impl Iterator<Item = &'r RecordedRun<Shards>>) -> Self {
        let mut index = Self { last: HashMap::new(), repeated: HashMap::new() };
        for run in runs {
            let name: Option<Arc<str>> = run.name.as_deref().map(Into::into);
            for (id, epoch) in run.samples.iter().flat_map(Samples::repeated_attempts) {
                index.repeated.insert(((name.clone(), id), epoch), DeliveredAttempt::default());
            }
        }
        index
    }

    fn check(&mut self, source: &Source, place: FilePlace, record: &mut NativeRecord) -> Result<(), ReadError> {
        let mut taken = std::mem::take(record);
        let Some(id) = taken.id.take().or(taken.alias.take()) else { return Ok(()) };
        let sample = (taken.run.take(), id.clone());
        let last = self.last.entry(sample.clone()).or_default();
        let epoch = taken.epoch.unwrap_or(*last + 1);
        *last = epoch.max(*last);
        let Some(attempt) = self.repeated.get_mut(&(sample, epoch)) else { return Ok(()) };
        attempt
            .add(place.clone(), taken.into_delivery())
            .map_err(|difference| ReadError::about_samples(&source.name, &difference.to_error(&id, epoch)).at(place))
    }
}

pub(super) const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];

pub(super) fn first_byte(source: &Source, reader: &mut dyn BufRead) -> Result<Option<u8>, ReadError> {
    let buffer = reader.fill_buf().map_err(|error| source.unreadable(&error))?;
    let buffer = buffer.strip_prefix(&BOM).unwrap_or(buffer);
    Ok(buffer.iter().find(|byte| !byte.is_ascii_whitespace()).copied())
}

/// Reads lines, with parts of the file in parallel. `None` if the file does not hold one record per line.
fn read_lines(
    source: &Source,
    roles: &ColumnRoles,
    wanted: &Projection,
) -> Result<Option<Vec<RecordedRun<Shards>>>, ReadError> {
    let parts = source.parts(rayon::current_num_threads())?;
    let read = |(place, part): (usize, &SourcePart)| read_part(source, roles, *part, wanted, place == 0);
    let read: Vec<_> = match &parts[..] {
        // A small file is not worth the threads.
        [one] => vec![read((0, one))],
        parts => parts.par_iter().enumerate().map(read).collect(),
    };
    let (mut runs, mut lines) = (Vec::new(), 0);
    for part in read {
        let Some(part) = part.map_err(|error| error.move_down(lines))? else { return Ok(None) };
        runs.extend(part.runs);
        lines += part.lines;
    }
    let is_missing = {
        let columns = runs.iter().flat_map(|run| run.samples.columns());
        let known: HashSet<&str> = columns.map(|name| &**name).collect();
        wanted.missing(|column| known.contains(column)).next().is_some()
    };
    if is_missing {
        // The message about a missing column lists those that exist.
        return read_lines(source, roles, &Projection::everything());
    }
    let every_line = |source: &Source, each: &mut RecordConsumer<'_>| read_every_line(source, roles, each);
    check_runs(source, runs, Vec::new(), roles, &every_line).map(Some)
}

/// What was read of a part of a file.
struct PartRead {
    runs: Vec<RowsOfRun>,
    lines: u64,
}

/// Reads a part the fast way as far as possible, and then line by line. `None` if its first line begins a record of
/// several lines.
fn read_part(
    source: &Source,
    roles: &ColumnRoles,
    part: SourcePart,
    wanted: &Projection,
    is_first: bool,
) -> Result<Option<PartRead>, ReadError> {
    let mut blocks = LineBlocks::new(source.open_part(part)?);
    let mut flat = FlatRecords::new(wanted, roles);
    let mut rows: Option<RunRows<'_>> = None;
    let mut lines = 0;
    while let Some(block) = blocks.next().map_err(|broken| broken.in_source(source, lines + 1))? {
        let text = if is_first && lines == 0 { block.strip_prefix(&BOM).unwrap_or(&block) } else { &block };
        if rows.is_some() || !flat.add(text) {
            let rows = rows.get_or_insert_with(|| RunRows::new(wanted));
            let is_lines = each_line(source, roles, text, is_first && lines == 0, &mut |place, record| {
                rows.push(record).map_err(|what| record_error(source, roles.explain(what), place))
            });
            if !is_lines.map_err(|error| error.move_down(lines))? {
                return Ok(None);
            }
        }
        lines += newlines(&block);
    }
    let runs = flat.finish().into_iter().chain(rows.into_iter().flat_map(RunRows::into_runs)).collect();
    Ok(Some(PartRead { runs, lines }))
}

/// The records of all lines, one by one.
fn read_every_line(
    source: &Source,
    roles: &ColumnRoles,
    each: &mut RecordConsumer<'_>,
) -> Result<Vec<String>, ReadError> {
    let mut blocks = LineBlocks::new(source.open()?);
    let mut before = 0;
    while let Some(block) = blocks.next().map_err(|broken| broken.in_source(source, before + 1))? {
        let text = if before == 0 { block.strip_prefix(&BOM).unwrap_or(&block) } else { &block };
        let mut moved = |place, record: &mut NativeRecord| match place {
            FilePlace::Line(line) => each(FilePlace::Line(before + line), record),
            other => each(other, record),
        };
        each_line(source, roles, text, false, &mut moved).map_err(|error| error.move_down(before))?;
        before += newlines(&block);
    }
    Ok(Vec::new())
}

/// Passes on the record of each line. False if the first line is the beginning of a map over several lines.
fn each_line(
    source: &Source,
    roles: &ColumnRoles,
    block: &[u8],
    is_first: bool,
    each: &mut RecordConsumer<'_>,
) -> Result<bool, ReadError> {
    let mut keys = KeyRoles::new(roles);
    let mut record = NativeRecord::default();
    let mut is_first = is_first;
    for (line, number) in block.split(|byte| *byte == b'\n').zip(1..) {
        let text = json::line(line);
        if text.is_empty() {
            continue;
        }
        let standard = json::standard(text);
        let mut parser = serde_json::Deserializer::from_slice(&standard);
        let seed = RecordSeed { keys: &mut keys, record: &mut record };
        match seed.deserialize(&mut parser).and_then(|()| parser.end()) {
            Ok(()) => {
                each(FilePlace::Line(number), &mut record).map_err(|error| error.with_excerpt(text, 0..text.len()))?;
            }
            Err(error) if is_first && error.is_eof() => return Ok(false),
            Err(error) => {
                let read = refused_line(source, &error).at_line(number);
                let part = offending(&standard, read.what(), error.column());
                let read = read.with_excerpt(&standard, part);
                if is_number_for_id(read.what())
                    && let Some(name) = shell_word(&source.name)
                    && let Some(key) = read.what().split('`').nth(1).filter(|key| key.chars().all(is_plain_key))
                {
                    let edit = format!(r#"sed -E 's/("{key}": *)([0-9.eE+-]+)/\1"\2"/'"#);
                    let hint = format!("write it as text, in quotes: `{edit} {name} > results.jsonl`");
                    return Err(read.hint(hint));
                }
                if (text.starts_with(b"#") || text.starts_with(b"//"))
                    && let Some(name) = shell_word(&source.name)
                {
                    let mark = if text.starts_with(b"#") { "#" } else { "//" };
                    let hint = format!("`grep -v '^ *{mark}' {name} > results.jsonl` leaves comments out");
                    return Err(read.hint(hint));
                }
                let hint = match error.classify() {
                    _ if std::str::from_utf8(text).is_err() => "the text is not UTF-8; save it as UTF-8",
                    serde_json::error::Category::Eof => "the line is cut off",
                    serde_json::error::Category::Data => "docs/formats/native.md says what each key may hold",
                    _ if text.starts_with(b"{") && error.to_string().starts_with("trailing characters") => {
                        let name = &source.name;
                        let hint = format!("write one JSON record per line: `jq -c . {name} > results.jsonl`");
                        return Err(read.hint(hint));
                    }
                    _ => "write one JSON record per line",
                };
                return Err(read.hint(hint));
            }
        }
        is_first = false;
    }
    Ok(true)
}

/// True for what a key has that a pattern takes as it is.
fn is_plain_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' ')
}

/// The part of a line that a message refers to: the key at its start and its value, or else where the parser stopped.
fn offending(line: &[u8], what: &str, column: usize) -> Range<usize> {
    let end = column.min(line.len());
    let key = what.strip_prefix('`').and_then(|rest| rest.split('`').next()).map(|key| format!("\"{key}\""));
    let start = key.and_then(|key| memchr::memmem::find(&line[..end], key.as_bytes()));
    start.unwrap_or(end.saturating_sub(1))..end
}

fn refused_line(source: &Source, error: &serde_json::Error) -> ReadError {
    let what = error.to_string();
    // Every line is a separate document, so the parser's line number is meaningless.
    let what = what.split(" at line ").next().unwrap_or_default();
    if error.is_data() { source.error(what) } else { source.error(format!("not a record: {what}")) }
}

/// Records that are maps over several lines, one after the other.
fn read_documents(
    source: &Source,
    roles: &ColumnRoles,
    each: &mut RecordConsumer<'_>,
) -> Result<Vec<String>, ReadError> {
    let mut keys = KeyRoles::new(roles);
    let bytes = source.read_all()?;
    let standard = json::standard(bytes.strip_prefix(&BOM).unwrap_or(&bytes));
    let mut record = NativeRecord::default();
    let mut at = 0;
    let mut line = 1;
    while let Some(start) = standard[at..].iter().position(|byte| !byte.is_ascii_whitespace()) {
        line += newlines(&standard[at..at + start]);
        at += start;
        let mut stream = serde_json::Deserializer::from_slice(&standard[at..]).into_iter::<serde::de::IgnoredAny>();
        let whole = stream.next().map_or(Ok(()), |value| value.map(|_| ()));
        let end = at + stream.byte_offset();
        let mut parser = serde_json::Deserializer::from_slice(&standard[at..end.max(at + 1)]);
        whole
            .and_then(|()| RecordSeed { keys: &mut keys, record: &mut record }.deserialize(&mut parser))
            .map_err(|error| json::json_error(&source.name, &error).move_down(line - 1))?;
        each(FilePlace::Line(line), &mut record)?;
        line += newlines(&standard[at..end]);
        at = end;
    }
    Ok(Vec::new())
}

fn newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

fn read_list(source: &Source, roles: &ColumnRoles, each: &mut RecordConsumer<'_>) -> Result<Vec<String>, ReadError> {
    let mut keys = KeyRoles::new(roles);
    let bytes = source.read_all()?;
    let standard = json::standard(bytes.strip_prefix(&BOM).unwrap_or(&bytes));
    let mut parser = serde_json::Deserializer::from_slice(&standard);
    let mut refused = None;
    let list = RecordList { keys: &mut keys, each, refused: &mut refused };
    let parsed = parser_result(list.deserialize(&mut parser).and_then(|()| parser.end()), source);
    refused.map_or(parsed, Err).map(|()| Vec::new())
}

fn parser_result(result: Result<(), serde_json::Error>, source: &Source) -> Result<(), ReadError> {
    result.map_err(|error| json::json_error(&source.name, &error))
}

/// A JSON list of records, passed on as they are read.
struct RecordList<'a, 'b, 'r> {
    keys: &'a mut KeyRoles<'r>,
    each: &'a mut RecordConsumer<'b>,
    refused: &'a mut Option<ReadError>,
}

impl<'de> DeserializeSeed<'de> for RecordList<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for RecordList<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of records")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut record = NativeRecord::default();
        let mut index = 0;
        while items.next_element_seed(RecordSeed { keys: self.keys, record: &mut record })?.is_some() {
            if let Err(error) = (self.each)(FilePlace::Path(format!("[{index}]")), &mut record) {
                *self.refused = Some(error);
                return Err(A::Error::custom("refused"));
            }
            index += 1;
        }
        Ok(())
    }
}

/// The roles of the keys so far.
struct KeyRoles<'r> {
    roles: &'r ColumnRoles,
    known: HashMap<String, Option<ColumnRole>>,
}

impl<'r> KeyRoles<'r> {
    fn new(roles: &'r ColumnRoles) -> Self {
        Self { roles, known: HashMap::new() }
    }

    fn role(&mut self, key: &str) -> Option<&ColumnRole> {
        if !self.known.contains_key(key) {
            self.known.insert(key.to_owned(), self.roles.of(key));
        }
        self.known[key].as_ref()
    }
}

/// Reads one JSON map into a record.
struct RecordSeed<'a, 'r> {
    keys: &'a mut KeyRoles<'r>,
    record: &'a mut NativeRecord,
}

impl<'de> DeserializeSeed<'de> for RecordSeed<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RecordSeed<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record, which is a map with an `id`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some((key, Json(value))) = entries.next_entry::<Cow<'de, str>, Json>()? {
            if let Some(role) = self.keys.role(&key) {
                self.record.take(role, value).map_err(|what| A::Error::custom(self.keys.roles.explain(what)))?;
            }
        }
        self.record.fill_scores(self.keys.roles.scorers());
        Ok(())
    }
}

/// The role of a key of a record, or of a column of a table. It is decided once per column; rows are then a plain loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ColumnRole {
    /// The sample.
    Id,
    /// The sample, under its other name. `id` wins where a record has both.
    SampleId,
    /// The attempt.
    Epoch,
    /// A map of scorers to scores.
    Scores,
    /// The score by one scorer.
    Score(Arc<str>),
    /// A map of metadata of the sample.
    Metadata,
    /// One metadata entry of the sample.
    Fact(Arc<str>),
    /// A measurement of the attempt that is a number.
    Number(Arc<str>),
    /// A measurement of the attempt that is true or false.
    Flag(Arc<str>),
    /// A label: any plain value.
    Label(Arc<str>),
    /// Names of behaviours.
    Behaviors(BehaviorLists),
    /// A map of measurements of the attempt that have no column. Null is a value there.
    Fields,
    /// One of them.
    Field(Arc<str>),
    /// The names of metadata entries that are known to be null, which elsewhere means not given.
    NullMetadata,
    /// Why the attempt did not run.
    Error,
    /// The run that the attempt belongs to, and metadata of this name. No column is this by its name.
    Run(Arc<str>),
}

/// The lists of behaviours of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BehaviorLists {
    Expected,
    Observed,
    MustNot,
    Violations,
}

impl BehaviorLists {
    pub(crate) fn name(self) -> &'static str {
        BEHAVIORS[self as usize]
    }
}

/// What went wrong in an attempt. Another attempt of the sample may have gone wrong in another way.
const FAILURES: [&str; 3] = ["failure_type", "failure_types", "failures"];

/// The names of the lists, in the order of [`BehaviorLists`].
const BEHAVIORS: [&str; 4] = ["expected_behaviors", "observed_behaviors", "must_not", "violations"];

impl ColumnRole {
    /// The role of a key or a column.
    pub(crate) fn of(name: &str) -> Self {
        match name {
            "id" => Self::Id,
            "sample_id" => Self::SampleId,
            "epoch" => Self::Epoch,
            "scores" => Self::Scores,
            "score" | "value" => Self::Score("score".into()),
            "metadata" => Self::Metadata,
            "fields" => Self::Fields,
            "null_metadata" => Self::NullMetadata,
            "error" => Self::Error,
            "passed" | "correct" => Self::Flag(name.into()),
            "predicted" | "actual" => Self::Label(name.into()),
            "latency_ms" | "tokens_used" | "cost_usd" | "quality_score" => Self::Number(name.into()),
            "expected_behaviors" => Self::Behaviors(BehaviorLists::Expected),
            "observed_behaviors" | "behaviors" => Self::Behaviors(BehaviorLists::Observed),
            "must_not" => Self::Behaviors(BehaviorLists::MustNot),
            "violations" => Self::Behaviors(BehaviorLists::Violations),
            _ if FAILURES.contains(&name) => Self::Field(name.into()),
            _ => match name.split_once('.') {
                Some(("scores" | "score", scorer)) if !scorer.is_empty() => Self::Score(scorer.into()),
                Some(("metadata", key)) if !key.is_empty() => Self::Fact(key.into()),
                Some(("fields", field)) if !field.is_empty() => Self::Field(field.into()),
                _ => Self::Fact(name.into()),
            },
        }
    }
}

/// One attempt as it is written.
#[derive(Debug, Default)]
pub(crate) struct NativeRecord {
    id: Option<SampleId>,
    alias: Option<SampleId>,
    epoch: Option<u32>,
    scores: Vec<(Arc<str>, Outcome)>,
    fields: Vec<(Arc<str>, Value)>,
    metadata: Vec<(Arc<str>, Value)>,
    behaviors: [Option<Vec<Value>>; 4],
    error: Option<String>,
    run: Option<Arc<str>>,
}

impl NativeRecord {
    /// Reads one value. An error says what is wrong with it. Null means not given, except for a score, where it means
    /// that the scorer could not decide.
    pub(crate) fn take(&mut self, role: &ColumnRole, value: Value) -> Result<(), String> {
        let is_absent = matches!(value, Value::Null | Value::Missing);
        match role {
            ColumnRole::Score(scorer) => self.add_score(scorer.clone(), value)?,
            ColumnRole::Id => set_once(&mut self.id, sample_id("id", value)?, "id")?,
            _ if is_absent => {}
            ColumnRole::SampleId => set_once(&mut self.alias, sample_id("sample_id", value)?, "sample_id")?,
            ColumnRole::Epoch => set_once(&mut self.epoch, epoch(&value)?, "epoch")?,
            ColumnRole::Scores => match unfold(value) {
                Value::Map(entries) => {
                    for (scorer, score) in entries {
                        self.add_score(scorer, score)?;
                    }
                }
                other => return Err(wrong("scores", &other, "a map of scorers to scores")),
            },
            ColumnRole::Metadata => match unfold(value) {
                Value::Map(entries) => self.metadata.extend(entries.into_iter().filter(|(_, value)| !is_null(value))),
                other => return Err(wrong("metadata", &other, "a map")),
            },
            ColumnRole::Fact(key) => self.metadata.push((key.clone(), value)),
            ColumnRole::Number(name) => self.fields.push((name.clone(), number(name, value)?)),
            ColumnRole::Flag(name) => self.fields.push((name.clone(), flag(name, &value)?)),
            ColumnRole::Label(name) if value.is_scalar() => self.fields.push((name.clone(), value)),
            ColumnRole::Label(name) => return Err(wrong(name, &value, "text, a number, true or false")),
            ColumnRole::Behaviors(list) => self.add_behaviors(*list, unfold(value))?,
            ColumnRole::Field(name) => self.fields.push((name.clone(), value)),
            ColumnRole::Fields => match unfold(value) {
                Value::Map(entries) => self.fields.extend(entries),
                other => return Err(wrong("fields", &other, "a map")),
            },
            ColumnRole::NullMetadata => match unfold(value) {
                Value::List(names) => {
                    self.metadata.extend(names.iter().map(|name| (name.to_string().into(), Value::Null)));
                }
                other => return Err(wrong("null_metadata", &other, "a list of names")),
            },
            ColumnRole::Error => {
                if let Some(error) = error_text(&value) {
                    set_once(&mut self.error, error, "error")?;
                }
            }
            ColumnRole::Run(name) => {
                self.run = run_name(&value)?;
                self.metadata.push((name.clone(), value));
            }
        }
        Ok(())
    }

    /// Leaves unscored what has no score by these scorers, whose column was named.
    pub(crate) fn fill_scores(&mut self, scorers: &[Arc<str>]) {
        for scorer in scorers {
            if !self.scores.iter().any(|(name, _)| name == scorer) {
                self.scores.push((scorer.clone(), Outcome::unscored("null")));
            }
        }
    }

    /// Adds facts from inside maps of metadata, by the names of their paths.
    fn take_out(&mut self, facts: &[NestedFact]) {
        for fact in facts {
            // A column of that name comes first.
            if !self.metadata.iter().any(|(name, _)| *name == fact.name)
                && let Some(value) = fact.find(&self.metadata)
            {
                self.metadata.push((fact.name.clone(), value));
            }
        }
    }

    /// Leaves out names that were not asked for, where records have very many: a column for each would take the memory of
    /// all records times all names.
    fn leave_out_unwanted(&mut self, samples: &Samples, wanted: &Projection) {
        const NAMES_MAX: usize = 256;
        let kept = samples.columns().count();
        if kept + self.metadata.len() + self.fields.len() <= NAMES_MAX || *wanted == Projection::everything() {
            return;
        }
        // What a record says twice must agree, whether it is kept or not.
        if contradicted(&self.metadata).or_else(|| contradicted(&self.fields)).is_some() {
            return;
        }
        let mut room = NAMES_MAX.saturating_sub(kept);
        let mut is_kept = |name: &Arc<str>| {
            let is_nested = wanted.nested().iter().any(|fact| fact.name == *name);
            let is_kept = wanted.has(name) || is_nested || samples.has_column(name) || room > 0;
            room = room.saturating_sub(1);
            is_kept
        };
        self.fields.retain(|(name, _)| is_kept(name));
        self.metadata.retain(|(name, _)| is_kept(name));
    }

    /// The run that the attempt belongs to.
    pub(crate) fn take_run(&mut self) -> Option<Arc<str>> {
        self.run.take()
    }

    fn add_score(&mut self, scorer: Arc<str>, value: Value) -> Result<(), String> {
        let outcome = outcome(value).map_err(|what| format!("{what}, by scorer `{}`", printable(&scorer)))?;
        // `score`, `value` and `scores.score` are three spellings of one column. Maps have each key once, so only the
        // first few are compared.
        match self.scores.iter().take(8).find(|(name, _)| *name == scorer) {
            None => self.scores.push((scorer, outcome)),
            Some((_, earlier)) if *earlier == outcome => {}
            Some(_) => return Err(format!("the record has two different scores by `{}`", printable(&scorer))),
        }
        Ok(())
    }

    /// Adds names to a list. Marks of what was observed or violated go where they belong.
    fn add_behaviors(&mut self, list: BehaviorLists, value: Value) -> Result<(), String> {
        let (whole, marked) = match list {
            BehaviorLists::Expected => (Some(BehaviorLists::Expected), BehaviorLists::Observed),
            BehaviorLists::Observed => (None, BehaviorLists::Observed),
            BehaviorLists::MustNot => (Some(BehaviorLists::MustNot), BehaviorLists::Violations),
            BehaviorLists::Violations => (None, BehaviorLists::Violations),
        };
        let names = behaviors(BEHAVIORS[list as usize], value)?;
        let is_marked = names.iter().any(|(_, mark)| mark.is_some());
        if whole.is_none() || is_marked {
            let into = self.behaviors[marked as usize].get_or_insert_default();
            let had_some = !into.is_empty();
            // A name without a mark in a list of what happened did happen; in a list of what is expected, it is only
            // expected.
            let happened = |mark: &Option<bool>| mark.unwrap_or(whole.is_none());
            into.extend(names.iter().filter(|(_, mark)| happened(mark)).map(|(name, _)| Value::Text(name.clone())));
            if had_some {
                let mut seen = HashSet::new();
                into.retain(|name| seen.insert(name.clone()));
            }
        }
        if let Some(whole) = whole {
            let into = self.behaviors[whole as usize].get_or_insert_default();
            into.extend(names.into_iter().map(|(name, _)| Value::Text(name)));
        }
        Ok(())
    }

    /// Adds the attempt to the samples, and leaves the record empty.
    pub(crate) fn push(&mut self, samples: &mut Samples) -> Result<(), String> {
        let id = match (self.id.take(), self.alias.take()) {
            (Some(id), Some(alias)) => {
                self.metadata.push(("sample_id".into(), plain(alias)));
                id
            }
            (Some(id), None) | (None, Some(id)) => id,
            (None, None) => return Err(NO_ID.into()),
        };
        if let Some(name) = contradicted(&self.metadata).or_else(|| contradicted(&self.fields)) {
            return Err(contradiction(&name));
        }
        let mut attempt = match self.epoch.take() {
            Some(epoch) => samples.push_epoch(id, epoch),
            None => samples.push(id),
        };
        for (key, value) in self.metadata.drain(..) {
            attempt = attempt.metadata(key, value);
        }
        let is_errored = self.error.is_some();
        for (scorer, outcome) in self.scores.drain(..) {
            if !(is_errored && is_empty(&outcome)) {
                attempt = attempt.score(scorer, outcome);
            }
        }
        for (name, value) in self.fields.drain(..) {
            attempt = attempt.field(name, value);
        }
        for (name, list) in BEHAVIORS.iter().zip(&mut self.behaviors) {
            if let Some(list) = list.take() {
                attempt = attempt.field(*name, Value::List(list));
            }
        }
        if let Some(error) = self.error.take() {
            attempt.error(error);
        }
        Ok(())
    }
}

impl NativeRecord {
    /// What the record says about its attempt.
    fn into_delivery(self) -> Delivery {
        let Self { mut scores, mut fields, metadata, behaviors, error, .. } = self;
        if error.is_some() {
            scores.retain(|(_, outcome)| !is_empty(outcome));
        }
        let lists = BEHAVIORS.iter().zip(behaviors);
        fields.extend(lists.filter_map(|(name, list)| Some(((*name).into(), Value::List(list?)))));
        Delivery { scores, fields, metadata, error: error.map(Into::into) }
    }
}

/// On an errored attempt an empty score means nothing.
fn is_empty(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Unscored { score: None, .. })
}

/// Sets what a record says once. Two keys may stand for one column, and JSON allows the same key twice.
fn set_once<T: PartialEq>(slot: &mut Option<T>, value: T, name: &str) -> Result<(), String> {
    match slot {
        Some(known) if *known != value => Err(contradiction(name)),
        _ => {
            *slot = Some(value);
            Ok(())
        }
    }
}

fn contradiction(name: &str) -> String {
    format!("the record has two different values of `{}`", printable(name))
}

/// A name that has two different values.
fn contradicted(entries: &[(Arc<str>, Value)]) -> Option<Arc<str>> {
    const FEW: usize = 16;
    if entries.len() <= FEW {
        let differs = |(place, (name, value)): (usize, &(Arc<str>, Value))| {
            entries[..place].iter().any(|(known, first)| known == name && first != value).then(|| name.clone())
        };
        return entries.iter().enumerate().find_map(differs);
    }
    let mut known: HashMap<&str, &Value> = HashMap::with_capacity(entries.len());
    entries.iter().find_map(|(name, value)| match known.insert(name, value) {
        Some(first) if first != value => Some(name.clone()),
        _ => None,
    })
}

fn is_null(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Missing)
}

fn plain(id: SampleId) -> Value {
    match id {
        SampleId::Int(i) => Value::Int(i),
        SampleId::Text(text) => Value::Text(text),
    }
}

/// The error for a value of the wrong type.
fn wrong(name: &str, value: &Value, want: &str) -> String {
    let shown: String = printable(&value.to_string()).chars().take(60).collect();
    format!(
        "`{}` is `{shown}` ({} {}), not {want}",
        printable(name),
        if matches!(value, Value::Int(_)) { "an" } else { "a" },
        value.kind()
    )
}

/// Text that holds a list or map, in JSON or as Python prints it, counts as that list or map: tables have no other way to write one.
pub(crate) fn unfold(value: Value) -> Value {
    match &value {
        Value::Text(text) if text.trim_start().starts_with(['{', '[']) => {
            parse_embedded(text).or_else(|| json::python_literal::parse(text)).unwrap_or(value)
        }
        _ => value,
    }
}

/// The JSON list or map in a text, if it is one.
pub(crate) fn parse_embedded(text: &str) -> Option<Value> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    json::parse("", text.as_bytes()).ok()
}

fn sample_id(name: &str, value: Value) -> Result<SampleId, String> {
    match value {
        Value::Int(i) => Ok(SampleId::Int(i)),
        // Tables with gaps write whole numbers as floats.
        Value::Float(x) if x.fract() == 0.0 && x.abs() < 9e15 => Ok(SampleId::Int(x as i64)),
        Value::Text(text) if text.trim().is_empty() => Err(format!("`{name}` is empty")),
        Value::Text(text) => Ok(SampleId::Text(text)),
        Value::Null | Value::Missing => Err(format!("`{name}` is empty")),
        other => Err(wrong(name, &other, "text or a whole number")),
    }
}

/// Far beyond any evaluation, and far below the range of the counter.
const EPOCH_MAX: f64 = 1e9;

fn epoch(value: &Value) -> Result<u32, String> {
    match value {
        Value::Int(_) | Value::Float(_) => {
            let number = value.as_number().filter(|x| x.fract() == 0.0 && (0.0..=EPOCH_MAX).contains(x));
            number.map(|x| x as u32).ok_or_else(|| wrong("epoch", value, "a whole number from 0 to 1000000000"))
        }
        Value::Text(text) => match text.trim().parse::<u32>() {
            Ok(epoch) if f64::from(epoch) <= EPOCH_MAX => Ok(epoch),
            _ => Err(wrong("epoch", value, "a whole number")),
        },
        _ => Err(wrong("epoch", value, "a whole number")),
    }
}

fn number(name: &str, value: Value) -> Result<Value, String> {
    match &value {
        // A float takes eight bytes in a column; a column of integers is a dictionary.
        Value::Int(i) => Ok(Value::Float(*i as f64)),
        Value::Float(_) => Ok(value),
        Value::Text(text) => match text.trim().parse::<f64>() {
            Ok(x) => Ok(Value::from(x)),
            Err(_) => Err(wrong(name, &value, "a number")),
        },
        _ => Err(wrong(name, &value, "a number")),
    }
}

fn flag(name: &str, value: &Value) -> Result<Value, String> {
    let known = match value {
        Value::Text(text) => match text.trim().to_ascii_lowercase().as_str() {
            "pass" | "passed" => Some(1.0),
            "fail" | "failed" => Some(0.0),
            _ => Labels::default().to_float(value),
        },
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => value.as_number(),
        _ => None,
    };
    match known {
        Some(1.0) => Ok(Value::Bool(true)),
        Some(0.0) => Ok(Value::Bool(false)),
        _ => Err(wrong(name, value, "true or false")),
    }
}

/// The longest name of a run; a longer one is content.
const RUN_NAME_MAX: usize = 1000;

fn run_name(value: &Value) -> Result<Option<Arc<str>>, String> {
    match value {
        Value::Text(text) if text.trim().is_empty() => Ok(None),
        Value::Text(text) if text.len() <= RUN_NAME_MAX => Ok(Some(text.clone())),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => Ok(Some(value.to_string().into())),
        other => Err(wrong("run", other, "a short text or a number")),
    }
}

fn error_text(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Missing | Value::Bool(false) | Value::Int(0) => None,
        Value::Float(number) if *number == 0.0 => None,
        Value::List(items) if items.is_empty() => None,
        Value::Map(entries) if entries.is_empty() => None,
        Value::Text(text) if says_no_error(text) => None,
        Value::Bool(true) => Some("error".into()),
        Value::Text(text) => Some(message_within(text).unwrap_or_else(|| text.to_string())),
        other => Some(other.get("message").unwrap_or(other).to_string()),
    }
}

/// How a text begins that holds a message such as `-`, which alone would mean that there was no error.
pub(crate) const WRAPPED_ERROR: &str = "{\"message\"";

/// The message in such a text.
fn message_within(text: &str) -> Option<String> {
    let map = if text.starts_with(WRAPPED_ERROR) { parse_embedded(text)? } else { return None };
    match map.get("message") {
        Some(Value::Text(message)) if says_no_error(message) => Some(message.to_string()),
        _ => None,
    }
}

/// True for what cells have where there was no error: nothing, or what programs write for it.
pub(crate) fn says_no_error(text: &str) -> bool {
    const WORDS: [&str; 16] = [
        "", "false", "none", "null", "nan", "na", "n/a", "#n/a", "<na>", "nil", "no", "no error", "0", "-", "[]", "{}",
    ];
    const LENGTH_MAX: usize = 32;
    let text = text.trim();
    text.len() <= LENGTH_MAX && WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// A behaviour, and whether it was observed or violated, if the record says so.
type BehaviorMark = (Arc<str>, Option<bool>);

/// The names in a list of behaviours: a list of names, a map of names to marks, or maps with a name and a mark.
fn behaviors(list: &str, value: Value) -> Result<Vec<BehaviorMark>, String> {
    match value {
        Value::List(items) => items.into_iter().map(|item| behavior(list, item)).collect(),
        Value::Map(entries) => {
            let marked = |(name, mark): (Arc<str>, Value)| Ok((name, Some(is_marked(list, &mark)?)));
            entries.into_iter().map(marked).collect()
        }
        Value::Text(name) => Ok(vec![(name, None)]),
        other => Err(wrong(list, &other, "a list of behaviours")),
    }
}

fn behavior(list: &str, item: Value) -> Result<BehaviorMark, String> {
    match &item {
        Value::Text(name) => Ok((name.clone(), None)),
        Value::Map(entries) => {
            let part = |keys: &[&str]| entries.iter().find(|(key, _)| keys.contains(&&**key)).map(|(_, value)| value);
            let Some(Value::Text(name)) = part(&["name", "behavior", "type"]) else {
                return Err(format!("a behaviour in `{list}` has no `name`"));
            };
            let mark = part(&["observed", "violated"]).filter(|mark| !is_null(mark));
            Ok((name.clone(), mark.map(|mark| is_marked(list, mark)).transpose()?))
        }
        other => Err(wrong(list, other, "a list of names or of maps with a `name`")),
    }
}

fn is_marked(list: &str, mark: &Value) -> Result<bool, String> {
    match mark {
        Value::Bool(mark) => Ok(*mark),
        Value::Int(0) | Value::Null => Ok(false),
        Value::Int(1) => Ok(true),
        other => Err(wrong(list, other, "marked with true or false")),
    }
}

/// The parts of a score that is more than its value.
const SCORE_PARTS: [&str; 7] = ["value", "answer", "explanation", "metadata", "reason", "history", "unscored"];

/// A score as it is written: a value, or a map with `value` and what belongs to it.
pub(crate) fn outcome(value: Value) -> Result<Outcome, String> {
    let entries = match value {
        Value::Null => return Ok(Outcome::unscored("null")),
        Value::Map(entries) if entries.iter().any(|(key, _)| **key == *"value") => entries,
        plain => {
            check_flat(&plain)?;
            return Ok(Outcome::from(Score::new(plain)));
        }
    };
    if entries.iter().any(|(key, _)| !SCORE_PARTS.contains(&&**key)) {
        // A map of several scores, one of which happens to be named `value`.
        let map = Value::Map(entries);
        check_flat(&map)?;
        return Ok(Outcome::from(Score::new(map)));
    }
    let mut score = Score::unscored();
    let mut reason: Option<Arc<str>> = None;
    let mut unscored = Vec::new();
    for (key, part) in entries {
        match (&*key, part) {
            ("value", Value::Null) => reason = reason.or(Some("null".into())),
            ("value", value) => score.value = value,
            ("unscored", Value::List(places)) => unscored = places,
            ("answer", Value::Text(text)) => score.answer = Some(text),
            ("explanation", Value::Text(text)) => score.explanation = Some(text),
            ("reason", Value::Text(text)) => reason = Some(text),
            ("metadata", metadata) => {
                if let Value::Map(entries) = unfold(metadata) {
                    score.metadata = Some(Arc::new(Metadata::new(entries)));
                }
            }
            _ => {}
        }
    }
    unscored.iter().for_each(|place| leave_unscored(&mut score.value, place));
    check_flat(&score.value)?;
    match (score.value.is_missing(), reason) {
        (true, Some(reason)) => Ok(Outcome::Unscored { reason, score: Some(Box::new(score)) }),
        _ => Ok(Outcome::from(score)),
    }
}

/// Marks an item of a list (by index) or an entry of a map (by key) as unscored, because JSON has no NaN.
fn leave_unscored(value: &mut Value, place: &Value) {
    let part = match (value, place) {
        (Value::List(items), Value::Int(place)) => usize::try_from(*place).ok().and_then(|at| items.get_mut(at)),
        (Value::Map(entries), Value::Text(key)) => {
            entries.iter_mut().find(|(name, _)| name == key).map(|(_, value)| value)
        }
        _ => None,
    };
    if let Some(part) = part {
        *part = Value::Missing;
    }
}

/// A score's value is at most one level deep.
fn check_flat(value: &Value) -> Result<(), String> {
    let nested = match value {
        Value::List(items) => items.iter().find(|item| !item.is_scalar() || matches!(item, Value::Null)),
        Value::Map(entries) => entries.iter().map(|(_, value)| value).find(|value| !value.is_scalar()),
        _ => None,
    };
    match nested {
        None => Ok(()),
        Some(nested) => Err(format!("a score holds a {} inside a {}", nested.kind(), value.kind())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(record: &NativeRecord, list: BehaviorLists) -> Option<String> {
        let list = record.behaviors[list as usize].as_ref()?;
        Some(list.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn behaviours_in_every_spelling_are_lists_of_names() {
        use BehaviorLists::{Expected, MustNot, Observed, Violations};
        // expected_behaviors, observed_behaviors, must_not, violations
        for (json, want) in [
            (r#"{"expected_behaviors": ["a", "b"]}"#, [Some("a b"), None, None, None]),
            (r#"{"observed_behaviors": ["a"]}"#, [None, Some("a"), None, None]),
            (r#"{"expected_behaviors": {"a": true, "b": false}}"#, [Some("a b"), Some("a"), None, None]),
            (r#"{"observed_behaviors": {"a": true, "b": false}}"#, [None, Some("a"), None, None]),
            (r#"{"expected_behaviors": [{"name": "a", "observed": false}]}"#, [Some("a"), Some(""), None, None]),
            (r#"{"expected_behaviors": [{"name": "a"}]}"#, [Some("a"), None, None, None]),
            (
                r#"{"expected_behaviors": {"a": true, "b": true}, "observed_behaviors": ["b", "c"]}"#,
                [Some("a b"), Some("a b c"), None, None],
            ),
            (r#"{"behaviors": [{"name": "a", "observed": true}]}"#, [None, Some("a"), None, None]),
            (r#"{"must_not": ["x"]}"#, [None, None, Some("x"), None]),
            (r#"{"must_not": {"x": false, "y": true}}"#, [None, None, Some("x y"), Some("y")]),
            (r#"{"must_not": [{"name": "x", "violated": false}]}"#, [None, None, Some("x"), Some("")]),
            (r#"{"violations": [], "must_not": null}"#, [None, None, None, Some("")]),
            (r#"{"violations": "[\"x\", \"y\"]"}"#, [None, None, None, Some("x y")]),
        ] {
            let mut record = NativeRecord::default();
            let mut keys = KeyRoles::new(ColumnRoles::native());
            let mut parser = serde_json::Deserializer::from_str(json);
            RecordSeed { keys: &mut keys, record: &mut record }.deserialize(&mut parser).unwrap();
            let found = [Expected, Observed, MustNot, Violations].map(|list| names(&record, list));
            assert_eq!(found.each_ref().map(Option::as_deref), want, "{json}");
        }
    }

    /// The records of lines that were read line by line.
    fn slowly(text: &str) -> Result<Vec<calipers_core::Record>, ReadError> {
        let source = Source::bytes("x", text.as_bytes());
        let mut samples = Samples::new();
        each_line(&source, ColumnRoles::native(), text.as_bytes(), false, &mut |place, record| {
            record.push(&mut samples).map_err(|what| record_error(&source, what, place))
        })?;
        Ok(samples.records().collect())
    }

    fn only(mut runs: Vec<RowsOfRun>) -> Samples {
        assert_eq!(runs.len(), 1);
        runs.remove(0).samples
    }

    /// The same in blocks of this many lines, with the fast reader as far as possible.
    fn quickly(text: &str, lines: usize) -> Option<Vec<calipers_core::Record>> {
        let everything = Projection::everything();
        let mut flat = FlatRecords::new(&everything, ColumnRoles::native());
        let all: Vec<&str> = text.split_inclusive('\n').collect();
        all.chunks(lines)
            .all(|block| flat.add(block.concat().as_bytes()))
            .then(|| only(flat.finish()).records().collect())
    }

    /// Values that records may have, with those that look like others or are wrong.
    const VALUES: [&str; 34] = [
        "0",
        "1",
        "-1",
        "1.5",
        "0.1",
        "-0.0",
        "-0",
        "1e3",
        "1E-2",
        "123456789012345678",
        "9223372036854775807",
        "9223372036854775808",
        "1e999",
        "0.30000000000000004",
        "5e-324",
        "01",
        "1.",
        ".5",
        "+1",
        "true",
        "false",
        "null",
        "NaN",
        "-Infinity",
        "\"C\"",
        "\"\"",
        "\" \"",
        "\"a b\"",
        "\"x\\n\\u00e9\"",
        "\"é\"",
        "\"1\"",
        "[1]",
        "{\"a\": 1}",
        "\"tab\there\"",
    ];
    const LISTS: [&str; 8] = [
        "[\"a\", \"b\"]",
        "[\"a\",\"b\"]",
        "[]",
        "[ \"\\u0061\" ]",
        "[\"a\", [\"b\"]]",
        "[\"a\", 1]",
        "[{\"name\": \"a\", \"observed\": true}]",
        "[\"tab\there\"]",
    ];
    const KEYS: [&str; 25] = [
        "id",
        "sample_id",
        "epoch",
        "score",
        "value",
        "scores.judge",
        "category",
        "metadata.category",
        "latency_ms",
        "passed",
        "predicted",
        "error",
        "k1",
        "expected_behaviors",
        "violations",
        "k2",
        "a key",
        "\\u0069d",
        "observed_behaviors",
        "behaviors",
        "fields",
        "null_metadata",
        "scores",
        "metadata",
        "cost_usd",
    ];

    #[test]
    fn the_quick_way_reads_what_the_slow_way_reads_or_gives_up() {
        let mut state = 1u64;
        let mut next = move |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let (mut read, mut refused) = (0, 0);
        for round in 0..4000 {
            // Most rounds have few keys and plain values, so that some blocks are read to the end.
            let plain = round % 4 != 0;
            let mut text = String::new();
            for row in 0..1 + next(6) {
                let mut entries = vec![format!("\"id\": \"q{}\"", next(4) + row)];
                for _ in 0..next(5) {
                    let key = KEYS[if plain { 2 + next(16) } else { next(KEYS.len()) }];
                    let value = match key {
                        "expected_behaviors" | "observed_behaviors" | "behaviors" | "violations" if next(8) > 0 => {
                            LISTS[if plain { next(4) } else { next(LISTS.len()) }]
                        }
                        _ => VALUES[if plain { next(12) } else { next(VALUES.len()) }],
                    };
                    let inner = |key: &str| format!("{{\"{key}\": {value}}}");
                    entries.push(match key {
                        "scores" => format!("\"scores\": {}", inner("judge")),
                        "metadata" => format!("\"metadata\": {}", inner("category")),
                        key => format!("\"{key}\": {value}"),
                    });
                }
                let at = next(entries.len());
                entries.swap(0, at);
                let blank = ["", " ", "\t", "\r"][next(4)];
                text += &format!("{blank}{{{}}}{blank}\n", entries.join(if next(2) == 0 { "," } else { " , " }));
                text += ["", "", "\n", "x\n", "{\n"][if plain { next(3) } else { next(5) }];
            }
            let slow = slowly(&text);
            match (quickly(&text, 1 + next(3)), slow) {
                (Some(quick), Ok(slow)) => {
                    assert_eq!(quick, slow, "{text}");
                    read += 1;
                }
                (Some(_), Err(error)) => panic!("the quick way reads what is wrong: {error}\n{text}"),
                (None, _) => refused += 1,
            }
        }
        assert!(read > 500 && refused > 500, "{read} read, {refused} left to the slow way");
    }

    #[test]
    fn a_block_that_is_not_flat_leaves_the_blocks_before_it_as_they_are() {
        let everything = Projection::everything();
        let mut flat = FlatRecords::new(&everything, ColumnRoles::native());
        let first = r#"{"id": "b", "score": 1, "k": "x"}
{"id": "a", "score": null}
"#;
        assert!(flat.add(first.as_bytes()));
        for wrong in
            [r#"{"id": "c", "score": 2, "k": "y", "new": 1}{"#, r#"{"id": "a", "epoch": 3}"#, r#"{"score": 1}"#]
        {
            assert!(!flat.add(wrong.as_bytes()), "{wrong}");
            assert_eq!(flat.rows(), 2);
        }
        let last = "{\"id\": \"d\", \"score\": 0}";
        assert!(flat.add(last.as_bytes()));
        let found: Vec<_> = only(flat.finish()).records().collect();
        assert_eq!(found, slowly(&format!("{first}{last}")).unwrap());
    }

    #[test]
    fn columns_that_nobody_wants_are_left_out() {
        let text = r#"{"id": 1, "score": 1, "prompt": ["long", {"text": "\""}], "category": "a", "latency_ms": 5}"#;
        let wanted = Projection::only(["category"]);
        let run = Native.read_shards(&Source::bytes("x", text.as_bytes()), &wanted).unwrap().remove(0);
        let samples = run.samples.into_whole();
        assert_eq!(samples.columns().map(|name| &**name).collect::<Vec<_>>(), ["category"]);
        // A name that is not there brings all, so that a message can say what there is.
        let wanted = Projection::only(["catgory"]);
        let run = Native.read_shards(&Source::bytes("x", text.as_bytes()), &wanted).unwrap().remove(0);
        assert_eq!(run.samples.into_whole().columns().count(), 3);
    }

    #[test]
    fn of_very_many_names_only_those_that_are_asked_for_take_room() {
        let line =
            |id: usize| format!("{{\"id\": {id}, \"score\": 1, \"k{id}\": {id}, \"fields\": {{\"f{id}\": 1}}}}\n");
        let lines: String = (0..2000).map(line).collect();
        let list = format!("[{}]", lines.trim_end().replace('\n', ","));
        for text in [lines, list] {
            let source = Source::bytes("x", text.into_bytes());
            let read =
                |wanted: &Projection| Native.read_shards(&source, wanted).unwrap().remove(0).samples.into_whole();
            let few = read(&Projection::only(["k1999", "f1998"]));
            assert!(few.columns().count() <= 258 && few.has_column("k1999") && few.has_column("f1998"));
            assert_eq!((few.len(), read(&Projection::everything()).columns().count()), (2000, 4000));
        }
    }

    #[test]
    fn a_large_file_is_read_in_parts_as_it_is_in_one() {
        let line = |row: usize| {
            let padding = "x".repeat(row % 300);
            format!("{{\"id\": \"q{}\", \"score\": {}, \"note\": \"{padding}\"}}\n", row % 50_000, row % 3)
        };
        let text: String = (0..80_000).map(line).collect();
        let source = Source::bytes("x", text.as_bytes());
        let parts = source.parts(3).unwrap();
        assert_eq!(parts.len(), 3);
        let everything = Projection::everything();
        let read =
            |part: &SourcePart| read_part(&source, ColumnRoles::native(), *part, &everything, false).unwrap().unwrap();
        let read: Vec<PartRead> = parts.iter().map(read).collect();
        assert_eq!(read.iter().map(|part| part.lines).sum::<u64>(), 80_000);
        let parts = read.into_iter().flat_map(|part| part.runs).map(|run| run.samples);
        let whole = Shards::new(parts).into_whole();
        let slow = slowly(&text).unwrap();
        assert_eq!(whole.attempts(), 80_000);
        assert!(whole.records().eq(slow), "the same records in the same order");
        // The line of an error counts from the beginning of the file.
        let broken = text.clone() + "{\"id\": 1, \"score\": }\n";
        let error = Native.read(&Source::bytes("x", broken.into_bytes())).unwrap_err();
        assert!(error.to_string().contains("line 80001"), "{error}");
    }
}
