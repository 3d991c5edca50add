//! Resumes a log that did not finish.

use super::log_header::whole;
use super::{EvalLog, LogHeader, LogUpload, lock_soon};
use crate::formats::inspect::{Archive, LoggedSample, Member, MemberReader, Packer, SampleMember, SampleNames, Skim};
use crate::json::{self, JsonParts};
use crate::source::{store_error, to_location};
use crate::{Projection, ReadError, Source, WriteError};
use calipers_core::{ModelUsage, SampleId, Samples, Usage, Value};
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// An unfinished log, ready to be resumed.
#[derive(Debug)]
pub struct ResumedLog {
    /// The log. It is unchanged until the first attempt is added or it is finished.
    pub log: EvalLog,
    /// The header of the evaluation.
    pub header: LogHeader,
    /// The finished attempts with their scores, which the final figures include. Conversations are not included, and
    /// long texts of scores only if the header's `texts` asks for them.
    pub samples: Samples,
    /// The finished attempts.
    pub done: Vec<(SampleId, u32)>,
    /// The attempts that failed, or whose record is damaged. They will be repeated, and are removed from the log until
    /// then.
    pub again: Vec<(SampleId, u32)>,
    /// The token usage of the finished attempts, by model.
    pub usage: Vec<(Arc<str>, Usage)>,
    /// The token usage of the failed attempts: what they cost is spent.
    pub usage_again: HashMap<(SampleId, u32), ModelUsage>,
}

impl EvalLog {
    /// Resumes a log that was cut off, cancelled or ended in an error. A finished log is an error.
    pub fn resume(path: &Path) -> Result<ResumedLog, ReadError> {
        let Some(location) = to_location(path) else { return Self::resume_file(path, Source::path(path)) };
        let name = calipers_store::redact(&path.to_string_lossy());
        let location = location.map_err(|error| store_error(&name, &error))?;
        let upload = LogUpload::fetch(location)?;
        // Messages name the object, and not the file that it was copied to.
        let mut source = Source::path(upload.file());
        source.name = name;
        let mut resumed = Self::resume_file(&upload.file(), source)?;
        resumed.log.upload = Some(upload);
        Ok(resumed)
    }

    fn resume_file(path: &Path, source: Source) -> Result<ResumedLog, ReadError> {
        let file = File::options().read(true).write(true).open(path).map_err(|error| {
            source
                .error(format!("the log cannot be resumed: {error}"))
                .hint("check its name, and that it may be written to")
        })?;
        lock_soon(&file).map_err(|error| {
            source.error(format!("the log cannot be resumed: {error}")).hint("wait for it to end, or stop it")
        })?;
        let archive = Archive::open(&source)?;
        let mut reader = archive.reader()?;
        // Where the disk was full before the directory was written, only Calipers can read the log, so it is finished again.
        if archive.no_directory.is_none() && is_finished(&archive, &mut reader) {
            let hint = "start another run with a new log; to score its answers again, replay this one";
            return Err(source.error("the evaluation in this log is finished: nothing is left to do").hint(hint));
        }
        let nothing = |why: &str| {
            source.error(format!("the log has no beginning: {why}")).hint("nothing was done in it; start a new one")
        };
        let start = archive.find("_journal/start.json").ok_or_else(|| nothing("it was cut off too early"))?.clone();
        let header = LogHeader::parse(&source, reader.read(&start).map_err(|why| nothing(&why))?)?;
        let mut packer = Packer::new().map_err(|error| source.error(error.to_string()))?;
        packer.keep(&start);
        // The header records whether the metrics read the texts of scores.
        let keeps_texts = matches!(header.calipers.get("texts"), Some(Value::Bool(true)));
        let mut found = LogContents { end: reader.end(), keeps_texts, ..LogContents::default() };
        let mut members = SampleMember::all(&archive.members);
        members.sort_by_key(|member| member.shell().header);
        let mut names = SampleNames::new(&Projection::everything());
        for member in members {
            found.look(member.shell(), &mut reader, &mut names);
        }
        found.kept.iter().for_each(|member| packer.keep(member));
        let mut log = Self::open(path, file, packer, &header, start, found.end);
        (log.is_whole, log.kept) = (false, Some(found.kept));
        let LogContents { samples, done, again, usage, usage_again, .. } = found;
        Ok(ResumedLog { log, header, samples, done, again, usage, usage_again })
    }

