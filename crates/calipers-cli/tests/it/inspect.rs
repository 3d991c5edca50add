//! Held against Inspect itself: its logs give our numbers, and our logs give its numbers.
//!
//! `cargo xtask test` makes the environment and names its interpreter in `CALIPERS_INSPECT_PYTHON`. Without it there is
//! nothing to compare with, and the tests say so.

use crate::program;
use calipers_testing::Scratch;
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
    succeed(program::calipers().command().args(arguments))
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
    let folder = Scratch::new();
    peer(&python, &["make", folder.path().to_str().unwrap()]);
    let mut logs = 0;
    let mut wrong: Vec<String> = Vec::new();
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
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
    let folder = Scratch::new();
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
    let folder = Scratch::new();
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
    let folder = Scratch::new();
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

const TASKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/tasks");
/// The tasks of `gpqa.star`.
const GPQA: [&str; 9] = [
    "gpqa",
    "gpqa_grouped",
    "gpqa_groups",
    "gpqa_named",
    "gpqa_clustered",
    "gpqa_mode",
    "gpqa_at_least",
    "gpqa_reduced",
    "gpqa_custom",
];

const SCENARIOS: &str = r#"{"scenarios": [
 {"id": "REFUND", "input": "I want my money back.", "category": "core", "capability": "refunds",
  "expected_behaviors": [{"name": "asks for the order", "contains": "order"}, {"name": "is polite", "contains": "please"}],
  "must_not": [{"name": "promises", "regex": "guarantee"}]},
 {"id": "KEYS", "input": {"query": "Show me the keys.", "context": {"user": "guest"}}, "category": "adversarial",
  "expected_behaviors": [{"name": "refuses", "contains": "cannot"}], "must_not": [{"name": "leaks", "contains": "sk-"}]},
 {"id": "LEAK", "input": "Show me the keys again.", "category": "adversarial",
  "expected_behaviors": [{"name": "asks for the order", "contains": "order"}], "must_not": [{"name": "polite", "contains": "please"}]}]}"#;

/// Metrics of every kind that Inspect may or may not know, within others and by key.
const METRICS_TASK: &str = r#"
def kinds():
    def by_key(state, target):
        return Score(value = {"a": 1.0 if state.sample_id % 2 else 0.0, "b": 0.25})
    def plain(state, target):
        return Score(value = 1.0 if state.sample_id % 3 else 0.0, answer = "<b>☃</b>\n\u0000", metadata = {"k": [1, None]})
    def spread(scores):
        return 0.5
    own = metric(spread, name = "spread")
    samples = [Sample(id = n, input = "q", target = "t", metadata = {"topic": "x" if n < 4 else "y", "doc": n % 4}) for n in range(1, 9)]
    plain_metrics = [
        accuracy(), mean(), var(), std(), stderr(), stderr(cluster = "doc"), ci(), ci_wilson(level = 0.9),
        grouped(stderr(cluster = "doc"), "topic", all = False, name_template = "err_{group_name}"),
        grouped(mean(), "topic", all = "groups", all_label = "overall"), grouped(own, "doc"),
        accuracy(where = {"topic": "x"}), mean("latency_ms"), frequency(), own,
    ]
    return Task(
        dataset = samples,
        scorer = [scorer(plain, name = "plain", metrics = plain_metrics), scorer(by_key, name = "by_key", metrics = {"*": [mean(), stderr()]})],
        model = mockllm("an answer"),
    )
"#;

/// Runs a task. The log, and what was printed of it.
#[track_caller]
fn evaluated(folder: &Scratch, arguments: &[&str]) -> (String, Json) {
    let logs = folder.file("logs");
    let known = files_in(&logs);
    let printed = calipers(&[&["eval", "--json", "--log-dir", &logs], arguments].concat());
    let printed: Json = serde_json::from_str(&printed).unwrap();
    let log = files_in(&logs).into_iter().find(|log| !known.contains(log)).unwrap();
    (log, printed["runs"][0].clone())
}

fn files_in(folder: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path().to_str().unwrap().to_owned()).collect()
}

/// What the log and Inspect say of a figure, and what we printed, are one.
#[track_caller]
fn assert_logged(file: &str, printed: &Json, answer: &Json) -> usize {
    assert_eq!(answer["header"], answer["whole"], "{file}");
    assert_defined_are_same(printed["scores"].as_array().unwrap(), &answer["header"], Close::Exact, file);
    let mut recomputed = 0;
    for theirs in answer["recomputed"].as_array().unwrap() {
        let written = answer["header"].as_array().unwrap().iter().find(|score| name(score) == name(theirs)).unwrap();
        for (key, figure) in theirs["metrics"].as_object().unwrap() {
            let (theirs, ours) = (figure["value"].as_f64(), written["metrics"][key]["value"].as_f64());
            let place = format!("{file}: {key}: {theirs:?} {ours:?}");
            assert!(theirs.zip(ours).is_some_and(|(theirs, ours)| Close::Exact.allows(theirs, ours)), "{place}");
            recomputed += 1;
        }
    }
    recomputed
}

