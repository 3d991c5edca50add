//! From what a figure rests on to a verdict about its threshold.

use super::Mode;
use super::bound_test::BoundTest;
use super::measurement::{PartlyBroken, PartlyScored};
use super::quantile_units::{KnownUnits, QuantileUnits};
use super::units::{TermLimits, UnitRows, Units, ends_of};
use crate::limits::{LimitEnd, ValueRanges};
use crate::policy::{Comparison, Looks, OnMissingValues, Rule};
use crate::{
    ConfidenceBound, CorrectedLimit, GateReason, MoreSamples, SampleUnit, ThresholdFinding, ThresholdReason, Unbounded,
};
use calipers_core::metric::{AttemptEvidence, AttemptPlace};
use calipers_core::{Evidence, Figure, PartlyMissing, Unit, Verdict};
use calipers_stats::bounded_ratio::Term;
use calipers_stats::corrected_mean::CorrectedMean;
use calipers_stats::corrected_units::{CorrectedThing, CorrectedUnits, Joining};
use calipers_stats::matthews::{MatthewsTable, TableTerm};
use calipers_stats::quantile::SortedValues;
use calipers_stats::threshold_test::{Direction, is_within};
use calipers_stats::weighted::weighted_mean;
use calipers_stats::{Confidence, Interval, Method};
use hashbrown::HashSet;
use std::cell::OnceCell;
use std::rc::Rc;

/// Does a figure meet a threshold? With everything that the answer may depend on.
#[derive(Clone)]
pub(super) struct ThresholdQuestion<'a> {
    pub(super) rule: Rule,
    pub(super) unit: Unit,
    pub(super) figure: &'a Figure,
    pub(super) evidence: Option<&'a Evidence>,
    /// How much each sample of the run counts, if they do not count alike.
    pub(super) weights: Option<&'a [f64]>,
    /// For each sample of the run, whether an attempt of it ended in an error.
    pub(super) errored: &'a [bool],
    pub(super) missing: OnMissingValues,
    /// What is independent of what.
    pub(super) units: Units<'a>,
    /// What the figure rests on, attempt by attempt, where attempts are the units. None where that cannot be said.
    pub(super) by_attempt: Option<&'a AttemptEvidence>,
    /// Every attempt of the run, where it matters which of them it is.
    pub(super) places: &'a [AttemptPlace],
    /// The values that attempts can have.
    pub(super) ranges: &'a ValueRanges,
    /// True when it is asked about a metric in a formula, where more may be better or worse.
    pub(super) is_in_formula: bool,
    pub(super) looks: Looks,
    /// The attempts of quantiles by unit, as far as they were asked for.
    pub(super) known_units: &'a KnownUnits,
    /// The samples that have a value although some of their attempts have none.
    pub(super) partly: &'a PartlyScored,
    /// The samples of which some attempts ended in an error.
    pub(super) broken: &'a PartlyBroken,
    /// The test with missing values as they are before it passes, once it was asked for: verdict and interval rest on it.
    pub(super) worst: OnceCell<Result<BoundTest, Unbounded>>,
}

/// A verdict with its reason.
#[derive(Clone, Debug)]
pub(super) struct Judgement {
    pub(super) verdict: Verdict,
    pub(super) reason: GateReason,
    /// How probable data this bad are on the threshold, where a gate can fail by chance.
    pub(super) p_fail: Option<f64>,
    pub(super) more: Option<MoreSamples>,
}

/// Numbers this close are equal but for rounding.
pub(super) const TIE: f64 = 1e-12;

/// How often a gate may err when it is decided with confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AllowedErrors {
    /// How often it may pass what does not hold.
    pub(super) pass: f64,
    /// How often it may fail what holds.
    pub(super) fail: f64,
}

impl AllowedErrors {
    /// Those of a mode; none where estimates decide.
    pub(super) fn of(mode: Mode) -> Option<Self> {
        match mode {
            Mode::Point => None,
            Mode::Confidence(level) => Some(Self { pass: 1.0 - level, fail: 1.0 - level }),
        }
    }
}

impl Judgement {
    pub(super) fn new(verdict: Verdict, reason: impl Into<GateReason>) -> Self {
        Self { verdict, reason: reason.into(), p_fail: None, more: None }
    }
}

/// True when a value is on the right side of a threshold, rounding forgiven.
pub(super) fn holds(rule: Rule, value: f64) -> bool {
    let tie = (value - rule.value).abs() <= TIE * rule.value.abs().max(1.0);
    match rule.comparison {
        Comparison::AtLeast | Comparison::AtMost if tie => true,
        Comparison::Above | Comparison::Below if tie => false,
        comparison => comparison.holds(value, rule.value),
    }
}

/// What a missing value is taken for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Fill {
    /// Nothing: it is left out.
    LeftOut,
    /// A failure, or the slowest.
    Bad,
    /// A success, or the fastest.
    Good,
}

impl Fill {
    /// The same, seen from the other side of the threshold.
    fn turned(self) -> Self {
        match self {
            Self::LeftOut => Self::LeftOut,
            Self::Bad => Self::Good,
            Self::Good => Self::Bad,
        }
    }
}

/// What a judge and people said of samples.
#[derive(Default)]
struct JudgedSamples {
    /// Samples with what the judge said of them, and what people did.
    judged: Vec<(u32, f64, Option<f64>)>,
    /// Samples that are taken for a value.
    filled: Vec<u32>,
    value: Option<f64>,
}

