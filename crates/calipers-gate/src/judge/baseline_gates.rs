//! The run compared with a baseline.

use super::bound_test::BoundTest;
use super::measurement::{Measurement, Metrics};
use super::threshold_question::{AllowedErrors, Judgement, TIE, holds};
use super::units::{TermLimits, UnitRows, Units};
use super::{Fault, Judge, PendingGate};
use crate::limits::LimitEnd;
use crate::policy::{
    BaselineMode, BaselineRule, Comparison, Mistake, OnMissingValues, Rule, Span, Spanned, WrittenUnit, pass_rate_name,
};
use crate::{
    Baseline, BaselineDifference, BaselineMetric, BaselineReason, BaselineResult, BaselineScenario, BeyondLimit,
    GateKind, GateResult, GateRule, MetricDifference, MissingLimit, Mode, SampleUnit,
};
use calipers_core::{Caveat, Evidence, Figure, GateCaveat, ScenarioOutcome, Tally, Unit, Verdict};
use calipers_stats::bounded_ratio::Term;
use calipers_stats::threshold_test::{Direction, is_within};
use calipers_stats::weighted::weighted_mean;
use calipers_stats::{Confidence, Interval};
use indexmap::IndexMap;
use std::collections::BTreeSet;
use std::rc::Rc;

/// The name of the method in results.
const RECORDED_METHOD: &str = "difference to the recorded value, between the ends of both intervals";

/// How often the truth of a recorded metric may lie beyond one end of its interval, which is a 95 % one.
const RECORDED_TAIL: f64 = 0.025;

/// The name of the method in results.
const PAIRED_METHOD: &str = "mean of differences paired by scenario";

