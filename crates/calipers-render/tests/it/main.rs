//! What people see: read a changed snapshot as if it were prose.
#![allow(clippy::unwrap_used)] // a test that cannot be set up must fail loudly

mod caveats;
mod compare;
mod gate;
mod metric_pages;
mod plan;
mod terminal;
