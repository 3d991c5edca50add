//! The program.

use std::process::ExitCode;

fn main() -> ExitCode {
    calipers_cli::main()
}
