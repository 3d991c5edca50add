//! From a task to its log and its report.
//!
//! Attempts run on the threads of a runtime; finished ones come back here one by one, are written to the log, and leave
//! only their scores and measurements behind. So memory does not grow with what was said, and whatever ends the program
//! loses at most the attempts under way.

mod cache;
mod early_stopping;
mod header;
mod launch_prefix;
mod progress;
mod replay;

pub use cache::DiskCache;
pub use early_stopping::EarlyStopper;
pub use launch_prefix::RunSoFar;
pub use progress::Progress;
pub use replay::{LogAnswers, replay};

use crate::{LoadedRun, RunError, SetupError};
use calipers_core::{
    Completeness, Error, ExpectedRun, Metric, MetricSpec, ModelUsage, Reducer, Results, RunEnding, RunReport, SampleId,
    Samples, Seed, TaskSample, Transcript, Usage, Value, nearest,
};
use calipers_io::{EarlyStopping, Ending, EvalLog, LogStatus, ResumedLog, WriteError, load_dataset, sample_place};
use calipers_run::{
    ChannelOptions, Job, ModelChannels, ProgramEnvironment, Resolver, RunStatus, RunSummary, StopRequest, StoppingRule,
    Task,
};
use launch_prefix::LaunchPrefix;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Finished attempts that wait to be written. More would only be memory.
const WAITING_MAX: usize = 64;
/// How long to wait for an attempt before the log is made readable with those that came.
const IDLE: Duration = Duration::from_secs(2);
/// The name of a model where there is none, as Inspect writes it.
const NO_MODEL: &str = "none/none";

/// A task, and all that its run depends on.
pub struct Setup {
    /// The task.
    pub task: Task,
    /// The folder that paths in the task start from.
    pub base: PathBuf,
    /// The file that the task comes from, for the log.
    pub task_file: Option<String>,
    /// The parameters that it was given, for the log.
    pub task_args: Vec<(Arc<str>, Value)>,
    /// The model, in place of the task's own.
    pub model: Option<String>,
    /// How models are found by name.
    pub resolver: Resolver,
    /// How they are called.
    pub channel: ChannelOptions,
    /// How often each sample is tried, in place of what the task says.
    pub epochs: Option<u32>,
    /// How attempts are reduced, in place of what the task says.
    pub reducers: Option<Vec<Reducer>>,
    /// Only this many samples.
    pub limit: Option<usize>,
    /// Only these samples.
    pub sample_ids: Vec<String>,
    /// The seed of everything random.
    pub seed: u64,
    /// True to make attempts in an order that depends on nothing but the seed.
    pub shuffle: bool,
    /// How many attempts run at once.
    pub attempts_at_once: Option<usize>,
    /// What the whole run may cost in US dollars, with what a resumed log has spent. It ends before a call that would probably
    /// exceed it.
    pub budget_usd: Option<f64>,
    /// The environment of the programs that solvers and scorers run.
    pub environment: ProgramEnvironment,
    /// The folder for the log.
    pub log_dir: PathBuf,
    /// What is needed to go on with the run later, for the log.
    pub arguments: Vec<(Arc<str>, Value)>,
    /// True to keep all that scorers said in memory, for custom metrics that are computed from the samples later. This is
    /// implied where the task has custom metrics or reducers.
    pub keep_texts: bool,
    /// How far it has come.
    pub progress: Arc<Progress>,
    /// To stop it from outside.
    pub stop: StopRequest,
}

impl Setup {
    /// A task with the usual settings, whose log goes to the folder `logs`.
    #[must_use]
    pub fn new(task: Task) -> Self {
        Self {
            task,
            base: PathBuf::new(),
            task_file: None,
            task_args: Vec::new(),
            model: None,
            resolver: Arc::new(|name| Err(format!("there is no model `{name}` here"))),
            channel: ChannelOptions::default(),
            epochs: None,
            reducers: None,
            limit: None,
            sample_ids: Vec::new(),
            seed: 0,
            shuffle: false,
            attempts_at_once: None,
            budget_usd: None,
            environment: ProgramEnvironment::usual(),
            log_dir: "logs".into(),
            arguments: Vec::new(),
            keep_texts: false,
            progress: Arc::default(),
            stop: StopRequest::new(),
        }
    }

    fn epochs(&self) -> u32 {
        let of_task = || self.task.epochs.as_ref().and_then(|epochs| u32::try_from(epochs.count()).ok());
        self.epochs.or_else(of_task).unwrap_or(1).max(1)
    }

