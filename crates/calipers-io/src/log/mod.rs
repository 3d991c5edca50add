//! The log of a running evaluation: an Inspect `.eval` to which every finished attempt is appended.
//!
//! An attempt is one member of the archive, stored with a single write, so that a killed process loses at most the
//! attempt that it was writing. From time to time new summaries and the directory of the archive are written after the
//! last member, so that Inspect's viewer can follow; the next attempt overwrites the directory. A log without a
//! directory is read from its beginning, member by member.
//!
//! Memory holds one directory entry per attempt, about 80 bytes.

mod attempt_json;
mod header_difference;
mod log_header;
mod log_upload;
mod logged_attempts;
mod resume;

pub use header_difference::HeaderDifference;
pub(crate) use log_header::finished_header;
pub use log_header::{
    EarlyStop, EarlyStopping, Ending, LogDataset, LogHeader, LogLimits, LogScorer, LogStatus, LogStep, log_id,
    log_name, timestamp,
};
pub(crate) use logged_attempts::read_member;
pub(crate) use logged_attempts::read_message;
pub use logged_attempts::{LoggedAttempt, LoggedAttempts, read_attempts};
pub use resume::ResumedLog;

use crate::formats::inspect::{Member, MemberReader, Packer, local_header, member_name, open_member, summary};
use crate::private_file::private_file;
use crate::source::to_location;
use crate::write::inspect::reductions;
use crate::{Source, WriteError};
use calipers_core::Transcript;
use log_upload::LogUpload;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The minimum time between two directories. It grows to a hundredth of the run's age, so that a log of days has
/// hundreds of directories, not a hundred thousand.
const FLUSH_AFTER: Duration = Duration::from_secs(2);
const FLUSH_SHARE: u32 = 100;
/// Summaries are journalled once they reach this many bytes.
const JOURNAL_MAX: usize = 1 << 20;
/// The disk space that must be free to start a log.
const ROOM: usize = 1 << 20;
/// The name of a member has at most 65,535 bytes, and the id of a sample is part of it.
const ID_MAX: usize = 60_000;

/// The log of a running evaluation.
///
/// ```
/// use calipers_io::{Ending, EvalLog, LogHeader, LogStatus, log_name, timestamp};
///
/// let header = LogHeader::new("colors", "mockllm/model", timestamp(1_767_225_600_000));
/// # let folder = std::env::temp_dir().join(format!("calipers-log-doc-{}", std::process::id()));
/// let log = EvalLog::create(&folder.join(log_name(&header)), &header)?;
/// // `log.add(&transcript)?` for every attempt, and then:
/// log.finish(&Ending::new(LogStatus::Success, 1_767_225_600_000, 1_767_225_660_000))?;
/// # std::fs::remove_dir_all(&folder).ok();
/// # Ok::<(), calipers_io::WriteError>(())
/// ```
pub struct EvalLog {
    path: PathBuf,
    /// The object that the file becomes a copy of, if the log is in a bucket.
    upload: Option<LogUpload>,
    file: File,
    packer: Packer,
    eval_id: String,
    model: String,
    /// The beginning of the journal.
    start: Member,
    /// The journalled summaries.
    journals: Vec<Member>,
    /// The summaries that are not yet journalled, each preceded by a comma.
    summaries: Vec<u8>,
    /// Where the members end.
    end: u64,
    /// True when a directory of all members is at `end`.
    is_whole: bool,
    /// The attempts that stay in a resumed log. The file is unchanged until there is something to add.
    kept: Option<Vec<Member>>,
    begun: Instant,
    flushed: Instant,
    bytes: Vec<u8>,
}

impl std::fmt::Debug for EvalLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EvalLog").field("path", &self.path).field("end", &self.end).finish_non_exhaustive()
    }
}

