//! Gates: how often they pass what they should not, and fail what they should not.

use super::count_each;
use calipers_stats::eprocess::BinaryEprocess;
use calipers_stats::power::{gate_power, gate_sample_size};
use calipers_stats::proportion::Proportion;
use calipers_stats::special::binomial_pmf;
use calipers_stats::threshold_test::{ThresholdTest, Verdict, judge_quantile};
use calipers_testing::simulation::{Claim, Table};

const ALPHA: f64 = 0.05;

fn share(successes: u64, trials: u64) -> Proportion {
    Proportion::new(successes, trials).expect("no more successes than trials")
}

/// The probability of a verdict when each of n samples succeeds with probability `p`.
fn chance(n: u64, p: f64, wanted: Verdict, judge: impl Fn(u64) -> Verdict) -> f64 {
    (0..=n).filter(|&k| judge(k) == wanted).map(|k| binomial_pmf(k, n, p)).sum()
}

/// The largest chance over numbers of samples, and where.
fn worst(samples: u64, chance: impl Fn(u64) -> f64) -> (f64, u64) {
    (1..=samples).map(|n| (chance(n), n)).fold((0.0, 0), |worst, next| if next.0 > worst.0 { next } else { worst })
}

#[test]
#[ignore = "calibration"]
fn an_exact_gate_never_errs_more_often_than_it_says() {
    let mut table = Table::new("Exact gates at 5 %: the largest error for n = 1 to 200, by enumeration");
    for threshold in [0.5, 0.8, 0.9, 0.95, 0.99] {
        let at_least = ThresholdTest::at_least(threshold, ALPHA).expect("a threshold");
        let at_most = ThresholdTest::at_most(1.0 - threshold, ALPHA).expect("a threshold");
        for (name, gate, at) in [("at least", at_least, threshold), ("at most", at_most, 1.0 - threshold)] {
            for verdict in [Verdict::Pass, Verdict::Fail] {
                let (error, n) = worst(200, |n| chance(n, at, verdict, |k| gate.judge(share(k, n)).verdict));
                table.exact(
                    format!("{name} {at:.2}: wrong {verdict}, worst at n = {n}"),
                    ALPHA,
                    error,
                    Claim::AtMost(ALPHA),
                );
            }
        }
    }
    let gate = ThresholdTest::between(0.9, 0.8, ALPHA).expect("thresholds");
    for (verdict, at) in [(Verdict::Pass, 0.8), (Verdict::Fail, 0.9)] {
        let (error, n) = worst(200, |n| chance(n, at, verdict, |k| gate.judge(share(k, n)).verdict));
        table.exact(
            format!("0.8 to 0.9: wrong {verdict} at {at}, worst at n = {n}"),
            ALPHA,
            error,
            Claim::AtMost(ALPHA),
        );
    }
    table.finish();
}

#[test]
#[ignore = "calibration"]
fn a_gate_on_a_quantile_never_errs_more_often_than_it_says() {
    let mut table = Table::new("Gates on a quantile at 5 %: the largest error for n = 1 to 150, by enumeration");
    for quantile in [0.5, 0.9, 0.95] {
        for verdict in [Verdict::Pass, Verdict::Fail] {
            // The limit is the quantile itself: each value lies within it with that probability.
            let judge = |k: u64, n: u64| {
                let values: Vec<f64> = (0..n).map(|i| if i < k { 1.0 } else { 3.0 }).collect();
                judge_quantile(&values, quantile, 2.0, ALPHA).expect("there are values").verdict
            };
            let (error, n) = worst(150, |n| chance(n, quantile, verdict, |k| judge(k, n)));
            table.exact(
                format!("quantile {quantile}: wrong {verdict}, worst at n = {n}"),
                ALPHA,
                error,
                Claim::AtMost(ALPHA),
            );
        }
    }
    table.finish();
}

#[test]
#[ignore = "calibration"]
fn a_gate_on_the_point_estimate_is_a_coin_flip() {
    let mut table = Table::new("For contrast: `observed at least 0.9` with 20 samples");
    let judge = |k: u64| if k >= 18 { Verdict::Pass } else { Verdict::Fail };
    table.exact("fails a share of 0.9", ALPHA, chance(20, 0.9, Verdict::Fail, judge), Claim::About(0.32, 0.005));
    table.exact("passes a share of 0.8", ALPHA, chance(20, 0.8, Verdict::Pass, judge), Claim::About(0.21, 0.005));
    table.finish();
}

/// What comes of looking again and again, exactly: the chances of pass and fail, and the mean number of samples.
struct Looks {
    passed: f64,
    failed: f64,
    mean: f64,
}

