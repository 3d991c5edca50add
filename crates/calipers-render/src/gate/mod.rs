//! A verdict and all that it rests on.

mod annotations;
pub(crate) mod caveat_words;
pub(crate) mod cells;
pub(crate) mod json;
mod junit;
pub(crate) mod markdown;
pub(crate) mod reason_words;
pub(crate) mod rule_words;
mod table;
pub(crate) mod text;
pub(crate) mod words;

pub use annotations::gate_annotations;
pub use json::{gate_json, gate_schema};
pub use junit::{JunitError, gate_junit};
pub use markdown::{GATE_MARKER, gate_markdown};
pub use reason_words::{gate_decision, gate_reason};
pub use rule_words::gate_rule;
pub use text::gate_text;

use crate::form::Form;
use calipers_gate::GateReport;

/// The forms of a verdict.
pub const GATE_FORMS: &[Form<GateReport>] = &[
    Form { names: &["json"], render: |report, _| Ok(json::gate_json_text(report)) },
    Form { names: &["markdown", "md"], render: |report, _| Ok(gate_markdown(report)) },
    Form { names: &["junit", "xml"], render: |report, _| Ok(gate_junit(report)?) },
    Form { names: &["text", "txt"], render: |report, screen| Ok(gate_text(report, screen)) },
];
