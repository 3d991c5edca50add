//! Sentences and rounding are the business of `calipers-render`. The crates below it hold data: a reason is an enum with its
//! numbers.
//!
//! `docs/design/words.md` lists what is exempt, and why.

use super::Repository;
use super::rust_tokens::{Token, TokenKind, tokenize, without_tests};
use std::collections::BTreeSet;

/// The crates that hold data, and the facade, which passes it on.
const CRATES: [&str; 5] = ["calipers-stats", "calipers-core", "calipers-gate", "calipers-compare", "calipers"];
/// A literal of so many words is a sentence.
const WORDS_MIN: usize = 3;
/// Types whose texts are not results. What is in a value of theirs, in their methods, or in a function that returns one, is exempt.
const TYPES: [&str; 8] = ["Error", "ErrorKind", "ModelError", "RunError", "SetupError", "Mistake", "About", "Outcome"];
/// Calls and macros that end the program or explain an error.
const CALLS: [&str; 12] = [
    "panic!",
    "unreachable!",
    "compile_error!",
    "assert!",
    "assert_eq!",
    "assert_ne!",
    "debug_assert!",
    "debug_assert_eq!",
    "debug_assert_ne!",
    ".expect",
    ".expect_err",
    ".hint",
];
/// A list of names of methods, which are identifiers in JSON.
const FILES: [&str; 1] = ["compare/method.rs"];
/// The functions of the reader of policies that put a text into a mistake.
const MISTAKE_MAKERS: (&str, [&str; 6]) =
    ("calipers-gate/src/policy/read.rs", ["entries", "known_entries", "number", "require", "rows", "wrong_kind"]);
/// Single literals: numbers in files that are read again (a baseline, a threshold in a policy), and parts of errors that are put
/// together elsewhere.
const LITERALS: [(&str, &str); 8] = [
    ("calipers-gate/src/baseline.rs", "{x:.12e}"),
    ("calipers-gate/src/raise.rs", "{number:.0$}"),
    ("calipers-gate/src/policy/threshold.rs", "{value:.9}"),
    ("calipers-gate/src/policy/threshold.rs", "an amount of money"),
    ("calipers-gate/src/policy/threshold.rs", "a number of tokens"),
    ("calipers-gate/src/policy/document.rs", "true or false"),
    ("calipers-gate/src/policy/read.rs", "did you mean `{near}`? {all}"),
    ("calipers/src/eval/mod.rs", "there is no model `{name}` here"),
];

pub(super) fn problems(repository: &Repository) -> Vec<String> {
    let mut problems = super::flags::problems(repository);
    for name in CRATES {
        let folder = format!("crates/{name}/src/");
        let files = repository.files.iter().filter(|file| file.path.starts_with(&folder) && is_code(&file.path));
        let sources: Vec<_> = files.map(|file| (file, without_tests(&tokenize(&file.text)))).collect();
        let makers: BTreeSet<&str> = sources.iter().flat_map(|(_, tokens)| error_makers(tokens)).collect();
        for (file, tokens) in &sources {
            let is_exempt = |token: &Token<'_>| {
                LITERALS.iter().any(|(path, text)| file.path.ends_with(path) && token.text == *text)
            };
            let mut makers = makers.clone();
            if file.path.ends_with(MISTAKE_MAKERS.0) {
                makers.extend(MISTAKE_MAKERS.1);
            }
            let found = sentences(tokens, &makers).into_iter().filter(|token| !is_exempt(token));
            problems.extend(
                found.filter_map(|token| Some(format!("{}:{}: {}", file.path, token.line, problem(token.text)?))),
            );
        }
    }
    problems
}

/// Rust that is neither a file of unit tests nor exempt as a whole.
fn is_code(path: &str) -> bool {
    let is_exempt =
        path.ends_with("/tests.rs") || path.contains("/tests/") || FILES.iter().any(|end| path.ends_with(end));
    path.ends_with(".rs") && !is_exempt
}

