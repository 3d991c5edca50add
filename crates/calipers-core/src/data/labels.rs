//! From a label to a number.

use crate::{Error, ErrorKind, Value};

/// How a scalar value becomes a float: numbers as they are, `C`/`I`/`P`/`N` as 1, 0, ½ and 0, `yes`/`true` and
/// `no`/`false` in any case as 1 and 0, numeric text as its number, and words for an outcome, such as `pass`, `correct`,
/// `failed` and `wrong`, as 1 and 0.
///
/// Anything else is an error that names the place, unless the label is mapped here:
///
/// ```
/// use calipers_core::{Labels, Value};
///
/// let labels = Labels::default();
/// assert_eq!(labels.to_float(&"C".into()), Some(1.0));
/// assert_eq!(labels.to_float(&"maybe".into()), None);
/// assert_eq!(labels.with("maybe", 0.5).to_float(&"maybe".into()), Some(0.5));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Labels {
    correct: Value,
    partial: Value,
    incorrect: Value,
    noanswer: Value,
    mapped: Vec<(Value, f64)>,
    unknown_is_zero: bool,
}

impl Default for Labels {
    fn default() -> Self {
        Self {
            correct: "C".into(),
            partial: "P".into(),
            incorrect: "I".into(),
            noanswer: "N".into(),
            mapped: Vec::new(),
            unknown_is_zero: false,
        }
    }
}

impl Labels {
    /// The label that counts as 1 instead of `C`.
    #[must_use]
    pub fn correct(mut self, value: impl Into<Value>) -> Self {
        self.correct = value.into();
        self
    }

    /// The label that counts as ½ instead of `P`.
    #[must_use]
    pub fn partial(mut self, value: impl Into<Value>) -> Self {
        self.partial = value.into();
        self
    }

    /// The label that counts as 0 instead of `I`.
    #[must_use]
    pub fn incorrect(mut self, value: impl Into<Value>) -> Self {
        self.incorrect = value.into();
        self
    }

    /// The label that counts as 0 instead of `N`.
    #[must_use]
    pub fn noanswer(mut self, value: impl Into<Value>) -> Self {
        self.noanswer = value.into();
        self
    }

    /// Adds a label.
    #[must_use]
    pub fn with(mut self, value: impl Into<Value>, number: f64) -> Self {
        self.mapped.push((value.into(), number));
        self
    }

    /// The added labels, with their numbers.
    pub fn own_labels(&self) -> impl Iterator<Item = (&Value, f64)> {
        self.mapped.iter().map(|(label, number)| (label, *number))
    }

    /// Counts unknown labels as 0, as Inspect does after a warning in its log.
    #[must_use]
    pub fn unknown_as_zero(mut self) -> Self {
        self.unknown_is_zero = true;
        self
    }

    /// Refuses unknown labels. This is the default.
    #[must_use]
    pub fn unknown_as_error(mut self) -> Self {
        self.unknown_is_zero = false;
        self
    }

    /// True when unknown labels count as 0.
    #[must_use]
    pub fn is_lenient(&self) -> bool {
        self.unknown_is_zero
    }

    /// True when numbers, too, have to be looked up: a label is a number.
    pub(crate) fn map_numbers(&self) -> bool {
        let roles = [&self.correct, &self.partial, &self.incorrect, &self.noanswer];
        roles.into_iter().chain(self.mapped.iter().map(|(label, _)| label)).any(|label| label.as_number().is_some())
    }

    /// The float of a float.
    pub(crate) fn number(&self, x: f64) -> f64 {
        self.to_float(&Value::from(x)).unwrap_or(x)
    }

    /// The float of a value, or `None` when it is neither a number nor a known label.
    ///
    /// The labels are compared before the numeric reading, so a number may be re-mapped too.
    #[must_use]
    pub fn to_float(&self, value: &Value) -> Option<f64> {
        if let Some((_, number)) = self.mapped.iter().find(|(label, _)| label.equals(value)) {
            return Some(*number);
        }
        if value.equals(&self.correct) {
            return Some(1.0);
        }
        if value.equals(&self.partial) {
            return Some(0.5);
        }
        if value.equals(&self.incorrect) || value.equals(&self.noanswer) {
            return Some(0.0);
        }
        let number = match value {
            Value::Text(text) => word(text).or_else(|| number(text)),
            other => other.as_number(),
        };
        // Inspect counts words such as `pass` as unknown, and so as 0.
        let by_outcome = || match value {
            Value::Text(text) if !self.unknown_is_zero => outcome(text).or_else(|| share(text)),
            _ => None,
        };
        number.or_else(by_outcome).or(if self.unknown_is_zero { Some(0.0) } else { None })
    }
}

