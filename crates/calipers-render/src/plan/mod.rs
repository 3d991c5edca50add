//! How many samples a run needs.

mod json;
mod text;
pub(crate) mod words;

pub use json::{plan_json, plan_schema};
pub use text::plan_text;
