//! Baselines: recorded, shown, compared with, and thresholds raised on evidence.

use crate::documents::Validators;
use crate::program;
use calipers_testing::{Scratch, text};
use serde_json::Value;
use std::ops::Deref;
use std::process::Output;

/// A folder in which the program runs.
struct Folder(Scratch);

impl Folder {
    fn new() -> Self {
        Self(Scratch::new())
    }

    fn run(&self, arguments: &str) -> Output {
        let mut command = program::calipers().command();
        command.current_dir(&self.0).env_remove("GITHUB_ACTIONS").env_remove("GITHUB_STEP_SUMMARY");
        command.args(arguments.split_whitespace()).output().unwrap()
    }

    #[track_caller]
    fn done(&self, arguments: &str) -> (String, String) {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments}: {output:?}");
        (text(&output.stdout), text(&output.stderr))
    }

    #[track_caller]
    fn record(&self, results: &str) -> String {
        self.done(&format!(
            "baseline record {results} --policy policy.json -o baseline.json --force --date 2026-11-16"
        ));
        self.read("baseline.json")
    }

    /// The verdict beside the recorded run, as JSON.
    fn compared(&self, results: &str) -> Value {
        let output = self.run(&format!("gate {results} --policy policy.json --baseline baseline.json --json"));
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    }

    #[track_caller]
    fn refused(&self, arguments: &str, message: &str) {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {output:?}");
        assert_eq!(text(&output.stdout), "");
        assert_eq!(text(&output.stderr), message);
    }
}

impl Deref for Folder {
    type Target = Scratch;

    fn deref(&self) -> &Scratch {
        &self.0
    }
}

#[test]
fn a_choice_that_is_missing_in_a_policy_is_listed() {
    let folder = Folder::new();
    folder.write("results.jsonl", results(20, &[]));
    for (policy, hint) in [
        (r#"{"baseline": {"margin": "2%"}}"#, "add `mode`, which is `non_inferiority` or `above`"),
        (
            r#"{"risk": [{"metric": "pass_rate", "threshold": 90}]}"#,
            "add `level`, which is one of `critical`, `high`, `medium`, `low`",
        ),
    ] {
        folder.write("policy.json", policy);
        let output = folder.run("gate results.jsonl --policy policy.json");
        assert_eq!(output.status.code(), Some(2), "{policy}: {output:?}");
        assert!(text(&output.stderr).contains(hint), "{policy}: {}", text(&output.stderr));
    }
}

/// So many scenarios, of which these fail; each takes ten milliseconds longer than the one before.
fn results(count: usize, failing: &[usize]) -> String {
    let line = |place: usize| {
        let passed = !failing.contains(&place);
        let latency = place * 10;
        format!(
            r#"{{"id": "S-{place:03}", "passed": {passed}, "category": "edge_case", "latency_ms": {latency}}}{}"#,
            "\n"
        )
    };
    (1..=count).map(line).collect()
}

fn gate<'g>(report: &'g Value, metric: &str, kind: &str) -> &'g Value {
    let gates = report["gates"].as_array().unwrap();
    gates.iter().find(|gate| gate["metric"] == metric && gate["kind"] == kind).unwrap()
}

/// Thirds, repeats, a scenario that ends in an error in one attempt, and one that only has a score.
const UNEVEN: &str = r#"{"id": "A", "passed": true, "score": 0.3333333333333333, "latency_ms": 812.123456789012345}
{"id": "A", "passed": false, "score": 0.6666666666666666, "latency_ms": 17.1}
{"id": "A", "passed": true, "score": 0.1, "latency_ms": 21.7}
{"id": "B", "passed": true, "score": 0.7, "latency_ms": 33.3}
{"id": "B", "passed": true, "score": 0.2, "latency_ms": 12.9}
{"id": "C", "passed": false, "score": 0.1, "latency_ms": 5.5}
{"id": "C", "error": "connection lost", "latency_ms": 7.7}
{"id": "D", "passed": true, "score": 1, "latency_ms": 1.1}
{"id": "E", "score": 0.30000000000000004}
"#;

