//! `calipers.toml`: choices that hold for every command below its folder.
//!
//! A key stands for a flag. What the file says is put before what was typed, unless the flag was typed too; so a choice from
//! the file passes through the same checks as one from the command line, and a new flag needs one row here.

use crate::command::Arguments;
use crate::failure::Failure;
use crate::flags::parse_level;
use crate::script_child;
use crate::terminal::note;
use calipers::io::{PolicyError, is_outside, printable, read_document};
use calipers::policy::document::{Data, Item};
use calipers::policy::{Mistake, Span};
use calipers::text::{nearest, one_line};
use clap::CommandFactory;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The name of the file.
const NAME: &str = "calipers.toml";

/// The variable that names another file, or `none`.
const VARIABLE: &str = "CALIPERS_CONFIG";

/// Far more than all choices need.
const LENGTH_MAX: u64 = 1 << 20;

/// A key of the file, and the flag that it stands for.
pub(crate) struct ConfigKey {
    pub(crate) name: &'static str,
    pub(crate) flag: &'static str,
    short: Option<char>,
    shape: ConfigShape,
    about: &'static str,
}

/// What may stand under a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ConfigShape {
    Text,
    Number,
    /// One text or several.
    Texts,
    /// A table of names and texts.
    TextByName,
    /// A table of names and numbers.
    NumberByName,
    /// A table of names and limits: a number, a text such as `60s`, or a table with `min` and `max`.
    Limits,
    /// A path, from the folder of the file.
    Path,
}

const fn key(name: &'static str, flag: &'static str, shape: ConfigShape, about: &'static str) -> ConfigKey {
    ConfigKey { name, flag, short: None, shape, about }
}

/// All keys.
const KEYS: [ConfigKey; 15] = [
    key("columns", "columns", ConfigShape::TextByName, "what each column of a table means; `run` names runs"),
    key("attempts_from", "attempts-from", ConfigShape::Text, "what makes an attempt: `files` or `folders`"),
    key("format", "format", ConfigShape::Text, "the format of the files"),
    ConfigKey {
        short: Some('m'),
        ..key("metrics", "metric", ConfigShape::Texts, "the metrics, instead of recorded ones")
    },
    key("reducer", "reducer", ConfigShape::Texts, "how the attempts of a sample become one score"),
    key("scorers", "scorer", ConfigShape::Texts, "only these scorers"),
    key("labels", "label", ConfigShape::NumberByName, "the number that each label stands for"),
    key("cluster", "cluster", ConfigShape::Texts, "the fields whose values show which samples belong together"),
    key("limits", "limits", ConfigShape::Limits, "the most that one attempt can cost, take or score"),
    key("level", "level", ConfigShape::Number, "the level of intervals"),
    key("seed", "seed", ConfigShape::Number, "the seed of everything random"),
    key("missing", "missing", ConfigShape::Text, "how attempts without a score count: `failed` or `excluded`"),
    key("pass_threshold", "pass-threshold", ConfigShape::Number, "the least score with which an attempt has passed"),
    key("policy", "policy", ConfigShape::Path, "what must hold"),
    key("suite", "suite", ConfigShape::Path, "the scenarios that a run should contain"),
];

/// A choice that the file makes.
#[derive(Debug)]
pub(crate) struct Choice {
    /// The key.
    pub(crate) key: &'static str,
    /// The flag that it stands for.
    pub(crate) flag: &'static str,
    /// The values that the flag gets.
    pub(crate) values: Vec<String>,
    /// The line of the file.
    pub(crate) line: usize,
}

/// The file that was found, and its choices.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    pub(crate) path: PathBuf,
    pub(crate) choices: Vec<Choice>,
}

