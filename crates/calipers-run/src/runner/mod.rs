//! Runs the attempts of a task, a window at a time, and sends each as a transcript when it ends.
//!
//! Memory does not grow with the number of attempts. At most [`RunOptions::attempts_at_once`] run at once, and finished
//! ones wait for room in the transcript channel before new ones start.

mod attempt_order;
mod attempt_run;
pub(crate) mod attempt_scope;
mod attempt_state;
mod budget;
mod signals;
mod stop_request;
mod stopping_rule;
pub(crate) mod stopwatch;

pub use attempt_order::launch_order;
pub use attempt_scope::AttemptScope;
pub use attempt_state::{AttemptState, Choice};
pub use budget::BudgetSpent;
pub use signals::{InterruptForwarder, is_forwarded_interrupt, on_forwarded_interrupt, on_interrupt, on_terminate};
pub use stop_request::StopRequest;
pub use stopping_rule::{SkippedAttempt, StoppingRule};

use crate::runner::attempt_scope::{Cast, add_usage};
use crate::{AttemptFault, FailOnError, ModelChannels, ProgramEnvironment, Task};
use attempt_order::{Order, seed_of};
use attempt_run::{PlannedAttempt, Stage, now_ms};
use budget::Budget;
use calipers_core::{ModelUsage, SampleId, TaskSample, Transcript, Usage};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep, timeout};

/// How long cancelled attempts may take to end, and finished transcripts to be sent.
const LEAVING_MAX: Duration = Duration::from_secs(5);

/// How a task is run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// How often each sample is tried.
    pub epochs: u32,
    /// The seed of all randomness in the run.
    pub seed: u64,
    /// True to take samples in an order that the seed decides, each with all its attempts. Otherwise every sample is
    /// tried once, in order, before any is tried again.
    pub shuffle: bool,
    /// How many attempts may run at once; `None` for as many as the model accepts calls.
    pub attempts_at_once: Option<usize>,
    /// Attempts that an earlier run made.
    pub done: HashSet<(SampleId, u32)>,
    /// What an earlier run spent on attempts that are repeated, by model.
    pub spent: HashMap<(SampleId, u32), ModelUsage>,
    /// What the run may cost in US dollars. It ends before a call that would probably exceed it.
    pub budget_usd: Option<f64>,
    /// What of the budget an earlier run has spent.
    pub spent_usd: f64,
    /// The environment of the programs that solvers and scorers run.
    pub environment: Arc<ProgramEnvironment>,
    /// How long running attempts may continue after the run was asked to end.
    pub grace: Duration,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            epochs: 1,
            seed: 0,
            shuffle: false,
            attempts_at_once: None,
            done: HashSet::new(),
            spent: HashMap::new(),
            budget_usd: None,
            spent_usd: 0.0,
            environment: Arc::default(),
            grace: Duration::from_secs(30),
        }
    }
}

/// Observes a run. Methods are called from many threads and should return quickly.
pub trait RunObserver: Send + Sync {
    /// This many attempts will be made, not counting those made earlier.
    fn on_plan(&self, attempts: u64) {
        let _ = attempts;
    }

    /// An attempt started.
    fn on_start(&self, id: &SampleId, epoch: u32) {
        let _ = (id, epoch);
    }

    /// An attempt failed and is retried.
    fn on_retry(&self, id: &SampleId, epoch: u32, error: &str) {
        let _ = (id, epoch, error);
    }

    /// An attempt is skipped as unnecessary.
    fn on_skip(&self, stop: &SkippedAttempt) {
        let _ = stop;
    }

    /// An attempt finished, with or without an error.
    fn on_finish(&self, transcript: &Transcript) {
        let _ = transcript;
    }
}

/// Observes nothing.
impl RunObserver for () {}

/// A task with all that it needs to run.
pub struct Job {
    /// The task. Its `dataset`, `epochs` and `model` are ignored: samples, epochs and model are given here.
    pub task: Task,
    /// The samples. Unnamed ones are numbered from 1.
    pub samples: Vec<Arc<TaskSample>>,
    /// The models.
    pub models: Arc<ModelChannels>,
    /// The name of the model of the task.
    pub model: String,
    /// How the task is run.
    pub options: RunOptions,
    /// Decides which attempts are unnecessary.
    pub stopping: Option<Arc<dyn StoppingRule>>,
    /// Observes the run.
    pub watch: Arc<dyn RunObserver>,
    /// Asks the run to end.
    pub stop: StopRequest,
}

