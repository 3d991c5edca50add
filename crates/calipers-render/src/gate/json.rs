//! A verdict for programs: `calipers.gate/1`. Everything that the report has, and no number rounded.

use crate::document::{
    CaveatDocument, DetailsDocument, EntriesDocument, EstimateDocument, IntervalDocument, LevelName, SampleIdDocument,
    SelectionDocument, ThresholdDocument, UnitDocument, caveat_documents, columns_document, schema_text, to_json,
};
use crate::form::indent_document;
use crate::gate::reason_words::{gate_decision, gate_reason};
use crate::gate::rule_words::gate_rule;
use crate::outcome_words::shortcoming_sentence;
use calipers_core::{ScenarioOutcome, Verdict};
use calipers_gate::policy::{BaselineMode, Estimand, Looks};
use calipers_gate::{
    AttemptResult, BaselineResult, CategoryResult, CompositeResult, Coverage, ExpectedBy, GateKind, GateReport,
    GateResult, MetricDifference, Mode, Provenance, SampleUnit, ScenarioCheck, ScenarioResult, Term,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// The name and version of the schema.
const SCHEMA: &str = "calipers.gate/1";

/// The verdict as JSON.
#[must_use]
pub fn gate_json(report: &GateReport) -> Json {
    to_json(&GateDocument::from(report))
}

/// The same as text. It is written straight from the report: a million scenarios as values would take gigabytes.
pub(super) fn gate_json_text(report: &GateReport) -> String {
    indent_document(&GateDocument::from(report))
}

/// The schema of the JSON: JSON Schema 2020-12, with every property described.
#[must_use]
pub fn gate_schema() -> String {
    schema_text::<GateDocument<'_>>("gate")
}

/// What `calipers gate --json` prints: the verdict of a policy on a run, with everything that it rests on.
#[derive(Serialize, JsonSchema)]
struct GateDocument<'r> {
    /// The name and version of this schema.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// The answer: may this version ship?
    verdict: VerdictName,
    /// The gate that decided, in one line; for a pass, how many gates passed.
    decided_by: String,
    /// The place in `gates` of the gate that decided; null for a pass.
    deciding_gate: Option<usize>,
    /// How gates are decided: by comparing estimates with thresholds, or by a one-sided bound that has to clear them.
    mode: ModeName,
    /// The confidence of that bound; null in point mode.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    confidence: Option<f64>,
    /// How often the data may be looked at before that confidence is gone: any number of times, or once for each look that is
    /// counted. Where it is not there, once, at a number of samples chosen in advance.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "LooksName")]
    looks: Option<LooksName>,
    /// Which look at this suite it is, if looks are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "LookDocument")]
    look: Option<LookDocument>,
    /// What the verdict is about, where that is this suite run again and not questions like these.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "EstimandName")]
    estimand: Option<EstimandName>,
    /// The clusters of samples, if the policy names them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ClusterDocument")]
    clusters: Option<ClusterDocument>,
    /// The gates, blocking ones first, in the order of the policy.
    gates: Vec<GateResultDocument>,
    /// Scenarios that must pass.
    required: Vec<ScenarioCheckDocument>,
    /// Scenarios that no rule about single scenarios applies to.
    optional: Vec<ScenarioCheckDocument>,
    /// Pass rates by category, in the order of the run.
    categories: Vec<CategoryRateDocument>,
    /// Formulas, with each term.
    composite: Vec<CompositeDocument>,
    /// The comparison with a baseline; null if there is none.
    baseline: Option<BaselineComparisonDocument>,
    /// The scenarios by outcome, and which ones are missing.
    coverage: CoverageDocument,
    /// Every scenario, in the order of the run.
    #[schemars(with = "Vec<ScenarioDocument>")]
    scenarios: ScenarioList<'r>,
    /// Where all this comes from.
    provenance: GateProvenanceDocument,
    /// What to know about the run as a whole; what belongs to a figure is listed with it.
    caveats: Vec<CaveatDocument>,
}

