//! The report for programs: `calipers.results/1`, whose nouns and metric keys are those of an Inspect log.

use crate::document::{
    CaveatDocument, DetailsDocument, EntriesDocument, IntervalDocument, SampleIdDocument, ValueDocument,
    caveat_documents, columns_document, details_of, schema_text, to_json,
};
use crate::words::undefined_sentence;
use calipers_core::{
    MetricResult, RecordedResult, Reduction, Report, Results, RunReport, SampleCounts, SampleId, Score, ScoreResult,
    ValueLimit,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// The name and version of the schema.
pub const SCHEMA: &str = "calipers.results/1";

/// The report as JSON.
#[must_use]
pub fn results_json(report: &Report) -> Json {
    to_json(&ResultsDocument {
        schema: SCHEMA,
        runs: report.runs.iter().map(RunDocument::from).collect(),
        caveats: caveat_documents(&report.caveats),
    })
}

/// The schema of the JSON: JSON Schema 2020-12, with every property described.
#[must_use]
pub fn results_schema() -> String {
    schema_text::<ResultsDocument>("results")
}

/// What `calipers score --json` prints: the metrics of one or more runs. Nouns and metric keys are those of an Inspect log.
#[derive(Serialize, JsonSchema)]
struct ResultsDocument {
    /// The name and version of this schema.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// The runs, in the order in which their files were named.
    runs: Vec<RunDocument>,
    /// What to know about the runs together.
    caveats: Vec<CaveatDocument>,
}

/// The results of one run.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "run")]
struct RunDocument {
    /// The file, or `-` for standard input.
    source: String,
    /// The format that the file was read as, one of `calipers formats`.
    format: String,
    /// The run within the file, where the file holds several or something names runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    /// How columns were read, where that differs: our name, and the column.
    #[serde(skip_serializing_if = "Option::is_none")]
    columns: Option<BTreeMap<String, String>>,
    /// The task, if the file names it.
    task: Option<String>,
    /// The model, if the file names it.
    model: Option<String>,
    /// The samples by outcome. Each is scored, unscored or errored, so the three add up to the total.
    samples: SamplesDocument,
    /// The attempts of all samples.
    attempts: AttemptsDocument,
    /// The level of the intervals.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    level: f64,
    /// The seed of everything random.
    seed: u64,
    /// The metadata that tells which samples belong together, if intervals are computed over clusters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cluster: Vec<String>,
    /// The least and the most that one attempt can have of a field or a score, where that was stated.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    limits: BTreeMap<String, LimitDocument>,
    /// The metrics of each scorer (or of each key of its scores), under each reducer.
    scores: Vec<ScoreDocument>,
    /// What to know about the run as a whole.
    caveats: Vec<CaveatDocument>,
    /// What was not read, and why.
    notes: Vec<String>,
    /// The reduced score of every sample. Only with `--reductions`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reductions: Vec<ReductionDocument>,
    /// Figures that the file records and that were not recomputed, because the code that made them is not known here or
    /// the file has no samples.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    recorded: Vec<RecordedDocument>,
}

impl From<&RunReport> for RunDocument {
    fn from(run: &RunReport) -> Self {
        let results = &run.results;
        Self {
            source: run.source.clone(),
            format: run.format.clone(),
            run: run.name.clone(),
            columns: columns_document(&run.columns),
            task: run.task.clone(),
            model: run.model.clone(),
            samples: SamplesDocument::from(&run.samples),
            attempts: AttemptsDocument {
                total: results.attempts,
                errored: results.attempts - results.completed_attempts,
            },
            level: results.level,
            seed: results.seed.0,
            cluster: results.cluster.iter().map(ToString::to_string).collect(),
            limits: results.limits.iter().map(|limit| (limit.name.to_string(), LimitDocument::from(limit))).collect(),
            scores: results.scores.iter().map(|score| ScoreDocument::new(results, score)).collect(),
            caveats: caveat_documents(&results.caveats),
            notes: run.notes.clone(),
            reductions: results.reductions.iter().map(ReductionDocument::from).collect(),
            recorded: run.recorded.iter().map(RecordedDocument::from).collect(),
        }
    }
}

/// What values can be.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "limit")]
struct LimitDocument {
    /// The least.
    min: f64,
    /// The most.
    max: f64,
}

impl From<&ValueLimit> for LimitDocument {
    fn from(limit: &ValueLimit) -> Self {
        Self { min: limit.least, max: limit.most }
    }
}

/// How many samples have which outcome.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "samples")]
struct SamplesDocument {
    /// All samples.
    total: u64,
    /// Samples with a score in at least one attempt.
    scored: u64,
    /// Samples that ran and have no score.
    unscored: u64,
    /// Samples without a score of which an attempt ended in an error.
    errored: u64,
}

impl From<&SampleCounts> for SamplesDocument {
    fn from(samples: &SampleCounts) -> Self {
        Self { total: samples.total, scored: samples.scored, unscored: samples.unscored, errored: samples.errored }
    }
}

/// How many attempts there are.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "attempts")]
struct AttemptsDocument {
    /// All attempts.
    total: u64,
    /// Attempts that ended in an error.
    errored: u64,
}

/// The metrics of one scorer, or of one key of its scores, under one reducer.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "score")]
struct ScoreDocument {
    /// The scorer, or the key of a scorer that judges several things; `run` for metrics over fields.
    name: String,
    /// The scorer; null for metrics over fields.
    scorer: Option<String>,
    /// How attempts became one score per sample, if it was named or has to be.
    reducer: Option<String>,
    /// How many samples have a score of this scorer.
    scored_samples: u64,
    /// How many have none.
    unscored_samples: u64,
    /// The metrics by their unique names, as Inspect names them.
    metrics: EntriesDocument<MetricDocument>,
}

impl ScoreDocument {
    fn new(results: &Results, score: &ScoreResult) -> Self {
        let metrics = score.metrics.iter().map(|(key, metric)| (key.clone(), MetricDocument::new(results, metric)));
        Self {
            name: score.name.clone(),
            scorer: score.scorer.as_deref().map(str::to_owned),
            reducer: score.reducer.clone(),
            scored_samples: score.scored_samples,
            unscored_samples: score.unscored_samples,
            metrics: EntriesDocument(metrics.collect()),
        }
    }
}

/// One number with what is needed to defend it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "metric")]
#[schemars(extend("if" = {"properties": {"value": {"type": "null"}}}, "then" = {"required": ["undefined"]}))]
struct MetricDocument {
    /// The metric, or the name of this number within it.
    name: String,
    /// The metric, for numbers that are one of several.
    group: Option<String>,
    /// The number; null where it is undefined.
    value: Option<f64>,
    /// The number as the file records it, where that is another; a caveat says why it may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    recorded: Option<f64>,
    /// The parameters of the metric.
    params: EntriesDocument<ValueDocument>,
    /// How many samples (or attempts, for metrics over attempts) it rests on.
    n: u64,
    /// How many have no score and are left out.
    missing: u64,
    /// How it was computed.
    method: String,
    /// How far it may be from the truth; null where that cannot be said.
    interval: Option<IntervalDocument>,
    /// What to know before relying on it.
    caveats: Vec<CaveatDocument>,
    /// Why there is no number. With `--compat inspect` it is beside the placeholder that Inspect prints.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), with = "String")]
    undefined: Option<String>,
    /// Intermediate numbers, such as clusters and degrees of freedom.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DetailsDocument")]
    details: Option<DetailsDocument>,
}

impl MetricDocument {
    fn new(results: &Results, metric: &MetricResult) -> Self {
        let figure = &metric.figure;
        let params = metric.params.iter().map(|(name, value)| (name.to_string(), ValueDocument::from(value)));
        Self {
            name: metric.name.clone(),
            group: metric.group.clone(),
            value: results.shown(figure).ok(),
            recorded: metric.recorded,
            params: EntriesDocument(params.collect()),
            n: figure.n,
            missing: figure.missing,
            method: figure.method.clone().into_owned(),
            interval: figure.interval.map(IntervalDocument::from),
            caveats: caveat_documents(&figure.caveats),
            undefined: figure.value.as_ref().err().map(undefined_sentence),
            details: details_of(figure),
        }
    }
}

/// The reduced scores of one scorer.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "reduction")]
struct ReductionDocument {
    /// The scorer.
    scorer: String,
    /// The reducer, if it was named or has to be.
    reducer: Option<String>,
    /// The score of each sample.
    samples: Vec<ReducedScoreDocument>,
}

impl From<&Reduction> for ReductionDocument {
    fn from(reduction: &Reduction) -> Self {
        Self {
            scorer: reduction.scorer.to_string(),
            reducer: reduction.reducer.clone(),
            samples: reduction.samples.iter().map(|(id, score)| ReducedScoreDocument::new(id, score)).collect(),
        }
    }
}

/// The score of one sample.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "reduced_score")]
struct ReducedScoreDocument {
    /// The sample, as its file names it.
    sample_id: SampleIdDocument,
    /// The reduced score; null where the sample has none.
    value: ValueDocument,
    /// The answer that was judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    answer: Option<String>,
    /// Why it was judged so.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    explanation: Option<String>,
    /// The metadata of the first attempt's score.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "EntriesDocument<ValueDocument>")]
    metadata: Option<EntriesDocument<ValueDocument>>,
}

impl ReducedScoreDocument {
    fn new(id: &SampleId, score: &Score) -> Self {
        Self {
            sample_id: SampleIdDocument::from(id),
            value: ValueDocument::from(&score.value),
            answer: score.answer.as_deref().map(str::to_owned),
            explanation: score.explanation.as_deref().map(str::to_owned),
            metadata: score.metadata.as_ref().map(|metadata| {
                EntriesDocument(metadata.iter().map(|(key, value)| (key.to_string(), value.into())).collect())
            }),
        }
    }
}

/// A figure as the file records it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "recorded")]
struct RecordedDocument {
    /// The scorer, or the key of its scores.
    score: String,
    /// The reducer, if it is named.
    reducer: Option<String>,
    /// The metric.
    metric: String,
    /// The number, if there is one.
    value: Option<f64>,
    /// Its standard error, if the file records it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    stderr: Option<f64>,
    /// How many samples it rests on, if the file says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    n: Option<u64>,
    /// Made from the recorded error, where the file has no samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "IntervalDocument")]
    interval: Option<IntervalDocument>,
}

impl From<&RecordedResult> for RecordedDocument {
    fn from(recorded: &RecordedResult) -> Self {
        Self {
            score: recorded.score.clone(),
            reducer: recorded.reducer.clone(),
            metric: recorded.metric.clone(),
            value: recorded.value.filter(|x| x.is_finite()),
            stderr: recorded.stderr.filter(|x| x.is_finite()),
            n: recorded.n,
            interval: recorded.interval.map(IntervalDocument::from),
        }
    }
}
