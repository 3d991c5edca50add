//! `calipers`: arguments in, exit codes out.

mod arguments;
mod command;
mod date;
mod exit;
mod expressions;
mod reading_progress;
mod report_files;
mod script_child;

use command::{baseline, compare, convert, eval, gate, metrics, plan, policy, report, score};
use reading_progress as progress;
use report_files as output;
use script_child as guard;

use arguments::{Arguments, Command, Schema};
use clap::{CommandFactory, Parser};
use std::borrow::Cow;
use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    quiet_caught_panics();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return exit::usage(&error),
    };
    let has_scripts = match &arguments.command {
        Command::Score(score) => guard::is_needed(&score.metric, &score.scripts.load),
        Command::Gate(gate) => gate::has_scripts(&gate.judging),
        Command::Eval(eval) => eval::has_scripts(eval),
        Command::Compare(arguments) => compare::has_scripts(arguments),
        Command::Plan(arguments) => plan::has_scripts(arguments),
        Command::Baseline(baseline) => baseline::has_scripts(baseline),
        Command::Policy(arguments::Policy::Check(check)) => policy::has_scripts(check),
        Command::Report(report) => report::has_scripts(report),
        _ => false,
    };
    if has_scripts && !guard::is_child() {
        let is_eval = matches!(arguments.command, Command::Eval(_));
        if is_eval {
            // The child finishes its log, and we wait for it.
            calipers::run::on_interrupt(|| {});
        }
        return guard::run_in_child(is_eval);
    }
    let done = match arguments.command {
        Command::Score(score) => score::run(&score),
        Command::Gate(gate) => return exit::verdict(gate::run(&gate)),
        Command::Eval(eval) => return exit::verdict(eval::run(&eval)),
        Command::Compare(arguments) => return exit::verdict(compare::run(&arguments)),
        Command::Plan(arguments) => plan::run(&arguments),
        Command::Baseline(arguments) => baseline::run(&arguments),
        Command::Policy(arguments::Policy::Check(check)) => return policy::check(&check),
        Command::Report(report) => report::run(*report),
        Command::Convert(convert) => convert::run(&convert),
        Command::Metrics(arguments) => metrics::run(&arguments),
        Command::Formats { json } => score::formats(json),
        Command::Schema { name } => exit::print(|out| out.write_all(schema(name).as_bytes())),
        Command::Completions { shell } => completions(shell),
        Command::Man => exit::print(manual),
    };
    exit::code(done)
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

fn schema(name: Schema) -> Cow<'static, str> {
    match name {
        Schema::Results => calipers::render::results_schema().into(),
        Schema::Gate => calipers::render::GATE_SCHEMA.into(),
        Schema::Policy => calipers::policy::SCHEMA.into(),
        Schema::Baseline => calipers::io::BASELINE_SCHEMA.into(),
        Schema::Findings => calipers::render::FINDINGS_SCHEMA.into(),
        Schema::Raise => calipers::render::RAISE_SCHEMA.into(),
        Schema::Compare => calipers::render::COMPARE_SCHEMA.into(),
        Schema::Plan => calipers::render::PLAN_SCHEMA.into(),
    }
}

fn completions(shell: clap_complete::Shell) -> Result<(), exit::Failure> {
    // The generator does not expect its reader to go away, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "calipers", &mut script);
    exit::print(|out| out.write_all(&script))
}

/// The page of the program, then a section for each command: one page holds all that can be asked for.
fn manual(out: &mut dyn Write) -> io::Result<()> {
    let mut program = Arguments::command();
    program.build();
    let page = clap_mangen::Man::new(program.clone());
    page.render_title(out)?;
    page.render_name_section(out)?;
    page.render_synopsis_section(out)?;
    page.render_options_section(out)?;
    section(out, "CALIPERS", &program)?;
    page.render_version_section(out)
}

/// A section for each command below this one, and for the commands below those.
fn section(out: &mut dyn Write, name: &str, above: &clap::Command) -> io::Result<()> {
    let is_told = |command: &&clap::Command| !command.is_hide_set() && command.get_name() != "help";
    for command in above.get_subcommands().filter(is_told) {
        let name = format!("{name} {}", command.get_name().to_uppercase());
        writeln!(out, ".SH \"{name}\"")?;
        let page = clap_mangen::Man::new(command.clone());
        let mut text = Vec::new();
        page.render_description_section(&mut text)?;
        page.render_synopsis_section(&mut text)?;
        page.render_options_section(&mut text)?;
        // What are sections of a page of its own are parts of a section here.
        out.write_all(String::from_utf8_lossy(&text).replace(".SH ", ".SS ").as_bytes())?;
        section(out, &name, command)?;
    }
    Ok(())
}
