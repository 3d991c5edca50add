//! `corrected`: a judge's rate, corrected by labels, in every command that measures; and mistakes in labels.

use crate::golden::Folder;
use calipers_testing::text;
use serde_json::{Value, json};

fn write_records(folder: &Folder, name: &str, records: impl IntoIterator<Item = Value>) {
    let lines: String = records.into_iter().map(|record| format!("{record}\n")).collect();
    folder.write(name, lines);
}

fn judge(n: usize) -> u8 {
    u8::from(!n.is_multiple_of(4))
}

fn human(n: usize) -> u8 {
    u8::from(judge(n) == 1 && n % 10 != 1)
}

/// The rate of `example` after its correction: 52 of 60 that the judge passes, and none of those that it fails.
const RATE: f64 = 0.75 * 52.0 / 60.0;

/// 200 samples, of which the judge passes 150 and people, asked about the first 80, pass fewer.
fn example() -> Folder {
    let folder = Folder::new();
    write_records(&folder, "run.jsonl", (0..200).map(|n| json!({"id": n, "score": judge(n)})));
    write_records(&folder, "labels.jsonl", (0..80).map(|n| json!({"id": n, "label": human(n)})));
    folder
}

#[track_caller]
fn number(document: &Value, path: &str) -> f64 {
    document.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} in {document:#}"))
}

/// The figure of `corrected` in what `score` prints.
fn corrected(document: &Value) -> &Value {
    &document["runs"][0]["scores"][0]["metrics"]["corrected"]
}

const SCORE: [&str; 4] = ["score", "--json", "-m", "corrected(accuracy())"];

#[test]
fn score_says_what_judge_says() {
    let folder = example();
    let found = folder.json(&[&SCORE[..], &["run.jsonl", "--labels", "labels.jsonl"]].concat());
    let figure = corrected(&found);
    assert!((number(figure, "/value") - RATE).abs() < 1e-12, "{figure:#}");
    let judged = folder.json(&["judge", "run.jsonl", "--labels", "labels.jsonl", "--json"]);
    for bound in ["lower", "upper"] {
        let of_judge = number(&judged, &format!("/all/corrected/interval/{bound}"));
        assert_eq!(number(figure, &format!("/interval/{bound}")), of_judge);
    }
    assert_eq!(number(figure, "/details/labels"), 80.0);
}

#[test]
fn labels_may_be_in_the_records_as_a_column_or_as_a_scorer() {
    let folder = example();
    let record = |n: usize| match n {
        0..80 => json!({"id": n, "score": judge(n), "human_label": human(n)}),
        _ => json!({"id": n, "score": judge(n)}),
    };
    write_records(&folder, "column.jsonl", (0..200).map(record));
    let found = folder.json(&[&SCORE[..], &["column.jsonl"]].concat());
    assert!((number(corrected(&found), "/value") - RATE).abs() < 1e-12);
    let record = |n: usize| match n {
        0..80 => json!({"id": n, "scores": {"judge": judge(n), "ana": human(n)}}),
        _ => json!({"id": n, "scores": {"judge": judge(n)}}),
    };
    write_records(&folder, "scorer.jsonl", (0..200).map(record));
    let found = folder.json(&["score", "--json", "-m", "corrected(labels=\"ana\")", "scorer.jsonl"]);
    assert!((number(corrected(&found), "/value") - RATE).abs() < 1e-12, "{found:#}");
    assert_eq!(found["runs"][0]["scores"].as_array().map(Vec::len), Some(1));
}

#[test]
fn scores_without_labels_have_no_corrected_rate() {
    let folder = example();
    let found = folder.json(&[&SCORE[..], &["run.jsonl"]].concat());
    let why = corrected(&found)["undefined"].as_str().expect("a reason").to_owned();
    assert_eq!(why, "no sample that the judge scored has a label in `human_label`");
}

