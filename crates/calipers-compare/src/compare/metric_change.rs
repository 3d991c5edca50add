//! From a metric of two runs to its change.

use super::CompareQuestion;
use super::compare_report::{CategoryChange, ChangeScale, EstimandAnswer, SamplePair};
use super::matching::{MatchedSample, RunMatch};
use super::run_metric::{ComparedMetric, RunMetric};
use super::sampling::{
    ChangeEstimate, PairedValues, SIGN_FLIP, SamplingDistribution, linearised, mean_of_differences, rerun,
};
use calipers_core::{Caveat, Evidence, Figure, Reason, Tally, Undefined, Unit};
use calipers_stats::bootstrap::{Bootstrap, Kind, UnitResampler};
use calipers_stats::components::{Estimand, UnitMoments};
use calipers_stats::paired::{Difference, paired_attempts};
use calipers_stats::quantile::smallest_count;
use calipers_stats::ratio::{ratio_influences, ratio_of_sums};
use calipers_stats::{Caveat as Statistic, Confidence, Moments};
use indexmap::IndexMap;
use std::sync::Arc;

/// The change of a metric, with what stands beside it.
pub(super) struct MetricChange {
    pub(super) found: ChangeEstimate,
    /// Samples without a partner or a value.
    pub(super) missing: u64,
    pub(super) bounds: Option<(f64, f64)>,
    pub(super) estimands: Vec<EstimandAnswer>,
    pub(super) categories: Vec<CategoryChange>,
    pub(super) pairs: Vec<SamplePair>,
}

impl MetricChange {
    pub(super) fn nothing(scale: ChangeScale, why: impl Into<String>) -> Self {
        Self::of(ChangeEstimate::nothing(scale, 0, why), 0)
    }

    fn of(found: ChangeEstimate, missing: u64) -> Self {
        Self { found, missing, bounds: None, estimands: Vec::new(), categories: Vec::new(), pairs: Vec::new() }
    }
}

/// What is spent is compared as a ratio, everything else as a difference.
pub(super) fn scale_of(asked: &ComparedMetric, evidence: Option<&Evidence>) -> ChangeScale {
    let is_spent = matches!(asked.unit, Unit::Milliseconds | Unit::Usd | Unit::Tokens);
    let is_ratio = matches!(evidence, Some(Evidence::Ratio { is_share: false, .. }));
    if is_spent || is_ratio { ChangeScale::Ratio } else { ChangeScale::Difference }
}

/// A metric, measured in both runs.
pub(super) struct MetricPair<'a> {
    pub(super) asked: &'a ComparedMetric,
    pub(super) candidate: &'a RunMetric,
    pub(super) baseline: &'a RunMetric,
    pub(super) joined: &'a RunMatch,
    pub(super) question: &'a CompareQuestion<'a>,
}

