//! Tables whose columns have other names or stand elsewhere: what is what, and which reader can read it.
//!
//! Where the columns are only named differently, the table goes through the same readers as native records
//! ([`TableReading::Flat`]). Paths, lists, stars and maps of records go through [`record_tree`](super::record_tree).

#[cfg(feature = "parquet")]
use super::arrow_rows;
use super::csv::CsvTable;
use super::fact_path::{FactPath, each_fact, says_what_was_tried};
use super::factors::{Factor, Factors, note_factors, written_id};
use super::late_facts::LateFacts;
use super::native::ColumnRole;
use super::numbered_rows::{self, NumberedRows};
#[cfg(feature = "parquet")]
use super::parquet::BoundedFile;
use super::record_tree::{self, RecordTree};
use super::row_places::command_on;
use super::run_columns::{RunCheck, RunColumn, several_values_note};
use super::run_tags::RunTags;
use super::summary_record::RecordFinder;
use super::{Format, StreamedTable, arrow_stream, csv, json_layouts, native, parquet, score_labels, summary_record};
#[cfg(feature = "parquet")]
use crate::catch_panic::read_catching_panic;
use crate::columns::{
    ColumnPair, ColumnRoles, ColumnTarget, FoundPart, PathStart, PseudoColumn, known_names, propose, quote,
};
use crate::error::printable;
use crate::json::{self, Json};
use crate::{Columns, FilePlace, Projection, ReadError, RecordedRun, Root, Shape, Source};
#[cfg(feature = "parquet")]
use ::parquet::file::reader::{FileReader, SerializedFileReader};
#[cfg(feature = "parquet")]
use ::parquet::record::reader::RowIter;
use calipers_core::{SampleId, Samples, Shards, Value, nearest, parse_number, pluralize};
use indexmap::IndexMap;
use serde::de::{DeserializeSeed, Deserializer, Error as _, SeqAccess, Visitor};
use std::collections::HashSet;
use std::fmt;
use std::io::{BufRead, Read};
use std::sync::Arc;

/// How a table is read.
pub(super) enum TableReading {
    /// Its columns are the keys of its records.
    Flat(ColumnRoles),
    /// They stand elsewhere.
    Tree(Box<RecordTree>),
}

/// A reader of a table whose columns are known, and of which these are needed.
pub(super) type TableReader<'r> =
    dyn Fn(&TableReading, &Projection) -> Result<Vec<RecordedRun<Shards>>, ReadError> + 'r;

/// Searches all records for maps that name what was tried.
type LaterFacts<'r> = dyn Fn() -> Vec<FactPath> + 'r;

/// Reads JSON records.
pub(super) fn read_json(
    source: &Source,
    wanted: &Projection,
    read: &TableReader<'_>,
) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
    let survey = TableSurvey::of_json(source)?;
    if survey.has_lists && !survey.is_relaid && source.columns().records().is_none() {
        return Err(survey.unknown(source, "the file holds several lists, one after the other"));
    }
    survey.read(source, wanted, read, &|| survey.late_facts_of_json(source))
}

/// Reads the rows of a table.
pub(super) fn read_csv(
    source: &Source,
    table: &CsvTable<'_>,
    wanted: &Projection,
    read: &TableReader<'_>,
) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
    let later = || {
        let mut facts = LateFacts::default();
        if !table.may_hold_maps() {
            return Vec::new();
        }
        // What is wrong with a row is said when it is read.
        let _ = table.each_row(&mut |_, row| {
            for (name, cell) in table.names.iter().zip(row) {
                std::str::from_utf8(cell).into_iter().for_each(|cell| facts.add_cell(name, cell));
            }
            Ok(())
        });
        facts.into_paths()
    };
    let runs = TableSurvey::of_csv(table).read(source, wanted, read, &later)?;
    // A word that is no score, and that columns are called, stands in a second line of names.
    let words = runs.iter().flat_map(|run| run.samples.iter()).flat_map(|samples| {
        samples.scorers().flat_map(|scorer| samples.score_labels(scorer)).filter(|word| csv::is_column_name(word))
    });
    let second = words.into_iter().find_map(|word| table.find_names(word));
    if let Some(error) = second {
        return Err(error);
    }
    let mut runs = runs;
    if let Some(run) = runs.first_mut() {
        run.notes.extend(thousands_note(table, &run.columns));
    }
    Ok(runs)
}

/// Reads the rows of a Parquet table.
#[cfg(feature = "parquet")]
pub(super) fn read_parquet(
    source: &Source,
    file: &SerializedFileReader<BoundedFile>,
    wanted: &Projection,
    read: &TableReader<'_>,
) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
    let survey = TableSurvey::of_parquet(source, file);
    let has_id = survey.has("id") || survey.has("sample_id");
    let columns = survey.complete(source, wanted)?;
    if !has_id && !columns.names(|role| *role == ColumnRole::Id) && columns.records().is_none() {
        return Err(survey.with_all_of_parquet(file).unknown(source, "the table has no column `id` or `sample_id`"));
    }
    // Lists are not among the first rows, and only messages need them.
    survey.read(source, wanted, read, &|| arrow_rows::late_facts(source)).map_err(|error| match name_of_list(&error) {
        Some(_) => survey.with_all_of_parquet(file).explain_lists(source, error),
        None => error,
    })
}

/// Reads a table with columns of these names and these first rows; nothing if none of them is an id.
pub(super) fn read_named(
    source: &Source,
    (names, rows): (Vec<Arc<str>>, Vec<Value>),
    wanted: &Projection,
    read: &TableReader<'_>,
    later: &LaterFacts<'_>,
) -> Result<Option<Vec<RecordedRun<Shards>>>, ReadError> {
    let survey = TableSurvey::of_rows(names, rows);
    let columns = survey.complete(source, wanted)?;
    let has_id = survey.has("id") || survey.has("sample_id") || columns.names(|role| *role == ColumnRole::Id);
    let has_records = has_id || columns.records().is_some();
    if has_records { survey.read(source, wanted, read, later).map(Some) } else { Ok(None) }
}

/// What to know about the dots in a table whose columns were read as these.
pub(super) fn thousands_note(table: &CsvTable<'_>, columns: &[(String, String)]) -> Option<String> {
    table.thousands_note(&|name| {
        let is_said = |(role, column): &(String, String)| is_measure_role(&ColumnRole::of(role)) && column == name;
        is_measure_role(&ColumnRole::of(name)) || columns.iter().any(is_said)
    })
}

/// What the columns of a Parquet table are, if it can be read as a stream: it holds one run, and none of its columns might
/// tell several apart.
#[cfg(feature = "parquet")]
pub(super) fn to_stream(
    source: &Source,
    file: &SerializedFileReader<BoundedFile>,
    wanted: &Projection,
) -> Result<Option<StreamableTable>, ReadError> {
    TableSurvey::of_parquet(source, file).to_stream(source, wanted)
}

/// The same for a table whose rows are lines, of which these are the first.
pub(super) fn csv_to_stream(
    source: &Source,
    table: &CsvTable<'_>,
    wanted: &Projection,
) -> Result<Option<StreamableTable>, ReadError> {
    TableSurvey::of_csv(table).to_stream(source, wanted)
}

/// The same for a table with columns of these names and these first rows.
pub(super) fn rows_to_stream(
    source: &Source,
    (names, rows): (Vec<Arc<str>>, Vec<Value>),
    wanted: &Projection,
) -> Result<Option<StreamableTable>, ReadError> {
    TableSurvey::of_rows(names, rows).to_stream(source, wanted)
}

/// A table that can be read as a stream, as far as its first rows show.
pub(super) struct StreamableTable {
    pub(super) roles: ColumnRoles,
    /// What is read of it: what is wanted, and what may tell runs apart.
    pub(super) wanted: Projection,
    /// True when it has columns that may tell attempts of a sample apart: then no sample may have several.
    has_factors: bool,
    /// The columns that may tell runs apart, or the metrics that scores are by.
    checks: Vec<RunCheck>,
    notes_on_columns: Vec<String>,
}

impl StreamableTable {
    /// The samples of a part of the table without what was only looked at; nothing if they show that the table has to be read in
    /// another way.
    pub(super) fn check_part(&self, mut samples: Samples) -> Option<Samples> {
        let is_several = self.has_factors && samples.attempts() != samples.len();
        if is_several || summary_record::may_be_in(&samples) || score_labels::is_ambiguous(&samples) {
            return None;
        }
        for check in &self.checks {
            check.pass(&samples).then_some(())?;
        }
        for check in self.checks.iter().filter(|check| check.is_read && !check.is_wanted) {
            samples.forget_metadata(&check.fact);
        }
        Some(samples)
    }

    /// What is known of the table when all parts have passed.
    pub(super) fn finish(self) -> StreamedTable {
        let notes = self.checks.into_iter().filter_map(RunCheck::note).chain(self.notes_on_columns);
        StreamedTable { columns: self.roles.shown, notes: notes.collect() }
    }
}

/// The error for records with ids of their own that are attempts at samples, as two other columns say.
fn attempts_as_samples(source: &Source, sample: &str, attempt: &str) -> ReadError {
    let what = format!(
        "each record has an id of its own, and is an attempt, as `{}` and `{}` say",
        printable(sample),
        printable(attempt)
    );
    let mut columns = source.columns().clone();
    let error = source.error(what);
    match columns.set("id", &quote(sample)) {
        Ok(()) => {
            let hint = "if each is a sample all the same, `id=id` says so; otherwise name the samples";
            error.hint(hint).with_proposal(columns.written())
        }
        Err(_) => error.hint("say what names the samples"),
    }
}

fn entries_of(count: usize) -> String {
    if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") }
}

/// The format of a table, if this content is one.
pub(super) fn table_format(shape: &Shape) -> Option<&'static dyn Format> {
    let first = shape.head.strip_prefix(&native::BOM).unwrap_or(&shape.head).trim_ascii_start().first();
    match first {
        _ if parquet::Parquet.recognises(shape) => Some(&parquet::Parquet),
        _ if arrow_stream::ArrowStream.recognises(shape) => Some(&arrow_stream::ArrowStream),
        Some(b'{' | b'[') => Some(&native::Native),
        _ if csv::is_table(&shape.head) => Some(&csv::Csv),
        // A file with one number, or one on each line.
        _ if shape.json.as_ref().is_some_and(|json| json.root == Root::Other) => Some(&native::Native),
        _ => None,
    }
}

