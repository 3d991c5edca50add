//! Measures the working time of an attempt, without waiting.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// The time of an attempt.
pub(crate) struct Stopwatch {
    began: Instant,
    waited_ns: AtomicU64,
    /// When the attempt is cut off.
    pub(crate) deadline: Option<Instant>,
}

impl Stopwatch {
    pub(crate) fn start(limit: Option<Duration>) -> Self {
        let began = Instant::now();
        Self { began, waited_ns: AtomicU64::new(0), deadline: limit.and_then(|limit| began.checked_add(limit)) }
    }

    /// Awaits something that does not count as work. If this is cancelled, the time until then counts as waiting.
    pub(crate) async fn wait<T>(&self, something: impl Future<Output = T>) -> T {
        let _wait = Wait { stopwatch: self, since: Instant::now() };
        something.await
    }

    /// The time from the beginning without waiting.
    pub(crate) fn working_time(&self) -> Duration {
        // Concurrent calls may wait longer in total than the time that passed.
        self.began.elapsed().saturating_sub(Duration::from_nanos(self.waited_ns.load(Ordering::Relaxed)))
    }
}

struct Wait<'a> {
    stopwatch: &'a Stopwatch,
    since: Instant,
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        let waited = u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.stopwatch.waited_ns.fetch_add(waited, Ordering::Relaxed);
    }
}
