//! `calipers judge`: labels of people beside a judge's scores, in every shape that they come in, and mistakes.

use crate::golden::Folder;
use calipers_testing::text;
use serde_json::{Value, json};

/// A run of 0/1 scores by one judge, one record per sample.
fn write_run(folder: &Folder, name: &str, records: impl IntoIterator<Item = Value>) {
    let lines: String = records.into_iter().map(|record| format!("{record}\n")).collect();
    folder.write(name, lines);
}

/// 200 samples, of which the judge passes 150 and people, asked about the first 80, pass fewer.
fn example() -> Folder {
    let folder = Folder::new();
    let judge = |n: usize| u8::from(!n.is_multiple_of(4));
    write_run(
        &folder,
        "run.jsonl",
        (0..200).map(|n| json!({"id": n, "score": judge(n), "category": if n % 2 == 0 { "a" } else { "b" }})),
    );
    let human = |n: usize| u8::from(judge(n) == 1 && n % 10 != 1);
    write_run(&folder, "labels.jsonl", (0..80).map(|n| json!({"id": n, "label": human(n)})));
    folder
}

#[track_caller]
fn figure(document: &Value, path: &str) -> f64 {
    document.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} in {document:#}"))
}

#[test]
fn the_rate_is_corrected_by_labels() {
    let found = example().json(&["judge", "run.jsonl", "--labels", "labels.jsonl", "--json"]);
    assert_eq!(found["all"]["table"], json!({"both_pass": 52, "judge_only": 8, "people_only": 0, "both_fail": 20}));
    // 52 of 60 that the judge passes, and none of those that it fails.
    let rate = 0.75 * 52.0 / 60.0;
    assert!((figure(&found, "/all/corrected/estimate") - rate).abs() < 1e-12);
    let bounds = [figure(&found, "/all/corrected/interval/lower"), figure(&found, "/all/corrected/interval/upper")];
    assert!(bounds[0] < rate && rate < bounds[1] && bounds[1] - bounds[0] < 0.25, "{bounds:?}");
    assert_eq!(figure(&found, "/all/naive/estimate"), 0.75);
    assert!((figure(&found, "/all/bias/estimate") - 0.1).abs() < 1e-12);
    assert!((figure(&found, "/all/sensitivity/estimate") - 1.0).abs() < 1e-12);
    assert!((figure(&found, "/all/specificity/estimate") - 20.0 / 28.0).abs() < 1e-12);
    assert!((figure(&found, "/rogan_gladen/estimate") - rate).abs() < 1e-9);
    assert_eq!(found["groups"].as_array().unwrap().len(), 2);
    assert_eq!(found["halving"]["labels"].as_u64().map(|more| more > 0), None, "200 samples are too few: {found:#}");
}

#[test]
fn labels_come_as_tables_maps_and_scores() {
    let folder = example();
    let rows: String = (0..80).map(|n| format!("{n},{}\n", u8::from(n % 4 != 0 && n % 10 != 1))).collect();
    folder.write("labels.csv", format!("id,human\n{rows}"));
    folder.write("other.csv", format!("question,verdict\n{rows}"));
    let scores = (0..80).map(|n| json!({"id": n, "scores": {"ana": u8::from(n % 4 != 0 && n % 10 != 1)}}));
    write_run(&folder, "scores.jsonl", scores);
    let want = folder.json(&["judge", "run.jsonl", "--labels", "labels.jsonl", "--json"]);
    for labels in
        [&["labels.csv"][..], &["scores.jsonl"], &["other.csv", "--label-columns", "id=question,score=verdict"]]
    {
        let found = folder.json(&[&["judge", "run.jsonl", "--json", "--labels"], labels].concat());
        assert_eq!(found["all"], want["all"], "{labels:?}");
    }
}

#[test]
fn a_label_beside_the_score_of_the_judge_is_the_label() {
    let folder = example();
    let both = (0..80).map(|n| json!({"id": n, "score": 1, "label": u8::from(n % 4 != 0 && n % 10 != 1)}));
    write_run(&folder, "both.jsonl", both);
    let want = folder.json(&["judge", "run.jsonl", "--labels", "labels.jsonl", "--json"]);
    let found = folder.json(&["judge", "run.jsonl", "--labels", "both.jsonl", "--json"]);
    assert_eq!(found["all"], want["all"]);
}

