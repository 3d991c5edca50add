//! How far raters agree beyond chance.
//!
//! Kappa and alpha punish chance agreement, and where nearly all ratings fall into one category nearly all
//! agreement is chance: two judges who agree on 94 % of answers, 95 % of which are right, have a kappa of
//! 0.37. So raw agreement and prevalence stand beside them, always.

use crate::bootstrap::UnitResampler;
use crate::confusion::{Confusion, PairCounts, normal_interval};
use crate::sum::sum_of;
use crate::{AllowedRange, Confidence, Interval, Method, Moments, Quantity, Seed, StatisticCaveat, Undefined};

/// How much a disagreement counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AgreementWeights {
    /// Every disagreement alike.
    Nominal,
    /// By the distance of the categories' codes.
    Linear,
    /// By the square of that distance.
    Quadratic,
}

/// Ratings of the same things by two raters, as counts of pairs of categories.
///
/// ```
/// use calipers_stats::agreement::{PairedRatings, AgreementWeights};
///
/// let mut ratings = PairedRatings::default();
/// ratings.add_repeated(0, 0, 2);
/// ratings.add_repeated(0, 1, 3);
/// ratings.add_repeated(1, 0, 3);
/// ratings.add_repeated(1, 1, 92);
/// assert_eq!(ratings.agreement()?, 0.94);
/// assert!((ratings.kappa(AgreementWeights::Nominal)? - 0.368).abs() < 1e-3);
/// assert_eq!(ratings.caveats()[0].id(), "extreme-prevalence");
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairedRatings {
    counts: PairCounts,
}

/// The share of one category from which kappa says more about prevalence than about agreement.
const EXTREME: f64 = 0.9;

impl PairedRatings {
    /// Folds in one thing, rated by both.
    pub fn add(&mut self, first: u32, second: u32) {
        self.add_repeated(first, second, 1);
    }

    /// Folds in `times` things with the same two ratings.
    pub fn add_repeated(&mut self, first: u32, second: u32, times: u64) {
        self.counts.add((first, second), times);
    }

    /// Folds in the ratings of another.
    pub fn merge(&mut self, other: &Self) {
        self.counts.merge(&other.counts);
    }