impl Judge<'_> {
    /// Compares with the baseline, and adds the gates that the policy asks for.
    pub(super) fn baseline(
        &self,
        metrics: &mut Metrics,
        gates: &mut Vec<PendingGate>,
    ) -> Result<Option<BaselineResult>, Fault> {
        let rule = self.policy.baseline.as_ref();
        let Some((baseline, age_days)) = self.case.baseline else {
            gates.extend(rule.map(|rule| uncompared_gate(rule, BaselineReason::NotGiven)));
            return Ok(None);
        };
        let mut differences = Vec::new();
        for name in self.compared(baseline, rule, metrics)? {
            let measured = metrics.get(self, &name)?;
            let recorded = &baseline.metrics[&name.value];
            let recorded = BaselineMetric { value: Baseline::settle(recorded.value), ..recorded.clone() };
            let pairs = self.pairs(&name.value, &measured, baseline);
            let difference = self.difference(&measured, &recorded, pairs.as_ref());
            if let Some(rule) = rule {
                gates.push(self.baseline_gate(rule, &name, &measured, &recorded, &difference, pairs.as_ref())?);
            }
            let recorded = recorded.value;
            differences.push(MetricDifference {
                metric: name.value.clone(),
                baseline: recorded,
                candidate: measured.value(),
                difference,
                unit: measured.unit,
                gate: None,
            });
        }
        if differences.is_empty() {
            gates.extend(rule.map(|rule| uncompared_gate(rule, BaselineReason::NoCommonMetric)));
        }
        Ok(Some(self.changes(baseline, age_days, differences)))
    }

    /// The metrics to compare: those that the rule names, or all that both have.
    fn compared(
        &self,
        baseline: &Baseline,
        rule: Option<&BaselineRule>,
        metrics: &Metrics,
    ) -> Result<Vec<Spanned<String>>, Fault> {
        let named = rule.map_or(&[][..], |rule| &rule.metrics);
        if let Some(unknown) = named.iter().find(|name| !baseline.metrics.contains_key(&name.value)) {
            let known: Vec<&str> = baseline.metrics.keys().map(String::as_str).collect();
            return Err(Mistake::new(format!("the baseline has no `{}`", unknown.value))
                .at(&unknown.span)
                .hint(format!("it has {}; record it again to have more", known.join(", ")))
                .into());
        }
        if !named.is_empty() {
            return Ok(named.to_vec());
        }
        let mut both: Vec<&str> = metrics.iter().map(|(name, _)| name).collect();
        both.retain(|name| baseline.metrics.contains_key(*name));
        if both.is_empty() && baseline.metrics.contains_key(pass_rate_name()) {
            // A policy about single scenarios names no metric.
            both.push(pass_rate_name());
        }
        let place = rule.map_or_else(Span::nowhere, |rule| rule.margin.span.clone());
        Ok(both.into_iter().map(|name| Spanned { value: name.to_owned(), span: place.clone() }).collect())
    }

    /// The values of scenarios that both have, now and then, with the weight of each.
    fn pairs(&self, name: &str, measured: &Measurement, baseline: &Baseline) -> Option<Pairs> {
        let Evidence::Mean { samples, values, missing } = measured.evidence.as_ref()? else { return None };
        let lower_is_better = measured.direction == Some(Direction::AtMost);
        let comparison = if lower_is_better { Comparison::AtMost } else { Comparison::AtLeast };
        let rule = Rule { comparison, value: 0.0 };
        let end = |end| measured.ranges.value.end(end, Some(rule));
        let range = end(LimitEnd::Least).and_then(|low| Ok((low, end(LimitEnd::Most)?)));
        let mut pairs = Pairs { range, ..Pairs::default() };
        let seen = samples.iter().copied().zip(values.iter().copied().map(Some));
        for (sample, value) in seen.chain(missing.iter().map(|&sample| (sample, None))) {
            let id = self.samples.id(sample).to_string();
            let Some(then) = baseline.scenarios.get(&id) else { continue };
            // What did not run has neither begun to fail nor begun to pass.
            let is_whole = !self.errored[sample as usize] && measured.partly.get(sample).is_none();
            let known_now = value.filter(|_| is_whole);
            let before = then.values.get(name).copied().or_else(|| share_passed(measured, then));
            let before = before.filter(|_| then.outcome != ScenarioOutcome::Errored);
            if let (Ok((low, high)), Some(before)) = (&pairs.range, before)
                && !(*low..=*high).contains(&before)
            {
                let (end, limit) = if before < *low { (LimitEnd::Least, *low) } else { (LimitEnd::Most, *high) };
                let exceeded = Some(BeyondLimit { sample: id, value: before, limit });
                pairs.range = Err(MissingLimit { name: measured.ranges.value.name().to_owned(), end, exceeded });
            }
            let weight = self.weights().map_or(1.0, |weights| weights[sample as usize]);
            if let (Some(value), Some(before)) = (known_now, before) {
                pairs.samples.push(sample);
                pairs.differences.push(Baseline::settle(value) - Baseline::settle(before));
                pairs.weights.push(weight);
            } else if let Ok((low, high)) = pairs.range {
                // An error counts as a failure before a gate passes, as elsewhere, and as a success before it fails.
                let filled = |end: f64| value.map_or(end, |value| measured.partly.fill(sample, value, end));
                let is_partly = measured.partly.get(sample).is_some();
                let (least, most) = match value {
                    Some(value) if is_whole => (value, value),
                    _ if is_partly => (filled(low), filled(high)),
                    Some(value) if !lower_is_better => (value, high),
                    _ => (low, high),
                };
                let difference = (least - before.unwrap_or(high), most - before.unwrap_or(low));
                pairs.unknown.push(UnknownPair { sample, weight, difference });
            }
        }
        (!pairs.differences.is_empty()).then_some(pairs)
    }

    fn difference(&self, measured: &Measurement, recorded: &BaselineMetric, pairs: Option<&Pairs>) -> Figure {
        let confidence = self.context.confidence;
        if let Some(pairs) = pairs {
            let tally = Tally { n: pairs.differences.len() as u64, missing: 0 };
            let mean = weighted_mean(&pairs.differences, &pairs.weights, None);
            let value = mean.as_ref().map(|mean| mean.mean.estimate).map_err(|&why| why);
            let figure = Figure::statistic(value, f64::NAN, tally, PAIRED_METHOD);
            // By estimate, the interval is only shown; with confidence, it decides, and t does not hold for skewed differences.
            let bound = |filled, is_lower| {
                let ends = self.test_of_pairs(pairs, filled, 0.0, true)?.interval(confidence)?;
                Some(if is_lower { (ends.lower, ends.method) } else { (ends.upper, ends.method) })
            };
            let (low, high) = self.fills_of_pairs(false);
            let bounded = bound(low, true).zip(bound(high, false)).map(|((lower, method), (upper, _))| Interval {
                lower,
                upper,
                confidence,
                method,
            });
            let shown = match self.mode {
                Mode::Point => bounded.or_else(|| pairs.t_interval(confidence)),
                Mode::Confidence(_) => bounded,
            };
            return figure.with_interval(shown);
        }
        let mut figure = measured.figure.clone();
        figure.value = figure.value.map(|value| Baseline::settle(value) - recorded.value);
        figure.method = RECORDED_METHOD.into();
        // The recorded value is one of a run too, with an error of its own.
        figure.interval = figure.interval.zip(recorded.interval).map(|(now, (low, high))| Interval {
            lower: now.lower.map(|x| x - high),
            upper: now.upper.map(|x| x - low),
            ..now
        });
        figure.caveats.retain(|caveat| !matches!(caveat, Caveat::PerfectScore { .. }));
        figure
    }

    fn baseline_gate(
        &self,
        rule: &BaselineRule,
        name: &Spanned<String>,
        measured: &Rc<Measurement>,
        recorded: &BaselineMetric,
        difference: &Figure,
        pairs: Option<&Pairs>,
    ) -> Result<PendingGate, Fault> {
        let value_then = recorded.value;
        let margin = margin(rule, measured, value_then)?;
        let lower_is_better = measured.direction == Some(Direction::AtMost);
        let sign = if lower_is_better { -1.0 } else { 1.0 };
        let comparison = if lower_is_better { Comparison::AtMost } else { Comparison::AtLeast };
        let kind = GateKind::Baseline(rule.mode);
        if rule.mode == BaselineMode::Above {
            let by = sign * margin;
            let threshold = Rule { comparison, value: clamp(value_then + by, measured.unit) };
            let judgement = self.question(measured, threshold, measured.unit).decide(AllowedErrors::of(self.mode));
            let mut gate = self.gate(kind, name.value.clone(), rule.level, threshold, measured, judgement);
            gate.result.rule = GateRule::Above { rule: threshold, baseline: value_then, margin };
            return Ok(gate);
        }
        let has_scenarios = self.case.baseline.is_some_and(|(baseline, _)| !baseline.scenarios.is_empty());
        let is_by_scenario = has_scenarios && matches!(measured.evidence, Some(Evidence::Mean { .. }));
        let judgement = match pairs {
            _ if !are_shares_if_rates(measured, recorded, pairs) => {
                Judgement::new(Verdict::Undecided, BaselineReason::ScoresOutsideUnit)
            }
            Some(pairs) => self.not_worse(difference, margin, lower_is_better, measured.unit, pairs),
            None if is_by_scenario => Judgement::new(Verdict::Undecided, BaselineReason::NoCommonScenario),
            None => self.not_worse_than_recorded(measured, recorded, margin, comparison),
        };
        let value = difference.value.as_ref().ok().copied();
        let mut gate =
            PendingGate::new(kind, name.value.clone(), GateRule::NotWorse { baseline: value_then, margin }, judgement);
        gate.result = GateResult {
            level: rule.level,
            threshold: Some(Rule { comparison, value: -sign * margin }),
            figure: Some(difference.clone()),
            unit: measured.unit,
            margin: value.map(|value| sign * value + margin),
            more_samples: None,
            ..gate.result
        };
        Ok(gate)
    }

    /// Compares with the recorded value of a metric that has none per scenario. In confidence mode that value has an error too: before
    /// the gate passes, the baseline was as good as its interval allows, and before it fails, as bad. What the interval may miss is
    /// taken off the errors that are allowed.
    fn not_worse_than_recorded(
        &self,
        measured: &Rc<Measurement>,
        recorded: &BaselineMetric,
        margin: f64,
        comparison: Comparison,
    ) -> Judgement {
        let lower_is_better = comparison == Comparison::AtMost;
        let limit = |then: f64| {
            let value = if lower_is_better { then + margin } else { then - margin };
            self.question(measured, Rule { comparison, value: clamp(value, measured.unit) }, measured.unit)
        };
        let Some(errors) = AllowedErrors::of(self.mode) else { return limit(recorded.value).decide(None) };
        let Some((low, high)) = recorded.interval else {
            return Judgement::new(Verdict::Undecided, BaselineReason::NoRecordedInterval);
        };
        let left = errors.pass - RECORDED_TAIL;
        if left <= TIE {
            let confidence = 1.0 - errors.pass;
            return Judgement::new(Verdict::Undecided, BaselineReason::RecordedIntervalTooNarrow { confidence });
        }
        let (best, worst) = if lower_is_better { (low, high) } else { (high, low) };
        let left = AllowedErrors { pass: left, fail: left };
        let strict = limit(best).decide(Some(left));
        let mut judgement = match strict.verdict {
            Verdict::Pass => strict,
            _ => match limit(worst).decide(Some(left)) {
                failed if failed.verdict == Verdict::Fail => failed,
                open => Judgement { verdict: Verdict::Undecided, p_fail: open.p_fail, ..strict },
            },
        };
        judgement.more = None;
        judgement.p_fail = judgement.p_fail.map(|p| (p + RECORDED_TAIL).min(1.0));
        judgement
    }

    fn not_worse(
        &self,
        difference: &Figure,
        margin: f64,
        lower_is_better: bool,
        unit: Unit,
        pairs: &Pairs,
    ) -> Judgement {
        let Ok(value) = difference.value else {
            return Judgement::new(Verdict::Undecided, BaselineReason::Undefined);
        };
        let (ran, recorded) =
            (pairs.differences.len(), self.case.baseline.map_or(0, |(baseline, _)| baseline.scenarios.len()));
        if ran * 2 < recorded {
            return Judgement::new(Verdict::Undecided, BaselineReason::FewRan { ran, recorded });
        }
        let direction = if lower_is_better { Direction::AtMost } else { Direction::AtLeast };
        let sign = if lower_is_better { -1.0 } else { 1.0 };
        let reason = |bounds| {
            let scenarios = difference.n;
            BaselineReason::Difference(BaselineDifference {
                difference: value,
                unit,
                direction,
                scenarios,
                margin,
                bounds,
                unknown: if self.mode == Mode::Point { 0 } else { pairs.unknown.len() as u64 },
            })
        };
        let rule = Rule { comparison: Comparison::AtLeast, value: -margin };
        let Mode::Confidence(level) = self.mode else {
            let verdict = if holds(rule, sign * value) { Verdict::Pass } else { Verdict::Fail };
            return Judgement::new(verdict, reason(None));
        };
        if let Err(missing) = &pairs.range {
            return Judgement::new(Verdict::Undecided, BaselineReason::NoLimit(missing.clone()));
        }
        let (bad, good) = self.fills_of_pairs(lower_is_better);
        let test = |filled| self.test_of_pairs(pairs, filled, -sign * margin, !lower_is_better);
        let (Some(worst), Some(best)) = (test(bad), test(good)) else {
            return Judgement::new(Verdict::Undecided, BaselineReason::TooFewToBound);
        };
        let alpha = 1.0 - level;
        let p_fail = best.p_fail();
        let verdict = if worst.passes(alpha) {
            Verdict::Pass
        } else if is_within(p_fail, alpha) {
            Verdict::Fail
        } else {
            Verdict::Undecided
        };
        let (low, high) = if lower_is_better { (best, worst) } else { (worst, best) };
        let bounds = low.one_bound(alpha, true).zip(high.one_bound(alpha, false));
        Judgement { p_fail: Some(p_fail), ..Judgement::new(verdict, reason(bounds)) }
    }

    /// What scenarios with an unknown difference are taken for before a gate passes, and before it fails.
    fn fills_of_pairs(&self, lower_is_better: bool) -> (PairFill, PairFill) {
        let (bad, good) =
            if lower_is_better { (PairFill::Most, PairFill::Least) } else { (PairFill::Least, PairFill::Most) };
        match self.policy.missing {
            OnMissingValues::Worst => (bad, good),
            OnMissingValues::Failed => (bad, bad),
            OnMissingValues::AtRandom | OnMissingValues::Excluded => (PairFill::LeftOut, PairFill::LeftOut),
        }
    }

    /// The mean difference beside a threshold, with samples or clusters as the units.
    fn test_of_pairs(&self, pairs: &Pairs, fill: PairFill, threshold: f64, up: bool) -> Option<BoundTest> {
        let (low, high) = pairs.range.as_ref().ok()?;
        let term = |difference: f64, weight: f64| Term::new(weight * difference, weight);
        let known = pairs.differences.iter().zip(&pairs.weights).map(|(&x, &weight)| term(x, weight));
        let unknown = pairs.unknown.iter().filter_map(|pair| {
            let (least, most) = pair.difference;
            let difference = match fill {
                PairFill::LeftOut => return None,
                PairFill::Least => least,
                PairFill::Most => most,
            };
            Some((pair.sample, term(difference, pair.weight)))
        });
        let rows = UnitRows {
            rows: pairs.samples.iter().copied().zip(known).chain(unknown).collect(),
            epochs: Vec::new(),
            limits: TermLimits::Within((Some(low - high), Some(high - low))),
        };
        // A baseline has no attempts to pair, so those of a sample are one piece of evidence here too.
        let (units, unit) = match self.units() {
            units @ Units::Clusters(_) => (units, SampleUnit::Clusters),
            _ => (Units::Samples, SampleUnit::Samples),
        };
        Some(BoundTest::new(rows.ratio(units).ok()?, threshold, up, self.policy.looks, unit))
    }

    /// Which scenarios changed, came or went.
    fn changes(
        &self,
        baseline: &Baseline,
        age_days: Option<f64>,
        differences: Vec<MetricDifference>,
    ) -> BaselineResult {
        let mut result = BaselineResult {
            source: baseline.source.clone(),
            recorded: baseline.date.clone(),
            age_days,
            differences,
            newly_failing: Vec::new(),
            newly_passing: Vec::new(),
            added: Vec::new(),
            removed: Vec::new(),
        };
        let mut seen = BTreeSet::new();
        for scenario in self.summaries.iter() {
            let id = self.id(&scenario);
            match baseline.scenarios.get(&id) {
                None => result.added.push(id.clone()),
                // A scenario that did not run, then or now, has not changed.
                Some(then) => match (then.outcome, scenario.outcome) {
                    (ScenarioOutcome::Passed, ScenarioOutcome::Failed) => {
                        result.newly_failing.push(id.clone());
                    }
                    (ScenarioOutcome::Failed, ScenarioOutcome::Passed) => {
                        result.newly_passing.push(id.clone());
                    }
                    _ => {}
                },
            }
            seen.insert(id);
        }
        result.removed = baseline.scenarios.keys().filter(|id| !seen.contains(*id)).cloned().collect();
        result
    }
}

