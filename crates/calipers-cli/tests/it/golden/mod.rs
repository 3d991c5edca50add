//! The golden vectors, the program that is to reproduce them, and a folder to do it in.
#![allow(dead_code)] // each test file uses its own part

use serde_json::Value as Json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The vectors of a family with this statistic.
pub(crate) fn vectors(family: &str, statistic: &str) -> Vec<Json> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/vectors/golden").join(family);
    let file: Json = serde_json::from_slice(&fs::read(path.with_extension("json")).unwrap()).unwrap();
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

/// A folder of its own, gone when the test ends.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("calipers-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.join(name).exists()
    }

    pub(crate) fn calipers(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_calipers"));
        command.current_dir(&self.0).args(arguments).env("LC_ALL", "C.UTF-8");
        command.output().unwrap()
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
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(message), "{errors}");
        assert!(output.stdout.is_empty());
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
