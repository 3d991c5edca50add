//! A comparison for programs: `calipers.compare/1`.

use super::words::{decision, incomparable, metric_sentence, test_method};
use crate::document::{
    CaveatDocument, EstimateDocument, SampleIdDocument, SelectionDocument, UnitDocument, caveat_documents,
    columns_document, schema_text, to_json,
};
use crate::form::indent;
use crate::outcome_words::shortcoming_sentence;
use calipers_compare::{
    AttemptCounts, CategoryChange, ChangeScale, ChangeTest, ChangeVerdict, CompareProvenance, CompareReport,
    CompareSettings, Discordance, EstimandAnswer, Flakiness, MarginAnswer, MarginStanding, Matching, MetricComparison,
    RankedRun, Ranking, RunComparison, RunOrigin, SampleChange, SampleChanges, SamplePair, TypicalSample,
};
use calipers_core::Verdict;
use calipers_core::stats::components::Estimand;
use calipers_core::stats::multiplicity::Correction;
use calipers_core::stats::paired::Difference;
use calipers_core::stats::threshold_test::Direction;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// The name and version of the schema.
const SCHEMA: &str = "calipers.compare/1";

/// The comparison as JSON.
#[must_use]
pub fn compare_json(report: &CompareReport) -> Json {
    to_json(&CompareDocument::from(report))
}

/// The same as text, as it stands in a file.
pub(super) fn compare_json_text(report: &CompareReport) -> String {
    indent(&CompareDocument::from(report))
}

/// The schema of the JSON: JSON Schema 2020-12, with every property described.
#[must_use]
pub fn compare_schema() -> String {
    schema_text::<CompareDocument>("compare")
}

/// What `calipers compare --json` prints: the first run beside every other one, sample by sample.
#[derive(Serialize, JsonSchema)]
struct CompareDocument {
    /// The name and version of this schema.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// Whether a metric has clearly regressed; undecided if nothing is known.
    verdict: CompareVerdictName,
    /// What decided, in one line.
    decided_by: String,
    /// The settings of the computation.
    settings: SettingsDocument,
    /// The first run against each of the others, in their order.
    comparisons: Vec<ComparisonDocument>,
    /// For more than two runs, their order by each metric.
    rankings: Vec<RankingDocument>,
    /// Where the runs come from, and which part of them was compared.
    provenance: CompareProvenanceDocument,
    /// What to know about the runs as a whole; what belongs to a figure is listed with it.
    caveats: Vec<CaveatDocument>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "compare_verdict")]
enum CompareVerdictName {
    Regressed,
    NotRegressed,
    Undecided,
}

impl From<&CompareReport> for CompareDocument {
    fn from(report: &CompareReport) -> Self {
        Self {
            schema: SCHEMA,
            verdict: match report.verdict {
                Verdict::Fail => CompareVerdictName::Regressed,
                Verdict::Pass => CompareVerdictName::NotRegressed,
                Verdict::Undecided => CompareVerdictName::Undecided,
            },
            decided_by: decision(report),
            settings: SettingsDocument::from(&report.settings),
            comparisons: report.comparisons.iter().map(ComparisonDocument::from).collect(),
            rankings: report.rankings.iter().map(RankingDocument::from).collect(),
            provenance: CompareProvenanceDocument::from(&report.provenance),
            caveats: caveat_documents(&report.caveats),
        }
    }
}

/// The settings of a comparison.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "settings")]
struct SettingsDocument {
    /// The level of intervals; tests have an error of 1 − level.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    level: f64,
    /// The seed of everything random.
    seed: u64,
    /// How attempts were reduced.
    reducer: String,
    /// What errors are about.
    estimand: EstimandName,
    /// The metadata by which samples go together, several keys with a comma between them; null if there is none.
    cluster: Option<String>,
    /// How much of a change does not matter.
    #[schemars(extend("exclusiveMinimum" = 0))]
    margin: Option<f64>,
    /// How p-values are adjusted.
    correction: CorrectionName,
    /// The number of tests, for which p-values are adjusted.
    tested: u64,
}

