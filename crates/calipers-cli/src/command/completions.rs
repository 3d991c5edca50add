//! `calipers completions`.

use crate::command::Arguments;
use crate::exit::Outcome;
use crate::failure::Failure;
use crate::terminal::print;
use clap::{Args, CommandFactory};

/// `calipers completions`
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell
    shell: clap_complete::Shell,
}

impl Completions {
    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        // The generator does not expect its reader to go away, so it writes to memory.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "calipers", &mut script);
        print(|out| out.write_all(&script))?;
        Ok(Outcome::Done)
    }
}
