//! The entries of a JSON map as slices, without parsing them.
//!
//! Most of a sample is events and messages that no score needs. Finding their end takes a search for quotes and a count
//! of brackets, which is twice as fast as a parser that also checks them. What is needed is then parsed strictly; the
//! rest is only known to be complete.

use crate::json::find;
use fearless_simd::{Level, Simd, dispatch, prelude::*, u8x64};

/// The entries of one map.
pub(crate) struct Skim<'a> {
    bytes: &'a [u8],
    at: usize,
    /// True before the first entry.
    first: bool,
}

/// A key and its value.
type SkimEntry<'a> = (&'a [u8], &'a [u8]);

/// Why the entries cannot be separated.
pub(crate) type Unclear = &'static str;

const CUT_OFF: Unclear = "it ends within itself";

impl<'a> Skim<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, Unclear> {
        let mut skim = Self { bytes, at: 0, first: true };
        match skim.next_byte()? {
            b'{' => skim.at += 1,
            _ => return Err("expected a map with `id` and `epoch`"),
        }
        Ok(skim)
    }

    /// The next key, without its quotes and as it is written, and its value.
    pub(crate) fn entry(&mut self) -> Result<Option<SkimEntry<'a>>, Unclear> {
        match (self.next_byte()?, self.first) {
            (b'}', _) => {
                self.at += 1;
                return self.end();
            }
            (b',', false) => self.at += 1,
            (_, true) => self.first = false,
            _ => return Err("expected a comma or the end of the map"),
        }
        if self.next_byte()? != b'"' {
            return Err("expected a key");
        }
        let key = self.text()?;
        if self.next_byte()? != b':' {
            return Err("expected a colon");
        }
        self.at += 1;
        let value = self.value()?;
        Ok(Some((&key[1..key.len() - 1], value)))
    }

    fn end(&self) -> Result<Option<SkimEntry<'a>>, Unclear> {
        let is_last = self.bytes[self.at..].iter().all(u8::is_ascii_whitespace);
        if is_last { Ok(None) } else { Err("more content follows it") }
    }

    /// The next byte that is not space.
    fn next_byte(&mut self) -> Result<u8, Unclear> {
        while let Some(&byte) = self.bytes.get(self.at) {
            if !byte.is_ascii_whitespace() {
                return Ok(byte);
            }
            self.at += 1;
        }
        Err(CUT_OFF)
    }

    fn value(&mut self) -> Result<&'a [u8], Unclear> {
        match self.next_byte()? {
            b'"' => self.text(),
            b'{' | b'[' => self.skip_nested(),
            _ => {
                let rest = &self.bytes[self.at..];
                let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
                let length = rest.iter().position(ends).ok_or(CUT_OFF)?;
                self.at += length;
                if length == 0 { Err("expected a value") } else { Ok(&rest[..length]) }
            }
        }
    }

    /// A text that begins here, with its quotes.
    fn text(&mut self) -> Result<&'a [u8], Unclear> {
        let start = self.at;
        self.at += 1;
        loop {
            let rest = self.bytes.get(self.at..).ok_or(CUT_OFF)?;
            let found = find([b'"', b'\\', b'"'], rest).ok_or(CUT_OFF)?;
            if rest[found] == b'"' {
                self.at += found + 1;
                return Ok(&self.bytes[start..self.at]);
            }
            self.at += found + 2;
        }
    }

    /// A list or map that begins here.
    fn skip_nested(&mut self) -> Result<&'a [u8], Unclear> {
        let rest = &self.bytes[self.at..];
        let length = dispatch!(Level::new(), simd => nested_length(simd, rest)).ok_or(CUT_OFF)?;
        self.at += length;
        Ok(&rest[..length])
    }
}

/// Bytes that are looked at together.
const BLOCK: usize = 64;

/// What a block has to know of the bytes before it.
#[derive(Default)]
struct BlockStart {
    /// All bits, if it begins within a text.
    is_text: u64,
    /// The lowest bit, if its first byte follows a backslash that is not itself escaped.
    is_escaped: u64,
    depth: usize,
    /// True when there was a backslash outside of texts.
    is_odd: bool,
}

