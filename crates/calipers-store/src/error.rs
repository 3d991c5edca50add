//! What went wrong with an object, and what to do about it.

use std::fmt;
use std::io;

/// A request that failed. It names no secret and no address beyond that of the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError {
    fault: StoreFault,
    what: String,
    hint: Option<String>,
}

/// The kinds of failures that callers tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreFault {
    /// There is no such object, or no such bucket.
    NotFound,
    /// There is one already.
    Exists,
    /// It changed since it was first looked at.
    Changed,
    /// Access was refused.
    Denied,
    /// There are no credentials, or they are incomplete.
    NoCredentials,
    /// The address cannot be used.
    Address,
    /// This program was built without clients.
    NotBuilt,
    /// The server did not do what it should.
    Server,
}

impl StoreError {
    pub(crate) fn new(fault: StoreFault, what: impl Into<String>) -> Self {
        Self { fault, what: what.into(), hint: None }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What kind of failure it is.
    #[must_use]
    pub fn fault(&self) -> StoreFault {
        self.fault
    }

    /// What is wrong.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The failure that an error of reading stands for, if it is one.
    #[must_use]
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for StoreError {}

impl From<StoreError> for io::Error {
    fn from(error: StoreError) -> Self {
        Self::other(error)
    }
}
