//! The metrics that a policy names, measured once each.

use super::{Fault, Judge};
use crate::limits::{LimitEnd, RangeQuestion, ValueRanges};
use crate::policy::{Estimand, Mistake, OnMissingValues, Span, Spanned};
use calipers_core::metric::{AttemptEvidence, AttemptPlace};
use calipers_core::metric::{clustered_mean, mean_figure, perfect_score_of};
use calipers_core::{
    Caveat, Error, ErrorKind, Evidence, Figure, Metric, MetricBasis, PartlyMissing, RatioLimits, Reason, Scope, Tally,
    Undefined, Unit, mean_score,
};
use calipers_stats::bounded_ratio::{BoundedRatio, Term};
use calipers_stats::corrected_units::{CorrectedThing, CorrectedUnits, Joining};
use calipers_stats::threshold_test::Direction;
use calipers_stats::weighted::{WeightedMean, weighted_mean};
use calipers_stats::{Confidence, ExactSum, Interval, Moments};
use hashbrown::{HashMap, HashSet};
use indexmap::IndexMap;
use std::rc::Rc;
use std::sync::Arc;

/// A metric with its figure and what it rests on.
pub(super) struct Measurement {
    pub(super) unit: Unit,
    pub(super) direction: Option<Direction>,
    pub(super) figure: Figure,
    /// The estimate without weights, if it has some.
    pub(super) unweighted: Option<f64>,
    pub(super) evidence: Option<Evidence>,
    /// The same attempt by attempt, where a policy asks about a rerun of the suite.
    pub(super) by_attempt: Option<AttemptEvidence>,
    /// True when it is the mean over scenarios of the share of attempts that passed.
    pub(super) is_pass_share: bool,
    /// The values that attempts can have.
    pub(super) ranges: Rc<ValueRanges>,
    /// Which samples it is about.
    pub(super) scope: Scope,
    /// The samples that have a value although some of their attempts have none.
    pub(super) partly: Rc<PartlyScored>,
    /// The samples of which some attempts ended in an error.
    pub(super) broken: Rc<PartlyBroken>,
}

/// The samples of which some attempts ended in an error and others did not.
#[derive(Default)]
pub(super) struct PartlyBroken {
    samples: HashMap<u32, BrokenAttempts>,
}

/// How the attempts of a sample count for a metric whose values are means over attempts.
#[derive(Clone, Copy, Default)]
struct BrokenAttempts {
    /// Those that have a value.
    valued: u32,
    /// Those that ended in an error and count, as failures.
    counted: u32,
    /// Those that ended in an error and have no value.
    left_out: u32,
}

impl PartlyBroken {
    /// What the attempts of a metric are, as far as some ended in an error.
    fn find(places: &[AttemptPlace], attempts: &AttemptEvidence) -> Self {
        let mut errors: HashMap<u32, u32> = HashMap::new();
        let mut all: HashMap<u32, u32> = HashMap::new();
        for place in places {
            *all.entry(place.sample).or_default() += 1;
            *errors.entry(place.sample).or_default() += u32::from(place.is_errored);
        }
        let is_partly = |sample: &u32| errors[sample] > 0 && errors[sample] < all[sample];
        let mut samples: HashMap<u32, BrokenAttempts> =
            all.keys().filter(|&sample| is_partly(sample)).map(|&sample| (sample, BrokenAttempts::default())).collect();
        let valued: HashSet<(u32, u32)> =
            attempts.evidence.samples().iter().copied().zip(attempts.epochs.iter().copied()).collect();
        for place in places {
            let Some(known) = samples.get_mut(&place.sample) else { continue };
            let has_value = valued.contains(&(place.sample, place.epoch));
            known.valued += u32::from(has_value);
            known.counted += u32::from(has_value && place.is_errored);
            known.left_out += u32::from(!has_value && place.is_errored);
        }
        Self { samples }
    }

