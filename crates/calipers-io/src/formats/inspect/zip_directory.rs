//! Members of an archive as bytes, and the directory at its end (APPNOTE 4.3).
//!
//! A member is assembled in memory with its sizes before its content, so that one write stores it and it can be found
//! without the directory.

use super::zip_archive::Member;
use std::io;

/// The level that Inspect compresses with.
const LEVEL: i32 = 3;
const ZSTD: u16 = 93;
/// Zstd is known from this version of ZIP on.
const VERSION: u16 = 63;
/// Names are UTF-8.
const FLAGS: u16 = 0x800;
/// The earliest date: the same content gives the same bytes.
const DATE: u16 = 0x21;
/// From here on a number needs the ZIP64 field.
const WIDE: u64 = u32::MAX as u64;

/// Makes members, and keeps the directory of those that it made.
pub(crate) struct Packer {
    zstd: zstd::bulk::Compressor<'static>,
    records: Vec<u8>,
    members: u64,
}

/// How far a directory was filled.
#[derive(Clone, Copy)]
pub(crate) struct DirectoryMark(usize, u64);

impl Packer {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { zstd: zstd::bulk::Compressor::new(LEVEL)?, records: Vec::new(), members: 0 })
    }

    /// Appends a member that will stand at this place of the file.
    pub(crate) fn pack(&mut self, out: &mut Vec<u8>, at: u64, name: &str, content: &[u8]) -> io::Result<Member> {
        let stored = self.zstd.compress(content)?;
        let member = Member {
            name: name.to_owned(),
            method: ZSTD,
            crc: crc32fast::hash(content),
            stored: stored.len() as u64,
            size: content.len() as u64,
            header: at,
        };
        out.extend_from_slice(&local_header(&member, member.stored.max(member.size) >= WIDE)?);
        out.extend_from_slice(&stored);
        self.keep(&member);
        Ok(member)
    }

    /// Takes a member that stands in the file into the directory.
    pub(crate) fn keep(&mut self, member: &Member) {
        let numbers = [member.size, member.stored, member.header];
        let wide: Vec<u8> =
            numbers.iter().filter(|number| **number >= WIDE).flat_map(|number| number.to_le_bytes()).collect();
        let records = &mut self.records;
        records.extend_from_slice(b"PK\x01\x02");
        // Made by a Unix, which alone has permissions.
        put_short(records, (3 << 8) | VERSION);
        put_common(records, member, numbers.map(narrow));
        put_short(records, if wide.is_empty() { 0 } else { wide.len() as u16 + 4 });
        records.extend_from_slice(&[0; 6]);
        put_long(records, 0o600 << 16);
        put_long(records, narrow(member.header));
        records.extend_from_slice(member.name.as_bytes());
        put_extra(records, &wide);
        self.members += 1;
    }

    pub(crate) fn mark(&self) -> DirectoryMark {
        DirectoryMark(self.records.len(), self.members)
    }

    /// Forgets the members since the mark.
    pub(crate) fn back_to(&mut self, mark: DirectoryMark) {
        self.records.truncate(mark.0);
        self.members = mark.1;
    }

    /// The directory of a file whose members end at this place.
    pub(crate) fn directory(&self, at: u64) -> Vec<u8> {
        let size = self.records.len() as u64;
        let mut out = Vec::with_capacity(self.records.len() + 98);
        out.extend_from_slice(&self.records);
        if self.members >= u64::from(u16::MAX) || size.max(at) >= WIDE {
            out.extend_from_slice(b"PK\x06\x06");
            out.extend_from_slice(&44_u64.to_le_bytes());
            put_short(&mut out, (3 << 8) | VERSION);
            put_short(&mut out, VERSION);
            out.extend_from_slice(&[0; 8]);
            for number in [self.members, self.members, size, at] {
                out.extend_from_slice(&number.to_le_bytes());
            }
            out.extend_from_slice(b"PK\x06\x07\0\0\0\0");
            out.extend_from_slice(&(at + size).to_le_bytes());
            put_long(&mut out, 1);
        }
        out.extend_from_slice(b"PK\x05\x06\0\0\0\0");
        let members = u16::try_from(self.members).unwrap_or(u16::MAX);
        put_short(&mut out, members);
        put_short(&mut out, members);
        put_long(&mut out, narrow(size));
        put_long(&mut out, narrow(at));
        put_short(&mut out, 0);
        out
    }
}