    /// The number of things rated.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.total()
    }

    /// The share of things on which both agree. Undefined without ratings.
    pub fn agreement(&self) -> Result<f64, Undefined> {
        match self.count() {
            0 => Err(Undefined::Empty),
            n => Ok(self.counts.agreeing() as f64 / n as f64),
        }
    }

    /// The share of the commonest category among all ratings. Undefined without ratings.
    pub fn prevalence(&self) -> Result<f64, Undefined> {
        let (first, second) = self.counts.margins();
        let times = |category: u32| [&first, &second].map(|margin| margin.get(&category).map_or(0.0, |&x| x as f64));
        let most = self.counts.categories().into_iter().map(|c| times(c).iter().sum()).fold(0.0, f64::max);
        match self.count() {
            0 => Err(Undefined::Empty),
            n => Ok(most / (2.0 * n as f64)),
        }
    }

    /// Cohen's kappa: 1 − Σw p / Σw e, for the observed shares p and those expected by chance e
    /// (Cohen 1960, 1968).
    ///
    /// Weighted kappa takes codes as places on a scale, so number the categories in order. Undefined
    /// without ratings, and when chance alone would agree completely.
    pub fn kappa(&self, weights: AgreementWeights) -> Result<f64, Undefined> {
        let distance = |a: u32, b: u32| f64::from(a.abs_diff(b));
        match weights {
            AgreementWeights::Nominal => self.counts.kappa(Quantity::Ratings),
            AgreementWeights::Linear => self.weighted_kappa(distance),
            AgreementWeights::Quadratic => self.weighted_kappa(|a, b| distance(a, b) * distance(a, b)),
        }
    }

    fn weighted_kappa(&self, weight: impl Fn(u32, u32) -> f64) -> Result<f64, Undefined> {
        let n = self.count() as f64;
        if n == 0.0 {
            return Err(Undefined::Empty);
        }
        let (first, second) = self.counts.margins();
        let observed = sum_of(self.counts.iter().map(|((a, b), times)| weight(a, b) * times as f64));
        let expected = sum_of(first.iter().flat_map(|(&a, &times_a)| {
            let weight = &weight;
            second.iter().map(move |(&b, &times_b)| weight(a, b) * times_a as f64 * times_b as f64)
        }));
        if expected == 0.0 {
            return Err(Undefined::NoSpread { what: Quantity::Ratings });
        }
        Ok(1.0 - n * observed / expected)
    }

    /// The large-sample standard error of the nominal kappa (Fleiss, Cohen and Everitt 1969, eq. 13).
    ///
    /// Undefined where kappa is. Zero at complete agreement, which is no certainty.
    pub fn kappa_stderr(&self) -> Result<f64, Undefined> {
        let kappa = self.kappa(AgreementWeights::Nominal)?;
        // The terms cancel here; in floating point they leave the root of a rounding error.
        if self.counts.agreeing() == self.count() {
            return Ok(0.0);
        }
        let n = self.count() as f64;
        let (first, second) = self.counts.margins();
        let row = |c: u32| first.get(&c).map_or(0.0, |&x| x as f64 / n);
        let column = |c: u32| second.get(&c).map_or(0.0, |&x| x as f64 / n);
        let chance = self.counts.by_chance() as f64 / (n * n);
        let term = |((a, b), times): ((u32, u32), u64)| {
            let factor =
                if a == b { 1.0 - (row(a) + column(a)) * (1.0 - kappa) } else { (1.0 - kappa) * (column(a) + row(b)) };
            times as f64 / n * factor * factor
        };
        let centre = kappa - chance * (1.0 - kappa);
        let variance = sum_of(self.counts.iter().map(term).chain([-centre * centre])) / n;
        Ok(variance.max(0.0).sqrt() / (1.0 - chance))
    }

    /// The normal interval of the nominal kappa. Undefined at complete agreement, where it has no width.
    pub fn kappa_interval(&self, confidence: Confidence) -> Result<Interval, Undefined> {
        if self.counts.agreeing() == self.count() {
            self.kappa(AgreementWeights::Nominal)?;
            return Err(Undefined::NoSpread { what: Quantity::Agreements });
        }
        Ok(normal_interval(self.kappa(AgreementWeights::Nominal)?, self.kappa_stderr()?, confidence))
    }

    /// What to beware of: one category that is nearly all.
    #[must_use]
    pub fn caveats(&self) -> Vec<StatisticCaveat> {
        let extreme = self.prevalence().ok().filter(|&prevalence| prevalence > EXTREME);
        extreme.map(|prevalence| StatisticCaveat::ExtremePrevalence { prevalence }).into_iter().collect()
    }
}

/// The interval of Cohen's kappa of two raters who say yes or no, by the normal distribution after adding one rating to
/// each of the four cells.
///
/// The plain normal interval covers 84 % where it says 95 %, with fifty ratings and a category that is nearly all, and has
/// no width at complete agreement. With the added ratings it covers at least 93 % from thirty on, and it is no wider. It
/// holds kappa itself. Undefined where kappa is.
///
/// ```
/// use calipers_stats::Confidence;
/// use calipers_stats::agreement::binary_kappa_interval;
/// use calipers_stats::confusion::Confusion;
///
/// let alike = binary_kappa_interval(&Confusion::new(30, 0, 0, 20), Confidence::two_sided(0.95)?)?;
/// assert!(alike.lower.unwrap() < 0.9 && alike.upper == Some(1.0));
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn binary_kappa_interval(ratings: &Confusion, confidence: Confidence) -> Result<Interval, Undefined> {
    let kappa = ratings.kappa()?;
    let Confusion { true_positives: both, false_positives: second, false_negatives: first, true_negatives: neither } =
        *ratings;
    adjusted_interval([both, second, first, neither], 1, kappa, confidence)
}

