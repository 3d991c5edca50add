//! What the targets share. Whatever the bytes, reading and scoring end in an answer or an error, never in a panic.

use calipers::io::{RecordedRun, Source, panic_is_caught, read};
use calipers::Selection;
use calipers::score::{ScoreOptions, score_run};
use std::sync::Once;

/// Reads bytes in a format, or in the one that recognises them.
pub fn read_as(name: &str, bytes: &[u8], format: Option<&str>) -> Vec<RecordedRun> {
    quiet_caught_panics();
    match read(&Source::bytes(name, bytes), format) {
        Ok(runs) => runs,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            Vec::new()
        }
    }
}

/// Scores runs as `calipers score` does, with and without Inspect's answers.
pub fn score_all(runs: Vec<RecordedRun>) {
    for run in runs {
        for inspect in [false, true] {
            let options = ScoreOptions { inspect, keep_reductions: true, ..ScoreOptions::default() };
            if let Err(error) = score_run(run.clone(), &Selection::default(), &options) {
                assert!(!error.to_string().is_empty());
            }
        }
    }
}

/// The fuzzer's own hook ends the process at any panic, also at one that is caught and becomes an error.
fn quiet_caught_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let abort = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !panic_is_caught() {
                abort(panic);
            }
        }));
    });
}