/// A member that is written in pieces: its sizes are known only at the end, so space is left for them.
pub(crate) fn open_member(name: &str, at: u64) -> io::Result<(Member, Vec<u8>)> {
    let member = Member { name: name.to_owned(), method: ZSTD, crc: 0, stored: 0, size: 0, header: at };
    let header = local_header(&member, true)?;
    Ok((member, header))
}

/// What stands before the content of a member, with room for large sizes or without.
pub(crate) fn local_header(member: &Member, is_wide: bool) -> io::Result<Vec<u8>> {
    if member.name.len() > usize::from(u16::MAX) {
        return Err(io::Error::other("a name has more than 65,535 bytes"));
    }
    let mut out = Vec::with_capacity(50 + member.name.len());
    out.extend_from_slice(b"PK\x03\x04");
    let narrow = |number: u64| if is_wide { u32::MAX } else { narrow(number) };
    put_common(&mut out, member, [narrow(member.size), narrow(member.stored), 0]);
    let mut sizes = Vec::new();
    if is_wide {
        sizes.extend_from_slice(&member.size.to_le_bytes());
        sizes.extend_from_slice(&member.stored.to_le_bytes());
    }
    put_short(&mut out, if is_wide { 20 } else { 0 });
    out.extend_from_slice(member.name.as_bytes());
    put_extra(&mut out, &sizes);
    Ok(out)
}

/// The fields that a local header and the directory share, from the version to the length of the name.
fn put_common(out: &mut Vec<u8>, member: &Member, [size, stored, _]: [u32; 3]) {
    for short in [VERSION, FLAGS, member.method, 0, DATE] {
        put_short(out, short);
    }
    put_long(out, member.crc);
    put_long(out, stored);
    put_long(out, size);
    put_short(out, member.name.len() as u16);
}

/// Numbers that do not fit into 32 bits.
fn put_extra(out: &mut Vec<u8>, wide: &[u8]) {
    if !wide.is_empty() {
        put_short(out, 1);
        put_short(out, wide.len() as u16);
        out.extend_from_slice(wide);
    }
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn put_short(out: &mut Vec<u8>, short: u16) {
    out.extend_from_slice(&short.to_le_bytes());
}

fn put_long(out: &mut Vec<u8>, long: u32) {
    out.extend_from_slice(&long.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;
    use crate::formats::inspect::zip_archive::Archive;

    #[test]
    fn more_members_than_16_bits_can_count_are_all_found() {
        let mut packer = Packer::new().expect("there is memory");
        let mut file = Vec::new();
        for count in 0..70_000 {
            let at = file.len() as u64;
            packer.pack(&mut file, at, &format!("samples/{count}_epoch_1.json"), b"{}").expect("it is small");
        }
        let end = file.len() as u64;
        file.extend(packer.directory(end));
        let source = Source::bytes("x.eval", file);
        let archive = Archive::open(&source).expect("it is whole");
        assert!(archive.no_directory.is_none());
        assert_eq!(archive.members.len(), 70_000);
        let last = archive.find("samples/69999_epoch_1.json").expect("it is there").clone();
        assert_eq!(archive.reader().expect("it is open").read(&last), Ok(&b"{}"[..]));
    }

    #[test]
    fn large_numbers_stand_in_a_field_of_their_own() {
        let member = Member {
            name: "a".into(),
            method: ZSTD,
            crc: 7,
            stored: 5_000_000_000,
            size: 6_000_000_000,
            header: 9_000_000_000,
        };
        let mut packer = Packer::new().expect("there is memory");
        packer.keep(&member);
        let extra = &packer.records[46 + 1..];
        let mut want = vec![1, 0, 24, 0];
        [member.size, member.stored, member.header].iter().for_each(|number| want.extend(number.to_le_bytes()));
        assert_eq!(extra, want);
        assert!(packer.directory(10_000_000_000).windows(4).any(|four| four == b"PK\x06\x06"));
        let header = local_header(&member, true).expect("the name is short");
        assert_eq!(&header[18..26], [0xff; 8]);
        assert_eq!(header.len(), 30 + 1 + 20);
    }
}
