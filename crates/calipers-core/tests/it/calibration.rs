//! The promise of the metrics: the interval that a figure comes with covers a known truth.
//!
//! Every test is ignored by default and run by `cargo xtask calibrate`.

use calipers_core::stats::special::{binomial_pmf, normal_quantile};
use calipers_core::{Figure, Interval, Metric, Plan, Samples, accuracy, mean, pass_at, pass_k};
use calipers_testing::simulation::{self, Claim, Draws, Table};

/// How often each answer holds, among `replications` draws from one seed.
fn count_each<const N: usize>(seed: u64, replications: u64, holds: impl FnMut(&mut Draws) -> [bool; N]) -> [u64; N] {
    simulation::count_each(Draws::new(seed, normal_quantile), replications, holds)
}

/// The least coverage of a 95 % interval that comes without a caveat.
const LEAST: f64 = 0.93;

fn measure(plan: &Plan, samples: &Samples, metric: &str) -> Figure {
    let results = plan.measure(samples).expect("the samples can be measured");
    let name = if results.figure("score", metric).is_some() { "score" } else { "run" };
    results.figure(name, metric).expect("asked for").clone()
}

fn plan(metric: Metric) -> Plan {
    Plan::new().metrics([metric])
}

fn scored(values: impl IntoIterator<Item = f64>) -> Samples {
    let mut samples = Samples::new();
    for (id, value) in (0i64..).zip(values) {
        samples.push(id).score("score", value);
    }
    samples
}

#[test]
#[ignore = "calibration"]
fn the_interval_of_an_accuracy_covers_it() {
    let mut table = Table::new("accuracy() of 0/1 scores: exact coverage");
    for n in [5u64, 10, 20, 30, 50, 100, 300] {
        let plan = plan(accuracy());
        let intervals: Vec<Interval> = (0..=n)
            .map(|k| scored((0..n).map(|i| f64::from(u8::from(i < k)))))
            .map(|samples| measure(&plan, &samples, "accuracy").interval.expect("there are samples"))
            .collect();
        let coverage = |p: f64| -> f64 {
            let covering = (0..=n).zip(&intervals).filter(|(_, interval)| interval.contains(p));
            covering.map(|(k, _)| binomial_pmf(k, n, p)).sum()
        };
        for p in [0.5, 0.7, 0.8, 0.9, 0.95, 0.99] {
            table.exact(format!("n = {n}, p = {p}"), 0.95, coverage(p), Claim::AtLeast(0.95 - 1e-6));
        }
        const STEPS: u32 = 2000;
        let least = (0..STEPS).map(|i| coverage((f64::from(i) + 0.5) / f64::from(STEPS))).fold(1.0, f64::min);
        table.exact(format!("n = {n}, least over shares"), 0.95, least, Claim::AtLeast(0.95 - 1e-6));
    }
    table.finish();
}

