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
/// assert_eq!(number(0.99996), "0.99996"); // not 1: something failed
/// ```
#[must_use]
pub fn number(x: f64) -> String {
    // What is nearly 1 must not look like 1: the difference is the failures.
    if x < 1.0 && x > 0.999 {
        let digits = (3..=NEAR_ONE_DIGITS).map(|digits| format!("{x:.digits$}")).find(|text| !text.starts_with('1'));
        return digits.unwrap_or_else(|| "1.000".to_owned());
    }
    // A zero has no sign for people.
    let x = if x == 0.0 { 0.0 } else { x };
    match x.abs() {
        size if size >= 1e9 || (size > 0.0 && size < 0.001) => format!("{x:.2e}"),
        size if size >= 1000.0 => format!("{x:.0}"),
        size if size >= 10.0 => format!("{x:.1}"),
        _ => format!("{x:.3}"),
    }
}

/// One failure among a million is still told from none.
const NEAR_ONE_DIGITS: usize = 6;

/// A level as a percentage: `95 %`, `99.9 %`.
pub(crate) fn percent(level: f64) -> String {
    let digits = format!("{:.6}", level * 100.0);
    format!("{} %", digits.trim_end_matches('0').trim_end_matches('.'))
}