/// How long the list or map is that begins here: up to the bracket that closes the first one. Brackets within texts do not count.
///
/// The places of quotes, backslashes and brackets among sixty-four bytes are the bits of a few numbers (Langdale and Lemire 2019).
#[inline(always)]
fn nested_length<S: Simd>(simd: S, bytes: &[u8]) -> Option<usize> {
    let mut start = BlockStart::default();
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    for (place, block) in blocks.iter().enumerate() {
        let last = find_last_bracket(simd, block, &mut start);
        if start.is_odd {
            return length_by_byte(bytes);
        }
        if let Some(last) = last {
            return Some(place * BLOCK + last + 1);
        }
    }
    let mut block = [b' '; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    let last = find_last_bracket(simd, &block, &mut start);
    if start.is_odd { length_by_byte(bytes) } else { last.map(|last| blocks.len() * BLOCK + last + 1) }
}

/// The same byte by byte. JSON has no backslashes outside of texts; where there are, they escape nothing.
fn length_by_byte(bytes: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    loop {
        match bytes.get(at)? {
            b'"' => loop {
                at += 1;
                match bytes.get(at)? {
                    b'"' => break,
                    b'\\' => at += 1,
                    _ => {}
                }
            },
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
}

/// The bracket in a block that closes the first one, if it is there.
#[inline(always)]
fn find_last_bracket<S: Simd>(simd: S, block: &[u8; BLOCK], start: &mut BlockStart) -> Option<usize> {
    let bytes = u8x64::from_slice(simd, block);
    let places = |byte: u8| bytes.simd_eq(u8x64::splat(simd, byte)).to_bitmask();
    let backslashes = places(b'\\');
    let quotes = places(b'"') & !escaped(backslashes, &mut start.is_escaped);
    // A byte is within a text if the quotes up to it are odd in number.
    let texts = [1, 2, 4, 8, 16, 32].into_iter().fold(quotes, |bits, shift| bits ^ bits << shift) ^ start.is_text;
    start.is_text = 0_u64.wrapping_sub(texts >> (BLOCK - 1));
    start.is_odd |= backslashes & !texts != 0;
    // Square and curly brackets differ in one bit.
    let curly = bytes | u8x64::splat(simd, b'{' ^ b'[');
    let brackets = |byte: u8| curly.simd_eq(u8x64::splat(simd, byte)).to_bitmask() & !texts;
    let (opening, closing) = (brackets(b'{'), brackets(b'}'));
    let closed = closing.count_ones() as usize;
    if start.depth > closed {
        start.depth = start.depth + opening.count_ones() as usize - closed;
        return None;
    }
    let mut left = opening | closing;
    while left != 0 {
        let place = left.trailing_zeros();
        left &= left - 1;
        if opening >> place & 1 == 1 {
            start.depth += 1;
        } else {
            start.depth -= 1;
            if start.depth == 0 {
                return Some(place as usize);
            }
        }
    }
    None
}

/// The bytes that follow a backslash which is not itself escaped. A run of backslashes escapes what is behind it if it is odd in
/// length; adding the first of those that begin at odd places to all of them carries over to their ends.
#[inline(always)]
fn escaped(backslashes: u64, is_escaped: &mut u64) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    if backslashes == 0 {
        return std::mem::take(is_escaped);
    }
    let backslashes = backslashes & !*is_escaped;
    let after = backslashes << 1 | *is_escaped;
    let odd_starts = backslashes & !EVEN & !after;
    let (ends, overflows) = odd_starts.overflowing_add(backslashes);
    *is_escaped = u64::from(overflows);
    (EVEN ^ ends << 1) & after
}

/// The items of a list, as they are written.
pub(crate) fn items(bytes: &[u8]) -> Result<Vec<&[u8]>, Unclear> {
    let mut skim = Skim { bytes, at: 0, first: true };
    if skim.next_byte()? != b'[' {
        return Err("expected a list");
    }
    skim.at += 1;
    let mut items = Vec::new();
    loop {
        match (skim.next_byte()?, skim.first) {
            (b']', _) => return Ok(items),
            (b',', false) => skim.at += 1,
            (_, true) => skim.first = false,
            _ => return Err("expected a comma or the end of the list"),
        }
        items.push(skim.value()?);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nested_value_ends_where_it_ends_byte_by_byte() {
        let mut state = 1_u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let pieces =
            ["{", "[", "}", "]", "\"", "\\", "\\\"", "\\\\", "\"a [text\"", "1, ", "\u{e9}", "some bytes ", "[{", "x"];
        let (mut whole, mut cut) = (0, 0);
        for _ in 0..30_000 {
            let kinds = [5, 9, pieces.len()][next(3)];
            let text: String = (0..next(120)).map(|_| pieces[next(kinds)]).collect();
            let text = format!("{}{text}", ["[", "{"][next(2)]);
            let found = dispatch!(Level::new(), simd => nested_length(simd, text.as_bytes()));
            assert_eq!(found, length_by_byte(text.as_bytes()), "{text}");
            match found {
                Some(_) => whole += 1,
                None => cut += 1,
            }
        }
        assert!(whole > 3000 && cut > 3000, "{whole} whole, {cut} cut off");
    }

    fn entries(text: &str) -> Result<Vec<(String, String)>, Unclear> {
        let mut skim = Skim::new(text.as_bytes())?;
        let mut found = Vec::new();
        while let Some((key, value)) = skim.entry()? {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            found.push((text(key), text(value)));
        }
        Ok(found)
    }

    #[test]
    fn entries_are_told_apart_and_cuts_are_noticed() {
        let whole = r#" { "a" : 1, "b":"x\\\"}" ,"c": [{"d": "]"}, []], "e":null } "#;
        let want = [("a", "1"), ("b", r#""x\\\"}""#), ("c", r#"[{"d": "]"}, []]"#), ("e", "null")];
        assert_eq!(entries(whole).unwrap(), want.map(|(key, value)| (key.to_owned(), value.to_owned())));
        for cut in 0..whole.len() - 2 {
            assert!(entries(&whole[..cut]).is_err(), "{cut}");
        }
        assert_eq!(entries("{}"), Ok(Vec::new()));
        for wrong in
            ["", "[]", "null", "{1:2}", "{\"a\" 1}", "{\"a\": 1 \"b\": 2}", "{} {}", "{, \"a\": 1}", "{\"a\": 1,}"]
        {
            assert!(entries(wrong).is_err(), "{wrong}");
        }
    }
}
