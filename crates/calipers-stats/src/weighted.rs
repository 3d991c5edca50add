//! Means with weights: of samples, of strata, and of metrics. Each comes with the error that belongs to it.
//!
//! Weights say how much a value counts, not how often it occurred: two values of weight 50 are still two
//! values. Only the ratios of weights matter.

use crate::mean::{around, t_interval};
use crate::moments::{AdjustedMoments, adjusted_t};
use crate::sum::{ExactSum, sum, sum_of};
use crate::{AllowedRange, Confidence, Interval, Method, Moments, Quantity, StatisticCaveat, Undefined};

/// An estimate with a linearised standard error.
///
/// The estimate is a smooth function of sums, and its error that of the sum of its *influences*: how far
/// each sample moves it (the delta method; Taylor linearisation in survey statistics). Influences of one
/// cluster are added up before they are squared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linearisation {
    /// The estimate.
    pub estimate: f64,
    /// Its standard error, √(C/(C−1) Σ(t − t̄)²) over the C totals t. Undefined below two.
    pub stderr: Result<f64, Undefined>,
    /// The number of independent units: clusters, or samples where there are none.
    pub units: u64,
    /// Whether units are clusters.
    pub clustered: bool,
}

/// Units below which t with one degree of freedom less is not trusted.
const ENOUGH_UNITS: u64 = 30;
const ENOUGH_CLUSTERS: u64 = 20;

impl Linearisation {
    /// From influences that add up to zero, in the units of the estimate.
    pub(crate) fn new(estimate: f64, influences: &[f64], clusters: Option<&[u32]>) -> Result<Self, Undefined> {
        let mut totals = Moments::default();
        match clusters {
            None => totals.extend(influences),
            Some(codes) => cluster_totals(influences, codes)?.iter().for_each(|total| totals.add(total.0)),
        }
        let units = totals.count();
        let what = if clusters.is_some() { Quantity::Clusters } else { Quantity::Values };
        let stderr = match units {
            have @ 0..2 => Err(Undefined::TooFew { what, need: 2, have }),
            _ => totals.variance().map(|variance| (units as f64 * variance).sqrt()),
        };
        Ok(Self { estimate, stderr, units, clustered: clusters.is_some() })
    }

    /// Student's t with one degree of freedom less than units. Undefined below two units.
    pub fn interval(&self, confidence: Confidence) -> Result<Interval, Undefined> {
        around(Method::DeltaT, self.estimate, self.stderr?, self.units as f64 - 1.0, confidence)
    }

    /// The same with a little weight added at both ends of the share that this is of so many samples, as in
    /// [`Moments::unit_interval`].
    ///
    /// Near an end plain t is too bold: of thirty samples of which one failed, it says that at least 91 % pass, and a true
    /// rate of 90 % shows such samples 18 times in a hundred.
    ///
    /// ```
    /// use calipers_stats::Confidence;
    /// use calipers_stats::weighted::weighted_mean;
    ///
    /// let mut passed = [1.0; 30];
    /// passed[0] = 0.0;
    /// let level = Confidence::two_sided(0.9)?; // 95 % on each side
    /// let share = weighted_mean(&passed, &[1.0; 30], None)?.mean;
    /// assert!(share.interval(level)?.lower.unwrap() > 0.9);
    /// assert!(share.with_ends(30.0, level)?.interval(level)?.lower.unwrap() < 0.88);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    pub fn with_ends(&self, samples: f64, confidence: Confidence) -> Result<Self, Undefined> {
        let squares = self.stderr?.powi(2) * samples * (samples - 1.0).max(0.0);
        let adjusted = AdjustedMoments::new(samples, self.estimate.clamp(0.0, 1.0), squares, confidence);
        Ok(Self { estimate: adjusted.centre, stderr: Ok(adjusted.stderr), ..*self })
    }

    /// What to beware of: few units, or no spread.
    #[must_use]
    pub fn caveats(&self) -> Vec<StatisticCaveat> {
        let n = self.units;
        let few = match self.clustered {
            true => (n < ENOUGH_CLUSTERS).then_some(StatisticCaveat::FewClusters { clusters: n }),
            false => (n < ENOUGH_UNITS).then_some(StatisticCaveat::SmallSample { n, need: ENOUGH_UNITS }),
        };
        few.into_iter().chain((self.stderr == Ok(0.0)).then_some(StatisticCaveat::NoSpread { n })).collect()
    }
}