    /// Truncates a resumed log after the last attempt that stays, and journals those attempts again.
    pub(super) fn go_on(&mut self) -> Result<(), WriteError> {
        let Some(kept) = self.kept.take() else { return Ok(()) };
        self.file.set_len(self.end).map_err(|error| self.write_error(&error))?;
        let source = Source::path(&self.path);
        let reader = MemberReader::new(&source, self.end);
        let mut reader = reader.map_err(|error| self.error(error.to_string()))?;
        for member in &kept {
            let sample = reader.read(member).map_err(|why| self.error(format!("`{}`: {why}", member.name)))?;
            self.summarise(sample)?;
        }
        Ok(())
    }
}

/// True for a log with the status `success`.
fn is_finished(archive: &Archive<'_>, reader: &mut MemberReader) -> bool {
    let header = archive.find("header.json").and_then(|member| reader.read(member).ok());
    let status = header.and_then(|header| entry(header, b"status"));
    status.is_some_and(|status| matches!(json::parse("", status), Ok(Value::Text(status)) if *status == *"success"))
}

/// The value of a key in a map.
pub(super) fn entry<'a>(map: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    let mut skim = Skim::new(map).ok()?;
    while let Some((key, value)) = skim.entry().ok()? {
        if key == wanted {
            return Some(value);
        }
    }
    None
}

/// What was found in a log.
#[derive(Default)]
struct LogContents {
    kept: Vec<Member>,
    /// Where the last member that stays ends.
    end: u64,
    keeps_texts: bool,
    samples: Samples,
    done: Vec<(SampleId, u32)>,
    again: Vec<(SampleId, u32)>,
    usage: Vec<(Arc<str>, Usage)>,
    usage_again: HashMap<(SampleId, u32), ModelUsage>,
}

impl LogContents {
    fn look(&mut self, member: &Member, reader: &mut MemberReader, names: &mut SampleNames) {
        let read = reader.read(member).ok().and_then(|bytes| Some((LoggedSample::parse(bytes, names).ok()?, bytes)));
        let Some((mut sample, bytes)) = read else {
            self.again.extend(parse_member_name(&member.name));
            return;
        };
        let attempt = (sample.id.clone(), sample.epoch);
        let usage = entry(bytes, b"model_usage").and_then(|usage| json::parse("", usage).ok());
        if sample.error.is_some() {
            if let Some(usage) = usage {
                add_usage(self.usage_again.entry(attempt.clone()).or_default(), &usage);
            }
            self.again.push(attempt);
            return;
        }
        if let Some(usage) = usage {
            add_usage(&mut self.usage, &usage);
        }
        self.done.push(attempt);
        if !self.keeps_texts {
            sample.shorten();
        }
        sample.push(&mut self.samples, "score");
        self.kept.push(member.clone());
        self.end = self.end.max(reader.end());
    }
}

/// The attempt in the name of a member.
fn parse_member_name(member: &str) -> Option<(SampleId, u32)> {
    let (id, epoch) = member.strip_prefix("samples/")?.strip_suffix(".json")?.rsplit_once("_epoch_")?;
    Some((id.into(), epoch.parse().ok()?))
}

fn add_usage(sums: &mut Vec<(Arc<str>, Usage)>, models: &Value) {
    let Value::Map(models) = models else { return };
    for (model, used) in models {
        let used = read_usage(used);
        match sums.iter_mut().find(|(known, _)| known == model) {
            Some((_, sum)) => sum.add(&used),
            None => sums.push((model.clone(), used)),
        }
    }
}

/// The usage of a model, under Inspect's names.
pub(super) fn read_usage(used: &Value) -> Usage {
    Usage {
        input_tokens: whole(used, "input_tokens").unwrap_or(0),
        output_tokens: whole(used, "output_tokens").unwrap_or(0),
        total_tokens: whole(used, "total_tokens").unwrap_or(0),
        cache_read_tokens: whole(used, "input_tokens_cache_read"),
        cache_write_tokens: whole(used, "input_tokens_cache_write"),
        reasoning_tokens: whole(used, "reasoning_tokens"),
        cost_usd: used.number("total_cost"),
    }
}
