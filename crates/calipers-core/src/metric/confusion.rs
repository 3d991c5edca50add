//! `precision`, `recall`, `f1` and `mcc`.

use super::arguments::Arguments;
use super::registry::Definition;
use super::{Context, Measure, Metric, Tally, View};
use crate::data::column::Column;
use crate::metric::evidence::by_sample;
use crate::{
    About, Answer, Error, Evidence, Family, Figure, Points, RatioLimits, StateReader, StateWriter, Unit, Value, damaged,
};
use calipers_stats::adjusted_ratio::adjusted_ratio;
use calipers_stats::confusion::{Confusion, Share};
use calipers_stats::matthews::{MatthewsTable, TableTerm};
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
    interval: "From bounds of both F1 and of precision, recall, specificity and negative predictive value, with the sample as \
               the unit.",
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
    let ratio = CountRatio {
        pair: |actual, predicted| (count(actual && predicted), count(predicted)),
        success: 1.0,
        bounds: |c, confidence| Some(c.share(Share::Precision).ok()?.blaker(confidence)),
    };
    count_cells("precision", positive, Confusion::precision, Evaluation::Ratio(ratio))
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
    let ratio = CountRatio {
        pair: |actual, predicted| (count(actual && predicted), count(actual)),
        success: 1.0,
        bounds: |c, confidence| Some(c.share(Share::Recall).ok()?.blaker(confidence)),
    };
    count_cells("recall", positive, Confusion::recall, Evaluation::Ratio(ratio))
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
    let ratio = CountRatio {
        pair: |actual, predicted| {
            let twice = 2.0 * count(actual && predicted);
            (twice, twice + count(actual != predicted))
        },
        success: 2.0,
        bounds: |c, confidence| c.f1_blaker(confidence).ok(),
    };
    count_cells("f1", positive, Confusion::f1, Evaluation::Ratio(ratio))
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
    count_cells("mcc", positive, Confusion::mcc, Evaluation::Table)
}

type Statistic = fn(&Confusion) -> Result<f64, Undefined>;
type Bounds = fn(&Confusion, Confidence) -> Option<Interval>;

/// What a row adds to the numerator and to the denominator, from what is actually so and what was predicted.
type CountPair = fn(bool, bool) -> (f64, f64);

fn count(is: bool) -> f64 {
    f64::from(u8::from(is))
}

/// A ratio of counts.
#[derive(Clone, Copy)]
struct CountRatio {
    /// What a row adds to both sums.
    pair: CountPair,
    /// What a true positive adds to both.
    success: f64,
    /// Its interval where samples have one attempt.
    bounds: Bounds,
}

/// How samples make up the statistic.
#[derive(Clone, Copy)]
enum Evaluation {
    /// By a ratio of counts.
    Ratio(CountRatio),
    /// By all four cells of the table.
    Table,
}

fn count_cells(name: &'static str, positive: impl Into<Value>, statistic: Statistic, evaluation: Evaluation) -> Metric {
    let positive = positive.into();
    let metric = Metric::recorded(name, Counted { name, positive: positive.clone(), statistic, evaluation });
    metric.param("positive", positive).view(View::Attempts).reading(["predicted", "actual"])
}

struct Counted {
    name: &'static str,
    positive: Value,
    statistic: Statistic,
    evaluation: Evaluation,
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

/// How often each kind of prediction occurs in a sample, by its place in [`CELLS`].
type Cells = [u32; 4];

/// The place of a prediction among the cells.
fn cell(actual: bool, predicted: bool) -> usize {
    usize::from(!actual) + 2 * usize::from(actual == predicted)
}

/// What the cells of a sample are, by their places.
const CELLS: [(bool, bool); 4] = [(true, false), (false, true), (true, true), (false, false)];

#[derive(Default)]
struct ConfusionState {
    counts: Confusion,
    rows: u64,
    missing: u64,
    samples: u64,
    /// The number of attempts of the sample that has most.
    attempts_max: u32,
    /// How many samples add so much to the cells.
    cells: HashMap<Cells, u64>,
}

impl ConfusionState {
    /// What each sample with a truth and a prediction adds, in one order.
    fn units(&self) -> impl Iterator<Item = Cells> {
        let mut cells: Vec<(Cells, u64)> = self.cells.iter().map(|(&cells, &samples)| (cells, samples)).collect();
        cells.sort_unstable();
        cells.into_iter().flat_map(|(cells, samples)| std::iter::repeat_n(cells, samples as usize))
    }
}

/// No machine holds more samples than this one by one.
const SAMPLES_MAX: u64 = 1 << 33;

impl Measure for Counted {
    type State = ConfusionState;

    fn start(&self) -> ConfusionState {
        ConfusionState::default()
    }

    fn fold(&self, state: &mut ConfusionState, points: &Points<'_>, _: &Context) -> Result<(), Error> {
        let rows = self.rows(points);
        for (_, attempts) in by_sample(points.sample_codes(), &rows) {
            state.attempts_max = state.attempts_max.max(attempts.len() as u32);
            let mut cells = Cells::default();
            for &(actual, predicted) in attempts.iter().flatten() {
                cells[cell(actual, predicted)] += 1;
                state.counts.add(actual, predicted);
            }
            let given: u32 = cells.iter().sum();
            if given > 0 {
                *state.cells.entry(cells).or_default() += 1;
            }
            state.rows += u64::from(given);
            state.missing += attempts.len() as u64 - u64::from(given);
        }
        state.samples += points.distinct_samples();
        Ok(())
    }