/// An error unless this table, which has no columns of ours, has well-known other ones. The error proposes what to say.
pub(super) fn check_known(source: &Source, format: &'static dyn Format) -> Result<(), ReadError> {
    let survey = match format.name() {
        "csv" => TableSurvey::of_csv(&CsvTable::of(source)?),
        "parquet" | "arrow" => return Ok(()),
        _ => {
            let survey = TableSurvey::of_json(source)?;
            survey.check_documents(source)?;
            survey
        }
    };
    let columns = survey.complete(source, &Projection::everything())?;
    let is_known = |name: &Arc<str>| matches!(&**name, "id" | "sample_id");
    let has_id = columns.names(|role| *role == ColumnRole::Id) || survey.columns.iter().any(is_known);
    let has_measure = columns.names(is_measure_role) || survey.columns.iter().any(|name| known_names::is_measure(name));
    if has_id && has_measure { Ok(()) } else { Err(survey.unknown(source, "the format of the content is unknown")) }
}

/// The error for a table whose records have no column that says how they went: it proposes which one may. None if there is
/// such a column, or if the file is no table.
pub fn explain_unmeasured(source: &Source) -> Option<ReadError> {
    let format = super::choose(source, None).ok()?;
    let survey = match format.name() {
        "csv" => TableSurvey::of_csv(&CsvTable::of(source).ok()?),
        "native" => TableSurvey::of_json(source).ok()?,
        #[cfg(feature = "parquet")]
        "parquet" | "arrow" => read_catching_panic(source, "Parquet", || {
            let is_stream = format.name() == "arrow" && source.as_table().is_none();
            let table = if is_stream { Some(arrow_stream::table(source)?) } else { None };
            let file = parquet::open(table.as_ref().unwrap_or(source))?;
            Ok(TableSurvey::of_parquet(source, &file).with_all_of_parquet(&file))
        })
        .ok()?,
        _ => return None,
    };
    let columns = survey.complete(source, &Projection::everything()).ok()?;
    let is_measured = columns.names(is_measure_role) || survey.columns.iter().any(|name| known_names::is_measure(name));
    (!is_measured).then(|| survey.unknown(source, "no column is known to hold a score"))
}

fn is_measure_role(role: &ColumnRole) -> bool {
    matches!(
        role,
        ColumnRole::Score(_)
            | ColumnRole::Scores
            | ColumnRole::Flag(_)
            | ColumnRole::Behaviors(_)
            | ColumnRole::Label(_)
            | ColumnRole::Number(_)
    )
}

/// The columns of a table, and some of its records.
pub(super) struct TableSurvey {
    columns: Vec<Arc<str>>,
    records: Vec<Value>,
    /// The last records, where they are easily had: files that were put together may say more further down.
    last: Vec<Value>,
    /// What was tried, as far as the maps around the records say it.
    around: Vec<FactPath>,
    /// The documents, if the records may be below a path.
    documents: Vec<Value>,
    /// True when all columns are known, not only those of the first records.
    is_whole: bool,
    /// True when the rows are written in another way than as maps.
    is_relaid: bool,
    /// True when the file holds several lists, one after the other: they are read as the items of one.
    has_lists: bool,
    /// The names that several columns have.
    doubled: Vec<Arc<str>>,
    /// True when the first line of a table seems to hold no names.
    lacks_header: bool,
    /// The line that seems to hold them instead.
    later_header: Option<u64>,
    /// True when the first line of a table names groups of columns: some of its names are there several times.
    names_groups: bool,
    /// True for the lines of a text with cells.
    is_text_table: bool,
}

impl TableSurvey {
    fn of_json(source: &Source) -> Result<Self, ReadError> {
        let said = source.columns();
        let mut has_lists = false;
        let mut documents = first_json(source, &mut has_lists)?;
        let mut is_relaid = false;
        if let [document] = &mut documents[..]
            && let Some(relaid) = json_layouts::relay(document, said, &is_id_of(said))
        {
            is_relaid = true;
            documents = match (relaid, said.records()) {
                (Value::List(rows), None) => rows,
                (relaid, _) => vec![relaid],
            };
        }
        let records = match said.records() {
            Some(path) => record_tree::first_records(&documents, path, SURVEYED),
            None => documents.iter().take(SURVEYED).cloned().collect(),
        };
        let is_longer = documents.len() == SURVEYED && said.records().is_none() && !is_relaid;
        let last = if is_longer { super::later_records::find(source).unwrap_or_default() } else { Vec::new() };
        let around = said.records().map(|path| record_tree::facts_around(&documents, path, SURVEYED));
        let columns = columns_of(records.iter());
        let doubled = Vec::new();
        Ok(Self {
            columns,
            records,
            last,
            around: around.unwrap_or_default(),
            documents,
            is_whole: false,
            is_relaid,
            has_lists,
            doubled,
            lacks_header: false,
            later_header: None,
            names_groups: false,
            is_text_table: false,
        })
    }

    /// An error if there is no document, or nothing in the only one.
    fn check_documents(&self, source: &Source) -> Result<(), ReadError> {
        let is_empty = |value: &Value| match value {
            Value::List(items) => items.is_empty(),
            Value::Map(entries) => entries.is_empty(),
            other => matches!(other, Value::Null),
        };
        if self.documents.is_empty() {
            // A list may begin with something that is no JSON.
            let bytes = source.read_all()?;
            json::parse(&source.name, bytes.strip_prefix(&native::BOM).unwrap_or(&bytes))?;
        }
        if self.documents.iter().all(is_empty) {
            let hint = "rerun the evaluation that should have written it, or leave the file out";
            return Err(source.error("the file has no records").hint(hint));
        }
        Ok(())
    }

    fn of_csv(table: &CsvTable<'_>) -> Self {
        let columns = table.columns();
        let named = |row: Vec<String>| {
            let cells = table.names.iter().cloned().zip(row.iter().map(|cell| Value::from(cell.as_str())));
            Value::Map(cells.filter(|(name, _)| !name.is_empty()).collect())
        };
        let records = table.first_rows(SURVEYED).into_iter().map(named).collect();
        let doubled = table.doubled.clone();
        let lacks_header = table.lacks_header();
        let later_header = table.later_header();
        let names_groups = !doubled.is_empty();
        let is_text_table = true;
        Self { doubled, lacks_header, later_header, names_groups, is_text_table, ..Self::of_rows(columns, records) }
    }

    #[cfg(feature = "parquet")]
    fn of_parquet(source: &Source, file: &SerializedFileReader<BoundedFile>) -> Self {
        let fields = file.metadata().file_metadata().schema().get_fields();
        let names = fields.iter().map(|field| field.name().into()).collect();
        Self::of_rows(names, arrow_rows::of_parquet(source, SURVEYED))
    }

    /// A table with these columns, which begins with these rows.
    fn of_rows(columns: Vec<Arc<str>>, records: Vec<Value>) -> Self {
        Self {
            columns,
            records,
            last: Vec::new(),
            around: Vec::new(),
            documents: Vec::new(),
            is_whole: true,
            is_relaid: false,
            has_lists: false,
            doubled: Vec::new(),
            lacks_header: false,
            later_header: None,
            names_groups: false,
            is_text_table: false,
        }
    }

    /// The names of the columns, as far as the first records have them.
    pub(super) fn columns(&self) -> &[Arc<str>] {
        &self.columns
    }

    /// The first records.
    pub(super) fn records(&self) -> &[Value] {
        &self.records
    }

    /// The documents, if the records may be below a path.
    pub(super) fn documents(&self) -> &[Value] {
        &self.documents
    }

    /// True when its rows are written in another way than as maps.
    pub(super) fn is_relaid(&self) -> bool {
        self.is_relaid
    }

    /// True for the lines of a text with cells.
    pub(super) fn is_text_table(&self) -> bool {
        self.is_text_table
    }

    /// The same, with all that the first rows hold: only messages need it.
    #[cfg(feature = "parquet")]
    fn with_all_of_parquet(self, file: &SerializedFileReader<BoundedFile>) -> Self {
        let named = |row: ::parquet::record::Row| {
            let entries = row.get_column_iter().map(|(name, field)| (name.as_str().into(), parquet::value(field)));
            Value::Map(entries.collect())
        };
        let rows = RowIter::from_file(None, file).ok();
        let rows = rows.into_iter().flatten().take(SURVEYED).map_while(Result::ok);
        Self { records: rows.map(named).collect(), ..self }
    }

