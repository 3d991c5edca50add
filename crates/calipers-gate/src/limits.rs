//! The least and the greatest that the values of attempts can be: what a bound of their mean rests on.
//!
//! No bound of a mean holds without such limits (Bahadur and Savage 1956): whatever was seen, a value that is rare enough to have
//! been missed could be large enough to move the mean anywhere. So a policy states them, and where it does not, a gate that needs them is
//! undecided and says which.

use crate::Unbounded;
use crate::policy::{ALL_SCORES, Comparison, Limit, Policy, Rule};
use calipers_core::{
    AttemptValues, Context, Error, Evidence, Metric, ReducedScale, Reducer, RunRows, Samples, Unit, ValueSource,
    unit_of_field,
};

/// An end of the range of values that a gate needs, and does not have.
#[derive(Clone, Debug, PartialEq)]
pub struct MissingLimit {
    /// The field or the scorer whose values they are, as `limits` names it.
    pub name: String,
    /// Which end.
    pub end: LimitEnd,
    /// A value beyond the stated limit, if there is a limit.
    pub exceeded: Option<BeyondLimit>,
}

/// An end of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitEnd {
    /// The least that a value can be.
    Least,
    /// The most.
    Most,
}

/// A value beyond a stated limit.
#[derive(Clone, Debug, PartialEq)]
pub struct BeyondLimit {
    /// The sample.
    pub sample: String,
    /// The value of one of its attempts.
    pub value: f64,
    /// The limit.
    pub limit: f64,
}

/// What is known of an end of a range.
#[derive(Clone, Debug, PartialEq)]
enum RangeEnd {
    /// It is stated, or nothing of the kind lies beyond it.
    Sure(f64),
    /// Grades lie between 0 and 1 where the threshold and all that were seen do.
    OfGrades(f64),
    /// The same of a field that may count something: only where more is better, so that the limit helps no gate to pass.
    OfFieldGrades(f64),
    /// Nothing limits it.
    Unknown,
}

/// The values that attempts can have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValueRange {
    name: String,
    low: RangeEnd,
    high: RangeEnd,
    /// False for a field of which a value lies beyond 0 and 1: what it holds are no grades.
    looks_graded: bool,
    /// The first values beyond the stated limits, at either end.
    exceeded: [Option<BeyondLimit>; 2],
}

/// What the values of a run look like.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeenValues {
    pub(crate) least: Option<(String, f64)>,
    pub(crate) most: Option<(String, f64)>,
    /// True when they are recorded as yes and no.
    pub(crate) are_flags: bool,
}

/// What kind of values they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    /// Between 0 and 1 by definition.
    Shares,
    /// Scores, or grades: between 0 and 1 unless something says otherwise.
    Grades,
    /// Anything that a field may hold.
    Field(Unit),
}

impl ValueRange {
    /// Shares between 0 and 1.
    pub(crate) fn of_shares() -> Self {
        let (low, high) = (RangeEnd::Sure(0.0), RangeEnd::Sure(1.0));
        Self { name: String::new(), low, high, looks_graded: true, exceeded: [None, None] }
    }