impl MetricPair<'_> {
    pub(super) fn effect(&self) -> MetricChange {
        let scale = scale_of(self.asked, self.candidate.evidence.as_ref());
        match (&self.candidate.evidence, &self.baseline.evidence) {
            (Some(ours @ Evidence::Mean { .. }), Some(theirs @ Evidence::Mean { .. })) => {
                self.means(scale, &SampleValues::of(ours, self.candidate), &SampleValues::of(theirs, self.baseline))
            }
            (Some(Evidence::Ratio { .. }), Some(Evidence::Ratio { .. })) => self.ratios(scale),
            (Some(Evidence::Quantile { p, .. }), Some(Evidence::Quantile { .. })) => self.quantiles(scale, *p),
            _ => {
                let name = &self.asked.name;
                let why =
                    format!("`{name}` is no mean, ratio of sums or quantile over samples, so samples cannot be paired");
                MetricChange::nothing(scale, why)
            }
        }
    }

    fn confidence(&self) -> Confidence {
        self.question.context.confidence
    }

    fn clusters<'p>(&self, pairs: impl Iterator<Item = &'p MatchedSample>) -> Option<Vec<u32>> {
        self.question.cluster.is_some().then(|| pairs.map(|pair| pair.cluster).collect())
    }

    fn means(&self, scale: ChangeScale, ours: &SampleValues, theirs: &SampleValues) -> MetricChange {
        let known: Vec<(&MatchedSample, f64, f64)> = self
            .joined
            .pairs
            .iter()
            .filter_map(|pair| Some((pair, ours.value(pair.candidate)?, theirs.value(pair.baseline)?)))
            .collect();
        let population = self.mean_change(scale, &known);
        let rerun = self.rerun(&population, &known);
        let found = match self.question.estimand {
            Estimand::Population => population.clone(),
            Estimand::FixedSuite => match &rerun {
                Ok(found) => found.clone(),
                Err(why) => {
                    ChangeEstimate { p: None, law: None, interval: None, why: Some(why.clone()), ..population.clone() }
                }
            },
        };
        let union = self.union(ours, theirs);
        let missing = union.len() as u64 - known.len() as u64;
        let estimands =
            vec![answer(Estimand::Population, Ok(population), missing), answer(Estimand::FixedSuite, rerun, missing)];
        let pair = |(pair, candidate, baseline): &(&MatchedSample, f64, f64)| SamplePair {
            id: pair.id.clone(),
            candidate: *candidate,
            baseline: *baseline,
        };
        MetricChange {
            bounds: (scale == ChangeScale::Difference).then(|| bounds(&union)).flatten(),
            estimands,
            categories: self.categories(scale, &known),
            pairs: known.iter().map(pair).collect(),
            ..MetricChange::of(found, missing)
        }
    }

    /// The change of a mean, as questions like these would show it.
    fn mean_change(&self, scale: ChangeScale, known: &[(&MatchedSample, f64, f64)]) -> ChangeEstimate {
        let (candidate, baseline): (Vec<f64>, Vec<f64>) = known.iter().map(|(_, a, b)| (*a, *b)).unzip();
        let clusters = self.clusters(known.iter().map(|(pair, _, _)| *pair));
        if scale == ChangeScale::Difference {
            let values = PairedValues { candidate, baseline, clusters };
            return mean_of_differences(&values, self.confidence(), self.question.context.seed);
        }
        let ones = vec![1.0; known.len()];
        let mut found = self.ratio_change(scale, [&candidate, &ones], [&baseline, &ones], clusters);
        found.method = "ratio of means paired by sample";
        found.correlation = PairedValues { candidate, baseline, clusters: None }.correlation();
        found
    }

    /// The same change by the luck of the attempts alone, or why that cannot be told.
    fn rerun(
        &self,
        population: &ChangeEstimate,
        known: &[(&MatchedSample, f64, f64)],
    ) -> Result<ChangeEstimate, String> {
        if !self.question.reducer.is_mean() {
            return Err(format!("needs attempts that are averaged, not reduced by `{}`", self.question.reducer.name()));
        }
        let (Some(ours), Some(theirs)) = (&self.candidate.attempts, &self.baseline.attempts) else {
            return Err("needs at least 2 attempts at every sample in both runs".into());
        };
        let estimate = population.estimate.clone()?;
        // Of ratios, the errors of both sides relative to their means.
        let divisors = match (population.scale, population.sides) {
            (ChangeScale::Ratio, Some(sides)) => sides,
            _ => (1.0, 1.0),
        };
        let ours = attempts(ours, known.iter().map(|(pair, _, _)| pair.candidate), divisors.0);
        let theirs = attempts(theirs, known.iter().map(|(pair, _, _)| pair.baseline), divisors.1);
        let difference = paired_attempts(&ours, &theirs).and_then(|runs| runs.difference(Estimand::FixedSuite));
        let mut difference: Difference = difference.map_err(|why| why.to_string())?;
        difference.mean = estimate;
        Ok(rerun(population, difference, self.confidence()))
    }

    /// All samples that the metric is about in one run or the other, with what is known of each.
    fn union(&self, ours: &SampleValues, theirs: &SampleValues) -> Vec<(Option<f64>, Option<f64>)> {
        let pairs = self.joined.pairs.iter().map(|pair| (ours.get(pair.candidate), theirs.get(pair.baseline)));
        let only_ours = self.joined.only_candidate.iter().map(|&place| (ours.get(place), SampleValue::Outside));
        let only_theirs = self.joined.only_baseline.iter().map(|&place| (SampleValue::Outside, theirs.get(place)));
        let all = pairs.chain(only_ours).chain(only_theirs);
        all.filter(|cells| *cells != (SampleValue::Outside, SampleValue::Outside))
            .map(|(a, b)| (a.value(), b.value()))
            .collect()
    }

    fn categories(&self, scale: ChangeScale, known: &[(&MatchedSample, f64, f64)]) -> Vec<CategoryChange> {
        let mut groups: IndexMap<Arc<str>, Vec<(&MatchedSample, f64, f64)>> = IndexMap::new();
        for &(pair, a, b) in known {
            if let Some(category) = &pair.category {
                groups.entry(category.clone()).or_default().push((pair, a, b));
            }
        }
        groups.sort_keys();
        let one = |(category, known): (Arc<str>, Vec<(&MatchedSample, f64, f64)>)| {
            let found = self.mean_change(scale, &known);
            let (candidate, baseline) = found.sides?;
            Some(CategoryChange { category, candidate, baseline, change: found.figure(0) })
        };
        groups.into_iter().filter_map(one).collect()
    }

    fn ratios(&self, scale: ChangeScale) -> MetricChange {
        let (ours, theirs) = (SampleSums::of(self.candidate), SampleSums::of(self.baseline));
        let (Some(ours), Some(theirs)) = (ours, theirs) else {
            return MetricChange::nothing(scale, "there are no sums");
        };
        let (mut known, mut y, mut x, mut v, mut u) = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for pair in &self.joined.pairs {
            if let (Some(mine), Some(other)) = (ours.get(pair.candidate), theirs.get(pair.baseline)) {
                known.push(pair);
                y.push(mine.0);
                x.push(mine.1);
                v.push(other.0);
                u.push(other.1);
            }
        }
        let clusters = self.clusters(known.iter().copied());
        let mut found = self.ratio_change(scale, [&y, &x], [&v, &u], clusters);
        found.method = match scale {
            ChangeScale::Ratio => "ratio of ratios of sums paired by sample",
            ChangeScale::Difference => "difference of shares paired by sample",
        };
        let without = self.joined.pairs.len() - known.len();
        let missing = without + self.joined.only_candidate.len() + self.joined.only_baseline.len();
        let estimands = vec![
            answer(Estimand::Population, Ok(found.clone()), missing as u64),
            answer(Estimand::FixedSuite, Err("only known for means over samples".into()), missing as u64),
        ];
        MetricChange { estimands, ..MetricChange::of(self.only_population(found), missing as u64) }
    }

    /// The change of a ratio of sums by the delta method: on the scale of logarithms, or as a difference.
    fn ratio_change(
        &self,
        scale: ChangeScale,
        ours: [&[f64]; 2],
        theirs: [&[f64]; 2],
        clusters: Option<Vec<u32>>,
    ) -> ChangeEstimate {
        let n = ours[0].len();
        let ratio = |[y, x]: [&[f64]; 2]| {
            let ratio = ratio_of_sums(y, x, None).map_err(|why| why.to_string())?.ratio.estimate;
            Ok::<_, String>((ratio, ratio_influences(y, x).map_err(|why| why.to_string())?))
        };
        let parts = [ours, theirs];
        let (ours, theirs) = match (ratio(ours), ratio(theirs)) {
            (Ok(ours), Ok(theirs)) => (ours, theirs),
            (Err(_), _) | (_, Err(_)) if n == 0 => {
                return ChangeEstimate::nothing(scale, 0, "no sample has a value in both runs");
            }
            (Err(why), _) => return ChangeEstimate::nothing(scale, n as u64, format!("in the candidate, {why}")),
            (_, Err(why)) => return ChangeEstimate::nothing(scale, n as u64, format!("in the baseline, {why}")),
        };
        let sides = (ours.0, theirs.0);
        let is_positive = |x: f64| x > 0.0 && x.is_finite();
        if scale == ChangeScale::Ratio && !(is_positive(sides.0) && is_positive(sides.1)) {
            let mut nothing = ChangeEstimate::nothing(scale, n as u64, "a ratio needs a value above 0 in both runs");
            nothing.sides = Some(sides);
            return nothing;
        }
        let (estimate, by) = match scale {
            ChangeScale::Ratio => ((sides.0 / sides.1).ln(), sides),
            ChangeScale::Difference => (sides.0 - sides.1, (1.0, 1.0)),
        };
        let moves = ours.1.iter().zip(&theirs.1).map(|(a, b)| n as f64 * (a / by.0 - b / by.1));
        let moved = moves.map(|moved| settled(estimate + moved, estimate)).collect();
        let found = ChangeEstimate::estimated(scale, n as u64, "", sides, estimate);
        let seed = self.question.context.seed;
        let mut found = linearised(found, moved, clusters.clone(), self.confidence(), seed);
        if found.p.is_none() && n > 1 {
            // All changed by one factor, which has no error; that all went the same way is still telling.
            let [candidate, baseline] = parts.map(|[y, x]| {
                let total = x.iter().sum::<f64>();
                y.iter().map(|y| y / total).collect()
            });
            found.p = PairedValues { candidate, baseline, clusters }.sign_flip(seed).map(|p| (p, SIGN_FLIP));
        }
        found
    }

    fn quantiles(&self, scale: ChangeScale, p: f64) -> MetricChange {
        let (ours, theirs) = (AttemptValues::of(self.candidate), AttemptValues::of(self.baseline));
        let known: Vec<&MatchedSample> = self
            .joined
            .pairs
            .iter()
            .filter(|pair| !ours.get(pair.candidate).is_empty() && !theirs.get(pair.baseline).is_empty())
            .collect();
        let missing = (self.joined.pairs.len() - known.len()) as u64
            + (self.joined.only_candidate.len() + self.joined.only_baseline.len()) as u64;
        let unit_of = units(&known, self.question.cluster.is_some());
        let ours = WeightedValues::new(&known, &unit_of, |pair| ours.get(pair.candidate));
        let theirs = WeightedValues::new(&known, &unit_of, |pair| theirs.get(pair.baseline));
        let found = self.only_population(self.quantile_change(scale, p, &ours, &theirs, known.len()));
        MetricChange::of(found, missing)
    }

    /// The change of a quantile by resampling samples, or clusters, of both runs together.
    fn quantile_change(
        &self,
        scale: ChangeScale,
        p: f64,
        ours: &WeightedValues,
        theirs: &WeightedValues,
        n: usize,
    ) -> ChangeEstimate {
        let units = ours.sizes.len() as u32;
        let all = vec![1; units as usize];
        let sides = (ours.quantile(&all, p), theirs.quantile(&all, p));
        if n == 0 {
            return ChangeEstimate::nothing(scale, 0, "no sample has a value in both runs");
        }
        let change = move |(a, b): (f64, f64)| if scale == ChangeScale::Ratio { (a / b).ln() } else { a - b };
        let estimate = change(sides);
        if !estimate.is_finite() {
            let why = "the quantile lies among attempts that ran out of time, or is 0, in one run";
            return ChangeEstimate::nothing(scale, n as u64, why);
        }
        let mut found = ChangeEstimate::estimated(scale, n as u64, "quantiles paired by sample", sides, estimate);
        let fewest = ours.values.len().min(theirs.values.len()) as u64;
        if let Some(need) = smallest_count(p, self.confidence()).ok().filter(|&need| fewest < need) {
            found.caveats.push(Statistic::NoBound { n: fewest, need }.into());
        }
        let statistic = |times: &[u32]| settled(change((ours.quantile(times, p), theirs.quantile(times, p))), estimate);
        let resamples = (RESAMPLED_MAX / (ours.values.len() + theirs.values.len()).max(1) as u64).clamp(1000, 10_000);
        let bootstrap = UnitResampler::new(units, statistic, self.question.context.seed);
        let replicates = bootstrap.and_then(|bootstrap| {
            let replicates = bootstrap.replicates(resamples)?;
            Ok((bootstrap.interval(Kind::Percentile, &replicates, self.confidence())?, replicates))
        });
        match replicates {
            Ok((answer, mut replicates)) => {
                replicates.sort_unstable_by(f64::total_cmp);
                found.interval = Some(answer.interval);
                found.caveats.extend(answer.caveats.into_iter().map(Caveat::from));
                found.details.push(("resamples", resamples as f64));
                found.details.push(("monte_carlo_error", answer.monte_carlo_error));
                let law = SamplingDistribution::Replicates(replicates);
                found.p = law.p().map(|p| (p, "paired bootstrap"));
                found.law = Some(law);
            }
            Err(calipers_stats::Undefined::NoSpread { .. }) => {
                // Every resample has the same change. That is as sure as so many resamples can tell, and no interval.
                found.caveats.push(Statistic::NoSpread { n: n as u64 }.into());
                let law = SamplingDistribution::Replicates(vec![estimate; resamples as usize]);
                found.p = law.p().map(|p| (p, "paired bootstrap"));
                found.law = Some(law);
            }
            Err(why) => found.why = Some(format!("resampled, {why}")),
        }
        found
    }

    /// Without a p-value where the question is about this suite rerun, which is only known for means.
    fn only_population(&self, found: ChangeEstimate) -> ChangeEstimate {
        if self.question.estimand == Estimand::Population {
            return found;
        }
        let why = "for this suite rerun it is only known for means over samples";
        ChangeEstimate { p: None, law: None, interval: None, why: Some(why.into()), ..found }
    }
}