impl ConfigFile {
    /// The file that the environment names, or the one in the working folder or the nearest folder above it.
    pub(crate) fn find() -> Result<Option<Self>, Failure> {
        let path = match std::env::var_os(VARIABLE) {
            Some(name) if name == "none" => return Ok(None),
            Some(name) => PathBuf::from(name),
            None => match nearest_file() {
                Some(path) => path,
                None => return Ok(None),
            },
        };
        Self::read(path).map(Some)
    }

    fn read(path: PathBuf) -> Result<Self, Failure> {
        let name = printable(&path.to_string_lossy());
        let refuse = |what: String| Failure::new(what).hint(format!("correct the path, or set `{VARIABLE}=none`"));
        if !path.is_file() {
            return Err(refuse(format!("`{name}` is not a file")));
        }
        let mut bytes = Vec::new();
        File::open(&path)
            .and_then(|file| file.take(LENGTH_MAX + 1).read_to_end(&mut bytes))
            .map_err(|error| refuse(format!("cannot read `{name}`: {error}")))?;
        if bytes.len() as u64 > LENGTH_MAX {
            return Err(refuse(format!("`{name}` has more than {LENGTH_MAX} bytes")));
        }
        let item = read_document(&name, &bytes).map_err(|mistake| PolicyError::from(vec![mistake]))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let choices = choices(&item, folder).map_err(PolicyError::from)?;
        Ok(Self { path, choices })
    }
}

fn nearest_file() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    // A name from here is easier to read than a whole path.
    let mut way = PathBuf::new();
    here.ancestors().find_map(|folder| {
        let found = folder.join(NAME).is_file().then(|| way.join(NAME));
        way.push("..");
        found
    })
}

