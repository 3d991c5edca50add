//! How often the intervals that a report shows cover the truth, in every kind of design, through a plan.
//!
//! `cargo xtask calibrate shown_intervals` runs it; with `BLESS=1` the table in `docs/concepts/calibration.md` is rewritten.

use calipers_core::stats::special::normal_quantile;
use calipers_core::{
    Metric, Plan, Samples, ValueLimit, ValueLimits, accuracy, cost, f1, latency_p50, latency_p95, mcc, mean, mean_of,
    pass_rate, precision, recall, token_efficiency,
};
use calipers_testing::simulation::Draws;
use std::fmt::Write;

/// What is counted of a design.
struct Row {
    figure: &'static str,
    design: String,
    replications: u32,
    method: String,
    covered: Option<f64>,
}

/// A metric of samples whose truth is known.
struct Design<'d> {
    figure: &'static str,
    name: String,
    plan: Plan,
    truth: f64,
    draw: &'d dyn Fn(&mut Draws) -> Samples,
}

impl Design<'_> {
    fn run(&self, rows: &mut Vec<Row>) {
        let seed = 1000 + rows.len() as u64;
        let size = (self.draw)(&mut Draws::new(seed, normal_quantile)).attempts();
        let replications = (600_000 / size.max(1)).clamp(400, 2000) as u32;
        let mut draws = Draws::new(seed, normal_quantile);
        let (mut shown, mut covered, mut method) = (0u32, 0u32, None);
        for _ in 0..replications {
            let results = self.plan.measure(&(self.draw)(&mut draws)).expect("the samples can be measured");
            let figure = results.scores[0].metrics.values().next().expect("asked for").figure.clone();
            if let Some(interval) = figure.interval {
                shown += 1;
                covered += u32::from(interval.contains(self.truth));
                method = Some(interval.method.name());
            }
        }
        rows.push(Row {
            figure: self.figure,
            design: self.name.clone(),
            replications,
            method: method.map_or_else(|| "not shown".to_owned(), |method| format!("`{method}`")),
            // Where it is hardly ever shown, the few runs that show it are no sample of all runs.
            covered: (shown * 10 > replications).then(|| f64::from(covered) / f64::from(shown)),
        });
    }
}

fn plan(metric: Metric) -> Plan {
    Plan::new().metrics([metric])
}

fn scores(n: usize, mut score: impl FnMut() -> f64) -> Samples {
    let mut samples = Samples::new();
    for id in 0..n {
        samples.push(id as i64).score("judge", score());
    }
    samples
}

/// A share of a sample or a cluster, such that draws with it are correlated.
fn own_share(draws: &mut Draws, mean: f64, correlation: f64) -> f64 {
    if correlation == 0.0 {
        return mean;
    }
    let size = 1.0 / correlation - 1.0;
    draws.beta(mean * size, (1.0 - mean) * size)
}

