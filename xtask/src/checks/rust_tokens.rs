//! Rust source as words, literals and marks: enough to see declarations and string literals, without a parser.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A keyword or an identifier.
    Word,
    /// A string literal; its text is what stands between the quotes.
    Text,
    /// One character of punctuation.
    Mark,
    /// A number, a character or a lifetime.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind,
    pub(super) text: &'a str,
    /// From 1.
    pub(super) line: usize,
}

impl Token<'_> {
    pub(super) fn is_word(&self, text: &str) -> bool {
        self.kind == TokenKind::Word && self.text == text
    }

    pub(super) fn is_mark(&self, text: &str) -> bool {
        self.kind == TokenKind::Mark && self.text == text
    }
}

/// The tokens of a source file, without comments.
pub(super) fn tokenize(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = source;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let (length, token) = next_token(rest, first);
        if let Some((kind, text)) = token {
            tokens.push(Token { kind, text, line });
        }
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    tokens
}

/// The length of what comes next, and its token unless it is blank or a comment.
fn next_token(rest: &str, first: char) -> (usize, Option<(TokenKind, &str)>) {
    if first.is_whitespace() {
        return (first.len_utf8(), None);
    }
    if rest.starts_with("//") {
        return (rest.find('\n').unwrap_or(rest.len()), None);
    }
    if rest.starts_with("/*") {
        return (comment_length(rest), None);
    }
    if let Some((length, text)) = text_literal(rest) {
        return (length, Some((TokenKind::Text, text)));
    }
    if is_word_start(first) {
        let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        return (length, Some((TokenKind::Word, &rest[..length])));
    }
    let length = match first {
        '\'' => quote_length(rest),
        '0'..='9' => rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len()),
        _ => return (first.len_utf8(), Some((TokenKind::Mark, &rest[..first.len_utf8()]))),
    };
    (length, Some((TokenKind::Other, &rest[..length])))
}

fn is_word_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A block comment may hold others.
fn comment_length(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match &rest.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// The length of a string literal of any kind that begins here, and what stands between its quotes.
fn text_literal(rest: &str) -> Option<(usize, &str)> {
    let prefix = ["br", "cr", "b", "c", "r", ""].into_iter().find(|prefix| {
        let after = rest.strip_prefix(prefix);
        let after = if prefix.ends_with('r') { after.map(|after| after.trim_start_matches('#')) } else { after };
        after.is_some_and(|after| after.starts_with('"'))
    })?;
    let after = &rest[prefix.len()..];
    if !prefix.ends_with('r') {
        let length = closing_quote(&after[1..])?;
        return Some((prefix.len() + length + 2, &after[1..=length]));
    }
    let hashes = after.len() - after.trim_start_matches('#').len();
    let close = format!("\"{}", "#".repeat(hashes));
    let start = prefix.len() + hashes + 1;
    let length = rest[start..].find(&close)?;
    Some((start + length + close.len(), &rest[start..start + length]))
}

/// Where the quote that ends a string is. A backslash takes the character after it along.
fn closing_quote(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return Some(at),
            _ => {}
        }
    }
    None
}

/// A character literal or a lifetime.
fn quote_length(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some(_)) => chars.find(|(_, c)| *c == '\'').map_or(rest.len(), |(at, _)| at + 1),
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1 + rest[1..].find(|c| !is_word(c)).unwrap_or(rest.len() - 1),
    }
}

/// The tokens without attributes, and without the items that only tests compile.
pub(super) fn without_tests<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let Some(end) = attribute_end(tokens, at) else {
            kept.push(tokens[at]);
            at += 1;
            continue;
        };
        let is_test = is_for_tests(&tokens[at..end]);
        at = end;
        if is_test {
            while let Some(end) = attribute_end(tokens, at) {
                at = end;
            }
            at = item_end(tokens, at);
        }
    }
    kept
}

/// Where the attribute that begins here ends: `#[…]` or `#![…]`.
fn attribute_end(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    tokens.get(at)?.is_mark("#").then_some(())?;
    let open = at + 1 + usize::from(tokens.get(at + 1)?.is_mark("!"));
    tokens.get(open)?.is_mark("[").then(|| block_end(tokens, open))
}

/// `#[test]`, `#[cfg(test)]` and the like; not `#[cfg(not(test))]`.
fn is_for_tests(attribute: &[Token<'_>]) -> bool {
    let has = |word: &str| attribute.iter().any(|token| token.is_word(word));
    has("test") && !has("not")
}

/// Past the block that opens at `open`.
fn block_end(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" | "{" if token.kind == TokenKind::Mark => depth += 1,
            ")" | "]" | "}" if token.kind == TokenKind::Mark => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// Past the item that begins here: its block, or its semicolon.
fn item_end(tokens: &[Token<'_>], mut at: usize) -> usize {
    while let Some(token) = tokens.get(at) {
        if token.is_mark(";") {
            return at + 1;
        }
        if token.is_mark("{") {
            return block_end(tokens, at);
        }
        at = if token.is_mark("(") || token.is_mark("[") { block_end(tokens, at) } else { at + 1 };
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<&str> {
        tokenize(source).into_iter().filter(|token| token.kind == TokenKind::Text).map(|token| token.text).collect()
    }

    fn words(tokens: &[Token<'_>]) -> String {
        let words = tokens.iter().filter(|token| token.kind == TokenKind::Word);
        words.map(|token| token.text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn strings_of_every_kind_are_read_and_comments_are_not() {
        for (source, want) in [
            (r#"f("one", b"two", c"three")"#, &["one", "two", "three"][..]),
            (r#""a \" b" "c\\""#, &[r#"a \" b"#, r"c\\"]),
            ("r\"x\\\" r##\"a\"# b\"##", &["x\\", "a\"# b"]),
            ("// \"no\"\n/* \"no\" /* */ \"no\" */ \"yes\"", &["yes"]),
            (r#"'"' '\'' "yes" 'a: &'static str"#, &["yes"]),
            ("\"unfinished", &[]),
            ("let r = 1; let bare = r; \"\"", &[""]),
        ] {
            assert_eq!(texts(source), want, "{source}");
        }
    }

    #[test]
    fn lines_are_counted_across_strings_and_comments() {
        let tokens = tokenize("/* \n */ a \"x\ny\" b\n c");
        assert_eq!(tokens.iter().map(|token| token.line).collect::<Vec<_>>(), [2, 2, 3, 4]);
    }

    #[test]
    fn code_of_tests_is_left_out() {
        for (source, want) in [
            ("fn a() {} #[cfg(test)] mod tests { fn b() {} } fn c() {}", "fn a fn c"),
            ("#[test] #[ignore] fn b() { x } fn c() {}", "fn c"),
            ("#[cfg(test)] use a::b; struct C;", "struct C"),
            ("#[cfg(all(test, unix))] fn f([a; 2]: T) {} struct C;", "struct C"),
            ("#[cfg(not(test))] fn a() {} #[derive(Debug)] struct B;", "fn a struct B"),
            ("#![allow(x)] fn a() {}", "fn a"),
        ] {
            assert_eq!(words(&without_tests(&tokenize(source))), want, "{source}");
        }
    }
}
