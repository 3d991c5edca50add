//! Where in a record a value is: the right side of `score=info.reward`.
//!
//! | written | what it is |
//! |---|---|
//! | `reward` | a column, or a key of a JSON record |
//! | `info.reward` | a key within a map; a column that is named `info.reward` comes first |
//! | `"odd, name"`, `odd\.name` | a name with dots, commas, brackets or stars |
//! | `infos[].r` | each item of a list is an attempt |
//! | `infos[0].r` | one item of a list |
//! | `*.is_correct`, `*_correct`, `{a,b}_correct` | every key that fits; what the star stands for is written `*` elsewhere |
//! | `^model` | a key of the map around the record; `^^model` of the map around that |
//! | `@key`, `@value`, `@line`, `@index` | the key of the record in a map of records, the record itself, its line, its place |
//! | `@file`, `@stem`, `@folder`, `@path.N` | parts of the path; `@path.1` is its first part and `@path.-1` its last |
//! | `@name.N` | parts of the name of the file, between underscores |
//!
//! A path has few steps, so that each value is found in a time that is proportional to the record.

use calipers_core::Value;
use std::fmt;
use std::sync::Arc;

/// A path has at most this many steps. Records are at most a hundred levels deep.
const STEPS_MAX: usize = 32;
/// Names are at most this long.
const NAME_MAX: usize = 4096;

/// Where in a record a value is.
///
/// ```
/// use calipers_io::ColumnPath;
///
/// assert_eq!("info.reward".parse::<ColumnPath>()?.to_string(), "info.reward");
/// assert!("infos[].r[].s".parse::<ColumnPath>().is_err());
/// # Ok::<(), calipers_io::PathFault>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnPath {
    /// As it was written.
    text: String,
    /// How many maps around the record.
    pub(crate) up: usize,
    pub(crate) start: PathStart,
    pub(crate) steps: Vec<ColumnStep>,
    /// The first steps as one name, for records that have a key with dots: the longest first, with the number of steps.
    joined: Vec<(usize, Arc<str>)>,
}

/// What the steps of a path start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathStart {
    /// The record.
    Record,
    /// What a star stands for in other paths.
    Star,
    /// A pseudo-column.
    Pseudo(PseudoColumn),
}

/// A value that is not in a record, but belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PseudoColumn {
    /// The key of the record in a map of records.
    Key,
    /// The line of the record, or its row.
    Line,
    /// Its place in the file or in its list, from 0.
    Index,
    /// The name of the file.
    File,
    /// The same without its ending.
    Stem,
    /// The folder that the file is in.
    Folder,
    /// A part of the path: from 1 at its beginning, from -1 at its end.
    Part(i32),
    /// A part of the name of the file, between underscores, in the same way.
    NamePart(i32),
}

impl PseudoColumn {
    /// True when it is a part of the path, and the same for all records of a file.
    pub(crate) fn is_of_path(self) -> bool {
        matches!(self, Self::File | Self::Stem | Self::Folder | Self::Part(_) | Self::NamePart(_))
    }
}

/// A step from a value to a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ColumnStep {
    Key(Arc<str>),
    Index(usize),
    /// All items of a list.
    Each,
    /// All items of a list, each by what it has under this key.
    By(Arc<str>),
    /// All keys of a map that fit.
    Pattern(KeyPattern),
}

/// A name with a star, or with a list of names in braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyPattern {
    before: String,
    after: String,
    /// What the star may stand for; anything if empty.
    among: Vec<String>,
}

impl KeyPattern {
    /// What the star stands for, if the key fits.
    pub(crate) fn capture<'k>(&self, key: &'k str) -> Option<&'k str> {
        let inner = key.strip_prefix(self.before.as_str())?.strip_suffix(self.after.as_str())?;
        let is_known = self.among.is_empty() || self.among.iter().any(|name| name == inner);
        (!inner.is_empty() && is_known).then_some(inner)
    }

    /// What the star may stand for; anything if there is nothing.
    pub(crate) fn names(&self) -> &[String] {
        &self.among
    }

    /// True for a star that fits every key.
    pub(crate) fn is_everything(&self) -> bool {
        self.before.is_empty() && self.after.is_empty() && self.among.is_empty()
    }
}

