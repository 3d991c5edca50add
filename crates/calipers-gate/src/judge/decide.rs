//! From what a figure rests on to a decision about its threshold.

use super::Mode;
use super::measured::worth;
use crate::policy::{Comparison, OnMissingValues, Rule, rule_text};
use calipers_core::{Evidence, Figure, Unit, Verdict, counted};
use calipers_stats::cluster::{ClusterEstimate, estimate_clustered};
use calipers_stats::proportion::Proportion;
use calipers_stats::quantile::SortedValues;
use calipers_stats::ratio::ratio_of_sums;
use calipers_stats::threshold_test::{SamplesMore, ThresholdTest};
use calipers_stats::weighted::{Linearisation, WeightedMean, weighted_mean};
use calipers_stats::{Confidence, Moments};

/// A threshold asked of a figure, with all that the answer may depend on.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
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

/// An answer.
#[derive(Clone, Debug)]
pub(super) struct Decided {
    pub(super) verdict: Verdict,
    pub(super) reason: String,
    /// How probable data this bad are on the threshold, where a fail was tested for.
    pub(super) p_fail: Option<f64>,
    pub(super) more: Option<u64>,
}

/// Beyond this many further samples, nobody takes them to decide a gate.
const MORE_MAX: u64 = 10_000;
/// Numbers this close are equal but for rounding.
const TIE: f64 = 1e-12;