#[test]
fn a_gate_passes_fails_and_is_undecided_by_labels() {
    let folder = example();
    let policy = |threshold: &str, confidence: &str| {
        format!(r#"{{"thresholds": {{"blocking": {{"corrected": "{threshold}"}}}}{confidence}}}"#)
    };
    let sure = r#", "confidence": "95%""#;
    for (threshold, confidence, want) in
        [("60%", "", 0), ("70%", "", 1), ("50%", sure, 0), ("60%", sure, 3), ("80%", sure, 1)]
    {
        folder.write("policy.json", policy(threshold, confidence));
        let ran = folder.calipers(&["gate", "run.jsonl", "--labels", "labels.jsonl", "--policy", "policy.json"]);
        assert_eq!(ran.status.code(), Some(want), "{threshold} {confidence}: {}", text(&ran.stdout));
    }
    folder.write("policy.json", policy("58%", sure));
    let found =
        folder.calipers(&["gate", "run.jsonl", "--labels", "labels.jsonl", "--policy", "policy.json", "--json"]);
    let found: Value = serde_json::from_slice(&found.stdout).expect("JSON");
    let gate = &found["gates"][0];
    assert!(gate["more_labels"].is_u64(), "{gate:#}");
    assert_eq!(gate["interval"]["method"], "double-sampling");
}

#[test]
fn a_gate_allows_for_clusters_weights_and_looks_but_not_for_grades_at_any_look() {
    let folder = example();
    let any_look = r#""confidence": {"level": "95%", "looks": "any"}"#;
    let gate = |threshold: &str, extra: &str| {
        folder.write(
            "policy.json",
            format!(r#"{{"thresholds": {{"blocking": {{"corrected": "{threshold}"}}}}, {extra}}}"#),
        );
        let ran = folder.calipers(&["gate", "run.jsonl", "--labels", "labels.jsonl", "--policy", "policy.json"]);
        (ran.status.code(), text(&ran.stdout))
    };
    let record = |n: usize| {
        let category = if n.is_multiple_of(3) { "heavy" } else { "light" };
        json!({"id": n, "score": judge(n), "document": n / 5, "category": category})
    };
    write_records(&folder, "run.jsonl", (0..200).map(record));
    for extra in [
        r#""cluster": "document", "confidence": "95%""#,
        r#""weights": {"by_category": {"heavy": 2}}, "confidence": "95%""#,
        r#""cluster": "document", "weights": {"by_category": {"heavy": 2}}, "confidence": "95%""#,
        any_look,
    ] {
        // People pass about two of three: 20 % is met, 99 % is missed, and 65 % is open.
        for (threshold, code) in [("20%", 0), ("99%", 1), ("65%", 3)] {
            let (found, out) = gate(threshold, extra);
            assert_eq!(found, Some(code), "{extra}, {threshold}: {out}");
        }
    }
    let graded = |n: usize| json!({"id": n, "score": 0.05 + 0.9 * f64::from(judge(n))});
    write_records(&folder, "run.jsonl", (0..200).map(graded));
    let (code, out) = gate("20%", any_look);
    assert_eq!(code, Some(3), "{out}");
    let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(out.contains("does not allow for any number of looks at graded scores; look once"), "{out}");
}

#[test]
fn samples_without_a_score_count_against_a_gate() {
    let folder = example();
    let record = |n: usize| if n < 120 { json!({"id": n, "score": judge(n)}) } else { json!({"id": n, "score": null}) };
    write_records(&folder, "run.jsonl", (0..200).map(record));
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"corrected": "50%"}}, "confidence": "95%"}"#);
    let ran = folder.calipers(&["gate", "run.jsonl", "--labels", "labels.jsonl", "--policy", "policy.json"]);
    assert_eq!(ran.status.code(), Some(3), "{}", text(&ran.stdout));
    assert!(text(&ran.stdout).contains("80"), "{}", text(&ran.stdout));
}