/// A scenario that both have, and of which at least one lacks a value: an error on the way, or no score.
struct UnknownPair {
    sample: u32,
    weight: f64,
    /// The least and the greatest that the difference can be.
    difference: (f64, f64),
}

/// What scenarios with an unknown difference are taken for.
#[derive(Clone, Copy)]
enum PairFill {
    LeftOut,
    Least,
    Most,
}

/// Differences of the scenarios that both have.
struct Pairs {
    samples: Vec<u32>,
    differences: Vec<f64>,
    weights: Vec<f64>,
    unknown: Vec<UnknownPair>,
    /// The least and the greatest value of a scenario, now and then.
    range: Result<(f64, f64), MissingLimit>,
}

impl Default for Pairs {
    fn default() -> Self {
        let (samples, differences, weights, unknown) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { samples, differences, weights, unknown, range: Ok((0.0, 1.0)) }
    }
}

impl Pairs {
    fn t_interval(&self, confidence: Confidence) -> Option<Interval> {
        let mean = weighted_mean(&self.differences, &self.weights, None).ok()?.mean;
        mean.interval(confidence).ok().filter(|_| mean.stderr.is_ok_and(|error| error > 0.0))
    }
}

/// False for rates of scores that are no shares, now or in the baseline.
fn are_shares_if_rates(measured: &Measurement, recorded: &BaselineMetric, pairs: Option<&Pairs>) -> bool {
    let is_beyond = |pairs: &Pairs| matches!(&pairs.range, Err(missing) if missing.exceeded.is_some());
    measured.unit != Unit::Rate
        || measured.is_share_if_rate() && (0.0..=1.0).contains(&recorded.value) && !pairs.is_some_and(is_beyond)
}

