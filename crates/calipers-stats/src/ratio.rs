//! Ratios: quality per token, tokens per success.
//!
//! There are two, and they answer different questions. The *ratio of sums* Σy/Σx is what was got for all
//! that was spent. The *mean of ratios* is what a sample gets on average, in which a cheap sample counts as
//! much as a dear one. On tokens of 100, 10000, 5000 and 200 with successes 1, 1, 0 and 1 they differ by
//! a factor of nineteen.

use crate::sum::sum;
use crate::weighted::{Linearisation, mean_influences};
use crate::{Moments, Quantity, StatisticCaveat, Undefined};

/// A ratio of sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Σy/Σx, and √(n/(n−1) Σ(y − Rx)²)/Σx.
    pub ratio: Linearisation,
    /// The coefficient of variation of the denominator's mean: its standard error over itself. Undefined
    /// where the standard error is.
    pub denominator_variation: Result<f64, Undefined>,
}

/// From this variation of the denominator on, the linearised error is rough (Cochran 1977, §6.4).
const NOISY: f64 = 0.1;

impl Ratio {
    /// What to beware of: few units, no spread, or a denominator that varies too much.
    #[must_use]
    pub fn caveats(&self) -> Vec<StatisticCaveat> {
        let variation = self.denominator_variation.unwrap_or(0.0);
        let noisy = (variation > NOISY).then_some(StatisticCaveat::NoisyDenominator { variation });
        self.ratio.caveats().into_iter().chain(noisy).collect()
    }
}

/// The ratio of the sums of two columns, with the error of survey statistics (`svyratio` of R's survey
/// package; Cochran 1977, eq. 6.4 with n/(n−1)).
///
/// Samples with the same cluster code are one unit. Undefined without samples, when the denominators add
/// up to zero (no successes: tokens per success do not exist), and when a value is not finite.
///
/// ```
/// use calipers_stats::Quantity;
/// use calipers_stats::ratio::ratio_of_sums;
/// use calipers_stats::{Confidence, Undefined};
///
/// let (successes, tokens) = ([1.0, 1.0, 0.0, 1.0], [100.0, 10_000.0, 5_000.0, 200.0]);
/// let answer = ratio_of_sums(&successes, &tokens, None)?;
/// assert_eq!(answer.ratio.estimate, 3.0 / 15_300.0);
/// assert!(answer.caveats().iter().any(|caveat| caveat.id() == "noisy-denominator"));
/// let per_success = ratio_of_sums(&tokens, &[0.0; 4], None);
/// assert_eq!(per_success, Err(Undefined::ZeroDenominator { what: Quantity::DenominatorTotal }));
/// # Ok::<(), Undefined>(())
/// ```
pub fn ratio_of_sums(numerators: &[f64], denominators: &[f64], clusters: Option<&[u32]>) -> Result<Ratio, Undefined> {
    let parts = Parts::new(numerators, denominators)?;
    let mean = parts.total / denominators.len() as f64;
    let denominator = Linearisation::new(mean, &mean_influences(denominators)?, clusters)?;
    Ok(Ratio {
        ratio: Linearisation::new(parts.ratio, &parts.influences(numerators, denominators), clusters)?,
        denominator_variation: denominator.stderr.map(|stderr| stderr / mean.abs()),
    })
}

/// The influences of a ratio of sums, (y − Rx)/Σx, for a [`composite`](crate::weighted::composite).
pub fn ratio_influences(numerators: &[f64], denominators: &[f64]) -> Result<Vec<f64>, Undefined> {
    Ok(Parts::new(numerators, denominators)?.influences(numerators, denominators))
}

/// A ratio of sums without its error, of which each influence is asked for when it is needed.
///
/// ```
/// use calipers_stats::ratio::{PlainRatio, ratio_influences, ratio_of_sums};
///
/// let (successes, tokens) = ([1.0, 1.0, 0.0], [100.0, 10_000.0, 5_000.0]);
/// let ratio = PlainRatio::new(&successes, &tokens)?;
/// assert_eq!(ratio.estimate(), ratio_of_sums(&successes, &tokens, None)?.ratio.estimate);
/// assert_eq!(ratio.influence(1.0, 10_000.0), ratio_influences(&successes, &tokens)?[1]);
/// assert_eq!(PlainRatio::of_mean(&tokens)?.estimate(), PlainRatio::new(&tokens, &[1.0; 3])?.estimate());
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PlainRatio(Parts);

impl PlainRatio {
    /// Σy/Σx.
    pub fn new(numerators: &[f64], denominators: &[f64]) -> Result<Self, Undefined> {
        Parts::new(numerators, denominators).map(Self)
    }

    /// The same where every denominator is 1.
    pub fn of_mean(numerators: &[f64]) -> Result<Self, Undefined> {
        if numerators.is_empty() {
            return Err(Undefined::Empty);
        }
        numerators.iter().try_for_each(|&x| Undefined::check_finite(x).map(|_| ()))?;
        let total = numerators.len() as f64;
        Ok(Self(Parts { ratio: Undefined::check_finite(sum(numerators) / total)?, total }))
    }

