//! Attempts that are no longer needed.

use calipers_core::{SampleId, Transcript};
use std::sync::Arc;

/// Decides while a task runs which attempts are still worth making.
pub trait StoppingRule: Send + Sync {
    /// Asked before an attempt begins: a reason not to make it, or `None` to go on.
    fn schedule(&self, id: &SampleId, epoch: u32) -> Option<Arc<str>>;

    /// Told of every attempt that ended, in the order in which they end.
    fn on_finish(&self, transcript: &Transcript);
}

/// An attempt that was not made, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct SkippedAttempt {
    /// The sample.
    pub id: SampleId,
    /// Which attempt of it, from 1.
    pub epoch: u32,
    /// Why it was not needed.
    pub reason: Arc<str>,
}
