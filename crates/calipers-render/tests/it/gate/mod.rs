//! A verdict in every form. `BLESS=1 cargo test` writes the snapshots anew; read a changed one as if it were prose.

mod annotations;
mod json;
mod junit;
mod markdown;
mod reports;
mod terminal;

use std::path::Path;

#[track_caller]
fn snapshot(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots/gate").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let want = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, want, "\n{text}");
}

/// True for characters that steer a terminal or the direction of writing.
fn steers(c: char) -> bool {
    (c.is_control() && c != '\n') || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
