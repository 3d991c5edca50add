//! One-sided bounds of formulas.
//!
//! The delta method knows of a formula what its samples show by varying. A metric at the end of its range does not vary,
//! and of 5 of 5 the method would say that it is known exactly. Such metrics are bounded exactly, each by itself, and the
//! formula takes the worst of what they may be together; the others stay with the delta method, shares with a little weight
//! at both ends, as in intervals of them. The level is shared among all bounds that are used at once (Bonferroni), so the
//! whole holds as often as it says.

use super::composite::Formulas;
use crate::policy::{Comparison, Expression, OnMissingValues, Rule};
use calipers_core::{Evidence, Unit};
use calipers_stats::Confidence;
use calipers_stats::weighted::{Component, Linearisation, composite};

/// An end of an interval.
#[derive(Clone, Copy, PartialEq)]
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

impl Formulas<'_, '_> {
    /// The one-sided bounds of an expression at 1 − α each, within what it can reach; none where nothing bounds it.
    pub(super) fn bounds(&self, expression: &Expression, alpha: f64) -> (Option<f64>, Option<f64>) {
        let exact = self.metrics_to_bound_exactly(expression);
        (self.end(expression, &exact, alpha, End::Low), self.end(expression, &exact, alpha, End::High))
    }

    /// The metrics of an expression that the delta method says nothing of.
    pub(super) fn metrics_to_bound_exactly<'e>(&'e self, expression: &'e Expression) -> Vec<&'e str> {
        self.leaves(expression).into_iter().filter(|name| self.needs_exact_bound(name)).collect()
    }

    /// The least and the greatest value that an expression can have.
    pub(super) fn reach(&self, expression: &Expression) -> Option<(f64, f64)> {
        self.range(expression, &|name| self.values.get(name).map(|known| known.reach))
    }

    /// The error of an expression by the delta method, as far as these metrics are not bounded exactly.
    pub(super) fn linear(&self, expression: &Expression, but: &[&str]) -> Option<Linearisation> {
        let influences = self.influences(expression, but)?;
        let estimate = self.value(expression)?;
        composite(&[Component { weight: 1.0, estimate, influences: &influences }], None).ok()
    }

    /// A metric of an expression that nothing bounds at one of its ends.
    pub(super) fn find_unbounded<'e>(&'e self, expression: &'e Expression, alpha: f64) -> Option<&'e str> {
        let is_open = |name: &&str| {
            let (low, high) = self.exact_bounds(name, alpha);
            low.is_infinite() || high.is_infinite()
        };
        self.metrics_to_bound_exactly(expression).into_iter().find(is_open)
    }

    fn needs_exact_bound(&self, name: &str) -> bool {
        let Some(known) = self.values.get(name) else { return true };
        let (low, high) = known.reach;
        let is_at_an_end = known.value.is_none_or(|value| value <= low || value >= high);
        let varies = known.influences.as_ref().is_some_and(|moved| moved.iter().any(|x| *x != 0.0));
        let is_taken_for_the_worst = self.judge.policy.missing == OnMissingValues::Worst
            && known
                .measured
                .as_ref()
                .and_then(|measured| measured.evidence.as_ref())
                .is_some_and(Evidence::has_missing);
        is_at_an_end || !varies || is_taken_for_the_worst
    }

