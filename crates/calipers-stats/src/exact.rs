//! Tests of paired differences that need no normal theory.
//!
//! When nothing distinguishes two runs, each difference is as likely to be d as −d. Counting how many
//! of the sign patterns are at least as extreme as the one seen gives a p-value that is right at any size.

use crate::cluster::ClusterSums;
use crate::sum::sum;
use crate::{Quantity, Seed, Undefined, special};

/// P(X ≤ less) twice, for X ~ Binomial(total, ½): the two-sided exact test of an even split.
fn even_split_p(less: u64, total: u64) -> f64 {
    // As even as can be: both tails together are everything.
    if total.abs_diff(less) <= less.saturating_add(1) {
        return 1.0;
    }
    as_probability(2.0 * special::binomial_cdf(less, total, 0.5))
}

/// What was seen has a probability, even where it is too small for a double.
fn as_probability(p: f64) -> f64 {
    p.clamp(f64::MIN_POSITIVE, 1.0)
}

/// McNemar's test of two runs that pass or fail the same samples.
///
/// Only discordant pairs count: `first` samples that only the first run passed, `second` that only the
/// second did.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct McNemar {
    /// The exact conditional p-value; 1 without discordant pairs. For gates.
    pub p_exact: f64,
    /// The mid-p-value, less conservative (Fagerland, Lydersen and Laake 2013). For reports.
    pub p_mid: f64,
    /// The continuity-corrected χ², for comparison with other tools. 0 when both runs win as often, as in R
    /// (statsmodels gives 1/(b+c)); undefined without discordant pairs.
    pub chi2: Result<f64, Undefined>,
    /// The p-value of [`chi2`](Self::chi2).
    pub p_chi2: Result<f64, Undefined>,
}

/// McNemar's test from the numbers of discordant pairs.
///
/// ```
/// use calipers_stats::exact::mcnemar;
///
/// let test = mcnemar(12, 3);
/// assert!((test.p_exact - 0.03515625).abs() < 1e-12);
/// assert!(test.p_mid < test.p_exact);
/// assert_eq!(mcnemar(0, 0).p_exact, 1.0);
/// ```
#[must_use]
pub fn mcnemar(first: u64, second: u64) -> McNemar {
    let total = first.saturating_add(second);
    let less = first.min(second);
    let p_exact = even_split_p(less, total);
    let chi2 = mcnemar_chi2(first, second, total as f64);
    McNemar {
        p_exact,
        p_mid: if first == second { 1.0 } else { as_probability(p_exact - special::binomial_pmf(less, total, 0.5)) },
        chi2,
        p_chi2: chi2.map(|chi2| 2.0 * special::normal_cdf(-chi2.sqrt())),
    }
}

fn mcnemar_chi2(first: u64, second: u64, total: f64) -> Result<f64, Undefined> {
    if total == 0.0 {
        return Err(Undefined::ZeroDenominator { what: Quantity::DiscordantPairs });
    }
    let excess = first.abs_diff(second).saturating_sub(1) as f64;
    Ok(excess * excess / total)
}

/// The sign test: how often differences are positive, zeros dropped.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SignTest {
    /// The number of positive differences.
    pub positive: u64,
    /// The number of negative differences.
    pub negative: u64,
    /// The number of zeros, which say nothing.
    pub zeros: u64,
    /// The two-sided exact p-value; 1 when all differences are zero.
    pub p: f64,
}

/// The sign test of paired differences.
///
/// Undefined for no differences, and for those that are infinite or not numbers.
///
/// ```
/// use calipers_stats::exact::sign_test;
///
/// let test = sign_test(&[0.1, 0.3, 0.0, 0.2, 0.1, -0.1])?;
/// assert_eq!((test.positive, test.negative, test.zeros), (4, 1, 1));
/// assert!((test.p - 0.375).abs() < 1e-12);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn sign_test(differences: &[f64]) -> Result<SignTest, Undefined> {
    check_all_finite(differences)?;
    let count = |keep: fn(f64) -> bool| differences.iter().filter(|&&d| keep(d)).count() as u64;
    let (positive, negative) = (count(|d| d > 0.0), count(|d| d < 0.0));
    let zeros = differences.len() as u64 - positive - negative;
    let p = even_split_p(positive.min(negative), positive + negative);
    Ok(SignTest { positive, negative, zeros, p })
}

