//! The sampling distribution of a change: how surely it lies on one side of a value.

use super::compare_report::{ChangeScale, Discordance, TestMethod};
use super::method;
use calipers_core::{Caveat, Figure, Incomparable, Reason, Tally, Undefined};
use calipers_stats::adjusted_ratio::AdjustedShare;
use calipers_stats::bounded_ratio::{BoundedRatio, Term};
use calipers_stats::corrected_mean::CorrectedMean;
use calipers_stats::corrected_units::CorrectedUnits;
use calipers_stats::exact::{mcnemar, sign_flip, sign_flip_clustered};
use calipers_stats::joined_difference::{BoundedEstimate, JoinedDifference};
use calipers_stats::matthews::MatthewsTable;
use calipers_stats::paired::{Difference, PairedDifferences, pair, paired_clustered};
use calipers_stats::power::{Test, mcnemar_detectable};
use calipers_stats::rerun_mean::RerunMean;
use calipers_stats::skewed_mean::{OpenChange, SkewedMean};
use calipers_stats::skewed_ratio::SkewedRatio;
use calipers_stats::{
    Confidence, Interval, Method, Moments, Quantity, Seed, StatisticCaveat as Statistic, find_scale, special,
};
use indexmap::IndexMap;
use std::borrow::Cow;
use std::cell::OnceCell;

/// Up to so many pairs or clusters, all sign patterns are tried.
const FEW_UNITS: u64 = 20;
/// Below so many pairs or clusters, no test holds for values without a limit if one run is more skewed than the other.
const PAIRS_NEEDED: u64 = 10;
/// If fewer clusters differ, and fewer than half of them do, t is too sure: of forty clusters of 1 to 20 samples, of which 2 % are
/// lost, its 95 % interval covers 90 % of the time, and 63 % if the samples of a cluster are alike.
const ENOUGH_CHANGED_CLUSTERS: usize = 20;
/// Random sign patterns, where there are too many to try all of them.
const FLIPS: u64 = 9999;

/// How an estimate of a change would vary from run to run.
#[derive(Clone, Debug)]
pub(super) enum SamplingDistribution {
    /// Student's t.
    T(Difference),
    /// Student's t, corrected for skewness.
    SkewedMean(SkewedMean),
    /// Fieller's t of a ratio, of which this is the logarithm.
    SkewedRatio(Box<SkewedRatio>),
    /// Resamples, ascending.
    Replicates(Vec<f64>),
    /// Bounds of the mean of differences between −1 and 1. At 0, McNemar's exact test where they are −1, 0 and 1.
    Bounded(BoundedRatio),
    /// Bounds of the difference of means that are corrected by labels.
    Corrected(Box<JoinedDifference<CorrectedMean>>),
    /// The same with clusters as the units.
    CorrectedUnits(Box<JoinedDifference<CorrectedUnits>>),
    /// Bounds of the difference of shares whose denominators vary.
    Shares(Box<JoinedDifference<AdjustedShare>>),
    /// Bounds of the difference of means of which only the attempts are luck.
    Reruns(Box<JoinedDifference<RerunMean>>),
    /// Bounds of the difference of correlations of truth and prediction.
    Tables(Box<JoinedDifference<MatthewsTable>>),
}

impl SamplingDistribution {
    /// The p-value of "the change is `null` or more": small where it is surely below.
    pub(super) fn below(&self, null: f64) -> Option<f64> {
        match self {
            Self::T(found) if found.stderr > 0.0 => Some(special::t_cdf((found.mean - null) / found.stderr, found.df)),
            Self::T(_) => None,
            Self::SkewedMean(mean) => Some(mean.p_below(null)),
            Self::SkewedRatio(ratio) => Some(ratio.p_below(null.exp())),
            Self::Replicates(sorted) => {
                let reaching = sorted.len() - sorted.partition_point(|&x| x < null);
                Some((reaching + 1) as f64 / (sorted.len() + 1) as f64)
            }
            Self::Bounded(ratio) => Some(ratio.p_below(null)),
            Self::Corrected(difference) => Some(difference.p_below(null)),
            Self::CorrectedUnits(difference) => Some(difference.p_below(null)),
            Self::Shares(difference) => Some(difference.p_below(null)),
            Self::Tables(difference) => Some(difference.p_below(null)),
            Self::Reruns(difference) => Some(difference.p_below(null)),
        }
    }

    /// The p-value of "the change is `null` or less": small where it is surely above.
    pub(super) fn above(&self, null: f64) -> Option<f64> {
        match self {
            Self::T(found) if found.stderr > 0.0 => Some(special::t_cdf((null - found.mean) / found.stderr, found.df)),
            Self::T(_) => None,
            Self::SkewedMean(mean) => Some(mean.p_above(null)),
            Self::SkewedRatio(ratio) => Some(ratio.p_above(null.exp())),
            Self::Replicates(sorted) => {
                let upto = sorted.partition_point(|&x| x <= null);
                Some((upto + 1) as f64 / (sorted.len() + 1) as f64)
            }
            Self::Bounded(ratio) => Some(ratio.p_above(null)),
            Self::Corrected(difference) => Some(difference.p_above(null)),
            Self::CorrectedUnits(difference) => Some(difference.p_above(null)),
            Self::Shares(difference) => Some(difference.p_above(null)),
            Self::Tables(difference) => Some(difference.p_above(null)),
            Self::Reruns(difference) => Some(difference.p_above(null)),
        }
    }

