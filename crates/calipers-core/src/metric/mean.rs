//! `accuracy` and `mean`.

use super::interval::mean_interval;
use super::moments::of_moments;
use super::{Context, Metric, Tally};
use crate::{Caveat, Figure};
use calipers_stats::Moments;

/// The share of answers that are correct.
///
/// *What it tells you.* How often the system is right; half credit counts half.
///
/// *When it misleads.* On few samples, when samples go together (see [`stderr`](super::stderr())), when errors and
/// unscored samples are many: look at `missing`.
///
/// *Formula.* Σx / n over scored samples.
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
    of_moments("accuracy", |moments, tally, context| mean_figure(moments, tally, true, context))
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
    of_moments("mean", |moments, tally, context| mean_figure(moments, tally, false, context))
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
    super::pass_rate::field_mean("mean", field)
}

/// The mean with its interval.
pub(super) fn mean_figure(moments: &Moments, tally: Tally, share: bool, context: &Context) -> Figure {
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