impl ThresholdQuestion<'_> {
    pub(super) fn decide(&self, errors: Option<AllowedErrors>) -> Judgement {
        let mut judgement = self.answer(errors);
        if errors.is_some() && self.can_err() {
            // A gate that could fail by chance counts as one that could, whatever became of it. Else a better run, in which
            // one more gate passes, would leave fewer to correct for, and another gate would fail.
            judgement.p_fail.get_or_insert(1.0);
        }
        judgement
    }

    /// True when a verdict with confidence may be wrong by chance.
    pub(super) fn can_err(&self) -> bool {
        !self.counts() && self.rule.comparison != Comparison::Equal
    }

    fn answer(&self, errors: Option<AllowedErrors>) -> Judgement {
        if self.unit == Unit::Rate && !self.is_share() {
            return self.judgement(Verdict::Undecided, ThresholdFinding::ScoresOutsideUnit);
        }
        let value = match (&self.figure.value, errors) {
            (Ok(value), _) => *value,
            // More attempts than the quantile leaves out ran out of time: it is beyond any limit.
            (Err(_), None) if self.is_timed_out() => f64::INFINITY,
            (Err(_), Some(errors)) if self.is_timed_out() => return self.with_confidence(errors),
            // Predictions that are all alike have no correlation with anything. What they could have is bounded all the same, and a run
            // that is a little better must not be the first to fail.
            (Err(why), Some(errors)) if matches!(self.evidence, Some(Evidence::Table { .. })) => {
                let judgement = self.with_confidence(errors);
                let undefined = self.judgement(Verdict::Undecided, ThresholdFinding::Undefined(why.clone()));
                return if judgement.verdict == Verdict::Fail { judgement } else { undefined };
            }
            (Err(why), _) => {
                return self.judgement(Verdict::Undecided, ThresholdFinding::Undefined(why.clone()));
            }
        };
        match errors {
            Some(errors) if !self.counts() => self.with_confidence(errors),
            _ => self.by_estimate(value),
        }
    }

    fn judgement(&self, verdict: Verdict, finding: ThresholdFinding) -> Judgement {
        let reason = ThresholdReason { rule: self.rule, unit: self.unit, finding };
        Judgement::new(verdict, GateReason::Threshold(reason))
    }

    fn is_share(&self) -> bool {
        self.evidence.is_none_or(Evidence::are_shares)
    }

    fn is_timed_out(&self) -> bool {
        matches!(self.evidence, Some(Evidence::Quantile { values, .. }) if values.iter().any(|x| x.is_infinite()))
    }

    /// True for rules that no number of samples can show, and that are decided on counts: all pass, none fail.
    pub(super) fn counts(&self) -> bool {
        let rule = self.rule;
        let none = rule.value == 0.0 && matches!(rule.comparison, Comparison::AtMost | Comparison::Equal);
        // Of a corrected rate only some samples are known, and so it is never on counts alone.
        let is_counted = !matches!(self.evidence, Some(Evidence::Corrected { .. }));
        is_counted && self.unit == Unit::Rate && (rule.asks_for_all() || none)
    }

    fn by_estimate(&self, value: f64) -> Judgement {
        // All means all, whatever they weigh.
        let holds_now = if self.counts() {
            self.is_unanimous().unwrap_or_else(|| holds(self.rule, value))
        } else {
            holds(self.rule, value)
        };
        if holds_now {
            let unscored = self.missing_samples();
            let could_change = self.missing == OnMissingValues::Worst && !self.holds_at_worst();
            if unscored > 0 && (self.counts() || could_change) {
                let finding = ThresholdFinding::MetUnlessUnscored { value, unscored };
                return self.judgement(Verdict::Undecided, finding);
            }
            return self.judgement(Verdict::Pass, ThresholdFinding::Met { value });
        }
        match self.without_errors() {
            Some((errored, best)) if holds(self.rule, best) => {
                self.judgement(Verdict::Undecided, ThresholdFinding::MissedUnlessErrored { value, best, errored })
            }
            _ => self.judgement(Verdict::Fail, ThresholdFinding::Missed { value }),
        }
    }

    /// Whether every sample is at the end that the rule asks for, where there is one value per sample.
    fn is_unanimous(&self) -> Option<bool> {
        let Some(Evidence::Mean { values, .. }) = self.evidence else { return None };
        Some(!values.is_empty() && values.iter().all(|&x| x == self.rule.value))
    }

    /// True when the rule would hold with every missing value as bad as it can be, or where that cannot be said.
    fn holds_at_worst(&self) -> bool {
        self.with_missing(self.wants_more()).is_none_or(|worst| holds(self.rule, worst))
    }

    /// The estimate with every missing value as low, or as high, as it can be; none where nothing is missing, or where that
    /// cannot be said.
    pub(super) fn with_missing(&self, is_low: bool) -> Option<f64> {
        let end = if is_low { 0.0 } else { 1.0 };
        match self.evidence? {
            Evidence::Mean { samples, values, missing } if !missing.is_empty() || !self.partly.is_empty() => {
                if !self.is_within_unit(values) {
                    return None;
                }
                let seen = samples.iter().zip(values).map(|(&sample, &x)| self.partly.fill(sample, x, end));
                let values: Vec<f64> = seen.chain(missing.iter().map(|_| end)).collect();
                let weights: Vec<f64> = samples.iter().chain(missing).map(|&sample| self.weight(sample)).collect();
                // Without any weight nothing holds.
                Some(weighted_mean(&values, &weights, None).map_or(f64::NAN, |mean| mean.mean.estimate))
            }
            Evidence::Ratio { numerators, denominators, missing, limits, attempts_max, .. } if !missing.is_empty() => {
                let more = missing.len() as f64;
                let size = denominators.iter().copied().fold(0.0, f64::max);
                let (y, x): (f64, f64) = (numerators.iter().sum(), denominators.iter().sum());
                let (each_y, each_x) = limits.of_sample(*attempts_max, size)?[usize::from(!is_low)];
                Some((y + each_y * more) / (x + each_x * more))
            }
            Evidence::Corrected { missing, .. } if !missing.is_empty() => self.corrected_estimate(Some(end), None),
            Evidence::Table { missing, .. } if !missing.is_empty() => {
                let fill = if is_low == self.wants_more() { Fill::Bad } else { Fill::Good };
                self.table(fill).ok()?.estimate().ok()
            }
            Evidence::Quantile { p, values, missing, .. } if !missing.is_empty() => {
                let end = if is_low { f64::NEG_INFINITY } else { f64::INFINITY };
                let all = values.iter().copied().chain(missing.iter().map(|_| end)).collect();
                let quantile = SortedValues::new(all).and_then(|sorted| sorted.linear(*p));
                // It lies among the missing ones.
                Some(quantile.unwrap_or(end))
            }
            _ => None,
        }
    }

    /// True when nothing is missing and nothing broke, so that there is nothing to take for the worst or the best.
    fn is_complete(&self) -> bool {
        let by_attempt = self.by_attempt.map(|all| &all.evidence);
        let has_missing = [self.evidence, by_attempt].into_iter().flatten().any(Evidence::has_missing);
        !has_missing && self.partly.is_empty() && !self.errored.iter().any(|is| *is)
    }

    fn missing_samples(&self) -> u64 {
        match self.evidence {
            Some(evidence) => (evidence.missing().len() + self.partly.iter().count()) as u64,
            None => self.figure.missing,
        }
    }

    /// How many samples ended in an error, and the share if all of them had gone well: an error on the way is not a
    /// failure of the agent.
    pub(super) fn without_errors(&self) -> Option<(usize, f64)> {
        if self.unit != Unit::Rate
            || !matches!(self.rule.comparison, Comparison::AtLeast | Comparison::Above | Comparison::Equal)
        {
            return None;
        }
        let is_errored = |sample: u32| self.errored.get(sample as usize).copied().unwrap_or(false);
        if let Some(Evidence::Corrected { samples, missing, .. }) = self.evidence {
            let errored = samples.iter().chain(missing).filter(|&&sample| is_errored(sample)).count();
            let best = self.corrected_estimate(None, Some(1.0))?;
            return (errored > 0).then_some((errored, best));
        }
        let Some(Evidence::Mean { samples, values, missing }) = self.evidence else { return None };
        let without_errors = |(&sample, &x): (&u32, &f64)| {
            (sample, if is_errored(sample) { self.broken.value_without_errors(sample, x, None) } else { x })
        };
        let seen = samples.iter().zip(values).map(without_errors);
        let unseen = missing.iter().filter(|&&sample| is_errored(sample)).map(|&sample| (sample, 1.0));
        let all: Vec<(u32, f64)> = seen.chain(unseen).collect();
        let errored = all.iter().filter(|(sample, _)| is_errored(*sample)).count();
        let values: Vec<f64> = all.iter().map(|pair| pair.1).collect();
        let weights: Vec<f64> =
            all.iter().map(|pair| self.weights.map_or(1.0, |weights| weights[pair.0 as usize])).collect();
        let best = weighted_mean(&values, &weights, None).ok()?.mean.estimate;
        (errored > 0).then_some((errored, best))
    }

    /// What is known of the samples of a corrected mean. Samples that the judge did not score are taken for a value if there is one,
    /// and samples that ended in an error for another.
    fn judged_samples(&self, missing_as: Option<f64>, errored_as: Option<f64>) -> Result<JudgedSamples, Unbounded> {
        let Some(Evidence::Corrected { samples, judged, labels, missing }) = self.evidence else {
            return Err(Unbounded::NoValues);
        };
        let is_errored = |sample: u32| self.errored.get(sample as usize).copied().unwrap_or(false);
        let mut known = JudgedSamples::default();
        for ((&sample, &judged), label) in samples.iter().zip(judged).zip(labels) {
            match errored_as.filter(|_| is_errored(sample)) {
                Some(_) => known.filled.push(sample),
                None => known.judged.push((sample, judged, *label)),
            }
        }
        // What broke counts as the better of both, as a gate fails only where not even that would help.
        let unseen =
            missing.iter().filter(|&&sample| missing_as.is_some() || (errored_as.is_some() && is_errored(sample)));
        known.filled.extend(unseen);
        known.value = errored_as.or(missing_as);
        if !known.filled.is_empty() && !self.is_share() {
            return Err(Unbounded::UnscoredWithoutLimit { samples: known.filled.len() as u64 });
        }
        Ok(known)
    }

    /// The corrected mean, with samples that the judge did not score taken for a value if there is one, and samples that
    /// ended in an error for another.
    fn correct(&self, missing_as: Option<f64>, errored_as: Option<f64>) -> Result<CorrectedMean, Unbounded> {
        let known = self.judged_samples(missing_as, errored_as)?;
        let pairs: Vec<(f64, f64)> =
            known.judged.iter().filter_map(|(_, judged, label)| Some(((*label)?, *judged))).collect();
        let others: Vec<f64> =
            known.judged.iter().filter(|(.., label)| label.is_none()).map(|(_, judged, _)| *judged).collect();
        let mean = CorrectedMean::new(&pairs, &others).map_err(Unbounded::Statistic)?;
        Ok(known.value.map_or(mean, |value| mean.with_unmeasured(known.filled.len() as u64, value)))
    }

    /// The same over units, with weights.
    fn correct_units(&self, missing_as: Option<f64>, errored_as: Option<f64>) -> Result<CorrectedUnits, Unbounded> {
        let known = self.judged_samples(missing_as, errored_as)?;
        let (joining, clusters) = match self.units {
            Units::Clusters(clusters) => (Joining::Clusters, Some(clusters)),
            _ => (Joining::Things, None),
        };
        let thing = |sample: u32, measured: Option<f64>, truth: Option<f64>| CorrectedThing {
            unit: clusters.map_or(sample, |clusters| clusters[sample as usize]),
            weight: self.weight(sample),
            measured,
            truth,
        };
        let judged = known.judged.iter().map(|&(sample, judged, label)| thing(sample, Some(judged), label));
        let filled = known.filled.iter().map(|&sample| thing(sample, None, known.value));
        CorrectedUnits::new(judged.chain(filled), joining).map_err(Unbounded::Statistic)
    }

    fn corrected_estimate(&self, missing_as: Option<f64>, errored_as: Option<f64>) -> Option<f64> {
        if self.is_weighted() {
            return Some(self.correct_units(missing_as, errored_as).ok()?.estimate());
        }
        Some(self.correct(missing_as, errored_as).ok()?.estimate())
    }

    /// True when samples do not all count alike.
    fn is_weighted(&self) -> bool {
        self.weights.is_some_and(|weights| weights.windows(2).any(|pair| pair[0] != pair[1]))
    }

    /// The test of a corrected mean.
    fn test_corrected(&self, fill: Fill, side: Fill) -> Result<BoundTest, Unbounded> {
        if matches!(self.units, Units::Attempts) {
            return Err(Unbounded::NotByAttempt);
        }
        if !self.is_share() {
            return Err(Unbounded::Corrected(CorrectedLimit::Scale));
        }
        let up = self.wants_more();
        let missing_as = match fill {
            Fill::LeftOut => None,
            Fill::Bad => Some(f64::from(u8::from(!up))),
            Fill::Good => Some(f64::from(u8::from(up))),
        };
        // What broke on the way is no failure of the agent's.
        let errored_as = (side == Fill::Good && up && self.unit == Unit::Rate).then_some(1.0);
        let is_plain = matches!(self.units, Units::Samples) && self.looks == Looks::Once && !self.is_weighted();
        if is_plain {
            return Ok(BoundTest::of_corrected(self.correct(missing_as, errored_as)?, self.rule.value, up));
        }
        let mean = self.correct_units(missing_as, errored_as)?;
        if self.looks == Looks::Any && !mean.is_of_shares() {
            return Err(Unbounded::Corrected(CorrectedLimit::Looks));
        }
        Ok(BoundTest::of_corrected_units(mean, self.rule.value, up, self.looks))
    }

    /// The table of a correlation, with samples that lack a truth or a prediction taken for wrong or right ones.
    fn table(&self, fill: Fill) -> Result<MatthewsTable, Unbounded> {
        let evidence = match self.units {
            Units::Attempts => &self.by_attempt.ok_or(Unbounded::NotByAttempt)?.evidence,
            _ => self.evidence.ok_or(Unbounded::NoValues)?,
        };
        let Evidence::Table { samples, counts, missing, attempts_max } = evidence else {
            return Err(Unbounded::NoValues);
        };
        let attempts = f64::from(*attempts_max);
        let filled = match (fill, self.wants_more()) {
            (Fill::LeftOut, _) => None,
            (Fill::Bad, true) | (Fill::Good, false) => Some(TableTerm { wrong: attempts, ..TableTerm::default() }),
            (Fill::Bad, false) | (Fill::Good, true) => Some(TableTerm { right: attempts, ..TableTerm::default() }),
        };
        let seen = samples.iter().copied().zip(counts.iter().copied());
        let unseen = filled.iter().flat_map(|&term| missing.iter().map(move |&sample| (sample, term)));
        // Attempts are listed one by one where they are the units.
        let partly = filled.iter().filter(|_| !matches!(self.units, Units::Attempts)).flat_map(|term| {
            let part = |one: PartlyMissing| f64::from(one.missing) / attempts.max(1.0);
            self.partly.iter().map(move |one| {
                let (wrong, right) = (term.wrong * part(one), term.right * part(one));
                (one.sample, TableTerm { wrong, right, ..TableTerm::default() })
            })
        });
        let rows: Vec<(u32, TableTerm)> = seen.chain(unseen).chain(partly).collect();
        let mut keyed: Vec<_> = self.units.keys(rows.iter().map(|row| row.0)).into_iter().zip(rows).collect();
        // Counts are whole numbers, which have one sum in any order.
        keyed.sort_by_key(|(key, _)| *key);
        let units = keyed.chunk_by(|a, b| a.0 == b.0).map(|rows| {
            rows.iter().fold(TableTerm::default(), |mut sum, (_, (_, term))| {
                sum.add(*term);
                sum
            })
        });
        MatthewsTable::new(units, attempts * self.units.samples_max()).map_err(Unbounded::Statistic)
    }

    fn weight(&self, sample: u32) -> f64 {
        self.weights.map_or(1.0, |weights| weights[sample as usize])
    }

    /// True when values have the limits 0 and 1: shares, and scores that all lie within. What is spent has no such limit,
    /// however little it is.
    fn is_within_unit(&self, values: &[f64]) -> bool {
        let has_limits = matches!(self.unit, Unit::Rate | Unit::Plain);
        has_limits && values.iter().all(|x| (0.0..=1.0).contains(x))
    }

    fn worst_test(&self) -> &Result<BoundTest, Unbounded> {
        self.worst.get_or_init(|| self.test(self.fills().0, Fill::Bad))
    }

    fn with_confidence(&self, errors: AllowedErrors) -> Judgement {
        if self.rule.comparison == Comparison::Equal {
            return self.judgement(Verdict::Undecided, ThresholdFinding::NeverExact);
        }
        let (_, good) = self.fills();
        let worst = self.worst_test();
        let best = if self.is_complete() { worst.clone() } else { self.test(good, Fill::Good) };
        if let Some(worst) = worst.as_ref().ok().filter(|worst| worst.passes(errors.pass)) {
            let bound = confidence_bound(worst, errors.pass, true);
            return self.judgement(Verdict::Pass, ThresholdFinding::BoundMet(bound));
        }
        let p_fail = best.as_ref().ok().map(BoundTest::p_fail);
        if let Some(best) = best.as_ref().ok().filter(|_| p_fail.is_some_and(|p| is_within(p, errors.fail))) {
            // Whether this may be chance among many gates is decided when all of them are known.
            let bound = confidence_bound(best, errors.fail, false);
            let judgement = self.judgement(Verdict::Fail, ThresholdFinding::BoundMissed(bound));
            return Judgement { p_fail, ..judgement };
        }
        let (finding, more) = match (self.no_limit(), worst) {
            (Some(why), _) => (ThresholdFinding::Unbounded(why), None),
            (None, Err(why)) => (ThresholdFinding::Unbounded(why.clone()), None),
            (None, Ok(worst)) => {
                let (finding, more) = self.undecided(worst, best.as_ref().ok(), errors);
                (finding, more.map(|count| MoreSamples { count, unit: worst.unit, looks: self.looks }))
            }
        };
        Judgement { p_fail, more, ..self.judgement(Verdict::Undecided, finding) }
    }

    /// Which limit of the values is missing that a pass needs.
    fn no_limit(&self) -> Option<Unbounded> {
        let end = if self.wants_more() { LimitEnd::Least } else { LimitEnd::Most };
        self.evidence.and_then(|_| self.ranges.missing(end, self.rule_of_ends()))
    }

    /// The one-sided bound at this level on the side that a threshold guards, with missing values as they are taken when
    /// gates are decided. A rule passes with confidence when this bound clears it.
    pub(super) fn bound(&self, level: f64) -> Result<f64, Unbounded> {
        let alpha = 1.0 - level;
        let (fill, _) = self.fills();
        if let Some(Evidence::Quantile { .. }) = self.evidence {
            let comparison = if self.wants_more() { Comparison::AtLeast } else { Comparison::AtMost };
            let units = self.quantile_units(fill)?;
            return self.ask(comparison, 0.0).quantile_bound(&units, fill, alpha);
        }
        let bound = self.test(fill, Fill::Bad)?.bound(alpha, true);
        bound.ok_or_else(|| self.no_limit().unwrap_or(Unbounded::Open))
    }

    /// The bounds on both sides at 1 − α each, whatever the rule: the lower one as when gates pass, the upper one as when they
    /// fail.
    pub(super) fn bounds_at(&self, alpha: f64) -> (Option<f64>, Option<f64>) {
        let (bad, good) = self.fills();
        if let Some(Evidence::Quantile { .. }) = self.evidence {
            return self.quantile_bounds(bad, alpha);
        }
        let asked = self.ask(Comparison::AtLeast, 0.0);
        let bound = |fill, side, is_lower| asked.test(fill, side).ok()?.one_bound(alpha, is_lower);
        (bound(bad, Fill::Bad, true), bound(good, Fill::Good, false))
    }

    /// The interval to show: its ends are bounds of the tests that pass and fail the gate. So what is missing counts here as it does
    /// there, and the interval neither contradicts the verdict nor assumes that scores are missing by chance.
    pub(super) fn interval(&self, confidence: Confidence) -> Option<Interval> {
        // Bounds of shares say nothing about scores that are none.
        if self.unit == Unit::Rate && !self.is_share() {
            return None;
        }
        let (bad, good) = self.fills();
        if let Some(Evidence::Quantile { .. }) = self.evidence {
            let (lower, upper) = if self.wants_more() {
                (self.quantile_end(true, bad, confidence), self.quantile_end(false, good.turned(), confidence))
            } else {
                (self.quantile_end(true, good.turned(), confidence), self.quantile_end(false, bad, confidence))
            };
            let method = match (self.looks, self.units) {
                (Looks::Any, _) => Method::Betting,
                (_, Units::Clusters(_)) => Method::GaffkeClustered,
                _ => Method::Gaffke,
            };
            let interval = Interval { lower, upper, confidence, method };
            return (lower.is_some() || upper.is_some()).then_some(interval);
        }
        let worst = self.worst_test().as_ref().ok().and_then(|test| test.interval(confidence));
        if self.is_complete() {
            return worst;
        }
        let best = self.test(good, Fill::Good).ok().and_then(|test| test.interval(confidence));
        let (low, high) = if self.wants_more() { (worst, best) } else { (best, worst) };
        let (lower, upper) = (low.and_then(|low| low.lower), high.and_then(|high| high.upper));
        let method = worst.or(best)?.method;
        (lower.is_some() || upper.is_some()).then_some(Interval { lower, upper, confidence, method })
    }

    /// An end of the interval of a quantile.
    fn quantile_end(&self, is_lower: bool, fill: Fill, confidence: Confidence) -> Option<f64> {
        let comparison = if is_lower { Comparison::AtLeast } else { Comparison::AtMost };
        let units = self.quantile_units(fill).ok()?;
        self.ask(comparison, 0.0).quantile_bound(&units, fill, confidence.tail()).ok()
    }

    fn ask(&self, comparison: Comparison, value: f64) -> Self {
        Self { rule: Rule { comparison, value }, worst: OnceCell::new(), ..*self }
    }

    /// What missing values are taken for before a gate passes, and before it fails.
    pub(super) fn fills(&self) -> (Fill, Fill) {
        match self.missing {
            OnMissingValues::Worst => (Fill::Bad, Fill::Good),
            OnMissingValues::Failed => (Fill::Bad, Fill::Bad),
            OnMissingValues::AtRandom | OnMissingValues::Excluded => (Fill::LeftOut, Fill::LeftOut),
        }
    }

    fn quantile_bounds(&self, fill: Fill, alpha: f64) -> (Option<f64>, Option<f64>) {
        let Ok(units) = self.quantile_units(fill) else { return (None, None) };
        let bound = |comparison| self.ask(comparison, 0.0).quantile_bound(&units, fill, alpha).ok();
        (bound(Comparison::AtLeast), bound(Comparison::AtMost))
    }

    /// What a quantile rests on, by unit.
    fn quantile_units(&self, fill: Fill) -> Result<Rc<QuantileUnits>, Unbounded> {
        let evidence = match self.units {
            Units::Attempts => &self.by_attempt.ok_or(Unbounded::NotByAttempt)?.evidence,
            _ => self.evidence.ok_or(Unbounded::NoValues)?,
        };
        let Evidence::Quantile { samples, values, missing, .. } = evidence else { return Err(Unbounded::NoValues) };
        let missing = if fill == Fill::LeftOut { &[][..] } else { missing };
        Ok(QuantileUnits::find(self.known_units, self.units, samples, values, missing))
    }

    /// The tightest value of the run that would pass as the limit of a quantile.
    fn quantile_bound(&self, units: &QuantileUnits, fill: Fill, alpha: f64) -> Result<f64, Unbounded> {
        let Some(Evidence::Quantile { p, values, .. }) = self.evidence else { return Err(Unbounded::NoValues) };
        let up = self.wants_more();
        let passes = |&limit: &f64| {
            // What is missing is on the wrong side of the limit before a gate passes.
            let is_missing_within = if fill == Fill::Bad { up } else { !up };
            let ratio = units.ratio(limit, up, is_missing_within);
            ratio.is_ok_and(|ratio| BoundTest::new(ratio, *p, !up, self.looks, self.sample_unit()).passes(alpha))
        };
        let limits = units.limits();
        let near = (p * limits.len() as f64) as usize;
        let place = if up {
            partition_near(limits, near, passes).checked_sub(1)
        } else {
            Some(partition_near(limits, near, |limit| !passes(limit)))
        };
        let limit = place.and_then(|place| limits.get(place)).copied();
        limit.ok_or(Unbounded::TooFewValues { values: values.len() })
    }

    /// What is counted.
    fn sample_unit(&self) -> SampleUnit {
        match self.units {
            Units::Samples => SampleUnit::Samples,
            Units::Clusters(_) => SampleUnit::Clusters,
            Units::Attempts => SampleUnit::Attempts,
        }
    }

    /// What keeps the answer open, and about how many more units would decide.
    fn undecided(
        &self,
        worst: &BoundTest,
        best: Option<&BoundTest>,
        errors: AllowedErrors,
    ) -> (ThresholdFinding, Option<u64>) {
        let alpha = errors.pass;
        if let Some((have, need)) = worst.cannot_pass(alpha) {
            let counted = match self.evidence {
                // With one attempt each, attempts and samples are the same.
                Some(Evidence::Quantile { values, missing, .. })
                    if worst.unit == SampleUnit::Samples && (values.len() + missing.len()) as u64 == have =>
                {
                    SampleUnit::Attempts
                }
                _ => worst.unit,
            };
            let quantile = worst.quantile_share();
            return (ThresholdFinding::PerfectNotEnough { counted, have, need, quantile }, Some(need - have));
        }
        let unscored = self.missing_samples();
        if unscored > 0
            && self
                .test(Fill::LeftOut, Fill::Bad)
                .is_ok_and(|as_is| as_is.passes(alpha) || is_within(as_is.p_fail(), alpha))
        {
            return (ThresholdFinding::UnscoredCouldChange { unscored }, None);
        }
        let quantile = worst.quantile_share();
        let finding = match (worst.bound(alpha, true), best.and_then(|best| best.bound(errors.fail, false))) {
            (Some(x), Some(y)) => ThresholdFinding::Between { low: x.min(y), high: x.max(y), quantile },
            (Some(bound), None) if quantile.is_none() => ThresholdFinding::AsBadAs { bound },
            _ => ThresholdFinding::Unbounded(Unbounded::Open),
        };
        (finding, self.more(worst, alpha))
    }

    /// About how many more units would decide. Samples that add nothing to a ratio are needed too, to find those that do.
    fn more(&self, tested: &BoundTest, alpha: f64) -> Option<u64> {
        let more = tested.more(alpha)?;
        let is_of_all = !matches!(self.evidence, Some(Evidence::Ratio { .. })) || tested.unit != SampleUnit::Samples;
        let (all, used) = (self.errored.len() as u64, tested.units().max(1));
        Some(if is_of_all || all <= used { more } else { (more * all).div_ceil(used) })
    }

    fn wants_more(&self) -> bool {
        matches!(self.rule.comparison, Comparison::AtLeast | Comparison::Above | Comparison::Equal)
    }

    /// The test, with missing values taken for the worst or the best, and errors for successes before a fail.
    fn test(&self, fill: Fill, side: Fill) -> Result<BoundTest, Unbounded> {
        if let Some(Evidence::Corrected { .. }) = self.evidence {
            return self.test_corrected(fill, side);
        }
        let (unit, up) = (self.sample_unit(), self.wants_more());
        if let Some(Evidence::Table { .. }) = self.evidence {
            return Ok(BoundTest::of_table(self.table(fill)?, self.rule.value, up, self.looks, unit));
        }
        if let Some(Evidence::Quantile { p, .. }) = self.evidence {
            // The quantile is at most the limit exactly when at least p of the attempts are.
            let is_open = matches!(self.rule.comparison, Comparison::Below | Comparison::AtLeast);
            // What is missing is on the wrong side of the limit before a gate passes, and on the right one before it fails.
            let of = self.quantile_units(fill)?.ratio(self.rule.value, is_open, (fill == Fill::Bad) == up)?;
            let mut tested = BoundTest::new(of, *p, !up, self.looks, unit);
            tested.is_quantile = true;
            return Ok(tested);
        }
        let of = self.rows(fill, side)?.ratio(self.units)?;
        Ok(BoundTest::new(of, self.rule.value, up, self.looks, unit))
    }

    /// What samples add to the ratio that is tested.
    pub(super) fn rows(&self, fill: Fill, side: Fill) -> Result<UnitRows, Unbounded> {
        let up = self.wants_more();
        let evidence = match (self.units, self.evidence) {
            // It is no ratio of sums over units.
            (_, None | Some(Evidence::Corrected { .. } | Evidence::Table { .. } | Evidence::Quantile { .. })) => {
                return Err(Unbounded::Method(self.figure.method.clone()));
            }
            (Units::Attempts, Some(_)) => &self.by_attempt.ok_or(Unbounded::NotByAttempt)?.evidence,
            (_, Some(evidence)) => evidence,
        };
        match evidence {
            Evidence::Mean { missing, .. } => {
                let filled = self.fill_value(fill, missing.len() + self.partly.iter().count())?;
                // What broke on the way is no failure of the agent's.
                let is_forgiving = side == Fill::Good && up && self.unit == Unit::Rate;
                let limits = TermLimits::Within(ends_of(self.ranges, self.rule_of_ends()));
                if let (Units::Attempts, Some(all)) = (self.units, self.by_attempt) {
                    let rows = self.attempt_values(all, filled, is_forgiving);
                    let counts = count_rows(&rows);
                    // The attempts of a sample weigh as much as the sample.
                    let weight = |sample: u32| self.weight(sample) / counts[sample as usize];
                    let term = |row: &AttemptRow| {
                        let weight = weight(row.sample);
                        (row.sample, Term::new(weight * row.value, weight))
                    };
                    let epochs = rows.iter().map(|row| row.epoch).collect();
                    return Ok(UnitRows { rows: rows.iter().map(term).collect(), epochs, limits });
                }
                let term = |(sample, x): (u32, f64)| {
                    let weight = self.weight(sample);
                    (sample, Term::new(weight * x, weight))
                };
                let rows = self.sample_values(evidence, filled, is_forgiving).into_iter().map(term).collect();
                Ok(UnitRows { rows, epochs: Vec::new(), limits })
            }
            Evidence::Ratio { .. } => {
                let is_good = match fill {
                    Fill::LeftOut => None,
                    Fill::Bad => Some(!up),
                    Fill::Good => Some(up),
                };
                let none = PartlyScored::default();
                let partly = if matches!(self.units, Units::Attempts) { &none } else { self.partly };
                let rows = UnitRows::of_ratio(evidence, self.ranges, self.rule_of_ends(), is_good, partly)?;
                let epochs = match (self.units, self.by_attempt) {
                    // Rows without a value come last, where they are filled in.
                    (Units::Attempts, Some(all)) => all.epochs.iter().chain(&all.missing_epochs).copied().collect(),
                    _ => Vec::new(),
                };
                Ok(UnitRows { epochs, ..rows })
            }
            // Neither is a ratio of sums over units.
            Evidence::Corrected { .. } | Evidence::Table { .. } | Evidence::Quantile { .. } => {
                Err(Unbounded::Method(self.figure.method.clone()))
            }
        }
    }

    /// The values of samples, those that are missing filled in; with errors taken for successes if that is forgiven.
    fn sample_values(&self, evidence: &Evidence, filled: Option<f64>, is_forgiving: bool) -> Vec<(u32, f64)> {
        let Evidence::Mean { samples, values, missing } = evidence else { return Vec::new() };
        let is_forgiven = |sample: u32| is_forgiving && self.errored.get(sample as usize).copied().unwrap_or(false);
        let seen = samples.iter().zip(values).map(|(&sample, &x)| {
            let partly = self.partly.get(sample).filter(|_| filled.is_some());
            let x = filled.map_or(x, |filled| self.partly.fill(sample, x, filled));
            let attempts = partly.map(|one| one.attempts);
            (sample, if is_forgiven(sample) { self.broken.value_without_errors(sample, x, attempts) } else { x })
        });
        let unseen = filled.iter().flat_map(|&x| missing.iter().map(move |&sample| (sample, x)));
        seen.chain(unseen.map(|(sample, x)| (sample, if is_forgiven(sample) { 1.0 } else { x }))).collect()
    }

    /// The same for attempts, where they are the units. A scorer lists only those that it looked at.
    fn attempt_values(&self, all: &AttemptEvidence, filled: Option<f64>, is_forgiving: bool) -> Vec<AttemptRow> {
        let Evidence::Mean { samples, values, missing } = &all.evidence else { return Vec::new() };
        let row = |((&sample, &epoch), value): ((&u32, &u32), f64)| AttemptRow { sample, epoch, value };
        let mut rows: Vec<AttemptRow> = samples.iter().zip(&all.epochs).zip(values.iter().copied()).map(row).collect();
        let known: HashSet<(u32, u32)> = rows.iter().map(|row| (row.sample, row.epoch)).collect();
        let has_value: HashSet<u32> = samples.iter().copied().collect();
        if let Some(filled) = filled {
            let whole = missing.iter().zip(&all.missing_epochs).map(|place| (place, filled));
            rows.extend(whole.filter(|((sample, _), _)| self.partly.get(**sample).is_none()).map(row));
        }
        for place in self.places.iter().filter(|place| !known.contains(&(place.sample, place.epoch))) {
            let filled = filled.filter(|_| self.partly.get(place.sample).is_some());
            // Where missing ones are left out, those that ended in an error still count before a gate fails.
            let forgiven = Some(1.0).filter(|_| is_forgiving && place.is_errored && has_value.contains(&place.sample));
            if let Some(value) = filled.or(forgiven) {
                rows.push(AttemptRow { sample: place.sample, epoch: place.epoch, value });
            }
        }
        if is_forgiving {
            let errored: HashSet<(u32, u32)> =
                self.places.iter().filter(|place| place.is_errored).map(|place| (place.sample, place.epoch)).collect();
            let broken = rows.iter_mut().filter(|row| errored.contains(&(row.sample, row.epoch)));
            broken.for_each(|row| row.value = 1.0);
        }
        rows
    }

    /// The value that each missing one is taken for.
    fn fill_value(&self, fill: Fill, missing: usize) -> Result<Option<f64>, Unbounded> {
        let is_high = match fill {
            Fill::LeftOut => return Ok(None),
            _ if missing == 0 => return Ok(None),
            Fill::Bad => !self.wants_more(),
            Fill::Good => self.wants_more(),
        };
        let (low, high) = ends_of(self.ranges, self.rule_of_ends());
        let without_limit = Unbounded::UnscoredWithoutLimit { samples: missing as u64 };
        (if is_high { high } else { low }).map(Some).ok_or(without_limit)
    }

    /// The rule that tells whether values are grades.
    fn rule_of_ends(&self) -> Option<Rule> {
        (!self.is_in_formula).then_some(self.rule)
    }
}