    /// Whether what was seen shows a change, and only what did not occur leaves it open.
    pub(super) fn open(&self, alpha: f64) -> Option<OpenChange> {
        match self {
            Self::SkewedMean(mean) => mean.open(alpha),
            Self::SkewedRatio(ratio) => ratio.open(alpha),
            _ => None,
        }
    }

    /// The two-sided p-value of no change.
    pub(super) fn p(&self) -> Option<f64> {
        Some((2.0 * self.below(0.0)?.min(self.above(0.0)?)).min(1.0))
    }
}

/// A change, on the scale of its test: a difference, or the logarithm of a ratio.
#[derive(Clone, Debug)]
pub(super) struct ChangeEstimate {
    pub(super) scale: ChangeScale,
    pub(super) n: u64,
    pub(super) method: &'static str,
    /// Candidate and baseline over the pairs.
    pub(super) sides: Option<(f64, f64)>,
    pub(super) estimate: Result<f64, Incomparable>,
    pub(super) interval: Option<Interval>,
    pub(super) distribution: Option<SamplingDistribution>,
    /// The two-sided p-value of no change, and the test.
    pub(super) p: Option<(f64, TestMethod)>,
    /// Why there is no p-value.
    pub(super) why: Option<Incomparable>,
    pub(super) paired: Option<Difference>,
    pub(super) correlation: Option<f64>,
    pub(super) discordance: Option<Discordance>,
    pub(super) permutation_p: Option<f64>,
    /// True where it is stated how much one sample can have.
    pub(super) is_limited: bool,
    pub(super) caveats: Vec<Caveat>,
    pub(super) details: Vec<(&'static str, f64)>,
}

impl ChangeEstimate {
    /// No estimate, and why.
    pub(super) fn nothing(scale: ChangeScale, n: u64, why: Incomparable) -> Self {
        Self {
            scale,
            n,
            method: method::NONE,
            sides: None,
            estimate: Err(why.clone()),
            interval: None,
            distribution: None,
            p: None,
            why: Some(why),
            paired: None,
            correlation: None,
            discordance: None,
            permutation_p: None,
            is_limited: false,
            caveats: Vec::new(),
            details: Vec::new(),
        }
    }

    /// An estimate without its error.
    pub(super) fn with_estimate(
        scale: ChangeScale,
        n: u64,
        method: &'static str,
        sides: (f64, f64),
        estimate: f64,
    ) -> Self {
        Self {
            method,
            sides: Some(sides),
            estimate: Ok(estimate),
            why: None,
            ..Self::nothing(scale, n, Incomparable::NoSpread)
        }
    }

    /// The smallest change that the test that decides would find with this power, on the scale of the distribution.
    ///
    /// `alpha` is the error that the test may make, as many others as are made beside it.
    pub(super) fn detectable(&self, alpha: f64, power: f64) -> Option<f64> {
        let test = Test::two_sided(alpha).ok()?;
        match (&self.distribution, &self.discordance, &self.paired) {
            // McNemar's test, which knows no clusters.
            (Some(SamplingDistribution::Bounded(_)), Some(counts), _)
                if matches!(self.p, Some((_, TestMethod::McNemarExact))) =>
            {
                let discordant = counts.only_candidate + counts.only_baseline;
                mcnemar_detectable(self.n, discordant as f64 / self.n as f64, test, power).ok()
            }
            (Some(SamplingDistribution::T(_)), _, Some(found)) if found.stderr > 0.0 => {
                let quantile = |p: f64| special::t_quantile(p, found.df);
                Some((quantile(1.0 - test.tail()) + quantile(power)) * found.stderr)
            }
            // The bound of a change that is just found lies at no change. The farther bound counts, for rises and drops.
            (Some(distribution), _, Some(found)) => {
                let confidence = Confidence::two_sided(1.0 - alpha).ok()?;
                let (estimate, interval) = match distribution {
                    SamplingDistribution::SkewedMean(mean) => (found.mean, mean.interval(confidence)),
                    SamplingDistribution::SkewedRatio(ratio) => (ratio.estimate().ln(), ratio.log_interval(confidence)),
                    SamplingDistribution::Reruns(difference) => (found.mean, difference.interval(confidence).ok()?),
                    _ => return None,
                };
                let reach = (estimate - interval.lower?).max(interval.upper? - estimate);
                Some(reach + special::t_quantile(power, found.df) * found.stderr)
            }
            _ => None,
        }
    }

