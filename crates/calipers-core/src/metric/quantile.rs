//! `quantile`.

use super::{Context, Measure, Metric, Tally, View};
use crate::{Answer, Caveat, Error, Figure, Points};
use calipers_stats::quantile::Values;

/// A quantile of a field over attempts: `quantile("latency_ms", 0.95)?` is the 95th percentile.
///
/// *What it tells you.* The time that all but the slowest few stay below. *When it misleads.* From few values: the
/// 95th percentile of ten runs is below the true one three times in four. *Formula.* Linear between order statistics
/// (type 7). *Interval.* From order statistics, exact for every distribution; a bound may not exist, and says so.
///
/// ```
/// use calipers_core::{quantile, Plan, Samples};
///
/// let mut samples = Samples::new();
/// for (id, latency) in [(1, 812.0), (2, 455.0), (3, 1290.0)] {
///     samples.push(id).field("latency_ms", latency);
/// }
/// let results = Plan::new().metrics([quantile("latency_ms", 0.5)?]).measure(&samples)?;
/// assert_eq!(results.figure("run", "quantile").expect("asked for").value, Ok(812.0));
/// # Ok::<(), calipers_core::Error>(())
/// ```
pub fn quantile(field: &str, p: f64) -> Result<Metric, Error> {
    if !(p > 0.0 && p < 1.0) {
        let message = format!("a quantile of {p} does not lie between 0 and 1");
        return Err(Error::argument(message, "the 95th percentile is written 0.95"));
    }
    let measure = Quantile { field: field.to_owned(), p };
    Ok(Metric::new("quantile", measure).param("field", field).param("p", p).view(View::Attempts))
}

struct Quantile {
    field: String,
    p: f64,
}

#[derive(Default)]
struct Seen {
    values: Values,
    n: u64,
    missing: u64,
    samples: u64,
}

impl Measure for Quantile {
    type State = Seen;

    fn start(&self) -> Seen {
        Seen::default()
    }

    fn fold(&self, state: &mut Seen, points: &Points<'_>, context: &Context) -> Result<(), Error> {
        for value in points.field(&self.field, &context.labels)? {
            match value {
                Some(x) => {
                    state.values.add(x);
                    state.n += 1;
                }
                None => state.missing += 1,
            }
        }
        state.samples += points.distinct_samples();
        Ok(())
    }

    fn merge(&self, state: &mut Seen, other: Seen) {
        state.values.merge(&other.values);
        state.n += other.n;
        state.missing += other.missing;
        state.samples += other.samples;
    }

    fn finish(&self, state: Seen, _: Tally, context: &Context) -> Result<Answer, Error> {
        let tally = Tally { n: state.n, missing: state.missing };
        let sorted = state.values.finish();
        let value = sorted.as_ref().map_err(|&why| why).and_then(|sorted| sorted.linear(self.p));
        let mut figure = Figure::statistic(value, f64::NAN, tally, "linear between order statistics");
        if let Ok(bounds) = sorted.and_then(|sorted| sorted.order_interval(self.p, context.confidence)) {
            figure.interval = Some(bounds.interval);
            figure.caveats.extend(bounds.caveat.map(Caveat::from));
        }
        let attempts = state.n + state.missing;
        if attempts > state.samples {
            figure.caveats.push(Caveat::PooledAttempts { attempts, samples: state.samples });
        }
        Ok(figure.into())
    }
}
