//! Tables in JSON whose rows are not maps: column by column, as pandas and datasets write them, or lists below a header.

use crate::columns::{ColumnStep, PathStart};
use crate::{ColumnPath, Columns};
use calipers_core::Value;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The document with the rows of its table as a list of maps; none if they are maps already, or if it holds no table.
///
/// The table is the document, or stands at the path of the records.
pub(super) fn relay(document: &Value, columns: &Columns, is_id: &dyn Fn(&str) -> bool) -> Option<Value> {
    match columns.records() {
        None => rows(document, columns, is_id),
        Some(path) => relay_at(document, path, columns, is_id),
    }
}

fn relay_at(document: &Value, path: &ColumnPath, columns: &Columns, is_id: &dyn Fn(&str) -> bool) -> Option<Value> {
    if path.up > 0 || path.start != PathStart::Record {
        return None;
    }
    let mut keys = Vec::new();
    let mut table = document;
    for step in &path.steps {
        let ColumnStep::Key(key) = step else { return None };
        table = table.get(key)?;
        keys.push(key);
    }
    put(document, &keys, rows(table, columns, is_id)?)
}

/// The document with another value under these keys.
fn put(document: &Value, keys: &[&Arc<str>], value: Value) -> Option<Value> {
    let Some((key, rest)) = keys.split_first() else { return Some(value) };
    let Value::Map(entries) = document else { return None };
    let place = entries.iter().position(|(name, _)| name == *key)?;
    let inner = put(&entries[place].1, rest, value)?;
    let mut entries = entries.clone();
    entries[place].1 = inner;
    Some(Value::Map(entries))
}

/// The rows of a table as a list of maps.
fn rows(table: &Value, columns: &Columns, is_id: &dyn Fn(&str) -> bool) -> Option<Value> {
    match table {
        Value::List(items) => with_header(items),
        Value::Map(entries) => split(table).or_else(|| by_column(entries, columns, is_id)),
        _ => None,
    }
}

/// Names for the cells of a row, if each is a text and none is there twice.
fn names(cells: &[Value]) -> Option<Vec<Arc<str>>> {
    let text = |cell: &Value| match cell {
        Value::Text(name) if !name.is_empty() => Some(name.clone()),
        _ => None,
    };
    let names: Vec<Arc<str>> = cells.iter().map(text).collect::<Option<_>>()?;
    let distinct: HashSet<&Arc<str>> = names.iter().collect();
    (!names.is_empty() && distinct.len() == names.len()).then_some(names)
}

fn named_rows(names: &[Arc<str>], rows: &[Value]) -> Option<Value> {
    let named = |row: &Value| match row {
        Value::List(cells) if cells.len() == names.len() => {
            Some(Value::Map(names.iter().cloned().zip(cells.iter().cloned()).collect()))
        }
        _ => None,
    };
    rows.iter().map(named).collect::<Option<Vec<_>>>().map(Value::List)
}

/// `[["id", "score"], ["q1", 1]]`
fn with_header(items: &[Value]) -> Option<Value> {
    match items {
        [Value::List(header), rows @ ..] if !rows.is_empty() => named_rows(&names(header)?, rows),
        _ => None,
    }
}

/// `{"columns": ["id", "score"], "data": [["q1", 1]]}`
fn split(table: &Value) -> Option<Value> {
    match (table.get("columns")?, table.get("data")?) {
        (Value::List(columns), Value::List(data)) => named_rows(&names(columns)?, data),
        _ => None,
    }
}

