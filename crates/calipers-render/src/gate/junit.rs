//! A verdict as JUnit XML, which every CI server shows: the suite `scenarios` has a case for each scenario, the suite
//! `gates` one for each gate.
//!
//! What JUnit's words stand for here:
//!
//! | element | scenario | gate |
//! |---|---|---|
//! | none | passed | passed |
//! | `failure` | failed, and the verdict is not a pass | blocking, and failed |
//! | `error` | did not run, and the verdict is not a pass | blocking, and undecided: it must not look passed |
//! | `skipped` | unscored, missing from the run, or not passed where the policy passes without it | a warning that was not passed: it must not turn a build red |
//! | `flakyFailure`, `flakyError` | attempts before it passed as a whole | |
//! | `rerunFailure`, `rerunError` | further attempts of one that did not pass | |
//!
//! A server turns a build red for every `failure`, so a run that the policy passes has none. What a tolerated scenario came to
//! stands in its type, its message and the property `calipers.outcome`.
//!
//! JUnit has no element for an attempt that passed; how many did stands in the message and in the properties. Scores are
//! properties named `evals.scores.NAME`, which `calipers score` reads again.

use crate::gate::annotations::run_caveats;
use crate::gate::cells::Cells;
use crate::gate::reason_words::gate_decision;
use crate::gate::rule_words::gate_rule;
use crate::gate::words::{blocks, gate_name, reason, restriction};
use crate::outcome_words::shortcoming_sentence;
use crate::text::{abridge, steers};
use crate::words::caveat_sentence;
use calipers_core::{ScenarioOutcome, Shortcoming, Verdict};
use calipers_gate::{AttemptResult, GateReport, GateResult, ScenarioResult};
use quick_junit::{FlakyOrRerun, NonSuccessKind, Report, TestCase, TestCaseStatus, TestRerun, TestSuite};
use std::fmt;
use std::time::Duration;

/// As much of a text as is written.
const TEXT_MAX: usize = 2000;

/// Why no XML could be written.
#[derive(Debug)]
pub struct JunitError(quick_junit::SerializeError);

impl fmt::Display for JunitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the verdict could not be written as JUnit XML")
    }
}

impl std::error::Error for JunitError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// The verdict as JUnit XML.
///
/// A run that passes has no `failure` and no `error`: scenarios that the policy passes without, and warnings that were not
/// passed, are `skipped`. An undecided gate that blocks is an `error`.
pub fn gate_junit(report: &GateReport) -> Result<String, JunitError> {
    let mut junit = Report::new("calipers gate");
    junit.add_test_suite(scenarios(report));
    junit.add_test_suite(gates(report));
    junit.to_string().map_err(JunitError)
}

/// Text without what XML cannot hold, and without marks that change the direction of writing.
fn xml(text: &str) -> String {
    let kept = |c: char| match c {
        '\n' | '\t' => Some(c),
        '\u{fffe}' | '\u{ffff}' => None,
        c if c.is_control() => None,
        c if steers(c) => Some('\u{fffd}'),
        c => Some(c),
    };
    abridge(text, TEXT_MAX).chars().filter_map(kept).collect()
}

/// The name of a case. One of which nothing can be seen is written with escapes: servers keep cases apart by name.
fn case_name(text: &str) -> String {
    let name = xml(text);
    let is_seen = name.chars().any(|c| !c.is_whitespace() && c != '\u{fffd}');
    if is_seen { name } else { xml(&format!("{text:?}")) }
}

fn scenarios(report: &GateReport) -> TestSuite {
    let mut suite = TestSuite::new("scenarios");
    let is_tolerated = report.verdict == Verdict::Pass;
    suite.add_test_cases(report.scenarios.iter().map(|one| scenario(one, is_tolerated)));
    for caveat in run_caveats(report) {
        suite.add_property((format!("calipers.{}", caveat.id()), xml(&caveat_sentence(caveat))));
    }
    let by = report.coverage.expected_by.map_or_else(String::new, |by| format!(", though the {} names it", by.name()));
    let why = format!("not in the run{by}");
    for id in &report.coverage.missing {
        let mut status = TestCaseStatus::skipped();
        status.set_type("missing").set_message(xml(&why));
        suite.add_test_case(TestCase::new(case_name(id), status));
    }
    suite
}

fn scenario(scenario: &ScenarioResult, is_tolerated: bool) -> TestCase {
    let main = main_attempt(scenario);
    let kind = match scenario.outcome {
        ScenarioOutcome::Failed => Some(NonSuccessKind::Failure),
        ScenarioOutcome::Errored => Some(NonSuccessKind::Error),
        ScenarioOutcome::Passed | ScenarioOutcome::Unscored => None,
    };
    let mut case = TestCase::new(case_name(&scenario.id.to_string()), status(scenario, main, kind, is_tolerated));
    if let (Some(kind), true) = (kind, is_tolerated) {
        case.add_property(("calipers.outcome", type_of(kind)));
    }
    if let Some(category) = &scenario.category {
        case.set_classname(xml(category));
    }
    if let Some(time) = main.and_then(duration) {
        case.set_time(time);
    }
    for (name, score) in &scenario.scores {
        case.add_property((xml(&format!("evals.scores.{name}")), score.to_string()));
    }
    if scenario.attempts.len() > 1 {
        case.add_property(("calipers.attempts".to_owned(), scenario.attempts.len().to_string()));
        case.add_property(("calipers.attempts_passed".to_owned(), count_passed(scenario).to_string()));
    }
    if scenario.weight != 1.0 {
        case.add_property(("calipers.weight".to_owned(), scenario.weight.to_string()));
    }
    if scenario.is_required {
        case.add_property(("calipers.required", "true"));
    }
    case
}

