//! `ratio`.

use super::interval::one_ended_needs;
use super::registry::Definition;
use super::sample_mean::{Known, finite_field};
use super::{Context, Measure, Metric, Tally, ValueSource, View, unit_of_field};
use crate::data::scenario::ScoreFallback;
use crate::metric::evidence::{by_sample, sums_of_given};
use crate::{
    About, Answer, Caveat, Error, Evidence, Family, Figure, MetricEnds, Points, RatioLimits, StateReader, StateWriter,
    Unit, ValueEnds, damaged,
};
use calipers_stats::adjusted_ratio::{adjusted_ratio, ratio_beside};
use calipers_stats::bounded_ratio::{BoundedRatio, Term};
use calipers_stats::ratio::{Ratio, ratio_of_sums};
use calipers_stats::{Confidence, Interval, Method, Quantity, Undefined as NoStatistic};

const RATIO: About = About {
    name: "ratio",
    summary: "the sum of one field over the sum of another",
    usage: "ratio(numerator, denominator)",
    tells: "What one unit of the denominator yields over the whole suite: quality per token, tokens per success.",
    misleads: "It is not the mean of the samples' ratios, which may be many times larger.",
    formula: "Σy / Σx over attempts that have both; undefined when Σx is 0.",
    interval: "None, because nothing limits what an unseen sample adds. With `limits`, that of Gaffke's test, with samples as \
               units.",
    example: "calipers score results.jsonl -m 'ratio(\"quality_score\", \"tokens_used\")'",
    unit: Unit::Ratio,
    range: "any",
    direction: None,
    typical_threshold: None,
    use_case: "Cost and efficiency of anything that can be counted",
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

    fn fields_without_limit(&self) -> Vec<String> {
        vec![self.numerator.clone(), self.denominator.clone()]
    }

    fn is_not_negative(&self) -> bool {
        unit_of_field(&self.numerator).range().0 == 0.0
    }

    fn pairs(&self, points: &Points<'_>, context: &Context) -> Result<Known<(f64, f64)>, Error> {
        let numerators = finite_field(points, &self.numerator, context)?;
        let denominators = finite_field(points, &self.denominator, context)?;
        Ok(numerators.into_iter().zip(denominators).map(|(y, x)| Some((y?, x?))).collect::<Vec<_>>().into())
    }
}

/// What the units of a ratio are.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum UnitKind {
    Samples,
    Clusters,
}

/// From so many units on, the linearised error is as good as the test that looks at each of them, and far quicker.
const UNITS_MAX: usize = 3000;

/// The interval of a ratio of sums over units, each with its numerator and denominator. A unit has at most so many attempts.
///
/// - Shares of counts: [t with a little weight at both ends](adjusted_ratio), CR2 and Satterthwaite's degrees of freedom.
/// - Amounts and other numbers: [Gaffke's test](BoundedRatio), on the side where something limits what an unseen unit adds. No
///   bound holds on the other side, whatever was seen (Bahadur and Savage 1956): amounts that are not negative have a bound
///   below, and grades per something that is not negative have one above. Numerators of another kind have none.
pub(super) fn ratio_interval(
    units: &[(f64, f64)],
    limits: RatioLimits,
    attempts: u64,
    kind: UnitKind,
    ends: &MetricEnds,
    confidence: Confidence,
) -> Result<Interval, NoStatistic> {
    let is_clustered = kind == UnitKind::Clusters;
    if limits.is_share() {
        let method = if is_clustered { Method::AdjustedClusterT } else { Method::AdjustedT };
        return adjusted_ratio(units, (0.0, 1.0), method, confidence);
    }
    let need = one_ended_needs(confidence);
    let have = units.len() as u64;
    if have < need {
        let what = if is_clustered { Quantity::Clusters } else { Quantity::Values };
        return Err(NoStatistic::TooFew { what, need, have });
    }
    let grades = attempts as f64;
    let is_within = |least: f64, most: f64| units.iter().all(|(y, _)| (least..=most).contains(y));
    let size = units.iter().map(|unit| unit.1).fold(0.0, f64::max);
    let end = |of: &Option<ValueEnds>, end: fn(&ValueEnds) -> Option<f64>| of.as_ref().and_then(end);
    let (low, high) = (end(&ends.value, |ends| ends.least), end(&ends.value, |ends| ends.most));
    let (least, most) = match limits {
        RatioLimits::Amounts => {
            let natural = is_within(0.0, f64::INFINITY).then_some(0.0);
            let term = |value: f64| Term::new(value * size, size);
            (low.or(natural).map(term), high.map(term))
        }
        _ => {
            let (of_grades, natural) =
                (is_within(0.0, grades).then_some(1.0), is_within(0.0, f64::INFINITY).then_some(0.0));
            // With a negative numerator, little of the denominator may be worse than much.
            let worst = low.or(natural).filter(|low| *low >= 0.0).zip(end(&ends.per, |per| per.most));
            let best = high.or(of_grades).map(|high| (high, end(&ends.per, |per| per.least).unwrap_or(0.0).max(0.0)));
            let term = |(y, x): (f64, f64)| Term::new(y * grades, x * grades);
            (worst.map(term), best.map(term))
        }
    };
    let interval = if units.len() > UNITS_MAX {
        let pair = |term: Term| (term.numerator, term.denominator);
        ratio_beside(units, least.map(pair), most.map(pair), confidence)?
    } else {
        let terms = units.iter().map(|&(y, x)| Term::new(y, x));
        let interval = BoundedRatio::new(terms, least, most)?.interval(confidence);
        let method = if is_clustered { Method::GaffkeClustered } else { interval.method };
        Interval { method, ..interval }
    };
    Ok(interval)
}

