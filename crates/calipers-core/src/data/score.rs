//! A score, and what may stand in its place.

use crate::{Error, ErrorKind, Labels, Metadata, SampleId, Value};
use std::sync::Arc;

/// The longest text of a score that [`Outcome::shorten`] keeps: a letter or a line, not a conversation.
const SHORT: usize = 256;

/// A value with what the scorer said about it.
///
/// ```
/// use calipers_core::Score;
///
/// let score = Score::new("C").answer("B").explanation("matches the key");
/// assert_eq!(score.as_float()?, 1.0);
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// The value; [`Value::Missing`] when the attempt was not scored.
    pub value: Value,
    /// The answer that was scored.
    pub answer: Option<Arc<str>>,
    /// Why it was scored so.
    pub explanation: Option<Arc<str>>,
    /// Anything else that the scorer recorded.
    pub metadata: Option<Arc<Metadata>>,
}

impl Score {
    /// A score with this value.
    #[must_use]
    pub fn new(value: impl Into<Value>) -> Self {
        Self { value: value.into(), answer: None, explanation: None, metadata: None }
    }

    /// A score that has no value.
    #[must_use]
    pub fn unscored() -> Self {
        Self::new(Value::Missing)
    }

    /// With the answer that was scored.
    #[must_use]
    pub fn answer(mut self, answer: impl Into<Arc<str>>) -> Self {
        self.answer = Some(answer.into());
        self
    }

    /// With the reason for the score.
    #[must_use]
    pub fn explanation(mut self, explanation: impl Into<Arc<str>>) -> Self {
        self.explanation = Some(explanation.into());
        self
    }

    /// With anything else that the scorer recorded.
    #[must_use]
    pub fn metadata(mut self, metadata: Metadata) -> Self {
        self.metadata = Some(Arc::new(metadata));
        self
    }

    /// The value as a float under the usual labels (see [`Labels`]).
    pub fn as_float(&self) -> Result<f64, Error> {
        Labels::default().to_float(&self.value).ok_or_else(|| ErrorKind::UnknownLabel(self.value.clone()).into())
    }

    /// The value as text, as it prints.
    #[must_use]
    pub fn as_str(&self) -> String {
        self.value.to_string()
    }

    /// The value as true or false: its float is not zero.
    pub fn as_bool(&self) -> Result<bool, Error> {
        Ok(self.as_float()? != 0.0)
    }

    /// The values of a list.
    pub fn as_list(&self) -> Result<&[Value], Error> {
        match &self.value {
            Value::List(items) => Ok(items),
            other => Err(Error::custom(format!("score `{other}` is a {}, not a list", other.kind()))),
        }
    }

    /// The entries of a map.
    pub fn as_map(&self) -> Result<&[(Arc<str>, Value)], Error> {
        match &self.value {
            Value::Map(entries) => Ok(entries),
            other => Err(ErrorKind::NotMap { by: "as_map".into(), found: other.kind() }.into()),
        }
    }

    fn shorten(&mut self) {
        let is_short = |text: &Arc<str>| text.len() <= SHORT;
        self.answer = self.answer.take().filter(is_short);
        self.explanation = self.explanation.take().filter(is_short);
        let is_small = |value: &Value| match value {
            Value::Text(text) => is_short(text),
            value => value.is_scalar(),
        };
        if let Some(metadata) = self.metadata.take() {
            let small = metadata.iter().filter(|(_, value)| is_small(value));
            let small = Metadata::new(small.map(|(key, value)| (key.clone(), value.clone())));
            self.metadata = (small != Metadata::default()).then(|| Arc::new(small));
        }
    }

    pub(crate) fn has_extras(&self) -> bool {
        self.answer.is_some() || self.explanation.is_some() || self.metadata.is_some()
    }
}

impl<V: Into<Value>> From<V> for Score {
    fn from(value: V) -> Self {
        Self::new(value)
    }
}

/// What a scorer made of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// There is a score.
    Scored(Score),
    /// The scorer could not decide: a refusal, an unreadable grade.
    Unscored {
        /// Why.
        reason: Arc<str>,
        /// What the scorer recorded nevertheless.
        score: Option<Box<Score>>,
    },
}

impl Outcome {
    /// The reason that a sample has no score when a reducer finds too few scored attempts.
    pub(crate) fn too_few_attempts(reducer: &str) -> Arc<str> {
        format!("too few scored attempts for {reducer}").into()
    }

    /// Not scored, and why.
    #[must_use]
    pub fn unscored(reason: impl Into<Arc<str>>) -> Self {
        Self::Unscored { reason: reason.into(), score: None }
    }

    /// Drops what takes memory and no built-in metric uses: long answers and explanations, and metadata other than numbers
    /// and short texts.
    ///
    /// ```
    /// use calipers_core::{Outcome, Score};
    ///
    /// let mut outcome = Outcome::from(Score::new("C").answer("B").explanation("because ".repeat(1000)));
    /// outcome.shorten();
    /// assert_eq!(outcome, Outcome::from(Score::new("C").answer("B")));
    /// ```
    pub fn shorten(&mut self) {
        match self {
            Self::Scored(score) => score.shorten(),
            Self::Unscored { score: Some(score), .. } => score.shorten(),
            Self::Unscored { score: None, .. } => {}
        }
    }
}

impl<S: Into<Score>> From<S> for Outcome {
    /// A score whose value is missing is an outcome without a score.
    fn from(score: S) -> Self {
        let score = score.into();
        if score.value.is_missing() {
            let reason = score.metadata.as_ref().and_then(|m| m.get("unscored_reason")).map(Value::to_string);
            return Self::Unscored {
                reason: reason.map_or_else(|| "no value".into(), Into::into),
                score: score.has_extras().then(|| Box::new(score)),
            };
        }
        Self::Scored(score)
    }
}

/// A score with the sample it belongs to: what a custom metric sees.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleScore {
    /// The score, reduced over attempts unless the metric asked for all of them.
    pub score: Score,
    /// The sample.
    pub sample_id: SampleId,
    /// The sample's metadata.
    pub sample_metadata: Arc<Metadata>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_value_is_an_outcome_without_a_score() {
        let reason = Metadata::new([("unscored_reason", "refused")]);
        let refused = Score { metadata: Some(Arc::new(reason)), ..Score::unscored() };
        for (score, want) in [(Score::unscored(), "no value"), (refused, "refused")] {
            let Outcome::Unscored { reason, .. } = Outcome::from(score) else { panic!("there is no value") };
            assert_eq!(&*reason, want);
        }
        assert_eq!(Outcome::from(0.0), Outcome::Scored(Score::new(0.0)));
    }

    #[test]
    fn values_are_read_as_what_they_are_asked_for() {
        for (value, float, text, is_true) in [
            (Value::from("C"), 1.0, "C", true),
            (Value::from("0"), 0.0, "0", false),
            (Value::Bool(true), 1.0, "True", true),
        ] {
            let score = Score::new(value);
            assert_eq!((score.as_float().ok(), score.as_str()), (Some(float), text.to_owned()));
            assert_eq!(score.as_bool().ok(), Some(is_true));
        }
        assert!(Score::new("maybe").as_float().is_err());
        assert!(Score::new("C").as_list().is_err() && Score::new("C").as_map().is_err());
    }
}
