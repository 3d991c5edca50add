//! From what a figure rests on to sums over independent units.
//!
//! Every bound of a gate is one of a ratio of sums over units that are independent of one another: samples, clusters of
//! samples, or, where only a rerun of the same suite is asked about, attempts. A unit adds a numerator and a denominator, and
//! an unseen one could add the worst or the best that is possible ([`BoundedRatio`]).

use super::measurement::PartlyScored;
use crate::Unbounded;
use crate::limits::{LimitEnd, ValueRanges};
use crate::policy::Rule;
use calipers_core::{Evidence, PartlyMissing, RatioLimits};
use calipers_stats::bounded_ratio::{BoundedRatio, Term};
use std::collections::HashMap;

/// What is independent of what in a run.
#[derive(Clone, Copy)]
pub(super) enum Units<'a> {
    /// Samples are.
    Samples,
    /// Clusters are: for each sample of the run, its cluster.
    Clusters(&'a [u32]),
    /// Attempts are, since the samples are given: those of each sample count as one together.
    Attempts,
}

/// A unit: a sample or a cluster, and of a sample the attempt, where attempts are the units.
pub(super) type UnitKey = (u32, u32);

impl Units<'_> {
    /// The unit of each of these samples, which occur once for each of their rows.
    pub(super) fn keys(self, samples: impl Iterator<Item = u32>) -> Vec<UnitKey> {
        let mut seen: Vec<u32> = Vec::new();
        let key = |sample: u32| match self {
            Units::Samples => (sample, 0),
            Units::Clusters(clusters) => (clusters[sample as usize], 0),
            Units::Attempts => {
                let place = sample as usize;
                seen.resize(seen.len().max(place + 1), 0);
                seen[place] += 1;
                (sample, seen[place])
            }
        };
        samples.map(key).collect()
    }

    /// The terms of rows, added up by unit. In one order, so that the order of arrival changes no bit.
    fn add_up(self, rows: &[(u32, Term)]) -> Vec<Term> {
        let keys = self.keys(rows.iter().map(|row| row.0));
        if keys.windows(2).all(|pair| pair[0] < pair[1]) || matches!(self, Units::Attempts) {
            return rows.iter().map(|row| row.1).collect();
        }
        let mut keyed: Vec<(UnitKey, Term)> = keys.into_iter().zip(rows.iter().map(|row| row.1)).collect();
        // Attempts of a sample stand side by side, and are counted: whole numbers have one sum.
        let is_counted = |term: &Term| term.numerator.fract() == 0.0 && term.denominator.fract() == 0.0;
        if !keyed.is_sorted_by_key(|row| row.0) || !keyed.iter().all(|row| is_counted(&row.1)) {
            keyed.sort_by(|(a, x), (b, y)| {
                a.cmp(b).then(x.denominator.total_cmp(&y.denominator)).then(x.numerator.total_cmp(&y.numerator))
            });
        }
        let sum = |rows: &[(UnitKey, Term)]| {
            let (mut numerator, mut denominator) = (0.0, 0.0);
            for (_, term) in rows {
                numerator += term.numerator;
                denominator += term.denominator;
            }
            Term::new(numerator, denominator)
        };
        keyed.chunk_by(|a, b| a.0 == b.0).map(sum).collect()
    }

    /// The number of samples of the run in its largest unit.
    pub(super) fn samples_max(self) -> f64 {
        let Units::Clusters(clusters) = self else { return 1.0 };
        let mut sizes = vec![0u32; clusters.iter().max().map_or(0, |&last| last as usize + 1)];
        clusters.iter().for_each(|&cluster| sizes[cluster as usize] += 1);
        f64::from(sizes.into_iter().max().unwrap_or(1).max(1))
    }
}

/// The least and the greatest that something can be, where that is known.
pub(super) type Ends = (Option<f64>, Option<f64>);

/// What the terms of a ratio are limited by.
#[derive(Clone, Copy)]
pub(super) enum TermLimits {
    /// Each unit adds its size times a value between these. An unseen one may be as large as the largest.
    Within(Ends),
    /// Samples count up to this much, at worst and at best.
    Counts { least: Term, most: Term },
    /// Something per something, such as quality per token: what an attempt can add to either sum.
    PerAttempt { numerator: Ends, denominator: Ends, attempts: u32 },
}

impl TermLimits {
    /// Parts of a whole.
    pub(super) const SHARE: Self = Self::Within((Some(0.0), Some(1.0)));
}

