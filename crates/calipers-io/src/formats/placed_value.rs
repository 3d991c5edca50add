//! Values with their place, so that every message about another tool's file names a path or line.

use crate::json::{self, Json};
use crate::{FilePlace, ReadError, RecordedFigure, Source};
use calipers_core::{Outcome, Score, Value};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::BufRead as _;
use std::sync::Arc;

/// A value in a document or on a line, with its path. A missing value reads as null.
#[derive(Clone, Copy)]
pub(super) struct PlacedValue<'a> {
    pub(super) value: &'a Value,
    source: &'a Source,
    line: Option<u64>,
    up: Option<(&'a PlacedValue<'a>, PathStep<'a>)>,
}

#[derive(Clone, Copy)]
enum PathStep<'a> {
    Key(&'a str),
    Index(usize),
}

static NULL: Value = Value::Null;

const HINT: &str = "the file was edited, or its tool writes it differently now; export the results again";

impl<'a> PlacedValue<'a> {
    pub(super) fn root(source: &'a Source, value: &'a Value) -> Self {
        Self { value, source, line: None, up: None }
    }

    /// The same on a line of a table.
    pub(super) fn at_line(self, line: u64) -> Self {
        Self { line: Some(line), ..self }
    }

    /// The value under a key.
    pub(super) fn get<'b>(&'b self, key: &'b str) -> PlacedValue<'b> {
        let value = self.value.get(key).unwrap_or(&NULL);
        PlacedValue { value, source: self.source, line: self.line, up: Some((self, PathStep::Key(key))) }
    }

    /// The value under the first of these keys that has one: tools rename their keys.
    pub(super) fn first<'b>(&'b self, keys: [&'b str; 2]) -> PlacedValue<'b> {
        let [new, old] = keys;
        if self.get(new).is_null() && !self.get(old).is_null() { self.get(old) } else { self.get(new) }
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    /// The items of a list; none where there is no list.
    pub(super) fn items<'b>(&'b self) -> Result<impl Iterator<Item = PlacedValue<'b>>, ReadError> {
        let items: &'b [Value] = match self.value {
            Value::List(items) => items,
            Value::Null => &[],
            _ => return Err(self.wrong("a list")),
        };
        let at = |(index, value)| PlacedValue {
            value,
            source: self.source,
            line: self.line,
            up: Some((self, PathStep::Index(index))),
        };
        Ok(items.iter().enumerate().map(at))
    }

    /// The entries of a map; none where there is no map.
    pub(super) fn entries<'b>(&'b self) -> Result<impl Iterator<Item = (&'b Arc<str>, PlacedValue<'b>)>, ReadError> {
        let entries: &'b [(Arc<str>, Value)] = match self.value {
            Value::Map(entries) => entries,
            Value::Null => &[],
            _ => return Err(self.wrong("a map")),
        };
        let at = |(key, value): &'b (Arc<str>, Value)| {
            (key, PlacedValue { value, source: self.source, line: self.line, up: Some((self, PathStep::Key(key))) })
        };
        Ok(entries.iter().map(at))
    }

    /// Insists on a map.
    pub(super) fn map(self) -> Result<Self, ReadError> {
        if matches!(self.value, Value::Map(_)) { Ok(self) } else { Err(self.wrong("a map")) }
    }

    pub(super) fn text(&self) -> Result<Option<&'a str>, ReadError> {
        match self.value {
            Value::Text(text) => Ok(Some(text)),
            Value::Null => Ok(None),
            _ => Err(self.wrong("text")),
        }
    }

    /// Text that has to be there.
    pub(super) fn name(&self) -> Result<&'a str, ReadError> {
        self.text()?.ok_or_else(|| self.wrong("text"))
    }

    /// A number; `None` if it is missing or NaN.
    pub(super) fn number(&self) -> Result<Option<f64>, ReadError> {
        match self.value {
            Value::Int(_) | Value::Float(_) => Ok(self.value.as_number()),
            Value::Null | Value::Missing => Ok(None),
            _ => Err(self.wrong("a number")),
        }
    }

    /// A whole number that is not negative.
    pub(super) fn count(&self) -> Result<Option<u32>, ReadError> {
        match self.value {
            Value::Null => Ok(None),
            Value::Int(count) => u32::try_from(*count).map(Some).map_err(|_| self.wrong("a count")),
            _ => Err(self.wrong("a whole number")),
        }
    }

    pub(super) fn flag(&self) -> Result<Option<bool>, ReadError> {
        match self.value {
            Value::Bool(flag) => Ok(Some(*flag)),
            Value::Null => Ok(None),
            _ => Err(self.wrong("true or false")),
        }
    }

    /// A number or a bool as a score; null and NaN are no score.
    pub(super) fn score(&self) -> Result<Score, ReadError> {
        match self.value {
            Value::Int(_) | Value::Float(_) | Value::Bool(_) => Ok(Score::new(self.value.clone())),
            Value::Null | Value::Missing => Ok(Score::unscored()),
            _ => Err(self.wrong("a number")),
        }
    }

    /// An error here: what was found and what was expected.
    pub(super) fn wrong(&self, expected: &str) -> ReadError {
        let name = self.excerpt();
        match self.value {
            Value::Null => self.error(format!("{name} is missing; expected {expected}")),
            found => self.error(format!("{name} is {}, not {expected}", with_article(found.kind()))),
        }
    }

    /// An error here, in these words.
    pub(super) fn error(&self, what: impl Into<String>) -> ReadError {
        let place = match self.line {
            Some(line) => FilePlace::Line(line),
            None => FilePlace::Path(self.path()),
        };
        self.source.error(what).at(place).hint(HINT)
    }

    fn excerpt(&self) -> String {
        let path = self.path();
        if path == "." { "the content".to_owned() } else { format!("`{path}`") }
    }

    fn path(&self) -> String {
        let mut path = String::new();
        self.write_path(&mut path);
        if path.is_empty() { ".".to_owned() } else { path }
    }

    fn write_path(&self, path: &mut String) {
        let Some((up, step)) = self.up else { return };
        up.write_path(path);
        let _ = match step {
            PathStep::Key(key) if path.is_empty() => write!(path, "{key}"),
            PathStep::Key(key) => write!(path, ".{key}"),
            PathStep::Index(index) => write!(path, "[{index}]"),
        };
    }
}

