//! A figure beside its threshold: the test that decides, and the bounds that are its inversion.

use crate::policy::Looks;
use crate::{QuantileShare, SampleUnit};
use calipers_stats::bounded_ratio::BoundedRatio;
use calipers_stats::corrected_mean::CorrectedMean;
use calipers_stats::corrected_units::CorrectedUnits;
use calipers_stats::matthews::MatthewsTable;
use calipers_stats::threshold_test::{Direction, is_within};
use calipers_stats::{Confidence, Interval, Method};

/// Beyond this many further units, a number of them is no help.
const MORE_MAX: f64 = 10_000.0;

/// What is compared with a threshold.
#[derive(Clone)]
enum Quantity {
    /// A ratio over units.
    Ratio(BoundedRatio),
    /// A judge's mean, corrected by labels.
    Corrected(CorrectedMean),
    /// The same where samples go together, do not count alike, or are looked at more than once.
    CorrectedUnits(Box<CorrectedUnits>),
    /// The correlation of a table.
    Table(Box<MatthewsTable>),
}

/// A quantity with the threshold that it is compared with.
#[derive(Clone)]
pub(super) struct BoundTest {
    quantity: Quantity,
    pub(super) threshold: f64,
    /// True when large is good.
    pub(super) up: bool,
    /// True when the ratio is the share of values within a limit.
    pub(super) is_quantile: bool,
    pub(super) looks: Looks,
    pub(super) unit: SampleUnit,
}

impl BoundTest {
    pub(super) fn new(ratio: BoundedRatio, threshold: f64, up: bool, looks: Looks, unit: SampleUnit) -> Self {
        Self { quantity: Quantity::Ratio(ratio), threshold, up, is_quantile: false, looks, unit }
    }

    /// The test of a corrected mean. More labels are what would decide it.
    pub(super) fn of_corrected(mean: CorrectedMean, threshold: f64, up: bool) -> Self {
        let quantity = Quantity::Corrected(mean);
        Self { quantity, threshold, up, is_quantile: false, looks: Looks::Once, unit: SampleUnit::Labels }
    }

    /// The test of a corrected mean over units.
    pub(super) fn of_corrected_units(mean: CorrectedUnits, threshold: f64, up: bool, looks: Looks) -> Self {
        let quantity = Quantity::CorrectedUnits(Box::new(mean));
        Self { quantity, threshold, up, is_quantile: false, looks, unit: SampleUnit::Labels }
    }

    /// The test of the correlation of a table.
    pub(super) fn of_table(table: MatthewsTable, threshold: f64, up: bool, looks: Looks, unit: SampleUnit) -> Self {
        Self { quantity: Quantity::Table(Box::new(table)), threshold, up, is_quantile: false, looks, unit }
    }

    /// How probable data this high, or this low, are on the threshold.
    fn p(&self, is_above: bool) -> f64 {
        match &self.quantity {
            Quantity::Ratio(ratio) => self.p_value(ratio, is_above),
            Quantity::Corrected(mean) => p_of_corrected(mean, self.threshold, is_above),
            Quantity::CorrectedUnits(mean) => match (self.looks, is_above) {
                (Looks::Once, true) => mean.p_above(self.threshold),
                (Looks::Once, false) => mean.p_below(self.threshold),
                (Looks::Any, true) => mean.p_above_at_any_time(self.threshold),
                (Looks::Any, false) => mean.p_below_at_any_time(self.threshold),
            },
            Quantity::Table(table) => self.p_of_table(table, is_above),
        }
    }

    fn p_of_table(&self, table: &MatthewsTable, is_above: bool) -> f64 {
        let t = self.threshold;
        match (self.looks, is_above) {
            (Looks::Once, true) => table.p_above(t),
            (Looks::Once, false) => table.p_below(t),
            (Looks::Any, true) => table.p_above_at_any_time(t),
            (Looks::Any, false) => table.p_below_at_any_time(t),
        }
    }

    /// The same for this ratio.
    fn p_value(&self, ratio: &BoundedRatio, is_above: bool) -> f64 {
        let t = self.threshold;
        let p = match (self.looks, is_above) {
            (Looks::Once, true) => ratio.p_above(t),
            (Looks::Once, false) => ratio.p_below(t),
            (Looks::Any, true) => (-ratio.log_e_above(t)).exp(),
            (Looks::Any, false) => (-ratio.log_e_below(t)).exp(),
        };
        p.min(1.0)
    }

    /// True when the data rule out the wrong side of the threshold, with errors of at most α.
    pub(super) fn passes(&self, alpha: f64) -> bool {
        self.is_sure(self.up, alpha)
    }

    /// True when the data rule out the right side of the threshold, with errors of at most α.
    fn fails(&self, alpha: f64) -> bool {
        self.is_sure(!self.up, alpha)
    }

    /// True when what is compared is surely above the threshold, or below it.
    fn is_sure(&self, is_above: bool, alpha: f64) -> bool {
        match (&self.quantity, is_above, self.looks) {
            // Its p-value takes many times as long as its bounds at one level.
            (Quantity::Table(table), true, Looks::Once) => table.is_above(self.threshold, alpha),
            (Quantity::Table(table), false, Looks::Once) => table.is_below(self.threshold, alpha),
            _ => is_within(self.p(is_above), alpha),
        }
    }

    /// How probable data this bad are on the threshold.
    pub(super) fn p_fail(&self) -> f64 {
        self.p(!self.up)
    }

    /// For a quantile, the share of attempts that it asks for.
    pub(super) fn quantile_share(&self) -> Option<QuantileShare> {
        let direction = if self.up { Direction::AtLeast } else { Direction::AtMost };
        self.is_quantile.then_some(QuantileShare { share: self.threshold, direction })
    }

