//! Where bytes come from: files, folders, patterns, standard input; plain, gzip or zstd.

mod expansion;
mod foreign_file;
mod memory_table;
mod shape;
mod text_encoding;

pub(crate) use expansion::{ExpansionExcess, ExpansionLimit, expansion_limit};
pub(crate) use foreign_file::foreign_file;
pub(crate) use memory_table::MemoryTable;
pub use shape::{JsonShape, Root, Shape};
pub(crate) use text_encoding::decode_windows_1252;

use crate::error::explain_io_error;
use crate::{Columns, ReadError, Remedy};
use arrow_array::RecordBatch;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use text_encoding::Utf16Reader;

/// A file to read, or standard input.
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
    /// A file.
    pub fn path(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self {
            name: path.display().to_string(),
            origin: SourceOrigin::Path(path),
            counter: None,
            columns: Arc::default(),
            conditions: Arc::default(),
        }
    }

    /// Bytes that are already here, under this name.
    pub fn bytes(name: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self {
            name: name.into(),
            origin: SourceOrigin::Bytes(bytes.into()),
            counter: None,
            columns: Arc::default(),
            conditions: Arc::default(),
        }
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
    pub fn table(name: impl Into<String>, batches: impl IntoIterator<Item = RecordBatch>) -> Self {
        let table = Arc::new(MemoryTable::new(batches.into_iter().collect()));
        Self {
            name: name.into(),
            origin: SourceOrigin::Table(table),
            counter: None,
            columns: Arc::default(),
            conditions: Arc::default(),
        }
    }

    /// The table, if it is one in memory.
    pub(crate) fn as_table(&self) -> Option<&MemoryTable> {
        match &self.origin {
            SourceOrigin::Table(table) => Some(table),
            SourceOrigin::Path(_) | SourceOrigin::Bytes(_) => None,
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

    /// The sources that an argument names: `-`, a file, a folder (its result files), or a pattern.
    pub fn resolve(argument: &str) -> Result<Vec<Self>, ReadError> {
        if argument == "-" {
            return Ok(vec![Self::stdin()?]);
        }
        let path = Path::new(argument);
        if path.is_dir() {
            return Self::folder(path);
        }
        // A pipe, such as `<(zcat log.gz)`, can be read only once.
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            let bytes = std::fs::read(path).map_err(|error| ReadError::new(argument, explain_io_error(&error)))?;
            return Ok(vec![Self::bytes(argument, bytes)]);
        }
        if path.exists() || !argument.contains(['*', '?', '[']) {
            return Ok(vec![Self::path(path)]);
        }
        let pattern = glob::glob(argument).map_err(|error| ReadError::new(argument, error.to_string()))?;
        let mut found = Vec::new();
        for path in pattern {
            let path = path.map_err(|error| {
                let name = error.path().display().to_string();
                ReadError::new(name, explain_io_error(error.error())).hint(MAY_BE_READ)
            })?;
            match path.metadata() {
                // A shell would hand over the folder, whose files would be read.
                Ok(metadata) if metadata.is_dir() => files_below(&path, &mut found)?,
                Ok(metadata) if !metadata.is_file() => return Err(no_file(&path)),
                _ => found.push(path),
            }
        }
        found.sort();
        // A pattern may match a folder and the files in it.
        found.dedup();
        if found.is_empty() {
            return Err(
                ReadError::new(argument, "no file matches the pattern").hint("check the folder and the pattern")
            );
        }
        Ok(found.into_iter().map(Self::path).collect())
    }

    /// Every file below a folder with the extension of a result file, sorted by name.
    fn folder(folder: &Path) -> Result<Vec<Self>, ReadError> {
        let mut found = Vec::new();
        files_below(folder, &mut found)?;
        found.sort();
        if found.is_empty() {
            let name = folder.display().to_string();
            let hint = "name a folder with .eval, .json, .jsonl, .csv, .parquet or .xml files";
            return Err(ReadError::new(name, "the folder has no result files").hint(hint));
        }
        Ok(found.into_iter().map(Self::path).collect())
    }

    /// The name of the file without its folder.
    #[must_use]
    pub fn file_name(&self) -> &str {
        Path::new(&self.name).file_name().and_then(|name| name.to_str()).unwrap_or(&self.name)
    }

    /// The path, if it is a file.
    #[must_use]
    pub fn as_path(&self) -> Option<&Path> {
        match &self.origin {
            SourceOrigin::Path(path) => Some(path),
            SourceOrigin::Bytes(_) | SourceOrigin::Table(_) => None,
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
        self.raw()?.length().map_err(|error| self.error(error.to_string()))
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
        let magic = raw.fill_buf().map_err(|error| self.error(error.to_string()))?;
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

/// Adds every file below a folder with the extension of a result file.
fn files_below(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), ReadError> {
    let mut folders = vec![folder.to_path_buf()];
    // A link may lead back to a folder above it.
    let mut known = HashSet::new();
    let refuse = |path: &Path, error: &io::Error| {
        ReadError::new(path.display().to_string(), explain_io_error(error)).hint(MAY_BE_READ)
    };
    while let Some(folder) = folders.pop() {
        let real = std::fs::canonicalize(&folder).map_err(|error| refuse(&folder, &error))?;
        if !known.insert(real) {
            continue;
        }
        for entry in std::fs::read_dir(&folder).map_err(|error| refuse(&folder, &error))? {
            let path = entry.map_err(|error| refuse(&folder, &error))?.path();
            if is_hidden(&path) {
                continue;
            }
            // What a link leads to is read as if it stood here.
            match std::fs::metadata(&path) {
                Ok(metadata) if metadata.is_dir() => folders.push(path),
                Ok(_) if is_packed_result(&path) => {
                    let name = path.display().to_string();
                    let hint = "unpack it, or remove it; gzip and zstd are read as they are";
                    return Err(ReadError::new(name, "results in this compression format are not read").hint(hint));
                }
                Ok(metadata) if is_result(&path) => {
                    if !metadata.is_file() {
                        return Err(no_file(&path));
                    }
                    found.push(path);
                }
                Ok(_) => {}
                Err(_) if !is_result(&path) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let name = path.display().to_string();
                    let hint = "fetch the file that it points to, or remove the link";
                    return Err(ReadError::new(name, "the link leads nowhere").hint(hint));
                }
                Err(error) => return Err(refuse(&path, &error)),
            }
        }
    }
    Ok(())
}

/// The error for a pipe or a device among files. If nothing writes to it, reading it never ends.
fn no_file(path: &Path) -> ReadError {
    let name = path.display().to_string();
    ReadError::new(name, "this is not a file").hint("remove it, or name it by itself to read what is written to it")
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

/// Packings that are not read.
const PACKINGS: [&str; 9] = [".xz", ".bz2", ".lz4", ".br", ".lzma", ".7z", ".zip", ".tar", ".tgz"];

/// True for results in a packing that is not read: they must not go unread without a word.
fn is_packed_result(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    PACKINGS.iter().any(|packing| name.strip_suffix(packing).is_some_and(|name| is_result(Path::new(name))))
}

/// The extensions that a folder is searched for. A file given by name may have any extension.
fn is_result(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let name = name.trim_end_matches(".gz").trim_end_matches(".zst");
    !is_hidden(path)
        && [".eval", ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".xml"]
            .iter()
            .any(|end| name.ends_with(end))
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
