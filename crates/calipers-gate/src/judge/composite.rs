//! Formulas over metrics, and the condition that they have to meet.

use super::formula_bounds::KnownMovements;
use super::measurement::{Measurement, Metrics, undefined_figure};
use super::threshold_question::{AllowedErrors, Judgement, holds};
use super::{Fault, Judge};
use crate::policy::{
    Arithmetic, Comparison, Composite, Expression, Formula, Mistake, Node, OnMissingValues, Rule, Span, Spanned,
    WEIGHTED_SCORE, normalized,
};
use crate::{CompositeResult, ConditionReason, FormulaDoubt, Term};
use calipers_core::{Figure, Reason, Tally, Undefined, Unit, Verdict};
use calipers_stats::Interval;
use indexmap::IndexMap;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// The name of the method in results.
const APART_METHOD: &str = "formula, some metrics bounded by themselves";

/// The name of the method in results.
const LINEAR_METHOD: &str = "formula, errors by the delta method";

/// The values that formulas may name: metrics, normalised ones, and formulas before them.
pub(super) struct Formulas<'j, 'p> {
    pub(super) judge: &'j Judge<'p>,
    pub(super) values: IndexMap<String, FormulaValue>,
    pub(super) results: Vec<CompositeResult>,
    /// Bounds of metrics by themselves, by the bits of their level: those of a quantile take many looks at its attempts.
    pub(super) apart: RefCell<HashMap<(String, u64), (f64, f64)>>,
    /// What units say of metrics and of whole formulas: several bounds are asked of each.
    pub(super) known: KnownMovements,
}

/// A value that formulas may name.
#[derive(Clone)]
pub(super) struct FormulaValue {
    pub(super) value: Option<f64>,
    /// The metric that it is.
    pub(super) measured: Option<Rc<Measurement>>,
    /// What the metric is divided by, if it is.
    pub(super) budget: Option<f64>,
    /// The formula that it is.
    pub(super) formula: Option<Rc<Expression>>,
    pub(super) unit: Unit,
    /// The least and the greatest value that it can have.
    pub(super) reach: (f64, f64),
}

impl<'j, 'p> Formulas<'j, 'p> {
    /// Evaluates all formulas of the policy, and the weighted score if metrics have weights.
    pub(super) fn new(judge: &'j Judge<'p>, metrics: &mut Metrics) -> Result<Self, Fault> {
        let mut formulas = Self {
            judge,
            values: IndexMap::new(),
            results: Vec::new(),
            apart: RefCell::default(),
            known: KnownMovements::default(),
        };
        if let Some(weighted) = weighted_score(judge)? {
            formulas.add(&weighted, metrics)?;
        }
        for composite in &judge.policy.composite {
            formulas.add(composite, metrics)?;
        }
        if let Some(pass) = &judge.policy.pass {
            formulas.look_up(pass, metrics)?;
        }
        Ok(formulas)
    }

    fn add(&mut self, composite: &Composite, metrics: &mut Metrics) -> Result<(), Fault> {
        self.look_up(&composite.formula, metrics)?;
        let expression = &composite.formula.value.expression;
        let value = self.value(expression);
        self.results.push(CompositeResult {
            name: composite.name.value.clone(),
            formula: one_line(&composite.formula.value.text),
            figure: self.figure(&composite.formula.value, value),
            terms: self.terms(&composite.formula.value),
            gate: None,
        });
        let known = FormulaValue {
            value,
            measured: None,
            budget: None,
            reach: self.reach(expression).unwrap_or((f64::NEG_INFINITY, f64::INFINITY)),
            formula: Some(Rc::new(expression.clone())),
            unit: Unit::Plain,
        };
        self.values.insert(composite.name.value.clone(), known);
        Ok(())
    }

    /// Measures every metric that a formula names.
    fn look_up(&mut self, formula: &Spanned<Formula>, metrics: &mut Metrics) -> Result<(), Fault> {
        for name in formula.value.expression.names() {
            if self.values.contains_key(name) {
                continue;
            }
            let spanned = Spanned { value: name.to_owned(), span: formula.span.clone() };
            let known = match normalized(name) {
                Some(metric) => self.normalise(metric, &spanned, metrics)?,
                None => {
                    let measured = metrics.get(self.judge, &spanned)?;
                    FormulaValue {
                        value: measured.value_in_formulas().ok(),
                        unit: measured.unit,
                        reach: measured.reach(),
                        measured: Some(measured),
                        budget: None,
                        formula: None,
                    }
                }
            };
            self.values.insert(name.to_owned(), known);
        }
        Ok(())
    }