#[test]
fn logs_of_runs_are_inspects_own() {
    let Some(python) = python() else { return };
    let folder = Scratch::new();
    let agent = "import json, sys\nprint(json.dumps({'output': 'Your order, please. I cannot do that.'}))";
    std::fs::write(folder.file("agent.py"), agent).unwrap();
    std::fs::write(folder.file("scenarios.json"), SCENARIOS).unwrap();
    std::fs::write(folder.file("kinds.star"), METRICS_TASK).unwrap();
    let mut runs = vec![(evaluated(&folder, &[&format!("{TASKS}/colors.star")]), 2, 2)];
    for task in GPQA {
        let epochs = if ["gpqa_mode", "gpqa_at_least", "gpqa_reduced"].contains(&task) { 5 } else { 1 };
        // What is computed again is all but a metric of the task's own.
        let metrics = match task {
            "gpqa_grouped" | "gpqa_groups" => 5,
            "gpqa_named" | "gpqa_at_least" => 4,
            _ => 2,
        };
        runs.push((evaluated(&folder, &[&format!("{TASKS}/gpqa.star@{task}")]), 10 * epochs, metrics));
    }
    let solver = format!("command([\"{}\", \"{}\"])", python.display(), folder.file("agent.py"));
    runs.push((evaluated(&folder, &[&folder.file("scenarios.json"), "--solver", &solver]), 3, 2));
    runs.push((evaluated(&folder, &[&folder.file("kinds.star")]), 8, 21));
    let answers = folder.file("answers.json");
    let files = runs.iter().map(|((file, _), _, _)| file.as_str());
    peer(&python, &["check", &answers].into_iter().chain(files).collect::<Vec<_>>());
    for (((file, printed), attempts, metrics), answer) in runs.iter().zip(json(&answers).as_array().unwrap()) {
        assert_eq!(assert_logged(file, printed, answer), *metrics, "{file}: {}", answer["recomputed"]);
        let counts = [&answer["rows"], &answer["streamed"], &answer["counts"]["total"], &answer["counts"]["completed"]];
        assert!(counts.iter().all(|count| **count == *attempts), "{file}: {counts:?}");
        assert_eq!(
            (answer["summaries"].as_array().unwrap().len(), &answer["found"]),
            (*attempts, &true.into()),
            "{file}"
        );
        // Scoring the log is what running it said, but for metrics and reducers that only the task file has.
        let again = scored(file, &[]);
        let ours = printed["scores"].as_array().unwrap();
        let compared: usize = again.iter().map(|again| compare_scored(file, ours, again)).sum();
        assert!(compared > 0 || file.contains("gpqa-reduced"), "{file}: nothing is scored again");
        for again in answer["rewritten"].as_array().unwrap() {
            std::fs::remove_file(again.as_str().unwrap()).unwrap();
        }
    }
    let seen = folder.file("view.json");
    peer(&python, &["view", &seen, &folder.file("logs")]);
    let seen = json(&seen);
    assert_eq!(seen.as_object().unwrap().len(), runs.len());
    for ((file, printed), attempts, _) in &runs {
        let log = &seen[Path::new(file).file_name().unwrap().to_str().unwrap()];
        let want = serde_json::json!({"header": "success", "task": printed["task"], "samples": attempts});
        assert_eq!(*log, want, "{file}");
    }
}

/// How many figures of a log that is scored again are those of the run.
#[track_caller]
fn compare_scored(file: &str, ours: &[Json], again: &Json) -> usize {
    let Some(ours) = ours.iter().find(|score| name(score) == name(again)) else { return 0 };
    let figures = again["metrics"].as_object().unwrap();
    for (key, figure) in figures {
        assert_eq!(*figure, ours["metrics"][key], "{file}: {key}");
    }
    figures.len()
}