#[test]
fn several_people_make_a_majority_and_ties_are_counted() {
    let folder = example();
    let mut rows = Vec::new();
    for n in 0..60 {
        let label = u8::from(n % 4 != 0);
        rows.push(json!({"id": n, "annotator": "ana", "label": label}));
        if n % 3 == 0 {
            rows.push(json!({"id": n, "annotator": "bo", "label": if n == 3 { 1 - label } else { label }}));
        }
        if n % 6 == 0 {
            rows.push(json!({"id": n, "annotator": "cy", "label": 1 - label}));
        }
        if n == 7 {
            // The same once more, and one that says nothing.
            rows.push(json!({"id": n, "annotator": "ana", "label": label}));
            rows.push(json!({"id": n, "annotator": "bo", "label": null}));
        }
    }
    write_run(&folder, "labels.jsonl", rows);
    let found = folder.json(&["judge", "run.jsonl", "--labels", "labels.jsonl", "--json"]);
    let counts = &found["counts"];
    assert_eq!((&counts["tied"], &counts["doubled"], &counts["blank"]), (&json!(1), &json!(1), &json!(1)), "{counts}");
    assert_eq!(counts["labelled"], 59);
    // The majority is with the judge throughout.
    assert_eq!(figure(&found, "/all/agreement/estimate"), 1.0);
    assert_eq!(found["people"]["n"], 19);
    assert!(figure(&found, "/people/estimate") < 0.7);
}

#[test]
fn what_is_not_joined_is_counted_and_named() {
    let folder = example();
    let mut rows: Vec<Value> = (0..40).map(|n| json!({"id": n, "label": u8::from(n % 4 != 0)})).collect();
    rows.push(json!({"id": "gone", "label": 1}));
    rows.push(json!({"id": "lost", "label": 1}));
    write_run(&folder, "labels.jsonl", rows);
    let mut run: Vec<Value> = (0..200).map(|n| json!({"id": n, "score": u8::from(n % 4 != 0)})).collect();
    run.push(json!({"id": "lost", "score": null}));
    write_run(&folder, "run.jsonl", run);
    let printed = folder.calipers(&["judge", "run.jsonl", "--labels", "labels.jsonl"]);
    let shown = text(&printed.stdout);
    assert!(shown.contains("1 labelled, but not in the run: gone"), "{shown}");
    assert!(shown.contains("1 labelled, but not scored by the judge: lost"), "{shown}");
}

#[test]
fn a_judge_like_chance_has_no_rogan_gladen_and_a_caveat() {
    let folder = Folder::new();
    write_run(&folder, "run.jsonl", (0..200).map(|n| json!({"id": n, "score": n % 2})));
    write_run(&folder, "labels.jsonl", (0..100).map(|n| json!({"id": n, "label": n / 2 % 2})));
    let found = folder.json(&["judge", "run.jsonl", "--labels", "labels.jsonl", "--json"]);
    assert_eq!(found["rogan_gladen"]["estimate"], Value::Null);
    let why = found["rogan_gladen"]["undefined"].as_str().unwrap();
    assert!(why.contains("sensitivity + specificity - 1"), "{why}");
    assert!((figure(&found, "/all/corrected/estimate") - 0.5).abs() < 1e-9);
    let caveats: Vec<&str> = found["caveats"].as_array().unwrap().iter().map(|c| c["id"].as_str().unwrap()).collect();
    assert!(caveats.contains(&"judge-disagrees"), "{caveats:?}");
}

#[test]
fn labels_of_hand_picked_samples_are_noticed() {
    let folder = example();
    // Mostly what the judge failed, and mostly of one category.
    write_run(
        &folder,
        "labels.jsonl",
        (0..200).step_by(4).map(|n| json!({"id": n, "label": 0})).chain([json!({"id": 1, "label": 1})]),
    );
    let found = folder.json(&["judge", "run.jsonl", "--labels", "labels.jsonl", "--json"]);
    let caveats: Vec<&str> = found["caveats"].as_array().unwrap().iter().map(|c| c["id"].as_str().unwrap()).collect();
    assert!(caveats.contains(&"labels-unlike-others") && caveats.contains(&"labels-of-other-mix"), "{caveats:?}");
}