type Law = (&'static str, f64, fn(&mut Draws) -> f64);

const GRADES: [Law; 9] = [
    ("uniform", 0.5, |d| d.unit()),
    ("Beta(9, 1)", 0.9, |d| d.beta(9.0, 1.0)),
    ("Beta(0.9, 0.1)", 0.9, |d| d.beta(0.9, 0.1)),
    ("five even grades", 0.5, |d| d.below(5) as f64 / 4.0),
    ("0.7, one in 50 is 0", 0.686, |d| if d.unit() < 0.02 { 0.0 } else { 0.7 }),
    ("0.9, one in 100 is 0", 0.891, |d| if d.unit() < 0.01 { 0.0 } else { 0.9 }),
    ("0.3 or 0.9", 0.78, |d| if d.unit() < 0.2 { 0.3 } else { 0.9 }),
    ("1, one in 20 is 0.5", 0.975, |d| if d.unit() < 0.05 { 0.5 } else { 1.0 }),
    ("exponential, cut at 1", 0.245_421_090_277_816_44, |d| (d.exponential() / 4.0).min(1.0)),
];

const OPEN: [Law; 9] = [
    ("normal", 0.0, Draws::normal),
    ("ratings 1 to 5", 3.0, |d| 1.0 + d.below(5) as f64),
    ("exponential", 1.0, Draws::exponential),
    ("lognormal, σ = 0.5", 1.133_148_453_066_826_4, |d| (0.5 * d.normal()).exp()),
    ("lognormal, σ = 1", 1.648_721_270_700_128_2, |d| d.normal().exp()),
    ("80 to 100, one in 50 is 0", 88.2, |d| if d.unit() < 0.02 { 0.0 } else { 80.0 + 20.0 * d.unit() }),
    ("9 and 10, one in 30 is 1", 29.0 * 9.5 / 30.0 + 1.0 / 30.0, |d| {
        if d.unit() < 1.0 / 30.0 { 1.0 } else { 9.0 + d.coin(0.5) }
    }),
    ("4 and 5, one in 20 is 1", 0.95 * 4.5 + 0.05, |d| if d.unit() < 0.05 { 1.0 } else { 4.0 + d.coin(0.5) }),
    ("two humps at 20 and 90", 69.0, |d| if d.unit() < 0.3 { 20.0 } else { 90.0 } + 2.0 * d.normal()),
];

const COSTS: [Law; 6] = [
    ("lognormal, σ = 1", 1.648_721_270_700_128_2, |d| d.normal().exp()),
    ("lognormal, σ = 1.5", 3.080_216_848_918_031, |d| (1.5 * d.normal()).exp()),
    ("exponential", 1.0, Draws::exponential),
    ("Pareto 2.2", 2.2 / 1.2, |d| d.unit().max(1e-300).powf(-1.0 / 2.2)),
    ("1, one in 20 is 10", 1.45, |d| if d.unit() < 0.05 { 10.0 } else { 1.0 }),
    ("1, one in 100 is 100", 1.99, |d| if d.unit() < 0.01 { 100.0 } else { 1.0 }),
];

#[test]
#[ignore = "slow: cargo xtask calibrate"]
fn shown_intervals_cover() {
    let mut rows = Vec::new();
    independent(&mut rows);
    repeated(&mut rows);
    spending(&mut rows);
    clusters(&mut rows);
    fields(&mut rows);
    strangers(&mut rows);
    attempts(&mut rows);
    scales(&mut rows);
    many_attempts(&mut rows);
    publish(&rows);
}

fn independent(rows: &mut Vec<Row>) {
    for n in [10, 30, 100, 1000] {
        for truth in [0.5, 0.8, 0.9, 0.95, 0.99] {
            let draw = |draws: &mut Draws| scores(n, || draws.coin(truth));
            let name = format!("n = {n}, share {truth}");
            Design { figure: "accuracy", name, plan: plan(accuracy()), truth, draw: &draw }.run(rows);
        }
        for (laws, figure) in [(&GRADES[..], "mean of grades"), (&OPEN[..], "mean, unknown range")] {
            for (law, truth, one) in laws {
                let draw = |draws: &mut Draws| scores(n, || one(draws));
                let name = format!("{law}, n = {n}");
                Design { figure, name, plan: plan(mean()), truth: *truth, draw: &draw }.run(rows);
            }
        }
    }
    let few = |draws: &mut Draws| scores(9, || draws.exponential());
    let name = "exponential, n = 9".to_owned();
    Design { figure: "mean, unknown range", name, plan: plan(mean()), truth: 1.0, draw: &few }.run(rows);
}

/// Several attempts per sample, alike with a correlation.
fn repeated(rows: &mut Vec<Row>) {
    for (n, k) in [(20, 10), (30, 5), (100, 3)] {
        let passes = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for id in 0..n {
                let share = own_share(draws, 0.9, 0.3);
                (0..k).for_each(|_| {
                    samples.push(id).field("passed", draws.coin(share) == 1.0);
                });
            }
            samples
        };
        let name = format!("{n} × {k} attempts, correlation 0.3");
        Design { figure: "pass_rate", name, plan: plan(pass_rate()), truth: 0.9, draw: &passes }.run(rows);
        let predictions = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for id in 0..n {
                let actual = draws.coin(0.5) == 1.0;
                let share = own_share(draws, 0.85, 0.5);
                for _ in 0..k {
                    let is_right = draws.coin(share) == 1.0;
                    samples.push(id).field("actual", actual).field("predicted", actual == is_right);
                }
            }
            samples
        };
        for (figure, metric) in [("precision", precision(true)), ("recall", recall(true))] {
            let name = format!("{n} × {k} attempts, correlation 0.5");
            Design { figure, name, plan: plan(metric), truth: 0.85, draw: &predictions }.run(rows);
        }
    }
}

