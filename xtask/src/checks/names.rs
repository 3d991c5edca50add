//! Types are nouns and functions are verbs; a type has a name that no other file declares; a crate has one integration binary.
//!
//! The measures and their limits are those of the review that led to them: a participle such as `Seen` says that something
//! happened, and not what the value is.

use super::Repository;
use super::rust_tokens::{Token, TokenKind, tokenize, without_tests};
use std::collections::{BTreeMap, BTreeSet};

const PARTICIPLE_TYPES_MAX: f64 = 0.03;
const PARTICIPLE_FUNCTIONS_MAX: f64 = 0.01;
const SHARED_TYPES_MAX: f64 = 0.15;
const INTEGRATION_BINARIES_MAX: usize = 12;

/// Participles without `-ed`. Those that are as often nouns or verbs (`cut`, `left`, `read`, `run`, `set`, `split`) are not here.
const IRREGULAR: [&str; 84] = [
    "begun",
    "bent",
    "bought",
    "broken",
    "brought",
    "built",
    "burnt",
    "caught",
    "chosen",
    "dealt",
    "done",
    "drawn",
    "driven",
    "drunk",
    "eaten",
    "fallen",
    "fed",
    "felt",
    "flown",
    "forgotten",
    "fought",
    "found",
    "frozen",
    "given",
    "gone",
    "got",
    "gotten",
    "grown",
    "heard",
    "held",
    "hidden",
    "hung",
    "kept",
    "known",
    "laid",
    "lain",
    "led",
    "lent",
    "lost",
    "made",
    "meant",
    "met",
    "paid",
    "proven",
    "ridden",
    "risen",
    "rung",
    "said",
    "seen",
    "sent",
    "sewn",
    "shaken",
    "shone",
    "shown",
    "sold",
    "sought",
    "spent",
    "spoken",
    "sprung",
    "spun",
    "stolen",
    "stood",
    "struck",
    "stuck",
    "sung",
    "sunk",
    "swept",
    "sworn",
    "swum",
    "swung",
    "taken",
    "taught",
    "thought",
    "thrown",
    "told",
    "torn",
    "understood",
    "wept",
    "woken",
    "won",
    "worn",
    "woven",
    "wrung",
    "written",
];
/// Words that end like a participle and are none.
const NOT_PARTICIPLES: [&str; 20] = [
    "bed", "bleed", "breed", "creed", "deed", "embed", "exceed", "feed", "greed", "heed", "hundred", "indeed", "need",
    "proceed", "red", "reed", "seed", "speed", "succeed", "weed",
];

/// Where something is declared.
struct Declaration<'a> {
    name: &'a str,
    path: &'a str,
    line: usize,
}

/// What is counted.
struct Measures<'a> {
    types: Vec<Declaration<'a>>,
    functions: Vec<Declaration<'a>>,
    integration_binaries: Vec<&'a str>,
}

pub(super) fn figures(repository: &Repository) -> String {
    measure(repository).summary()
}

pub(super) fn problems(repository: &Repository) -> Vec<String> {
    measure(repository).problems()
}

fn measure(repository: &Repository) -> Measures<'_> {
    let mut measures = Measures { types: Vec::new(), functions: Vec::new(), integration_binaries: Vec::new() };
    for file in &repository.files {
        if is_integration_binary(&file.path) {
            measures.integration_binaries.push(&file.path);
        }
        if file.path.starts_with("crates/") && file.path.contains("/src/") && file.path.ends_with(".rs") {
            let tokens = without_tests(&tokenize(&file.text));
            collect(&tokens, &file.path, &mut measures);
        }
    }
    measures
}

/// `tests/NAME.rs` and `tests/NAME/main.rs` of a package.
fn is_integration_binary(path: &str) -> bool {
    let Some((_, inside)) = path.split_once("/tests/") else { return false };
    let is_file = !inside.contains('/') && inside.ends_with(".rs");
    let is_folder = inside.matches('/').count() == 1 && inside.ends_with("/main.rs");
    is_file || is_folder
}

fn collect<'a>(tokens: &[Token<'a>], path: &'a str, measures: &mut Measures<'a>) {
    // For each open brace: whether it is that of an `impl` or a `trait`, whose types are not new ones.
    let mut blocks: Vec<bool> = Vec::new();
    let mut is_impl = false;
    for (token, next) in tokens.iter().zip(tokens.iter().skip(1)) {
        match (token.kind, token.text) {
            (TokenKind::Mark, "{") => blocks.push(std::mem::take(&mut is_impl)),
            (TokenKind::Mark, "}") => drop(blocks.pop()),
            (TokenKind::Mark, ";") => is_impl = false,
            (TokenKind::Word, "impl" | "trait") => is_impl = true,
            _ => {}
        }
        if token.kind != TokenKind::Word || next.kind != TokenKind::Word {
            continue;
        }
        let declaration = Declaration { name: next.text, path, line: next.line };
        match token.text {
            "struct" | "enum" | "trait" | "union" => measures.types.push(declaration),
            "type" if !blocks.last().copied().unwrap_or(false) => measures.types.push(declaration),
            "fn" => {
                is_impl = false;
                measures.functions.push(declaration);
            }
            _ => {}
        }
    }
}

