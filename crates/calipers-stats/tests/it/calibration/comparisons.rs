//! Two runs compared, many comparisons at once, and the power that was planned.

use super::{count, count_each, draws};
use calipers_stats::Seed;
use calipers_stats::exact::{mcnemar, sign_flip, sign_flip_clustered};
use calipers_stats::multiplicity::{Correction, adjust, reject};
use calipers_stats::paired::{Difference, pair, paired_clustered};
use calipers_stats::power::{Effect, Test, paired_t_power, paired_t_sample_size};
use calipers_stats::special::{binomial_pmf, normal_sf};
use calipers_stats::threshold_test::Verdict;
use calipers_testing::simulation::{Claim, Draws, Table};

const ALPHA: f64 = 0.05;

/// Scores of two runs on the same samples, hard ones being hard for both; the first is better by `delta`.
fn runs(draws: &mut Draws, n: usize, delta: f64) -> (Vec<f64>, Vec<f64>) {
    (0..n)
        .map(|_| {
            let shared = draws.normal();
            (shared + draws.normal() * HALF_SD + delta, shared + draws.normal() * HALF_SD)
        })
        .unzip()
}

/// So that differences have a standard deviation of 1.
const HALF_SD: f64 = std::f64::consts::FRAC_1_SQRT_2;

fn difference(draws: &mut Draws, n: usize, delta: f64) -> Difference {
    let (a, b) = runs(draws, n, delta);
    pair(&a, &b).expect("equal lengths").difference().expect("two pairs or more")
}

#[test]
#[ignore = "calibration"]
fn a_paired_t_test_errs_as_often_as_it_says() {
    const REPLICATIONS: u64 = 40_000;
    let mut table = Table::new("Paired comparisons of equal runs: how often a difference is found");
    for n in [5, 20, 100] {
        let hits =
            count(1, REPLICATIONS, |draws| difference(draws, n, 0.0).p_two_sided().expect("differences vary") <= ALPHA);
        table.counted(format!("paired t, n = {n}"), ALPHA, hits, REPLICATIONS, Claim::Is(ALPHA));
    }
    let codes: Vec<u32> = (0..60).map(|i| i / 5).collect();
    let hits = count(2, REPLICATIONS / 2, |draws| {
        let (mut a, b) = runs(draws, 60, 0.0);
        for cluster in a.chunks_mut(5) {
            let shared = draws.normal();
            cluster.iter_mut().for_each(|x| *x += shared);
        }
        let estimate = paired_clustered(&a, &b, &codes).expect("twelve clusters");
        Difference::cr2(&estimate).expect("clusters differ").p_two_sided().expect("differences vary") <= ALPHA
    });
    table.counted("paired CR2, 12 clusters of 5", ALPHA, hits, REPLICATIONS / 2, Claim::Is(ALPHA));
    table.finish();
}

/// P(p ≤ α) over all tables of n pairs of which a share is discordant, either way alike.
fn mcnemar_size(n: u64, discordant: f64, p_value: impl Fn(u64, u64) -> f64) -> f64 {
    let mut size = 0.0;
    for m in 0..=n {
        let found = (0..=m).filter(|&first| p_value(first, m - first) <= ALPHA);
        size += binomial_pmf(m, n, discordant) * found.map(|first| binomial_pmf(first, m, 0.5)).sum::<f64>();
    }
    size
}

#[test]
#[ignore = "calibration"]
fn exact_mcnemar_never_errs_too_often_and_mid_p_seldom_by_much() {
    let mut table = Table::new("McNemar's test of equal runs, by enumeration");
    for (n, discordant, low) in [(20, 0.3, 0.03), (50, 0.1, 0.02), (50, 0.3, 0.04), (100, 0.2, 0.04), (200, 0.5, 0.045)]
    {
        let exact = mcnemar_size(n, discordant, |b, c| mcnemar(b, c).p_exact);
        let mid = mcnemar_size(n, discordant, |b, c| mcnemar(b, c).p_mid);
        table.exact(format!("exact, n = {n}, {discordant} discordant"), ALPHA, exact, Claim::AtMost(ALPHA));
        table.exact(
            format!("mid-p, n = {n}, {discordant} discordant"),
            ALPHA,
            mid,
            Claim::About((low + 0.055) / 2.0, (0.055 - low) / 2.0),
        );
    }
    table.finish();
}

