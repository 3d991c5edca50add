//! The least and the most that the values of attempts can be, where the caller says so: what the mean of values without a natural
//! limit can be bounded by.
//!
//! No interval of such a mean holds otherwise (Bahadur and Savage 1956): a value that is rare enough to have been missed could be large
//! enough to move the mean anywhere. A limit that a value exceeds is none, so it is used only after all values were looked at.

use crate::metric::{Context, RunRows, ValueSource};
use crate::{Error, ReducedScale, Reducer, Samples, StateReader, StateWriter};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The name of a limit for the scores of every scorer that has none of its own.
pub const ALL_SCORES: &str = "score";

/// The least and the most that one attempt can have of something.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueLimit {
    /// A field of attempts, or a scorer, or [`ALL_SCORES`].
    pub name: Arc<str>,
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
}

/// The limits that a caller states.
///
/// ```
/// use calipers_core::{Plan, Samples, ValueLimit, ValueLimits, cost};
///
/// let mut samples = Samples::new();
/// for id in 0..30 {
///     samples.push(id).field("cost_usd", 1.0);
/// }
/// let limits = ValueLimits::new([ValueLimit { name: "cost_usd".into(), least: 0.0, most: 10.0 }])?;
/// let of = |plan: Plan| plan.metrics([cost()]).measure(&samples).map(|results| {
///     results.figure("run", "cost").and_then(|figure| figure.interval).and_then(|interval| interval.upper)
/// });
/// assert_eq!(of(Plan::new())?, None);
/// assert!(of(Plan::new().limits(limits))? < Some(2.5));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueLimits {
    stated: Vec<ValueLimit>,
    /// The least and the greatest value of each name, once all were looked at.
    seen: BTreeMap<Arc<str>, (f64, f64)>,
    /// The scorer whose scores are looked at, unless they are reduced to another scale.
    scorer: Option<Arc<str>>,
}

/// What is known of the ends of values.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueEnds {
    /// The field or the scorer.
    pub name: Arc<str>,
    /// The least; none where a value is less than was stated.
    pub least: Option<f64>,
    /// The most; none where a value is more than was stated.
    pub most: Option<f64>,
}

/// What is known of the values that a metric averages, or sums up over and under a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetricEnds {
    /// Those that are averaged, or the numerators.
    pub value: Option<ValueEnds>,
    /// The denominators.
    pub per: Option<ValueEnds>,
}

impl ValueEnds {
    /// True when a value lies beyond what was stated.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.least.is_none() || self.most.is_none()
    }
}

impl MetricEnds {
    /// The field or the scorer of which a value lies beyond what was stated.
    pub(crate) fn exceeded(&self) -> Option<&str> {
        [&self.value, &self.per].into_iter().flatten().find(|ends| ends.is_exceeded()).map(|ends| &*ends.name)
    }
}

impl ValueLimits {
    /// These limits. An error if a number is not finite, if the most is below the least, and if a name occurs twice.
    pub fn new(limits: impl IntoIterator<Item = ValueLimit>) -> Result<Self, Error> {
        let stated: Vec<ValueLimit> = limits.into_iter().collect();
        for (place, limit) in stated.iter().enumerate() {
            let ValueLimit { name, least, most } = limit;
            if !(least.is_finite() && most.is_finite()) {
                return Err(Error::argument(format!("a limit of `{name}` is not finite"), "state a number"));
            }
            if most < least {
                let message = format!("`{name}` would be at most {most} and at least {least}");
                return Err(Error::argument(message, "the least is 0 unless it is stated"));
            }
            if stated[..place].iter().any(|other| other.name == *name) {
                return Err(Error::argument(format!("`{name}` has two limits"), "state one of them"));
            }
        }
        Ok(Self { stated, ..Self::default() })
    }

    /// All of them, in the order in which they were stated.
    pub fn iter(&self) -> impl Iterator<Item = &ValueLimit> {
        self.stated.iter()
    }

