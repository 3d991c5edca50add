//! What a program without clients answers.

use crate::{Location, ObjectInfo, ObjectTag, PutCondition, StoreError, StoreFault};
use bytes::Bytes;
use std::convert::Infallible;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// There are no objects here.
#[derive(Debug)]
pub struct Object(Infallible);

fn not_built(location: &Location) -> StoreError {
    let what = format!("{}:// is not read or written: this program was built without it", location.scheme().name());
    let hint = "take a release, build the program with the feature `stores`, or copy the file to this machine";
    StoreError::new(StoreFault::NotBuilt, what).with_hint(hint)
}

impl Object {
    /// Fails: there are no clients.
    pub fn open(location: &Location) -> Result<Arc<Self>, StoreError> {
        Err(not_built(location))
    }

    /// Fails: there are no clients.
    pub fn open_listed(listed: &[ObjectInfo]) -> Result<Vec<Arc<Self>>, StoreError> {
        listed.iter().map(|info| Self::open(&info.location)).collect()
    }

    /// Where it is.
    #[must_use]
    pub fn location(&self) -> &Location {
        match self.0 {}
    }

    /// What is known of it without reading it.
    pub fn info(&self) -> Result<Option<ObjectInfo>, StoreError> {
        match self.0 {}
    }

    /// How many bytes it has.
    pub fn size(&self) -> Result<u64, StoreError> {
        match self.0 {}
    }

    /// The piece that a byte is in.
    pub fn piece_at(&self, _: u64) -> Result<(u64, Bytes), StoreError> {
        match self.0 {}
    }

    /// The bytes of a range.
    pub fn bytes(&self, _: Range<u64>) -> Result<Bytes, StoreError> {
        match self.0 {}
    }

    /// Says what will be read.
    pub fn expect(&self, _: Vec<Range<u64>>) {
        match self.0 {}
    }

    /// What went wrong while it was read.
    #[must_use]
    pub fn failure(&self) -> Option<StoreError> {
        match self.0 {}
    }

    /// What changes with its content.
    pub fn tag(&self) -> Result<Option<ObjectTag>, StoreError> {
        match self.0 {}
    }
}

/// Fails: there are no clients.
pub fn list(folder: &Location) -> Result<Vec<ObjectInfo>, StoreError> {
    Err(not_built(folder))
}

/// Fails: there are no clients.
pub fn look(location: &Location) -> Result<Option<ObjectInfo>, StoreError> {
    Err(not_built(location))
}

/// Fails: there are no clients.
pub fn put(location: &Location, _: &Path, _: &PutCondition) -> Result<Option<ObjectTag>, StoreError> {
    Err(not_built(location))
}

/// Fails: there are no clients.
pub fn remove(location: &Location) -> Result<(), StoreError> {
    Err(not_built(location))
}