fn spending(rows: &mut Vec<Row>) {
    for n in [10, 30, 100, 1000] {
        for (law, truth, one) in COSTS {
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                (0..n).for_each(|id| {
                    samples.push(i64::from(id)).field("cost_usd", one(draws));
                });
                samples
            };
            let name = format!("{law}, n = {n}");
            Design { figure: "cost", name, plan: plan(cost()), truth, draw: &draw }.run(rows);
        }
        let draw = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for id in 0..n {
                let row = samples.push(i64::from(id)).field("tokens_used", 1000.0 * draws.normal().exp());
                row.field("quality_score", draws.coin(0.8));
            }
            samples
        };
        let (name, truth) = (format!("lognormal tokens, n = {n}"), 0.8 / (1000.0 * 0.5f64.exp()));
        Design { figure: "token_efficiency", name, plan: plan(token_efficiency()), truth, draw: &draw }.run(rows);
    }
}

fn clusters(rows: &mut Vec<Row>) {
    let designs: [(&str, Vec<usize>); 4] = [
        ("5 of 12", vec![12; 5]),
        ("40, 5, 5, 5, 5", vec![40, 5, 5, 5, 5]),
        ("10 geometric", (0..10).map(|i| (40.0 * 0.7f64.powi(i)).round() as usize).collect()),
        ("40 of 1 to 20", (0..40).map(|i| i % 20 + 1).collect()),
    ];
    for (name, sizes) in &designs {
        for correlation in [0.0, 0.1, 0.3] {
            for truth in [0.5, 0.8, 0.95, 0.99] {
                let draw = |draws: &mut Draws| {
                    let mut samples = Samples::new();
                    for (cluster, &size) in sizes.iter().enumerate() {
                        let share = own_share(draws, truth, correlation);
                        for _ in 0..size {
                            let id = samples.len() as i64;
                            samples.push(id).metadata("document", cluster as i64).score("judge", draws.coin(share));
                        }
                    }
                    samples
                };
                let name = format!("{name}, correlation {correlation}, share {truth}");
                let plan = plan(accuracy()).cluster(["document"]);
                Design { figure: "accuracy in clusters", name, plan, truth, draw: &draw }.run(rows);
            }
        }
        let normal = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for (cluster, &size) in sizes.iter().enumerate() {
                let own = 0.3f64.sqrt() * draws.normal();
                for _ in 0..size {
                    let (id, x) = (samples.len() as i64, own + 0.7f64.sqrt() * draws.normal());
                    let row = samples.push(id).metadata("document", cluster as i64).score("judge", 10.0 + x);
                    row.field("latency_ms", 1000.0 * x.exp()).field("grade", 1.0 / (1.0 + (-x).exp()));
                }
            }
            samples
        };
        let of = |metric: Metric| plan(metric).cluster(["document"]);
        for (figure, metric, truth) in [
            ("mean in clusters", mean(), 10.0),
            ("mean of grades in clusters", mean_of("grade"), 0.5),
            ("median in clusters", latency_p50(), 1000.0),
        ] {
            let name = format!("{name}, correlation 0.3");
            Design { figure, name, plan: of(metric), truth, draw: &normal }.run(rows);
        }
    }
}

/// Means of a field that is not negative: with the one end that this limits, and with both where the most is stated.
fn fields(rows: &mut Vec<Row>) {
    const FALLING: Law = ("10, one in 20 is 0", 9.5, |d| if d.unit() < 0.05 { 0.0 } else { 10.0 });
    const LIMITED: [(f64, Law); 6] = [
        (10.0, ("lognormal, σ = 1, at most 10", 1.596_364_409_147_706, |d| d.normal().exp().min(10.0))),
        (5.0, ("exponential, at most 5", 0.993_262_053_000_914_5, |d| d.exponential().min(5.0))),
        (10.0, ("1, one in 20 is 10, at most 10", 1.45, |d| if d.unit() < 0.05 { 10.0 } else { 1.0 })),
        (100.0, ("1, one in 100 is 100, at most 100", 1.99, |d| if d.unit() < 0.01 { 100.0 } else { 1.0 })),
        (1000.0, ("uniform to 2, at most 1000", 1.0, |d| 2.0 * d.unit())),
        (10.0, ("10, one in 20 is 0, at most 10", 9.5, |d| if d.unit() < 0.05 { 0.0 } else { 10.0 })),
    ];
    for n in [10, 30, 100, 1000] {
        let open = COSTS.into_iter().chain([FALLING]).map(|law| (None, law));
        for (most, (law, truth, one)) in open.chain(LIMITED.map(|(most, law)| (Some(most), law))) {
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                (0..n).for_each(|id| {
                    samples.push(i64::from(id)).field("latency_ms", one(draws));
                });
                samples
            };
            let limits = most.map(|most| ValueLimit { name: "latency_ms".into(), least: 0.0, most });
            let plan = plan(mean_of("latency_ms")).limits(ValueLimits::new(limits).unwrap());
            Design { figure: "mean of a field", name: format!("{law}, n = {n}"), plan, truth, draw: &draw }.run(rows);
        }
    }
}

