//! `accuracy` and `mean`.

use super::interval::mean_interval;
use super::moments::mean_of_scores;
use super::sample_mean::{Averaged, Known, SampleMean, finite_field};
use super::{Context, Metric, Tally, View};
use crate::{About, Caveat, Error, Family, Figure, Points, Reason, Unit};
use calipers_stats::Moments;
use calipers_stats::threshold_test::Direction;

pub(super) const ACCURACY: About = About {
    name: "accuracy",
    summary: "the share of answers that are correct",
    usage: "accuracy()",
    tells: "How often the system is right; half credit counts half.",
    misleads: "On few samples, when samples go together (see `stderr`), and when errors and unscored samples are many: look at \
               what is missing.",
    formula: "correct_outputs / total_outputs: the mean of the scores over scored samples. In a run without scores, of \
              `correct`, or else of `passed`.",
    interval: "Wilson for scores that are 0 or 1, else as for `mean`.",
    example: "calipers score results.jsonl -m accuracy",
    unit: Unit::Rate,
    range: "0–100 %",
    direction: Some(Direction::AtLeast),
    typical_threshold: Some("≥ 95%"),
    use_case: "Q&A, fact retrieval",
    family: Family::Scores,
};

pub(super) const MEAN: About = About {
    name: "mean",
    summary: "the mean of the scores, or of a field",
    usage: "mean(field=None)",
    tells: "The average score, in its own unit; `mean(\"quality_score\")` that of a field.",
    misleads: "With outliers, and for ratings whose steps are not equal.",
    formula: "Σx / n. Of a field, the attempts of a sample are averaged first.",
    interval: "Wilson for values that are 0 or 1; t with a little weight at both ends for others between 0 and 1; else t.",
    example: "calipers score results.jsonl -m mean -m 'mean(\"quality_score\")'",
    unit: Unit::Plain,
    range: "that of the scores",
    direction: Some(Direction::AtLeast),
    typical_threshold: None,
    use_case: "Graded answers",
    family: Family::Scores,
};

/// The share of answers that are correct.
///
/// *What it tells you.* How often the system is right; half credit counts half.
///
/// *When it misleads.* On few samples, when samples go together (see [`stderr`](super::stderr())), when errors and
/// unscored samples are many: look at `missing`.
///
/// *Formula.* Σx / n over scored samples. In a run without scores, of the field `correct`, or else of `passed`.
///
/// *Interval.* Wilson for 0/1 scores, else as for [`mean`].
///
/// *Example.*
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
    let recorded = Metric::recorded("accuracy", SampleMean(Correct));
    metric.or_without_scores(recorded.view(View::Attempts).reading_if_there(["correct", "passed"]))
}

/// The mean of all scores.
///
/// *What it tells you.* The average score.
///
/// *When it misleads.* With outliers, and for ratings whose steps are not equal.
///
/// *Formula.* Σx / n.
///
/// *Interval.* Wilson for 0/1 scores; t with a little weight at both ends for others in [0, 1]; t else.
///
/// *Example.*
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
    mean_of_scores("mean", |moments, tally, context| mean_figure(moments, tally, false, context))
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
    metric.param("field", field).view(View::Attempts).reading([field])
}

/// The values of a field.
struct Field(String);

impl Averaged for Field {
    const IS_SHARE: bool = false;
    const NOTHING: Reason = Reason::Statistic(calipers_stats::Undefined::Empty);

    fn name(&self) -> &str {
        "mean"
    }

    fn values(&self, points: &Points<'_>, context: &Context) -> Result<Known<f64>, Error> {
        Ok(finite_field(points, &self.0, context)?.into())
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

/// The mean with its interval.
pub fn mean_figure(moments: &Moments, tally: Tally, share: bool, context: &Context) -> Figure {
    let (interval, caveats) = mean_interval(moments, context.confidence);
    let mut figure = Figure::statistic(moments.mean(), 0.0, tally, "mean");
    if let (true, Ok(min), Ok(max)) = (share && !moments.is_unit(), moments.min(), moments.max())
        && min.is_finite()
        && max.is_finite()
    {
        figure.caveats.push(Caveat::OutsideUnit { min, max });
    }
    if tally.missing > 0 {
        figure.caveats.push(Caveat::Missing { missing: tally.missing, range: possible_means(moments, tally) });
    }
    if figure.value.is_ok() { figure.with_interval(interval).with_caveats(caveats) } else { figure }
}

/// The mean if every missing score were 0, and if every one were 1 (Manski 1989).
fn possible_means(moments: &Moments, tally: Tally) -> Option<(f64, f64)> {
    let (missing, all) = (tally.missing as f64, (tally.n + tally.missing) as f64);
    moments.is_unit().then(|| (moments.sum() / all, (moments.sum() + missing) / all))
}
