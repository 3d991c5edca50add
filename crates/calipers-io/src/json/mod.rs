//! JSON as evaluation tools write it: with bare `NaN` and `Infinity`, which the standard does not allow.

pub(crate) mod json_writer;
pub(crate) mod python_literal;
pub(crate) mod skim;

use crate::ReadError;
use calipers_core::Value;
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Stands before the name of a number that JSON cannot write. A private-use character, so that a model's text is not
/// mistaken for it.
const MARK: char = '\u{e0ca}';

/// A line of JSON Lines, without the blanks around it and the comma that some writers put behind each record.
pub(crate) fn line(line: &[u8]) -> &[u8] {
    let line = line.trim_ascii();
    line.strip_suffix(b"},").map_or(line, |record| &line[..record.len() + 1])
}

/// The lists of a file that holds several, one after the other on lines of their own, as the items of one; none if it holds one.
///
/// A line end stands in no string, and within one document no list follows another without a comma.
pub(crate) fn join_lists(bytes: &[u8]) -> Option<Vec<u8>> {
    const BOM: &[u8] = &[0xef, 0xbb, 0xbf];
    let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes).trim_ascii();
    let mut borders = Vec::new();
    let mut at = 0;
    while let Some(end) = memchr::memchr(b'\n', &bytes[at..]).map(|end| at + end) {
        let next =
            bytes[end..].iter().position(|byte| !byte.is_ascii_whitespace()).map_or(bytes.len(), |next| end + next);
        if bytes[at..end].trim_ascii_end().ends_with(b"]") && bytes.get(next) == Some(&b'[') {
            borders.push(end);
        }
        at = next;
    }
    if borders.is_empty() || bytes.first() != Some(&b'[') {
        return None;
    }
    let mut joined = Vec::with_capacity(bytes.len() + borders.len() + 2);
    joined.push(b'[');
    let mut start = 0;
    for border in borders {
        joined.extend_from_slice(&bytes[start..border]);
        joined.push(b',');
        start = border;
    }
    joined.extend_from_slice(&bytes[start..]);
    joined.push(b']');
    Some(joined)
}

/// The bytes with bare `NaN`, `Infinity` and `-Infinity` turned into marked texts. Copies only if there are any.
pub(crate) fn standard(bytes: &[u8]) -> Cow<'_, [u8]> {
    let suspicious = |needle: &[u8]| memchr::memmem::find(bytes, needle).is_some();
    if !suspicious(b"NaN") && !suspicious(b"Infinity") {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len() + 64);
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let token = [&b"-Infinity"[..], b"Infinity", b"NaN"].into_iter().find(|token| rest.starts_with(token));
        if rest[0] == b'"' {
            let end = string_end(rest);
            out.extend_from_slice(&rest[..end]);
            at += end;
        } else if let Some(token) = token {
            out.push(b'"');
            out.extend_from_slice(MARK.encode_utf8(&mut [0; 4]).as_bytes());
            out.extend_from_slice(token);
            out.push(b'"');
            at += token.len();
        } else {
            out.push(rest[0]);
            at += 1;
        }
    }
    Cow::Owned(out)
}

/// The place of the first of three bytes.
///
/// Most strings in JSON are short, and a vector search is slow to start, so the first bytes are searched eight at a
/// time: a byte that becomes 0 is the only one that borrows from its highest bit (H. S. Warren, *Hacker's Delight*,
/// 6-1; bits above the first one found may be wrong, and are not looked at).
pub(crate) fn find(needles: [u8; 3], bytes: &[u8]) -> Option<usize> {
    const EIGHT: usize = 8;
    const STEPS: usize = 6;
    const LOW: u64 = u64::from_le_bytes([0x01; EIGHT]);
    const HIGH: u64 = u64::from_le_bytes([0x80; EIGHT]);
    let (eights, _) = bytes.as_chunks::<EIGHT>();
    let eights = &eights[..eights.len().min(STEPS)];
    for (step, eight) in eights.iter().enumerate() {
        let zeros = |needle: u8| {
            let differs = u64::from_le_bytes(*eight) ^ (LOW * u64::from(needle));
            differs.wrapping_sub(LOW) & !differs
        };
        let found = (zeros(needles[0]) | zeros(needles[1]) | zeros(needles[2])) & HIGH;
        if found != 0 {
            return Some(step * EIGHT + found.trailing_zeros() as usize / EIGHT);
        }
    }
    let done = eights.len() * EIGHT;
    memchr::memchr3(needles[0], needles[1], needles[2], &bytes[done..]).map(|place| done + place)
}

