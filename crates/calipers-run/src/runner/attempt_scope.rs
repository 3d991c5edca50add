//! What an attempt may use: models, within limits.

use crate::runner::budget::{Budget, Commitment};
use crate::runner::stopwatch::Stopwatch;
use crate::{AttemptFault, AttemptLimits, Channel, ChannelOptions, Model, ModelChannels, ProgramEnvironment, Request};
use calipers_core::{GenerateConfig, LimitReached, Message, ModelOutput, SampleId, Usage};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What programs are called in the budget: which models they use is known when they have answered.
const PROGRAM: &str = "program";

/// The models of a task and their roles, shared by all attempts.
#[derive(Clone)]
pub(crate) struct Cast {
    pub(crate) model: Arc<Channel>,
    pub(crate) roles: Vec<(String, Arc<Channel>)>,
    pub(crate) models: Arc<ModelChannels>,
    pub(crate) config: GenerateConfig,
    pub(crate) limits: AttemptLimits,
    pub(crate) environment: Arc<ProgramEnvironment>,
    pub(crate) budget: Option<Arc<Budget>>,
}

/// What an attempt may use.
///
/// Solvers and scorers call models through it, and it counts their usage. Limits apply to solvers only: reaching one
/// ends the attempt, which is then scored as it is.
pub struct AttemptScope {
    cast: Arc<Cast>,
    sample: SampleId,
    epoch: u32,
    seed: u64,
    stopwatch: Stopwatch,
    /// False while the attempt is scored.
    is_limited: bool,
    ledger: Mutex<Ledger>,
}

/// The usage of an attempt.
#[derive(Clone, Default)]
struct Ledger {
    /// Calls by model, successful or not.
    calls: Vec<(Arc<str>, u32)>,
    /// By model, without what came from the cache.
    spent: Vec<(Arc<str>, Usage)>,
    /// All answers, including cached ones.
    all: Usage,
    answers: u32,
    /// Answers without token counts or costs.
    without_tokens: u32,
    without_cost: u32,
    cached: u32,
}

impl Ledger {
    /// The number of the next call of a model, from 0.
    fn next_call(&mut self, model: &Arc<str>) -> u32 {
        let Some((_, calls)) = self.calls.iter_mut().find(|(name, _)| name == model) else {
            self.calls.push((model.clone(), 1));
            return 0;
        };
        *calls = calls.saturating_add(1);
        *calls - 1
    }
}

/// The measurements of an attempt.
#[derive(Default)]
pub(crate) struct AttemptUsage {
    pub(crate) latency_ms: Option<f64>,
    pub(crate) tokens: Option<u64>,
    pub(crate) cost_usd: Option<f64>,
}

impl AttemptScope {
    /// The scope of a single attempt without a runner.
    #[must_use]
    pub fn new(
        model: Arc<dyn Model>,
        config: GenerateConfig,
        sample: SampleId,
        epoch: u32,
        limits: AttemptLimits,
        seed: u64,
    ) -> Self {
        let resolver: crate::Resolver = Arc::new(|_| Err("only the given models are available here".into()));
        let models = ModelChannels::new(resolver, ChannelOptions::default());
        let model = Arc::new(Channel::new(model, ChannelOptions::default()));
        let cast = Cast {
            model,
            roles: Vec::new(),
            models: Arc::new(models),
            config,
            limits,
            environment: Arc::default(),
            budget: None,
        };
        Self::within(Arc::new(cast), sample, epoch, seed)
    }

    /// A scope for one attempt without limits, to try out a solver or a scorer.
    #[must_use]
    pub fn alone(model: Arc<dyn Model>) -> Self {
        Self::new(model, GenerateConfig::default(), SampleId::Int(1), 1, AttemptLimits::default(), 0)
    }

    /// Adds a model for a role, such as `grader`, or under a name.
    #[must_use]
    pub fn role(mut self, role: impl Into<String>, model: Arc<dyn Model>) -> Self {
        let mut cast = (*self.cast).clone();
        cast.roles.push((role.into(), Arc::new(Channel::new(model, ChannelOptions::default()))));
        self.cast = Arc::new(cast);
        self
    }

    /// The scope of one attempt of a run.
    pub(crate) fn within(cast: Arc<Cast>, sample: SampleId, epoch: u32, seed: u64) -> Self {
        Self {
            stopwatch: Stopwatch::start(cast.limits.time),
            cast,
            sample,
            epoch,
            seed,
            is_limited: true,
            ledger: Mutex::default(),
        }
    }

