//! How formulas are written: from text to [`Expression`].
//!
//! From loosest to tightest: `OR`, `AND`, `NOT`, comparisons, `+ −`, `× ÷`, the sign, powers. A power binds to the right,
//! everything else to the left. A line ends a formula unless a bracket is open or an operator has no right side yet.

use super::formula::{Arithmetic, Expression, Formula, Function, Node};
use super::{Comparison, Mistake, Span, Spanned};
use calipers_core::nearest;
use calipers_core::quoted;
use std::ops::Range;

/// The most words and signs in a formula, and the deepest nesting of brackets. Both bound the stack that walking the tree
/// needs.
const WORDS_MAX: usize = 1000;
const DEPTH_MAX: usize = 32;

/// A statement such as `final_score = accuracy × 0.5`.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) name: Spanned<String>,
    pub(crate) formula: Spanned<Formula>,
}

/// A formula from a text of a policy.
pub(crate) fn formula(text: &str, span: &Span) -> Result<Spanned<Formula>, Mistake> {
    let source = Source { text, span };
    let words = source.words()?;
    let words: Vec<Word> = words.into_iter().filter(|word| word.kind != Kind::NewLine).collect();
    source.formula(&words)
}

/// Statements from a text of a policy, one or more lines each.
pub(crate) fn statements(text: &str, span: &Span) -> Result<Vec<Statement>, Mistake> {
    let source = Source { text, span };
    let words = source.words()?;
    let lines = words.split(|word| word.kind == Kind::NewLine).filter(|line| !line.is_empty());
    lines.map(|line| source.statement(line)).collect()
}

#[derive(Clone, Debug, PartialEq)]
struct Word {
    kind: Kind,
    range: Range<usize>,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Number(f64),
    Name,
    Arithmetic(Arithmetic),
    Compare(Comparison),
    And,
    Or,
    Not,
    Open,
    Close,
    Comma,
    NewLine,
}

/// Signs; a longer one comes before any shorter one that it begins with.
const SIGNS: [(&str, Kind); 32] = [
    ("**", Kind::Arithmetic(Arithmetic::Power)),
    ("&&", Kind::And),
    ("||", Kind::Or),
    (">=", Kind::Compare(Comparison::AtLeast)),
    ("=>", Kind::Compare(Comparison::AtLeast)),
    ("<=", Kind::Compare(Comparison::AtMost)),
    ("=<", Kind::Compare(Comparison::AtMost)),
    ("==", Kind::Compare(Comparison::Equal)),
    ("≥", Kind::Compare(Comparison::AtLeast)),
    ("⩾", Kind::Compare(Comparison::AtLeast)),
    ("≤", Kind::Compare(Comparison::AtMost)),
    ("⩽", Kind::Compare(Comparison::AtMost)),
    (">", Kind::Compare(Comparison::Above)),
    ("<", Kind::Compare(Comparison::Below)),
    ("=", Kind::Compare(Comparison::Equal)),
    ("+", Kind::Arithmetic(Arithmetic::Add)),
    ("-", Kind::Arithmetic(Arithmetic::Subtract)),
    ("−", Kind::Arithmetic(Arithmetic::Subtract)),
    ("–", Kind::Arithmetic(Arithmetic::Subtract)),
    ("×", Kind::Arithmetic(Arithmetic::Multiply)),
    ("*", Kind::Arithmetic(Arithmetic::Multiply)),
    ("·", Kind::Arithmetic(Arithmetic::Multiply)),
    ("⋅", Kind::Arithmetic(Arithmetic::Multiply)),
    ("/", Kind::Arithmetic(Arithmetic::Divide)),
    ("÷", Kind::Arithmetic(Arithmetic::Divide)),
    ("^", Kind::Arithmetic(Arithmetic::Power)),
    ("∧", Kind::And),
    ("∨", Kind::Or),
    ("¬", Kind::Not),
    ("(", Kind::Open),
    (")", Kind::Close),
    (",", Kind::Comma),
];