/// True for a name that is one participle and nothing else.
fn is_participle(name: &str) -> bool {
    let is_one_word = !name.contains('_') && !name.chars().skip(1).any(char::is_uppercase);
    let word = name.to_lowercase();
    let is_regular = word.len() > 3 && word.ends_with("ed") && !NOT_PARTICIPLES.contains(&word.as_str());
    is_one_word && (is_regular || IRREGULAR.contains(&word.as_str()))
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

impl<'a> Measures<'a> {
    fn participle_types(&self) -> Vec<&Declaration<'a>> {
        self.types.iter().filter(|declaration| is_participle(declaration.name)).collect()
    }

    fn participle_functions(&self) -> Vec<&Declaration<'a>> {
        self.functions.iter().filter(|declaration| is_participle(declaration.name)).collect()
    }

    /// The types that another file declares under the same name.
    fn shared_types(&self) -> Vec<&Declaration<'a>> {
        let mut files: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for declaration in &self.types {
            files.entry(declaration.name).or_default().insert(declaration.path);
        }
        self.types.iter().filter(|declaration| files[declaration.name].len() > 1).collect()
    }

    fn summary(&self) -> String {
        let (types, functions) = (self.types.len(), self.functions.len());
        let line = |what: &str, part: usize, whole: usize, max: f64| {
            format!("{what}: {part} of {whole}, {:.1} % (at most {:.0} %)", 100.0 * share(part, whole), 100.0 * max)
        };
        [
            line("participle types", self.participle_types().len(), types, PARTICIPLE_TYPES_MAX),
            line("participle functions", self.participle_functions().len(), functions, PARTICIPLE_FUNCTIONS_MAX),
            line("types declared in several files", self.shared_types().len(), types, SHARED_TYPES_MAX),
            format!("integration binaries: {} (at most {INTEGRATION_BINARIES_MAX})", self.integration_binaries.len()),
        ]
        .join("\n")
    }

    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let (types, functions) = (self.types.len(), self.functions.len());
        for (found, whole, max, what) in [
            (self.participle_types(), types, PARTICIPLE_TYPES_MAX, "is a participle: name the thing"),
            (self.participle_functions(), functions, PARTICIPLE_FUNCTIONS_MAX, "is a participle: name the deed"),
            (
                self.shared_types(),
                types,
                SHARED_TYPES_MAX,
                "is declared in other files too: add the word that tells it apart",
            ),
        ] {
            if share(found.len(), whole) > max {
                problems.extend(found.iter().map(|one| format!("{}:{}: `{}` {what}", one.path, one.line, one.name)));
            }
        }
        if self.integration_binaries.len() > INTEGRATION_BINARIES_MAX {
            let found = self.integration_binaries.iter();
            problems.extend(found.map(|path| format!("{path}: one integration binary too many: make it a module")));
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::super::File;
    use super::*;

    fn repository(files: &[(&str, &str)]) -> Repository {
        let files = files.iter().map(|(path, text)| File { path: (*path).into(), text: (*text).into() });
        Repository { root: ".".into(), files: files.collect() }
    }

    #[test]
    fn a_participle_is_the_whole_name() {
        for name in ["Seen", "told", "Judged", "asked", "Needed", "written"] {
            assert!(is_participle(name), "{name}");
        }
        for name in ["Seed", "Speed", "need", "Red", "JudgedRun", "is_seen", "run", "Set", "median", "OpenEnded"] {
            assert!(!is_participle(name), "{name}");
        }
    }

    #[test]
    fn declarations_are_found_and_associated_types_and_tests_are_not() {
        let source = "pub struct A; enum B { Seen } trait C { type D; fn e(); } impl C for A { type D = u8; fn e() {} }
            type F = fn(u8); fn g() -> impl Iterator { struct H; } #[cfg(test)] mod tests { struct I; }";
        let repository = repository(&[("crates/x/src/lib.rs", source)]);
        let measures = measure(&repository);
        let names =
            |found: &[Declaration<'_>]| found.iter().map(|one| one.name.to_owned()).collect::<Vec<_>>().join(" ");
        assert_eq!(names(&measures.types), "A B C F H");
        assert_eq!(names(&measures.functions), "e e g");
    }

    #[test]
    fn names_beyond_the_limits_are_listed() {
        let files =
            [("crates/x/src/a.rs", "struct Seen; struct State;\nfn told() {}"), ("crates/x/src/b.rs", "struct State;")];
        let problems = problems(&repository(&files));
        assert_eq!(
            problems,
            [
                "crates/x/src/a.rs:1: `Seen` is a participle: name the thing",
                "crates/x/src/a.rs:2: `told` is a participle: name the deed",
                "crates/x/src/a.rs:1: `State` is declared in other files too: add the word that tells it apart",
                "crates/x/src/b.rs:1: `State` is declared in other files too: add the word that tells it apart",
            ]
        );
    }

    #[test]
    fn too_many_integration_binaries_are_listed() {
        let paths: Vec<String> = (0..13).map(|n| format!("crates/x/tests/t{n}.rs")).collect();
        let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
        assert_eq!(problems(&repository(&files)).len(), 13);
        assert!(problems(&repository(&files[..12])).is_empty());
        assert!(is_integration_binary("crates/x/tests/it/main.rs"));
        assert!(!is_integration_binary("crates/x/tests/it/other.rs") && !is_integration_binary("testdata/x.rs"));
    }
}
