//! The values of a metric, sample by sample: one value, two sums, or the values of attempts.

use super::matching::MatchedSample;
use super::run_metric::RunMetric;
use calipers_core::Evidence;
use calipers_stats::Moments;
use calipers_stats::matthews::TableTerm;
use hashbrown::HashMap;
use std::borrow::Cow;

/// What a metric knows of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum SampleValue {
    /// The metric is not about it, or the run does not have it.
    Outside,
    /// It has no value.
    Missing,
    Value(f64),
}

impl SampleValue {
    pub(super) fn value(self) -> Option<f64> {
        if let Self::Value(value) = self { Some(value) } else { None }
    }
}

/// The value of each sample of a run, by its place. There may be millions, so what is no value is not beside it: all values
/// are finite, and [`OUTSIDE`] and [`MISSING`] are not.
pub(super) struct SampleValues<'e>(Cow<'e, [f64]>);

const OUTSIDE: f64 = f64::NAN;
const MISSING: f64 = f64::INFINITY;

impl<'e> SampleValues<'e> {
    /// The values that a mean is made of. Several of one sample are averaged first; one that did not run has none.
    pub(super) fn of(evidence: &'e Evidence, measured: &RunMetric) -> Self {
        let count = measured.errored.len();
        let Evidence::Mean { samples, values, missing } = evidence else { return Self(vec![OUTSIDE; count].into()) };
        let is_in_order = || samples.iter().zip(0..).all(|(sample, place)| *sample == place);
        let is_whole = values.len() == count && missing.is_empty() && !measured.errored.contains(&true);
        if is_whole && is_in_order() && values.iter().all(|value| value.is_finite()) {
            return Self(Cow::Borrowed(values));
        }
        let mut cells = vec![OUTSIDE; count];
        missing.iter().for_each(|&sample| cells[sample as usize] = MISSING);
        let mut is_repeated = false;
        for (&sample, &value) in samples.iter().zip(values).filter(|(_, value)| value.is_finite()) {
            let cell = &mut cells[sample as usize];
            is_repeated |= cell.is_finite();
            *cell = value;
        }
        if is_repeated {
            let mut sums = vec![Moments::default(); cells.len()];
            samples.iter().zip(values).for_each(|(&sample, &value)| sums[sample as usize].add(value));
            for (cell, sum) in cells.iter_mut().zip(&sums) {
                if let Ok(mean) = sum.mean() {
                    *cell = mean;
                }
            }
        }
        for (cell, errored) in cells.iter_mut().zip(&measured.errored) {
            if *errored && !cell.is_nan() {
                *cell = MISSING;
            }
        }
        Self(cells.into())
    }

    /// The values as they are, if every sample has one.
    pub(super) fn whole(&self) -> Option<&'e [f64]> {
        match self.0 {
            Cow::Borrowed(values) => Some(values),
            Cow::Owned(_) => None,
        }
    }

    pub(super) fn get(&self, place: u32) -> SampleValue {
        match self.0.get(place as usize) {
            Some(value) if value.is_finite() => SampleValue::Value(*value),
            Some(&MISSING) => SampleValue::Missing,
            _ => SampleValue::Outside,
        }
    }

    pub(super) fn value(&self, place: u32) -> Option<f64> {
        self.get(place).value()
    }
}

/// The sums of each sample of a run, by its place; none for one without.
pub(super) struct SampleSums(Vec<Option<(f64, f64)>>);

impl SampleSums {
    pub(super) fn of(measured: &RunMetric) -> Self {
        let Some(Evidence::Ratio { samples, numerators, denominators, missing, .. }) = &measured.evidence else {
            return Self(Vec::new());
        };
        // A sample that adds nothing to either sum is not listed.
        let mut sums = vec![Some((0.0, 0.0)); measured.errored.len()];
        missing.iter().for_each(|&sample| sums[sample as usize] = None);
        for ((&sample, &y), &x) in samples.iter().zip(numerators).zip(denominators) {
            sums[sample as usize] = Some((y, x));
        }
        Self(sums)
    }

    pub(super) fn get(&self, place: u32) -> Option<(f64, f64)> {
        self.0.get(place as usize).copied().flatten()
    }
}

/// What each sample of a run adds to a table, by its place; none for one without a truth or a prediction.
pub(super) struct SampleTables(Vec<Option<TableTerm>>);

impl SampleTables {
    pub(super) fn of(measured: &RunMetric) -> Self {
        let mut terms = vec![None; measured.errored.len()];
        if let Some(Evidence::Table { samples, counts, .. }) = &measured.evidence {
            samples.iter().zip(counts).for_each(|(&sample, &term)| terms[sample as usize] = Some(term));
        }
        Self(terms)
    }

    pub(super) fn get(&self, place: u32) -> Option<TableTerm> {
        self.0.get(place as usize).copied().flatten()
    }
}

/// What the judge said of a sample, and what people did.
#[derive(Clone, Copy)]
pub(super) struct LabelledValue {
    pub(super) judged: f64,
    pub(super) label: Option<f64>,
}