/// The choices of a document, or all that is wrong with it.
fn choices(item: &Item, folder: &Path) -> Result<Vec<Choice>, Vec<Mistake>> {
    let Data::Map(entries) = &item.value else {
        return Err(vec![Mistake::new(format!("it is {}, not a table", item.kind())).at(&item.span)]);
    };
    let (mut choices, mut mistakes) = (Vec::new(), Vec::new());
    for (name, item) in entries {
        let Some(key) = KEYS.iter().find(|key| key.name == name.value) else {
            mistakes.push(unknown_key(&name.value, &name.span));
            continue;
        };
        match key.values(item, folder) {
            Ok(values) => choices.push(Choice { key: key.name, flag: key.flag, values, line: name.span.line() }),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    if mistakes.is_empty() { Ok(choices) } else { Err(mistakes) }
}

fn unknown_key(name: &str, span: &Span) -> Mistake {
    let names: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    let hint = match nearest(name, &names) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("the keys are {}", names.join(", ")),
    };
    Mistake::new(format!("there is no key `{}`", printable(name))).at(span).hint(hint)
}

impl ConfigKey {
    /// What the flag gets for what stands under the key.
    fn values(&self, item: &Item, folder: &Path) -> Result<Vec<String>, Mistake> {
        let wrong = |item: &Item, wanted: &str| {
            Mistake::new(format!("`{}` is {}, not {wanted}", self.name, item.kind())).at(&item.span)
        };
        let text = |item: &Item| match &item.value {
            Data::Text(text) if !text.is_empty() => Ok(text.clone()),
            Data::Text(_) => Err(Mistake::new(format!("`{}` is empty", self.name)).at(&item.span)),
            _ => Err(wrong(item, "a string")),
        };
        let number = |item: &Item| match item.value {
            Data::Number(number) => Ok(number.to_string()),
            _ => Err(wrong(item, "a number")),
        };
        let by_name = |item: &Item, one: &dyn Fn(&Item) -> Result<String, Mistake>| match &item.value {
            Data::Map(entries) => {
                entries.iter().map(|(name, item)| Ok(format!("{}={}", name.value, one(item)?))).collect()
            }
            _ => Err(wrong(item, "a table")),
        };
        let amount = |item: &Item| number(item).or_else(|_| text(item));
        // As the flag takes it: `2`, `60s` or `1..5`.
        let limit = |item: &Item| {
            let Data::Map(_) = item.value else {
                return amount(item).map_err(|_| wrong(item, "a number, a string or a table"));
            };
            let most = item.get("max").ok_or_else(|| wrong(item, "a table with `max`"))?;
            let least = item.get("min").map_or_else(|| Ok("0".to_owned()), amount)?;
            Ok(format!("{least}..{}", amount(most)?))
        };
        match (self.shape, &item.value) {
            (ConfigShape::Text, _) => Ok(vec![text(item)?]),
            (ConfigShape::Number, _) => {
                let written = number(item)?;
                if self.name == "level" {
                    parse_level(&written)
                        .map_err(|what| Mistake::new(format!("`level` is {written}: {what}")).at(&item.span))?;
                }
                Ok(vec![written])
            }
            (ConfigShape::Texts, Data::List(items)) => items.iter().map(text).collect(),
            (ConfigShape::Texts, Data::Text(_)) => Ok(vec![text(item)?]),
            (ConfigShape::Texts, _) => Err(wrong(item, "a string or a list of strings")),
            (ConfigShape::TextByName, _) => by_name(item, &text),
            (ConfigShape::NumberByName, _) => by_name(item, &number),
            (ConfigShape::Limits, _) => by_name(item, &limit),
            (ConfigShape::Path, _) => Ok(vec![self.path(&text(item)?, item, folder)?]),
        }
    }

    /// A path from the folder of the file. The file may come from a stranger, so it names only what stands there or below.
    fn path(&self, name: &str, item: &Item, folder: &Path) -> Result<String, Mistake> {
        let path = folder.join(name);
        let refuse = |what: &str| {
            let message = format!("`{}` names `{}`, which is {what}", self.name, one_line(name));
            let hint = format!("copy the file there, or name it with `--{}` on the command line", self.flag);
            Err(Mistake::new(message).at(&item.span).hint(hint))
        };
        if is_outside(&path, folder) {
            return refuse("outside the folder of calipers.toml");
        }
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            return refuse("no file");
        }
        Ok(path.to_string_lossy().into_owned())
    }

    /// True when a command has the flag. One of the same name may be something else: a suite is a file, and in a history a name.
    fn is_of(&self, command: &clap::Command) -> bool {
        let takes_file = |argument: &clap::Arg| {
            argument.get_value_names().is_some_and(|names| names.iter().any(|name| name == "FILE"))
        };
        command.get_arguments().any(|argument| {
            argument.get_long() == Some(self.flag) && (self.shape != ConfigShape::Path || takes_file(argument))
        })
    }

    /// True when the flag was typed.
    fn is_typed(&self, arguments: &[OsString]) -> bool {
        let typed = arguments.iter().map(|argument| argument.to_string_lossy()).take_while(|argument| argument != "--");
        let is_it = |argument: &str| {
            let long = argument.strip_prefix("--").map(|name| name.split('=').next().unwrap_or_default());
            let short = argument.strip_prefix('-').and_then(|name| name.chars().next());
            long == Some(self.flag) || self.short.is_some() && short == self.short
        };
        typed.into_iter().any(|argument| is_it(&argument))
    }

    fn schema(&self) -> Value {
        let mut schema = match self.shape {
            ConfigShape::Text | ConfigShape::Path => json!({"type": "string", "minLength": 1}),
            ConfigShape::Number => json!({"type": "number"}),
            ConfigShape::Texts => {
                let text = json!({"type": "string", "minLength": 1});
                json!({"anyOf": [text, {"type": "array", "items": text}]})
            }
            ConfigShape::TextByName => {
                json!({"type": "object", "additionalProperties": {"type": "string", "minLength": 1}})
            }
            ConfigShape::NumberByName => json!({"type": "object", "additionalProperties": {"type": "number"}}),
            ConfigShape::Limits => {
                let amount = json!({"type": ["number", "string"]});
                let ends = json!({
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["max"],
                    "properties": {"min": amount, "max": amount},
                });
                json!({"type": "object", "additionalProperties": {"anyOf": [amount, ends]}})
            }
        };
        schema["description"] = format!("{}, as `--{}`", self.about, self.flag).into();
        schema
    }
}