/// The sum and the count of each cluster.
pub(crate) fn cluster_totals(values: &[f64], clusters: &[u32]) -> Result<Vec<(f64, u64)>, Undefined> {
    Undefined::check_lengths(Quantity::ValuesAndClusters, values.len(), clusters.len())?;
    let mut rows: Vec<(u32, f64)> = clusters.iter().copied().zip(values.iter().copied()).collect();
    rows.sort_unstable_by_key(|row| row.0);
    let total = |cluster: &[(u32, f64)]| {
        let sum = Undefined::check_finite(crate::sum::sum_of(cluster.iter().map(|row| row.1)))?;
        Ok((sum, cluster.len() as u64))
    };
    rows.chunk_by(|a, b| a.0 == b.0).map(total).collect()
}

/// A weighted mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightedMean {
    /// Σwx / Σw, and √(n/(n−1) Σw²(x − x̄)²) / Σw.
    pub mean: Linearisation,
    /// The number of equally weighted values that would be as good, (Σw)²/Σw² (Kish 1965).
    pub effective_n: f64,
}

impl WeightedMean {
    /// The interval for values in [0, 1]: that of [`Moments::unit_interval`] for as many values as these are worth, with the
    /// spread that their error shows. With equal weights it is the same.
    ///
    /// ```
    /// use calipers_stats::weighted::weighted_mean;
    /// use calipers_stats::{Confidence, Moments};
    ///
    /// let grades = [0.9, 1.0, 0.4, 1.0, 0.8];
    /// let level = Confidence::two_sided(0.95)?;
    /// let (weighted, plain) = (weighted_mean(&grades, &[2.0; 5], None)?, Moments::from_slice(&grades));
    /// let (weighted, plain) = (weighted.unit_interval(level)?, plain.unit_interval(level)?);
    /// assert!((weighted.lower.unwrap() - plain.lower.unwrap()).abs() < 1e-12);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    pub fn unit_interval(&self, confidence: Confidence) -> Result<Interval, Undefined> {
        let n = self.effective_n;
        // n·s² from s²/n, the squared error of n values.
        let squares = self.mean.stderr.map_or(0.0, |stderr| stderr * stderr * n * (n - 1.0).max(0.0));
        adjusted_t(n, self.mean.estimate, squares, confidence)
    }

    /// What to beware of: few units, counted as if they had equal weights, or no spread.
    ///
    /// A few heavy values make the error as uncertain as that of a small sample: with exponential weights a 95 %
    /// interval of thirty values, worth fifteen, covers 92 %.
    ///
    /// ```
    /// use calipers_stats::weighted::weighted_mean;
    /// use calipers_stats::StatisticCaveat;
    ///
    /// let values: Vec<f64> = (0..40).map(|i| f64::from(i % 2)).collect();
    /// let mut weights = vec![1.0; 40];
    /// assert!(weighted_mean(&values, &weights, None)?.caveats().is_empty());
    /// weights[..4].fill(20.0);
    /// let few = StatisticCaveat::SmallSample { n: 8, need: 30 };
    /// assert_eq!(weighted_mean(&values, &weights, None)?.caveats(), [few]);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    #[must_use]
    pub fn caveats(&self) -> Vec<StatisticCaveat> {
        let mut caveats = self.mean.caveats();
        let enough = if self.mean.clustered { ENOUGH_CLUSTERS } else { ENOUGH_UNITS };
        if self.mean.units >= enough && self.effective_n < ENOUGH_UNITS as f64 {
            caveats.push(StatisticCaveat::SmallSample { n: self.effective_n as u64, need: ENOUGH_UNITS });
        }
        caveats
    }
}