/// What is wrong with a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathFault {
    /// There is no name.
    Empty,
    /// Two dots follow one another, or a dot ends the path.
    EmptyStep,
    /// A quote is opened and not closed.
    OpenQuote,
    /// What is in brackets is neither empty nor a number.
    Brackets(String),
    /// A brace is opened and not closed, or holds no names.
    Braces,
    /// There are two stars or lists of names.
    TwoStars,
    /// There are two lists whose items would be attempts.
    TwoLists,
    /// There is no such pseudo-column.
    UnknownPseudoColumn(String),
    /// Something follows a pseudo-column.
    AfterPseudoColumn(String),
    /// Something with a star or a list is joined to another column.
    Joined,
    /// The path or one of its names is too long.
    TooLong,
}

impl fmt::Display for PathFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("there is no column name"),
            Self::EmptyStep => f.write_str("a name between two dots is empty"),
            Self::OpenQuote => f.write_str("a quote is opened and not closed"),
            Self::Brackets(inner) => {
                write!(f, "`[{inner}]` is neither `[]`, a place such as `[0]`, nor a key such as `[name]`")
            }
            Self::Braces => f.write_str("braces hold names, as in `{a,b}_correct`"),
            Self::TwoStars => f.write_str("a path has at most one `*` or `{…}`"),
            Self::TwoLists => f.write_str("a path has at most one `[]`"),
            Self::UnknownPseudoColumn(name) => write!(f, "there is no `@{name}`"),
            Self::AfterPseudoColumn(name) => write!(f, "nothing can follow `@{name}`"),
            Self::Joined => f.write_str("only plain columns are joined by `+`"),
            Self::TooLong => write!(f, "a path has at most {STEPS_MAX} names of at most {NAME_MAX} bytes"),
        }
    }
}

impl std::error::Error for PathFault {}

impl PathFault {
    /// What to write instead.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownPseudoColumn(_) => "the others are @key, @value, @line, @index, @file, @stem, @folder, \
                                             @path.N and @name.N; a column whose name begins with `@` is written `\\@name`"
                .to_owned(),
            Self::Brackets(_) | Self::EmptyStep | Self::OpenQuote | Self::Braces => {
                "put a name with dots, commas, brackets, braces or stars in quotes, as in `'score=\"my.column\"'`"
                    .to_owned()
            }
            Self::Joined => "write columns or paths, as in `run=model+variant`".to_owned(),
            _ => "write a column, as in `score=is_correct`, or a path, as in `score=info.reward`".to_owned(),
        }
    }
}

impl std::str::FromStr for ColumnPath {
    type Err = PathFault;

    fn from_str(text: &str) -> Result<Self, PathFault> {
        PathParser { text: text.trim(), at: 0, is_of_records: false }.path()
    }
}

impl fmt::Display for ColumnPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl ColumnPath {
    /// The path to the records of a document: it may go through any number of lists and maps.
    pub(crate) fn of_records(text: &str) -> Result<Self, PathFault> {
        PathParser { text: text.trim(), at: 0, is_of_records: true }.path()
    }

    /// The same path, whose lone star stands for all columns.
    pub(crate) fn over_all_columns(self) -> Self {
        if self.start != PathStart::Star {
            return self;
        }
        let everything = KeyPattern { before: String::new(), after: String::new(), among: Vec::new() };
        Self { start: PathStart::Record, steps: vec![ColumnStep::Pattern(everything)], ..self }
    }

    /// The path to a column of this name, whatever characters it has.
    pub(crate) fn column(name: &str) -> Self {
        let step = ColumnStep::Key(name.into());
        Self { text: quote(name), up: 0, start: PathStart::Record, steps: vec![step], joined: Vec::new() }
    }

    /// The column, if it is just that.
    pub(crate) fn as_column(&self) -> Option<&Arc<str>> {
        match (&self.steps[..], self.start) {
            ([ColumnStep::Key(name)], PathStart::Record) if self.up == 0 => Some(name),
            _ => None,
        }
    }

    /// The part of the path of the file, if it is that.
    pub(crate) fn as_path_part(&self) -> Option<PseudoColumn> {
        match self.start {
            PathStart::Pseudo(column) if column.is_of_path() => Some(column),
            _ => None,
        }
    }

