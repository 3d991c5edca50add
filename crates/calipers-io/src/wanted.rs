//! What is asked of a file.

use std::collections::BTreeSet;

/// The columns of records that are asked for, besides names, attempts, errors and scores, which always are.
///
/// Tables may hold transcripts, prompts and outputs that no metric looks at. A reader of tables leaves out what is not
/// wanted; readers of logs that record their own metrics take what those need.
///
/// ```
/// use calipers_io::Wanted;
///
/// let wanted = Wanted::only(["category", "latency_ms"]);
/// assert!(wanted.has("category") && !wanted.has("prompt"));
/// assert!(Wanted::everything().has("prompt"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted(Option<BTreeSet<String>>);

impl Wanted {
    /// All columns.
    #[must_use]
    pub fn everything() -> Self {
        Self(None)
    }

    /// These columns only.
    pub fn only<S: Into<String>>(columns: impl IntoIterator<Item = S>) -> Self {
        Self(Some(columns.into_iter().map(Into::into).collect()))
    }

    /// True when the column is asked for.
    #[must_use]
    pub fn has(&self, column: &str) -> bool {
        self.0.as_ref().is_none_or(|columns| columns.contains(column))
    }

    /// The columns that are asked for by name and that are not among these.
    pub(crate) fn missing<'a>(&'a self, found: impl Fn(&str) -> bool + 'a) -> impl Iterator<Item = &'a str> {
        self.0.iter().flatten().map(String::as_str).filter(move |column| !found(column))
    }
}
