//! A folder to run evaluations in, and what the program makes of them.
#![allow(dead_code)] // every test file uses a part of it

use crate::program;
use calipers_testing::Scratch;
use serde_json::Value;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

/// A folder to run evaluations in.
pub(crate) struct Folder(Scratch);

/// What a command did.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(Scratch::new())
    }

    /// A folder with the files of an example.
    pub(crate) fn of(example: &str) -> Self {
        Self(Scratch::copy_of(&Path::new(EXAMPLES).join(example)))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn with(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        self.0.write(name, text);
        self
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program::calipers().command();
        command.args(arguments).current_dir(&self.0).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        for key in ["OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "COLUMNS"] {
            command.env_remove(key);
        }
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Done {
        let output = self.command(arguments).output().unwrap();
        Done {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// `calipers eval` with these arguments.
    pub(crate) fn eval(&self, arguments: &[&str]) -> Done {
        self.run(&[&["eval"], arguments].concat())
    }

    /// The same as JSON, of a run that has to end well.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        self.eval(&[arguments, &["--json"]].concat()).json()
    }

    /// The logs, the oldest first.
    pub(crate) fn logs(&self) -> Vec<String> {
        let Ok(files) = std::fs::read_dir(self.path("logs")) else { return Vec::new() };
        let mut logs: Vec<String> =
            files.map(|file| format!("logs/{}", file.unwrap().file_name().to_str().unwrap())).collect();
        logs.sort();
        logs
    }

    pub(crate) fn last_log(&self) -> String {
        self.logs().pop().unwrap()
    }

    /// A log as a document.
    #[track_caller]
    pub(crate) fn document(&self, log: &str) -> Value {
        let done = self.run(&["convert", log, "-o", "document.json", "--force"]);
        assert_eq!(done.code, Some(0), "{}", done.err);
        let text = std::fs::read_to_string(self.path("document.json")).unwrap();
        // Inspect writes NaN for what it has no figure for, which is not JSON.
        serde_json::from_str(&text.replace(":NaN", ":null").replace(": NaN", ": null")).unwrap()
    }
}

impl Deref for Folder {
    type Target = Scratch;

    fn deref(&self) -> &Scratch {
        &self.0
    }
}

impl Done {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert!(!self.out.is_empty(), "exit code {:?}: {}", self.code, self.err);
        serde_json::from_str(&self.out).unwrap()
    }

    #[track_caller]
    pub(crate) fn says(&self, code: i32, texts: &[&str]) {
        assert_eq!(self.code, Some(code), "{}{}", self.out, self.err);
        for text in texts {
            assert!(self.err.contains(text), "no `{text}` in:\n{}", self.err);
        }
        assert!(!self.err.contains("panicked"), "{}", self.err);
    }
}

/// The value of a metric of the first scorer and reducer.
#[track_caller]
pub(crate) fn value(json: &Value, metric: &str) -> f64 {
    value_of(json, 0, metric)
}

/// The same for another scorer or reducer, by its place.
#[track_caller]
pub(crate) fn value_of(json: &Value, score: usize, metric: &str) -> f64 {
    json["runs"][0]["scores"][score]["metrics"][metric]["value"]
        .as_f64()
        .unwrap_or_else(|| panic!("no `{metric}` in {json:#}"))
}

/// True when two numbers are the same but for the last bits.
pub(crate) fn near(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9
}