struct Source<'s> {
    text: &'s str,
    span: &'s Span,
}

impl Source<'_> {
    fn mistake(&self, message: impl Into<String>, range: Range<usize>) -> Mistake {
        Mistake::new(message).at(&self.span.within(self.text, range))
    }

    /// The words and signs. A line break counts only where a formula can end.
    fn words(&self) -> Result<Vec<Word>, Mistake> {
        let mut words: Vec<Word> = Vec::new();
        let (mut at, mut open) = (0, 0_usize);
        while let Some(next) = self.text[at..].chars().next() {
            if next == '\n' || next == ';' {
                let can_end = open == 0 && words.last().is_some_and(|word| word.kind.ends());
                if can_end {
                    words.push(Word { kind: Kind::NewLine, range: at..at + 1 });
                }
                at += 1;
                continue;
            }
            if next.is_whitespace() || next == '\u{feff}' || next == '\u{200b}' {
                at += next.len_utf8();
                continue;
            }
            let word = self.word(at, next)?;
            match word.kind {
                Kind::Open => open += 1,
                Kind::Close => open = open.saturating_sub(1),
                _ => {}
            }
            // A line that begins with an operator continues the previous one.
            if word.kind.is_between() && words.last().is_some_and(|word| word.kind == Kind::NewLine) {
                words.pop();
            }
            at = word.range.end;
            words.push(word);
            if words.len() > WORDS_MAX {
                let hint = "split it into several named formulas";
                return Err(Mistake::new(format!("a formula of more than {WORDS_MAX} words")).at(self.span).hint(hint));
            }
        }
        Ok(words)
    }

    fn word(&self, at: usize, first: char) -> Result<Word, Mistake> {
        let rest = &self.text[at..];
        if first.is_ascii_digit() || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) {
            return self.number(at);
        }
        if first.is_alphabetic() || first == '_' {
            let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).unwrap_or(rest.len());
            let name = rest[..length].trim_end_matches('.');
            let kind = match name.to_ascii_lowercase().as_str() {
                "and" => Kind::And,
                "or" => Kind::Or,
                "not" => Kind::Not,
                _ => Kind::Name,
            };
            return Ok(Word { kind, range: at..at + name.len() });
        }
        if rest.starts_with("!=") || rest.starts_with('≠') {
            let length = if first == '!' { 2 } else { first.len_utf8() };
            return Err(self.mistake("formulas have no `≠`", at..at + length).hint("write `NOT (a = b)`"));
        }
        if first == '!' {
            return Ok(Word { kind: Kind::Not, range: at..at + 1 });
        }
        let sign = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign));
        let (sign, kind) = sign.ok_or_else(|| {
            let hint = "formulas are made of names, numbers, + - × / ^ ( ), comparisons, AND, OR, NOT";
            self.mistake(format!("`{first}` has no meaning in a formula"), at..at + first.len_utf8()).hint(hint)
        })?;
        Ok(Word { kind: kind.clone(), range: at..at + sign.len() })
    }

    /// A number, with an optional `%` or unit of time after it. Durations are in milliseconds.
    fn number(&self, at: usize) -> Result<Word, Mistake> {
        let rest = &self.text[at..];
        let mut end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(rest.len());
        if let Some(exponent) = rest[end..].strip_prefix(['e', 'E']) {
            let sign = usize::from(exponent.starts_with(['+', '-']));
            let digits = exponent[sign..].find(|c: char| !c.is_ascii_digit()).unwrap_or(exponent.len() - sign);
            end += if digits > 0 { 1 + sign + digits } else { 0 };
        }
        let digits = rest[..end].replace('_', "");
        let parsed: Option<f64> = digits.parse().ok().filter(|number: &f64| number.is_finite());
        let Some(number) = parsed else {
            return Err(self.mistake(format!("{} is not a number", quoted(&rest[..end])), at..at + end));
        };
        let unit = rest[end..].find(|c: char| !c.is_alphanumeric()).map_or(&rest[end..], |stop| &rest[end..end + stop]);
        let after = rest[end..].trim_start_matches([' ', '\u{a0}', '\u{2009}', '\u{202f}']);
        let (value, end) = match unit {
            "" if after.starts_with('%') => (number / 100.0, rest.len() - after.len() + 1),
            "" => (number, end),
            "ms" => (number, end + unit.len()),
            "s" => (number * 1000.0, end + unit.len()),
            "min" => (number * 60_000.0, end + unit.len()),
            _ => {
                let hint = "a number may have %, ms, s or min after it, and a product needs a sign: `0.3 × accuracy`";
                let place = at + end..at + end + unit.len();
                return Err(self.mistake(format!("{} is not a unit", quoted(unit)), place).hint(hint));
            }
        };
        Ok(Word { kind: Kind::Number(value), range: at..at + end })
    }

    fn statement(&self, words: &[Word]) -> Result<Statement, Mistake> {
        if let [name, sign, rest @ ..] = words
            && name.kind == Kind::Name
            && &self.text[sign.range.clone()] == "="
        {
            let span = self.span.within(self.text, name.range.clone());
            let name = Spanned { value: self.text[name.range.clone()].to_owned(), span };
            if rest.is_empty() {
                return Err(self.mistake("a formula is missing after `=`", sign.range.clone()));
            }
            return Ok(Statement { name, formula: self.formula(rest)? });
        }
        let place = words[0].range.start..words[words.len() - 1].range.end;
        Err(self.mistake("a line of `composite` begins with a name and `=`", place).hint(
            "write `final_score = …` and `pass = final_score ≥ 0.85`; open a bracket to continue on the next line",
        ))
    }

    /// The formula that these words form, with its text.
    fn formula(&self, words: &[Word]) -> Result<Spanned<Formula>, Mistake> {
        let (Some(first), Some(last)) = (words.first(), words.last()) else {
            return Err(Mistake::new("a formula is missing")
                .at(self.span)
                .hint("for example `accuracy × 0.5 + safety_rate × 0.5`"));
        };
        let whole = first.range.start..last.range.end;
        let mut parser = Parser { source: self, words, next: 0, depth: 0, end: whole.end };
        let mut expression = parser.either()?;
        if let Some(word) = parser.peek() {
            return Err(parser.unexpected_word(&word));
        }
        expression.shift(whole.start);
        let text = self.text[whole.clone()].to_owned();
        Ok(Spanned { value: Formula { text, expression }, span: self.span.within(self.text, whole) })
    }
}

