//! Predictions against truths: precision, recall, F1 and their kin, for two classes and for many.
//!
//! Counts are pooled, never ratios: the mean of F1 over batches is not the F1 of all (0.53 against 0.81 in
//! an example of ours). So the states here hold counts and merge by adding them.

use crate::proportion::Proportion;
use crate::sum::sum_of;
use crate::{Confidence, Interval, Method, Quantity, Undefined, special};
use std::collections::{BTreeMap, BTreeSet};

/// What to say where a metric divides by zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ZeroDivision {
    /// That there is no answer.
    #[default]
    Undefined,
    /// 0, like scikit-learn with `zero_division=0`.
    Zero,
    /// 1, like scikit-learn with `zero_division=1`.
    One,
}

impl ZeroDivision {
    /// The answer, or what stands for it where it divides by zero. Other reasons stay what they are.
    ///
    /// ```
    /// use calipers_stats::confusion::{Confusion, ZeroDivision};
    ///
    /// let never_positive = Confusion::new(0, 0, 7, 13).precision();
    /// assert!(ZeroDivision::Undefined.answer(never_positive).is_err());
    /// assert_eq!(ZeroDivision::Zero.answer(never_positive), Ok(0.0));
    /// ```
    pub fn answer(self, metric: Result<f64, Undefined>) -> Result<f64, Undefined> {
        match (self, metric) {
            (Self::Zero, Err(Undefined::ZeroDenominator { .. } | Undefined::NoSpread { .. })) => Ok(0.0),
            (Self::One, Err(Undefined::ZeroDenominator { .. } | Undefined::NoSpread { .. })) => Ok(1.0),
            _ => metric,
        }
    }
}

/// A metric that is a share of a count, and so has the intervals of a proportion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Share {
    /// Right predictions among all.
    Accuracy,
    /// True positives among predicted positives.
    Precision,
    /// True positives among actual positives: sensitivity.
    Recall,
    /// True negatives among actual negatives.
    Specificity,
    /// True negatives among predicted negatives.
    NegativePredictiveValue,
    /// True positives among all that are positive by truth or by prediction.
    Jaccard,
}

/// The counts of a classifier with two answers.
///
/// ```
/// use calipers_stats::Quantity;
/// use calipers_stats::confusion::{Confusion, Share};
/// use calipers_stats::{Confidence, Undefined};
///
/// let counts = Confusion::new(40, 5, 10, 45);
/// assert_eq!(counts.recall()?, 0.8);
/// let recall = counts.share(Share::Recall)?.wilson(Confidence::two_sided(0.95)?);
/// assert!((recall.lower.unwrap() - 0.6696).abs() < 1e-4);
/// assert_eq!(
///     Confusion::new(0, 0, 7, 13).precision(),
///     Err(Undefined::ZeroDenominator { what: Quantity::PredictedPositives })
/// );
/// # Ok::<(), Undefined>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Confusion {
    /// Positive and predicted so.
    pub true_positives: u64,
    /// Negative, predicted positive.
    pub false_positives: u64,
    /// Positive, predicted negative.
    pub false_negatives: u64,
    /// Negative and predicted so.
    pub true_negatives: u64,
}

impl Confusion {
    /// From counts, in the usual order.
    #[must_use]
    pub fn new(true_positives: u64, false_positives: u64, false_negatives: u64, true_negatives: u64) -> Self {
        Self { true_positives, false_positives, false_negatives, true_negatives }
    }

    /// Folds in one prediction.
    pub fn add(&mut self, truth: bool, prediction: bool) {
        let cell = match (truth, prediction) {
            (true, true) => &mut self.true_positives,
            (false, true) => &mut self.false_positives,
            (true, false) => &mut self.false_negatives,
            (false, false) => &mut self.true_negatives,
        };
        *cell = cell.saturating_add(1);
    }

    /// Folds in the counts of another.
    pub fn merge(&mut self, other: &Self) {
        self.true_positives = self.true_positives.saturating_add(other.true_positives);
        self.false_positives = self.false_positives.saturating_add(other.false_positives);
        self.false_negatives = self.false_negatives.saturating_add(other.false_negatives);
        self.true_negatives = self.true_negatives.saturating_add(other.true_negatives);
    }

