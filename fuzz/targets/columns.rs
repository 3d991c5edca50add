//! What is said about columns, in the first line, and records of any kind below it.
#![no_main]

use calipers::io::{Columns, Source, read};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (said, records) = bytes.split_at(end);
    let Some(columns) = std::str::from_utf8(said).ok().and_then(|said| said.parse::<Columns>().ok()) else { return };
    for name in ["records.jsonl", "records.csv"] {
        let source = Source::bytes(name, records).with_columns(columns.clone());
        if let Err(error) = read(&source, None) {
            assert!(!error.to_string().is_empty());
        }
    }
});