    /// The values that the data do not rule out, with the name of the method.
    pub(super) fn interval(&self, confidence: Confidence) -> Option<Interval> {
        let ratio = match &self.quantity {
            Quantity::Ratio(ratio) => ratio,
            Quantity::Corrected(mean) => return mean.interval(confidence).ok(),
            Quantity::CorrectedUnits(mean) => {
                return match self.looks {
                    Looks::Once => mean.interval(confidence).ok(),
                    Looks::Any => mean.interval_at_any_time(confidence),
                };
            }
            Quantity::Table(table) => {
                return Some(match self.looks {
                    Looks::Once => table.interval(confidence),
                    Looks::Any => table.interval_at_any_time(confidence),
                });
            }
        };
        let mut interval = match self.looks {
            Looks::Once => ratio.interval(confidence),
            Looks::Any => ratio.interval_at_any_time(confidence),
        };
        interval.method = match (self.looks, self.unit) {
            (Looks::Any, _) => interval.method,
            (_, SampleUnit::Clusters) => Method::GaffkeClustered,
            _ if ratio.is_all_or_nothing() => Method::ClopperPearson,
            _ => interval.method,
        };
        (interval.lower.is_some() || interval.upper.is_some()).then_some(interval)
    }

    /// The one-sided bound at 1 − α, the lower or the upper one.
    pub(super) fn one_bound(&self, alpha: f64, is_lower: bool) -> Option<f64> {
        let confidence = if is_lower { Confidence::lower(1.0 - alpha) } else { Confidence::upper(1.0 - alpha) };
        let interval = self.interval(confidence.ok()?)?;
        if is_lower { interval.lower } else { interval.upper }
    }

    /// The number of units, and how many are needed, if even a perfect score could not pass.
    pub(super) fn cannot_pass(&self, alpha: f64) -> Option<(u64, u64)> {
        let is_perfect = match &self.quantity {
            Quantity::Ratio(ratio) => {
                let (low, high) = ratio.reach();
                ratio.estimate() == if self.up { high } else { low }
            }
            Quantity::Table(table) => table.estimate() == Ok(if self.up { 1.0 } else { -1.0 }),
            Quantity::Corrected(_) | Quantity::CorrectedUnits(_) => false,
        };
        if !is_perfect || self.passes(alpha) {
            return None;
        }
        let need = self.units_until(alpha, |more| more.passes(alpha), f64::INFINITY)?;
        Some((self.units(), need))
    }

    /// About how many more units would decide if things stayed as they are.
    pub(super) fn more(&self, alpha: f64) -> Option<u64> {
        let (units, needed) = match &self.quantity {
            Quantity::Ratio(_) | Quantity::Table(_) => {
                let decides = |more: &Self| more.passes(alpha) || more.fails(alpha);
                (self.units(), self.units_until(alpha, decides, MORE_MAX)?)
            }
            // Labels of the same clusters say less than labels of others, so no number of them is promised.
            Quantity::CorrectedUnits(_) => return None,
            Quantity::Corrected(mean) => {
                let p = |mean: &CorrectedMean, is_above| p_of_corrected(mean, self.threshold, is_above);
                let decides =
                    |mean: &CorrectedMean| is_within(p(mean, self.up), alpha) || is_within(p(mean, !self.up), alpha);
                let needed = mean.truths_until(decides)?;
                (mean.truths(), needed)
            }
        };
        Some(needed.saturating_sub(units).max(1)).filter(|more| (*more as f64) <= MORE_MAX)
    }

    /// How many units like these would decide.
    fn units_until(&self, alpha: f64, decides: impl Fn(&Self) -> bool, more_max: f64) -> Option<u64> {
        let units = self.units() as f64;
        let decides = |count: f64| decides(&self.repeat(count / units));
        // Far from any threshold that a number of samples could show.
        let most = if more_max.is_finite() { units + more_max } else { 1e9 * alpha.recip() };
        let (mut low, mut high) = (units, units * 2.0);
        while !decides(high.min(most)) {
            if high >= most {
                return None;
            }
            (low, high) = (high, high * 2.0);
        }
        high = high.min(most);
        while high - low > 0.5 && high / low > 1.0 + 1e-12 {
            let middle = low.midpoint(high);
            if decides(middle) { high = middle } else { low = middle }
        }
        // Whole units: the last one below may do already.
        let below = high.floor();
        Some(if below > units && decides(below) { below as u64 } else { high.ceil() as u64 })
    }

    /// The same test of so many times as many units.
    fn repeat(&self, times: f64) -> Self {
        let quantity = match &self.quantity {
            Quantity::Ratio(ratio) => Quantity::Ratio(ratio.repeated(times)),
            Quantity::Table(table) => Quantity::Table(Box::new(table.repeat(times))),
            Quantity::Corrected(_) | Quantity::CorrectedUnits(_) => self.quantity.clone(),
        };
        Self { quantity, ..*self }
    }

    /// The bound on the worse or on the better side.
    pub(super) fn bound(&self, alpha: f64, is_worst: bool) -> Option<f64> {
        self.one_bound(alpha, self.up == is_worst)
    }

    /// The units beside those that were not used: all samples of the run over the units.
    pub(super) fn units(&self) -> u64 {
        match &self.quantity {
            Quantity::Ratio(ratio) => ratio.units(),
            Quantity::Corrected(mean) => mean.truths(),
            Quantity::CorrectedUnits(mean) => mean.truths(),
            Quantity::Table(table) => table.units(),
        }
    }
}

fn p_of_corrected(mean: &CorrectedMean, threshold: f64, is_above: bool) -> f64 {
    if is_above { mean.p_above(threshold) } else { mean.p_below(threshold) }
}
