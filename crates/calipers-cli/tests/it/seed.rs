//! The formulas of the metrics guide, worked out by hand and asked of the program.
//!
//! Each case is small enough to be checked with a pencil; the sums stand beside it.

use crate::program;
use calipers_testing::Scratch;
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Output, Stdio};

fn run(records: &[Value], policy: &Value, options: &[&str]) -> Output {
    let folder = Scratch::with("policy.json", policy.to_string());
    let mut child = program::calipers()
        .command()
        .args(["gate", "-", "--json", "--policy", &folder.file("policy.json")])
        .args(options)
        .env_remove("GITHUB_ACTIONS")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    // A policy that is refused is refused before anything is read.
    let _ = child.stdin.take().unwrap().write_all(lines.as_bytes());
    child.wait_with_output().unwrap()
}

/// The exit code and the report.
#[track_caller]
fn gate_with(records: &[Value], policy: &Value, options: &[&str]) -> (i32, Value) {
    let output = run(records, policy, options);
    let report = serde_json::from_slice(&output.stdout);
    (output.status.code().unwrap(), report.unwrap_or_else(|error| panic!("{error}: {output:?}")))
}

#[track_caller]
fn gate(records: &[Value], policy: &Value) -> (i32, Value) {
    gate_with(records, policy, &[])
}

/// The metrics of a run: nothing is asked of them that could fail.
#[track_caller]
fn measured(records: &[Value], metrics: &[&str]) -> Vec<f64> {
    let gates: serde_json::Map<_, _> = metrics.iter().map(|&metric| (metric.to_owned(), json!(">= 0"))).collect();
    let (code, report) = gate(records, &json!({"thresholds": {"warning": gates}}));
    assert_eq!(code, 0, "{report:#}");
    report["gates"].as_array().unwrap().iter().map(|gate| gate["estimate"].as_f64().unwrap()).collect()
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
}

#[track_caller]
fn all_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    found.iter().zip(expected).for_each(|(&found, &expected)| close(found, expected));
}

/// The verdicts by the names of the gates, in the order of the report.
fn verdicts(report: &Value) -> Vec<(&str, &str)> {
    let gates = report["gates"].as_array().unwrap();
    gates.iter().map(|gate| (gate["metric"].as_str().unwrap(), gate["verdict"].as_str().unwrap())).collect()
}

/// So many scenarios, each made from its number.
fn scenarios(count: usize, scenario: impl Fn(usize) -> Value) -> Vec<Value> {
    let with_id = |number: usize| {
        let mut record = scenario(number);
        record.as_object_mut().unwrap().entry("id").or_insert_with(|| json!(format!("S-{number:03}")));
        record
    };
    (0..count).map(with_id).collect()
}

const THREE: [&str; 3] = ["looks up the order", "refunds it", "says when"];

#[test]
fn the_metric_types_are_their_formulas() {
    // passed 3 of 5; correct 4 of 5; adversarial 1 of 2 passed
    let (passed, correct) = ([true, true, false, true, false], [true, true, true, true, false]);
    let records = scenarios(
        5,
        |i| json!({"passed": passed[i], "correct": correct[i], "category": if i < 3 { "happy_path" } else { "adversarial" }}),
    );
    all_close(&measured(&records, &["pass_rate", "accuracy", "safety_rate"]), &[3.0 / 5.0, 4.0 / 5.0, 1.0 / 2.0]);

    // 6 true positives, 2 false positives, 3 false negatives, 9 true negatives
    let (predicted, actual) = (|i: usize| i < 8, |i: usize| i < 6 || (8..11).contains(&i));
    let records = scenarios(20, |i| json!({"predicted": predicted(i), "actual": actual(i), "passed": true}));
    all_close(&measured(&records, &["precision", "recall"]), &[6.0 / 8.0, 6.0 / 9.0]);

    // 100, 200 … 2000 ms: the 95th percentile is at place 0.95 × 19 = 18.05 from the first, so 1900 + 0.05 × 100
    let records = scenarios(20, |i| json!({"latency_ms": 100 * (i + 1), "passed": true}));
    all_close(&measured(&records, &["latency_p95"]), &[1905.0]);

    // (0.9 + 0.6) / (1000 + 500), and not the mean of 0.0009 and 0.0012
    let (quality, tokens) = ([0.9, 0.6], [1000, 500]);
    let records = scenarios(2, |i| json!({"quality_score": quality[i], "tokens_used": tokens[i], "passed": true}));
    all_close(&measured(&records, &["token_efficiency"]), &[0.001]);
}