impl From<&CompareSettings> for SettingsDocument {
    fn from(settings: &CompareSettings) -> Self {
        Self {
            level: settings.level,
            seed: settings.seed,
            reducer: settings.reducer.clone(),
            estimand: EstimandName::from(settings.estimand),
            cluster: (!settings.cluster.is_empty()).then(|| settings.cluster.join(", ")),
            margin: settings.margin,
            correction: match settings.correction {
                Correction::Bonferroni => CorrectionName::Bonferroni,
                Correction::Holm => CorrectionName::Holm,
                Correction::BenjaminiHochberg => CorrectionName::Bh,
                Correction::BenjaminiYekutieli => CorrectionName::By,
            },
            tested: settings.tests,
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "correction")]
enum CorrectionName {
    Bonferroni,
    Holm,
    Bh,
    By,
}

/// A claim: about questions like these, or about a rerun of this suite.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "estimand")]
enum EstimandName {
    Population,
    Suite,
}

impl From<Estimand> for EstimandName {
    fn from(estimand: Estimand) -> Self {
        match estimand {
            Estimand::Population => Self::Population,
            Estimand::FixedSuite => Self::Suite,
        }
    }
}

/// Two runs, sample by sample.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "comparison")]
struct ComparisonDocument {
    /// The run that is judged.
    candidate: String,
    /// The run that it is compared with.
    baseline: String,
    /// Why nothing can be compared; null if it can.
    problem: Option<String>,
    /// Which samples the runs share.
    matching: MatchingDocument,
    /// The metrics, in the order in which they were given.
    metrics: Vec<MetricComparisonDocument>,
    /// Latency, tokens and cost, where a run records them. They decide nothing.
    resources: Vec<MetricComparisonDocument>,
    /// Which samples began to fail or to pass; null if that is not known.
    samples: Option<SampleChangesDocument>,
    /// Why that is not known.
    samples_unknown: Option<String>,
}

impl From<&RunComparison> for ComparisonDocument {
    fn from(comparison: &RunComparison) -> Self {
        Self {
            candidate: comparison.candidate.clone(),
            baseline: comparison.baseline.clone(),
            problem: comparison.problem.as_ref().map(incomparable),
            matching: MatchingDocument::from(&comparison.matching),
            metrics: comparison.metrics.iter().map(MetricComparisonDocument::from).collect(),
            resources: comparison.resources.iter().map(MetricComparisonDocument::from).collect(),
            samples: comparison.samples.as_ref().ok().map(SampleChangesDocument::from),
            samples_unknown: comparison.samples.as_ref().err().map(incomparable),
        }
    }
}

/// Which samples two runs share.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "matching")]
struct MatchingDocument {
    /// The samples of the candidate.
    candidate: u64,
    /// The samples of the baseline.
    baseline: u64,
    /// The samples that both have.
    matched: u64,
    /// Those that only the candidate has.
    only_candidate: Vec<SampleIdDocument>,
    /// Those that only the baseline has.
    only_baseline: Vec<SampleIdDocument>,
}

impl From<&Matching> for MatchingDocument {
    fn from(matching: &Matching) -> Self {
        Self {
            candidate: matching.candidate,
            baseline: matching.baseline,
            matched: matching.matched,
            only_candidate: matching.only_candidate.iter().map(SampleIdDocument::from).collect(),
            only_baseline: matching.only_baseline.iter().map(SampleIdDocument::from).collect(),
        }
    }
}

/// One metric of two runs.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "metric")]
struct MetricComparisonDocument {
    /// The metric, with its parameters if it has any.
    metric: String,
    /// The unit of its values.
    unit: UnitDocument,
    /// Whether high or low is better; null where neither is.
    better: Option<BetterName>,
    /// Whether the change is candidate − baseline, where 0 is no change, or candidate / baseline, where it is 1.
    scale: ScaleName,
    /// The answer.
    verdict: ChangeVerdictName,
    /// The answer as a sentence.
    sentence: String,
    /// The metric of the whole candidate.
    candidate: EstimateDocument,
    /// The metric of the whole baseline.
    baseline: EstimateDocument,
    /// The metric over the samples that both have, of which the change is made; null if there is none.
    matched: Option<SidesDocument>,
    /// The change with its interval. `n` is the number of pairs.
    change: EstimateDocument,
    /// The difference if everything missing were as bad, and as good, as possible; null where that has no limits.
    bounds: Option<BoundsDocument>,
    /// The test of no change; null where there is nothing to test.
    test: Option<TestDocument>,
    /// The mean difference (for ratios, of logarithms) with its error; null where the change is not made of one.
    paired: Option<PairedDocument>,
    /// The correlation of the pairs: what pairing gains.
    #[schemars(range(min = -1, max = 1))]
    correlation: Option<f64>,
    /// Which run passed what, for values that are all 0 or 1; null for others.
    discordance: Option<DiscordanceDocument>,
    /// What the typical sample changed by, for ratios and where the mean stays open.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "TypicalDocument")]
    typical: Option<TypicalDocument>,
    /// The p-value of the exact sign-flip test, where there are few pairs.
    #[schemars(range(min = 0, max = 1))]
    permutation_p: Option<f64>,
    /// The error for each claim.
    estimands: Vec<EstimandDocument>,
    /// How the change compares with the margin; null without a margin.
    margin: Option<MarginDocument>,
    /// The smallest change that this comparison would detect four times in five: a difference, or a factor.
    detectable: Option<f64>,
    /// The change by category, to look at: not tested.
    categories: Vec<CategoryChangeDocument>,
    /// The samples that both runs have, for metrics that are means over samples.
    pairs: Vec<PairDocument>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "better")]
