//! Readers and writers.
#![allow(clippy::unwrap_used)] // a test that cannot be set up must fail loudly

mod agents;
mod any_table;
mod archives;
mod arrow;
mod datasets;
mod harnesses;
mod inspect;
mod memory_tables;
mod policy;
mod reports;
mod run_log;
mod seen;
mod tables;
mod what_was_tried;
mod write;