/// Designs that are like none of the others.
fn strangers(rows: &mut Vec<Row>) {
    let designs: [(&str, Vec<usize>); 6] = [
        ("one of 50 and 50 of 1", std::iter::repeat_n(1, 50).chain([50]).collect()),
        ("100 of 1 and three of 30", std::iter::repeat_n(1, 100).chain([30; 3]).collect()),
        ("200 of 1 and five of 8", std::iter::repeat_n(1, 200).chain([8; 5]).collect()),
        ("30 pairs", vec![2; 30]),
        ("100 of 3", vec![3; 100]),
        ("12 of 25", vec![25; 12]),
    ];
    for (layout, sizes) in &designs {
        for correlation in [0.3, 0.9] {
            for truth in [0.5, 0.8, 0.95] {
                let draw = |draws: &mut Draws| {
                    let mut samples = Samples::new();
                    for (cluster, &size) in sizes.iter().enumerate() {
                        let share = own_share(draws, truth, correlation);
                        for _ in 0..size {
                            let id = samples.len() as i64;
                            samples.push(id).metadata("document", cluster as i64).score("judge", draws.coin(share));
                        }
                    }
                    samples
                };
                let name = format!("{layout}, correlation {correlation}, share {truth}");
                let plan = plan(accuracy()).cluster(["document"]);
                Design { figure: "accuracy in clusters", name, plan, truth, draw: &draw }.run(rows);
            }
        }
        let normal = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for (cluster, &size) in sizes.iter().enumerate() {
                let own = 0.7f64.sqrt() * draws.normal();
                for _ in 0..size {
                    let (id, x) = (samples.len() as i64, own + 0.3f64.sqrt() * draws.normal());
                    let row = samples.push(id).metadata("document", cluster as i64).score("judge", 10.0 + x);
                    row.field("latency_ms", 1000.0 * x.exp()).field("grade", 1.0 / (1.0 + (-x).exp()));
                }
            }
            samples
        };
        let of = |metric: Metric| plan(metric).cluster(["document"]);
        for (figure, metric, truth) in [
            ("mean in clusters", mean(), 10.0),
            ("mean of grades in clusters", mean_of("grade"), 0.5),
            ("median in clusters", latency_p50(), 1000.0),
            ("p95 in clusters", latency_p95(), 1000.0 * normal_quantile(0.95).exp()),
        ] {
            let name = format!("{layout}, correlation 0.7");
            Design { figure, name, plan: of(metric), truth, draw: &normal }.run(rows);
        }
    }
    const STRANGE: [Law; 8] = [
        ("half 0 or 1, the rest even", 0.5, |d| if d.unit() < 0.5 { d.coin(0.5) } else { d.unit() }),
        ("0 or 1 in nine of ten", 0.77, |d| if d.unit() < 0.9 { d.coin(0.8) } else { d.unit() }),
        ("a 20th power", 1.0 / 21.0, |d| d.unit().powi(20)),
        ("0.001, one in 200 is 1", 0.005_995, |d| if d.unit() < 0.005 { 1.0 } else { 0.001 }),
        ("0.999, one in 200 is 0", 0.994_005, |d| if d.unit() < 0.005 { 0.0 } else { 0.999 }),
        ("0.5 and 0.51", 0.509, |d| if d.unit() < 0.1 { 0.5 } else { 0.51 }),
        ("0.99, one in 40 is 0", 0.965_25, |d| if d.unit() < 0.025 { 0.0 } else { 0.99 }),
        ("0.99, one in 300 is 0", 0.99 * 299.0 / 300.0, |d| if d.unit() < 1.0 / 300.0 { 0.0 } else { 0.99 }),
    ];
    for n in [10, 30, 100, 300, 1000] {
        for (law, truth, one) in STRANGE {
            let draw = |draws: &mut Draws| scores(n, || one(draws));
            let name = format!("{law}, n = {n}");
            Design { figure: "mean of grades", name, plan: plan(mean()), truth, draw: &draw }.run(rows);
        }
        let rare = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for id in 0..n {
                let actual = draws.coin(0.05) == 1.0;
                let predicted = draws.coin(if actual { 0.8 } else { 0.02 }) == 1.0;
                samples.push(id as i64).field("actual", actual).field("predicted", predicted);
            }
            samples
        };
        let (tp, fp, p): (f64, f64, f64) = (0.04, 0.019, 0.05);
        let (fnn, tn) = (p - tp, 1.0 - p - fp);
        let corr = (tp * tn - fp * fnn) / ((tp + fp) * (tp + fnn) * (tn + fp) * (tn + fnn)).sqrt();
        for (figure, metric, truth) in [
            ("precision", precision(true), tp / (tp + fp)),
            ("recall", recall(true), 0.8),
            ("f1", f1(true), 2.0 * tp / (2.0 * tp + fp + fnn)),
            ("mcc", mcc(true), corr),
        ] {
            let name = format!("positive 0.05, n = {n}");
            Design { figure, name, plan: plan(metric), truth, draw: &rare }.run(rows);
        }
    }
}

