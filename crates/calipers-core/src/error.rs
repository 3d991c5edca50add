//! What went wrong, where, and how to fix it.

use crate::Span;
use crate::{Contradiction, DifferentPart, Excerpt, SampleId, Value, brief};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// An error of input or configuration.
///
/// It prints as three lines: what is wrong, where, and what to do.
///
/// ```
/// use calipers_core::{accuracy, Plan, Samples};
///
/// let mut samples = Samples::new();
/// samples.push("gsm8k/0417").score("judge", "maybe");
/// let error = Plan::new().metrics([accuracy()]).measure(&samples).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "score `maybe` is not a number or a known label\n  \
///        at scorer `judge`, sample `gsm8k/0417`\n  \
///      hint: map it to a number with `Labels::with`, or score it C, I, P or N",
/// );
/// ```
#[derive(Clone, PartialEq)]
pub struct Error(Box<ErrorInner>);

#[derive(Clone, Debug, PartialEq)]
struct ErrorInner {
    kind: ErrorKind,
    place: ErrorPlace,
}

/// The kinds of error, for programs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A score that is neither a number nor a known label.
    UnknownLabel(Value),
    /// Several scores that are neither numbers nor known labels, or one beside letters that are: to choose a number for it,
    /// a user needs to know what the others count.
    UnknownLabels {
        /// Those that are not known, the first of them at the place of the error.
        unknown: Vec<Value>,
        /// Letters that are known, and what they count.
        letters: Vec<(Value, f64)>,
    },
    /// A field that is neither a number nor a known label.
    NotNumeric {
        /// The field.
        field: String,
        /// What it is.
        value: Value,
    },
    /// A score that is infinite.
    NotFinite(f64),
    /// A score outside the range that the metric is defined for.
    OutsideUnit(f64),
    /// Scores of one sample have different shapes: a number in one attempt, a map in another.
    MixedShapes {
        /// The shape of the first.
        first: &'static str,
        /// The shape that differs.
        other: &'static str,
    },
    /// Map scores of one sample have different keys.
    MismatchedKeys {
        /// The keys of the first.
        first: Vec<Arc<str>>,
        /// The keys that differ.
        other: Vec<Arc<str>>,
    },
    /// List scores of one sample have different lengths.
    MismatchedLengths {
        /// The length of the first.
        first: usize,
        /// The length that differs.
        other: usize,
    },
    /// The reducer or metric takes only plain values.
    NotScalar {
        /// The reducer or metric.
        by: String,
        /// What it was given.
        found: &'static str,
    },
    /// A metric for maps was given another value.
    NotMap {
        /// The metric.
        by: String,
        /// What it was given.
        found: &'static str,
    },
    /// A sample has no value for a metadata key.
    MissingMetadata {
        /// What the key is for: `cluster` or `group`.
        purpose: &'static str,
        /// The key.
        key: String,
    },
    /// The attempts of a sample have several values for a metadata key, and a question needs one per sample.
    SeveralValues {
        /// The key.
        key: String,
        /// The value of the first attempt that has one.
        first: Value,
        /// Another attempt's value.
        other: Value,
    },
    /// A metadata value cannot serve as the name of a cluster.
    UnusableCluster {
        /// The key.
        key: String,
        /// The kind of value found.
        found: &'static str,
    },
    /// A score has no value under a key.
    MissingKey {
        /// The key.
        key: String,
        /// True when the key is there with the value null.
        null: bool,
    },
    /// A field that a metric needs, and that no sample has.
    NoField {
        /// The field.
        field: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A scorer without a score in the run.
    NoScorer {
        /// The scorer.
        scorer: String,
        /// The scorers that there are.
        known: Vec<String>,
    },
    /// A group has the name of the aggregate.
    GroupCollision {
        /// The name.
        name: String,
    },
    /// A name that is not registered.
    UnknownName {
        /// `metric` or `reducer`.
        what: &'static str,
        /// The name.
        name: String,
        /// The nearest known name, if one is near.
        nearest: Option<String>,
    },
    /// An argument outside its range.
    Argument {
        /// What the argument is, and what is wrong with it.
        message: String,
        /// What to do.
        hint: String,
    },
    /// Files hold several runs where one is asked for.
    SeveralRuns {
        /// Their names.
        runs: Vec<String>,
    },
    /// Scores lie outside [0, 1], and nothing says from which one on an attempt has passed.
    NoPassThreshold {
        /// The scorer.
        scorer: String,
    },
    /// Files that are looked at together record different reducers of attempts.
    DifferentReducers {
        /// A file for each list of reducers.
        files: Vec<(String, Vec<String>)>,
    },
    /// The same attempt of a sample was given two different scores.
    Conflict {
        /// The value first seen.
        first: Value,
        /// The value that differs.
        other: Value,
    },
    /// Two deliveries of one attempt do not agree.
    Contradiction(Box<Contradiction>),
    /// An error in an expression, or in a file of metrics and reducers.
    Script {
        /// What is wrong.
        message: String,
        /// The place, underlined.
        excerpt: Option<Box<Excerpt>>,
        /// The expression and the bytes of it that are wrong; none where a file is.
        part: Option<(Arc<str>, Range<usize>)>,
        /// What to do.
        hint: Option<String>,
    },
    /// Bytes that should be a state, and are none.
    DamagedState {
        /// What is wrong with them.
        what: &'static str,
    },
    /// A metric whose state stays in the program that made it.
    UnsavedMetric {
        /// The metric.
        metric: String,
    },
    /// An error from a custom metric or reducer.
    Custom(String),
}

