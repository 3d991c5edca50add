//! Measures the working time of an attempt, without waiting.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The time of an attempt.
pub(crate) struct Stopwatch {
    began: Instant,
    waited_ns: AtomicU64,
    /// When the attempt is cut off, if it is not held.
    deadline: Option<Instant>,
    held: Mutex<Held>,
}

/// How long an attempt was held back by limits of ours, which is no fault of its.
#[derive(Default)]
struct Held {
    total: Duration,
    /// How many of its calls are held now, and since when there is one.
    calls: u32,
    since: Option<Instant>,
}

impl Held {
    fn so_far(&self) -> Duration {
        self.total + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

impl Stopwatch {
    pub(crate) fn start(limit: Option<Duration>) -> Self {
        let began = Instant::now();
        let deadline = limit.and_then(|limit| began.checked_add(limit));
        Self { began, waited_ns: AtomicU64::new(0), deadline, held: Mutex::default() }
    }

    /// Starts another limit, from now on.
    pub(crate) fn limit(&mut self, limit: Option<Duration>) {
        self.deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        *self.held() = Held::default();
    }

    /// When the attempt is cut off. Time in which our own limits hold it back does not count.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline.and_then(|deadline| deadline.checked_add(self.held().so_far()))
    }

    /// Returns when the time is up; never, if there is no limit.
    pub(crate) async fn run_down(&self) {
        loop {
            let Some(deadline) = self.deadline() else { return std::future::pending().await };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            // While it is held, the deadline moves on.
            sleep(left).await;
        }
    }

    /// Awaits something that does not count as work. If this is cancelled, the time until then counts as waiting.
    pub(crate) async fn wait<T>(&self, something: impl Future<Output = T>) -> T {
        let _wait = Wait { stopwatch: self, since: Instant::now() };
        something.await
    }

    /// The same for a limit of ours: the time limit of the attempt stands still, too.
    pub(crate) async fn hold<T>(&self, something: impl Future<Output = T>) -> T {
        let _hold = Hold::begin(self);
        self.wait(something).await
    }

    /// The time from the beginning without waiting.
    pub(crate) fn working_time(&self) -> Duration {
        // Concurrent calls may wait longer in total than the time that passed.
        self.began.elapsed().saturating_sub(Duration::from_nanos(self.waited_ns.load(Ordering::Relaxed)))
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
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

struct Hold<'a>(&'a Stopwatch);

impl<'a> Hold<'a> {
    fn begin(stopwatch: &'a Stopwatch) -> Self {
        let mut held = stopwatch.held();
        held.calls += 1;
        held.since.get_or_insert_with(Instant::now);
        drop(held);
        Self(stopwatch)
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        let mut held = self.0.held();
        held.calls = held.calls.saturating_sub(1);
        if held.calls == 0 {
            held.total = held.so_far();
            held.since = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_that_we_hold_an_attempt_back_is_not_its_own() {
        let stopwatch = Stopwatch::start(Some(Duration::from_secs(10)));
        let begun = Instant::now();
        let work = async {
            sleep(Duration::from_secs(4)).await;
            stopwatch.hold(sleep(Duration::from_secs(100))).await;
            sleep(Duration::from_secs(60)).await;
        };
        tokio::select! {
            () = work => panic!("the time is up before"),
            () = stopwatch.run_down() => {}
        }
        assert_eq!(begun.elapsed(), Duration::from_secs(110));
    }

    #[tokio::test(start_paused = true)]
    async fn two_calls_that_are_held_together_hold_it_once() {
        let stopwatch = Stopwatch::start(Some(Duration::from_secs(10)));
        tokio::join!(stopwatch.hold(sleep(Duration::from_secs(30))), stopwatch.hold(sleep(Duration::from_secs(40))));
        let deadline = stopwatch.deadline().expect("a limit");
        assert_eq!(deadline - Instant::now(), Duration::from_secs(10));
    }
}