#[test]
fn a_run_differs_from_itself_by_nothing() {
    let folder = Folder::new();
    folder.write("results.jsonl", UNEVEN);
    let weights = r#""weights": {"by_category": {"x": 2}},"#;
    for (reducer, weights) in [("mean", ""), ("max", ""), ("median", weights), ("pass_at_2", weights)] {
        folder.write(
            "policy.json",
            format!(
                r#"{{{weights} "thresholds": {{"blocking": {{"accuracy": 5, "pass_rate": 10, "latency_p95": 9000, "mean": "≥ 0"}}}},
                "epochs": {{"reducer": "{reducer}"}}, "baseline": {{"mode": "above", "margin": 0}}, "missing": "at_random"}}"#
            ),
        );
        let output = folder.run("baseline record results.jsonl --policy policy.json -o baseline.json --force");
        assert_eq!(output.status.code(), Some(0), "{reducer}: {output:?}");
        let report = folder.compared("results.jsonl");
        let baseline = &report["baseline"];
        let differences = baseline["differences"].as_array().unwrap();
        assert_eq!(differences.len(), 4, "{reducer}");
        for difference in differences {
            assert_eq!(difference["estimate"], 0.0, "{reducer}: {difference}");
            assert_eq!(gate(&report, difference["metric"].as_str().unwrap(), "baseline")["verdict"], "pass");
        }
        for changed in ["newly_failing", "newly_passing", "added", "removed"] {
            assert_eq!(baseline[changed].as_array().unwrap().len(), 0, "{reducer}: {changed}");
        }
    }
}