    /// The value of a sample if its attempts that ended in an error had passed. `filled` says of how many attempts the value is the mean
    /// once those without a value are filled in, if they are.
    pub(super) fn value_without_errors(&self, sample: u32, value: f64, filled: Option<u32>) -> f64 {
        let Some(BrokenAttempts { valued, counted, left_out }) = self.samples.get(&sample).copied() else { return 1.0 };
        let (sum, all) = match filled {
            Some(attempts) => (value * f64::from(attempts) + f64::from(counted), attempts),
            None => (value * f64::from(valued) + f64::from(counted + left_out), valued + left_out),
        };
        (sum / f64::from(all)).min(1.0)
    }
}

/// The samples that have a value although some of their attempts have none.
#[derive(Default)]
pub(super) struct PartlyScored {
    /// In the order of the run.
    samples: Vec<PartlyMissing>,
    /// True when the value of a sample is the mean of its attempts. Otherwise an attempt without a value may change all of it.
    is_mean: bool,
}

impl PartlyScored {
    pub(super) fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// The samples, each with how many of its attempts have no value.
    pub(super) fn iter(&self) -> impl Iterator<Item = PartlyMissing> {
        self.samples.iter().copied()
    }

    /// The same of some of the samples.
    fn keep(&self, samples: &[u32]) -> Self {
        let kept: HashSet<u32> = samples.iter().copied().collect();
        Self { samples: self.iter().filter(|one| kept.contains(&one.sample)).collect(), is_mean: self.is_mean }
    }

    /// The attempts of a sample, if some have no value.
    pub(super) fn get(&self, sample: u32) -> Option<PartlyMissing> {
        let place = self.samples.binary_search_by_key(&sample, |one| one.sample).ok()?;
        Some(self.samples[place])
    }

    /// The value of a sample with its missing attempts at this value.
    pub(super) fn fill(&self, sample: u32, value: f64, filled: f64) -> f64 {
        let Some(PartlyMissing { missing, attempts, .. }) = self.get(sample) else { return value };
        if !self.is_mean {
            return filled;
        }
        let (missing, attempts) = (f64::from(missing), f64::from(attempts));
        (value * (attempts - missing) + filled * missing) / attempts
    }
}

/// What a mean over some of the samples rests on.
#[derive(Default)]
struct MeanParts {
    samples: Vec<u32>,
    values: Vec<f64>,
    missing: Vec<u32>,
}

/// Metrics by the name or the expression that asks for them.
#[derive(Default)]
pub(super) struct Metrics {
    known: IndexMap<String, Rc<Measurement>>,
    /// The same by category, for those that were asked for so.
    by_category: HashMap<String, Rc<CategoryMeasurements>>,
}

/// A metric within each category; none where a metric cannot be taken apart.
type CategoryMeasurements = Option<HashMap<Arc<str>, Rc<Measurement>>>;

impl Metrics {
    /// The metric of a name, measured when it is first asked for.
    pub(super) fn get(&mut self, judge: &Judge<'_>, name: &Spanned<String>) -> Result<Rc<Measurement>, Fault> {
        if let Some(known) = self.known.get(&name.value) {
            return Ok(known.clone());
        }
        let metric = judge.metric(name)?;
        let measured = Rc::new(measure(judge, &metric, &name.value, &name.span)?);
        self.known.insert(name.value.clone(), measured.clone());
        Ok(measured)
    }

    /// The metric of a name within a category. All categories are taken apart at once, when the first is asked for.
    pub(super) fn in_category(
        &mut self,
        judge: &Judge<'_>,
        name: &Spanned<String>,
        category: &str,
    ) -> Result<Rc<Measurement>, Fault> {
        let all = self.get(judge, name)?;
        let parts =
            self.by_category.entry(name.value.clone()).or_insert_with(|| Rc::new(all.by_category(judge))).clone();
        let nothing = Reason::NoScenario { category: category.to_owned() };
        Ok(match &*parts {
            Some(parts) => match parts.get(category) {
                Some(known) => known.clone(),
                None => Rc::new(all.mean_of(judge, MeanParts::default(), nothing)),
            },
            None => Rc::new(Measurement::undefined(&all, nothing)),
        })
    }

