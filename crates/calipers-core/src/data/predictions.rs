//! Records that have an answer and the right one, and no score: an answer is correct if it equals the right one.

use crate::data::column::Column;
use crate::{Samples, Value};

/// The fields that a prediction is compared in, and the one that says how it went.
const FIELDS: [&str; 2] = ["predicted", "actual"];
const OUTCOME: &str = "correct";

impl Samples {
    /// Says of each attempt whether its prediction equals the truth, in records that say nothing else about how they went.
    /// Returns whether there were such records.
    ///
    /// ```
    /// use calipers_core::Samples;
    ///
    /// let mut samples = Samples::new();
    /// samples.push("a").field("predicted", "B").field("actual", "B");
    /// samples.push("b").field("predicted", "C").field("actual", "B");
    /// assert!(samples.compare_predictions());
    /// assert_eq!(samples.records().map(|record| record.fields.len()).sum::<usize>(), 6);
    /// ```
    pub fn compare_predictions(&mut self) -> bool {
        let says_more = ["passed", OUTCOME, "expected_behaviors", "observed_behaviors", "must_not", "violations"];
        if !self.scores.is_empty() || says_more.iter().any(|name| self.fields.contains_key(*name)) {
            return false;
        }
        let [Some(predicted), Some(actual)] = FIELDS.map(|name| self.fields.get(name)) else { return false };
        let mut outcomes = Column::default();
        for row in 0..self.attempt_sample.len() as u32 {
            outcomes.push(match (predicted.get(row), actual.get(row)) {
                (Some(predicted), Some(actual)) => Value::Bool(is_same_answer(&predicted, &actual)),
                _ => Value::Missing,
            });
        }
        self.fields.insert(OUTCOME.into(), outcomes.into());
        true
    }
}

impl Samples {
    /// How many answers differ from the right ones only in capitals, blanks or punctuation.
    #[must_use]
    pub fn count_near_predictions(&self) -> usize {
        let [Some(predicted), Some(actual)] = FIELDS.map(|name| self.fields.get(name)) else { return 0 };
        let letters = |value: &Value| -> String {
            value.to_string().chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
        };
        let is_near = |row: &u32| match (predicted.get(*row), actual.get(*row)) {
            (Some(predicted), Some(actual)) if !is_same_answer(&predicted, &actual) => {
                let near = letters(&predicted);
                !near.is_empty() && near == letters(&actual)
            }
            _ => false,
        };
        (0..self.attempt_sample.len() as u32).filter(is_near).count()
    }
}

/// True for the same text, or the same number however it is written. Blanks around a text are no part of it.
fn is_same_answer(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => a.trim() == b.trim(),
        _ => a.equals(b) || a.to_string().trim() == b.to_string().trim(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(samples: &Samples) -> Vec<Option<Value>> {
        let fields = |record: crate::Record| record.fields.into_iter().find(|(name, _)| &**name == OUTCOME);
        samples.records().map(|record| fields(record).map(|(_, value)| value)).collect()
    }

    #[test]
    fn an_answer_is_compared_as_it_is_written() {
        let mut samples = Samples::new();
        samples.push(1).field("predicted", " B ").field("actual", "B");
        samples.push(2).field("predicted", 4).field("actual", 4.0);
        samples.push(3).field("predicted", "4").field("actual", 4);
        samples.push(4).field("predicted", "b").field("actual", "B");
        samples.push(5).field("predicted", "B");
        assert!(samples.compare_predictions());
        let want = [Some(true), Some(true), Some(true), Some(false), None];
        assert_eq!(outcomes(&samples), want.map(|outcome| outcome.map(Value::Bool)));
        assert_eq!(samples.count_near_predictions(), 1);
    }

    #[test]
    fn records_that_say_how_they_went_are_left_as_they_are() {
        let mut scored = Samples::new();
        scored.push(1).field("predicted", "B").field("actual", "B").score("judge", 0.0);
        let mut passed = Samples::new();
        passed.push(1).field("predicted", "B").field("actual", "B").field("passed", false);
        let mut half = Samples::new();
        half.push(1).field("predicted", "B");
        for mut samples in [scored, passed, half] {
            assert!(!samples.compare_predictions());
            assert_eq!(outcomes(&samples), [None]);
        }
    }
}
