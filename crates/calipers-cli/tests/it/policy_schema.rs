//! What is a policy to us is one to the published schema, and the schema knows every key that we know.

use crate::program;
use calipers::policy::{KEYS, Policy};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn schema() -> Value {
    let output = program::calipers().command().args(["schema", "policy"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/policies")
}

#[test]
fn policies_keep_to_the_schema() {
    let validator = jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(&schema()).unwrap();
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(testdata().join("guide")).unwrap().map(|file| file.unwrap().path()).collect();
    files.push(testdata().join("full.json"));
    files.retain(|file| file.extension().is_some_and(|ending| ending == "json"));
    assert_eq!(files.len(), 16);
    for file in files {
        let policy: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let errors: Vec<String> =
            validator.iter_errors(&policy).map(|error| format!("{error} at {}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{}:\n{}", file.display(), errors.join("\n"));
    }
}

#[test]
fn what_is_no_policy_to_us_is_none_to_the_schema() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for wrong in [
        json!([]),
        json!({"treshold": {}}),
        json!({"thresholds": {"accuracy": 90}}),
        json!({"thresholds": {"blocking": {"accuracy": true}}}),
        json!({"thresholds": {"blocking": {"accuracy": "high"}}}),
        json!({"pass_criteria": {"overall": "80%", "minimum_pass_rate": "80%"}}),
        json!({"required_scenarios": {"id": ["A"]}}),
        json!({"weights": {"accuracy": -1}}),
        json!({"composite": {"final_score": 1}}),
        json!({"risk": [{"level": "severe", "metric": "accuracy", "threshold": 90}]}),
        json!({"risk": [{"level": "high", "metric": "accuracy"}]}),
        json!({"progressive": [{"accuracy": 90}]}),
        json!({"baseline": {"mode": "above"}}),
        json!({"rubric": {"no_zero": "yes"}}),
        json!({"metrics": [{"threshold": 90}]}),
        json!({"metrics": {"accuracy": {"threshold": 90, "typical_threshold": 90}}}),
        json!({"epochs": {"count": 2.5}}),
        json!({"confidence": 95}),
        json!({"on_undecided": "pass"}),
        json!({"missing": "zero"}),
        json!({"name": "accuracy", "formula": "a / b", "treshold": 1}),
    ] {
        assert!(!validator.is_valid(&wrong), "{wrong}");
        let document = calipers::io::read_document("policy.json", wrong.to_string().as_bytes()).unwrap();
        assert!(Policy::parse(&document).is_err(), "{wrong}");
    }
}

#[test]
fn the_schema_has_every_key_and_no_other() {
    let schema = schema();
    for (section, keys) in KEYS {
        let part = match section {
            "" => &schema["$defs"]["policy"],
            "metrics" => &schema["$defs"]["metric"],
            "required_scenarios" => &schema["$defs"]["scenarios"]["anyOf"][1],
            "risk" => &schema["$defs"]["policy"]["properties"]["risk"]["items"],
            _ => &schema["$defs"]["policy"]["properties"][section],
        };
        let mut described: Vec<&str> = part["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let mut known = keys.to_vec();
        described.sort_unstable();
        known.sort_unstable();
        assert_eq!(described, known, "`{section}`");
        for property in part["properties"].as_object().unwrap().values() {
            assert!(property["description"].is_string() || property["$ref"].is_string(), "`{section}`: {property}");
        }
    }
}
