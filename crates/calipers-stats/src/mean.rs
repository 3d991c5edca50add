//! Student's t around an estimate.

use crate::{AllowedRange, Confidence, Interval, Method, Quantity, Undefined, special};

/// `estimate ± t · stderr` with the given degrees of freedom, which need not be whole.
///
/// For means of unbounded or graded values from about thirty on. It undercovers for proportions near 0
/// or 1 and for few clusters of unequal size; see [`crate::proportion`] and [`crate::cluster`].
///
/// ```
/// use calipers_stats::{mean::t_interval, Confidence};
///
/// let interval = t_interval(0.5, 0.1, 9.0, Confidence::two_sided(0.95)?)?;
/// assert!((interval.upper.unwrap() - 0.7262157).abs() < 1e-7);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn t_interval(estimate: f64, stderr: f64, df: f64, confidence: Confidence) -> Result<Interval, Undefined> {
    around(Method::T, estimate, stderr, df, confidence)
}

/// The same under another method's name.
pub(crate) fn around(
    method: Method,
    estimate: f64,
    stderr: f64,
    df: f64,
    confidence: Confidence,
) -> Result<Interval, Undefined> {
    if df.is_nan() || df <= 0.0 {
        return Err(Undefined::OutOfRange {
            what: Quantity::DegreesOfFreedom,
            value: df,
            allowed: AllowedRange::Positive,
        });
    }
    let reach = special::t_quantile(1.0 - confidence.tail(), df) * stderr;
    Ok(confidence.interval(method, || estimate - reach, || estimate + reach))
}

/// The two-sided p-value of a t statistic.
#[must_use]
pub fn t_p_value(t: f64, df: f64) -> f64 {
    2.0 * special::t_cdf(-t.abs(), df)
}