enum BetterName {
    Higher,
    Lower,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "scale")]
enum ScaleName {
    Difference,
    Ratio,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "change_verdict")]
enum ChangeVerdictName {
    Improved,
    Regressed,
    Changed,
    WithinNoise,
    NoChangeDetected,
    Unknown,
}

impl From<&MetricComparison> for MetricComparisonDocument {
    fn from(metric: &MetricComparison) -> Self {
        Self {
            metric: metric.metric.clone(),
            unit: UnitDocument::from(metric.unit),
            better: metric.direction.map(|direction| match direction {
                Direction::AtLeast => BetterName::Higher,
                Direction::AtMost => BetterName::Lower,
            }),
            scale: match metric.scale {
                ChangeScale::Difference => ScaleName::Difference,
                ChangeScale::Ratio => ScaleName::Ratio,
            },
            verdict: match metric.verdict {
                ChangeVerdict::Improved => ChangeVerdictName::Improved,
                ChangeVerdict::Regressed => ChangeVerdictName::Regressed,
                ChangeVerdict::Changed => ChangeVerdictName::Changed,
                ChangeVerdict::WithinNoise => ChangeVerdictName::WithinNoise,
                ChangeVerdict::NoChangeDetected => ChangeVerdictName::NoChangeDetected,
                ChangeVerdict::Unknown => ChangeVerdictName::Unknown,
            },
            sentence: metric_sentence(metric),
            candidate: EstimateDocument::from(&metric.candidate),
            baseline: EstimateDocument::from(&metric.baseline),
            matched: metric.matched.map(|(candidate, baseline)| SidesDocument { candidate, baseline }),
            change: EstimateDocument::from(&metric.change),
            bounds: metric.bounds.map(|(lower, upper)| BoundsDocument { lower, upper }),
            test: metric.test.map(TestDocument::from),
            paired: metric.paired.map(|paired| PairedDocument::from(&paired)),
            correlation: metric.correlation,
            discordance: metric.discordance.map(DiscordanceDocument::from),
            typical: metric.typical.as_ref().map(TypicalDocument::from),
            permutation_p: metric.permutation_p,
            estimands: metric.estimands.iter().map(EstimandDocument::from).collect(),
            margin: metric.margin.map(MarginDocument::from),
            detectable: metric.detectable,
            categories: metric.categories.iter().map(CategoryChangeDocument::from).collect(),
            pairs: metric.pairs.iter().map(PairDocument::from).collect(),
        }
    }
}

/// What the typical sample changed by: the median over samples, which no rare sample moves. It decides nothing.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "typical")]
struct TypicalDocument {
    /// The median change with the interval of its order statistics, on the scale of the change.
    change: EstimateDocument,
    /// Samples with a higher value in the candidate.
    higher: u64,
    /// Samples with a lower value.
    lower: u64,
    /// Samples with the same value.
    same: u64,
    /// The two-sided p-value of the sign test, not adjusted; null with clusters.
    #[schemars(range(min = 0, max = 1))]
    p: Option<f64>,
}

impl From<&TypicalSample> for TypicalDocument {
    fn from(typical: &TypicalSample) -> Self {
        Self {
            change: EstimateDocument::from(&typical.change),
            higher: typical.higher,
            lower: typical.lower,
            same: typical.same,
            p: typical.p,
        }
    }
}