/// The schema of the file: JSON Schema 2020-12.
pub(crate) fn schema() -> String {
    let properties: serde_json::Map<String, Value> =
        KEYS.iter().map(|key| (key.name.to_owned(), key.schema())).collect();
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "calipers.config/1",
        "description": "calipers.toml: settings for all commands in its folder and below. A flag replaces its key.",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    });
    format!("{schema:#}\n")
}

/// Commands whose choices are made elsewhere: a task says how it is scored.
const UNTOUCHED: [&str; 1] = ["eval"];

/// The arguments with the choices of the file, before those that were typed.
pub(crate) fn complete(arguments: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    let mut command = Arguments::command();
    command.build();
    let (mut leaf, mut depth) = (&command, 1);
    while let Some(next) = arguments.get(depth).and_then(|name| leaf.find_subcommand(name)) {
        (leaf, depth) = (next, depth + 1);
    }
    let has_flag = |key: &ConfigKey| key.is_of(leaf);
    let is_help = arguments.iter().any(|argument| argument == "--help" || argument == "-h");
    let is_touched = !is_help && !UNTOUCHED.contains(&leaf.get_name()) && KEYS.iter().any(has_flag);
    let Some(config) = is_touched.then(ConfigFile::find).transpose()?.flatten() else { return Ok(arguments) };
    let (before, typed) = arguments.split_at(depth);
    let is_used = |choice: &&Choice| {
        let key = KEYS.iter().find(|key| key.name == choice.key);
        key.is_some_and(|key| has_flag(key) && !key.is_typed(typed))
    };
    let used: Vec<&Choice> = config.choices.iter().filter(is_used).collect();
    if used.is_empty() {
        return Ok(arguments);
    }
    if !script_child::is_child() {
        let keys: Vec<&str> = used.iter().map(|choice| choice.key).collect();
        note(&format!("{} says {}", config.path.to_string_lossy(), keys.join(", ")));
    }
    let flags = used.iter().flat_map(|choice| choice.values.iter().map(|value| format!("--{}={value}", choice.flag)));
    Ok(before.iter().cloned().chain(flags.map(OsString::from)).chain(typed.iter().cloned()).collect())
}