#[test]
fn the_same_results_give_the_same_bytes_and_a_change_shows_in_its_lines() {
    let folder = Folder::new();
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"behavior_coverage": 50}}}"#);
    let line = |place: usize, observed: &str| {
        format!(r#"{{"id": "S-{place:02}", "expected_behaviors": ["a", "b"], "observed_behaviors": [{observed}]}}"#)
    };
    let mut lines: Vec<String> = (1..=20).map(|place| line(place, r#""a", "b""#)).collect();
    folder.write("results.jsonl", lines.join("\n"));
    let first = folder.record("results.jsonl");
    assert_eq!(folder.record("results.jsonl"), first);
    lines.reverse();
    folder.write("results.jsonl", lines.join("\n"));
    assert_eq!(folder.record("results.jsonl"), first);
    // The folder holds nothing half written.
    assert_eq!(folder.names(), ["baseline.json", "policy.json", "results.jsonl"]);

    lines[20 - 7] = line(7, r#""a""#);
    folder.write("results.jsonl", lines.join("\n"));
    let second = folder.record("results.jsonl");
    let changed: Vec<&str> = second.lines().filter(|line| !first.lines().any(|before| before == *line)).collect();
    let names: Vec<&str> = changed.iter().map(|line| line.trim().split(':').next().unwrap()).collect();
    assert_eq!(names, [r#""behavior_coverage""#, r#""pass_rate""#, r#""S-07""#]);
    assert_eq!(
        changed[2],
        r#"    "S-07": {"outcome": "failed", "passed": 0, "attempts": 1, "values": {"behavior_coverage": 0.5}},"#
    );
}

#[test]
fn what_is_recorded_is_said_and_written_whole() {
    let folder = Folder::new();
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"pass_rate": 90}}}"#);
    folder.write("results.jsonl", results(3, &[2]));
    let (out, err) = folder.done("baseline record results.jsonl --policy policy.json -o - --date 2026-11-16");
    let hash = out.lines().find(|line| line.contains("policy_hash")).unwrap().to_owned();
    assert_eq!(
        out.replace(env!("CARGO_PKG_VERSION"), "VERSION").replace(&hash, "  HASH,"),
        r#"{
  "schema": "calipers.baseline/1",
  "date": "2026-11-16",
  "tool": "calipers VERSION",
  HASH,
  "files": ["results.jsonl"],
  "reducer": "mean",
  "metrics": {
    "pass_rate": {"value": 0.6666666666667, "n": 3, "lower": 0.1353503621716, "upper": 0.9830475724916}
  },
  "scenarios": {
    "S-001": {"outcome": "passed", "passed": 1, "attempts": 1},
    "S-002": {"outcome": "failed", "passed": 0, "attempts": 1},
    "S-003": {"outcome": "passed", "passed": 1, "attempts": 1}
  }
}
"#
    );
    assert_eq!(
        err,
        "note: this run fails the policy (pass_rate: 66.7 % is not ≥ 90 %); it is recorded as it is\n\
         recorded 1 metric and 3 scenarios\n"
    );
    // The baseline that the policy asks for is about to be made: its absence is no reason to warn.
    folder.write(
        "policy.json",
        r#"{"thresholds": {"blocking": {"pass_rate": 50}}, "baseline": {"mode": "above", "margin": 0}}"#,
    );
    let (_, err) = folder.done("baseline record results.jsonl --policy policy.json -o baseline.json");
    assert_eq!(err, "recorded 1 metric and 3 scenarios\n");
}

#[test]
fn nothing_is_no_baseline() {
    let folder = Folder::new();
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"pass_rate": 90}}}"#);
    folder.write("results.jsonl", results(3, &[]));
    folder.write("empty.csv", "id,passed\n");
    for command in ["record -o baseline.json", "raise"] {
        folder.refused(
            &format!("baseline {command} empty.csv --policy policy.json"),
            "error: the run is empty, so there is nothing to work with\n  in empty.csv\n  \
             hint: check that the evaluation ran, and what `--scorer` chooses\n",
        );
    }
    folder.write("unscored.jsonl", "{\"id\": 1}\n{\"id\": 2}\n");
    let output = folder.run("baseline record unscored.jsonl --policy policy.json -o baseline.json");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("nothing of 2 scenarios can be measured"), "{output:?}");
    // A run that is refused leaves nothing behind.
    assert_eq!(folder.names(), ["empty.csv", "policy.json", "results.jsonl", "unscored.jsonl"]);
    folder.refused(
        "baseline record results.jsonl --policy policy.json -o baseline.json --date 2026-02-30",
        "error: `--date 2026-02-30` is not a date\n  hint: write `--date 2026-11-16`\n",
    );
    let output = folder.run("baseline record results.jsonl --policy policy.json -o absent/baseline.json");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn scenarios_that_come_and_go_are_no_regressions() {
    let folder = Folder::new();
    folder.write(
        "policy.json",
        r#"{"pass_criteria": {"overall": "≥ 50%"}, "baseline": {"mode": "non_inferiority", "margin": "1%"}}"#,
    );
    folder.write("results.jsonl", results(20, &[3]));
    folder.record("results.jsonl");
    // S-001 and S-002 are gone; N-1 is new, and fails.
    let rest: String = results(20, &[3]).lines().skip(2).map(|line| format!("{line}\n")).collect();
    folder.write("next.jsonl", format!("{rest}{}", r#"{"id": "N-1", "passed": false}"#));
    let report = folder.compared("next.jsonl");
    let baseline = &report["baseline"];
    assert_eq!(baseline["added"], serde_json::json!(["N-1"]));
    assert_eq!(baseline["removed"], serde_json::json!(["S-001", "S-002"]));
    assert_eq!(baseline["newly_failing"], serde_json::json!([]));
    assert_eq!(baseline["differences"][0]["estimate"], 0.0);
    assert_eq!(baseline["differences"][0]["n"], 18);
    assert_eq!(report["coverage"]["missing"], serde_json::json!(["S-001", "S-002"]));
    assert_eq!(report["verdict"], "pass");
}

#[test]
fn a_scenario_that_did_not_run_has_not_changed() {
    let folder = Folder::new();
    folder.write("policy.json", r#"{"pass_criteria": {"overall": "≥ 5%"}}"#);
    let (passes, fails, errs) = (r#""passed": true"#, r#""passed": false"#, r#""error": "connection lost""#);
    let line = |id: &str, what: &str| format!("{{\"id\": \"{id}\", {what}}}\n");
    folder.write("results.jsonl", [line("A", errs), line("B", errs), line("C", passes), line("D", fails)].concat());
    folder.record("results.jsonl");
    folder.write("next.jsonl", [line("A", passes), line("B", fails), line("C", errs), line("D", passes)].concat());
    let baseline = folder.compared("next.jsonl")["baseline"].clone();
    assert_eq!(baseline["newly_failing"], serde_json::json!([]));
    assert_eq!(baseline["newly_passing"], serde_json::json!(["D"]));
}

#[test]
fn an_old_baseline_is_stale() {
    let folder = Folder::new();
    folder.write("policy.json", r#"{"pass_criteria": {"overall": "≥ 50%"}}"#);
    folder.write("results.jsonl", results(20, &[3]));
    let is_stale = |folder: &Folder| {
        let caveats = folder.compared("results.jsonl")["caveats"].clone();
        caveats.as_array().unwrap().iter().any(|caveat| caveat["id"] == "stale-baseline")
    };
    folder.done("baseline record results.jsonl --policy policy.json -o baseline.json --date 2020-02-29");
    assert!(is_stale(&folder));
    let (out, _) = folder.done("baseline show baseline.json");
    assert!(out.contains("stale: it is "), "{out}");
    folder.done("baseline record results.jsonl --policy policy.json -o baseline.json --force");
    assert!(!is_stale(&folder));
    let (out, _) = folder.done("baseline show baseline.json");
    assert!(out.contains(" (today) by calipers ") && !out.contains("stale"), "{out}");
}

#[test]
fn a_baseline_is_shown_with_its_metrics_and_scenarios() {
    let folder = Folder::new();
    folder.write("policy.json", r#"{"thresholds": {"warning": {"pass_rate": 90, "latency_p95": 5000}}}"#);
    folder.write("results.jsonl", UNEVEN);
    folder.done("baseline record results.jsonl --policy policy.json -o baseline.json --date 2999-01-01");
    let (out, err) = folder.done("baseline show baseline.json");
    assert_eq!(err, "");
    let hash = &folder.read("baseline.json").split("\"policy_hash\": \"").nth(1).unwrap()[..12].to_owned();
    assert_eq!(
        out.replace(env!("CARGO_PKG_VERSION"), "VERSION").replace(hash, "HASH"),
        "baseline.json, recorded 2999-01-01 (in the future) by calipers VERSION\n\
         from results.jsonl · attempts reduced by mean · policy HASH\n\
         \n             estimate  95 % interval  n\n\
         latency_p95    540 ms                 8\n\
         pass_rate      53.3 %  [7.2, 97.4] %  5\n\
         \n5 scenarios: 2 passed, 3 failed, 1 flaky\n"
    );
}

#[test]
fn what_is_written_and_shown_keeps_to_the_schema() {
    let folder = Folder::new();
    folder
        .write("policy.json", r#"{"thresholds": {"warning": {"pass_rate": 90, "latency_p95": 5000, "accuracy": 50}}}"#);
    folder.write("results.jsonl", UNEVEN);
    let file: Value = serde_json::from_str(&folder.record("results.jsonl")).unwrap();
    let validators = Validators::new("baseline");
    validators.check(&file, "the file");
    let (shown, _) = folder.done("baseline show baseline.json --json");
    let json: Value = serde_json::from_str(&shown).unwrap();
    validators.check(&json, "what is shown");
    assert_eq!(json["metrics"], file["metrics"]);
    assert_eq!(
        json["summary"]["scenarios"],
        serde_json::json!({"total": 5, "passed": 2, "failed": 3, "errored": 0, "unscored": 0, "flaky": 1})
    );
    // What is shown is a baseline too.
    folder.write("again.json", &shown);
    folder.done("baseline show again.json");
    for (place, wrong) in [("/metrics/pass_rate/value", Value::Null), ("/scenarios/A/outcome", "skipped".into())] {
        let mut bad = file.clone();
        *bad.pointer_mut(place).unwrap() = wrong;
        assert!(!validators.is_valid(&bad), "{place}");
        folder.write("bad.json", bad.to_string());
        assert_eq!(folder.run("baseline show bad.json").status.code(), Some(2), "{place}");
    }
}

#[test]
fn a_broken_baseline_is_refused_with_its_place() {
    let folder = Folder::new();
    folder.write("policy.json", r#"{"pass_criteria": {"overall": "≥ 50%"}}"#);
    folder.write("results.jsonl", results(3, &[]));
    let good = folder.record("results.jsonl");
    let again = "record the baseline again";
    for (broken, message) in [
        (
            good.replace("\"n\": 3", "\"n\": three"),
            format!("this is not a baseline: expected ident\n  in baseline.json, line 9\n  hint: {again}"),
        ),
        (
            good.replace("\"n\": 3", "\"m\": 3"),
            format!(
                "this is not a baseline: unknown field `m`, expected one of `value`, `n`, `lower`, `upper`\n  \
                 in baseline.json, line 9\n  hint: {again}"
            ),
        ),
        (
            good.replace("baseline/1", "baseline/2"),
            format!(
                "its schema is `calipers.baseline/2`, not `calipers.baseline/1`\n  in baseline.json\n  hint: {again}"
            ),
        ),
        (
            "{\"passed\": 3}".to_owned(),
            format!(
                "this is not a baseline: it has no schema `calipers.baseline/1`\n  in baseline.json\n  hint: {again}"
            ),
        ),
        (
            good.replace("\"passed\": 1, ", "\"passed\": 2, "),
            format!("more attempts passed than there are\n  in baseline.json, at `scenarios.S-001`\n  hint: {again}"),
        ),
        (
            good.replace("  \"scenarios\"", "<<<<<<< ours\n  \"scenarios\""),
            "it contains unresolved merge conflicts\n  in baseline.json, line 11\n  \
             hint: keep one side, or record it again"
                .to_owned(),
        ),
    ] {
        assert_ne!(broken, good);
        folder.write("baseline.json", &broken);
        for command in
            ["baseline show baseline.json", "gate results.jsonl --policy policy.json --baseline baseline.json"]
        {
            folder.refused(command, &format!("error: {message}\n"));
        }
    }
    let output = folder.run("baseline show absent.json");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

/// Of 40 scenarios 36 passed before; 4 of them fail now, and one that failed passes: 33, with a mean difference of −3/40.
/// Its variance over scenarios is (5 − 40 × 0.075²) / 39, its standard error 0.0553, and t at 39 degrees of freedom 1.685:
/// 95 % one-sided bounds at −19.7 % and +4.4 %.
fn four_worse(_name: &str) -> Folder {
    let folder = Folder::new();
    folder.write("policy.json", r#"{"pass_criteria": {"overall": "≥ 50%"}}"#);
    folder.write("results.jsonl", results(40, &[37, 38, 39, 40]));
    folder.record("results.jsonl");
    folder.write("next.jsonl", results(40, &[1, 2, 3, 4, 37, 38, 39]));
    folder
}

#[test]
fn a_margin_is_judged_scenario_by_scenario() {
    let folder = four_worse("margin");
    let sure = r#""confidence": 0.95,"#;
    for (confidence, margin, run, verdict, reason) in [
        ("", "5%", "next", "fail", "7.5 pp worse over 40 scenarios (5 pp allowed)"),
        ("", "10%", "next", "pass", "7.5 pp worse over 40 scenarios (10 pp allowed)"),
        (sure, "10%", "next", "undecided", "7.5 pp worse over 40 scenarios (10 pp allowed)"),
        (sure, "20%", "next", "pass", "7.5 pp worse over 40 scenarios (20 pp allowed)"),
        // An unchanged run of 40 rules out a loss of 1 − 0.05^(1/40) = 7.2 %.
        (sure, "8%", "results", "pass", "no worse over 40 scenarios (8 pp allowed)"),
        (sure, "7%", "results", "undecided", "no worse over 40 scenarios (7 pp allowed)"),
    ] {
        folder.write(
            "policy.json",
            format!(
                r#"{{{confidence} "pass_criteria": {{"overall": "≥ 50%"}},
                "baseline": {{"mode": "non_inferiority", "margin": "{margin}"}}}}"#
            ),
        );
        let report = folder.compared(&format!("{run}.jsonl"));
        let gate = gate(&report, "pass_rate", "baseline");
        let bounds = match (confidence, run) {
            ("", _) => "",
            (_, "next") => "; it may be anything from 19.7 pp worse to 4.4 pp better",
            _ => "; it may be anything from 7.2 pp worse to 7.2 pp better",
        };
        assert_eq!(gate["reason"], format!("{reason}{bounds}"), "{confidence} {margin} {run}");
        assert_eq!(gate["verdict"], verdict, "{confidence} {margin} {run}");
        assert_eq!(report["verdict"], verdict);
        if run == "next" {
            assert_eq!(report["baseline"]["newly_failing"], serde_json::json!(["S-001", "S-002", "S-003", "S-004"]));
            assert_eq!(report["baseline"]["newly_passing"], serde_json::json!(["S-040"]));
        }
    }
}

#[test]
fn above_the_baseline_asks_an_unchanged_run_for_more() {
    let folder = four_worse("above");
    folder.write(
        "policy.json",
        r#"{"pass_criteria": {"overall": "≥ 50%"}, "baseline": {"mode": "above", "margin": "2%"}}"#,
    );
    let report = folder.compared("results.jsonl");
    let missed = gate(&report, "pass_rate", "baseline");
    assert_eq!((&missed["verdict"], &missed["reason"]), (&"fail".into(), &"90 % is not ≥ 92 %".into()));
    assert!(report["caveats"].as_array().unwrap().iter().any(|caveat| caveat["id"] == "above-baseline"));
    folder.write("next.jsonl", results(40, &[38, 39, 40]));
    let report = folder.compared("next.jsonl");
    assert_eq!(gate(&report, "pass_rate", "baseline")["reason"], "92.5 % is ≥ 92 %");
    assert_eq!(report["verdict"], "pass");
}

#[test]
fn a_policy_about_scenarios_alone_is_compared_by_its_pass_rate() {
    let folder = four_worse("scenarios");
    folder.write(
        "policy.json",
        r#"{"required_scenarios": ["S-010"], "baseline": {"mode": "non_inferiority", "margin": "5%"}}"#,
    );
    assert_eq!(folder.compared("next.jsonl")["verdict"], "fail");
    let none = folder.read("baseline.json").replace("\"pass_rate\"", "\"other\"");
    folder.write("baseline.json", &none);
    assert_eq!(folder.compared("next.jsonl")["verdict"], "undecided");
}

/// 95 of 100 pass: at least 89.8 % with 95 % confidence (Clopper and Pearson), less one point, in whole per cents: 88. The
/// 99th of 100 latencies bounds their 95th percentile: P(X ≥ 99) = 0.037 for 100 draws at 0.95, and P(X ≥ 98) = 0.118. So at
/// most 990 ms, and a hundredth more, in two digits: 1000.
fn ninety_five(_name: &str) -> Folder {
    let folder = Folder::new();
    folder.write("results.jsonl", results(100, &[11, 12, 13, 14, 15]));
    folder
}

const JSON: &str = r#"{
  "name": "kept",   "thresholds": {
    "blocking": {"description": "Fail evaluation if below", "safety_rate": 100, "accuracy": 80},
    "warning": { "latency_p95": "< 5 000 ms" }
  },
  "pass_criteria": {"overall": "\u2265 80%", "by_category": {"edge_case": 0.5}},
  "risk": [{"level": "high", "metric": "accuracy", "threshold": "at least 0.9", "rationale": "80 is not 90"}]
}"#;

const YAML: &str = "# of the support agent
thresholds:
  blocking:
    safety_rate: 100   # never less
    accuracy: 80       # 80 for now
  warning: {latency_p95: 5 s}
pass_criteria:
  overall: ≥ 80%
  by_category:
    edge_case: '≥ 50.0 %'
";

const TOML: &str = "# of the support agent
[thresholds.blocking]
accuracy = 80.0     # 80 for now
safety_rate = \"100%\"

[thresholds.warning]
latency_p95 = 5_000

[pass_criteria]
overall = \"≥ 80%\"
";

#[test]
fn thresholds_are_raised_where_they_stand_and_nothing_else_changes() {
    let folder = ninety_five("raised");
    let json = JSON
        .replace("\"accuracy\": 80", "\"accuracy\": 88")
        .replace("5 000 ms", "1 000 ms")
        .replace("\\u2265 80%", "\\u2265 88%")
        .replace("0.5}", "0.88}");
    let yaml = YAML
        .replace("accuracy: 80 ", "accuracy: 88 ")
        .replace("5 s}", "1 s}")
        .replace("≥ 80%", "≥ 88%")
        .replace("≥ 50.0 %", "≥ 88.0 %");
    let toml = TOML.replace("= 80.0", "= 88.0").replace("5_000", "1_000").replace("≥ 80%", "≥ 88%");
    for (name, before, after) in [("p.json", JSON, json), ("p.yaml", YAML, yaml), ("p.toml", TOML, toml)] {
        for (mark, end) in [("", "\n"), ("\u{feff}", "\n"), ("", "\r\n")] {
            let (before, after) =
                (mark.to_owned() + &before.replace('\n', end), mark.to_owned() + &after.replace('\n', end));
            folder.write(name, &before);
            folder.done(&format!("baseline raise results.jsonl --policy {name}"));
            assert_eq!(folder.read(name), before);
            folder.done(&format!("baseline raise results.jsonl --policy {name} --write"));
            assert_eq!(folder.read(name), after);
            // What the run shows is asked for now, and no more.
            let (out, _) = folder.done(&format!("baseline raise results.jsonl --policy {name} --write"));
            assert!(out.starts_with("nothing to raise\n"), "{out}");
            assert_eq!(folder.read(name), after);
        }
    }
}

#[test]
fn what_changes_is_shown_with_its_reason() {
    let folder = ninety_five("diff");
    folder.write("policy.json", JSON);
    let (out, err) = folder.done("baseline raise results.jsonl --policy policy.json");
    assert_eq!(out, include_str!("../cases/raise.out"));
    assert_eq!(err, "note: nothing is written; add `--write` to change the policy\n");
}

#[test]
fn what_is_raised_can_be_read_by_programs() {
    let folder = ninety_five("raise-json");
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"accuracy": 80, "safety_rate": 100}}}"#);
    let validators = Validators::new("raise");
    for arguments in ["", " --write", " --write", " --allow-lower"] {
        let (out, _) = folder.done(&format!("baseline raise results.jsonl --policy policy.json --json{arguments}"));
        let json: Value = serde_json::from_str(&out).unwrap();
        validators.check(&json, arguments);
        if arguments.is_empty() {
            let page = include_str!("../../../../docs/json.md");
            let example =
                page.split("{\"schema\": \"calipers.raise/1\"").nth(1).and_then(|rest| rest.split("```").next());
            let example = format!("{{\"schema\": \"calipers.raise/1\"{}", example.unwrap());
            assert_eq!(serde_json::from_str::<Value>(&example).unwrap(), json, "{out}");
        }
        assert_eq!(json["written"], arguments == " --write" && json["changed"] == 1);
    }
    assert!(folder.read("policy.json").contains("\"accuracy\": 88,"), "{}", folder.read("policy.json"));
}

#[cfg(unix)]
#[test]
fn who_may_read_a_policy_stays_as_it_was() {
    use std::os::unix::fs::PermissionsExt;
    let folder = ninety_five("permissions");
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"accuracy": 80}}}"#);
    let path = folder.0.join("policy.json");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    folder.done("baseline raise results.jsonl --policy policy.json --write");
    assert!(folder.read("policy.json").contains("88"));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o640);
}

