//! Errors of scripts, with their place.

use calipers_core::{Excerpt, brief, steers};
use starlark::ErrorKind;
use starlark::codemap::FileSpan;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// An error of a script, with the place underlined and, if it can be guessed, what was meant.
///
/// ```
/// use calipers_script::Library;
///
/// let error = Library::builtin().metrics("acuracy()").unwrap_err();
/// assert_eq!(error.to_string(), "\
/// there is no `acuracy`
///   in the expression
///     acuracy()
///     ^^^^^^^
///   hint: did you mean `accuracy`?");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    message: String,
    place: Option<Box<SourcePlace>>,
    hint: Option<String>,
}

/// A place in a source.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SourcePlace {
    excerpt: Excerpt,
    /// The expression and the range of bytes in it; `None` for files.
    part: Option<(Arc<str>, Range<usize>)>,
}

/// The name of what is written on the command line.
pub(crate) const EXPRESSION: &str = "the expression";

impl ScriptError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), place: None, hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// At a place in a source.
    pub(crate) fn at(mut self, span: &FileSpan) -> Self {
        self.place = Some(Box::new(place(span, None)));
        self
    }

    /// At a place in a source, unless it has one.
    pub(crate) fn or_at(self, span: &FileSpan) -> Self {
        if self.place.is_some() { self } else { self.at(span) }
    }

    /// In an expression as a whole.
    pub(crate) fn in_expression(mut self, expression: &str) -> Self {
        let text = expression.trim();
        if self.place.is_none() && !text.contains('\n') {
            let excerpt = Excerpt::new(EXPRESSION, None, text, 0..text.chars().count());
            self.place = Some(Box::new(SourcePlace { excerpt, part: Some((text.into(), 0..text.len())) }));
        }
        self
    }

    /// Starlark's error, reworded where that is clearer. `parameters` knows the parameters of a function.
    pub(crate) fn of(error: &starlark::Error, parameters: impl Fn(&str) -> Vec<String>) -> Self {
        let said = complaint(error.kind()).unwrap_or_else(|| reword(error, parameters));
        let place = error.span().map(|span| Box::new(place(span, said.focus.as_deref())));
        let hint = said.hint.or_else(|| match error.kind() {
            ErrorKind::Parser(_) => error.span().and_then(lacking),
            _ => error.span().filter(|_| said.message.starts_with("there is no `")).and_then(suggest_quotes),
        });
        Self { message: shorten(&said.message), place, hint }
    }
}

/// A message may quote a model: control characters and text-direction marks are escaped.
pub(crate) fn visible(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) && c != '\n' && c != '\t' { clean.extend(c.escape_unicode()) } else { clean.push(c) }
    }
    clean
}

/// Longer messages are cut.
const LONG: usize = 2000;

fn shorten(message: &str) -> String {
    match message.char_indices().nth(LONG) {
        Some((end, _)) => visible(&message[..end]) + "…",
        None => visible(message),
    }
}

/// The line of a place in a source, with the place underlined, or the word in it that is meant.
fn place(span: &FileSpan, focus: Option<&str>) -> SourcePlace {
    let resolved = span.resolve_span();
    let text = span.file.source_line(resolved.begin.line).trim_end();
    let length = text.chars().count();
    let is_one_line = resolved.begin.line == resolved.end.line;
    let (mut from, mut to) = (resolved.begin.column, if is_one_line { resolved.end.column } else { length });
    from = from.min(length);
    to = to.clamp(from, length.max(from));
    if let Some(place) = focus.and_then(|focus| word_in(text, from, to, focus)) {
        (from, to) = place;
    }
    let name = span.filename();
    let line = (name != EXPRESSION || span.file.source().trim().contains('\n')).then_some(resolved.begin.line + 1);
    let part = (name == EXPRESSION).then(|| bytes(span.file.source(), resolved.begin.line, from..to));
    SourcePlace { excerpt: Excerpt::new(name, line, text, from..to), part }
}

