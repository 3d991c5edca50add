//! Makes the attempts of a task: a window of them at a time, each leaving as a transcript when it ends.
//!
//! Memory does not grow with the number of attempts. At most [`RunOptions::attempts_at_once`] are under way, and those that
//! ended wait for room in the channel of transcripts before others begin in their place.

mod attempt_order;
mod attempt_run;
pub(crate) mod attempt_scope;
mod attempt_state;
mod signals;
mod stop_request;
mod stopping_rule;
pub(crate) mod stopwatch;

pub use attempt_scope::AttemptScope;
pub use attempt_state::{AttemptState, Choice};
pub use signals::{on_interrupt, on_terminate};
pub use stop_request::StopRequest;
pub use stopping_rule::{SkippedAttempt, StoppingRule};

use crate::runner::attempt_scope::{Cast, add_usage};
use crate::{AttemptFault, FailOnError, ModelChannels, Task};
use attempt_order::{Order, seed_of};
use attempt_run::{PlannedAttempt, Stage, now_ms};
use calipers_core::{Sample, SampleId, Transcript, Usage};
use std::collections::HashSet;
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep, timeout};

/// How long those who were told to end may take to do so, and finished transcripts to leave.
const LEAVING_MAX: Duration = Duration::from_secs(5);

/// How a task is run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// How often each sample is tried.
    pub epochs: u32,
    /// What all randomness of the run starts from.
    pub seed: u64,
    /// True to take samples in an order that the seed decides, each with all its attempts. Otherwise every sample is
    /// tried once, in order, before any is tried again.
    pub shuffle: bool,
    /// How many attempts may be under way at once; `None` for as many as the model takes calls.
    pub attempts_at_once: Option<usize>,
    /// Attempts that an earlier run made.
    pub done: HashSet<(SampleId, u32)>,
    /// How long attempts under way may still take after the run was asked to end.
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
            grace: Duration::from_secs(30),
        }
    }
}

/// Sees a run go on. Calls come from many threads and should return at once.
pub trait RunObserver: Send + Sync {
    /// This many attempts are to be made, those made earlier not among them.
    fn on_plan(&self, attempts: u64) {
        let _ = attempts;
    }

    /// An attempt began.
    fn on_start(&self, id: &SampleId, epoch: u32) {
        let _ = (id, epoch);
    }

    /// An attempt broke and is made again.
    fn on_retry(&self, id: &SampleId, epoch: u32, error: &str) {
        let _ = (id, epoch, error);
    }

    /// An attempt was found to be needless.
    fn on_skip(&self, stop: &SkippedAttempt) {
        let _ = stop;
    }

    /// An attempt ended, well or with an error.
    fn on_finish(&self, transcript: &Transcript) {
        let _ = transcript;
    }
}

/// Nobody watches.
impl RunObserver for () {}

/// A task with all that it needs to run.
pub struct Job {
    /// The task. Its `dataset`, `epochs` and `model` are not looked at: samples, epochs and model are given here.
    pub task: Task,
    /// The samples. One without a name is called by its place, from 1.
    pub samples: Vec<Arc<Sample>>,
    /// The models that can be asked.
    pub models: Arc<ModelChannels>,
    /// The name of the model of the task.
    pub model: String,
    /// How the task is run.
    pub options: RunOptions,
    /// Who says which attempts are needless.
    pub stopping: Option<Arc<dyn StoppingRule>>,
    /// Who sees the run go on.
    pub watch: Arc<dyn RunObserver>,
    /// Who may end it.
    pub stop: StopRequest,
}