    fn to_stream(&self, source: &Source, wanted: &Projection) -> Result<Option<StreamableTable>, ReadError> {
        let (runs, metrics) = (self.run_columns(source), self.metric_columns(source, wanted));
        // What is inside of maps, and of which rows remain, is for the other reader.
        let is_nested = runs.iter().any(|run| run.path.is_extra()) || !self.asked_inside(source, wanted).is_empty();
        if is_nested || source.conditions().next().is_some() {
            return Ok(None);
        }
        let columns = self.complete(source, wanted)?;
        // Whether records are attempts shows in all of them.
        if self.attempt_columns(source, &columns).is_some() {
            return Ok(None);
        }
        let factors = self.factors(source, &columns);
        let runs = runs.iter().map(|run| RunCheck::of_run(run, wanted, &self.records));
        let metrics = metrics.iter().map(|name| RunCheck::of_metric(name, wanted, &self.records));
        let checks: Vec<RunCheck> = runs.chain(metrics).collect();
        let read = checks.iter().filter(|check| check.is_read);
        let wanted = wanted.clone().and_if_there(read.map(|check| check.fact.to_string()));
        let notes_on_columns = self.notes_on_columns(source);
        match self.resolve(&columns, &[]) {
            TableReading::Flat(roles) if !roles.has_runs() && factors.likely.is_empty() => {
                // What is empty in the first rows may say more in others.
                let is_nothing = |value: Option<&Value>| match value {
                    Some(Value::Text(text)) => text.is_empty(),
                    value => value == Some(&Value::Null),
                };
                let is_empty = |name: &Arc<str>| self.records.iter().all(|row| is_nothing(row.get(name)));
                let has_factors = !factors.possible.is_empty() || self.columns.iter().any(is_empty);
                Ok(Some(StreamableTable { roles, wanted, has_factors, checks, notes_on_columns }))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|column| **column == *name)
    }

    /// What is said about the columns, and what well-known names say about the others.
    fn complete(&self, source: &Source, wanted: &Projection) -> Result<Columns, ReadError> {
        let said = source.columns();
        if self.is_whole && said.records().is_none() {
            self.check_names(source)?;
        }
        let mut columns = said.clone();
        let has_own_id = self.has("id") || self.has("sample_id");
        self.check_scores_of_others(source)?;
        let is_free = |name: &&Arc<str>| !said.pairs().iter().any(|pair| pair.uses(name));
        let find = |names: &[&str]| -> Vec<&Arc<str>> {
            known_names::find(&self.columns, names).into_iter().filter(is_free).collect()
        };
        if !has_own_id && !said.names(|role| *role == ColumnRole::Id) {
            // Our names in another spelling come first, as they do in ours.
            let found = [&["id"][..], &["sample_id"], &known_names::IDS].into_iter().map(find);
            match found.into_iter().find(|found| !found.is_empty()).as_deref() {
                None | Some([]) => {}
                Some([one]) => columns = columns.with_column("id", one),
                Some(several) => return Err(self.ambiguous(source, "id", several)),
            }
        }
        let has_id = has_own_id || columns.names(|role| *role == ColumnRole::Id);
        let is_measured = said.names(is_measure_role) || self.columns.iter().any(|name| known_names::is_measure(name));
        if has_id && !is_measured {
            // A condition on a column needs it as metadata.
            let unasked = |found: Vec<&Arc<str>>| -> Vec<_> {
                found
                    .into_iter()
                    .filter(|name| !wanted.asks_for(name) && !source.is_condition(name))
                    .cloned()
                    .collect::<Vec<Arc<str>>>()
            };
            let found = unasked(find(&known_names::SCORES));
            match &found[..] {
                [] => {}
                [one] => columns = columns.with_column("score", one),
                several => return Err(self.ambiguous(source, "score", &several.iter().collect::<Vec<_>>())),
            }
            if found.is_empty() {
                for name in ["score", "passed", "correct"] {
                    if let [one] = &unasked(find(&[name]))[..] {
                        columns = columns.with_column(name, one);
                    }
                }
            }
        }
        let is_other_table = !columns.is_empty() && !has_own_id;
        let has_epoch = self.has("epoch") || said.names(|role| *role == ColumnRole::Epoch);
        // A number in a table of ours is taken for the attempt's only if its name leaves no doubt, and nothing asks for it as
        // metadata.
        let names: &[&str] = if is_other_table { &known_names::ATTEMPTS } else { &known_names::PLAIN_ATTEMPTS };
        let is_asked = |name: &Arc<str>| !is_other_table && (wanted.asks_for(name) || source.is_condition(name));
        if !has_epoch
            && let [one] = find(names)[..]
            && !is_asked(one)
            && self.records.iter().all(|record| record.get(one).is_none_or(is_count))
        {
            columns = columns.with_column("epoch", one);
        }
        for name in &self.doubled {
            let is_later = |column: &&Arc<str>| column.strip_prefix(&**name).is_some_and(|rest| rest.starts_with(" ("));
            let same: Vec<&Arc<str>> = self.columns.iter().filter(|column| *column == name).collect();
            let same: Vec<&Arc<str>> = same.into_iter().chain(self.columns.iter().filter(is_later)).collect();
            let is_said = same.iter().any(|name| said.pairs().iter().any(|pair| pair.uses(name)));
            let used = columns.pairs().iter().find(|pair| pair.uses(name)).map(|pair| pair.name.clone());
            let role =
                used.or_else(|| (!matches!(ColumnRole::of(name), ColumnRole::Fact(_))).then(|| name.to_string()));
            if let (Some(role), false) = (role, is_said) {
                return Err(self.ambiguous(source, &role, &same));
            }
        }
        if columns.run_pair().is_none() {
            self.run_tags(&columns).check(source)?;
        }
        Ok(columns)
    }

    /// What tags say of what was tried, in the first and the last records.
    fn run_tags(&self, columns: &Columns) -> RunTags {
        RunTags::find(self.records.iter().chain(&self.last).map(|record| (record, id_of(columns, record))))
    }

    /// What to know about lists whose items have names, and are made attempts by what is said.
    fn notes_on_lists(&self, source: &Source) -> Vec<String> {
        let lists = source.columns().pairs().iter().filter(|pair| pair.path.has_list());
        let note = |pair: &ColumnPair| {
            let written = pair.path.to_string();
            let apart = propose::tell_items_apart(&self.records, &written)?;
            let (written, apart) = (printable(&written), printable(&apart));
            Some(format!("the items of `{written}` have names, and count as attempts: `{apart}` tells them apart"))
        };
        lists.filter_map(note).collect()
    }

    /// What to know about tags that say what was tried, and about columns that say how much a record counts, or how many samples
    /// it sums up: no figure uses them.
    fn notes_on_columns(&self, source: &Source) -> Vec<String> {
        let is_free = |name: &&&Arc<str>| {
            !source.columns().pairs().iter().any(|pair| pair.uses(name)) && !source.is_condition(name)
        };
        let amount = |value: &Value| match value {
            Value::Text(text) => parse_number(text),
            other => other.as_number(),
        };
        let differ = |name: &&&Arc<str>| {
            let mut amounts = self.records.iter().map(|record| record.get(name).and_then(amount));
            let first = amounts.next().flatten();
            let is_amount = |amount: Option<f64>| amount.is_some_and(|amount| amount >= 0.0);
            let mut is_varied = false;
            is_amount(first)
                && amounts.all(|amount| {
                    is_varied |= amount != first;
                    is_amount(amount)
                })
                && is_varied
        };
        let columns = known_names::find(&self.columns, &known_names::COUNTS);
        let note = |name: &&Arc<str>| {
            let name = printable(name);
            format!("`{name}` differs between records and weighs nothing: each record counts once")
        };
        let weights = columns.iter().filter(is_free).filter(differ).map(note);
        let is_error = |name: &&&Arc<str>| known_names::names_error_of_figure(name);
        let is_number = |name: &&&Arc<str>| {
            let mut values = self.records.iter().filter_map(|record| record.get(name));
            values.next().is_some_and(|first| amount(first).is_some())
        };
        let note = |name: &Arc<str>| {
            let name = printable(name);
            format!("`{name}` seems to be the error of a figure: each record counts as one sample, whatever it sums up")
        };
        let columns: Vec<&Arc<str>> = self.columns.iter().collect();
        let figures = columns.iter().filter(is_error).filter(is_free).filter(is_number).map(|name| note(name));
        // Of cells that were merged, only the first has what stood in them.
        let is_merged = |name: &&&Arc<str>| {
            let is_blank = |record: &Value| match record.get(name) {
                Some(Value::Text(text)) => text.trim().is_empty(),
                value => matches!(value, None | Some(Value::Null)),
            };
            let mut records = self.records.iter();
            let blanks = self.records.iter().filter(|record| is_blank(record)).count();
            let begins = records.next().is_some_and(|record| !is_blank(record)) && records.next().is_some_and(is_blank);
            begins && 2 * blanks > self.records.len()
        };
        let runs = known_names::find(&self.columns, &known_names::RUNS);
        let note = |name: &&Arc<str>| {
            let name = printable(name);
            format!("`{name}` is empty in most records, and these name no run: if its cells were merged, fill in each")
        };
        let merged = runs.iter().filter(is_free).filter(is_merged).map(note);
        let mosts = known_names::find(&self.columns, &known_names::MOSTS);
        let note = |name: &&Arc<str>| {
            let name = printable(name);
            format!("`{name}` differs between records, and no score is divided by it: shares are written like `4/5`")
        };
        let mosts = mosts.iter().filter(is_free).filter(differ).map(note);
        let marks = self.notes_on_marks(&known_names::EXCLUSIONS, true, source);
        let marks = marks.into_iter().chain(self.notes_on_marks(&known_names::INCLUSIONS, false, source));
        let tags = self.run_tags(source.columns());
        let weights = merged.collect::<Vec<_>>().into_iter().chain(weights).chain(mosts);
        let answers = self.note_on_answers(source);
        weights.chain(marks).chain(answers).chain(figures.take(1)).chain(tags.notes()).collect()
    }

    /// What to know about a column `correct` with words that answers have too: it may hold the right answers.
    fn note_on_answers(&self, source: &Source) -> Option<String> {
        const ANSWERS: [&str; 6] = ["predicted", "prediction", "pred", "predicted_answer", "model_answer", "answer"];
        let words = |name: &str| -> Option<HashSet<String>> {
            let values = self.records.iter().filter_map(|record| record.get(name));
            let word = |value: &Value| match value {
                Value::Text(text) if truth(value).is_none() => Some(text.trim().to_lowercase()),
                _ => None,
            };
            values.map(word).collect()
        };
        if !self.has("correct") || source.columns().pairs().iter().any(|pair| pair.uses("correct")) {
            return None;
        }
        let answer = known_names::find(&self.columns, &ANSWERS).first().copied()?;
        let (given, right) = (words(answer)?, words("correct")?);
        (!right.is_empty() && right.is_subset(&given)).then(|| {
            let answer = printable(answer);
            format!(
                "`correct` is read as whether the answer is right; if it is the right answer, as `{answer}` suggests, say \
                 `predicted={answer},actual=correct`"
            )
        })
    }

    /// What to know about columns that mark some of the records as ones that may not count: no figure leaves them out.
    fn notes_on_marks(&self, names: &[&str], marked: bool, source: &Source) -> Vec<String> {
        let note = |name: &&Arc<str>| {
            let is_free = !source.columns().pairs().iter().any(|pair| pair.uses(name)) && !source.is_condition(name);
            let marks = || self.records.iter().filter_map(|record| record.get(name));
            let truth = |value: &Value| truth(value).or_else(|| bit(value));
            let is_mark = |value: &&Value| truth(value).is_some();
            if !is_free || !marks().all(|value| is_mark(&value)) || !marks().any(|value| truth(value) == Some(marked)) {
                return None;
            }
            let counted = marks().find(|value| truth(value) == Some(!marked))?;
            let name = printable(name);
            Some(format!(
                "`{name}` is {marked} for some of the records, which count like the others: the condition \
                 `{name}={counted}` leaves them out"
            ))
        };
        known_names::find(&self.columns, names).iter().filter_map(note).collect()
    }

    /// The columns that may tell runs apart, and of which nothing is said.
    fn run_columns(&self, source: &Source) -> Vec<RunColumn> {
        let records: Vec<Value> = self.records.iter().chain(&self.last).cloned().collect();
        let mut found = RunColumn::find(&self.columns, &records, &self.facts_outside(source), source.columns());
        // Files that were put together may name the model only further down.
        if !self.is_whole && self.records.len() == SURVEYED {
            let known: Vec<Arc<str>> = found.iter().map(|column| column.path.fact.clone()).collect();
            let late = RunColumn::find_late(&self.columns, source.columns());
            found.extend(late.into_iter().filter(|column| !known.contains(&column.path.fact)));
        }
        found
    }

    /// The same for those that only later records have, in a map.
    fn late_columns(&self, source: &Source, known: &[RunColumn], later: &LaterFacts<'_>) -> Vec<RunColumn> {
        if self.records.len() < SURVEYED {
            return Vec::new();
        }
        // A column that was only supposed to be there may be in the metadata.
        let is_same = |path: &FactPath, column: &RunColumn| !column.is_late && column.path.fact == path.fact;
        let is_new = |path: &FactPath| !known.iter().any(|column| is_same(path, column));
        let new: Vec<FactPath> = later().into_iter().filter(is_new).collect();
        RunColumn::find(&[], &[], &new, source.columns())
    }

    /// What later JSON records name in maps.
    fn late_facts_of_json(&self, source: &Source) -> Vec<FactPath> {
        let is_whole = self.documents.len() < SURVEYED || self.is_relaid;
        match source.columns().records() {
            None if self.is_relaid => LateFacts::of_records(self.documents.iter()),
            None => LateFacts::of_json(source),
            Some(path) if is_whole => {
                LateFacts::of_records(record_tree::first_records(&self.documents, path, usize::MAX).iter())
            }
            Some(path) => LateFacts::of_documents(source, &mut |document| {
                record_tree::first_records(std::slice::from_ref(document), path, usize::MAX)
            }),
        }
    }

    /// What was tried, as far as it is said around the records, or in the items of lists that are attempts.
    fn facts_outside(&self, source: &Source) -> Vec<FactPath> {
        const ITEMS_MAX: usize = 20;
        let mut found: IndexMap<String, FactPath> = IndexMap::new();
        let lists: HashSet<String> = source
            .columns()
            .pairs()
            .iter()
            .filter(|pair| pair.path.has_list() && pair.path.up == 0)
            .filter_map(|pair| Some(pair.path.to_string().split_once("[]")?.0.to_owned()))
            .collect();
        for list in lists {
            let Ok(path) = list.parse::<crate::ColumnPath>() else { continue };
            for record in &self.records {
                let mut look = |_: Option<&str>, _: Option<usize>, part: FoundPart<'_>| {
                    let FoundPart::Value(Value::List(items)) = part else { return };
                    for item in items.iter().take(ITEMS_MAX) {
                        each_fact(item, &mut |keys, text, _| {
                            let text = format!("{list}[].{text}");
                            let is_new = !found.contains_key(&text);
                            if is_new && keys.last().is_some_and(|key| says_what_was_tried(key)) {
                                FactPath::of_text(&text)
                                    .into_iter()
                                    .for_each(|fact| drop(found.insert(text.clone(), fact)));
                            }
                        });
                    }
                };
                let _ = path.find(record, &mut look);
            }
        }
        self.around.iter().cloned().chain(found.into_values()).collect()
    }