    /// The change as a figure, on the scale that it is shown on.
    pub(super) fn figure(&self, missing: u64) -> Figure {
        let shown = |x: f64| if self.scale == ChangeScale::Ratio { x.exp() } else { x };
        let value = self.estimate.clone().map(shown);
        let value = value.map_err(undefined);
        let mut figure = Figure::from_result(value, Tally { n: self.n, missing }, self.method);
        figure.interval = self.interval.map(|interval| Interval {
            lower: interval.lower.map(shown),
            upper: interval.upper.map(shown),
            ..interval
        });
        figure.caveats.clone_from(&self.caveats);
        figure.details.clone_from(&self.details);
        figure
    }

    /// With a p-value and an interval that say the same. Bounds that jump from value to value need not be nested, so that the
    /// p-value may belong to another level; what claims less counts.
    pub(super) fn settle(mut self, confidence: Confidence) -> Self {
        let alpha = 2.0 * confidence.tail();
        if let (Some((p, _)), Some(interval)) = (&mut self.p, &mut self.interval) {
            if interval.contains(0.0) {
                *p = p.max(alpha.next_up());
            } else if *p > alpha {
                interval.lower = interval.lower.map(|lower| lower.min(0.0));
                interval.upper = interval.upper.map(|upper| upper.max(0.0));
            }
        }
        self
    }

    /// With t around the estimate.
    fn with_t(mut self, found: Difference, confidence: Confidence) -> Self {
        self.interval = found.interval(confidence).ok().map(|interval| match (self.scale, interval.method) {
            (ChangeScale::Ratio, Method::T) => Interval { method: Method::DeltaT, ..interval },
            _ => interval,
        });
        self.paired = Some(found);
        self.distribution = Some(SamplingDistribution::T(found));
        self.p = found.p_two_sided().ok().map(|p| (p, test_method(found.method)));
        self.details.push(("stderr", found.stderr));
        self.details.push(("df", found.df));
        self
    }
}

fn test_method(method: Method) -> TestMethod {
    match method {
        Method::ClusterSatterthwaite => TestMethod::ClusterRobustT,
        _ => TestMethod::PairedT,
    }
}

/// A figure has no value because runs cannot be compared.
pub(super) fn undefined(why: Incomparable) -> Undefined {
    Undefined::new(Reason::Incomparable(Box::new(why)), f64::NAN)
}

/// The values of samples in both runs.
pub(super) struct PairedValues<'v> {
    pub(super) candidate: Cow<'v, [f64]>,
    pub(super) baseline: Cow<'v, [f64]>,
    /// The cluster of each pair, if samples are clustered.
    pub(super) clusters: Option<Vec<u32>>,
    /// The least and the most that values can be, if that is stated for both sides.
    limits: Option<[f64; 2]>,
    /// Their sums, found once.
    pairs: OnceCell<PairedDifferences>,
}

impl<'v> PairedValues<'v> {
    pub(super) fn new(
        candidate: impl Into<Cow<'v, [f64]>>,
        baseline: impl Into<Cow<'v, [f64]>>,
        clusters: Option<Vec<u32>>,
    ) -> Self {
        Self { candidate: candidate.into(), baseline: baseline.into(), clusters, limits: None, pairs: OnceCell::new() }
    }

    /// The same values with what they can be at least and at most.
    pub(super) fn within(self, limits: Option<[f64; 2]>) -> Self {
        Self { limits, ..self }
    }

    /// The most that a sample can have, as multiples of the means of both sides.
    pub(super) fn most_by_mean(&self) -> Option<[f64; 2]> {
        let [_, most] = self.limits?;
        let (candidate, baseline) = means(self)?;
        Some([most / candidate, most / baseline])
    }

