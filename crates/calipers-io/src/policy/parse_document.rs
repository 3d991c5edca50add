//! Parses hand-written documents with the place of each part: JSON, YAML and TOML, detected from the content.
//!
//! Any bytes give a document or a mistake with its place. Size, depth and the number of parts are limited, so that
//! neither nesting nor aliases can crash the program.

use crate::catch_panic::catch_panic;
use calipers_gate::policy::document::{Data, Item};
use calipers_gate::policy::{Mistake, SourceText, Span, Spanned};
use jsonc_parser::ast::{ObjectPropName, Value as Json};
use jsonc_parser::errors::ParseErrorKind;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use saphyr_parser::{Event, Parser, ScalarStyle};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// The maximum length in bytes of a hand-written document.
pub(crate) const LENGTH_MAX: usize = 1 << 20;

/// The maximum number of parts, with those of aliases counted each time.
const PARTS_MAX: usize = 100_000;

/// The maximum depth of lists and maps.
const DEPTH_MAX: usize = 64;

/// Reads a document: JSON, YAML or TOML, detected from its content, or from its extension if the content is ambiguous.
pub fn read_document(name: &str, bytes: &[u8]) -> Result<Item, Mistake> {
    let text = decode(name, bytes)?;
    let text = Arc::new(SourceText { name: name.to_owned(), text });
    let language = Language::of(&text);
    let read = catch_panic(|| match language {
        Language::Json => json(&text),
        Language::Yaml => yaml(&text),
        Language::Toml => toml(&text),
    });
    read.unwrap_or_else(|_| {
        Err(Mistake::new(format!("{name} cannot be read as {}", language.name()))
            .hint("check the file from its beginning"))
    })
}

fn decode(name: &str, bytes: &[u8]) -> Result<String, Mistake> {
    if bytes.len() > LENGTH_MAX {
        let message = format!("{name} has more than {} MiB", LENGTH_MAX >> 20);
        return Err(Mistake::new(message).hint("name a policy, not a file of results"));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.trim().is_empty() => Ok(text.to_owned()),
        Ok(_) => {
            Err(Mistake::new(format!("{name} is empty")).hint("write at least `{\"thresholds\": {\"blocking\": {…}}}`"))
        }
        Err(error) => {
            let line = bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count() + 1;
            Err(Mistake::new(format!("{name} is not UTF-8 in line {line}")).hint("save it as UTF-8"))
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Json,
    Yaml,
    Toml,
}

impl Language {
    fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Yaml => "YAML",
            Self::Toml => "TOML",
        }
    }

    /// The language of a text, from its first meaningful line.
    fn of(text: &SourceText) -> Self {
        let ending = text.name.rsplit('.').next().map(str::to_ascii_lowercase).unwrap_or_default();
        let lines = text.text.lines().map(str::trim);
        let first = lines.clone().find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or_default();
        // YAML may begin with a bracket as well; it reads what JSON says in the same way.
        let is_yaml = matches!(ending.as_str(), "yaml" | "yml");
        let header = first.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(name, _)| name);
        let is_header = header.is_some_and(|name| {
            !name.is_empty()
                && name.trim_start_matches('[').chars().all(|c| c.is_alphanumeric() || "_-. \"'".contains(c))
        });
        match first.chars().next() {
            Some('{') => {
                if is_yaml {
                    Self::Yaml
                } else {
                    Self::Json
                }
            }
            Some('[') if is_yaml => Self::Yaml,
            Some('[') => {
                // A file that is called so is TOML, even if its first bracket is never closed.
                if ending == "toml" || is_header && !(ending == "json" || first.contains('"')) {
                    Self::Toml
                } else {
                    Self::Json
                }
            }
            Some('/') if ending == "json" || ending == "jsonc" => Self::Json,
            _ if is_assignment(first) => Self::Toml,
            // Nothing but comments.
            None if ending == "toml" => Self::Toml,
            _ => Self::Yaml,
        }
    }
}

