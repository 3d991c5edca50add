//! Values in their unit, as text.

use crate::Unit;

impl Unit {
    /// A value for a sentence: `96.2 %`, `5000 ms`, `$0.012`. All of a share is `100 %`, nearly all is not.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Rate if value == 1.0 => "100 %".into(),
            // 0.9999 × 10⁴ is 9998.999… in binary.
            Self::Rate if value < 1.0 && value > 0.9995 => {
                format!("{} %", trimmed((value * 1e4 + 1e-9).floor().min(9999.0) / 100.0, 2))
            }
            Self::Rate => format!("{} %", trimmed(value * 100.0, 1)),
            Self::Milliseconds if value.abs() >= 10.0 => format!("{value:.0} ms"),
            Self::Milliseconds => format!("{} ms", trimmed(value, 1)),
            Self::Usd => format!("${}", significant(value)),
            Self::Tokens => format!("{} tokens", trimmed(value, 1)),
            Self::Ratio | Self::Plain => significant(value),
        }
    }
}

impl Unit {
    /// The same beside a threshold: with so many digits that it does not look like the threshold if it is another number.
    ///
    /// ```
    /// use calipers_core::Unit;
    ///
    /// assert_eq!(Unit::Rate.show_beside(0.84996, 0.85), "84.996 %");
    /// assert_eq!(Unit::Rate.show_beside(0.85, 0.85), "85 %");
    /// ```
    #[must_use]
    pub fn show_beside(self, value: f64, threshold: f64) -> String {
        let shown = self.show(value);
        let is_same = (value - threshold).abs() <= 1e-12 * threshold.abs().max(1.0);
        if is_same || !value.is_finite() || !self.looks_like(&shown, threshold) {
            return shown;
        }
        let decimals =
            shown.split_once('.').map_or(0, |(_, rest)| rest.chars().take_while(char::is_ascii_digit).count());
        let mut longer = (decimals + 1..=DECIMALS_MAX).map(|decimals| self.with_decimals(value, decimals));
        longer.find(|text| !self.looks_like(text, threshold)).unwrap_or(shown)
    }

    /// True when a shown number is that of the threshold, with however many digits.
    fn looks_like(self, shown: &str, threshold: f64) -> bool {
        *shown == self.show(threshold) || *shown == self.with_decimals(threshold, DECIMALS_MAX)
    }

    fn with_decimals(self, value: f64, decimals: usize) -> String {
        match self {
            Self::Rate => format!("{} %", trimmed(value * 100.0, decimals)),
            Self::Milliseconds => format!("{} ms", trimmed(value, decimals)),
            Self::Usd => format!("${}", trimmed(value, decimals)),
            Self::Tokens => format!("{} tokens", trimmed(value, decimals)),
            Self::Ratio | Self::Plain => trimmed(value, decimals),
        }
    }
}

/// Beyond so many decimals two numbers are the same to people.
const DECIMALS_MAX: usize = 9;

/// With at most so many decimals, and no zeros at their end.
fn trimmed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// With three significant digits after the leading zeros, three decimals at least.
fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return trimmed(value, 0);
    }
    let magnitude = value.abs().log10().floor() as i32;
    if magnitude < -6 {
        return format!("{value:.2e}");
    }
    trimmed(value, (2 - magnitude).max(3) as usize)
}
