//! A verdict as commands of a GitHub workflow, which shows them beside the run.

use crate::gate::reason_words::gate_decision;
use crate::gate::words::{blocks, first_of, gate_name, reason, restriction};
use crate::text::{abridge, clean};
use crate::words::caveat_sentence;
use calipers_core::{Caveat, Verdict, defuse};
use calipers_gate::{GateReport, GateResult};

/// GitHub shows no more of each kind a step.
const SHOWN_MAX: usize = 10;
/// As much of a message as helps there.
const MESSAGE_MAX: usize = 1000;
/// As much of a title.
const TITLE_MAX: usize = 120;
/// Scenarios that are named before the rest is counted.
const NAMES_MAX: usize = 10;

/// The verdict as workflow commands, one per line: an error for each gate that blocks, a warning for each other gate that
/// was not passed, and a notice for the verdict and for scenarios that fail since the baseline. At most ten of each
/// kind; the last says how many more there are.
#[must_use]
pub fn gate_annotations(report: &GateReport) -> String {
    let missed = || report.gates.iter().filter(|gate| gate.verdict != Verdict::Pass);
    let mut errors: Vec<_> = missed().filter(|gate| blocks(gate, report)).map(of_gate).collect();
    // A verdict that no gate stands for, such as one without any data, is an error all the same.
    if errors.is_empty() && report.verdict != Verdict::Pass {
        errors.push((report.verdict.name().to_uppercase(), gate_decision(report)));
    }
    let mut warnings: Vec<_> = missed().filter(|gate| !blocks(gate, report)).map(of_gate).collect();
    warnings.extend(run_caveats(report).map(|caveat| (caveat.id().to_owned(), caveat_sentence(caveat))));
    let mut text = commands("error", &errors);
    text += &commands("warning", &warnings);
    text += &commands("notice", &notices(report));
    text
}

/// What says that the results are not all that they should be, or how that was dealt with.
pub(crate) fn run_caveats(report: &GateReport) -> impl Iterator<Item = &Caveat> {
    let is_of_run = |caveat: &&Caveat| {
        use Caveat::{CachedAnswers, Incomplete, LimitsHit, MissingCounted};
        matches!(caveat, Incomplete { .. } | LimitsHit { .. } | CachedAnswers { .. } | MissingCounted { .. })
    };
    report.caveats.iter().filter(is_of_run)
}

/// A title and a message.
type Annotation = (String, String);

fn of_gate(gate: &GateResult) -> Annotation {
    (format!("{}: {}", gate.verdict, gate_name(gate)), reason(gate))
}

fn notices(report: &GateReport) -> Vec<Annotation> {
    let mut notices = Vec::new();
    if report.verdict == Verdict::Pass {
        notices.push(("PASS".to_owned(), gate_decision(report)));
    }
    if let Some(restriction) = restriction(report) {
        notices.push(("restricted".to_owned(), restriction));
    }
    if let Some(baseline) = report.baseline.as_ref().filter(|baseline| !baseline.newly_failing.is_empty()) {
        notices.push(("newly failing".to_owned(), first_of(&baseline.newly_failing, NAMES_MAX)));
    }
    notices
}

fn commands(kind: &str, annotations: &[Annotation]) -> String {
    let shown = if annotations.len() > SHOWN_MAX { SHOWN_MAX - 1 } else { annotations.len() };
    let mut text: String = annotations[..shown].iter().map(|(title, message)| command(kind, title, message)).collect();
    if shown < annotations.len() {
        let more = annotations.len() - shown;
        text += &command(kind, &format!("{more} more"), "the report has all of them");
    }
    text
}

fn command(kind: &str, title: &str, message: &str) -> String {
    let title = property(&clean(&abridge(&format!("calipers: {title}"), TITLE_MAX)));
    // Lines are kept, as the command has a way to write them; whatever else steers is not.
    let lines: Vec<String> = abridge(message, MESSAGE_MAX).lines().map(clean).collect();
    let command = format!("title={title}::{}", data(&lines.join("\n")));
    format!("::{kind} {}\n", defuse(&command, false))
}

/// A message, as the runner's own toolkit escapes it.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of a command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_meaning_in_a_command_is_escaped() {
        assert_eq!(
            command("error", "a,b:c", "50 %\n::error::x\u{1b}[31m"),
            "::error title=calipers%3A a%2Cb%3Ac::50 %25%0A::error::x\u{fffd}[31m\n"
        );
    }
}
