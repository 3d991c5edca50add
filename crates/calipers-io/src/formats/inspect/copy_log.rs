//! Converts a log from one form to the other without loss: the JSON of the header and of the samples is copied.
//!
//! Only the message pool is resolved on the way to a document, because documents have none (see `message_pool.rs`).

use super::message_pool::resolve;
use super::read_eval::SampleMember;
use super::read_sample::{LoggedSample, SampleNames};
use super::write_log::{SampleText, entries_of, entries_without, write_archive, write_document};
use super::zip_archive::{Archive, Member, MemberReader};
use super::{is_archive, seekable};
use crate::json::skim::{Skim, items};
use crate::write::{OutputFile, WriteError};
use crate::{FilePlace, Projection, ReadError, Remedy, Source};

/// An Inspect log, ready to be written in either form.
///
/// Unlike [`read`](crate::read), which takes what scoring needs, this keeps everything: transcripts, events, attachments.
/// An archive is read member by member; a document is held in memory.
#[derive(Debug)]
pub struct InspectLog {
    source: Source,
    is_archive: bool,
    /// The content of a document.
    document: Vec<u8>,
}

impl InspectLog {
    /// Opens a log.
    pub fn open(source: &Source) -> Result<Self, ReadError> {
        let head = source.head()?;
        if !is_archive(&head) {
            let bytes = source.read_all()?;
            let document = bytes.strip_prefix(&[0xef, 0xbb, 0xbf]).map_or_else(|| bytes.clone(), <[u8]>::to_vec);
            return Ok(Self { source: source.clone(), is_archive: false, document });
        }
        Ok(Self { source: seekable(source)?, is_archive: true, document: Vec::new() })
    }

    /// Writes the log, as a document if the file name ends in `.json` and otherwise as an archive. Returns notes.
    pub fn write(&self, out: &mut OutputFile) -> Result<Vec<String>, WriteError> {
        let target = out.name().to_owned();
        let unreadable = |error: ReadError| WriteError::new(&*target, error.to_string());
        let wants_archive = !out.is_json();
        if self.is_archive == wants_archive {
            // The form stays the same, so the log is copied as it is.
            let bytes = self.source.read_all().map_err(unreadable)?;
            out.text().write_all(&bytes).map_err(|error| out.write_error(&error))?;
            return Ok(Vec::new());
        }
        if self.is_archive {
            self.archive_as_document(out).map_err(|error| error.map_read(unreadable))
        } else {
            self.document_as_archive(out).map_err(|error| error.map_read(unreadable))
        }
    }

    fn archive_as_document(&self, out: &mut OutputFile) -> Result<Vec<String>, CopyError> {
        let archive = Archive::open(&self.source)?;
        let mut reader = archive.reader()?;
        let header = self.archive_header(&archive, &mut reader)?;
        let mut notes = Vec::new();
        let mut places = Vec::new();
        let mut names = SampleNames::new(&Projection::everything());
        for member in SampleMember::all(&archive.members) {
            if member.is_in_parts() {
                let what = "the log keeps samples in parts, which cannot be copied into a document";
                return Err(self.source.error(what).in_member(member.name()).hint("write it as `.eval`").into());
            }
            match reader.read(member.shell()) {
                Ok(bytes) => {
                    let sample = LoggedSample::parse(bytes, &mut names)
                        .map_err(|wrong| self.source.error(wrong.what).in_member(member.name()))?;
                    places.push((sample.place(), member));
                }
                Err(why) => notes.push(format!("`{}` is damaged and was left out: {why}", member.name())),
            }
        }
        places.sort_by(|(a, _), (b, _)| a.cmp(b));
        let reductions = match archive.find("reductions.json").map(|member| reader.read(member).map(<[u8]>::to_vec)) {
            Some(Ok(reductions)) => Some(reductions),
            Some(Err(why)) => {
                notes.push(format!("`reductions.json` is damaged and was left out: {why}"));
                None
            }
            None => None,
        };
        self.source.check_arrived()?;
        let name = out.name().to_owned();
        let samples = places.iter().map(|((epoch, id), member)| {
            let json = reader.read(member.shell()).map_err(|why| WriteError::new(&*name, why))?;
            let json = resolve(json).map_err(|why| WriteError::new(&*name, format!("`{}`: {why}", member.name())))?;
            Ok(SampleText { id: id.clone(), epoch: *epoch, json: json.into_owned() })
        });
        write_document(out, &header, samples, reductions.as_deref())?;
        Ok(notes)
    }

