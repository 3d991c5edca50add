//! Commands that this build does not have.

use crate::exit::Outcome;
use crate::failure::Failure;
use clap::Args;

/// A command of a feature that was left out.
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub(crate) struct NotBuilt {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _words: Vec<String>,
}

impl NotBuilt {
    pub(crate) fn run(self, name: &str) -> Result<Outcome, Failure> {
        let feature = if name == "eval" { "eval" } else { "view" };
        let hint =
            format!("take a release, or build with it: `cargo run --release --features {feature} -- {name} --help`");
        Err(Failure::new(format!("this build does not have `calipers {name}`")).hint(hint))
    }
}
