//! Thresholds as they are written, and what they mean for a metric.

use super::document::{Data, Item};
use super::{Mistake, Span};
use calipers_core::quoted;
use calipers_core::{About, Unit};
use calipers_stats::threshold_test::Direction;
use std::fmt;

/// A threshold as it is written: `90`, `"≥ 80%"`, `"< 5000ms"`, `"100%"`.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// The comparison, if one is written; the metric's direction decides otherwise.
    pub comparison: Option<Comparison>,
    /// The number.
    pub number: f64,
    /// The unit, if one is written.
    pub unit: Option<WrittenUnit>,
    /// The place.
    pub span: Span,
}

/// A unit that a threshold may be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenUnit {
    /// `%`
    Percent,
    /// `ms`
    Milliseconds,
    /// `s`
    Seconds,
    /// `min`
    Minutes,
    /// `$` or `usd`
    Usd,
    /// `tokens`
    Tokens,
}

/// How a value is compared with a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// ≥
    AtLeast,
    /// >
    Above,
    /// ≤
    AtMost,
    /// <
    Below,
    /// =
    Equal,
}

/// A threshold as it is understood: a comparison with a number in the metric's own unit (a rate is a fraction, a latency
/// has milliseconds).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The comparison.
    pub comparison: Comparison,
    /// The number.
    pub value: f64,
}

/// How comparisons are written, longer ones before those that they begin with.
const COMPARISONS: [(&str, Comparison); 22] = [
    ("no less than", Comparison::AtLeast),
    ("at least", Comparison::AtLeast),
    (">=", Comparison::AtLeast),
    ("=>", Comparison::AtLeast),
    ("≥", Comparison::AtLeast),
    ("⩾", Comparison::AtLeast),
    ("no more than", Comparison::AtMost),
    ("at most", Comparison::AtMost),
    ("up to", Comparison::AtMost),
    ("<=", Comparison::AtMost),
    ("=<", Comparison::AtMost),
    ("≤", Comparison::AtMost),
    ("⩽", Comparison::AtMost),
    ("more than", Comparison::Above),
    ("above", Comparison::Above),
    (">", Comparison::Above),
    ("less than", Comparison::Below),
    ("below", Comparison::Below),
    ("<", Comparison::Below),
    ("exactly", Comparison::Equal),
    ("==", Comparison::Equal),
    ("=", Comparison::Equal),
];

/// How units are written.
const UNITS: [(&str, WrittenUnit); 16] = [
    ("%", WrittenUnit::Percent),
    ("percent", WrittenUnit::Percent),
    ("per cent", WrittenUnit::Percent),
    ("ms", WrittenUnit::Milliseconds),
    ("milliseconds", WrittenUnit::Milliseconds),
    ("s", WrittenUnit::Seconds),
    ("sec", WrittenUnit::Seconds),
    ("seconds", WrittenUnit::Seconds),
    ("min", WrittenUnit::Minutes),
    ("minutes", WrittenUnit::Minutes),
    ("minute", WrittenUnit::Minutes),
    ("$", WrittenUnit::Usd),
    ("usd", WrittenUnit::Usd),
    ("dollars", WrittenUnit::Usd),
    ("tokens", WrittenUnit::Tokens),
    ("token", WrittenUnit::Tokens),
];

const EXAMPLES: &str =
    "write a number, or a string such as `\"≥ 80%\"`, `\"< 5000ms\"`, `\"at most 5 s\"`, `\"$0.05\"`";