    /// The range of values of this name, by what is stated, by what they are, and by what was seen of them.
    pub(crate) fn new(name: &str, kind: ValueKind, stated: Option<&Limit>, seen: &SeenValues) -> Self {
        let (mut range, name) = (Self::of_shares(), name.to_owned());
        range.name = name;
        if kind == ValueKind::Shares || seen.are_flags {
            return range;
        }
        let is_beyond = |end: LimitEnd, limit: f64| {
            let (of_seen, is_out): (_, fn(f64, f64) -> bool) = match end {
                LimitEnd::Least => (&seen.least, |value, limit| value < limit),
                LimitEnd::Most => (&seen.most, |value, limit| value > limit),
            };
            let (sample, value) = of_seen.as_ref().filter(|(_, value)| is_out(*value, limit))?;
            Some(BeyondLimit { sample: sample.clone(), value: *value, limit })
        };
        let is_graded = is_beyond(LimitEnd::Least, 0.0).is_none() && is_beyond(LimitEnd::Most, 1.0).is_none();
        range.looks_graded = is_graded || !matches!(kind, ValueKind::Field(_));
        range.low = match (stated, kind) {
            (Some(limit), _) => RangeEnd::Sure(limit.least),
            (None, ValueKind::Field(unit)) if unit.range().0 == 0.0 => RangeEnd::Sure(0.0),
            _ if is_beyond(LimitEnd::Least, 0.0).is_some() => RangeEnd::Unknown,
            _ => RangeEnd::OfGrades(0.0),
        };
        range.high = match (stated, kind) {
            (Some(limit), _) => RangeEnd::Sure(limit.most),
            _ if is_beyond(LimitEnd::Most, 1.0).is_some() => RangeEnd::Unknown,
            (None, ValueKind::Field(Unit::Plain)) => RangeEnd::OfFieldGrades(1.0),
            (None, ValueKind::Field(_)) => RangeEnd::Unknown,
            (None, _) => RangeEnd::OfGrades(1.0),
        };
        for (place, end) in [LimitEnd::Least, LimitEnd::Most].into_iter().enumerate() {
            let known = if end == LimitEnd::Least { &range.low } else { &range.high };
            // What cannot be negative and is, is no limit either.
            let RangeEnd::Sure(limit) = *known else { continue };
            range.exceeded[place] = is_beyond(end, limit);
        }
        range
    }

    /// The field or the scorer whose values they are.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// An end of the range, for a gate with this rule; in a formula, for none.
    pub(crate) fn end(&self, end: LimitEnd, rule: Option<Rule>) -> Result<f64, MissingLimit> {
        let (known, place) = if end == LimitEnd::Least { (&self.low, 0) } else { (&self.high, 1) };
        // A threshold of 4 says that grades go beyond 1. In a ratio or a formula there is none, and only the values can tell.
        let is_of_grades = rule.map_or(self.looks_graded, |rule| (0.0..=1.0).contains(&rule.value));
        let wants_more = rule.is_some_and(|rule| !matches!(rule.comparison, Comparison::AtMost | Comparison::Below));
        match known {
            RangeEnd::Sure(limit) if self.exceeded[place].is_none() => Ok(*limit),
            RangeEnd::OfGrades(limit) if is_of_grades => Ok(*limit),
            RangeEnd::OfFieldGrades(limit) if is_of_grades && wants_more => Ok(*limit),
            _ => Err(MissingLimit { name: self.name.clone(), end, exceeded: self.exceeded[place].clone() }),
        }
    }
}

/// The values that attempts can have: those that are averaged, or the numerators and denominators of a ratio.
#[derive(Clone, Debug)]
pub(crate) struct ValueRanges {
    pub(crate) value: ValueRange,
    pub(crate) per: Option<ValueRange>,
}

impl ValueRanges {
    /// Shares between 0 and 1.
    pub(crate) fn of_shares() -> Self {
        Self { value: ValueRange::of_shares(), per: None }
    }

    /// The field or the scorer of which a value lies beyond a limit.
    pub(crate) fn find_exceeded(&self) -> Option<&str> {
        let all = [Some(&self.value), self.per.as_ref()];
        let found = all.into_iter().flatten().find(|range| range.exceeded.iter().any(Option::is_some));
        found.map(|range| range.name.as_str())
    }

    /// What keeps the worst that an attempt could add, or the best, unknown, for a gate with this rule.
    pub(crate) fn missing(&self, end: LimitEnd, rule: Option<Rule>) -> Option<Unbounded> {
        let Some(per) = &self.per else { return self.value.end(end, rule).err().map(Unbounded::NoLimit) };
        match (self.value.end(end, None), end) {
            (Err(missing), _) => Some(Unbounded::NoLimit(missing)),
            // At worst, little of the numerator and much of the denominator.
            (Ok(least), LimitEnd::Least) if least >= 0.0 => per.end(LimitEnd::Most, None).err().map(Unbounded::NoLimit),
            (Ok(_), LimitEnd::Least) => Some(Unbounded::NegativeNumerators),
            (Ok(_), LimitEnd::Most) => per.end(LimitEnd::Least, None).err().map(Unbounded::NoLimit),
        }
    }
}

