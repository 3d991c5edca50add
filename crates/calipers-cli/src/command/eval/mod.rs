//! `calipers eval`: run a task.

mod flags;
mod progress_line;
mod setup;

pub(crate) use flags::Eval;

use crate::arguments::{Arguments, Command, Scripts};
use crate::exit::{Failure, print};
use crate::expressions::Expressions;
use crate::{guard, score};
use calipers::eval::{Evaluation, Looks, decided_early};
use calipers::gate::{Evaluated, Options};
use calipers::io::{EvalLog, LoadedPolicy, ResumedLog, load_policy, printable};
use calipers::render::{gate_json, gate_text, results_json, results_text};
use calipers::run::{RunStatus, on_interrupt, on_terminate};
use calipers::{GateReport, Labels, Mode, Provenance, Report, Samples, Seed, Value, Verdict, eval};
use clap::Parser;
use setup::Prepared;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// What the scripts of a run may add to the memory that is used already. A run has its own needs, too.
const BUDGET: u64 = 4 << 30;

/// True where a script may run: nearly always.
pub(crate) fn has_scripts(arguments: &Eval) -> bool {
    let is_file = arguments.task.as_deref().is_none_or(|task| setup::file_of(task).0.ends_with(".star"));
    is_file || !arguments.solver.is_empty() || !arguments.scorer.is_empty() || !arguments.metric.is_empty()
}

/// Runs, says what came of it, and returns the verdict: that of the policy, or a pass where there is none.
pub(crate) fn run(given: &Eval) -> Result<Verdict, Failure> {
    let (begun, resumed) = given.resume.as_deref().map(resume).transpose()?.unzip();
    let arguments = begun.as_deref().unwrap_or(given);
    let policy = arguments.gate.as_deref().map(|path| load_policy(Path::new(path))).transpose()?;
    let mut prepared = setup::prepare(arguments)?;
    // A policy may have metrics of its own.
    prepared.setup.keep_texts = policy.as_ref().is_some_and(|policy| !policy.policy.metrics.is_empty());
    let mut done = evaluate(arguments, prepared, policy.as_ref(), resumed)?;
    if let Some(log) = &given.resume {
        // As it was called here, not where it was begun.
        done.log = log.into();
        done.report.source.clone_from(log);
    }
    // On a terminal it stands above the table.
    if given.json || !std::io::stdout().is_terminal() {
        eprintln!("log: {}", printable(&done.log.display().to_string()));
    }
    let verdict = match &policy {
        Some(policy) => judged(arguments, given.json, policy, &done)?,
        None => {
            show(given.json, &done)?;
            Verdict::Pass
        }
    };
    ended(&done)?;
    tell_what_broke(&done);
    Ok(verdict)
}

/// A run may come to its end with attempts that broke: their number is in the table, and why the first of them did is here.
fn tell_what_broke(done: &Evaluation) {
    let Some(first) = done.samples.records().find(|record| record.error.is_some()) else { return };
    let (broke, of) = match done.samples.errored() {
        1 => ("one attempt".to_owned(), ""),
        count => (format!("{count} attempts"), ", the first"),
    };
    let (id, why) = (&first.id, first.error.as_deref().unwrap_or_default());
    eprintln!("note: {broke} broke{of} of sample `{}`: {}", printable(&id.to_string()), printable(why));
}

/// A log to go on with, and what it was begun with. Paths start where they started then.
fn resume(path: &str) -> Result<(Box<Eval>, ResumedLog), Failure> {
    // The folder changes below, and the log stays where it is.
    let place = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let log = EvalLog::resume(&place)?;
    let unknown = || {
        let hint = "`--resume` goes on with logs that `calipers eval` began";
        Failure::Input(format!("{path} does not say how it was begun\n  hint: {hint}"))
    };
    let Some(Value::List(given)) = log.header.calipers.get("arguments") else { return Err(unknown()) };
    let given = given.iter().map(Value::to_string);
    let parsed = Arguments::try_parse_from(["calipers".to_owned()].into_iter().chain(given));
    let Ok(Arguments { command: Command::Eval(eval) }) = parsed else { return Err(unknown()) };
    if let Some(Value::Text(folder)) = log.header.calipers.get("folder") {
        // Where it is gone, whatever is not found is named.
        let _ = std::env::set_current_dir(&**folder);
    }
    Ok((eval, log))
}