/// True for a line such as `key = …` or `a."b c" = …`: an equals sign after a name, before any colon that is not quoted.
fn is_assignment(line: &str) -> bool {
    let mut quote = None;
    for c in line.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c == '=' => return true,
            None if c.is_alphanumeric() || "_-. ".contains(c) => {}
            None => return false,
        }
    }
    false
}

// What the three have in common.

fn span(text: &Arc<SourceText>, range: Range<usize>) -> Span {
    let whole = &text.text;
    let is_boundary = |at: &usize| whole.is_char_boundary(*at);
    let start = (0..=range.start.min(whole.len())).rev().find(is_boundary).unwrap_or(0);
    let end = (range.end.max(start)..whole.len()).find(is_boundary).unwrap_or(whole.len());
    Span { text: Arc::clone(text), range: start..end }
}

fn finite(number: Option<f64>, span: &Span) -> Result<Data, Mistake> {
    match number.filter(|number| number.is_finite()) {
        Some(number) => Ok(Data::Number(number)),
        None => Err(Mistake::new("expected a finite number").at(span).hint("numbers go up to about 1.8e308")),
    }
}

fn too_deep(span: &Span) -> Mistake {
    Mistake::new(format!("lists and maps nest more than {DEPTH_MAX} deep")).at(span).hint("a policy needs four levels")
}

fn too_many(span: &Span) -> Mistake {
    Mistake::new(format!("the document has more than {PARTS_MAX} parts")).at(span).hint("write it without aliases")
}

/// A library's message in our style: lower case, no full stop.
fn lower_case(text: &str) -> String {
    let mut characters = text.trim().trim_end_matches('.').chars();
    let first = characters.next().map(|c| c.to_lowercase().collect::<String>()).unwrap_or_default();
    first + characters.as_str()
}

// JSON.

const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

fn json(text: &Arc<SourceText>) -> Result<Item, Mistake> {
    // The library is recursive, so depth is checked first.
    if let Some(place) = deep_json(text.text.as_bytes()) {
        return Err(too_deep(&span(text, place..place + 1)));
    }
    let parsed = parse_to_ast(&text.text, &CollectOptions::default(), &STRICT).map_err(|error| {
        let range = error.range();
        json_mistake(error.kind()).at(&span(text, range.start..range.end.max(range.start + 1)))
    })?;
    match parsed.value {
        Some(value) => json_item(text, value),
        None => Err(Mistake::new(format!("{} has no value", text.name)).hint("write `{…}`")),
    }
}

/// Where brackets nest too deep.
fn deep_json(bytes: &[u8]) -> Option<usize> {
    let (mut depth, mut is_quoted, mut is_escaped) = (0_usize, false, false);
    for (place, byte) in bytes.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b'{' | b'[' if !is_quoted => depth += 1,
            b'}' | b']' if !is_quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH_MAX {
            return Some(place);
        }
    }
    None
}

fn json_mistake(kind: &ParseErrorKind) -> Mistake {
    let (message, hint) = match kind {
        ParseErrorKind::CommentsNotAllowed => {
            ("JSON has no comments", "take it out, or write the policy as YAML or TOML")
        }
        ParseErrorKind::TrailingCommasNotAllowed => {
            ("there is a comma too many", "JSON has no comma before a closing bracket")
        }
        ParseErrorKind::SingleQuotedStringsNotAllowed => ("JSON has no single quotes", "write \"…\""),
        ParseErrorKind::ExpectedComma => ("a comma is missing", "put one between two entries"),
        ParseErrorKind::ExpectedColonAfterObjectKey => ("a colon is missing after the key", "write `\"key\": value`"),
        ParseErrorKind::ExpectedStringObjectProperty => ("expected a key in quotes", "write `\"key\": value`"),
        ParseErrorKind::ExpectedObjectValue => ("a value is missing", "write `\"key\": value`"),
        ParseErrorKind::UnterminatedObject => ("a bracket is opened and not closed", "add `}`"),
        ParseErrorKind::UnterminatedArray => ("a bracket is opened and not closed", "add `]`"),
        ParseErrorKind::MultipleRootJsonValues => ("something follows the end of the document", "a policy is one map"),
        ParseErrorKind::NonFiniteNumbersNotAllowed => ("expected a finite number", "JSON has no NaN and no Infinity"),
        ParseErrorKind::UnexpectedWord => ("a word without quotes", "put strings in quotes: \"…\""),
        other => return Mistake::new(lower_case(&other.to_string())).hint("this is read as JSON"),
    };
    Mistake::new(message).hint(hint)
}

