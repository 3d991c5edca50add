//! What a program that reads no Parquet answers.

use super::Format;
use crate::{ReadError, RecordedRun, Shape, Source};

/// Tables in Parquet, which are recognised and not read.
pub(crate) struct Parquet;

impl Format for Parquet {
    fn name(&self) -> &'static str {
        "parquet"
    }

    fn about(&self) -> &'static str {
        "Calipers records as Parquet (not in this build)"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        shape.starts_with(b"PAR1")
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        Err(not_built(source))
    }
}

/// The error for a table that this program was built without a reader for.
pub(crate) fn not_built(source: &Source) -> ReadError {
    let what = "tables in Parquet and Arrow are not read: this program was built without them";
    source.error(what).hint("take a release, or build with the feature `parquet`, which is there by default")
}
