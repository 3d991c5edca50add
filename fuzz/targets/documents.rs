//! Documents that people write: policies, suites and calipers.toml, in JSON, YAML and TOML.
#![no_main]

use calipers::io::read_document;
use calipers::policy::{Mistake, Policy};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for name in ["policy.json", "policy.yaml", "calipers.toml"] {
        let document = match read_document(name, bytes) {
            Ok(document) => document,
            Err(mistake) => {
                assert!(!mistake.to_string().is_empty());
                continue;
            }
        };
        // A document that extends itself must end too.
        let whole = document.clone().extended(&mut |_| Ok(document.clone()));
        let alone = whole.or_else(|_| document.clone().extended(&mut |_| Err(vec![Mistake::new("none")])));
        if let Err(mistakes) = alone.and_then(|document| Policy::parse(&document)) {
            assert!(mistakes.iter().all(|mistake| !mistake.to_string().is_empty()));
        }
    }
});