    /// True when none is stated.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stated.is_empty()
    }

    /// The least and the most that are stated for what a metric averages, of one scorer's scores as a reducer leaves them.
    ///
    /// ```
    /// use calipers_core::{ValueLimit, ValueLimits, cost, mean, mean_score};
    ///
    /// let limit = |name: &str, least, most| ValueLimit { name: name.into(), least, most };
    /// let limits = ValueLimits::new([limit("cost_usd", 0.0, 2.0), limit("judge", 1.0, 5.0)])?;
    /// assert_eq!(limits.stated_for(cost().source(), None, &mean_score()), Some([0.0, 2.0]));
    /// assert_eq!(limits.stated_for(mean().source(), Some("judge"), &mean_score()), Some([1.0, 5.0]));
    /// assert_eq!(limits.stated_for(mean().source(), Some("other"), &mean_score()), None);
    /// # Ok::<(), calipers_core::Error>(())
    /// ```
    #[must_use]
    pub fn stated_for(&self, source: &ValueSource, scorer: Option<&str>, reducer: &Reducer) -> Option<[f64; 2]> {
        let limit = match source {
            ValueSource::Field(field) | ValueSource::Grades(field) => self.of_field(field),
            ValueSource::Scores if reducer.scale() == ReducedScale::Same => self.of_scorer(scorer?),
            _ => None,
        };
        limit.map(|limit| [limit.least, limit.most])
    }

    fn of_field(&self, name: &str) -> Option<&ValueLimit> {
        self.stated.iter().find(|limit| *limit.name == *name)
    }

    fn of_scorer(&self, scorer: &str) -> Option<&ValueLimit> {
        self.of_field(scorer).or_else(|| self.of_field(ALL_SCORES))
    }

    /// The same, for the scores of this scorer as a reducer leaves them.
    pub(crate) fn for_scorer(&self, scorer: &Arc<str>, reducer: Option<&Reducer>) -> Self {
        let is_same = reducer.is_none_or(|reducer| reducer.scale() == ReducedScale::Same);
        Self { scorer: is_same.then(|| scorer.clone()), ..self.clone() }
    }

    /// What is known of the values that a metric is computed from.
    pub(crate) fn ends_of(&self, source: &ValueSource) -> MetricEnds {
        let known = |source: &ValueSource| match source {
            ValueSource::Field(field) | ValueSource::Grades(field) => self.ends(self.of_field(field)?, field),
            ValueSource::Scores => {
                let scorer = self.scorer.as_ref()?;
                self.ends(self.of_scorer(scorer)?, scorer)
            }
            _ => None,
        };
        match source {
            ValueSource::Ratio(value, per) => MetricEnds { value: known(value), per: known(per) },
            source => MetricEnds { value: known(source), per: None },
        }
    }

    /// The ends of a limit that no value lies beyond. It says nothing about values that were not looked at.
    fn ends(&self, limit: &ValueLimit, name: &Arc<str>) -> Option<ValueEnds> {
        let (least, most) = self.seen.get(name)?;
        Some(ValueEnds {
            name: name.clone(),
            least: (*least >= limit.least).then_some(limit.least),
            most: (*most <= limit.most).then_some(limit.most),
        })
    }
}

/// The least and the greatest of the values that limits are stated for, while rows come in.
#[derive(Debug, Default)]
pub(crate) struct LimitWatch {
    seen: BTreeMap<Arc<str>, (f64, f64)>,
}

impl LimitWatch {
    /// Looks at the values of a shard.
    pub(crate) fn fold(&mut self, samples: &Samples, context: &Context) {
        if context.limits.is_empty() {
            return;
        }
        let rows = RunRows::new(samples);
        for limit in context.limits.iter().filter(|limit| samples.has_column(&limit.name)) {
            // Values that are no numbers are an error of the metric that needs them.
            if let Ok(values) = rows.field_values(&limit.name, context) {
                self.add(&limit.name, values.values);
            }
        }
        for scorer in samples.scorers().filter(|scorer| context.limits.of_scorer(scorer).is_some()) {
            if let Ok(values) = rows.score_values(scorer, context) {
                self.add(scorer, values.values);
            }
        }
    }

    fn add(&mut self, name: &Arc<str>, values: Vec<(u32, f64)>) {
        for (_, x) in values {
            self.widen(name, (x, x));
        }
    }

    fn widen(&mut self, name: &Arc<str>, (least, most): (f64, f64)) {
        match self.seen.get_mut(name) {
            Some(known) => *known = (known.0.min(least), known.1.max(most)),
            None => drop(self.seen.insert(name.clone(), (least, most))),
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        other.seen.iter().for_each(|(name, range)| self.widen(name, *range));
    }

    /// The limits with what their values are.
    pub(crate) fn tell(&self, limits: &ValueLimits) -> ValueLimits {
        ValueLimits { seen: self.seen.clone(), ..limits.clone() }
    }

    pub(crate) fn save(&self, out: &mut StateWriter) {
        out.length(self.seen.len());
        for (name, range) in &self.seen {
            out.put(name);
            out.put(range);
        }
    }

    pub(crate) fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        let seen = from.list(|from| Ok((from.take()?, from.take()?)))?.into_iter().collect();
        Ok(Self { seen })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Caveat, Figure, Plan, cost, max_score, mean, mean_of, pass_at};

    fn limits(stated: &[(&str, f64, f64)]) -> ValueLimits {
        let one = |&(name, least, most): &(&str, f64, f64)| ValueLimit { name: name.into(), least, most };
        ValueLimits::new(stated.iter().map(one)).expect("sound")
    }

    fn run(latencies: &[f64]) -> Samples {
        let mut samples = Samples::new();
        for (id, ms) in (0i64..).zip(latencies) {
            let row = samples.push(id).field("latency_ms", *ms).field("turns", ms / 100.0);
            row.field("cost_usd", ms / 1000.0).score("judge", 1.0 + (id % 5) as f64);
        }
        samples
    }

