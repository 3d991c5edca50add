//! Higher thresholds, where a run shows that they hold.
//!
//! A threshold is moved to the one-sided bound that the run puts on its metric, less some headroom, and rounded to a number
//! that a person would write. What the run does not show is not asked for: the estimate itself is met by an unchanged
//! agent only half the time.

use crate::judge::{ThresholdEvidence, threshold_evidence};
use crate::policy::{Comparison, GateSpec, Level, Mistake, Policy, Rule, Span, Threshold, WrittenUnit, normalized};
use crate::{Baseline, Case, Fault, Unbounded};
use calipers_core::{Undefined, Unit};
use std::collections::BTreeSet;
use std::ops::Range;

/// How thresholds may move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RaiseOptions {
    /// How far below the bound a threshold stays: for a rate as a share of all, for everything else as a share of the
    /// bound. From 0 to less than 1.
    pub headroom: f64,
    /// True when a threshold that the run does not show may be lowered to what it does show.
    pub allow_lower: bool,
}

/// A threshold of a policy, and what a run says about raising it.
#[derive(Clone, Debug)]
pub struct Raise {
    /// The metric as reports name it.
    pub metric: String,
    /// What happens if the threshold is missed.
    pub level: Level,
    /// The threshold as it is understood.
    pub rule: Rule,
    /// The unit of the metric.
    pub unit: Unit,
    /// Where the threshold is written.
    pub span: Span,
    /// The estimate, if it is defined.
    pub estimate: Option<f64>,
    /// How many samples or attempts it rests on.
    pub n: u64,
    /// How many of them have no value.
    pub missing: u64,
    /// The one-sided bound on the side that the threshold guards.
    pub bound: Option<f64>,
    /// The confidence of the bound.
    pub confidence: f64,
    /// The new threshold, or why it stays as it is.
    pub change: Result<NewThreshold, KeptReason>,
}

/// A new threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct NewThreshold {
    /// The number in the unit of the metric.
    pub value: f64,
    /// What stands in the place of the old threshold, written as that was.
    pub written: String,
    /// True when less is asked for than before.
    pub is_lower: bool,
}

/// Why a threshold stays as it is. Numbers are in the unit of the metric.
#[derive(Clone, Debug, PartialEq)]
pub enum KeptReason {
    /// Scenarios of the suite are missing.
    SuiteIncomplete {
        /// How many.
        missing: usize,
    },
    /// It asks for all of them already.
    AsksForAll,
    /// It allows none already.
    AllowsNone,
    /// It asks for one exact value.
    ExactValue,
    /// The metric has no value.
    Undefined(Undefined),
    /// The metric has no bound.
    Unbounded(Unbounded),
    /// The run does not show more than the threshold asks for.
    NotShown {
        /// The bound that it does show.
        bound: f64,
    },
    /// The bound, less the headroom, leaves no room for a higher threshold.
    NoRoom {
        /// The bound.
        bound: f64,
    },
    /// The metric is worse than in the baseline.
    WorseThanBaseline {
        /// Its value now.
        now: f64,
        /// Its value in the baseline.
        then: f64,
    },
    /// A formula divides by the threshold, so another threshold would change the formula.
    Budget {
        /// The threshold that the run shows.
        value: f64,
        /// The name in the formula.
        name: String,
        /// The metric that the budget belongs to.
        metric: String,
    },
    /// A higher threshold is shown, but has to be written by hand.
    ByHand {
        /// The threshold that the run shows.
        value: f64,
        /// Why it cannot be written here.
        obstacle: WritingObstacle,
    },
}

/// Why a threshold cannot be replaced in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WritingObstacle {
    /// One number in the file stands for several thresholds.
    SeveralThresholds,
    /// The notation of the threshold cannot express the new number.
    Notation,
}

/// The confidence of bounds where the policy names none.
const CONFIDENCE: f64 = 0.95;
/// Numbers this close are equal but for rounding.
const TIE: f64 = 1e-9;

/// What a run says about raising each threshold of a policy: those of `thresholds`, `pass_criteria` and `risk`.
///
/// With a baseline, a threshold is raised only if its metric is not worse than it was there. With a suite, all of it has to
/// be in the run: a part of it may be the easy part.
pub fn raise(case: &Case<'_>, options: &RaiseOptions) -> Result<Vec<Raise>, Fault> {
    if !(0.0..1.0).contains(&options.headroom) {
        return Err(Mistake::new(format!("a headroom of {} is not between 0 and 1", options.headroom))
            .hint("write a share, such as 0.01")
            .into());
    }
    let confidence = case.policy.confidence.unwrap_or(CONFIDENCE);
    let thresholds = threshold_evidence(case, confidence)?;
    let is_shared = |span: &Span| thresholds.iter().filter(|other| other.spec.threshold.span == *span).count() > 1;
    let baseline = case.baseline.map(|(baseline, _)| baseline);
    let absent = absent(case);
    let one = |one: &ThresholdEvidence| {
        let change = match absent {
            0 => one.change(options, baseline),
            missing => Err(KeptReason::SuiteIncomplete { missing }),
        };
        let change = change.and_then(|change| match budget_of(case.policy, &one.spec) {
            Some(name) => Err(KeptReason::Budget { value: change.value, name, metric: one.spec.metric.value.clone() }),
            None => Ok(change),
        });
        one.propose(confidence, change, is_shared(&one.spec.threshold.span))
    };
    Ok(thresholds.iter().map(one).collect())
}

