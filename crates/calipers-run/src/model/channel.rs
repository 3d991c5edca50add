//! A channel to a model: rate limit, time limits, retries and a cache.

use super::answer_cache;
use super::minute_limit::MinuteLimit;
use super::rate_limit::RateLimit;
use crate::runner::stopwatch::Stopwatch;
use crate::{AnswerCache, Model, ModelError, ModelFault, Request};
use calipers_core::ModelOutput;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// Retrying rarely helps with an unreadable answer.
const UNREADABLE_RETRIES_MAX: u32 = 2;

/// How models are called.
#[derive(Clone)]
pub struct ChannelOptions {
    /// How many calls may be under way at once; `None` leaves it to the model.
    pub connections: Option<usize>,
    /// How many calls of one model may begin in any minute; `None` for any number.
    pub requests_per_minute: Option<u64>,
    /// How many tokens one model may use in any minute, as far as they are known in advance; `None` for any number.
    pub tokens_per_minute: Option<u64>,
    /// How often a failed call is retried.
    pub retries_max: u32,
    /// The longest first wait before a retry. The bound doubles with each retry.
    pub wait_first: Duration,
    /// The longest wait that we choose ourselves.
    pub wait_max: Duration,
    /// How long one call may take, and how long a server may ask us to wait.
    pub timeout: Duration,
    /// Where answers are kept.
    pub cache: Option<Arc<dyn AnswerCache>>,
}

impl Default for ChannelOptions {
    fn default() -> Self {
        Self {
            connections: None,
            requests_per_minute: None,
            tokens_per_minute: None,
            retries_max: 8,
            wait_first: Duration::from_secs(1),
            wait_max: Duration::from_secs(60),
            timeout: Duration::from_secs(600),
            cache: None,
        }
    }
}

impl fmt::Debug for ChannelOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelOptions")
            .field("connections", &self.connections)
            .field("requests_per_minute", &self.requests_per_minute)
            .field("tokens_per_minute", &self.tokens_per_minute)
            .field("retries_max", &self.retries_max)
            .field("wait_first", &self.wait_first)
            .field("wait_max", &self.wait_max)
            .field("timeout", &self.timeout)
            .field("cache", &self.cache.is_some())
            .finish()
    }
}

/// A model with its rate limit, retries and cache, shared by all attempts.
///
/// The rate limit bounds the number of calls in flight, and if wished the calls and tokens per minute. A busy model gets
/// fewer for a while, and none for as long as it asks. Calls that failed for a temporary reason are retried.
pub struct Channel {
    model: Arc<dyn Model>,
    name: Arc<str>,
    options: ChannelOptions,
    turns: RateLimit,
    minute: Option<MinuteLimit>,
    retries: AtomicU64,
}

impl Channel {
    /// A channel to this model.
    #[must_use]
    pub fn new(model: Arc<dyn Model>, options: ChannelOptions) -> Self {
        let connections = options.connections.unwrap_or_else(|| model.connections());
        Self {
            name: model.name().into(),
            turns: RateLimit::new(connections),
            minute: MinuteLimit::new(options.requests_per_minute, options.tokens_per_minute)
                .filter(|_| !model.is_free()),
            model,
            options,
            retries: AtomicU64::new(0),
        }
    }

