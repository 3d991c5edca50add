//! Reports of other harnesses at the command line: lists of instances, figures without samples, and Every Eval Ever.

use crate::program;
use calipers_testing::{ROOT, Scratch};
use serde_json::Value;

fn fixture(name: &str) -> String {
    format!("{ROOT}/testdata/formats/{name}")
}

/// What a command prints, on success.
#[track_caller]
fn printed(arguments: &[&str]) -> String {
    let output = program::calipers().command().args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(arguments)).unwrap()
}

#[test]
fn a_task_without_a_patch_counts_as_not_resolved() {
    let report = json(&["score", &fixture("swe_bench/older/report.json"), "--json"]);
    let run = &report["runs"][0];
    assert_eq!(run["samples"]["total"], 8);
    assert_eq!(run["scores"][0]["metrics"]["accuracy"]["value"], 0.125);
    let notes = run["notes"].to_string();
    assert!(notes.contains("no_prediction 3"), "{notes}");
}

#[test]
fn instances_without_a_name_are_stated() {
    let text = printed(&["score", &fixture("swe_bench/report.json")]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("names 9: 1 missing here; resolved are 3 of 10"), "{text}");
}

#[test]
fn recorded_figures_have_the_interval_of_their_recorded_error() {
    let file = fixture("lm_eval/results_2023.json");
    let text = printed(&["score", &file]);
    assert!(text.contains("acc, as recorded; interval from the recorded standard error"), "{text}");
    assert!(text.contains("[0.652, 0.848]"), "{text}");
    let report = json(&["score", &file, "--json"]);
    let figure = &report["runs"][0]["recorded"][0];
    assert_eq!((&figure["metric"], &figure["value"], &figure["stderr"]), (&"acc".into(), &0.75.into(), &0.05.into()));
    assert_eq!(figure["interval"]["method"], "normal-from-recorded-error");
    assert_eq!(figure["interval"]["level"], 0.95);
    let narrow = json(&["score", &file, "--json", "--level", "0.5"]);
    let lower = narrow["runs"][0]["recorded"][0]["interval"]["lower"].as_f64().unwrap();
    assert!((lower - (0.75 - 0.674_489_750_196_081_7 * 0.05)).abs() < 1e-12, "{lower}");
}

#[test]
fn figures_without_samples_are_neither_compared_nor_gated() {
    let file = fixture("every_eval_ever/aggregate.json");
    let folder = Scratch::new();
    let policy = folder.file("policy.yaml");
    std::fs::write(&policy, "name: p\nmetrics:\n  - name: accuracy\n    threshold: 0.5\n").unwrap();
    for arguments in [&["compare", &file, &file][..], &["gate", &file, "--policy", &policy]] {
        let output = program::calipers().command().args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.code() != Some(0) || said.contains("UNDECIDED"), "{arguments:?}: {output:?}");
    }
}

#[test]
fn the_page_shows_recorded_figures() {
    let folder = Scratch::new();
    let page = folder.file("page.html");
    printed(&["report", &fixture("lm_eval/results_2023.json"), "-o", &page]);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("interval from the recorded standard error"), "the page has no recorded intervals");
}

/// The schema of Every Eval Ever, as its project publishes it.
fn validator(name: &str) -> jsonschema::Validator {
    let path = format!("{ROOT}/testdata/schemas/every_eval_ever/{name}");
    let schema: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    jsonschema::options().with_draft(jsonschema::Draft::Draft7).build(&schema).unwrap()
}

#[track_caller]
fn check(validator: &jsonschema::Validator, document: &Value) {
    let errors: Vec<String> =
        validator.iter_errors(document).map(|error| format!("{error} at {}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{document:#}\n{}", errors.join("\n"));
}

#[test]
fn written_records_keep_to_the_schemas_of_every_eval_ever_and_read_back() {
    let (aggregate, instance) = (validator("eval.schema.json"), validator("instance_level_eval.schema.json"));
    let folder = Scratch::new();
    for name in [
        "inspect/multi_scorer.eval",
        "native/records.jsonl",
        "swe_bench/report.json",
        "every_eval_ever/instances_samples.jsonl",
        "helm/per_instance_stats.json",
        "tau2/results.json",
    ] {
        let (whole, lines) = (folder.file("whole.json"), folder.file("lines.jsonl"));
        for out in [&whole, &lines] {
            printed(&["convert", &fixture(name), "--to", "every-eval-ever", "-o", out, "--force"]);
        }
        let document: Value = serde_json::from_slice(&std::fs::read(&whole).unwrap()).unwrap();
        check(&aggregate, &document);
        let results = document["evaluation_results"].as_array().unwrap();
        assert!(!results.is_empty(), "{name} has no results");
        let text = std::fs::read_to_string(&lines).unwrap();
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            check(&instance, &line);
            assert_eq!(line["evaluation_id"], document["evaluation_id"]);
        }
        // What was written reads as itself, and has the same figures.
        for file in [&whole, &lines] {
            assert_eq!(json(&["score", file, "--json"])["runs"][0]["format"], "every-eval-ever", "{name}");
        }
    }
    let native = fixture("swe_bench/report.json");
    let lines = folder.file("again.jsonl");
    printed(&["convert", &native, "--to", "every-eval-ever", "-o", &lines]);
    let figure = |file: &str| json(&["score", file, "--json"])["runs"][0]["scores"][0]["metrics"]["accuracy"].clone();
    assert_eq!(figure(&lines), figure(&native));
}
