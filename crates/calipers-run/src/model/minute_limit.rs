//! The calls and tokens that a model may take in a minute.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

const MINUTE: Duration = Duration::from_secs(60);

/// At most so many calls begin in any minute, and no call begins that would probably take the tokens of a minute beyond
/// their limit.
///
/// How many tokens a call takes is known when it is answered. Until then it counts as the mean of those before it.
pub(crate) struct MinuteLimit {
    requests_max: Option<u64>,
    tokens_max: Option<u64>,
    past: Mutex<PastMinute>,
    answered: Notify,
}

/// What was done within the last minute, and what is being done.
#[derive(Default)]
struct PastMinute {
    /// When calls began.
    calls: VecDeque<Instant>,
    /// When answers came, and their tokens.
    answers: VecDeque<(Instant, u64)>,
    /// The tokens of these answers.
    tokens: u64,
    under_way: u64,
    /// All answers so far and their tokens.
    answers_ever: u64,
    tokens_ever: u64,
}

/// When to look again.
enum Wait {
    Until(Instant),
    /// When the next answer comes.
    ForAnswer,
}

/// A call under way.
pub(crate) struct MinuteTurn<'a>(&'a MinuteLimit);

impl MinuteLimit {
    /// The limit; `None` where nothing is limited.
    pub(crate) fn new(requests_max: Option<u64>, tokens_max: Option<u64>) -> Option<Self> {
        (requests_max.is_some() || tokens_max.is_some()).then(|| Self {
            requests_max,
            tokens_max,
            past: Mutex::default(),
            answered: Notify::new(),
        })
    }

    /// Waits until a call may begin.
    pub(crate) async fn take(&self) -> MinuteTurn<'_> {
        loop {
            // An answer that comes after the look and before the wait must not be missed.
            let answered = self.answered.notified();
            match self.try_begin(Instant::now()) {
                Ok(()) => return MinuteTurn(self),
                Err(Wait::ForAnswer) => answered.await,
                Err(Wait::Until(until)) => tokio::select! {
                    () = sleep_until(until) => {}
                    () = answered => {}
                },
            }
        }
    }

    fn try_begin(&self, now: Instant) -> Result<(), Wait> {
        let mut past = self.past();
        past.forget(now);
        if let Some(max) = self.requests_max
            && past.calls.len() as u64 >= max.max(1)
            && let Some(&oldest) = past.calls.front()
        {
            return Err(Wait::Until(oldest + MINUTE));
        }
        if let Some(max) = self.tokens_max
            && (past.tokens > 0 || past.under_way > 0)
        {
            let mean = past.tokens_ever.checked_div(past.answers_ever).unwrap_or(0);
            let expected = past.tokens.saturating_add(mean.saturating_mul(past.under_way + 1));
            // Before the first answer nothing is known, so it is waited for.
            if past.answers_ever == 0 || expected > max {
                return Err(match past.answers.front() {
                    Some(&(oldest, _)) => Wait::Until(oldest + MINUTE),
                    None => Wait::ForAnswer,
                });
            }
        }
        if self.requests_max.is_some() {
            past.calls.push_back(now);
        }
        past.under_way += 1;
        Ok(())
    }

    fn past(&self) -> MutexGuard<'_, PastMinute> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PastMinute {
    /// Leaves out what is older than a minute.
    fn forget(&mut self, now: Instant) {
        let is_old = |at: Instant| now.duration_since(at) >= MINUTE;
        while self.calls.front().is_some_and(|&at| is_old(at)) {
            self.calls.pop_front();
        }
        while let Some(&(_, tokens)) = self.answers.front().filter(|(at, _)| is_old(*at)) {
            self.tokens = self.tokens.saturating_sub(tokens);
            self.answers.pop_front();
        }
    }
}

impl MinuteTurn<'_> {
    /// The call was answered with this many tokens.
    pub(crate) fn note_tokens(self, tokens: u64) {
        let mut past = self.0.past();
        past.answers.push_back((Instant::now(), tokens));
        past.tokens = past.tokens.saturating_add(tokens);
        past.answers_ever += 1;
        past.tokens_ever = past.tokens_ever.saturating_add(tokens);
    }
}

impl Drop for MinuteTurn<'_> {
    fn drop(&mut self) {
        let mut past = self.0.past();
        past.under_way -= 1;
        drop(past);
        self.0.answered.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;

    /// When each of these calls began, in seconds; each takes a second and these tokens.
    async fn starts(limit: &MinuteLimit, calls: usize, tokens: u64) -> Vec<u64> {
        let begun = Instant::now();
        let call = || async {
            let turn = limit.take().await;
            let at = begun.elapsed().as_secs();
            tokio::time::sleep(Duration::from_secs(1)).await;
            turn.note_tokens(tokens);
            at
        };
        let mut starts = join_all((0..calls).map(|_| call())).await;
        starts.sort_unstable();
        starts
    }

    #[tokio::test(start_paused = true)]
    async fn no_minute_has_more_calls_than_allowed() {
        let limit = MinuteLimit::new(Some(3), None).expect("a limit");
        assert_eq!(starts(&limit, 8, 0).await, [0, 0, 0, 60, 60, 60, 120, 120]);
    }

    #[tokio::test(start_paused = true)]
    async fn no_minute_has_more_tokens_than_allowed_once_it_is_known_what_a_call_takes() {
        let limit = MinuteLimit::new(None, Some(100)).expect("a limit");
        // The first call shows that one takes 30: two more fit beside it.
        assert_eq!(starts(&limit, 7, 30).await, [0, 1, 1, 61, 62, 62, 122]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_beyond_the_limit_is_made_alone() {
        let limit = MinuteLimit::new(None, Some(10)).expect("a limit");
        assert_eq!(starts(&limit, 3, 50).await, [0, 61, 122]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_fails_makes_room() {
        let limit = MinuteLimit::new(None, Some(10)).expect("a limit");
        drop(limit.take().await);
        assert_eq!(starts(&limit, 1, 5).await, [0]);
        assert!(MinuteLimit::new(None, None).is_none());
    }
}