fn with_article(kind: &str) -> String {
    match kind {
        "unscored" => kind.to_owned(),
        "integer" => "an integer".to_owned(),
        kind => format!("a {kind}"),
    }
}

const BYTE_ORDER_MARK: &[u8] = &[0xef, 0xbb, 0xbf];

/// The one JSON value in a source.
pub(super) fn document(source: &Source) -> Result<Value, ReadError> {
    let bytes = source.read_all()?;
    json::parse(&source.name, bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes))
}

/// Reads the JSON value of each line. Empty lines are skipped.
pub(super) fn each_line(
    source: &Source,
    mut take: impl FnMut(PlacedValue<'_>) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let mut reader = source.open()?;
    let mut line = Vec::new();
    let mut number = 0;
    let mut has_any = false;
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line).map_err(|error| source.unreadable(&error))? == 0 {
            break;
        }
        number += 1;
        let text = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line).trim_ascii();
        if text.is_empty() {
            continue;
        }
        let standard = json::standard(text);
        let Json(value) = serde_json::from_slice(&standard).map_err(|error| {
            // Every line is a separate document, so the parser's line number is always 1.
            let what = error.to_string();
            let what = what.split(" at line ").next().unwrap_or_default();
            let hint = if error.is_eof() { "the line is cut off; write or copy the file again" } else { HINT };
            source.error(format!("not valid JSON: {what}")).at_line(number).hint(hint)
        })?;
        take(PlacedValue { value: &value, source, line: Some(number), up: None }.map()?)?;
        has_any = true;
    }
    if has_any {
        return Ok(());
    }
    Err(source.error("the file has no records").hint("rerun the evaluation that should have written it"))
}

/// Longer texts are content, not categories to group by, and are not kept.
const FACT_MAX: usize = 1000;

/// A value that is worth keeping as a fact about a sample: a scalar, or a list of scalars, of moderate length.
pub(super) fn fact(value: &Value) -> Option<Value> {
    match value {
        Value::Null | Value::Missing | Value::Map(_) => None,
        Value::Text(text) if text.len() > FACT_MAX => None,
        Value::List(items) if items.is_empty() || items.iter().any(|item| !item.is_scalar()) => None,
        value => Some(value.clone()),
    }
}

