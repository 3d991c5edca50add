//! `krippendorff_alpha`.

use super::arguments::Arguments;
use super::registry::Definition;
use super::{Context, Measure, Metric, Tally};
use crate::{
    About, Answer, Caveat, Error, Family, Figure, Labels, Points, Reason, StateReader, StateWriter, Undefined, Unit,
    Value,
};
use calipers_stats::agreement::{RatingScale, alpha_resampler, krippendorff_alpha as alpha};
use calipers_stats::bootstrap::{Bootstrap, BootstrapInterval, BootstrapKind};
use calipers_stats::threshold_test::Direction;
use calipers_stats::{StatisticCaveat as Statistic, Undefined as NoStatistic};
use std::collections::{HashMap, HashSet};

const KRIPPENDORFF_ALPHA: About = About {
    name: "krippendorff_alpha",
    summary: "how much raters agree beyond chance",
    usage: "krippendorff_alpha(level=\"nominal\")",
    tells: "Whether a judge says the same when asked again: 1 is full agreement, 0 is what chance gives, and below 0 \
            is disagreement.",
    misleads: "If nearly all ratings are in one category, it is low however good the agreement is.",
    formula: "1 − D_o / D_e (Krippendorff 2004), undefined if no ratings differ at all. The scores have to be lists \
              (reducer `collect`). Samples with fewer than two ratings are left out.",
    interval: "With 20 samples or more, the percentiles of 1000 resamples of samples; the detail `monte_carlo_error` \
               says how far chance moves its ends. None if a resample has no alpha, or if all have the same.",
    example: "calipers score results.jsonl -m krippendorff_alpha --reducer collect",
    unit: Unit::Plain,
    range: "−1 to 1",
    direction: Some(Direction::AtLeast),
    typical_threshold: None,
    use_case: "Agreement between judges, or between attempts",
    family: Family::Scores,
    parameters: &[("level", "the scale of the ratings: `nominal`, `ordinal` or `interval`")],
    positional: &["level"],
    inspect: Some("krippendorff_alpha"),
    role: None,
};

/// The name of the method in results.
const METHOD: &str = "1 − observed / expected disagreement";

/// The metrics of this file.
pub(super) static METRICS: &[Definition] =
    &[Definition { about: KRIPPENDORFF_ALPHA, make: |a| Ok(krippendorff_alpha(scale(a)?, a.labels("to_float")?)) }];

fn scale(arguments: &Arguments<'_>) -> Result<RatingScale, Error> {
    match arguments.text("level")?.as_deref() {
        None | Some("nominal") => Ok(RatingScale::Nominal),
        Some("ordinal") => Ok(RatingScale::Ordinal),
        Some("interval") => Ok(RatingScale::Interval),
        Some(_) => Err(arguments.wrong("level", "nominal, ordinal or interval")),
    }
}

/// How far raters agree beyond chance, from scores that are lists of ratings (reducer `collect`).
///
/// For ordered and interval scales, labels become numbers by `labels`; without them a label is an error.
///
/// `calipers metrics krippendorff_alpha` says what it tells you, when it misleads, its formula and its interval.
///
/// ```
/// use calipers_core::{collect, krippendorff_alpha, Plan, Samples};
/// use calipers_stats::agreement::RatingScale;
///
/// let mut samples = Samples::new();
/// for (id, rating) in [(1, 1), (1, 2), (1, 3), (2, 2), (2, 2), (2, 2), (3, 4), (3, 5), (3, 5)] {
///     samples.push(id).score("judge", rating);
/// }
/// let plan = Plan::new().reducers([collect()]).metrics([krippendorff_alpha(RatingScale::Interval, None)]);
/// let results = plan.measure(&samples)?;
/// let alpha = results.figure("judge", "krippendorff_alpha").expect("asked for").value.clone();
/// assert!((alpha.expect("defined") - 0.7894736842105263).abs() < 1e-12);
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn krippendorff_alpha(scale: RatingScale, labels: Option<Labels>) -> Metric {
    let labelled = labels.is_some();
    let metric = Metric::recorded("krippendorff_alpha", Krippendorff { scale, labels }).unlike_others_if(labelled);
    match scale {
        RatingScale::Nominal => metric,
        RatingScale::Ordinal => metric.param("level", "ordinal"),
        RatingScale::Interval => metric.param("level", "interval"),
    }
}

/// Samples below which a bootstrap interval undercovers.
const ENOUGH_UNITS: u64 = 20;
const RESAMPLES: u64 = 1000;

struct Krippendorff {
    scale: RatingScale,
    labels: Option<Labels>,
}

impl Krippendorff {
    fn number(&self, rating: &Value, context: &Context) -> Result<f64, Error> {
        if rating.is_missing() {
            return Ok(f64::NAN);
        }
        let labelled = || match &self.labels {
            None => None,
            Some(labels) if context.labels.is_lenient() => labels.clone().unknown_as_zero().to_float(rating),
            Some(labels) => labels.to_float(rating),
        };
        rating.as_number().or_else(labelled).ok_or_else(|| {
            let message = format!("rating `{rating}` has no place on an ordered scale");
            Error::argument(message, "give `labels` that map it to a number, or use the nominal scale")
        })
    }

