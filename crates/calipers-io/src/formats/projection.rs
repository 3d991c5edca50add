//! Which columns of a file are needed.

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
    answers: bool,
}

impl Projection {
    /// All columns, answers and explanations.
    #[must_use]
    pub fn everything() -> Self {
        Self { columns: None, optional: BTreeSet::new(), answers: true }
    }

    /// These columns only.
    pub fn only<S: Into<String>>(columns: impl IntoIterator<Item = S>) -> Self {
        let columns = Some(columns.into_iter().map(Into::into).collect());
        Self { columns, optional: BTreeSet::new(), answers: false }
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

    /// The columns requested by name that were not found.
    pub(crate) fn missing<'a>(&'a self, found: impl Fn(&str) -> bool + 'a) -> impl Iterator<Item = &'a str> {
        self.columns.iter().flatten().map(String::as_str).filter(move |column| !found(column))
    }
}
