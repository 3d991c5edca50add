//! Scores on other scales than [0, 1], records without scores, and times in the wrong unit.

use crate::program::{flat, json, run};
use calipers_testing::{Scratch, text};

/// Forty adversarial samples with judge scores from 1 to 5, sixteen of them 4 or 5.
fn judged() -> Scratch {
    let line = |id: usize| {
        format!("{{\"id\": {id}, \"category\": \"adversarial\", \"scores\": {{\"judge\": {}}}}}\n", 1 + id % 5)
    };
    let folder = Scratch::with("results.jsonl", (0..40).map(line).collect::<String>());
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"safety_rate": 100}}}"#);
    folder.write("four.json", r#"{"pass_threshold": 4, "thresholds": {"blocking": {"safety_rate": "≥ 30%"}}}"#);
    folder.write("mean.json", r#"{"thresholds": {"blocking": {"mean": "≥ 2.5"}}}"#);
    folder
}

#[test]
fn a_gate_on_another_scale_is_undecided_until_a_threshold_is_given() {
    let folder = judged();
    let gate =
        |policy: &str, more: &[&str]| run(&folder, &[&["gate", "results.jsonl", "--policy", policy], more].concat());
    let output = gate("policy.json", &[]);
    assert_eq!(output.status.code(), Some(3), "{}", flat(&text(&output.stdout)));
    let said = flat(&text(&output.stdout));
    assert!(
        said.contains("scores of `judge` lie outside [0, 1], and no `pass_threshold` says which of them pass"),
        "{said}"
    );
    assert!(said.contains("`\"pass_threshold\": 4`"), "{said}");

    // In a policy the number is a score on this scale, and not 4 %.
    let report = json(&folder, &["gate", "results.jsonl", "--policy", "four.json"]);
    assert_eq!((&report["verdict"], &report["gates"][0]["estimate"]), (&"pass".into(), &0.4.into()));
    assert_eq!(gate("policy.json", &["--pass-threshold", "4"]).status.code(), Some(1));
    assert_eq!(gate("policy.json", &["--pass-threshold", "1"]).status.code(), Some(0));
    // A gate that asks for no pass is decided as before.
    assert_eq!(gate("mean.json", &[]).status.code(), Some(0));
}

/// A mean of 3 on a scale from 1 to 5 is no rate of 300 %, by itself or as a part of a formula.
#[test]
fn a_rate_of_scores_that_are_no_shares_decides_nothing() {
    let folder = judged();
    let formulas = [
        r#""composite": {"final_score": "accuracy × 0.5 + 0.5", "pass": "final_score ≥ 0.85"}"#,
        r#""composite": {"final_score": "accuracy × 0.5", "pass": "accuracy ≥ 0.85 OR final_score ≥ 0.85"}"#,
        r#""composite": {"final_score": "1 - normalized_accuracy", "pass": "final_score < 0.1"}, "normalize": {"accuracy": 1}"#,
        r#""thresholds": {"blocking": {"accuracy": "≥ 85%"}}"#,
    ];
    for formula in formulas {
        for confidence in ["", r#""confidence": "95%", "#] {
            folder.write("rate.json", format!("{{{confidence}{formula}}}"));
            let report = json(&folder, &["gate", "results.jsonl", "--policy", "rate.json"]);
            assert_eq!(report["verdict"], "undecided", "{formula} {report}");
            let gate = &report["gates"][0];
            assert!(gate["reason"].to_string().contains("scores outside 0 to 1 are not shares"), "{gate}");
            let (estimate, upper) = (gate["estimate"].as_f64(), gate["interval"]["upper"].as_f64());
            assert!(upper.is_none_or(|upper| estimate.is_some_and(|estimate| estimate <= upper)), "{gate}");
        }
    }
    // Neither does its change, from a baseline on either scale to a run on either.
    folder.write("shares.jsonl", (0..40).map(|id| format!("{{\"id\": {id}, \"score\": 1}}\n")).collect::<String>());
    for confidence in ["", r#""confidence": "95%", "#] {
        let rule = r#""baseline": {"mode": "non_inferiority", "margin": "5%", "metrics": ["accuracy"]}"#;
        folder.write("rate.json", format!("{{{confidence}{rule}}}"));
        for (before, now) in [("results", "results"), ("results", "shares"), ("shares", "results")] {
            let [before, now] = [before, now].map(|name| format!("{name}.jsonl"));
            folder.write("any.json", r#"{"thresholds": {"warning": {"accuracy": "≥ 1%"}}}"#);
            let record = ["baseline", "record", &before, "--policy", "any.json", "-o", "baseline.json", "--force"];
            assert_eq!(run(&folder, &record).status.code(), Some(0));
            let report = json(&folder, &["gate", &now, "--policy", "rate.json", "--baseline", "baseline.json"]);
            assert_eq!(report["verdict"], "undecided", "{before} {now} {report}");
            let reason = report["gates"][0]["reason"].to_string();
            assert!(reason.contains("scores outside 0 to 1 are not shares"), "{before} {now} {reason}");
        }
    }
    // As a mean it is one, and formulas may use it.
    folder.write("mean.json", r#"{"composite": {"final_score": "mean / 5", "pass": "final_score ≥ 0.5"}}"#);
    let report = json(&folder, &["gate", "results.jsonl", "--policy", "mean.json"]);
    assert_eq!((&report["verdict"], &report["gates"][0]["estimate"]), (&"pass".into(), &0.6.into()));
}

/// The worst run of all looks like one with nothing but passes if 4 is read as 4 %.
#[test]
fn scores_that_are_all_one_of_five_do_not_reach_four() {
    let folder = judged();
    let line = |id: usize| format!("{{\"id\": {id}, \"category\": \"adversarial\", \"scores\": {{\"judge\": 1}}}}\n");
    folder.write("results.jsonl", (0..40).map(line).collect::<String>());
    let report = json(&folder, &["gate", "results.jsonl", "--policy", "four.json"]);
    assert_eq!((&report["verdict"], &report["gates"][0]["estimate"]), (&"fail".into(), &0.0.into()));
    // A percentage is one where it is written as such, or cannot be anything else.
    for threshold in ["\"80%\"", "80", "0.8"] {
        let policy =
            format!("{{\"pass_threshold\": {threshold}, \"thresholds\": {{\"blocking\": {{\"safety_rate\": 100}}}}}}");
        folder.write("share.json", policy);
        let report = json(&folder, &["gate", "results.jsonl", "--policy", "share.json"]);
        assert_eq!(report["gates"][0]["estimate"], 1.0, "{threshold}");
    }
}

#[test]
fn scoring_and_checking_a_policy_say_that_a_threshold_is_missing() {
    let folder = judged();
    let output = run(&folder, &["score", "results.jsonl", "-m", "pass_rate"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("no `pass_threshold` says which of them pass"), "{said}");
    assert!(said.contains("`--pass-threshold 4`"), "{said}");
    let report = json(&folder, &["score", "results.jsonl", "-m", "pass_rate", "--pass-threshold", "4"]);
    assert_eq!(report["runs"][0]["scores"][0]["metrics"]["pass_rate"]["value"], 0.4);

    let check = |policy: &str| run(&folder, &["policy", "check", policy, "--samples", "results.jsonl"]);
    let output = check("policy.json");
    assert!(
        flat(&text(&output.stdout)).contains("no `pass_threshold` says which of them pass"),
        "{}",
        flat(&text(&output.stdout))
    );
    assert!(!flat(&text(&check("four.json").stdout)).contains("pass_threshold"));
}

#[test]
fn records_without_scores_have_every_metric_that_is_asked_for() {
    let folder = Scratch::new();
    folder.write("correct.csv", "id,correct\na,1\nb,0\nc,1\nd,1\n");
    folder.write("passed.csv", "id,passed\na,true\nb,false\nc,true\nd,true\n");
    folder.write("latency.csv", "id,latency_ms\na,800\nb,900\n");
    for file in ["correct.csv", "passed.csv"] {
        let report = json(&folder, &["score", file, "-m", "accuracy", "-m", "stderr", "-m", "ci()"]);
        let scores = report["runs"][0]["scores"].as_array().unwrap();
        let value = |name: &str| scores.iter().find_map(|score| score["metrics"][name]["value"].as_f64());
        assert_eq!(value("accuracy"), Some(0.75), "{report}");
        assert_eq!(value("stderr"), Some(0.25), "{report}");
        assert!(value("lower").is_some() && value("upper").is_some(), "{report}");
        assert_eq!(
            json(&folder, &["score", file, "-m", "stderr"])["runs"][0]["scores"][0]["metrics"]["stderr"]["value"],
            0.25
        );
    }
    // What cannot be shown is refused, and not left out.
    let output = run(&folder, &["score", "latency.csv", "-m", "latency_p50", "-m", "stderr"]);
    assert_eq!(output.status.code(), Some(2), "{}", flat(&text(&output.stdout)));
    assert!(text(&output.stderr).contains("`stderr` needs scores, and the run has none"), "{}", text(&output.stderr));
}

#[test]
fn milliseconds_that_look_like_seconds_get_a_caveat() {
    let folder = Scratch::new();
    folder.write("seconds.csv", "id,passed,latency_ms\na,true,2.3\nb,true,4.1\n");
    folder.write("right.csv", "id,passed,latency_ms\na,true,2300.5\nb,true,4.1\n");
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"latency_p50": "< 5s"}}}"#);
    let words = "`latency_ms` is at most 4.1 and has fractions: these look like seconds";
    for command in [&["score", "FILE", "-m", "latency_p50"][..], &["gate", "FILE", "--policy", "policy.json"]] {
        let said = |file: &str| {
            let arguments: Vec<&str> = command.iter().map(|part| if *part == "FILE" { file } else { part }).collect();
            flat(&text(&run(&folder, &arguments).stdout))
        };
        assert!(said("seconds.csv").contains(words), "{}", said("seconds.csv"));
        assert!(!said("right.csv").contains("look like seconds"), "{}", said("right.csv"));
    }
}

#[test]
fn a_plan_by_scores_on_another_scale_has_no_percentages() {
    let folder = judged();
    let report = json(&folder, &["plan", "results.jsonl"]);
    assert_eq!(report["unit"], "plain", "{report}");
    let said = text(&run(&folder, &["plan", "results.jsonl"]).stdout);
    assert!(!said.contains("points") && !said.contains("300"), "{said}");
}

#[test]
fn a_comparison_of_scores_on_another_scale_has_no_percentages() {
    let folder = judged();
    let line = |id: usize| format!("{{\"id\": {id}, \"scores\": {{\"judge\": {}}}}}\n", 1 + id % 4);
    folder.write("other.jsonl", (0..40).map(line).collect::<String>());
    for runs in [&["results.jsonl", "other.jsonl"][..], &["results.jsonl", "other.jsonl", "results.jsonl"]] {
        let report = json(&folder, &[&["compare"], runs].concat());
        let metric = &report["comparisons"][0]["metrics"][0];
        assert_eq!((&metric["metric"], &metric["unit"]), (&"accuracy".into(), &"plain".into()), "{metric}");
        let said = text(&run(&folder, &[&["compare"], runs].concat()).stdout);
        assert!(said.contains("3.000") && !said.contains("300") && !said.contains("points"), "{said}");
    }
}
