//! What changed between runs.

mod json;
mod markdown;
pub(crate) mod text;
pub(crate) mod words;

pub use json::{compare_json, compare_schema};
pub use markdown::{COMPARE_MARKER, compare_markdown};
pub use text::compare_text;
