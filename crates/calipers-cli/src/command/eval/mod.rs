//! `calipers eval`: run a task.

mod flags;
mod progress_line;
mod setup;
mod signals;

pub(crate) use flags::Eval;

use crate::command::{Arguments, Command};
use crate::exit::Outcome;
use crate::expressions::Expressions;
use crate::failure::Failure;
use crate::flags::ScriptFlags;
use crate::judging::Judging;
use crate::policy_file::PolicyFile;
use crate::script_child::{self, MemoryLimit};
use crate::terminal::{allow_closed_pipe, print_json, print_text, screen};
use calipers::data::{Samples, Value};
use calipers::eval::{EarlyStopper, Evaluation};
use calipers::gate::{GateOptions, GateReport};
use calipers::io::{EvalLog, LoadedPolicy, ResumedLog, printable};
use calipers::plan::{Report, Seed};
use calipers::render::{gate_json, gate_text, results_json, results_text};
use calipers::run::{RunStatus, Task};
use calipers::{LoadedRun, Selection, eval, gate};
use clap::Parser;
use progress_line::ProgressLine;
use setup::PreparedRun;
use std::io::IsTerminal;
use std::time::Duration;

/// What the scripts of a run may add to the memory that is used already. A run has its own needs, too.
const BUDGET: u64 = 4 << 30;
/// How long programs that were started get to end when the process that waits for us is gone.
const GRACE: Duration = Duration::from_millis(500);

impl Eval {
    /// True where a script may run, in a task file, an option or the policy: nearly always.
    pub(crate) fn scripts(&self) -> bool {
        let is_file = self.task.as_deref().is_none_or(|task| setup::file_of(task).0.ends_with(".star"));
        let has_expressions = !self.solver.is_empty() || !self.scorer.is_empty() || !self.metric.is_empty();
        is_file || has_expressions || self.gate.as_ref().is_some_and(|policy| policy.scripts_with(&self.load))
    }

    /// Runs, prints the metrics, and returns the verdict of the policy if there is one.
    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        let (begun, resumed) = self.resume.as_deref().map(resume).transpose()?.unzip();
        // A resumed run has the options of its log; only the way it is shown is chosen here.
        let flags = begun.as_deref().unwrap_or(&self);
        let shown = ShownAs { json: self.json, log: self.resume.as_deref() };
        let Some(policy) = &flags.gate else {
            let done = evaluate(flags, setup::prepare(flags)?, None, resumed, &shown)?;
            allow_closed_pipe(shown.print_results(&done))?;
            finish(&done)?;
            return Ok(Outcome::Done);
        };
        let scripts = ScriptFlags { load: flags.load.clone(), script_time: flags.script_time };
        let judging = flags.judging(policy, &scripts)?;
        let verdict = judging.with_options(|policy, options| {
            let judge = EvalJudge { judging: &judging, policy, options };
            let mut prepared = setup::prepare(flags)?;
            // Custom metrics of a policy may read what scorers said.
            prepared.setup.keep_texts = !policy.policy.metrics.is_empty();
            let done = evaluate(flags, prepared, Some(&judge), resumed, &shown)?;
            let report = judging.judge(&done.to_loaded_run(), policy, options)?;
            shown.print_verdict(&done, &report)?;
            finish(&done)?;
            Ok(report.verdict)
        })?;
        Ok(Outcome::Judged(verdict))
    }

    /// What the verdict depends on, as for `calipers gate`.
    fn judging<'a>(&'a self, policy: &'a PolicyFile, scripts: &'a ScriptFlags) -> Result<Judging<'a>, Failure> {
        policy.load()?;
        let selection = Selection { seed: Seed(self.seed), scripts: scripts.load.clone(), ..Selection::default() };
        Ok(Judging {
            policy,
            expressions: Expressions::load(scripts, selection.labels.clone())?,
            selection,
            suite: self.suite.as_deref(),
            baseline: self.baseline.as_deref(),
            version: self.for_version.as_deref(),
        })
    }
}

/// The policy of a run, with all that its verdict depends on.
struct EvalJudge<'a> {
    judging: &'a Judging<'a>,
    policy: &'a LoadedPolicy,
    options: &'a GateOptions<'a>,
}

impl EvalJudge<'_> {
    /// The verdict so far, without a limit of memory: programs that are started meanwhile would inherit it.
    fn judge_so_far(&self, run: &LoadedRun) -> Option<GateReport> {
        // What is wrong with the policy is said at the end, when all is there.
        gate::gate(run, &self.policy.policy, &self.judging.selection, self.options).ok()
    }
}

/// How a run is shown.
struct ShownAs<'a> {
    json: bool,
    /// The log as it was named, if a run goes on.
    log: Option<&'a str>,
}