/// What the range of a metric's values depends on.
pub(crate) struct RangeQuestion<'a, 's> {
    pub(crate) policy: &'a Policy,
    pub(crate) metric: &'a Metric,
    /// A run with its rows.
    pub(crate) run: Option<(&'a Samples, &'a RunRows<'s>)>,
    /// What the metric rests on in that run.
    pub(crate) evidence: Option<&'a Evidence>,
    pub(crate) reducer: &'a Reducer,
    pub(crate) context: &'a Context,
}

impl RangeQuestion<'_, '_> {
    /// The values that the metric sums up or averages, as far as the policy, the metric and the run tell.
    pub(crate) fn answer(&self, unit: Unit) -> Result<ValueRanges, Error> {
        Ok(match self.metric.source() {
            _ if unit == Unit::Rate => ValueRanges::of_shares(),
            ValueSource::Ratio(numerator, denominator) => {
                ValueRanges { value: self.range(numerator)?, per: Some(self.range(denominator)?) }
            }
            source => ValueRanges { value: self.range(source)?, per: None },
        })
    }

    fn range(&self, source: &ValueSource) -> Result<ValueRange, Error> {
        let policy = self.policy;
        Ok(match source {
            ValueSource::Field(field) => {
                let kind = ValueKind::Field(unit_of_field(field));
                ValueRange::new(field, kind, policy.limit_of_field(field), &self.seen_in(field)?)
            }
            // Where the field is not recorded, scores between 0 and 1 stand in for it.
            ValueSource::Grades(field) => {
                ValueRange::new(field, ValueKind::Grades, policy.limit_of_field(field), &self.seen_in(field)?)
            }
            ValueSource::Scores => {
                let only = self.run.and_then(|(samples, _)| samples.scorers().next().cloned());
                let scorer = self.metric.scorer().or(only.as_deref());
                let (kind, stated) = self.reduced(policy.limit_of_scorer(scorer));
                let seen = match (self.run, scorer) {
                    (Some((samples, rows)), Some(scorer)) => {
                        SeenValues::new(&rows.score_values(scorer, self.context)?, samples)
                    }
                    _ => SeenValues::default(),
                };
                ValueRange::new(scorer.unwrap_or(ALL_SCORES), kind, stated, &seen)
            }
            ValueSource::ScoreKey(key) => {
                let (kind, stated) = self.reduced(policy.limit_of_field(key));
                ValueRange::new(key, kind, stated, &self.seen_of_samples())
            }
            ValueSource::Unknown | ValueSource::Ratio(..) => {
                ValueRange::new(self.metric.name(), ValueKind::Grades, None, &self.seen_of_samples())
            }
        })
    }

    /// What a limit of attempts' scores says of samples' scores.
    fn reduced<'l>(&self, stated: Option<&'l Limit>) -> (ValueKind, Option<&'l Limit>) {
        match self.reducer.scale() {
            ReducedScale::Same => (ValueKind::Grades, stated),
            ReducedScale::Shares => (ValueKind::Shares, None),
            ReducedScale::Unknown => (ValueKind::Grades, None),
        }
    }

    /// The values of samples, where those of attempts have no name.
    fn seen_of_samples(&self) -> SeenValues {
        match (self.run, self.evidence) {
            (Some((run, _)), Some(Evidence::Mean { samples, values, .. })) => {
                let values = samples.iter().copied().zip(values.iter().copied()).collect();
                SeenValues::new(&AttemptValues { values, are_flags: false }, run)
            }
            _ => SeenValues::default(),
        }
    }

    fn seen_in(&self, field: &str) -> Result<SeenValues, Error> {
        match self.run {
            Some((samples, rows)) if samples.has_column(field) => {
                Ok(SeenValues::new(&rows.field_values(field, self.context)?, samples))
            }
            _ => Ok(SeenValues::default()),
        }
    }
}