/// The margin in the unit of a metric; a percentage of anything but a rate is one of the baseline's value.
fn margin(rule: &BaselineRule, measured: &Measurement, recorded: f64) -> Result<f64, Fault> {
    let written = &rule.margin;
    if written.unit == Some(WrittenUnit::Percent) && measured.unit != Unit::Rate {
        return Ok(written.number / 100.0 * recorded.abs());
    }
    Ok(written.amount_in(measured.unit, "margin")?)
}

fn clamp(value: f64, unit: Unit) -> f64 {
    if unit == Unit::Rate { value.clamp(0.0, 1.0) } else { value }
}

/// The gate of a rule that has nothing to compare.
fn uncompared_gate(rule: &BaselineRule, reason: BaselineReason) -> PendingGate {
    let judgement = Judgement::new(Verdict::Undecided, reason);
    let mut gate = PendingGate::new(GateKind::Baseline(rule.mode), "baseline", GateRule::HasBaseline, judgement);
    gate.result.level = rule.level;
    gate
}

/// What to know about a baseline.
pub(super) fn caveats(judge: &Judge<'_>, baseline: &Baseline, age: Option<f64>) -> Vec<GateCaveat> {
    let mut caveats = Vec::new();
    let rule = judge.policy.baseline.as_ref();
    let limit = rule.and_then(|rule| rule.max_age_days).unwrap_or(Baseline::STALE_DAYS);
    caveats.extend(age.filter(|age| *age > limit).map(|days| GateCaveat::StaleBaseline { days }));
    // A day's grace: it is tomorrow already in some places.
    if let (Some(days), Some(date)) = (age.map(|age| -age).filter(|ahead| *ahead > 1.0), &baseline.date) {
        caveats.push(GateCaveat::FutureBaseline { date: date.clone(), days });
    }
    let hash = &judge.case.provenance.policy_hash;
    if baseline.policy_hash.as_ref().is_some_and(|recorded| recorded != hash) {
        caveats.push(GateCaveat::BaselinePolicy);
    }
    if rule.is_some_and(|rule| rule.mode == BaselineMode::Above) {
        caveats.push(GateCaveat::AboveBaseline);
    }
    caveats
}

