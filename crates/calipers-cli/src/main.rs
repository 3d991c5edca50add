//! `calipers`: arguments in, exit codes out.

mod command;
mod config_file;
mod date;
mod exit;
mod expressions;
mod failure;
mod flag_hints;
mod flags;
mod human_labels;
mod judging;
mod looks_file;
mod memory_limit;
mod policy_file;
mod reading;
mod reading_progress;
mod report_files;
mod script_child;
mod selection;
mod terminal;

use calipers::run::InterruptForwarder;
use clap::{CommandFactory, FromArgMatches};
use command::{Arguments, Command};
use exit::Outcome;
use failure::Failure;
use script_child::ChildPurpose;
use std::process::ExitCode;

fn main() -> ExitCode {
    quiet_caught_panics();
    let arguments = match config_file::complete(std::env::args_os().collect()) {
        Ok(arguments) => arguments,
        Err(failure) => return exit::code(Err(failure)),
    };
    let words = arguments.clone();
    let matches = match Arguments::command().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => return exit::usage(&error),
    };
    let command = match Arguments::from_arg_matches(&matches) {
        Ok(arguments) => arguments.command,
        Err(error) => return exit::usage(&error.format(&mut Arguments::command())),
    };
    let memory = memory_limit::of_command(&matches);
    if script_child::is_child() {
        memory.into_iter().for_each(memory_limit::apply);
        if memory.is_some() && !scripts(&command) {
            script_child::end_with_parent();
        }
        return exit::code(run(command));
    }
    let is_limited = memory.is_some() && memory_limit::is_needed(&matches, &words);
    let scripts = scripts(&command);
    if scripts || is_limited {
        // The child of a run finishes its log, and we wait for it.
        let forwarder = matches!(command, Command::Eval(_)).then(InterruptForwarder::start);
        if let Some(code) = script_child::run_in_child(&ChildPurpose { forwarder, scripts, memory }) {
            return code;
        }
    }
    exit::code(run(command))
}

/// True unless it is certain that a command runs no script. Scripts run in a child whose memory is limited.
fn scripts(command: &Command) -> bool {
    match command {
        Command::Score(score) => score.scripts(),
        Command::Eval(eval) => eval.scripts(),
        Command::Gate(gate) => gate.scripts(),
        Command::Compare(compare) => compare.scripts(),
        Command::Plan(plan) => plan.scripts(),
        Command::Baseline(baseline) => baseline.scripts(),
        Command::Policy(policy) => policy.scripts(),
        Command::Report(report) => report.scripts(),
        Command::Convert(_)
        | Command::Judge(_)
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
        Command::Eval(eval) => eval.run(),
        Command::Gate(gate) => gate.run(),
        Command::Compare(compare) => compare.run(),
        Command::Judge(judge) => judge.run(),
        Command::Plan(plan) => plan.run(),
        Command::Baseline(baseline) => baseline.run(),
        Command::Policy(policy) => policy.run(),
        Command::Report(report) => report.run(),
        Command::Convert(convert) => convert.run(),
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
