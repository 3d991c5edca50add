//! `ratio`.

use super::registry::Definition;
use super::sample_mean::{Known, finite_field};
use super::{Context, Measure, Metric, Tally, ValueSource, View};
use crate::data::scenario::ScoreFallback;
use crate::metric::evidence::{by_sample, sums_of_given};
use crate::{About, Answer, Caveat, Error, Evidence, Family, Figure, Points, RatioLimits, Unit};
use calipers_stats::ratio::ratio_of_sums;

const RATIO: About = About {
    name: "ratio",
    summary: "the sum of one field over the sum of another",
    usage: "ratio(numerator, denominator)",
    tells: "What a unit of the denominator buys over the whole suite: quality per token, tokens per success.",
    misleads: "It is not the mean of the samples' ratios, which may be many times larger.",
    formula: "Σy / Σx over attempts that have both; undefined when Σx is 0.",
    interval: "t with the linearised error, attempts clustered by sample.",
    example: "calipers score results.jsonl -m 'ratio(\"quality_score\", \"tokens_used\")'",
    unit: Unit::Ratio,
    range: "any",
    direction: None,
    typical_threshold: None,
    use_case: "Cost and efficiency of anything that is counted",
    family: Family::Fields,
    parameters: &[("numerator", "a field of attempts"), ("denominator", "a field of attempts")],
    positional: &["numerator", "denominator"],
    inspect: None,
    role: None,
};

/// The metrics of this file.
pub(super) static METRICS: &[Definition] =
    &[Definition { about: RATIO, make: |a| Ok(ratio(&a.needed("numerator")?, &a.needed("denominator")?)) }];

/// The sum of one field over the sum of another, over attempts: quality per token, tokens per success.
///
/// `calipers metrics ratio` says what it tells you, when it misleads, its formula and its interval.
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
    let measure = OfSums(Fields { numerator: numerator.to_owned(), denominator: denominator.to_owned() });
    let metric = Metric::recorded("ratio", measure).param("numerator", numerator).param("denominator", denominator);
    let source = |field: &str| Box::new(ValueSource::Field(field.into()));
    let metric = metric.summing(ValueSource::Ratio(source(numerator), source(denominator)));
    metric.view(View::Attempts).reading([numerator, denominator])
}

struct Fields {
    numerator: String,
    denominator: String,
}

impl Pairs for Fields {
    const LIMITS: RatioLimits = RatioLimits::Open;
    const METHOD: &'static str = "ratio of sums";

    fn name(&self) -> &str {
        "ratio"
    }

    fn pairs(&self, points: &Points<'_>, context: &Context) -> Result<Known<(f64, f64)>, Error> {
        let numerators = finite_field(points, &self.numerator, context)?;
        let denominators = finite_field(points, &self.denominator, context)?;
        Ok(numerators.into_iter().zip(denominators).map(|(y, x)| Some((y?, x?))).collect::<Vec<_>>().into())
    }
}

/// What a ratio of sums is taken of.
pub(super) trait Pairs: Send + Sync + 'static {
    /// What an attempt can add to the sums.
    const LIMITS: RatioLimits;
    /// How it is computed, in words.
    const METHOD: &'static str;

    /// The metric, for messages.
    fn name(&self) -> &str;

    /// The numerator and the denominator of each attempt, if it has both.
    fn pairs(&self, points: &Points<'_>, context: &Context) -> Result<Known<(f64, f64)>, Error>;
}

/// A ratio of sums over attempts.
pub(super) struct OfSums<P>(pub(super) P);

/// Sums over the attempts of each sample: attempts of one sample go together.
#[derive(Default)]
pub(super) struct RatioState {
    numerators: Vec<f64>,
    denominators: Vec<f64>,
    n: u64,
    missing: u64,
    fallback: ScoreFallback,
}

impl<P: Pairs> Measure for OfSums<P> {
    type State = RatioState;

    fn start(&self) -> RatioState {
        RatioState::default()
    }

    fn fold(&self, state: &mut RatioState, points: &Points<'_>, context: &Context) -> Result<(), Error> {
        let known = self.0.pairs(points, context)?;
        state.fallback.note(points.samples(), known.rests_on_score);
        let given = known.values.iter().flatten().count() as u64;
        state.n += given;
        state.missing += known.values.len() as u64 - given;
        for (_, attempts) in by_sample(points.sample_codes(), &known.values) {
            if let Some((numerator, denominator)) = sums_of_given(attempts) {
                state.numerators.push(numerator);
                state.denominators.push(denominator);
            }
        }
        Ok(())
    }

    fn merge(&self, state: &mut RatioState, other: RatioState) {
        state.numerators.extend(other.numerators);
        state.denominators.extend(other.denominators);
        state.n += other.n;
        state.missing += other.missing;
        state.fallback.merge(other.fallback);
    }

    fn finish(&self, state: RatioState, _: Tally, context: &Context) -> Result<Answer, Error> {
        state.fallback.check(self.0.name())?;
        let tally = Tally { n: state.n, missing: state.missing };
        let ratio = ratio_of_sums(&state.numerators, &state.denominators, None);
        let value = ratio.as_ref().map(|ratio| ratio.ratio.estimate).map_err(|&why| why);
        let mut figure = Figure::statistic(value, f64::NAN, tally, P::METHOD);
        if let Ok(ratio) = ratio {
            figure.interval = ratio.ratio.interval(context.confidence).ok();
            figure.caveats.extend(ratio.caveats().into_iter().map(Caveat::from));
        }
        if let (true, Some(interval)) = (P::LIMITS.is_share(), &mut figure.interval) {
            interval.lower = interval.lower.map(|bound| bound.max(0.0));
            interval.upper = interval.upper.map(|bound| bound.min(1.0));
        }
        Ok(figure.into())
    }

    fn evidence(&self, points: &Points<'_>, context: &Context) -> Result<Option<Evidence>, Error> {
        let known = self.0.pairs(points, context)?;
        let mut fallback = ScoreFallback::default();
        fallback.note(points.samples(), known.rests_on_score);
        fallback.check(self.0.name())?;
        Ok(Some(Evidence::ratio(points.sample_codes(), &known.values, P::LIMITS)))
    }
}
