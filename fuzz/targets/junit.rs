//! JUnit XML.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    calipers_fuzz::read_as("report.xml", bytes, Some("junit"));
});