/// A source, and the bytes of these characters of a line of it.
fn bytes(source: &str, line: usize, characters: Range<usize>) -> (Arc<str>, Range<usize>) {
    let begin: usize = source.split_inclusive('\n').take(line).map(str::len).sum();
    let rest = &source[begin..];
    let at = |character: usize| begin + rest.char_indices().nth(character).map_or(rest.len(), |(at, _)| at);
    (source.into(), at(characters.start)..at(characters.end))
}

/// Where a whole word stands between two places of a line, in characters.
fn word_in(text: &str, from: usize, to: usize, word: &str) -> Option<(usize, usize)> {
    let characters: Vec<char> = text.chars().collect();
    let wanted: Vec<char> = word.chars().collect();
    let is_part = |c: Option<&char>| c.is_some_and(|c| c.is_alphanumeric() || *c == '_');
    let end = to.min(characters.len());
    (from..end.saturating_sub(wanted.len()) + 1).find_map(|start| {
        let stop = start + wanted.len();
        let whole =
            !is_part(start.checked_sub(1).and_then(|before| characters.get(before))) && !is_part(characters.get(stop));
        (characters.get(start..stop)? == wanted && whole).then_some((start, stop))
    })
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&brief(&self.message))?;
        if let Some(place) = &self.place {
            write!(f, "{}", place.excerpt)?;
        }
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {}", brief(hint)),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ScriptError {}

impl From<ScriptError> for calipers_core::Error {
    fn from(error: ScriptError) -> Self {
        let ScriptError { message, place, hint } = error;
        let (excerpt, part) = place.map_or((None, None), |place| (Some(Box::new(place.excerpt)), place.part));
        calipers_core::ErrorKind::Script { message, excerpt, part, hint }.into()
    }
}

/// An error about the arguments of one of our functions. Starlark passes it on and adds the place.
#[derive(Clone, Debug, Default)]
pub(crate) struct ArgumentError {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// The word to underline, if the place is a whole call.
    pub(crate) focus: Option<String>,
}

impl ArgumentError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl ArgumentError {
    /// Our error inside one of Starlark's, if there is one.
    pub(crate) fn of(error: &starlark::Error) -> Self {
        complaint(error.kind()).unwrap_or_else(|| reword(error, |_| Vec::new()))
    }
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ArgumentError {}

impl From<ArgumentError> for ScriptError {
    fn from(complaint: ArgumentError) -> Self {
        let error = Self::new(shorten(&complaint.message));
        complaint.hint.into_iter().fold(error, Self::hint)
    }
}

impl From<ArgumentError> for starlark::Error {
    fn from(complaint: ArgumentError) -> Self {
        Self::new_native(complaint)
    }
}

impl From<calipers_core::Error> for ArgumentError {
    fn from(error: calipers_core::Error) -> Self {
        let message = error.kind().to_string();
        // Underlining the wrong parameter helps more than underlining the call.
        let focus = message.split("has no parameter `").nth(1).and_then(|rest| rest.split('`').next());
        Self { focus: focus.map(str::to_owned), hint: error.kind().hint(), message }
    }
}

fn complaint(kind: &ErrorKind) -> Option<ArgumentError> {
    let (ErrorKind::Native(error) | ErrorKind::Other(error) | ErrorKind::Value(error) | ErrorKind::Function(error)) =
        kind
    else {
        return None;
    };
    if let Some(complaint) = error.downcast_ref::<ArgumentError>() {
        return Some(complaint.clone());
    }
    error.downcast_ref::<calipers_core::Error>().map(|error| error.clone().into())
}

/// Starlark's message in our style: lower case, with the suggestion as a hint.
fn reword(error: &starlark::Error, parameters: impl Fn(&str) -> Vec<String>) -> ArgumentError {
    if let ErrorKind::Fail(error) = error.kind() {
        return ArgumentError::new(error.to_string().trim());
    }
    let said = format!("{}", error.without_diagnostic());
    let said = said.lines().next().unwrap_or_default();
    if said.contains("ticks has been exceeded") {
        let hint = "look for a loop that runs too often";
        return ArgumentError::new("the script takes too many steps").hint(hint);
    }
    if said.starts_with("Heap memory limit") {
        return ArgumentError::new("the script makes too many values").hint("keep sums and counts instead of lists");
    }
    if said.starts_with("Evaluation cancelled") {
        return too_slow();
    }
    if matches!(error.kind(), ErrorKind::StackOverflow(_)) {
        return ArgumentError::new("the script's calls nest too deeply").hint("look for a function that calls itself");
    }
    if let Some((names, function)) =
        said.strip_prefix("Found `").and_then(|rest| rest.split_once("` extra named parameter(s) for call to "))
    {
        let name = names.split("` `").next().unwrap_or(names);
        // Functions of files are named with their file.
        let function = function.trim_matches('`');
        let function = function.rsplit('.').next().unwrap_or(function);
        let known = parameters(function);
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let mut complaint = ArgumentError::new(format!("`{function}` has no parameter `{name}`"));
        complaint.focus = Some(name.to_owned());
        complaint.hint = match calipers_core::nearest(name, &known) {
            Some(nearest) => Some(format!("did you mean `{nearest}`?")),
            None if known.is_empty() => None,
            None => Some(format!("it has {}", known.join(", "))),
        };
        return complaint;
    }
    let (said, meant) = match said.split_once(", did you mean ") {
        Some((said, meant)) => (said, Some(format!("did you mean {meant}"))),
        None => (said, None),
    };
    let unknown = said.strip_prefix("Variable `").and_then(|rest| rest.strip_suffix("` not found"));
    // The parser reports the end of a source as a new line, which is not there.
    let said = said.replace("unexpected new line", "unexpected end of line");
    let message = unknown.map_or_else(|| lower_case(&said), |name| format!("there is no `{name}`"));
    let attribute = said.split("has no attribute `").nth(1).and_then(|rest| rest.strip_suffix('`'));
    ArgumentError { message, hint: meant, focus: attribute.map(str::to_owned) }
}

pub(crate) fn too_slow() -> ArgumentError {
    ArgumentError::new("the script's time is up").hint("look for a loop that runs too often, or allow more time")
}

fn lower_case(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|c| c.to_lowercase().collect::<String>()).unwrap_or_default();
    (first + characters.as_str()).trim_end_matches('.').to_owned()
}