/// A value in both runs.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "sides")]
struct SidesDocument {
    /// In the candidate.
    candidate: f64,
    /// In the baseline.
    baseline: f64,
}

/// Both ends of what is possible.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "bounds")]
struct BoundsDocument {
    /// As bad as possible.
    lower: f64,
    /// As good as possible.
    upper: f64,
}

/// A test of no change.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "test")]
struct TestDocument {
    /// The two-sided p-value.
    #[schemars(range(min = 0, max = 1))]
    p: f64,
    /// The same, adjusted for the number of tests.
    #[schemars(range(min = 0, max = 1))]
    adjusted: f64,
    /// Which test.
    method: &'static str,
}

impl From<ChangeTest> for TestDocument {
    fn from(test: ChangeTest) -> Self {
        Self { p: test.p, adjusted: test.adjusted, method: test_method(test.method) }
    }
}

/// A mean difference.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "paired")]
struct PairedDocument {
    /// The mean difference.
    mean: f64,
    /// Its standard error.
    #[schemars(range(min = 0))]
    stderr: f64,
    /// The degrees of freedom; null if they have no limit.
    df: Option<f64>,
    /// The difference in standard errors; null if there is none.
    t: Option<f64>,
    /// The two-sided p-value of t.
    #[schemars(range(min = 0, max = 1))]
    p: Option<f64>,
    /// How the error was computed.
    method: &'static str,
}

impl From<&Difference> for PairedDocument {
    fn from(paired: &Difference) -> Self {
        let finite = |x: f64| Some(x).filter(|x| x.is_finite());
        Self {
            mean: paired.mean,
            stderr: paired.stderr,
            df: finite(paired.df),
            t: paired.t().ok().and_then(finite),
            p: paired.p_two_sided().ok(),
            method: paired.method.name(),
        }
    }
}

/// Two runs that pass or fail the same samples, with McNemar's test.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "discordance")]
struct DiscordanceDocument {
    /// Passed by both.
    both: u64,
    /// Passed by the candidate alone.
    only_candidate: u64,
    /// Passed by the baseline alone.
    only_baseline: u64,
    /// Passed by neither.
    neither: u64,
    /// The exact p-value, which decides.
    #[schemars(range(min = 0, max = 1))]
    p_exact: f64,
    /// The mid-p-value.
    #[schemars(range(min = 0, max = 1))]
    p_mid: f64,
    /// The continuity-corrected χ²; null without discordant pairs.
    #[schemars(range(min = 0))]
    chi2: Option<f64>,
    /// Its p-value.
    #[schemars(range(min = 0, max = 1))]
    p_chi2: Option<f64>,
}

impl From<Discordance> for DiscordanceDocument {
    fn from(counts: Discordance) -> Self {
        Self {
            both: counts.both,
            only_candidate: counts.only_candidate,
            only_baseline: counts.only_baseline,
            neither: counts.neither,
            p_exact: counts.test.p_exact,
            p_mid: counts.test.p_mid,
            chi2: counts.test.chi2.ok(),
            p_chi2: counts.test.p_chi2.ok(),
        }
    }
}

/// What can be claimed, and how certain it is.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "estimand_answer")]
struct EstimandDocument {
    /// The claim.
    estimand: EstimandName,
    /// The two-sided p-value of no change.
    #[schemars(range(min = 0, max = 1))]
    p: Option<f64>,
    #[serde(flatten)]
    change: EstimateDocument,
}

impl From<&EstimandAnswer> for EstimandDocument {
    fn from(answer: &EstimandAnswer) -> Self {
        let change = EstimateDocument::from(&answer.change);
        Self { estimand: EstimandName::from(answer.estimand), p: answer.p, change }
    }
}

/// How a change compares with its margin. P-values are one-sided.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "margin")]
struct MarginDocument {
    /// The margin.
    #[schemars(extend("exclusiveMinimum" = 0))]
    margin: f64,
    /// The answer, at an error of 1 − level.
    standing: StandingName,
    /// The p-value of "worse by the margin or more"; null where neither side is better.
    #[schemars(range(min = 0, max = 1))]
    noninferiority_p: Option<f64>,
    /// The p-value of "differs by the margin or more".
    #[schemars(range(min = 0, max = 1))]
    equivalence_p: f64,
    /// The p-value of "worse by no more than the margin", adjusted; null where neither side is better.
    #[schemars(range(min = 0, max = 1))]
    inferiority_p: Option<f64>,
    /// The p-value of "better by no more than the margin", adjusted; null where neither side is better.
    #[schemars(range(min = 0, max = 1))]
    superiority_p: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "standing")]