#[test]
fn runs_are_compared_by_labels_of_each() {
    let folder = example();
    // The judge favours the new run: it passes as much as before, and people pass less.
    write_records(&folder, "new.jsonl", (0..200).map(|n| json!({"id": n, "score": judge(n)})));
    let harsh = |n: usize| u8::from(judge(n) == 1 && n.is_multiple_of(3));
    write_records(&folder, "new-labels.jsonl", (0..80).map(|n| json!({"id": n, "label": harsh(n)})));
    let labels = ["--labels", "new-labels.jsonl", "--labels", "labels.jsonl"];
    let found =
        folder.json(&[&["compare", "new.jsonl", "run.jsonl", "-m", "corrected", "--json"], &labels[..]].concat());
    let metric = &found["comparisons"][0]["metrics"][0];
    assert_eq!(metric["verdict"], "regressed", "{metric:#}");
    assert!(number(metric, "/change/interval/upper") < -0.1, "{metric:#}");
    let ran = folder.calipers(&["compare", "new.jsonl", "run.jsonl", "-m", "corrected", "--labels", "labels.jsonl"]);
    assert!(text(&ran.stderr).contains("`--labels` names 1 file for 2 runs"), "{}", text(&ran.stderr));
    let ran = folder.calipers(&["compare", "new.jsonl", "run.jsonl", "-m", "corrected"]);
    assert_eq!(ran.status.code(), Some(3), "{}", text(&ran.stdout));
    assert!(text(&ran.stdout).contains("a run is corrected by labels of its own answers"), "{}", text(&ran.stdout));
}

#[test]
fn a_report_takes_labels_too() {
    let folder = example();
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"corrected": "60%"}}}"#);
    let report = ["report", "run.jsonl", "--labels", "labels.jsonl", "--policy", "policy.json", "-o", "page.html"];
    let ran = folder.calipers(&report);
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    assert!(folder.read("page.html").contains("corrected"));
}

#[test]
fn a_judge_that_disagrees_is_a_caveat_on_what_rests_on_it() {
    let folder = example();
    write_records(&folder, "labels.jsonl", (0..80).map(|n| json!({"id": n, "label": u8::from(n % 2 == 0)})));
    let ran = folder.calipers(&["score", "run.jsonl", "--labels", "labels.jsonl", "-m", "accuracy"]);
    let shown = text(&ran.stdout);
    assert!(shown.contains("the judge `score` agrees with people too little"), "{shown}");
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"accuracy": "60%"}}}"#);
    let ran = folder.calipers(&["gate", "run.jsonl", "--labels", "labels.jsonl", "--policy", "policy.json"]);
    assert!(text(&ran.stdout).contains("the judge `score` agrees with people too little"), "{}", text(&ran.stdout));
    let labels = ["--labels", "labels.jsonl", "--labels", "labels.jsonl"];
    let ran = folder.calipers(&[&["compare", "run.jsonl", "run.jsonl", "-m", "accuracy"], &labels[..]].concat());
    assert!(text(&ran.stdout).contains("agrees with people too little"), "{}", text(&ran.stdout));
}

