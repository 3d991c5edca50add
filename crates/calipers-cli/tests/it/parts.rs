//! `calipers fold` and `calipers merge`: the figures of one machine, and every way in which parts do not fit together.

use crate::program;
use calipers_testing::Scratch;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Output;

/// Attempts of samples with categories, documents, latencies and some gaps.
fn records(samples: usize) -> Vec<Value> {
    let mut records = Vec::new();
    for id in 0..samples {
        for epoch in 1..=(1 + id % 3) {
            let mut record = json!({
                "id": format!("q{id}"),
                "epoch": epoch,
                "category": format!("c{}", id % 4),
                "document": id % 7,
                "latency_ms": 100.0 + (id * 37 % 101) as f64 / 3.0,
                "passed": (id + epoch) % 5 != 0,
                "scores": {"judge": ((id * 31 + epoch * 17) % 100) as f64 / 100.0},
            });
            if id % 11 == 3 {
                record["scores"]["rare"] = json!(0.25);
            }
            if id % 13 == 5 {
                record.as_object_mut().unwrap().remove("scores");
                record["error"] = json!("timeout");
            }
            records.push(record);
        }
    }
    records
}

fn lines<'a>(records: impl IntoIterator<Item = &'a Value>) -> String {
    records.into_iter().map(|record| format!("{record}\n")).collect()
}

/// The number in the id of a record.
fn number(record: &Value) -> usize {
    record["id"].as_str().unwrap()[1..].parse().unwrap()
}

fn run(folder: &Scratch, arguments: &[&str]) -> Output {
    program::calipers().run_in(folder, arguments)
}

