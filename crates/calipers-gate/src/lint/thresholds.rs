//! Thresholds that cannot hold, always hold, or hold something else than is meant.

use super::demand::Demand;
use super::{Checker, Found, Gate};
use crate::policy::{Comparison, Level, Origin, Progressive, RiskLevel, Rule, Threshold, WrittenUnit};
use calipers_core::Unit;
use calipers_stats::threshold_test::Direction;

/// Durations below this many milliseconds are more often meant as seconds.
const SHORT_MS: f64 = 100.0;
/// A rate of at least so little, as a percentage, is hardly what somebody asks for.
const LOW_PERCENT: f64 = 10.0;
/// A margin without a unit from which it is rather meant as a percentage.
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
fn misfits(checker: &Checker<'_>, wanted: Misfit) -> Vec<Found> {
    let mut found = Vec::new();
    for (metric, threshold) in checker.thresholds() {
        let Some((unit, direction)) = checker.about(&metric.value) else { continue };
        let Err(mistake) = threshold.rule_in(unit, direction, &metric.value) else { continue };
        let misfit = match threshold.amount_in(unit, &metric.value) {
            Ok(_) => Misfit::Direction,
            Err(_) if is_outside(threshold, unit) => Misfit::Outside,
            Err(_) => Misfit::Unit,
        };
        if misfit == wanted {
            let fix = mistake.hint.unwrap_or_default();
            found.push(Found::error(mistake.message, fix).at(&threshold.span));
        }
    }
    found
}

pub(super) fn unknown_direction(checker: &Checker<'_>) -> Vec<Found> {
    misfits(checker, Misfit::Direction)
}

/// A written comparison wins over the metric's better side, and is more often a slip than meant.
pub(super) fn against_direction(checker: &Checker<'_>) -> Vec<Found> {
    let against = |demand: &&Demand| {
        let direction = checker.about(demand.metric()).and_then(|(_, direction)| direction);
        matches!(
            (direction, demand.rule.comparison),
            (Some(Direction::AtLeast), Comparison::AtMost | Comparison::Below)
                | (Some(Direction::AtMost), Comparison::AtLeast | Comparison::Above)
        )
    };
    let found = checker.demands.iter().filter(against).map(|demand| {
        let up = matches!(demand.rule.comparison, Comparison::AtMost | Comparison::Below);
        let (better, sign) = if up { ("high", "≥") } else { ("low", "≤") };
        let (text, name) = (demand.text(), demand.metric());
        let message = format!("`{text}` holds for the worse ones: `{name}` is better when {better}");
        let value = demand
            .text()
            .rsplit_once(demand.rule.comparison.sign())
            .map_or_else(String::new, |(_, x)| x.trim().to_owned());
        Found::warning(message, format!("write `\"{sign} {value}\"` unless that is meant")).at(&demand.span)
    });
    found.collect()
}

pub(super) fn wrong_unit(checker: &Checker<'_>) -> Vec<Found> {
    let mut found = misfits(checker, Misfit::Unit);
    for (metric, budget) in &checker.policy.normalize {
        let Some((unit, _)) = checker.about(&metric.value) else { continue };
        if let Err(mistake) = budget.amount_in(unit, &metric.value) {
            found.push(Found::error(mistake.message, mistake.hint.unwrap_or_default()).at(&budget.span));
        }
    }
    found
}

pub(super) fn unreachable(checker: &Checker<'_>) -> Vec<Found> {
    let mut found = misfits(checker, Misfit::Outside);
    for demand in checker.demands.iter().filter(|demand| demand.is_unreachable()) {
        let message = format!("`{}` can never hold: {}", demand.text(), bounds(demand));
        let fix = match (demand.rule.comparison, demand.unit) {
            (Comparison::Above, Unit::Rate) => "write `\"100%\"` to ask for all of them".to_owned(),
            (_, Unit::Milliseconds) => "give a duration that an attempt can have, such as `\"< 5000ms\"`".to_owned(),
            _ if demand.rule.value > 1.0 && demand.range.1 <= 1.0 => {
                "write it as a fraction such as 0.85, or as `85%`".to_owned()
            }
            _ => "choose a threshold within these bounds".to_owned(),
        };
        found.push(blocked(demand.level, message, fix).at(&demand.span));
    }
    found
}