impl<'r> From<&'r GateReport> for GateDocument<'r> {
    fn from(report: &'r GateReport) -> Self {
        let (mode, confidence) = match report.mode {
            Mode::Point => (ModeName::Point, None),
            Mode::Confidence(level) => (ModeName::Confidence, Some(level)),
        };
        Self {
            schema: SCHEMA,
            verdict: VerdictName::from(report.verdict),
            decided_by: gate_decision(report),
            deciding_gate: report.decided_by.gate(),
            mode,
            confidence,
            looks: match (report.terms.looks, report.terms.look) {
                (Looks::Any, _) => Some(LooksName::Any),
                (Looks::Once, Some(_)) => Some(LooksName::Once),
                (Looks::Once, None) => None,
            },
            look: report.terms.look.map(|look| LookDocument { number: look.number, confidence_together: look.level }),
            estimand: match report.terms.estimand {
                Estimand::QuestionsLikeThese => None,
                Estimand::ThisSuiteRerun => Some(EstimandName::ThisSuiteRerun),
            },
            clusters: report.terms.clusters.as_ref().map(|found| ClusterDocument {
                fields: found.fields.clone(),
                clusters: found.clusters,
                alone: found.alone,
            }),
            gates: report.gates.iter().map(GateResultDocument::from).collect(),
            required: report.required.iter().map(ScenarioCheckDocument::from).collect(),
            optional: report.optional.iter().map(ScenarioCheckDocument::from).collect(),
            categories: report.categories.iter().map(CategoryRateDocument::from).collect(),
            composite: report.composites.iter().map(CompositeDocument::from).collect(),
            baseline: report.baseline.as_ref().map(BaselineComparisonDocument::from),
            coverage: CoverageDocument::from(&report.coverage),
            scenarios: ScenarioList(&report.scenarios),
            provenance: GateProvenanceDocument::from(&report.provenance),
            caveats: caveat_documents(&report.caveats),
        }
    }
}

/// How often the data may be looked at.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "looks")]
enum LooksName {
    Once,
    Any,
}

/// What a verdict is about.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "estimand")]
enum EstimandName {
    ThisSuiteRerun,
}

/// A look at the results of a suite.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "look")]
struct LookDocument {
    /// Its number, counted from 1.
    number: u64,
    /// The confidence of all looks together; `confidence` is what is left for this one.
    confidence_together: f64,
}

/// Samples that belong together.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "clusters")]
struct ClusterDocument {
    /// The fields whose values they share.
    fields: Vec<String>,
    /// How many clusters there are.
    clusters: u64,
    /// Samples without a value of any of the fields, which are clusters by themselves.
    alone: u64,
}

/// Yes, no, or the data do not say.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "verdict")]
enum VerdictName {
    Pass,
    Fail,
    Undecided,
}

impl From<Verdict> for VerdictName {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::Pass,
            Verdict::Fail => Self::Fail,
            Verdict::Undecided => Self::Undecided,
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "mode")]
enum ModeName {
    Point,
    Confidence,
}

/// The outcome of a scenario or an attempt: one of these, never two.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "outcome")]
enum OutcomeName {
    Passed,
    Failed,
    Errored,
    Unscored,
}

impl From<ScenarioOutcome> for OutcomeName {
    fn from(outcome: ScenarioOutcome) -> Self {
        match outcome {
            ScenarioOutcome::Passed => Self::Passed,
            ScenarioOutcome::Failed => Self::Failed,
            ScenarioOutcome::Errored => Self::Errored,
            ScenarioOutcome::Unscored => Self::Unscored,
        }
    }
}

