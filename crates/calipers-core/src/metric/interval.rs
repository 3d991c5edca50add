//! Which interval a mean of scores deserves.

use crate::Caveat;
use calipers_stats::proportion::{Proportion, wilson_mean};
use calipers_stats::{Caveat as Statistic, Confidence, Interval, Moments};

/// Below this many values, and below this much of the rarer outcome, the t interval of a share undercovers.
const T_NEEDS: u64 = 30;
const T_NEEDS_RARER: f64 = 10.0;

/// The interval of the mean, and what to beware of.
///
/// - Scores that are 0 or 1: Wilson, which keeps its level at any number of samples.
/// - Scores in [0, 1]: t where there are enough of them away from the ends, else Wilson, which is conservative
///   because no such score varies more than a 0/1 score with the same mean.
/// - Other scores: t, with a caveat below thirty.
pub(crate) fn mean_interval(moments: &Moments, confidence: Confidence) -> (Option<Interval>, Vec<Caveat>) {
    let (n, sum) = (moments.count(), moments.sum());
    if n == 0 {
        return (None, Vec::new());
    }
    if moments.is_binary() {
        let interval = Proportion::new(sum as u64, n).map(|share| share.wilson(confidence)).ok();
        return (interval, perfect_score(moments).into_iter().collect());
    }
    let rarer = sum.min(n as f64 - sum);
    if moments.is_unit() && (n < T_NEEDS || rarer < T_NEEDS_RARER || moments.is_constant()) {
        return (wilson_mean(sum / n as f64, n as f64, confidence).ok(), Vec::new());
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
    let n = moments.count();
    let passed = moments.sum() > 0.0;
    let share = Proportion::new(if passed { n } else { 0 }, n).ok()?;
    let bound = if passed {
        share.clopper_pearson(Confidence::lower(0.95).ok()?).lower?
    } else {
        share.clopper_pearson(Confidence::upper(0.95).ok()?).upper?
    };
    Some(Caveat::PerfectScore { n, passed, bound })
}
