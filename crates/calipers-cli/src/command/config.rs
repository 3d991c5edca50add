//! `calipers config`.

use crate::config_file::{ConfigFile, describe};
use crate::exit::Outcome;
use crate::failure::Failure;
use crate::terminal::{print_json, print_text};
use calipers::text::one_line;
use clap::Args;
use serde_json::json;

/// `calipers config`
#[derive(Args, Debug)]
pub(crate) struct Config {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Config {
    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        let config = ConfigFile::find()?;
        let path = config.as_ref().map(|config| one_line(&config.path.to_string_lossy()));
        let keys = describe(config.as_ref());
        if self.json {
            let choices = keys.iter().filter_map(|(key, choice)| {
                let choice = (*choice)?;
                Some(json!({"key": key.name, "flag": format!("--{}", key.flag), "values": choice.values, "line": choice.line}))
            });
            print_json(&json!({"file": path, "choices": choices.collect::<Vec<_>>()}))?;
            return Ok(Outcome::Done);
        }
        let mut text = match &path {
            Some(path) => format!("{path}\n"),
            None => "no calipers.toml in this folder or above it\n".to_owned(),
        };
        let lines = keys.iter().map(|(key, choice)| {
            let (holds, place) = match choice {
                Some(choice) => (choice.values.join(", "), format!("line {}", choice.line)),
                None => (String::new(), "not set".to_owned()),
            };
            [key.name.to_owned(), format!("--{}", key.flag), place, one_line(&holds)]
        });
        let lines: Vec<[String; 4]> = lines.collect();
        // Two blanks after the longest of a column: names of keys may be as long as any.
        let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or(0) + 2;
        let (name_width, flag_width, place_width) = (width(0), width(1), width(2));
        for [name, flag, place, holds] in &lines {
            let line = format!("  {name:<name_width$}{flag:<flag_width$}{place:<place_width$}{holds}");
            text += line.trim_end();
            text.push('\n');
        }
        print_text(&text)?;
        Ok(Outcome::Done)
    }
}
