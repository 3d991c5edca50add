//! An attempt with everything that happened in it: what a runner returns and a log keeps.

use crate::{CACHED_ANSWERS, Input, Message, Metadata, ModelOutput, Outcome, SampleId, Samples, Target, Usage, Value};
use std::sync::Arc;

/// The bound that ended an attempt early.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitReached {
    /// What was bounded: `time`, `token`, `cost` or `message`.
    pub kind: &'static str,
    /// The bound.
    pub limit: f64,
}

/// An attempt with everything that happened in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Transcript {
    /// The sample.
    pub id: SampleId,
    /// Which attempt of it, from 1.
    pub epoch: u32,
    /// What was asked.
    pub input: Input,
    /// The answers to choose from, in the order in which they were shown.
    pub choices: Vec<Arc<str>>,
    /// The right answers.
    pub target: Target,
    /// Facts about the sample.
    pub metadata: Metadata,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The final answer; an attempt that failed before it has none.
    pub output: Option<ModelOutput>,
    /// The outcome of each scorer.
    pub scores: Vec<(Arc<str>, Outcome)>,
    /// Measurements by the names of native records: `latency_ms`, `tokens_used`, `cost_usd`, behaviours.
    pub fields: Vec<(Arc<str>, Value)>,
    /// The usage of each model.
    pub usage: Vec<(Arc<str>, Usage)>,
    /// When it began and ended, in milliseconds after 1970.
    pub started_ms: i64,
    /// See `started_ms`.
    pub completed_ms: i64,
    /// Seconds from beginning to end, without waiting for the rate limit or for a retry.
    pub working_s: f64,
    /// Why it did not run to its end, if it did not.
    pub error: Option<Arc<str>>,
    /// What went wrong in earlier tries of the whole attempt.
    pub error_retries: Vec<Arc<str>>,
    /// The bound that ended it, if one did.
    pub limit: Option<LimitReached>,
}

impl Transcript {
    /// All measurements: the fields, and those that follow from the clock, the usage and the limit where no field has them.
    ///
    /// A log of the attempt reads as the same measurements.
    #[must_use]
    pub fn measurements(&self) -> Vec<(Arc<str>, Value)> {
        let mut measurements = self.fields.clone();
        let mut add = |name: &str, value: Option<Value>| {
            if let Some(value) = value.filter(|value| !value.is_missing())
                && !self.fields.iter().any(|(known, _)| **known == *name)
            {
                measurements.push((name.into(), value));
            }
        };
        // An answer from a cache takes no time, so there is nothing to measure.
        let is_cached = self.fields.iter().any(|(name, _)| **name == *CACHED_ANSWERS);
        let latency = self.completed_ms.checked_sub(self.started_ms).filter(|_| !is_cached).map(|ms| ms as f64);
        let finite = |number: f64| Some(number).filter(|number| number.is_finite()).map(Value::from);
        let sum = |numbers: &mut dyn Iterator<Item = f64>| numbers.reduce(|sum, number| sum + number);
        add("latency_ms", latency.map(Value::from));
        add("working_time_ms", Some(self.working_s * 1000.0).filter(|_| !is_cached).and_then(finite));
        add("tokens_used", sum(&mut self.usage.iter().map(|(_, usage)| usage.total_tokens as f64)).map(Value::from));
        add("cost_usd", sum(&mut self.usage.iter().filter_map(|(_, usage)| usage.cost_usd)).and_then(finite));
        add("limit", self.limit.as_ref().map(|limit| limit.kind.into()));
        measurements
    }

    /// Adds the attempt to a run: its scores, measurements and metadata, not what was said.
    pub fn add_to(&self, samples: &mut Samples) {
        let mut attempt = samples.push_epoch(self.id.clone(), self.epoch);
        for (key, value) in self.metadata.iter() {
            attempt = attempt.metadata(key.clone(), value.clone());
        }
        for (name, value) in self.measurements() {
            attempt = attempt.field(name, value);
        }
        for (scorer, outcome) in &self.scores {
            attempt = attempt.score(scorer.clone(), outcome.clone());
        }
        if let Some(error) = &self.error {
            attempt.error(error.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transcript() -> Transcript {
        let usage = |tokens: u64, cost_usd: Option<f64>| Usage { total_tokens: tokens, cost_usd, ..Usage::default() };
        Transcript {
            id: "a".into(),
            epoch: 2,
            input: Input::Text("q".into()),
            choices: vec![],
            target: Target::default(),
            metadata: Metadata::new([("category", "x")]),
            messages: vec![],
            output: None,
            scores: vec![("judge".into(), Outcome::from(1.0))],
            fields: vec![("latency_ms".into(), Value::Float(5.0))],
            usage: vec![("m".into(), usage(10, Some(0.5))), ("n".into(), usage(5, None))],
            started_ms: 1000,
            completed_ms: 3000,
            working_s: 1.5,
            error: None,
            error_retries: vec![],
            limit: Some(LimitReached { kind: "token", limit: 15.0 }),
        }
    }

    #[test]
    fn measurements_follow_from_clock_and_usage_unless_a_field_has_them() {
        let measurements = transcript().measurements();
        for (name, want) in [
            ("latency_ms", Value::Float(5.0)),
            ("working_time_ms", Value::Float(1500.0)),
            ("tokens_used", Value::Float(15.0)),
            ("cost_usd", Value::Float(0.5)),
            ("limit", Value::from("token")),
        ] {
            let found: Vec<&Value> =
                measurements.iter().filter(|(known, _)| **known == *name).map(|(_, x)| x).collect();
            assert_eq!(found, [&want], "{name}");
        }
        let silent = Transcript { usage: vec![], working_s: f64::NAN, limit: None, ..transcript() };
        assert_eq!(silent.measurements().len(), 1, "nothing is known but the latency");
    }

    #[test]
    fn an_attempt_is_added_with_its_epoch_scores_and_error() {
        let mut samples = Samples::new();
        transcript().add_to(&mut samples);
        Transcript { epoch: 1, error: Some("timeout".into()), scores: vec![], ..transcript() }.add_to(&mut samples);
        let records: Vec<_> = samples.records().collect();
        assert_eq!(records.iter().map(|record| record.epoch).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((records[0].error.as_deref(), records[1].scores.len()), (Some("timeout"), 1));
        assert_eq!(records[1].metadata.get("category"), Some(&Value::from("x")));
    }
}
