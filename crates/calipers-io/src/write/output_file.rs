//! Where bytes go: a file or an object that appears only when it is whole, or standard output.

use super::WriteError;
use crate::Remedy;
use crate::error::explain_io_error;
use crate::private_file::{create_temporary_folder, private_file};
use crate::source::to_location;
use calipers_store::{Location, PutCondition, StoreError, StoreFault};
use flate2::write::GzEncoder;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A place to write to, opened before the work starts so that a wrong name fails at once.
///
/// A file is written under another name in the same folder and renamed by [`finish`](Self::finish). Whatever fails
/// before that leaves what was there as it was. An object is written to a temporary file first, and sent by `finish`.
#[derive(Debug)]
pub struct OutputFile {
    name: String,
    sink: Option<OutputSink>,
    place: OutputPlace,
    force: bool,
}

/// Where a finished output goes.
#[derive(Debug)]
enum OutputPlace {
    /// Standard output and devices: it is there already.
    InPlace,
    /// The file in the making, and what it will be called.
    File { making: PathBuf, target: PathBuf },
    /// The folder of the file in the making, which has nothing else in it, and the object.
    Object { folder: PathBuf, location: Location },
}

/// The name of a file that becomes an object.
const SPOOLED: &str = "object";

enum OutputSink {
    Plain(BufWriter<File>),
    Gzip(GzEncoder<BufWriter<File>>),
    Zstd(zstd::Encoder<'static, BufWriter<File>>),
    Stdout(BufWriter<Pipe>),
}

/// Standard output. When its reader goes away, as `head` does, the rest is discarded without an error.
struct Pipe {
    out: io::Stdout,
    is_closed: bool,
}

impl Pipe {
    fn unless_closed(&mut self, done: io::Result<()>) -> io::Result<()> {
        match done {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(())
            }
            done => done,
        }
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_closed {
            let done = self.out.write_all(bytes);
            self.unless_closed(done)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = if self.is_closed { Ok(()) } else { self.out.flush() };
        self.unless_closed(done)
    }
}

impl std::fmt::Debug for OutputSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Plain(_) => "Plain",
            Self::Gzip(_) => "Gzip",
            Self::Zstd(_) => "Zstd",
            Self::Stdout(_) => "Stdout",
        })
    }
}

impl OutputSink {
    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Plain(file) => file,
            Self::Gzip(file) => file,
            Self::Zstd(file) => file,
            Self::Stdout(out) => out,
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(mut file) => file.flush(),
            Self::Gzip(file) => file.finish()?.flush(),
            Self::Zstd(file) => file.finish()?.flush(),
            Self::Stdout(mut out) => out.flush(),
        }
    }
}

impl OutputFile {
    /// Standard output, under the name `-`.
    #[must_use]
    pub fn stdout() -> Self {
        Self {
            name: "-".into(),
            sink: Some(OutputSink::Stdout(BufWriter::new(Pipe { out: io::stdout(), is_closed: false }))),
            place: OutputPlace::InPlace,
            force: false,
        }
    }

    /// A file, or an object if the path is an address such as `s3://bucket/results.csv`. What exists is refused unless `force`
    /// is set.
    ///
    /// A name that ends in `.gz` or `.zst` is compressed.
    pub fn create(path: impl AsRef<Path>, force: bool) -> Result<Self, WriteError> {
        let path = path.as_ref();
        match to_location(path) {
            Some(Ok(location)) => return Self::create_object(location, force),
            Some(Err(error)) => return Err(store_error(&calipers_store::redact(&path.to_string_lossy()), &error)),
            None => {}
        }
        let name = path.display().to_string();
        let fail = |error: io::Error| {
            WriteError::new(&*name, explain_io_error(&error)).hint("check the folder, and that it may be written to")
        };
        // The target of a link is replaced, not the link.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let found = fs::metadata(&target);
        match &found {
            Ok(found) if found.is_dir() => {
                let hint = "end the name with `/` to write one file per run into it";
                return Err(WriteError::new(name, "this is a folder").hint(hint));
            }
            Ok(found) if !found.is_file() => {
                // A device or a pipe is written to as it is: it must not be replaced by a file.
                let file = File::options().write(true).open(&target).map_err(fail)?;
                let sink = sink(&name, file).map_err(fail)?;
                return Ok(Self { sink: Some(sink), name, place: OutputPlace::InPlace, force });
            }
            Ok(_) if !force => return Err(exists(&name)),
            _ => {}
        }
        let making = in_the_making(&target);
        let file = File::create_new(&making).map_err(fail)?;
        // The permissions of the file stay as they were.
        let kept = found.map_or(Ok(()), |found| fs::set_permissions(&making, found.permissions()));
        let sink = kept.and_then(|()| sink(&name, file)).map_err(|error| {
            let _ = fs::remove_file(&making);
            fail(error)
        })?;
        Ok(Self { name, sink: Some(sink), place: OutputPlace::File { making, target }, force })
    }