/// Where an error happened.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ErrorPlace {
    /// The scorer.
    pub scorer: Option<Arc<str>>,
    /// The sample.
    pub sample: Option<SampleId>,
    /// The attempt.
    pub epoch: Option<u32>,
    /// The metric or reducer.
    pub metric: Option<String>,
}

impl Error {
    /// An error raised by a custom metric or reducer.
    #[must_use]
    pub fn custom(message: impl Into<String>) -> Self {
        ErrorKind::Custom(message.into()).into()
    }

    /// A mistake in an argument, with what to do about it.
    pub fn argument(message: impl Into<String>, hint: impl Into<String>) -> Self {
        ErrorKind::Argument { message: message.into(), hint: hint.into() }.into()
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Where it went wrong.
    #[must_use]
    pub fn place(&self) -> &ErrorPlace {
        &self.0.place
    }

    /// The place in a policy, given the place of the expression that the error is about.
    pub fn place_within(&self, span: &Span) -> Span {
        match self.kind() {
            ErrorKind::Script { part: Some((expression, part)), .. } => span.within(expression, part.clone()),
            _ => span.clone(),
        }
    }

    /// The whole message, before it is shortened.
    fn whole(&self) -> String {
        let mut text = match self.kind() {
            // The excerpt says where.
            ErrorKind::Script { message, excerpt: Some(excerpt), .. } => format!("{message}{excerpt}"),
            kind => kind.to_string(),
        };
        let place = self.0.place.to_string();
        if !place.is_empty() {
            text += &format!("\n  at {place}");
        }
        if let Some(hint) = self.0.kind.hint() {
            text += &format!("\n  hint: {hint}");
        }
        text
    }

    /// At this sample.
    pub fn at_sample(mut self, sample: &SampleId) -> Self {
        self.0.place.sample.get_or_insert_with(|| sample.clone());
        self
    }

    /// At this attempt.
    pub fn at_epoch(mut self, epoch: u32) -> Self {
        self.0.place.epoch.get_or_insert(epoch);
        self
    }

    pub(crate) fn at_scorer(mut self, scorer: &Arc<str>) -> Self {
        self.0.place.scorer.get_or_insert_with(|| scorer.clone());
        self
    }

    /// Names the metric where the error itself does not.
    pub(crate) fn at_metric_if_unnamed(self, metric: &str) -> Self {
        match self.kind() {
            ErrorKind::Custom(_) | ErrorKind::Script { .. } | ErrorKind::NoField { .. } | ErrorKind::OutsideUnit(_) => {
                self.at_metric(metric)
            }
            _ => self,
        }
    }

    pub(crate) fn at_metric(mut self, metric: &str) -> Self {
        self.0.place.metric.get_or_insert_with(|| metric.to_owned());
        self
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self(Box::new(ErrorInner { kind, place: ErrorPlace::default() }))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&brief(&self.whole()))
    }
}

