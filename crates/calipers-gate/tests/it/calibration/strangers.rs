//! Designs that someone who knows none of the others would try: other layouts, laws, labels and looks.

use super::unusual::gate;
use super::{Counts, Law, ONCE, Row, covers, own_share, replications, scores};
use crate::{gate_on, judged, judged_against, policy};
use calipers_core::stats::special::normal_quantile;
use calipers_core::{Samples, Verdict};
use calipers_testing::simulation::Draws;

const CLUSTERED: &str = r#""confidence": 0.95, "cluster": "document""#;

/// Scores in clusters of these sizes, each with its own share, beside the number of the cluster.
fn draw_clusters(draws: &mut Draws, sizes: &[usize], truth: f64, correlation: f64) -> Vec<(f64, i64)> {
    let mut scores = Vec::new();
    for (cluster, &size) in (0i64..).zip(sizes) {
        let share = own_share(draws, truth, correlation);
        scores.extend((0..size).map(|_| (draws.coin(share), cluster)));
    }
    scores
}

fn in_documents(scores: &[(f64, i64)]) -> Samples {
    let mut samples = Samples::new();
    for (id, (score, document)) in (0i64..).zip(scores) {
        samples.push(id).score("judge", *score).metadata("document", *document);
    }
    samples
}

/// Clusters that are very much alike, and layouts with a few large ones.
pub(super) fn layouts(rows: &mut Vec<Row>) {
    let designs: [(&str, Vec<usize>); 5] = [
        ("one of 50 and 50 of 1", std::iter::repeat_n(1, 50).chain([50]).collect()),
        ("200 of 1 and five of 8", std::iter::repeat_n(1, 200).chain([8; 5]).collect()),
        ("30 pairs", vec![2; 30]),
        ("100 of 3", vec![3; 100]),
        ("12 of 25", vec![25; 12]),
    ];
    for (layout, sizes) in &designs {
        for correlation in [0.5, 0.9] {
            for truth in [0.5, 0.8, 0.95] {
                let draw = |draws: &mut Draws| in_documents(&draw_clusters(draws, sizes, truth, correlation));
                let name = format!("{layout}, correlation {correlation}, share {truth}");
                gate(rows, "clusters", name, ("accuracy", &format!("at least {truth}")), CLUSTERED, truth, &draw);
            }
        }
    }
    // Documents that have questions of two categories, with a gate on each.
    for documents in [20i64, 60] {
        let draw = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for document in 0..documents {
                let luck = own_share(draws, 0.5, 0.6);
                for place in 0..5 {
                    let is_hard = place < 1 + document % 3;
                    let share = if is_hard { (0.6 + 0.4 * luck).min(1.0) } else { 0.9 + 0.1 * luck };
                    let row = samples.push(document * 5 + place).field("passed", draws.coin(share) == 1.0);
                    row.metadata("category", if is_hard { "adversarial" } else { "happy_path" })
                        .metadata("document", document);
                }
            }
            samples
        };
        for (metric, truth) in [("safety_rate", 0.8), ("pass_rate(happy_path)", 0.95)] {
            let name = format!("{metric}, {documents} documents with questions of two categories");
            gate(
                rows,
                "clusters and categories",
                name,
                (metric, &format!("at least {truth}")),
                CLUSTERED,
                truth,
                &draw,
            );
        }
    }
    // Grades that a document shares.
    for (documents, size) in [(15i64, 6i64), (50, 4)] {
        for law in ["0, 0.5 or 1", "nearly all 1"] {
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                for document in 0..documents {
                    let own = draws.unit();
                    for place in 0..size {
                        let u = if draws.unit() < 0.8 { own } else { draws.unit() };
                        let grade = match law {
                            "0, 0.5 or 1" => [0.0, 0.5, 0.5, 1.0, 1.0][(u * 5.0) as usize],
                            _ => {
                                if u < 0.03 {
                                    0.2
                                } else {
                                    1.0
                                }
                            }
                        };
                        samples.push(document * size + place).score("judge", grade).metadata("document", document);
                    }
                }
                samples
            };
            let truth = if law == "0, 0.5 or 1" { 0.6 } else { 0.976 };
            let name = format!("grades {law}, {documents} documents of {size}, four of five alike");
            gate(rows, "clusters", name, ("mean", &format!("at least {truth}")), CLUSTERED, truth, &draw);
        }
    }
}