#[test]
#[ignore = "calibration"]
fn flipping_signs_errs_at_most_as_often_as_it_says() {
    const REPLICATIONS: u64 = 10_000;
    let mut table = Table::new("Sign-flip permutation test of equal runs");
    let hits = count(3, REPLICATIONS, |draws| {
        let differences: Vec<f64> = (0..12).map(|_| draws.exponential() * (2.0 * draws.coin(0.5) - 1.0)).collect();
        sign_flip(&differences, 999, Seed(1)).expect("there are differences").p <= ALPHA
    });
    table.counted("skew sizes, n = 12, enumerated", ALPHA, hits, REPLICATIONS, Claim::About(ALPHA, 0.001));
    let hits = count(4, REPLICATIONS, |draws| {
        let differences: Vec<f64> = (0..30).map(|_| (draws.below(5) as f64 - draws.below(5) as f64) / 4.0).collect();
        sign_flip(&differences, 999, Seed(1)).expect("there are differences").p <= ALPHA
    });
    table.counted("five grades, n = 30, by lattice", ALPHA, hits, REPLICATIONS, Claim::AtMost(ALPHA));
    let hits = count(5, REPLICATIONS, |draws| {
        let differences: Vec<f64> = (0..60).map(|_| draws.normal()).collect();
        let seed = Seed(draws.below(1 << 30) as u64);
        sign_flip(&differences, 499, seed).expect("there are differences").p <= ALPHA
    });
    table.counted("normal, n = 60, 499 random flips", ALPHA, hits, REPLICATIONS, Claim::About(ALPHA, 0.001));
    let codes: Vec<u32> = (0..50).map(|i| i / 5).collect();
    let hits = count(6, REPLICATIONS, |draws| {
        let mut differences: Vec<f64> = (0..50).map(|_| draws.normal()).collect();
        for cluster in differences.chunks_mut(5) {
            let shared = draws.normal();
            cluster.iter_mut().for_each(|x| *x += shared);
        }
        sign_flip_clustered(&differences, &codes, 999, Seed(1)).expect("there are differences").p <= ALPHA
    });
    table.counted("10 clusters of 5, flipped whole", ALPHA, hits, REPLICATIONS, Claim::About(ALPHA, 0.002));
    table.finish();
}

#[test]
#[ignore = "calibration"]
fn non_inferiority_and_equivalence_err_at_most_as_often_as_they_say() {
    const REPLICATIONS: u64 = 20_000;
    let mut table = Table::new("A margin of 0.5 with 50 pairs whose differences have sd 1");
    let margin = 0.5;
    let [passed, failed] = count_each(7, REPLICATIONS, |draws| {
        let verdict = difference(draws, 50, -margin).noninferiority(margin, ALPHA).expect("differences vary").verdict;
        [verdict == Verdict::Pass, verdict == Verdict::Fail]
    });
    table.counted("non-inferiority passes, worse by the margin", ALPHA, passed, REPLICATIONS, Claim::Is(ALPHA));
    table.counted("non-inferiority fails, worse by the margin", ALPHA, failed, REPLICATIONS, Claim::Is(ALPHA));
    let equivalent = |draws: &mut Draws, n, delta| {
        difference(draws, n, delta).equivalence_p(margin).expect("differences vary") <= ALPHA
    };
    for (n, claim) in [(50, Claim::Is(ALPHA)), (10, Claim::AtMost(ALPHA))] {
        for delta in [margin, -margin] {
            let hits = count(8, REPLICATIONS, |draws| equivalent(draws, n, delta));
            table.counted(format!("equivalence found, apart by {delta}, n = {n}"), ALPHA, hits, REPLICATIONS, claim);
        }
    }
    let hits = count(9, REPLICATIONS, |draws| equivalent(draws, 50, 0.0));
    // Two one-sided t tests at half a standard deviation: P(|T| within reach) of about 0.93.
    table.counted("equivalence found, no difference, n = 50", 0.93, hits, REPLICATIONS, Claim::About(0.93, 0.02));
    table.finish();
}

