//! Runs and files that are not whole: nothing that was asked for goes unread or unsaid.

use crate::program::{calipers, flat, run, said};
use calipers_testing::{Scratch, text};
use serde_json::Value;
use std::process::Output;

/// A policy that asks for a rate of 20 %.
const POLICY: &str = r#"{"thresholds": {"blocking": {"accuracy": 20}}}"#;

#[track_caller]
fn ends_with(output: &Output, code: i32) -> String {
    let said = said(output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    said
}

/// A sample of an Inspect log, with a score or an error.
fn sample(id: u32, score: Option<&str>, more: &str) -> String {
    let rest = match score {
        Some(score) => format!(r#""scores": {{"match": {{"value": "{score}"}}}}"#),
        None => r#""scores": {}, "error": {"message": "boom", "traceback": "", "traceback_ansi": ""}"#.to_owned(),
    };
    format!(r#"{{"id": {id}, "epoch": 1, "input": "x", "target": "y", {rest}{more}}}"#)
}

/// An Inspect log with these samples, whose dataset has this many.
fn log(status: &str, announced: u32, results: &str, samples: &[String]) -> String {
    let ids: Vec<String> = (1..=announced).map(|id| id.to_string()).collect();
    format!(
        r#"{{"version": 2, "status": "{status}", "eval": {{"task": "colors", "model": "m/x", "created": "2026-01-01T00:00:00+00:00",
        "dataset": {{"samples": {announced}, "sample_ids": [{}]}}, "config": {{"epochs": 1}}}}{results}, "samples": [{}]}}"#,
        ids.join(", "),
        samples.join(",\n")
    )
}

/// The first `right` of `read` samples are right.
fn samples(right: u32, read: u32) -> Vec<String> {
    (1..=read).map(|id| sample(id, Some(if id <= right { "C" } else { "I" }), "")).collect()
}

#[test]
fn a_gate_does_not_pass_on_the_part_of_a_run_that_was_killed() {
    let folder = Scratch::with("killed.json", log("started", 40, "", &samples(5, 16)));
    folder.write("policy.json", POLICY);
    // 5 of 16 are 31 %; of the 40 that were asked for, they may be 12.5 %.
    let gate = |more: &[&str]| run(&folder, &[&["gate", "killed.json", "--policy", "policy.json"], more].concat());
    let undecided = ends_with(&gate(&[]), 3);
    assert!(
        undecided.contains("16 of 40 samples: the evaluation is still running, or it was cut short"),
        "{undecided}"
    );
    assert!(undecided.contains("(17, 18, 19,"), "the samples have names: {undecided}");
    // The same log of a run that came to its end holds all of it.
    folder.write(
        "whole.json",
        log("success", 16, r#", "results": {"total_samples": 16, "scores": []}"#, &samples(5, 16)),
    );
    let passed = ends_with(&run(&folder, &["gate", "whole.json", "--policy", "policy.json"]), 0);
    assert!(!passed.contains(" of 16 samples:"), "{passed}");
    // What is missing can be decided.
    let failed = ends_with(&gate(&["--missing", "failed"]), 1);
    assert!(failed.contains("24 of 40 attempts without a score were counted as failed"), "{failed}");
    let excluded = ends_with(&gate(&["--missing", "excluded"]), 0);
    assert!(excluded.contains("24 of 40 attempts without a score were left out"), "{excluded}");
}

#[test]
fn every_form_says_that_a_run_is_not_whole() {
    let folder = Scratch::with("broken.json", log("error", 30, "", &samples(20, 27)));
    folder
        .write("policy.json", POLICY)
        .write("other.json", log("success", 30, r#", "results": {"total_samples": 30}"#, &samples(20, 30)));
    let sentence = "27 of 30 samples";
    let forms = ["json", "markdown", "junit", "html", "text"];
    let outputs: Vec<String> = forms.iter().map(|form| format!("{form}=gate.{form}")).collect();
    let mut command = calipers().command();
    command.current_dir(&folder).env("GITHUB_ACTIONS", "true");
    command.args(["gate", "broken.json", "--policy", "policy.json", "--output", &outputs.join(",")]);
    let output = command.output().unwrap();
    for form in forms {
        assert!(folder.read(&format!("gate.{form}")).contains(sentence), "{form}");
    }
    let annotations = text(&output.stderr);
    assert!(annotations.contains("::warning title=calipers%3A incomplete::27 of 30 samples"), "{annotations}");
    for arguments in [
        &["score", "broken.json"][..],
        &["score", "broken.json", "--json"],
        &["compare", "broken.json", "other.json"],
        &["compare", "broken.json", "other.json", "--json"],
        &["plan", "broken.json", "--half-width", "0.02"],
        &["report", "broken.json", "--output", "-"],
    ] {
        let said = ends_with(&run(&folder, arguments), 0);
        assert!(said.contains(sentence) && said.contains("ended in an error"), "{arguments:?}: {said}");
    }
}

#[test]
fn what_one_log_lacks_another_may_hold() {
    let folder = Scratch::with("first.json", log("started", 20, "", &samples(20, 12)));
    let whole = r#", "results": {"total_samples": 20}"#;
    folder.write("second.json", log("success", 20, whole, &samples(20, 20)));
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"accuracy": 100}}}"#);
    let said = ends_with(&run(&folder, &["gate", "first.json", "second.json", "--policy", "policy.json"]), 0);
    assert!(!said.contains("of 20 samples:"), "{said}");
}