#[track_caller]
fn done(folder: &Scratch, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn refused(folder: &Scratch, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// A report without the names of files, and with lists by name, which stand in the order in which parts came.
fn comparable(text: &str) -> Value {
    fn order(value: &mut Value) {
        match value {
            Value::Array(items) => {
                items.iter_mut().for_each(order);
                items.sort_by_key(|item| if item.is_object() { item.to_string() } else { String::new() });
            }
            Value::Object(entries) => {
                ["source", "format", "files", "provenance"].iter().for_each(|key| drop(entries.remove(*key)));
                entries.values_mut().for_each(order);
            }
            _ => {}
        }
    }
    let mut value: Value = serde_json::from_str(text).unwrap();
    order(&mut value);
    value
}

/// Metrics that all scores here have.
const METRICS: [&str; 12] = [
    "-m",
    "accuracy",
    "-m",
    "stderr(cluster=\"document\")",
    "-m",
    "grouped(mean(), \"category\")",
    "-m",
    "pass_rate(scorer=\"judge\")",
    "-m",
    "latency_p95",
    "-m",
    "bootstrap_stderr",
];

#[test]
fn any_cut_by_sample_has_the_figures_of_one_machine() {
    let all = records(90);
    for reducers in [&[][..], &["--reducer", "pass_at_2", "--reducer", "mode"], &["--reducer", "none"]] {
        let folder = Scratch::with("all.jsonl", lines(&all));
        let options = [&METRICS[..], reducers].concat();
        let whole = done(&folder, &[&["score", "all.jsonl", "--json"], &options[..]].concat());
        // Cut in pieces, dealt out, and all in one of several parts.
        type Deal = fn(usize) -> usize;
        let cuts: [(usize, Deal); 4] = [(3, |id| id / 30), (7, |id| id % 7), (2, |_| 1), (1, |_| 0)];
        for (count, place) in cuts {
            let mut names = Vec::new();
            for part in 0..count {
                let file = format!("{part}.jsonl");
                folder.write(&file, lines(all.iter().filter(|record| place(number(record)) == part)));
                let (state, share) = (format!("{part}.state"), format!("{}/{count}", part + 1));
                let fold = ["fold", &file, "-o", &state, "--force", "--part", &share];
                done(&folder, &[&fold[..], &options[..]].concat());
                names.insert(part / 2, state);
            }
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let merged = done(&folder, &[&["merge", "--json"], &names[..]].concat());
            assert_eq!(comparable(&merged), comparable(&whole), "{count} parts");
        }
        // The same files on every machine, and a bucket for each.
        for bucket in 1..=4 {
            let (state, share) = (format!("b{bucket}.state"), format!("{bucket}/4"));
            done(&folder, &[&["fold", "all.jsonl", "-o", &state, "--bucket", &share], &options[..]].concat());
        }
        let merged = done(&folder, &["merge", "--json", "b3.state", "b1.state", "b4.state", "b2.state"]);
        assert_eq!(comparable(&merged), comparable(&whole));
    }
}

const POLICY: &str = r#"{
    "thresholds": {"blocking": {"accuracy": ">= 0.4", "pass_rate": ">= 0.6", "latency_p95": "<= 140"}},
    "confidence": "95%",
    "cluster": "document"
}"#;

#[test]
fn verdicts_and_comparisons_are_those_of_one_machine() {
    let (all, mut other) = (records(90), records(90));
    other.iter_mut().for_each(|record| {
        if number(record) % 4 == 1 && record.get("scores").is_some() {
            record["scores"]["judge"] = json!(0.99);
        }
    });
    let only_judge = |records: &mut Vec<Value>| {
        for record in records {
            if let Some(scores) = record.get_mut("scores").and_then(Value::as_object_mut) {
                scores.remove("rare");
            }
        }
    };
    let (mut all, mut other) = (all, other);
    only_judge(&mut all);
    only_judge(&mut other);
    let folder = Scratch::with("new.jsonl", lines(&all));
    folder.write("old.jsonl", lines(&other)).write("policy.json", POLICY);
    for (run, records) in [("new", &all), ("old", &other)] {
        for part in 0..3 {
            let file = format!("{run}-{part}.jsonl");
            folder.write(&file, lines(records.iter().filter(|record| number(record) / 30 == part)));
            let share = format!("{}/3", part + 1);
            for question in ["gate", "compare", "any"] {
                let state = format!("{run}-{question}-{part}.state");
                done(&folder, &["fold", &file, "-o", &state, "--part", &share, "--for", question, "-p", "policy.json"]);
            }
        }
    }
    let one = run(&folder, &["gate", "new.jsonl", "-p", "policy.json", "--json"]);
    let merged = run(&folder, &["merge", "new-gate-*.state", "--gate", "policy.json", "--json"]);
    assert_eq!(one.status.code(), merged.status.code(), "{merged:?}");
    let text = |output: &Output| String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(comparable(&text(&merged)), comparable(&text(&one)));

    let one = done(&folder, &["compare", "new.jsonl", "old.jsonl", "--json"]);
    let merged = done(&folder, &["merge", "new-compare-*.state", "--against", "old-compare-*.state", "--json"]);
    let changes = |text: &str| {
        let report: Value = serde_json::from_str(text).unwrap();
        comparable(&report["comparisons"][0]["metrics"].to_string())
    };
    assert_eq!(changes(&merged), changes(&one));

    // The whole is a file like others, to any command that reads no more than it holds.
    done(&folder, &["merge", "new-any-*.state", "-o", "new.state"]);
    let scored = done(&folder, &["score", "new.state", "--json", "--missing", "failed"]);
    let one = done(&folder, &["score", "new.jsonl", "--json", "--missing", "failed"]);
    assert_eq!(comparable(&scored), comparable(&one));
    done(&folder, &["merge", "new-gate-*.state", "-o", "gate.state"]);
    let error = refused(&folder, &["score", "gate.state", "-m", "mean(field=\"tokens_used2\")"]);
    assert!(error.contains("the parts were folded without `tokens_used2`"), "{error}");
    let error = refused(&folder, &["score", "new-gate-1.state"]);
    assert!(error.contains("the file is part 2 of 3, and no whole run") && error.contains("calipers merge"), "{error}");
}

/// Three parts of one run.
fn three() -> Scratch {
    let all = records(30);
    let folder = Scratch::new();
    for part in 0..3 {
        let file = format!("{part}.jsonl");
        folder.write(&file, lines(all.iter().filter(|record| number(record) / 10 == part)));
        let share = format!("{}/3", part + 1);
        done(&folder, &["fold", &file, "-o", &format!("{part}.state"), "--part", &share, "-m", "accuracy"]);
    }
    folder
}

#[test]
fn parts_that_make_no_whole_are_refused_with_what_is_wrong() {
    let folder = three();
    let check = |arguments: &[&str], what: &str| {
        let error = refused(&folder, &[&["merge"], arguments].concat());
        assert!(error.contains(what) && error.contains("hint: "), "{arguments:?}: {error}");
    };
    check(&["0.state", "2.state"], "1 part of 3 missing: 2");
    check(&["1.state"], "2 parts of 3 missing: 1, 3");
    check(&["0.state", "1.state", "2.state", "1.state"], "1.state and 1.state are both part 2 of 3");
    folder.write("copy.state", std::fs::read(folder.join("1.state")).unwrap());
    check(&["0.state", "1.state", "copy.state", "2.state"], "are both part 2 of 3");
    let fold = |file: &str, options: &[&str]| {
        let usual = ["fold", file, "-o", "other.state", "--force"];
        done(&folder, &[&usual[..], options].concat());
    };
    // The same file under another number, and another file with some of the same samples.
    fold("1.jsonl", &["--part", "3/3", "-m", "accuracy"]);
    check(&["0.state", "1.state", "other.state"], "1.state and other.state were both made from 1.jsonl");
    let some: Vec<Value> = records(30).into_iter().filter(|record| number(record) >= 19).collect();
    folder.write("some.jsonl", lines(&some));
    fold("some.jsonl", &["--part", "3/3", "-m", "accuracy"]);
    check(&["0.state", "1.state", "other.state"], "1.state and other.state hold the same samples");
    // One attempt of a sample here, another there.
    let second: Vec<Value> = records(30).into_iter().filter(|record| record["epoch"] == 2).collect();
    folder.write("second.jsonl", lines(&second));
    fold("second.jsonl", &["--part", "3/3", "-m", "accuracy"]);
    check(&["0.state", "1.state", "other.state"], "all attempts of a sample belong into one part");
    // Other questions.
    fold("2.jsonl", &["--part", "3/3", "-m", "mean"]);
    check(&["0.state", "1.state", "other.state"], "were folded for different questions");
    fold("2.jsonl", &["--part", "3/3", "-m", "accuracy", "--seed", "1"]);
    check(&["0.state", "1.state", "other.state"], "were folded for different questions");
    fold("2.jsonl", &["--part", "3/3", "--for", "any"]);
    check(&["0.state", "1.state", "other.state"], "one holds states of metrics, the other attempts");
    fold("2.jsonl", &["--part", "3/4", "-m", "accuracy"]);
    check(&["0.state", "1.state", "other.state"], "merge the parts of one run");
    fold("2.jsonl", &["--bucket", "3/3", "-m", "accuracy"]);
    check(&["0.state", "1.state", "other.state"], "is bucket 3 of 3");
    // Foreign and damaged files.
    check(&["0.jsonl"], "this is not a part of a run");
    let whole = std::fs::read(folder.join("0.state")).unwrap();
    folder.write("cut.state", &whole[..whole.len() - 40]);
    check(&["cut.state", "1.state", "2.state"], "its checksum does not fit");
    let mut newer = whole.clone();
    newer[8] = 7;
    folder.write("newer.state", newer);
    check(&["newer.state", "1.state", "2.state"], "the part has form 7, and this version reads form 1");
    check(&["nowhere.state"], "nowhere.state");
    check(&["0.state", "1.state", "2.state", "-o", "run.state"], "these parts hold states of metrics");
    check(&["0.state", "1.state", "2.state", "--gate", "policy.json"], "judging or comparing needs the attempts");
}

#[test]
fn buckets_come_from_the_same_files_or_from_files_that_hold_nothing_else() {
    let all = records(40);
    let folder = Scratch::with("a.jsonl", lines(all.iter().filter(|record| number(record) < 20)));
    folder.write("b.jsonl", lines(all.iter().filter(|record| number(record) >= 20)));
    done(&folder, &["fold", "a.jsonl", "-o", "1.state", "--bucket", "1/2"]);
    done(&folder, &["fold", "b.jsonl", "-o", "2.state", "--bucket", "2/2"]);
    let error = refused(&folder, &["merge", "1.state", "2.state"]);
    assert!(error.contains("left out") && error.contains("belong to other buckets"), "{error}");
    for bucket in ["1/2", "2/2"] {
        let state = format!("{}.state", &bucket[..1]);
        done(&folder, &["fold", "a.jsonl", "b.jsonl", "-o", &state, "--force", "--bucket", bucket]);
    }
    done(&folder, &["merge", "1.state", "2.state"]);
}

#[test]
fn ranges_are_short_and_must_not_touch() {
    let folder = Scratch::new();
    let numbered = |ids: std::ops::Range<usize>| -> String {
        ids.map(|id| format!("{{\"id\": {id}, \"score\": {}}}\n", id % 2)).collect()
    };
    folder.write("low.jsonl", numbered(0..5000)).write("high.jsonl", numbered(5000..9000));
    folder.write("middle.jsonl", numbered(4000..9000));
    let fold = |file: &str, share: &str, state: &str| {
        done(&folder, &["fold", file, "-o", state, "--part", share, "--ascending"]);
    };
    fold("low.jsonl", "1/2", "low.state");
    fold("high.jsonl", "2/2", "high.state");
    fold("middle.jsonl", "2/2", "middle.state");
    assert!(std::fs::metadata(folder.join("low.state")).unwrap().len() < 2500);
    let text = done(&folder, &["merge", "low.state", "high.state"]);
    assert!(text.contains("0.5"), "{text}");
    let error = refused(&folder, &["merge", "low.state", "middle.state"]);
    assert!(error.contains("the ids in low.state and middle.state overlap"), "{error}");
}

#[test]
fn scripts_travel_with_their_rows_and_have_to_be_the_same() {
    let folder =
        Scratch::with("metrics.star", "def total(scores):\n    return sum([s.score.as_float() for s in scores])\n");
    let all: Vec<Value> = records(30).into_iter().filter(|record| record.get("scores").is_some()).collect();
    let all: Vec<Value> = all.into_iter().filter(|record| record["scores"].get("rare").is_none()).collect();
    folder.write("all.jsonl", lines(&all));
    let own = ["-m", "total", "--load", "metrics.star"];
    let one = done(&folder, &[&["score", "all.jsonl", "--json"][..], &own].concat());
    for part in 0..2 {
        let file = format!("{part}.jsonl");
        folder.write(&file, lines(all.iter().filter(|record| number(record) % 2 == part)));
        let share = format!("{}/2", part + 1);
        done(&folder, &[&["fold", &file, "-o", &format!("{part}.state"), "--part", &share][..], &own].concat());
    }
    let merged = done(&folder, &["merge", "0.state", "1.state", "--json", "--load", "metrics.star"]);
    assert_eq!(comparable(&merged), comparable(&one));
    let error = refused(&folder, &["merge", "0.state", "1.state"]);
    assert!(error.contains("the scripts are not those that the parts were folded with"), "{error}");
    folder.write("metrics.star", "def total(scores):\n    return 2 * sum([s.score.as_float() for s in scores])\n");
    let error = refused(&folder, &["merge", "0.state", "1.state", "--load", "metrics.star"]);
    assert!(error.contains("the scripts are not those"), "{error}");
}

#[test]
fn wrong_shares_are_refused_before_anything_is_read() {
    let folder = Scratch::with("a.jsonl", "{\"id\": 1, \"score\": 1}\n");
    for share in ["0/3", "4/3", "3", "a/b", "1/99999999"] {
        let error = refused(&folder, &["fold", "a.jsonl", "-o", "x.state", "--part", share]);
        assert!(error.contains("is no share of a run") && error.contains("--part 3/8"), "{error}");
    }
    let error = refused(&folder, &["fold", "a.jsonl", "-o", "x.state", "--for", "gate"]);
    assert!(error.contains("depends on the policy"), "{error}");
    let error = refused(&folder, &["fold", "a.jsonl", "-o", "x.state", "--missing", "failed"]);
    assert!(error.contains("only where all attempts are"), "{error}");
    let error = refused(&folder, &["fold", "a.jsonl", "-o", "x.state", "--for", "any", "--where", "a=b"]);
    assert!(error.contains("give `--where` to the command that reads the merged run"), "{error}");
    assert!(!folder.has("x.state"));
    done(&folder, &["fold", "a.jsonl", "-o", "x.state"]);
    let error = refused(&folder, &["fold", "a.jsonl", "-o", "x.state"]);
    assert!(error.contains("exists"), "{error}");
}

/// A part can only be read by the version that wrote it, so the example is written again with each version.
#[test]
fn the_example_of_a_part_is_what_this_version_writes() {
    let folder = Scratch::new();
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let results = "examples/agent/results.jsonl";
    folder.write(results, std::fs::read(root.join(results)).unwrap());
    done(&folder, &["fold", results, "--for", "any", "-o", "run.state"]);
    let (made, example) = (folder.path().join("run.state"), root.join("testdata/formats/part/run.state"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::copy(&made, &example).unwrap();
    }
    let is_same = std::fs::read(made).unwrap() == std::fs::read(&example).unwrap();
    assert!(is_same, "{} is of another version (`BLESS=1` rewrites it)", example.display());
}

#[test]
fn files_of_several_tasks_are_folded_by_the_commands_that_the_error_names() {
    let folder = Scratch::with("none", "");
    let file = |task: &str| format!("samples_{task}_2026-01-02T03-04-05.678901.jsonl");
    for task in ["arc", "piqa"] {
        let line = |id: usize| {
            let filtered = json!([(id % 2).to_string()]);
            let record = json!({
                "doc_id": id, "doc": {}, "target": "x", "arguments": [], "resps": [["1"]], "filtered_resps": filtered,
                "exact_match": (id % 2) as f64,
            });
            format!("{record}\n")
        };
        folder.write(&file(task), (0..6).map(line).collect::<String>());
    }
    let (arc, piqa) = (file("arc"), file("piqa"));
    for question in [&["-m", "accuracy"][..], &["--for", "any"]] {
        let error = refused(&folder, &[&["fold", &arc, &piqa, "-o", "all.state"], question].concat());
        let error = error.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(error.contains("has task `arc`"), "{error}");
        for (task, file) in [("arc", &arc), ("piqa", &piqa)] {
            let command = format!("calipers fold {file} {} -o {task}.state", question.join(" "));
            assert!(error.contains(&format!("`{command}`")), "{error}");
            let words: Vec<&str> = command.split(' ').skip(1).chain(["--force"]).collect();
            done(&folder, &words);
        }
    }
}