impl std::error::Error for Error {}

impl fmt::Display for ErrorPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.metric.as_ref().map(|metric| format!("`{metric}`")),
            self.scorer.as_ref().map(|scorer| format!("scorer `{scorer}`")),
            self.sample.as_ref().map(|sample| format!("sample `{sample}`")),
            self.epoch.map(|epoch| format!("epoch {epoch}")),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownLabel(Value::Null) => f.write_str("a score is null"),
            Self::UnknownLabel(value @ (Value::List(_) | Value::Map(_))) => {
                write!(f, "score `{value}` is a {}, not a number", value.kind())
            }
            Self::UnknownLabel(value) => write!(f, "score `{value}` is not a number or a known label"),
            Self::UnknownLabels { unknown, .. } => match &unknown[..] {
                [one] => write!(f, "score `{one}` is not a number or a known label"),
                several => {
                    let names: Vec<String> = several.iter().map(|label| format!("`{label}`")).collect();
                    write!(f, "scores {} are not numbers or known labels", names.join(", "))
                }
            },
            Self::NotNumeric { field, value } => write!(f, "field `{field}` is `{value}`, which is not a number"),
            Self::NotFinite(x) => write!(f, "score `{x}` is infinite"),
            Self::OutsideUnit(x) => write!(f, "score {x} is outside [0, 1]"),
            Self::MixedShapes { first, other } => {
                write!(f, "attempts have scores of different shapes, a {first} and a {other}")
            }
            Self::MismatchedKeys { first, other } => {
                write!(f, "attempts have scores with different keys, {} and {}", names(first), names(other))
            }
            Self::MismatchedLengths { first, other } => {
                write!(f, "attempts have lists of different lengths, {first} and {other}")
            }
            Self::NotScalar { by, found } => write!(f, "`{by}` takes plain values, not a {found}"),
            Self::NotMap { by, found } => write!(f, "`{by}` takes scores that are maps, not a {found}"),
            Self::MissingMetadata { purpose, key } => write!(f, "no {purpose}: the metadata has no `{key}`"),
            Self::SeveralValues { key, first, other } => {
                write!(f, "its attempts have different values of `{key}`, `{first}` and `{other}`")
            }
            Self::UnusableCluster { key, found } => write!(f, "`{key}` is a {found}, which cannot name a cluster"),
            Self::MissingKey { key, null: false } => write!(f, "the score has no key `{key}`"),
            Self::MissingKey { key, null: true } => write!(f, "the score's key `{key}` is null"),
            Self::NoField { field, .. } => write!(f, "no sample has the field `{field}`"),
            Self::NoScorer { scorer, .. } => write!(f, "no score is by the scorer `{scorer}`"),
            Self::GroupCollision { name } => write!(f, "a group is named `{name}`, like the figure for all"),
            Self::UnknownName { what, name, .. } => write!(f, "there is no {what} `{name}`"),
            Self::Script { message, excerpt: Some(excerpt), part: None, .. } => {
                write!(f, "{message} ({})", excerpt.place())
            }
            Self::Argument { message, .. } | Self::Script { message, .. } | Self::Custom(message) => {
                f.write_str(message)
            }
            Self::DamagedState { what } => write!(f, "the state is damaged: {what}"),
            Self::UnsavedMetric { metric } => {
                write!(
                    f,
                    "the state of `{metric}` cannot be saved: only the program that defines it knows what it holds"
                )
            }
            Self::SeveralRuns { runs } => {
                let listed: Vec<&str> = runs.iter().take(8).map(String::as_str).collect();
                write!(f, "there are {} runs ({}), and this is about one", runs.len(), listed.join(", "))
            }
            Self::NoPassThreshold { scorer } => {
                write!(f, "scores of `{scorer}` lie outside [0, 1], and no `pass_threshold` says which of them pass")
            }
            Self::DifferentReducers { files } => {
                let each = files.iter().map(|(file, reducers)| format!("{file} by `{}`", reducers.join("`, `")));
                write!(f, "attempts were reduced differently: {}", each.collect::<Vec<_>>().join(", "))
            }
            Self::Conflict { first, other } => {
                write!(f, "one attempt has two different scores, `{first}` and `{other}`")
            }
            Self::Contradiction(found) => Self::fmt_contradiction(found, f),
        }
    }
}

