//! Formulas over metrics: `accuracy × 0.3 + safety_rate × 0.4`, `final_score ≥ 0.85 AND safety_rate = 1.0`.

use super::{Comparison, Span};
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
