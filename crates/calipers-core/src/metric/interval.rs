//! Which interval a mean of scores deserves.

use super::{Context, Tally};
use crate::{Caveat, Figure};
use calipers_stats::proportion::Proportion;
use calipers_stats::{Confidence, Interval, Moments, StatisticCaveat as Statistic};

/// Below this many unbounded values, a t interval undercovers unless they are close to normal.
const T_NEEDS: u64 = 30;

/// The interval of the mean, and what to beware of.
///
/// - Scores that are 0 or 1: Wilson. It covers 95 % on the average over true shares at any number of samples, and
///   between 91 % and 98 % for most of them; the least is 84 %, for shares so near an end that n samples expect
///   fewer than a fifth of a failure. Where a bound must hold for every share, as in a gate, use the exact one.
/// - Other scores in [0, 1]: [t with a little weight at both ends](Moments::unit_interval), at any number. In the
///   calibration tests it covers at least 94 % for scores near an end, U-shaped, nearly constant or rarely 0.
///   Plain t covers 26 % of thirty scores near 0.9 of which one in a hundred is 0, and 63 % of a hundred; Wilson
///   covers those but is several times too wide for scores that vary little (0.19 instead of 0.03 for a hundred
///   scores of standard deviation 0.05).
/// - Other scores: t, with a caveat below thirty. Nothing is known of their range, so nothing protects from a
///   long tail: t covers 90 % of ten exponential values, 93 % of thirty and 94 % of a hundred.
pub(crate) fn mean_interval(moments: &Moments, confidence: Confidence) -> (Option<Interval>, Vec<Caveat>) {
    let n = moments.count();
    if n == 0 {
        return (None, Vec::new());
    }
    if moments.is_binary() {
        let interval = Proportion::new(moments.sum() as u64, n).map(|share| share.wilson(confidence)).ok();
        return (interval, perfect_score(moments).into_iter().collect());
    }
    if moments.is_unit() {
        return (moments.unit_interval(confidence).ok(), Vec::new());
    }
    let mut caveats = Vec::new();
    if moments.is_constant() {
        caveats.push(Statistic::NoSpread { n }.into());
        return (None, caveats);
    }
    if n < T_NEEDS {
        caveats.push(Statistic::SmallSample { n, need: T_NEEDS }.into());
    }
    (moments.t_interval(confidence).ok(), caveats)
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
    if figure.value.is_ok() { figure.with_interval(interval).with_caveats(caveats) } else { figure }
}

/// The mean if every missing score were 0, and if every one were 1 (Manski 1989).
fn possible_means(moments: &Moments, tally: Tally) -> Option<(f64, f64)> {
    let (missing, all) = (tally.missing as f64, (tally.n + tally.missing) as f64);
    moments.is_unit().then(|| (moments.sum() / all, (moments.sum() + missing) / all))
}
