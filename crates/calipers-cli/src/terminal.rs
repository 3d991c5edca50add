//! Standard output: what fits on it, and a reader who may go away.

use crate::failure::Failure;
use crate::flag_hints;
use calipers::io::redact;
use calipers::render::{Ink, Screen, Style};
use calipers::text::{defuse, defuse_json, defuse_markup, one_line};
use serde_json::Value;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};

/// Colour only where a person looks, and not if they asked for none or their terminal shows none; as wide as their terminal.
pub(crate) fn screen() -> Screen {
    let out = io::stdout();
    let style = style(out.is_terminal(), std::env::var_os("NO_COLOR").as_deref(), std::env::var_os("TERM").as_deref());
    let width = terminal_size::terminal_size_of(&out).map_or(Screen::WIDTH, |(width, _)| usize::from(width.0));
    Screen { style, width, flags: flag_hints::FLAGS }
}

fn style(is_terminal: bool, no_color: Option<&OsStr>, term: Option<&OsStr>) -> Style {
    let asked_for_none = no_color.is_some_and(|value| !value.is_empty());
    let is_dumb = term.is_some_and(|term| term == "dumb");
    if is_terminal && !asked_for_none && !is_dumb { Style::Colour } else { Style::Plain }
}

/// True for a terminal that only prints: it has no colours and cannot go back to redraw a line.
pub(crate) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// What a text in a file is written on.
pub(crate) const FILE: Screen = Screen { flags: flag_hints::FLAGS, ..Screen::PLAIN };

/// Lines and dots, unless a terminal says that it shows nothing but ASCII.
pub(crate) fn ink() -> Ink {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| set(name)).unwrap_or_default().to_lowercase();
    let is_dumb = is_dumb() && io::stdout().is_terminal();
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
    print(|out| out.write_all(defuse(text, screen().style == Style::Colour).as_bytes()))
}

/// Writes JSON to standard output, indented.
pub(crate) fn print_json(json: &Value) -> Result<(), Failure> {
    print(|out| out.write_all(defuse_json(&format!("{json:#}\n")).as_bytes()))
}

/// A report in any form, as it may be printed: a workflow reads its log for commands.
pub(crate) fn for_log(report: &str) -> Cow<'_, str> {
    match report.trim_start().chars().next() {
        Some('{' | '[') => defuse_json(report),
        // A page has its own way: scripts and styles know no entities.
        Some('<') if report.trim_start().to_ascii_lowercase().starts_with("<!doctype") => report.into(),
        Some('<') if report.trim_start().starts_with("<?xml") => defuse_markup(report),
        _ => defuse(report, false),
    }
}

/// Says something that is worth knowing on standard error, in one line.
pub(crate) fn note(text: &str) {
    say(&format!("note: {}", one_line(text)));
}

/// Writes lines to standard error, without the secrets of addresses. The reader may be gone, which is no reason to stop.
pub(crate) fn say(lines: &str) {
    let _ = writeln!(io::stderr(), "{}", defuse(&redact(lines), false));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_for_terminals_that_show_it_to_people_who_want_it() {
        for (is_terminal, no_color, term, want) in [
            (true, None, Some("xterm-256color"), Style::Colour),
            (true, None, None, Style::Colour),
            (true, Some(""), Some("xterm"), Style::Colour),
            (true, Some("1"), Some("xterm"), Style::Plain),
            (true, None, Some("dumb"), Style::Plain),
            (false, None, Some("xterm"), Style::Plain),
        ] {
            assert_eq!(style(is_terminal, no_color.map(OsStr::new), term.map(OsStr::new)), want, "{term:?}");
        }
    }
}