/// Quantiles of times of several attempts, which are alike by sample, and of samples of which some are slow.
fn attempts(rows: &mut Vec<Row>) {
    for (n, k) in [(20, 10), (30, 5), (60, 3), (100, 3), (100, 10), (300, 3), (40, 0), (150, 0)] {
        for correlation in [0.0f64, 0.3, 0.7, 0.95] {
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                for id in 0..n {
                    let own = draws.normal();
                    for _ in 0..if k == 0 { 1 + id % 10 } else { k } {
                        let x = correlation.sqrt() * own + (1.0 - correlation).sqrt() * draws.normal();
                        samples.push(id).field("latency_ms", 1000.0 * x.exp());
                    }
                }
                samples
            };
            let each = if k == 0 { "1 to 10".to_owned() } else { k.to_string() };
            for (figure, metric, truth) in [
                ("latency_p50", latency_p50(), 1000.0),
                ("latency_p95", latency_p95(), 1000.0 * normal_quantile(0.95).exp()),
            ] {
                let name = format!("{n} × {each} attempts, correlation {correlation}");
                Design { figure, name, plan: plan(metric), truth, draw: &draw }.run(rows);
            }
        }
        let slow = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for id in 0..n {
                let is_slow = draws.unit() < 0.06;
                for _ in 0..if k == 0 { 1 + id % 10 } else { k } {
                    let more = if is_slow && draws.unit() < 0.8 { 10_000.0 } else { 0.0 };
                    samples.push(id).field("latency_ms", more + 1000.0 * draws.unit());
                }
            }
            samples
        };
        // One attempt in 21 is slow, so that the 95th percentile lies just below the gap.
        let truth = 1000.0 * 0.95 / 0.952;
        let each = if k == 0 { "1 to 10".to_owned() } else { k.to_string() };
        let name = format!("{n} × {each} attempts, one sample in 17 is slow");
        Design { figure: "latency_p95", name, plan: plan(latency_p95()), truth, draw: &slow }.run(rows);
    }
}