/// A gate with its verdict.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "gate")]
#[schemars(extend(
    "if" = {"properties": {"estimate": {"type": "null"}, "n": {"type": "integer"}}},
    "then" = {"required": ["undefined"]}
))]
struct GateResultDocument {
    /// The metric, or what is counted: `accuracy`, `pass_rate[adversarial]`, `required_scenarios`.
    metric: String,
    /// What happens if it is missed: the evaluation fails, or the report says so.
    level: LevelName,
    /// The part of the policy that it comes from.
    kind: GateKindName,
    /// The category, the risk level, the version or the baseline mode, for kinds that have one.
    subject: Option<String>,
    /// The threshold as it is understood, in words.
    rule: String,
    /// The comparison and the number; null for gates that have none.
    threshold: Option<ThresholdDocument>,
    /// The unit of the estimate, the threshold and the margin.
    unit: UnitDocument,
    /// The verdict on this gate.
    verdict: VerdictName,
    /// Why, in one line.
    reason: String,
    /// Why the policy asks for it.
    rationale: Option<String>,
    /// The estimate without weights, where scenarios have weights.
    unweighted: Option<f64>,
    /// How far the estimate is on the right side of the threshold; negative on the wrong side.
    margin: Option<f64>,
    /// The estimate, in the metric's own unit; null where it is undefined, and for gates that count scenarios.
    estimate: Option<f64>,
    /// Why there is no number.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), with = "String")]
    undefined: Option<String>,
    /// How far it may be from the truth; null where that is not known.
    interval: Option<IntervalDocument>,
    /// How many samples (or attempts, for metrics over attempts) it rests on; null where there is no estimate to make.
    n: Option<u64>,
    /// How many have no value and are left out.
    missing: Option<u64>,
    /// How the estimate was computed.
    method: Option<String>,
    /// What to know before relying on it.
    caveats: Vec<CaveatDocument>,
    /// Intermediate numbers, such as clusters and degrees of freedom.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DetailsDocument")]
    details: Option<DetailsDocument>,
    /// About how many more samples would decide, where that can be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    more_samples: Option<u64>,
    /// The same in clusters, where they are the units.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    more_clusters: Option<u64>,
    /// The same in attempts, where they are the units.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    more_attempts: Option<u64>,
    /// The same in human labels, where a rate is corrected by them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    more_labels: Option<u64>,
}

