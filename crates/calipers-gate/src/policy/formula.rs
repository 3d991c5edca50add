//! Formulas over metrics: `accuracy × 0.3 + safety_rate × 0.4`, `final_score ≥ 0.85 AND safety_rate = 1.0`.

use super::{Comparison, Span};
use calipers_core::{PolicyRole, UndefinedOperation, metric_with_role};
use std::ops::Range;

/// A formula, as it was written and as it was understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    /// The text.
    pub text: String,
    /// What it says.
    pub expression: Expression,
}

/// A part of a formula.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// What it is.
    pub node: Node,
    /// Its place in the text of the formula, in bytes.
    pub range: Range<usize>,
}

/// The kinds of parts.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// A number; `85%` is 0.85.
    Number(f64),
    /// A metric, or another formula.
    Name(String),
    /// −x
    Negate(Box<Expression>),
    /// x ∘ y
    Arithmetic(Arithmetic, Box<Expression>, Box<Expression>),
    /// `min(a, b)`, `max(a, b)`, `abs(x)`, `clamp(x, low, high)`, `sqrt(x)`, `log(x)`, `exp(x)`
    Call(Function, Vec<Expression>),
    /// x ≥ y
    Compare(Comparison, Box<Expression>, Box<Expression>),
    /// a AND b
    And(Box<Expression>, Box<Expression>),
    /// a OR b
    Or(Box<Expression>, Box<Expression>),
    /// NOT a
    Not(Box<Expression>),
}

/// Operations on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// +
    Add,
    /// −
    Subtract,
    /// ×
    Multiply,
    /// ÷
    Divide,
    /// to the power
    Power,
}

/// Functions of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// Without its sign.
    Abs,
    /// Between two bounds.
    Clamp,
    /// The square root.
    Sqrt,
    /// The natural logarithm.
    Log,
    /// e to the power.
    Exp,
}

/// The metric that a normalised one is made from: the one that declares the word (`latency_p95` of `normalized_latency`),
/// or else the one of that name.
#[must_use]
pub fn normalized(name: &str) -> Option<String> {
    let what = name.strip_prefix("normalized_").or_else(|| name.strip_prefix("normalised_"))?;
    Some(metric_with_role(PolicyRole::Normalized(what)).unwrap_or(what).to_owned())
}

impl Formula {
    /// A part of the formula as it is written, in one line.
    #[must_use]
    pub fn written(&self, part: &Expression) -> String {
        let text = self.text.get(part.range.clone()).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ").replace("( ", "(").replace(" )", ")")
    }

    /// The place of a part in the file, given the place of the formula.
    #[must_use]
    pub fn place(&self, formula: &Span, part: &Expression) -> Span {
        formula.within(&self.text, part.range.clone())
    }
}