impl ErrorKind {
    /// Two deliveries that do not agree, in words.
    fn fmt_contradiction(found: &Contradiction, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Contradiction { sample, epoch, part, first, other } = found;
        write!(f, "sample `{sample}`, epoch {epoch} has ")?;
        match part {
            DifferentPart::Score(scorer) => write!(f, "two different scores by `{scorer}`")?,
            DifferentPart::Reason(scorer) => write!(f, "two different reasons for no score by `{scorer}`")?,
            DifferentPart::Answer(scorer) => write!(f, "two different answers by `{scorer}`")?,
            DifferentPart::Explanation(scorer) => write!(f, "two different explanations of the score by `{scorer}`")?,
            DifferentPart::ScoreMetadata { scorer, key } => {
                write!(f, "two different values of `{key}` in the score by `{scorer}`")?;
            }
            DifferentPart::Value(name) => write!(f, "two different values of `{name}`")?,
            DifferentPart::Error => f.write_str("two different errors")?,
            DifferentPart::ErrorOrResult => {
                return write!(f, "an error and a result: `{}` ({}) and a result ({})", first.0, first.1, other.1);
            }
        }
        write!(f, ": `{}` ({}) and `{}` ({})", first.0, first.1, other.0, other.1)
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::UnknownLabel(Value::Null) => "mark it as unscored, or give it a value".into(),
            Self::UnknownLabel(Value::Map(_)) => "name metrics for its keys, or pick one key with `aggregate`".into(),
            Self::UnknownLabel(Value::List(_)) => "use a metric for lists, or score a single number".into(),
            Self::NotNumeric { .. } => "record a number or a label there, or name another field".into(),
            Self::UnknownLabel(_) => "map it to a number with `Labels::with`, or score it C, I, P or N".into(),
            Self::UnknownLabels { letters, .. } => {
                let counted: String =
                    letters.iter().map(|(letter, number)| format!("; `{letter}` counts as {number}")).collect();
                format!("map each to a number with `Labels::with`{counted}")
            }
            Self::NotFinite(_) => "mark the attempt as unscored, or clip the score where it is made".into(),
            Self::OutsideUnit(_) => "use `ci()` for scores that are not shares".into(),
            Self::MixedShapes { .. } => "let the scorer return one shape, or mark the attempt as unscored".into(),
            Self::MismatchedKeys { .. } | Self::MismatchedLengths { .. } => {
                "score the same things in every attempt, or mark the attempt as unscored".into()
            }
            Self::NotScalar { .. } => "apply it to one key: `aggregate(\"key\", …)` or a map of metrics".into(),
            Self::NotMap { .. } => "apply the metric itself, without a key".into(),
            Self::MissingMetadata { key, .. } => format!("give every sample a `{key}`, or drop the option"),
            Self::SeveralValues { key, .. } => {
                format!("make each `{key}` a run, keep one of them, or give all attempts of a sample the same")
            }
            Self::UnusableCluster { .. } => "use text, a number or a bool".into(),
            Self::MissingKey { .. } => {
                "pick the key with `aggregate`, which can skip such samples or count them as 0".into()
            }
            Self::NoField { known, .. } if known.is_empty() => "the run has no fields".into(),
            Self::NoField { known, .. } => format!("the run has {}", known.join(", ")),
            Self::NoScorer { known, .. } if known.is_empty() => "the run has no scores".into(),
            Self::NoScorer { known, .. } => format!("the scorers are {}", known.join(", ")),
            Self::GroupCollision { .. } => "choose another `all_label`, or turn the aggregate off".into(),
            Self::UnknownName { what: "reducer", nearest, .. } => {
                let guess = nearest.as_ref().map(|nearest| format!("did you mean `{nearest}`? ")).unwrap_or_default();
                format!("{guess}the reducers are {}", crate::reduce::SPELLINGS)
            }
            Self::UnknownName { nearest: Some(nearest), .. } => format!("did you mean `{nearest}`?"),
            Self::UnknownName { .. } => return None,
            Self::Argument { hint, .. } => hint.clone(),
            Self::DamagedState { .. } => "fold its files again".into(),
            Self::UnsavedMetric { .. } => "measure all samples in one place, or define `save` and `load` for it".into(),
            Self::SeveralRuns { .. } => "choose one by its name".into(),
            Self::Script { hint, .. } => return hint.clone(),
            Self::NoPassThreshold { .. } => {
                "give the score that an attempt needs to pass, as in `pass_threshold=4`".into()
            }
            Self::DifferentReducers { .. } => "choose one reducer for all of them, such as `mean`".into(),
            Self::Conflict { .. } | Self::Contradiction(_) => {
                "remove one of the two records, or number the attempts with `epoch`".into()
            }
            Self::Custom(_) => return None,
        })
    }
}

