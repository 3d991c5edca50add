//! Bounds and tests for Matthews' correlation of truth and prediction, valid at every number of units.
//!
//! A unit is what is independent: a sample with its attempts, or a cluster of samples. It adds to the four cells of a table.
//! The correlation is no ratio of sums over units, so two facts about tables take its place.
//!
//! **Below.** With m = fp + fn, the correlation is at least F⁺ + F⁻ − 1, where F⁺ = 2tp/(2tp + m) is F1 and F⁻ = 2tn/(2tn + m)
//! is F1 with the classes exchanged. Proof for s = m/2 and tp·tn ≥ fp·fn: fp·fn ≤ s², (tp + fp)(tp + fn) ≤ (tp + s)² and
//! (tn + fp)(tn + fn) ≤ (tn + s)², and (tp·tn − s²)/((tp + s)(tn + s)) is F⁺ + F⁻ − 1. Where both kinds of error are equally
//! frequent, it is the correlation. So a correlation of at most T means F⁺ ≤ f and F⁻ ≤ 1 + T − f for some f, and then the mean of
//! z = (1 − f)(2tp − f(2tp + m)) + (1 − g)(2tn − g(2tn + m)) with g = 1 + T − f is not positive. That is Gaffke's question
//! ([`crate::bounded_ratio`]), and the p-value is the largest over all f. A better prediction, and one more that is right, raise z
//! for every f, so neither makes a verdict worse.
//!
//! **Both sides.** The correlation is √(abcd) − √((1−a)(1−b)(1−c)(1−d)) for precision, recall, specificity and the negative predictive
//! value, and rises with each of them. Their bounds, each with a quarter of the error, bound it. This is wider, but as the number of
//! units grows it closes in on the correlation also where one kind of error is more frequent.
//!
//! The lower bound is the better of both, with nine tenths and one tenth of the error. The upper bound is the second.

use crate::betting::log_wealth;
use crate::bounded_ratio::{BoundedRatio, Term};
use crate::bracket::last_positive;
use crate::exponential_sum::probability_not_positive;
use crate::joined_difference::{BoundedEstimate, find_p};
use crate::{Confidence, Interval, Method, Quantity, Undefined};

/// What a unit adds to the cells of a table of truths and predictions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TableTerm {
    /// Positive and predicted so.
    pub true_positives: f64,
    /// Negative, predicted positive.
    pub false_positives: f64,
    /// Positive, predicted negative.
    pub false_negatives: f64,
    /// Negative and predicted so.
    pub true_negatives: f64,
    /// Wrong, and it is not known in which way: counted as the worse one.
    pub wrong: f64,
    /// Right, and it is not known in which way: counted as the better one.
    pub right: f64,
}

impl TableTerm {
    /// One prediction.
    #[must_use]
    pub fn of(truth: bool, prediction: bool) -> Self {
        let mut term = Self::default();
        *match (truth, prediction) {
            (true, true) => &mut term.true_positives,
            (false, true) => &mut term.false_positives,
            (true, false) => &mut term.false_negatives,
            (false, false) => &mut term.true_negatives,
        } = 1.0;
        term
    }

    /// The number of predictions.
    #[must_use]
    pub fn size(&self) -> f64 {
        self.cells().iter().sum()
    }

    fn cells(self) -> [f64; 6] {
        [self.true_positives, self.false_positives, self.false_negatives, self.true_negatives, self.wrong, self.right]
    }

    /// Adds what another one counts.
    pub fn add(&mut self, other: Self) {
        self.true_positives += other.true_positives;
        self.false_positives += other.false_positives;
        self.false_negatives += other.false_negatives;
        self.true_negatives += other.true_negatives;
        self.wrong += other.wrong;
        self.right += other.right;
    }

    /// Precision, recall, specificity and the negative predictive value, each as a term of a ratio.
    fn shares(self) -> [Term; 4] {
        let Self { true_positives: tp, false_positives: fp, false_negatives: fnn, true_negatives: tn, .. } = self;
        let share = |hits: f64, misses: f64| Term::new(hits + self.right, hits + self.right + misses + self.wrong);
        [share(tp, fp), share(tp, fnn), share(tn, fp), share(tn, fnn)]
    }
}