/// An error where it blocks, a warning where it warns.
fn blocked(level: Level, message: String, fix: impl Into<String>) -> Found {
    if level == Level::Blocking { Found::error(message, fix) } else { Found::warning(message, fix) }
}

fn bounds(demand: &Demand) -> String {
    let (low, high) = demand.range;
    let show = |x: f64| demand.unit.show(x);
    match (low.is_finite(), high.is_finite()) {
        (true, true) => format!("it is never below {} or above {}", show(low), show(high)),
        (true, false) => format!("it is always above {}", show(low)),
        _ => format!("it is never above {}", show(high)),
    }
}

pub(super) fn vacuous(checker: &Checker<'_>) -> Vec<Found> {
    let vacuous = checker.demands.iter().filter(|demand| demand.is_vacuous());
    vacuous
        .map(|demand| {
            let message = format!("`{}` always holds: {}", demand.text(), bounds(demand));
            Found::warning(message, "ask for more, or take it out").at(&demand.span)
        })
        .collect()
}

pub(super) fn contradictory(checker: &Checker<'_>) -> Vec<Found> {
    let demands = &checker.demands;
    let mut found = Vec::new();
    for (at, demand) in demands.iter().enumerate() {
        let Some(first) = demands[..at].iter().find(|first| first.name == demand.name && first.contradicts(demand))
        else {
            continue;
        };
        let message = format!(
            "`{}` and `{}` of {} cannot both hold",
            demand.text(),
            first.text(),
            at_line(&first.span, &demand.span)
        );
        found.push(blocked(demand.level.max(first.level), message, "keep one of them").at(&demand.span));
    }
    found
}

/// A place as seen from another: the line, with the file if it is another one.
fn at_line(span: &crate::policy::Span, from: &crate::policy::Span) -> String {
    let file = if span.text.name == from.text.name { String::new() } else { format!("{}, ", span.text.name) };
    format!("{file}line {}", span.line())
}

pub(super) fn ambiguous_unit(checker: &Checker<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for (metric, threshold) in checker.thresholds() {
        let Some((unit, direction)) = checker.about(&metric.value) else { continue };
        if let Ok(rule) = threshold.rule_in(unit, direction, &metric.value) {
            found.extend(ambiguous(threshold, unit, rule));
        }
    }
    for (metric, budget) in &checker.policy.normalize {
        let Some((unit, _)) = checker.about(&metric.value) else { continue };
        found.extend(ambiguous(budget, unit, Rule { comparison: Comparison::AtMost, value: budget.number }));
    }
    found.extend(checker.policy.baseline.iter().filter_map(|rule| wide_margin(&rule.margin)));
    found
}

fn ambiguous(threshold: &Threshold, unit: Unit, rule: Rule) -> Option<Found> {
    let number = threshold.number;
    let wants_much = matches!(rule.comparison, Comparison::AtLeast | Comparison::Above | Comparison::Equal);
    let warn = |meaning: String, other: String| {
        let written = threshold.span.raw().trim_matches(['"', '\'']);
        let message = format!("`{written}` is understood as {meaning}; it could be meant as {other}");
        Some(Found::warning(message, format!("write `\"{meaning}\"` or `\"{other}\"`")).at(&threshold.span))
    };
    match (unit, threshold.unit) {
        // `1.0` is how people write a fraction.
        (Unit::Rate, None) if number == 1.0 && !threshold.span.raw().contains('.') => warn("100%".into(), "1%".into()),
        (Unit::Rate, None) if wants_much && number > 1.0 && number < LOW_PERCENT => {
            warn(format!("{number}%"), format!("{}%", number * 10.0))
        }
        (Unit::Rate, Some(WrittenUnit::Percent)) if wants_much && number > 0.0 && number <= 1.0 => {
            warn(format!("{number}%"), format!("{}%", (number * 1e11).round() / 1e9))
        }
        (Unit::Milliseconds, None) if number > 0.0 && number < SHORT_MS => {
            warn(format!("{number}ms"), format!("{number}s"))
        }
        _ => None,
    }
}