/// The worst and the best that an unseen unit could add; none where nothing limits it.
#[derive(Clone, Copy)]
pub(super) struct UnseenUnit {
    pub(super) least: Option<Term>,
    pub(super) most: Option<Term>,
}

/// What samples add to a ratio. A sample has a row for each of its attempts where attempts are looked at one by one.
pub(super) struct UnitRows {
    pub(super) rows: Vec<(u32, Term)>,
    /// Where attempts are the units, the epoch of each row: the rows of two metrics are joined by it.
    pub(super) epochs: Vec<u32>,
    pub(super) limits: TermLimits,
}

/// Both ends of a range of values, for a gate with this rule; in a formula, for none.
pub(super) fn ends_of(ranges: &ValueRanges, rule: Option<Rule>) -> Ends {
    let end = |end| ranges.value.end(end, rule).ok();
    (end(LimitEnd::Least), end(LimitEnd::Most))
}

impl UnitRows {
    /// The rows of a ratio of sums. Samples without a value are left out, or taken for the best (true) or the worst.
    pub(super) fn of_ratio(
        evidence: &Evidence,
        ranges: &ValueRanges,
        rule: Option<Rule>,
        is_good: Option<bool>,
        partly: &PartlyScored,
    ) -> Result<Self, Unbounded> {
        let Evidence::Ratio { samples, numerators, denominators, missing, limits, attempts_max } = evidence else {
            return Err(Unbounded::NoValues);
        };
        let pairs = numerators.iter().zip(denominators).map(|(&y, &x)| Term::new(y, x));
        let mut rows: Vec<(u32, Term)> = samples.iter().copied().zip(pairs).collect();
        let denominator_max = denominators.iter().copied().fold(0.0, f64::max);
        let term = |(y, x): (f64, f64)| Term::new(y, x);
        let limits = match (limits, limits.of_sample(*attempts_max, denominator_max)) {
            (RatioLimits::Counts { .. }, Some([least, most])) => {
                TermLimits::Counts { least: term(least), most: term(most) }
            }
            (RatioLimits::Parts, _) => TermLimits::SHARE,
            (RatioLimits::Amounts, _) => TermLimits::Within(ends_of(ranges, rule)),
            _ => {
                let denominator = ranges.per.as_ref().map_or((None, None), |per| {
                    let end = |end| per.end(end, None).ok();
                    (end(LimitEnd::Least), end(LimitEnd::Most))
                });
                TermLimits::PerAttempt { numerator: ends_of(ranges, None), denominator, attempts: *attempts_max }
            }
        };
        if let Some(is_good) = is_good.filter(|_| !missing.is_empty() || !partly.is_empty()) {
            let without_limit =
                Unbounded::UnscoredWithoutLimit { samples: (missing.len() + partly.iter().count()) as u64 };
            let fill = |size: f64| {
                let unseen = limits.of_size(size, 1.0);
                (if is_good { unseen.most } else { unseen.least }).ok_or(without_limit.clone())
            };
            let is_sized = matches!(limits, TermLimits::Within(_));
            let one = fill(if is_sized { denominator_max } else { 1.0 })?;
            let known = rows.len();
            rows.extend(missing.iter().map(|&sample| (sample, one)));
            let sizes: HashMap<u32, f64> =
                rows[..known].iter().map(|(sample, term)| (*sample, term.denominator)).collect();
            for PartlyMissing { sample, missing, attempts } in partly.iter() {
                let filled = if is_sized {
                    // The attempts at a sample are about as large as one another.
                    let size = sizes.get(&sample).copied().unwrap_or(0.0);
                    fill(size * f64::from(missing) / f64::from(attempts - missing))?
                } else {
                    let part = f64::from(missing) / f64::from(*attempts_max).max(1.0);
                    Term::new(one.numerator * part, one.denominator * part)
                };
                rows.push((sample, filled));
            }
        }
        Ok(Self { rows, epochs: Vec::new(), limits })
    }

    /// The unit of each row, by which rows of other metrics can be found.
    pub(super) fn keys(&self, units: Units<'_>) -> Vec<UnitKey> {
        let samples = self.rows.iter().map(|row| row.0);
        match units {
            Units::Attempts => samples.zip(self.epochs.iter().copied()).collect(),
            _ => units.keys(samples),
        }
    }

    /// The ratio over units.
    pub(super) fn ratio(&self, units: Units<'_>) -> Result<BoundedRatio, Unbounded> {
        if self.rows.is_empty() {
            return Err(Unbounded::NoValues);
        }
        let terms = units.add_up(&self.rows);
        let unseen = self.limits.unseen(&terms, units);
        BoundedRatio::new(terms, unseen.least, unseen.most).map_err(Unbounded::Statistic)
    }

