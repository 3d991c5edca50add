//! Records further down in a file with one per line: some from many places, and the last ones.
//!
//! The columns of a table are known from its first records. Files that were put together may name their models only further
//! down, and a name inside of a map is no column that every record is searched for.

use crate::json::{self, Json};
use crate::source::Source;
use calipers_core::Value;
use std::fs::File;
use std::io::{BufRead, Read, Seek, SeekFrom};

/// The bytes at the end of a file that are looked at.
const END: u64 = 64 << 10;
/// A part of the file that is longer than one in so many is seen.
const PLACES: u64 = 256;
/// The bytes that are looked at in each place, and as many of their records.
const PLACE: u64 = 16 << 10;
const RECORDS: usize = 2;

/// The records, in their order. None if the end of the file does not look like lines of JSON, or cannot be read twice.
pub(super) fn find(source: &Source) -> Option<Vec<Value>> {
    match source.as_path() {
        // A pipe can be read only once, and not from its end.
        Some(path) if !path.is_file() => None,
        Some(path) => of_plain(&mut File::open(path).ok()?).or_else(|| of_stream(source)),
        // What came through stdin is in memory; an object elsewhere is not fetched twice for this.
        None if source.remote().is_some() => None,
        None => of_stream(source),
    }
}

fn of_plain(file: &mut File) -> Option<Vec<Value>> {
    let length = file.metadata().ok()?.len();
    let mut part = |start: u64, length: u64| {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(start)).ok()?;
        file.take(length).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    };
    let last = last_records(&part(length.saturating_sub(END), END)?)?;
    let mut records = Vec::new();
    for place in 1..PLACES {
        records.extend(first_records(&part(length / PLACES * place, PLACE)?));
    }
    records.extend(last);
    Some(records)
}

/// The same for what has to be read up to its end. Its length is not known before, so places are thinned out on the way.
fn of_stream(source: &Source) -> Option<Vec<Value>> {
    let mut reader = source.open().ok()?;
    let (mut places, mut end) = (Vec::new(), Vec::new());
    let (mut read, mut next, mut stride) = (0, PLACE, PLACE);
    loop {
        let block = reader.fill_buf().ok()?;
        if block.is_empty() {
            let last = last_records(&end)?;
            return Some(places.into_iter().flatten().chain(last).collect());
        }
        end.extend_from_slice(block);
        read += block.len() as u64;
        let length = block.len();
        reader.consume(length);
        if read >= next {
            next = read + stride;
            places.push(first_records(&end[end.len().saturating_sub(PLACE as usize)..]).collect::<Vec<Value>>());
        }
        if places.len() as u64 > 2 * PLACES {
            let thinned = places.drain(..).skip(1).step_by(2).collect();
            places = thinned;
            stride *= 2;
        }
        if end.len() > 4 * END as usize {
            end.drain(..end.len() - END as usize);
        }
    }
}

/// A few records of a part of a file, whose first and last line may be cut off.
fn first_records(part: &[u8]) -> impl Iterator<Item = Value> {
    let whole = part.iter().rposition(|byte| *byte == b'\n').map_or(&[][..], |end| &part[..end]);
    lines(whole).take(RECORDS).filter_map(record)
}

/// All records of the end of a file. None if one is none.
fn last_records(end: &[u8]) -> Option<Vec<Value>> {
    lines(end).map(record).collect()
}

/// The lines of a part of a file without the first, which may be cut off.
fn lines(part: &[u8]) -> impl Iterator<Item = &[u8]> {
    part.split(|byte| *byte == b'\n').skip(1).map(json::line).filter(|line| !line.is_empty())
}

fn record(line: &[u8]) -> Option<Value> {
    let Json(value) = serde_json::from_slice(&json::standard(line)).ok()?;
    Some(value)
}
