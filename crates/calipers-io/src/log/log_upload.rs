//! A log in a bucket: a file on this machine that is sent whole, so that no reader ever sees a part of it.
//!
//! Objects cannot be appended to. The file is sent when the log begins, from time to time while it grows, and when it ends;
//! what is sent always has a directory. A killed process loses what came after the last time, and the object is as it was.

use crate::private_file::{create_temporary_folder, private_file};
use crate::write::store_error;
use crate::{ReadError, Source, WriteError};
use calipers_store::{Location, Object, ObjectReader, PutCondition, StoreError, StoreFault};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The least time between two sendings. It grows with the time that one takes, so that sending takes a twentieth of a run.
const SEND_AFTER: Duration = Duration::from_secs(30);
const SEND_SHARE: u32 = 20;

/// The object that a log on this machine becomes.
#[derive(Debug)]
pub(super) struct LogUpload {
    location: Location,
    /// As messages and reports name it.
    address: PathBuf,
    /// The folder of the file, which has nothing else in it.
    folder: PathBuf,
    condition: PutCondition,
    /// When it was sent last, how long that took, and how long the log was.
    sent: Option<(Instant, Duration, u64)>,
    /// True when the object is as the file is, so that the file can go.
    is_safe: bool,
}

impl LogUpload {
    /// A new object. It must not be there yet.
    pub(super) fn begin(path: &Path, location: Result<Location, StoreError>) -> Result<Self, WriteError> {
        let name = calipers_store::redact(&path.to_string_lossy());
        let location = location.map_err(|error| store_error(&name, &error))?;
        Self::new(location).map_err(|error| {
            let what = format!("the log cannot be started: {error}");
            WriteError::new(name, what).hint("check the folder for temporary files, or name another with TMPDIR")
        })
    }

    fn new(location: Location) -> io::Result<Self> {
        let folder = create_temporary_folder()?;
        let address = PathBuf::from(location.to_string());
        Ok(Self { location, address, folder, condition: PutCondition::New, sent: None, is_safe: true })
    }

    /// An object that is there, with its content in the file.
    pub(super) fn fetch(location: Location) -> Result<Self, ReadError> {
        let name = location.to_string();
        let object = Object::open(&location).map_err(|error| crate::source::store_error(&name, &error))?;
        let source = Source::path(&name);
        let mut upload = Self::new(location).map_err(|error| source.unreadable(&error))?;
        let mut copy = || -> io::Result<()> {
            let mut file = private_file().write(true).create_new(true).open(upload.file())?;
            io::copy(&mut ObjectReader::new(object.clone()), &mut file)?;
            upload.condition = object.tag()?.map_or(PutCondition::Always, PutCondition::Unchanged);
            Ok(())
        };
        copy().map_err(|error| source.unreadable(&error))?;
        Ok(upload)
    }

    /// Where the file is.
    pub(super) fn file(&self) -> PathBuf {
        self.folder.join(self.location.file_name())
    }

    pub(super) fn address(&self) -> &Path {
        &self.address
    }

    /// Sends the log as it is, which has all members up to this place, unless that was done a moment ago.
    pub(super) fn send(&mut self, file: &Path, end: u64, is_last: bool) -> Result<(), WriteError> {
        let is_due = |&(at, took, _): &(Instant, Duration, u64)| at.elapsed() >= SEND_AFTER.max(took * SEND_SHARE);
        let is_new = self.sent.is_none_or(|(_, _, length)| length != end);
        if !is_new || !(is_last || self.sent.as_ref().is_none_or(is_due)) {
            return Ok(());
        }
        let begun = Instant::now();
        self.is_safe = false;
        match calipers_store::put(&self.location, file, &self.condition) {
            Ok(tag) => {
                self.condition = tag.map_or(PutCondition::Always, PutCondition::Unchanged);
                self.sent = Some((Instant::now(), begun.elapsed(), end));
                self.is_safe = true;
                Ok(())
            }
            // The next time may go better, and the last one decides.
            Err(error) if !is_last && error.fault() != StoreFault::Changed => {
                let before = self.sent.map_or(0, |(_, _, length)| length);
                self.sent = Some((Instant::now(), begun.elapsed(), before));
                Ok(())
            }
            Err(error) => Err(self.explain(&error, file)),
        }
    }

    fn explain(&mut self, error: &StoreError, file: &Path) -> WriteError {
        let name = self.location.to_string();
        // Nothing is in it yet.
        if self.condition == PutCondition::New {
            self.is_safe = true;
            let error = store_error(&name, error);
            return match error.advice() {
                Some(_) => error,
                None => error.hint("a log is never overwritten; name another folder, or resume this one"),
            };
        }
        let hint = format!("the log is kept in {}: copy it there by hand, or resume it", file.display());
        WriteError::new(name, format!("the log cannot be sent: {error}")).hint(hint)
    }
}

impl Drop for LogUpload {
    fn drop(&mut self) {
        // What did not arrive is kept.
        if self.is_safe {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}