/// What holds for a key, for `calipers config`: its name, its flag, what it is, and the choice that the file makes.
pub(crate) fn describe(config: Option<&ConfigFile>) -> Vec<(&'static ConfigKey, Option<&Choice>)> {
    let choice = |key: &ConfigKey| config?.choices.iter().find(|choice| choice.key == key.name);
    KEYS.iter().map(|key| (key, choice(key))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use calipers_testing::Scratch;

    fn read(text: &str) -> Result<Vec<Choice>, Vec<String>> {
        let item = read_document(NAME, text.as_bytes()).expect("a document");
        let told = |mistakes: Vec<Mistake>| mistakes.into_iter().map(|mistake| mistake.message).collect();
        choices(&item, Path::new("up")).map_err(told)
    }

    #[test]
    fn every_key_stands_for_a_flag_of_some_command_and_conflicts_with_none() {
        let mut command = Arguments::command();
        command.build();
        let mut leaves: Vec<(Vec<String>, &clap::Command)> = vec![(vec!["calipers".to_owned()], &command)];
        let mut found = std::collections::BTreeSet::new();
        while let Some((way, leaf)) = leaves.pop() {
            leaves.extend(
                leaf.get_subcommands()
                    .map(|next| (way.iter().cloned().chain([next.get_name().to_owned()]).collect(), next)),
            );
            let has = |key: &&ConfigKey| key.is_of(leaf);
            let keys: Vec<&ConfigKey> = KEYS.iter().filter(has).collect();
            found.extend(keys.iter().map(|key| key.name));
            if keys.is_empty() || UNTOUCHED.contains(&leaf.get_name()) {
                continue;
            }
            let value = |key: &ConfigKey| match (key.name, key.shape) {
                ("level", _) => "0.9",
                ("attempts_from", _) => "files",
                ("missing", _) => "failed",
                (_, ConfigShape::Number) => "1",
                _ => "x=1",
            };
            let flags = keys.iter().map(|key| format!("--{}={}", key.flag, value(key)));
            let parsed =
                Arguments::command().try_get_matches_from(way.iter().cloned().chain(flags).chain(["f".to_owned()]));
            let kind = parsed.err().map(|error| error.kind());
            use clap::error::ErrorKind::{MissingRequiredArgument, MissingSubcommand};
            assert!(matches!(kind, None | Some(MissingRequiredArgument | MissingSubcommand)), "{way:?}: {kind:?}");
        }
        let all: std::collections::BTreeSet<&str> = KEYS.iter().map(|key| key.name).collect();
        assert_eq!(found, all);
    }

    #[test]
    fn keys_become_the_values_of_flags() {
        let choices = read(
            "level = 0.9\nmetrics = [\"accuracy\", \"stderr()\"]\nreducer = \"mean\"\npolicy = \"gate.json\"\n\
             [columns]\nid = \"question_id\"\nscore = \"is_correct\"\n[labels]\nmaybe = 0.5\n",
        )
        .expect("all keys are known");
        let found: Vec<(&str, String)> = choices.iter().map(|choice| (choice.flag, choice.values.join(" "))).collect();
        let policy = Path::new("up").join("gate.json").to_string_lossy().into_owned();
        let wanted = [
            ("level", "0.9"),
            ("metric", "accuracy stderr()"),
            ("reducer", "mean"),
            ("policy", &policy),
            ("columns", "id=question_id score=is_correct"),
            ("label", "maybe=0.5"),
        ];
        assert_eq!(found, wanted.map(|(flag, values)| (flag, values.to_owned())));
        assert_eq!(choices[4].line, 5);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_key() {
        let wrong =
            read("levle = 0.9\npolicy = 3\nmetrics = [1]\ncolumns = \"id\"\nscorers = \"\"\n").expect_err("five");
        let wanted = [
            "there is no key `levle`",
            "`policy` is a number, not a string",
            "`metrics` is a number, not a string",
            "`columns` is a string, not a table",
            "`scorers` is empty",
        ];
        assert_eq!(wrong, wanted);
        let item = read_document(NAME, b"levle = 1").expect("a document");
        let mistakes = choices(&item, Path::new("")).expect_err("it is unknown");
        assert_eq!(mistakes[0].hint.as_deref(), Some("did you mean `level`?"));
    }

    #[test]
    fn a_flag_that_is_typed_is_known_in_all_its_spellings() {
        let key = KEYS.iter().find(|key| key.name == "metrics").expect("it is there");
        let typed = |text: &str| key.is_typed(&text.split(' ').map(OsString::from).collect::<Vec<_>>());
        for text in ["f --metric accuracy", "f --metric=accuracy", "-m accuracy f", "-maccuracy"] {
            assert!(typed(text), "{text}");
        }
        for text in ["f", "f -- --metric", "--metrics", "--level 0.9"] {
            assert!(!typed(text), "{text}");
        }
    }

    #[test]
    fn a_file_that_is_too_long_or_none_is_refused() {
        let folder = Scratch::new();
        let path = folder.path().join(NAME);
        std::fs::write(&path, vec![b'#'; LENGTH_MAX as usize + 1]).expect("written");
        assert!(ConfigFile::read(path).is_err());
        assert!(ConfigFile::read(folder.path().to_path_buf()).is_err());
    }
}
