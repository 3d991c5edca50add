//! `frequency` and `categorical`.

use super::registry::Definition;
use super::{Context, Measure, Metric, Tally, View};
use crate::Reason;
use crate::{
    About, Answer, Error, ErrorKind, Family, Figure, Points, StateReader, StateWriter, Undefined, Unit, damaged,
};
use calipers_stats::proportion::Proportion;
use indexmap::IndexMap;

const FREQUENCY: About = About {
    name: "frequency",
    summary: "how often each value occurs",
    usage: "frequency(categories=[], normalize=True)",
    tells: "The mix of outcomes, over all attempts.",
    misleads: "Attempts at one sample are not independent, so the intervals are too narrow if samples have several \
               attempts.",
    formula: "count / total, or only the count with `normalize=False`. The categories that you name come first, even \
              if they never occur.",
    interval: "Blaker for each share; none for counts.",
    example: "calipers score results.jsonl -m 'frequency([\"C\", \"I\"])'",
    unit: Unit::Rate,
    range: "0–100 %",
    direction: None,
    typical_threshold: None,
    use_case: "Labels and categories",
    family: Family::Scores,
    parameters: &[
        ("categories", "the values to report first, even if they never occur"),
        ("normalize", "`False` for counts instead of shares"),
    ],
    positional: &["categories"],
    inspect: Some("frequency"),
    role: None,
};

/// The metrics of this file.
pub(super) static METRICS: &[Definition] = &[Definition {
    about: FREQUENCY,
    make: |a| Ok(frequency(a.texts("categories")?, a.flag("normalize")?.unwrap_or(true))),
}];

/// How often each value occurs, over all attempts: shares, or counts if `normalize` is false.
///
/// Declared categories come first and are reported even if they never occur.
///
/// `calipers metrics frequency` says what it tells you, when it misleads, its formula and its interval.
///
/// ```
/// use calipers_core::{frequency, Plan, Samples};
///
/// let mut samples = Samples::new();
/// for (id, verdict) in [(1, "refuses"), (2, "complies"), (3, "refuses")] {
///     samples.push(id).score("verdict", verdict);
/// }
/// let metric = frequency(["refuses", "complies", "unclear"], true);
/// let results = Plan::new().metrics([metric]).measure(&samples)?;
/// assert_eq!(results.figure("verdict", "unclear").expect("declared").value, Ok(0.0));
/// assert_eq!(results.figure("verdict", "refuses").expect("seen").value, Ok(2.0 / 3.0));
/// # Ok::<(), calipers_core::Error>(())
/// ```
pub fn frequency<C: Into<String>>(categories: impl IntoIterator<Item = C>, normalize: bool) -> Metric {
    let categories: Vec<String> = categories.into_iter().map(Into::into).collect();
    let mut metric = Metric::recorded("frequency", Frequency { categories: categories.clone(), normalize });
    if !categories.is_empty() {
        metric = metric.param("categories", categories);
    }
    if !normalize {
        metric = metric.param("normalize", false);
    }
    metric.view(View::Unreduced)
}

/// The usual metrics of a scorer that names categories: their [`frequency`].
pub fn categorical<C: Into<String>>(categories: impl IntoIterator<Item = C>) -> Vec<Metric> {
    vec![frequency(categories, true)]
}

struct Frequency {
    categories: Vec<String>,
    normalize: bool,
}

impl Measure for Frequency {
    type State = IndexMap<String, u64>;

    fn start(&self) -> Self::State {
        self.categories.iter().map(|category| (category.clone(), 0)).collect()
    }

    fn fold(&self, counts: &mut Self::State, points: &Points<'_>, _: &Context) -> Result<(), Error> {
        if let Some(labels) = points.label_counts() {
            for (label, count) in labels {
                *counts.entry(label.to_string()).or_default() += count;
            }
            return Ok(());
        }
        for row in 0..points.len() {
            let value = points.values().get(row);
            if !value.is_scalar() {
                let kind = ErrorKind::NotScalar { by: "frequency".into(), found: value.kind() };
                return Err(points.at(row, kind));
            }
            *counts.entry(value.to_string()).or_default() += 1;
        }
        Ok(())
    }

    fn save(&self, state: &Self::State, out: &mut StateWriter) -> Result<(), Error> {
        out.length(state.len());
        for (category, count) in state {
            out.text(category);
            out.put(count);
        }
        Ok(())
    }

    fn load(&self, from: &mut StateReader<'_>) -> Result<Self::State, Error> {
        let counted: Vec<(String, u64)> = from.take()?;
        let counts: IndexMap<String, u64> = counted.into_iter().collect();
        if self.categories.iter().all(|category| counts.contains_key(category)) {
            Ok(counts)
        } else {
            Err(damaged("a category is not there"))
        }
    }

    fn merge(&self, counts: &mut Self::State, other: Self::State) {
        for (category, count) in other {
            *counts.entry(category).or_default() += count;
        }
    }

    fn finish(&self, counts: Self::State, tally: Tally, context: &Context) -> Result<Answer, Error> {
        let total = counts.values().sum();
        let tally = Tally { n: total, ..tally };
        let figure = |count: u64| {
            if !self.normalize {
                return Figure::new(count as f64, tally, "count");
            }
            match Proportion::new(count, total) {
                Ok(share) => Figure::new(count as f64 / total as f64, tally, "share")
                    .with_interval(Some(share.blaker(context.confidence))),
                Err(_) => Figure::from_result(Err(Undefined::new(Reason::NothingScored, 0.0)), tally, "share"),
            }
        };
        Ok(Answer::Named(counts.into_iter().map(|(category, count)| (category, figure(count).into())).collect()))
    }
}