/// The place of the first quote, backslash or control character, where most likely a string without any but the first ends.
pub(crate) fn find_text_end(bytes: &[u8]) -> Option<usize> {
    const EIGHT: usize = 8;
    const STEPS: usize = 6;
    const LOW: u64 = u64::from_le_bytes([0x01; EIGHT]);
    const HIGH: u64 = u64::from_le_bytes([0x80; EIGHT]);
    let (eights, _) = bytes.as_chunks::<EIGHT>();
    let eights = &eights[..eights.len().min(STEPS)];
    for (step, eight) in eights.iter().enumerate() {
        let eight = u64::from_le_bytes(*eight);
        // As in `find`: a byte that is smaller is the only one that borrows.
        let below = |bytes: u64, limit: u8| bytes.wrapping_sub(LOW * u64::from(limit)) & !bytes;
        let zeros = |needle: u8| below(eight ^ (LOW * u64::from(needle)), 1);
        let found = (zeros(b'"') | zeros(b'\\') | below(eight, b' ')) & HIGH;
        if found != 0 {
            return Some(step * EIGHT + found.trailing_zeros() as usize / EIGHT);
        }
    }
    let done = eights.len() * EIGHT;
    let rest = &bytes[done..];
    let quote = memchr::memchr2(b'"', b'\\', rest);
    let before = &rest[..quote.unwrap_or(rest.len())];
    // No early exit, so that vector instructions can do it.
    let has_control = before.iter().fold(false, |found, byte| found | (*byte < b' '));
    let control = if has_control { before.iter().position(|byte| *byte < b' ') } else { None };
    control.or(quote).map(|place| done + place)
}

/// Where a string that begins here ends, its quotes included.
fn string_end(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(found) = find([b'"', b'\\', b'"'], &bytes[at.min(bytes.len())..]) {
        at += found;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

/// How deep lists and maps may nest. Far beyond any result file, and far from the end of the stack.
const DEPTH_MAX: usize = 100;

/// A JSON value, with the numbers that JSON cannot write.
#[derive(Clone, Debug)]
pub(crate) struct Json(pub(crate) Value);

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor).map(Json)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, b: bool) -> Result<Value, E> {
        Ok(Value::Bool(b))
    }

    fn visit_i64<E>(self, i: i64) -> Result<Value, E> {
        Ok(Value::Int(i))
    }

    fn visit_u64<E>(self, u: u64) -> Result<Value, E> {
        Ok(i64::try_from(u).map_or_else(|_| Value::Float(u as f64), Value::Int))
    }

    fn visit_f64<E>(self, x: f64) -> Result<Value, E> {
        Ok(Value::from(x))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(match text.strip_prefix(MARK) {
            Some("NaN") => Value::Missing,
            Some("Infinity") => Value::Float(f64::INFINITY),
            Some("-Infinity") => Value::Float(f64::NEG_INFINITY),
            _ => Value::Text(text.into()),
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Json(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Entries::default();
        while let Some(key) = entries.next_key::<JsonKey>()? {
            let JsonKey::Name(key) = key else { return entries.next_value().map(|Numeral(number)| number) };
            let Json(value) = entries.next_value()?;
            map.set(&key, value);
        }
        Ok(Value::Map(map.list))
    }
}

/// When any crate in the program enables serde_json's feature `arbitrary_precision`, numbers arrive as a map with this
/// single key.
const NUMBER: &str = "$serde_json::private::Number";

/// A key of a map, unless the map is a number.
enum JsonKey {
    Number,
    Name(String),
}

impl<'de> Deserialize<'de> for JsonKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(KeyVisitor)
    }
}

struct KeyVisitor;

impl Visitor<'_> for KeyVisitor {
    type Value = JsonKey;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<JsonKey, E> {
        Ok(if key == NUMBER { JsonKey::Number } else { JsonKey::Name(key.to_owned()) })
    }

    fn visit_string<E>(self, key: String) -> Result<JsonKey, E> {
        Ok(if key == NUMBER { JsonKey::Number } else { JsonKey::Name(key) })
    }
}

/// A number that comes as it is written.
struct Numeral(Value);

impl<'de> Deserialize<'de> for Numeral {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(NumeralVisitor).map(Numeral)
    }
}

