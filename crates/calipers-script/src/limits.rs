//! How much a script may use.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How much scripts may use before they are stopped.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Calls and rounds of loops in one evaluation.
    pub steps: u64,
    /// As many again for each score that a metric or reducer is given.
    pub steps_per_score: u64,
    /// Calls within calls.
    pub depth: usize,
    /// Bytes of values in one evaluation. Looked at now and then, so that a single operation can go beyond it.
    pub memory: usize,
    /// Time of all scripts of a library together.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 50_000_000, steps_per_score: 1000, depth: 100, memory: 1 << 30, time: Duration::from_secs(60) }
    }
}

/// The time that scripts have taken.
#[derive(Debug)]
pub(crate) struct Clock {
    zero: Instant,
    /// Nanoseconds of evaluations that are over.
    spent: AtomicU64,
    /// When the evaluation that runs has to be over, in nanoseconds after `zero`; 0 when none runs.
    deadline: AtomicU64,
}

impl Clock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { zero: Instant::now(), spent: AtomicU64::new(0), deadline: AtomicU64::new(0) })
    }

    fn now(&self) -> u64 {
        nanoseconds(self.zero.elapsed())
    }

    /// Starts an evaluation, which ends when the result is dropped.
    pub(crate) fn start(self: &Arc<Self>, time: Duration) -> Running {
        let start = self.now();
        let left = nanoseconds(time).saturating_sub(self.spent.load(Ordering::Relaxed));
        let deadline = start.saturating_add(left).max(1);
        self.deadline.store(deadline, Ordering::Relaxed);
        Running { clock: self.clone(), start, deadline }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// An evaluation that runs.
pub(crate) struct Running {
    clock: Arc<Clock>,
    start: u64,
    deadline: u64,
}

impl Running {
    /// Says whether the time is up, from within the evaluation.
    pub(crate) fn late(&self) -> impl Fn() -> bool + 'static {
        let (clock, deadline) = (self.clock.clone(), self.deadline);
        move || clock.now() > deadline
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.clock.spent.fetch_add(self.clock.now() - self.start, Ordering::Relaxed);
        self.clock.deadline.store(0, Ordering::Relaxed);
    }
}

/// Says from another thread whether a script has not stopped when it should have.
///
/// A script is asked to stop between its steps. One long step, such as the product of two enormous numbers, does not
/// hear that; whoever watches can end the process.
#[derive(Clone, Debug)]
pub struct Watch(pub(crate) Arc<Clock>);

impl Watch {
    /// True when a script still runs this long after its time was up.
    #[must_use]
    pub fn is_overdue(&self, grace: Duration) -> bool {
        let deadline = self.0.deadline.load(Ordering::Relaxed);
        deadline != 0 && self.0.now() > deadline.saturating_add(nanoseconds(grace))
    }
}
