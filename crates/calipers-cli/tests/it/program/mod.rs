//! The program under test.

use calipers_testing::{Program, Scratch, text};
use serde_json::Value as Json;
use std::process::Output;

/// The binary that cargo has built for these tests.
pub(crate) fn calipers() -> Program {
    Program::new(env!("CARGO_BIN_EXE_calipers"))
}

/// What the program does with these arguments and this standard input.
pub(crate) fn with_input(arguments: &[&str], input: &[u8]) -> Output {
    calipers().run_with_input(arguments, input)
}

/// What it does with these arguments in a folder.
pub(crate) fn run(folder: &Scratch, arguments: &[&str]) -> Output {
    calipers().run_in(folder, arguments)
}

/// What it prints in a folder with `--json`, whatever the exit code is.
#[track_caller]
pub(crate) fn json(folder: &Scratch, arguments: &[&str]) -> Json {
    let output = run(folder, &[arguments, &["--json"]].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)))
}

/// Everything that it said, results first.
pub(crate) fn said(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

/// Everything that it said, without line breaks.
pub(crate) fn flat_output(output: &Output) -> String {
    flat(&said(output))
}

/// A text without its line breaks.
pub(crate) fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
