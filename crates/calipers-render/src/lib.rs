//! A report for people and for programs. Renderers compute nothing: they lay out what is in the report.
//!
//! Text from models and files is untrusted everywhere: its control characters are made visible before it reaches a
//! terminal.

mod json;
mod numbers;
mod terminal;

pub use json::{RESULTS_SCHEMA, SCHEMA, results_json};
pub use numbers::number;
pub use terminal::{Screen, Style, results_text};