struct NumeralVisitor;

impl Visitor<'_> for NumeralVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        numeral(text).ok_or_else(|| E::custom("number out of range"))
    }
}

/// A number as serde_json reads it by itself: an integer if it fits, else a float; `-0` keeps its sign. None if it is
/// too large for a float.
fn numeral(text: &str) -> Option<Value> {
    match text.parse::<i64>() {
        Ok(0) if text.starts_with('-') => Some(Value::Float(-0.0)),
        Ok(i) => Some(Value::Int(i)),
        Err(_) => text.parse().ok().filter(|x: &f64| x.is_finite()).map(Value::Float),
    }
}

/// The entries of a map being read. If a key occurs twice, the last value counts, as in every reader these files were
/// made for.
#[derive(Default)]
struct Entries {
    list: Vec<(Arc<str>, Value)>,
    /// Where the keys of a large map are; a linear search would take too long.
    index: HashMap<Arc<str>, usize>,
}

impl Entries {
    /// Up to this many keys are compared one by one.
    const FEW: usize = 32;

    fn set(&mut self, key: &str, value: Value) {
        let known = if self.list.len() <= Self::FEW {
            self.list.iter().position(|(name, _)| **name == *key)
        } else {
            self.index.get(key).copied()
        };
        if let Some(place) = known {
            self.list[place].1 = value;
            return;
        }
        self.list.push((key.into(), value));
        if self.list.len() > Self::FEW {
            let fresh = if self.index.is_empty() { 0 } else { self.list.len() - 1 };
            let places = self.list.iter().enumerate().skip(fresh);
            self.index.extend(places.map(|(place, (name, _))| (name.clone(), place)));
        }
    }
}

/// Parses one document. Errors name the line.
pub(crate) fn parse(source: &str, bytes: &[u8]) -> Result<Value, ReadError> {
    let standard = standard(bytes);
    let Json(value) = serde_json::from_slice(&standard).map_err(|error| json_error(source, &error))?;
    check_depth(&value, 0)
        .map_err(|()| ReadError::new(source, format!("values nest deeper than {DEPTH_MAX} levels")))?;
    Ok(value)
}

/// Parses one document without the values under these keys, at any depth: conversations that are most of a file and
/// that no metric reads.
pub(crate) fn parse_without(source: &str, bytes: &[u8], keys: &[&str]) -> Result<Value, ReadError> {
    let standard = standard(bytes);
    let mut parser = serde_json::Deserializer::from_slice(&standard);
    // The parser itself refuses to nest deeper than 128 levels.
    Without(keys)
        .deserialize(&mut parser)
        .and_then(|value| parser.end().map(|()| value))
        .map_err(|error| json_error(source, &error))
}

/// A JSON value without what stands under some keys.
#[derive(Clone, Copy)]
struct Without<'a>(&'a [&'a str]);

impl<'de> DeserializeSeed<'de> for Without<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Without<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        JsonVisitor.expecting(f)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, b: bool) -> Result<Value, E> {
        Ok(Value::Bool(b))
    }

    fn visit_i64<E>(self, i: i64) -> Result<Value, E> {
        Ok(Value::Int(i))
    }

    fn visit_u64<E: de::Error>(self, u: u64) -> Result<Value, E> {
        JsonVisitor.visit_u64(u)
    }

    fn visit_f64<E>(self, x: f64) -> Result<Value, E> {
        Ok(Value::from(x))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        JsonVisitor.visit_str(text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Entries::default();
        while let Some(key) = entries.next_key::<JsonKey>()? {
            let JsonKey::Name(key) = key else { return entries.next_value().map(|Numeral(number)| number) };
            if self.0.contains(&&*key) {
                skip(&mut entries)?;
                continue;
            }
            map.set(&key, entries.next_value_seed(self)?);
        }
        Ok(Value::Map(map.list))
    }
}

fn check_depth(value: &Value, depth: usize) -> Result<(), ()> {
    match value {
        Value::List(_) | Value::Map(_) if depth >= DEPTH_MAX => Err(()),
        Value::List(items) => items.iter().try_for_each(|item| check_depth(item, depth + 1)),
        Value::Map(entries) => entries.iter().try_for_each(|(_, value)| check_depth(value, depth + 1)),
        _ => Ok(()),
    }
}

