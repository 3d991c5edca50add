//! Two or more runs compared sample by sample: what changed, and is it real?
//!
//! Samples are matched by name and their attempts reduced first, so that what runs share (hard samples are hard for both)
//! cancels. P-values are adjusted for the number of tests. What cannot be compared has a reason, and is never a number.
//!
//! Cost: a join by hash and a few passes over columns; a quantile is resampled, for about half a second at most.

mod compare_report;
mod matching;
mod method;
mod metric_change;
mod ranking;
mod run_metric;
mod sample_changes;
mod sample_values;
mod sampling;
mod verdicts;

pub use compare_report::{
    AttemptCounts, CategoryChange, ChangeScale, ChangeTest, ChangeVerdict, CompareDecision, CompareProvenance,
    CompareReport, CompareSettings, Discordance, EstimandAnswer, Flakiness, MarginAnswer, MarginStanding, Matching,
    MetricComparison, MetricPlace, RankedRun, Ranking, RunComparison, RunOrigin, SampleChange, SampleChanges,
    SamplePair, TestMethod, TypicalSample,
};

use calipers_core::metric::RunRows;
use calipers_core::{
    Caveat, Context, Error, Figure, Incomparable, Metric, PassRule, Reducer, Registry, SampleId, Samples,
};
use calipers_core::{Tally, Unit, Verdict};
use calipers_stats::components::Estimand;
use calipers_stats::multiplicity::Correction;
use hashbrown::HashMap;
use matching::RunMatch;
use metric_change::{MetricChange, MetricPair, scale_of};
pub use run_metric::DENOMINATOR;
use run_metric::{ComparedMetric, RESOURCES, RunMetric, count_timeouts};
use sampling::undefined;
use verdicts::{MetricDraft, set_verdicts};

/// A run and its name.
pub struct ComparedRun<'a> {
    /// The name used in reports.
    pub name: String,
    /// Its samples.
    pub samples: &'a Samples,
}

impl ComparedRun<'_> {
    /// An error that concerns this run alone.
    fn incomparable(&self, error: &Error) -> Incomparable {
        Incomparable::Run { run: self.name.clone(), error: Box::new(error.kind().clone()) }
    }
}

/// What to compare, and how. Nothing here has a default.
pub struct CompareQuestion<'a> {
    /// The metrics to compare.
    pub metrics: &'a [Metric],
    /// Units and better sides of metrics.
    pub registry: &'a Registry,
    /// How attempts are reduced.
    pub reducer: Reducer,
    /// Level, seed and labels.
    pub context: Context,
    /// What errors are about: questions like these, or a rerun of this suite.
    pub estimand: Estimand,
    /// The metadata by which samples go together: those that share a value of any of these fields.
    pub cluster: &'a [&'a str],
    /// How much of a change does not matter: in the unit of the metric, or as a share where the change is a ratio.
    pub margin: Option<f64>,
    /// How p-values are adjusted.
    pub correction: Correction,
    /// When a sample has passed.
    pub pass_rule: PassRule,
    /// How many pairs of each metric the report lists, those that differ most first; all of them if nothing is said.
    pub pairs_max: Option<usize>,
}

