//! `calipers eval`: run a task.

mod flags;
mod progress_line;
mod python_file;
mod recorded_run;
mod setup;
mod signals;

pub(crate) use flags::Eval;
pub use progress_line::ProgressLine;
pub use python_file::PythonFile;

use crate::exit::Outcome;
use crate::expressions::Expressions;
use crate::failure::Failure;
use crate::flag_hints::quote_argument;
use crate::flags::ScriptFlags;
#[cfg(feature = "view")]
use crate::history_file::{HistoryFlag, RecordedAnswer};
use crate::judging::Judging;
use crate::policy_file::PolicyFile;
use crate::terminal::{allow_closed_pipe, note, print_json, print_text, say, screen};
use crate::{script_child, script_watch};
use calipers::eval::{EarlyStopper, Evaluation, Look, RunSoFar};
use calipers::gate::{GateOptions, GateReport};
use calipers::io::{EvalLog, LoadedPolicy, ResumedLog, is_address};
use calipers::plan::{Report, Seed};
use calipers::render::{gate_json, gate_text, results_json, results_text};
use calipers::run::{RunStatus, adopt_orphans, end_orphans};
use calipers::text::{brief, one_line};
use calipers::{LoadedRun, Selection, eval, gate};
use python_file::PythonLoader;
use recorded_run::RecordedRun;
use setup::PreparedRun;
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

    /// Runs, prints the metrics, and returns the verdict of the policy if there is one. `python` loads tasks in Python.
    pub(crate) fn run(self, python: Option<&PythonLoader<'_>>) -> Result<Outcome, Failure> {
        // A log that is resumed may say that its run was begun elsewhere.
        #[cfg(feature = "view")]
        let folder = std::env::current_dir().unwrap_or_default();
        let (begun, resumed) = match self.resume.as_deref() {
            Some(path) => self.resume(path).map(|(begun, log)| (begun, Some(log)))?,
            None => (None, None),
        };
        // Where the log is trusted, the run has the options of its log; only the way it is shown is chosen here.
        let flags = begun.as_deref().unwrap_or(&self);
        let shown = ShownAs { json: self.json, typed: &self };
        #[cfg(feature = "view")]
        let recorder = RunRecorder::new(&self, flags, folder)?;
        let Some(policy) = &flags.gate else {
            let prepared = setup::prepare(flags, python)?;
            let runs_programs = prepared.runs_programs();
            let done = evaluate(flags, prepared, resumed, &shown, &mut |_| None)?;
            allow_closed_pipe(shown.print_results(&done))?;
            #[cfg(feature = "view")]
            recorder.record(&done, RecordedAnswer::Metrics)?;
            shown.finish(&done, runs_programs)?;
            return Ok(Outcome::Done);
        };
        let scripts = ScriptFlags { load: flags.load.clone(), script_time: flags.script_time };
        let judging = flags.judging(policy, &scripts)?;
        let verdict = judging.with_options(|policy, options| {
            let mut stopper = EarlyStopper::new(policy.policy.confidence);
            let policy = &if flags.stop_when_decided { policy_with_looks(policy) } else { policy.clone() };
            let judge = EvalJudge { judging: &judging, policy, options };
            let mut prepared = setup::prepare(flags, python)?;
            // Custom metrics of a policy may read what scorers said.
            prepared.setup.keep_texts = !policy.policy.metrics.is_empty();
            let runs_programs = prepared.runs_programs();
            let mut look = |run: &RunSoFar<'_>| {
                flags.stop_when_decided.then(|| stopper.reason_to_stop(run, |run| judge.judge_so_far(run))).flatten()
            };
            let done = evaluate(flags, prepared, resumed, &shown, &mut look)?;
            let report = stopper.settle(judging.judge(&done.to_loaded_run(), policy, options)?);
            shown.print_verdict(&done, &report)?;
            #[cfg(feature = "view")]
            recorder.record(&done, RecordedAnswer::Verdict(&report))?;
            shown.finish(&done, runs_programs)?;
            Ok(report.verdict)
        })?;
        Ok(Outcome::Judged(verdict))
    }

    /// A log to go on with, and the options that it was begun with if they are taken from it.
    fn resume(&self, path: &str) -> Result<(Option<Box<Self>>, ResumedLog), Failure> {
        // The folder may change below, and the log stays where it is.
        let place = match is_address(path) {
            true => path.into(),
            false => std::path::absolute(path).unwrap_or_else(|_| path.into()),
        };
        let log = EvalLog::resume(&place)?;
        if self.task.is_some() || self.replay.is_some() {
            return Ok((None, log));
        }
        let recorded = RecordedRun::read(path, &log.header)?;
        if !self.trust {
            return Err(recorded.refuse(path));
        }
        let mut begun = recorded.trust(path)?;
        begun.allow_commands |= self.allow_commands;
        begun.env.extend(self.env.iter().cloned());
        Ok((Some(begun), log))
    }

    /// What the verdict depends on, as for `calipers gate`.
    fn judging<'a>(&'a self, policy: &'a PolicyFile, scripts: &'a ScriptFlags) -> Result<Judging<'a>, Failure> {
        policy.load()?;
        let selection = Selection { seed: Seed(self.seed), scripts: scripts.load.clone(), ..Selection::default() };
        Ok(Judging {
            cluster: &[],
            looks: None,
            lists_scenarios: true,
            policy,
            expressions: Expressions::load(scripts, selection.labels.clone())?,
            selection,
            suite: self.suite.as_deref(),
            baseline: self.baseline.as_deref(),
            version: self.for_version.as_deref(),
        })
    }
}

