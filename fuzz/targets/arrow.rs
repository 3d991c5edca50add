//! Arrow streams and files.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    calipers_fuzz::read_as("records.arrow", bytes, Some("arrow"));
});