/// The weighted mean of values, with the error of survey statistics (`svymean` of R's survey package).
///
/// Scaling all weights changes nothing. Values with the same cluster code are one unit. Undefined without
/// values, when the weights add up to zero, and when a weight is negative or not finite.
///
/// ```
/// use calipers_stats::weighted::weighted_mean;
///
/// let weighted = weighted_mean(&[1.0, 0.0, 1.0, 0.0], &[3.0, 1.0, 1.0, 1.0], None)?;
/// assert_eq!(weighted.mean.estimate, 4.0 / 6.0);
/// assert_eq!(weighted.effective_n, 3.0); // four values, but one counts for half of all
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn weighted_mean(values: &[f64], weights: &[f64], clusters: Option<&[u32]>) -> Result<WeightedMean, Undefined> {
    let scaled = NormalizedWeights::new(values, weights)?;
    let mean = scaled.mean(values)?;
    let squares = sum_of(scaled.weights.iter().map(|w| w * w));
    Ok(WeightedMean {
        mean: Linearisation::new(mean, &scaled.influences(values, mean), clusters)?,
        effective_n: scaled.total / squares * scaled.total,
    })
}

/// The influences of a plain mean, (x − x̄)/n, for a [`composite`].
pub fn mean_influences(values: &[f64]) -> Result<Vec<f64>, Undefined> {
    let mean = Moments::from_slice(values).mean()?;
    Ok(values.iter().map(|x| (x - mean) / values.len() as f64).collect())
}

/// The influences of a weighted mean, w(x − x̄)/Σw, for a [`composite`].
pub fn weighted_influences(values: &[f64], weights: &[f64]) -> Result<Vec<f64>, Undefined> {
    let scaled = NormalizedWeights::new(values, weights)?;
    Ok(scaled.influences(values, scaled.mean(values)?))
}

/// Checked weights, scaled by a power of two so that no product overflows.
struct NormalizedWeights {
    weights: Vec<f64>,
    total: f64,
}

impl NormalizedWeights {
    fn new(values: &[f64], weights: &[f64]) -> Result<Self, Undefined> {
        Undefined::check_lengths(Quantity::ValuesAndWeights, values.len(), weights.len())?;
        if values.is_empty() {
            return Err(Undefined::Empty);
        }
        check_weights(weights)?;
        values.iter().try_for_each(|&x| Undefined::check_finite(x).map(|_| ()))?;
        let scale = power_of_two_below(weights.iter().copied().fold(0.0, f64::max));
        let weights: Vec<f64> = weights.iter().map(|w| w / scale).collect();
        let total = sum(&weights);
        Ok(Self { weights, total })
    }

    fn mean(&self, values: &[f64]) -> Result<f64, Undefined> {
        let mut total = ExactSum::default();
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for (&w, &x) in self.weights.iter().zip(values).filter(|pair| *pair.0 > 0.0) {
            total.add_product(w, x);
            (low, high) = (low.min(x), high.max(x));
        }
        // Rounding may leave the range of the values, and values that are all alike are their own mean.
        Ok(Undefined::check_finite(total.value() / self.total)?.clamp(low, high))
    }

    fn influences(&self, values: &[f64], mean: f64) -> Vec<f64> {
        self.weights.iter().zip(values).map(|(w, x)| w * (x - mean) / self.total).collect()
    }
}

fn check_weights(weights: &[f64]) -> Result<(), Undefined> {
    if let Some(&value) = weights.iter().find(|w| !(w.is_finite() && **w >= 0.0)) {
        return Err(Undefined::OutOfRange { what: Quantity::Weight, value, allowed: AllowedRange::NotNegativeFinite });
    }
    if weights.iter().all(|&w| w == 0.0) {
        return Err(Undefined::ZeroDenominator { what: Quantity::Weight });
    }
    Ok(())
}

/// The power of two at or just below a positive number.
fn power_of_two_below(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & 0x7ff0_0000_0000_0000).max(f64::MIN_POSITIVE)
}

/// One stratum: a category with its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stratum {
    /// Its place in the list of weights.
    pub code: u32,
    /// Its share of all weight.
    pub share: f64,
    /// The number of its values.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// The standard error of that mean. Undefined for a single value.
    pub stderr: Result<f64, Undefined>,
}

