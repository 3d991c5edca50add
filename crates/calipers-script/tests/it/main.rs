//! Metrics and tasks from scripts.
#![allow(clippy::unwrap_used)] // a test that cannot be set up must fail loudly

mod scripts;
mod task_files;
