//! How attempts without a score count.

use crate::{Caveat, Outcome, Samples, Value};
use std::sync::Arc;

/// How attempts that broke, never ran or have no score count, in place of what each question does with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingRule {
    /// They failed: their score is 0.
    Failed,
    /// They are left out, as if they had not been asked for.
    Excluded,
}

impl MissingRule {
    /// Its name on command lines, in policies and documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Excluded => "excluded",
        }
    }
}

/// Samples in which nothing is missing any more, and what was.
#[derive(Clone, Debug)]
pub struct RuledSamples {
    /// The samples.
    pub samples: Samples,
    /// The rule.
    pub rule: MissingRule,
    /// The attempts that it was applied to.
    pub attempts: u64,
    /// The attempts in all.
    pub attempts_total: u64,
}

impl RuledSamples {
    /// What to know about figures from these samples, if the rule was applied to anything.
    #[must_use]
    pub fn caveat(&self, overrides_policy: bool) -> Option<Caveat> {
        (self.attempts > 0 || overrides_policy).then_some(Caveat::MissingCounted {
            rule: self.rule,
            attempts: self.attempts,
            attempts_total: self.attempts_total,
            overrides_policy,
        })
    }
}

/// A value of the same kind that counts 0.
fn zero_like(value: &Value) -> Value {
    match value {
        Value::Text(_) => Value::from("I"),
        Value::Bool(_) => Value::from(false),
        Value::Map(entries) => Value::Map(entries.iter().map(|(key, value)| (key.clone(), zero_like(value))).collect()),
        Value::Int(_) => Value::from(0),
        _ => Value::from(0.0),
    }
}

impl Samples {
    /// The same samples with everything that is missing counted by this rule.
    ///
    /// ```
    /// use calipers_core::{MissingRule, Outcome, Plan, Samples};
    ///
    /// let mut samples = Samples::new();
    /// samples.push(1).score("solved", 1.0);
    /// samples.push(2).score("solved", Outcome::unscored("the tests timed out"));
    /// let accuracy = |samples: &Samples| -> Result<Result<f64, _>, calipers_core::Error> {
    ///     Ok(Plan::new().measure(samples)?.figure("solved", "accuracy").expect("default").value.clone())
    /// };
    /// assert_eq!(accuracy(&samples)?, Ok(1.0));
    /// assert_eq!(accuracy(&samples.with_missing(MissingRule::Failed).samples)?, Ok(0.5));
    /// assert_eq!(samples.with_missing(MissingRule::Excluded).samples.len(), 1);
    /// # Ok::<(), calipers_core::Error>(())
    /// ```
    #[must_use]
    pub fn with_missing(&self, rule: MissingRule) -> RuledSamples {
        let scorers: Vec<Arc<str>> = self.scorers().cloned().collect();
        let mut zeros: Vec<Option<Value>> = vec![None; scorers.len()];
        if rule == MissingRule::Failed {
            for record in self.records() {
                for (scorer, outcome) in &record.scores {
                    let place = scorers.iter().position(|known| known == scorer);
                    if let (Some(place), Outcome::Scored(score)) = (place, outcome)
                        && zeros[place].is_none()
                    {
                        zeros[place] = Some(zero_like(&score.value));
                    }
                }
                if zeros.iter().all(Option::is_some) {
                    break;
                }
            }
        }
        let outcome_fields: Vec<&str> =
            ["passed", "correct"].into_iter().filter(|name| self.fields().any(|field| **field == **name)).collect();
        let mut ruled = RuledSamples { samples: Self::new(), rule, attempts: 0, attempts_total: 0 };
        for record in self.records() {
            ruled.attempts_total += 1;
            let is_scored = |scorer: &Arc<str>| {
                record.scores.iter().any(|(known, outcome)| known == scorer && matches!(outcome, Outcome::Scored(_)))
            };
            let is_given =
                |name: &str| record.fields.iter().any(|(field, value)| **field == *name && !value.is_missing());
            let lacks_scores = !scorers.iter().all(is_scored);
            let has_none = !scorers.iter().any(is_scored) && !outcome_fields.iter().any(|name| is_given(name));
            let is_silent = has_none && !(scorers.is_empty() && outcome_fields.is_empty());
            let is_missing = match rule {
                MissingRule::Failed => {
                    record.error.is_some() || is_silent || (lacks_scores && outcome_fields.is_empty())
                }
                MissingRule::Excluded => record.error.is_some() || is_silent,
            };
            ruled.attempts += u64::from(is_missing);
            if is_missing && rule == MissingRule::Excluded {
                continue;
            }
            let mut attempt = ruled.samples.push_epoch(record.id.clone(), record.epoch);
            for (key, value) in record.metadata.iter() {
                attempt = attempt.metadata(key.clone(), value.clone());
            }
            for (place, scorer) in scorers.iter().enumerate() {
                let given = record.scores.iter().find(|(known, _)| known == scorer).map(|(_, outcome)| outcome);
                attempt = match (given, &zeros[place]) {
                    (Some(outcome @ Outcome::Scored(_)), _) => attempt.score(scorer.clone(), outcome.clone()),
                    (_, zero) if is_missing => {
                        attempt.score(scorer.clone(), zero.clone().unwrap_or_else(|| Value::from(0.0)))
                    }
                    (Some(outcome), _) => attempt.score(scorer.clone(), outcome.clone()),
                    (None, _) => attempt,
                };
            }
            let has_failed = |name: &Arc<str>| is_missing && outcome_fields.contains(&&**name);
            for (name, value) in record.fields.iter().filter(|(name, _)| !has_failed(name)) {
                attempt = attempt.field(name.clone(), value.clone());
            }
            if is_missing {
                // An attempt with scores that broke afterwards keeps them; what says that it passed does not hold.
                let names: &[&str] =
                    if scorers.is_empty() && outcome_fields.is_empty() { &["passed"] } else { &outcome_fields };
                for name in names {
                    attempt = attempt.field(*name, false);
                }
            }
        }
        ruled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Samples {
        let mut samples = Samples::new();
        samples.push(1).score("judge", "C").field("latency_ms", 5.0).metadata("topic", "law");
        samples.push(2).error("timeout");
        samples.push(3).score("judge", Outcome::unscored("refusal"));
        samples.push(4).score("judge", "I");
        samples
    }

    #[test]
    fn missing_attempts_fail_or_go() {
        let failed = samples().with_missing(MissingRule::Failed);
        assert_eq!((failed.attempts, failed.attempts_total), (2, 4));
        assert_eq!(failed.samples.counts().scored, 4);
        let scores: Vec<Outcome> = failed.samples.records().map(|record| record.scores[0].1.clone()).collect();
        assert_eq!(scores, ["C", "I", "I", "I"].map(Outcome::from));
        let excluded = samples().with_missing(MissingRule::Excluded);
        assert_eq!((excluded.attempts, excluded.samples.len()), (2, 2));
        let first = excluded.samples.records().next().expect("two are left");
        assert_eq!(first.metadata.get("topic"), Some(&"law".into()));
        assert_eq!(first.fields, [("latency_ms".into(), 5.0.into())]);
    }

    #[test]
    fn records_that_say_whether_they_passed_fail_where_they_broke() {
        let mut samples = Samples::new();
        samples.push(1).field("passed", true);
        samples.push(2).error("timeout");
        let failed = samples.with_missing(MissingRule::Failed).samples;
        let passed: Vec<_> = failed.records().map(|record| record.fields).collect();
        assert_eq!(passed, [[("passed".into(), true.into())], [("passed".into(), false.into())]]);
        assert_eq!(failed.errored_attempts(), 0);
    }
}
