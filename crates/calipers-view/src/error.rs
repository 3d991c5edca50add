//! Why a history cannot be used.

use calipers::RunError;
use std::fmt;

/// Why a history cannot be opened, read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum HistoryError {
    /// The database does not answer.
    Database(String),
    /// The database has tables of another program, and none of ours.
    Foreign,
    /// Results cannot be read again by their name.
    NotFoundAgain(String),
    /// A file or a folder cannot be used.
    File {
        /// Its name.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// A run cannot be read or measured.
    Run(RunError),
    /// There is no such run.
    UnknownRun(String),
    /// Several runs begin with these letters.
    AmbiguousRun(String),
    /// The database was written by a newer version of this program.
    Newer {
        /// Its version.
        found: i64,
    },
    /// Two runs cannot be compared: their scores count by different rules.
    CountedDifferently,
    /// The server cannot start.
    Server(String),
}

impl fmt::Display for HistoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database(error) => write!(f, "the history cannot be used: {error}"),
            Self::Foreign => f.write_str("the database belongs to another program"),
            Self::NotFoundAgain(name) => {
                write!(f, "`{name}` cannot be opened by its name later, and a history reads its runs again from their files")
            }
            Self::File { path, error } => write!(f, "`{path}` cannot be used: {error}"),
            Self::Run(error) => error.fmt(f),
            Self::UnknownRun(key) => write!(f, "the history has no run `{key}`"),
            Self::AmbiguousRun(key) => write!(f, "several runs begin with `{key}`"),
            Self::Newer { found } => {
                write!(f, "the history was written by a newer version of calipers (layout {found})")
            }
            Self::CountedDifferently => f.write_str(
                "the runs were added with other labels, another pass threshold, another seed or another rule for missing scores",
            ),
            Self::Server(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for HistoryError {}

impl From<RunError> for HistoryError {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}
