//! How much of a score's spread lies between units, and how much between attempts at one unit.
//!
//! A suite run several times has two sources of luck: which questions were asked, and how each attempt at
//! a question turned out. The law of total variance (Miller 2024) splits them,
//! Var(x̄) = (Var_q(μ_q) + E_q(σ_q²)/K)/n, and which part counts depends on the claim being made. All attempts
//! pooled as independent give an error that is right for neither claim.

use crate::sum::sum_of;
use crate::{Confidence, Interval, Moments, Quantity, StatisticCaveat, Undefined, mean::t_interval};

/// What an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Estimand {
    /// The score on questions like these: which questions were drawn counts as luck.
    Population,
    /// The score on exactly these questions, if run again: only the attempts count as luck.
    FixedSuite,
}

impl Estimand {
    /// The name used in results and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Population => "population",
            Self::FixedSuite => "fixed-suite",
        }
    }
}

/// The moments of each unit's attempts.
///
/// Units have dense codes: memory is 72 bytes times the largest code. Units may have different numbers of
/// attempts; codes without one are no units.
///
/// ```
/// use calipers_stats::components::UnitMoments;
///
/// let mut units = UnitMoments::default();
/// units.extend(&[0, 0, 1, 1], &[1.0, 0.0, 1.0, 1.0])?;
/// let components = units.components()?;
/// assert_eq!((components.units, components.attempts, components.mean), (2, 4, 0.75));
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct UnitMoments {
    units: Vec<Moments>,
}

impl UnitMoments {
    /// The moments of rows, one row of attempts per unit, coded by position.
    #[must_use]
    pub fn from_rows<R: AsRef<[f64]>>(rows: &[R]) -> Self {
        Self { units: rows.iter().map(|row| Moments::from_slice(row.as_ref())).collect() }
    }

    /// Folds in one attempt.
    pub fn add(&mut self, unit: u32, x: f64) {
        self.unit_mut(unit).add(x);
    }

    /// Folds in many attempts, each with its unit.
    ///
    /// Undefined, and without effect, when the lengths differ.
    pub fn extend(&mut self, units: &[u32], values: &[f64]) -> Result<(), Undefined> {
        Undefined::check_lengths(Quantity::ValuesAndUnits, units.len(), values.len())?;
        units.iter().zip(values).for_each(|(&unit, &x)| self.add(unit, x));
        Ok(())
    }

    /// Folds in all that another has seen, whose unit `u` is our `map[u]`.
    ///
    /// Undefined, and without effect, when the map is too short.
    pub fn merge(&mut self, other: &Self, map: &[u32]) -> Result<(), Undefined> {
        if map.len() < other.units.len() {
            return Undefined::check_lengths(Quantity::UnitsAndMap, other.units.len(), map.len());
        }
        for (theirs, &unit) in other.units.iter().zip(map).filter(|(theirs, _)| theirs.count() > 0) {
            self.unit_mut(unit).merge(theirs);
        }
        Ok(())
    }

    /// The moments of one unit, if it has attempts.
    #[must_use]
    pub fn get(&self, unit: u32) -> Option<&Moments> {
        self.units.get(unit as usize).filter(|moments| moments.count() > 0)
    }

    fn unit_mut(&mut self, unit: u32) -> &mut Moments {
        let index = unit as usize;
        if index >= self.units.len() {
            self.units.resize_with(index + 1, Moments::default);
        }
        &mut self.units[index]
    }

