//! `calipers`: arguments in, exit codes out.
//!
//! It is a library for the Python package, which runs tasks in Python with the same options, output and exit codes.

mod command;
mod config_file;
mod date;
mod exit;
mod expressions;
mod failure;
mod flag_hints;
mod flags;
#[cfg(feature = "view")]
mod history_file;
mod human_labels;
mod interrupts;
mod judging;
mod looks_file;
mod memory_limit;
mod memory_reuse;
mod policy_file;
mod reading;
mod reading_progress;
mod report_files;
mod script_child;
#[cfg(feature = "eval")]
mod script_watch;
mod selection;
#[cfg(feature = "view")]
mod surroundings;
mod terminal;
mod value_limits;
#[cfg(feature = "eval")]
mod vocabulary;
#[cfg(not(feature = "eval"))]
#[path = "plain_vocabulary.rs"]
mod vocabulary;

#[cfg(feature = "eval")]
pub use command::eval::{ProgressLine, PythonFile};
pub use failure::Fault;
pub use looks_file::judge_with_looks;
pub use value_limits::{LimitMistake, read_limit};

#[cfg(feature = "eval")]
use calipers::run::Task;
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use command::{Arguments, Command};
use exit::Outcome;
use failure::Failure;
use script_child::ChildPurpose;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    quiet_caught_panics();
    memory_reuse::keep_freed_blocks();
    match parse(std::env::args_os().collect()) {
        Ok((command, matches, words)) => ExitCode::from(run_or_delegate(command, &matches, &words)),
        Err(code) => ExitCode::from(code),
    }
}

/// Runs `calipers eval` with these words, the name of the program first, on a task that `load` makes from a file in Python. Returns
/// the exit code.
#[cfg(feature = "eval")]
pub fn eval_python(words: Vec<OsString>, load: &dyn Fn(&PythonFile) -> Result<Task, Fault>) -> u8 {
    let typed = words.clone();
    match parse(words) {
        Ok((Command::Eval(mut eval), ..)) => {
            eval.typed = Some(typed);
            exit::code(eval.run(Some(load)))
        }
        Ok(_) => exit::code(Err(Failure::new("only `calipers eval` runs tasks in Python"))),
        Err(code) => code,
    }
}

/// The command that words stand for, with those of `calipers.toml`. Otherwise what is wrong has been said, and this is the exit code.
fn parse(words: Vec<OsString>) -> Result<(Command, ArgMatches, Vec<OsString>), u8> {
    let words = config_file::complete(words).map_err(|failure| exit::code(Err(failure)))?;
    let matches = Arguments::command().try_get_matches_from(words.clone()).map_err(|error| exit::usage(&error))?;
    let arguments =
        Arguments::from_arg_matches(&matches).map_err(|error| exit::usage(&error.format(&mut Arguments::command())))?;
    Ok((arguments.command, matches, words))
}

/// Runs a command here or in a child. Returns the exit code.
fn run_or_delegate(command: Command, matches: &ArgMatches, words: &[OsString]) -> u8 {
    #[cfg(feature = "eval")]
    if let Command::Eval(eval) = &command
        && eval.is_python()
    {
        return eval.run_in_python();
    }
    let memory = memory_limit::of_command(&Arguments::command(), matches);
    if script_child::is_child() {
        memory.into_iter().for_each(memory_limit::apply);
        if memory.is_some() && !scripts(&command) {
            script_child::end_with_parent();
        }
        return exit::code(run(command));
    }
    let is_limited = memory.is_some() && memory_limit::is_needed(matches, words);
    let scripts = scripts(&command);
    if scripts || is_limited {
        // The child of a run finishes its log, and we wait for it.
        let forwarder = match command {
            #[cfg(feature = "eval")]
            Command::Eval(_) => Some(interrupts::InterruptForwarder::start()),
            _ => None,
        };
        if let Some(code) = script_child::run_in_child(&ChildPurpose { forwarder, scripts, memory, python: None }) {
            return code;
        }
    }
    exit::code(run(command))
}

/// True unless it is certain that a command runs no script. Scripts run in a child whose memory is limited.
fn scripts(command: &Command) -> bool {
    match command {
        Command::Score(score) => score.scripts(),
        #[cfg(feature = "eval")]
        Command::Eval(eval) => eval.scripts(),
        #[cfg(not(feature = "eval"))]
        Command::Eval(_) => false,
        Command::Gate(gate) => gate.scripts(),
        Command::Compare(compare) => compare.scripts(),
        Command::Plan(plan) => plan.scripts(),
        Command::Baseline(baseline) => baseline.scripts(),
        Command::Policy(policy) => policy.scripts(),
        Command::Report(report) => report.scripts(),
        Command::Fold(fold) => fold.scripts(),
        Command::Merge(merge) => merge.scripts(),
        Command::Convert(_)
        | Command::Judge(_)
        | Command::View(_)
        | Command::History(_)
        | Command::Metrics(_)
        | Command::Formats(_)
        | Command::Schema(_)
        | Command::Config(_)
        | Command::Completions(_)
        | Command::Man(_) => false,
    }
}

fn run(command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::Score(score) => score.run(),
        #[cfg(feature = "eval")]
        Command::Eval(eval) => eval.run(None),
        #[cfg(not(feature = "eval"))]
        Command::Eval(eval) => eval.run("eval"),
        Command::Gate(gate) => gate.run(),
        Command::Compare(compare) => compare.run(),
        Command::Judge(judge) => judge.run(),
        Command::Plan(plan) => plan.run(),
        Command::Baseline(baseline) => baseline.run(),
        Command::Policy(policy) => policy.run(),
        Command::Report(report) => report.run(),
        #[cfg(feature = "view")]
        Command::View(view) => view.run(),
        #[cfg(feature = "view")]
        Command::History(history) => history.run(),
        #[cfg(not(feature = "view"))]
        Command::View(view) => view.run("view"),
        #[cfg(not(feature = "view"))]
        Command::History(history) => history.run("history"),
        Command::Convert(convert) => convert.run(),
        Command::Fold(fold) => fold.run(),
        Command::Merge(merge) => merge.run(),
        Command::Metrics(metrics) => metrics.run(),
        Command::Formats(formats) => formats.run(),
        Command::Schema(schema) => schema.run(),
        Command::Config(config) => config.run(),
        Command::Completions(completions) => completions.run(),
        Command::Man(man) => man.run(),
    }
}

/// A panic that a reader catches becomes an error with a place and a hint; the report of the panic would only be noise
/// before it.
fn quiet_caught_panics() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !calipers::io::panic_is_caught() {
            report(panic);
        }
    }));
}
