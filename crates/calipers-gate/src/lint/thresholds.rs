//! Thresholds that never hold, always hold, or mean something other than intended.

use super::demand::Demand;
use super::{Finding, PolicyChecker, ThresholdLint, WrittenAmount};
use crate::policy::{Comparison, Level, Mistake, Rule, Threshold, WrittenUnit};
use calipers_core::Unit;
use calipers_stats::threshold_test::Direction;

/// Durations below this many milliseconds are more often meant as seconds.
const SHORT_MS: f64 = 100.0;
/// A policy hardly ever requires a rate of at least so few per cent.
const LOW_PERCENT: f64 = 10.0;
/// From here on, a margin without a unit is probably meant as a percentage.
const WIDE_MARGIN: f64 = 0.2;

/// True for a number that a metric of this unit never has.
fn is_outside(threshold: &Threshold, unit: Unit) -> bool {
    let is_share = unit == Unit::Rate && matches!(threshold.unit, None | Some(WrittenUnit::Percent));
    is_share || (threshold.number < 0.0 && unit.range().0 == 0.0)
}

/// What is wrong with a threshold that means nothing for its metric.
#[derive(PartialEq)]
enum Misfit {
    Unit,
    Outside,
    Direction,
}

/// Thresholds that mean nothing for their metric, for this reason.
fn misfits(checker: &PolicyChecker<'_>, wanted: Misfit, lint: fn(Mistake) -> ThresholdLint) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (metric, threshold) in checker.thresholds() {
        let Some((unit, direction)) = checker.about(&metric.value) else { continue };
        let Err(mistake) = threshold.rule_in(unit, direction, &metric.value) else { continue };
        let misfit = match threshold.amount_in(unit, &metric.value) {
            Ok(_) => Misfit::Direction,
            Err(_) if is_outside(threshold, unit) => Misfit::Outside,
            Err(_) => Misfit::Unit,
        };
        if misfit == wanted {
            findings.push(Finding::error(lint(mistake)).at(&threshold.span));
        }
    }
    findings
}

pub(super) fn unknown_direction(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    misfits(checker, Misfit::Direction, ThresholdLint::UnknownDirection)
}

/// A written comparison wins over the metric's better side, and is more often a slip than meant.
pub(super) fn against_direction(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let against = |demand: &&Demand| {
        let direction = checker.about(&demand.metric).and_then(|(_, direction)| direction);
        matches!(
            (direction, demand.rule.comparison),
            (Some(Direction::AtLeast), Comparison::AtMost | Comparison::Below)
                | (Some(Direction::AtMost), Comparison::AtLeast | Comparison::Above)
        )
    };
    let lint =
        |demand: &Demand| ThresholdLint::AgainstDirection { rule: demand.metric_rule(), metric: demand.metric.clone() };
    let demands = checker.demands.iter().filter(against);
    demands.map(|demand| Finding::warning(lint(demand)).at(&demand.span)).collect()
}

pub(super) fn wrong_unit(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let mut findings = misfits(checker, Misfit::Unit, ThresholdLint::WrongUnit);
    for (metric, budget) in &checker.policy.normalize {
        let Some((unit, _)) = checker.about(&metric.value) else { continue };
        if let Err(mistake) = budget.amount_in(unit, &metric.value) {
            findings.push(Finding::error(ThresholdLint::WrongUnit(mistake)).at(&budget.span));
        }
    }
    findings
}

pub(super) fn unreachable(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let mut findings = misfits(checker, Misfit::Outside, ThresholdLint::OutsideRange);
    for demand in checker.demands.iter().filter(|demand| demand.is_unreachable()) {
        let lint = ThresholdLint::UnreachableThreshold { rule: demand.metric_rule(), range: demand.range };
        findings.push(error_if_blocking(demand.level, lint).at(&demand.span));
    }
    findings
}

/// An error for a gate that blocks, a warning for one that warns.
fn error_if_blocking(level: Level, lint: ThresholdLint) -> Finding {
    if level == Level::Blocking { Finding::error(lint) } else { Finding::warning(lint) }
}