enum StandingName {
    Superior,
    Equivalent,
    NonInferior,
    Inferior,
    Unclear,
}

impl From<MarginAnswer> for MarginDocument {
    fn from(answer: MarginAnswer) -> Self {
        Self {
            margin: answer.margin,
            standing: match answer.standing {
                MarginStanding::Superior => StandingName::Superior,
                MarginStanding::Equivalent => StandingName::Equivalent,
                MarginStanding::NonInferior => StandingName::NonInferior,
                MarginStanding::Inferior => StandingName::Inferior,
                MarginStanding::Unclear => StandingName::Unclear,
            },
            noninferiority_p: answer.noninferiority_p,
            equivalence_p: answer.equivalence_p,
            inferiority_p: answer.inferiority_p,
            superiority_p: answer.superiority_p,
        }
    }
}

/// The change within a category.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "category")]
struct CategoryChangeDocument {
    /// The category.
    category: String,
    /// The mean of the candidate over the pairs.
    candidate: f64,
    /// The mean of the baseline over the pairs.
    baseline: f64,
    #[serde(flatten)]
    change: EstimateDocument,
}

impl From<&CategoryChange> for CategoryChangeDocument {
    fn from(found: &CategoryChange) -> Self {
        Self {
            category: found.category.to_string(),
            candidate: found.candidate,
            baseline: found.baseline,
            change: EstimateDocument::from(&found.change),
        }
    }
}

/// The value of a sample in both runs.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "pair")]
struct PairDocument {
    /// The sample.
    id: SampleIdDocument,
    /// Its value in the candidate.
    candidate: f64,
    /// Its value in the baseline.
    baseline: f64,
}

impl From<&SamplePair> for PairDocument {
    fn from(pair: &SamplePair) -> Self {
        Self { id: SampleIdDocument::from(&pair.id), candidate: pair.candidate, baseline: pair.baseline }
    }
}

/// Which samples began to fail or to pass, and which are flaky.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "sample_changes")]
struct SampleChangesDocument {
    /// Passed by the baseline and not by the candidate; flaky ones come last.
    newly_failing: Vec<SampleChangeDocument>,
    /// Passed by the candidate and not by the baseline; flaky ones come last.
    newly_fixed: Vec<SampleChangeDocument>,
    /// Samples of which some attempts passed and some failed, in either run.
    flaky: Vec<SampleChangeDocument>,
    /// Passed in both.
    still_passing: u64,
    /// Failed in both.
    still_failing: u64,
    /// Shared samples whose outcome is unknown in one of the runs.
    not_told: u64,
    /// Flaky samples of the candidate.
    flaky_candidate: FlakinessDocument,
    /// Flaky samples of the baseline.
    flaky_baseline: FlakinessDocument,
}

impl From<&SampleChanges> for SampleChangesDocument {
    fn from(samples: &SampleChanges) -> Self {
        let list = |all: &[SampleChange]| all.iter().map(SampleChangeDocument::from).collect();
        Self {
            newly_failing: list(&samples.newly_failing),
            newly_fixed: list(&samples.newly_fixed),
            flaky: list(&samples.flaky),
            still_passing: samples.still_passing,
            still_failing: samples.still_failing,
            not_told: samples.unknown,
            flaky_candidate: FlakinessDocument::from(samples.flaky_candidate),
            flaky_baseline: FlakinessDocument::from(samples.flaky_baseline),
        }
    }
}

/// A sample in both runs.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "sample_change")]
struct SampleChangeDocument {
    /// The sample.
    id: SampleIdDocument,
    /// Its category.
    category: Option<String>,
    /// Its attempts in the candidate.
    candidate: AttemptCountsDocument,
    /// Its attempts in the baseline.
    baseline: AttemptCountsDocument,
    /// True when attempts of one run disagree, so that the change may be luck.
    flaky: bool,
    /// Why an attempt failed; may quote a model.
    reason: Option<String>,
}