    fn create_object(location: Location, force: bool) -> Result<Self, WriteError> {
        let name = location.to_string();
        if location.is_folder() {
            return Err(WriteError::new(name, "this is a folder").hint("add the name of the object"));
        }
        if !location.scheme().is_bucket() {
            let hint = "name a file on this machine, or an object in s3://, gs:// or az://";
            return Err(WriteError::new(name, "nothing is written to a web server").hint(hint));
        }
        match calipers_store::look(&location) {
            Ok(Some(_)) if !force => return Err(exists(&name)),
            Ok(_) => {}
            // Who may write an object may not be allowed to look at it.
            Err(error) if error.fault() == StoreFault::Denied && force => {}
            Err(error) => return Err(store_error(&name, &error)),
        }
        let fail = |error: io::Error| {
            let what = format!("there is no room for temporary files: {}", explain_io_error(&error));
            WriteError::new(&*name, what).hint("check the folder for temporary files, or name another with TMPDIR")
        };
        let folder = create_temporary_folder().map_err(fail)?;
        let opened = private_file().read(true).write(true).create_new(true).open(folder.join(SPOOLED));
        let sink = opened.and_then(|file| sink(&name, file)).map_err(|error| {
            let _ = fs::remove_dir_all(&folder);
            fail(error)
        })?;
        Ok(Self { name, sink: Some(sink), place: OutputPlace::Object { folder, location }, force })
    }

    /// Removes the old file, so that it cannot be mistaken for the new one if something fails from here on.
    pub fn clear(&self) -> Result<(), WriteError> {
        let target = match &self.place {
            OutputPlace::InPlace => return Ok(()),
            OutputPlace::File { target, .. } => target,
            OutputPlace::Object { location, .. } => {
                return calipers_store::remove(location).map_err(|error| store_error(&self.name, &error));
            }
        };
        match fs::remove_file(target) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                let what = format!("the old file cannot be removed: {}", explain_io_error(&error));
                Err(WriteError::new(&*self.name, what).hint("check the folder, and that it may be written to"))
            }
            _ => Ok(()),
        }
    }

    /// How it is named in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True when the file is to be a JSON document, compressed or not.
    pub(crate) fn is_json(&self) -> bool {
        self.name.to_lowercase().trim_end_matches(".gz").trim_end_matches(".zst").ends_with(".json")
    }

    /// The error for what went wrong with writing.
    pub(crate) fn write_error(&self, error: &dyn std::fmt::Display) -> WriteError {
        WriteError::new(&*self.name, format!("the file cannot be written: {error}")).hint("is the disk full?")
    }

    /// Where text goes.
    pub(crate) fn text(&mut self) -> &mut dyn Write {
        self.sink.as_mut().expect("not finished yet").writer()
    }

    /// Where archives go, which jump back to fill in sizes.
    pub(crate) fn archive(&mut self) -> Result<&mut BufWriter<File>, WriteError> {
        match &mut self.sink {
            Some(OutputSink::Plain(file)) => Ok(file),
            Some(OutputSink::Stdout(_)) => Err(WriteError::new("-", "an archive cannot be written to standard output")
                .hint("name a file, or write native records")
                .with_remedy(Remedy::WriteRecords)),
            _ => Err(WriteError::new(&*self.name, "an archive is compressed already")
                .hint("leave out the ending `.gz` or `.zst`")),
        }
    }

    /// Writes a text and puts the file in its place.
    pub fn finish_with(self, text: &str) -> Result<(), WriteError> {
        self.finish_with_bytes(text.as_bytes())
    }

    /// Writes bytes and puts the file in its place.
    pub fn finish_with_bytes(mut self, bytes: &[u8]) -> Result<(), WriteError> {
        let written = self.text().write_all(bytes);
        written.map_err(|error| self.write_error(&error))?;
        self.finish()
    }

    /// Puts the file in its place.
    pub fn finish(mut self) -> Result<(), WriteError> {
        if let Some(sink) = self.sink.take() {
            sink.finish().map_err(|error| self.write_error(&error))?;
        }
        match &self.place {
            OutputPlace::InPlace => {}
            OutputPlace::File { target, .. } if !self.force && target.exists() => return Err(exists(&self.name)),
            OutputPlace::File { making, target } => {
                fs::rename(making, target).map_err(|error| self.write_error(&error))?;
                self.place = OutputPlace::InPlace;
            }
            OutputPlace::Object { folder, location } => {
                let condition = if self.force { PutCondition::Always } else { PutCondition::New };
                calipers_store::put(location, &folder.join(SPOOLED), &condition).map_err(|error| {
                    if error.fault() == StoreFault::Exists {
                        exists(&self.name)
                    } else {
                        store_error(&self.name, &error)
                    }
                })?;
            }
        }
        Ok(())
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        // The buffered bytes are discarded; a failure here cannot be reported.
        match &self.place {
            OutputPlace::InPlace => {}
            OutputPlace::File { making, .. } => {
                self.sink = None;
                let _ = fs::remove_file(making);
            }
            OutputPlace::Object { folder, .. } => {
                self.sink = None;
                let _ = fs::remove_dir_all(folder);
            }
        }
    }
}

/// A failure with an object, as an error of writing it.
pub(crate) fn store_error(name: &str, error: &StoreError) -> WriteError {
    let write = WriteError::new(name, error.what());
    error.advice().into_iter().fold(write, WriteError::hint)
}

fn exists(name: &str) -> WriteError {
    WriteError::new(name, "the file exists")
        .hint("name another file, or replace this one")
        .with_remedy(Remedy::ReplaceFile)
}

fn sink(name: &str, file: File) -> io::Result<OutputSink> {
    let file = BufWriter::with_capacity(1 << 16, file);
    let name = name.to_lowercase();
    Ok(if name.ends_with(".gz") {
        OutputSink::Gzip(GzEncoder::new(file, flate2::Compression::default()))
    } else if name.ends_with(".zst") {
        OutputSink::Zstd(zstd::Encoder::new(file, zstd::DEFAULT_COMPRESSION_LEVEL)?)
    } else {
        OutputSink::Plain(file)
    })
}

/// A temporary name beside the target, with an extension that folder searches ignore. Two processes never share one.
fn in_the_making(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.{}.part", std::process::id()))
}
