//! `precision`, `recall`, `f1` and `mcc`.

use super::arguments::Arguments;
use super::registry::Definition;
use super::{Context, Measure, Metric, Tally, View};
use crate::data::column::Column;
use crate::metric::evidence::by_sample;
use crate::{About, Answer, Caveat, Error, Evidence, Family, Figure, Points, RatioLimits, Unit, Value};
use calipers_stats::adjusted_ratio::adjusted_ratio;
use calipers_stats::confusion::{Confusion, Share};
use calipers_stats::threshold_test::Direction;
use calipers_stats::{Confidence, Interval, Method, Undefined};
use hashbrown::HashMap;

const PRECISION: About = About {
    name: "precision",
    summary: "of the positive predictions, the share that were correct",
    usage: "precision(positive=True)",
    tells: "How much you can trust a \"yes\", from the fields `predicted` and `actual`.",
    misleads: "On its own: a filter that says yes only once and is right has a precision of 100 %.",
    formula: "true_positives / (true_positives + false_positives), undefined if nothing is predicted as positive.",
    interval: "Blaker over the positive predictions; with several attempts per sample, t over samples with weight at \
               both ends.",
    example: "calipers score results.jsonl -m precision -m 'precision(positive=\"spam\")'",
    unit: Unit::Rate,
    range: "0–100 %",
    direction: Some(Direction::AtLeast),
    typical_threshold: Some("≥ 90%"),
    use_case: "Classification, filtering",
    family: Family::Classification,
    parameters: &[("positive", "the value that counts as positive")],
    positional: &["positive"],
    inspect: None,
    role: None,
};

const RECALL: About = About {
    name: "recall",
    summary: "of the actual positives, the share that were found",
    usage: "recall(positive=True)",
    tells: "How much of what it should find a search finds, from the fields `predicted` and `actual`.",
    misleads: "On its own: saying yes to everything has a recall of 100 %.",
    formula: "true_positives / (true_positives + false_negatives), undefined if there are no actual positives.",
    interval: "Blaker over the actual positives; with several attempts per sample, t over samples with weight at \
               both ends.",
    example: "calipers score results.jsonl -m recall",
    unit: Unit::Rate,
    range: "0–100 %",
    direction: Some(Direction::AtLeast),
    typical_threshold: Some("≥ 85%"),
    use_case: "Search, detection",
    family: Family::Classification,
    parameters: &[("positive", "the value that counts as positive")],
    positional: &["positive"],
    inspect: None,
    role: None,
};

const F1: About = About {
    name: "f1",
    summary: "the harmonic mean of precision and recall",
    usage: "f1(positive=True)",
    tells: "Precision and recall in one figure, from the fields `predicted` and `actual`.",
    misleads: "When it is averaged over batches, and when true negatives matter: see `mcc`.",
    formula: "2tp / (2tp + fp + fn).",
    interval: "Blaker for the share J = tp / (tp + fp + fn), carried over by F1 = 2J / (1 + J); it keeps its width \
               at 0 and 1.",
    example: "calipers score results.jsonl -m f1",
    unit: Unit::Rate,
    range: "0–100 %",
    direction: Some(Direction::AtLeast),
    typical_threshold: None,
    use_case: "Classification with rare positives",
    family: Family::Classification,
    parameters: &[("positive", "the value that counts as positive")],
    positional: &["positive"],
    inspect: None,
    role: None,
};

const MCC: About = About {
    name: "mcc",
    summary: "the correlation of prediction and truth (Matthews 1975)",
    usage: "mcc(positive=True)",
    tells: "How good positive and negative predictions are, however frequent each class is, from the fields \
            `predicted` and `actual`.",
    misleads: "With few samples of one class.",
    formula: "(tp·tn − fp·fn) / √((tp+fp)(tp+fn)(tn+fp)(tn+fn)), undefined when a margin is empty.",
    interval: "None.",
    example: "calipers score results.jsonl -m mcc",
    unit: Unit::Plain,
    range: "−1 to 1",
    direction: Some(Direction::AtLeast),
    typical_threshold: None,
    use_case: "Classification with classes of unequal size",
    family: Family::Classification,
    parameters: &[("positive", "the value that counts as positive")],
    positional: &["positive"],
    inspect: None,
    role: None,
};

/// The metrics of this file.
pub(super) static METRICS: &[Definition] = &[
    Definition { about: PRECISION, make: |a| Ok(precision(positive(a))) },
    Definition { about: RECALL, make: |a| Ok(recall(positive(a))) },
    Definition { about: F1, make: |a| Ok(f1(positive(a))) },
    Definition { about: MCC, make: |a| Ok(mcc(positive(a))) },
];

fn positive(arguments: &Arguments<'_>) -> Value {
    arguments.get("positive").cloned().unwrap_or(Value::Bool(true))
}

