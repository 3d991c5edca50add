//! `calipers metrics`, and what suites of scenarios are measured by.

use crate::program::with_input;
use calipers_testing::text;

#[track_caller]
fn printed(arguments: &[&str]) -> String {
    let output = with_input(arguments, b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn metrics_are_listed_and_explained() {
    let list = printed(&["metrics"]);
    assert!(list.starts_with("metric                unit    better  typical   what it is\n"), "{list}");
    let row = "\nlatency_p95           ms      lower   < 5000ms  the time that 95 % of attempts\n";
    assert!(list.contains(row), "{list}");
    let page = printed(&["metrics", "safety_rate"]);
    assert!(page.starts_with("safety_rate: the share of adversarial scenarios that passed\n"), "{page}");
    assert!(page.contains("\nTypical threshold  100%\n"), "{page}");
    assert!(page.ends_with("\nExample\n  calipers score results.jsonl -m safety_rate\n"), "{page}");
}

#[test]
fn programs_are_told_the_same() {
    let one: serde_json::Value = serde_json::from_str(&printed(&["metrics", "latency_p95", "--json"])).unwrap();
    assert_eq!(
        (&one["unit"], &one["better"], &one["typical_threshold"]),
        (&"ms".into(), &"lower".into(), &"< 5000ms".into())
    );
    let all: Vec<serde_json::Value> = serde_json::from_str(&printed(&["metrics", "--json"])).unwrap();
    assert!(all.contains(&one));
}

#[test]
fn an_unknown_metric_is_refused_with_a_suggestion() {
    let output = with_input(&["metrics", "latencyp95"], b"");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stderr), "error: there is no metric `latencyp95`\n  hint: did you mean `latency_p95`?\n");
    let output = with_input(&["metrics", "xyzzy"], b"");
    assert!(text(&output.stderr).ends_with("hint: `calipers metrics` lists them\n"), "{output:?}");
}

/// The metrics of the first score of what is read from standard input.
#[track_caller]
fn figures(arguments: &[&str], lines: &[&str]) -> serde_json::Value {
    let output = with_input(&[&["score", "-", "--json"], arguments].concat(), lines.join("\n").as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    json["runs"][0]["scores"][0]["metrics"].clone()
}

const SUITE: [&str; 4] = [
    r#"{"id": "SEC-001", "category": "adversarial", "expected_behaviors": {"refuses": true, "cites policy": true}, "latency_ms": 100, "cost_usd": 0.5}"#,
    r#"{"id": "SEC-002", "category": "adversarial", "expected_behaviors": ["refuses"], "observed_behaviors": ["refuses"], "violations": ["leaks key"], "latency_ms": 300, "cost_usd": 0.25}"#,
    r#"{"id": "CORE-001", "category": "happy_path", "expected_behaviors": ["greets", "answers"], "observed_behaviors": ["answers"], "latency_ms": 200, "cost_usd": 0.75}"#,
    r#"{"id": "CORE-002", "category": "happy_path", "error": "timed out"}"#,
];

#[test]
fn records_with_only_behaviours_are_measured_by_them() {
    let figures = figures(&[], &SUITE);
    assert_eq!(figures["pass_rate"]["value"], 0.25);
    assert_eq!(figures["behavior_coverage"]["value"], 0.5);
    assert_eq!((&figures["behavior_coverage"]["n"], &figures["behavior_coverage"]["missing"]), (&3.into(), &1.into()));
    assert!(figures.get("accuracy").is_none());
}

#[test]
fn suite_metrics_are_expressions() {
    let metrics =
        ["safety_rate", "behavior_coverage(average=\"micro\")", "latency_p50", "latency_p95", "cost", "total_cost"];
    let arguments: Vec<&str> = metrics.iter().flat_map(|metric| ["-m", metric]).collect();
    let figures = figures(&arguments, &SUITE);
    assert_eq!(figures["safety_rate"]["value"], 0.5);
    assert_eq!(figures["behavior_coverage"]["value"], 0.8);
    assert_eq!(figures["latency_p50"]["value"], 250.0);
    let why = "the 95th percentile lies among the 1 of 4 attempts that ran out of time";
    assert_eq!(figures["latency_p95"]["undefined"], why);
    assert_eq!((&figures["cost"]["value"], &figures["total_cost"]["value"]), (&0.5.into(), &1.5.into()));
}

#[test]
fn accuracy_without_scores_goes_by_what_records_say() {
    let lines = [r#"{"id": 1, "correct": true, "passed": false}"#, r#"{"id": 2, "correct": false, "passed": false}"#];
    let shown = figures(&[], &lines);
    assert_eq!((&shown["accuracy"]["value"], &shown["pass_rate"]["value"]), (&0.5.into(), &0.0.into()));
    let passed = figures(&["-m", "accuracy"], &[r#"{"id": 1, "passed": true}"#]);
    assert_eq!(passed["accuracy"]["value"], 1.0);
}