impl Function {
    /// The functions by name.
    pub const ALL: [(&'static str, Self); 7] = [
        ("min", Self::Min),
        ("max", Self::Max),
        ("abs", Self::Abs),
        ("clamp", Self::Clamp),
        ("sqrt", Self::Sqrt),
        ("log", Self::Log),
        ("exp", Self::Exp),
    ];

    /// True when it can be given this many arguments.
    #[must_use]
    pub fn takes(self, arguments: usize) -> bool {
        match self {
            Self::Min | Self::Max => arguments >= 1,
            Self::Abs | Self::Sqrt | Self::Log | Self::Exp => arguments == 1,
            Self::Clamp => arguments == 3,
        }
    }
}

impl Arithmetic {
    /// The range of what is made of two numbers, given theirs.
    fn range(self, (a, b): (f64, f64), (c, d): (f64, f64)) -> Option<(f64, f64)> {
        // Nothing of something endless is nothing.
        let product = |x: f64, y: f64| if x == 0.0 || y == 0.0 { 0.0 } else { x * y };
        match self {
            Self::Add => Some((a + c, b + d)),
            Self::Subtract => Some((a - d, b - c)),
            Self::Multiply => Some(around([product(a, c), product(a, d), product(b, c), product(b, d)])),
            Self::Divide if c > 0.0 || d < 0.0 => Some(around([a / c, a / d, b / c, b / d])),
            Self::Divide => None,
            Self::Power => power((a, b), (c, d)),
        }
    }
}

/// A power is monotone in both numbers where the lower one is not negative, so its ends are at the corners.
fn power((a, b): (f64, f64), (c, d): (f64, f64)) -> Option<(f64, f64)> {
    if a > 0.0 || (a == 0.0 && c >= 0.0) {
        return Some(around([a.powf(c), a.powf(d), b.powf(c), b.powf(d)]));
    }
    let is_whole = c == d && c >= 0.0 && c.fract() == 0.0;
    // An even power turns at zero.
    let turn = if a < 0.0 && b > 0.0 { 0.0f64.powf(c) } else { a.powf(c) };
    is_whole.then(|| around([a.powf(c), b.powf(c), turn, turn]))
}

fn around(values: [f64; 4]) -> (f64, f64) {
    let fold =
        |of: fn(f64, f64) -> f64| values[1..].iter().fold(values[0], |x, &y| if y.is_nan() { y } else { of(x, y) });
    (fold(f64::min), fold(f64::max))
}

impl Function {
    /// The range of its values, given those of its arguments.
    fn range(self, arguments: &[(f64, f64)]) -> Option<(f64, f64)> {
        let both = |of: fn(f64, f64) -> f64| arguments.iter().copied().reduce(|x, y| (of(x.0, y.0), of(x.1, y.1)));
        match (self, arguments) {
            (Self::Min, _) => both(f64::min),
            (Self::Max, _) => both(f64::max),
            (Self::Abs, [(low, high)]) if *low <= 0.0 && *high >= 0.0 => Some((0.0, high.max(-low))),
            (Self::Abs, [(low, high)]) => Some((low.abs().min(high.abs()), low.abs().max(high.abs()))),
            (Self::Clamp, [x, low, high]) => Some((x.0.max(low.0).min(high.0), x.1.max(low.1).min(high.1))),
            (Self::Sqrt, [(low, high)]) if *low >= 0.0 => Some((low.sqrt(), high.sqrt())),
            (Self::Log, [(low, high)]) if *low >= 0.0 && *high > 0.0 => Some((low.ln(), high.ln())),
            (Self::Exp, [(low, high)]) => Some((low.exp(), high.exp())),
            _ => None,
        }
    }
}

impl Expression {
    /// True for what holds or does not hold: comparisons, and conditions made of them.
    #[must_use]
    pub fn is_condition(&self) -> bool {
        matches!(self.node, Node::Compare(..) | Node::And(..) | Node::Or(..) | Node::Not(_))
    }

    /// The terms of a sum, each with its sign (1 or −1); the whole if it is not a sum.
    #[must_use]
    pub fn terms(&self) -> Vec<(f64, &Self)> {
        let mut terms = Vec::new();
        self.add_terms(1.0, &mut terms);
        terms
    }

    fn add_terms<'e>(&'e self, sign: f64, terms: &mut Vec<(f64, &'e Self)>) {
        match &self.node {
            Node::Arithmetic(Arithmetic::Add, x, y) => {
                x.add_terms(sign, terms);
                y.add_terms(sign, terms);
            }
            Node::Arithmetic(Arithmetic::Subtract, x, y) => {
                x.add_terms(sign, terms);
                y.add_terms(-sign, terms);
            }
            Node::Negate(x) => x.add_terms(-sign, terms),
            _ => terms.push((sign, self)),
        }
    }

    /// The value of an expression of numbers, given the values of names; none if a name has none, or where it is not
    /// defined (a division by zero, a root of a negative number). A comparison has no number.
    pub fn value(&self, value_of: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
        let number = match &self.node {
            Node::Number(number) => *number,
            Node::Name(name) => value_of(name)?,
            Node::Negate(x) => -x.value(value_of)?,
            Node::Arithmetic(operation, x, y) => {
                let (x, y) = (x.value(value_of)?, y.value(value_of)?);
                match operation {
                    Arithmetic::Add => x + y,
                    Arithmetic::Subtract => x - y,
                    Arithmetic::Multiply => x * y,
                    Arithmetic::Divide => x / y,
                    Arithmetic::Power => x.powf(y),
                }
            }
            Node::Call(function, arguments) => {
                let arguments: Vec<f64> = arguments.iter().map(|x| x.value(value_of)).collect::<Option<_>>()?;
                match (function, &arguments[..]) {
                    (Function::Min, [first, rest @ ..]) => rest.iter().fold(*first, |least, x| least.min(*x)),
                    (Function::Max, [first, rest @ ..]) => rest.iter().fold(*first, |most, x| most.max(*x)),
                    (Function::Abs, [x]) => x.abs(),
                    (Function::Clamp, [x, low, high]) => x.max(*low).min(*high),
                    (Function::Sqrt, [x]) => x.sqrt(),
                    (Function::Log, [x]) => x.ln(),
                    (Function::Exp, [x]) => x.exp(),
                    _ => return None,
                }
            }
            Node::Compare(..) | Node::And(..) | Node::Or(..) | Node::Not(_) => return None,
        };
        number.is_finite().then_some(number)
    }

