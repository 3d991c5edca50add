//! Formulas: what they lack, what they add up to, and how large they can become.

use super::demand::{Demand, understood};
use super::names::normalized;
use super::{Checker, Found};
use crate::Unit;
use crate::policy::{Arithmetic, Expression, Formula, Level, Node, Rule, Spanned};

/// Weights that add up to 1 but for rounding.
const ROUNDING: f64 = 1e-9;

/// The comparisons of a name with a number that all have to hold for `pass`.
pub(super) fn demands(checker: &Checker<'_>) -> Vec<Demand> {
    let Some(pass) = &checker.policy.pass else { return Vec::new() };
    let mut demands = Vec::new();
    add_demands(checker, pass, &pass.value.expression, &mut demands);
    demands
}

fn add_demands(checker: &Checker<'_>, pass: &Spanned<Formula>, part: &Expression, demands: &mut Vec<Demand>) {
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

/// The least and the greatest value of an expression, where the metrics in it have bounds (interval arithmetic: each
/// name is taken for itself, so the range may be too wide and is never too narrow).
fn range_of(checker: &Checker<'_>, expression: &Expression) -> Option<(f64, f64)> {
    match &expression.node {
        Node::Number(number) => Some((*number, *number)),
        Node::Name(name) if normalized(name).is_some() => Some((0.0, 1.0)),
        Node::Name(name) => match checker.policy.composite.iter().find(|composite| composite.name.value == *name) {
            Some(composite) => range_of(checker, &composite.formula.value.expression),
            None if name == "weighted_score" => of_weighted_score(checker),
            None => checker.about(name).map(|(unit, _)| understood(unit)),
        },
        Node::Negate(x) => range_of(checker, x).map(|(low, high)| (-high, -low)),
        Node::Arithmetic(operation, x, y) => {
            let ((a, b), (c, d)) = (range_of(checker, x)?, range_of(checker, y)?);
            let (low, high) = match operation {
                Arithmetic::Add => (a + c, b + d),
                Arithmetic::Subtract => (a - d, b - c),
                Arithmetic::Multiply => around([a * c, a * d, b * c, b * d]),
                Arithmetic::Divide if c > 0.0 => around([a / c, a / d, b / c, b / d]),
                Arithmetic::Divide | Arithmetic::Power => return None,
            };
            (!low.is_nan() && !high.is_nan()).then_some((low, high))
        }
        _ => None,
    }
}

/// A weighted mean lies within the ranges of what it is the mean of.
fn of_weighted_score(checker: &Checker<'_>) -> Option<(f64, f64)> {
    let metrics = checker.policy.weights.by_metric.iter();
    let ranges = metrics.map(|(name, _)| checker.about(&name.value).map(|(unit, _)| understood(unit)));
    let ranges: Vec<(f64, f64)> = ranges.collect::<Option<_>>()?;
    ranges.into_iter().reduce(|(a, b), (c, d)| (a.min(c), b.max(d)))
}

fn around(products: [f64; 4]) -> (f64, f64) {
    let fold =
        |of: fn(f64, f64) -> f64| products[1..].iter().fold(products[0], |x, &y| if y.is_nan() { y } else { of(x, y) });
    (fold(f64::min), fold(f64::max))
}

/// What is divided by a budget needs one: from `normalize`, or from a gate.
pub(super) fn no_budget(checker: &Checker<'_>) -> Vec<Found> {
    let policy = checker.policy;
    let has_budget = |metric: &str| {
        policy.normalize.iter().any(|(name, _)| name.value == metric)
            || policy.gates.iter().any(|gate| gate.metric.value == metric)
    };
    let mut found = Vec::new();
    for formula in checker.formulas() {
        formula.value.expression.visit(&mut |part| {
            let Node::Name(name) = &part.node else { return };
            let Some(metric) = normalized(name).filter(|metric| !has_budget(metric)) else { return };
            let message = format!("`{name}` is {metric} over its budget, and 0 budgets are given for it");
            let fix = format!("add `\"normalize\": {{\"{metric}\": 10000}}`, or a threshold for `{metric}`");
            found.push(Found::error(message, fix).at(&formula.value.place(&formula.span, part)));
        });
    }
    found
}

/// A sum of metrics with weights is read as a mean; then the weights have to add up to 1.
pub(super) fn composite_weights(checker: &Checker<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for composite in &checker.policy.composite {
        let terms = composite.formula.value.expression.terms();
        let weights: Option<Vec<f64>> = terms.iter().map(|(sign, term)| Some(sign * weight(term)?)).collect();
        let Some(weights) = weights.filter(|weights| weights.len() > 1) else { continue };
        let sum: f64 = weights.iter().sum();
        if (sum - 1.0).abs() <= ROUNDING {
            continue;
        }
        let sum = (sum * 1e9).round() / 1e9;
        let message = format!("the {} weights of `{}` add up to {sum}, not to 1", weights.len(), composite.name.value);
        let fix = format!("divide each by {sum}, or compare it with a threshold out of {sum}");
        found.push(Found::warning(message, fix).at(&composite.formula.span));
    }
    found
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