    /// What an unseen unit could add.
    pub(super) fn unseen(&self, units: Units<'_>) -> UnseenUnit {
        self.limits.unseen(&units.add_up(&self.rows), units)
    }

    /// What an unseen unit of the size of each unit could add; none where a unit may be of another size, as where predictions are
    /// counted.
    pub(super) fn unseen_of_each(&self, units: Units<'_>) -> Option<Vec<(UnitKey, UnseenUnit)>> {
        let TermLimits::Within(_) = self.limits else { return None };
        let keys = self.keys(units);
        let mut sizes: Vec<(UnitKey, f64)> =
            keys.into_iter().zip(self.rows.iter().map(|row| row.1.denominator)).collect();
        // In one order, so that the order of arrival changes no bit: whole numbers have one sum.
        if !sizes.is_sorted_by_key(|row| row.0) || sizes.iter().any(|row| row.1.fract() != 0.0) {
            sizes.sort_by(|(a, x), (b, y)| a.cmp(b).then(x.total_cmp(y)));
        }
        let one = |rows: &[(UnitKey, f64)]| (rows[0].0, self.limits.of_size(rows.iter().map(|row| row.1).sum(), 1.0));
        Some(sizes.chunk_by(|a, b| a.0 == b.0).map(one).collect())
    }
}

impl TermLimits {
    /// True when there is a limit to the worst and to the best that a unit could add.
    pub(super) fn has_ends(self) -> bool {
        let UnseenUnit { least, most } = self.of_size(1.0, 1.0);
        least.is_some() && most.is_some()
    }

    fn unseen(self, terms: &[Term], units: Units<'_>) -> UnseenUnit {
        self.of_size(terms.iter().map(|term| term.denominator).fold(0.0, f64::max), units.samples_max())
    }

    /// What a unit of this size and of so many samples could add.
    fn of_size(self, size: f64, samples: f64) -> UnseenUnit {
        match self {
            Self::Within((low, high)) => {
                let term = |value: f64| Term::new(value * size, size);
                UnseenUnit { least: low.map(term), most: high.map(term) }
            }
            Self::Counts { least, most } => {
                let times = |term: Term| Term::new(term.numerator * samples, term.denominator * samples);
                UnseenUnit { least: Some(times(least)), most: Some(times(most)) }
            }
            Self::PerAttempt { numerator, denominator, attempts } => {
                let times = f64::from(attempts) * samples;
                let term = |y: f64, x: f64| Term::new(y * times, x * times);
                // With a negative numerator, little of the denominator may be worse than much.
                let least = numerator.0.filter(|y| *y >= 0.0).zip(denominator.1);
                let most = numerator.1.zip(denominator.0);
                UnseenUnit { least: least.map(|(y, x)| term(y, x)), most: most.map(|(y, x)| term(y, x)) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ones(samples: &[u32]) -> Vec<(u32, Term)> {
        samples.iter().map(|&sample| (sample, Term::new(1.0, 1.0))).collect()
    }

    #[test]
    fn the_largest_cluster_is_what_an_unseen_one_could_be() {
        let clusters = [0, 0, 0, 1, 2];
        let rows = UnitRows { rows: ones(&[0, 1, 2, 3, 4]), epochs: Vec::new(), limits: TermLimits::SHARE };
        let ratio = rows.ratio(Units::Clusters(&clusters)).unwrap();
        assert_eq!(ratio.units(), 3);
        // Three units of 3, 1 and 1 against an unseen one of 3 that fails.
        let want = [3.0, 1.0, 1.0].map(|m| 0.9 * 3.0 / (0.9 * 3.0 + 0.1 * m)).iter().product::<f64>();
        assert!((ratio.p_above(0.9) - want).abs() < 1e-12);
    }

    #[test]
    fn the_order_of_rows_changes_no_bit() {
        let clusters = [0, 1, 0, 1, 0, 1];
        let values = [0.1, 0.7, 0.3, 0.2, 0.6, 0.9];
        let rows = |order: &[u32]| {
            let rows = order.iter().map(|&s| (s, Term::new(values[s as usize], 1.0))).collect();
            UnitRows { rows, epochs: Vec::new(), limits: TermLimits::SHARE }.ratio(Units::Clusters(&clusters)).unwrap()
        };
        assert_eq!(rows(&[0, 1, 2, 3, 4, 5]), rows(&[4, 1, 0, 5, 2, 3]));
    }
}
