//! Standard output: what fits on it, and a reader who may go away.

use crate::failure::Failure;
use calipers::render::{Ink, Screen, Style};
use serde_json::Value;
use std::io::{self, IsTerminal, Write};

/// Colour only where a person looks, and not if they asked for none; as wide as their terminal.
pub(crate) fn screen() -> Screen {
    let asked_for_none = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let out = io::stdout();
    let style = if out.is_terminal() && !asked_for_none { Style::Colour } else { Style::Plain };
    let width = terminal_size::terminal_size_of(&out).map_or(Screen::WIDTH, |(width, _)| usize::from(width.0));
    Screen { style, width }
}

/// Lines and dots, unless a terminal says that it shows nothing but ASCII.
pub(crate) fn ink() -> Ink {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| set(name)).unwrap_or_default().to_lowercase();
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb") && io::stdout().is_terminal();
    let is_other = !locale.is_empty() && !locale.contains("utf-8") && !locale.contains("utf8");
    if is_dumb || is_other { Ink::Ascii } else { Ink::Unicode }
}

/// Writes to standard output.
pub(crate) fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    write(&mut out).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
        _ => Failure::new(format!("the output cannot be written: {error}")),
    })
}

/// Writes a text to standard output.
pub(crate) fn print_text(text: &str) -> Result<(), Failure> {
    print(|out| out.write_all(text.as_bytes()))
}

/// Writes JSON to standard output, indented.
pub(crate) fn print_json(json: &Value) -> Result<(), Failure> {
    print(|out| {
        serde_json::to_writer_pretty(&mut *out, json)?;
        writeln!(out)
    })
}

/// The same result, where a reader who went away changes nothing about what comes next.
pub(crate) fn allow_closed_pipe(printed: Result<(), Failure>) -> Result<(), Failure> {
    match printed {
        Err(Failure::ClosedPipe) => Ok(()),
        printed => printed,
    }
}

/// A text with a plot below it, if there is anything to draw.
pub(crate) fn with_plot(text: String, plot: &str) -> String {
    if plot.is_empty() { text } else { format!("{text}\n{plot}") }
}