    /// The metrics measured so far.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Measurement)> {
        self.known.iter().map(|(name, measured)| (name.as_str(), &**measured))
    }
}

/// A metric over the run, weighted where it is a mean over scenarios and scenarios have weights.
pub(super) fn measure(judge: &Judge<'_>, metric: &Metric, name: &str, span: &Span) -> Result<Measurement, Fault> {
    let (unit, direction) = judge.case.registry.sense(metric);
    // Only a plain name is judged by the policy's own pass threshold, as the recorded outcomes of scenarios are.
    let is_pass_share = metric.basis() == MetricBasis::PassShares && judge.with_pass_threshold(name, 1.0).is_some();
    let not_one = || {
        let mistake = Mistake::new(format!("`{name}` is not one number")).at(span);
        Fault::from(mistake.hint("name a metric that is one, or one group of it with `where=`"))
    };
    let in_policy = |error: Error| judge.at(error, span);
    let figure = match metric.answer_for(&judge.rows, &judge.reducer, None, &judge.context) {
        Ok(answer) => answer.figure().ok_or_else(not_one)?.clone(),
        // What the run does not record is not the policy's mistake, and no pass either.
        Err(error) if is_about_the_run(&error, judge) => {
            return Ok(Measurement {
                unit,
                direction,
                figure: undefined_figure(Reason::NotRecorded(Box::new(error.kind().clone()))),
                unweighted: None,
                evidence: None,
                by_attempt: None,
                is_pass_share,
                ranges: Rc::new(ValueRanges::of_shares()),
                scope: metric.scope().clone(),
                partly: Rc::default(),
                broken: Rc::default(),
            });
        }
        Err(error) => return Err(in_policy(error)),
    };
    let evidence = metric.evidence_for(&judge.rows, &judge.reducer, None, &judge.context).map_err(in_policy)?;
    let is_mean = judge.reducer.name() == mean_score().name();
    let by_attempt = match &evidence {
        Some(Evidence::Mean { .. }) if !is_mean => None,
        Some(_) if judge.policy.estimand == Estimand::ThisSuiteRerun => {
            metric.evidence_by_attempt(&judge.rows, None, &judge.context).map_err(in_policy)?
        }
        _ => None,
    };
    let ranges = match &evidence {
        Some(Evidence::Mean { .. } | Evidence::Ratio { .. }) => {
            let asked = RangeQuestion {
                policy: judge.policy,
                metric,
                run: Some((judge.samples, &judge.rows)),
                evidence: evidence.as_ref(),
                reducer: &judge.reducer,
                context: &judge.context,
            };
            Rc::new(asked.answer(unit).map_err(in_policy)?)
        }
        _ => Rc::new(ValueRanges::of_shares()),
    };
    let scope = metric.scope().clone();
    // Other rules for what is missing have left nothing to fill in.
    let samples = if judge.policy.missing == OnMissingValues::Worst {
        metric.partly_missing(&judge.rows, None, &judge.context).map_err(in_policy)?
    } else {
        Vec::new()
    };
    let partly = Rc::new(PartlyScored { samples, is_mean });
    let broken = match &evidence {
        Some(Evidence::Mean { .. }) if is_mean && unit == Unit::Rate && judge.has_partly_broken_samples() => {
            let attempts = metric.evidence_by_attempt(&judge.rows, None, &judge.context).map_err(in_policy)?;
            attempts.map_or_else(PartlyBroken::default, |all| PartlyBroken::find(&judge.places, &all))
        }
        _ => PartlyBroken::default(),
    };
    let broken = Rc::new(broken);
    let measurement = Measurement {
        unit,
        direction,
        figure,
        unweighted: None,
        evidence,
        by_attempt,
        is_pass_share,
        ranges,
        scope,
        partly,
        broken,
    };
    Ok(measurement.with_weights(judge))
}

