//! How much a script may use.

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
    /// Bytes of values in one evaluation. Looked at now and then, so that a single operation can go beyond it.
    pub memory: usize,
    /// Time of all definitions, expressions, metrics and reducers of a library together.
    pub time: Duration,
    /// Time of one call of a scorer, or of a function that makes samples. There are as many calls as attempts, so these
    /// do not count towards `time`.
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

/// Which time an evaluation takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Time {
    /// That of all evaluations of a library together.
    Shared,
    /// Its own, because there are as many like it as there are attempts.
    PerCall,
}

/// The time that scripts have taken.
#[derive(Debug)]
pub(crate) struct Clock {
    zero: Instant,
    /// Nanoseconds of evaluations that are over, but for those with a time of their own.
    spent: AtomicU64,
    /// When each evaluation that runs has to be over, in nanoseconds after `zero`, by the number that it has.
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

/// An evaluation that runs.
pub(crate) struct RunningScript {
    clock: Arc<Clock>,
    start: u64,
    deadline: u64,
    number: u64,
    time: Time,
}

impl RunningScript {
    /// Says whether the time is up, from within the evaluation.
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

/// Says from another thread whether a script has not stopped when it should have.
///
/// A script is asked to stop between its steps. One long step, such as the product of two enormous numbers, does not
/// hear that; whoever watches can end the process.
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
