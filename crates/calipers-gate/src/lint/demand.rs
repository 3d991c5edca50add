//! What a policy requires of a number, in a gate or in a condition.

use crate::policy::{Comparison, Level, MetricRule, Rule, Span};
use calipers_core::Unit;

/// A number and the rule that it has to meet.
#[derive(Clone, Debug)]
pub(super) struct Demand {
    pub(super) name: String,
    /// The metric as the policy names it: that of a category is the one of the whole run.
    pub(super) metric: String,
    pub(super) rule: Rule,
    pub(super) unit: Unit,
    pub(super) level: Level,
    pub(super) span: Span,
    /// The least and the greatest value that the number can have.
    pub(super) range: (f64, f64),
}

impl Demand {
    /// The rule with the name and the unit of its number.
    pub(super) fn metric_rule(&self) -> MetricRule {
        MetricRule { name: self.name.clone(), rule: self.rule, unit: self.unit }
    }

    /// True when no value can meet it.
    pub(super) fn is_unreachable(&self) -> bool {
        let (low, high) = self.range;
        let value = self.rule.value;
        match self.rule.comparison {
            Comparison::AtLeast => value > high,
            Comparison::Above => value >= high,
            // Nothing takes no time.
            Comparison::AtMost if self.unit == Unit::Milliseconds => value <= low,
            Comparison::AtMost => value < low,
            Comparison::Below => value <= low,
            Comparison::Equal => value > high || value < low,
        }
    }

    /// True when every value meets it.
    pub(super) fn is_vacuous(&self) -> bool {
        let (low, high) = self.range;
        let value = self.rule.value;
        match self.rule.comparison {
            Comparison::AtLeast => value <= low,
            Comparison::Above => value < low,
            Comparison::AtMost => value >= high,
            Comparison::Below => value > high,
            Comparison::Equal => false,
        }
    }

    /// True when no value meets both.
    pub(super) fn contradicts(&self, other: &Self) -> bool {
        let ((low, low_open), (high, high_open)) = (self.from().max_of(other.from()), self.to().min_of(other.to()));
        low > high || (low == high && (low_open || high_open))
    }

    /// True when every value that meets the other one meets this one too.
    pub(super) fn follows_from(&self, other: &Self) -> bool {
        let inside = |(low, open): (f64, bool), (other, other_open): (f64, bool)| {
            other > low || (other == low && (other_open || !open))
        };
        let negated = |(high, open): (f64, bool)| (-high, open);
        inside(self.from(), other.from()) && inside(negated(self.to()), negated(other.to()))
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.rule == other.rule
    }

    /// The lower end of what is allowed, and whether it is excluded.
    fn from(&self) -> (f64, bool) {
        match self.rule.comparison {
            Comparison::AtLeast | Comparison::Equal => (self.rule.value, false),
            Comparison::Above => (self.rule.value, true),
            Comparison::AtMost | Comparison::Below => (f64::NEG_INFINITY, false),
        }
    }

    /// The upper end of what is allowed, and whether it is excluded.
    fn to(&self) -> (f64, bool) {
        match self.rule.comparison {
            Comparison::AtMost | Comparison::Equal => (self.rule.value, false),
            Comparison::Below => (self.rule.value, true),
            Comparison::AtLeast | Comparison::Above => (f64::INFINITY, false),
        }
    }
}

/// The narrower of two ends.
trait Narrower {
    fn max_of(self, other: Self) -> Self;
    fn min_of(self, other: Self) -> Self;
}

impl Narrower for (f64, bool) {
    fn max_of(self, other: Self) -> Self {
        if self.0 > other.0 || (self.0 == other.0 && self.1) { self } else { other }
    }

    fn min_of(self, other: Self) -> Self {
        if self.0 < other.0 || (self.0 == other.0 && self.1) { self } else { other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(comparison: Comparison, value: f64) -> Demand {
        let (unit, level) = (Unit::Rate, Level::Blocking);
        let rule = Rule { comparison, value };
        let (name, metric) = ("accuracy".into(), "accuracy".into());
        Demand { name, metric, rule, unit, level, span: Span::nowhere(), range: unit.range() }
    }

    #[test]
    fn demands_are_compared_as_sets_of_values() {
        use Comparison::{Above, AtLeast, AtMost, Below, Equal};
        for (a, b, contradicts, follows) in [
            ((AtLeast, 0.9), (AtMost, 0.8), true, false),
            ((AtLeast, 0.9), (AtMost, 0.9), false, false),
            ((Above, 0.9), (AtMost, 0.9), true, false),
            ((AtLeast, 0.9), (Below, 0.9), true, false),
            ((Equal, 1.0), (AtLeast, 0.9), false, false),
            ((AtLeast, 0.9), (Equal, 1.0), false, true),
            ((AtLeast, 0.9), (AtLeast, 0.95), false, true),
            ((AtLeast, 0.95), (AtLeast, 0.9), false, false),
            ((AtLeast, 0.9), (Above, 0.9), false, true),
            ((Above, 0.9), (AtLeast, 0.9), false, false),
            ((AtMost, 0.9), (Below, 0.9), false, true),
            ((Equal, 0.5), (Equal, 0.6), true, false),
        ] {
            let (first, second) = (demand(a.0, a.1), demand(b.0, b.1));
            assert_eq!(first.contradicts(&second), contradicts, "{a:?} {b:?}");
            assert_eq!(first.follows_from(&second), follows, "{a:?} {b:?}");
        }
    }
}
