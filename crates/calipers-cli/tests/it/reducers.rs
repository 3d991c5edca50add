//! How attempts become one score, on the command line: every spelling, the log's own reducer, and figures that a log
//! records.

use crate::program::{flat, json, run};
use calipers_testing::{Scratch, text};
use serde_json::Value as Json;

/// Six samples with five attempts each, of which 5, 2, 2, 2, 0 and 0 are right: the mean is 11/30, the mode 1/6.
fn attempts() -> String {
    let mut lines = String::new();
    for (id, right) in [5, 2, 2, 2, 0, 0].into_iter().enumerate() {
        for epoch in 1..=5 {
            let score = if epoch <= right { "C" } else { "I" };
            lines += &format!("{{\"id\": \"q{id}\", \"epoch\": {epoch}, \"scores\": {{\"match\": \"{score}\"}}}}\n");
        }
    }
    lines
}

fn folder() -> Scratch {
    let folder = Scratch::with("results.jsonl", attempts());
    let policy = r#"{"thresholds": {"blocking": {"accuracy": ">= 25%"}}}"#;
    folder.write("policy.json", policy);
    folder
}

/// The first accuracy of `calipers score`, with the reducer that it is listed under.
#[track_caller]
fn accuracy(folder: &Scratch, arguments: &[&str]) -> (Option<f64>, String) {
    let json = json(folder, &[&["score"], arguments].concat());
    let score = &json["runs"][0]["scores"][0];
    (score["metrics"]["accuracy"]["value"].as_f64(), score["reducer"].as_str().unwrap_or_default().to_owned())
}

fn near(found: Option<f64>, want: f64) -> bool {
    found.is_some_and(|found| (found - want).abs() < 1e-12)
}

