//! The attempts of each unit, side by side: how many of them are within a limit is asked for many limits.

use super::units::{UnitKey, Units};
use crate::Unbounded;
use calipers_stats::bounded_ratio::{BoundedRatio, Term};
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

/// Units of at most this many attempts are counted in a table, larger ones one by one.
const TABLE_ATTEMPTS_MAX: usize = 100;

/// The values of a quantile by unit.
pub(super) struct QuantileUnits {
    /// The samples of the values and of those that are missing, and the values as they came: what tells whether others are the same.
    of: (Vec<u32>, Vec<f64>),
    /// The values, those of a unit together.
    values: Vec<f64>,
    /// For each unit where its values end, and how many of its attempts have none.
    units: Vec<(usize, usize)>,
    limits: OnceCell<Vec<f64>>,
}

/// What was grouped once for all gates of a judge: latencies have several quantiles, and a quantile several gates.
pub(super) type KnownUnits = RefCell<Vec<Rc<QuantileUnits>>>;

impl QuantileUnits {
    /// From the values of attempts and the samples whose attempts lack one and are to be filled in.
    pub(super) fn new(units: Units<'_>, samples: &[u32], values: &[f64], missing: &[u32]) -> Self {
        let keys = units.keys(samples.iter().chain(missing).copied());
        let known = values.iter().copied().map(Some).chain(missing.iter().map(|_| None));
        let mut rows: Vec<(UnitKey, Option<f64>)> = keys.into_iter().zip(known).collect();
        if !rows.is_sorted_by_key(|row| row.0) {
            rows.sort_by_key(|row| row.0);
        }
        let of = (samples.iter().chain(missing).copied().collect(), values.to_vec());
        let (values, units) = (Vec::with_capacity(values.len()), Vec::new());
        let mut grouped = Self { of, values, units, limits: OnceCell::new() };
        for unit in rows.chunk_by(|a, b| a.0 == b.0) {
            grouped.values.extend(unit.iter().filter_map(|row| row.1));
            grouped.units.push((grouped.values.len(), unit.iter().filter(|row| row.1.is_none()).count()));
        }
        grouped
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
        self.limits.get_or_init(|| {
            let mut limits: Vec<f64> = self.values.iter().copied().filter(|x| x.is_finite()).collect();
            limits.sort_unstable_by(f64::total_cmp);
            limits.dedup();
            limits
        })
    }

    /// The share of attempts within a limit; those without a value are, or are not.
    pub(super) fn ratio(
        &self,
        is_within: impl Fn(f64) -> bool,
        is_missing_within: bool,
    ) -> Result<BoundedRatio, Unbounded> {
        let counts = || {
            let mut start = 0;
            self.units.iter().map(move |&(end, missing)| {
                let (from, all) = (start, end - start + missing);
                start = end;
                (from, end, missing, all)
            })
        };
        let Some(most) = counts().map(|(.., all)| all).max() else { return Err(Unbounded::NoValues) };
        let within = |(from, end, missing, all): (usize, usize, usize, usize)| {
            let known = self.values[from..end].iter().filter(|x| is_within(**x)).count();
            (if is_missing_within { known + missing } else { known }, all)
        };
        let term = |(within, all): (usize, usize)| Term::new(within as f64, all as f64);
        let (least, best) = (term((0, most)), term((most, most)));
        let ratio = if most <= TABLE_ATTEMPTS_MAX {
            let mut table = vec![0u64; (most + 1) * (most + 1)];
            counts().map(within).for_each(|(within, all)| table[all * (most + 1) + within] += 1);
            let counted =
                table.iter().enumerate().map(|(at, count)| (term((at % (most + 1), at / (most + 1))), *count));
            BoundedRatio::counted(counted, least, best)
        } else {
            BoundedRatio::new(counts().map(within).map(term), least, best)
        };
        ratio.map_err(Unbounded::Statistic)
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
                for is_missing_within in [false, true] {
                    let term = |is: bool| Term::new(f64::from(u8::from(is)), 1.0);
                    let seen = samples.iter().zip(&values).map(|(&sample, &x)| (sample, term(x <= limit)));
                    let unseen = missing.iter().map(|&sample| (sample, term(is_missing_within)));
                    let rows = UnitRows { rows: seen.chain(unseen).collect(), limits: TermLimits::SHARE };
                    let ours = grouped.ratio(|x| x <= limit, is_missing_within).unwrap();
                    assert_eq!(ours, rows.ratio(units).unwrap());
                }
            }
        }
    }
}