#[test]
fn graded_scores_have_a_corrected_mean_and_with_a_threshold_a_rate() {
    let folder = Folder::new();
    let score = |n: usize| (n % 10) as f64 / 10.0;
    write_run(&folder, "run.jsonl", (0..300).map(|n| json!({"id": n, "score": score(n)})));
    write_run(&folder, "labels.jsonl", (0..100).map(|n| json!({"id": n, "label": (score(n) - 0.1).max(0.0)})));
    let found = folder.json(&["judge", "run.jsonl", "--labels", "labels.jsonl", "--json"]);
    assert_eq!(
        (&found["unit"], &found["all"]["kappa"], &found["rogan_gladen"]),
        (&json!("plain"), &Value::Null, &Value::Null)
    );
    assert!((figure(&found, "/all/corrected/estimate") - 0.36).abs() < 1e-9);
    assert!((figure(&found, "/all/bias/estimate") - 0.09).abs() < 1e-9);
    let found = folder.json(&["judge", "run.jsonl", "--labels", "labels.jsonl", "--pass-threshold", "0.5", "--json"]);
    assert_eq!(found["all"]["table"], json!({"both_pass": 40, "judge_only": 10, "people_only": 0, "both_fail": 50}));
}

#[test]
fn labels_of_several_attempts_name_the_attempt() {
    let folder = Folder::new();
    let run = (0..60).flat_map(|n| (1..4).map(move |epoch| json!({"id": n, "epoch": epoch, "score": (n + epoch) % 2})));
    write_run(&folder, "run.jsonl", run);
    write_run(&folder, "labels.jsonl", (0..30).map(|n| json!({"id": n, "label": 1})));
    let refused = "has several attempts, and its label does not say which one it is about";
    folder.refuses(&["judge", "run.jsonl", "--labels", "labels.jsonl"], refused);
    let labels =
        (0..30).flat_map(|n| (1..3).map(move |epoch| json!({"id": n, "epoch": epoch, "label": (n + epoch) % 2})));
    write_run(&folder, "labels.jsonl", labels.chain([json!({"id": 1, "epoch": 9, "label": 1})]));
    let found = folder.json(&["judge", "run.jsonl", "--labels", "labels.jsonl", "--json"]);
    assert_eq!((&found["counts"]["labelled"], &found["counts"]["labelled_attempts"]), (&json!(30), &json!(60)));
    assert_eq!(found["counts"]["unknown"], json!([{"id": 1, "epoch": 9}]));
    // Attempts of one sample go together, so that only figures by sample have an interval.
    assert_eq!((figure(&found, "/all/kappa/estimate"), &found["all"]["kappa"]["interval"]), (1.0, &Value::Null));
    assert!(found["all"]["corrected"]["interval"].is_object());
}

#[test]
fn mistakes_are_named() {
    let folder = example();
    let judge = ["judge", "run.jsonl", "--labels", "labels.jsonl"];
    let twice = [json!({"id": 1, "annotator": "ana", "label": 1}), json!({"id": 1, "annotator": "ana", "label": 0})];
    write_run(&folder, "labels.jsonl", twice);
    folder.refuses(&judge, "`ana` gave two different labels");
    write_run(&folder, "labels.jsonl", [json!({"id": "x", "label": 1})]);
    folder.refuses(&judge, "no label belongs to a scored attempt of the run; `x` is not in it");
    write_run(&folder, "labels.jsonl", [json!({"id": 1, "label": "splendid"})]);
    folder.refuses(&judge, "splendid");
    write_run(&folder, "labels.jsonl", [json!({"id": 1, "label": null}), json!({"id": 2, "label": null})]);
    folder.refuses(&judge, "no sample has a label");
    folder.write("labels.jsonl", "{\"who\": \"x\", \"mark\": 1}\n");
    folder.refuses(&judge, "--label-columns");
    let rated_twice = [json!({"id": 1, "epoch": 1, "label": 1}), json!({"id": 1, "epoch": 1, "label": 0})];
    write_run(&folder, "labels.jsonl", rated_twice);
    folder.refuses(&judge, "sample `1`");
    write_run(&folder, "labels.jsonl", [json!({"id": 1, "label": 1})]);
    folder.refuses(
        &["judge", "run.jsonl", "--labels", "labels.jsonl", "--output", "json=labels.jsonl"],
        "would replace what is judged",
    );
    write_run(&folder, "run.jsonl", [json!({"id": 1, "scores": {"one": 1, "two": 0}})]);
    folder.refuses(&judge, "the run has several scorers: one, two");
    let chosen = folder.json(&[&judge[..], &["--scorer", "two", "--json"]].concat());
    assert_eq!(chosen["scorer"], "two");
}