impl From<&SampleChange> for SampleChangeDocument {
    fn from(change: &SampleChange) -> Self {
        Self {
            id: SampleIdDocument::from(&change.id),
            category: change.category.as_ref().map(ToString::to_string),
            candidate: AttemptCountsDocument::from(change.candidate),
            baseline: AttemptCountsDocument::from(change.baseline),
            flaky: change.is_flaky(),
            reason: change.reason.as_ref().map(shortcoming_sentence),
        }
    }
}

/// How many attempts passed.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "attempts")]
struct AttemptCountsDocument {
    /// Those that passed.
    passed: u64,
    /// Those that passed or failed.
    told: u64,
}

impl From<AttemptCounts> for AttemptCountsDocument {
    fn from(attempts: AttemptCounts) -> Self {
        Self { passed: attempts.passed, told: attempts.scored }
    }
}

/// How many samples are flaky.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "flakiness")]
struct FlakinessDocument {
    /// Samples with passed and with failed attempts.
    flaky: u64,
    /// Samples with at least two attempts that ran.
    repeated: u64,
    /// The share of flaky samples; null without repeats.
    #[schemars(range(min = 0, max = 1))]
    rate: Option<f64>,
}

impl From<Flakiness> for FlakinessDocument {
    fn from(found: Flakiness) -> Self {
        Self { flaky: found.flaky, repeated: found.repeated, rate: found.rate() }
    }
}

/// Several runs in the order of a metric, over the samples that all of them have.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ranking")]
struct RankingDocument {
    /// The metric.
    metric: String,
    /// The unit of its values.
    unit: UnitDocument,
    /// The runs, the best first; empty if there is no order.
    runs: Vec<RankedRunDocument>,
    /// Why there is no order.
    undefined: Option<String>,
}

impl From<&Ranking> for RankingDocument {
    fn from(ranking: &Ranking) -> Self {
        Self {
            metric: ranking.metric.clone(),
            unit: UnitDocument::from(ranking.unit),
            runs: ranking.rows.iter().flatten().map(RankedRunDocument::from).collect(),
            undefined: ranking.rows.as_ref().err().map(incomparable),
        }
    }
}

/// A run in a ranking.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ranked_run")]
struct RankedRunDocument {
    /// The run.
    run: String,
    /// The best rank that the tests leave open.
    #[schemars(range(min = 1))]
    best_rank: u64,
    /// The worst rank that the tests leave open.
    #[schemars(range(min = 1))]
    worst_rank: u64,
    #[serde(flatten)]
    figure: EstimateDocument,
}

impl From<&RankedRun> for RankedRunDocument {
    fn from(ranked: &RankedRun) -> Self {
        Self {
            run: ranked.run.clone(),
            best_rank: ranked.best_rank,
            worst_rank: ranked.worst_rank,
            figure: EstimateDocument::from(&ranked.figure),
        }
    }
}

/// Where the runs come from, and which part of them was compared.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "compare_provenance")]
struct CompareProvenanceDocument {
    /// The runs, the candidate first.
    runs: Vec<RunOriginDocument>,
    #[serde(flatten)]
    selection: SelectionDocument,
    /// The program that compared them.
    tool: String,
}

impl From<&CompareProvenance> for CompareProvenanceDocument {
    fn from(about: &CompareProvenance) -> Self {
        Self {
            runs: about.runs.iter().map(RunOriginDocument::from).collect(),
            selection: SelectionDocument::new(&about.filter, &about.scorers, &about.labels, &about.scripts),
            tool: about.tool.clone(),
        }
    }
}

/// Where a run comes from.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "run_origin")]
struct RunOriginDocument {
    /// The name used in the report.
    name: String,
    /// The files.
    files: Vec<String>,
    /// How columns were read, where that differs: our name, and the column.
    #[serde(skip_serializing_if = "Option::is_none")]
    columns: Option<BTreeMap<String, String>>,
    /// The task, if it is known.
    task: Option<String>,
    /// The model, if it is known.
    model: Option<String>,
}

impl From<&RunOrigin> for RunOriginDocument {
    fn from(run: &RunOrigin) -> Self {
        Self {
            name: run.name.clone(),
            files: run.files.clone(),
            columns: columns_document(&run.columns),
            task: run.task.clone(),
            model: run.model.clone(),
        }
    }
}