    /// The largest code plus one.
    pub(crate) fn codes(&self) -> u32 {
        u32::try_from(self.units.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn iter_occupied(&self) -> impl Iterator<Item = &Moments> {
        self.units.iter().filter(|moments| moments.count() > 0)
    }

    /// The components of variance. Undefined without attempts or with values that are not finite.
    pub fn components(&self) -> Result<Components, Undefined> {
        let mut all = Moments::default();
        let mut means = Moments::default();
        for moments in self.iter_occupied() {
            all.merge(moments);
            means.add(moments.mean()?);
        }
        let (units, attempts) = (means.count(), all.count());
        let ms_within = self.mean_square_within(units, attempts);
        let ms_between = self.mean_square_between(&all, units);
        let typical = self.typical_attempts(units, attempts);
        let fixed_suite = FixedSuite::of(self.iter_occupied());
        Ok(Components {
            units,
            attempts,
            mean: means.mean()?,
            mean_of_attempts: all.mean()?,
            ms_between,
            ms_within,
            between: between(ms_between, ms_within, typical),
            icc1: icc1(ms_between, ms_within, typical),
            se_population: check_units(units).and_then(|()| means.stderr()),
            se_fixed_suite: fixed_suite.map(FixedSuite::stderr),
            df_fixed_suite: fixed_suite.and_then(FixedSuite::df),
            se_naive_iid: all.stderr(),
            se_clustered_by_unit: self.clustered_error(&all, units),
        })
    }

    /// MSW = Σ(K_q − 1)s_q² / (N − n): the mean of s_q² when all units have as many attempts.
    fn mean_square_within(&self, units: u64, attempts: u64) -> Result<f64, Undefined> {
        if attempts == units {
            return Err(TOO_FEW_ATTEMPTS);
        }
        let squares = self.iter_occupied().filter(|moments| moments.count() > 1);
        let squares = squares.map(|moments| Ok(moments.variance()? * (moments.count() - 1) as f64));
        let squares: Vec<f64> = squares.collect::<Result<_, Undefined>>()?;
        Ok(sum_of(squares) / (attempts - units) as f64)
    }

    /// MSB = ΣK_q(x̄_q − x̄)² / (n − 1): K times the variance of the means when K is the same for all.
    fn mean_square_between(&self, all: &Moments, units: u64) -> Result<f64, Undefined> {
        check_units(units)?;
        let squares = self.distances(all).map(|(attempts, distance)| attempts * distance * distance);
        Undefined::check_finite(sum_of(squares) / (units - 1) as f64)
    }

    /// CR1 of the mean of attempts, √(ΣS_q² · n/(n−1))/N with S_q = K_q(x̄_q − x̄); see [`crate::cluster`].
    fn clustered_error(&self, all: &Moments, units: u64) -> Result<f64, Undefined> {
        check_units(units)?;
        let squares = sum_of(self.distances(all).map(|(attempts, distance)| (attempts * distance).powi(2)));
        let correction = units as f64 / (units - 1) as f64;
        Undefined::check_finite((squares * correction).sqrt() / all.count() as f64)
    }

    /// The number of attempts of each unit, and how far its mean lies from that of all attempts.
    fn distances(&self, all: &Moments) -> impl Iterator<Item = (f64, f64)> {
        let (grand, constant) = (all.wide_mean(), all.is_constant());
        self.iter_occupied().map(move |moments| {
            let distance = if constant { 0.0 } else { moments.wide_mean().minus(grand).value() };
            (moments.count() as f64, distance)
        })
    }

    /// K₀ = (N − ΣK_q²/N)/(n − 1), the number of attempts that makes the expected MSB that of equal K.
    fn typical_attempts(&self, units: u64, attempts: u64) -> f64 {
        let squares = sum_of(self.iter_occupied().map(|moments| (moments.count() as f64).powi(2)));
        (attempts as f64 - squares / attempts as f64) / (units as f64 - 1.0)
    }
}

pub(crate) const TOO_FEW_ATTEMPTS: Undefined = Undefined::TooFew { what: Quantity::AttemptsPerUnit, need: 2, have: 1 };

fn check_units(units: u64) -> Result<(), Undefined> {
    if units < 2 { Err(Undefined::TooFew { what: Quantity::Units, need: 2, have: units }) } else { Ok(()) }
}

fn between(ms_between: Result<f64, Undefined>, ms_within: Result<f64, Undefined>, k: f64) -> Result<f64, Undefined> {
    Ok(((ms_between? - ms_within?) / k).max(0.0))
}

fn icc1(ms_between: Result<f64, Undefined>, ms_within: Result<f64, Undefined>, k: f64) -> Result<f64, Undefined> {
    let (ms_between, ms_within) = (ms_between?, ms_within?);
    let total = ms_between + (k - 1.0) * ms_within;
    if total == 0.0 {
        Err(Undefined::NoSpread { what: Quantity::Attempts })
    } else {
        Ok((ms_between - ms_within) / total)
    }
}

/// The variance of a suite's mean through its attempts alone, as the sum of its parts v_q = s_q²/K_q.
///
/// A paired comparison adds the parts of both sides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedSuite {
    units: u64,
    /// Σ v_q
    variance: f64,
    /// Σ v_q²/(K_q − 1), for the degrees of freedom
    spread: f64,
}

impl FixedSuite {
    /// Undefined without a unit, and when any has but one attempt: its spread is unknown, and borrowing
    /// that of the others would assume that an easy question is as uncertain as a hard one.
    pub(crate) fn of<'a>(units: impl Iterator<Item = &'a Moments>) -> Result<Self, Undefined> {
        let (mut variances, mut spreads, mut count) = (Vec::new(), Vec::new(), 0);
        for moments in units {
            if moments.count() < 2 {
                return Err(TOO_FEW_ATTEMPTS);
            }
            let part = moments.variance()? / moments.count() as f64;
            variances.push(part);
            spreads.push(part * part / (moments.count() - 1) as f64);
            count += 1;
        }
        if count == 0 {
            return Err(Undefined::Empty);
        }
        Ok(Self { units: count, variance: sum_of(variances), spread: sum_of(spreads) })
    }

