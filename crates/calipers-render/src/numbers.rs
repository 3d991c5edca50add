//! How numbers look to people. The only place where they are rounded.

use calipers_core::{Unit, group_digits};

/// A number with as many digits as tell something: `0.812`, `3,082`, `1.96e-4`.
///
/// ```
/// use calipers_render::number;
///
/// assert_eq!(number(0.8123), "0.812");
/// assert_eq!(number(3082.4), "3,082");
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
        size if size >= 1000.0 => group_digits(&format!("{x:.0}")),
        size if size >= 10.0 => format!("{x:.1}"),
        _ => format!("{x:.3}"),
    }
}

/// One failure among a million is still told from none.
const NEAR_ONE_DIGITS: usize = 6;

/// With this many decimals.
pub(crate) fn decimals(x: f64, places: usize) -> String {
    format!("{x:.places$}")
}

/// A level as a percentage: `95 %`, `99.9 %`.
pub(crate) fn percent(level: f64) -> String {
    let digits = format!("{:.6}", level * 100.0);
    format!("{} %", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// A level that was divided among several intervals: `98.3 %`.
pub(crate) fn shared_level(level: f64) -> String {
    let digits = format!("{:.1}", level * 100.0);
    format!("{} %", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// How many there are: `1,537`.
pub(crate) fn count(n: u64) -> String {
    group_digits(&n.to_string())
}

/// A p-value: `p = 0.004`, `p < 0.0001`. It does not look like the error that is allowed if it is not that.
pub(crate) fn p_value(p: f64, alpha: f64) -> String {
    if p < 0.0001 { "p < 0.0001".to_owned() } else { format!("p = {}", p_digits(p, alpha)) }
}

/// The same after the name of a p-value: `adjusted 0.008`.
pub(crate) fn p_digits(p: f64, alpha: f64) -> String {
    if p < 0.0001 {
        return "< 0.0001".to_owned();
    }
    let few = match p {
        p if p >= 0.1 => 2,
        p if p >= 0.001 => 3,
        _ => 4,
    };
    let looks_like = |digits: &String| digits.parse() == Ok(alpha) && (p - alpha).abs() > 1e-12;
    let told = (few..=BESIDE_DIGITS).map(|places| format!("{p:.places$}")).find(|digits| !looks_like(digits));
    let digits = told.unwrap_or_else(|| format!("{p:.few$}"));
    if digits == "1.00" { "1".to_owned() } else { digits }
}

/// A factor: `× 1.08`, where 1 is no change.
pub(crate) fn factor(x: f64) -> String {
    format!("× {}", factor_digits(x))
}

fn factor_digits(x: f64) -> String {
    match x {
        x if x >= 100.0 => format!("{x:.0}"),
        x if x >= 10.0 => format!("{x:.1}"),
        x if x >= 2.0 => format!("{x:.2}"),
        // Around 1 a hundredth may be what matters.
        x => format!("{x:.3}"),
    }
}

/// How often something is found: `79.7 %`, `> 99.9 %`.
pub(crate) fn power(x: f64) -> String {
    if x > 0.999 { "> 99.9 %".to_owned() } else { Scale::Percent.text(x) }
}

/// The interval of a factor.
pub(crate) fn factors(lower: Option<f64>, upper: Option<f64>) -> String {
    let bound = |bound: Option<f64>| bound.map_or_else(|| "–".to_owned(), factor_digits);
    format!("[{}, {}]", bound(lower), bound(upper))
}

/// A round number on an axis: `20`, `+5 pp`, `$0.01`. Only the last has a unit that stands behind it.
pub(crate) fn axis_label(scale: Scale, x: f64, is_signed: bool, is_last: bool) -> String {
    let sign = if is_signed && x > 0.0 { "+" } else { "" };
    let digits =
        if is_last || scale == Scale::Usd { scale.exact(x) } else { group_digits(&trim_zeros(scale.scale(x))) };
    format!("{sign}{digits}")
}

/// A round factor on an axis: `× 0.5`.
pub(crate) fn factor_label(x: f64) -> String {
    format!("× {}", trim_zeros(x))
}

/// A value under a bar: with no more digits than tell something, and no zeros at their end.
pub(crate) fn bar_label(scale: Scale, x: f64) -> String {
    let digits = scale.exact(x);
    // 0.6666666666666666 is two thirds, not a number to read to its end.
    if digits.chars().filter(char::is_ascii_digit).count() <= LABEL_DIGITS {
        digits
    } else {
        scale.with_unit(&significant(scale.scale(x)))
    }
}

/// As many digits of a value as fit under a bar.
const LABEL_DIGITS: usize = 4;

/// How the numbers of a metric are written. Numbers that stand side by side share one, so that they can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// `96.2 %`
    Percent,
    /// `3.8 pp`: the difference of two percentages.
    Points,
    /// `812 ms`
    Milliseconds,
    /// `4.82 s`
    Seconds,
    /// `$0.0123`
    Usd,
    /// As in a table of scores.
    Number,
}

impl Scale {
    /// The scale of a unit for numbers about as large as this one.
    pub(crate) fn of(unit: Unit, size: f64) -> Self {
        match unit {
            Unit::Rate => Self::Percent,
            Unit::Milliseconds if size.abs() >= 1000.0 => Self::Seconds,
            Unit::Milliseconds => Self::Milliseconds,
            Unit::Usd => Self::Usd,
            Unit::Tokens | Unit::Ratio | Unit::Plain => Self::Number,
        }
    }

    /// The scale of differences.
    pub(crate) fn of_differences(self) -> Self {
        if self == Self::Percent { Self::Points } else { self }
    }

    fn scale(self, x: f64) -> f64 {
        match self {
            Self::Percent | Self::Points => x * 100.0,
            Self::Seconds => x / 1000.0,
            Self::Milliseconds | Self::Usd | Self::Number => x,
        }
    }

    /// Digits with their unit, once for several of them: `[80.4, 99.9] %`.
    fn with_unit(self, digits: &str) -> String {
        match self {
            Self::Percent => format!("{digits} %"),
            Self::Points => format!("{digits} pp"),
            Self::Milliseconds => format!("{digits} ms"),
            Self::Seconds => format!("{digits} s"),
            Self::Usd => match digits.strip_prefix('-') {
                Some(size) => format!("-${size}"),
                None => format!("${digits}"),
            },
            Self::Number => digits.to_owned(),
        }
    }

    fn digits(self, x: f64) -> String {
        group_digits(&self.plain_digits(x))
    }

    fn plain_digits(self, x: f64) -> String {
        let scaled = self.scale(x);
        let size = scaled.abs();
        match self {
            Self::Number => number(x),
            _ if scaled == 0.0 => "0".to_owned(),
            _ if size >= 1e9 => format!("{scaled:.2e}"),
            // What rounding leaves of 100 is 100.
            Self::Percent | Self::Points if (size - 100.0).abs() < 1e-9 => format!("{scaled:.0}"),
            Self::Percent | Self::Points => percent_digits(scaled),
            Self::Usd if size < 1.0 => format!("{scaled:.*}", cent_digits(size)),
            Self::Usd => format!("{scaled:.2}"),
            Self::Milliseconds | Self::Seconds if size >= 100.0 => format!("{scaled:.0}"),
            Self::Milliseconds | Self::Seconds if size >= 10.0 => format!("{scaled:.1}"),
            Self::Milliseconds | Self::Seconds => format!("{scaled:.2}"),
        }
    }

    /// A measured number.
    pub(crate) fn text(self, x: f64) -> String {
        self.with_unit(&self.digits(x))
    }

    /// A measured number beside a threshold: with so many digits that it does not look like the threshold if it is not.
    pub(crate) fn text_beside(self, x: f64, threshold: f64) -> String {
        let threshold = self.scale(threshold);
        let alike = |digits: &str| digits.replace(',', "").parse() == Ok((threshold * 1e9).round() / 1e9);
        let digits = self.digits(x);
        let scaled = self.scale(x);
        if !alike(&digits) || (scaled - threshold).abs() <= 1e-9 * threshold.abs() {
            return self.with_unit(&digits);
        }
        let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let longer = (decimals + 1..=BESIDE_DIGITS)
            .map(|places| group_digits(&format!("{scaled:.places$}")))
            .find(|digits| !alike(digits));
        self.with_unit(&longer.unwrap_or(digits))
    }

    /// A number as it was written: no more digits than it has.
    pub(crate) fn exact(self, x: f64) -> String {
        self.with_unit(&group_digits(&trim_zeros(self.scale(x))))
    }

    /// A number with its sign. What is left over of 0.9 − 0.9 is 0.
    pub(crate) fn signed(self, x: f64) -> String {
        let x = if x.abs() < 1e-12 { 0.0 } else { x };
        let sign = if x > 0.0 { "+" } else { "" };
        format!("{sign}{}", self.text(x))
    }

    /// A change in words: `+3.2 points`.
    pub(crate) fn change(self, x: f64) -> String {
        match self {
            Self::Points | Self::Percent => format!("{} points", self.sign_and_digits(x)),
            _ => self.signed(x),
        }
    }

    /// The size of a change, without its sign: `3.2 points`.
    pub(crate) fn size(self, x: f64) -> String {
        match self {
            Self::Points | Self::Percent if (x.abs() - 0.01).abs() < 1e-12 => "1 point".to_owned(),
            Self::Points | Self::Percent => format!("{} points", trimmed_zero(self.digits(x.abs()))),
            _ => self.text(x.abs()),
        }
    }

    /// The size of a change alone, for a column whose unit stands above it.
    pub(crate) fn bare(self, x: f64) -> String {
        match self {
            Self::Points | Self::Percent => self.digits(x.abs()),
            _ => self.text(x.abs()),
        }
    }

    /// The interval of a change: `[+1.1, +5.3]`. Its unit stands with the change.
    pub(crate) fn changes(self, lower: Option<f64>, upper: Option<f64>) -> String {
        let bound = |bound: Option<f64>| bound.map_or_else(|| "–".to_owned(), |x| self.sign_and_digits(x));
        format!("[{}, {}]", bound(lower), bound(upper))
    }

    fn sign_and_digits(self, x: f64) -> String {
        let x = if x.abs() < 1e-12 { 0.0 } else { x };
        let sign = if x > 0.0 { "+" } else { "" };
        format!("{sign}{}", self.digits(x))
    }

    /// An interval; an end that is open is a dash.
    pub(crate) fn interval(self, lower: Option<f64>, upper: Option<f64>) -> String {
        let bound = |bound: Option<f64>| {
            bound.map_or_else(|| "–".to_owned(), |x| if self == Self::Usd { self.text(x) } else { self.digits(x) })
        };
        let digits = format!("[{}, {}]", bound(lower), bound(upper));
        if self == Self::Usd { digits } else { self.with_unit(&digits) }
    }
}

/// `2` for `2.0`.
fn trimmed_zero(digits: String) -> String {
    digits.strip_suffix(".0").map(str::to_owned).unwrap_or(digits)
}

/// One part in 10⁹ is the least difference that is told.
const BESIDE_DIGITS: usize = 9;

/// One decimal, or as many as keep what is nearly 0 or nearly 100 from looking like it.
fn percent_digits(percent: f64) -> String {
    let tells = |text: &String| text.parse().is_ok_and(|shown: f64| shown != 0.0 && shown != 100.0);
    let told = (1..=NEAR_ONE_DIGITS).map(|digits| format!("{percent:.digits$}")).find(tells);
    told.unwrap_or_else(|| format!("{percent:.NEAR_ONE_DIGITS$}"))
}

/// Decimals for three digits of an amount below a dollar.
fn cent_digits(size: f64) -> usize {
    let leading = -size.log10().floor();
    // At most a millionth of a cent.
    (leading + 2.0).clamp(2.0, 8.0) as usize
}

/// At most nine decimals, and no zeros at the end.
fn trim_zeros(x: f64) -> String {
    let digits = format!("{x:.9}");
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    if digits == "-0" { "0".to_owned() } else { digits.to_owned() }
}

/// A value in a sentence: `96.2 %`, `4.82 s`, `$0.0123`. It differs from a cell of a table only in that a percentage has no
/// `.0` at its end.
pub(crate) fn value_text(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Rate => without_zero(Scale::Percent.text(value)),
        Unit::Milliseconds | Unit::Usd => Scale::of(unit, value).text(value),
        Unit::Tokens => format!("{} tokens", group_digits(&round_to(value, 1))),
        Unit::Ratio | Unit::Plain => group_digits(&significant(value)),
    }
}

/// The same beside a threshold: with so many digits that it does not look like the threshold if it is another number.
pub(crate) fn value_beside(unit: Unit, value: f64, threshold: f64) -> String {
    match unit {
        Unit::Rate => without_zero(Scale::Percent.text_beside(value, threshold)),
        Unit::Milliseconds | Unit::Usd => Scale::of(unit, threshold).text_beside(value, threshold),
        Unit::Tokens => {
            format!("{} tokens", group_digits(&digits_beside(value, threshold, |x| round_to(x, 1))))
        }
        Unit::Ratio | Unit::Plain => group_digits(&digits_beside(value, threshold, significant)),
    }
}

/// A threshold as it was written, or rounded if it was computed.
pub(crate) fn threshold_text(unit: Unit, threshold: f64) -> String {
    const WRITTEN_MAX: usize = 6;
    let exact = match unit {
        Unit::Tokens => format!("{} tokens", group_digits(&trim_zeros(threshold))),
        _ => Scale::of(unit, threshold).exact(threshold),
    };
    let decimals = exact.split_once('.').map_or(0, |(_, rest)| rest.chars().filter(char::is_ascii_digit).count());
    if decimals <= WRITTEN_MAX { exact } else { value_text(unit, threshold) }
}

/// The size of a difference in a sentence: `2 pp`, `0.3 s`.
pub(crate) fn difference_text(unit: Unit, difference: f64) -> String {
    match unit {
        Unit::Rate => without_zero(Scale::Points.text(difference.abs())),
        _ => value_text(unit, difference.abs()),
    }
}

/// `80 %` for `80.0 %`.
fn without_zero(text: String) -> String {
    text.replacen(".0 ", " ", 1)
}

fn digits_beside(value: f64, threshold: f64, text: impl Fn(f64) -> String) -> String {
    let shown = text(value);
    let looks_like = |digits: &str| digits == text(threshold) || digits == round_to(threshold, BESIDE_DIGITS);
    let is_same = (value - threshold).abs() <= 1e-12 * threshold.abs().max(1.0);
    if is_same || !value.is_finite() || !looks_like(&shown) {
        return shown;
    }
    let decimals = shown.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let mut longer = (decimals + 1..=BESIDE_DIGITS).map(|decimals| round_to(value, decimals));
    longer.find(|digits| !looks_like(digits)).unwrap_or(shown)
}

/// With at most so many decimals, and no zeros at their end.
fn round_to(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// With three significant digits after the leading zeros, three decimals at least.
fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return round_to(value, 0);
    }
    let magnitude = value.abs().log10().floor() as i32;
    if magnitude < -6 {
        return format!("{value:.2e}");
    }
    round_to(value, (2 - magnitude).max(3) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_unit() {
        for (unit, x, want) in [
            (Unit::Rate, 0.962, "96.2 %"),
            (Unit::Rate, 1.0, "100 %"),
            (Unit::Rate, 0.9996, "99.96 %"),
            (Unit::Rate, 0.999_999_999_999_999_8, "100 %"),
            (Unit::Rate, 0.0, "0 %"),
            (Unit::Rate, 0.0004, "0.04 %"),
            (Unit::Rate, 0.9, "90.0 %"),
            (Unit::Milliseconds, 812.4, "812 ms"),
            (Unit::Milliseconds, 7.25, "7.25 ms"),
            (Unit::Milliseconds, 4820.0, "4.82 s"),
            (Unit::Milliseconds, 61_000.0, "61.0 s"),
            (Unit::Usd, 0.0123, "$0.0123"),
            (Unit::Usd, 12.3, "$12.30"),
            (Unit::Usd, -0.5, "-$0.500"),
            (Unit::Usd, 0.0, "$0"),
            (Unit::Tokens, 3082.4, "3,082"),
            (Unit::Usd, 1234.5, "$1,234.50"),
            (Unit::Plain, 0.8123, "0.812"),
        ] {
            assert_eq!(Scale::of(unit, x).text(x), want);
        }
    }

    #[test]
    fn a_p_value_looks_like_no_other() {
        assert_eq!([0.0, 0.0499, 0.05, 1.0].map(|p| p_digits(p, 0.05)), ["< 0.0001", "0.0499", "0.050", "1"]);
        assert_eq!(factors(Some(0.5), Some(1.02)), "[0.500, 1.020]");
    }

    #[test]
    fn thresholds_have_no_more_digits_than_they_were_written_with() {
        for (scale, x, want) in [
            (Scale::Percent, 0.9, "90 %"),
            (Scale::Percent, 0.07, "7 %"),
            (Scale::Percent, 0.995, "99.5 %"),
            (Scale::Seconds, 5000.0, "5 s"),
            (Scale::Milliseconds, 800.0, "800 ms"),
            (Scale::Number, 0.85, "0.85"),
        ] {
            assert_eq!(scale.exact(x), want);
        }
    }

    #[test]
    fn what_missed_a_threshold_does_not_look_like_it() {
        for (scale, x, threshold, want) in [
            (Scale::Percent, 0.8996, 0.9, "89.96 %"),
            (Scale::Percent, 0.9, 0.9, "90.0 %"),
            (Scale::Percent, 0.887, 0.9, "88.7 %"),
            (Scale::Seconds, 5000.4, 5000.0, "5.0004 s"),
            (Scale::Number, 0.849_96, 0.85, "0.84996"),
            (Scale::Number, 5000.4, 5000.0, "5,000.4"),
        ] {
            assert_eq!(scale.text_beside(x, threshold), want);
        }
    }

    #[test]
    fn a_value_in_a_sentence_is_that_of_the_table() {
        for (unit, x, want) in [
            (Unit::Rate, 0.962, "96.2 %"),
            (Unit::Rate, 0.8, "80 %"),
            (Unit::Rate, 1.0, "100 %"),
            (Unit::Rate, 0.99996, "99.996 %"),
            (Unit::Milliseconds, 5000.0, "5.00 s"),
            (Unit::Milliseconds, 250.0, "250 ms"),
            (Unit::Usd, 0.0123, "$0.0123"),
            (Unit::Tokens, 812.44, "812.4 tokens"),
            (Unit::Plain, 0.5493, "0.549"),
            (Unit::Plain, 1.0, "1"),
        ] {
            assert_eq!(value_text(unit, x), want);
        }
        assert_eq!(value_beside(Unit::Milliseconds, 812.0, 5000.0), "0.81 s");
        for (unit, value, threshold, want) in [
            (Unit::Rate, 0.999_894, 0.9999, "99.989 %"),
            (Unit::Rate, 0.999_904, 0.9999, "99.9904 %"),
            (Unit::Rate, 0.849_96, 0.85, "84.996 %"),
            (Unit::Rate, 0.85, 0.85, "85 %"),
            (Unit::Rate, 0.1 + 0.2, 0.3, "30 %"),
            (Unit::Milliseconds, 5000.4, 5000.0, "5.0004 s"),
            (Unit::Plain, 0.849_97, 0.85, "0.84997"),
            (Unit::Plain, 0.7, 0.85, "0.7"),
            (Unit::Usd, 0.050_02, 0.05, "$0.05002"),
        ] {
            assert_eq!(value_beside(unit, value, threshold), want);
        }
        assert_eq!(threshold_text(Unit::Milliseconds, 5000.0), "5 s");
        assert_eq!(threshold_text(Unit::Rate, 1.0 / 3.0), "33.3 %");
        assert_eq!(threshold_text(Unit::Usd, 0.05), "$0.05");
        assert_eq!(difference_text(Unit::Rate, -0.02), "2 pp");
    }

    #[test]
    fn changes_have_a_sign_and_a_unit_once() {
        assert_eq!(Scale::Points.change(0.032), "+3.2 points");
        assert_eq!(Scale::Points.changes(Some(0.011), Some(0.053)), "[+1.1, +5.3]");
        assert_eq!(Scale::Points.changes(Some(-0.05), None), "[-5.0, –]");
        assert_eq!(Scale::Points.change(0.9 - 0.9), "0 points");
        assert_eq!(Scale::Number.change(-0.2333), "-0.233");
        assert_eq!((Scale::Points.size(-0.02), Scale::Points.size(0.01)), ("2 points".into(), "1 point".into()));
        assert_eq!((factor(1.0812), factor(0.9812)), ("× 1.081".into(), "× 0.981".into()));
        assert_eq!(factors(Some(1.02), Some(12.34)), "[1.020, 12.3]");
    }

    #[test]
    fn p_values_do_not_look_like_the_error_that_is_allowed() {
        for (p, want) in [
            (0.0004, "p = 0.0004"),
            (0.00001, "p < 0.0001"),
            (0.035_156, "p = 0.035"),
            (0.0504, "p = 0.0504"),
            (0.05, "p = 0.050"),
            (0.4812, "p = 0.48"),
            (1.0, "p = 1"),
        ] {
            assert_eq!(p_value(p, 0.05), want);
        }
    }

    #[test]
    fn thousands_are_told_apart() {
        for (n, want) in [(0, "0"), (999, "999"), (1537, "1,537"), (1_000_000, "1,000,000")] {
            assert_eq!(count(n), want);
        }
    }

    #[test]
    fn margins_and_intervals_say_what_they_are() {
        assert_eq!(Scale::Points.signed(0.033), "+3.3 pp");
        assert_eq!(Scale::Points.signed(-0.038), "-3.8 pp");
        assert_eq!(Scale::Points.signed(0.1 + 0.2 - 0.3), "0 pp");
        assert_eq!(Scale::Percent.interval(Some(0.804), Some(1.0)), "[80.4, 100] %");
        assert_eq!(Scale::Seconds.interval(Some(1200.0), None), "[1.20, –] s");
        assert_eq!(Scale::Usd.interval(Some(0.01), Some(0.02)), "[$0.0100, $0.0200]");
    }
}
