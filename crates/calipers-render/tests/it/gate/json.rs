use super::reports::{HOSTILE, all, failing, hostile, large, nothing, small, undecided};
use super::snapshot;
use calipers_render::{Form, GATE_FORMS, Screen, gate_json, gate_schema};
use calipers_testing::ROOT;
use serde_json::{Value, json};

fn validator() -> jsonschema::Validator {
    validator_of(&gate_schema())
}

/// The schema of 0.1.0: readers that were written for it keep working.
fn first_validator() -> jsonschema::Validator {
    let path = format!("{ROOT}/testdata/schemas/0.1.0/calipers.gate.1.json");
    validator_of(&std::fs::read_to_string(path).unwrap())
}

fn validator_of(schema: &str) -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(schema).unwrap();
    jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(&schema).unwrap()
}

#[track_caller]
fn keeps(json: &Value, what: &str) {
    for (version, validator) in [("today", validator()), ("0.1.0", first_validator())] {
        let errors: Vec<String> =
            validator.iter_errors(json).map(|error| format!("{} at {}", error, error.instance_path())).collect();
        assert!(errors.is_empty(), "{what}, by the schema of {version}:\n{}", errors.join("\n"));
    }
}

#[test]
fn every_verdict_keeps_to_the_schema() {
    for (name, report) in all() {
        let json = gate_json(&report);
        keeps(&json, name);
        let again: Value = serde_json::from_str(&json.to_string()).unwrap();
        assert_eq!(again, json, "{name}");
        // The text is written without values in between.
        let form = Form::find(GATE_FORMS, "json").unwrap();
        assert_eq!((form.render)(&report, Screen::PLAIN).unwrap(), format!("{json:#}\n"), "{name}");
    }
}

#[test]
fn everything_in_the_report_is_in_the_json() {
    snapshot("failing.json", &(serde_json::to_string_pretty(&gate_json(&failing())).unwrap() + "\n"));
    let json = gate_json(&undecided());
    assert_eq!(json["gates"][0]["more_samples"], 37);
    assert_eq!((&json["mode"], &json["confidence"]), (&json!("confidence"), &json!(0.95)));
    assert_eq!(json["gates"][1]["estimate"], Value::Null);
    assert_eq!(json["gates"][1]["undefined"], "no sample has a score");
    assert_eq!(gate_json(&nothing())["gates"][0]["n"], Value::Null);
    assert_eq!(gate_json(&large())["coverage"]["missing"].as_array().unwrap().len(), 10_000);
    assert!(gate_json(&hostile(HOSTILE))["decided_by"].as_str().is_some_and(|said| said.contains(HOSTILE)));
}

#[test]
fn what_does_not_keep_to_the_schema_is_noticed() {
    let good = gate_json(&failing());
    for (place, value) in [
        ("/schema", json!("calipers.gate/2")),
        ("/verdict", json!("maybe")),
        ("/confidence", json!(95)),
        ("/gates/0/estimate", json!(null)),
        ("/gates/0/estimate", json!("0.5")),
        ("/gates/0/threshold/comparison", json!("≥")),
        ("/gates/0/colour", json!("red")),
        ("/categories/1/estimate", json!(null)),
        ("/coverage/total", json!(-1)),
        ("/scenarios/0/id", json!(1.5)),
        ("/scenarios/0/outcome", json!("flaky")),
    ] {
        let mut bad = good.clone();
        let (parent, key) = place.rsplit_once('/').unwrap();
        bad.pointer_mut(parent).unwrap()[key] = value;
        assert!(!validator().is_valid(&bad), "{place}");
    }
}

#[test]
fn the_example_in_the_documentation_is_what_is_printed() {
    let report = small();
    let text = include_str!("../../../../../docs/json.md");
    let example = text.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let example: Value = serde_json::from_str(example).unwrap();
    assert_eq!(example, gate_json(&report), "\n{}", gate_json(&report));
    keeps(&example, "docs/json.md");
}