impl From<&GateResult> for GateResultDocument {
    fn from(gate: &GateResult) -> Self {
        let (kind, subject) = kind_and_subject(&gate.kind);
        // Gates that count scenarios have no figure, and the keys of one all the same.
        let figure = gate.figure.as_ref().map(EstimateDocument::from);
        let (n, missing) = figure.as_ref().map(|figure| (figure.n, figure.missing)).unzip();
        let (estimate, undefined, interval, method, caveats, details) = match figure {
            Some(figure) => {
                let EstimateDocument { estimate, undefined, interval, method, caveats, details, .. } = figure;
                (estimate, undefined, interval, Some(method), caveats, details)
            }
            None => (None, None, None, None, Vec::new(), None),
        };
        let more = |unit: SampleUnit| gate.more_samples.filter(|more| more.unit == unit).map(|more| more.count);
        Self {
            metric: gate.metric.clone(),
            level: LevelName::from(gate.level),
            kind,
            subject: subject.map(str::to_owned),
            rule: gate_rule(gate),
            threshold: gate.threshold.map(ThresholdDocument::from),
            unit: UnitDocument::from(gate.unit),
            verdict: VerdictName::from(gate.verdict),
            reason: gate_reason(&gate.reason),
            rationale: gate.rationale.clone(),
            unweighted: gate.unweighted,
            margin: gate.margin,
            estimate,
            undefined,
            interval,
            n,
            missing,
            method,
            caveats,
            details,
            more_samples: more(SampleUnit::Samples),
            more_clusters: more(SampleUnit::Clusters),
            more_attempts: more(SampleUnit::Attempts),
            more_labels: more(SampleUnit::Labels),
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "gate_kind")]
enum GateKindName {
    Metric,
    Overall,
    Category,
    Risk,
    Progressive,
    Composite,
    Baseline,
    RequiredScenarios,
    BlockingFailures,
    MinPassRate,
    Rubric,
    Coverage,
}

/// What a gate is about, and of what: a category, a risk, a version, a mode.
fn kind_and_subject(kind: &GateKind) -> (GateKindName, Option<&str>) {
    match kind {
        GateKind::Metric => (GateKindName::Metric, None),
        GateKind::Overall => (GateKindName::Overall, None),
        GateKind::Category(category) => (GateKindName::Category, Some(category)),
        GateKind::Risk(level) => (GateKindName::Risk, Some(level.name())),
        GateKind::Progressive(version) => (GateKindName::Progressive, Some(version)),
        GateKind::Composite => (GateKindName::Composite, None),
        GateKind::Baseline(BaselineMode::NonInferiority) => (GateKindName::Baseline, Some("non_inferiority")),
        GateKind::Baseline(BaselineMode::Above) => (GateKindName::Baseline, Some("above")),
        GateKind::Required => (GateKindName::RequiredScenarios, None),
        GateKind::BlockingFailures => (GateKindName::BlockingFailures, None),
        GateKind::MinPassRate => (GateKindName::MinPassRate, None),
        GateKind::Rubric => (GateKindName::Rubric, None),
        GateKind::Coverage => (GateKindName::Coverage, None),
    }
}

/// A scenario that the policy names.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "check")]
struct ScenarioCheckDocument {
    /// The scenario.
    id: String,
    /// Its outcome; null if the run does not have it.
    outcome: Option<OutcomeName>,
    /// Attempts that passed.
    passed_attempts: u32,
    /// All attempts.
    attempts: u32,
    /// What went wrong, in one line.
    reason: Option<String>,
}

impl From<&ScenarioCheck> for ScenarioCheckDocument {
    fn from(check: &ScenarioCheck) -> Self {
        Self {
            id: check.id.clone(),
            outcome: check.outcome.map(OutcomeName::from),
            passed_attempts: check.passed.0,
            attempts: check.passed.1,
            reason: check.reason.as_ref().map(shortcoming_sentence),
        }
    }
}

/// The pass rate of a category.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "category")]
struct CategoryRateDocument {
    /// The category.
    category: String,
    /// How much its scenarios count, if weights are given by category.
    weight: Option<f64>,
    /// The place of its gate in `gates`.
    gate: Option<usize>,
    #[serde(flatten)]
    rate: EstimateDocument,
}

impl From<&CategoryResult> for CategoryRateDocument {
    fn from(category: &CategoryResult) -> Self {
        Self {
            category: category.category.to_string(),
            weight: category.weight,
            gate: category.gate,
            rate: EstimateDocument::from(&category.figure),
        }
    }
}

/// A formula with its terms.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "composite")]
struct CompositeDocument {
    /// Its name.
    name: String,
    /// The formula as written, in one line.
    formula: String,
    /// The place of its gate in `gates`.
    gate: Option<usize>,
    /// The terms of the sum, or the formula as a whole if it is not a sum.
    terms: Vec<TermDocument>,
    #[serde(flatten)]
    value: EstimateDocument,
}

impl From<&CompositeResult> for CompositeDocument {
    fn from(composite: &CompositeResult) -> Self {
        Self {
            name: composite.name.clone(),
            formula: composite.formula.clone(),
            gate: composite.gate,
            terms: composite.terms.iter().map(TermDocument::from).collect(),
            value: EstimateDocument::from(&composite.figure),
        }
    }
}

/// A term of a formula.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "term")]
struct TermDocument {
    /// The term as written.
    text: String,
    /// What it adds; null where a metric in it has no value.
    value: Option<f64>,
    /// The metrics in it.
    metrics: Vec<TermMetricDocument>,
}

impl From<&Term> for TermDocument {
    fn from(term: &Term) -> Self {
        let metrics =
            term.metrics.iter().map(|(name, value)| TermMetricDocument { metric: name.clone(), value: *value });
        Self { text: term.text.clone(), value: term.value, metrics: metrics.collect() }
    }
}

/// A metric in a formula.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "term_metric")]
struct TermMetricDocument {
    /// Its name.
    metric: String,
    /// Its value; null where it has none.
    value: Option<f64>,
}

/// The comparison with a baseline.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "baseline")]
struct BaselineComparisonDocument {
    /// The file.
    source: String,
    /// When it was recorded, as the file says.
    recorded: Option<String>,
    /// Its age in days, if it is known.
    age_days: Option<f64>,
    /// Differences by metric.
    differences: Vec<DifferenceDocument>,
    /// Scenarios that passed in the baseline and fail now.
    newly_failing: Vec<String>,
    /// Scenarios that failed in the baseline and pass now.
    newly_passing: Vec<String>,
    /// Scenarios that the baseline does not have: coverage, not regressions.
    added: Vec<String>,
    /// Scenarios that only the baseline has.
    removed: Vec<String>,
}

impl From<&BaselineResult> for BaselineComparisonDocument {
    fn from(baseline: &BaselineResult) -> Self {
        Self {
            source: baseline.source.clone(),
            recorded: baseline.recorded.clone(),
            age_days: baseline.age_days,
            differences: baseline.differences.iter().map(DifferenceDocument::from).collect(),
            newly_failing: baseline.newly_failing.clone(),
            newly_passing: baseline.newly_passing.clone(),
            added: baseline.added.clone(),
            removed: baseline.removed.clone(),
        }
    }
}

/// The difference of a metric from the baseline. Its `estimate` is candidate minus baseline, paired by scenario where that is possible.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "difference")]
struct DifferenceDocument {
    /// The metric.
    metric: String,
    /// The unit.
    unit: UnitDocument,
    /// Its value in the baseline.
    baseline: f64,
    /// Its value now.
    candidate: Option<f64>,
    /// The place of its gate in `gates`.
    gate: Option<usize>,
    #[serde(flatten)]
    difference: EstimateDocument,
}

impl From<&MetricDifference> for DifferenceDocument {
    fn from(difference: &MetricDifference) -> Self {
        Self {
            metric: difference.metric.clone(),
            unit: UnitDocument::from(difference.unit),
            baseline: difference.baseline,
            candidate: difference.candidate,
            gate: difference.gate,
            difference: EstimateDocument::from(&difference.difference),
        }
    }
}

/// The scenarios of the run by outcome. Each has passed, failed, errored or is unscored, so the four add up to the total.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "coverage")]
struct CoverageDocument {
    /// Scenarios in the run.
    total: u64,
    /// Those that passed.
    passed: u64,
    /// Those that did not pass.
    failed: u64,
    /// Those that did not run.
    errored: u64,
    /// Those that ran and of which nothing says whether they passed.
    unscored: u64,
    /// Attempts in the run.
    attempts: u64,
    /// Attempts that ended in an error.
    errored_attempts: u64,
    /// Scenarios that should be there and are not.
    missing: Vec<String>,
    /// What says that they should be there; null if nothing does.
    expected_by: Option<ExpectedByName>,
    /// Scenarios that the suite does not know.
    unexpected: Vec<String>,
    /// Scenarios that passed in some attempts and failed in others.
    flaky: u64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "expected_by")]