/// A score as an outcome: without a value it is unscored, for this reason.
pub(super) fn outcome(score: Score, reason: &str) -> Outcome {
    if score.value.is_missing() {
        let has_more = score.answer.is_some() || score.explanation.is_some() || score.metadata.is_some();
        return Outcome::Unscored { reason: reason.into(), score: has_more.then(|| Box::new(score)) };
    }
    Outcome::Scored(score)
}

/// A value as text that does not depend on the order of keys.
pub(super) fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(&mut text, value);
    text
}

fn write_canonical(out: &mut String, value: &Value) {
    match value {
        Value::List(items) => {
            out.push('[');
            for item in items {
                write_canonical(out, item);
                out.push(',');
            }
            out.push(']');
        }
        Value::Map(entries) => {
            let mut sorted: Vec<_> = entries.iter().collect();
            sorted.sort_by(|a, b| a.0.cmp(&b.0));
            out.push('{');
            for (key, value) in sorted {
                let _ = write!(out, "{key:?}:");
                write_canonical(out, value);
                out.push(',');
            }
            out.push('}');
        }
        Value::Text(text) => {
            let _ = write!(out, "{text:?}");
        }
        other => {
            let _ = write!(out, "{other}");
        }
    }
}

/// Twelve digits that stand for a text (FNV-1a): the same in every run and version, since samples are paired by them.
pub(super) fn digest(text: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    format!("{:012x}", hash >> 16)
}

/// How long a name made from content may be.
const NAME_MAX: usize = 80;

/// Content as a name: on one line, and if it is long, its beginning with a digest of the whole.
pub(super) fn summary(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(NAME_MAX) {
        None => line,
        Some((end, _)) => format!("{}… #{}", &line[..end], digest(text)),
    }
}

/// Makes names for samples in files that have none: rows with the same identity are attempts of one sample.
///
/// A label names its sample if it is unique; samples that share a label get a digest of their identity.
#[derive(Default)]
pub(super) struct SampleNamer {
    by_identity: HashMap<String, usize>,
    entries: Vec<(String, String)>,
}

impl SampleNamer {
    /// The number of a row's sample.
    pub(super) fn number(&mut self, label: &str, identity: String) -> usize {
        if let Some(&number) = self.by_identity.get(&identity) {
            return number;
        }
        self.entries.push((label.to_owned(), identity.clone()));
        self.by_identity.insert(identity, self.entries.len() - 1);
        self.entries.len() - 1
    }

    /// The names by number, each different.
    pub(super) fn ids(&self) -> Vec<String> {
        let mut uses: HashMap<&str, usize> = HashMap::new();
        for (label, _) in &self.entries {
            *uses.entry(label).or_default() += 1;
        }
        let mut unique = UniqueNames::default();
        let name = |(label, identity): &(String, String)| match uses[label.as_str()] {
            1 => unique.name(label),
            _ => unique.name(&format!("{label} #{}", digest(identity))),
        };
        self.entries.iter().map(name).collect()
    }
}

/// Makes names different: the second `a` is `a (2)`.
#[derive(Default)]
pub(super) struct UniqueNames {
    taken: std::collections::HashSet<String>,
    /// How often each name was asked for, so that the thousandth does not try all before it.
    asked: HashMap<String, usize>,
}

impl UniqueNames {
    pub(super) fn name(&mut self, name: &str) -> String {
        let count = self.asked.entry(name.to_owned()).or_insert(0);
        loop {
            *count += 1;
            let candidate = if *count == 1 { name.to_owned() } else { format!("{name} ({count})") };
            if self.taken.insert(candidate.clone()) {
                return candidate;
            }
        }
    }
}

/// A figure of a scorer that the file records.
pub(super) fn figure(scorer: &str, metric: &str, value: Option<f64>) -> RecordedFigure {
    let (scorer, score) = (scorer.to_owned(), scorer.to_owned());
    RecordedFigure { scorer, score, metric: metric.to_owned(), value, ..RecordedFigure::default() }
}
