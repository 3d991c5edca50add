//! An interval from an estimate and a standard error that someone else computed.
//!
//! `estimate ± z · stderr` is Wald's interval, with all its faults near 0 and 1 and for few values. Nothing better can be had
//! without the values themselves: Wilson's interval needs the count, and t needs the degrees of freedom.

use crate::confusion::normal_interval;
use crate::{Confidence, Interval, Method, Quantity, Undefined};

/// The normal interval around a recorded estimate.
///
/// Undefined for an error that is negative or not finite, and for an error of 0: files record 0 where all values are the
/// same or where there is one value, and neither is certainty.
///
/// ```
/// use calipers_stats::{Confidence, recorded_error};
///
/// let interval = recorded_error::interval(0.75, 0.05, Confidence::two_sided(0.95)?)?;
/// assert!((interval.lower.expect("two-sided") - 0.652).abs() < 1e-3);
/// assert_eq!(interval.method.name(), "normal-from-recorded-error");
/// assert!(recorded_error::interval(1.0, 0.0, Confidence::two_sided(0.95)?).is_err());
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn interval(estimate: f64, stderr: f64, confidence: Confidence) -> Result<Interval, Undefined> {
    Undefined::check_finite(estimate)?;
    if Undefined::check_finite(stderr)? <= 0.0 {
        return Err(Undefined::NoSpread { what: Quantity::Values });
    }
    Ok(Interval { method: Method::RecordedError, ..normal_interval(estimate, stderr, confidence) })
}