/// The functions and closures that make an error: what they are given goes into it.
fn error_makers<'a>(tokens: &[Token<'a>]) -> Vec<&'a str> {
    let is_exempt = |token: &Token<'_>| token.kind == TokenKind::Word && TYPES.contains(&token.text);
    let mut makers = Vec::new();
    for at in 0..tokens.len() {
        let rest = &tokens[at + 1..];
        let Some(name) = rest.first().filter(|name| name.kind == TokenKind::Word) else { continue };
        let makes_one = if tokens[at].is_word("fn") {
            // `-> Error {`: the last word before the body.
            let end = rest.iter().position(|token| token.is_mark("{") || token.is_mark(";")).unwrap_or(0);
            end > 0 && is_exempt(&rest[end - 1])
        } else {
            let is_closure = rest.get(1).is_some_and(|token| token.is_mark("="))
                && rest.get(2).is_some_and(|token| token.is_mark("|"));
            tokens[at].is_word("let") && is_closure && rest[..statement_length(rest)].iter().any(is_exempt)
        };
        makers.extend(makes_one.then_some(name.text));
    }
    makers
}

/// The number of tokens before the semicolon that ends a statement, or before the end of its block.
fn statement_length(tokens: &[Token<'_>]) -> usize {
    let mut depth = 0;
    let ends = |token: &Token<'_>| {
        match token.text {
            _ if token.kind != TokenKind::Mark => {}
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            ";" if depth == 0 => return true,
            _ => {}
        }
        depth < 0
    };
    tokens.iter().position(ends).unwrap_or(tokens.len())
}

/// Each literal that is a sentence or rounds, outside what is exempt.
fn sentences<'a>(tokens: &[Token<'a>], makers: &BTreeSet<&str>) -> Vec<Token<'a>> {
    let mut is_exempt = exempt_tokens(tokens, makers);
    exempt_bindings(tokens, &mut is_exempt);
    let literals =
        tokens.iter().zip(&is_exempt).filter(|(token, is_exempt)| token.kind == TokenKind::Text && !*is_exempt);
    literals.map(|(token, _)| *token).filter(|token| problem(token.text).is_some()).collect()
}