impl Comparison {
    /// The sign.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::AtLeast => "≥",
            Self::Above => ">",
            Self::AtMost => "≤",
            Self::Below => "<",
            Self::Equal => "=",
        }
    }

    /// The same with its sides exchanged.
    #[must_use]
    pub fn turned(self) -> Self {
        match self {
            Self::AtLeast => Self::AtMost,
            Self::Above => Self::Below,
            Self::AtMost => Self::AtLeast,
            Self::Below => Self::Above,
            Self::Equal => Self::Equal,
        }
    }

    /// What holds exactly when it does not; of what is equal, itself.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::AtLeast => Self::Below,
            Self::Above => Self::AtMost,
            Self::AtMost => Self::Above,
            Self::Below => Self::AtLeast,
            Self::Equal => Self::Equal,
        }
    }

    /// True when `value` is on the right side of `threshold`.
    #[must_use]
    pub fn holds(self, value: f64, threshold: f64) -> bool {
        match self {
            Self::AtLeast => value >= threshold,
            Self::Above => value > threshold,
            Self::AtMost => value <= threshold,
            Self::Below => value < threshold,
            Self::Equal => (value - threshold).abs() <= 1e-9,
        }
    }
}

impl WrittenUnit {
    /// What is measured in it, in words.
    fn measures(self) -> &'static str {
        match self {
            Self::Percent => "a share",
            Self::Milliseconds | Self::Seconds | Self::Minutes => "a duration",
            Self::Usd => "an amount of money",
            Self::Tokens => "a number of tokens",
        }
    }

    /// How many milliseconds one of it is.
    fn milliseconds(self) -> Option<f64> {
        match self {
            Self::Milliseconds => Some(1.0),
            Self::Seconds => Some(1000.0),
            Self::Minutes => Some(60_000.0),
            Self::Percent | Self::Usd | Self::Tokens => None,
        }
    }
}

impl Threshold {
    /// A threshold from a number or a text of a document.
    pub fn parse(item: &Item) -> Result<Self, Mistake> {
        match &item.value {
            Data::Number(number) => Ok(Self { comparison: None, number: *number, unit: None, span: item.span.clone() }),
            Data::Text(text) => Self::read(text, &item.span),
            _ => Err(Mistake::new(format!("expected a threshold, but this is {}", item.kind()))
                .at(&item.span)
                .hint(EXAMPLES)),
        }
    }

    /// A threshold from a text.
    pub fn read(text: &str, span: &Span) -> Result<Self, Mistake> {
        let spaced = plain(text);
        let mut rest = spaced.trim();
        let comparison = COMPARISONS.iter().find(|(written, _)| rest.starts_with(written));
        if let Some((written, _)) = comparison {
            rest = rest[written.len()..].trim_start();
        }
        let understood = amount(rest).ok_or_else(|| not_understood(text, rest, span))?;
        let (number, unit) = understood;
        Ok(Self { comparison: comparison.map(|(_, comparison)| *comparison), number, unit, span: span.clone() })
    }

    /// What it means for a metric: a written comparison wins, and otherwise the metric's better side decides.
    pub fn rule(&self, about: &About) -> Result<Rule, Mistake> {
        self.rule_in(about.unit, about.direction, about.name)
    }

    /// The same for what has this unit, this better side and this name.
    pub fn rule_in(&self, unit: Unit, direction: Option<Direction>, name: &str) -> Result<Rule, Mistake> {
        let value = self.amount_in(unit, name)?;
        let comparison = match (self.comparison, direction) {
            (Some(comparison), _) => comparison,
            (None, Some(Direction::AtLeast)) => Comparison::AtLeast,
            (None, Some(Direction::AtMost)) => Comparison::AtMost,
            (None, None) => {
                let message =
                    format!("`{name}` is neither better when high nor when low, and no comparison is written");
                let number = self.span.raw().trim_matches(['"', '\'']);
                return Err(Mistake::new(message)
                    .at(&self.span)
                    .hint(format!("write `\"≥ {number}\"` or `\"≤ {number}\"`")));
            }
        };
        Ok(Rule { comparison, value })
    }

    /// Its number in the unit of a metric, whatever the comparison: for margins and budgets too.
    pub fn amount(&self, about: &About) -> Result<f64, Mistake> {
        self.amount_in(about.unit, about.name)
    }