/// True for an error that says what the run does not record.
fn is_about_the_run(error: &Error, judge: &Judge<'_>) -> bool {
    let has_scores = judge.samples.scorers().next().is_some();
    matches!(error.kind(), ErrorKind::NoField { .. } | ErrorKind::NoPassThreshold { .. })
        || (!has_scores && error.place().sample.is_none())
}

fn weighted_figure(values: &[f64], weights: &[f64], plain: &Figure, confidence: Confidence) -> Figure {
    let tally = Tally { n: plain.n, missing: plain.missing };
    let weighted = weighted_mean(values, weights, None);
    let value = weighted.as_ref().map(|weighted| weighted.mean.estimate).map_err(|&why| why);
    let mut figure = Figure::statistic(value, f64::NAN, tally, "weighted mean");
    if let Ok(weighted) = &weighted {
        let moments = Moments::from_slice(values);
        figure.interval = weighted_interval(weighted, (values, weights), &moments, confidence);
        // The intervals of shares hold for few samples too.
        if !moments.is_unit() {
            figure.caveats = weighted.caveats().into_iter().map(Caveat::from).collect();
        }
        figure = figure.with_detail("effective_n", weighted.effective_n);
    }
    // What is said about the scores holds with weights too; what they show, for as many as they are worth.
    let about_scores = plain.caveats.iter().filter(|caveat| !matches!(caveat, Caveat::Statistic(_)));
    figure.caveats.extend(about_scores.filter_map(|caveat| match caveat {
        Caveat::PerfectScore { n, passed, .. } => perfect_score_of(*n, worth(weighted.as_ref().ok()?), *passed),
        other => Some(other.clone()),
    }));
    figure
}

/// How many samples that count alike say as much as weighted ones (Kish 1965), as a whole number that is never too large.
pub(super) fn worth(weighted: &WeightedMean) -> u64 {
    (weighted.effective_n * (1.0 + 1e-12)).max(1.0).floor() as u64
}

/// The interval of a weighted mean. That of shares is the one by which gates decide: an effective number of samples would
/// take heavy and light ones to pass alike.
fn weighted_interval(
    weighted: &WeightedMean,
    (values, weights): (&[f64], &[f64]),
    moments: &Moments,
    confidence: Confidence,
) -> Option<Interval> {
    if moments.is_unit() {
        let largest = weights.iter().copied().fold(0.0, f64::max);
        let terms = values.iter().zip(weights).map(|(x, w)| Term::new(x * w, *w));
        let ratio = BoundedRatio::new(terms, Term::new(0.0, largest), Term::new(largest, largest));
        return ratio.ok().map(|ratio| ratio.interval(confidence));
    }
    weighted.mean.interval(confidence).ok()
}

/// The interval of a weighted mean of samples that go together, or that there is none; nothing where they stand alone.
fn clustered(judge: &Judge<'_>, samples: &[u32], values: &[f64], weights: &[f64]) -> Option<Option<Interval>> {
    let clusters = judge.clusters.as_ref().filter(|_| !judge.context.cluster.is_empty())?;
    let mut sums: IndexMap<u32, (ExactSum, ExactSum)> = IndexMap::new();
    for (&sample, (x, w)) in samples.iter().zip(values.iter().zip(weights)) {
        let (numerator, denominator) = sums.entry(clusters.of_samples[sample as usize]).or_default();
        numerator.add(x * w);
        denominator.add(*w);
    }
    if sums.len() == values.len() {
        return None;
    }
    let units: Vec<(f64, f64)> = sums.values().map(|(y, m)| (y.value(), m.value())).collect();
    let moments = Moments::from_slice(values);
    Some(clustered_mean(&units, &moments, (None, None), judge.context.confidence).ok())
}

