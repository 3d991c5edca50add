//! Formulas: missing budgets, weights, undefined parts, and the range of their values.

use super::demand::Demand;
use super::{Finding, FormulaLint, PolicyChecker};
use crate::policy::{Arithmetic, Expression, Formula, Level, Node, Rule, Spanned, WEIGHTED_SCORE, normalized};
use calipers_core::Unit;

/// Weights that add up to 1 but for rounding.
const ROUNDING: f64 = 1e-9;

/// The comparisons of a name with a number that all have to hold for `pass`.
pub(super) fn demands(checker: &PolicyChecker<'_>) -> Vec<Demand> {
    let Some(pass) = &checker.policy.pass else { return Vec::new() };
    let mut demands = Vec::new();
    add_demands(checker, pass, &pass.value.expression, &mut demands);
    demands
}

fn add_demands(checker: &PolicyChecker<'_>, pass: &Spanned<Formula>, part: &Expression, demands: &mut Vec<Demand>) {
    match &part.node {
        Node::And(a, b) => {
            add_demands(checker, pass, a, demands);
            add_demands(checker, pass, b, demands);
        }
        Node::Compare(comparison, a, b) => {
            let (side, name, comparison, value) = match (&a.node, &b.node) {
                (Node::Name(name), Node::Number(value)) => (a, name, *comparison, *value),
                (Node::Number(value), Node::Name(name)) => (b, name, comparison.turned(), *value),
                _ => return,
            };
            demands.push(Demand {
                name: name.clone(),
                metric: name.clone(),
                rule: Rule { comparison, value },
                unit: checker.about(name).map_or(Unit::Plain, |(unit, _)| unit),
                level: Level::Blocking,
                span: pass.value.place(&pass.span, part),
                range: range_of(checker, side).unwrap_or((f64::NEG_INFINITY, f64::INFINITY)),
            });
        }
        _ => {}
    }
}

/// The least and the greatest value of an expression, where the metrics in it have bounds.
fn range_of(checker: &PolicyChecker<'_>, expression: &Expression) -> Option<(f64, f64)> {
    let of = |name: &str| match checker.policy.composite.iter().find(|composite| composite.name.value == *name) {
        _ if normalized(name).is_some() => Some((0.0, 1.0)),
        Some(composite) => range_of(checker, &composite.formula.value.expression),
        None if name == WEIGHTED_SCORE => of_weighted_score(checker),
        None => checker.about(name).map(|(unit, _)| unit.range()),
    };
    // 0.3 + 0.4 + 0.2 + 0.1 is not 1 in binary.
    let settled = |x: f64| if x.is_finite() { (x * 1e9).round() / 1e9 } else { x };
    expression.range(&of).map(|(low, high)| (settled(low), settled(high)))
}

/// A weighted mean lies within the ranges of what it is the mean of.
fn of_weighted_score(checker: &PolicyChecker<'_>) -> Option<(f64, f64)> {
    let metrics = checker.policy.weights.by_metric.iter();
    let ranges = metrics.map(|(name, _)| checker.about(&name.value).map(|(unit, _)| unit.range()));
    let ranges: Vec<(f64, f64)> = ranges.collect::<Option<_>>()?;
    ranges.into_iter().reduce(|(a, b), (c, d)| (a.min(c), b.max(d)))
}

/// A metric that is divided by its budget needs one: from `normalize`, or from a gate.
pub(super) fn no_budget(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let policy = checker.policy;
    let has_budget = |metric: &str| {
        policy.normalize.iter().any(|(name, _)| name.value == metric)
            || policy.gates.iter().any(|gate| gate.metric.value == metric)
    };
    let mut findings = Vec::new();
    for formula in checker.formulas() {
        formula.value.expression.visit(&mut |part| {
            let Node::Name(name) = &part.node else { return };
            let Some(metric) = normalized(name).filter(|metric| !has_budget(metric)) else { return };
            let lint = FormulaLint::NoBudget { name: name.clone(), metric };
            findings.push(Finding::error(lint).at(&formula.value.place(&formula.span, part)));
        });
    }
    findings
}

