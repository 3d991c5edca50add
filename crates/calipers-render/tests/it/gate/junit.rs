use super::reports::{HOSTILE, all, failing, hostile, passing, undecided};
use super::{snapshot, steers};
use calipers_core::Verdict;
use calipers_gate::ScenarioResult;
use calipers_render::gate_junit;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let attribute = tag.try_get_attribute(name).unwrap()?;
    Some(attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0).unwrap().into_owned())
}

/// The cases of a suite: name, class, and the elements within, in order.
fn cases(xml: &str, suite: &str) -> Vec<(String, String, Vec<String>)> {
    let mut reader = Reader::from_str(xml);
    let mut found: Vec<(String, String, Vec<String>)> = Vec::new();
    let mut is_wanted = false;
    loop {
        match reader.read_event().unwrap() {
            Event::Start(tag) | Event::Empty(tag) => {
                let name = tag.name().as_ref().to_owned();
                match name.as_str() {
                    "testsuite" => is_wanted = attribute(&tag, "name").as_deref() == Some(suite),
                    "testcase" if is_wanted => {
                        let text = |name| attribute(&tag, name).unwrap_or_default();
                        found.push((text("name"), text("classname"), Vec::new()));
                    }
                    "properties" | "property" | "testsuites" => {}
                    _ if is_wanted => found.last_mut().unwrap().2.push(name),
                    _ => {}
                }
            }
            Event::Eof => return found,
            _ => {}
        }
    }
}

#[test]
fn scenarios_and_gates_are_cases() {
    snapshot("failing.xml", &gate_junit(&failing()).unwrap());
    snapshot("undecided.xml", &gate_junit(&undecided()).unwrap());
    let xml = gate_junit(&failing()).unwrap();
    let found = cases(&xml, "scenarios");
    let elements = |id: &str| found.iter().find(|(name, ..)| name == id).unwrap().2.join(" ");
    assert_eq!(found[0].1, "adversarial");
    for (id, want) in [
        ("SEC-001", ""),
        ("SEC-002", "failure rerunFailure rerunError"),
        ("SEC-003", "flakyFailure"),
        ("EDGE-001", "flakyError"),
        ("PERF-001", "error rerunError rerunError rerunError rerunError"),
        ("LOST-001", "skipped"),
        ("CORE-001", "skipped"),
    ] {
        assert_eq!(elements(id), want, "{id}");
    }
}

#[test]
fn a_gate_that_blocks_never_looks_passed_and_a_warning_never_fails_a_build() {
    let xml = gate_junit(&undecided()).unwrap();
    let found: Vec<_> =
        cases(&xml, "gates").into_iter().map(|(name, _, elements)| (name, elements.join(" "))).collect();
    let want =
        [("accuracy", "error"), ("safety_rate", "error"), ("behavior_coverage", "skipped"), ("recall", "skipped")];
    assert_eq!(found, want.map(|(name, element)| (name.to_owned(), element.to_owned())));
    // A policy that lets undecided gates pass.
    let mut lenient = undecided();
    lenient.verdict = Verdict::Pass;
    let xml = gate_junit(&lenient).unwrap();
    assert!(cases(&xml, "gates").iter().all(|(_, _, elements)| elements == &["skipped"]));
    let xml = gate_junit(&passing()).unwrap();
    assert!(cases(&xml, "gates").iter().all(|(_, _, elements)| elements.is_empty()));
}

#[test]
fn every_report_is_well_formed_xml_without_what_xml_cannot_hold() {
    for (name, report) in all() {
        let xml = gate_junit(&report).unwrap();
        assert_eq!(cases(&xml, "gates").len(), report.gates.len(), "{name}");
        let expected = report.scenarios.len() + report.coverage.missing.len();
        assert_eq!(cases(&xml, "scenarios").len(), expected, "{name}");
        assert!(!xml.contains(|c| steers(c) || matches!(c, '\u{fffe}' | '\u{ffff}')), "{name}");
        assert!(xml.len() < 2_000_000, "{name}: {}", xml.len());
    }
    let xml = gate_junit(&hostile(HOSTILE)).unwrap();
    for harm in ["<script", "]]>"] {
        assert!(!xml.contains(harm), "{harm}");
    }
    // What was meant is still there to read.
    assert!(cases(&xml, "gates")[0].0.contains("<script>alert(1)</script>"));
}

#[test]
fn every_case_has_a_name_that_can_be_seen() {
    let mut report = passing();
    let ids = ["\u{1}", "\u{1}\u{2}", "", " \n", "\u{202e}", "SEC\u{1}-001"];
    let scenario = report.scenarios[0].clone();
    report.scenarios = ids.map(|id| ScenarioResult { id: id.into(), ..scenario.clone() }).to_vec();
    let found = cases(&gate_junit(&report).unwrap(), "scenarios");
    let names: Vec<&str> = found.iter().map(|(name, ..)| &**name).collect();
    let want = [r#""\u{1}""#, r#""\u{1}\u{2}""#, r#""""#, r#"" \n""#, r#""\u{202e}""#, "SEC-001"];
    assert_eq!(names[..want.len()], want);
}

#[test]
fn a_run_that_passes_has_no_failures() {
    let mut tolerant = failing();
    tolerant.verdict = Verdict::Pass;
    let found = cases(&gate_junit(&tolerant).unwrap(), "scenarios");
    let elements = |id: &str| found.iter().find(|(name, ..)| name == id).unwrap().2.join(" ");
    for (id, want) in [("SEC-001", ""), ("SEC-002", "skipped"), ("SEC-003", "flakyFailure"), ("PERF-001", "skipped")] {
        assert_eq!(elements(id), want, "{id}");
    }
}
