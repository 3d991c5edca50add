//! The JSON documents and their schemas: what is published is what the code writes, and documents of earlier versions stay
//! valid. `crates/calipers-cli/tests/it/schema.rs` checks the other way: today's documents under the schemas of 0.1.0.

use calipers_testing::{ROOT, snapshot};
use serde_json::Value;
use std::path::Path;

type Schema = fn() -> String;

/// The documents whose schema is generated, each with its schema.
const DOCUMENTS: [(&str, Schema); 4] = [
    ("compare", calipers_render::compare_schema),
    ("findings", calipers_render::findings_schema),
    ("plan", calipers_render::plan_schema),
    ("results", calipers_render::results_schema),
];

#[test]
fn published_schemas_are_those_of_the_code() {
    for (name, schema) in DOCUMENTS {
        snapshot::assert_file(Path::new(ROOT).join(format!("docs/schemas/calipers.{name}.1.json")), &schema());
    }
}

#[test]
fn documents_of_0_1_0_are_valid() {
    for (name, schema) in DOCUMENTS {
        let schema: Value = serde_json::from_str(&schema()).unwrap();
        let validator = jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(&schema).unwrap();
        let mut documents = 0;
        for file in std::fs::read_dir(Path::new(ROOT).join("testdata/documents/0.1.0")).unwrap() {
            let path = file.unwrap().path();
            if !path.file_name().unwrap().to_string_lossy().starts_with(name) {
                continue;
            }
            documents += 1;
            let document: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            let errors: Vec<String> =
                validator.iter_errors(&document).map(|error| format!("{error} at {}", error.instance_path())).collect();
            assert!(errors.is_empty(), "{}:\n{}", path.display(), errors.join("\n"));
        }
        assert!(documents > 0, "no document of `{name}`");
    }
}
