//! How far a judge can be trusted.

mod json;
mod markdown;
mod text;
mod words;

pub use json::{judge_json, judge_schema};
pub use markdown::{JUDGE_MARKER, judge_markdown};
pub use text::judge_text;

use crate::form::{Form, indent};
use calipers_compare::labelled::JudgeReport;

/// The forms of a report about a judge.
pub const JUDGE_FORMS: &[Form<JudgeReport>] = &[
    Form { names: &["json"], render: |report, _| Ok(indent(&judge_json(report))) },
    Form { names: &["markdown", "md"], render: |report, _| Ok(judge_markdown(report)) },
    Form { names: &["text", "txt"], render: |report, screen| Ok(judge_text(report, screen)) },
];
