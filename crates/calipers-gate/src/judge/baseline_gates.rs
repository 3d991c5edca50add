//! The run compared with a baseline.

use super::bound_test::BoundTest;
use super::measurement::{Measurement, Metrics};
use super::threshold_question::{AllowedErrors, Judgement, holds};
use super::units::{TermLimits, UnitRows, Units};
use super::{Fault, Judge, PendingGate};
use crate::limits::LimitEnd;
use crate::policy::{
    BaselineMode, BaselineRule, Comparison, Mistake, Rule, Span, Spanned, WrittenUnit, pass_rate_name,
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
const RECORDED_METHOD: &str = "difference to the recorded value, which is taken as exact";

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
            let recorded = Baseline::settle(baseline.metrics[&name.value].value);
            let pairs = self.pairs(&name.value, &measured, baseline);
            let difference = self.difference(&measured, recorded, pairs.as_ref());
            if let Some(rule) = rule {
                gates.push(self.baseline_gate(rule, &name, &measured, recorded, &difference, pairs.as_ref())?);
            }
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
        let Evidence::Mean { samples, values, .. } = measured.evidence.as_ref()? else { return None };
        let comparison =
            if measured.direction == Some(Direction::AtMost) { Comparison::AtMost } else { Comparison::AtLeast };
        let rule = Rule { comparison, value: 0.0 };
        let end = |end| measured.ranges.value.end(end, Some(rule));
        let range = end(LimitEnd::Least).and_then(|low| Ok((low, end(LimitEnd::Most)?)));
        let mut pairs = Pairs { range, ..Pairs::default() };
        for (&sample, &value) in samples.iter().zip(values) {
            let id = self.samples.id(sample).to_string();
            let Some(then) = baseline.scenarios.get(&id) else { continue };
            // What did not run has neither begun to fail nor begun to pass.
            if self.errored[sample as usize] {
                continue;
            }
            let Some(before) = then.values.get(name).copied().or_else(|| share_passed(measured, then)) else {
                continue;
            };
            if let Ok((low, high)) = pairs.range
                && !(low..=high).contains(&before)
            {
                let (end, limit) = if before < low { (LimitEnd::Least, low) } else { (LimitEnd::Most, high) };
                let exceeded = Some(BeyondLimit { sample: id, value: before, limit });
                pairs.range = Err(MissingLimit { name: measured.ranges.value.name().to_owned(), end, exceeded });
            }
            pairs.samples.push(sample);
            pairs.differences.push(Baseline::settle(value) - Baseline::settle(before));
            pairs.weights.push(self.weights().map_or(1.0, |weights| weights[sample as usize]));
        }
        (!pairs.differences.is_empty()).then_some(pairs)
    }

    fn difference(&self, measured: &Measurement, recorded: f64, pairs: Option<&Pairs>) -> Figure {
        let confidence = self.context.confidence;
        if let Some(pairs) = pairs {
            let tally = Tally { n: pairs.differences.len() as u64, missing: 0 };
            let mean = weighted_mean(&pairs.differences, &pairs.weights, None);
            let value = mean.as_ref().map(|mean| mean.mean.estimate).map_err(|&why| why);
            let figure = Figure::statistic(value, f64::NAN, tally, PAIRED_METHOD);
            // By estimate, the interval is only shown; with confidence, it decides, and t does not hold for skewed differences.
            let bounded = self.test_of_pairs(pairs, 0.0, true).and_then(|test| test.interval(confidence));
            let shown = match self.mode {
                Mode::Point => bounded.or_else(|| pairs.t_interval(confidence)),
                Mode::Confidence(_) => bounded,
            };
            return figure.with_interval(shown);
        }
        let mut figure = measured.figure.clone();
        figure.value = figure.value.map(|value| Baseline::settle(value) - recorded);
        figure.method = RECORDED_METHOD.into();
        if let Some(interval) = &mut figure.interval {
            interval.lower = interval.lower.map(|x| x - recorded);
            interval.upper = interval.upper.map(|x| x - recorded);
        }
        figure.caveats.retain(|caveat| !matches!(caveat, Caveat::PerfectScore { .. }));
        figure
    }

    fn baseline_gate(
        &self,
        rule: &BaselineRule,
        name: &Spanned<String>,
        measured: &Rc<Measurement>,
        recorded: f64,
        difference: &Figure,
        pairs: Option<&Pairs>,
    ) -> Result<PendingGate, Fault> {
        let margin = margin(rule, measured, recorded)?;
        let lower_is_better = measured.direction == Some(Direction::AtMost);
        let sign = if lower_is_better { -1.0 } else { 1.0 };
        let comparison = if lower_is_better { Comparison::AtMost } else { Comparison::AtLeast };
        let kind = GateKind::Baseline(rule.mode);
        if rule.mode == BaselineMode::Above {
            let by = sign * margin;
            let threshold = Rule { comparison, value: clamp(recorded + by, measured.unit) };
            let judgement = self.question(measured, threshold, measured.unit).decide(AllowedErrors::of(self.mode));
            let mut gate = self.gate(kind, name.value.clone(), rule.level, threshold, measured, judgement);
            gate.result.rule = GateRule::Above { rule: threshold, baseline: recorded, margin };
            return Ok(gate);
        }
        let has_scenarios = self.case.baseline.is_some_and(|(baseline, _)| !baseline.scenarios.is_empty());
        let is_by_scenario = has_scenarios && matches!(measured.evidence, Some(Evidence::Mean { .. }));
        let judgement = match pairs {
            Some(pairs) => self.not_worse(difference, margin, lower_is_better, measured.unit, pairs),
            None if is_by_scenario => Judgement::new(Verdict::Undecided, BaselineReason::NoCommonScenario),
            None => {
                let limit = Rule { comparison, value: clamp(recorded - sign * margin, measured.unit) };
                self.question(measured, limit, measured.unit).decide(AllowedErrors::of(self.mode))
            }
        };
        let value = difference.value.as_ref().ok().copied();
        let mut gate =
            PendingGate::new(kind, name.value.clone(), GateRule::NotWorse { baseline: recorded, margin }, judgement);
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
        let Some(test) = self.test_of_pairs(pairs, -sign * margin, !lower_is_better) else {
            return Judgement::new(Verdict::Undecided, BaselineReason::TooFewToBound);
        };
        let alpha = 1.0 - level;
        let p_fail = test.p_fail();
        let verdict = if test.passes(alpha) {
            Verdict::Pass
        } else if is_within(p_fail, alpha) {
            Verdict::Fail
        } else {
            Verdict::Undecided
        };
        let bounds = test.one_bound(alpha, true).zip(test.one_bound(alpha, false));
        Judgement { p_fail: Some(p_fail), ..Judgement::new(verdict, reason(bounds)) }
    }

    /// The mean difference beside a threshold, with samples or clusters as the units.
    fn test_of_pairs(&self, pairs: &Pairs, threshold: f64, up: bool) -> Option<BoundTest> {
        let (low, high) = pairs.range.as_ref().ok()?;
        let terms = pairs.differences.iter().zip(&pairs.weights).map(|(&x, &weight)| Term::new(weight * x, weight));
        let rows = UnitRows {
            rows: pairs.samples.iter().copied().zip(terms).collect(),
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
        for scenario in &self.summaries {
            match baseline.scenarios.get(&scenario.id) {
                None => result.added.push(scenario.id.clone()),
                // A scenario that did not run, then or now, has not changed.
                Some(then) => match (then.outcome, scenario.outcome) {
                    (ScenarioOutcome::Passed, ScenarioOutcome::Failed) => {
                        result.newly_failing.push(scenario.id.clone());
                    }
                    (ScenarioOutcome::Failed, ScenarioOutcome::Passed) => {
                        result.newly_passing.push(scenario.id.clone());
                    }
                    _ => {}
                },
            }
            seen.insert(&scenario.id);
        }
        result.removed = baseline.scenarios.keys().filter(|id| !seen.contains(id)).cloned().collect();
        result
    }
}

/// Differences of the scenarios that both have.
struct Pairs {
    samples: Vec<u32>,
    differences: Vec<f64>,
    weights: Vec<f64>,
    /// The least and the greatest value of a scenario, now and then.
    range: Result<(f64, f64), MissingLimit>,
}

impl Default for Pairs {
    fn default() -> Self {
        Self { samples: Vec::new(), differences: Vec::new(), weights: Vec::new(), range: Ok((0.0, 1.0)) }
    }
}

impl Pairs {
    fn t_interval(&self, confidence: Confidence) -> Option<Interval> {
        let mean = weighted_mean(&self.differences, &self.weights, None).ok()?.mean;
        mean.interval(confidence).ok().filter(|_| mean.stderr.is_ok_and(|error| error > 0.0))
    }
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
    for scenario in &judge.summaries {
        let outcomes = &judge.scenarios.outcomes()[scenario.attempts.clone()];
        let entry = BaselineScenario {
            outcome: scenario.outcome,
            passed: outcomes.iter().filter(|outcome| **outcome == ScenarioOutcome::Passed).count() as u32,
            attempts: outcomes.len() as u32,
            values: IndexMap::new(),
        };
        baseline.scenarios.insert(scenario.id.clone(), entry);
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
