//! The result of a comparison. Renderers compute nothing.

use calipers_core::{Caveat, Figure, Incomparable, SampleId, Shortcoming, Unit, Verdict};
use calipers_stats::components::Estimand;
use calipers_stats::exact::McNemar;
use calipers_stats::multiplicity::Correction;
use calipers_stats::paired::Difference;
use calipers_stats::threshold_test::Direction;
use hashbrown::HashSet;
use std::sync::Arc;

/// The first run beside every other one.
#[derive(Clone, Debug)]
pub struct CompareReport {
    /// Fail if a metric has surely regressed, undecided if nothing is known, otherwise pass.
    pub verdict: Verdict,
    /// Whether the verdict counts: a text then begins with it. False until the caller says so.
    pub is_judged: bool,
    /// What decided.
    pub decided_by: CompareDecision,
    /// The first run against each of the others, in their order.
    pub comparisons: Vec<RunComparison>,
    /// For more than two runs, their order by each metric that is a mean over samples.
    pub rankings: Vec<Ranking>,
    /// With what it was computed.
    pub settings: CompareSettings,
    /// What to know about the runs as a whole; what belongs to one metric stands with its figure.
    pub caveats: Vec<Caveat>,
    /// Where the runs come from. Empty until the reader of the files fills it in.
    pub provenance: CompareProvenance,
}

impl CompareReport {
    /// The comparison and the metric at a place.
    #[must_use]
    pub fn metric(&self, place: MetricPlace) -> (&RunComparison, &MetricComparison) {
        let comparison = &self.comparisons[place.comparison];
        (comparison, &comparison.metrics[place.metric])
    }
}

/// What decided a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareDecision {
    /// A metric has surely regressed: the first that did.
    Regression(MetricPlace),
    /// No metric has surely regressed.
    NoRegression,
    /// No metric has surely regressed, but nothing is known of this one.
    UnknownMetric(MetricPlace),
    /// Nothing is known of any metric, of which this is the first.
    NothingKnown(MetricPlace),
    /// Two runs cannot be compared at all: the first such comparison.
    Problem {
        /// Its place among the comparisons.
        comparison: usize,
    },
}

/// A metric of one of several comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricPlace {
    /// The place of the comparison.
    pub comparison: usize,
    /// The place of the metric in it.
    pub metric: usize,
}

/// Where compared runs come from, and what of them was looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompareProvenance {
    /// The runs, the candidate first.
    pub runs: Vec<RunOrigin>,
    /// Only samples whose metadata has these values.
    pub filter: Vec<(String, String)>,
    /// Only these scorers.
    pub scorers: Vec<String>,
    /// Labels that were given a number by hand.
    pub labels: Vec<(String, f64)>,
    /// Files that metrics and reducers were loaded from.
    pub scripts: Vec<String>,
    /// What compared them.
    pub tool: String,
}

/// Where a run comes from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunOrigin {
    /// The name used in the report.
    pub name: String,
    /// The files.
    pub files: Vec<String>,
    /// What was read as what: a name of ours and the column, where they differ.
    pub columns: Vec<(String, String)>,
    /// The task, if it is known.
    pub task: Option<String>,
    /// The model, if it is known.
    pub model: Option<String>,
}

/// With what a comparison was computed.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareSettings {
    /// The level of intervals; 1 − level is the error that a test is allowed.
    pub level: f64,
    /// The seed of all that is random.
    pub seed: u64,
    /// How attempts were reduced.
    pub reducer: String,
    /// What the errors are about.
    pub estimand: Estimand,
    /// The metadata by which samples go together.
    pub cluster: Vec<String>,
    /// How much of a change does not matter.
    pub margin: Option<f64>,
    /// How p-values are adjusted.
    pub correction: Correction,
    /// How many tests were made, and are adjusted for.
    pub tests: u64,
}

/// Two runs, sample by sample.
#[derive(Clone, Debug)]
pub struct RunComparison {
    /// The name of the run that is judged.
    pub candidate: String,
    /// The name of the run that it is compared with.
    pub baseline: String,
    /// Which samples the runs share.
    pub matching: Matching,
    /// Why nothing can be compared: a run is empty, or they share no sample.
    pub problem: Option<Incomparable>,
    /// The metrics to compare, in their order.
    pub metrics: Vec<MetricComparison>,
    /// Latency, tokens and cost, where both runs record them. They are reported, and decide nothing unless they are among the metrics.
    pub resources: Vec<MetricComparison>,
    /// Which samples began to fail or to pass, or why that is not known.
    pub samples: Result<SampleChanges, Incomparable>,
}