/// A mean over strata of fixed weights: categories that count alike, or as the weights say, however many
/// samples each has. With equal weights it is the macro average.
///
/// ```
/// use calipers_stats::weighted::StratifiedMean;
///
/// let scores = [1.0, 0.0, 1.0, 1.0, 0.0, 0.0];
/// let category = [0, 0, 0, 0, 1, 1];
/// let by_category = StratifiedMean::equal(&scores, &category)?;
/// assert_eq!(by_category.mean, (0.75 + 0.0) / 2.0);
/// assert_eq!(by_category.sample_mean, 0.5);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct StratifiedMean {
    /// ΣW x̄ over strata, for weights that add up to 1.
    pub mean: f64,
    /// √(ΣW² s²/n) over strata. Undefined when a stratum has a single value: its spread is not known, so
    /// join it with another stratum.
    pub stderr: Result<f64, Undefined>,
    /// The mean of all values regardless of stratum.
    pub sample_mean: f64,
    /// The mean of the strata's standard errors, those of a single value counted as 0: what Inspect prints
    /// for `grouped(stderr(), all="groups")`. It is **no** standard error of anything (twice too large for
    /// four groups of equal size) and stands here only for comparison.
    pub misleading_mean_of_stderrs: f64,
    /// The strata that have values, by code.
    pub strata: Vec<Stratum>,
}

impl StratifiedMean {
    /// From values, each with the code of its stratum, and one weight for each code.
    ///
    /// Undefined without values, when a stratum that has weight has no values, and when the weights add up
    /// to zero or one is negative.
    pub fn new(values: &[f64], strata: &[u32], weights: &[f64]) -> Result<Self, Undefined> {
        Undefined::check_lengths(Quantity::ValuesAndStrata, values.len(), strata.len())?;
        let mut moments = vec![Moments::default(); weights.len()];
        for (&value, &code) in values.iter().zip(strata) {
            let value_of = f64::from(code);
            let unknown =
                Undefined::OutOfRange { what: Quantity::Stratum, value: value_of, allowed: AllowedRange::KnownStratum };
            moments.get_mut(code as usize).ok_or(unknown)?.add(value);
        }
        let strata: Vec<(f64, Moments)> = weights.iter().copied().zip(moments).collect();
        Self::from_moments(&strata)
    }

    /// The same with equal weights for all strata that have values: the macro average.
    pub fn equal(values: &[f64], strata: &[u32]) -> Result<Self, Undefined> {
        Undefined::check_lengths(Quantity::ValuesAndStrata, values.len(), strata.len())?;
        let mut codes: Vec<u32> = strata.to_vec();
        codes.sort_unstable();
        codes.dedup();
        let place = |code: &u32| codes.partition_point(|other| other < code) as u32;
        let places: Vec<u32> = strata.iter().map(place).collect();
        let mut answer = Self::new(values, &places, &vec![1.0; codes.len()])?;
        answer.strata.iter_mut().for_each(|stratum| stratum.code = codes[stratum.code as usize]);
        Ok(answer)
    }

    /// From the weight and the moments of each stratum; the code is the place in the slice.
    pub fn from_moments(strata: &[(f64, Moments)]) -> Result<Self, Undefined> {
        if strata.iter().all(|(_, moments)| moments.count() == 0) {
            return Err(Undefined::Empty);
        }
        let weights: Vec<f64> = strata.iter().map(|stratum| stratum.0).collect();
        check_weights(&weights)?;
        let scale = power_of_two_below(weights.iter().copied().fold(0.0, f64::max));
        let total = sum_of(weights.iter().map(|w| w / scale));
        let mut all = Moments::default();
        let mut list = Vec::new();
        for ((weight, moments), code) in strata.iter().zip(0..) {
            all.merge(moments);
            if moments.count() == 0 && *weight == 0.0 {
                continue;
            }
            let empty = Undefined::TooFew { what: Quantity::ValuesPerStratum, need: 1, have: 0 };
            let mean = moments.mean().map_err(|e| if e == Undefined::Empty { empty } else { e })?;
            let share = weight / scale / total;
            list.push(Stratum { code, share, count: moments.count(), mean, stderr: moments.stderr() });
        }
        Self::from_strata(list, all.mean()?)
    }