/// A sum of metrics with weights is read as a mean; then the weights have to add up to 1.
pub(super) fn composite_weights(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for composite in &checker.policy.composite {
        let terms = composite.formula.value.expression.terms();
        let weights: Option<Vec<f64>> = terms.iter().map(|(sign, term)| Some(sign * weight(term)?)).collect();
        let Some(weights) = weights.filter(|weights| weights.len() > 1) else { continue };
        let sum: f64 = weights.iter().sum();
        if (sum - 1.0).abs() <= ROUNDING {
            continue;
        }
        let lint = FormulaLint::CompositeWeights { formula: composite.name.value.clone(), weights: weights.len(), sum };
        findings.push(Finding::warning(lint).at(&composite.formula.span));
    }
    findings
}

/// The number that a term is multiplied by.
fn weight(term: &Expression) -> Option<f64> {
    let Node::Arithmetic(Arithmetic::Multiply, x, y) = &term.node else { return None };
    match (&x.node, &y.node) {
        (Node::Number(_), Node::Number(_)) => None,
        (Node::Number(weight), _) | (_, Node::Number(weight)) => Some(*weight),
        _ => None,
    }
}

/// Values to try a formula with: any that are not special.
const TRIALS: [f64; 3] = [0.371, 0.592, 0.843];

/// A formula that has no value for any metrics, such as one that divides by a difference of equals.
pub(super) fn find_undefined(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for formula in checker.formulas() {
        formula.value.expression.visit(&mut |part| {
            let never = TRIALS.iter().map(|trial| {
                let value_of = |name: &str| trial_value(checker, name, *trial);
                part.without_value(&value_of).filter(|(inner, _)| std::ptr::eq(*inner, part)).map(|(_, why)| why)
            });
            let Some(operation) = never.collect::<Option<Vec<_>>>().and_then(|reasons| reasons.first().copied()) else {
                return;
            };
            let lint = FormulaLint::UndefinedFormula { written: formula.value.written(part), operation };
            findings.push(Finding::error(lint).at(&formula.value.place(&formula.span, part)));
        });
    }
    findings
}

/// The value of a name in a trial: an arbitrary one for a metric, the computed one for a formula.
fn trial_value(checker: &PolicyChecker<'_>, name: &str, trial: f64) -> Option<f64> {
    let composite = checker.policy.composite.iter().find(|composite| composite.name.value == name);
    if let Some(composite) = composite {
        return composite.formula.value.expression.value(&|name| trial_value(checker, name, trial));
    }
    // Each name has another value, or the difference of two metrics would always be 0.
    let share = name.bytes().fold(trial, |share, byte| (share * 1.618 + f64::from(byte) * 0.001).fract());
    let (low, high) = checker.about(name).map_or((0.0, 1.0), |(unit, _)| unit.range());
    Some(if (low, high) == (0.0, 1.0) || normalized(name).is_some() { share } else { share * 1000.0 })
}

/// A comparison that comes out the same for all results.
pub(super) fn constant_condition(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Some(pass) = &checker.policy.pass else { return findings };
    pass.value.expression.visit(&mut |part| {
        let Node::Compare(comparison, left, right) = &part.node else { return };
        let of = |trial: f64| {
            let value = |side: &Expression| side.value(&|name| trial_value(checker, name, trial));
            Some((value(left)? - value(right)?, comparison.holds(value(left)?, value(right)?)))
        };
        let trials: Option<Vec<(f64, bool)>> = TRIALS.iter().map(|trial| of(*trial)).collect();
        let Some((first, holds)) = trials.as_ref().and_then(|trials| trials.first().copied()) else { return };
        let is_constant = trials.iter().flatten().all(|(difference, _)| (difference - first).abs() <= ROUNDING);
        if !is_constant {
            return;
        }
        let lint = FormulaLint::ConstantCondition { written: pass.value.written(part), holds };
        let finding = if holds { Finding::warning(lint) } else { Finding::error(lint) };
        findings.push(finding.at(&pass.value.place(&pass.span, part)));
    });
    findings
}
