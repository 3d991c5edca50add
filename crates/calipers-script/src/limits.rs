//! Limits of scripts.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How much scripts may use before they are stopped.
#[derive(Clone, Copy, Debug)]
pub struct ScriptLimits {
    /// Calls and rounds of loops in one evaluation.
    pub steps: u64,
    /// As many again for each score that a metric or reducer is given.
    pub steps_per_score: u64,
    /// Calls within calls.
    pub depth: usize,
    /// Bytes of values in one evaluation. Checked from time to time, so a single operation may exceed it.
    pub memory: usize,
    /// Time of all definitions, expressions, metrics and reducers of a library together.
    pub time: Duration,
    /// Time of one call of a scorer, or of a function that makes samples. There is one call per attempt, so these do
    /// not count towards `time`.
    pub time_per_call: Duration,
}

impl Default for ScriptLimits {
    fn default() -> Self {
        Self {
            steps: 50_000_000,
            steps_per_score: 1000,
            depth: 100,
            memory: 1 << 30,
            time: Duration::from_secs(60),
            time_per_call: Duration::from_secs(10),
        }
    }
}

/// Which time budget an evaluation uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Time {
    /// The budget shared by all evaluations of a library.
    Shared,
    /// A separate one, because there is one such evaluation per attempt.
    PerCall,
}

/// The time that scripts have used.
#[derive(Debug)]
pub(crate) struct Clock {
    zero: Instant,
    /// Nanoseconds of finished evaluations on the shared budget.
    spent: AtomicU64,
    /// The deadline of each running evaluation, in nanoseconds after `zero`, by its number.
    deadlines: Mutex<BTreeMap<u64, u64>>,
    numbers: AtomicU64,
}

impl Clock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            zero: Instant::now(),
            spent: AtomicU64::new(0),
            deadlines: Mutex::default(),
            numbers: AtomicU64::new(0),
        })
    }

    fn now(&self) -> u64 {
        nanoseconds(self.zero.elapsed())
    }

    fn deadlines(&self) -> MutexGuard<'_, BTreeMap<u64, u64>> {
        self.deadlines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts an evaluation, which ends when the result is dropped. Others may run at the same time.
    pub(crate) fn start(self: &Arc<Self>, limits: &ScriptLimits, time: Time) -> RunningScript {
        let start = self.now();
        let left = match time {
            Time::Shared => nanoseconds(limits.time).saturating_sub(self.spent.load(Ordering::Relaxed)),
            Time::PerCall => nanoseconds(limits.time_per_call),
        };
        let deadline = start.saturating_add(left);
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        self.deadlines().insert(number, deadline);
        RunningScript { clock: self.clone(), start, deadline, number, time }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A running evaluation.
pub(crate) struct RunningScript {
    clock: Arc<Clock>,
    start: u64,
    deadline: u64,
    number: u64,
    time: Time,
}

impl RunningScript {
    /// Whether the time is up, asked from within the evaluation.
    pub(crate) fn late(&self) -> impl Fn() -> bool + 'static {
        let (clock, deadline) = (self.clock.clone(), self.deadline);
        move || clock.now() > deadline
    }
}

impl Drop for RunningScript {
    fn drop(&mut self) {
        self.clock.deadlines().remove(&self.number);
        if self.time == Time::Shared {
            self.clock.spent.fetch_add(self.clock.now() - self.start, Ordering::Relaxed);
        }
    }
}

/// Tells from another thread whether a script has failed to stop in time.
///
/// A script is asked to stop between its steps. One long step, such as the product of two enormous numbers, cannot be
/// interrupted, so the watchdog's owner can end the process.
#[derive(Clone, Debug)]
pub struct ScriptWatchdog(pub(crate) Arc<Clock>);

impl ScriptWatchdog {
    /// True when a script still runs this long after its time was up.
    #[must_use]
    pub fn is_overdue(&self, grace: Duration) -> bool {
        let (now, grace) = (self.0.now(), nanoseconds(grace));
        self.0.deadlines().values().any(|deadline| now > deadline.saturating_add(grace))
    }
}