/// Walks over all paths, with `judge` after each sample.
fn look(samples_max: usize, p: f64, judge: impl Fn(u64, u64) -> Verdict) -> Looks {
    let mut alive = vec![1.0];
    let mut looks = Looks { passed: 0.0, failed: 0.0, mean: 0.0 };
    for n in 1..=samples_max {
        looks.mean += alive.iter().sum::<f64>();
        let mut next = vec![0.0; n + 1];
        for (s, mass) in alive.iter().enumerate() {
            next[s + 1] += mass * p;
            next[s] += mass * (1.0 - p);
        }
        for (s, mass) in next.iter_mut().enumerate().filter(|(_, mass)| **mass > 0.0) {
            match judge(s as u64, n as u64) {
                Verdict::Pass => looks.passed += std::mem::take(mass),
                Verdict::Fail => looks.failed += std::mem::take(mass),
                Verdict::Undecided => {}
            }
        }
        alive = next;
    }
    looks
}

fn eprocess(threshold: f64) -> impl Fn(u64, u64) -> Verdict {
    move |successes, n| {
        let mut evidence = BinaryEprocess::new(threshold).expect("a threshold");
        evidence.observe_many(successes, n - successes);
        evidence.verdict(ALPHA).expect("an error rate")
    }
}

#[test]
#[ignore = "calibration"]
fn an_e_process_may_be_looked_at_after_every_sample() {
    let mut table = Table::new("An e-process at 5 %, looked at after each of 400 samples, by walking all paths");
    for threshold in [0.5, 0.8, 0.9, 0.95] {
        let looks = look(400, threshold, eprocess(threshold));
        table.exact(
            format!("threshold {threshold}: ever passes a share on it"),
            ALPHA,
            looks.passed,
            Claim::AtMost(ALPHA),
        );
        table.exact(
            format!("threshold {threshold}: ever fails a share on it"),
            ALPHA,
            looks.failed,
            Claim::AtMost(ALPHA),
        );
        if threshold == 0.8 {
            table.exact("threshold 0.8: ever passes, as documented", 0.038, looks.passed, Claim::About(0.038, 0.005));
            table.exact("threshold 0.8: ever fails, as documented", 0.030, looks.failed, Claim::About(0.030, 0.005));
        }
    }
    for (share, samples, power) in [(0.9, 96.0, 0.998), (0.95, 38.0, 1.0)] {
        let looks = look(400, share, eprocess(0.8));
        let what = format!("threshold 0.8, share {share}");
        table.number(
            format!("{what}: samples until decided, mean"),
            samples,
            looks.mean,
            "exact",
            (samples * 0.95, samples * 1.05),
        );
        table.exact(format!("{what}: passes"), power, looks.passed, Claim::About(power, 0.002));
    }
    let gate = ThresholdTest::at_least(0.8, ALPHA).expect("a threshold");
    let peeking = look(200, 0.8, |successes, n| match gate.judge(share(successes, n)).verdict {
        Verdict::Pass if n % 10 == 0 => Verdict::Pass,
        _ => Verdict::Undecided,
    });
    table.exact(
        "a fixed gate instead, looked at every 10 of 200: ever passes",
        ALPHA,
        peeking.passed,
        Claim::About(0.156, 0.03),
    );
    table.finish();
}

#[test]
#[ignore = "calibration"]
fn a_gate_passes_as_often_as_planned() {
    const REPLICATIONS: u64 = 40_000;
    let mut table = Table::new("Power of a gate");
    let gate = ThresholdTest::at_least(0.8, ALPHA).expect("a threshold");
    for (n, p) in [(50, 0.9), (100, 0.9), (44, 0.95)] {
        let planned = gate_power(gate, p, n).expect("a share").power;
        let [passed] =
            count_each(n, REPLICATIONS, |draws| [gate.judge(share(draws.binomial(n, p), n)).verdict == Verdict::Pass]);
        table.counted(format!("at least 0.8, n = {n}, share {p}"), planned, passed, REPLICATIONS, Claim::Is(planned));
    }
    let size = gate_sample_size(gate, 0.9, 0.9, 1000).expect("attainable");
    let power = |n: u64| chance(n, 0.9, Verdict::Pass, |k| gate.judge(share(k, n)).verdict);
    table.exact(format!("planned for 0.9: n = {}", size.first), 0.9, power(size.first), Claim::AtLeast(0.9));
    let stable = size.stable.expect("found within 1000");
    let least = (stable..=stable + 100).map(power).fold(1.0, f64::min);
    table.exact(format!("planned for 0.9: least from n = {stable} on"), 0.9, least, Claim::AtLeast(0.9));
    table.finish();
}
