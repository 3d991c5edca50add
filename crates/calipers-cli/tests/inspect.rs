//! Held against Inspect itself: its logs give our numbers, and our logs give its numbers.
//!
//! `cargo xtask test` makes the environment and names its interpreter in `CALIPERS_INSPECT_PYTHON`. Without it there is
//! nothing to compare with, and the tests say so.
#![allow(clippy::unwrap_used)]

use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::process::Command;

const PEER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/inspect/peer.py");

/// The interpreter, if there is one.
fn python() -> Option<PathBuf> {
    let python = std::env::var_os("CALIPERS_INSPECT_PYTHON").map(PathBuf::from);
    if python.is_none() {
        println!("skipped: CALIPERS_INSPECT_PYTHON does not name a Python with inspect_ai; `cargo xtask test` does");
    }
    python
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("calipers-inspect-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[track_caller]
fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{said}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn peer(python: &Path, arguments: &[&str]) {
    succeed(Command::new(python).arg(PEER).args(arguments));
}

#[track_caller]
fn calipers(arguments: &[&str]) -> String {
    succeed(Command::new(env!("CARGO_BIN_EXE_calipers")).args(arguments))
}

/// The scores of `calipers score FILE --json`.
#[track_caller]
fn scored(file: &str, options: &[&str]) -> Vec<Json> {
    let arguments = [&["score", file, "--json"], options].concat();
    let mut json: Json = serde_json::from_str(&calipers(&arguments)).unwrap();
    json["runs"][0]["scores"].as_array_mut().unwrap().drain(..).collect()
}

fn json(file: &str) -> Json {
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

/// How close two numbers must be.
#[derive(Clone, Copy)]
enum Close {
    /// The same formula: 1e-9, relatively.
    Exact,
    /// Drawn with another generator.
    Drawn,
}

impl Close {
    fn allows(self, a: f64, b: f64) -> bool {
        let distance = (a - b).abs();
        match self {
            Self::Exact => distance <= 1e-9 * a.abs().max(b.abs()).max(1.0),
            Self::Drawn => distance <= 0.15 * a.abs().max(b.abs()).max(0.1),
        }
    }
}

/// The same scores, in the same order, with the same metrics under the same names, and the same numbers.
#[track_caller]
fn assert_same(ours: &[Json], theirs: &Json, close: Close, place: &str) {
    let theirs = theirs.as_array().unwrap();
    let names = |scores: &[Json]| scores.iter().map(name).collect::<Vec<_>>();
    assert_eq!(names(ours), names(theirs), "{place}");
    for (ours, theirs) in ours.iter().zip(theirs) {
        let place = format!("{place}: {:?}", name(ours));
        for key in ["scored_samples", "unscored_samples"] {
            assert_eq!(ours[key], theirs[key], "{place} {key}");
        }
        let keys = |score: &Json| score["metrics"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(ours), keys(theirs), "{place}");
        for key in keys(ours) {
            let (mine, their) = (&ours["metrics"][&key], &theirs["metrics"][&key]);
            let place = format!("{place} {key}");
            assert_eq!((&mine["name"], &mine["group"]), (&their["name"], &their["group"]), "{place}");
            match (mine["value"].as_f64(), their["value"].as_f64()) {
                (Some(mine), Some(their)) => assert!(close.allows(mine, their), "{place}: {mine} {their}"),
                // What JSON cannot write: NaN and infinity.
                (mine, their) => assert_eq!(
                    (mine, their),
                    (None, None),
                    "{place}: {} {}",
                    ours["metrics"][&key],
                    theirs["metrics"][&key]
                ),
            }
        }
    }
}

fn name(score: &Json) -> (String, String, String) {
    let text = |key: &str| score[key].as_str().unwrap_or("-").to_owned();
    (text("name"), text("scorer"), text("reducer"))
}

/// Every number that we give is Inspect's; where we give none, we say why.
#[track_caller]
fn assert_defined_are_same(ours: &[Json], theirs: &Json, close: Close, place: &str) {
    let mut compared = 0;
    for theirs in theirs.as_array().unwrap() {
        let ours = ours.iter().find(|score| name(score) == name(theirs));
        // A result for a whole map without any metric is in Inspect only.
        let Some(ours) = ours else {
            assert_eq!(theirs["metrics"], serde_json::json!({}), "{place}: {:?} is missing", name(theirs));
            continue;
        };
        for (key, their) in theirs["metrics"].as_object().unwrap() {
            // Of two metrics with one name, Inspect drops the second where scores are maps. We have both.
            let mine = &ours["metrics"][key];
            let place = format!("{place}: {:?} {key}", name(ours));
            match (mine["value"].as_f64(), their["value"].as_f64()) {
                (Some(mine), Some(their)) => assert!(close.allows(mine, their), "{place}: {mine} {their}"),
                (None, _) => assert!(mine["undefined"].is_string(), "{place}: {mine}"),
                (Some(_), None) => panic!("{place}: {mine} is a number, and Inspect has none"),
            }
            compared += 1;
        }
    }
    assert!(compared > 0, "{place}: nothing to compare");
}

/// Logs in which Inspect counts an unknown label or null as 0. We refuse that unless we are asked for Inspect's numbers.
const REFUSED: [&str; 3] = ["aggregates", "null_values", "odd_values"];

#[test]
fn logs_of_inspect_give_the_numbers_of_inspect() {
    let Some(python) = python() else { return };
    let folder = Folder::new("read");
    peer(&python, &["make", folder.0.to_str().unwrap()]);
    let mut logs = 0;
    let mut wrong: Vec<String> = Vec::new();
    let mut entries: Vec<PathBuf> = std::fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for expected in entries {
        let Some(stem) = expected.to_str().and_then(|path| path.strip_suffix(".expected.json")) else { continue };
        let task = Path::new(stem).file_name().unwrap().to_str().unwrap();
        let file =
            [".eval", ".json"].map(|end| format!("{stem}{end}")).into_iter().find(|f| Path::new(f).exists()).unwrap();
        let want = json(expected.to_str().unwrap());
        let close = if task == "random" { Close::Drawn } else { Close::Exact };
        // All logs are looked at, so that one run shows everything that is wrong.
        let looked = std::panic::catch_unwind(|| {
            let theirs = scored(&file, &["--compat", "inspect"]);
            assert_same(&theirs, &want["recorded"], close, &format!("{task}, recorded"));
            assert_same(&theirs, &want["recomputed"], close, &format!("{task}, recomputed"));
            if !REFUSED.contains(&task) {
                assert_defined_are_same(&scored(&file, &[]), &want["recorded"], close, &format!("{task}, ours"));
            }
            let report: Json =
                serde_json::from_str(&calipers(&["score", &file, "--json", "--compat", "inspect"])).unwrap();
            let attempts = &report["runs"][0]["attempts"];
            let (total, errored) = (attempts["total"].as_u64().unwrap(), attempts["errored"].as_u64().unwrap());
            let counts = &want["counts"];
            assert_eq!((Some(total), Some(total - errored)), (counts["total"].as_u64(), counts["completed"].as_u64()));
        });
        wrong.extend(looked.is_err().then(|| task.to_owned()));
        logs += 1;
    }
    assert!(wrong.is_empty(), "these logs differ (see above): {wrong:?}");
    assert!(logs >= 30, "only {logs} logs were made");
}

/// Records with several scorers, epochs, maps, lists, unscored and errored attempts, and what Inspect has places for.
const RECORDS: &str = r#"{"id": 1, "epoch": 1, "scores": {"judge": "C", "rubric": {"tone": 1, "facts": 0.5}, "raters": [1, 0, 1], "grader": 0.7}, "input": "2+2?", "target": "4", "completion": "four", "choices": ["3", "4"], "topic": "math", "latency_ms": 812}
{"id": 1, "epoch": 2, "scores": {"judge": "I", "rubric": {"tone": 0, "facts": 0.25}, "raters": [0, 0, 1], "grader": {"value": 0.1, "answer": "x", "explanation": "why", "metadata": {"k": [1, null]}}}, "tokens_used": 120, "cost_usd": 0.25}
{"id": 1, "epoch": 3, "scores": {"judge": "C", "rubric": {"tone": 1, "facts": 1}, "raters": [1, 1, 1], "grader": {"value": null, "reason": "refusal", "answer": "no"}}}
{"id": "two", "epoch": 1, "scores": {"judge": "P", "rubric": {"tone": 0.5, "facts": 0}, "raters": [0, 0, 0], "grader": 1}, "topic": "law", "target": ["a", "b"], "passed": false}
{"id": "two", "epoch": 2, "scores": {"judge": "I", "rubric": {"value": {"tone": null, "facts": 0.75}, "unscored": ["tone"]}, "raters": [1, 0, 0], "grader": 0}}
{"id": "two", "epoch": 3, "error": "connection reset"}
{"id": "3/odd \u2603", "epoch": 1, "scores": {"judge": "C", "rubric": {"tone": 1, "facts": 1}, "raters": [1, 1, 0], "grader": 0.25}, "topic": "law", "expected_behaviors": ["refuses"]}
{"id": "3/odd \u2603", "epoch": 2, "scores": {"judge": "C", "rubric": {"tone": 0, "facts": 0.5}, "raters": [0, 1, 0], "grader": null}}
{"id": "3/odd \u2603", "epoch": 3, "scores": {"judge": "I", "rubric": {"tone": 1, "facts": 0.5}, "raters": [0, 1, 1], "grader": 0.5}}
"#;

#[test]
fn logs_that_calipers_writes_are_inspects_own() {
    let Some(python) = python() else { return };
    let folder = Folder::new("write");
    let records = folder.file("records.jsonl");
    std::fs::write(&records, RECORDS).unwrap();
    let reducers: [&[&str]; 4] =
        [&[], &["mean", "median", "mode", "max"], &["pass_at_2", "pass_k_2", "at_least_2"], &["none"]];
    let mut files = Vec::new();
    for (place, reducers) in reducers.iter().enumerate() {
        let reducers: Vec<&str> = reducers.iter().flat_map(|name| ["--reducer", name]).collect();
        for ending in ["eval", "json"] {
            // Inspect's tables take a `.json` for a log only if its name begins with a time.
            let file = folder.file(&format!("1970-01-01T00-00-00+00-00_records_{place}.{ending}"));
            let arguments = ["convert", &records, "-o", &file, "--to", "inspect"];
            calipers(&[&arguments[..], &reducers].concat());
            files.push(file);
        }
    }
    let answers = folder.file("answers.json");
    let arguments: Vec<&str> = ["check", &answers].into_iter().chain(files.iter().map(String::as_str)).collect();
    peer(&python, &arguments);
    let answers = json(&answers);
    for (file, answer) in files.iter().zip(answers.as_array().unwrap()) {
        // What we wrote into the log is what Inspect computes from it.
        let recorded: Vec<Json> = answer["header"].as_array().unwrap().clone();
        assert_same(&recorded, &answer["recomputed"], Close::Exact, file);
        assert_eq!(answer["header"], answer["whole"], "{file}");
        assert_eq!(answer["reductions"], answer["recomputed_reductions"], "{file}");
        // What we compute from it, and from what Inspect makes of it, is the same again.
        let rewritten = answer["rewritten"].as_array().unwrap().iter().map(|file| file.as_str().unwrap());
        for file in [file.as_str()].into_iter().chain(rewritten) {
            assert_same(&scored(file, &["--compat", "inspect"]), &answer["recomputed"], Close::Exact, file);
            assert_defined_are_same(&scored(file, &[]), &answer["recomputed"], Close::Exact, file);
            // Nothing of the samples is lost on the way through Inspect.
            let back = calipers(&["convert", file, "-o", "-"]);
            let direct = calipers(&["convert", &records, "-o", "-"]);
            assert_eq!(sorted(&back), sorted(&direct), "{file}");
        }
        assert_eq!((&answer["streamed"], &answer["found"]), (&9.into(), &true.into()), "{file}");
        let summaries = answer["summaries"].as_array().unwrap();
        assert!(summaries.len() == 9 && summaries.iter().all(|summary| summary[2] == true), "{file}: {summaries:?}");
        assert_eq!((&answer["rows"], &answer["evals"]), (&9.into(), &1.into()), "{file}");
        assert_eq!(answer["counts"], serde_json::json!({"total": 9, "completed": 8}), "{file}");
        let columns: Vec<&str> = answer["columns"].as_array().unwrap().iter().filter_map(Json::as_str).collect();
        for column in ["score_judge", "score_grader", "metadata_topic", "error", "total_time"] {
            assert!(columns.contains(&column), "{file}: {columns:?}");
        }
        let samples = answer["samples"].as_array().unwrap();
        let first = samples.iter().find(|sample| sample["id"] == 1 && sample["epoch"] == 1).unwrap();
        assert_eq!(
            (&first["input"], &first["target"], &first["completion"]),
            (&"2+2?".into(), &"4".into(), &"four".into())
        );
        assert_eq!(first["choices"], serde_json::json!(["3", "4"]));
        assert_eq!(first["metadata"], serde_json::json!({"topic": "math"}));
        let third = samples.iter().find(|sample| sample["id"] == 1 && sample["epoch"] == 3).unwrap();
        assert_eq!(third["scores"]["grader"], serde_json::json!(["nan", "no", "refusal"]));
        let failed = samples.iter().find(|sample| sample["id"] == "two" && sample["epoch"] == 3).unwrap();
        assert_eq!(failed["error"], "connection reset");
    }
}

#[test]
fn odd_values_survive_inspect() {
    let Some(python) = python() else { return };
    let folder = Folder::new("odd");
    let records = folder.file("odd.jsonl");
    let odd = [
        r#"{"id": -9223372036854775808, "scores": {"s": 9223372036854775807}, "metadata": {"a": 1e308, "b": -0.0, "c": 5e-324}}"#,
        r#"{"id": "7", "scores": {"s": 1.0}, "metadata": {"a": "1", "b": "true", "c": "", "d": "NaN", "e": 1, "f": 1.0}}"#,
        r#"{"id": " padded ", "scores": {"s": ""}, "metadata": {"": "no name", "a": [1, null, {"b": []}]}}"#,
        r#"{"id": "\u0001\u001f\n\"\\", "scores": {"s": "\u2603\ud83e\udd80", "odd name / \u00e9": true}, "null_metadata": ["n"]}"#,
        r#"{"id": "map", "scores": {"m": {"value": {"value": 1, "": null, "x": null}, "unscored": ["x"]}}, "epoch": 5}"#,
        r#"{"id": "list", "scores": {"l": {"value": [1, null, "C", 0.5, false], "unscored": [1], "metadata": {"k": {"v": 2}}}}}"#,
        r#"{"id": "fields", "latency_ms": 0.1, "tokens_used": 1.5, "cost_usd": 1e-9, "predicted": "1", "fields": {"a": [1], "n": null}}"#,
        r#"{"id": "behaves", "expected_behaviors": ["a", "b"], "observed_behaviors": [], "passed": false, "error": "boom\u001b[31m"}"#,
        r#"{"id": "talk", "metadata": {"input": "a\nb", "target": 5, "output": "c", "completion": "d", "choices": ["x", 1]}}"#,
    ];
    std::fs::write(&records, odd.join("\n")).unwrap();
    let want = sorted(&calipers(&["convert", &records, "-o", "-"]));
    assert_eq!(want.len(), odd.len());
    for ending in ["eval", "json"] {
        let file = folder.file(&format!("odd.{ending}"));
        calipers(&["convert", &records, "-o", &file, "--to", "inspect"]);
        peer(&python, &["rewrite", &file]);
        for file in [file.clone(), format!("{file}.again.eval"), format!("{file}.again.json")] {
            assert_eq!(sorted(&calipers(&["convert", &file, "-o", "-", "--to", "native"])), want, "{file}");
        }
    }
}

/// Records without the order of lines and of keys.
fn sorted(lines: &str) -> Vec<String> {
    fn ordered(json: &Json) -> Json {
        match json {
            Json::Object(map) => {
                let mut entries: Vec<(&String, &Json)> = map.iter().collect();
                entries.sort_by_key(|(key, _)| *key);
                entries.into_iter().map(|(key, value)| (key.clone(), ordered(value))).collect()
            }
            other => other.clone(),
        }
    }
    let mut lines: Vec<String> =
        lines.lines().map(|line| ordered(&serde_json::from_str(line).unwrap()).to_string()).collect();
    lines.sort();
    lines
}

#[test]
fn logs_of_inspect_are_copied_without_loss() {
    let Some(python) = python() else { return };
    let folder = Folder::new("copy");
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/formats/inspect");
    for name in ["multi_scorer", "dict_epochs", "edges", "min_deflate", "min_nohdr", "min_zstd"] {
        let archive = format!("{fixtures}/{name}.eval");
        let (document, back) = (folder.file(&format!("{name}.json")), folder.file(&format!("{name}.eval")));
        calipers(&["convert", &archive, "-o", &document]);
        calipers(&["convert", &document, "-o", &back]);
        peer(&python, &["same", &archive, &document]);
        peer(&python, &["same", &archive, &back]);
    }
}
