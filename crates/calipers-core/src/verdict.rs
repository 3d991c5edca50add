//! What to know about the answer to a question about a run.

use std::sync::Arc;

/// Something to know, with what to do about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// A short name, for programs: `stale-baseline`.
    pub id: Arc<str>,
    /// What it is.
    pub message: String,
    /// What to do.
    pub next: Option<String>,
}
