//! How a run was begun: recorded in its log, shown before a log is resumed, and repeated in hints.
//!
//! A log can come from anyone, and what it records can run programs, send keys to an address, and read and write files. So
//! nothing of it is used without consent: either the command is typed again, or what is recorded is shown and trusted.

use super::Eval;
use crate::command::{Arguments, Command};
use crate::failure::Failure;
use crate::flag_hints::quote_argument;
use crate::terminal::say;
use calipers::data::Value;
use calipers::io::LogHeader;
use calipers::text::one_line;
use clap::Parser;
use std::sync::Arc;

/// In place of an argument that holds a secret.
const NOT_LOGGED: &str = "(not logged)";

/// Longer commands are not repeated in a hint.
const HINT_MAX: usize = 190;

/// The arguments of this process, and its folder, for the log. Without secrets.
pub(super) fn for_log(flags: &Eval) -> Vec<(Arc<str>, Value)> {
    let given = typed_arguments(flags).into_iter().map(Value::from).collect();
    let folder = std::env::current_dir().map(|folder| folder.display().to_string()).unwrap_or_default();
    vec![("arguments".into(), Value::List(given)), ("folder".into(), folder.into())]
}

/// The command that goes on with the run of this process.
pub(super) fn command_to_resume(flags: &Eval, log: &str) -> String {
    let mut typed = typed_arguments(flags);
    if flags.resume.is_none() {
        typed.extend(["--resume".to_owned(), log.to_owned()]);
    }
    let command = show_command(&typed);
    if command.chars().count() <= HINT_MAX && !typed.iter().any(|argument| is_hidden(argument)) {
        return command;
    }
    show_command(&["eval", "--resume", log, "--trust"].map(str::to_owned))
}

fn show_command(arguments: &[String]) -> String {
    let quoted = arguments.iter().map(|argument| quote_argument(argument));
    format!("calipers {}", quoted.collect::<Vec<_>>().join(" "))
}

/// The arguments as they were typed, without secrets.
fn typed_arguments(flags: &Eval) -> Vec<String> {
    let secrets = secrets(flags);
    let hide = |argument: String| {
        let value_of = |secret: &&&String| argument == ***secret || argument.ends_with(&format!("={secret}"));
        match secrets.iter().find(value_of) {
            Some(secret) => argument[..argument.len() - secret.len()].to_owned() + NOT_LOGGED,
            None => argument,
        }
    };
    let words = flags.typed.clone().unwrap_or_else(|| std::env::args_os().collect());
    words.iter().skip(1).map(|word| hide(word.to_string_lossy().into_owned())).collect()
}

/// The values that must not get into a log: addresses with a password or a key, and programs with values for their environment.
fn secrets(flags: &Eval) -> Vec<&String> {
    let address = flags.model_base_url.iter().filter(|address| has_secret(address));
    let parts = flags.solver.iter().chain(&flags.scorer).filter(|expression| sets_environment(expression));
    address.chain(parts).collect()
}

/// Parameters of addresses that say what is meant, not who asks.
const PLAIN_QUERIES: [&str; 2] = ["api-version", "version"];

/// True for `https://name:password@host`, `https://token@host` and `https://host/path?api-key=…`.
fn has_secret(address: &str) -> bool {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    let is_plain = |part: &str| {
        let name = part.split('=').next().unwrap_or_default();
        part.is_empty() || PLAIN_QUERIES.contains(&name)
    };
    authority.contains('@') || rest.contains('#') || !query.split('&').all(is_plain)
}

/// True for `command("./agent", env={"KEY": "…"})`. What merely looks like it is left out of the log, too.
fn sets_environment(expression: &str) -> bool {
    expression.match_indices("env").any(|(at, name)| expression[at + name.len()..].trim_start().starts_with('='))
}

fn is_hidden(argument: &str) -> bool {
    argument.ends_with(NOT_LOGGED)
}

/// What a log records of how its run was begun.
pub(super) struct RecordedRun {
    arguments: Vec<String>,
    folder: Option<String>,
}

impl RecordedRun {
    /// What the log at this path records.
    pub(super) fn read(path: &str, header: &LogHeader) -> Result<Self, Failure> {
        let Some(Value::List(given)) = header.calipers.get("arguments") else {
            let hint = "repeat the command that started it, with `--resume` added";
            return Err(Failure::new(format!("{path} does not say how its run was started")).hint(hint));
        };
        let folder = match header.calipers.get("folder") {
            Some(Value::Text(folder)) if !folder.is_empty() => Some(folder.to_string()),
            _ => None,
        };
        Ok(Self { arguments: given.iter().map(Value::to_string).collect(), folder })
    }

    /// Prints it in full, because trusting it means trusting all of it.
    pub(super) fn print(&self) {
        let place =
            self.folder.as_deref().map_or_else(String::new, |folder| format!(", in {}", quote_argument(folder)));
        say(&format!("recorded in the log: {}{}", one_line(&show_command(&self.arguments)), one_line(&place)));
    }

    /// The refusal to take it without consent.
    pub(super) fn refuse(&self, path: &str) -> Failure {
        self.print();
        let trust = show_command(&["eval", "--resume", path, "--trust"].map(str::to_owned));
        let hint = format!(
            "if you trust what is recorded above, `{trust}` runs it; or type the command that you want to run, with \
             `--resume` added"
        );
        Failure::new("a log is resumed with the command that started it, and this log may come from someone else")
            .hint(hint)
    }

    /// The options that it was begun with. Paths start where they started then.
    pub(super) fn trust(self, path: &str) -> Result<Box<Eval>, Failure> {
        self.print();
        if self.arguments.iter().any(|argument| is_hidden(argument)) {
            let hint = "repeat the command that started it, with `--resume` added";
            return Err(Failure::new(format!(
                "{path} does not record its whole command, because a part of it is secret"
            ))
            .hint(hint));
        }
        let given = ["calipers".to_owned()].into_iter().chain(self.arguments);
        let Ok(Arguments { command: Command::Eval(eval) }) = Arguments::try_parse_from(given) else {
            let hint = "repeat the command that started it, with `--resume` added";
            return Err(Failure::new(format!("what {path} records is not a command of this version")).hint(hint));
        };
        if let Some(folder) = self.folder {
            // If the folder is gone, the first file that is not found says so.
            let _ = std::env::set_current_dir(folder);
        }
        Ok(eval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_with_something_secret_are_known() {
        for address in [
            "https://me:word@host/v1",
            "https://token@host",
            "me:word@host:80",
            "https://host/v1?api-key=abc",
            "https://host/v1?api-version=2&key=abc",
            "https://host/v1?x",
            "https://host/v1#abc",
        ] {
            assert!(has_secret(address), "{address}");
        }
        for address in
            ["https://host/v1", "http://[::1]:80/v1", "host:8000", "https://host/a@b", "https://h/x?api-version=2"]
        {
            assert!(!has_secret(address), "{address}");
        }
    }

    #[test]
    fn programs_with_values_for_their_environment_are_known() {
        assert!(sets_environment("command('x', env={'KEY': 'secret'})"));
        assert!(sets_environment("command('x', env  = E)"));
        assert!(!sets_environment("command('printenv HOME')"));
        assert!(!sets_environment("environment()"));
    }
}
