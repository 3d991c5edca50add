//! The entries of a JSON map as slices, without parsing them.
//!
//! Most of a sample is events and messages that no score needs. Finding their end takes a search for quotes and a count
//! of brackets, which is twice as fast as a parser that also checks them. What is needed is then parsed strictly; the
//! rest is only known to be complete.

use crate::json::find;

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
        let start = self.at;
        let mut depth = 0_usize;
        loop {
            match self.bytes.get(self.at) {
                None => return Err(CUT_OFF),
                Some(b'"') => {
                    self.text()?;
                    continue;
                }
                Some(b'{' | b'[') => depth += 1,
                Some(b'}' | b']') => depth -= 1,
                Some(_) => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(&self.bytes[start..self.at]);
            }
        }
    }
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