    /// The columns that may tell attempts of a sample apart, though their names do not say that they name runs.
    fn factors(&self, source: &Source, columns: &Columns) -> Factors {
        let ids: Vec<Option<String>> = self.records.iter().map(|record| id_of(columns, record)).collect();
        let outside = self.facts_outside(source);
        let outside = outside.into_iter().filter(|fact| !fact.is_said(columns));
        let mut factors = Factors::find(&self.records, &ids, source, columns);
        factors.likely.extend(outside.map(Factor::of_path));
        // What may name runs is looked at in any case.
        let is_run = |factor: &Factor| factor.path.rank(&known_names::RUNS).is_some();
        factors.likely.retain(|factor| !is_run(factor));
        factors.possible.retain(|factor| !is_run(factor));
        factors
    }

    /// Facts inside maps that are asked for by their paths: `config.model`.
    fn asked_inside(&self, source: &Source, wanted: &Projection) -> Vec<FactPath> {
        let names = wanted.asked().chain(source.conditions());
        let is_other = |name: &&str| !self.has(name) && name.contains('.');
        let is_inside = |name: &&str| name.split('.').next().is_some_and(|first| self.has(first) || !self.is_whole);
        let paths = names.filter(is_other).filter(is_inside).filter_map(FactPath::of_name);
        paths.filter(|path| !path.is_said(source.columns())).collect()
    }

    /// The columns that may say which metric a score is by.
    fn metric_columns(&self, source: &Source, wanted: &Projection) -> Vec<&Arc<str>> {
        let is_free = |name: &&Arc<str>| !source.columns().pairs().iter().any(|pair| pair.uses(name));
        let mut metrics: Vec<&Arc<str>> = known_names::find(&self.columns, &known_names::SCORERS);
        metrics.retain(|name| is_free(name) && !wanted.asks_for(name) && !source.is_condition(name));
        metrics
    }

