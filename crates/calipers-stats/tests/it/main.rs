//! Statistics: known answers, and calibration.
#![allow(clippy::unwrap_used)] // a test that cannot be set up must fail loudly

mod calibration;
mod golden_agreement;
mod golden_bootstrap;
mod golden_clustered;
mod golden_confusion;
mod golden_gate;
mod golden_judge;
mod golden_moments;
mod golden_paired;
mod golden_pass_at_k;
mod golden_power;
mod golden_primitives;
mod golden_proportions;
mod golden_quantiles;
mod golden_sequential;
mod golden_tests;
mod golden_weighted;