/// A name after `=` that nothing has is mostly a text without its quotes: `stderr(cluster=category)`.
fn suggest_quotes(span: &FileSpan) -> Option<String> {
    let resolved = span.resolve_span();
    let line: Vec<char> = span.file.source_line(resolved.begin.line).chars().collect();
    let before: String = line.get(..resolved.begin.column)?.iter().collect();
    let name: String = line.get(resolved.begin.column..resolved.end.column)?.iter().collect();
    let parameter = before.trim_end().strip_suffix('=')?.trim_end();
    let parameter = parameter.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next()?;
    // Outside brackets it is an assignment.
    let is_argument = before.contains('(') && !parameter.is_empty();
    is_argument.then(|| format!("a string needs quotes: `{parameter}=\"{name}\"`"))
}

/// Python features that Starlark lacks, and what to write instead.
fn lacking(span: &FileSpan) -> Option<String> {
    let line = span.file.source_line(span.resolve_span().begin.line).trim();
    let word = line.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '@')).next().unwrap_or_default();
    Some(match word {
        "@task" => "leave the decorator out; a function that returns a `Task` is a task".into(),
        "@scorer" => "leave the decorator out, and return `scorer(score, name = …, metrics = […])`".into(),
        "@score_reducer" => "leave the decorator out, and return `score_reducer(reduce, name = …)`".into(),
        _ if word.starts_with('@') => "leave the decorator out; a function with a metric's name is enough".into(),
        "import" | "from" => "there is nothing to import; `load(\"other.star\", \"name\")` reads another file".into(),
        "while" => "write `for i in range(…)` with `break`".into(),
        "try" | "except" | "raise" | "assert" => "errors cannot be caught; `fail(\"…\")` raises one".into(),
        "class" => "write a function, or `struct(a = 1)` for a value with parts".into(),
        "async" => "leave `async` out; there is nothing to wait for".into(),
        "with" | "yield" | "global" | "nonlocal" | "del" => format!("the language has no `{word}`"),
        _ if line.contains("**") => "write `pow(x, y)`".into(),
        _ if line.contains(" for ") && line.contains('(') => "write a list: `sum([… for …])`".into(),
        _ => return None,
    })
}