    /// Its number as a share between 0 and 1, of what is called `name`. At least that much is the only thing it can mean,
    /// so another comparison is a mistake.
    pub fn share(&self, name: &str) -> Result<f64, Mistake> {
        match self.comparison {
            None | Some(Comparison::AtLeast) => self.amount_in(Unit::Rate, name),
            Some(other) => {
                Err(Mistake::new(format!("`{name}` is a least value, and `{}` asks for something else", other.sign()))
                    .at(&self.span)
                    .hint("leave the comparison out"))
            }
        }
    }

    /// Its number in a unit, of what is called `name`.
    pub fn amount_in(&self, unit: Unit, name: &str) -> Result<f64, Mistake> {
        let value = match (unit, self.unit) {
            (Unit::Rate, None) => return self.rate(name),
            (Unit::Rate, Some(WrittenUnit::Percent)) if (0.0..=100.0).contains(&self.number) => self.number / 100.0,
            (Unit::Rate, Some(WrittenUnit::Percent)) => return self.rate(name),
            (Unit::Plain, Some(WrittenUnit::Percent)) => self.number / 100.0,
            (Unit::Milliseconds, Some(written)) => match written.milliseconds() {
                Some(milliseconds) => self.number * milliseconds,
                None => return Err(self.other_unit(unit, name)),
            },
            (Unit::Usd, Some(WrittenUnit::Usd)) | (Unit::Tokens, Some(WrittenUnit::Tokens)) | (_, None) => self.number,
            (_, Some(_)) => return Err(self.other_unit(unit, name)),
        };
        let can_be_negative = matches!(unit, Unit::Plain | Unit::Ratio);
        if value < 0.0 && !can_be_negative {
            return Err(Mistake::new(format!("`{name}` is never negative"))
                .at(&self.span)
                .hint("remove the minus sign"));
        }
        Ok(value)
    }

    /// A bare number for a rate is a fraction up to 1, and a percentage above.
    fn rate(&self, name: &str) -> Result<f64, Mistake> {
        let number = self.number;
        if self.unit.is_none() && (0.0..=1.0).contains(&number) {
            return Ok(number);
        }
        if self.unit.is_none() && (1.0..=100.0).contains(&number) {
            return Ok(number / 100.0);
        }
        let sign = if self.unit.is_some() { " %" } else { "" };
        Err(Mistake::new(format!("`{name}` is a rate between 0 % and 100 %, and {number}{sign} is not"))
            .at(&self.span)
            .hint("write a fraction such as 0.95, or a percentage such as `\"95%\"`"))
    }

    fn other_unit(&self, unit: Unit, name: &str) -> Mistake {
        let written = self.unit.map_or("a number", WrittenUnit::measures);
        let (is, example) = match unit {
            Unit::Rate => ("a rate between 0 % and 100 %", "`\"95%\"`"),
            Unit::Milliseconds => ("a duration", "`\"5000ms\"` or `\"5s\"`"),
            Unit::Usd => ("an amount of money", "`\"$0.05\"`"),
            Unit::Tokens => ("a number of tokens", "`\"2000 tokens\"`"),
            Unit::Ratio | Unit::Plain => ("a plain number", "`0.5`"),
        };
        Mistake::new(format!("`{name}` is {is}, and this was understood as {written}"))
            .at(&self.span)
            .hint(format!("write it as {example}"))
    }
}

/// A rule in the notation of policies, as it was understood: `safety_rate ≥ 100 %`, `latency_p95 < 5000 ms`.
///
/// This is notation, not prose: what follows the name is a threshold that [`Threshold::read`] reads back as the same rule, with
/// nine digits after the point. A test reads all of them back. So it stays beside the parser, and is not in `calipers-render`
/// with the sentences.
#[must_use]
pub fn rule_text(metric: &str, rule: &Rule, unit: Unit) -> String {
    let number = |value: f64| {
        // 0.07 × 100 is 7.000000000000001 in binary, which is not what the policy says.
        let rounded = format!("{value:.9}").parse().unwrap_or(value);
        if rounded == 0.0 { value } else { rounded }
    };
    let value = match unit {
        Unit::Rate => format!("{} %", number(rule.value * 100.0)),
        Unit::Milliseconds => format!("{} ms", number(rule.value)),
        Unit::Usd => format!("${}", number(rule.value)),
        Unit::Tokens => format!("{} tokens", number(rule.value)),
        Unit::Ratio | Unit::Plain => number(rule.value).to_string(),
    };
    format!("{metric} {} {value}", rule.comparison.sign())
}

