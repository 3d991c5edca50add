//! Parts of a run: whatever the bytes, reading, merging and measuring them ends in an answer or an error.
#![no_main]

use calipers::Selection;
use calipers::parts::{Part, PartKind, Parts};
use calipers::score::ScoreOptions;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // A checksum is no secret: one that fits is put below bytes of any kind.
    for bytes in [bytes.to_vec(), Part::with_checksum(bytes)] {
        let Ok(part) = Part::from_bytes("part", &bytes) else { continue };
        let is_states = part.header.kind == PartKind::States;
        let Ok(parts) = Parts::new(vec![("part".to_owned(), part)]) else { continue };
        if is_states {
            let _ = parts.score(&Selection::default(), &ScoreOptions::default());
        } else if let Ok(runs) = parts.into_runs() {
            calipers_fuzz::score_all(runs);
        }
    }
});
