//! `calipers`: arguments in, exit codes out.

mod command;
mod date;
mod exit;
mod expressions;
mod failure;
mod flag_hints;
mod flags;
mod judging;
mod policy_file;
mod reading_progress;
mod report_files;
mod script_child;
mod selection;
mod terminal;

use clap::Parser;
use command::{Arguments, Command};
use exit::Outcome;
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    quiet_caught_panics();
    let command = match Arguments::try_parse() {
        Ok(arguments) => arguments.command,
        Err(error) => return exit::usage(&error),
    };
    if !script_child::is_child() && scripts(&command) {
        let is_eval = matches!(command, Command::Eval(_));
        if is_eval {
            // The child finishes its log, and we wait for it.
            calipers::run::on_interrupt(|| {});
        }
        return script_child::run_in_child(is_eval);
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
        | Command::Metrics(_)
        | Command::Formats(_)
        | Command::Schema(_)
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
        Command::Plan(plan) => plan.run(),
        Command::Baseline(baseline) => baseline.run(),
        Command::Policy(policy) => policy.run(),
        Command::Report(report) => report.run(),
        Command::Convert(convert) => convert.run(),
        Command::Metrics(metrics) => metrics.run(),
        Command::Formats(formats) => formats.run(),
        Command::Schema(schema) => schema.run(),
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
