//! The golden vectors, the program that must reproduce them, and a folder to do it in.

use crate::program::calipers;
use calipers_testing::{Scratch, text, vectors};
use serde_json::Value as Json;
use std::ops::Deref;
use std::process::Output;

/// The vectors of a family with this statistic.
pub(crate) fn vectors(family: &str, statistic: &str) -> Vec<Json> {
    let file = vectors::read(vectors::folder().join("golden").join(family).with_extension("json"));
    let is_asked = |v: &&Json| v["statistic"] == statistic;
    let vectors: Vec<Json> = file["vectors"].as_array().unwrap().iter().filter(is_asked).cloned().collect();
    assert!(!vectors.is_empty(), "no vector of {statistic}");
    vectors
}

/// A number of a vector, or what stands in its place.
#[track_caller]
pub(crate) fn same(vector: &Json, key: &str, got: &Json) {
    let want = vector["expected"][key].as_f64();
    let bound = |key: &str| vector["tolerance"][key].as_f64().unwrap();
    let is_same = match (got.as_f64(), want) {
        (Some(got), Some(want)) => (got - want).abs() <= bound("abs") + bound("rel") * want.abs(),
        (got, want) => got.is_none() && want.is_none(),
    };
    assert!(is_same, "{} {key}: got {got}, want {want:?}", vector["name"]);
}

/// A folder in which the program runs.
pub(crate) struct Folder(Scratch);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(Scratch::new())
    }

    pub(crate) fn calipers(&self, arguments: &[&str]) -> Output {
        calipers().run_in(&self.0, arguments)
    }

    /// What the program prints as JSON, whatever its verdict.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Json {
        let output = self.calipers(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"))
    }

    /// The program refuses, and says this.
    #[track_caller]
    pub(crate) fn refuses(&self, arguments: &[&str], message: &str) {
        let output = self.calipers(arguments);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(message), "{errors}");
        assert!(output.stdout.is_empty());
    }
}

impl Deref for Folder {
    type Target = Scratch;

    fn deref(&self) -> &Scratch {
        &self.0
    }
}