/// The same error, with the other labels of the column if there are any that one has to know of: those that are not known
/// either, and letters that count something beside letters that do not.
pub(crate) fn name_other_labels(error: Error, dictionary: &[Value], labels: &Labels) -> Error {
    const NAMED_MAX: usize = 8;
    let ErrorKind::UnknownLabel(first @ Value::Text(_)) = error.kind() else { return error };
    let is_letter = |value: &Value| matches!(value, Value::Text(text) if text.chars().count() == 1);
    let unknown = dictionary.iter().filter(|value| matches!(value, Value::Text(_)) && labels.to_float(value).is_none());
    let others = unknown.filter(|value| *value != first);
    let unknown: Vec<Value> = std::iter::once(first).chain(others).take(NAMED_MAX).cloned().collect();
    let are_letters = unknown.iter().all(is_letter);
    let letters = dictionary.iter().filter(|value| are_letters && is_letter(value));
    let letters: Vec<(Value, f64)> =
        letters.filter_map(|value| Some((value.clone(), labels.to_float(value)?))).collect();
    if unknown.len() > 1 || !letters.is_empty() { ErrorKind::UnknownLabels { unknown, letters }.into() } else { error }
}

/// Words for an outcome, and yes and true as spreadsheets in other languages write them.
const SUCCESSES: [&str; 21] = [
    "y",
    "pass",
    "passed",
    "correct",
    "success",
    "succeeded",
    "resolved",
    "solved",
    "✓",
    "✔",
    "✅",
    "☑",
    "✔️",
    "ja",
    "oui",
    "sí",
    "sim",
    "wahr",
    "vrai",
    "verdadero",
    "vero",
];
const FAILURES: [&str; 19] = [
    "n",
    "fail",
    "failed",
    "incorrect",
    "failure",
    "wrong",
    "unresolved",
    "unsolved",
    "✗",
    "✘",
    "❌",
    "✖",
    "✖️",
    "nein",
    "non",
    "não",
    "falsch",
    "faux",
    "falso",
];

/// The words for an outcome that mean one thing.
fn outcome(text: &str) -> Option<f64> {
    let is_among = |words: &[&str]| words.iter().any(|word| text.trim().eq_ignore_ascii_case(word));
    match () {
        () if is_among(&SUCCESSES) => Some(1.0),
        () if is_among(&FAILURES) => Some(0.0),
        () => None,
    }
}

/// A share that is written as a percentage or as a part of a whole: `85%`, `4/5`.
fn share(text: &str) -> Option<f64> {
    let is_plain = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let plain = |text: &str| Some(text.trim()).filter(is_plain)?.parse::<f64>().ok();
    let text = text.trim();
    if let Some(percent) = text.strip_suffix('%') {
        return plain(percent).map(|percent| percent / 100.0);
    }
    let (part, whole) = text.split_once('/')?;
    let (part, whole) = (plain(part)?, plain(whole)?);
    (whole > 0.0 && part <= whole).then_some(part / whole)
}

fn word(text: &str) -> Option<f64> {
    match text {
        _ if text.eq_ignore_ascii_case("yes") || text.eq_ignore_ascii_case("true") => Some(1.0),
        _ if text.eq_ignore_ascii_case("no") || text.eq_ignore_ascii_case("false") => Some(0.0),
        _ => None,
    }
}

/// A finite number in Python's grammar: surrounding space, `_` between digits, `.5`, `5.` and the decimal
/// digits of any script are allowed; `0x10` and `1,000` are not.
#[must_use]
pub fn number(text: &str) -> Option<f64> {
    let mut plain = String::with_capacity(text.len());
    let mut after_digit = false;
    let mut characters = text.trim().chars().peekable();
    while let Some(c) = characters.next() {
        if c == '_' {
            let before_digit = characters.peek().is_some_and(|&next| digit(next).is_some());
            if !(after_digit && before_digit) {
                return None;
            }
            continue;
        }
        let decimal = digit(c);
        after_digit = decimal.is_some();
        if !after_digit && !matches!(c, '.' | 'e' | 'E' | '+' | '-') {
            return None;
        }
        plain.push(decimal.unwrap_or(c));
    }
    plain.parse().ok().filter(|x: &f64| x.is_finite())
}

/// Code points of the digit zero in scripts whose ten digits follow one another (Unicode category Nd).
const ZEROS: [u32; 66] = [
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0,
    0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620,
    0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0,
    0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60,
    0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
];

/// The ASCII digit that a decimal digit of any script stands for.
#[must_use]
pub fn digit(c: char) -> Option<char> {
    if c.is_ascii() {
        return c.is_ascii_digit().then_some(c);
    }
    let zero = ZEROS.iter().rfind(|&&zero| zero <= c as u32)?;
    char::from_digit(c as u32 - zero, 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numeric_text_follows_python() {
        for (text, want) in [
            ("1", Some(1.0)),
            (" 2\n", Some(2.0)),
            ("1_000", Some(1000.0)),
            ("1__0", None),
            ("_1", None),
            ("1_", None),
            (".5", Some(0.5)),
            ("5.", Some(5.0)),
            ("٣", Some(3.0)),
            ("３.５", Some(3.5)),
            ("𝟙𝟠", Some(18.0)),
            ("𑁧", Some(1.0)),
            ("1\u{1f}", None),
            ("0x10", None),
            ("1,000", None),
            ("inf", None),
            ("nan", None),
            ("1e999", None),
            ("", None),
        ] {
            assert_eq!(number(text), want, "{text:?}");
        }
    }
}