    /// The same path with its first steps as the one column that they name, if there is such a column.
    pub(crate) fn literal(&self, is_column: impl Fn(&str) -> bool) -> Option<Self> {
        let (_, name) = self.joined.iter().find(|(steps, name)| *steps == self.steps.len() && is_column(name))?;
        Some(Self { text: self.text.clone(), ..Self::column(name) })
    }

    /// True when a star stands for something in it: a key that fits a pattern, or the name of an item.
    pub(crate) fn has_star(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, ColumnStep::Pattern(_) | ColumnStep::By(_)))
    }

    /// The pattern in it.
    pub(crate) fn pattern(&self) -> Option<&KeyPattern> {
        self.steps.iter().find_map(|step| match step {
            ColumnStep::Pattern(pattern) => Some(pattern),
            _ => None,
        })
    }

    /// True when the items of a list are attempts.
    pub(crate) fn has_list(&self) -> bool {
        self.steps.contains(&ColumnStep::Each)
    }

    /// True when a value is taken from this column.
    pub(crate) fn uses(&self, column: &str) -> bool {
        self.first_keys().any(|key| **key == *column)
    }

    /// The name of the first key: the column that is used up by this path.
    pub(crate) fn first_keys(&self) -> impl Iterator<Item = &Arc<str>> {
        let first = match (self.start, self.up, self.steps.first()) {
            (PathStart::Record, 0, Some(ColumnStep::Key(name))) => Some(name),
            _ => None,
        };
        first.into_iter().chain(self.joined.iter().map(|(_, name)| name))
    }

    /// Finds the values in a record, each with what the star stands for and its place in the list, and the length of that
    /// list.
    pub(crate) fn find<'v>(&self, record: &'v Value, take: &mut PartConsumer<'_, 'v>) -> Result<(), PathSurprise<'v>> {
        for (steps, name) in &self.joined {
            if let Some(value) = record.get(name) {
                return walk(value, &self.steps[*steps..], Match { star: None, item: None }, take);
            }
        }
        walk(record, &self.steps, Match { star: None, item: None }, take)
    }
}

/// Receives what a path finds: what the star stands for, the place in the list, and the value or the length of the list.
pub(crate) type PartConsumer<'a, 'v> = dyn FnMut(Option<&'v str>, Option<usize>, FoundPart<'v>) + 'a;

/// What a path finds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FoundPart<'v> {
    Value(&'v Value),
    /// A list with this many items.
    List(usize),
}

/// A value where a path expects another one.
#[derive(Debug)]
pub(crate) struct PathSurprise<'v> {
    pub(crate) value: &'v Value,
    /// What it is not.
    pub(crate) lacks: &'static str,
    pub(crate) hint: &'static str,
}

impl<'v> PathSurprise<'v> {
    fn no_list(value: &'v Value) -> Self {
        Self { value, lacks: "which is not a list", hint: "leave out the brackets if there is one value per record" }
    }

    fn no_name(value: &'v Value) -> Self {
        Self {
            value,
            lacks: "which has no text under that key",
            hint: "with `[]` in its place, each item is an attempt",
        }
    }
}

#[derive(Clone, Copy)]
struct Match<'v> {
    star: Option<&'v str>,
    item: Option<usize>,
}

fn walk<'v>(
    value: &'v Value,
    steps: &[ColumnStep],
    found: Match<'v>,
    take: &mut PartConsumer<'_, 'v>,
) -> Result<(), PathSurprise<'v>> {
    let Some((step, rest)) = steps.split_first() else {
        take(found.star, found.item, FoundPart::Value(value));
        return Ok(());
    };
    match (step, value) {
        (ColumnStep::Key(key), value) => match value.get(key) {
            Some(part) => walk(part, rest, found, take),
            None => Ok(()),
        },
        (ColumnStep::Index(place), Value::List(items)) => match items.get(*place) {
            Some(item) => walk(item, rest, found, take),
            None => Ok(()),
        },
        (ColumnStep::Each, Value::List(items)) => {
            take(found.star, None, FoundPart::List(items.len()));
            for (place, item) in items.iter().enumerate() {
                walk(item, rest, Match { item: Some(place), ..found }, take)?;
            }
            Ok(())
        }
        (ColumnStep::Each, Value::Null | Value::Missing) => Ok(()),
        (ColumnStep::By(key), Value::List(items)) => {
            for item in items {
                let Some(Value::Text(name)) = item.get(key) else { return Err(PathSurprise::no_name(item)) };
                walk(item, rest, Match { star: Some(name), ..found }, take)?;
            }
            Ok(())
        }
        (ColumnStep::By(_), Value::Null | Value::Missing) => Ok(()),
        (ColumnStep::Each | ColumnStep::By(_), other) => Err(PathSurprise::no_list(other)),
        (ColumnStep::Pattern(pattern), Value::Map(entries)) => {
            for (key, part) in entries {
                if let Some(star) = pattern.capture(key) {
                    walk(part, rest, Match { star: Some(star), ..found }, take)?;
                }
            }
            Ok(())
        }
        (ColumnStep::Index(_) | ColumnStep::Pattern(_), _) => Ok(()),
    }
}

