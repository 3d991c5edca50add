//! Records and lighteval's details as Parquet.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    calipers_fuzz::read_as("records.parquet", bytes, Some("parquet"));
});
