//! One attempt, from a sample to a transcript.

use super::RunObserver;
use super::stopwatch::Stopwatch;
use crate::runner::attempt_scope::{AttemptUsage, Cast, add_usage};
use crate::{AttemptFault, AttemptScope, AttemptState, ScorerResult, Task};
use calipers_core::{
    CACHED_ANSWERS, GenerateConfig, LimitReached, Outcome, SampleId, TaskSample, Transcript, Usage, Value,
};
use futures_util::FutureExt as _;
use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What all attempts of a run share.
pub(crate) struct Stage {
    pub(crate) task: Task,
    pub(crate) scorer_names: Vec<Arc<str>>,
    pub(crate) cast: Arc<Cast>,
    pub(crate) watch: Arc<dyn RunObserver>,
}

/// An attempt to be made.
pub(crate) struct PlannedAttempt {
    pub(crate) sample: Arc<TaskSample>,
    pub(crate) id: SampleId,
    pub(crate) epoch: u32,
    pub(crate) seed: u64,
    /// What an earlier run spent on it in vain.
    pub(crate) spent: Vec<(Arc<str>, Usage)>,
}

/// One try of an attempt.
struct Try {
    state: AttemptState,
    scope: AttemptScope,
    measured: AttemptUsage,
    scores: Vec<(Arc<str>, Outcome)>,
    limit: Option<LimitReached>,
    error: Option<Arc<str>>,
    /// True if another try cannot help.
    is_final: bool,
}

/// What earlier tries of an attempt leave.
#[derive(Default)]
struct Earlier {
    errors: Vec<Arc<str>>,
    spent: Vec<(Arc<str>, Usage)>,
    worked: Duration,
}

impl PlannedAttempt {
    /// Makes the attempt, with retries if it fails and the task allows them.
    pub(crate) async fn make(self, stage: Arc<Stage>) -> Transcript {
        let started_ms = now_ms();
        let mut earlier = Earlier { spent: self.spent.clone(), ..Earlier::default() };
        loop {
            let tried = self.try_once(&stage).await;
            match tried.error.clone().filter(|_| !tried.is_final) {
                Some(error) if (earlier.errors.len() as u64) < u64::from(stage.task.retry_on_error) => {
                    stage.watch.on_retry(&self.id, self.epoch, &error);
                    earlier.errors.push(error);
                    earlier.worked += tried.scope.working_time();
                    for (model, usage) in tried.scope.usage_by_model() {
                        add_usage(&mut earlier.spent, &model, &usage);
                    }
                }
                _ => return tried.into_transcript(started_ms, earlier),
            }
        }
    }

    async fn try_once(&self, stage: &Stage) -> Try {
        let mut tried = Try {
            state: AttemptState::new(self.sample.clone(), self.id.clone(), self.epoch),
            scope: AttemptScope::within(stage.cast.clone(), self.id.clone(), self.epoch, self.seed),
            measured: AttemptUsage::default(),
            scores: Vec::new(),
            limit: None,
            error: None,
            is_final: false,
        };
        if let Err(fault) = tried.run(stage).await {
            tried.scores.clear();
            tried.is_final = matches!(fault, AttemptFault::Budget(_));
            tried.error = Some(fault.to_string().into());
        }
        tried
    }
}

impl Try {
    async fn run(&mut self, stage: &Stage) -> Result<(), AttemptFault> {
        let time = stage.cast.limits.time;
        let solving = solve(&stage.task, &mut self.state, &self.scope);
        let solved = contain_panics(limit_time(time, self.scope.stopwatch(), solving)).await;
        self.measured = self.scope.usage_so_far();
        match solved {
            Err(AttemptFault::Limit(limit)) => self.limit = Some(limit),
            solved => solved?,
        }
        // An attempt that ran out of time still gets a score, but scoring may hang as well: after half of the time
        // limit, as in Inspect, it is an error.
        let time = time.map(|time| time / 2);
        self.scope.begin_scoring(time);
        let scoring = score(stage, &mut self.state, &mut self.scores, &self.scope);
        contain_panics(limit_time(time, self.scope.stopwatch(), scoring)).await.map_err(|fault| match fault {
            AttemptFault::Limit(reached) => {
                AttemptFault::Other(format!("scoring hit the time limit of {} s", reached.limit))
            }
            fault => fault,
        })
    }