/// One-sided p-values of `tests` statistics that share half of their variance when `together`; the first
/// `false_nulls` are shifted.
fn p_values(draws: &mut Draws, tests: usize, false_nulls: usize, together: bool) -> Vec<Option<f64>> {
    let shared = draws.normal();
    let one = |draws: &mut Draws| if together { (shared + draws.normal()) * HALF_SD } else { draws.normal() };
    (0..tests).map(|i| Some(normal_sf(one(draws) + if i < false_nulls { 3.0 } else { 0.0 }))).collect()
}

#[test]
#[ignore = "calibration"]
fn holm_bounds_any_false_alarm_and_bh_their_share() {
    const REPLICATIONS: u64 = 20_000;
    let mut table = Table::new("Twenty tests at once");
    for together in [false, true] {
        let kind = if together { "related" } else { "independent" };
        for false_nulls in [0, 10] {
            let what = format!("{kind}, {false_nulls} of 20 real");
            let [plain, holm] = count_each(10, REPLICATIONS, |draws| {
                let p = p_values(draws, 20, false_nulls, together);
                let holm = adjust(&p, Correction::Holm).expect("probabilities");
                [&p, &holm].map(|p| reject(p, ALPHA)[false_nulls..].contains(&true))
            });
            let unadjusted =
                if together { Claim::AtLeast(0.2) } else { Claim::Is(1.0 - 0.95f64.powi(20 - false_nulls as i32)) };
            table.counted(format!("any false alarm, not adjusted, {what}"), ALPHA, plain, REPLICATIONS, unadjusted);
            table.counted(format!("any false alarm, Holm, {what}"), ALPHA, holm, REPLICATIONS, Claim::AtMost(ALPHA));

            let mut draws = draws(11);
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..REPLICATIONS {
                let p = p_values(&mut draws, 20, false_nulls, together);
                let found = reject(&adjust(&p, Correction::BenjaminiHochberg).expect("probabilities"), ALPHA);
                let all = found.iter().filter(|&&found| found).count();
                let wrong = found[false_nulls..].iter().filter(|&&found| found).count();
                let share = wrong as f64 / all.max(1) as f64;
                sum += share;
                squares += share * share;
            }
            let n = REPLICATIONS as f64;
            let (mean, spread) = (sum / n, (squares / n - (sum / n).powi(2)).sqrt());
            let noise = 4.0 * spread / n.sqrt();
            // Independent tests have exactly α times the share of true nulls (Benjamini and Hochberg 1995).
            let limit = ALPHA * (20 - false_nulls) as f64 / 20.0;
            let low = if together { 0.0 } else { limit - noise };
            table.number(format!("false share of alarms, BH, {what}"), limit, mean, "20000", (low, limit + noise));
        }
    }
    table.finish();
}

#[test]
#[ignore = "calibration"]
fn simulated_power_is_the_planned_one() {
    const REPLICATIONS: u64 = 20_000;
    let mut table = Table::new("Power of the paired t test, differences of sd 1");
    let test = Test::two_sided(ALPHA).expect("an error rate");
    for (n, delta) in [(10, 0.8), (30, 0.5), (100, 0.3)] {
        let planned = paired_t_power(n, Effect { delta, sd: 1.0 }, test).expect("an effect");
        let hits = count(12, REPLICATIONS, |draws| {
            difference(draws, n as usize, delta).p_two_sided().expect("differences vary") <= ALPHA
        });
        table.counted(format!("n = {n}, difference {delta}"), planned, hits, REPLICATIONS, Claim::Is(planned));
    }
    let n = paired_t_sample_size(Effect { delta: 0.4, sd: 1.0 }, test, 0.8).expect("an effect");
    let hits = count(13, REPLICATIONS, |draws| {
        difference(draws, n as usize, 0.4).p_two_sided().expect("differences vary") <= ALPHA
    });
    table.counted(
        format!("planned for 0.8: n = {n}, difference 0.4"),
        0.8,
        hits,
        REPLICATIONS,
        Claim::About(0.805, 0.005),
    );
    table.finish();
}