    /// The parts of a difference between two runs of the same units.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self { units: self.units, variance: self.variance + other.variance, spread: self.spread + other.spread }
    }

    /// √(Σ s_q²/K_q)/n.
    pub(crate) fn stderr(self) -> f64 {
        self.variance.sqrt() / self.units as f64
    }

    /// Satterthwaite's degrees of freedom, (Σv_q)² / Σ v_q²/(K_q − 1). Undefined when no attempt differs.
    pub(crate) fn df(self) -> Result<f64, Undefined> {
        if self.spread == 0.0 {
            return Err(Undefined::NoSpread { what: Quantity::Attempts });
        }
        Undefined::check_finite(self.variance * self.variance / self.spread)
    }
}

/// The components of variance of scores by unit, and the errors that follow from them.
///
/// Unequal numbers of attempts are weighted as in the one-way analysis of variance (Donner 1986).
///
/// ```
/// use calipers_stats::components::{Estimand, UnitMoments};
///
/// let rows = [[1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 0.0]];
/// let components = UnitMoments::from_rows(&rows).components()?;
/// let rerun = components.stderr(Estimand::FixedSuite)?;
/// assert!(rerun < components.stderr(Estimand::Population)?);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Components {
    /// The number of units.
    pub units: u64,
    /// The number of attempts at all units together.
    pub attempts: u64,
    /// The mean of the unit means: every unit counts the same, however often it was attempted.
    pub mean: f64,
    /// The mean of all attempts; the same when all units have as many.
    pub mean_of_attempts: f64,
    /// The mean square between units. Undefined with one unit.
    pub ms_between: Result<f64, Undefined>,
    /// The mean square within units, which estimates their variance. Undefined when no unit was attempted twice.
    pub ms_within: Result<f64, Undefined>,
    /// The variance between the units' true means, at least 0.
    pub between: Result<f64, Undefined>,
    /// The intraclass correlation ICC(1): how alike attempts at one unit are. Negative when they differ more
    /// than attempts at different units; undefined when nothing varies.
    pub icc1: Result<f64, Undefined>,
    /// The error for [`Estimand::Population`]: standard deviation of the unit means over √n.
    pub se_population: Result<f64, Undefined>,
    /// The error for [`Estimand::FixedSuite`]: √(Σ s_q²/K_q)/n. Undefined when any unit has one attempt.
    pub se_fixed_suite: Result<f64, Undefined>,
    /// Satterthwaite's degrees of freedom for [`se_fixed_suite`](Self::se_fixed_suite).
    pub df_fixed_suite: Result<f64, Undefined>,
    /// The error of all attempts pooled as independent: right for neither claim, shown as a warning.
    pub se_naive_iid: Result<f64, Undefined>,
    /// The CR1 error of the mean of attempts, clustered by unit. Equals
    /// [`se_population`](Self::se_population) when all units have as many attempts.
    pub se_clustered_by_unit: Result<f64, Undefined>,
}

impl Components {
    /// The error of [`mean`](Self::mean) for the claim made.
    pub fn stderr(&self, estimand: Estimand) -> Result<f64, Undefined> {
        match estimand {
            Estimand::Population => self.se_population,
            Estimand::FixedSuite => self.se_fixed_suite,
        }
    }

    /// The t interval of [`mean`](Self::mean) for the claim made, with n − 1 or Satterthwaite's degrees of freedom.
    pub fn interval(&self, estimand: Estimand, confidence: Confidence) -> Result<Interval, Undefined> {
        let stderr = self.stderr(estimand)?;
        let df = match estimand {
            Estimand::Population => self.units as f64 - 1.0,
            Estimand::FixedSuite => self.df_fixed_suite?,
        };
        t_interval(self.mean, stderr, df, confidence)
    }

