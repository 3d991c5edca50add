//! Any content through detection and scoring: what `calipers score` does with a file.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    calipers_fuzz::score_all(calipers_fuzz::read_as("results", bytes, None));
});
