//! A plain function as a scorer.

use crate::{AttemptFault, AttemptScope, AttemptState, Scorer, ScorerResult};
use async_trait::async_trait;
use calipers_core::{MetricSpec, Value};
use tokio::runtime::{Handle, RuntimeFlavor};

/// A scorer from a synchronous function of the attempt.
///
/// ```
/// use calipers_core::{Score, mean};
/// use calipers_run::{ScorerResult, Scorer, scorer_fn};
///
/// let polite = scorer_fn("polite", [mean()], |state| Ok(Score::new(state.completion().contains("please")).into()));
/// assert_eq!(polite.name(), "polite");
/// ```
pub fn scorer_fn<F, M>(name: impl Into<String>, metrics: impl IntoIterator<Item = M>, score: F) -> ScorerFn<F>
where
    F: Fn(&AttemptState) -> Result<ScorerResult, AttemptFault> + Send + Sync,
    M: Into<MetricSpec>,
{
    let metrics = metrics.into_iter().map(Into::into).collect();
    ScorerFn { name: name.into(), params: Value::Map(Vec::new()), metrics, score }
}

/// See [`scorer_fn`].
pub struct ScorerFn<F> {
    name: String,
    params: Value,
    metrics: Vec<MetricSpec>,
    score: F,
}

impl<F> ScorerFn<F> {
    /// Sets the parameters for logs: a map.
    #[must_use]
    pub fn with_params(mut self, params: Value) -> Self {
        self.params = params;
        self
    }
}

#[async_trait]
impl<F: Fn(&AttemptState) -> Result<ScorerResult, AttemptFault> + Send + Sync> Scorer for ScorerFn<F> {
    fn name(&self) -> &str {
        &self.name
    }

    fn params(&self) -> Value {
        self.params.clone()
    }

    fn metrics(&self) -> Vec<MetricSpec> {
        self.metrics.clone()
    }

    async fn score(&self, state: &AttemptState, _: &AttemptScope) -> Result<ScorerResult, AttemptFault> {
        blocking(|| (self.score)(state))
    }
}

/// Runs slow synchronous code without blocking the other tasks of the runtime, if it has several threads.
pub(crate) fn blocking<T>(run: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(run),
        _ => run(),
    }
}
