//! Parts of a run that were measured apart: what a machine writes of its share, and what says that the shares fit together.
//!
//! A part is a header and a payload. The header says which program and which question made it, which share of how many it is,
//! from which files, and which samples it holds; the payload holds the states of metrics, or the attempts with the columns that
//! a question needs. Everything is read with suspicion: a part may be cut off, damaged, foreign or made by an attacker.

mod part_run;
mod sample_evidence;

pub use sample_evidence::{SampleEvidence, SharedSamples, find_shared};

use crate::{Projection, ReadError, Source};
use calipers_core::{Error, StateReader, StateWriter, Stored, damaged};
use sha2::{Digest, Sha256};
use std::io::Read;

/// What a part begins with: no text does.
pub(crate) const MAGIC: [u8; 8] = *b"\x89CALPRT\n";

/// The form of parts that is written and read.
const FORM: u16 = 1;

/// The length of the checksum at the end.
const CHECKSUM: usize = 32;

/// More parts than this are no run that anyone has.
const PARTS_MAX: u32 = 1 << 20;

/// What a part holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// The states of metrics, and what a report of scores says besides.
    States,
    /// Attempts, with the columns that a question reads.
    Rows {
        /// These columns.
        columns: Projection,
    },
}

/// Which share of a run a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartPlace {
    /// Its number, from 1.
    pub number: u32,
    /// How many parts there are.
    pub of: u32,
    /// True when it holds the samples of one bucket: all machines read the same files, and each keeps those whose ids fall to it.
    pub is_bucket: bool,
}

impl PartPlace {
    /// The only part.
    pub const WHOLE: Self = Self { number: 1, of: 1, is_bucket: false };

    /// A place such as `3/8`.
    ///
    /// ```
    /// use calipers_io::PartPlace;
    ///
    /// assert_eq!(PartPlace::parse("3/8", false).map(|place| (place.number, place.of)), Some((3, 8)));
    /// assert!(PartPlace::parse("0/8", false).is_none() && PartPlace::parse("9/8", true).is_none());
    /// ```
    #[must_use]
    pub fn parse(text: &str, is_bucket: bool) -> Option<Self> {
        let (number, of) = text.split_once('/')?;
        let place = Self { number: number.trim().parse().ok()?, of: of.trim().parse().ok()?, is_bucket };
        place.is_valid().then_some(place)
    }

    fn is_valid(self) -> bool {
        (1..=self.of).contains(&self.number) && self.of <= PARTS_MAX
    }

    /// True if a sample whose id has this digest belongs here.
    #[must_use]
    pub fn holds(self, digest: u64) -> bool {
        !self.is_bucket || digest % u64::from(self.of) == u64::from(self.number - 1)
    }
}

/// A file that a part was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartInput {
    /// Its name.
    pub name: String,
    /// How many bytes it has.
    pub size: u64,
    /// A digest of its bytes, in hexadecimal digits; empty for a table in memory.
    pub digest: String,
}

impl PartInput {
    /// What is known of a source. It is read as a whole.
    pub fn of(source: &Source) -> Result<Self, ReadError> {
        let name = source.name.clone();
        if source.as_table().is_some() {
            return Ok(Self { name, size: 0, digest: String::new() });
        }
        let (mut raw, mut hasher, mut size) = (source.seekable()?, Sha256::new(), 0u64);
        let mut block = vec![0; 1 << 18];
        loop {
            let length = raw.read(&mut block).map_err(|error| source.unreadable(&error))?;
            if length == 0 {
                break;
            }
            size += length as u64;
            hasher.update(&block[..length]);
        }
        Ok(Self { name, size, digest: hexadecimal(&hasher.finalize()) })
    }
}

/// What a part says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct PartHeader {
    /// The version of the program that made it.
    pub version: String,
    /// What it holds.
    pub kind: PartKind,
    /// Everything that moves the figures, by name. Parts that differ here answer different questions.
    pub plan: Vec<(String, String)>,
    /// The options that the question was asked with, as words of a command line.
    pub words: Vec<String>,
    /// Which share it is.
    pub place: PartPlace,
    /// The files.
    pub inputs: Vec<PartInput>,
    /// Attempts in these files that belong to other parts.
    pub left_out: u64,
    /// Which samples it holds.
    pub samples: SampleEvidence,
}

