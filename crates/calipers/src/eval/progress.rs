//! How far a run has come.

use calipers_core::{CACHED_ANSWERS, Labels, Outcome, SampleId, Transcript, Value};
use calipers_run::{ModelChannels, RunObserver, SkippedAttempt};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Counts of a run under way. Reading them costs nothing and blocks nothing.
#[derive(Debug, Default)]
pub struct Progress {
    total: AtomicU64,
    done: AtomicU64,
    errors: AtomicU64,
    limits: AtomicU64,
    cached: AtomicU64,
    attempts_retried: AtomicU64,
    tokens: AtomicU64,
    sums: Mutex<Sums>,
    models: OnceLock<Arc<ModelChannels>>,
}

#[derive(Debug, Default)]
struct Sums {
    cost_usd: Option<f64>,
    score: f64,
    scored: u64,
}

impl Progress {
    /// The attempts to be made.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total.load(Relaxed)
    }

    /// The attempts that ended, or turned out not to be needed.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.done.load(Relaxed)
    }

    /// The attempts that broke.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.errors.load(Relaxed)
    }

    /// The attempts that a limit stopped.
    #[must_use]
    pub fn limits(&self) -> u64 {
        self.limits.load(Relaxed)
    }

    /// The answers that came from the cache.
    #[must_use]
    pub fn cached(&self) -> u64 {
        self.cached.load(Relaxed)
    }

    /// The calls and attempts that were made again.
    #[must_use]
    pub fn retries(&self) -> u64 {
        self.attempts_retried.load(Relaxed) + self.models.get().map_or(0, |models| models.retries())
    }

    /// The tokens used.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.tokens.load(Relaxed)
    }

    /// What it cost, where models say so.
    #[must_use]
    pub fn cost_usd(&self) -> Option<f64> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner).cost_usd
    }

    /// The mean of the first scorer's scores so far, as far as they are numbers. It has no interval: one that is looked at
    /// again and again would promise too much.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        (sums.scored > 0).then(|| sums.score / sums.scored as f64)
    }

    pub(super) fn watch_models(&self, models: &Arc<ModelChannels>) {
        let _ = self.models.set(models.clone());
    }
}

impl RunObserver for Progress {
    fn on_plan(&self, attempts: u64) {
        self.total.store(attempts, Relaxed);
    }

    fn on_retry(&self, _: &SampleId, _: u32, _: &str) {
        self.attempts_retried.fetch_add(1, Relaxed);
    }

    fn on_skip(&self, _: &SkippedAttempt) {
        self.done.fetch_add(1, Relaxed);
    }

    fn on_finish(&self, transcript: &Transcript) {
        self.done.fetch_add(1, Relaxed);
        self.errors.fetch_add(u64::from(transcript.error.is_some()), Relaxed);
        self.limits.fetch_add(u64::from(transcript.limit.is_some()), Relaxed);
        let cached = transcript.fields.iter().find(|(name, _)| **name == *CACHED_ANSWERS);
        if let Some((_, Value::Int(answers))) = cached {
            self.cached.fetch_add(u64::try_from(*answers).unwrap_or(0), Relaxed);
        }
        let tokens = transcript.usage.iter().map(|(_, usage)| usage.total_tokens).sum::<u64>();
        self.tokens.fetch_add(tokens, Relaxed);
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        for cost in transcript.usage.iter().filter_map(|(_, usage)| usage.cost_usd) {
            sums.cost_usd = Some(sums.cost_usd.unwrap_or(0.0) + cost);
        }
        if let Some((_, Outcome::Scored(score))) = transcript.scores.first()
            && let Some(number) = Labels::default().to_float(&score.value)
        {
            sums.score += number;
            sums.scored += 1;
        }
    }
}