/// The name in a formula that a threshold is the budget of: another threshold would make it another number.
fn budget_of(policy: &Policy, spec: &GateSpec) -> Option<String> {
    let is_first = policy.gates.iter().find(|gate| gate.metric.value == spec.metric.value)?.threshold == spec.threshold;
    let has_own = policy.normalize.iter().any(|(name, _)| name.value == spec.metric.value);
    if !is_first || has_own {
        return None;
    }
    let formulas = policy.composite.iter().map(|composite| &composite.formula).chain(&policy.pass);
    let names = formulas.flat_map(|formula| formula.value.expression.names());
    names.into_iter().find(|name| normalized(name).is_some_and(|metric| metric == spec.metric.value)).map(str::to_owned)
}

/// How many scenarios of the suite are not in the run.
fn absent(case: &Case<'_>) -> usize {
    let Some(suite) = case.suite else { return 0 };
    let present: BTreeSet<String> = (0..case.samples.len()).map(|at| case.samples.id(at as u32).to_string()).collect();
    suite.iter().filter(|id| !present.contains(*id)).count()
}

impl ThresholdEvidence {
    fn propose(&self, confidence: f64, change: Result<NewThreshold, KeptReason>, is_shared: bool) -> Raise {
        let change = change.and_then(|change| {
            if is_shared {
                Err(KeptReason::ByHand { value: change.value, obstacle: WritingObstacle::SeveralThresholds })
            } else {
                Ok(change)
            }
        });
        Raise {
            metric: self.name.clone(),
            level: self.spec.level,
            rule: self.rule,
            unit: self.unit,
            span: self.spec.threshold.span.clone(),
            estimate: self.figure.value.as_ref().ok().copied(),
            n: self.figure.n,
            missing: self.figure.missing,
            bound: self.bound.as_ref().ok().copied(),
            confidence,
            change,
        }
    }

    fn change(&self, options: &RaiseOptions, baseline: Option<&Baseline>) -> Result<NewThreshold, KeptReason> {
        if self.is_counted {
            return Err(if self.is_up() { KeptReason::AsksForAll } else { KeptReason::AllowsNone });
        }
        if self.rule.comparison == Comparison::Equal {
            return Err(KeptReason::ExactValue);
        }
        let estimate = *self.figure.value.as_ref().map_err(|why| KeptReason::Undefined(why.clone()))?;
        let bound = *self.bound.as_ref().map_err(|why| KeptReason::Unbounded(why.clone()))?;
        let number = self.number(bound, options.headroom);
        let value = self.value_of(number);
        let is_lower = !self.is_stricter(bound, self.rule.value) && bound != self.rule.value;
        if is_lower && !options.allow_lower {
            return Err(KeptReason::NotShown { bound });
        }
        if !is_lower && !self.is_stricter(value, self.rule.value) {
            return Err(KeptReason::NoRoom { bound });
        }
        if let Some(then) = baseline.and_then(|baseline| baseline.metrics.get(&self.name)).filter(|_| !is_lower)
            && self.is_stricter(then.value, Baseline::settle(estimate))
        {
            return Err(KeptReason::WorseThanBaseline { now: estimate, then: then.value });
        }
        let written =
            self.notation(number, value).ok_or(KeptReason::ByHand { value, obstacle: WritingObstacle::Notation })?;
        Ok(NewThreshold { value, written, is_lower })
    }

    fn is_up(&self) -> bool {
        matches!(self.rule.comparison, Comparison::AtLeast | Comparison::Above | Comparison::Equal)
    }

    /// True when `a` asks for more than `b`.
    fn is_stricter(&self, a: f64, b: f64) -> bool {
        let by = if self.is_up() { a - b } else { b - a };
        by > TIE * b.abs().max(TIE)
    }

    /// The number to write, in the unit that the threshold is written in: whole per cents of a rate, two digits of
    /// everything else, rounded to the easier side.
    fn number(&self, bound: f64, headroom: f64) -> f64 {
        let sign = if self.is_up() { -1.0 } else { 1.0 };
        let easier = |x: f64| if self.is_up() { (x + TIE).floor() } else { (x - TIE).ceil() };
        if self.unit == Unit::Rate {
            let percent = easier((bound + sign * headroom).clamp(0.0, 1.0) * 100.0);
            return if self.is_percent() { percent } else { percent / 100.0 };
        }
        let wanted = (bound + sign * headroom * bound.abs()) / self.scale();
        if wanted == 0.0 {
            return 0.0;
        }
        let last_digit = wanted.abs().log10().floor() as i32 - 1;
        let digits = easier(wanted / 10f64.powi(last_digit));
        // Through text: 42 × 10⁻¹ is not 4.2 in binary.
        format!("{digits}e{last_digit}").parse().unwrap_or(wanted)
    }

