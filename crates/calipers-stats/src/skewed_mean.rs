//! The mean of values that nothing limits and that may be skewed: differences of scores between two runs.
//!
//! Differences of runs that behave alike are symmetric, and Student's t errs less often than it claims for symmetric values with long
//! tails (Benjamini 1983). If a change affects few samples, or some more than others, they are skewed, and t is too bold: if one
//! sample in twenty loses 0.7, its 95 % interval of a hundred differences covers 89 % of the time. The first term of the expansion of t
//! corrects it: a bound lies at k + g (k²/3 + 1/6) standard errors, where g is the skewness over √n (Johnson 1978). Hall's cubic (1992)
//! has the same first term, but is flat for a t of about 3/g, where even a large change is not found. Three things keep the
//! correction honest for few values:
//! - Twice the skewness that was seen is assumed: so few values show about half of it.
//! - It moves both bounds to one side, and a sample may look more skewed than it is. So it only moves the bound that it moves outwards.
//! - t is multiplied by √((n − 2)/n), since so few values also hide how far they spread: 11 % wider at n = 10, 3 % at n = 30.
//!
//! **What did not occur.** A loss of nearly everything that strikes one sample in twenty is not among the thirty samples of one run in five.
//! If the others hardly vary, no skewness shows, and t is far too bold. Where it is known how low and how high a value could be, a bound is
//! therefore also the mean of what was seen and of a share q of such values, with (1 − q)ⁿ the error that is allowed: any greater share would have
//! shown. The farther bound counts. Where differences vary as grades do, that is t from a few dozen samples on.
//!
//! **Clusters** are units too, each with a sum and a size. The error is CR2 (Bell and McCaffrey 2002), the degrees of freedom are
//! the fewer of those of independent values and of clusters whose values are all alike ([`crate::adjusted_ratio`]), and the skewness is that of
//! the sums of clusters about what their sizes would have. A cluster may lose as a whole, so q counts clusters.

use crate::adjusted_ratio::degrees_of_clusters;
use crate::power_sums::POWER_BLOCK;
use crate::special::{t_cdf, t_quantile};
use crate::sum::{sum_of, sums_of_blocks};
use crate::{Confidence, Interval, Method, Moments, Quantity, Undefined};
use std::ops::Range;

/// How much of the skewness that was seen is assumed.
const SKEWNESS_SEEN: f64 = 2.0;

/// Student's t, corrected on the side of doubt. `skewness` is what is assumed for the mean, for which that of n values is divided by √n:
/// positive if the long tail is on the side of the evidence.
pub(crate) fn doubtful_t(t: f64, skewness: f64, df: f64) -> f64 {
    let g = doubt(skewness);
    let beyond = t - g / 6.0;
    // What t stands for: the k with t = k + g (k²/3 + 1/6).
    let k = if beyond <= 0.0 { beyond } else { 2.0 * beyond / (1.0 + (1.0 + 4.0 / 3.0 * g * beyond).sqrt()) };
    k * shrinkage(df)
}

/// The skewness against the evidence, as the expansion of t has it.
fn doubt(skewness: f64) -> f64 {
    (-skewness).max(0.0)
}

/// √((n − 2)/n) of n − 1 degrees of freedom.
fn shrinkage(df: f64) -> f64 {
    ((df - 1.0) / (df + 1.0)).max(0.0).sqrt()
}

/// A change that what was seen shows, and that is open because of what did not occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenChange {
    /// Pairs, or clusters of them.
    pub units: u64,
    /// One in so many may change in another way: such a share need not show among them.
    pub one_in: u64,
    /// How many like these would settle it.
    pub need: u64,
}

impl OpenChange {
    /// Of so many units, with the error that one side is allowed.
    pub(crate) fn new(units: f64, tail: f64, need: f64) -> Self {
        let one_in = (1.0 / share_unseen(units, tail)).floor().max(1.0);
        Self { units: units as u64, one_in: one_in as u64, need: need.max(units + 1.0) as u64 }
    }
}

/// The share of units of which this error allows that none occurred.
pub(crate) fn share_unseen(units: f64, tail: f64) -> f64 {
    -(tail.ln() / units).exp_m1()
}

/// How probable it is that none of so many units is one of this share; no share explains what is beyond all of them.
pub(crate) fn p_unseen(units: f64, share: f64) -> f64 {
    if (0.0..1.0).contains(&share) { (units * (-share).ln_1p()).exp() } else { 0.0 }
}