impl Decided {
    pub(super) fn new(verdict: Verdict, reason: impl Into<String>) -> Self {
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
enum Fill {
    /// Nothing: it is left out.
    LeftOut,
    /// A failure, or the slowest.
    Bad,
    /// A success, or the fastest.
    Good,
}

/// What a bound is made from.
enum Basis {
    Exact(Proportion),
    Graded(Moments),
    Weighted(WeightedMean),
    Linear(Linearisation),
    Clustered(ClusterEstimate),
}

impl Asked<'_> {
    pub(super) fn decide(&self, mode: Mode) -> Decided {
        if self.unit == Unit::Rate && !self.is_share() {
            return Decided::new(Verdict::Undecided, "scores outside 0 to 1 make no share");
        }
        let value = match (&self.figure.value, mode) {
            (Ok(value), _) => *value,
            // More attempts than the quantile leaves out ran out of time: it is beyond any limit.
            (Err(_), Mode::Point) if self.is_timed_out() => f64::INFINITY,
            (Err(_), Mode::Confidence(level)) if self.is_timed_out() => return self.with_confidence(level),
            (Err(why), _) => return Decided::new(Verdict::Undecided, format!("undefined: {why}")),
        };
        match mode {
            Mode::Confidence(level) if !self.counts() => self.with_confidence(level),
            _ => self.by_estimate(value),
        }
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

    fn by_estimate(&self, value: f64) -> Decided {
        let shown = if value.is_infinite() { "longer than any limit".to_owned() } else { self.beside(value) };
        let rule = self.rule_text();
        // All means all, whatever they weigh.
        let holds_now = if self.counts() {
            self.is_unanimous().unwrap_or_else(|| holds(self.rule, value))
        } else {
            holds(self.rule, value)
        };
        if holds_now {
            let missing = self.missing_samples();
            let could_change = self.missing == OnMissingValues::Worst && !self.holds_at_worst();
            if missing > 0 && (self.counts() || could_change) {
                let them = if missing == 1 { "1 that has" } else { &format!("{missing} that have") };
                let reason = format!("{shown} of those scored is {rule}, but {them} no score could change that");
                return Decided::new(Verdict::Undecided, reason);
            }
            return Decided::new(Verdict::Pass, format!("{shown} is {rule}"));
        }
        match self.without_errors() {
            Some((errored, best)) if holds(self.rule, best) => {
                let best = self.beside(best);
                let them = counted(errored, "sample");
                let reason =
                    format!("{shown} is not {rule}, but it may be {best} but for {them} that ended in an error");
                Decided::new(Verdict::Undecided, reason)
            }
            _ => Decided::new(Verdict::Fail, format!("{shown} is not {rule}")),
        }
    }

    /// Whether every sample is at the end that the rule asks for, where there is one value a sample.
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
                let (values, samples) = filled_in(values, samples, missing, Some(end)).ok()?;
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

    fn rule_text(&self) -> String {
        format!("{} {}", self.rule.comparison.sign(), self.threshold_text())
    }

    /// The threshold as somebody wrote it, or rounded where nobody did.
    fn threshold_text(&self) -> String {
        const WRITTEN_MAX: usize = 6;
        let exact = rule_text("", &self.rule, self.unit);
        let exact = exact.trim_start().trim_start_matches(self.rule.comparison.sign()).trim_start();
        let decimals = exact.split_once('.').map_or(0, |(_, rest)| rest.chars().filter(char::is_ascii_digit).count());
        if decimals <= WRITTEN_MAX { exact.to_owned() } else { self.unit.show(self.rule.value) }
    }

    /// A number that is told from the threshold beside it.
    fn beside(&self, value: f64) -> String {
        self.unit.show_beside(value, self.rule.value)
    }

    fn missing_samples(&self) -> u64 {
        match self.evidence {
            Some(
                Evidence::Mean { missing, .. } | Evidence::Ratio { missing, .. } | Evidence::Quantile { missing, .. },
            ) => missing.len() as u64,
            None => self.figure.missing,
        }
    }

    /// How many samples ended in an error, and the share if all of them had gone well: what went wrong with the
    /// machinery is nobody's failure.
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

    fn with_confidence(&self, level: f64) -> Decided {
        if self.rule.comparison == Comparison::Equal {
            let reason = format!("no number of samples shows that it is exactly {}", self.threshold_text());
            return Decided::new(Verdict::Undecided, reason);
        }
        let alpha = 1.0 - level;
        let (bad, good) = self.fills();
        let (worst, best) = match (self.basis(bad, Fill::Bad), self.basis(good, Fill::Good)) {
            (Ok(worst), Ok(best)) => (worst, best),
            (Err(why), _) | (_, Err(why)) => return Decided::new(Verdict::Undecided, why),
        };
        let of_level = format!("with {} confidence", Unit::Rate.show(level));
        if worst.test(alpha).passes {
            let bound = self.bound_text(&worst, alpha, true);
            return Decided::new(Verdict::Pass, format!("{bound} {of_level}"));
        }
        let p_fail = best.p_fail();
        if p_fail <= alpha {
            // Whether it fails among so many gates is for whoever sees all of them to say.
            let bound = self.bound_text(&best, alpha, false);
            return Decided { p_fail: Some(p_fail), ..Decided::new(Verdict::Fail, format!("{bound} {of_level}")) };
        }
        let (reason, more) = self.undecided(&worst, &best, alpha);
        Decided { p_fail: Some(p_fail), more, ..Decided::new(Verdict::Undecided, reason) }
    }

    /// The one-sided bound at this level on the side that a threshold guards, with missing values as they are taken when
    /// gates are decided. A rule passes with confidence when this bound clears it.
    pub(super) fn bound(&self, level: f64) -> Result<f64, String> {
        let alpha = 1.0 - level;
        let (fill, _) = self.fills();
        if let Some(Evidence::Quantile { values, .. }) = self.evidence {
            return self.quantile_bound(values, fill, alpha);
        }
        let tested = self.basis(fill, Fill::Bad)?;
        let (lower, upper) = tested.bounds(alpha);
        (if tested.up { lower } else { upper }).ok_or_else(|| "the data do not bound it".to_owned())
    }

    /// The bounds on both sides at 1 − α each, whatever the rule: the lower one as when gates pass, the upper one as when they
    /// fail.
    pub(super) fn bounds_at(&self, alpha: f64) -> (Option<f64>, Option<f64>) {
        let (bad, good) = self.fills();
        let asked = |comparison| Asked { rule: Rule { comparison, value: 0.0 }, ..*self };
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
    fn quantile_bound(&self, values: &[f64], fill: Fill, alpha: f64) -> Result<f64, String> {
        let mut limits: Vec<f64> = values.iter().copied().filter(|x| x.is_finite()).collect();
        limits.sort_by(f64::total_cmp);
        let up = self.wants_more();
        let comparison = if up { Comparison::AtLeast } else { Comparison::AtMost };
        let passes = |&value: &f64| {
            let asked = Asked { rule: Rule { comparison, value }, ..*self };
            asked.basis(fill, Fill::Bad).is_ok_and(|tested| tested.test(alpha).passes)
        };
        let place = if up {
            limits.partition_point(passes).checked_sub(1)
        } else {
            Some(limits.partition_point(|limit| !passes(limit)))
        };
        let limit = place.and_then(|place| limits.get(place)).copied();
        limit.ok_or_else(|| format!("{} cannot bound it", counted(values.len(), "value")))
    }

    fn undecided(&self, worst: &Tested, best: &Tested, alpha: f64) -> (String, Option<u64>) {
        if let Some((n, needs)) = worst.cannot_pass(alpha) {
            let reason = match self.evidence {
                Some(Evidence::Quantile { values, missing, .. }) => {
                    // Attempts that are all alike count as one a sample.
                    let what = if (values.len() + missing.len()) as u64 == n { "attempt" } else { "sample" };
                    let (have, asked) = (counted(n, what), self.share_asked(worst));
                    format!("{have} cannot show that {asked}, even if all go well; {needs} are needed")
                }
                _ => {
                    let (have, rule) = (counted(n, "sample"), self.rule_text());
                    format!("even a perfect score of {have} cannot show {rule}; {needs} are needed")
                }
            };
            return (reason, Some(needs - n));
        }
        let missing = self.missing_samples();
        if missing > 0
            && self
                .basis(Fill::LeftOut, Fill::Bad)
                .is_ok_and(|as_is| as_is.test(alpha).passes || as_is.p_fail() <= alpha)
        {
            return (format!("the {} without a score could change the answer", counted(missing, "sample")), None);
        }
        let more = worst.more(alpha).filter(|more| *more > 0);
        let reason = match (worst.bound(alpha, true), best.bound(alpha, false)) {
            (Some(x), Some(y)) if worst.is_quantile => {
                let (low, high) = (
                    Unit::Rate.show_beside(x.min(y), worst.threshold),
                    Unit::Rate.show_beside(x.max(y), worst.threshold),
                );
                format!(
                    "it may be that only {low} or as many as {high} of the attempts are {}, and {}",
                    self.within(),
                    worst.have_to()
                )
            }
            (Some(low), Some(high)) => {
                format!("it may be anything between {} and {}", self.beside(low), self.beside(high))
            }
            (Some(low), None) if !worst.is_quantile => format!("it may be as bad as {}", self.beside(low)),
            _ => "the data do not bound it".to_owned(),
        };
        (reason, more)
    }

    /// What the bound says: `at least 96.1 %`, `at least 97 % of the attempts are within 5000 ms, and 95 % have to be`.
    fn bound_text(&self, tested: &Tested, alpha: f64, is_worst: bool) -> String {
        let Some(bound) = tested.bound(alpha, is_worst) else { return self.rule_text() };
        let side = if tested.up == is_worst { "at least" } else { "at most" };
        if !tested.is_quantile {
            return format!("{side} {}", self.beside(bound));
        }
        let share = Unit::Rate.show_beside(bound, tested.threshold);
        format!("{side} {share} of the attempts are {}, and {},", self.within(), tested.have_to())
    }

    /// The values that a limit of a quantile counts: `within 5000 ms`.
    fn within(&self) -> String {
        let side =
            if matches!(self.rule.comparison, Comparison::Below | Comparison::AtLeast) { "below" } else { "within" };
        format!("{side} {}", self.threshold_text())
    }

    /// What a limit of a quantile asks for: `95 % of the attempts are within 5000 ms`.
    fn share_asked(&self, tested: &Tested) -> String {
        let side = if tested.up { "" } else { "at most " };
        format!("{side}{} of the attempts are {}", Unit::Rate.show(tested.threshold), self.within())
    }

    fn wants_more(&self) -> bool {
        matches!(self.rule.comparison, Comparison::AtLeast | Comparison::Above | Comparison::Equal)
    }

    /// What the bounds are made from, with missing values taken for the worst or the best. What has to be rounded is rounded
    /// to the worse or to the better side.
    fn basis(&self, fill: Fill, rounding: Fill) -> Result<Tested, String> {
        let none = || format!("`{}` has no bound that a gate could rest on", self.figure.method);
        let up = self.wants_more();
        let filled = |fill: Fill| match fill {
            Fill::LeftOut => None,
            Fill::Bad => Some(if up { 0.0 } else { 1.0 }),
            Fill::Good => Some(if up { 1.0 } else { 0.0 }),
        };
        let test = |basis: Basis, threshold: f64, up: bool| Ok(Tested { basis, threshold, up, is_quantile: false });
        match self.evidence {
            Some(Evidence::Mean { samples, values, missing }) => {
                let (mut values, samples) = filled_in(values, samples, missing, filled(fill))?;
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
                Ok(Tested { basis, threshold: *p, up: !up, is_quantile: true })
            }
            None => Err(none()),
        }
    }
}

/// A basis with the threshold that is asked of it.
struct Tested {
    basis: Basis,
    threshold: f64,
    /// True when large is good.
    up: bool,
    /// True when the basis is the share of values within a limit.
    is_quantile: bool,
}

struct Outcome {
    passes: bool,
}

impl Tested {
    fn gate(&self, alpha: f64) -> Option<ThresholdTest> {
        if self.up {
            ThresholdTest::at_least(self.threshold, alpha).ok()
        } else {
            ThresholdTest::at_most(self.threshold, alpha).ok()
        }
    }

    fn test(&self, alpha: f64) -> Outcome {
        let passes = match (&self.basis, self.gate(alpha)) {
            (Basis::Exact(share), Some(gate)) => gate.judge(*share).verdict == Verdict::Pass,
            _ => {
                let (lower, upper) = self.bounds(alpha);
                if self.up {
                    lower.is_some_and(|x| x >= self.threshold)
                } else {
                    upper.is_some_and(|x| x <= self.threshold)
                }
            }
        };
        Outcome { passes }
    }

    /// The one-sided bounds at 1 − α each.
    fn bounds(&self, alpha: f64) -> (Option<f64>, Option<f64>) {
        let Ok(confidence) = Confidence::two_sided(1.0 - 2.0 * alpha) else { return (None, None) };
        let interval = match &self.basis {
            Basis::Exact(share) => Some(share.clopper_pearson(confidence)),
            Basis::Graded(moments) if moments.is_unit() => moments.unit_interval(confidence).ok(),
            // Scores that are all alike say nothing of how far others may lie.
            Basis::Graded(moments) if moments.is_constant() => None,
            Basis::Graded(moments) => moments.t_interval(confidence).ok(),
            Basis::Weighted(weighted) => weighted.unit_interval(confidence).ok(),
            Basis::Linear(linear) if linear.stderr == Ok(0.0) => None,
            Basis::Linear(linear) => linear.interval(confidence).ok(),
            Basis::Clustered(estimate) => estimate.interval(confidence).ok(),
        };
        interval.map_or((None, None), |interval| (interval.lower, interval.upper))
    }

    /// How probable data this bad are on the threshold.
    fn p_fail(&self) -> f64 {
        const ALPHA: f64 = 0.05;
        if let (Basis::Exact(share), Some(gate)) = (&self.basis, self.gate(ALPHA)) {
            return gate.judge(*share).p_fail;
        }
        let fails = |alpha: f64| {
            let (lower, upper) = self.bounds(alpha);
            if self.up {
                upper.is_some_and(|x| x <= self.threshold)
            } else {
                lower.is_some_and(|x| x >= self.threshold)
            }
        };
        smallest_alpha(fails)
    }

    /// The number of samples, and how many are needed, if even a perfect score could not pass.
    fn cannot_pass(&self, alpha: f64) -> Option<(u64, u64)> {
        let Basis::Exact(share) = &self.basis else { return None };
        let needs = self.gate(alpha)?.samples_to_pass().ok()?;
        let perfect = if self.up { share.failures() == 0 } else { share.successes() == 0 };
        (perfect && share.trials() < needs).then_some((share.trials(), needs))
    }

    /// About how many more samples would decide if things stayed as they are.
    fn more(&self, alpha: f64) -> Option<u64> {
        if let (Basis::Exact(share), Some(gate)) = (&self.basis, self.gate(alpha)) {
            return match gate.samples_more(*share, MORE_MAX) {
                SamplesMore::Enough(more) => Some(more),
                SamplesMore::NearThreshold { .. } => None,
            };
        }
        let (estimate, n) = match &self.basis {
            Basis::Exact(_) => return None,
            Basis::Graded(moments) => (moments.mean().ok()?, moments.count()),
            Basis::Weighted(weighted) => (weighted.mean.estimate, weighted.mean.units),
            Basis::Linear(linear) => (linear.estimate, linear.units),
            Basis::Clustered(clusters) => (clusters.mean, clusters.clusters),
        };
        let (lower, upper) = self.bounds(alpha);
        // The bound that has to move: towards the estimate, with the square root of the number of samples.
        let bound = if (estimate >= self.threshold) == self.up {
            if self.up { lower } else { upper }
        } else if self.up {
            upper
        } else {
            lower
        };
        let factor = (bound? - estimate) / (self.threshold - estimate);
        let needed = (n as f64 * factor * factor).ceil();
        (needed.is_finite() && needed - n as f64 <= MORE_MAX as f64).then(|| (needed as u64).saturating_sub(n).max(1))
    }

    /// The bound on the worse or on the better side.
    fn bound(&self, alpha: f64, is_worst: bool) -> Option<f64> {
        let (lower, upper) = self.bounds(alpha);
        if self.up == is_worst { lower } else { upper }
    }

    /// How many values a quantile asks for: `95 % have to be`.
    fn have_to(&self) -> String {
        let share = Unit::Rate.show(self.threshold);
        if self.up { format!("{share} have to be") } else { format!("at most {share} may be") }
    }
}

/// The smallest α at which something holds that holds for all larger ones; 1 if it does not hold at a half.
fn smallest_alpha(holds: impl Fn(f64) -> bool) -> f64 {
    const STEPS: usize = 30;
    let (mut low, mut high) = (0.0f64, 0.499);
    if !holds(high) {
        return 1.0;
    }
    for _ in 0..STEPS {
        let middle = if low == 0.0 { high / 4.0 } else { (low * high).sqrt() };
        if middle < 1e-9 {
            break;
        }
        if holds(middle) { high = middle } else { low = middle }
    }
    high
}

/// Values and their samples, with a value for each that is missing.
fn filled_in(
    values: &[f64],
    samples: &[u32],
    missing: &[u32],
    fill: Option<f64>,
) -> Result<(Vec<f64>, Vec<u32>), String> {
    let (mut values, mut samples) = (values.to_vec(), samples.to_vec());
    if let Some(fill) = fill.filter(|_| !missing.is_empty()) {
        if !values.iter().all(|x| (0.0..=1.0).contains(x)) {
            return Err(format!(
                "{} without a score, and nothing bounds what it could have been",
                counted(missing.len(), "sample")
            ));
        }
        values.extend(missing.iter().map(|_| fill));
        samples.extend(missing);
    }
    if values.is_empty() { Err("there is nothing to judge".to_owned()) } else { Ok((values, samples)) }
}

/// `down` says to which side successes are rounded where weighted samples are worth no whole number of them.
fn mean_basis(values: &[f64], samples: &[u32], weights: Option<&[f64]>, down: bool) -> Result<Basis, String> {
    let moments = Moments::from_slice(values);
    let weights: Vec<f64> = weights.map_or_else(Vec::new, |all| samples.iter().map(|&s| all[s as usize]).collect());
    if weights.windows(2).all(|pair| pair[0] == pair[1]) {
        let is_binary = moments.is_binary();
        return if is_binary { exact(moments.sum() as u64, moments.count()) } else { Ok(Basis::Graded(moments)) };
    }
    let weighted = weighted_mean(values, &weights, None).map_err(|why| format!("undefined: {why}"))?;
    if moments.is_binary() {
        // An exact test of as many equal samples as these are worth.
        let worth = worth(&weighted) as f64;
        let successes = weighted.mean.estimate * worth;
        let successes = if down { (successes + 1e-9).floor() } else { (successes - 1e-9).ceil() };
        return exact(successes.clamp(0.0, worth) as u64, worth as u64);
    }
    Ok(if moments.is_unit() { Basis::Weighted(weighted) } else { Basis::Linear(weighted.mean) })
}

fn exact(successes: u64, trials: u64) -> Result<Basis, String> {
    Proportion::new(successes, trials).map(Basis::Exact).map_err(|why| format!("undefined: {why}"))
}

fn ratio_basis(
    numerators: &[f64],
    denominators: &[f64],
    missing: usize,
    is_share: bool,
    fill: Option<f64>,
) -> Result<Basis, String> {
    let counts = is_share && denominators.iter().all(|&x| x == 1.0);
    let missing = fill.map_or(0, |_| missing as u64);
    if counts {
        let successes = numerators.iter().sum::<f64>() as u64 + fill.map_or(0, |x| x as u64 * missing);
        return exact(successes, denominators.len() as u64 + missing);
    }
    if missing > 0 {
        return Err(format!(
            "{} without a value, and nothing bounds what it could have been",
            counted(missing, "sample")
        ));
    }
    ratio_of_sums(numerators, denominators, None)
        .map(|ratio| Basis::Linear(ratio.ratio))
        .map_err(|why| format!("undefined: {why}"))
}

/// The share of values within a limit; attempts of one sample go together.
fn within_basis(mut rows: Vec<(u32, f64)>, rule: Rule) -> Result<Basis, String> {
    rows.sort_by_key(|row| row.0);
    let within = |x: f64| {
        f64::from(u8::from(if matches!(rule.comparison, Comparison::Below | Comparison::AtLeast) {
            x < rule.value
        } else {
            x <= rule.value
        }))
    };
    let values: Vec<f64> = rows.iter().map(|row| within(row.1)).collect();
    let samples: Vec<u32> = rows.iter().map(|row| row.0).collect();
    let each = Moments::from_slice(&values);
    if !samples.windows(2).any(|pair| pair[0] == pair[1]) {
        return exact(each.sum() as u64, each.count());
    }
    if each.is_constant() {
        // Attempts that are all alike may be copies of one another: count samples.
        let distinct = samples.chunk_by(|a, b| a == b).count() as u64;
        return exact(if each.sum() > 0.0 { distinct } else { 0 }, distinct);
    }
    estimate_clustered(&values, &samples).map(Basis::Clustered).map_err(|why| format!("undefined: {why}"))
}
