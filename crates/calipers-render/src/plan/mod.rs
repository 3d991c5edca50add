//! How many samples a run needs.

mod json;
mod text;
pub(crate) mod words;

pub use json::{PLAN_SCHEMA, plan_json};
pub use text::plan_text;