/// Grades with weight at both ends, very skewed ones, and grades from 1 to 5.
const STRANGE_LAWS: [Law; 8] = [
    ("half 0 or 1, the rest even", 0.5, |d| if d.unit() < 0.5 { d.coin(0.5) } else { d.unit() }),
    ("0 or 1 in nine of ten", 0.77, |d| if d.unit() < 0.9 { d.coin(0.8) } else { d.unit() }),
    ("a 20th power", 1.0 / 21.0, |d| d.unit().powi(20)),
    ("1 less a 20th power", 20.0 / 21.0, |d| 1.0 - d.unit().powi(20)),
    ("0.001, one in 200 is 1", 0.005_995, |d| if d.unit() < 0.005 { 1.0 } else { 0.001 }),
    ("0.999, one in 200 is 0", 0.994_005, |d| if d.unit() < 0.005 { 0.0 } else { 0.999 }),
    ("0.6, one in 30 is 0.1 and one in 30 is 1", 0.6 - 0.5 / 30.0 + 0.4 / 30.0, |d| match d.unit() {
        u if u < 1.0 / 30.0 => 0.1,
        u if u < 2.0 / 30.0 => 1.0,
        _ => 0.6,
    }),
    ("0.5 and 0.51", 0.509, |d| if d.unit() < 0.1 { 0.5 } else { 0.51 }),
];

pub(super) fn laws(rows: &mut Vec<Row>) {
    for (law, truth, one) in STRANGE_LAWS {
        for n in [10usize, 30, 100, 500] {
            let draw = |draws: &mut Draws| scores(n, || one(draws));
            for word in ["at least", "at most"] {
                let rule = format!("{word} {truth}");
                gate(rows, "grades", format!("{law}, {word}, n = {n}"), ("mean", &rule), ONCE, truth, &draw);
            }
        }
    }
    // Grades from 1 to 5, of which 4 and more pass.
    for n in [10usize, 30, 100] {
        for k in [1usize, 3] {
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                for id in 0..n {
                    let own = draws.unit();
                    for _ in 0..k {
                        let u = if draws.unit() < 0.7 { own } else { draws.unit() };
                        let grade = match u {
                            u if u < 0.05 => 1.0,
                            u if u < 0.1 => 2.0,
                            u if u < 0.2 => 3.0,
                            u if u < 0.5 => 4.0,
                            _ => 5.0,
                        };
                        samples.push(id as i64).score("judge", grade);
                    }
                }
                samples
            };
            let limited = r#""confidence": 0.95, "limits": {"judge": {"min": 1, "max": 5}}"#;
            gate(
                rows,
                "grades",
                format!("1 to 5 of {k} attempts, n = {n}"),
                ("mean", "at least 4.15"),
                limited,
                4.15,
                &draw,
            );
            let passing = r#""confidence": 0.95, "pass_threshold": 4"#;
            gate(
                rows,
                "pass_rate",
                format!("4 and more of 5, {k} attempts, n = {n}"),
                ("pass_rate", "at least 80%"),
                passing,
                0.8,
                &draw,
            );
        }
    }
}

