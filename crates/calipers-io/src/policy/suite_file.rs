//! Reads a suite: the ids of the scenarios that a run should contain.

use crate::policy::parse_document::read_document;
use crate::{ReadError, Source};
use calipers_gate::policy::document::{Data, Item};

/// The ids of a suite: a list of ids or of scenarios with an `id`, alone or under `scenarios`, `tests`, `samples` or
/// `ids`; JSON, YAML or TOML, or one JSON record per line.
pub fn read_suite(path: &str) -> Result<Vec<String>, ReadError> {
    let bytes = Source::path(path).read_all()?;
    let text = String::from_utf8(bytes).map_err(|_| ReadError::new(path, "this is not text in UTF-8"))?;
    let ids = by_line(&text).map_or_else(|| of_document(path, &text), Ok)?;
    if ids.is_empty() {
        let hint = "list the scenarios, as in {\"scenarios\": [{\"id\": \"SEC-001\"}]}";
        return Err(ReadError::new(path, "the suite names no scenario").hint(hint));
    }
    Ok(ids)
}

/// The ids of JSON Lines, if the text is in that format.
fn by_line(text: &str) -> Option<Vec<String>> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).peekable();
    lines.peek().filter(|line| line.trim_start().starts_with('{'))?;
    lines
        .map(|line| {
            let record: serde_json::Value = serde_json::from_str(line).ok()?;
            let id = record.get("id").or_else(|| record.get("sample_id"))?;
            Some(id.as_str().map_or_else(|| id.to_string(), str::to_owned))
        })
        .collect()
}

fn of_document(path: &str, text: &str) -> Result<Vec<String>, ReadError> {
    let document = read_document(path, text.as_bytes()).map_err(|mistake| ReadError::new(path, mistake.message))?;
    let list = match &document.value {
        Data::Map(entries) => {
            let is_list = |key: &str| matches!(key, "scenarios" | "tests" | "samples" | "ids");
            entries.iter().find(|(key, _)| is_list(&key.value)).map(|(_, item)| item)
        }
        _ => Some(&document),
    };
    let Some(Item { value: Data::List(items), .. }) = list else {
        let hint = "give a list of ids, or of scenarios with an `id`, alone or under `scenarios`";
        return Err(ReadError::new(path, "there is no list of scenarios").hint(hint));
    };
    items.iter().map(|item| id(path, item)).collect()
}

fn id(path: &str, item: &Item) -> Result<String, ReadError> {
    match &item.value {
        Data::Text(id) => Ok(id.clone()),
        Data::Number(number) => Ok(number.to_string()),
        Data::Map(entries) => match entries.iter().find(|(key, _)| matches!(key.value.as_str(), "id" | "sample_id")) {
            Some((_, id_of)) if !matches!(id_of.value, Data::Map(_)) => id(path, id_of),
            _ => Err(ReadError::new(path, "a scenario of the suite has no `id`").hint("give every scenario an `id`")),
        },
        _ => Err(ReadError::new(path, "an id of the suite is not text").hint("write ids as text")),
    }
}
