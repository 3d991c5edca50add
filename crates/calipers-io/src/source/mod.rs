//! Where bytes come from: files, folders, patterns, standard input, objects in buckets and on web servers; plain, gzip or
//! zstd.

mod expansion;
mod file_search;
mod foreign_file;
#[cfg(feature = "parquet")]
mod memory_table;
#[cfg(not(feature = "parquet"))]
#[path = "no_memory_table.rs"]
mod memory_table;
mod object_search;
#[cfg(feature = "parquet")]
mod plain_columns;
mod shape;
mod source_version;
mod text_encoding;

pub(crate) use expansion::{ExpansionExcess, ExpansionLimit, expansion_limit};
pub use file_search::SourceSearch;
pub(crate) use foreign_file::{foreign_file, is_junit};
pub(crate) use memory_table::MemoryTable;
#[cfg(feature = "parquet")]
pub use plain_columns::duration_column;
#[cfg(feature = "parquet")]
pub(crate) use plain_columns::holds_durations;
pub use shape::{JsonShape, Root, Shape};
pub use source_version::SourceVersion;
pub(crate) use text_encoding::decode_windows_1252;

use crate::error::explain_io_error;
use crate::{Columns, ReadError, Remedy};
#[cfg(feature = "parquet")]
use arrow_array::RecordBatch;
use calipers_store::{Location, Object, ObjectReader, StoreError};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use text_encoding::Utf16Reader;

/// A file to read, an object in a bucket or on a web server, or standard input.
#[derive(Clone, Debug)]
pub struct Source {
    /// How it is named in messages and results.
    pub name: String,
    origin: SourceOrigin,
    /// Where the bytes that are read are counted.
    counter: Option<Arc<AtomicU64>>,
    /// Which of its columns are what, as far as that is said.
    columns: Arc<Columns>,
    /// Columns that the user chooses rows by.
    conditions: Arc<[String]>,
}

#[derive(Clone, Debug)]
enum SourceOrigin {
    Path(PathBuf),
    /// An object, or why there can be none.
    Object(Result<Arc<Object>, StoreError>),
    /// Standard input and tests: read once, kept.
    Bytes(Arc<[u8]>),
    /// A table of a program, such as a data frame.
    Table(Arc<MemoryTable>),
}

/// How many bytes are read to recognise a format.
const HEAD: usize = 64 * 1024;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// What to do about a file or a folder that may not be read.
const MAY_BE_READ: &str = "check that it may be read: its owner and its permissions";

/// Less than this is not worth a thread.
const PART_MIN: u64 = 4 << 20;

/// From one place in the content to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourcePart {
    start: u64,
    end: u64,
}

fn is_compressed(magic: &[u8]) -> bool {
    magic.starts_with(&GZIP) || magic.starts_with(&ZSTD)
}

impl Source {
    /// A file, or an object if the path is an address such as `s3://bucket/log.eval`.
    pub fn path(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        match to_location(&path) {
            Some(Ok(location)) => Self::object(location.to_string(), Object::open(&location)),
            Some(Err(error)) => Self::object(calipers_store::redact(&path.to_string_lossy()), Err(error)),
            None => Self::of(path.display().to_string(), SourceOrigin::Path(path)),
        }
    }

    fn object(name: String, object: Result<Arc<Object>, StoreError>) -> Self {
        Self::of(name, SourceOrigin::Object(object))
    }

    fn of(name: String, origin: SourceOrigin) -> Self {
        Self { name, origin, counter: None, columns: Arc::default(), conditions: Arc::default() }
    }

    /// Bytes that are already here, under this name.
    pub fn bytes(name: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self::of(name.into(), SourceOrigin::Bytes(bytes.into()))
    }

    /// A table that a program has in memory, under this name: columns of Arrow arrays, in parts. What it holds is read as
    /// from a file with the same columns.
    ///
    /// ```
    /// use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
    /// use calipers_io::{Source, read};
    /// use std::sync::Arc;
    ///
    /// let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    /// let scores: ArrayRef = Arc::new(StringArray::from(vec!["C", "I"]));
    /// let batch = RecordBatch::try_from_iter([("id", ids), ("score", scores)])?;
    /// let runs = read(&Source::table("frame", [batch]), None)?;
    /// assert_eq!(runs[0].samples.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "parquet")]
    pub fn table(name: impl Into<String>, batches: impl IntoIterator<Item = RecordBatch>) -> Self {
        Self::of(name.into(), SourceOrigin::Table(Arc::new(MemoryTable::new(batches.into_iter().collect()))))
    }