impl Measurement {
    /// With the weights of scenarios, if they have some and this is a mean over them.
    fn with_weights(mut self, judge: &Judge<'_>) -> Self {
        if let (Some(weights), Some(Evidence::Mean { samples, values, .. })) = (judge.weights(), &self.evidence)
            && !values.is_empty()
        {
            let weights: Vec<f64> = samples.iter().map(|&sample| weights[sample as usize]).collect();
            self.unweighted = self.figure.value.as_ref().ok().copied();
            self.figure = weighted_figure(values, &weights, &self.figure, judge.context.confidence);
            if let Some(interval) = clustered(judge, samples, values, &weights) {
                self.figure.interval = interval;
            }
        }
        self.with_corrected_weights(judge)
    }

    /// The same of a mean that labels correct.
    fn with_corrected_weights(mut self, judge: &Judge<'_>) -> Self {
        let (Some(weights), Some(Evidence::Corrected { samples, judged, labels, .. }), Ok(plain)) =
            (judge.weights(), &self.evidence, &self.figure.value)
        else {
            return self;
        };
        let clusters = judge.clusters.as_ref().filter(|_| !judge.context.cluster.is_empty());
        let thing = |((&sample, &judged), &truth): ((&u32, &f64), &Option<f64>)| CorrectedThing {
            unit: clusters.map_or(sample, |clusters| clusters.of_samples[sample as usize]),
            weight: weights[sample as usize],
            measured: Some(judged),
            truth,
        };
        let joining = if clusters.is_some() { Joining::Clusters } else { Joining::Things };
        let mean = CorrectedUnits::new(samples.iter().zip(judged).zip(labels).map(thing), joining);
        let unweighted = Some(*plain);
        let value = mean.as_ref().map(CorrectedUnits::estimate);
        self.figure.value = value.map_err(|&why| Undefined::new(Reason::Statistic(why), f64::NAN));
        let is_unit = |x: f64| (0.0..=1.0).contains(&x);
        let has_ends = judged.iter().chain(labels.iter().flatten()).all(|&x| is_unit(x));
        self.figure.interval =
            mean.ok().filter(|_| has_ends).and_then(|mean| mean.interval(judge.context.confidence).ok());
        self.unweighted = unweighted;
        self
    }

    /// The same mean over the samples of each category: what a condition on them would give.
    fn by_category(&self, judge: &Judge<'_>) -> CategoryMeasurements {
        let Evidence::Mean { samples, values, missing } = self.evidence.as_ref()? else { return None };
        let mut parts: IndexMap<Arc<str>, MeanParts> = IndexMap::new();
        let category = |sample: u32| judge.categories.of(sample).cloned();
        for (&sample, &value) in samples.iter().zip(values) {
            if let Some(category) = category(sample) {
                let part = parts.entry(category).or_default();
                part.samples.push(sample);
                part.values.push(value);
            }
        }
        for &sample in missing {
            if let Some(category) = category(sample) {
                parts.entry(category).or_default().missing.push(sample);
            }
        }
        let measured = parts.into_iter().map(|(category, part)| {
            let nothing = Reason::NoScenario { category: category.to_string() };
            (category, Rc::new(self.mean_of(judge, part, nothing)))
        });
        Some(measured.collect())
    }

    /// The mean over some of the samples, or why there is none.
    fn mean_of(&self, judge: &Judge<'_>, parts: MeanParts, nothing: Reason) -> Self {
        if !matches!(self.evidence, Some(Evidence::Mean { .. })) {
            return Self::undefined(self, nothing);
        }
        let MeanParts { samples, values, missing } = parts;
        let chosen: Vec<u32> = match &self.by_attempt {
            Some(_) => samples.iter().chain(&missing).copied().collect(),
            None => Vec::new(),
        };
        let tally = Tally { n: values.len() as u64, missing: missing.len() as u64 };
        let mut figure = match tally {
            Tally { n: 0, missing: 0 } => undefined_figure(nothing),
            _ => mean_figure(&Moments::from_slice(&values), tally, true, &judge.context),
        };
        if let Some(interval) = clustered(judge, &samples, &values, &vec![1.0; values.len()]) {
            figure.interval = interval;
        }
        // What leaves all without a value leaves some without one.
        if let (Tally { n: 0, missing: 1.. }, Err(why)) = (tally, &self.figure.value) {
            figure.value = Err(why.clone());
        }
        let evidence = Some(Evidence::Mean { samples, values, missing });
        let by_attempt = self.by_attempt.as_ref().and_then(|all| {
            let chosen: HashSet<u32> = chosen.into_iter().collect();
            only_means(all, |sample| chosen.contains(&sample))
        });
        let (ranges, scope, broken) = (self.ranges.clone(), Scope::Unknown, self.broken.clone());
        let partly = match &evidence {
            Some(Evidence::Mean { samples, .. }) if !self.partly.is_empty() => Rc::new(self.partly.keep(samples)),
            _ => Rc::default(),
        };
        Self { figure, unweighted: None, evidence, by_attempt, ranges, scope, partly, broken, ..*self }
            .with_weights(judge)
    }

