//! How numbers look to people. The only place where they are rounded.

/// A number with as many digits as tell something: `0.812`, `3082`, `1.96e-4`.
///
/// ```
/// use calipers_render::number;
///
/// assert_eq!(number(0.8123), "0.812");
/// assert_eq!(number(3082.4), "3082");
/// assert_eq!(number(57.125), "57.1");
/// assert_eq!(number(0.000196), "1.96e-4");
/// assert_eq!(number(0.0), "0.000");
/// ```
#[must_use]
pub fn number(x: f64) -> String {
    match x.abs() {
        size if size >= 1e9 || (size > 0.0 && size < 0.001) => format!("{x:.2e}"),
        size if size >= 1000.0 => format!("{x:.0}"),
        size if size >= 10.0 => format!("{x:.1}"),
        _ => format!("{x:.3}"),
    }
}

/// A level as a percentage: `95 %`, `99.9 %`.
pub(crate) fn percent(level: f64) -> String {
    let digits = format!("{:.6}", level * 100.0);
    format!("{} %", digits.trim_end_matches('0').trim_end_matches('.'))
}
