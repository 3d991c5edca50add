//! The interval that a mean will have, before there are values: what a plan counts on.

use crate::moments::{OPEN_NEEDS, adjusted_t, find_scale, open_t};
use crate::{Confidence, Interval, Quantity, Undefined};

/// The mean of values that are yet to come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedMean {
    /// How many values there will be; of clusters, how many clusters, which may be no whole number in a plan.
    pub units: f64,
    /// Their mean.
    pub mean: f64,
    /// Their variance, as n − 1 would estimate it.
    pub variance: f64,
}

impl PlannedMean {
    /// The interval of scores in [0, 1], as [`Moments::unit_interval`](crate::Moments::unit_interval) will have it. Undefined without
    /// values, and for numbers that are not finite.
    ///
    /// ```
    /// use calipers_stats::{Confidence, Moments, planned_mean::PlannedMean};
    ///
    /// let confidence = Confidence::two_sided(0.95)?;
    /// let grades = Moments::from_slice(&[0.2, 0.9, 0.7, 1.0, 0.6, 0.8]);
    /// let planned = PlannedMean { units: 6.0, mean: grades.mean()?, variance: grades.variance()? };
    /// let (planned, seen) = (planned.unit_interval(confidence)?, grades.unit_interval(confidence)?);
    /// assert!((planned.width().unwrap() - seen.width().unwrap()).abs() < 1e-12);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    pub fn unit_interval(&self, confidence: Confidence) -> Result<Interval, Undefined> {
        let squares = self.squared_deviations()?;
        adjusted_t(self.units, self.mean, squares, confidence)
    }

    /// The interval of values of an unknown range that will lie between these two, as
    /// [`Moments::open_interval`](crate::Moments::open_interval) will have it: undefined below ten.
    pub fn open_interval(&self, (least, most): (f64, f64), confidence: Confidence) -> Result<Interval, Undefined> {
        let squares = self.squared_deviations()?;
        if self.units < OPEN_NEEDS as f64 {
            return Err(Undefined::TooFew { what: Quantity::Values, need: OPEN_NEEDS, have: self.units as u64 });
        }
        let scale = find_scale([least, most]).map(|scale| [0.0, scale]);
        open_t(self.units, self.mean, squares, [least, most], scale, confidence)
    }

    fn squared_deviations(&self) -> Result<f64, Undefined> {
        Undefined::check_finite(self.mean)?;
        if !(self.units >= 1.0 && self.units.is_finite()) {
            return Err(Undefined::Empty);
        }
        Undefined::check_finite((self.units - 1.0) * self.variance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Moments;

    #[test]
    fn what_is_planned_is_what_will_be_shown() {
        let confidence = Confidence::two_sided(0.95).unwrap();
        let ratings = [4.0, 5.0, 3.0, 4.0, 2.0, 5.0, 4.0, 4.0, 1.0, 5.0, 3.0];
        let seen = Moments::from_slice(&ratings);
        let planned = PlannedMean { units: 11.0, mean: seen.mean().unwrap(), variance: seen.variance().unwrap() };
        let (ours, shown) =
            (planned.open_interval((1.0, 5.0), confidence).unwrap(), seen.open_interval(confidence).unwrap());
        assert!((ours.lower.unwrap() - shown.lower.unwrap()).abs() < 1e-12, "{ours:?} {shown:?}");
        assert!((ours.upper.unwrap() - shown.upper.unwrap()).abs() < 1e-12, "{ours:?} {shown:?}");
    }

    #[test]
    fn too_few_have_none() {
        let confidence = Confidence::two_sided(0.95).unwrap();
        let planned = |units| PlannedMean { units, mean: 0.5, variance: 0.1 };
        assert_eq!(planned(0.5).unit_interval(confidence), Err(Undefined::Empty));
        assert!(planned(9.0).open_interval((0.0, 3.0), confidence).is_err());
        assert!(planned(10.0).open_interval((0.0, 3.0), confidence).is_ok());
        assert!(PlannedMean { mean: f64::NAN, ..planned(9.0) }.unit_interval(confidence).is_err());
    }
}