pub(super) fn vacuous(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let vacuous = checker.demands.iter().filter(|demand| demand.is_vacuous());
    let lint = |demand: &Demand| ThresholdLint::VacuousThreshold { rule: demand.metric_rule(), range: demand.range };
    vacuous.map(|demand| Finding::warning(lint(demand)).at(&demand.span)).collect()
}

pub(super) fn contradictory(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let demands = &checker.demands;
    let mut findings = Vec::new();
    for (at, demand) in demands.iter().enumerate() {
        let Some(first) = demands[..at].iter().find(|first| first.name == demand.name && first.contradicts(demand))
        else {
            continue;
        };
        let lint = ThresholdLint::ContradictoryThresholds {
            rule: demand.metric_rule(),
            earlier: first.metric_rule(),
            earlier_span: first.span.clone(),
        };
        findings.push(error_if_blocking(demand.level.max(first.level), lint).at(&demand.span));
    }
    findings
}

pub(super) fn ambiguous_unit(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (metric, threshold) in checker.thresholds() {
        let Some((unit, direction)) = checker.about(&metric.value) else { continue };
        if let Ok(rule) = threshold.rule_in(unit, direction, &metric.value) {
            findings.extend(ambiguous_amount(threshold, unit, rule));
        }
    }
    for (metric, budget) in &checker.policy.normalize {
        let Some((unit, _)) = checker.about(&metric.value) else { continue };
        let rule = Rule { comparison: Comparison::AtMost, value: budget.number };
        findings.extend(ambiguous_amount(budget, unit, rule));
    }
    findings.extend(checker.policy.baseline.iter().filter_map(|rule| wide_margin(&rule.margin)));
    findings
}

fn ambiguous_amount(threshold: &Threshold, unit: Unit, rule: Rule) -> Option<Finding> {
    use WrittenUnit::{Milliseconds, Percent, Seconds};
    let number = threshold.number;
    let wants_much = matches!(rule.comparison, Comparison::AtLeast | Comparison::Above | Comparison::Equal);
    let amount = |number: f64, unit: WrittenUnit| WrittenAmount { number, unit };
    let (reading, alternative) = match (unit, threshold.unit) {
        // `1.0` is how people write a fraction.
        (Unit::Rate, None) if number == 1.0 && !threshold.span.raw().contains('.') => {
            (amount(100.0, Percent), amount(1.0, Percent))
        }
        (Unit::Rate, None) if wants_much && number > 1.0 && number < LOW_PERCENT => {
            (amount(number, Percent), amount(number * 10.0, Percent))
        }
        (Unit::Rate, Some(Percent)) if wants_much && number > 0.0 && number <= 1.0 => {
            (amount(number, Percent), amount(number * 100.0, Percent))
        }
        (Unit::Milliseconds, None) if number > 0.0 && number < SHORT_MS => {
            (amount(number, Milliseconds), amount(number, Seconds))
        }
        _ => return None,
    };
    let written = threshold.span.raw().trim_matches(['"', '\'']).to_owned();
    Some(Finding::warning(ThresholdLint::AmbiguousUnit { written, reading, alternative }).at(&threshold.span))
}

/// `1` as a margin is a hundred points, and allows everything.
fn wide_margin(margin: &Threshold) -> Option<Finding> {
    let is_wide = margin.unit.is_none() && (WIDE_MARGIN..=1.0).contains(&margin.number);
    is_wide.then(|| Finding::warning(ThresholdLint::WideMargin { margin: margin.number }).at(&margin.span))
}

/// Only 0 and 1 are numbers that a share is often exactly equal to.
pub(super) fn float_equality(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let is_fragile = |demand: &&Demand| {
        demand.rule.comparison == Comparison::Equal && demand.rule.value != 0.0 && demand.rule.value != 1.0
    };
    let fragile = checker.demands.iter().filter(is_fragile);
    fragile
        .map(|demand| Finding::warning(ThresholdLint::FloatEquality { rule: demand.metric_rule() }).at(&demand.span))
        .collect()
}
