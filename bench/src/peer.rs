//! The Python process and what is said to it.

use crate::cases::Numbers;
use crate::clock::Times;
use serde_json::{Value as Json, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A Python process that holds the peers' data.
pub(crate) struct Peers {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    hello: Json,
}

impl Peers {
    pub(crate) fn start(python: &str, data: &Path) -> Result<Self, String> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join("inspect_side.py");
        let mut command = Command::new(python);
        command.arg(script).arg(data).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(|cause| format!("`{python}` did not start: {cause}"))?;
        let (Some(requests), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            return Err("Python has no standard input or output".into());
        };
        let mut peers = Self { process, requests, answers: BufReader::new(answers), hello: Json::Null };
        peers.hello = peers.answer()?;
        Ok(peers)
    }

    /// A version that the process named.
    pub(crate) fn version(&self, of: &str) -> &str {
        self.hello["versions"][of].as_str().unwrap_or("unknown")
    }

    pub(crate) fn has(&self, peer: &str, case: &str) -> bool {
        self.hello["cases"][peer].as_array().is_some_and(|cases| cases.iter().any(|known| known == case))
    }

    /// Makes the objects that cases run on, and returns the CPU seconds that took.
    pub(crate) fn build(&mut self, what: &str) -> Result<f64, String> {
        let answer = self.ask(&json!({ "build": what }))?;
        answer["seconds"].as_f64().ok_or_else(|| "Python did not say how long building took".into())
    }

    pub(crate) fn drop_all(&mut self) -> Result<(), String> {
        self.ask(&json!({ "drop": "all" })).map(|_| ())
    }

    pub(crate) fn measure(&mut self, peer: &str, case: &str, runs: u32) -> Result<(Times, Numbers), String> {
        // A case that takes a minute is measured once.
        let answer = self.ask(&json!({ "case": case, "peer": peer, "runs": runs, "budget": 3.0 }))?;
        let numbers = |key: &str| -> Vec<f64> {
            answer[key].as_array().into_iter().flatten().map(|x| x.as_f64().unwrap_or(f64::NAN)).collect()
        };
        let name = |name: &Json| name.as_str().unwrap_or_default().to_owned();
        let names = answer["names"].as_array().into_iter().flatten().map(name).collect();
        let times = Times::new(numbers("seconds")).ok_or("Python sent no times")?;
        Ok((times, Numbers { names, values: numbers("values") }))
    }

    fn ask(&mut self, request: &Json) -> Result<Json, String> {
        writeln!(self.requests, "{request}").map_err(|cause| format!("Python does not listen: {cause}"))?;
        self.answer()
    }

    fn answer(&mut self) -> Result<Json, String> {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line).map_err(|cause| format!("Python cannot be read: {cause}"))?;
        if read == 0 {
            return Err("Python ended early; its own message is above".into());
        }
        // Python writes NaN and infinities as no JSON has them.
        let line = line.replace("NaN", "null").replace("-Infinity", "null").replace("Infinity", "null");
        serde_json::from_str(&line).map_err(|cause| format!("Python answered `{}`: {cause}", line.trim()))
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        // It ends by itself when its standard input does; this is for when it hangs.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
