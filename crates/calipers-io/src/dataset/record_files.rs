//! The records of a file, each with its place: tables, lists and lines.

#[cfg(feature = "parquet")]
use crate::catch_panic::read_catching_panic;
use crate::formats::csv::{BOM, builder, ends_in_quotes};
use crate::formats::parquet;
use crate::json::{self, JsonParts};
use crate::policy::parse_document::read_document;
use crate::{FilePlace, ReadError, Source};
#[cfg(feature = "parquet")]
use ::parquet::file::reader::FileReader;
use calipers_core::Value;
use calipers_gate::policy::document::{Data, Item};
use std::collections::HashSet;
use std::io::BufRead;
use std::sync::Arc;

/// Records with their places.
type DatasetRecords = Vec<(FilePlace, Value)>;

/// The rows of a table with a header. A row with too many or too few cells is an error; a blank row is not.
pub(super) fn csv(source: &Source, delimiter: char) -> Result<DatasetRecords, ReadError> {
    let delimiter = u8::try_from(delimiter).ok().filter(u8::is_ascii).ok_or_else(|| {
        source.error(format!("`{delimiter}` cannot separate cells")).hint("use an ASCII character, such as `,` or `;`")
    })?;
    let bytes = source.read_all()?;
    let bytes = bytes.strip_prefix(&BOM).unwrap_or(&bytes);
    let mut reader = builder(delimiter).from_reader(bytes);
    let mut row = ::csv::ByteRecord::new();
    let broken = |error: ::csv::Error| source.error(format!("not valid CSV: {error}"));
    if !reader.read_byte_record(&mut row).map_err(broken)? {
        return Err(source.error("the file is empty").hint("its first line names the columns"));
    }
    let columns = row.iter().map(|name| text(source, name, 1)).collect::<Result<Vec<_>, _>>()?;
    let mut names = HashSet::new();
    if let Some(twice) = columns.iter().find(|name| !name.is_empty() && !names.insert(&***name)) {
        let error = source.error(format!("two columns are named `{twice}`"));
        return Err(error.at_line(1).hint("rename or remove one of them"));
    }
    let mut records = Vec::new();
    while reader.read_byte_record(&mut row).map_err(broken)? {
        let (line, start) = row.position().map_or((0, 0), |position| (position.line(), position.byte() as usize));
        let is_last = reader.position().byte() as usize >= bytes.len();
        if is_last && ends_in_quotes(&bytes[start.min(bytes.len())..], delimiter) {
            let error = source.error("a quote is opened and not closed").at_line(line);
            return Err(error.hint("the file may be cut off; copy it again"));
        }
        if row.len() != columns.len() {
            let what = format!("the row has {} cells, and the header names {} columns", row.len(), columns.len());
            return Err(source.error(what).at_line(line).hint("put text that holds the delimiter in quotes"));
        }
        let cells = row.iter().map(|cell| text(source, cell, line)).collect::<Result<Vec<_>, _>>()?;
        if cells.iter().all(|cell| cell.trim().is_empty()) {
            continue;
        }
        let entries = columns.iter().cloned().zip(cells.into_iter().map(Value::Text)).collect();
        records.push((FilePlace::Line(line), Value::Map(entries)));
    }
    Ok(records)
}

fn text(source: &Source, bytes: &[u8], line: u64) -> Result<Arc<str>, ReadError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| source.error("the text is not UTF-8").at_line(line).hint("save the file as UTF-8"))?;
    Ok(text.into())
}

/// A list of objects, a single object, or one object per line.
pub(super) fn json(source: &Source) -> Result<DatasetRecords, ReadError> {
    let name = source.file_name().to_lowercase();
    let name = name.trim_end_matches(".gz").trim_end_matches(".zst");
    if name.ends_with(".jsonl") || name.ends_with(".ndjson") {
        return lines(source);
    }
    let bytes = source.read_all()?;
    let bytes = bytes.strip_prefix(&BOM).unwrap_or(&bytes);
    let first_line = bytes.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    match json::parse(&source.name, bytes) {
        Ok(Value::List(items)) => items_of(source, items, "").collect(),
        Ok(record @ Value::Map(_)) => Ok(vec![(FilePlace::Line(1), record)]),
        Ok(other) => {
            let error = source.error(format!("the document is a {}", other.kind()));
            Err(error.hint("write a list of objects, or one object per line"))
        }
        // One object per line, whatever the file is called.
        Err(_) if matches!(json::parse("", first_line), Ok(Value::Map(_))) => lines(source),
        Err(error) => Err(error),
    }
}