    fn end(&self, expression: &Expression, exact: &[&str], alpha: f64, end: End) -> Option<f64> {
        let estimate = self.value(expression)?;
        let is_exact = exact.len() == self.leaves(expression).len();
        let varies = !is_exact && self.linear(expression, exact)?.stderr.ok()? > 0.0;
        let at = |alpha: f64| -> Vec<MetricBounds<'_>> {
            exact.iter().map(|name| (*name, self.exact_bounds(name, alpha))).collect()
        };
        let used = self.bounds_used(expression, &at(alpha), end) + usize::from(varies);
        let alpha = alpha / used.max(1) as f64;
        let corner = end.of(self.range_within(expression, &at(alpha))?);
        let moved = if varies {
            let confidence = Confidence::two_sided(1.0 - 2.0 * alpha).ok()?;
            let interval = self.linearise_varying(expression, exact, confidence)?.interval(confidence).ok()?;
            (if end == End::Low { interval.lower } else { interval.upper })? - estimate
        } else {
            0.0
        };
        let (low, high) = self.reach(expression).unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        Some((corner + moved).max(low).min(high)).filter(|bound| bound.is_finite())
    }

    /// What the delta method says of the metrics that vary, each share with a little weight at both of its ends, and on no
    /// more samples than any of them rests on.
    fn linearise_varying(
        &self,
        expression: &Expression,
        exact: &[&str],
        confidence: Confidence,
    ) -> Option<Linearisation> {
        let mut linear = self.linear(expression, exact)?;
        let mut variance = linear.stderr.ok()?.powi(2);
        for name in self.leaves(expression).into_iter().filter(|name| !exact.contains(name)) {
            let known = self.values.get(name)?;
            let n = known.measured.as_ref()?.samples(self.judge);
            linear.units = linear.units.min(n.max(2.0) as u64);
            if known.unit == Unit::Rate {
                let component =
                    Component { weight: 1.0, estimate: known.value?, influences: known.influences.as_ref()? };
                let alone = composite(&[component], None).ok()?;
                let drawn = alone.with_ends(n, confidence).ok()?;
                let slope = self.slope(expression, name)?;
                linear.estimate += slope * (drawn.estimate - alone.estimate);
                variance += slope.powi(2) * (drawn.stderr.ok()?.powi(2) - alone.stderr.ok()?.powi(2)).max(0.0);
            }
        }
        Some(Linearisation { stderr: Ok(variance.sqrt()), ..linear })
    }

    /// The range of an expression while these metrics are within their bounds, and the others where they are.
    fn range_within(&self, expression: &Expression, exact: &[MetricBounds<'_>]) -> Option<(f64, f64)> {
        self.range(expression, &|name| match exact.iter().find(|(known, _)| *known == name) {
            Some((_, bounds)) => Some(*bounds),
            None => self.values.get(name)?.value.map(|value| (value, value)),
        })
    }

    /// How many bounds an end of the range rests on. What a formula only rises with matters at one side.
    fn bounds_used(&self, expression: &Expression, exact: &[MetricBounds<'_>], end: End) -> usize {
        let as_it_is = self.range_within(expression, exact);
        let matters = |place: usize, bounds: (f64, f64)| {
            let mut others = exact.to_vec();
            others[place].1 = bounds;
            self.range_within(expression, &others).map(|range| end.of(range)) != as_it_is.map(|range| end.of(range))
        };
        let sides = exact.iter().enumerate().map(|(place, (name, (low, high)))| {
            let reach = self.values.get(*name).map_or((f64::NEG_INFINITY, f64::INFINITY), |known| known.reach);
            usize::from(matters(place, (reach.0, *high))) + usize::from(matters(place, (*low, reach.1)))
        });
        sides.sum()
    }

    /// The bounds of a metric by itself at 1 − α each, within what it can reach.
    fn exact_bounds(&self, name: &str, alpha: f64) -> (f64, f64) {
        let key = (name.to_owned(), alpha.to_bits());
        if let Some(known) = self.exact.borrow().get(&key) {
            return *known;
        }
        let bounds = self.bounds_of(name, alpha);
        self.exact.borrow_mut().insert(key, bounds);
        bounds
    }

    fn bounds_of(&self, name: &str, alpha: f64) -> (f64, f64) {
        let Some(known) = self.values.get(name) else { return (f64::NEG_INFINITY, f64::INFINITY) };
        let reach = known.reach;
        let Some(measured) = &known.measured else { return reach };
        let rule = Rule { comparison: Comparison::AtLeast, value: 0.0 };
        let (low, high) = self.judge.question(measured, rule, known.unit).bounds_at(alpha);
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
                let asked = self.judge.question(measured, rule, known.unit);
                asked.with_missing(true).zip(asked.with_missing(false))
            });
            let scaled = |x: f64| (x / known.budget.unwrap_or(1.0)).clamp(known.reach.0, known.reach.1);
            Some(ends.map_or((value, value), |(low, high)| (scaled(low), scaled(high))))
        })
    }

    /// How far each sample moves an expression: as far as it moves the metrics in it (the delta method).
    fn influences(&self, expression: &Expression, but: &[&str]) -> Option<Vec<f64>> {
        let mut moved = vec![0.0; self.judge.samples.len()];
        for name in self.leaves(expression).into_iter().filter(|name| !but.contains(name)) {
            let slope = self.slope(expression, name)?;
            if slope != 0.0 {
                let influences = self.values.get(name)?.influences.as_ref()?;
                moved.iter_mut().zip(influences.iter()).for_each(|(moved, x)| *moved += slope * x);
            }
        }
        Some(moved)
    }

    /// How steeply an expression rises with a metric.
    fn slope(&self, expression: &Expression, name: &str) -> Option<f64> {
        let at = self.values.get(name)?.value?;
        let step = 1e-6 * at.abs().max(1.0);
        let moved = |by: f64| {
            self.value_with(expression, &|other| {
                if other == name { Some(at + by) } else { self.values.get(other)?.value }
            })
        };
        Some((moved(step)? - moved(-step)?) / (2.0 * step))
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