/// What is kept of a run: the metrics that the policy asks for, and the outcome of each scenario.
pub(super) fn record(judge: &Judge<'_>, metrics: &Metrics) -> Baseline {
    let mut baseline = Baseline {
        tool: judge.case.provenance.tool.clone(),
        policy_hash: Some(judge.case.provenance.policy_hash.clone()).filter(|hash| !hash.is_empty()),
        files: judge.case.provenance.files.clone(),
        model: judge.case.provenance.model.clone(),
        reducer: Some(judge.reducer.name().to_owned()),
        ..Baseline::default()
    };
    for scenario in judge.summaries.iter() {
        let outcomes = &judge.scenarios.outcomes()[scenario.attempts()];
        let entry = BaselineScenario {
            outcome: scenario.outcome,
            passed: outcomes.iter().filter(|outcome| **outcome == ScenarioOutcome::Passed).count() as u32,
            attempts: outcomes.len() as u32,
            values: IndexMap::new(),
        };
        baseline.scenarios.insert(judge.id(&scenario), entry);
    }
    for (name, measured) in metrics.iter() {
        let Some(value) = measured.value().map(Baseline::settle) else { continue };
        let interval = measured.figure.interval.as_ref().and_then(|interval| interval.lower.zip(interval.upper));
        let interval = interval.map(|(lower, upper)| (Baseline::settle(lower), Baseline::settle(upper)));
        baseline.metrics.insert(name.to_owned(), BaselineMetric { value, n: measured.figure.n, interval });
        let Some(Evidence::Mean { samples, values, .. }) = &measured.evidence else { continue };
        for (&sample, &value) in samples.iter().zip(values) {
            let Some(entry) = baseline.scenarios.get_mut(&judge.samples.id(sample).to_string()) else { continue };
            // The share of attempts that passed is known already, unless they were reduced in another way.
            if share_passed(measured, entry).is_none_or(|share| Baseline::settle(share) != Baseline::settle(value)) {
                entry.values.insert(name.to_owned(), Baseline::settle(value));
            }
        }
    }
    baseline
}

/// The share of a scenario's attempts that passed, for metrics that are means of it.
fn share_passed(measured: &Measurement, scenario: &BaselineScenario) -> Option<f64> {
    measured.is_pass_share.then(|| f64::from(scenario.passed) / f64::from(scenario.attempts.max(1)))
}