    /// Differences from 0. Without clusters there may be millions, of which only the sums are kept.
    fn from_zero(values: impl Iterator<Item = f64>, clusters: Option<Vec<u32>>) -> PairedValues<'static> {
        const BLOCK: usize = 1024;
        if clusters.is_some() {
            let values: Vec<f64> = values.collect();
            let nothing = vec![0.0; values.len()];
            return PairedValues::new(values, nothing, clusters);
        }
        let (mut pairs, mut values) = (PairedDifferences::default(), values.peekable());
        let mut block = Vec::with_capacity(BLOCK);
        while values.peek().is_some() {
            block.clear();
            block.extend(values.by_ref().take(BLOCK));
            pairs.extend(&block, &[0.0; BLOCK][..block.len()]).expect("a pair has two values");
        }
        PairedValues { pairs: pairs.into(), ..PairedValues::new(Vec::new(), Vec::new(), None) }
    }

    pub(super) fn pairs(&self) -> &PairedDifferences {
        self.pairs.get_or_init(|| pair(&self.candidate, &self.baseline).expect("a pair has two values"))
    }

    /// Some of the pairs.
    pub(super) fn gather(&self, places: &[u32]) -> PairedValues<'static> {
        let pick = |side: &[f64]| places.iter().map(|&place| side[place as usize]).collect::<Vec<f64>>();
        let clusters = self.clusters.as_ref();
        let clusters = clusters.map(|clusters| places.iter().map(|&place| clusters[place as usize]).collect());
        PairedValues::new(pick(&self.candidate), pick(&self.baseline), clusters).within(self.limits)
    }

    pub(super) fn correlation(&self) -> Option<f64> {
        self.pairs().correlation().ok()
    }

    fn differences(&self) -> Vec<f64> {
        self.candidate.iter().zip(&*self.baseline).map(|(a, b)| a - b).collect()
    }

    fn is_unit(&self) -> bool {
        let (candidate, baseline) = self.pairs().sides();
        candidate.is_unit() && baseline.is_unit()
    }

    fn units(&self) -> u64 {
        match &self.clusters {
            None => self.candidate.len() as u64,
            Some(clusters) => clusters.iter().collect::<hashbrown::HashSet<_>>().len() as u64,
        }
    }

    /// The differences of each cluster, if samples are clustered.
    fn cluster_sums(&self) -> Option<IndexMap<u32, Moments>> {
        let mut sums: IndexMap<u32, Moments> = IndexMap::new();
        for (&cluster, difference) in self.clusters.as_ref()?.iter().zip(self.differences()) {
            sums.entry(cluster).or_default().add(difference);
        }
        Some(sums)
    }

    /// The least and the most by which a sample or cluster that did not occur may change: it loses all that samples had in the baseline,
    /// or gains all that they lacked. Where scores fit no scale, it ends where one was seen, or changes by as much as the one that changed
    /// most.
    fn unseen_changes(&self) -> [f64; 2] {
        let (candidate, baseline) = self.pairs().sides();
        let had = baseline.mean().unwrap_or(0.0);
        if let Some([least, most]) = self.limits {
            return [least - had, most - had];
        }
        let [least, most] = ends_of([candidate, baseline]);
        // Values around 10 are hardly on a scale up to 100.
        let scale =
            if self.is_unit() { Some(1.0) } else { find_scale([least, most]).filter(|scale| 2.0 * most >= *scale) };
        if let Some(scale) = scale {
            return [-had, scale - had];
        }
        let by_cluster = self.clusters.as_ref().map(|clusters| {
            let mut means: IndexMap<u32, (Moments, Moments)> = IndexMap::new();
            for (&cluster, (&a, &b)) in clusters.iter().zip(self.candidate.iter().zip(&*self.baseline)) {
                let (ours, theirs) = means.entry(cluster).or_default();
                ours.add(a);
                theirs.add(b);
            }
            let mean = |moments: &Moments| moments.mean().unwrap_or(0.0);
            let (ours, theirs): (Vec<f64>, Vec<f64>) = means.values().map(|(a, b)| (mean(a), mean(b))).unzip();
            PairedValues::new(ours, theirs, None)
        });
        let pairs = by_cluster.as_ref().unwrap_or(self).pairs();
        let (candidate, baseline) = pairs.sides();
        let [least, most] = ends_of([candidate, baseline]);
        let mean = pairs.mean_diff().unwrap_or(0.0);
        let beyond = ends_of([pairs.differences()]).map(|end| (end - mean).abs()).into_iter().fold(0.0, f64::max);
        [(least - had).min(mean - beyond), (most - had).max(mean + beyond)]
    }

    /// True if samples are clustered and few clusters differ.
    fn has_rare_changes(&self) -> bool {
        let Some(clusters) = &self.clusters else { return false };
        let mut differ: hashbrown::HashMap<u32, bool> = hashbrown::HashMap::new();
        for (&cluster, (a, b)) in clusters.iter().zip(self.candidate.iter().zip(&*self.baseline)) {
            *differ.entry(cluster).or_default() |= a != b;
        }
        let changed = differ.values().filter(|differs| **differs).count();
        changed < ENOUGH_CHANGED_CLUSTERS && 2 * changed < differ.len()
    }

    /// The differences as terms of a mean that no sample can move by more than 1: one per pair or, of pairs that go
    /// together, one per cluster.
    fn bounded_ratio(&self) -> Option<BoundedRatio> {
        let terms: Vec<Term> = match self.cluster_sums() {
            None => self.differences().iter().map(|&difference| Term::new(difference, 1.0)).collect(),
            Some(sums) => sums.values().map(|sum| Term::new(sum.sum(), sum.count() as f64)).collect(),
        };
        let largest = terms.iter().map(|term| term.denominator).fold(0.0, f64::max);
        BoundedRatio::new(terms, Term::new(-largest, largest), Term::new(largest, largest)).ok()
    }

    /// The correlation of the sums of clusters, where samples have some.
    pub(super) fn unit_correlation(&self) -> Option<f64> {
        let Some(clusters) = &self.clusters else { return self.correlation() };
        let mut sums: IndexMap<u32, (Moments, Moments)> = IndexMap::new();
        for (&cluster, (&a, &b)) in clusters.iter().zip(self.candidate.iter().zip(&*self.baseline)) {
            let (ours, theirs) = sums.entry(cluster).or_default();
            ours.add(a);
            theirs.add(b);
        }
        let (candidate, baseline): (Vec<f64>, Vec<f64>) = sums.values().map(|(a, b)| (a.sum(), b.sum())).unzip();
        PairedValues::new(candidate, baseline, None).correlation()
    }

    /// Who passed what, if every value is 0 or 1.
    fn discordance(&self) -> Option<Discordance> {
        let (candidate, baseline) = self.pairs().sides();
        if self.candidate.is_empty() || !candidate.is_binary() || !baseline.is_binary() {
            return None;
        }
        let mut counts = [0; 4];
        for (a, b) in self.candidate.iter().zip(&*self.baseline) {
            counts[usize::from(*a == 0.0) * 2 + usize::from(*b == 0.0)] += 1;
        }
        let [both, only_candidate, only_baseline, neither] = counts;
        let test = mcnemar(only_candidate, only_baseline);
        Some(Discordance { both, only_candidate, only_baseline, neither, test })
    }

    /// The exact or simulated sign-flip test.
    pub(super) fn sign_flip(&self, seed: Seed) -> Option<f64> {
        let differences = self.differences();
        let test = match &self.clusters {
            None => sign_flip(&differences, FLIPS, seed),
            Some(clusters) => sign_flip_clustered(&differences, clusters, FLIPS, seed),
        };
        test.ok().map(|test| test.p)
    }
}