#[test]
fn thresholds_are_lowered_only_if_asked_for() {
    let folder = ninety_five("lowered");
    folder.write(
        "policy.json",
        r#"{"thresholds": {"blocking": {"accuracy": 95, "safety_rate": 100, "latency_p95": "900ms"}}}"#,
    );
    let (out, err) = folder.done("baseline raise results.jsonl --policy policy.json --write");
    assert_eq!(
        out,
        "nothing to raise\n  \
         accuracy ≥ 95 %: at least 89.8 % with 95 % confidence does not support more\n    (95 % measured, n=100)\n  \
         safety_rate ≥ 100 %: it already asks for all of them\n  \
         latency_p95 ≤ 900 ms: at most 990 ms with 95 % confidence does not support\n    more (950 ms measured, n=100)\n"
    );
    assert_eq!(err, "");
    let (out, _) = folder.done("baseline raise results.jsonl --policy policy.json --write --allow-lower");
    assert!(out.contains("accuracy: eased, 95 % measured (n=100), at least 89.8 % with 95 %"), "{out}");
    assert_eq!(
        folder.read("policy.json"),
        r#"{"thresholds": {"blocking": {"accuracy": 88, "safety_rate": 100, "latency_p95": "1000ms"}}}"#
    );
}

#[test]
fn headroom_and_confidence_decide_how_far() {
    let folder = ninety_five("headroom");
    for (confidence, headroom, want) in [("", "0", "89"), ("", "0.05", "84"), (r#""confidence": 0.99, "#, "0", "87")] {
        let policy =
            |number: &str| format!(r#"{{{confidence}"thresholds": {{"blocking": {{"accuracy": {number}}}}}}}"#);
        folder.write("policy.json", policy("50"));
        let command = "baseline raise results.jsonl --policy policy.json --write --headroom";
        let (_, err) = folder.done(&format!("{command} {headroom}"));
        assert_eq!(folder.read("policy.json"), policy(want));
        assert_eq!(err.contains("becoming undecided"), !confidence.is_empty(), "{err}");
    }
    folder.refused(
        "baseline raise results.jsonl --policy policy.json --headroom 5",
        "error: a headroom of 5 is not between 0 and 1\n  hint: write a share, such as 0.01\n",
    );
}

#[test]
fn a_limit_moves_down_to_what_is_shown() {
    let folder = Folder::new();
    folder.write("results.jsonl", results(100, &(51..=100).collect::<Vec<usize>>()));
    // At most 58.6 % with 95 % confidence, and one point more, up to a whole per cent.
    for (before, after) in
        [("\"≤ 90%\"", "\"≤ 60%\""), ("\"below 0.9\"", "\"below 0.6\""), ("\"< 90.5 %\"", "\"< 60.0 %\"")]
    {
        let policy = |limit: &str| format!("{{\"thresholds\": {{\"warning\": {{\"pass_rate\": {limit}}}}}}}");
        folder.write("policy.json", policy(before));
        folder.done("baseline raise results.jsonl --policy policy.json --write");
        assert_eq!(folder.read("policy.json"), policy(after));
    }
}

#[test]
fn a_part_of_a_suite_raises_nothing() {
    let folder = ninety_five("suite");
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"accuracy": 80}}}"#);
    folder.write("suite.json", r#"["S-001", "S-101", "S-102"]"#);
    let (out, _) = folder.done("baseline raise results.jsonl --policy policy.json --suite suite.json");
    assert_eq!(
        out,
        "nothing to raise\n  accuracy ≥ 80 %: 2 scenarios of the suite are missing (95 % measured, n=100)\n"
    );
}