    /// The table, if it is one in memory.
    pub(crate) fn as_table(&self) -> Option<&MemoryTable> {
        match &self.origin {
            SourceOrigin::Table(table) => Some(table),
            SourceOrigin::Path(_) | SourceOrigin::Object(_) | SourceOrigin::Bytes(_) => None,
        }
    }

    /// Adds the bytes that are read to a counter, for progress displays. Bytes read twice count twice.
    #[must_use]
    pub fn with_counter(mut self, counter: Arc<AtomicU64>) -> Self {
        self.counter = Some(counter);
        self
    }

    /// Says which of its columns are what.
    #[must_use]
    pub fn with_columns(mut self, columns: impl Into<Arc<Columns>>) -> Self {
        self.columns = columns.into();
        self
    }

    /// Says by which columns rows are chosen: what is chosen by is metadata, and tells no runs apart.
    #[must_use]
    pub fn with_conditions(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.conditions = names.into_iter().collect();
        self
    }

    /// True when rows are chosen by this column.
    pub(crate) fn is_condition(&self, name: &str) -> bool {
        self.conditions.iter().any(|condition| condition == name)
    }

    /// The columns by which rows are chosen.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = &str> {
        self.conditions.iter().map(String::as_str)
    }

    /// What is said about its columns.
    pub(crate) fn columns(&self) -> &Columns {
        &self.columns
    }

    /// The counter, for callers that read the file directly.
    pub(crate) fn counter(&self) -> Option<Arc<AtomicU64>> {
        self.counter.clone()
    }

    /// All of standard input, under the name `-`.
    pub fn stdin() -> Result<Self, ReadError> {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map_err(|error| ReadError::new("-", error.to_string()))?;
        Ok(Self::bytes("-", bytes))
    }

    /// The sources that an argument names: `-`, a file, a folder (its result files), or a pattern; on this machine or in a
    /// bucket. An object on a web server is named by itself.
    ///
    /// Fails if a part of a folder cannot be looked at; [`search`](Self::search) names such parts and finds the others.
    pub fn resolve(argument: &str) -> Result<Vec<Self>, ReadError> {
        let found = Self::search(argument)?;
        found.problems.into_iter().next().map_or(Ok(found.sources), Err)
    }

    /// The sources that an argument names, and what in a folder or behind a pattern should be results and cannot be read.
    ///
    /// Fails if nothing is found at all.
    pub fn search(argument: &str) -> Result<SourceSearch, ReadError> {
        if argument == "-" {
            return Ok(SourceSearch::of(vec![Self::stdin()?]));
        }
        if let Some(location) = Location::parse(argument) {
            let name = || calipers_store::redact(argument);
            let location = location.map_err(|error| store_error(&name(), &error))?;
            return object_search::resolve(&location).map(SourceSearch::of);
        }
        let path = Path::new(argument);
        if path.is_dir() {
            return file_search::search_folder(path);
        }
        // A pipe, such as `<(zcat log.gz)`, can be read only once.
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            let bytes = std::fs::read(path).map_err(|error| ReadError::new(argument, explain_io_error(&error)))?;
            return Ok(SourceSearch::of(vec![Self::bytes(argument, bytes)]));
        }
        if path.exists() || !argument.contains(['*', '?', '[']) {
            return Ok(SourceSearch::of(vec![Self::path(path)]));
        }
        file_search::search_pattern(argument)
    }

    /// The name of the file without its folder.
    #[must_use]
    pub fn file_name(&self) -> &str {
        // What follows the path of an address is no part of the name.
        if let Some(Ok(object)) = self.as_object() {
            return object.location().file_name();
        }
        Path::new(&self.name).file_name().and_then(|name| name.to_str()).unwrap_or(&self.name)
    }

    /// The path, if it is a file.
    #[must_use]
    pub fn as_path(&self) -> Option<&Path> {
        match &self.origin {
            SourceOrigin::Path(path) => Some(path),
            SourceOrigin::Object(_) | SourceOrigin::Bytes(_) | SourceOrigin::Table(_) => None,
        }
    }

    fn as_object(&self) -> Option<&Result<Arc<Object>, StoreError>> {
        match &self.origin {
            SourceOrigin::Object(object) => Some(object),
            SourceOrigin::Path(_) | SourceOrigin::Bytes(_) | SourceOrigin::Table(_) => None,
        }
    }

    /// What tells an object from others. Names do not: what may be secret in an address is left out of them.
    #[must_use]
    pub fn address_hash(&self) -> Option<u64> {
        let mut hasher = DefaultHasher::new();
        self.remote()?.location().hash(&mut hasher);
        Some(hasher.finish())
    }

    /// The object, if it is one that can be asked for.
    pub(crate) fn remote(&self) -> Option<&Arc<Object>> {
        self.as_object()?.as_ref().ok()
    }

    /// True for a folder or a pattern, which may lead to files that are no results.
    #[must_use]
    pub fn is_search(argument: &str) -> bool {
        match Location::parse(argument) {
            Some(Ok(location)) => location.scheme().is_bucket() && object_search::is_search(&location),
            Some(Err(_)) => false,
            None => Path::new(argument).is_dir(),
        }
    }

    /// The file of this name in the same folder, if there is one.
    pub(crate) fn beside(&self, name: &str) -> Option<Self> {
        match &self.origin {
            SourceOrigin::Path(path) => {
                let beside = path.parent()?.join(name);
                beside.is_file().then(|| Self::path(beside))
            }
            SourceOrigin::Object(Ok(object)) => {
                let beside = object.location().beside(name);
                // What cannot be looked at is read, and fails with a reason.
                let is_there = !matches!(calipers_store::look(&beside), Ok(None));
                is_there.then(|| Self::object(beside.to_string(), Object::open(&beside)))
            }
            _ => None,
        }
    }

    /// Announces the parts of the stored bytes that will be read. A file does not need to know; an object then comes in a few
    /// large requests.
    pub(crate) fn expect(&self, ranges: impl FnOnce() -> Vec<std::ops::Range<u64>>) {
        if let Some(object) = self.remote() {
            object.expect(ranges());
        }
    }

    /// Fails if a part of an object did not come. Readers leave out what is damaged, and must not take this for damage.
    pub(crate) fn check_arrived(&self) -> Result<(), ReadError> {
        match self.remote().and_then(|object| object.failure()) {
            Some(failure) => Err(store_error(&self.name, &failure)),
            None => Ok(()),
        }
    }

    /// True when it contains only white space.
    pub fn is_blank(&self) -> Result<bool, ReadError> {
        if let Some(table) = self.as_table() {
            return Ok(table.rows() == 0);
        }
        Ok(self.head()?.iter().all(u8::is_ascii_whitespace))
    }

    /// True when the content is a whole beginning of what the name says, though no results in a known format: other
    /// documents may stand in a folder of results. Empty, damaged and unreadable files are none.
    #[must_use]
    pub fn is_other_document(&self) -> bool {
        let Ok(head) = self.head() else { return false };
        let shape = Shape::new(head, self.file_name());
        let name = self.file_name().to_lowercase();
        let name = name.trim_end_matches(".gz").trim_end_matches(".zst");
        let start = shape.head.iter().find(|byte| !byte.is_ascii_whitespace());
        match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
            _ if start.is_none() => false,
            "json" | "jsonl" | "ndjson" => shape.json.is_some(),
            "xml" => start == Some(&b'<'),
            "eval" | "parquet" => false,
            // The last bytes may be half a character.
            _ => {
                !shape.head.contains(&0)
                    && std::str::from_utf8(&shape.head).map_or_else(|error| error.error_len().is_none(), |_| true)
            }
        }
    }

    pub(crate) fn error(&self, what: impl Into<String>) -> ReadError {
        ReadError::new(self.name.clone(), what)
    }

    fn raw(&self) -> Result<Box<dyn Raw>, ReadError> {
        match &self.origin {
            SourceOrigin::Path(path) => {
                let file = File::open(path).map_err(|error| {
                    let hint = if error.kind() == io::ErrorKind::NotFound {
                        "check the name of the file"
                    } else {
                        MAY_BE_READ
                    };
                    self.error(explain_io_error(&error)).hint(hint)
                })?;
                Ok(self.count_reads(file))
            }
            SourceOrigin::Object(object) => {
                let object = object.as_ref().map_err(|error| store_error(&self.name, error))?;
                object.size().map_err(|error| store_error(&self.name, &error))?;
                Ok(self.count_reads(ObjectReader::new(object.clone())))
            }
            SourceOrigin::Bytes(bytes) => Ok(self.count_reads(Cursor::new(bytes.clone()))),
            SourceOrigin::Table(table) => Ok(self.count_reads(Cursor::new(table.to_parquet(self)?))),
        }
    }

    fn count_reads(&self, raw: impl Raw + 'static) -> Box<dyn Raw> {
        match &self.counter {
            Some(counter) => Box::new(CountingReader { raw, counter: counter.clone() }),
            None => Box::new(raw),
        }
    }

    /// The stored bytes as a seekable reader, for archives and tables.
    pub(crate) fn seekable(&self) -> Result<Box<dyn Raw>, ReadError> {
        self.raw()
    }

    /// The number of stored bytes.
    pub fn stored_len(&self) -> Result<u64, ReadError> {
        self.raw()?.length().map_err(|error| self.unreadable(&error))
    }

    /// A buffered reader of the content, decompressed if it is gzip or zstd, as UTF-8 if it is UTF-16.
    pub(crate) fn open(&self) -> Result<Box<dyn BufRead>, ReadError> {
        let mut content = self.open_bytes()?;
        let head = content.fill_buf().map_err(|error| self.unreadable(&error))?;
        match text_encoding::utf16_order(head) {
            Some(order) => Ok(Box::new(BufReader::new(Utf16Reader::new(content, order)))),
            None => Ok(content),
        }
    }

    fn open_bytes(&self) -> Result<Box<dyn BufRead>, ReadError> {
        let stored = self.stored_len()?;
        let limit = expansion_limit(stored);
        let mut raw = BufReader::with_capacity(1 << 16, self.raw()?);
        let magic = raw.fill_buf().map_err(|error| self.unreadable(&error))?;
        if magic.starts_with(&GZIP) {
            return Ok(Box::new(BufReader::new(ExpansionLimit::new(flate2::bufread::MultiGzDecoder::new(raw), limit))));
        }
        if magic.starts_with(&ZSTD) {
            let decoder =
                zstd::stream::read::Decoder::with_buffer(raw).map_err(|error| self.error(error.to_string()))?;
            return Ok(Box::new(BufReader::new(ExpansionLimit::new(decoder, limit))));
        }
        Ok(Box::new(raw))
    }

    /// The parts of the content, each of whole lines, that can be read in parallel: one part unless the content is
    /// large and uncompressed. A part is what [`open_part`](Self::open_part) takes.
    pub(crate) fn parts(&self, parts_max: usize) -> Result<Vec<SourcePart>, ReadError> {
        let stored = self.stored_len()?;
        let parts = (stored / PART_MIN).clamp(1, parts_max.max(1) as u64);
        let mut magic = [0; 4];
        let read = self.raw()?.read(&mut magic).map_err(|error| self.unreadable(&error))?;
        if parts == 1 || is_compressed(&magic[..read]) || text_encoding::utf16_order(&magic[..read]).is_some() {
            return Ok(vec![SourcePart { start: 0, end: u64::MAX }]);
        }
        let cut = |part: u64| if part == parts { u64::MAX } else { stored / parts * part };
        Ok((0..parts).map(|part| SourcePart { start: cut(part), end: cut(part + 1) }).collect())
    }

    /// A reader of a part: of the lines that begin in it.
    pub(crate) fn open_part(&self, part: SourcePart) -> Result<Box<dyn BufRead>, ReadError> {
        if part.start == 0 && part.end == u64::MAX {
            return self.open();
        }
        let unreadable = |error: io::Error| self.unreadable(&error);
        let line_after = |place: u64| -> Result<u64, ReadError> {
            if place == 0 || place == u64::MAX {
                return Ok(place);
            }
            // A line that begins right here is preceded by a line end.
            let mut raw = self.raw()?;
            raw.seek(io::SeekFrom::Start(place - 1)).map_err(unreadable)?;
            Ok(place - 1 + BufReader::new(raw).skip_until(b'\n').map_err(unreadable)? as u64)
        };
        let (start, end) = (line_after(part.start)?, line_after(part.end)?);
        let mut raw = self.raw()?;
        raw.seek(io::SeekFrom::Start(start)).map_err(unreadable)?;
        Ok(Box::new(BufReader::with_capacity(1 << 16, raw.take(end.saturating_sub(start)))))
    }

    /// The whole content.
    pub(crate) fn read_all(&self) -> Result<Vec<u8>, ReadError> {
        let mut bytes = Vec::new();
        self.open()?.read_to_end(&mut bytes).map_err(|error| self.unreadable(&error))?;
        Ok(bytes)
    }

    /// True when this byte is somewhere in the content, as far as it can be read.
    pub(crate) fn holds_byte(&self, byte: u8) -> bool {
        let Ok(mut reader) = self.open() else { return false };
        loop {
            let length = match reader.fill_buf() {
                Ok(block) if memchr::memchr(byte, block).is_some() => return true,
                Ok(block) => block.len(),
                Err(_) => return false,
            };
            if length == 0 {
                return false;
            }
            reader.consume(length);
        }
    }

    /// The beginning of the content, from which the format is detected.
    pub(crate) fn head(&self) -> Result<Vec<u8>, ReadError> {
        let mut bytes = Vec::with_capacity(HEAD);
        let mut reader = self.open()?;
        let mut fill = |bytes: &mut Vec<u8>| {
            (&mut reader).take(HEAD as u64).read_to_end(bytes).map_err(|error| self.unreadable(&error))
        };
        fill(&mut bytes)?;
        // A beginning of nothing but blanks says nothing; what follows it does.
        while !bytes.is_empty() && bytes.iter().all(u8::is_ascii_whitespace) {
            bytes.clear();
            fill(&mut bytes)?;
        }
        Ok(bytes)
    }

    pub(crate) fn unreadable(&self, error: &io::Error) -> ReadError {
        if let Some(failure) = StoreError::of(error) {
            return store_error(&self.name, failure);
        }
        if let Some(excess) = expansion::excess(error) {
            return self.error(excess.to_string()).hint(excess.hint());
        }
        if error.kind() == io::ErrorKind::OutOfMemory {
            let hint = "read fewer files at once, or allow more memory";
            return self
                .error("the content needs more memory than may be used")
                .hint(hint)
                .with_remedy(Remedy::AllowMemory);
        }
        self.error(format!("the content cannot be read: {error}")).hint("the file may be cut off; copy it again")
    }
}

