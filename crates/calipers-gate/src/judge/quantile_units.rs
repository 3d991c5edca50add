//! The attempts of each unit, side by side: how many of them are within a limit is asked for many limits.

use super::units::{UnitKey, Units};
use crate::Unbounded;
use calipers_stats::bounded_ratio::{BoundedRatio, Term};
use calipers_stats::quantile::SortedValues;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The values of a quantile by unit.
pub(super) struct QuantileUnits {
    /// The samples of the values and of those that are missing, and the values as they came: what tells whether others are the
    /// same.
    of: (Vec<u32>, Vec<f64>),
    /// The distinct values, in order.
    distinct: Vec<f64>,
    /// The units, by how many attempts with and without a value they have.
    sizes: Vec<UnitsOfOneSize>,
}

/// Units that have as many attempts with a value, and as many without one, as one another.
struct UnitsOfOneSize {
    count: usize,
    known: usize,
    missing: usize,
    /// The places of the values among the distinct ones: first those of the first attempts of all units, then of the second ones,
    /// and so on. Attempts of many units are so counted by the same few instructions.
    ranks: Vec<u32>,
}

impl UnitsOfOneSize {
    /// For each number of attempts among the first so many distinct values, how many units have it.
    fn count_below(&self, rank: u32) -> Vec<u64> {
        let mut below = vec![0u32; self.count];
        for attempts in self.ranks.chunks_exact(self.count) {
            below.iter_mut().zip(attempts).for_each(|(below, own)| *below += u32::from(*own < rank));
        }
        let mut counts = vec![0u64; self.known + 1];
        below.into_iter().for_each(|below| counts[below as usize] += 1);
        counts
    }
}

/// An attempt: its unit, and its value if it has one.
type AttemptRow = (UnitKey, Option<f64>);

/// What was grouped once for all gates of a judge: latencies have several quantiles, and a quantile several gates.
pub(super) type KnownUnits = RefCell<Vec<Rc<QuantileUnits>>>;

impl QuantileUnits {
    /// From the values of attempts and the samples whose attempts lack one and are to be filled in.
    pub(super) fn new(units: Units<'_>, samples: &[u32], values: &[f64], missing: &[u32]) -> Self {
        let keys = units.keys(samples.iter().chain(missing).copied());
        let known = values.iter().copied().map(Some).chain(missing.iter().map(|_| None));
        let mut rows: Vec<AttemptRow> = keys.into_iter().zip(known).collect();
        if !rows.is_sorted_by_key(|row| row.0) {
            rows.sort_by_key(|row| row.0);
        }
        let of = (samples.iter().chain(missing).copied().collect(), values.to_vec());
        let mut distinct =
            SortedValues::new(values.to_vec()).map_or_else(|_| Vec::new(), |sorted| sorted.as_slice().to_vec());
        distinct.dedup();
        let rank = |x: f64| distinct.partition_point(|known| *known < x) as u32;
        let mut by_size: BTreeMap<(usize, usize), Vec<&[AttemptRow]>> = BTreeMap::new();
        for unit in rows.chunk_by(|a, b| a.0 == b.0) {
            let known = unit.iter().filter(|row| row.1.is_some()).count();
            by_size.entry((known, unit.len() - known)).or_default().push(unit);
        }
        let of_size = |((known, missing), units): ((usize, usize), Vec<&[AttemptRow]>)| {
            let mut ranks = vec![0; known * units.len()];
            for (place, unit) in units.iter().enumerate() {
                for (attempt, x) in unit.iter().filter_map(|row| row.1).enumerate() {
                    ranks[attempt * units.len() + place] = rank(x);
                }
            }
            UnitsOfOneSize { count: units.len(), known, missing, ranks }
        };
        let sizes = by_size.into_iter().map(of_size).collect();
        Self { of, distinct, sizes }
    }

    /// The same, if they are not known yet. The units are those of the judge, which are the same for all of its gates.
    pub(super) fn find(
        known: &KnownUnits,
        units: Units<'_>,
        samples: &[u32],
        values: &[f64],
        missing: &[u32],
    ) -> Rc<Self> {
        let is_same = |one: &&Rc<Self>| {
            let (of_samples, of_values) = &one.of;
            of_values == values
                && of_samples.len() == samples.len() + missing.len()
                && of_samples.starts_with(samples)
                && of_samples.ends_with(missing)
        };
        if let Some(found) = known.borrow().iter().find(is_same) {
            return found.clone();
        }
        let found = Rc::new(Self::new(units, samples, values, missing));
        known.borrow_mut().push(found.clone());
        found
    }

    /// The finite values that there are, in order.
    pub(super) fn limits(&self) -> &[f64] {
        let from = self.distinct.partition_point(|x| *x == f64::NEG_INFINITY);
        &self.distinct[from..self.distinct.partition_point(|x| *x < f64::INFINITY)]
    }

    /// The share of attempts at or below a limit, or only below it if the limit is open; those without a value are, or are not.
    pub(super) fn ratio(&self, limit: f64, is_open: bool, is_missing_within: bool) -> Result<BoundedRatio, Unbounded> {
        let Some(most) = self.sizes.iter().map(|size| size.known + size.missing).max() else {
            return Err(Unbounded::NoValues);
        };
        let rank = self.distinct.partition_point(|x| if is_open { *x < limit } else { *x <= limit }) as u32;
        let term = |within: usize, all: usize| Term::new(within as f64, all as f64);
        let counted = self.sizes.iter().flat_map(|size| {
            let filled = if is_missing_within { size.missing } else { 0 };
            let all = size.known + size.missing;
            (0..).zip(size.count_below(rank)).map(move |(within, count)| (term(within + filled, all), count))
        });
        BoundedRatio::counted(counted, term(0, most), term(most, most)).map_err(Unbounded::Statistic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::units::{TermLimits, UnitRows};

    #[test]
    fn it_is_the_ratio_that_rows_give() {
        let samples = [0, 0, 1, 2, 2, 2, 3];
        let values = [5.0, 1.0, 2.0, f64::INFINITY, 3.0, 3.0, 2.0];
        let (missing, clusters) = ([1, 3], [0, 1, 0, 1]);
        for units in [Units::Samples, Units::Clusters(&clusters), Units::Attempts] {
            let grouped = QuantileUnits::new(units, &samples, &values, &missing);
            assert_eq!(grouped.limits(), [1.0, 2.0, 3.0, 5.0]);
            for limit in [0.0, 2.0, 4.0] {
                for (is_missing_within, is_open) in [(false, false), (true, false), (false, true), (true, true)] {
                    let is_within = |x: f64| if is_open { x < limit } else { x <= limit };
                    let term = |is: bool| Term::new(f64::from(u8::from(is)), 1.0);
                    let seen = samples.iter().zip(&values).map(|(&sample, &x)| (sample, term(is_within(x))));
                    let unseen = missing.iter().map(|&sample| (sample, term(is_missing_within)));
                    let rows: Vec<(u32, Term)> = seen.chain(unseen).collect();
                    let rows = UnitRows { rows, epochs: Vec::new(), limits: TermLimits::SHARE };
                    let ours = grouped.ratio(limit, is_open, is_missing_within).unwrap();
                    assert_eq!(ours, rows.ratio(units).unwrap());
                }
            }
        }
    }
}