/// The estimate itself where a value differs from it by rounding only: that is no spread to make an error of.
fn settled(value: f64, estimate: f64) -> f64 {
    if (value - estimate).abs() <= 1e-12 * (1.0 + estimate.abs()) { estimate } else { value }
}

/// At most so many values are looked at for all resamples of a quantile: about half a second.
const RESAMPLED_MAX: u64 = 200_000_000;

/// The answer for one claim.
fn answer(estimand: Estimand, found: Result<ChangeEstimate, String>, missing: u64) -> EstimandAnswer {
    match found {
        Ok(found) => EstimandAnswer { estimand, change: found.figure(missing), p: found.p.map(|(p, _)| p) },
        Err(why) => {
            let why = Undefined::new(Reason::Other(why.into()), f64::NAN);
            EstimandAnswer { estimand, change: Figure::from_result(Err(why), Tally { n: 0, missing }, ""), p: None }
        }
    }
}

/// The moments of the attempts at these samples, coded by their order.
fn attempts(values: &[(u32, f64)], places: impl Iterator<Item = u32>, divisor: f64) -> UnitMoments {
    let unit_of: hashbrown::HashMap<u32, u32> = places.zip(0..).collect();
    let mut units = UnitMoments::default();
    for (sample, value) in values {
        if let Some(&unit) = unit_of.get(sample) {
            units.add(unit, value / divisor);
        }
    }
    units
}