/// `{"id": ["q1", "q2"], "score": [1, 0]}`, or with maps of row numbers in place of lists. A plain value is the same for all
/// rows; lists and maps that have not one cell per row are no columns.
fn by_column(entries: &[(Arc<str>, Value)], columns: &Columns, is_id: &dyn Fn(&str) -> bool) -> Option<Value> {
    let is_said = |name: &str| columns.pairs().iter().any(|pair| pair.uses(name));
    // A path that goes through the list says already what its items are.
    let goes_into = |name: &str| columns.pairs().iter().any(|pair| pair.uses(name) && pair.path.steps.len() > 1);
    let (_, ids) = entries.iter().find(|(name, _)| is_id(name) && !goes_into(name))?;
    let keys: Option<Vec<&Arc<str>>> = match ids {
        Value::List(ids) if ids.iter().all(Value::is_scalar) => None,
        Value::Map(ids) if ids.iter().all(|(_, id)| id.is_scalar()) => Some(ids.iter().map(|(key, _)| key).collect()),
        _ => return None,
    };
    let length = match ids {
        Value::List(ids) => ids.len(),
        Value::Map(ids) => ids.len(),
        _ => 0,
    };
    let mut rows: Vec<Vec<(Arc<str>, Value)>> = vec![Vec::new(); length];
    for (name, value) in entries {
        match (cells(value, length, keys.as_deref()), value) {
            (Some(cells), _) => {
                rows.iter_mut().zip(cells).for_each(|(row, cell)| row.push((name.clone(), cell.clone())));
            }
            (None, Value::List(_) | Value::Map(_)) if is_said(name) => return None,
            (None, Value::List(_) | Value::Map(_)) => {}
            (None, plain) => rows.iter_mut().for_each(|row| row.push((name.clone(), plain.clone()))),
        }
    }
    (length > 0).then(|| Value::List(rows.into_iter().map(Value::Map).collect()))
}

/// The cells of a column in the order of the rows, if it has one for each.
fn cells<'v>(column: &'v Value, length: usize, keys: Option<&[&Arc<str>]>) -> Option<Vec<&'v Value>> {
    match (column, keys) {
        (Value::List(cells), None) if cells.len() == length => Some(cells.iter().collect()),
        (Value::Map(cells), Some(keys)) if cells.len() == length => {
            let by_key: HashMap<&Arc<str>, &Value> = cells.iter().map(|(key, cell)| (key, cell)).collect();
            keys.iter().map(|key| by_key.get(*key).copied()).collect()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    fn relaid(text: &str, columns: &str) -> Option<String> {
        let document = json::parse("", text.as_bytes()).expect("it is JSON");
        let columns: Columns = columns.parse().expect("they are right");
        relay(&document, &columns, &|name| name == "id").map(|rows| rows.to_string())
    }

    #[test]
    fn rows_are_found_in_every_layout() {
        let want = r#"[{"id": "a", "score": 1}, {"id": "b", "score": 0}]"#;
        let want = json::parse("", want.as_bytes()).expect("it is JSON").to_string();
        for text in [
            r#"[["id", "score"], ["a", 1], ["b", 0]]"#,
            r#"{"columns": ["id", "score"], "index": [0, 1], "data": [["a", 1], ["b", 0]]}"#,
            r#"{"id": ["a", "b"], "score": [1, 0]}"#,
            r#"{"id": {"0": "a", "1": "b"}, "score": {"1": 0, "0": 1}}"#,
        ] {
            assert_eq!(relaid(text, ""), Some(want.clone()), "{text}");
        }
        assert_eq!(
            relaid(r#"{"x": {"columns": ["id"], "data": [["a"]]}}"#, "records=x"),
            Some(json::parse("", br#"{"x": [{"id": "a"}]}"#).expect("it is JSON").to_string())
        );
    }

    #[test]
    fn other_documents_stay_as_they_are() {
        for text in [
            r#"{"id": "a", "score": [1, 0]}"#,
            r#"{"q1": [1, 0], "q2": [0, 0]}"#,
            r#"[["id", "id"], ["a", 1]]"#,
            r#"[["id", "score"], ["a"]]"#,
            r#"[["a", 1], ["b", 0]]"#,
            r#"[{"id": "a"}]"#,
            r#"{"columns": ["id"], "data": [["a", 1]]}"#,
            r#"{"id": [["a"]]}"#,
        ] {
            assert_eq!(relaid(text, ""), None, "{text}");
        }
        assert_eq!(relaid(r#"{"id": ["a"], "score": [1]}"#, "id=id[],score=score[]"), None);
    }
}
