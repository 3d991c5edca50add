//! `bootstrap_stderr`.

use super::registry::Definition;
use super::{Context, Measure, Metric, Precision, Tally};
use crate::data::column::Column;
use crate::data::scores::Values;
use crate::{About, Answer, Caveat, Error, Family, Figure, Points, StateReader, StateWriter, Unit};
use calipers_stats::Moments;
use calipers_stats::bootstrap::{Bootstrap, MeanResampler};
use calipers_stats::threshold_test::Direction;

const BOOTSTRAP_STDERR: About = About {
    name: "bootstrap_stderr",
    summary: "the standard error of the mean by resampling",
    usage: "bootstrap_stderr(num_samples=1000)",
    tells: "The same as `stderr`, computed by resampling with replacement.",
    misleads: "It divides by n, not by n − 1, so it is a little too small for few samples; and it ignores clusters. \
               For a mean it converges to √((n−1)/n)·s/√n, which is the detail `limit`.",
    formula: "The population standard deviation of `num_samples` resampled means, from the recorded seed.",
    interval: "None; the error of the simulation itself is the detail `monte_carlo_error`.",
    example: "calipers score results.jsonl -m 'bootstrap_stderr(num_samples=1000)'",
    unit: Unit::Plain,
    range: "≥ 0",
    direction: Some(Direction::AtMost),
    typical_threshold: None,
    use_case: "The error bar of a mean, without a formula",
    family: Family::Error,
    parameters: &[("num_samples", "the number of resamples")],
    positional: &["num_samples"],
    inspect: Some("bootstrap_stderr"),
    role: None,
};

/// The name of the method in results.
const METHOD: &str = "bootstrap of the mean";

/// The metrics of this file.
pub(super) static METRICS: &[Definition] =
    &[Definition { about: BOOTSTRAP_STDERR, make: |a| Ok(bootstrap_stderr(a.count("num_samples")?.unwrap_or(1000))) }];

/// The standard deviation of bootstrapped means: the standard error without a formula.
///
/// `calipers metrics bootstrap_stderr` says what it tells you, when it misleads, its formula and its interval.
///
/// ```
/// use calipers_core::{bootstrap_stderr, Plan, Samples, Seed};
///
/// let mut samples = Samples::new();
/// for id in 0..100 {
///     samples.push(id).score("match", if id % 4 == 0 { "I" } else { "C" });
/// }
/// let results = Plan::new().seed(Seed(7)).metrics([bootstrap_stderr(1000)]).measure(&samples)?;
/// let error = results.figure("match", "bootstrap_stderr").expect("asked for");
/// let value = error.value.clone().expect("defined");
/// assert!((value - 0.0433).abs() < 0.004);
/// assert_eq!(error.details[0].0, "limit");
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn bootstrap_stderr(num_samples: u64) -> Metric {
    let metric = Metric::recorded("bootstrap_stderr", BootstrapStderr { num_samples });
    metric.stating(Precision::StandardError).param("num_samples", num_samples as i64)
}

struct BootstrapStderr {
    num_samples: u64,
}

/// The scores seen: by label and count where they are labels, one by one else.
#[derive(Default)]
struct BootstrapStderrState {
    moments: Moments,
    counts: Vec<(f64, u64)>,
    values: Vec<f64>,
}

impl Measure for BootstrapStderr {
    type State = BootstrapStderrState;

    fn start(&self) -> BootstrapStderrState {
        BootstrapStderrState::default()
    }

    fn fold(&self, state: &mut BootstrapStderrState, points: &Points<'_>, context: &Context) -> Result<(), Error> {
        state.moments.merge(&points.moments(context)?);
        match points.values() {
            Values::Scalars(Column::Coded(_)) => state.counts.extend(points.number_counts(context)?),
            _ => state.values.extend_from_slice(&points.floats(context)?),
        }
        Ok(())
    }

    fn save(&self, state: &BootstrapStderrState, out: &mut StateWriter) -> Result<(), Error> {
        out.put(&state.moments);
        out.put(&state.counts);
        out.floats(&state.values);
        Ok(())
    }

    fn load(&self, from: &mut StateReader<'_>) -> Result<BootstrapStderrState, Error> {
        Ok(BootstrapStderrState { moments: from.take()?, counts: from.take()?, values: from.floats()? })
    }

    fn merge(&self, state: &mut BootstrapStderrState, other: BootstrapStderrState) {
        state.moments.merge(&other.moments);
        state.counts.extend(other.counts);
        state.values.extend(other.values);
    }

    fn finish(&self, state: BootstrapStderrState, tally: Tally, context: &Context) -> Result<Answer, Error> {
        let BootstrapStderrState { moments, mut counts, values } = state;
        let resampled = (|| {
            let resampler = if counts.is_empty() {
                MeanResampler::new(&values, context.seed)?
            } else {
                counts.extend(values.iter().map(|&value| (value, 1)));
                MeanResampler::from_counts(&counts, context.seed)?
            };
            resampler.stderr(&resampler.replicates(self.num_samples)?)
        })();
        let value = resampled.as_ref().map(|answer| answer.stderr).map_err(|&why| why);
        let mut figure = Figure::statistic(value, 0.0, tally, METHOD);
        if let Ok(answer) = resampled {
            if let Some(limit) = answer.limit {
                figure = figure.with_detail("limit", limit);
            }
            figure = figure.with_detail("monte_carlo_error", answer.monte_carlo_error);
            figure.caveats.extend(answer.caveats.into_iter().map(Caveat::from));
            if let (true, Ok(stderr)) = (tally.n < 100, moments.stderr()) {
                figure.caveats.push(Caveat::BootstrapDivisor { stderr });
            }
        }
        Ok(figure.into())
    }
}
