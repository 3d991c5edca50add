//! `pass_rate`, and the mean of any field.

use super::mean::mean_figure;
use super::{Context, Measure, Metric, Tally, View};
use crate::{Answer, Error, Points};
use calipers_stats::{ExactSum, Moments};

/// The share of samples that passed, from the field `passed`.
///
/// *What it tells you.* The overall health of an evaluation.
///
/// *When it misleads.* It weighs a security breach like a typo; see required scenarios.
///
/// *Formula.* passed / total; a sample with several attempts counts the share of its attempts that passed. An attempt
/// that ended in an error has not passed.
///
/// *Interval.* Wilson for one attempt a sample, else as for [`mean`](super::mean()).
///
/// *Example.*
///
/// ```
/// use calipers_core::{pass_rate, Plan, Samples};
///
/// let mut samples = Samples::new();
/// samples.push("CORE-001").field("passed", true);
/// samples.push("CORE-002").error("timeout");
/// let results = Plan::new().metrics([pass_rate()]).measure(&samples)?;
/// assert_eq!(results.figure("run", "pass_rate").expect("asked for").value, Ok(0.5));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn pass_rate() -> Metric {
    let measure = FieldMean { field: "passed".into(), share: true };
    Metric::recorded("pass_rate", measure).view(View::Attempts).reading(["passed"])
}

/// The mean of a field over samples, attempts averaged first.
pub(super) fn field_mean(name: &str, field: &str) -> Metric {
    let measure = FieldMean { field: field.to_owned(), share: false };
    Metric::recorded(name, measure).param("field", field).view(View::Attempts).reading([field])
}

/// A field that is to be summed: an infinite value would leave nothing of the others.
pub(super) fn finite_field(points: &Points<'_>, name: &str, context: &Context) -> Result<Vec<Option<f64>>, Error> {
    let values = points.field(name, &context.labels)?;
    match values.iter().position(|value| value.is_some_and(f64::is_infinite)) {
        Some(row) if !context.inspect => {
            let hint = "leave it out where nothing was measured, or use `quantile`, to which infinity is only large";
            let error = Error::argument(format!("field `{name}` is infinite"), hint);
            Err(error.at_sample(&points.sample_id(row)).at_epoch(points.epoch(row)))
        }
        _ => Ok(values),
    }
}

struct FieldMean {
    field: String,
    /// True for shares: a failed attempt then counts 0.
    share: bool,
}

/// The means of the samples, and how many samples have no value.
#[derive(Default)]
struct Seen {
    means: Moments,
    missing: u64,
}

impl Measure for FieldMean {
    type State = Seen;

    fn start(&self) -> Seen {
        Seen::default()
    }

    fn fold(&self, state: &mut Seen, points: &Points<'_>, context: &Context) -> Result<(), Error> {
        let values = finite_field(points, &self.field, context)?;
        let mut row = 0;
        for sample in points.sample_codes().chunk_by(|a, b| a == b) {
            let mut sum = ExactSum::default();
            let mut count = 0u32;
            for _ in sample {
                let errored = self.share && points.is_errored(row);
                if let Some(x) = if errored { Some(0.0) } else { values[row] } {
                    sum.add(x);
                    count += 1;
                }
                row += 1;
            }
            if count == 0 {
                state.missing += 1;
            } else {
                state.means.add(sum.value() / f64::from(count));
            }
        }
        Ok(())
    }

    fn merge(&self, state: &mut Seen, other: Seen) {
        state.means.merge(&other.means);
        state.missing += other.missing;
    }

    fn finish(&self, state: Seen, _: Tally, context: &Context) -> Result<Answer, Error> {
        let tally = Tally { n: state.means.count(), missing: state.missing };
        Ok(mean_figure(&state.means, tally, self.share, context).into())
    }
}
