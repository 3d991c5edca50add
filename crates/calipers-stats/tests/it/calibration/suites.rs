//! Suites of problems, ratios, and means with weights.

use super::{count, count_each, level};
use calipers_stats::pass_at_k::{AttemptRule, AttemptSuite};
use calipers_stats::ratio::ratio_of_sums;
use calipers_stats::weighted::{StratifiedMean, weighted_mean};
use calipers_stats::{Moments, StatisticCaveat};
use calipers_testing::simulation::{Claim, Draws, Table};

/// 1 − E(1 − p)², or E p², for p from Beta(a, b).
fn truth(rule: AttemptRule, a: f64, b: f64) -> f64 {
    let second = |x: f64, y: f64| x * (x + 1.0) / ((x + y) * (x + y + 1.0));
    match rule {
        AttemptRule::AllOfK => second(a, b),
        _ => 1.0 - second(b, a),
    }
}

#[test]
#[ignore = "calibration"]
fn suites_of_problems_are_covered_where_plain_t_falls_short() {
    const REPLICATIONS: u64 = 10_000;
    let mut table = Table::new("pass@2 and pass^2 of problems with 6 attempts each");
    for (rule, name) in [(AttemptRule::AnyOfK, "pass@2"), (AttemptRule::AllOfK, "pass^2")] {
        for (a, b) in [(0.5, 0.5), (4.5, 0.5), (0.9, 0.1)] {
            for problems in [5, 10, 30, 100] {
                let truth = truth(rule, a, b);
                let [ours, t] = count_each(problems, REPLICATIONS, |draws| {
                    let (mut suite, mut values) = (AttemptSuite::new(rule, 2), Moments::default());
                    for _ in 0..problems {
                        let p = draws.beta(a, b);
                        values.add(suite.add(6, draws.binomial(6, p)).expect("enough attempts"));
                    }
                    let interval = suite.interval(level()).expect("two problems or more");
                    [interval.contains(truth), values.t_interval(level()).expect("two or more").contains(truth)]
                });
                let what = format!("{name}, rates from Beta({a}, {b}), {problems} problems");
                table.counted(&what, 0.95, ours, REPLICATIONS, Claim::AtLeast(0.93));
                table.counted(format!("{what}: plain t"), 0.95, t, REPLICATIONS, Claim::AtMost(0.96));
            }
        }
    }
    table.finish();
}

/// An interval that covers less than this must nearly always come with a caveat.
const SILENT_MIN: f64 = 0.93;

/// The claim for an interval of which `warned` of the replications came with a caveat.
fn warned_or(least: f64, warned: u64, replications: u64) -> Claim {
    if warned > replications / 100 * 99 { Claim::AtLeast(least) } else { Claim::AtLeast(SILENT_MIN) }
}

#[test]
#[ignore = "calibration"]
fn ratios_cover_or_come_with_a_caveat() {
    const REPLICATIONS: u64 = 20_000;
    let mut table = Table::new("Ratio of sums: a quality that grows with tokens, over lognormal tokens");
    for (spread, name) in [(0.3, "even"), (1.0, "uneven")] {
        for n in [5, 10, 30, 100] {
            let [hits, warned] = count_each(n, REPLICATIONS, |draws| {
                let tokens: Vec<f64> = (0..n).map(|_| (spread * draws.normal()).exp()).collect();
                let quality: Vec<f64> = tokens.iter().map(|x| x * (1.0 + 0.5 * draws.normal())).collect();
                let answer = ratio_of_sums(&quality, &tokens, None).expect("tokens were used");
                let interval = answer.ratio.interval(level()).expect("two samples or more");
                [interval.contains(1.0), !answer.caveats().is_empty()]
            });
            let what =
                format!("{name} tokens, n = {n}, {:.0} % with a caveat", warned as f64 / REPLICATIONS as f64 * 100.0);
            table.counted(what, 0.95, hits, REPLICATIONS, warned_or(0.85, warned, REPLICATIONS));
        }
    }
    table.finish();
}

#[test]
#[ignore = "calibration"]
fn weighted_and_stratified_means_cover_or_come_with_a_caveat() {
    const REPLICATIONS: u64 = 20_000;
    let mut table = Table::new("Means with weights, of five even grades");
    let grade = |draws: &mut Draws| draws.below(5) as f64 / 4.0;
    for n in [5, 10, 30, 100] {
        let [hits, warned] = count_each(n, REPLICATIONS, |draws| {
            let values: Vec<f64> = (0..n).map(|_| grade(draws)).collect();
            let weights: Vec<f64> = (0..n).map(|_| draws.exponential()).collect();
            let answer = weighted_mean(&values, &weights, None).expect("weights are positive");
            let few = answer.caveats().iter().any(|caveat| matches!(caveat, StatisticCaveat::SmallSample { .. }));
            [answer.mean.interval(level()).expect("two or more").contains(0.5), few]
        });
        let what =
            format!("exponential weights, n = {n}, {:.0} % with a caveat", warned as f64 / REPLICATIONS as f64 * 100.0);
        table.counted(what, 0.95, hits, REPLICATIONS, warned_or(0.83, warned, REPLICATIONS));
    }
    for (each, least) in [(3, 0.93), (10, 0.94), (30, 0.94)] {
        let strata: Vec<u32> = (0..4 * each).map(|i| i as u32 % 4).collect();
        let hits = count(each, REPLICATIONS, |draws| {
            let values: Vec<f64> = strata.iter().map(|&stratum| grade(draws) + f64::from(stratum)).collect();
            let answer = StratifiedMean::equal(&values, &strata).expect("all strata have values");
            answer.interval(level()).is_ok_and(|interval| interval.contains(2.0))
        });
        table.counted(format!("four strata of {each}"), 0.95, hits, REPLICATIONS, Claim::AtLeast(least));
    }
    table.finish();
}