    /// The ratio.
    #[must_use]
    pub fn estimate(&self) -> f64 {
        self.0.ratio
    }

    /// The influence of a sample, (y − Rx)/Σx.
    #[must_use]
    pub fn influence(&self, numerator: f64, denominator: f64) -> f64 {
        self.0.influence(numerator, denominator)
    }
}

/// The mean of the ratios of each sample, as moments of which mean, error and interval can be had.
///
/// Undefined when a single denominator is zero.
///
/// ```
/// use calipers_stats::ratio::mean_of_ratios;
///
/// let each = mean_of_ratios(&[1.0, 1.0, 0.0, 1.0], &[100.0, 10_000.0, 5_000.0, 200.0])?;
/// assert!((each.mean()? - 0.003775).abs() < 1e-12);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn mean_of_ratios(numerators: &[f64], denominators: &[f64]) -> Result<Moments, Undefined> {
    check(numerators, denominators)?;
    let mut moments = Moments::default();
    for (y, x) in numerators.iter().zip(denominators) {
        if *x == 0.0 {
            return Err(Undefined::ZeroDenominator { what: Quantity::SampleDenominator });
        }
        moments.add(Undefined::check_finite(y / x)?);
    }
    Ok(moments)
}

fn check(numerators: &[f64], denominators: &[f64]) -> Result<(), Undefined> {
    Undefined::check_lengths(Quantity::NumeratorsAndDenominators, numerators.len(), denominators.len())?;
    if numerators.is_empty() {
        return Err(Undefined::Empty);
    }
    numerators.iter().chain(denominators).try_for_each(|&x| Undefined::check_finite(x).map(|_| ()))
}

#[derive(Clone, Copy, Debug)]
struct Parts {
    ratio: f64,
    total: f64,
}

impl Parts {
    fn new(numerators: &[f64], denominators: &[f64]) -> Result<Self, Undefined> {
        check(numerators, denominators)?;
        let total = Undefined::check_finite(sum(denominators))?;
        if total == 0.0 {
            return Err(Undefined::ZeroDenominator { what: Quantity::DenominatorTotal });
        }
        Ok(Self { ratio: Undefined::check_finite(sum(numerators) / total)?, total })
    }

    fn influences(&self, numerators: &[f64], denominators: &[f64]) -> Vec<f64> {
        numerators.iter().zip(denominators).map(|(&y, &x)| self.influence(y, x)).collect()
    }

    fn influence(&self, y: f64, x: f64) -> f64 {
        (y - self.ratio * x) / self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Confidence, Method};
    use proptest::prelude::*;

    #[test]
    fn no_spending_has_no_ratio() {
        assert_eq!(ratio_of_sums(&[], &[], None), Err(Undefined::Empty));
        assert!(ratio_of_sums(&[1.0], &[0.0], None).is_err());
        assert!(ratio_of_sums(&[1.0], &[1.0, 2.0], None).is_err());
        assert!(ratio_of_sums(&[f64::NAN], &[1.0], None).is_err());
        assert!(mean_of_ratios(&[1.0, 1.0], &[1.0, 0.0]).is_err());
        assert!(mean_of_ratios(&[], &[]).is_err());
    }

    #[test]
    fn one_sample_has_a_ratio_but_no_error() {
        let one = ratio_of_sums(&[1.0], &[4.0], None).unwrap();
        assert_eq!(one.ratio.estimate, 0.25);
        assert!(one.ratio.stderr.is_err() && one.denominator_variation.is_err());
    }

    #[test]
    fn a_constant_denominator_is_a_plain_mean() {
        let values = [0.2, 0.9, 0.4, 0.7];
        let ratio = ratio_of_sums(&values, &[2.0; 4], None).unwrap();
        let confidence = Confidence::two_sided(0.95).unwrap();
        let plain = Moments::from_slice(&values).t_interval(confidence).unwrap();
        let interval = ratio.ratio.interval(confidence).unwrap();
        assert_eq!(interval.method, Method::DeltaT);
        assert!((2.0 * interval.upper.unwrap() - plain.upper.unwrap()).abs() < 1e-12);
        assert_eq!(ratio.denominator_variation, Ok(0.0));
    }

    proptest! {
        #[test]
        fn the_order_of_rows_changes_no_bit(rows in prop::collection::vec((-5.0f64..9.0, 1.0f64..99.0, 0u32..5), 2..40), turn in 0usize..40) {
            let answer = |rows: &[(f64, f64, u32)]| {
                let (y, x): (Vec<f64>, Vec<f64>) = rows.iter().map(|r| (r.0, r.1)).unzip();
                let codes: Vec<u32> = rows.iter().map(|r| r.2).collect();
                let each = mean_of_ratios(&y, &x).unwrap();
                (ratio_of_sums(&y, &x, None), ratio_of_sums(&y, &x, Some(&codes)), each.mean(), each.stderr())
            };
            let mut moved = rows.clone();
            moved.rotate_left(turn % rows.len());
            prop_assert_eq!(answer(&rows), answer(&moved));
        }
    }
}
