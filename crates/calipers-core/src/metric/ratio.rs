//! `ratio`.

use super::pass_rate::finite_field;
use super::{Context, Measure, Metric, Tally, View};
use crate::{Answer, Caveat, Error, Figure, Points};
use calipers_stats::ExactSum;
use calipers_stats::ratio::ratio_of_sums;

/// The sum of one field over the sum of another, over attempts: quality per token, tokens per success.
///
/// *What it tells you.* What a unit of the denominator buys over the whole suite.
///
/// *When it misleads.* It is not the mean of the samples' ratios, which may be many times larger.
///
/// *Formula.* Σy / Σx, undefined when Σx is 0.
///
/// *Interval.* t with the linearised error, attempts clustered by sample.
///
/// *Example.*
///
/// ```
/// use calipers_core::{ratio, Plan, Samples};
///
/// let mut samples = Samples::new();
/// for (id, quality, tokens) in [(1, 1.0, 100.0), (2, 1.0, 10_000.0), (3, 0.0, 5_000.0), (4, 1.0, 200.0)] {
///     samples.push(id).field("quality_score", quality).field("tokens_used", tokens);
/// }
/// let results = Plan::new().metrics([ratio("quality_score", "tokens_used")]).measure(&samples)?;
/// let value = results.figure("run", "ratio").expect("asked for").value.clone().expect("defined");
/// assert!((value - 1.96e-4).abs() < 1e-6);
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn ratio(numerator: &str, denominator: &str) -> Metric {
    let measure = Ratio { numerator: numerator.to_owned(), denominator: denominator.to_owned() };
    let metric = Metric::recorded("ratio", measure).param("numerator", numerator).param("denominator", denominator);
    metric.view(View::Attempts).reading([numerator, denominator])
}

struct Ratio {
    numerator: String,
    denominator: String,
}

/// Sums over the attempts of each sample: attempts of one sample go together.
#[derive(Default)]
struct Seen {
    numerators: Vec<f64>,
    denominators: Vec<f64>,
    n: u64,
    missing: u64,
}

impl Measure for Ratio {
    type State = Seen;

    fn start(&self) -> Seen {
        Seen::default()
    }

    fn fold(&self, state: &mut Seen, points: &Points<'_>, context: &Context) -> Result<(), Error> {
        let numerators = finite_field(points, &self.numerator, context)?;
        let denominators = finite_field(points, &self.denominator, context)?;
        let mut row = 0;
        for sample in points.sample_codes().chunk_by(|a, b| a == b) {
            let (mut y, mut x) = (ExactSum::default(), ExactSum::default());
            let mut given = 0;
            for _ in sample {
                if let (Some(numerator), Some(denominator)) = (numerators[row], denominators[row]) {
                    y.add(numerator);
                    x.add(denominator);
                    given += 1;
                }
                row += 1;
            }
            state.n += given;
            state.missing += sample.len() as u64 - given;
            if given > 0 {
                state.numerators.push(y.value());
                state.denominators.push(x.value());
            }
        }
        Ok(())
    }

    fn merge(&self, state: &mut Seen, other: Seen) {
        state.numerators.extend(other.numerators);
        state.denominators.extend(other.denominators);
        state.n += other.n;
        state.missing += other.missing;
    }

    fn finish(&self, state: Seen, _: Tally, context: &Context) -> Result<Answer, Error> {
        let tally = Tally { n: state.n, missing: state.missing };
        let ratio = ratio_of_sums(&state.numerators, &state.denominators, None);
        let value = ratio.as_ref().map(|ratio| ratio.ratio.estimate).map_err(|&why| why);
        let mut figure = Figure::statistic(value, f64::NAN, tally, "ratio of sums");
        if let Ok(ratio) = ratio {
            figure.interval = ratio.ratio.interval(context.confidence).ok();
            figure.caveats.extend(ratio.caveats().into_iter().map(Caveat::from));
        }
        Ok(figure.into())
    }
}