/// How often the data may be looked at.
#[derive(Clone, Copy, PartialEq)]
enum Looks {
    Once,
    Any,
}

/// The part of the error that the lower bound by F⁺ + F⁻ has; the rest is for the one by four shares.
const PART_OF_F: f64 = 0.9;

/// The golden section.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// Values of f that are tried before the worst of them is refined.
const GRID: u32 = 16;

/// The correlation of a table over independent units.
///
/// ```
/// use calipers_stats::Confidence;
/// use calipers_stats::matthews::{MatthewsTable, TableTerm};
///
/// let counts = [((true, true), 45), ((true, false), 5), ((false, true), 5), ((false, false), 45)];
/// let units = counts.into_iter().flat_map(|((truth, prediction), count)| {
///     std::iter::repeat_n(TableTerm::of(truth, prediction), count)
/// });
/// let table = MatthewsTable::new(units, 1.0)?;
/// assert!((table.estimate()? - 0.8).abs() < 1e-12);
/// let bound = table.interval(Confidence::lower(0.95)?).lower.unwrap();
/// assert!(0.65 < bound && bound < 0.7, "{bound}");
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MatthewsTable {
    /// Distinct units and how many there are of each.
    units: Vec<(TableTerm, f64)>,
    count: u64,
    /// How many predictions an unseen unit may have.
    size_max: f64,
    /// The four shares; none where nothing counts for one.
    shares: [Option<BoundedRatio>; 4],
}