    fn save(&self, state: &ConfusionState, out: &mut StateWriter) -> Result<(), Error> {
        let counts = &state.counts;
        out.put(&(counts.true_positives, counts.false_positives));
        out.put(&(counts.false_negatives, counts.true_negatives));
        out.put(&(state.rows, state.missing));
        out.put(&state.samples);
        out.put(&state.attempts_max);
        let mut cells: Vec<(Cells, u64)> = state.cells.iter().map(|(&cells, &samples)| (cells, samples)).collect();
        cells.sort_unstable();
        out.length(cells.len());
        for (cells, samples) in cells {
            cells.iter().for_each(|cell| out.put(cell));
            out.put(&samples);
        }
        Ok(())
    }

    fn load(&self, from: &mut StateReader<'_>) -> Result<ConfusionState, Error> {
        let ((true_positives, false_positives), (false_negatives, true_negatives)) = (from.take()?, from.take()?);
        let counts = Confusion { true_positives, false_positives, false_negatives, true_negatives };
        let (rows, missing): (u64, u64) = from.take()?;
        let samples: u64 = from.take()?;
        let attempts_max = from.take()?;
        let mut cells: HashMap<Cells, u64> = HashMap::new();
        let (mut in_cells, mut units) = ([0u64; 4], 0u64);
        for _ in 0..from.length()? {
            let sample: Cells = [from.take()?, from.take()?, from.take()?, from.take()?];
            let count: u64 = from.take()?;
            let attempts = sample.iter().try_fold(0u32, |sum, &cell| sum.checked_add(cell));
            if attempts.is_none_or(|attempts| attempts == 0 || attempts > attempts_max) {
                return Err(damaged("a sample has more attempts than any"));
            }
            units = units.saturating_add(count);
            for (sum, &cell) in in_cells.iter_mut().zip(&sample) {
                *sum = sum.saturating_add(count.saturating_mul(u64::from(cell)));
            }
            if cells.insert(sample, count).is_some() {
                return Err(damaged("a sample's cells are there twice"));
            }
        }
        let by_cell = [false_negatives, false_positives, true_positives, true_negatives];
        let in_rows = by_cell.iter().try_fold(0u64, |sum, &count| sum.checked_add(count));
        // An interval goes through the samples one by one.
        let is_whole = in_rows == Some(rows) && in_cells == by_cell && units <= samples && samples <= SAMPLES_MAX;
        if !is_whole || rows.checked_add(missing).is_none_or(|attempts| samples > attempts) {
            return Err(damaged("counts contradict one another"));
        }
        Ok(ConfusionState { counts, rows, missing, samples, attempts_max, cells })
    }

    fn merge(&self, state: &mut ConfusionState, other: ConfusionState) {
        state.counts.merge(&other.counts);
        state.rows += other.rows;
        state.missing += other.missing;
        state.samples += other.samples;
        state.attempts_max = state.attempts_max.max(other.attempts_max);
        for (cells, samples) in other.cells {
            *state.cells.entry(cells).or_default() += samples;
        }
    }

    fn finish(&self, state: ConfusionState, _: Tally, context: &Context) -> Result<Answer, Error> {
        let tally = Tally { n: state.rows, missing: state.missing };
        let mut figure = Figure::statistic((self.statistic)(&state.counts), 0.0, tally, self.name);
        let is_repeated = state.rows + state.missing > state.samples;
        if let (Ok(_), Evaluation::Ratio(ratio)) = (&figure.value, self.evaluation) {
            // What it is a share of: predictions, or positives; for F1 both, where a true positive is one of each.
            figure.n = state.units().map(|cells| ratio.sums(&cells).1).sum::<f64>() as u64;
        }
        if figure.value.is_ok() {
            // Attempts of a sample go together, so samples are the units.
            figure.interval = match self.evaluation {
                Evaluation::Table => {
                    let terms = state.units().map(|cells| table_term(&cells));
                    let table = MatthewsTable::new(terms, f64::from(state.attempts_max));
                    table.ok().map(|table| table.interval(context.confidence))
                }
                Evaluation::Ratio(ratio) if is_repeated => {
                    let units: Vec<(f64, f64)> = state.units().map(|cells| ratio.sums(&cells)).collect();
                    adjusted_ratio(&units, (0.0, 1.0), Method::AdjustedT, context.confidence).ok()
                }
                Evaluation::Ratio(ratio) => (ratio.bounds)(&state.counts, context.confidence),
            };
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
        let rows = self.rows(points);
        let Evaluation::Ratio(ratio) = self.evaluation else {
            return Ok(Some(Evidence::table(points.sample_codes(), &rows)));
        };
        let pair = |(actual, predicted): (bool, bool)| (ratio.pair)(actual, predicted);
        let pairs: Vec<_> = rows.into_iter().map(|row| row.map(pair)).collect();
        Ok(Some(Evidence::ratio(points.sample_codes(), &pairs, RatioLimits::Counts { success: ratio.success })))
    }
}

impl CountRatio {
    /// What a sample adds to both sums.
    fn sums(self, cells: &Cells) -> (f64, f64) {
        let each = CELLS.iter().zip(cells).map(|(&(actual, predicted), &count)| {
            let (y, x) = (self.pair)(actual, predicted);
            (y * f64::from(count), x * f64::from(count))
        });
        each.fold((0.0, 0.0), |sums, (y, x)| (sums.0 + y, sums.1 + x))
    }
}

fn table_term(cells: &Cells) -> TableTerm {
    let of = |actual, predicted| f64::from(cells[cell(actual, predicted)]);
    TableTerm {
        true_positives: of(true, true),
        false_positives: of(false, true),
        false_negatives: of(true, false),
        true_negatives: of(false, false),
        ..TableTerm::default()
    }
}
