//! What changed between runs.

mod json;
mod markdown;
pub(crate) mod text;
pub(crate) mod words;

pub use json::{compare_json, compare_schema};
pub use markdown::{COMPARE_MARKER, compare_markdown};
pub use text::compare_text;

use crate::form::Form;
use calipers_compare::CompareReport;

/// The forms of a comparison.
pub const COMPARE_FORMS: &[Form<CompareReport>] = &[
    Form { names: &["json"], render: |report, _| Ok(json::compare_json_text(report)) },
    Form { names: &["markdown", "md"], render: |report, _| Ok(compare_markdown(report)) },
    Form { names: &["text", "txt"], render: |report, screen| Ok(compare_text(report, screen)) },
];