/// The difference if whatever is missing were 0 in the candidate and 1 in the baseline, and the other way about
/// (Manski 1989). Only for values between 0 and 1.
fn bounds(union: &[(Option<f64>, Option<f64>)]) -> Option<(f64, f64)> {
    let given: Vec<f64> = union.iter().flat_map(|(a, b)| [*a, *b]).flatten().collect();
    if given.is_empty() || !Moments::from_slice(&given).is_unit() {
        return None;
    }
    let mean = |candidate: f64, baseline: f64| {
        let each: Vec<f64> = union.iter().map(|(a, b)| a.unwrap_or(candidate) - b.unwrap_or(baseline)).collect();
        Moments::from_slice(&each).mean().ok()
    };
    Some((mean(0.0, 1.0)?, mean(1.0, 0.0)?))
}

/// What a metric knows of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
enum SampleValue {
    /// The metric is not about it, or the run does not have it.
    Outside,
    /// It has no value.
    Missing,
    Value(f64),
}

impl SampleValue {
    fn value(self) -> Option<f64> {
        if let Self::Value(value) = self { Some(value) } else { None }
    }
}

/// The value of each sample of a run, by its place.
pub(super) struct SampleValues(Vec<SampleValue>);

impl SampleValues {
    /// The values that a mean is made of. Several of one sample are averaged first; one that did not run has none.
    pub(super) fn of(evidence: &Evidence, measured: &RunMetric) -> Self {
        let mut cells = vec![SampleValue::Outside; measured.errored.len()];
        let Evidence::Mean { samples, values, missing } = evidence else { return Self(cells) };
        missing.iter().for_each(|&sample| cells[sample as usize] = SampleValue::Missing);
        let mut sums = vec![Moments::default(); cells.len()];
        samples.iter().zip(values).for_each(|(&sample, &value)| sums[sample as usize].add(value));
        for (cell, sum) in cells.iter_mut().zip(&sums) {
            if let Ok(mean) = sum.mean() {
                *cell = SampleValue::Value(mean);
            }
        }
        for (cell, errored) in cells.iter_mut().zip(&measured.errored) {
            if *errored && *cell != SampleValue::Outside {
                *cell = SampleValue::Missing;
            }
        }
        Self(cells)
    }