fn check_all_finite(differences: &[f64]) -> Result<(), Undefined> {
    if differences.is_empty() {
        return Err(Undefined::Empty);
    }
    differences.iter().try_for_each(|&d| Undefined::check_finite(d).map(drop))
}

/// How the law of the sign flips was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlipLaw {
    /// Exactly, from all sign patterns.
    Enumerated,
    /// Exactly, from the differences as multiples of a common step.
    Lattice,
    /// From random sign patterns: p = (hits + 1)/(resamples + 1).
    MonteCarlo {
        /// The number of patterns drawn.
        resamples: u64,
        /// The seed they were drawn with.
        seed: Seed,
    },
}

/// The two-sided sign-flip permutation test of a sum.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SignFlip {
    /// The number of differences (or clusters) that are not zero; flipping a zero changes nothing.
    pub flipped: u64,
    /// The sum of the differences.
    pub sum: f64,
    /// The share of sign patterns whose sum lies at least as far from 0.
    pub p: f64,
    /// How it was found.
    pub law: FlipLaw,
}

/// All patterns of up to this many differences are enumerated at once: 2 × 2¹⁰ half sums.
const ENUMERATED_FIRST: usize = 20;
/// And of up to this many when there is no common step: 2 × 2²⁰ half sums, 16 MB and under a tenth of a second.
const ENUMERATED_MAX: usize = 40;
/// The most additions spent on the law over a lattice, a fraction of a second.
const LATTICE_STEPS_MAX: u64 = 1 << 27;
/// Sums closer than this, relative to the largest difference, are ties that rounding parted.
const TIE: f64 = 1e-9;
/// A step smaller than this, relative to the largest difference, is rounding and no step.
const STEP_MIN: f64 = 1e-6;

/// The sign-flip test of paired differences: exact where possible, else by `resamples` random patterns.
///
/// Exact for up to forty differences, and for any number that are small multiples of a common step (passes
/// and failures, shares of five attempts). Only otherwise are `resamples` and `seed` used. Undefined for no
/// differences, for those that are infinite or not numbers, and for no resamples where some are needed.
///
/// ```
/// use calipers_stats::{exact::{sign_flip, FlipLaw}, Seed};
///
/// let few = sign_flip(&[0.3, 0.1, -0.05, 0.2], 9999, Seed(1))?;
/// assert_eq!((few.p, few.law), (0.25, FlipLaw::Enumerated));
/// let shares: Vec<f64> = (0..300).map(|i| f64::from(i % 6 - 2) / 5.0).collect();
/// assert_eq!(sign_flip(&shares, 9999, Seed(1))?.law, FlipLaw::Lattice);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn sign_flip(differences: &[f64], resamples: u64, seed: Seed) -> Result<SignFlip, Undefined> {
    check_all_finite(differences)?;
    let mut values: Vec<f64> = differences.iter().copied().filter(|&d| d != 0.0).collect();
    // One order for all inputs, so that rounding cannot depend on theirs.
    values.sort_by(|a, b| a.abs().total_cmp(&b.abs()).then(a.total_cmp(b)));
    let magnitudes: Vec<f64> = values.iter().map(|d| d.abs()).collect();
    Undefined::check_finite(sum(&magnitudes))?;
    let total = sum(&values);
    let threshold = total.abs() - TIE * magnitudes.last().copied().unwrap_or(0.0);
    let (p, law) = flip_law(&values, &magnitudes, threshold, resamples, seed)?;
    Ok(SignFlip { flipped: values.len() as u64, sum: total, p, law })
}

/// The sign-flip test with whole clusters flipped: what they share is one piece of luck.
///
/// As [`sign_flip`] on the cluster totals. Undefined also when the lengths differ.
///
/// ```
/// use calipers_stats::{exact::sign_flip_clustered, Seed};
///
/// let differences = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// let test = sign_flip_clustered(&differences, &[0, 0, 1, 1, 2, 2], 9999, Seed(1))?;
/// assert_eq!((test.flipped, test.p), (3, 0.25));
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn sign_flip_clustered(
    differences: &[f64],
    clusters: &[u32],
    resamples: u64,
    seed: Seed,
) -> Result<SignFlip, Undefined> {
    let mut sums = ClusterSums::default();
    sums.extend(clusters, differences)?;
    let totals: Vec<f64> = sums.totals().map(|(sum, _)| sum).collect();
    sign_flip(&totals, resamples, seed)
}