/// A log of the attempts that records a reducer.
#[track_caller]
fn log(folder: &Scratch, name: &str, reducer: &str) {
    let output = run(folder, &["convert", "results.jsonl", "-o", name, "--to", "inspect", "--reducer", reducer]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn every_spelling_of_a_reducer_is_read() {
    let folder = folder();
    // Of n = 5 with c right, pass@2 = 1 − C(5−c, 2)/C(5, 2) and pass^2 = C(c, 2)/C(5, 2).
    let (pass_at, pass_k) = ((1.0 + 3.0 * 0.7) / 6.0, (1.0 + 3.0 * 0.1) / 6.0);
    for (spelling, name, want) in [
        ("pass@2", "pass_at_2", pass_at),
        ("pass_at_2", "pass_at_2", pass_at),
        ("pass_at(2)", "pass_at_2", pass_at),
        ("pass^2", "pass_k_2", pass_k),
        ("pass_k(2, value=1.0)", "pass_k_2", pass_k),
        ("pass_at(2, value=0)", "pass_at(2, value=0)", 1.0),
        ("at_least(3, value=0.5)", "at_least(3, value=0.5)", 1.0 / 6.0),
        ("at_least_2", "at_least_2", 4.0 / 6.0),
    ] {
        let (value, reducer) = accuracy(&folder, &["results.jsonl", "--reducer", spelling]);
        assert!(near(value, want), "{spelling}: {value:?}");
        assert_eq!(reducer, name);
        // The name that is printed is read back.
        assert_eq!(accuracy(&folder, &["results.jsonl", "--reducer", name]), (value, reducer));
    }
}

#[test]
fn an_unknown_reducer_lists_the_spellings() {
    let folder = folder();
    for (spelling, hint) in [
        ("pas@2", "did you mean `pass_at_2`? the reducers are"),
        ("pass@two", "did you mean `pass_at_1`? the reducers are"),
        ("pass_at(2, threshold=0.5)", "pass_at_K or pass@K, pass_k_K or pass^K, and at_least_K"),
    ] {
        let output = run(&folder, &["score", "results.jsonl", "--reducer", spelling]);
        assert_eq!(output.status.code(), Some(2));
        let said = text(&output.stderr);
        assert!(said.contains(hint) && said.contains("`pass_at(2, value=0.5)`"), "{said}");
    }
}

#[test]
fn at_least_more_than_there_are_has_no_value() {
    let folder = folder();
    let output = run(&folder, &["score", "results.jsonl", "--reducer", "at_least_6", "-m", "accuracy"]);
    let said = flat(&text(&output.stdout));
    assert!(!said.contains("0.000"), "{said}");
    assert!(said.contains("too few scored attempts for `at_least_6`"), "{said}");
    // Inspect takes attempts that were not made for failures.
    let inspect = &["results.jsonl", "--reducer", "at_least_6", "-m", "accuracy", "--compat", "inspect"];
    assert_eq!(accuracy(&folder, inspect).0, Some(0.0));
}

#[test]
fn policies_and_task_files_name_reducers_as_the_command_line_does() {
    let folder = folder();
    for spelling in ["pass@2", "pass_at(2, value=1)", "pass_at_2"] {
        let policy = format!(
            r#"{{"epochs": {{"reducer": "{spelling}"}}, "thresholds": {{"blocking": {{"accuracy": ">= 25%"}}}}}}"#
        );
        folder.write("reduced.json", policy);
        let report = json(&folder, &["gate", "results.jsonl", "--policy", "reduced.json"]);
        assert_eq!(report["provenance"]["reducer"], "pass_at_2", "{spelling}");
        assert_eq!(run(&folder, &["policy", "check", "reduced.json"]).status.code(), Some(0), "{spelling}");
    }
    for reducer in ["\"pass@2\"", "pass_at(2, value=0.5)", "[\"mean\", at_least(2)]", "\"at_least(2, value=0.5)\""] {
        let task = format!(
            "def hello():\n    return Task(dataset=[Sample(input=\"hi\", target=\"hi\")], solver=[generate()], \
             scorer=match(), epochs=Epochs(2, {reducer}))\n"
        );
        folder.write("task.star", task);
        let output = run(&folder, &["eval", "task.star", "--model", "mockllm/model", "--log-dir", "logs"]);
        assert_eq!(output.status.code(), Some(0), "{reducer}: {}", text(&output.stderr));
    }
}

#[test]
fn a_verdict_uses_the_reducer_of_the_log() {
    let folder = folder();
    log(&folder, "mode.eval", "mode");
    let (score, reducer) = accuracy(&folder, &["mode.eval"]);
    assert!(near(score, 1.0 / 6.0) && reducer == "mode", "{score:?} {reducer}");
    let report = json(&folder, &["gate", "mode.eval", "--policy", "policy.json"]);
    assert_eq!((&report["verdict"], &report["provenance"]["reducer"]), (&"fail".into(), &"mode".into()));
    assert!(near(report["gates"][0]["estimate"].as_f64(), 1.0 / 6.0), "{}", report["gates"][0]);

    // A policy that says otherwise is a choice, and every form of the report states it.
    let policy = r#"{"epochs": {"reducer": "mean"}, "thresholds": {"blocking": {"accuracy": ">= 25%"}}}"#;
    folder.write("mean.json", policy);
    let words = "the policy reduces attempts by `mean`; the log was recorded with `mode`";
    for form in [&[][..], &["--json"], &["-o", "markdown=-"]] {
        let output = run(&folder, &[&["gate", "mode.eval", "--policy", "mean.json"], form].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(
            flat(&text(&output.stdout)).replace('\\', "").contains(words),
            "{form:?}: {}",
            flat(&text(&output.stdout))
        );
    }
}

#[test]
fn runs_that_were_reduced_differently_are_not_compared_by_the_order_of_files() {
    let folder = folder();
    log(&folder, "mode.eval", "mode");
    log(&folder, "max.eval", "max");
    for command in [
        &["compare", "mode.eval", "max.eval"][..],
        &["compare", "max.eval", "mode.eval"],
        &["plan", "mode.eval", "--against", "max.eval", "--half-width", "0.1"],
        &["gate", "mode.eval", "max.eval", "--policy", "policy.json"],
    ] {
        let output = run(&folder, command);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {said}");
        assert!(said.contains("mode.eval by `mode`") && said.contains("max.eval by `max`"), "{said}");
        assert!(said.contains("`--reducer 'm"), "{said}");
    }
    let value = |arguments: &[&str]| {
        let report = json(&folder, &[&["compare"], arguments, &["--reducer", "mode"]].concat());
        report["comparisons"][0]["metrics"][0]["change"]["estimate"].as_f64()
    };
    assert_eq!(value(&["mode.eval", "max.eval"]), Some(0.0));
    assert_eq!(value(&["max.eval", "mode.eval"]), Some(0.0));
}

#[test]
fn what_a_table_cannot_hold_of_a_log_is_said() {
    let folder = folder();
    log(&folder, "mode.eval", "mode");
    for name in ["mode.jsonl", "mode.csv", "mode.parquet"] {
        let output = run(&folder, &["convert", "mode.eval", "-o", name]);
        assert_eq!(output.status.code(), Some(0));
        let said = text(&output.stderr);
        assert!(said.contains("the log reduces attempts by `mode`, which this format cannot hold"), "{name}: {said}");
        assert_eq!(accuracy(&folder, &[name, "--reducer", "mode"]), accuracy(&folder, &["mode.eval"]));
    }
    // A log of another form of the same log loses nothing.
    let output = run(&folder, &["convert", "mode.eval", "-o", "again.eval"]);
    assert_eq!(text(&output.stderr), "");
    assert_eq!(accuracy(&folder, &["again.eval"]), accuracy(&folder, &["mode.eval"]));
}

#[test]
fn a_figure_that_is_not_the_recorded_one_is_said() {
    let folder = Scratch::new();
    let line = |id: usize, epoch: usize| {
        format!("{{\"id\": {id}, \"epoch\": {epoch}, \"scores\": {{\"judge\": 0.{}}}}}\n", 4 + (id + epoch) % 3)
    };
    let lines: String = (1..=10).flat_map(|id| (1..=3).map(move |epoch| line(id, epoch))).collect();
    folder.write("results.jsonl", lines);
    log(&folder, "log.json", "pass_at(2, value=0.5)");
    // Inspect's logs do not keep the threshold.
    let without = folder.read("log.json").replace("pass_at(2, value=0.5)", "pass_at_2");
    folder.write("inspect.json", without);
    let kept = json(&folder, &["score", "log.json"]);
    let metric = &kept["runs"][0]["scores"][0]["metrics"]["accuracy"];
    assert_eq!((&metric["value"], &metric["recorded"]), (&Json::from(1.0), &Json::Null));

    let lost = json(&folder, &["score", "inspect.json"]);
    let metric = &lost["runs"][0]["scores"][0]["metrics"]["accuracy"];
    assert_eq!((&metric["value"], &metric["recorded"]), (&Json::from(0.0), &Json::from(1.0)));
    let words =
        "computed as 0.000, recorded as 1.000: the log does not keep the threshold of `pass_at_2`, and 1 was assumed";
    assert!(metric["caveats"].to_string().contains(words), "{metric}");
    assert!(flat(&text(&run(&folder, &["score", "inspect.json"]).stdout)).contains("pass_at(2, value=0.5)"));
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"accuracy": ">= 50%"}}}"#);
    for command in
        [&["gate", "inspect.json", "--policy", "policy.json"][..], &["compare", "inspect.json", "inspect.json"]]
    {
        let said = json(&folder, command)["caveats"].to_string();
        assert!(said.contains("recorded as 1.000"), "{command:?}: {said}");
    }
}

#[test]
fn reductions_have_the_metadata_of_the_first_attempt() {
    let line = |epoch: usize, note: &str| {
        format!(
            "{{\"id\": 1, \"epoch\": {epoch}, \"scores\": {{\"judge\": {{\"value\": 1, \"metadata\": {{\"note\": \
             \"{note}\"}}}}}}}}\n"
        )
    };
    let folder = Scratch::with("results.jsonl", line(2, "second") + &line(1, "first"));
    let report = json(&folder, &["score", "results.jsonl", "--reductions"]);
    assert_eq!(report["runs"][0]["reductions"][0]["samples"][0]["metadata"], serde_json::json!({"note": "first"}));
}