    #[track_caller]
    fn figure(plan: Plan, samples: &Samples, scorer: &str, name: &str) -> Figure {
        plan.measure(samples).expect("measurable").figure(scorer, name).expect("asked for").clone()
    }

    #[test]
    fn a_mean_without_a_limit_has_the_end_that_holds_by_itself() {
        let samples = run(&[900.0; 30]);
        let of = |field: &str| figure(Plan::new().metrics([mean_of(field)]), &samples, "run", "mean");
        let (latency, turns) = (of("latency_ms"), of("turns"));
        let interval = latency.interval.expect("a time is never negative");
        assert!(interval.upper.is_none() && (600.0..900.0).contains(&interval.lower.expect("a lower end")));
        let open = |field: &str, lower| Caveat::OpenInterval { fields: vec![field.into()], lower, upper: false };
        assert_eq!(latency.caveats, [open("latency_ms", true)]);
        // A number of turns may be anything.
        assert_eq!((turns.interval, &turns.caveats[..]), (None, &[open("turns", false)][..]));
    }

    #[test]
    fn a_limit_closes_the_interval_unless_a_value_exceeds_it() {
        let mut latencies = vec![900.0; 30];
        let stated = limits(&[("latency_ms", 0.0, 5000.0), ("turns", 1.0, 60.0), ("judge", 1.0, 5.0)]);
        let of = |samples: &Samples, field: &str| {
            figure(Plan::new().metrics([mean_of(field)]).limits(stated.clone()), samples, "run", "mean")
        };
        let samples = run(&latencies);
        for (field, most) in [("latency_ms", 5000.0), ("turns", 60.0)] {
            let figure = of(&samples, field);
            let interval = figure.interval.expect("limits on both sides");
            assert!(interval.upper.is_some_and(|upper| upper < most) && interval.lower.is_some(), "{field}");
            assert_eq!(figure.caveats, [], "{field}");
        }
        latencies[3] = 5001.0;
        let figure = of(&run(&latencies), "latency_ms");
        assert!(figure.interval.is_some_and(|interval| interval.upper.is_none() && interval.lower.is_some()));
        let exceeded = Caveat::ExceededLimit { name: "latency_ms".into(), lower: true, upper: false };
        assert_eq!(figure.caveats, [exceeded]);
    }

    #[test]
    fn an_attempt_beyond_the_limit_counts_though_its_sample_is_within() {
        let mut samples = run(&[900.0; 30]);
        samples.push(0).field("latency_ms", 9000.0).field("turns", 1.0).field("cost_usd", 30.0);
        let stated = limits(&[("latency_ms", 0.0, 8000.0), ("cost_usd", 0.0, 20.0)]);
        let plan = Plan::new().metrics([mean_of("latency_ms"), cost()]).limits(stated);
        let results = plan.measure(&samples).expect("measurable");
        for metric in ["mean", "cost"] {
            let interval = results.figure("run", metric).expect("asked for").interval.expect("a lower end");
            assert!(interval.upper.is_none(), "{metric}");
        }
    }

    #[test]
    fn scores_have_the_limits_of_their_scorer_on_the_scale_that_is_kept() {
        let samples = run(&[900.0; 30]);
        let stated = limits(&[(ALL_SCORES, 1.0, 5.0)]);
        let plan = Plan::new().metrics([mean()]).reducers([mean_score_and_others()[0].clone()]);
        let (open, closed) = (plan.clone(), plan.limits(stated.clone()));
        let width = |plan: Plan| {
            let figure = figure(plan, &samples, "judge", "mean");
            figure.interval.and_then(|interval| interval.width()).expect("two ends")
        };
        assert!(width(closed) != width(open));
        for reducer in &mean_score_and_others()[1..] {
            let scorer: Arc<str> = "judge".into();
            let known = LimitWatch::default().tell(&stated).for_scorer(&scorer, Some(reducer));
            assert_eq!(known.scorer.is_some(), reducer.scale() == ReducedScale::Same);
        }
    }

    fn mean_score_and_others() -> [Reducer; 3] {
        [crate::mean_score(), max_score(), pass_at(1)]
    }

    #[test]
    fn what_cannot_be_a_limit_is_refused() {
        let of = |stated: &[(&str, f64, f64)]| {
            let one = |&(name, least, most): &(&str, f64, f64)| ValueLimit { name: name.into(), least, most };
            ValueLimits::new(stated.iter().map(one)).expect_err("unsound").to_string()
        };
        assert!(of(&[("a", 2.0, 1.0)]).starts_with("`a` would be at most 1 and at least 2"));
        assert!(of(&[("a", 0.0, f64::INFINITY)]).starts_with("a limit of `a` is not finite"));
        assert!(of(&[("a", 0.0, 1.0), ("a", 0.0, 2.0)]).starts_with("`a` has two limits"));
    }
}