    fn reducers(&self) -> Option<Vec<Reducer>> {
        let of_task = || self.task.epochs.as_ref().and_then(|epochs| epochs.reducers()).map(<[_]>::to_vec);
        self.reducers.clone().or_else(of_task)
    }

    /// True where a metric or reducer may read what scorers said. Otherwise it is not kept, and memory does not grow with it.
    fn keeps_texts(&self) -> bool {
        let is_own = |spec: &MetricSpec| match spec {
            MetricSpec::One(metric) => metric.is_own(),
            MetricSpec::Keyed(keys) => keys.iter().any(|(_, metrics)| metrics.iter().any(Metric::is_own)),
        };
        self.keep_texts
            || header::metrics(&self.task).iter().any(|(_, metrics)| metrics.iter().any(is_own))
            || self.reducers().is_some_and(|reducers| reducers.iter().any(Reducer::is_own))
    }

    /// The models that the run names, each once: its own, those of roles, and those of solvers and scorers.
    #[must_use]
    pub fn model_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.model.iter().chain(&self.task.model).take(1).cloned().collect();
        names.extend(self.task.model_roles.iter().map(|(_, model)| model.clone()));
        names.extend(self.model_params());
        let mut known = HashSet::new();
        names.retain(|name| known.insert(name.clone()));
        names
    }

    /// The models in the parameters of solvers and scorers. A name has a slash; without one it is a role.
    fn model_params(&self) -> Vec<String> {
        let solvers = self.task.solver.iter().map(|solver| solver.params());
        let all = solvers.chain(self.task.scorers.iter().map(|scorer| scorer.params()));
        let names = all.filter_map(|params| params.get("model").cloned()).flat_map(|model| match model {
            Value::List(models) => models,
            model => vec![model],
        });
        names
            .filter_map(|name| if let Value::Text(name) = name { Some(name.to_string()) } else { None })
            .filter(|name| name.contains('/'))
            .collect()
    }

    /// A limit on costs that cannot be kept is found before anything is paid for.
    fn check_costs(&self, models: &ModelChannels, model: &str) -> Result<(), RunError> {
        if self.task.limits.cost_usd.is_none() && self.budget_usd.is_none() {
            return Ok(());
        }
        // The limit of an attempt is about its solvers, and the budget about all.
        let own = Some(model.to_owned()).filter(|_| self.task.asks_model());
        let roles = self.task.model_roles.iter().map(|(_, model)| model.clone());
        for name in own.into_iter().chain(roles).chain(self.model_params()) {
            let channel = models.get(&name).map_err(SetupError::Other)?;
            if !channel.reports_cost() && (self.budget_usd.is_some() || name == model) {
                return Err(SetupError::NoPrice { model: name, is_budget: self.budget_usd.is_some() }.into());
            }
        }
        Ok(())
    }

    /// The name of the model. A task that asks none needs none.
    fn model(&self) -> Result<String, RunError> {
        match self.model.clone().or_else(|| self.task.model.clone()) {
            Some(model) => Ok(model),
            None if self.task.asks_model() => Err(SetupError::NoModel.into()),
            None => Ok(NO_MODEL.into()),
        }
    }
}

/// A finished run.
#[derive(Debug)]
pub struct Evaluation {
    /// The metrics.
    pub report: RunReport,
    /// The attempts with their scores and measurements, for a policy.
    pub samples: Samples,
    /// What was run of what was asked for.
    pub completeness: Completeness,
    /// Where the log is.
    pub log: PathBuf,
    /// How it ended.
    pub ended: RunSummary,
}

impl Evaluation {
    /// The run as a policy judges it.
    #[must_use]
    pub fn to_loaded_run(&self) -> LoadedRun {
        let name = self.log.display().to_string();
        let mut samples = self.samples.clone();
        samples.add_never_ran(&self.completeness.never_ran);
        LoadedRun {
            files: vec![name.clone()],
            name,
            samples,
            incomplete: Some(self.completeness.clone()).into_iter().filter(|one| !one.is_whole()).collect(),
            task: self.report.task.clone(),
            model: self.report.model.clone(),
            ..LoadedRun::default()
        }
    }
}

