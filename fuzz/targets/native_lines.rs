//! Records as JSON Lines and JSON.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    calipers_fuzz::read_as("records.jsonl", bytes, Some("native"));
});