    /// A share on its own denominator, from which every interval of a proportion can be had. The
    /// denominator is random, and given it the share is a plain proportion.
    ///
    /// Undefined when the denominator is zero.
    pub fn share(&self, share: Share) -> Result<Proportion, Undefined> {
        let (tp, fp, fnn, tn) = (self.true_positives, self.false_positives, self.false_negatives, self.true_negatives);
        let wrong = fp.saturating_add(fnn);
        let (part, rest, what) = match share {
            Share::Accuracy => (tp.saturating_add(tn), wrong, Quantity::Predictions),
            Share::Precision => (tp, fp, Quantity::PredictedPositives),
            Share::Recall => (tp, fnn, Quantity::ActualPositives),
            Share::Specificity => (tn, fp, Quantity::ActualNegatives),
            Share::NegativePredictiveValue => (tn, fnn, Quantity::PredictedNegatives),
            Share::Jaccard => (tp, wrong, Quantity::ActualOrPredictedPositives),
        };
        match part.saturating_add(rest) {
            0 => Err(Undefined::ZeroDenominator { what }),
            trials => Proportion::new(part, trials),
        }
    }

    fn share_estimate(&self, share: Share) -> Result<f64, Undefined> {
        self.share(share).map(Proportion::estimate)
    }

    /// The share of right predictions. Undefined without predictions.
    pub fn accuracy(&self) -> Result<f64, Undefined> {
        self.share_estimate(Share::Accuracy)
    }

    /// The share of predicted positives that are. Undefined when none was predicted.
    pub fn precision(&self) -> Result<f64, Undefined> {
        self.share_estimate(Share::Precision)
    }

    /// The share of positives that were found. Undefined when there are none.
    pub fn recall(&self) -> Result<f64, Undefined> {
        self.share_estimate(Share::Recall)
    }

    /// The share of negatives that were left alone. Undefined when there are none.
    pub fn specificity(&self) -> Result<f64, Undefined> {
        self.share_estimate(Share::Specificity)
    }

    /// The share of predicted negatives that are. Undefined when none was predicted.
    pub fn negative_predictive_value(&self) -> Result<f64, Undefined> {
        self.share_estimate(Share::NegativePredictiveValue)
    }

    /// F1 = 2tp/(2tp + fp + fn), the harmonic mean of precision and recall. Undefined when nothing is
    /// positive, neither by truth nor by prediction.
    pub fn f1(&self) -> Result<f64, Undefined> {
        self.share_estimate(Share::Jaccard).map(f1_of_jaccard)
    }

    /// The mean of recall and specificity. Undefined when either is.
    pub fn balanced_accuracy(&self) -> Result<f64, Undefined> {
        self.balanced_accuracy_with(ZeroDivision::Undefined)
    }

    /// The same, with what stands for a recall or a specificity that divides by zero.
    pub fn balanced_accuracy_with(&self, zero_division: ZeroDivision) -> Result<f64, Undefined> {
        Ok((zero_division.answer(self.recall())? + zero_division.answer(self.specificity())?) / 2.0)
    }

    /// The correlation of truth and prediction (Matthews 1975). Undefined when either does not vary, where
    /// scikit-learn says 0.
    pub fn mcc(&self) -> Result<f64, Undefined> {
        let [tp, fp, fnn, tn] = self.as_numbers();
        let spread = ((tp + fp) * (tp + fnn)).sqrt() * ((tn + fp) * (tn + fnn)).sqrt();
        if spread == 0.0 {
            return Err(Undefined::NoSpread { what: Quantity::TruthsOrPredictions });
        }
        Ok((self.determinant() / spread).clamp(-1.0, 1.0))
    }

    /// Cohen's kappa of truth and prediction. Undefined when all are of one class by both.
    pub fn kappa(&self) -> Result<f64, Undefined> {
        let [tp, fp, fnn, tn] = self.as_numbers();
        let scale = (tp + fp) * (fp + tn) + (tp + fnn) * (fnn + tn);
        if scale == 0.0 {
            return Err(Undefined::NoSpread { what: Quantity::TruthsAndPredictions });
        }
        Ok(2.0 * self.determinant() / scale)
    }

    /// tp·tn − fp·fn, rounded once.
    fn determinant(&self) -> f64 {
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
        difference(
            product(self.true_positives, self.true_negatives),
            product(self.false_positives, self.false_negatives),
        )
    }

    fn as_numbers(&self) -> [f64; 4] {
        [self.true_positives, self.false_positives, self.false_negatives, self.true_negatives].map(|x| x as f64)
    }