enum ExpectedByName {
    Suite,
    Policy,
    Baseline,
}

impl From<&Coverage> for CoverageDocument {
    fn from(coverage: &Coverage) -> Self {
        let counts = &coverage.counts;
        Self {
            total: counts.total,
            passed: counts.passed,
            failed: counts.failed,
            errored: counts.errored,
            unscored: counts.unscored,
            attempts: counts.attempts,
            errored_attempts: counts.errored_attempts,
            missing: coverage.missing.clone(),
            expected_by: coverage.expected_by.map(|expected_by| match expected_by {
                ExpectedBy::Suite => ExpectedByName::Suite,
                ExpectedBy::Policy => ExpectedByName::Policy,
                ExpectedBy::Baseline => ExpectedByName::Baseline,
            }),
            unexpected: coverage.unexpected.clone(),
            flaky: counts.flaky,
        }
    }
}

/// Scenarios, of which each is a document only while it is written.
struct ScenarioList<'r>(&'r [ScenarioResult]);

impl Serialize for ScenarioList<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(ScenarioDocument::from))
    }
}

/// A scenario with its attempts.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "scenario")]
struct ScenarioDocument {
    /// The scenario, as its file names it.
    id: SampleIdDocument,
    /// Its category, if it has one.
    category: Option<String>,
    /// Its outcome.
    outcome: OutcomeName,
    /// How much it counts.
    weight: f64,
    /// Whether the policy requires it.
    required: bool,
    /// Its scores by name, reduced over attempts.
    scores: EntriesDocument<Option<f64>>,
    /// Its attempts, in order.
    attempts: Vec<AttemptDocument>,
}