impl MatthewsTable {
    /// The table of these units, of which an unseen one may have `size_max` predictions.
    ///
    /// Undefined without units, and for numbers that are negative or not finite.
    pub fn new(units: impl IntoIterator<Item = TableTerm>, size_max: f64) -> Result<Self, Undefined> {
        let mut all: Vec<TableTerm> = units.into_iter().collect();
        for value in all.iter().flat_map(|term| term.cells()).chain([size_max]) {
            if !value.is_finite() || value < 0.0 {
                return Err(Undefined::NotFinite { value });
            }
        }
        if all.is_empty() {
            return Err(Undefined::Empty);
        }
        // In one order, so that the order of arrival changes no bit.
        let in_order = |a: &TableTerm, b: &TableTerm| {
            let (a, b) = (a.cells(), b.cells());
            a.iter()
                .zip(&b)
                .map(|(x, y)| x.total_cmp(y))
                .find(|order| order.is_ne())
                .unwrap_or(std::cmp::Ordering::Equal)
        };
        all.sort_by(in_order);
        let units: Vec<(TableTerm, f64)> =
            all.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as f64)).collect();
        let share = |place: usize| {
            let terms = units.iter().map(|(term, count)| (term.shares()[place], *count as u64));
            let terms = terms.filter(|(term, _)| term.denominator > 0.0);
            BoundedRatio::counted(terms, Term::new(0.0, size_max), Term::new(size_max, size_max)).ok()
        };
        let shares = std::array::from_fn(share);
        Ok(Self { count: all.len() as u64, units, size_max, shares })
    }

    /// The number of units.
    #[must_use]
    pub fn units(&self) -> u64 {
        self.count
    }

    /// The same table of so many times as many units.
    #[must_use]
    pub fn repeat(&self, times: f64) -> Self {
        Self {
            units: self.units.iter().map(|(term, count)| (*term, count * times)).collect(),
            count: (self.count as f64 * times).round() as u64,
            size_max: self.size_max,
            shares: self.shares.clone().map(|share| share.map(|share| share.repeated(times))),
        }
    }

    /// The correlation of all. What is only known to be wrong is taken for the kind of error that is worse, and what is only known to be
    /// right for the better kind: of a given number of errors those are worst that are half of each kind, and of right predictions
    /// those are best that are half of each class.
    ///
    /// Undefined when truths, or predictions, are all alike.
    pub fn estimate(&self) -> Result<f64, Undefined> {
        let sum = |of: fn(&TableTerm) -> f64| -> f64 { self.units.iter().map(|(term, count)| of(term) * count).sum() };
        let even_out = |a: f64, b: f64, more: f64| {
            let to_a = f64::midpoint(b - a, more).clamp(0.0, more);
            (a + to_a, b + more - to_a)
        };
        let (tp, tn) =
            even_out(sum(|term| term.true_positives), sum(|term| term.true_negatives), sum(|term| term.right));
        let (fp, fnn) =
            even_out(sum(|term| term.false_positives), sum(|term| term.false_negatives), sum(|term| term.wrong));
        let spread = ((tp + fp) * (tp + fnn)).sqrt() * ((tn + fp) * (tn + fnn)).sqrt();
        if spread == 0.0 {
            return Err(Undefined::NoSpread { what: Quantity::TruthsOrPredictions });
        }
        Ok(((tp * tn - fp * fnn) / spread).clamp(-1.0, 1.0))
    }

    /// How probable data this good are if the correlation is at most `threshold`; small speaks for more.
    #[must_use]
    pub fn p_above(&self, threshold: f64) -> f64 {
        self.p_value_above(threshold, Looks::Once)
    }

    /// How probable data this bad are if the correlation is at least `threshold`; small speaks for less.
    #[must_use]
    pub fn p_below(&self, threshold: f64) -> f64 {
        find_p(|alpha| threshold - self.upper_by_shares(alpha, Looks::Once))
    }

    /// True when the data rule out a correlation of at most `threshold` with this error: when [`p_above`](Self::p_above) is within it.
    #[must_use]
    pub fn is_above(&self, threshold: f64, alpha: f64) -> bool {
        self.p_by_f(threshold, Looks::Once) <= alpha * PART_OF_F
            || self.lower_by_shares(alpha * (1.0 - PART_OF_F), Looks::Once) >= threshold
    }

    /// True when the data rule out a correlation of at least `threshold` with this error.
    #[must_use]
    pub fn is_below(&self, threshold: f64, alpha: f64) -> bool {
        self.upper_by_shares(alpha, Looks::Once) <= threshold
    }

    /// The same as [`p_above`](Self::p_above) for any number of looks.
    #[must_use]
    pub fn p_above_at_any_time(&self, threshold: f64) -> f64 {
        self.p_value_above(threshold, Looks::Any)
    }

    /// The same as [`p_below`](Self::p_below) for any number of looks.
    #[must_use]
    pub fn p_below_at_any_time(&self, threshold: f64) -> f64 {
        find_p(|alpha| threshold - self.upper_by_shares(alpha, Looks::Any))
    }

    /// The correlations that one look at the data does not rule out.
    #[must_use]
    pub fn interval(&self, confidence: Confidence) -> Interval {
        self.find_interval(confidence, Looks::Once, Method::Matthews)
    }

    /// The correlations that no number of looks at the data rules out.
    #[must_use]
    pub fn interval_at_any_time(&self, confidence: Confidence) -> Interval {
        self.find_interval(confidence, Looks::Any, Method::Betting)
    }

    fn find_interval(&self, confidence: Confidence, looks: Looks, method: Method) -> Interval {
        let tail = confidence.tail();
        let lower = || {
            let by_shares = self.lower_by_shares(tail * (1.0 - PART_OF_F), looks);
            self.lower_by_f(tail * PART_OF_F, looks).max(by_shares)
        };
        confidence.interval(method, lower, || self.upper_by_shares(tail, looks))
    }

    fn p_value_above(&self, threshold: f64, looks: Looks) -> f64 {
        let by_f = self.p_by_f(threshold, looks) / PART_OF_F;
        let by_shares = find_p(|alpha| self.lower_by_shares(alpha, looks) - threshold) / (1.0 - PART_OF_F);
        by_f.min(by_shares).min(1.0)
    }

    /// The p-value of F⁺ + F⁻ ≤ 1 + T: the largest over all ways in which that can be.
    fn p_by_f(&self, threshold: f64, looks: Looks) -> f64 {
        let sum = 1.0 + threshold;
        let (low, high) = ((sum - 1.0).max(0.0), sum.min(1.0));
        if sum <= 0.0 {
            // Nothing is below the least.
            return if sum < 0.0 { 0.0 } else { 1.0 };
        }
        if low >= high {
            return 1.0;
        }
        let p = |f: f64| self.p_of_f(f, sum - f, looks);
        let at = |step: u32| low + (high - low) * f64::from(step) / f64::from(GRID);
        let (worst, mut most) = (0..=GRID)
            .map(|step| (step, p(at(step))))
            .fold((0, 0.0), |most, one| if one.1 > most.1 { one } else { most });
        // The worst lies between the neighbours of the worst that was tried.
        let (mut from, mut to) = (at(worst.saturating_sub(1)), at((worst + 1).min(GRID)));
        let (mut a, mut b) = (to - GOLDEN * (to - from), from + GOLDEN * (to - from));
        let (mut at_a, mut at_b) = (p(a), p(b));
        for _ in 0..24 {
            if at_a > at_b {
                (to, b, at_b) = (b, a, at_a);
                a = to - GOLDEN * (to - from);
                at_a = p(a);
            } else {
                (from, a, at_a) = (a, b, at_b);
                b = from + GOLDEN * (to - from);
                at_b = p(b);
            }
            most = most.max(at_a).max(at_b);
        }
        most
    }

    /// The p-value of F⁺ ≤ f and F⁻ ≤ g together.
    fn p_of_f(&self, f: f64, g: f64, looks: Looks) -> f64 {
        let right = |share: f64| 2.0 * (1.0 - share) * (1.0 - share);
        let loss = (1.0 - f) * f + (1.0 - g) * g;
        let (positive, negative) = (right(f), right(g));
        let gain = |term: &TableTerm| {
            let wrong = term.false_positives + term.false_negatives + term.wrong;
            let right = positive * term.true_positives + negative * term.true_negatives;
            right + positive.max(negative) * term.right - loss * wrong
        };
        let seen = self.units.iter().map(|(unit, count)| (gain(unit), *count));
        let weights: Vec<(f64, f64)> = seen.chain([(-loss * self.size_max, 1.0)]).collect();
        match looks {
            Looks::Once => probability_not_positive(&weights),
            Looks::Any => (-log_wealth(&weights)).exp().min(1.0),
        }
    }

    /// The lower bound by F⁺ + F⁻: the least sum of both, less one, that is not ruled out.
    fn lower_by_f(&self, alpha: f64, looks: Looks) -> f64 {
        let sum = |f: f64| f + self.least_other(f, alpha, looks);
        // F⁺ is never below what it is at least if F⁻ is perfect. With few errors among many units all else is a small part of the way
        // from 0 to 1, which steps over the whole would miss.
        let low = find_least(|f| self.p_of_f(f, 1.0, looks), alpha).min(1.0);
        let at = |step: u32| low + (1.0 - low) * f64::from(step) / f64::from(GRID);
        let (worst, mut least) = (0..=GRID)
            .map(|step| (step, sum(at(step))))
            .fold((0, f64::INFINITY), |least, one| if one.1 < least.1 { one } else { least });
        let (mut from, mut to) = (at(worst.saturating_sub(1)), at((worst + 1).min(GRID)));
        let (mut a, mut b) = (to - GOLDEN * (to - from), from + GOLDEN * (to - from));
        let (mut at_a, mut at_b) = (sum(a), sum(b));
        for _ in 0..20 {
            if at_a < at_b {
                (to, b, at_b) = (b, a, at_a);
                a = to - GOLDEN * (to - from);
                at_a = sum(a);
            } else {
                (from, a, at_a) = (a, b, at_b);
                b = from + GOLDEN * (to - from);
                at_b = sum(b);
            }
            least = least.min(at_a).min(at_b);
        }
        (least - 1.0).clamp(-1.0, 1.0)
    }

    /// The least F⁻ that is not ruled out if F⁺ is f; 2 where even the greatest is.
    fn least_other(&self, f: f64, alpha: f64, looks: Looks) -> f64 {
        find_least(|g| self.p_of_f(f, g, looks), alpha)
    }

    /// The bounds of the four shares with a quarter of the error each; the end itself where nothing counts for one.
    fn share_bounds(&self, alpha: f64, looks: Looks, is_lower: bool) -> [f64; 4] {
        let end = f64::from(u8::from(!is_lower));
        let level = 1.0 - alpha / 4.0;
        let confidence = if is_lower { Confidence::lower(level) } else { Confidence::upper(level) };
        let Ok(confidence) = confidence else { return [end; 4] };
        let bound = |share: &Option<BoundedRatio>| {
            let interval = match looks {
                Looks::Once => share.as_ref()?.interval(confidence),
                Looks::Any => share.as_ref()?.interval_at_any_time(confidence),
            };
            if is_lower { interval.lower } else { interval.upper }
        };
        std::array::from_fn(|place| bound(&self.shares[place]).unwrap_or(end))
    }

    fn lower_by_shares(&self, alpha: f64, looks: Looks) -> f64 {
        correlation_of_shares(self.share_bounds(alpha, looks, true))
    }

    fn upper_by_shares(&self, alpha: f64, looks: Looks) -> f64 {
        correlation_of_shares(self.share_bounds(alpha, looks, false))
    }
}