/// A name as it is written in a path.
pub(crate) fn quote(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ' | '/' | ':' | '#' | '%' | '(' | ')');
    if !name.is_empty() && name.trim() == name && name.chars().all(is_plain) {
        return name.to_owned();
    }
    let escape = |c: char| if matches!(c, '"' | '\\') { vec!['\\', c] } else { vec![c] };
    format!("\"{}\"", name.chars().flat_map(escape).collect::<String>())
}

struct PathParser<'a> {
    text: &'a str,
    at: usize,
    is_of_records: bool,
}

impl PathParser<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn path(mut self) -> Result<ColumnPath, PathFault> {
        if self.text.len() > STEPS_MAX * NAME_MAX {
            return Err(PathFault::TooLong);
        }
        let mut up = 0;
        while self.peek() == Some('^') {
            self.next();
            up += 1;
        }
        if up > STEPS_MAX {
            return Err(PathFault::TooLong);
        }
        let (start, mut steps) = match &self.text[self.at..] {
            "" => return Err(PathFault::Empty),
            "." => {
                self.next();
                (PathStart::Record, Vec::new())
            }
            "*" if up == 0 && !self.is_of_records => {
                self.next();
                (PathStart::Star, Vec::new())
            }
            rest if rest.starts_with('@') => (self.pseudo()?, Vec::new()),
            rest if rest.starts_with('[') => (PathStart::Record, vec![self.brackets()?]),
            _ => (PathStart::Record, vec![self.name()?]),
        };
        while let Some(next) = self.peek() {
            if let PathStart::Pseudo(_) = start {
                return Err(PathFault::AfterPseudoColumn(self.text[..self.at].trim_start_matches('@').to_owned()));
            }
            match next {
                '.' => {
                    self.next();
                    steps.push(self.name()?);
                }
                '[' => steps.push(self.brackets()?),
                _ => steps.push(self.name()?),
            }
            if steps.len() > STEPS_MAX {
                return Err(PathFault::TooLong);
            }
        }
        let count = |is_one: fn(&ColumnStep) -> bool| steps.iter().filter(|step| is_one(step)).count();
        if !self.is_of_records && count(|step| matches!(step, ColumnStep::Pattern(_) | ColumnStep::By(_))) > 1 {
            return Err(PathFault::TwoStars);
        }
        if !self.is_of_records && count(|step| *step == ColumnStep::Each) > 1 {
            return Err(PathFault::TwoLists);
        }
        let joined = if up == 0 { join(&steps) } else { Vec::new() };
        Ok(ColumnPath { text: self.text.to_owned(), up, start, steps, joined })
    }

    fn pseudo(&mut self) -> Result<PathStart, PathFault> {
        self.next();
        let rest = &self.text[self.at..];
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let column = match name {
            "value" => {
                self.at += end;
                return Ok(PathStart::Record);
            }
            "key" => PseudoColumn::Key,
            "line" => PseudoColumn::Line,
            "index" => PseudoColumn::Index,
            "file" => PseudoColumn::File,
            "stem" => PseudoColumn::Stem,
            "folder" => PseudoColumn::Folder,
            "path" | "name" => {
                let part = after.strip_prefix('.').and_then(|part| part.parse().ok()).filter(|part| *part != 0);
                let part = part.ok_or_else(|| PathFault::UnknownPseudoColumn(rest.to_owned()))?;
                self.at = self.text.len();
                let column = if name == "path" { PseudoColumn::Part(part) } else { PseudoColumn::NamePart(part) };
                return Ok(PathStart::Pseudo(column));
            }
            other => return Err(PathFault::UnknownPseudoColumn(other.to_owned())),
        };
        self.at += end;
        Ok(PathStart::Pseudo(column))
    }

    fn name(&mut self) -> Result<ColumnStep, PathFault> {
        if self.peek() == Some('"') {
            return self.quoted();
        }
        let mut name = String::new();
        let mut pattern: Option<(String, Vec<String>)> = None;
        while let Some(next) = self.peek().filter(|next| !matches!(next, '.' | '[')) {
            self.next();
            let among = match next {
                '\\' => {
                    name.push(self.next().ok_or(PathFault::EmptyStep)?);
                    continue;
                }
                '*' => Vec::new(),
                '{' => self.braces()?,
                other => {
                    name.push(other);
                    continue;
                }
            };
            if pattern.is_some() {
                return Err(PathFault::TwoStars);
            }
            pattern = Some((std::mem::take(&mut name), among));
        }
        if name.len() > NAME_MAX {
            return Err(PathFault::TooLong);
        }
        match pattern {
            Some((before, among)) => Ok(ColumnStep::Pattern(KeyPattern { before, after: name, among })),
            None if name.trim().is_empty() => Err(PathFault::EmptyStep),
            None => Ok(ColumnStep::Key(name.into())),
        }
    }

    fn quoted(&mut self) -> Result<ColumnStep, PathFault> {
        self.next();
        let mut name = String::new();
        loop {
            match self.next().ok_or(PathFault::OpenQuote)? {
                '"' => break,
                '\\' => name.push(self.next().ok_or(PathFault::OpenQuote)?),
                other => name.push(other),
            }
        }
        match name.len() {
            0 => Err(PathFault::EmptyStep),
            length if length > NAME_MAX => Err(PathFault::TooLong),
            _ => Ok(ColumnStep::Key(name.into())),
        }
    }

    fn braces(&mut self) -> Result<Vec<String>, PathFault> {
        let mut names = vec![String::new()];
        loop {
            match self.next().ok_or(PathFault::Braces)? {
                '}' => break,
                ',' => names.push(String::new()),
                '\\' => names.last_mut().ok_or(PathFault::Braces)?.push(self.next().ok_or(PathFault::Braces)?),
                other => names.last_mut().ok_or(PathFault::Braces)?.push(other),
            }
        }
        // Names are plain in braces; quotes around one are not part of it.
        let unquote =
            |name: &str| name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(name).to_owned();
        names.iter_mut().for_each(|name| *name = unquote(name.trim()));
        if names.iter().any(String::is_empty) { Err(PathFault::Braces) } else { Ok(names) }
    }

    fn brackets(&mut self) -> Result<ColumnStep, PathFault> {
        self.next();
        let rest = &self.text[self.at..];
        let end = rest.find(']').ok_or_else(|| PathFault::Brackets(rest.to_owned()))?;
        let inner = &rest[..end];
        self.at += end + 1;
        match inner {
            "" | "*" => Ok(ColumnStep::Each),
            name if is_name(name) => Ok(ColumnStep::By(name.into())),
            place => place.parse().map(ColumnStep::Index).map_err(|_| PathFault::Brackets(place.to_owned())),
        }
    }
}