fn json_item(text: &Arc<SourceText>, value: Json<'_>) -> Result<Item, Mistake> {
    let at = |range: jsonc_parser::common::Range| span(text, range.start..range.end);
    Ok(match value {
        Json::NullKeyword(null) => Item { value: Data::Null, span: at(null.range) },
        Json::BooleanLit(bool) => Item { value: Data::Bool(bool.value), span: at(bool.range) },
        Json::StringLit(string) => Item { value: Data::Text(string.value.into_owned()), span: at(string.range) },
        Json::NumberLit(number) => {
            let span = at(number.range);
            Item { value: finite(number.value.parse().ok(), &span)?, span }
        }
        Json::Array(array) => {
            let items = array.elements.into_iter().map(|value| json_item(text, value));
            Item { value: Data::List(items.collect::<Result<_, _>>()?), span: at(array.range) }
        }
        Json::Object(object) => {
            let mut entries = Vec::with_capacity(object.properties.len());
            for property in object.properties {
                let (range, name) = match property.name {
                    ObjectPropName::String(name) => (name.range, name.value.into_owned()),
                    ObjectPropName::Word(name) => (name.range, name.value.to_owned()),
                };
                entries.push((Spanned { value: name, span: at(range) }, json_item(text, property.value)?));
            }
            Item::map(entries, at(object.range))?
        }
    })
}

// YAML.

fn yaml(text: &Arc<SourceText>) -> Result<Item, Mistake> {
    let mut reader = Yaml {
        text,
        places: ByteOffsets::new(&text.text),
        open: Vec::new(),
        root: None,
        anchors: HashMap::new(),
        parts: 0,
    };
    for event in Parser::new_from_str(&text.text) {
        let (event, place) = event.map_err(|error| {
            let at = reader.places.byte(error.marker().index());
            // The parser may notice a tab only at what follows it.
            let line = text.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
            let is_indent = |c: &char| matches!(c, ' ' | '\t');
            let has_tab = text.text[line..].chars().take_while(is_indent).any(|c| c == '\t');
            let hint = match has_tab {
                true => "this is read as YAML, which is indented with spaces: replace the tabs at the start of lines",
                false => "this is read as YAML; strings that begin with > < % * & ! | @ or contain `: ` need quotes",
            };
            Mistake::new(lower_case(error.info())).at(&span(text, at..at + 1)).hint(hint)
        })?;
        let range = reader.places.byte(place.start.index())..reader.places.byte(place.end.index());
        reader.event(event, span(text, range))?;
    }
    reader
        .root
        .ok_or_else(|| Mistake::new(format!("{} has no value", text.name)).hint("write `thresholds:` and what follows"))
}

/// Converts character offsets, which YAML uses, to byte offsets.
struct ByteOffsets {
    /// The byte offset of each character; `None` if every character is one byte.
    bytes: Option<Vec<usize>>,
    length: usize,
}

impl ByteOffsets {
    fn new(text: &str) -> Self {
        let bytes = (!text.is_ascii()).then(|| text.char_indices().map(|(byte, _)| byte).collect());
        Self { bytes, length: text.len() }
    }

    fn byte(&self, character: usize) -> usize {
        match &self.bytes {
            Some(bytes) => bytes.get(character).copied().unwrap_or(self.length),
            None => character.min(self.length),
        }
    }
}

/// A list or a map that is not yet closed.
struct Open {
    anchor: usize,
    span: Span,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<Item>),
    Map(Vec<(Spanned<String>, Item)>, Option<Spanned<String>>),
}

struct Yaml<'t> {
    text: &'t Arc<SourceText>,
    places: ByteOffsets,
    open: Vec<Open>,
    root: Option<Item>,
    anchors: HashMap<usize, (Item, usize)>,
    parts: usize,
}

