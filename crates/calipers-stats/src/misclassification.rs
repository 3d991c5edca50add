//! The true share behind a measurement whose errors are known: Rogan and Gladen 1978.

use crate::proportion::Proportion;
use crate::special::normal_quantile;
use crate::{AllowedRange, Confidence, Interval, Method, Quantity, Undefined};

/// A share measured with errors, and how often the measurement is right about positives and about negatives.
///
/// The three must come from different things, or nearly so. What is known about the errors may come from elsewhere, with
/// another share of positives, as long as the measurement errs there as often.
///
/// ```
/// use calipers_stats::misclassification::Misclassified;
/// use calipers_stats::proportion::Proportion;
///
/// let share = |k, n| Proportion::new(k, n);
/// let judged = Misclassified { positives: share(300, 400)?, sensitivity: share(45, 50)?, specificity: share(40, 50)? };
/// assert!((judged.estimate()? - 0.7857142857).abs() < 1e-9);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misclassified {
    /// Measured positive, of all things.
    pub positives: Proportion,
    /// Measured positive, of the positives.
    pub sensitivity: Proportion,
    /// Measured negative, of the negatives.
    pub specificity: Proportion,
}

impl Misclassified {
    /// (q + Sp − 1)/(Se + Sp − 1) for the measured share q, which may lie outside [0, 1].
    ///
    /// Undefined unless Se + Sp − 1 is above 0: then the measurement is no better than chance.
    pub fn estimate(&self) -> Result<f64, Undefined> {
        let (sensitivity, specificity) = (self.sensitivity.estimate(), self.specificity.estimate());
        let informedness = sensitivity + specificity - 1.0;
        if informedness <= 0.0 {
            return Err(refuse(Quantity::Informedness, informedness));
        }
        Ok((self.positives.estimate() + specificity - 1.0) / informedness)
    }

    /// The standard error by the delta method. Undefined where the estimate is.
    pub fn stderr(&self) -> Result<f64, Undefined> {
        let estimate = self.estimate()?;
        let informedness = self.sensitivity.estimate() + self.specificity.estimate() - 1.0;
        let variance = |share: Proportion| share.estimate() * (1.0 - share.estimate()) / share.trials() as f64;
        let variance = variance(self.positives)
            + estimate.powi(2) * variance(self.sensitivity)
            + (1.0 - estimate).powi(2) * variance(self.specificity);
        Ok(variance.sqrt() / informedness)
    }

    /// The interval: Fieller's (1954) set of all θ with |q − θ·Se − (1 − θ)(1 − Sp)| within its error, after adding one
    /// thing to each cell of what is known of the errors, as Lee et al. (2025) do, and z²/2 to both sides of q.
    ///
    /// It covers at least 93.9 % in every design that we simulated where it exists; the delta method alone does not. It lies within
    /// [0, 1] and holds the estimate, clipped to that.
    ///
    /// Undefined where the estimate is, and where Se + Sp − 1 may be 0: then no θ can be excluded.
    pub fn interval(&self, confidence: Confidence) -> Result<Interval, Undefined> {
        let estimate = self.estimate()?.clamp(0.0, 1.0);
        let z = -normal_quantile(confidence.tail());
        let (q, q_variance) = add(self.positives, z * z / 2.0);
        let (sensitivity, se_variance) = add(self.sensitivity, 1.0);
        let (specificity, sp_variance) = add(self.specificity, 1.0);
        let informedness = sensitivity + specificity - 1.0;
        let lowest = informedness - z * (se_variance + sp_variance).sqrt();
        if lowest <= 0.0 {
            return Err(refuse(Quantity::InformednessBound, lowest));
        }
        // (c − θD)² = z²(v + θ²v₁ + (1 − θ)²v₀), a quadratic that is at most 0 at c/D and so has two roots.
        let excess = q + specificity - 1.0;
        let square = informedness.powi(2) - z * z * (se_variance + sp_variance);
        let half = excess * informedness - z * z * sp_variance;
        let constant = excess.powi(2) - z * z * (q_variance + sp_variance);
        let root = (half * half - square * constant).max(0.0).sqrt();
        let bound = |x: f64| (x / square).clamp(0.0, 1.0);
        Ok(confidence.interval(
            Method::Fieller,
            || bound(half - root).min(estimate),
            || bound(half + root).max(estimate),
        ))
    }
}

fn refuse(what: Quantity, value: f64) -> Undefined {
    Undefined::OutOfRange { what, value, allowed: AllowedRange::Positive }
}

/// A share and its variance after adding as many successes as failures.
fn add(share: Proportion, each: f64) -> (f64, f64) {
    let trials = share.trials() as f64 + 2.0 * each;
    let estimate = (share.successes() as f64 + each) / trials;
    (estimate, estimate * (1.0 - estimate) / trials)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(positives: [u64; 2], sensitivity: [u64; 2], specificity: [u64; 2]) -> Misclassified {
        let share = |[k, n]: [u64; 2]| Proportion::new(k, n).unwrap();
        Misclassified { positives: share(positives), sensitivity: share(sensitivity), specificity: share(specificity) }
    }

    #[test]
    fn a_measurement_like_chance_says_nothing() {
        let level = Confidence::two_sided(0.95).unwrap();
        let chance = measured([50, 100], [25, 50], [25, 50]);
        let refused =
            Undefined::OutOfRange { what: Quantity::Informedness, value: 0.0, allowed: AllowedRange::Positive };
        assert_eq!((chance.estimate(), chance.stderr()), (Err(refused), Err(refused)));
        assert_eq!(chance.interval(level), Err(refused));
        // Better than chance by luck, perhaps.
        let doubtful = measured([50, 100], [6, 10], [6, 10]);
        assert!(doubtful.estimate().is_ok());
        let refused = doubtful.interval(level).unwrap_err();
        assert!(matches!(refused, Undefined::OutOfRange { what: Quantity::InformednessBound, .. }), "{refused:?}");
    }

    #[test]
    fn an_estimate_outside_the_unit_interval_is_at_its_end() {
        let level = Confidence::two_sided(0.95).unwrap();
        let few = measured([2, 200], [90, 100], [90, 100]);
        assert!(few.estimate().unwrap() < 0.0);
        let interval = few.interval(level).unwrap();
        assert_eq!(interval.lower, Some(0.0));
        assert!((0.0..0.05).contains(&interval.upper.unwrap()));
    }

    #[test]
    fn the_interval_tends_to_that_of_the_delta_method() {
        let level = Confidence::two_sided(0.95).unwrap();
        let many = measured([72_000, 100_000], [88_000, 100_000], [76_000, 100_000]);
        let (estimate, reach) = (many.estimate().unwrap(), 1.959964 * many.stderr().unwrap());
        let interval = many.interval(level).unwrap();
        assert!((interval.lower.unwrap() - (estimate - reach)).abs() < 1e-4);
        assert!((interval.upper.unwrap() - (estimate + reach)).abs() < 1e-4);
    }
}
