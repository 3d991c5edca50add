//! What was found in a policy, for programs: `calipers.findings/1`.

use super::Findings;
use super::findings_words::{finding_fix, finding_message};
use crate::document::{schema_text, to_json};
use calipers_gate::policy::Span;
use calipers_gate::{Finding, Severity};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

/// The name and version of the schema.
const SCHEMA: &str = "calipers.findings/1";

/// The findings as JSON.
#[must_use]
pub fn findings_json(found: &Findings) -> Json {
    to_json(&FindingsDocument {
        schema: SCHEMA,
        policy: found.policy.clone(),
        errors: found.count(Severity::Error),
        warnings: found.count(Severity::Warning),
        notes: found.count(Severity::Note),
        findings: found.findings.iter().map(FindingDocument::from).collect(),
    })
}

/// The schema of the JSON: JSON Schema 2020-12, with every property described.
#[must_use]
pub fn findings_schema() -> String {
    schema_text::<FindingsDocument>("findings")
}

/// What `calipers policy check --json` prints: what is wrong with a policy, and what is worth knowing about it.
#[derive(Serialize, JsonSchema)]
struct FindingsDocument {
    /// The name and version of this schema.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// The policy file, as it was named.
    policy: String,
    /// How many findings are errors.
    errors: usize,
    /// How many findings are warnings.
    warnings: usize,
    /// How many findings are notes.
    notes: usize,
    /// The findings, in the order of the file; those about the policy as a whole come last.
    findings: Vec<FindingDocument>,
}

/// Something that is wrong with the policy, or worth knowing about it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "finding")]
struct FindingDocument {
    /// Its short stable name; docs/policy-check.md explains each.
    #[schemars(extend("pattern" = "^[a-z0-9-]+$"))]
    id: &'static str,
    /// An error means that the policy cannot be applied or can never pass, a warning that it probably does not do what is meant.
    #[schemars(extend("enum" = ["error", "warning", "note"]))]
    level: &'static str,
    /// What was found; the text may change.
    #[schemars(length(min = 1))]
    message: String,
    /// What to do about it.
    fix: Option<String>,
    /// Where; null for the policy as a whole.
    place: Option<PlaceDocument>,
}

impl From<&Finding> for FindingDocument {
    fn from(finding: &Finding) -> Self {
        Self {
            id: finding.id(),
            level: finding.severity.name(),
            message: finding_message(finding),
            fix: finding_fix(finding),
            place: finding.span.as_ref().map(PlaceDocument::from),
        }
    }
}

/// A place in a file of the policy.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "place")]
pub(crate) struct PlaceDocument {
    /// The file: the policy, or one that it extends.
    file: String,
    /// The line, from 1.
    #[schemars(range(min = 1))]
    line: usize,
    /// The column in characters, from 1.
    #[schemars(range(min = 1))]
    column: usize,
    /// The text at this place.
    text: String,
}

impl From<&Span> for PlaceDocument {
    fn from(span: &Span) -> Self {
        Self { file: span.text.name.clone(), line: span.line(), column: span.column(), text: span.raw().to_owned() }
    }
}
