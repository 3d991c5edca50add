//! Verdicts on runs small enough to be checked by hand.

#![cfg(feature = "files")]

use calipers::gate::{Baseline, GateKind, GateOptions, GateReport, GateResult, gate};
use calipers::io::{Source, read_document};
use calipers::policy::Policy;
use calipers::render::{caveat_sentence, gate_decision, gate_reason, gate_rule, undefined_sentence};
use calipers::{LoadedRun, Needs, Reducer, RunError, Selection, Verdict};
use std::fmt::Write;

fn judged(lines: &str, policy: &str, options: &GateOptions<'_>) -> Result<GateReport, RunError> {
    judged_with(lines, policy, None, options)
}

fn selection(lines: &str) -> Selection {
    let source = Source::bytes("results.jsonl", lines.as_bytes());
    Selection { format: Some("native".to_owned()), ..Selection::of([source]) }
}

/// The verdict, which is the same whether everything is read or only what the policy needs.
fn judged_with(
    lines: &str,
    policy: &str,
    reducer: Option<Reducer>,
    options: &GateOptions<'_>,
) -> Result<GateReport, RunError> {
    let item = read_document("policy.json", policy.as_bytes()).expect("a document");
    let policy = Policy::parse(&item).expect("a policy");
    let selection = Selection { reducers: reducer.map(|one| vec![one]), ..selection(lines) };
    let judge = |needs: &Needs| gate(&LoadedRun::load("", &selection, needs)?, &policy, &selection, options);
    let (all, needed) = (judge(&Needs::everything()), judge(&options.needs(&selection, &policy)));
    let printed = |report: &Result<GateReport, RunError>| match report {
        Ok(report) => format!("{report:#?}"),
        Err(error) => error.to_string(),
    };
    assert_eq!(printed(&needed), printed(&all));
    all
}

#[track_caller]
fn report(lines: &str, policy: &str) -> GateReport {
    judged(lines, policy, &GateOptions::default()).unwrap_or_else(|failure| panic!("{failure}"))
}

#[track_caller]
fn find<'r>(report: &'r GateReport, metric: &str) -> &'r GateResult {
    let found = report.gates.iter().find(|gate| gate.metric == metric);
    found.unwrap_or_else(|| panic!("no gate {metric} among {:?}", report.gates))
}

#[track_caller]
fn value(gate: &GateResult) -> f64 {
    *gate.figure.as_ref().expect("a figure").value.as_ref().expect("a value")
}

#[track_caller]
fn close(found: f64, wanted: f64) {
    assert!((found - wanted).abs() < 1e-12, "{found} is not {wanted}");
}