/// The least share that a p-value, which rises with it, does not rule out; 2 where even 1 is ruled out.
fn find_least(p: impl Fn(f64) -> f64, alpha: f64) -> f64 {
    let surplus = |share: f64| (alpha / p(share).max(1e-300)).ln().clamp(-1e3, 1e3);
    let (at_least, at_most) = (surplus(0.0), surplus(1.0));
    if at_least < 0.0 {
        return 0.0;
    }
    if at_most >= 0.0 {
        return 2.0;
    }
    last_positive((0.0, at_least), (1.0, at_most), |_| 1e-10, surplus)
}

/// The correlation of all units, and how far each of them moves it: the influences add up to 0 (delta method).
///
/// Undefined without units, and when truths, or predictions, are all alike.
///
/// ```
/// use calipers_stats::matthews::{TableTerm, correlation_influences};
///
/// let units = [(true, true), (true, true), (true, false), (false, false)].map(|(t, p)| TableTerm::of(t, p));
/// let (correlation, influences) = correlation_influences(&units)?;
/// assert!((correlation - 1.0 / 3f64.sqrt()).abs() < 1e-12);
/// assert!(influences[0] > 0.0 && influences[2] < 0.0 && influences.iter().sum::<f64>().abs() < 1e-12);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn correlation_influences(units: &[TableTerm]) -> Result<(f64, Vec<f64>), Undefined> {
    let correlation = MatthewsTable::new(units.iter().copied(), 0.0)?.estimate()?;
    let sum = |of: fn(&TableTerm) -> f64| -> f64 { units.iter().map(of).sum() };
    let (tp, tn) = (sum(|term| term.true_positives), sum(|term| term.true_negatives));
    let (fp, fnn) = (sum(|term| term.false_positives), sum(|term| term.false_negatives));
    let spread = ((tp + fp) * (tp + fnn)).sqrt() * ((tn + fp) * (tn + fnn)).sqrt();
    let slope =
        |of_product: f64, one: f64, other: f64| of_product / spread - correlation / 2.0 * (1.0 / one + 1.0 / other);
    let slopes = [
        slope(tn, tp + fp, tp + fnn),
        slope(-fnn, tp + fp, tn + fp),
        slope(-fp, tp + fnn, tn + fnn),
        slope(tp, tn + fp, tn + fnn),
    ];
    let influence = |term: &TableTerm| term.cells().iter().zip(slopes).map(|(count, slope)| count * slope).sum();
    Ok((correlation, units.iter().map(influence).collect()))
}

