//! One-sided bounds of formulas.
//!
//! A weighted sum of means over units is itself a mean over units, of what each unit adds to all of them. So it is bounded as
//! every mean is, by Gaffke's bound: an unseen unit is taken to move every metric as far to the wrong side as one unit can. That
//! needs no variance, so it holds where metrics are perfect and do not vary at all, and metrics that rise and fall together
//! are not counted as independent. A ratio of sums moves by what a unit adds beyond its share (Taylor linearisation).
//!
//! Everything else is bounded by itself, as in a gate on it, with a part of the error that is allowed: quantiles, which jump where
//! no slope tells; metrics in products, in quotients and in functions such as `min`, where the estimate may hide which of them
//! matters; metrics over a budget, beyond which they move nothing; and metrics that say nothing about their units. The
//! formula then takes the worst value that it can have while these metrics stay within their bounds.

use super::composite::{FormulaValue, Formulas};
use super::measurement::Measurement;
use super::threshold_question::{Fill, ThresholdQuestion};
use super::units::{UnitKey, UnitRows, Units, UnseenUnit};
use crate::Unbounded;
use crate::limits::LimitEnd;
use crate::policy::{Arithmetic, Comparison, Expression, Looks, Node, Rule};
use calipers_core::{Evidence, Scope, Unit};
use calipers_stats::bounded_ratio::{BoundedRatio, Term};
use calipers_stats::{Confidence, ExactSum, Method};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// An end of an interval.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum End {
    Low,
    High,
}

impl End {
    fn of(self, (low, high): (f64, f64)) -> f64 {
        if self == Self::Low { low } else { high }
    }
}

/// A metric with the values that it may have.
type MetricBounds<'e> = (&'e str, (f64, f64));

/// What units say of a metric in a formula: the metric moves by `scale` · (numerator − value · denominator) with each.
struct Movement {
    rows: UnitRows,
    /// True when the policy's suite, and no outcome, decides which samples it is about.
    is_by_design: bool,
    /// The value of the metric, with missing ones filled in.
    value: f64,
    scale: f64,
}

/// The metrics of an expression: those that it is a weighted sum of, with their weights, and all others.
#[derive(Default)]
struct WeightedSum<'e> {
    weights: Vec<(&'e str, f64)>,
    others: Vec<&'e str>,
}

impl<'e> WeightedSum<'e> {
    fn add(&mut self, name: &'e str, weight: f64) {
        match self.weights.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known += weight,
            None => self.weights.push((name, weight)),
        }
    }

    /// The weight of a metric that is added and does nothing else.
    fn weight(&self, name: &str) -> Option<f64> {
        let known = self.weights.iter().find(|(known, _)| *known == name);
        known.filter(|_| !self.others.contains(&name)).map(|(_, weight)| *weight)
    }
}

/// A formula as a mean over units.
struct FormulaMean {
    ratio: BoundedRatio,
    estimate: f64,
    /// The values of its metrics, with missing ones filled in.
    values: HashMap<String, f64>,
}

/// What was found out about units: it is asked for several times, for bounds on both sides and at several levels.
#[derive(Default)]
pub(super) struct KnownMovements {
    of_metrics: KnownBy<Fill, Movement>,
    of_formulas: KnownBy<End, FormulaMean>,
}

/// What is known by a name and a side; nothing where there is nothing to know.
type KnownBy<Side, T> = RefCell<HashMap<(String, Side), Option<Rc<T>>>>;

/// What part of the error that is allowed a metric that is bounded by itself may have, beside the others together.
const CORNER_SHARE: f64 = 0.1;

/// Bounds of a metric, as shares of what it can reach: low, around the middle, high.
const PLACES_IN_REACH: [(f64, f64); 3] = [(0.1, 0.4), (0.3, 0.7), (0.6, 0.9)];

impl Formulas<'_, '_> {
    /// The one-sided bounds of an expression, wrong with these probabilities at most, within what it can reach; none where nothing
    /// bounds it.
    pub(super) fn bounds(&self, expression: &Expression, (low, high): (f64, f64)) -> (Option<f64>, Option<f64>) {
        let apart = self.metrics_apart(expression);
        (self.end(expression, &apart, low, End::Low), self.end(expression, &apart, high, End::High))
    }

