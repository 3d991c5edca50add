//! `calipers completions`.

use crate::command::Arguments;
use crate::exit::Outcome;
use crate::failure::Failure;
use crate::terminal::print;
use calipers::Registry;
use calipers::io::{formats, writers};
use clap::builder::PossibleValuesParser;
use clap::{Args, CommandFactory};

/// `calipers completions`
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell
    shell: clap_complete::Shell,
}

impl Completions {
    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        let mut program = Arguments::command();
        program.get_subcommands_mut().for_each(offer_names);
        // The generator does not expect its reader to go away, so it writes to memory.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut program, "calipers", &mut script);
        print(|out| out.write_all(&script))?;
        Ok(Outcome::Done)
    }
}

/// Reducers as they are usually named. Others, such as `pass_at_7`, can be typed.
const REDUCERS: [&str; 10] =
    ["mean", "median", "mode", "max", "majority", "collect", "none", "pass_at_3", "pass_k_3", "at_least_2"];

/// Gives the options that take a name the names to offer. Only completions see them: parsing also takes expressions and names
/// that are defined elsewhere.
fn offer_names(command: &mut clap::Command) {
    command.get_subcommands_mut().for_each(offer_names);
    let registry = Registry::builtin();
    let is_metrics = command.get_name() == "metrics";
    let metrics: Vec<&'static str> = registry.names().filter_map(|name| Some(registry.about(name)?.name)).collect();
    let names = |id: &str| match id {
        "metric" => Some(metrics.clone()),
        "name" if is_metrics => Some(metrics.clone()),
        "reducer" => Some(REDUCERS.to_vec()),
        "format" => Some(formats().iter().map(|format| format.name()).collect()),
        "to" => Some(writers().iter().map(|writer| writer.name()).collect()),
        _ => None,
    };
    let ids: Vec<String> = command.get_arguments().map(|argument| argument.get_id().to_string()).collect();
    for id in ids {
        if let Some(names) = names(&id) {
            *command = command.clone().mut_arg(&id, |argument| argument.value_parser(PossibleValuesParser::new(names)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use calipers::Reducer;

    #[test]
    fn names_that_are_offered_are_known() {
        for name in REDUCERS.iter().filter(|name| **name != "none") {
            assert!(Reducer::parse(name).is_ok(), "{name}");
        }
    }
}
