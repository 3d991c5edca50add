//! `calipers formats`.

use crate::exit::Outcome;
use crate::failure::Failure;
use crate::terminal::{print, print_json};
use calipers::io::{Writer, formats, writers};
use clap::Args;
use serde_json::json;

/// `calipers formats`
#[derive(Args, Debug)]
pub(crate) struct Formats {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Formats {
    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        if self.json {
            print_list()?;
        } else {
            print_table()?;
        }
        Ok(Outcome::Done)
    }
}

fn print_list() -> Result<(), Failure> {
    let known = formats();
    let list = known.iter().map(|format| {
        let writer = writers().into_iter().find(|writer| writer.name() == format.name());
        let endings = writer.map(Writer::endings);
        json!({"name": format.name(), "about": format.about(), "written": endings})
    });
    print_json(&list.collect())
}

fn print_table() -> Result<(), Failure> {
    let known = formats();
    let width = known.iter().map(|format| format.name().len()).max().unwrap_or(0);
    print(|out| {
        known.iter().try_for_each(|format| writeln!(out, "{:<width$}  {}", format.name(), format.about()))?;
        writeln!(out, "\nwritten by `calipers convert`:")?;
        writers().iter().try_for_each(|writer| writeln!(out, "{:<width$}  {}", writer.name(), writer.about()))
    })
}
