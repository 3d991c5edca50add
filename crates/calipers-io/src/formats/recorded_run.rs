//! The run that a reader produces from a file.

use calipers_core::{Completeness, Samples, Value};

/// The recorded results of one evaluation.
#[derive(Clone, Debug, Default)]
pub struct RecordedRun<S = Samples> {
    /// The file, or `-` for standard input.
    pub source: String,
    /// The format that the file was read as.
    pub format: &'static str,
    /// The run within the file, if the file holds several or the user says what names runs.
    pub name: Option<String>,
    /// What was read as what: a name of ours and the column, where they differ.
    pub columns: Vec<(String, String)>,
    /// The task, if the file names it.
    pub task: Option<String>,
    /// The model, if the file names it.
    pub model: Option<String>,
    /// What was tried, as far as all records of a table say the same: columns such as `model` and `agent`, and their values.
    pub tried: Vec<(String, String)>,
    /// When the run began, as the file writes it.
    pub created: Option<String>,
    /// The commit that was evaluated, if the file names it.
    pub commit: Option<String>,
    /// The samples with their attempts, scores, fields and metadata.
    pub samples: S,
    /// The metrics that the file itself records.
    pub recorded: RecordedResults,
    /// What was read beside what the log announces; none where it announces nothing.
    pub completeness: Option<Completeness>,
    /// What was not read, and why.
    pub notes: Vec<String>,
}

impl<S> RecordedRun<S> {
    /// The run without its samples, and the samples.
    pub fn split(self) -> (RecordedRun<()>, S) {
        let mut taken = None;
        let run = self.map_samples(|samples| taken = Some(samples));
        (run, taken.expect("a run has samples"))
    }

    /// The same run with its samples in another form.
    pub fn map_samples<T>(self, form: impl FnOnce(S) -> T) -> RecordedRun<T> {
        RecordedRun {
            source: self.source,
            format: self.format,
            name: self.name,
            columns: self.columns,
            task: self.task,
            model: self.model,
            tried: self.tried,
            created: self.created,
            commit: self.commit,
            samples: form(self.samples),
            recorded: self.recorded,
            completeness: self.completeness,
            notes: self.notes,
        }
    }
}

/// What a log says was computed when it was written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedResults {
    /// The scorers with their metrics, in order.
    pub scorers: Vec<RecordedScorer>,
    /// The reducers of attempts; `None` if the log does not say, empty if reduction was turned off.
    pub reducers: Option<Vec<String>>,
    /// The figures in the log.
    pub figures: Vec<RecordedFigure>,
}

/// A scorer as a log records it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedScorer {
    /// The scorer.
    pub name: String,
    /// Its metrics.
    pub metrics: Vec<RecordedMetric>,
    /// Its options, such as the model that judges; none where the log does not say.
    pub options: Option<Value>,
}

/// A metric as a log records it: a name with parameters, or metrics by the keys of map scores.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordedMetric {
    /// A metric with its parameters (a map, or null).
    Named {
        /// The name, without the package it comes from.
        name: String,
        /// The parameters.
        params: Value,
    },
    /// A metric from custom code. Ours of the same name may differ.
    Custom {
        /// The name, without the package it comes from.
        name: String,
        /// The parameters (a map, or null).
        params: Value,
    },
    /// Metrics by key or pattern. One without keys says that there is a list, which may be empty or hold one map.
    Keyed(Vec<(String, Vec<RecordedMetric>)>),
}

/// A figure as a log records it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedFigure {
    /// The scorer.
    pub scorer: String,
    /// The name of the score: the scorer, or a key of its maps.
    pub score: String,
    /// The reducer, if it is named.
    pub reducer: Option<String>,
    /// The key of the metric.
    pub metric: String,
    /// The number; `None` where the log has none.
    pub value: Option<f64>,
    /// Its standard error, if the log records that of this figure.
    pub stderr: Option<f64>,
    /// How many samples it rests on, if the log says so.
    pub n: Option<u64>,
}
