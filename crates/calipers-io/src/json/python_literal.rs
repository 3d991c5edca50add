//! Lists and maps as Python prints them: `[True, None, 'a']`. Tables that pandas writes hold them in cells.

use calipers_core::Value;

/// How deep lists and maps may nest, as in JSON.
const DEPTH_MAX: usize = 100;

/// The list, tuple or map in a text, if it is one.
pub(crate) fn parse(text: &str) -> Option<Value> {
    let mut parser = LiteralParser { rest: text.trim() };
    if !parser.rest.starts_with(['[', '{', '(']) {
        return None;
    }
    let value = parser.value(0)?;
    parser.skip_blanks();
    parser.rest.is_empty().then_some(value)
}

struct LiteralParser<'a> {
    rest: &'a str,
}

impl LiteralParser<'_> {
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, token: &str) -> bool {
        self.skip_blanks();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEPTH_MAX {
            return None;
        }
        self.skip_blanks();
        match self.rest.chars().next()? {
            '[' => self.items(']', depth),
            '(' => self.items(')', depth),
            '{' => self.entries(depth),
            '\'' | '"' => self.text().map(Value::from),
            _ => self.word(),
        }
    }

    fn items(&mut self, end: char, depth: usize) -> Option<Value> {
        self.rest = &self.rest[1..];
        let mut items = Vec::new();
        loop {
            self.skip_blanks();
            if let Some(rest) = self.rest.strip_prefix(end) {
                self.rest = rest;
                return Some(Value::List(items));
            }
            // A numpy array has blanks between its items, and no commas; it is not told apart from a mistake.
            if !items.is_empty() && !self.take(",") {
                return None;
            }
            self.skip_blanks();
            if !self.rest.starts_with(end) {
                items.push(self.value(depth + 1)?);
            }
        }
    }

    fn entries(&mut self, depth: usize) -> Option<Value> {
        self.rest = &self.rest[1..];
        let mut entries = Vec::new();
        loop {
            if self.take("}") {
                return Some(Value::Map(entries));
            }
            if !entries.is_empty() && !self.take(",") {
                return None;
            }
            if self.take("}") {
                return Some(Value::Map(entries));
            }
            let key = match self.value(depth + 1)? {
                Value::Text(key) => key,
                key if key.is_scalar() => key.to_string().into(),
                _ => return None,
            };
            if !self.take(":") {
                return None;
            }
            let value = self.value(depth + 1)?;
            entries.push((key, value));
        }
    }

    fn text(&mut self) -> Option<String> {
        let quote = self.rest.chars().next()?;
        let mut text = String::new();
        let mut characters = self.rest.char_indices().skip(1);
        while let Some((at, c)) = characters.next() {
            match c {
                '\\' => match characters.next()?.1 {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    code @ ('x' | 'u' | 'U') => {
                        let digits = match code {
                            'x' => 2,
                            'u' => 4,
                            _ => 8,
                        };
                        let hex: String = characters.by_ref().take(digits).map(|(_, digit)| digit).collect();
                        text.push(u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32)?);
                    }
                    escaped => text.push(escaped),
                },
                _ if c == quote => {
                    self.rest = &self.rest[at + 1..];
                    return Some(text);
                }
                _ => text.push(c),
            }
        }
        None
    }

    fn word(&mut self) -> Option<Value> {
        let end = self.rest.find([',', ']', '}', ')', ':', ' ', '\n']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        let value = match word {
            "True" | "true" => Value::Bool(true),
            "False" | "false" => Value::Bool(false),
            "None" | "null" => Value::Null,
            "nan" | "NaN" => Value::Missing,
            number if number.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) => {
                number.parse::<i64>().map(Value::Int).ok().or_else(|| number.parse::<f64>().ok().map(Value::from))?
            }
            _ => return None,
        };
        self.rest = rest;
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_python_prints_is_read() {
        let map = parse(r#"{'correct': True, "why": None, 'x': [1, 2.5, -3], 't': (1,), 3: 'it\'s \u00e9'}"#);
        let map = map.expect("it is a literal");
        assert_eq!(map.get("correct"), Some(&Value::Bool(true)));
        assert_eq!(map.get("why"), Some(&Value::Null));
        assert_eq!(map.get("x"), Some(&Value::List(vec![1.into(), 2.5.into(), (-3).into()])));
        assert_eq!(map.get("t"), Some(&Value::List(vec![1.into()])));
        assert_eq!(map.get("3"), Some(&"it's é".into()));
        assert_eq!(parse("[True, False]"), Some(Value::List(vec![true.into(), false.into()])));
        assert_eq!(parse("[]"), Some(Value::List(Vec::new())));
        assert_eq!(parse("[nan]"), Some(Value::List(vec![Value::Missing])));
    }

    #[test]
    fn what_is_no_literal_is_left_alone() {
        for text in ["", "True", "[1", "[1 2]", "{'a'}", "{'a': }", "['a]", "[f(x)]", "[1] 2", "{[1]: 2}", "['\\x']"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse(&"[".repeat(100_000)), None);
        assert_eq!(parse(&format!("{}{}", "[".repeat(200), "]".repeat(200))), None);
    }
}