/// Which samples two runs share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matching {
    /// The number of samples of the candidate.
    pub candidate: u64,
    /// The number of samples of the baseline.
    pub baseline: u64,
    /// The number of samples that both have.
    pub matched: u64,
    /// Those that only the candidate has.
    pub only_candidate: Vec<SampleId>,
    /// Those that only the baseline has.
    pub only_baseline: Vec<SampleId>,
}

/// The scale of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeScale {
    /// Candidate − baseline: 0 is no change.
    Difference,
    /// Candidate / baseline: 1 is no change. A margin of 0.02 is a factor of 1.02 either way.
    Ratio,
}

impl ChangeScale {
    /// The value that stands for no change.
    #[must_use]
    pub fn no_change(self) -> f64 {
        match self {
            Self::Difference => 0.0,
            Self::Ratio => 1.0,
        }
    }
}

/// One metric of two runs.
#[derive(Clone, Debug)]
pub struct MetricComparison {
    /// The metric, with its parameters if it has any.
    pub metric: String,
    /// The unit of its values.
    pub unit: Unit,
    /// Which side is the better one; none where neither is.
    pub direction: Option<Direction>,
    /// Whether the change is a difference or a ratio.
    pub scale: ChangeScale,
    /// The metric of the whole candidate.
    pub candidate: Figure,
    /// The metric of the whole baseline.
    pub baseline: Figure,
    /// The metric of candidate and baseline over the samples that both have, of which the change is made.
    pub matched: Option<(f64, f64)>,
    /// The change with its interval. `n` is the number of pairs, `missing` that of samples without a partner or a value.
    pub change: Figure,
    /// The difference if whatever is missing were as bad, and as good, as can be: for values between 0 and 1.
    pub bounds: Option<(f64, f64)>,
    /// The test of no change; none where there is nothing to test.
    pub test: Option<ChangeTest>,
    /// The mean difference (for ratios, of logarithms) with its error; none where it is not made of one.
    pub paired: Option<Difference>,
    /// Pearson's correlation of the pairs: what pairing gains.
    pub correlation: Option<f64>,
    /// For values that are all 0 or 1, who passed what.
    pub discordance: Option<Discordance>,
    /// What the typical sample changed by, for ratios, and for differences of which the mean stays open.
    pub typical: Option<TypicalSample>,
    /// The p-value of the sign-flip permutation test, exact, where there are few pairs.
    pub permutation_p: Option<f64>,
    /// The error for each claim that can be made.
    pub estimands: Vec<EstimandAnswer>,
    /// What a margin makes of it, where one is given.
    pub margin: Option<MarginAnswer>,
    /// The smallest change that this comparison would have found four times in five: on the scale of the metric for
    /// differences, as a factor for ratios.
    pub detectable: Option<f64>,
    /// The answer.
    pub verdict: ChangeVerdict,
    /// Why the answer is unknown, where it is.
    pub why: Option<Incomparable>,
    /// The difference by category, for metrics that are means over samples. For looking at: not tested.
    pub categories: Vec<CategoryChange>,
    /// The pairs, by name, for metrics that are means over samples.
    pub pairs: Vec<SamplePair>,
}

impl MetricComparison {
    /// True if samples show a change of the mean, and what did not occur leaves it open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.change.caveats.iter().any(|caveat| matches!(caveat, Caveat::OpenChange { .. }))
    }

    /// The pairs that differ, the largest differences first; equal ones in the order of their names.
    #[must_use]
    pub fn largest(&self, count: usize) -> Vec<&SamplePair> {
        let mut changed: Vec<&SamplePair> = self.pairs.iter().filter(|pair| pair.difference() != 0.0).collect();
        changed.sort_by(|a, b| b.difference().abs().total_cmp(&a.difference().abs()));
        changed.truncate(count);
        changed
    }
}

/// The value of a sample in both runs.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplePair {
    /// The sample.
    pub id: SampleId,
    /// Its value in the candidate.
    pub candidate: f64,
    /// Its value in the baseline.
    pub baseline: f64,
}

