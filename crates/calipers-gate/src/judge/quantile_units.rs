//! The attempts of each unit, side by side: how many of them are within a limit is asked for many limits.

use super::units::{UnitKey, Units};
use crate::Unbounded;
use calipers_stats::bounded_ratio::{BoundedRatio, Term};

/// Units of at most this many attempts are counted in a table, larger ones one by one.
const TABLE_ATTEMPTS_MAX: usize = 100;

/// The values of a quantile by unit.
pub(super) struct QuantileUnits {
    /// The values, those of a unit together.
    values: Vec<f64>,
    /// For each unit where its values end, and how many of its attempts have none.
    units: Vec<(usize, usize)>,
    /// The finite values that there are, in order.
    pub(super) limits: Vec<f64>,
}

impl QuantileUnits {
    /// From the values of attempts and the samples whose attempts lack one and are to be filled in.
    pub(super) fn new(units: Units<'_>, samples: &[u32], values: &[f64], missing: &[u32]) -> Self {
        let keys = units.keys(samples.iter().chain(missing).copied());
        let known = values.iter().copied().map(Some).chain(missing.iter().map(|_| None));
        let mut rows: Vec<(UnitKey, Option<f64>)> = keys.into_iter().zip(known).collect();
        if !rows.is_sorted_by_key(|row| row.0) {
            rows.sort_by_key(|row| row.0);
        }
        let mut grouped = Self { values: Vec::with_capacity(values.len()), units: Vec::new(), limits: Vec::new() };
        for unit in rows.chunk_by(|a, b| a.0 == b.0) {
            grouped.values.extend(unit.iter().filter_map(|row| row.1));
            grouped.units.push((grouped.values.len(), unit.iter().filter(|row| row.1.is_none()).count()));
        }
        grouped.limits = values.iter().copied().filter(|x| x.is_finite()).collect();
        grouped.limits.sort_unstable_by(f64::total_cmp);
        grouped.limits.dedup();
        grouped
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
            assert_eq!(grouped.limits, [1.0, 2.0, 3.0, 5.0]);
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