    /// The header, or what the journal says of a log that has none yet.
    fn archive_header(&self, archive: &Archive<'_>, reader: &mut MemberReader) -> Result<Vec<u8>, ReadError> {
        let mut content = |member: &Member| {
            let bytes = reader.read(member).map(<[u8]>::to_vec);
            bytes
                .map_err(|why| self.source.error(why).in_member(&member.name).hint("the log is damaged; copy it again"))
        };
        if let Some(member) = archive.find("header.json") {
            let header = content(member)?;
            return entries_without(&header, &["samples", "reductions"])
                .and_then(|header| complete(&header))
                .map_err(|why| self.source.error(why).in_member("header.json"));
        }
        let Some(member) = archive.find("_journal/start.json") else {
            let hint = "it has neither `header.json` nor `_journal/start.json`; write it as native records";
            return Err(self
                .source
                .error("the log has no header to copy")
                .hint(hint)
                .with_remedy(Remedy::WriteRecords));
        };
        let start = content(member)?;
        let wrong = |why| self.source.error(why).in_member("_journal/start.json");
        entries_of(&start, &["version", "eval", "plan"]).and_then(|header| complete(&header)).map_err(wrong)
    }

    fn document_as_archive(&self, out: &mut OutputFile) -> Result<Vec<String>, CopyError> {
        let wrong = |why: &str| self.source.error(why).hint("the file is cut off or is not an Inspect log");
        let mut samples: &[u8] = b"[]";
        let mut reductions = None;
        let mut skim = Skim::new(&self.document).map_err(wrong)?;
        while let Some((key, value)) = skim.entry().map_err(wrong)? {
            match key {
                b"samples" if value != b"null" => samples = value,
                b"reductions" if value != b"null" => reductions = Some(value),
                _ => {}
            }
        }
        let header = entries_without(&self.document, &["samples", "reductions"]).map_err(wrong)?;
        let start = entries_of(&self.document, &["version", "eval", "plan"]).map_err(wrong)?;
        let name = out.name().to_owned();
        let mut names = SampleNames::new(&Projection::everything());
        let samples = items(samples).map_err(wrong)?.into_iter().enumerate().map(|(place, json)| {
            let sample = LoggedSample::parse(json, &mut names).map_err(|wrong| {
                let error = self.source.error(wrong.what).at(FilePlace::Path(format!("samples[{place}]")));
                WriteError::new(&*name, error.to_string())
            })?;
            Ok(SampleText { id: sample.id.to_string(), epoch: sample.epoch, json: json.to_vec() })
        });
        write_archive(out, &start, &header, samples, reductions)?;
        Ok(Vec::new())
    }
}

/// Keys that Inspect requires in the header of a document but not in that of an archive, with their defaults. In
/// Inspect's order.
const NEEDED: [(&str, Option<&str>); 6] = [
    ("version", Some("2")),
    ("status", Some("\"started\"")),
    ("eval", None),
    ("plan", Some("{}")),
    ("results", None),
    ("stats", Some("{}")),
];

/// The header with all that a document needs.
fn complete(header: &[u8]) -> Result<Vec<u8>, &'static str> {
    let mut whole = vec![b'{'];
    for (key, default) in NEEDED {
        let found = entries_of(header, &[key])?;
        let part = match (found.as_slice(), default) {
            (b"{}", Some(default)) => format!("\"{key}\":{default}").into_bytes(),
            (found, _) => found[1..found.len() - 1].to_vec(),
        };
        whole.extend_from_slice(&part);
        whole.extend_from_slice(if part.is_empty() { b"" } else { b"," });
    }
    let rest = entries_without(header, &NEEDED.map(|(key, _)| key))?;
    whole.extend_from_slice(&rest[1..]);
    if whole.ends_with(b",}") {
        whole.truncate(whole.len() - 2);
        whole.push(b'}');
    }
    Ok(whole)
}

/// What went wrong, on either side.
enum CopyError {
    Read(ReadError),
    Write(WriteError),
}

impl CopyError {
    fn map_read(self, read: impl FnOnce(ReadError) -> WriteError) -> WriteError {
        match self {
            Self::Read(error) => read(error),
            Self::Write(error) => error,
        }
    }
}

impl From<ReadError> for CopyError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<WriteError> for CopyError {
    fn from(error: WriteError) -> Self {
        Self::Write(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_gets_what_a_document_needs() {
        for (header, want) in [
            (r#"{"eval":{"a":1}}"#, r#"{"version":2,"status":"started","eval":{"a":1},"plan":{},"stats":{}}"#),
            (
                r#"{"version":1,"status":"error","eval":{},"plan":{"steps":[]},"stats":{"x":1},"error":null}"#,
                r#"{"version":1,"status":"error","eval":{},"plan":{"steps":[]},"stats":{"x":1},"error":null}"#,
            ),
            (
                r#"{"tags":[],"results":{},"eval":{}}"#,
                r#"{"version":2,"status":"started","eval":{},"plan":{},"results":{},"stats":{},"tags":[]}"#,
            ),
        ] {
            assert_eq!(String::from_utf8_lossy(&complete(header.as_bytes()).unwrap()), want);
        }
    }
}
