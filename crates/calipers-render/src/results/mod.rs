//! The metrics of runs.

pub(crate) mod caveats;
pub(crate) mod cells;
mod compact;
mod json;
mod side_by_side;
mod table;
mod text;

pub(crate) use cells::figure_scale;
pub use compact::results_table;
pub use json::{SCHEMA, results_json, results_schema};
pub use text::results_text;
