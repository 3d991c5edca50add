//! Everything that `calipers score --json` prints keeps to the published schema.

use crate::documents::Validators;
use crate::program;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Stdio;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn score(arguments: &[&str]) -> Option<Value> {
    let mut command = program::calipers().command();
    command.current_dir(root()).args(["score", "--json"]).args(arguments);
    let output = command.stdin(Stdio::null()).output().unwrap();
    output.status.success().then(|| serde_json::from_slice(&output.stdout).unwrap())
}

/// The files under `testdata/formats`, by path from the root.
fn fixtures() -> Vec<String> {
    let mut found = Vec::new();
    for folder in std::fs::read_dir(root().join("testdata/formats")).unwrap() {
        let folder = folder.unwrap();
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let (folder, file) = (folder.file_name(), file.unwrap().file_name());
            found.push(format!("testdata/formats/{}/{}", folder.display(), file.display()));
        }
    }
    found.sort();
    found
}

/// Every fixture as it is, with all that can be asked for, and as Inspect would print it.
const WAYS: [&[&str]; 4] = [
    &[],
    &["--reductions", "--reducer", "mean", "--reducer", "pass_at_2", "--level", "0.9", "--seed", "7"],
    &["--compat", "inspect", "--reductions"],
    &["--reducer", "none"],
];

#[test]
fn every_result_keeps_to_the_schema() {
    let validators = Validators::new("results");
    let mut files = fixtures();
    files.push("examples/agent/results.jsonl".into());
    files.push("crates/calipers-cli/tests/cases/results.jsonl".into());
    files.push("crates/calipers-cli/tests/cases/recorded.json".into());
    let mut seen = Vec::new();
    for file in &files {
        for way in WAYS {
            let arguments: Vec<&str> = std::iter::once(file.as_str()).chain(way.iter().copied()).collect();
            // Some fixtures are there to be refused.
            let Some(json) = score(&arguments) else { continue };
            validators.check(&json, &arguments.join(" "));
            seen.push(json);
        }
    }
    let several = score(&[&files[0], &files[1], "examples/agent/results.jsonl"]).unwrap();
    validators.check(&several, "several files");
    assert!(several["runs"].as_array().unwrap().len() >= 3);
    assert!(seen.len() > 100, "only {} results", seen.len());
    // A schema is not tested by what never occurs.
    for part in ["reductions", "recorded"] {
        assert!(seen.iter().any(|json| json["runs"][0].get(part).is_some()), "no `{part}` in any result");
    }
    let figures = |json: &Value| -> Vec<Value> {
        let runs = json["runs"].as_array().unwrap().iter();
        let scores = runs.flat_map(|run| run["scores"].as_array().unwrap());
        scores.flat_map(|score| score["metrics"].as_object().unwrap().values().cloned()).collect()
    };
    let figures: Vec<Value> = seen.iter().flat_map(figures).collect();
    assert!(figures.iter().any(|figure| figure["value"].is_null() && figure["undefined"].is_string()));
    assert!(figures.iter().any(|figure| figure["value"].is_number() && figure["undefined"].is_string()));
    assert!(figures.iter().any(|figure| figure["caveats"][0].is_object()));
    assert!(figures.iter().any(|figure| figure["interval"].is_object()));
    assert!(seen.iter().any(|json| json["runs"][0]["notes"][0].is_string()));
    for run in seen.iter().flat_map(|json| json["runs"].as_array().unwrap()) {
        let count = |name: &str| run["samples"][name].as_u64().unwrap();
        assert_eq!(count("scored") + count("unscored") + count("errored"), count("total"), "{}", run["source"]);
    }
}

#[test]
fn what_does_not_keep_to_the_schema_is_noticed() {
    let validators = Validators::new("results");
    let good = score(&["crates/calipers-cli/tests/cases/results.jsonl", "--reductions"]).unwrap();
    assert!(validators.is_valid(&good));
    let metric = "/runs/0/scores/0/metrics/accuracy";
    for (place, value) in [
        ("/schema", json!("calipers.results/2")),
        ("/runs/0/samples/total", json!(-1)),
        ("/runs/0/level", json!(95)),
        (&format!("{metric}/value"), json!(null)),
        (&format!("{metric}/value"), json!("0.5")),
        (&format!("{metric}/interval/lower"), json!("low")),
        (&format!("{metric}/colour"), json!("red")),
        ("/runs/0/reductions/0/samples/0/sample_id", json!(1.5)),
        ("/caveats", json!([{"id": "Not An Id", "text": "a", "next_step": "b"}])),
    ] {
        let mut bad = good.clone();
        let (parent, key) = place.rsplit_once('/').unwrap();
        match bad.pointer_mut(parent).unwrap() {
            Value::Array(items) => items[key.parse::<usize>().unwrap()] = value,
            parent => parent[key] = value,
        }
        assert!(!validators.is_valid(&bad), "{place}");
    }
}
