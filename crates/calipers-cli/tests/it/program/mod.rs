//! The program under test.

use calipers_testing::Program;
use std::process::Output;

/// The binary that cargo has built for these tests.
pub(crate) fn calipers() -> Program {
    Program::new(env!("CARGO_BIN_EXE_calipers"))
}

/// What the program does with these arguments and this standard input.
pub(crate) fn with_input(arguments: &[&str], input: &[u8]) -> Output {
    calipers().run_with_input(arguments, input)
}
