//! From what a figure rests on to a verdict about its threshold.

use super::Mode;
use super::bound_test::{BoundTest, fill_in, mean_basis, ratio_basis, within_basis};
use crate::policy::{Comparison, OnMissingValues, Rule};
use crate::{ConfidenceBound, GateReason, SampleUnit, ThresholdFinding, ThresholdReason, Unbounded};
use calipers_core::{Evidence, Figure, Unit, Verdict};
use calipers_stats::quantile::SortedValues;
use calipers_stats::threshold_test::Direction;
use calipers_stats::weighted::weighted_mean;

/// Does a figure meet a threshold? With everything that the answer may depend on.
#[derive(Clone, Copy)]
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
}

/// A verdict with its reason.
#[derive(Clone, Debug)]
pub(super) struct Judgement {
    pub(super) verdict: Verdict,
    pub(super) reason: GateReason,
    /// How probable data this bad are on the threshold, where a fail was tested for.
    pub(super) p_fail: Option<f64>,
    pub(super) more: Option<u64>,
}

/// Numbers this close are equal but for rounding.
const TIE: f64 = 1e-12;

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
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Fill {
    /// Nothing: it is left out.
    LeftOut,
    /// A failure, or the slowest.
    Bad,
    /// A success, or the fastest.
    Good,
}