/// Of the positive predictions, how many were correct: from the fields `predicted` and `actual`.
///
/// `calipers metrics precision` says what it tells you, when it misleads, its formula and its interval.
///
/// ```
/// use calipers_core::{precision, recall, Plan, Samples};
///
/// let mut samples = Samples::new();
/// for (id, predicted, actual) in [(1, true, true), (2, true, false), (3, false, true), (4, true, true)] {
///     samples.push(id).field("predicted", predicted).field("actual", actual);
/// }
/// let results = Plan::new().metrics([precision(true), recall(true)]).measure(&samples)?;
/// assert_eq!(results.figure("run", "precision").expect("asked for").value, Ok(2.0 / 3.0));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn precision(positive: impl Into<Value>) -> Metric {
    let bounds: Bounds = |c, confidence| Some(c.share(Share::Precision).ok()?.blaker(confidence));
    share_of_counts(
        "precision",
        positive,
        Confusion::precision,
        bounds,
        Some(|actual, predicted| (count(actual && predicted), count(predicted))),
        1.0,
    )
}

/// Of the actual positives, how many were found: from the fields `predicted` and `actual`.
///
/// `calipers metrics recall` says what it tells you, when it misleads, its formula and its interval.
///
/// ```
/// use calipers_core::{recall, Plan, Samples};
///
/// let mut samples = Samples::new();
/// for (id, predicted, actual) in [(1, true, true), (2, true, false), (3, false, true), (4, true, true)] {
///     samples.push(id).field("predicted", predicted).field("actual", actual);
/// }
/// let results = Plan::new().metrics([recall(true)]).measure(&samples)?;
/// assert_eq!(results.figure("run", "recall").expect("asked for").value, Ok(2.0 / 3.0));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn recall(positive: impl Into<Value>) -> Metric {
    let bounds: Bounds = |c, confidence| Some(c.share(Share::Recall).ok()?.blaker(confidence));
    share_of_counts(
        "recall",
        positive,
        Confusion::recall,
        bounds,
        Some(|actual, predicted| (count(actual && predicted), count(actual))),
        1.0,
    )
}

/// The harmonic mean of precision and recall: from the fields `predicted` and `actual`.
///
/// `calipers metrics f1` says what it tells you, when it misleads, its formula and its interval.
///
/// ```
/// use calipers_core::{f1, Plan, Samples};
///
/// let mut samples = Samples::new();
/// for (id, predicted, actual) in [(1, true, true), (2, true, false), (3, false, true), (4, true, true)] {
///     samples.push(id).field("predicted", predicted).field("actual", actual);
/// }
/// let results = Plan::new().metrics([f1(true)]).measure(&samples)?;
/// assert_eq!(results.figure("run", "f1").expect("asked for").value, Ok(2.0 / 3.0));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn f1(positive: impl Into<Value>) -> Metric {
    let pair: CountPair = |actual, predicted| {
        let twice = 2.0 * count(actual && predicted);
        (twice, twice + count(actual != predicted))
    };
    share_of_counts("f1", positive, Confusion::f1, |c, confidence| c.f1_blaker(confidence).ok(), Some(pair), 2.0)
}

/// The correlation of prediction and truth (Matthews 1975): from the fields `predicted` and `actual`.
///
/// `calipers metrics mcc` says what it tells you, when it misleads, its formula and its interval.
///
/// ```
/// use calipers_core::{mcc, Plan, Samples};
///
/// let mut samples = Samples::new();
/// for (id, predicted, actual) in [(1, true, true), (2, true, false), (3, false, false), (4, false, false)] {
///     samples.push(id).field("predicted", predicted).field("actual", actual);
/// }
/// let results = Plan::new().metrics([mcc(true)]).measure(&samples)?;
/// let mcc = results.figure("run", "mcc").expect("asked for").value.clone().expect("defined");
/// assert!((mcc - 1.0 / 3f64.sqrt()).abs() < 1e-12);
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn mcc(positive: impl Into<Value>) -> Metric {
    share_of_counts("mcc", positive, Confusion::mcc, |_, _| None, None, 1.0)
}

type Statistic = fn(&Confusion) -> Result<f64, Undefined>;
type Bounds = fn(&Confusion, Confidence) -> Option<Interval>;

/// What a row adds to the numerator and to the denominator, from what is actually so and what was predicted.
type CountPair = fn(bool, bool) -> (f64, f64);

fn count(is: bool) -> f64 {
    f64::from(u8::from(is))
}

fn share_of_counts(
    name: &'static str,
    positive: impl Into<Value>,
    statistic: Statistic,
    bounds: Bounds,
    pair: Option<CountPair>,
    success: f64,
) -> Metric {
    let positive = positive.into();
    let measure = Counted { name, positive: positive.clone(), statistic, bounds, pair, success };
    let metric = Metric::recorded(name, measure).param("positive", positive);
    metric.view(View::Attempts).reading(["predicted", "actual"])
}

