//! `calipers.toml`: where it is found, what it chooses, and that what is typed wins.

use crate::documents::schema_text;
use crate::program::calipers;
use calipers_testing::{ROOT, Scratch, snapshot, text};
use serde_json::{Value, json};
use std::path::Path;

const RECORDS: &str = "question_id,is_correct,tone\nq1,1,C\nq2,0,C\nq3,1,I\n";

/// Runs the program in `runs/`, below the folder of the configuration.
fn run(config: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let folder = Scratch::with("calipers.toml", config);
    folder.write("runs/results.csv", RECORDS);
    folder.write("policies/gate.json", r#"{"thresholds": {"blocking": {"accuracy": 50}}}"#);
    let output = calipers().command().args(arguments).current_dir(folder.join("runs")).output().unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn score(config: &str, arguments: &[&str]) -> Value {
    let (code, out, err) = run(config, &[&["score", "results.csv", "--json"], arguments].concat());
    assert_eq!(code, Some(0), "{err}");
    serde_json::from_str(&out).unwrap()
}

const COLUMNS: &str = "[columns]\nid = \"question_id\"\nscore = \"is_correct\"\n";

#[test]
fn a_file_above_the_folder_chooses_and_says_so() {
    let config = format!("level = 0.9\nmetrics = \"mean\"\n{COLUMNS}");
    let document = score(&config, &[]);
    let metrics = &document["runs"][0]["scores"][0]["metrics"];
    assert_eq!(metrics["mean"]["interval"]["level"], json!(0.9), "{document:#}");
    assert_eq!(metrics["accuracy"], Value::Null, "{document:#}");
    let (_, _, notes) = run(&config, &["score", "results.csv"]);
    let path = Path::new("..").join("calipers.toml");
    assert!(notes.contains(&format!("note: {} says level, metrics, columns", path.display())), "{notes}");
}

#[test]
fn what_is_typed_wins() {
    let config = format!("level = 0.9\nmetrics = \"mean\"\n{COLUMNS}");
    let document = score(&config, &["--level", "0.99", "-m", "accuracy"]);
    let metrics = &document["runs"][0]["scores"][0]["metrics"];
    assert_eq!(metrics["accuracy"]["interval"]["level"], json!(0.99), "{document:#}");
    assert_eq!(metrics["mean"], Value::Null, "{document:#}");
}

#[test]
fn paths_are_from_the_folder_of_the_file() {
    let config = format!("policy = \"policies/gate.json\"\n{COLUMNS}");
    let (code, out, err) = run(&config, &["gate", "results.csv"]);
    assert_eq!(code, Some(0), "{out}{err}");
}

#[test]
fn a_key_that_is_unknown_is_refused_with_what_was_meant() {
    let (code, out, err) = run("levle = 0.9\n", &["score", "results.csv"]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    for part in ["there is no key `levle`", "levle = 0.9", "did you mean `level`?"] {
        assert!(err.contains(part), "{err}");
    }
    // A wrong value is refused as the flag would be.
    // A bracket that is never closed is what is wrong, in a file that is called TOML.
    let (code, _, err) = run("[columns\nid = \"x\"\n", &["score", "results.csv"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("this is read as TOML") && err.contains("[columns") && !err.contains("quotes"), "{err}");
    let (code, _, err) = run(&format!("level = 2\n{COLUMNS}"), &["score", "results.csv"]);
    assert!(
        err.contains("`level` is 2: a level lies between 0 and 1; 95 % is written 0.95")
            && err.contains("calipers.toml"),
        "{err}"
    );
    assert_eq!(code, Some(2), "{err}");
    // What reads no results is not held up.
    assert_eq!(run("levle = 0.9\n", &["metrics"]).0, Some(0));
}

#[test]
fn config_shows_what_holds_and_from_where() {
    let (code, out, _) = run(COLUMNS, &["config"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("calipers.toml") && out.contains("id=question_id, score=is_correct"), "{out}");
    // No key, flag or value runs into the next.
    for line in out.lines().skip(1) {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert!(words[0].chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{line}");
        assert!(words[1].strip_prefix("--").is_some_and(|flag| !flag.contains("--")), "{line}");
        assert!(words[2] == "not" || words[2] == "line", "{line}");
    }
    let (_, out, _) = run(COLUMNS, &["config", "--json"]);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["choices"][0]["line"], json!(1), "{document:#}");
    // The environment names another file, or none.
    let folder = Scratch::with("calipers.toml", "level = 0.9\n");
    let output =
        calipers().command().arg("config").env("CALIPERS_CONFIG", "none").current_dir(&folder).output().unwrap();
    assert!(text(&output.stdout).starts_with("no calipers.toml"), "{}", text(&output.stdout));
}

#[test]
fn its_schema_is_published() {
    snapshot::assert_file(Path::new(ROOT).join("docs/schemas/calipers.config.1.json"), &schema_text("config"));
}