    fn get(&self, place: u32) -> SampleValue {
        self.0.get(place as usize).copied().unwrap_or(SampleValue::Outside)
    }

    pub(super) fn value(&self, place: u32) -> Option<f64> {
        self.get(place).value()
    }
}

/// The sums of each sample of a run, by its place; none for one without.
struct SampleSums(Vec<Option<(f64, f64)>>);

impl SampleSums {
    fn of(measured: &RunMetric) -> Option<Self> {
        let Some(Evidence::Ratio { samples, numerators, denominators, missing, .. }) = &measured.evidence else {
            return None;
        };
        // A sample that adds nothing to either sum is not listed.
        let mut sums = vec![Some((0.0, 0.0)); measured.errored.len()];
        missing.iter().for_each(|&sample| sums[sample as usize] = None);
        for ((&sample, &y), &x) in samples.iter().zip(numerators).zip(denominators) {
            sums[sample as usize] = Some((y, x));
        }
        Some(Self(sums))
    }

    fn get(&self, place: u32) -> Option<(f64, f64)> {
        self.0.get(place as usize).copied().flatten()
    }
}

/// The values of the attempts at each sample of a run, by its place.
struct AttemptValues(Vec<Vec<f64>>);

impl AttemptValues {
    fn of(measured: &RunMetric) -> Self {
        let mut lists = vec![Vec::new(); measured.errored.len()];
        if let Some(Evidence::Quantile { samples, values, .. }) = &measured.evidence {
            samples.iter().zip(values).for_each(|(&sample, &value)| lists[sample as usize].push(value));
        }
        Self(lists)
    }

