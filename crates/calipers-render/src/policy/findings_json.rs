//! What was found in a policy, for programs: `calipers.findings/1`.

use super::Findings;
use super::findings_words::{finding_fix, finding_message};
use calipers_gate::policy::Span;
use calipers_gate::{Finding, Severity};
use serde_json::{Value as Json, json};

/// The name and version of the schema.
const SCHEMA: &str = "calipers.findings/1";

/// The schema itself: JSON Schema 2020-12, with every property described.
pub const FINDINGS_SCHEMA: &str = include_str!("../../schema/calipers.findings.1.json");

/// The findings as JSON.
#[must_use]
pub fn findings_json(found: &Findings) -> Json {
    json!({
        "schema": SCHEMA,
        "policy": found.policy,
        "errors": found.count(Severity::Error),
        "warnings": found.count(Severity::Warning),
        "notes": found.count(Severity::Note),
        "findings": found.findings.iter().map(of_finding).collect::<Vec<_>>(),
    })
}

fn of_finding(finding: &Finding) -> Json {
    json!({
        "id": finding.id(),
        "level": finding.severity.name(),
        "message": finding_message(finding),
        "fix": finding_fix(finding),
        "place": finding.span.as_ref().map(of_place),
    })
}

pub(crate) fn of_place(span: &Span) -> Json {
    json!({
        "file": span.text.name,
        "line": span.line(),
        "column": span.column(),
        "text": span.raw(),
    })
}
