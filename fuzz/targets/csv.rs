//! Records as CSV.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    calipers_fuzz::read_as("records.csv", bytes, Some("csv"));
});
