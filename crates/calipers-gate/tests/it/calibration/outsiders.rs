//! Designs in which several things go wrong at once: retries, crossed clusters, sizes and weights that go with failure, tied times.

use super::unusual::gate;
use super::{Counts, ONCE, Row, covers, own_share, replications, scores};
use crate::{gate_on, judged, judged_against, policy};
use calipers_core::stats::special::normal_quantile;
use calipers_core::{Samples, Verdict};
use calipers_testing::simulation::Draws;

const RERUN: &str = r#""confidence": 0.95, "estimand": "this_suite_rerun""#;

/// Formulas over several attempts per sample, as in the first example of the README.
pub(super) fn formulas_of_attempts(rows: &mut Vec<Row>) {
    let formula = "pass_rate * 0.5 + accuracy * 0.3 + safety_rate * 0.2";
    for (n, k) in [(60i64, 4), (20, 10), (100, 3), (30, 4)] {
        for correlation in [0.0, 0.3, 0.8] {
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                for id in 0..n {
                    let own = own_share(draws, 0.9, correlation);
                    for _ in 0..k {
                        let passed = draws.coin(own);
                        // A failed attempt has half of the grade.
                        let grade = if passed == 1.0 { 1.0 } else { 0.5 };
                        let row = samples.push(id).field("passed", passed == 1.0).score("judge", grade);
                        row.metadata("category", if id % 4 == 0 { "adversarial" } else { "happy_path" });
                    }
                }
                samples
            };
            let truth = 0.5 * 0.9 + 0.3 * 0.95 + 0.2 * 0.9;
            for (about, terms) in [("", ONCE), (", rerun", RERUN)] {
                // A rerun of samples that are drawn again has no truth of its own, unless all samples have one share.
                if about == ", rerun" && correlation > 0.0 {
                    continue;
                }
                let text = format!(r#"{{"composite": {{"final": "{formula}", "pass": "final >= {truth}"}}, {terms}}}"#);
                let policy = policy(&text);
                let mut draws = Draws::new(rows.len() as u64 + 1, normal_quantile);
                let counts = Counts::draw("composite", replications((n * k) as usize), || {
                    let report = judged(&policy, &draw(&mut draws));
                    let passed = gate_on(&report, "composite").verdict == Verdict::Pass;
                    (passed, report.composites[0].figure.interval.map(|interval| covers(interval, truth)))
                });
                rows.push(counts.row("composite", format!("{n} × {k} attempts, correlation {correlation}{about}")));
            }
        }
    }
}