/// `1` as a margin is a hundred points, and allows everything.
fn wide_margin(margin: &Threshold) -> Option<Found> {
    if margin.unit.is_some() || !(WIDE_MARGIN..=1.0).contains(&margin.number) {
        return None;
    }
    let number = margin.number;
    let message =
        format!("a margin of `{number}` is {} points for a rate; it could be meant as {number} %", number * 100.0);
    Some(
        Found::warning(message, format!("write `\"{number}%\"`, or the fraction that is meant, such as 0.02"))
            .at(&margin.span),
    )
}

/// Only 0 and 1 are numbers that a share is often exactly equal to.
pub(super) fn float_equality(checker: &Checker<'_>) -> Vec<Found> {
    let is_fragile = |demand: &&Demand| {
        demand.rule.comparison == Comparison::Equal && demand.rule.value != 0.0 && demand.rule.value != 1.0
    };
    checker
        .demands
        .iter()
        .filter(is_fragile)
        .map(|demand| {
            let message =
                format!("`{}` holds only within 1e-9, and a value above it does not pass either", demand.text());
            Found::warning(message, "compare with ≥ or ≤").at(&demand.span)
        })
        .collect()
}

/// Pairs of gates of one metric, the later one first.
fn pairs<'c, 'a>(checker: &'c Checker<'a>) -> impl Iterator<Item = (&'c Gate<'a>, &'c Gate<'a>)> {
    let gates = &checker.gates;
    let pairs = gates.iter().enumerate().flat_map(|(at, gate)| gates[..at].iter().map(move |first| (gate, first)));
    pairs.filter(|(gate, first)| gate.demand.name == first.demand.name)
}

pub(super) fn duplicate(checker: &Checker<'_>) -> Vec<Found> {
    let same = pairs(checker)
        .filter(|(gate, first)| gate.demand.is_same(&first.demand) && gate.spec.level == first.spec.level);
    same.map(|(gate, first)| {
        let (place, from) = (&first.demand.span, &gate.demand.span);
        let message = format!("`{}` is asked for 2 times, first in {}", gate.demand.text(), at_line(place, from));
        Found::note(message, "keep one of them, so that they cannot drift apart").at(from)
    })
    .collect()
}

/// A gate that never decides anything, because another one is at least as strict and weighs at least as much.
pub(super) fn shadowed(checker: &Checker<'_>) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for gate in &checker.gates {
        let stronger = checker.gates.iter().find(|other| {
            let is_same = gate.demand.is_same(&other.demand);
            gate.demand.name == other.demand.name
                && other.spec.level <= gate.spec.level
                && gate.demand.follows_from(&other.demand)
                // Of two that are the same, only a warning behind one that blocks is without effect.
                && (!is_same || other.spec.level < gate.spec.level)
        });
        if let Some(other) = stronger {
            let place = at_line(&other.demand.span, &gate.demand.span);
            let message = format!(
                "`{}` never decides: `{}` in {place} is at least as strict",
                gate.demand.text(),
                other.demand.text()
            );
            found.push(Found::warning(message, "keep the one that is meant").at(&gate.demand.span));
        }
    }
    found.extend(checker.policy.progressive.iter().filter_map(|step| shadowed_versions(checker, step)));
    found
}

/// Thresholds of versions add to those that always hold.
fn shadowed_versions(checker: &Checker<'_>, step: &Progressive) -> Option<Found> {
    let always: Vec<&Gate<'_>> = checker
        .gates
        .iter()
        .filter(|gate| gate.spec.level == Level::Blocking && gate.demand.name == step.metric.value)
        .collect();
    let mut versions = Vec::new();
    let mut by = None;
    for (version, demand) in steps(checker, step) {
        if let Some(gate) = always.iter().find(|gate| demand.follows_from(&gate.demand)) {
            versions.push(format!("`{version}`"));
            by = Some(*gate);
        }
    }
    let by = by?;
    let place = at_line(&by.demand.span, &step.metric.span);
    let message = format!(
        "the threshold of {} never decides: `{}` in {place} always holds and is at least as strict",
        versions.join(", "),
        by.demand.text()
    );
    Some(Found::warning(message, "take the gate that always holds out, or the versions").at(&step.metric.span))
}

