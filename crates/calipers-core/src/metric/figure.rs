//! A number with all that is needed to defend it.

use crate::{Caveat, ErrorKind, Tally};
use calipers_stats::Interval;
use indexmap::IndexMap;
use std::borrow::Cow;
use std::fmt;

/// Why a figure has no value.
///
/// ```
/// use calipers_core::{stderr, Plan, Samples};
///
/// let mut samples = Samples::new();
/// samples.push(1).score("judge", "C");
/// let results = Plan::new().metrics([stderr()]).measure(&samples)?;
/// let figure = results.figure("judge", "stderr").expect("asked for");
/// let why = figure.value.as_ref().unwrap_err();
/// assert_eq!(why.to_string(), "needs at least 2 values, has 1");
/// assert_eq!(why.placeholder(), 0.0); // what Inspect prints
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Undefined {
    reason: Reason,
    placeholder: f64,
}

/// The reasons there are.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// The statistic does not exist for these values.
    Statistic(calipers_stats::Undefined),
    /// No sample has a score.
    NothingScored,
    /// Another figure that this one is made from has no value.
    Part(String),
    /// A metric of a formula, or a formula of a formula, has no value.
    FormulaName {
        /// The name in the formula.
        name: String,
        /// Why it has none, if that is known.
        why: Option<Box<Undefined>>,
    },
    /// A part of a formula has no value although its operands have one.
    FormulaOperation {
        /// The part as it is written.
        part: String,
        /// What is wrong there.
        operation: UndefinedOperation,
    },
    /// A formula has no value, and none of its parts says why.
    FormulaValue,
    /// No scenario has the category.
    NoScenario {
        /// The category.
        category: String,
    },
    /// The run does not record what the metric needs.
    NotRecorded(Box<ErrorKind>),
    /// A reason of its own.
    Other(Cow<'static, str>),
}

/// Why an operation has no value although its operands have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndefinedOperation {
    /// It divides by 0.
    DivisionByZero,
    /// It takes the root of a negative number.
    RootOfNegative,
    /// It takes the logarithm of 0 or of a negative number.
    LogarithmOfNonPositive,
    /// Its result is too large, or not a number.
    NotFinite,
}

impl Undefined {
    /// Why there is no value, and what Inspect prints in its place.
    pub fn new(reason: Reason, placeholder: f64) -> Self {
        Self { reason, placeholder }
    }

    pub(crate) fn other(reason: impl Into<Cow<'static, str>>, placeholder: f64) -> Self {
        Self::new(Reason::Other(reason.into()), placeholder)
    }

    /// The reason.
    #[must_use]
    pub fn reason(&self) -> &Reason {
        &self.reason
    }

    /// The number, 0 or NaN, that Inspect prints in this case. For logs that Inspect will read.
    #[must_use]
    pub fn placeholder(&self) -> f64 {
        self.placeholder
    }
}

impl fmt::Display for Undefined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Reason::Statistic(reason) => reason.fmt(f),
            Reason::NothingScored => f.write_str("no sample has a score"),
            Reason::Part(name) => write!(f, "`{name}` is undefined"),
            Reason::FormulaName { name, why: Some(why) } => write!(f, "`{name}` is undefined: {why}"),
            Reason::FormulaName { name, why: None } => write!(f, "`{name}` is undefined"),
            Reason::FormulaOperation { part, operation } => {
                let problem = match operation {
                    UndefinedOperation::DivisionByZero => "divides by 0",
                    UndefinedOperation::RootOfNegative => "takes the root of a negative number",
                    UndefinedOperation::LogarithmOfNonPositive => "takes the logarithm of 0 or of a negative number",
                    UndefinedOperation::NotFinite => "is too large, or not a number",
                };
                write!(f, "`{part}` {problem}")
            }
            Reason::FormulaValue => f.write_str("the formula has no value"),
            Reason::NoScenario { category } => write!(f, "no scenario has the category `{category}`"),
            Reason::NotRecorded(kind) => kind.fmt(f),
            Reason::Other(reason) => f.write_str(reason),
        }
    }
}