/// The interval of Krippendorff's alpha of two raters who say yes or no, in the same way.
///
/// Alpha does not care who gave which rating, so the two kinds of disagreement count as half of each. By simulation
/// it covers at least 93 % from thirty ratings on. Undefined where alpha is.
pub fn binary_alpha_interval(ratings: &Confusion, confidence: Confidence) -> Result<Interval, Undefined> {
    let alpha = binary_alpha(ratings)?;
    let Confusion { true_positives: both, false_positives: second, false_negatives: first, true_negatives: neither } =
        *ratings;
    // Twice as many of each, so that halves are whole.
    let apart = first.saturating_add(second);
    let cells = [both.saturating_mul(2), apart, apart, neither.saturating_mul(2)];
    adjusted_interval(cells, 2, alpha, confidence)
}

/// Krippendorff's alpha of two raters who say yes or no, from counts. Undefined when all ratings are the same.
pub fn binary_alpha(ratings: &Confusion) -> Result<f64, Undefined> {
    let Confusion { true_positives: both, false_positives: second, false_negatives: first, true_negatives: neither } =
        *ratings;
    let [both, apart, neither] = [both as f64, first as f64 + second as f64, neither as f64];
    let (yes, no) = (2.0 * both + apart, 2.0 * neither + apart);
    match yes + no {
        0.0 => Err(Undefined::TooFew { what: Quantity::UnitsWithTwoRatings, need: 1, have: 0 }),
        _ if yes == 0.0 || no == 0.0 => Err(Undefined::NoSpread { what: Quantity::Ratings }),
        n => Ok(1.0 - (n - 1.0) * apart / (yes * no)),
    }
}

/// The normal interval of kappa after adding ratings to four cells, each rating of which is there `copies` times.
fn adjusted_interval(
    [both, second, first, neither]: [u64; 4],
    copies: u64,
    estimate: f64,
    confidence: Confidence,
) -> Result<Interval, Undefined> {
    let mut ratings = PairedRatings::default();
    for (pair, times) in [((1, 1), both), ((0, 1), second), ((1, 0), first), ((0, 0), neither)] {
        ratings.add_repeated(pair.0, pair.1, times.saturating_add(copies));
    }
    let stderr = ratings.kappa_stderr()? * (copies as f64).sqrt();
    let around = normal_interval(ratings.kappa(AgreementWeights::Nominal)?, stderr, confidence);
    Ok(Interval {
        lower: around.lower.map(|bound| bound.max(-1.0).min(estimate)),
        upper: around.upper.map(|bound| bound.min(1.0).max(estimate)),
        method: Method::AdjustedNormal,
        ..around
    })
}

/// Fleiss' kappa (1971) of units that all have the same number of ratings: agreement beyond chance, chance being that of
/// drawing two ratings with replacement.
///
/// Krippendorff's alpha draws without replacement, and is larger by (1 − κ)/n for n ratings. Undefined where alpha is, and
/// when units have different numbers of ratings.
///
/// ```
/// use calipers_stats::agreement::fleiss_kappa;
///
/// let kappa = fleiss_kappa(&[[1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])?;
/// assert!((kappa - 0.55).abs() < 1e-12);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn fleiss_kappa<U: AsRef<[f64]>>(units: &[U]) -> Result<f64, Undefined> {
    let raters = units.first().map_or(0, |unit| unit.as_ref().len());
    units.iter().try_for_each(|unit| Undefined::check_lengths(Quantity::Ratings, raters, unit.as_ref().len()))?;
    let n = (raters * units.len()) as f64;
    Ok(1.0 - (1.0 - krippendorff_alpha(units, RatingScale::Nominal)?) * n / (n - 1.0))
}

/// What differences between ratings mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RatingScale {
    /// Ratings are the same or not.
    Nominal,
    /// Ratings have an order.
    Ordinal,
    /// Ratings are numbers whose differences mean something.
    Interval,
}

