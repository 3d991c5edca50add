//! Intervals of a share, by enumeration of every possible count.

use super::level;
use calipers_stats::bootstrap::binary_mean_interval;
use calipers_stats::proportion::Proportion;
use calipers_stats::special::binomial_pmf;
use calipers_stats::{Interval, Moments};
use calipers_testing::simulation::{Claim, Table};

type Method = fn(Proportion) -> Interval;

fn share(successes: u64, trials: u64) -> Proportion {
    Proportion::new(successes, trials).expect("no more successes than trials")
}

fn t(share: Proportion) -> Interval {
    let mut moments = Moments::default();
    moments.add_repeated(0.0, share.failures());
    moments.add_repeated(1.0, share.successes());
    moments.t_interval(level()).expect("two values or more")
}

fn percentile(share: Proportion) -> Interval {
    binary_mean_interval(share.successes(), share.trials(), level()).expect("there are trials").interval
}

const METHODS: [(&str, Method); 8] = [
    ("Wald", |share| share.wald(level())),
    ("t", t),
    ("percentile bootstrap", percentile),
    ("Wilson", |share| share.wilson(level())),
    ("Clopper-Pearson", |share| share.clopper_pearson(level())),
    ("Blaker", |share| share.blaker(level())),
    ("Jeffreys", |share| share.jeffreys(level())),
    ("Beta(1, 1)", |share| share.uniform_beta(level())),
];

fn intervals(n: u64, method: Method) -> Vec<Interval> {
    (0..=n).map(|k| method(share(k, n))).collect()
}

/// The probability that the interval of a binomial count contains the share.
fn coverage(intervals: &[Interval], p: f64) -> f64 {
    let n = intervals.len() as u64 - 1;
    let covering = (0..=n).zip(intervals).filter(|(_, interval)| interval.contains(p));
    covering.map(|(k, _)| binomial_pmf(k, n, p)).sum()
}

#[test]
#[ignore = "calibration"]
fn intervals_of_a_share_cover_as_tabulated() {
    let mut table = Table::new("Exact coverage of 95 % intervals of a share");
    for (n, p, wanted) in [
        (10, 0.90, [0.650, 0.650, 0.650, 0.930, 0.987, 0.987, 0.987, 0.930]),
        (10, 0.95, [0.400, 0.401, 0.400, 0.914, 0.988, 0.988, 0.988, 0.914]),
        (30, 0.95, [0.782, 0.785, 0.782, 0.939, 0.984, 0.984, 0.984, 0.939]),
        (100, 0.95, [0.877, 0.877, 0.959, 0.966, 0.983, 0.966, 0.935, 0.966]),
        (300, 0.95, [0.926, 0.926, 0.957, 0.955, 0.967, 0.955, 0.937, 0.955]),
    ] {
        for ((name, method), wanted) in METHODS.into_iter().zip(wanted) {
            let observed = coverage(&intervals(n, method), p);
            table.exact(format!("{name}, n = {n}, p = {p}"), 0.95, observed, Claim::About(wanted, 0.0005));
        }
    }
    table.finish();
}

/// Shares on a fine grid, and on both sides of every bound, where coverage jumps.
fn shares(intervals: &[Interval]) -> Vec<f64> {
    const STEPS: u32 = 500;
    let grid = (1..STEPS).map(|i| f64::from(i) / f64::from(STEPS));
    let bounds = intervals.iter().flat_map(|interval| [interval.lower, interval.upper]).flatten();
    let sides = bounds.flat_map(|bound| [bound - 1e-9, bound + 1e-9]);
    grid.chain(sides).filter(|p| (0.0..=1.0).contains(p)).collect()
}

#[test]
#[ignore = "calibration"]
fn exact_intervals_never_cover_less_than_their_level() {
    let mut table = Table::new("Exact intervals: least coverage over all shares, n = 1 to 60, 100 and 300");
    let exact: [(&str, Method); 2] =
        [("Clopper-Pearson", |share| share.clopper_pearson(level())), ("Blaker", |share| share.blaker(level()))];
    for (name, method) in exact {
        let mut least: (f64, u64, f64) = (1.0, 0, 0.0);
        for n in (1..=60).chain([100, 300]) {
            let intervals = intervals(n, method);
            for p in shares(&intervals) {
                let covered = coverage(&intervals, p);
                if covered < least.0 {
                    least = (covered, n, p);
                }
            }
        }
        let (covered, n, p) = least;
        table.exact(format!("{name}, least, at n = {n}, p = {p:.4}"), 0.95, covered, Claim::AtLeast(0.95 - 1e-6));
    }
    table.finish();
}

#[test]
#[ignore = "calibration"]
fn wilson_covers_its_level_on_average_but_not_for_every_share() {
    let mut table = Table::new("Wilson: coverage averaged over shares, and its minimum");
    for n in [5, 10, 20, 30, 60, 100, 300] {
        let intervals = intervals(n, |share| share.wilson(level()));
        const STEPS: u32 = 4000;
        let grid = (0..STEPS).map(|i| (f64::from(i) + 0.5) / f64::from(STEPS));
        let average = grid.map(|p| coverage(&intervals, p)).sum::<f64>() / f64::from(STEPS);
        table.exact(format!("average over shares, n = {n}"), 0.95, average, Claim::About(0.95, 0.01));
        let all = shares(&intervals);
        let least = all.iter().map(|&p| coverage(&intervals, p)).fold(1.0, f64::min);
        table.exact(format!("least over shares, n = {n}"), 0.95, least, Claim::AtLeast(0.82));
    }
    table.finish();
}
