//! Solvers, scorers, models and the runner.
#![allow(clippy::unwrap_used)] // a test that cannot be set up must fail loudly

#[path = "../../../calipers-core/tests/it/inspect/mod.rs"]
mod inspect;
mod inspect_scorers;
#[cfg(feature = "remote")]
mod models;
mod runner;
mod scorers;
mod scripted;
mod server;
mod solvers;