    /// A metric over its budget, between 0 and 1. `normalized_latency` is `latency_p95` over its budget.
    fn normalise(&self, metric: String, name: &Spanned<String>, metrics: &mut Metrics) -> Result<FormulaValue, Fault> {
        let metric = Spanned { value: metric, span: name.span.clone() };
        let measured = metrics.get(self.judge, &metric)?;
        let Some(budget) = self.judge.budget(&metric.value, measured.unit)? else {
            return Err(Mistake::new(format!(
                "`{}` has no budget: nothing says what {} is divided by",
                name.value, metric.value
            ))
            .at(&name.span)
            .hint(format!("add `\"normalize\": {{\"{}\": 10000}}` or a threshold for it", metric.value))
            .into());
        };
        let share = measured.value_in_formulas().ok().map(|value| value / budget);
        Ok(FormulaValue {
            value: share.map(|share| share.clamp(0.0, 1.0)),
            unit: measured.unit,
            reach: (0.0, 1.0),
            measured: Some(measured),
            budget: Some(budget),
            formula: None,
        })
    }

    pub(super) fn value(&self, expression: &Expression) -> Option<f64> {
        expression.value(&|name| self.values.get(name)?.value)
    }

    fn figure(&self, formula: &Formula, value: Option<f64>) -> Figure {
        let expression = &formula.expression;
        let Some(value) = value else { return undefined_figure(self.why_undefined(formula, expression)) };
        let method = if self.metrics_apart(expression).is_empty() { LINEAR_METHOD } else { APART_METHOD };
        let mut figure = Figure::new(value, Tally { n: self.units(expression), missing: 0 }, method);
        figure.interval = self.interval(expression);
        figure
    }

    /// The interval of an expression, if it says more than what the expression can reach at all.
    fn interval(&self, expression: &Expression) -> Option<Interval> {
        let confidence = self.judge.context.confidence;
        let (lower, upper) = self.bounds(expression, (confidence.tail(), confidence.tail()));
        let reach = self.reach(expression);
        let says_nothing = match lower.zip(upper) {
            Some(both) => reach == Some(both),
            None => lower.is_none() && upper.is_none(),
        };
        (!says_nothing).then(|| Interval { lower, upper, confidence, method: self.method(expression) })
    }

    /// Which part of an expression has no value, and why.
    fn why_undefined(&self, formula: &Formula, expression: &Expression) -> Reason {
        let has_none = |name: &&str| self.values.get(*name).is_none_or(|known| known.value.is_none());
        let Some(name) = self.leaves(expression).into_iter().find(has_none) else {
            return self.no_number(formula, expression);
        };
        let measured = self.values.get(name).and_then(|known| known.measured.as_ref());
        let why = measured.and_then(|measured| measured.value_in_formulas().err());
        Reason::FormulaName { name: name.to_owned(), why: why.map(Box::new) }
    }

    /// What keeps an expression of numbers from being one.
    fn no_number(&self, formula: &Formula, expression: &Expression) -> Reason {
        for name in expression.names() {
            let composite = self.judge.policy.composite.iter().find(|composite| composite.name.value == name);
            if let Some(composite) =
                composite.filter(|_| self.values.get(name).is_some_and(|known| known.value.is_none()))
            {
                let inner = &composite.formula.value;
                let why = undefined(self.no_number(inner, &inner.expression));
                return Reason::FormulaName { name: name.to_owned(), why: Some(Box::new(why)) };
            }
        }
        let value_of = |name: &str| self.values.get(name)?.value;
        match expression.without_value(&value_of) {
            Some((part, operation)) => Reason::FormulaOperation { part: formula.written(part).to_owned(), operation },
            None => Reason::FormulaValue,
        }
    }