#[test]
fn too_few_samples_raise_nothing() {
    let folder = Folder::new();
    folder.write("results.jsonl", results(10, &[]));
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"accuracy": 75, "latency_p95": 5000}}}"#);
    let (out, _) = folder.done("baseline raise results.jsonl --policy policy.json --write");
    // 0.05^(1/10) = 0.741
    assert_eq!(
        out,
        "nothing to raise\n  \
         accuracy ≥ 75 %: at least 74.1 % with 95 % confidence does not support more\n    (100 % measured, n=10)\n  \
         latency_p95 ≤ 5 s: 10 values cannot bound it (95.5 ms measured, n=10)\n"
    );
}

#[test]
fn a_threshold_is_raised_in_the_file_that_it_stands_in() {
    let folder = ninety_five("extends");
    folder.write("shared/base.yaml", "thresholds:\n  blocking:\n    accuracy: 80\n    pass_rate: 70\n");
    let policy = "{\"extends\": \"shared/base.yaml\",\n \"thresholds\": {\"blocking\": {\"pass_rate\": \"75%\"}}}\n";
    folder.write("policy.json", policy);
    folder.done("baseline raise results.jsonl --policy policy.json --write");
    assert_eq!(folder.read("policy.json"), policy.replace("75%", "88%"));
    assert_eq!(folder.read("shared/base.yaml"), "thresholds:\n  blocking:\n    accuracy: 88\n    pass_rate: 70\n");
}

