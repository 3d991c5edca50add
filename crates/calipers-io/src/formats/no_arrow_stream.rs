//! What a program that reads no Arrow streams answers.

use super::{Format, parquet};
use crate::{ReadError, RecordedRun, Shape, Source};

/// Arrow streams and files, which are recognised and not read.
pub(super) struct ArrowStream;

impl Format for ArrowStream {
    fn name(&self) -> &'static str {
        "arrow"
    }

    fn about(&self) -> &'static str {
        "tables as an Arrow stream or file (not in this build)"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        let is_stream = shape.head.get(4..8).is_some_and(|length| length[3] < 0x80 && length != [0; 4]);
        shape.starts_with(b"ARROW1") || (shape.starts_with(&[0xff; 4]) && is_stream)
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        Err(parquet::not_built(source))
    }
}
