//! The members of a ZIP archive, read with bounds and checked.
//!
//! The directory is read with the `zip` crate; the members are fetched and inflated here, on slices, which takes half
//! the time of reading them through a stream. A file without a directory, such as one that was cut off, is scanned for
//! members from its beginning.

use crate::source::{ExpansionExcess, Raw, expansion_limit};
use crate::{ReadError, Source};
use std::collections::HashMap;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use zip::CompressionMethod;

/// A member may inflate to this many bytes.
const MEMBER_MAX: u64 = 1 << 30;
/// Memory is reserved up front for a member that grows by at most this factor; beyond it, as bytes arrive.
const EXPANSION_EXPECTED: u64 = 2000;
const EXPANSION_FLOOR: u64 = 64 << 10;
/// Deflate cannot grow by more than this (RFC 1951: 258 bytes from 2 bits, and the table of codes).
const DEFLATE_MAX: u64 = 1032;
/// Larger buffers are released after use.
const BUFFER_KEPT: usize = 16 << 20;

/// An archive and what it holds.
pub(crate) struct Archive<'a> {
    source: &'a Source,
    /// The members by name, in the order of the directory. If two share a name, the later counts.
    pub(crate) members: Vec<Member>,
    /// Why the directory is missing, if the file was scanned for members.
    pub(crate) no_directory: Option<String>,
    length: u64,
}

/// A member, as the directory has it.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) method: u16,
    pub(crate) crc: u32,
    pub(crate) stored: u64,
    pub(crate) size: u64,
    /// Where it stands in the file.
    pub(crate) header: u64,
}

impl Member {
    /// Where it stands in the file. How long the fields before its content are is only known once they are read.
    pub(super) fn range(&self) -> std::ops::Range<u64> {
        let before = (LOCAL + self.name.len() + EXTRA_USUAL) as u64;
        self.header..self.header.saturating_add(before).saturating_add(self.stored)
    }
}