/// The number of first values for which something holds that holds for none after them. The search begins at a place near
/// which the answer is expected: a look at a value may be a look at all attempts.
fn partition_near(values: &[f64], near: usize, holds: impl Fn(&f64) -> bool) -> usize {
    let mut step = (values.len() as f64).sqrt() as usize + 1;
    let (mut low, mut high) = (near.min(values.len()), near.min(values.len()));
    while low > 0 && !holds(&values[low - 1]) {
        high = low - 1;
        low = high.saturating_sub(step);
        step *= 2;
    }
    while high < values.len() && holds(&values[high]) {
        low = high + 1;
        high = (low + step).min(values.len());
        step *= 2;
    }
    low + values[low..high].partition_point(holds)
}

/// An attempt with its value, known or filled in.
struct AttemptRow {
    sample: u32,
    epoch: u32,
    value: f64,
}

/// The number of rows of each sample.
fn count_rows(rows: &[AttemptRow]) -> Vec<f64> {
    let mut counts = vec![0.0; rows.iter().map(|row| row.sample as usize + 1).max().unwrap_or(0)];
    rows.iter().for_each(|row| counts[row.sample as usize] += 1.0);
    counts
}

/// The bound on the worse or on the better side, as a reason.
fn confidence_bound(tested: &BoundTest, alpha: f64, is_worst: bool) -> ConfidenceBound {
    let direction = if tested.up == is_worst { Direction::AtLeast } else { Direction::AtMost };
    ConfidenceBound {
        bound: tested.bound(alpha, is_worst).map(|bound| (direction, bound)),
        confidence: 1.0 - alpha,
        quantile: tested.quantile_share(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_from_anywhere_finds_the_same_place() {
        for n in [0usize, 1, 2, 7, 100] {
            let values: Vec<f64> = (0..n).map(|i| i as f64).collect();
            for place in 0..=n {
                for near in [0, n / 3, n / 2, n, n + 5] {
                    let found = partition_near(&values, near, |&x| x < place as f64);
                    assert_eq!(found, place, "{n} {near}");
                }
            }
        }
    }
}
