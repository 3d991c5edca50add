//! How far compressed content may expand: a small file must not fill the memory, and must not end early in silence.

use std::fmt;
use std::io::{self, Read};

/// Compressed content may grow to this many times its stored size, or to the number below if that is more.
const TIMES_MAX: u64 = 1_000;
const BYTES_FLOOR: u64 = 64 << 20;

/// The environment variable with another limit, in bytes.
const VARIABLE: &str = "CALIPERS_EXPANDED_BYTES_MAX";

/// How many bytes this many stored ones may become.
pub(crate) fn expansion_limit(stored: u64) -> u64 {
    let chosen = std::env::var(VARIABLE).ok().and_then(|bytes| bytes.trim().parse().ok());
    chosen.unwrap_or_else(|| stored.saturating_mul(TIMES_MAX).max(BYTES_FLOOR))
}

/// Content that expands beyond its limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExpansionExcess {
    pub(crate) limit: u64,
}

impl ExpansionExcess {
    /// What to do about it.
    pub(crate) fn hint(self) -> String {
        format!("if you trust the file, set the environment variable {VARIABLE} to a larger number of bytes")
    }
}

impl fmt::Display for ExpansionExcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the compressed content expands beyond the limit of {} bytes", self.limit)
    }
}

impl std::error::Error for ExpansionExcess {}

/// The excess that an error of reading stands for, if it is one.
pub(super) fn excess(error: &io::Error) -> Option<ExpansionExcess> {
    error.get_ref()?.downcast_ref::<ExpansionExcess>().copied()
}

/// A reader that fails where content goes on beyond a limit.
pub(crate) struct ExpansionLimit<R> {
    inner: R,
    left: u64,
    limit: u64,
}

impl<R> ExpansionLimit<R> {
    pub(crate) fn new(inner: R, limit: u64) -> Self {
        Self { inner, left: limit, limit }
    }
}

impl<R: Read> Read for ExpansionLimit<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = usize::try_from(self.left).unwrap_or(usize::MAX);
        if room == 0 && !buffer.is_empty() {
            // One more byte tells whether this is the end.
            return match self.inner.read(&mut buffer[..1])? {
                0 => Ok(0),
                _ => Err(io::Error::other(ExpansionExcess { limit: self.limit })),
            };
        }
        let length = buffer.len().min(room);
        let read = self.inner.read(&mut buffer[..length])?;
        self.left -= read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_read_whole_and_what_does_not_is_an_error() {
        let read = |limit: u64| {
            let mut bytes = Vec::new();
            ExpansionLimit::new(&[7u8; 100][..], limit).read_to_end(&mut bytes).map(|_| bytes.len())
        };
        assert_eq!(read(100).ok(), Some(100));
        let error = read(99).expect_err("one byte too many");
        assert_eq!(excess(&error).map(|excess| excess.limit), Some(99));
    }
}