impl Job {
    /// A task on a model, run once in the usual way.
    #[must_use]
    pub fn new(
        task: Task,
        samples: Vec<Arc<TaskSample>>,
        models: Arc<ModelChannels>,
        model: impl Into<String>,
    ) -> Self {
        Self {
            task,
            samples,
            models,
            model: model.into(),
            options: RunOptions::default(),
            stopping: None,
            watch: Arc::new(()),
            stop: StopRequest::new(),
        }
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("task", &self.task)
            .field("model", &self.model)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStatus {
    /// Every attempt was made or unnecessary.
    Success,
    /// Too many attempts failed, or the transcripts were not received.
    Error,
    /// It was asked to end early.
    Cancelled,
}

/// The summary of a run.
#[derive(Clone, Debug)]
pub struct RunSummary {
    /// How it ended.
    pub status: RunStatus,
    /// Why it ended in an error, if it did.
    pub error: Option<String>,
    /// That the budget was spent, if that ended it.
    pub budget_spent: Option<BudgetSpent>,
    /// Attempts that finished, with or without an error, and were sent as transcripts.
    pub finished: u64,
    /// Those of them with an error.
    pub errored: u64,
    /// Attempts that were cut off without a transcript.
    pub cut_off: u64,
    /// Attempts that an earlier run had made.
    pub skipped: u64,
    /// Attempts that were unnecessary.
    pub early_stops: Vec<SkippedAttempt>,
    /// The usage of each model.
    pub usage: Vec<(Arc<str>, Usage)>,
    /// When it began and ended, in milliseconds after 1970.
    pub started_ms: i64,
    /// See `started_ms`.
    pub completed_ms: i64,
}

/// Runs a task. Transcripts are sent in the order in which attempts end; while the channel is full, no attempt starts.
///
/// A fault keeps the run from starting: an unknown model, or two samples with the same name. Attempts run on all
/// threads of the runtime, and none depends on what runs beside it.
///
/// ```
/// use calipers_core::{ModelOutput, TaskSample};
/// use calipers_run::{ChannelOptions, Job, Model, ModelError, ModelChannels, Request, RunStatus, Task, run};
/// use std::sync::Arc;
///
/// struct Parrot;
///
/// #[async_trait::async_trait]
/// impl Model for Parrot {
///     fn name(&self) -> &str {
///         "local/parrot"
///     }
///
///     async fn generate(&self, request: &Request) -> Result<ModelOutput, ModelError> {
///         Ok(ModelOutput::new("parrot", request.messages[0].content.clone()))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), calipers_run::AttemptFault> {
/// let others = Arc::new(|name: &str| Err(format!("there is no `{name}`")));
/// let models = ModelChannels::new(others, ChannelOptions::default()).with(Arc::new(Parrot));
/// let samples = vec![Arc::new(TaskSample::new("Hello!"))];
/// let (sender, mut transcripts) = tokio::sync::mpsc::channel(8);
/// let job = Job::new(Task::builder("greeting").build(), samples, Arc::new(models), "local/parrot");
/// let running = tokio::spawn(run(job, sender));
/// let transcript = transcripts.recv().await.expect("one attempt");
/// assert_eq!(transcript.output.expect("an answer").completion(), "Hello!");
/// assert_eq!(running.await.expect("no panic")?.status, RunStatus::Success);
/// # Ok(())
/// # }
/// ```
pub async fn run(job: Job, transcripts: mpsc::Sender<Transcript>) -> Result<RunSummary, AttemptFault> {
    let mut run = RunState::new(job, transcripts)?;
    let wind_down = Arc::new(Notify::new());
    let (stop, receiver) = (run.stop.clone(), run.transcripts.clone());
    let mut over = pin!(over(&stop, &wind_down, &receiver, run.options.grace));
    let mut leaving = None;
    loop {
        run.begin_attempts();
        let joined = tokio::select! {
            biased;
            () = &mut over => break,
            joined = run.under_way.join_next() => joined,
        };
        let Some(joined) = joined else { break };
        let Some(transcript) = run.note(joined) else { continue };
        if run.error.is_some() {
            wind_down.notify_one();
        }
        let room = tokio::select! {
            biased;
            room = run.transcripts.reserve() => room.ok(),
            () = &mut over => None,
        };
        match room {
            Some(room) => room.send(transcript),
            None => {
                leaving = Some(transcript);
                break;
            }
        }
    }
    run.end(leaving).await;
    Ok(run.summarize())
}

/// Returns when the run must not wait any longer.
async fn over(stop: &StopRequest, wind_down: &Notify, receiver: &mpsc::Sender<Transcript>, grace: Duration) {
    let winding_down = async {
        tokio::select! {
            () = stop.wait_for(1) => {}
            () = wind_down.notified() => {}
        }
        sleep(grace).await;
    };
    tokio::select! {
        () = receiver.closed() => {}
        () = stop.wait_for(2) => {}
        () = winding_down => {}
    }
}

/// The state of a run.
struct RunState {
    stage: Arc<Stage>,
    samples: Vec<Arc<TaskSample>>,
    options: RunOptions,
    stopping: Option<Arc<dyn StoppingRule>>,
    stop: StopRequest,
    transcripts: mpsc::Sender<Transcript>,
    order: Order,
    window: usize,
    under_way: JoinSet<Transcript>,
    error: Option<String>,
    /// The first error of an attempt, and which attempt.
    first_error: Option<String>,
    finished: u64,
    errored: u64,
    cut_off: u64,
    skipped: u64,
    early_stops: Vec<SkippedAttempt>,
    usage: Vec<(Arc<str>, Usage)>,
    started_ms: i64,
}

impl RunState {
    fn new(job: Job, transcripts: mpsc::Sender<Transcript>) -> Result<Self, AttemptFault> {
        let Job { task, samples, models, model, options, stopping, watch, stop } = job;
        let started_ms = now_ms();
        check_names(&samples)?;
        let cast = cast(&task, models, &model, &options)?;
        let count = u32::try_from(samples.len()).map_err(|_| AttemptFault::new("more than 4294967295 samples"))?;
        let run = Self {
            order: Order::new(count, options.epochs, options.shuffle.then_some(options.seed)),
            window: options.attempts_at_once.unwrap_or_else(|| cast.model.connections()).max(1),
            stage: Arc::new(Stage { scorer_names: task.scorer_names(), task, cast: Arc::new(cast), watch }),
            samples,
            options,
            stopping,
            stop,
            transcripts,
            under_way: JoinSet::new(),
            error: None,
            first_error: None,
            finished: 0,
            errored: 0,
            cut_off: 0,
            skipped: 0,
            early_stops: Vec::new(),
            usage: Vec::new(),
            started_ms,
        };
        run.stage.watch.on_plan(run.to_make());
        Ok(run)
    }

    /// The number of attempts still to make.
    fn to_make(&self) -> u64 {
        if self.options.done.is_empty() {
            return self.order.attempts();
        }
        let is_new = |&(id, epoch): &(&SampleId, u32)| !self.options.done.contains(&(id.clone(), epoch));
        let ids: Vec<SampleId> = (0..self.samples.len()).map(|place| self.id(place)).collect();
        ids.iter().flat_map(|id| (1..=self.options.epochs).map(move |epoch| (id, epoch))).filter(is_new).count() as u64
    }

    fn id(&self, place: usize) -> SampleId {
        name_of(&self.samples[place], place)
    }

    /// Starts attempts until the window is full.
    fn begin_attempts(&mut self) {
        while self.under_way.len() < self.window && self.error.is_none() && !self.stop.is_requested() {
            let Some((place, epoch)) = self.order.next() else { return };
            let id = self.id(place);
            if self.is_done(&id, epoch) {
                self.skipped += 1;
            } else if let Some(reason) = self.stopping.as_ref().and_then(|stopping| stopping.schedule(&id, epoch)) {
                let stop = SkippedAttempt { id, epoch, reason };
                self.stage.watch.on_skip(&stop);
                self.early_stops.push(stop);
            } else {
                self.stage.watch.on_start(&id, epoch);
                let seed = seed_of(self.options.seed, &id, epoch);
                let key = (id, epoch);
                let spent = self.options.spent.get(&key).cloned().unwrap_or_default();
                let attempt = PlannedAttempt { sample: self.samples[place].clone(), id: key.0, epoch, seed, spent };
                self.under_way.spawn(attempt.make(self.stage.clone()));
            }
        }
    }

    fn is_done(&self, id: &SampleId, epoch: u32) -> bool {
        !self.options.done.is_empty() && self.options.done.contains(&(id.clone(), epoch))
    }

    /// Records an attempt that ended.
    fn note(&mut self, joined: Result<Transcript, JoinError>) -> Option<Transcript> {
        // Panics of solvers, scorers and models are caught inside, so only cancelled attempts have no transcript.
        let Ok(transcript) = joined else {
            self.cut_off += 1;
            return None;
        };
        self.finished += 1;
        for (model, usage) in &transcript.usage {
            add_usage(&mut self.usage, model, usage);
        }
        if let Some(error) = &transcript.error {
            self.errored += 1;
            self.first_error.get_or_insert_with(|| {
                let Transcript { id, epoch, .. } = &transcript;
                format!("attempt {epoch} of sample `{id}`: {error}")
            });
            if let (None, Some(spent)) = (&self.error, self.budget_refusal()) {
                self.error = Some(spent.to_string());
            } else if self.error.is_none() && self.is_too_much() {
                let Transcript { id, epoch, .. } = &transcript;
                self.error = Some(format!(
                    "attempt {epoch} of sample `{id}` ended in an error: {error}{}",
                    self.describe_allowance()
                ));
            }
        }
        if let Some(stopping) = &self.stopping {
            stopping.on_finish(&transcript);
        }
        self.stage.watch.on_finish(&transcript);
        Some(transcript)
    }

    fn budget_refusal(&self) -> Option<BudgetSpent> {
        self.stage.cast.budget.as_ref()?.refusal()
    }

    /// True when too many attempts failed.
    fn is_too_much(&self) -> bool {
        match self.stage.task.fail_on_error {
            FailOnError::First => true,
            FailOnError::Never => false,
            FailOnError::Count(count) => self.errored >= count.max(1),
            FailOnError::Share(share) => self.errored as f64 >= share * self.order.attempts() as f64,
        }
    }

    /// How many failures end the run, for the error message.
    fn describe_allowance(&self) -> String {
        let errored = self.errored;
        match self.stage.task.fail_on_error {
            FailOnError::First | FailOnError::Never => String::new(),
            FailOnError::Count(count) => format!(" ({errored} attempts ended in an error, and {count} stop the run)"),
            FailOnError::Share(share) => {
                let attempts = self.order.attempts();
                format!(" ({errored} of {attempts} attempts ended in an error, and a share of {share} stops the run)")
            }
        }
    }

    /// Cancels running attempts, and sends those that had finished.
    async fn end(&mut self, leaving: Option<Transcript>) {
        self.under_way.abort_all();
        let receiver = self.transcripts.clone();
        let rest = async {
            let mut next = leaving;
            loop {
                // A closed channel accepts nothing more; the status says so.
                if let Some(transcript) = next.take()
                    && receiver.send(transcript).await.is_err()
                {
                    return;
                }
                let Some(joined) = self.under_way.join_next().await else { return };
                next = self.note(joined);
            }
        };
        // Code that never awaits cannot be cancelled, and must not delay us.
        let _ = timeout(LEAVING_MAX, rest).await;
    }

    fn summarize(mut self) -> RunSummary {
        self.cut_off += self.under_way.len() as u64;
        if self.error.is_none() && self.transcripts.is_closed() {
            self.error = Some("the transcripts are no longer received".into());
        }
        let is_unfinished = self.is_unfinished();
        // A run without a single answer is none, however many errors are allowed.
        if self.error.is_none() && self.errored > 0 && self.errored == self.finished && self.skipped == 0 {
            let first = self.first_error.take().unwrap_or_default();
            self.error = Some(match self.errored {
                1 => format!("the only attempt ended in an error: {first}"),
                all => format!("all {all} attempts ended in an error, the first of them {first}"),
            });
        }
        let status = match self.error {
            Some(_) => RunStatus::Error,
            None if is_unfinished || self.cut_off > 0 => RunStatus::Cancelled,
            None => RunStatus::Success,
        };
        RunSummary {
            status,
            budget_spent: self.budget_refusal(),
            error: self.error,
            finished: self.finished,
            errored: self.errored,
            cut_off: self.cut_off,
            skipped: self.skipped,
            early_stops: self.early_stops,
            usage: self.usage,
            started_ms: self.started_ms,
            completed_ms: now_ms(),
        }
    }

    /// True if attempts are left. Those made earlier count as skipped.
    fn is_unfinished(&mut self) -> bool {
        let mut is_unfinished = false;
        while let Some((place, epoch)) = self.order.next() {
            match self.is_done(&self.id(place), epoch) {
                true => self.skipped += 1,
                false => is_unfinished = true,
            }
        }
        is_unfinished
    }
}

/// The models of a task by role.
fn cast(task: &Task, models: Arc<ModelChannels>, model: &str, options: &RunOptions) -> Result<Cast, AttemptFault> {
    let find = |name: &str| models.get(name).map_err(|why| AttemptFault::Other(format!("model `{name}`: {why}")));
    let mut roles = Vec::new();
    for (role, name) in &task.model_roles {
        roles.push((role.clone(), find(name)?));
    }
    let model = find(model)?;
    Ok(Cast {
        model,
        roles,
        models,
        config: task.config.clone(),
        limits: task.limits.clone(),
        environment: options.environment.clone(),
        budget: options
            .budget_usd
            .map(|limit| Arc::new(Budget::new(limit, options.spent_usd, options.done.len() + options.spent.len()))),
    })
}

fn name_of(sample: &TaskSample, place: usize) -> SampleId {
    sample.id.clone().unwrap_or_else(|| SampleId::Int(i64::try_from(place).unwrap_or(i64::MAX - 1) + 1))
}

/// Two samples with the same name would be one sample to readers of the log.
fn check_names(samples: &[Arc<TaskSample>]) -> Result<(), AttemptFault> {
    let mut names = HashSet::with_capacity(samples.len());
    for (place, sample) in samples.iter().enumerate() {
        let name = name_of(sample, place);
        if let Some(name) = names.replace(name) {
            return Err(AttemptFault::Other(format!(
                "two samples are called `{name}`; give each a unique name, or number them with `auto_id`"
            )));
        }
    }
    Ok(())
}
