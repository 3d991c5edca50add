//! Solvers, scorers, models and the runner.
#![allow(clippy::unwrap_used)] // a test that cannot be set up must fail loudly

mod inspect_scorers;
#[cfg(feature = "remote")]
mod models;
mod runner;
mod scorers;
mod scripted;
mod solvers;