    /// The summands of a formula with what each adds.
    fn terms(&self, formula: &Formula) -> Vec<Term> {
        let summands = formula.expression.terms();
        let term = |(sign, part): (f64, &Expression)| Term {
            text: format!("{}{}", if sign < 0.0 { "−" } else { "" }, one_line(&formula.text[part.range.clone()])),
            value: self.value(part).map(|value| sign * value),
            metrics: part
                .names()
                .into_iter()
                .map(|name| (name.to_owned(), self.values.get(name).and_then(|known| known.value)))
                .collect(),
        };
        summands.into_iter().map(term).collect()
    }

    /// The formula that a condition compares with a number, and that comparison: the first one that has a value, if there
    /// is any. What has none is in the reason, unless another part of the condition decides.
    pub(super) fn main(&self, condition: &Expression) -> Option<(Figure, Rule)> {
        let mut found = None;
        condition.visit(&mut |part| {
            if let (None, Node::Compare(comparison, left, right)) = (&found, &part.node)
                && let (Node::Name(name), Node::Number(value)) = (&left.node, &right.node)
                && let Some(result) =
                    self.results.iter().find(|result| result.name == *name && result.figure.value.is_ok())
            {
                found = Some((result.figure.clone(), Rule { comparison: *comparison, value: *value }));
            }
        });
        found
    }

    /// The verdict on a condition as a whole, and how probable data this bad are if it holds.
    pub(super) fn judge_condition(&self, formula: &Formula, errors: Option<AllowedErrors>) -> Judgement {
        let expression = &formula.expression;
        let judgement = self.condition(formula, expression, errors);
        let Some(errors) = errors.filter(|_| self.chances(expression) > 0) else { return judgement };
        let fails_at = |fail: f64| {
            let errors = Some(AllowedErrors { fail, ..errors });
            self.condition(formula, expression, errors).verdict == Verdict::Fail
        };
        let is_fail = judgement.verdict == Verdict::Fail;
        let p_fail = if is_fail {
            errors.fail / f64::from(most_gates(|gates| fails_at(errors.fail / f64::from(gates))))
        } else {
            1.0
        };
        Judgement { p_fail: Some(p_fail), ..judgement }
    }

    /// The verdict on a condition, by three-valued logic: what is undecided stays so unless the rest decides. Where one of several
    /// parts decides alone, it may err by chance only as often as its share of what is allowed.
    fn condition(&self, formula: &Formula, expression: &Expression, errors: Option<AllowedErrors>) -> Judgement {
        let text = || one_line(&formula.text[expression.range.clone()]);
        match &expression.node {
            Node::And(a, b) => {
                let part = |one: &Expression, other: &Expression| {
                    let fail = |errors: AllowedErrors| errors.fail * self.share_of_chances(one, other);
                    let errors = errors.map(|errors| AllowedErrors { fail: fail(errors), ..errors });
                    self.condition(formula, one, errors)
                };
                both(part(a, b), part(b, a), Verdict::Fail)
            }
            Node::Or(a, b) => {
                let part = |one: &Expression, other: &Expression| {
                    let pass = |errors: AllowedErrors| errors.pass * self.share_of_chances(one, other);
                    let errors = errors.map(|errors| AllowedErrors { pass: pass(errors), ..errors });
                    self.condition(formula, one, errors)
                };
                both(part(a, b), part(b, a), Verdict::Pass)
            }
            Node::Not(a) => {
                let turned = errors.map(|errors| AllowedErrors { pass: errors.fail, fail: errors.pass });
                let decided = self.condition(formula, a, turned);
                let verdict = match decided.verdict {
                    Verdict::Pass => Verdict::Fail,
                    Verdict::Fail => Verdict::Pass,
                    Verdict::Undecided => Verdict::Undecided,
                };
                let reason = ConditionReason::Not(Box::new(decided.reason)).into();
                Judgement { verdict, reason, ..decided }
            }
            Node::Compare(comparison, left, right) => {
                if let Some(part) = [left, right].into_iter().find(|part| self.value(part).is_none()) {
                    let why = undefined(self.why_undefined(formula, part));
                    return Judgement::new(Verdict::Undecided, ConditionReason::Undefined(why));
                }
                let decided = self.comparison(*comparison, left, right, errors);
                let reason = ConditionReason::Comparison { text: text(), reason: Box::new(decided.reason) }.into();
                Judgement { reason, ..decided }
            }
            _ => Judgement::new(Verdict::Undecided, ConditionReason::NotACondition { text: text() }),
        }
    }

