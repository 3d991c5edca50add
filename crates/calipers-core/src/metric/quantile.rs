//! `quantile`.

use super::registry::Definition;
use super::{Context, Measure, Metric, MetricBasis, Scope, Tally, View};
use crate::data::scenario::latencies;
use crate::metric::evidence::by_sample;
use crate::{
    About, Answer, Caveat, Error, Evidence, Family, Figure, Points, Reason, StateReader, StateWriter, Undefined, Unit,
    damaged,
};
use calipers_stats::quantile::SortedValues;
use calipers_stats::unit_quantile::UnitQuantile;

const QUANTILE: About = About {
    name: "quantile",
    summary: "a quantile of a field over attempts",
    usage: "quantile(field, p=0.5)",
    tells: "The value that all but the largest few stay below.",
    misleads: "With few values: the 95th percentile of ten values is below the true one three times in four.",
    formula: "Linear between order statistics (type 7 of Hyndman and Fan 1996).",
    interval: "From order statistics, exact for every distribution; if samples have several attempts, a \
               cluster-robust one (Francisco and Fuller 1991). With few values, a bound may not exist; the report says so.",
    example: "calipers score results.jsonl -m 'quantile(\"tokens_used\", 0.9)'",
    unit: Unit::Plain,
    range: "that of the field",
    direction: None,
    typical_threshold: None,
    use_case: "Budgets that most attempts must stay within",
    family: Family::Fields,
    parameters: &[
        ("field", "a field of attempts, such as `latency_ms`"),
        ("p", "between 0 and 1: 0.95 for the 95th percentile"),
    ],
    positional: &["field", "p"],
    inspect: None,
    role: None,
};

/// The name of the method in results.
const METHOD: &str = "linear between order statistics";

/// The metrics of this file.
pub(super) static METRICS: &[Definition] =
    &[Definition { about: QUANTILE, make: |a| quantile(&a.needed("field")?, a.number("p")?.unwrap_or(0.5)) }];

/// A quantile of a field over attempts: `quantile("latency_ms", 0.95)?` is the 95th percentile.
///
/// `calipers metrics quantile` says what it tells you, when it misleads, its formula and its interval.
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
    let measure = Quantile { of: Of::Field(field.to_owned()), p };
    let metric = Metric::recorded("quantile", measure).param("field", field).param("p", p);
    let metric = metric.about_samples(Scope::EverySample).based_on(MetricBasis::Quantile(p));
    Ok(metric.view(View::Attempts).reading([field]))
}

/// What a quantile is taken of.
pub(super) enum Of {
    /// A field, as it was recorded.
    Field(String),
    /// The time that attempts took, endless where it ran out.
    Latency,
}

pub(super) struct Quantile {
    pub(super) of: Of,
    pub(super) p: f64,
}

impl Quantile {
    fn values(&self, points: &Points<'_>, context: &Context) -> Result<Vec<Option<f64>>, Error> {
        match &self.of {
            Of::Field(field) => points.field(field, &context.labels),
            Of::Latency => latencies(points, context),
        }
    }

    /// Why the quantile of these values does not exist, if it is among attempts that ran out of time.
    fn ran_out(&self, sorted: &SortedValues) -> Option<Undefined> {
        let (all, endless) = (sorted.count(), sorted.count() - sorted.count_within(f64::MAX));
        let is_latency = matches!(self.of, Of::Latency) && endless > 0;
        let why = Reason::TimedOut { p: self.p, timed_out: endless, attempts: all };
        is_latency.then(|| Undefined::new(why, f64::INFINITY))
    }
}

/// Longer than requests take in seconds, and shorter than nearly all take in milliseconds.
const SECONDS_MAX: f64 = 100.0;