    /// How much one of the written unit is in the metric's own.
    fn scale(&self) -> f64 {
        let number = self.spec.threshold.number;
        if number == 0.0 { 1.0 } else { self.rule.value / number }
    }

    fn is_percent(&self) -> bool {
        self.spec.threshold.unit == Some(WrittenUnit::Percent) || self.spec.threshold.number > 1.0
    }

    fn value_of(&self, number: f64) -> f64 {
        if self.unit == Unit::Rate && self.is_percent() { number / 100.0 } else { number * self.scale() }
    }

    /// The threshold with another number, everything else as it was written; none if that would mean something else.
    fn notation(&self, number: f64, value: f64) -> Option<String> {
        let old = &self.spec.threshold;
        let raw = old.span.raw();
        let place = number_in(raw, old.number)?;
        let new = in_the_form_of(&raw[place.clone()], number);
        let meant = Threshold {
            number: new.replace(['_', ' ', '\u{a0}', '\u{202f}', '\u{2009}'], "").parse().ok()?,
            ..old.clone()
        };
        let meant = meant.amount_in(self.unit, &self.name).ok()?;
        // A bare 1 is all of a rate, not one per cent.
        ((meant - value).abs() <= TIE * value.abs().max(1.0))
            .then(|| format!("{}{new}{}", &raw[..place.start], &raw[place.end..]))
    }
}

/// Where a number stands in a threshold as written.
fn number_in(raw: &str, number: f64) -> Option<Range<usize>> {
    // An alias of YAML only names a number.
    if raw.starts_with('*') {
        return None;
    }
    let mut before = ' ';
    for (start, first) in raw.char_indices() {
        let begins = first.is_ascii_digit() && !(before.is_alphanumeric() || matches!(before, '.' | '_' | '-'));
        if begins {
            for with_spaces in [true, false] {
                let end = start + length_of_number(&raw[start..], with_spaces);
                let digits: String = raw[start..end].chars().filter(|c| !is_separator(*c)).collect();
                if digits.parse() == Ok(number) {
                    return Some(start..end);
                }
            }
        }
        before = first;
    }
    None
}

fn is_separator(c: char) -> bool {
    c == '_' || c.is_whitespace()
}

/// The bytes at the beginning of a text that belong to a number; groups of digits may have spaces between them.
fn length_of_number(text: &str, with_spaces: bool) -> usize {
    let mut end = 0;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied().unwrap_or(' ');
        let goes_on = match c {
            '0'..='9' => true,
            '.' | '_' => next.is_ascii_digit(),
            'e' | 'E' => next.is_ascii_digit() || matches!(next, '+' | '-'),
            '+' | '-' => text[..end].ends_with(['e', 'E']),
            c => with_spaces && c.is_whitespace() && next.is_ascii_digit(),
        };
        if !goes_on {
            break;
        }
        end += c.len_utf8();
    }
    end
}

/// A number with as many decimals as another has at least, and its digits grouped as there.
fn in_the_form_of(old: &str, number: f64) -> String {
    let plain = old.split(['e', 'E']).next().unwrap_or(old);
    let decimals = plain.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let text = number.to_string();
    let needed = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let text = format!("{number:.0$}", decimals.max(needed));
    let Some(separator) = old.chars().find(|c| is_separator(*c)) else { return text };
    let (whole, decimals) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            grouped.push(separator);
        }
        grouped.push(digit);
    }
    grouped + decimals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_the_form_of_those_before_them() {
        for (raw, old, new, want) in [
            ("90", 90.0, 93.0, "93"),
            ("0.9", 0.9, 0.93, "0.93"),
            ("0.900", 0.9, 0.93, "0.930"),
            ("90.0", 90.0, 93.0, "93.0"),
            ("\"≥ 80%\"", 80.0, 85.0, "\"≥ 85%\""),
            (r#""\u2265 80 %""#, 80.0, 85.0, r#""\u2265 85 %""#),
            ("'< 5000ms'", 5000.0, 4200.0, "'< 4200ms'"),
            ("5_000", 5000.0, 4200.0, "4_200"),
            ("\"< 15 000 ms\"", 15000.0, 9800.0, "\"< 9 800 ms\""),
            ("\"at most 5 s\"", 5.0, 4.2, "\"at most 4.2 s\""),
            ("\"$0.05\"", 0.05, 0.043, "\"$0.043\""),
            ("5e3", 5000.0, 4200.0, "4200"),
        ] {
            let place = number_in(raw, old).expect(raw);
            let written =
                format!("{}{}{}", &raw[..place.start], in_the_form_of(&raw[place.clone()], new), &raw[place.end..]);
            assert_eq!(written, want, "{raw}");
        }
    }

    #[test]
    fn what_is_not_that_number_is_left_alone() {
        for (raw, number) in [("*at90", 90.0), ("-0.5", -0.5), ("0x5A", 90.0), ("v90", 90.0), ("190", 90.0)] {
            assert_eq!(number_in(raw, number), None, "{raw}");
        }
    }
}