/// Any number of looks at runs whose samples have weights, in random order.
pub(super) fn looks_with_weights(rows: &mut Vec<Row>) {
    let any = r#""confidence": {"level": 0.95, "looks": "any"}, "weights": {"by_category": {"adversarial": 4}}"#;
    // With (0.5, 1.0, 0.05), 6.3 % pass: the largest weight is that of the samples so far, and the first 45 may all be light.
    for (heavy, light, share) in [(0.7, 0.9, 0.2), (0.95, 0.75, 0.1)] {
        let truth: f64 = (4.0 * share * heavy + (1.0 - share) * light) / (4.0 * share + 1.0 - share);
        let policy = policy(&format!(r#"{{"thresholds": {{"blocking": {{"accuracy": "at least {truth}"}}}}, {any}}}"#));
        let mut draws = Draws::new(rows.len() as u64 + 1, normal_quantile);
        let counts = Counts::draw("looks", replications(3000).max(400), || {
            let all: Vec<(bool, f64)> = (0..200)
                .map(|_| {
                    let is_heavy = draws.unit() < share;
                    (is_heavy, draws.coin(if is_heavy { heavy } else { light }))
                })
                .collect();
            let passes = |count: usize| {
                let mut samples = Samples::new();
                for (id, (is_heavy, score)) in (0i64..).zip(&all[..count]) {
                    let category = if *is_heavy { "adversarial" } else { "happy_path" };
                    samples.push(id).score("judge", *score).metadata("category", category);
                }
                gate_on(&judged(&policy, &samples), "accuracy").verdict == Verdict::Pass
            };
            ((1..=25).map(|part| part * 8).any(passes), None)
        });
        rows.push(
            counts.row(
                "looks",
                format!("any number, one in {:.0} counts four times, {heavy} beside {light}", 1.0 / share),
            ),
        );
    }
}

/// Attempts that go with failure, and samples that belong together in two ways.
pub(super) fn dependent_designs(rows: &mut Vec<Row>) {
    for n in [20i64, 60, 200] {
        // An attempt that fails is tried again, up to five times: the share of a sample is that of its attempts.
        let draw = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for id in 0..n {
                for _ in 0..5 {
                    let passed = draws.coin(0.7) == 1.0;
                    samples.push(id).field("passed", passed);
                    if passed {
                        break;
                    }
                }
            }
            samples
        };
        // Passed at the k-th attempt: 1/k; never: 0.
        let truth: f64 = (1..=5).map(|k| 0.7 * 0.3f64.powi(k - 1) / f64::from(k)).sum();
        let name = format!("{n} samples, tried again until they pass");
        gate(rows, "pass_rate", name, ("pass_rate", &format!("at least {truth}")), ONCE, truth, &draw);
        // Documents and authors: every document has four samples, and every fifth is by an author of another one too.
        let draw = |draws: &mut Draws| {
            let mut samples = Samples::new();
            let mut author_luck = 0.0;
            for document in 0..n {
                if document % 2 == 0 {
                    author_luck = draws.unit();
                }
                let luck = draws.unit();
                for place in 0..4 {
                    let u = match draws.unit() {
                        x if x < 0.3 => author_luck,
                        x if x < 0.6 => luck,
                        _ => draws.unit(),
                    };
                    let row = samples.push(document * 4 + place).score("judge", f64::from(u8::from(u < 0.85)));
                    row.metadata("document", document)
                        .metadata("author", if place == 0 { document / 2 } else { -1 - document });
                }
            }
            samples
        };
        let terms = r#""confidence": 0.95, "cluster": ["document", "author"]"#;
        let name = format!("{n} documents of 4 in pairs by author, two fields");
        gate(rows, "clusters", name, ("accuracy", "at least 0.85"), terms, 0.85, &draw);
        // Large documents are worse, and sizes are drawn for each run.
        let draw = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for document in 0..n {
                let size = 1 + draws.below(12) as i64;
                let share = own_share(draws, 0.97 - 0.02 * size as f64, 0.2);
                for _ in 0..size {
                    let id = samples.len() as i64;
                    samples.push(id).score("judge", draws.coin(share)).metadata("document", document);
                }
            }
            samples
        };
        let truth = (1..=12).map(|size| f64::from(size) * (0.97 - 0.02 * f64::from(size))).sum::<f64>() / 78.0;
        let terms = r#""confidence": 0.95, "cluster": "document""#;
        let name = format!("{n} documents of 1 to 12, large ones are worse");
        gate(rows, "clusters", name, ("accuracy", &format!("at least {truth}")), terms, truth, &draw);
        // Grades with three values, of which the worst is lost in half of all cases.
        let draw = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for id in 0..n {
                let grade = match draws.unit() {
                    u if u < 0.1 => 0.0,
                    u if u < 0.3 => 0.5,
                    _ => 1.0,
                };
                let is_heavy = draws.unit() < if grade == 0.0 { 0.5 } else { 0.2 };
                let row = samples.push(id);
                let row =
                    if grade == 0.0 && draws.unit() < 0.5 { row.error("timeout") } else { row.score("judge", grade) };
                row.metadata("category", if is_heavy { "adversarial" } else { "happy_path" });
            }
            samples
        };
        // Weights 3 for 0.05 + 0.04 + 0.14 of all, of which 0.05 are 0 and 0.04 are 0.5.
        let truth = (3.0 * (0.02 + 0.14) + (0.08 + 0.56)) / (3.0 * 0.23 + 0.77);
        let terms = r#""confidence": 0.95, "weights": {"by_category": {"adversarial": 3}}"#;
        let name = format!("three grades, failures are heavy and half of them are missing, n = {n}");
        gate(rows, "weighted", name, ("mean", &format!("at least {truth}")), terms, truth, &draw);
    }
}

