//! The runs of a history for programs: `calipers.history/1`.

use super::{HistoryFigure, HistoryList, HistoryRun, HistoryVerdict};
use crate::document::{schema_text, to_json};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;

const SCHEMA: &str = "calipers.history/1";

/// A part of a history as JSON.
#[must_use]
pub fn history_json(list: &HistoryList) -> Json {
    to_json(&HistoryDocument {
        schema: SCHEMA,
        total: list.total,
        first: list.first,
        runs: list.runs.iter().map(HistoryRunDocument::from).collect(),
    })
}

/// The schema of the JSON.
#[must_use]
pub fn history_schema() -> String {
    schema_text::<HistoryDocument>("history")
}

/// What `calipers history list --json` prints: runs of a history, the latest first.
#[derive(Serialize, JsonSchema)]
struct HistoryDocument {
    /// The name and version of this schema.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// How many runs were asked for.
    total: u64,
    /// The place of the first run that is listed, from 0.
    first: u64,
    /// The runs, the latest first.
    runs: Vec<HistoryRunDocument>,
}

/// A run of a history.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "history_run")]
struct HistoryRunDocument {
    /// Its name in the history.
    key: String,
    /// Its file.
    source: String,
    /// The format of the file.
    format: String,
    /// The run within the file, if the file holds several.
    run: Option<String>,
    /// What it belongs to.
    suite: String,
    /// The task.
    task: Option<String>,
    /// The model.
    model: Option<String>,
    /// The version that was evaluated.
    version: Option<String>,
    /// Its branch.
    branch: Option<String>,
    /// Its commit.
    commit: Option<String>,
    /// Further names and values that the user gave it.
    tags: BTreeMap<String, String>,
    /// When it began, as its file writes it; null where it does not say.
    started: Option<String>,
    /// When it began, or else when its file was written, in milliseconds since 1970.
    at_ms: i64,
    /// How it ended: `finished`, `open` (running or killed), `cancelled` or `broken`.
    ending: String,
    /// Its samples by outcome.
    samples: HistorySamplesDocument,
    /// The fingerprint of the names and contents of its cases.
    case_set: String,
    /// The fingerprint of its scorers with their options.
    scorers: String,
    /// Its figures, in the order of `calipers score`.
    figures: Vec<HistoryFigureDocument>,
    /// The last verdict on it; null where there is none.
    verdict: Option<HistoryVerdictDocument>,
    /// Why it is not to be counted; null where it is.
    invalid: Option<String>,
    /// True when its file is no longer there.
    gone: bool,
}

/// The samples of a run by outcome.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "history_samples")]
struct HistorySamplesDocument {
    /// Those in the file.
    total: u64,
    /// Those that passed.
    passed: u64,
    /// Those that did not.
    failed: u64,
    /// Those with a score that nothing judges.
    scored: u64,
    /// Those that did not run.
    errored: u64,
    /// Those that ran and have no score.
    unscored: u64,
    /// Those that passed in some attempts and failed in others.
    flaky: u64,
    /// Those that the log announces and that are not in it.
    never_ran: u64,
    /// All attempts.
    attempts: u64,
}

/// A figure of a run.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "history_figure")]
struct HistoryFigureDocument {
    /// The scorer, or the key of its scores.
    score: String,
    /// The reducer, if it is named.
    reducer: Option<String>,
    /// The metric.
    metric: String,
    /// The value; null where it is undefined.
    value: Option<f64>,
    /// The lower end of its interval; null where it has none.
    lower: Option<f64>,
    /// The upper end; null where it has none.
    upper: Option<f64>,
    /// How many samples it rests on.
    n: u64,
    /// How many have no score.
    missing: u64,
}

/// A verdict that was given.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "history_verdict")]
pub(crate) struct HistoryVerdictDocument {
    /// `pass`, `fail` or `undecided`.
    verdict: &'static str,
    /// The file of the policy.
    policy: String,
    /// The hash of the policy.
    policy_hash: String,
    /// When it was given.
    at: String,
}

impl From<&HistoryRun> for HistoryRunDocument {
    fn from(run: &HistoryRun) -> Self {
        let counts = run.counts;
        Self {
            key: run.key.clone(),
            source: run.source.clone(),
            format: run.format.clone(),
            run: run.name.clone(),
            suite: run.suite.clone(),
            task: run.task.clone(),
            model: run.model.clone(),
            version: run.version.clone(),
            branch: run.branch.clone(),
            commit: run.commit.clone(),
            tags: run.tags.iter().cloned().collect(),
            started: run.started.clone(),
            at_ms: run.at_ms,
            ending: run.ending.clone(),
            samples: HistorySamplesDocument {
                total: counts.total,
                passed: counts.passed,
                failed: counts.failed,
                scored: run.scored,
                errored: counts.errored,
                unscored: counts.unscored,
                flaky: counts.flaky,
                never_ran: run.never_ran(),
                attempts: counts.attempts,
            },
            case_set: run.case_set.clone(),
            scorers: run.scorers.clone(),
            figures: run.figures.iter().map(HistoryFigureDocument::from).collect(),
            verdict: run.verdict.as_ref().map(HistoryVerdictDocument::from),
            invalid: run.invalid.clone(),
            gone: run.is_gone,
        }
    }
}

impl From<&HistoryVerdict> for HistoryVerdictDocument {
    fn from(verdict: &HistoryVerdict) -> Self {
        Self {
            verdict: verdict.verdict.name(),
            policy: verdict.policy.clone(),
            policy_hash: verdict.policy_hash.clone(),
            at: verdict.at.clone(),
        }
    }
}

impl From<&HistoryFigure> for HistoryFigureDocument {
    fn from(figure: &HistoryFigure) -> Self {
        Self {
            score: figure.score.clone(),
            reducer: figure.reducer.clone(),
            metric: figure.metric.clone(),
            value: figure.value,
            lower: figure.lower,
            upper: figure.upper,
            n: figure.n,
            missing: figure.missing,
        }
    }
}
