//! What was found in a policy, for people and for programs: `calipers.findings/1`.

use crate::text::{clean, wrapped};
use crate::{gate::text::without_commands, screen::Screen};
use calipers_core::{Excerpt, brief};
use calipers_gate::policy::Span;
use calipers_gate::{Finding, Severity};
use serde_json::{Value as Json, json};

/// The name and version of the schema.
const SCHEMA: &str = "calipers.findings/1";

/// The schema itself: JSON Schema 2020-12, with every property described.
pub const FINDINGS_SCHEMA: &str = include_str!("../../schema/calipers.findings.1.json");

/// What was found in a policy.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The file, as it was named.
    pub policy: String,
    /// What was found, in the order of the file.
    pub findings: Vec<Finding>,
}

impl Findings {
    fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }
}

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
        "id": finding.id,
        "level": finding.severity.name(),
        "message": finding.message,
        "fix": finding.fix,
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

/// The findings as text: each place once, underlined, with what is to be said about it; then how many there are.
#[must_use]
pub fn findings_text(found: &Findings, screen: Screen) -> String {
    let mut text = String::new();
    for group in found.findings.chunk_by(|a, b| a.span == b.span) {
        text += &place(group[0].span.as_ref(), found, screen);
        for finding in group {
            text += &told(finding, screen);
        }
        text.push('\n');
    }
    without_commands(&(text + &summary(found, screen)))
}

/// The place with its line, or the file as a whole.
fn place(span: Option<&Span>, found: &Findings, screen: Screen) -> String {
    let Some(span) = span else { return format!("{}\n", screen.style.bold(&clean(&found.policy))) };
    let excerpt = Excerpt::of(&span.text.name, &span.text.text, span.range.clone()).to_string();
    let mut lines = excerpt.trim_start_matches('\n').lines();
    let heading = lines.next().unwrap_or_default().trim_start().trim_start_matches("in ");
    let mut text = format!("{}\n", screen.style.bold(heading));
    for line in lines {
        text += &format!("  {}\n", line.strip_prefix("    ").unwrap_or(line));
    }
    text
}

fn told(finding: &Finding, screen: Screen) -> String {
    let code = match finding.severity {
        Severity::Error => "1;31",
        Severity::Warning => "1;33",
        Severity::Note => "1",
    };
    let level = finding.severity.name();
    let mut text = String::new();
    let message = format!("{level}: {} [{}]", clean(&brief(&finding.message)), finding.id);
    for (at, line) in wrapped(&message, screen.width.saturating_sub(4)).iter().enumerate() {
        match line.strip_prefix(level).filter(|_| at == 0) {
            Some(rest) => text += &format!("  {}{rest}\n", screen.style.paint(code, level)),
            None => text += &format!("    {line}\n"),
        }
    }
    if let Some(fix) = &finding.fix {
        for line in wrapped(&format!("hint: {}", clean(&brief(fix))), screen.width.saturating_sub(4)) {
            text += &format!("    {line}\n");
        }
    }
    text
}

/// `policy.json: 1 error, 2 warnings`
fn summary(found: &Findings, screen: Screen) -> String {
    let counted = |severity: Severity| match found.count(severity) {
        0 => None,
        n => Some(calipers_core::counted(n, severity.name())),
    };
    let counts: Vec<String> =
        [Severity::Error, Severity::Warning, Severity::Note].into_iter().filter_map(counted).collect();
    let counts = if counts.is_empty() { "nothing found".to_owned() } else { counts.join(", ") };
    format!("{}: {counts}", screen.style.bold(&clean(&found.policy)))
}
