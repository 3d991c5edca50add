//! Where some of the records of a file stand, and the command that leaves them out.

use crate::{FilePlace, Source};
use std::fmt;
use std::io::Read;

/// What is longer would be cut in a message.
const COMMAND_MAX: usize = 180;

/// Records of a file by their numbers, from 1.
pub(super) struct RowPlaces {
    numbers: Vec<u64>,
    counted: CountedAs,
}

/// What the number of a record counts.
#[derive(Clone, PartialEq)]
pub(super) enum CountedAs {
    /// Lines of the file.
    Lines,
    /// Items of the list that is at this path of the document, as `jq` writes it.
    Items(String),
    /// Entries of the map that is at this path.
    Entries(String),
    /// Rows of a Parquet file.
    Rows,
    /// Records that a command cannot take out by their numbers.
    Records,
}

impl RowPlaces {
    /// Nothing if there are no numbers.
    pub(super) fn new(mut numbers: Vec<u64>, counted: CountedAs) -> Option<Self> {
        numbers.sort_unstable();
        numbers.dedup();
        (!numbers.is_empty()).then_some(Self { numbers, counted })
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The place of the only one.
    pub(super) fn only(&self) -> Option<FilePlace> {
        let [number] = self.numbers[..] else { return None };
        Some(match &self.counted {
            CountedAs::Lines => FilePlace::Line(number),
            CountedAs::Items(path) => FilePlace::Path(format!("{}[{}]", path.trim_start_matches('.'), number - 1)),
            CountedAs::Entries(_) | CountedAs::Rows | CountedAs::Records => FilePlace::Row(number),
        })
    }

    /// The command that writes the file without these records, where a short one does.
    pub(super) fn command_without(&self, source: &Source) -> Option<String> {
        let numbers = |number: fn(u64) -> String, mark: &str| {
            self.numbers.iter().map(|at| number(*at)).collect::<Vec<_>>().join(mark)
        };
        // Rows are counted from 0 there, as items of lists are.
        let from_zero = || numbers(|row| (row - 1).to_string(), ",");
        let below = |path: &str| if path == "." { String::new() } else { format!("{path}|") };
        let edit = match &self.counted {
            CountedAs::Lines => format!("sed '{}d'", numbers(|line| line.to_string(), "d;")),
            CountedAs::Items(path) => format!("jq 'del({}.[{}])'", below(path), from_zero()),
            CountedAs::Entries(path) => format!("jq 'del({}.[keys_unsorted[{}]])'", below(path), from_zero()),
            CountedAs::Rows => {
                let (name, rows) = (source.as_path()?.to_str().filter(|path| is_plain_path(path))?, from_zero());
                let edit = format!("pd.read_parquet('{name}').drop([{rows}]).to_parquet('samples.parquet')");
                return Some(format!("python3 -c \"import pandas as pd; {edit}\""))
                    .filter(|command| command.len() <= COMMAND_MAX && !name.ends_with("samples.parquet"));
            }
            CountedAs::Records => return None,
        };
        command_on(source, &edit, "samples")
    }
}

/// The command that writes what a tool makes of a file to another one of this name, as a shell takes it; nothing if it is hard to write,
/// or if the tool cannot read the file.
pub(super) fn command_on(source: &Source, tool: &str, out: &str) -> Option<String> {
    let path = source.as_path()?.to_str()?;
    let unpack = unpacker(source)?;
    let name = shell_word(path)?;
    let plain = path.trim_end_matches(".gz").trim_end_matches(".zst");
    let ending = plain.rsplit(['/', '\\']).next()?.rsplit_once('.').map_or("txt", |(_, ending)| ending);
    let ending = if ending.chars().all(|c| c.is_ascii_alphanumeric()) { ending } else { "txt" };
    // What is read while it is written would be lost.
    let names = [format!("{out}.{ending}"), format!("only-{out}.{ending}")];
    let out = names.iter().find(|name| !plain.ends_with(name.as_str()))?;
    let command = match unpack {
        "" => format!("{tool} {name} > {out}"),
        unpack => format!("{unpack} {name} | {tool} > {out}"),
    };
    (command.len() <= COMMAND_MAX).then_some(command)
}

impl fmt::Display for RowPlaces {
    /// `line 10`, `lines 10 and 23`, `records 1, 2, 3 … (40 in all)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        let what = if self.counted == CountedAs::Lines { "line" } else { "record" };
        let shown: Vec<String> = self.numbers.iter().take(SHOWN).map(u64::to_string).collect();
        match &shown[..] {
            [one] => write!(f, "{what} {one}"),
            _ if self.numbers.len() > SHOWN => {
                write!(f, "{what}s {} … ({} in all)", shown.join(", "), self.numbers.len())
            }
            [rest @ .., last] => write!(f, "{what}s {} and {last}", rest.join(", ")),
            [] => Ok(()),
        }
    }
}

/// What unpacks a file for tools that read lines of text; nothing if they cannot read it.
fn unpacker(source: &Source) -> Option<&'static str> {
    let mut head = [0; 4];
    let read = std::fs::File::open(source.as_path()?).ok()?.read(&mut head).ok()?;
    match &head[..read] {
        [0x1f, 0x8b, ..] => Some("gzip -dc"),
        [0x28, 0xb5, 0x2f, 0xfd] => Some("zstd -dc"),
        // Lines of UTF-16 end in two bytes.
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => None,
        _ => Some(""),
    }
}

/// True for a path that a shell takes as it is, also in quotes.
pub(super) fn is_plain_path(path: &str) -> bool {
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | ':' | '%' | '+' | ',' | '=');
    path.chars().all(is_plain)
}

/// A path as a shell takes it; nothing if that is hard to write.
pub(super) fn shell_word(path: &str) -> Option<String> {
    match () {
        () if path.starts_with('-') || path.contains(['\'', '`']) || path.chars().any(char::is_control) => None,
        () if is_plain_path(path) => Some(path.to_owned()),
        () => Some(format!("'{path}'")),
    }
}
