//! `calipers man`: one page holds all that can be asked for.

use crate::command::Arguments;
use crate::exit::Outcome;
use crate::failure::Failure;
use crate::terminal::print;
use clap::{Args, CommandFactory};
use std::io::{self, Write};

/// `calipers man`
#[derive(Args, Debug)]
pub(crate) struct Man {}

impl Man {
    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        print(write_page)?;
        Ok(Outcome::Done)
    }
}

/// The page of the program, then a section for each command.
fn write_page(out: &mut dyn Write) -> io::Result<()> {
    let mut program = Arguments::command();
    program.build();
    let page = clap_mangen::Man::new(program.clone());
    page.render_title(out)?;
    page.render_name_section(out)?;
    page.render_synopsis_section(out)?;
    page.render_options_section(out)?;
    write_sections(out, "CALIPERS", &program)?;
    page.render_version_section(out)
}

/// A section for each command below this one, and for the commands below those.
fn write_sections(out: &mut dyn Write, name: &str, above: &clap::Command) -> io::Result<()> {
    let is_public = |command: &&clap::Command| !command.is_hide_set() && command.get_name() != "help";
    for command in above.get_subcommands().filter(is_public) {
        let name = format!("{name} {}", command.get_name().to_uppercase());
        writeln!(out, ".SH \"{name}\"")?;
        let page = clap_mangen::Man::new(command.clone());
        let mut text = Vec::new();
        page.render_description_section(&mut text)?;
        page.render_synopsis_section(&mut text)?;
        page.render_options_section(&mut text)?;
        // What would be a section of a separate page is part of a section here.
        out.write_all(String::from_utf8_lossy(&text).replace(".SH ", ".SS ").as_bytes())?;
        write_sections(out, &name, command)?;
    }
    Ok(())
}
