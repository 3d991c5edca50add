//! Means of independent values, and of several attempts at each.

use super::{count, count_each, draws, level};
use calipers_stats::Moments;
use calipers_stats::components::{Components, Estimand, UnitMoments};
use calipers_testing::simulation::{Claim, Draws, Table};

fn t_covers(values: &[f64], truth: f64) -> bool {
    Moments::from_slice(values).t_interval(level()).expect("two values or more").contains(truth)
}

#[test]
#[ignore = "calibration"]
fn t_covers_normal_and_graded_means() {
    const REPLICATIONS: u64 = 40_000;
    let mut table = Table::new("t intervals of a mean");
    for n in [2, 5, 30] {
        let hits = count(1, REPLICATIONS, |draws| t_covers(&draw(draws, n, Draws::normal), 0.0));
        table.counted(format!("normal, n = {n}"), 0.95, hits, REPLICATIONS, Claim::Is(0.95));
    }
    for n in [10, 30, 100] {
        let hits = count(2, REPLICATIONS, |draws| t_covers(&draw(draws, n, |draws| draws.below(5) as f64 / 4.0), 0.5));
        table.counted(format!("five even grades, n = {n}"), 0.95, hits, REPLICATIONS, Claim::About(0.95, 0.005));
    }
    // A long tail is what t does not bear: this is why few unbounded scores come with a caveat.
    for (n, least) in [(10, 0.88), (30, 0.91), (100, 0.93)] {
        let hits = count(3, REPLICATIONS, |draws| t_covers(&draw(draws, n, Draws::exponential), 1.0));
        table.counted(
            format!("exponential, n = {n} (undercovers)"),
            0.95,
            hits,
            REPLICATIONS,
            Claim::About((least + 0.95) / 2.0, (0.95 - least) / 2.0),
        );
    }
    table.finish();
}

fn draw(draws: &mut Draws, n: usize, one: impl Fn(&mut Draws) -> f64) -> Vec<f64> {
    (0..n).map(|_| one(draws)).collect()
}

#[test]
#[ignore = "calibration"]
fn t_misses_what_it_has_not_seen_and_weight_at_both_ends_does_not() {
    const REPLICATIONS: u64 = 20_000;
    let mut table = Table::new("Scores near 0.9 of which one in a hundred is 0");
    for (n, plain) in [(30, 0.26), (100, 0.63)] {
        let [t, weighted] = count_each(7, REPLICATIONS, |draws| {
            let one = |draws: &mut Draws| if draws.unit() < 0.01 { 0.0 } else { 0.89 + 0.02 * draws.unit() };
            let values = draw(draws, n, one);
            let ours = Moments::from_slice(&values).unit_interval(level()).expect("scores are in [0, 1]");
            [t_covers(&values, 0.891), ours.contains(0.891)]
        });
        table.counted(format!("plain t, n = {n}"), 0.95, t, REPLICATIONS, Claim::About(plain, 0.01));
        table.counted(
            format!("t with weight at both ends, n = {n}"),
            0.95,
            weighted,
            REPLICATIONS,
            Claim::AtLeast(0.94),
        );
    }
    table.finish();
}

const UNITS: usize = 40;
const ATTEMPTS: usize = 5;

fn attempts(draws: &mut Draws, rates: &[f64]) -> Components {
    let rows: Vec<Vec<f64>> = rates.iter().map(|&p| (0..ATTEMPTS).map(|_| draws.coin(p)).collect()).collect();
    UnitMoments::from_rows(&rows).components().expect("there are attempts")
}

/// Whether each error covers: the population's, the fixed suite's, and that of pooled attempts.
fn covers(components: &Components, truth: f64) -> [bool; 3] {
    let interval = |estimand| components.interval(estimand, level()).expect("attempts differ");
    let naive = components.se_naive_iid.expect("two attempts or more");
    [
        interval(Estimand::Population).contains(truth),
        interval(Estimand::FixedSuite).contains(truth),
        (components.mean - truth).abs() <= 1.972 * naive, // t with 199 degrees of freedom
    ]
}

#[test]
#[ignore = "calibration"]
fn each_error_of_repeated_attempts_covers_its_own_truth_and_the_pooled_one_covers_neither() {
    const REPLICATIONS: u64 = 20_000;
    let mut table = Table::new("40 questions with 5 attempts each, rates from Beta(0.62, 0.38)");
    let (a, b) = (0.62, 0.38);

    let [population, rerun, pooled] = count_each(4, REPLICATIONS, |draws| {
        let rates: Vec<f64> = (0..UNITS).map(|_| draws.beta(a, b)).collect();
        covers(&attempts(draws, &rates), a)
    });
    let questions_like_these = "questions like these";
    table.counted(
        format!("{questions_like_these}: population error"),
        0.95,
        population,
        REPLICATIONS,
        Claim::About(0.95, 0.01),
    );
    table.counted(
        format!("{questions_like_these}: fixed-suite error (wrong)"),
        0.95,
        rerun,
        REPLICATIONS,
        Claim::AtMost(0.6),
    );
    table.counted(
        format!("{questions_like_these}: pooled attempts (wrong)"),
        0.95,
        pooled,
        REPLICATIONS,
        Claim::AtMost(0.8),
    );

    let mut draws = draws(5);
    let rates: Vec<f64> = (0..UNITS).map(|_| draws.beta(a, b)).collect();
    let truth = rates.iter().sum::<f64>() / UNITS as f64;
    let [population, rerun, pooled] = count_each(6, REPLICATIONS, |draws| covers(&attempts(draws, &rates), truth));
    let this_suite = "this suite rerun";
    table.counted(format!("{this_suite}: fixed-suite error"), 0.95, rerun, REPLICATIONS, Claim::About(0.95, 0.01));
    table.counted(
        format!("{this_suite}: population error (far too wide)"),
        0.95,
        population,
        REPLICATIONS,
        Claim::AtLeast(0.999),
    );
    table.counted(
        format!("{this_suite}: pooled attempts (too wide)"),
        0.95,
        pooled,
        REPLICATIONS,
        Claim::AtLeast(0.99),
    );
    table.finish();
}