impl EvalLog {
    /// Starts a log. The folder is created if needed; an existing file is never touched.
    ///
    /// The beginning is on disk when this returns, and there is space for more: a full disk or a read-only folder is
    /// noticed before anything is paid for. If the path is an address such as `s3://bucket/logs/x.eval`, the log is a
    /// temporary file that is sent whole from time to time and at the end.
    pub fn create(path: &Path, header: &LogHeader) -> Result<Self, WriteError> {
        match to_location(path) {
            Some(location) => {
                let upload = LogUpload::begin(path, location)?;
                let mut log = Self::create_file(&upload.file(), header)?;
                log.upload = Some(upload);
                log.send(true)?;
                Ok(log)
            }
            None => Self::create_file(path, header),
        }
    }

    fn create_file(path: &Path, header: &LogHeader) -> Result<Self, WriteError> {
        let name = path.display().to_string();
        check_header(&name, header)?;
        let cannot = |error: io::Error| {
            let hint = match error.kind() {
                io::ErrorKind::AlreadyExists => "a log is never overwritten; name another file, or resume this one",
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room, or name another folder",
                _ => "check the folder, and that it may be written to",
            };
            WriteError::new(&*name, format!("the log cannot be started: {error}")).hint(hint)
        };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(|error| {
                let what = format!("the folder of the log cannot be created: {error}");
                WriteError::new(&*name, what).hint("check the folder, and that it may be written to")
            })?;
        }
        let file = private_file().read(true).write(true).create_new(true).open(path).map_err(cannot)?;
        let begun = begin(file, path, header);
        begun.map_err(|error| {
            // It holds nothing yet, and would block the next try.
            let _ = fs::remove_file(path);
            cannot(error)
        })
    }

    /// A log whose file contains its beginning, with a directory at `end`.
    fn open(path: &Path, file: File, packer: Packer, header: &LogHeader, start: Member, end: u64) -> Self {
        let now = Instant::now();
        Self {
            path: path.to_owned(),
            upload: None,
            file,
            packer,
            eval_id: header.eval_id.clone(),
            model: header.model.clone(),
            start,
            journals: Vec::new(),
            summaries: Vec::new(),
            end,
            is_whole: true,
            kept: None,
            begun: now,
            flushed: now,
            bytes: Vec::new(),
        }
    }

    /// The path of the log, or its address.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.upload.as_ref().map_or(&self.path, |upload| upload.address())
    }

    /// Adds an attempt. When this returns, the attempt survives the process.
    pub fn add(&mut self, attempt: &Transcript) -> Result<(), WriteError> {
        if attempt.scores.iter().any(|(scorer, _)| scorer.is_empty()) {
            return Err(self.error(format!("a scorer of sample `{}` has no name", attempt.id)).hint("give it one"));
        }
        self.go_on()?;
        let json = attempt_json::sample_json(attempt, &self.eval_id, &self.model);
        self.append(&member_name(&attempt.id, attempt.epoch), &json)?;
        self.summarise(&json)?;
        self.flush_if_due()
    }

    /// Writes a directory if none was written for a while. Adding attempts does this, too; call it while none arrive,
    /// so that readers need not wait for the next attempt.
    pub fn flush_if_due(&mut self) -> Result<(), WriteError> {
        let after = FLUSH_AFTER.max(self.begun.elapsed() / FLUSH_SHARE);
        if self.flushed.elapsed() >= after {
            self.flush()?;
            self.send(false)?;
        }
        Ok(())
    }

    /// Sends the log to its bucket, if it is in one and it is time. A log on the way to being whole is not sent.
    fn send(&mut self, is_last: bool) -> Result<(), WriteError> {
        match &mut self.upload {
            Some(upload) if self.is_whole && self.kept.is_none() => upload.send(&self.path, self.end, is_last),
            _ => Ok(()),
        }
    }

    /// Writes a directory, so that others can read the log so far. It is free if nothing was added since the last one.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.flushed = Instant::now();
        if self.is_whole || self.kept.is_some() {
            return Ok(());
        }
        self.journal()?;
        let directory = self.packer.directory(self.end);
        let written = self.write_at_end(&directory);
        // No old bytes may remain after it.
        let written = written.and_then(|()| self.file.set_len(self.end + directory.len() as u64));
        self.is_whole = written.is_ok();
        written.map_err(|error| self.write_error(&error))
    }

    /// Ends the log: summaries, reduced scores, figures and the directory.
    pub fn finish(mut self, ending: &Ending<'_>) -> Result<(), WriteError> {
        self.go_on()?;
        self.journal()?;
        let (mark, end) = (self.packer.mark(), self.end);
        self.end_with(ending).inspect_err(|_| {
            // Half an ending would look like a whole one. Without it, there is more room for the directory.
            self.packer.back_to(mark);
            (self.end, self.is_whole) = (end, false);
            let _ = self.file.set_len(end);
        })?;
        self.send(true)
    }

    fn end_with(&mut self, ending: &Ending<'_>) -> Result<(), WriteError> {
        self.all_summaries().map_err(|error| self.write_error(&error))?;
        if let Some(results) = ending.results.filter(|results| !results.reductions.is_empty()) {
            self.append("reductions.json", &reductions(results))?;
        }
        let start = self.read_back(&self.start).map_err(|error| self.write_error(&error))?;
        let header = finished_header(&start, ending).map_err(|why| self.write_error(&io::Error::other(why)))?;
        self.append("header.json", &header)?;
        self.flush()?;
        self.file.sync_all().map_err(|error| self.write_error(&error))
    }

    fn error(&self, what: impl Into<String>) -> WriteError {
        WriteError::new(self.path().display().to_string(), what)
    }

    fn write_error(&self, error: &io::Error) -> WriteError {
        let what = format!("the log cannot be written: {error}");
        self.error(what).hint("make room on the disk, then resume the log; what was added before is in it")
    }

    /// Appends a member with a single write. If that fails, the log is unchanged.
    fn append(&mut self, name: &str, content: &[u8]) -> Result<Member, WriteError> {
        let mark = self.packer.mark();
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        let packed = self.packer.pack(&mut bytes, self.end, name, content);
        let done = packed.and_then(|member| self.write_at_end(&bytes).map(|()| member));
        if done.is_ok() {
            self.end += bytes.len() as u64;
            self.is_whole = false;
        } else {
            self.packer.back_to(mark);
        }
        self.bytes = bytes;
        done.map_err(|error| self.write_error(&error))
    }

    /// Writes after the last member, over a directory that may be there: half a directory is worse than none.
    fn write_at_end(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.is_whole {
            self.is_whole = false;
            self.file.set_len(self.end)?;
        }
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(bytes).inspect_err(|_| {
            let _ = self.file.set_len(self.end);
        })
    }

    fn summarise(&mut self, sample: &[u8]) -> Result<(), WriteError> {
        self.summaries.push(b',');
        summary(&mut self.summaries, sample);
        if self.summaries.len() >= JOURNAL_MAX { self.journal() } else { Ok(()) }
    }

    /// Journals the pending summaries.
    fn journal(&mut self) -> Result<(), WriteError> {
        if self.summaries.is_empty() {
            return Ok(());
        }
        let mut list = std::mem::take(&mut self.summaries);
        list[0] = b'[';
        list.push(b']');
        let name = format!("_journal/summaries/{}.json", self.journals.len() + 1);
        match self.append(&name, &list) {
            Ok(member) => self.journals.push(member),
            Err(error) => {
                list.pop();
                list[0] = b',';
                self.summaries = list;
                return Err(error);
            }
        }
        list.clear();
        self.summaries = list;
        Ok(())
    }

    /// Writes all summaries, copied from the journal: they may not fit into memory.
    fn all_summaries(&mut self) -> io::Result<()> {
        let (mut member, header) = open_member("summaries.json", self.end)?;
        self.write_at_end(&header)?;
        let source = Source::path(&self.path);
        let mut reader = MemberReader::new(&source, self.end).map_err(io::Error::other)?;
        let stored = CountingFile { inner: BufWriter::with_capacity(1 << 16, &self.file), count: 0 };
        let mut zstd = zstd::stream::write::Encoder::new(stored, zstd::DEFAULT_COMPRESSION_LEVEL)?;
        let mut crc = crc32fast::Hasher::new();
        let mut put = |bytes: &[u8], zstd: &mut dyn Write| {
            crc.update(bytes);
            member.size += bytes.len() as u64;
            zstd.write_all(bytes)
        };
        put(b"[", &mut zstd)?;
        for (place, journal) in self.journals.iter().enumerate() {
            let list = reader.read(journal).map_err(io::Error::other)?;
            if place > 0 {
                put(b",", &mut zstd)?;
            }
            put(&list[1..list.len() - 1], &mut zstd)?;
        }
        put(b"]", &mut zstd)?;
        let mut stored = zstd.finish()?;
        stored.inner.flush()?;
        member.stored = stored.count;
        member.crc = crc.finalize();
        drop(stored);
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(&local_header(&member, true)?)?;
        self.end += header.len() as u64 + member.stored;
        self.packer.keep(&member);
        Ok(())
    }

    fn read_back(&self, member: &Member) -> io::Result<Vec<u8>> {
        let mut reader = MemberReader::new(&Source::path(&self.path), self.end).map_err(io::Error::other)?;
        reader.read(member).map(<[u8]>::to_vec).map_err(io::Error::other)
    }
}