fn evaluate(
    arguments: &Eval,
    prepared: Prepared,
    policy: Option<&LoadedPolicy>,
    resumed: Option<ResumedLog>,
) -> Result<Evaluation, Failure> {
    let Prepared { setup, watched } = prepared;
    let stop = setup.stop.clone();
    if let Some(watch) = watched {
        let stop = stop.clone();
        guard::watch_and(watch, arguments.script_time, move || {
            stop.request();
            stop.request();
            // Programs that were started get the time to be ended.
            std::thread::sleep(std::time::Duration::from_millis(500));
        });
    }
    let ended = stop.clone();
    on_terminate(move || {
        ended.request();
        ended.request();
    });
    on_interrupt(move || {
        let is_second = stop.is_requested();
        eprintln!(
            "{}",
            if is_second {
                "\nstopping at once"
            } else {
                "\nstopping when the attempts under way are done; again to stop at once"
            }
        );
        stop.request();
    });
    // A task that runs programs can do whatever they can, and they need what they need.
    let runs_programs = setup.task.solver.iter().map(|solver| solver.name().to_owned());
    let runs_programs = runs_programs.chain(setup.task.scorers.iter().map(|scorer| scorer.name().to_owned()));
    let runs_programs = runs_programs.into_iter().any(|name| name == "command");
    let _limited = (!runs_programs).then(|| guard::limit_memory_by(BUDGET));
    let progress = setup.progress.clone();
    let view = progress_line::View::start(&setup.task.name, progress.clone());
    let expressions = Scripts { load: Vec::new(), script_time: arguments.script_time };
    let expressions = Expressions::new(&expressions, Labels::default());
    let mut looks = Looks::default();
    let mut look = |samples: &Samples| -> Option<String> {
        let policy = policy.filter(|_| arguments.stop_when_decided && looks.is_due(samples))?;
        let run = Evaluated { samples: samples.clone(), ..Evaluated::default() };
        // What is wrong with the policy is said at the end, when all is there.
        let report = judge(&run, policy, arguments, &expressions).ok()?;
        let alpha = 1.0
            - match report.mode {
                Mode::Confidence(level) => level,
                Mode::Point => 0.95,
            };
        decided_early(&report, alpha)
    };
    let done = match resumed {
        Some(log) => eval::resume(setup, log, &mut look),
        None => eval::eval(setup, &mut look),
    };
    drop(view);
    if let Some(took) = progress_line::took(&progress) {
        eprintln!("took: {took}");
    }
    done.map_err(|failure| Failure::Input(failure.to_string()))
}

fn judge(
    run: &Evaluated,
    policy: &LoadedPolicy,
    arguments: &Eval,
    expressions: &Expressions<'_>,
) -> Result<GateReport, calipers::gate::Failure> {
    let (expression, reducers) = (|text: &str| expressions.metric(text), |name: &str| expressions.reducer(name));
    let options =
        Options { seed: Seed(arguments.seed), expression: &expression, reducers: &reducers, ..Options::default() };
    let provenance = Provenance {
        policy: arguments.gate.clone().unwrap_or_default(),
        policy_hash: policy.hash.clone(),
        ..Provenance::default()
    };
    calipers::gate::gate(run, &policy.policy, provenance, &options)
}

/// Judges what was run, and says so.
fn judged(arguments: &Eval, json: bool, policy: &LoadedPolicy, done: &Evaluation) -> Result<Verdict, Failure> {
    let run = Evaluated {
        samples: done.samples.clone(),
        files: vec![done.log.display().to_string()],
        task: done.report.task.clone(),
        model: done.report.model.clone(),
        ..Evaluated::default()
    };
    let scripts = Scripts { load: Vec::new(), script_time: arguments.script_time };
    let expressions = Expressions::new(&scripts, Labels::default());
    let report = judge(&run, policy, arguments, &expressions)?;
    if json {
        print(|out| writeln!(out, "{:#}", gate_json(&report)))?;
    } else {
        show(false, done)?;
        print(|out| write!(out, "\n{}", gate_text(&report, score::screen())))?;
    }
    if let Some(stop) = done.ended.early_stops.first() {
        let (made, left) = (done.ended.finished, done.ended.early_stops.len());
        eprintln!("note: {}: {made} attempts made, {left} not needed", printable(&stop.reason));
    }
    Ok(report.verdict)
}

fn show(json: bool, done: &Evaluation) -> Result<(), Failure> {
    let report = Report { runs: vec![done.report.clone()], ..Report::default() };
    match json {
        true => print(|out| writeln!(out, "{:#}", results_json(&report))),
        false => print(|out| out.write_all(results_text(&report, score::screen()).as_bytes())),
    }
}

/// A run that did not come to its end is no answer, whatever the metrics of its part say.
fn ended(done: &Evaluation) -> Result<(), Failure> {
    let log: PathBuf = done.log.clone();
    let how = match done.ended.status {
        RunStatus::Success => return Ok(()),
        RunStatus::Cancelled => "it was stopped".to_owned(),
        RunStatus::Error => done.ended.error.clone().unwrap_or_else(|| "an attempt broke".to_owned()),
    };
    let hint = format!("go on with `calipers eval --resume {}`", log.display());
    Err(Failure::Input(format!("the run did not come to its end: {how}\n  hint: {hint}")))
}
