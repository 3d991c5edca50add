//! Which columns of a file are needed.

use super::fact_path::NestedFact;
use calipers_core::{Error, StateReader, StateWriter, Stored, damaged};
use std::collections::BTreeSet;

/// The columns to read besides names, attempts, errors and scores, which are always read, and whether to read the
/// answers and explanations of scores.
///
/// Files may hold transcripts, prompts and outputs that no metric looks at. A reader of tables skips what is not
/// needed; readers of logs that record their own metrics keep what those need.
///
/// ```
/// use calipers_io::Projection;
///
/// let wanted = Projection::only(["category", "latency_ms"]);
/// assert!(wanted.has("category") && !wanted.has("prompt"));
/// assert!(!wanted.has_answers() && wanted.with_answers().has_answers());
/// assert!(Projection::everything().has("prompt"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    columns: Option<BTreeSet<String>>,
    /// Read if present; no error if absent.
    optional: BTreeSet<String>,
    /// Facts inside maps of metadata, read if present.
    nested: Vec<NestedFact>,
    answers: bool,
    content: bool,
}

impl Projection {
    /// All columns, answers and explanations.
    #[must_use]
    pub fn everything() -> Self {
        Self { columns: None, optional: BTreeSet::new(), nested: Vec::new(), answers: true, content: false }
    }

    /// These columns only.
    pub fn only<S: Into<String>>(columns: impl IntoIterator<Item = S>) -> Self {
        let columns = Some(columns.into_iter().map(Into::into).collect());
        Self { columns, optional: BTreeSet::new(), nested: Vec::new(), answers: false, content: false }
    }

    /// These columns, and those that records without scores are measured by: `correct` and `passed`.
    pub fn usual<S: Into<String>>(columns: impl IntoIterator<Item = S>, answers: bool) -> Self {
        Self { answers, ..Self::only(columns).and_if_there(["correct", "passed"]) }
    }

    /// Adds columns that are read if present. It is no error if they are absent.
    ///
    /// ```
    /// use calipers_io::Projection;
    ///
    /// assert!(Projection::only(["category"]).and_if_there(["passed"]).has("passed"));
    /// ```
    #[must_use]
    pub fn and_if_there<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.optional.extend(columns.into_iter().map(Into::into));
        self
    }

    /// Adds facts inside maps of metadata, which are read if present.
    #[must_use]
    pub(crate) fn and_nested(mut self, facts: impl IntoIterator<Item = NestedFact>) -> Self {
        self.nested.extend(facts);
        self
    }

    /// The facts inside maps of metadata that are wanted.
    pub(crate) fn nested(&self) -> &[NestedFact] {
        &self.nested
    }

    /// True when something inside this metadata is wanted, whether it is wanted itself or not.
    pub(crate) fn looks_into(&self, fact: &str) -> bool {
        self.nested.iter().any(|nested| *nested.keys[0] == *fact)
    }

    /// The columns that are asked for by their names.
    pub(crate) fn asked(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().flatten().map(String::as_str)
    }

    /// With the answers and explanations of scores.
    #[must_use]
    pub fn with_answers(self) -> Self {
        Self { answers: true, ..self }
    }

    /// Without the answers and explanations of scores.
    #[must_use]
    pub(crate) fn without_answers(self) -> Self {
        Self { answers: false, ..self }
    }

    /// With the [fingerprint of what each sample asks](crate::CONTENT), in the formats that keep questions apart from metadata.
    #[must_use]
    pub fn with_content(self) -> Self {
        Self { content: true, ..self }
    }

    /// True when the fingerprint of what a sample asks is wanted.
    pub(crate) fn has_content(&self) -> bool {
        self.content
    }

    /// True when the column is to be read.
    #[must_use]
    pub fn has(&self, column: &str) -> bool {
        self.columns.as_ref().is_none_or(|columns| columns.contains(column) || self.optional.contains(column))
    }

    /// True when the column is asked for by its name.
    #[must_use]
    pub(crate) fn asks_for(&self, column: &str) -> bool {
        self.columns.as_ref().is_some_and(|columns| columns.contains(column))
    }

    /// The same, and these columns.
    #[must_use]
    pub(crate) fn and<'a>(mut self, more: impl IntoIterator<Item = &'a str>) -> Self {
        if let Some(columns) = &mut self.columns {
            columns.extend(more.into_iter().map(str::to_owned));
        }
        self
    }

    /// True when answers and explanations are to be read.
    #[must_use]
    pub fn has_answers(&self) -> bool {
        self.answers
    }

    /// What either of two reads.
    #[must_use]
    pub fn or(self, other: &Self) -> Self {
        let columns = match (self.columns, &other.columns) {
            (Some(mine), Some(theirs)) => Some(mine.into_iter().chain(theirs.iter().cloned()).collect()),
            _ => None,
        };
        let optional = self.optional.into_iter().chain(other.optional.iter().cloned()).collect();
        let mut nested = self.nested;
        nested.extend(other.nested.iter().filter(|fact| !nested.contains(fact)).cloned().collect::<Vec<_>>());
        let (answers, content) = (self.answers || other.answers, self.content || other.content);
        Self { columns, optional, nested, answers, content }
    }

    /// A column that another projection reads and this one does not; `answers` for the answers of scores.
    ///
    /// ```
    /// use calipers_io::Projection;
    ///
    /// let read = Projection::only(["category"]);
    /// assert_eq!(read.lacks(&Projection::only(["category"])), None);
    /// assert_eq!(read.lacks(&Projection::only(["document"])).as_deref(), Some("document"));
    /// assert_eq!(read.lacks(&Projection::everything()).as_deref(), Some("every column"));
    /// assert_eq!(Projection::everything().lacks(&read), None);
    /// ```
    #[must_use]
    pub fn lacks(&self, wanted: &Self) -> Option<String> {
        if self.columns.is_none() {
            return (wanted.answers && !self.answers).then(|| "answers".to_owned());
        }
        let Some(columns) = &wanted.columns else { return Some("every column".to_owned()) };
        let missing = columns.iter().chain(&wanted.optional).find(|column| !self.has(column)).cloned();
        missing.or_else(|| (wanted.answers && !self.answers).then(|| "answers".to_owned()))
    }

    /// The columns requested by name that were not found.
    pub(crate) fn missing<'a>(&'a self, found: impl Fn(&str) -> bool + 'a) -> impl Iterator<Item = &'a str> {
        self.columns.iter().flatten().map(String::as_str).filter(move |column| !found(column))
    }
}

impl Stored for Projection {
    fn save(&self, out: &mut StateWriter) {
        out.put(&self.columns);
        out.put(&self.optional);
        out.length(self.nested.len());
        for fact in &self.nested {
            out.put(&fact.name);
            out.put(&fact.keys);
        }
        out.put(&(self.answers, self.content));
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        let (columns, optional) = (from.take()?, from.take()?);
        let mut nested = Vec::new();
        for _ in 0..from.length()? {
            let fact = NestedFact { name: from.take()?, keys: from.take()? };
            if fact.keys.len() < 2 {
                return Err(damaged("a fact inside a map has no keys"));
            }
            nested.push(fact);
        }
        let (answers, content) = from.take()?;
        Ok(Self { columns, optional, nested, answers, content })
    }
}