/// What serde_json says, with the place and a hint.
pub(crate) fn json_error(source: &str, error: &serde_json::Error) -> ReadError {
    let text = error.to_string();
    // The line and column stand apart in our messages.
    let what = text.split(" at line ").next().unwrap_or(&text).to_owned();
    // What is wrong with the meaning of a value is said by the caller.
    let read = ReadError::new(source, if error.is_data() { what } else { format!("not valid JSON: {what}") });
    let read = if error.line() > 0 { read.at_line(error.line() as u64) } else { read };
    match () {
        () if error.is_eof() => read.hint("the file is cut off; write it again or copy it again"),
        () if text.starts_with("trailing comma") => read.hint(format!(
            "take out the comma before the closing bracket, as `npx json5 {source} > results.json` does"
        )),
        () if text.starts_with("key must be a string") => read
            .hint(format!("put keys and texts in double quotes; if it is JSON5: `npx json5 {source} > results.json`")),
        () if what_follows(&text) => read.hint("a second value follows the first: put each on a line of its own"),
        () => read,
    }
}

/// True for the error about something behind a whole document.
fn what_follows(error: &str) -> bool {
    error.starts_with("trailing characters")
}

/// Access to the parts of a value, for readers.
pub(crate) trait JsonParts {
    /// The value under a key that is there and not null.
    fn part(&self, key: &str) -> Option<&Value>;
    /// The same along several keys.
    fn path(&self, keys: &[&str]) -> Option<&Value>;
    /// Text under a key.
    fn text(&self, key: &str) -> Option<&str>;
    /// A number under a key.
    fn number(&self, key: &str) -> Option<f64>;
    /// True or false under a key.
    fn flag(&self, key: &str) -> Option<bool>;
    /// The items of a list under a key; none if there is no list.
    fn items(&self, key: &str) -> &[Value];
    /// The entries of a map under a key; none if there is no map.
    fn entries(&self, key: &str) -> &[(Arc<str>, Value)];
}

impl JsonParts for Value {
    fn part(&self, key: &str) -> Option<&Value> {
        self.get(key).filter(|value| !matches!(value, Value::Null))
    }

    fn path(&self, keys: &[&str]) -> Option<&Value> {
        keys.iter().try_fold(self, |value, key| value.part(key))
    }