impl Drop for EvalLog {
    fn drop(&mut self) {
        // An abandoned log stays readable. A failure here cannot be reported.
        let _ = self.flush();
        let _ = self.send(true);
    }
}

/// A writer that counts the bytes that reach a file.
struct CountingFile<W> {
    inner: W,
    count: u64,
}

impl<W: Write> Write for CountingFile<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.count += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Checks for what cannot be written before the first answer is paid for.
fn check_header(name: &str, header: &LogHeader) -> Result<(), WriteError> {
    if header.scorers.iter().any(|scorer| scorer.name.is_empty()) {
        return Err(
            WriteError::new(name, "a scorer has no name").hint("logs have scores only under a name; give it one")
        );
    }
    let is_long = |id: &&calipers_core::SampleId| id.to_string().len() > ID_MAX;
    if let Some(id) = header.dataset.sample_ids.iter().find(is_long) {
        let start: String = id.to_string().chars().take(40).collect();
        let what = format!("the id of a sample has more than {ID_MAX} bytes: `{start}…`");
        return Err(WriteError::new(name, what).hint("give it a shorter one"));
    }
    Ok(())
}

/// Writes the beginning of a new log.
fn begin(mut file: File, path: &Path, header: &LogHeader) -> io::Result<EvalLog> {
    lock(&file)?;
    // A nearly full disk would accept the first lines of a log and no more.
    file.write_all(&vec![0; ROOM])?;
    file.sync_all()?;
    file.set_len(0)?;
    let mut packer = Packer::new()?;
    let mut bytes = Vec::new();
    let start = packer.pack(&mut bytes, 0, "_journal/start.json", &header.start())?;
    let end = bytes.len() as u64;
    bytes.extend_from_slice(&packer.directory(end));
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&bytes)?;
    file.sync_all()?;
    Ok(EvalLog::open(path, file, packer, header, start, end))
}

/// Two processes that append to one log would overwrite each other. The lock ends with the process. File systems
/// without locks are trusted.
fn lock(file: &File) -> io::Result<()> {
    // On Windows a lock also blocks readers, and a log is read while it grows.
    if cfg!(windows) {
        return Ok(());
    }
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(io::Error::other("another process is writing to it")),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// Waits a moment for the lock of a log that was cut off: a killed process may need time to exit.
fn lock_soon(file: &File) -> io::Result<()> {
    const PATIENCE: Duration = Duration::from_secs(3);
    let begun = Instant::now();
    loop {
        match lock(file) {
            Err(_) if begun.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(50)),
            done => return done,
        }
    }
}
