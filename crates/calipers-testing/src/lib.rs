//! What the tests of several crates share. It is used only in `[dev-dependencies]`, and depends on no crate of the workspace.
//!
//! - [`Scratch`]: an empty folder that is removed when the test ends
//! - [`Program`]: the `calipers` binary, run without the variables that change what it does
//! - [`snapshot`]: files of expected output, which `BLESS=1` rewrites
//! - [`golden`] and [`inspect`]: the reference answers in `testdata/vectors`
//! - [`simulation`]: seeded draws, and claims about how often something holds
//! - [`object_server`]: a local web server that sends ranges of files, or misbehaves
//! - `server` (feature `server`): a local HTTP server that misbehaves on request
#![allow(clippy::unwrap_used)] // a test that cannot be set up must fail loudly

pub mod golden;
pub mod inspect;
pub mod object_server;
mod program;
mod scratch;
#[cfg(feature = "server")]
pub mod server;
pub mod simulation;
pub mod snapshot;
pub mod vectors;

pub use program::{Program, text};
pub use scratch::Scratch;

/// How many cases a law draws: as many as `PROPTEST_CASES` says, or else as many as usual. A law with a number of its own would
/// not look at the variable.
pub fn law_cases(usual: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(usual)
}

/// The root of the repository.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