/// The attempt that the case itself stands for: the first with the outcome of the whole.
fn main_attempt(scenario: &ScenarioResult) -> Option<&AttemptResult> {
    let alike = scenario.attempts.iter().find(|attempt| attempt.outcome == scenario.outcome);
    alike.or(scenario.attempts.first())
}

fn reason_of(attempt: &AttemptResult) -> Option<String> {
    attempt.reason.as_ref().map(shortcoming_sentence)
}

fn duration(attempt: &AttemptResult) -> Option<Duration> {
    Duration::try_from_secs_f64(attempt.latency_ms? / 1000.0).ok()
}

/// How many attempts passed.
fn count_passed(scenario: &ScenarioResult) -> usize {
    scenario.attempts.iter().filter(|attempt| attempt.outcome == ScenarioOutcome::Passed).count()
}

fn status(
    scenario: &ScenarioResult,
    main: Option<&AttemptResult>,
    kind: Option<NonSuccessKind>,
    is_tolerated: bool,
) -> TestCaseStatus {
    let Some(kind) = kind else {
        if scenario.outcome == ScenarioOutcome::Passed {
            let mut status = TestCaseStatus::success();
            status.add_reruns(others(scenario, None));
            return status;
        }
        let mut status = TestCaseStatus::skipped();
        let reason = main.and_then(reason_of).unwrap_or_else(|| shortcoming_sentence(&Shortcoming::Unscored));
        status.set_type("unscored").set_message(xml(&reason));
        return status;
    };
    let otherwise = if kind == NonSuccessKind::Error { "did not run" } else { "failed" };
    let mut message = main.and_then(reason_of).unwrap_or_else(|| otherwise.to_owned());
    if scenario.attempts.len() > 1 {
        message = format!("{} of {} attempts passed: {message}", count_passed(scenario), scenario.attempts.len());
    }
    if is_tolerated {
        let mut status = TestCaseStatus::skipped();
        let message = format!("{}, and the policy passes without it: {message}", type_of(kind));
        status.set_type(type_of(kind)).set_message(xml(&message));
        return status;
    }
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(type_of(kind)).set_message(xml(&message));
    status.set_rerun_kind(FlakyOrRerun::Rerun).add_reruns(others(scenario, main));
    status
}

/// The attempts that did not pass, but for the one that the case itself stands for.
fn others(scenario: &ScenarioResult, main: Option<&AttemptResult>) -> Vec<TestRerun> {
    let is_main = |attempt: &AttemptResult| main.is_some_and(|main| std::ptr::eq(main, attempt));
    scenario.attempts.iter().filter(|attempt| !is_main(attempt)).filter_map(rerun).collect()
}

fn rerun(attempt: &AttemptResult) -> Option<TestRerun> {
    let kind = match attempt.outcome {
        ScenarioOutcome::Failed => NonSuccessKind::Failure,
        ScenarioOutcome::Errored => NonSuccessKind::Error,
        ScenarioOutcome::Passed | ScenarioOutcome::Unscored => return None,
    };
    let mut rerun = TestRerun::new(kind);
    rerun.set_type(type_of(kind));
    let reason = reason_of(attempt).unwrap_or_else(|| type_of(kind).to_owned());
    rerun.set_message(xml(&format!("attempt {}: {reason}", attempt.epoch)));
    if let Some(time) = duration(attempt) {
        rerun.set_time(time);
    }
    Some(rerun)
}

fn type_of(kind: NonSuccessKind) -> &'static str {
    match kind {
        NonSuccessKind::Failure => "failed",
        NonSuccessKind::Error => "errored",
    }
}

fn gates(report: &GateReport) -> TestSuite {
    let mut suite = TestSuite::new("gates");
    suite.add_properties([
        ("calipers.verdict".to_owned(), report.verdict.name().to_owned()),
        ("calipers.decided_by".to_owned(), xml(&gate_decision(report))),
        ("calipers.policy".to_owned(), xml(&report.provenance.policy)),
        ("calipers.policy_hash".to_owned(), xml(&report.provenance.policy_hash)),
        ("calipers.seed".to_owned(), report.provenance.seed.to_string()),
        ("calipers.tool".to_owned(), xml(&report.provenance.tool)),
    ]);
    if let Some(restriction) = restriction(report) {
        suite.add_property(("calipers.restriction".to_owned(), xml(&restriction)));
    }
    suite.add_test_cases(report.gates.iter().map(|gate| gate_case(gate, report)));
    suite
}

fn gate_case(gate: &GateResult, report: &GateReport) -> TestCase {
    let mut status = match gate.verdict {
        Verdict::Pass => TestCaseStatus::success(),
        Verdict::Fail if blocks(gate, report) => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Verdict::Undecided if blocks(gate, report) => TestCaseStatus::non_success(NonSuccessKind::Error),
        Verdict::Fail | Verdict::Undecided => TestCaseStatus::skipped(),
    };
    if gate.verdict != Verdict::Pass {
        status.set_type(gate.verdict.name()).set_message(xml(&reason(gate)));
    }
    let level = match gate.level {
        calipers_gate::policy::Level::Blocking => "blocking",
        calipers_gate::policy::Level::Warning => "warning",
    };
    let mut case = TestCase::new(case_name(&gate_name(gate)), status);
    case.set_classname(level);
    let (cells, rule) = (Cells::of(gate), gate_rule(gate));
    let facts = [
        ("rule", rule.as_str()),
        ("estimate", cells.estimate.as_str()),
        ("interval", cells.interval.as_str()),
        ("margin", cells.margin.as_str()),
        ("n", cells.n.as_str()),
    ];
    for (name, fact) in facts.iter().filter(|(_, fact)| !fact.is_empty()) {
        case.add_property((format!("calipers.{name}"), xml(fact)));
    }
    case
}
