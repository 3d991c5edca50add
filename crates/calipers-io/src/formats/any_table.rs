//! Tables whose columns have other names or stand elsewhere: what is what, and which reader can read it.
//!
//! Where the columns are only named differently, the table goes through the same readers as native records
//! ([`TableReading::Flat`]). Paths, lists, stars and maps of records go through [`record_tree`](super::record_tree).

use super::csv::CsvTable;
use super::native::ColumnRole;
use super::parquet::BoundedFile;
use super::record_tree::{self, RecordTree};
use super::run_columns::RunColumn;
use super::{Format, csv, json_layouts, native, parquet, summary_record};
use crate::catch_panic::read_catching_panic;
use crate::columns::{ColumnPair, ColumnRoles, ColumnTarget, PathStart, PseudoColumn, known_names, propose, quote};
use crate::error::printable;
use crate::json::{self, Json};
use crate::{Columns, FilePlace, Projection, ReadError, RecordedRun, Root, Shape, Source};
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::reader::RowIter;
use calipers_core::{SampleId, Samples, Shards, Value, nearest, parse_number};
use indexmap::IndexMap;
use serde::de::{DeserializeSeed, Deserializer, Error as _, SeqAccess, Visitor};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
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
type TableReader<'r> = dyn Fn(&TableReading, &Projection) -> Result<Vec<RecordedRun<Shards>>, ReadError> + 'r;

/// Reads JSON records.
pub(super) fn read_json(
    source: &Source,
    wanted: &Projection,
    read: &TableReader<'_>,
) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
    TableSurvey::of_json(source)?.read(source, wanted, read)
}

/// Reads the rows of a table.
pub(super) fn read_csv(
    source: &Source,
    table: &CsvTable<'_>,
    wanted: &Projection,
    read: &TableReader<'_>,
) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
    TableSurvey::of_csv(table).read(source, wanted, read)
}

/// Reads the rows of a Parquet table.
pub(super) fn read_parquet(
    source: &Source,
    file: &SerializedFileReader<BoundedFile>,
    wanted: &Projection,
    read: &TableReader<'_>,
) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
    let survey = TableSurvey::of_parquet(file);
    let has_id = survey.has("id") || survey.has("sample_id");
    let columns = survey.complete(source, wanted)?;
    if !has_id && !columns.names(|role| *role == ColumnRole::Id) && columns.records().is_none() {
        return Err(survey.with_rows_of_parquet(file).unknown(source, "the table has no column `id` or `sample_id`"));
    }
    survey.read(source, wanted, read)
}

/// Reads a table with columns of these names; nothing if none of them is an id.
pub(super) fn read_named(
    source: &Source,
    names: Vec<Arc<str>>,
    wanted: &Projection,
    read: &TableReader<'_>,
) -> Result<Option<Vec<RecordedRun<Shards>>>, ReadError> {
    let survey = TableSurvey::of_names(names);
    let columns = survey.complete(source, wanted)?;
    let has_id = survey.has("id") || survey.has("sample_id") || columns.names(|role| *role == ColumnRole::Id);
    if has_id || columns.records().is_some() { survey.read(source, wanted, read).map(Some) } else { Ok(None) }
}

/// What the columns of a Parquet table are, if it can be read as a stream: it holds one run, and none of its columns might
/// tell several apart.
pub(super) fn to_stream(
    source: &Source,
    file: &SerializedFileReader<BoundedFile>,
    wanted: &Projection,
) -> Result<Option<ColumnRoles>, ReadError> {
    TableSurvey::of_parquet(file).to_stream(source, wanted)
}

/// The same for a table with columns of these names.
pub(super) fn names_to_stream(
    source: &Source,
    names: Vec<Arc<str>>,
    wanted: &Projection,
) -> Result<Option<ColumnRoles>, ReadError> {
    TableSurvey::of_names(names).to_stream(source, wanted)
}

