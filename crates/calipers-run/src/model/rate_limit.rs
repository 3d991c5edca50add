//! The rate limit of a model: fewer calls in flight while the model is busy, more again when it answers.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep_until};

/// The rate limit of one model: halved when it is busy, one more for every round of answers.
///
/// The rule of TCP (Chiu and Jain 1989): clients that follow it converge to fair shares of a server.
pub(crate) struct RateLimit {
    free: Semaphore,
    pace: Mutex<Pace>,
}

struct Pace {
    most: usize,
    limit: usize,
    /// Permits to remove as soon as they are returned.
    owed: usize,
    /// Answers since the limit last changed.
    answers: usize,
    /// When the limit was last lowered.
    lowered_at: Option<Instant>,
    /// No calls before this time.
    paused_until: Option<Instant>,
}

/// Permission for one call, returned on drop, whatever the outcome.
pub(crate) struct CallPermit<'a> {
    turns: &'a RateLimit,
    permit: Option<SemaphorePermit<'a>>,
    since: Instant,
}

impl RateLimit {
    pub(crate) fn new(most: usize) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        let pace = Pace { most, limit: most, owed: 0, answers: 0, lowered_at: None, paused_until: None };
        Self { free: Semaphore::new(most), pace: Mutex::new(pace) }
    }

    /// How many calls may be in flight.
    pub(crate) fn limit(&self) -> usize {
        self.pace().limit
    }

    /// Waits for a permit; the error is the time until which the model wants no calls, if that is after the deadline.
    pub(crate) async fn take(&self, deadline: Option<Instant>) -> Result<CallPermit<'_>, Instant> {
        let permit = self.free.acquire().await.expect("the semaphore is never closed");
        let mut turn = CallPermit { turns: self, permit: Some(permit), since: Instant::now() };
        while let Some(until) = self.paused_until() {
            if deadline.is_some_and(|deadline| until > deadline) {
                return Err(until);
            }
            sleep_until(until).await;
            turn.since = Instant::now();
        }
        Ok(turn)
    }

    fn paused_until(&self) -> Option<Instant> {
        let mut pace = self.pace();
        pace.paused_until = pace.paused_until.filter(|&until| until > Instant::now());
        pace.paused_until
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallPermit<'_> {
    /// The model answered.
    pub(crate) fn note_answer(self) {
        let mut pace = self.turns.pace();
        if pace.limit == pace.most {
            return;
        }
        pace.answers += 1;
        if pace.answers >= pace.limit {
            pace.answers = 0;
            pace.limit += 1;
            if pace.owed > 0 {
                pace.owed -= 1;
            } else {
                self.turns.free.add_permits(1);
            }
        }
    }

    /// The model was busy, and may have said for how long.
    pub(crate) fn note_refusal(self, retry_after: Option<Duration>) {
        let mut pace = self.turns.pace();
        let now = Instant::now();
        if let Some(until) = retry_after.and_then(|wait| now.checked_add(wait)) {
            pace.paused_until = Some(pace.paused_until.map_or(until, |old| old.max(until)));
        }
        // Calls in flight at the same time are refused together, and count as one signal.
        if pace.lowered_at.is_some_and(|at| self.since < at) {
            return;
        }
        let lower = (pace.limit / 2).max(1);
        let fewer = pace.limit - lower;
        pace.owed += fewer - self.turns.free.forget_permits(fewer);
        (pace.limit, pace.answers, pace.lowered_at) = (lower, 0, Some(now));
    }
}

impl Drop for CallPermit<'_> {
    fn drop(&mut self) {
        let mut pace = self.turns.pace();
        if pace.owed > 0
            && let Some(permit) = self.permit.take()
        {
            pace.owed -= 1;
            permit.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn calls_that_are_refused_together_halve_the_turns_once() {
        let turns = RateLimit::new(8);
        let mut taken = Vec::new();
        for _ in 0..8 {
            taken.push(turns.take(None).await.expect("not paused"));
        }
        tokio::time::advance(Duration::from_millis(1)).await;
        for turn in taken {
            turn.note_refusal(None);
        }
        assert_eq!((turns.limit(), turns.free.available_permits()), (4, 4));
        turns.take(None).await.expect("not paused").note_refusal(None);
        assert_eq!((turns.limit(), turns.free.available_permits()), (2, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn answers_bring_turns_back_one_a_round_and_never_beyond_the_most() {
        let turns = RateLimit::new(3);
        turns.take(None).await.expect("not paused").note_refusal(None);
        assert_eq!((turns.limit(), turns.free.available_permits()), (1, 1));
        let mut limits = Vec::new();
        for _ in 0..6 {
            turns.take(None).await.expect("not paused").note_answer();
            limits.push(turns.limit());
        }
        assert_eq!(limits, [2, 2, 3, 3, 3, 3]);
        assert_eq!(turns.free.available_permits(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_holds_for_all_and_ends_at_once_for_those_who_cannot_wait() {
        let turns = RateLimit::new(2);
        let start = Instant::now();
        turns.take(None).await.expect("not paused").note_refusal(Some(Duration::from_secs(5)));
        assert!(turns.take(Some(start + Duration::from_secs(3))).await.is_err());
        assert_eq!(start.elapsed(), Duration::ZERO);
        drop(turns.take(None).await.expect("the pause ends"));
        assert_eq!(start.elapsed(), Duration::from_secs(5));
    }
}