    /// Asks the model of the task.
    pub async fn generate(&self, messages: &[Message], config: &GenerateConfig) -> Result<ModelOutput, AttemptFault> {
        self.ask(&self.cast.model, messages, config).await
    }

    /// Asks another model, by its name or its role (`grader`). The model of the task takes roles that are not assigned.
    pub async fn generate_as(
        &self,
        model: &str,
        messages: &[Message],
        config: &GenerateConfig,
    ) -> Result<ModelOutput, AttemptFault> {
        let channel = self.channel(model)?;
        self.ask(&channel, messages, config).await
    }

    /// Counts the usage of a program that calls models itself.
    pub fn record(&self, model: &str, usage: &Usage) -> Result<(), AttemptFault> {
        self.account(&model.into(), &PROGRAM.into(), Some(usage), false)?;
        self.check_known(&format!("`{model}`"), Some(usage), false)?;
        self.check_used()
    }

    /// Notes that a program does not say what it used. If that is limited, it is an error.
    pub fn record_nothing(&self, program: &str) -> Result<(), AttemptFault> {
        self.check_known(&format!("`{program}`"), None, false)
    }

    /// The environment of the programs that solvers and scorers run.
    #[must_use]
    pub fn environment(&self) -> &ProgramEnvironment {
        &self.cast.environment
    }