impl Job {
    /// A task on a model, run once in the usual way.
    #[must_use]
    pub fn new(task: Task, samples: Vec<Arc<Sample>>, models: Arc<ModelChannels>, model: impl Into<String>) -> Self {
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
    /// Every attempt was made, or found to be needless.
    Success,
    /// More attempts broke than may, or nobody took the transcripts.
    Error,
    /// Somebody ended it before its end.
    Cancelled,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct RunSummary {
    /// How it ended.
    pub status: RunStatus,
    /// Why it was given up, where it was.
    pub error: Option<String>,
    /// Attempts that ended, with an error or without, and left as transcripts.
    pub finished: u64,
    /// Those of them with an error.
    pub errored: u64,
    /// Attempts that were cut off, and left nothing.
    pub cut_off: u64,
    /// Attempts that an earlier run had made.
    pub skipped: u64,
    /// Attempts that were needless.
    pub early_stops: Vec<SkippedAttempt>,
    /// What each model took.
    pub usage: Vec<(Arc<str>, Usage)>,
    /// When it began and ended, in milliseconds after 1970.
    pub started_ms: i64,
    /// See `started_ms`.
    pub completed_ms: i64,
}

/// Runs a task. Transcripts leave in the order in which attempts end; with a full channel nothing new begins.
///
/// A fault is something that keeps the run from beginning: an unknown model, two samples of one name. Attempts run on
/// all threads of the runtime, and each gives the same answers whatever runs beside it.
///
/// ```
/// use calipers_core::{ModelOutput, Sample};
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
/// let samples = vec![Arc::new(Sample::new("Hello!"))];
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

/// Returns when nothing can be waited for any longer.
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

/// A run under way.
struct RunState {
    stage: Arc<Stage>,
    samples: Vec<Arc<Sample>>,
    options: RunOptions,
    stopping: Option<Arc<dyn StoppingRule>>,
    stop: StopRequest,
    transcripts: mpsc::Sender<Transcript>,
    order: Order,
    window: usize,
    under_way: JoinSet<Transcript>,
    error: Option<String>,
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
        let cast = cast(&task, models, &model)?;
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

    /// The number of attempts that nobody made yet.
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

    /// Begins attempts until as many are under way as may be.
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
                let attempt = PlannedAttempt { sample: self.samples[place].clone(), id, epoch, seed };
                self.under_way.spawn(attempt.make(self.stage.clone()));
            }
        }
    }

    fn is_done(&self, id: &SampleId, epoch: u32) -> bool {
        !self.options.done.is_empty() && self.options.done.contains(&(id.clone(), epoch))
    }

    /// Takes note of an attempt that ended.
    fn note(&mut self, joined: Result<Transcript, JoinError>) -> Option<Transcript> {
        // Panics of solvers, scorers and models are caught inside, so only what was told to end has no transcript.
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
            if self.error.is_none() && self.is_too_much() {
                let Transcript { id, epoch, .. } = &transcript;
                self.error =
                    Some(format!("attempt {epoch} of sample `{id}` broke: {error}{}", self.describe_allowance()));
            }
        }
        if let Some(stopping) = &self.stopping {
            stopping.on_finish(&transcript);
        }
        self.stage.watch.on_finish(&transcript);
        Some(transcript)
    }

    /// True when as many attempts broke as end the run.
    fn is_too_much(&self) -> bool {
        match self.stage.task.fail_on_error {
            FailOnError::First => true,
            FailOnError::Never => false,
            FailOnError::Count(count) => self.errored >= count.max(1),
            FailOnError::Share(share) => self.errored as f64 >= share * self.order.attempts() as f64,
        }
    }

    /// How many end the run, for the message that says that they did.
    fn describe_allowance(&self) -> String {
        let errored = self.errored;
        match self.stage.task.fail_on_error {
            FailOnError::First | FailOnError::Never => String::new(),
            FailOnError::Count(count) => format!(" ({errored} attempts broke, and {count} end the run)"),
            FailOnError::Share(share) => {
                let attempts = self.order.attempts();
                format!(" ({errored} of {attempts} attempts broke, and a share of {share} ends the run)")
            }
        }
    }

    /// Ends what is under way, and sends what had ended by then.
    async fn end(&mut self, leaving: Option<Transcript>) {
        self.under_way.abort_all();
        let receiver = self.transcripts.clone();
        let rest = async {
            let mut next = leaving;
            loop {
                // A closed channel takes nothing more, which the status says.
                if let Some(transcript) = next.take()
                    && receiver.send(transcript).await.is_err()
                {
                    return;
                }
                let Some(joined) = self.under_way.join_next().await else { return };
                next = self.note(joined);
            }
        };
        // What computes without ever waiting cannot be ended, and must not keep us.
        let _ = timeout(LEAVING_MAX, rest).await;
    }

    fn summarize(mut self) -> RunSummary {
        self.cut_off += self.under_way.len() as u64;
        if self.error.is_none() && self.transcripts.is_closed() {
            self.error = Some("nobody takes the transcripts any longer".into());
        }
        let is_unfinished = self.is_unfinished();
        let status = match self.error {
            Some(_) => RunStatus::Error,
            None if is_unfinished || self.cut_off > 0 => RunStatus::Cancelled,
            None => RunStatus::Success,
        };
        RunSummary {
            status,
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

    /// True where attempts are left. Those that were made earlier count as skipped wherever they are in the order.
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

/// The models of a task by the parts they play.
fn cast(task: &Task, models: Arc<ModelChannels>, model: &str) -> Result<Cast, AttemptFault> {
    let find = |name: &str| models.get(name).map_err(|why| AttemptFault::Other(format!("model `{name}`: {why}")));
    let mut roles = Vec::new();
    for (role, name) in &task.model_roles {
        roles.push((role.clone(), find(name)?));
    }
    let model = find(model)?;
    Ok(Cast { model, roles, models, config: task.config.clone(), limits: task.limits.clone() })
}

fn name_of(sample: &Sample, place: usize) -> SampleId {
    sample.id.clone().unwrap_or_else(|| SampleId::Int(i64::try_from(place).unwrap_or(i64::MAX - 1) + 1))
}

/// Two samples of one name would be one sample to everybody who reads the log.
fn check_names(samples: &[Arc<Sample>]) -> Result<(), AttemptFault> {
    let mut names = HashSet::with_capacity(samples.len());
    for (place, sample) in samples.iter().enumerate() {
        let name = name_of(sample, place);
        if let Some(name) = names.replace(name) {
            return Err(AttemptFault::Other(format!(
                "two samples are called `{name}`; give each a name of its own, or number them with `auto_id`"
            )));
        }
    }
    Ok(())
}