impl Yaml<'_> {
    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Mistake> {
        match event {
            Event::DocumentStart(_) if self.root.is_some() => {
                Err(Mistake::new("a second document begins").at(&span).hint("a policy is one document: remove `---`"))
            }
            Event::Scalar(value, style, anchor, tag) => {
                let tag = tag.map(std::borrow::Cow::into_owned);
                let is_text = style != ScalarStyle::Plain || tag.as_ref().is_some_and(is_text_tag);
                if tag.is_some_and(|tag| !is_text_tag(&tag)) {
                    return Err(tag_mistake(&span));
                }
                self.scalar(&value, is_text, anchor, span)
            }
            Event::SequenceStart(anchor, tag) => self.begin(anchor, tag.is_some(), span, OpenKind::List(Vec::new())),
            Event::MappingStart(anchor, tag) => {
                self.begin(anchor, tag.is_some(), span, OpenKind::Map(Vec::new(), None))
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(&span),
            Event::Alias(anchor) => self.alias(anchor, span),
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) | Event::DocumentEnd => {
                Ok(())
            }
        }
    }

    fn scalar(&mut self, value: &str, is_text: bool, anchor: usize, span: Span) -> Result<(), Mistake> {
        // A key is a name, whatever it looks like: `2.0: …` is the version 2.0.
        if let Some(Open { kind: OpenKind::Map(_, key @ None), .. }) = self.open.last_mut() {
            *key = Some(Spanned { value: value.to_owned(), span });
            return Ok(());
        }
        let data = if is_text { Data::Text(value.to_owned()) } else { plain(value, &span)? };
        self.add(Item { value: data, span }, anchor, 1)
    }

    fn begin(&mut self, anchor: usize, is_tagged: bool, span: Span, kind: OpenKind) -> Result<(), Mistake> {
        if is_tagged {
            return Err(tag_mistake(&span));
        }
        self.no_key_here(&span)?;
        if self.open.len() >= DEPTH_MAX {
            return Err(too_deep(&span));
        }
        self.open.push(Open { anchor, span, kind });
        Ok(())
    }

    fn no_key_here(&self, span: &Span) -> Result<(), Mistake> {
        match self.open.last() {
            Some(Open { kind: OpenKind::Map(_, None), .. }) => {
                Err(Mistake::new("a key is a string").at(span).hint("write `key: value`"))
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self, span: &Span) -> Result<(), Mistake> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let whole = self::span(self.text, open.span.range.start..span.range.end);
        let item = match open.kind {
            OpenKind::List(items) => Item { value: Data::List(items), span: whole },
            OpenKind::Map(entries, _) => Item::map(entries, whole)?,
        };
        let parts = if open.anchor == 0 { 1 } else { parts(&item) };
        self.add(item, open.anchor, parts)
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<(), Mistake> {
        self.no_key_here(&span)?;
        let Some((item, parts)) = self.anchors.get(&anchor) else {
            return Err(Mistake::new("an alias within what it stands for").at(&span).hint("write the value itself"));
        };
        // Before it is copied: nine lists of nine aliases each are 387 million parts.
        if self.parts + parts > PARTS_MAX {
            return Err(too_many(&span));
        }
        if self.open.len() + depth(item) > DEPTH_MAX {
            return Err(too_deep(&span));
        }
        self.parts += parts;
        let item = item.clone();
        self.add(item, 0, 0)
    }

    /// Adds a part to its parent.
    fn add(&mut self, item: Item, anchor: usize, parts: usize) -> Result<(), Mistake> {
        self.parts += 1;
        if self.parts > PARTS_MAX {
            return Err(too_many(&item.span));
        }
        if anchor != 0 {
            self.anchors.insert(anchor, (item.clone(), parts));
        }
        match self.open.last_mut().map(|open| &mut open.kind) {
            None => self.root = Some(item),
            Some(OpenKind::List(items)) => items.push(item),
            Some(OpenKind::Map(entries, key)) => entries.extend(key.take().map(|key| (key, item))),
        }
        Ok(())
    }
}

fn is_text_tag(tag: &saphyr_parser::Tag) -> bool {
    tag.is_yaml_core_schema() && tag.suffix == "str"
}

fn tag_mistake(span: &Span) -> Mistake {
    Mistake::new("tags have no meaning in a policy").at(span).hint("remove the tag, and put strings in quotes")
}

fn parts(item: &Item) -> usize {
    1 + match &item.value {
        Data::List(items) => items.iter().map(parts).sum(),
        Data::Map(entries) => entries.iter().map(|(_, item)| parts(item)).sum(),
        _ => 0,
    }
}

fn depth(item: &Item) -> usize {
    match &item.value {
        Data::List(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Data::Map(entries) => 1 + entries.iter().map(|(_, item)| depth(item)).max().unwrap_or(0),
        _ => 0,
    }
}

/// A scalar without quotes, by YAML 1.2's core schema: `yes`, `on` and dates are texts.
fn plain(value: &str, span: &Span) -> Result<Data, Mistake> {
    Ok(match value {
        "" | "~" | "null" | "Null" | "NULL" => Data::Null,
        "true" | "True" | "TRUE" => Data::Bool(true),
        "false" | "False" | "FALSE" => Data::Bool(false),
        _ => match number(value) {
            Some(number) => finite(Some(number), span)?,
            None => Data::Text(value.to_owned()),
        },
    })
}

fn number(value: &str) -> Option<f64> {
    let radix = |prefix: &str, radix| u64::from_str_radix(value.strip_prefix(prefix)?, radix).ok();
    // Numbers in a policy are never so large that their last digits matter.
    if let Some(whole) = radix("0x", 16).or_else(|| radix("0o", 8)) {
        return Some(whole as f64);
    }
    let unsigned = value.strip_prefix(['+', '-']).unwrap_or(value);
    match unsigned {
        ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN" => return Some(f64::NAN),
        _ => {}
    }
    let begins = unsigned.starts_with(|c: char| c.is_ascii_digit())
        || unsigned.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if begins { value.parse().ok() } else { None }
}

// TOML.

fn toml(text: &Arc<SourceText>) -> Result<Item, Mistake> {
    let table = DeTable::parse(&text.text).map_err(|error| {
        let range = error.span().unwrap_or(0..1);
        let at = span(text, range.start..range.end.max(range.start + 1));
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        Mistake::new(lower_case(&message)).at(&at).hint("this is read as TOML")
    })?;
    toml_table(text, table.into_inner(), span(text, 0..text.text.len()), 0)
}

fn toml_table(text: &Arc<SourceText>, table: DeTable<'_>, at: Span, depth: usize) -> Result<Item, Mistake> {
    if depth > DEPTH_MAX {
        return Err(too_deep(&at));
    }
    let mut entries = Vec::with_capacity(table.len());
    for (key, value) in table {
        let key = Spanned { span: span(text, key.span()), value: key.into_inner().into_owned() };
        let place = span(text, value.span());
        entries.push((key, toml_item(text, value.into_inner(), place, depth)?));
    }
    // The library sorts by name.
    entries.sort_by_key(|(key, _)| key.span.range.start);
    Item::map(entries, at)
}

fn toml_item(text: &Arc<SourceText>, value: DeValue<'_>, at: Span, depth: usize) -> Result<Item, Mistake> {
    let value = match value {
        DeValue::String(string) => Data::Text(string.into_owned()),
        DeValue::Boolean(bool) => Data::Bool(bool),
        DeValue::Integer(whole) => {
            let number = i128::from_str_radix(whole.as_str(), whole.radix()).ok();
            finite(number.map(|number| number as f64), &at)?
        }
        DeValue::Float(float) => finite(float.as_str().parse().ok(), &at)?,
        DeValue::Datetime(_) => {
            return Err(Mistake::new("a date has no meaning here").at(&at).hint("put strings in quotes"));
        }
        DeValue::Array(items) => {
            if depth >= DEPTH_MAX {
                return Err(too_deep(&at));
            }
            let items = items.into_iter().map(|item| {
                let place = span(text, item.span());
                toml_item(text, item.into_inner(), place, depth + 1)
            });
            Data::List(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => return toml_table(text, table, at, depth + 1),
    };
    Ok(Item { value, span: at })
}