/// The mean of the differences of pairs, as questions like these would show it.
///
/// Pairs of 0 and 1 without clusters are tested by McNemar's exact test, and their interval and their margins are those of the
/// same test against other values. If a margin is to be kept (`has_margin`), so are all values between 0 and 1: t would claim too
/// often that a loss is small. So are they if there are fewer than ten pairs or clusters, or if samples are clustered and few clusters
/// differ, because an error that is estimated from a few clusters is too small if most others could have differed too. Everything else
/// has t, corrected for skewness and for changes that did not occur, and with fewer than ten pairs or clusters nothing.
pub(super) fn estimate_mean_difference(
    values: &PairedValues<'_>,
    confidence: Confidence,
    seed: Seed,
    has_margin: bool,
) -> ChangeEstimate {
    let pairs = values.pairs();
    let n = pairs.count();
    let (Ok(estimate), Some(sides)) = (pairs.mean_diff(), means(values)) else {
        return ChangeEstimate::nothing(ChangeScale::Difference, n, Incomparable::NoSharedValue { runs: 2 });
    };
    let mut found = ChangeEstimate::with_estimate(ChangeScale::Difference, n, method::MEAN_DIFFERENCE, sides, estimate);
    found.correlation = values.correlation();
    found.discordance = values.discordance();
    if n < 2 {
        found.why = Some(Incomparable::OnePair);
        return found;
    }
    if pairs.is_identical() {
        return estimate_identical(found, values, confidence);
    }
    let mut found = estimate_spread(found, values, confidence, seed);
    let are_counts = values.clusters.is_none() && found.discordance.is_some();
    let is_bounded = has_margin || values.has_rare_changes() || values.units() < PAIRS_NEEDED;
    if are_counts || values.is_unit() && is_bounded {
        decide_by_bounds(&mut found, values, confidence);
    }
    found
}

/// The least and the most of several lists of values.
fn ends_of<const N: usize>(lists: [&Moments; N]) -> [f64; 2] {
    let all = |end: fn(&Moments) -> Result<f64, calipers_stats::Undefined>| {
        lists.into_iter().filter_map(move |list| end(list).ok())
    };
    [all(Moments::min).fold(f64::INFINITY, f64::min), all(Moments::max).fold(f64::NEG_INFINITY, f64::max)]
}

fn means(values: &PairedValues<'_>) -> Option<(f64, f64)> {
    let (candidate, baseline) = values.pairs().sides();
    Some((candidate.mean().ok()?, baseline.mean().ok()?))
}

/// No pair differs.
fn estimate_identical(mut found: ChangeEstimate, values: &PairedValues<'_>, confidence: Confidence) -> ChangeEstimate {
    found.p = Some((1.0, TestMethod::NoDifference));
    found.caveats.push(Statistic::NoSpread { n: found.n }.into());
    if let Some(ratio) = values.is_unit().then(|| values.bounded_ratio()).flatten() {
        // How many samples would have to change, for none to show here?
        found.interval = Some(ratio.interval(confidence));
        found.distribution = Some(SamplingDistribution::Bounded(ratio));
    } else if values.units() >= PAIRS_NEEDED {
        let same = found.p;
        found = correct_for_skewness(found, values, confidence);
        found.p = same;
    }
    found
}

/// t of the differences of pairs, or of clusters of them, corrected for skewness and for changes that did not occur.
fn estimate_spread(
    found: ChangeEstimate,
    values: &PairedValues<'_>,
    confidence: Confidence,
    seed: Seed,
) -> ChangeEstimate {
    let (mut found, error) = estimate_error(found, values, confidence);
    if values.units() <= FEW_UNITS {
        found.permutation_p = values.sign_flip(seed);
    }
    match error {
        // Scores between 0 and 1 have a test for few pairs.
        _ if values.units() >= PAIRS_NEEDED || values.is_unit() => correct_for_skewness(found, values, confidence),
        Ok(()) => refuse_few(found, values.units()),
        Err(why) => {
            found.why = Some(Incomparable::Statistic(why));
            found
        }
    }
}

