//! Reads lines one block at a time.

use crate::{ReadError, Source};
use std::io::{self, BufRead, Read};

/// Large enough that block ends do not matter, small enough to stay in the cache.
const BLOCK: usize = 1 << 18;
/// A line may be this long: longer ones mean that the file most likely has no lines at all.
const LINE_MAX: usize = 256 << 20;

/// Whole lines of a source, block by block.
pub(super) struct LineBlocks {
    reader: Box<dyn BufRead>,
    /// The beginning of a line whose end is in the next block.
    begun: Vec<u8>,
    is_end: bool,
}

/// Why there is no next block.
pub(super) enum BlockError {
    Unreadable(io::Error),
    LongLine,
}

impl BlockError {
    pub(super) fn in_source(self, source: &Source, line: u64) -> ReadError {
        match self {
            Self::Unreadable(error) => source.unreadable(&error),
            Self::LongLine => {
                source.error("a line is longer than 256 MB").at_line(line).hint("write one record per line")
            }
        }
    }
}

impl LineBlocks {
    pub(super) fn new(reader: Box<dyn BufRead>) -> Self {
        Self { reader, begun: Vec::new(), is_end: false }
    }

    pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>, BlockError> {
        let mut block = std::mem::take(&mut self.begun);
        Ok(self.fill(&mut block)?.then_some(block))
    }

    /// Reads the next block in place of the one before, whose memory is used again. False if there is none.
    pub(super) fn next_into(&mut self, block: &mut Vec<u8>) -> Result<bool, BlockError> {
        block.clear();
        block.append(&mut self.begun);
        self.fill(block)
    }

    /// Adds to the beginning of a block what makes it one. False if it is empty.
    fn fill(&mut self, block: &mut Vec<u8>) -> Result<bool, BlockError> {
        while !self.is_end {
            let start = block.len();
            // At once, and not while it is filled.
            block.reserve(BLOCK);
            let read = (&mut self.reader).take(BLOCK as u64).read_to_end(block).map_err(BlockError::Unreadable)?;
            self.is_end = read < BLOCK;
            if let Some(last) = memchr::memrchr(b'\n', &block[start..]).filter(|_| !self.is_end) {
                self.begun.extend_from_slice(&block[start + last + 1..]);
                block.truncate(start + last + 1);
                return Ok(true);
            }
            if block.len() > LINE_MAX && !self.is_end {
                return Err(BlockError::LongLine);
            }
        }
        Ok(!block.is_empty())
    }
}