    fn from_strata(strata: Vec<Stratum>, sample_mean: f64) -> Result<Self, Undefined> {
        let mut mean = ExactSum::default();
        strata.iter().for_each(|stratum| mean.add_product(stratum.share, stratum.mean));
        let shown = strata.iter().map(|stratum| stratum.stderr.unwrap_or(0.0));
        Ok(Self {
            mean: Undefined::check_finite(mean.value())?,
            stderr: variances(&strata).map(|terms| sum_of(terms.iter().map(|term| term.0)).sqrt()),
            sample_mean,
            misleading_mean_of_stderrs: sum_of(shown) / strata.len() as f64,
            strata,
        })
    }

    /// Student's t with the degrees of freedom of Cochran 1977, eq. 5.16 (Welch and Satterthwaite's).
    ///
    /// Undefined when the standard error is, and when no stratum varies.
    pub fn interval(&self, confidence: Confidence) -> Result<Interval, Undefined> {
        let terms = variances(&self.strata)?;
        let whole = sum_of(terms.iter().map(|term| term.0));
        if whole == 0.0 {
            return Err(Undefined::NoSpread { what: Quantity::ValuesWithinStrata });
        }
        // As shares of the whole, so that no square vanishes.
        let df = 1.0 / sum_of(terms.iter().map(|(term, df)| (term / whole) * (term / whole) / df));
        t_interval(self.mean, self.stderr?, df, confidence)
    }
}

/// W² s²/n of each stratum that has weight, and its degrees of freedom.
fn variances(strata: &[Stratum]) -> Result<Vec<(f64, f64)>, Undefined> {
    let term = |stratum: &Stratum| {
        let single = Undefined::TooFew { what: Quantity::ValuesPerStratum, need: 2, have: stratum.count };
        let stderr = stratum.stderr.map_err(|e| if stratum.count < 2 { single } else { e })?;
        Ok(((stratum.share * stderr) * (stratum.share * stderr), stratum.count as f64 - 1.0))
    };
    strata.iter().filter(|stratum| stratum.share > 0.0).map(term).collect()
}

/// One metric of a [`composite`].
#[derive(Clone, Copy, Debug)]
pub struct Component<'a> {
    /// Its weight; a penalty has a negative one.
    pub weight: f64,
    /// Its estimate.
    pub estimate: f64,
    /// How far each sample moves it: [`mean_influences`], [`weighted_influences`],
    /// [`ratio_influences`](crate::ratio::ratio_influences). The samples of all components are the same, in
    /// the same order.
    pub influences: &'a [f64],
}