/// What a ratio of sums is taken of.
pub(super) trait Pairs: Send + Sync + 'static {
    /// What an attempt can add to the sums.
    const LIMITS: RatioLimits;
    /// True when numerators are grades, between 0 and 1.
    const HAS_GRADES: bool = false;
    /// How it is computed, in words.
    const METHOD: &'static str;

    /// The metric, for messages.
    fn name(&self) -> &str;

    /// The fields whose values nothing limits.
    fn fields_without_limit(&self) -> Vec<String> {
        Vec::new()
    }

    /// True when numerators cannot be negative.
    fn is_not_negative(&self) -> bool {
        Self::HAS_GRADES
    }

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
    /// The number of attempts of the sample that has most.
    attempts_max: u32,
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
            state.attempts_max = state.attempts_max.max(attempts.len() as u32);
            if let Some((numerator, denominator)) = sums_of_given(attempts) {
                state.numerators.push(numerator);
                state.denominators.push(denominator);
            }
        }
        Ok(())
    }

    fn save(&self, state: &RatioState, out: &mut StateWriter) -> Result<(), Error> {
        out.floats(&state.numerators);
        out.floats(&state.denominators);
        out.put(&(state.n, state.missing));
        out.put(&state.attempts_max);
        out.put(&state.fallback);
        Ok(())
    }

    fn load(&self, from: &mut StateReader<'_>) -> Result<RatioState, Error> {
        let (numerators, denominators) = (from.floats()?, from.floats()?);
        if numerators.len() != denominators.len() {
            return Err(damaged("a numerator has no denominator"));
        }
        let (n, missing) = from.take()?;
        Ok(RatioState { numerators, denominators, n, missing, attempts_max: from.take()?, fallback: from.take()? })
    }

    fn merge(&self, state: &mut RatioState, other: RatioState) {
        state.numerators.extend(other.numerators);
        state.denominators.extend(other.denominators);
        state.n += other.n;
        state.missing += other.missing;
        state.attempts_max = state.attempts_max.max(other.attempts_max);
        state.fallback.merge(other.fallback);
    }

    fn finish(&self, state: RatioState, _: Tally, context: &Context) -> Result<Answer, Error> {
        state.fallback.check(self.0.name())?;
        let tally = Tally { n: state.n, missing: state.missing };
        let ratio = ratio_of_sums(&state.numerators, &state.denominators, None);
        let value = ratio.as_ref().map(|ratio| ratio.ratio.estimate).map_err(|&why| why);
        let mut figure = Figure::statistic(value, f64::NAN, tally, P::METHOD);
        if figure.value.is_ok() {
            let units: Vec<(f64, f64)> = state.numerators.into_iter().zip(state.denominators).collect();
            let attempts = u64::from(state.attempts_max);
            let ends = &context.ends;
            let interval = ratio_interval(&units, P::LIMITS, attempts, UnitKind::Samples, ends, context.confidence);
            if let Ok(mut interval) = interval {
                // Of numbers that only happen to lie between 0 and 1, nothing says that the next one will.
                let is_stated =
                    |end: fn(&ValueEnds) -> Option<f64>| ends.value.as_ref().is_some_and(|ends| end(ends).is_some());
                let is_low = P::LIMITS.is_share() || self.0.is_not_negative() || is_stated(|ends| ends.least);
                let is_high = P::LIMITS.is_share() || P::HAS_GRADES || is_stated(|ends| ends.most);
                (interval.lower, interval.upper) =
                    (interval.lower.filter(|_| is_low), interval.upper.filter(|_| is_high));
                let (lower, upper) = (interval.lower.is_some(), interval.upper.is_some());
                if let Some(name) = ends.exceeded().filter(|_| !(lower && upper)) {
                    figure.caveats.push(Caveat::ExceededLimit { name: name.to_owned(), lower, upper });
                } else if !(lower && upper) {
                    let stated = [&ends.value, &ends.per];
                    let is_stated = |field: &String| {
                        stated.iter().any(|ends| ends.as_ref().is_some_and(|ends| *ends.name == **field))
                    };
                    let mut fields = self.0.fields_without_limit();
                    fields.retain(|field| !is_stated(field));
                    figure.caveats.push(Caveat::OpenInterval { fields, lower, upper });
                }
                figure.interval = Some(interval).filter(|_| lower || upper);
            }
            // Nothing limits what an unseen sample adds, so few samples, or few that decide, say little.
            let open = ratio.iter().filter(|_| !P::LIMITS.is_share()).flat_map(Ratio::caveats);
            figure.caveats.extend(open.map(Caveat::from));
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
