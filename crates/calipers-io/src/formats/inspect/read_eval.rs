//! `.eval`: a ZIP archive with a header and a member for each attempt.
//!
//! All cores read members, a few hundred at a time and in file order, and keep a few hundred bytes of each: 20,000
//! samples of 6 KB take 40 MB, and about twice as long as inflating them. Damaged members are left out and noted;
//! members that are whole and wrong are errors, as they are in Inspect.

use super::read_header::Header;
use super::read_sample::{LoggedSample, SampleNames};
use super::zip_archive::{Archive, Member, MemberReader};
use super::{LogReading, plural};
use crate::json;
use crate::{FilePlace, Projection, ReadError, Source};
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};

/// How many members a thread reads at most before it looks for more work.
const SHARE_MAX: usize = 256;

pub(super) fn read(source: &Source, wanted: &Projection) -> Result<LogReading, ReadError> {
    let archive = Archive::open(source)?;
    let mut damaged = Vec::new();
    let header = header(source, &archive, &mut damaged)?;
    let wanted = match &header {
        Some(header) => header.widen_projection(wanted),
        None if wanted.has_content() => Projection::everything().with_content(),
        None => Projection::everything(),
    };
    let mut plan = SampleMember::all(&archive.members);
    // In file order, so that reading goes forward. Samples are sorted afterwards.
    plan.sort_by_key(|sample| sample.shell.header);
    let share = (plan.len() / (8 * rayon::current_num_threads())).clamp(1, SHARE_MAX);
    source.expect(|| plan.iter().flat_map(SampleMember::ranges).collect());
    let mut samples = Vec::with_capacity(plan.len());
    for stretch in stretches(source, &plan) {
        // Errors are checked in order, so that the same one is reported every time.
        let shares: Vec<Result<SampleShare, ReadError>> =
            stretch.par_chunks(share).map(|share| read_share(source, &archive, share, &wanted)).collect();
        for share in shares {
            let share = share?;
            samples.extend(share.samples);
            damaged.extend(share.damaged);
        }
    }
    source.check_arrived()?;
    if samples.is_empty() && (header.is_none() || !damaged.is_empty() || archive.no_directory.is_some()) {
        return Err(nothing(source, &archive, &damaged));
    }
    let mut log = LogReading { header: header.unwrap_or_default(), samples, notes: Vec::new() };
    if archive.no_directory.is_some() {
        let found = plural(log.samples.len(), "sample");
        log.notes.push(format!("the archive is cut off or its directory is damaged: {found} found without it"));
    }
    log.notes.extend(damage_note(&damaged));
    Ok(log)
}

/// An object is read in stretches of this many bytes, one after the other, so that threads are never far apart in it.
const STRETCH: u64 = 64 << 20;

/// The samples in stretches: of a file, one.
fn stretches<'p, 'a>(source: &Source, plan: &'p [SampleMember<'a>]) -> Vec<&'p [SampleMember<'a>]> {
    if source.remote().is_none() {
        return vec![plan];
    }
    plan.chunk_by(|a, b| a.shell.header / STRETCH == b.shell.header / STRETCH).collect()
}

/// What could be read of some samples.
#[derive(Default)]
struct SampleShare {
    samples: Vec<LoggedSample>,
    damaged: Vec<Damage>,
}

/// A member that cannot be read, and why.
struct Damage {
    member: String,
    why: String,
}

fn read_share(
    source: &Source,
    archive: &Archive<'_>,
    plan: &[SampleMember<'_>],
    wanted: &Projection,
) -> Result<SampleShare, ReadError> {
    let mut reader = archive.reader()?;
    let mut names = SampleNames::new(wanted);
    let mut share = SampleShare::default();
    for member in plan {
        match read_sample(source, &mut reader, &mut names, member)? {
            Ok(mut sample) => {
                sample.written_at = Some(FilePlace::Member(member.name().to_owned()));
                share.samples.push(sample);
            }
            Err(damage) => share.damaged.push(damage),
        }
    }
    Ok(share)
}

/// One sample. The inner result says whether it is whole, the outer one whether it is valid.
fn read_sample(
    source: &Source,
    reader: &mut MemberReader,
    names: &mut SampleNames,
    member: &SampleMember<'_>,
) -> Result<Result<LoggedSample, Damage>, ReadError> {
    let damage = |member: &Member, why| Damage { member: member.name.clone(), why };
    let bytes = match reader.read(member.shell) {
        Ok(bytes) => bytes,
        Err(why) => return Ok(Err(damage(member.shell, why))),
    };
    let mut sample = LoggedSample::parse(bytes, names).map_err(|wrong| {
        let error = source.error(wrong.what).in_member(&member.shell.name);
        wrong.hint.into_iter().fold(error, ReadError::hint)
    })?;
    if let Some(apart) = member.metadata {
        let bytes = match reader.read(apart) {
            Ok(bytes) => bytes,
            Err(why) => return Ok(Err(damage(apart, why))),
        };
        let metadata = json::parse(&source.name, bytes);
        let hint = "write the log again with Inspect, or take the sample out";
        sample.add_metadata(metadata.map_err(|error| source.error(error.what()).in_member(&apart.name).hint(hint))?);
    }
    Ok(Ok(sample))
}

/// The members of one sample.
pub(crate) struct SampleMember<'a> {
    /// The sample, or the rest of it when parts are stored separately.
    shell: &'a Member,
    /// Its metadata, if stored separately.
    metadata: Option<&'a Member>,
}