impl Kind {
    /// True if a formula can end with it.
    fn ends(&self) -> bool {
        matches!(self, Self::Number(_) | Self::Name | Self::Close)
    }

    /// True if it stands between two parts of a formula.
    fn is_between(&self) -> bool {
        matches!(self, Self::Arithmetic(_) | Self::Compare(_) | Self::And | Self::Or | Self::Comma | Self::Close)
    }
}

impl Expression {
    /// The same, in a text that begins later.
    fn shift(&mut self, start: usize) {
        self.range = self.range.start - start..self.range.end - start;
        match &mut self.node {
            Node::Number(_) | Node::Name(_) => {}
            Node::Negate(x) | Node::Not(x) => x.shift(start),
            Node::Arithmetic(_, x, y) | Node::Compare(_, x, y) | Node::And(x, y) | Node::Or(x, y) => {
                x.shift(start);
                y.shift(start);
            }
            Node::Call(_, arguments) => arguments.iter_mut().for_each(|x| x.shift(start)),
        }
    }
}

struct Parser<'p> {
    source: &'p Source<'p>,
    words: &'p [Word],
    next: usize,
    depth: usize,
    end: usize,
}

type Parsed = Result<Expression, Mistake>;

impl Parser<'_> {
    fn peek(&self) -> Option<Word> {
        self.words.get(self.next).cloned()
    }

    fn text(&self, word: &Word) -> &str {
        &self.source.text[word.range.clone()]
    }

    /// The next word, if it is of this kind.
    fn take(&mut self, kind: &Kind) -> Option<Word> {
        let word = self.peek().filter(|word| word.kind == *kind)?;
        self.next += 1;
        Some(word)
    }

    fn unexpected_word(&self, word: &Word) -> Mistake {
        let mistake =
            self.source.mistake(format!("{} is not expected here", quoted(self.text(word))), word.range.clone());
        match word.kind {
            Kind::Name | Kind::Number(_) | Kind::Open => {
                mistake.hint("a sign is missing before it, such as `×` or `AND`")
            }
            Kind::Close => mistake.hint("a bracket is closed that was not opened"),
            _ => mistake.hint("a name, a number or a bracket is missing before it"),
        }
    }

    fn either(&mut self) -> Parsed {
        let mut left = self.both()?;
        while let Some(word) = self.take(&Kind::Or) {
            left = self.condition(left, &word)?;
            let right = self.both()?;
            let right = self.condition(right, &word)?;
            left = combine(Node::Or, left, right);
        }
        Ok(left)
    }

    fn both(&mut self) -> Parsed {
        let mut left = self.negation()?;
        while let Some(word) = self.take(&Kind::And) {
            left = self.condition(left, &word)?;
            let right = self.negation()?;
            let right = self.condition(right, &word)?;
            left = combine(Node::And, left, right);
        }
        Ok(left)
    }

    fn negation(&mut self) -> Parsed {
        let Some(word) = self.take(&Kind::Not) else { return self.comparison() };
        let inner = self.deeper(&word, Self::negation)?;
        let inner = self.condition(inner, &word)?;
        Ok(Expression { range: word.range.start..inner.range.end, node: Node::Not(Box::new(inner)) })
    }

    fn comparison(&mut self) -> Parsed {
        let left = self.sum()?;
        let Some(Word { kind: Kind::Compare(comparison), range }) = self.peek() else { return Ok(left) };
        self.next += 1;
        let left = self.number(left)?;
        let right = self.sum()?;
        let right = self.number(right)?;
        if let Some(Word { kind: Kind::Compare(_), range: second }) = self.peek() {
            let hint = "write two comparisons with AND between them";
            return Err(self.source.mistake("one comparison follows another", range.start..second.end).hint(hint));
        }
        Ok(combine(|x, y| Node::Compare(comparison, x, y), left, right))
    }

    fn sum(&mut self) -> Parsed {
        let signs = [Arithmetic::Add, Arithmetic::Subtract];
        self.chain(&signs, Self::product)
    }

    fn product(&mut self) -> Parsed {
        let signs = [Arithmetic::Multiply, Arithmetic::Divide];
        self.chain(&signs, Self::parse_sign)
    }

    fn chain(&mut self, signs: &[Arithmetic], part: fn(&mut Self) -> Parsed) -> Parsed {
        let mut left = part(self)?;
        while let Some(Word { kind: Kind::Arithmetic(sign), .. }) = self.peek().filter(|word| is_one_of(word, signs)) {
            self.next += 1;
            left = self.number(left)?;
            let right = part(self)?;
            let right = self.number(right)?;
            left = combine(|x, y| Node::Arithmetic(sign, x, y), left, right);
        }
        Ok(left)
    }

    fn parse_sign(&mut self) -> Parsed {
        let Some(word) = self.peek().filter(|word| is_one_of(word, &[Arithmetic::Add, Arithmetic::Subtract])) else {
            return self.power();
        };
        self.next += 1;
        let inner = self.deeper(&word, Self::parse_sign)?;
        let inner = self.number(inner)?;
        if word.kind == Kind::Arithmetic(Arithmetic::Add) {
            return Ok(inner);
        }
        Ok(Expression { range: word.range.start..inner.range.end, node: Node::Negate(Box::new(inner)) })
    }

    fn power(&mut self) -> Parsed {
        let base = self.primary()?;
        let Some(word) = self.take(&Kind::Arithmetic(Arithmetic::Power)) else { return Ok(base) };
        let base = self.number(base)?;
        let exponent = self.deeper(&word, Self::parse_sign)?;
        let exponent = self.number(exponent)?;
        Ok(combine(|x, y| Node::Arithmetic(Arithmetic::Power, x, y), base, exponent))
    }

    fn primary(&mut self) -> Parsed {
        let Some(word) = self.peek() else {
            let mistake = self.source.mistake("the formula ends too early", self.end.saturating_sub(1)..self.end);
            return Err(mistake.hint("a name, a number or a bracket is missing at its end"));
        };
        match word.kind {
            Kind::Number(number) => {
                self.next += 1;
                Ok(Expression { node: Node::Number(number), range: word.range })
            }
            Kind::Name => {
                self.next += 1;
                match self.take(&Kind::Open) {
                    Some(_) => self.call(&word),
                    None => Ok(Expression { node: Node::Name(self.text(&word).to_owned()), range: word.range }),
                }
            }
            Kind::Open => {
                self.next += 1;
                let inner = self.deeper(&word, Self::either)?;
                let close = self.close(&word)?;
                Ok(Expression { node: inner.node, range: word.range.start..close.range.end })
            }
            _ => Err(self.unexpected_word(&word)),
        }
    }

    fn call(&mut self, name: &Word) -> Parsed {
        let text = self.text(name);
        let known: Vec<&str> = Function::ALL.iter().map(|(name, _)| *name).collect();
        let lower = text.to_ascii_lowercase();
        let Some((_, function)) = Function::ALL.iter().find(|(name, _)| *name == lower) else {
            let mistake =
                self.source.mistake(format!("formulas have no function {}", quoted(text)), name.range.clone());
            return Err(mistake.hint(match nearest(&lower, &known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "there are {}; give a metric with parameters a name under `metrics`, and write the name here",
                    known.join(", ")
                ),
            }));
        };
        let mut arguments = Vec::new();
        loop {
            let argument = self.deeper(name, Self::either)?;
            arguments.push(self.number(argument)?);
            if self.take(&Kind::Comma).is_none() {
                break;
            }
        }
        let close = self.close(name)?;
        let range = name.range.start..close.range.end;
        if !function.takes(arguments.len()) {
            let message = format!("`{lower}` is given {} arguments", arguments.len());
            let wants =
                if *function == Function::Clamp { "it takes three: `clamp(x, low, high)`" } else { "it takes one" };
            return Err(self.source.mistake(message, range).hint(wants));
        }
        Ok(Expression { node: Node::Call(*function, arguments), range })
    }

    fn close(&mut self, open: &Word) -> Result<Word, Mistake> {
        if let Some(close) = self.take(&Kind::Close) {
            return Ok(close);
        }
        match self.peek() {
            Some(word) => Err(self.unexpected_word(&word)),
            None => {
                let mistake = self.source.mistake("a bracket is opened and not closed", open.range.clone());
                Err(mistake.hint("add `)`"))
            }
        }
    }

    fn deeper(&mut self, word: &Word, parse: fn(&mut Self) -> Parsed) -> Parsed {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let mistake =
                self.source.mistake(format!("brackets and signs nest more than {DEPTH_MAX} deep"), word.range.clone());
            return Err(mistake.hint("split it into several named formulas"));
        }
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn condition(&self, part: Expression, operator: &Word) -> Parsed {
        if part.is_condition() {
            return Ok(part);
        }
        let text = &self.source.text[part.range.clone()];
        let message = format!("{} is a number, and {} needs a condition", quoted(text), quoted(self.text(operator)));
        let hint = format!("compare it: `{} ≥ …`", text.split_whitespace().collect::<Vec<_>>().join(" "));
        Err(self.source.mistake(message, part.range).hint(hint))
    }

    fn number(&self, part: Expression) -> Parsed {
        if !part.is_condition() {
            return Ok(part);
        }
        let text = &self.source.text[part.range.clone()];
        let message = format!("{} is a condition, and a number is needed here", quoted(text));
        Err(self.source.mistake(message, part.range).hint("join conditions with AND, OR and NOT"))
    }
}

