//! Which interval a mean of scores deserves.

use super::{Context, Tally};
use crate::{Caveat, Figure};
use calipers_stats::adjusted_ratio::adjusted_ratio;
use calipers_stats::proportion::Proportion;
use calipers_stats::{
    Confidence, Interval, Method, Moments, Quantity, StatisticCaveat as Statistic, Undefined as NoStatistic,
};

/// Below this many unbounded values, an interval undercovers where they are more skewed than exponential ones.
const SKEWED_NEEDS: u64 = 30;

/// The interval of the mean or why there is none, and what to beware of.
///
/// - Scores that are 0 or 1: [Blaker's](Proportion::blaker), which covers at least 95 % whatever the share. Wilson's covers 95 % on
///   average and 84 % at worst, for shares near an end.
/// - Other scores in [0, 1]: [t with a little weight at both ends](Moments::unit_interval), at any number. In the
///   calibration tests it covers at least 93.9 % for scores near an end, U-shaped, nearly constant or rarely 0.
///   Plain t covers 26 % of thirty scores near 0.9 of which one in a hundred is 0, and 63 % of a hundred.
/// - Other scores: [t with weight beyond what was seen](Moments::open_interval), from ten on, with a caveat below thirty.
pub(crate) fn mean_interval(moments: &Moments, confidence: Confidence) -> (Result<Interval, NoStatistic>, Vec<Caveat>) {
    let n = moments.count();
    if moments.is_binary() {
        let interval = Proportion::new(moments.sum() as u64, n).map(|share| share.blaker(confidence));
        return (interval, perfect_score(moments).into_iter().collect());
    }
    if moments.is_unit() {
        return (moments.unit_interval(confidence), Vec::new());
    }
    let mut caveats = Vec::new();
    if n > 1 && moments.is_constant() {
        caveats.push(Statistic::NoSpread { n }.into());
    } else if (1..SKEWED_NEEDS).contains(&n) {
        caveats.push(Statistic::SmallSample { n, need: SKEWED_NEEDS }.into());
    }
    (moments.open_interval(confidence), caveats)
}

/// The same for clusters of samples, each with its sum and its number of samples: with weight at both ends, CR2 and
/// Satterthwaite's degrees of freedom ([`adjusted_ratio`]).
///
/// Scores of an unknown range have ends that lie half as far again from the mean as the means of clusters do, and need ten clusters.
pub fn clustered_mean(
    clusters: &[(f64, f64)],
    moments: &Moments,
    confidence: Confidence,
) -> Result<Interval, NoStatistic> {
    if clusters.len() < 2 {
        return Err(NoStatistic::TooFew { what: Quantity::Clusters, need: 2, have: clusters.len() as u64 });
    }
    let ends = if moments.is_unit() { (0.0, 1.0) } else { open_ends(clusters, moments.mean()?)? };
    adjusted_ratio(clusters, ends, Method::AdjustedClusterT, confidence)
}

/// How far beyond the mean the ends lie where nothing limits the scores, and from how many clusters on.
const BEYOND: f64 = 1.5;
const OPEN_CLUSTERS: usize = 10;

fn open_ends(clusters: &[(f64, f64)], mean: f64) -> Result<(f64, f64), NoStatistic> {
    if clusters.len() < OPEN_CLUSTERS {
        let (need, have) = (OPEN_CLUSTERS as u64, clusters.len() as u64);
        return Err(NoStatistic::TooFew { what: Quantity::Clusters, need, have });
    }
    let means = || clusters.iter().map(|(sum, n)| sum / n);
    let (least, most) = (means().fold(f64::INFINITY, f64::min), means().fold(f64::NEG_INFINITY, f64::max));
    if least == most {
        return Err(NoStatistic::NoSpread { what: Quantity::ClusterMeans });
    }
    Ok((mean + BEYOND * (least - mean), mean + BEYOND * (most - mean)))
}

/// All passed, or all failed: the bound that "5 of 5" hides.
pub(crate) fn perfect_score(moments: &Moments) -> Option<Caveat> {
    if !moments.is_binary() || !moments.is_constant() {
        return None;
    }
    perfect_score_of(moments.count(), moments.count(), moments.sum() > 0.0)
}

/// The same for samples that are worth as many that count alike.
pub fn perfect_score_of(n: u64, worth: u64, passed: bool) -> Option<Caveat> {
    let share = Proportion::new(if passed { worth } else { 0 }, worth).ok()?;
    let bound = if passed {
        share.clopper_pearson(Confidence::lower(0.95).ok()?).lower?
    } else {
        share.clopper_pearson(Confidence::upper(0.95).ok()?).upper?
    };
    Some(Caveat::PerfectScore { n, worth, passed, bound })
}

/// The mean with its interval and caveats. A `share` of values outside [0, 1] gets a separate caveat.
pub fn mean_figure(moments: &Moments, tally: Tally, share: bool, context: &Context) -> Figure {
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
    if figure.value.is_ok() { figure.with_interval(interval.ok()).with_caveats(caveats) } else { figure }
}

/// The mean if every missing score were 0, and if every one were 1 (Manski 1989).
fn possible_means(moments: &Moments, tally: Tally) -> Option<(f64, f64)> {
    let (missing, all) = (tally.missing as f64, (tally.n + tally.missing) as f64);
    moments.is_unit().then(|| (moments.sum() / all, (moments.sum() + missing) / all))
}