/// Seekable bytes.
pub(crate) trait Raw: Read + io::Seek + Send {
    fn length(&mut self) -> io::Result<u64> {
        let length = self.seek(io::SeekFrom::End(0))?;
        self.rewind()?;
        Ok(length)
    }
}

impl Raw for File {}
impl Raw for Cursor<Arc<[u8]>> {}
impl Raw for ObjectReader {}

/// Adds what is read to a counter.
struct CountingReader<R> {
    raw: R,
    counter: Arc<AtomicU64>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.raw.read(buffer)?;
        self.counter.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

impl<R: io::Seek> io::Seek for CountingReader<R> {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.raw.seek(to)
    }
}

impl<R: Raw> Raw for CountingReader<R> {}

/// True for the address of an object in a bucket or on a web server, such as `s3://bucket/log.eval`.
#[must_use]
pub fn is_address(name: &str) -> bool {
    Location::is_address(name)
}

/// The location that a path is, if it is an address.
pub(crate) fn to_location(path: &Path) -> Option<Result<Location, StoreError>> {
    let text = path.to_str()?;
    // Paths are joined with the separator of the system.
    if cfg!(windows) { Location::parse(&text.replace('\\', "/")) } else { Location::parse(text) }
}

/// A failure with an object, as an error of reading it.
pub(crate) fn store_error(name: &str, error: &StoreError) -> ReadError {
    let read = ReadError::new(name, error.what());
    error.advice().into_iter().fold(read, ReadError::hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counted_source_counts_the_bytes_it_reads() {
        let counter = Arc::new(AtomicU64::new(0));
        let source = Source::bytes("records.jsonl", vec![b' '; 100_000]).with_counter(counter.clone());
        assert_eq!(source.stored_len(), Ok(100_000));
        assert_eq!(counter.load(Ordering::Relaxed), 0, "asking for the length reads nothing");
        source.read_all().expect("nothing is wrong with it");
        assert_eq!(counter.load(Ordering::Relaxed), 100_000);
    }
}