fn names(keys: &[Arc<str>]) -> String {
    let quoted: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    if quoted.is_empty() { "none".into() } else { quoted.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_where_and_what_to_do() {
        let keys = |keys: &[&str]| keys.iter().map(|key| Arc::from(*key)).collect::<Vec<Arc<str>>>();
        for (kind, what, hint) in [
            (ErrorKind::UnknownLabel(Value::Null), "a score is null", Some("mark it as unscored, or give it a value")),
            (
                ErrorKind::NotFinite(f64::INFINITY),
                "score `inf` is infinite",
                Some("mark the attempt as unscored, or clip"),
            ),
            (ErrorKind::OutsideUnit(1.5), "score 1.5 is outside [0, 1]", Some("use `ci()`")),
            (
                ErrorKind::MismatchedKeys { first: keys(&["a"]), other: keys(&[]) },
                "attempts have scores with different keys, `a` and none",
                Some("score the same things in every attempt"),
            ),
            (
                ErrorKind::NoField { field: "cost".into(), known: vec!["latency_ms".into()] },
                "no sample has the field `cost`",
                Some("the run has latency_ms"),
            ),
            (
                ErrorKind::NoScorer { scorer: "x".into(), known: vec![] },
                "no score is by the scorer `x`",
                Some("the run has no scores"),
            ),
            (
                ErrorKind::UnknownName { what: "metric", name: "acuracy".into(), nearest: Some("accuracy".into()) },
                "there is no metric `acuracy`",
                Some("did you mean `accuracy`?"),
            ),
            (
                ErrorKind::UnknownName { what: "metric", name: "x".into(), nearest: None },
                "there is no metric `x`",
                None,
            ),
            (ErrorKind::Custom("broken".into()), "broken", None),
        ] {
            assert_eq!(kind.to_string(), what);
            let found = kind.hint();
            assert_eq!(found.is_some(), hint.is_some(), "{what}");
            assert!(found.unwrap_or_default().starts_with(hint.unwrap_or_default()), "{what}");
        }
    }

    #[test]
    fn the_first_place_that_is_given_stays() {
        let error = Error::custom("broken").at_sample(&"a".into()).at_sample(&"b".into()).at_epoch(2).at_epoch(3);
        let error = error.at_scorer(&"judge".into()).at_metric_if_unnamed("accuracy");
        assert_eq!(error.to_string(), "broken\n  at `accuracy`, scorer `judge`, sample `a`, epoch 2");
        let named = Error::from(ErrorKind::UnknownLabel("x".into())).at_metric_if_unnamed("accuracy");
        assert_eq!(named.place().metric, None, "the kind says enough");
    }

    #[test]
    fn a_long_literal_is_shortened_and_a_hint_is_not_lost() {
        let error = Error::from(ErrorKind::NoField { field: "x".repeat(100_000), known: vec!["latency_ms".into()] });
        let text = error.to_string();
        assert!(text.len() < 1000, "{}", text.len());
        assert!(text.ends_with("\n  hint: the run has latency_ms"), "{text}");
    }
}