impl SamplePair {
    /// Candidate − baseline.
    #[must_use]
    pub fn difference(&self) -> f64 {
        self.candidate - self.baseline
    }
}

/// A test of no change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangeTest {
    /// The two-sided p-value.
    pub p: f64,
    /// The same adjusted for all tests that were made.
    pub adjusted: f64,
    /// By which test.
    pub method: TestMethod,
}

/// The tests of no change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestMethod {
    /// McNemar's exact test, for pairs that pass or fail.
    McNemarExact,
    /// Student's t of the differences of pairs.
    PairedT,
    /// The same with the cluster-robust error CR2 and Satterthwaite's degrees of freedom.
    ClusterRobustT,
    /// Gaffke's test of the mean of differences between −1 and 1, for margins.
    BoundedMean,
    /// Fieller's t of a ratio, corrected for skewness.
    FiellerT,
    /// Samples resampled in pairs.
    PairedBootstrap,
    /// The bounds of a difference of corrected means.
    CorrectedDifference,
    /// The bounds of both figures, joined by their correlation.
    JoinedBounds,
    /// No sample differs, so that there is nothing to test.
    NoDifference,
}

/// Two runs that pass or fail the same samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Discordance {
    /// Passed by both.
    pub both: u64,
    /// Passed by the candidate alone.
    pub only_candidate: u64,
    /// Passed by the baseline alone.
    pub only_baseline: u64,
    /// Passed by none.
    pub neither: u64,
    /// McNemar's test. Its exact value decides where samples are not clustered.
    pub test: McNemar,
}

/// What the typical sample changed by: the median over samples, which no rare sample moves. Beside the answer, which is about the mean.
#[derive(Clone, Debug)]
pub struct TypicalSample {
    /// The median change, with the interval of its order statistics.
    pub change: Figure,
    /// Samples whose value is higher in the candidate.
    pub higher: u64,
    /// Samples whose value is lower.
    pub lower: u64,
    /// Samples whose value is the same.
    pub same: u64,
    /// The two-sided p-value of the sign test, not adjusted; none where samples are clustered.
    pub p: Option<f64>,
}

/// What can be claimed, and how surely.
#[derive(Clone, Debug)]
pub struct EstimandAnswer {
    /// The claim.
    pub estimand: Estimand,
    /// The change with its interval, or why there is none.
    pub change: Figure,
    /// The two-sided p-value of no change.
    pub p: Option<f64>,
}

/// What a margin makes of a change. P-values are one-sided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MarginAnswer {
    /// The margin.
    pub margin: f64,
    /// The answer, at an error of 1 − level.
    pub standing: MarginStanding,
    /// The p-value of "worse by the margin or more"; none where neither side is better.
    pub noninferiority_p: Option<f64>,
    /// The p-value of "differs by the margin or more", by two one-sided tests.
    pub equivalence_p: f64,
    /// The p-value of "worse by no more than the margin", adjusted; none where neither side is better.
    pub inferiority_p: Option<f64>,
    /// The p-value of "better by no more than the margin", adjusted; none where neither side is better.
    pub superiority_p: Option<f64>,
}

/// Where a change stands to its margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarginStanding {
    /// Surely better by more than the margin.
    Superior,
    /// Surely within the margin, either way.
    Equivalent,
    /// Surely not worse by more than the margin.
    NonInferior,
    /// Surely worse by more than the margin.
    Inferior,
    /// None of these is sure.
    Unclear,
}

/// The verdict on a metric, in Criterion's words.
///
/// With α = 1 − level and p adjusted for all tests: a change is *significant* if p ≤ α. A significant change is an
/// improvement or a regression by the metric's better side. Where a margin is given it also has to be surely larger than
/// the margin (one-sided, adjusted, at α), or it is within noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeVerdict {
    /// Significantly better, and by more than the margin if there is one.
    Improved,
    /// Significantly worse, and by more than the margin if there is one.
    Regressed,
    /// Significantly changed, of a metric of which neither side is better.
    Changed,
    /// Significantly changed, but not surely by more than the margin.
    WithinNoise,
    /// Not significant. That is not the same as equal: see the interval.
    NoChangeDetected,
    /// Nothing is known; see `why`.
    Unknown,
}