    /// The standard error of F1 by the delta method.
    ///
    /// Over multinomial counts it comes to 2√(J(1−J)/m)/(1+J)², where J = tp/m is the share of true
    /// positives among the m = tp + fp + fn that are positive at all. Undefined where F1 is. It is zero at
    /// F1 = 0 and 1, which is no certainty: use [`f1_wilson`](Self::f1_wilson).
    pub fn f1_stderr(&self) -> Result<f64, Undefined> {
        let share = self.share(Share::Jaccard)?;
        let jaccard = share.estimate();
        let spread = (jaccard * (1.0 - jaccard) / share.trials() as f64).sqrt();
        Ok(2.0 * spread / ((1.0 + jaccard) * (1.0 + jaccard)))
    }

    /// The normal interval of F1 with its delta error. Undefined at F1 = 0 and 1, where it has no width.
    pub fn f1_delta(&self, confidence: Confidence) -> Result<Interval, Undefined> {
        let stderr = self.f1_stderr()?;
        if stderr == 0.0 {
            return Err(Undefined::NoSpread { what: Quantity::PositiveOutcomes });
        }
        Ok(normal_interval(self.f1()?, stderr, confidence))
    }

    /// Wilson's interval of F1, which has a width at 0 and 1 too.
    ///
    /// F1 = 2J/(1+J) rises with J, and J is a proportion on its own denominator: the bounds of J give the
    /// bounds of F1.
    ///
    /// ```
    /// use calipers_stats::{Confidence, confusion::Confusion};
    ///
    /// let perfect = Confusion::new(12, 0, 0, 8).f1_wilson(Confidence::two_sided(0.95)?)?;
    /// assert_eq!(perfect.upper, Some(1.0));
    /// assert!((perfect.lower.unwrap() - 0.8620).abs() < 1e-4);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    pub fn f1_wilson(&self, confidence: Confidence) -> Result<Interval, Undefined> {
        Ok(f1_interval(self.share(Share::Jaccard)?.wilson(confidence)))
    }

    /// Blaker's exact interval of F1, by the same road: to report.
    pub fn f1_blaker(&self, confidence: Confidence) -> Result<Interval, Undefined> {
        Ok(f1_interval(self.share(Share::Jaccard)?.blaker(confidence)))
    }

    /// Clopper and Pearson's exact interval of F1, by the same road: for gates.
    pub fn f1_clopper_pearson(&self, confidence: Confidence) -> Result<Interval, Undefined> {
        Ok(f1_interval(self.share(Share::Jaccard)?.clopper_pearson(confidence)))
    }
}

fn f1_of_jaccard(jaccard: f64) -> f64 {
    2.0 * jaccard / (1.0 + jaccard)
}

fn f1_interval(jaccard: Interval) -> Interval {
    Interval { lower: jaccard.lower.map(f1_of_jaccard), upper: jaccard.upper.map(f1_of_jaccard), ..jaccard }
}

/// `estimate ± z · stderr`.
pub(crate) fn normal_interval(estimate: f64, stderr: f64, confidence: Confidence) -> Interval {
    let reach = -special::normal_quantile(confidence.tail()) * stderr;
    confidence.interval(Method::Normal, || estimate - reach, || estimate + reach)
}

/// The difference of two whole numbers, rounded once.
fn difference(a: u128, b: u128) -> f64 {
    if a >= b { (a - b) as f64 } else { -((b - a) as f64) }
}

/// How often each pair of categories occurs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PairCounts {
    cells: BTreeMap<(u32, u32), u64>,
    total: u64,
}

