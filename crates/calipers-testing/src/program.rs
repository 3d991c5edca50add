//! The program under test.

use crate::Scratch;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Variables that change what the program does, and must not leak into a test from the machine that runs it.
const VARIABLES: [&str; 24] = [
    "ANTHROPIC_API_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_ENDPOINT_URL",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "BITBUCKET_BUILD_NUMBER",
    "BUILDKITE",
    "CALIPERS_ALLOW_HTTP",
    "CALIPERS_CONFIG",
    "CALIPERS_HISTORY",
    "CALIPERS_STORE_SECONDS",
    "CIRCLECI",
    "COLUMNS",
    "DRONE",
    "GITHUB_ACTIONS",
    "GITHUB_STEP_SUMMARY",
    "GITLAB_CI",
    "JENKINS_URL",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "TF_BUILD",
    "TRAVIS",
];

/// A binary that cargo has built for the tests.
#[derive(Clone, Debug)]
pub struct Program(PathBuf);

impl Program {
    /// The binary at `path`, which only the crate that has it can name: `env!("CARGO_BIN_EXE_calipers")`.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Where the binary is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A command without arguments yet.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.0);
        // Plots are drawn with the characters that the terminal can show.
        command.env("LC_ALL", "C.UTF-8");
        for variable in VARIABLES {
            command.env_remove(variable);
        }
        command
    }

    /// Runs it in the folder of the crate under test.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command().args(arguments).output().unwrap()
    }

    /// Runs it in a folder.
    pub fn run_in(&self, folder: &Scratch, arguments: &[&str]) -> Output {
        self.command().args(arguments).current_dir(folder).output().unwrap()
    }

    /// Runs it with this on its standard input.
    pub fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Output {
        let mut command = self.command();
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A program that finds a mistake in its arguments does not wait for its input.
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap()
    }
}

/// Output as text.
#[track_caller]
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
