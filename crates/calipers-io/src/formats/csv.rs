//! Native records as CSV: one row per attempt, with the same names as in JSON.

use super::Format;
use super::native::{self, ColumnRole, NativeRecord, RecordConsumer};
use crate::{FilePlace, ReadError, RecordedRun, Shape, Source};
use calipers_core::{Value, pluralize};

/// Tables with a header that has an `id`.
pub(crate) struct Csv;

impl Format for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn about(&self) -> &'static str {
        "Calipers records as CSV, with commas, semicolons or tabs"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        delimiter(&shape.head).is_some()
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        native::collect(source, &read_rows)
    }
}

pub(crate) const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];

/// The delimiter under which the first line is a header with an `id`.
fn delimiter(head: &[u8]) -> Option<u8> {
    let head = head.strip_prefix(&BOM).unwrap_or(head);
    [b',', b';', b'\t'].into_iter().find(|&delimiter| {
        let mut header = ::csv::ByteRecord::new();
        let read = builder(delimiter).from_reader(head).read_byte_record(&mut header);
        read.is_ok() && header.iter().any(|name| matches!(name.trim_ascii(), b"id" | b"sample_id"))
    })
}

pub(crate) fn builder(delimiter: u8) -> ::csv::ReaderBuilder {
    let mut builder = ::csv::ReaderBuilder::new();
    builder.has_headers(false).flexible(true).delimiter(delimiter);
    builder
}

fn read_rows(source: &Source, each: &mut RecordConsumer<'_>) -> Result<Vec<String>, ReadError> {
    let bytes = source.read_all()?;
    let bytes = bytes.strip_prefix(&BOM).unwrap_or(&bytes);
    let delimiter = delimiter(bytes).ok_or_else(|| {
        source
            .error("the first line has no `id` or `sample_id` column")
            .at_line(1)
            .hint("name the columns in the first line")
    })?;
    let mut reader = builder(delimiter).from_reader(bytes);
    let mut row = ::csv::ByteRecord::new();
    let broken = |error: ::csv::Error| source.error(format!("not valid CSV: {error}"));
    reader.read_byte_record(&mut row).map_err(broken)?;
    let (columns, notes) = header(source, &row)?;
    let width = row.len();
    let mut record = NativeRecord::default();
    while reader.read_byte_record(&mut row).map_err(broken)? {
        let (line, start) = row.position().map_or((0, 0), |position| (position.line(), position.byte() as usize));
        if row.len() != width {
            let what = format!(
                "the row has {}, and the header names {}",
                pluralize(row.len(), "cell"),
                pluralize(width, "column")
            );
            let hint = if ends_in_quotes(&bytes[start.min(bytes.len())..], delimiter) {
                "a quote is opened and not closed; the file may be cut off"
            } else {
                "put text that holds the delimiter in quotes; a short last row means that the file is cut off"
            };
            return Err(source.error(what).at_line(line).hint(hint));
        }
        for (place, role) in &columns {
            let bytes = row.get(*place).unwrap_or_default();
            let text = std::str::from_utf8(bytes)
                .map_err(|_| source.error("the text is not UTF-8").at_line(line).hint("save the file as UTF-8"))?;
            record
                .take(role, cell(role, text))
                .map_err(|what| native::record_error(source, what, FilePlace::Line(line)))?;
        }
        if ends_in_quotes_at(bytes, start, &reader, delimiter) {
            return Err(unclosed_quote_error(source, line));
        }
        each(FilePlace::Line(line), &mut record)?;
    }
    Ok(notes)
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

/// The columns that have a name, with their roles.
type CsvColumns = Vec<(usize, ColumnRole)>;

fn header(source: &Source, row: &::csv::ByteRecord) -> Result<(CsvColumns, Vec<String>), ReadError> {
    let mut columns: CsvColumns = Vec::new();
    let mut names = std::collections::HashSet::new();
    let mut notes = Vec::new();
    for (place, name) in row.iter().enumerate() {
        let name = String::from_utf8_lossy(name.trim_ascii()).into_owned();
        if name.is_empty() {
            notes.push(format!("column {} has no name and was not read", place + 1));
            continue;
        }
        if !names.insert(name.clone()) {
            let what = format!("two columns are named `{name}`");
            return Err(source.error(what).at_line(1).hint("rename or remove one of them"));
        }
        columns.push((place, ColumnRole::of(&name)));
    }
    Ok((columns, notes))
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

/// A text in JSON's quotes.
fn parse_quoted(text: &str) -> Option<Value> {
    if !text.starts_with('"') {
        return None;
    }
    serde_json::from_str::<String>(text).ok().map(Value::from)
}

/// A number, true, false or null.
fn scalar(text: &str) -> Option<Value> {
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
