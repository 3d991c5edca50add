//! Every format that is JSON or JSON Lines, detected from the content.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    if matches!(first, Some(b'{' | b'[')) {
        calipers_fuzz::read_as("results.json", bytes, None);
    }
});
