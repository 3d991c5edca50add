//! What a program without Arrow answers.

use super::Source;
use crate::ReadError;
use std::convert::Infallible;
use std::sync::Arc;

/// There are no tables in memory here.
#[derive(Debug)]
pub(crate) struct MemoryTable(Infallible);

impl MemoryTable {
    pub(crate) fn rows(&self) -> usize {
        match self.0 {}
    }

    pub(super) fn to_parquet(&self, _: &Source) -> Result<Arc<[u8]>, ReadError> {
        match self.0 {}
    }
}