/// The estimate with its standard error, by cluster where pairs have some, and why there is none.
fn estimate_error(
    mut found: ChangeEstimate,
    values: &PairedValues<'_>,
    confidence: Confidence,
) -> (ChangeEstimate, Result<(), calipers_stats::Undefined>) {
    let difference = match &values.clusters {
        None => values.pairs().difference(),
        Some(clusters) => match paired_clustered(&values.candidate, &values.baseline, clusters) {
            Err(why) => Err(why),
            Ok(estimate) => {
                found.details.push(("clusters", estimate.clusters as f64));
                found.caveats.extend(estimate.caveats().into_iter().map(Caveat::from));
                Difference::cr2(&estimate)
            }
        },
    };
    match difference {
        Ok(difference) if difference.stderr > 0.0 => (found.with_t(difference, confidence), Ok(())),
        Ok(_) => {
            found.caveats.push(Statistic::NoSpread { n: found.n }.into());
            (found, Ok(()))
        }
        Err(why) => (found, Err(why)),
    }
}

/// Neither interval nor test, since with so few pairs or clusters none would hold for values without a limit.
fn refuse_few(mut found: ChangeEstimate, have: u64) -> ChangeEstimate {
    (found.interval, found.distribution, found.p) = (None, None, None);
    let too_few = Caveat::from(Statistic::SmallSample { n: have, need: PAIRS_NEEDED });
    if !found.caveats.contains(&too_few) {
        found.caveats.push(too_few);
    }
    let what = if found.n == have { Quantity::Pairs } else { Quantity::Clusters };
    let why = calipers_stats::Undefined::TooFew { what, need: PAIRS_NEEDED, have };
    found.why = Some(Incomparable::Statistic(why));
    found
}

/// The p-value, the interval and every margin by t that is corrected for skewness and for changes that did not occur.
fn correct_for_skewness(
    mut found: ChangeEstimate,
    values: &PairedValues<'_>,
    confidence: Confidence,
) -> ChangeEstimate {
    let mean = match values.cluster_sums() {
        None => {
            let (candidate, baseline) = (&values.candidate, &values.baseline);
            SkewedMean::of_differences(candidate, baseline, values.pairs().differences(), values.unseen_changes())
        }
        Some(sums) => {
            let sums: Vec<(f64, f64)> = sums.values().map(|sum| (sum.sum(), sum.count() as f64)).collect();
            SkewedMean::of_clusters(&sums, values.unseen_changes())
        }
    };
    let method = if values.clusters.is_none() { TestMethod::PairedT } else { TestMethod::ClusterRobustT };
    let mean = match mean {
        Ok(mean) => mean,
        Err(why) => {
            (found.interval, found.distribution, found.p) = (None, None, None);
            found.why = Some(Incomparable::Statistic(why));
            return found;
        }
    };
    found.interval = Some(mean.interval(confidence)).filter(|interval| interval.lower.is_some());
    let distribution = SamplingDistribution::SkewedMean(mean);
    found.p = distribution.p().map(|p| (p, method));
    found.distribution = Some(distribution);
    found
}

/// One test for the p-value, the interval and every margin.
fn decide_by_bounds(found: &mut ChangeEstimate, values: &PairedValues<'_>, confidence: Confidence) {
    let Some(ratio) = values.bounded_ratio() else { return };
    found.interval = Some(ratio.interval(confidence));
    let distribution = SamplingDistribution::Bounded(ratio);
    found.p = match found.discordance {
        Some(counts) if values.clusters.is_none() => Some((counts.test.p_exact, TestMethod::McNemarExact)),
        _ => distribution.p().map(|p| (p, TestMethod::BoundedMean)),
    };
    found.distribution = Some(distribution);
}

/// A ratio of two sums, of which each unit adds one term to both, those of `y` and of `x`.
///
/// `moved` holds, on the scale of logarithms, the estimate plus n times each sample's influence: its mean is the estimate, and its
/// error the one that is reported. The test, the margins and the interval are Fieller's.
pub(super) fn estimate_paired_ratio(
    mut found: ChangeEstimate,
    moved: impl Iterator<Item = f64>,
    (y, x): (&[f64], &[f64]),
    clusters: Option<Vec<u32>>,
    most: Option<[f64; 2]>,
    confidence: Confidence,
) -> ChangeEstimate {
    if found.n < 2 {
        found.why = Some(Incomparable::OnePair);
        return found;
    }
    let values = PairedValues::from_zero(moved, clusters);
    let is_identical = values.pairs().is_identical();
    if is_identical {
        found.p = Some((1.0, TestMethod::NoDifference));
        found.caveats.push(Statistic::NoSpread { n: found.n }.into());
    } else {
        // The error that is shown; the test, the margins and the interval are Fieller's.
        (found, _) = estimate_error(found, &values, confidence);
        (found.interval, found.distribution, found.p) = (None, None, None);
    }
    let units = y.len() as u64;
    if units < PAIRS_NEEDED {
        return if is_identical { found } else { refuse_few(found, units) };
    }
    found.is_limited = most.is_some();
    match SkewedRatio::new(y, x) {
        Ok(ratio) => {
            let ratio = if let Some(most) = most { ratio.within(most) } else { ratio };
            found.interval = Some(ratio.log_interval(confidence));
            let distribution = SamplingDistribution::SkewedRatio(Box::new(ratio));
            found.p = found.p.or_else(|| distribution.p().map(|p| (p, TestMethod::FiellerT)));
            found.distribution = Some(distribution);
        }
        Err(why) => found.why = Some(Incomparable::Statistic(why)),
    }
    found
}

