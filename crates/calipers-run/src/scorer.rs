//! Scorers: they judge the result of an attempt.

use crate::{AttemptFault, AttemptScope, AttemptState};
use async_trait::async_trait;
use calipers_core::{MetricSpec, Outcome, Score, Value, accuracy, stderr};
use std::sync::Arc;

/// The result of a scorer.
#[derive(Clone, Debug, PartialEq)]
pub struct ScorerResult {
    /// The score, or why there is none.
    pub outcome: Outcome,
    /// Further measurements under the names of native records, such as `observed_behaviors`.
    pub fields: Vec<(Arc<str>, Value)>,
}

impl From<Outcome> for ScorerResult {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, fields: Vec::new() }
    }
}

impl From<Score> for ScorerResult {
    fn from(score: Score) -> Self {
        Outcome::from(score).into()
    }
}

/// Scores the result of an attempt.
#[async_trait]
pub trait Scorer: Send + Sync {
    /// The name in task files and logs.
    fn name(&self) -> &str;

    /// The parameters, for logs: a map.
    fn params(&self) -> Value {
        Value::Map(Vec::new())
    }

    /// The metrics of its scores if the task names none.
    fn metrics(&self) -> Vec<MetricSpec> {
        vec![accuracy().into(), stderr().into()]
    }

    /// The program that it runs, for messages; `None` if it runs none.
    fn program(&self) -> Option<&str> {
        None
    }

    /// Scores the attempt against [`AttemptState::target`]. If it cannot decide, the outcome is unscored; a fault is an
    /// error of the attempt.
    async fn score(&self, state: &AttemptState, scope: &AttemptScope) -> Result<ScorerResult, AttemptFault>;
}

#[async_trait]
impl<S: Scorer + ?Sized> Scorer for Arc<S> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn params(&self) -> Value {
        (**self).params()
    }

    fn metrics(&self) -> Vec<MetricSpec> {
        (**self).metrics()
    }

    fn program(&self) -> Option<&str> {
        (**self).program()
    }

    async fn score(&self, state: &AttemptState, scope: &AttemptScope) -> Result<ScorerResult, AttemptFault> {
        (**self).score(state, scope).await
    }
}
