//! How far a judge can be trusted.

mod json;
mod markdown;
mod text;
mod words;

pub use json::{judge_json, judge_schema};
pub use markdown::{JUDGE_MARKER, judge_markdown};
pub use text::judge_text;
