use super::reports::{HOSTILE, all, failing, hostile, large, nothing, passing, undecided};
use super::{snapshot, steers};
use calipers_gate::GateReport;
use calipers_render::{Screen, Style, gate_annotations, gate_junit, gate_markdown, gate_text};
use unicode_width::UnicodeWidthStr;

fn at(report: &GateReport, width: usize) -> String {
    let text = gate_text(report, Screen { width, ..Screen::PLAIN });
    for line in text.lines() {
        assert!(line.width() <= width, "{} columns in `{line}`", line.width());
        assert_eq!(line, line.trim_end(), "blanks at the end");
    }
    text
}

#[test]
fn the_verdict_comes_first_and_an_ordinary_run_fits_a_screen() {
    let pass = at(&passing(), 80);
    snapshot("passing.txt", &pass);
    assert!(pass.lines().count() <= 24);
    snapshot("failing_80.txt", &at(&failing(), 80));
    snapshot("failing_140.txt", &at(&failing(), 140));
    snapshot("undecided.txt", &at(&undecided(), 80));
    snapshot("nothing.txt", &at(&nothing(), 80));
    let first = at(&failing(), 80).lines().next().map(str::to_owned);
    assert_eq!(first.as_deref(), Some("FAIL  safety_rate: 96.2 % is not ≥ 100 %"));
}

#[test]
fn long_lists_are_cut_but_no_gate_that_was_missed_is_left_out() {
    let text = at(&large(), 80);
    snapshot("large.txt", &text);
    for gate in large().gates.iter().filter(|gate| gate.verdict.name() != "pass") {
        assert!(text.contains(&format!("fail  {}", gate.metric)), "{}", gate.metric);
    }
    assert!(text.contains("and 9994 more"));
    for width in [80, 100, 140] {
        at(&hostile(&"a long text of a model ".repeat(9000)), width);
    }
}

#[test]
fn a_verdict_on_a_part_of_a_run_says_so_beside_it() {
    let mut report = passing();
    report.provenance.filter = vec![("category".into(), "happy_path".into()), ("lang".into(), "en".into())];
    report.provenance.scorers = vec!["judge".into()];
    report.provenance.labels = vec![("maybe".into(), 0.5)];
    let told = "only a part of the run: scenarios where category=happy_path and lang=en, scores by judge; labels given \
                by hand: maybe=0.5";
    let text = at(&report, 200);
    assert_eq!(text.lines().nth(1).map(str::trim), Some(told));
    let second = at(&report, 80).lines().nth(1).map(str::to_owned);
    assert_eq!(
        second.as_deref(),
        Some("      only a part of the run: scenarios where category=happy_path and lang=en,")
    );
    let comment = gate_markdown(&report);
    assert_eq!(comment.lines().nth(4), Some(&*format!("> **{told}**")));
    assert!(gate_junit(&report).unwrap().contains(&format!("name=\"calipers.restriction\" value=\"{told}\"")));
    assert!(gate_annotations(&report).contains("::notice title=calipers%3A restricted::only a part of the run: "));
    report.provenance.filter.clear();
    report.provenance.scorers.clear();
    assert_eq!(at(&report, 80).lines().nth(1), Some("      labels given by hand: maybe=0.5"));
}

#[test]
fn colour_changes_nothing_but_colour() {
    for (name, report) in all() {
        let colour = gate_text(&report, Screen { style: Style::Colour, ..Screen::PLAIN });
        let mut plain = String::new();
        for (place, part) in colour.split("\u{1b}[").enumerate() {
            plain += if place == 0 { part } else { part.split_once('m').unwrap().1 };
        }
        assert_eq!(plain, gate_text(&report, Screen::PLAIN), "{name}");
    }
    let colour = gate_text(&failing(), Screen { style: Style::Colour, ..Screen::PLAIN });
    assert!(colour.starts_with("\u{1b}[1;31mFAIL"));
}

#[test]
fn hostile_text_steers_neither_the_terminal_nor_a_workflow() {
    let text = gate_text(&hostile(HOSTILE), Screen::PLAIN);
    assert!(!text.contains(steers), "{text:?}");
    assert!(!text.contains("##["));
    // No line begins with a workflow command, wherever the text is wrapped.
    for width in 20..200 {
        let text = gate_text(&hostile(HOSTILE), Screen { width, ..Screen::PLAIN });
        assert!(!text.lines().any(|line| line.trim_start().starts_with("::")), "{text}");
    }
    // An id without blanks is no reason for a longer line.
    let long = gate_text(&hostile(&"x".repeat(200_000)), Screen::PLAIN);
    assert!(long.len() < 60_000, "{}", long.len());
    assert!(long.lines().all(|line| line.width() <= 120), "{long}");
}