#[test]
fn nothing_is_raised_that_is_worse_than_the_baseline() {
    let folder = ninety_five("worse");
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"accuracy": 80, "latency_p95": 5000}}}"#);
    folder.write("before.jsonl", results(100, &[11, 12, 13, 14]));
    folder.record("before.jsonl");
    folder.done("baseline raise results.jsonl --policy policy.json --baseline baseline.json --write");
    assert_eq!(folder.read("policy.json"), r#"{"thresholds": {"blocking": {"accuracy": 80, "latency_p95": 1000}}}"#);
    let (out, _) = folder.done("baseline raise results.jsonl --policy policy.json --baseline baseline.json");
    assert!(out.contains("accuracy ≥ 80 %: 95 % is worse than the baseline's 96 %"), "{out}");
}

#[test]
fn a_number_that_stands_for_several_thresholds_is_left_to_people() {
    let folder = ninety_five("shared");
    let policy = "thresholds:\n  blocking:\n    accuracy: &least 80\n    pass_rate: *least\n";
    folder.write("policy.yaml", policy);
    let (out, _) = folder.done("baseline raise results.jsonl --policy policy.yaml --write");
    assert_eq!(folder.read("policy.yaml"), policy);
    assert_eq!(out.matches("88 % is supported, but it stands for several thresholds").count(), 2, "{out}");
    // Here the other place is no threshold, and would change with it.
    let policy = "thresholds:\n  blocking:\n    accuracy: &least 80\nnormalize:\n  latency_p95: *least\n";
    folder.write("policy.yaml", policy);
    folder.refused(
        "baseline raise results.jsonl --policy policy.yaml --write",
        "error: the thresholds cannot be replaced without changing something else\n  in policy.yaml\n  \
         hint: change the thresholds by hand\n",
    );
    assert_eq!(folder.read("policy.yaml"), policy);
}