impl<'a> SampleMember<'a> {
    pub(crate) fn shell(&self) -> &'a Member {
        self.shell
    }

    /// Where its members stand in the file, with what precedes their content.
    fn ranges(&self) -> impl Iterator<Item = std::ops::Range<u64>> + use<'a> {
        [Some(self.shell), self.metadata].into_iter().flatten().map(Member::range)
    }

    pub(crate) fn name(&self) -> &str {
        &self.shell.name
    }

    /// True when the events and messages are in separate members.
    pub(crate) fn is_in_parts(&self) -> bool {
        self.metadata.is_some() || self.shell.name.ends_with("/sample.json")
    }

    /// The samples of an archive: `samples/{id}_epoch_{n}.json`, or `samples/{id}_epoch_{n}/sample.json` with parts
    /// beside it. An id may contain slashes, so a folder belongs to a sample only if it has a `sample.json`.
    pub(crate) fn all(members: &'a [Member]) -> Vec<Self> {
        let inside = |member: &&Member| member.name.starts_with("samples/") && member.name.ends_with(".json");
        let files = || members.iter().filter(inside);
        let folder = |member: &'a Member| {
            let folder = member.name.strip_suffix("/sample.json")?;
            let (_, epoch) = folder.rsplit_once("_epoch_")?;
            (!epoch.is_empty() && epoch.bytes().all(|byte| byte.is_ascii_digit())).then_some(folder)
        };
        let folders: HashSet<&str> = files().filter_map(folder).collect();
        let mut apart: HashMap<&str, &Member> = HashMap::new();
        let mut shells = Vec::new();
        for member in files() {
            let above = std::iter::successors(member.name.rsplit_once('/'), |(above, _)| above.rsplit_once('/'));
            let Some((home, file)) = above
                .map(|(home, _)| home)
                .find(|home| folders.contains(home))
                .map(|home| (home, &member.name[home.len() + 1..]))
            else {
                shells.push((None, member));
                continue;
            };
            match file {
                "sample.json" => shells.push((Some(home), member)),
                "metadata.json" => {
                    apart.insert(home, member);
                }
                _ => {}
            }
        }
        let whole = |(home, shell): (Option<&str>, &'a Member)| Self {
            shell,
            metadata: home.and_then(|home| apart.get(home).copied()),
        };
        shells.into_iter().map(whole).collect()
    }
}

/// The header, or what the journal says of a log that was not finished.
fn header(source: &Source, archive: &Archive<'_>, damaged: &mut Vec<Damage>) -> Result<Option<Header>, ReadError> {
    let mut reader = archive.reader()?;
    for name in ["header.json", "_journal/start.json"] {
        let Some(member) = archive.find(name) else { continue };
        match reader.read(member) {
            Ok(bytes) => {
                let mut header = Header::parse(source, bytes).map_err(|error| error.in_member(name))?;
                // A header that is there and damaged is noted as such.
                header.is_finished = archive.find("header.json").is_some();
                return Ok(Some(header));
            }
            Err(why) => damaged.push(Damage { member: name.to_owned(), why }),
        }
    }
    Ok(None)
}

/// How many damaged members are named.
const NAMED: usize = 3;

fn damage_note(damaged: &[Damage]) -> Option<String> {
    if damaged.is_empty() {
        return None;
    }
    let named: Vec<String> =
        damaged.iter().take(NAMED).map(|damage| format!("`{}` ({})", damage.member, damage.why)).collect();
    let more = damaged.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let members = plural(damaged.len(), "damaged member");
    Some(format!("{members} left out: {}{more}; copy the log again from where it was written", named.join(", ")))
}

fn nothing(source: &Source, archive: &Archive<'_>, damaged: &[Damage]) -> ReadError {
    let again = "the file is cut off or damaged; copy it again from where it was written";
    if let Some(damage) = damaged.iter().find(|damage| damage.member.starts_with("samples/")).or(damaged.first()) {
        return source.error(format!("no sample can be read: {}", damage.why)).in_member(&damage.member).hint(again);
    }
    match &archive.no_directory {
        Some(why) => source.error(format!("not a whole ZIP archive: {why}")).hint(again),
        None => source
            .error("the archive has neither `header.json` nor samples")
            .hint("is it an Inspect log? such a log has `header.json` and `samples/{id}_epoch_{n}.json`"),
    }
}