    /// Takes room in the budget of the run for a program.
    pub(crate) async fn commit_program(&self) -> Result<Option<Commitment<'_>>, AttemptFault> {
        self.commit(&PROGRAM.into()).await
    }

    async fn commit(&self, payee: &Arc<str>) -> Result<Option<Commitment<'_>>, AttemptFault> {
        match &self.cast.budget {
            Some(budget) => match self.stopwatch.hold(budget.commit(payee)).await {
                Ok(commitment) => Ok(Some(commitment)),
                Err(spent) => Err(AttemptFault::Budget(spent)),
            },
            None => Ok(None),
        }
    }

    pub(crate) fn stopwatch(&self) -> &Stopwatch {
        &self.stopwatch
    }

    /// The seed of this attempt, the same in every run with the same seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// What the attempt may use.
    #[must_use]
    pub fn limits(&self) -> &AttemptLimits {
        &self.cast.limits
    }

    fn channel(&self, model: &str) -> Result<Arc<Channel>, AttemptFault> {
        let Cast { model: own, roles, models, .. } = &*self.cast;
        if let Some((_, channel)) = roles.iter().find(|(role, _)| role == model) {
            return Ok(channel.clone());
        }
        // Names contain a slash; roles do not.
        if **own.name() == *model || !(model.contains('/') || models.has(model)) {
            return Ok(own.clone());
        }
        models.get(model).map_err(|why| AttemptFault::Other(format!("model `{model}`: {why}")))
    }

    async fn ask(
        &self,
        channel: &Channel,
        messages: &[Message],
        config: &GenerateConfig,
    ) -> Result<ModelOutput, AttemptFault> {
        // A solver that ignores a limit cannot exceed it. An answer would be one more message.
        self.check_used()?;
        self.check_messages(messages.len().saturating_add(1))?;
        let request = Request {
            messages: messages.to_vec(),
            config: config.or(&self.cast.config),
            sample: self.sample.clone(),
            epoch: self.epoch,
            call: self.ledger().next_call(channel.name()),
        };
        let (recalled, name) = (channel.recall(&request), channel.name());
        let is_cached = recalled.is_some();
        let output = match recalled {
            Some(output) => output,
            None => {
                let commitment = if channel.is_free() { None } else { self.commit(name).await? };
                let output = channel.ask(&request, &self.stopwatch).await?;
                self.account(name, name, output.usage.as_ref(), false)?;
                drop(commitment);
                output
            }
        };
        if is_cached {
            self.account(name, name, output.usage.as_ref(), true)?;
        }
        if !channel.is_free() {
            self.check_known(&format!("model `{name}`"), output.usage.as_ref(), is_cached)?;
        }
        if !is_cached && channel.limits_tokens() && output.usage.is_none() {
            let why =
                format!("the limit on tokens per minute cannot be enforced: model `{name}` does not report its tokens");
            return Err(AttemptFault::Other(why + "; run without it"));
        }
        self.check_used()?;
        Ok(output)
    }

    fn account(
        &self,
        model: &Arc<str>,
        payee: &Arc<str>,
        usage: Option<&Usage>,
        is_cached: bool,
    ) -> Result<(), AttemptFault> {
        let mut ledger = self.ledger();
        ledger.answers = ledger.answers.saturating_add(1);
        ledger.cached += u32::from(is_cached);
        ledger.without_tokens += u32::from(usage.is_none());
        ledger.without_cost += u32::from(usage.is_none_or(|usage| usage.cost_usd.is_none()));
        let Some(usage) = usage else { return Ok(()) };
        if usage.cost_usd.is_some_and(|cost| !cost.is_finite() || cost < 0.0) {
            return Err(AttemptFault::Other(format!("model `{model}` says that it cost {:?} dollars", usage.cost_usd)));
        }
        ledger.all.add(usage);
        if !is_cached {
            add_usage(&mut ledger.spent, model, usage);
            if let (Some(budget), Some(cost)) = (&self.cast.budget, usage.cost_usd) {
                budget.spend(payee, cost);
            }
        }
        Ok(())
    }

    /// A limit that cannot be enforced is an error, not ignored. The budget holds for scorers, too.
    fn check_known(&self, who: &str, usage: Option<&Usage>, is_cached: bool) -> Result<(), AttemptFault> {
        let AttemptLimits { tokens, cost_usd, .. } = &self.cast.limits;
        let has_cost = usage.is_some_and(|usage| usage.cost_usd.is_some());
        let (limit, what) = match usage {
            None if tokens.is_some() && self.is_limited => ("the token limit", "its tokens"),
            _ if cost_usd.is_some() && self.is_limited && !has_cost => ("the cost limit", "its cost"),
            _ if self.cast.budget.is_some() && !is_cached && !has_cost => ("the budget", "its cost"),
            _ => return Ok(()),
        };
        Err(AttemptFault::Other(format!("{limit} cannot be enforced: {who} does not report {what}; run without it")))
    }

    fn check_used(&self) -> Result<(), AttemptFault> {
        let AttemptLimits { tokens, cost_usd, .. } = &self.cast.limits;
        if !self.is_limited || (tokens.is_none() && cost_usd.is_none()) {
            return Ok(());
        }
        let used = self.ledger().all;
        if let Some(limit) = tokens.filter(|&limit| used.total_tokens > limit) {
            return Err(AttemptFault::Limit(LimitReached { kind: "token", limit: limit as f64 }));
        }
        if let Some(limit) = cost_usd.filter(|&limit| used.cost_usd.is_some_and(|cost| cost > limit)) {
            return Err(AttemptFault::Limit(LimitReached { kind: "cost", limit }));
        }
        Ok(())
    }

    /// Checks the length of a conversation.
    pub(crate) fn check_messages(&self, messages: usize) -> Result<(), AttemptFault> {
        match self.cast.limits.messages {
            Some(limit) if self.is_limited && messages > limit => {
                Err(AttemptFault::Limit(LimitReached { kind: "message", limit: limit as f64 }))
            }
            _ => Ok(()),
        }
    }

    /// Begins scoring, with this time limit and no others.
    pub(crate) fn begin_scoring(&mut self, time: Option<Duration>) {
        self.is_limited = false;
        self.stopwatch.limit(time);
    }

    pub(crate) fn working_time(&self) -> Duration {
        self.stopwatch.working_time()
    }

    /// The measurements so far. Partial knowledge counts as none.
    pub(crate) fn usage_so_far(&self) -> AttemptUsage {
        let ledger = self.ledger();
        let asked = ledger.answers > 0;
        AttemptUsage {
            // An answer from the cache takes no time, so there is nothing to measure.
            latency_ms: (ledger.cached == 0).then(|| self.working_time().as_secs_f64() * 1000.0),
            tokens: (asked && ledger.without_tokens == 0).then_some(ledger.all.total_tokens),
            cost_usd: ledger.all.cost_usd.filter(|_| ledger.without_cost == 0),
        }
    }

    /// How many answers came from the cache.
    pub(crate) fn cached_answers(&self) -> u32 {
        self.ledger().cached
    }

    /// The usage by model, without cached answers.
    pub(crate) fn usage_by_model(&self) -> Vec<(Arc<str>, Usage)> {
        self.ledger().spent.clone()
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for AttemptScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("sample", &self.sample).field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

/// Adds the usage of a model to a list.
pub(crate) fn add_usage(sums: &mut Vec<(Arc<str>, Usage)>, model: &Arc<str>, usage: &Usage) {
    match sums.iter_mut().find(|(name, _)| name == model) {
        Some((_, sum)) => sum.add(usage),
        None => sums.push((model.clone(), *usage)),
    }
}
