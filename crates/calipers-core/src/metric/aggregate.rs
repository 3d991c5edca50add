//! `aggregate`.

use super::arguments::Arguments;
use super::registry::Definition;
use super::{Context, Measure, Metric, State, Tally, ValueSource};
use crate::Reason;
use crate::data::scores::Values;
use crate::{
    About, Answer, Error, ErrorKind, Evidence, Family, Figure, Labels, Points, StateReader, StateWriter, Undefined,
    Unit, Value,
};
use std::collections::{BTreeSet, HashSet};

const AGGREGATE: About = About {
    name: "aggregate",
    summary: "a metric of one key of scores that are maps",
    usage: "aggregate(key, agg, on_missing=\"error\")",
    tells: "The metric for one of several criteria that a scorer judges.",
    misleads: "When samples without the key are skipped, and there is a reason why they lack it.",
    formula: "That of the metric. A key that is unscored is left out, whatever `on_missing` says.",
    interval: "That of the metric.",
    example: "calipers score results.jsonl -m 'aggregate(\"tone\", mean())'",
    unit: Unit::Plain,
    range: "that of the metric",
    direction: None,
    typical_threshold: None,
    use_case: "Rubrics, and judges with several criteria",
    family: Family::Compound,
    parameters: &[
        ("key", "a key of the scores"),
        ("agg", "the metric of its values"),
        ("on_missing", "what to do with a score without the key: `error`, `skip`, or count it as `zero`"),
    ],
    positional: &["key", "agg"],
    inspect: Some("aggregate"),
    role: None,
};

/// The metrics of this file.
pub(super) static METRICS: &[Definition] = &[Definition { about: AGGREGATE, make: make_aggregate }];

fn make_aggregate(arguments: &Arguments<'_>) -> Result<Metric, Error> {
    let on_missing = match arguments.text("on_missing")?.as_deref() {
        None | Some("error") => OnMissing::Error,
        Some("skip") => OnMissing::Skip,
        Some("zero") => OnMissing::Zero,
        Some(_) => return Err(arguments.wrong("on_missing", "`error`, `skip` or `zero`")),
    };
    let (key, metric) = (arguments.needed("key")?, arguments.inner("agg")?);
    Ok(aggregate_labelled(key, metric, on_missing, arguments.own_labels()?))
}

/// What to do with a sample whose score lacks the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnMissing {
    /// It is an error.
    Error,
    /// Leave the sample out. The number of samples, and with it the error, then depends on how many lack the key.
    Skip,
    /// Count it as 0.
    Zero,
}

/// A metric over one key of scores that are maps.
///
/// `calipers metrics aggregate` says what it tells you, when it misleads, its formula and its interval.
///
/// ```
/// use calipers_core::{aggregate, mean, OnMissing, Plan, Samples};
///
/// let mut samples = Samples::new();
/// samples.push(1).score("judge", [("tone", 1.0), ("facts", 0.5)]);
/// samples.push(2).score("judge", [("tone", 0.0), ("facts", 0.5)]);
/// let tone = aggregate("tone", mean(), OnMissing::Error);
/// let results = Plan::new().metrics([tone]).measure(&samples)?;
/// assert_eq!(results.figure("judge", "aggregate").expect("asked for").value, Ok(0.5));
/// # Ok::<(), calipers_core::Error>(())
/// ```
pub fn aggregate(key: impl Into<String>, metric: impl Into<Metric>, on_missing: OnMissing) -> Metric {
    aggregate_labelled(key, metric, on_missing, None)
}

/// The same, of what these labels make of the values: the metric gets numbers.
pub(super) fn aggregate_labelled(
    key: impl Into<String>,
    metric: impl Into<Metric>,
    on_missing: OnMissing,
    labels: Option<Labels>,
) -> Metric {
    let (key, metric) = (key.into(), metric.into());
    let labelled = labels.is_some();
    let outer = Aggregate { key: key.clone(), metric: metric.clone(), on_missing, labels };
    let outer = metric.within("aggregate", outer).unlike_others_if(labelled);
    let outer = outer.summing(ValueSource::ScoreKey(key.as_str().into()));
    let outer = outer.param("key", key).param("agg", metric.as_param());
    match on_missing {
        OnMissing::Error => outer,
        OnMissing::Skip => outer.param("on_missing", "skip"),
        OnMissing::Zero => outer.param("on_missing", "zero"),
    }
}