/// Puts a run into a history, if that is asked for.
#[cfg(feature = "view")]
struct RunRecorder<'a> {
    flag: &'a HistoryFlag,
    /// Where the command was typed, and the paths in it begin.
    folder: std::path::PathBuf,
}

#[cfg(feature = "view")]
impl<'a> RunRecorder<'a> {
    /// Fails before anything runs if nothing could be recorded.
    fn new(typed: &'a Eval, flags: &'a Eval, folder: std::path::PathBuf) -> Result<Self, Failure> {
        let flag = if typed.history.is_set() { &typed.history } else { &flags.history };
        flag.check(typed.resume.as_ref().or(Some(&flags.log_dir)))?;
        Ok(Self { flag, folder })
    }

    fn record(&self, done: &Evaluation, answer: RecordedAnswer<'_>) -> Result<(), Failure> {
        let log = self.folder.join(&done.log).display().to_string();
        self.flag.record(&[log], &Selection::default(), answer)
    }
}

/// The policy with the confidence that looks leave for the verdict.
fn policy_with_looks(policy: &LoadedPolicy) -> LoadedPolicy {
    let mut policy = policy.clone();
    if let Some(confidence) = &mut policy.policy.confidence {
        *confidence = EarlyStopper::level_of_judge(*confidence);
        eprintln!(
            "note: checking the gates during the run uses up a fifth of the allowed error: the verdict has {} % confidence",
            (*confidence * 1e6).round() / 1e4
        );
    }
    policy
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
    /// The options as they were typed.
    typed: &'a Eval,
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
            false => {
                // The log, the task and the model stand above the metrics.
                let mut report = report.clone();
                report.provenance.files.clear();
                (report.provenance.task, report.provenance.model) = (None, None);
                self.print_results(done).and_then(|()| print_text(&format!("\n{}", gate_text(&report, screen()))))
            }
        };
        allow_closed_pipe(printed)?;
        if let Some(stop) = done.ended.early_stops.first() {
            let (made, left) = (done.ended.finished, done.ended.early_stops.len());
            note(&format!("{}: {made} attempts made, {left} not needed", stop.reason));
        }
        Ok(())
    }
}