    /// Ratings as numbers; on the nominal scale a number for each category.
    fn units(&self, ratings: &[Vec<Value>], context: &Context) -> Result<Vec<Vec<f64>>, Error> {
        let categories = if self.scale == RatingScale::Nominal { categories(ratings) } else { HashMap::new() };
        let mut unlike = 0.0;
        let mut category = |rating: &Value| {
            categories.get(&category_of(rating)).copied().unwrap_or_else(|| {
                // To Inspect a NaN is a category like no other, not even another NaN.
                unlike -= 1.0;
                unlike
            })
        };
        let unit = |unit: &Vec<Value>| {
            let rating = |rating| match self.scale {
                RatingScale::Nominal => Ok(category(rating)),
                // Only the order counts, and infinity has a place in it.
                RatingScale::Ordinal if context.inspect => Ok(self.number(rating, context)?.clamp(f64::MIN, f64::MAX)),
                _ => self.number(rating, context),
            };
            unit.iter().map(rating).collect()
        };
        ratings.iter().map(unit).collect()
    }

    /// The interval over resampled units, which come in a fixed order.
    fn interval(&self, units: &[Vec<f64>], context: &Context) -> Result<BootstrapInterval, NoStatistic> {
        let alpha = alpha_resampler(units, self.scale, context.seed)?;
        alpha.interval(BootstrapKind::Percentile, &alpha.replicates(RESAMPLES)?, context.confidence)
    }
}

fn category_of(rating: &Value) -> Value {
    rating.canonical_number().unwrap_or_else(|| rating.clone())
}

/// The number of each category, by its place among all: the order of arrival must not show in resamples.
fn categories(ratings: &[Vec<Value>]) -> HashMap<Value, f64> {
    let rated = ratings.iter().flatten().filter(|rating| !rating.is_missing());
    let mut categories: Vec<Value> = rated.map(category_of).collect::<HashSet<_>>().into_iter().collect();
    // Values are equal just when they are written alike.
    categories.sort_by_cached_key(|category| format!("{category:?}"));
    categories.into_iter().zip(0u32..).map(|(category, place)| (category, f64::from(place))).collect()
}

#[derive(Default)]
struct KrippendorffState {
    ratings: Vec<Vec<Value>>,
    skipped: u64,
}

impl Measure for Krippendorff {
    type State = KrippendorffState;

    fn start(&self) -> KrippendorffState {
        KrippendorffState::default()
    }

    fn fold(&self, state: &mut KrippendorffState, points: &Points<'_>, context: &Context) -> Result<(), Error> {
        for row in 0..points.len() {
            let Value::List(mut ratings) = points.values().get(row) else {
                state.skipped += 1;
                continue;
            };
            if !context.inspect {
                ratings.retain(|rating| !rating.is_missing());
            }
            if ratings.len() > 1 {
                self.units(std::slice::from_ref(&ratings), context).map_err(|error| points.at(row, error))?;
                state.ratings.push(ratings);
            } else {
                state.skipped += 1;
            }
        }
        Ok(())
    }

    fn save(&self, state: &KrippendorffState, out: &mut StateWriter) -> Result<(), Error> {
        out.put(&state.ratings);
        out.put(&state.skipped);
        Ok(())
    }

    fn load(&self, from: &mut StateReader<'_>) -> Result<KrippendorffState, Error> {
        Ok(KrippendorffState { ratings: from.take()?, skipped: from.take()? })
    }

    fn merge(&self, state: &mut KrippendorffState, other: KrippendorffState) {
        state.ratings.extend(other.ratings);
        state.skipped += other.skipped;
    }

    fn finish(&self, state: KrippendorffState, tally: Tally, context: &Context) -> Result<Answer, Error> {
        let tally = Tally { n: state.ratings.len() as u64, missing: tally.missing + state.skipped };
        if state.ratings.is_empty() {
            let why = Undefined::new(Reason::NoRatings, f64::NAN);
            return Ok(Figure::from_result(Err(why), tally, METHOD).into());
        }
        let units = self.units(&state.ratings, context)?;
        let value = alpha(&units, self.scale);
        // Inspect calls raters who all say the same thing throughout in full agreement.
        let placeholder = if matches!(value, Err(NoStatistic::NoSpread { .. })) { 1.0 } else { f64::NAN };
        let value = value.map_err(|why| Undefined::new(Reason::Statistic(why), placeholder));
        let figure = Figure::from_result(value, tally, METHOD);
        if figure.value.is_err() {
            return Ok(figure.into());
        }
        if tally.n < ENOUGH_UNITS {
            let few = Statistic::SmallSample { n: tally.n, need: ENOUGH_UNITS };
            return Ok(figure.with_caveats([Caveat::from(few)]).into());
        }
        // Ratings like no other, which only Inspect has, are numbered by arrival, and resamples would show it.
        let numbered = state.ratings.iter().flatten().any(Value::is_missing);
        let interval = if numbered { None } else { self.interval(&units, context).ok() };
        Ok(match interval {
            Some(found) => {
                figure.with_interval(Some(found.interval)).with_detail("monte_carlo_error", found.monte_carlo_error)
            }
            None => figure,
        }
        .into())
    }
}