/// Krippendorff's alpha, 1 − D_o/D_e: agreement of any number of raters, with ratings missing at will.
///
/// Each unit is the list of ratings it got; who gave them does not matter, and a unit with fewer than two
/// counts for nothing. Undefined when no unit has two ratings, and when all ratings are the same: then
/// chance agrees as well as the raters (Inspect prints 1 there). Krippendorff 2004, ch. 11.
///
/// Cost: O(n log n) in the number of ratings, not that of pairs. Squared differences within a unit of m
/// ratings add up to 2m times its squared deviations; ordinal ratings are interval ratings of their ranks.
///
/// ```
/// use calipers_stats::agreement::{RatingScale, krippendorff_alpha};
///
/// let judged = [vec![1.0, 1.0, 1.0], vec![0.0, 0.0], vec![1.0, 0.0, 1.0], vec![1.0]];
/// let alpha = krippendorff_alpha(&judged, RatingScale::Nominal)?;
/// assert!((alpha - 8.0 / 15.0).abs() < 1e-12);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn krippendorff_alpha<U: AsRef<[f64]>>(units: &[U], scale: RatingScale) -> Result<f64, Undefined> {
    let pairable = || units.iter().map(AsRef::as_ref).filter(|unit| unit.len() > 1);
    let mut all: Vec<f64> = pairable().flatten().map(|x| x + 0.0).collect();
    all.iter().try_for_each(|&x| Undefined::check_finite(x).map(|_| ()))?;
    if all.is_empty() {
        return Err(Undefined::TooFew { what: Quantity::UnitsWithTwoRatings, need: 1, have: 0 });
    }
    all.sort_unstable_by(f64::total_cmp);
    if all[0] == all[all.len() - 1] {
        return Err(Undefined::NoSpread { what: Quantity::Ratings });
    }
    let n = all.len() as f64;
    let (observed, expected) = match scale {
        RatingScale::Nominal => (sum_of(pairable().map(|unit| unit.len() as f64 * mismatch(unit))), mismatch(&all)),
        RatingScale::Interval => (spread_within(pairable(), |x| x)?, Moments::from_slice(&all).variance()?),
        RatingScale::Ordinal => {
            let ranks: Vec<f64> = all.iter().map(|&x| middle_rank(&all, x)).collect();
            let within = spread_within(pairable(), |x| middle_rank(&all, x))?;
            (within, Moments::from_slice(&ranks).variance()?)
        }
    };
    Undefined::check_finite(1.0 - observed / n / expected)
}

/// The share of ordered pairs of two different ratings that differ.
fn mismatch(ratings: &[f64]) -> f64 {
    let mut sorted: Vec<f64> = ratings.iter().map(|x| x + 0.0).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let m = sorted.len() as u128;
    let alike: u128 = sorted.chunk_by(|a, b| a == b).map(|equal| (equal.len() as u128).pow(2)).sum();
    (m * m - alike) as f64 / (m * (m - 1)) as f64
}

/// Σ m s² over units of m ratings.
fn spread_within<'a>(units: impl Iterator<Item = &'a [f64]>, place: impl Fn(f64) -> f64) -> Result<f64, Undefined> {
    let term = |unit: &[f64]| {
        let places: Vec<f64> = unit.iter().map(|&x| place(x)).collect();
        Ok(unit.len() as f64 * Moments::from_slice(&places).variance()?)
    };
    units.map(term).collect::<Result<Vec<f64>, Undefined>>().map(sum_of)
}

/// The middle of the ranks that a rating takes up among all.
fn middle_rank(sorted: &[f64], x: f64) -> f64 {
    let below = sorted.partition_point(|&other| other < x);
    let upto = sorted.partition_point(|&other| other <= x);
    (below + upto) as f64 / 2.0
}

