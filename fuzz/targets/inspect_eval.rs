//! Inspect logs in archives.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    calipers_fuzz::read_as("log.eval", bytes, Some("inspect"));
});