impl ThresholdQuestion<'_> {
    pub(super) fn decide(&self, mode: Mode) -> Judgement {
        if self.unit == Unit::Rate && !self.is_share() {
            return self.judgement(Verdict::Undecided, ThresholdFinding::ScoresOutsideUnit);
        }
        let value = match (&self.figure.value, mode) {
            (Ok(value), _) => *value,
            // More attempts than the quantile leaves out ran out of time: it is beyond any limit.
            (Err(_), Mode::Point) if self.is_timed_out() => f64::INFINITY,
            (Err(_), Mode::Confidence(level)) if self.is_timed_out() => return self.with_confidence(level),
            (Err(why), _) => {
                return self.judgement(Verdict::Undecided, ThresholdFinding::Undefined(why.clone()));
            }
        };
        match mode {
            Mode::Confidence(level) if !self.counts() => self.with_confidence(level),
            _ => self.by_estimate(value),
        }
    }

    fn judgement(&self, verdict: Verdict, finding: ThresholdFinding) -> Judgement {
        let reason = ThresholdReason { rule: self.rule, unit: self.unit, finding };
        Judgement::new(verdict, GateReason::Threshold(reason))
    }

    fn is_share(&self) -> bool {
        let Some(Evidence::Mean { values, .. }) = self.evidence else { return true };
        values.iter().all(|x| (0.0..=1.0).contains(x))
    }

    fn is_timed_out(&self) -> bool {
        matches!(self.evidence, Some(Evidence::Quantile { values, .. }) if values.iter().any(|x| x.is_infinite()))
    }

    /// True for rules that no number of samples can show, and that are decided on counts: all pass, none fail.
    pub(super) fn counts(&self) -> bool {
        let rule = self.rule;
        let none = rule.value == 0.0 && matches!(rule.comparison, Comparison::AtMost | Comparison::Equal);
        self.unit == Unit::Rate && (rule.asks_for_all() || none)
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
            Evidence::Mean { samples, values, missing } if !missing.is_empty() => {
                let (values, samples) = fill_in(values, samples, missing, Some(end)).ok()?;
                let weight = |&sample: &u32| self.weights.map_or(1.0, |weights| weights[sample as usize]);
                let weights: Vec<f64> = samples.iter().map(weight).collect();
                // Without any weight nothing holds.
                Some(weighted_mean(&values, &weights, None).map_or(f64::NAN, |mean| mean.mean.estimate))
            }
            Evidence::Ratio { numerators, denominators, missing, is_share: true, .. } if !missing.is_empty() => {
                let more = missing.len() as f64;
                let (y, x): (f64, f64) = (numerators.iter().sum(), denominators.iter().sum());
                Some((y + end * more) / (x + more))
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

    fn missing_samples(&self) -> u64 {
        match self.evidence {
            Some(
                Evidence::Mean { missing, .. } | Evidence::Ratio { missing, .. } | Evidence::Quantile { missing, .. },
            ) => missing.len() as u64,
            None => self.figure.missing,
        }
    }

    /// How many samples ended in an error, and the share if all of them had gone well: an error on the way is not a
    /// failure of the agent.
    pub(super) fn without_errors(&self) -> Option<(usize, f64)> {
        let Some(Evidence::Mean { samples, values, missing }) = self.evidence else { return None };
        if self.unit != Unit::Rate
            || !matches!(self.rule.comparison, Comparison::AtLeast | Comparison::Above | Comparison::Equal)
        {
            return None;
        }
        let is_errored = |sample: u32| self.errored.get(sample as usize).copied().unwrap_or(false);
        let seen = samples.iter().zip(values).map(|(&sample, &x)| (sample, if is_errored(sample) { 1.0 } else { x }));
        let unseen = missing.iter().filter(|&&sample| is_errored(sample)).map(|&sample| (sample, 1.0));
        let all: Vec<(u32, f64)> = seen.chain(unseen).collect();
        let errored = all.iter().filter(|(sample, _)| is_errored(*sample)).count();
        let values: Vec<f64> = all.iter().map(|pair| pair.1).collect();
        let weights: Vec<f64> =
            all.iter().map(|pair| self.weights.map_or(1.0, |weights| weights[pair.0 as usize])).collect();
        let best = weighted_mean(&values, &weights, None).ok()?.mean.estimate;
        (errored > 0).then_some((errored, best))
    }

    fn with_confidence(&self, level: f64) -> Judgement {
        if self.rule.comparison == Comparison::Equal {
            return self.judgement(Verdict::Undecided, ThresholdFinding::NeverExact);
        }
        let alpha = 1.0 - level;
        let (bad, good) = self.fills();
        let (worst, best) = match (self.basis(bad, Fill::Bad), self.basis(good, Fill::Good)) {
            (Ok(worst), Ok(best)) => (worst, best),
            (Err(why), _) | (_, Err(why)) => {
                return self.judgement(Verdict::Undecided, ThresholdFinding::Unbounded(why));
            }
        };
        if worst.passes(alpha) {
            let bound = confidence_bound(&worst, level, true);
            return self.judgement(Verdict::Pass, ThresholdFinding::BoundMet(bound));
        }
        let p_fail = best.p_fail();
        if p_fail <= alpha {
            // Whether this may be chance among many gates is decided when all of them are known.
            let bound = confidence_bound(&best, level, false);
            let judgement = self.judgement(Verdict::Fail, ThresholdFinding::BoundMissed(bound));
            return Judgement { p_fail: Some(p_fail), ..judgement };
        }
        let (finding, more) = self.undecided(&worst, &best, alpha);
        Judgement { p_fail: Some(p_fail), more, ..self.judgement(Verdict::Undecided, finding) }
    }

    /// The one-sided bound at this level on the side that a threshold guards, with missing values as they are taken when
    /// gates are decided. A rule passes with confidence when this bound clears it.
    pub(super) fn bound(&self, level: f64) -> Result<f64, Unbounded> {
        let alpha = 1.0 - level;
        let (fill, _) = self.fills();
        if let Some(Evidence::Quantile { values, .. }) = self.evidence {
            return self.quantile_bound(values, fill, alpha);
        }
        let tested = self.basis(fill, Fill::Bad)?;
        let (lower, upper) = tested.bounds(alpha);
        (if tested.up { lower } else { upper }).ok_or(Unbounded::Open)
    }

    /// The bounds on both sides at 1 − α each, whatever the rule: the lower one as when gates pass, the upper one as when they
    /// fail.
    pub(super) fn bounds_at(&self, alpha: f64) -> (Option<f64>, Option<f64>) {
        let (bad, good) = self.fills();
        let asked = |comparison| ThresholdQuestion { rule: Rule { comparison, value: 0.0 }, ..*self };
        if let Some(Evidence::Quantile { values, .. }) = self.evidence {
            let bound = |comparison| asked(comparison).quantile_bound(values, bad, alpha).ok();
            return (bound(Comparison::AtLeast), bound(Comparison::AtMost));
        }
        let bounds =
            |fill, rounding| asked(Comparison::AtLeast).basis(fill, rounding).map(|tested| tested.bounds(alpha));
        (
            bounds(bad, Fill::Bad).ok().and_then(|bounds| bounds.0),
            bounds(good, Fill::Good).ok().and_then(|bounds| bounds.1),
        )
    }

    /// What missing values are taken for before a gate passes, and before it fails.
    fn fills(&self) -> (Fill, Fill) {
        match self.missing {
            OnMissingValues::Worst => (Fill::Bad, Fill::Good),
            OnMissingValues::AtRandom => (Fill::LeftOut, Fill::LeftOut),
        }
    }

    /// The tightest value of the run that would pass as the limit of a quantile.
    fn quantile_bound(&self, values: &[f64], fill: Fill, alpha: f64) -> Result<f64, Unbounded> {
        let mut limits: Vec<f64> = values.iter().copied().filter(|x| x.is_finite()).collect();
        limits.sort_by(f64::total_cmp);
        let up = self.wants_more();
        let comparison = if up { Comparison::AtLeast } else { Comparison::AtMost };
        let passes = |&value: &f64| {
            let asked = ThresholdQuestion { rule: Rule { comparison, value }, ..*self };
            asked.basis(fill, Fill::Bad).is_ok_and(|tested| tested.passes(alpha))
        };
        let place = if up {
            limits.partition_point(passes).checked_sub(1)
        } else {
            Some(limits.partition_point(|limit| !passes(limit)))
        };
        let limit = place.and_then(|place| limits.get(place)).copied();
        limit.ok_or(Unbounded::TooFewValues { values: values.len() })
    }

    /// What keeps the answer open, and about how many more samples would decide.
    fn undecided(&self, worst: &BoundTest, best: &BoundTest, alpha: f64) -> (ThresholdFinding, Option<u64>) {
        if let Some((have, need)) = worst.cannot_pass(alpha) {
            let counted = match self.evidence {
                // Attempts that are all alike count as one per sample.
                Some(Evidence::Quantile { values, missing, .. }) if (values.len() + missing.len()) as u64 == have => {
                    SampleUnit::Attempts
                }
                _ => SampleUnit::Samples,
            };
            let quantile = worst.quantile_share();
            return (ThresholdFinding::PerfectNotEnough { counted, have, need, quantile }, Some(need - have));
        }
        let unscored = self.missing_samples();
        if unscored > 0
            && self.basis(Fill::LeftOut, Fill::Bad).is_ok_and(|as_is| as_is.passes(alpha) || as_is.p_fail() <= alpha)
        {
            return (ThresholdFinding::UnscoredCouldChange { unscored }, None);
        }
        let more = worst.more(alpha).filter(|more| *more > 0);
        let quantile = worst.quantile_share();
        let finding = match (worst.bound(alpha, true), best.bound(alpha, false)) {
            (Some(x), Some(y)) if quantile.is_some() => {
                ThresholdFinding::Between { low: x.min(y), high: x.max(y), quantile }
            }
            (Some(low), Some(high)) => ThresholdFinding::Between { low, high, quantile },
            (Some(bound), None) if quantile.is_none() => ThresholdFinding::AsBadAs { bound },
            _ => ThresholdFinding::Unbounded(Unbounded::Open),
        };
        (finding, more)
    }

    fn wants_more(&self) -> bool {
        matches!(self.rule.comparison, Comparison::AtLeast | Comparison::Above | Comparison::Equal)
    }

    /// What the bounds are made from, with missing values taken for the worst or the best. What has to be rounded is rounded
    /// to the worse or to the better side.
    fn basis(&self, fill: Fill, rounding: Fill) -> Result<BoundTest, Unbounded> {
        let up = self.wants_more();
        let filled = |fill: Fill| match fill {
            Fill::LeftOut => None,
            Fill::Bad => Some(if up { 0.0 } else { 1.0 }),
            Fill::Good => Some(if up { 1.0 } else { 0.0 }),
        };
        let test = |basis, threshold: f64, up: bool| Ok(BoundTest { basis, threshold, up, is_quantile: false });
        match self.evidence {
            Some(Evidence::Mean { samples, values, missing }) => {
                let (mut values, samples) = fill_in(values, samples, missing, filled(fill))?;
                if rounding == Fill::Good && up && self.unit == Unit::Rate {
                    // What broke on the way is no failure of the agent's.
                    let is_errored = |sample: &u32| self.errored.get(*sample as usize).copied().unwrap_or(false);
                    values.iter_mut().zip(&samples).filter(|(_, s)| is_errored(s)).for_each(|(x, _)| *x = 1.0);
                }
                let down = (rounding == Fill::Bad) == up;
                test(mean_basis(&values, &samples, self.weights, down)?, self.rule.value, up)
            }
            Some(Evidence::Ratio { numerators, denominators, missing, is_share, .. }) => {
                let basis = ratio_basis(numerators, denominators, missing.len(), *is_share, filled(fill))?;
                test(basis, self.rule.value, up)
            }
            Some(Evidence::Quantile { p, samples, values, missing }) => {
                // The quantile is at most the limit exactly when at least p of the attempts are.
                let is_bad = if up { f64::NEG_INFINITY } else { f64::INFINITY };
                let extra = match fill {
                    Fill::LeftOut => None,
                    Fill::Bad => Some(is_bad),
                    Fill::Good => Some(-is_bad),
                };
                let extra: Vec<(u32, f64)> = extra.iter().flat_map(|&x| missing.iter().map(move |&s| (s, x))).collect();
                let rows = samples.iter().copied().zip(values.iter().copied()).chain(extra);
                let basis = within_basis(rows.collect(), self.rule)?;
                Ok(BoundTest { basis, threshold: *p, up: !up, is_quantile: true })
            }
            None => Err(Unbounded::Method(self.figure.method.clone())),
        }
    }
}

/// The bound on the worse or on the better side, as a reason.
fn confidence_bound(tested: &BoundTest, level: f64, is_worst: bool) -> ConfidenceBound {
    let direction = if tested.up == is_worst { Direction::AtLeast } else { Direction::AtMost };
    ConfidenceBound {
        bound: tested.bound(1.0 - level, is_worst).map(|bound| (direction, bound)),
        confidence: level,
        quantile: tested.quantile_share(),
    }
}