/// Krippendorff's alpha of two raters on an interval scale, and its interval by the delta method: for many units, of which
/// resampling would take long.
///
/// Undefined below two units, and when all ratings are alike.
///
/// ```
/// use calipers_stats::Confidence;
/// use calipers_stats::agreement::{RatingScale, krippendorff_alpha, paired_alpha};
///
/// let pairs: Vec<(f64, f64)> = (0..40).map(|i| (f64::from(i % 7), f64::from(i % 7 + i % 3))).collect();
/// let (alpha, interval) = paired_alpha(&pairs, Confidence::two_sided(0.95)?)?;
/// let units: Vec<[f64; 2]> = pairs.iter().map(|(a, b)| [*a, *b]).collect();
/// assert!((alpha - krippendorff_alpha(&units, RatingScale::Interval)?).abs() < 1e-12);
/// assert!(interval.contains(alpha));
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn paired_alpha(pairs: &[(f64, f64)], confidence: Confidence) -> Result<(f64, Interval), Undefined> {
    let all = Moments::from_slice(&pairs.iter().flat_map(|(a, b)| [*a, *b]).collect::<Vec<f64>>());
    let (mean, spread) = (all.mean()?, all.variance()?);
    if spread <= 0.0 {
        return Err(Undefined::NoSpread { what: Quantity::Ratings });
    }
    // 1 − A/(2B): A is the mean squared difference within units, B the variance of all ratings.
    let within = Moments::from_slice(&pairs.iter().map(|(a, b)| (a - b).powi(2)).collect::<Vec<f64>>()).mean()?;
    let alpha = 1.0 - within / (2.0 * spread);
    let scale = all.count() as f64 / (all.count() as f64 - 1.0);
    let moves = pairs.iter().map(|(a, b)| {
        let own = scale * ((a - mean).powi(2) + (b - mean).powi(2)) / 2.0;
        -((a - b).powi(2) - within) / (2.0 * spread) + within / (2.0 * spread.powi(2)) * (own - spread)
    });
    let stderr = (Moments::from_slice(&moves.collect::<Vec<f64>>()).variance()? / pairs.len() as f64).sqrt();
    Ok((alpha, normal_interval(alpha, stderr, confidence)))
}