/// What the judge and people said of each sample of a run, by its place.
pub(super) struct SampleLabels(HashMap<u32, LabelledValue>);

impl SampleLabels {
    pub(super) fn of(evidence: &Evidence) -> Self {
        let Evidence::Corrected { samples, judged, labels, .. } = evidence else { return Self(HashMap::new()) };
        let values = judged.iter().zip(labels).map(|(&judged, &label)| LabelledValue { judged, label });
        Self(samples.iter().copied().zip(values).collect())
    }

    pub(super) fn get(&self, place: u32) -> Option<LabelledValue> {
        self.0.get(&place).copied()
    }
}

/// The values of the attempts at each sample of a run, by its place.
pub(super) struct AttemptValues(Vec<Vec<f64>>);

impl AttemptValues {
    pub(super) fn of(measured: &RunMetric) -> Self {
        let mut lists = vec![Vec::new(); measured.errored.len()];
        if let Some(Evidence::Quantile { samples, values, .. }) = &measured.evidence {
            samples.iter().zip(values).for_each(|(&sample, &value)| lists[sample as usize].push(value));
        }
        Self(lists)
    }

    pub(super) fn get(&self, place: u32) -> &[f64] {
        self.0.get(place as usize).map_or(&[], Vec::as_slice)
    }
}

/// Values in ascending order, of which each counts as often as its unit occurs.
pub(super) struct WeightedValues {
    pub(super) values: Vec<(f64, u32)>,
    /// The number of values of each unit.
    pub(super) sizes: Vec<u64>,
}

impl WeightedValues {
    pub(super) fn new<'l>(
        known: &[MatchedSample],
        unit_of: &[u32],
        list: impl Fn(&MatchedSample) -> &'l [f64],
    ) -> Self {
        let mut sizes = vec![0; unit_of.iter().max().map_or(0, |&last| last as usize + 1)];
        let mut values = Vec::new();
        for (pair, &unit) in known.iter().zip(unit_of) {
            let list = list(pair);
            sizes[unit as usize] += list.len() as u64;
            values.extend(list.iter().map(|&value| (value, unit)));
        }
        values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        Self { values, sizes }
    }

    /// Type 7 of the values when unit `u` occurs `times[u]` times; no number for none.
    pub(super) fn quantile(&self, times: &[u32], p: f64) -> f64 {
        let total: u64 = self.sizes.iter().zip(times).map(|(size, &times)| size * u64::from(times)).sum();
        if total == 0 {
            return f64::NAN;
        }
        let place = (total - 1) as f64 * p;
        let rank = place as u64;
        let share = place - rank as f64;
        let low = self.at(rank, total, times);
        let high = if share > 0.0 { self.at((rank + 1).min(total - 1), total, times) } else { low };
        // Between equal ends there is nothing to add, and of two infinite ones no difference to take.
        if low == high { low } else { low + share * (high - low) }
    }

    /// The value of a rank, looked for from the nearer end.
    fn at(&self, rank: u64, total: u64, times: &[u32]) -> f64 {
        let mut left = if 2 * rank < total { rank } else { total - 1 - rank };
        let mut passes = |&&(_, unit): &&(f64, u32)| {
            let times = u64::from(times[unit as usize]);
            let is_it = left < times;
            left = left.saturating_sub(times);
            is_it
        };
        let found = if 2 * rank < total {
            self.values.iter().find(&mut passes)
        } else {
            self.values.iter().rev().find(&mut passes)
        };
        found.map_or(f64::NAN, |&(value, _)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Type 7 of a plain list.
    fn plain_quantile(mut values: Vec<f64>, p: f64) -> f64 {
        values.sort_by(f64::total_cmp);
        let place = (values.len() - 1) as f64 * p;
        let (low, share) = (values[place as usize], place.fract());
        let high = values[(place as usize + 1).min(values.len() - 1)];
        low + share * (high - low)
    }

    #[test]
    fn a_resampled_quantile_is_that_of_the_values_written_out() {
        let lists: [&[f64]; 3] = [&[3.0, 1.0], &[2.0], &[5.0, 4.0, 0.5]];
        let samples: Vec<MatchedSample> = (0..3).map(MatchedSample::at).collect();
        let values = WeightedValues::new(&samples, &[0, 1, 2], |sample| lists[sample.candidate as usize]);
        for times in [[1, 1, 1], [2, 0, 1], [0, 3, 0], [1, 2, 3]] {
            let written: Vec<f64> =
                lists.iter().zip(times).flat_map(|(list, times)| list.repeat(times as usize)).collect();
            for p in [0.0, 0.25, 0.5, 0.9, 1.0] {
                let (got, want) = (values.quantile(&times, p), plain_quantile(written.clone(), p));
                assert!((got - want).abs() < 1e-12, "{times:?} at {p}: {got}, not {want}");
            }
        }
        assert!(values.quantile(&[0, 0, 0], 0.5).is_nan());
    }
}