impl From<&ScenarioResult> for ScenarioDocument {
    fn from(scenario: &ScenarioResult) -> Self {
        Self {
            id: SampleIdDocument::from(&scenario.id),
            category: scenario.category.as_deref().map(str::to_owned),
            outcome: OutcomeName::from(scenario.outcome),
            weight: scenario.weight,
            required: scenario.is_required,
            scores: EntriesDocument(scenario.scores.iter().map(|(name, score)| (name.clone(), Some(*score))).collect()),
            attempts: scenario.attempts.iter().map(AttemptDocument::from).collect(),
        }
    }
}

/// An attempt of a scenario.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "attempt")]
struct AttemptDocument {
    /// The epoch.
    epoch: u32,
    /// Its outcome.
    outcome: OutcomeName,
    /// What went wrong, in one line.
    reason: Option<String>,
    /// How long it took.
    latency_ms: Option<f64>,
}

impl From<&AttemptResult> for AttemptDocument {
    fn from(attempt: &AttemptResult) -> Self {
        Self {
            epoch: attempt.epoch,
            outcome: OutcomeName::from(attempt.outcome),
            reason: attempt.reason.as_ref().map(shortcoming_sentence),
            latency_ms: attempt.latency_ms,
        }
    }
}

/// Where a verdict comes from.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "gate_provenance")]
struct GateProvenanceDocument {
    /// The results, as they were named.
    files: Vec<String>,
    /// How columns were read, where that differs: our name, and the column.
    #[serde(skip_serializing_if = "Option::is_none")]
    columns: Option<BTreeMap<String, String>>,
    /// The task, if it is known.
    task: Option<String>,
    /// The model, if it is known.
    model: Option<String>,
    /// The policy file.
    policy: String,
    /// A hash of the policy with all that it extends.
    policy_hash: String,
    /// The version that thresholds were chosen for.
    version: Option<String>,
    #[serde(flatten)]
    selection: SelectionDocument,
    /// The level of the intervals shown.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    level: f64,
    /// The seed of everything random.
    seed: u64,
    /// How attempts were reduced.
    reducer: String,
    /// The program and its version.
    tool: String,
}

impl From<&Provenance> for GateProvenanceDocument {
    fn from(provenance: &Provenance) -> Self {
        Self {
            files: provenance.files.clone(),
            columns: columns_document(&provenance.columns),
            task: provenance.task.clone(),
            model: provenance.model.clone(),
            policy: provenance.policy.clone(),
            policy_hash: provenance.policy_hash.clone(),
            version: provenance.version.clone(),
            selection: SelectionDocument::new(
                &provenance.filter,
                &provenance.scorers,
                &provenance.labels,
                &provenance.scripts,
            ),
            level: provenance.level,
            seed: provenance.seed,
            reducer: provenance.reducer.clone(),
            tool: provenance.tool.clone(),
        }
    }
}
