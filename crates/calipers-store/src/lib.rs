//! Objects in buckets (`s3://`, `gs://`, `az://`) and on web servers (`https://`), for code that is not async.
//!
//! A [`Location`] names an object or a folder of objects, and prints without its secrets. An [`Object`] is read by range:
//! what is asked for comes in a few large requests, several at a time, and stays in a cache of bounded size. [`list`],
//! [`look`], [`put`] and [`remove`] do the rest. Nothing here knows what objects contain.
//!
//! The clients are behind the feature `stores`. Without it, every call is an error that says so.

mod error;
mod location;

#[cfg(feature = "stores")]
mod client;
#[cfg(not(feature = "stores"))]
#[path = "no_client.rs"]
mod client;

pub use client::{Object, list, look, put, remove};
pub use error::{StoreError, StoreFault};
pub use location::{Location, Scheme, redact};

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

/// What is known of an object before it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Where it is.
    pub location: Location,
    /// How many bytes it has.
    pub size: u64,
    /// When it was written, in milliseconds since 1970.
    pub modified_ms: i64,
    /// What changes with its content.
    pub tag: Option<ObjectTag>,
}

/// What tells a version of an object from others. Some stores ask for the one when it is replaced, and some for the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectTag {
    /// The tag of HTTP (`ETag`).
    pub entity: String,
    /// The number that the store gives it.
    pub version: Option<String>,
}

/// What must hold for an object to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PutCondition {
    /// There is none of this name.
    New,
    /// The one of this name still has this tag.
    Unchanged(ObjectTag),
    /// Nothing: it is replaced.
    Always,
}

/// A reader of an object, which fetches what it needs.
#[derive(Clone, Debug)]
pub struct ObjectReader {
    object: Arc<Object>,
    at: u64,
    /// The piece that was read last, and where it begins.
    piece: Option<(u64, bytes::Bytes)>,
}

impl ObjectReader {
    /// A reader that begins at the first byte.
    #[must_use]
    pub fn new(object: Arc<Object>) -> Self {
        Self { object, at: 0, piece: None }
    }
}

impl Read for ObjectReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() || self.at >= self.object.size()? {
            return Ok(0);
        }
        let is_inside = |(start, bytes): &&(u64, bytes::Bytes)| {
            self.at.checked_sub(*start).is_some_and(|inside| inside < bytes.len() as u64)
        };
        if self.piece.as_ref().filter(is_inside).is_none() {
            self.piece = None;
            self.piece = Some(self.object.piece_at(self.at)?);
        }
        let Some((start, bytes)) = &self.piece else { return Ok(0) };
        let rest = &bytes[(self.at - start) as usize..];
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.at += length as u64;
        Ok(length)
    }
}

impl Seek for ObjectReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let moved = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::End(by) => self.object.size()?.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = moved.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a place before the beginning"))?;
        Ok(self.at)
    }
}