/// A part of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What it says of itself.
    pub header: PartHeader,
    /// The states or rows.
    pub payload: Vec<u8>,
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A digest of bytes, in hexadecimal digits.
#[must_use]
pub fn digest_of(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

impl Part {
    /// The bytes of a file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = StateWriter::new();
        out.put(&self.header);
        out.length(self.payload.len());
        out.raw(&self.payload);
        Self::with_checksum(&out.finish())
    }

    /// A file with this content: its beginning and its checksum fit, whatever the content is.
    #[must_use]
    pub fn with_checksum(content: &[u8]) -> Vec<u8> {
        let mut bytes = [&MAGIC[..], &FORM.to_le_bytes(), content].concat();
        let checksum = Sha256::digest(&bytes);
        bytes.extend_from_slice(&checksum);
        bytes
    }

    /// Reads a part.
    pub fn read(source: &Source) -> Result<Self, ReadError> {
        let bytes = source.read_all()?;
        Self::from_bytes(&source.name, &bytes)
    }

    /// Reads a part from bytes; messages call them by this name.
    ///
    /// ```
    /// use calipers_io::Part;
    ///
    /// let error = Part::from_bytes("results.jsonl", b"{\"id\": 1}").unwrap_err();
    /// assert_eq!(error.what(), "this is not a part of a run");
    /// ```
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self, ReadError> {
        let refuse = |what: String, hint: &str| Err(ReadError::new(name, what).hint(hint));
        let again = "fold its files again, and copy the part as a whole";
        let Some(rest) = bytes.strip_prefix(&MAGIC) else {
            return refuse("this is not a part of a run".into(), "name files that `calipers fold` has written");
        };
        let Some((form, _)) = rest.split_first_chunk::<2>() else {
            return refuse("the part is cut off".into(), again);
        };
        let form = u16::from_le_bytes(*form);
        if form != FORM {
            let what = format!("the part has form {form}, and this version reads form {FORM}");
            return refuse(what, "fold and merge with the same version");
        }
        if bytes.len() < MAGIC.len() + 2 + CHECKSUM {
            return refuse("the part is cut off".into(), again);
        }
        let (content, checksum) = bytes.split_at(bytes.len() - CHECKSUM);
        if *Sha256::digest(content) != *checksum {
            return refuse("the part is damaged or cut off: its checksum does not fit".into(), again);
        }
        let read = || -> Result<Self, Error> {
            let mut from = StateReader::new(&content[MAGIC.len() + 2..]);
            let header = from.take()?;
            let length = from.length()?;
            let payload = from.raw(length)?.to_vec();
            from.end()?;
            Ok(Self { header, payload })
        };
        read().map_err(|error| ReadError::new(name, error.kind().to_string()).hint(again))
    }
}

impl Stored for PartPlace {
    fn save(&self, out: &mut StateWriter) {
        out.put(&(self.number, self.of));
        out.put(&self.is_bucket);
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        let (number, of) = from.take()?;
        let place = Self { number, of, is_bucket: from.take()? };
        if place.is_valid() { Ok(place) } else { Err(damaged("its number is none of the parts")) }
    }
}

impl Stored for PartInput {
    fn save(&self, out: &mut StateWriter) {
        out.put(&self.name);
        out.put(&self.size);
        out.put(&self.digest);
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        Ok(Self { name: from.take()?, size: from.number()?, digest: from.take()? })
    }
}

impl Stored for PartKind {
    fn save(&self, out: &mut StateWriter) {
        match self {
            Self::States => out.byte(0),
            Self::Rows { columns } => {
                out.byte(1);
                out.put(columns);
            }
        }
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        match from.byte()? {
            0 => Ok(Self::States),
            1 => Ok(Self::Rows { columns: from.take()? }),
            _ => Err(damaged("it holds something unknown")),
        }
    }
}

impl Stored for PartHeader {
    fn save(&self, out: &mut StateWriter) {
        out.put(&self.version);
        out.put(&self.kind);
        out.put(&self.plan);
        out.put(&self.words);
        out.put(&self.place);
        out.put(&self.inputs);
        out.put(&self.left_out);
        out.put(&self.samples);
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        Ok(Self {
            version: from.take()?,
            kind: from.take()?,
            plan: from.take()?,
            words: from.take()?,
            place: from.take()?,
            inputs: from.take()?,
            left_out: from.take()?,
            samples: from.take()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part() -> Part {
        let columns = Projection::only(["category"]).and_if_there(["passed"]).with_answers();
        Part {
            header: PartHeader {
                version: "0.1.0".into(),
                kind: PartKind::Rows { columns },
                plan: vec![("level".into(), "0.95".into())],
                words: vec!["--metric".into(), "accuracy".into()],
                place: PartPlace { number: 2, of: 3, is_bucket: true },
                inputs: vec![PartInput { name: "a.jsonl".into(), size: 12, digest: "00ff".into() }],
                left_out: 7,
                samples: SampleEvidence::of([1.into(), "b".into()].into_iter(), false),
            },
            payload: b"payload".to_vec(),
        }
    }

    #[test]
    fn parts_are_read_as_they_were_written() {
        let bytes = part().to_bytes();
        assert_eq!(Part::from_bytes("x", &bytes).expect("a part"), part());
    }

    #[test]
    fn every_damage_is_an_error() {
        let good = part().to_bytes();
        for length in 0..good.len() {
            assert!(Part::from_bytes("x", &good[..length]).is_err(), "{length} bytes");
        }
        for place in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[place] ^= 1 << bit;
                assert!(Part::from_bytes("x", &bad).is_err(), "bit {bit} of byte {place}");
            }
        }
        // A checksum can be made for anything; then the content is wrong, and no more than that.
        let content = good.len() - CHECKSUM;
        for place in MAGIC.len() + 2..content {
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                let mut bad = good[..content].to_vec();
                bad[place] = byte;
                let checksum = Sha256::digest(&bad);
                bad.extend_from_slice(&checksum);
                let _ = Part::from_bytes("x", &bad);
            }
        }
        let mut other = good;
        other[MAGIC.len()] = 9;
        let error = Part::from_bytes("x", &other).expect_err("another form");
        assert_eq!(error.what(), "the part has form 9, and this version reads form 1");
    }
}