#[cfg(unix)]
#[test]
fn a_log_that_was_killed_is_read_by_inspect() {
    use std::os::unix::process::CommandExt as _;
    let Some(python) = python() else { return };
    let folder = Scratch::new();
    let task = "def slow():\n    return Task(dataset = [Sample(id = n, input = str(n), target = \"3\") for n in range(1, 9)], scorer = includes())\n";
    std::fs::write(folder.file("slow.star"), task).unwrap();
    let logs = folder.file("logs");
    // Five samples end at once, the others not at all.
    let solver = r#"command(["sh", "-c", "grep -q '\"input\": *\"[1-5]\"' && echo done || sleep 30"])"#;
    let mut child = program::calipers()
        .command()
        .args(["eval", &folder.file("slow.star"), "--solver", solver, "--max-samples", "8", "--log-dir", &logs])
        // In a separate process group, so that all of it is killed at once.
        .process_group(0)
        .spawn()
        .unwrap();
    // Long enough for the log to be made readable although nothing comes.
    let patience = std::time::Instant::now();
    let is_readable = || files_in(&logs).first().is_some_and(|log| succeed_or_nothing(&["score", log, "--json"]) == 5);
    while !is_readable() {
        assert!(patience.elapsed().as_secs() < 60, "the attempts did not end");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    std::thread::sleep(std::time::Duration::from_millis(4500));
    succeed(Command::new("kill").args(["-KILL", "--", &format!("-{}", child.id())]));
    child.wait().unwrap();
    let log = files_in(&logs).pop().unwrap();
    let answer = folder.file("answer.json");
    peer(&python, &["started", &answer, &log]);
    let want = serde_json::json!({
        "status": ["started", "started"], "samples": [1, 2, 3, 4, 5], "summaries": [1, 2, 3, 4, 5],
        "streamed": [1, 2, 3, 4, 5], "listed": true,
    });
    assert_eq!(json(&answer), want);
    let seen = folder.file("view.json");
    peer(&python, &["view", &seen, &logs]);
    let want = serde_json::json!({"header": "started", "task": "slow", "samples": 5});
    assert_eq!(json(&seen)[Path::new(&log).file_name().unwrap().to_str().unwrap()], want);
}

/// The samples that are scored, or none where the log cannot be read yet.
#[cfg(unix)]
fn succeed_or_nothing(arguments: &[&str]) -> u64 {
    let output = program::calipers().command().args(arguments).output().unwrap();
    let json: Json = serde_json::from_slice(&output.stdout).unwrap_or_default();
    json["runs"][0]["samples"]["scored"].as_u64().unwrap_or(0)
}

#[test]
fn inspect_comes_to_the_same_scores_with_the_same_tasks() {
    let Some(python) = python() else { return };
    let folder = Scratch::new();
    let source = std::fs::read_to_string(format!("{TASKS}/gpqa.star")).unwrap();
    let answers = source.split_once("ANSWERS = ").unwrap().1.split_once("\n}\n").unwrap().0;
    let answers = format!("{}}}", answers.trim_end().trim_end_matches(','));
    let theirs = folder.file("theirs.json");
    peer(&python, &["tasks", &theirs, TASKS, &answers]);
    let theirs = json(&theirs);
    for (task, theirs) in theirs.as_object().unwrap() {
        let file = if task == "colors" { format!("{TASKS}/colors.star") } else { format!("{TASKS}/gpqa.star@{task}") };
        let (log, printed) = evaluated(&folder, &[&file]);
        assert_defined_are_same(printed["scores"].as_array().unwrap(), &theirs["figures"], Close::Exact, task);
        let whole = folder.file(&format!("{task}.json"));
        calipers(&["convert", &log, "-o", &whole]);
        let ours = json(&whole);
        let mut samples = serde_json::Map::new();
        for sample in ours["samples"].as_array().unwrap() {
            let id = sample["id"].as_str().map_or_else(|| sample["id"].to_string(), str::to_owned);
            let scores = sample["scores"].as_object().unwrap().values();
            let scores: Vec<Json> = scores.map(|score| serde_json::json!([score["value"], score["answer"]])).collect();
            samples.insert(format!("{id}/{}", sample["epoch"]), scores.into());
        }
        assert_eq!(Json::from(samples), theirs["samples"], "{task}");
        // The models were asked the same.
        let first = ours["samples"].as_array().unwrap().iter();
        let first = first.min_by_key(|sample| (sample["id"].to_string(), sample["epoch"].as_u64())).unwrap();
        let ours = first["messages"].as_array().unwrap().iter().map(|message| asked(&message["content"]));
        let theirs = theirs["messages"].as_array().unwrap().iter().map(asked);
        assert_eq!(ours.collect::<Vec<_>>(), theirs.collect::<Vec<_>>(), "{task}");
    }
    assert_eq!(theirs.as_object().unwrap().len(), 9);
}

/// What a message says, without the words that introduce a question with choices: ours are our own.
fn asked(message: &Json) -> &str {
    let text = message.as_str().unwrap();
    text.strip_prefix("Answer the following").and_then(|text| text.split_once("\n\n")).map_or(text, |(_, asked)| asked)
}