    fn into_transcript(self, started_ms: i64, earlier: Earlier) -> Transcript {
        let Self { mut state, scope, measured, scores, limit, error, is_final: _ } = self;
        let cached = scope.cached_answers();
        if cached > 0 {
            set(&mut state.fields, CACHED_ANSWERS.into(), i64::from(cached).into());
        }
        let mut usage = earlier.spent;
        for (model, used) in scope.usage_by_model() {
            add_usage(&mut usage, &model, &used);
        }
        Transcript {
            input: state.sample.input.clone(),
            id: state.id,
            epoch: state.epoch,
            choices: state.choices.into_iter().map(|choice| choice.text).collect(),
            target: state.target,
            metadata: state.metadata,
            messages: state.messages,
            output: state.output,
            scores,
            fields: with_measured(state.fields, &measured),
            usage,
            started_ms,
            completed_ms: now_ms(),
            working_s: (earlier.worked + scope.working_time()).as_secs_f64(),
            error,
            error_retries: earlier.errors,
            limit,
        }
    }
}

/// Runs the scorers.
async fn score(
    stage: &Stage,
    state: &mut AttemptState,
    scores: &mut Vec<(Arc<str>, Outcome)>,
    scope: &AttemptScope,
) -> Result<(), AttemptFault> {
    for (scorer, name) in stage.task.scorers.iter().zip(&stage.scorer_names) {
        let ScorerResult { outcome, fields } = scorer.score(state, scope).await?;
        scores.push((name.clone(), outcome));
        for (field, value) in fields {
            set(&mut state.fields, field, value);
        }
    }
    Ok(())
}

/// Runs the solvers.
async fn solve(task: &Task, state: &mut AttemptState, scope: &AttemptScope) -> Result<(), AttemptFault> {
    if task.solver.is_empty() {
        let output = scope.generate(&state.messages, &GenerateConfig::default()).await?;
        state.messages.push(output.message.clone());
        state.output = Some(output);
    }
    for solver in &task.solver {
        if state.completed {
            break;
        }
        solver.solve(state, scope).await?;
        scope.check_messages(state.messages.len())?;
    }
    Ok(())
}

/// Runs work with a time limit, which the stopwatch measures.
async fn limit_time<T>(
    time: Option<Duration>,
    stopwatch: &Stopwatch,
    work: impl Future<Output = Result<T, AttemptFault>>,
) -> Result<T, AttemptFault> {
    // Most runs have no limit, and a timer would cost more than a quick attempt itself.
    let Some(time) = time else { return work.await };
    tokio::select! {
        biased;
        done = work => done,
        () = stopwatch.run_down() => Err(AttemptFault::Limit(LimitReached { kind: "time", limit: time.as_secs_f64() })),
    }
}

/// Runs work and turns a panic into a fault of the attempt, so that a bug in one solver does not end the others.
async fn contain_panics<T>(work: impl Future<Output = Result<T, AttemptFault>>) -> Result<T, AttemptFault> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|panic| Err(AttemptFault::Other(describe(&*panic))))
}

fn describe(panic: &(dyn Any + Send)) -> String {
    let said = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("a solver, scorer or model panicked: {}", said.unwrap_or("it did not say why"))
}

/// The fields with the runner's measurements, unless a solver has set them.
fn with_measured(mut fields: Vec<(Arc<str>, Value)>, measured: &AttemptUsage) -> Vec<(Arc<str>, Value)> {
    let tokens = measured.tokens.and_then(|tokens| i64::try_from(tokens).ok());
    let measured = [
        ("latency_ms", measured.latency_ms.map(Value::from)),
        ("tokens_used", tokens.map(Value::from)),
        ("cost_usd", measured.cost_usd.map(Value::from)),
    ];
    for (name, value) in measured {
        if let Some(value) = value
            && !fields.iter().any(|(field, _)| **field == *name)
        {
            fields.push((name.into(), value));
        }
    }
    fields
}

fn set(fields: &mut Vec<(Arc<str>, Value)>, name: Arc<str>, value: Value) {
    match fields.iter_mut().find(|(field, _)| *field == name) {
        Some((_, old)) => *old = value,
        None => fields.push((name, value)),
    }
}

/// Milliseconds after 1970.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
