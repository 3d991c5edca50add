//! A verdict in every form. `BLESS=1 cargo test` rewrites the snapshots; read a changed one as prose.

mod annotations;
mod json;
mod junit;
mod markdown;
mod reports;
mod terminal;

use calipers_testing::snapshot::assert_file;
use std::path::Path;

#[track_caller]
fn snapshot(name: &str, text: &str) {
    assert_file(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots/gate").join(name), text);
}

/// True for characters that steer a terminal or the direction of writing.
fn steers(c: char) -> bool {
    (c.is_control() && c != '\n') || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
