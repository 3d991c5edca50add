//! Where the reference answers are.

use serde_json::Value as Json;
use std::path::{Path, PathBuf};

/// The folder `testdata/vectors`, or the one that `CALIPERS_VECTORS` names: a larger set with the same layout.
pub fn folder() -> PathBuf {
    std::env::var_os("CALIPERS_VECTORS").map_or_else(|| Path::new(crate::ROOT).join("testdata/vectors"), PathBuf::from)
}

/// A document of JSON that must exist.
#[track_caller]
pub fn read(path: impl AsRef<Path>) -> Json {
    let path = path.as_ref();
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