#[test]
fn labels_of_other_samples_are_named_and_none_at_all_is_an_error() {
    let folder = example();
    write_records(&folder, "labels.jsonl", (190..220).map(|n| json!({"id": n, "label": 1})));
    let ran = folder.calipers(&[&SCORE[..], &["run.jsonl", "--labels", "labels.jsonl"]].concat());
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    assert!(text(&ran.stderr).contains("20 labels of 30 belong to no sample that was read, such as that of `200`"));
    write_records(&folder, "labels.jsonl", (0..30).map(|n| json!({"id": format!("x{n}"), "label": 1})));
    for command in [&["score", "run.jsonl", "-m", "corrected"][..], &["gate", "run.jsonl", "--policy", "policy.json"]] {
        folder.write("policy.json", r#"{"thresholds": {"blocking": {"corrected": "60%"}}}"#);
        let ran = folder.calipers(&[command, &["--labels", "labels.jsonl"]].concat());
        assert_eq!(ran.status.code(), Some(2), "{}", text(&ran.stdout));
        assert!(text(&ran.stderr).contains("no label belongs to a sample of the results"), "{}", text(&ran.stderr));
    }
}

#[test]
fn mistakes_in_labels_are_errors() {
    let folder = example();
    let attempts = (0..20).flat_map(|n| [1, 2].map(|epoch| json!({"id": n, "epoch": epoch, "score": 1})));
    write_records(&folder, "attempts.jsonl", attempts);
    let cases: [(&str, &str, &str); 6] = [
        ("run.jsonl", "{\"id\": 1, \"label\": \"good\"}\n", "good"),
        ("run.jsonl", "{\"id\": 1, \"label\": NaN}\n", ""),
        ("run.jsonl", "{\"id\": 1, \"label\": [1, 2]}\n", ""),
        (
            "run.jsonl",
            "{\"id\": 1, \"label\": 1, \"annotator\": \"a\"}\n{\"id\": 1, \"label\": 0, \"annotator\": \"a\"}\n",
            "two different labels",
        ),
        ("run.jsonl", "", ""),
        ("attempts.jsonl", "{\"id\": 1, \"label\": 1}\n", "has several attempts"),
    ];
    for (run, labels, want) in cases {
        folder.write("bad.jsonl", labels);
        let ran = folder.calipers(&[&SCORE[..], &[run, "--labels", "bad.jsonl"]].concat());
        assert_eq!(ran.status.code(), Some(2), "{labels}: {}", text(&ran.stdout));
        assert!(text(&ran.stderr).contains(want), "{labels}: {}", text(&ran.stderr));
    }
    let ran = folder.calipers(&[&SCORE[..], &["run.jsonl", "attempts.jsonl", "--labels", "labels.jsonl"]].concat());
    assert_eq!(ran.status.code(), Some(2), "{}", text(&ran.stdout));
    let twice = ["run.jsonl", "--labels", "labels.jsonl", "--labels", "labels.jsonl"];
    let ran = folder.calipers(&[&SCORE[..], &twice].concat());
    assert!(text(&ran.stderr).contains("`--labels` names 2 files for 1 run"), "{}", text(&ran.stderr));
    let ran = folder.calipers(&["score", "run.jsonl", "-m", "corrected(latency_p95)", "--labels", "labels.jsonl"]);
    assert!(text(&ran.stderr).contains("which no judge gives"), "{}", text(&ran.stderr));
}

#[test]
fn grades_are_corrected_in_their_own_unit() {
    let folder = Folder::new();
    let grade = |n: usize| 1 + n % 5;
    write_records(&folder, "run.jsonl", (0..300).map(|n| json!({"id": n, "score": grade(n)})));
    let kind = |n: usize| if n.is_multiple_of(5) { 1 } else { grade(n) - 1 };
    write_records(&folder, "labels.jsonl", (0..100).map(|n| json!({"id": n, "label": kind(n)})));
    let metric = ["score", "--json", "-m", "corrected(mean())"];
    let found = folder.json(&[&metric[..], &["run.jsonl", "--labels", "labels.jsonl"]].concat());
    let figure = corrected(&found);
    assert!((number(figure, "/value") - 2.2).abs() < 0.05, "{figure:#}");
    assert_eq!(figure["method"], "PPI++");
    // Nothing says how far off a grade that was not seen may be.
    for (confidence, want) in [("", 0), (r#", "confidence": "95%""#, 3)] {
        let thresholds = r#""thresholds": {"blocking": {"corrected(mean())": ">= 1.5"}}"#;
        folder.write("policy.json", format!("{{{thresholds}{confidence}}}"));
        let ran = folder.calipers(&["gate", "run.jsonl", "--labels", "labels.jsonl", "--policy", "policy.json"]);
        assert_eq!(ran.status.code(), Some(want), "{}{}", text(&ran.stdout), text(&ran.stderr));
        assert_eq!(text(&ran.stdout).contains("scores outside 0 to 1"), want == 3, "{}", text(&ran.stdout));
    }
}

#[test]
fn grades_between_0_and_1_are_gated() {
    let folder = Folder::new();
    let grade = |n: usize| (n % 5) as f64 / 4.0;
    write_records(&folder, "run.jsonl", (0..600).map(|n| json!({"id": n, "score": grade(n)})));
    let strict = |n: usize| (grade(n) - 0.25).max(0.0);
    write_records(&folder, "labels.jsonl", (0..300).map(|n| json!({"id": n, "label": strict(n)})));
    for (threshold, want) in [("20%", 0), ("30%", 3), ("45%", 1)] {
        let thresholds = format!(r#""thresholds": {{"blocking": {{"corrected": "{threshold}"}}}}"#);
        folder.write("policy.json", format!(r#"{{{thresholds}, "confidence": "95%"}}"#));
        let ran = folder.calipers(&["gate", "run.jsonl", "--labels", "labels.jsonl", "--policy", "policy.json"]);
        assert_eq!(ran.status.code(), Some(want), "{threshold}: {}{}", text(&ran.stdout), text(&ran.stderr));
    }
}