impl ShownAs<'_> {
    fn print_results(&self, done: &Evaluation) -> Result<(), Failure> {
        let report = Report { runs: vec![done.report.clone()], ..Report::default() };
        match self.json {
            true => print_json(&results_json(&report)),
            false => print_text(&results_text(&report, screen())),
        }
    }

    fn print_verdict(&self, done: &Evaluation, report: &GateReport) -> Result<(), Failure> {
        let printed = match self.json {
            true => print_json(&gate_json(report)),
            false => self.print_results(done).and_then(|()| print_text(&format!("\n{}", gate_text(report, screen())))),
        };
        allow_closed_pipe(printed)?;
        if let Some(stop) = done.ended.early_stops.first() {
            let (made, left) = (done.ended.finished, done.ended.early_stops.len());
            eprintln!("note: {}: {made} attempts made, {left} not needed", printable(&stop.reason));
        }
        Ok(())
    }
}

/// A log to go on with, and the options that it was begun with. Paths start where they started then.
fn resume(path: &str) -> Result<(Box<Eval>, ResumedLog), Failure> {
    // The folder changes below, and the log stays where it is.
    let place = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let log = EvalLog::resume(&place)?;
    let unknown = || {
        let hint = "`--resume` goes on with logs that `calipers eval` began";
        Failure::new(format!("{path} does not say how it was begun")).hint(hint)
    };
    let Some(Value::List(given)) = log.header.calipers.get("arguments") else { return Err(unknown()) };
    let given = given.iter().map(Value::to_string);
    let parsed = Arguments::try_parse_from(["calipers".to_owned()].into_iter().chain(given));
    let Ok(Arguments { command: Command::Eval(eval) }) = parsed else { return Err(unknown()) };
    if let Some(Value::Text(folder)) = log.header.calipers.get("folder") {
        // If the folder is gone, the first file that is not found says so.
        let _ = std::env::set_current_dir(&**folder);
    }
    Ok((eval, log))
}

/// Runs the task, with what it took on standard error.
fn evaluate(
    flags: &Eval,
    prepared: PreparedRun,
    judge: Option<&EvalJudge<'_>>,
    resumed: Option<ResumedLog>,
    shown: &ShownAs<'_>,
) -> Result<Evaluation, Failure> {
    let PreparedRun { setup, watch } = prepared;
    signals::stop_on_signals(&setup.stop);
    let stop = setup.stop.clone();
    script_child::watch_and(watch, flags.script_time, move || {
        signals::stop_at_once(&stop);
        std::thread::sleep(GRACE);
    });
    let _limit = limit_memory(&setup.task);
    let progress = setup.progress.clone();
    let line = ProgressLine::start(&setup.task.name, progress.clone());
    let mut stopper = EarlyStopper::default();
    let mut look = |samples: &Samples| {
        let judge = judge.filter(|_| flags.stop_when_decided)?;
        stopper.reason_to_stop(samples, |run| judge.judge_so_far(run))
    };
    let done = match resumed {
        Some(log) => eval::resume(setup, log, &mut look),
        None => eval::eval(setup, &mut look),
    };
    drop(line);
    if let Some(usage) = progress_line::usage(&progress) {
        eprintln!("took: {usage}");
    }
    let mut done = done?;
    if let Some(log) = shown.log {
        // As it was called here, not where it was begun.
        done.log = log.into();
        done.report.source = log.to_owned();
    }
    // On a terminal it stands above the table.
    if shown.json || !std::io::stdout().is_terminal() {
        eprintln!("log: {}", printable(&done.log.display().to_string()));
    }
    Ok(done)
}

/// A limit on the scripts of a task. One that runs programs can do whatever they can, and they need what they need.
fn limit_memory(task: &Task) -> Option<MemoryLimit> {
    let mut solvers = task.solver.iter().map(|solver| solver.name());
    let mut scorers = task.scorers.iter().map(|scorer| scorer.name());
    let runs_programs = solvers.any(|name| name == "command") || scorers.any(|name| name == "command");
    if runs_programs { None } else { script_child::limit_memory_by(BUDGET) }
}

/// A run that did not come to its end is no answer, whatever the metrics of its part say. One that did may still have
/// attempts that broke: the table has their number, and why the first of them did is said here.
fn finish(done: &Evaluation) -> Result<(), Failure> {
    let why = match done.ended.status {
        RunStatus::Success => {
            print_first_error(done);
            return Ok(());
        }
        RunStatus::Cancelled => "it was stopped".to_owned(),
        RunStatus::Error => done.ended.error.clone().unwrap_or_else(|| "an attempt broke".to_owned()),
    };
    let hint = format!("go on with `calipers eval --resume {}`", done.log.display());
    Err(Failure::new(format!("the run did not come to its end: {why}")).hint(hint))
}

fn print_first_error(done: &Evaluation) {
    let Some(first) = done.samples.records().find(|record| record.error.is_some()) else { return };
    let (broke, of) = match done.samples.errored_attempts() {
        1 => ("one attempt".to_owned(), ""),
        count => (format!("{count} attempts"), ", the first"),
    };
    let (id, why) = (&first.id, first.error.as_deref().unwrap_or_default());
    eprintln!("note: {broke} broke{of} of sample `{}`: {}", printable(&id.to_string()), printable(why));
}
