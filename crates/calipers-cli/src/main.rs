//! `calipers`: arguments in, exit codes out.

mod arguments;
mod exit;
mod guard;
mod score;

use arguments::{Arguments, Command};
use clap::{CommandFactory, Parser};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return exit::usage(&error),
    };
    if let Command::Score(score) = &arguments.command
        && guard::is_needed(score)
        && !guard::is_child()
    {
        return guard::run_in_child();
    }
    let done = match arguments.command {
        Command::Score(score) => score::run(&score),
        Command::Formats { json } => score::formats(json),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Arguments::command(), "calipers", &mut std::io::stdout());
            Ok(())
        }
        Command::Man => exit::print(|out| clap_mangen::Man::new(Arguments::command()).render(out)),
    };
    exit::code(done)
}
