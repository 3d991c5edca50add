//! What was found in a policy, for a terminal.

use super::Findings;
use super::findings_words::{finding_fix, finding_message};
use crate::screen::Screen;
use crate::text::{clean, wrap};
use calipers_core::{Excerpt, brief};
use calipers_gate::policy::Span;
use calipers_gate::{Finding, Severity};

/// The findings as text: each place once, underlined, with its findings; then how many there are.
///
/// `flag_of` adds to a hint how an interface does what it says: the flag of a command line.
#[must_use]
pub fn findings_text(found: &Findings, screen: Screen, flag_of: &dyn Fn(&Finding) -> Option<&'static str>) -> String {
    let mut text = String::new();
    for group in found.findings.chunk_by(|a, b| a.span == b.span) {
        text += &place(group[0].span.as_ref(), found, screen);
        for finding in group {
            text += &finding_text(finding, flag_of(finding), screen);
        }
        text.push('\n');
    }
    screen.join_sections(&[text + &summary(found, screen)])
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

fn finding_text(finding: &Finding, flag: Option<&str>, screen: Screen) -> String {
    let code = match finding.severity {
        Severity::Error => "1;31",
        Severity::Warning => "1;33",
        Severity::Note => "1",
    };
    let level = finding.severity.name();
    let mut text = String::new();
    let message = format!("{level}: {} [{}]", clean(&brief(&finding_message(finding))), finding.id());
    for (at, line) in wrap(&message, screen.width.saturating_sub(4)).iter().enumerate() {
        match line.strip_prefix(level).filter(|_| at == 0) {
            Some(rest) => text += &format!("  {}{rest}\n", screen.style.paint(code, level)),
            None => text += &format!("    {line}\n"),
        }
    }
    if let Some(fix) = finding_fix(finding) {
        let fix = flag.map_or_else(|| fix.clone(), |flag| format!("{fix} ({flag})"));
        for line in wrap(&format!("hint: {}", clean(&brief(&fix))), screen.width.saturating_sub(4)) {
            text += &format!("    {line}\n");
        }
    }
    text
}

/// `policy.json: 1 error, 2 warnings`
fn summary(found: &Findings, screen: Screen) -> String {
    let counted = |severity: Severity| match found.count(severity) {
        0 => None,
        n => Some(calipers_core::pluralize(n, severity.name())),
    };
    let counts: Vec<String> =
        [Severity::Error, Severity::Warning, Severity::Note].into_iter().filter_map(counted).collect();
    let counts = if counts.is_empty() { "nothing found".to_owned() } else { counts.join(", ") };
    format!("{}: {counts}", screen.style.bold(&clean(&found.policy)))
}
