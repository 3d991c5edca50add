//! From what a figure rests on to sums over independent units.
//!
//! Every bound of a gate is one of a ratio of sums over units that are independent of one another: samples, clusters of
//! samples, or, where only a rerun of the same suite is asked about, attempts. A unit adds a numerator and a denominator, and
//! an unseen one could add the worst or the best that is possible ([`BoundedRatio`]).

use crate::Unbounded;
use calipers_core::{Evidence, RatioLimits};
use calipers_stats::bounded_ratio::{BoundedRatio, Term};

/// How many times as large as the largest value seen an unseen one may be, where nothing else limits it.
///
/// In simulations of lognormal (σ up to 1.5), gamma (0.3) and Pareto (2.2) values, gates keep
/// their level from ten samples on with 5, and not with 3. A rare value that is larger yet, and was not seen, deceives them.
const UNSEEN_TIMES: f64 = 5.0;

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
    fn samples_max(self) -> f64 {
        let Units::Clusters(clusters) = self else { return 1.0 };
        let mut sizes = vec![0u32; clusters.iter().max().map_or(0, |&last| last as usize + 1)];
        clusters.iter().for_each(|&cluster| sizes[cluster as usize] += 1);
        f64::from(sizes.into_iter().max().unwrap_or(1).max(1))
    }
}

/// What the terms of a ratio are limited by.
#[derive(Clone, Copy)]
pub(super) enum TermLimits {
    /// Each unit adds a part of its size. An unseen one may be as large as the largest, and fail or succeed as a whole.
    Share,
    /// Samples count up to this much, at worst and at best.
    Counts { least: Term, most: Term },
    /// Values without limits: cost, tokens, time, grades on a scale of their own.
    OpenMean,
    /// Something per something that has no limit, such as quality per token. Grades of attempts are at most 1 each.
    OpenRatio { attempts: u32 },
}

/// The worst and the best that an unseen unit could add.
#[derive(Clone, Copy)]
pub(super) struct UnseenUnit {
    pub(super) least: Term,
    pub(super) most: Term,
    /// True when that is not a limit, but guessed from the largest values.
    pub(super) is_guess: bool,
}

/// What samples add to a ratio. A sample has a row for each of its attempts where attempts are looked at one by one.
pub(super) struct UnitRows {
    pub(super) rows: Vec<(u32, Term)>,
    pub(super) limits: TermLimits,
}

/// A ratio over units.
pub(super) struct UnitRatio {
    pub(super) ratio: BoundedRatio,
    pub(super) is_guess: bool,
}

impl UnitRows {
    /// The rows of a ratio of sums. Samples without a value are left out, or taken for the best (true) or the worst.
    pub(super) fn of_ratio(evidence: &Evidence, is_good: Option<bool>) -> Result<Self, Unbounded> {
        let Evidence::Ratio { samples, numerators, denominators, missing, limits, attempts_max } = evidence else {
            return Err(Unbounded::NoValues);
        };
        let pairs = numerators.iter().zip(denominators).map(|(&y, &x)| Term::new(y, x));
        let mut rows: Vec<(u32, Term)> = samples.iter().copied().zip(pairs).collect();
        let denominator_max = denominators.iter().copied().fold(0.0, f64::max);
        let ends = limits.of_sample(*attempts_max, denominator_max).map(|ends| ends.map(|(y, x)| Term::new(y, x)));
        if let Some(is_good) = is_good.filter(|_| !missing.is_empty()) {
            let Some(ends) = ends else {
                return Err(Unbounded::UnscoredWithoutLimit { samples: missing.len() as u64 });
            };
            rows.extend(missing.iter().map(|&sample| (sample, ends[usize::from(is_good)])));
        }
        let limits = match (limits, ends) {
            (RatioLimits::Counts { .. }, Some([least, most])) => TermLimits::Counts { least, most },
            (RatioLimits::Parts, _) => TermLimits::Share,
            (RatioLimits::Amounts, _) => TermLimits::OpenMean,
            _ => TermLimits::OpenRatio { attempts: *attempts_max },
        };
        Ok(Self { rows, limits })
    }

    /// The ratio over units.
    pub(super) fn ratio(&self, units: Units<'_>) -> Result<UnitRatio, Unbounded> {
        if self.rows.is_empty() {
            return Err(Unbounded::NoValues);
        }
        let terms = units.add_up(&self.rows);
        let unseen = self.limits.unseen(&terms, units);
        let ratio = BoundedRatio::new(terms, unseen.least, unseen.most).map_err(Unbounded::Statistic)?;
        Ok(UnitRatio { ratio, is_guess: unseen.is_guess })
    }

    /// What an unseen unit could add.
    pub(super) fn unseen(&self, units: Units<'_>) -> UnseenUnit {
        self.limits.unseen(&units.add_up(&self.rows), units)
    }
}

impl TermLimits {
    fn unseen(self, terms: &[Term], units: Units<'_>) -> UnseenUnit {
        let largest = |of: fn(&Term) -> f64| terms.iter().map(of).fold(0.0, f64::max);
        let size = largest(|term| term.denominator);
        let (low, high) = (-largest(|term| -term.numerator), largest(|term| term.numerator));
        let times =
            |term: Term| Term::new(term.numerator * units.samples_max(), term.denominator * units.samples_max());
        let (least, most, is_guess) = match self {
            Self::Share => (Term::new(0.0, size), Term::new(size, size), false),
            Self::Counts { least, most } => (times(least), times(most), false),
            Self::OpenMean => {
                // Values that are never negative have a limit below; otherwise the lowest one says how low others may be.
                let sizes = terms.iter().map(|term| term.denominator).filter(|size| *size > 0.0);
                let size_min = sizes.fold(size, f64::min);
                (Term::new(UNSEEN_TIMES * low, size), Term::new(UNSEEN_TIMES * high, size_min), true)
            }
            Self::OpenRatio { attempts } => {
                let best = f64::from(attempts) * units.samples_max();
                let best = if low >= 0.0 && high <= best { best } else { UNSEEN_TIMES * high };
                (Term::new(UNSEEN_TIMES * low, UNSEEN_TIMES * size), Term::new(best, 0.0), true)
            }
        };
        UnseenUnit { least, most, is_guess }
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
        let rows = UnitRows { rows: ones(&[0, 1, 2, 3, 4]), limits: TermLimits::Share };
        let ratio = rows.ratio(Units::Clusters(&clusters)).unwrap().ratio;
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
            UnitRows { rows, limits: TermLimits::Share }.ratio(Units::Clusters(&clusters)).unwrap().ratio
        };
        assert_eq!(rows(&[0, 1, 2, 3, 4, 5]), rows(&[4, 1, 0, 5, 2, 3]));
    }
}