impl Quantile {
    /// A caveat where all times in milliseconds are so short, and so exact, that they were probably recorded in seconds.
    fn looks_like_seconds(&self, values: &[f64]) -> Option<Caveat> {
        let field = match &self.of {
            Of::Latency => LATENCY,
            Of::Field(field) if field == LATENCY => LATENCY,
            Of::Field(_) => return None,
        };
        let finite = || values.iter().copied().filter(|x| x.is_finite());
        let max = finite().fold(f64::NEG_INFINITY, f64::max);
        let is_like_seconds = (0.0..SECONDS_MAX).contains(&max) && finite().any(|x| x.fract() != 0.0);
        is_like_seconds.then(|| Caveat::LooksLikeSeconds { field: field.to_owned(), max })
    }
}

const LATENCY: &str = "latency_ms";

/// Values with the sample each belongs to, numbered in the order of arrival.
#[derive(Default)]
pub(super) struct QuantileState {
    values: Vec<f64>,
    sample: Vec<u32>,
    missing: u64,
    samples: u32,
}

impl Measure for Quantile {
    type State = QuantileState;

    fn start(&self) -> QuantileState {
        QuantileState::default()
    }

    fn fold(&self, state: &mut QuantileState, points: &Points<'_>, context: &Context) -> Result<(), Error> {
        let values = self.values(points, context)?;
        for (_, attempts) in by_sample(points.sample_codes(), &values) {
            for value in attempts {
                match value {
                    Some(x) => {
                        state.values.push(*x);
                        state.sample.push(state.samples);
                    }
                    None => state.missing += 1,
                }
            }
            state.samples += 1;
        }
        Ok(())
    }

    fn save(&self, state: &QuantileState, out: &mut StateWriter) -> Result<(), Error> {
        out.floats(&state.values);
        let mut last = 0;
        for &sample in &state.sample {
            out.put(&(sample - last));
            last = sample;
        }
        out.put(&state.missing);
        out.put(&state.samples);
        Ok(())
    }

    fn load(&self, from: &mut StateReader<'_>) -> Result<QuantileState, Error> {
        let values = from.floats()?;
        let (mut sample, mut last) = (Vec::with_capacity(values.len()), 0u32);
        for _ in &values {
            last = last.checked_add(from.take()?).ok_or_else(|| damaged("a number is too large"))?;
            sample.push(last);
        }
        let (missing, samples) = (from.take()?, from.take()?);
        if !sample.is_empty() && last >= samples {
            return Err(damaged("a sample lies outside its list"));
        }
        Ok(QuantileState { values, sample, missing, samples })
    }

    fn merge(&self, state: &mut QuantileState, other: QuantileState) {
        state.values.extend(other.values);
        state.sample.extend(other.sample.iter().map(|sample| sample + state.samples));
        state.missing += other.missing;
        state.samples += other.samples;
    }

    fn finish(&self, state: QuantileState, _: Tally, context: &Context) -> Result<Answer, Error> {
        let tally = Tally { n: state.values.len() as u64, missing: state.missing };
        let repeated = state.sample.windows(2).any(|pair| pair[0] == pair[1]);
        let in_seconds = self.looks_like_seconds(&state.values);
        let sorted = SortedValues::new(state.values.clone());
        let value = sorted.as_ref().map_err(|&why| why).and_then(|sorted| sorted.linear(self.p));
        let mut figure = Figure::statistic(value, f64::NAN, tally, METHOD);
        let Ok(sorted) = sorted else { return Ok(figure.into()) };
        if let (Err(_), Some(why)) = (&figure.value, self.ran_out(&sorted)) {
            figure.value = Err(why);
        }
        let interval = if repeated {
            // Attempts of one sample go together; order statistics would take them for independent.
            UnitQuantile::new(&state.values, &state.sample, self.p)
                .and_then(|quantile| quantile.interval(context.confidence))
        } else {
            sorted.order_interval(self.p, context.confidence)
        };
        if let Ok(found) = interval {
            figure.interval = Some(found.interval);
            figure.caveats.extend(found.caveat.map(Caveat::from));
        }
        figure.caveats.extend(in_seconds);
        Ok(figure.into())
    }

    fn evidence(&self, points: &Points<'_>, context: &Context) -> Result<Option<Evidence>, Error> {
        let values = self.values(points, context)?;
        Ok(Some(Evidence::quantile(self.p, points.sample_codes(), &values)))
    }
}