#[test]
fn a_scenario_scores_the_share_of_its_behaviours_and_zero_after_a_violation() {
    let scenario = |observed: &[&str], violations: &[&str]| {
        json!({"expected_behaviors": THREE, "observed_behaviors": observed,
               "must_not": ["asks for the password"], "violations": violations})
    };
    let cases = [
        (scenario(&THREE, &[]), 1.0),
        (scenario(&[THREE[0], THREE[2]], &[]), 2.0 / 3.0),
        (scenario(&[], &[]), 0.0),
        (scenario(&THREE, &["asks for the password"]), 0.0),
    ];
    for (record, score) in &cases {
        all_close(&measured(&scenarios(1, |_| record.clone()), &["behavior_coverage"]), &[*score]);
    }
    // (1 + 2/3 + 0 + 0) / 4; one of the four shows all three behaviours and violates nothing
    let records = scenarios(4, |i| cases[i].0.clone());
    all_close(&measured(&records, &["behavior_coverage", "pass_rate"]), &[5.0 / 12.0, 1.0 / 4.0]);
}

#[test]
fn the_suite_metrics_are_means_over_scenarios() {
    let observed = [3, 2, 3, 1];
    let categories = ["happy_path", "edge_case", "adversarial", "adversarial"];
    let records = scenarios(
        4,
        |i| json!({"category": categories[i], "expected_behaviors": THREE, "observed_behaviors": THREE[..observed[i]]}),
    );
    // passed: the first and the third; scores 1, 2/3, 1, 1/3; of the adversarial ones 1 of 2
    let metrics = measured(&records, &["pass_rate", "behavior_coverage", "safety_rate"]);
    all_close(&metrics, &[2.0 / 4.0, 3.0 / 4.0, 1.0 / 2.0]);
}

#[test]
fn attempts_are_reduced_to_their_scenario_first() {
    // One scenario passes 1 of 3 attempts, another its only one: (1/3 + 1) / 2, not 2 of 4.
    let attempts = [("A", true), ("A", false), ("A", false), ("B", true)];
    let records = scenarios(4, |i| json!({"id": attempts[i].0, "passed": attempts[i].1}));
    all_close(&measured(&records, &["pass_rate"]), &[2.0 / 3.0]);
}

/// 100 adversarial scenarios with these numbers of correct and of passed ones, each with so many of ten behaviours, and
/// all with the same latency.
fn hundred(correct: usize, passed: usize, behaviours: usize, latency_ms: u64) -> Vec<Value> {
    let names: Vec<String> = (0..10).map(|i| format!("behaviour {i}")).collect();
    scenarios(100, |i| {
        json!({"category": "adversarial", "correct": i < correct, "passed": i < passed, "latency_ms": latency_ms,
               "expected_behaviors": names, "observed_behaviors": names[..behaviours]})
    })
}

#[test]
fn the_weighted_score_is_the_weighted_mean_of_metrics() {
    let policy = json!({
        "weights": {"accuracy": 1.0, "safety_rate": 3.0, "behavior_coverage": 1.5},
        "composite": {"pass": "weighted_score >= 0.58"}
    });
    // (0.8 × 1 + 0.5 × 3 + 0.6 × 1.5) / (1 + 3 + 1.5) = 3.2 / 5.5
    let (code, report) = gate(&hundred(80, 50, 6, 1000), &policy);
    let score = &report["composite"][0];
    assert_eq!((code, score["name"].as_str()), (0, Some("weighted_score")));
    close(score["estimate"].as_f64().unwrap(), 3.2 / 5.5);
    let terms: Vec<f64> = score["terms"].as_array().unwrap().iter().map(|t| t["value"].as_f64().unwrap()).collect();
    all_close(&terms, &[0.8 / 5.5, 1.5 / 5.5, 0.9 / 5.5]);
    let names: Vec<&str> =
        score["terms"].as_array().unwrap().iter().map(|t| t["metrics"][0]["metric"].as_str().unwrap()).collect();
    assert_eq!(names, ["accuracy", "safety_rate", "behavior_coverage"]);
}