fn items_of(
    source: &Source,
    items: Vec<Value>,
    list: &str,
) -> impl Iterator<Item = Result<(FilePlace, Value), ReadError>> {
    items.into_iter().enumerate().map(move |(place, item)| {
        let place = FilePlace::Path(format!("{list}[{place}]"));
        check_map(source, place, item)
    })
}

fn check_map(source: &Source, place: FilePlace, record: Value) -> Result<(FilePlace, Value), ReadError> {
    match record {
        Value::Map(_) => Ok((place, record)),
        other => Err(source.error(format!("a record is a {}", other.kind())).at(place).hint("a record is an object")),
    }
}

fn lines(source: &Source) -> Result<DatasetRecords, ReadError> {
    let mut records = Vec::new();
    let mut reader = source.open()?;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if reader.read_until(b'\n', &mut line).map_err(|error| source.unreadable(&error))? == 0 {
            break;
        }
        let record = line.strip_prefix(&BOM).unwrap_or(&line).trim_ascii();
        if record.is_empty() {
            continue;
        }
        let record = json::parse(&source.name, record)
            .map_err(|error| source.error(error.what()).at_line(number).hint("every line is one JSON object"))?;
        records.push(check_map(source, FilePlace::Line(number), record)?);
    }
    Ok(records)
}

/// The rows of a Parquet table.
#[cfg(feature = "parquet")]
pub(super) fn parquet(source: &Source) -> Result<DatasetRecords, ReadError> {
    read_catching_panic(source, parquet::WHAT, || {
        let file = parquet::open(source)?;
        let rows = file.get_row_iter(None).map_err(|error| parquet::parquet_error(source, &error))?;
        rows.zip(1..)
            .map(|(row, number)| {
                let row = row.map_err(|error| parquet::parquet_error(source, &error).at(FilePlace::Row(number)))?;
                let cells = row.get_column_iter().map(|(name, cell)| (name.as_str().into(), parquet::value(cell)));
                Ok((FilePlace::Row(number), Value::Map(cells.collect())))
            })
            .collect()
    })
}

/// An error: this build reads none.
#[cfg(not(feature = "parquet"))]
pub(super) fn parquet(source: &Source) -> Result<DatasetRecords, ReadError> {
    Err(parquet::not_built(source))
}

/// Scenarios: a list of them, alone or under `scenarios` or `tests`; JSON, YAML or TOML, or one JSON object per line.
pub(super) fn scenarios(source: &Source) -> Result<DatasetRecords, ReadError> {
    let name = source.file_name().to_lowercase();
    let name = name.trim_end_matches(".gz").trim_end_matches(".zst");
    let is_document = [".yaml", ".yml", ".toml"].iter().any(|ending| name.ends_with(ending));
    let records = if is_document { vec![(FilePlace::Line(1), document(source)?)] } else { json(source)? };
    // A single object is the specification that the scenarios are part of, or one scenario alone.
    let [(_, root)] = &records[..] else { return Ok(records) };
    if let Value::List(items) = root {
        return items_of(source, items.clone(), "").collect();
    }
    let listed = ["scenarios", "tests"].into_iter().find(|key| matches!(root.get(key), Some(Value::List(_))));
    match listed {
        Some(key) => items_of(source, root.items(key).to_vec(), key).collect(),
        None if root.part("input").is_some() => Ok(records),
        None => {
            let hint = "list them under `scenarios`, each with an `id` and an `input`";
            Err(source.error("there is no list of scenarios").hint(hint))
        }
    }
}

/// A document in YAML or TOML.
fn document(source: &Source) -> Result<Value, ReadError> {
    let item = read_document(&source.name, &source.read_all()?).map_err(|mistake| {
        let error = source.error(mistake.message);
        let error = mistake.span.iter().fold(error, |error, span| error.at_line(span.line() as u64));
        mistake.hint.into_iter().fold(error, ReadError::hint)
    })?;
    Ok(value(&item))
}

fn value(item: &Item) -> Value {
    match &item.value {
        Data::Null => Value::Null,
        Data::Bool(flag) => Value::Bool(*flag),
        Data::Number(number) if number.fract() == 0.0 && number.abs() < 9e15 => Value::Int(*number as i64),
        Data::Number(number) => Value::from(*number),
        Data::Text(text) => text.as_str().into(),
        Data::List(items) => Value::List(items.iter().map(value).collect()),
        Data::Map(entries) => {
            Value::Map(entries.iter().map(|(key, item)| (key.value.as_str().into(), value(item))).collect())
        }
    }
}