    /// Reads the table. What was taken for the number of an attempt by its name is metadata if it is none in all records. Records
    /// that are no samples are an error.
    fn read(
        &self,
        source: &Source,
        wanted: &Projection,
        read: &TableReader<'_>,
        later: &LaterFacts<'_>,
    ) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
        let columns = self.complete(source, wanted)?;
        let rows = NumberedRows { survey: self, source, wanted, read, columns: &columns };
        let mut runs =
            self.read_epochs(source, wanted, read, later, &columns).map_err(|error| rows.explain_nameless(error))?;
        for run in runs.iter_mut().filter(|_| !rows.are_all_samples()) {
            let places = |names: &[String]| rows.places_of(&|name| name.is_some_and(|name| names.contains(name)));
            let finder = RecordFinder { places: &places, as_samples: rows.columns_with_line() };
            summary_record::check(source, run, &finder)?;
        }
        if let Some((sample, attempt)) = self.attempt_columns(source, &columns)
            && rows.are_attempts(&sample, &attempt)
        {
            return Err(attempts_as_samples(source, &sample, &attempt));
        }
        if let Some(run) = runs.first_mut() {
            run.notes.extend(self.notes_on_rest(&columns));
        }
        if rows.are_unnamed()
            && let Some(notes) = rows.check_unnamed(&mut runs)?
            && let Some(run) = runs.first_mut()
        {
            run.notes.extend(notes);
        }
        Ok(runs)
    }

    /// The column that names samples and the one that numbers their attempts, where each of the first records has an id of its own.
    fn attempt_columns(&self, source: &Source, columns: &Columns) -> Option<(Arc<str>, Arc<str>)> {
        let own = ["id", "sample_id"].into_iter().find(|name| self.has(name))?;
        let values = |name: &str| self.records.iter().filter_map(|record| record.get(name)).collect::<Vec<_>>();
        let ids: HashSet<String> = values(own).into_iter().map(ToString::to_string).collect();
        if source.columns().names(|role| *role == ColumnRole::Id) || ids.len() < self.records.len() {
            return None;
        }
        let is_free =
            |name: &&Arc<str>| ***name != *own && !source.columns().pairs().iter().any(|pair| pair.uses(name));
        let known = known_names::find(&self.columns, &known_names::IDS);
        let other = self.columns.iter().find(|name| own == "id" && ***name == *"sample_id");
        let sample = other.into_iter().chain(known).find(is_free)?;
        let is_epoch = |pair: &&ColumnPair| pair.target == ColumnTarget::Role(ColumnRole::Epoch);
        let epoch = columns.pairs().iter().find(is_epoch).and_then(|pair| pair.path.as_column().cloned());
        let counts = |name: &Arc<str>| {
            const COUNT_MAX: f64 = 1e6;
            let number = |value: &Value| match value {
                Value::Text(text) => parse_number(text),
                other => other.as_number(),
            };
            let is_count = |value: &&Value| number(value).is_some_and(|x| x.fract() == 0.0 && x.abs() < COUNT_MAX);
            values(name).iter().all(is_count)
        };
        let is_own_epoch = |name: &&Arc<str>| ***name == *"epoch" || known_names::is_attempt(name) && counts(name);
        let attempt = epoch.or_else(|| self.columns.iter().filter(is_free).find(is_own_epoch).cloned())?;
        (attempt != *sample).then(|| (sample.clone(), attempt))
    }

    /// What stands beside the records and says that there were more.
    fn notes_on_rest(&self, columns: &Columns) -> Vec<String> {
        const NAMES: [&str; 11] = [
            "failed",
            "failures",
            "errors",
            "errored",
            "skipped",
            "missing",
            "timeouts",
            "timedout",
            "incomplete",
            "excluded",
            "invalid",
        ];
        let ([Value::Map(entries)], Some(path)) = (&self.documents[..], columns.records()) else { return Vec::new() };
        let is_records = |key: &str| path.first_keys().any(|first| **first == *key);
        let count = |value: &Value| match value {
            Value::List(items) => items.len(),
            Value::Map(entries) => entries.len(),
            _ => 0,
        };
        let is_rest =
            |key: &str| NAMES.contains(&known_names::plain(key).as_str()) && !is_records(key) && !path.has_star();
        let rest = entries.iter().filter(|(key, value)| is_rest(key) && count(value) > 0);
        let note = |(key, value): &(Arc<str>, Value)| {
            format!("`{}` beside the records has {}, and was not read", printable(key), entries_of(count(value)))
        };
        rest.map(note).collect()
    }

    fn read_epochs(
        &self,
        source: &Source,
        wanted: &Projection,
        read: &TableReader<'_>,
        later: &LaterFacts<'_>,
        columns: &Columns,
    ) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
        let is_epoch = |pair: &&ColumnPair| pair.target == ColumnTarget::Role(ColumnRole::Epoch);
        let epoch = columns.pairs().iter().find(is_epoch).map(|pair| pair.path.to_string());
        let runs = self.read_columns(source, wanted, read, later, columns.clone());
        match (&runs, epoch.filter(|_| !source.columns().names(|role| *role == ColumnRole::Epoch))) {
            (Err(error), Some(epoch)) if is_no_number(error, &epoch) => {
                let mut runs = self.read_columns(source, wanted, read, later, columns.without_epoch())?;
                let epoch = printable(&epoch);
                let first = error.place().map(|place| format!(" (first in {place})")).unwrap_or_default();
                let note = format!(
                    "`{epoch}` is no number in some records{first}, and names no attempts: a repeated id counts up"
                );
                runs.first_mut().into_iter().for_each(|run| run.notes.push(note.clone()));
                Ok(runs)
            }
            _ => runs,
        }
    }

    /// Reads the table with these columns. Where a column such as `model` has several values for a sample, the table holds several
    /// runs.
    fn read_columns(
        &self,
        source: &Source,
        wanted: &Projection,
        read: &TableReader<'_>,
        later: &LaterFacts<'_>,
        columns: Columns,
    ) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
        let mut run_columns = self.run_columns(source);
        let Factors { likely: mut factors, possible } = self.factors(source, &columns);
        let asked = self.asked_inside(source, wanted);
        let metrics = self.metric_columns(source, wanted).into_iter().filter_map(|name| match ColumnRole::of(name) {
            ColumnRole::Fact(fact) => Some(FactPath::of_column(name, fact)),
            _ => None,
        });
        let metrics: Vec<FactPath> = metrics.collect();
        // What may tell runs apart is looked at, whether it was asked for or not.
        let look_at = |run_columns: &[RunColumn], factors: &[Factor]| -> (Vec<FactPath>, Projection) {
            let runs = run_columns.iter().map(|column| &column.path);
            let facts = runs.chain(factors.iter().map(|factor| &factor.path)).chain(&asked).chain(&metrics);
            let mut facts: Vec<FactPath> = facts.cloned().collect();
            let mut known = HashSet::new();
            facts.retain(|fact| known.insert(fact.fact.clone()));
            let plain = facts.iter().filter(|fact| !fact.is_extra()).map(|fact| fact.fact.to_string());
            let wanted = wanted.clone().and_if_there(plain).and_nested(facts.iter().filter_map(FactPath::as_nested));
            (facts, wanted)
        };
        let (mut looked_at, mut with_runs) = look_at(&run_columns, &factors);
        let mut first = read(&self.resolve(&columns, &looked_at), &with_runs);
        // Where the first records are all of different samples, and others are not, more may tell attempts apart.
        let has_several =
            |runs: &Vec<RecordedRun<Shards>>| runs.iter().any(|run| run.samples.attempts() != run.samples.len());
        // What only later records name is in the first pass too, unless it is in a map.
        let late = match &first {
            Ok(runs) if !has_several(runs) => Vec::new(),
            _ => self.late_columns(source, &run_columns, later),
        };
        let is_more = !possible.is_empty() && first.as_ref().is_ok_and(has_several);
        if is_more || !late.is_empty() {
            factors.extend(possible.into_iter().filter(|_| is_more));
            run_columns.retain(|column| !late.iter().any(|late| late.path.fact == column.path.fact));
            run_columns.extend(late);
            (looked_at, with_runs) = look_at(&run_columns, &factors);
            first = read(&self.resolve(&columns, &looked_at), &with_runs);
        }
        let resolve = |columns: &Columns| self.resolve(columns, &looked_at);
        let id = written_id(&columns);
        let finish = |mut runs: Vec<RecordedRun<Shards>>, run: Option<&str>| {
            runs.iter_mut().for_each(|run| say_what_was_tried(run, &run_columns));
            runs.iter_mut().for_each(score_labels::note);
            if let Some(run) = runs.first_mut() {
                run.notes.extend(self.notes_on_columns(source));
            }
            let runs = note_factors(runs, &factors, &id, run);
            forget(runs, &looked_at, &asked, wanted)
        };
        let first = first.map_err(|error| self.explain_lists(source, self.explain_header(source, error)));
        let first = match first {
            Ok(mut runs) => {
                if let Some(run) = runs.first_mut() {
                    run.notes.extend(self.notes_on_lists(source));
                }
                Ok(runs)
            }
            Err(error) => Err(error),
        };
        let has_run = columns.run_pair().is_some();
        let may_hold_several = match &first {
            Ok(runs) => runs.iter().any(|run| run.samples.attempts() != run.samples.len() || !run.notes.is_empty()),
            // Two models may have different scores for the same attempt.
            Err(_) => true,
        };
        // Of a table with a row per sample and metric, the metrics are runs; with models beside them, one has to be chosen.
        if may_hold_several
            && let [metric] = self.metric_columns(source, wanted)[..]
            && let Ok(split) = read(&resolve(&columns.without_run().with_column("run", metric)), &with_runs)
            && share_samples(&split)
        {
            let is_mixed = |column: &RunColumn| split.iter().any(|run| column.find_mixed(&run.samples).is_some());
            let is_plain = !has_run && !run_columns.iter().any(is_mixed);
            return if is_plain {
                Ok(forget(split, &looked_at, &asked, wanted))
            } else {
                Err(self.mixed_metrics(source, metric, &split))
            };
        }
        // Of a column with a condition, one value is left.
        let open: Vec<&RunColumn> = run_columns.iter().filter(|column| !source.is_condition(column.fact())).collect();
        if has_run {
            let runs = first?;
            return match find_mixed(&runs, &open) {
                Some(mixed) => Err(self.mixed_runs(source, &mixed)),
                None => {
                    let run = columns.run_pair().map(ColumnPair::to_text);
                    Ok(finish(runs, run.as_deref()))
                }
            };
        }
        let is_certain = |column: &RunColumn| match &first {
            Ok(runs) => runs.iter().any(|run| column.find_mixed(&run.samples).is_some()),
            Err(_) => !column.is_late,
        };
        let (mut splits, mut attempt_names) = (Vec::new(), Vec::new());
        for column in run_columns.iter().filter(|column| is_certain(column)) {
            // What is wrong with the file is best said without runs that it may not hold.
            let Ok(split) = read(&resolve(&column.as_run(&columns)), &with_runs) else { continue };
            if name_attempts(&split) {
                attempt_names.push(column);
            } else if share_samples(&split) {
                splits.push((column, split));
            }
        }
        // What names attempts tells no runs apart.
        let open: Vec<&RunColumn> = open.into_iter().filter(|column| !attempt_names.contains(column)).collect();
        if splits.is_empty() {
            let mut runs = note_models(first?, &open);
            note_metrics(&mut runs, &self.metric_columns(source, wanted));
            if let Some(run) = runs.first_mut() {
                run.notes.extend(attempt_names.iter().map(|column| {
                    let name = printable(column.path.short_name());
                    format!("`{name}` has another value in each attempt, and names no runs: all are one run here")
                }));
            }
            return Ok(finish(runs, None));
        }
        // The run is the column that leaves nothing else to tell apart, or as many columns as do together.
        if let Some(place) = splits.iter().position(|(_, split)| find_mixed(split, &open).is_none()) {
            let (column, split) = splits.swap_remove(place);
            return Ok(finish(split, Some(&column.to_text())));
        }
        let (first_column, mut split) = splits.swap_remove(0);
        let mut names = vec![first_column];
        while let Some(mixed) = find_mixed(&split, &open) {
            let column = mixed.column;
            if names.contains(&column) {
                return Err(self.mixed_runs(source, &mixed));
            }
            names.push(column);
            split = read(&resolve(&RunColumn::join(&names, &columns)), &with_runs)?;
        }
        let run = names.iter().map(|column| column.to_text()).collect::<Vec<_>>().join("+");
        Ok(finish(split, Some(&run)))
    }

    /// The error for runs in which another column has several values for a sample.
    fn mixed_runs(&self, source: &Source, mixed: &MixedRun<'_, '_>) -> ReadError {
        let name = printable(mixed.column.path.short_name());
        let [first, other] = mixed.values.each_ref().map(|value| printable(value));
        let run = mixed.run.map_or_else(|| "one run".to_owned(), |run| format!("the run `{}`", printable(run)));
        let id = printable(&mixed.id.to_string());
        let what = format!("`{name}` has several values for sample `{id}` in {run}: `{first}` and `{other}`");
        let written = mixed.column.to_text();
        let run = source.columns().run_pair().map(ColumnPair::to_text).unwrap_or_default();
        let hint = format!(
            "keep the rows of one by a condition such as `{name}={first}`, say `{name}={written}` too to count all as attempts \
             of one run, or name the run by both"
        );
        let mut columns = source.columns().without_run();
        let joined = format!("{run}+{written}");
        let columns = match columns.set("run", &joined) {
            Ok(()) => columns.written(),
            Err(_) => format!("run={joined}"),
        };
        source.error(what).hint(hint).with_proposal(columns)
    }

    /// The error for a table of runs whose rows are scores by several metrics.
    fn mixed_metrics(&self, source: &Source, metric: &Arc<str>, split: &[RecordedRun<Shards>]) -> ReadError {
        let names: Vec<String> = split.iter().filter_map(|run| run.name.clone()).take(8).collect();
        let what = format!("`{}` tells attempts of the same sample apart: {}", printable(metric), names.join(", "));
        let condition = format!("{metric}={}", names.first().map_or("NAME", String::as_str));
        source.error(what).hint("keep the rows of one of them").with_condition(condition)
    }

    /// An error for a table of scores whose `id` is that of the score: the sample has its name in another column.
    fn check_scores_of_others(&self, source: &Source) -> Result<(), ReadError> {
        let said = source.columns();
        let is_told = said.names(|role| *role == ColumnRole::Id) || said.records().is_some();
        if is_told || !self.has("id") || !self.has("value") || !self.has("name") || self.has("score") {
            return Ok(());
        }
        let Some(owner) = known_names::find(&self.columns, &known_names::SCORED).first().copied() else {
            return Ok(());
        };
        let what = format!("each row is a score with a separate id, for the sample in `{}`", printable(owner));
        let columns =
            said.with_column("id", owner).with_column("score", &"value".into()).with_column("run", &"name".into());
        let hint = format!("{}; say what the columns mean", list_columns(&self.columns));
        Err(source.error(what).hint(hint).with_proposal(columns.written()))
    }

    /// What to say about records with a list of scores where one is expected, or a map of scorers: its items may be attempts, or
    /// scores with names.
    fn explain_lists(&self, source: &Source, error: ReadError) -> ReadError {
        let is_list = |name: &str| {
            let mut values = self.records.iter().filter_map(|record| record.get(name));
            // Cells of tables hold lists as text.
            values.any(|value| match value {
                Value::Text(text) => {
                    matches!(super::parse_embedded(text), Some(Value::List(items)) if !items.is_empty())
                }
                value => matches!(value, Value::List(items) if !items.is_empty()),
            })
        };
        let is_free = !source.columns().names(is_measure_role) && !source.columns().is_trial();
        let is_about = name_of_list(&error).is_some_and(is_list) && is_free;
        match is_about.then(|| self.propose(source).1).flatten() {
            Some(best) => error.advise("say what its items are", best.written()),
            None => error,
        }
    }

    /// What is wrong with a first line that has no key of the lines after it: it is a header or a summary. What it says must
    /// not be lost in silence; some files list only the failures below it.
    fn explain_header(&self, source: &Source, error: ReadError) -> ReadError {
        let (Some(FilePlace::Line(1)), [Value::Map(first), Value::Map(second), ..]) =
            (error.place(), &self.documents[..])
        else {
            return error;
        };
        let is_other = |(key, _): &(Arc<str>, Value)| second.iter().all(|(other, _)| other != key);
        if first.is_empty() || !first.iter().all(is_other) {
            return error;
        }
        let keys: Vec<Arc<str>> = first.iter().map(|(key, _)| key.clone()).collect();
        let what = format!("the first line is not a record: {}", list_columns(&keys).replacen("columns", "keys", 1));
        let hint = match command_on(source, "tail -n +2", "samples") {
            Some(command) => format!("if all samples are below it, `{command}` passes on only these"),
            None => "if all samples are below it, pass on only these, as `tail -n +2` does".to_owned(),
        };
        source.error(what).at_line(1).hint(hint)
    }

    /// An error for the first column that is named and does not exist, in a table whose columns are known.
    fn check_names(&self, source: &Source) -> Result<(), ReadError> {
        for pair in source.columns().pairs() {
            for path in pair.paths() {
                let mut keys = path.first_keys().peekable();
                if keys.peek().is_some() && !keys.any(|key| self.columns.contains(key)) {
                    return Err(no_column(source, &pair.name, &path.to_string(), &self.columns));
                }
            }
        }
        Ok(())
    }

    /// The error for a table in which several columns could be the same thing.
    fn ambiguous(&self, source: &Source, name: &str, found: &[&Arc<str>]) -> ReadError {
        let what = format!("{} could each be the {name}", join_names(found));
        let columns =
            self.choose_id(source, name, found).unwrap_or_else(|| source.columns().with_column(name, found[0]));
        let hint = format!("{}; say what the columns mean", list_columns(&self.columns));
        source.error(what).hint(hint).with_proposal(columns.written())
    }

    /// What to propose as the id if several columns could be it: the one that names each record, or two that do so together.
    fn choose_id(&self, source: &Source, name: &str, found: &[&Arc<str>]) -> Option<Columns> {
        let are_unique = |columns: &[&Arc<str>]| {
            let row = |record: &Value| -> Option<Vec<String>> {
                columns.iter().map(|column| record.get(column).map(ToString::to_string)).collect()
            };
            let rows: Option<HashSet<Vec<String>>> = self.records.iter().map(row).collect();
            rows.is_some_and(|rows| rows.len() == self.records.len())
        };
        if name != "id" {
            return None;
        }
        if let Some(unique) = found.iter().find(|column| are_unique(&[**column])) {
            return Some(source.columns().with_column(name, unique));
        }
        let pairs = found.iter().enumerate().flat_map(|(at, a)| found[at + 1..].iter().map(move |b| [*a, *b]));
        let [first, second] = pairs.into_iter().find(|pair| are_unique(&pair[..]))?;
        let mut columns = source.columns().clone();
        columns.set("id", &format!("{}+{}", quote(first), quote(second))).ok().map(|()| columns)
    }

    /// The error for a table whose columns are not known. What it proposes has been tried.
    fn unknown(&self, source: &Source, what: &str) -> ReadError {
        let said = source.columns();
        if said.is_trial() {
            return source.error(what);
        }
        if self.lacks_header && said.is_empty() {
            let what = format!("the first line holds no names: {}", list_columns(&self.columns));
            let error = source.error(what).at_line(1);
            return match self.by_place(source) {
                Some(columns) => {
                    error.hint("put a line with names above it, or say what each column means").with_proposal(columns)
                }
                None => error.hint("put a line with names above it, such as `id,score`"),
            };
        }
        let (proposals, best, flaw) = self.propose(source);
        let best = best.as_ref();
        let second = self.second_header(source).filter(|_| said.is_empty());
        if best.is_none()
            && let Some(line) = self.later_header
            && !(self.names_groups && second.is_some())
        {
            return header_below(source, line);
        }
        if let Some(error) = second {
            return error;
        }
        if best.is_none()
            && let Some(run) = self.rows_of_runs()
        {
            let what = format!("each row is about a `{}`, not about a sample", printable(run));
            const TURN: &str = r#"python3 -c "import csv,sys; r=[*zip(*csv.reader(sys.stdin))]; csv.writer(sys.stdout).writerows([['id',*r[0][1:]]]+r[1:])" <"#;
            let turn = command_on(source, TURN, "turned").filter(|_| self.is_text_table && self.may_be_turned(run));
            let hint = "an estimate needs the results of samples: pass on the table with one row per sample";
            let hint = turn.map_or_else(
                || hint.to_owned(),
                |command| format!("{hint}; if its columns are samples, turn it around: `{command}`"),
            );
            return source.error(what).hint(hint);
        }
        let shown = best.or(proposals.first());
        let records = shown.and_then(Columns::records).filter(|_| !self.documents.is_empty());
        let columns = match records {
            Some(path) => columns_of(record_tree::first_records(&self.documents, path, SURVEYED).iter()),
            None => self.columns.clone(),
        };
        let listed = list_columns(&columns);
        match best {
            Some(best) => {
                let failure = best.pairs().iter().find(|pair| pair.name == "score").map(|pair| pair.path.to_string());
                let failure = failure.filter(|name| known_names::names_failure(name));
                let worse = failure.map(|name| format!("; the more `{}`, the worse", printable(&name)));
                let worse = worse.unwrap_or_default();
                let flaw = flaw.map(|error| numbered_rows::what_to_do_first(&error)).unwrap_or_default();
                let hint = format!("{listed}{worse}; {flaw}if it is a table of results, say what the columns mean");
                source.error(what).hint(hint).with_proposal(best.written())
            }
            None => {
                let known = known_names::find(&self.columns, &known_names::IDS);
                let own = ["id", "sample_id"].into_iter().find(|name| self.has(name));
                let id = own.or_else(|| known.first().map(|name| &***name)).map_or_else(|| "COLUMN".to_owned(), quote);
                let hint = format!(
                    "{listed}; none of them looks like the score of a sample, which is a number, true or false, or a word \
                     such as pass; if one is, say what the columns mean"
                );
                source.error(what).hint(hint).with_proposal(format!("id={id},score=COLUMN"))
            }
        }
    }

    /// What could be said about the columns, and the first of it that works; and what is wrong with some of the records then.
    fn propose(&self, source: &Source) -> (Vec<Columns>, Option<Columns>, Option<ReadError>) {
        let documents: Vec<Value> = if self.documents.is_empty() {
            self.records.iter().cloned().map(propose::unfold_cells).collect()
        } else {
            self.documents.iter().cloned().map(propose::unfold_texts).collect()
        };
        let proposals = propose::propose(&documents, source.columns());
        let mut flaw = None;
        let works = |columns: &&Columns| {
            let source = source.clone().with_columns((*columns).clone().for_trial());
            match read_proposed(&source) {
                Ok(runs) => runs.iter().any(has_measure),
                // Without the records that are no samples, it works.
                Err(error) if numbered_rows::is_about_records(&error) => {
                    flaw = Some(error);
                    true
                }
                Err(_) => false,
            }
        };
        let best = proposals.iter().find(works).map(|best| self.with_folder(source, best));
        (proposals, best, flaw)
    }

    /// The error for a table with two lines of names: below a line of models, one of metrics.
    fn second_header(&self, source: &Source) -> Option<ReadError> {
        let [Value::Map(first), rest @ ..] = &self.records[..] else { return None };
        let is_number = |value: &Value| matches!(value, Value::Text(text) if parse_number(text).is_some());
        let is_blank = |value: &Value| matches!(value, Value::Text(text) if text.trim().is_empty());
        let is_table = self.is_whole && self.documents.is_empty() && rest.len() > 1;
        let names_nothing = first.iter().any(|(_, value)| is_number(value));
        let has_numbers = |(name, value): &(Arc<str>, Value)| {
            let is_text = matches!(value, Value::Text(_));
            is_text && !is_number(value) && rest.iter().all(|row| row.get(name).is_some_and(is_number))
        };
        let below = first.iter().filter(|entry| has_numbers(entry)).count();
        if !is_table || names_nothing || below == 0 || first.iter().all(|(_, value)| is_blank(value)) {
            return None;
        }
        let what = "the second line seems to hold names too: below it are numbers";
        let hint = "make one line of both, such as `id,gpt4_acc,gpt4_f1`";
        Some(source.error(what).at_line(2).hint(hint))
    }

    /// The column that names what was tried, if each row is about another one.
    fn rows_of_runs(&self) -> Option<&Arc<str>> {
        let names = || known_names::RUNS.iter().chain(&known_names::METRICS);
        let is_run = |name: &&&Arc<str>| names().any(|run| known_names::is_spelt_like(name, run));
        let runs = known_names::find(&self.columns, &names().copied().collect::<Vec<_>>());
        let differ = |name: &&&Arc<str>| {
            let values = self.records.iter().filter_map(|record| record.get(name));
            let distinct: HashSet<String> = values.map(ToString::to_string).collect();
            self.records.len() > 1 && distinct.len() == self.records.len()
        };
        let step = || self.columns.iter().find(|name| known_names::is_step(name) && differ(&name));
        runs.iter().filter(is_run).find(differ).copied().or_else(step)
    }

    /// True when all other columns hold outcomes, as those of samples do.
    fn may_be_turned(&self, run: &Arc<str>) -> bool {
        const COLUMNS_MIN: usize = 3;
        let is_outcome = |value: &Value| match value {
            Value::Text(text) => text.is_empty() || calipers_core::Labels::default().to_float(value).is_some(),
            other => other.as_number().is_some(),
        };
        let others = || self.columns.iter().filter(|name| *name != run);
        let holds_outcomes =
            |name: &Arc<str>| self.records.iter().filter_map(|record| record.get(name)).all(is_outcome);
        others().count() >= COLUMNS_MIN && others().all(holds_outcomes)
    }

    /// A proposal for a file that is one sample: the files of a folder are a run.
    fn with_folder(&self, source: &Source, columns: &Columns) -> Columns {
        let is_stem = |pair: &ColumnPair| pair.name == "id" && pair.path.start == PathStart::Pseudo(PseudoColumn::Stem);
        let mut more = columns.clone();
        let is_one_of_several = columns.pairs().iter().any(is_stem) && columns.run_pair().is_none();
        // Where each folder has a file of this name, the folder is the sample.
        if is_one_of_several
            && has_namesakes(source)
            && let Some(pairs) = self.by_folder(columns)
        {
            return pairs;
        }
        if is_one_of_several
            && part_of_path(source, PseudoColumn::Folder).is_some()
            && more.set("run", "@folder").is_ok()
        {
            return more;
        }
        columns.clone()
    }

    /// A proposal by which the folder of a file names the sample, and what the folder is in the run.
    fn by_folder(&self, columns: &Columns) -> Option<Columns> {
        let mut proposed = Columns::default();
        for pair in columns.pairs().iter().filter(|pair| pair.name != "id") {
            proposed.set(&pair.name, &pair.to_text()).ok()?;
        }
        proposed.set("id", "@folder").and_then(|()| proposed.set("run", "@path.-3")).ok()?;
        Some(proposed)
    }

    /// What could be said about a table without a header, whose columns are known by their places.
    fn by_place(&self, source: &Source) -> Option<String> {
        let first = self.columns.iter().map(|name| Value::from(&**name)).collect();
        let rows = self.records.iter().map(|record| match record {
            Value::Map(entries) => entries.iter().map(|(_, value)| value.clone()).collect(),
            _ => Vec::new(),
        });
        let named = |row: Vec<Value>| {
            let cells = row.into_iter().enumerate();
            Value::Map(cells.map(|(place, value)| (Arc::from(csv::name_of_place(place)), value)).collect())
        };
        let documents: Vec<Value> = std::iter::once(first).chain(rows).map(named).collect();
        let works = |columns: &&Columns| {
            let source = source.clone().with_columns((*columns).clone().for_trial());
            read_proposed(&source).is_ok_and(|runs| runs.iter().any(has_measure))
        };
        propose::propose(&documents, source.columns()).iter().find(works).map(Columns::written)
    }

    /// How a table with these columns is read.
    pub(super) fn resolve(&self, columns: &Columns, looked_at: &[FactPath]) -> TableReading {
        if self.is_relaid {
            return TableReading::Tree(Box::new(RecordTree::of_relaid(columns, &self.columns, looked_at)));
        }
        let late = looked_at.iter().filter_map(|fact| fact.path.as_column()).cloned();
        let known: Vec<Arc<str>> = self.columns.iter().cloned().chain(late.filter(|name| !self.has(name))).collect();
        resolve(columns, &known, looked_at)
    }
}

