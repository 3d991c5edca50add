//! `.json`: the whole log as one document.
//!
//! The document is split into samples while it is read, without building a tree or holding all of its bytes. While one
//! batch of samples is parsed, the next one is split. The rest is the header.

use super::LogReading;
use super::read_header::Header;
use super::read_sample::{LoggedSample, SampleNames};
use crate::{FilePlace, Projection, ReadError, Source};
use calipers_core::pluralize;
use rayon::prelude::*;
use std::io::BufRead;

/// How many bytes of samples are parsed together.
const BATCH: usize = 4 << 20;
/// A sample, or a header, may be this long.
const PART_MAX: usize = 1 << 30;

pub(super) fn read(source: &Source, wanted: &Projection) -> Result<LogReading, ReadError> {
    // The header says what its metrics read, and may come after the samples.
    let wanted =
        if wanted.has_answers() { Projection::everything() } else { Projection::everything().without_answers() };
    let mut cutter = Cutter::new(source)?;
    let mut samples: Vec<LoggedSample> = Vec::new();
    let mut batch = cutter.batch()?;
    while !batch.is_empty() {
        let mut parsed = Ok(Vec::new());
        let next = rayon::in_place_scope(|scope| {
            scope.spawn(|_| parsed = batch.parse(source, &wanted));
            cutter.batch()
        });
        samples.extend(parsed?);
        batch = next?;
    }
    let header = cutter.header.strip_prefix(&[0xef, 0xbb, 0xbf]).unwrap_or(&cutter.header);
    let header = Header::parse(source, header)?;
    Ok(LogReading { header, samples, notes: Vec::new() })
}

/// Some samples, one after another.
#[derive(Default)]
pub(crate) struct Batch {
    /// The place of the first one in the document.
    first: usize,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Batch {
    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The samples as they are written.
    pub(crate) fn items(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }

    fn parse(&self, source: &Source, wanted: &Projection) -> Result<Vec<LoggedSample>, ReadError> {
        let share = self.ends.len().div_ceil(2 * rayon::current_num_threads()).max(1);
        let shares: Vec<Result<Vec<LoggedSample>, ReadError>> = self
            .ends
            .par_chunks(share)
            .enumerate()
            .map(|(chunk, ends)| {
                let mut names = SampleNames::new(wanted);
                let before = chunk * share;
                let mut start = if before == 0 { 0 } else { self.ends[before - 1] };
                let mut samples = Vec::with_capacity(ends.len());
                for (index, &end) in ends.iter().enumerate() {
                    let place = || FilePlace::Path(format!("samples[{}]", self.first + before + index));
                    let mut sample = LoggedSample::parse(&self.bytes[start..end], &mut names).map_err(|wrong| {
                        wrong.hint.into_iter().fold(source.error(wrong.what).at(place()), ReadError::hint)
                    })?;
                    sample.written_at = Some(place());
                    samples.push(sample);
                    start = end;
                }
                Ok(samples)
            })
            .collect();
        // Errors are checked in order, so that the same one is reported every time.
        let mut samples = Vec::with_capacity(self.ends.len());
        for share in shares {
            samples.extend(share?);
        }
        Ok(samples)
    }
}

/// Splits a document into the items of its `samples` and the rest.
pub(crate) struct Cutter {
    source: Source,
    reader: Box<dyn BufRead>,
    /// The document without its samples and reductions.
    header: Vec<u8>,
    samples: usize,
    line: u64,
    depth: usize,
    text: TextState,
    /// The last key of the document, and whether the next text is one.
    key: Vec<u8>,
    at_key: bool,
    part: DocumentPart,
    done: bool,
}

/// Whether a text is being read.
#[derive(Clone, Copy, PartialEq)]
enum TextState {
    Outside,
    Inside,
    Escaped,
}

/// What is being read.
#[derive(Clone, Copy, PartialEq)]
enum DocumentPart {
    Header,
    /// A value that is not needed.
    Skipped,
    /// Before the value of `samples`.
    Colon,
    /// Between samples: either a sample may follow, or a comma must come first.
    Between {
        ready: bool,
    },
    Sample,
}

impl Cutter {
    pub(crate) fn new(source: &Source) -> Result<Self, ReadError> {
        Ok(Self {
            source: source.clone(),
            reader: source.open()?,
            header: Vec::new(),
            samples: 0,
            line: 1,
            depth: 0,
            text: TextState::Outside,
            key: Vec::new(),
            at_key: false,
            part: DocumentPart::Header,
            done: false,
        })
    }

    /// The next samples; none at the end.
    pub(crate) fn batch(&mut self) -> Result<Batch, ReadError> {
        let mut batch = Batch { first: self.samples, ..Batch::default() };
        while !self.done {
            // The reader is taken out so that its buffer can be read while the state changes.
            let mut reader = std::mem::replace(&mut self.reader, Box::new(std::io::empty()));
            let block = reader.fill_buf().map_err(|error| self.source.unreadable(&error))?;
            if block.is_empty() {
                return Err(self.cut_off());
            }
            let used = self.take(block, &mut batch)?;
            reader.consume(used);
            self.reader = reader;
            if batch.bytes.len() >= BATCH && self.part != DocumentPart::Sample {
                return Ok(batch);
            }
        }
        self.check_end()?;
        Ok(batch)
    }

    /// Nothing but space may follow the document.
    fn check_end(&mut self) -> Result<(), ReadError> {
        loop {
            let block = self.reader.fill_buf().map_err(|error| self.source.unreadable(&error))?;
            let used = block.len();
            if used == 0 {
                return Ok(());
            }
            if !block.iter().all(u8::is_ascii_whitespace) {
                let error = self.source.error("more content follows the log").at_line(self.line);
                return Err(error.hint("an Inspect log is one JSON document; split the file"));
            }
            self.reader.consume(used);
        }
    }

