//! The records of a table by their numbers: which of them have no name, which have that of a summary, and where they stand.
//!
//! The table is read a second time, with the number of each record as its id and its names as facts about it, in the same way for all
//! kinds of tables.

use super::any_table::{TableReader, TableSurvey, is_by_lines};
use super::row_places::{CountedAs, RowPlaces};
use super::summary_record::{self, NamedRecord, SummaryName};
use crate::columns::known_names::{RUNS, find};
use crate::columns::{ColumnPair, ColumnPath, ColumnStep, PathStart, PseudoColumn, quote};
use crate::error::printable;
use crate::{Columns, Projection, ReadError, RecordedRun, Source};
use calipers_core::{Samples, Shards, Value, parse_number, pluralize};
use std::collections::HashSet;
use std::sync::Arc;

/// A table that was read with these columns, to be read by its numbers.
pub(super) struct NumberedRows<'r> {
    pub(super) survey: &'r TableSurvey,
    pub(super) source: &'r Source,
    pub(super) wanted: &'r Projection,
    pub(super) read: &'r TableReader<'r>,
    pub(super) columns: &'r Columns,
}

/// What a record has for each of some columns.
struct NumberedRow {
    number: u64,
    names: Vec<Option<String>>,
}

impl NumberedRows<'_> {
    /// The error for records without a name, which says where all of them are.
    pub(super) fn explain_nameless(&self, error: ReadError) -> ReadError {
        let is_nameless = error.what().ends_with("` is empty") || error.what().starts_with(super::native::NO_ID);
        let is_named = |pair: &ColumnPair| error.what().contains(&format!("`{}`", printable(&pair.to_text())));
        let is_of_id = match self.columns.id_pair() {
            Some(pair) => is_named(pair) || error.what().contains("`id`"),
            None => error.what().contains("`id`") || error.what().contains("`sample_id`"),
        };
        if !is_nameless || !is_of_id {
            return error;
        }
        let Some(places) = self.places_of(&|name| name.is_none()) else { return error };
        let id = self.columns.id_pair().map_or_else(|| "id".to_owned(), ColumnPair::to_text);
        let id = printable(&id);
        let what = match places.len() {
            1 => error.what().to_owned(),
            count => format!("{}{NAMELESS}`{id}`: {places}", pluralize(count, "record")),
        };
        // Of cells that were merged, only the first has what stood in them.
        let blank = self.survey.records().iter().filter(|record| self.is_nameless(record)).count();
        let is_merged = places.len() > 2 && 3 * blank > self.survey.records().len();
        let (they, them) = if places.len() == 1 { ("it sums", "it") } else { ("they sum", "them") };
        let out = match places.command_without(self.source) {
            Some(command) => format!("if {they} up others, `{command}` leaves {them} out"),
            None => format!("if {they} up others, remove {them} from the file"),
        };
        let out = if is_merged { "if cells were merged, fill in each".to_owned() } else { out };
        let mut numbered = self.columns_said().without_id();
        let better = self.source.error(what);
        let better = match places.only() {
            Some(place) => better.at(place),
            None => better,
        };
        match numbered.set("id", "@line") {
            Ok(()) => {
                let hint =
                    format!("{out}; otherwise write the names of the samples into the file, or number all records");
                better.hint(hint).with_proposal(numbered.written())
            }
            Err(_) => better.hint(format!("{out}; otherwise write the names of the samples into the file")),
        }
    }

    /// True when a record has nothing in the column that names the samples.
    fn is_nameless(&self, record: &Value) -> bool {
        let column = self.columns.id_pair().map(|pair| pair.path.as_column());
        let name = column.map_or(Some("id"), |column| column.map(|name| &**name));
        name.is_some_and(|name| match record.get(name) {
            Some(Value::Text(text)) => text.trim().is_empty(),
            value => matches!(value, None | Some(Value::Null | Value::Missing)),
        })
    }

    fn columns_said(&self) -> &Columns {
        self.source.columns()
    }

    /// True when the samples are called by their numbers, because it was said.
    pub(super) fn are_unnamed(&self) -> bool {
        let is_number = |pair: &ColumnPair| {
            !pair.is_joined() && matches!(pair.path.start, PathStart::Pseudo(PseudoColumn::Line | PseudoColumn::Index))
        };
        self.columns.id_pair().is_some_and(is_number)
    }

    /// True when the line of a record is a part of its name, by which each record was said to be a sample.
    pub(super) fn are_all_samples(&self) -> bool {
        let has_line = |pair: &ColumnPair| {
            pair.is_joined() && pair.paths().any(|path| path.start == PathStart::Pseudo(PseudoColumn::Line))
        };
        self.columns.id_pair().is_some_and(has_line)
    }

    /// What to say about the columns to have each record as a sample: its line and its name together.
    pub(super) fn columns_with_line(&self) -> Option<String> {
        let id = match self.columns.id_pair() {
            Some(pair) if pair.path.has_star() || pair.path.start == PathStart::Star => return None,
            Some(pair) if pair.path.start == PathStart::Pseudo(PseudoColumn::Line) => return None,
            Some(pair) => pair.to_text(),
            None if self.survey.has("id") => "id".to_owned(),
            None if self.survey.has("sample_id") => "sample_id".to_owned(),
            None => return None,
        };
        let mut numbered = self.columns_said().without_id();
        numbered.set("id", &format!("@line+{id}")).ok()?;
        Some(numbered.written())
    }

    /// Where the records stand whose name is one of these; none has no name.
    pub(super) fn places_of(&self, is_it: &dyn Fn(Option<&String>) -> bool) -> Option<RowPlaces> {
        let paths: Vec<String> = match self.columns.id_pair() {
            Some(pair) if pair.path.has_star() || pair.path.start == PathStart::Star => return None,
            Some(pair) => pair.paths().map(ToString::to_string).collect(),
            None if self.survey.has("id") => vec!["id".to_owned()],
            None if self.survey.has("sample_id") => vec!["sample_id".to_owned()],
            None => vec!["@key".to_owned()],
        };
        let rows = self.rows(&paths)?;
        let name = |row: &NumberedRow| -> Option<String> {
            row.names.iter().cloned().collect::<Option<Vec<String>>>().map(|parts| parts.join("/"))
        };
        let found = rows.iter().filter(|row| is_it(name(row).as_ref())).map(|row| row.number);
        RowPlaces::new(found.collect(), self.kind_of_numbers())
    }

    /// The records with what these columns hold.
    fn rows(&self, paths: &[String]) -> Option<Vec<NumberedRow>> {
        let runs = self.read_numbered(paths)?;
        let mut rows = Vec::new();
        for part in runs.iter().flat_map(|run| run.samples.iter()) {
            for sample in 0..part.len() as u32 {
                let number = u64::try_from(part.id(sample).as_number()?).ok()?;
                rows.push(NumberedRow { number, names: names_of(part, sample, paths.len()) });
            }
        }
        Some(rows)
    }

    fn read_numbered(&self, paths: &[String]) -> Option<Vec<RecordedRun<Shards>>> {
        let mut numbered = self.columns.without_id().without_epoch();
        numbered.set("id", "@line").ok()?;
        for (place, path) in paths.iter().enumerate() {
            numbered.set(&format!("metadata.{}", fact_of(place)), path).ok()?;
        }
        let wanted = self.wanted.clone().and_if_there((0..paths.len()).map(fact_of));
        (self.read)(&self.survey.resolve(&numbered, &[]), &wanted).ok()
    }

    /// True when these columns name samples and number their attempts: no two records have the same of both, nor of what was tried,
    /// and most samples have several.
    pub(super) fn are_attempts(&self, sample: &str, attempt: &str) -> bool {
        let runs = find(self.survey.columns(), &RUNS).into_iter().map(|name| quote(name));
        let paths: Vec<String> = [quote(sample), quote(attempt)].into_iter().chain(runs).collect();
        let Some(rows) = self.rows(&paths) else { return false };
        let (mut attempts, mut samples) = (HashSet::new(), HashSet::new());
        for row in &rows {
            let [Some(sample), Some(_), tried @ ..] = &row.names[..] else { return false };
            samples.insert((sample, tried));
            if !attempts.insert(&row.names) {
                return false;
            }
        }
        samples.len() > 1 && 2 * samples.len() <= rows.len()
    }

    /// What the numbers of records count.
    fn kind_of_numbers(&self) -> CountedAs {
        if self.source.as_table().is_some() || self.survey.is_relaid() {
            return CountedAs::Records;
        }
        match self.columns.records() {
            Some(path) => self.counted_below(path).unwrap_or(CountedAs::Records),
            None if self.survey.is_text_table() => CountedAs::Lines,
            None => match is_by_lines(self.source) {
                Some(true) => CountedAs::Lines,
                Some(false) => CountedAs::Items(".".to_owned()),
                None if self.source.name.ends_with(".parquet") => CountedAs::Rows,
                None => CountedAs::Records,
            },
        }
    }

    /// The same for records below a path of plain keys in a single document.
    fn counted_below(&self, path: &ColumnPath) -> Option<CountedAs> {
        let is_plain = |key: &Arc<str>| {
            !key.is_empty() && key.chars().all(|c| c.is_ascii_alphabetic() || c == '_') && path.up == 0
        };
        let [document] = self.survey.documents() else { return None };
        let mut found = document;
        let mut written = String::new();
        for step in &path.steps {
            let ColumnStep::Key(key) = step else { return None };
            written += &format!(".{}", Some(key).filter(|key| is_plain(key))?);
            found = found.get(key)?;
        }
        let written = if written.is_empty() { ".".to_owned() } else { written };
        match found {
            Value::List(_) => Some(CountedAs::Items(written)),
            Value::Map(_) => Some(CountedAs::Entries(written)),
            _ => None,
        }
    }

    /// An error if some records of a table without names sum up others, as what stands in them says; and what to know about those
    /// in which something is empty that names the others.
    pub(super) fn check_unnamed(&self, runs: &mut [RecordedRun<Shards>]) -> Result<Option<Vec<String>>, ReadError> {
        let columns = self.survey.columns_of_words(self.columns);
        if columns.is_empty() || runs.iter().map(|run| run.samples.len()).sum::<usize>() < 3 {
            return Ok(None);
        }
        let paths: Vec<String> = columns.iter().map(|name| quote(name)).collect();
        let Some(numbered) = self.read_numbered(&paths) else { return Ok(None) };
        let mut notes = Vec::new();
        for run in &numbered {
            let (mut named, mut before) = (Vec::new(), 0);
            for part in run.samples.iter() {
                for sample in 0..part.len() as u32 {
                    let names = names_of(part, sample, paths.len());
                    let found = names.into_iter().flatten().find_map(|name| {
                        let kind = summary_record::kind_of_name(&name)?;
                        (kind != SummaryName::OfWords).then_some((kind, name))
                    });
                    if let Some((kind, name)) = found {
                        named.push(NamedRecord { place: before + sample as usize, kind, name });
                    }
                }
                before += part.len();
            }
            let found = summary_record::find_summaries(&run.samples, &named);
            let ids: Vec<_> = run.samples.iter().flat_map(Samples::ids).collect();
            if !found.is_empty() {
                let names: Vec<String> = found.iter().map(|at| named[*at].name.clone()).collect();
                let number = |at: &usize| ids[named[*at].place].as_number().and_then(|line| u64::try_from(line).ok());
                let numbers: Vec<u64> = found.iter().filter_map(number).collect();
                let places = RowPlaces::new(numbers, self.kind_of_numbers());
                return Err(summary_record::no_samples(
                    self.source,
                    summary_record::records_sum_up(&names, names.len()),
                    places,
                    self.columns_with_all(run, &columns),
                ));
            }
            notes.extend(self.notes_on_blanks(run, &columns));
        }
        notes.dedup();
        Ok(Some(notes))
    }

    /// What to say about the columns to have each record as a sample after all: its line and a column that no record lacks.
    fn columns_with_all(&self, run: &RecordedRun<Shards>, columns: &[Arc<str>]) -> Option<String> {
        let is_given = |place: usize| {
            let has_all = |part: &Samples| {
                (0..part.len() as u32).all(|sample| names_of(part, sample, columns.len())[place].is_some())
            };
            run.samples.iter().all(has_all)
        };
        let column = columns.iter().enumerate().find(|(place, _)| is_given(*place))?.1;
        let mut numbered = self.columns_said().without_id();
        numbered.set("id", &format!("@line+{}", quote(column))).ok()?;
        Some(numbered.written())
    }

    /// What to know about a column that names nearly all records, and is empty in some.
    fn notes_on_blanks(&self, run: &RecordedRun<Shards>, columns: &[Arc<str>]) -> Vec<String> {
        let total = run.samples.len();
        let mut notes = Vec::new();
        for (place, column) in columns.iter().enumerate() {
            let mut distinct: HashSet<String> = HashSet::new();
            let mut given = 0;
            for part in run.samples.iter() {
                for sample in 0..part.len() as u32 {
                    if let Some(Some(name)) = names_of(part, sample, columns.len()).into_iter().nth(place) {
                        given += 1;
                        distinct.insert(name);
                    }
                }
            }
            if given < total && distinct.len() == given && 5 * given >= 4 * total {
                let blank = pluralize(total - given, "record");
                let column = printable(column);
                notes.push(format!("`{column}` is empty in {blank} and names all others: all count as samples"));
            }
        }
        notes
    }
}