/// The format of a table, if this content is one.
pub(super) fn table_format(shape: &Shape) -> Option<&'static dyn Format> {
    let first = shape.head.strip_prefix(&native::BOM).unwrap_or(&shape.head).trim_ascii_start().first();
    match first {
        _ if parquet::Parquet.recognises(shape) => Some(&parquet::Parquet),
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
        "parquet" => return Ok(()),
        _ => TableSurvey::of_json(source)?,
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
        "parquet" | "arrow" => read_catching_panic(source, "Parquet", || {
            let file = parquet::open(source)?;
            Ok(TableSurvey::of_parquet(&file).with_rows_of_parquet(&file))
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
    /// The documents, if the records may be below a path.
    documents: Vec<Value>,
    /// True when all columns are known, not only those of the first records.
    is_whole: bool,
    /// True when the rows are written in another way than as maps.
    is_relaid: bool,
    /// The names that several columns have.
    doubled: Vec<Arc<str>>,
    /// True when the first line of a table seems to hold no names.
    lacks_header: bool,
    /// The line that seems to hold them instead.
    later_header: Option<u64>,
}

impl TableSurvey {
    fn of_json(source: &Source) -> Result<Self, ReadError> {
        let said = source.columns();
        let mut documents = first_json(source)?;
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
        let columns = columns_of(records.iter());
        let doubled = Vec::new();
        Ok(Self {
            columns,
            records,
            documents,
            is_whole: false,
            is_relaid,
            doubled,
            lacks_header: false,
            later_header: None,
        })
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
        let documents = Vec::new();
        Self { columns, records, documents, is_whole: true, is_relaid: false, doubled, lacks_header, later_header }
    }

    fn of_parquet(file: &SerializedFileReader<BoundedFile>) -> Self {
        let fields = file.metadata().file_metadata().schema().get_fields();
        Self::of_names(fields.iter().map(|field| field.name().into()).collect())
    }

    fn of_names(columns: Vec<Arc<str>>) -> Self {
        let (records, documents, doubled) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            columns,
            records,
            documents,
            is_whole: true,
            is_relaid: false,
            doubled,
            lacks_header: false,
            later_header: None,
        }
    }

    /// The same, with some rows: only messages need them.
    fn with_rows_of_parquet(self, file: &SerializedFileReader<BoundedFile>) -> Self {
        let named = |row: ::parquet::record::Row| {
            let entries = row.get_column_iter().map(|(name, field)| (name.as_str().into(), parquet::value(field)));
            Value::Map(entries.collect())
        };
        let rows = RowIter::from_file(None, file).ok();
        let rows = rows.into_iter().flatten().take(SURVEYED).map_while(Result::ok);
        Self { records: rows.map(named).collect(), ..self }
    }

    fn to_stream(&self, source: &Source, wanted: &Projection) -> Result<Option<ColumnRoles>, ReadError> {
        // Whether it holds several runs is known when all of it has been read.
        if !self.run_columns(source).is_empty() || !self.metric_columns(source, wanted).is_empty() {
            return Ok(None);
        }
        match self.resolve(&self.complete(source, wanted)?) {
            TableReading::Flat(roles) if !roles.has_runs() => Ok(Some(roles)),
            _ => Ok(None),
        }
    }

    fn has(&self, name: &str) -> bool {
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
        if is_other_table
            && !has_epoch
            && let [one] = find(&known_names::ATTEMPTS)[..]
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
        Ok(columns)
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

    /// The columns that may tell runs apart, and of which nothing is said.
    fn run_columns(&self, source: &Source) -> Vec<RunColumn> {
        RunColumn::find(&self.columns, &self.records, source.columns())
    }

    /// Columns of a few words that may tell attempts of a sample apart, though their names say nothing: `language`, `subject`.
    /// They are found among the first records, where ids repeat, or where a column begins with one value for all.
    fn likely_factors(&self, source: &Source, columns: &Columns) -> Vec<Arc<str>> {
        const FACTORS_MAX: usize = 4;
        const WORDS_MAX: usize = 12;
        let is_said = |name: &Arc<str>| columns.pairs().iter().any(|pair| pair.uses(name)) || source.is_condition(name);
        let is_known = |name: &Arc<str>| known_names::is_attempt(name);
        let id = columns.pairs().iter().find(|pair| pair.target == ColumnTarget::Role(ColumnRole::Id));
        let id = id.and_then(|pair| pair.path.as_column().cloned()).or_else(|| self.has("id").then(|| "id".into()));
        let Some(id) = id.filter(|_| self.records.len() > 1) else { return Vec::new() };
        // One pass over the cells: a table may have as many columns as cells.
        let mut columns_of_words: IndexMap<&Arc<str>, FactorSurvey<'_>> = IndexMap::new();
        let mut first_of: HashMap<String, u32> = HashMap::new();
        for (place, record) in self.records.iter().enumerate() {
            let (Value::Map(entries), Some(id)) = (record, record.get(&id)) else { return Vec::new() };
            let samples = first_of.len() as u32;
            let sample = *first_of.entry(id.to_string()).or_insert(samples);
            for (name, value) in entries {
                // Only columns that the first record has can be in all of them.
                if place == 0 {
                    columns_of_words.insert(name, FactorSurvey::default());
                }
                if let Some(column) = columns_of_words.get_mut(name) {
                    column.look(sample, value, known_names::is_setting(name));
                }
            }
        }
        let repeats = first_of.len() < self.records.len();
        let is_factor = |column: &FactorSurvey<'_>| {
            let is_whole = !column.is_other && column.rows == self.records.len() && column.words.len() <= WORDS_MAX;
            is_whole && (column.differs || column.words.len() == 1 && !repeats)
        };
        let names = columns_of_words.into_iter().filter(|(_, column)| is_factor(column)).map(|(name, _)| name);
        let names = names.filter(|name| matches!(ColumnRole::of(name), ColumnRole::Fact(_)));
        names.filter(|name| !is_said(name) && !is_known(name)).take(FACTORS_MAX).cloned().collect()
    }

    /// The columns that may say which metric a score is by.
    fn metric_columns(&self, source: &Source, wanted: &Projection) -> Vec<&Arc<str>> {
        let is_free = |name: &&Arc<str>| !source.columns().pairs().iter().any(|pair| pair.uses(name));
        let mut metrics: Vec<&Arc<str>> = known_names::find(&self.columns, &known_names::SCORERS);
        metrics.retain(|name| is_free(name) && !wanted.asks_for(name) && !source.is_condition(name));
        metrics
    }

    /// Reads the table. Where a column such as `model` has several values for a sample, the table holds several runs.
    fn read(
        &self,
        source: &Source,
        wanted: &Projection,
        read: &TableReader<'_>,
    ) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
        let columns = self.complete(source, wanted)?;
        let run_columns = self.run_columns(source);
        // What may tell runs apart is looked at, whether it was asked for or not.
        let factors = self.likely_factors(source, &columns);
        let looked_at = run_columns.iter().map(|column| &*column.fact).chain(factors.iter().map(|name| &**name));
        let with_runs = wanted.clone().and_if_there(looked_at);
        let first = read(&self.resolve(&columns), &with_runs).map_err(|error| self.explain_header(source, error));
        let first = match first {
            Ok(mut runs) => {
                for run in &mut runs {
                    summary_record::check(source, run)?;
                }
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
            && let Ok(split) = read(&self.resolve(&columns.without_run().with_column("run", metric)), &with_runs)
            && share_samples(&split)
        {
            let is_mixed = |column: &RunColumn| split.iter().any(|run| column.find_mixed(&run.samples).is_some());
            let is_plain = !has_run && !run_columns.iter().any(is_mixed);
            return if is_plain {
                Ok(forget(split, &run_columns, wanted))
            } else {
                Err(self.mixed_metrics(source, metric, &split))
            };
        }
        // Of a column with a condition, one value is left.
        let open: Vec<&RunColumn> = run_columns.iter().filter(|column| !source.is_condition(&column.fact)).collect();
        if has_run {
            let runs = first?;
            return match find_mixed(&runs, &open) {
                Some(mixed) => Err(self.mixed_runs(source, &mixed)),
                None => {
                    let run = columns.run_pair().map(ColumnPair::to_text);
                    Ok(forget(note_factors(runs, &factors, &columns, run.as_deref()), &run_columns, wanted))
                }
            };
        }
        let is_certain = |column: &RunColumn| match &first {
            Ok(runs) => runs.iter().any(|run| column.find_mixed(&run.samples).is_some()),
            Err(_) => true,
        };
        let mut splits = Vec::new();
        for column in run_columns.iter().filter(|column| is_certain(column)) {
            // What is wrong with the file is best said without runs that it may not hold.
            let Ok(split) = read(&self.resolve(&column.as_run(&columns)), &with_runs) else { continue };
            if share_samples(&split) {
                splits.push((column, split));
            }
        }
        if splits.is_empty() {
            let runs = note_factors(note_models(first?, &open), &factors, &columns, None);
            return Ok(forget(runs, &run_columns, wanted));
        }
        // The run is the column that leaves nothing else to tell apart, or as many columns as do together.
        if let Some(place) = splits.iter().position(|(_, split)| find_mixed(split, &open).is_none()) {
            let (column, split) = splits.swap_remove(place);
            let runs = note_factors(split, &factors, &columns, Some(&column.to_text()));
            return Ok(forget(runs, &run_columns, wanted));
        }
        let (first_column, mut split) = splits.swap_remove(0);
        let mut names = vec![first_column];
        while let Some(mixed) = find_mixed(&split, &open) {
            let column = mixed.column;
            if names.contains(&column) {
                return Err(self.mixed_runs(source, &mixed));
            }
            names.push(column);
            split = read(&self.resolve(&RunColumn::join(&names, &columns)), &with_runs)?;
        }
        let run = names.iter().map(|column| column.to_text()).collect::<Vec<_>>().join("+");
        Ok(forget(note_factors(split, &factors, &columns, Some(&run)), &run_columns, wanted))
    }

    /// The error for runs in which another column has several values for a sample.
    fn mixed_runs(&self, source: &Source, mixed: &MixedRun<'_, '_>) -> ReadError {
        let name = printable(&mixed.column.fact);
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
        let hint = "if all samples are below it, pass on only these, as `tail -n +2` does";
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
        let columns = source.columns().with_column(name, found[0]);
        let hint = format!("{}; say what the columns mean", list_columns(&self.columns));
        source.error(what).hint(hint).with_proposal(columns.written())
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
        let documents: Vec<Value> = if self.documents.is_empty() {
            self.records.iter().cloned().map(propose::unfold_cells).collect()
        } else {
            self.documents.clone()
        };
        let proposals = propose::propose(&documents, said);
        let works = |columns: &&Columns| {
            let source = source.clone().with_columns((*columns).clone().for_trial());
            read_proposed(&source).is_ok_and(|runs| runs.iter().any(has_measure))
        };
        let best = proposals.iter().find(works).map(|best| self.with_folder(source, best));
        let best = best.as_ref();
        if best.is_none()
            && let Some(line) = self.later_header
        {
            let what = format!("line {line} seems to hold the names of the columns, not the first line");
            let hint = format!("pass on what is from there on, as `tail -n +{line}` does");
            return source.error(what).at_line(line).hint(hint);
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
                let hint = format!("{listed}; if it is a table of results, say what the columns mean");
                source.error(what).hint(hint).with_proposal(best.written())
            }
            None => {
                let id = ["id", "sample_id"].into_iter().find(|name| self.has(name)).unwrap_or("COLUMN");
                let hint = format!(
                    "{listed}; none of them looks like the score of a sample, which is a number, true or false, or a word \
                     such as pass; if one is, say what the columns mean"
                );
                source.error(what).hint(hint).with_proposal(format!("id={id},score=COLUMN"))
            }
        }
    }

    /// A proposal for a file that is one sample: the files of a folder are a run.
    fn with_folder(&self, source: &Source, columns: &Columns) -> Columns {
        let is_stem = |pair: &ColumnPair| pair.name == "id" && pair.path.start == PathStart::Pseudo(PseudoColumn::Stem);
        let mut more = columns.clone();
        let is_one_of_several = columns.pairs().iter().any(is_stem) && columns.run_pair().is_none();
        if is_one_of_several
            && part_of_path(source, PseudoColumn::Folder).is_some()
            && more.set("run", "@folder").is_ok()
        {
            return more;
        }
        columns.clone()
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
    fn resolve(&self, columns: &Columns) -> TableReading {
        if self.is_relaid {
            return TableReading::Tree(Box::new(RecordTree::of_relaid(columns, &self.columns)));
        }
        resolve(columns, &self.columns)
    }
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

fn is_count(value: &Value) -> bool {
    match value {
        Value::Int(count) => *count >= 0,
        Value::Text(text) => text.is_empty() || text.parse::<u32>().is_ok(),
        Value::Null => true,
        _ => false,
    }
}

/// What the first records have in a column of words.
#[derive(Default)]
struct FactorSurvey<'v> {
    words: HashSet<Cow<'v, str>>,
    by_sample: HashMap<u32, Cow<'v, str>>,
    /// True when a sample has two of them.
    differs: bool,
    rows: usize,
    /// True when a value is no word.
    is_other: bool,
}

impl<'v> FactorSurvey<'v> {
    /// Takes a value of a sample. Numbers tell attempts apart only in the settings of a model; elsewhere they measure or count.
    fn look(&mut self, sample: u32, value: &'v Value, is_setting: bool) {
        self.rows += 1;
        let word = match value {
            Value::Text(word) => Cow::Borrowed(&**word),
            value if is_setting && value.is_scalar() => Cow::Owned(value.to_string()),
            _ => Cow::Borrowed(""),
        };
        let is_number = !is_setting && parse_number(&word).is_some();
        self.is_other |= word.trim().is_empty() || word.len() > 40 || is_number;
        if !self.is_other {
            self.differs |= *self.by_sample.entry(sample).or_insert_with(|| word.clone()) != word;
            self.words.insert(word);
        }
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

/// The runs without columns that were only looked at.
fn forget(mut runs: Vec<RecordedRun<Shards>>, columns: &[RunColumn], wanted: &Projection) -> Vec<RecordedRun<Shards>> {
    for column in columns.iter().filter(|column| !wanted.has(&column.fact)) {
        runs.iter_mut().for_each(|run| column.forget(&mut run.samples));
    }
    runs
}

/// Says of a run that it is that of several models, where no sample tells them apart.
fn note_models(mut runs: Vec<RecordedRun<Shards>>, columns: &[&RunColumn]) -> Vec<RecordedRun<Shards>> {
    if let [run] = &mut runs[..] {
        for column in columns.iter().filter(|column| column.has_several(&run.samples)) {
            let name = printable(&column.fact);
            run.notes.push(format!("`{name}` has several values, whose samples differ: all are one run here"));
        }
    }
    runs
}

/// Says that attempts of a sample differ in a column that may name runs, or be a part of the id. `run_text` is what names the runs
/// already.
fn note_factors(
    mut runs: Vec<RecordedRun<Shards>>,
    factors: &[Arc<str>],
    columns: &Columns,
    run_text: Option<&str>,
) -> Vec<RecordedRun<Shards>> {
    let run_start = run_text.map_or_else(String::new, |run| format!("{run}+"));
    let id = columns.pairs().iter().find(|pair| pair.target == ColumnTarget::Role(ColumnRole::Id));
    let id = id.map_or_else(|| "id".to_owned(), ColumnPair::to_text);
    for run in &mut runs {
        for factor in factors {
            let crossed: Vec<_> = run.samples.iter().filter_map(|part| part.find_crossed(factor)).collect();
            let Some(values) = crossed.first().filter(|_| crossed.len() == run.samples.iter().count()) else {
                continue;
            };
            let [a, b, ..] = &values[..] else { continue };
            let (name, written) = (printable(factor), quote(factor));
            let (a, b) = (printable(&a.to_string()), printable(&b.to_string()));
            run.notes.push(format!(
                "every sample has attempts with each `{name}` (`{a}`, `{b}` …), which count as attempts of one run: \
                 `run={run_start}{written}` tells them apart, and `id={written}+{id}` makes them different samples"
            ));
        }
    }
    runs
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
fn resolve(columns: &Columns, known: &[Arc<str>]) -> TableReading {
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
    if is_flat { TableReading::Flat(roles) } else { TableReading::Tree(Box::new(RecordTree::new(columns, known))) }
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

/// The error for a part that the path does not have.
pub(super) fn no_part(source: &Source, written: &str) -> ReadError {
    let what = format!("the path has no `{written}`");
    source
        .error(what)
        .hint("`@path.1` is its first part, `@path.-1` the name of the file, `@folder` what the file is in, and `@name.1` the \
               first part of its name, up to an underscore")
}

/// As many records as show what a file holds.
const SURVEYED: usize = 100;
/// The longest first line that is looked at.
const LINE_MAX: u64 = 64 << 20;

/// The first documents of JSON.
fn first_json(source: &Source) -> Result<Vec<Value>, ReadError> {
    let mut reader = source.open()?;
    if native::first_byte(source, &mut reader)? == Some(b'[') {
        let bytes = source.read_all()?;
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
