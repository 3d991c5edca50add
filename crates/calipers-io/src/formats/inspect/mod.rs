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
pub use read_sample::{CONTENT, sample_place};
pub(crate) use read_sample::{LoggedSample, SampleNames};
pub(crate) use write_log::{SampleText, member_name, summary, write_archive, write_document};
pub(crate) use zip_archive::{Archive, Member, MemberReader};
pub(crate) use zip_directory::{Packer, local_header, open_member};

use super::Format;
use crate::{FilePlace, Projection, ReadError, RecordedRun, Shape, Source};
use calipers_core::{DeliveredAttempt, Samples, Shards};
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
    let is_document = start.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    if !is_document && !is_archive(&head) {
        let hint = "an Inspect log is a ZIP archive or a JSON document; copy it again from where it was written";
        return Err(source.error("the content is neither a ZIP archive nor JSON").hint(hint));
    }
    let read = |wanted: &Projection| -> Result<LogReading, ReadError> {
        let mut log =
            if is_document { read_json::read(source, wanted)? } else { read_eval::read(&seekable(source)?, wanted)? };
        log.samples.sort_by_cached_key(|sample| {
            let (epoch, id) = sample.place();
            // Most ids differ in their first bytes, which are compared at once.
            (epoch, first_bytes(&id), id)
        });
        Ok(log)
    };
    let mut log = read(wanted)?;
    // What an attempt that is there twice says is compared in all that the log holds.
    if log.has_repeats() && *wanted != Projection::everything() {
        log = read(&Projection::everything())?;
    }
    log.finish(source)
}

/// The first eight bytes of a text, in whose order texts are, with zeros behind a shorter one.
fn first_bytes(text: &str) -> u64 {
    let mut first = [0; 8];
    let length = text.len().min(first.len());
    first[..length].copy_from_slice(&text.as_bytes()[..length]);
    u64::from_be_bytes(first)
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
    /// The run; the samples must be in order.
    fn finish(mut self, source: &Source) -> Result<RecordedRun, ReadError> {
        self.drop_repeated(source)?;
        let read = self.samples.len();
        let unnamed = self.header.only_scorer();
        let mut samples = Samples::new();
        for sample in self.samples {
            sample.push(&mut samples, &unnamed);
        }
        let mut notes = self.header.notes();
        notes.extend(self.notes);
        if read == 0 {
            notes.push("the log has no samples: only its own figures can be shown".to_owned());
        }
        let completeness = self.header.expected_run(read).map(|expected| expected.compare(&samples, &source.name));
        Ok(RecordedRun {
            source: source.name.clone(),
            task: self.header.task(),
            model: self.header.model(),
            created: self.header.created(),
            commit: self.header.commit(),
            recorded: self.header.recorded_results(&samples),
            completeness,
            samples,
            notes,
            ..RecordedRun::default()
        })
    }

    fn has_repeats(&self) -> bool {
        self.samples.windows(2).any(|pair| is_same_attempt(&pair[0], &pair[1]))
    }

    /// If an attempt that failed to run appears again, the later one counts: it was run again. Two that ran must agree.
    fn drop_repeated(&mut self, source: &Source) -> Result<(), ReadError> {
        for repeated in self.samples.chunk_by(is_same_attempt).filter(|samples| samples.len() > 1) {
            let mut attempt = DeliveredAttempt::default();
            let place = |sample: &LoggedSample| sample.written_at.clone().unwrap_or(FilePlace::Line(1));
            for sample in repeated.iter().filter(|sample| sample.error.is_none()) {
                attempt.add(place(sample), sample.delivery()).map_err(|difference| {
                    ReadError::about_samples(&source.name, &difference.to_error(&sample.id, sample.epoch))
                })?;
            }
        }
        let before = self.samples.len();
        self.samples.reverse();
        self.samples.dedup_by(|a, b| is_same_attempt(a, b));
        self.samples.reverse();
        let dropped = before - self.samples.len();
        if dropped > 0 {
            let attempts = plural(dropped, "attempt");
            self.notes.push(format!("{attempts} left out: the log has them again, and the later one counts"));
        }
        Ok(())
    }
}

fn is_same_attempt(a: &LoggedSample, b: &LoggedSample) -> bool {
    a.epoch == b.epoch && a.id == b.id
}

fn plural(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}
