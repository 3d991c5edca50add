//! `bench inflate FILE [PREFIX]`: what it costs merely to decompress the members of a ZIP archive.
//!
//! All cores work, each with buffers that are used again, on runs of neighbouring members that are fetched with one
//! read. Nothing is parsed and no checksum is taken, so that no reader of the archive can do less.

use rayon::prelude::*;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use zip::{CompressionMethod, ZipArchive};

/// Neighbours are read together up to this many bytes; a large member is read alone.
const READ: u64 = 256 << 10;
/// The fixed part of a local header (APPNOTE 4.3.7). The lengths of the name and of the extra field end it.
const LOCAL: usize = 30;

/// A member, as the directory has it.
struct Member {
    is_wanted: bool,
    method: CompressionMethod,
    header: u64,
    /// Where the next one begins, or the directory.
    end: u64,
    stored: usize,
    size: usize,
}

/// Decompresses every member whose name begins with the prefix, and returns how many bytes that makes.
pub(crate) fn run(path: &Path, prefix: &str) -> Result<u64, String> {
    let open = || File::open(path).map_err(|cause| format!("`{}`: {cause}", path.display()));
    let archive = ZipArchive::new(BufReader::new(open()?)).map_err(|cause| format!("`{}`: {cause}", path.display()))?;
    let members = directory(&archive, prefix)?;
    neighbours(&members)
        .into_par_iter()
        .map_init(
            || open().and_then(Inflater::new),
            |inflater, members| inflater.as_mut().map_err(|cause| cause.clone())?.run(members),
        )
        .sum()
}

/// The members in pieces that are read at once.
fn neighbours(members: &[Member]) -> Vec<&[Member]> {
    let (mut pieces, mut first) = (Vec::new(), 0);
    for (index, member) in members.iter().enumerate().skip(1) {
        if member.end - members[first].header > READ {
            pieces.push(&members[first..index]);
            first = index;
        }
    }
    pieces.push(&members[first..]);
    pieces
}

/// The members in the order of the file.
fn directory(archive: &ZipArchive<BufReader<File>>, prefix: &str) -> Result<Vec<Member>, String> {
    let member = |index| {
        let entry = archive.by_index_data(index).map_err(|cause| format!("member {index}: {cause}"))?;
        Ok(Member {
            is_wanted: entry.name_raw().starts_with(prefix.as_bytes()),
            method: entry.compression(),
            header: entry.header_start(),
            end: archive.central_directory_start(),
            stored: length(entry.compressed_size())?,
            size: length(entry.size())?,
        })
    };
    let mut members = (0..archive.len()).map(member).collect::<Result<Vec<Member>, String>>()?;
    members.sort_unstable_by_key(|member| member.header);
    for index in 1..members.len() {
        members[index - 1].end = members[index].header;
    }
    members.retain(|member| member.is_wanted);
    Ok(members)
}

fn length(bytes: u64) -> Result<usize, String> {
    usize::try_from(bytes).map_err(|_| format!("{bytes} bytes are more than the memory can have"))
}

/// What one thread works with.
struct Inflater {
    file: File,
    stored: Vec<u8>,
    inflated: Vec<u8>,
    deflate: libdeflater::Decompressor,
    zstd: zstd::bulk::Decompressor<'static>,
}

impl Inflater {
    fn new(file: File) -> Result<Self, String> {
        Ok(Self {
            file,
            stored: Vec::new(),
            inflated: Vec::new(),
            deflate: libdeflater::Decompressor::new(),
            zstd: zstd::bulk::Decompressor::new().map_err(|cause| cause.to_string())?,
        })
    }

    fn run(&mut self, neighbours: &[Member]) -> Result<u64, String> {
        let (Some(first), Some(last)) = (neighbours.first(), neighbours.last()) else { return Ok(0) };
        let start = first.header;
        self.stored.resize(length(last.end - start)?, 0);
        self.file.seek(SeekFrom::Start(start)).map_err(|cause| cause.to_string())?;
        self.file.read_exact(&mut self.stored).map_err(|cause| cause.to_string())?;
        let mut bytes = 0;
        for member in neighbours {
            let at = length(member.header - start)?;
            self.member(member, at).map_err(|cause| format!("the member at byte {}: {cause}", member.header))?;
            bytes += member.size as u64;
        }
        Ok(bytes)
    }

    fn member(&mut self, member: &Member, at: usize) -> Result<(), String> {
        const CUT: &str = "it is cut off";
        let local = self.stored.get(at..at + LOCAL).ok_or(CUT)?;
        let short = |at: usize| usize::from(u16::from_le_bytes([local[at], local[at + 1]]));
        let data = at + LOCAL + short(LOCAL - 4) + short(LOCAL - 2);
        let stored = self.stored.get(data..data + member.stored).ok_or(CUT)?;
        if self.inflated.len() < member.size {
            self.inflated.resize(member.size, 0);
        }
        let room = &mut self.inflated[..member.size];
        let size = match member.method {
            CompressionMethod::STORE => stored.len(),
            CompressionMethod::DEFLATE => {
                self.deflate.deflate_decompress(stored, room).map_err(|cause| cause.to_string())?
            }
            CompressionMethod::ZSTD => {
                self.zstd.decompress_to_buffer(stored, room).map_err(|cause| cause.to_string())?
            }
            other => return Err(format!("it is compressed with {other}, which Inspect does not write")),
        };
        if size == member.size { Ok(()) } else { Err(format!("it has {size} bytes instead of {}", member.size)) }
    }
}
