//! Where bytes go: a file that appears only when it is whole, or standard output.

use super::WriteError;
use crate::Remedy;
use crate::error::explain_io_error;
use flate2::write::GzEncoder;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A place to write to, opened before the work starts so that a wrong name fails at once.
///
/// A file is written under another name in the same folder and renamed by [`finish`](Self::finish). Whatever fails
/// before that leaves what was there as it was.
#[derive(Debug)]
pub struct OutputFile {
    name: String,
    sink: Option<OutputSink>,
    /// The file in the making, and what it will be called. None for standard output and devices.
    place: Option<(PathBuf, PathBuf)>,
    force: bool,
}

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
            place: None,
            force: false,
        }
    }

    /// A file. An existing file is refused unless `replace` is set.
    ///
    /// A name that ends in `.gz` or `.zst` is compressed.
    pub fn create(path: impl AsRef<Path>, force: bool) -> Result<Self, WriteError> {
        let path = path.as_ref();
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
                return Ok(Self { sink: Some(sink(&name, file).map_err(fail)?), name, place: None, force });
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
        Ok(Self { name, sink: Some(sink), place: Some((making, target)), force })
    }

    /// Removes the old file, so that it cannot be mistaken for the new one if something fails from here on.
    pub fn clear(&self) -> Result<(), WriteError> {
        let Some((_, target)) = &self.place else { return Ok(()) };
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
    pub fn finish_with(mut self, text: &str) -> Result<(), WriteError> {
        let written = self.text().write_all(text.as_bytes());
        written.map_err(|error| self.write_error(&error))?;
        self.finish()
    }

    /// Puts the file in its place.
    pub fn finish(mut self) -> Result<(), WriteError> {
        if let Some(sink) = self.sink.take() {
            sink.finish().map_err(|error| self.write_error(&error))?;
        }
        let Some((making, target)) = &self.place else { return Ok(()) };
        if !self.force && target.exists() {
            return Err(exists(&self.name));
        }
        fs::rename(making, target).map_err(|error| self.write_error(&error))?;
        self.place = None;
        Ok(())
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some((making, _)) = &self.place {
            // The buffered bytes are discarded; a failure here cannot be reported.
            self.sink = None;
            let _ = fs::remove_file(making);
        }
    }
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