    /// The same without a value, and why.
    pub(super) fn undefined(like: &Self, reason: Reason) -> Self {
        let figure = undefined_figure(reason);
        let (ranges, scope) = (like.ranges.clone(), like.scope.clone());
        let (partly, broken) = (Rc::default(), Rc::default());
        Self { figure, unweighted: None, evidence: None, by_attempt: None, ranges, scope, partly, broken, ..*like }
    }

    /// The least and the greatest value that it can have.
    pub(super) fn reach(&self) -> (f64, f64) {
        match &self.evidence {
            _ if !self.is_share_if_rate() => (f64::NEG_INFINITY, f64::INFINITY),
            Some(Evidence::Mean { .. }) | Some(Evidence::Ratio { limits: RatioLimits::Amounts, .. }) => {
                let end = |end| self.ranges.value.end(end, None).ok();
                let (low, high) = (end(LimitEnd::Least), end(LimitEnd::Most));
                (low.unwrap_or(f64::NEG_INFINITY), high.unwrap_or(f64::INFINITY))
            }
            Some(Evidence::Table { .. }) => (-1.0, 1.0),
            _ => self.unit.range(),
        }
    }

    pub(super) fn value(&self) -> Option<f64> {
        self.figure.value.as_ref().ok().copied()
    }

    /// False for a rate of scores that are no shares: it has no meaning as a rate, by itself or in a formula.
    pub(super) fn is_share_if_rate(&self) -> bool {
        self.unit != Unit::Rate || self.evidence.as_ref().is_none_or(Evidence::are_shares)
    }

    /// The value that a formula may use, or why there is none.
    pub(super) fn value_in_formulas(&self) -> Result<f64, Undefined> {
        if !self.is_share_if_rate() {
            return Err(Undefined::new(Reason::ScoresOutsideUnit, f64::NAN));
        }
        self.figure.value.clone()
    }
}

/// The part of a mean over attempts that some samples are.
fn only_means(all: &AttemptEvidence, is_chosen: impl Fn(u32) -> bool) -> Option<AttemptEvidence> {
    let Evidence::Mean { samples, values, missing } = &all.evidence else { return None };
    let chosen =
        |samples: &[u32]| -> Vec<usize> { (0..samples.len()).filter(|&row| is_chosen(samples[row])).collect() };
    let (rows, rows_missing) = (chosen(samples), chosen(missing));
    let evidence = Evidence::Mean {
        samples: rows.iter().map(|&row| samples[row]).collect(),
        values: rows.iter().map(|&row| values[row]).collect(),
        missing: rows_missing.iter().map(|&row| missing[row]).collect(),
    };
    let epochs = rows.iter().map(|&row| all.epochs[row]).collect();
    let missing_epochs = rows_missing.iter().map(|&row| all.missing_epochs[row]).collect();
    Some(AttemptEvidence { evidence, epochs, missing_epochs })
}

/// A figure without a value.
pub(super) fn undefined_figure(reason: Reason) -> Figure {
    Figure::from_result(Err(Undefined::new(reason, f64::NAN)), Tally::default(), "")
}
