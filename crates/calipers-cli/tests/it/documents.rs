//! The JSON documents and their schemas: what is published is what the code writes, documents of 0.1.0 are valid today, and
//! documents of today are valid for readers that were written for 0.1.0.
//!
//! The tests of each command validate what it prints with [`Validators`], which checks both schemas.

use crate::program;
use calipers_testing::{ROOT, snapshot};
use jsonschema::Validator;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The documents whose schema is generated.
const DOCUMENTS: [&str; 7] = ["baseline", "compare", "findings", "gate", "plan", "raise", "results"];

/// Those that came after 0.1.0.
const NEW_DOCUMENTS: [&str; 7] = ["case", "history", "judge", "sample", "samples", "trend", "verdicts"];

/// The schema of a document as it was in 0.1.0.
fn first_schema(name: &str) -> Value {
    let path = Path::new(ROOT).join(format!("testdata/schemas/0.1.0/calipers.{name}.1.json"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The schema that the program prints.
pub(crate) fn schema_text(name: &str) -> String {
    let output = program::calipers().command().args(["schema", name]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{name}");
    String::from_utf8(output.stdout).unwrap()
}

/// The schemas that a document keeps to.
pub(crate) struct Validators {
    today: Validator,
    first: Validator,
}

impl Validators {
    /// The schema of today and that of 0.1.0.
    pub(crate) fn new(name: &str) -> Self {
        let build =
            |schema: &Value| jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(schema).unwrap();
        let today = serde_json::from_str(&schema_text(name)).unwrap();
        Self { today: build(&today), first: build(&first_schema(name)) }
    }

    /// True when a document keeps to the schema of today.
    pub(crate) fn is_valid(&self, document: &Value) -> bool {
        self.today.is_valid(document)
    }

    /// Fails unless a document keeps to both schemas.
    #[track_caller]
    pub(crate) fn check(&self, document: &Value, what: &str) {
        let known = without_additions(document);
        for (version, validator, document) in [("today", &self.today, document), ("0.1.0", &self.first, &known)] {
            let errors = validator.iter_errors(document);
            let errors: Vec<String> = errors.map(|error| format!("{error} at {}", error.instance_path())).collect();
            assert!(errors.is_empty(), "{what}, by the schema of {version}:\n{}", errors.join("\n"));
        }
    }
}

/// Keys that documents have gained since 0.1.0, by the key of the list, or of the map of metrics, that they are in. Its readers
/// do not know them.
const ADDITIONS: [(&str, &[&str]); 4] = [
    ("recorded", &["stderr", "n", "interval"]),
    ("samples", &["metadata"]),
    ("metrics", &["recorded", "typical"]),
    ("resources", &["typical"]),
];

/// A document without the keys that it has gained since 0.1.0.
fn without_additions(document: &Value) -> Value {
    match document {
        Value::Array(items) => items.iter().map(without_additions).collect(),
        Value::Object(entries) => {
            let mut kept = serde_json::Map::new();
            for (key, value) in entries {
                let mut value = without_additions(value);
                let added = ADDITIONS.iter().filter(|(list, _)| list == key).flat_map(|(_, added)| *added);
                for added in added {
                    let items: Vec<&mut Value> = match &mut value {
                        Value::Array(items) => items.iter_mut().collect(),
                        Value::Object(entries) if key == "metrics" => entries.values_mut().collect(),
                        _ => Vec::new(),
                    };
                    items.into_iter().filter_map(Value::as_object_mut).for_each(|item| drop(item.remove(*added)));
                }
                kept.insert(key.clone(), value);
            }
            Value::Object(kept)
        }
        plain => plain.clone(),
    }
}

#[test]
fn published_schemas_are_those_of_the_code() {
    for name in DOCUMENTS.into_iter().chain(NEW_DOCUMENTS) {
        snapshot::assert_file(Path::new(ROOT).join(format!("docs/schemas/calipers.{name}.1.json")), &schema_text(name));
    }
}

#[test]
fn documents_of_0_1_0_are_valid() {
    let folder = Path::new(ROOT).join("testdata/documents/0.1.0");
    let files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    for name in DOCUMENTS {
        let validators = Validators::new(name);
        let is_one = |file: &&PathBuf| file.file_name().unwrap().to_string_lossy().starts_with(&format!("{name}-"));
        let documents: Vec<&PathBuf> = files.iter().filter(is_one).collect();
        assert!(documents.len() > 1, "documents of `{name}`: {documents:?}");
        for file in documents {
            let document: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
            validators.check(&document, &file.display().to_string());
        }
    }
}

#[test]
fn every_property_is_described_and_no_key_is_free_that_we_name() {
    fn check(schema: &Value, place: &str) {
        let Some(map) = schema.as_object() else { return };
        if let Some(properties) = map.get("properties").and_then(Value::as_object).filter(|_| !place.ends_with("/if")) {
            assert_eq!(map.get("additionalProperties"), Some(&Value::Bool(false)), "{place}");
            for (name, property) in properties {
                assert!(property["description"].is_string(), "{place}/{name} has no description");
            }
        }
        for (key, part) in map {
            check(part, &format!("{place}/{key}"));
        }
    }
    for name in DOCUMENTS.into_iter().chain(NEW_DOCUMENTS) {
        let schema: Value = serde_json::from_str(&schema_text(name)).unwrap();
        assert_eq!(schema["title"], format!("calipers.{name}/1"));
        check(&schema, name);
    }
}