/// Attempts that are nearly the same, of unequal number, and missing by what they would have been.
pub(super) fn attempts(rows: &mut Vec<Row>) {
    for (n, k) in [(20i64, 5), (60, 5), (200, 5)] {
        for correlation in [0.95, 0.6] {
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                for id in 0..n {
                    let share = own_share(draws, 0.9, correlation);
                    // One, two or many.
                    for _ in 0..[1, 2, k * 3][draws.below(3)] {
                        samples.push(id).field("passed", draws.coin(share) == 1.0);
                    }
                }
                samples
            };
            let name = format!("{n} samples of 1, 2 or 15 attempts, correlation {correlation}");
            gate(rows, "pass_rate", name, ("pass_rate", "at least 90%"), ONCE, 0.9, &draw);
        }
        // Low grades are more often lost.
        let draw = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for id in 0..n {
                let own = draws.beta(8.0, 2.0);
                for _ in 0..k {
                    let grade = (own + 0.1 * (draws.unit() - 0.5)).clamp(0.0, 1.0);
                    let is_lost = draws.unit() < 0.5 * (1.0 - grade);
                    let row = samples.push(id);
                    if is_lost {
                        row.error("timeout")
                    } else {
                        row.score("judge", grade)
                    };
                }
            }
            samples
        };
        // The mean of what is cut off at 1 is a little below that of the law.
        let truth = clipped_mean();
        let name = format!("grades, low ones more often, {n} × {k}");
        gate(rows, "missing attempts", name, ("mean", &format!("at least {truth}")), ONCE, truth, &draw);
        let rerun = r#""confidence": 0.95, "estimand": "this_suite_rerun""#;
        // A rerun of given samples, tried 1 to 8 times.
        let share = |id: i64| [1.0, 0.95, 0.7, 0.99, 0.86][(id % 5) as usize];
        let draw = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for id in 0..n {
                for _ in 0..1 + (id * 3) % 8 {
                    samples.push(id).field("passed", draws.coin(share(id)) == 1.0);
                }
            }
            samples
        };
        gate(
            rows,
            "this suite rerun",
            format!("{n} samples × 1 to 8 attempts"),
            ("pass_rate", "at least 90%"),
            rerun,
            0.9,
            &draw,
        );
    }
}

/// E[clamp(B + 0.1(U − ½), 0, 1)] for B of Beta(8, 2), by summing over a grid.
fn clipped_mean() -> f64 {
    const STEPS: u32 = 2000;
    let grid = |i: u32| (f64::from(i) + 0.5) / f64::from(STEPS);
    let mut mean = 0.0;
    for i in 0..STEPS {
        let b = grid(i);
        let density = 72.0 * b.powi(7) * (1.0 - b) / f64::from(STEPS);
        let over: f64 = (0..200).map(|j| (b + 0.1 * ((f64::from(j) + 0.5) / 200.0 - 0.5)).clamp(0.0, 1.0)).sum();
        mean += density * over / 200.0;
    }
    mean
}