/// One number of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The number, or why there is none.
    pub value: Result<f64, Undefined>,
    /// How many samples (or attempts, for metrics over attempts) it rests on.
    pub n: u64,
    /// How many have no score and are left out.
    pub missing: u64,
    /// How it was computed.
    pub method: Cow<'static, str>,
    /// How far it may be from the truth, where that can be said.
    pub interval: Option<Interval>,
    /// What to know before relying on it.
    pub caveats: Vec<Caveat>,
    /// Numbers made on the way: clusters, degrees of freedom, the limit of a simulation.
    pub details: Vec<(&'static str, f64)>,
}

impl Figure {
    /// A figure with a value and nothing else said yet.
    #[must_use]
    pub fn new(value: f64, tally: Tally, method: impl Into<Cow<'static, str>>) -> Self {
        Self::from_result(Ok(value), tally, method)
    }

    /// A figure that may be undefined.
    pub fn from_result(value: Result<f64, Undefined>, tally: Tally, method: impl Into<Cow<'static, str>>) -> Self {
        let value = value.and_then(|value| {
            if value.is_finite() {
                return Ok(value);
            }
            Err(Undefined::new(Reason::Statistic(calipers_stats::Undefined::NotFinite { value }), value))
        });
        Self {
            value,
            n: tally.n,
            missing: tally.missing,
            method: method.into(),
            interval: None,
            caveats: Vec::new(),
            details: Vec::new(),
        }
    }

    /// A figure from a statistic, with what Inspect prints when the statistic is undefined.
    pub fn statistic(
        value: Result<f64, calipers_stats::Undefined>,
        placeholder: f64,
        tally: Tally,
        method: impl Into<Cow<'static, str>>,
    ) -> Self {
        let value = value.map_err(|why| match why {
            // IEEE arithmetic on infinite scores has an answer of its own, and Inspect prints that.
            calipers_stats::Undefined::NotFinite { value } => Undefined::new(Reason::Statistic(why), value),
            _ => Undefined::new(Reason::Statistic(why), placeholder),
        });
        Self::from_result(value, tally, method)
    }

    /// With an interval.
    #[must_use]
    pub fn with_interval(mut self, interval: Option<Interval>) -> Self {
        self.interval = interval;
        self
    }

    /// With caveats added.
    #[must_use]
    pub fn with_caveats(mut self, caveats: impl IntoIterator<Item = Caveat>) -> Self {
        self.caveats.extend(caveats);
        self
    }

    /// With a number made on the way.
    #[must_use]
    pub fn with_detail(mut self, name: &'static str, value: f64) -> Self {
        if value.is_finite() {
            self.details.push((name, value));
        }
        self
    }

    /// The number as Inspect prints it: placeholders where it is undefined.
    #[must_use]
    pub fn inspect_value(&self) -> f64 {
        self.value.as_ref().map_or_else(Undefined::placeholder, |&value| value)
    }
}

/// What a metric answers: one number, numbers by name, or numbers in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// One number.
    One(Figure),
    /// Numbers by name, such as the bounds of an interval or the groups of a grouping.
    Named(IndexMap<String, Answer>),
    /// Numbers in order.
    Listed(Vec<Figure>),
}

impl Answer {
    /// The only number, where there is only one.
    #[must_use]
    pub fn figure(&self) -> Option<&Figure> {
        match self {
            Self::One(figure) => Some(figure),
            _ => None,
        }
    }

    /// The answer under a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Answer> {
        match self {
            Self::Named(entries) => entries.get(name),
            _ => None,
        }
    }

    /// Applies a change to every figure.
    pub(crate) fn for_each(&mut self, change: &mut impl FnMut(&mut Figure)) {
        match self {
            Self::One(figure) => change(figure),
            Self::Named(entries) => entries.values_mut().for_each(|answer| answer.for_each(change)),
            Self::Listed(figures) => figures.iter_mut().for_each(change),
        }
    }
}

impl From<Figure> for Answer {
    fn from(figure: Figure) -> Self {
        Self::One(figure)
    }
}