/// The column that an error is about, if it holds a list where a score or a map of scorers is expected.
fn name_of_list(error: &ReadError) -> Option<&'static str> {
    let is_about =
        |name: &&str| error.what().strip_prefix('`').is_some_and(|what| what.starts_with(&format!("{name}` is")));
    ["scores", "correct", "passed"].into_iter().find(is_about).filter(|_| error.what().contains("(a list)"))
}

/// The error for a table whose names are further down.
pub(super) fn header_below(source: &Source, line: u64) -> ReadError {
    let what = format!("line {line} seems to hold the names of the columns, not the first line");
    let tail = format!("tail -n +{line}");
    let hint = match command_on(source, &tail, "samples") {
        Some(command) => format!("pass on what is from there on: `{command}`"),
        None => format!("pass on what is from there on, as `{tail}` does"),
    };
    source.error(what).at_line(line).hint(hint)
}

/// Reads a table to see whether what is proposed about its columns works.
fn read_proposed(source: &Source) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
    let format = super::choose(source, None)?;
    format.read_shards(source, &Projection::everything())
}

fn has_measure(run: &RecordedRun<Shards>) -> bool {
    let has_score = run.samples.iter().flat_map(Samples::scorers).next().is_some();
    has_score || run.samples.iter().flat_map(Samples::fields).any(|field| known_names::is_measure(field))
}