/// Variables that agents often need, and that they do not get unless they are named.
const KEYS: [&str; 4] = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"];

impl ShownAs<'_> {
    /// A run that did not come to its end is no answer, whatever the metrics of its part say. One that did may still have
    /// attempts that broke: the table has their number, and why the first of them did is said here.
    fn finish(&self, done: &Evaluation, runs_programs: bool) -> Result<(), Failure> {
        let why = match done.ended.status {
            RunStatus::Success => {
                print_first_error(done);
                return Ok(());
            }
            RunStatus::Cancelled => "it was stopped".to_owned(),
            RunStatus::Error => done.ended.error.clone().unwrap_or_else(|| "an attempt ended in an error".to_owned()),
        };
        let log = done.log.display().to_string();
        let mut hint = match done.ended.budget_spent {
            Some(_) => format!("repeat the command with a larger `--budget` and `--resume {}`", quote_argument(&log)),
            None => format!("continue with `{}`", recorded_run::command_to_resume(self.typed, &log)),
        };
        if let Some(key) = self.withheld_key(done).filter(|_| runs_programs) {
            hint += &format!("; if the program needs `{key}`, add `--env {key}`");
        }
        Err(Failure::new(format!("the run did not finish: {why}")).hint(hint))
    }

    /// A key that is set and that programs which broke did not get.
    fn withheld_key(&self, done: &Evaluation) -> Option<&'static str> {
        let is_withheld =
            |key: &&&str| std::env::var_os(key).is_some() && !self.typed.env.iter().any(|name| name == **key);
        let broke = done.samples.records().any(|record| record.error.is_some());
        KEYS.iter().find(is_withheld).filter(|_| broke).copied()
    }
}

/// Runs the task, with what it took on standard error.
fn evaluate(
    flags: &Eval,
    prepared: PreparedRun,
    resumed: Option<ResumedLog>,
    shown: &ShownAs<'_>,
    look: &mut Look<'_>,
) -> Result<Evaluation, Failure> {
    let runs_programs = prepared.runs_programs();
    let PreparedRun { setup, watch } = prepared;
    signals::stop_on_signals(&setup.stop);
    let stop = setup.stop.clone();
    script_watch::watch_and(watch, flags.script_time, move || {
        signals::stop_at_once(&stop);
        std::thread::sleep(GRACE);
    });
    // One that runs programs can do whatever they can, and they need what they need; the same goes for code in Python.
    let _limit = if runs_programs || flags.is_python() { None } else { script_child::limit_memory_by(BUDGET) };
    if runs_programs {
        adopt_orphans();
    }
    let progress = setup.progress.clone();
    let line = ProgressLine::start(&setup.task.name, progress.clone());
    let done = match resumed {
        Some(log) => eval::resume(setup, log, look),
        None => eval::eval(setup, look),
    };
    drop(line);
    if runs_programs {
        end_orphans();
    }
    if let Some(usage) = progress_line::usage(&progress) {
        eprintln!("took: {usage}");
    }
    let mut done = done?;
    if let Some(log) = &shown.typed.resume {
        // As it was called here, not where it was begun.
        done.log = log.into();
        done.report.source = log.to_owned();
    }
    // Otherwise it stands above the table.
    if shown.json {
        say(&format!("log: {}", one_line(&done.log.display().to_string())));
    }
    Ok(done)
}

fn print_first_error(done: &Evaluation) {
    let Some(first) = done.samples.records().find(|record| record.error.is_some()) else { return };
    let (broke, of) = match done.samples.errored_attempts() {
        1 => ("one attempt".to_owned(), ""),
        count => (format!("{count} attempts"), ", the first"),
    };
    let (id, why) = (&first.id, first.error.as_deref().unwrap_or_default());
    let said = format!("{broke} ended in an error{of} at sample `{id}`: {why}");
    note(&brief(&said));
}
