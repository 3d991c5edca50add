//! Why a figure has no value.

use crate::{ErrorKind, Incomparable, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// Why a figure has no value. `calipers-render` has the sentence.
///
/// ```
/// use calipers_core::stats::{self, Quantity};
/// use calipers_core::{Plan, Reason, Samples, stderr};
///
/// let mut samples = Samples::new();
/// samples.push(1).score("judge", "C");
/// let results = Plan::new().metrics([stderr()]).measure(&samples)?;
/// let figure = results.figure("judge", "stderr").expect("asked for");
/// let why = figure.value.as_ref().unwrap_err();
/// let too_few = stats::Undefined::TooFew { what: Quantity::Values, need: 2, have: 1 };
/// assert_eq!(why.reason(), &Reason::Statistic(too_few));
/// assert_eq!(why.placeholder(), 0.0); // what Inspect prints
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Undefined {
    reason: Reason,
    placeholder: f64,
}

// The placeholder may be NaN, which is not equal to itself; two equal reasons with it are one cause all the same.
impl PartialEq for Undefined {
    fn eq(&self, other: &Self) -> bool {
        self.reason == other.reason && self.placeholder.to_bits() == other.placeholder.to_bits()
    }
}

/// The reasons, with their numbers and names.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// The statistic does not exist for these values.
    Statistic(calipers_stats::Undefined),
    /// No sample has a score.
    NothingScored,
    /// Another figure that this one is made from has no value.
    Part(String),
    /// A mean over groups of a metric that has several figures per group.
    SeveralFigures {
        /// The metric.
        metric: String,
    },
    /// No sample meets the conditions of a filter.
    NoMatch(Vec<UnmetCondition>),
    /// No sample that the judge scored has a label of people.
    NoLabels {
        /// The field, metadata or scorer that labels were looked for in.
        labels: String,
    },
    /// Scores outside 0 to 1 are no share of anything.
    ScoresOutsideUnit,
    /// No record says whether its answer is correct.
    NoCorrectness,
    /// No record says whether it passed.
    NoOutcome,
    /// No record has behaviors.
    NoBehaviors,
    /// No score has token counts and log probabilities in its metadata.
    NoTokenCounts,
    /// No sample has a list of two or more ratings.
    NoRatings,
    /// A custom metric returned no number.
    NoNumber,
    /// The reducer needs more attempts per sample than there are.
    TooFewAttempts {
        /// The reducer.
        reducer: String,
        /// The attempts that it needs.
        need: u64,
        /// The attempts there are.
        have: u64,
    },
    /// The reducer makes no value of the attempts of any sample.
    NothingReduced {
        /// The reducer.
        reducer: String,
    },
    /// A percentile of the latency lies among attempts that ran out of time.
    TimedOut {
        /// The percentile, between 0 and 1.
        p: f64,
        /// Attempts that ran out of time.
        timed_out: u64,
        /// All attempts.
        attempts: u64,
    },
    /// Runs cannot be compared.
    Incomparable(Box<Incomparable>),
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
    /// A reason in words, from code outside this workspace.
    Other(Cow<'static, str>),
}

/// Why an operation of a formula has no value although its operands have one.
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

/// A condition of a filter, and the values that there are instead.
#[derive(Clone, Debug, PartialEq)]
pub struct UnmetCondition {
    /// The metadata key or field.
    pub key: Arc<str>,
    /// The value that was wanted.
    pub wanted: Value,
    /// The values that there are, the first few in order.
    pub known: Vec<String>,
    /// True when there are more values than `known` lists.
    pub has_more: bool,
}

impl Undefined {
    /// Why there is no value, and what Inspect prints in its place.
    pub fn new(reason: Reason, placeholder: f64) -> Self {
        Self { reason, placeholder }
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
