//! What could not be read, where, and how to fix it.

use calipers_core::{Excerpt, brief, one_line, steers};
use std::fmt;
use std::ops::Range;

/// A file that cannot be read, or a part of one.
///
/// It prints what was expected, the place, and a hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    what: String,
    source: Box<str>,
    place: Option<FilePlace>,
    excerpt: Option<Box<Excerpt>>,
    hint: Option<Box<str>>,
    remedy: Option<Remedy>,
    /// What to say about the columns.
    proposal: Option<Box<str>>,
}

/// A choice that would help. The hint of an error ends with it in words, so that a program can add how its users make
/// that choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Name the format of the file.
    NameFormat,
    /// Name the form to write.
    NameForm,
    /// Write native records.
    WriteRecords,
    /// Allow an existing file to be replaced.
    ReplaceFile,
    /// Allow more memory to be used.
    AllowMemory,
    /// Say which columns are what; the error [proposes](ReadError::proposal) it.
    NameColumns,
    /// Choose rows by a condition; the error [proposes](ReadError::proposal) one.
    ChooseRows,
}

/// Where in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilePlace {
    /// A line, from 1.
    Line(u64),
    /// A row of a table, from 1.
    Row(u64),
    /// A member of an archive.
    Member(String),
    /// A path of keys, such as `results[3].score`.
    Path(String),
}

impl fmt::Display for FilePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Row(row) => write!(f, "row {row}"),
            Self::Member(member) => write!(f, "member `{}`", one_line(member)),
            Self::Path(path) => write!(f, "at `{}`", one_line(path)),
        }
    }
}

impl ReadError {
    /// An error in this file.
    pub fn new(source: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            source: source.into().into(),
            place: None,
            excerpt: None,
            hint: None,
            remedy: None,
            proposal: None,
        }
    }

    /// What is wrong with the samples of this file, and what to do about it.
    pub(crate) fn about_samples(source: &str, error: &calipers_core::Error) -> Self {
        let read = Self::new(source, error.kind().to_string());
        error.kind().hint().into_iter().fold(read, Self::hint)
    }

    /// At this place.
    #[must_use]
    pub fn at(mut self, place: FilePlace) -> Self {
        self.place.get_or_insert(place);
        self
    }

    /// At this line.
    #[must_use]
    pub fn at_line(self, line: u64) -> Self {
        self.at(FilePlace::Line(line))
    }

    /// Adds the line in question, with a range of its bytes underlined.
    #[must_use]
    pub(crate) fn with_excerpt(mut self, line: &[u8], part: Range<usize>) -> Self {
        let characters = |bytes: usize| String::from_utf8_lossy(&line[..bytes.min(line.len())]).chars().count();
        let part = characters(part.start)..characters(part.end);
        let excerpt = || Box::new(Excerpt::new("", None, &String::from_utf8_lossy(line), part));
        self.excerpt.get_or_insert_with(excerpt);
        self
    }

    /// Shifts the error by this many lines, for a part that begins further down the file.
    #[must_use]
    pub(crate) fn move_down(mut self, lines: u64) -> Self {
        if let Some(FilePlace::Line(line)) = &mut self.place {
            *line += lines;
        }
        self
    }

    /// In this member of an archive.
    #[must_use]
    pub fn in_member(self, member: impl Into<String>) -> Self {
        self.at(FilePlace::Member(member.into()))
    }

    /// With what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint.get_or_insert_with(|| hint.into().into());
        self
    }

    /// With a choice that would help, which the hint ends with.
    #[must_use]
    pub(crate) fn with_remedy(mut self, remedy: Remedy) -> Self {
        self.remedy = Some(remedy);
        self
    }

    /// With what could be said about the columns.
    #[must_use]
    pub(crate) fn with_proposal(mut self, columns: String) -> Self {
        self.proposal = Some(columns.into());
        self.with_remedy(Remedy::NameColumns)
    }

    /// With this instead of what was to be done about it so far.
    #[must_use]
    pub(crate) fn advise(mut self, hint: &str, columns: String) -> Self {
        self.hint = Some(hint.into());
        self.with_proposal(columns)
    }

    /// With a condition by which rows could be chosen, such as `metric=acc`.
    #[must_use]
    pub(crate) fn with_condition(mut self, condition: String) -> Self {
        self.proposal = Some(condition.into());
        self.with_remedy(Remedy::ChooseRows)
    }

    /// What could be said about the columns, such as `id=question,score=judged`.
    #[must_use]
    pub fn proposal(&self) -> Option<&str> {
        self.proposal.as_deref()
    }

    /// The choice that the hint ends with, if it is one.
    #[must_use]
    pub fn remedy(&self) -> Option<Remedy> {
        self.remedy
    }

    /// What is wrong.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    /// The file.
    #[must_use]
    pub fn source_name(&self) -> &str {
        &self.source
    }

    /// The line that it is about, with a part underlined.
    #[must_use]
    pub fn excerpt(&self) -> Option<&Excerpt> {
        self.excerpt.as_deref()
    }

    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The place in the file, if it is known.
    #[must_use]
    pub fn place(&self) -> Option<&FilePlace> {
        self.place.as_ref()
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  in {}", brief(&one_line(&self.what)), one_line(&self.source))?;
        if let Some(place) = &self.place {
            write!(f, ", {place}")?;
        }
        if let Some(excerpt) = &self.excerpt {
            f.write_str(&excerpt.lines())?;
        }
        match &self.hint {
            Some(hint) if self.proposal.is_some() => {
                write!(f, "\n  hint: {}, such as `{}`", brief(hint), self.proposal.as_deref().unwrap_or_default())
            }
            Some(hint) => write!(f, "\n  hint: {}", brief(hint)),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ReadError {}

/// The system's error about a file, worded like our other messages.
pub(crate) fn explain_io_error(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}

/// Makes control characters and text-direction marks visible: what a model wrote must not steer a terminal.
#[must_use]
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c != '\n' && steers(c) { '\u{fffd}' } else { c }).collect()
}
