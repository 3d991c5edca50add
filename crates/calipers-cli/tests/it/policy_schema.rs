//! What is a policy to us is one to the published schema, and the schema knows every key that we know.

use crate::documents::{Validators, schema_text};
use calipers::policy::{KEYS, Policy, list_choices};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

fn schema() -> Value {
    serde_json::from_str(&schema_text("policy")).unwrap()
}

fn parse(document: &Value) -> Result<Policy, String> {
    let document = calipers::io::read_document("policy.json", document.to_string().as_bytes()).unwrap();
    Policy::parse(&document).map_err(|mistakes| mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/policies")
}

#[test]
fn policies_keep_to_the_schema() {
    let validators = Validators::new("policy");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(testdata().join("guide")).unwrap().map(|file| file.unwrap().path()).collect();
    files.push(testdata().join("full.json"));
    files.retain(|file| file.extension().is_some_and(|ending| ending == "json"));
    assert_eq!(files.len(), 16);
    for file in files {
        let policy: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        validators.check(&policy, &file.display().to_string());
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
        json!({"name": "accuracy", "threshold": 1}),
    ] {
        assert!(!validator.is_valid(&wrong), "{wrong}");
        assert!(parse(&wrong).is_err(), "{wrong}");
    }
}

#[test]
fn the_schema_has_every_key_and_no_other() {
    let schema = schema();
    for (section, keys) in KEYS {
        let part = match section {
            "" => &schema["$defs"]["policy"],
            "metrics" => &schema["$defs"]["metric"],
            "confidence" => &schema["$defs"]["confidence"],
            "limits" => &schema["$defs"]["limit"],
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

/// The words that a part of the schema allows: an `enum`, or a pattern of words in any case such as `^([Ll][Oo][Ww])$`.
fn words(part: &Value) -> Vec<String> {
    if let Some(words) = part["enum"].as_array() {
        return words.iter().map(|word| word.as_str().unwrap().to_owned()).collect();
    }
    let pattern = part["pattern"].as_str().unwrap();
    let words = pattern.strip_prefix("^(").and_then(|rest| rest.strip_suffix(")$")).unwrap().split('|');
    words.map(|word| word.chars().filter(char::is_ascii_lowercase).collect()).collect()
}

#[test]
fn the_schema_has_every_choice_and_no_other() {
    let schema = schema();
    let policy = &schema["$defs"]["policy"]["properties"];
    let listed = list_choices();
    for (path, known) in &listed {
        let part = match path.split_once('.') {
            Some(("metrics", key)) => &schema["$defs"]["metric"]["properties"][key],
            Some(("confidence", key)) => &schema["$defs"]["confidence"]["properties"][key],
            Some(("risk", key)) => &policy["risk"]["items"]["properties"][key],
            Some((section, key)) => &policy[section]["properties"][key],
            None if policy[path]["items"].is_object() => &policy[path]["items"],
            None => &policy[path],
        };
        let part = part["$ref"].as_str().map_or(part, |to| schema.pointer(to.trim_start_matches('#')).unwrap());
        assert_eq!(&words(part), known, "`{path}`");
    }
    // Each list of words in the schema is one of those.
    let text = schema.to_string();
    let lists = text.matches("\"enum\":").count() + text.matches("#/$defs/risk_level").count();
    assert_eq!(lists, listed.len(), "lists of words");
}

/// Documents that keep to a part of the schema, such that each key, each word and each alternative occurs in one of them.
fn instances(schema: &Value, part: &Value, path: &str) -> Vec<Value> {
    if let Some(to) = part["$ref"].as_str() {
        return instances(schema, schema.pointer(to.trim_start_matches('#')).unwrap(), path);
    }
    if let Some(words) = part["enum"].as_array() {
        return words.clone();
    }
    if let Some(ways) = part["anyOf"].as_array().filter(|ways| ways.iter().all(|way| way["required"].is_null())) {
        return ways.iter().flat_map(|way| instances(schema, way, path)).collect();
    }
    if let Some(parts) = part["allOf"].as_array() {
        // The definition of a metric, which has a name; at the top it says what it is, too.
        let mut definitions = instances(schema, &parts[0], path);
        for definition in &mut definitions {
            definition["name"] = json!("made_up");
            if path.is_empty() && definition["typical_threshold"].is_null() {
                definition["formula"] = json!("a / b");
            }
        }
        return definitions;
    }
    match part["type"].as_str() {
        Some("object") => objects(schema, part, path),
        Some("array") => {
            let items = instances(schema, &part["items"], path);
            items.into_iter().map(|item| json!([item])).chain([json!([])]).collect()
        }
        Some("boolean") => vec![json!(true), json!(false)],
        Some("integer") => vec![json!(1)],
        Some("number") if part["exclusiveMaximum"] == 1 => vec![json!(0.9)],
        Some("number") => vec![json!(1)],
        _ if part["pattern"].as_str().is_some_and(|pattern| pattern.starts_with("^([")) => {
            words(part).into_iter().map(Value::from).collect()
        }
        _ if part["pattern"].is_string() => vec![json!("95%")],
        _ if path == "composite" => vec![json!("total = accuracy\npass = total ≥ 0.5")],
        _ if path == "composite.pass" => vec![json!("accuracy ≥ 0.5")],
        _ => vec![json!("text")],
    }
}

/// The keys that must be there, with each of the others in turn, and with a name that the schema leaves open.
fn objects(schema: &Value, part: &Value, path: &str) -> Vec<Value> {
    let none = Map::new();
    let properties = part["properties"].as_object().unwrap_or(&none);
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    let mut least = Map::new();
    for key in part["required"].as_array().into_iter().flatten() {
        let key = key.as_str().unwrap();
        least.insert(key.to_owned(), instances(schema, &properties[key], &below(key)).swap_remove(0));
    }
    let free = Some(&part["additionalProperties"]).filter(|free| free.is_object());
    let keys = properties.iter().map(|(key, part)| (key.as_str(), part)).chain(free.map(|part| ("made_up", part)));
    let mut found = vec![Value::Object(least.clone())];
    // Files are followed before a policy is read.
    for (key, part) in keys.filter(|(key, _)| *key != "extends") {
        for value in instances(schema, part, &below(key)) {
            let mut object = least.clone();
            object.insert(key.to_owned(), value);
            found.push(Value::Object(object));
        }
    }
    found
}

#[test]
fn everything_in_the_schema_is_read() {
    let schema = schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let documents: Vec<Value> =
        schema["anyOf"].as_array().unwrap().iter().flat_map(|way| instances(&schema, way, "")).collect();
    for document in &documents {
        assert!(validator.is_valid(document), "{document}");
        if let Err(mistakes) = parse(document) {
            panic!("the schema allows {document}, and we do not:\n{mistakes}");
        }
    }
    assert!(documents.len() > 150, "only {} documents", documents.len());
}

#[test]
fn another_name_means_the_same() {
    fn check(schema: &Value, part: &Value, path: &str, found: &mut usize) {
        for (key, property) in part["properties"].as_object().into_iter().flatten() {
            let description = property["description"].as_str().unwrap_or_default();
            if let Some(name) = description.strip_prefix("Another name for `").and_then(|rest| rest.strip_suffix("`."))
            {
                *found += 1;
                let value = instances(schema, property, "").swap_remove(0);
                let document = |key: &str| match path {
                    "" => json!({key: value}),
                    _ => json!({path: {key: value}}),
                };
                // Places differ, and nothing else.
                let read = |key: &str| {
                    let policy = parse(&document(key)).unwrap();
                    let gates = policy.gates.iter().map(|gate| {
                        let threshold = &gate.threshold;
                        (gate.metric.value.clone(), threshold.number, threshold.unit, gate.level, gate.origin.clone())
                    });
                    (policy.name.clone(), gates.collect::<Vec<_>>())
                };
                assert_eq!(read(key), read(name), "`{key}` and `{name}`");
            }
        }
        if path.is_empty() {
            for (key, property) in part["properties"].as_object().into_iter().flatten() {
                check(schema, property, key, found);
            }
        }
    }
    let schema = schema();
    let mut found = 0;
    check(&schema, &schema["$defs"]["policy"], "", &mut found);
    assert_eq!(found, 2, "other names");
}