/// A difference of two figures that each have bounds, joined by how their influences go together.
pub(super) fn estimate_joined<E: BoundedEstimate>(
    mut found: ChangeEstimate,
    is_same: bool,
    (ours, theirs): (E, E),
    influences: &PairedValues<'_>,
    confidence: Confidence,
    distribution: impl Fn(JoinedDifference<E>) -> SamplingDistribution,
) -> ChangeEstimate {
    if found.n < 2 {
        found.why = Some(Incomparable::OnePair);
        return found;
    }
    if is_same {
        found.p = Some((1.0, TestMethod::NoDifference));
        found.caveats.push(Statistic::NoSpread { n: found.n }.into());
        return found;
    }
    let correlation = influences.unit_correlation();
    found.correlation = correlation;
    if influences.clusters.is_some() {
        found.details.push(("clusters", influences.units() as f64));
    }
    // Where one of them does not vary, nothing shows that they go together.
    let difference = JoinedDifference { ours, theirs, correlation: correlation.unwrap_or(0.0) };
    match difference.interval(confidence) {
        Ok(interval) => found.interval = Some(interval),
        Err(why) => {
            found.why = Some(Incomparable::Statistic(why));
            return found;
        }
    }
    let distribution = distribution(difference);
    found.p = distribution.p().map(|p| (p, TestMethod::JoinedBounds));
    found.distribution = Some(distribution);
    found.settle(confidence)
}

/// The same change with the error of the attempts alone, where t is that of attempts of any range.
pub(super) fn estimate_rerun(like: &ChangeEstimate, found: Difference, confidence: Confidence) -> ChangeEstimate {
    without_error(like).with_t(found, confidence)
}

/// The same of attempts between 0 and 1: bounds of both runs, joined. Their luck is their own.
pub(super) fn estimate_rerun_within(
    like: &ChangeEstimate,
    [ours, theirs]: [RerunMean; 2],
    found: Option<Difference>,
    confidence: Confidence,
) -> ChangeEstimate {
    let mut blank = without_error(like);
    let difference = JoinedDifference { ours, theirs, correlation: 0.0 };
    blank.interval = difference.interval(confidence).ok();
    if let Some(found) = found {
        blank.details.extend([("stderr", found.stderr), ("df", found.df)]);
    }
    blank.paired = found;
    let distribution = SamplingDistribution::Reruns(Box::new(difference));
    blank.p = distribution.p().map(|p| (p, TestMethod::JoinedBounds));
    blank.distribution = Some(distribution);
    blank.settle(confidence)
}