    /// How many parts of a condition may be decided wrongly by chance: comparisons that are not decided by counting.
    fn chances(&self, expression: &Expression) -> u32 {
        match &expression.node {
            Node::And(a, b) | Node::Or(a, b) => self.chances(a) + self.chances(b),
            Node::Not(a) => self.chances(a),
            Node::Compare(Comparison::Equal, ..) => 0,
            Node::Compare(comparison, left, right) => {
                let is_counted = match (self.plain_metric(left, right), self.value(right)) {
                    (Some((measured, unit)), Some(value)) => {
                        let rule = Rule { comparison: *comparison, value };
                        !self.judge.question(measured, rule, unit).can_err()
                    }
                    _ => false,
                };
                u32::from(!is_counted)
            }
            _ => 0,
        }
    }

    /// The share of two parts' chances that the first one has; all of it where there are none.
    fn share_of_chances(&self, one: &Expression, other: &Expression) -> f64 {
        let (own, others) = (f64::from(self.chances(one)), f64::from(self.chances(other)));
        if own + others > 0.0 { own / (own + others) } else { 1.0 }
    }

    /// The metric that a comparison is about, where it compares one as it is with a number.
    fn plain_metric(&self, left: &Expression, right: &Expression) -> Option<(&Measurement, Unit)> {
        let Node::Name(name) = &left.node else { return None };
        match self.values.get(name).filter(|_| right.names().is_empty()) {
            Some(FormulaValue { measured: Some(measured), budget: None, unit, .. }) => Some((measured, *unit)),
            _ => None,
        }
    }

    fn comparison(
        &self,
        comparison: Comparison,
        left: &Expression,
        right: &Expression,
        errors: Option<AllowedErrors>,
    ) -> Judgement {
        if left.names().is_empty() && !right.names().is_empty() {
            return self.comparison(comparison.turned(), right, left, errors);
        }
        let (Some(value), Some(threshold)) = (self.value(left), self.value(right)) else {
            let why = undefined(Reason::FormulaValue);
            return Judgement::new(Verdict::Undecided, ConditionReason::Undefined(why));
        };
        let rule = Rule { comparison, value: threshold };
        // A metric as it is has better evidence than its slope.
        if let Some((measured, unit)) = self.plain_metric(left, right) {
            return self.judge.question(measured, rule, unit).decide(errors);
        }
        let value_reason = |doubt| ConditionReason::Value { value, threshold, doubt };
        let best = |expression: &Expression| self.value_with(expression, &|name| self.without_errors(name));
        let is_broken =
            || best(left).zip(best(right)).is_some_and(|(left, right)| holds(Rule { value: right, ..rule }, left));
        match errors {
            None if holds(rule, value) && self.missing_could_change(comparison, left, right) => {
                Judgement::new(Verdict::Undecided, value_reason(Some(FormulaDoubt::Unscored)))
            }
            None if holds(rule, value) => Judgement::new(Verdict::Pass, value_reason(None)),
            _ if !holds(rule, value) && is_broken() => {
                Judgement::new(Verdict::Undecided, value_reason(Some(FormulaDoubt::Errored)))
            }
            None => Judgement::new(Verdict::Fail, value_reason(None)),
            Some(errors) => self.judge_bounds(rule, left, right, errors),
        }
    }

    /// True when a comparison would not hold with every missing value as bad as it can be.
    fn missing_could_change(&self, comparison: Comparison, left: &Expression, right: &Expression) -> bool {
        let ends = self.range_with_missing(left).zip(self.range_with_missing(right));
        let Some(((low, high), (least, most))) = ends.filter(|_| self.judge.policy.missing == OnMissingValues::Worst)
        else {
            return false;
        };
        let holds_for = |x: f64, threshold: f64| holds(Rule { comparison, value: threshold }, x);
        !(holds_for(low, most) && holds_for(high, least))
    }

