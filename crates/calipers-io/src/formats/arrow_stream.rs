//! Arrow IPC: the streams that engines exchange tables in, and the files that hold such a stream.
//!
//! The lengths in a stream are claims. They are compared with the bytes that are there before anything is decoded, so a claim
//! allocates nothing. The table is then read like one in memory.

use super::arrow_table::ArrowTable;
use super::native;
use super::row_places::is_plain_path;
use super::{Format, ShardSink, StreamedTable};
use crate::catch_panic::read_catching_panic;
use crate::{Projection, ReadError, RecordedRun, Shape, Source};
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::{MessageHeader, root_as_message};
use calipers_core::Shards;

/// What is read, for messages.
const WHAT: &str = "the Arrow data";

/// What a file begins with, and how many bytes precede its stream.
const FILE_MAGIC: &[u8] = b"ARROW1";
const FILE_START: usize = 8;

/// What every message of a stream begins with.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Streams and files of Arrow.
pub(super) struct ArrowStream;

impl Format for ArrowStream {
    fn name(&self) -> &'static str {
        "arrow"
    }

    fn about(&self) -> &'static str {
        "Arrow IPC streams and files, with the columns of native records"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        let is_stream = shape.head.get(4..8).is_some_and(|length| length[3] < 0x80 && length != [0; 4]);
        shape.starts_with(FILE_MAGIC) || (shape.starts_with(&CONTINUATION) && is_stream)
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        native::whole(self.read_shards(source, &Projection::everything()))
    }

    fn can_stream(&self) -> bool {
        true
    }

    fn stream(&self, source: &Source, wanted: &Projection, sink: &ShardSink<'_>) -> Option<StreamedTable> {
        ArrowTable.stream(&table(source).ok()?, wanted, sink)
    }

    fn read_shards(&self, source: &Source, wanted: &Projection) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
        ArrowTable.read_shards(&table(source)?, wanted)
    }
}

/// The table that a stream or a file holds.
pub(super) fn table(source: &Source) -> Result<Source, ReadError> {
    let bytes = source.read_all()?;
    let batches = read_catching_panic(source, WHAT, || read_batches(source, bytes))?;
    if batches.iter().all(|batch| batch.num_rows() == 0) {
        return Err(source.error("the table has no rows").hint("check what the table was made from"));
    }
    let table = Source::table(source.name.clone(), batches).with_columns(source.columns().clone());
    Ok(table.with_conditions(source.conditions().map(str::to_owned)))
}

fn read_batches(source: &Source, bytes: Vec<u8>) -> Result<Vec<RecordBatch>, ReadError> {
    let refuse = |what: &dyn std::fmt::Display| {
        Err(source.error(format!("{WHAT} is damaged: {what}")).hint("write or copy the file again"))
    };
    let start = if bytes.starts_with(FILE_MAGIC) { FILE_START } else { 0 };
    let end = match check_claims(&bytes, start) {
        Ok(end) => end,
        Err(ClaimFault::Damaged(what)) => return refuse(&what),
        Err(ClaimFault::Compressed) => {
            let what = "the buffers of the Arrow data are compressed, which is not read";
            let hint = "write it without compression, or as Parquet";
            let read = format!("f.read_table('{}')", source.name);
            let write = format!("f.write_feather({read}, 'results.feather', compression='uncompressed')");
            let command = format!("{hint}: `python3 -c \"import pyarrow.feather as f; {write}\"`");
            return Err(source.error(what).hint(if is_plain_path(&source.name) { command.as_str() } else { hint }));
        }
    };
    let mut stream = Buffer::from_vec(bytes).slice_with_length(start, end - start);
    let (mut decoder, mut batches) = (StreamDecoder::new(), Vec::new());
    loop {
        match decoder.decode(&mut stream) {
            Ok(Some(batch)) => batches.push(batch),
            Ok(None) => break,
            Err(error) => return refuse(&error),
        }
    }
    Ok(batches)
}

/// What is wrong with the claims of messages.
enum ClaimFault {
    Damaged(String),
    Compressed,
}

/// Where the messages end. Fails if one claims to be longer than the bytes, or is compressed: how much it holds would be a claim.
fn check_claims(bytes: &[u8], start: usize) -> Result<usize, ClaimFault> {
    let damaged = |what: &str| ClaimFault::Damaged(what.to_owned());
    let mut at = start;
    while let Some(prefix) = bytes.get(at..at + 8) {
        if !prefix.starts_with(&CONTINUATION) {
            return Err(damaged("a message does not begin like one"));
        }
        // The end of a stream is a message of no length; in a file, the footer follows.
        let length = i32::from_le_bytes([prefix[4], prefix[5], prefix[6], prefix[7]]);
        if length == 0 {
            return Ok(at);
        }
        let length = usize::try_from(length).map_err(|_| damaged("a message has a negative length"))?;
        let header = bytes
            .get(at + 8..)
            .and_then(|rest| rest.get(..length))
            .ok_or_else(|| damaged("it is cut off in a message"))?;
        let message = root_as_message(header).map_err(|error| damaged(&error.to_string()))?;
        let body_length = usize::try_from(message.bodyLength());
        let body_length = body_length.map_err(|_| damaged("a message has a negative length"))?;
        let rest = bytes.len() - (at + 8 + length);
        if body_length > rest {
            return Err(ClaimFault::Damaged("it is cut off in a message".to_owned()));
        }
        let batch = match message.header_type() {
            MessageHeader::RecordBatch => message.header_as_record_batch(),
            MessageHeader::DictionaryBatch => message.header_as_dictionary_batch().and_then(|batch| batch.data()),
            _ => None,
        };
        if batch.is_some_and(|batch| batch.compression().is_some()) {
            return Err(ClaimFault::Compressed);
        }
        at += 8 + length + body_length;
    }
    // Without its end, a stream may have lost whole messages.
    Err(damaged("it is cut off: the end of the stream is missing"))
}