fn flip_law(
    values: &[f64],
    magnitudes: &[f64],
    threshold: f64,
    resamples: u64,
    seed: Seed,
) -> Result<(f64, FlipLaw), Undefined> {
    if values.len() <= ENUMERATED_FIRST {
        return Ok((enumerated_p(magnitudes, threshold), FlipLaw::Enumerated));
    }
    if let Some(p) = Lattice::of(values, magnitudes).and_then(|lattice| lattice.p()) {
        return Ok((p, FlipLaw::Lattice));
    }
    if values.len() <= ENUMERATED_MAX {
        return Ok((enumerated_p(magnitudes, threshold), FlipLaw::Enumerated));
    }
    if resamples == 0 {
        return Err(Undefined::TooFew { what: Quantity::Resamples, need: 1, have: 0 });
    }
    Ok((simulated_p(magnitudes, threshold, resamples, seed), FlipLaw::MonteCarlo { resamples, seed }))
}

/// The share of sign patterns with |sum| ≥ threshold, by meeting in the middle.
///
/// The sums of each half are listed in order; for each of the one, those of the other that reach the threshold
/// with it are the end of its list, which only grows (Horowitz and Sahni 1974).
fn enumerated_p(magnitudes: &[f64], threshold: f64) -> f64 {
    if threshold <= 0.0 {
        return 1.0;
    }
    let (left, right) = magnitudes.split_at(magnitudes.len() / 2);
    let (left, right) = (sorted_flip_sums(left), sorted_flip_sums(right));
    let mut start = right.len();
    let mut reached = 0u64;
    for x in left {
        while start > 0 && x + right[start - 1] >= threshold {
            start -= 1;
        }
        reached += (right.len() - start) as u64;
    }
    // The patterns come in pairs of opposite signs, so both tails are alike.
    2.0 * reached as f64 / 2f64.powi(magnitudes.len() as i32)
}

/// The sums of all sign patterns in ascending order.
fn sorted_flip_sums(magnitudes: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0];
    for d in magnitudes {
        let mut merged = Vec::with_capacity(2 * sums.len());
        let mut above = sums.iter().map(|s| s + d).peekable();
        for below in sums.iter().map(|s| s - d) {
            while let Some(x) = above.next_if(|&x| x < below) {
                merged.push(x);
            }
            merged.push(below);
        }
        merged.extend(above);
        sums = merged;
    }
    sums
}

/// Differences as whole multiples of a common step.
struct Lattice {
    /// The multiples' magnitudes, ascending.
    steps: Vec<u64>,
    /// The sum, in steps.
    sum: u64,
}

impl Lattice {
    /// `None` when there is no common step worth the name.
    fn of(values: &[f64], magnitudes: &[f64]) -> Option<Self> {
        let step = common_step(magnitudes)?;
        let tie = TIE * magnitudes.last()?;
        let whole = |d: &f64| {
            let multiple = (d / step).round();
            ((d - multiple * step).abs() <= tie).then_some(multiple as i64)
        };
        let multiples: Vec<i64> = values.iter().map(whole).collect::<Option<_>>()?;
        let sum = multiples.iter().sum::<i64>().unsigned_abs();
        Some(Self { steps: multiples.into_iter().map(i64::unsigned_abs).collect(), sum })
    }

    /// The two-sided p-value, or `None` when the law would take too long to compute.
    fn p(&self) -> Option<f64> {
        let (first, last) = (*self.steps.first()?, *self.steps.last()?);
        if self.sum == 0 {
            return Some(1.0);
        }
        let all: u64 = self.steps.iter().sum();
        // Turned to minus, steps of this many in all lead from the largest sum possible to the one seen.
        let reach = (all - self.sum) / 2;
        if first == last {
            return Some(even_split_p(reach / first, self.steps.len() as u64));
        }
        let cost = (self.steps.len() as u64).saturating_mul(reach + 1);
        (cost <= LATTICE_STEPS_MAX).then(|| self.tail(reach as usize))
    }