impl SeenValues {
    fn new(all: &AttemptValues, samples: &Samples) -> Self {
        let first = |is_beyond: fn(f64, f64) -> bool| {
            let mut found: Option<(u32, f64)> = None;
            for &(sample, value) in &all.values {
                if found.is_none_or(|(_, best)| is_beyond(value, best)) {
                    found = Some((sample, value));
                }
            }
            found.map(|(sample, value)| (samples.id(sample).to_string(), value))
        };
        Self { least: first(|x, y| x < y), most: first(|x, y| x > y), are_flags: all.are_flags }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use calipers_core::{Span, Spanned};

    fn seen(least: f64, most: f64) -> SeenValues {
        SeenValues { least: Some(("a".into(), least)), most: Some(("b".into(), most)), are_flags: false }
    }

    fn stated(least: f64, most: f64) -> Limit {
        Limit { name: Spanned { value: "judge".into(), span: Span::nowhere() }, least, most }
    }

    #[track_caller]
    fn ends(range: &ValueRange, comparison: Comparison, value: f64) -> (Option<f64>, Option<f64>) {
        let rule = Some(Rule { comparison, value });
        (range.end(LimitEnd::Least, rule).ok(), range.end(LimitEnd::Most, rule).ok())
    }

    #[test]
    fn grades_lie_between_0_and_1_where_the_threshold_and_all_values_do() {
        use Comparison::{AtLeast, AtMost};
        let of = |seen: &SeenValues| ValueRange::new("judge", ValueKind::Grades, None, seen);
        assert_eq!(ends(&of(&seen(0.2, 0.9)), AtMost, 0.5), (Some(0.0), Some(1.0)));
        assert_eq!(ends(&of(&seen(0.2, 0.9)), AtLeast, 4.0), (None, None));
        assert_eq!(ends(&of(&seen(-0.2, 0.9)), AtLeast, 0.5), (None, Some(1.0)));
        assert_eq!(ends(&of(&seen(0.2, 1.9)), AtLeast, 0.5), (Some(0.0), None));
    }

    #[test]
    fn a_field_that_may_count_something_has_no_limit_above_that_helps_to_pass() {
        use Comparison::{AtLeast, AtMost};
        let of = |unit: Unit| ValueRange::new("x", ValueKind::Field(unit), None, &seen(0.0, 1.0));
        assert_eq!(ends(&of(Unit::Plain), AtMost, 0.5), (Some(0.0), None));
        assert_eq!(ends(&of(Unit::Plain), AtLeast, 0.5), (Some(0.0), Some(1.0)));
        assert_eq!(ends(&of(Unit::Usd), AtMost, 0.5), (Some(0.0), None));
        assert_eq!(ends(&of(Unit::Usd), AtLeast, 20.0), (Some(0.0), None));
        let flags = SeenValues { are_flags: true, ..seen(0.0, 1.0) };
        let range = ValueRange::new("x", ValueKind::Field(Unit::Plain), None, &flags);
        assert_eq!(ends(&range, AtMost, 0.05), (Some(0.0), Some(1.0)));
    }

    #[test]
    fn what_goes_beyond_1_is_no_grade_where_no_threshold_says_so() {
        let of = |kind: ValueKind, most: f64| {
            ValueRange::new("reward", kind, None, &seen(0.2, most)).end(LimitEnd::Least, None).ok()
        };
        assert_eq!(of(ValueKind::Field(Unit::Plain), 0.9), Some(0.0));
        // A reward of 5 may be one of -100 another time.
        assert_eq!(of(ValueKind::Field(Unit::Plain), 5.0), None);
        assert_eq!(of(ValueKind::Field(Unit::Usd), 5.0), Some(0.0));
        assert_eq!(of(ValueKind::Grades, 5.0), Some(0.0));
    }

    #[test]
    fn a_value_beyond_a_stated_limit_takes_that_end_away() {
        let limit = stated(1.0, 5.0);
        let within = ValueRange::new("judge", ValueKind::Grades, Some(&limit), &seen(1.0, 5.0));
        assert_eq!(ends(&within, Comparison::AtLeast, 4.0), (Some(1.0), Some(5.0)));
        let beyond = ValueRange::new("judge", ValueKind::Grades, Some(&limit), &seen(0.0, 5.0));
        assert_eq!(ends(&beyond, Comparison::AtLeast, 4.0), (None, Some(5.0)));
        let missing = beyond.end(LimitEnd::Least, None).unwrap_err();
        assert_eq!(missing.exceeded, Some(BeyondLimit { sample: "a".into(), value: 0.0, limit: 1.0 }));
    }
}