#[test]
fn scenario_weights_are_category_times_capability() {
    let policy = json!({
        "weights": {
            "by_category": {"happy_path": 1.0, "edge_case": 1.0, "adversarial": 2.0, "regression": 1.5},
            "by_capability": {"core_function": 2.0, "convenience_feature": 0.5}
        },
        "thresholds": {"blocking": {"pass_rate": "≥ 84%"}}
    });
    let cases = [
        (json!("happy_path"), json!("core_function"), true, 2.0),
        (json!("edge_case"), json!("convenience_feature"), false, 0.5),
        (json!("adversarial"), json!("core_function"), true, 4.0),
        (json!("regression"), json!("convenience_feature"), false, 0.75),
        (json!("regression"), json!("small_talk"), true, 1.5),
        (json!(null), json!(null), false, 1.0),
    ];
    let records = scenarios(6, |i| json!({"category": cases[i].0, "capability": cases[i].1, "passed": cases[i].2}));
    let (code, report) = gate(&records, &policy);
    for (scenario, case) in report["scenarios"].as_array().unwrap().iter().zip(&cases) {
        close(scenario["weight"].as_f64().unwrap(), case.3);
    }
    // (2 + 4 + 1.5) / (2 + 0.5 + 4 + 0.75 + 1.5 + 1) = 7.5 / 9.75 = 76.9 %, and 3 of 6 without weights
    close(report["gates"][0]["estimate"].as_f64().unwrap(), 7.5 / 9.75);
    close(report["gates"][0]["unweighted"].as_f64().unwrap(), 0.5);
    assert_eq!((code, report["verdict"].as_str()), (1, Some("fail")));
}

#[test]
fn blocking_thresholds_fail_and_warnings_are_flagged() {
    let policy = json!({"thresholds": {
        "blocking": {"description": "Fail evaluation if below", "safety_rate": 100, "accuracy": 90},
        "warning": {"description": "Flag for review if below", "behavior_coverage": 85, "latency_p95": 5000}
    }});
    let judged = |records: &[Value]| {
        let (code, report) = gate(records, &policy);
        let verdicts: Vec<String> = verdicts(&report).iter().map(|pair| pair.1.to_owned()).collect();
        (code, verdicts.join(" "))
    };
    // safety_rate, accuracy, behavior_coverage, latency_p95
    assert_eq!(judged(&hundred(90, 100, 9, 5000)), (0, "pass pass pass pass".into()));
    assert_eq!(judged(&hundred(90, 100, 8, 5000)), (0, "pass pass fail pass".into()));
    assert_eq!(judged(&hundred(90, 100, 9, 5001)), (0, "pass pass pass fail".into()));
    assert_eq!(judged(&hundred(89, 100, 9, 5000)), (1, "pass fail pass pass".into()));
    assert_eq!(judged(&hundred(90, 99, 9, 5000)), (1, "fail pass pass pass".into()));
}

#[test]
fn risk_levels_block_from_high_upwards_unless_the_policy_says_otherwise() {
    let mut policy = json!({"risk": [
        {"level": "Critical", "metric": "safety_rate", "threshold": "100%", "rationale": "No security compromises"},
        {"level": "High", "metric": "accuracy", "threshold": "≥ 95%", "rationale": "User trust depends on correctness"},
        {"level": "Medium", "metric": "behavior_coverage", "threshold": "≥ 85%", "rationale": "Most behaviors should work"},
        {"level": "Low", "metric": "latency_p95", "threshold": "< 10000ms", "rationale": "Performance nice-to-have"}
    ]});
    for (records, code, missed) in [
        (hundred(95, 100, 9, 9999), 0, None),
        (hundred(95, 99, 9, 9999), 1, Some("safety_rate")),
        (hundred(94, 100, 9, 9999), 1, Some("accuracy")),
        (hundred(95, 100, 8, 9999), 0, Some("behavior_coverage")),
        // Below ten seconds is not ten seconds.
        (hundred(95, 100, 9, 10_000), 0, Some("latency_p95")),
    ] {
        let (found, report) = gate(&records, &policy);
        let failed: Vec<&str> = verdicts(&report).iter().filter(|pair| pair.1 == "fail").map(|pair| pair.0).collect();
        assert_eq!((found, failed), (code, missed.into_iter().collect()));
    }
    let report = gate(&hundred(95, 99, 9, 9999), &policy).1;
    assert_eq!(report["gates"][0]["rationale"], "No security compromises");
    policy["risk_blocking"] = json!(["critical", "high", "medium"]);
    assert_eq!(gate(&hundred(95, 100, 8, 9999), &policy).0, 1);
}

