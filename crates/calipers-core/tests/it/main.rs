//! Reducers and metrics: laws, known answers, bad input.
#![allow(clippy::unwrap_used)] // a test that cannot be set up must fail loudly

mod bad_input;
mod calibration;
mod calibration_shown;
mod clusters;
mod docs;
mod inspect_edges;
mod inspect_values;
mod intervals;
mod laws;
mod laws_of_states;
mod vectors_golden;
mod vectors_inspect;