impl PairCounts {
    pub(crate) fn add(&mut self, pair: (u32, u32), times: u64) {
        // The total stays a u64, and so no sum of cells and no product of two sums below can overflow.
        let times = times.min(u64::MAX - self.total);
        if times > 0 {
            *self.cells.entry(pair).or_default() += times;
            self.total += times;
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        other.iter().for_each(|(pair, times)| self.add(pair, times));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = ((u32, u32), u64)> {
        self.cells.iter().map(|(&pair, &times)| (pair, times))
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn on_diagonal(&self, category: u32) -> u64 {
        self.cells.get(&(category, category)).copied().unwrap_or(0)
    }

    pub(crate) fn agreeing(&self) -> u64 {
        self.iter().filter(|((a, b), _)| a == b).map(|(_, times)| times).sum()
    }

    /// The totals of the first and of the second of a pair, by category.
    pub(crate) fn margins(&self) -> (BTreeMap<u32, u64>, BTreeMap<u32, u64>) {
        let (mut first, mut second) = (BTreeMap::<u32, u64>::new(), BTreeMap::<u32, u64>::new());
        for ((a, b), times) in self.iter() {
            *first.entry(a).or_default() += times;
            *second.entry(b).or_default() += times;
        }
        (first, second)
    }

    pub(crate) fn categories(&self) -> BTreeSet<u32> {
        self.cells.keys().flat_map(|&(a, b)| [a, b]).collect()
    }

    /// (p_o − p_e)/(1 − p_e), from whole numbers (Cohen 1960).
    pub(crate) fn kappa(&self, what: Quantity) -> Result<f64, Undefined> {
        let n = u128::from(self.total());
        if n == 0 {
            return Err(Undefined::Empty);
        }
        let by_chance = self.by_chance();
        if by_chance >= n * n {
            return Err(Undefined::NoSpread { what });
        }
        Ok(difference(n * u128::from(self.agreeing()), by_chance) / (n * n - by_chance) as f64)
    }

    /// n² p_e.
    pub(crate) fn by_chance(&self) -> u128 {
        let (first, second) = self.margins();
        first.iter().filter_map(|(c, &a)| Some(u128::from(a) * u128::from(*second.get(c)?))).sum()
    }
}

/// The counts of a classifier with many answers: truth, prediction, and how often they met.
///
/// Classes are codes; those that occur neither as truth nor as prediction do not exist here.
///
/// ```
/// use calipers_stats::confusion::{ClassAveraging, ClassMetric, Multiclass, ZeroDivision};
///
/// let mut counts = Multiclass::default();
/// for (truth, prediction) in [(0, 0), (0, 0), (0, 1), (1, 1), (1, 2)] {
///     counts.add(truth, prediction);
/// }
/// let recall = counts.average(ClassMetric::Recall, ClassAveraging::Macro, ZeroDivision::Undefined)?;
/// assert!((recall.value - (2.0 / 3.0 + 0.5) / 2.0).abs() < 1e-15);
/// assert_eq!(recall.excluded, [2]); // predicted, but never true: it has no recall
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Multiclass {
    counts: PairCounts,
}

/// A metric of one class against all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClassMetric {
    /// See [`Confusion::precision`].
    Precision,
    /// See [`Confusion::recall`].
    Recall,
    /// See [`Confusion::f1`].
    F1,
}

impl ClassMetric {
    fn of(self, counts: &Confusion) -> Result<f64, Undefined> {
        match self {
            Self::Precision => counts.precision(),
            Self::Recall => counts.recall(),
            Self::F1 => counts.f1(),
        }
    }
}

/// How classes are averaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClassAveraging {
    /// Over all predictions. With one answer each, micro precision, recall and F1 are all the accuracy.
    Micro,
    /// Every class alike.
    Macro,
    /// Every class by how often it is true.
    Weighted,
}

/// An average over classes.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassAverage {
    /// The average.
    pub value: f64,
    /// The number of classes it rests on.
    pub classes: u64,
    /// The classes without a value, which were left out.
    pub excluded: Vec<u32>,
}

impl Multiclass {
    /// Folds in one prediction.
    pub fn add(&mut self, truth: u32, prediction: u32) {
        self.add_repeated(truth, prediction, 1);
    }

    /// Folds in the same prediction `times` over.
    pub fn add_repeated(&mut self, truth: u32, prediction: u32, times: u64) {
        self.counts.add((truth, prediction), times);
    }

    /// Folds in the counts of another.
    pub fn merge(&mut self, other: &Self) {
        self.counts.merge(&other.counts);
    }

