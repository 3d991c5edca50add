//! Runs of small tasks on models that do as each test says.

use async_trait::async_trait;
use calipers_core::{GenerateConfig, Message, ModelOutput, SampleId, Score, TaskSample, Transcript, Usage, Value};
use calipers_run::{
    AnswerCache, AttemptFault, AttemptLimits, AttemptScope, AttemptState, ChannelOptions, FailOnError, Job, Model,
    ModelChannels, ModelError, ModelFault, Request, RunObserver, RunOptions, RunStatus, RunSummary, Scorer,
    ScorerResult, SkippedAttempt, Solver, StopRequest, StoppingRule, Task, TaskBuilder, run,
};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

const NAME: &str = "test/model";

type Answer = Result<ModelOutput, ModelError>;

/// A model that does as a function says, given a request and how many calls came before.
struct Scripted<F> {
    name: &'static str,
    answer: F,
    takes: Duration,
    calls: AtomicUsize,
    now: AtomicUsize,
    most: AtomicUsize,
    times: Mutex<Vec<Instant>>,
}

impl<F: Fn(&Request, usize) -> Answer + Send + Sync> Scripted<F> {
    fn new(answer: F) -> Self {
        Self {
            name: NAME,
            answer,
            takes: Duration::ZERO,
            calls: AtomicUsize::new(0),
            now: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            times: Mutex::default(),
        }
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    /// When calls came, in seconds after the first.
    fn seconds(&self) -> Vec<f64> {
        let times = self.times.lock().expect("no thread panics here");
        times.iter().map(|at| (*at - times[0]).as_secs_f64()).collect()
    }
}

#[async_trait]
impl<F: Fn(&Request, usize) -> Answer + Send + Sync> Model for Scripted<F> {
    fn name(&self) -> &str {
        self.name
    }

    async fn generate(&self, request: &Request) -> Answer {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        self.times.lock().expect("no thread panics here").push(Instant::now());
        self.most.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        if !self.takes.is_zero() {
            sleep(self.takes).await;
        }
        self.now.fetch_sub(1, Ordering::SeqCst);
        (self.answer)(request, call)
    }
}

/// Says what it was asked, and what it took.
fn echo(request: &Request) -> ModelOutput {
    let asked = request.messages.last().map_or("", |message| &message.content);
    let mut output = ModelOutput::new("model", format!("{asked}?"));
    output.usage = Some(Usage { cost_usd: Some(0.5), ..Usage::new(3, 7) });
    output
}

fn busy(retry_after: Option<u64>) -> ModelError {
    let mut error = ModelError::new(NAME, ModelFault::Busy, "too many requests");
    error.retry_after = retry_after.map(Duration::from_secs);
    error
}

fn failure(fault: ModelFault) -> ModelError {
    ModelError::new(NAME, fault, "it failed")
}

/// A scorer that is right when the answer is the question with a question mark.
struct Echoed;

#[async_trait]
impl Scorer for Echoed {
    fn name(&self) -> &str {
        "echoed"
    }

    async fn score(&self, state: &AttemptState, _: &AttemptScope) -> Result<ScorerResult, AttemptFault> {
        let right = state.completion() == format!("{}?", state.sample.input.text());
        Ok(Score::new(right).into())
    }
}

/// A solver that is a function of the attempt.
struct Step<F>(F);

#[async_trait]
impl<F: AsyncStep> Solver for Step<F> {
    fn name(&self) -> &str {
        "step"
    }

    async fn solve(&self, state: &mut AttemptState, scope: &AttemptScope) -> Result<(), AttemptFault> {
        self.0.step(state, scope).await
    }
}

#[async_trait]
trait AsyncStep: Send + Sync {
    async fn step(&self, state: &mut AttemptState, scope: &AttemptScope) -> Result<(), AttemptFault>;
}

/// Asks the model again and again.
struct AskForEver;

#[async_trait]
impl AsyncStep for AskForEver {
    async fn step(&self, state: &mut AttemptState, scope: &AttemptScope) -> Result<(), AttemptFault> {
        loop {
            let output = scope.generate(&state.messages, &GenerateConfig::default()).await?;
            state.messages.push(output.message.clone());
            state.output = Some(output);
        }
    }
}

/// Panics on one sample and answers the others.
struct PanicOn(&'static str);

#[async_trait]
impl AsyncStep for PanicOn {
    async fn step(&self, state: &mut AttemptState, _: &AttemptScope) -> Result<(), AttemptFault> {
        assert!(state.id != SampleId::from(self.0), "not this one");
        state.output = Some(ModelOutput::new("none", format!("{}?", state.sample.input.text())));
        Ok(())
    }
}

fn samples(count: usize) -> Vec<Arc<TaskSample>> {
    (0..count).map(|i| Arc::new(TaskSample::new(format!("q{i}")).id(format!("s{i}").as_str()))).collect()
}

fn task() -> TaskBuilder {
    Task::builder("test").scorer(Echoed)
}

fn models(model: Arc<dyn Model>, options: ChannelOptions) -> Arc<ModelChannels> {
    Arc::new(ModelChannels::new(Arc::new(|_| Err("no such model".into())), options).with(model))
}

fn job(task: TaskBuilder, count: usize, model: Arc<dyn Model>) -> Job {
    Job::new(task.build(), samples(count), models(model, ChannelOptions::default()), NAME)
}

/// Runs a job and takes its transcripts as they come.
async fn go(job: Job) -> (RunSummary, Vec<Transcript>) {
    let (sender, mut receiver) = mpsc::channel(4);
    let taking = tokio::spawn(async move {
        let mut taken = Vec::new();
        while let Some(transcript) = receiver.recv().await {
            taken.push(transcript);
        }
        taken
    });
    let ended = run(job, sender).await.expect("the run begins");
    (ended, taking.await.expect("the taker is sound"))
}

fn names(transcripts: &[Transcript]) -> Vec<String> {
    transcripts.iter().map(|t| format!("{}/{}", t.id, t.epoch)).collect()
}

fn field<'a>(transcript: &'a Transcript, name: &str) -> Option<&'a Value> {
    transcript.fields.iter().find(|(field, _)| **field == *name).map(|(_, value)| value)
}