/// A weighted sum of metrics over the same samples.
///
/// Metrics of the same samples rise and fall together, so their errors do not add up as if independent:
/// the influences of each sample do. For metrics that no delta method fits (a minimum, a percentile), use
/// [`UnitResampler`](crate::bootstrap::UnitResampler).
///
/// ```
/// use calipers_stats::weighted::{Component, composite, mean_influences};
///
/// let (correct, polite) = ([1.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 0.0]);
/// let (correct_moves, polite_moves) = (mean_influences(&correct)?, mean_influences(&polite)?);
/// let score = composite(
///     &[
///         Component { weight: 0.5, estimate: 0.75, influences: &correct_moves },
///         Component { weight: 0.5, estimate: 0.25, influences: &polite_moves },
///     ],
///     None,
/// )?;
/// // What one gains the other loses: the composite is the same for every sample.
/// assert_eq!((score.estimate, score.stderr?), (0.5, 0.0));
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn composite(components: &[Component<'_>], clusters: Option<&[u32]>) -> Result<Linearisation, Undefined> {
    let samples = components.first().ok_or(Undefined::Empty)?.influences.len();
    for component in components {
        Undefined::check_lengths(Quantity::Components, samples, component.influences.len())?;
        Undefined::check_finite(component.weight)?;
    }
    let combine = |parts: &mut dyn Iterator<Item = (f64, f64)>| {
        let mut total = ExactSum::default();
        parts.for_each(|(weight, part)| total.add_product(weight, part));
        total.value()
    };
    let estimate = combine(&mut components.iter().map(|c| (c.weight, c.estimate)));
    let moved = |i: usize| combine(&mut components.iter().map(|c| (c.weight, c.influences[i])));
    let influences: Vec<f64> = (0..samples).map(moved).collect();
    Linearisation::new(Undefined::check_finite(estimate)?, &influences, clusters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn weights_must_weigh() {
        assert_eq!(weighted_mean(&[], &[], None), Err(Undefined::Empty));
        assert_eq!(weighted_mean(&[1.0], &[0.0], None), Err(Undefined::ZeroDenominator { what: Quantity::Weight }));
        for wrong in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(weighted_mean(&[1.0, 2.0], &[1.0, wrong], None), Err(Undefined::OutOfRange { .. })));
        }
        assert!(weighted_mean(&[1.0], &[1.0, 2.0], None).is_err());
        assert!(weighted_mean(&[f64::NAN], &[1.0], None).is_err());
        assert!(weighted_mean(&[1.0, 2.0], &[1.0, 1.0], Some(&[1])).is_err());
    }

    #[test]
    fn one_value_has_a_mean_but_no_error() {
        let one = weighted_mean(&[0.3], &[7.0], None).unwrap();
        assert_eq!(one.mean.estimate, 0.3);
        assert_eq!(one.mean.stderr, Err(Undefined::TooFew { what: Quantity::Values, need: 2, have: 1 }));
        let cluster = weighted_mean(&[0.3, 0.4], &[7.0, 1.0], Some(&[5, 5])).unwrap();
        assert_eq!(cluster.mean.stderr, Err(Undefined::TooFew { what: Quantity::Clusters, need: 2, have: 1 }));
        assert!(cluster.mean.interval(Confidence::two_sided(0.95).unwrap()).is_err());
    }

    #[test]
    fn values_alike_have_no_spread_whatever_the_weights() {
        let alike = weighted_mean(&[0.1; 7], &[0.1, 0.7, 0.3, 1.1, 0.9, 1e-3, 13.0], None).unwrap();
        assert_eq!((alike.mean.estimate, alike.mean.stderr), (0.1, Ok(0.0)));
        assert!(alike.mean.caveats().contains(&StatisticCaveat::NoSpread { n: 7 }));
    }

    #[test]
    fn a_single_value_in_a_stratum_leaves_the_mean_but_no_error() {
        let answer = StratifiedMean::new(&[1.0, 0.0, 1.0], &[0, 0, 1], &[3.0, 1.0]).unwrap();
        assert_eq!(answer.mean, 0.625);
        assert_eq!(answer.stderr, Err(Undefined::TooFew { what: Quantity::ValuesPerStratum, need: 2, have: 1 }));
        assert_eq!(answer.misleading_mean_of_stderrs, 0.25);
        assert!(answer.interval(Confidence::two_sided(0.95).unwrap()).is_err());
    }

    #[test]
    fn a_stratum_with_weight_needs_values() {
        let missing = StratifiedMean::new(&[1.0, 0.0], &[0, 0], &[1.0, 1.0]);
        assert_eq!(missing, Err(Undefined::TooFew { what: Quantity::ValuesPerStratum, need: 1, have: 0 }));
        assert!(StratifiedMean::new(&[1.0, 0.0], &[0, 0], &[1.0, 0.0]).is_ok());
        assert!(StratifiedMean::new(&[1.0], &[3], &[1.0]).is_err());
        assert_eq!(StratifiedMean::new(&[], &[], &[1.0]), Err(Undefined::Empty));
        assert_eq!(StratifiedMean::equal(&[], &[]), Err(Undefined::Empty));
    }

    #[test]
    fn equal_strata_keep_their_codes() {
        let answer = StratifiedMean::equal(&[1.0, 0.0, 1.0, 0.5], &[9, 4, 9, 4]).unwrap();
        assert_eq!(answer.strata.iter().map(|s| s.code).collect::<Vec<_>>(), [4, 9]);
        assert_eq!(answer.mean, (0.25 + 1.0) / 2.0);
    }

    #[test]
    fn one_stratum_is_a_plain_mean_with_its_t_interval() {
        let values = [0.3, 0.9, 0.4, 0.1];
        let confidence = Confidence::two_sided(0.9).unwrap();
        let plain = Moments::from_slice(&values).t_interval(confidence).unwrap();
        let one = StratifiedMean::equal(&values, &[0; 4]).unwrap().interval(confidence).unwrap();
        assert!((plain.width().unwrap() - one.width().unwrap()).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn only_ratios_of_weights_matter(
            rows in prop::collection::vec((0.0f64..1.0, 0.1f64..9.0, 0u32..4), 4..40),
            power in -900i32..900, factor in 0.01f64..100.0, turn in 0usize..40,
        ) {
            let answer = |rows: &[(f64, f64, u32)], scale: f64| {
                let values: Vec<f64> = rows.iter().map(|r| r.0).collect();
                let weights: Vec<f64> = rows.iter().map(|r| r.1 * scale).collect();
                let codes: Vec<u32> = rows.iter().map(|r| r.2).collect();
                [weighted_mean(&values, &weights, None).unwrap(), weighted_mean(&values, &weights, Some(&codes)).unwrap()]
            };
            let plain = answer(&rows, 1.0);
            let mut moved = rows.clone();
            moved.rotate_left(turn % rows.len());
            prop_assert_eq!(plain, answer(&moved, 2f64.powi(power)));
            for (a, b) in plain.iter().zip(answer(&rows, factor)) {
                prop_assert!((a.mean.estimate - b.mean.estimate).abs() < 1e-13);
                prop_assert!((a.effective_n / b.effective_n - 1.0).abs() < 1e-12);
                if let (Ok(a), Ok(b)) = (a.mean.stderr, b.mean.stderr) {
                    prop_assert!((a - b).abs() < 1e-13);
                }
            }
        }

        #[test]
        fn equal_weights_are_a_plain_mean(values in prop::collection::vec(-1e3f64..1e3, 2..40)) {
            let plain = Moments::from_slice(&values);
            let weighted = weighted_mean(&values, &vec![0.3; values.len()], None).unwrap();
            prop_assert!((weighted.mean.estimate - plain.mean().unwrap()).abs() < 1e-10);
            prop_assert!((weighted.mean.stderr.unwrap() - plain.stderr().unwrap()).abs() < 1e-9);
            prop_assert!((weighted.effective_n - values.len() as f64).abs() < 1e-9);
        }

        #[test]
        fn strata_ignore_the_order_of_rows(rows in prop::collection::vec((0.0f64..1.0, 0u32..3), 3..40), turn in 0usize..40) {
            let answer = |rows: &[(f64, u32)]| {
                let (values, codes): (Vec<f64>, Vec<u32>) = rows.iter().copied().unzip();
                StratifiedMean::equal(&values, &codes).unwrap()
            };
            let mut moved = rows.clone();
            moved.rotate_left(turn % rows.len());
            prop_assert_eq!(answer(&rows), answer(&moved));
        }

        #[test]
        fn a_composite_of_means_is_the_mean_of_the_composite(
            rows in prop::collection::vec((0.0f64..1.0, 0.0f64..1.0, 0u32..4), 4..40), turn in 0usize..40,
        ) {
            let answer = |rows: &[(f64, f64, u32)]| {
                let (a, b): (Vec<f64>, Vec<f64>) = rows.iter().map(|r| (r.0, r.1)).unzip();
                let codes: Vec<u32> = rows.iter().map(|r| r.2).collect();
                let (za, zb) = (mean_influences(&a).unwrap(), mean_influences(&b).unwrap());
                let part = |weight, values: &[f64], influences| Component {
                    weight, estimate: Moments::from_slice(values).mean().unwrap(), influences,
                };
                let components = [part(0.7, &a, &za), part(-0.2, &b, &zb)];
                (composite(&components, None).unwrap(), composite(&components, Some(&codes)).unwrap())
            };
            let (plain, clustered) = answer(&rows);
            let combined: Vec<f64> = rows.iter().map(|r| 0.7 * r.0 - 0.2 * r.1).collect();
            let want = Moments::from_slice(&combined);
            prop_assert!((plain.estimate - want.mean().unwrap()).abs() < 1e-12);
            prop_assert!((plain.stderr.unwrap() - want.stderr().unwrap()).abs() < 1e-12);
            let mut moved = rows.clone();
            moved.rotate_left(turn % rows.len());
            prop_assert_eq!((plain, clustered), answer(&moved));
        }
    }
}
