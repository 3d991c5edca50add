//! The facade, from the outside.
#![allow(clippy::unwrap_used)] // a test that cannot be set up must fail loudly

#[cfg(feature = "run")]
mod eval_example;
mod eval_texts;
mod example;
mod gate;