impl<'a> Archive<'a> {
    pub(crate) fn open(source: &'a Source) -> Result<Self, ReadError> {
        let length = source.stored_len()?;
        let (members, no_directory) = match directory(source)? {
            Ok(members) => (members, None),
            Err(why) => {
                let found = search(source, length).map_err(|error| source.unreadable(&error))?;
                (found, Some(why))
            }
        };
        // Members are read one by one; together they are bounded as a compressed file is.
        let limit = expansion_limit(length);
        let inflated = members.iter().fold(0, |sum: u64, member| sum.saturating_add(member.size));
        if inflated > limit {
            let excess = ExpansionExcess { limit };
            return Err(source.error(excess.to_string()).hint(excess.hint()));
        }
        Ok(Self { source, members, no_directory, length })
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    /// A reader of members. Each thread has its own.
    pub(crate) fn reader(&self) -> Result<MemberReader, ReadError> {
        MemberReader::new(self.source, self.length)
    }
}

fn directory(source: &Source) -> Result<Result<Vec<Member>, String>, ReadError> {
    let archive = match zip::ZipArchive::new(BufReader::new(source.seekable()?)) {
        Ok(archive) => archive,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let mut members = Vec::with_capacity(archive.len());
    for index in 0..archive.len() {
        let Ok(entry) = archive.by_index_data(index) else { continue };
        members.push(Member {
            name: String::from_utf8_lossy(entry.name_raw()).into_owned(),
            method: method_number(entry.compression()),
            crc: entry.crc32(),
            stored: entry.compressed_size(),
            size: entry.size(),
            header: entry.header_start(),
        });
    }
    Ok(Ok(members))
}

/// The number of a method, as APPNOTE 4.4.5 gives it. Methods that Inspect does not write are treated alike.
fn method_number(method: CompressionMethod) -> u16 {
    match method {
        CompressionMethod::STORE => 0,
        CompressionMethod::DEFLATE => 8,
        CompressionMethod::ZSTD => 93,
        _ => u16::MAX,
    }
}

/// The fixed part of a local header (APPNOTE 4.3.7).
const LOCAL: usize = 30;
/// The fields after the name of a member are rarely longer.
const EXTRA_USUAL: usize = 64;
const LOCAL_MAGIC: [u8; 4] = *b"PK\x03\x04";

struct Local {
    flags: u16,
    method: u16,
    crc: u32,
    stored: u64,
    size: u64,
    name: usize,
    extra: usize,
}

impl Local {
    fn parse(bytes: &[u8; LOCAL]) -> Option<Self> {
        let short = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let long = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        (bytes[..4] == LOCAL_MAGIC).then(|| Self {
            flags: short(6),
            method: short(8),
            crc: long(14),
            stored: u64::from(long(18)),
            size: u64::from(long(22)),
            name: usize::from(short(26)),
            extra: usize::from(short(28)),
        })
    }

    /// Sizes beyond 32 bits stand in the extra field 1 (APPNOTE 4.5.3), the inflated one first.
    fn widen(&mut self, mut extra: &[u8]) {
        while let [a, b, c, d, rest @ ..] = extra {
            let length = usize::from(u16::from_le_bytes([*c, *d])).min(rest.len());
            let (field, after) = rest.split_at(length);
            if u16::from_le_bytes([*a, *b]) == 1 {
                let mut wide = field
                    .chunks_exact(8)
                    .map(|eight| eight.iter().rev().fold(0, |number, byte| (number << 8) | u64::from(*byte)));
                for size in [&mut self.size, &mut self.stored] {
                    if *size == u64::from(u32::MAX) {
                        *size = wide.next().unwrap_or(*size);
                    }
                }
            }
            extra = after;
        }
    }
}

/// The members that follow one another from the beginning of the file, as far as they are whole.
fn search(source: &Source, length: u64) -> io::Result<Vec<Member>> {
    let mut raw = BufReader::with_capacity(128 << 10, source.seekable().map_err(io::Error::other)?);
    let mut members: Vec<Member> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut at = 0;
    while at + (LOCAL as u64) <= length {
        let mut fixed = [0; LOCAL];
        raw.read_exact(&mut fixed)?;
        let Some(mut local) = Local::parse(&fixed) else { break };
        let data = at + (LOCAL + local.name + local.extra) as u64;
        if data > length {
            break;
        }
        let mut names = vec![0; local.name + local.extra];
        raw.read_exact(&mut names)?;
        let (name, extra) = names.split_at(local.name);
        local.widen(extra);
        // With bit 3 the sizes follow the data and cannot be found without inflating it.
        let sizes_follow = local.flags & 8 != 0 && local.stored == 0;
        let Some(end) = data.checked_add(local.stored).filter(|end| *end <= length && !sizes_follow) else { break };
        let name = String::from_utf8_lossy(name).into_owned();
        let Local { method, crc, stored, size, .. } = local;
        let member = Member { name: name.clone(), method, crc, stored, size, header: at };
        match places.get(&name) {
            Some(&earlier) => members[earlier] = member,
            None => {
                places.insert(name, members.len());
                members.push(member);
            }
        }
        raw.seek_relative(i64::try_from(local.stored).unwrap_or(i64::MAX))?;
        at = end;
    }
    Ok(members)
}

/// Reads members, with buffers that are used again.
pub(crate) struct MemberReader {
    raw: BufReader<Box<dyn Raw>>,
    /// Where the file is read next.
    at: u64,
    length: u64,
    stored: Vec<u8>,
    inflated: Vec<u8>,
    deflate: libdeflater::Decompressor,
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl MemberReader {
    /// A reader of a file that is this long.
    pub(crate) fn new(source: &Source, length: u64) -> Result<Self, ReadError> {
        Ok(Self {
            raw: BufReader::with_capacity(128 << 10, source.seekable()?),
            at: 0,
            length,
            stored: Vec::new(),
            inflated: Vec::new(),
            deflate: libdeflater::Decompressor::new(),
            zstd: None,
        })
    }

    /// Where the member that was read last ends.
    pub(crate) fn end(&self) -> u64 {
        self.at
    }

    /// The content of a member. The error says what is wrong with it.
    pub(crate) fn read(&mut self, member: &Member) -> Result<&[u8], String> {
        self.release();
        self.fetch(member)?;
        if member.size > MEMBER_MAX {
            return Err(format!("it claims to hold {} bytes, more than 1 GiB", member.size));
        }
        let content = match member.method {
            0 => &self.stored,
            8 => self.fetch_deflated(member)?,
            93 => self.zstd(member)?,
            _ => return Err("it is compressed in a way that Inspect does not write".to_owned()),
        };
        if content.len() as u64 != member.size {
            return Err(format!("it holds {} bytes instead of {}", content.len(), member.size));
        }
        if crc32fast::hash(content) != member.crc {
            return Err("its checksum is wrong".to_owned());
        }
        Ok(if member.method == 0 { &self.stored } else { &self.inflated })
    }

    fn release(&mut self) {
        for buffer in [&mut self.stored, &mut self.inflated] {
            if buffer.capacity() > BUFFER_KEPT {
                *buffer = Vec::new();
            }
        }
    }

    /// The stored bytes of a member.
    fn fetch(&mut self, member: &Member) -> Result<(), String> {
        let cut_off = || "the file ends before it does".to_owned();
        let room = self.length.checked_sub(member.header).and_then(|room| room.checked_sub(LOCAL as u64));
        if room.is_none_or(|room| member.stored > room) {
            return Err(cut_off());
        }
        self.go_to(member.header).map_err(|error| error.to_string())?;
        let mut fixed = [0; LOCAL];
        self.take(&mut fixed)?;
        let local = Local::parse(&fixed).ok_or("there is no member where the directory has one")?;
        if local.flags & 1 != 0 {
            return Err("it is encrypted".to_owned());
        }
        let mut names = std::mem::take(&mut self.stored);
        names.resize(local.name + local.extra, 0);
        self.take(&mut names)?;
        let name = &names[..local.name];
        // Most names are text as they are.
        let same = name == member.name.as_bytes() || String::from_utf8_lossy(name) == member.name;
        self.stored = names;
        if !same {
            return Err("its name differs from the one in the directory".to_owned());
        }
        if self.length - self.at < member.stored {
            return Err(cut_off());
        }
        let mut stored = std::mem::take(&mut self.stored);
        // At most the length of the file, which was checked above.
        stored.resize(member.stored as usize, 0);
        self.take(&mut stored)?;
        self.stored = stored;
        Ok(())
    }

    fn go_to(&mut self, place: u64) -> io::Result<()> {
        // Members are mostly read in order, and then the next one is in the buffer already.
        match i64::try_from(i128::from(place) - i128::from(self.at)) {
            Ok(relative) => self.raw.seek_relative(relative)?,
            Err(_) => {
                self.raw.seek(SeekFrom::Start(place))?;
            }
        }
        self.at = place;
        Ok(())
    }

    fn take(&mut self, buffer: &mut [u8]) -> Result<(), String> {
        self.raw.read_exact(buffer).map_err(|error| error.to_string())?;
        self.at += buffer.len() as u64;
        Ok(())
    }

    fn fetch_deflated(&mut self, member: &Member) -> Result<&Vec<u8>, String> {
        if member.size > member.stored.saturating_mul(DEFLATE_MAX) + EXPANSION_FLOOR {
            return Err(format!("{} bytes cannot hold the {} that it claims", member.stored, member.size));
        }
        self.inflated.resize(member.size as usize, 0);
        let inflated = self.deflate.deflate_decompress(&self.stored, &mut self.inflated);
        let length = inflated.map_err(|error| match error {
            libdeflater::DecompressionError::BadData => "its compressed bytes are damaged",
            libdeflater::DecompressionError::InsufficientSpace => "it is larger than it claims",
        })?;
        self.inflated.truncate(length);
        Ok(&self.inflated)
    }

    /// Zstd in one or several frames.
    fn zstd(&mut self, member: &Member) -> Result<&Vec<u8>, String> {
        let damaged = |error: io::Error| format!("its compressed bytes are damaged: {error}");
        self.inflated.clear();
        if member.size <= member.stored.saturating_mul(EXPANSION_EXPECTED) + EXPANSION_FLOOR {
            let decompressor = match &mut self.zstd {
                Some(decompressor) => decompressor,
                none => none.insert(zstd::bulk::Decompressor::new().map_err(damaged)?),
            };
            self.inflated.reserve(member.size as usize);
            decompressor.decompress_to_buffer(&self.stored, &mut self.inflated).map_err(damaged)?;
        } else {
            // A repeated letter compresses this well, and so does a bomb: memory grows only with what arrives.
            let stream = zstd::stream::read::Decoder::with_buffer(&self.stored[..]).map_err(damaged)?;
            stream.take(member.size + 1).read_to_end(&mut self.inflated).map_err(damaged)?;
        }
        Ok(&self.inflated)
    }
}
