//! The difference of two estimates of the same things, each with an interval that holds by itself.
//!
//! The intervals are joined by the squares of their reaches and by the correlation of the estimates (MOVER for dependent
//! estimates, Zou 2007). The delta method knows the error of each estimate only at what was seen: for precision, recall and
//! Matthews' correlation with thirty samples and a rare class, its 95 % intervals cover 82 to 92 % of the time. Joined ones
//! keep what their parts know of few and of perfect samples.

use crate::bracket::last_positive;
use crate::{Confidence, Interval, Undefined};

/// An estimate that has an interval at every level.
pub trait BoundedEstimate {
    /// The estimate.
    fn estimate(&self) -> f64;

    /// Its interval, both sides of which hold by themselves.
    fn interval(&self, confidence: Confidence) -> Result<Interval, Undefined>;
}

/// The difference of two estimates.
///
/// ```
/// use calipers_stats::corrected_mean::CorrectedMean;
/// use calipers_stats::joined_difference::JoinedDifference;
///
/// let arm = |pass: u32| {
///     let pairs: Vec<(f64, f64)> = (0..100).map(|i| (f64::from(u8::from(i < pass)), f64::from(u8::from(i < 80)))).collect();
///     CorrectedMean::new(&pairs, &[1.0; 300])
/// };
/// let difference = JoinedDifference { ours: arm(75)?, theirs: arm(40)?, correlation: 0.0 };
/// assert!(difference.p_above(0.0) < 0.001 && difference.p_below(0.0) > 0.5);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct JoinedDifference<E> {
    /// The estimate that the other is subtracted from.
    pub ours: E,
    /// The other.
    pub theirs: E,
    /// The correlation of the two estimates, from what each thing adds to both.
    pub correlation: f64,
}

impl<E: BoundedEstimate> JoinedDifference<E> {
    /// The difference.
    #[must_use]
    pub fn estimate(&self) -> f64 {
        self.ours.estimate() - self.theirs.estimate()
    }

    /// The interval.
    pub fn interval(&self, confidence: Confidence) -> Result<Interval, Undefined> {
        // Each bound rests on one side of one estimate and the other side of the other.
        let sides = Confidence::two_sided(1.0 - 2.0 * confidence.tail())?;
        let (ours, theirs) = (self.ours.interval(sides)?, self.theirs.interval(sides)?);
        let (a, b) = (self.ours.estimate(), self.theirs.estimate());
        let join = |x: f64, y: f64| (x * x + y * y - 2.0 * self.correlation * x * y).max(0.0).sqrt();
        let lower = ours.lower.zip(theirs.upper).map(|(low, high)| a - b - join(a - low, high - b));
        let upper = ours.upper.zip(theirs.lower).map(|(high, low)| a - b + join(high - a, b - low));
        Ok(confidence.partial_interval(ours.method, || lower, || upper))
    }

    /// The error at which the lower bound reaches a value.
    #[must_use]
    pub fn p_above(&self, value: f64) -> f64 {
        find_p_above(value, |confidence| self.interval(confidence))
    }

    /// The same of the upper bound.
    #[must_use]
    pub fn p_below(&self, value: f64) -> f64 {
        find_p_below(value, |confidence| self.interval(confidence))
    }
}

/// The error at which the lower bound reaches a value.
pub(crate) fn find_p_above(value: f64, interval: impl Fn(Confidence) -> Result<Interval, Undefined>) -> f64 {
    find_p(|alpha| {
        let bound = Confidence::lower(1.0 - alpha).and_then(&interval).ok().and_then(|interval| interval.lower);
        bound.map_or(f64::NEG_INFINITY, |bound| bound - value)
    })
}

/// The error at which the upper bound reaches a value.
pub(crate) fn find_p_below(value: f64, interval: impl Fn(Confidence) -> Result<Interval, Undefined>) -> f64 {
    find_p(|alpha| {
        let bound = Confidence::upper(1.0 - alpha).and_then(&interval).ok().and_then(|interval| interval.upper);
        bound.map_or(f64::NEG_INFINITY, |bound| value - bound)
    })
}

/// The least p-value that is told apart from 0, and the largest: beyond it the estimate is on the wrong side.
const P_RANGE: (f64, f64) = (1e-12, 0.499);

/// The least error at which a value is ruled out, that is, at which the bound is beyond it by at least 0; 1 where it is not even
/// at one half.
pub(crate) fn find_p(beyond: impl Fn(f64) -> f64) -> f64 {
    let short = |ln_alpha: f64| -beyond(ln_alpha.exp()).clamp(-1e9, 1e9);
    let (low, high) = (P_RANGE.0.ln(), P_RANGE.1.ln());
    let (at_low, at_high) = (short(low), short(high));
    if at_high > 0.0 {
        return 1.0;
    }
    if at_low <= 0.0 {
        return P_RANGE.0;
    }
    // The last error at which it is not ruled out, as near to the first at which it is as matters.
    last_positive((low, at_low), (high, at_high), |_| 1e-9, short).exp() * (1.0 + 1e-9)
}