    /// The number of predictions.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.total()
    }

    /// The counts of every class against all others, by code.
    #[must_use]
    pub fn classes(&self) -> Vec<(u32, Confusion)> {
        let (truths, predictions) = self.counts.margins();
        let total = self.total();
        let against_rest = |class: u32| {
            let tp = self.counts.on_diagonal(class);
            let fp = predictions.get(&class).map_or(0, |all| all - tp);
            let fnn = truths.get(&class).map_or(0, |all| all - tp);
            (class, Confusion::new(tp, fp, fnn, total - tp - fp - fnn))
        };
        self.counts.categories().into_iter().map(against_rest).collect()
    }

    /// The share of right predictions. Undefined without predictions.
    pub fn accuracy(&self) -> Result<f64, Undefined> {
        Proportion::new(self.counts.agreeing(), self.total()).map(Proportion::estimate)
    }

    /// A metric averaged over classes.
    ///
    /// A class for which the metric divides by zero (predicted but never true: no recall) is left out and
    /// named, unless `zero_division` gives it a value, as scikit-learn does. Undefined when no class is left.
    pub fn average(
        &self,
        metric: ClassMetric,
        average: ClassAveraging,
        zero_division: ZeroDivision,
    ) -> Result<ClassAverage, Undefined> {
        let classes = self.classes();
        if average == ClassAveraging::Micro {
            return Ok(ClassAverage { value: self.accuracy()?, classes: classes.len() as u64, excluded: Vec::new() });
        }
        let mut answer = ClassAverage { value: 0.0, classes: 0, excluded: Vec::new() };
        let mut terms = Vec::new();
        for (class, counts) in &classes {
            let support = (counts.true_positives + counts.false_negatives) as f64;
            match zero_division.answer(metric.of(counts)) {
                Ok(value) => terms.push((if average == ClassAveraging::Macro { 1.0 } else { support }, value)),
                Err(_) => answer.excluded.push(*class),
            }
        }
        let weight = sum_of(terms.iter().map(|term| term.0));
        if weight == 0.0 {
            let what = Quantity::DefinedClasses;
            return Err(if classes.is_empty() { Undefined::Empty } else { Undefined::ZeroDenominator { what } });
        }
        answer.classes = terms.len() as u64;
        answer.value = sum_of(terms.iter().map(|(weight, value)| weight * value)) / weight;
        Ok(answer)
    }

    /// Cohen's kappa of truth and prediction. Undefined when all are of one class by both.
    pub fn kappa(&self) -> Result<f64, Undefined> {
        self.counts.kappa(Quantity::TruthsAndPredictions)
    }

    /// The correlation of truth and prediction over many classes (Gorodkin 2004). Undefined when either
    /// does not vary.
    pub fn mcc(&self) -> Result<f64, Undefined> {
        let n = u128::from(self.total());
        if n == 0 {
            return Err(Undefined::Empty);
        }
        let (truths, predictions) = self.counts.margins();
        let square =
            |margin: &BTreeMap<u32, u64>| margin.values().map(|&x| u128::from(x) * u128::from(x)).sum::<u128>();
        let spread = |margin| ((n * n - square(margin)) as f64).sqrt();
        let scale = spread(&truths) * spread(&predictions);
        if scale == 0.0 {
            return Err(Undefined::NoSpread { what: Quantity::TruthsOrPredictions });
        }
        let covariance = difference(n * u128::from(self.counts.agreeing()), self.counts.by_chance());
        Ok((covariance / scale).clamp(-1.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn two_sided() -> Confidence {
        Confidence::two_sided(0.95).unwrap()
    }

    #[test]
    fn nothing_at_all_has_no_metric() {
        let empty = Confusion::default();
        for metric in [
            empty.accuracy(),
            empty.precision(),
            empty.recall(),
            empty.specificity(),
            empty.negative_predictive_value(),
            empty.f1(),
            empty.balanced_accuracy(),
            empty.mcc(),
            empty.kappa(),
            empty.f1_stderr(),
            Multiclass::default().accuracy(),
            Multiclass::default().kappa(),
            Multiclass::default().mcc(),
        ] {
            assert!(metric.is_err());
        }
        assert!(Multiclass::default().average(ClassMetric::F1, ClassAveraging::Macro, ZeroDivision::Zero).is_err());
        assert!(Multiclass::default().average(ClassMetric::F1, ClassAveraging::Micro, ZeroDivision::Zero).is_err());
    }

    #[test]
    fn a_perfect_f1_is_no_certainty() {
        let perfect = Confusion::new(5, 0, 0, 5);
        assert_eq!(perfect.f1_stderr(), Ok(0.0));
        assert!(matches!(perfect.f1_delta(two_sided()), Err(Undefined::NoSpread { .. })));
        let exact = perfect.f1_clopper_pearson(Confidence::lower(0.95).unwrap()).unwrap();
        // J ≥ 0.05^(1/5), and F1 = 2J/(1+J).
        let jaccard = 0.05f64.powf(0.2);
        assert!((exact.lower.unwrap() - 2.0 * jaccard / (1.0 + jaccard)).abs() < 1e-12);
    }

    #[test]
    fn the_delta_interval_is_symmetric_about_f1() {
        let counts = Confusion::new(40, 5, 10, 45);
        let interval = counts.f1_delta(two_sided()).unwrap();
        assert_eq!(interval.method, Method::Normal);
        assert!((interval.width().unwrap() - 2.0 * 1.959963984540054 * counts.f1_stderr().unwrap()).abs() < 1e-12);
        assert!(interval.contains(counts.f1().unwrap()));
    }

    #[test]
    fn an_absent_class_is_left_out_and_named() {
        let mut counts = Multiclass::default();
        counts.add_repeated(1, 1, 3);
        counts.add_repeated(1, 2, 1);
        counts.add_repeated(3, 1, 2);
        let strict = |metric| counts.average(metric, ClassAveraging::Macro, ZeroDivision::Undefined).unwrap();
        assert_eq!(strict(ClassMetric::Recall).excluded, [2]);
        assert_eq!(strict(ClassMetric::Precision).excluded, [3]);
        assert_eq!((strict(ClassMetric::F1).excluded.len(), strict(ClassMetric::F1).classes), (0, 3));
        let zero = counts.average(ClassMetric::Recall, ClassAveraging::Macro, ZeroDivision::Zero).unwrap();
        assert!((zero.value - 0.25).abs() < 1e-15 && zero.excluded.is_empty());
        let one = counts.average(ClassMetric::Recall, ClassAveraging::Macro, ZeroDivision::One).unwrap();
        assert!((one.value - 1.75 / 3.0).abs() < 1e-15);
    }

    #[test]
    fn huge_counts_do_not_overflow() {
        let huge = Confusion::new(u64::MAX, u64::MAX, u64::MAX, u64::MAX);
        assert_eq!(huge.mcc(), Ok(0.0));
        assert_eq!(huge.kappa(), Ok(0.0));
        assert!(huge.accuracy().is_ok() && huge.f1().is_ok());
        let mut merged = huge;
        merged.merge(&huge);
        let mut many = Multiclass::default();
        for cell in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            many.add_repeated(cell.0, cell.1, u64::MAX);
        }
        let _ = (many.kappa(), many.mcc(), many.accuracy(), many.classes());
        let _ = many.average(ClassMetric::F1, ClassAveraging::Weighted, ZeroDivision::Undefined);
    }

    /// The correlation of two columns of zeros and ones.
    fn slow_correlation(rows: &[(bool, bool)]) -> f64 {
        let n = rows.len() as f64;
        let mean = |f: &dyn Fn(&(bool, bool)) -> f64| rows.iter().map(f).sum::<f64>() / n;
        let (a, b) = (|r: &(bool, bool)| f64::from(r.0), |r: &(bool, bool)| f64::from(r.1));
        let (ma, mb) = (mean(&a), mean(&b));
        let covariance = mean(&|r| (a(r) - ma) * (b(r) - mb));
        covariance / (mean(&|r| (a(r) - ma).powi(2)) * mean(&|r| (b(r) - mb).powi(2))).sqrt()
    }

    proptest! {
        #[test]
        fn two_classes_are_the_same_by_either_road(rows in prop::collection::vec((any::<bool>(), any::<bool>()), 1..60), cut in 0usize..60) {
            let count = |rows: &[(bool, bool)]| {
                let (mut two, mut many) = (Confusion::default(), Multiclass::default());
                for &(truth, prediction) in rows {
                    two.add(truth, prediction);
                    many.add(u32::from(truth), u32::from(prediction));
                }
                (two, many)
            };
            let (two, many) = count(&rows);
            let (left, right) = rows.split_at(cut.min(rows.len()));
            let ((mut other, mut other_many), (rest, rest_many)) = (count(right), count(left));
            other.merge(&rest);
            other_many.merge(&rest_many);
            prop_assert_eq!(two, other);
            prop_assert_eq!(&many, &other_many);
            let near = |a: Result<f64, Undefined>, b: Result<f64, Undefined>| match (a, b) {
                (Ok(a), Ok(b)) => (a - b).abs() < 1e-12,
                (a, b) => a.is_err() == b.is_err(),
            };
            prop_assert!(near(two.accuracy(), many.accuracy()));
            prop_assert!(near(two.kappa(), many.kappa()));
            prop_assert!(near(two.mcc(), many.mcc()));
            if let Ok(mcc) = two.mcc() {
                prop_assert!((mcc - slow_correlation(&rows)).abs() < 1e-10);
            }
            let positive = many.classes().into_iter().find(|class| class.0 == 1);
            prop_assert!(positive.is_none_or(|class| class.1 == two));
        }
    }
}