    fn get(&self, place: u32) -> &[f64] {
        self.0.get(place as usize).map_or(&[], Vec::as_slice)
    }
}

/// The unit that each pair is resampled with: itself, or its cluster.
fn units(known: &[&MatchedSample], is_clustered: bool) -> Vec<u32> {
    if !is_clustered {
        return (0..known.len() as u32).collect();
    }
    let mut codes: hashbrown::HashMap<u32, u32> = hashbrown::HashMap::new();
    let mut code = |cluster: u32| {
        let next = codes.len() as u32;
        *codes.entry(cluster).or_insert(next)
    };
    known.iter().map(|pair| code(pair.cluster)).collect()
}

/// Values in ascending order, of which each counts as often as its unit occurs.
struct WeightedValues {
    values: Vec<(f64, u32)>,
    /// The number of values of each unit.
    sizes: Vec<u64>,
}

impl WeightedValues {
    fn new<'l>(known: &[&MatchedSample], unit_of: &[u32], list: impl Fn(&MatchedSample) -> &'l [f64]) -> Self {
        let mut sizes = vec![0; unit_of.iter().max().map_or(0, |&last| last as usize + 1)];
        let mut values = Vec::new();
        for (pair, &unit) in known.iter().zip(unit_of) {
            let list = list(pair);
            sizes[unit as usize] += list.len() as u64;
            values.extend(list.iter().map(|&value| (value, unit)));
        }
        values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        Self { values, sizes }
    }

    /// Type 7 of the values when unit `u` occurs `times[u]` times; no number for none.
    fn quantile(&self, times: &[u32], p: f64) -> f64 {
        let total: u64 = self.sizes.iter().zip(times).map(|(size, &times)| size * u64::from(times)).sum();
        if total == 0 {
            return f64::NAN;
        }
        let place = (total - 1) as f64 * p;
        let rank = place as u64;
        let share = place - rank as f64;
        let low = self.at(rank, total, times);
        let high = if share > 0.0 { self.at((rank + 1).min(total - 1), total, times) } else { low };
        // Between equal ends there is nothing to add, and of two infinite ones no difference to take.
        if low == high { low } else { low + share * (high - low) }
    }

    /// The value of a rank, looked for from the nearer end.
    fn at(&self, rank: u64, total: u64, times: &[u32]) -> f64 {
        let mut left = if 2 * rank < total { rank } else { total - 1 - rank };
        let mut passes = |&&(_, unit): &&(f64, u32)| {
            let times = u64::from(times[unit as usize]);
            let is_it = left < times;
            left = left.saturating_sub(times);
            is_it
        };
        let found = if 2 * rank < total {
            self.values.iter().find(&mut passes)
        } else {
            self.values.iter().rev().find(&mut passes)
        };
        found.map_or(f64::NAN, |&(value, _)| value)
    }
}
