//! Reducers and metrics: laws, known answers, bad input.
#![allow(clippy::unwrap_used)] // a test that cannot be set up must fail loudly

mod bad_input;
mod calibration;
mod docs;
mod inspect_edges;
mod inspect_values;
mod intervals;
mod laws;
#[path = "../../../calipers-stats/tests/it/calibration/sim.rs"]
mod sim;
mod vectors_golden;
mod vectors_inspect;