    fn text(&self, key: &str) -> Option<&str> {
        match self.get(key)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    fn number(&self, key: &str) -> Option<f64> {
        self.get(key)?.as_number()
    }

    fn flag(&self, key: &str) -> Option<bool> {
        match self.get(key)? {
            Value::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    fn items(&self, key: &str) -> &[Value] {
        match self.get(key) {
            Some(Value::List(items)) => items,
            _ => &[],
        }
    }

    fn entries(&self, key: &str) -> &[(Arc<str>, Value)] {
        match self.get(key) {
            Some(Value::Map(entries)) => entries,
            _ => &[],
        }
    }
}

/// Skips a value.
pub(crate) fn skip<'de, A: MapAccess<'de>>(entries: &mut A) -> Result<(), A::Error> {
    entries.next_value::<de::IgnoredAny>().map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_on_lines_of_their_own_are_one_list() {
        let joined = |text: &str| join_lists(text.as_bytes()).map(|bytes| String::from_utf8(bytes).expect("text"));
        assert_eq!(joined("[1]\n[2]").as_deref(), Some("[[1],\n[2]]"));
        assert_eq!(joined("\u{feff}[1] \r\n\n \n[\n2\n]\n").as_deref(), Some("[[1] \r,\n\n \n[\n2\n]]"));
        for text in ["[1]", "[[1],\n[2]]", "[\"]\\n[\"]", "{\"a\": [1]}\n[1]", "", "[1]\n{}"] {
            assert_eq!(joined(text), None, "{text}");
        }
    }

    #[test]
    fn the_end_of_a_text_is_found_as_byte_by_byte() {
        let mut state = 1_u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        for _ in 0..5000 {
            let length = next(90);
            let mut bytes: Vec<u8> = (0..length).map(|_| b' ' + next(200) as u8).collect();
            bytes.iter_mut().filter(|byte| matches!(byte, b'"' | b'\\')).for_each(|byte| *byte = b'!');
            for _ in 0..next(3).min(length) {
                bytes[next(length)] = [b'"', b'\\', 0, 0x1f, b'\n', b'!', 0x7f, 0xff][next(8)];
            }
            let want = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
            assert_eq!(find_text_end(&bytes), want, "{bytes:?}");
        }
    }

    #[test]
    fn numbers_that_json_cannot_write_are_read() {
        let value =
            parse("test", br#"{"a": NaN, "b": [1, -Infinity], "c": "a NaN in text \" NaN", "d": Infinity}"#).unwrap();
        assert_eq!(value.get("a"), Some(&Value::Missing));
        assert_eq!(value.get("b"), Some(&Value::List(vec![1.into(), f64::NEG_INFINITY.into()])));
        assert_eq!(value.text("c"), Some("a NaN in text \" NaN"));
        assert_eq!(value.number("d"), Some(f64::INFINITY));
    }

    #[test]
    fn numbers_are_the_same_however_the_parser_hands_them_over() {
        for (text, want) in [
            ("0", Value::Int(0)),
            ("-0", Value::Float(-0.0)),
            ("-0.0", Value::Float(-0.0)),
            ("7", Value::Int(7)),
            ("9223372036854775807", Value::Int(i64::MAX)),
            ("9223372036854775808", Value::Float(9_223_372_036_854_775_808.0)),
            ("18446744073709551616", Value::Float(18_446_744_073_709_551_616.0)),
            ("-9223372036854775808", Value::Int(i64::MIN)),
            ("1.0", Value::Float(1.0)),
            ("1e2", Value::Float(100.0)),
            ("0.1", Value::Float(0.1)),
            ("2.2250738585072014e-308", Value::Float(f64::MIN_POSITIVE)),
            ("1e-999", Value::Float(0.0)),
        ] {
            let kept = format!("{{\"{NUMBER}\": \"{text}\"}}");
            for document in [text.to_owned(), kept] {
                let list = format!("[{document}]");
                let parsed = [parse("x", list.as_bytes()), parse_without("x", list.as_bytes(), &["k"])];
                for value in parsed.map(Result::unwrap) {
                    // The text tells 0.0 from -0.0, and 1 from 1.0.
                    assert_eq!(value.to_string(), Value::List(vec![want.clone()]).to_string(), "{document}");
                }
            }
        }
        for too_large in ["1e999", "-1e999"] {
            let error = parse("x", too_large.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("number out of range"), "{error}");
        }
    }

    #[test]
    fn the_first_of_three_bytes_is_found_wherever_it_is() {
        let naive = |bytes: &[u8]| bytes.iter().position(|byte| matches!(byte, b'"' | b'\\' | b'\n'));
        let mut state = 7u32;
        for length in 0..200 {
            for _ in 0..50 {
                let byte = |_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    // Neighbours of the needles, and bytes with the highest bit, are the hard ones.
                    *[b'!', b'#', b'[', b']', 0x80, 0xff, 0, b'\t', 0x0b]
                        .get((state >> 24) as usize % 12)
                        .unwrap_or(&b'a')
                };
                let mut bytes: Vec<u8> = (0..length).map(byte).collect();
                assert_eq!(find([b'"', b'\\', b'\n'], &bytes), None);
                if length > 0 {
                    let place = (state >> 8) as usize % length;
                    bytes[place] = [b'"', b'\\', b'\n'][(state >> 5) as usize % 3];
                    bytes[length - 1] = b'"';
                }
                assert_eq!(find([b'"', b'\\', b'\n'], &bytes), naive(&bytes));
            }
        }
    }

    #[test]
    fn a_cut_off_document_says_so() {
        let error = parse("x.json", b"{\"a\": [1, 2").unwrap_err();
        assert!(error.to_string().contains("hint: the file is cut off"), "{error}");
    }

    #[test]
    fn large_maps_are_read_in_time_and_the_last_of_two_keys_counts() {
        let entries: Vec<String> = (0..200_000).map(|i| format!("\"k{}\": {i}", i % 100_000)).collect();
        let text = format!("{{{}}}", entries.join(","));
        for value in [parse("x", text.as_bytes()).unwrap(), parse_without("x", text.as_bytes(), &["k1"]).unwrap()] {
            assert_eq!(value.number("k0"), Some(100_000.0));
            assert_eq!(value.number("k99999"), Some(199_999.0));
        }
        assert_eq!(parse("x", br#"{"a": 1, "a": 2}"#).unwrap().number("a"), Some(2.0));
    }

    #[test]
    fn deep_nesting_is_refused() {
        let deep = "[".repeat(5000) + &"]".repeat(5000);
        assert!(parse("x.json", deep.as_bytes()).is_err());
    }
}