/// A rule with the name and the unit of the number that it is about. It displays in the notation of policies.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricRule {
    /// The name of the number: a metric, `pass_rate[category]`, or a formula.
    pub name: String,
    /// The rule.
    pub rule: Rule,
    /// The unit of the number.
    pub unit: Unit,
}

impl MetricRule {
    /// The threshold alone: `≥ 100 %`.
    #[must_use]
    pub fn threshold_text(&self) -> String {
        rule_text("", &self.rule, self.unit).trim_start().to_owned()
    }
}

impl fmt::Display for MetricRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&rule_text(&self.name, &self.rule, self.unit))
    }
}

/// The text in lower case with plain spaces, one at a time: no-break and thin spaces come with text that was copied.
fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || c == '\u{200b}' || c == '\u{feff}').collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    words.join(" ").to_lowercase().replace('−', "-")
}

/// A number with its unit, if one is written.
fn amount(text: &str) -> Option<(f64, Option<WrittenUnit>)> {
    if let Some(dollars) = text.strip_prefix('$') {
        return Some((number(dollars.trim_start())?, Some(WrittenUnit::Usd)));
    }
    if let Some(number) = number(text) {
        return Some((number, None));
    }
    let mut units: Vec<_> =
        UNITS.iter().filter_map(|(written, unit)| Some((text.strip_suffix(written)?, *unit))).collect();
    // `ms` ends with `s`: the unit that leaves the least is meant.
    units.sort_by_key(|(rest, _)| rest.len());
    let (rest, unit) = units.first()?;
    Some((number(rest.trim_end())?, Some(*unit)))
}

/// A finite number; `5_000` and `5 000` are 5000.
fn number(text: &str) -> Option<f64> {
    let begins = text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let is_grouped = |separator: char| {
        let (whole, _) = text.split_once('.').unwrap_or((text, ""));
        let mut groups = whole.trim_start_matches('-').split(separator);
        groups.next().is_some_and(|first| (1..=3).contains(&first.len())) && groups.all(|group| group.len() == 3)
    };
    if !begins || (text.contains(' ') && !is_grouped(' ')) {
        return None;
    }
    let digits: String = text.chars().filter(|c| !matches!(c, ' ' | '_')).collect();
    digits.parse().ok().filter(|number: &f64| number.is_finite())
}