#[test]
fn an_existing_baseline_is_replaced_only_on_request_and_a_failing_run_is_named() {
    let folder = Folder::new();
    let line = |i: usize| format!("{{\"id\": \"S-{i}\", \"passed\": {}}}\n", i.is_multiple_of(2));
    folder.write("run.jsonl", (0..20).map(line).collect::<String>());
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"pass_rate": 0.9}}}"#);
    let record = "baseline record run.jsonl --policy policy.json -o base.json --date 2026-11-16";
    let (_, said) = folder.done(record);
    assert!(said.contains("this run fails the policy (pass_rate: "), "{said}");
    let before = folder.read("base.json");
    folder.write("run.jsonl", "{\"id\": \"S-0\", \"passed\": true}\n");
    let message = "error: the file exists\n  writing base.json\n  hint: name another file, or replace this one with \
                   `--force`\n";
    folder.refused(record, message);
    assert_eq!(folder.read("base.json"), before);
    folder.done(&format!("{record} --force"));
    assert_ne!(folder.read("base.json"), before);
}

#[test]
fn scenarios_that_are_known_by_their_lines_are_a_caveat() {
    let folder = Folder::new();
    let table = |ids: &mut dyn Iterator<Item = u32>| {
        let rows = ids.map(|id| format!("question {id},{}\n", u32::from(id % 3 > 0)));
        format!("question,score\n{}", rows.collect::<String>())
    };
    folder.write("old.csv", table(&mut (0..12)));
    folder.write("new.csv", table(&mut (0..12).rev()));
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"pass_rate": 50}}}"#);
    for (id, is_by_line) in [("@line", true), ("@index", true), ("question", false), ("@line+question", false)] {
        let columns = format!("--columns id={id},score=score");
        folder.done(&format!("baseline record old.csv {columns} --policy policy.json -o baseline.json --force"));
        let (said, _) = folder.done(&format!("gate new.csv {columns} --policy policy.json --baseline baseline.json"));
        let said = program::flat(&said);
        let caveat = "samples are matched by their lines, which holds only for files in the same order → name the samples by a \
                      column that all files have";
        assert_eq!(said.contains(caveat), is_by_line, "{id}: {said}");
    }
}