#[test]
fn samples_that_a_finished_log_counts_and_lacks_are_missing() {
    let folder =
        Scratch::with("cut.json", log("success", 20, r#", "results": {"total_samples": 20}"#, &samples(10, 10)));
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"accuracy": 90}}}"#);
    let said = ends_with(&run(&folder, &["gate", "cut.json", "--policy", "policy.json"]), 3);
    assert!(said.contains("10 of 20 samples: the log expects more than it contains"), "{said}");
}

#[test]
fn a_limit_of_samples_is_not_a_loss() {
    let limited = log("cancelled", 40, "", &samples(5, 16)).replace(r#""epochs": 1"#, r#""epochs": 1, "limit": 16"#);
    let folder = Scratch::with("limited.json", limited);
    let said = ends_with(&run(&folder, &["score", "limited.json"]), 0);
    assert!(said.contains("16 of 16 samples: the evaluation was cancelled"), "{said}");
}

#[test]
fn a_baseline_of_an_incomplete_run_needs_a_decision() {
    let folder = Scratch::with("killed.json", log("started", 40, "", &samples(5, 16)));
    folder.write("policy.json", POLICY);
    let record = ["baseline", "record", "killed.json", "--policy", "policy.json", "--output", "base.json"];
    let refused = ends_with(&run(&folder, &record), 2);
    assert!(refused.contains("error: the run is incomplete: 16 of 40 samples"), "{refused}");
    assert!(refused.contains("`--missing failed` or `--missing excluded`") && !folder.has("base.json"), "{refused}");
    ends_with(&run(&folder, &[&record[..], &["--missing", "excluded"]].concat()), 0);
    let baseline: Value = serde_json::from_str(&folder.read("base.json")).unwrap();
    assert_eq!(baseline["scenarios"].as_object().unwrap().len(), 16);
}

#[test]
fn limits_that_were_hit_are_counted_apart() {
    let hit = |id, kind: &str| sample(id, Some("I"), &format!(r#", "limit": {{"type": "{kind}", "limit": 5}}"#));
    let logged = [hit(1, "token"), hit(2, "token"), hit(3, "time"), sample(4, Some("C"), "")];
    let folder = Scratch::with("log.json", log("success", 4, r#", "results": {"total_samples": 4}"#, &logged));
    folder.write("policy.json", POLICY);
    let sentence = "3 attempts were stopped by a limit: time limit 1, token limit 2";
    for arguments in [
        &["score", "log.json"][..],
        &["score", "log.json", "--json"],
        &["gate", "log.json", "--policy", "policy.json"],
        &["gate", "log.json", "--policy", "policy.json", "--json"],
    ] {
        let said = ends_with(&run(&folder, arguments), 0);
        assert!(said.contains(sentence), "{arguments:?}: {said}");
    }
}

/// Eighty trials of which 33 were resolved and three have no outcome.
fn trials() -> String {
    let line = |id: u32| match id {
        0..3 => format!("{{\"id\": {id}, \"score\": null}}\n"),
        3..36 => format!("{{\"id\": {id}, \"score\": 1}}\n"),
        _ => format!("{{\"id\": {id}, \"score\": 0}}\n"),
    };
    (0..80).map(line).collect()
}

#[test]
fn missing_scores_count_as_the_flag_says() {
    let folder = Scratch::with("trials.jsonl", trials());
    let accuracy = |more: &[&str]| -> (f64, u64, String) {
        let output = run(&folder, &[&["score", "trials.jsonl", "--json"], more].concat());
        let said = ends_with(&output, 0);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let figure = &report["runs"][0]["scores"][0]["metrics"]["accuracy"];
        (figure["value"].as_f64().unwrap(), figure["n"].as_u64().unwrap(), said)
    };
    let (plain, n, _) = accuracy(&[]);
    assert!((plain - 33.0 / 77.0).abs() < 1e-12 && n == 77, "{plain} {n}");
    let (failed, n, said) = accuracy(&["--missing", "failed"]);
    assert!((failed - 33.0 / 80.0).abs() < 1e-12 && n == 80, "{failed} {n}");
    assert!(said.contains("3 of 80 attempts without a score were counted as failed"), "{said}");
    let (excluded, n, said) = accuracy(&["--missing", "excluded"]);
    assert!((excluded - 33.0 / 77.0).abs() < 1e-12 && n == 77, "{excluded} {n}");
    assert!(said.contains("3 of 80 attempts without a score were left out"), "{said}");
}

#[test]
fn a_policy_says_how_missing_counts_and_the_flag_wins() {
    let folder = Scratch::with("trials.jsonl", trials());
    let policy =
        |missing: &str| format!(r#"{{"thresholds": {{"blocking": {{"accuracy": 42}}}}, "missing": "{missing}"}}"#);
    folder.write("policy.json", policy("failed"));
    let gate = ["gate", "trials.jsonl", "--policy", "policy.json"];
    // 33 of 80 are 41.25 %; of the 77 with an outcome they are 42.9 %.
    ends_with(&run(&folder, &gate), 1);
    let said = ends_with(&run(&folder, &[&gate[..], &["--missing", "excluded"]].concat()), 0);
    assert!(flat(&said).contains("were left out, instead of what the policy says"), "{said}");
    folder.write("policy.json", policy("excluded"));
    ends_with(&run(&folder, &gate), 0);
    let said = ends_with(&run(&folder, &[&gate[..], &["--missing", "failed"]].concat()), 1);
    assert!(flat(&said).contains("were counted as failed, instead of what the policy says"), "{said}");
    folder.write("policy.json", policy("worst"));
    ends_with(&run(&folder, &gate), 3);
}

const RIGHT: &str = "{\"id\": 1, \"score\": 1}\n{\"id\": 2, \"score\": 1}\n";

/// A folder with results that pass, and a policy beside it.
fn results() -> Scratch {
    let folder = Scratch::with("logs/good.jsonl", RIGHT);
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"accuracy": 90}}}"#);
    folder
}

const GATE: [&str; 4] = ["gate", "logs", "--policy", "policy.json"];

#[test]
fn parts_of_a_folder_that_hold_nothing_or_garbage_are_errors() {
    for (name, content, sentence) in [
        ("logs/empty.jsonl", &b""[..], "the file is empty"),
        ("logs/blank.csv", b" \n \n", "the file is empty"),
        ("logs/garbage.jsonl", b"\x00\x01garbage", "the format of the content is unknown"),
        ("logs/half.parquet", b"PAR", "the format of the content is unknown"),
    ] {
        let folder = results();
        ends_with(&run(&folder, &GATE), 0);
        folder.write(name, content);
        for arguments in [&GATE[..], &["gate", "logs/*.*", "--policy", "policy.json"]] {
            let said = ends_with(&run(&folder, arguments), 2);
            assert!(said.contains(sentence) && said.contains(name), "{name}: {said}");
        }
    }
    // Other documents may stand beside results.
    let folder = results();
    folder.write("logs/README.md", "about").write("logs/.gitignore", "*").write("logs/settings.json", r#"{"a": 1}"#);
    ends_with(&run(&folder, &GATE), 0);
}

#[test]
fn an_empty_file_in_a_list_is_an_error() {
    let folder = results();
    folder.write("logs/empty.jsonl", "");
    let said = ends_with(&run(&folder, &["gate", "logs/good.jsonl", "logs/empty.jsonl", "--policy", "policy.json"]), 2);
    assert!(said.contains("the file is empty") && said.contains("logs/empty.jsonl"), "{said}");
    // A run that wrote nothing at all has an answer.
    ends_with(&run(&folder, &["gate", "logs/empty.jsonl", "--policy", "policy.json"]), 3);
}

#[test]
fn blanks_before_the_records_are_skipped() {
    let folder = Scratch::with("late.jsonl", " \n".repeat(50_000) + RIGHT);
    let said = ends_with(&run(&folder, &["score", "late.jsonl"]), 0);
    assert!(said.contains("2 samples"), "{said}");
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// False where permissions do not bind, as for root.
    fn lock(folder: &Scratch, name: &str) -> bool {
        let path = folder.join(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        fs::read_dir(&path).is_err() && fs::read(&path).is_err()
    }

    #[test]
    fn what_may_not_be_read_is_an_error_that_says_so() {
        for name in ["logs/secret.jsonl", "logs/secret/more.jsonl"] {
            let folder = results();
            folder.write(name, RIGHT);
            let locked = if name.contains("more") { "logs/secret" } else { name };
            if lock(&folder, locked) {
                let said = ends_with(&run(&folder, &GATE), 2);
                assert!(said.contains("permission denied") && said.contains(locked), "{said}");
            }
            fs::set_permissions(folder.join(locked), fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    #[test]
    fn links_are_followed_and_loops_end() {
        let folder = Scratch::with("run/store/a.jsonl", "{\"id\": 1, \"score\": 0}\n");
        folder.write("run/store/deep/b.jsonl", "{\"id\": 2, \"score\": 0}\n");
        folder.write("run/logs/good.jsonl", "{\"id\": 3, \"score\": 1}\n");
        folder.write("policy.json", r#"{"thresholds": {"blocking": {"accuracy": 90}}}"#);
        let gate = || run(&folder, &["gate", "run/logs", "--policy", "policy.json"]);
        ends_with(&gate(), 0);
        symlink("../store/a.jsonl", folder.join("run/logs/a.jsonl")).unwrap();
        symlink("../store/deep", folder.join("run/logs/deep")).unwrap();
        symlink("..", folder.join("run/logs/up")).unwrap();
        symlink(".", folder.join("run/logs/self")).unwrap();
        let said = ends_with(&gate(), 1);
        assert!(said.contains("33"), "one of three is right: {said}");
        symlink("gone.jsonl", folder.join("run/logs/z.jsonl")).unwrap();
        let said = ends_with(&gate(), 2);
        assert!(said.contains("the link leads nowhere") && said.contains("z.jsonl"), "{said}");
    }
}

#[test]
fn content_that_expands_beyond_the_limit_is_an_error() {
    use std::io::Write;
    let line = "{\"id\": 1, \"score\": 1}\n";
    // 70 MB that compress to 70 kB, and one line that would fail the gate at the end.
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(line.as_bytes()).unwrap();
    let mut blanks = vec![b' '; 1 << 20];
    blanks[0] = b'\n';
    for _ in 0..70 {
        encoder.write_all(&blanks).unwrap();
    }
    encoder.write_all(b"{\"id\": 2, \"score\": 0}\n").unwrap();
    let packed = encoder.finish().unwrap();
    let folder = Scratch::with("big.jsonl.gz", &packed);
    let limit = (packed.len() as u64 * 1000).max(64 << 20);
    let expands = 70 * (1 << 20) + 44;
    folder.write("policy.json", POLICY);
    let gate = |bytes: Option<u64>| {
        let mut command = calipers().command();
        command.current_dir(&folder).args(["gate", "big.jsonl.gz", "--policy", "policy.json"]);
        command.env_remove("CALIPERS_EXPANDED_BYTES_MAX");
        if let Some(bytes) = bytes {
            command.env("CALIPERS_EXPANDED_BYTES_MAX", bytes.to_string());
        }
        command.output().unwrap()
    };
    let said = ends_with(&gate((limit > expands).then_some(64 << 20)), 2);
    assert!(said.contains("expands beyond the limit of") && said.contains("CALIPERS_EXPANDED_BYTES_MAX"), "{said}");
    let whole = ends_with(&gate(Some(1 << 30)), 0);
    assert!(whole.contains("accuracy    50.0 %"), "{whole}");
}

#[test]
fn nothing_is_not_shown_as_something() {
    let folder = Scratch::with("header.csv", "id,score\n");
    folder.write("empty.jsonl", "").write("policy.json", POLICY);
    for (arguments, sentence) in [
        (&["score", "header.csv"][..], "error: the file has no records\n  in header.csv"),
        (&["report", "empty.jsonl", "--output", "page.html"], "error: there are no results to show\n  in empty.jsonl"),
        (
            &["policy", "check", "policy.json", "--samples", "empty.jsonl"],
            "error: there are no samples to check the policy with\n  in empty.jsonl",
        ),
    ] {
        let said = ends_with(&run(&folder, arguments), 2);
        assert!(said.contains(sentence), "{arguments:?}: {said}");
    }
    assert!(!folder.has("page.html"));
}

/// Every figure in a document with its n and what it is missing.
fn counts(value: &Value, found: &mut Vec<(u64, u64)>) {
    if let (Some(n), Some(missing), true) =
        (value["n"].as_u64(), value["missing"].as_u64(), value.get("method").is_some())
    {
        found.push((n, missing));
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| counts(item, found)),
        Value::Object(entries) => entries.values().for_each(|entry| counts(entry, found)),
        _ => {}
    }
}

#[test]
fn samples_that_broke_are_missing_to_every_figure() {
    // Two scorers, of which one did not look at `c`; `d` and `e` broke.
    let lines = [
        r#"{"id": "a", "category": "x", "scores": {"one": 1, "two": 0}}"#,
        r#"{"id": "b", "category": "x", "scores": {"one": 0, "two": 1}}"#,
        r#"{"id": "c", "category": "y", "scores": {"one": 1}}"#,
        r#"{"id": "d", "category": "y", "error": "boom"}"#,
        r#"{"id": "e", "category": "z", "error": "boom"}"#,
    ];
    let folder = Scratch::with("run.jsonl", lines.join("\n"));
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"accuracy": 20}}}"#);
    let json = |arguments: &[&str]| -> Value {
        let output = run(&folder, arguments);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)))
    };
    for arguments in [
        &["score", "run.jsonl", "--json"][..],
        &["score", "run.jsonl", "--json", "--reducer", "mode", "--reducer", "max"],
        &["score", "run.jsonl", "--json", "--reducer", "none"],
        &["score", "run.jsonl", "--json", "-m", "accuracy", "-m", "std", "-m", "ci()"],
        &["compare", "run.jsonl", "run.jsonl", "--json", "--scorer", "one"],
        &["gate", "run.jsonl", "--policy", "policy.json", "--scorer", "one", "--output", "json=-"],
    ] {
        let mut found = Vec::new();
        counts(&json(arguments), &mut found);
        found.retain(|(n, missing)| n + missing > 2); // the parts of the gate's table of categories
        assert!(!found.is_empty() && found.iter().all(|(n, missing)| n + missing == 5), "{arguments:?}: {found:?}");
    }
    // Of groups, those of each; a group in which nothing was scored has a line too.
    let grouped = json(&["score", "run.jsonl", "--json", "--scorer", "one", "-m", "grouped(accuracy(), \"category\")"]);
    let figure = |name: &str| {
        let figure = &grouped["runs"][0]["scores"][0]["metrics"][name];
        (figure["n"].as_u64(), figure["missing"].as_u64())
    };
    let shown = ["x", "y", "z", "all"].map(figure);
    assert_eq!(shown, [(Some(2), Some(0)), (Some(1), Some(1)), (Some(0), Some(1)), (Some(3), Some(2))]);
}

#[test]
fn samples_that_never_ran_are_missing_to_scores() {
    let folder = Scratch::with("killed.json", log("started", 40, "", &samples(5, 16)));
    let output = run(&folder, &["score", "killed.json", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let accuracy = &report["runs"][0]["scores"][0]["metrics"]["accuracy"];
    assert_eq!((accuracy["n"].as_u64(), accuracy["missing"].as_u64()), (Some(16), Some(24)), "{accuracy}");
    assert_eq!(report["runs"][0]["samples"]["total"].as_u64(), Some(16), "what was read");
}

#[test]
fn a_policy_that_names_a_scorer_for_each_gate_needs_no_other_choice() {
    let line = |id: u32| format!(r#"{{"id": {id}, "category": "{}", "scores": {{"one": 1, "two": 0}}}}"#, id % 2);
    let folder = Scratch::with("run.jsonl", (0..10).map(|id| line(id) + "\n").collect::<String>());
    for weights in ["", r#", "weights": {"by_category": {"0": 2, "1": 1}}"#] {
        let policy = format!(r#"{{"thresholds": {{"blocking": {{"accuracy(scorer=\"one\")": 90}}}}{weights}}}"#);
        folder.write("policy.json", policy);
        ends_with(&run(&folder, &["gate", "run.jsonl", "--policy", "policy.json"]), 0);
    }
}

#[test]
fn what_says_how_a_sample_went_makes_it_scored() {
    let folder = Scratch::new();
    let counts = |file: &str, flags: &[&str]| {
        let output = calipers().run_in(&folder, &[&["score", file, "--json"], flags].concat());
        let said = ends_with(&output, 0);
        let json: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
        let samples = &json["runs"][0]["samples"];
        ["total", "scored", "unscored", "errored"].map(|name| samples[name].as_u64().unwrap())
    };
    let lines = |record: &dyn Fn(u32) -> String| (1..=4).map(|id| record(id) + "\n").collect::<String>();
    folder.write("passed.jsonl", lines(&|id| format!(r#"{{"id": {id}, "passed": {}, "latency_ms": 7}}"#, id > 1)));
    folder.write("correct.csv", format!("id,correct\n{}", lines(&|id| format!("{id},{}", id % 2))));
    folder.write(
        "behaviors.jsonl",
        lines(&|id| format!(r#"{{"id": {id}, "expected_behaviors": ["a"], "observed_behaviors": []}}"#)),
    );
    folder.write("answers.jsonl", lines(&|id| format!(r#"{{"id": {id}, "predicted": "A", "actual": "B"}}"#)));
    for file in ["passed.jsonl", "correct.csv", "behaviors.jsonl", "answers.jsonl"] {
        assert_eq!(counts(file, &[]), [4, 4, 0, 0], "{file}");
    }
    // Whatever is asked, in a table that is read at once or as a stream.
    assert_eq!(counts("passed.jsonl", &["-m", r#"mean("latency_ms")"#]), [4, 4, 0, 0]);
    ends_with(&calipers().run_in(&folder, &["convert", "passed.jsonl", "-o", "passed.parquet"]), 0);
    for metric in ["pass_rate", r#"mean("latency_ms")"#] {
        assert_eq!(counts("passed.parquet", &["-m", metric]), [4, 4, 0, 0], "{metric}");
    }
    // Nothing says how the third went, and the fourth did not run.
    let partly = |id| match id {
        3 => r#"{"id": 3, "latency_ms": 7}"#.to_owned(),
        4 => r#"{"id": 4, "passed": true, "error": "reset"}"#.to_owned(),
        _ => format!(r#"{{"id": {id}, "passed": true}}"#),
    };
    folder.write("partly.jsonl", lines(&partly));
    assert_eq!(counts("partly.jsonl", &[]), [4, 2, 1, 1]);
}

#[test]
fn a_score_beside_an_error_counts_and_is_named() {
    let record = |id: u32| match id {
        1 | 2 => format!(r#"{{"id": {id}, "score": 1, "error": "the judge timed out"}}"#),
        3 => r#"{"id": 3, "error": "reset"}"#.to_owned(),
        _ => format!(r#"{{"id": {id}, "score": 0}}"#),
    };
    let lines: String = (1..=6).map(|id| record(id) + "\n").collect();
    let folder = Scratch::with("r.jsonl", lines);
    let said =
        flat(&ends_with(&calipers().run_in(&folder, &["score", "r.jsonl", "-m", "accuracy", "-m", "pass_rate"]), 0));
    assert!(said.contains("r.jsonl native · 6 samples · 3 errored"), "{said}");
    let caveat = "3 attempts ended in an error, and 2 of them have a score, which counts; pass rates count them as not passed \
                  → leave out the score of an attempt that did not run, and the error of one that did";
    assert!(said.contains(caveat), "{said}");
    let rows: Vec<&str> = said.split("accuracy ").nth(1).into_iter().chain(said.split("pass_rate ").nth(1)).collect();
    assert!(rows[0].starts_with("0.400 ") && rows[1].starts_with("0.000 "), "{said}");
}