/// The mean of independent values, with their error and skewness.
///
/// ```
/// use calipers_stats::{Confidence, skewed_mean::SkewedMean};
///
/// // Two of twenty samples lost much, the others nothing.
/// let mut differences = vec![0.0; 18];
/// differences.extend([-0.8, -0.9]);
/// let interval = SkewedMean::new(&differences)?.interval(Confidence::two_sided(0.95)?);
/// assert!(interval.lower.unwrap() < -0.25 && interval.upper.unwrap() > 0.04);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SkewedMean {
    /// Values, or clusters of them.
    units: f64,
    mean: f64,
    stderr: f64,
    df: f64,
    /// That of the mean: the skewness of n values over √n.
    skewness: f64,
    /// The least and the most that values could be that did not occur, if that is known.
    unseen: Option<[f64; 2]>,
}

impl SkewedMean {
    /// Undefined below two values, for one that is not finite, and for values that are all alike.
    pub fn new(values: &[f64]) -> Result<Self, Undefined> {
        Self::of_blocks(&Moments::from_slice(values), |places, block| {
            let length = places.len();
            block[..length].copy_from_slice(&values[places]);
        })
    }

    /// The mean of values that could also be as low and as high as this. They may be all alike.
    ///
    /// ```
    /// use calipers_stats::{Confidence, skewed_mean::SkewedMean};
    ///
    /// // Thirty samples with scores of 0.9 gained a little. Others may lose everything.
    /// let gains: Vec<f64> = (0..30).map(|i| 0.03 + 0.001 * f64::from(i % 5)).collect();
    /// let interval = SkewedMean::within(&gains, [-0.9, 0.1])?.interval(Confidence::two_sided(0.95)?);
    /// assert!(interval.lower.unwrap() < -0.05 && interval.upper.unwrap() < 0.05);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    pub fn within(values: &[f64], unseen: [f64; 2]) -> Result<Self, Undefined> {
        Self::new(values)
            .or_else(|why| Self::all_alike(&Moments::from_slice(values), why))
            .map(|mean| mean.limited(unseen))
    }

    /// The same of the differences of pairs, whose moments are known: of the values of one side less those of the other.
    ///
    /// ```
    /// use calipers_stats::{paired::pair, skewed_mean::SkewedMean};
    ///
    /// let (a, b) = ([0.9, 0.4, 0.8], [0.7, 0.3, 0.5]);
    /// let differences: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
    /// let mean = SkewedMean::of_differences(&a, &b, pair(&a, &b)?.differences(), [-0.5, 0.5])?;
    /// assert_eq!(mean, SkewedMean::within(&differences, [-0.5, 0.5])?);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    pub fn of_differences(a: &[f64], b: &[f64], moments: &Moments, unseen: [f64; 2]) -> Result<Self, Undefined> {
        Undefined::check_lengths(Quantity::PairedValues, a.len(), b.len())?;
        Undefined::check_lengths(Quantity::PairedValues, a.len(), moments.count() as usize)?;
        let found = Self::of_blocks(moments, |places, block| {
            let pairs = a[places.clone()].iter().zip(&b[places]);
            pairs.zip(block).for_each(|((a, b), difference)| *difference = a - b);
        });
        found.or_else(|why| Self::all_alike(moments, why)).map(|mean| mean.limited(unseen))
    }

    /// The same of clusters, each the sum of its values and their number.
    ///
    /// Undefined below two clusters and for sums that are not finite.
    ///
    /// ```
    /// use calipers_stats::{Confidence, skewed_mean::SkewedMean};
    ///
    /// // Forty documents of three samples with scores of 0.9 gained a little. Others may lose everything.
    /// let gains: Vec<(f64, f64)> = (0..40).map(|i| (0.09 + 0.01 * f64::from(i % 5), 3.0)).collect();
    /// let interval = SkewedMean::of_clusters(&gains, [-0.9, 0.1])?.interval(Confidence::two_sided(0.95)?);
    /// assert!(interval.lower.unwrap() < -0.04 && interval.upper.unwrap() < 0.05);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    pub fn of_clusters(clusters: &[(f64, f64)], unseen: [f64; 2]) -> Result<Self, Undefined> {
        let have = clusters.len() as u64;
        if have < 2 {
            return Err(Undefined::TooFew { what: Quantity::Clusters, need: 2, have });
        }
        let total = sum_of(clusters.iter().map(|cluster| cluster.1));
        let mean = Undefined::check_finite(sum_of(clusters.iter().map(|cluster| cluster.0)) / total)?;
        let rests = || clusters.iter().map(|&(sum, size)| sum - mean * size);
        let largest = clusters.iter().fold(0.0, |largest: f64, cluster| largest.max(cluster.0.abs()));
        // What rounding left of sums that are all as large as their sizes would have.
        let is_level = rests().all(|rest| rest.abs() <= 1e-12 * largest);
        let leverage = clusters.iter().map(|cluster| 1.0 - cluster.1 / total);
        let squares = sum_of(rests().zip(leverage).map(|(rest, left)| rest * rest / left));
        let stderr = if is_level { 0.0 } else { Undefined::check_finite(squares.sqrt() / total)? };
        let skewness = if is_level { 0.0 } else { sum_of(rests().map(|rest| (rest / squares.sqrt()).powi(3))) };
        let df = degrees_of_clusters(clusters.iter().map(|cluster| cluster.1 / total));
        let skewness = Undefined::check_finite(skewness)?;
        Ok(Self { units: have as f64, mean, stderr, df, skewness, unseen: Some(unseen) })
    }

    /// The mean of values of which these are the moments, and which come block by block.
    fn of_blocks(
        moments: &Moments,
        mut fill: impl FnMut(Range<usize>, &mut [f64; POWER_BLOCK]),
    ) -> Result<Self, Undefined> {
        let (mean, stderr) = (moments.mean()?, moments.stderr()?);
        let n = moments.count() as f64;
        let deviation = stderr * n.sqrt();
        if deviation <= 0.0 {
            return Err(Undefined::NoSpread { what: Quantity::Values });
        }
        let [cubes] = sums_of_blocks(moments.count() as usize, |places, [block]| {
            fill(places, block);
            block.iter_mut().for_each(|x| *x = ((*x - mean) / deviation).powi(3));
        });
        let skewness = Undefined::check_finite(cubes / n / n.sqrt())?;
        Ok(Self { units: n, mean, stderr, df: n - 1.0, skewness, unseen: None })
    }

    /// The mean of values that are all alike; nothing else if they are not.
    fn all_alike(moments: &Moments, why: Undefined) -> Result<Self, Undefined> {
        if !matches!(why, Undefined::NoSpread { .. }) {
            return Err(why);
        }
        let (units, mean) = (moments.count() as f64, moments.mean()?);
        Ok(Self { units, mean, stderr: 0.0, df: units - 1.0, skewness: 0.0, unseen: None })
    }

    fn limited(self, unseen: [f64; 2]) -> Self {
        Self { unseen: Some(unseen), ..self }
    }

    /// How probable it is that none of the values that would make the mean the null has occurred.
    fn p_unseen(&self, [least, most]: [f64; 2], null: f64, side: f64) -> f64 {
        let end = if side > 0.0 { least } else { most };
        if side * (self.mean - null) <= 0.0 {
            return 1.0;
        }
        p_unseen(self.units, (self.mean - null) / (self.mean - end))
    }

    /// The mean if as many values did not occur as this error allows.
    fn bound_unseen(&self, [least, most]: [f64; 2], side: f64, tail: f64) -> f64 {
        let share = share_unseen(self.units, tail);
        let end = if side > 0.0 { least.min(self.mean) } else { most.max(self.mean) };
        self.mean + share * (end - self.mean)
    }

    fn p(&self, null: f64, side: f64) -> f64 {
        let unseen = self.unseen.map_or(0.0, |ends| self.p_unseen(ends, null, side));
        if self.stderr == 0.0 { unseen } else { unseen.max(self.p_skewed(null, side)) }
    }

    fn p_skewed(&self, null: f64, side: f64) -> f64 {
        let t = side * (self.mean - null) / self.stderr;
        t_cdf(-doubtful_t(t, side * SKEWNESS_SEEN * self.skewness, self.df), self.df)
    }

    /// Whether the values show that the mean is not 0, and only what did not occur leaves it open; `alpha` is the error that is allowed.
    #[must_use]
    pub fn open(&self, alpha: f64) -> Option<OpenChange> {
        let (tail, side) = (alpha / 2.0, self.mean.signum());
        let [least, most] = self.unseen?;
        let seen = if self.stderr == 0.0 { 0.0 } else { self.p_skewed(0.0, side) };
        if self.mean == 0.0 || seen > tail || self.p(0.0, side) <= tail {
            return None;
        }
        let end = if side > 0.0 { least } else { most };
        let need = tail.ln() / (-(self.mean / (self.mean - end))).ln_1p();
        Some(OpenChange::new(self.units, tail, need.ceil()))
    }

    /// The p-value of "the mean is `null` or less".
    #[must_use]
    pub fn p_above(&self, null: f64) -> f64 {
        self.p(null, 1.0)
    }

    /// The p-value of "the mean is `null` or more".
    #[must_use]
    pub fn p_below(&self, null: f64) -> f64 {
        self.p(null, -1.0)
    }

    /// The interval: all means that the same test does not rule out. Without ends for two values.
    #[must_use]
    pub fn interval(&self, confidence: Confidence) -> Interval {
        let critical = t_quantile(1.0 - confidence.tail(), self.df) / shrinkage(self.df);
        let reach = |side: f64| {
            let g = doubt(side * SKEWNESS_SEEN * self.skewness);
            let reach = critical + g * (critical * critical / 3.0 + 1.0 / 6.0);
            Some(reach * self.stderr).filter(|reach| reach.is_finite())
        };
        let unseen = |side: f64| self.unseen.map(|ends| self.bound_unseen(ends, side, confidence.tail()));
        let lower = || Some((self.mean - reach(1.0)?).min(unseen(1.0).unwrap_or(f64::INFINITY)));
        let upper = || Some((self.mean + reach(-1.0)?).max(unseen(-1.0).unwrap_or(f64::NEG_INFINITY)));
        confidence.partial_interval(Method::SkewedT, lower, upper)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::normal_quantile;
    use calipers_testing::simulation::Draws;
    use proptest::prelude::*;

    fn level() -> Confidence {
        Confidence::two_sided(0.95).unwrap()
    }

    #[test]
    fn symmetric_values_have_t_that_is_a_little_wider() {
        let values = [-2.0, -1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0];
        let (ours, plain) = (SkewedMean::new(&values).unwrap(), Moments::from_slice(&values));
        let (ours, plain) = (ours.interval(level()), plain.t_interval(level()).unwrap());
        let wider = (8.0f64 / 6.0).sqrt();
        assert!((ours.upper.unwrap() / plain.upper.unwrap() - wider).abs() < 1e-9, "{ours:?} {plain:?}");
        assert!((ours.lower.unwrap() / plain.lower.unwrap() - wider).abs() < 1e-9, "{ours:?} {plain:?}");
    }

    /// Hall's cubic is flat at −3/g: 24 values with a skewness of −1.2, six standard errors above 0, would have p = 0.1.
    #[test]
    fn a_large_change_of_skewed_values_is_found() {
        let mut values: Vec<f64> = (0..24).map(|i| 1.0 - f64::from(i % 8) / 8.0).collect();
        values.iter_mut().for_each(|x| *x = x.max(0.5));
        values[..2].copy_from_slice(&[-0.4, -0.2]);
        let mean = SkewedMean::new(&values).unwrap();
        assert!(mean.skewness < -0.2 && mean.mean / mean.stderr > 5.5, "{mean:?}");
        assert!(mean.p_above(0.0) < 0.005, "{}", mean.p_above(0.0));
    }

    #[test]
    fn what_has_no_spread_says_so() {
        assert!(matches!(SkewedMean::new(&[0.5]), Err(Undefined::TooFew { .. })));
        assert!(matches!(SkewedMean::new(&[0.5, 0.5]), Err(Undefined::NoSpread { .. })));
        assert!(SkewedMean::new(&[0.5, f64::INFINITY]).is_err());
        let two = SkewedMean::new(&[0.0, 1.0]).unwrap().interval(level());
        assert_eq!((two.lower, two.upper), (None, None));
    }

    /// One in twenty loses most, the others gain a little: t that is only corrected for the skewness that shows covers 40 to 88 %.
    #[test]
    fn intervals_cover_what_did_not_occur() {
        type Law = fn(&mut Draws) -> f64;
        // Scores of 0.9, or 0.7 in the last law.
        let laws: [(usize, f64, f64, Law); 5] = [
            (10, -0.00175, 0.9, |draws| if draws.unit() < 0.05 { -0.7 } else { 0.03 + 0.01 * draws.unit() }),
            (30, -0.00175, 0.9, |draws| if draws.unit() < 0.05 { -0.7 } else { 0.03 + 0.01 * draws.unit() }),
            (30, -0.0045, 0.9, |draws| if draws.unit() < 0.05 { -0.66 } else { 0.03 + 0.05 * (draws.unit() - 0.5) }),
            (60, 0.0107, 0.9, |draws| if draws.unit() < 0.03 { -0.7 } else { 0.032_680_412 + 0.08 * draws.normal() }),
            (100, 0.0, 0.7, |draws| match draws.unit() {
                x if x < 0.025 => -0.6,
                x if x < 0.1 => 0.2,
                _ => 0.0,
            }),
        ];
        for (n, truth, score, law) in laws {
            let mut draws = Draws::new(n as u64, normal_quantile);
            let mut covered = 0;
            for _ in 0..2000 {
                let values: Vec<f64> = (0..n).map(|_| law(&mut draws)).collect();
                let mean = SkewedMean::within(&values, [-score, 1.0 - score]).unwrap();
                let interval = mean.interval(level());
                covered += u32::from(interval.contains(truth));
                // p-value and interval are of one test.
                let p = 2.0 * mean.p_above(0.0).min(mean.p_below(0.0));
                let is_close = (p / 0.05 - 1.0).abs() < 1e-6;
                assert!(is_close || (p > 0.05) == interval.contains(0.0), "{p} {interval:?}");
            }
            assert!(covered >= 1880, "{n}: {covered} of 2000");
        }
    }

    #[test]
    fn grades_that_vary_have_t() {
        let values: Vec<f64> = (0..60).map(|i| f64::from(i * 37 % 60) / 60.0 - 0.5).collect();
        let [plain, within] = [SkewedMean::new(&values), SkewedMean::within(&values, [-0.6, 0.4])]
            .map(|mean| mean.unwrap().interval(level()));
        assert_eq!(plain, within);
    }

    /// Rare losses and exponential differences, for which plain t covers 89 and 90 %.
    #[test]
    fn intervals_of_skewed_differences_cover() {
        type Law = fn(&mut Draws) -> f64;
        let laws: [(usize, f64, Law); 3] = [
            (100, -0.035, |draws| if draws.unit() < 0.05 { -0.7 } else { 0.0 }),
            (10, 0.0, |draws| draws.exponential() - 1.0),
            (30, 0.0, Draws::normal),
        ];
        for (n, truth, law) in laws {
            let mut draws = Draws::new(21, normal_quantile);
            let covered = (0..1000).filter(|_| {
                let values: Vec<f64> = (0..n).map(|_| law(&mut draws)).collect();
                SkewedMean::new(&values).is_ok_and(|mean| mean.interval(level()).contains(truth))
            });
            let covered = covered.count();
            assert!(covered >= 935, "{n}: {covered} of 1000");
        }
    }

    proptest! {
        #[test]
        fn p_and_interval_agree(values in prop::collection::vec(-1e3f64..1e3, 3..40), null in -500.0f64..500.0) {
            let mean = SkewedMean::new(&values).unwrap();
            let interval = mean.interval(level());
            prop_assume!([interval.lower, interval.upper].iter().flatten().all(|end| (end - null).abs() > 1e-6));
            let p = mean.p_above(null).min(mean.p_below(null));
            prop_assert_eq!(p > 0.025, interval.contains(null), "{} {:?} {}", p, interval, null);
        }

        #[test]
        fn order_changes_no_bit(values in prop::collection::vec(-1e3f64..1e3, 3..40), turn in 0usize..40) {
            let mut moved = values.clone();
            moved.rotate_left(turn % values.len());
            prop_assert_eq!(SkewedMean::new(&values), SkewedMean::new(&moved));
        }

        #[test]
        fn mirrored_values_have_the_mirrored_interval(values in prop::collection::vec(-1e3f64..1e3, 3..40)) {
            let mirrored: Vec<f64> = values.iter().map(|x| -x).collect();
            let of = |values: &[f64]| SkewedMean::new(values).unwrap().interval(level());
            let (one, other) = (of(&values), of(&mirrored));
            prop_assert!((one.lower.unwrap() + other.upper.unwrap()).abs() < 1e-6);
            prop_assert!((one.upper.unwrap() + other.lower.unwrap()).abs() < 1e-6);
        }
    }
}
