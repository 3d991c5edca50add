//! The mean of a suite that is given, of which only the attempts are luck.
//!
//! Which questions are asked is no luck, so the error is that of attempts within their units: √(Σ s²/K)/n. Where few attempts fail, it is
//! known as badly as that of any rare event: with 300 units of two attempts of which one in two hundred fails in one run, t covers 83 %, and
//! 90 % with 60 units of three attempts of which one in fifty does. So 0.3 z² attempts are added at both ends of the scale, as for other
//! shares ([`crate::Moments::unit_interval`]). Such intervals, joined for a difference, cover 94.6 % or more with 5 to 1000 units of 2 to 10
//! attempts and all mixtures of sure units, rare failures and coins that were tried, and are hardly wider where many attempts fail.

use crate::components::{TOO_FEW_ATTEMPTS, UnitMoments};
use crate::joined_difference::BoundedEstimate;
use crate::moments::end_weight;
use crate::special::t_quantile;
use crate::sum::sum_of;
use crate::{AllowedRange, Confidence, Interval, Method, Quantity, Undefined};

/// The mean over units of the means of their attempts, which lie between 0 and 1.
///
/// ```
/// use calipers_stats::components::UnitMoments;
/// use calipers_stats::joined_difference::{BoundedEstimate, JoinedDifference};
/// use calipers_stats::{Confidence, rerun_mean::RerunMean};
///
/// // Thirty units of three attempts; one attempt failed.
/// let rows: Vec<[f64; 3]> = (0..30).map(|unit| [1.0, 1.0, f64::from(u8::from(unit > 0))]).collect();
/// let run = RerunMean::new(&UnitMoments::from_rows(&rows))?;
/// let interval = run.interval(Confidence::two_sided(0.95)?)?;
/// assert!(interval.contains(0.96) && interval.contains(1.0) && !interval.contains(0.93));
/// let difference = JoinedDifference { ours: run, theirs: run, correlation: 0.0 };
/// assert_eq!(difference.p_above(0.0), 1.0);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RerunMean {
    estimate: f64,
    /// As many attempts as would have this error if all units had equally many.
    attempts: f64,
    /// The variance of an attempt within its unit.
    within: f64,
    df: f64,
}

impl RerunMean {
    /// Undefined without units, if one of them has a single attempt, and for values outside [0, 1].
    pub fn new(units: &UnitMoments) -> Result<Self, Undefined> {
        let (mut means, mut variances, mut inverses, mut df) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for moments in units.iter_occupied() {
            let count = moments.count();
            if count < 2 {
                return Err(TOO_FEW_ATTEMPTS);
            }
            let is_outside = |x: &f64| !(0.0..=1.0).contains(x);
            if let Some(value) = [moments.min()?, moments.max()?].into_iter().find(is_outside) {
                let (what, allowed) = (Quantity::Value, AllowedRange::UnitInterval);
                return Err(Undefined::OutOfRange { what, value, allowed });
            }
            means.push(moments.mean()?);
            variances.push(moments.variance()? / count as f64);
            inverses.push(1.0 / count as f64);
            df += count - 1;
        }
        if means.is_empty() {
            return Err(Undefined::Empty);
        }
        let n = means.len() as f64;
        let attempts = n * n / sum_of(inverses);
        let within = sum_of(variances) / n / n * attempts;
        Ok(Self { estimate: sum_of(means) / n, attempts, within, df: df as f64 })
    }
}

impl BoundedEstimate for RerunMean {
    fn estimate(&self) -> f64 {
        self.estimate
    }

    fn interval(&self, confidence: Confidence) -> Result<Interval, Undefined> {
        let weight = end_weight(confidence);
        let total = self.attempts + 2.0 * weight;
        let centre = (self.attempts * self.estimate + weight) / total;
        let ends = weight * (centre * centre + (1.0 - centre) * (1.0 - centre));
        let squares = self.attempts * (self.within + (self.estimate - centre).powi(2)) + ends;
        let reach = (squares / (total - 1.0) / total).sqrt() * t_quantile(1.0 - confidence.tail(), self.df);
        // The ends draw the centre towards the middle; the bounds of an estimate lie on both sides of it.
        let lower = || Some((centre - reach).max(0.0).min(self.estimate));
        let upper = || Some((centre + reach).min(1.0).max(self.estimate));
        Ok(confidence.partial_interval(Method::AdjustedT, lower, upper))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joined_difference::JoinedDifference;
    use crate::special::normal_quantile;
    use calipers_testing::simulation::Draws;

    fn level() -> Confidence {
        Confidence::two_sided(0.95).unwrap()
    }

    #[test]
    fn what_is_no_rerun_says_why() {
        let of = |rows: &[&[f64]]| RerunMean::new(&UnitMoments::from_rows(rows));
        assert_eq!(of(&[&[1.0, 0.0], &[1.0]]), Err(TOO_FEW_ATTEMPTS));
        assert_eq!(of(&[]), Err(Undefined::Empty));
        assert!(matches!(of(&[&[1.0, 2.0]]), Err(Undefined::OutOfRange { .. })));
    }

    #[test]
    fn attempts_that_never_vary_are_not_certain() {
        let run = RerunMean::new(&UnitMoments::from_rows(&[[1.0; 3]; 20])).unwrap();
        let interval = run.interval(level()).unwrap();
        assert!(interval.upper == Some(1.0) && (0.9..0.97).contains(&interval.lower.unwrap()), "{interval:?}");
        // And more of them show more.
        let more = RerunMean::new(&UnitMoments::from_rows(&[[1.0; 3]; 200])).unwrap().interval(level()).unwrap();
        assert!(more.lower.unwrap() > 0.99, "{more:?}");
    }

    /// Rare failures in one run and none in the other, for which t covers 83 to 92 %.
    #[test]
    fn differences_with_rare_failures_cover() {
        for (n, k, share) in [(300, 2, 0.995), (60, 3, 0.98), (100, 2, 0.98), (20, 5, 0.95)] {
            let mut draws = Draws::new(n as u64, normal_quantile);
            let mut covered = 0;
            for _ in 0..1000 {
                let mut rows = |share: f64| -> Vec<Vec<f64>> {
                    (0..n).map(|_| (0..k).map(|_| draws.coin(share)).collect()).collect()
                };
                let [ours, theirs] =
                    [share, 1.0].map(|share| RerunMean::new(&UnitMoments::from_rows(&rows(share))).unwrap());
                let difference = JoinedDifference { ours, theirs, correlation: 0.0 };
                covered += u32::from(difference.interval(level()).unwrap().contains(share - 1.0));
            }
            assert!(covered >= 935, "{n} × {k}: {covered} of 1000");
        }
    }
}
