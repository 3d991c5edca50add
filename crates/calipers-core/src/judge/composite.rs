//! Formulas over metrics, and the condition that they have to meet.

use super::decide::{Decided, holds};
use super::measured::{Measured, Metrics, undefined};
use super::{Fault, Judge};
use crate::policy::{Arithmetic, Comparison, Composite, Expression, Formula, Mistake, Node, Rule, Span, Spanned};
use crate::{Caveat, CompositeResult, Figure, Mode, Tally, Term, Unit, Verdict};
use calipers_stats::weighted::{Component, Linearised, composite};
use indexmap::IndexMap;
use std::rc::Rc;

/// The values that formulas may name: metrics, normalised ones, and formulas before them.
pub(super) struct Formulas<'j, 'p> {
    judge: &'j Judge<'p>,
    values: IndexMap<String, Known>,
    pub(super) results: Vec<CompositeResult>,
}

/// A value with how far each sample moves it.
#[derive(Clone)]
struct Known {
    value: Option<f64>,
    influences: Option<Rc<Vec<f64>>>,
    /// The metric itself, if it is one as it is.
    measured: Option<Rc<Measured>>,
    unit: Unit,
}

impl<'j, 'p> Formulas<'j, 'p> {
    /// Evaluates all formulas of the policy, and the weighted score if metrics have weights.
    pub(super) fn new(judge: &'j Judge<'p>, metrics: &mut Metrics) -> Result<Self, Fault> {
        let mut formulas = Self { judge, values: IndexMap::new(), results: Vec::new() };
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
        let (value, linear) = (self.value(expression), self.linear(expression));
        let figure = self.figure(expression, value, linear.as_ref());
        self.results.push(CompositeResult {
            name: composite.name.value.clone(),
            formula: one_line(&composite.formula.value.text),
            figure,
            terms: self.terms(&composite.formula.value),
            gate: None,
        });
        let influences = self.influences(expression).map(Rc::new);
        let known = Known { value, influences, measured: None, unit: Unit::Plain };
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
            let known = match name.strip_prefix("normalized_").or_else(|| name.strip_prefix("normalised_")) {
                Some(what) => self.normalised(what, &spanned, metrics)?,
                None => {
                    let measured = metrics.get(self.judge, &spanned)?;
                    let influences = measured.influences(self.judge).map(Rc::new);
                    Known { value: measured.value(), influences, unit: measured.unit, measured: Some(measured) }
                }
            };
            self.values.insert(name.to_owned(), known);
        }
        Ok(())
    }

    /// A metric over its budget, between 0 and 1. `normalized_latency` is `latency_p95` over its budget.
    fn normalised(&self, what: &str, name: &Spanned<String>, metrics: &mut Metrics) -> Result<Known, Fault> {
        let metric = if what == "latency" { "latency_p95" } else { what };
        let metric = Spanned { value: metric.to_owned(), span: name.span.clone() };
        let measured = metrics.get(self.judge, &metric)?;
        let Some(budget) = self.judge.budget(&metric.value)? else {
            return Err(Mistake {
                message: format!("`{}` has no budget: nothing says what {} is divided by", name.value, metric.value),
                span: Some(name.span.clone()),
                hint: Some(format!("add `\"normalize\": {{\"{}\": 10000}}` or a threshold for it", metric.value)),
            }
            .into());
        };
        let share = measured.value().map(|value| value / budget);
        let is_inside = share.is_some_and(|share| (0.0..=1.0).contains(&share));
        let influences = measured
            .influences(self.judge)
            .map(|moved| Rc::new(moved.iter().map(|x| if is_inside { x / budget } else { 0.0 }).collect::<Vec<f64>>()));
        Ok(Known { value: share.map(|share| share.clamp(0.0, 1.0)), influences, measured: None, unit: Unit::Plain })
    }

    fn value(&self, expression: &Expression) -> Option<f64> {
        expression.value(&|name| self.values.get(name)?.value)
    }

    /// How far each sample moves an expression: as far as it moves the metrics in it (the delta method).
    fn influences(&self, expression: &Expression) -> Option<Vec<f64>> {
        let mut moved = vec![0.0; self.judge.samples.len()];
        for name in expression.names() {
            let slope = self.slope(expression, name)?;
            if slope != 0.0 {
                let influences = self.values.get(name)?.influences.as_ref()?;
                moved.iter_mut().zip(influences.iter()).for_each(|(moved, x)| *moved += slope * x);
            }
        }
        Some(moved)
    }

    /// How steeply an expression rises with a name.
    fn slope(&self, expression: &Expression, name: &str) -> Option<f64> {
        let at = self.values.get(name)?.value?;
        let step = 1e-6 * at.abs().max(1.0);
        let moved = |by: f64| {
            expression.value(&|other| if other == name { Some(at + by) } else { self.values.get(other)?.value })
        };
        Some((moved(step)? - moved(-step)?) / (2.0 * step))
    }

    fn linear(&self, expression: &Expression) -> Option<Linearised> {
        let influences = self.influences(expression)?;
        let estimate = self.value(expression)?;
        composite(&[Component { weight: 1.0, estimate, influences: &influences }], None).ok()
    }

    fn figure(&self, expression: &Expression, value: Option<f64>, linear: Option<&Linearised>) -> Figure {
        let Some(value) = value else {
            let missing = expression
                .names()
                .into_iter()
                .find(|name| self.values.get(*name).is_none_or(|known| known.value.is_none()));
            return undefined(
                missing.map_or_else(|| "the formula has no value".to_owned(), |name| format!("`{name}` is undefined")),
            );
        };
        let n = linear.map_or(self.judge.samples.len() as u64, |linear| linear.units);
        let mut figure = Figure::new(value, Tally { n, missing: 0 }, "formula, errors by the delta method");
        if let Some(linear) = linear.filter(|linear| linear.stderr.is_ok_and(|error| error > 0.0)) {
            figure.interval = linear.interval(self.judge.context.confidence).ok();
            figure.caveats.extend(linear.caveats().into_iter().map(Caveat::from));
        }
        figure
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

    /// The formula that a condition compares with a number, and that comparison: the first one, if there is any.
    pub(super) fn main(&self, condition: &Expression) -> Option<(Figure, Rule)> {
        let mut found = None;
        condition.visit(&mut |part| {
            if let (None, Node::Compare(comparison, left, right)) = (&found, &part.node)
                && let (Node::Name(name), Node::Number(value)) = (&left.node, &right.node)
                && let Some(result) = self.results.iter().find(|result| result.name == *name)
            {
                found = Some((result.figure.clone(), Rule { comparison: *comparison, value: *value }));
            }
        });
        found
    }

    /// The verdict on a condition, by three-valued logic: what is undecided stays so unless the rest decides.
    pub(super) fn condition(&self, formula: &Formula, expression: &Expression, mode: Mode) -> Decided {
        let text = || one_line(&formula.text[expression.range.clone()]);
        match &expression.node {
            Node::And(a, b) => both(self.condition(formula, a, mode), self.condition(formula, b, mode), Verdict::Fail),
            Node::Or(a, b) => both(self.condition(formula, a, mode), self.condition(formula, b, mode), Verdict::Pass),
            Node::Not(a) => {
                let decided = self.condition(formula, a, mode);
                let verdict = match decided.verdict {
                    Verdict::Pass => Verdict::Fail,
                    Verdict::Fail => Verdict::Pass,
                    Verdict::Undecided => Verdict::Undecided,
                };
                Decided { verdict, reason: format!("not: {}", decided.reason), ..decided }
            }
            Node::Compare(comparison, left, right) => {
                let decided = self.comparison(*comparison, left, right, mode);
                Decided { reason: format!("{}: {}", text(), decided.reason), ..decided }
            }
            _ => Decided::new(Verdict::Undecided, format!("`{}` is a number, not a condition", text())),
        }
    }

    fn comparison(&self, comparison: Comparison, left: &Expression, right: &Expression, mode: Mode) -> Decided {
        if left.names().is_empty() && !right.names().is_empty() {
            return self.comparison(comparison.turned(), right, left, mode);
        }
        let (Some(value), Some(threshold)) = (self.value(left), self.value(right)) else {
            let missing = left.names().into_iter().chain(right.names());
            let missing =
                missing.into_iter().find(|name| self.values.get(*name).is_none_or(|known| known.value.is_none()));
            return Decided::new(Verdict::Undecided, format!("`{}` is undefined", missing.unwrap_or("it")));
        };
        let rule = Rule { comparison, value: threshold };
        // A metric as it is has better evidence than its slope.
        if let (Node::Name(name), true) = (&left.node, right.names().is_empty())
            && let Some(Known { measured: Some(measured), unit, .. }) = self.values.get(name)
        {
            return self.judge.asked(measured, rule, *unit).decide(mode);
        }
        let shown = |x: f64| Unit::Plain.show(x);
        let best = |expression: &Expression| expression.value(&|name| self.without_errors(name));
        let is_broken =
            || best(left).zip(best(right)).is_some_and(|(left, right)| holds(Rule { value: right, ..rule }, left));
        match mode {
            Mode::Point if holds(rule, value) => Decided::new(Verdict::Pass, shown(value)),
            _ if !holds(rule, value) && is_broken() => {
                let reason = format!("{}, but it may hold but for samples that ended in an error", shown(value));
                Decided::new(Verdict::Undecided, reason)
            }
            Mode::Point => Decided::new(Verdict::Fail, shown(value)),
            Mode::Confidence(level) => self.bounded(rule, left, right, level),
        }
    }

    /// The value that a name would have if nothing had ended in an error.
    fn without_errors(&self, name: &str) -> Option<f64> {
        if let Some(composite) = self.judge.policy.composite.iter().find(|composite| composite.name.value == name) {
            return composite.formula.value.expression.value(&|name| self.without_errors(name));
        }
        let known = self.values.get(name)?;
        let measured = known.measured.as_ref();
        let rule = Rule { comparison: Comparison::AtLeast, value: 1.0 };
        let best = measured.and_then(|measured| self.judge.asked(measured, rule, known.unit).without_errors());
        best.map(|(_, best)| best).or(known.value)
    }

    /// Decides by the one-sided bound of the difference of both sides.
    fn bounded(&self, rule: Rule, left: &Expression, right: &Expression, level: f64) -> Decided {
        let (a, b) = (self.influences(left), self.influences(right));
        let difference = a.zip(b).and_then(|(a, b)| {
            let influences: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
            let estimate = self.value(left)? - self.value(right)?;
            composite(&[Component { weight: 1.0, estimate, influences: &influences }], None).ok()
        });
        let confidence = calipers_stats::Confidence::two_sided(2.0 * level - 1.0).ok();
        let interval = difference
            .filter(|linear| linear.stderr.is_ok_and(|error| error > 0.0))
            .zip(confidence)
            .and_then(|(linear, confidence)| linear.interval(confidence).ok());
        let Some((Some(lower), Some(upper))) = interval.map(|interval| (interval.lower, interval.upper)) else {
            return Decided::new(Verdict::Undecided, "its error is not known");
        };
        let up = matches!(rule.comparison, Comparison::AtLeast | Comparison::Above);
        let (passes, fails) = if up { (lower >= 0.0, upper <= 0.0) } else { (upper <= 0.0, lower >= 0.0) };
        let verdict = match (rule.comparison, passes, fails) {
            (Comparison::Equal, ..) | (_, false, false) => Verdict::Undecided,
            (_, true, _) => Verdict::Pass,
            _ => Verdict::Fail,
        };
        let range =
            format!("between {} and {}", Unit::Plain.show(rule.value + lower), Unit::Plain.show(rule.value + upper));
        Decided::new(verdict, format!("{range} with {} confidence", Unit::Rate.show(level)))
    }
}

/// Two parts of a condition. `strong` decides alone: a fail in an AND, a pass in an OR.
fn both(a: Decided, b: Decided, strong: Verdict) -> Decided {
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
        std::cmp::Ordering::Equal => Decided { reason: format!("{}; {}", a.reason, b.reason), ..a },
    }
}

/// The weighted score of metrics, Σ weight × metric / Σ weight, as a formula.
fn weighted_score(judge: &Judge<'_>) -> Result<Option<Composite>, Fault> {
    let weights = &judge.policy.weights.by_metric;
    let Some((first, _)) = weights.first() else { return Ok(None) };
    let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
    if total <= 0.0 {
        return Err(Mistake {
            message: "the weights of the metrics add up to 0".into(),
            span: Some(first.span.clone()),
            hint: Some("give at least one metric a weight above 0".into()),
        }
        .into());
    }
    let span = first.span.clone();
    Ok(Some(Composite {
        name: Spanned { value: "weighted_score".into(), span: span.clone() },
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
        text.push_str(&Unit::Plain.show(weight / total));
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

/// Text on one line.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
