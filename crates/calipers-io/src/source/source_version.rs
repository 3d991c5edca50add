//! What tells whether a source is as it was.

use super::{Source, SourceOrigin, store_error};
use crate::ReadError;
use crate::error::explain_io_error;
use std::time::UNIX_EPOCH;

/// A source at one moment: if all of this is the same later, so is its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceVersion {
    /// How many bytes it has.
    pub size: u64,
    /// When it was written, in nanoseconds since 1970; 0 if that is not known.
    pub modified_ns: i64,
    /// What a store calls this content.
    pub tag: Option<String>,
}

impl Source {
    /// What the file or the object is like now; nothing if it is gone, and for what is only in memory.
    pub fn version(&self) -> Result<Option<SourceVersion>, ReadError> {
        match &self.origin {
            SourceOrigin::Path(path) => match path.metadata() {
                Ok(data) => {
                    let modified = data.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
                    let modified_ns = modified.map_or(0, |time| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX));
                    Ok(Some(SourceVersion { size: data.len(), modified_ns, tag: None }))
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(ReadError::new(&*self.name, explain_io_error(&error))),
            },
            SourceOrigin::Object(object) => {
                let info = object.as_ref().map_err(Clone::clone).and_then(|object| object.info());
                let info = info.map_err(|error| store_error(&self.name, &error))?;
                Ok(info.map(|info| SourceVersion {
                    size: info.size,
                    modified_ns: info.modified_ms.saturating_mul(1_000_000),
                    tag: info.tag.map(|tag| tag.entity),
                }))
            }
            SourceOrigin::Bytes(_) | SourceOrigin::Table(_) => Ok(None),
        }
    }

    /// True if its name is enough to open it again. That of an address with a password or a signature is not, because these are left
    /// out of it.
    #[must_use]
    pub fn is_found_by_name(&self) -> bool {
        match &self.origin {
            SourceOrigin::Path(_) => true,
            SourceOrigin::Object(Ok(object)) => {
                let again = calipers_store::Location::parse(&self.name);
                matches!(again, Some(Ok(again)) if *object.location() == again)
            }
            // Reading it says what is wrong.
            SourceOrigin::Object(Err(_)) => true,
            SourceOrigin::Bytes(_) | SourceOrigin::Table(_) => false,
        }
    }
}
