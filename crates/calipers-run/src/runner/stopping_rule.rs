//! Rules that skip attempts once the question is settled.

use calipers_core::{SampleId, Transcript};
use std::sync::Arc;

/// Decides during a run which attempts are still needed.
pub trait StoppingRule: Send + Sync {
    /// Called before an attempt starts. Returns a reason to skip it, or `None` to make it.
    fn schedule(&self, id: &SampleId, epoch: u32) -> Option<Arc<str>>;

    /// Called for every finished attempt, in the order in which they finish.
    fn on_finish(&self, transcript: &Transcript);
}

/// An attempt that was skipped, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct SkippedAttempt {
    /// The sample.
    pub id: SampleId,
    /// Which attempt of it, from 1.
    pub epoch: u32,
    /// Why it was not needed.
    pub reason: Arc<str>,
}
