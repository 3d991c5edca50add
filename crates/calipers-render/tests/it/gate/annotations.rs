use super::reports::{HOSTILE, all, failing, hostile, large, nothing, passing, undecided};
use super::{snapshot, steers};
use calipers_core::Verdict;
use calipers_render::gate_annotations;

#[test]
fn gates_that_were_missed_are_shown_beside_the_run() {
    let texts = [passing(), failing(), undecided(), nothing(), large()].map(|report| gate_annotations(&report));
    snapshot("annotations.txt", &texts.join("\n"));
}

#[test]
fn there_are_at_most_ten_of_each_kind_and_every_line_is_one() {
    for (name, report) in all() {
        let text = gate_annotations(&report);
        for kind in ["error", "warning", "notice"] {
            let count = text.lines().filter(|line| line.starts_with(&format!("::{kind} title=calipers"))).count();
            assert!(count <= 10, "{name}: {count} of {kind}");
        }
        let is_command = |line: &str| ["::error ", "::warning ", "::notice "].iter().any(|kind| line.starts_with(kind));
        assert!(text.lines().all(is_command), "{name}: {text}");
        assert!(!text.contains(steers), "{name}");
        assert_eq!(text.contains("::error "), report.verdict != Verdict::Pass, "{name}");
    }
    assert!(gate_annotations(&large()).contains("more::the report has all of them"));
}

#[test]
fn hostile_text_begins_no_command_of_its_own() {
    let text = gate_annotations(&hostile(HOSTILE));
    for line in text.lines() {
        let (head, _) = line[2..].split_once("::").unwrap();
        let (_, title) = head.split_once(" title=").unwrap();
        assert!(!title.contains([':', ',']), "{title}");
    }
    assert!(text.contains("%0A::warning title=x::y%0A"), "{text}");
}