/// The thresholds of versions as they are understood.
fn steps(checker: &Checker<'_>, step: &Progressive) -> Vec<(String, Demand)> {
    let Some((unit, direction)) = checker.about(&step.metric.value) else { return Vec::new() };
    let one = |(version, threshold): &(crate::policy::Spanned<String>, Threshold)| {
        let rule = threshold.rule_in(unit, direction, &step.metric.value).ok()?;
        let (name, span, range) = (step.metric.value.clone(), threshold.span.clone(), unit.range());
        Some((version.value.clone(), Demand { name, rule, unit, level: Level::Blocking, span, range }))
    };
    step.versions.iter().filter_map(one).collect()
}

pub(super) fn softer_than_warning(checker: &Checker<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for blocking in checker.gates.iter().filter(|gate| gate.spec.level == Level::Blocking) {
        let stricter = checker.gates.iter().find(|gate| {
            gate.spec.level == Level::Warning
                && gate.demand.name == blocking.demand.name
                && blocking.demand.follows_from(&gate.demand)
                && !gate.demand.is_same(&blocking.demand)
        });
        if let Some(warning) = stricter {
            let message = format!(
                "it blocks at `{}` and warns at `{}` in {}: what lies between ships with a warning",
                blocking.demand.text(),
                warning.demand.text(),
                at_line(&warning.demand.span, &blocking.demand.span)
            );
            found.push(
                Found::note(message, "exchange the two if the stricter one should block").at(&blocking.demand.span),
            );
        }
    }
    found
}

pub(super) fn progressive_falls(checker: &Checker<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for step in &checker.policy.progressive {
        for pair in steps(checker, step).windows(2) {
            let [(before, first), (version, next)] = pair else { continue };
            if next.follows_from(first) && !next.is_same(first) {
                let message =
                    format!("`{}` of {version} is softer than `{}` of {before} before it", next.text(), first.text());
                found.push(
                    Found::warning(message, "order the versions, or let the thresholds rise with them").at(&next.span),
                );
            }
        }
    }
    found
}

/// Critical and high are the levels that block unless the policy says otherwise.
pub(super) fn risk_does_not_block(checker: &Checker<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for gate in &checker.policy.gates {
        let Origin::Risk { level: level @ (RiskLevel::Critical | RiskLevel::High), .. } = &gate.origin else {
            continue;
        };
        if gate.level == Level::Warning {
            let message =
                format!("a risk that is {} blocks nothing: a missed `{}` only warns", risk(*level), gate.metric.value);
            found.push(
                Found::warning(message, format!("add `{}` to `risk_blocking`", risk(*level))).at(&gate.threshold.span),
            );
        }
    }
    for level in &checker.policy.risk_blocking {
        let has_row = |gate: &crate::policy::GateSpec| matches!(&gate.origin, Origin::Risk { level: known, .. } if *known == level.value);
        if !checker.policy.gates.iter().any(has_row) {
            let message = format!("`{}` blocks, and 0 rows of `risk` have that level", risk(level.value));
            found.push(Found::warning(message, "give a metric that level, or take it out").at(&level.span));
        }
    }
    found
}

fn risk(level: RiskLevel) -> &'static str {
    match level {
        RiskLevel::Critical => "critical",
        RiskLevel::High => "high",
        RiskLevel::Medium => "medium",
        RiskLevel::Low => "low",
    }
}

pub(super) fn nothing_blocks(checker: &Checker<'_>) -> Vec<Found> {
    let policy = checker.policy;
    let of_scenarios = !policy.required.is_empty()
        || !policy.blocking_failures.is_empty()
        || policy.rubric.is_some()
        || policy.epochs.min_pass_rate.is_some();
    let has_block = policy.gates.iter().any(|gate| gate.level == Level::Blocking)
        || policy.baseline.as_ref().is_some_and(|rule| rule.level == Level::Blocking)
        || policy.pass.is_some()
        || of_scenarios;
    let hint = "put what must hold under `thresholds.blocking`";
    if has_block {
        return Vec::new();
    }
    if !policy.progressive.is_empty() {
        let message = "0 gates block unless a version is named with `--for-version`";
        return vec![Found::warning(message, hint).at(&policy.progressive[0].metric.span)];
    }
    match policy.gates.len() + usize::from(policy.baseline.is_some()) {
        0 => vec![Found::error("the policy asks for nothing: it has 0 gates", hint)],
        gates => {
            vec![Found::warning(format!("0 of {gates} gates block: whatever the results, the verdict is a pass"), hint)]
        }
    }
}
