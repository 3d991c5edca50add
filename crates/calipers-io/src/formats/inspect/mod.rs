//! Inspect AI's logs: `.eval` archives and `.json` documents.

mod copy_log;
mod message_pool;
mod read_eval;
mod read_header;
mod read_json;
mod read_sample;
mod write_log;
mod zip_archive;
mod zip_directory;

pub(crate) use crate::json::skim::Skim;
pub use copy_log::InspectLog;
pub(crate) use read_eval::SampleMember;
pub(crate) use read_header::metrics;
pub(crate) use read_json::Cutter;
pub use read_sample::sample_place;
pub(crate) use read_sample::{LoggedSample, SampleNames};
pub(crate) use write_log::{SampleText, member_name, summary, write_archive, write_document};
pub(crate) use zip_archive::{Archive, Member, MemberReader};
pub(crate) use zip_directory::{Packer, local_header, open_member};

use super::Format;
use crate::{Projection, ReadError, RecordedRun, Shape, Source};
use calipers_core::{Samples, Shards, pluralize};
use read_header::Header;
use std::io::Read as _;

/// Logs of Inspect AI, both kinds, of all ages.
pub(crate) struct Inspect;

/// What the first member of an archive may be called.
const MEMBERS: [&[u8]; 5] = [b"_journal/", b"samples/", b"header.json", b"summaries.json", b"reductions.json"];
/// Where the name of the first member stands in an archive.
const NAME_AT: usize = 30;

impl Format for Inspect {
    fn name(&self) -> &'static str {
        "inspect"
    }

    fn about(&self) -> &'static str {
        "Inspect AI logs: .eval archives and .json documents"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        if is_archive(&shape.head) {
            let first = shape.head.get(NAME_AT..).unwrap_or_default();
            return MEMBERS.iter().any(|member| first.starts_with(member)) || shape.file_name.ends_with(".eval");
        }
        if shape.json.is_none() {
            // A damaged archive is accepted here, so that the reader can say what is wrong with it.
            return shape.file_name.ends_with(".eval");
        }
        shape.has_inner("eval", "task") && (shape.has_inner("eval", "created") || shape.has_inner("eval", "model"))
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        Ok(vec![read(source, &Projection::everything())?])
    }

    fn read_shards(&self, source: &Source, wanted: &Projection) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
        let run = read(source, wanted)?;
        let is_missing =
            wanted.missing(|column| run.samples.columns().any(|known| **known == *column)).next().is_some();
        // If a requested column is missing, the message lists those that exist.
        let run = if is_missing { read(source, &Projection::everything())? } else { run };
        Ok(vec![run.map_samples(Shards::from)])
    }
}

fn read(source: &Source, wanted: &Projection) -> Result<RecordedRun, ReadError> {
    let head = source.head()?;
    let start = head.strip_prefix(&[0xef, 0xbb, 0xbf]).unwrap_or(&head);
    if start.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{') {
        return read_json::read(source, wanted);
    }
    if !is_archive(&head) {
        let hint = "an Inspect log is a ZIP archive or a JSON document; copy it again from where it was written";
        return Err(source.error("the content is neither a ZIP archive nor JSON").hint(hint));
    }
    read_eval::read(&seekable(source)?, wanted)
}

/// The archive itself. One inside gzip or zstd cannot be seeked, so it is decompressed first.
pub(crate) fn seekable(source: &Source) -> Result<Source, ReadError> {
    let mut stored = Vec::new();
    source.seekable()?.take(4).read_to_end(&mut stored).map_err(|error| source.unreadable(&error))?;
    if is_archive(&stored) {
        return Ok(source.clone());
    }
    Ok(Source::bytes(source.name.clone(), source.read_all()?))
}

/// An archive begins with a member, or, if it is empty, with its end record.
pub(crate) fn is_archive(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06")
}

/// What was read of a log.
struct LogReading {
    header: Header,
    samples: Vec<LoggedSample>,
    notes: Vec<String>,
}

impl LogReading {
    fn finish(mut self, source: &Source) -> RecordedRun {
        self.samples.sort_by_cached_key(LoggedSample::place);
        self.drop_repeated();
        let read = self.samples.len();
        let unnamed = self.header.only_scorer();
        let mut samples = Samples::new();
        for sample in self.samples {
            sample.push(&mut samples, &unnamed);
        }
        let mut notes = self.header.notes();
        notes.extend(self.notes);
        match self.header.total_samples() {
            Some(total) if read > 0 && read < total => {
                notes.push(format!("the log counts {} and holds {read} of them", pluralize(total, "attempt")));
            }
            _ if read == 0 => notes.push("the log has no samples: only its own figures can be shown".to_owned()),
            _ => {}
        }
        RecordedRun {
            source: source.name.clone(),
            task: self.header.task(),
            model: self.header.model(),
            recorded: self.header.recorded_results(&samples),
            samples,
            notes,
            ..RecordedRun::default()
        }
    }

    /// If an attempt appears twice, the later one counts: it was run again.
    fn drop_repeated(&mut self) {
        let before = self.samples.len();
        self.samples.reverse();
        self.samples.dedup_by(|a, b| a.epoch == b.epoch && a.id == b.id);
        self.samples.reverse();
        let dropped = before - self.samples.len();
        if dropped > 0 {
            let attempts = plural(dropped, "attempt");
            self.notes.push(format!("{attempts} left out: the log has them again, and the later one counts"));
        }
    }
}

fn plural(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}
