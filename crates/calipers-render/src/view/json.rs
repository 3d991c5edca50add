//! Samples, cases and verdicts for programs: the same answers as on the pages.

use super::{
    AttemptView, CaseEntry, CaseView, SampleList, SampleRow, SampleView, VerdictEntry, VerdictsView, ViewMessage,
};
use crate::document::{ValueDocument, schema_text, to_json};
use crate::history::HistoryVerdictDocument;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;

const SAMPLES: &str = "calipers.samples/1";
const SAMPLE: &str = "calipers.sample/1";
const CASE: &str = "calipers.case/1";
const VERDICTS: &str = "calipers.verdicts/1";

/// The samples of a run as JSON.
#[must_use]
pub fn samples_json(list: &SampleList) -> Json {
    to_json(&SamplesDocument {
        schema: SAMPLES,
        run: list.run.key.clone(),
        total: list.total,
        first: list.first,
        samples: list.rows.iter().map(SampleRowDocument::from).collect(),
    })
}

/// The schema of the samples.
#[must_use]
pub fn samples_schema() -> String {
    schema_text::<SamplesDocument>("samples")
}

/// A sample with one of its attempts as JSON.
#[must_use]
pub fn sample_json(view: &SampleView) -> Json {
    to_json(&SampleDocument {
        schema: SAMPLE,
        run: view.run.key.clone(),
        sample: SampleRowDocument::from(&view.row),
        epoch: view.epoch,
        input: view.input.clone(),
        target: view.target.clone(),
        attempt: view.attempt.as_ref().map(AttemptDocument::from),
        problem: view.problem.clone(),
        next: view.neighbours.0.clone(),
        previous: view.neighbours.1.clone(),
        other_runs: view.other_runs,
    })
}

/// The schema of a sample.
#[must_use]
pub fn sample_schema() -> String {
    schema_text::<SampleDocument>("sample")
}

/// A case over time as JSON.
#[must_use]
pub fn case_json(view: &CaseView) -> Json {
    to_json(&CaseDocument {
        schema: CASE,
        suite: view.suite.clone(),
        id: view.id.clone(),
        total: view.total,
        runs: view.entries.iter().map(CaseRunDocument::from).collect(),
    })
}

/// The schema of a case.
#[must_use]
pub fn case_schema() -> String {
    schema_text::<CaseDocument>("case")
}

/// The verdicts on runs as JSON.
#[must_use]
pub fn verdicts_json(view: &VerdictsView) -> Json {
    let policy = view.policy.as_ref().map(|(name, hash)| ReplayedPolicy { name: name.clone(), hash: hash.clone() });
    to_json(&VerdictsDocument {
        schema: VERDICTS,
        suite: view.suite.clone(),
        policy,
        total: view.total,
        runs: view.entries.iter().map(JudgedRunDocument::from).collect(),
    })
}

/// The schema of verdicts.
#[must_use]
pub fn verdicts_schema() -> String {
    schema_text::<VerdictsDocument>("verdicts")
}

/// Samples of a run, those that did not pass first.
#[derive(Serialize, JsonSchema)]
struct SamplesDocument {
    /// The name and version of this schema.
    #[schemars(extend("const" = SAMPLES))]
    schema: &'static str,
    /// The run.
    run: String,
    /// How many samples were asked for.
    total: u64,
    /// The place of the first sample that is listed, from 0.
    first: u64,
    /// The samples.
    samples: Vec<SampleRowDocument>,
}

/// A sample of a run.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "sample")]
struct SampleRowDocument {
    /// Its name.
    id: String,
    /// `passed`, `failed`, `scored`, `errored` or `unscored`.
    outcome: &'static str,
    /// Its attempts.
    attempts: u32,
    /// Those that passed.
    passed: u32,
    /// Those that did not.
    failed: u32,
    /// The mean of its scores by the first scorer; null where there is none.
    score: Option<f64>,
}

/// A sample of a run with one of its attempts.
#[derive(Serialize, JsonSchema)]
struct SampleDocument {
    /// The name and version of this schema.
    #[schemars(extend("const" = SAMPLE))]
    schema: &'static str,
    /// The run.
    run: String,
    /// How the sample ended.
    sample: SampleRowDocument,
    /// The epoch of the attempt.
    epoch: u32,
    /// What was asked; null where the file does not say.
    input: Option<String>,
    /// What should be answered.
    target: Option<String>,
    /// The attempt; null where the file cannot be read.
    attempt: Option<AttemptDocument>,
    /// Why the attempt cannot be read; null where it can.
    problem: Option<String>,
    /// The next sample in the list of the run.
    next: Option<String>,
    /// The sample before.
    previous: Option<String>,
    /// How many other runs of the suite have a sample of this name.
    other_runs: u64,
}

/// An attempt as its file has it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "attempt")]
struct AttemptDocument {
    /// The error that it ended in.
    error: Option<String>,
    /// Its scores.
    scores: Vec<AttemptScoreDocument>,
    /// Measurements such as latency and tokens, as text.
    fields: BTreeMap<String, String>,
    /// What else the file says about it, as text.
    metadata: BTreeMap<String, String>,
    /// The number of messages of its conversation.
    messages_total: u64,
    /// The place of the first message that is listed, from 0.
    messages_first: u64,
    /// Messages of its conversation.
    messages: Vec<MessageDocument>,
    /// The answer; null where the conversation ends with it.
    output: Option<String>,
}

/// A score of an attempt.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "attempt_score")]
struct AttemptScoreDocument {
    /// The scorer.
    scorer: String,
    /// The score; null where the scorer gave none.
    value: ValueDocument,
    /// The answer that was scored.
    answer: Option<String>,
    /// The reason, or why there is no score.
    explanation: Option<String>,
}

