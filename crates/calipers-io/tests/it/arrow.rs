//! Arrow streams and files: read like records with the same values, and hostile ones refused without harm.

use calipers_core::Samples;
use calipers_io::{Columns, Projection, Source, read, read_shards};
use std::path::PathBuf;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/formats/arrow").join(name)
}

fn whole(samples: &Samples) -> String {
    format!("{:#?}", samples.records().collect::<Vec<_>>())
}

#[test]
fn streams_and_files_of_every_text_type_are_read_like_records() {
    let records = read(&Source::path(fixture("records.jsonl")), None).unwrap();
    for name in ["records.arrow", "stream.arrow", "views.arrow"] {
        let runs = read(&Source::path(fixture(name)), None).unwrap();
        assert_eq!(runs[0].format, "arrow", "{name}");
        assert_eq!(whole(&runs[0].samples), whole(&records[0].samples), "{name}");
        // From a pipe there is no name, and only the columns that are asked for.
        let source = Source::bytes("-", std::fs::read(fixture(name)).unwrap());
        let runs = read_shards(&source, None, &Projection::only(["category"])).unwrap();
        let samples = runs.into_iter().next().unwrap().samples.into_whole();
        assert!(samples.fields().next().is_none() && samples.len() == 12, "{name}");
    }
}

#[test]
fn columns_can_be_named() {
    let mut columns = Columns::default();
    columns.add("id=id,score=latency_ms").unwrap();
    let source = Source::path(fixture("stream.arrow")).with_columns(columns);
    let samples = &read(&source, None).unwrap()[0].samples;
    assert_eq!((samples.len(), samples.attempts(), samples.counts().scored), (12, 24, 12));
}

#[test]
fn what_is_cut_off_or_changed_is_an_error_or_another_table() {
    let mut state = 11_u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    for name in ["records.arrow", "stream.arrow", "views.arrow"] {
        let good = std::fs::read(fixture(name)).unwrap();
        for cut in (0..good.len()).step_by(7) {
            if let Err(error) = read(&Source::bytes("x", &good[..cut]), Some("arrow")) {
                assert!(!error.what().is_empty());
            }
        }
        for _ in 0..1500 {
            let mut bad = good.clone();
            for _ in 0..=next() % 3 {
                let place = next() % bad.len();
                bad[place] ^= 1 << (next() % 8);
            }
            let _ = read(&Source::bytes("x", bad), None);
        }
    }
    // A message that claims more bytes than there are.
    let mut claims = std::fs::read(fixture("stream.arrow")).unwrap();
    claims[4..8].copy_from_slice(&i32::MAX.to_le_bytes());
    let error = read(&Source::bytes("x", claims), Some("arrow")).unwrap_err();
    assert!(error.what().contains("cut off in a message"), "{error}");
    let error = read(&Source::path(fixture("compressed.arrow")), None).unwrap_err();
    assert!(error.what().contains("are compressed"), "{error}");
    let error = read(&Source::bytes("x", *b"ARROW1\0\0"), None).unwrap_err();
    assert!(error.what().contains("the end of the stream is missing"), "{error}");
}
