//! The metrics of runs.

pub(crate) mod caveats;
pub(crate) mod cells;
pub(crate) mod json;
mod side_by_side;
mod table;
mod text;

pub use json::{RESULTS_SCHEMA, SCHEMA, results_json};
pub use text::results_text;