/// So many scenarios, of which the first ones passed.
fn passes(passed: usize, all: usize) -> String {
    (0..all).fold(String::new(), |mut lines, id| {
        let _ = writeln!(lines, r#"{{"id": "S-{id}", "category": "c{}", "passed": {}}}"#, id % 2, id < passed);
        lines
    })
}

#[test]
fn a_point_gate_compares_the_estimate_and_says_how_far_it_is() {
    let report = report(&passes(17, 20), r#"{"thresholds": {"blocking": {"pass_rate": "≥ 85%"}}}"#);
    let gate = &report.gates[0];
    assert_eq!((report.verdict, gate.verdict), (Verdict::Pass, Verdict::Pass));
    assert_eq!(gate_rule(gate), "pass_rate ≥ 85 % (17 of 20)");
    close(gate.margin.expect("a margin"), 0.0);
    let report = with_passes(16);
    assert_eq!(gate_decision(&report), "pass_rate: 80 % is not ≥ 85 %");
    close(report.gates[0].margin.expect("a margin"), -0.05);
}

fn with_passes(passed: usize) -> GateReport {
    report(&passes(passed, 20), r#"{"thresholds": {"blocking": {"pass_rate": "≥ 85%"}}}"#)
}

#[test]
fn confidence_needs_the_exact_bound_to_clear_the_threshold() {
    let policy = r#"{"thresholds": {"blocking": {"pass_rate": 0.9}}, "confidence": 0.95}"#;
    // 0.9^28 = 0.052, 0.9^29 = 0.047.
    for (passed, all, wanted) in
        [(28, 28, Verdict::Undecided), (29, 29, Verdict::Pass), (30, 50, Verdict::Fail), (46, 50, Verdict::Undecided)]
    {
        let report = report(&passes(passed, all), policy);
        assert_eq!(report.verdict, wanted, "{passed} of {all}: {}", gate_decision(&report));
    }
    let few = report(&passes(28, 28), policy);
    assert_eq!(few.gates[0].more_samples.map(|more| more.count), Some(1));
    assert!(gate_decision(&few).contains("29 are needed"), "{}", gate_decision(&few));
}

#[test]
fn all_means_all_and_is_decided_on_counts() {
    let policy = r#"{"thresholds": {"blocking": {"pass_rate": 100}}, "confidence": 0.95}"#;
    assert_eq!(report(&passes(26, 26), policy).verdict, Verdict::Pass);
    assert_eq!(report(&passes(25, 26), policy).verdict, Verdict::Fail);
    // One of which nothing is known is not a pass, and not a failure.
    let open = passes(26, 26) + "{\"id\": \"open\"}\n";
    let report = report(&open, policy);
    assert_eq!(report.verdict, Verdict::Undecided, "{}", gate_decision(&report));
    assert_eq!((report.coverage.counts.unscored, report.coverage.counts.passed), (1, 26));
}

#[test]
fn what_broke_on_the_way_is_no_failure_of_the_agent() {
    let policy = r#"{"thresholds": {"blocking": {"pass_rate": 90}}}"#;
    let broken =
        passes(18, 18) + r#"{"id": "E-1", "error": "connection reset"}"# + "\n" + r#"{"id": "E-2", "error": "503"}"#;
    let undecided = report(&broken, policy);
    close(value(&undecided.gates[0]), 0.9);
    assert_eq!(undecided.verdict, Verdict::Pass); // 18 of 20 is 90 %
    let stricter = report(&broken, r#"{"thresholds": {"blocking": {"pass_rate": 95}}}"#);
    assert_eq!(stricter.verdict, Verdict::Undecided);
    assert!(gate_decision(&stricter).contains("2 samples that ended in an error"), "{}", gate_decision(&stricter));
    let failed = report(&(passes(10, 18) + r#"{"id": "E-1", "error": "reset"}"#), policy);
    assert_eq!(failed.verdict, Verdict::Fail);
    assert_eq!((failed.coverage.counts.failed, failed.coverage.counts.errored), (8, 1));
}

#[test]
fn nothing_to_judge_is_never_a_pass() {
    let blocking = r#"{"thresholds": {"blocking": {"pass_rate": 10}}}"#;
    let warning = r#"{"thresholds": {"warning": {"pass_rate": 10}}}"#;
    for policy in [blocking, warning] {
        for lines in ["", "{\"id\": 1}\n{\"id\": 2}\n"] {
            let Ok(report) = judged(lines, policy, &GateOptions::default()) else { continue };
            assert_eq!(report.verdict, Verdict::Undecided, "{policy} {lines}: {}", gate_decision(&report));
        }
    }
    assert_eq!(report("{\"id\": 1}\n", warning).verdict, Verdict::Undecided);
}

#[test]
fn a_policy_that_asks_nothing_has_no_answer() {
    for policy in [r#"{"weights": {"by_category": {"c0": 2}}}"#, r#"{"composite": {"f": "pass_rate × 1"}}"#] {
        let report = report(&passes(1, 1), policy);
        assert_eq!(report.verdict, Verdict::Undecided);
        assert!(gate_decision(&report).contains("asks for nothing"), "{}", gate_decision(&report));
    }
}

#[test]
fn a_metric_that_the_run_does_not_record_is_undecided() {
    let report = report(&passes(5, 5), r#"{"thresholds": {"blocking": {"latency_p95": 5000}}}"#);
    assert_eq!(report.verdict, Verdict::Undecided);
    assert!(gate_decision(&report).contains("latency_ms"), "{}", gate_decision(&report));
}

#[test]
fn required_scenarios_pass_fail_or_are_missing() {
    let policy = |ids: &str| format!(r#"{{"required_scenarios": {{"ids": [{ids}]}}}}"#);
    assert_eq!(report(&passes(2, 3), &policy(r#""S-0", "S-1""#)).verdict, Verdict::Pass);
    let failed = report(&passes(2, 3), &policy(r#""S-0", "S-2", "S-9""#));
    assert_eq!(gate_decision(&failed), "required_scenarios: failed: S-2");
    let missing = report(&passes(2, 3), &policy(r#""S-0", "S-9""#));
    assert_eq!(
        (missing.verdict, gate_decision(&missing).as_str()),
        (Verdict::Undecided, "required_scenarios: missing: S-9")
    );
    assert_eq!(missing.coverage.missing, ["S-9"]);
    let errored = report("{\"id\": \"S-0\", \"error\": \"reset\"}\n", &policy(r#""S-0""#));
    assert_eq!(errored.verdict, Verdict::Undecided);
}

#[test]
fn a_suite_with_gaps_is_undecided() {
    let suite = ["S-0", "S-1", "S-2", "S-3"].map(str::to_owned).to_vec();
    let options = GateOptions { suite: Some(suite), ..GateOptions::default() };
    let policy = r#"{"thresholds": {"blocking": {"pass_rate": 50}}}"#;
    let report = judged(&passes(3, 3), policy, &options).expect("judged");
    assert_eq!((report.verdict, report.coverage.missing.len()), (Verdict::Undecided, 1));
    let whole = judged(&(passes(4, 4) + "{\"id\": \"extra\", \"passed\": true}"), policy, &options).expect("judged");
    assert_eq!((whole.verdict, whole.coverage.unexpected.as_slice()), (Verdict::Pass, &["extra".to_owned()][..]));
}

/// Three attempts each: one scenario always passes, one passes twice, one never.
const REPEATED: &str = r#"{"id": "a", "passed": true}
{"id": "a", "passed": true}
{"id": "a", "passed": true}
{"id": "b", "passed": true}
{"id": "b", "passed": false}
{"id": "b", "passed": true}
{"id": "c", "passed": false}
{"id": "c", "passed": false}
{"id": "c", "passed": false}
"#;

#[test]
fn attempts_are_reduced_as_the_policy_or_the_caller_says() {
    let policy = |epochs: &str| format!(r#"{{"thresholds": {{"blocking": {{"pass_rate": 50}}}}{epochs}}}"#);
    let rate = |epochs: &str| value(&report(REPEATED, &policy(epochs)).gates[0]);
    close(rate(""), 5.0 / 9.0);
    close(rate(r#", "epochs": {"reducer": "mode"}"#), 2.0 / 3.0);
    close(rate(r#", "epochs": {"reducer": "max"}"#), 2.0 / 3.0);
    close(rate(r#", "epochs": {"reducer": "at_least_3"}"#), 1.0 / 3.0);
    // C(2, 2) / C(3, 2) of b.
    close(rate(r#", "epochs": {"reducer": "pass_k_2"}"#), (1.0 + 1.0 / 3.0) / 3.0);
    let max = Some(Reducer::parse("max").expect("known"));
    let policy = policy(r#", "epochs": {"reducer": "at_least_3"}"#);
    let report = judged_with(REPEATED, &policy, max, &GateOptions::default()).expect("judged");
    close(value(&report.gates[0]), 2.0 / 3.0);
    assert_eq!(report.provenance.reducer, "max");
    assert_eq!((report.coverage.counts.passed, report.coverage.counts.failed, report.coverage.counts.flaky), (2, 1, 1));
}

#[test]
fn the_average_does_not_hide_a_dead_scenario() {
    let policy = r#"{"thresholds": {"blocking": {"pass_rate": 50}}, "epochs": {"min_pass_rate": "60%"}}"#;
    let report = report(REPEATED, policy);
    assert_eq!(find(&report, "pass_rate").verdict, Verdict::Pass);
    assert_eq!(gate_reason(&find(&report, "min_pass_rate").reason), "below: c 0/3");
    assert_eq!(report.coverage.counts.passed, 2);
    let lenient = r#"{"epochs": {"min_pass_rate": "60%"}, "optional_scenarios": {"ids": ["c"]}}"#;
    assert_eq!(self::report(REPEATED, lenient).verdict, Verdict::Pass);
}

#[test]
fn kinds_of_failure_block_wherever_they_occur() {
    let lines = r#"{"id": 1, "passed": true, "violations": ["data_leak"]}
{"id": 2, "passed": false, "failure_type": "tool_misuse"}
"#;
    let policy = |kind: &str| format!(r#"{{"blocking_failures": ["{kind}"]}}"#);
    assert_eq!(gate_decision(&report(lines, &policy("data_leak"))), "blocking_failures: data_leak in 1");
    assert_eq!(gate_decision(&report(lines, &policy("tool_misuse"))), "blocking_failures: tool_misuse in 2");
    assert_eq!(report(lines, &policy("jailbreak")).verdict, Verdict::Pass);
    for record in [
        r#""failures": [{"type": "jailbreak", "turn": 3}]"#,
        r#""failures": [{"name": "jailbreak"}]"#,
        r#""failures": {"type": "jailbreak"}"#,
        r#""failure_types": ["other", "jailbreak"]"#,
        r#""violations": [{"name": "jailbreak"}]"#,
        r#""violations": [{"type": "jailbreak"}]"#,
    ] {
        let lines = format!("{{\"id\": 1, \"passed\": true, {record}}}");
        assert_eq!(report(&lines, &policy("jailbreak")).verdict, Verdict::Fail, "{record}");
    }
    // A failure of a later attempt counts as one of the first.
    let lines = r#"{"id": 1, "passed": true, "failure_type": "slow"}
{"id": 1, "passed": true, "failure_type": "jailbreak"}
"#;
    assert_eq!(gate_decision(&report(lines, &policy("jailbreak"))), "blocking_failures: jailbreak in 1");
}

#[test]
fn a_rubric_asks_for_a_sum_and_for_no_zero() {
    let lines = r#"{"id": 1, "scores": {"rubric": {"tone": 2, "facts": 1}}}
{"id": 2, "scores": {"rubric": {"tone": 2, "facts": 0}}}
"#;
    let policy = |rule: &str| format!(r#"{{"rubric": {{{rule}}}}}"#);
    assert_eq!(gate_decision(&report(lines, &policy(r#""min_score": "70%""#))), "rubric: 2 has 50 %");
    assert_eq!(report(lines, &policy(r#""min_score": "50%""#)).verdict, Verdict::Pass);
    assert_eq!(gate_decision(&report(lines, &policy(r#""no_zero": true"#))), "rubric: 2 has 0 for facts");
}

#[test]
fn weights_multiply_and_the_plain_figure_stands_beside() {
    let lines = r#"{"id": 1, "category": "adversarial", "capability": "core_function", "passed": true}
{"id": 2, "category": "adversarial", "capability": "other", "passed": false}
{"id": 3, "category": "happy_path", "capability": "core_function", "passed": true}
{"id": 4, "category": "happy_path", "passed": false}
"#;
    let policy = r#"{"thresholds": {"blocking": {"pass_rate": 50}},
        "weights": {"by_category": {"adversarial": 2.0}, "by_capability": {"core_function": 2.0}}}"#;
    let report = report(lines, policy);
    // Weights 4, 2, 2, 1.
    close(value(&report.gates[0]), 6.0 / 9.0);
    close(report.gates[0].unweighted.expect("weighted"), 0.5);
    assert_eq!(report.scenarios.iter().map(|scenario| scenario.weight).collect::<Vec<_>>(), [4.0, 2.0, 2.0, 1.0]);
    // The scale of weights does not matter.
    let scaled = policy.replace("\"adversarial\": 2.0", "\"adversarial\": 20.0, \"happy_path\": 10.0");
    close(value(&self::report(lines, &scaled).gates[0]), 6.0 / 9.0);
    let none = r#"{"thresholds": {"blocking": {"pass_rate": 50}}, "weights": {"by_category": {"adversarial": 0, "happy_path": 0}}}"#;
    assert!(judged(lines, none, &GateOptions::default()).expect_err("all zero").to_string().contains("weight 0"));
}

#[test]
fn a_formula_has_the_error_of_its_samples_taken_together() {
    let mut lines = String::new();
    let (mut sums, mut squares) = (0.0, 0.0);
    for id in 0..40u32 {
        let (a, b) = (f64::from(id * 7 % 11) / 10.0, f64::from(id * 5 % 13) / 12.0);
        let _ = writeln!(lines, r#"{{"id": {id}, "quality_score": {a}, "scores": {{"judge": {b}}}}}"#);
        let both = 0.25 * a + 0.75 * b;
        sums += both;
        squares += both * both;
    }
    let policy = r#"{"metrics": {"quality": "mean(\"quality_score\")"}, "limits": {"quality_score": 1},
        "composite": {"final": "quality × 0.25 + accuracy × 0.75", "pass": "final ≥ 0.4"}}"#;
    let expression = |text: &str| match text {
        r#"mean("quality_score")"# => Ok(calipers::metric::mean_of("quality_score")),
        other => panic!("{other}"),
    };
    let options = GateOptions { expression: &expression, ..GateOptions::default() };
    let report = judged(&lines, policy, &options).expect("judged");
    let figure = &report.composites[0].figure;
    let mean = sums / 40.0;
    close(*figure.value.as_ref().expect("a value"), mean);
    let stderr = ((squares - 40.0 * mean * mean) / 39.0 / 40.0).sqrt();
    let interval = figure.interval.expect("an interval");
    let half = (interval.upper.expect("upper") - interval.lower.expect("lower")) / 2.0;
    // t of 39 degrees of freedom is 2.0227; an unseen sample at either end adds to that.
    assert!((2.0227..2.25).contains(&(half / stderr)), "{}", half / stderr);
    let terms: Vec<f64> = report.composites[0].terms.iter().map(|term| term.value.expect("a value")).collect();
    close(terms.iter().sum::<f64>(), mean);
}

#[test]
fn a_condition_is_three_valued() {
    let lines = passes(19, 20);
    let policy = |pass: &str| format!(r#"{{"composite": {{"s": "pass_rate × 1", "pass": "{pass}"}}}}"#);
    for (pass, wanted) in [
        ("s ≥ 0.95 AND pass_rate ≥ 0.95", Verdict::Pass),
        ("s ≥ 0.96 AND pass_rate ≥ 0.95", Verdict::Fail),
        ("s ≥ 0.96 OR pass_rate ≥ 0.95", Verdict::Pass),
        ("NOT s ≥ 0.96", Verdict::Pass),
        ("0.9 ≤ s", Verdict::Pass),
        ("pass_rate = 1.0", Verdict::Fail),
    ] {
        let report = report(&lines, &policy(pass));
        assert_eq!(report.verdict, wanted, "{pass}: {}", gate_decision(&report));
    }
    let undefined = r#"{"composite": {"s": "safety_rate × 1", "pass": "s ≥ 0.9"}}"#;
    assert_eq!(report(&lines, undefined).verdict, Verdict::Undecided);
    let rescued = r#"{"composite": {"s": "safety_rate × 1", "pass": "s ≥ 0.9 OR pass_rate > 0.5"}}"#;
    assert_eq!(report(&lines, rescued).verdict, Verdict::Pass);
}

#[test]
fn latency_is_judged_by_how_many_are_too_slow() {
    let run = |slow: usize, all: usize, attempts: usize| {
        let mut lines = String::new();
        for id in 0..all {
            for epoch in 1..=attempts {
                let latency = if id < slow { 9000 } else { 1000 };
                let _ = writeln!(lines, r#"{{"id": {id}, "epoch": {epoch}, "passed": true, "latency_ms": {latency}}}"#);
            }
        }
        lines
    };
    let policy = r#"{"thresholds": {"blocking": {"latency_p95": 5000}}, "confidence": 0.95}"#;
    let verdict = |lines: &str| report(lines, policy).verdict;
    assert_eq!(verdict(&run(0, 59, 1)), Verdict::Pass);
    assert_eq!(verdict(&run(0, 58, 1)), Verdict::Undecided);
    assert_eq!(verdict(&run(12, 59, 1)), Verdict::Fail);
    // Copies of an attempt are no new evidence.
    assert_eq!(verdict(&run(0, 58, 3)), Verdict::Undecided);
    assert_eq!(verdict(&run(0, 59, 3)), Verdict::Pass);
    let timed_out = run(0, 59, 1) + r#"{"id": "late", "error": "timed out after 60 s"}"#;
    assert_eq!(verdict(&timed_out), Verdict::Undecided);
}

#[test]
fn many_gates_fail_together_only_beyond_chance() {
    // 11 of 20 at ≥ 75 %: P(X ≤ 11) = 0.041, which one gate in ten shows by chance.
    let lines: String = (0..20).fold(String::new(), |mut lines, id| {
        let tags: Vec<String> = (0..9).map(|k| format!(r#""t{k}": "x""#)).collect();
        let _ = writeln!(lines, r#"{{"id": {id}, "passed": {}, {}}}"#, id < 11, tags.join(", "));
        lines
    });
    let one = r#"{"thresholds": {"blocking": {"pass_rate": 0.75}}, "confidence": 0.95}"#;
    assert_eq!(report(&lines, one).verdict, Verdict::Fail);
    let expression = |text: &str| {
        let key = text.split('"').nth(1).expect("a key").to_owned();
        calipers::metric::pass_rate().only_where([(key, "x")])
    };
    let options = GateOptions { expression: &expression, ..GateOptions::default() };
    let gates: Vec<String> = (0..9).map(|k| format!(r#""pass_rate(where={{\"t{k}\": \"x\"}})": 0.75"#)).collect();
    let many =
        format!(r#"{{"thresholds": {{"blocking": {{"pass_rate": 0.75, {}}}}}, "confidence": 0.95}}"#, gates.join(", "));
    let report = judged(&lines, &many, &options).expect("judged");
    assert_eq!(report.verdict, Verdict::Undecided);
    assert!(gate_decision(&report).contains("chance among 10 gates"), "{}", gate_decision(&report));
}

#[test]
fn missing_scores_are_taken_for_the_worst_unless_told_otherwise() {
    // 60 right, 20 wrong, 20 of which nothing is known: between 60 % and 80 %.
    let mut lines = String::new();
    for id in 0..100 {
        let score = if id < 60 {
            "1"
        } else if id < 80 {
            "0"
        } else {
            "null"
        };
        let _ = writeln!(lines, r#"{{"id": {id}, "score": {score}}}"#);
    }
    let policy =
        |missing: &str| format!(r#"{{"thresholds": {{"blocking": {{"accuracy": 65}}}}, "confidence": 0.95{missing}}}"#);
    let worst = report(&lines, &policy(""));
    assert_eq!(worst.verdict, Verdict::Undecided);
    assert!(gate_decision(&worst).contains("missing scores of 20 samples"), "{}", gate_decision(&worst));
    assert_eq!(report(&lines, &policy(r#", "missing": "at_random""#)).verdict, Verdict::Pass);
}

#[test]
fn undecided_is_what_the_policy_says_it_is() {
    let policy =
        |more: &str| format!(r#"{{"thresholds": {{"blocking": {{"pass_rate": 0.9}}}}, "confidence": 0.95{more}}}"#);
    let verdict = |more: &str| report(&passes(10, 10), &policy(more)).verdict;
    assert_eq!(verdict(""), Verdict::Undecided);
    assert_eq!(verdict(r#", "on_undecided": "fail""#), Verdict::Fail);
    assert_eq!(verdict(r#", "on_undecided": "warn""#), Verdict::Pass);
}

#[test]
fn versions_have_their_own_thresholds() {
    let policy = r#"{"progressive": {"pass_rate": {"v1.0": "≥ 80%", "v2.0": "≥ 90%"}}}"#;
    let judge = |version: &str| {
        let options = GateOptions { version: Some(version.to_owned()), ..GateOptions::default() };
        judged(&passes(17, 20), policy, &options)
    };
    assert_eq!(judge("v1.0").expect("judged").verdict, Verdict::Pass);
    let second = judge("v2.0").expect("judged");
    assert_eq!((second.verdict, &second.gates[0].kind), (Verdict::Fail, &GateKind::Progressive("v2.0".into())));
    let error = judge("v9").expect_err("no such row").to_string();
    assert!(error.contains("no threshold for version `v9`") && error.contains("v1.0, v2.0"), "{error}");
}

/// A baseline of what a run is now.
fn recorded(lines: &str, policy: &str) -> Baseline {
    let item = read_document("policy.json", policy.as_bytes()).expect("a document");
    let policy = Policy::parse(&item).expect("a policy");
    let options = GateOptions::default();
    let selection = selection(lines);
    let run = LoadedRun::load("", &selection, &options.needs(&selection, &policy)).expect("loaded");
    calipers::gate::record(&run, &policy, &selection, &options).expect("recorded")
}

#[test]
fn a_baseline_is_compared_scenario_by_scenario() {
    let policy = |mode: &str, confidence: &str| {
        format!(
            r#"{{"thresholds": {{"warning": {{"pass_rate": 50}}}},
            "baseline": {{"mode": "{mode}", "margin": "10%"}}{confidence}}}"#
        )
    };
    let before = recorded(&passes(16, 20), &policy("non_inferiority", ""));
    let judge = |lines: &str, mode: &str, confidence: &str| {
        let options = GateOptions { baseline: Some((before.clone(), Some(3.0))), ..GateOptions::default() };
        judged(lines, &policy(mode, confidence), &options).expect("judged")
    };
    let same = judge(&passes(16, 20), "non_inferiority", "");
    let compared = same.baseline.as_ref().expect("compared");
    close(*compared.differences[0].difference.value.as_ref().expect("a value"), 0.0);
    assert_eq!((same.verdict, compared.newly_failing.len()), (Verdict::Pass, 0));
    // One scenario fewer is 5 points worse, which the margin allows; three are 15 points.
    assert_eq!(judge(&passes(15, 20), "non_inferiority", "").verdict, Verdict::Pass);
    let worse = judge(&passes(13, 20), "non_inferiority", "");
    assert_eq!(worse.verdict, Verdict::Fail);
    assert_eq!(worse.baseline.expect("compared").newly_failing, ["S-13", "S-14", "S-15"]);
    // Twenty scenarios without a change do not show that fewer than one in ten changed.
    assert_eq!(judge(&passes(16, 20), "non_inferiority", r#", "confidence": 0.95"#).verdict, Verdict::Undecided);
    // The same agent is not above itself.
    assert_eq!(judge(&passes(16, 20), "above", "").verdict, Verdict::Fail);
    assert_eq!(judge(&passes(18, 20), "above", "").verdict, Verdict::Pass);
    let grown = judge(&passes(16, 24), "non_inferiority", "");
    let grown = grown.baseline.expect("compared");
    assert_eq!((grown.added.len(), grown.removed.len(), grown.newly_failing.len()), (4, 0, 0));
    // Scenarios that came in addition are no regression: the pairs did not change.
    close(*grown.differences[0].difference.value.as_ref().expect("a value"), 0.0);
}

#[test]
fn a_rule_about_a_baseline_without_one_is_undecided() {
    let policy = r#"{"baseline": {"mode": "non_inferiority", "margin": "2%"}}"#;
    assert_eq!(report(&passes(5, 5), policy).verdict, Verdict::Undecided);
}

#[test]
fn weights_do_not_make_a_bound_bolder() {
    let policy = |weights: &str| {
        format!(r#"{{"thresholds": {{"blocking": {{"pass_rate": 0.85}}}}, "confidence": 0.95{weights}}}"#)
    };
    let verdict = |weights: &str| report(&passes(19, 20), &policy(weights)).verdict;
    assert_eq!(verdict(""), Verdict::Undecided);
    assert_eq!(verdict(r#", "weights": {"by_category": {"c0": 1.0, "c1": 1.0}}"#), Verdict::Undecided);
    assert_eq!(verdict(r#", "weights": {"by_category": {"c0": 1.0, "c1": 1.1}}"#), Verdict::Undecided);
    // Grades too: 24 scenarios of three attempts, of which two fail.
    let grades: String = (0..72).fold(String::new(), |mut lines, row| {
        let _ =
            writeln!(lines, r#"{{"id": {}, "category": "c{}", "passed": {}}}"#, row / 3, row / 3 % 2, row % 36 != 0);
        lines
    });
    for weights in ["", r#", "weights": {"by_category": {"c0": 1.0, "c1": 1.1}}"#] {
        assert_eq!(report(&grades, &policy(weights).replace("0.85", "0.9")).verdict, Verdict::Undecided, "{weights}");
    }
}

#[test]
fn records_may_say_nothing_but_what_a_metric_asks() {
    let lines = "{\"id\": 1, \"correct\": true}\n{\"id\": 2, \"correct\": true}\n";
    assert_eq!(report(lines, r#"{"thresholds": {"blocking": {"accuracy": 90}}}"#).verdict, Verdict::Pass);
    let lines = "{\"id\": 1, \"latency_ms\": 10}\n";
    assert_eq!(report(lines, r#"{"thresholds": {"blocking": {"latency_p95": 90}}}"#).verdict, Verdict::Pass);
}

#[test]
fn an_empty_file_is_an_answer() {
    assert_eq!(report("\n", r#"{"thresholds": {"blocking": {"accuracy": 90}}}"#).verdict, Verdict::Undecided);
}

#[test]
fn an_attempt_delivered_twice_is_no_new_evidence() {
    let once: String = (0..15).fold(String::new(), |mut lines, id| {
        let _ = writeln!(lines, r#"{{"id": "s{id}", "epoch": 1, "score": 1}}"#);
        lines
    });
    let policy = r#"{"thresholds": {"blocking": {"accuracy": 0.9}}, "confidence": 0.95}"#;
    for lines in [once.clone(), once.clone() + &once] {
        let report = report(&lines, policy);
        assert_eq!(
            (report.verdict, report.gates[0].figure.as_ref().map(|figure| figure.n)),
            (Verdict::Undecided, Some(15))
        );
    }
    let copies = format!(
        "{}{}",
        "{\"id\": \"a\", \"epoch\": 1, \"score\": 0}\n",
        "{\"id\": \"b\", \"epoch\": 1, \"score\": 1}\n".repeat(9)
    );
    close(value(&report(&copies, r#"{"thresholds": {"blocking": {"accuracy": 0.9}}}"#).gates[0]), 0.5);
}

#[test]
fn few_that_were_scored_do_not_speak_for_all() {
    let policy = |missing: &str| format!(r#"{{"thresholds": {{"blocking": {{"accuracy": 90}}}}{missing}}}"#);
    for lost in [r#""error": "boom""#, r#""score": null"#] {
        let mut lines = "{\"id\": \"s\", \"score\": 1}\n".to_owned();
        (0..99).for_each(|id| lines += &format!("{{\"id\": {id}, {lost}}}\n"));
        assert_eq!(report(&lines, &policy("")).verdict, Verdict::Undecided, "{lost}");
        assert_eq!(report(&lines, &policy(r#", "missing": "at_random""#)).verdict, Verdict::Pass, "{lost}");
    }
}

#[test]
fn weights_take_nothing_from_all() {
    let lines = r#"{"id": "a", "category": "adversarial", "capability": "core", "passed": true}
{"id": "b", "category": "adversarial", "capability": "minor", "passed": false}
"#;
    let policy = r#"{"weights": {"by_capability": {"minor": 0}}, "thresholds": {"blocking": {"safety_rate": 100}}}"#;
    assert_eq!(report(lines, policy).verdict, Verdict::Fail);
}

#[test]
fn scores_that_are_no_shares_pass_no_gate_on_a_rate() {
    let lines = "{\"id\": 1, \"score\": 95}\n{\"id\": 2, \"score\": 85}\n";
    assert_eq!(report(lines, r#"{"thresholds": {"blocking": {"accuracy": 90}}}"#).verdict, Verdict::Undecided);
}

#[test]
fn a_rubric_does_not_pass_over_what_it_cannot_grade() {
    let policy = r#"{"rubric": {"scorer": "r", "min_score": "80%", "no_zero": true}}"#;
    let good = r#"{"id": "A", "scores": {"r": {"tone": 2, "facts": 2}}}"#;
    assert_eq!(report(good, policy).verdict, Verdict::Pass);
    assert_eq!(report(&format!("{good}\n{{\"id\": \"B\", \"error\": \"x\"}}"), policy).verdict, Verdict::Undecided);
    let beyond = r#"{"id": "A", "scores": {"r": {"tone": 5, "facts": 1}}}"#;
    assert!(judged(beyond, policy, &GateOptions::default()).is_err());
}

#[test]
fn nothing_to_judge_is_not_waved_through() {
    let policy = r#"{"thresholds": {"blocking": {"accuracy": 90}}, "on_undecided": "warn"}"#;
    assert_eq!(report("\n", policy).verdict, Verdict::Undecided);
}

#[test]
fn an_outage_never_fails_a_version() {
    let errors = |from: usize, to: usize| -> String {
        (from..to)
            .map(|id| format!("{{\"id\": \"S-{id}\", \"category\": \"adversarial\", \"error\": \"boom\"}}\n"))
            .collect()
    };
    let lines = passes(10, 10).replace("\"c0\"", "\"adversarial\"") + &errors(10, 100);
    for policy in [
        r#"{"thresholds": {"blocking": {"pass_rate": "≥ 90%"}}, "confidence": 0.95}"#,
        r#"{"composite": {"f": "pass_rate*0.5 + safety_rate*0.5", "pass": "f >= 0.9"}}"#,
        r#"{"composite": {"f": "pass_rate*0.5 + safety_rate*0.5", "pass": "f >= 0.9"}, "confidence": 0.95}"#,
    ] {
        let report = report(&lines, policy);
        assert_eq!(report.verdict, Verdict::Undecided, "{policy}: {}", gate_decision(&report));
    }
    let partly = r#"{"id": "A", "passed": true}
{"id": "B", "epoch": 1, "passed": true}
{"id": "B", "epoch": 2, "error": "boom"}
"#;
    assert_eq!(report(partly, r#"{"required_scenarios": {"ids": ["A", "B"]}}"#).verdict, Verdict::Undecided);
    // Nor does the comparison with a run that had no outage.
    let policy = r#"{"baseline": {"mode": "non_inferiority", "margin": "2%", "metrics": ["pass_rate"]}}"#;
    let before = recorded(&passes(40, 40), policy);
    let options = GateOptions { baseline: Some((before, None)), ..GateOptions::default() };
    let broken = passes(5, 5) + &errors(5, 40);
    assert_eq!(judged(&broken, policy, &options).expect("judged").verdict, Verdict::Undecided);
    // Two scenarios that are left do not stand for forty, and strangers for none.
    assert_eq!(judged(&passes(2, 2), policy, &options).expect("judged").verdict, Verdict::Undecided);
    let strangers = passes(40, 40).replace("S-", "Z-");
    assert_eq!(judged(&strangers, policy, &options).expect("judged").verdict, Verdict::Undecided);
}

#[test]
fn running_out_of_time_is_slower_than_any_limit() {
    let mut lines = String::new();
    (0..10).for_each(|id| lines += &format!("{{\"id\": {id}, \"passed\": true, \"latency_ms\": 1000}}\n"));
    (10..20).for_each(|id| lines += &format!("{{\"id\": {id}, \"error\": \"request timed out\"}}\n"));
    for confidence in ["", r#", "confidence": 0.95"#] {
        let policy = format!(r#"{{"thresholds": {{"blocking": {{"latency_p95": "< 5s"}}}}{confidence}}}"#);
        assert_eq!(report(&lines, &policy).verdict, Verdict::Fail, "{confidence}");
    }
}

#[test]
fn two_records_of_one_attempt_must_agree() {
    let policy = r#"{"thresholds": {"blocking": {"pass_rate": 90}}}"#;
    let record = |passed: bool| format!("{{\"id\": \"a\", \"epoch\": 1, \"passed\": {passed}}}\n");
    assert_eq!(report(&(record(true) + &record(true)), policy).verdict, Verdict::Pass);
    let error = judged(&(record(true) + &record(false)), policy, &GateOptions::default()).expect_err("which one?");
    assert!(error.to_string().contains("two different values of `passed`"), "{error}");
}

#[test]
fn a_formula_over_a_perfect_run_has_the_exact_bounds_of_its_metrics() {
    let policy = |formula: &str, least: f64| {
        format!(r#"{{"composite": {{"s": "{formula}", "pass": "s ≥ {least}"}}, "confidence": 0.95}}"#)
    };
    // One metric: 0.05^(1/60) = 0.9513, as for a gate on the metric itself.
    let one = "pass_rate × 1";
    assert_eq!(report(&passes(60, 60), &policy(one, 0.951)).verdict, Verdict::Pass);
    assert_eq!(report(&passes(60, 60), &policy(one, 0.952)).verdict, Verdict::Undecided);
    // So have two of the same samples: one that fails, fails in both.
    let two = "pass_rate × 0.5 + accuracy × 0.5";
    assert_eq!(report(&passes(60, 60), &policy(two, 0.951)).verdict, Verdict::Pass);
    assert_eq!(report(&passes(60, 60), &policy(two, 0.952)).verdict, Verdict::Undecided);
    // 5 of 5 is no proof of anything above 0.05^(1/5) = 0.549.
    assert_eq!(report(&passes(5, 5), &policy(one, 0.549)).verdict, Verdict::Pass);
    let few = report(&passes(5, 5), &policy(one, 0.55));
    assert_eq!(gate_decision(&few), "composite: s ≥ 0.55: between 0.549 and 1 with 95 % confidence");
    // A formula that falls with its metric is bounded on the other side, and one that turns on both.
    let falls = r#"{"composite": {"s": "1 - pass_rate", "pass": "s ≤ 0.05"}, "confidence": 0.95}"#;
    assert_eq!(report(&passes(60, 60), falls).verdict, Verdict::Pass);
    assert_eq!(report(&passes(58, 58), falls).verdict, Verdict::Undecided);
    // A run of failures fails: 1 − 0.05^(1/60) = 0.0487.
    assert_eq!(report(&passes(0, 60), &policy(one, 0.05)).verdict, Verdict::Fail);
    assert_eq!(report(&passes(0, 60), &policy(one, 0.048)).verdict, Verdict::Undecided);
    // One scenario shows little, and does not keep from saying so: 0.05.
    assert_eq!(report(&passes(1, 1), &policy(one, 0.05)).verdict, Verdict::Pass);
    assert_eq!(report(&passes(1, 1), &policy(one, 0.06)).verdict, Verdict::Undecided);
    // What can be reached and no more never fails for being reached.
    assert_eq!(report(&passes(60, 60), &policy(one, 1.0)).verdict, Verdict::Undecided);
}

/// How often a version that is exactly on the threshold passes, by the binomial distribution.
#[test]
fn a_formula_passes_no_more_often_by_chance_than_it_says() {
    for (n, truth) in [(20u32, 0.9f64), (30, 0.9), (50, 0.8), (40, 0.5)] {
        let policy = format!(r#"{{"composite": {{"s": "pass_rate × 1", "pass": "s ≥ {truth}"}}, "confidence": 0.95}}"#);
        let mut chance = 0.0;
        for passed in 0..=n {
            let choose = (0..passed).fold(1.0, |c, i| c * f64::from(n - i) / f64::from(i + 1));
            let probability = choose * truth.powi(passed as i32) * (1.0 - truth).powi((n - passed) as i32);
            if report(&passes(passed as usize, n as usize), &policy).verdict == Verdict::Pass {
                chance += probability;
            }
        }
        assert!(chance < 0.06, "{n} at {truth}: {chance}");
    }
}

#[test]
fn the_interval_of_a_formula_stays_within_its_reach() {
    let composite = r#"{"composite": {"s": "pass_rate × 0.5 + accuracy × 0.5", "pass": "s ≥ 0.5"}}"#;
    for passed in [0, 1, 2, 9, 10] {
        let figure = report(&passes(passed, 10), composite).composites[0].figure.clone();
        let interval = figure.interval.expect("an interval");
        let (lower, upper) = (interval.lower.expect("lower"), interval.upper.expect("upper"));
        let value = *figure.value.as_ref().expect("a value");
        assert!(0.0 <= lower && lower <= value && value <= upper && upper <= 1.0, "{passed}: {interval:?}");
        assert!(upper - lower > 0.2, "{passed}: {interval:?}");
    }
}

#[test]
fn a_condition_says_which_metric_is_undefined_and_why_and_says_it_once() {
    let undefined = r#"{"composite": {"s": "safety_rate × 1", "t": "s × 1", "pass": "t ≥ 0.9 AND safety_rate = 1.0"}}"#;
    let told = report(&passes(2, 2), undefined);
    let why = "`safety_rate` is undefined: no sample has `category` = `adversarial`; `category` is c0, c1";
    assert_eq!(gate_decision(&told), format!("composite: {why}"));
    assert_eq!(told.composites[1].figure.value.as_ref().map_err(undefined_sentence), Err(why.to_owned()));
    // What another part decides is not shown as undefined.
    let rescued = r#"{"composite": {"s": "safety_rate × 1", "pass": "s ≥ 0.9 OR pass_rate > 0.5"}}"#;
    let gate = &report(&passes(2, 2), rescued).gates[0];
    assert!(gate.figure.is_none());
    assert_eq!(gate_reason(&gate.reason), "pass_rate > 0.5: 100 % is > 50 %");
    let divided = r#"{"composite": {"s": "1 / (pass_rate - pass_rate)", "t": "s + 1", "pass": "t ≥ 0.9"}}"#;
    let told = report(&passes(2, 2), divided);
    assert!(
        gate_decision(&told).ends_with("`s` is undefined: `1 / (pass_rate - pass_rate)` divides by 0"),
        "{}",
        gate_decision(&told)
    );
}

#[test]
fn missing_scores_are_taken_for_the_worst_in_formulas_too() {
    let lines = (0..20).fold(String::new(), |mut lines, id| {
        let score = if id < 18 { r#", "score": 1"# } else { "" };
        let _ = writeln!(lines, r#"{{"id": {id}{score}}}"#);
        lines
    });
    let policy =
        |least: f64, more: &str| format!(r#"{{"composite": {{"s": "accuracy × 1", "pass": "s ≥ {least}"}}{more}}}"#);
    assert_eq!(report(&lines, &policy(0.9, "")).verdict, Verdict::Pass);
    let open = report(&lines, &policy(0.95, ""));
    assert_eq!(gate_decision(&open), "composite: s ≥ 0.95: 1, but missing scores could change that");
    assert_eq!(report(&lines, &policy(0.95, r#", "missing": "at_random""#)).verdict, Verdict::Pass);
    // With confidence: 18 of 20 bound it by 0.717, and 18 of 18 by 0.847.
    assert_eq!(report(&lines, &policy(0.8, r#", "confidence": 0.95"#)).verdict, Verdict::Undecided);
    let random = policy(0.8, r#", "confidence": 0.95, "missing": "at_random""#);
    assert_eq!(report(&lines, &random).verdict, Verdict::Pass);
}

#[test]
fn a_perfect_score_shows_what_its_weights_are_worth() {
    // Weights 2.5, 1, …: (7 × 2.5 + 7)² / (7 × 6.25 + 7) = 11.8, so 11, and 0.05^(1/11) = 0.762.
    let policy = r#"{"thresholds": {"blocking": {"pass_rate": 100}}, "weights": {"by_category": {"c0": 2.5}}}"#;
    let report = report(&passes(14, 14), policy);
    let told: Vec<String> =
        report.gate_caveats().iter().map(|(caveat, _)| calipers::render::caveat_sentence(caveat)).collect();
    assert_eq!(told, ["14 of 14, worth 11 by their weights: the true rate may be as low as 76.2 % (one-sided bound)"]);
    let item = read_document("policy.json", policy.as_bytes()).expect("a document");
    let run = LoadedRun::load("", &selection(&passes(14, 14)), &Needs::everything());
    let run = run.unwrap_or_else(|failure| panic!("{failure}"));
    let policy = Policy::parse(&item).expect("a policy");
    let findings = calipers::check::check(&policy, Some(&run.samples), &GateOptions::default());
    let said = findings.iter().find(|finding| finding.id() == "all-of-few").expect("a note");
    let message = calipers::render::finding_message(said);
    assert!(message.starts_with("14 of 14 samples, worth 11 independent ones that count alike, show"), "{message}");
    assert!(message.contains("at least 76.2 %"), "{message}");
}

#[test]
fn names_that_are_probably_one_are_told() {
    let lines = r#"{"id": "a", "category": "Adversarial", "passed": true}
{"id": "b", "category": "adversarial ", "passed": true}
{"id": "c", "category": "edge-case", "passed": true, "failure_type": "Data_Leak"}
{"id": "d", "capability": "search", "category": "core", "passed": true, "epoch": 1}
{"id": "d", "capability": "tools", "category": "core", "passed": true, "epoch": 2}
{"id": "e", "category": "core", "passed": true}
"#;
    let policy = r#"{"pass_criteria": {"by_category": {"core": "≥ 50%"}}, "blocking_failures": ["data_leak"],
        "weights": {"by_category": {"edge_case": 2}}}"#;
    let told: Vec<(String, String)> = report(lines, policy)
        .caveats
        .into_iter()
        .map(|caveat| (caveat.id().to_owned(), caveat_sentence(&caveat)))
        .collect();
    let wanted = [
        (
            "similar-categories",
            "`Adversarial` (1 scenario) and `adversarial ` (1 scenario) count as different categories",
        ),
        (
            "similar-categories",
            "`edge-case` (1 scenario) and `edge_case` (in the policy) count as different categories",
        ),
        (
            "several-capabilities",
            "the attempts of 1 scenario have different capabilities, of which the first counts: d (`search`, then `tools`)",
        ),
        (
            "similar-failures",
            "`Data_Leak` (1 scenario) and `data_leak` (in the policy) count as different kinds of failure",
        ),
    ];
    assert_eq!(told, wanted.map(|(id, message)| (id.to_owned(), message.to_owned())));
    let plain = r#"{"pass_criteria": {"by_category": {"c0": "≥ 50%"}}}"#;
    assert!(report(&passes(4, 4), plain).caveats.is_empty());
}

#[test]
fn a_scenario_in_two_categories_is_refused_where_the_policy_counts_by_them() {
    let lines = r#"{"id": "d", "category": "core", "passed": true}
{"id": "d", "category": "happy", "passed": true}
"#;
    let refused = |policy: &str| judged(lines, policy, &GateOptions::default()).expect_err("it has two").to_string();
    for policy in [
        r#"{"pass_criteria": {"by_category": {"core": "≥ 50%"}}}"#,
        r#"{"thresholds": {"blocking": {"pass_rate": 0.5}}, "weights": {"by_category": {"core": 2}}}"#,
    ] {
        let error = refused(policy);
        assert!(error.contains("different values of `category`, `core` and `happy`"), "{error}");
        assert!(error.contains("sample `d`"), "{error}");
    }
    // A policy that does not ask is not held up, and the report says which counts.
    let report = report(lines, r#"{"thresholds": {"blocking": {"pass_rate": 0.5}}}"#);
    assert_eq!(report.caveats.iter().map(calipers::metric::Caveat::id).collect::<Vec<_>>(), ["several-categories"]);
}

#[test]
fn a_blocking_failure_counts_in_whichever_attempt_it_is() {
    let lines = r#"{"id": "a", "passed": true, "failure_type": "typo"}
{"id": "a", "passed": true, "failure_type": "data_leak"}
"#;
    let report = report(lines, r#"{"blocking_failures": ["data_leak"]}"#);
    assert_eq!(gate_decision(&report), "blocking_failures: data_leak in a");
}

#[test]
fn the_better_side_of_a_field_is_told_by_its_name() {
    let lines = (1..=4).fold(String::new(), |mut lines, id| {
        let _ = writeln!(lines, r#"{{"id": {id}, "latency_ms": {}, "turns": {id}}}"#, id * 100);
        lines
    });
    let expression = |text: &str| match text {
        "mean(\"latency_ms\")" => Ok(calipers::metric::mean_of("latency_ms")),
        "mean(\"turns\")" => Ok(calipers::metric::mean_of("turns")),
        other => panic!("{other}"),
    };
    let options = GateOptions { expression: &expression, ..GateOptions::default() };
    let asked = |metric: &str, threshold: &str| {
        let policy = format!(r#"{{"thresholds": {{"blocking": {{"mean(\"{metric}\")": {threshold}}}}}}}"#);
        judged(&lines, &policy, &options)
    };
    let slow = asked("latency_ms", "200").expect("judged");
    assert_eq!(gate_decision(&slow), "mean(\"latency_ms\"): 250 ms is not ≤ 200 ms");
    assert_eq!(asked("latency_ms", "\"0.3 s\"").expect("judged").verdict, Verdict::Pass);
    let unknown = asked("turns", "3").expect_err("no better side").to_string();
    assert!(unknown.contains("neither better when high nor when low"), "{unknown}");
    assert_eq!(asked("turns", "\"≤ 3\"").expect("judged").verdict, Verdict::Pass);
}

#[test]
fn a_reducer_that_needs_more_attempts_says_so() {
    let lines = (0..15).fold(String::new(), |mut lines, attempt| {
        let _ = writeln!(lines, r#"{{"id": {}, "category": "core", "passed": true}}"#, attempt / 5);
        lines
    });
    let policy = r#"{"thresholds": {"blocking": {"pass_rate": 90}}, "pass_criteria": {"by_category": {"core": 90}},
        "epochs": {"reducer": "pass_k_9"}}"#;
    let report = report(&lines, policy);
    let why = "`pass_k_9` needs 9 attempts per sample, and there are 5";
    assert_eq!(gate_reason(&find(&report, "pass_rate").reason), format!("undefined: {why}"));
    assert_eq!(gate_reason(&find(&report, "pass_rate[core]").reason), format!("undefined: {why}"));
    assert_eq!(gate_decision(&report), format!("coverage: {why}"));
}

#[test]
fn a_value_does_not_look_like_the_threshold_that_it_misses() {
    let policy = r#"{"thresholds": {"blocking": {"pass_rate": "≥ 99.99%"}}}"#;
    let report = report(&passes(29_996, 30_000), policy);
    assert_eq!(gate_decision(&report), "pass_rate: 99.987 % is not ≥ 99.99 %");
}

#[test]
fn a_latency_that_is_undecided_is_one_plain_sentence() {
    let lines = |all: usize, slow: usize| {
        (0..all).fold(String::new(), |mut lines, id| {
            let _ = writeln!(lines, r#"{{"id": {id}, "latency_ms": {}}}"#, if id < slow { 6000 } else { 1000 });
            lines
        })
    };
    let policy = r#"{"thresholds": {"blocking": {"latency_p95": "≤ 5 s"}}, "confidence": 0.95}"#;
    for (all, slow, wanted) in [
        (100, 3, "between 92.4 % and 99.2 % of the attempts may be within 5 s, and 95 % have to be"),
        (20, 0, "20 attempts cannot show that 95 % of the attempts are within 5 s, even if all go well; 59 are needed"),
        (59, 0, "at least 95.05 % of the attempts are within 5 s, and 95 % have to be, with 95 % confidence"),
    ] {
        assert_eq!(gate_reason(&report(&lines(all, slow), policy).gates[0].reason), wanted);
    }
}

#[test]
fn a_baseline_of_the_future_is_told() {
    let policy = r#"{"baseline": {"mode": "non_inferiority", "margin": "10%"}}"#;
    let baseline = Baseline { date: Some("2030-01-01".into()), ..recorded(&passes(18, 20), policy) };
    let notes = |age: f64| {
        let options = GateOptions { baseline: Some((baseline.clone(), Some(age))), ..GateOptions::default() };
        judged(&passes(18, 20), policy, &options).expect("judged").caveats
    };
    let told = notes(-400.0);
    assert_eq!(told[0].id(), "future-baseline");
    assert_eq!(caveat_sentence(&told[0]), "the baseline is dated 2030-01-01, which is 400 days ahead");
    assert!(notes(-1.0).is_empty() && notes(3.0).is_empty());
}

/// Attempts with everything that gates rest on, from arithmetic alone: the lines of each scenario.
fn varied_run(seed: usize, scenarios: usize) -> Vec<String> {
    let scenario = |id: usize| {
        (0..1 + (id + seed) % 3).fold(String::new(), |mut lines, attempt| {
            let chance = (id * 7919 + attempt * 104_729 + seed * 31) % 1000;
            let label = if id.is_multiple_of(3) { format!(r#", "human_label": {}"#, u8::from(chance < 880)) } else { String::new() };
            let _ = writeln!(
                lines,
                r#"{{"id": "S-{id}", "epoch": {}, "category": "c{}", "document": "d{}", "scores": {{"judge": {}}}, "passed": {}, "predicted": {}, "actual": {}, "latency_ms": {}, "tokens_used": {}, "cost_usd": {}{label}}}"#,
                attempt + 1,
                id % 3,
                id % 17,
                u8::from(chance < 900),
                chance < 920,
                !chance.is_multiple_of(7),
                !chance.is_multiple_of(5),
                100 + chance * 3,
                50 + chance % 90,
                chance as f64 / 1e4,
            );
            lines
        })
    };
    (0..scenarios).map(scenario).collect()
}

/// Every kind of gate, for runs of [`varied_run`].
const VARIED_GATES: &str = r#""thresholds": {"blocking": {"accuracy": "70%", "pass_rate": "80%", "precision": "60%", "recall": "60%", "f1": "60%",
    "mcc": "at least 0.2", "corrected": "70%", "latency_p50": "at most 2s", "latency_p95": "at most 4s", "cost": "at most 0.08",
    "token_efficiency": ">= 0.001"}}, "pass_criteria": {"by_category": {"c0": "80%", "c1": "70%"}},
    "composite": {"final": "accuracy * 0.5 + f1 * 0.3 + mcc * 0.2", "pass": "final >= 0.5"},
    "limits": {"cost_usd": 0.2, "tokens_used": 200}"#;

/// The gates of a verdict by these and such terms, in full. Where results came from is said elsewhere in a report.
fn gates_of(terms: &str, sources: Vec<Source>) -> String {
    let text = format!("{{{VARIED_GATES}, {terms}}}");
    let policy = Policy::parse(&read_document("policy.json", text.as_bytes()).expect("a document")).expect("a policy");
    let selection = Selection { format: Some("native".to_owned()), ..Selection::of(sources) };
    let options = GateOptions::default();
    let run = LoadedRun::load("", &selection, &options.needs(&selection, &policy)).expect("a run");
    let report = gate(&run, &policy, &selection, &options).expect("a report");
    format!("{:#?} {:?} {:#?}", report.verdict, report.decided_by, report.gates)
}

/// All files as one.
fn one_source(run: &[String]) -> Vec<Source> {
    vec![Source::bytes("all.jsonl", run.concat().into_bytes())]
}

#[test]
fn files_and_their_order_change_no_bit_of_a_verdict() {
    for terms in [
        r#""confidence": "95%""#,
        r#""confidence": "95%", "cluster": "document""#,
        r#""confidence": "90%", "weights": {"by_category": {"c0": 3}}"#,
        r#""confidence": "95%", "cluster": "document", "weights": {"by_category": {"c0": 3}}"#,
        r#""confidence": {"level": "95%", "looks": "any"}"#,
        r#""confidence": "95%", "estimand": "this_suite_rerun""#,
        r#""missing": "worst""#,
    ] {
        for (seed, scenarios) in [(1, 7), (2, 40), (3, 90)] {
            let run = varied_run(seed, scenarios);
            let whole = gates_of(terms, one_source(&run));
            for parts in [2, 3, 6] {
                let part = |place: usize| {
                    let lines: String = run.iter().skip(place).step_by(parts).map(String::as_str).collect();
                    Source::bytes(format!("part-{place}.jsonl"), lines.into_bytes())
                };
                let mut sources: Vec<Source> = (0..parts).map(part).collect();
                assert_eq!(gates_of(terms, sources.clone()), whole, "{terms}, {scenarios} in {parts} parts");
                sources.reverse();
                assert_eq!(gates_of(terms, sources), whole, "{terms}, {scenarios} in {parts} parts, reversed");
            }
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_bit_of_a_verdict() {
    // Long enough to be read in parts of four megabytes.
    let answer = format!(r#"{{"output": "{}", "id""#, "word ".repeat(900));
    let run: Vec<String> = varied_run(5, 2500).into_iter().map(|lines| lines.replace(r#"{"id""#, &answer)).collect();
    for terms in [
        r#""confidence": "95%", "cluster": "document", "weights": {"by_category": {"c0": 3}}"#,
        r#""confidence": {"level": "95%", "looks": "any"}"#,
    ] {
        let with_threads = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| gates_of(terms, one_source(&run)))
        };
        let alone = with_threads(1);
        for threads in [2, 5] {
            assert_eq!(with_threads(threads), alone, "{terms}, {threads} threads");
        }
    }
}
