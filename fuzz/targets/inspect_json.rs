//! Inspect logs as JSON.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    calipers_fuzz::read_as("log.json", bytes, Some("inspect"));
});
