use super::reports::{HOSTILE, all, failing, hostile, nothing, passing, undecided};
use super::{snapshot, steers};
use calipers_core::Verdict;
use calipers_render::{GATE_MARKER, gate_markdown};

#[test]
fn a_comment_says_what_matters() {
    snapshot("passing.md", &gate_markdown(&passing()));
    snapshot("failing.md", &gate_markdown(&failing()));
    snapshot("undecided.md", &gate_markdown(&undecided()));
    snapshot("nothing.md", &gate_markdown(&nothing()));
}

#[test]
fn the_alert_tells_a_pass_with_warnings_from_one_without() {
    let alert = |report| gate_markdown(&report).lines().nth(1).map(str::to_owned).unwrap();
    assert_eq!(alert(failing()), "> [!CAUTION]");
    assert_eq!(alert(undecided()), "> [!WARNING]");
    assert_eq!(alert(passing()), "> [!TIP]");
    let mut warned = passing();
    warned.gates[2].verdict = Verdict::Fail;
    assert_eq!(alert(warned), "> [!NOTE]");
}

#[test]
fn a_comment_is_never_too_long_and_always_whole() {
    let backticks = hostile(&"`".repeat(200_000));
    for (name, report) in all().into_iter().chain([("backticks", backticks)]) {
        let text = gate_markdown(&report);
        assert!(text.chars().count() < 65_000, "{name}: {}", text.chars().count());
        assert!(text.starts_with(&format!("{GATE_MARKER}\n")), "{name}");
        assert_eq!(text.matches("<details>").count(), text.matches("</details>").count(), "{name}");
        assert_eq!(text.matches("<sub>").count(), text.matches("</sub>").count(), "{name}");
    }
}

#[test]
fn hostile_text_is_shown_as_it_is() {
    let text = gate_markdown(&hostile(HOSTILE));
    assert!(!text.contains(steers), "{text:?}");
    for harm in ["<script", "@everyone", "https://", "#1", "www.evil", "[x]", "]]>", " `code`", "$x$"] {
        assert!(!text.contains(harm), "{harm} in {text}");
    }
    assert_eq!(text.matches("<!--").count(), 1);
    assert_eq!(text.matches("-->").count(), 1);
    // No line begins with text of theirs, and no cell ends where they say.
    for line in text.lines().filter(|line| line.starts_with('|')) {
        let cells = line.replace("\\|", "").matches('|').count();
        assert!([3, 4, 6, 8].contains(&cells), "{line}");
    }
}