fn not_understood(text: &str, rest: &str, span: &Span) -> Mistake {
    let mistake = Mistake::new(format!("{} is not understood as a threshold", quoted(text))).at(span);
    if rest.contains(',') {
        return mistake.hint("write numbers with a point and without commas: `5000`, `0.95`");
    }
    let unit = rest.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '_' | '-' | ' '));
    if unit.len() < rest.len() && !unit.is_empty() && unit.chars().all(char::is_alphabetic) {
        return mistake.hint(format!("there is no unit `{unit}`; there are %, ms, s, min, $ (or usd) and tokens"));
    }
    mistake.hint(EXAMPLES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::SourceText;
    use std::sync::Arc;

    const ABOUT: About = About {
        name: "accuracy",
        summary: "",
        usage: "",
        tells: "",
        misleads: "",
        formula: "",
        interval: "",
        example: "",
        unit: Unit::Rate,
        range: "",
        direction: Some(Direction::AtLeast),
        typical_threshold: None,
        use_case: "",
        family: calipers_core::Family::Suite,
        parameters: &[],
        positional: &[],
        inspect: None,
        role: None,
    };
    const LATENCY: About =
        About { name: "latency_p95", unit: Unit::Milliseconds, direction: Some(Direction::AtMost), ..ABOUT };

    fn span(text: &str) -> Span {
        Span { text: Arc::new(SourceText { name: "policy.json".into(), text: text.into() }), range: 0..text.len() }
    }

    fn read(text: &str) -> Result<Threshold, Mistake> {
        Threshold::read(text, &span(text))
    }

    #[track_caller]
    fn check(text: &str, about: &About, want: &str) {
        let item = match text.parse() {
            Ok(number) => Item { value: Data::Number(number), span: span(text) },
            Err(_) => Item { value: Data::Text(text.into()), span: span(text) },
        };
        let rule = Threshold::parse(&item).and_then(|threshold| threshold.rule(about)).expect("a threshold");
        assert_eq!(rule_text(about.name, &rule, about.unit), want, "{text}");
    }

    #[test]
    fn a_rate_is_understood_as_people_write_it() {
        for text in [
            "≥ 85%",
            ">= 85%",
            "=>85 %",
            "at least 85 percent",
            "85",
            "0.85",
            "85%",
            "≥\u{a0}85\u{2009}%",
            "≥ 0.85",
            "At Least 85%",
        ] {
            check(text, &ABOUT, "accuracy ≥ 85 %");
        }
        for (text, want) in [
            ("100", "≥ 100 %"),
            ("1", "≥ 100 %"),
            ("100%", "≥ 100 %"),
            ("0", "≥ 0 %"),
            ("0.5%", "≥ 0.5 %"),
            ("1%", "≥ 1 %"),
            ("1.5", "≥ 1.5 %"),
            ("0.07", "≥ 7 %"),
            ("> 0.9", "> 90 %"),
            ("above 90", "> 90 %"),
            ("at most 90%", "≤ 90 %"),
            ("no more than 90%", "≤ 90 %"),
            ("<= 0.1", "≤ 10 %"),
            ("= 1.0", "= 100 %"),
            ("== 100%", "= 100 %"),
        ] {
            check(text, &ABOUT, &format!("accuracy {want}"));
        }
    }

    #[test]
    fn a_latency_is_in_milliseconds_and_lower_is_better() {
        for (text, want) in [
            ("5000", "≤ 5000 ms"),
            ("< 5000ms", "< 5000 ms"),
            ("5s", "≤ 5000 ms"),
            ("5_000 ms", "≤ 5000 ms"),
            ("5 000 ms", "≤ 5000 ms"),
            ("0.5 min", "≤ 30000 ms"),
            ("below 10 seconds", "< 10000 ms"),
            ("1e3", "≤ 1000 ms"),
        ] {
            check(text, &LATENCY, &format!("latency_p95 {want}"));
        }
    }

    #[test]
    fn other_units_are_for_their_metrics() {
        let cost = About { name: "cost", unit: Unit::Usd, direction: Some(Direction::AtMost), ..ABOUT };
        for text in ["$0.05", "0.05 usd", "≤ $0.05", "0.05$", "0.05"] {
            check(text, &cost, "cost ≤ $0.05");
        }
        let tokens = About { name: "tokens", unit: Unit::Tokens, direction: Some(Direction::AtMost), ..ABOUT };
        check("2_000 tokens", &tokens, "tokens ≤ 2000 tokens");
        let mean = About { name: "mean", unit: Unit::Plain, ..ABOUT };
        check("80%", &mean, "mean ≥ 0.8");
        check("-1.5", &mean, "mean ≥ -1.5");
        check("≥ −1.5", &mean, "mean ≥ -1.5");
    }

    #[track_caller]
    fn check_round_trip(rule: &Rule, unit: Unit) {
        let text = rule_text("metric", rule, unit);
        let written = text.strip_prefix("metric ").expect("the name comes first");
        // No direction: the comparison is what is written.
        let read = read(written).and_then(|threshold| threshold.rule_in(unit, None, "metric"));
        assert_eq!(read.as_ref(), Ok(rule), "{text}");
    }

    #[test]
    fn a_rule_reads_back_as_it_was() {
        use Comparison::{Above, AtLeast, AtMost, Below, Equal};
        let amounts = [0.0, 1.0, 7.0, 0.07, 0.1 + 0.2, 1.5, 5000.0, 123_456_789.123, 1e-12, 1e15, 1e21, 1e300];
        for comparison in [AtLeast, Above, AtMost, Below, Equal] {
            for unit in [Unit::Milliseconds, Unit::Usd, Unit::Tokens, Unit::Ratio, Unit::Plain] {
                for value in amounts {
                    // To nine digits after the point, which is what is written.
                    let value = if value < 1e-9 { value } else { format!("{value:.9}").parse().expect("a number") };
                    check_round_trip(&Rule { comparison, value }, unit);
                }
            }
            for value in [-1.5, -0.001, -5000.0] {
                check_round_trip(&Rule { comparison, value }, Unit::Plain);
                check_round_trip(&Rule { comparison, value }, Unit::Ratio);
            }
            // Every hundredth of a percent.
            for hundredths in 0..=10_000 {
                check_round_trip(&Rule { comparison, value: f64::from(hundredths) / 100.0 / 100.0 }, Unit::Rate);
            }
        }
        // A fraction is written as a percentage, and returns within the last bit.
        for thousandths in 0..=1000 {
            let rule = Rule { comparison: AtLeast, value: f64::from(thousandths) / 1000.0 };
            let text = rule_text("", &rule, Unit::Rate);
            let again = read(text.trim()).and_then(|threshold| threshold.share("metric")).expect("a share");
            assert!((again - rule.value).abs() <= f64::EPSILON * rule.value, "{text}: {again}");
        }
    }

    #[track_caller]
    fn refused(text: &str, about: &About, message: &str, hint: &str) {
        let mistake = read(text).and_then(|threshold| threshold.rule(about)).expect_err("a mistake");
        assert_eq!(mistake.message, message);
        assert!(mistake.hint.as_deref().is_some_and(|said| said.contains(hint)), "{mistake}");
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_what_was_understood() {
        refused(
            "< 5000ms",
            &ABOUT,
            "`accuracy` is a rate between 0 % and 100 %, and this was understood as a duration",
            "95%",
        );
        refused("$5", &LATENCY, "`latency_p95` is a duration, and this was understood as an amount of money", "5s");
        refused("150", &ABOUT, "`accuracy` is a rate between 0 % and 100 %, and 150 is not", "0.95");
        refused("120%", &ABOUT, "`accuracy` is a rate between 0 % and 100 %, and 120 % is not", "0.95");
        refused("-0.1", &ABOUT, "`accuracy` is a rate between 0 % and 100 %, and -0.1 is not", "0.95");
        refused("-5s", &LATENCY, "`latency_p95` is never negative", "minus");
        refused("≥ 8O%", &ABOUT, "`≥ 8O%` is not understood as a threshold", "≥ 80%");
        refused("0,95", &ABOUT, "`0,95` is not understood as a threshold", "without commas");
        refused("5 hours", &LATENCY, "`5 hours` is not understood as a threshold", "there is no unit `hours`");
        refused("inf", &ABOUT, "`inf` is not understood as a threshold", "≥ 80%");
        refused("", &ABOUT, "`` is not understood as a threshold", "≥ 80%");
        let none = About { direction: None, name: "spread", unit: Unit::Plain, ..ABOUT };
        refused(
            "3",
            &none,
            "`spread` is neither better when high nor when low, and no comparison is written",
            "\"≥ 3\"",
        );
    }

    #[test]
    fn a_share_is_a_least_value() {
        assert_eq!(read("60%").and_then(|threshold| threshold.share("min_pass_rate")), Ok(0.6));
        assert_eq!(read("≥ 60").and_then(|threshold| threshold.share("min_pass_rate")), Ok(0.6));
        let mistake = read("< 60%").and_then(|threshold| threshold.share("min_pass_rate")).expect_err("a mistake");
        assert_eq!(mistake.message, "`min_pass_rate` is a least value, and `<` asks for something else");
    }
}