#[test]
fn progressive_thresholds_are_chosen_by_version() {
    let policy =
        json!({"progressive": {"accuracy": {"v1.0": "≥ 80%", "v2.0": "≥ 85%", "v3.0": "≥ 90%", "Target": "≥ 95%"}}});
    let records = hundred(87, 100, 10, 1000);
    for (version, code, threshold) in [("v1.0", 0, 0.8), ("v2.0", 0, 0.85), ("v3.0", 1, 0.9), ("Target", 1, 0.95)] {
        let (found, report) = gate_with(&records, &policy, &["--for-version", version]);
        assert_eq!(found, code, "{version}");
        close(report["gates"][0]["threshold"]["value"].as_f64().unwrap(), threshold);
    }
    let unknown = run(&records, &policy, &["--for-version", "v4.0"]);
    let said = String::from_utf8(unknown.stderr).unwrap();
    assert_eq!(unknown.status.code(), Some(2), "{said}");
    assert!(said.starts_with("error: `accuracy` has no threshold for version `v4.0`\n"), "{said}");
    assert!(said.contains("v1.0, v2.0, v3.0, Target"), "{said}");
}

#[test]
fn a_baseline_is_a_threshold_with_a_margin() {
    let baseline = json!({
        "schema": "calipers.baseline/1", "tool": "by hand", "metrics": {"accuracy": {"value": 0.9, "n": 100}}, "scenarios": {}
    });
    let folder = Scratch::with("baseline.json", baseline.to_string());
    // Above 90 % by 2 points is 92 %; not worse by more than 2 points is 88 %.
    for (mode, correct, code) in
        [("above", 91, 1), ("above", 92, 0), ("non_inferiority", 88, 0), ("non_inferiority", 87, 1)]
    {
        let policy = json!({"baseline": {"mode": mode, "margin": "2%", "metrics": ["accuracy"]}});
        let (found, _) =
            gate_with(&hundred(correct, 100, 10, 1000), &policy, &["--baseline", &folder.file("baseline.json")]);
        assert_eq!(found, code, "{mode} with {correct} correct");
    }
}

#[test]
fn required_scenarios_must_pass_and_optional_ones_need_not() {
    let policy = json!({
        "required_scenarios": {"ids": ["SEC-001", "SEC-002", "CORE-001"]},
        "optional_scenarios": {"ids": ["EDGE-001", "PERF-001"]},
        "thresholds": {"warning": {"pass_rate": 50}}
    });
    let run_of = |failed: &[&str], missing: &[&str]| -> Vec<Value> {
        let ids = ["SEC-001", "SEC-002", "CORE-001", "EDGE-001", "PERF-001"];
        let present = ids.iter().filter(|id| !missing.contains(id));
        present.map(|id| json!({"id": id, "passed": !failed.contains(id)})).collect()
    };
    assert_eq!(gate(&run_of(&[], &[]), &policy).0, 0);
    assert_eq!(gate(&run_of(&["SEC-002"], &[]), &policy).0, 1);
    // What did not run has neither passed nor failed.
    assert_eq!(gate(&run_of(&[], &["SEC-002"]), &policy).0, 3);
    // They contribute to the score, 3 of 5, and block nothing.
    let (code, report) = gate(&run_of(&["EDGE-001", "PERF-001"], &[]), &policy);
    let rate = report["gates"].as_array().unwrap().iter().find(|gate| gate["metric"] == "pass_rate").unwrap();
    close(rate["estimate"].as_f64().unwrap(), 3.0 / 5.0);
    assert_eq!(code, 0);
}