/// True for the name of a key, which is no place such as `-1` or `0:3`.
fn is_name(text: &str) -> bool {
    let is_inner = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ');
    text.starts_with(|c: char| c.is_alphabetic() || c == '_') && text.len() <= NAME_MAX && text.chars().all(is_inner)
}

/// The first names of a path as one name with dots.
fn join(steps: &[ColumnStep]) -> Vec<(usize, Arc<str>)> {
    let names = steps.iter().map_while(|step| match step {
        ColumnStep::Key(name) => Some(&**name),
        _ => None,
    });
    let mut joined = Vec::new();
    let mut name = String::new();
    for (place, part) in names.enumerate() {
        if place > 0 {
            name.push('.');
        }
        name += part;
        if place > 0 {
            joined.push((place + 1, name.as_str().into()));
        }
    }
    joined.reverse();
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ColumnPath, PathFault> {
        text.parse()
    }

    fn found(path: &str, json: &str) -> String {
        let record = crate::json::parse("x", json.as_bytes()).unwrap();
        let mut text = Vec::new();
        let path = parse(path).unwrap();
        let surprise = path.find(&record, &mut |star, item, found| {
            let FoundPart::Value(value) = found else { return };
            text.push(format!(
                "{}{}{value}",
                star.map_or(String::new(), |star| format!("{star}:")),
                item.map_or(String::new(), |item| format!("{item}="))
            ));
        });
        if let Err(PathSurprise { value, .. }) = surprise {
            text.push(format!("surprise {}", value.kind()));
        }
        text.join(" ")
    }

    #[test]
    fn values_are_found_in_every_spelling() {
        for (path, json, want) in [
            ("a", r#"{"a": 1}"#, "1"),
            ("a", r#"{"b": 1}"#, ""),
            ("a.b", r#"{"a": {"b": 2}}"#, "2"),
            ("a.b", r#"{"a": {"b": 2}, "a.b": 3}"#, "3"),
            ("a.b.c", r#"{"a.b": {"c": 4}, "a": {"b": {"c": 5}}}"#, "4"),
            (r#""a.b""#, r#"{"a": {"b": 2}, "a.b": 3}"#, "3"),
            (r"a\.b", r#"{"a": {"b": 2}, "a.b": 3}"#, "3"),
            ("a[1]", r#"{"a": [1, 2]}"#, "2"),
            ("a[9].b", r#"{"a": [1, 2]}"#, ""),
            ("a[].r", r#"{"a": [{"r": 1}, {}, {"r": 0}]}"#, "0=1 2=0"),
            ("a[].r", r#"{"a": null}"#, ""),
            ("a[].r", r#"{"a": 7}"#, "surprise integer"),
            ("*.ok", r#"{"q": "x", "m1": {"ok": true}, "m2": {"ok": false}, "m3": {}}"#, "m1:True m2:False"),
            ("*_ok", r#"{"a_ok": 1, "_ok": 2, "b_ok": 0, "c": 1}"#, "a:1 b:0"),
            ("{a,c}_ok", r#"{"a_ok": 1, "b_ok": 0, "c_ok": 2}"#, "a:1 c:2"),
            ("t[].*", r#"{"t": [{"x": 1}, {"x": 2, "y": 3}]}"#, "x:0=1 x:1=2 y:1=3"),
            ("@value", "7", "7"),
            ("@value[]", "[7, 8]", "0=7 1=8"),
        ] {
            assert_eq!(found(path, json), want, "{path} in {json}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (path, want) in [
            ("", PathFault::Empty),
            ("a..b", PathFault::EmptyStep),
            ("a.", PathFault::EmptyStep),
            (".a", PathFault::EmptyStep),
            ("\"a", PathFault::OpenQuote),
            ("a[-1]", PathFault::Brackets("-1".into())),
            ("a[0:3]", PathFault::Brackets("0:3".into())),
            ("a[x].*", PathFault::TwoStars),
            ("a[", PathFault::Brackets("".into())),
            ("{a", PathFault::Braces),
            ("{a,,b}", PathFault::Braces),
            ("*.*", PathFault::TwoStars),
            ("*a*", PathFault::TwoStars),
            ("a[].b[]", PathFault::TwoLists),
            ("@nowhere", PathFault::UnknownPseudoColumn("nowhere".into())),
            ("@path", PathFault::UnknownPseudoColumn("path".into())),
            ("@path.0", PathFault::UnknownPseudoColumn("path.0".into())),
            ("@line.a", PathFault::AfterPseudoColumn("line".into())),
        ] {
            assert_eq!(parse(path), Err(want), "{path}");
        }
        assert_eq!(parse(&"a.".repeat(50)), Err(PathFault::TooLong));
        assert_eq!(parse(&"a".repeat(NAME_MAX + 1)), Err(PathFault::TooLong));
    }

    #[test]
    fn a_name_in_quotes_is_that_name() {
        for name in [
            "plain",
            "with space",
            "a.b",
            "a,b",
            "x[0]",
            "*",
            "{a}",
            "@file",
            "^up",
            "say \"no\"",
            "back\\slash",
            " edge ",
        ] {
            assert_eq!(parse(&quote(name)).unwrap().as_column().map(|name| &**name), Some(name));
        }
    }
}