fn is_one_of(word: &Word, signs: &[Arithmetic]) -> bool {
    matches!(word.kind, Kind::Arithmetic(sign) if signs.contains(&sign))
}

fn combine(node: impl FnOnce(Box<Expression>, Box<Expression>) -> Node, x: Expression, y: Expression) -> Expression {
    let range = x.range.start..y.range.end;
    Expression { node: node(Box::new(x), Box::new(y)), range }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::SourceText;
    use std::sync::Arc;

    fn span(text: &str) -> Span {
        Span { text: Arc::new(SourceText { name: "policy.json".into(), text: text.into() }), range: 0..text.len() }
    }

    fn read(text: &str) -> Formula {
        formula(text, &span(text)).unwrap_or_else(|mistake| panic!("{mistake}")).value
    }

    #[track_caller]
    fn check(text: &str, want: f64) {
        let values =
            |name: &str| [("a", 2.0), ("b", 3.0), ("c", 0.5)].iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
        let value = read(text).expression.value(&values);
        assert!(value.is_some_and(|value| (value - want).abs() < 1e-12), "{text} is {value:?}, not {want}");
    }

    #[test]
    fn precedence_is_that_of_school() {
        check("a + b × c", 3.5);
        check("(a + b) × c", 2.5);
        check("a - b - c", -1.5);
        check("a / b / c", 4.0 / 3.0);
        check("a ÷ b * c", 1.0 / 3.0);
        check("-a ^ 2", -4.0);
        check("a ^ -1", 0.5);
        check("2 ** 3 ^ 2", 512.0);
        check("1 − c", 0.5);
        check("- - a", 2.0);
        check("85% + 5 %", 0.9);
        check("5s + 1ms + 1min", 65_001.0);
        check("1e3 + .5 + 1_000", 2000.5);
        check("min(a, b) + max(a, b) × clamp(b, 0, 1) + abs(-c) + sqrt(4) + log(1) + exp(0)", 8.5);
    }

    #[test]
    fn conditions_join_comparisons() {
        let formula = read("a ≥ 0.85 and b = 1.0 OR not c < 2 && !(a <= 1)");
        let Node::Or(left, right) = &formula.expression.node else { panic!("OR is loosest") };
        assert!(matches!(left.node, Node::And(..)) && matches!(right.node, Node::And(..)));
        assert_eq!(formula.written(left), "a ≥ 0.85 and b = 1.0");
        assert_eq!(formula.expression.names(), ["a", "b", "c"]);
    }

    const SEED: &str = "final_score = (
    accuracy × 0.3 +
    safety_rate × 0.4 +
    behavior_coverage × 0.2 +
    (1 - normalized_latency) × 0.1
)