    /// What to beware of: attempts that never differ.
    #[must_use]
    pub fn caveats(&self) -> Vec<StatisticCaveat> {
        if self.ms_within == Ok(0.0) { vec![StatisticCaveat::IdenticalAttempts] } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn components<R: AsRef<[f64]>>(rows: &[R]) -> Components {
        UnitMoments::from_rows(rows).components().unwrap()
    }

    #[test]
    fn one_attempt_each_leaves_the_run_to_run_error_unknown() {
        let single = components(&[[1.0], [0.0], [1.0]]);
        assert_eq!(single.se_fixed_suite, Err(TOO_FEW_ATTEMPTS));
        assert_eq!(single.ms_within, Err(TOO_FEW_ATTEMPTS));
        assert_eq!(single.se_population, single.se_naive_iid);
        let mixed = components(&[vec![1.0, 0.0], vec![0.0]]);
        assert_eq!(mixed.ms_within, Ok(0.5));
        assert_eq!(mixed.se_fixed_suite, Err(TOO_FEW_ATTEMPTS));
    }

    #[test]
    fn one_unit_has_a_run_to_run_error_only() {
        let alone = components(&[[1.0, 0.0]]);
        assert_eq!(alone.se_fixed_suite, Ok(0.5));
        let too_few = Err(Undefined::TooFew { what: Quantity::Units, need: 2, have: 1 });
        assert_eq!((alone.se_population, alone.ms_between, alone.icc1), (too_few, too_few, too_few));
        assert_eq!(UnitMoments::default().components(), Err(Undefined::Empty));
    }

    #[test]
    fn identical_attempts_are_pointed_out() {
        let same = components(&[[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]);
        assert_eq!(same.caveats(), [StatisticCaveat::IdenticalAttempts]);
        assert_eq!((same.icc1, same.se_fixed_suite), (Ok(1.0), Ok(0.0)));
        let constant = components(&[[1.0, 1.0], [1.0, 1.0]]);
        assert_eq!(constant.icc1, Err(Undefined::NoSpread { what: Quantity::Attempts }));
    }

    #[test]
    fn forty_tasks_of_five_epochs_need_the_right_error() {
        // Deterministic tasks: 25 always pass, 15 never do. The suite has no run-to-run luck at all, and
        // pooling the attempts makes the error for new tasks more than twice too small.
        let rows: Vec<[f64; 5]> = (0..40).map(|task| if task < 25 { [1.0; 5] } else { [0.0; 5] }).collect();
        let suite = components(&rows);
        assert_eq!(suite.se_fixed_suite, Ok(0.0));
        let ratio = suite.se_population.unwrap() / suite.se_naive_iid.unwrap();
        assert!((ratio - (5.0f64 * 199.0 / 195.0).sqrt()).abs() < 1e-12, "{ratio}");
    }

    fn suite() -> impl Strategy<Value = Vec<Vec<f64>>> {
        (2usize..20, 2usize..6).prop_flat_map(|(units, attempts)| {
            prop::collection::vec(prop::collection::vec(-1e2f64..1e2, attempts), units)
        })
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-6)
    }

    proptest! {
        #[test]
        fn equal_attempts_make_the_clustered_error_that_of_the_unit_means(rows in suite()) {
            let got = components(&rows);
            prop_assert!(close(got.se_clustered_by_unit.unwrap(), got.se_population.unwrap()));
            prop_assert!(close(got.mean, got.mean_of_attempts));
        }

        #[test]
        fn the_error_by_unit_is_that_of_the_cluster_module(rows in prop::collection::vec((0u32..9, -1e2f64..1e2), 20..60)) {
            let (units, values): (Vec<u32>, Vec<f64>) = rows.into_iter().unzip();
            let mut moments = UnitMoments::default();
            moments.extend(&units, &values).unwrap();
            let want = crate::cluster::estimate_clustered(&values, &units).unwrap().cr1;
            prop_assert!(close(moments.components().unwrap().se_clustered_by_unit.unwrap(), want));
        }

        #[test]
        fn equal_attempts_follow_the_textbook_identities(rows in suite()) {
            let got = components(&rows);
            let (n, k) = (rows.len() as f64, rows[0].len() as f64);
            let (msb, msw) = (got.ms_between.unwrap(), got.ms_within.unwrap());
            // Var(x̄) = (between + within/K)/n, before the between component is cut at 0.
            prop_assert!(close(got.se_population.unwrap(), (msb / (n * k)).sqrt()));
            prop_assert!(close(got.se_fixed_suite.unwrap(), (msw / (n * k)).sqrt()));
            prop_assert!(close(got.between.unwrap(), ((msb - msw) / k).max(0.0)));
            prop_assert!(close(got.icc1.unwrap(), (msb - msw) / (msb + (k - 1.0) * msw)));
            // The squares of the two levels add up to those of the pooled attempts.
            let total = (n - 1.0) * msb + n * (k - 1.0) * msw;
            let pooled = got.se_naive_iid.unwrap().powi(2) * n * k * (n * k - 1.0);
            prop_assert!(close(total, pooled));
        }

        #[test]
        fn shards_give_the_same_bits(rows in suite(), cut in 0usize..20) {
            let pairs: Vec<(u32, f64)> =
                (0u32..).zip(&rows).flat_map(|(unit, row)| row.iter().map(move |&x| (unit, x))).collect();
            let (left, right) = pairs.split_at(cut.min(pairs.len()));
            let (mut ours, mut theirs) = (UnitMoments::default(), UnitMoments::default());
            left.iter().rev().for_each(|&(unit, x)| ours.add(unit, x));
            right.iter().for_each(|&(unit, x)| theirs.add(unit, x));
            let map: Vec<u32> = (0..rows.len() as u32).collect();
            ours.merge(&theirs, &map).unwrap();
            prop_assert_eq!(ours.components(), UnitMoments::from_rows(&rows).components());
        }
    }
}