/// A message of a conversation.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "message")]
struct MessageDocument {
    /// Who speaks.
    role: &'static str,
    /// What is said.
    text: String,
    /// The tools that are called.
    calls: Vec<ToolCallDocument>,
}

/// A call of a tool.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "tool_call")]
struct ToolCallDocument {
    /// The tool.
    function: String,
    /// Its arguments, as they were written.
    arguments: String,
}

/// A case in all runs that have it, the latest first.
#[derive(Serialize, JsonSchema)]
struct CaseDocument {
    /// The name and version of this schema.
    #[schemars(extend("const" = CASE))]
    schema: &'static str,
    /// Its suite.
    suite: String,
    /// Its name.
    id: String,
    /// How many runs have it; more than are listed if there are too many.
    total: u64,
    /// The runs.
    runs: Vec<CaseRunDocument>,
}

/// A case in one run.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "case_run")]
struct CaseRunDocument {
    /// The run.
    key: String,
    /// When it began, or when its file was written, in milliseconds since 1970.
    at_ms: i64,
    /// The model.
    model: Option<String>,
    /// The version.
    version: Option<String>,
    /// `passed`, `failed`, `scored`, `errored` or `unscored`.
    outcome: &'static str,
    /// The attempts.
    attempts: u32,
    /// Those that passed.
    passed: u32,
    /// Those that did not.
    failed: u32,
    /// The mean of the scores by the first scorer.
    score: Option<f64>,
    /// True when the case asks something else than in the run of the same model before.
    is_changed: bool,
}

/// Verdicts on the latest runs: those that were given, and what the policy of the server says.
#[derive(Serialize, JsonSchema)]
struct VerdictsDocument {
    /// The name and version of this schema.
    #[schemars(extend("const" = VERDICTS))]
    schema: &'static str,
    /// The suite; null for all.
    suite: Option<String>,
    /// The policy that is replayed; null where the server has none.
    policy: Option<ReplayedPolicy>,
    /// How many runs there are; more than are listed if there are too many.
    total: u64,
    /// The runs, the latest first.
    runs: Vec<JudgedRunDocument>,
}

/// The policy of a server.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "replayed_policy")]
struct ReplayedPolicy {
    /// Its file.
    name: String,
    /// Its hash.
    hash: String,
}

/// A run with the verdicts on it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "judged_run")]
struct JudgedRunDocument {
    /// The run.
    key: String,
    /// When it began, or when its file was written, in milliseconds since 1970.
    at_ms: i64,
    /// Its suite.
    suite: String,
    /// The model.
    model: Option<String>,
    /// The version.
    version: Option<String>,
    /// The verdicts that were given, the latest first.
    given: Vec<HistoryVerdictDocument>,
    /// What the policy of the server says today: `pass`, `fail` or `undecided`; null where it says nothing.
    replayed: Option<&'static str>,
    /// What decides it, or why the run cannot be judged.
    reason: Option<String>,
}

impl From<&SampleRow> for SampleRowDocument {
    fn from(row: &SampleRow) -> Self {
        Self {
            id: row.id.clone(),
            outcome: row.outcome.name(),
            attempts: row.attempts,
            passed: row.passed,
            failed: row.failed,
            score: row.score,
        }
    }
}

impl From<&AttemptView> for AttemptDocument {
    fn from(attempt: &AttemptView) -> Self {
        let scores = attempt.scores.iter().map(|(scorer, value, answer, explanation)| AttemptScoreDocument {
            scorer: scorer.clone(),
            value: ValueDocument::from(value),
            answer: answer.clone(),
            explanation: explanation.clone(),
        });
        let (first, total) = attempt.place;
        Self {
            error: attempt.error.clone(),
            scores: scores.collect(),
            fields: attempt.fields.iter().cloned().collect(),
            metadata: attempt.facts.iter().cloned().collect(),
            messages_total: total as u64,
            messages_first: first as u64,
            messages: attempt.messages.iter().map(MessageDocument::from).collect(),
            output: attempt.output.clone(),
        }
    }
}

impl From<&ViewMessage> for MessageDocument {
    fn from(message: &ViewMessage) -> Self {
        let calls = message
            .calls
            .iter()
            .map(|(function, arguments)| ToolCallDocument { function: function.clone(), arguments: arguments.clone() });
        Self { role: message.role, text: message.text.clone(), calls: calls.collect() }
    }
}

impl From<&CaseEntry> for CaseRunDocument {
    fn from(entry: &CaseEntry) -> Self {
        Self {
            key: entry.run.key.clone(),
            at_ms: entry.run.at_ms,
            model: entry.run.model.clone(),
            version: entry.run.version.clone(),
            outcome: entry.outcome.name(),
            attempts: entry.attempts,
            passed: entry.passed,
            failed: entry.failed,
            score: entry.score,
            is_changed: entry.is_changed,
        }
    }
}

impl From<&VerdictEntry> for JudgedRunDocument {
    fn from(entry: &VerdictEntry) -> Self {
        let (replayed, reason) = match &entry.replayed {
            Some(Ok((verdict, why))) => (Some(verdict.name()), Some(why.clone())),
            Some(Err(why)) => (None, Some(why.clone())),
            None => (None, None),
        };
        Self {
            key: entry.run.key.clone(),
            at_ms: entry.run.at_ms,
            suite: entry.run.suite.clone(),
            model: entry.run.model.clone(),
            version: entry.run.version.clone(),
            given: entry.given.iter().map(HistoryVerdictDocument::from).collect(),
            replayed,
            reason,
        }
    }
}