/// The difference within a category.
#[derive(Clone, Debug)]
pub struct CategoryChange {
    /// The category.
    pub category: Arc<str>,
    /// The mean of the candidate over the pairs.
    pub candidate: f64,
    /// The mean of the baseline over the pairs.
    pub baseline: f64,
    /// Their difference or ratio, with an interval that is not adjusted for looking at several.
    pub change: Figure,
}

/// Which samples began to fail or to pass, and which are flaky.
#[derive(Clone, Debug, Default)]
pub struct SampleChanges {
    /// Passed by the baseline and not by the candidate; those that are flaky come last.
    pub newly_failing: Vec<SampleChange>,
    /// Passed by the candidate and not by the baseline; those that are flaky come last.
    pub newly_fixed: Vec<SampleChange>,
    /// Samples of which some attempts passed and some failed, in either run.
    pub flaky: Vec<SampleChange>,
    /// Passed in both.
    pub still_passing: u64,
    /// Failed in both.
    pub still_failing: u64,
    /// Shared samples of which it is not known in one run or the other: what did not run has not changed.
    pub unknown: u64,
    /// Flaky samples of the candidate among those with at least two attempts that ran.
    pub flaky_candidate: Flakiness,
    /// The same of the baseline.
    pub flaky_baseline: Flakiness,
}

impl SampleChanges {
    /// The flaky samples that neither began to fail nor began to pass.
    pub fn only_flaky(&self) -> impl Iterator<Item = &SampleChange> {
        let changed: HashSet<&SampleId> =
            self.newly_failing.iter().chain(&self.newly_fixed).map(|sample| &sample.id).collect();
        self.flaky.iter().filter(move |sample| !changed.contains(&sample.id))
    }
}

/// How many samples are flaky.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flakiness {
    /// Samples with passed and with failed attempts.
    pub flaky: u64,
    /// Samples with at least two attempts that ran: only those can show it.
    pub repeated: u64,
}

impl Flakiness {
    /// The share of flaky samples; none without repeats.
    #[must_use]
    pub fn rate(self) -> Option<f64> {
        (self.repeated > 0).then(|| self.flaky as f64 / self.repeated as f64)
    }
}

/// A sample in both runs.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleChange {
    /// The sample.
    pub id: SampleId,
    /// Its category.
    pub category: Option<Arc<str>>,
    /// Its attempts in the candidate.
    pub candidate: AttemptCounts,
    /// Its attempts in the baseline.
    pub baseline: AttemptCounts,
    /// Why the first failing attempt of the candidate (or, if it has none, of the baseline) failed. May quote a model.
    pub reason: Option<Shortcoming>,
}

impl SampleChange {
    /// True when attempts of one run disagree, so that a change may be luck.
    #[must_use]
    pub fn is_flaky(&self) -> bool {
        self.candidate.is_flaky() || self.baseline.is_flaky()
    }
}

/// How many attempts of a sample passed, among those that ran and are scored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttemptCounts {
    /// Those that passed.
    pub passed: u64,
    /// Those that passed or failed.
    pub scored: u64,
}

impl AttemptCounts {
    /// True when some passed and some failed.
    #[must_use]
    pub fn is_flaky(self) -> bool {
        self.passed > 0 && self.passed < self.scored
    }

    /// The share that passed; none if none is scored.
    #[must_use]
    pub fn rate(self) -> Option<f64> {
        (self.scored > 0).then(|| self.passed as f64 / self.scored as f64)
    }
}

/// Several runs in the order of a metric, over the samples that all of them have.
#[derive(Clone, Debug)]
pub struct Ranking {
    /// The metric.
    pub metric: String,
    /// The unit of its values.
    pub unit: Unit,
    /// The runs, the best first, or why there is no order.
    pub rows: Result<Vec<RankedRun>, Incomparable>,
}

/// A run in a ranking.
#[derive(Clone, Debug)]
pub struct RankedRun {
    /// The run.
    pub run: String,
    /// Its estimate over the shared samples. The intervals of all runs hold jointly at the level.
    pub figure: Figure,
    /// The best rank that pairwise tests leave: 1 + the number of runs that are surely better.
    pub best_rank: u64,
    /// The worst rank that they leave: all runs − those that are surely worse.
    pub worst_rank: u64,
}