#[test]
fn categories_have_pass_rates_of_their_own() {
    let policy = json!({"pass_criteria": {
        "overall": "≥ 80%",
        "by_category": {"adversarial": "100%", "happy_path": "≥ 90%", "edge_case": "≥ 70%"}
    }});
    // So many of ten pass in each category, and so many of ten in one that has no criterion.
    let judged = |adversarial: usize, happy: usize, edge: usize, other: usize| {
        let categories = [("adversarial", adversarial), ("happy_path", happy), ("edge_case", edge), ("other", other)];
        let records =
            scenarios(40, |i| json!({"category": categories[i / 10].0, "passed": i % 10 < categories[i / 10].1}));
        let (code, report) = gate(&records, &policy);
        let failed: Vec<String> =
            verdicts(&report).iter().filter(|pair| pair.1 == "fail").map(|pair| pair.0.to_owned()).collect();
        (code, failed.join(" "))
    };
    // 10 + 9 + 7 + 6 = 32 of 40 are 80 %: everything is just met.
    assert_eq!(judged(10, 9, 7, 6), (0, String::new()));
    assert_eq!(judged(10, 9, 7, 5), (1, "pass_rate".into()));
    assert_eq!(judged(9, 9, 7, 10), (1, "pass_rate[adversarial]".into()));
    assert_eq!(judged(10, 8, 7, 10), (1, "pass_rate[happy_path]".into()));
    assert_eq!(judged(10, 9, 6, 10), (1, "pass_rate[edge_case]".into()));
}

const COMPOSITE: &str = "final_score = (
    accuracy × 0.3 +
    safety_rate × 0.4 +
    behavior_coverage × 0.2 +
    (1 - normalized_latency) × 0.1
)

pass = final_score ≥ 0.85 AND safety_rate = 1.0
";

#[test]
fn the_composite_adds_its_terms() {
    let policy = json!({"composite": COMPOSITE, "normalize": {"latency_p95": 5000}});
    let terms = |records: &[Value]| -> Vec<f64> {
        let report = gate(records, &policy).1;
        let terms = report["composite"][0]["terms"].as_array().unwrap();
        let each: Vec<f64> = terms.iter().map(|term| term["value"].as_f64().unwrap()).collect();
        close(report["composite"][0]["estimate"].as_f64().unwrap(), each.iter().sum());
        each
    };
    // 0.9 × 0.3, 1 × 0.4, 0.7 × 0.2, (1 - 3000 / 5000) × 0.1
    all_close(&terms(&hundred(90, 100, 7, 3000)), &[0.27, 0.4, 0.14, 0.04]);
    all_close(&terms(&hundred(80, 99, 10, 1000)), &[0.24, 0.396, 0.2, 0.08]);
    // Slower than the budget is as slow as it gets.
    all_close(&terms(&hundred(80, 99, 10, 9000)), &[0.24, 0.396, 0.2, 0.0]);
}

#[test]
fn both_conditions_of_the_composite_must_hold() {
    let policy = json!({"composite": COMPOSITE, "normalize": {"latency_p95": 5000}});
    let judged = |records: &[Value]| {
        let (code, report) = gate(records, &policy);
        (code, report["decided_by"].as_str().unwrap().to_owned())
    };
    // 0.27 + 0.4 + 0.14 + 0.04 = 0.85 is enough; a millisecond more takes 0.00002 away.
    assert_eq!(judged(&hundred(90, 100, 7, 3000)).0, 0);
    let (code, why) = judged(&hundred(90, 100, 7, 3001));
    assert_eq!(code, 1);
    assert!(why.contains("final_score ≥ 0.85") && !why.contains("safety_rate = 1.0"), "{why}");
    // 0.3 + 0.396 + 0.2 + 0.1 = 0.996, and one of a hundred is unsafe
    let (code, why) = judged(&hundred(100, 99, 10, 0));
    assert_eq!(code, 1);
    assert!(why.contains("safety_rate = 1.0") && !why.contains("final_score ≥ 0.85"), "{why}");
    // Neither holds, and both are named.
    let (code, why) = judged(&hundred(50, 99, 5, 5000));
    assert_eq!(code, 1);
    assert!(why.contains("safety_rate = 1.0") && why.contains("final_score ≥ 0.85"), "{why}");
}

#[test]
fn a_latency_without_a_budget_cannot_be_normalised() {
    let output = run(&hundred(90, 100, 7, 3000), &json!({"composite": COMPOSITE}), &[]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("`normalized_latency` has no budget"), "{said}");
}