/// A resampler of Krippendorff's alpha over units, for its interval.
///
/// Units are sorted, so that the order of arrival does not matter. A resample in
/// which all ratings are the same has no alpha and makes the interval undefined; with few units or
/// extreme prevalence that happens.
///
/// ```
/// use calipers_stats::agreement::{RatingScale, alpha_resampler, krippendorff_alpha};
/// use calipers_stats::bootstrap::{Bootstrap, BootstrapKind};
/// use calipers_stats::{Confidence, Seed};
///
/// let judged: Vec<Vec<f64>> = (0..40).map(|i| vec![f64::from(i % 4), f64::from(i % 4 + i % 5 / 4)]).collect();
/// let alpha = alpha_resampler(&judged, RatingScale::Ordinal, Seed(1))?;
/// let answer = alpha.interval(BootstrapKind::Bca, &alpha.replicates(2000)?, Confidence::two_sided(0.95)?)?;
/// assert_eq!(answer.estimate, krippendorff_alpha(&judged, RatingScale::Ordinal)?);
/// assert!(answer.interval.contains(answer.estimate));
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn alpha_resampler<U: AsRef<[f64]>>(
    units: &[U],
    scale: RatingScale,
    seed: Seed,
) -> Result<UnitResampler<impl Fn(&[u32]) -> f64 + Sync + use<U>>, Undefined> {
    krippendorff_alpha(units, scale)?;
    let mut units: Vec<Vec<f64>> = units.iter().map(|unit| unit.as_ref().to_vec()).filter(|u| u.len() > 1).collect();
    units.iter_mut().for_each(|unit| unit.sort_unstable_by(f64::total_cmp));
    units.sort_by(|a, b| {
        let by_rating = a.iter().zip(b).map(|(x, y)| x.total_cmp(y)).find(|order| order.is_ne());
        by_rating.unwrap_or(a.len().cmp(&b.len()))
    });
    let value = units.len() as f64;
    let count = u32::try_from(units.len()).map_err(|_| Undefined::OutOfRange {
        what: Quantity::UnitCount,
        value,
        allowed: AllowedRange::BelowPowerOfTwo(32),
    })?;
    let statistic = move |times: &[u32]| {
        let repeated = |(unit, &times)| std::iter::repeat_n(unit, times as usize);
        let resample: Vec<&Vec<f64>> = units.iter().zip(times).flat_map(repeated).collect();
        krippendorff_alpha(&resample, scale).unwrap_or(f64::NAN)
    };
    UnitResampler::new(count, statistic, seed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Method;
    use proptest::prelude::*;

    #[test]
    fn kappa_of_complete_agreement_has_no_error_at_all() {
        let mut ratings = PairedRatings::default();
        [2, 2, 1, 2, 2].into_iter().for_each(|rating| ratings.add(rating, rating));
        assert_eq!((ratings.kappa(AgreementWeights::Nominal), ratings.kappa_stderr()), (Ok(1.0), Ok(0.0)));
    }

    fn paired(pairs: &[(u32, u32)]) -> PairedRatings {
        let mut ratings = PairedRatings::default();
        pairs.iter().for_each(|&(a, b)| ratings.add(a, b));
        ratings
    }

    #[test]
    fn one_category_has_no_kappa() {
        let same = paired(&[(1, 1), (1, 1)]);
        assert_eq!(same.agreement(), Ok(1.0));
        assert_eq!(same.prevalence(), Ok(1.0));
        for weights in [AgreementWeights::Nominal, AgreementWeights::Linear, AgreementWeights::Quadratic] {
            assert_eq!(same.kappa(weights), Err(Undefined::NoSpread { what: Quantity::Ratings }));
            assert_eq!(PairedRatings::default().kappa(weights), Err(Undefined::Empty));
        }
        assert!(same.kappa_stderr().is_err());
        assert!(PairedRatings::default().agreement().is_err() && PairedRatings::default().prevalence().is_err());
        assert!(PairedRatings::default().caveats().is_empty());
    }

    #[test]
    fn complete_agreement_is_no_certainty() {
        let same = paired(&[(1, 1), (2, 2), (1, 1)]);
        assert_eq!(same.kappa(AgreementWeights::Nominal), Ok(1.0));
        assert!(same.kappa_stderr().unwrap() < 1e-8);
        assert!(same.kappa_interval(Confidence::two_sided(0.95).unwrap()).is_err());
    }

    #[test]
    fn the_interval_is_normal() {
        let ratings = paired(&[(1, 1), (2, 2), (1, 2), (2, 1), (1, 1), (2, 2), (2, 2)]);
        let interval = ratings.kappa_interval(Confidence::two_sided(0.95).unwrap()).unwrap();
        assert_eq!(interval.method, Method::Normal);
        assert!(interval.contains(ratings.kappa(AgreementWeights::Nominal).unwrap()));
    }

    #[test]
    fn the_alpha_of_counts_is_that_of_their_ratings() {
        for (both, second, first, neither) in [(20, 3, 5, 12), (1, 0, 0, 1), (0, 4, 1, 0), (40, 1, 0, 0)] {
            let counts = Confusion::new(both, second, first, neither);
            let pairs = [([1.0, 1.0], both), ([0.0, 1.0], second), ([1.0, 0.0], first), ([0.0, 0.0], neither)];
            let units: Vec<[f64; 2]> =
                pairs.iter().flat_map(|&(unit, times)| std::iter::repeat_n(unit, times as usize)).collect();
            let alpha = krippendorff_alpha(&units, RatingScale::Nominal).unwrap();
            assert!((binary_alpha(&counts).unwrap() - alpha).abs() < 1e-12);
            let level = Confidence::two_sided(0.95).unwrap();
            assert!(binary_alpha_interval(&counts, level).unwrap().contains(alpha));
            assert!(binary_kappa_interval(&counts, level).unwrap().contains(counts.kappa().unwrap()));
        }
        assert!(binary_alpha(&Confusion::new(5, 0, 0, 0)).is_err() && binary_alpha(&Confusion::default()).is_err());
    }

    #[test]
    fn fleiss_asks_for_as_many_ratings_of_each() {
        assert!(fleiss_kappa(&[vec![1.0, 1.0], vec![1.0]]).is_err());
        assert!(fleiss_kappa::<Vec<f64>>(&[]).is_err());
    }

    #[test]
    fn ratings_alike_have_no_alpha() {
        for scale in [RatingScale::Nominal, RatingScale::Ordinal, RatingScale::Interval] {
            let alike = krippendorff_alpha(&[[1.0, 1.0], [1.0, 1.0]], scale);
            assert_eq!(alike, Err(Undefined::NoSpread { what: Quantity::Ratings }));
            let single = krippendorff_alpha(&[[1.0], [2.0]], scale);
            assert_eq!(single, Err(Undefined::TooFew { what: Quantity::UnitsWithTwoRatings, need: 1, have: 0 }));
            assert!(krippendorff_alpha::<Vec<f64>>(&[], scale).is_err());
            assert!(krippendorff_alpha(&[[1.0, f64::NAN]], scale).is_err());
        }
        assert!(alpha_resampler(&[[1.0, 1.0]], RatingScale::Nominal, Seed(1)).is_err());
    }

    /// All pairs, as the definition says.
    fn slow_alpha(units: &[Vec<f64>], scale: RatingScale) -> f64 {
        let units: Vec<&Vec<f64>> = units.iter().filter(|unit| unit.len() > 1).collect();
        let mut all: Vec<f64> = units.iter().flat_map(|unit| unit.iter().copied()).collect();
        all.sort_by(f64::total_cmp);
        let difference = |a: f64, b: f64| match scale {
            RatingScale::Nominal => f64::from(a != b),
            RatingScale::Interval => (a - b).powi(2),
            RatingScale::Ordinal => {
                let times = |x: f64| all.iter().filter(|&&y| y == x).count() as f64;
                let between = all.iter().filter(|&&y| y >= a.min(b) && y <= a.max(b)).count() as f64;
                if a == b { 0.0 } else { (between - (times(a) + times(b)) / 2.0).powi(2) }
            }
        };
        let pairs = |list: &[f64]| {
            list.iter().flat_map(|&a| list.iter().map(move |&b| (a, b))).map(|(a, b)| difference(a, b)).sum::<f64>()
        };
        let n = all.len() as f64;
        let observed: f64 = units.iter().map(|unit| pairs(unit) / (unit.len() - 1) as f64).sum::<f64>() / n;
        1.0 - observed / (pairs(&all) / (n * (n - 1.0)))
    }

    fn units() -> impl Strategy<Value = Vec<Vec<f64>>> {
        prop::collection::vec(prop::collection::vec((0i32..5).prop_map(f64::from), 0..5), 3..20)
    }

    proptest! {
        #[test]
        fn alpha_is_that_of_all_pairs_in_any_order(units in units(), turn in 0usize..20) {
            let mut moved = units.clone();
            moved.rotate_left(turn % units.len());
            moved.iter_mut().for_each(|unit| unit.reverse());
            for scale in [RatingScale::Nominal, RatingScale::Ordinal, RatingScale::Interval] {
                let alpha = krippendorff_alpha(&units, scale);
                prop_assert_eq!(alpha, krippendorff_alpha(&moved, scale));
                if let Ok(alpha) = alpha {
                    prop_assert!((alpha - slow_alpha(&units, scale)).abs() < 1e-10);
                }
            }
        }

        #[test]
        fn resamples_of_alpha_ignore_order(units in units(), turn in 0usize..20) {
            use crate::bootstrap::Bootstrap;
            let mut moved = units.clone();
            moved.rotate_left(turn % units.len());
            if let (Ok(a), Ok(b)) = (alpha_resampler(&units, RatingScale::Interval, Seed(1)), alpha_resampler(&moved, RatingScale::Interval, Seed(1))) {
                for index in 0..5 {
                    prop_assert_eq!(a.replicate(index).to_bits(), b.replicate(index).to_bits());
                }
            }
        }

        #[test]
        fn kappa_ignores_order_and_shards(pairs in prop::collection::vec((0u32..4, 0u32..4), 1..40), cut in 0usize..40) {
            let whole = paired(&pairs);
            let (left, right) = pairs.split_at(cut.min(pairs.len()));
            let mut merged = paired(right);
            merged.merge(&paired(left));
            prop_assert_eq!(&whole, &merged);
            // For two categories all weights are the same.
            let binary: Vec<(u32, u32)> = pairs.iter().map(|&(a, b)| (a % 2, b % 2)).collect();
            let binary = paired(&binary);
            if let Ok(kappa) = binary.kappa(AgreementWeights::Nominal) {
                prop_assert!((kappa - binary.kappa(AgreementWeights::Linear).unwrap()).abs() < 1e-12);
                prop_assert!((kappa - binary.kappa(AgreementWeights::Quadratic).unwrap()).abs() < 1e-12);
            }
        }
    }
}