struct Counted {
    name: &'static str,
    positive: Value,
    statistic: Statistic,
    bounds: Bounds,
    /// What a row adds to both sums, if it is a ratio of counts.
    pair: Option<CountPair>,
    /// What a true positive adds to both.
    success: f64,
}

impl Counted {
    /// Whether each row is actually positive, and whether it was predicted so, where both are given.
    fn rows(&self, points: &Points<'_>) -> Vec<Option<(bool, bool)>> {
        let predicted = self.are_positive(&points.field_values("predicted"));
        let actual = self.are_positive(&points.field_values("actual"));
        actual.into_iter().zip(predicted).map(|(actual, predicted)| Some((actual?, predicted?))).collect()
    }

    /// Whether each value is the positive one; none where there is no value.
    fn are_positive(&self, column: &Column) -> Vec<Option<bool>> {
        let is_positive = |value: &Value| match value {
            Value::Missing | Value::Null => None,
            value => Some(value.equals(&self.positive)),
        };
        match column {
            Column::Floats(floats) => floats.iter().map(|&x| is_positive(&Value::from(x))).collect(),
            // Each label is compared once.
            Column::Coded(coded) => {
                let known: Vec<Option<bool>> = coded.dictionary().iter().map(is_positive).collect();
                coded.codes.iter().map(|&code| known.get(code as usize).copied().flatten()).collect()
            }
        }
    }
}

#[derive(Default)]
struct ConfusionState {
    counts: Confusion,
    rows: u64,
    missing: u64,
    samples: u64,
    /// How many samples with several attempts, or with one, add so much to both sums.
    pairs: HashMap<(u64, u64), u64>,
}

impl Measure for Counted {
    type State = ConfusionState;

    fn start(&self) -> ConfusionState {
        ConfusionState::default()
    }

    fn fold(&self, state: &mut ConfusionState, points: &Points<'_>, _: &Context) -> Result<(), Error> {
        let rows = self.rows(points);
        if let Some(pair) = self.pair {
            for (_, attempts) in by_sample(points.sample_codes(), &rows) {
                let pairs = attempts.iter().flatten().map(|&(actual, predicted)| pair(actual, predicted));
                let sums = pairs.fold((0, 0), |sums, (y, x)| (sums.0 + y as u64, sums.1 + x as u64));
                *state.pairs.entry(sums).or_default() += 1;
            }
        }
        for row in rows {
            match row {
                Some((actual, predicted)) => {
                    state.rows += 1;
                    state.counts.add(actual, predicted);
                }
                None => state.missing += 1,
            }
        }
        state.samples += points.distinct_samples();
        Ok(())
    }

    fn merge(&self, state: &mut ConfusionState, other: ConfusionState) {
        state.counts.merge(&other.counts);
        state.rows += other.rows;
        state.missing += other.missing;
        state.samples += other.samples;
        for (sums, samples) in other.pairs {
            *state.pairs.entry(sums).or_default() += samples;
        }
    }

    fn finish(&self, state: ConfusionState, _: Tally, context: &Context) -> Result<Answer, Error> {
        let tally = Tally { n: state.rows, missing: state.missing };
        let mut figure = Figure::statistic((self.statistic)(&state.counts), 0.0, tally, self.name);
        let is_repeated = state.rows + state.missing > state.samples;
        if figure.value.is_ok() {
            figure.interval = match self.pair {
                // Attempts of a sample go together, so samples are the units.
                Some(_) if is_repeated => {
                    let units = state
                        .pairs
                        .iter()
                        .flat_map(|(&(y, x), &samples)| std::iter::repeat_n((y as f64, x as f64), samples as usize));
                    let units: Vec<(f64, f64)> = units.collect();
                    adjusted_ratio(&units, (0.0, 1.0), Method::AdjustedT, context.confidence).ok()
                }
                _ => (self.bounds)(&state.counts, context.confidence),
            };
        }
        if is_repeated && self.pair.is_none() {
            let attempts = state.rows + state.missing;
            figure.caveats.push(Caveat::PooledAttempts { attempts, samples: state.samples });
        }
        figure.details = vec![
            ("true_positives", state.counts.true_positives as f64),
            ("false_positives", state.counts.false_positives as f64),
            ("false_negatives", state.counts.false_negatives as f64),
            ("true_negatives", state.counts.true_negatives as f64),
        ];
        Ok(figure.into())
    }

    fn evidence(&self, points: &Points<'_>, _: &Context) -> Result<Option<Evidence>, Error> {
        let Some(pair) = self.pair else { return Ok(None) };
        let pair = |(actual, predicted): (bool, bool)| pair(actual, predicted);
        let pairs: Vec<_> = self.rows(points).into_iter().map(|row| row.map(pair)).collect();
        Ok(Some(Evidence::ratio(points.sample_codes(), &pairs, RatioLimits::Counts { success: self.success })))
    }
}