/// The correlation of a table with this precision, recall, specificity and negative predictive value.
fn correlation_of_shares(shares: [f64; 4]) -> f64 {
    let product = |of: fn(f64) -> f64| shares.into_iter().map(of).product::<f64>().max(0.0).sqrt();
    product(|share| share) - product(|share| 1.0 - share)
}

impl BoundedEstimate for MatthewsTable {
    /// The correlation, 0 where it is undefined.
    fn estimate(&self) -> f64 {
        Self::estimate(self).unwrap_or(0.0)
    }

    fn interval(&self, confidence: Confidence) -> Result<Interval, Undefined> {
        Self::estimate(self)?;
        Ok(Self::interval(self, confidence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table([tp, fp, fnn, tn]: [usize; 4]) -> MatthewsTable {
        let counts = [((true, true), tp), ((false, true), fp), ((true, false), fnn), ((false, false), tn)];
        let units = counts
            .into_iter()
            .flat_map(|((truth, prediction), count)| std::iter::repeat_n(TableTerm::of(truth, prediction), count));
        MatthewsTable::new(units, 1.0).unwrap()
    }

    fn lower(counts: [usize; 4]) -> f64 {
        table(counts).interval(Confidence::lower(0.95).unwrap()).lower.unwrap()
    }

    #[test]
    fn a_perfect_table_shows_what_both_classes_show() {
        // 0.045^(1/50) for each of them at most, and no more than for both together.
        let bound = lower([50, 0, 0, 50]);
        let f_of_share = |p: f64| 2.0 * p / (1.0 + p);
        assert!(bound > 2.0 * f_of_share(0.0225f64.powf(0.02)) - 1.0, "{bound}");
        assert!(bound < 1.0 - 0.03, "{bound}");
    }

    #[test]
    fn bound_and_p_value_are_one() {
        for counts in
            [[45, 5, 5, 45], [10, 10, 0, 80], [3, 1, 0, 8], [495, 5, 5, 495], [990, 3, 12, 200], [9990, 9, 11, 9990]]
        {
            let table = table(counts);
            for confidence in [Confidence::lower(0.95).unwrap(), Confidence::lower(0.8).unwrap()] {
                let bound = table.interval(confidence).lower.unwrap();
                assert!((table.p_above(bound) / confidence.tail() - 1.0).abs() < 1e-3, "{counts:?}");
                assert!(table.is_above(bound - 1e-6, confidence.tail()), "{counts:?}");
                assert!(!table.is_above(bound + 1e-6, confidence.tail()), "{counts:?}");
            }
            let confidence = Confidence::upper(0.95).unwrap();
            let bound = table.interval(confidence).upper.unwrap();
            assert!((table.p_below(bound) / confidence.tail() - 1.0).abs() < 1e-3, "{counts:?}");
        }
    }

    #[test]
    fn many_units_close_in_on_the_correlation() {
        // Twice as many false positives as true ones, and no false negatives.
        let table = table([10, 20, 0, 100]).repeat(1000.0);
        let (estimate, interval) = (table.estimate().unwrap(), table.interval(Confidence::two_sided(0.95).unwrap()));
        assert!(interval.lower.unwrap() > estimate - 0.03 && interval.upper.unwrap() < estimate + 0.03, "{interval:?}");
    }

    #[test]
    fn without_units_there_is_nothing() {
        assert_eq!(MatthewsTable::new([], 1.0), Err(Undefined::Empty));
        let odd = TableTerm { wrong: f64::NAN, ..TableTerm::default() };
        assert!(MatthewsTable::new([odd], 1.0).is_err());
        let alike = table([5, 0, 0, 0]);
        assert!(alike.estimate().is_err());
        assert!(alike.p_above(0.0) > 0.4);
    }

    proptest! {
        #[test]
        fn the_correlation_is_at_least_the_sum_of_both_f1_less_one(cells in prop::array::uniform4(0.0..1.0f64)) {
            let [tp, fp, fnn, tn] = cells;
            let spread = ((tp + fp) * (tp + fnn) * (tn + fp) * (tn + fnn)).sqrt();
            prop_assume!(spread > 1e-9);
            let half = (fp + fnn) / 2.0;
            prop_assert!((tp * tn - fp * fnn) / spread >= tp / (tp + half) + tn / (tn + half) - 1.0 - 1e-9);
        }

        #[test]
        fn four_shares_give_the_correlation(cells in prop::array::uniform4(1usize..50)) {
            let [tp, fp, fnn, tn] = cells.map(|count| count as f64);
            let shares = [tp / (tp + fp), tp / (tp + fnn), tn / (tn + fp), tn / (tn + fnn)];
            prop_assert!((correlation_of_shares(shares) - table(cells).estimate().unwrap()).abs() < 1e-9);
        }

        #[test]
        fn better_predictions_never_lower_a_bound(cells in prop::array::uniform4(1usize..30), kind in 0usize..4) {
            let mut better = cells;
            match kind {
                0 => better = [cells[0], cells[1] - 1, cells[2], cells[3] + 1],
                1 => better = [cells[0] + 1, cells[1], cells[2] - 1, cells[3]],
                2 => better[0] += 1,
                _ => better[3] += 1,
            }
            prop_assert!(lower(better) >= lower(cells) - 1e-8, "{:?}", cells);
            let upper = |counts| table(counts).interval(Confidence::upper(0.95).unwrap()).upper.unwrap();
            prop_assert!(upper(better) >= upper(cells) - 1e-8, "{:?}", cells);
        }
    }
}
