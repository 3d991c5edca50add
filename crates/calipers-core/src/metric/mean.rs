//! `accuracy` and `mean`.

use super::interval::mean_figure;
use super::moments::mean_of_scores;
use super::registry::Definition;
use super::sample_mean::{Averaged, Known, SampleMean, finite_field};
use super::{Context, Metric, Scope, ValueSource, View};
use crate::{About, Error, Family, Points, Reason, Unit};
use calipers_stats::threshold_test::Direction;

const ACCURACY: About = About {
    name: "accuracy",
    summary: "the share of answers that are correct",
    usage: "accuracy()",
    tells: "How often the system is right; partial credit counts in part.",
    misleads: "With few samples, when samples belong together (see `stderr`), and when many samples are errored or \
               unscored: look at what is missing.",
    formula: "correct_outputs / total_outputs: the mean of the scores over scored samples. In a run without scores, \
              the mean of `correct`, or else of `passed`.",
    interval: "Blaker for scores that are 0 or 1, else as for `mean`.",
    example: "calipers score results.jsonl -m accuracy",
    unit: Unit::Rate,
    range: "0–100 %",
    direction: Some(Direction::AtLeast),
    typical_threshold: Some("≥ 95%"),
    use_case: "Q&A, fact retrieval",
    family: Family::Scores,
    parameters: &[],
    positional: &[],
    inspect: Some("accuracy"),
    role: None,
};

const MEAN: About = About {
    name: "mean",
    summary: "the mean of the scores, or of a field",
    usage: "mean(field=None)",
    tells: "The average score, in the unit of the scores; `mean(\"quality_score\")` is the average of a field.",
    misleads: "With outliers, and for ratings whose steps are not equal.",
    formula: "Σx / n. For a field, the attempts of a sample are averaged first.",
    interval: "Blaker for values that are 0 or 1; t with a little weight at both ends for other values between 0 and \
               1; otherwise t with weight beyond the observed values, with ten values or more. Of a field that is not between 0 \
               and 1, only the end that something limits: times, costs and tokens have a lower end, and both if `limits` are stated.",
    example: "calipers score results.jsonl -m mean -m 'mean(\"quality_score\")'",
    unit: Unit::Plain,
    range: "that of the scores",
    direction: Some(Direction::AtLeast),
    typical_threshold: None,
    use_case: "Graded answers",
    family: Family::Scores,
    parameters: &[("field", "a field of attempts, such as `quality_score`; without it, the scores")],
    positional: &["field"],
    inspect: Some("mean"),
    role: None,
};

/// The metrics of this file.
pub(super) static METRICS: &[Definition] = &[
    Definition { about: ACCURACY, make: |_| Ok(accuracy()) },
    Definition { about: MEAN, make: |a| Ok(a.text("field")?.map_or_else(mean, |field| mean_of(&field))) },
];

/// The share of answers that are correct.
///
/// `calipers metrics accuracy` says what it tells you, when it misleads, its formula and its interval.
///
/// ```
/// use calipers_core::{accuracy, Plan, Samples};
///
/// let mut samples = Samples::new();
/// for (id, score) in [(1, "C"), (2, "I"), (3, "C"), (4, "P")] {
///     samples.push(id).score("match", score);
/// }
/// let results = Plan::new().metrics([accuracy()]).measure(&samples)?;
/// assert_eq!(results.figure("match", "accuracy").expect("asked for").value, Ok(0.625));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn accuracy() -> Metric {
    let metric = mean_of_scores("accuracy", |moments, tally, context| mean_figure(moments, tally, true, context));
    let metric = metric.about_samples(Scope::EverySample);
    let recorded = Metric::recorded("accuracy", SampleMean(Correct));
    metric.or_without_scores(recorded.view(View::Attempts).reading_if_there(["correct", "passed"]))
}

/// The mean of all scores.
///
/// `calipers metrics mean` says what it tells you, when it misleads, its formula and its interval.
///
/// ```
/// use calipers_core::{mean, Plan, Samples};
///
/// let mut samples = Samples::new();
/// for (id, score) in [(1, 0.5), (2, 0.75), (3, 1.0)] {
///     samples.push(id).score("judge", score);
/// }
/// let results = Plan::new().metrics([mean()]).measure(&samples)?;
/// assert_eq!(results.figure("judge", "mean").expect("asked for").value, Ok(0.75));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn mean() -> Metric {
    let metric = mean_of_scores("mean", |moments, tally, context| mean_figure(moments, tally, false, context));
    metric.summing(ValueSource::Scores)
}

/// The mean of a field, such as `quality_score`, over samples: attempts are averaged first.
///
/// ```
/// use calipers_core::{mean_of, Plan, Samples};
///
/// let mut samples = Samples::new();
/// samples.push(1).field("quality_score", 0.5);
/// samples.push(2).field("quality_score", 1.0);
/// let results = Plan::new().metrics([mean_of("quality_score")]).measure(&samples)?;
/// assert_eq!(results.figure("run", "mean").expect("asked for").value, Ok(0.75));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn mean_of(field: &str) -> Metric {
    let metric = Metric::recorded("mean", SampleMean(Field(field.to_owned())));
    metric.param("field", field).view(View::Attempts).reading([field]).summing(ValueSource::Field(field.into()))
}

/// The values of a field.
struct Field(String);

impl Averaged for Field {
    const IS_SHARE: bool = false;
    const NOTHING: Reason = Reason::Statistic(calipers_stats::Undefined::Empty);

    fn name(&self) -> &str {
        "mean"
    }

    fn field(&self) -> Option<&str> {
        Some(&self.0)
    }

    fn values(&self, points: &Points<'_>, context: &Context) -> Result<Known<f64>, Error> {
        Ok(finite_field(points, &self.0, context)?.into())
    }

    fn stored<'s>(&self, points: &Points<'s>, context: &Context) -> Option<&'s [f64]> {
        let values = points.stored_floats(&self.0, &context.labels)?;
        // No early exit, so that vector instructions can do it.
        values.iter().fold(true, |are_finite, value| are_finite & value.is_finite()).then_some(values)
    }
}

/// What records without scores say of their answers.
struct Correct;

impl Averaged for Correct {
    const IS_SHARE: bool = true;
    const NOTHING: Reason = Reason::NoCorrectness;

    fn name(&self) -> &str {
        "accuracy"
    }

    fn values(&self, points: &Points<'_>, context: &Context) -> Result<Known<f64>, Error> {
        let (correct, passed) = (finite_field(points, "correct", context)?, finite_field(points, "passed", context)?);
        Ok(correct.into_iter().zip(passed).map(|(correct, passed)| correct.or(passed)).collect::<Vec<_>>().into())
    }
}