/// Compares the first run with every other one.
///
/// A change is candidate − baseline, or candidate / baseline, with the first run as the candidate. Fails if there are not two
/// runs, if the margin is not positive, if a metric cannot be measured in any run, and if a sample has a value that no metric
/// can use. Runs that cannot be compared are no failure: the report says why, and is undecided.
///
/// ```
/// use calipers_compare::{CompareDecision, MetricPlace, ChangeVerdict, CompareQuestion, ComparedRun, compare};
/// use calipers_core::stats::components::Estimand;
/// use calipers_core::stats::multiplicity::Correction;
/// use calipers_core::{Context, PassRule, Registry, Samples, accuracy, mean_score};
///
/// let (mut candidate, mut baseline) = (Samples::new(), Samples::new());
/// for id in 0..40 {
///     candidate.push(id).score("match", if id < 20 { "C" } else { "I" });
///     baseline.push(id).score("match", if id < 30 { "C" } else { "I" });
/// }
/// let runs = [("new", &candidate), ("old", &baseline)].map(|(name, samples)| ComparedRun { name: name.into(), samples });
/// let report = compare(&runs, &CompareQuestion {
///     metrics: &[accuracy()],
///     registry: &Registry::builtin(),
///     reducer: mean_score(),
///     context: Context::default(),
///     estimand: Estimand::Population,
///     cluster: &[],
///     margin: None,
///     correction: Correction::Holm,
///     pass_rule: PassRule::default(),
///     pairs_max: None,
/// })?;
/// let accuracy = &report.comparisons[0].metrics[0];
/// assert_eq!(accuracy.change.value, Ok(-0.25));
/// assert_eq!(accuracy.verdict, ChangeVerdict::Regressed);
/// assert_eq!(report.decided_by, CompareDecision::Regression(MetricPlace { comparison: 0, metric: 0 }));
/// # Ok::<(), calipers_core::Error>(())
/// ```
pub fn compare(runs: &[ComparedRun<'_>], question: &CompareQuestion<'_>) -> Result<CompareReport, Error> {
    check(runs, question)?;
    let mut metrics: Vec<ComparedMetric> =
        question.metrics.iter().map(|metric| ComparedMetric::new(metric, question.registry)).collect();
    let rows: Vec<RunRows<'_>> = runs.iter().map(|run| RunRows::new(run.samples)).collect();
    let measured = metrics.iter().map(|metric| measure_metric(metric, runs, &rows, question));
    let mut measured: Vec<Vec<Result<RunMetric, Incomparable>>> = measured.collect::<Result<_, Error>>()?;
    for (metric, measured) in metrics.iter_mut().zip(&measured) {
        metric.fit_unit(measured.iter().flatten());
    }
    let mut drafts = Vec::new();
    for other in 1..runs.len() {
        drafts.push(ComparisonDraft::new(runs, other, &metrics, &mut measured, &rows, question)?);
    }
    let each = drafts.iter_mut().flat_map(|drafts| drafts.metrics.iter_mut().chain(&mut drafts.resources));
    let mut all: Vec<&mut MetricDraft> = each.collect();
    let tests = set_verdicts(&mut all, question.margin, question.context.confidence.level(), question.correction);
    let rankings = if runs.len() > 2 { rank_runs(&metrics, runs, &measured, question)? } else { Vec::new() };
    let alone = drafts.iter().map(|draft| draft.alone).max().filter(|samples| *samples > 0);
    let comparisons: Vec<RunComparison> = drafts.into_iter().map(ComparisonDraft::finish).collect();
    let mut caveats: Vec<Caveat> = comparisons.iter().flat_map(match_caveats).collect();
    caveats.extend(alone.map(|samples| Caveat::SamplesAlone { key: question.cluster.join(", "), samples }));
    let (verdict, decided_by) = decide(&comparisons);
    Ok(CompareReport {
        verdict,
        is_judged: false,
        decided_by,
        caveats,
        comparisons,
        rankings,
        settings: record_settings(question, tests),
        provenance: CompareProvenance::default(),
    })
}

fn check(runs: &[ComparedRun<'_>], question: &CompareQuestion<'_>) -> Result<(), Error> {
    if runs.len() < 2 {
        return Err(Error::argument("there is nothing to compare with", "name at least two runs"));
    }
    if question.metrics.is_empty() {
        return Err(Error::argument("no metric is to be compared", "name one, such as `accuracy`"));
    }
    if let Some(margin) = question.margin.filter(|margin| !(*margin > 0.0 && margin.is_finite())) {
        let message = format!("a margin of {margin} leaves no room for noise");
        return Err(Error::argument(message, "two points of a rate are written 0.02"));
    }
    runs.iter().try_for_each(|run| run.samples.check_repeats())
}

fn record_settings(question: &CompareQuestion<'_>, tests: u64) -> CompareSettings {
    CompareSettings {
        level: question.context.confidence.level(),
        seed: question.context.seed.0,
        reducer: question.reducer.name().to_owned(),
        estimand: question.estimand,
        cluster: question.cluster.iter().map(|field| (*field).to_owned()).collect(),
        margin: question.margin,
        correction: question.correction,
        tests,
    }
}

/// A metric in each run, or why it is not known there. What is wrong in every run, or with a sample, is an error.
fn measure_metric(
    metric: &ComparedMetric,
    runs: &[ComparedRun<'_>],
    rows: &[RunRows<'_>],
    question: &CompareQuestion<'_>,
) -> Result<Vec<Result<RunMetric, Incomparable>>, Error> {
    let scorer = match metric.find_scorer(runs)? {
        Ok(scorer) => scorer,
        Err(why) => return Ok(runs.iter().map(|_| Err(why.clone())).collect()),
    };
    let one = |(run, rows)| RunMetric::new(metric, run, rows, question, scorer.as_deref());
    let measured: Vec<Result<RunMetric, Error>> = runs.iter().zip(rows).map(one).collect();
    let is_everywhere = measured.iter().all(Result::is_err) && !runs.iter().any(|run| run.samples.is_empty());
    let sort = |(run, measured): (&ComparedRun<'_>, Result<RunMetric, Error>)| match measured {
        Ok(measured) => Ok(Ok(measured)),
        Err(error) if is_everywhere || error.place().sample.is_some() => Err(error),
        Err(error) => Ok(Err(run.incomparable(&error))),
    };
    runs.iter().zip(measured).map(sort).collect()
}

/// A comparison whose p-values are not adjusted yet.
struct ComparisonDraft {
    comparison: RunComparison,
    metrics: Vec<MetricDraft>,
    resources: Vec<MetricDraft>,
    /// Samples that are clusters by themselves, for want of a name.
    alone: u64,
}

impl ComparisonDraft {
    fn new(
        runs: &[ComparedRun<'_>],
        other: usize,
        metrics: &[ComparedMetric],
        measured: &mut [Vec<Result<RunMetric, Incomparable>>],
        rows: &[RunRows<'_>],
        question: &CompareQuestion<'_>,
    ) -> Result<Self, Error> {
        let (candidate, baseline) = (&runs[0], &runs[other]);
        let joined = RunMatch::new(candidate, baseline, question.cluster)?;
        let problem = joined.problem(&candidate.name, &baseline.name);
        let one = |(metric, measured): (&ComparedMetric, &Vec<Result<RunMetric, Incomparable>>)| {
            draft_metric(metric, &measured[0], &measured[other], &joined, problem.as_ref(), question)
        };
        let metrics = metrics.iter().zip(&*measured).map(one).collect();
        if runs.len() == 2 {
            // Nothing else asks for the values of millions of samples.
            measured.iter_mut().flatten().flatten().for_each(RunMetric::forget_samples);
        }
        let samples = match &problem {
            Some(why) => Err(why.clone()),
            None => {
                let rows = [&rows[0], &rows[other]];
                sample_changes::find_sample_changes([candidate, baseline], rows, &joined, question)
            }
        };
        let resources = match &problem {
            Some(_) => Vec::new(),
            None => draft_resources([candidate, baseline], [&rows[0], &rows[other]], &joined, question),
        };
        let comparison = RunComparison {
            candidate: candidate.name.clone(),
            baseline: baseline.name.clone(),
            matching: joined.matching,
            problem,
            metrics: Vec::new(),
            resources: Vec::new(),
            samples,
        };
        Ok(Self { comparison, metrics, resources, alone: joined.alone })
    }

    fn finish(self) -> RunComparison {
        let compared = |drafts: Vec<MetricDraft>| drafts.into_iter().map(|draft| draft.comparison).collect();
        RunComparison { metrics: compared(self.metrics), resources: compared(self.resources), ..self.comparison }
    }
}

/// A metric of two runs before anything is adjusted.
fn draft_metric(
    metric: &ComparedMetric,
    candidate: &Result<RunMetric, Incomparable>,
    baseline: &Result<RunMetric, Incomparable>,
    joined: &RunMatch<'_>,
    problem: Option<&Incomparable>,
    question: &CompareQuestion<'_>,
) -> MetricDraft {
    let effect = match (candidate, baseline, problem) {
        (_, _, Some(why)) => MetricChange::nothing(scale_of(metric, None), why.clone()),
        (Ok(candidate), Ok(baseline), None) => MetricPair { metric, candidate, baseline, joined, question }.compare(),
        (Err(why), _, None) | (_, Err(why), None) => MetricChange::nothing(scale_of(metric, None), why.clone()),
    };
    let figure = |measured: &Result<RunMetric, Incomparable>| match measured {
        Ok(measured) => measured.figure.clone(),
        Err(why) => Figure::from_result(Err(undefined(why.clone())), Tally::default(), ""),
    };
    let found = effect.found;
    let comparison = MetricComparison {
        metric: metric.name.clone(),
        unit: metric.unit,
        direction: metric.direction,
        scale: found.scale,
        candidate: figure(candidate),
        baseline: figure(baseline),
        matched: found.sides,
        change: found.figure(effect.missing),
        bounds: effect.bounds,
        test: None,
        paired: found.paired,
        correlation: found.correlation,
        discordance: found.discordance,
        typical: effect.typical,
        permutation_p: found.permutation_p,
        estimands: effect.estimands,
        margin: None,
        detectable: None,
        verdict: ChangeVerdict::Unknown,
        why: None,
        categories: effect.categories,
        pairs: effect.pairs,
    };
    MetricDraft { comparison, found }
}

/// Latency, tokens and cost, where a run records them.
fn draft_resources(
    runs: [&ComparedRun<'_>; 2],
    rows: [&RunRows<'_>; 2],
    joined: &RunMatch<'_>,
    question: &CompareQuestion<'_>,
) -> Vec<MetricDraft> {
    let is_recorded = |field: &str| runs.iter().any(|run| run.samples.fields().any(|known| &**known == field));
    let one = |(field, unit): (&str, Unit)| {
        let metric = ComparedMetric::of_resource(field, unit);
        let measured = [0, 1].map(|place: usize| measure_resource(&metric, runs[place], rows[place], question));
        draft_metric(&metric, &measured[0], &measured[1], joined, None, question)
    };
    RESOURCES.into_iter().filter(|(field, _)| is_recorded(field)).map(one).collect()
}

/// What a run spent, or why that is not known.
fn measure_resource(
    metric: &ComparedMetric,
    run: &ComparedRun<'_>,
    rows: &RunRows<'_>,
    question: &CompareQuestion<'_>,
) -> Result<RunMetric, Incomparable> {
    if metric.unit == Unit::Milliseconds {
        let attempts = count_timeouts(rows, &question.context).map_err(|error| run.incomparable(&error))?;
        if attempts > 0 {
            return Err(Incomparable::Timeouts { run: run.name.clone(), attempts });
        }
    }
    RunMetric::new(metric, run, rows, question, None).map_err(|error| run.incomparable(&error))
}

fn rank_runs(
    metrics: &[ComparedMetric],
    runs: &[ComparedRun<'_>],
    measured: &[Vec<Result<RunMetric, Incomparable>>],
    question: &CompareQuestion<'_>,
) -> Result<Vec<Ranking>, Error> {
    let mut clusters: HashMap<SampleId, u32> = HashMap::new();
    if !question.cluster.is_empty() {
        // Samples that all runs have are among those of the first two.
        let joined = RunMatch::new(&runs[0], &runs[1], question.cluster)?;
        clusters.extend(joined.pairs.iter().map(|pair| (joined.id(&pair), pair.cluster)));
    }
    let one =
        |(metric, measured): (&ComparedMetric, &Vec<_>)| ranking::rank(metric, runs, measured, &clusters, question);
    Ok(metrics.iter().zip(measured).map(one).collect())
}

/// Whether a regression is sure, and what decided.
fn decide(comparisons: &[RunComparison]) -> (Verdict, CompareDecision) {
    let places = || {
        comparisons.iter().enumerate().flat_map(|(at, comparison)| {
            let metrics = comparison.metrics.iter().enumerate();
            metrics.map(move |(metric, found)| (MetricPlace { comparison: at, metric }, found.verdict))
        })
    };
    let first = |verdict: ChangeVerdict| places().find(|(_, found)| *found == verdict).map(|(place, _)| place);
    if let Some(place) = first(ChangeVerdict::Regressed) {
        return (Verdict::Fail, CompareDecision::Regression(place));
    }
    // A metric of which nothing is known may have regressed.
    let Some(unknown) = first(ChangeVerdict::Unknown) else { return (Verdict::Pass, CompareDecision::NoRegression) };
    let decision = match comparisons.iter().position(|comparison| comparison.problem.is_some()) {
        _ if places().any(|(_, found)| found != ChangeVerdict::Unknown) => CompareDecision::UnknownMetric(unknown),
        Some(comparison) => CompareDecision::Problem { comparison },
        None => CompareDecision::NothingKnown(unknown),
    };
    (Verdict::Undecided, decision)
}

/// What to know about how two runs match.
fn match_caveats(comparison: &RunComparison) -> Vec<Caveat> {
    let matching = &comparison.matching;
    let mut caveats = Vec::new();
    if comparison.problem.is_some() {
        return caveats;
    }
    if !(matching.only_candidate.is_empty() && matching.only_baseline.is_empty()) {
        caveats.push(Caveat::Unmatched {
            candidate: comparison.candidate.clone(),
            candidate_samples: matching.only_candidate.len() as u64,
            baseline: comparison.baseline.clone(),
            baseline_samples: matching.only_baseline.len() as u64,
        });
    }
    if matching.matched * 2 < matching.candidate.min(matching.baseline) {
        caveats.push(Caveat::FewMatched { matched: matching.matched });
    }
    caveats
}