    /// The innermost part that has no value although its operands have one, and why; none if all parts have a value, or if
    /// a name has none.
    pub fn without_value(&self, value_of: &dyn Fn(&str) -> Option<f64>) -> Option<(&Self, UndefinedOperation)> {
        if self.value(value_of).is_some() {
            return None;
        }
        let parts: Vec<&Self> = match &self.node {
            Node::Number(_) | Node::Name(_) => return None,
            Node::Negate(x) | Node::Not(x) => vec![x],
            Node::Arithmetic(_, x, y) | Node::Compare(_, x, y) | Node::And(x, y) | Node::Or(x, y) => vec![x, y],
            Node::Call(_, arguments) => arguments.iter().collect(),
        };
        if let Some(part) = parts.iter().find(|part| !part.is_condition() && part.value(value_of).is_none()) {
            return part.without_value(value_of);
        }
        let why = match &self.node {
            Node::Arithmetic(Arithmetic::Divide, _, y) if y.value(value_of) == Some(0.0) => {
                UndefinedOperation::DivisionByZero
            }
            Node::Call(Function::Sqrt, _) => UndefinedOperation::RootOfNegative,
            Node::Call(Function::Log, _) => UndefinedOperation::LogarithmOfNonPositive,
            Node::Compare(..) | Node::And(..) | Node::Or(..) | Node::Not(_) => return None,
            _ => UndefinedOperation::NotFinite,
        };
        Some((self, why))
    }

    /// The least and the greatest value of an expression of numbers, given those of names; none where it may be undefined
    /// for some of them, or where nothing is known.
    ///
    /// Interval arithmetic: every name is taken for itself each time it occurs, so the range may be too wide and is never
    /// too narrow. It is exact where every name occurs once.
    pub fn range(&self, range_of: &dyn Fn(&str) -> Option<(f64, f64)>) -> Option<(f64, f64)> {
        let (low, high) = match &self.node {
            Node::Number(number) => (*number, *number),
            Node::Name(name) => range_of(name)?,
            Node::Negate(x) => {
                let (low, high) = x.range(range_of)?;
                (-high, -low)
            }
            Node::Arithmetic(operation, x, y) => operation.range(x.range(range_of)?, y.range(range_of)?)?,
            Node::Call(function, arguments) => {
                let ranges: Vec<(f64, f64)> = arguments.iter().map(|x| x.range(range_of)).collect::<Option<_>>()?;
                function.range(&ranges)?
            }
            Node::Compare(..) | Node::And(..) | Node::Or(..) | Node::Not(_) => return None,
        };
        (!low.is_nan() && !high.is_nan()).then_some((low, high))
    }

    /// The names in it, each once, in the order of the text.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.visit(&mut |part| {
            if let Node::Name(name) = &part.node
                && !names.contains(&name.as_str())
            {
                names.push(name.as_str());
            }
        });
        names
    }

    /// Shows every part to a visitor, from left to right, the whole before its parts.
    pub fn visit<'e>(&'e self, visitor: &mut dyn FnMut(&'e Self)) {
        visitor(self);
        match &self.node {
            Node::Number(_) | Node::Name(_) => {}
            Node::Negate(x) | Node::Not(x) => x.visit(visitor),
            Node::Arithmetic(_, x, y) | Node::Compare(_, x, y) | Node::And(x, y) | Node::Or(x, y) => {
                x.visit(visitor);
                y.visit(visitor);
            }
            Node::Call(_, arguments) => arguments.iter().for_each(|x| x.visit(visitor)),
        }
    }
}