fn without_error(like: &ChangeEstimate) -> ChangeEstimate {
    ChangeEstimate {
        interval: None,
        p: None,
        why: None,
        distribution: None,
        details: Vec::new(),
        caveats: Vec::new(),
        permutation_p: None,
        ..like.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use calipers_testing::simulation::Draws;

    fn student_t(mean: f64, stderr: f64, df: f64) -> SamplingDistribution {
        let mut difference = pair(&[0.9, 0.4], &[0.1, 0.2]).unwrap().difference().unwrap();
        (difference.mean, difference.stderr, difference.df) = (mean, stderr, df);
        SamplingDistribution::T(difference)
    }

    fn check(distribution: &SamplingDistribution, null: f64, below: f64, above: f64) {
        let got = (distribution.below(null).unwrap(), distribution.above(null).unwrap());
        assert!((got.0 - below).abs() < 1e-6 && (got.1 - above).abs() < 1e-6, "{distribution:?} at {null}: {got:?}");
    }

    #[test]
    fn each_side_of_a_value_has_its_p_value() {
        // t of 2 with 10 degrees of freedom: R 4.3, pt(-2, 10) = 0.03669402.
        let t = student_t(2.0, 1.0, 10.0);
        check(&t, 0.0, 1.0 - 0.036_694_02, 0.036_694_02);
        check(&t, 2.0, 0.5, 0.5);
        let replicates = SamplingDistribution::Replicates(vec![-1.0, 0.0, 1.0, 2.0]);
        check(&replicates, 1.5, 2.0 / 5.0, 4.0 / 5.0);
        check(&replicates, 0.0, 4.0 / 5.0, 3.0 / 5.0);
        // Symmetric values against constant ones: 2 √(78/80) with 79 degrees of freedom has a tail of 0.02588990, by Simpson's rule.
        let values = [1.0, 7.0, 4.0, 4.0, 7.5, 0.5, 4.0, 4.0].repeat(10);
        let ratio = SkewedRatio::new(&values, &[4.0 - 2.0 * (425.0f64 / 79.0 / 80.0).sqrt(); 80]).unwrap();
        check(&SamplingDistribution::SkewedRatio(Box::new(ratio)), 0.0, 1.0, 0.025_889_9);
        let identical = SamplingDistribution::Bounded(BoundedRatio::mean(&[0.0; 59], -1.0, 1.0).unwrap());
        check(&identical, 0.06, 0.94f64.powi(59), 1.0);
        check(&identical, -0.06, 1.0, 0.94f64.powi(59));
    }

    #[test]
    fn differences_from_zero_have_the_sums_of_all() {
        for count in [0, 1, 1023, 1024, 1025, 5000] {
            let values: Vec<f64> = (0..count).map(|place| f64::from(place % 37) / 7.0 - 2.0).collect();
            let whole = pair(&values, &vec![0.0; values.len()]).unwrap();
            let found = PairedValues::from_zero(values.iter().copied(), None);
            assert_eq!(found.pairs().difference(), whole.difference(), "{count}");
            assert_eq!(found.pairs().is_identical(), whole.is_identical());
            let clustered = PairedValues::from_zero(values.iter().copied(), Some(vec![0; values.len()]));
            assert_eq!((&*clustered.candidate, clustered.pairs().count()), (&values[..], u64::from(count as u32)));
        }
    }

    #[test]
    fn no_change_has_twice_the_smaller_side_and_at_most_1() {
        for (distribution, want) in [
            (student_t(2.0, 1.0, 10.0), Some(0.073_388_04)),
            (student_t(2.0, 0.0, 10.0), None),
            (SamplingDistribution::Replicates(vec![-1.0, 1.0]), Some(1.0)),
            (SamplingDistribution::Replicates(vec![1.0; 99]), Some(0.02)),
            (SamplingDistribution::Bounded(BoundedRatio::mean(&[0.0; 5], -1.0, 1.0).unwrap()), Some(1.0)),
        ] {
            let got = distribution.p();
            let is_same = match (got, want) {
                (Some(got), Some(want)) => (got - want).abs() < 1e-6,
                (got, want) => got.is_none() && want.is_none(),
            };
            assert!(is_same, "{distribution:?}: {got:?}, not {want:?}");
        }
    }

    #[test]
    fn counts_decide_for_passes_and_few_values_without_a_limit_decide_nothing() {
        let estimate = |candidate: &[f64], baseline: &[f64]| {
            let values = PairedValues::new(candidate, baseline, None);
            estimate_mean_difference(&values, Confidence::two_sided(0.95).unwrap(), Seed(1), false)
        };
        type Case<'v> = (&'v [f64], &'v [f64], Option<TestMethod>, Option<Incomparable>);
        let too_few = Incomparable::Statistic(calipers_stats::Undefined::TooFew {
            what: Quantity::Pairs,
            need: PAIRS_NEEDED,
            have: 3,
        });
        let cases: [Case<'_>; 7] = [
            (&[1.0, 0.0, 1.0], &[0.0, 0.0, 1.0], Some(TestMethod::McNemarExact), None),
            (&[0.1, 0.5, 0.9], &[0.2, 0.2, 0.4], Some(TestMethod::BoundedMean), None),
            (&[1.1, 0.5, 0.9], &[0.2, 0.2, 0.4], None, Some(too_few.clone())),
            (&[1.5, 1.75, 2.0], &[1.25, 1.5, 1.75], None, Some(too_few)),
            (&[0.5, 0.75], &[0.5, 0.75], Some(TestMethod::NoDifference), None),
            (&[1.0], &[0.0], None, Some(Incomparable::OnePair)),
            (&[], &[], None, Some(Incomparable::NoSharedValue { runs: 2 })),
        ];
        for (candidate, baseline, method, why) in cases {
            let got = estimate(candidate, baseline);
            assert_eq!((got.p.map(|(_, method)| method), got.why), (method, why), "{candidate:?} {baseline:?}");
        }
    }

    /// 40 clusters of 1 to 20 samples, of which 2 % are lost: each by itself, or all of a cluster together.
    #[test]
    fn intervals_of_rare_changes_in_clusters_cover() {
        for are_alike in [false, true] {
            let mut draws = Draws::new(7, special::normal_quantile);
            let (mut covered, mut bounded) = (0, 0);
            for _ in 0..400 {
                let (mut candidate, mut clusters) = (Vec::new(), Vec::new());
                for cluster in 0..40 {
                    let fate = draws.coin(0.02);
                    for _ in 0..=cluster % 20 {
                        candidate.push(1.0 - if are_alike { fate } else { draws.coin(0.02) });
                        clusters.push(cluster);
                    }
                }
                let baseline = vec![1.0; candidate.len()];
                let values = PairedValues::new(candidate, baseline, Some(clusters));
                let found = estimate_mean_difference(&values, Confidence::two_sided(0.95).unwrap(), Seed(1), false);
                covered += u32::from(found.interval.is_some_and(|interval| interval.contains(-0.02)));
                bounded += u32::from(found.p.is_some_and(|(_, method)| method == TestMethod::BoundedMean));
            }
            assert!(covered >= 372 && bounded > 100, "alike {are_alike}: {covered} of 400 cover, {bounded} by bounds");
        }
    }
}