/// Runs a task. `look` is shown after every attempt how far the run has come without gaps, and may say why no more results are
/// needed.
///
/// ```
/// use calipers::eval::{Setup, eval};
/// use calipers::run::{Task, providers::MockModel, scorer_fn};
/// use calipers::metric::mean;
/// use calipers::task::TaskSample;
/// use calipers::Score;
///
/// let overlap = scorer_fn("word_overlap", [mean()], |state| {
///     let words: Vec<String> = state.target.text().split(' ').map(str::to_owned).collect();
///     let hits = words.iter().filter(|word| state.completion().contains(*word)).count();
///     Ok(Score::new(hits as f64 / words.len() as f64).into())
/// });
/// let task = Task::builder("colors")
///     .samples([TaskSample::new("Name three primary colors.").target("red green blue")])
///     .scorer(overlap)
///     .own_model(MockModel::new("red, yellow and blue").named("mockllm/painter"))
///     .build();
/// let log_dir = std::env::temp_dir().join(format!("calipers-doc-{}", std::process::id()));
/// let done = eval(Setup { log_dir: log_dir.clone(), ..Setup::new(task) }, &mut |_| None)?;
/// let mean = done.report.results.figure("word_overlap", "mean").expect("asked for");
/// assert_eq!(mean.value, Ok(2.0 / 3.0));
/// # std::fs::remove_dir_all(log_dir).ok();
/// # Ok::<(), calipers::RunError>(())
/// ```
pub fn eval(setup: Setup, look: &mut Look<'_>) -> Result<Evaluation, RunError> {
    let samples = choose(&setup)?;
    let model = setup.model()?;
    let models = models(&setup);
    // A name that leads nowhere is found before a log is begun.
    if model != NO_MODEL {
        models.get(&model).map_err(SetupError::Other)?;
    }
    setup.check_costs(&models, &model)?;
    let header = header::header(&setup, &samples, &model);
    let path = setup.log_dir.join(calipers_io::log_name(&header));
    let log = EvalLog::create(&path, &header)?;
    Line {
        setup,
        samples,
        model,
        models,
        log,
        known: Samples::new(),
        done: HashSet::new(),
        spent: Vec::new(),
        spent_in_vain: HashMap::new(),
        ids: Vec::new(),
    }
    .run(look)
}

/// Finishes the run of a log that broke off. The run must be the one that the log has begun with.
pub fn resume(setup: Setup, log: ResumedLog, look: &mut Look<'_>) -> Result<Evaluation, RunError> {
    let samples = choose(&setup)?;
    let model = setup.model()?;
    let differences = log.header.differences(&header::header(&setup, &samples, &model));
    if !differences.is_empty() {
        return Err(SetupError::OtherRun { differences }.into());
    }
    let models = models(&setup);
    setup.check_costs(&models, &model)?;
    Line {
        setup,
        samples,
        model,
        models,
        log: log.log,
        known: log.samples,
        done: log.done.into_iter().collect(),
        spent: log.usage,
        spent_in_vain: log.usage_again,
        ids: Vec::new(),
    }
    .run(look)
}

/// The samples that are asked for.
fn choose(setup: &Setup) -> Result<Vec<Arc<TaskSample>>, RunError> {
    let mut dataset = setup.task.dataset.clone();
    // Names are looked for among all samples: a limit counts those that are chosen.
    let limit = [setup.limit, dataset.limit].into_iter().flatten().min();
    dataset.limit = if setup.sample_ids.is_empty() { limit } else { dataset.limit };
    let mut samples = load_dataset(&dataset, &setup.base)?;
    if !setup.sample_ids.is_empty() {
        let name = |sample: &TaskSample| sample.id.as_ref().map(SampleId::to_string).unwrap_or_default();
        let names: HashSet<String> = samples.iter().map(|sample| name(sample)).collect();
        if let Some(unknown) = setup.sample_ids.iter().find(|id| !names.contains(*id)) {
            let known: Vec<&str> = names.iter().map(String::as_str).collect();
            let nearest = nearest(unknown, &known).map(str::to_owned);
            return Err(SetupError::UnknownSample { id: unknown.clone(), nearest }.into());
        }
        samples.retain(|sample| setup.sample_ids.contains(&name(sample)));
        samples.truncate(setup.limit.unwrap_or(usize::MAX));
    }
    if samples.is_empty() {
        return Err(SetupError::NoSamples.into());
    }
    Ok(samples)
}

fn models(setup: &Setup) -> Arc<ModelChannels> {
    let models = ModelChannels::new(setup.resolver.clone(), setup.channel.clone());
    let models = models.with(Arc::new(NoModel));
    let models = Arc::new(setup.task.models.iter().fold(models, |models, own| models.with(own.clone())));
    setup.progress.watch_models(&models);
    models
}