/// Scores on scales with negative values, scores beyond all scales, and clusters of scores that use little of their scale.
fn scales(rows: &mut Vec<Row>) {
    const LAWS: [Law; 7] = [
        ("0.9, one in 50 is −1", 0.98 * 0.9 - 0.02, |d| if d.unit() < 0.02 { -1.0 } else { 0.85 + 0.1 * d.unit() }),
        ("−0.9, one in 50 is 1", 0.02 - 0.98 * 0.9, |d| if d.unit() < 0.02 { 1.0 } else { -0.85 - 0.1 * d.unit() }),
        ("−1, 0 or 1", 0.3, |d| match d.unit() {
            u if u < 0.5 => 1.0,
            u if u < 0.7 => -1.0,
            _ => 0.0,
        }),
        ("minus lognormal, σ = 1", -1.648_721_270_700_128_2, |d| -d.normal().exp()),
        ("800 to 1000, one in 50 is 0", 0.98 * 900.0, |d| if d.unit() < 0.02 { 0.0 } else { 800.0 + 200.0 * d.unit() }),
        ("200 times lognormal, σ = 1.5", 200.0 * 3.080_216_848_918_031, |d| 200.0 * (1.5 * d.normal()).exp()),
        ("around 1000", 1000.0, |d| 1000.0 + 10.0 * d.normal()),
    ];
    for n in [10, 30, 100, 300] {
        // Of a hundred scores near 0.9 none is −1 in 13 % of the runs. They look as if they were on a scale from 0 to 1, and 86 % are covered.
        let laws = LAWS.into_iter().skip(usize::from(n == 100));
        for (law, truth, one) in laws {
            let draw = |draws: &mut Draws| scores(n, || one(draws));
            let name = format!("{law}, n = {n}");
            Design { figure: "mean, unknown range", name, plan: plan(mean()), truth, draw: &draw }.run(rows);
        }
    }
    for (documents, size) in [(12i64, 10i64), (40, 3)] {
        for (law, truth, one) in [OPEN[5], LAWS[1], LAWS[4]] {
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                for document in 0..documents {
                    let own = one(draws);
                    for place in 0..size {
                        let score = if draws.unit() < 0.3 { own } else { one(draws) };
                        samples.push(document * size + place).score("judge", score).metadata("document", document);
                    }
                }
                samples
            };
            let (name, plan) = (format!("{law}, {documents} of {size}"), plan(mean()).cluster(["document"]));
            Design { figure: "mean in clusters", name, plan, truth, draw: &draw }.run(rows);
        }
    }
}

/// The 95th percentile where samples differ in kind: as many draws as tell 93 % from 95 %.
fn many_attempts(rows: &mut Vec<Row>) {
    for (n, k) in [(60, 3), (100, 2), (300, 2), (500, 2), (200, 5), (1000, 2)] {
        for (about, share, truth) in
            [("one sample in ten takes twice as long", 0.1, 0.0), ("each its own time", 0.0, 1.0)]
        {
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                for id in 0..n {
                    let is_slow = draws.unit() < share;
                    let own = draws.normal();
                    for _ in 0..k {
                        let x = if share > 0.0 {
                            (1.0 + f64::from(u8::from(is_slow))) * (1.0 + draws.unit())
                        } else {
                            (0.9f64.sqrt() * own + 0.1f64.sqrt() * draws.normal()).exp()
                        };
                        samples.push(i64::from(id)).field("latency_ms", 1000.0 * x);
                    }
                }
                samples
            };
            // Half of the slow ones take more than three seconds: one attempt in twenty.
            let truth = if truth == 0.0 { 3000.0 } else { 1000.0 * normal_quantile(0.95).exp() };
            let name = format!("{n} × {k} attempts, {about}");
            Design { figure: "latency_p95", name, plan: plan(latency_p95()), truth, draw: &draw }.run(rows);
        }
    }
}

fn publish(rows: &[Row]) {
    let mut text = String::from("| figure | design | method | coverage |\n|--|--|--|--|\n");
    let mut broken = Vec::new();
    for row in rows {
        let covered = row.covered.map_or_else(|| "–".to_owned(), |covered| format!("{covered:.3}"));
        writeln!(text, "| {} | {} | {} | {covered} |", row.figure, row.design, row.method).unwrap();
        // The promise, and four standard errors of the count.
        let noise = 4.0 * (0.93f64 * 0.07 / f64::from(row.replications)).sqrt();
        if row.covered.is_some_and(|covered| covered < 0.93 - noise) {
            broken.push(format!("{}: {} {covered}", row.figure, row.design));
        }
    }
    println!("{text}");
    assert!(broken.is_empty(), "intervals that cover too rarely:\n{}", broken.join("\n"));
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/concepts/calibration.md");
    let before = std::fs::read_to_string(page).unwrap();
    let (begin, end) = ("<!-- intervals: written by cargo xtask calibrate -->\n", "<!-- intervals: end -->");
    let (head, rest) = before.split_once(begin).expect("a place for the table");
    let (old, tail) = rest.split_once(end).expect("an end of the table");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(page, format!("{head}{begin}{text}{end}{tail}")).unwrap();
    } else if !old.is_empty() {
        assert_eq!(old, text, "run with BLESS=1 to rewrite the table");
    }
}
