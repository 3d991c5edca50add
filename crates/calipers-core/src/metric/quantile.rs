//! `quantile`.

use super::{Context, Measure, Metric, Tally, View};
use crate::{Answer, Caveat, Error, Figure, Points};
use calipers_stats::quantile::{Sorted, clustered_interval};

/// A quantile of a field over attempts: `quantile("latency_ms", 0.95)?` is the 95th percentile.
///
/// *What it tells you.* The time that all but the slowest few stay below.
///
/// *When it misleads.* From few values: the 95th percentile of ten runs is below the true one three times in four.
///
/// *Formula.* Linear between order statistics (type 7).
///
/// *Interval.* From order statistics, exact for every distribution; where samples have several attempts, a
/// cluster-robust one (Woodruff 1952). A bound may not exist, and says so.
///
/// *Example.*
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
    let metric = Metric::recorded("quantile", measure).param("field", field).param("p", p);
    Ok(metric.view(View::Attempts).reading([field]))
}

struct Quantile {
    field: String,
    p: f64,
}

/// Values with the sample each belongs to, numbered in the order of arrival.
#[derive(Default)]
struct Seen {
    values: Vec<f64>,
    sample: Vec<u32>,
    missing: u64,
    samples: u32,
}

impl Measure for Quantile {
    type State = Seen;

    fn start(&self) -> Seen {
        Seen::default()
    }

    fn fold(&self, state: &mut Seen, points: &Points<'_>, context: &Context) -> Result<(), Error> {
        let values = points.field(&self.field, &context.labels)?;
        let mut row = 0;
        for attempts in points.sample_codes().chunk_by(|a, b| a == b) {
            for value in &values[row..row + attempts.len()] {
                match value {
                    Some(x) => {
                        state.values.push(*x);
                        state.sample.push(state.samples);
                    }
                    None => state.missing += 1,
                }
            }
            row += attempts.len();
            state.samples += 1;
        }
        Ok(())
    }

    fn merge(&self, state: &mut Seen, other: Seen) {
        state.values.extend(other.values);
        state.sample.extend(other.sample.iter().map(|sample| sample + state.samples));
        state.missing += other.missing;
        state.samples += other.samples;
    }

    fn finish(&self, state: Seen, _: Tally, context: &Context) -> Result<Answer, Error> {
        let tally = Tally { n: state.values.len() as u64, missing: state.missing };
        let repeated = state.sample.windows(2).any(|pair| pair[0] == pair[1]);
        let clustered = repeated.then(|| clustered_interval(&state.values, &state.sample, self.p, context.confidence));
        let sorted = Sorted::new(state.values);
        let value = sorted.as_ref().map_err(|&why| why).and_then(|sorted| sorted.linear(self.p));
        let mut figure = Figure::statistic(value, f64::NAN, tally, "linear between order statistics");
        let Ok(sorted) = sorted else { return Ok(figure.into()) };
        if let Ok(exact) = sorted.order_interval(self.p, context.confidence) {
            figure.interval = Some(exact.interval);
            figure.caveats.extend(exact.caveat.map(Caveat::from));
        }
        // Attempts of one sample go together; the exact interval would take them for independent.
        match clustered {
            Some(interval) => Ok(figure.with_interval(interval.ok()).into()),
            None => Ok(figure.into()),
        }
    }
}