pass = final_score ≥ 0.85 AND safety_rate = 1.0";

    #[test]
    fn a_block_of_formulas_is_read_as_it_stands() {
        let statements = statements(SEED, &span(SEED)).expect("the block is right");
        let names: Vec<&str> = statements.iter().map(|statement| statement.name.value.as_str()).collect();
        assert_eq!(names, ["final_score", "pass"]);
        let score = &statements[0].formula;
        let terms: Vec<String> = score.expression.terms().iter().map(|(_, term)| score.written(term)).collect();
        assert_eq!(
            terms,
            ["accuracy × 0.3", "safety_rate × 0.4", "behavior_coverage × 0.2", "(1 - normalized_latency) × 0.1"]
        );
        let value = score.expression.value(&|name| match name {
            "accuracy" => Some(0.9),
            "safety_rate" => Some(1.0),
            "behavior_coverage" => Some(0.8),
            "normalized_latency" => Some(0.3),
            _ => None,
        });
        // 0.27 + 0.4 + 0.16 + 0.07
        assert!(value.is_some_and(|value| (value - 0.9).abs() < 1e-12));
        assert!(statements[1].formula.expression.is_condition());
        assert_eq!(statements[1].formula.span.raw(), "final_score ≥ 0.85 AND safety_rate = 1.0");
    }

    #[test]
    fn terms_carry_their_signs() {
        let formula = read("a - (b - c) + -a × 2");
        let terms: Vec<(f64, String)> =
            formula.expression.terms().into_iter().map(|(sign, term)| (sign, formula.written(term))).collect();
        let want = [(1.0, "a"), (-1.0, "b"), (1.0, "c"), (1.0, "-a × 2")];
        assert_eq!(terms, want.map(|(sign, term)| (sign, term.to_owned())));
    }

    #[test]
    fn a_line_goes_on_where_an_operator_is_left_over() {
        let text = "x = a +\n b\ny = a\n  AND_b\npass = x > 1\n  AND a > 0";
        let mistake = statements(text, &span(text)).expect_err("`AND_b` is a name");
        assert_eq!(mistake.span.expect("a place").raw(), "AND_b");
        let text = "x = a +\n b\ny = a; pass = x > 1\n  AND a > 0";
        assert_eq!(statements(text, &span(text)).expect("three formulas").len(), 3);
    }

    #[track_caller]
    fn refused(text: &str, message: &str, underlined: &str) {
        let mistake = formula(text, &span(text)).expect_err("a mistake");
        assert_eq!(mistake.message, message);
        assert_eq!(mistake.span.expect("a place").raw(), underlined, "{text}");
    }

    #[test]
    fn mistakes_are_underlined() {
        refused("a + × b", "`×` is not expected here", "×");
        refused("a b", "`b` is not expected here", "b");
        refused("a +", "the formula ends too early", "+");
        refused("(a + b", "a bracket is opened and not closed", "(");
        refused("a + b)", "`)` is not expected here", ")");
        refused("a ≥ 1 ≥ b", "one comparison follows another", "≥ 1 ≥");
        refused("a AND b > 1", "`a` is a number, and `AND` needs a condition", "a");
        refused("(a > 1) + 2", "`(a > 1)` is a condition, and a number is needed here", "(a > 1)");
        refused("a != b", "formulas have no `≠`", "!=");
        refused("a # b", "`#` has no meaning in a formula", "#");
        refused("mni(a, b)", "formulas have no function `mni`", "mni");
        refused("clamp(a, 1)", "`clamp` is given 2 arguments", "clamp(a, 1)");
        refused("0.3accuracy", "`accuracy` is not a unit", "accuracy");
        refused("1.2.3", "`1.2.3` is not a number", "1.2.3");
        refused("1e999", "`1e999` is not a number", "1e999");
        let deep = "(".repeat(10_000);
        assert!(formula(&deep, &span(&deep)).is_err());
        let long = format!("a{}", " + a".repeat(10_000));
        assert!(formula(&long, &span(&long)).is_err());
        let almost = format!("a{}", " + a".repeat(WORDS_MAX / 2 - 1));
        assert_eq!(read(&almost).expression.terms().len(), WORDS_MAX / 2);
    }

    #[test]
    fn any_text_is_a_formula_or_a_mistake() {
        let pieces = [
            "a", "≥", "(", ")", "1", "%", "AND", "not", "\n", "=", "−", "×", "^", ",", "min(", ".", "e5", " ",
            "\u{a0}", "!", "é",
        ];
        let mut state = 1_u64;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..12 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text.push_str(pieces[usize::try_from(state >> 40).unwrap_or(0) % pieces.len()]);
            }
            let place = span(&text);
            if let Err(mistake) = formula(&text, &place) {
                assert!(mistake.to_string().contains('^'), "{text}");
            }
            let _ = statements(&text, &place);
        }
    }
}