    /// The value that a metric would have if nothing had ended in an error.
    fn without_errors(&self, name: &str) -> Option<f64> {
        let known = self.values.get(name)?;
        let measured = known.measured.as_ref().filter(|_| known.budget.is_none());
        let rule = Rule { comparison: Comparison::AtLeast, value: 1.0 };
        let best = measured.and_then(|measured| self.judge.question(measured, rule, known.unit).without_errors());
        best.map(|(_, best)| best).or(known.value)
    }

    /// Decides by the one-sided bounds of the difference of both sides.
    fn judge_bounds(&self, rule: Rule, left: &Expression, right: &Expression, errors: AllowedErrors) -> Judgement {
        let sides = (Box::new(left.clone()), Box::new(right.clone()));
        let node = Node::Arithmetic(Arithmetic::Subtract, sides.0, sides.1);
        let difference = Expression { node, range: left.range.clone() };
        let is_upward = !matches!(rule.comparison, Comparison::AtMost | Comparison::Below);
        let AllowedErrors { pass, fail } = errors;
        let (lower, upper) = self.bounds(&difference, if is_upward { (pass, fail) } else { (fail, pass) });
        let zero = |comparison| Rule { comparison, value: 0.0 };
        let surely = |comparison| match comparison {
            Comparison::AtLeast | Comparison::Above => lower.is_some_and(|lower| holds(zero(comparison), lower)),
            Comparison::AtMost | Comparison::Below => upper.is_some_and(|upper| holds(zero(comparison), upper)),
            Comparison::Equal => false,
        };
        let verdict = match rule.comparison {
            Comparison::Equal => Verdict::Undecided,
            comparison if surely(comparison) => Verdict::Pass,
            comparison if surely(comparison.opposite()) => Verdict::Fail,
            _ => Verdict::Undecided,
        };
        let pass_side = if is_upward { lower } else { upper };
        if verdict == Verdict::Undecided && pass_side.is_none() {
            let (metric, why) = self.find_unbounded(&difference, pass).unzip();
            let reason = ConditionReason::Open { metric: metric.map(str::to_owned), why: why.flatten() };
            return Judgement::new(Verdict::Undecided, reason);
        }
        let threshold = rule.value;
        let at = |bound: Option<f64>| bound.map(|bound| threshold + bound);
        let reason =
            ConditionReason::Bounds { threshold, lower: at(lower), upper: at(upper), confidence: 1.0 - pass.max(fail) };
        Judgement::new(verdict, reason)
    }
}

/// More gates than a policy has.
const GATES_MAX: u32 = 1024;

/// The most gates, up to [`GATES_MAX`], beside which something still fails that fails alone. What fails beside some, fails beside fewer.
fn most_gates(fails_beside: impl Fn(u32) -> bool) -> u32 {
    if fails_beside(GATES_MAX) {
        return GATES_MAX;
    }
    let (mut fails, mut too_many) = (1, GATES_MAX);
    while too_many - fails > 1 {
        let middle = u32::midpoint(fails, too_many);
        if fails_beside(middle) { fails = middle } else { too_many = middle }
    }
    fails
}

/// Two parts of a condition. `strong` decides alone: a fail in an AND, a pass in an OR.
fn both(a: Judgement, b: Judgement, strong: Verdict) -> Judgement {
    let rank = |verdict: Verdict| {
        if verdict == strong {
            0
        } else if verdict == Verdict::Undecided {
            1
        } else {
            2
        }
    };
    match rank(a.verdict).cmp(&rank(b.verdict)) {
        std::cmp::Ordering::Less => a,
        std::cmp::Ordering::Greater => b,
        // One cause is given once.
        std::cmp::Ordering::Equal if a.reason == b.reason => a,
        std::cmp::Ordering::Equal => {
            let reason = ConditionReason::Both(Box::new(a.reason), Box::new(b.reason)).into();
            Judgement { reason, ..a }
        }
    }
}