/// Whether a column is the id, as far as it is said, or by its name.
pub(super) fn is_id_of(said: &Columns) -> impl Fn(&str) -> bool {
    let named = said.pairs().iter().find(|pair| pair.target == ColumnTarget::Role(ColumnRole::Id));
    let named = named.map(|pair| pair.path.clone());
    move |name: &str| match &named {
        Some(path) => path.as_column().is_some_and(|column| **column == *name),
        None => matches!(name, "id" | "sample_id") || known_names::IDS.contains(&name),
    }
}

/// True for the message about a column that should number attempts, and holds something else.
fn is_no_number(error: &ReadError, column: &str) -> bool {
    error.what().starts_with(&format!("`{column}` is ")) && error.what().contains("not a whole number")
}

fn is_count(value: &Value) -> bool {
    match value {
        Value::Int(count) => *count >= 0,
        Value::Text(text) => text.is_empty() || text.parse::<u32>().is_ok(),
        Value::Null => true,
        _ => false,
    }
}

/// The name of a record's sample, as far as it has one.
fn id_of(columns: &Columns, record: &Value) -> Option<String> {
    match columns.pairs().iter().find(|pair| pair.target == ColumnTarget::Role(ColumnRole::Id)) {
        Some(pair) => joined_text(pair, record),
        None => record.get("id").or_else(|| record.get("sample_id")).map(ToString::to_string),
    }
}

/// A run in which a column has several values for one sample.
struct MixedRun<'r, 'c> {
    column: &'c RunColumn,
    run: Option<&'r str>,
    id: SampleId,
    values: [String; 2],
}

/// The first run in which one of these columns has several values for a sample.
fn find_mixed<'r, 'c>(runs: &'r [RecordedRun<Shards>], columns: &[&'c RunColumn]) -> Option<MixedRun<'r, 'c>> {
    columns.iter().find_map(|&column| {
        runs.iter().find_map(|run| {
            let (id, values) = column.find_mixed(&run.samples)?;
            Some(MixedRun { column, run: run.name.as_deref(), id, values: values.map(ToString::to_string) })
        })
    })
}

/// Says of a run what all of its records name, and notes what some attempts of a sample name and others do not.
fn say_what_was_tried(run: &mut RecordedRun<Shards>, columns: &[RunColumn]) {
    for column in columns {
        let name = column.path.short_name().to_owned();
        let partly = column.partly_given(&run.samples);
        if partly > 0 {
            let samples = pluralize(partly, "sample");
            let name = printable(&name);
            run.notes.push(format!("{samples} with `{name}` in some attempts and not in others: all are one run here"));
        }
        if let Some(value) = column.single_value(&run.samples) {
            run.tried.push((name, value));
        }
    }
}

/// The runs without what was only looked at.
fn forget(
    mut runs: Vec<RecordedRun<Shards>>,
    looked_at: &[FactPath],
    asked: &[FactPath],
    wanted: &Projection,
) -> Vec<RecordedRun<Shards>> {
    let is_kept = |fact: &&FactPath| asked.contains(fact) || !fact.is_extra() && wanted.has(&fact.fact);
    for fact in looked_at.iter().filter(|fact| !is_kept(fact)) {
        for part in runs.iter_mut().flat_map(|run| run.samples.iter_mut()) {
            part.forget_metadata(&fact.fact);
        }
    }
    runs
}

/// The text of what a pair names in a record: the values of its columns, joined.
fn joined_text(pair: &ColumnPair, record: &Value) -> Option<String> {
    let mut parts = Vec::new();
    for path in pair.paths() {
        if path.start != PathStart::Record || path.up > 0 {
            return None;
        }
        let mut part = None;
        let _ = path.find(record, &mut |_, _, found| {
            if let FoundPart::Value(value) = found {
                part = Some(value.to_string());
            }
        });
        parts.push(part?);
    }
    Some(parts.join("/"))
}

/// Says of a run that it is that of several models, where no sample tells them apart.
fn note_models(mut runs: Vec<RecordedRun<Shards>>, columns: &[&RunColumn]) -> Vec<RecordedRun<Shards>> {
    if let [run] = &mut runs[..] {
        for column in columns.iter().filter(|column| column.has_several(&run.samples)) {
            run.notes.push(several_values_note(column.path.short_name(), &column.to_text()));
        }
    }
    runs
}

/// Says of a run that its scores are by several metrics, where no sample tells them apart.
fn note_metrics(runs: &mut [RecordedRun<Shards>], columns: &[&Arc<str>]) {
    if let [run] = runs {
        for name in columns {
            let parts = run.samples.iter().filter_map(|part| part.metadata_column(name));
            let values: HashSet<String> =
                parts.flat_map(calipers_core::FactColumn::dictionary).map(ToString::to_string).collect();
            if values.len() > 1 {
                run.notes.push(several_values_note(name, &quote(name)));
            }
        }
    }
}

/// True when each of several samples has attempts that are all in different runs, of one attempt each: then what was taken for the
/// name of a run is that of an attempt.
fn name_attempts(runs: &[RecordedRun<Shards>]) -> bool {
    let are_single = runs.iter().all(|run| run.samples.attempts() == 1);
    let ids: HashSet<SampleId> = runs.iter().flat_map(|run| run.samples.iter()).flat_map(Samples::ids).collect();
    are_single && ids.len() > 1 && share_samples(runs)
}