    /// The name of the model.
    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// How many calls may be under way now.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.turns.limit()
    }

    /// How many retries there were so far.
    #[must_use]
    pub fn retries(&self) -> u64 {
        self.retries.load(Ordering::Relaxed)
    }

    pub(crate) fn is_free(&self) -> bool {
        self.model.is_free()
    }

    /// True if the tokens of a minute are limited, so that they have to be known.
    pub(crate) fn limits_tokens(&self) -> bool {
        self.minute.is_some() && self.options.tokens_per_minute.is_some()
    }

    /// False if it is known beforehand that answers come without a cost.
    #[must_use]
    pub fn reports_cost(&self) -> bool {
        self.model.is_free() || self.model.reports_cost()
    }

    /// An earlier answer from the cache.
    pub(crate) fn recall(&self, request: &Request) -> Option<ModelOutput> {
        self.cache()?.get(&self.key(request))
    }

    /// An answer of the model, which is kept in the cache.
    pub(crate) async fn ask(&self, request: &Request, stopwatch: &Stopwatch) -> Result<ModelOutput, ModelError> {
        let output = self.call(request, stopwatch).await?;
        if let Some(cache) = self.cache() {
            cache.put(&self.key(request), &output);
        }
        Ok(output)
    }

    fn cache(&self) -> Option<&Arc<dyn AnswerCache>> {
        self.options.cache.as_ref().filter(|_| !self.model.is_free())
    }

    fn key(&self, request: &Request) -> String {
        answer_cache::key(&self.name, self.model.address(), request)
    }

    /// An answer of the model, after as many retries as needed.
    async fn call(&self, request: &Request, stopwatch: &Stopwatch) -> Result<ModelOutput, ModelError> {
        let mut retries = 0;
        loop {
            let turn = stopwatch.wait(self.turns.take(stopwatch.deadline())).await;
            let turn = turn.map_err(|until| self.paused_too_long(until))?;
            let in_minute = match &self.minute {
                Some(minute) => Some(stopwatch.hold(minute.take()).await),
                None => None,
            };
            let error = match self.call_once(request).await {
                Ok(output) => {
                    turn.note_answer();
                    if let (Some(in_minute), Some(usage)) = (in_minute, &output.usage) {
                        in_minute.note_tokens(usage.total_tokens);
                    }
                    return Ok(output);
                }
                Err(error) => error,
            };
            drop(in_minute);
            // A server that says when to come back means all callers.
            if error.fault == ModelFault::Busy || error.retry_after.is_some() {
                turn.note_refusal(error.retry_after.filter(|&wait| wait <= self.options.timeout));
            } else {
                drop(turn);
            }
            let wait = self.wait_before_retry(error, retries, stopwatch.deadline())?;
            retries += 1;
            self.retries.fetch_add(1, Ordering::Relaxed);
            stopwatch.wait(sleep(wait)).await;
        }
    }

    async fn call_once(&self, request: &Request) -> Result<ModelOutput, ModelError> {
        let limit = self.options.timeout;
        timeout(limit, self.model.generate(request)).await.unwrap_or_else(|_| {
            let message = format!("no answer within {} s", limit.as_secs_f64());
            Err(ModelError::new(self.name.clone(), ModelFault::Timeout, message))
        })
    }

    /// How long to wait before the next try, or the error if there is none.
    fn wait_before_retry(
        &self,
        mut error: ModelError,
        retries: u32,
        deadline: Option<Instant>,
    ) -> Result<Duration, ModelError> {
        let retries_max = match error.fault {
            ModelFault::Unreadable => self.options.retries_max.min(UNREADABLE_RETRIES_MAX),
            _ => self.options.retries_max,
        };
        if !error.is_transient() || retries >= retries_max {
            if retries > 0 {
                error.message = format!("{} (after {retries} retries)", error.message);
            }
            return Err(error);
        }
        let Some(asked) = error.retry_after else { return Ok(self.draw_backoff(retries)) };
        let left = deadline.map_or(self.options.timeout, |deadline| deadline.duration_since(Instant::now()));
        if asked > left.min(self.options.timeout) {
            let asked = asked.as_secs_f64();
            error.message = format!("{} (it asks for a pause of {asked} s, which is too long)", error.message);
            return Err(error);
        }
        // The rate limit pauses all calls, including this one, for as long as the server asked.
        Ok(self.draw_backoff(retries))
    }

    /// A random wait between zero and a bound that doubles with each retry, so that callers that failed together do not
    /// retry together.
    fn draw_backoff(&self, retries: u32) -> Duration {
        let bound = self.options.wait_first.saturating_mul(2_u32.saturating_pow(retries)).min(self.options.wait_max);
        // The keys of a hash map are random enough: no answer depends on how long we wait.
        let random = RandomState::new().hash_one(retries);
        bound.mul_f64((random >> 11) as f64 / (1_u64 << 53) as f64)
    }

    fn paused_too_long(&self, until: Instant) -> ModelError {
        let left = until.duration_since(Instant::now()).as_secs_f64();
        let message = format!("it asks for a pause of another {left:.1} s, beyond the time limit of the attempt");
        ModelError::new(self.name.clone(), ModelFault::Busy, message)
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel").field("name", &self.name).field("options", &self.options).finish_non_exhaustive()
    }
}