/// The same transcripts without the clock, in one order.
fn timeless(mut transcripts: Vec<Transcript>) -> Vec<Transcript> {
    transcripts.sort_by_key(|t| (t.id.clone(), t.epoch));
    for transcript in &mut transcripts {
        (transcript.started_ms, transcript.completed_ms, transcript.working_s) = (0, 0, 0.0);
        transcript.fields.retain(|(name, _)| &**name != "latency_ms");
    }
    transcripts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_do_not_depend_on_what_runs_beside_them_nor_on_the_order() {
    let mut runs = Vec::new();
    for (at_once, shuffle) in [(1, false), (3, false), (64, false), (7, true)] {
        let model = Arc::new(Scripted::new(|request, _| Ok(echo(request))));
        let mut job = job(task().solver(Step(Seeded)), 40, model);
        job.options =
            RunOptions { epochs: 3, seed: 9, shuffle, attempts_at_once: Some(at_once), ..RunOptions::default() };
        let (ended, transcripts) = go(job).await;
        assert_eq!((ended.status, ended.finished, ended.errored), (RunStatus::Success, 120, 0));
        runs.push(timeless(transcripts));
    }
    assert_eq!(runs[0].len(), 120);
    assert!(runs.iter().all(|run| run == &runs[0]));
    let answers: HashSet<&str> = runs[0].iter().map(|t| t.output.as_ref().unwrap().completion()).collect();
    assert_eq!(answers.len(), 120, "each attempt has its own seed");
}

/// Asks with the seed of the attempt.
struct Seeded;

#[async_trait]
impl AsyncStep for Seeded {
    async fn step(&self, state: &mut AttemptState, scope: &AttemptScope) -> Result<(), AttemptFault> {
        tokio::task::yield_now().await;
        state.messages.push(Message::user(scope.seed().to_string()));
        state.output = Some(scope.generate(&state.messages, &GenerateConfig::default()).await?);
        Ok(())
    }
}

#[tokio::test]
async fn a_transcript_says_what_happened() {
    let model = Arc::new(Scripted::new(|request, _| Ok(echo(request))));
    let (ended, transcripts) = go(job(task().scorer(Echoed), 2, model)).await;
    let first = &transcripts[0];
    assert_eq!(first.messages, [Message::user("q0"), Message::assistant("q0?")]);
    let scores: Vec<&str> = first.scores.iter().map(|(name, _)| &**name).collect();
    assert_eq!(scores, ["echoed", "echoed1"]);
    assert_eq!(first.scores[0].1, Score::new(true).into());
    assert_eq!(first.usage, [(NAME.into(), Usage { cost_usd: Some(0.5), ..Usage::new(3, 7) })]);
    assert_eq!((field(first, "tokens_used"), field(first, "cost_usd")), (Some(&10.into()), Some(&0.5.into())));
    assert!(field(first, "latency_ms").is_some());
    assert!(first.started_ms > 0 && first.completed_ms >= first.started_ms);
    assert_eq!(ended.usage, [(NAME.into(), Usage { cost_usd: Some(1.0), ..Usage::new(6, 14) })]);
}

#[tokio::test]
async fn a_resumed_run_makes_only_what_is_missing() {
    let whole = {
        let mut job = job(task(), 5, Arc::new(Scripted::new(|request, _| Ok(echo(request)))));
        job.options.epochs = 2;
        timeless(go(job).await.1)
    };
    for shuffle in [false, true] {
        let model = Arc::new(Scripted::new(|request, _| Ok(echo(request))));
        let mut job = job(task(), 5, model.clone());
        let done: HashSet<(SampleId, u32)> =
            [("s0", 1), ("s3", 2), ("s4", 1), ("gone", 1)].map(|(id, e)| (id.into(), e)).into();
        job.options = RunOptions { epochs: 2, done: done.clone(), shuffle, ..RunOptions::default() };
        let planned = Arc::new(Count::default());
        job.watch = planned.clone();
        let (ended, transcripts) = go(job).await;
        assert_eq!((ended.status, ended.finished, ended.skipped, model.calls()), (RunStatus::Success, 7, 3, 7));
        assert_eq!(planned.planned.load(Ordering::SeqCst), 7);
        let missing: Vec<_> = whole.iter().filter(|t| !done.contains(&(t.id.clone(), t.epoch))).cloned().collect();
        assert_eq!(timeless(transcripts), missing);
    }
}

/// Counts what it sees.
#[derive(Default)]
struct Count {
    planned: AtomicUsize,
    started: AtomicUsize,
    retried: AtomicUsize,
    finished: AtomicUsize,
    stopped: AtomicUsize,
}

impl RunObserver for Count {
    fn on_plan(&self, attempts: u64) {
        self.planned.store(attempts as usize, Ordering::SeqCst);
    }

    fn on_start(&self, _: &SampleId, _: u32) {
        self.started.fetch_add(1, Ordering::SeqCst);
    }

    fn on_retry(&self, _: &SampleId, _: u32, error: &str) {
        assert!(error.contains("it failed"), "{error}");
        self.retried.fetch_add(1, Ordering::SeqCst);
    }

    fn on_skip(&self, _: &SkippedAttempt) {
        self.stopped.fetch_add(1, Ordering::SeqCst);
    }

    fn on_finish(&self, _: &Transcript) {
        self.finished.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn as_many_attempts_may_break_as_the_task_says() {
    // 10 samples, one after the other; s2, s4 and s6 break.
    let refuse = |request: &Request, _| match request.sample.to_string().as_str() {
        "s2" | "s4" | "s6" => Err(failure(ModelFault::Refused)),
        _ => Ok(echo(request)),
    };
    for (rule, finished, errored, error) in [
        (FailOnError::First, 3, 1, Some("attempt 1 of sample `s2` ended in an error: model `test/model`: it failed")),
        (FailOnError::Never, 10, 3, None),
        (FailOnError::Count(2), 5, 2, Some("(2 attempts ended in an error, and 2 stop the run)")),
        (FailOnError::Count(4), 10, 3, None),
        (FailOnError::Share(0.3), 7, 3, Some("(3 of 10 attempts ended in an error, and a share of 0.3 stops the run)")),
        (FailOnError::Share(0.4), 10, 3, None),
    ] {
        let mut job = job(task().fail_on_error(rule), 10, Arc::new(Scripted::new(refuse)));
        job.options.attempts_at_once = Some(1);
        let (ended, transcripts) = go(job).await;
        assert_eq!((ended.finished, ended.errored), (finished, errored), "{rule:?}");
        assert_eq!(transcripts.len() as u64, finished);
        match error {
            None => assert_eq!((ended.status, ended.error), (RunStatus::Success, None)),
            Some(error) => {
                assert_eq!(ended.status, RunStatus::Error);
                assert!(ended.error.as_ref().is_some_and(|said| said.ends_with(error)), "{:?}", ended.error);
            }
        }
        let broken: Vec<_> = transcripts.iter().filter(|t| t.error.is_some()).collect();
        assert_eq!(broken.len() as u64, errored);
        assert!(broken.iter().all(|t| t.scores.is_empty()), "what broke has no scores");
    }
}

#[tokio::test]
async fn an_attempt_that_breaks_is_made_again_as_often_as_it_may() {
    // Every first try of an attempt breaks, and s0 breaks always.
    let tries: Mutex<HashMap<String, u32>> = Mutex::default();
    let model = Scripted::new(move |request: &Request, _| {
        let mut tries = tries.lock().expect("no thread panics here");
        let tried = tries.entry(request.sample.to_string()).or_default();
        *tried += 1;
        if *tried == 1 || request.sample == "s0".into() { Err(failure(ModelFault::Refused)) } else { Ok(echo(request)) }
    });
    let mut job = job(task().fail_on_error(FailOnError::Never).retry_on_error(2), 3, Arc::new(model));
    let seen = Arc::new(Count::default());
    job.watch = seen.clone();
    let (ended, transcripts) = go(job).await;
    assert_eq!((ended.finished, ended.errored), (3, 1));
    assert_eq!(seen.retried.load(Ordering::SeqCst), 4);
    assert_eq!((seen.started.load(Ordering::SeqCst), seen.finished.load(Ordering::SeqCst)), (3, 3));
    for transcript in timeless(transcripts) {
        let is_s0 = transcript.id == "s0".into();
        assert_eq!(transcript.error_retries.len(), if is_s0 { 2 } else { 1 });
        assert_eq!(transcript.error.is_some(), is_s0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_model_is_left_alone_by_everybody_for_as_long_as_it_asks() {
    let model = Arc::new(Scripted::new(|request: &Request, call| match call {
        0 => Err(busy(Some(20))),
        _ => Ok(echo(request)),
    }));
    let mut job = job(task(), 8, model.clone());
    job.options.attempts_at_once = Some(1);
    let models = job.models.clone();
    let (ended, transcripts) = go(job).await;
    assert_eq!((ended.finished, ended.errored, models.retries()), (8, 0, 1));
    let seconds = model.seconds();
    assert!((20.0..20.1).contains(&seconds[1]), "{seconds:?}");
    assert!(transcripts[0].working_s < 0.1, "waiting is not work");
    let latency = transcripts.iter().map(|t| field(t, "latency_ms").cloned());
    assert!(latency.into_iter().all(|ms| matches!(ms, Some(Value::Float(ms)) if ms < 100.0)));
}

#[tokio::test(start_paused = true)]
async fn others_wait_too_while_a_model_wants_to_be_left_alone() {
    for fault in [ModelFault::Busy, ModelFault::Server] {
        let model = Arc::new(Scripted::new(move |request: &Request, call| match call {
            0 => Err(ModelError { fault, ..busy(Some(30)) }),
            _ => Ok(echo(request)),
        }));
        let options = ChannelOptions { connections: Some(1), ..ChannelOptions::default() };
        let mut job = Job::new(task().build(), samples(4), models(model.clone(), options), NAME);
        job.options.attempts_at_once = Some(4);
        assert_eq!(go(job).await.0.errored, 0);
        assert!(model.seconds()[1..].iter().all(|&at| at >= 30.0), "{:?}", model.seconds());
    }
}

/// Says that no further solver is wanted.
struct Done;

#[async_trait]
impl AsyncStep for Done {
    async fn step(&self, state: &mut AttemptState, _: &AttemptScope) -> Result<(), AttemptFault> {
        state.completed = true;
        Ok(())
    }
}

#[tokio::test]
async fn a_solver_that_is_done_for_good_is_the_last() {
    let model = Arc::new(Scripted::new(|request: &Request, _| Ok(echo(request))));
    let task = task().solver(Step(Chatty)).solver(Step(Done)).solver(Step(Chatty));
    let (_, transcripts) = go(job(task, 1, model)).await;
    assert_eq!((transcripts[0].messages.len(), transcripts[0].scores.len()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_given_up_does_not_wait_long_for_the_rest() {
    let model = Arc::new(Slow);
    let mut job = job(task(), 20, model);
    job.options = RunOptions { attempts_at_once: Some(4), grace: Duration::from_secs(3), ..RunOptions::default() };
    let start = Instant::now();
    let (ended, transcripts) = go(job).await;
    assert_eq!((ended.status, ended.errored, ended.finished, ended.cut_off), (RunStatus::Error, 1, 2, 2));
    assert_eq!((transcripts.len(), start.elapsed().as_secs()), (2, 3));
}

/// Refuses the first sample, answers the second after two seconds and the others after an hour.
struct Slow;

#[async_trait]
impl Model for Slow {
    fn name(&self) -> &str {
        NAME
    }

    async fn generate(&self, request: &Request) -> Answer {
        match request.sample.to_string().as_str() {
            "s0" => return Err(failure(ModelFault::Refused)),
            "s1" => sleep(Duration::from_secs(2)).await,
            _ => sleep(Duration::from_secs(3600)).await,
        }
        Ok(echo(request))
    }
}

/// Ignores what it is told, and asks ten times.
struct Stubborn;

#[async_trait]
impl AsyncStep for Stubborn {
    async fn step(&self, state: &mut AttemptState, scope: &AttemptScope) -> Result<(), AttemptFault> {
        for _ in 0..9 {
            let _ = scope.generate(&state.messages, &GenerateConfig::default()).await;
        }
        scope.generate(&state.messages, &GenerateConfig::default()).await.map(|_| ())
    }
}

#[tokio::test]
async fn a_solver_that_overlooks_a_limit_does_not_get_beyond_it() {
    let model = Arc::new(Scripted::new(|request: &Request, _| Ok(echo(request))));
    let limits = AttemptLimits { tokens: Some(15), ..AttemptLimits::default() };
    let (_, transcripts) = go(job(task().solver(Step(Stubborn)).limits(limits), 1, model.clone())).await;
    assert_eq!((model.calls(), transcripts[0].limit.as_ref().map(|limit| limit.kind)), (2, Some("token")));
}

/// Talks without asking anybody.
struct Chatty;

#[async_trait]
impl AsyncStep for Chatty {
    async fn step(&self, state: &mut AttemptState, _: &AttemptScope) -> Result<(), AttemptFault> {
        state.messages.push(Message::assistant("and another thing"));
        Ok(())
    }
}

#[tokio::test]
async fn messages_count_whoever_adds_them() {
    for (messages, reached) in [(3, None), (2, Some("message"))] {
        let model = Arc::new(Scripted::new(|request: &Request, _| Ok(echo(request))));
        let limits = AttemptLimits { messages: Some(messages), ..AttemptLimits::default() };
        let task = task().solver(Step(Chatty)).solver(Step(Chatty)).limits(limits);
        let (_, transcripts) = go(job(task, 1, model)).await;
        assert_eq!(transcripts[0].limit.as_ref().map(|limit| limit.kind), reached);
    }
}

/// A program that says what it took.
struct Agent;

#[async_trait]
impl AsyncStep for Agent {
    async fn step(&self, state: &mut AttemptState, scope: &AttemptScope) -> Result<(), AttemptFault> {
        let usage = Usage { cost_usd: Some(2.0), ..Usage::new(100, 20) };
        scope.record("agent", &usage)?;
        state.fields.push(("latency_ms".into(), 7.into()));
        Ok(())
    }
}

#[tokio::test]
async fn what_a_program_says_that_it_took_counts_as_if_we_had_asked() {
    let model = Arc::new(Scripted::new(|request: &Request, _| Ok(echo(request))));
    for (limit, reached) in [(3.0, None), (1.0, Some("cost"))] {
        let limits = AttemptLimits { cost_usd: Some(limit), ..AttemptLimits::default() };
        let (ended, transcripts) = go(job(task().solver(Step(Agent)).limits(limits), 1, model.clone())).await;
        assert_eq!(transcripts[0].limit.as_ref().map(|limit| limit.kind), reached);
        assert_eq!(ended.usage, [("agent".into(), Usage { cost_usd: Some(2.0), ..Usage::new(100, 20) })]);
        assert_eq!(field(&transcripts[0], "tokens_used"), Some(&120.into()));
        if reached.is_none() {
            assert_eq!(field(&transcripts[0], "latency_ms"), Some(&7.into()), "who knows better is believed");
        }
    }
}

#[tokio::test]
async fn calls_are_counted_for_each_model_and_attempt() {
    let calls: Arc<Mutex<Vec<(String, u32)>>> = Arc::default();
    let noted = calls.clone();
    let model = Arc::new(Scripted::new(move |request: &Request, _| {
        noted.lock().expect("no thread panics here").push((request.sample.to_string(), request.call));
        Ok(echo(request))
    }));
    let limits = AttemptLimits { messages: Some(3), ..AttemptLimits::default() };
    let mut job = job(task().solver(Step(AskForEver)).limits(limits), 2, model);
    job.options.attempts_at_once = Some(1);
    go(job).await;
    let want = [("s0", 0), ("s0", 1), ("s1", 0), ("s1", 1)].map(|(id, call)| (id.to_string(), call));
    assert_eq!(*calls.lock().expect("no thread panics here"), want);
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_is_tried_again_with_longer_and_longer_waits() {
    for (fault, calls) in [
        (ModelFault::Server, 9),
        (ModelFault::Connection, 9),
        (ModelFault::Timeout, 9),
        (ModelFault::Busy, 9),
        (ModelFault::Unreadable, 3),
        (ModelFault::Refused, 1),
    ] {
        let model = Arc::new(Scripted::new(move |_: &Request, _| Err(failure(fault))));
        let (ended, transcripts) = go(job(task(), 1, model.clone())).await;
        assert_eq!((ended.errored, model.calls()), (1, calls), "{fault:?}");
        let bounds = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0];
        let seconds = model.seconds();
        for (waited, bound) in seconds.windows(2).map(|pair| pair[1] - pair[0]).zip(bounds) {
            assert!(waited <= bound + 0.01, "{fault:?}: {waited} s is more than {bound} s");
        }
        let error = transcripts[0].error.as_deref().unwrap();
        assert_eq!(error.ends_with(&format!("(after {} retries)", calls - 1)), calls > 1, "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_beyond_what_is_left_is_an_error_at_once() {
    for (limit, retry_after) in [(Some(10), 30), (Some(3600), 601), (None, 601)] {
        let model = Arc::new(Scripted::new(move |_: &Request, _| Err(busy(Some(retry_after)))));
        let limits = AttemptLimits { time: limit.map(Duration::from_secs), ..AttemptLimits::default() };
        let start = Instant::now();
        let (ended, transcripts) = go(job(task().limits(limits), 1, model.clone())).await;
        assert_eq!((ended.errored, model.calls()), (1, 1));
        assert!(start.elapsed() < Duration::from_secs(1));
        assert!(transcripts[0].error.as_deref().unwrap().contains("which is too long"));
        assert_eq!(transcripts[0].limit, None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_never_ends_is_given_up_and_tried_again() {
    let mut model = Scripted::new(|request: &Request, _| Ok(echo(request)));
    model.takes = Duration::from_secs(1_000_000);
    let model = Arc::new(model);
    let options = ChannelOptions { retries_max: 1, timeout: Duration::from_secs(5), ..ChannelOptions::default() };
    let job = Job::new(task().build(), samples(1), models(model.clone(), options), NAME);
    let (_, transcripts) = go(job).await;
    assert_eq!(model.calls(), 2);
    assert!(transcripts[0].error.as_deref().unwrap().contains("no answer within 5 s"));
}

#[tokio::test(start_paused = true)]
async fn a_busy_model_gets_fewer_calls_at_once_and_then_more_again() {
    // The server takes four calls at once, and answers each in a second.
    let now = Arc::new(AtomicUsize::new(0));
    let server = Arc::new(Server { now, most: 4, refused: AtomicUsize::new(0), answered: AtomicUsize::new(0) });
    let options = ChannelOptions { connections: Some(32), retries_max: 100, ..ChannelOptions::default() };
    let models = models(server.clone(), options);
    let mut job = Job::new(task().build(), samples(400), models.clone(), NAME);
    job.options.attempts_at_once = Some(64);
    let (ended, _) = go(job).await;
    assert_eq!((ended.finished, ended.errored), (400, 0));
    let connections = models.get(NAME).expect("it was given").connections();
    assert!(connections <= 8, "{connections} calls at once are too many for a server that takes 4");
    let refused = server.refused.load(Ordering::SeqCst);
    assert!(refused < 250, "{refused} calls were refused for 400 that were answered");
}

struct Server {
    now: Arc<AtomicUsize>,
    most: usize,
    refused: AtomicUsize,
    answered: AtomicUsize,
}

#[async_trait]
impl Model for Server {
    fn name(&self) -> &str {
        NAME
    }

    async fn generate(&self, request: &Request) -> Answer {
        if self.now.fetch_add(1, Ordering::SeqCst) >= self.most {
            self.now.fetch_sub(1, Ordering::SeqCst);
            self.refused.fetch_add(1, Ordering::SeqCst);
            return Err(busy(None));
        }
        sleep(Duration::from_secs(1)).await;
        self.now.fetch_sub(1, Ordering::SeqCst);
        self.answered.fetch_add(1, Ordering::SeqCst);
        Ok(echo(request))
    }
}

#[tokio::test(start_paused = true)]
async fn what_reaches_a_limit_is_scored_as_it_stands() {
    let cases = [
        // Each call takes 10 tokens, half a dollar and 2 s, and adds a message to the first.
        (AttemptLimits { tokens: Some(25), ..AttemptLimits::default() }, "token", 25.0, 3, 3),
        (AttemptLimits { cost_usd: Some(1.0), ..AttemptLimits::default() }, "cost", 1.0, 3, 3),
        (AttemptLimits { messages: Some(4), ..AttemptLimits::default() }, "message", 4.0, 3, 4),
        (AttemptLimits { time: Some(Duration::from_secs(5)), ..AttemptLimits::default() }, "time", 5.0, 3, 3),
    ];
    for (limits, kind, limit, calls, messages) in cases {
        let mut model = Scripted::new(|request: &Request, _| Ok(echo(request)));
        model.takes = Duration::from_secs(2);
        let model = Arc::new(model);
        let (ended, transcripts) = go(job(task().solver(Step(AskForEver)).limits(limits), 1, model.clone())).await;
        let transcript = &transcripts[0];
        assert_eq!((ended.status, &transcript.error), (RunStatus::Success, &None), "{kind}");
        let reached = transcript.limit.as_ref().expect("a limit is reached");
        assert_eq!((reached.kind, reached.limit), (kind, limit));
        assert_eq!((model.calls(), transcript.messages.len()), (calls, messages), "{kind}");
        assert_eq!(transcript.scores.len(), 1);
        let Some(Value::Float(latency)) = field(transcript, "latency_ms") else { panic!("no latency") };
        let want = if kind == "time" { 5000.0 } else { 2000.0 * calls as f64 };
        assert!((want..want + 50.0).contains(latency), "{kind}: {latency} ms");
    }
}

#[tokio::test]
async fn a_limit_that_cannot_be_kept_is_an_error() {
    let silent = |_: &Request, _| Ok(ModelOutput::new("model", "yes"));
    for (limits, kind) in [
        (AttemptLimits { tokens: Some(25), ..AttemptLimits::default() }, "token"),
        (AttemptLimits { cost_usd: Some(1.0), ..AttemptLimits::default() }, "cost"),
    ] {
        let (_, transcripts) = go(job(task().limits(limits), 1, Arc::new(Scripted::new(silent)))).await;
        let error = transcripts[0].error.as_deref().unwrap();
        assert!(error.starts_with(&format!("the {kind} limit cannot be enforced: model `test/model`")), "{error}");
    }
}

/// Hangs while scoring.
struct Hangs;

#[async_trait]
impl Scorer for Hangs {
    fn name(&self) -> &str {
        "hangs"
    }

    async fn score(&self, _: &AttemptState, _: &AttemptScope) -> Result<ScorerResult, AttemptFault> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn scoring_has_half_of_the_time_and_then_it_is_an_error() {
    let limits = AttemptLimits { time: Some(Duration::from_secs(10)), ..AttemptLimits::default() };
    let model = Arc::new(Scripted::new(|request: &Request, _| Ok(echo(request))));
    let start = Instant::now();
    let (_, transcripts) = go(job(task().scorer(Hangs).limits(limits), 1, model)).await;
    assert!(start.elapsed() < Duration::from_millis(5100));
    assert_eq!(transcripts[0].error.as_deref(), Some("scoring hit the time limit of 5 s"));
    assert!(transcripts[0].scores.is_empty() && transcripts[0].limit.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_breaks_one_attempt_and_nothing_else() {
    let model = Arc::new(Scripted::new(|request: &Request, _| Ok(echo(request))));
    let (ended, transcripts) =
        go(job(task().solver(Step(PanicOn("s1"))).fail_on_error(FailOnError::Never), 4, model)).await;
    assert_eq!((ended.status, ended.finished, ended.errored), (RunStatus::Success, 4, 1));
    let broken = transcripts.iter().find(|t| t.error.is_some()).expect("one broke");
    assert_eq!(broken.id, "s1".into());
    assert!(broken.error.as_deref().unwrap().ends_with("panicked: not this one"), "{:?}", broken.error);
    assert!(transcripts.iter().filter(|t| t.error.is_none()).all(|t| t.scores.len() == 1));
}

#[tokio::test(start_paused = true)]
async fn asking_once_lets_attempts_finish_and_asking_twice_does_not() {
    // Four attempts at a time, ten seconds each, asked to stop after one second.
    for (requests, grace, finished, cut_off, seconds) in [(1, 30, 4, 0, 10), (2, 30, 0, 4, 1), (1, 3, 0, 4, 4)] {
        let mut model = Scripted::new(|request: &Request, _| Ok(echo(request)));
        model.takes = Duration::from_secs(10);
        let mut job = job(task(), 20, Arc::new(model));
        job.options =
            RunOptions { attempts_at_once: Some(4), grace: Duration::from_secs(grace), ..RunOptions::default() };
        let stop = StopRequest::new();
        job.stop = stop.clone();
        tokio::spawn(async move {
            sleep(Duration::from_secs(1)).await;
            (0..requests).for_each(|_| stop.request());
        });
        let start = Instant::now();
        let (ended, transcripts) = go(job).await;
        assert_eq!((ended.status, ended.error), (RunStatus::Cancelled, None));
        assert_eq!((ended.finished, ended.cut_off, transcripts.len() as u64), (finished, cut_off, finished));
        assert_eq!(start.elapsed().as_secs(), seconds);
    }
}

#[tokio::test(start_paused = true)]
async fn stopping_when_all_is_under_way_is_no_loss() {
    let mut model = Scripted::new(|request: &Request, _| Ok(echo(request)));
    model.takes = Duration::from_secs(10);
    let mut job = job(task(), 4, Arc::new(model));
    job.options.attempts_at_once = Some(4);
    let stop = StopRequest::new();
    job.stop = stop.clone();
    tokio::spawn(async move {
        sleep(Duration::from_secs(1)).await;
        stop.request();
    });
    assert_eq!(go(job).await.0.status, RunStatus::Success);
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_transcripts_nobody_takes_ends() {
    let mut model = Scripted::new(|request: &Request, _| Ok(echo(request)));
    model.takes = Duration::from_secs(1000);
    let model = Arc::new(model);
    let mut job = job(task(), 100, model.clone());
    job.options.attempts_at_once = Some(2);
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        sleep(Duration::from_secs(5)).await;
        drop(receiver);
    });
    let start = Instant::now();
    let ended = run(job, sender).await.expect("the run begins");
    assert_eq!((ended.status, model.calls(), start.elapsed().as_secs()), (RunStatus::Error, 2, 5));
    assert_eq!(ended.error.as_deref(), Some("the transcripts are no longer received"));
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_holds_new_attempts_back() {
    let mut model = Scripted::new(|request: &Request, _| Ok(echo(request)));
    model.takes = Duration::from_millis(1);
    let model = Arc::new(model);
    let mut job = job(task(), 1000, model.clone());
    job.options.attempts_at_once = Some(8);
    let (sender, mut receiver) = mpsc::channel(4);
    let running = tokio::spawn(run(job, sender));
    let mut taken = 0;
    while receiver.recv().await.is_some() {
        taken += 1;
        sleep(Duration::from_millis(5)).await;
        // What was begun is in our hands, in the channel, waiting for room in it, or under way.
        assert!(model.calls() <= taken + 4 + 1 + 8, "{} calls when {taken} were taken", model.calls());
    }
    assert_eq!((taken, model.most.load(Ordering::SeqCst)), (1000, 8));
    assert_eq!(running.await.expect("no panic").expect("the run begins").status, RunStatus::Success);
}

#[tokio::test(start_paused = true)]
async fn what_had_finished_when_a_run_is_ended_still_leaves() {
    let mut model = Scripted::new(|request: &Request, _| Ok(echo(request)));
    model.takes = Duration::from_millis(1);
    let mut job = job(task(), 1000, Arc::new(model));
    job.options = RunOptions { attempts_at_once: Some(8), grace: Duration::from_millis(10), ..RunOptions::default() };
    let stop = job.stop.clone();
    let (sender, mut receiver) = mpsc::channel(1);
    let running = tokio::spawn(run(job, sender));
    let mut taken = 0;
    while receiver.recv().await.is_some() {
        taken += 1;
        if taken == 5 {
            stop.request();
        }
        sleep(Duration::from_millis(100)).await;
    }
    let ended = running.await.expect("no panic").expect("the run begins");
    assert_eq!((ended.status, ended.finished, ended.cut_off), (RunStatus::Cancelled, taken, 0));
    assert!((10..=20).contains(&taken), "{taken} were taken");
}

#[tokio::test]
async fn a_scope_can_be_had_without_a_run() {
    let named = |name| {
        let mut model = Scripted::new(|request: &Request, _| Ok(echo(request)));
        model.name = name;
        Arc::new(model)
    };
    let (own, grader) = (named(NAME), named("test/grader"));
    let scope = AttemptScope::alone(own.clone()).role("grader", grader.clone());
    let (asked, config) = ([Message::user("a")], GenerateConfig::default());
    assert_eq!(scope.generate(&asked, &config).await.expect("an answer").completion(), "a?");
    for model in ["grader", "judge", NAME] {
        scope.generate_as(model, &asked, &config).await.expect("an answer");
    }
    assert!(scope.generate_as("test/unknown", &asked, &config).await.is_err());
    assert_eq!((own.calls(), grader.calls()), (3, 1));
}

#[derive(Default)]
struct Memory(Mutex<HashMap<String, ModelOutput>>);

impl AnswerCache for Memory {
    fn get(&self, key: &str) -> Option<ModelOutput> {
        self.0.lock().expect("no thread panics here").get(key).cloned()
    }

    fn put(&self, key: &str, output: &ModelOutput) {
        self.0.lock().expect("no thread panics here").insert(key.into(), output.clone());
    }
}

#[tokio::test]
async fn answers_from_the_cache_are_the_same_and_not_paid_for_again() {
    let cache = Arc::new(Memory::default());
    let mut runs = Vec::new();
    for calls in [8, 1] {
        // The first call of each run is refused, and an error is never kept.
        let model = Arc::new(Scripted::new(|request: &Request, call| match call {
            0 => Err(failure(ModelFault::Refused)),
            call => {
                let mut output = echo(request);
                output.message.content = format!("call {call}").into();
                Ok(output)
            }
        }));
        let options = ChannelOptions { cache: Some(cache.clone()), ..ChannelOptions::default() };
        let task = task().fail_on_error(FailOnError::Never).build();
        let mut job = Job::new(task, samples(4), models(model.clone(), options), NAME);
        job.options = RunOptions { epochs: 2, attempts_at_once: Some(1), ..RunOptions::default() };
        let (ended, transcripts) = go(job).await;
        assert_eq!((model.calls(), ended.errored), (calls, 1));
        let tokens: u64 = ended.usage.iter().map(|(_, usage)| usage.total_tokens).sum();
        assert_eq!(tokens, if calls == 8 { 70 } else { 0 });
        runs.push(transcripts);
    }
    for (first, second) in runs[0].iter().zip(&runs[1]).skip(1) {
        assert_eq!(first.output, second.output);
        assert_eq!(field(second, "tokens_used"), Some(&10.into()), "the answer is as long as it was");
        assert_eq!(field(second, "latency_ms"), None, "and took no time that tells anything");
    }
}

/// Wants two good attempts of each sample, and no more than that.
#[derive(Default)]
struct Enough(Mutex<HashMap<SampleId, u32>>);

impl StoppingRule for Enough {
    fn schedule(&self, id: &SampleId, _: u32) -> Option<Arc<str>> {
        (self.0.lock().expect("no thread panics here").get(id).copied().unwrap_or(0) >= 2)
            .then(|| "two are enough".into())
    }

    fn on_finish(&self, transcript: &Transcript) {
        *self.0.lock().expect("no thread panics here").entry(transcript.id.clone()).or_default() += 1;
    }
}

#[tokio::test]
async fn attempts_that_are_no_longer_needed_are_not_made() {
    let model = Arc::new(Scripted::new(|request: &Request, _| Ok(echo(request))));
    let mut job = job(task(), 3, model.clone());
    job.options = RunOptions { epochs: 5, attempts_at_once: Some(1), ..RunOptions::default() };
    job.stopping = Some(Arc::new(Enough::default()));
    let seen = Arc::new(Count::default());
    job.watch = seen.clone();
    let (ended, transcripts) = go(job).await;
    assert_eq!((ended.status, ended.finished, model.calls()), (RunStatus::Success, 6, 6));
    assert_eq!((ended.early_stops.len(), seen.stopped.load(Ordering::SeqCst)), (9, 9));
    assert_eq!(ended.early_stops[0], SkippedAttempt { id: "s0".into(), epoch: 3, reason: "two are enough".into() });
    assert_eq!(names(&transcripts), ["s0/1", "s1/1", "s2/1", "s0/2", "s1/2", "s2/2"]);
}

/// Asks a grader, a model by name, and a role that no model has.
struct Graded;

#[async_trait]
impl Scorer for Graded {
    fn name(&self) -> &str {
        "graded"
    }

    async fn score(&self, state: &AttemptState, scope: &AttemptScope) -> Result<ScorerResult, AttemptFault> {
        let config = GenerateConfig::default();
        for model in ["grader", "test/other", "red_team"] {
            scope.generate_as(model, &state.messages, &config).await?;
        }
        match scope.generate_as("test/unknown", &state.messages, &config).await {
            Err(AttemptFault::Other(why)) => assert_eq!(why, "model `test/unknown`: no such model"),
            other => panic!("{other:?}"),
        }
        Ok(Score::new(true).into())
    }
}

#[tokio::test]
async fn each_part_is_played_by_its_model_and_counted_under_its_name() {
    let named = |name| {
        let mut model = Scripted::new(|request: &Request, _| Ok(echo(request)));
        model.name = name;
        Arc::new(model)
    };
    let (own, grader, other) = (named(NAME), named("test/grader"), named("test/other"));
    let models = ModelChannels::new(Arc::new(|_| Err("no such model".into())), ChannelOptions::default())
        .with(own.clone())
        .with(grader.clone())
        .with(other.clone());
    // The limit would be reached by a grader, if graders had limits.
    let limits = AttemptLimits { tokens: Some(10), ..AttemptLimits::default() };
    let task = Task::builder("test").scorer(Graded).model_role("grader", "test/grader").limits(limits).build();
    let (ended, transcripts) = go(Job::new(task, samples(3), Arc::new(models), NAME)).await;
    assert_eq!((ended.status, ended.errored, transcripts[0].limit.as_ref()), (RunStatus::Success, 0, None));
    assert_eq!((own.calls(), grader.calls(), other.calls()), (6, 3, 3));
    let mut tokens: Vec<_> = ended.usage.iter().map(|(name, usage)| (&**name, usage.total_tokens)).collect();
    tokens.sort_unstable();
    assert_eq!(tokens, [("test/grader", 30), ("test/model", 60), ("test/other", 30)]);
    assert_eq!(field(&transcripts[0], "tokens_used"), Some(&10.into()), "graders are not part of what is measured");
}

#[tokio::test]
async fn a_run_that_cannot_begin_says_why() {
    let model: Arc<dyn Model> = Arc::new(Scripted::new(|request: &Request, _| Ok(echo(request))));
    let (sender, _receiver) = mpsc::channel(1);
    let mut unknown = job(task(), 1, model.clone());
    unknown.model = "test/unknown".into();
    let fault = run(unknown, sender.clone()).await.unwrap_err();
    assert_eq!(fault.to_string(), "model `test/unknown`: no such model");
    let mut twice = job(task(), 1, model);
    twice.samples = vec![Arc::new(TaskSample::new("a").id(2)), Arc::new(TaskSample::new("b"))];
    let fault = run(twice, sender).await.unwrap_err();
    assert!(fault.to_string().starts_with("two samples are called `2`"), "{fault}");
}