/// True when a sample is in two runs.
fn share_samples(runs: &[RecordedRun<Shards>]) -> bool {
    let mut known = HashSet::new();
    runs.iter().any(|run| {
        let ids: Vec<SampleId> = run.samples.iter().flat_map(Samples::ids).collect();
        let is_shared = ids.iter().any(|id| known.contains(id));
        known.extend(ids);
        is_shared
    })
}

fn join_names(names: &[&Arc<str>]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{}`", printable(name))).collect();
    match &quoted[..] {
        [first, last] => format!("{first} and {last}"),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
        [] => String::new(),
    }
}

/// What is said about columns, for a table with these.
fn resolve(columns: &Columns, known: &[Arc<str>], looked_at: &[FactPath]) -> TableReading {
    let is_column = |name: &str| known.iter().any(|known| **known == *name);
    let mut roles = ColumnRoles::default();
    let mut is_flat = columns.records().is_none();
    let mut used = HashSet::new();
    for pair in columns.pairs() {
        if pair.is_joined() {
            is_flat = false;
            continue;
        }
        let literal = pair.path.literal(is_column);
        let path = literal.as_ref().unwrap_or(&pair.path);
        let ColumnTarget::Role(role) = &pair.target else {
            is_flat = false;
            continue;
        };
        match path.as_column().filter(|name| is_column(name) && used.insert((*name).clone())) {
            Some(column) if is_flat => roles.rename(column, role.clone()),
            _ if is_run_of_path(role, path.start) => {}
            _ => is_flat = false,
        }
        if path.as_column().is_none_or(|column| **column != *pair.name) {
            roles.shown.push((pair.name.clone(), pair.path.to_string()));
        }
    }
    if is_flat {
        TableReading::Flat(roles)
    } else {
        TableReading::Tree(Box::new(RecordTree::new(columns, known, looked_at)))
    }
}

/// The run by a part of the path is the same for all records, and given when they are read.
fn is_run_of_path(role: &ColumnRole, start: PathStart) -> bool {
    matches!((role, start), (ColumnRole::Run(_), PathStart::Pseudo(column)) if column.is_of_path())
}

/// The error for a column that does not exist.
pub(super) fn no_column(source: &Source, name: &str, path: &str, known: &[Arc<str>]) -> ReadError {
    let names: Vec<&str> = known.iter().map(|name| &**name).collect();
    let what = format!("no record has `{path}`, which is named as the `{name}`");
    let meant =
        nearest(path, &names).map(|near| format!("did you mean `{name}={}`? ", quote(near))).unwrap_or_default();
    source.error(what).hint(format!("{meant}{}", list_columns(known)))
}

/// The columns of a table, in words. Long lists are cut.
pub(super) fn list_columns(known: &[Arc<str>]) -> String {
    const SHOWN: usize = 20;
    let short = |name: &Arc<str>| printable(name).chars().take(40).collect::<String>();
    let names: Vec<String> = known.iter().take(SHOWN).map(short).collect();
    let more = if known.len() > SHOWN { format!(" and {} more", known.len() - SHOWN) } else { String::new() };
    if names.is_empty() {
        "there are no columns".to_owned()
    } else {
        format!("the columns are {}{more}", names.join(", "))
    }
}

/// A part of the path of a source.
pub(super) fn part_of_path(source: &Source, column: PseudoColumn) -> Option<&str> {
    let path = source.name.as_str();
    let parts: Vec<&str> = path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").collect();
    let from_end = |place: usize| parts.len().checked_sub(place).map(|at| parts[at]);
    match column {
        PseudoColumn::File => from_end(1),
        PseudoColumn::Stem => from_end(1).map(stem),
        PseudoColumn::Folder => from_end(2),
        PseudoColumn::Part(part) => nth_part(&parts, part),
        PseudoColumn::NamePart(part) => {
            let name = from_end(1).map(stem)?;
            nth_part(&name.split('_').filter(|part| !part.is_empty()).collect::<Vec<_>>(), part)
        }
        _ => None,
    }
}

/// A part by its place: from 1 at the beginning, from -1 at the end.
fn nth_part<'p>(parts: &[&'p str], place: i32) -> Option<&'p str> {
    let from = place.unsigned_abs() as usize;
    let at = if place > 0 { from.checked_sub(1)? } else { parts.len().checked_sub(from)? };
    parts.get(at).copied()
}

/// The name of a file without its endings.
fn stem(name: &str) -> &str {
    let name = name.trim_end_matches(".gz").trim_end_matches(".zst");
    name.rsplit_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem })
}

/// True when folders beside that of this file have a file of the same name.
fn has_namesakes(source: &Source) -> bool {
    const LOOKED_AT: usize = 100;
    let path = source.as_path();
    let parents = path.and_then(|path| Some((path.file_name()?, path.parent()?, path.parent()?.parent()?)));
    let Some((name, folder, around)) = parents else { return false };
    // Where a folder has many such files, each of them is a sample.
    const FILES_MAX: usize = 3;
    let is_alike = |path: &std::path::PathBuf| path.extension() == std::path::Path::new(name).extension();
    let in_folder = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    if around.as_os_str().is_empty() || in_folder.filter(is_alike).take(FILES_MAX + 1).count() > FILES_MAX {
        return false;
    }
    let Ok(entries) = std::fs::read_dir(around) else { return false };
    let mut others = entries.flatten().take(LOOKED_AT).map(|entry| entry.path()).filter(|path| path != folder);
    others.any(|other| other.join(name).is_file())
}

/// The error for a part that the path does not have.
pub(super) fn no_part(source: &Source, written: &str) -> ReadError {
    let what = format!("the path has no `{written}`");
    source
        .error(what)
        .hint("`@path.1` is its first part, `@path.-1` the name of the file, `@folder` what the file is in, and `@name.1` the \
               first part of its name, up to an underscore")
}

/// As many records as show what a file holds.
pub(super) const SURVEYED: usize = 100;
/// The longest first line that is looked at.
const LINE_MAX: u64 = 64 << 20;

/// The first documents of JSON.
fn first_json(source: &Source, has_lists: &mut bool) -> Result<Vec<Value>, ReadError> {
    let mut reader = source.open()?;
    if native::first_byte(source, &mut reader)? == Some(b'[') {
        let bytes = source.read_all()?;
        if let Some(joined) = json::join_lists(&bytes) {
            *has_lists = true;
            return Ok(first_documents(&joined));
        }
        return Ok(if is_list_of_lists(&bytes) { first_documents(&bytes) } else { first_items(&bytes) });
    }
    let mut documents = Vec::new();
    let mut line = Vec::new();
    while documents.len() < SURVEYED {
        line.clear();
        let read = (&mut reader).take(LINE_MAX).read_until(b'\n', &mut line);
        if read.map_err(|error| source.unreadable(&error))? == 0 {
            break;
        }
        let text = json::line(line.strip_prefix(&native::BOM).unwrap_or(&line));
        if text.is_empty() {
            continue;
        }
        match serde_json::from_slice::<Json>(&json::standard(text)) {
            Ok(Json(value)) => documents.push(value),
            // A record of several lines.
            Err(_) if documents.is_empty() => return Ok(first_documents(&source.read_all()?)),
            // What is wrong with it is said when it is read.
            Err(_) => break,
        }
    }
    Ok(documents)
}

/// The keys of some records, each once, in the order in which they first appear.
pub(super) fn columns_of<'v>(records: impl Iterator<Item = &'v Value>) -> Vec<Arc<str>> {
    let (mut names, mut known) = (Vec::new(), HashSet::new());
    for record in records {
        let Value::Map(entries) = record else { continue };
        for (name, _) in entries {
            if known.insert(name.clone()) {
                names.push(name.clone());
            }
        }
    }
    names
}

/// Whether JSON records are on lines of their own, or the items of one list; nothing if they are neither.
pub(super) fn is_by_lines(source: &Source) -> Option<bool> {
    let mut reader = source.open().ok()?;
    if native::first_byte(source, &mut reader).ok()? == Some(b'[') {
        let bytes = source.read_all().ok()?;
        return (json::join_lists(&bytes).is_none() && !is_list_of_lists(&bytes)).then_some(false);
    }
    let mut line = Vec::new();
    while line.trim_ascii().is_empty() {
        line.clear();
        if (&mut reader).take(LINE_MAX).read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
    }
    let text = json::line(line.strip_prefix(&native::BOM).unwrap_or(&line));
    serde_json::from_slice::<Json>(&json::standard(text)).is_ok().then_some(true)
}

/// True for a JSON list that begins with a list.
pub(super) fn is_list_of_lists(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(&native::BOM).unwrap_or(bytes).trim_ascii_start();
    bytes.strip_prefix(b"[").is_some_and(|items| items.trim_ascii_start().starts_with(b"["))
}

fn first_documents(bytes: &[u8]) -> Vec<Value> {
    let standard = json::standard(bytes.strip_prefix(&native::BOM).unwrap_or(bytes));
    let documents = serde_json::Deserializer::from_slice(&standard).into_iter::<Json>();
    documents.map_while(Result::ok).take(SURVEYED).map(|Json(value)| value).collect()
}

fn first_items(bytes: &[u8]) -> Vec<Value> {
    let standard = json::standard(bytes.strip_prefix(&native::BOM).unwrap_or(bytes));
    let mut items = Vec::new();
    // An error ends it: the list is long, or wrong, which is said when it is read.
    let _ = FirstItems(&mut items).deserialize(&mut serde_json::Deserializer::from_slice(&standard));
    items
}

struct FirstItems<'a>(&'a mut Vec<Value>);

impl<'de> DeserializeSeed<'de> for FirstItems<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for FirstItems<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(Json(item)) = items.next_element()? {
            self.0.push(item);
            if self.0.len() == SURVEYED {
                return Err(A::Error::custom("enough"));
            }
        }
        Ok(())
    }
}

/// Whether a mark is set that is written as 1 or 0.
fn bit(value: &Value) -> Option<bool> {
    let number = match value {
        Value::Text(text) => parse_number(text),
        other => other.as_number(),
    };
    number.filter(|number| *number == 0.0 || *number == 1.0).map(|number| number == 1.0)
}

/// Whether a mark is set: true or false, as JSON or a table writes them.
fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(is_true) => Some(*is_true),
        Value::Text(text) if text.eq_ignore_ascii_case("true") => Some(true),
        Value::Text(text) if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}