/// The weighted score of metrics, Σ weight × metric / Σ weight, as a formula.
fn weighted_score(judge: &Judge<'_>) -> Result<Option<Composite>, Fault> {
    let weights = &judge.policy.weights.by_metric;
    let Some((first, _)) = weights.first() else { return Ok(None) };
    let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
    if total <= 0.0 {
        return Err(Mistake::new("the weights of the metrics add up to 0")
            .at(&first.span)
            .hint("give at least one metric a weight above 0")
            .into());
    }
    let span = first.span.clone();
    Ok(Some(Composite {
        name: Spanned { value: WEIGHTED_SCORE.into(), span: span.clone() },
        formula: sum_of(weights, total, span),
    }))
}

fn sum_of(weights: &[(Spanned<String>, f64)], total: f64, span: Span) -> Spanned<Formula> {
    let mut text = String::new();
    let mut whole: Option<Expression> = None;
    for (name, weight) in weights {
        if !text.is_empty() {
            text.push_str(" + ");
        }
        let start = text.len();
        text.push_str(&name.value);
        let name_range = start..text.len();
        text.push_str(" × ");
        let number_start = text.len();
        text.push_str(&share_text(weight / total));
        let range = start..text.len();
        let part = |node, range| Box::new(Expression { node, range });
        let term = Expression {
            node: Node::Arithmetic(
                Arithmetic::Multiply,
                part(Node::Name(name.value.clone()), name_range),
                part(Node::Number(weight / total), number_start..text.len()),
            ),
            range: range.clone(),
        };
        whole = Some(match whole {
            None => term,
            Some(before) => Expression {
                range: 0..range.end,
                node: Node::Arithmetic(Arithmetic::Add, Box::new(before), Box::new(term)),
            },
        });
    }
    let expression = whole.unwrap_or(Expression { node: Node::Number(0.0), range: 0..0 });
    Spanned { value: Formula { text, expression }, span }
}

/// A share as it would be written in a formula: three decimals, or as many as show two digits of a small one.
fn share_text(share: f64) -> String {
    let decimals = if share > 0.0 { (2 - share.log10().floor() as i32).clamp(3, 9) } else { 0 };
    let scale = 10f64.powi(decimals);
    ((share * scale).round() / scale).to_string()
}

/// A figure's value that does not exist. Inspect has no formulas, so it prints nothing in their place.
fn undefined(reason: Reason) -> Undefined {
    Undefined::new(reason, f64::NAN)
}

/// Text on one line.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(verdict: Verdict, text: &str) -> Judgement {
        Judgement::new(verdict, ConditionReason::NotACondition { text: text.into() })
    }

    #[test]
    fn a_fail_decides_an_and_alone_and_a_pass_an_or() {
        let (pass, open, fail) = (Verdict::Pass, Verdict::Undecided, Verdict::Fail);
        for (a, b, and, or) in [
            (pass, pass, pass, pass),
            (pass, open, open, pass),
            (pass, fail, fail, pass),
            (open, open, open, open),
            (open, fail, fail, open),
            (fail, fail, fail, fail),
        ] {
            for (a, b) in [(a, b), (b, a)] {
                assert_eq!(both(part(a, "a"), part(b, "b"), Verdict::Fail).verdict, and, "{a} AND {b}");
                assert_eq!(both(part(a, "a"), part(b, "b"), Verdict::Pass).verdict, or, "{a} OR {b}");
            }
        }
    }

    #[test]
    fn two_reasons_of_equal_weight_are_both_given_and_one_reason_once() {
        let reason = |a: &str, b: &str| both(part(Verdict::Fail, a), part(Verdict::Fail, b), Verdict::Fail).reason;
        assert_eq!(reason("a", "a"), part(Verdict::Fail, "a").reason);
        let (a, b) = (part(Verdict::Fail, "a").reason, part(Verdict::Fail, "b").reason);
        assert_eq!(reason("a", "b"), ConditionReason::Both(Box::new(a), Box::new(b)).into());
    }

    #[test]
    fn the_most_gates_are_found() {
        for most in [1, 2, 7, 40, 1023, 1024] {
            assert_eq!(most_gates(|gates| gates <= most), most);
        }
    }

    #[test]
    fn shares_are_written_as_in_a_formula() {
        for (share, want) in [(0.5, "0.5"), (1.0 / 3.0, "0.333"), (1.0, "1"), (0.0, "0"), (0.000_123_4, "0.000123")] {
            assert_eq!(share_text(share), want);
        }
    }
}