struct Aggregate {
    key: String,
    metric: Metric,
    on_missing: OnMissing,
    labels: Option<Labels>,
}

impl Aggregate {
    /// What the metric gets of a score; `None` leaves the row out.
    fn pick(&self, value: &Value, context: &Context) -> Result<Option<Value>, ErrorKind> {
        let picked = match value {
            Value::Missing => return Ok(None),
            Value::Map(_) => value.get(&self.key),
            other => return Err(ErrorKind::NotMap { by: "aggregate".into(), found: other.kind() }),
        };
        match (picked, self.on_missing) {
            (Some(Value::Missing), _) => Ok(None),
            (None | Some(Value::Null), OnMissing::Skip) => Ok(None),
            (None | Some(Value::Null), OnMissing::Zero) => Ok(Some(Value::Float(0.0))),
            (None, OnMissing::Error) => Err(ErrorKind::MissingKey { key: self.key.clone(), null: false }),
            (Some(Value::Null), OnMissing::Error) => Err(ErrorKind::MissingKey { key: self.key.clone(), null: true }),
            (Some(value), _) => self.converted(value, context).map(Some),
        }
    }

    /// The rows that have the key, with its values.
    fn pick_rows<'a>(&self, points: &Points<'a>, context: &Context) -> Result<Points<'a>, Error> {
        let mut rows = Vec::with_capacity(points.len());
        let mut picked = Vec::with_capacity(points.len());
        for row in 0..points.len() {
            let value = self.pick(&points.values().get(row), context).map_err(|error| points.at(row, error))?;
            if let Some(value) = value {
                rows.push(row as u32);
                picked.push(value);
            }
        }
        let picked: Values = picked.into_iter().collect();
        Ok(points.gather(&rows).with_values(picked))
    }

    fn converted(&self, value: &Value, context: &Context) -> Result<Value, ErrorKind> {
        match &self.labels {
            None => Ok(value.clone()),
            Some(labels) => match labels.to_float(value) {
                Some(number) => Ok(Value::from(number)),
                None if context.labels.is_lenient() => Ok(Value::Float(0.0)),
                None => Err(ErrorKind::UnknownLabel(value.clone())),
            },
        }
    }
}

impl Measure for Aggregate {
    type State = (State, u64, u64);

    fn start(&self) -> Self::State {
        (self.metric.start(), 0, 0)
    }

    fn fold(&self, state: &mut Self::State, points: &Points<'_>, context: &Context) -> Result<(), Error> {
        let picked = self.pick_rows(points, context)?;
        state.1 += picked.len() as u64;
        state.2 += (points.len() - picked.len()) as u64;
        state.0.fold_rows(&picked, context)
    }

    fn evidence(&self, points: &Points<'_>, context: &Context) -> Result<Option<Evidence>, Error> {
        let picked = self.pick_rows(points, context)?;
        let mut evidence = self.metric.evidence_of(&picked, context)?;
        if let Some(Evidence::Mean { samples, missing, .. }) = &mut evidence {
            let known: HashSet<u32> = samples.iter().chain(&*missing).copied().collect();
            let left_out = points.sample_codes().iter().copied().filter(|sample| !known.contains(sample));
            missing.extend(left_out.collect::<BTreeSet<u32>>());
        }
        Ok(evidence)
    }

    fn save(&self, state: &Self::State, out: &mut StateWriter) -> Result<(), Error> {
        state.0.save(out)?;
        out.put(&(state.1, state.2));
        Ok(())
    }

    fn load(&self, from: &mut StateReader<'_>) -> Result<Self::State, Error> {
        let inner = self.metric.load(from)?;
        let (picked, left_out) = from.take()?;
        Ok((inner, picked, left_out))
    }

    fn merge(&self, state: &mut Self::State, other: Self::State) {
        state.0.merge(other.0);
        state.1 += other.1;
        state.2 += other.2;
    }

    fn finish(&self, (state, picked, left_out): Self::State, tally: Tally, context: &Context) -> Result<Answer, Error> {
        let missing = tally.missing + left_out;
        if picked == 0 {
            let nothing = Undefined::new(Reason::NothingScored, f64::NAN);
            return Ok(Figure::from_result(Err(nothing), Tally { n: 0, missing }, "none").into());
        }
        let mut answer = state.finish(context)?;
        answer.for_each(&mut |figure| figure.missing = missing);
        Ok(answer)
    }
}