    /// The metrics of an expression that are bounded by themselves, since it is not a sum of what units add to them.
    pub(super) fn metrics_apart<'e>(&'e self, expression: &'e Expression) -> Vec<&'e str> {
        let sum = self.weighted_sum(expression);
        let is_apart = |name: &&str| {
            sum.weight(name).is_none()
                || [Fill::Bad, Fill::Good].into_iter().any(|side| self.movement(name, side).is_none())
        };
        self.leaves(expression).into_iter().filter(is_apart).collect()
    }

    /// The metrics that an expression adds up, and those with which it does anything else.
    fn weighted_sum<'e>(&'e self, expression: &'e Expression) -> WeightedSum<'e> {
        let mut sum = WeightedSum::default();
        self.add_weights(expression, 1.0, &mut sum);
        sum
    }

    fn add_weights<'e>(&'e self, expression: &'e Expression, times: f64, sum: &mut WeightedSum<'e>) {
        // What names no metric is a number.
        let number = |part: &Expression| self.value_with(part, &|_| None);
        match &expression.node {
            Node::Number(_) => {}
            Node::Name(name) => match self.formula(name) {
                Some(inner) => self.add_weights(inner, times, sum),
                None => sum.add(name, times),
            },
            Node::Negate(x) => self.add_weights(x, -times, sum),
            Node::Arithmetic(Arithmetic::Add, x, y) => {
                self.add_weights(x, times, sum);
                self.add_weights(y, times, sum);
            }
            Node::Arithmetic(Arithmetic::Subtract, x, y) => {
                self.add_weights(x, times, sum);
                self.add_weights(y, -times, sum);
            }
            Node::Arithmetic(Arithmetic::Multiply, x, y) => match (number(x), number(y)) {
                (Some(factor), _) => self.add_weights(y, times * factor, sum),
                (_, Some(factor)) => self.add_weights(x, times * factor, sum),
                _ => sum.others.extend(self.leaves(expression)),
            },
            Node::Arithmetic(Arithmetic::Divide, x, y) => match number(y) {
                Some(divisor) => self.add_weights(x, times / divisor, sum),
                None => sum.others.extend(self.leaves(expression)),
            },
            _ => sum.others.extend(self.leaves(expression)),
        }
    }

    /// The number of units that an expression rests on.
    pub(super) fn units(&self, expression: &Expression) -> u64 {
        let apart = self.metrics_apart(expression);
        self.mean(expression, &apart, End::Low).map_or(self.judge.samples.len() as u64, |mean| mean.ratio.units())
    }

    /// The name of the method that bounds an expression.
    pub(super) fn method(&self, expression: &Expression) -> Method {
        match (self.metrics_apart(expression).is_empty(), self.judge.policy.looks, self.judge.units()) {
            (false, ..) => Method::Bonferroni,
            (_, Looks::Any, _) => Method::Betting,
            (_, _, Units::Clusters(_)) => Method::GaffkeClustered,
            _ => Method::Gaffke,
        }
    }

    /// The least and the greatest value that an expression can have.
    pub(super) fn reach(&self, expression: &Expression) -> Option<(f64, f64)> {
        self.range(expression, &|name| self.values.get(name).map(|known| known.reach))
    }

    /// A metric of an expression that nothing bounds at one of its ends, and the limit that it lacks.
    pub(super) fn find_unbounded<'e>(
        &'e self,
        expression: &'e Expression,
        alpha: f64,
    ) -> Option<(&'e str, Option<Unbounded>)> {
        let is_open = |name: &&str| {
            let (low, high) = self.bounds_apart(name, alpha);
            low.is_infinite() || high.is_infinite()
        };
        let name = self.metrics_apart(expression).into_iter().find(is_open)?;
        let measured = self.values.get(name).and_then(|known| known.measured.as_ref());
        let missing = measured.and_then(|measured| {
            let missing = |end| measured.ranges.missing(end, None);
            missing(LimitEnd::Most).or_else(|| missing(LimitEnd::Least))
        });
        Some((name, missing))
    }

    fn end(&self, expression: &Expression, apart: &[&str], alpha: f64, end: End) -> Option<f64> {
        let all_apart = apart.len() == self.leaves(expression).len();
        let at = |alpha: f64| -> Vec<MetricBounds<'_>> {
            apart.iter().map(|name| (*name, self.bounds_apart(name, alpha))).collect()
        };
        let used = self.bounds_used(expression, apart, end).max(1) as f64;
        let (alpha_apart, alpha_mean) = if all_apart {
            (alpha / used, 0.0)
        } else {
            let each = (alpha * CORNER_SHARE).min(alpha / 2.0 / used);
            (each, if apart.is_empty() { alpha } else { alpha - used * each })
        };
        let bounds = at(alpha_apart);
        let bound = if all_apart {
            end.of(self.range_within(expression, &bounds, &HashMap::new())?)
        } else {
            let mean = self.mean(expression, apart, end)?;
            let corner = end.of(self.range_within(expression, &bounds, &mean.values)?);
            corner + self.mean_bound(&mean, alpha_mean, end)? - mean.estimate
        };
        let (low, high) = self.reach(expression).unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        Some(bound.max(low).min(high)).filter(|bound| bound.is_finite())
    }

    fn mean_bound(&self, mean: &FormulaMean, alpha: f64, end: End) -> Option<f64> {
        let confidence = match end {
            End::Low => Confidence::lower(1.0 - alpha),
            End::High => Confidence::upper(1.0 - alpha),
        };
        let ratio = &mean.ratio;
        let interval = match self.judge.policy.looks {
            Looks::Once => ratio.interval(confidence.ok()?),
            Looks::Any => ratio.interval_at_any_time(confidence.ok()?),
        };
        if end == End::Low { interval.lower } else { interval.upper }
    }

    /// An expression as a mean over units, missing values filled in for this end. Metrics that are bounded by themselves stay
    /// where they are.
    fn mean(&self, expression: &Expression, apart: &[&str], end: End) -> Option<Rc<FormulaMean>> {
        // Where nothing is missing, there is nothing to fill in for either end.
        let is_complete = |name: &str| self.values.get(name).is_some_and(|known| self.is_as_measured(known));
        let end = if self.leaves(expression).into_iter().all(is_complete) { End::Low } else { end };
        let key = (format!("{expression:?}"), end);
        if let Some(known) = self.known.of_formulas.borrow().get(&key) {
            return known.clone();
        }
        let mean = self.find_mean(expression, apart, end).map(Rc::new);
        self.known.of_formulas.borrow_mut().insert(key, mean.clone());
        mean
    }

    fn find_mean(&self, expression: &Expression, apart: &[&str], end: End) -> Option<FormulaMean> {
        let mut values = HashMap::new();
        let mut moving = Vec::new();
        let sum = self.weighted_sum(expression);
        for name in self.leaves(expression).into_iter().filter(|name| !apart.contains(name)) {
            let slope = sum.weight(name)?;
            let is_low = (slope >= 0.0) == (end == End::Low);
            let movement = self.movement(name, if is_low { Fill::Bad } else { Fill::Good })?;
            values.insert(name.to_owned(), movement.value);
            moving.push((slope, movement));
        }
        let units = self.judge.units();
        let mut moved: Vec<(UnitKey, f64)> = Vec::new();
        // An unseen unit is of a kind that there is: none is in two categories. What any unit may be part of, it is part of.
        let (mut least, mut most) = (0.0, 0.0);
        let mut kinds: Vec<(UnitKey, (f64, f64))> = Vec::new();
        for (slope, movement) in &moving {
            let by = |term: Term| slope * movement.scale * (term.numerator - movement.value * term.denominator);
            let keys = movement.rows.keys(units);
            moved.extend(keys.into_iter().zip(movement.rows.rows.iter().map(|row| by(row.1))));
            let reach = |worst: Term, best: Term| {
                let (a, b) = (by(worst), by(best));
                (a.min(b).min(0.0), a.max(b).max(0.0))
            };
            let each = movement.is_by_design.then(|| movement.rows.unseen_of_each(units)).flatten();
            if let Some(each) = each {
                let known = |(key, unseen): (UnitKey, UnseenUnit)| {
                    Some((key, unseen.least.zip(unseen.most).map(|(worst, best)| reach(worst, best))?))
                };
                kinds.extend(each.into_iter().filter_map(known));
            } else {
                let unseen = movement.rows.unseen(units);
                let (low, high) = unseen.least.zip(unseen.most).map(|(worst, best)| reach(worst, best))?;
                least += low;
                most += high;
            }
        }
        // In one order, so that the order of arrival changes no bit.
        kinds.sort_by(|(a, x), (b, y)| a.cmp(b).then(x.0.total_cmp(&y.0)).then(x.1.total_cmp(&y.1)));
        let kinds = kinds
            .chunk_by(|a, b| a.0 == b.0)
            .map(|rows| rows.iter().fold((0.0, 0.0), |(low, high), (_, reach)| (low + reach.0, high + reach.1)));
        let (worst, best) =
            kinds.fold((0.0f64, 0.0f64), |(low, high), kind: (f64, f64)| (low.min(kind.0), high.max(kind.1)));
        (least, most) = (least + worst, most + best);
        moved.sort_by(|(a, x), (b, y)| a.cmp(b).then(x.total_cmp(y)));
        let sums = moved.chunk_by(|a, b| a.0 == b.0).map(|rows| rows.iter().map(|row| row.1).sum::<f64>());
        let sums: Vec<f64> = sums.collect();
        let estimate =
            self.value_with(expression, &|name| values.get(name).copied().or_else(|| self.values.get(name)?.value))?;
        let n = sums.len() as f64;
        let term = |moved: f64| Term::new(estimate + n * moved, 1.0);
        let ratio = BoundedRatio::new(sums.into_iter().map(term), term(least), term(most)).ok()?;
        Some(FormulaMean { ratio, estimate, values })
    }

    /// What units say of a metric, with missing values and errors taken for the worst or the best; none where it is not a mean or a
    /// ratio of sums, or is cut off at a budget.
    fn movement(&self, name: &str, side: Fill) -> Option<Rc<Movement>> {
        let is_complete = self.values.get(name).is_some_and(|known| self.is_as_measured(known));
        let side = if is_complete { Fill::Bad } else { side };
        let key = (name.to_owned(), side);
        if let Some(known) = self.known.of_metrics.borrow().get(&key) {
            return known.clone();
        }
        let movement = self.find_movement(name, side).map(Rc::new);
        self.known.of_metrics.borrow_mut().insert(key, movement.clone());
        movement
    }

    fn find_movement(&self, name: &str, side: Fill) -> Option<Movement> {
        let known = self.values.get(name).filter(|known| known.budget.is_none())?;
        let measured = known.measured.as_ref()?;
        if let Evidence::Quantile { .. } = measured.evidence.as_ref()? {
            return None;
        }
        let rule = Rule { comparison: Comparison::AtLeast, value: 0.0 };
        let asked = self.asked(measured, rule, known.unit);
        let fills = asked.fills();
        let rows = asked.rows(if side == Fill::Bad { fills.0 } else { fills.1 }, side).ok()?;
        let sum = |of: fn(&Term) -> f64| {
            let mut sum = ExactSum::default();
            rows.rows.iter().for_each(|row| sum.add(of(&row.1)));
            sum.value()
        };
        let total = sum(|term| term.denominator);
        let value = if self.is_as_measured(known) { measured.value()? } else { sum(|term| term.numerator) / total };
        let scale = total.recip();
        let is_by_design = measured.scope != Scope::Unknown;
        let is_bounded = value.is_finite() && scale.is_finite() && rows.limits.has_ends();
        is_bounded.then_some(Movement { rows, is_by_design, value, scale })
    }

    /// A metric of a formula beside a threshold.
    fn asked<'q>(&'q self, measured: &'q Measurement, rule: Rule, unit: Unit) -> ThresholdQuestion<'q> {
        ThresholdQuestion { is_in_formula: true, ..self.judge.question(measured, rule, unit) }
    }

    /// True when nothing is filled in or set right, so that the value is the one that is shown, to the last bit.
    fn is_as_measured(&self, known: &FormulaValue) -> bool {
        let has_missing = |measured: &Measurement| {
            measured.evidence.as_ref().is_some_and(Evidence::has_missing) || !measured.partly.is_empty()
        };
        !known.measured.as_ref().is_some_and(|measured| has_missing(measured))
            && !self.judge.errored.iter().any(|is| *is)
    }

    /// The range of an expression while these metrics are within their bounds, and the others at these values or where they
    /// are.
    fn range_within(
        &self,
        expression: &Expression,
        apart: &[MetricBounds<'_>],
        values: &HashMap<String, f64>,
    ) -> Option<(f64, f64)> {
        self.range(expression, &|name| match apart.iter().find(|(known, _)| *known == name) {
            Some((_, bounds)) => Some(*bounds),
            None => values.get(name).copied().or_else(|| self.values.get(name)?.value).map(|value| (value, value)),
        })
    }

    /// How many bounds of metrics an end of the range may rest on: what a formula only rises with matters at one side.
    ///
    /// That is read from the formula and not from the run, and every metric counts at least once, also where its bound says nothing.
    /// Else a run that is a little better, in which a bound says a little, would leave less of the error for the others.
    fn bounds_used(&self, expression: &Expression, apart: &[&str], end: End) -> usize {
        let none = HashMap::new();
        let at_end =
            |bounds: &[MetricBounds<'_>]| self.range_within(expression, bounds, &none).map(|range| end.of(range));
        let sides = apart.iter().enumerate().map(|(place, name)| {
            let (least, most) = self.reach_of(name);
            let matters = |is_low: bool| {
                PLACES_IN_REACH.iter().any(|(from, to)| {
                    let within = |name: &&'_ str| {
                        let (least, most) = self.reach_of(name);
                        (least + from * (most - least), least + to * (most - least))
                    };
                    let mut bounds: Vec<MetricBounds<'_>> = apart.iter().map(|name| (*name, within(name))).collect();
                    let as_it_is = at_end(&bounds);
                    if is_low {
                        bounds[place].1.0 = least;
                    } else {
                        bounds[place].1.1 = most;
                    }
                    at_end(&bounds) != as_it_is
                })
            };
            (usize::from(matters(true)) + usize::from(matters(false))).max(1)
        });
        sides.sum()
    }

    /// What a metric can reach, or, where nothing limits it, far beyond what it is.
    fn reach_of(&self, name: &str) -> (f64, f64) {
        let Some(known) = self.values.get(name) else { return (-1.0, 1.0) };
        let value = known.value.unwrap_or(0.0);
        let far = 10.0 * value.abs().max(1.0);
        let (low, high) = known.reach;
        (if low.is_finite() { low } else { value - far }, if high.is_finite() { high } else { value + far })
    }

    /// The bounds of a metric by itself at 1 − α each, within what it can reach.
    fn bounds_apart(&self, name: &str, alpha: f64) -> (f64, f64) {
        let key = (name.to_owned(), alpha.to_bits());
        if let Some(known) = self.apart.borrow().get(&key) {
            return *known;
        }
        let bounds = self.bounds_of(name, alpha);
        self.apart.borrow_mut().insert(key, bounds);
        bounds
    }

    fn bounds_of(&self, name: &str, alpha: f64) -> (f64, f64) {
        let Some(known) = self.values.get(name) else { return (f64::NEG_INFINITY, f64::INFINITY) };
        let reach = known.reach;
        let Some(measured) = &known.measured else { return reach };
        let rule = Rule { comparison: Comparison::AtLeast, value: 0.0 };
        let (low, high) = self.asked(measured, rule, known.unit).bounds_at(alpha);
        let scaled = |bound: f64| (bound / known.budget.unwrap_or(1.0)).clamp(reach.0, reach.1);
        (low.map_or(reach.0, scaled), high.map_or(reach.1, scaled))
    }

    /// The values that an expression could have if what is missing had been there: from the worst to the best.
    pub(super) fn range_with_missing(&self, expression: &Expression) -> Option<(f64, f64)> {
        self.range(expression, &|name| {
            let known = self.values.get(name)?;
            let value = known.value?;
            let rule = Rule { comparison: Comparison::AtLeast, value: 0.0 };
            let ends = known.measured.as_ref().and_then(|measured| {
                let asked = self.asked(measured, rule, known.unit);
                asked.with_missing(true).zip(asked.with_missing(false))
            });
            let scaled = |x: f64| (x / known.budget.unwrap_or(1.0)).clamp(known.reach.0, known.reach.1);
            Some(ends.map_or((value, value), |(low, high)| (scaled(low), scaled(high))))
        })
    }

    /// The metrics in an expression, and in the formulas that it names, each once.
    pub(super) fn leaves<'e>(&'e self, expression: &'e Expression) -> Vec<&'e str> {
        let mut leaves = Vec::new();
        for name in expression.names() {
            let found = self.formula(name).map_or_else(|| vec![name], |inner| self.leaves(inner));
            found.into_iter().for_each(|leaf| {
                if !leaves.contains(&leaf) {
                    leaves.push(leaf);
                }
            });
        }
        leaves
    }

    /// The formula of a name, if it is one.
    pub(super) fn formula(&self, name: &str) -> Option<&Expression> {
        self.values.get(name)?.formula.as_deref()
    }

    /// The value of an expression for these values of its metrics.
    pub(super) fn value_with(&self, expression: &Expression, of: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
        expression.value(&|name| match self.formula(name) {
            Some(inner) => self.value_with(inner, of),
            None => of(name),
        })
    }

    fn range(&self, expression: &Expression, of: &dyn Fn(&str) -> Option<(f64, f64)>) -> Option<(f64, f64)> {
        expression.range(&|name| match self.formula(name) {
            Some(inner) => self.range(inner, of),
            None => of(name),
        })
    }
}