/// Decides after an attempt whether more are needed; see [`eval`].
pub type Look<'a> = dyn FnMut(&RunSoFar<'_>) -> Option<String> + 'a;

/// What is asked where no model is named.
struct NoModel;

#[async_trait::async_trait]
impl calipers_run::Model for NoModel {
    fn name(&self) -> &str {
        NO_MODEL
    }

    async fn generate(
        &self,
        _: &calipers_run::Request,
    ) -> Result<calipers_core::ModelOutput, calipers_run::ModelError> {
        let why = "no model is named, and one is asked";
        Err(calipers_run::ModelError::new(NO_MODEL, calipers_run::ModelFault::Refused, why))
    }

    fn connections(&self) -> usize {
        std::thread::available_parallelism().map_or(4, usize::from).max(4)
    }

    fn is_free(&self) -> bool {
        true
    }
}

/// Says no to further attempts once a reason is there.
#[derive(Default)]
struct Enough(OnceLock<Arc<str>>);

impl StoppingRule for Enough {
    fn schedule(&self, _: &SampleId, _: u32) -> Option<Arc<str>> {
        self.0.get().cloned()
    }

    fn on_finish(&self, _: &Transcript) {}
}

/// From attempts to the log and the report.
struct Line {
    setup: Setup,
    samples: Vec<Arc<TaskSample>>,
    model: String,
    models: Arc<ModelChannels>,
    log: EvalLog,
    /// What is known before the first attempt is made.
    known: Samples,
    done: HashSet<(SampleId, u32)>,
    spent: Vec<(Arc<str>, Usage)>,
    /// What was spent on attempts that are repeated.
    spent_in_vain: HashMap<(SampleId, u32), ModelUsage>,
    /// The names of the samples, which the runner takes.
    ids: Vec<SampleId>,
}