    fn cut_off(&self) -> ReadError {
        let error =
            self.source.error(format!("the document ends in the middle, after {}", pluralize(self.samples, "sample")));
        error.at_line(self.line).hint("the file is cut off; copy it again from where it was written")
    }

    fn wrong(&self, what: &str) -> ReadError {
        self.source.error(what).at(FilePlace::Path(format!("samples[{}]", self.samples))).hint("write the log again")
    }

    /// Consumes bytes up to the end of the block or of the batch, and returns how many.
    fn take(&mut self, block: &[u8], batch: &mut Batch) -> Result<usize, ReadError> {
        let mut at = 0;
        while at < block.len() && !self.done {
            let from = at;
            let part = self.part;
            match self.text {
                _ if part == DocumentPart::Sample => at += self.sample(&block[at..]),
                TextState::Inside | TextState::Escaped => at += self.inside(&block[at..]),
                TextState::Outside => {
                    at += 1;
                    self.outside(block[from])?;
                }
            }
            self.keep(part, &block[from..at], batch)?;
            if part == DocumentPart::Sample && self.part != DocumentPart::Sample && batch.bytes.len() >= BATCH {
                break;
            }
        }
        Ok(at)
    }

    /// A sample up to its end or the end of the block: nearly all of a log is here.
    fn sample(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            if self.text != TextState::Outside {
                at += self.inside(&bytes[at..]);
                continue;
            }
            match bytes[at] {
                b'"' => self.text = TextState::Inside,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.close(),
                b'\n' => self.line += 1,
                _ => {}
            }
            at += 1;
            if self.part != DocumentPart::Sample {
                break;
            }
        }
        at
    }

    /// Text up to its end or the end of the block.
    fn inside(&mut self, bytes: &[u8]) -> usize {
        if self.text == TextState::Escaped {
            self.text = TextState::Inside;
            return 1;
        }
        let found = memchr::memchr2(b'"', b'\\', bytes);
        if self.at_key {
            self.key.extend_from_slice(&bytes[..found.unwrap_or(bytes.len())]);
        }
        match found {
            None => bytes.len(),
            Some(found) => {
                self.text = if bytes[found] == b'"' { TextState::Outside } else { TextState::Escaped };
                found + 1
            }
        }
    }

    /// One byte that is not in a text.
    fn outside(&mut self, byte: u8) -> Result<(), ReadError> {
        if byte == b'"' {
            self.text = TextState::Inside;
            self.key.clear();
        }
        match (self.part, byte) {
            (_, b'\n') => self.line += 1,
            (DocumentPart::Colon, b'[') => {
                self.depth += 1;
                self.part = DocumentPart::Between { ready: true };
            }
            (DocumentPart::Colon, byte) if !byte.is_ascii_whitespace() => {
                // Not a list: null, or something that the header's parser will refuse.
                self.part = DocumentPart::Header;
                return self.outside(byte);
            }
            (DocumentPart::Between { .. }, b']') => {
                self.depth -= 1;
                self.part = DocumentPart::Header;
            }
            (DocumentPart::Between { ready: false }, b',') => self.part = DocumentPart::Between { ready: true },
            (DocumentPart::Between { ready }, byte) if !byte.is_ascii_whitespace() => {
                if !ready {
                    return Err(self.wrong("a comma or the end of the list is missing before this"));
                }
                if byte != b'{' {
                    return Err(self.wrong("a sample is not a map"));
                }
                self.depth += 1;
                self.part = DocumentPart::Sample;
            }
            (DocumentPart::Colon | DocumentPart::Between { .. }, _) => {}
            (_, b'{' | b'[') => {
                self.depth += 1;
                self.at_key = self.depth == 1;
            }
            (_, b'}' | b']') => self.close(),
            (_, b',') if self.depth == 1 => {
                self.part = DocumentPart::Header;
                self.at_key = true;
            }
            (_, b':') if self.depth == 1 => {
                self.at_key = false;
                self.part = match &*std::mem::take(&mut self.key) {
                    b"samples" => DocumentPart::Colon,
                    b"reductions" => DocumentPart::Skipped,
                    _ => DocumentPart::Header,
                };
            }
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        match (self.part, self.depth) {
            (DocumentPart::Sample, 2) => {
                self.samples += 1;
                self.part = DocumentPart::Between { ready: false };
            }
            (_, 0) => {
                self.part = DocumentPart::Header;
                self.done = true;
            }
            _ => {}
        }
    }

    /// Keeps bytes where they belong.
    fn keep(&mut self, before: DocumentPart, bytes: &[u8], batch: &mut Batch) -> Result<(), ReadError> {
        match (before, self.part) {
            (DocumentPart::Sample, now) => {
                batch.bytes.extend_from_slice(bytes);
                if now != DocumentPart::Sample {
                    batch.ends.push(batch.bytes.len());
                }
            }
            (_, DocumentPart::Sample) => batch.bytes.extend_from_slice(bytes),
            (DocumentPart::Between { .. }, _) => {
                if self.part == DocumentPart::Header {
                    self.header.extend_from_slice(b"null");
                }
            }
            (DocumentPart::Skipped, DocumentPart::Header) => {
                self.header.extend_from_slice(b"null");
                self.header.extend_from_slice(bytes);
            }
            (DocumentPart::Skipped, _) | (_, DocumentPart::Between { .. }) => {}
            _ => self.header.extend_from_slice(bytes),
        }
        if batch.bytes.len().max(self.header.len()) > PART_MAX {
            return Err(self.source.error("a part of the log is longer than 1 GiB").hint("write the log as `.eval`"));
        }
        Ok(())
    }
}