/// Of each token: whether it stands in a call, a macro, a value or a body that is exempt.
fn exempt_tokens(tokens: &[Token<'_>], makers: &BTreeSet<&str>) -> Vec<bool> {
    let mut blocks: Vec<bool> = Vec::new();
    let mut exempt = Vec::with_capacity(tokens.len());
    for (at, token) in tokens.iter().enumerate() {
        let is_inside = blocks.last().copied().unwrap_or(false);
        exempt.push(is_inside);
        match (token.kind, token.text) {
            (TokenKind::Mark, "(" | "[" | "{") => blocks.push(is_inside || is_exempt(&head(&tokens[..at]), makers)),
            (TokenKind::Mark, ")" | "]" | "}") => drop(blocks.pop()),
            _ => {}
        }
    }
    exempt
}

/// Exempts `let message = …;`, `for (…, message) in … {` and `const MESSAGE = …;` where the name is used for an error.
fn exempt_bindings(tokens: &[Token<'_>], is_exempt: &mut [bool]) {
    // From the end: what goes into an exempt name is exempt too.
    for at in (0..tokens.len()).rev() {
        let keyword = tokens[at].text;
        let end_mark = match keyword {
            "let" | "const" | "static" => "=",
            "for" => "in",
            _ => continue,
        };
        let rest = &tokens[at + 1..];
        let Some(pattern) = rest.iter().take(20).position(|token| token.text == end_mark) else { continue };
        let names: Vec<&str> =
            rest[..pattern].iter().filter(|token| token.kind == TokenKind::Word).map(|token| token.text).collect();
        let value = rest[pattern + 1..].iter();
        let length = if keyword == "for" {
            value.clone().position(|token| token.is_mark("{")).unwrap_or(0)
        } else {
            statement_length(&rest[pattern + 1..])
        };
        let (start, end) = (at + pattern + 2, at + pattern + 2 + length);
        let scope = end + block_length(&tokens[end..]);
        let is_use = |(at, token): (usize, &Token<'_>)| {
            is_exempt[at]
                && match token.kind {
                    TokenKind::Word => names.contains(&token.text),
                    TokenKind::Text => names.iter().any(|name| token.text.contains(&format!("{{{name}"))),
                    _ => false,
                }
        };
        // The name of a method is an identifier in JSON; it stands in a constant that says so.
        let is_method = keyword == "const" && names.first().is_some_and(|name| name.ends_with("METHOD"));
        if is_method || tokens.iter().enumerate().take(scope).skip(end).any(is_use) {
            is_exempt[start..end].fill(true);
        }
    }
}

/// The number of tokens to the end of the block that these stand in.
fn block_length(tokens: &[Token<'_>]) -> usize {
    let mut depth = 0;
    let closes = |token: &Token<'_>| {
        match token.text {
            _ if token.kind != TokenKind::Mark => {}
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        depth < 0
    };
    tokens.iter().position(closes).unwrap_or(tokens.len())
}

/// What stands right before a block: `panic!`, `Error::new`, `.hint`, `About`.
fn head(before: &[Token<'_>]) -> String {
    let is_part = |token: &&Token<'_>| {
        token.kind == TokenKind::Word || token.is_mark("!") || token.is_mark(":") || token.is_mark(".")
    };
    let parts: Vec<&Token<'_>> = before.iter().rev().take_while(is_part).collect();
    let mut head = String::new();
    // Two words side by side, such as `return Error`, belong to two things: only the last counts.
    for pair in parts.iter().zip(parts.iter().skip(1).map(Some).chain([None])) {
        head.insert_str(0, pair.0.text);
        if pair.1.is_some_and(|next| next.kind == TokenKind::Word && pair.0.kind == TokenKind::Word) {
            break;
        }
    }
    head
}

fn is_exempt(head: &str, makers: &BTreeSet<&str>) -> bool {
    let last_call = head.rfind('.').map_or("", |at| &head[at..]);
    let last_name = head.rsplit(['.', ':']).next().unwrap_or(head);
    let path = head.rsplit('.').next().unwrap_or(head);
    CALLS.contains(&head)
        || CALLS.contains(&last_call)
        || CALLS.contains(&last_name)
        || path.split("::").any(|part| TYPES.contains(&part))
        || makers.contains(last_name)
}

/// Why a literal belongs in `calipers-render`, if it does.
fn problem(text: &str) -> Option<String> {
    let shown: String = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(60).collect();
    if has_precision(text) {
        return Some(format!("`{shown}` rounds: numbers are rounded in calipers-render"));
    }
    (word_count(text) >= WORDS_MIN).then(|| format!("`{shown}` is a sentence: words are put in calipers-render"))
}

/// The words of a literal. A placeholder stands for one, but does not make a sentence alone.
fn word_count(text: &str) -> usize {
    let text = text.replace("\\n", " ").replace("\\t", " ");
    let words: Vec<&str> = text.split_whitespace().filter(|word| word.contains(|c: char| c.is_alphabetic())).collect();
    let is_plain = |word: &&&str| !word.contains('{') && word.chars().filter(|c| c.is_alphabetic()).count() > 1;
    if words.iter().any(|word| is_plain(&word)) { words.len() } else { 0 }
}

/// True for `{:.1}`, `{x:.3}`, `{:.*}`, `{:8.2}` and their like.
fn has_precision(text: &str) -> bool {
    let placeholders = text.split('{').skip(1).filter_map(|part| part.split_once('}')).map(|(inside, _)| inside);
    placeholders.filter_map(|inside| inside.split_once(':')).any(|(_, format)| {
        let dots = format.match_indices('.').map(|(at, _)| &format[at + 1..]);
        // A dot may also be what a number is filled up with: `{:.>8}`.
        dots.into_iter().any(|after| !after.is_empty() && !after.starts_with(['<', '^', '>']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> Vec<usize> {
        let tokens = without_tests(&tokenize(source));
        let makers = error_makers(&tokens).into_iter().collect();
        sentences(&tokens, &makers).into_iter().map(|token| token.line).collect()
    }

    #[test]
    fn a_sentence_is_found_with_its_line() {
        for source in [
            "fn f() -> String {\n \"too few samples\".into() }",
            "fn f() {\n let x = format!(\"{n} of {m} samples\"); }",
            "const X: &str =\n r\"one two three\";",
            "fn f() {\n g(Reason { text: \"it is so\" }) }",
            "fn f() -> Result<u8, Error> {\n Ok(\"it is so\") }",
            "fn f() {\n write!(out, \"{x:.1}\") }",
            "fn f() {\n Figure::new(value, tally, \"it is so\") }",
            "fn f() {\n let text = \"it is so\"; g(text); Err(Error::argument(other)) }",
        ] {
            assert_eq!(found(source), [2], "{source}");
        }
    }

    #[test]
    fn data_errors_panics_and_prose_about_metrics_are_fine() {
        for source in [
            "const NAME: &str = \"pass rate\";",
            "fn f() { format!(\"{a} {b} {c} {d}\") }",
            "fn f() { panic!(\"this is a bug\") }",
            "fn f() { x.map(g).expect(\"there is one here\") }",
            "fn f() { assert!(x, \"this is a bug\") }",
            "fn f() { return Err(Error::argument(format!(\"`{x}` is not one\"))) }",
            "fn f() { ErrorKind::Argument { message: \"it is so\".into() } }",
            "fn f() { Mistake::new(span, name).hint(\"write it like this\") }",
            "const ABOUT: About = About { tells: \"how often it passes\" };",
            "impl Display for Error { fn fmt() { \"it is so\" } }",
            "fn wrong(what: &str) -> Mistake { Mistake::new(what) } fn f() { wrong(\"it is so\") }",
            "fn f() { let message = format!(\"`{x}` is not one\"); return Err(Error::argument(message)) }",
            "fn f() { let near = format!(\"did you mean {x}\"); let hint = format!(\"{near}?\"); Err(Error::argument(hint)) }",
            "fn f() { let refuse = |text| Err(Mistake::new(text)); refuse(\"it is so\") }",
            "fn f() { for (ok, why) in [(x > 0, \"it is so\")] { if !ok { return Err(Error::argument(why)) } } }",
            "const fn about(tells: &str) -> About { About { tells } } const A: About = about(\"it is so\");",
            "const SAME: &str = \"it is so\"; fn f() { x.expect(SAME) }",
            "const SUM_METHOD: &str = \"sum over attempts\"; fn f() { Figure::new(value, SUM_METHOD) }",
            "#[doc = \"it is so\"] struct A;",
            "#[cfg(test)] mod tests { const A: &str = \"it is so\"; }",
            "// it is so\nfn f() {}",
        ] {
            assert_eq!(found(source), Vec::<usize>::new(), "{source}");
        }
    }

    #[test]
    fn an_exemption_is_for_one_file_and_one_literal_or_function() {
        let lines = |path: &str, text: &str| {
            let files = vec![super::super::File { path: path.to_owned(), text: text.to_owned() }];
            problems(&Repository { root: ".".into(), files }).len()
        };
        let (read, other) = ("crates/calipers-gate/src/policy/read.rs", "crates/calipers-gate/src/policy/syntax.rs");
        for (text, in_read, in_other) in [
            ("fn f() { self.wrong_kind(key, \"put it in quotes\") }", 0, 1),
            ("fn f() { self.say(\"put it in quotes\") }", 1, 1),
            ("fn f() -> String { format!(\"did you mean `{near}`? {all}\") }", 0, 1),
        ] {
            assert_eq!((lines(read, text), lines(other, text)), (in_read, in_other), "{text}");
        }
        assert_eq!(lines("crates/calipers/src/score.rs", "fn f() { notes.push(\"this is left out\") }"), 1);
        assert_eq!(lines("crates/calipers-render/src/notes.rs", "fn f() { \"this is left out\" }"), 0);
    }

    #[test]
    fn precision_is_told_from_filling() {
        for (text, want) in [
            ("{:.1}", true),
            ("{x:.3}", true),
            ("{:.*}", true),
            ("{:8.2}", true),
            ("{x:.digits$}", true),
            ("{:.>8}", false),
            ("{x:?}", false),
            ("{}. {:>8}", false),
            ("a.b {x}", false),
        ] {
            assert_eq!(has_precision(text), want, "{text}");
        }
    }
}
