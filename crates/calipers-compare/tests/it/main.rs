//! Comparisons and plans.
#![allow(clippy::unwrap_used)] // a test that cannot be set up must fail loudly

mod calibration;
mod calibration_changes;
mod compare;
mod sizing;