    /// Twice the probability that the steps turned to minus add to at most `reach`.
    fn tail(&self, reach: usize) -> f64 {
        let mut law = vec![0.0; reach + 1];
        law[0] = 1.0;
        let mut filled = 0;
        for &step in &self.steps {
            let step = step as usize;
            filled = (filled + step).min(reach);
            for place in (step..=filled).rev() {
                law[place] = 0.5 * (law[place] + law[place - step]);
            }
            law[..step.min(filled + 1)].iter_mut().for_each(|p| *p *= 0.5);
        }
        as_probability(2.0 * sum(&law))
    }
}

/// The largest number of which all are multiples, up to rounding, by Euclid's algorithm.
fn common_step(magnitudes: &[f64]) -> Option<f64> {
    let largest = *magnitudes.last()?;
    let mut step = largest;
    for &magnitude in magnitudes {
        let mut larger = magnitude;
        loop {
            let rest = larger % step;
            let rest = rest.min(step - rest);
            if rest <= TIE * largest {
                break;
            }
            larger = step;
            step = rest;
            if step < STEP_MIN * largest {
                return None;
            }
        }
    }
    // Remainders carry the rounding of what they were taken from; the largest number carries its own only.
    Some(largest / (largest / step).round())
}

/// (hits + 1)/(resamples + 1) over random sign patterns (Davison and Hinkley 1997, section 4.2).
///
/// Equal magnitudes are flipped together: the number of pluses among them is a count of random bits.
fn simulated_p(magnitudes: &[f64], threshold: f64, resamples: u64, seed: Seed) -> f64 {
    let runs: Vec<(f64, usize)> = magnitudes.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect();
    let total = sum(magnitudes);
    let is_hit = |index: u64| {
        let mut stream = seed.stream(index);
        let mut plus = 0.0;
        for &(magnitude, count) in &runs {
            let mut ones = (stream.next() >> (63 - (count - 1) % 64)).count_ones();
            (0..(count - 1) / 64).for_each(|_| ones += stream.next().count_ones());
            plus += magnitude * f64::from(ones);
        }
        (2.0 * plus - total).abs() >= threshold
    };
    let hits = (0..resamples).filter(|&index| is_hit(index)).count();
    (hits + 1) as f64 / (resamples as f64 + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every sign pattern, one after the other.
    fn slow_p(differences: &[f64]) -> f64 {
        let seen = differences.iter().sum::<f64>().abs();
        let patterns = 1u32 << differences.len();
        let flipped = |pattern: u32| {
            let signed = differences.iter().enumerate().map(|(i, d)| if pattern >> i & 1 == 1 { -d } else { *d });
            signed.sum::<f64>().abs() >= seen - 1e-9
        };
        (0..patterns).filter(|&pattern| flipped(pattern)).count() as f64 / f64::from(patterns)
    }

    fn lattice_p(differences: &[f64]) -> Option<f64> {
        let mut values: Vec<f64> = differences.iter().copied().filter(|&d| d != 0.0).collect();
        values.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
        let magnitudes: Vec<f64> = values.iter().map(|d| d.abs()).collect();
        Lattice::of(&values, &magnitudes)?.p()
    }

    #[test]
    fn passes_and_failures_give_mcnemars_exact_p() {
        for (wins, losses) in [(30, 12), (7, 20), (400, 350), (25, 25), (2000, 0)] {
            let differences = [vec![1.0; wins], vec![-1.0; losses], vec![0.0; 50]].concat();
            let test = sign_flip(&differences, 0, Seed(0)).unwrap();
            assert_eq!(test.law, FlipLaw::Lattice);
            assert_eq!(test.p, mcnemar(wins as u64, losses as u64).p_exact);
        }
    }

    #[test]
    fn shares_of_five_attempts_have_a_step_despite_rounding() {
        let differences: Vec<f64> =
            (0..200).map(|i| f64::from(i * 7 % 6) / 5.0 - f64::from(i * 11 % 5) / 5.0).collect();
        let test = sign_flip(&differences, 0, Seed(0)).unwrap();
        assert_eq!(test.law, FlipLaw::Lattice);
        let by_chance = simulated_p(&sorted(&differences), test.sum.abs() - 1e-9, 200_000, Seed(3));
        assert!((test.p - by_chance).abs() < 0.006, "{} {by_chance}", test.p);
    }

    fn sorted(differences: &[f64]) -> Vec<f64> {
        let mut magnitudes: Vec<f64> = differences.iter().map(|d| d.abs()).collect();
        magnitudes.sort_by(f64::total_cmp);
        magnitudes
    }

    #[test]
    fn chance_agrees_with_enumeration() {
        let differences: Vec<f64> =
            (1..=36).map(|i| f64::from(i).sqrt() * if i % 3 == 0 { -1.0 } else { 1.0 }).collect();
        let exact = sign_flip(&differences, 0, Seed(0)).unwrap();
        assert_eq!(exact.law, FlipLaw::Enumerated);
        let by_chance = simulated_p(&sorted(&differences), exact.sum.abs() - 1e-9, 200_000, Seed(7));
        assert!((exact.p - by_chance).abs() < 0.006, "{} {by_chance}", exact.p);
    }

    #[test]
    fn many_differences_without_a_step_are_drawn_and_the_seed_is_recorded() {
        let differences: Vec<f64> = (1..=60).map(|i| f64::from(i).ln() * if i % 4 == 0 { -1.0 } else { 1.0 }).collect();
        let test = sign_flip(&differences, 999, Seed(5)).unwrap();
        assert_eq!(test.law, FlipLaw::MonteCarlo { resamples: 999, seed: Seed(5) });
        let turned: Vec<f64> = differences.iter().rev().copied().collect();
        assert_eq!(sign_flip(&turned, 999, Seed(5)), Ok(test));
        assert!(sign_flip(&differences, 0, Seed(5)).is_err());
    }

    #[test]
    fn the_scale_does_not_matter() {
        let differences = [0.3, -0.1, 0.25, 0.4, -0.05, 0.15];
        let p = sign_flip(&differences, 0, Seed(0)).unwrap().p;
        for scale in [1e-12, 1e12] {
            assert_eq!(sign_flip(&differences.map(|d| d * scale), 0, Seed(0)).unwrap().p, p);
        }
    }

    #[test]
    fn zeros_alone_show_nothing_and_nothing_is_undefined() {
        assert_eq!(sign_flip(&[0.0, 0.0], 0, Seed(0)).unwrap().p, 1.0);
        assert_eq!(sign_test(&[0.0]).unwrap().p, 1.0);
        assert_eq!(sign_flip(&[], 0, Seed(0)), Err(Undefined::Empty));
        assert_eq!(sign_test(&[]), Err(Undefined::Empty));
        assert!(matches!(sign_flip(&[f64::NAN], 0, Seed(0)), Err(Undefined::NotFinite { .. })));
        assert!(matches!(sign_flip(&[1e308; 3], 0, Seed(0)), Err(Undefined::NotFinite { .. })));
    }

    #[test]
    fn mid_p_of_an_even_split_is_one() {
        for (first, second) in [(0, 0), (5, 5), (1000, 1000)] {
            assert_eq!((mcnemar(first, second).p_exact, mcnemar(first, second).p_mid), (1.0, 1.0));
        }
        assert_eq!(mcnemar(0, 1).p_exact, 1.0);
        assert_eq!(mcnemar(5, 5).chi2, Ok(0.0));
        assert!(mcnemar(0, 0).chi2.is_err());
    }

    proptest! {
        #[test]
        fn enumeration_agrees_with_brute_force(differences in prop::collection::vec(-10f64..10.0, 1..12)) {
            let got = sign_flip(&differences, 0, Seed(0)).unwrap().p;
            prop_assert!((got - slow_p(&differences)).abs() < 1e-12);
        }

        #[test]
        fn the_lattice_agrees_with_brute_force(steps in prop::collection::vec(-7i32..8, 1..12), parts in 1u32..12) {
            let differences: Vec<f64> = steps.iter().map(|&step| f64::from(step) / f64::from(parts)).collect();
            prop_assume!(steps.iter().any(|&step| step != 0));
            prop_assert!((lattice_p(&differences).unwrap() - slow_p(&differences)).abs() < 1e-12);
        }

        #[test]
        fn clusters_of_one_are_no_clusters(differences in prop::collection::vec(-10f64..10.0, 1..15)) {
            let codes: Vec<u32> = (0..differences.len() as u32).collect();
            prop_assert_eq!(sign_flip_clustered(&differences, &codes, 0, Seed(0)), sign_flip(&differences, 0, Seed(0)));
        }
    }
}