/// Scores in [0, 1]: a name, the mean, and a draw.
type Grades = (&'static str, f64, fn(&mut Draws) -> f64);

/// Means of five attempts at a task of rate p.
fn five(draws: &mut Draws, p: f64) -> f64 {
    draws.binomial(5, p) as f64 / 5.0
}

/// Near 0.9, but for some that are 0.
fn rarely_zero(draws: &mut Draws, share: f64) -> f64 {
    if draws.unit() < share { 0.0 } else { 0.89 + 0.02 * draws.unit() }
}

const GRADES: [Grades; 17] = [
    ("five attempts, rates Beta(.3, .3)", 0.5, |draws| {
        let p = draws.beta(0.3, 0.3);
        five(draws, p)
    }),
    ("five attempts, rates Beta(3, 1)", 0.75, |draws| {
        let p = draws.beta(3.0, 1.0);
        five(draws, p)
    }),
    ("five attempts, rates Beta(.9, .1)", 0.9, |draws| {
        let p = draws.beta(0.9, 0.1);
        five(draws, p)
    }),
    ("five attempts, rates Beta(19, 1)", 0.95, |draws| {
        let p = draws.beta(19.0, 1.0);
        five(draws, p)
    }),
    ("five attempts, rates Beta(.49, .01)", 0.98, |draws| {
        let p = draws.beta(0.49, 0.01);
        five(draws, p)
    }),
    ("five attempts, all of rate 0.98", 0.98, |draws| five(draws, 0.98)),
    ("grades Beta(.5, .5)", 0.5, |draws| draws.beta(0.5, 0.5)),
    ("grades Beta(.1, .1)", 0.5, |draws| draws.beta(0.1, 0.1)),
    ("grades Beta(.45, .05)", 0.9, |draws| draws.beta(0.45, 0.05)),
    ("grades Beta(.19, .01)", 0.95, |draws| draws.beta(0.19, 0.01)),
    ("grades Beta(.25, 5)", 0.25 / 5.25, |draws| draws.beta(0.25, 5.0)),
    ("grades Beta(20, 1)", 20.0 / 21.0, |draws| draws.beta(20.0, 1.0)),
    ("grades Beta(50, 50)", 0.5, |draws| draws.beta(50.0, 50.0)),
    ("grades Beta(90, 10)", 0.9, |draws| draws.beta(90.0, 10.0)),
    ("near 0.9, one in 100 is 0", 0.891, |draws| rarely_zero(draws, 0.01)),
    ("near 0.9, one in 30 is 0", 0.87, |draws| rarely_zero(draws, 1.0 / 30.0)),
    ("near 0.9, one in 10 is 0", 0.81, |draws| rarely_zero(draws, 0.1)),
];

#[test]
#[ignore = "calibration"]
fn the_interval_of_a_mean_of_grades_covers_it_at_any_number() {
    const REPLICATIONS: u64 = 10_000;
    let mut table = Table::new("mean() of scores in [0, 1]");
    let plan = plan(mean());
    for n in [2, 3, 5, 10, 20, 30, 100, 300] {
        for (name, truth, draw) in GRADES {
            let [hits] = count_each(n, REPLICATIONS, |draws| {
                let samples = scored((0..n).map(|_| draw(draws)));
                let interval = measure(&plan, &samples, "mean").interval.expect("there are scores");
                [interval.contains(truth)]
            });
            table.counted(format!("{name}, n = {n}"), 0.95, hits, REPLICATIONS, Claim::AtLeast(LEAST));
        }
    }
    table.finish();
}

#[test]
#[ignore = "calibration"]
fn other_levels_are_kept_as_well() {
    const REPLICATIONS: u64 = 10_000;
    let mut table = Table::new("mean() of scores in [0, 1] at 80, 90 and 99 %");
    for (level, least) in [(0.8, 0.74), (0.9, 0.88), (0.99, 0.965)] {
        let plan = plan(mean()).level(level).expect("a level");
        for n in [5, 30, 100] {
            for (name, truth, draw) in GRADES {
                let [hits] = count_each(n + 1, REPLICATIONS / 2, |draws| {
                    let samples = scored((0..n).map(|_| draw(draws)));
                    [measure(&plan, &samples, "mean").interval.expect("there are scores").contains(truth)]
                });
                table.counted(format!("{name}, n = {n}"), level, hits, REPLICATIONS / 2, Claim::AtLeast(least));
            }
        }
    }
    table.finish();
}

#[test]
#[ignore = "calibration"]
fn attempts_at_samples_are_averaged_before_they_are_counted() {
    const REPLICATIONS: u64 = 5000;
    let mut table = Table::new("accuracy() of samples with 5 epochs each, rates Beta(.62, .38)");
    for n in [5i64, 10, 40] {
        let [hits] = count_each(n as u64, REPLICATIONS, |draws| {
            let mut samples = Samples::new();
            for id in 0..n {
                let p = draws.beta(0.62, 0.38);
                for epoch in 1..=5 {
                    samples.push_epoch(id, epoch).score("score", draws.coin(p));
                }
            }
            let figure = measure(&plan(accuracy()), &samples, "accuracy");
            [figure.interval.expect("there are samples").contains(0.62)]
        });
        table.counted(format!("n = {n}"), 0.95, hits, REPLICATIONS, Claim::AtLeast(LEAST));
    }
    table.finish();
}

#[test]
#[ignore = "calibration"]
fn a_reduced_suite_is_covered() {
    const REPLICATIONS: u64 = 4000;
    let mut table = Table::new("mean() of pass_at_2 and pass_k_2 of 6 attempts, rates Beta(.9, .1)");
    // 1 − E(1 − p)² and E p².
    let (any, all) = (1.0 - 0.1 * 1.1 / 2.0, 0.9 * 1.9 / 2.0);
    for (reducer, name, truth) in [(pass_at(2), "pass_at_2", any), (pass_k(2), "pass_k_2", all)] {
        let plan = plan(mean()).reducers([reducer]);
        for n in [5i64, 10, 30, 100] {
            let [hits] = count_each(n as u64, REPLICATIONS, |draws| {
                let mut samples = Samples::new();
                for id in 0..n {
                    let p = draws.beta(0.9, 0.1);
                    for epoch in 1..=6 {
                        samples.push_epoch(id, epoch).score("score", draws.coin(p));
                    }
                }
                [measure(&plan, &samples, "mean").interval.expect("there are samples").contains(truth)]
            });
            table.counted(format!("{name}, n = {n}"), 0.95, hits, REPLICATIONS, Claim::AtLeast(LEAST));
        }
    }
    table.finish();
}

#[test]
#[ignore = "calibration"]
fn unbounded_scores_cover_or_come_with_a_caveat() {
    const REPLICATIONS: u64 = 10_000;
    /// A name, the mean, a draw, and the least coverage with and without a caveat.
    type Scores = (&'static str, f64, fn(&mut Draws) -> f64, [f64; 2]);
    let scores: [Scores; 3] = [
        ("normal", 0.0, Draws::normal, [LEAST, 0.945]),
        ("ratings 1 to 5", 3.0, |draws| 1.0 + draws.below(5) as f64, [LEAST, 0.945]),
        ("exponential of mean 10", 10.0, |draws| 10.0 * draws.exponential(), [LEAST, LEAST]),
    ];
    let mut table = Table::new("mean() of scores of unknown range");
    let plan = plan(mean());
    for (name, truth, draw, [with, without]) in scores {
        for n in [10, 29, 30, 100, 300] {
            let [hits, warned] = count_each(n, REPLICATIONS, |draws| {
                let figure = measure(&plan, &scored((0..n).map(|_| draw(draws))), "mean");
                let covers = figure.interval.is_some_and(|interval| interval.contains(truth));
                [covers, !figure.caveats.is_empty()]
            });
            let share = warned as f64 / REPLICATIONS as f64 * 100.0;
            let claim = Claim::AtLeast(if n < 30 { with } else { without });
            assert!(n >= 30 || warned > REPLICATIONS * 99 / 100, "{name}, n = {n}: few scores come with a caveat");
            table.counted(format!("{name}, n = {n}, {share:.0} % with a caveat"), 0.95, hits, REPLICATIONS, claim);
        }
    }
    table.finish();
}