/// Weights that go with the scores, strata of one sample, formulas of three metrics.
pub(super) fn weights(rows: &mut Vec<Row>) {
    // Twelve categories of one sample each, beside one of many.
    for many in [20i64, 100] {
        let shares: Vec<f64> = (0..12).map(|i| 0.5 + 0.04 * f64::from(i)).collect();
        let weights: Vec<f64> = (0..12).map(|i| f64::from(13 - i)).collect();
        let draw = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for id in 0..many + 12 {
                let (category, share) =
                    if id < 12 { (format!("c{id}"), shares[id as usize]) } else { ("rest".to_owned(), 0.9) };
                samples.push(id).score("judge", draws.coin(share)).metadata("category", category);
            }
            samples
        };
        let total: f64 = weights.iter().sum::<f64>() + many as f64;
        let truth = (shares.iter().zip(&weights).map(|(p, w)| p * w).sum::<f64>() + 0.9 * many as f64) / total;
        let list: Vec<String> = (0..12).map(|i| format!(r#""c{i}": {}"#, 13 - i)).collect();
        let terms = format!(r#"{ONCE}, "weights": {{"by_category": {{{}, "rest": 1}}}}"#, list.join(", "));
        let name = format!("12 categories of one sample, heavier ones worse, beside {many}");
        gate(rows, "weighted", name, ("accuracy", &format!("at least {truth}")), &terms, truth, &draw);
    }
    // The kind of a sample is drawn, and decides its weight and its grade.
    for n in [30usize, 100, 400] {
        for (about, heavy, light) in [("worse", 0.5, 0.95), ("better", 0.99, 0.6)] {
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                for id in 0..n {
                    let is_heavy = draws.unit() < 0.1;
                    let grade = draws.beta(
                        4.0 * if is_heavy { heavy } else { light },
                        4.0 * (1.0 - if is_heavy { heavy } else { light }),
                    );
                    let row = samples.push(id as i64).score("judge", grade);
                    row.metadata("category", if is_heavy { "heavy" } else { "light" });
                }
                samples
            };
            let truth = (0.1 * 8.0 * heavy + 0.9 * light) / (0.8 + 0.9);
            let terms = format!(r#"{ONCE}, "weights": {{"by_category": {{"heavy": 8, "light": 1}}}}"#);
            let name = format!("grades, one in ten counts eight times and is {about}, n = {n}");
            gate(rows, "weighted", name, ("mean", &format!("at least {truth}")), &terms, truth, &draw);
        }
    }
    three_metrics(rows);
}

/// Formulas of three metrics, one of them of a rare class or of few scenarios.
fn three_metrics(rows: &mut Vec<Row>) {
    for n in [30usize, 100, 300] {
        for (positive, found, mistaken) in [(0.1f64, 0.8, 0.02), (0.03, 0.7, 0.01), (0.3, 0.95, 0.05)] {
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                for id in 0..n {
                    let is_actual = draws.unit() < positive;
                    let predicted = draws.coin(if is_actual { found } else { mistaken }) == 1.0;
                    let row = samples.push(id as i64).field("actual", is_actual).field("predicted", predicted);
                    let row =
                        row.score("judge", if is_actual == predicted { draws.coin(0.95) } else { draws.coin(0.5) });
                    row.field("passed", draws.coin(0.9) == 1.0)
                        .metadata("category", if id % 10 == 0 { "adversarial" } else { "happy_path" });
                }
                samples
            };
            let (tp, fp) = (positive * found, (1.0 - positive) * mistaken);
            let (precision, f1) = (tp / (tp + fp), 2.0 * tp / (tp + fp + positive));
            let right = tp + (1.0 - positive) * (1.0 - mistaken);
            let accuracy = 0.95 * right + 0.5 * (1.0 - right);
            for (formula, truth) in [
                ("precision * 0.4 + accuracy * 0.4 + safety_rate * 0.2", 0.4 * precision + 0.4 * accuracy + 0.18),
                ("f1 * 0.5 + recall * 0.3 + pass_rate * 0.2", 0.5 * f1 + 0.3 * found + 0.18),
            ] {
                let text = format!(r#"{{"composite": {{"final": "{formula}", "pass": "final >= {truth}"}}, {ONCE}}}"#);
                let policy = policy(&text);
                let mut draws = Draws::new(rows.len() as u64 + 1, normal_quantile);
                let counts = Counts::draw("composite", replications(n), || {
                    let report = judged(&policy, &draw(&mut draws));
                    let passed = gate_on(&report, "composite").verdict == Verdict::Pass;
                    (passed, report.composites[0].figure.interval.map(|interval| covers(interval, truth)))
                });
                rows.push(counts.row("composite", format!("{formula}, positive {positive}, n = {n}")));
            }
        }
    }
}

/// Times with heavy tails, and costs at their limit or far from it.
pub(super) fn amounts(rows: &mut Vec<Row>) {
    for (n, k) in [(30i64, 1), (100, 1), (300, 1), (400, 2)] {
        for (metric, p) in [("latency_p50", 0.5f64), ("latency_p90", 0.9), ("latency_p99", 0.99)] {
            // Times whose mean is infinite.
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                for id in 0..n {
                    let own = draws.unit();
                    for _ in 0..k {
                        let u = if draws.unit() < 0.5 { own } else { draws.unit() };
                        samples.push(id).field("latency_ms", 100.0 / (1.0 - u).max(1e-9));
                    }
                }
                samples
            };
            let truth = 100.0 / (1.0 - p);
            let name = format!("Pareto of index 1, {n} × {k} attempts");
            gate(rows, metric, name, (metric, &format!("at most {truth}ms")), ONCE, truth, &draw);
            let rounded = |draws: &mut Draws| {
                let mut samples = Samples::new();
                for id in 0..n {
                    for _ in 0..k {
                        samples.push(id).field("latency_ms", (draws.exponential() * 10.0).floor() * 100.0);
                    }
                }
                samples
            };
            // The quantile of the rounded law. One step below it is a limit that is not met, if by little.
            let at = (-(1.0 - p).ln() * 10.0).floor() * 100.0;
            let name = format!("in steps of 100 ms, {n} × {k} attempts");
            gate(rows, metric, name, (metric, &format!("at most {}ms", at - 100.0)), ONCE, at, &rounded);
        }
    }
    for n in [10usize, 30, 100] {
        type CostLaw = (&'static str, f64, f64, fn(&mut Draws) -> f64);
        let laws: [CostLaw; 3] =
            [
                ("0 or its limit, half each", 3.0, 1.5, |d| 3.0 * d.coin(0.5)),
                ("near its limit, one in 20 is 0", 3.0, 2.8025, |d| {
                    if d.unit() < 0.05 { 0.0 } else { 2.9 + 0.1 * d.unit() }
                }),
                ("lognormal, σ = 2, at most 100", 100.0, LOGNORMAL_2_AT_100, |d| (2.0 * d.normal()).exp().min(100.0)),
            ];
        for (law, limit, truth, one) in laws {
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                (0..n).for_each(|id| {
                    samples.push(id as i64).field("cost_usd", one(draws));
                });
                samples
            };
            let terms = format!(r#"{ONCE}, "limits": {{"cost_usd": {limit}}}"#);
            for word in ["at most", "at least"] {
                gate(
                    rows,
                    "cost",
                    format!("{law}, {word}, n = {n}"),
                    ("cost", &format!("{word} {truth}")),
                    &terms,
                    truth,
                    &draw,
                );
            }
        }
    }
}

/// E[min(e^{2Z}, 100)].
const LOGNORMAL_2_AT_100: f64 = 5.638_174_304_771_947;

/// Baselines of grades, with few differences, of other sizes and with some scenarios in common.
pub(super) fn beside_others(rows: &mut Vec<Row>) {
    for n in [20usize, 100, 500] {
        // Hardly any scenario differs: 1 in 40 is lost, and none won.
        for (about, lost, won, margin) in [
            ("one in 40 lost", 0.025, 0.0, 0.025),
            ("6 % lost, 4 % won", 0.06, 0.04, 0.02),
            ("one in 100 lost", 0.01, 0.0, 0.01),
        ] {
            let text = format!(
                r#"{{"baseline": {{"mode": "non_inferiority", "margin": {margin}, "metrics": ["accuracy"]}}, {ONCE}}}"#
            );
            let policy = policy(&text);
            let mut draws = Draws::new(rows.len() as u64 + 1, normal_quantile);
            let counts = Counts::draw("non-inferiority", replications(n), || {
                let (mut old, mut new) = (Samples::new(), Samples::new());
                for id in 0..n as i64 {
                    let (a, b) = match draws.unit() {
                        u if u < lost => (1.0, 0.0),
                        u if u < lost + won => (0.0, 1.0),
                        u if u < 0.8 => (1.0, 1.0),
                        _ => (0.0, 0.0),
                    };
                    old.push(id).score("judge", a);
                    new.push(id).score("judge", b);
                }
                let gate = gate_on(&judged_against(&policy, &new, &old), "accuracy");
                let interval = gate.figure.and_then(|figure| figure.interval);
                (gate.verdict == Verdict::Pass, interval.map(|interval| covers(interval, won - lost)))
            });
            rows.push(counts.row("non-inferiority", format!("{about}, margin {margin}, n = {n}")));
        }
        // Shares of three attempts. Each run has scenarios that the other has not.
        let text = format!(
            r#"{{"baseline": {{"mode": "non_inferiority", "margin": 0.05, "metrics": ["pass_rate"]}}, {ONCE}}}"#
        );
        let policy = policy(&text);
        let mut draws = Draws::new(rows.len() as u64 + 1, normal_quantile);
        let counts = Counts::draw("non-inferiority", replications(n * 6), || {
            let (mut old, mut new) = (Samples::new(), Samples::new());
            for id in 0..n + n / 2 {
                let own = own_share(&mut draws, 0.9, 0.4);
                for _ in 0..3 {
                    if id < n {
                        old.push(id as i64).field("passed", draws.coin(own) == 1.0);
                    }
                    if id >= n / 4 {
                        // Worse by 0.05 of all attempts.
                        let passed = draws.coin(own) == 1.0 && draws.unit() < 0.85 / 0.9;
                        new.push(id as i64).field("passed", passed);
                    }
                }
            }
            let gate = gate_on(&judged_against(&policy, &new, &old), "pass_rate");
            let interval = gate.figure.and_then(|figure| figure.interval);
            (gate.verdict == Verdict::Pass, interval.map(|interval| covers(interval, -0.05)))
        });
        rows.push(counts.row("non-inferiority", format!("shares of three attempts, most in common, n = {n}")));
    }
}

/// Looks at clusters that grow, and at numbers that were not planned.
pub(super) fn other_looks(rows: &mut Vec<Row>) {
    let any = r#""confidence": {"level": 0.95, "looks": "any"}, "cluster": "document""#;
    for (about, sizes) in [
        ("of 4", vec![4usize; 40]),
        ("that grow", (1..=24).collect::<Vec<usize>>()),
        ("of 1, then 20", std::iter::repeat_n(1, 60).chain([20; 6]).collect()),
    ] {
        for (truth, correlation) in [(0.8, 0.0), (0.8, 0.5), (0.5, 0.2)] {
            let policy =
                policy(&format!(r#"{{"thresholds": {{"blocking": {{"accuracy": "at least {truth}"}}}}, {any}}}"#));
            let mut draws = Draws::new(rows.len() as u64 + 1, normal_quantile);
            let counts = Counts::draw("looks", replications(3000).max(400), || {
                let scores = draw_clusters(&mut draws, &sizes, truth, correlation);
                let looks = (1..=25).map(|part| scores.len() * part / 25);
                let passes = |count: usize| {
                    gate_on(&judged(&policy, &in_documents(&scores[..count])), "accuracy").verdict == Verdict::Pass
                };
                (looks.filter(|count| *count > 0).any(passes), None)
            });
            rows.push(
                counts.row("looks", format!("any number, documents {about}, correlation {correlation}, mean {truth}")),
            );
        }
    }
}

/// A judge with these shares, labels for some.
fn judged_run(
    draws: &mut Draws,
    n: i64,
    truth: f64,
    judge: [f64; 2],
    label: impl Fn(&mut Draws, i64, bool) -> bool,
) -> Samples {
    let mut samples = Samples::new();
    for id in 0..n {
        let is_good = draws.unit() < truth;
        let judged = draws.coin(if is_good { judge[0] } else { 1.0 - judge[1] });
        let is_labelled = label(draws, id, judged == 1.0);
        let row = samples.push(id).score("judge", judged);
        if is_labelled {
            row.field("human_label", f64::from(u8::from(is_good)));
        }
    }
    samples
}

/// Rates that labels correct: useless judges, rates near 0 and 1, labels that the judge's verdict chose, grades.
pub(super) fn strange_judges(rows: &mut Vec<Row>) {
    for (labels, n) in [(20i64, 200i64), (50, 300), (200, 1000)] {
        for judge in [[0.5, 0.5], [0.9, 0.1], [0.3, 0.3], [1.0, 0.6]] {
            for truth in [0.02, 0.9] {
                let draw = |draws: &mut Draws| judged_run(draws, n, truth, judge, |_, id, _| id < labels);
                let name =
                    format!("{labels} labels of {n}, sensitivity {}, specificity {}, rate {truth}", judge[0], judge[1]);
                for word in ["at least", "at most"] {
                    gate(
                        rows,
                        "corrected",
                        format!("{name}, {word}"),
                        ("corrected", &format!("{word} {truth}")),
                        ONCE,
                        truth,
                        &draw,
                    );
                }
            }
        }
        for truth in [0.5, 0.9, 0.98] {
            // What the judge fails is looked at nine times as often.
            let share = labels as f64 / n as f64;
            let draw = |draws: &mut Draws| {
                judged_run(draws, n, truth, [0.9, 0.8], |draws, _, is_good| {
                    draws.unit() < if is_good { 0.5 * share } else { (4.5 * share).min(0.95) }
                })
            };
            let name = format!("about {labels} labels of {n}, mostly of what the judge fails, rate {truth}");
            gate(rows, "corrected", name, ("corrected", &format!("at least {truth}")), ONCE, truth, &draw);
        }
        if n == 1000 {
            continue;
        }
        // The same guesses where a fifth of the samples counts four times.
        for truth in [0.02, 0.1, 0.98] {
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                for id in 0..n {
                    let is_good = draws.unit() < truth;
                    let row = samples.push(id).score("judge", draws.coin(0.5));
                    let row = row.metadata("category", if id % 5 == 0 { "adversarial" } else { "happy_path" });
                    if id < labels {
                        row.field("human_label", f64::from(u8::from(is_good)));
                    }
                }
                samples
            };
            let terms = r#""confidence": 0.95, "weights": {"by_category": {"adversarial": 4, "happy_path": 1}}"#;
            let name = format!("{labels} labels of {n}, a fifth counts four times, guessed, rate {truth}");
            for word in ["at least", "at most"] {
                gate(
                    rows,
                    "corrected, weights",
                    format!("{name}, {word}"),
                    ("corrected", &format!("{word} {truth}")),
                    terms,
                    truth,
                    &draw,
                );
            }
        }
        // Grades beside a judge that is a little too kind.
        for (about, truth, one) in [
            ("even", 0.5, (|d: &mut Draws| d.unit()) as fn(&mut Draws) -> f64),
            ("0.9, one in 30 is 0", 0.87, |d| if d.unit() < 1.0 / 30.0 { 0.0 } else { 0.9 }),
            ("0.1, one in 30 is 1", 0.13, |d| if d.unit() < 1.0 / 30.0 { 1.0 } else { 0.1 }),
            ("Beta(0.9, 0.1)", 0.9, |d| d.beta(0.9, 0.1)),
        ] {
            for (kindness, noise) in [(0.1, 0.1), (0.0, 0.8)] {
                let draw = |draws: &mut Draws| {
                    let mut samples = Samples::new();
                    for id in 0..n {
                        let label = one(draws);
                        let judged = if draws.unit() < noise { draws.unit() } else { (label + kindness).min(1.0) };
                        let row = samples.push(id).score("judge", judged);
                        if id < labels {
                            row.field("human_label", label);
                        }
                    }
                    samples
                };
                for word in ["at least", "at most"] {
                    let name = format!("grades {about}, {labels} labels of {n}, guessed {noise}, {word}");
                    gate(rows, "corrected grades", name, ("corrected", &format!("{word} {truth}")), ONCE, truth, &draw);
                }
            }
        }
    }
}