/// Amounts that are often nothing, that have few values, or that hardly vary; times that are tied.
pub(super) fn amounts_and_ties(rows: &mut Vec<Row>) {
    for n in [10i64, 30, 100, 300] {
        type CostLaw = (&'static str, f64, f64, fn(&mut Draws) -> f64);
        let laws: [CostLaw; 4] = [
            ("nothing in nine of ten", 0.5, 10.0, |d| if d.unit() < 0.9 { 0.0 } else { 10.0 * d.unit() }),
            ("whole numbers to 5", 2.0, 5.0, |d| (d.unit() * 5.0).floor()),
            ("nearly alike, one in 50 is the limit", 0.02 * 3.0 + 0.98 * 1.0, 3.0, |d| {
                if d.unit() < 0.02 { 3.0 } else { 0.99 + 0.02 * d.unit() }
            }),
            ("Pareto 1.1, cut at 50", pareto_mean(1.1, 50.0), 50.0, |d| d.unit().powf(-1.0 / 1.1).min(50.0)),
        ];
        for (law, truth, most, one) in laws {
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                for id in 0..n {
                    samples.push(id).field("cost_usd", one(draws));
                }
                samples
            };
            let terms = format!(r#""confidence": 0.95, "limits": {{"cost_usd": {most}}}"#);
            let name = format!("{law}, n = {n}");
            gate(rows, "cost", name, ("cost", &format!("at most {truth}")), &terms, truth, &draw);
        }
        // Times in steps of half a second, and slow samples are tried more often.
        let draw = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for id in 0..n {
                let is_slow = draws.unit() < 0.1;
                for _ in 0..if is_slow { 4 } else { 1 } {
                    let steps = if is_slow && draws.unit() < 0.5 { 9.0 } else { draws.below(5) as f64 };
                    samples.push(id).field("latency_ms", 500.0 * steps);
                }
            }
            samples
        };
        // Of all attempts, 0.4/1.3 are of slow samples, and half of these take 4.5 s: one in 6.5, so that the 90th percentile is 4.5 s.
        let name = format!("in steps, slow ones have four attempts, n = {n}");
        gate(rows, "latency_p90", name, ("latency_p90", "at most 4499"), ONCE, 4500.0, &draw);
        // U-shaped scores with little between.
        let draw = |draws: &mut Draws| scores(n as usize, || draws.beta(0.15, 0.05));
        gate(rows, "grades", format!("Beta(0.15, 0.05), n = {n}"), ("mean", "at least 0.75"), ONCE, 0.75, &draw);
    }
}

fn pareto_mean(shape: f64, most: f64) -> f64 {
    // ∫ of the tail from 0 to the limit.
    1.0 + (1.0 - most.powf(1.0 - shape)) / (shape - 1.0)
}

/// A rerun of samples of which some always pass, some never do and others are in between.
pub(super) fn mixed_reruns(rows: &mut Vec<Row>) {
    for (n, k) in [(100i64, 2), (30, 2), (20, 5), (300, 2)] {
        for (about, shares) in [
            ("half are coins", [1.0, 0.5, 0.0, 1.0, 0.5]),
            ("one in five fails at times", [1.0, 1.0, 1.0, 1.0, 0.9]),
            ("all alike", [0.8; 5]),
        ] {
            let share = |id: i64| shares[(id % 5) as usize];
            let truth = shares.iter().sum::<f64>() / 5.0;
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                for id in 0..n {
                    for _ in 0..k {
                        samples.push(id).field("passed", draws.coin(share(id)) == 1.0);
                    }
                }
                samples
            };
            let name = format!("{n} × {k} attempts, {about}");
            gate(rows, "this suite rerun", name, ("pass_rate", &format!("at least {truth}")), RERUN, truth, &draw);
        }
    }
    // A baseline that is worse at first and drifts: the same shift for all samples of both runs.
    for n in [30usize, 100, 300] {
        let text =
            format!(r#"{{"baseline": {{"mode": "non_inferiority", "margin": 0.05, "metrics": ["mean"]}}, {ONCE}}}"#);
        let policy = policy(&text);
        let mut draws = Draws::new(rows.len() as u64 + 1, normal_quantile);
        let counts = Counts::draw("non-inferiority", replications(2 * n), || {
            let (mut old, mut new) = (Samples::new(), Samples::new());
            for id in 0..n as i64 {
                let at = id as f64 / n as f64;
                let own = 0.3 * at + 0.5 + 0.2 * draws.unit();
                old.push(id).score("judge", own);
                // Most gain a little, and one in ten loses much: the margin, on average.
                let change = if draws.unit() < 0.1 { -0.5 } else { 0.0 };
                new.push(id).score("judge", own + change);
            }
            let gate = gate_on(&judged_against(&policy, &new, &old), "mean");
            let interval = gate.figure.and_then(|figure| figure.interval);
            (gate.verdict == Verdict::Pass, interval.map(|interval| covers(interval, -0.05)))
        });
        rows.push(counts.row("non-inferiority", format!("grades that drift, one in ten loses 0.5, n = {n}")));
    }
}