impl Line {
    fn run(mut self, look: &mut Look<'_>) -> Result<Evaluation, RunError> {
        let enough = Arc::new(Enough::default());
        self.ids = self.samples.iter().filter_map(|sample| sample.id.clone()).collect();
        let mut job =
            Job::new(self.setup.task.clone(), std::mem::take(&mut self.samples), self.models.clone(), &*self.model);
        job.options.epochs = self.setup.epochs();
        job.options.seed = self.setup.seed;
        job.options.shuffle = self.setup.shuffle;
        job.options.attempts_at_once = self.setup.attempts_at_once;
        job.options.done = std::mem::take(&mut self.done);
        job.options.budget_usd = self.setup.budget_usd;
        let spent = self.spent_in_vain.values().flatten().chain(&self.spent);
        job.options.spent_usd = spent.filter_map(|(_, usage)| usage.cost_usd).sum();
        job.options.spent = std::mem::take(&mut self.spent_in_vain);
        job.options.environment = Arc::new(self.setup.environment.clone());
        job.stopping = Some(enough.clone());
        job.watch = self.setup.progress.clone();
        job.stop = self.setup.stop.clone();
        // Attempts that wait here while the gate is being decided may have been paid for in vain.
        let (sender, receiver) = mpsc::channel(if self.setup.shuffle { 1 } else { WAITING_MAX });
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| SetupError::Other(format!("no threads to run on: {error}")))?;
        let running = runtime.spawn(calipers_run::run(job, sender));
        let written = self.take(receiver, &runtime, &enough, look);
        let ended = runtime.block_on(running);
        // Programs that ignore the request to end must not keep us waiting.
        runtime.shutdown_background();
        let ended = ended.map_err(|error| SetupError::Other(format!("the runner broke: {error}")))??;
        written?;
        self.finish(ended)
    }

    /// Takes attempts as they finish. One that cannot be written ends the run, because the receiver goes away.
    fn take(
        &mut self,
        mut receiver: mpsc::Receiver<Transcript>,
        runtime: &Runtime,
        enough: &Enough,
        look: &mut Look<'_>,
    ) -> Result<(), WriteError> {
        let keeps_texts = self.setup.keeps_texts();
        let seed = self.setup.shuffle.then_some(self.setup.seed);
        let mut prefix = LaunchPrefix::new(&self.ids, seed, self.setup.epochs(), &self.known);
        while let Some(mut attempt) = self.next(&mut receiver, runtime)? {
            self.log.add(&attempt)?;
            if !keeps_texts {
                attempt.scores.iter_mut().for_each(|(_, outcome)| outcome.shorten());
            }
            attempt.add_to(&mut self.known);
            prefix.note(&attempt.id);
            if enough.0.get().is_none()
                && let Some(reason) = look(&RunSoFar { prefix: &prefix, known: &self.known })
            {
                let _ = enough.0.set(reason.into());
            }
        }
        Ok(())
    }

    /// The next attempt. While none comes, the log is made readable for others.
    fn next(
        &mut self,
        receiver: &mut mpsc::Receiver<Transcript>,
        runtime: &Runtime,
    ) -> Result<Option<Transcript>, WriteError> {
        // A timer for each attempt would cost more than a quick attempt itself.
        if let Ok(attempt) = receiver.try_recv() {
            return Ok(Some(attempt));
        }
        loop {
            match runtime.block_on(async { timeout(IDLE, receiver.recv()).await }) {
                Ok(attempt) => return Ok(attempt),
                Err(_) => self.log.flush_if_due()?,
            }
        }
    }

    fn finish(mut self, ended: RunSummary) -> Result<Evaluation, RunError> {
        // Which attempt was the quickest says nothing, and a log is read in this order.
        self.known = self.known.sorted_by_key(sample_place);
        let path = self.log.path().to_owned();
        let measured = self.measure();
        let mut usage = self.spent;
        for (model, more) in &ended.usage {
            match usage.iter_mut().find(|(known, _)| known == model) {
                Some((_, sum)) => sum.add(more),
                None => usage.push((model.clone(), *more)),
            }
        }
        let early = early_stopping(&ended);
        let ending = Ending {
            results: measured.as_ref().ok(),
            early_stopping: early.as_ref(),
            usage: &usage,
            error: ended.error.as_deref(),
            ..Ending::new(status(ended.status), ended.started_ms, ended.completed_ms)
        };
        self.log.finish(&ending)?;
        let mut results = measured?;
        results.reductions.clear();
        let expected = ExpectedRun {
            samples: self.ids.len() as u64,
            epochs: self.setup.epochs(),
            ids: Some(self.ids),
            skipped: ended.early_stops.iter().map(|stop| (stop.id.clone(), stop.epoch)).collect(),
            ending: match ended.status {
                RunStatus::Success => RunEnding::Finished,
                RunStatus::Error => RunEnding::Broken,
                RunStatus::Cancelled => RunEnding::Cancelled,
            },
        };
        let completeness = expected.compare(&self.known, &path.display().to_string());
        let caveats = completeness.caveat(None).into_iter().chain(self.known.limits_caveat(None));
        let caveats = caveats.chain(self.known.cached_caveat(None));
        results.caveats.splice(0..0, caveats);
        let report = RunReport {
            source: path.display().to_string(),
            format: "inspect".into(),
            name: None,
            columns: Vec::new(),
            task: Some(self.setup.task.name.clone()),
            model: (self.model != NO_MODEL).then_some(self.model),
            created: None,
            commit: None,
            samples: self.known.counts(),
            results,
            recorded: Vec::new(),
            notes: Vec::new(),
        };
        Ok(Evaluation { report, samples: self.known, completeness, log: path, ended })
    }

    fn measure(&self) -> Result<Results, Error> {
        let mut plan = calipers_core::Plan::new().seed(Seed(self.setup.seed)).keep_reductions();
        if let Some(reducers) = self.setup.reducers() {
            plan = plan.reducers(reducers);
        }
        for (name, metrics) in header::metrics(&self.setup.task) {
            plan = plan.scorer(&*name, metrics);
        }
        plan.measure(&self.known)
    }
}

fn status(status: RunStatus) -> LogStatus {
    match status {
        RunStatus::Success => LogStatus::Success,
        RunStatus::Error => LogStatus::Error,
        RunStatus::Cancelled => LogStatus::Cancelled,
    }
}

fn early_stopping(ended: &RunSummary) -> Option<EarlyStopping> {
    let stop = |stop: &calipers_run::SkippedAttempt| calipers_io::EarlyStop {
        id: stop.id.clone(),
        epoch: stop.epoch,
        reason: stop.reason.to_string(),
    };
    (!ended.early_stops.is_empty()).then(|| EarlyStopping {
        manager: "calipers".into(),
        stops: ended.early_stops.iter().map(stop).collect(),
        metadata: calipers_core::Metadata::default(),
    })
}
