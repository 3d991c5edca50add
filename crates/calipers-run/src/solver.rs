//! Solvers: the steps before an attempt is scored.

use crate::{AttemptFault, AttemptScope, AttemptState};
use async_trait::async_trait;
use calipers_core::Value;
use std::sync::Arc;

/// One step between a question and its answer.
#[async_trait]
pub trait Solver: Send + Sync {
    /// The name in task files and logs.
    fn name(&self) -> &str;

    /// The parameters, for logs: a map.
    fn params(&self) -> Value {
        Value::Map(Vec::new())
    }

    /// True if it calls the model of the task.
    fn asks_model(&self) -> bool {
        true
    }

    /// The program that it runs, for messages; `None` if it runs none.
    fn program(&self) -> Option<&str> {
        None
    }

    /// Performs one step of the attempt. A solver that ends it sets [`AttemptState::completed`].
    async fn solve(&self, state: &mut AttemptState, scope: &AttemptScope) -> Result<(), AttemptFault>;
}

#[async_trait]
impl<S: Solver + ?Sized> Solver for Arc<S> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn params(&self) -> Value {
        (**self).params()
    }

    fn asks_model(&self) -> bool {
        (**self).asks_model()
    }

    fn program(&self) -> Option<&str> {
        (**self).program()
    }

    async fn solve(&self, state: &mut AttemptState, scope: &AttemptScope) -> Result<(), AttemptFault> {
        (**self).solve(state, scope).await
    }
}