/// How what is wrong ends where records without a name are named.
const NAMELESS: &str = " have no ";

/// True for the error about records of a table that are no samples, or that have no name.
pub(super) fn is_about_records(error: &ReadError) -> bool {
    let what = error.what();
    let is_nameless = what.ends_with("` is empty") || what.contains(NAMELESS) && what.contains(" record");
    is_nameless || summary_record::is_about_summaries(what)
}

/// What has to be done before a proposal works: the words of an error that it would lead to.
pub(super) fn what_to_do_first(error: &ReadError) -> String {
    let place = error.place().map(|place| format!(" ({place})")).unwrap_or_default();
    let out = error.advice().unwrap_or_default().split("; ").next().unwrap_or_default();
    format!("{}{place}; {out}; ", error.what())
}

/// The metadata that holds what a record has for the column at this place.
fn fact_of(place: usize) -> String {
    format!("@name {place}")
}

/// What a sample has for each of the columns; none where it is empty.
fn names_of(part: &Samples, sample: u32, columns: usize) -> Vec<Option<String>> {
    let name = |place| {
        let value = part.metadata_column(&fact_of(place))?.value(sample)?;
        let text = match value {
            Value::Null | Value::Missing => return None,
            value => value.to_string(),
        };
        (!text.trim().is_empty()).then_some(text)
    };
    (0..columns).map(name).collect()
}

impl TableSurvey {
    /// The columns that hold words: texts that are no numbers, and that are short enough to be names.
    fn columns_of_words(&self, columns: &Columns) -> Vec<Arc<str>> {
        const COLUMNS_MAX: usize = 6;
        const LENGTH_MAX: usize = 60;
        let is_word = |value: &Value| match value {
            Value::Text(text) => !text.trim().is_empty() && parse_number(text).is_none(),
            _ => false,
        };
        let holds_words = |name: &&Arc<str>| {
            let values: Vec<&Value> = self.records().iter().filter_map(|record| record.get(name)).collect();
            let words = values.iter().filter(|value| is_word(value)).count();
            let length: usize = values.iter().map(|value| value.to_string().len()).sum();
            2 * words > values.len() && length <= LENGTH_MAX * values.len()
        };
        let is_free = |name: &&Arc<str>| !columns.pairs().iter().any(|pair| pair.uses(name));
        self.columns().iter().filter(is_free).filter(holds_words).take(COLUMNS_MAX).cloned().collect()
    }
}
