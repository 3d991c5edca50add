//! Answers of an earlier run, to be scored again.

use crate::RunError;
use calipers_core::{ModelOutput, SampleId, TaskSample};
use calipers_io::{Source, read_attempts};
use calipers_run::providers::Replay;
use std::collections::HashSet;

/// The answers of a log, to be scored again.
#[derive(Debug)]
pub struct LogAnswers {
    /// A model that gives the answers of the log.
    pub model: Replay,
    /// The samples of the log, each once.
    pub samples: Vec<TaskSample>,
    /// The task of the log, where it says so.
    pub task: Option<String>,
    /// The most attempts of a sample.
    pub epochs: u32,
}

/// Reads the answers of an Inspect log, such as [`eval`](super::eval) writes.
pub fn replay(path: &str) -> Result<LogAnswers, RunError> {
    let mut known: HashSet<SampleId> = HashSet::new();
    let mut samples = Vec::new();
    let mut outputs: Vec<(SampleId, u32, ModelOutput)> = Vec::new();
    let mut epochs = 1;
    let attempts = read_attempts(&Source::path(path))?;
    let task = attempts.task().map(str::to_owned);
    for attempt in attempts {
        let attempt = attempt?;
        epochs = epochs.max(attempt.epoch);
        let id = attempt.id().clone();
        if known.insert(id.clone()) {
            samples.push(attempt.sample);
        }
        outputs.extend(attempt.output.map(|output| (id, attempt.epoch, output)));
    }
    let name = outputs.first().map_or_else(|| "replay".to_owned(), |(_, _, output)| format!("replay/{}", output.model));
    Ok(LogAnswers { model: Replay::new(name, outputs), samples, task, epochs })
}
